#include "tellegen/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tellegen/report/text.h"
#include "tellegen/results/heat_map.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

using Json = nlohmann::ordered_json;

std::string interval_text(const SobolIndex::Interval& interval) {
  return fmt::format("{} to {}", brief_number(interval.low, 3), brief_number(interval.high, 3));
}

TextTable range_table(const SweepReport& report) {
  TextTable table{{"result", "unit", "lowest", "mean", "highest", "deviation"}, {}};
  for (std::size_t k = 0; k < report.columns.size(); ++k) {
    const SampleSummary s = summary_of(report.results[k]);
    table.rows.push_back({report.columns[k].name, report.columns[k].unit, brief_number(s.lowest, 6),
                          brief_number(s.mean, 6), brief_number(s.highest, 6), brief_number(s.deviation)});
  }
  return table;
}

TextTable index_table(const SweepReport& report) {
  TextTable table;
  const auto row = [&](std::size_t k, std::size_t c, std::vector<std::string> cells) {
    cells.insert(cells.begin(), {c == 0 ? report.columns[k].name : "", report.axes[c].name});
    table.rows.push_back(std::move(cells));
  };
  std::vector<std::vector<double>> correlations;
  if (report.design == Design::lhs) correlations = rank_correlations(report.samples, report.results);
  for (std::size_t k = 0; k < report.columns.size(); ++k) {
    if (report.design == Design::morris) {
      table.header = {"result", "parameter", "mu", "mu*", "sigma", "effects"};
      const auto indices = morris_indices(report.axes, report.samples, report.results[k]);
      for (std::size_t c = 0; c < indices.size(); ++c)
        row(k, c,
            {brief_number(indices[c].mu), brief_number(indices[c].mu_star), brief_number(indices[c].sigma),
             std::to_string(indices[c].effects)});
    } else if (report.design == Design::sobol) {
      table.header = {"result", "parameter",          "first order", "95 % of a bootstrap",
                      "total",  "95 % of a bootstrap"};
      const auto indices = sobol_indices(report.axes.size(), report.results[k], report.seed);
      for (std::size_t c = 0; c < indices.size(); ++c)
        row(k, c,
            {brief_number(indices[c].first.value), interval_text(indices[c].first),
             brief_number(indices[c].total.value), interval_text(indices[c].total)});
    } else if (report.design == Design::lhs) {
      table.header = {"result", "parameter", "rank correlation"};
      for (std::size_t c = 0; c < report.axes.size(); ++c) row(k, c, {brief_number(correlations[k][c])});
    }
  }
  return table;
}

Json indices_json(const SweepReport& report, std::size_t k) {
  Json list = Json::array();
  const auto names = [&](std::size_t c) { return Json{{"parameter", report.axes[c].name}}; };
  if (report.design == Design::morris) {
    const auto indices = morris_indices(report.axes, report.samples, report.results[k]);
    for (std::size_t c = 0; c < indices.size(); ++c) {
      Json one = names(c);
      one["mu"] = json_number(indices[c].mu);
      one["mu_star"] = json_number(indices[c].mu_star);
      one["sigma"] = json_number(indices[c].sigma);
      one["effects"] = indices[c].effects;
      list.push_back(std::move(one));
    }
  } else if (report.design == Design::sobol) {
    const auto indices = sobol_indices(report.axes.size(), report.results[k], report.seed);
    for (std::size_t c = 0; c < indices.size(); ++c) {
      const auto& [first, total] = indices[c];
      Json one = names(c);
      one["first"] = json_number(first.value);
      one["first_interval"] = {json_number(first.low), json_number(first.high)};
      one["total"] = json_number(total.value);
      one["total_interval"] = {json_number(total.low), json_number(total.high)};
      list.push_back(std::move(one));
    }
  } else if (report.design == Design::lhs) {
    const auto correlations = rank_correlations(report.samples, report.results[k]);
    for (std::size_t c = 0; c < correlations.size(); ++c) {
      Json one = names(c);
      one["rank_correlation"] = json_number(correlations[c]);
      list.push_back(std::move(one));
    }
  }
  return list;
}

