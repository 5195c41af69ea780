#include "tellegen/realtime/realtime.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/model/units.h"
#include "tellegen/realtime/row_writer.h"
#include "tellegen/simulate/denormals.h"

namespace tellegen {
namespace {

LinearUnit linear(double at_zero, double at_one) { return {at_one - at_zero, at_zero}; }

std::vector<LinearUnit> output_units(const std::vector<OutputColumn>& columns) {
  std::vector<LinearUnit> scales;
  for (const OutputColumn& c : columns)
    scales.push_back(c.unit.empty() ? LinearUnit{}
                                    : linear(units().from_si(0.0, c.unit), units().from_si(1.0, c.unit)));
  return scales;
}

std::vector<LinearUnit> input_units(const Model& model, const std::vector<std::string>& names) {
  std::vector<LinearUnit> scales;
  for (const std::string& name : names) {
    LinearUnit& scale = scales.emplace_back();
    for (const ModelInput& input : model.inputs)
      if (input.name == name && !input.unit.empty())
        scale = linear(units().to_si(0.0, input.unit), units().to_si(1.0, input.unit));
  }
  return scales;
}

void to_units(const std::vector<LinearUnit>& scales, std::span<double> row) {
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = scales[k](row[k]);
}

class IntegratorWork : public PacedWork {
 public:
  explicit IntegratorWork(PacedTask& task)
      : task_(task), applied_(task.inputs.size(), std::numeric_limits<double>::quiet_NaN()) {}
  // An input that has not changed is left alone: to some integrators a new value is an event.
  void receive(std::span<const double> values) override {
    for (std::size_t k = 0; k < applied_.size(); ++k) {
      if (values[k] == applied_[k]) continue;
      applied_[k] = values[k];
      task_.integrator.set_input(static_cast<int>(k), task_.inputs[k](values[k]));
    }
  }
  bool advance(std::span<double> row) override {
    ++periods_;
    const bool whole = task_.integrator.advance(1, row.data()) == 1;
    if (!whole && !ended()) return false;
    to_units(task_.outputs, row);
    return whole;
  }
  double time() const override { return ended().value_or(task_.period * static_cast<double>(periods_)); }
  std::string failure() const override { return task_.integrator.failure(); }
  std::optional<double> ended() const override {
    return failure().empty() ? task_.integrator.ended() : std::nullopt;
  }

