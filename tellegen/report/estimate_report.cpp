#include "tellegen/report/estimate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tellegen/estimate/sensor_faults.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/report/residual_figures.h"
#include "tellegen/report/text.h"
#include "tellegen/results/figure.h"
#include "tellegen/results/table.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
std::string quantity_unit(const Model& model, const EstimatedQuantity& quantity) {
  if (!quantity.unit.empty()) return quantity.unit;
  for (std::size_t o = 0; o < model.outputs.size(); ++o)
    if (model.outputs[o].name == quantity.name) {
      if (model.outputs[o].value.is_symbol())
        if (const auto ref = find_variable(model, model.outputs[o].value.name()))
          return variable_unit(model, *ref);
      return "";
    }
  if (const auto ref = find_variable(model, quantity.name)) return variable_unit(model, *ref);
  return "";
}

namespace {

constexpr std::size_t most_figures = 6;
constexpr double two_sides =
    1.959963984540054;  // 95 % of a normal distribution lie within so many deviations
const double none = std::nan("");

// How far an estimate was from the truth, in the quantity's unit.
struct TruthError {
  double rms = 0.0, largest = 0.0, mean = 0.0;
  double inside = 0.0;  // share of rows with the truth in the 95 % band
  std::int64_t rows = 0;
};

class EstimatePage {
 public:
  EstimatePage(const Model& model, const Record& record, const Estimate& estimate,
               const EstimatePartOptions& options)
      : model_(model), record_(record), estimate_(estimate), options_(options) {
    for (const EstimatedQuantity& q : estimate.quantities) units_.push_back(quantity_unit(model, q));
    choose_shown();
    read_truth();
  }

  PagePart part() {
    PagePart part;
    part.title = options_.title.empty() ? model_.name : options_.title;
    part.html = notices(complaints(estimate_)) + paragraph(lead()) + notices(notes());
    if (!estimate_.failure.empty()) part.html += notices({"The estimation stopped: " + estimate_.failure});
    std::vector<std::string> figures;
    for (std::size_t q : shown_) {
      const Figure figure = quantity_figure(q);
      figures.push_back(to_html(figure));
      if (is_narrow(q, figure)) figures.push_back(to_html(error_figure(q)));
    }
    part.html += side_by_side(figures);
    if (left_out_ > 0)
      part.html += paragraph(
          fmt::format("{} more outputs and unknowns are not drawn; --show names what is.", left_out_));
    part.html += error_tables();
    part.html += subsection("Do the readings agree with the filter?", innovations());
    part.html += settings_html(options_.settings);
    part.data = json_text(data());
    return part;
  }

 private:
  // Outputs that no sensor in use reads, then unknowns; or what was asked for.
  void choose_shown() {
    using What = EstimatedQuantity::What;
    const auto& quantities = estimate_.quantities;
    if (!options_.show.empty()) {
      std::vector<std::string> known;
      for (const EstimatedQuantity& q : quantities) known.push_back(q.name);
      for (const std::string& name : options_.show) {
        // A sensor that is also an output of the same name is found once.
        const auto found = std::find(known.begin(), known.end(), name);
        if (found == known.end())
          throw ModelError({{"report", 0},
                            "T671",
                            fmt::format("nothing that is estimated is called '{}': it cannot be shown", name),
                            {did_you_mean(name, known), "there are " + joined(known)}});
        shown_.push_back(static_cast<std::size_t>(found - known.begin()));
      }
      return;
    }
    for (std::size_t q = 0; q < quantities.size(); ++q)
      if (quantities[q].what == What::output && !is_read(quantities[q].name)) shown_.push_back(q);
    std::vector<std::size_t> unknowns;
    for (std::size_t q = 0; q < quantities.size(); ++q)
      if (quantities[q].what == What::unknown) unknowns.push_back(q);
    if (shown_.empty())
      for (std::size_t q = 0; q < quantities.size(); ++q)
        if (quantities[q].what == What::state) shown_.push_back(q);
    // Half of the figures are for unknowns, if there are as many.
    const std::size_t outputs_kept = std::min(
        shown_.size(), std::max(most_figures / 2, most_figures - std::min(most_figures, unknowns.size())));
    left_out_ = shown_.size() - outputs_kept;
    shown_.resize(outputs_kept);
    for (std::size_t q : unknowns)
      if (shown_.size() < most_figures)
        shown_.push_back(q);
      else
        ++left_out_;
  }

