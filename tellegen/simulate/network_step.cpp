#include "tellegen/simulate/network_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/equations/explain.h"
#include "tellegen/simulate/discrete.h"

namespace tellegen {
namespace {

// In the tiniest steps to an event differences of values are mostly rounding.
double rounding_floor_of(const Scheme& scheme, double step) {
  return rounding_floor * std::max(1.0, 1e-5 * scheme.alpha * step);
}

}  // namespace

NetworkStep::NetworkStep(const Network& network, const Storage& storage, const Scheme& scheme,
                         std::span<const Expr> outputs, const StepState& state, const StepOptions& options)
    : network_(network),
      system_(*network.system),
      storage_(storage),
      scheme_(scheme),
      options_(options),
      pool_(*system_.model->pool) {
  PatternBuilder pattern(network.size());
  groups_.reserve(network.groups.size());
  for (std::size_t g = 0; g < network.groups.size(); ++g) build_group(g, pattern);
  lu_ = std::make_unique<SparseLu>(pattern.build());
  for (GroupStep& g : groups_)
    for (auto& stamp : g.stamps)
      for (std::int32_t& at : stamp.position) at = pattern.position(at);
  constant_tangent_ = !options.refactor;
  for (const GroupStep& g : groups_)
    for (const auto& stamp : g.stamps) constant_tangent_ = constant_tangent_ && stamp.constant;

  work_.assign(network.size() + source_count_ + 1, 0.0);
  set_order();
  place(state);
  right_.resize(network.size());
  prepare();
  if (singular_) throw SimulationError(singular_message(), 0.0);
  if (!constant_tangent_) {
    // Pivots and their memory now, at the start: steps only refactorise, unless these pivots go bad.
    for (GroupStep& g : groups_)
      for (int section : {1, 2}) g.batch.run(section, work_.data());
    assemble_and_factor();
  }

  const std::size_t asked = outputs.size() - options.followed_outputs;
  outputs_ = make_reader(outputs.first(asked));
  followed_ = make_reader(outputs.subspan(asked));
  if (options.events) updates_ = make_reader(update_expressions(system_));
  std::size_t most = 0;
  for (const GroupStep& g : groups_) most = std::max<std::size_t>(most, g.batch.program().registers);
  member_registers_.resize(most);

  if ((scheme.uses_rate || options.events) && options.project)
    for (const RedundantRate& r : storage.redundant) {
      std::vector<Expr> terms{r.drive ? r.drive : pool_.number(0)};
      for (const auto& term : r.terms)
        if (term.rate < 0)
          if (const Expr rate = source_rate(system_, term.source)) terms.push_back(term.sign * rate);
      const ProgramInput t{pool_.symbol("t"), 0};
      const ProgramRoot root{pool_.add(terms), 0};
      source_rates_.push_back(make_program(pool_, std::span(&t, 1), {}, std::span(&root, 1), 1));
      rate_registers_.resize(std::max<std::size_t>(rate_registers_.size(), source_rates_.back().registers));
    }
}

// What depends on parameters, the formula and discrete variables only.
void NetworkStep::prepare() {
  for (GroupStep& g : groups_) g.batch.run(0, work_.data());
  base_.assign(lu_->pattern().nonzeros(), 0.0);
  for (GroupStep& g : groups_)
    for (const auto& stamp : g.stamps)
      if (stamp.constant) {
        const double* values = g.batch.array(stamp.reg);
        for (std::int32_t m = 0; m < g.batch.members(); ++m)
          if (stamp.position[m] >= 0) base_[stamp.position[m]] += stamp.factor * values[m];
      }
  values_ = base_;
  if (!constant_tangent_) return;
  singular_ = !(prepared_ ? lu_->refactor(base_) : lu_->factor(base_));
  if (singular_) return;
  prepared_ = true;
  if (!options_.events && network_.size() > 0) solver_ = std::make_unique<RowSolver>(*lu_, sources_);
}

std::string NetworkStep::singular_message() const {
  if (!singular_) return "";
  const auto column = lu_->singular_column();
  return "the equations of a step are singular" +
         (column < 0 ? "" : ": not determined is " + column_name(system_, network_.column_of[column]));
}

// Each column is an unknown, or recovered from its component.
NetworkStep::Reader NetworkStep::make_reader(std::span<const Expr> expressions) const {
  Reader reader;
  std::vector<ProgramInput> inputs{{pool_.symbol("t"), 0}};
  for (Expr s : symbols_of(expressions)) {
    if (s.name() == "t") continue;
    inputs.push_back({s, 0});
    const auto column = static_cast<std::int32_t>(std::stol(s.name().substr(1)));
    Needed n;
    n.unknown = network_.unknown_of[column];
    if (n.unknown < 0) {
      const ColumnOwner owner = owner_of(system_, column);
      n.group = system_.group_of[owner.component];
      n.member = system_.member_of[owner.component];
      const GroupStep& g = groups_[n.group];
      n.reg = owner.node >= 0 ? g.node_register[owner.node] : g.symbol_register[owner.symbol];
    }
    reader.needed.push_back(n);
  }
  std::vector<ProgramRoot> roots;
  for (Expr e : expressions) roots.push_back({e, 0});
  reader.program = make_program(pool_, inputs, {}, roots, 1);
  reader.registers.resize(reader.program.registers);
  return reader;
}

void NetworkStep::set_scheme(const Scheme& scheme) {
  scheme_ = scheme;
  for (GroupStep& g : groups_) {
    g.batch.uniform(g.alpha) = scheme.alpha;
    for (int age = 0; age < 3; ++age) g.batch.uniform(g.past_factor + age) = scheme.past[age];
    g.batch.uniform(g.rate_factor) = scheme.past_rate;
  }
  prepare();
}

void NetworkStep::hold(std::span<const double> held) {
  bool factors = false;
  for (std::size_t k = 0; k < held.size(); ++k) {
    const Discrete& d = system_.discrete[k];
    double& value = groups_[d.group].batch.array(first_parameter_[d.group] + held_slot(system_, d))[d.member];
    factors = factors || (value != held[k] && !system_.groups[d.group].additive[d.held]);
    value = held[k];
  }
  if (factors) prepare();
}

void NetworkStep::build_group(std::size_t index, PatternBuilder& pattern) {
  const Group& group = system_.groups[index];
  const NetworkGroup& placed = network_.groups[index];
  const CondensedGroup& form = placed.form;
  std::vector<ProgramInput> inputs;
  std::vector<InputSource> sources;
  std::vector<std::pair<std::int32_t, double>> uniforms;
  const auto input = [&](Expr symbol, int section, InputSource source) {
    inputs.push_back({symbol, section});
    sources.push_back(source);
    return static_cast<std::int32_t>(inputs.size()) - 1;
  };
  const auto uniform = [&](const std::string& name, double value) {
    const Expr symbol = pool_.symbol(name);
    uniforms.push_back({input(symbol, 0, InputSource::uniform), value});
    return symbol;
  };
  Assignments list(pool_);
  std::vector<Expr> history_inputs;
  const std::int32_t alpha = input(form.alpha, 0, InputSource::uniform);
  uniforms.push_back({alpha, scheme_.alpha});
  const std::int32_t time = input(group.time, 1, InputSource::uniform);
  std::vector<Expr> past_factor;
  for (int age = 0; age < 3; ++age)
    past_factor.push_back(uniform(fmt::format("~past{}", age), scheme_.past[age]));
  const auto first_past_factor = static_cast<std::int32_t>(inputs.size()) - 3;
  const Expr rate_factor = uniform("~past_rate", scheme_.past_rate);
  const std::size_t first_parameter = inputs.size();
  for (Expr p : group.parameters) input(p, 0, InputSource::member);
  for (std::size_t k = 0; k < group.held.size(); ++k)
    if (group.additive[k]) inputs[first_parameter + group.held[k]].section = 1;
  std::vector<std::vector<std::int32_t>> past(group.rated.size());
  std::vector<std::int32_t> rate;
  for (std::size_t k = 0; k < group.rated.size(); ++k) {
    std::vector<Expr> terms;
    for (int age = 0; age < 3; ++age) {
      const Expr symbol = pool_.symbol(fmt::format("~d{}.{}", age, k));
      past[k].push_back(input(symbol, 1, InputSource::member));
      if (scheme_.past[age] != 0.0 || options_.events) terms.push_back(past_factor[age] * symbol);
    }
    const Expr rate_symbol = pool_.symbol(fmt::format("~r.{}", k));
    rate.push_back(input(rate_symbol, 1, InputSource::member));
    if (options_.events)
      terms.push_back(rate_factor * rate_symbol);
    else if (scheme_.uses_rate)
      terms.push_back(scheme_.past_rate * rate_symbol);
    list.assign(form.histories[k], pool_.add(terms));
  }
  std::vector<std::int32_t> iterates, previous;
  for (Expr s : form.iterates) iterates.push_back(input(s, 2, InputSource::member));
  for (const auto& x : form.exponentials) previous.push_back(input(x.previous, 2, InputSource::member));
  const std::size_t first_terminal = inputs.size();
  for (const Terminal& t : form.terminals) input(t.symbol, 3, InputSource::gather);
  for (const Definition& d : form.definitions) list.assign(d.symbol, d.value);

  // Roots, and after make_program their registers.
  std::vector<ProgramRoot> roots;
  const auto root = [&](Expr value, int section) {
    roots.push_back({value, section});
    return static_cast<std::int32_t>(roots.size()) - 1;
  };
  struct RootStamp {
    std::int32_t root;
    double factor;
    std::size_t row, terminal;
  };
  std::vector<RootStamp> stamps, constants;
  for (std::size_t r = 0; r < form.rows.size(); ++r) {
    const auto add = [&](std::vector<RootStamp>& to, Expr value, std::size_t terminal) {
      const Scaled scaled = split_coefficient(value);
      if (scaled.coefficient == 0.0) return;
      to.push_back({root(scaled.rest ? scaled.rest : pool_.number(1), 0), scaled.coefficient, r, terminal});
    };
    if (!form.rows[r].constant.is_number(0)) add(constants, form.rows[r].constant, 0);
    for (std::size_t t = 0; t < form.terminals.size(); ++t)
      if (form.rows[r].coefficients[t]) add(stamps, form.rows[r].coefficients[t], t);
  }
  std::vector<std::int32_t> new_value, new_rate, new_iterate, new_limited, change, symbols, nodes;
  for (std::size_t k = 0; k < group.rated.size(); ++k) {
    const Expr value = list.define(form.symbol_values[group.rated[k]]);
    new_value.push_back(root(value, 4));
    if (scheme_.uses_rate || options_.keep_all_past || options_.events)
      new_rate.push_back(root(form.alpha * value + form.histories[k], 4));
  }
  Expr largest;
  const auto add_change = [&](Expr e) {
    largest = largest ? pool_.call("max", {largest, list.define(e)}) : list.define(e);
  };
  for (std::size_t k = 0; k < form.iterated.size(); ++k) {
    const int s = form.iterated[k];
    const Expr value = list.define(form.symbol_values[s]);
    new_iterate.push_back(root(value, 3));
    if (std::find(form.nonlinear.begin(), form.nonlinear.end(), s) == form.nonlinear.end()) continue;
    const double scale = group.plus[s][0] >= 0 ? column_scale(system_, group.plus[s][0]) : 1.0;
    add_change(change_of_variable(value, form.iterates[k], scale, options_.tolerance));
  }
  for (const auto& x : form.exponentials) {
    new_limited.push_back(root(x.limited, 2));
    const Expr u = list.define(x.argument);
    add_change(change_of_exponential(u, x.limited, options_.tolerance));
  }
  if (largest) change.push_back(root(largest, 3));
  for (Expr v : form.symbol_values) symbols.push_back(root(v, recovery));
  for (Expr v : form.node_values) nodes.push_back(root(v, recovery));

  Program program = make_program(pool_, inputs, list.list(), roots, sections);
  const auto registers = [&](std::vector<std::int32_t>& list_of_roots) {
    for (std::int32_t& r : list_of_roots) r = program.roots[r];
  };
  std::vector<std::int32_t> exports;
  for (auto* l : {&new_value, &new_rate, &new_iterate, &new_limited, &change}) {
    registers(*l);
    exports.insert(exports.end(), l->begin(), l->end());
  }
  for (auto* l : {&symbols, &nodes}) {
    registers(*l);
    for (std::int32_t r : *l)
      if (program.section_of[r] != recovery || options_.record) exports.push_back(r);
  }
  for (auto* l : {&stamps, &constants})
    for (RootStamp& s : *l) exports.push_back(s.root = program.roots[s.root]);
  const auto section_of = program.section_of;
  for (const RootStamp& c : constants) iterate_drives_ = iterate_drives_ || section_of[c.root] >= 2;

  GroupStep step{Batch(std::move(program), std::move(sources), exports, group.size()),
                 past,
                 rate,
                 iterates,
                 previous,
                 new_value,
                 new_rate,
                 new_iterate,
                 new_limited,
                 change,
                 {},
                 symbols,
                 nodes,
                 time,
                 alpha,
                 first_past_factor,
                 first_past_factor + 3,
                 {}};
  for (std::int32_t reg : new_iterate) step.settled.push_back(section_of[reg] < 3);
  for (const auto& [k, value] : uniforms) step.batch.uniform(k) = value;
  // Matrix entries: the numbers of the pattern's entries for now, positions once it is built.
  for (const RootStamp& s : stamps) {
    GroupStep::Stamp stamp{s.root, section_of[s.root] == 0, s.factor, {}};
    stamp.position.reserve(group.size());
    for (std::int32_t m = 0; m < group.size(); ++m)
      stamp.position.push_back(pattern.add(placed.rows[s.row][m], placed.terminals[s.terminal][m]));
    step.stamps.push_back(std::move(stamp));
  }
  // Right-hand sides: each distinct register is one array of sources.
  std::vector<std::pair<std::int32_t, std::int32_t>> array_of;  // register -> first source
  for (const RootStamp& c : constants) {
    auto found =
        std::find_if(array_of.begin(), array_of.end(), [&](const auto& a) { return a.first == c.root; });
    if (found == array_of.end()) {
      array_of.push_back({c.root, source_count_});
      source_count_ += group.size();
      found = array_of.end() - 1;
    }
    for (std::int32_t m = 0; m < group.size(); ++m)
      if (placed.rows[c.row][m] >= 0)
        sources_.push_back({placed.rows[c.row][m], found->second + m, -c.factor});
  }
  groups_.push_back(std::move(step));
  source_arrays_.push_back(std::move(array_of));
  first_parameter_.push_back(static_cast<std::int32_t>(first_parameter));
  first_terminal_.push_back(static_cast<std::int32_t>(first_terminal));
}

// Unknowns are stored in the order of the factorisation, so that a solve needs no permutation.
void NetworkStep::set_order() {
  position_.resize(network_.size());
  for (std::int32_t u = 0; u < network_.size(); ++u) position_[u] = u;
  if (!constant_tangent_ || options_.events) return;
  const auto order = lu_->column_order();
  for (std::int32_t k = 0; k < network_.size(); ++k) position_[order[k]] = k;
}

void NetworkStep::place(const StepState& state) {
  const auto zero = static_cast<std::int32_t>(work_.size()) - 1;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Batch& batch = groups_[g].batch;
    for (const auto& [reg, first] : source_arrays_[g])
      batch.array(reg) = work_.data() + network_.size() + first;
    batch.allocate();
    const Group& group = system_.groups[g];
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      std::copy(group.values[p].begin(), group.values[p].end(),
                batch.array(first_parameter_[g] + static_cast<std::int32_t>(p)));
    const auto& terminals = network_.groups[g].terminals;
    for (std::size_t t = 0; t < terminals.size(); ++t)
      for (std::int32_t m = 0; m < group.size(); ++m)
        batch.index(first_terminal_[g] + static_cast<std::int32_t>(t))[m] =
            terminals[t][m] < 0 ? zero : position_[terminals[t][m]];
  }
  for (std::size_t k = 0; k < state.held.size(); ++k) {
    const Discrete& d = system_.discrete[k];
    groups_[d.group].batch.array(first_parameter_[d.group] + held_slot(system_, d))[d.member] = state.held[k];
  }
  load(state);
}

