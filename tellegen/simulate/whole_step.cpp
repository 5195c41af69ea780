#include "tellegen/simulate/whole_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>

#include "runtime/tellegen_math.h"
#include "tellegen/equations/explain.h"

namespace tellegen {

// Puts the program together; see the header of whole_step.h for the idea.
class WholeStepBuilder {
 public:
  WholeStepBuilder(const Network& network, const Storage& storage, const Scheme& scheme,
                   const StepState& state, const StepOptions& options, std::span<const Expr> totals)
      : network_(network),
        system_(*network.system),
        storage_(storage),
        scheme_(scheme),
        options_(options),
        totals_(totals.begin(), totals.end()),
        pool_(*system_.model->pool),
        list_(pool_) {
    declare_inputs(state);
    for (std::size_t g = 0; g < system_.groups.size(); ++g)
      for (std::int32_t m = 0; m < system_.groups[g].size(); ++m) instantiate(static_cast<int>(g), m);
    eliminate();
  }

  StepProgram build(std::span<const Expr> outputs, WholeStep::Registers& registers) {
    std::vector<ProgramRoot> roots;
    const auto add_root = [&](Expr value, int section) {
      roots.push_back({value, section});
      return static_cast<int>(roots.size()) - 1;
    };
    // New values and rates of the differentiated variables.
    const auto rates = system_.rates.size();
    std::vector<int> value_root(rates, -1), rate_root(rates, -1);
    std::vector<Expr> rate_value(rates);
    for (std::size_t k = 0; k < rates; ++k) {
      if (canonical_[k] != static_cast<int>(k)) continue;
      const Rate& r = system_.rates[k];
      const Expr value = list_.define(symbol_value(r.group, r.member, r.symbol));
      value_root[k] = add_root(value, 3);
      if (keeps_rates()) rate_value[k] = list_.define(alpha_ * value + history_[k]);
    }
    if (keeps_rates()) {
      if (options_.project)
        for (const RedundantRate& r : storage_.redundant)
          if (canonical_[r.rate] == r.rate) rate_value[r.rate] = projected_rate(r, rate_value);
      for (std::size_t k = 0; k < rates; ++k)
        if (canonical_[k] == static_cast<int>(k)) rate_root[k] = add_root(rate_value[k], 3);
    }
    // Iterates, exponentials and the size of the last change.
    std::vector<int> iterate_root, limited_root;
    std::vector<Expr> errors;
    for (std::size_t g = 0; g < system_.groups.size(); ++g) {
      const CondensedGroup& form = network_.groups[g].form;
      if (!form.iterative()) continue;
      for (std::int32_t m = 0; m < system_.groups[g].size(); ++m) {
        const ExprMap<Expr>& rename = rename_[g][m];
        for (std::size_t k = 0; k < form.iterated.size(); ++k) {
          const Expr value = list_.define(symbol_value(static_cast<int>(g), m, form.iterated[k]));
          iterate_root.push_back(add_root(value, 2));
          if (std::find(form.nonlinear.begin(), form.nonlinear.end(), form.iterated[k]) !=
              form.nonlinear.end())
            errors.push_back(
                change(static_cast<int>(g), m, form.iterated[k], value, rename.at(form.iterates[k])));
        }
        for (const auto& x : form.exponentials) {
          const Expr m_symbol = rename.at(x.limited);
          const Expr u = list_.define(substitute(x.argument, rename));
          limited_root.push_back(add_root(m_symbol, 2));
          errors.push_back(change_of_exponential(u, m_symbol, options_.tolerance));
        }
      }
    }
    int error_root = -1;
    if (network_.iterative() || options_.refactor) {
      Expr largest = pool_.number(0);
      for (Expr e : errors) largest = list_.define(pool_.call("max", {largest, list_.define(e)}));
      error_root = add_root(largest, 2);
    }
    std::vector<int> output_root;
    for (std::size_t k = 0; k < outputs.size(); ++k)
      output_root.push_back(
          add_root(in_solution(outputs[k]), k + options_.followed_outputs < outputs.size() ? 4 : 5));
    std::vector<int> update_root;
    Expr changes = pool_.number(0);
    for (std::size_t k = 0; k < system_.discrete.size(); ++k) {
      const Expr update = list_.define(in_solution(system_.discrete[k].update));
      update_root.push_back(add_root(update, 3));
      if (system_.discrete[k].every == 0.0 && !system_.discrete[k].external)
        changes = changes + pool_.call("ne", {update, held_[k]});
    }
    const int event_root = changes.is_number(0) ? -1 : add_root(changes, 3);
    // Sines of time: rotated by one step, renewed now and then.
    struct OscillatorRoots {
      int next_sine, next_cosine, sine, cosine;
    };
    std::vector<OscillatorRoots> turning;
    for (const Oscillator& o : oscillators_) {
      const Expr turn = define(derivative(o.argument, time_) * step_);
      const Expr c = define(pool_.call("cos", {turn})), s = define(pool_.call("sin", {turn}));
      // Section 6 runs before all others: a time of its own keeps it from sharing with them.
      const Expr argument = substitute(o.argument, {{time_, renewal_}});
      turning.push_back({add_root(o.sine * c + o.cosine * s, 3), add_root(o.cosine * c - o.sine * s, 3),
                         add_root(pool_.call("sin", {argument}), 6),
                         add_root(pool_.call("cos", {argument}), 6)});
    }
    // Integrals over the run: the method's formula, solved for the new value. Last, so that all else is the
    // same with and without them.
    std::vector<int> total_root, integrand_root;
    for (std::size_t k = 0; k < totals_.size(); ++k) {
      const Expr integrand = list_.define(in_solution(totals_[k]));
      integrand_root.push_back(add_root(integrand, follow_section()));
      total_root.push_back(add_root((integrand - total_history_[k]) * pow(alpha_, -1.0), follow_section()));
    }

    StepProgram step;
    step.program = make_program(pool_, inputs_, list_.list(), roots, 7);
    const auto reg = [&](int root) { return step.program.roots[root]; };
    ExprMap<std::int32_t> input_register;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      input_register[inputs_[k].symbol] = static_cast<std::int32_t>(k);
    step.time = input_register.at(time_);
    step.renew_time = input_register.at(renewal_);
    if (error_root >= 0) step.error = reg(error_root);
    step.rounding = rounding_floor / options_.tolerance;
    if (options_.refactor) step.reload = input_register.at(alpha_);
    registers.alpha = input_register.at(alpha_);
    registers.step = input_register.at(step_);
    for (int age = 0; age < 3; ++age) registers.past[age] = input_register.at(past_factor_[age]);
    registers.past_rate = input_register.at(rate_factor_);
    for (Expr h : held_) registers.held.push_back(input_register.at(h));
    for (int root : update_root) registers.updates.push_back(reg(root));
    step.watched = registers.updates;
    if (event_root >= 0) step.event = reg(event_root);
    const auto past = [&](int age, std::size_t k) { return input_register.at(past_[age][k]); };
    for (std::size_t k = 0; k < rates; ++k) {
      if (canonical_[k] != static_cast<int>(k)) continue;
      if (rate_root[k] >= 0)
        step.step_copies.push_back({input_register.at(rate_input_[k]), reg(rate_root[k])});
      const int ages = options_.keep_all_past || options_.events ? 3 : scheme_.past_values;
      for (int age = ages - 1; age > 0; --age) step.step_copies.push_back({past(age, k), past(age - 1, k)});
      step.step_copies.push_back({past(0, k), reg(value_root[k])});
    }
    step.follows = follow_section() == 5 && (!totals_.empty() || options_.followed_outputs > 0);
    auto& total_copies = step.follows ? step.followed_copies : step.step_copies;
    for (std::size_t k = 0; k < totals_.size(); ++k) {
      total_copies.push_back({input_register.at(total_rate_[k]), reg(integrand_root[k])});
      for (int age = 2; age >= 0; --age)
        total_copies.push_back({input_register.at(total_past_[age][k]),
                                age > 0 ? input_register.at(total_past_[age - 1][k]) : reg(total_root[k])});
    }
    for (std::size_t k = 0; k < iterate_inputs_.size(); ++k) {
      registers.iterates.push_back(input_register.at(iterate_inputs_[k]));
      registers.iterate_sources.push_back(reg(iterate_root[k]));
      step.iterate_copies.push_back({registers.iterates.back(), registers.iterate_sources.back()});
    }
    for (std::size_t k = 0; k < previous_inputs_.size(); ++k) {
      registers.previous.push_back(input_register.at(previous_inputs_[k]));
      registers.previous_sources.push_back(reg(limited_root[k]));
      step.iterate_copies.push_back({registers.previous.back(), registers.previous_sources.back()});
    }
    for (std::size_t k = 0; k < rates; ++k) {
      for (int age = 0; age < 3; ++age) registers.value[age].push_back(past(age, canonical_[k]));
      registers.rate.push_back(input_register.at(rate_input_[canonical_[k]]));
    }
    for (std::size_t k = 0; k < totals_.size(); ++k) {
      for (int age = 0; age < 3; ++age)
        registers.value[age].push_back(input_register.at(total_past_[age][k]));
      registers.rate.push_back(input_register.at(total_rate_[k]));
    }
    for (int root : output_root) step.outputs.push_back(reg(root));
    for (std::size_t k = 0; k < oscillators_.size(); ++k) {
      const auto sine = input_register.at(oscillators_[k].sine),
                 cosine = input_register.at(oscillators_[k].cosine);
      step.step_copies.push_back({sine, reg(turning[k].next_sine)});
      step.step_copies.push_back({cosine, reg(turning[k].next_cosine)});
      step.renew_copies.push_back({sine, reg(turning[k].sine)});
      step.renew_copies.push_back({cosine, reg(turning[k].cosine)});
    }
    return step;
  }

