// Static studies of a machine that is given by its cross-section ([machine], model/machine.h).
//
// Angle and currents are imposed, so the magnetic network has no states: every operating point is a solution
// of its algebraic equations. A list of points becomes one run, point k at the time k, and everything is
// solved by the step that a simulation takes. Inductances are derivatives of flux linkages by currents,
// exact, by the sensitivities of that run: incremental where iron saturates, and for linear iron what they
// always are.
//
//   torque = d(coenergy)/d(angle): of linear iron i'*(d lambda/d angle)/2, which is not how it is computed.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/machine.h"
#include "tellegen/model/read.h"

namespace tellegen {

inline constexpr std::size_t machine_windings = 4;  // phases a, b, c and the field

struct MachinePoint {
  double angle = 0.0;                        // of the rotor, mechanical
  std::array<double, machine_windings> i{};  // currents
};

struct MachineAnswer {
  std::array<double, machine_windings> lambda{};
  double torque = 0.0;
  // With derivatives: by the currents, and by the angle.
  std::array<std::array<double, machine_windings>, machine_windings> inductance{};
  std::array<double, machine_windings> lambda_slope{};
  std::array<double, machine_windings>
      torque_slope{};  // by the currents: the same, as both come from one coenergy
  std::vector<double> observed;
};

class StaticStudy {
 public:
  // Throws ModelError where the file has no [machine] (T148), or one that is wrong.
  explicit StaticStudy(const std::filesystem::path& file, const ReadOptions& options = {});

  const Machine& machine() const { return machine_; }
  const std::filesystem::path& file() const { return file_; }
  std::size_t windings() const { return machine_.wound_field() ? machine_windings : 3; }
  double pole_pairs() const { return 0.5 * machine_.poles; }

  // At every point; `observe` are further expressions of the network, "tooth[1].B". Throws SimulationError
  // where a point has no solution.
  std::vector<MachineAnswer> at(std::span<const MachinePoint> points, bool derivatives,
                                const std::vector<std::string>& observe = {}) const;

  // Currents of the phases that are q, d and zero in the rotor's frame, at a mechanical angle.
  std::array<double, machine_windings> currents(double angle, double q, double d, double zero,
                                                double field) const;
  // q, d, zero of phase quantities there.
  std::array<double, 3> qd0(double angle, const std::array<double, machine_windings>& abc) const;

 private:
  std::filesystem::path file_;
  ReadOptions options_;
  std::string text_;
  Machine machine_;
};

// Inductances of the qd0 model, d(lambda_qd0)/d(i_qd0) averaged over the slot pitch around theta_r = 0, with
// the field's current and none in the stator: L_ls is that of the zero sequence. They vary with a period of
// sixty electrical degrees, so that the mean over another slot pitch is another one (L_ls by a tenth).
struct AxisInductances {
  double L_ls = 0.0, L_mq = 0.0, L_md = 0.0;
  double field_linkage = 0.0;  // lambda_d/i_f
  double turns_ratio() const { return 1.5 * field_linkage / L_md; }
};
// With a `signal`, lambda(signal) - lambda(0) over the signal in place of the derivative, as a test bench
// would.
AxisInductances axis_inductances(const StaticStudy& study, double field, double signal = 0.0,
                                 int angles = 20);

// Amplitudes of a periodic sequence, from the mean on.
std::vector<double> harmonics(std::span<const double> values, std::size_t count);

}  // namespace tellegen
