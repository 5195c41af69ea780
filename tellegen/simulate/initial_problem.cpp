// What holds at the start: the equations, their structure, and how they are named and explained.
#include "tellegen/simulate/initial_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tellegen {

InitialProblem::InitialProblem(Tableau& tableau, const Storage& storage, std::vector<ForcedNode> forced)
    : tableau_(tableau),
      system_(tableau.system()),
      storage_(storage),
      given_(given_values(system_)),
      conditions_(given_conditions(system_, storage, given_)),
      forced_(std::move(forced)) {
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) prescribed_.push_back(k);
  free_what_forced_nodes_decide();
  prefer_what_was_given();
  prepare();
  sources_rest_ = begins_steady();
}

InitialProblem::InitialProblem(Tableau& tableau, const Storage& storage)
    : tableau_(tableau), system_(tableau.system()), storage_(storage), given_(system_.rates.size()) {
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) prescribed_.push_back(k);
  for (GivenStart& g : given_) g.what = GivenStart::What::value;
  prepare();
}

bool InitialProblem::factor_at(double t, const InitialState& state) {
  t_ = t;
  std::copy(state.x.begin(), state.x.end(), z_.begin());
  std::copy(state.rates.begin(), state.rates.end(), z_.begin() + n_);
  factored_ = false;
  exact_ = true;
  const bool good = factor();
  exact_ = false;
  return good;
}

std::vector<DerivativeEntry> InitialProblem::rate_entries(std::span<const int> wrt, double t,
                                                          bool at_start) const {
  std::vector<DerivativeEntry> entries;
  if (at_start) {
    const auto slopes = given_slopes(system_, wrt);
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
      if (takes_state(k))
        for (const auto& [p, slope] : slopes[prescribed_[k]]) entries.push_back({n_ + k, p, slope});
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
      if (const StartCondition* c = condition_of(k)) add_condition_slopes(n_ + k, *c, wrt, entries);
    const ParameterSlopes of(*system_.model, wrt);
    for (std::size_t k = 0; k < forced_.size(); ++k)
      for (const auto& [p, slope] : of.of(forced_[k].formula))
        entries.push_back({first_forced_ + static_cast<std::int32_t>(k), p, slope});
  }
  if (sources_rest_) return entries;
  const auto drives =
      redundant_slopes(system_, storage_, wrt, std::max(t, just_after_start), std::span(z_).subspan(n_));
  for (std::size_t k = 0; k < drives.size(); ++k)
    for (const auto& [p, slope] : drives[k]) entries.push_back({n_ + storage_.redundant[k].rate, p, slope});
  return entries;
}

const StartCondition* InitialProblem::condition_of(std::int32_t k) const {
  if (redundant_of_[k] >= 0) return nullptr;
  const GivenStart& g = given_[prescribed_[k]];
  return g.what == GivenStart::What::condition ? &conditions_[g.condition] : nullptr;
}

ExprMap<double> InitialProblem::numbers_at_point() const {
  Pool& pool = *system_.model->pool;
  ExprMap<double> at{{pool.symbol("t"), t_}};
  for (std::int32_t c = 0; c < n_; ++c) at[column_symbol(system_, c)] = z_[c];
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) at[rate_symbol(pool, k)] = z_[n_ + k];
  return at;
}

// -d(condition)/dp
void InitialProblem::add_condition_slopes(std::int32_t row, const StartCondition& c, std::span<const int> wrt,
                                          std::vector<DerivativeEntry>& entries) const {
  ExprMap<double> at = numbers_at_point();
  for (const ModelParameter& p : system_.model->parameters) at[p.symbol] = p.number;
  const ParameterSlopes slopes(*system_.model, wrt);
  for (std::size_t k = 0; k < system_.model->parameters.size(); ++k) {
    const Expr symbol = system_.model->parameters[k].symbol;
    if (!depends_on(c.with_parameters, symbol)) continue;
    const double slope = evaluate(derivative(c.with_parameters, symbol), at);
    for (const auto& [p, inner] : slopes.of_parameter(static_cast<int>(k)))
      entries.push_back({row, p, -slope * inner});
  }
}

// A state whose rate is to be zero, while a source prescribes the rate of redundant storage. With
// conditions in place of values (machines that turn while they are steady) rates are what the conditions
// say.
bool InitialProblem::begins_steady() const {
  const auto driven = [](const RedundantRate& r) { return r.follows_a_source(); };
  if (!conditions_.empty() || std::none_of(storage_.redundant.begin(), storage_.redundant.end(), driven))
    return false;
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
    if (redundant_of_[k] < 0 && given_[prescribed_[k]].what != GivenStart::What::value) return true;
  return false;
}