  // The smallest pivot of the elimination, each measured as it was chosen: in its row and column.
  Program pivots() {
    std::vector<ProgramInput> inputs = inputs_;
    for (ProgramInput& input : inputs) input.section = 0;
    const ProgramRoot smallest{smallest_pivot_, 0};
    std::vector<Assignment> all(list_.list().begin(), list_.list().end());
    all.insert(all.end(), pivot_list_.begin(), pivot_list_.end());
    return make_program(pool_, inputs, all, std::span(&smallest, 1), 1);
  }

  std::vector<WholeStep::Number> numbers;

  void fill_inputs(std::span<double> registers) const {
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (const auto value = numbers_.find(inputs_[k].symbol); value != numbers_.end())
        registers[k] = value->second;
  }

 private:
  // Stages of a variable step are all followed, and have rows seldom.
  int follow_section() const { return options_.any_length ? 3 : 5; }
  bool keeps_rates() const { return scheme_.uses_rate || options_.keep_all_past || options_.events; }

  Expr input(const std::string& name, int section, double value) {
    const Expr symbol = pool_.symbol(name);
    inputs_.push_back({symbol, section});
    section_[symbol] = section;
    numbers_[symbol] = switched_[symbol] = value;
    return symbol;
  }

  void declare_inputs(const StepState& state) {
    const int alpha_section = options_.refactor ? 2 : 0;
    alpha_ = input("~alpha", alpha_section, scheme_.alpha);
    if (options_.any_length) switched_[alpha_] = 1e-4 * scheme_.alpha;
    const bool junctions = std::any_of(network_.groups.begin(), network_.groups.end(),
                                       [](const auto& group) { return !group.form.exponentials.empty(); });
    two_points_ = options_.any_length || !system_.discrete.empty() || junctions;
    time_ = input("t", 1, 0.0);
    renewal_ = input("~renewal", 6, 0.0);
    step_ = input("~step", 0, options_.step);
    for (int age = 0; age < 3; ++age)
      past_factor_.push_back(input(fmt::format("~past{}", age), 0, scheme_.past[age]));
    rate_factor_ = input("~past_rate", 0, scheme_.past_rate);
    for (std::size_t k = 0; k < system_.discrete.size(); ++k) {
      const Discrete& d = system_.discrete[k];
      const bool additive = system_.groups[d.group].additive[d.held];
      held_.push_back(input(fmt::format("~held{}", k), additive ? 1 : 0, state.held[k]));
      switched_[held_.back()] = state.held[k] == 0.0 ? 1.0 : 0.0;
    }
    // Variables between the same two columns are one: parallel capacitors share their history.
    std::map<std::pair<std::int32_t, std::int32_t>, int> seen;
    for (std::size_t k = 0; k < system_.rates.size(); ++k) {
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      const auto [first, is_new] = seen.try_emplace(
          {group.plus[r.symbol][r.member], group.minus[r.symbol][r.member]}, static_cast<int>(k));
      canonical_.push_back(first->second);
      if (!is_new) {
        for (auto& list : past_) list.push_back(list[first->second]);
        rate_input_.push_back(rate_input_[first->second]);
        history_.push_back(history_[first->second]);
        continue;
      }
      std::vector<Expr> terms;
      for (int age = 0; age < 3; ++age) {
        past_[age].push_back(input(fmt::format("~d{}.{}", age, k), 1, state.value[age][k]));
        if (scheme_.past[age] != 0.0 || options_.events)
          terms.push_back(past_factor_[age] * past_[age].back());
      }
      rate_input_.push_back(input(fmt::format("~r.{}", k), 1, state.rate[k]));
      if (options_.events)
        terms.push_back(rate_factor_ * rate_input_.back());
      else if (scheme_.uses_rate)
        terms.push_back(scheme_.past_rate * rate_input_.back());
      history_.push_back(define(pool_.add(terms)));
    }
    for (std::size_t k = 0; k < totals_.size(); ++k) {
      std::vector<Expr> terms;
      for (int age = 0; age < 3; ++age) {
        total_past_[age].push_back(input(fmt::format("~s{}.{}", age, k), 1, 0.0));
        if (scheme_.past[age] != 0.0 || options_.events)
          terms.push_back(past_factor_[age] * total_past_[age].back());
      }
      total_rate_.push_back(input(fmt::format("~sr.{}", k), 1, 0.0));
      if (scheme_.uses_rate || options_.events) terms.push_back(rate_factor_ * total_rate_.back());
      total_history_.push_back(define(pool_.add(terms)));
    }
    next_iterate_ = state.iterates.begin();
    next_previous_ = state.previous.begin();
  }

