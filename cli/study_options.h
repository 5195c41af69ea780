// Options that the studies of a model's objectives share, and how their numbers are told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "tellegen/sensitivity/study.h"

namespace tellegen {

// The command line as it was typed.
struct StudyRequest {
  std::string file, stop, step, sample, method, derivatives, json;
  std::vector<std::string> set;
  double tolerance = 0.0, difference_step = 0.0;
  int event_bisections = 0;
  bool fixed_end_time = false, interpret = false, wants_json = false, strict = false;
  CLI::Option* json_option = nullptr;
};

void add_study_options(CLI::App& command, StudyRequest& request);

// Throws ModelError for what cannot be. `command`: "tellegen rank".
StudyOptions study_options_of(std::string_view command, const StudyRequest& request);
Model read_study_model(std::string_view command, const StudyRequest& request);

// The parameters a list names, r1.R too; all plain numbers of [parameters] where it is empty. Throws
// ModelError where one does not exist or there is none.
std::vector<std::string> chosen_parameters(std::string_view command, Model& model, const std::string& list);

// With --strict, what a study warns of is a fault. Throws StudyError, once everything is written.
void hold_strictly(const StudyRequest& request, const std::vector<std::string>& warnings);

// To a file or to standard output, as asked. True: standard output was for it.
bool write_json(std::string_view command, const StudyRequest& request, const std::string& text);

}  // namespace tellegen
