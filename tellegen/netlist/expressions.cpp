#include "tellegen/netlist/expressions.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>

#include "tellegen/netlist/numbers.h"
#include "tellegen/symbolic/nearest.h"

namespace tellegen {
namespace {

constexpr int deepest_expression = 200;
constexpr std::size_t longest_text = 1 << 20;

using Arguments = std::vector<Formula>;

Formula made(std::string text, Formula::Level level, bool varies) {
  if (text.size() > longest_text)
    throw ExpressionError("T505", "the expression is too long when its parameters are written out");
  return {std::move(text), level, varies};
}

bool any_varies(const Arguments& arguments) {
  for (const Formula& a : arguments)
    if (a.varies) return true;
  return false;
}

// An operator whose left side may be of its own level; the right side must bind tighter.
Formula infix(const Formula& a, std::string_view sign, const Formula& b, Formula::Level level) {
  const auto above = static_cast<Formula::Level>(level + 1);
  return made(fmt::format("{}{}{}", a.within(level), sign, b.within(above)), level, a.varies || b.varies);
}

Formula call(std::string_view name, const Arguments& arguments) {
  std::string text(name);
  for (std::size_t k = 0; k < arguments.size(); ++k) text += (k == 0 ? "(" : ", ") + arguments[k].text;
  return made(text + ")", Formula::atom, any_varies(arguments));
}

bool is_number(const Formula& f) {
  return !f.text.empty() && std::isdigit(static_cast<unsigned char>(f.text[0])) && read_number(f.text);
}

Formula raise(const Formula& base, const Formula& exponent, bool signless) {
  const auto number = is_number(exponent) ? read_number(exponent.text) : std::nullopt;
  const bool even = number && std::fmod(*number, 2.0) == 0.0;
  const Formula b = signless && !even && !is_number(base) ? call("abs", {base}) : base;
  return made(fmt::format("{}^{}", b.within(Formula::atom), exponent.within(Formula::atom)), Formula::power,
              base.varies || exponent.varies);
}

Formula choose(const Formula& condition, const Formula& yes, const Formula& no) {
  return call("if", {condition, yes, no});
}

Formula zero() { return number_formula(0.0); }
Formula above(const Formula& a, const Formula& b) { return infix(a, " > ", b, Formula::comparison); }

// Functions that Tellegen has by the same or another name, and those that are written out.
struct Entry {
  int least, most;                              // arguments; most < 0: any number
  const char* same = nullptr;                   // Tellegen's name of it
  Formula (*make)(const Arguments&) = nullptr;  // or what it is in other functions; neither: points
};

const std::map<std::string, Entry, std::less<>>& function_table() {
  static const std::map<std::string, Entry, std::less<>> table{
      {"abs", {1, 1, "abs"}},
      // Its slope at zero is infinite, and Newton's iteration may come there; below zero it has no value.
      {"sqrt",
       {1, 1, nullptr,
        [](const Arguments& a) {
          if (!a[0].varies) return call("sqrt", {a[0]});
          const Formula positive = call("sqrt", {call("max", {a[0], made("1e-30", Formula::atom, false)})});
          return choose(infix(a[0], " < ", zero(), Formula::comparison), call("sqrt", {a[0]}), positive);
        }}},
      {"exp", {1, 1, "exp"}},
      {"ln", {1, 1, "log"}},
      {"log", {1, 1, "log"}},
      {"log10", {1, 1, "log10"}},
      {"sin", {1, 1, "sin"}},
      {"cos", {1, 1, "cos"}},
      {"tan", {1, 1, "tan"}},
      {"asin", {1, 1, "asin"}},
      {"acos", {1, 1, "acos"}},
      {"atan", {1, 1, "atan"}},
      {"arctan", {1, 1, "atan"}},
      {"atan2", {2, 2, "atan2"}},
      {"sinh", {1, 1, "sinh"}},
      {"cosh", {1, 1, "cosh"}},
      {"tanh", {1, 1, "tanh"}},
      {"asinh", {1, 1, "asinh"}},
      {"acosh", {1, 1, "acosh"}},
      {"atanh", {1, 1, "atanh"}},
      {"floor", {1, 1, "floor"}},
      {"ceil", {1, 1, "ceil"}},
      {"sgn", {1, 1, "sign"}},
      {"sign", {1, 1, "sign"}},
      {"hypot", {2, 2, "hypot"}},
      {"if", {3, 3, "if"}},
      {"ternary_fcn", {3, 3, "if"}},
      {"min", {1, -1, "min"}},
      {"max", {1, -1, "max"}},
      {"pow", {2, 2, nullptr, [](const Arguments& a) { return raise(a[0], a[1], true); }}},
      {"pwr",
       {2, 2, nullptr,
        [](const Arguments& a) {
          return multiply(call("sign", {a[0]}), raise(call("abs", {a[0]}), a[1], false));
        }}},
      {"int",
       {1, 1, nullptr,
        [](const Arguments& a) {
          return multiply(call("sign", {a[0]}), call("floor", {call("abs", {a[0]})}));
        }}},
      {"nint",
       {1, 1, nullptr, [](const Arguments& a) { return call("floor", {add(a[0], number_formula(0.5))}); }}},
      {"u",
       {1, 1, nullptr,
        [](const Arguments& a) { return choose(above(a[0], zero()), number_formula(1), zero()); }}},
      {"u2",
       {1, 1, nullptr,
        [](const Arguments& a) {
          return call("min", {call("max", {a[0], zero()}), number_formula(1)});
        }}},
      {"uramp",
       {1, 1, nullptr,
        [](const Arguments& a) {
          return call("max", {a[0], zero()});
        }}},
      {"limit",
       {3, 3, nullptr,
        [](const Arguments& a) {  // between the bounds, in whichever order they stand
          const auto low = read_number(a[1].text), high = read_number(a[2].text);
          if (low && high && *low <= *high) return call("min", {call("max", {a[0], a[1]}), a[2]});
          return call("min", {call("max", {a[0], call("min", {a[1], a[2]})}), call("max", {a[1], a[2]})});
        }}},
      // Random numbers of SPICE: their mean (convert() says so).
      {"agauss", {2, 3, nullptr, [](const Arguments& a) { return a[0]; }}},
      {"gauss", {2, 3, nullptr, [](const Arguments& a) { return a[0]; }}},
      {"aunif", {2, 2, nullptr, [](const Arguments& a) { return a[0]; }}},
      {"unif", {2, 2, nullptr, [](const Arguments& a) { return a[0]; }}},
      {"eq0",
       {1, 1, nullptr, [](const Arguments& a) { return infix(a[0], " == ", zero(), Formula::comparison); }}},
      {"ne0",
       {1, 1, nullptr, [](const Arguments& a) { return infix(a[0], " != ", zero(), Formula::comparison); }}},
      {"gt0", {1, 1, nullptr, [](const Arguments& a) { return above(a[0], zero()); }}},
      {"lt0",
       {1, 1, nullptr, [](const Arguments& a) { return infix(a[0], " < ", zero(), Formula::comparison); }}},
      {"ge0",
       {1, 1, nullptr, [](const Arguments& a) { return infix(a[0], " >= ", zero(), Formula::comparison); }}},
      {"le0",
       {1, 1, nullptr, [](const Arguments& a) { return infix(a[0], " <= ", zero(), Formula::comparison); }}},
      {"pwl", {5, -1}},
      {"table", {5, -1}},
  };
  return table;
}

// Physical constants of ngspice, unless a parameter has the name.
const std::map<std::string, double, std::less<>>& constants() {
  static const std::map<std::string, double, std::less<>> table{{"e", std::exp(1.0)},
                                                                {"c", 299792458.0},
                                                                {"boltz", 1.380649e-23},
                                                                {"echarge", 1.602176634e-19},
                                                                {"kelvin", -273.15},
                                                                {"planck", 6.62607015e-34},
                                                                {"true", 1.0},
                                                                {"false", 0.0},
                                                                {"yes", 1.0},
                                                                {"no", 0.0}};
  return table;
}

// The arguments of a .func before everything else.
class WithArguments : public Meanings {
 public:
  WithArguments(Meanings& outer, const SpiceFunction& function, const Arguments& arguments)
      : outer_(outer), function_(function), arguments_(arguments) {}
  std::optional<Formula> value(const std::string& name) override {
    for (std::size_t k = 0; k < arguments_.size(); ++k)
      if (function_.arguments[k] == name) return arguments_[k];
    return outer_.value(name);
  }
  const SpiceFunction* function(const std::string& name) override { return outer_.function(name); }
  Formula voltage(const std::string& node) override { return outer_.voltage(node); }
  Formula current(const std::string& element) override { return outer_.current(element); }
  double celsius() override { return outer_.celsius(); }
  Formula operation(const std::string& name, const Formula& of) override {
    return outer_.operation(name, of);
  }