  Expr define(Expr value) {
    const Expr symbol = list_.define(value);
    note(symbol, value);
    return symbol;
  }

  void note(Expr symbol, Expr value) {
    if (section_.contains(symbol) || symbol.is_number()) return;
    section_[symbol] = section_of(value);
    numbers_[symbol] = evaluate(value, numbers_);
    if (two_points_) switched_[symbol] = evaluate(value, switched_);
  }

  int section_of(Expr e) const {
    int section = 0;
    for (Expr s : symbols_of(std::span(&e, 1))) section = std::max(section, section_.at(s));
    return section;
  }

  double number_of(Expr e) const { return evaluate(e, numbers_); }

  void instantiate(int g, std::int32_t m) {
    const Group& group = system_.groups[g];
    const NetworkGroup& network_group = network_.groups[g];
    const CondensedGroup& form = network_group.form;
    ExprMap<Expr> rename;
    rename[form.alpha] = alpha_;
    // A parameter that is zero is structure: no delay, no damping, no phase cost nothing.
    const auto number_count = group.parameters.size() - group.held.size();
    for (std::size_t p = 0; p < number_count; ++p) {
      const double value = group.values[p][m];
      numbers.push_back({g, static_cast<std::int32_t>(p), m,
                         value == 0.0 ? -1 : static_cast<std::int32_t>(inputs_.size())});
      rename[group.parameters[p]] =
          value == 0.0 ? pool_.number(0) : input(fmt::format("~p{}.{}.{}", g, m, p), 0, value);
    }
    for (std::size_t k = 0; k < system_.discrete.size() && !group.held.empty(); ++k)
      if (const Discrete& d = system_.discrete[k]; d.group == g && d.member == m)
        rename[group.parameters[held_slot(system_, d)]] = held_[k];
    for (std::size_t k = 0; k < form.histories.size(); ++k)
      rename[form.histories[k]] = history_[group.first_rate[m] + k];
    for (std::size_t k = 0; k < form.iterates.size(); ++k) {
      iterate_inputs_.push_back(input(fmt::format("~@{}.{}.{}", g, m, k), 2, *next_iterate_++));
      rename[form.iterates[k]] = iterate_inputs_.back();
      if (!form.exponentials.empty()) switched_[iterate_inputs_.back()] = 0.0;  // a junction that blocks
    }
    for (std::size_t k = 0; k < form.exponentials.size(); ++k) {
      previous_inputs_.push_back(input(fmt::format("~m{}.{}.{}", g, m, k), 2, *next_previous_++));
      rename[form.exponentials[k].previous] = previous_inputs_.back();
      switched_[previous_inputs_.back()] = 0.0;
    }
    for (const Definition& d : form.definitions) {
      const Expr symbol = pool_.symbol(fmt::format("~{}.{}{}", g, m, d.symbol.name()));
      const Expr value = with_oscillators(substitute(d.value, rename));
      if (value.is_number() || value.is_symbol()) {
        rename[d.symbol] = value;
        continue;
      }
      list_.assign(symbol, value);
      note(symbol, value);
      rename[d.symbol] = symbol;
    }
    // Terminals become the unknowns; those are assigned once the network is solved.
    for (std::size_t t = 0; t < form.terminals.size(); ++t) {
      const std::int32_t u = network_group.terminals[t][m];
      rename[form.terminals[t].symbol] = u < 0 ? pool_.number(0) : unknown(u);
    }
    if (matrix_.empty()) {
      matrix_.resize(network_.size());
      constant_.assign(network_.size(), pool_.number(0));
    }
    for (std::size_t r = 0; r < form.rows.size(); ++r) {
      const std::int32_t row = network_group.rows[r][m];
      if (row < 0) continue;
      const CondensedRow& source = form.rows[r];
      constant_[row] = constant_[row] + with_oscillators(substitute(source.constant, rename));
      for (std::size_t t = 0; t < form.terminals.size(); ++t) {
        const std::int32_t column = network_group.terminals[t][m];
        if (!source.coefficients[t] || column < 0) continue;
        const Expr value = substitute(source.coefficients[t], rename);
        const auto [at, is_new] = matrix_[row].try_emplace(column, value);
        if (!is_new) at->second = at->second + value;
      }
    }
    rename_.resize(system_.groups.size());
    rename_[g].push_back(std::move(rename));
  }

