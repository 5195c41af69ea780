#include "tellegen/sweep/faster.h"

#include <gtest/gtest.h>

namespace tellegen {
namespace faster_test {

TEST(FasterExecution, does_not_compile_for_short_runs) {
  FasterExecution execution;
  for (int k = 0; k < 5; ++k) {
    EXPECT_FALSE(execution.compile());
    execution.took(false, 0.001);
  }
}

TEST(FasterExecution, compiles_where_the_second_run_gains) {
  FasterExecution execution;
  EXPECT_FALSE(execution.compile());
  execution.took(false, 0.1);
  EXPECT_TRUE(execution.compile());
  execution.took(true, 0.5);  // with the compiler
  EXPECT_TRUE(execution.compile());
  execution.took(true, 0.01);
  EXPECT_TRUE(execution.compile());
}

TEST(FasterExecution, gives_up_where_every_sample_needs_the_compiler) {
  FasterExecution execution;
  execution.took(false, 0.1);
  for (int k = 0; k < 2; ++k) execution.took(execution.compile(), 0.5);
  EXPECT_FALSE(execution.compile());
}

}  // namespace faster_test
}  // namespace tellegen
