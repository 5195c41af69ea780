#include "tellegen/report/machine_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/report/text.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/heat_map.h"
#include "tellegen/results/html.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

TextTable number_table(const Machine& machine, const MachinePointOptions& options,
                       const MachineFindings& found) {
  const AxisInductances& x = found.axes;
  TextTable numbers{{"quantity", "value", "unit"}, {}};
  const auto add = [&](const std::string& name, double value, const char* unit) {
    numbers.rows.push_back({name, brief_number(value, 6), unit});
  };
  add("L_ls, zero sequence", 1e3 * x.L_ls, "mH");
  add("L_mq", 1e3 * x.L_mq, "mH");
  add("L_md", 1e3 * x.L_md, "mH");
  if (machine.wound_field() && options.field != 0.0) {
    add("lambda_d/i_f", 1e3 * x.field_linkage, "mWb/A");
    add("N_f/N_s", x.turns_ratio(), "");
  }
  add("torque, mean", found.torque.mean, "N m");
  add("torque, lowest", found.torque.lowest, "N m");
  add("torque, highest", found.torque.highest, "N m");
  add("largest flux density: teeth", found.section.tooth, "T");
  add("stator yoke", found.section.yoke, "T");
  add("poles", found.section.pole, "T");
  return numbers;
}

TextTable harmonic_table(const MachineFindings& found) {
  TextTable waves{{"harmonic", "lambda_a [mWb]"}, {}};
  for (std::size_t h = 1; h < found.harmonics.size(); h += 2)
    waves.rows.push_back({std::to_string(h), brief_number(1e3 * found.harmonics[h], 4)});
  return waves;
}

std::string open_circuit_title(const Machine& machine, const MachinePointOptions& options) {
  return machine.wound_field() ? fmt::format("open circuit, field {} A", brief_number(options.field))
                               : "open circuit";
}

TextTable iron_table(const IronLoss& iron) {
  TextTable table{{"iron", "mass [kg]", "swing of B [T]", "hysteresis [W]", "eddy currents [W]", "excess [W]",
                   "loss [W]"},
                  {}};
  const auto add = [&](const std::string& name, const std::string& mass, const std::string& swing,
                       const LossParts& p) {
    table.rows.push_back({name, mass, swing, brief_number(p.hysteresis, 4), brief_number(p.eddy, 4),
                          brief_number(p.excess, 4), brief_number(p.total(), 4)});
  };
  double mass = 0.0;
  for (const RegionLoss& r : iron.regions) {
    add(r.region, brief_number(r.mass, 4), brief_number(r.swing, 4), r.loss);
    mass += r.mass;
  }
  add("all", brief_number(mass, 4), "", iron.total());
  return table;
}
std::string iron_title(const MachinePointOptions& options, const IronLoss& iron) {
  return fmt::format("iron losses at {} ({} Hz)", options.speed, brief_number(iron.frequency, 4));
}
std::vector<std::string> fit_lines(const IronLoss& iron) {
  std::vector<std::string> lines;
  for (const auto& [material, fit] : iron.fits) {
    const LossCoefficients& c = fit.coefficients;
    lines.push_back(fmt::format(
        "'{}' from its measured losses: hysteresis {}, exponent {}, eddy {}, excess {}; within {} %",
        material, brief_number(c.hysteresis, 4), brief_number(c.exponent, 4), brief_number(c.eddy, 4),
        brief_number(c.excess, 4), brief_number(100 * fit.worst, 3)));
  }
  return lines;
}

nlohmann::json iron_loss_json(const IronLoss& iron) {
  const auto parts = [](const LossParts& p) {
    return nlohmann::json{
        {"hysteresis", p.hysteresis}, {"eddy", p.eddy}, {"excess", p.excess}, {"total", p.total()}};
  };
  nlohmann::json all{{"frequency", iron.frequency}, {"loss", parts(iron.total())}};
  auto& regions = all["regions"] = nlohmann::json::array();
  for (const RegionLoss& r : iron.regions)
    regions.push_back({{"region", r.region}, {"mass", r.mass}, {"swing", r.swing}, {"loss", parts(r.loss)}});
  auto& fits = all["fits"] = nlohmann::json::array();
  for (const auto& [material, fit] : iron.fits)
    fits.push_back({{"material", material},
                    {"hysteresis", fit.coefficients.hysteresis},
                    {"exponent", fit.coefficients.exponent},
                    {"eddy", fit.coefficients.eddy},
                    {"excess", fit.coefficients.excess},
                    {"largest_relative_error", fit.worst}});
  return all;
}

