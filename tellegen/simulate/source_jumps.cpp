#include "tellegen/simulate/source_jumps.h"

#include "runtime/tellegen_events.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tellegen/simulate/time_function.h"

namespace tellegen {
namespace {

constexpr double no_jump = std::numeric_limits<double>::infinity();
constexpr double moment = 0.01;       // of a step: what changes in it jumps
constexpr double least = 2e-3;        // of a function's size: less is no jump
constexpr double together = 1e-6;     // of a step: jumps no further apart are one
constexpr std::size_t most = 1000;    // functions that are looked at
constexpr int looks = 64;             // at a function, for its size
constexpr double longest_look = 1e4;  // in steps

bool is_comparison(std::string_view name) {
  return name == "lt" || name == "le" || name == "gt" || name == "ge" || name == "not" || name == "and" ||
         name == "or";
}

bool may_jump(Expr node) {
  if (node.op() == Op::lookup) return true;
  if (node.op() != Op::call) return false;
  const auto name = node.function().name;
  return name == "if" || name == "floor" || name == "ceil" || name == "sign" || name == "mod" ||
         is_comparison(name);
}

}  // namespace

SourceJumps::SourceJumps(const EquationSystem& system, double step, double stop, bool kinks)
    : step_(step), kinks_(kinks) {
  time_ = system.model->pool->symbol("t");
  for (const Group& group : system.groups) {
    ExprMap<int> slot;  // of numbers that stay: discrete variables change
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      if (std::find(group.held.begin(), group.held.end(), static_cast<int>(p)) == group.held.end())
        slot[group.parameters[p]] = static_cast<int>(p);
    // The largest parts that are functions of time alone.
    ExprMap<char> timed;
    std::vector<Expr> largest;
    const auto is_timed = [&](Expr node) {
      if (node.is_number() || node == time_ || slot.contains(node)) return true;
      const auto args = node.args();
      return !node.is_symbol() &&
             std::all_of(args.begin(), args.end(), [&](Expr a) { return timed.at(a) != 0; });
    };
    const auto nodes = nodes_of(group.residuals);
    for (Expr node : nodes) timed[node] = is_timed(node) ? 1 : 0;
    const auto add = [&](Expr part) {
      if (timed.at(part) && depends_on(part, time_) &&
          std::find(largest.begin(), largest.end(), part) == largest.end())
        largest.push_back(part);
    };
    for (Expr node : nodes)
      if (!timed.at(node) && !node.is_symbol())
        for (Expr a : node.args()) add(a);
    for (Expr residual : group.residuals) add(residual);
    for (Expr part : largest) {
      Source source;
      source.value = part;
      for (Expr node : nodes_of(std::span(&part, 1)))
        if (may_jump(node) && depends_on(node, time_)) {
          const bool decided = node.op() == Op::call && node.function().name == "if";
          const Expr choice = decided ? node.args()[0] : node;
          if (depends_on(choice, time_)) source.choices.push_back(choice);
        }
      if (source.choices.empty()) continue;
      possible_ = true;
      for (Expr s : symbols_of(source.choices))
        if (const auto found = slot.find(s); found != slot.end())
          for (std::int32_t m = 0; m < group.size(); ++m)
            deciding_.push_back(
                {static_cast<std::int32_t>(&group - system.groups.data()), found->second, m, -1});
      std::vector<int> used;
      for (Expr s : symbols_of(std::span(&part, 1)))
        if (const auto found = slot.find(s); found != slot.end()) used.push_back(found->second);
      std::set<std::vector<double>> seen;  // members with the same numbers jump together
      for (std::int32_t m = 0; m < group.size() && sources_.size() < most; ++m) {
        std::vector<double> numbers;
        for (int p : used) numbers.push_back(group.values[p][m]);
        if (!seen.insert(numbers).second) continue;
        source.numbers.clear();
        for (int p : used) source.numbers[group.parameters[p]] = group.values[p][m];
        sources_.push_back(source);
      }
    }
  }
  const double span = std::min(stop, longest_look * step);
  for (Source& source : sources_) {
    for (int k = 0; k <= looks; ++k)
      if (const double v = std::abs(value(source, span * k / looks)); std::isfinite(v))
        source.size = std::max(source.size, v);
    source.next = next_of(source, 0.0);
  }
  std::erase_if(sources_, [](const Source& s) { return s.next == no_jump; });
  find_next();
}

double SourceJumps::value(const Source& source, double t) const {
  ExprMap<double> numbers = source.numbers;
  numbers[time_] = t;
  return evaluate(source.value, numbers);
}

double SourceJumps::before(double t) const { return t == no_jump ? no_jump : tellegen_before_jump(step_, t); }

double SourceJumps::next_of(const Source& source, double after) const {
  double next = no_jump;
  for (Expr choice : source.choices) {
    double until = no_jump;
    if (choice.op() == Op::lookup)
      until = next_in_table(source, choice, after);
    else if (const auto piece = time_piece(choice, after, source.numbers))
      until = piece->until;
    if (until > after) next = std::min(next, until);
  }
  return next;
}

// Points of a table are many, and few of them jump.
double SourceJumps::next_in_table(const Source& source, Expr lookup, double after) const {
  const Table& table = *lookup.table();
  const auto piece = time_piece(lookup.args()[0], after, source.numbers);
  if (lookup.args().size() > 1 || !piece || lookup.order() > 0) return no_jump;
  double slope = 0.0, offset = 0.0;
  for (const TimeTerm& term : piece->function) {
    if (term.lambda != 0.0 || term.omega != 0.0) return no_jump;
    (term.degree == 1 ? slope : offset) += term.cosine;
  }
  if (slope <= 0.0) return piece->until;
  const double from = slope * after + offset;
  double size = 0.0;
  for (double x : table.x) size = std::max(size, std::abs(table.value(x)));
  for (auto x = std::upper_bound(table.x.begin(), table.x.end(), from + 1e-12 * std::abs(from));
       x != table.x.end(); ++x) {
    const double at = (*x - offset) / slope;
    if (at >= piece->until) break;
    if (kinks_ && table.x.size() <= most) return at;
    if (std::abs(table.value(*x + slope * moment * step_) - table.value(slope * before(at) + offset)) >
        least * size)
      return at;
  }
  return piece->until;
}

void SourceJumps::find_next() {
  next_ = no_jump;
  for (const Source& source : sources_) next_ = std::min(next_, source.next);
}

bool SourceJumps::jumps() const {
  return std::any_of(sources_.begin(), sources_.end(), [&](const Source& source) {
    if (source.next > next_ + together * step_) return false;
    const double left = value(source, before(next_)), right = value(source, next_ + moment * step_);
    return std::abs(right - left) > least * std::max({source.size, std::abs(left), std::abs(right)});
  });
}

void SourceJumps::pass() {
  const double passed = next_ + together * step_;
  for (Source& source : sources_)
    for (int round = 0; source.next <= passed && round < 10; ++round)
      source.next = next_of(source, source.next);
  for (Source& source : sources_)
    if (source.next <= passed) source.next = next_of(source, passed);
  find_next();
}

}  // namespace tellegen
