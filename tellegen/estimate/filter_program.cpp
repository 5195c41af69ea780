#include "tellegen/estimate/filter_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tellegen {

FilterProgram::FilterProgram(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                             FilterFormulas::Method method, bool whole_run, const StraightForm* straight)
    : n_(model.size()),
      sensors_(model.sensors()),
      inputs_(model.inputs()),
      code_(build(FilterFormulas(model, options, process_noise, method, straight), *model.model().pool,
                  whole_run, straight, options.step)) {
  memory_.resize(static_cast<std::size_t>(code_.procedure().program.registers), 0.0);
}

Procedure FilterProgram::build(const FilterFormulas& formulas, Pool& pool, bool whole_run,
                               const StraightForm* straight, double step_length) {
  using Section = FilterFormulas::Section;
  at_ = {formulas.at.time, -1, -1, -1, -1, formulas.at.u, formulas.at.du, formulas.at.reading};
  noise_ = formulas.at.noise;
  transition_ = formulas.transition;
  scale_ = formulas.at.scale;
  phi_at_ = formulas.phi_at;
  const std::size_t front = formulas.registers.size();
  for (const FilterFormulas::Register& r : formulas.registers) memory_.push_back(r.value);

  const auto made = [&](const Assignments& list, const std::vector<ProgramRoot>& roots, int sections,
                        int late = 3) {
    std::vector<ProgramInput> inputs;
    for (const FilterFormulas::Register& r : formulas.registers)
      inputs.push_back({r.symbol, std::min(r.section, sections - 1)});
    return make_program(pool, inputs, list.list(), roots, sections, late);
  };
  const int last = formulas.sections - 1;
  std::vector<ProgramRoot> roots;
  for (Expr e : formulas.predicted) roots.push_back({e, last});
  for (Expr e : formulas.flow) roots.push_back({e, Section::series});
  for (Expr e : formulas.squared) roots.push_back({e, Section::square});
  if (formulas.size) roots.push_back({formulas.size, Section::model});
  Procedure result{.program = made(formulas.predict, roots, formulas.sections)};
  const Registers predicted = result.program.roots;
  Registers same(front);
  std::iota(same.begin(), same.end(), 0);
  Body prepared{run_section(0)};
  // Behind what is there: the first of its sections is that of constants.
  const auto joined = [&](const Assignments& list, std::initializer_list<const std::vector<Expr>*> wanted,
                          int sections, const std::vector<Expr>& in_part = {}) {
    roots.clear();
    for (const auto* exprs : wanted)
      for (Expr e : *exprs) roots.push_back({e, 1});
    for (Expr e : in_part) roots.push_back({e, 2});
    prepared.push_back(run_section(result.program.sections()));
    return append(result.program, made(list, roots, sections, 2), same);
  };
  const auto copies = [&](std::size_t count, std::int32_t to, Registers::const_iterator from) {
    std::vector<RegisterCopy> list;
    for (std::size_t k = 0; k < count; ++k)
      list.push_back({to + static_cast<std::int32_t>(k), from[static_cast<long>(k)]});
    return copy_registers(list);
  };

  const int first_of_correct = result.program.sections();
  std::vector<Expr> others;
  if (formulas.likelihood) others.push_back(formulas.likelihood);
  if (formulas.complete) others.push_back(formulas.complete);
  const Registers corrected =
      joined(formulas.correct, {&formulas.corrected, &formulas.innovations, &formulas.variances, &others},
             formulas.complete ? 3 : 2, formulas.corrected_in_part);
  const auto own = static_cast<long>(formulas.corrected.size()), count = static_cast<long>(sensors_);
  innovation_.assign(corrected.begin() + own, corrected.begin() + own + count);
  variance_.assign(corrected.begin() + own + count, corrected.begin() + own + 2 * count);
  const std::int32_t other = others.empty() ? -1 : corrected[static_cast<std::size_t>(own + 2 * count)];
  likelihood_ = formulas.likelihood ? other : -1;

  const int first_of_points = result.program.sections();
  Registers points, gathered;
  if (!formulas.points.empty()) {
    points = joined(formulas.spread, {&formulas.points}, 2);
    gathered = joined(formulas.gather, {&formulas.gathered}, 2);
  }
  const std::size_t turns = formulas.points.empty() ? 1 : formulas.points.size() / n_;
  step_sections_.clear();
  for (std::size_t k = 0; k < turns; ++k)
    for (int s = 1; s < formulas.sections; ++s) step_sections_.push_back(s);
  step_sections_.push_back(first_of_correct + 1);
  if (turns > 1) step_sections_.insert(step_sections_.end(), {first_of_points + 1, first_of_points + 3});

  SectionWriter write(result.program);
  if (straight) {
    write_row(formulas, *straight, step_length, predicted, corrected, first_of_correct, write);
    result.entries = {{"prepare", prepared}, {"run", row_.body}};
    return result;
  }
  for (std::int32_t* counter : {&at_.left, &at_.row, &at_.start, &at_.step}) *counter = write.new_register();
  Body predicting;
  if (formulas.points.empty()) {
    predicting = lead(formulas, predicted, write, nullptr);
    predicting.push_back(copies(formulas.predicted.size(), 0, predicted.begin()));
  } else {
    const std::int32_t turn = write.new_register();
    write.assign(turn, write.number(0.0));
    predicting = {run_section(first_of_points + 1), copies(points.size(), formulas.at.points, points.begin()),
                  write.end()};
    const auto over = write.call("ge", turn, write.number(static_cast<double>(turns)));
    Body one{write.end(), leave_when(over)};
    std::vector<Body> out, back;
    for (std::size_t k = 0; k < turns; ++k) {
      const std::int32_t kept = formulas.at.points + static_cast<std::int32_t>(k * n_);
      Registers from(n_);
      std::iota(from.begin(), from.end(), kept);
      out.push_back({copies(n_, formulas.at.point, from.begin())});
      back.push_back({copies(n_, kept, predicted.begin())});
    }
    one.push_back(choose(turn, out));
    const Body led = lead(formulas, predicted, write, nullptr);
    one.insert(one.end(), led.begin(), led.end());
    one.push_back(choose(turn, back));
    write.assign(turn, write.add(turn, write.number(1.0)));
    one.push_back(write.end());
    predicting.push_back(loop(one));
    predicting.push_back(run_section(first_of_points + 3));
    predicting.push_back(copies(gathered.size(), 0, gathered.begin()));
  }
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(sensors_); ++k) {
    const auto came = at_.reading + k, is_there = write.call("eq", came, came);  // not where it is NaN
    write.assign(formulas.at.there + k, is_there);
    write.assign(formulas.at.value + k, write.call("if", is_there, came, write.number(0.0)));
  }
  Body correcting{write.end(), run_section(first_of_correct + 1)};
  const Statement whole = copies(formulas.corrected.size(), 0, corrected.begin());
  if (formulas.complete)
    correcting.push_back(when(other, {whole},
                              {run_section(first_of_correct + 2),
                               copies(formulas.corrected.size(), 0,
                                      corrected.end() - static_cast<long>(formulas.corrected.size()))}));
  else
    correcting.push_back(whole);

  const auto done = write.call("le", at_.left, write.number(0.0));
  Body turn{write.end(), leave_when(done)};
  Registers row, emitted = innovation_;
  for (std::size_t k = 0; k < inputs_; ++k) row.push_back(write.new_register());
  const Registers ahead = row;
  for (std::size_t k = 0; k < sensors_; ++k) row.push_back(at_.reading + static_cast<std::int32_t>(k));
  turn.push_back(take(row));
  const auto before = write.subtract(at_.row, write.number(1.0));
  write.assign(at_.time, write.add(at_.start, write.multiply(at_.step, before)));
  for (std::size_t k = 0; k < inputs_; ++k) {
    const auto i = static_cast<std::int32_t>(k);
    write.assign(at_.du + i, write.divide(write.subtract(ahead[k], at_.u + i), at_.step));
  }
  Body step{write.end()};
  step.insert(step.end(), predicting.begin(), predicting.end());
  turn.push_back(when(at_.row, step));
  write.assign(at_.time, write.add(at_.start, write.multiply(at_.step, at_.row)));
  for (std::size_t k = 0; k < inputs_; ++k) write.assign(at_.u + static_cast<std::int32_t>(k), ahead[k]);
  write.assign(at_.row, write.add(at_.row, write.number(1.0)));
  write.assign(at_.left, write.subtract(at_.left, write.number(1.0)));
  turn.push_back(write.end());
  turn.insert(turn.end(), correcting.begin(), correcting.end());
  emitted.insert(emitted.end(), variance_.begin(), variance_.end());
  turn.push_back(emit(emitted));

  result.entries = {{"prepare", prepared},
                    {"predict", predicting},
                    {"correct", correcting},
                    {"run", {loop(turn)}, whole_run}};
  result.exported = emitted;
  if (likelihood_ >= 0) result.exported.push_back(likelihood_);
  for (const std::int32_t reg : phi_at_)
    if (reg >= 0) result.exported.push_back(reg);
  return result;
}

