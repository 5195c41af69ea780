#include "benchmarks/identification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <limits>
#include <random>

#include "benchmarks/report.h"
#include "tellegen/identify/identify.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace {

using Numbers = std::vector<std::pair<std::string, double>>;

const std::string folder = TELLEGEN_SOURCE_DIR "/models/identification/";

// A model with its true numbers and what its sensors would read without noise.
struct MachineTruth {
  Model model;
  Record record;
  std::vector<int> unknowns;
  std::vector<double> numbers;  // per unknown
  std::vector<double> clean;    // [row][sensor]
  std::vector<double> sigma;    // per sensor

  MachineTruth(Model read, const Numbers& truth, double step, std::int64_t rows) : model(std::move(read)) {
    std::vector<int> parameters;
    std::vector<double> values;
    for (const auto& [name, value] : truth) {
      parameters.push_back(study_parameter(model, name));
      values.push_back(value);
    }
    set_parameters(model, parameters, values);
    for (std::size_t u = 0; u < model.unknowns.size(); ++u) {
      unknowns.push_back(static_cast<int>(u));
      numbers.push_back(model.parameters[model.unknowns[u].parameter].number);
    }
    record.sensors = model.estimation.sensors;
    record.step = step;
    record.steps = rows;
    record.readings.assign(record.sensors.size() * static_cast<std::size_t>(rows),
                           std::numeric_limits<double>::quiet_NaN());
    SimulationOptions integration;
    integration.method = integration.form = integration.start = "";
    const SensorSlopes run = sensor_slopes(model, record, {}, integration);
    if (!run.failure.empty()) throw SimulationError(run.failure, 0.0);
    clean = run.values;
    for (std::size_t s = 0; s < record.sensors.size(); ++s)
      sigma.push_back(model.outputs[record.sensors[s]].noise.value_or(0.0));
  }

  // Noise of so much of the largest current, and of the largest speed.
  void noise_of_largest(double part) {
    const std::size_t width = record.sensors.size();
    double current = 0.0, speed = 0.0;
    for (std::size_t k = 0; k < clean.size(); ++k)
      (k % width == 2 ? speed : current) = std::max(k % width == 2 ? speed : current, std::abs(clean[k]));
    sigma = {part * current, part * current, part * speed};
    sigma.resize(width);
  }

  Record drawn(std::mt19937_64& random, double loss) const {
    Record result = record;
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const std::size_t width = sigma.size();
    for (std::size_t k = 0; k < clean.size(); ++k) {
      const double reading = clean[k] + sigma[k % width] * normal(random);
      result.readings[k] = uniform(random) < loss ? std::numeric_limits<double>::quiet_NaN() : reading;
    }
    return result;
  }

  // Of the true numbers, weighed as the fit did.
  double cost(const Record& drawn, const std::vector<double>& noise) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < clean.size(); ++k)
      if (!std::isnan(drawn.readings[k])) {
        const double residual = (drawn.readings[k] - clean[k]) / noise[k % noise.size()];
        sum += 0.5 * residual * residual;
      }
    return sum;
  }
};

struct Outcome {
  bool found = false;                      // it ended at the global optimum
  bool recognised = false;                 // ... or the report says that it did not
  double seconds = 0.0;                    // of processor time
  std::vector<double> errors, deviations;  // per unknown
  std::string what;
};

