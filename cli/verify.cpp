#include "cli/verify.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/progress.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

double relative(double got, double expected) {
  return std::abs(got - expected) / std::max(std::abs(expected), 1e-300);
}

// One objective's values at one parameter's numbers; NaN where the run fails.
class Along {
 public:
  Along(Study& study, std::size_t parameter)
      : study_(study), parameter_(parameter), numbers_(study.nominal()) {}
  std::vector<double> values(double number) {
    numbers_[parameter_] = number;
    const StudyResult result = study_.values(numbers_);
    return result.failure.empty() ? result.values : std::vector<double>(study_.objective_count(), NAN);
  }
  std::vector<double> gradient(double number) {
    numbers_[parameter_] = number;
    const StudyResult result = study_.evaluate(numbers_);
    std::vector<double> slopes(study_.objective_count(), NAN);
    for (std::size_t o = 0; o < slopes.size() && result.failure.empty(); ++o)
      slopes[o] = result.gradient[o * study_.parameter_count() + parameter_];
    return slopes;
  }
  std::vector<double> difference(double number, double h) {
    const auto low = values(number - h), high = values(number + h);
    std::vector<double> slopes;
    for (std::size_t o = 0; o < low.size(); ++o) slopes.push_back((high[o] - low[o]) / (2 * h));
    return slopes;
  }

 private:
  Study& study_;
  std::size_t parameter_;
  std::vector<double> numbers_;
};

}  // namespace

Verification verify(const StudyRequest& request, const StudyOptions& options, const Model& model,
                    const std::vector<std::string>& objectives, const std::vector<std::string>& parameters) {
  Verification result;
  result.model = model.name;
  for (int k = 2; k <= 8; ++k) result.step_sizes.push_back(std::pow(10.0, -k));
  result.factors = {0.9, 0.95, 1.0, 1.05, 1.1};
  result.changes = {-0.1, -0.05, -0.02, -0.01, 0.01, 0.02, 0.05, 0.1};
  Study study(model, objectives, parameters, options);
  const StudyResult nominal = study.evaluate(study.nominal());
  if (!nominal.failure.empty()) throw StudyError(request.file, nominal.failure);
  result.notes = nominal.warnings;
  ProgressBar bar;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double number = study.nominal()[p];
    if (number == 0.0) {
      result.notes.push_back(fmt::format("'{}' is 0, and has no steps relative to it", parameters[p]));
      continue;
    }
    Along along(study, p);
    const std::size_t first = result.curves.size();
    for (const std::string& o : objectives) result.curves.push_back({o, parameters[p], {}, {}, {}});
    const auto slope = [&](std::size_t o) { return nominal.gradient[o * parameters.size() + p]; };
    for (double step : result.step_sizes) {
      const auto slopes = along.difference(number, step * std::abs(number));
      for (std::size_t o = 0; o < slopes.size(); ++o)
        result.curves[first + o].steps.push_back(relative(slopes[o], slope(o)));
    }
    for (double factor : result.factors) {
      const auto exact = along.gradient(factor * number);
      const auto slopes = along.difference(factor * number, 1e-4 * std::abs(number));
      for (std::size_t o = 0; o < slopes.size(); ++o)
        result.curves[first + o].range.push_back(relative(slopes[o], exact[o]));
    }
    for (double change : result.changes) {
      const auto values = along.values(number * (1 + change));
      for (std::size_t o = 0; o < values.size(); ++o)
        result.curves[first + o].prediction.push_back(
            relative(nominal.values[o] + slope(o) * number * change, values[o]));
    }
    if (ProgressBar::watched()) bar(static_cast<double>(p + 1) / static_cast<double>(parameters.size()));
  }
  return result;
}

namespace {

void print_part(const Verification& v, const std::string& title, const std::vector<double>& abscissae,
                std::vector<double> Verification::Curve::*part) {
  TextTable table{{"objective", "parameter"}, {}};
  for (double x : abscissae) table.header.push_back(fmt::format("{:g}", x));
  for (const auto& c : v.curves) {
    auto& row = table.rows.emplace_back(std::vector<std::string>{c.objective, c.parameter});
    for (double y : c.*part) row.push_back(std::isfinite(y) ? fmt::format("{:.1e}", y) : "-");
  }
  fmt::print("\n{}\n{}", title, to_text(table));
}

}  // namespace

void print(const Verification& v) {
  fmt::print("{}\n", v.model);
  print_part(v, "central differences against the derivative, by their step relative to the parameter",
             v.step_sizes, &Verification::Curve::steps);
  print_part(v, "the same with a step of 1e-4, for the parameter times", v.factors,
             &Verification::Curve::range);
  print_part(v, "first-order prediction against a run, for the parameter changed by", v.changes,
             &Verification::Curve::prediction);
  for (const std::string& note : v.notes) fmt::print("\n{}", note);
  if (!v.notes.empty()) fmt::print("\n");
}

nlohmann::ordered_json to_json(const Verification& v) {
  nlohmann::ordered_json json{{"model", v.model},
                              {"step_sizes", v.step_sizes},
                              {"factors", v.factors},
                              {"changes", v.changes},
                              {"notes", v.notes}};
  for (const auto& c : v.curves)
    json["curves"].push_back({{"objective", c.objective},
                              {"parameter", c.parameter},
                              {"steps", c.steps},
                              {"range", c.range},
                              {"prediction", c.prediction}});
  return json;
}

void write_verification(std::string_view command, const std::filesystem::path& picture,
                        const Verification& v) {
  const auto panel = [&](const char* label, const char* y, const std::vector<double>& x, bool log_x,
                         std::vector<double> Verification::Curve::*part, bool logarithm) {
    ChartPanel result;
    result.x_label = label;
    result.y_label = y;
    result.log_x = log_x;
    for (const auto& c : v.curves) {
      ChartSeries series{c.objective + " by " + c.parameter, {}, {}, {}, {}};
      for (std::size_t k = 0; k < x.size(); ++k)
        if (const double value = (c.*part)[k]; std::isfinite(value)) {
          series.x.push_back(x[k]);
          series.y.push_back(logarithm ? std::log10(std::max(value, 1e-16)) : 100 * value);
        }
      result.series.push_back(std::move(series));
    }
    return result;
  };
  Chart chart;
  chart.title = v.model;
  chart.panels = {panel("step relative to the parameter", "log10 of the deviation", v.step_sizes, true,
                        &Verification::Curve::steps, true),
                  panel("parameter over its nominal value", "log10 of the deviation", v.factors, false,
                        &Verification::Curve::range, true),
                  panel("change of the parameter", "prediction off by, %", v.changes, false,
                        &Verification::Curve::prediction, false)};
  try {
    write_chart(picture, chart);
  } catch (const std::runtime_error& error) {
    throw not_written(command, error);
  }
}

}  // namespace tellegen