void InitialProblem::prepare() {
  n_ = tableau_.size();
  first_forced_ = n_ + tableau_.rate_count();
  total_ = first_forced_ + static_cast<std::int32_t>(forced_.size());
  build_pattern();
}

std::string InitialProblem::variable(std::int32_t column) const {
  if (column < n_) return column_name(system_, column);
  if (column < first_forced_) return "der(" + rate_name(system_, column - n_) + ")";
  return "what holds " + forced_[column - first_forced_].name + " at its initial value";
}

std::string InitialProblem::equation(std::int32_t row) const {
  if (row < n_) return row_name(system_, row);
  if (row < first_forced_) {
    const std::int32_t k = row - n_;
    const bool given = redundant_of_[k] < 0 && given_[prescribed_[k]].what == GivenStart::What::value;
    if (redundant_of_[k] >= 0) return "rate of " + rate_name(system_, k) + ", which follows from others";
    if (const StartCondition* c = condition_of(k))
      return fmt::format("condition '{}' for the start", c->text);
    return (given ? "initial value of " : "steady start of ") + rate_name(system_, k);
  }
  return "initial value of " + forced_[row - first_forced_].name;
}

Place InitialProblem::place_of(std::int32_t row) const {
  if (row < n_) return place_of_row(system_, row);
  if (row >= first_forced_) return forced_[row - first_forced_].place;
  if (const StartCondition* c = condition_of(row - n_)) return c->place;
  const Rate& r = system_.rates[row - n_];
  return system_.model->components[system_.groups[r.group].components[r.member]].place;
}

// What the file says about a row, and advice.
std::vector<std::string> InitialProblem::hints(std::int32_t row, std::string advice) const {
  std::vector<std::string> lines;
  if (const int c = row < n_ ? component_of_row(system_, row) : -1; c >= 0)
    if (const auto formulas = formulas_of(*system_.model, system_.model->components[c]); !formulas.empty())
      lines.push_back("where " + formulas);
  lines.push_back(std::move(advice));
  return lines;
}

// Storage at a node whose potential is given: its kind's default gives way.
void InitialProblem::free_what_forced_nodes_decide() {
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    if (group.symbols[r.symbol].what != LocalSymbol::What::across || given_[k].by_user) continue;
    for (const ForcedNode& f : forced_)
      if (f.column == group.plus[r.symbol][r.member] || f.column == group.minus[r.symbol][r.member])
        given_[k] = {};
  }
}

// A value given for redundant storage takes the place of a default (or of steadiness) of a state it
// follows; a default of redundant storage that of a state about which nothing is said.
void InitialProblem::prefer_what_was_given() {
  for (const bool by_user : {true, false})
    for (const RedundantRate& r : storage_.redundant) {
      if (given_[r.rate].what != GivenStart::What::value || given_[r.rate].by_user != by_user) continue;
      for (const auto& term : r.terms) {
        if (term.rate < 0 || !storage_.is_state[term.rate] || prescribed_[term.rate] != term.rate) continue;
        const GivenStart& state = given_[term.rate];
        if (state.by_user || (!by_user && state.what != GivenStart::What::nothing)) continue;
        prescribed_[term.rate] = r.rate;
        break;
      }
    }
}