// Weighed as MachineTruth::cost() does: the search itself may have ended with weights a little off.
double cost_of_fit(const Record& record, const Identification& found) {
  const StageResult& stage = found.fit.stages[0];
  if (stage.starts.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (std::size_t k = 0; k < record.readings.size(); ++k) {
    const std::size_t s = k % record.sensors.size();
    const double relative = stage.residual_rms[s] / found.noise[s];
    if (!std::isnan(record.readings[k])) sum += 0.5 * relative * relative;
  }
  return sum;
}

Outcome outcome_of(const MachineTruth& truth, const Record& record) {
  Outcome outcome;
  const std::clock_t began = std::clock();
  try {
    const Identification found = identify(truth.model, record, truth.unknowns, {});
    outcome.seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    if (!found.failure.empty()) throw SimulationError(found.failure, 0.0);
    const StageResult& stage = found.fit.stages[0];
    for (std::size_t k = 0; k < truth.unknowns.size(); ++k) {
      outcome.errors.push_back(stage.parameters[k].after - truth.numbers[k]);
      outcome.deviations.push_back(stage.parameters[k].deviation);
    }
    const double wanted = truth.cost(record, found.noise);
    const double cost = cost_of_fit(record, found);
    outcome.found = stage.failure.empty() && cost <= wanted + 0.5;
    outcome.recognised = !stage.failure.empty() || !found.consistent();
    outcome.what = fmt::format("cost {:g} for {:g}; {}", cost, wanted, stage.failure);
    for (const std::string& open : stage.open) outcome.what += "; " + open;
  } catch (const std::exception& error) {
    outcome.seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    outcome.recognised = true;
    outcome.what = error.what();
  }
  return outcome;
}

const Numbers published{{"L_s", 0.3207}, {"L_m", 0.3087}, {"r_s", 4.52},
                        {"r_r", 3.23},   {"J", 0.0037},   {"B", 0.0089}};

void start_up(const IdentificationOptions& options, Report& report) {
  report.begin({"start-up", "induction machine of table 5, 0.25 s every 0.1 ms",
                fmt::format("six parameters in {} draws of the noise", options.draws),
                "root mean square of the errors against the Cramer-Rao bound"});
  TextTable table{{"noise", "lost", "largest RMS / bound", "of", "seconds"}, {}};
  MachineTruth truth(read_model(folder + "model.toml"), published, 1e-4, 2501);
  std::mt19937_64 random(options.seed);
  double worst = 0.0, seconds = 0.0;
  for (const auto& [part, loss] : {std::pair{0.02, 0.0}, {0.02, 0.2}, {0.05, 0.0}, {0.05, 0.2}}) {
    truth.noise_of_largest(part);
    std::vector<double> squares(6, 0.0), bound(6, 0.0);
    double spent = std::numeric_limits<double>::infinity();
    for (int draw = 0; draw < options.draws; ++draw) {
      const Outcome outcome = outcome_of(truth, truth.drawn(random, loss));
      report.require(outcome.found, fmt::format("noise {:g}, draw {}: {}", part, draw, outcome.what));
      if (!outcome.found) continue;
      spent = std::min(spent, outcome.seconds);
      for (std::size_t k = 0; k < 6; ++k) {
        squares[k] += outcome.errors[k] * outcome.errors[k] / options.draws;
        bound[k] += outcome.deviations[k] * outcome.deviations[k] / options.draws;
      }
    }
    std::size_t at = 0;
    for (std::size_t k = 1; k < 6; ++k)
      if (squares[k] / bound[k] > squares[at] / bound[at]) at = k;
    const double ratio = std::sqrt(squares[at] / bound[at]);
    worst = std::max(worst, ratio);
    seconds = std::max(seconds, spent);
    table.rows.push_back({fmt::format("{:g} %", 100 * part), fmt::format("{:g} %", 100 * loss), cell(ratio),
                          published[at].first, cell(spent)});
  }
  report.table("RMS of errors over the Cramer-Rao bound", table);
  report.add({"error over the Cramer-Rao bound", worst, 1.2, false, "start-up, the worst parameter"});
  report.add({"seconds of an identification", seconds, 0.1, false, "2501 rows; published 245 s"});
}

// A machine of 400 V and 50 Hz with per-unit numbers as catalogues have them, and the time in which it
// starts.
struct RandomMachine {
  Numbers numbers;
  double length = 0.0;

  explicit RandomMachine(std::mt19937_64& random) {
    const auto between = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random);
    };
    const auto ratio = [&](double low, double high) {
      return std::exp(between(std::log(low), std::log(high)));
    };
    const double power = ratio(100.0, 100e3), w = 2.0 * 3.14159265358979 * 50.0;
    const double impedance = 400.0 * 400.0 / power, size = std::log10(power / 100.0) / 3.0;  // 0 to 1
    const double r_s = ratio(0.6, 1.6) * std::pow(10.0, -0.9 - 0.9 * size),
                 r_r = ratio(0.6, 1.6) * std::pow(10.0, -1.0 - 0.8 * size);
    const double x_l = between(0.06, 0.14), x_m = between(1.2, 1.8) + 2.0 * size;
    const double inertia = ratio(0.05, 0.4);  // H, seconds
    const double synchronous = w / 2.0, rated = power / synchronous;
    numbers = {{"L_s", (x_l + x_m) * impedance / w},
               {"L_m", x_m * impedance / w},
               {"r_s", r_s * impedance},
               {"r_r", r_r * impedance},
               {"J", 2.0 * inertia * power / (synchronous * synchronous)},
               {"B", between(0.005, 0.05) * rated / synchronous}};
    length = std::clamp(8.0 * inertia, 0.5, 2.5);
  }
};