// The first row is only corrected. Where the gain is steady both corrections are computed, and one is taken.
void FilterProgram::write_row(const FilterFormulas& formulas, const StraightForm& straight, double step,
                              const Registers& predicted, const Registers& corrected, int correct,
                              SectionWriter& write) {
  row_ = {.body = {},
          .index = write.new_register(),
          .value = formulas.at.value,
          .there = formulas.at.there,
          .u = formulas.at.u,
          .time = formulas.at.time,
          .inputs = {}};
  const std::int32_t begun = write.new_register(), one = write.number(1.0), length = write.number(step);
  write.assign(at_.time, write.multiply(length, write.subtract(row_.index, one)));
  for (std::size_t k = 0; k < inputs_; ++k) {
    const auto i = static_cast<std::int32_t>(k);
    row_.inputs.push_back(write.new_register());
    write.assign(at_.du + i, straight.held[k]
                                 ? write.number(0.0)
                                 : write.divide(write.subtract(row_.inputs[k], at_.u + i), length));
  }
  Body& body = row_.body;
  body.push_back(write.end());
  const Body led = lead(formulas, predicted, write, &straight);
  body.insert(body.end(), led.begin(), led.end());
  const auto take_over = [&](std::size_t count, const auto& value_of) {
    std::vector<RegisterCopy> list;
    for (std::size_t k = 0; k < count; ++k)
      list.push_back({static_cast<std::int32_t>(k), value_of(static_cast<std::int32_t>(k))});
    body.push_back(write.end());
    body.push_back(copy_registers(list));
  };
  take_over(formulas.predicted.size(), [&](std::int32_t k) {
    return write.call("if", begun, predicted[static_cast<std::size_t>(k)], k);
  });
  write.assign(begun, one);
  write.assign(at_.time, write.multiply(length, row_.index));
  for (std::size_t k = 0; k < inputs_; ++k)
    write.assign(at_.u + static_cast<std::int32_t>(k), row_.inputs[k]);
  body.push_back(write.end());
  body.push_back(run_section(correct + 1));
  const std::size_t count = formulas.corrected.size();
  const std::int32_t complete = formulas.complete ? corrected[count + 2 * sensors_] : -1;
  if (complete >= 0) body.push_back(run_section(correct + 2));
  take_over(count, [&](std::int32_t k) {
    const std::int32_t whole = corrected[static_cast<std::size_t>(k)];
    if (complete < 0) return whole;
    return write.call("if", complete, whole,
                      corrected[corrected.size() - count + static_cast<std::size_t>(k)]);
  });
}

