#include "tests/differential/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace differential {

TreePtr number_tree(double value) {
  auto tree = std::make_shared<Tree>();
  tree->number = value;
  return tree;
}

TreePtr leaf(Tree::What what, int index) {
  auto tree = std::make_shared<Tree>();
  tree->what = what;
  tree->index = index;
  return tree;
}

TreePtr call_tree(std::string function, std::vector<TreePtr> arguments) {
  auto tree = std::make_shared<Tree>();
  tree->what = Tree::What::call;
  tree->function = std::move(function);
  tree->arguments = std::move(arguments);
  return tree;
}

namespace {

// Recursive descent, loosest first: or, and, not, comparison, sum, product, sign, power.
class Reader {
 public:
  Reader(std::string_view text, const Binding& binding) : text_(text), binding_(binding) {}
  TreePtr whole() {
    TreePtr tree = disjunction();
    blanks();
    if (at_ != text_.size()) fail("unexpected text");
    return tree;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw OracleError(what + " at " + std::to_string(at_) + " of '" + std::string(text_) + "'");
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool eat(std::string_view sign) {
    blanks();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }
  bool eat_word(std::string_view word) {
    blanks();
    if (text_.substr(at_, word.size()) != word) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      return false;
    at_ = end;
    return true;
  }
  TreePtr disjunction() {
    TreePtr left = conjunction();
    while (eat_word("or")) left = call_tree("or", {left, conjunction()});
    return left;
  }
  TreePtr conjunction() {
    TreePtr left = negation();
    while (eat_word("and")) left = call_tree("and", {left, negation()});
    return left;
  }
  TreePtr negation() {
    if (eat_word("not")) return call_tree("not", {negation()});
    return comparison();
  }
  TreePtr comparison() {
    TreePtr left = sum();
    static const std::pair<const char*, const char*> signs[] = {{"<=", "le"}, {">=", "ge"}, {"==", "eq"},
                                                                {"!=", "ne"}, {"<", "lt"},  {">", "gt"}};
    for (const auto& [sign, name] : signs)
      if (eat(sign)) return call_tree(name, {left, sum()});
    return left;
  }
  TreePtr sum() {
    TreePtr left = product();
    for (;;)
      if (eat("+"))
        left = call_tree("+", {left, product()});
      else if (eat("-"))
        left = call_tree("-", {left, product()});
      else
        return left;
  }
  TreePtr product() {
    TreePtr left = signed_power();
    for (;;)
      if (eat("*"))
        left = call_tree("*", {left, signed_power()});
      else if (eat("/"))
        left = call_tree("/", {left, signed_power()});
      else
        return left;
  }
  TreePtr signed_power() {
    if (eat("-")) return call_tree("neg", {signed_power()});
    if (eat("+")) return signed_power();
    return power();
  }
  TreePtr power() {
    TreePtr base = atom();
    if (eat("^")) return call_tree("^", {base, signed_power()});
    return base;
  }
  TreePtr atom() {
    blanks();
    if (at_ >= text_.size()) fail("an operand is missing");
    if (eat("(")) {
      TreePtr inner = disjunction();
      if (!eat(")")) fail("')' is missing");
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.') {
      const std::string rest(text_.substr(at_));
      char* end = nullptr;
      const double value = std::strtod(rest.c_str(), &end);
      at_ += static_cast<std::size_t>(end - rest.c_str());
      return number_tree(value);
    }
    std::string name;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_[at_] == '.' || text_[at_] == '\''))
      name += text_[at_++];
    if (name.empty()) fail("unexpected character");
    if (!eat("(")) {
      if (name == "t") return leaf(Tree::What::time, 0);
      if (name == "pi") return number_tree(std::numbers::pi);
      return bound(name);
    }
    std::vector<TreePtr> arguments;
    if (name == "der") {
      blanks();
      const std::size_t close = text_.find(')', at_);
      std::string of(text_.substr(at_, close - at_));
      at_ = close + 1;
      return bound("der " + of);
    }
    do arguments.push_back(disjunction());
    while (eat(","));
    if (!eat(")")) fail("')' is missing");
    if (arguments.size() == 1)  // a table is called like a function
      if (TreePtr table = binding_ ? binding_(name) : nullptr)
        if (table->what == Tree::What::table) {
          auto call = std::make_shared<Tree>(*table);
          call->arguments = std::move(arguments);
          return call;
        }
    return call_tree(name, std::move(arguments));
  }
  TreePtr bound(const std::string& name) {
    TreePtr tree = binding_ ? binding_(name) : nullptr;
    if (!tree) fail("nothing is called '" + name + "'");
    return tree;
  }

