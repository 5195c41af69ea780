#include "benchmarks/machine_extraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numbers>

#include "benchmarks/extraction_route.h"
#include "benchmarks/machine_torque.h"
#include "benchmarks/report.h"
#include "tellegen/magnetics/extraction.h"
#include "tellegen/magnetics/static_study.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path wrsm_folder = TELLEGEN_SOURCE_DIR "/models/wrsm-mec";
constexpr double wrsm_interval = 2.22e-4, wrsm_field = 0.25, wrsm_speed = 376.99, wrsm_resistance = 0.1729;
constexpr double wrsm_pole_pairs = 2;
constexpr double published_five_cycles = 0.8362;  // s; Yadav, PhD dissertation, UT Arlington, 2021, Table 4

ReadOptions wrsm_library() {
  ReadOptions read;
  read.library = TELLEGEN_SOURCE_DIR "/library";
  return read;
}

// ---- inductances

struct InductanceRow {
  const char* iron;
  double field;
  double L_ls, L_mq, L_md, linkage, ratio;  // mH, Wb/A
};
// Computed by an independent program from the same dimensions: differences of 1 A, angles around theta_r = 0.
constexpr InductanceRow inductance_rows[] = {
    {"model.toml", 1.0, 0.823, 3.098, 4.574, 0.03369, 11.05},
    {"m19.toml", 0.25, 0.815, 2.990, 4.399, 0.03092, 10.54},
    {"m19.toml", 1.0, 0.819, 3.042, 4.470, 0.03231, 10.84},
    {"m19.toml", 3.0, 0.815, 3.034, 3.046, 0.03163, NAN},
};

void show_wrsm_inductances(Report& report) {
  report.begin({"inductances", "the cross-section, linear iron and M19; means over a slot pitch, 1 A",
                "L_ls, L_mq, L_md, lambda_d/i_f, N_f/N_s; in brackets the reference",
                "each within 0.5 % (linear), 1 % (M19)"});
  TextTable table{{"iron", "i_f A", "L_ls mH", "L_mq mH", "L_md mH", "lambda_d/i_f mWb/A", "N_f/N_s"}, {}};
  double worst[2] = {0, 0};
  for (const InductanceRow& row : inductance_rows) {
    const StaticStudy study(wrsm_folder / row.iron, wrsm_library());
    const AxisInductances x = axis_inductances(study, row.field, 1.0);
    const bool linear = std::string_view(row.iron) == "model.toml";
    std::vector<std::string> cells{linear ? "linear" : "M19", cell(row.field)};
    const double measured[] = {1e3 * x.L_ls, 1e3 * x.L_mq, 1e3 * x.L_md, 1e3 * x.field_linkage,
                               x.turns_ratio()};
    const double expected[] = {row.L_ls, row.L_mq, row.L_md, 1e3 * row.linkage, row.ratio};
    for (std::size_t k = 0; k < 5; ++k) {
      cells.push_back(std::isnan(expected[k])
                          ? cell(measured[k], 4)
                          : fmt::format("{} [{}]", cell(measured[k], 4), cell(expected[k], 4)));
      if (!std::isnan(expected[k]))
        worst[linear ? 0 : 1] = std::max(worst[linear ? 0 : 1], std::abs(measured[k] / expected[k] - 1));
    }
    table.rows.push_back(std::move(cells));
  }
  report.require(worst[0] < 0.005 && worst[1] < 0.01, "inductances");
  report.table("qd0 inductances", table);
  report.add({"inductances, linear iron: largest relative error", worst[0], 0.005, false, "4 rows"});
  report.add({"inductances, M19", worst[1], 0.01, false, "3 currents"});
}