void NetworkStep::load(const StepState& state) {
  pending_ = false;
  std::size_t next_iterate = 0, next_previous = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = system_.groups[g];
    GroupStep& step = groups_[g];
    for (std::size_t k = 0; k < group.rated.size(); ++k)
      for (std::int32_t m = 0; m < group.size(); ++m) {
        const auto r = group.first_rate[m] + k;
        for (int age = 0; age < 3; ++age) step.batch.array(step.past[k][age])[m] = state.value[age][r];
        step.batch.array(step.rate[k])[m] = state.rate[r];
      }
    for (std::int32_t m = 0; m < group.size(); ++m) {
      for (std::size_t k = 0; k < step.iterates.size(); ++k, ++next_iterate)
        step.batch.array(step.iterates[k])[m] = step.batch.array(step.new_iterate[k])[m] =
            state.iterates[next_iterate];
      for (std::size_t k = 0; k < step.previous.size(); ++k, ++next_previous)
        step.batch.array(step.previous[k])[m] = step.batch.array(step.new_limited[k])[m] =
            state.previous[next_previous];
    }
  }
}

void NetworkStep::store(StepState& state) {
  move_on();
  std::size_t next_iterate = 0, next_previous = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = system_.groups[g];
    GroupStep& step = groups_[g];
    for (std::size_t k = 0; k < group.rated.size(); ++k)
      for (std::int32_t m = 0; m < group.size(); ++m) {
        const auto r = group.first_rate[m] + k;
        for (int age = 0; age < 3; ++age) state.value[age][r] = step.batch.array(step.past[k][age])[m];
        state.rate[r] = step.batch.array(step.rate[k])[m];
      }
    for (std::int32_t m = 0; m < group.size(); ++m) {
      for (std::size_t k = 0; k < step.iterates.size(); ++k)
        state.iterates[next_iterate++] = step.batch.array(step.new_iterate[k])[m];
      for (std::size_t k = 0; k < step.previous.size(); ++k)
        state.previous[next_previous++] = step.batch.array(step.new_limited[k])[m];
    }
  }
}

