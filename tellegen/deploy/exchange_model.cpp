#include "tellegen/deploy/exchange_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tellegen/deploy/exchange_slopes.h"
#include "tellegen/estimate/unknown_states.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/explicit_problem.h"
#include "tellegen/simulate/parameter_problem.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/symbolic/common.h"

namespace tellegen {
namespace {

constexpr std::size_t most_listed_jumps = 20000;
// Straight-line code longer than this takes compilers minutes.
constexpr std::size_t most_instructions = 60000, most_slope_instructions = 30000;

// Sections of the program.
enum : int { constants, given, unused, iteration, rates, outputs, updates, slopes, pivots, section_count };

class ExchangeMaker {
 public:
  ExchangeMaker(const Model& model, const Simulation& simulation, const std::vector<std::string>& parameters)
      : changed_(with_unknown_states(model, {}, {}, parameters)),
        system_(build_system(changed_.model)),
        pool_(*changed_.model.pool),
        parameters_(parameters.size()) {
    SimulationOptions options = simulation.problem().options;
    options.restarts = false;
    options.balance = Balance::off;
    options.recorded.clear();
    options.external.insert(options.external.begin(), parameters.begin(), parameters.end());
    full_ = problem_without_start(system_, options, simulation.outputs());
    start_like(full_, simulation.system(), simulation.problem().initial);
  }

  ExchangeModel make() {
    minimal_ = std::make_unique<MinimalProblem>(full_);
    if (has_iterated_exponentials(*minimal_))
      return refuse(
          "exponentials (junctions) stand in equations that can only be solved by limited iterations");
    find_discrete();
    for (const bool switched : {true, false}) {
      if (switched && own_.empty()) continue;
      points_ = points(switched);
      form_ = explicit_form(pool_, minimal_->form, points_);
      if (!form_) continue;
      steps_ = form_->solved;
      pivots_ = form_->pivots;
      if (!form_->iterated.empty()) {
        newton_ = newton_formulas(pool_, *form_, 1e-12, steps_, points_, pivots_);
        if (!newton_) continue;
      }
      return write();
    }
    return refuse("its equations have no explicit form: a block of them is too large, or its pivots change");
  }

 private:
  static ExchangeModel refuse(std::string why) {
    ExchangeModel none;
    none.refused = std::move(why);
    return none;
  }

  void find_discrete() {
    const auto& discrete = minimal_->system.discrete;
    for (std::size_t k = 0; k < discrete.size(); ++k)
      if (std::find(full_.external.begin(), full_.external.end(), static_cast<std::int32_t>(k)) ==
          full_.external.end())
        own_.push_back(static_cast<std::int32_t>(k));
  }

  Expr held(std::int32_t k) { return discrete_symbol(minimal_->system, k); }

  // Pivots must be good ones for parameters in some range around their values.
  std::vector<ExprMap<double>> points(bool switched) {
    auto all = sample_points(*minimal_, switched);
    for (std::size_t p = 0; p < all.size(); ++p)
      for (std::size_t i = 0; i < full_.external.size(); ++i) {
        const double start = minimal_->problem.initial.held[full_.external[i]];
        const double by = p == 0 ? 0.0 : 0.4 * std::sin(1.0 + 2.0 * static_cast<double>(p * (i + 3)));
        all[p][held(full_.external[i])] = start != 0.0 ? start * (1.0 + by) : by;
      }
    return all;
  }

  // Coefficients are numbers, sines are shared, and what follows the iteration is written in its solution.
  Expr final(Expr value) { return substitute(substitute(substitute(value, numbers_), sines_), solution_); }

  void prepare_symbols() {
    const MinimalForm& m = minimal_->form;
    for (std::size_t k = 0; k < m.parameters.size(); ++k)
      numbers_[m.parameters[k]] = pool_.number(m.values[k]);
    std::vector<Expr> formulas;
    for (Expr f : m.derivatives) formulas.push_back(substitute(f, numbers_));
    for (const auto& [symbol, value] : form_->solved) formulas.push_back(substitute(value, numbers_));
    sines_ = shared_sines(pool_, formulas);
    for (std::size_t k = 0; k < form_->iterated.size(); ++k)
      solution_[form_->iterated[k]] = pool_.symbol(fmt::format("~solution{}", k));
  }

  void list_inputs() {
    inputs_.push_back({pool_.symbol("t"), given});
    for (Expr z : minimal_->form.states) inputs_.push_back({z, given});
    for (std::int32_t k : full_.external) inputs_.push_back({held(k), given});
    for (std::int32_t k : own_) inputs_.push_back({held(k), given});
    first_iterate_ = inputs_.size();
    for (Expr w : form_->iterated) inputs_.push_back({w, iteration});
    for (Expr w : form_->iterated) inputs_.push_back({solution_[w], rates});
  }