// The table over one electrical turn against its reference, symmetry, and the torque against the inductances'
// slope.
std::vector<MachineAnswer> show_wrsm_table(const MachineExtractionOptions& options, Report& report) {
  const StaticStudy study(wrsm_folder / "model.toml", wrsm_library());
  const int angles = options.quick ? 60 : 360;
  std::vector<MachinePoint> points;
  for (int k = 1; k <= angles; ++k)
    points.push_back({2 * std::numbers::pi / angles * k / study.pole_pairs(), {1.0, -2.0, 0.7, 0.5}});
  const std::vector<MachineAnswer> answers = study.at(points, true);
  const Trajectory reference = read_csv(wrsm_folder / "inductances.csv");  // its "time" is the angle
  double largest = 0.0, error = 0.0, asymmetry = 0.0, torque = 0.0, torque_error = 0.0;
  for (std::size_t r = 0; r < reference.rows(); ++r) {
    const double turn = reference.t[r] * angles / (2 * std::numbers::pi);
    const std::size_t k = static_cast<std::size_t>(std::lround(turn)) - 1;
    if (std::abs(turn - std::round(turn)) > 1e-6) continue;
    std::size_t column = 0;
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a; b < 4; ++b, ++column) {
        largest = std::max(largest, std::abs(reference.at(r, column)));
        error = std::max(error, std::abs(answers[k].inductance[a][b] - reference.at(r, column)));
      }
  }
  for (std::size_t k = 0; k < points.size(); ++k) {
    double slope = 0.0;
    for (std::size_t a = 0; a < 4; ++a) {
      slope += 0.5 * points[k].i[a] * answers[k].lambda_slope[a];
      for (std::size_t b = 0; b < a; ++b)
        asymmetry = std::max(asymmetry, std::abs(answers[k].inductance[a][b] - answers[k].inductance[b][a]));
    }
    torque = std::max(torque, std::abs(slope));
    torque_error = std::max(torque_error, std::abs(slope - answers[k].torque));
  }
  report.begin({"inductance table", fmt::format("{} angles of an electrical turn, linear iron", angles),
                "the matrix of four windings; torque from the gaps' energy against i' dL/dtheta i/2",
                "0.5 % of the largest entry, symmetric to 1e-12, torque to 1e-9"});
  report.require(error < 0.005 * largest && asymmetry < 1e-12 && torque_error < 1e-9 * torque,
                 "inductance table");
  report.add(
      {"inductance table: error over the largest entry", error / largest, 0.005, false, "reference table"});
  report.add({"inductance table: asymmetry, H", asymmetry, 1e-12, false, ""});
  report.add({"torque from energy against the slope of inductances", torque_error / torque, 1e-9, false,
              "relative"});
  return answers;
}

// ---- transient

struct WrsmRun {
  MachineRecord record;
  std::vector<double> theta;
  double seconds_per_step = 0.0, iterations = 0.0;
  std::int64_t steps = 0;
};

double wrsm_processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

WrsmRun run_wrsm(const char* file, double step, double stop, int iterations, int repetitions,
                 double sample = wrsm_interval) {
  const Model model = read_model(wrsm_folder / file, wrsm_library());
  SimulationOptions given;
  given.method = given.form = given.start = "";
  given.step = step;
  given.sample = sample;
  given.stop = stop;
  given.iterations = iterations;
  std::vector<OutputColumn> outputs;
  for (const char* name : {"lambda_q", "lambda_d", "lambda_0", "i_q", "i_d", "i_0", "T_e", "theta_r"})
    outputs.push_back({name, "", parse_value(model, name, {})});
  WrsmRun all;
  double best = INFINITY;
  for (int k = 0; k < repetitions; ++k) {
    Simulation simulation(model, complete_options(model, given), outputs);
    const double begin = wrsm_processor_seconds();
    const SimulationResult result = simulation.run();
    if (!result.failure.empty()) throw std::runtime_error(result.failure);
    best = std::min({best, result.loop_seconds, wrsm_processor_seconds() - begin});  // the core may be shared
    if (k > 0) continue;
    all.steps = result.statistics.steps;
    all.iterations = static_cast<double>(result.statistics.iterations) / static_cast<double>(all.steps);
    for (std::size_t r = 0; r < result.t.size(); ++r) {
      const double* row = &result.values[r * outputs.size()];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        all.record.lambda[axis].push_back(row[axis]);
        all.record.i[axis].push_back(row[3 + axis]);
        all.record.v[axis].push_back(axis == 0 ? 10.0 : axis == 1 ? 0.0 : 0.25);
      }
      all.record.torque.push_back(row[6]);
      all.theta.push_back(row[7]);
    }
  }
  all.record.interval = sample;
  all.record.field_current = wrsm_field;
  all.seconds_per_step = best / static_cast<double>(all.steps);
  return all;
}