Chart curves(const MachineFindings& found) {
  Chart chart{"", {}, 2};
  const auto panel = [&](const std::vector<std::vector<double>>& rows, std::size_t column, double scale,
                         const char* name) {
    ChartSeries series;
    for (const auto& row : rows) {
      series.x.push_back(row[0]);
      series.y.push_back(scale * row[column]);
    }
    ChartPanel result;
    result.x_label = "theta_r [rad]";
    result.y_label = name;
    result.series.push_back(std::move(series));
    chart.panels.push_back(std::move(result));
  };
  panel(found.torque_rows, 1, 1.0, "torque [N m]");
  panel(found.open_circuit_rows, 1, 1e3, "lambda_a, open circuit [mWb]");
  panel(found.open_circuit_rows, 2, 1.0, "voltage of phase a at 1 rad/s [V]");
  ChartPanel waves;
  waves.what = ChartPanel::What::bars;
  waves.x_label = "harmonic, beside the first";
  waves.y_label = "lambda_a [mWb]";
  ChartSeries series;
  for (std::size_t h = 3; h < found.harmonics.size(); h += 2) {
    waves.names.push_back(std::to_string(h));
    series.y.push_back(1e3 * found.harmonics[h]);
  }
  waves.series.push_back(std::move(series));
  chart.panels.push_back(std::move(waves));
  return chart;
}

// i_d from left to right, i_q upwards.
HeatMap flux_map(const MachineFindings& found, std::size_t column, double scale, const char* title) {
  std::vector<double> d, q;
  for (const auto& row : found.map_rows) {
    d.push_back(row[0]);
    q.push_back(row[1]);
  }
  for (std::vector<double>* axis : {&d, &q}) {
    std::sort(axis->begin(), axis->end());
    axis->erase(std::unique(axis->begin(), axis->end()), axis->end());
  }
  HeatMap map;
  map.title = title;
  map.x_label = "i_d [A]";
  map.y_label = "i_q [A]";
  for (const double value : d) map.x.push_back(brief_number(value, 4));
  for (std::size_t r = q.size(); r-- > 0;) map.y.push_back(brief_number(q[r], 4));
  map.z.assign(d.size() * q.size(), std::nan(""));
  for (const auto& row : found.map_rows) {
    const auto x = static_cast<std::size_t>(std::lower_bound(d.begin(), d.end(), row[0]) - d.begin()),
               y = static_cast<std::size_t>(std::lower_bound(q.begin(), q.end(), row[1]) - q.begin());
    map.z[(q.size() - 1 - y) * d.size() + x] = scale * row[column];
  }
  return map;
}

}  // namespace

std::string machine_text(const Machine& machine, const MachinePointOptions& options,
                         const MachineFindings& found) {
  std::string text = fmt::format("{}\n{}\n{}", to_text(number_table(machine, options, found)),
                                 open_circuit_title(machine, options), to_text(harmonic_table(found)));
  if (!found.iron) return text;
  text += fmt::format("\n{}\n{}", iron_title(options, *found.iron), to_text(iron_table(*found.iron)));
  for (const std::string& line : fit_lines(*found.iron)) text += line + "\n";
  return text;
}

nlohmann::json machine_json(const MachinePointOptions& options, const MachineFindings& found) {
  const AxisInductances& x = found.axes;
  nlohmann::json all{
      {"field_current", options.field},
      {"L_ls", x.L_ls},
      {"L_mq", x.L_mq},
      {"L_md", x.L_md},
      {"field_linkage", x.field_linkage},
      {"torque",
       {{"mean", found.torque.mean}, {"lowest", found.torque.lowest}, {"highest", found.torque.highest}}},
      {"harmonics", found.harmonics},
      {"flux_density",
       {{"tooth", found.section.tooth}, {"yoke", found.section.yoke}, {"pole", found.section.pole}}}};
  if (found.iron) all["iron_loss"] = iron_loss_json(*found.iron);
  return all;
}

PagePart machine_part(const StaticStudy& study, const MachinePointOptions& options,
                      const MachineFindings& found, const std::string& title, const Settings& settings) {
  const Machine& machine = study.machine();
  PagePart part;
  part.title = title.empty() ? fmt::format("Machine: {}", study.file().stem().string()) : title;
  part.html = paragraph(
      fmt::format("{} slots, {} poles. Currents: i_q = {} A, i_d = {} A{}.", machine.slots, machine.poles,
                  brief_number(options.i_q), brief_number(options.i_d),
                  machine.wound_field() ? fmt::format(", field {} A", brief_number(options.field)) : ""));
  part.html += side_by_side({found.section.svg, table_html(number_table(machine, options, found))});
  part.html += to_html(curves(found));
  part.html += table_html(harmonic_table(found), open_circuit_title(machine, options));
  if (!found.map_rows.empty())
    part.html += side_by_side({to_html(flux_map(found, 2, 1e3, "lambda_d [mWb]")),
                               to_html(flux_map(found, 3, 1e3, "lambda_q [mWb]")),
                               to_html(flux_map(found, 4, 1.0, "torque [N m]"))});
  if (found.iron) {
    part.html += table_html(iron_table(*found.iron), iron_title(options, *found.iron));
    for (const std::string& line : fit_lines(*found.iron)) part.html += paragraph(line);
  }
  part.html += settings_html(settings);
  nlohmann::json data = machine_json(options, found);
  data["part"] = "machine";
  part.data = data.dump();
  return part;
}

}  // namespace tellegen
