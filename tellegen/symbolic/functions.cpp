#include "tellegen/symbolic/functions.h"

#include <cmath>
#include <numbers>
#include <unordered_map>

#include "runtime/tellegen_math.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {
namespace {

// Shorthand for the rows below: a[0] is the first argument's value, x(e) and y(e) the arguments of a call.
using Values = const double*;
Expr x(Expr e) { return e.args()[0]; }
Expr y(Expr e) { return e.args()[1]; }
Expr number(Expr e, double value) { return e.pool().number(value); }
Expr make(std::string_view name, Expr a) { return a.pool().call(name, {a}); }
Expr squared(Expr e) { return pow(e, 2.0); }
Expr one_plus(Expr e) { return e + 1.0; }
Expr one_minus(Expr e) { return -e + 1.0; }

Expr zero(Expr, int) { return {}; }

// 1 where argument `k` is the one chosen by `condition` (true: the first), 0 elsewhere.
Expr chosen(Expr condition, bool first) {
  return condition.pool().call("if", {condition, number(condition, first), number(condition, !first)});
}

constexpr double limexp_knee = TELLEGEN_LIMEXP_KNEE;

const Function function_table[] = {
    {"sin", 1, [](Values a, int) { return tellegen_sin(a[0]); },
     [](Expr e, int) { return make("cos", x(e)); }, "tellegen_sin($1)", R"(\sin\left($1\right))",
     "sine of an angle in radians"},
    {"cos", 1, [](Values a, int) { return tellegen_cos(a[0]); },
     [](Expr e, int) { return -make("sin", x(e)); }, "tellegen_cos($1)", R"(\cos\left($1\right))",
     "cosine of an angle in radians"},
    {"tan", 1, [](Values a, int) { return tellegen_tan(a[0]); },
     [](Expr e, int) { return one_plus(squared(e)); }, "tellegen_tan($1)", R"(\tan\left($1\right))",
     "tangent of an angle in radians"},
    {"asin", 1, [](Values a, int) { return tellegen_asin(a[0]); },
     [](Expr e, int) { return pow(one_minus(squared(x(e))), -0.5); }, "tellegen_asin($1)",
     R"(\arcsin\left($1\right))", "inverse sine, between -pi/2 and pi/2"},
    {"acos", 1, [](Values a, int) { return tellegen_acos(a[0]); },
     [](Expr e, int) { return -pow(one_minus(squared(x(e))), -0.5); }, "tellegen_acos($1)",
     R"(\arccos\left($1\right))", "inverse cosine, between 0 and pi"},
    {"atan", 1, [](Values a, int) { return tellegen_atan(a[0]); },
     [](Expr e, int) { return pow(one_plus(squared(x(e))), -1.0); }, "tellegen_atan($1)",
     R"(\arctan\left($1\right))", "inverse tangent, between -pi/2 and pi/2"},
    {"atan2", 2, [](Values a, int) { return tellegen_atan2(a[0], a[1]); },
     [](Expr e, int k) { return (k == 0 ? y(e) : -x(e)) / (squared(x(e)) + squared(y(e))); },
     "tellegen_atan2($1, $2)", R"(\operatorname{atan2}\left($1, $2\right))",
     "angle of the point (second, first)"},
    {"sinh", 1, [](Values a, int) { return tellegen_sinh(a[0]); },
     [](Expr e, int) { return make("cosh", x(e)); }, "tellegen_sinh($1)", R"(\sinh\left($1\right))",
     "hyperbolic sine"},
    {"cosh", 1, [](Values a, int) { return tellegen_cosh(a[0]); },
     [](Expr e, int) { return make("sinh", x(e)); }, "tellegen_cosh($1)", R"(\cosh\left($1\right))",
     "hyperbolic cosine"},
    {"tanh", 1, [](Values a, int) { return tellegen_tanh(a[0]); },
     [](Expr e, int) { return one_minus(squared(e)); }, "tellegen_tanh($1)", R"(\tanh\left($1\right))",
     "hyperbolic tangent"},
    {"asinh", 1, [](Values a, int) { return tellegen_asinh(a[0]); },
     [](Expr e, int) { return pow(one_plus(squared(x(e))), -0.5); }, "tellegen_asinh($1)",
     R"(\operatorname{arsinh}\left($1\right))", "inverse hyperbolic sine"},
    {"acosh", 1, [](Values a, int) { return tellegen_acosh(a[0]); },
     [](Expr e, int) { return pow(squared(x(e)) - 1.0, -0.5); }, "tellegen_acosh($1)",
     R"(\operatorname{arcosh}\left($1\right))", "inverse hyperbolic cosine"},
    {"atanh", 1, [](Values a, int) { return tellegen_atanh(a[0]); },
     [](Expr e, int) { return pow(one_minus(squared(x(e))), -1.0); }, "tellegen_atanh($1)",
     R"(\operatorname{artanh}\left($1\right))", "inverse hyperbolic tangent"},
    {"exp", 1, [](Values a, int) { return tellegen_exp(a[0]); }, [](Expr e, int) { return e; },
     "tellegen_exp($1)", R"(\exp\left($1\right))", "exponential"},
    {"limexp", 1, [](Values a, int) { return tellegen_limexp(a[0]); },
     [](Expr e, int) {
       Expr below = e.pool().call("le", {x(e), number(e, limexp_knee)});
       return e.pool().call("if", {below, e, number(e, tellegen_exp(limexp_knee))});
     },
     "tellegen_limexp($1)", R"(\operatorname{limexp}\left($1\right))",
     "exponential up to 80, continued by its tangent line"},
    {"junction_limit", 2, [](Values a, int) { return tellegen_junction_limit(a[0], a[1]); }, zero,
     "tellegen_junction_limit($1, $2)", R"(\operatorname{limit}\left($1, $2\right))",
     "SPICE's limit on an exponent's step from the previous iterate, the second argument"},
    {"log", 1, [](Values a, int) { return tellegen_log(a[0]); }, [](Expr e, int) { return pow(x(e), -1.0); },
     "tellegen_log($1)", R"(\ln\left($1\right))", "natural logarithm"},
    {"log10", 1, [](Values a, int) { return tellegen_log10(a[0]); },
     [](Expr e, int) { return std::numbers::log10e * pow(x(e), -1.0); }, "tellegen_log10($1)",
     R"(\log_{10}\left($1\right))", "logarithm to base 10"},
    {"sqrt", 1, [](Values a, int) { return std::sqrt(a[0]); }, [](Expr e, int) { return 0.5 * pow(e, -1.0); },
     "sqrt($1)", R"(\sqrt{$1})", "square root"},
    {"hypot", 2, [](Values a, int) { return tellegen_hypot(a[0], a[1]); },
     [](Expr e, int k) {  // 0 at the origin, where it has none
       Pool& pool = e.pool();
       return e.args()[static_cast<std::size_t>(k)] / pool.call("max", {e, pool.number(1e-300)});
     },
     "tellegen_hypot($1, $2)", R"(\operatorname{hypot}\left($1, $2\right))",
     "length of the vector (first, second)"},
    {"abs", 1, [](Values a, int) { return std::fabs(a[0]); }, [](Expr e, int) { return make("sign", x(e)); },
     "fabs($1)", R"(\left|$1\right|)", "magnitude"},
    {"sign", 1, [](Values a, int) { return tellegen_sign(a[0]); }, zero, "tellegen_sign($1)",
     R"(\operatorname{sgn}\left($1\right))", "-1, 0 or 1"},
    {"floor", 1, [](Values a, int) { return std::floor(a[0]); }, zero, "floor($1)",
     R"(\left\lfloor $1\right\rfloor)", "largest integer not above"},
    {"ceil", 1, [](Values a, int) { return std::ceil(a[0]); }, zero, "ceil($1)",
     R"(\left\lceil $1\right\rceil)", "smallest integer not below"},
    {"mod", 2, [](Values a, int) { return tellegen_mod(a[0], a[1]); },
     [](Expr e, int k) { return k == 0 ? number(e, 1.0) : -make("floor", x(e) / y(e)); },
     "tellegen_mod($1, $2)", R"(\operatorname{mod}\left($1, $2\right))",
     "first minus the multiple of the second below it; has the sign of the second"},
    {"gauss", 2, [](Values a, int) { return tellegen_gauss(a[0], a[1]); }, zero, "tellegen_gauss($1, $2)",
     R"(\operatorname{gauss}\left($1, $2\right))",
     "standard normal deviate: number floor(second) of the sequence with the seed floor(first)"},
    {"delayed", 3, [](Values a, int) { return a[0]; },
     [](Expr e, int k) { return k == 0 ? number(e, 1.0) : Expr(); }, "((void)($2), (void)($3), ($1))",
     R"(\operatorname{delayed}\left($1, $2, $3\right))",
     "what the first was so long ago as the second says: as the whole `update` of a discrete variable; the "
     "third is one that is "
     "not 0 until the start of a run is known, and 0 then"},
    {"min", -1, [](Values a, int) { return tellegen_min(a[0], a[1]); },
     [](Expr e, int k) {
       return chosen(e.pool().call("lt", {x(e), y(e)}), k == 0);
     },
     "tellegen_min($1, $2)", R"(\min\left($1, $2\right))", "the smallest"},
    {"max", -1, [](Values a, int) { return tellegen_max(a[0], a[1]); },
     [](Expr e, int k) {
       return chosen(e.pool().call("gt", {x(e), y(e)}), k == 0);
     },
     "tellegen_max($1, $2)", R"(\max\left($1, $2\right))", "the largest"},
    {"if", 3, [](Values a, int) { return a[0] != 0.0 ? a[1] : a[2]; },
     [](Expr e, int k) { return k == 0 ? Expr() : chosen(x(e), k == 1); }, "($1 != 0.0 ? $2 : $3)",
     R"(\begin{cases}$2 & \text{if } $1 \\ $3 & \text{otherwise}\end{cases})",
     "the second where the first is not 0, otherwise the third"},
    {"lt", 2, [](Values a, int) { return tellegen_lt(a[0], a[1]); }, zero, "tellegen_lt($1, $2)", "$1 < $2",
     "1 where the first is below the second, otherwise 0", "<"},
    {"le", 2, [](Values a, int) { return tellegen_le(a[0], a[1]); }, zero, "tellegen_le($1, $2)",
     R"($1 \le $2)", "1 where the first is not above the second, otherwise 0", "<="},
    {"gt", 2, [](Values a, int) { return tellegen_gt(a[0], a[1]); }, zero, "tellegen_gt($1, $2)", "$1 > $2",
     "1 where the first is above the second, otherwise 0", ">"},
    {"ge", 2, [](Values a, int) { return tellegen_ge(a[0], a[1]); }, zero, "tellegen_ge($1, $2)",
     R"($1 \ge $2)", "1 where the first is not below the second, otherwise 0", ">="},
    {"eq", 2, [](Values a, int) { return tellegen_eq(a[0], a[1]); }, zero, "tellegen_eq($1, $2)", "$1 = $2",
     "1 where both are equal, otherwise 0", "=="},
    {"ne", 2, [](Values a, int) { return tellegen_ne(a[0], a[1]); }, zero, "tellegen_ne($1, $2)",
     R"($1 \ne $2)", "1 where they differ, otherwise 0", "!="},
    {"and", 2, [](Values a, int) { return tellegen_and(a[0], a[1]); }, zero, "tellegen_and($1, $2)",
     R"($1 \land $2)", "1 where neither is 0, otherwise 0", "and"},
    {"or", 2, [](Values a, int) { return tellegen_or(a[0], a[1]); }, zero, "tellegen_or($1, $2)",
     R"($1 \lor $2)", "1 where one is not 0, otherwise 0", "or"},
    {"not", 1, [](Values a, int) { return tellegen_not(a[0]); }, zero, "tellegen_not($1)", R"(\lnot $1)",
     "1 where it is 0, otherwise 0", "not"},
};

}  // namespace

std::span<const Function> functions() { return function_table; }

const Function* find_function(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Function*> result;
    for (const Function& f : function_table) result[f.name] = &f;
    return result;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

double power_value(double base, double exponent) {
  if (exponent < 0.0) return 1.0 / power_value(base, -exponent);
  if (exponent == 2.0) return tellegen_square(base);
  if (exponent == 3.0) return tellegen_cube(base);
  if (exponent == 1.0) return base;
  if (exponent == 0.5) return std::sqrt(base);
  return tellegen_pow(base, exponent);
}

}  // namespace tellegen