std::array<double, 4> currents_of(double q, double d, double zero, double theta) {
  const std::array<double, 3> phases = phases_of(q, d, zero, theta);
  return {phases[0], phases[1], phases[2], wrsm_field};
}

std::vector<std::array<double, 4>> currents_of(const WrsmRun& run) {
  std::vector<std::array<double, 4>> currents;
  for (std::size_t r = 0; r < run.theta.size(); ++r)
    currents.push_back(currents_of(run.record.i[0][r], run.record.i[1][r], run.record.i[2][r], run.theta[r]));
  return currents;
}

InductanceTable table_of(const std::vector<MachineAnswer>& answers) {
  InductanceTable table;
  for (const MachineAnswer& answer : answers) {
    table.emplace_back();
    for (std::size_t e = 0; e < 16; ++e) table.back()[e] = answer.inductance[e / 4][e % 4];
  }
  return table;
}

InductanceTable table_of(const Trajectory& reference) {
  InductanceTable table(reference.rows());
  for (std::size_t r = 0; r < table.size(); ++r) {
    std::size_t column = 0;
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a; b < 4; ++b, ++column)
        table[r][4 * a + b] = table[r][4 * b + a] = reference.at(r, column);
  }
  return table;
}

WrsmRun show_wrsm_transient(const MachineExtractionOptions& options, const std::vector<MachineAnswer>& table,
                            Report& report) {
  const Trajectory reference = read_csv(wrsm_folder / "reference.csv");
  const double stop = wrsm_interval * 459;
  const int repetitions = options.quick ? 1 : 5;
  report.begin({"transient", "v_q = 10 V, v_0 = 0.25 V, i_f = 0.25 A, 376.99 rad/s, from zero flux linkages",
                "errors over each peak at the reference's samples; time of a step",
                "flux linkages and currents within 0.5 % of their peaks"});
  TextTable errors{{"step us", "lambda_q", "lambda_d", "lambda_0", "i_q", "i_d", "i_0", "T_e",
                    "T_e as reference", "iterations", "us/step", "5 cycles ms"},
                   {}};
  WrsmRun finest;
  for (const double step : {wrsm_interval, wrsm_interval / 4}) {
    const WrsmRun run = run_wrsm("model.toml", step, stop, 0, repetitions);
    const std::vector<double> as_reference =
        table.size() == 360
            ? interpolated_torque(table_of(table), run.theta, currents_of(run), wrsm_pole_pairs)
            : std::vector<double>{};
    std::vector<std::string> cells{cell(1e6 * step)};
    double worst = 0.0;
    for (std::size_t c = 0; c < 8; ++c) {
      const std::vector<double>& mine = c < 3    ? run.record.lambda[c]
                                        : c < 6  ? run.record.i[c - 3]
                                        : c == 6 ? run.record.torque
                                                 : as_reference;
      double peak = 0.0, error = mine.empty() ? NAN : 0.0;
      for (std::size_t r = 0; r < reference.rows() && !mine.empty(); ++r) {
        peak = std::max(peak, std::abs(reference.at(r, std::min<std::size_t>(c, 6))));
        error = std::max(error, std::abs(mine[3 * r] - reference.at(r, std::min<std::size_t>(c, 6))));
      }
      cells.push_back(cell(error / peak, 2));
      if (c < 6) worst = std::max(worst, error / peak);
      if (c >= 6 && step < wrsm_interval && !mine.empty())
        report.add({c == 6 ? "transient: torque, exact, against the reference's interpolant"
                           : "transient: torque as the reference computes it",
                    error / peak, 0.005, false, "largest error over its peak"});
    }
    const double cycles = run.seconds_per_step * 5 / 60.0 / step;
    cells.insert(cells.end(), {cell(run.iterations), cell(1e6 * run.seconds_per_step), cell(1e3 * cycles)});
    report.require(worst < 0.005, fmt::format("transient at {} us", 1e6 * step));
    if (step == wrsm_interval) {
      report.add(
          {"transient: flux linkages and currents", worst, 0.005, false, "largest error over its peak"});
      report.add({"five electrical cycles against the published 0.8362 s", published_five_cycles / cycles, 10,
                  true, "times faster"});
    }
    errors.rows.push_back(std::move(cells));
    finest = run;
  }
  report.table("errors over peaks", errors);
  return finest;
}

