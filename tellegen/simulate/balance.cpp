#include "tellegen/simulate/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tellegen/model/observers.h"
#include "tellegen/model/reading.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/network_integrator.h"

namespace tellegen {
namespace {

constexpr std::int32_t largest_in_rows = 2000;  // columns; beyond, energies in every row would be felt

std::string joules(double energy) {
  const double size = std::abs(energy);
  if (size >= 1e6) return fmt::format("{:.4g} MJ", energy * 1e-6);
  if (size >= 1e3) return fmt::format("{:.4g} kJ", energy * 1e-3);
  if (size >= 1.0 || size == 0.0) return fmt::format("{:.4g} J", energy);
  if (size >= 1e-3) return fmt::format("{:.4g} mJ", energy * 1e3);
  return fmt::format("{:.4g} uJ", energy * 1e6);
}

std::string percent(double fraction) { return fmt::format("{:.2g} %", 100.0 * fraction); }

// One component as the account sees it.
class ComponentEnergy {
 public:
  ComponentEnergy(const EquationSystem& system, int component)
      : system_(system),
        model_(*system.model),
        component_(component),
        kind_(model_.kinds[model_.components[component].kind]) {}

  bool has_state() const {
    const int g = system_.group_of[component_];
    return g >= 0 && !system_.groups[g].rated.empty();
  }
  bool stores() const { return kind_.energy && !kind_.energy.is_number(0) && has_state(); }
  bool is_source() const {
    if (kind_.energy || kind_.edges.empty() || counts_magnetic()) return false;
    if (kind_.fixes_node && !is("thermal", 0)) return false;
    for (std::size_t e = 0; e < kind_.edges.size(); ++e)
      if (const EdgeClass of = edge(e).edge_class;
          of == EdgeClass::across_source || of == EdgeClass::through_source)
        return true;
    return false;
  }
  // Whether the energy follows from states alone, and all that changes it goes through edges.
  bool known() const {
    if (!kind_.energy || counts_magnetic()) return false;
    const auto symbols = symbols_of(std::span(&kind_.energy, 1));
    for (std::size_t p = 0; p < kind_.parameters.size(); ++p)
      if (!model_.components[component_].values[p].constant &&
          !kind_.parameters[p].name.starts_with('~') &&  // of a mechanism, which knows
          std::any_of(symbols.begin(), symbols.end(),
                      [&](Expr s) { return s.name() == kind_.parameters[p].name; }))
        return false;
    return true;
  }
  // A heat capacity whose other end is a node (of the surroundings) takes its heat up all the same; what then
  // seems to arrive there is no sink's.
  bool between_nodes() const { return kind_.edges.size() == 1 && is("thermal", 0) && !at_datum(0); }
  // Into the component, over all its edges.
  Expr power() const {
    Pool& pool = *model_.pool;
    std::vector<Expr> terms;
    for (std::size_t e = 0; e < kind_.edges.size(); ++e) {
      const GraphEdge& at = edge(e);
      const auto from = system_.node_column(at.from), to = system_.node_column(at.to);
      const Expr through = column_symbol(
          system_,
          system_.through_column(EdgeIndex{system_.graph.first_edge[component_] + static_cast<int>(e)}));
      if (is("thermal", e)) {
        // A storage takes up heat where its kind says so, wherever its ports are joined to; what else ends on
        // the datum is lost there.
        const bool comes = stores() ? kind_.edges[e].to < 0 || kind_.edges.size() == 1 : to < 0;
        const bool goes = stores() ? kind_.edges[e].from < 0 : from < 0;
        if (comes != goes) terms.push_back(goes ? -through : through);
      } else if (from != to) {
        const Expr zero = pool.number(0);
        terms.push_back(((from < 0 ? zero : column_symbol(system_, from)) -
                         (to < 0 ? zero : column_symbol(system_, to))) *
                        through);
      }
    }
    if (kind_.loss) terms.push_back(-in_columns(system_, in_full_names(model_, component_, kind_.loss)));
    return terms.empty() ? pool.number(0) : pool.add(terms);
  }
  Expr energy() const { return in_full_names(model_, component_, kind_.energy); }  // in full names
  // What goes to and fro within it, as between the bodies of a mechanism; empty: nothing that is known.
  Expr exchanged_within() const {
    for (std::size_t p = 0; p < kind_.parameters.size(); ++p)
      if (kind_.parameters[p].name == "~exchanged")
        return in_columns(system_, model_.components[component_].values[p].value);
    return {};
  }
  const std::string& name() const { return model_.components[component_].name; }
  bool is_plain() const { return (!kind_.edges.empty() || kind_.energy) && !is_observer(kind_); }