 private:
  Meanings& outer_;
  const SpiceFunction& function_;
  const Arguments& arguments_;
};

class Translator {
 public:
  Translator(std::string_view text, Meanings& meanings, int depth)
      : text_(text), meanings_(meanings), depth_(depth) {}

  Formula whole() {
    Formula result = choice();
    skip_space();
    if (at_ < text_.size()) unexpected();
    return result;
  }

 private:
  Formula choice() {
    if (++depth_ > deepest_expression) fail("it is nested too deeply");
    Formula result = disjunction();
    if (take("?")) {
      const Formula yes = choice();
      if (!take(":")) fail("'?' has no ':'");
      result = choose(result, yes, choice());
    }
    --depth_;
    return result;
  }

  Formula disjunction() {
    Formula result = conjunction();
    while (take("||") || take("|")) result = infix(result, " or ", conjunction(), Formula::disjunction);
    return result;
  }

  Formula conjunction() {
    Formula result = comparison();
    while (take("&&") || take("&")) result = infix(result, " and ", comparison(), Formula::conjunction);
    return result;
  }

  Formula comparison() {
    Formula result = sum();
    for (;;) {
      std::string_view sign;
      for (const auto& [spice, ours] : {std::pair{"==", " == "},
                                        {"!=", " != "},
                                        {"<>", " != "},
                                        {"<=", " <= "},
                                        {">=", " >= "},
                                        {"<", " < "},
                                        {">", " > "}})
        if (sign.empty() && take(spice)) sign = ours;
      if (sign.empty()) return result;
      if (result.level == Formula::comparison)
        result = {"(" + result.text + ")", Formula::atom, result.varies};
      result = infix(result, sign, sum(), Formula::comparison);
    }
  }