// The reference's torque is 1.8 % of the peak away from ours. Three answers to the question whose is right:
// what the reference computed, where its rule tends to, and what the power leaves for the shaft.
void show_wrsm_torque(const MachineExtractionOptions& options, Report& report) {
  const Trajectory reference = read_csv(wrsm_folder / "reference.csv");
  const StaticStudy study(wrsm_folder / "model.toml", wrsm_library());
  report.begin({"torque of the transient", "angles and currents of the reference's samples",
                "largest difference over the peak: the reference's column, the exact derivative by the angle "
                "and interpolants through tables of inductances; the balance of powers",
                "the column is the interpolant to 1e-4; tables of more angles tend to the exact derivative; "
                "power closes with it to 1e-3"});
  std::vector<double> theta, column, exact;
  std::vector<std::array<double, 4>> currents;
  std::vector<MachinePoint> points;
  double peak = 0.0;
  for (std::size_t r = 0; r < reference.rows(); ++r) {
    theta.push_back(wrsm_speed * reference.t[r]);
    currents.push_back(currents_of(reference.at(r, 3), reference.at(r, 4), reference.at(r, 5), theta.back()));
    points.push_back({theta.back() / wrsm_pole_pairs, currents.back()});
    column.push_back(reference.at(r, 6));
    peak = std::max(peak, std::abs(column.back()));
  }
  for (const MachineAnswer& answer : study.at(points, false)) exact.push_back(answer.torque);
  const auto apart = [&](const std::vector<double>& a, const std::vector<double>& b) {
    double most = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
    return most / peak;
  };
  TextTable table{{"torque", "and", "largest difference over the peak"}, {}};
  const auto row = [&](const std::string& a, const std::string& b, double difference) {
    table.rows.push_back({a, b, fmt::format("{:.2e}", difference)});
  };
  const double same = apart(interpolated_torque(table_of(read_csv(wrsm_folder / "inductances.csv")), theta,
                                                currents, wrsm_pole_pairs),
                            column);
  row("reference's column", "interpolant through the reference's own 360 angles", same);
  row("reference's column", "exact derivative", apart(column, exact));
  double last = 0.0;
  for (int angles = 360; angles <= (options.quick ? 720 : 2880); angles *= 2) {
    std::vector<MachinePoint> turn;
    for (int k = 1; k <= angles; ++k)
      turn.push_back({2 * std::numbers::pi / angles * k / wrsm_pole_pairs, {1, 0, 0, wrsm_field}});
    const double difference =
        apart(interpolated_torque(table_of(study.at(turn, true)), theta, currents, wrsm_pole_pairs), exact);
    row(fmt::format("interpolant through {} angles of the network", angles), "exact derivative", difference);
    report.require(last == 0.0 || difference < 0.8 * last, "an interpolant through more angles is no nearer");
    last = difference;
  }
  report.require(same < 1e-4, "the reference's torque is not the interpolant through its table");

  // Powers: a run in small steps, and the energy of the field from flux linkages alone.
  constexpr int steps = 64, rows = 50;
  const double h = wrsm_interval / steps;
  const WrsmRun fine = run_wrsm("model.toml", h, wrsm_interval * 3 * rows, 0, 1, h);
  const std::vector<std::array<double, 4>> fine_currents = currents_of(fine);
  double ours = 0.0, theirs = 0.0;
  std::vector<MachinePoint> around;
  for (std::size_t r = 1; r < rows; ++r)
    for (const std::size_t at : {3 * r * steps - 1, 3 * r * steps, 3 * r * steps + 1})
      around.push_back({fine.theta[at] / wrsm_pole_pairs, fine_currents[at]});
  const std::vector<MachineAnswer> answers = study.at(around, false);
  for (std::size_t r = 1; r < rows; ++r) {
    std::array<PowerSample, 3> samples;
    std::array<double, 3> energy{}, linkage{};
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t at = 3 * r * steps + k - 1;
      samples[k] = {fine.theta[at], fine_currents[at], phases_of(10.0, 0.0, 0.25, fine.theta[at])};
      const MachineAnswer& answer = answers[3 * (r - 1) + k];
      linkage[k] = answer.lambda[3];
      for (std::size_t p = 0; p < 4; ++p) energy[k] += 0.5 * fine_currents[at][p] * answer.lambda[p];
    }
    const double balance =
        torque_of_power(samples, energy, linkage, wrsm_resistance, 2 * h, wrsm_speed / wrsm_pole_pairs);
    ours = std::max(ours, std::abs(balance - fine.record.torque[3 * r * steps]) / peak);
    theirs = std::max(theirs, std::abs(balance - column[r]) / peak);
  }
  row("electrical power less losses and the field's gain", "exact derivative", ours);
  row("electrical power less losses and the field's gain", "reference's column", theirs);
  report.require(ours < 1e-3, "power does not balance with the torque");
  report.table("whose torque is right", table);
  report.note(
      "The reference differentiates a trigonometric interpolant through 360 angles: its column is that, to "
      "its "
      "printed digits. Between the angles the interpolant overshoots at the corners of dL/dtheta, where pole "
      "edges pass teeth. Tables of more angles tend to the exact derivative, and only that one balances the "
      "power; the bar against the column itself is missed by what the interpolant is wrong.");
  report.add({"torque: balance of powers with the exact derivative", ours, 0.005, false, "over the peak"});
}