void NetworkStep::set_histories(std::span<const double> histories) {
  pending_ = false;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = system_.groups[g];
    for (std::size_t k = 0; k < group.rated.size(); ++k) {
      double* past = groups_[g].batch.array(groups_[g].past[k][0]);
      for (std::int32_t m = 0; m < group.size(); ++m) past[m] = histories[group.first_rate[m] + k];
    }
  }
}

void NetworkStep::values(std::span<double> values) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = system_.groups[g];
    for (std::size_t k = 0; k < group.rated.size(); ++k) {
      const double* now = const_cast<GroupStep&>(groups_[g]).batch.array(groups_[g].new_value[k]);
      for (std::int32_t m = 0; m < group.size(); ++m) values[group.first_rate[m] + k] = now[m];
    }
  }
}

std::size_t NetworkStep::iterate_count() const {
  std::size_t count = 0;
  for (const GroupStep& g : groups_)
    count += (g.iterates.size() + g.previous.size()) * static_cast<std::size_t>(g.batch.members());
  return count;
}

template <class Visit>
void NetworkStep::each_iterate(Visit visit) {
  for (const bool limited : {false, true})
    for (GroupStep& g : groups_)
      for (std::int32_t m = 0; m < g.batch.members(); ++m)
        for (std::int32_t reg : limited ? g.new_limited : g.new_iterate) visit(g.batch.array(reg)[m]);
}