  std::string_view text_;
  const Binding& binding_;
  std::size_t at_ = 0;
};

double val(double x) { return x; }
double val(const Dual& x) { return x.value; }

Dual combined(const Dual& a, double ka, const Dual& b, double kb, double value) {
  Dual result(value);
  std::size_t i = 0, j = 0;
  while (i < a.slopes.size() || j < b.slopes.size()) {
    if (j == b.slopes.size() || (i < a.slopes.size() && a.slopes[i].first < b.slopes[j].first)) {
      result.slopes.emplace_back(a.slopes[i].first, ka * a.slopes[i].second);
      ++i;
    } else if (i == a.slopes.size() || b.slopes[j].first < a.slopes[i].first) {
      result.slopes.emplace_back(b.slopes[j].first, kb * b.slopes[j].second);
      ++j;
    } else {
      result.slopes.emplace_back(a.slopes[i].first, ka * a.slopes[i].second + kb * b.slopes[j].second);
      ++i;
      ++j;
    }
  }
  return result;
}
double combined(double, double, double, double, double value) { return value; }
Dual chained(const Dual& a, double slope, double value) {
  Dual result(value);
  for (const auto& [k, s] : a.slopes) result.slopes.emplace_back(k, slope * s);
  return result;
}
double chained(double, double, double value) { return value; }

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      {"sin", {[](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }}},
      {"cos", {[](double x) { return std::cos(x); }, [](double x) { return -std::sin(x); }}},
      {"tan",
       {[](double x) { return std::tan(x); }, [](double x) { return 1 / (std::cos(x) * std::cos(x)); }}},
      {"asin", {[](double x) { return std::asin(x); }, [](double x) { return 1 / std::sqrt(1 - x * x); }}},
      {"acos", {[](double x) { return std::acos(x); }, [](double x) { return -1 / std::sqrt(1 - x * x); }}},
      {"atan", {[](double x) { return std::atan(x); }, [](double x) { return 1 / (1 + x * x); }}},
      {"sinh", {[](double x) { return std::sinh(x); }, [](double x) { return std::cosh(x); }}},
      {"cosh", {[](double x) { return std::cosh(x); }, [](double x) { return std::sinh(x); }}},
      {"tanh",
       {[](double x) { return std::tanh(x); }, [](double x) { return 1 / (std::cosh(x) * std::cosh(x)); }}},
      {"asinh", {[](double x) { return std::asinh(x); }, [](double x) { return 1 / std::sqrt(x * x + 1); }}},
      {"acosh", {[](double x) { return std::acosh(x); }, [](double x) { return 1 / std::sqrt(x * x - 1); }}},
      {"atanh", {[](double x) { return std::atanh(x); }, [](double x) { return 1 / (1 - x * x); }}},
      {"exp", {[](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }}},
      {"limexp",
       {[](double x) { return x < 80 ? std::exp(x) : std::exp(80.0) * (1 + x - 80); },
        [](double x) { return std::exp(std::min(x, 80.0)); }}},
      {"log", {[](double x) { return std::log(x); }, [](double x) { return 1 / x; }}},
      {"log10", {[](double x) { return std::log10(x); }, [](double x) { return 1 / (x * std::log(10.0)); }}},
      {"sqrt", {[](double x) { return std::sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }}},
      {"floor", {[](double x) { return std::floor(x); }, [](double) { return 0.0; }}},
      {"ceil", {[](double x) { return std::ceil(x); }, [](double) { return 0.0; }}},
      {"sign", {[](double x) { return x > 0   ? 1.0
                                      : x < 0 ? -1.0
                                              : 0.0; }, [](double) { return 0.0; }}},
  };
  return table;
}