  bool is_read(const std::string& output) const {
    for (const ModelOutput& o : model_.outputs)
      if (!o.sensor && o.name == output)
        for (int s : record_.sensors)
          if (model_.outputs[s].value == o.value) return true;
    return false;
  }

  // Truth at the rows of the estimate, in the units of the quantities; interpolated where it has other rows.
  void read_truth() {
    truth_.resize(estimate_.quantities.size());
    if (options_.truth.empty()) return;
    Trajectory truth;
    try {
      truth = read_csv(options_.truth);
    } catch (const std::runtime_error& error) {
      throw truth_fault(error.what());
    }
    bool any = false;
    for (std::size_t q = 0; q < truth_.size(); ++q) {
      const auto column = truth.find(estimate_.quantities[q].name);
      if (!column) continue;
      const std::string& from = truth.units[*column].empty() ? units_[q] : truth.units[*column];
      if (!from.empty() && !units_[q].empty() && !units().convertible(from, units_[q]))
        throw truth_fault(
            fmt::format("'{}' is in '{}', which is not a unit of {}", truth.names[*column], from, units_[q]));
      any = true;
      std::size_t at = 0;
      for (double t : estimate_.t) {
        while (at + 1 < truth.rows() && truth.t[at + 1] <= t + 1e-9 * record_.step) ++at;
        double value = none;
        if (truth.rows() > 0 && t >= truth.t.front() - 1e-6 * record_.step &&
            t <= truth.t.back() + 1e-6 * record_.step) {
          value = truth.at(at, *column);
          if (at + 1 < truth.rows() && t > truth.t[at] + 1e-6 * record_.step)
            value +=
                (t - truth.t[at]) / (truth.t[at + 1] - truth.t[at]) * (truth.at(at + 1, *column) - value);
        }
        truth_[q].push_back(from.empty() || from == units_[q] || units_[q].empty()
                                ? value
                                : in_unit(units().to_si(value, from), units_[q]));
      }
    }
    if (!any)
      throw truth_fault("the truth has no column of anything that is estimated",
                        {"it has " + joined(truth.names)});
  }

  ModelError truth_fault(std::string message, std::vector<std::string> details = {}) const {
    return ModelError({{options_.truth, 0}, "T670", std::move(message), std::move(details)});
  }

  std::size_t width() const { return estimate_.quantities.size(); }
  double mean(std::size_t row, std::size_t q) const {
    return in_unit(estimate_.mean[row * width() + q], units_[q]);
  }
  double deviation(std::size_t row, std::size_t q) const {
    return deviation_in_unit(estimate_.deviation[row * width() + q], units_[q]);
  }

  std::string lead() const {
    std::vector<std::string> names;
    for (int s : record_.sensors) names.push_back(model_.outputs[s].name);
    std::string unknown;
    for (const EstimatedQuantity& q : estimate_.quantities)
      if (q.what == EstimatedQuantity::What::unknown) unknown += (unknown.empty() ? "" : ", ") + q.name;
    std::string sensors;
    for (const std::string& name : names) sensors += (sensors.empty() ? "" : ", ") + name;
    const double seconds = estimate_.t.empty() ? 0.0 : estimate_.t.back() - estimate_.t.front();
    return fmt::format(
        "Estimator {} with {} sensor{} ({}){}; {}. {:.3g} ms for {:.4g} s of data, {:.0f} "
        "times as fast as it happened ({}).",
        estimate_.estimator, names.size(), names.size() == 1 ? "" : "s", sensors,
        unknown.empty() ? "" : "; unknown: " + unknown, record_.rows_text(), 1e3 * estimate_.loop_seconds,
        seconds, seconds / std::max(1e-9, estimate_.loop_seconds), estimate_.executor);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> all = estimate_.warnings;
    all.insert(all.end(), record_.remarks.begin(), record_.remarks.end());
    for (const auto& [name, noise] : estimate_.tuned)
      all.push_back(fmt::format("tuned: {} is disturbed by {} in one second", name, brief_number(noise)));
    return all;
  }

