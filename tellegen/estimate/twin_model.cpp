#include "tellegen/estimate/twin_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tellegen/estimate/coordinate.h"
#include "tellegen/estimate/smoothness.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/model/reading.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/explicit_problem.h"

namespace tellegen {
namespace {

using Varies = ModelUnknown::Varies;
using Coordinate = ModelUnknown::Coordinate;

constexpr std::size_t compiled_states = 40;

// '*' stands for anything.
bool fits(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t k = star; k <= name.size(); ++k)
    if (fits(rest, name.substr(k))) return true;
  return false;
}

std::vector<Coordinate> resolved(const Model& model, const TwinOptions& options) {
  std::vector<Coordinate> coordinates;
  for (int k : options.unknowns) {
    const ModelUnknown& unknown = model.unknowns[k];
    if (unknown.coordinate != Coordinate::automatic)
      coordinates.push_back(unknown.coordinate);
    else
      coordinates.push_back(options.plain ? Coordinate::value : chosen_coordinate(model, unknown));
  }
  return coordinates;
}

// A name of the minimal form's states that a user would give: the node's, where the other end is the datum.
std::string state_name(const EquationSystem& system, std::int32_t rate) {
  const Rate& r = system.rates[rate];
  const Group& group = system.groups[r.group];
  const std::int32_t plus = group.plus[r.symbol][r.member], minus = group.minus[r.symbol][r.member];
  return minus < 0 && plus >= 0 ? column_name(system, plus) : rate_name(system, rate);
}

SlopeRows rows_of(const Matrix& dense) {
  SlopeRows rows;
  for (Eigen::Index i = 0; i < dense.rows(); ++i) {
    for (Eigen::Index j = 0; j < dense.cols(); ++j)
      if (dense(i, j) != 0.0) {
        rows.column.push_back(static_cast<std::int32_t>(j));
        rows.value.push_back(dense(i, j));
      }
    rows.start.push_back(static_cast<std::int32_t>(rows.column.size()));
  }
  return rows;
}

}  // namespace

TwinModel::TwinModel(const Model& model, const TwinOptions& options)
    : coordinates_(resolved(model, options)),
      augmented_(
          with_unknown_states(model, options.unknowns, coordinates_, options.inputs, options.input_noise)),
      sampled_(options.events ? take_samples_as_states(augmented_.model) : std::vector<SampledState>()),
      system_(build_system(augmented_.model)) {
  refuse_fmus(model, "estimators need equations");
  const Place place{model.file.string(), 0};
  for (const Discrete& d : system_.discrete)
    if (!d.external && !options.events)
      throw ModelError(
          {place,
           "T622",
           fmt::format("'{}' changes at events, which only estimate with kf, ekf or pkf follows", d.name),
           {"take one of these; otherwise describe it by a smooth law, or give it as an input "
            "by the data"}});
  SimulationOptions simulation;
  simulation.stop = simulation.step = 1.0;
  simulation.external = options.inputs;
  collect_quantities(augmented_.model, options);
  std::vector<OutputColumn> outputs;
  for (int s : options.sensors) {
    const ModelOutput& sensor = augmented_.model.outputs[s];
    outputs.push_back({sensor.name, sensor.unit, sensor.value});
    noise_.push_back(sensor.noise.value_or(0.0));
  }
  sensors_ = outputs.size();
  for (const EstimatedQuantity& q : quantities_) {
    if (q.what == EstimatedQuantity::What::state) continue;  // below
    if (q.what == EstimatedQuantity::What::unknown) {
      for (const auto& u : augmented_.unknowns)
        if (augmented_.model.parameters[augmented_.model.unknowns[u.unknown].parameter].name == q.name)
          outputs.push_back({q.name, q.unit, u.value});
    } else {
      for (const ModelOutput& o : augmented_.model.outputs)
        if (o.name == q.name) outputs.push_back({o.name, o.unit, o.value});
    }
  }
  full_ = prepare_problem(system_, simulation, outputs);
  problem_ = std::make_unique<MinimalProblem>(full_, MinimalProblem::Size::any);
  reading_formulas_.assign(problem_->problem.outputs.begin(),
                           problem_->problem.outputs.begin() + static_cast<long>(sensors_));
  quantity_formulas_.assign(problem_->problem.outputs.begin() + static_cast<long>(sensors_),
                            problem_->problem.outputs.end());
  for (std::int32_t k : full_.external) inputs_.push_back(discrete_symbol(system_, k));
  event_formulas();
  name_states(model, options.listed_states);
  build_program(options.compile);
}

void TwinModel::collect_quantities(const Model& model, const TwinOptions& options) {
  using What = EstimatedQuantity::What;
  for (const auto& u : augmented_.unknowns) {
    const ModelParameter& p = model.parameters[model.unknowns[u.unknown].parameter];
    quantities_.push_back({What::unknown, p.name, p.unit});
  }
  for (std::size_t k = 0; k < model.outputs.size(); ++k) {
    const bool used = std::find(options.sensors.begin(), options.sensors.end(), static_cast<int>(k)) !=
                      options.sensors.end();
    quantities_.push_back({used ? What::sensor : What::output, model.outputs[k].name, model.outputs[k].unit});
  }
}

