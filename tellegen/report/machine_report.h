// What `tellegen machine` finds of a machine, as text, JSON and a page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/magnetics/cross_section.h"
#include "tellegen/magnetics/iron_loss.h"
#include "tellegen/magnetics/static_study.h"
#include "tellegen/report/page.h"

namespace tellegen {

// At which currents, and how finely, a machine is looked at.
struct MachinePointOptions {
  double field = 1.0, i_q = 0.0, i_d = 0.0, angle = 0.0, largest = 10.0;
  int angles = 360, points = 11;
  std::string speed;  // with its unit; empty: no iron losses
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

std::string machine_text(const Machine& machine, const MachinePointOptions& options,
                         const MachineFindings& found);
nlohmann::json machine_json(const MachinePointOptions& options, const MachineFindings& found);
// Cross-section, torque, open circuit, maps and losses. An empty title: the file's name.
PagePart machine_part(const StaticStudy& study, const MachinePointOptions& options,
                      const MachineFindings& found, const std::string& title, const Settings& settings);

}  // namespace tellegen
