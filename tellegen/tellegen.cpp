#include "tellegen/tellegen.h"

#include <algorithm>
#include <numeric>

#include "tellegen/model/reading.h"
#include "tellegen/simulate/stop.h"
#include "tellegen/sweep/run_samples.h"

namespace tellegen {

std::string_view version() { return TELLEGEN_VERSION; }

std::vector<Fault> current_faults() {
  try {
    throw;
  } catch (const ModelError& error) {
    return error.faults();
  } catch (const SimulationError& error) {
    return {{{}, "T410", error.what(), error.details}};
  } catch (const std::exception& error) {
    return {{{}, "T410", error.what(), {}}};
  }
}

SimulationResult simulate(Model model, SimulationOptions options, const std::vector<std::string>& outputs) {
  options = complete_options(model, std::move(options));
  if (options.balance == Balance::off) options.balance = Balance::on;
  add_stop_watch(model, options);
  std::vector<OutputColumn> columns;
  FaultList faults;
  for (const std::string& text : outputs) try {
      columns.push_back({text, "", parse_value(model, text, {"outputs", 0})});
    } catch (const ModelError& error) {
      faults.add(error);
    }
  faults.throw_if_any();
  return Simulation(model, options, std::move(columns)).run();
}

StudyResult differentiate(const Model& model, const std::vector<std::string>& objectives,
                          const std::vector<std::string>& parameters, const StudyOptions& options) {
  Study study(model, objectives, parameters, options);
  return study.evaluate(study.nominal());
}

OptimizeResult optimize(const Model& model, const OptimizeOptions& options) {
  DesignProblem problem(model, {});
  return optimize(problem, options);
}

std::vector<SampleOutcome> sweep(SampleTask task, const SampleSet& samples, int jobs,
                                 const Progress& progress, std::vector<ResultColumn>* columns) {
  Model model = task.read();
  std::vector<ResultColumn> checked = check_task(model, task);
  if (columns) *columns = std::move(checked);
  std::vector<SampleOutcome> outcomes(samples.rows());
  std::vector<std::size_t> all(samples.rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  SampleLoop loop = sample_loop(task, samples);
  loop.finished = [&](std::size_t k, SampleOutcome outcome) { outcomes[k] = std::move(outcome); };
  loop.progress = progress;
  run_samples(all, jobs, loop);
  return outcomes;
}

Record read_record(const Model& model, const std::filesystem::path& file) {
  return read_record(model, file, record_options(model));
}

Estimate estimate(const Model& model, const Record& record) { return judged_estimate(model, record, {}); }

CalibrationResult calibrate(const Model& model, const Record& record) {
  return calibrate(model, record, model.calibration, calibration_options());
}

std::vector<double> column(const SimulationResult& result, std::string_view name) {
  const auto at = std::find(result.names.begin(), result.names.end(), name);
  std::vector<double> values;
  if (at == result.names.end()) return values;
  const std::size_t width = result.names.size();
  for (auto k = static_cast<std::size_t>(at - result.names.begin()); k < result.values.size(); k += width)
    values.push_back(result.values[k]);
  return values;
}

}  // namespace tellegen
