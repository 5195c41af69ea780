#include "tellegen/model/document.h"

#include <gtest/gtest.h>

namespace tellegen {
namespace document_test {

std::vector<Fault> faults_of(const std::string& text) {
  try {
    Document(text, "m.toml");
  } catch (const ModelError& error) {
    return error.faults();
  }
  return {};
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int k = 0; k < times; ++k) all += text;
  return all;
}

TEST(Document, a_byte_order_mark_crlf_and_a_missing_last_newline_do_not_matter) {
  const Document document("\xEF\xBB\xBFname = \"a\"\r\n[s]\r\nx = 1\r\ny = [1, 2]", "m.toml");
  EXPECT_EQ(document.root().find("name")->text, "a");
  EXPECT_EQ(document.root().find("s")->find("y")->items.size(), 2u);
  EXPECT_EQ(document.root().find("s")->find("y")->line, 4);
}

TEST(Document, deep_nesting_is_refused_with_its_line) {
  const std::vector<std::string> deep{
      "\na = " + repeated("[", 100'000), "\na = " + repeated("{a = ", 100'000),
      "\n" + repeated("a.", 100'000) + "a = 1", "\n[" + repeated("\"a\" . ", 100'000) + "a]",
      "\nx = 1 # \"\"\"\ny = '''\n'''\nb = \"\\\"\" \nc = " + repeated("[", 50)};
  const int lines[] = {2, 2, 2, 2, 6};
  for (std::size_t k = 0; k < deep.size(); ++k) {
    const auto faults = faults_of(deep[k]);
    ASSERT_EQ(faults.size(), 1u) << k;
    EXPECT_EQ(faults[0].code, "T100");
    EXPECT_EQ(faults[0].place.line, lines[k]) << k;
    EXPECT_NE(faults[0].message.find("nested too deeply"), std::string::npos);
  }
}

TEST(Document, what_nests_only_in_texts_and_comments_is_read) {
  EXPECT_TRUE(faults_of("a = \"" + repeated(".[{", 100) + "\" # " + repeated("[.{", 100) + "\nb = '''\n" +
                        repeated("[", 100) + "\n'''\nc = [" + repeated("1.5, ", 100) + "]\n")
                  .empty());
}

TEST(Document, a_name_that_stands_twice_is_told_with_both_lines) {
  const auto faults = faults_of("[components]\nr1 = 1\nr2 = 2\nr1 = 3\n");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "T106");
  EXPECT_EQ(faults[0].place.line, 4);
  EXPECT_EQ(faults[0].message, "'r1' is defined twice");
  EXPECT_NE(faults[0].details.at(0).find("the first is in line 2"), std::string::npos);
}

TEST(Document, whatever_a_file_says_its_fault_can_be_printed) {
  const ModelError error(
      {{"m.toml", 1}, "T100", std::string("a\0b\x1b[2J\xff\xc3\xa9", 10), {std::string(5000, 'x')}});
  EXPECT_EQ(error.faults()[0].message, "a\\x00b\\x1b[2J\\xff\xc3\xa9");
  EXPECT_LT(error.faults()[0].details[0].size(), 1100u);
}

}  // namespace document_test
}  // namespace tellegen