// Why samples failed, the most frequent first.
std::vector<std::pair<std::string, std::size_t>> failures(const SweepReport& report) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& status : report.status)
    if (!status.empty()) ++counts[status.substr(0, status.find('\n'))];
  std::vector<std::pair<std::string, std::size_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

ChartPanel bar_panel(const SweepReport& report, std::size_t k) {
  const ResultColumn& column = report.columns[k];
  ChartPanel panel{ChartPanel::What::bars, "", "fraction of the variance of " + column.name, false, {}, {}};
  for (const Axis& axis : report.axes) panel.names.push_back(axis.name);
  if (report.design == Design::morris) {
    panel.y_label = "effect on " + with_unit(column.name, column.unit);
    panel.series = {{"mu*", {}, {}, {}, {}}, {"sigma", {}, {}, {}, {}}};
    for (const MorrisIndex& index : morris_indices(report.axes, report.samples, report.results[k])) {
      panel.series[0].y.push_back(index.mu_star);
      panel.series[1].y.push_back(index.sigma);
    }
    return panel;
  }
  panel.series = {{"first order", {}, {}, {}, {}}, {"total", {}, {}, {}, {}}};
  for (const SobolIndex& index : sobol_indices(report.axes.size(), report.results[k], report.seed))
    for (int s = 0; s < 2; ++s) {
      const auto& interval = s == 0 ? index.first : index.total;
      panel.series[s].y.push_back(interval.value);
      panel.series[s].low.push_back(interval.low);
      panel.series[s].high.push_back(interval.high);
    }
  return panel;
}

ChartPanel over_axis(const SweepReport& report, std::size_t k, std::size_t c, ChartPanel::What what) {
  const Axis& axis = report.axes[c];
  return {what,
          with_unit(axis.name, axis.unit),
          with_unit(report.columns[k].name, report.columns[k].unit),
          axis.log,
          {},
          {}};
}

// Over the axis with more values, a curve for each value of the other.
ChartPanel grid_panel(const SweepReport& report, std::size_t k) {
  const std::vector<Axis>& axes = report.axes;
  const std::size_t along = axes.size() == 2 && axes[1].values.size() > axes[0].values.size() ? 1 : 0;
  ChartPanel panel = over_axis(report, k, along, ChartPanel::What::lines);
  std::map<double, std::size_t> series_of;
  std::vector<std::size_t> order(report.samples.rows());
  for (std::size_t r = 0; r < order.size(); ++r) order[r] = r;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.samples.row(a)[along] < report.samples.row(b)[along];
  });
  if (axes.size() == 2) {
    const Axis& other = axes[1 - along];
    std::vector<double> values = other.values;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const double value : values) {
      series_of[value] = panel.series.size();
      panel.series.push_back(
          {fmt::format("{} = {} {}", other.name, brief_number(value), other.unit), {}, {}, {}, {}});
    }
  } else {
    panel.series.push_back({});
  }
  for (const std::size_t r : order) {
    const auto row = report.samples.row(r);
    ChartSeries& series = panel.series[axes.size() == 2 ? series_of[row[1 - along]] : 0];
    series.x.push_back(row[along]);
    series.y.push_back(report.results[k][r]);
  }
  return panel;
}

}  // namespace

std::size_t SweepReport::failed() const {
  return status.size() - static_cast<std::size_t>(std::count(status.begin(), status.end(), ""));
}

std::size_t SweepReport::missing() const {
  return static_cast<std::size_t>(std::count(missed.begin(), missed.end(), true));
}

std::string_view design_name(Design design) {
  switch (design) {
    case Design::grid:
      return "grid";
    case Design::lhs:
      return "lhs";
    case Design::morris:
      return "morris";
    case Design::sobol:
      return "sobol";
  }
  return "";
}

std::string sweep_tables(const SweepReport& report) {
  const TextTable indices = index_table(report);
  return to_text(range_table(report)) + (indices.rows.empty() ? "" : "\n" + to_text(indices));
}