void TwinModel::name_states(const Model& model, std::size_t listed) {
  const MinimalForm& form = problem_->form;
  const double infinite = std::numeric_limits<double>::infinity();
  std::vector<char> fitted(model.estimation.states.size(), 0);
  for (std::size_t k = 0; k < form.state_rates.size(); ++k) {
    TwinState state;
    const std::string own = rate_name(system_, form.state_rates[k]);
    state.name = state_name(system_, form.state_rates[k]);
    state.start = problem_->problem.initial.x[k];
    std::pair<double, double> bounds{-infinite, infinite};
    for (std::size_t u = 0; u < augmented_.unknowns.size(); ++u) {
      const auto& names = augmented_.unknowns[u].variables;
      const auto found = std::find(names.begin(), names.end(), own);
      if (found == names.end()) continue;
      const ModelUnknown& unknown = model.unknowns[augmented_.unknowns[u].unknown];
      const ModelParameter& parameter = model.parameters[unknown.parameter];
      const double value = unknown.start.value_or(parameter.number);
      const double scale = std::abs(value_slope(coordinates_[u], to_coordinate(coordinates_[u], value)));
      // Where nothing is said the value may be ten times smaller: an inverse ten times larger.
      const double guess = coordinates_[u] == Coordinate::inverse ? 10.0 : 1.0;
      const double deviation = unknown.deviation.value_or(value != 0.0 ? guess * std::abs(value) : 1.0);
      state.unknown = static_cast<int>(u);
      state.keep = unknown.keep;
      const bool first = found == names.begin(), slope = unknown.varies == Varies::integrated_walk && !first;
      state.name = first ? parameter.name : parameter.name + own.substr(own.rfind('.'));
      state.unit = first && coordinates_[u] == Coordinate::value ? parameter.unit : "";
      state.deviation = (slope ? std::max(deviation, unknown.walk) : deviation) / scale;
      const bool driven =
          unknown.varies == Varies::integrated_walk ? slope : unknown.varies != Varies::constant;
      state.noise = driven ? unknown.walk / scale : 0.0;
      if (first && unknown.varies != Varies::oscillator) {
        double low = unknown.lower ? to_coordinate(coordinates_[u], *unknown.lower) : -infinite;
        double high = unknown.upper ? to_coordinate(coordinates_[u], *unknown.upper) : infinite;
        if (coordinates_[u] == Coordinate::inverse) {
          // The bounds change places; where there are none it stays positive, as its start is.
          const double upper = low;
          low = std::isfinite(high) && high > 0.0 ? high : 1e-9 * to_coordinate(coordinates_[u], value);
          high = std::isfinite(upper) && upper > low ? upper : infinite;
        }
        bounds = {low, high};
      }
    }
    for (const TwinSample& sample : samples_)
      state.sampled = state.sampled || sample.state == static_cast<long>(k);
    if (state.unknown < 0 && !state.sampled) {
      const auto apply = [&](bool exact) {
        for (std::size_t s = 0; s < model.estimation.states.size(); ++s) {
          const ModelEstimation::State& said = model.estimation.states[s];
          const bool plain = said.pattern.find('*') == std::string::npos;
          if (plain != exact || !(fits(said.pattern, state.name) || fits(said.pattern, own))) continue;
          fitted[s] = 1;
          if (said.start) state.start = *said.start;
          if (said.deviation) state.deviation = *said.deviation;
          state.noise = said.noise;
          state.rate_noise = said.rate_noise;
          state.keep = said.keep;
        }
      };
      apply(false);
      apply(true);
    }
    for (const auto& noise : augmented_.noises)
      if (noise.variable == own) {
        state.deviation = state.noise = noise.deviation;
        state.fresh = true;
      }
    states_.push_back(std::move(state));
    bounds_.push_back(bounds);
  }
  std::vector<std::string> names;
  const auto own = [](const TwinState& s) { return s.unknown < 0 && !s.fresh && !s.sampled; };
  for (const TwinState& s : states_)
    if (own(s)) names.push_back(s.name);
  for (std::size_t s = 0; s < fitted.size(); ++s)
    if (!fitted[s]) {
      const auto& said = model.estimation.states[s];
      throw ModelError({said.place,
                        "T621",
                        fmt::format("no state is called '{}'", said.pattern),
                        {did_you_mean(said.pattern, names), "the states: " + joined(names)}});
    }
  for (std::size_t k = 0; k < states_.size() && states_.size() <= listed; ++k)
    if (own(states_[k])) {
      quantities_.push_back({EstimatedQuantity::What::state, states_[k].name, ""});
      quantity_formulas_.push_back(form.states[k]);
    }
}