  Formula sum() {
    Formula result = term();
    for (;;) {
      if (take("+"))
        result = add(result, term());
      else if (take("-"))
        result = subtract(result, term());
      else
        return result;
    }
  }

  Formula term() {
    Formula result = unary();
    for (;;) {
      skip_space();
      if (text_.substr(at_).starts_with("**")) return result;  // not reached: power() has taken it
      if (take("*"))
        result = multiply(result, unary());
      else if (take("/"))
        result = divide(result, unary());
      else if (take("%"))
        result = call("mod", {result, unary()});
      else
        return result;
    }
  }

  Formula unary() {
    if (++depth_ > deepest_expression) fail("it is nested too deeply");
    Formula result;
    if (take("-")) {
      const Formula of = unary();
      result = made("-" + of.within(Formula::sign), Formula::sign, of.varies);
    } else if (take("+")) {
      result = unary();
    } else if (take("~") || (!text_.substr(at_).starts_with("!=") && take("!"))) {
      const Formula of = unary();
      result = made("(not " + of.within(Formula::comparison) + ")", Formula::atom, of.varies);
    } else {
      result = powers();
    }
    --depth_;
    return result;
  }

  Formula powers() {
    Formula result = primary();
    while (take("**") || take("^")) {
      Formula exponent;
      if (take("-")) {
        const Formula of = primary();
        exponent = made("-" + of.within(Formula::sign), Formula::sign, of.varies);
      } else {
        take("+");
        exponent = primary();
      }
      result = raise(result, exponent, true);
    }
    return result;
  }