  // sin and cos of arguments that grow steadily with time become inputs that the loop rotates from step to
  // step: a few multiplications instead of a library call.
  Expr with_oscillators(Expr e) {
    ExprMap<Expr> replacements;
    const Expr zero = pool_.number(0);
    if (depends_on(e, time_))
      e = substitute(e,
                     {{pool_.call("max", {time_, zero}), time_}, {pool_.call("max", {zero, time_}), time_}});
    for (Expr node : nodes_of(std::span(&e, 1))) {
      if (node.op() != Op::call || (node.function().name != "sin" && node.function().name != "cos")) continue;
      const Expr u = node.args()[0], slope = derivative(u, time_);
      if (slope.is_number(0) || section_of(slope) > 0 || !of_time_and_constants(u)) continue;
      auto found = std::find_if(oscillators_.begin(), oscillators_.end(),
                                [&](const Oscillator& o) { return o.argument == u; });
      if (found == oscillators_.end()) {
        const auto k = oscillators_.size();
        oscillators_.push_back({u, input(fmt::format("~sine{}", k), 1, tellegen_sin(number_of(u))),
                                input(fmt::format("~cosine{}", k), 1, tellegen_cos(number_of(u)))});
        found = oscillators_.end() - 1;
      }
      replacements[node] = node.function().name == "sin" ? found->sine : found->cosine;
    }
    return replacements.empty() ? e : substitute(e, replacements);
  }

