#include "tellegen/report/calibration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tellegen/model/units.h"
#include "tellegen/report/residual_figures.h"
#include "tellegen/report/text.h"
#include "tellegen/results/figure.h"
#include "tellegen/results/heat_map.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

class CalibrationPage {
 public:
  CalibrationPage(const Record& record, const CalibrationResult& result,
                  const CalibrationPartOptions& options, const SimulationOptions& integration)
      : record_(record), result_(result), options_(options), integration_(integration) {}

  PagePart part() {
    PagePart part;
    part.title = options_.title.empty() ? fmt::format("Calibration: {}", result_.model.name) : options_.title;
    double seconds = 0.0;
    for (const StageResult& stage : result_.stages) seconds += stage.seconds;
    part.html = paragraph(fmt::format(
        "Parameters of the model from {}, by maximum likelihood with exact derivatives, "
        "{}{:.2g} s in all.",
        record_.rows_text(),
        result_.stages.size() > 1 ? fmt::format("in {} stages, ", result_.stages.size()) : "", seconds));
    for (std::size_t k = 0; k < result_.stages.size(); ++k) {
      const std::string body = stage_html(result_.stages[k]);
      part.html += result_.stages.size() == 1 ? body : subsection(fmt::format("Stage {}", k + 1), body);
    }
    part.html += subsection("Measured and calculated", measured_and_calculated());
    part.html += settings_html(options_.settings);
    part.data = json_text(data());
    return part;
  }

 private:
  const ModelParameter& parameter(const CalibratedParameter& p) const {
    return result_.model.parameters[p.parameter];
  }

  std::optional<double> true_number(const std::string& name) const {
    if (!options_.truth) return std::nullopt;
    for (const ModelParameter& p : options_.truth->parameters)
      if (p.name == name) return p.number;
    return std::nullopt;
  }

  std::string stage_html(const StageResult& stage) const {
    HtmlTable table{{"parameter", "unit", "start", "result", "± sd", "relative sd"}, {}, ""};
    if (options_.truth) table.header.insert(table.header.end(), {"truth", "error", "error / sd"});
    for (const CalibratedParameter& p : stage.parameters) {
      const ModelParameter& of = parameter(p);
      const bool known = std::isfinite(p.deviation);
      std::vector<std::string> row{
          of.name,
          of.unit,
          brief_number(in_unit(p.before, of.unit)),
          brief_number(in_unit(p.after, of.unit), 5),
          known        ? brief_number(deviation_in_unit(p.deviation, of.unit), 2)
          : p.at_bound ? "at its bound"
                       : "not determined",
          known && p.after != 0.0 ? fmt::format("{:.2f} %", 100.0 * p.deviation / std::abs(p.after)) : "-"};
      if (options_.truth) {
        const auto number = true_number(of.name);
        row.push_back(number ? brief_number(in_unit(*number, of.unit), 5) : "-");
        row.push_back(number && *number != 0.0 ? fmt::format("{:+.2f} %", 100.0 * (p.after / *number - 1.0))
                                               : "-");
        row.push_back(number && known && p.deviation > 0.0
                          ? fmt::format("{:+.1f}", (p.after - *number) / p.deviation)
                          : "-");
      }
      table.rows.push_back(std::move(row));
    }
    std::vector<std::string> notes = stage.warnings;
    for (const std::string& open : stage.open) notes.push_back("left open by the readings: " + open);
    if (!stage.failure.empty()) notes.push_back(stage.failure);
    std::string said = fmt::format(
        "{} readings, {} iterations; squared residuals over their noise {} on average (1 is expected).",
        stage.readings, stage.starts.empty() ? 0 : stage.found().path.size() - 1,
        brief_number(stage.chi_square, 3));
    if (stage.starts.size() > 1) {
      std::size_t agree = 0;
      for (const CalibrationStart& start : stage.starts) agree += start.agrees ? 1 : 0;
      said += fmt::format(" {} of {} starts end at the same point.", agree, stage.starts.size());
    }
    return to_html(table) + paragraph(said) + notices(notes) + correlations(stage) +
           side_by_side({to_html(way(stage)), to_html(steps(stage))}) + residuals(stage);
  }

