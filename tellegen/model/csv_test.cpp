#include "tellegen/model/csv.h"

#include <gtest/gtest.h>

#include "tellegen/model/csv_records.h"

namespace tellegen {
namespace csv_test {

using Records = std::vector<std::vector<std::string>>;

Records records_of(std::string_view text) {
  CsvRecords records(text);
  Records found;
  for (std::vector<std::string_view> cells; records.next(cells);)
    found.emplace_back(cells.begin(), cells.end());
  return found;
}

TEST(CsvRecords, blanks_comments_quotes_and_line_ends) {
  EXPECT_EQ(records_of("\xEF\xBB\xBF# c\r\na, \"b, c\" ,\"say \"\"x\"\"\"\r\n\r\n 1 ,,3"),
            (Records{{"a", "b, c", "say \"x\""}, {"1", "", "3"}}));
  EXPECT_EQ(records_of("a,\"b\nc\"\n1,2\n"), (Records{{"a", "b\nc"}, {"1", "2"}}));
  EXPECT_EQ(records_of(""), Records{});
}

TEST(CsvRecords, what_is_wrong_is_told_with_its_line) {
  for (const auto& [text, line] :
       std::vector<std::pair<std::string, int>>{{"a\n\"b", 2}, {"\"a\"b,c\n", 1}}) {
    CsvRecords records(text);
    std::vector<std::string_view> cells;
    while (records.next(cells)) {
    }
    EXPECT_NE(records.wrong(), "");
    EXPECT_EQ(records.line(), line);
  }
}

TEST(CsvRecords, numbers) {
  EXPECT_EQ(csv_number("+1.5"), 1.5);
  EXPECT_EQ(csv_number("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(csv_number("-1e-999"), 0.0);
  for (const char* wrong : {"", "x", "1x", "1 2", "++1", "0x10"}) EXPECT_FALSE(csv_number(wrong)) << wrong;
}

std::vector<std::string> messages_of(std::string_view text) {
  std::vector<std::string> messages;
  try {
    read_csv_columns(text, "x.csv");
  } catch (const ModelError& error) {
    for (const Fault& fault : error.faults())
      messages.push_back(std::to_string(fault.place.line) + ": " + fault.message);
  }
  return messages;
}

TEST(CsvColumns, names_may_have_commas) {
  const CsvFile csv = read_csv_columns("t,\"max(a, b)\"\n0,1\n\n2,3\n", "x.csv");
  EXPECT_EQ(csv.header, (std::vector<std::string>{"t", "max(a, b)"}));
  EXPECT_EQ(csv.columns[1], (std::vector<double>{1, 3}));
  EXPECT_EQ(csv.lines, (std::vector<int>{2, 4}));
}

TEST(CsvColumns, any_shape_of_csv_is_read) {
  const CsvFile csv = read_csv_columns("Logger 7\n\nsoc;U\n-;mV\n0;3000,5\n1;4000,5\n", "x.csv");
  EXPECT_EQ(csv.header, (std::vector<std::string>{"soc", "U"}));
  EXPECT_EQ(csv.described[1].unit, "mV");
  EXPECT_EQ(csv.columns[1], (std::vector<double>{3000.5, 4000.5}));
}

TEST(CsvColumns, every_wrong_line_is_told) {
  EXPECT_EQ(messages_of("t,a\n0,1e999\n1,2\n2\n3,\n"),
            (std::vector<std::string>{"2: the cell in column 'a' is no finite number",
                                      "5: the cell in column 'a' is no finite number",
                                      "4: 1 cells where the header names 2 columns"}));
  EXPECT_EQ(messages_of("0,1\n2,3\n"),
            (std::vector<std::string>{"1: the file has no line that names its columns"}));
  EXPECT_EQ(messages_of("\n# nothing\n"), (std::vector<std::string>{"0: the file is empty"}));
  EXPECT_EQ(messages_of("t,\"a\n"), (std::vector<std::string>{"1: a quoted cell does not end"}));
}

}  // namespace csv_test
}  // namespace tellegen
