#include "tellegen/report/stage_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/units.h"
#include "tellegen/report/text.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

using Json = nlohmann::ordered_json;

std::string coordinate_word(const CalibratedParameter& p, const std::string& name) {
  return p.coordinate == ModelUnknown::Coordinate::inverse     ? "1/" + name
         : p.coordinate == ModelUnknown::Coordinate::logarithm ? "log " + name
                                                               : name;
}

std::string per_cent(double part) { return std::isfinite(part) ? brief_number(100.0 * part, 3) + " %" : "-"; }

}  // namespace

std::string stage_text(const Model& model, const StageResult& stage) {
  TextTable table{{"parameter", "unit", "before", "after", "sd", "relative", "found as"}, {}};
  for (const CalibratedParameter& p : stage.parameters) {
    const ModelParameter& parameter = model.parameters[p.parameter];
    table.rows.push_back(
        {parameter.name, parameter.unit, text_in_unit(p.before, parameter.unit),
         text_in_unit(p.after, parameter.unit),
         std::isnan(p.deviation) ? "-" : brief_number(deviation_in_unit(p.deviation, parameter.unit), 3),
         per_cent(p.deviation / std::abs(p.after)),
         p.at_bound ? "at its bound" : coordinate_word(p, parameter.name)});
  }
  std::string text = to_text(table) + "\n";
  if (stage.starts.empty() || stage.found().path.empty()) return text;
  const std::size_t n = stage.parameters.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (std::abs(stage.correlation[i * n + j]) > 0.9)
        text +=
            fmt::format("{} and {} are hard to distinguish: correlation {:.3f}\n",
                        model.parameters[stage.parameters[i].parameter].name,
                        model.parameters[stage.parameters[j].parameter].name, stage.correlation[i * n + j]);
  TextTable sensors{{"sensor", "unit", "readings", "missing", "mean", "rms", "rms/noise", "white"}, {}};
  for (std::size_t s = 0; s < stage.sensors.size(); ++s) {
    const SensorStatistics& a = stage.sensors[s];
    std::string unit;
    for (const ModelOutput& output : model.outputs)
      if (output.sensor && (a.name == output.name || a.name.starts_with(output.name + ", record ")))
        unit = output.unit;
    const double rms = deviation_in_unit(stage.residual_rms[s], unit);
    sensors.rows.push_back({a.name, unit, fmt::format("{}", a.used), fmt::format("{}", a.missing),
                            brief_number(a.mean * rms / std::sqrt(a.variance), 2), brief_number(rms, 4),
                            brief_number(std::sqrt(a.variance), 4),
                            std::isnan(a.whiteness) ? "-" : brief_number(a.whiteness, 2)});
  }
  text += fmt::format("{}\n", to_text(sensors));
  const CalibrationStart& found = stage.found();
  text += fmt::format(
      "{}: {} iterations, {} evaluations; cost {:.6g} to {:.6g}; chi-square per degree of freedom {:.4g}\n",
      found.stopped, found.path.size() - 1, found.evaluations, found.path.front().cost, found.cost,
      stage.chi_square);
  if (stage.starts.size() > 1) {
    TextTable starts{{"start", "iterations", "cost", "", ""}, {}};
    for (std::size_t s = 0; s < stage.starts.size(); ++s) {
      const CalibrationStart& start = stage.starts[s];
      starts.rows.push_back({fmt::format("{}", s + 1),
                             fmt::format("{}", std::max<std::size_t>(1, start.path.size()) - 1),
                             std::isfinite(start.cost) ? fmt::format("{:.6g}", start.cost) : "-",
                             s == stage.best    ? "best"
                             : !start.converged ? ""
                             : start.agrees     ? "agrees"
                                                : "elsewhere",
                             start.stopped});
    }
    text += fmt::format("\n{}", to_text(starts));
  }
  return text + fmt::format("{}, {:.3g} s\n\n", stage.method, stage.seconds);
}

Json stage_json(const Model& model, const StageResult& stage) {
  Json told{{"failure", stage.failure},
            {"readings", stage.readings},
            {"chi_square", json_number(stage.chi_square)},
            {"chi_square_interval", {stage.interval.low, stage.interval.high}},
            {"misfit", stage.misfit},
            {"inflation", stage.inflation},
            {"method", stage.method},
            {"seconds", stage.seconds},
            {"open", stage.open},
            {"warnings", stage.warnings},
            {"correlation", stage.correlation}};
  auto& parameters = told["parameters"] = Json::array();
  for (const CalibratedParameter& p : stage.parameters) {
    const ModelParameter& parameter = model.parameters[p.parameter];
    parameters.push_back({{"name", parameter.name},
                          {"unit", parameter.unit},
                          {"before", in_unit(p.before, parameter.unit)},
                          {"after", in_unit(p.after, parameter.unit)},
                          {"after_si", p.after},
                          {"deviation", json_number(deviation_in_unit(p.deviation, parameter.unit))},
                          {"relative", json_number(p.deviation / std::abs(p.after))},
                          {"coordinate", coordinate_word(p, parameter.name)},
                          {"at_bound", p.at_bound}});
  }
  auto& sensors = told["sensors"] = Json::array();
  for (std::size_t s = 0; s < stage.sensors.size(); ++s)
    sensors.push_back({{"name", stage.sensors[s].name},
                       {"readings", stage.sensors[s].used},
                       {"missing", stage.sensors[s].missing},
                       {"rms", stage.residual_rms[s]},
                       {"mean_over_noise", stage.sensors[s].mean},
                       {"rms_over_noise", std::sqrt(stage.sensors[s].variance)},
                       {"whiteness", json_number(stage.sensors[s].whiteness)}});
  auto& starts = told["starts"] = Json::array();
  for (const CalibrationStart& start : stage.starts) {
    Json path = Json::array();
    for (const CalibrationIteration& i : start.path)
      path.push_back({{"numbers_si", i.numbers}, {"cost", i.cost}, {"step", i.step}});
    starts.push_back({{"numbers_si", start.numbers},
                      {"cost", json_number(start.cost)},
                      {"converged", start.converged},
                      {"agrees", start.agrees},
                      {"evaluations", start.evaluations},
                      {"stopped", start.stopped},
                      {"path", path}});
  }
  return told;
}

}  // namespace tellegen