 private:
  const GraphEdge& edge(std::size_t e) const {
    return system_.graph.edges[static_cast<std::size_t>(system_.graph.first_edge[component_]) + e];
  }
  bool is(std::string_view domain, std::size_t e) const {
    return model_.domains[kind_.edges[e].domain].name == domain;
  }
  bool at_datum(std::size_t e) const {
    return system_.node_column(edge(e).from) < 0 || system_.node_column(edge(e).to) < 0;
  }
  bool counts_magnetic() const {
    for (std::size_t e = 0; e < kind_.edges.size(); ++e)
      if (is("magnetic", e)) return true;
    return false;
  }
  const EquationSystem& system_;
  const Model& model_;
  const int component_;
  const Kind& kind_;
};

// Of an edge whose through follows from the rate of its across, at the start; 0 of others.
double capacity_of(const EquationSystem& system, std::int32_t component, int edge) {
  const int index = system.group_of[component];
  if (index < 0) return 0.0;
  const Group& group = system.groups[index];
  const std::int32_t member = system.member_of[component];
  Expr through, rate;
  for (const LocalSymbol& s : group.symbols) {
    if (s.what == LocalSymbol::What::through && s.index == edge) through = s.symbol;
    if (s.what == LocalSymbol::What::across && s.index == edge) rate = s.rate;
  }
  if (!through || !rate) return 0.0;
  for (Expr residual : group.residuals) {
    const Expr by_through = derivative(residual, through), by_rate = derivative(residual, rate);
    if (by_through.is_number(0) || by_rate.is_number(0)) continue;
    const Expr capacity = by_rate / by_through;
    ExprMap<double> at;
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      at[group.parameters[p]] = group.values[p][member];
    const auto symbols = symbols_of(std::span(&capacity, 1));
    if (std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return !at.contains(s); })) return 0.0;
    return std::abs(evaluate(capacity, at));
  }
  return 0.0;
}

// Keeps totals beside a network's steps by the formula of each.
class NetworkTotals : public StepListener {
 public:
  NetworkTotals(const Problem& problem, std::int64_t steps)
      : formulas_(*problem.system, with_energy(problem)),
        end_(problem.step * static_cast<double>(steps) * (1 - 1e-9)),
        x_(problem.system->size()),
        now_(formulas_.size()) {
    const auto all = with_energy(problem);
    for (Expr s : symbols_of(all))
      if (s.name() != "t") columns_.push_back(static_cast<std::int32_t>(std::stol(s.name().substr(1))));
    for (auto& values : value_) values.assign(problem.totals.size(), 0.0);
    rate_ = problem.totals_start;
    totals.steps = steps;
    totals.rows = steps / problem.stride;
  }
  void stepped(NetworkStep& step, const Scheme& scheme, double t, double length) override {
    if (done_) return;
    if (!step.knows_columns()) step.want_columns(columns_);
    step.columns(x_);
    formulas_.evaluate(x_, t, now_.data());
    for (std::size_t k = 0; k < rate_.size(); ++k) {
      const double history = scheme.past[0] * value_[0][k] + scheme.past[1] * value_[1][k] +
                             scheme.past[2] * value_[2][k] + scheme.past_rate * rate_[k];
      for (int age : {3, 2, 1}) value_[age][k] = value_[age - 1][k];
      value_[0][k] = (now_[k] - history) / scheme.alpha;
      rate_[k] = now_[k];
    }
    before_last_ = std::exchange(last_, now_.back() * length);
    exchanged_ += last_;
    if (t < end_) return;
    done_ = true;
    totals.values = value_[0];
    totals.stored = now_[now_.size() - 2];
    totals.exchanged = exchanged_;
  }
  void staged() override {
    exchanged_ -= sdirk_node * before_last_ + (1 - sdirk_node) * last_;
    for (int age : {1, 2}) value_[age].swap(value_[age + 1]);
  }
  void updated(double, std::span<const int>, std::span<const double>, std::span<const double>,
               bool) override {}
  Totals totals;

