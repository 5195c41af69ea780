#include "cli/twin_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/model_file.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {

namespace fs = std::filesystem;

EstimatePartOptions TwinReportRequest::of_estimate(Settings settings) const {
  return {title, split_list(show), truth, std::move(settings)};
}

CalibrationPartOptions TwinReportRequest::of_calibration(Settings settings) const {
  CalibrationPartOptions options{title, std::nullopt, std::move(settings)};
  if (!truth.empty()) options.truth = read_model_file(truth, {});
  return options;
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
