#include "tellegen/simulate/initial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tellegen/equations/explain.h"
#include "tellegen/numeric/null_space.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/given_start.h"
#include "tellegen/simulate/solution_afresh.h"

namespace tellegen {
namespace {

// Why there are no initial values.
struct Why {
  std::string message;
  std::vector<std::string> details;
  std::optional<Fault> singular;
};

}  // namespace

class InitialProblem {
 public:
  // The start of a run.
  InitialProblem(Tableau& tableau, const Storage& storage, std::vector<ForcedNode> forced)
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
  // States held: their values are set before each solution.
  InitialProblem(Tableau& tableau, const Storage& storage)
      : tableau_(tableau), system_(tableau.system()), storage_(storage), given_(system_.rates.size()) {
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) prescribed_.push_back(k);
    for (GivenStart& g : given_) g.what = GivenStart::What::value;
    prepare();
  }

  bool solve_from(double t, InitialState& state) {
    t_ = t;
    explain_ = false;
    find_source_rates();
    std::copy(state.x.begin(), state.x.end(), z_.begin());
    std::copy(state.rates.begin(), state.rates.end(), z_.begin() + n_);
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
      given_[k].value = tableau_.rate_value(state.x, k);
    std::fill(limits_.begin(), limits_.end(),
              1e300);  // far away: the first limit leaves arguments as they are
    factored_ = false;
    if (!newton(100)) return false;
    state.x.assign(z_.begin(), z_.begin() + n_);
    state.rates.assign(z_.begin() + n_, z_.begin() + n_ + tableau_.rate_count());
    return true;
  }
  void solve_afresh(double t, InitialState& state) {
    std::vector<double> values(tableau_.rate_count());
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) values[k] = tableau_.rate_value(state.x, k);
    solve_afresh(t, values, state);
  }
  void solve_afresh(double t, std::span<const double> values, InitialState& state) {
    t_ = t;
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) given_[k].value = values[k];
    std::fill(z_.begin(), z_.end(), 0.0);
    std::fill(limits_.begin(), limits_.end(), 0.0);
    factored_ = false;
    InitialState found = solve();
    state.x = std::move(found.x);
    state.rates = std::move(found.rates);
  }
  std::int64_t iterations() const { return iterations_; }

  // The matrix at a point, for derivatives.
  bool factor_at(double t, const InitialState& state) {
    t_ = t;
    std::copy(state.x.begin(), state.x.end(), z_.begin());
    std::copy(state.rates.begin(), state.rates.end(), z_.begin() + n_);
    factored_ = false;
    exact_ = true;
    const bool good = factor();
    exact_ = false;
    return good;
  }
  std::int32_t total() const { return total_; }
  bool takes_state(std::int32_t k) const {
    return redundant_of_[k] < 0 && given_[prescribed_[k]].what == GivenStart::What::value;
  }
  const SparseLu& lu() const { return *lu_; }

  std::vector<DerivativeEntry> rate_entries(std::span<const int> wrt, double t, bool at_start) const {
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

  // Whether what is found first is only where the states come from.
  bool is_first_of_two() const { return sources_rest_ || !forced_.empty(); }

  InitialState solve() {
    while (start_an_open_current_at_zero()) {
    }
    check_structure();
    find_source_rates();
    guess();
    const std::vector<double> start = z_, start_limits = limits_;
    gmin_ = 0.0;
    source_ = 1.0;
    longest_step_ = std::numeric_limits<double>::infinity();
    explain_ = true;
    // First with the variables of { such_that } held near where they are said to be: at rest, with all else
    // zero, their conditions have no slope.
    held_near_ = std::any_of(conditions_.begin(), conditions_.end(),
                             [](const StartCondition& c) { return c.such_that; });
    if (held_near_) {
      const bool found = newton(100);
      held_near_ = false;
      if (!found) z_ = start, limits_ = start_limits;
    }
    if (newton(100)) return finish();
    explain_ = false;
    const Why why = why_;
    // Across variables, such as voltages, are seldom far above those of the sources: then, step by step.
    double largest = 0.0;
    for (std::int32_t c = 0; c < system_.node_columns; ++c)
      largest = std::max({largest, std::abs(start[c]), column_scale(system_, c)});
    for (const double longest : {std::numeric_limits<double>::infinity(), largest}) {
      longest_step_ = longest;
      z_ = start, limits_ = start_limits;
      if (lower_gmin()) return finish();
      if (raise_sources()) return finish();
      z_ = start, limits_ = start_limits;
      if (settle_in_time()) return finish();
    }
    if (why.singular) throw ModelError(*why.singular);
    throw SimulationError(
        t_ > 0.0
            ? fmt::format("Newton's iteration did not converge at t = {:.9g} s, nor with gmin, source or "
                          "pseudo-transient stepping: {}",
                          t_, why.message)
            : "no consistent initial values were found: " + why.message,
        t_, why.details);
  }

 private:
  const StartCondition* condition_of(std::int32_t k) const {
    if (redundant_of_[k] >= 0) return nullptr;
    const GivenStart& g = given_[prescribed_[k]];
    return g.what == GivenStart::What::condition ? &conditions_[g.condition] : nullptr;
  }
  // Its rate is to be zero.
  bool is_steady(std::int32_t k) const {
    return redundant_of_[k] < 0 && !condition_of(k) && given_[prescribed_[k]].what != GivenStart::What::value;
  }
  bool near(const StartCondition& c) const { return held_near_ && c.such_that; }
  ExprMap<double> numbers_at_point() const {
    Pool& pool = *system_.model->pool;
    ExprMap<double> at{{pool.symbol("t"), t_}};
    for (std::int32_t c = 0; c < n_; ++c) at[column_symbol(system_, c)] = z_[c];
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) at[rate_symbol(pool, k)] = z_[n_ + k];
    return at;
  }
  // -d(condition)/dp
  void add_condition_slopes(std::int32_t row, const StartCondition& c, std::span<const int> wrt,
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
  bool begins_steady() const {
    const auto driven = [](const RedundantRate& r) { return r.follows_a_source(); };
    if (!conditions_.empty() || std::none_of(storage_.redundant.begin(), storage_.redundant.end(), driven))
      return false;
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
      if (redundant_of_[k] < 0 && given_[prescribed_[k]].what != GivenStart::What::value) return true;
    return false;
  }

  void prepare() {
    n_ = tableau_.size();
    first_forced_ = n_ + tableau_.rate_count();
    total_ = first_forced_ + static_cast<std::int32_t>(forced_.size());
    build_pattern();
  }

  std::string variable(std::int32_t column) const {
    if (column < n_) return column_name(system_, column);
    if (column < first_forced_) return "der(" + rate_name(system_, column - n_) + ")";
    return "what holds " + forced_[column - first_forced_].name + " at its initial value";
  }
  std::string equation(std::int32_t row) const {
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

  std::string described(std::int32_t column) const {
    return column < n_ ? described_column(system_, column) : "'" + variable(column) + "'";
  }
  Place place_of(std::int32_t row) const {
    if (row < n_) return place_of_row(system_, row);
    if (row >= first_forced_) return forced_[row - first_forced_].place;
    if (const StartCondition* c = condition_of(row - n_)) return c->place;
    const Rate& r = system_.rates[row - n_];
    return system_.model->components[system_.groups[r.group].components[r.member]].place;
  }
  // What the file says about a row, and advice.
  std::vector<std::string> hints(std::int32_t row, std::string advice) const {
    std::vector<std::string> lines;
    if (const int c = row < n_ ? component_of_row(system_, row) : -1; c >= 0)
      if (const auto formulas = formulas_of(*system_.model, system_.model->components[c]); !formulas.empty())
        lines.push_back("where " + formulas);
    lines.push_back(std::move(advice));
    return lines;
  }

  // Storage at a node whose potential is given: its kind's default gives way.
  void free_what_forced_nodes_decide() {
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
  void prefer_what_was_given() {
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

  void build_pattern() {
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

  void find_source_rates() {
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
          if (!rate) {
            const Component& c = system_.model->components[system_.graph.edges[term.source.value].component];
            throw ModelError({c.place,
                              "T212",
                              fmt::format("'{}' fixes the rate of '{}', and depends on other variables",
                                          c.name, rate_name(system_, r.rate)),
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
  bool start_an_open_current_at_zero() {
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

  static bool contradicts(const NullSpace& null, std::span<const double> f) {
    double sum = 0.0, size = 0.0;
    for (const auto& part : null.rows) {
      sum += part.weight * f[part.index];
      size = std::max(size, std::abs(part.weight * f[part.index]));
    }
    return std::abs(sum) > 1e-6 * size;
  }

  void check_structure() {
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
        fault.details.push_back(
            fmt::format("no equation is left to determine {}", described(left.columns[k])));
      for (std::size_t k = 0; k < left.rows.size() && k < 5; ++k)
        fault.details.push_back(fmt::format("no variable is left for the {}", equation(left.rows[k])));
      fault.place = place_of(left.rows.front());
    }
    throw ModelError(std::move(fault));
  }

  // The null space in words: what nothing determines, and which equations say the same or contradict each
  // other. `f` is the residual.
  Fault explain_singular(std::span<const double> f) const {
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
    if (null.rows.size() > most)
      fault.details.push_back(fmt::format("  and {} more", null.rows.size() - most));
    fault.place = guilty >= 0 ? model.components[guilty].place : place_of(null.rows.front().index);
    if (!steady.empty())
      fault.details.push_back(fmt::format(
          "there is no steady state to begin with: give '{}' an initial value, or a way for what flows in",
          steady.front()));
    else
      fault.details.push_back(
          "remove one of these components, or put a resistance in series with what fixes a potential (in "
          "parallel with what fixes a flow); look for a formula that makes a component vanish at t = 0");
    return fault;
  }

  // Potentials along the tree from what is known, variables that are no states from what their kinds guess;
  // everything else zero.
  void guess() {
    for (const Group& group : system_.groups) {
      if (group.kind < 0) continue;
      for (const KindInitial& initial : system_.model->kinds[group.kind].initial)
        for (const LocalSymbol& s : group.symbols)
          if (s.what == LocalSymbol::What::internal && s.symbol == initial.variable && !s.rate &&
              initial.value.is_number())
            for (const std::int32_t c : group.components)
              z_[system_.internal_column(c, s.index)] = initial.value.number();
    }
    std::vector<double> across(system_.graph.edge_count(), 0.0);
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      const LocalSymbol& s = group.symbols[r.symbol];
      if (given_[k].what != GivenStart::What::value && given_[k].what != GivenStart::What::condition)
        continue;
      const int c = group.components[r.member];
      if (s.what == LocalSymbol::What::across)
        across[system_.graph.first_edge[c] + s.index] = given_[k].value;
      else if (s.what == LocalSymbol::What::internal)
        z_[system_.internal_column(c, s.index)] = given_[k].value;
      else
        z_[system_.through_column(EdgeIndex{system_.graph.first_edge[c] + s.index})] = given_[k].value;
    }
    for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e)
      if (system_.graph.edges[e].edge_class == EdgeClass::across_source)
        across[e] = source_value(EdgeIndex{e});
    for (NodeIndex node : system_.tree.order) {
      const EdgeIndex up = system_.tree.up[node.value];
      if (up.value < 0) continue;
      const GraphEdge& edge = system_.graph.edges[up.value];
      const std::int32_t parent = system_.node_column(system_.tree.parent[node.value]);
      const double base = parent < 0 ? 0.0 : z_[parent];
      z_[system_.node_column(node)] = base + (edge.from == node ? across[up.value] : -across[up.value]);
    }
    for (const ForcedNode& f : forced_) z_[f.column] = f.value;
  }

  double source_value(EdgeIndex edge) const {
    const GraphEdge& e = system_.graph.edges[edge.value];
    const Group& group = system_.groups[system_.group_of[e.component]];
    const std::int32_t m = system_.member_of[e.component];
    for (const LocalSymbol& s : group.symbols) {
      if (s.what != LocalSymbol::What::across || s.index != e.edge) continue;
      ExprMap<double> at{{group.time, t_}};
      for (const LocalSymbol& other : group.symbols) at[other.symbol] = 0.0;
      for (std::size_t p = 0; p < group.parameters.size(); ++p) at[group.parameters[p]] = group.values[p][m];
      for (Expr r : group.residuals)
        if (depends_on(r, s.symbol)) {
          const double value = -evaluate(r, at) / evaluate(derivative(r, s.symbol), at);
          return std::isfinite(value) ? value : 0.0;
        }
    }
    return 0.0;
  }

  void residual(std::vector<double>& f) {
    tableau_.residual(std::span(z_).first(n_), std::span(z_).subspan(n_), t_, limits_,
                      std::span(f).first(n_));
    const ExprMap<double> at = conditions_.empty() ? ExprMap<double>() : numbers_at_point();
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
      double& row = f[n_ + k];
      if (const StartCondition* c = condition_of(k)) {
        row = near(*c) ? tableau_.rate_value(std::span(z_).first(n_), k) - given_[k].value
                       : evaluate(c->residual, at);
      } else if (redundant_of_[k] >= 0) {
        row = z_[n_ + k] - source_rate_[redundant_of_[k]];
        for (const auto& term : storage_.redundant[redundant_of_[k]].terms)
          if (term.rate >= 0) row -= term.sign * z_[n_ + term.rate];
      } else if (given_[prescribed_[k]].what == GivenStart::What::value) {
        row = tableau_.rate_value(std::span(z_).first(n_), prescribed_[k]) - given_[prescribed_[k]].value;
      } else {
        row = z_[n_ + k];
        if (inverse_step_ > 0.0)
          row -= inverse_step_ * (tableau_.rate_value(std::span(z_).first(n_), k) - anchor_states_[k]);
      }
    }
    for (std::size_t k = 0; k < forced_.size(); ++k) {
      f[forced_[k].column] += z_[first_forced_ + k];
      f[first_forced_ + k] = z_[forced_[k].column] - forced_[k].value;
    }
    for (std::int32_t c = 0; c < system_.node_columns; ++c)
      f[c] += gmin_ * (z_[c] - (anchor_.empty() ? 0.0 : anchor_[c]));
    if (source_ < 1.0)
      for (std::int32_t i = 0; i < total_; ++i) f[i] -= (1.0 - source_) * offset_[i];
  }

  bool factor() {
    const std::span<const double> limits = exact_ ? std::span<const double>() : limits_;
    tableau_.jacobian(std::span(z_).first(n_), std::span(z_).subspan(n_), t_, limits, by_x_, by_rate_);
    std::vector<double> values(pattern_.nonzeros(), 0.0);
    std::size_t at = 0;
    const auto put = [&](double v) {
      if (position_[at] >= 0) values[position_[at]] += v;
      ++at;
    };
    for (double v : by_x_) put(v);
    for (double v : by_rate_) put(v);
    const ExprMap<double> point = conditions_.empty() ? ExprMap<double>() : numbers_at_point();
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
      if (const StartCondition* c = condition_of(k)) {
        for (const auto& [column, slope] : c->slopes) put(near(*c) ? 0.0 : evaluate(slope, point));
        put(near(*c) ? 1.0 : 0.0);
        put(near(*c) ? -1.0 : 0.0);
      } else if (redundant_of_[k] >= 0) {
        put(1.0);
        for (const auto& term : storage_.redundant[redundant_of_[k]].terms)
          if (term.rate >= 0) put(-term.sign);
      } else if (given_[prescribed_[k]].what == GivenStart::What::value) {
        put(1.0);
        put(-1.0);
      } else {
        put(1.0);
      }
    }
    for (std::size_t k = 0; k < 2 * forced_.size(); ++k) put(1.0);
    for (std::int32_t c = 0; c < system_.node_columns; ++c) put(gmin_);
    for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
      if (is_steady(k)) put(-inverse_step_), put(inverse_step_);
    if (factored_ && values == values_) return true;  // linear: nothing has changed
    values_.swap(values);
    factored_ = lu_->factor(values_);
    return factored_;
  }

  // Every residual is what rounding leaves of its terms: variables that should be zero never settle where
  // large ones cancel.
  bool is_rounding(const std::vector<double>& f, double part) const {
    std::vector<double> terms(total_, 0.0);
    for (std::int32_t column = 0; column < pattern_.size; ++column)
      for (std::int32_t at = pattern_.column_start[column]; at < pattern_.column_start[column + 1]; ++at)
        terms[pattern_.row[at]] += std::abs(values_[at] * z_[column]);
    for (std::int32_t i = 0; i < total_; ++i)
      if (std::abs(f[i]) > part * terms[i]) return false;
    return true;
  }

  // Conductances to the datum, from large to none, by smaller factors where Newton fails.
  bool lower_gmin() {
    double gmin = 1.0, factor = 10.0;
    std::optional<double> last;
    std::vector<double> z, limits;
    while (factor > 1.05 && gmin > 1e-13) {
      gmin_ = gmin;
      if (newton(60)) {
        last = gmin;
        z = z_, limits = limits_;
        factor = std::min(10.0, factor * factor);
      } else {
        if (!last) break;
        z_ = z, limits_ = limits;
        factor = std::sqrt(factor);
      }
      gmin = *last / factor;
    }
    gmin_ = 0.0;
    return gmin <= 1e-13 && newton(60);
  }

  // Sources from zero: F(z) - (1 - s) F(0) vanishes at z = 0 for s = 0.
  bool raise_sources() {
    std::fill(z_.begin(), z_.end(), 0.0);
    std::fill(limits_.begin(), limits_.end(), 0.0);
    offset_.assign(total_, 0.0);
    residual(offset_);
    if (!std::all_of(offset_.begin(), offset_.end(), [](double v) { return std::isfinite(v); })) return false;
    double done = 0.0, stride = 0.1;
    while (done < 1.0 && stride > 1e-5) {
      const auto last = z_, last_limits = limits_;
      source_ = std::min(1.0, done + stride);
      if (newton(40)) {
        done = source_;
        stride *= 1.5;
      } else {
        z_ = last, limits_ = last_limits;
        stride *= 0.25;
      }
    }
    source_ = 1.0;
    return done >= 1.0;
  }

  // In time: storage moves on by backward Euler from the guess, and every node has a small capacitance, with
  // steps that grow without end. What swings is damped by long steps.
  bool settle_in_time() {
    constexpr int most_steps = 1000;
    constexpr double capacitance = 1e-9, first = 1e9, least = 1e-6, most = 1e15;  // inverse steps
    double inverse = first;
    for (int k = 0; k < most_steps && inverse > least && inverse < most; ++k) {
      const auto last = z_, last_limits = limits_;
      inverse_step_ = inverse;
      gmin_ = capacitance * inverse;
      anchor_.assign(z_.begin(), z_.begin() + system_.node_columns);
      anchor_states_.resize(system_.rates.size());
      for (std::int32_t r = 0; r < tableau_.rate_count(); ++r)
        anchor_states_[r] = tableau_.rate_value(std::span(z_).first(n_), r);
      if (newton(20)) {
        inverse *= 0.5;
      } else {
        z_ = last, limits_ = last_limits;
        inverse *= 8.0;
      }
    }
    gmin_ = inverse_step_ = 0.0;
    anchor_.clear();
    return inverse <= least && newton(100);
  }

  bool newton(int most) {
    std::vector<double> f(total_), step;
    for (int iteration = 0; iteration < most; ++iteration) {
      ++iterations_;
      residual(f);
      const auto finite = [&] {
        return std::all_of(f.begin(), f.end(), [](double v) { return std::isfinite(v); });
      };
      // Too far: half of the way, and half again.
      for (int halvings = 0; halvings < 20 && !step.empty() && !finite(); ++halvings) {
        for (std::int32_t i = 0; i < total_; ++i) step[i] *= 0.5, z_[i] += step[i];
        residual(f);
      }
      const auto bad = std::find_if(f.begin(), f.end(), [](double v) { return !std::isfinite(v); });
      if (bad != f.end()) {
        const auto row = static_cast<std::int32_t>(bad - f.begin());
        why_ = {fmt::format("the {} has no finite value at t = {:g} s", equation(row), t_),
                hints(row,
                      "a division by zero, or an overflow: write the formula so that it has a value "
                      "there, with if() or max()"),
                {}};
        return false;
      }
      if (!factor()) {
        if (explain_) why_ = {"the equations are singular", {}, explain_singular(f)};
        return false;
      }
      step = f;
      lu_->solve(step.data());
      double longest = 0.0;
      for (std::int32_t c = 0; c < system_.node_columns; ++c) longest = std::max(longest, std::abs(step[c]));
      const double share = longest > longest_step_ ? longest_step_ / longest : 1.0;
      double largest = 0.0;
      std::int32_t which = 0;
      for (std::int32_t i = 0; i < total_; ++i) {
        step[i] *= share;
        const double size =
            i < n_ ? std::abs(step[i]) / (1e-3 * column_scale(system_, i) + std::abs(z_[i])) : 0.0;
        if (!(size <= largest)) largest = size, which = i;
        z_[i] -= step[i];
      }
      if (!std::isfinite(largest)) {
        why_ = {fmt::format("{} grows without bound", described(which)), {}, {}};
        return false;
      }
      // A node that nothing but gmin holds moves with every rounding error.
      const double part = iteration < 30 ? 1e-14 : 1e-11;
      if (share == 1.0 && tableau_.limited_by() < 1e-6 &&
          (largest <= 1e-9 || (largest <= 1e-3 && is_rounding(f, part))))
        return true;
      const auto worst =
          std::max_element(f.begin(), f.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
      const auto row = static_cast<std::int32_t>(worst - f.begin());
      why_ = {
          fmt::format("Newton's iteration does not settle; largest residual {:.3g} in the {}",
                      std::abs(*worst), equation(row)),
          hints(row, fmt::format("the largest change is in {}: these equations may have no solution, or one "
                                 "far from the first guess; give values nearer to it in [initial]",
                                 described(which))),
          {}};
    }
    return false;
  }

  InitialState finish() {
    InitialState state;
    state.x.assign(z_.begin(), z_.begin() + n_);
    state.rates.assign(z_.begin() + n_, z_.begin() + first_forced_);
    std::vector<Fault> faults;
    for (const RedundantRate& r : storage_.redundant) {
      const GivenStart& g = given_[r.rate];
      const double value = tableau_.rate_value(state.x, r.rate);
      if (g.what != GivenStart::What::value || !g.by_user) continue;
      if (std::abs(value - g.value) <= 1e-6 * (std::abs(value) + std::abs(g.value)) + 1e-12) continue;
      const Rate& rate = system_.rates[r.rate];
      const Component& c = system_.model->components[system_.groups[rate.group].components[rate.member]];
      std::string others;
      for (const auto& term : r.terms) {
        // A state, or a source: each with the line of its component.
        const bool state = term.rate >= 0;
        const Rate& of = system_.rates[state ? term.rate : r.rate];
        const int component = state ? system_.groups[of.group].components[of.member]
                                    : system_.graph.edges[term.source.value].component;
        others += fmt::format("{}'{}' (line {})", others.empty() ? "" : ", ",
                              term.source.value >= 0 ? edge_name(*system_.model, system_.graph, term.source)
                                                     : rate_name(system_, term.rate),
                              system_.model->components[component].place.line);
      }
      const bool across = system_.groups[rate.group].symbols[rate.symbol].what == LocalSymbol::What::across;
      faults.push_back(
          {c.place,
           "T301",
           fmt::format("initial value of {} contradicts the network", rate_name(system_, r.rate)),
           {fmt::format("given {:g}, but {} {} makes it {:g}", g.value,
                        across ? "the circuit it forms with" : "its node or cutset with", others, value),
            fmt::format("give consistent values, leave this one out, or put a resistance in {} so that each "
                        "keeps its "
                        "own",
                        across ? "series" : "parallel")}});
    }
    if (!faults.empty()) throw ModelError(std::move(faults));
    return state;
  }

  Tableau& tableau_;
  const EquationSystem& system_;
  const Storage& storage_;
  std::vector<GivenStart> given_;
  std::vector<StartCondition> conditions_;
  std::vector<ForcedNode> forced_;        // after the rates: what flows into each of these nodes
  std::vector<std::int32_t> prescribed_;  // per state: the rate whose given value its row holds
  std::int32_t n_ = 0, first_forced_ = 0, total_ = 0;
  double t_ = 0.0;
  std::int64_t iterations_ = 0;
  SparsePattern pattern_, structure_;  // with and without the entries of gmin
  std::unique_ptr<SparseLu> lu_;
  std::vector<std::int32_t> position_;
  std::vector<int> redundant_of_;
  std::vector<double> source_rate_, z_, limits_, values_, by_x_, by_rate_, offset_;
  double gmin_ = 0.0, source_ = 1.0;
  double longest_step_ =
      std::numeric_limits<double>::infinity();  // of across variables, in Newton's iteration
  std::vector<double> anchor_, anchor_states_;  // where gmin leads to (empty: to zero), and states were
  double inverse_step_ = 0.0;                   // of states that end steady
  bool factored_ = false, explain_ = false, held_near_ = false;
  bool sources_rest_ = false;  // their slopes do not enter: a steady state
  bool exact_ = false;         // exponentials as they are, not as limited in the last iteration
  Why why_;
};

InitialState find_initial_state(Tableau& tableau, const Storage& storage) {
  const EquationSystem& system = tableau.system();
  const auto forced = forced_nodes(system);
  InitialProblem problem(tableau, storage, forced);
  ColumnFormulas updates(system, update_expressions(system));
  std::vector<double> held(tableau.held().begin(), tableau.held().end()), next(held.size());
  bool sampled = false;
  std::vector<double> x_sampled;
  // Imported FMUs begin with the inputs that their own outputs lead to; where both go round in a circle, with
  // what that has come to.
  constexpr std::size_t fmu_rounds = 20;
  FmuBlocks fmus(system);
  if (!fmus.empty()) {
    fmus.initialize(held, held);
    tableau.hold(held);
  }
  // Each round settles at least one variable, unless they drive each other in a circle. Those with a sample
  // time are taken over once and together, when the others have settled: a sampled sum must not add up twice.
  for (std::size_t round = 0;; ++round) {
    InitialState state = problem.solve();
    if (problem.is_first_of_two()) {
      state.x_before = state.x;
      state.rates_before = state.rates;
      Reinitialisation from_states(tableau, storage);
      try {
        if (!from_states.find(0.0, state)) from_states.find_afresh(0.0, state);
      } catch (const SimulationError& error) {
        throw SimulationError(
            fmt::format("{} ({})",
                        forced.empty()
                            ? "no consistent initial values were found from the steady states"
                            : "no consistent initial values were found once the given nodes were released",
                        error.what()),
            0.0, error.details);
      }
    }
    updates.evaluate(state.x, 0.0, next.data());
    const auto take = [&](bool with_sample_time) {
      std::vector<double> values = held;
      for (std::size_t k = 0; k < held.size(); ++k)
        if ((system.discrete[k].every > 0.0) == with_sample_time) values[k] = next[k];
      return values;
    };
    std::vector<double> taken = take(false);
    if (taken == held && !std::exchange(sampled, true)) {
      taken = take(true);
      x_sampled = state.x;
    }
    if (sampled && round < fmu_rounds) fmus.initialize(next, taken);
    if (taken == held) {
      state.held = std::move(held);
      state.x_sampled = std::move(x_sampled);
      return state;
    }
    if (round > 20 + held.size()) {
      std::string names;
      for (std::size_t k = 0; k < held.size(); ++k)
        if (taken[k] != held[k]) names += (names.empty() ? "'" : ", '") + system.discrete[k].name + "'";
      throw SimulationError(
          fmt::format("discrete variables do not settle at t = 0: {} change again and again", names), 0.0);
    }
    held = std::move(taken);
    tableau.hold(held);
  }
}

Reinitialisation::Reinitialisation(Tableau& tableau, const Storage& storage)
    : problem_(std::make_unique<InitialProblem>(tableau, storage)) {}
Reinitialisation::~Reinitialisation() = default;
bool Reinitialisation::find(double t, InitialState& state) { return problem_->solve_from(t, state); }
void Reinitialisation::find_afresh(double t, InitialState& state) { problem_->solve_afresh(t, state); }

SolutionAfresh::SolutionAfresh(Tableau& tableau, const Storage& storage)
    : problem_(std::make_unique<InitialProblem>(tableau, storage)) {}
SolutionAfresh::~SolutionAfresh() = default;
void SolutionAfresh::find(double t, std::span<const double> values, InitialState& state) {
  problem_->solve_afresh(t, values, state);
}
std::int64_t Reinitialisation::iterations() const { return problem_->iterations(); }

ConsistentDirections::ConsistentDirections(Tableau& tableau, const Storage& storage, At at)
    : problem_(at == At::start
                   ? std::make_unique<InitialProblem>(tableau, storage, forced_nodes(tableau.system()))
                   : std::make_unique<InitialProblem>(tableau, storage)),
      at_(at) {}
ConsistentDirections::~ConsistentDirections() = default;
ConsistentDirections::ConsistentDirections(ConsistentDirections&&) noexcept = default;
bool ConsistentDirections::is_first_of_two() const { return problem_->is_first_of_two(); }
bool ConsistentDirections::factor(const InitialState& state, double t) {
  return problem_->factor_at(t, state);
}
std::int32_t ConsistentDirections::size() const { return problem_->total(); }
bool ConsistentDirections::is_state(std::int32_t rate) const { return problem_->takes_state(rate); }
void ConsistentDirections::solve(std::span<double> b) const { problem_->lu().solve(b.data()); }
void ConsistentDirections::solve_transposed(std::span<double> b) const {
  problem_->lu().solve_transposed(b.data());
}
std::vector<DerivativeEntry> ConsistentDirections::rate_entries(std::span<const int> wrt, double t) const {
  return problem_->rate_entries(wrt, t, at_ == At::start);
}

}  // namespace tellegen
