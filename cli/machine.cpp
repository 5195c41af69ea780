// tellegen machine: static studies of a machine that a model file gives by its cross-section.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/study_report.h"
#include "tellegen/report/machine_report.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {
namespace {

// The command line as it was typed.
struct MachineRequest : MachinePointOptions {
  std::string file, inductances, torque, open_circuit, flux_map, picture;
  std::vector<std::string> set;
  bool json = false;
  StudyReportRequest report;
};

constexpr std::string_view phase_names[] = {"a", "b", "c", "f"};

// Angles of one electrical turn, as many degrees as are asked for.
std::vector<MachinePoint> turn(const StaticStudy& study, const MachineRequest& request, double q, double d) {
  std::vector<MachinePoint> points;
  for (int k = 0; k < request.angles; ++k) {
    const double angle = 2 * std::numbers::pi / study.pole_pairs() * k / request.angles;
    points.push_back({angle, study.currents(angle, q, d, 0.0, request.field)});
  }
  return points;
}

std::string machine_csv(const std::vector<std::string>& header,
                        const std::vector<std::vector<double>>& rows) {
  std::string text;
  for (std::size_t k = 0; k < header.size(); ++k) text += (k == 0 ? "" : ",") + header[k];
  for (const auto& row : rows) {
    text += '\n';
    for (std::size_t k = 0; k < row.size(); ++k) text += fmt::format("{}{:.12g}", k == 0 ? "" : ",", row[k]);
  }
  return text + '\n';
}

void write_inductances(const StaticStudy& study, const MachineRequest& request) {
  const auto points = turn(study, request, request.i_q, request.i_d);
  const auto answers = study.at(points, true);
  std::vector<std::string> header{"theta_r [rad]"};
  for (std::size_t a = 0; a < study.windings(); ++a)
    for (std::size_t b = a; b < study.windings(); ++b)
      header.push_back(fmt::format("L{}{} [H]", phase_names[a], phase_names[b]));
  std::vector<std::vector<double>> rows;
  for (std::size_t k = 0; k < points.size(); ++k) {
    rows.push_back({points[k].angle * study.pole_pairs()});
    for (std::size_t a = 0; a < study.windings(); ++a)
      for (std::size_t b = a; b < study.windings(); ++b) rows.back().push_back(answers[k].inductance[a][b]);
  }
  write_file(request.inductances, machine_csv(header, rows));
}

TorqueSummary study_torque(const StaticStudy& study, const MachineRequest& request,
                           std::vector<std::vector<double>>& rows) {
  const auto points = turn(study, request, request.i_q, request.i_d);
  const auto answers = study.at(points, false);
  TorqueSummary summary{0.0, answers[0].torque, answers[0].torque};
  for (std::size_t k = 0; k < points.size(); ++k) {
    rows.push_back({points[k].angle * study.pole_pairs(), answers[k].torque});
    summary.mean += answers[k].torque / static_cast<double>(points.size());
    summary.lowest = std::min(summary.lowest, answers[k].torque);
    summary.highest = std::max(summary.highest, answers[k].torque);
  }
  if (!request.torque.empty()) write_file(request.torque, machine_csv({"theta_r [rad]", "T_e [N m]"}, rows));
  return summary;
}

std::vector<double> study_open_circuit(const StaticStudy& study, const MachineRequest& request,
                                       std::vector<std::vector<double>>& rows) {
  const auto points = turn(study, request, 0.0, 0.0);
  const auto answers = study.at(points, true);
  std::vector<double> lambda;
  for (std::size_t k = 0; k < points.size(); ++k) {
    lambda.push_back(answers[k].lambda[0]);
    // The voltage of a speed of 1 rad/s, mechanical: d lambda/d angle.
    rows.push_back({points[k].angle * study.pole_pairs(), lambda.back(), answers[k].lambda_slope[0]});
  }
  if (!request.open_circuit.empty())
    write_file(request.open_circuit, machine_csv({"theta_r [rad]", "lambda_a [Wb]", "dlambda_a [Wb]"}, rows));
  return harmonics(lambda, std::min<std::size_t>(19, lambda.size() / 2 - 1));
}

// On a grid of currents from -largest to largest: what machines.synchronous_table reads. Means over a sixth
// of an electrical period, after which a balanced winding looks the same again with its phases exchanged.
std::vector<std::vector<double>> write_flux_map(const StaticStudy& study, const MachineRequest& request) {
  const Machine& machine = study.machine();
  const double span = 2 * std::numbers::pi / (3 * machine.poles);
  const int angles = std::max(12, 10 * machine.slots / (3 * machine.poles));
  std::vector<MachinePoint> points;
  std::vector<std::pair<double, double>> currents;
  const auto level = [&](int k) { return request.largest * (2.0 * k / (request.points - 1) - 1.0); };
  for (int d = 0; d < request.points; ++d)
    for (int q = 0; q < request.points; ++q) {
      currents.emplace_back(level(d), level(d % 2 == 0 ? q : request.points - 1 - q));  // neighbours follow
      for (int k = 0; k < angles; ++k) {
        const double angle = span * k / angles;
        points.push_back({angle, study.currents(angle, currents.back().second, currents.back().first, 0.0,
                                                request.field)});
      }
    }
  const auto answers = study.at(points, false);
  std::vector<std::vector<double>> rows;
  for (std::size_t g = 0; g < currents.size(); ++g) {
    std::vector<double> row{currents[g].first, currents[g].second, 0.0, 0.0, 0.0};
    for (std::size_t k = g * angles; k < (g + 1) * angles; ++k) {
      const auto qd0 = study.qd0(points[k].angle, answers[k].lambda);
      row[2] += qd0[1] / angles;
      row[3] += qd0[0] / angles;
      row[4] += answers[k].torque / angles;
    }
    rows.push_back(std::move(row));
  }
  write_file(request.flux_map,
             machine_csv({"i_d [A]", "i_q [A]", "lambda_d [Wb]", "lambda_q [Wb]", "T_e [N m]"}, rows));
  return rows;
}

// Throws ModelError (T402).
void write_report(const StaticStudy& study, const MachineRequest& request, const MachineFindings& found) {
  PagePart part = machine_part(study, request, found, request.report.title,
                               {{"model file", request.file},
                                {"points of an electrical turn", std::to_string(request.angles)},
                                {"speed", request.speed},
                                {"replaced", comma_list(request.set)}});
  Page page;
  page.title = part.title;
  page.parts = {std::move(part)};
  try {
    write_file(request.report.report, to_html(page));
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_machine, error);
  }
}

