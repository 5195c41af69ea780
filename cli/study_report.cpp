#include "cli/study_report.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {

namespace fs = std::filesystem;

void add_study_report_options(CLI::App& command, StudyReportRequest& request) {
  const char* group = "Report";
  command.add_option("--report", request.report, "tables, pictures and settings as one HTML file")
      ->type_name("F.html")
      ->group(group);
  command.add_option("--title", request.title, "of the report")->type_name("TEXT")->group(group);
}

void check_study_report(std::string_view command, const StudyReportRequest& request,
                        const std::string& source) {
  if (request.report.empty()) {
    if (!request.title.empty())
      throw command_fault(command, "T401", "--title is for a report", {"add --report F.html"});
    return;
  }
  check_writable({command, "--report"}, request.report, {".html", ".htm"});
  std::error_code ignored;
  if (fs::equivalent(request.report, source, ignored))
    throw command_fault(command, "T402", fmt::format("--report would replace '{}'", source),
                        {"this study reads it: choose another name"});
}

void write_study_report(std::string_view command, const StudyReportRequest& request, PagePart network,
                        PagePart part) {
  Page page;
  if (!request.title.empty()) part.title = request.title;
  page.title = part.title;
  page.parts = {std::move(part), std::move(network)};
  try {
    write_file(request.report, to_html(page));
  } catch (const std::runtime_error& error) {
    throw not_written(command, error);
  }
}

}  // namespace tellegen
