#include "tellegen/program/compile.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "tellegen/program/test_cache.h"

namespace tellegen {
namespace compile_test {

namespace fs = std::filesystem;

constexpr const char* square = "double f(double x) { return tellegen_square(x) + 1; }\n";

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

double call(const CompiledCode& code, double x) { return code.function<double(double)>("f")(x); }

struct Compile : testing::Test {
  TestCache cache;
};

TEST_F(Compile, code_runs_and_may_use_the_runtime_header) {
  const auto code = compile_c(square);
  ASSERT_TRUE(code);
  EXPECT_EQ(call(*code, 3.0), 10.0);
}

TEST_F(Compile, the_cache_holds_one_object_and_nothing_else_however_often_it_is_asked) {
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(compile_c(square));
  const auto files = files_in(cache.folder);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].extension(), ".so");
  const auto first = fs::last_write_time(files[0]);
  ASSERT_TRUE(compile_c(square));
  EXPECT_EQ(fs::last_write_time(files[0]), first);
}

TEST_F(Compile, is_done_at_last_where_many_short_runs_interpret) {
  const auto run = [] {  // a process of its own, as runs are
    const pid_t child = fork();
    if (child == 0) _exit(compile_c("double f(double x) { return x + 7; }\n", 0.03) ? 1 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  };
  EXPECT_FALSE(run());
  ASSERT_EQ(files_in(cache.folder).size(), 1u);
  EXPECT_EQ(files_in(cache.folder)[0].extension(), ".seconds");
  EXPECT_TRUE(run());
  ASSERT_EQ(files_in(cache.folder).size(), 1u);
  EXPECT_EQ(files_in(cache.folder)[0].extension(), ".so");
}

TEST_F(Compile, is_left_where_interpreting_takes_less_unless_it_is_done_already) {
  EXPECT_FALSE(compile_c(square, 0.0));
  EXPECT_TRUE(files_in(cache.folder).empty());
  ASSERT_TRUE(compile_c(square, 10.0));
  EXPECT_TRUE(compile_c(square, 0.0));
  std::string large = square;
  while (large.size() < 200'000) large += "/* nothing to compile, but the estimate does not know that */\n";
  EXPECT_GT(seconds_of_interpreting(square, 1.0), 1e9);
  EXPECT_LT(seconds_of_interpreting(large, 1.0), 1e-3);
  EXPECT_FALSE(compile_c(large, seconds_of_interpreting(large, 1.0)));
  std::string numbers = "static const double c[] = {0.0";
  while (numbers.size() < 200'000) numbers += ", 0.125";
  EXPECT_GT(seconds_of_interpreting(numbers + "};\n" + square, 1.0), 1e9);  // large, and soon compiled
}

TEST_F(Compile, different_source_is_a_different_object) {
  const auto one = compile_c(square);
  const auto two = compile_c("double f(double x) { return x; }\n");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(call(*one, 2.0), 5.0);
  EXPECT_EQ(call(*two, 2.0), 2.0);
  EXPECT_EQ(files_in(cache.folder).size(), 2u);
}

TEST_F(Compile, a_corrupt_cache_entry_is_rebuilt) {
  ASSERT_TRUE(compile_c(square));
  const fs::path object = files_in(cache.folder).at(0);
  for (const char* junk : {"", "not an object\n",
                           "\x7f"
                           "ELF"}) {
    std::ofstream(object, std::ios::binary | std::ios::trunc) << junk;
    const auto code = compile_c(square);
    ASSERT_TRUE(code) << "'" << junk << "'";
    EXPECT_EQ(call(*code, 2.0), 5.0);
  }
}

TEST_F(Compile, without_a_compiler_there_is_no_code) {
  setenv("TELLEGEN_COMPILER", "none", 1);
  EXPECT_FALSE(compile_c(square));
  setenv("TELLEGEN_COMPILER", "/no/such/compiler", 1);
  EXPECT_FALSE(compile_c(square));
  setenv("TELLEGEN_COMPILER", "no-such-compiler", 1);
  EXPECT_FALSE(compile_c(square));
}

TEST_F(Compile, the_compiler_may_be_named) {
  setenv("TELLEGEN_COMPILER", "gcc", 1);
  ASSERT_TRUE(compile_c(square));
  setenv("TELLEGEN_COMPILER", "/bin/false", 1);  // a compiler that fails
  EXPECT_FALSE(compile_c(square));
  EXPECT_EQ(files_in(cache.folder).size(), 1u);  // and leaves nothing behind
}

TEST_F(Compile, a_cache_that_cannot_be_written_means_no_code_and_no_harm) {
  std::ofstream(cache.folder) << "a file in its place";
  EXPECT_FALSE(compile_c(square));
}

TEST_F(Compile, source_that_does_not_compile_gives_no_code_and_leaves_nothing_behind) {
  EXPECT_FALSE(compile_c("this is not C\n"));
  EXPECT_TRUE(files_in(cache.folder).empty());
}

TEST_F(Compile, processes_that_compile_the_same_at_once_all_succeed) {
  std::vector<pid_t> children;
  for (int k = 0; k < 4; ++k) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto code = compile_c(square);
      _exit(code && call(*code, 4.0) == 17.0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files_in(cache.folder).size(), 1u);
}

}  // namespace compile_test
}  // namespace tellegen