  Formula primary() {
    skip_space();
    if (at_ == text_.size()) fail("it ends where a value is expected");
    if (const auto number = leading_number(text_.substr(at_))) {
      at_ += number->length;
      if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
        fail("digits follow a number's suffix; write 2.7k, not 2k7");
      return number_formula(number->value);
    }
    for (const auto& [open, close] : {std::pair{"(", ")"}, {"{", "}"}, {"[", "]"}})
      if (take(open)) {
        const Formula inner = choice();
        if (!take(close)) fail(fmt::format("a '{}' is not closed", open));
        return inner;
      }
    if (take("'")) {
      const Formula inner = choice();
      if (!take("'")) fail("a quote is not closed");
      return inner;
    }
    const std::string name = take_name();
    if (name.empty()) unexpected();
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') return called(name);
    return named(name);
  }

  Formula named(const std::string& name) {
    if (auto value = meanings_.value(name)) return *value;
    if (name == "time") return {"t", Formula::atom, true};
    if (name == "pi") return {"pi", Formula::atom, false};
    if (name == "temper") return number_formula(meanings_.celsius());
    if (name == "vt")  // PSpice's: of the temperature
      return number_formula((meanings_.celsius() + 273.15) * 8.617333262e-5);
    if (const auto constant = constants().find(name); constant != constants().end())
      return number_formula(constant->second);
    throw ExpressionError("T506", fmt::format("there is no parameter '{}'", name));
  }

  Formula called(const std::string& name) {
    ++at_;
    const SpiceFunction* own = meanings_.function(name);
    if (!own && (name == "v" || name == "i")) return variable(name == "v");
    Arguments arguments;
    if (!take(")")) {
      do arguments.push_back(choice());
      while (take(","));
      if (!take(")")) fail(fmt::format("the parenthesis of {}( is not closed", name));
    }
    if (own) {
      if (arguments.size() != own->arguments.size())
        throw ExpressionError("T505",
                              fmt::format("'{}' takes {} argument{}, not {}", name, own->arguments.size(),
                                          own->arguments.size() == 1 ? "" : "s", arguments.size()));
      WithArguments inner(meanings_, *own, arguments);
      return Translator(own->body, inner, depth_ + 10).whole();
    }
    if ((name == "ddt" || name == "sdt" || name == "idt") && !arguments.empty()) {
      if (arguments.size() > 1 && arguments[1].text != "0")
        fail(fmt::format("the initial value of {}() is not supported", name));
      return meanings_.operation(name == "ddt" ? "ddt" : "sdt", arguments[0]);
    }
    const auto entry = function_table().find(name);
    if (entry == function_table().end()) unknown_function(name);
    const auto count = static_cast<int>(arguments.size());
    if (count < entry->second.least || (entry->second.most >= 0 && count > entry->second.most))
      throw ExpressionError(
          "T505", fmt::format("'{}' does not take {} argument{}", name, count, count == 1 ? "" : "s"));
    if (count == 1 && entry->second.most < 0) return arguments[0];  // max(x)
    if (entry->second.same) return call(entry->second.same, arguments);
    if (entry->second.make) return entry->second.make(arguments);
    std::vector<std::pair<Formula, Formula>> points;
    if (arguments.size() % 2 == 0)
      throw ExpressionError("T505", fmt::format("'{}' takes a value and pairs of points", name));
    for (std::size_t k = 1; k < arguments.size(); k += 2) points.emplace_back(arguments[k], arguments[k + 1]);
    return piecewise(arguments[0], points, name == "pwl" ? Outside::extend : Outside::hold);
  }