  Figure quantity_figure(std::size_t q) const {
    const std::size_t rows = estimate_.t.size();
    Figure figure;
    figure.title = with_unit(estimate_.quantities[q].name, units_[q]);
    figure.x_label = "t [s]";
    FigureBand band{"95 % band", estimate_.t, {}, {}, 0};
    FigureLine line{FigureLine::Look::line, "estimate", estimate_.t, {}, 0};
    std::vector<double> edges;
    double low = INFINITY, high = -INFINITY;
    for (std::size_t row = 0; row < rows; ++row) {
      const double m = mean(row, q), d = two_sides * deviation(row, q);
      line.y.push_back(m);
      band.low.push_back(m - d);
      band.high.push_back(m + d);
      low = std::min(low, m), high = std::max(high, m);
      edges.insert(edges.end(), {m - d, m + d});
    }
    for (double value : truth_[q])
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    // The band may be very wide for a moment at the beginning: what it is most of the time decides the scale.
    std::erase_if(edges, [](double value) { return !std::isfinite(value); });
    if (!edges.empty()) {
      std::sort(edges.begin(), edges.end());
      low = std::min(low, edges[edges.size() / 50]);
      high = std::max(high, edges[edges.size() - 1 - edges.size() / 50]);
    }
    const double size = std::max(std::abs(low), std::abs(high));
    const double room = std::max(0.05 * (high - low), 1e-6 * size);
    if (low < high) figure.y_range = {low - room, high + room};
    figure.bands.push_back(std::move(band));
    figure.lines.push_back(std::move(line));
    for (const SensorFault& fault : estimate_.faults)
      figure.lines.push_back({FigureLine::Look::level,
                              fmt::format("{}: {}", fault.name, event_of(fault)),
                              {fault.onset, fault.onset},
                              {low - room, high + room},
                              1,
                              false});
    if (!estimate_.smooth.empty()) {
      FigureLine smooth{FigureLine::Look::line, "with the whole record", estimate_.t, {}, 2};
      for (std::size_t row = 0; row < rows; ++row)
        smooth.y.push_back(in_unit(estimate_.smooth[row * width() + q], units_[q]));
      figure.lines.push_back(std::move(smooth));
    }
    if (!truth_[q].empty()) {
      figure.lines.push_back({FigureLine::Look::truth, "truth", estimate_.t, truth_[q], 0});
      const TruthError e = error(q);
      figure.caption = fmt::format(
          "RMS error {} {}, largest {} {}; the band holds the truth {:.1f} % of the time.",
          brief_number(e.rms, 3), units_[q], brief_number(e.largest, 3), units_[q], 100.0 * e.inside);
    }
    return figure;
  }

  // The band is too narrow to be seen beside how far the quantity goes.
  bool is_narrow(std::size_t q, const Figure& figure) const {
    return !truth_[q].empty() && !estimate_.t.empty() &&
           4.0 * deviation(estimate_.t.size() / 2, q) < 0.15 * (figure.y_range.second - figure.y_range.first);
  }