  // Nothing else that a step could change, no name that stands for a function of time.
  bool of_time_and_constants(Expr e) const {
    const auto symbols = symbols_of(std::span(&e, 1));
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](Expr s) { return s == time_ || section_.at(s) == 0; });
  }

  Expr unknown(std::int32_t u) { return pool_.symbol(fmt::format("~x{}", u)); }

  void eliminate() {
    const std::int32_t n = network_.size();
    matrix_.resize(n);
    constant_.resize(n, pool_.number(0));
    std::vector<Expr> right(n);
    join_storage();
    for (std::int32_t i = 0; i < n; ++i) {
      right[i] = define(-constant_[i]);
      for (auto& [j, e] : matrix_[i]) e = define(e);
    }
    std::vector<char> row_done(n, 0), column_done(n, 0);
    smallest_pivot_ = pool_.number(1);
    std::vector<std::pair<std::int32_t, std::int32_t>> order;
    std::vector<Expr> inverse(n);
    for (std::int32_t step = 0; step < n; ++step) {
      const auto [row, column] = choose_pivot(row_done);
      if (row < 0) throw SimulationError(singular_message(column_done), 0.0);
      if (options_.restarts) measure_pivot(row_done, row, column);
      order.push_back({row, column});
      row_done[row] = column_done[column] = 1;
      inverse[row] = define(pow(matrix_[row].at(column), -1.0));
      for (std::int32_t i = 0; i < n; ++i) {
        if (row_done[i]) continue;
        const auto at = matrix_[i].find(column);
        if (at == matrix_[i].end()) continue;
        const Expr factor = define(at->second * inverse[row]);
        matrix_[i].erase(at);
        for (const auto& [j, e] : matrix_[row]) {
          if (j == column) continue;
          const auto [into, is_new] = matrix_[i].try_emplace(j, pool_.number(0));
          into->second = define(into->second - factor * e);
        }
        right[i] = define(right[i] - factor * right[row]);
      }
    }
    for (auto step = order.rbegin(); step != order.rend(); ++step) {
      const auto [row, column] = *step;
      std::vector<Expr> terms{right[row]};
      for (const auto& [j, e] : matrix_[row])
        if (j != column) terms.push_back(-(e * solved(j)));
      const Expr value = pool_.add(terms) * inverse[row];
      list_.assign(solved(column), value);
      note(solved(column), value);
    }
    for (const auto& [node, parent] : joined_) {
      const Expr value = solved(node) + unknown(parent);
      list_.assign(unknown(node), value);
      note(unknown(node), value);
    }
  }

  // Where junctions block, nothing but their leakage may hold a part of the network whose nodes are joined by
  // a capacitor, and in the balances of its nodes that leakage drowns in the capacitor's companion form, as
  // does an inductor in series with it in the shortest of steps. So the capacitor's own across variable
  // becomes the unknown in place of the potential at its far end, and the balance of its near end becomes
  // that of both: there the capacitor cancels before any number is put in.
  void join_storage() {
    const auto exponential = [](const NetworkGroup& g) { return !g.form.exponentials.empty(); };
    if (!options_.any_length && !options_.events &&
        std::none_of(network_.groups.begin(), network_.groups.end(), exponential))
      return;
    const auto unknown_of = [&](NodeIndex node) {
      const std::int32_t column = system_.node_column(node);
      return column < 0 ? -1 : network_.unknown_of[column];
    };
    for (const NodeIndex node : system_.tree.order) {  // from the root
      const EdgeIndex up = system_.tree.up[node.value];
      if (up.value < 0 || system_.graph.edges[up.value].edge_class != EdgeClass::across_storage) continue;
      const std::int32_t near = unknown_of(system_.tree.parent[node.value]), far = unknown_of(node);
      if (near >= 0 && far >= 0) joined_.push_back({far, near});
    }
    for (auto pair = joined_.rbegin(); pair != joined_.rend(); ++pair) {
      const auto [far, near] = *pair;
      const auto add = [&](std::map<std::int32_t, Expr>& row, std::int32_t column, Expr value) {
        const auto [at, is_new] = row.try_emplace(column, value);
        if (!is_new) at->second = at->second + value;
        if (at->second.is_number(0)) row.erase(at);
      };
      for (auto& row : matrix_)
        if (const auto at = row.find(far); at != row.end()) add(row, near, at->second);
      for (const auto& [column, value] : matrix_[far]) add(matrix_[near], column, value);
      constant_[near] = constant_[near] + constant_[far];
    }
  }
  // What the elimination finds in place of a potential: itself, or the across variable of joined storage.
  Expr solved(std::int32_t u) {
    const bool joined =
        std::any_of(joined_.begin(), joined_.end(), [&](const auto& pair) { return pair.first == u; });
    return joined ? pool_.symbol(fmt::format("~y{}", u)) : unknown(u);
  }

  // With names of its own: what a step consists of is the same with and without it.
  Expr define_for_pivot(Expr value) {
    if (value.is_number() || value.is_symbol()) return value;
    const Expr symbol = pool_.symbol(fmt::format("%pivot{}", pivot_list_.size()));
    pivot_list_.push_back({symbol, value});
    return symbol;
  }

  // As choose_pivot() looks at it, for numbers to come.
  void measure_pivot(const std::vector<char>& row_done, std::int32_t row, std::int32_t column) {
    const auto size_in_row = [&](std::int32_t i) {
      Expr largest = pool_.number(0);
      for (const auto& [j, e] : matrix_[i])
        largest = define_for_pivot(pool_.call("max", {largest, pool_.call("abs", {e})}));
      return define_for_pivot(pool_.call("abs", {matrix_[i].at(column)}) / largest);
    };
    const Expr size = size_in_row(row);
    Expr largest = size;
    for (std::int32_t i = 0; i < network_.size(); ++i)
      if (!row_done[i] && i != row && matrix_[i].contains(column))
        largest = define_for_pivot(pool_.call("max", {largest, size_in_row(i)}));
    smallest_pivot_ = define_for_pivot(pool_.call("min", {smallest_pivot_, size / largest}));
  }

  // Constant parts first, then few operations; never a pivot that is small in its column. The order stays for
  // the whole run, so where a discrete variable or a junction that blocks changes the equations it must do
  // after the change too.
  std::pair<std::int32_t, std::int32_t> choose_pivot(const std::vector<char>& row_done) {
    const auto now = [this](Expr e) { return std::abs(number_of(e)); };
    if (!two_points_) return choose_pivot(row_done, now, now);
    const auto later = [this](Expr e) { return std::abs(evaluate(e, switched_)); };
    const auto best = choose_pivot(row_done, now, later);
    return best.first >= 0 ? best : choose_pivot(row_done, now, now);
  }

  template <class Now, class Later>
  std::pair<std::int32_t, std::int32_t> choose_pivot(const std::vector<char>& row_done, Now now,
                                                     Later later) {
    struct Largest {
      double now = 0.0, later = 0.0;
    };
    const std::int32_t n = network_.size();
    std::vector<Largest> in_column(n), in_row(n);
    std::vector<int> column_count(n, 0), column_varies(n, 0), row_varies(n, 0);
    for (std::int32_t i = 0; i < n; ++i) {
      if (row_done[i]) continue;
      for (const auto& [j, e] : matrix_[i]) {
        in_row[i].now = std::max(in_row[i].now, now(e));
        in_row[i].later = std::max(in_row[i].later, later(e));
      }
    }
    for (std::int32_t i = 0; i < n; ++i) {
      if (row_done[i]) continue;
      for (const auto& [j, e] : matrix_[i]) {
        in_column[j].now = std::max(in_column[j].now, now(e) / in_row[i].now);
        in_column[j].later = std::max(in_column[j].later, later(e) / in_row[i].later);
        ++column_count[j];
        if (section_of(e) == 2) column_varies[j] = row_varies[i] = 1;
      }
    }
    const auto large = [](double size, double row, double column) {
      return size > 0.0 && size / row >= 1e-3 * column;
    };
    std::pair<std::int32_t, std::int32_t> best{-1, -1};
    std::tuple<int, std::int64_t, int> best_rank{};
    for (std::int32_t i = 0; i < n; ++i) {
      if (row_done[i]) continue;
      for (const auto& [j, e] : matrix_[i]) {
        if (!large(now(e), in_row[i].now, in_column[j].now) ||
            !large(later(e), in_row[i].later, in_column[j].later))
          continue;
        const std::int64_t fill = (static_cast<std::int64_t>(matrix_[i].size()) - 1) * (column_count[j] - 1);
        const std::tuple rank{std::max(column_varies[j], row_varies[i]), fill, i == j ? 0 : 1};
        if (best.first < 0 || rank < best_rank) best = {i, j}, best_rank = rank;
      }
    }
    return best;
  }

  std::string singular_message(const std::vector<char>& column_done) const {
    std::string names;
    for (std::int32_t j = 0; j < network_.size(); ++j)
      if (!column_done[j]) names += (names.empty() ? "" : ", ") + column_name(system_, network_.column_of[j]);
    return "the equations of a step are singular: not determined are " + names;
  }

  Expr symbol_value(int g, std::int32_t m, int symbol) {
    return substitute(network_.groups[g].form.symbol_values[symbol], rename_[g][m]);
  }

  Expr change(int g, std::int32_t m, int symbol, Expr value, Expr iterate) {
    const auto plus = system_.groups[g].plus[symbol][m];
    return change_of_variable(value, iterate, plus < 0 ? 1.0 : column_scale(system_, plus),
                              options_.tolerance);
  }

  Expr projected_rate(const RedundantRate& r, const std::vector<Expr>& rates) {
    std::vector<Expr> terms;
    if (r.drive) terms.push_back(r.drive);
    for (const auto& term : r.terms) {
      if (term.rate >= 0) {
        terms.push_back(term.sign * rates[canonical_[term.rate]]);
      } else {
        const Expr rate = source_rate(system_, term.source);
        if (!rate) return rates[r.rate];
        terms.push_back(term.sign * rate);
      }
    }
    return list_.define(pool_.add(terms));
  }

  // An output in column symbols, rewritten in what the step computes.
  Expr in_solution(Expr output) {
    ExprMap<Expr> values;
    for (Expr s : symbols_of(std::span(&output, 1))) {
      if (s == time_) continue;
      if (s.name()[0] == 'h') {
        values[s] = held_[std::stol(s.name().substr(1))];
        continue;
      }
      if (s.name()[0] == '~') {  // a coefficient of the minimal form
        values[s] = rename_[0][0].at(s);
        continue;
      }
      const auto column = static_cast<std::int32_t>(std::stol(s.name().substr(1)));
      values[s] = column_value(column);
    }
    return substitute(output, values);
  }

  Expr column_value(std::int32_t column) {
    if (const auto u = network_.unknown_of[column]; u >= 0) return unknown(u);
    const ColumnOwner owner = owner_of(system_, column);
    const int g = system_.group_of[owner.component];
    const std::int32_t m = system_.member_of[owner.component];
    if (owner.symbol >= 0) return symbol_value(g, m, owner.symbol);
    return substitute(network_.groups[g].form.node_values[owner.node], rename_[g][m]);
  }

  const Network& network_;
  const EquationSystem& system_;
  const Storage& storage_;
  const Scheme scheme_;
  const StepOptions options_;
  const std::vector<Expr> totals_;
  Pool& pool_;
  Assignments list_;
  std::vector<Assignment> pivot_list_;  // of smallest_pivot_, behind list_
  std::vector<ProgramInput> inputs_;
  ExprMap<int> section_;
  ExprMap<double> numbers_;  // at the start
  // There, but with every discrete variable that is 0 at 1 and every other at 0, and with longer steps.
  ExprMap<double> switched_;
  bool two_points_ = false;
  Expr alpha_, time_, renewal_, step_, rate_factor_;
  std::vector<Expr> past_factor_, held_;
  struct Oscillator {
    Expr argument, sine, cosine;
  };
  std::vector<Oscillator> oscillators_;
  std::vector<Expr> past_[3], rate_input_, history_;
  std::vector<Expr> total_past_[3], total_rate_, total_history_;
  std::vector<int> canonical_;
  std::vector<Expr> iterate_inputs_, previous_inputs_;
  std::vector<double>::const_iterator next_iterate_, next_previous_;
  std::vector<std::vector<ExprMap<Expr>>> rename_;  // [group][member]
  std::vector<std::map<std::int32_t, Expr>> matrix_;
  std::vector<Expr> constant_;
  Expr smallest_pivot_;
  std::vector<std::pair<std::int32_t, std::int32_t>>
      joined_;  // unknowns of nodes: far and near, from the root
};