template <class N>
N table_value(const Tree& tree, const N& x, Leaves<N>& leaves) {
  const auto& p = tree.points;
  const double at = val(x);
  std::size_t k = 0;
  while (k < p.size() && p[k].first <= at) ++k;
  leaves.piece(static_cast<double>(k));
  if (k == 0) return N(p.front().second);
  if (k == p.size()) return N(p.back().second);
  if (tree.hold) return N(p[k - 1].second);
  const double slope = (p[k].second - p[k - 1].second) / (p[k].first - p[k - 1].first);
  return chained(x, slope, p[k - 1].second + slope * (at - p[k - 1].first));
}

template <class N>
N value_of(const Tree& tree, Leaves<N>& leaves) {
  using What = Tree::What;
  switch (tree.what) {
    case What::number:
      return N(tree.number);
    case What::time:
      return leaves.time();
    case What::column:
      return leaves.column(tree.index);
    case What::rate:
      return leaves.rate(tree.index);
    case What::discrete:
      return leaves.discrete(tree.index);
    case What::table:
      return table_value<N>(tree, value_of<N>(*tree.arguments.at(0), leaves), leaves);
    case What::call:
      break;
  }
  const std::string& f = tree.function;
  const auto arg = [&](std::size_t k) { return value_of<N>(*tree.arguments.at(k), leaves); };
  const auto minus = [](const N& a, const N& b) { return combined(a, 1.0, b, -1.0, val(a) - val(b)); };
  if (f == "if") return val(arg(0)) != 0.0 ? arg(1) : arg(2);
  if (f == "min" || f == "max") {
    N best = arg(0);
    for (std::size_t k = 1; k < tree.arguments.size(); ++k) {
      const N other = arg(k);
      if (leaves.positive(minus(other, best), false) == (f == "max")) best = other;
    }
    return best;
  }
  if (f == "and") return N(val(arg(0)) != 0.0 && val(arg(1)) != 0.0);
  if (f == "or") return N(val(arg(0)) != 0.0 || val(arg(1)) != 0.0);
  if (f == "not") return N(val(arg(0)) == 0.0);
  std::vector<N> a;
  for (std::size_t k = 0; k < tree.arguments.size(); ++k) a.push_back(arg(k));
  N result;
  if (leaves.special(f, a, result)) return result;
  if (a.size() == 2) {
    const double x = val(a[0]), y = val(a[1]);
    if (f == "+") return combined(a[0], 1.0, a[1], 1.0, x + y);
    if (f == "-") return minus(a[0], a[1]);
    if (f == "*") return combined(a[0], y, a[1], x, x * y);
    if (f == "/") return combined(a[0], 1 / y, a[1], -x / (y * y), x / y);
    if (f == "^") {
      const double p = std::pow(x, y);
      return combined(a[0], y == 0.0 ? 0.0 : y * std::pow(x, y - 1), a[1], x > 0 ? p * std::log(x) : 0.0, p);
    }
    if (f == "gt") return N(leaves.positive(minus(a[0], a[1]), false));
    if (f == "ge") return N(leaves.positive(minus(a[0], a[1]), true));
    if (f == "lt") return N(leaves.positive(minus(a[1], a[0]), false));
    if (f == "le") return N(leaves.positive(minus(a[1], a[0]), true));
    if (f == "eq") return N(x == y);
    if (f == "ne") return N(x != y);
    if (f == "mod") leaves.piece(std::floor(x / y));
    if (f == "mod") return combined(a[0], 1.0, a[1], -std::floor(x / y), x - y * std::floor(x / y));
    if (f == "atan2")
      return combined(a[0], y / (x * x + y * y), a[1], -x / (x * x + y * y), std::atan2(x, y));
    if (f == "hypot")
      return combined(a[0], x / std::hypot(x, y), a[1], y / std::hypot(x, y), std::hypot(x, y));
  }
  if (a.size() == 1) {
    const double x = val(a[0]);
    if (f == "neg") return chained(a[0], -1.0, -x);
    if (f == "abs") return leaves.positive(a[0], true) ? a[0] : chained(a[0], -1.0, -x);
    const auto found = functions().find(f);
    if (f == "floor" || f == "ceil" || f == "sign") leaves.piece(found->second.value(x));
    if (found != functions().end()) return chained(a[0], found->second.slope(x), found->second.value(x));
  }
  throw OracleError("function '" + f + "' is not known to the oracle");
}

}  // namespace

