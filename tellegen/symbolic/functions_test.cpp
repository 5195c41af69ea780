#include "tellegen/symbolic/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/tellegen_math.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {
namespace functions_test {

// Points inside the domain and away from kinks; what is not listed is tried at the general ones.
std::vector<std::vector<double>> points_of(const Function& f) {
  static const std::map<std::string_view, std::vector<std::vector<double>>> special = {
      {"asin", {{-0.9}, {0.1}, {0.8}}},
      {"acos", {{-0.9}, {0.1}, {0.8}}},
      {"atanh", {{-0.9}, {0.1}, {0.8}}},
      {"acosh", {{1.2}, {2.0}, {7.0}}},
      {"log", {{0.1}, {1.0}, {30.0}}},
      {"log10", {{0.1}, {1.0}, {30.0}}},
      {"sqrt", {{0.1}, {1.0}, {30.0}}},
      {"limexp", {{-2.0}, {3.0}, {79.9}, {80.2}, {95.0}}},
      {"mod", {{7.3, 2.0}, {-7.3, 2.0}, {7.3, -2.0}}},
      {"if", {{1.0, 0.3, 0.4}, {0.0, 0.3, 0.4}}},
  };
  auto found = special.find(f.name);
  if (found != special.end()) return found->second;
  if (f.arity == 1) return {{-1.3}, {-0.2}, {0.4}, {1.4}};
  return {{-1.3, 0.4}, {0.7, -0.6}, {0.4, 1.9}, {1.4, 0.2}};
}

TEST(Functions, every_derivative_matches_central_differences) {
  for (const Function& f : functions()) {
    if (f.name == "junction_limit" || f.name == "delayed") continue;  // held constant on purpose
    for (const std::vector<double>& point : points_of(f)) {
      Pool pool;
      std::vector<Expr> symbols;
      ExprMap<double> values;
      for (std::size_t k = 0; k < point.size(); ++k) {
        symbols.push_back(pool.symbol(std::string(k + 1, 'x')));
        values[symbols[k]] = point[k];
      }
      Expr call = pool.call(f, symbols);
      for (std::size_t k = 0; k < point.size(); ++k) {
        if (f.name == "if" && k == 0) continue;  // a step
        const double h = 1e-5 * (1.0 + std::abs(point[k]));
        std::vector<double> up = point, down = point;
        up[k] += h;
        down[k] -= h;
        const int count = static_cast<int>(point.size());
        const double difference =
            (f.value(up.data(), count) - f.value(down.data(), count)) / (up[k] - down[k]);
        EXPECT_NEAR(evaluate(derivative(call, symbols[k]), values), difference,
                    1e-6 * (1.0 + std::abs(difference)))
            << f.name << " by argument " << k << " at " << point[0];
      }
    }
  }
}

TEST(Functions, every_row_is_complete_and_can_be_found) {
  for (const Function& f : functions()) {
    EXPECT_EQ(find_function(f.name), &f);
    EXPECT_FALSE(f.c.empty() || f.latex.empty() || f.summary.empty()) << f.name;
    const int count = f.arity < 0 ? 2 : f.arity;
    for (int k = 1; k <= count; ++k) {
      const std::string place = {'$', static_cast<char>('0' + k)};
      EXPECT_NE(f.c.find(place), std::string_view::npos) << f.name;
      EXPECT_NE(f.latex.find(place), std::string_view::npos) << f.name;
    }
  }
  EXPECT_EQ(find_function("sine"), nullptr);
}

TEST(Functions, limexp_is_continuous_with_its_slope_at_the_knee) {
  EXPECT_EQ(tellegen_limexp(80.0), std::exp(80.0));
  EXPECT_NEAR(tellegen_limexp(80.0 + 1e-9) / std::exp(80.0), 1.0, 2e-9);
  EXPECT_EQ(tellegen_limexp(81.0), 2.0 * std::exp(80.0));
  EXPECT_TRUE(std::isfinite(tellegen_limexp(1e6)));
}

// pnjlim of SPICE3f5, devsup.c, with vt = 1 and vcrit = 4, worked by hand.
TEST(Functions, junction_limit_is_pnjlim) {
  EXPECT_EQ(tellegen_junction_limit(3.9, -50.0), 3.9);                    // below critical: free
  EXPECT_EQ(tellegen_junction_limit(10.0, 8.5), 10.0);                    // a short step: free
  EXPECT_EQ(tellegen_junction_limit(30.0, 10.0), 10.0 + std::log(21.0));  // a long step up
  EXPECT_EQ(tellegen_junction_limit(10.0, 30.0), 4.0);                    // a long step down
  EXPECT_EQ(tellegen_junction_limit(50.0, -1.0), std::log(50.0));         // from reverse bias
}

TEST(Functions, mod_has_the_sign_of_the_divisor) {
  EXPECT_EQ(tellegen_mod(7.0, 3.0), 1.0);
  EXPECT_EQ(tellegen_mod(-7.0, 3.0), 2.0);
  EXPECT_EQ(tellegen_mod(7.0, -3.0), -2.0);
}

// A standard normal sample of n: mean 0 +- 1/sqrt(n), variance 1 +- sqrt(2/n), fourth moment 3 +- sqrt(96/n),
// and neighbours, by number and by seed, uncorrelated within 1/sqrt(n). Bounds are four deviations.
TEST(Functions, gauss_is_a_standard_normal_sequence_for_every_seed) {
  const int n = 200000;
  for (const double seed : {0.0, 1.0, -7.0, 1e6}) {
    double mean = 0.0, square = 0.0, fourth = 0.0, next = 0.0, other = 0.0;
    for (int k = 0; k < n; ++k) {
      const double x = tellegen_gauss(seed, k);
      mean += x / n;
      square += x * x / n;
      fourth += x * x * x * x / n;
      next += x * tellegen_gauss(seed, k + 1) / n;
      other += x * tellegen_gauss(seed + 1.0, k) / n;
    }
    EXPECT_LT(std::abs(mean), 4.0 / std::sqrt(n)) << seed;
    EXPECT_LT(std::abs(square - 1.0), 4.0 * std::sqrt(2.0 / n)) << seed;
    EXPECT_LT(std::abs(fourth - 3.0), 4.0 * std::sqrt(96.0 / n)) << seed;
    EXPECT_LT(std::abs(next), 4.0 / std::sqrt(n)) << seed;
    EXPECT_LT(std::abs(other), 4.0 / std::sqrt(n)) << seed;
  }
}

TEST(Functions, gauss_counts_by_integer_parts_and_repeats_itself) {
  EXPECT_EQ(tellegen_gauss(3.0, 17.0), tellegen_gauss(3.9, 17.2));
  EXPECT_NE(tellegen_gauss(3.0, 17.0), tellegen_gauss(17.0, 3.0));
  EXPECT_EQ(tellegen_gauss(-0.0, 0.0), tellegen_gauss(0.0, -0.0));
  EXPECT_NEAR(tellegen_gauss(3.0, 17.0), 1.0195181590463869, 1e-15);  // the same arithmetic in Python 3.11
}

TEST(Functions, small_powers_are_products_and_negative_ones_reciprocals) {
  EXPECT_EQ(power_value(1.1, 2.0), 1.1 * 1.1);
  EXPECT_EQ(power_value(1.1, 3.0), 1.1 * 1.1 * 1.1);
  EXPECT_EQ(power_value(3.0, -1.0), 1.0 / 3.0);
  EXPECT_EQ(power_value(3.0, 0.5), std::sqrt(3.0));
  EXPECT_EQ(power_value(3.0, -0.5), 1.0 / std::sqrt(3.0));
  EXPECT_EQ(power_value(3.0, 1.7), std::pow(3.0, 1.7));
}

}  // namespace functions_test
}  // namespace tellegen