void NetworkStep::iterates(std::span<double> values) const {
  double* to = values.data();
  const_cast<NetworkStep*>(this)->each_iterate([&](double& value) { *to++ = value; });
}

void NetworkStep::set_iterates(std::span<const double> values) {
  const double* from = values.data();
  each_iterate([&](double& value) { value = *from++; });
}

std::string NetworkStep::source() const {
  std::string source;
  const auto large = [](const auto& g) { return g.batch.has_large_tables(); };
  if (std::any_of(groups_.begin(), groups_.end(), large)) return source;
  for (std::size_t g = 0; g < groups_.size(); ++g) source += groups_[g].batch.c_source(fmt::format("g{}", g));
  return source;
}

bool NetworkStep::compile_for(double steps) {
  const std::string text = source();
  return use(text, seconds_of_interpreting(text, steps * static_cast<double>(system_.size())));
}

bool NetworkStep::use(std::string_view source, double interpreting) {
  const auto code = compile_c(source, interpreting);
  if (!code) return false;
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].batch.use(code, fmt::format("g{}", g));
  return true;
}

bool NetworkStep::assemble_and_factor() {
  std::copy(base_.begin(), base_.end(), values_.begin());
  for (GroupStep& g : groups_)
    for (const auto& stamp : g.stamps) {
      if (stamp.constant) continue;
      const double* v = g.batch.array(stamp.reg);
      for (std::int32_t m = 0; m < g.batch.members(); ++m)
        if (stamp.position[m] >= 0) values_[stamp.position[m]] += stamp.factor * v[m];
    }
  return lu_->refactor(values_);
}

