// tellegen explore: which hardware for a model's fixed step, before any of it is synthesised.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/arguments.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/exported_model.h"
#include "cli/progress.h"
#include "cli/study_report.h"
#include "cli/twin_report.h"
#include "tellegen/deploy/exploration.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/figure.h"

namespace tellegen {
namespace {

using Json = nlohmann::ordered_json;

struct ExploreRequest : ExportedModelRequest {
  std::string core, multipliers, adders, dividers, latency, bits, coarser, output, plot, json, search;
  DesignLimits limits = no_limits();
  double largest = 20'000;
  SearchOptions options;
  std::size_t points = 12;
  StudyReportRequest page;
  CLI::Option* json_option = nullptr;
};

// "1:8", "1,2,4".
std::vector<int> read_counts(std::string_view option, const std::string& text, int least, int most) {
  std::vector<int> values;
  const auto fault = [&](const std::string& why) {
    return command_fault(tellegen_explore, "T401", fmt::format("{} '{}': {}", option, text, why),
                         {"it is written 1:8, or 1,2,4"});
  };
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      throw fault(fmt::format("'{}' is no whole number", digits));
    if (value < least || value > most)
      throw fault(fmt::format("{} is not between {} and {}", value, least, most));
    return value;
  };
  for (const std::string& item : split_list(text)) {
    const auto colon = item.find(':');
    const int first = number(std::string_view(item).substr(0, colon)),
              last = colon == std::string::npos ? first : number(std::string_view(item).substr(colon + 1));
    if (last < first) throw fault("it counts down");
    for (int value = first; value <= last; ++value) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) throw fault("there is nothing in it");
  return values;
}

DesignRanges ranges_of(const ExploreRequest& r) {
  DesignRanges ranges = usual_ranges();
  const auto read = [](std::string_view option, const std::string& text, int least, int most,
                       std::vector<int>& values) {
    if (!text.empty()) values = read_counts(option, text, least, most);
  };
  read("--multipliers", r.multipliers, 1, 64, ranges.multipliers);
  read("--adders", r.adders, 1, 64, ranges.adders);
  read("--dividers", r.dividers, 1, 64, ranges.dividers);
  read("--latency", r.latency, 1, 8, ranges.latency);
  read("--bits", r.bits, least_word, longest_word, ranges.bits);
  read("--coarser", r.coarser, 0, least_word - 1, ranges.coarser);
  if (r.core.empty()) return ranges;
  std::vector<std::string> known;
  for (const BackEnd& b : back_ends()) known.emplace_back(b.name);
  ranges.back_end.clear();
  for (const std::string& name : split_list(r.core)) {
    check_choice({tellegen_explore, "--core"}, name, known);
    ranges.back_end.push_back(static_cast<int>(std::find(known.begin(), known.end(), name) - known.begin()));
  }
  return ranges;
}

struct Searched {
  std::string name;
  SearchResult result;
};

struct ExploreReport {
  const Model& model;
  const ExploreRequest& request;
  DesignSpace& space;
  bool enumerated = false;
  std::vector<Searched> searches;
  DesignGenes best;
  std::vector<DesignValue> front;   // of time, LUTs and error
  std::vector<DesignValue> narrow;  // of time and LUTs
  std::vector<std::string> written;