 private:
  static std::vector<Expr> with_energy(const Problem& problem) {
    std::vector<Expr> all = problem.totals;
    all.push_back(problem.stored);
    all.push_back(problem.exchanged);
    return all;
  }
  ColumnFormulas formulas_;
  double end_, exchanged_ = 0.0, last_ = 0.0, before_last_ = 0.0;
  bool done_ = false;
  std::vector<std::int32_t> columns_;
  std::vector<double> x_, now_, value_[4], rate_;
};

class FollowedNetwork : public Integrator {
 public:
  FollowedNetwork(const Problem& problem, Network network, std::int64_t steps)
      : totals_(problem, steps), inner_(problem, std::move(network), &totals_) {}
  std::int64_t advance(std::int64_t samples, double* rows) override { return inner_.advance(samples, rows); }
  void set_input(int input, double value) override { inner_.set_input(input, value); }
  std::optional<double> ended() const override { return inner_.ended(); }
  std::string failure() const override { return inner_.failure(); }
  Statistics statistics() const override { return inner_.statistics(); }
  Totals totals() const override { return totals_.totals; }

 private:
  NetworkTotals totals_;
  NetworkIntegrator inner_;
};

}  // namespace

std::unique_ptr<Integrator> followed_network(const Problem& problem, Network network) {
  const std::int64_t followed = followed_steps_of_network(problem);
  return std::make_unique<FollowedNetwork>(problem, std::move(network), followed);
}

double balance_bound(const SimulationOptions& options) {
  const MethodTraits& traits = traits_of(options.method);
  if (traits.steps == MethodTraits::Steps::variable) return std::clamp(1000 * options.tolerance, 1e-3, 1e-2);
  return traits.order == 1 ? 0.05 : 0.01;
}

double power_bound(const SimulationOptions&) { return 1e-6; }
constexpr double at_rest = 1e-7;  // in units of flow

EnergyAccount::EnergyAccount(const EquationSystem& system, bool by_component)
    : system_(system), by_component_(by_component) {
  const Model& model = *system.model;
  Pool& pool = *model.pool;
  std::vector<Expr> energies;
  for (int c = 0; c < static_cast<int>(model.components.size()); ++c) {
    const ComponentEnergy component(system, c);
    if (!component.is_plain()) continue;
    if (component.is_source()) sources_.push_back(component.power());
    if (component.stores() && component.known()) {
      stores_.push_back({component.name(), component.power(), {}});
      if (component.between_nodes()) sources_.push_back(-stores_.back().power);
      energies.push_back(component.energy());
      if (by_component) stores_.back().energy = in_columns(system, energies.back());
    } else if (component.stores() ||
               (component.has_state() && !model.kinds[model.components[c].kind].energy)) {
      unknown_.push_back(component.name());
    }
  }
  if (by_component)
    for (const Store& store : stores_) energies_.push_back(store.energy);
  else if (!stores_.empty())
    energies_.push_back(in_columns(system, pool.add(energies)));
  add_powers(system);
}

// Sums over the edges of each domain in which there are two at least.
void EnergyAccount::add_powers(const EquationSystem& system) {
  Pool& pool = *system.model->pool;
  const Model& model = *system.model;
  const auto value = [&](std::int32_t column) {
    return column < 0 ? pool.number(0) : column_symbol(system, column);
  };
  for (std::size_t d = 0; d < model.domains.size(); ++d) {
    std::vector<Expr> powers, sizes;
    std::vector<std::int32_t> columns;
    std::vector<Storage> storages;
    for (std::int32_t e = 0; e < system.graph.edge_count(); ++e) {
      const GraphEdge& edge = system.graph.edges[e];
      const Kind& kind = model.kinds[model.components[edge.component].kind];
      if (kind.edges[edge.edge].domain != static_cast<int>(d)) continue;
      const Expr power = (value(system.node_column(edge.from)) - value(system.node_column(edge.to))) *
                         value(system.through_column(EdgeIndex{e}));
      powers.push_back(power);
      sizes.push_back(pool.call("abs", {power}));
      if (const double capacity = capacity_of(system, edge.component, edge.edge); capacity > 0.0)
        storages.push_back({system.node_column(edge.from), system.node_column(edge.to), capacity});
      for (const NodeIndex node : {edge.from, edge.to})
        if (const std::int32_t column = system.node_column(node); column >= 0) columns.push_back(column);
    }
    if (powers.size() < 2) continue;
    domains_.push_back(model.domains[d].name);
    potentials_.push_back(std::move(columns));
    storages_.push_back(std::move(storages));
    sums_.push_back(pool.add(powers));
    sums_.push_back(pool.add(sizes));
  }
}