std::string sweep_brief(const SweepReport& report) {
  const std::size_t done = report.samples.rows() - report.resumed;
  std::string text = fmt::format("{} samples in {:.3g} s ({:.3g} a second, {} {})", done, report.seconds,
                                 report.seconds > 0.0 ? static_cast<double>(done) / report.seconds : 0.0,
                                 report.jobs, report.jobs == 1 ? "job" : "jobs");
  if (report.ranks > 1) text += fmt::format(" on {} ranks", report.ranks);
  if (report.resumed > 0) text += fmt::format(", {} from before", report.resumed);
  text += "\n";
  if (report.missing() > 0)
    text +=
        fmt::format("{} of {} samples miss {}\n", report.missing(), report.samples.rows(), report.required);
  if (report.failed() == 0) return text;
  text += fmt::format("{} of {} samples failed\n", report.failed(), report.samples.rows());
  const auto reasons = failures(report);
  for (std::size_t k = 0; k < std::min<std::size_t>(5, reasons.size()); ++k)
    text += fmt::format("  {} x {}\n", reasons[k].second, reasons[k].first);
  if (reasons.size() > 5)
    text += fmt::format("  and {} other reasons; the status column has them\n", reasons.size() - 5);
  return text;
}

nlohmann::ordered_json to_json(const SweepReport& report) {
  Json json{{"model", report.model},
            {"file", report.file},
            {"design", design_name(report.design)},
            {"seed", report.seed},
            {"samples", report.samples.rows()},
            {"failed", report.failed()},
            {"required", report.required},
            {"missed", report.missing()},
            {"resumed", report.resumed},
            {"seconds", report.seconds},
            {"jobs", report.jobs},
            {"ranks", report.ranks}};
  auto& parameters = json["parameters"] = Json::array();
  for (const Axis& axis : report.axes)
    parameters.push_back({{"name", axis.name},
                          {"unit", axis.unit},
                          {"lower", axis.lower},
                          {"upper", axis.upper},
                          {"log", axis.log}});
  auto& results = json["results"] = Json::array();
  for (std::size_t k = 0; k < report.columns.size(); ++k) {
    const SampleSummary s = summary_of(report.results[k]);
    Json one{{"name", report.columns[k].name},    {"unit", report.columns[k].unit},
             {"lowest", json_number(s.lowest)},   {"mean", json_number(s.mean)},
             {"highest", json_number(s.highest)}, {"deviation", json_number(s.deviation)}};
    if (report.design != Design::grid) one["indices"] = indices_json(report, k);
    results.push_back(std::move(one));
  }
  auto& reasons = json["failures"] = Json::array();
  for (const auto& [status, count] : failures(report))
    reasons.push_back({{"status", status}, {"samples", count}});
  json["written"] = report.written;
  return json;
}

namespace {

// A result over a grid of two parameters.
HeatMap map_of(const SweepReport& report, std::size_t k) {
  const std::size_t along = report.axes[1].values.size() > report.axes[0].values.size() ? 1 : 0;
  const Axis &x = report.axes[along], &y = report.axes[1 - along];
  HeatMap map;
  map.title = with_unit(report.columns[k].name, report.columns[k].unit);
  map.x_label = with_unit(x.name, x.unit);
  map.y_label = with_unit(y.name, y.unit);
  const auto sorted = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  const std::vector<double> columns = sorted(x.values), rows = sorted(y.values);
  for (const double value : columns) map.x.push_back(brief_number(value, 4));
  for (std::size_t r = rows.size(); r-- > 0;) map.y.push_back(brief_number(rows[r], 4));
  map.z.assign(columns.size() * rows.size(), std::nan(""));
  map.marked.assign(report.missed.empty() ? 0 : map.z.size(), false);
  map.mark_name = "misses " + report.required;
  for (std::size_t s = 0; s < report.samples.rows(); ++s) {
    const auto sample = report.samples.row(s);
    const auto place = [](const std::vector<double>& values, double value) {
      return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
    };
    const std::size_t c = place(columns, sample[along]), r = place(rows, sample[1 - along]);
    const std::size_t at = (rows.size() - 1 - r) * columns.size() + c;
    map.z[at] = report.results[k][s];
    if (!report.missed.empty()) map.marked[at] = report.missed[s];
  }
  return map;
}

TextTable axes_table(const SweepReport& report) {
  TextTable table{{"parameter", "unit", "lowest", "highest", "values"}, {}};
  for (const Axis& axis : report.axes) {
    const auto [low, high] = axis.values.empty()
                                 ? std::pair(axis.lower, axis.upper)
                                 : std::pair(*std::min_element(axis.values.begin(), axis.values.end()),
                                             *std::max_element(axis.values.begin(), axis.values.end()));
    table.rows.push_back({axis.name, axis.unit, brief_number(low, 6), brief_number(high, 6),
                          axis.values.empty() ? (axis.log ? "uniform in the logarithm" : "uniform")
                                              : std::to_string(axis.values.size())});
  }
  return table;
}

}  // namespace