  const DesignValue& optimum() const { return space.values().at(best); }
  bool finds(const Searched& s) const {
    return goal_of(space.values().at(s.result.best), request.limits) == goal_of(optimum(), request.limits);
  }
};

std::string space_text(const DesignSpace& space) {
  if (space.size() == 1.0) return "one value of everything";
  std::string text;
  for (const DesignSpace::Axis& axis : space.axes())
    if (axis.values.size() > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : " x ", axis.values.size(), axis.name);
  return text;
}

TextTable front_table(const std::vector<DesignValue>& points) {
  TextTable table{{"cycles", "time [us]", "LUTs", "flip-flops", "DSPs", "RAM blocks", "error", "options"},
                  {}};
  for (const DesignValue& v : points)
    table.rows.push_back({fmt::format("{}", v.cycles), brief_number(1e6 * v.time(), 3),
                          fmt::format("{:.0f}", v.area.luts), fmt::format("{:.0f}", v.area.flipflops),
                          fmt::format("{}", v.area.dsps), fmt::format("{}", v.area.ram_blocks),
                          fmt::format("{:.2g}", v.error), export_options(v.point)});
  return table;
}

void print(const ExploreReport& r) {
  fmt::print("{}: {:.0f} designs ({}), {} evaluated\n", r.model.name, r.space.size(), space_text(r.space),
             r.space.evaluated());
  fmt::print(
      "area of an ECP5 by yosys and period: by model, nothing was synthesised\n\nfastest within limits:\n{}",
      to_text(front_table({r.optimum()})));
  const std::vector<DesignValue> shown = spread(r.narrow, r.request.points);
  fmt::print("\nfront of time and LUTs: {} designs{}\n{}", r.narrow.size(),
             shown.size() < r.narrow.size() ? fmt::format(", {} of them", shown.size()) : "",
             to_text(front_table(shown)));
  fmt::print("with smaller errors, front of time, LUTs and error: {} designs{}\n", r.front.size(),
             r.request.output.empty() ? "; --output writes them" : "");
  fmt::print("\n");
  for (const Searched& s : r.searches) {
    if (s.name == "enumeration") continue;
    const DesignValue& found = r.space.values().at(s.result.best);
    const std::string said =
        r.finds(s) ? (r.enumerated ? "finds the enumerated optimum" : "finds the best")
                   : fmt::format("ends at {} cycles, {:.3g} us, {:.0f} LUTs ({})", found.cycles,
                                 1e6 * found.time(), found.area.luts, export_options(found.point));
    fmt::print("{} {}, {} designs evaluated\n", s.name, said, s.result.evaluations);
  }
  for (const std::string& file : r.written) fmt::print("wrote {}\n", file);
}

Json to_json(const DesignValue& v) {
  return {{"back_end", back_ends()[v.point.back_end].name},
          {"multipliers", v.point.units.multipliers},
          {"adders", v.point.units.adders},
          {"dividers", v.point.units.dividers},
          {"latency", v.point.units.multiplier_latency},
          {"bits", v.point.bits},
          {"table_bits", v.point.table_bits},
          {"cycles", v.cycles},
          {"period", json_number(v.period)},
          {"time", json_number(v.time())},
          {"error", json_number(v.error)},
          {"overflows", v.overflows},
          {"luts", std::round(v.area.luts)},
          {"flipflops", v.area.flipflops},
          {"dsps", v.area.dsps},
          {"ram_blocks", v.area.ram_blocks},
          {"options", export_options(v.point)}};
}

Json to_json(const ExploreReport& r) {
  Json json{{"model", r.model.name},      {"file", r.request.file},
            {"designs", r.space.size()},  {"evaluated", r.space.evaluated()},
            {"enumerated", r.enumerated}, {"seed", r.request.options.seed}};
  json["limits"] = {{"error", json_number(r.request.limits.error)},
                    {"luts", json_number(r.request.limits.luts)},
                    {"dsps", json_number(r.request.limits.dsps)},
                    {"ram_blocks", json_number(r.request.limits.ram_blocks)}};
  json["best"] = to_json(r.optimum());
  auto& searches = json["searches"] = Json::array();
  for (const Searched& s : r.searches)
    searches.push_back({{"search", s.name},
                        {"evaluated", s.result.evaluations},
                        {"finds_best", r.finds(s)},
                        {"best", to_json(r.space.values().at(s.result.best))}});
  auto& front = json["front"] = Json::array();
  for (const DesignValue& v : r.front) {
    front.push_back(to_json(v));
    front.back()["front_of_time_and_luts"] =
        std::any_of(r.narrow.begin(), r.narrow.end(),
                    [&](const DesignValue& n) { return export_options(n.point) == export_options(v.point); });
  }
  json["written"] = r.written;
  return json;
}

std::string csv(const ExploreReport& r) {
  std::string text =
      "back_end,multipliers,adders,dividers,latency,bits,table_bits,cycles,time_s,luts,flipflops,dsps,"
      "ram_blocks,error,overflows,front,options\n";
  std::set<std::string> on_front;
  for (const DesignValue& v : r.front) on_front.insert(export_options(v.point));
  for (const auto& [genes, v] : r.space.values()) {
    const bool front = on_front.contains(export_options(v.point));
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{:.6g},{:.0f},{:.0f},{},{},{:.6g},{},{},{}\n",
                    back_ends()[v.point.back_end].name, v.point.units.multipliers, v.point.units.adders,
                    v.point.units.dividers, v.point.units.multiplier_latency, v.point.bits,
                    v.point.table_bits, v.cycles, v.time(), v.area.luts, v.area.flipflops, v.area.dsps,
                    v.area.ram_blocks, v.error, v.overflows ? 1 : 0, front ? 1 : 0, export_options(v.point));
  }
  return text;
}