 private:
  PacedTask& task_;
  std::vector<double> applied_;
  std::int64_t periods_ = 0;
};

}  // namespace

LastRows::LastRows(std::size_t width, std::int64_t rows)
    : width_(width), capacity_(rows), values_(width * static_cast<std::size_t>(rows)) {}

std::span<double> LastRows::next() {
  const auto slot = static_cast<std::size_t>(count_++ % capacity_);
  first_ = std::max(first_, count_ - capacity_);
  return {values_.data() + slot * width_, width_};
}

std::vector<double> LastRows::take() {
  const auto oldest = static_cast<std::ptrdiff_t>(first_ % capacity_) * static_cast<std::ptrdiff_t>(width_);
  std::rotate(values_.begin(), values_.begin() + oldest, values_.end());
  values_.resize(static_cast<std::size_t>(count_ - first_) * width_);
  return std::move(values_);
}

RealtimeReport run_paced(PacedTask& task, LastRows& rows, Exchange* exchange, Clock& clock,
                         const std::atomic<bool>& stop) {
  IntegratorWork work(task);
  return run_paced(work, task.period, task.periods, rows, exchange, clock, stop);
}

RealtimeReport run_paced(PacedWork& work, double period, std::int64_t periods, LastRows& rows,
                         Exchange* exchange, Clock& clock, const std::atomic<bool>& stop) {
  const FlushDenormals flush;
  RealtimeReport report;
  report.period = period;
  std::int64_t execution = 0;
  // A period from now, so that the first begins with a sleep as all others do.
  const std::int64_t start = clock.now() + std::llround(1e9 * period);
  const auto planned = [&](std::int64_t k) {
    return start + std::llround(1e9 * period * static_cast<double>(k));
  };
  for (std::int64_t k = 0; k < periods; ++k) {
    while (!stop && clock.now() < planned(k)) clock.sleep_until(planned(k));
    if (stop) {
      report.interrupted = true;
      break;
    }
    const std::int64_t begin = clock.now();
    if (exchange && exchange->receive()) work.receive(exchange->inputs());
    const std::span<double> row = rows.next();
    if (!work.advance(row)) {
      report.failure = work.failure();
      if (report.failure.empty()) report.ended = work.ended();
      if (!report.ended) {
        rows.forget_last();
        break;
      }
    }
    if (!report.ended) rows.publish();  // the last row of such a run has a time of its own
    if (exchange) exchange->send(work.time(), row);
    const std::int64_t end = clock.now();
    report.lateness.add(begin - planned(k));
    report.execution.add(end - begin);
    execution += end - begin;
    report.missed += end > planned(k + 1);
    ++report.periods;
    if (report.ended) break;
  }
  report.execution_seconds = 1e-9 * static_cast<double>(execution);
  report.kept_from = period * static_cast<double>(rows.first());
  if (exchange) {
    report.packets = exchange->counts();
    report.foreign_sender = exchange->foreign_sender();
    report.listened = exchange->listens();
    report.sent = exchange->sends();
  }
  return report;
}

RealtimeRun run_realtime(Simulation& simulation, const RealtimeOptions& options, Exchange* exchange,
                         Clock& clock, const std::atomic<bool>& stop, RowSink* sink) {
  const SimulationOptions& said = simulation.problem().options;
  const auto& columns = simulation.outputs();
  const double period = simulation.sample_interval();
  PacedTask task{simulation.integrator(), period, std::numeric_limits<std::int64_t>::max(),
                 input_units(*simulation.system().model, said.external), output_units(columns)};
  if (const double periods = std::floor(said.stop / period * (1 + 1e-9)); periods < 1e18)
    task.periods = static_cast<std::int64_t>(periods);
  const bool over = simulation.problem().stop_event >= 0 &&
                    simulation.problem().initial.held[simulation.problem().stop_event] != 0.0;
  if (over) task.periods = 0;
  const std::size_t row_bytes = std::max<std::size_t>(1, columns.size()) * sizeof(double);
  const auto room = static_cast<std::int64_t>(std::max<std::size_t>(2, options.kept_bytes / row_bytes));
  LastRows rows(columns.size(), task.periods < room ? task.periods + 1 + LastRows::spare : room);
  const std::span<double> first = rows.next();
  simulation.first_row(first.data());
  to_units(task.outputs, first);
  rows.publish();

  RealtimeRun run;
  std::optional<RowWriter> writer;
  if (sink) writer.emplace(rows, period, *sink);
  {
    const SchedulingRights rights(options.priority, options.lock_memory);
    if (exchange) exchange->send(0.0, first);
    run.report = run_paced(task, rows, exchange, clock, stop);
  }
  if (writer) {
    writer->finish(run.report.ended);
    run.report.streamed = true;
    run.report.not_written = writer->lost();
    run.report.write_failure = writer->failure();
  }
  SimulationResult& result = run.result;
  for (const OutputColumn& c : columns) result.names.push_back(c.name), result.units.push_back(c.unit);
  for (std::int64_t k = rows.first(); k < rows.count(); ++k)
    result.t.push_back(period * static_cast<double>(k));
  if (over) result.ended = 0.0;
  if (run.report.ended) result.ended = result.t.back() = *run.report.ended;
  result.values = rows.take();
  result.statistics = simulation.integrator().statistics();
  result.step = simulation.problem().step;
  if (result.statistics.steps > 0)
    result.step =
        period * static_cast<double>(run.report.periods) / static_cast<double>(result.statistics.steps);
  result.loop_seconds = run.report.execution_seconds;
  result.worst_sample_seconds = run.report.execution.longest();
  result.failure = run.report.failure;
  return run;
}

std::string RealtimeReport::text() const {
  std::string text = fmt::format("{} periods of {} in real time, {} missed deadlines{}\n\n", periods,
                                 duration_text(period), missed, interrupted ? ", interrupted" : "");
  text += fmt::format("{:<10}{:>12}{:>12}{:>12}\n", "", "median", "99.99 %", "worst");
  for (const auto& [name, histogram] : {std::pair{"lateness", &lateness}, {"execution", &execution}})
    text += fmt::format("{:<10}{:>12}{:>12}{:>12}\n", name, duration_text(histogram->quantile(0.5)),
                        duration_text(histogram->quantile(0.9999)), duration_text(histogram->longest()));
  text += "\n" + histogram_table(lateness, execution);
  const PacketCounts& p = packets;
  if (listened)
    text += fmt::format(
        "\npackets in: {} received, {} lost, {} late, {} duplicate, {} malformed, {} superseded, {} "
        "restarts; "
        "{} periods held the last\n",
        p.received, p.lost, p.late, p.duplicate, p.malformed, p.superseded, p.restarts, p.held);
  if (sent) text += fmt::format("packets out: {} sent, {} not sent\n", p.sent, p.unsent);
  if (listened && p.foreign > 0)
    text += fmt::format("{} packets of other senders refused, the first from {}\n", p.foreign,
                        foreign_sender.empty() ? "one without a name" : foreign_sender);
  if (kept_from > 0.0 && (!streamed || !write_failure.empty()))
    text += fmt::format("rows before t = {:g} s were not kept\n", kept_from);
  if (not_written > 0) text += fmt::format("{} rows were not written: the disk is too slow\n", not_written);
  return text;
}

}  // namespace tellegen
