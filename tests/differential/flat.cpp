#include "tests/differential/flat.h"

#include <algorithm>
#include <cmath>

namespace differential {

// Cells: columns, rates, discrete variables, t, then constants and results, each written in one place.
Flat::Flat(const std::vector<TreePtr>& trees, int columns, int discrete)
    : columns_(columns), discrete_(discrete), trees_(trees) {
  cells_.assign(static_cast<std::size_t>(2 * columns + discrete + 1), 0.0);
  for (const TreePtr& tree : trees_) {
    const int value = compile(*tree);
    ends_.emplace_back(static_cast<int>(code_.size()), value);
  }
  back_.assign(cells_.size(), 0.0);
}

int Flat::constant(double value) {
  cells_.push_back(value);
  return static_cast<int>(cells_.size()) - 1;
}

int Flat::put(Op op, int a, int b, int c) {
  const int to = constant(0.0);
  code_.push_back({op, to, a, b, c, nullptr, nullptr, nullptr, false});
  return to;
}

// Where the condition holds `then`, otherwise `otherwise`; a null tree stands for `value`.
int Flat::branch(int condition, const Tree* then, const Tree* otherwise, double value) {
  const int to = constant(0.0);
  const auto part = [&](const Tree* tree) {
    const int from = tree ? compile(*tree) : constant(value);
    code_.push_back({Op::copy, to, from, -1, -1, nullptr, nullptr, nullptr, false});
  };
  const std::size_t unless = code_.size();
  code_.push_back({Op::jump_unless, -1, condition, -1, -1, nullptr, nullptr, nullptr, false});
  part(then);
  const std::size_t over = code_.size();
  code_.push_back({Op::jump, -1, -1, -1, -1, nullptr, nullptr, nullptr, false});
  code_[unless].b = static_cast<int>(code_.size());
  part(otherwise);
  code_[over].b = static_cast<int>(code_.size());
  return to;
}

int Flat::compile(const Tree& tree) {
  using What = Tree::What;
  switch (tree.what) {
    case What::number:
      return constant(tree.number);
    case What::column:
      return tree.index;
    case What::rate:
      return columns_ + tree.index;
    case What::discrete:
      return 2 * columns_ + tree.index;
    case What::time:
      return 2 * columns_ + discrete_;
    case What::table: {
      const int to = put(Op::table, compile(*tree.arguments.at(0)));
      code_.back().table = &tree;
      return to;
    }
    case What::call:
      break;
  }
  const std::string& f = tree.function;
  const auto& a = tree.arguments;
  if (f == "if") return branch(compile(*a.at(0)), a.at(1).get(), a.at(2).get(), 0.0);
  if (f == "and" || f == "or") {
    const int first = compile(*a.at(0));
    const int both =
        f == "and" ? branch(first, a.at(1).get(), nullptr, 0.0) : branch(first, nullptr, a.at(1).get(), 1.0);
    return put(Op::truth, both);
  }
  std::vector<int> at;
  for (const TreePtr& argument : a) at.push_back(compile(*argument));
  if (f == "min" || f == "max") {
    int best = at.at(0);
    for (std::size_t k = 1; k < at.size(); ++k) {
      const int larger = put(Op::greater, at[k], best);
      best = f == "max" ? put(Op::choose, larger, best, at[k]) : put(Op::choose, larger, at[k], best);
    }
    return best;
  }
  if (at.size() == 2) {
    static const std::map<std::string, Op> binary{
        {"+", Op::add},      {"-", Op::subtract}, {"*", Op::multiply},        {"/", Op::divide},
        {"^", Op::power},    {"gt", Op::greater}, {"ge", Op::greater_equal},  {"eq", Op::equal},
        {"ne", Op::unequal}, {"mod", Op::modulo}, {"atan2", Op::arc_tangent}, {"hypot", Op::hypotenuse}};
    if (f == "lt") return put(Op::greater, at[1], at[0]);
    if (f == "le") return put(Op::greater_equal, at[1], at[0]);
    if (const auto found = binary.find(f); found != binary.end()) return put(found->second, at[0], at[1]);
  }
  if (at.size() == 1) {
    if (f == "neg") return put(Op::negate, at[0]);
    if (f == "abs") return put(Op::absolute, at[0]);
    if (f == "not") return put(Op::logical_not, at[0]);
    if (const Function* function = function_named(f)) {
      const int to = put(Op::function, at[0]);
      code_.back().f = function->value;
      code_.back().slope = function->slope;
      code_.back().piecewise = f == "floor" || f == "ceil" || f == "sign";
      return to;
    }
  }
  throw OracleError("function '" + f + "' is not known to the oracle");
}

void Flat::set(const double* columns, const double* rates, const double* discrete, double t) {
  const auto n = static_cast<std::size_t>(columns_), d = static_cast<std::size_t>(discrete_);
  std::copy(columns, columns + n, cells_.begin());
  if (rates)
    std::copy(rates, rates + n, cells_.begin() + columns_);
  else
    std::fill(cells_.begin() + columns_, cells_.begin() + 2 * columns_, 0.0);
  std::copy(discrete, discrete + d, cells_.begin() + 2 * columns_);
  cells_[2 * n + d] = t;
}

namespace {

// The piece of a table in which x lies: before point k.
std::size_t piece_of(const Tree& table, double x) {
  std::size_t k = 0;
  while (k < table.points.size() && table.points[k].first <= x) ++k;
  return k;
}
double slope_of(const Tree& table, std::size_t k) {
  const auto& p = table.points;
  if (k == 0 || k == p.size() || table.hold) return 0.0;
  return (p[k].second - p[k - 1].second) / (p[k].first - p[k - 1].first);
}
double table_at(const Tree& table, double x, std::size_t k) {
  const auto& p = table.points;
  if (k == 0) return p.front().second;
  if (k == p.size() || table.hold) return p[k - 1].second;
  return p[k - 1].second + slope_of(table, k) * (x - p[k - 1].first);
}

}  // namespace

template <bool trace>
double Flat::execute(std::size_t tree) {
  const int begin = tree == 0 ? 0 : ends_[tree - 1].first, end = ends_[tree].first;
  double* const cell = cells_.data();
  if (trace) trail_.clear();
  for (int at = begin; at < end; ++at) {
    const Instruction& i = code_[static_cast<std::size_t>(at)];
    if (i.op == Op::jump) {
      at = i.b - 1;
      continue;
    }
    const double x = cell[i.a];
    if (i.op == Op::jump_unless) {
      if (x == 0.0) at = i.b - 1;
      continue;
    }
    if (trace) trail_.push_back(at);
    const double y = i.b >= 0 ? cell[i.b] : 0.0;
    double value = 0.0;
    switch (i.op) {
      case Op::add:
        value = x + y;
        break;
      case Op::subtract:
        value = x - y;
        break;
      case Op::multiply:
        value = x * y;
        break;
      case Op::divide:
        value = x / y;
        break;
      case Op::power:
        value = std::pow(x, y);
        break;
      case Op::greater:
        pieces.push_back(value = x - y > 0);
        break;
      case Op::greater_equal:
        pieces.push_back(value = x - y >= 0);
        break;
      case Op::equal:
        value = x == y;
        break;
      case Op::unequal:
        value = x != y;
        break;
      case Op::logical_not:
        value = x == 0.0;
        break;
      case Op::truth:
        value = x != 0.0;
        break;
      case Op::modulo:
        pieces.push_back(std::floor(x / y));
        value = x - y * std::floor(x / y);
        break;
      case Op::arc_tangent:
        value = std::atan2(x, y);
        break;
      case Op::hypotenuse:
        value = std::hypot(x, y);
        break;
      case Op::negate:
        value = -x;
        break;
      case Op::absolute:
        pieces.push_back(x >= 0);
        value = std::abs(x);
        break;
      case Op::choose:
        value = x != 0.0 ? cell[i.c] : y;
        break;
      case Op::function:
        value = i.f(x);
        if (i.piecewise) pieces.push_back(value);
        break;
      case Op::table: {
        const std::size_t k = piece_of(*i.table, x);
        pieces.push_back(static_cast<double>(k));
        value = table_at(*i.table, x, k);
        break;
      }
      case Op::copy:
        value = x;
        break;
      case Op::jump:
      case Op::jump_unless:
        break;
    }
    cell[i.to] = value;
  }
  return cell[ends_[tree].second];
}

double Flat::value(std::size_t tree) { return execute<false>(tree); }

double Flat::value(std::size_t tree, std::vector<std::pair<int, double>>& slopes) {
  const double result = execute<true>(tree);
  slopes.clear();
  touched_.clear();
  const auto give = [&](int to, double amount) {
    double& s = back_[static_cast<std::size_t>(to)];
    if (s == 0.0) touched_.push_back(to);
    s += amount;
  };
  give(ends_[tree].second, 1.0);
  for (std::size_t k = trail_.size(); k-- > 0;) {
    const Instruction& i = code_[static_cast<std::size_t>(trail_[k])];
    const double s = back_[static_cast<std::size_t>(i.to)];
    back_[static_cast<std::size_t>(i.to)] = 0.0;
    if (s == 0.0) continue;
    const double x = cells_[static_cast<std::size_t>(i.a)];
    const double y = i.b >= 0 ? cells_[static_cast<std::size_t>(i.b)] : 0.0;
    switch (i.op) {
      case Op::add:
        give(i.a, s);
        give(i.b, s);
        break;
      case Op::subtract:
        give(i.a, s);
        give(i.b, -s);
        break;
      case Op::multiply:
        give(i.a, s * y);
        give(i.b, s * x);
        break;
      case Op::divide:
        give(i.a, s / y);
        give(i.b, -s * x / (y * y));
        break;
      case Op::power:
        give(i.a, y == 0.0 ? 0.0 : s * y * std::pow(x, y - 1));
        give(i.b, x > 0 ? s * std::pow(x, y) * std::log(x) : 0.0);
        break;
      case Op::modulo:
        give(i.a, s);
        give(i.b, -s * std::floor(x / y));
        break;
      case Op::arc_tangent:
        give(i.a, s * y / (x * x + y * y));
        give(i.b, -s * x / (x * x + y * y));
        break;
      case Op::hypotenuse:
        give(i.a, s * x / std::hypot(x, y));
        give(i.b, s * y / std::hypot(x, y));
        break;
      case Op::negate:
        give(i.a, -s);
        break;
      case Op::absolute:
        give(i.a, x >= 0 ? s : -s);
        break;
      case Op::choose:
        give(x != 0.0 ? i.c : i.b, s);
        break;
      case Op::function:
        give(i.a, s * i.slope(x));
        break;
      case Op::table:
        give(i.a, s * slope_of(*i.table, piece_of(*i.table, x)));
        break;
      case Op::copy:
        give(i.a, s);
        break;
      default:  // comparisons have no slope
        break;
    }
  }
  for (const int cell : touched_) {
    double& s = back_[static_cast<std::size_t>(cell)];
    if (s != 0.0 && cell < 2 * columns_) slopes.emplace_back(cell, s);
    s = 0.0;
  }
  return result;
}

}  // namespace differential