// Every design that was looked at, and the front by its errors.
Figure front_figure(const ExploreReport& r) {
  Figure figure;
  figure.title = r.model.name;
  figure.x_label = "time of a step [us], by model";
  figure.y_label = "LUTs of an ECP5, by model";
  figure.log_x = figure.log_y = true;
  figure.height = 320;
  const auto add = [&](const std::string& name, int colour, auto takes, const auto& values) {
    FigureLine line;
    line.look = FigureLine::Look::dots;
    line.points = true;
    line.name = name;
    line.colour = colour;
    for (const DesignValue& v : values)
      if (takes(v)) {
        line.x.push_back(1e6 * v.time());
        line.y.push_back(v.area.luts);
      }
    if (!line.x.empty()) figure.lines.push_back(std::move(line));
  };
  double least = 1e300, most = 0.0;
  for (const DesignValue& v : r.front)
    least = std::min(least, std::max(v.error, 1e-12)), most = std::max(most, v.error);
  int colour = 0;
  for (int decade = static_cast<int>(std::floor(std::log10(least))); std::pow(10.0, decade) <= most; ++decade)
    add(
        fmt::format("front, error 1e{} to 1e{}", decade, decade + 1), colour++,
        [&](const DesignValue& v) {
          return v.error >= std::pow(10.0, decade) && v.error < std::pow(10.0, decade + 1);
        },
        r.front);
  add(
      "fastest within limits", colour, [](const DesignValue&) { return true; },
      std::vector<DesignValue>{r.optimum()});
  return figure;
}

// The same by gnuplot, with a legend in the picture.
Chart front_chart(const ExploreReport& r) {
  const Figure figure = front_figure(r);
  ChartPanel panel;
  panel.what = ChartPanel::What::points;
  panel.x_label = figure.x_label;
  panel.y_label = figure.y_label;
  for (const FigureLine& line : figure.lines) panel.series.push_back({line.name, line.x, line.y, {}, {}});
  return {figure.title, {std::move(panel)}, 1};
}

PagePart part_of(const ExploreReport& r) {
  PagePart part;
  part.title = fmt::format("Hardware: {}", r.model.name);
  part.html =
      paragraph(fmt::format("{:.0f} designs ({}), {} of them evaluated. Area and period come from a model; "
                            "nothing was synthesised.",
                            r.space.size(), space_text(r.space), r.space.evaluated()));
  part.html += table_html(front_table({r.optimum()}), "Fastest within limits");
  part.html +=
      subsection("Front", to_html(front_figure(r)) + table_html(front_table(r.narrow), "Of time and LUTs") +
                              folded(fmt::format("With smaller errors: {} designs", r.front.size()),
                                     table_html(front_table(r.front))));
  TextTable searches{{"search", "designs evaluated", "finds the best"}, {}};
  for (const Searched& s : r.searches)
    searches.rows.push_back({s.name, fmt::format("{}", s.result.evaluations), r.finds(s) ? "yes" : "no"});
  part.html += subsection("Searches", table_html(searches));
  part.html +=
      settings_html({{"model file", r.request.file}, {"seed", fmt::format("{}", r.request.options.seed)}});
  Json data = to_json(r);
  data["part"] = "exploration";
  part.data = json_text(data);
  return part;
}

