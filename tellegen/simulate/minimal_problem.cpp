#include "tellegen/simulate/minimal_problem.h"

#include <cmath>

#include "tellegen/simulate/delays.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {

namespace {

const EquationSystem& checked(const EquationSystem& system, MinimalProblem::Size size) {
  refuse_delays(system, "the minimal form");
  if (size == MinimalProblem::Size::written_out) check_written_out(system);
  return system;
}

// States of the minimal form follow the derivatives of sources that lie across storage; where such a source
// jumps its derivative is an impulse, which no step sees. Only `exact` takes it as it is.
void refuse_jumps_across_storage(const Problem& full, const MinimalForm& form) {
  const EquationSystem& system = *full.system;
  const Expr time = system.model->pool->symbol("t");
  ExprMap<double> numbers;
  for (std::size_t k = 0; k < form.parameters.size(); ++k) numbers[form.parameters[k]] = form.values[k];
  for (const Expr value : form.derived_from) {
    if (!value) continue;
    bool jumps = false;
    for (const Expr s : symbols_of(std::span(&value, 1)))
      jumps = jumps || !(s == time || numbers.contains(s));
    SourceJumps at(system, full.step, full.options.stop);
    for (int k = 0; !jumps && k < 10000 && at.next() <= full.options.stop; ++k, at.pass()) {
      if (!at.jumps()) continue;
      numbers[time] = at.before(at.next());
      const double before = evaluate(value, numbers);
      numbers[time] = at.next();
      const double after = evaluate(value, numbers);
      jumps = std::abs(after - before) > 1e-6 * (std::abs(after) + std::abs(before));
    }
    if (jumps)
      throw ModelError(
          {{system.model->file.string(), 0},
           "T213",
           "storage follows a source that jumps, and its derivative is an impulse there",
           {"the minimal form cannot take it: use --form tableau, and method tr, bdf2, adaptive or exact "
            "instead of rk4"}});
  }
}

}  // namespace

MinimalProblem::MinimalProblem(const Problem& full, Size size)
    : full(full.system),
      form(minimal_form(checked(*full.system, size), full.storage, full.options.restarts)),
      system(as_system(*full.system, form)) {
  problem.system = &system;
  problem.storage.is_state.assign(form.states.size(), 1);
  problem.step = full.step;
  problem.stride = full.stride;
  problem.options = full.options;
  problem.external = full.external;
  problem.stop_event = full.stop_event;
  problem.initial.held = full.initial.held;
  problem.output_names = full.output_names;
  for (Expr output : full.outputs) problem.outputs.push_back(in_minimal_columns(form, output));
  for (Expr total : full.totals) problem.totals.push_back(in_minimal_columns(form, total));
  problem.totals_start = full.totals_start;
  problem.followed_outputs = full.followed_outputs;
  if (size == Size::written_out) refuse_jumps_across_storage(full, form);
  begin(full);
}

void MinimalProblem::begin(const Problem& full) {
  const EquationSystem& tableau = *full.system;
  problem.initial.x.clear();
  problem.initial.rates.clear();
  const auto value = [&](std::int32_t rate) {
    const Rate& r = tableau.rates[rate];
    return symbol_value(tableau.groups[r.group], r.symbol, r.member, full.initial.x);
  };
  for (std::int32_t k : form.state_rates) {
    problem.initial.x.push_back(value(k));
    problem.initial.rates.push_back(full.initial.rates[k]);
  }
  for (std::int32_t c : form.unknown_columns)
    problem.initial.x.push_back(c < tableau.size() ? full.initial.x[c]
                                                   : full.initial.rates[c - tableau.size()]);
}

bool MinimalProblem::restart(const Problem& full) {
  if (!renumber(form, *full.system)) return false;
  for (std::size_t k = 0; k < form.values.size(); ++k) system.groups[0].values[k][0] = form.values[k];
  problem.options = full.options;
  begin(full);
  return true;
}

namespace {

class MinimalFixedStep : public Integrator, public HasLanes {
 public:
  explicit MinimalFixedStep(const Problem& full)
      : full_(full), minimal_(full), inner_(minimal_.problem, build_network(minimal_.system)) {}
  bool restart() override { return minimal_.restart(full_) && inner_.restart(); }
  std::unique_ptr<RunLanes> lanes() override { return inner_.lanes(); }
  void compile(double interpreting) override { inner_.compile(interpreting); }
  bool keep(Checkpoint& parts) override { return inner_.keep(parts); }
  StepCode step_code() const override {
    StepCode code = inner_.step_code();
    for (StepCode::Part& part : code.parts) part.numbers.clear();  // its own, not the model's
    return code;
  }
  std::int64_t advance(std::int64_t samples, double* rows) override { return inner_.advance(samples, rows); }
  void set_input(int input, double value) override { inner_.set_input(input, value); }
  std::optional<double> ended() const override { return inner_.ended(); }
  std::string failure() const override { return inner_.failure(); }
  Totals totals() const override { return inner_.totals(); }
  Statistics statistics() const override {
    Statistics s = inner_.statistics();
    s.executor = "minimal form, " + s.executor;
    return s;
  }

 private:
  const Problem& full_;
  MinimalProblem minimal_;
  WholeIntegrator inner_;
};

}  // namespace

std::unique_ptr<Integrator> minimal_fixed_step(const Problem& problem) {
  return std::make_unique<MinimalFixedStep>(problem);
}

std::string rate_domain(const EquationSystem& system, std::int32_t rate) {
  const Rate& r = system.rates[rate];
  const Group& group = system.groups[r.group];
  const LocalSymbol& symbol = group.symbols[r.symbol];
  if (symbol.what != LocalSymbol::What::across && symbol.what != LocalSymbol::What::through) return {};
  const Model& model = *system.model;
  const Kind& kind = model.kinds[model.components[group.components[r.member]].kind];
  return model.domains[kind.edges[symbol.index].domain].name;
}

}  // namespace tellegen