void NetworkStep::solve() {
  std::fill(right_.begin(), right_.end(), 0.0);
  const double* source = work_.data() + network_.size();
  for (const RowSource& s : sources_) right_[s.row] += s.factor * source[s.source];
  lu_->solve(right_.data());
  std::copy(right_.begin(), right_.end(), work_.begin());
}

NetworkStep::Result NetworkStep::step(double t, int fixed_iterations, int max_iterations) {
  Result result{.converged = !singular_};
  if (singular_) return result;
  move_on();
  for (GroupStep& g : groups_) {
    g.batch.uniform(g.time) = t;
    g.batch.run(1, work_.data());
  }
  const bool iterative = network_.iterative();
  if (constant_tangent_ && !iterative) {
    solver_ ? solver_->solve(work_.data()) : solve();
  } else {
    const int most = fixed_iterations > 0 ? fixed_iterations : iterative ? max_iterations : 1;
    double smallest = std::numeric_limits<double>::infinity();
    int stagnant = 0;
    for (;;) {
      for (GroupStep& g : groups_) {
        for (std::size_t k = 0; k < g.iterates.size(); ++k) {
          double *&from = g.batch.array(g.new_iterate[k]), *&to = g.batch.array(g.iterates[k]);
          if (g.settled[k])
            std::copy_n(from, g.batch.members(), to);
          else
            std::swap(from, to);
        }
        for (std::size_t k = 0; k < g.previous.size(); ++k)
          std::swap(g.batch.array(g.previous[k]), g.batch.array(g.new_limited[k]));
        g.batch.run(2, work_.data());
      }
      ++result.iterations;
      // With a constant tangent, iterates may still enter what drives the network; or only what is observed
      // of it, an integral of a square: then the network is solved once.
      if (!constant_tangent_) {
        ++result.factorisations;
        if (!assemble_and_factor()) {
          result.converged = false;
          return result;
        }
        solve();
      } else if (result.iterations == 1 || iterate_drives_) {
        solver_ ? solver_->solve(work_.data()) : solve();
      }
      if (iterative)
        for (GroupStep& g : groups_) g.batch.run(3, work_.data());
      const double change = iterative ? largest_change_size() : 0.0;
      if (fixed_iterations == 0 && change <= 1.0) break;
      // Where rounding keeps the changes from shrinking any further, and they are small, it is done as well.
      stagnant = change < 0.5 * smallest ? 0 : stagnant + 1;
      smallest = std::min(smallest, change);
      if (fixed_iterations == 0 && stagnant >= 4 &&
          change * options_.tolerance <= rounding_floor_of(scheme_, options_.step))
        break;
      if (result.iterations >= most) {
        result.converged = fixed_iterations > 0;
        if (!result.converged) return result;
        break;
      }
    }
  }
  for (GroupStep& g : groups_) g.batch.run(4, work_.data());
  if (!source_rates_.empty()) project(t);
  pending_ = true;
  return result;
}