void InitialProblem::build_pattern() {
  PatternBuilder builder(total_);
  for (const auto& e : tableau_.x_entries()) builder.add(e.row, e.column);
  for (const auto& e : tableau_.rate_entries()) builder.add(e.row, n_ + e.column);
  redundant_of_.assign(system_.rates.size(), -1);
  for (std::size_t k = 0; k < storage_.redundant.size(); ++k)
    redundant_of_[storage_.redundant[k].rate] = static_cast<int>(k);
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    if (redundant_of_[k] >= 0) {
      builder.add(n_ + k, n_ + k);
      for (const auto& term : storage_.redundant[redundant_of_[k]].terms)
        if (term.rate >= 0) builder.add(n_ + k, n_ + term.rate);
    } else if (given_[prescribed_[k]].what == GivenStart::What::value) {
      const Rate& r = system_.rates[prescribed_[k]];
      const Group& group = system_.groups[r.group];
      builder.add(n_ + k, group.plus[r.symbol][r.member]);
      builder.add(n_ + k, group.minus[r.symbol][r.member]);
    } else if (const StartCondition* c = condition_of(k)) {
      for (const auto& [column, slope] : c->slopes) builder.add(n_ + k, column);
      const Rate& r = system_.rates[k];
      builder.add(n_ + k, system_.groups[r.group].plus[r.symbol][r.member]);
      builder.add(n_ + k, system_.groups[r.group].minus[r.symbol][r.member]);
    } else {
      builder.add(n_ + k, n_ + k);
    }
  }
  for (std::size_t k = 0; k < forced_.size(); ++k) {
    builder.add(forced_[k].column, first_forced_ + static_cast<std::int32_t>(k));
    builder.add(first_forced_ + static_cast<std::int32_t>(k), forced_[k].column);
  }
  structure_ = PatternBuilder(builder).build();
  for (std::int32_t c = 0; c < system_.node_columns; ++c) builder.add(c, c);  // gmin
  std::int32_t moving = 0;
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    if (!is_steady(k)) continue;
    const Rate& r = system_.rates[k];
    builder.add(n_ + k, system_.groups[r.group].plus[r.symbol][r.member]);
    builder.add(n_ + k, system_.groups[r.group].minus[r.symbol][r.member]);
    moving += 2;
  }
  pattern_ = builder.build();
  position_.clear();
  const auto entries = tableau_.x_entries().size() + tableau_.rate_entries().size();
  std::int32_t extra = 0;
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    if (redundant_of_[k] >= 0) {
      extra += 1;
      for (const auto& term : storage_.redundant[redundant_of_[k]].terms) extra += term.rate >= 0;
    } else if (const StartCondition* c = condition_of(k)) {
      extra += static_cast<std::int32_t>(c->slopes.size()) + 2;
    } else {
      extra += given_[prescribed_[k]].what == GivenStart::What::value ? 2 : 1;
    }
  }
  extra += 2 * static_cast<std::int32_t>(forced_.size());
  const auto total = static_cast<std::int32_t>(entries) + extra + system_.node_columns + moving;
  for (std::int32_t k = 0; k < total; ++k) position_.push_back(builder.position(k));
  lu_ = std::make_unique<SparseLu>(pattern_);
  z_.assign(total_, 0.0);
  limits_.assign(tableau_.limit_count(), 0.0);
  values_.assign(pattern_.nonzeros(), 0.0);
  by_x_.resize(tableau_.x_entries().size());
  by_rate_.resize(tableau_.rate_entries().size());
}

void InitialProblem::find_source_rates() {
  const ExprMap<double> start{{system_.model->pool->symbol("t"), std::max(t_, just_after_start)}};
  source_rate_.clear();
  if (sources_rest_) {
    source_rate_.assign(storage_.redundant.size(), 0.0);
    return;
  }
  for (const RedundantRate& r : storage_.redundant) {
    double total = r.drive ? evaluate(r.drive, start) : 0.0;
    for (const auto& term : r.terms)
      if (term.rate < 0) {
        const Expr rate = source_rate(system_, term.source);
        if (!rate && unknown_rates_ == UnknownRates::zero) continue;
        if (!rate) {
          const Component& c = system_.model->components[system_.graph.edges[term.source.value].component];
          throw ModelError({c.place,
                            "T212",
                            fmt::format("'{}' fixes the rate of '{}', and depends on other variables", c.name,
                                        rate_name(system_, r.rate)),
                            {"a storage component directly in parallel (or series) with a controlled "
                             "source has no state",
                             "put a small resistance between them"}});
        }
        total += term.sign * evaluate(rate, start);
      }
    source_rate_.push_back(total);
  }
}

// Through storage whose steady value nothing determines, in equations that do not contradict each other: an
// inductor across a source that is zero at t = 0. As in SPICE it begins at zero.
bool InitialProblem::start_an_open_current_at_zero() {
  if (unmatched(structure_).rows.empty()) return false;
  source_rate_.assign(storage_.redundant.size(), 0.0);
  guess();
  std::vector<double> f(total_);
  residual(f);
  if (factor()) return false;
  const NullSpace null = null_space(pattern_, values_);
  if (contradicts(null, f)) return false;
  for (const auto& part : null.rows) {
    const std::int32_t k = part.index - n_;
    if (k < 0 || k >= tableau_.rate_count() || redundant_of_[k] >= 0 || prescribed_[k] != k) continue;
    const auto what = given_[k].what;
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    if ((what != GivenStart::What::steady && what != GivenStart::What::nothing) ||
        group.symbols[r.symbol].what != LocalSymbol::What::through)
      continue;
    const std::int32_t column = group.plus[r.symbol][r.member];
    if (std::none_of(null.columns.begin(), null.columns.end(),
                     [&](const auto& open) { return open.index == column; }))
      continue;
    given_[k] = {GivenStart::What::value, 0.0, false, system_.model->pool->number(0.0)};
    build_pattern();
    return true;
  }
  return false;
}

bool InitialProblem::contradicts(const NullSpace& null, std::span<const double> f) {
  double sum = 0.0, size = 0.0;
  for (const auto& part : null.rows) {
    sum += part.weight * f[part.index];
    size = std::max(size, std::abs(part.weight * f[part.index]));
  }
  return std::abs(sum) > 1e-6 * size;
}

