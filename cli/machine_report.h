// What `tellegen machine` finds of a machine, as text, JSON and a page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/study_report.h"
#include "tellegen/magnetics/cross_section.h"
#include "tellegen/magnetics/iron_loss.h"
#include "tellegen/magnetics/static_study.h"

namespace tellegen {

struct MachineRequest {
  std::string file, inductances, torque, open_circuit, flux_map, picture, speed;
  std::vector<std::string> set;
  double field = 1.0, i_q = 0.0, i_d = 0.0, angle = 0.0, largest = 10.0;
  int angles = 360, points = 11;
  bool json = false;
  StudyReportRequest report;
};

struct TorqueSummary {
  double mean = 0.0, lowest = 0.0, highest = 0.0;
};

struct MachineFindings {
  AxisInductances axes;
  TorqueSummary torque;
  std::vector<std::vector<double>> torque_rows;        // theta_r, T_e
  std::vector<std::vector<double>> open_circuit_rows;  // theta_r, lambda_a, its slope
  std::vector<std::vector<double>> map_rows;  // i_d, i_q, lambda_d, lambda_q, T_e; empty: not asked for
  std::vector<double> harmonics;
  CrossSection section;
  std::optional<IronLoss> iron;
};

std::string machine_text(const Machine& machine, const MachineRequest& request, const MachineFindings& found);
nlohmann::json machine_json(const MachineRequest& request, const MachineFindings& found);
// Cross-section, torque, open circuit, maps and losses on one page. Throws ModelError (T402).
void write_machine_report(const StaticStudy& study, const MachineRequest& request,
                          const MachineFindings& found);

}  // namespace tellegen
