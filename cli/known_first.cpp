#include "cli/known_first.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"

namespace tellegen {

void require_known(const std::string& file, const Model& model, const Record& record,
                   const EstimabilityQuestion& question) {
  EstimabilityQuestion asked = question;
  asked.limit = 1e6;  // what is hardly known has a large deviation, and is told with it
  const EstimabilityReport report = what_can_be_known(model, record, asked);
  if (report.all_known) return;
  fmt::print(stderr, "{}\n", report.text());
  std::vector<std::string> reasons = report.reasons();
  reasons.push_back("--anyway continues all the same");
  throw StudyError(file, "the readings do not determine everything that is asked for", reasons);
}

}  // namespace tellegen