namespace {

// Chosen were pivots of 1e-3 at least.
constexpr double smallest_good_pivot = 1e-6;

StepProgram build_program(WholeStepBuilder& builder, std::span<const Expr> outputs, auto& registers) {
  return builder.build(outputs, registers);
}

}  // namespace

WholeStep::WholeStep(const Network& network, const Storage& storage, const Scheme& scheme,
                     std::span<const Expr> outputs, const StepState& state, const StepOptions& options,
                     std::span<const Expr> totals, bool records)
    : scheme_(scheme), length_(options.step), loop_(StepProgram{}) {
  WholeStepBuilder builder(network, storage, scheme, state, options, totals);
  StepProgram program = build_program(builder, outputs, registers_);
  program.records = records;
  if (records) program_ = program;
  loop_ = StepLoop(std::move(program));
  numbers_ = std::move(builder.numbers);
  if (options.restarts) pivots_ = builder.pivots();
  builder.fill_inputs(std::span(loop_.registers(), loop_.program().inputs.size()));
  load(state);
  loop_.prepare();
}

void WholeStep::load(const StepState& state) {
  double* r = loop_.registers();
  for (int age = 0; age < 3; ++age)
    for (std::size_t k = 0; k < registers_.value[age].size(); ++k)
      r[registers_.value[age][k]] = state.value[age][k];
  for (std::size_t k = 0; k < registers_.rate.size(); ++k) r[registers_.rate[k]] = state.rate[k];
  for (std::size_t k = 0; k < registers_.held.size(); ++k) r[registers_.held[k]] = state.held[k];
  for (std::size_t k = 0; k < registers_.iterates.size(); ++k)
    r[registers_.iterates[k]] = r[registers_.iterate_sources[k]] = state.iterates[k];
  for (std::size_t k = 0; k < registers_.previous.size(); ++k)
    r[registers_.previous[k]] = r[registers_.previous_sources[k]] = state.previous[k];
}