// History moves on only when the next step begins: until then outputs may still be asked for.
void NetworkStep::move_on() {
  if (!pending_) return;
  pending_ = false;
  for (GroupStep& g : groups_) {
    for (std::size_t k = 0; k < g.new_value.size(); ++k) {
      // The oldest array becomes the place for the next new value.
      double*& newest = g.batch.array(g.new_value[k]);
      double* free = g.batch.array(g.past[k][2]);
      g.batch.array(g.past[k][2]) = g.batch.array(g.past[k][1]);
      g.batch.array(g.past[k][1]) = g.batch.array(g.past[k][0]);
      g.batch.array(g.past[k][0]) = newest;
      newest = free;
    }
    for (std::size_t k = 0; k < g.new_rate.size(); ++k)
      std::swap(g.batch.array(g.rate[k]), g.batch.array(g.new_rate[k]));
  }
}

void NetworkStep::keep(Checkpoint& parts) {
  for (GroupStep& g : groups_)
    g.batch.each([&](double* first, std::size_t count) { parts.array(first, count); });
  std::vector<double> pivots(lu_->pivot_values().begin(), lu_->pivot_values().end());
  bool refactored = lu_->refactored();
  parts(scheme_, pending_, prepared_, work_, base_, values_, right_, pivots, refactored);
  if (!parts.reading() || pivots.size() != base_.size()) return;
  lu_->factor(pivots);
  if (refactored) lu_->refactor(values_);
}