int FilterProgram::halvings(const double* w) const {
  return scale_ < 0 ? 0 : static_cast<int>(std::lround(-std::log2(w[scale_])));
}

// The states, or a sigma point, over the step: to the registers of formulas.predicted.
Body FilterProgram::lead(const FilterFormulas& formulas, const Registers& roots, SectionWriter& write,
                         const StraightForm* straight) {
  Body body{run_section(FilterFormulas::model)};
  if (formulas.flow.empty()) return body;
  add_flow(formulas, roots, write, body, straight);
  body.push_back(run_section(FilterFormulas::rest));
  return body;
}

// Halved until it is small, the series, squared as often; or the flow as it is.
void FilterProgram::add_flow(const FilterFormulas& formulas, const Registers& roots, SectionWriter& write,
                             Body& body, const StraightForm* straight) {
  constexpr double small = 0.125, most = 60;
  const auto first = static_cast<long>(formulas.predicted.size());
  const auto flow = roots.begin() + first, squared = flow + static_cast<long>(formulas.flow.size());
  const std::int32_t size = roots.back(), halved = write.new_register();
  const auto take_over = [&](auto from) {
    std::vector<RegisterCopy> list;
    for (std::size_t k = 0; k < formulas.flow.size(); ++k)
      list.push_back({formulas.at.flow + static_cast<std::int32_t>(k), from[static_cast<long>(k)]});
    return copy_registers(list);
  };
  if (!formulas.size) {
    body.insert(body.end(), {run_section(FilterFormulas::series), take_over(flow)});
    for (int k = 0; straight && k < straight->halvings; ++k)
      body.insert(body.end(), {run_section(FilterFormulas::square), take_over(squared)});
    return;
  }
  const auto one = write.number(1.0), half = write.number(0.5);
  write.assign(formulas.at.scale, one);
  write.assign(halved, write.number(0.0));
  body.push_back(write.end());
  const auto scaled = write.multiply(size, formulas.at.scale);
  const auto large = write.call("and", write.call("gt", scaled, write.number(small)),
                                write.call("lt", halved, write.number(most)));
  const auto done = write.call("eq", large, write.number(0.0));
  Body halve{write.end(), leave_when(done)};
  write.assign(formulas.at.scale, write.multiply(formulas.at.scale, half));
  write.assign(halved, write.add(halved, one));
  halve.push_back(write.end());
  body.push_back(loop(halve));
  body.push_back(run_section(FilterFormulas::series));
  body.push_back(take_over(flow));
  const auto finished = write.call("le", halved, write.number(0.0));
  Body square{write.end(), leave_when(finished), run_section(FilterFormulas::square), take_over(squared)};
  write.assign(halved, write.subtract(halved, one));
  square.push_back(write.end());
  body.push_back(loop(square));
}