StepCode::Part WholeStep::part(const EquationSystem& system, const StepLoopControl& control) const {
  StepCode::Part part = loop_.part(control);
  part.held = registers_.held;
  for (std::size_t k = 0; k < system.rates.size(); ++k) {
    StepCode::State state{.name = rate_name(system, static_cast<std::int32_t>(k)),
                          .rate = registers_.rate[k]};
    for (std::size_t age = 0; age < 3; ++age) state.values[age] = registers_.value[age][k];
    part.states.push_back(std::move(state));
  }
  for (const Number& n : numbers_)
    if (n.input >= 0) part.numbers.push_back({n.group, n.parameter, n.member, n.input});
  part.pivots = pivots_;
  return part;
}

std::vector<RegisterCopy> WholeStep::hand_over(const WholeStep& next) const {
  std::vector<RegisterCopy> copies;
  const auto all = [&](const std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from) {
    for (std::size_t k = 0; k < to.size(); ++k) copies.push_back({to[k], from[k]});
  };
  const Registers &a = registers_, &b = next.registers_;
  for (int age = 0; age < 3; ++age) all(b.value[age], a.value[age]);
  all(b.rate, a.rate);
  all(b.iterates, a.iterate_sources);
  all(b.iterate_sources, a.iterate_sources);
  all(b.previous, a.previous_sources);
  all(b.previous_sources, a.previous_sources);
  loop_.hand_over(next.loop_, copies);
  return copies;
}

void WholeStep::add_registers(StepCode::Events& events) const {
  const Registers& r = registers_;
  events.formula = {r.alpha, r.past[0], r.past[1], r.past[2], r.past_rate, r.step};
  const auto add = [&](const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to) {
    events.stored.insert(events.stored.end(), from.begin(), from.end());
    events.loaded.insert(events.loaded.end(), to.begin(), to.end());
  };
  for (const auto& values : r.value) add(values, values);
  events.values = static_cast<std::int32_t>(r.value[0].size());
  add(r.rate, r.rate);
  add(r.iterate_sources, r.iterates);
  add(r.previous_sources, r.previous);
  events.held_registers = r.held;
  events.updates = r.updates;
  for (const std::int32_t held : r.held)
    events.factor.push_back(loop_.program().inputs[held].section == 0 ? 1 : 0);
  loop_.add_counters(events);
}