void InitialProblem::check_structure() {
  const Unmatched left = unmatched(structure_);
  if (left.rows.empty()) return;
  source_rate_.assign(storage_.redundant.size(), 0.0);
  guess();
  std::vector<double> f(total_);
  residual(f);
  factor();
  Fault fault = explain_singular(f);
  fault.code = "T210";
  if (fault.details.empty()) {  // the numbers do not help: no finite ones
    for (std::size_t k = 0; k < left.columns.size() && k < 5; ++k)
      fault.details.push_back(fmt::format("no equation is left to determine {}", described(left.columns[k])));
    for (std::size_t k = 0; k < left.rows.size() && k < 5; ++k)
      fault.details.push_back(fmt::format("no variable is left for the {}", equation(left.rows[k])));
    fault.place = place_of(left.rows.front());
  }
  throw ModelError(std::move(fault));
}

// Joints of a mechanism whose equations of motion determine no acceleration.
std::string InitialProblem::joints_of(const NullSpace& null) const {
  std::vector<std::string> names;
  for (const auto& part : null.rows) {
    const int c = part.index < n_ ? component_of_row(system_, part.index) : -1;
    if (c < 0) continue;
    const Component& component = system_.model->components[c];
    const std::string name = fmt::format("'{}'", component.name);
    if (system_.model->kinds[component.kind].name.starts_with("multibody.") &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The null space in words: what nothing determines, and which equations say the same or contradict each
// other. `f` is the residual.
Fault InitialProblem::explain_singular(std::span<const double> f) const {
  constexpr std::size_t most = 8;
  const Model& model = *system_.model;
  const NullSpace null = null_space(pattern_, values_);
  Fault fault{{model.file.string(), 0}, "T211", "the equations are singular at t = 0", {}};
  if (null.rows.empty()) return fault;

  std::vector<std::int32_t> undetermined;
  for (const auto& part : null.columns)
    if (part.index < n_) undetermined.push_back(part.index);
  if (undetermined.empty())  // rates only
    for (const auto& part : null.columns) undetermined.push_back(part.index);
  std::string names;
  for (std::size_t k = 0; k < undetermined.size() && k < most; ++k)
    names += fmt::format("{}'{}'", k == 0 ? "" : ", ", variable(undetermined[k]));
  if (undetermined.size() > most) names += fmt::format(" and {} more", undetermined.size() - most);
  fault.message =
      fmt::format("{} {} not determined at t = 0", names, undetermined.size() == 1 ? "is" : "are");

  const bool contradiction = contradicts(null, f);
  if (null.rows.size() == 1)
    fault.details.push_back(contradiction ? "this equation cannot hold, whatever the variables are:"
                                          : "this equation holds whatever the variables are:");
  else
    fault.details.push_back(contradiction ? "these equations contradict each other:"
                                          : "one of these equations says what the others say:");
  int guilty = -1;  // the last component with a formula is where to look first, else the last of all
  std::vector<std::string> steady;
  for (std::size_t k = 0; k < null.rows.size(); ++k) {
    const std::int32_t row = null.rows[k].index;
    if (k < most) fault.details.push_back("  the " + equation(row));
    if (row >= n_ && row < first_forced_ && given_[prescribed_[row - n_]].what != GivenStart::What::value)
      steady.push_back(rate_name(system_, row - n_));
    const int c = row < n_ ? component_of_row(system_, row) : -1;
    if (c < 0) continue;
    const std::string formulas = formulas_of(model, model.components[c]);
    const bool guilty_has = guilty >= 0 && !formulas_of(model, model.components[guilty]).empty();
    if (guilty < 0 || (!formulas.empty() && !guilty_has) || (formulas.empty() == !guilty_has && c > guilty))
      guilty = c;
    if (!formulas.empty() && k < most) fault.details.push_back(fmt::format("    where {}", formulas));
  }
  if (null.rows.size() > most) fault.details.push_back(fmt::format("  and {} more", null.rows.size() - most));
  fault.place = guilty >= 0 ? model.components[guilty].place : place_of(null.rows.front().index);
  if (!steady.empty())
    fault.details.push_back(fmt::format(
        "there is no steady state to begin with: give '{}' an initial value, or a way for what flows in",
        steady.front()));
  else if (const std::string joints = joints_of(null); !joints.empty())
    fault.details.push_back(fmt::format(
        "nothing with mass moves along with {}: put a body at a frame behind it, with inertia about "
        "its axis where it turns",
        joints));
  else
    fault.details.push_back(
        "remove one of these components, or put a resistance in series with what fixes a potential (in "
        "parallel with what fixes a flow); look for a formula that makes a component vanish at t = 0");
  return fault;
}

}  // namespace tellegen