void run_machine(const MachineRequest& request) {
  for (const auto& [option, file] :
       {std::pair{"--inductances", &request.inductances}, std::pair{"--torque", &request.torque},
        std::pair{"--open-circuit", &request.open_circuit}, std::pair{"--flux-map", &request.flux_map}})
    if (!file->empty()) check_writable({tellegen_machine, option}, *file, {".csv"});
  if (!request.picture.empty()) check_writable({tellegen_machine, "--picture"}, request.picture, {".svg"});
  check_study_report(tellegen_machine, request.report, request.file);
  ReadOptions options;
  for (const std::string& text : request.set)
    options.overrides.push_back(read_assignment({tellegen_machine, "--set"}, text));
  const double speed = request.speed.empty() ? 0.0 : read_speed({tellegen_machine, "--speed"}, request.speed);
  const StaticStudy study(request.file, options);
  MachineFindings found;
  if (speed > 0.0)
    found.iron = iron_loss(study, speed, request.i_q, request.i_d, request.field, request.angles);
  found.axes = axis_inductances(study, request.field);
  found.torque = study_torque(study, request, found.torque_rows);
  found.harmonics = study_open_circuit(study, request, found.open_circuit_rows);
  found.section = cross_section(
      study, {request.angle, study.currents(request.angle, request.i_q, request.i_d, 0.0, request.field)});
  if (!request.inductances.empty()) write_inductances(study, request);
  if (!request.flux_map.empty()) found.map_rows = write_flux_map(study, request);
  if (!request.picture.empty()) write_file(request.picture, found.section.svg);
  if (!request.report.report.empty()) write_report(study, request, found);
  if (request.json)
    fmt::print("{}\n", machine_json(request, found).dump(2));
  else
    fmt::print("{}", machine_text(study.machine(), request, found));
}

}  // namespace

void add_machine(CLI::App& command) {
  auto request = std::make_shared<MachineRequest>();
  command.add_option("MODEL", request->file, "model file with a [machine]")->required();
  command.add_option("--field", request->field, "field current, A (1)");
  command.add_option("--iq", request->i_q, "stator current along q, A (0)");
  command.add_option("--id", request->i_d, "stator current along d, A (0)");
  command.add_option("--speed", request->speed, "estimate iron losses at this speed: 1500rpm")
      ->type_name("SPEED");
  command.add_option("--angles", request->angles, "points of an electrical turn (360)")
      ->check(CLI::Range(8, 100'000));
  command.add_option("--inductances", request->inductances,
                     "write the inductance matrix over the angle, CSV");
  command.add_option("--torque", request->torque,
                     "write the torque over the angle, CSV; without current: cogging");
  command.add_option("--open-circuit", request->open_circuit,
                     "write the flux linkage of phase a without current, CSV");
  command.add_option("--flux-map", request->flux_map, "write flux linkages and torque over i_d and i_q, CSV");
  command.add_option("--largest", request->largest, "currents of the map go to this, A (10)")
      ->check(CLI::PositiveNumber);
  command.add_option("--points", request->points, "of the map, along each axis (11)")
      ->check(CLI::Range(2, 1000));
  command.add_option("--picture", request->picture, "draw the cross-section coloured by flux density, SVG");
  command.add_option("--angle", request->angle, "of the rotor in the picture, rad (0)");
  command.add_option("--set", request->set, "replace a parameter: name=value")->allow_extra_args(false);
  add_study_report_options(command, request->report);
  command.add_flag("--json", request->json, "print everything as JSON");
  command.callback([request] { run_machine(*request); });
}

}  // namespace tellegen