bool WholeStep::restart(const Network& network, const StepState& state) {
  double* r = loop_.registers();
  for (const Number& n : numbers_) {
    const double value = network.system->groups[n.group].values[n.parameter][n.member];
    if ((n.input < 0) != (value == 0.0)) return false;
    if (n.input >= 0) r[n.input] = value;
  }
  load(state);
  pivot_registers_.resize(pivots_.registers);
  std::copy_n(r, pivots_.inputs.size(), pivot_registers_.begin());
  interpret(pivots_, 0, pivot_registers_.data());
  if (!(pivot_registers_[pivots_.roots[0]] > smallest_good_pivot)) return false;
  set_scheme(scheme_, length_);
  return true;
}

std::optional<std::vector<RowValue>> WholeStep::write(RowList& list, const SystemRows& numbers,
                                                      std::span<const RowValue> values,
                                                      std::span<const RowValue> rates) const {
  if (!registers_.iterates.empty() || !registers_.previous.empty() || !registers_.held.empty())
    return std::nullopt;
  std::vector<RowValue> r(loop_.registers(), loop_.registers() + loop_.program().registers);
  for (const Number& n : numbers_) {
    const RowValue value = numbers[n.group][n.parameter][n.member];
    list.require(n.input < 0 ? RowCheck::zero : RowCheck::nonzero, value);
    if (n.input >= 0) r[n.input] = value;
  }
  for (const auto& registers : registers_.value)
    for (std::size_t k = 0; k < registers.size(); ++k) r[registers[k]] = values[k];
  for (std::size_t k = 0; k < registers_.rate.size(); ++k) r[registers_.rate[k]] = rates[k];
  std::vector<RowValue> pivots(pivots_.registers);
  std::copy_n(r.begin(), pivots_.inputs.size(), pivots.begin());
  write_section(list, pivots_, 0, pivots);
  list.require(RowCheck::above, pivots[pivots_.roots[0]], smallest_good_pivot);
  write_section(list, loop_.program(), 0, r);
  return r;
}

void WholeStep::set_scheme(const Scheme& scheme, double step) {
  double* r = loop_.registers();
  r[registers_.alpha] = scheme.alpha;
  r[registers_.step] = step;
  for (int age = 0; age < 3; ++age) r[registers_.past[age]] = scheme.past[age];
  r[registers_.past_rate] = scheme.past_rate;
  loop_.prepare();
}

void WholeStep::hold(std::span<const double> held) {
  bool factors = false;
  for (std::size_t k = 0; k < held.size(); ++k) {
    double& value = loop_.registers()[registers_.held[k]];
    factors = factors || (value != held[k] && loop_.program().inputs[registers_.held[k]].section == 0);
    value = held[k];
  }
  if (factors) loop_.prepare();
}

void WholeStep::set_alpha(double alpha) {
  loop_.registers()[registers_.alpha] = alpha;
  loop_.prepare();
}

void WholeStep::set_histories(std::span<const double> histories) {
  double* r = loop_.registers();
  for (std::size_t k = 0; k < histories.size(); ++k) r[registers_.value[0][k]] = histories[k];
}

void WholeStep::values(std::span<double> values) const {
  const double* r = loop_.registers();
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = r[registers_.value[0][k]];
}

void WholeStep::iterates(std::span<double> values) const {
  const double* r = loop_.registers();
  double* to = values.data();
  for (std::int32_t source : registers_.iterate_sources) *to++ = r[source];
  for (std::int32_t source : registers_.previous_sources) *to++ = r[source];
}

void WholeStep::set_iterates(std::span<const double> values) {
  double* r = loop_.registers();
  const double* from = values.data();
  for (std::int32_t source : registers_.iterate_sources) r[source] = *from++;
  for (std::int32_t source : registers_.previous_sources) r[source] = *from++;
}

void WholeStep::updates(std::span<double> values) const {
  const double* r = loop_.registers();
  for (std::size_t k = 0; k < registers_.updates.size(); ++k) values[k] = r[registers_.updates[k]];
}

std::string WholeStep::still_changing(const Network& network) const {
  const double* r = loop_.registers();
  const EquationSystem& system = *network.system;
  double largest = -1.0;
  std::string name = "nothing";
  std::size_t k = 0;
  for (std::size_t g = 0; g < system.groups.size(); ++g)
    for (std::int32_t m = 0; m < system.groups[g].size(); ++m)
      for (int s : network.groups[g].form.iterated) {
        const double change = std::abs(r[registers_.iterate_sources[k]] - r[registers_.iterates[k]]);
        ++k;
        if (change <= largest) continue;
        largest = change;
        name = described_symbol(system, static_cast<int>(g), m, s);
      }
  return name;
}

void WholeStep::store(StepState& state) const {
  const double* r = loop_.registers();
  for (int age = 0; age < 3; ++age)
    for (std::size_t k = 0; k < registers_.value[age].size(); ++k)
      state.value[age][k] = r[registers_.value[age][k]];
  for (std::size_t k = 0; k < registers_.rate.size(); ++k) state.rate[k] = r[registers_.rate[k]];
  for (std::size_t k = 0; k < registers_.iterates.size(); ++k)
    state.iterates[k] = r[registers_.iterate_sources[k]];
  for (std::size_t k = 0; k < registers_.previous.size(); ++k)
    state.previous[k] = r[registers_.previous_sources[k]];
}

}  // namespace tellegen
