// Reports of studies (sweep, rank, optimize) as one HTML file: what was asked, what came out, pictures.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "tellegen/report/page.h"

namespace tellegen {

// The command line as it was typed.
struct StudyReportRequest {
  std::string report, title;
};

void add_study_report_options(CLI::App& command, StudyReportRequest& request);

// Before a long run. Throws ModelError: T402 where the page cannot be written or would replace `source`, T401
// for a title without a report.
void check_study_report(std::string_view command, const StudyReportRequest& request,
                        const std::string& source);

// Writes network and part; throws ModelError (T402).
void write_study_report(std::string_view command, const StudyReportRequest& request, PagePart network,
                        PagePart part);

}  // namespace tellegen