  Figure error_figure(std::size_t q) const {
    Figure figure;
    figure.title = with_unit(fmt::format("{}: estimate less truth", estimate_.quantities[q].name), units_[q]);
    figure.x_label = "t [s]";
    FigureBand band{"95 % band", estimate_.t, {}, {}, 0};
    FigureLine line{FigureLine::Look::thin, "error", estimate_.t, {}, 0};
    double high = 0.0;
    for (std::size_t row = 0; row < estimate_.t.size(); ++row) {
      const double d = two_sides * deviation(row, q);
      line.y.push_back(mean(row, q) - truth_[q][row]);
      band.low.push_back(-d);
      band.high.push_back(d);
      if (std::isfinite(line.y.back())) high = std::max(high, std::abs(line.y.back()));
    }
    high = 1.1 * std::max(high, two_sides * deviation(estimate_.t.size() / 2, q));
    if (high > 0.0) figure.y_range = {-high, high};
    figure.bands.push_back(std::move(band));
    figure.lines.push_back(std::move(line));
    return figure;
  }

  TruthError error(std::size_t q, bool smooth = false) const {
    TruthError e;
    std::int64_t inside = 0;
    for (std::size_t row = 0; row < truth_[q].size(); ++row) {
      const double value = smooth ? in_unit(estimate_.smooth[row * width() + q], units_[q]) : mean(row, q);
      const double d = smooth ? deviation_in_unit(estimate_.smooth_deviation[row * width() + q], units_[q])
                              : deviation(row, q);
      const double off = value - truth_[q][row];
      if (!std::isfinite(off)) continue;
      ++e.rows;
      e.rms += off * off;
      e.mean += off;
      e.largest = std::max(e.largest, std::abs(off));
      inside += std::abs(off) <= two_sides * d ? 1 : 0;
    }
    const double count = std::max<double>(1.0, static_cast<double>(e.rows));
    e.rms = std::sqrt(e.rms / count);
    e.mean /= count;
    e.inside = static_cast<double>(inside) / count;
    return e;
  }

  std::string error_tables() const {
    HtmlTable first{{"estimated", "unit", "RMS error", "largest", "mean", "truth in band"},
                    {},
                    "Errors against the truth"},
        more{first.header, {}, ""}, end{{"estimated", "unit", "at the end", "sd"}, {}, "At the end"};
    if (!estimate_.smooth.empty()) first.header.emplace_back("RMS, whole record");
    // What is drawn comes first.
    std::vector<std::size_t> order = shown_;
    for (std::size_t q = 0; q < width(); ++q)
      if (std::find(shown_.begin(), shown_.end(), q) == shown_.end()) order.push_back(q);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t q = order[k];
      const bool shown = k < shown_.size();
      if (!truth_[q].empty()) {
        const TruthError e = error(q);
        std::vector<std::string> row{estimate_.quantities[q].name, units_[q],
                                     brief_number(e.rms, 3),       brief_number(e.largest, 3),
                                     brief_number(e.mean, 2),      fmt::format("{:.1f} %", 100.0 * e.inside)};
        if (!estimate_.smooth.empty()) row.push_back(brief_number(error(q, true).rms, 3));
        (shown ? first : more).rows.push_back(std::move(row));
      }
      if (shown && !estimate_.t.empty())
        end.rows.push_back({estimate_.quantities[q].name, units_[q],
                            brief_number(mean(estimate_.t.size() - 1, q), 6),
                            brief_number(deviation(estimate_.t.size() - 1, q), 3)});
    }
    more.header = first.header;
    std::string errors = first.rows.empty() ? "" : to_html(first);
    if (!more.rows.empty())
      errors += folded(fmt::format("{} more with a known truth", more.rows.size()), to_html(more));
    return side_by_side({errors, end.rows.empty() ? "" : to_html(end)});
  }

  static std::string event_of(const SensorFault& fault) {
    constexpr const char* words[] = {"offset begins", "drift begins", "scale changes", "stuck from here"};
    return words[static_cast<int>(fault.kind)];
  }