const Function* function_named(const std::string& name) {
  const auto found = functions().find(name);
  return found == functions().end() ? nullptr : &found->second;
}

TreePtr parse_tree(std::string_view text, const Binding& binding) { return Reader(text, binding).whole(); }

double unit_factor(const std::string& unit) {
  static const std::map<std::string, double> units{{"", 1},
                                                   {"1", 1},
                                                   {"V", 1},
                                                   {"A", 1},
                                                   {"ohm", 1},
                                                   {"F", 1},
                                                   {"H", 1},
                                                   {"s", 1},
                                                   {"Hz", 1},
                                                   {"W", 1},
                                                   {"J", 1},
                                                   {"K", 1},
                                                   {"K/W", 1},
                                                   {"J/K", 1},
                                                   {"rad/s", 1},
                                                   {"N m", 1},
                                                   {"kg m2", 1},
                                                   {"kg", 1},
                                                   {"N", 1},
                                                   {"m/s", 1},
                                                   {"Pa", 1},
                                                   {"m3/s", 1},
                                                   {"m", 1},
                                                   {"N m s/rad", 1},
                                                   {"N/m", 1},
                                                   {"N s/m", 1},
                                                   {"rad", 1},
                                                   {"m/s2", 1},
                                                   {"N m/rad", 1},
                                                   {"kg/m3", 1},
                                                   {"kg cm2", 1e-4},
                                                   {"deg/s", std::numbers::pi / 180},
                                                   {"km/h", 1 / 3.6},
                                                   {"S", 1},
                                                   {"m3", 1},
                                                   {"min", 60},
                                                   {"h", 3600},
                                                   {"bar", 1e5},
                                                   {"%", 0.01},
                                                   {"g", 1e-3},
                                                   {"l", 1e-3},
                                                   {"Ah", 3600},
                                                   {"Wh", 3600},
                                                   {"C", 1},
                                                   {"m2", 1},
                                                   {"rpm", std::numbers::pi / 30},
                                                   {"Wb", 1},
                                                   {"T", 1},
                                                   {"deg", std::numbers::pi / 180},
                                                   {"VA", 1},
                                                   {"Nm", 1},
                                                   {"K/s", 1}};
  if (const auto found = units.find(unit); found != units.end()) return found->second;
  static const std::map<char, double> prefixes{{'f', 1e-15}, {'p', 1e-12}, {'n', 1e-9},
                                               {'u', 1e-6},  {'m', 1e-3},  {'c', 1e-2},
                                               {'k', 1e3},   {'M', 1e6},   {'G', 1e9}};
  if (const auto prefix = prefixes.find(unit[0]); prefix != prefixes.end()) {
    std::string rest = unit.substr(1);
    double power = 1.0;  // mm2 is a square of mm
    if (rest == "m2") power = 2.0;
    if (rest == "m3" || rest == "m3/s") power = 3.0;
    if (const auto found = units.find(rest); found != units.end())
      return std::pow(prefix->second, power) * found->second;
  }
  throw OracleError("unit '" + unit + "' is not known to the oracle");
}

bool is_quantity(std::string_view text, double& value) {
  const std::string whole(text);
  char* end = nullptr;
  const double number = std::strtod(whole.c_str(), &end);
  if (end == whole.c_str()) return false;
  std::string unit(end);
  while (!unit.empty() && unit.front() == ' ') unit.erase(unit.begin());
  if (unit.empty()) {
    value = number;
    return true;
  }
  if (!std::isalpha(static_cast<unsigned char>(unit[0])) && unit[0] != '%') return false;
  if (unit.find_first_of("*+()^") != std::string::npos) return false;
  value = unit == "degC" ? number + 273.15 : number * unit_factor(unit);
  return true;
}

double evaluate(const Tree& tree, Leaves<double>& leaves) { return value_of<double>(tree, leaves); }
Dual evaluate(const Tree& tree, Leaves<Dual>& leaves) { return value_of<Dual>(tree, leaves); }

}  // namespace differential