PagePart sweep_part(const SweepReport& report, const Settings& settings) {
  PagePart part;
  part.title = fmt::format("Sweep: {}", report.model);
  part.html = paragraph(fmt::format("{} samples of {} {}, design: {}.", report.samples.rows(),
                                    report.axes.size(), report.axes.size() == 1 ? "parameter" : "parameters",
                                    design_name(report.design)));
  std::vector<std::string> notes;
  if (!report.required.empty())
    notes.push_back(
        fmt::format("{} of {} samples miss {}", report.missing(), report.samples.rows(), report.required));
  if (report.failed() > 0) {
    notes.push_back(fmt::format("{} of {} samples failed", report.failed(), report.samples.rows()));
    for (const auto& [reason, count] : failures(report))
      notes.push_back(fmt::format("{} x {}", count, reason));
    if (notes.size() > 7) notes.resize(7);
  }
  part.html += notices(notes);
  part.html += side_by_side(
      {table_html(range_table(report), "Results"), table_html(axes_table(report), "What varies")});
  if (report.failed() < report.samples.rows()) {
    Chart chart = sweep_chart(report);
    constexpr std::size_t most = 24;  // panels: a page that is still read
    if (chart.panels.size() > most) {
      part.html +=
          paragraph(fmt::format("The first {} of {} pictures are shown.", most, chart.panels.size()));
      chart.panels.resize(most);
    }
    const bool map = report.design == Design::grid && report.axes.size() == 2 &&
                     std::min(report.axes[0].values.size(), report.axes[1].values.size()) >= 3;
    if (map) {
      std::vector<std::string> maps;
      for (std::size_t k = 0; k < std::min(most, report.columns.size()); ++k)
        maps.push_back(to_html(map_of(report, k)));
      part.html += side_by_side(maps);
    }
    // No more curves than there are colours: beyond, the map shows it.
    const bool few = std::all_of(chart.panels.begin(), chart.panels.end(),
                                 [](const ChartPanel& panel) { return panel.series.size() <= 6; });
    if (!map || few) part.html += to_html(chart);
  }
  part.html += table_html(index_table(report), "Which parameters matter");
  part.html += settings_html(settings);
  nlohmann::ordered_json data = to_json(report);
  data["part"] = "sweep";
  part.data = json_text(data);
  return part;
}

Chart sweep_chart(const SweepReport& report) {
  Chart chart{fmt::format("{}, {}", report.model, design_name(report.design)), {}, 1};
  for (std::size_t k = 0; k < report.columns.size(); ++k) {
    if (report.design == Design::morris || report.design == Design::sobol) {
      chart.panels.push_back(bar_panel(report, k));
    } else if (report.design == Design::grid && report.axes.size() <= 2) {
      chart.panels.push_back(grid_panel(report, k));
    } else {
      chart.columns = static_cast<int>(report.axes.size());
      for (std::size_t c = 0; c < report.axes.size(); ++c) {
        ChartPanel panel = over_axis(report, k, c, ChartPanel::What::points);
        ChartSeries series;
        for (std::size_t r = 0; r < report.samples.rows(); ++r) series.x.push_back(report.samples.row(r)[c]);
        series.y = report.results[k];
        panel.series.push_back(std::move(series));
        chart.panels.push_back(std::move(panel));
      }
    }
  }
  return chart;
}

}  // namespace tellegen