// Where the residuals are linear in w and their tangent is a matrix of numbers, w needs no iteration:
// w = -M^-1 g(x, 0, u, t). The numbers of the inverse are parameters of the program, like the model's own.
void TwinModel::eliminate_unknowns(MinimalForm& form, std::vector<std::vector<Expr>*> formulas) {
  const std::size_t m = form.unknowns.size();
  if (m == 0 || m > 64) return;
  Pool& pool = *augmented_.model.pool;
  ExprMap<double> numbers;
  for (std::size_t k = 0; k < form.parameters.size(); ++k) numbers[form.parameters[k]] = form.values[k];
  Matrix tangent(static_cast<long>(m), static_cast<long>(m));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      const Expr slope = derivative(form.residuals[i], form.unknowns[j]);
      for (Expr s : symbols_of(std::span(&slope, 1)))
        if (!numbers.contains(s)) return;
      tangent(static_cast<long>(i), static_cast<long>(j)) = tellegen::evaluate(slope, numbers);
    }
  const Eigen::VectorXd sizes = singular_values(tangent);
  if (!(sizes[sizes.size() - 1] > 1e-15 * sizes[0])) return;
  const Matrix solved = inverse(tangent);
  ExprMap<Expr> none, found;
  for (Expr w : form.unknowns) none[w] = pool.number(0);
  for (std::size_t i = 0; i < m; ++i) {
    std::vector<Expr> terms;
    const double largest = solved.row(static_cast<long>(i)).cwiseAbs().maxCoeff();
    for (std::size_t j = 0; j < m; ++j) {
      const double entry = solved(static_cast<long>(i), static_cast<long>(j));
      if (entry == 0.0) continue;
      // What cancels up to rounding is none, where the rows are of like size.
      if (std::abs(entry) < 1e-15 * largest && std::abs(entry) < 1e-15) continue;
      Expr factor = pool.number(-entry);
      if (entry != 1.0 && entry != -1.0) {
        factor = pool.symbol(fmt::format("~inverse{}_{}", i, j));
        form.parameters.push_back(factor);
        form.values.push_back(-entry);
      }
      terms.push_back(factor * substitute(form.residuals[j], none));
    }
    found[form.unknowns[i]] = pool.add(terms);
  }
  for (std::vector<Expr>* list : formulas)
    for (Expr& formula : *list) formula = substitute(formula, found);
  form.unknowns.clear();
  form.residuals.clear();
}

const std::optional<TwinFormulas>& TwinModel::formulas() {
  if (std::exchange(looked_for_formulas_, true)) return formulas_;
  const MinimalForm& form = problem_->form;
  TwinFormulas all{form.derivatives, reading_formulas_, quantity_formulas_};
  if (!form.unknowns.empty()) {
    if (form.unknowns.size() > 64 || has_iterated_exponentials(*problem_)) return formulas_;
    std::vector<ExprMap<double>> points = sample_points(*problem_, false);
    for (std::size_t k = 0; k < points.size(); ++k)
      for (Expr u : inputs_) points[k].try_emplace(u, static_cast<double>(k));
    const auto solved = explicit_form(*augmented_.model.pool, form, points);
    if (!solved || !solved->iterated.empty()) return formulas_;
    ExprMap<Expr> found;
    for (const auto& [symbol, value] : solved->solved) found[symbol] = substitute(value, found);
    for (std::vector<Expr>* list : {&all.rates, &all.readings, &all.quantities})
      for (Expr& formula : *list) formula = substitute(formula, found);
  }
  formulas_ = std::move(all);
  return formulas_;
}

// What each state's rate is multiplied by, from its component's terminal equations.
void TwinModel::storage_formulas() {
  const MinimalForm& form = problem_->form;
  Pool& pool = *augmented_.model.pool;
  for (std::int32_t k : form.state_rates) {
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    ExprMap<Expr> local;
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      local[group.parameters[p]] = pool.number(group.values[p][r.member]);
    const auto column = [&](std::int32_t c) { return c < 0 ? pool.number(0) : column_symbol(system_, c); };
    for (std::size_t s = 0; s < group.symbols.size(); ++s)
      local[group.symbols[s].symbol] = column(group.plus[s][r.member]) - column(group.minus[s][r.member]);
    Expr coefficient = pool.number(1);
    for (Expr residual : group.residuals)
      if (const Expr c = derivative(residual, group.symbols[r.symbol].rate); !c.is_number(0)) {
        coefficient = substitute(c, local);
        break;
      }
    coefficient_formulas_.push_back(in_minimal_columns(form, coefficient));
  }
}

// What changes at events, and when, in states, w, t and what is held.
void TwinModel::event_formulas() {
  const MinimalForm& form = problem_->form;
  std::vector<Expr> conditions;
  for (std::size_t k = 0; k < system_.discrete.size(); ++k) {
    if (system_.discrete[k].external) continue;
    const Expr update = problem_->system.discrete[k].update;
    TwinDiscrete discrete{static_cast<std::int32_t>(k), conditions.size(), 0};
    if (system_.discrete[k].every == 0.0)
      for (Expr e : switching_quantities(std::span(&update, 1))) conditions.push_back(e);
    discrete.conditions = conditions.size() - discrete.first_condition;
    discrete_.push_back(discrete);
    event_formulas_.push_back(update);
  }
  held_.resize(static_cast<long>(discrete_.size()));
  for (std::size_t k = 0; k < discrete_.size(); ++k)
    held_[static_cast<long>(k)] = problem_->problem.initial.held[discrete_[k].of_system];
  for (const SampledState& sampled : sampled_)
    for (std::size_t k = 0; k < form.state_rates.size(); ++k)
      if (rate_name(system_, form.state_rates[k]) == sampled.variable) {
        samples_.push_back({static_cast<long>(k), sampled.every});
        event_formulas_.push_back(in_minimal_columns(form, in_columns(system_, sampled.update)));
      }
  event_formulas_.insert(event_formulas_.end(), conditions.begin(), conditions.end());
  if (!has_events()) return;
  std::vector<Expr> equations = form.derivatives;
  equations.insert(equations.end(), form.residuals.begin(), form.residuals.end());
  const std::vector<Expr> kinks = switching_quantities(equations);
  kinks_ = kinks.size();
  event_formulas_.insert(event_formulas_.end(), kinks.begin(), kinks.end());
}

