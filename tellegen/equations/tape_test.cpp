#include "tellegen/equations/tape.h"

#include <gtest/gtest.h>

#include <array>

namespace tellegen {
namespace tape_test {

TEST(Tape, does_again_what_was_done) {
  Tape tape(true);
  const Traced a = tape.input(2.0), b = tape.input(4.0);
  const Traced r = tape.subtract_product(tape.add(a, {1.0}), tape.invert(b), tape.multiply(a, b));
  EXPECT_EQ(r.value, 3.0 - 0.25 * 8.0);
  ASSERT_TRUE(tape.replay(std::array{3.0, 5.0}));
  EXPECT_EQ(tape.value(r.slot), 4.0 - (1.0 / 5.0) * 15.0);
}

TEST(Tape, numbers_of_the_topology_stay_numbers) {
  Tape tape(true);
  EXPECT_LT(tape.multiply({-1.0}, {1.0}).slot, 0);
  Tape off(false);
  EXPECT_LT(off.input(2.0).slot, 0);
}

TEST(Tape, tells_what_no_longer_holds) {
  Tape pivots(true);
  const std::array<Traced, 2> row{pivots.input(1.0), pivots.input(5.0)};
  pivots.is_large_among(row[0], row);
  EXPECT_TRUE(pivots.replay(std::array{1.0, 20.0}));
  EXPECT_FALSE(pivots.replay(std::array{1e-6, 20.0}));

  Tape zeros(true);
  zeros.is_zero(zeros.input(0.0));
  const Traced x = zeros.input(0.1);
  zeros.cancels(zeros.multiply(x, {3.0}), {3.0}, x);
  EXPECT_TRUE(zeros.replay(std::array{0.0, 0.7}));
  EXPECT_FALSE(zeros.replay(std::array{1e-30, 0.7}));
}

}  // namespace tape_test
}  // namespace tellegen