  // v(a), v(a, b), i(v1): names of nodes may have signs in them.
  Formula variable(bool voltage) {
    const auto end = text_.find(')', at_);
    if (end == std::string_view::npos) fail("the parenthesis of a voltage or current is not closed");
    std::vector<std::string> names(1);
    for (const char c : text_.substr(at_, end - at_)) {
      if (c == ',')
        names.emplace_back();
      else if (c != ' ' && c != '\t')
        names.back() += c;
    }
    at_ = end + 1;
    if (names.size() > (voltage ? 2u : 1u) || names[0].empty() || names.back().empty())
      fail(voltage ? "v() takes one node or two" : "i() takes one element");
    if (!voltage) return meanings_.current(names[0]);
    const Formula first = meanings_.voltage(names[0]);
    if (names.size() == 1) return first;
    const Formula second = meanings_.voltage(names[1]);
    if (second.text == "0") return first;
    return subtract(first, second);
  }

  [[noreturn]] void unknown_function(const std::string& name) const {
    std::vector<std::string> known;
    for (const auto& [other, entry] : function_table()) known.push_back(other);
    const std::string near = nearest(name, known);
    throw ExpressionError("T505", fmt::format("there is no function '{}'{}", name,
                                              near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

  std::string take_name() {
    const std::size_t start = at_;
    const auto continues = [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '.' || c == '#' || c == '$';
    };
    if (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      while (at_ < text_.size() && continues(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view sign) {
    skip_space();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  [[noreturn]] void unexpected() const { fail(fmt::format("unexpected '{}'", text_.substr(at_, 1))); }
  [[noreturn]] void fail(const std::string& why) const {
    throw ExpressionError("T505", fmt::format("'{}' cannot be read: {}", text_.substr(0, 200), why));
  }

  std::string_view text_;
  Meanings& meanings_;
  std::size_t at_ = 0;
  int depth_;
};

}  // namespace

Formula Meanings::operation(const std::string& name, const Formula&) {
  throw ExpressionError("T505", fmt::format("there is no '{}' in a constant", name));
}

Formula translate(std::string_view text, Meanings& meanings) { return Translator(text, meanings, 0).whole(); }

Formula number_formula(double value) {
  return {number_text(value), value < 0.0 ? Formula::sign : Formula::atom, false};
}

Formula add(const Formula& a, const Formula& b) {
  if (a.text == "0") return b;
  if (b.text == "0") return a;
  return made(fmt::format("{} + {}", a.within(Formula::sum),
                          b.within(b.level == Formula::sign ? Formula::atom : Formula::sum)),
              Formula::sum, a.varies || b.varies);
}
Formula subtract(const Formula& a, const Formula& b) {
  if (b.text == "0") return a;
  return infix(a, " - ", b, Formula::sum);
}
Formula multiply(const Formula& a, const Formula& b) {
  if (a.text == "1") return b;
  if (b.text == "1") return a;
  return made(fmt::format("{}*{}", a.within(Formula::product),
                          b.within(b.level == Formula::sign ? Formula::atom : Formula::product)),
              Formula::product, a.varies || b.varies);
}
Formula divide(const Formula& a, const Formula& b) {
  if (b.text == "1") return a;
  return made(fmt::format("{}/{}", a.within(Formula::product), b.within(Formula::power)), Formula::product,
              a.varies || b.varies);
}

// A sum of ramps rather than nested conditions: continuous by construction, and short.
Formula piecewise(const Formula& x, const std::vector<std::pair<Formula, Formula>>& points, Outside outside) {
  if (points.empty()) throw ExpressionError("T505", "a table without points");
  Formula result = points[0].second;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    const auto& [x0, y0] = points[k];
    const auto& [x1, y1] = points[k + 1];
    const Formula slope = divide(subtract(y1, y0), subtract(x1, x0));
    Formula inside = x;
    if (outside == Outside::hold || k > 0) inside = call("max", {inside, x0});
    if (outside == Outside::hold || k + 2 < points.size()) inside = call("min", {inside, x1});
    result = add(result, multiply(slope, subtract(inside, x0)));
  }
  return result;
}

}  // namespace tellegen