// A section may use what those before it have found: see Section.
void TwinModel::build_program(bool compile) {
  MinimalForm form = problem_->form;
  Pool& pool = *augmented_.model.pool;
  const Expr t = pool.symbol("t");
  storage_formulas();
  std::vector<Expr> readings_of = reading_formulas_, quantities_of = quantity_formulas_,
                    coefficients_of = coefficient_formulas_, events_of = event_formulas_;
  eliminate_unknowns(form, {&form.derivatives, &readings_of, &quantities_of, &coefficients_of, &events_of});
  std::vector<ProgramInput> inputs;
  for (Expr z : form.states) inputs.push_back({z, 1});
  for (Expr w : form.unknowns) inputs.push_back({w, 1});
  input_t_ = inputs.size();
  inputs.push_back({t, 1});
  input_u_ = inputs.size();
  for (Expr u : inputs_) inputs.push_back({u, 1});
  input_du_ = inputs.size();
  std::vector<Expr> slopes;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    slopes.push_back(pool.symbol(fmt::format("~input_rate{}", k)));
    inputs.push_back({slopes.back(), 1});
  }
  input_held_ = inputs.size();
  for (const TwinDiscrete& d : discrete_) inputs.push_back({discrete_symbol(system_, d.of_system), 1});
  const std::size_t parameters = inputs.size();
  for (Expr p : form.parameters) inputs.push_back({p, 0});

  std::vector<ProgramRoot> roots;
  const auto values = [&](const std::vector<Expr>& of, int section) {
    const std::size_t first = roots.size();
    for (Expr e : of) roots.push_back({e, section});
    return first;
  };
  const auto slopes_of = [&](const std::vector<Expr>& of, const std::vector<Expr>& by, int section) {
    Slopes slopes_of;
    slopes_of.first = roots.size();
    slopes_of.width = by.size();
    ExprMap<std::int32_t> index;
    for (std::size_t k = 0; k < by.size(); ++k) index[by[k]] = static_cast<std::int32_t>(k);
    for (Expr e : of) {
      std::vector<std::pair<std::int32_t, Expr>> used;
      for (Expr s : symbols_of(std::span(&e, 1)))
        if (const auto found = index.find(s); found != index.end()) used.emplace_back(found->second, s);
      std::sort(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<Expr> symbols;
      for (const auto& [k, s] : used) symbols.push_back(s);
      const std::vector<Expr> found = gradient(e, symbols);
      for (std::size_t k = 0; k < used.size(); ++k) {
        if (found[k].is_number(0)) continue;
        roots.push_back({found[k], section});
        slopes_of.column.push_back(used[k].first);
      }
      slopes_of.start.push_back(static_cast<std::int32_t>(slopes_of.column.size()));
    }
    return slopes_of;
  };
  const auto time_slopes = [&](const std::vector<Expr>& of, int section) {
    const std::size_t first = roots.size();
    for (Expr e : of) {
      Expr slope = pool.number(0);
      for (Expr s : symbols_of(std::span(&e, 1))) {
        if (s == t) slope = slope + derivative(e, t);
        for (std::size_t k = 0; k < inputs_.size(); ++k)
          if (s == inputs_[k]) slope = slope + derivative(e, s) * slopes[k];
      }
      roots.push_back({slope, section});
    }
    return first;
  };
  roots_.g = values(form.residuals, residuals);
  roots_.gw = slopes_of(form.residuals, form.unknowns, residuals);
  roots_.y = values(readings_of, sensor_readings);
  roots_.f = values(form.derivatives, state_rates);
  roots_.gx = slopes_of(form.residuals, form.states, reading_slopes);
  roots_.yx = slopes_of(readings_of, form.states, reading_slopes);
  roots_.yw = slopes_of(readings_of, form.unknowns, reading_slopes);
  roots_.fx = slopes_of(form.derivatives, form.states, rate_slopes);
  roots_.fw = slopes_of(form.derivatives, form.unknowns, rate_slopes);
  roots_.ft = time_slopes(form.derivatives, rate_slopes);
  roots_.gt = time_slopes(form.residuals, rate_slopes);
  roots_.q = values(quantities_of, the_rest);
  roots_.qx = slopes_of(quantities_of, form.states, the_rest);
  roots_.qw = slopes_of(quantities_of, form.unknowns, the_rest);
  roots_.c = values(coefficients_of, the_rest);
  roots_.cx = slopes_of(coefficients_of, form.states, the_rest);
  roots_.cw = slopes_of(coefficients_of, form.unknowns, the_rest);
  roots_.e = values(events_of, the_rest);
  roots_.ex = slopes_of(events_of, form.states, the_rest);
  roots_.ew = slopes_of(events_of, form.unknowns, the_rest);
  roots_.et = time_slopes(events_of, the_rest);

  constant_ = true;
  ExprMap<char> varying{{t, 1}};
  for (Expr e : form.states) varying[e] = 1;
  for (Expr e : form.unknowns) varying[e] = 1;
  for (Expr e : inputs_) varying[e] = 1;
  for (const TwinDiscrete& d : discrete_) varying[discrete_symbol(system_, d.of_system)] = 1;
  const auto fixed = [&](const Slopes& of) {
    for (std::size_t k = of.first; constant_ && k < of.first + of.column.size(); ++k)
      for (Expr s : symbols_of(std::span(&roots[k].value, 1))) constant_ = constant_ && !varying.contains(s);
  };
  const std::size_t n = form.states.size(), m = form.unknowns.size();
  fixed(roots_.gw);
  fixed(roots_.gx);
  fixed(roots_.yx);
  fixed(roots_.yw);
  constant_readings_ = constant_;
  fixed(roots_.fx);
  fixed(roots_.fw);

  Program program = make_program(pool, inputs, {}, roots, section_count);
  const std::vector<std::int32_t> exports = program.roots;
  batch_ = std::make_unique<Batch>(std::move(program),
                                   std::vector<InputSource>(inputs.size(), InputSource::uniform), exports, 1);
  batch_->allocate();
  for (std::size_t p = 0; p < form.values.size(); ++p)
    batch_->uniform(static_cast<std::int32_t>(parameters + p)) = form.values[p];
  for (std::size_t k = 0; k < discrete_.size(); ++k) hold(k, held_[static_cast<long>(k)]);
  // A compiler takes longer over many formulas than all steps of a record.
  if (compile && n + m <= compiled_states && !batch_->has_large_tables())
    if (const auto code = compile_c(batch_->c_source("twin"))) batch_->use(code, "twin");
  batch_->run(0, nullptr);
  // Slopes of readings that are constant are found here, once.
  for (int section : {residuals, sensor_readings, state_rates, reading_slopes}) batch_->run(section, nullptr);
  for (std::int32_t r : batch_->program().roots) root_at_.push_back(batch_->array(r));

  w_ = Eigen::Map<const Vector>(problem_->problem.initial.x.data() + n, static_cast<long>(m));
  const auto nl = static_cast<long>(n), ml = static_cast<long>(m);
  gw_.resize(ml, ml), gx_.resize(ml, nl), wx_.resize(ml, nl), fw_.resize(nl, ml);
  yw_.resize(static_cast<long>(sensors_), ml), qw_.resize(static_cast<long>(quantity_formulas_.size()), ml),
      cw_.resize(nl, ml);
  residual_.resize(ml), change_.resize(ml), gt_.resize(ml), wt_.resize(ml);
  if (m > 0) lu_ = Eigen::PartialPivLU<Matrix>(ml);
}