void write_files(ExploreReport& r) {
  try {
    if (!r.request.output.empty()) {
      write_file(r.request.output, csv(r));
      r.written.push_back(r.request.output);
    }
    if (!r.request.plot.empty()) {
      write_chart(r.request.plot, front_chart(r));
      r.written.push_back(r.request.plot);
    }
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_explore, error);
  }
  if (!r.request.page.report.empty()) {
    write_study_report(tellegen_explore, r.request.page, network_part(r.model), part_of(r));
    r.written.push_back(r.request.page.report);
  }
}

void check_request(const ExploreRequest& r) {
  check_choice({tellegen_explore, "--search"}, r.search, {"enumerate", "gradient", "genetic", "all"});
  if (!r.output.empty()) check_writable({tellegen_explore, "--output"}, r.output, {".csv"});
  if (!r.plot.empty()) check_writable({tellegen_explore, "--plot"}, r.plot, {".svg", ".png"});
  if (!r.json.empty()) check_writable({tellegen_explore, "--json"}, r.json, {".json"});
  check_study_report(tellegen_explore, r.page, r.file);
}

// What stands in the way of all designs that were looked at.
StudyError nothing_keeps(const ExploreReport& r) {
  DesignValue least = r.optimum();
  for (const auto& [genes, v] : r.space.values()) {
    if (!v.overflows) least.error = std::min(least.error, v.error);
    least.area.luts = std::min(least.area.luts, v.area.luts);
    least.area.dsps = std::min(least.area.dsps, v.area.dsps);
    least.area.ram_blocks = std::min(least.area.ram_blocks, v.area.ram_blocks);
  }
  const DesignValue& v = r.optimum();
  return StudyError(
      r.request.file, fmt::format("none of {} designs keeps all limits", r.space.evaluated()),
      {fmt::format("the nearest: error {:.2g}, {:.0f} LUTs, {} DSPs, {} RAM blocks ({})", v.error,
                   v.area.luts, v.area.dsps, v.area.ram_blocks, export_options(v.point)),
       fmt::format(
           "the least of each, in different designs: error {:.2g}, {:.0f} LUTs, {} DSPs, {} RAM blocks",
           least.error, least.area.luts, least.area.dsps, least.area.ram_blocks)});
}

void explore(const ExploreRequest& request) {
  check_request(request);
  const DesignRanges ranges = ranges_of(request);
  Model model = read_exported_model(tellegen_explore, request);
  const std::vector<Expr> external = take_inputs_out(tellegen_explore, request, model);
  const SimulationOptions options = exported_step_options(tellegen_explore, request, model);
  const EquationSystem system = build_system(model);
  Simulation simulation(system, options, chosen_columns(tellegen_explore, system, request.outputs, false));
  const HardwareProblem problem = hardware_problem(model, simulation, external);
  DesignSpace space(problem, ranges);
  ExploreReport report{model, request, space, false, {}, {}, {}, {}, {}};

  const bool all = request.search.empty() || request.search == "all", small = space.size() <= request.largest;
  if (request.search == "enumerate" || (all && small)) {
    ProgressBar progress;
    const auto shown = [&](std::size_t done, double of) { progress(static_cast<double>(done) / of); };
    report.searches.push_back(
        {"enumeration", enumerate(space, request.limits,
                                  ProgressBar::watched() ? DesignProgress(shown) : DesignProgress())});
    report.enumerated = true;
  }
  const auto search = [&](const char* name, auto run) {
    ProgressLine progress;
    SearchOptions options_of_search = request.options;
    if (ProgressBar::watched())
      options_of_search.progress = [&](std::size_t done, double) {
        if (done % 50 == 0) progress(fmt::format("{}: {} designs", name, done));
      };
    report.searches.push_back({name, run(space, request.limits, options_of_search)});
  };
  if (all || request.search == "gradient") search("gradient descent", gradient_descent);
  if (all || request.search == "genetic") search("genetic search", genetic_search);
  report.best = report.searches[0].result.best;
  for (const Searched& s : report.searches)
    if (goal_of(space.value(s.result.best), request.limits) <
        goal_of(space.value(report.best), request.limits))
      report.best = s.result.best;
  if (goal_of(report.optimum(), request.limits).excess > 0.0) throw nothing_keeps(report);
  report.front = design_front(space, request.limits, FrontOf::time_luts_and_error);
  report.narrow = design_front(space, request.limits, FrontOf::time_and_luts);
  write_files(report);
  const bool wants_json = request.json_option->count() > 0;
  if (wants_json && request.json.empty()) {
    fmt::print("{}", json_text(to_json(report)));
    return;
  }
  if (wants_json) {
    report.written.push_back(request.json);
    write_file(request.json, json_text(to_json(report)));
  }
  print(report);
}

}  // namespace