void NetworkStep::begin_aside() {
  if (choices_aside_ == lu_->choices()) return;
  choices_aside_ = lu_->choices();
  pivots_aside_.assign(lu_->pivot_values().begin(), lu_->pivot_values().end());
}

void NetworkStep::end_aside() {
  if (choices_aside_ == lu_->choices()) return;
  lu_->factor(pivots_aside_);
  choices_aside_ = lu_->choices();
}

double NetworkStep::largest_change_size() const {
  double largest = 0.0;
  for (const GroupStep& g : groups_)
    for (std::int32_t reg : g.change) {
      const double* v = const_cast<GroupStep&>(g).batch.array(reg);
      for (std::int32_t m = 0; m < g.batch.members(); ++m)
        if (!(v[m] <= largest)) largest = v[m];
    }
  return largest;
}

std::string NetworkStep::largest_change() const {
  double largest = -1.0;
  std::int32_t component = -1;
  for (std::size_t k = 0; k < groups_.size(); ++k)
    for (std::int32_t reg : groups_[k].change) {
      const double* v = const_cast<GroupStep&>(groups_[k]).batch.array(reg);
      for (std::int32_t m = 0; m < groups_[k].batch.members(); ++m)
        if (!(v[m] <= largest)) largest = v[m], component = system_.groups[k].components[m];
    }
  return component < 0 ? "nothing" : described_component(*system_.model, component);
}

void NetworkStep::project(double t) {
  const auto rate = [&](std::int32_t r) -> double& {
    const Rate& at = system_.rates[r];
    const Group& group = system_.groups[at.group];
    const auto k = r - group.first_rate[at.member];
    return groups_[at.group].batch.array(groups_[at.group].new_rate[k])[at.member];
  };
  for (std::size_t k = 0; k < storage_.redundant.size(); ++k) {
    const RedundantRate& r = storage_.redundant[k];
    rate_registers_[0] = t;
    interpret(source_rates_[k], 0, rate_registers_.data());
    double total = rate_registers_[source_rates_[k].roots[0]];
    for (const auto& term : r.terms)
      if (term.rate >= 0) total += term.sign * rate(term.rate);
    rate(r.rate) = total;
  }
}

void NetworkStep::want_columns(std::span<const std::int32_t> columns) {
  std::vector<char> wanted(system_.size(), 0);
  for (std::int32_t c : columns) wanted[c] = 1;
  knows_columns_ = true;
  unknown_columns_.clear();
  recovered_.clear();
  for (std::int32_t u = 0; u < network_.size(); ++u)
    if (wanted[network_.column_of[u]]) unknown_columns_.push_back({u, network_.column_of[u]});
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = system_.groups[g];
    Recovered of{g, {}, {}};
    const auto add = [&](std::int32_t reg, std::int32_t member, std::int32_t column) {
      if (column < 0 || !wanted[column] || network_.unknown_of[column] >= 0) return;
      of.at.push_back({reg, member, column});
      of.members.push_back(member);
    };
    for (std::size_t s = 0; s < group.symbols.size(); ++s) {
      const auto what = group.symbols[s].what;
      if (what != LocalSymbol::What::through && what != LocalSymbol::What::internal) continue;
      for (std::int32_t m = 0; m < group.size(); ++m) add(groups_[g].symbol_register[s], m, group.plus[s][m]);
    }
    if (group.kind >= 0) {
      const Kind& kind = system_.model->kinds[group.kind];
      for (int n = kind.port_count; n < static_cast<int>(kind.nodes.size()); ++n)
        for (std::int32_t m = 0; m < group.size(); ++m) {
          const int node = system_.model->components[group.components[m]].nodes[n];
          add(groups_[g].node_register[n], m, system_.node_column(system_.graph.graph_node[node]));
        }
    }
    if (of.at.empty()) continue;
    std::sort(of.members.begin(), of.members.end());
    of.members.erase(std::unique(of.members.begin(), of.members.end()), of.members.end());
    if (8 * of.members.size() > static_cast<std::size_t>(group.size())) of.members.clear();
    recovered_.push_back(std::move(of));
  }
}