void EnergyAccount::add_to(Problem& problem, bool powers) {
  Pool& pool = *system_.model->pool;
  first_output_ = problem.outputs.size();
  powers_ = powers && system_.size() <= largest_in_rows;
  if (!stores_.empty()) {
    std::vector<Expr> sources = sources_, sizes;
    for (int c = 0; c < static_cast<int>(system_.model->components.size()); ++c)
      if (const Expr within = ComponentEnergy(system_, c).exchanged_within()) sizes.push_back(within);
    for (Expr& p : sources) {
      sizes.push_back(pool.call("abs", {p}));
      p = -p;
    }
    std::vector<Expr> into;
    for (const Store& store : stores_) {
      into.push_back(store.power);
      sizes.push_back(pool.call("abs", {store.power}));
    }
    problem.totals = {sources.empty() ? pool.number(0) : pool.add(sources)};
    if (by_component_)
      problem.totals.insert(problem.totals.end(), into.begin(), into.end());
    else
      problem.totals.push_back(pool.add(into));
    problem.totals_start.resize(problem.totals.size());
    ColumnFormulas(system_, problem.totals)
        .evaluate(problem.initial.x, just_after_start, problem.totals_start.data());
    problem.stored = pool.add(energies_);
    // An explicit step keeps nothing beside its rows.
    energy_in_rows_ = system_.size() <= largest_in_rows || problem.options.method == "rk4";
    problem.exchanged = pool.add(sizes);
    if (energy_in_rows_) {
      problem.outputs.insert(problem.outputs.end(), energies_.begin(), energies_.end());
      problem.outputs.push_back(problem.exchanged);
    }
  }
  if (powers_) problem.outputs.insert(problem.outputs.end(), sums_.begin(), sums_.end());
  problem.followed_outputs = problem.outputs.size() - first_output_;
}

// What the rounding of potentials can leave of a domain's powers: a flow of capacity * change / step is known
// to a last digit of the potentials at its ends, and counts by these.
double EnergyAccount::rounding(const Problem& problem, std::size_t domain) const {
  const MethodTraits& traits = traits_of(problem.options.method);
  if (traits.steps != MethodTraits::Steps::fixed || traits.formula == MethodTraits::Formula::none) return 0.0;
  constexpr double steepest = 4.0;  // times the rate over one step: more than any formula has
  constexpr double last_digit = 0x1p-53;
  double sum = 0.0;
  for (const Storage& s : storages_[domain]) {
    double level = 0.0;
    for (const std::int32_t column : {s.from, s.to})
      if (column >= 0) level += std::abs(problem.initial.x[column]);
    sum += level * level * last_digit * s.capacity * steepest / problem.step;
  }
  return sum;
}