  std::size_t root(Expr value, int section) {
    roots_.push_back({value, section});
    return roots_.size() - 1;
  }

  // Quantities whose sign decides: in updates that nothing but their own change brings about, and in the
  // equations. What time alone decides there has its own events.
  std::vector<Expr> indicators() {
    std::vector<Expr> formulas;
    for (std::int32_t k : own_)
      if (minimal_->system.discrete[k].every == 0.0 &&
          (!is_timed(k) || has_input(minimal_->system.discrete[k].update)))
        formulas.push_back(substitute(minimal_->system.discrete[k].update, numbers_));
    for (Expr f : minimal_->form.derivatives) formulas.push_back(substitute(f, numbers_));
    for (const auto& [symbol, value] : form_->solved) formulas.push_back(substitute(value, numbers_));
    std::vector<Expr> found;
    for (Expr quantity : switching_quantities(formulas)) {
      const auto symbols = symbols_of(std::span(&quantity, 1));
      if (std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return s != pool_.symbol("t"); }))
        found.push_back(quantity);
    }
    return found;
  }

  bool has_input(Expr value) {
    return std::any_of(full_.external.begin() + static_cast<long>(parameters_), full_.external.end(),
                       [&](std::int32_t k) { return depends_on(value, held(k)); });
  }

  bool is_timed(std::int32_t k) {
    const Discrete& d = minimal_->system.discrete[k];
    const Expr t = pool_.symbol("t");
    if (d.every != 0.0 || !depends_on(d.update, t)) return false;
    const auto symbols = symbols_of(std::span(&d.update, 1));
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](Expr s) { return s == t || discrete_of(minimal_->system, s) >= 0; });
  }

  ExchangeModel write() {
    prepare_symbols();
    list_inputs();
    const MinimalForm& m = minimal_->form;
    Assignments list(pool_);
    std::vector<std::pair<Expr, Expr>> after;  // what follows the iteration
    for (const auto& [symbol, value] : form_->solved) after.emplace_back(symbol, final(value));
    for (const auto& [symbol, value] : after) list.assign(symbol, value);
    std::vector<std::size_t> next;
    std::size_t error = 0;
    if (newton_) {
      for (std::size_t k = form_->solved.size(); k < steps_.size(); ++k)
        list.assign(steps_[k].first, substitute(steps_[k].second, numbers_));
      for (std::size_t k = 0; k < newton_->change.size(); ++k)
        next.push_back(root(form_->iterated[k] - newton_->change[k], iteration));
      error = root(newton_->error, iteration);
    }
    std::vector<Expr> unknowns;
    for (Expr f : m.derivatives) unknowns.push_back(final(f));
    for (Expr y : minimal_->problem.outputs) unknowns.push_back(final(y));
    std::vector<std::size_t> values, changes;
    for (std::size_t k = 0; k < unknowns.size(); ++k)
      values.push_back(root(unknowns[k], k < m.states.size() ? rates : outputs));
    const std::vector<Expr> deciding = indicators();
    for (Expr z : deciding) values.push_back(root(final(z), outputs));
    for (std::int32_t k : own_) changes.push_back(root(final(minimal_->system.discrete[k].update), updates));
    add_slopes(after, unknowns, list);
    std::vector<std::size_t> derivatives;
    for (Expr slope : slope_values_) derivatives.push_back(root(slope, slopes));
    std::vector<Pivot> judged;
    for (const Pivot& p : pivots_) {
      judged.push_back({final(p.chosen), {}});
      for (Expr entry : p.row) judged.back().row.push_back(final(entry));
    }
    const std::size_t smallest = root(smallest_pivot(pool_, judged), pivots);

    Procedure& procedure = result_.procedure;
    procedure.program = make_program(pool_, inputs_, list.list(), roots_, section_count, outputs);
    const std::size_t of_slopes = procedure.program.section(slopes).size();
    if (procedure.program.code.size() - of_slopes > most_instructions)
      return refuse(fmt::format("its explicit form takes {} operations, more than {}",
                                procedure.program.code.size() - of_slopes, most_instructions));
    write_entries(values, changes, derivatives, smallest, next, error);
    describe();
    result_.indicators = deciding.size();
    return std::move(result_);
  }

  void add_slopes(const std::vector<std::pair<Expr, Expr>>& after, const std::vector<Expr>& unknowns,
                  Assignments& list) {
    ExchangeSlopes chain(pool_, list);
    for (Expr z : minimal_->form.states) chain.add_known(z);
    for (std::int32_t k : full_.external) chain.add_known(held(k));
    for (std::size_t k = 0; k < parameters_; ++k)
      chain.set_kind(held(full_.external[k]), ExchangeModel::Dependence::tunable);
    for (std::int32_t k : own_) chain.set_kind(held(k), ExchangeModel::Dependence::discrete);
    chain.set_kind(pool_.symbol("t"), ExchangeModel::Dependence::dependent);
    if (newton_) {
      std::vector<Expr> residuals, solutions;
      for (Expr r : form_->residuals) residuals.push_back(final(r));
      for (Expr w : form_->iterated) solutions.push_back(solution_[w]);
      auto at = points_;
      for (auto& point : at)
        for (const auto& [w, solution] : solution_) point[solution] = point.at(w);
      if (!chain.add_implicit(residuals, solutions, steps_.size(), at)) {
        result_.without_slopes = "the tangent of what is iterated on has no acceptable pivots";
        return;
      }
    }
    for (const auto& [symbol, value] : after) chain.add_assigned(symbol, value);
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      result_.timed_unknowns.push_back(chain.of_time(unknowns[k]));
      for (const auto& [known, slope] : chain.slopes_of(unknowns[k])) {
        result_.slopes.push_back(
            {static_cast<std::int32_t>(k), static_cast<std::int32_t>(known), chain.kind_of(slope)});
        slope_values_.push_back(slope);
      }
    }
  }

  void write_entries(const std::vector<std::size_t>& values, const std::vector<std::size_t>& changes,
                     const std::vector<std::size_t>& derivatives, std::size_t smallest,
                     const std::vector<std::size_t>& next, std::size_t error) {
    Procedure& procedure = result_.procedure;
    SectionWriter write(procedure.program);
    const auto registers = [&](const std::vector<std::size_t>& list) {
      std::vector<std::int32_t> found;
      for (std::size_t k : list) found.push_back(procedure.program.roots[k]);
      return found;
    };
    std::vector<std::int32_t> taken, iterates;
    for (std::size_t k = 0; k < first_iterate_ + next.size(); ++k)
      taken.push_back(static_cast<std::int32_t>(k));
    for (std::size_t k = 0; k < next.size(); ++k)
      iterates.push_back(static_cast<std::int32_t>(first_iterate_ + k));
    Body begin{take(taken), run_section(constants), run_section(given), run_section(unused)};
    if (!next.empty()) {
      IterationRegisters count{};
      const std::pair<std::int32_t*, double> starts[] = {
          {&count.most, 60.0}, {&count.fixed, 0.0}, {&count.iterations, 0.0}, {&count.worst, 0.0}};
      for (const auto& [reg, value] : starts) {
        *reg = write.new_register();
        write.assign(*reg, write.number(value));
      }
      begin.push_back(write.end());
      std::vector<RegisterCopy> again, found;
      for (std::size_t k = 0; k < next.size(); ++k) {
        again.push_back({iterates[k], procedure.program.roots[next[k]]});
        found.push_back({static_cast<std::int32_t>(first_iterate_ + next.size() + k), iterates[k]});
      }
      // Rounding may keep the last digits moving.
      const Body newton = iterate_until(write, {run_section(iteration), copy_registers(again)},
                                        procedure.program.roots[error], count, 1e3);
      begin.insert(begin.end(), newton.begin(), newton.end());
      begin.push_back(copy_registers(found));
    }
    begin.push_back(run_section(rates));
    begin.push_back(run_section(outputs));
    const auto entry = [&](const char* name, int last, std::vector<std::int32_t> given_out) {
      Body body = begin;
      for (int s = updates; s <= last; ++s) body.push_back(run_section(s));
      body.push_back(emit(std::move(given_out)));
      procedure.entries.push_back({name, std::move(body)});
    };
    std::vector<std::int32_t> row = registers(values);
    row.insert(row.end(), iterates.begin(), iterates.end());
    entry("values", outputs, row);
    entry("updates", updates, registers(changes));
    if (result_.without_slopes.empty() &&
        procedure.program.section(slopes).size() > most_slope_instructions) {
      result_.without_slopes = fmt::format("they take {} operations, more than {}",
                                           procedure.program.section(slopes).size(), most_slope_instructions);
    }
    if (!result_.without_slopes.empty()) result_.slopes.clear();
    if (!result_.slopes.empty()) entry("slopes", slopes, registers(derivatives));
    entry("pivots", pivots, {procedure.program.roots[smallest]});
    // Pivots need nothing of the derivatives.
    auto& body = procedure.entries.back().body;
    std::erase_if(body, [](const Statement& s) { return s.flow == Flow::section && s.index == slopes; });
    add_timed(write);
  }

  void add_timed(SectionWriter&) {
    std::vector<Expr> changes;
    for (std::size_t k = 0; k < own_.size(); ++k)
      if (is_timed(own_[k])) {
        result_.timed.push_back(static_cast<std::int32_t>(k));
        changes.push_back(minimal_->system.discrete[own_[k]].update);
      }
    if (changes.empty()) return;
    Program& program = result_.procedure.program;
    std::vector<ProgramInput> in{{pool_.symbol("t"), 0}};
    std::vector<std::int32_t> taken{0};
    for (std::size_t k = 1 + minimal_->form.states.size(); k < first_iterate_; ++k) {
      in.push_back({inputs_[k].symbol, 0});
      taken.push_back(static_cast<std::int32_t>(k));
    }
    std::vector<ProgramRoot> wanted;
    for (Expr change : changes) wanted.push_back({change, 0});
    const int section = program.sections();
    const auto found = append(program, make_program(pool_, in, {}, wanted, 1), taken);
    result_.procedure.entries.push_back({"timed", {take(taken), run_section(section), emit(found)}});
  }

  void describe() {
    const MinimalForm& m = minimal_->form;
    for (std::size_t k = 0; k < m.states.size(); ++k) {
      const Rate& r = system_.rates[m.state_rates[k]];
      const Group& group = system_.groups[r.group];
      const std::int32_t plus = group.plus[r.symbol][r.member], minus = group.minus[r.symbol][r.member];
      const std::int32_t column = plus >= 0 ? plus : minus;
      result_.states.push_back({rate_name(system_, m.state_rates[k]),
                                column >= 0 ? column_unit(system_, column) : "",
                                minimal_->problem.initial.x[k]});
    }
    for (std::size_t k = 0; k < own_.size(); ++k) {
      const Discrete& d = minimal_->system.discrete[own_[k]];
      result_.discrete.push_back(d.name);
      result_.held.push_back(minimal_->problem.initial.held[own_[k]]);
      result_.every.push_back(d.every == 0.0 ? 0.0 : d.interval(full_.step));
      if (own_[k] == full_.stop_event) result_.stop = static_cast<std::int32_t>(k);
    }
    for (Expr w : form_->iterated) {
      const auto at = std::find(m.unknowns.begin(), m.unknowns.end(), w) - m.unknowns.begin();
      result_.iterated.push_back(minimal_->problem.initial.x[m.states.size() + static_cast<std::size_t>(at)]);
    }
    SourceJumps jumps(system_, full_.step, full_.options.stop);
    const double until = full_.options.stop + 0.5 * full_.step;
    for (; jumps.next() <= until; jumps.pass()) {
      if (!jumps.jumps()) continue;
      result_.jumps.push_back(jumps.next());
      result_.before_jumps.push_back(jumps.before(jumps.next()));
      if (result_.jumps.size() > most_listed_jumps) {
        result_.refused =
            fmt::format("its sources jump more than {} times before it stops", most_listed_jumps);
        return;
      }
    }
    if (jumps.next() < std::numeric_limits<double>::infinity()) result_.known_to = until;
  }

  UnknownStates changed_;
  EquationSystem system_;
  Pool& pool_;
  std::size_t parameters_;
  Problem full_;
  std::unique_ptr<MinimalProblem> minimal_;
  std::vector<std::int32_t> own_;  // discrete variables that nobody sets from outside
  std::vector<ExprMap<double>> points_;
  std::optional<ExplicitForm> form_;
  std::optional<NewtonFormulas> newton_;
  std::vector<std::pair<Expr, Expr>> steps_;
  std::vector<Pivot> pivots_;
  ExprMap<Expr> numbers_, sines_, solution_;
  std::vector<ProgramInput> inputs_;
  std::size_t first_iterate_ = 0;
  std::vector<ProgramRoot> roots_;
  std::vector<Expr> slope_values_;
  ExchangeModel result_;
};

}  // namespace

ExchangeModel make_exchange_model(const Model& model, const Simulation& simulation,
                                  const std::vector<std::string>& parameters) {
  ExchangeModel none;
  try {
    return ExchangeMaker(model, simulation, parameters).make();
  } catch (const ModelError& error) {
    none.refused = error.faults().front().message;
  } catch (const SimulationError& error) {
    none.refused = error.what();
  }
  return none;
}

}  // namespace tellegen