void NetworkStep::columns(std::span<double> x) {
  for (const auto& [u, c] : unknown_columns_) x[c] = work_[position_[u]];
  for (const Recovered& of : recovered_) {
    Batch& batch = groups_[of.group].batch;
    if (of.members.empty())
      batch.run(recovery, work_.data());
    else
      batch.run_some(recovery, of.members, work_.data());
    for (const auto& at : of.at) x[at.column] = batch.array(at.reg)[at.member];
  }
}

void NetworkStep::formula_rates(std::span<double> rates) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = system_.groups[g];
    GroupStep& step = groups_[g];
    for (std::size_t k = 0; k < group.rated.size(); ++k) {
      const double* now = step.batch.array(step.new_value[k]);
      const double* old_rate = step.batch.array(step.rate[k]);
      const double* past[3];
      for (int age = 0; age < 3; ++age) past[age] = step.batch.array(step.past[k][age]);
      for (std::int32_t m = 0; m < group.size(); ++m)
        rates[group.first_rate[m] + static_cast<std::int32_t>(k)] =
            scheme_.alpha * now[m] + scheme_.past[0] * past[0][m] + scheme_.past[1] * past[1][m] +
            scheme_.past[2] * past[2][m] + scheme_.past_rate * old_rate[m];
    }
  }
}

void NetworkStep::formula_rates(std::span<const std::int32_t> some, std::span<double> rates) {
  for (std::int32_t r : some) {
    const Rate& rate = system_.rates[r];
    GroupStep& step = groups_[rate.group];
    const std::int32_t k = r - system_.groups[rate.group].first_rate[rate.member];
    const auto value = [&](std::int32_t reg) { return step.batch.array(reg)[rate.member]; };
    rates[r] = scheme_.alpha * value(step.new_value[k]) + scheme_.past[0] * value(step.past[k][0]) +
               scheme_.past[1] * value(step.past[k][1]) + scheme_.past[2] * value(step.past[k][2]) +
               scheme_.past_rate * value(step.rate[k]);
  }
}

void NetworkStep::outputs(double t, double* row, bool followed) {
  read(outputs_, t, row);
  if (followed) read(followed_, t, row + outputs_.program.roots.size());
}
void NetworkStep::updates(double t, std::span<double> to) { read(updates_, t, to.data()); }

void NetworkStep::read(Reader& reader, double t, double* values) {
  reader.registers[0] = t;
  for (std::size_t k = 0; k < reader.needed.size(); ++k) {
    const Needed& n = reader.needed[k];
    double& value = reader.registers[k + 1];
    if (n.unknown >= 0) {
      value = work_[position_[n.unknown]];
    } else {
      Batch& batch = groups_[n.group].batch;
      batch.run_member(recovery, n.member, work_.data(), member_registers_.data());
      // What the recovery itself computes stands in an array only where columns() asked for all of them.
      const bool earlier = batch.program().section_of[n.reg] != recovery;
      value = earlier ? batch.array(n.reg)[n.member] : member_registers_[n.reg];
    }
  }
  interpret(reader.program, 0, reader.registers.data());
  for (std::size_t k = 0; k < reader.program.roots.size(); ++k)
    values[k] = reader.registers[reader.program.roots[k]];
}

}  // namespace tellegen