void TwinModel::read(Matrix& into, const Slopes& slopes) {
  into.setZero(static_cast<long>(slopes.rows()), static_cast<long>(slopes.width));
  std::size_t k = 0;
  for (std::size_t i = 0; i < slopes.rows(); ++i)
    for (; k < static_cast<std::size_t>(slopes.start[i + 1]); ++k)
      into(static_cast<long>(i), slopes.column[k]) = root(slopes.first + k);
}

void TwinModel::read(SlopeRows& into, const Slopes& slopes) {
  into.start = slopes.start;
  into.column = slopes.column;
  into.value.resize(slopes.column.size());
  for (std::size_t k = 0; k < into.value.size(); ++k) into.value[k] = root(slopes.first + k);
}

void TwinModel::read(Vector& into, std::size_t first) {
  for (Eigen::Index i = 0; i < into.size(); ++i) into[i] = root(first++);
}

// Finds w for this x. Where the residuals are linear in w the first iteration is the last but one; where
// changes have ceased to become smaller, what is left is rounding.
bool TwinModel::solve(const Vector& x, double t, const double* u) {
  const auto n = static_cast<std::size_t>(x.size());
  for (std::size_t i = 0; i < n; ++i) batch_->uniform(static_cast<std::int32_t>(i)) = x[static_cast<long>(i)];
  batch_->uniform(static_cast<std::int32_t>(input_t_)) = t;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    batch_->uniform(static_cast<std::int32_t>(input_u_ + k)) = u[k];
  constexpr double converged = 1e-11, of_rounding = 1e-8;
  double last = std::numeric_limits<double>::infinity();
  for (int iteration = 0;; ++iteration) {
    for (Eigen::Index i = 0; i < w_.size(); ++i)
      batch_->uniform(static_cast<std::int32_t>(n + static_cast<std::size_t>(i))) = w_[i];
    batch_->run(residuals, nullptr);
    if (w_.size() == 0) return true;
    read(residual_, roots_.g);
    read(gw_, roots_.gw);
    lu_.compute(gw_);
    change_ = lu_.solve(residual_);
    const double change = (change_.array().abs() / (1.0 + w_.array().abs())).maxCoeff();
    if (!std::isfinite(change)) return false;
    if (change <= converged || (change <= of_rounding && change > 0.5 * last)) return true;
    if (iteration >= 50) return false;
    last = change;
    w_ -= change_;
  }
}