// ---- extraction

std::vector<std::string> qd_cells(const QdModel& m) {
  return {cell(m.w_r, 5),        cell(m.r_s, 4),         cell(1e3 * m.L_ls, 3), cell(1e3 * m.L_mq, 4),
          cell(1e3 * m.L_md, 4), cell(m.turns_ratio, 4), cell(m.poles, 3)};
}

struct ExtractionRow {
  const char* source;
  std::size_t first, last;
  Discretisation rule;
  QdModel expected;  // least squares on the reference's record
};
constexpr ExtractionRow extraction_rows[] = {
    {"1-100, forward",
     0,
     100,
     Discretisation::forward,
     {376.78, 0.2124, 0.480e-3, 3.425e-3, 4.909e-3, 10.35, 4.23}},
    {"1-100, trapezoidal",
     0,
     100,
     Discretisation::trapezoidal,
     {377.06, 0.1730, 0.480e-3, 3.425e-3, 4.909e-3, 10.35, 4.23}},
    {"101-200, forward",
     100,
     200,
     Discretisation::forward,
     {376.37, 0.1890, 0.768e-3, 3.091e-3, 4.620e-3, 11.00, 4.19}},
    {"361-460, trapezoidal",
     360,
     460,
     Discretisation::trapezoidal,
     {376.99, 0.1729, 0.807e-3, 2.589e-3, 4.523e-3, 11.49, 5.26}},
};
struct PublishedRow {
  const char* source;
  QdModel model;
};
// Yadav, PhD dissertation, UT Arlington, 2021, Tables 1 to 3: of a machine whose geometry is not published.
constexpr PublishedRow published_rows[] = {
    {"BH1 reference", {376.99, 0.1729, 0.83e-3, 3.06e-3, 4.71e-3, 10.94, 4}},
    {"hardware", {376.99, 0.21, 0.90e-3, 3.07e-3, 4.46e-3, NAN, 4}},
    {"BH1 relaxation (Table 1)", {376.98, 0.1729, 0.27e-3, 3.38e-3, 5.19e-3, 10.23, 4.44}},
    {"BH1 relaxation, local (Table 2)", {377.10, 0.1738, 0.75e-3, 2.94e-3, 4.74e-3, 11.16, 3.90}},
    {"BH2 reference", {376.99, 0.1729, 0.82e-3, 2.94e-3, 4.33e-3, 10.94, 4}},
    {"BH2 relaxation, local (Table 3)", {377.12, 0.1737, 0.74e-3, 2.84e-3, 4.34e-3, 11.35, 3.89}},
};

