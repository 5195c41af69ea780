// runtime/tellegen_elementary.h and tellegen_single.h against the C library in extended precision, which has
// 11 bits more than double on x86-64 and 60 on ARM64.
#include "runtime/tellegen_single.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>

namespace tellegen {
namespace elementary_test {

using Extended = long double;

// In units of the last place of what is exact.
double error_of(double value, Extended exact) {
  const double nearest = static_cast<double>(exact);
  if (std::isnan(nearest)) return std::isnan(value) ? 0.0 : HUGE_VAL;
  if (std::isinf(nearest) || std::isinf(value)) return value == nearest ? 0.0 : HUGE_VAL;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  const int last = std::max(exponent - 53, -1074);
  return static_cast<double>(std::fabs(std::ldexp(static_cast<Extended>(value) - exact, -last)));
}

struct Numbers {  // the same on every machine
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  // Of either sign, all orders of magnitude alike.
  double sized(double low, double high) {
    const double x = std::exp(between(std::log(low), std::log(high)));
    return next() & 1 ? x : -x;
  }
};

using One = double (*)(double);
using Two = double (*)(double, double);
using ExtendedOne = Extended (*)(Extended);
using ExtendedTwo = Extended (*)(Extended, Extended);
constexpr int tries = 20'000;

struct Case {
  const char* name;
  One own;
  ExtendedOne exact;
  double low, high;  // also from low on by orders of magnitude, where it is above zero
  double most;       // in units of the last place
};

// The worst of 20,000 to 300,000 arguments in each range, by MPFR with 140 bits, is below these.
const Case cases[] = {
    {"exp", tellegen_exp, std::exp, -745.0, 709.7, 0.6},
    {"exp", tellegen_exp, std::exp, 1e-20, 700.0, 0.6},
    {"log", tellegen_log, std::log, 0.5, 2.0, 0.65},
    {"log", tellegen_log, std::log, 0.99, 1.01, 0.65},
    {"log", tellegen_log, std::log, 1e-320, 1e308, 0.65},
    {"log10", tellegen_log10, std::log10, 0.5, 2.0, 0.55},
    {"log10", tellegen_log10, std::log10, 1e-320, 1e308, 0.55},
    {"sin", tellegen_sin, std::sin, -10.0, 10.0, 0.8},
    {"sin", tellegen_sin, std::sin, 1e-10, 1e15, 0.8},
    {"cos", tellegen_cos, std::cos, -10.0, 10.0, 0.8},
    {"cos", tellegen_cos, std::cos, 1e-10, 1e15, 0.8},
    {"tan", tellegen_tan, std::tan, -10.0, 10.0, 1.0},
    {"tan", tellegen_tan, std::tan, 1e-10, 1e15, 1.0},
    {"asin", tellegen_asin, std::asin, -1.0, 1.0, 0.8},
    {"asin", tellegen_asin, std::asin, 1e-10, 1.0, 0.8},
    {"acos", tellegen_acos, std::acos, -1.0, 1.0, 0.8},
    {"acos", tellegen_acos, std::acos, 0.999, 1.0, 0.8},
    {"atan", tellegen_atan, std::atan, -5.0, 5.0, 0.7},
    {"atan", tellegen_atan, std::atan, 1e-10, 1e20, 0.7},
    {"sinh", tellegen_sinh, std::sinh, -2.0, 2.0, 0.55},
    {"sinh", tellegen_sinh, std::sinh, 1e-10, 710.4, 0.55},
    {"cosh", tellegen_cosh, std::cosh, -2.0, 2.0, 0.55},
    {"cosh", tellegen_cosh, std::cosh, 1e-10, 710.4, 0.55},
    {"tanh", tellegen_tanh, std::tanh, -2.0, 2.0, 0.6},
    {"tanh", tellegen_tanh, std::tanh, 1e-10, 30.0, 0.6},
    {"asinh", tellegen_asinh, std::asinh, -2.0, 2.0, 0.6},
    {"asinh", tellegen_asinh, std::asinh, 1e-10, 1e300, 0.6},
    {"acosh", tellegen_acosh, std::acosh, 1.0, 1.5, 0.6},
    {"acosh", tellegen_acosh, std::acosh, 1.0, 1e300, 0.6},
    {"atanh", tellegen_atanh, std::atanh, -1.0, 1.0, 0.6},
    {"atanh", tellegen_atanh, std::atanh, 1e-10, 0.999999, 0.6},
};

TEST(Elementary, errors_are_below_one_unit_in_the_last_place) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no longer than double here";
  Numbers numbers;
  for (const Case& c : cases) {
    double worst = 0.0, at = 0.0;
    for (int k = 0; k < tries; ++k) {
      const bool by_size = c.low > 0.0 && c.high / c.low > 100.0;
      double x = by_size ? numbers.sized(c.low, c.high) : numbers.between(c.low, c.high);
      if (std::isnan(c.own(x)) && std::isnan(c.exact(x))) x = -x;  // a logarithm's argument
      const double error = error_of(c.own(x), c.exact(x));
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LT(worst, c.most) << c.name << " at " << at << ", " << c.low << " to " << c.high;
  }
}

TEST(Elementary, errors_of_two_arguments_too) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no longer than double here";
  Numbers numbers;
  struct Pair {
    const char* name;
    Two own;
    ExtendedTwo exact;
    std::function<std::pair<double, double>()> arguments;
    double most;
  };
  const auto sized = [&](double low, double high) {
    return [&numbers, low, high] { return std::pair(numbers.sized(low, high), numbers.sized(low, high)); };
  };
  const Pair pairs[] = {
      {"pow", tellegen_pow, std::pow,
       [&] { return std::pair(numbers.between(0.0, 10.0), numbers.between(-100.0, 100.0)); }, 0.55},
      {"pow", tellegen_pow, std::pow,
       [&] { return std::pair(numbers.between(0.99, 1.01), numbers.between(-3e4, 3e4)); }, 0.55},
      {"pow", tellegen_pow, std::pow,
       [&] { return std::pair(std::fabs(numbers.sized(1e-320, 1e300)), numbers.between(0.0, 2.0)); }, 0.7},
      {"atan2", tellegen_atan2, std::atan2, sized(1e-3, 1e3), 0.65},
      {"atan2", tellegen_atan2, std::atan2, sized(1e-300, 1e300), 0.65},
      {"hypot", tellegen_hypot, std::hypot, sized(1e-3, 1e3), 0.55},
      {"hypot", tellegen_hypot, std::hypot, sized(1e-300, 1e300), 0.55},
      {"hypot", tellegen_hypot, std::hypot, sized(1e-310, 1e-290), 0.8},
  };
  for (const Pair& c : pairs) {
    double worst = 0.0;
    std::pair<double, double> at;
    for (int k = 0; k < tries; ++k) {
      const auto [x, y] = c.arguments();
      const double error = error_of(c.own(x, y), c.exact(x, y));
      if (error > worst) worst = error, at = {x, y};
    }
    EXPECT_LT(worst, c.most) << c.name << " at " << at.first << ", " << at.second;
  }
}

// Where a multiple of pi/2 is all but reached: the double nearest to one of all [Muller, Elementary
// Functions, table 11.1], and those nearest to small multiples. Sines from MPFR with 200 bits.
TEST(Elementary, large_angles_and_multiples_of_a_right_angle) {
  EXPECT_EQ(tellegen_cos(6381956970095103.0 * 0x1p797), -0x1.14ae72e6ba22fp-61);
  EXPECT_EQ(tellegen_tan(6381956970095103.0 * 0x1p797), -0x1.d9ba9a7975636p+60);
  EXPECT_EQ(tellegen_sin(0x1.921fb54442d18p1), 0x1.1a62633145c07p-53);
  EXPECT_EQ(tellegen_cos(0x1.921fb54442d18p0), 0x1.1a62633145c07p-54);
  EXPECT_EQ(tellegen_sin(1e22), -0.8522008497671888);  // [Ng 1992, argument reduction for huge arguments]
  EXPECT_EQ(tellegen_sin(0x1.fffffffffffffp1023), 0x1.452fc98b34e97p-8);
  EXPECT_EQ(tellegen_cos(0x1.fffffffffffffp1023), -0x1.fffe62ecfab75p-1);
  for (int k = 1; k < 2000; ++k) {
    const double x = k * 0x1.921fb54442d18p0;
    const Extended exact = k % 2 ? std::cos(static_cast<Extended>(x)) : std::sin(static_cast<Extended>(x));
    if (LDBL_MANT_DIG < 64) continue;
    EXPECT_LT(error_of(k % 2 ? tellegen_cos(x) : tellegen_sin(x), exact), 0.8) << k;
  }
}

// exp and log in units of the last place of a float, sin and cos in parts of 1; all exponents of a float.
TEST(Elementary, single_precision) {
  Numbers numbers;
  const auto units = [](float value, double exact) {
    int exponent = 0;
    std::frexp(exact, &exponent);
    return std::fabs(static_cast<double>(value) - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
  };
  double exp = 0.0, log = 0.0, sine = 0.0;
  for (int k = 0; k < tries; ++k) {
    const auto x = static_cast<float>(numbers.between(-100.0, 88.7));
    exp = std::max(exp, units(tellegen_expf(x), std::exp(static_cast<double>(x))));
    for (const double size : {numbers.sized(1e-44, 3.4e38), numbers.between(0.5, 2.0)}) {
      const auto y = static_cast<float>(std::fabs(size));
      log = std::max(log, units(tellegen_logf(y), std::log(static_cast<double>(y))));
    }
    for (const double width : {1.0, 10.0, 1e4, 1e6}) {
      const auto angle = static_cast<float>(numbers.between(-width, width));
      const auto a = static_cast<double>(angle);
      sine = std::max({sine, std::fabs(static_cast<double>(tellegen_sinf(angle)) - std::sin(a)),
                       std::fabs(static_cast<double>(tellegen_cosf(angle)) - std::cos(a))});
    }
  }
  EXPECT_LT(exp, 1.1);
  EXPECT_LT(log, 2.1);
  EXPECT_LT(sine, 1.1e-7);
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(tellegen_expf(100.0f), inf);
  EXPECT_EQ(tellegen_expf(-inf), 0.0f);
  EXPECT_EQ(tellegen_logf(0.0f), -inf);
  EXPECT_EQ(tellegen_logf(inf), inf);
  for (const float none : {tellegen_logf(-1.0f), tellegen_sinf(inf), tellegen_cosf(inf), tellegen_expf(NAN)})
    EXPECT_TRUE(std::isnan(none));
}

// C99, annex F. The C library's own answers, where it has the same class of number.
TEST(Elementary, special_values_are_those_of_C) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {0.0,        -0.0,       1.0,        -1.0,        2.0,         -2.0,   3.0,
                           -3.0,       0.5,        -0.5,       inf,         -inf,        nan,    0x1p-1074,
                           -0x1p-1074, 0x1p-1022,  -0x1p-1022, DBL_MAX,     -DBL_MAX,    1e300,  -1e300,
                           1e-300,     -1e-300,    709.78,     710.0,       -745.13,     -746.0, 0x1p53,
                           -0x1p53,    0x1p53 - 1, 1 - 0x1p53, 1 + 0x1p-52, 1 - 0x1p-53, 0x1p64, -0x1p64,
                           0x1p-70,    30.0,       -30.0,      1.5,         -1.5};
  const auto same = [](const char* name, double x, double y, double own, double library) {
    if (std::isnan(own) && std::isnan(library)) return;
    EXPECT_EQ(std::signbit(own), std::signbit(library)) << name << " of " << x << ", " << y;
    if (library == 0.0 || std::isinf(library) || std::isnan(library) || std::isnan(own))
      EXPECT_EQ(own, library) << name << " of " << x << ", " << y;
    else
      EXPECT_LE(std::fabs(own - library), 4 * DBL_EPSILON * std::fabs(library))
          << name << " of " << x << ", " << y;
  };
#define SAME(f) same(#f, x, 0.0, tellegen_##f(x), std::f(x))
#define SAME2(f) same(#f, x, y, tellegen_##f(x, y), std::f(x, y))
  for (const double x : values) {
    SAME(exp), SAME(log), SAME(log10), SAME(sin), SAME(cos), SAME(tan), SAME(asin), SAME(acos), SAME(atan);
    SAME(sinh), SAME(cosh), SAME(tanh), SAME(asinh), SAME(acosh), SAME(atanh);
    for (const double y : values) SAME2(pow), SAME2(atan2), SAME2(hypot);
  }
#undef SAME
#undef SAME2
  for (int k = -300; k <= 300; ++k) EXPECT_EQ(tellegen_log10(std::stod("1e" + std::to_string(k))), k);
}

}  // namespace elementary_test
}  // namespace tellegen