void TwinModel::eliminate(Matrix& by_state, const Matrix& by_unknown) {
  if (w_.size() > 0) by_state.noalias() -= by_unknown * wx_;
}

// What has to be known of the residuals before slopes can be told.
void TwinModel::find_unknown_slopes() {
  if (w_.size() == 0) return;
  read(gx_, roots_.gx);
  wx_ = lu_.solve(gx_);
}

bool TwinModel::evaluate(const Vector& x, double t, const double* u, const double* du, TwinPoint& point) {
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    batch_->uniform(static_cast<std::int32_t>(input_du_ + k)) = du ? du[k] : 0.0;
  if (!solve(x, t, u)) return false;
  for (int section : {sensor_readings, state_rates, reading_slopes, rate_slopes})
    batch_->run(section, nullptr);
  const auto n = x.size();
  point.rates.resize(n), point.by_time.resize(n), point.by_state.resize(n, n);
  read(point.rates, roots_.f);
  read(point.by_time, roots_.ft);
  find_unknown_slopes();
  read_readings(point, n);
  const bool known = constant_ && point.slopes_of == this;
  if (!known) read(point.by_state, roots_.fx);
  point.slopes_of = constant_ ? this : nullptr;
  if (w_.size() > 0) {
    read(gt_, roots_.gt);
    wt_ = lu_.solve(gt_);
    read(fw_, roots_.fw);
    if (!known) eliminate(point.by_state, fw_);
    point.by_time.noalias() -= fw_ * wt_;
  }
  return true;
}

void TwinModel::read_readings(TwinPoint& point, Eigen::Index n) {
  point.readings.resize(static_cast<long>(sensors_)),
      point.readings_by_state.resize(static_cast<long>(sensors_), n);
  read(point.readings, roots_.y);
  if (constant_ && point.slopes_of == this) return;
  read(point.readings_by_state, roots_.yx);
  if (w_.size() == 0) return;
  read(yw_, roots_.yw);
  eliminate(point.readings_by_state, yw_);
}

void TwinModel::hold(std::size_t k, double value) {
  held_[static_cast<long>(k)] = value;
  batch_->uniform(static_cast<std::int32_t>(input_held_ + k)) = value;
}

Vector TwinModel::memory() const {
  if (!has_events()) return w_;
  Vector all(w_.size() + held_.size() + 1);
  all << w_, held_, events_passed_;
  return all;
}

void TwinModel::set_memory(const Vector& memory) {
  w_ = memory.head(w_.size());
  if (!has_events()) return;
  for (std::size_t k = 0; k < discrete_.size(); ++k) hold(k, memory[w_.size() + static_cast<long>(k)]);
  events_passed_ = memory[memory.size() - 1];
}

bool TwinModel::evaluate_events(const Vector& x, double t, const double* u, const double* du,
                                TwinEventPoint& point) {
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    batch_->uniform(static_cast<std::int32_t>(input_du_ + k)) = du ? du[k] : 0.0;
  if (!solve(x, t, u)) return false;
  run_all();
  point.value.resize(static_cast<long>(event_formulas_.size()));
  point.by_time.resize(point.value.size());
  read(point.value, roots_.e);
  read(point.by_time, roots_.et);
  read(point.by_state, roots_.ex);
  if (w_.size() > 0) {
    read(ew_, roots_.ew);
    eliminate(point.by_state, ew_);
    read(gt_, roots_.gt);
    wt_ = lu_.solve(gt_);
    point.by_time.noalias() -= ew_ * wt_;
  }
  return true;
}

bool TwinModel::evaluate_readings(const Vector& x, double t, const double* u, TwinPoint& point) {
  if (!solve(x, t, u)) return false;
  batch_->run(sensor_readings, nullptr);
  if (!constant_readings_ || w_.size() > 0) {
    batch_->run(state_rates, nullptr);
    batch_->run(reading_slopes, nullptr);
    find_unknown_slopes();
  }
  read_readings(point, x.size());
  return true;
}

bool TwinModel::rates(const Vector& x, double t, const double* u, Vector& f) {
  if (!solve(x, t, u)) return false;
  batch_->run(sensor_readings, nullptr);
  batch_->run(state_rates, nullptr);
  read(f, roots_.f);
  return true;
}

bool TwinModel::rates(const Vector& x, double t, const double* u, const double* du, Vector& f,
                      Vector& by_time) {
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    batch_->uniform(static_cast<std::int32_t>(input_du_ + k)) = du ? du[k] : 0.0;
  if (!solve(x, t, u)) return false;
  for (int section : {sensor_readings, state_rates, reading_slopes, rate_slopes})
    batch_->run(section, nullptr);
  f.resize(x.size()), by_time.resize(x.size());
  read(f, roots_.f);
  read(by_time, roots_.ft);
  if (w_.size() > 0) {
    read(gt_, roots_.gt);
    wt_ = lu_.solve(gt_);
    read(fw_, roots_.fw);
    by_time.noalias() -= fw_ * wt_;
  }
  return true;
}