void show_wrsm_extraction(const WrsmRun& linear, const WrsmRun& m19, Report& report) {
  report.begin({"extraction", "100 samples of the transient at 222 us, least squares",
                "the qd0 model by window and rule; below each row that of the reference's record",
                "every number within 1 %"});
  TextTable table{
      {"record, samples, rule", "w_r", "r_s", "L_ls mH", "L_mq mH", "L_md mH", "N_f/N_s", "poles"}, {}};
  const auto row = [&](const std::string& name, const QdModel& model) {
    std::vector<std::string> cells = qd_cells(model);
    cells.insert(cells.begin(), name);
    table.rows.push_back(std::move(cells));
  };
  double worst = 0.0;
  for (const ExtractionRow& e : extraction_rows) {
    const QdModel is = extract_qd0(linear.record, e.first, e.last, e.rule);
    row(fmt::format("linear, {}", e.source), is);
    row("  reference", e.expected);
    for (const auto& [a, b] :
         {std::pair{is.w_r, e.expected.w_r}, std::pair{is.r_s, e.expected.r_s},
          std::pair{is.L_ls, e.expected.L_ls}, std::pair{is.L_mq, e.expected.L_mq},
          std::pair{is.L_md, e.expected.L_md}, std::pair{is.turns_ratio, e.expected.turns_ratio},
          std::pair{is.poles, e.expected.poles}})
      worst = std::max(worst, std::abs(a / b - 1));
  }
  report.require(worst < 0.01, "extraction");
  for (const ExtractionRow& e : extraction_rows)
    row(fmt::format("M19, {}", e.source), extract_qd0(m19.record, e.first, e.last, e.rule));
  for (const PublishedRow& p : published_rows) row(fmt::format("published: {}", p.source), p.model);
  report.table("qd0 models (Tables 1 to 3)", table);
  report.add(
      {"extraction: largest difference to the reference's rows", worst, 0.01, false, "4 rows of 7 numbers"});

  const QdModel extracted = extract_qd0(linear.record, 0, 100, Discretisation::trapezoidal);
  const double before =
      linkage_errors(linear.record, 0, 100, {wrsm_speed, 0.1729, 0.823e-3, 3.098e-3, 4.574e-3, 11.05, 4})[2];
  const double after = linkage_errors(linear.record, 0, 100, extracted)[2];
  TextTable four{{"", "here", "published"},
                 {{"zero-sequence flux, MAPE %, static inductances", cell(100 * before), "40.04"},
                  {"the same, extracted", cell(100 * after), "37.42"}}};
  report.table("what the model leaves", four);
}

}  // namespace

bool run_machine_extraction(const MachineExtractionOptions& options) {
  Report report;
  show_wrsm_inductances(report);
  const std::vector<MachineAnswer> table = show_wrsm_table(options, report);
  const WrsmRun linear = show_wrsm_transient(options, table, report);
  show_wrsm_torque(options, report);
  const WrsmRun m19 = run_wrsm("m19.toml", wrsm_interval / 2, wrsm_interval * 459, 0, 1);
  show_wrsm_extraction(linear, m19, report);
  show_extraction_route(linear.record, m19.record, options.quick, report);
  report.finish();
  if (!options.json.empty()) write_file(options.json, report.json().dump(2) + "\n");
  return !report.failed();
}

}  // namespace tellegen