void FilterProgram::transition(const double* w, Matrix& phi) const {
  if (phi_at_.empty()) {
    phi = transition_;
    return;
  }
  const auto n = static_cast<long>(n_);
  phi.resize(n, n);
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j) {
      const std::int32_t reg = phi_at_[static_cast<std::size_t>(i * n + j)];
      phi(i, j) = reg >= 0 ? w[reg] : 0.0;
    }
}

void FilterProgram::compile() {
  code_.compile();
  refused_ = !code_.compiled() && compile_c("double tellegen_nothing(void) { return 0.0; }\n") != nullptr;
}

void FilterProgram::predict(double* w, double t, const double* u, const double* du) const {
  w[at_.time] = t;
  std::copy(u, u + inputs_, w + at_.u);
  std::copy(du, du + inputs_, w + at_.du);
  code_.call(1, w);
}

void FilterProgram::correct(double* w, double t, const double* u, const double* y, double* innovation,
                            double* variance) const {
  w[at_.time] = t;
  std::copy(u, u + inputs_, w + at_.u);
  std::copy(y, y + sensors_, w + at_.reading);
  code_.call(2, w);
  for (std::size_t k = 0; k < sensors_; ++k) innovation[k] = w[innovation_[k]], variance[k] = w[variance_[k]];
}

void FilterProgram::run(double* w, long rows, double t, double h, const double* in, double* out) const {
  w[at_.left] = static_cast<double>(rows);
  w[at_.row] = 0.0;
  w[at_.start] = t;
  w[at_.step] = h;
  code_.call(3, w, &in, &out);
}

void FilterProgram::set_process_noise(double* w, const Vector& variance_per_step) const {
  std::copy(variance_per_step.data(), variance_per_step.data() + variance_per_step.size(), w + noise_);
}

}  // namespace tellegen