void TwinModel::rate_slopes_at(SlopeRows& by_state) {
  run_all();
  if (w_.size() == 0) return read(by_state, roots_.fx);
  Matrix slopes;
  read(slopes, roots_.fx);
  read(fw_, roots_.fw);
  eliminate(slopes, fw_);
  by_state = rows_of(slopes);
}

bool TwinModel::readings(const Vector& x, double t, const double* u, Vector& y) {
  if (!solve(x, t, u)) return false;
  batch_->run(sensor_readings, nullptr);
  read(y, roots_.y);
  return true;
}

// All sections, for what is told now and then.
void TwinModel::run_all() {
  for (int section : {sensor_readings, state_rates, reading_slopes, rate_slopes, the_rest})
    batch_->run(section, nullptr);
  find_unknown_slopes();
}

bool TwinModel::quantities_at(const Vector& x, double t, const double* u, Vector& value,
                              SlopeRows& by_state) {
  if (quantity_code_) {
    read_quantities(x, t, u, value, by_state);
    return true;
  }
  if (!solve(x, t, u)) return false;
  run_all();
  value.resize(static_cast<long>(quantity_formulas_.size()));
  read(value, roots_.q);
  if (w_.size() == 0) {
    read(by_state, roots_.qx);
    return true;
  }
  Matrix slopes;
  read(slopes, roots_.qx);
  read(qw_, roots_.qw);
  eliminate(slopes, qw_);
  by_state = rows_of(slopes);
  return true;
}

QuantityCode TwinModel::quantity_code() {
  const MinimalForm& f = form();
  Pool& pool = *augmented_.model.pool;
  std::vector<ProgramInput> inputs;
  for (Expr x : f.states) inputs.push_back({x, 1});
  inputs.push_back({pool.symbol("t"), 1});
  for (Expr u : inputs_) inputs.push_back({u, 1});
  for (Expr p : f.parameters) inputs.push_back({p, 0});
  QuantityCode code;
  code.numbers = f.values;
  std::vector<ProgramRoot> values, slopes;
  for (std::size_t k = 0; k < quantities_.size(); ++k) {
    const Expr value = formulas() ? formulas()->quantities[k] : quantity_formulas_[k];
    const auto symbols = symbols_of(std::span(&value, 1));
    if (std::any_of(f.unknowns.begin(), f.unknowns.end(),
                    [&](Expr w) { return std::find(symbols.begin(), symbols.end(), w) != symbols.end(); })) {
      code.left_out.push_back(quantities_[k].name);
      continue;
    }
    values.push_back({value, 1});
    for (std::size_t i = 0; i < f.states.size(); ++i)
      if (const Expr slope = derivative(value, f.states[i]); !slope.is_number(0)) {
        slopes.push_back({slope, 1});
        code.column.push_back(static_cast<std::int32_t>(i));
      }
    code.last.push_back(static_cast<std::int32_t>(code.column.size()));
    code.quantities.push_back(k);
  }
  values.insert(values.end(), slopes.begin(), slopes.end());
  code.program = make_program(pool, inputs, {}, values, 2);
  return code;
}

void TwinModel::take_quantities_from_formulas() {
  // Where nothing has to be solved for, they are the formulas already.
  if (quantity_code_ || form().unknowns.empty() || !formulas()) return;
  QuantityCode code = quantity_code();
  if (!code.left_out.empty()) return;
  quantity_registers_.assign(static_cast<std::size_t>(code.program.registers), 0.0);
  std::copy(code.numbers.begin(), code.numbers.end(),
            quantity_registers_.begin() + static_cast<long>(size() + 1 + inputs_.size()));
  interpret(code.program, 0, quantity_registers_.data());
  quantity_code_ = std::move(code);
}

void TwinModel::read_quantities(const Vector& x, double t, const double* u, Vector& value,
                                SlopeRows& by_state) {
  const QuantityCode& code = *quantity_code_;
  double* r = quantity_registers_.data();
  std::copy(x.data(), x.data() + x.size(), r);
  r[x.size()] = t;
  std::copy(u, u + inputs_.size(), r + x.size() + 1);
  interpret(code.program, 1, r);
  const std::size_t count = code.quantities.size();
  value.resize(static_cast<long>(count));
  for (std::size_t k = 0; k < count; ++k) value[static_cast<long>(k)] = r[code.program.roots[k]];
  by_state.start.assign(1, 0);
  by_state.start.insert(by_state.start.end(), code.last.begin(), code.last.end());
  by_state.column = code.column;
  by_state.value.resize(code.column.size());
  for (std::size_t k = 0; k < code.column.size(); ++k) by_state.value[k] = r[code.program.roots[count + k]];
}

std::string TwinModel::unit_of(const EstimatedQuantity& quantity) const {
  if (!quantity.unit.empty()) return quantity.unit;
  std::string variable = quantity.name;
  for (const ModelOutput& output : augmented_.model.outputs)
    if (output.name == quantity.name && output.value.is_symbol()) variable = output.value.name();
  for (std::size_t k = 0; k < states_.size(); ++k) {
    const std::int32_t rate = form().state_rates[k];
    if (states_[k].unknown >= 0 || (variable != states_[k].name && variable != rate_name(system_, rate)))
      continue;
    const Rate& r = system_.rates[rate];
    const Group& group = system_.groups[r.group];
    const std::int32_t plus = group.plus[r.symbol][r.member], minus = group.minus[r.symbol][r.member];
    if (const std::int32_t column = plus >= 0 ? plus : minus; column >= 0)
      return column_unit(system_, column);
  }
  for (std::int32_t column = 0; column < system_.size(); ++column)
    if (column_name(system_, column) == variable) return column_unit(system_, column);
  return {};
}

