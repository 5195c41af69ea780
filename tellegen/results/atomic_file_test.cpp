#include "tellegen/results/atomic_file.h"

#include <gtest/gtest.h>

#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace atomic_file_test {

TEST(AtomicFile, CommitReplacesTheOldFile) {
  TestFolder folder;
  put(folder / "a.csv", "old");
  AtomicFile file(folder / "a.csv");
  put(file.aside(), "new");
  EXPECT_EQ(get(folder / "a.csv"), "old");
  file.commit();
  EXPECT_EQ(get(folder / "a.csv"), "new");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(AtomicFile, WithoutCommitTheOldFileStaysAndNothingElseIsLeft) {
  TestFolder folder;
  put(folder / "a.csv", "old");
  {
    AtomicFile file(folder / "a.csv");
    put(file.aside(), "half");
  }
  EXPECT_EQ(get(folder / "a.csv"), "old");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(AtomicFile, APartialResultIsKeptUnderItsOwnName) {
  TestFolder folder;
  put(folder / "a.csv", "old");
  AtomicFile file(folder / "a.csv");
  put(file.aside(), "half");
  EXPECT_EQ(file.keep_partial(), folder / "a.partial.csv");
  EXPECT_EQ(get(folder / "a.partial.csv"), "half");
  EXPECT_EQ(get(folder / "a.csv"), "old");
}

TEST(AtomicFile, TwoWritersOfOneFileDoNotMeet) {
  TestFolder folder;
  AtomicFile one(folder / "a.csv"), two(folder / "a.csv");
  EXPECT_NE(one.aside(), two.aside());
}

TEST(AtomicFile, ALinkStaysALink) {
  TestFolder folder;
  put(folder / "real.csv", "old");
  std::filesystem::create_symlink(folder / "real.csv", folder / "link.csv");
  write_file(folder / "link.csv", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.csv"));
  EXPECT_EQ(get(folder / "real.csv"), "new");
}

TEST(AtomicFile, ADeviceIsWrittenNotReplaced) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, AMissingFolderIsNamed) {
  TestFolder folder;
  const std::string message = message_of([&] { AtomicFile file(folder / "no/a.csv"); });
  EXPECT_NE(message.find("there is no folder"), std::string::npos) << message;
  EXPECT_NE(message_of([&] { AtomicFile file(folder / ""); }).find("it is a folder"), std::string::npos);
}

TEST(PartialPath, PutsPartialBeforeTheExtension) {
  EXPECT_EQ(partial_path("out/run.csv"), "out/run.partial.csv");
  EXPECT_EQ(partial_path("run"), "run.partial");
}

}  // namespace atomic_file_test
}  // namespace tellegen
