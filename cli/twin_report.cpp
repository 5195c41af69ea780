#include "cli/twin_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/model_drawing.h"
#include "cli/model_file.h"
#include "cli/study_options.h"
#include "tellegen/estimate/estimate_table.h"
#include "tellegen/model/units.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

std::string varies(ModelUnknown::Varies how) {
  constexpr const char* words[] = {"constant", "random walk", "integrated random walk", "oscillator"};
  return words[static_cast<int>(how)];
}

}  // namespace

PagePart network_part(const Model& model) {
  const DrawnNetwork network = drawn_network(model);
  HtmlTable sensors{{"sensor", "noise", "unit"}, {}, "Sensors"};
  for (std::size_t o = 0; o < model.outputs.size(); ++o) {
    const ModelOutput& output = model.outputs[o];
    if (!output.sensor) continue;
    const std::string unit = sensor_unit(model, static_cast<int>(o));
    sensors.rows.push_back(
        {output.name, output.noise ? brief_number(deviation_in_unit(*output.noise, unit)) : "-", unit});
  }
  HtmlTable unknowns{{"parameter", "varies", "unit", "what it is"}, {}, "Unknowns"};
  for (const ModelUnknown& unknown : model.unknowns) {
    const ModelParameter& p = model.parameters[unknown.parameter];
    unknowns.rows.push_back({p.name, varies(unknown.varies), p.unit, p.summary});
  }
  std::size_t nodes = 0;
  for (const ModelNode& node : model.nodes) nodes += node.datum ? 0 : 1;
  const std::string tables =
      (sensors.rows.empty() ? "" : to_html(sensors)) + (unknowns.rows.empty() ? "" : to_html(unknowns));
  PagePart part;
  part.title = fmt::format("The network: {}", model.name);
  part.html = paragraph(fmt::format("{} node{} and {} component{}.", nodes, nodes == 1 ? "" : "s",
                                    model.components.size(), model.components.size() == 1 ? "" : "s")) +
              side_by_side({to_html(network), tables});
  part.data = R"({"part":"network"})";
  return part;
}

void add_estimate_report_options(CLI::App& command, TwinReportRequest& r) {
  const char* group = "Report";
  command.add_option("--report", r.report, "figures and tables as one HTML file")
      ->type_name("F.html")
      ->group(group);
  command.add_option("--title", r.title, "of the report")->type_name("TEXT")->group(group);
  command
      .add_option("--show", r.show,
                  "what the report draws; if not given, outputs that no sensor reads, and the unknowns")
      ->type_name("LIST")
      ->group(group);
  command
      .add_option("--truth", r.truth,
                  "columns of what is true, as synthesize --truth writes them; for the report")
      ->type_name("F.csv")
      ->group(group);
}

void add_calibration_report_options(CLI::App& command, TwinReportRequest& r) {
  const char* group = "Report";
  command.add_option("--report", r.report, "figures and tables as one HTML file")
      ->type_name("F.html")
      ->group(group);
  command.add_option("--title", r.title, "of the report")->type_name("TEXT")->group(group);
  command.add_option("--truth", r.truth, "model file with the true parameters; for the report")
      ->type_name("F.toml")
      ->group(group);
}

void check_report(std::string_view command, const TwinReportRequest& request,
                  const std::vector<std::string>& sources) {
  if (request.report.empty()) {
    for (const auto& [option, value] : {std::pair<const char*, const std::string&>{"--title", request.title},
                                        {"--show", request.show},
                                        {"--truth", request.truth}})
      if (!value.empty())
        throw command_fault(command, "T401", fmt::format("{} is for a report", option),
                            {"add --report F.html"});
    return;
  }
  check_writable({command, "--report"}, request.report, {".html", ".htm"});
  std::error_code ignored;
  for (const std::string& source : sources)
    if (!source.empty() && fs::equivalent(request.report, source, ignored))
      throw command_fault(command, "T402", fmt::format("--report would replace '{}'", source),
                          {"this run reads it: choose another name"});
  if (!request.truth.empty() && !fs::is_regular_file(request.truth, ignored))
    throw command_fault(command, "T670",
                        fmt::format("the truth '{}' cannot be read: there is no such file", request.truth));
  if (request.truth.ends_with(".toml")) read_model_file(request.truth, {});  // throws what is wrong with it
}

void write_twin_report(std::string_view command, const TwinReportRequest& request, const Model& model,
                       PagePart part) {
  Page page;
  page.title = part.title;
  page.introduction = fmt::format("Model: {}.", model.name);
  page.parts.push_back(network_part(model));
  page.parts.push_back(std::move(part));
  try {
    write_file(request.report, to_html(page));
  } catch (const std::runtime_error& error) {
    throw not_written(command, error);
  }
}

}  // namespace tellegen