  std::string innovations() const {
    const std::size_t sensors = estimate_.sensors.size(), rows = estimate_.t.size();
    if (sensors == 0 || rows == 0) return "";
    std::vector<ResidualSeries> series;
    for (std::size_t s = 0; s < sensors; ++s) {
      ResidualSeries one{estimate_.sensors[s].name, sensor_unit(model_, record_.sensors[s]), {}, {}};
      for (std::size_t row = 0; row < rows; ++row) {
        one.residual.push_back(estimate_.innovation[row * sensors + s]);
        one.expected.push_back(estimate_.innovation_deviation[row * sensors + s]);
      }
      for (const SensorFault& fault : estimate_.faults)
        if (fault.sensor == record_.sensors[s]) one.events.emplace_back(fault.onset, event_of(fault));
      series.push_back(std::move(one));
    }
    ResidualFigures drawn = residual_figures(estimate_.t, series,
                                             {"Innovation", "innovations", "reading less prediction",
                                              "the filter allows for more than happened", "for less"},
                                             record_.clock.empty() ? record_.step : 0.0);
    std::vector<std::string>& figures = drawn.over_time;
    std::vector<std::string> row{figures.front()};
    if (!drawn.spectrum.empty()) row.push_back(drawn.spectrum);
    figures.erase(figures.begin());
    std::string html = side_by_side(row) + sensor_table();
    if (!figures.empty())
      html += folded(figures.size() == 1 ? "Innovations of the other sensor"
                                         : fmt::format("Innovations of the other {} sensors", figures.size()),
                     side_by_side(figures));
    return html;
  }

  std::string sensor_table() const {
    HtmlTable table{{"sensor", "used", "missing", "out of range", "stuck", "refused", "innovation mean",
                     "variance", "white"},
                    {},
                    ""};
    for (std::size_t s = 0; s < estimate_.sensors.size(); ++s) {
      const SensorStatistics& a = estimate_.sensors[s];
      const Record::Count count = s < record_.counts.size() ? record_.counts[s] : Record::Count{};
      table.rows.push_back({a.name, fmt::format("{}", a.used), fmt::format("{}", a.missing),
                            fmt::format("{}", count.out_of_range), fmt::format("{}", count.stuck),
                            fmt::format("{}", a.refused), brief_number(a.mean, 2),
                            brief_number(a.variance, 3),
                            std::isnan(a.whiteness) ? "-" : brief_number(a.whiteness, 2)});
    }
    return to_html(table) + paragraph(
                                "Innovations over their expected deviation: mean 0 and variance 1 where "
                                "filter and noise agree. White: "
                                "probability of correlations as large as these, were there none.");
  }

  nlohmann::ordered_json data() const {
    nlohmann::ordered_json json{
        {"part", "estimate"},          {"model", model_.name}, {"estimator", estimate_.estimator},
        {"rows", estimate_.t.size()},  {"step", record_.step}, {"loop_seconds", estimate_.loop_seconds},
        {"failure", estimate_.failure}};
    for (std::size_t q : shown_) {
      if (truth_[q].empty()) continue;
      const TruthError e = error(q);
      json["errors"].push_back({{"name", estimate_.quantities[q].name},
                                {"unit", units_[q]},
                                {"rms", e.rms},
                                {"largest", e.largest},
                                {"inside", e.inside}});
    }
    return json;
  }

  const Model& model_;
  const Record& record_;
  const Estimate& estimate_;
  const EstimatePartOptions& options_;
  std::vector<std::string> units_;
  std::vector<std::size_t> shown_;
  std::size_t left_out_ = 0;
  std::vector<std::vector<double>> truth_;  // [quantity][row]; empty: not known
};

}  // namespace

PagePart estimate_part(const Model& model, const Record& record, const Estimate& estimate,
                       const EstimatePartOptions& options) {
  return EstimatePage(model, record, estimate, options).part();
}

}  // namespace tellegen