void add_explore(CLI::App& command) {
  auto request = std::make_shared<ExploreRequest>();
  ExploreRequest& r = *request;
  r.limits.error = 1e-3;
  add_exported_model_options(command, r);
  const DesignRanges usual = usual_ranges();
  const auto range = [&](const char* option, std::string& text, const char* what,
                         const std::vector<int>& values) {
    command
        .add_option(option, text,
                    fmt::format("{}: 1:8 or 1,2,4; {} if not given", what, fmt::join(values, ",")))
        ->type_name("COUNTS");
  };
  command.add_option("--core", r.core, "units, microcode; both if not given")->type_name("LIST");
  range("--multipliers", r.multipliers, "multipliers", usual.multipliers);
  range("--adders", r.adders, "adders", usual.adders);
  range("--dividers", r.dividers, "units for quotients and square roots", usual.dividers);
  range("--latency", r.latency, "clock cycles of a product", usual.latency);
  range("--bits", r.bits, "word lengths", usual.bits);
  range("--coarser", r.coarser, "bits by which tables are less good than words", usual.coarser);
  const auto limit = [&](const char* option, double& value, const std::string& what) {
    command.add_option(option, value, what)->type_name("NUMBER")->check(not_positive);
  };
  limit("--error", r.limits.error,
        fmt::format("largest error of an output, relative to its largest value; {} if not given",
                    r.limits.error));
  limit("--luts", r.limits.luts, "most LUTs");
  limit("--dsps", r.limits.dsps, "most DSPs of 18 x 18 bits");
  limit("--ram-blocks", r.limits.ram_blocks, "most RAM blocks of 18 kbit");
  command
      .add_option(
          "--search", r.search,
          "enumerate, gradient, genetic or all; all if not given, but large spaces are not enumerated")
      ->type_name("NAME");
  command
      .add_option("--largest", r.largest,
                  fmt::format("size of a space that is still enumerated; {} if not given", r.largest))
      ->type_name("COUNT")
      ->check(not_positive);
  command.add_option("--seed", r.options.seed, "of the searches' random numbers; 1 if not given")
      ->type_name("NUMBER");
  command
      .add_option("--points", r.points,
                  fmt::format("of the front that are printed; {} if not given", r.points))
      ->type_name("COUNT")
      ->check(not_positive_count);
  command.add_option("--output", r.output, "all designs that were evaluated")->type_name("F.csv");
  command.add_option("--plot", r.plot, "the front as a picture")->type_name("F.svg|F.png");
  r.json_option =
      command.add_option("--json", r.json, "everything for machines, to a file or standard output")
          ->type_name("[F.json]")
          ->expected(0, 1);
  add_study_report_options(command, r.page);
  command.callback([request] { explore(*request); });
}

}  // namespace tellegen