EnergyBalance EnergyAccount::balance(const Problem& problem, const Integrator& integrator,
                                     std::span<const double> rows, std::span<const double> t) const {
  EnergyBalance result;
  result.unknown = unknown_;
  result.bound = balance_bound(problem.options);
  result.power_bound = power_bound(problem.options);
  const std::size_t width = problem.outputs.size();
  const auto at = [&](std::size_t row, std::size_t output) { return rows[row * width + output]; };

  const Totals totals = integrator.totals();
  const std::size_t known =
      totals.rows < 0 ? t.size() : std::min(t.size(), static_cast<std::size_t>(totals.rows) + 1);
  if (powers_ && !sums_.empty() && known > 1) {
    result.power_checked = true;
    const std::size_t first = width - sums_.size();
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      double size = 0.0, largest = 0.0, when = 0.0;
      for (std::size_t row = 1; row < known; ++row) {
        size = std::max(size, at(row, first + 2 * d + 1));
        if (const double sum = std::abs(at(row, first + 2 * d)); sum > largest) largest = sum, when = t[row];
      }
      // A network at rest has flows of rounding, by the size of its potentials.
      double rest = 0.0;
      for (std::int32_t column : potentials_[d])
        rest = std::max(rest, at_rest * std::abs(problem.initial.x[column]));
      if (size <= rest || largest <= rounding(problem, d) || largest / size <= result.power_error) continue;
      result.power_error = largest / size;
      result.power_error_at = when;
      result.power_error_domain = domains_[d];
    }
  }

  if (stores_.empty()) {
    result.reason = system_.rates.empty() ? "nothing stores energy"
                    : unknown_.empty()    ? "nothing stores energy but magnetic fields, which are not counted"
                                          : "no energy of a storage is known";
    return result;
  }
  if (totals.values.empty()) {
    result.reason = traits_of(problem.options.method).steps == MethodTraits::Steps::samples
                        ? "method exact takes no steps that could be wrong"
                        : "the run ended before anything was summed up";
    return result;
  }
  const std::size_t row =
      totals.steps < 0 ? t.size() - 1 : static_cast<std::size_t>(totals.steps / problem.stride);
  if (row >= t.size() || row == 0) {
    result.reason = "the run ended before anything was summed up";
    return result;
  }
  result.checked = true;
  result.until = t[row];
  result.to_the_end = row + 1 == t.size();
  result.delivered = totals.values[0];
  const std::size_t count = totals.values.size() - 1;
  // The yardstick needs no more than what the rows show.
  if (totals.exchanged) {
    result.exchanged = *totals.exchanged;
  } else {
    for (std::size_t k = 1; k <= row; ++k) {
      const std::size_t output = first_output_ + count;
      result.exchanged += 0.5 * (at(k - 1, output) + at(k, output)) * (t[k] - t[k - 1]);
    }
  }
  std::vector<double> start(energies_.size());
  ColumnFormulas(system_, energies_).evaluate(problem.initial.x, 0.0, start.data());
  double level = 0.0;
  for (std::size_t k = 0; k < count; ++k) {
    result.flown_in += totals.values[1 + k];
    double end = 0.0;
    if (energy_in_rows_)
      end = at(row, first_output_ + k);
    else if (count == 1 && totals.stored)
      end = *totals.stored;
    result.stored += end - start[k];
    level += std::abs(end) + std::abs(start[k]);
    if (by_component_ || stores_.size() == 1)
      result.shares.push_back({stores_[k].name, end - start[k], totals.values[1 + k]});
  }
  std::stable_sort(result.shares.begin(), result.shares.end(),
                   [](const EnergyShare& a, const EnergyShare& b) {
                     return std::abs(a.stored - a.flown_in) > std::abs(b.stored - b.flown_in);
                   });
  // Rows in step with pulses may show none of them: no less was exchanged than went somewhere.
  result.exchanged = std::max(
      {result.exchanged, std::abs(result.delivered), std::abs(result.flown_in), std::abs(result.stored)});
  // What rounding leaves of the energies themselves is no error.
  const double scale = result.exchanged + 1e-9 * level;
  result.error = scale > 0.0 ? std::abs(result.flown_in - result.stored) / scale : 0.0;
  return result;
}

std::string EnergyBalance::brief() const {
  std::string text = "energy balance: ";
  if (checked && !to_the_end) text = fmt::format("energy balance until t = {:.6g} s: ", until);
  if (checked) {
    text += fmt::format(
        "{} delivered by sources, {} stored, {} dissipated or converted; it closes to {} of the {} exchanged",
        joules(delivered), joules(stored), joules(delivered - flown_in), percent(error), joules(exchanged));
  } else {
    text += "not checked, " + reason;
  }
  return text;
}

bool EnergyBalance::closes() const {
  // Where much is exchanged and little is lost, a small part of the one is a large part of the other.
  const bool spoils_losses =
      error > 0.2 * bound && std::abs(flown_in - stored) > 0.5 * std::abs(delivered - flown_in);
  return error <= bound && !spoils_losses;
}

std::string EnergyBalance::warning() const {
  std::string text;
  if (checked && !closes()) {
    text = fmt::format(
        "the energy balance does not close: {} flowed into storages and {} is stored, a difference of {} of "
        "the "
        "energy exchanged until t = {:.6g} s (bound {})",
        joules(flown_in), joules(stored), percent(error), until, percent(bound));
    if (!shares.empty())
      text += fmt::format("; the largest share is that of '{}': {} flowed in, {} is stored",
                          shares[0].component, joules(shares[0].flown_in), joules(shares[0].stored));
    text += "; shorten the step, or compare with --verify";
  }
  if (power_checked && !(power_error <= power_bound)) {
    if (!text.empty()) text += "\nwarning: ";
    text += fmt::format(
        "the powers of the {} edges add up to {} of their magnitudes at t = {:.6g} s: the network's "
        "equations are "
        "not solved there",
        power_error_domain, percent(power_error), power_error_at);
  }
  return text;
}

}  // namespace tellegen