  // Parameters that change the readings alike are hard to tell apart.
  std::string correlations(const StageResult& stage) const {
    const std::size_t count = stage.parameters.size();
    if (count < 2 || stage.correlation.size() != count * count) return "";
    HeatMap map;
    map.title = "Correlations of the parameters found";
    map.diverging = true;
    map.range = {-1.0, 1.0};
    map.z = stage.correlation;
    std::string pairs;
    for (std::size_t a = 0; a < count; ++a) {
      map.x.push_back(parameter(stage.parameters[a]).name);
      for (std::size_t b = 0; b < a; ++b) {
        const double r = stage.correlation[a * count + b];
        if (std::abs(r) > 0.95)
          pairs += fmt::format("{}{} and {} ({:.3f})", pairs.empty() ? "" : ", ",
                               parameter(stage.parameters[b]).name, parameter(stage.parameters[a]).name, r);
      }
    }
    map.y = map.x;
    map.caption = pairs.empty() ? "No two of them are hard to distinguish: none is beyond 0.95."
                                : "Hard to distinguish: " + pairs + ".";
    return to_html(map);
  }

  // What the sensors read and what the model gives with the parameters found, over the whole record.
  std::string measured_and_calculated() const {
    std::vector<int> parameters;
    for (const CalibratedParameter& p : result_.stages.back().parameters) parameters.push_back(p.parameter);
    SensorSlopes run;
    try {
      run = sensor_slopes(result_.model, record_, parameters, integration_);
    } catch (const std::runtime_error& error) {
      run.failure = error.what();
    }
    if (!run.failure.empty()) return notices({"the run with the parameters found failed: " + run.failure});
    const std::size_t sensors = record_.sensors.size();
    std::vector<double> t;
    for (std::int64_t row = 0; row < record_.steps; ++row) t.push_back(record_.time(row));
    std::vector<std::string> curves;
    std::vector<ResidualSeries> series;
    for (std::size_t s = 0; s < sensors; ++s) {
      const ModelOutput& output = result_.model.outputs[record_.sensors[s]];
      const std::string unit = sensor_unit(result_.model, record_.sensors[s]);
      FigureLine measured{FigureLine::Look::dots, "measured", {}, {}, 1, false};
      FigureLine calculated{FigureLine::Look::line, "calculated", t, {}, 0, false};
      ResidualSeries one{output.name, unit, {}, {}};
      double square = 0.0;
      for (std::size_t row = 0; row < t.size(); ++row) {
        const double reading = record_.reading(static_cast<std::int64_t>(row), s),
                     value = run.values[row * sensors + s];
        calculated.y.push_back(in_unit(value, unit));
        one.residual.push_back(reading - value);
        if (std::isnan(reading)) continue;
        measured.x.push_back(t[row]);
        measured.y.push_back(in_unit(reading, unit));
        square += (reading - value) * (reading - value);
      }
      if (measured.x.empty()) continue;
      // A sensor whose noise is not known is judged by what is left of it.
      const double left = std::sqrt(square / static_cast<double>(measured.x.size()));
      const double noise = output.noise && *output.noise > 0.0 ? *output.noise : left;
      for (const double residual : one.residual)
        one.expected.push_back(std::isnan(residual) ? residual : noise);
      Figure figure;
      figure.title = with_unit(output.name, unit);
      figure.x_label = "t [s]";
      if (measured.x.size() > 500 && measured.x.size() * 2 > t.size())
        measured.look = FigureLine::Look::thin;  // a curve: so many dots would be one
      figure.lines = {std::move(measured), std::move(calculated)};
      curves.push_back(to_html(figure));
      series.push_back(std::move(one));
    }
    if (series.empty()) return "";
    ResidualFigures drawn = residual_figures(t, series,
                                             {"Residual", "residuals", "measured less calculated",
                                              "the noise of [sensors] is larger than that of the readings",
                                              "the model or an input lacks something at these frequencies"},
                                             record_.clock.empty() ? record_.step : 0.0);
    std::vector<std::string> shown;
    for (std::size_t s = 0; s < curves.size(); ++s)
      shown.insert(shown.end(), {std::move(curves[s]), std::move(drawn.over_time[s])});
    if (!drawn.spectrum.empty()) shown.push_back(std::move(drawn.spectrum));
    return side_by_side(shown);
  }