void machines(const IdentificationOptions& options, bool speed, Report& report) {
  report.begin(
      {speed ? "machines" : "speedless",
       fmt::format(
           "{} induction machines of 0.1 to 100 kW: r_s 0.01 to 0.2, r_r 0.01 to 0.16, X_l 0.06 to 0.14, X_m "
           "1.2 "
           "to 3.8 per unit, H 0.05 to 0.4 s; started without load, 5000 rows, noise of 2 %, 10 % lost{}",
           options.machines, speed ? "" : "; the speed is not read"),
       "six parameters each", "a cost no larger than that of the true numbers"});
  const std::string text = [&] {
    std::ifstream file(folder + "model.toml");
    std::string all((std::istreambuf_iterator<char>(file)), {});
    all.replace(all.find("2*pi*60"), 7, "2*pi*50");
    all.replace(all.find("220*sqrt"), 3, "400");
    if (const auto line = all.find("omega_r ="); !speed) all.erase(line, all.find('\n', line) - line);
    return all;
  }();
  std::ofstream journal;
  if (!options.machine_rows.empty()) {
    journal.open(options.machine_rows);
    journal << "machine,found,recognised,seconds,L_s,L_m,r_s,r_r,J,B\n";
  }
  int found = 0, recognised = 0, failed = 0;
  for (int k = options.first; k < options.first + options.machines; ++k) {
    // Random numbers of its own, so that any machine can be made again alone.
    std::seed_seq seeds{static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(k)};
    std::mt19937_64 random(seeds);
    const RandomMachine machine(random);
    MachineTruth truth(read_model_text(text, "machine.toml"), machine.numbers, machine.length / 5000.0, 5001);
    truth.noise_of_largest(0.02);
    const Outcome outcome = outcome_of(truth, truth.drawn(random, 0.1));
    if (journal.is_open()) {
      journal << fmt::format("{},{:d},{:d},{:.3f}", k, outcome.found, outcome.recognised, outcome.seconds);
      for (const auto& [name, value] : machine.numbers) journal << fmt::format(",{:.6g}", value);
      journal << std::endl;  // as they come: a long run may be stopped
    }
    if (outcome.found) {
      ++found;
      continue;
    }
    ++failed;
    recognised += outcome.recognised;
    std::string numbers;
    for (const auto& [name, value] : machine.numbers) numbers += fmt::format(" {} {:.4g}", name, value);
    report.note(fmt::format("machine {}:{}: {}{}", k, numbers, outcome.what,
                            outcome.recognised ? "" : " (not recognised)"));
  }
  report.require(failed == recognised, fmt::format("{} failures were not recognised", failed - recognised));
  report.note(fmt::format("{} of {} at the global optimum; of {} failures {} recognised", found,
                          options.machines, failed, recognised));
  report.add({speed ? "machines at the global optimum" : "the same without the speed",
              static_cast<double>(found) / options.machines, 0.995, true,
              fmt::format("{} random machines", options.machines)});
}

