// Expressions, their derivatives and what they print as, and units, against the oracle's own evaluator.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tellegen/model/units.h"
#include "tellegen/symbolic/expression.h"
#include "tellegen/symbolic/parse.h"
#include "tellegen/symbolic/print.h"
#include "tests/differential/expression.h"
#include "tests/differential/property.h"

namespace differential {
namespace {

std::string random_expression(Random& random, int depth) {
  if (depth == 0 || random.chance(0.15)) {
    switch (random.below(4)) {
      case 0:
        return number_text(random.between(0.1, 4));
      case 1:
        return std::to_string(random.range(0, 3));
      case 2:
        return "a";
      default:
        return random.chance(0.5) ? "b.v" : "c_1";
    }
  }
  const auto sub = [&] { return random_expression(random, depth - 1); };
  switch (random.below(14)) {
    case 0:
      return sub() + " + " + sub();
    case 1:
      return sub() + " - " + sub();
    case 2:
      return sub() + "*" + sub();
    case 3:
      return sub() + "/" + sub();
    case 4:
      return "-" + sub();
    case 5:
      return "(" + sub() + ")^" + random.pick(std::vector<std::string>{"2", "3", "-1", "0.5", "-a", "2^0.5"});
    case 6:
      return "(" + sub() + " + " + sub() + ")";
    case 7:
      return "(" + sub() + " - (" + sub() + "))*(" + sub() + ")";
    case 8:
      return random.pick(std::vector<std::string>{
                 "sin",   "cos",  "tan",  "exp",  "log",  "sqrt",  "abs",  "tanh", "atan",  "asinh", "limexp",
                 "floor", "ceil", "sign", "sinh", "cosh", "log10", "asin", "acos", "atanh", "acosh"}) +
             "(" + sub() + ")";
    case 9:
      return random.pick(std::vector<std::string>{"min", "max"}) + "(" + sub() + ", " + sub() + ", " + sub() +
             ")";
    case 10:
      return random.pick(std::vector<std::string>{"atan2", "hypot", "mod"}) + "(" + sub() + ", " + sub() +
             ")";
    case 11:
      return "if(" + sub() + random.pick(std::vector<std::string>{" < ", " > ", " <= ", " >= "}) + sub() +
             ", " + sub() + ", " + sub() + ")";
    case 12:
      return "if(not " + sub() + " > " + sub() + random.pick(std::vector<std::string>{" and ", " or "}) +
             sub() + " < " + sub() + ", " + sub() + ", " + sub() + ")";
    default:
      return sub() + " - " + sub() + "*" + sub() + "^2";
  }
}

const std::vector<std::string> symbols{"a", "b.v", "c_1"};

struct Point : Leaves<Dual> {
  double value[3] = {0, 0, 0};
  Dual time() override { throw OracleError("time"); }
  Dual column(int k) override {
    Dual d(value[k]);
    d.slopes = {{k, 1.0}};
    return d;
  }
  Dual rate(int) override { throw OracleError("rate"); }
  Dual discrete(int) override { throw OracleError("discrete"); }
  double closest = 1e300;  // to a place where something bends or jumps
  bool positive(const Dual& d, bool or_zero) override {
    closest = std::isfinite(d.value) ? std::min(closest, std::abs(d.value)) : 0.0;
    return or_zero ? d.value >= 0 : d.value > 0;
  }
  // Of something that is not finite nobody says what follows from it; nor, at a base of zero, of a power with
  // an exponent that is no whole number, or of the angle of a zero, which may have either sign.
  bool special(const std::string& f, const std::vector<Dual>& arguments, Dual&) override {
    for (const Dual& a : arguments)
      if (!std::isfinite(a.value)) closest = 0.0;
    const auto whole = [](double p) { return p >= 0.0 && p == std::floor(p); };
    if ((f == "^" && !(whole(arguments[1].value) && arguments[1].slopes.empty())) || f == "atan2" ||
        f == "sqrt")
      closest = std::min(closest, std::abs(arguments[0].value));
    if ((f == "floor" || f == "ceil" || f == "mod") && !arguments[0].slopes.empty()) {  // jumps there
      const double q = f == "mod" ? arguments[0].value / arguments[1].value : arguments[0].value;
      if (std::isfinite(q)) closest = std::min(closest, std::abs(q - std::round(q)));
    }
    if (f == "asin" || f == "acos" || f == "atanh" || f == "acosh")  // the slope has no end there
      closest = std::min(closest, std::abs(std::abs(arguments[0].value) - 1.0));
    return false;
  }
};

Verdict check_unit(const std::string& text) {
  double want = 0.0;
  if (!is_quantity(text, want)) return unknown("not a quantity");
  const auto got = tellegen::units().parse(text);
  if (!got) return failed("a quantity is not read", want, 0.0, text);
  if (std::abs(got->si - want) > 1e-12 * std::abs(want)) return failed("a unit", want, got->si, text);
  const double back = tellegen::units().from_si(got->si, got->unit);
  if (std::abs(back - std::atof(text.c_str())) > 1e-11 * std::abs(back))
    return failed("a unit and back", std::atof(text.c_str()), back, text);
  Verdict v;
  v.checks = 2;
  return v;
}

}  // namespace

Draft text_draft(Random& random) {
  Draft draft;
  draft.language = Draft::Language::plain;
  draft.seed = random.bits();
  if (random.chance(0.1)) {
    const std::string prefix = random.pick(std::vector<std::string>{"", "m", "u", "k", "M", "n", "G", "p"});
    draft.outputs.push_back(number_text(random.logarithmic(1e-3, 1e3), 6) + " " + prefix +
                            random.pick(std::vector<std::string>{
                                "V",  "A", "ohm", "F", "H",  "s",  "Hz", "W",    "J",   "K/W",  "J/K",
                                "Pa", "N", "m",   "g", "Ah", "Wh", "m2", "m3/s", "bar", "rad/s"}));
  } else {
    draft.outputs.push_back(random_expression(random, random.range(1, 4)));
  }
  return draft;
}

Verdict check_text(const Draft& draft) {
  const std::string& text = draft.outputs.at(0);
  Random random(draft.seed);
  try {
    double ignored = 0.0;
    if (is_quantity(text, ignored) && text.find(' ') != std::string::npos) return check_unit(text);
    const TreePtr tree = parse_tree(text, [&](const std::string& name) -> TreePtr {
      for (std::size_t k = 0; k < symbols.size(); ++k)
        if (symbols[k] == name) return leaf(Tree::What::column, static_cast<int>(k));
      return nullptr;
    });
    tellegen::Pool pool;
    const tellegen::Expr expression = tellegen::parse(pool, text);
    std::vector<tellegen::Expr> by;
    for (const std::string& s : symbols) by.push_back(pool.symbol(s));
    const std::vector<tellegen::Expr> slopes = tellegen::gradient(expression, by);
    const std::string printed = tellegen::to_text(expression);
    const tellegen::Expr again = tellegen::parse(pool, printed);
    int checks = 0;
    for (int trial = 0; trial < 4; ++trial) {
      Point point, near;
      tellegen::ExprMap<double> values;
      for (int k = 0; k < 3; ++k) {
        point.value[k] = random.between(-2, 3);
        near.value[k] = point.value[k] * (1 + 1e-9);
        values[by[static_cast<std::size_t>(k)]] = point.value[k];
      }
      const Dual want = evaluate(*tree, point), moved = evaluate(*tree, near);
      if (!std::isfinite(want.value) || std::abs(want.value) > 1e12 || point.closest < 1e-6) continue;
      const double doubt = 1e-3 * std::abs(moved.value - want.value) + 1e-11 * (1 + std::abs(want.value));
      if (doubt > 1e-6 * (1 + std::abs(want.value))) continue;
      const double got = tellegen::evaluate(expression, values), reread = tellegen::evaluate(again, values);
      if (!(std::abs(got - want.value) <= doubt)) return failed("an expression", want.value, got, text);
      if (!(std::abs(reread - want.value) <= doubt))
        return failed("an expression printed and read again", want.value, reread, text + " as " + printed);
      ++checks;
      for (int k = 0; k < 3; ++k) {
        double slope = 0.0, slope_near = 0.0;
        for (const auto& [c, s] : want.slopes)
          if (c == k) slope = s;
        for (const auto& [c, s] : moved.slopes)
          if (c == k) slope_near = s;
        if (!std::isfinite(slope) || std::abs(slope) > 1e9) continue;
        const double g = tellegen::evaluate(slopes[static_cast<std::size_t>(k)], values);
        const double slack = 1e-2 * std::abs(slope_near - slope) + 1e-9 * (1 + std::abs(slope));
        if (slack > 1e-5 * (1 + std::abs(slope))) continue;
        if (!(std::abs(g - slope) <= slack))
          return failed("a derivative", slope, g,
                        "d/d " + symbols[static_cast<std::size_t>(k)] + " of " + text);
        ++checks;
      }
    }
    if (checks == 0) return unknown("no finite value");
    Verdict v;
    v.checks = checks;
    return v;
  } catch (const tellegen::ParseError& error) {
    return failed("a valid expression is refused", "a value", error.what(), text);
  } catch (const OracleError& error) {
    return unknown(std::string("oracle: ") + error.what());
  }
}

}  // namespace differential
