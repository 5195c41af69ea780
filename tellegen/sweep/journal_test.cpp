#include "tellegen/sweep/journal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace journal_test {

const Fingerprints study{{"model", "aa"}, {"samples", "bb"}};
const double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<JournalEntry> some_entries() {
  return {
      {4, {1.0 / 3, -0.0}, ""}, {0, {nan, nan}, "T124: line one\nline \\two #0"}, {7, {1e300, 5e-324}, ""}};
}

void write(const std::filesystem::path& path, const std::vector<JournalEntry>& entries,
           const Fingerprints& of = study) {
  Journal journal(path, of, {});
  journal.append(entries);
}

void expect_equal(const JournalEntry& a, const JournalEntry& b) {
  EXPECT_EQ(a.sample, b.sample);
  EXPECT_EQ(a.status, b.status);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    EXPECT_TRUE(a.values[k] == b.values[k] || (std::isnan(a.values[k]) && std::isnan(b.values[k])));
    EXPECT_EQ(std::signbit(a.values[k]), std::signbit(b.values[k]));
  }
}

TEST(Journal, reads_back_what_was_written) {
  TestFolder folder;
  write(folder / "j", some_entries());
  const JournalContents contents = read_journals(folder / "j", study, 2);
  ASSERT_EQ(contents.entries.size(), 3u);
  EXPECT_EQ(contents.damaged, 0u);
  for (std::size_t k = 0; k < 3; ++k) expect_equal(contents.entries[k], some_entries()[k]);
  EXPECT_TRUE(read_journals(folder / "none", study, 2).entries.empty());
}

TEST(Journal, cut_anywhere_keeps_every_whole_line_and_no_other) {
  TestFolder folder;
  write(folder / "j", some_entries());
  const std::string text = get(folder / "j");
  const std::size_t header = text.find('\n') + 1;
  for (std::size_t size = header; size <= text.size(); ++size) {
    put(folder / "j", text.substr(0, size));
    const JournalContents contents = read_journals(folder / "j", study, 2);
    const auto whole =
        std::count(text.begin() + static_cast<long>(header), text.begin() + static_cast<long>(size), '\n');
    ASSERT_EQ(contents.entries.size(), static_cast<std::size_t>(whole)) << size;
    for (std::size_t k = 0; k < contents.entries.size(); ++k)
      expect_equal(contents.entries[k], some_entries()[k]);
  }
}

TEST(Journal, leaves_out_a_damaged_line_wherever_it_is_damaged) {
  TestFolder folder;
  write(folder / "j", some_entries());
  const std::string text = get(folder / "j");
  const std::size_t first = text.find('\n') + 1, second = text.find('\n', first);
  for (std::size_t at = first; at < second; ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    put(folder / "j", damaged);
    const JournalContents contents = read_journals(folder / "j", study, 2);
    EXPECT_GE(contents.damaged, 1u) << at;
    ASSERT_EQ(contents.entries.size(), 2u) << at;
    expect_equal(contents.entries[0], some_entries()[1]);
  }
}

TEST(Journal, of_another_study_is_not_read) {
  TestFolder folder;
  write(folder / "j", some_entries(), {{"model", "aa"}, {"samples", "cc"}});
  try {
    read_journals(folder / "j", study, 2);
    FAIL();
  } catch (const JournalMismatch& error) {
    EXPECT_EQ(error.what_differs, "samples");
  }
  put(folder / "j", "no journal at all\n");
  EXPECT_THROW(read_journals(folder / "j", study, 2), JournalMismatch);
  put(folder / "j", "");
  EXPECT_THROW(read_journals(folder / "j", study, 2), JournalMismatch);
}

TEST(Journal, is_one_process_s_at_a_time) {
  TestFolder folder;
  auto journal = std::make_unique<Journal>(folder / "j", study, some_entries());
  EXPECT_THROW(Journal(folder / "j", study, {}), JournalBusy);
  EXPECT_EQ(read_journals(folder / "j", study, 2).entries.size(), 3u);  // untouched
  journal.reset();
  EXPECT_NO_THROW(Journal(folder / "j", study, {}));
}

TEST(Journal, parts_are_read_along_and_each_sample_once) {
  TestFolder folder;
  write(folder / "j", {{1, {1.0}, ""}, {2, {2.0}, ""}});
  write(journal_part(folder / "j", 1), {{2, {2.0}, ""}, {3, {3.0}, ""}});
  write(journal_part(folder / "j", 12), {{4, {4.0}, ""}});
  put(folder / "j.new", "not a part");
  EXPECT_EQ(read_journals(folder / "j", study, 1).entries.size(), 4u);
  EXPECT_EQ(read_journals(folder / "j", study, 1, false).entries.size(), 2u);
  remove_journal_parts(folder / "j");
  EXPECT_EQ(read_journals(folder / "j", study, 1).entries.size(), 2u);
  remove_journals(folder / "j");
  EXPECT_TRUE(read_journals(folder / "j", study, 1).entries.empty());
}

}  // namespace journal_test
}  // namespace tellegen