void others(const IdentificationOptions& options, Report& report) {
  report.begin({"others", "the worked models of models/identification",
                fmt::format("their parameters in {} draws of the noise", options.others),
                "the truth within three standard deviations"});
  struct Row {
    std::string name;
    double step;
    std::int64_t rows;
    Numbers truth;
  };
  const Row models[] = {
      {"pmsm", 1e-4, 601, {{"r_s", 0.25}, {"L_d", 1.8e-3}, {"L_q", 2.9e-3}, {"flux", 0.045}}},
      {"dc-machine", 2e-4, 2001, {{"R", 1.2}, {"L", 2.5e-3}, {"k", 0.06}, {"J", 8e-5}, {"B", 4e-5}}},
      {"cell",
       1.0,
       1501,
       {{"E0", 3.7}, {"R0", 0.012}, {"R1", 8e-3}, {"C1", 1500.0}, {"R2", 0.015}, {"C2", 2e4}}},
      {"thermal", 5.0, 1001, {{"R_wh", 0.2}, {"R_ha", 0.6}, {"C_w", 400.0}, {"C_h", 3000.0}}}};
  TextTable table{{"model", "within 3 deviations", "at the optimum", "seconds"}, {}};
  double least = 1.0;
  for (const Row& row : models) {
    const MachineTruth truth(read_model(folder + row.name + ".toml"), row.truth, row.step, row.rows);
    std::mt19937_64 random(options.seed);
    double inside = 0.0, all = 0.0, seconds = std::numeric_limits<double>::infinity();
    int found = 0;
    for (int draw = 0; draw < options.others; ++draw) {
      const Outcome outcome = outcome_of(truth, truth.drawn(random, 0.0));
      found += outcome.found;
      seconds = std::min(seconds, outcome.seconds);
      if (!outcome.found) report.note(fmt::format("{}, draw {}: {}", row.name, draw, outcome.what));
      for (std::size_t k = 0; k < row.truth.size(); ++k, all += 1.0)
        inside += k < outcome.errors.size() && std::abs(outcome.errors[k]) <= 3.0 * outcome.deviations[k];
    }
    least = std::min(least, inside / all);
    table.rows.push_back({row.name, fmt::format("{:.2f} %", 100.0 * inside / all),
                          fmt::format("{} of {}", found, options.others), cell(seconds)});
  }
  report.table("other models", table);
  report.add({"truth within three deviations", least, 0.99, true, "the worst of the models"});
}

// Of a record with 95 % of its readings lost the rest still tells all six numbers: less well, and the
// deviations must say how well.
void sparse(const IdentificationOptions& options, Report& report) {
  report.begin({"sparse",
                "induction machine of table 5, 0.25 s every 0.1 ms, noise of 2 %, 95 % of readings lost",
                fmt::format("six parameters in {} draws", options.others),
                "the truth within 1.96 standard deviations in 95 % of the draws, but for what chance takes"});
  MachineTruth truth(read_model(folder + "model.toml"), published, 1e-4, 2501);
  truth.noise_of_largest(0.02);
  std::mt19937_64 random(options.seed);
  std::vector<int> inside(6, 0);
  std::vector<double> deviation(6, 0.0);
  int found = 0, recognised = 0;
  for (int draw = 0; draw < options.others; ++draw) {
    const Outcome outcome = outcome_of(truth, truth.drawn(random, 0.95));
    found += outcome.found;
    recognised += !outcome.found && outcome.recognised;
    if (!outcome.found) report.note(fmt::format("draw {}: {}", draw, outcome.what));
    for (std::size_t k = 0; k < outcome.errors.size() && outcome.found; ++k) {
      inside[k] += std::abs(outcome.errors[k]) <= 1.96 * outcome.deviations[k];
      deviation[k] += outcome.deviations[k] / truth.numbers[k];
    }
  }
  TextTable table{{"parameter", "mean relative deviation", "truth within 1.96 deviations"}, {}};
  double mean = 0.0;
  for (std::size_t k = 0; k < 6; ++k) {
    mean += static_cast<double>(inside[k]) / found / 6.0;
    table.rows.push_back({published[k].first, fmt::format("{:.2f} %", 100.0 * deviation[k] / found),
                          fmt::format("{:.1f} %", 100.0 * inside[k] / found)});
  }
  report.table("what a twentieth of the readings tells", table);
  report.require(found + recognised == options.others, "a failure was not recognised");
  report.note(
      fmt::format("{} of {} at the optimum, {} failures recognised", found, options.others, recognised));
  // Of n draws with probability 0.95, two standard deviations less.
  report.add({"truth within 1.96 deviations, 95 % lost", mean,
              0.95 - 2.0 * std::sqrt(0.95 * 0.05 / options.others), true, "mean of six parameters"});
}

}  // namespace

bool run_identification(const IdentificationOptions& options) {
  Report report;
  const auto wanted = [&](const char* name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
  };
  if (wanted("start-up")) start_up(options, report);
  if (wanted("machines")) machines(options, true, report);
  if (wanted("speedless")) machines(options, false, report);
  if (wanted("sparse")) sparse(options, report);
  if (wanted("others")) others(options, report);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