  // Each number over where it ended, iteration by iteration.
  Figure way(const StageResult& stage) const {
    Figure figure;
    figure.title = "Parameters per iteration";
    figure.y_label = "over their result";
    figure.x_label = "iteration";
    figure.log_y = true;
    if (stage.starts.empty()) return figure;
    std::size_t last = 1;
    bool signs = false;
    for (std::size_t s = 0; s <= stage.starts.size(); ++s) {
      // The best one is drawn last, on top of the others.
      if (s == stage.best) continue;
      const std::size_t at = s == stage.starts.size() ? stage.best : s;
      const CalibrationStart& start = stage.starts[at];
      for (std::size_t p = 0; p < stage.parameters.size(); ++p) {
        FigureLine line;
        line.look = at == stage.best ? FigureLine::Look::line : FigureLine::Look::thin;
        line.points = at == stage.best;
        line.name = at == stage.best ? parameter(stage.parameters[p]).name : "";
        line.colour = static_cast<int>(p);
        for (std::size_t k = 0; k < start.path.size(); ++k) {
          line.x.push_back(static_cast<double>(k));
          const double ratio = start.path[k].numbers[p] / stage.parameters[p].after;
          signs = signs || !(ratio > 0.0);
          line.y.push_back(ratio);
        }
        last = std::max(last, start.path.size() - 1);
        figure.lines.push_back(std::move(line));
      }
    }
    if (signs) figure.log_y = false;
    figure.lines.insert(
        figure.lines.begin(),
        {FigureLine::Look::truth, "", {0.0, static_cast<double>(last)}, {1.0, 1.0}, 0, false});
    return figure;
  }

  Figure steps(const StageResult& stage) const {
    Figure figure;
    figure.title = "Length of each step";
    figure.y_label = "in standard deviations of the parameters";
    figure.x_label = "iteration";
    figure.log_y = true;
    if (stage.starts.empty()) return figure;
    FigureLine line;
    line.points = true;
    const auto& path = stage.found().path;
    for (std::size_t k = 1; k < path.size(); ++k) {
      line.x.push_back(static_cast<double>(k));
      line.y.push_back(path[k].step);
    }
    figure.lines.push_back({FigureLine::Look::level,
                            "0.01: converged for all purposes",
                            {0.0, std::max(1.0, static_cast<double>(path.size()) - 1.0)},
                            {0.01, 0.01},
                            1,
                            false});
    figure.lines.push_back(std::move(line));
    return figure;
  }

  std::string residuals(const StageResult& stage) const {
    HtmlTable table{{"sensor", "unit", "readings", "residual RMS", "mean / sd", "variance", "white"},
                    {},
                    "Residuals of the readings"};
    for (std::size_t s = 0; s < stage.sensors.size(); ++s) {
      const SensorStatistics& a = stage.sensors[s];
      std::string unit;
      for (std::size_t o = 0; o < result_.model.outputs.size(); ++o)
        if (result_.model.outputs[o].sensor && result_.model.outputs[o].name == a.name)
          unit = sensor_unit(result_.model, static_cast<int>(o));
      table.rows.push_back({a.name, unit, fmt::format("{}", a.used),
                            s < stage.residual_rms.size()
                                ? brief_number(deviation_in_unit(stage.residual_rms[s], unit), 3)
                                : "-",
                            brief_number(a.mean, 2), brief_number(a.variance, 3),
                            std::isnan(a.whiteness) ? "-" : brief_number(a.whiteness, 2)});
    }
    return table.rows.empty() ? "" : to_html(table);
  }

  nlohmann::ordered_json data() const {
    nlohmann::ordered_json json{{"part", "calibration"}, {"model", result_.model.name}};
    for (const StageResult& stage : result_.stages)
      for (const CalibratedParameter& p : stage.parameters) {
        const ModelParameter& of = parameter(p);
        nlohmann::ordered_json entry{
            {"name", of.name}, {"unit", of.unit}, {"found", in_unit(p.after, of.unit)}};
        if (std::isfinite(p.deviation)) entry["deviation"] = deviation_in_unit(p.deviation, of.unit);
        if (const auto number = true_number(of.name)) entry["truth"] = in_unit(*number, of.unit);
        json["numbers"].push_back(std::move(entry));
      }
    return json;
  }

  const Record& record_;
  const CalibrationResult& result_;
  const CalibrationPartOptions& options_;
  const SimulationOptions& integration_;
};

}  // namespace

PagePart calibration_part(const Record& record, const CalibrationResult& result,
                          const CalibrationPartOptions& options, const SimulationOptions& integration) {
  return CalibrationPage(record, result, options, integration).part();
}

}  // namespace tellegen
