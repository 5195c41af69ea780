#include "tellegen/simulate/time_function.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace time_function_test {

constexpr double forever = std::numeric_limits<double>::infinity();

double value(const TimeFunction& f, double t) {
  double total = 0.0;
  for (const TimeTerm& x : f)
    total += std::pow(t, x.degree) * std::exp(x.lambda * t) *
             (x.cosine * std::cos(x.omega * t) + x.sine * std::sin(x.omega * t));
  return total;
}

struct Pieces : testing::Test {
  Pool pool;
  TableMap tables{{"line", make_table("line", {0.0, 1.0, 3.0}, {0.0, 5.0, 1.0}, Interpolation::linear)},
                  {"steps", make_table("steps", {0.0, 1.0, 3.0}, {0.0, 5.0, 1.0}, Interpolation::hold)},
                  {"curve", make_table("curve", {0.0, 1.0, 3.0}, {0.0, 5.0, 6.0}, Interpolation::cubic)}};

  // The piece is what the expression is, all the way to its end; then the next one.
  void expect_pieces(const std::string& text, const std::vector<double>& corners) {
    const Expr e = parse(pool, text, tables);
    double at = 0.0;
    for (double corner : corners) {
      const auto piece = time_piece(e, at);
      ASSERT_TRUE(piece) << text << " at " << at;
      if (corner == forever) {
        EXPECT_EQ(piece->until, forever) << text;
      } else {
        EXPECT_NEAR(piece->until, corner, 1e-12) << text;
      }
      const double end = std::min(corner, at + 2.0);
      for (double part : {1e-9, 0.3, 0.8, 1 - 1e-9}) {
        const double t = at + part * (end - at), expected = evaluate(e, {{pool.symbol("t"), t}});
        EXPECT_NEAR(value(piece->function, t), expected, 1e-12 * (1 + std::abs(expected)))
            << text << " at " << t;
      }
      at = corner;
    }
  }
  bool known(const std::string& text) { return time_piece(parse(pool, text, tables), 0.0).has_value(); }
};

TEST_F(Pieces, lines_sines_and_exponentials_hold_for_ever) {
  for (const char* text :
       {"3", "2*t - 1", "sin(3*t + 0.5)", "cos(1 - 2*t)", "exp(-2*t)", "4*exp(-t)*sin(5*t)",
        "sin(2*t)*cos(3*t + 1)", "sin(4*t)^2", "t*sin(2*t)", "exp(2)*t", "sqrt(2)*sin(t)", "(2*t + 1)/4",
        "exp(-t)*exp(-3*t + 1)", "cos(2*t)^3", "limexp(-t)", "0*t", "t*exp(-t)*cos(2*t)"})
    expect_pieces(text, {forever});
}

TEST_F(Pieces, choices_end_where_their_condition_changes) {
  expect_pieces("if(t < 1.5, 2*t, 3)", {1.5, forever});
  expect_pieces("if(2*t - 1 >= 0, sin(t), 0)", {0.5, forever});
  expect_pieces("max(t - 0.25, 0)", {0.25, forever});
  expect_pieces("min(t, 2)", {2.0, forever});
  expect_pieces("abs(t - 1)", {1.0, forever});
  expect_pieces("(t > 1)*3", {1.0, forever});
  expect_pieces("if(t > 1 and t < 2, 5, 1)", {1.0, 2.0, forever});
  expect_pieces("if(t < 1 or not (t < 2), 5, 1)", {1.0, 2.0, forever});
}

TEST_F(Pieces, a_remainder_ends_with_its_period) {
  expect_pieces("mod(t, 0.4)", {0.4, 0.8, 1.2, 1.6});
  expect_pieces("mod(t - 0.1, 0.4)", {0.1, 0.5, 0.9});
  expect_pieces("if(mod(t, 2) < 1, 1, -1)", {1.0, 2.0, 3.0, 4.0});
}

TEST_F(Pieces, steps_end_at_whole_numbers_and_signs_at_zero) {
  expect_pieces("floor(2*t)", {0.5, 1.0, 1.5});
  expect_pieces("ceil(2*t - 0.5)", {0.25, 0.75, 1.25});
  expect_pieces("floor(0.7 - t)", {0.7, 1.7, 2.7});
  expect_pieces("sign(t - 0.3)*t", {0.3, forever});
}

TEST_F(Pieces, tables_with_straight_pieces_end_at_their_points) {
  expect_pieces("line(t)", {1.0, 3.0, forever});
  expect_pieces("line(2*t - 1)", {0.5, 1.0, 2.0, forever});
  expect_pieces("steps(t)", {1.0, 3.0, forever});
  expect_pieces("line(0.5)*t", {forever});
  expect_pieces("line(t)*sin(t)", {1.0, 3.0, forever});
}

TEST_F(Pieces, the_slope_of_a_table_is_constant_on_a_piece) {
  expect_pieces("line'(t)", {1.0, 3.0, forever});
  expect_pieces("3*line'(2*t)", {0.5, 1.5, forever});
}

TEST_F(Pieces, what_is_not_of_the_class_is_refused) {
  for (const char* text : {"t^2", "sqrt(t)", "1/t", "x", "curve(t)", "exp(-t^2)", "sin(t^2)", "tanh(t)",
                           "if(sin(t) < 0, 1, 2)", "2^t"})
    EXPECT_FALSE(known(text)) << text;
}

}  // namespace time_function_test
}  // namespace tellegen