bool TwinModel::storage_coefficients(const Vector& x, double t, const double* u, Vector& c,
                                     Matrix& by_state) {
  if (!solve(x, t, u)) return false;
  run_all();
  c.resize(x.size());
  by_state.resize(x.size(), x.size());
  read(c, roots_.c);
  read(by_state, roots_.cx);
  if (w_.size() > 0) {
    read(cw_, roots_.cw);
    eliminate(by_state, cw_);
  }
  return true;
}

Vector TwinModel::start() const {
  Vector x(static_cast<long>(states_.size()));
  for (std::size_t k = 0; k < states_.size(); ++k) x[static_cast<long>(k)] = states_[k].start;
  return x;
}

bool TwinModel::uncertain() const {
  return std::any_of(states_.begin(), states_.end(), [](const TwinState& s) {
    return s.deviation > 0.0 || s.noise > 0.0 || s.rate_noise > 0.0;
  });
}

Matrix TwinModel::start_covariance() const {
  Matrix p = Matrix::Zero(static_cast<long>(states_.size()), static_cast<long>(states_.size()));
  for (std::size_t k = 0; k < states_.size(); ++k)
    p(static_cast<long>(k), static_cast<long>(k)) = states_[k].deviation * states_[k].deviation;
  // Values of a smooth table are wrong together: what one row of smoothness says of them is taken in as a
  // reading.
  std::vector<int> parameters(states_.size(), -1);
  for (std::size_t k = 0; k < states_.size(); ++k)
    if (const int u = states_[k].unknown; u >= 0 && coordinates_[u] == Coordinate::value)
      parameters[k] = model().unknowns[augmented_.unknowns[u].unknown].parameter;
  for (const SmoothRow& row : smooth_rows(model(), parameters)) {
    Vector h = Vector::Zero(p.rows());
    for (const auto& [k, factor] : row) h[k] = factor;
    const Vector gain = p * h;
    p -= gain * gain.transpose() / (h.dot(gain) + 1.0);
  }
  return p;
}

void TwinModel::clamp(Vector& x) const {
  for (std::size_t k = 0; k < bounds_.size(); ++k)
    x[static_cast<long>(k)] = std::clamp(x[static_cast<long>(k)], bounds_[k].first, bounds_[k].second);
}

bool TwinModel::bounded() const {
  return std::any_of(bounds_.begin(), bounds_.end(),
                     [](const auto& b) { return std::isfinite(b.first) || std::isfinite(b.second); });
}

std::pair<double, double> TwinModel::bounds(std::size_t state) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  return state < bounds_.size() ? bounds_[state] : std::pair(-none, none);
}

ModelUnknown::Coordinate chosen_coordinate(const Model& model, const ModelUnknown& unknown) {
  const double start = unknown.start.value_or(model.parameters[unknown.parameter].number);
  if (!(start > 0.0) || unknown.varies == Varies::oscillator) return Coordinate::value;
  // How much the slopes change when the unknown grows by half, at states away from equilibrium.
  const auto curvature = [&](Coordinate coordinate) {
    Model copy = model;
    ModelUnknown alone = unknown;
    alone.coordinate = coordinate;
    alone.varies = Varies::constant;
    copy.unknowns = {alone};
    copy.estimation.states.clear();
    TwinOptions options;
    for (std::size_t k = 0; k < copy.outputs.size(); ++k)
      if (copy.outputs[k].sensor) options.sensors.push_back(static_cast<int>(k));
    options.unknowns = {0};
    options.compile = false;
    options.events = true;
    TwinModel twin(copy, options);
    Vector x = twin.start();
    Eigen::Index own = 0;
    for (std::size_t k = 0; k < twin.size(); ++k)
      if (twin.states()[k].unknown >= 0)
        own = static_cast<long>(k);
      else
        x[static_cast<long>(k)] +=
            (1.0 + std::abs(x[static_cast<long>(k)])) * 0.05 * std::sin(1.0 + 2.0 * static_cast<double>(k));
    TwinPoint a, b;
    if (!twin.evaluate(x, 0.0, nullptr, nullptr, a)) return 1e300;
    x[own] = to_coordinate(coordinate, 1.5 * start);
    if (!twin.evaluate(x, 0.0, nullptr, nullptr, b)) return 1e300;
    const auto changed = [](const auto& p, const auto& q) {
      const double size = p.norm() + q.norm();
      return size > 0.0 ? (p - q).norm() / size : 0.0;
    };
    return changed(a.by_state.col(own), b.by_state.col(own)) +
           changed(a.readings_by_state.col(own), b.readings_by_state.col(own));
  };
  return curvature(Coordinate::inverse) < curvature(Coordinate::value) ? Coordinate::inverse
                                                                       : Coordinate::value;
}

}  // namespace tellegen
