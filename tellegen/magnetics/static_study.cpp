#include "tellegen/magnetics/static_study.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/run.h"

namespace tellegen {
namespace {

constexpr std::string_view winding_names[] = {"a", "b", "c", "f"};

// Over the index of a point: what is imposed there.
template <class Of>
std::string table_entry(std::string_view name, std::span<const MachinePoint> points, Of of) {
  std::string text = fmt::format("{} = [", name);
  for (std::size_t k = 0; k < points.size(); ++k)
    text += fmt::format("{}[{}.0, {:.17e}]", k == 0 ? "" : ", ", k, of(points[k]));
  return text + "]";
}

std::string read_whole(const std::filesystem::path& file) { return read_text(file, {file.string(), 0}); }

Machine read_section(const Document& document) {
  FaultList faults;
  const Source source{document, faults};
  const Value* section = document.root().find("machine");
  if (!section) {
    source.fault(document.root(), "T148", "the file has no [machine]",
                 {"this study is of a machine that is given by its cross-section"});
    faults.throw_if_any();
  }
  Machine machine = read_machine(source, *section);
  faults.throw_if_any();
  return machine;
}

}  // namespace

StaticStudy::StaticStudy(const std::filesystem::path& file, const ReadOptions& options)
    : file_(file),
      options_(options),
      text_(read_whole(file)),
      machine_(read_section(Document(text_, file.string()))) {}

std::vector<MachineAnswer> StaticStudy::at(std::span<const MachinePoint> points, bool derivatives,
                                           const std::vector<std::string>& observe) const {
  if (points.empty()) return {};
  std::vector<MachinePoint> all(points.begin(), points.end());
  if (all.size() == 1) all.push_back(all[0]);  // a run has a length

  MachineDrive drive;
  drive.imposed = true;
  drive.angle = "machine_at_angle(t) + machine_d_angle";
  AddedSection tables{"tables", {}}, parameters{"parameters", {}};
  const auto add = [&](AddedSection& to, std::string entry) {
    to.entries.push_back({std::move(entry), machine_.line});
  };
  add(tables, table_entry("machine_at_angle", all, [](const MachinePoint& p) { return p.angle; }));
  std::vector<std::string> moved;
  for (std::size_t w = 0; w < windings(); ++w) {
    const std::string_view name = winding_names[w];
    add(tables,
        table_entry(fmt::format("machine_at_{}", name), all, [&](const MachinePoint& p) { return p.i[w]; }));
    moved.push_back(fmt::format("machine_d_{}", name));
    (w < 3 ? drive.i[w] : drive.i_f) = fmt::format("machine_at_{0}(t) + machine_d_{0}", name);
  }
  moved.emplace_back("machine_d_angle");
  std::vector<AddedSection> sections = machine_network(machine_, drive);
  for (const std::string& name : moved) add(sections[0], name + " = 0.0");
  sections.push_back(std::move(tables));
  constexpr std::string_view kept[] = {"parameters", "tables"};
  const Document document(text_, file_.string());
  const ExpandedText expanded = expanded_text(document, "machine", sections, kept);
  Model model = read_model_text(expanded.toml, file_, options_);

  SimulationOptions given;
  given.stop = static_cast<double>(all.size() - 1);
  given.step = 1.0;
  given.method = "bdf1";
  given.tolerance = 1e-11;
  given.compile = false;  // the points are part of the code: nobody would use it again
  RunRequest request;
  const auto want = [&](const std::string& expression) {
    request.trajectories.push_back({expression, "", parse_value(model, expression, {file_.string(), 0})});
  };
  for (std::size_t w = 0; w < windings(); ++w) want(fmt::format("lambda_{}", winding_names[w]));
  want("T_e");
  for (const std::string& expression : observe) want(expression);
  request.simulation = complete_options(model, given);
  if (derivatives)
    for (const std::string& name : moved) request.wrt.push_back(study_parameter(model, name));
  const RunDerivatives run = derivatives ? forward_run(model, request) : plain_run(model, request);
  if (!run.failure.empty()) throw SimulationError(run.failure, run.end_time);

  std::vector<MachineAnswer> answers(points.size());
  const std::size_t columns = request.trajectories.size(), by = request.wrt.size();
  for (std::size_t k = 0; k < points.size(); ++k) {
    MachineAnswer& answer = answers[k];
    const double* values = &run.trajectories[k * columns];
    for (std::size_t w = 0; w < windings(); ++w) answer.lambda[w] = values[w];
    answer.torque = values[windings()];
    answer.observed.assign(values + windings() + 1, values + columns);
    if (!derivatives) continue;
    const double* slopes = &run.by_parameter[k * columns * by];
    for (std::size_t w = 0; w < windings(); ++w) {
      for (std::size_t j = 0; j < windings(); ++j) answer.inductance[w][j] = slopes[w * by + j];
      answer.lambda_slope[w] = slopes[w * by + windings()];
      answer.torque_slope[w] = slopes[windings() * by + w];
    }
  }
  return answers;
}

std::array<double, machine_windings> StaticStudy::currents(double angle, double q, double d, double zero,
                                                           double field) const {
  std::array<double, machine_windings> i{0, 0, 0, field};
  for (std::size_t p = 0; p < 3; ++p) {
    const double th = pole_pairs() * angle - 2 * std::numbers::pi / 3 * static_cast<double>(p);
    i[p] = q * std::cos(th) + d * std::sin(th) + zero;
  }
  return i;
}

std::array<double, 3> StaticStudy::qd0(double angle, const std::array<double, machine_windings>& abc) const {
  std::array<double, 3> all{};
  for (std::size_t p = 0; p < 3; ++p) {
    const double th = pole_pairs() * angle - 2 * std::numbers::pi / 3 * static_cast<double>(p);
    all[0] += abc[p] * std::cos(th) * 2 / 3;
    all[1] += abc[p] * std::sin(th) * 2 / 3;
    all[2] += abc[p] / 3;
  }
  return all;
}

AxisInductances axis_inductances(const StaticStudy& study, double field, double signal, int angles) {
  const std::array<std::array<double, 3>, 3> axes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  std::vector<MachinePoint> points;
  for (int k = 0; k < angles; ++k) {
    const double angle = 2 * std::numbers::pi / study.machine().slots * ((k + 0.5) / angles - 0.5);
    points.push_back({angle, {0, 0, 0, field}});
    if (signal != 0.0)
      for (const auto& [q, d, zero] : axes)
        points.push_back({angle, study.currents(angle, signal * q, signal * d, signal * zero, field)});
  }
  const std::vector<MachineAnswer> answers = study.at(points, signal == 0.0);
  std::array<double, 3> L{};  // of q, d and zero
  AxisInductances mean;
  for (std::size_t k = 0; k < points.size(); k += signal != 0.0 ? 4 : 1) {
    const double angle = points[k].angle;
    const std::array<double, 3> rest = study.qd0(angle, answers[k].lambda);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (signal != 0.0) {
        L[axis] += (study.qd0(angle, answers[k + 1 + axis].lambda)[axis] - rest[axis]) / (signal * angles);
        continue;
      }
      const auto i = study.currents(angle, axes[axis][0], axes[axis][1], axes[axis][2], 0.0);
      std::array<double, machine_windings> lambda{};
      for (std::size_t w = 0; w < 3; ++w)
        for (std::size_t j = 0; j < 3; ++j) lambda[w] += answers[k].inductance[w][j] * i[j];
      L[axis] += study.qd0(angle, lambda)[axis] / angles;
    }
    if (field != 0.0) mean.field_linkage += rest[1] / (field * angles);
  }
  mean.L_ls = L[2];
  mean.L_mq = L[0] - L[2];
  mean.L_md = L[1] - L[2];
  return mean;
}

std::vector<double> harmonics(std::span<const double> values, std::size_t count) {
  std::vector<double> amplitudes;
  const double n = static_cast<double>(values.size());
  for (std::size_t h = 0; h <= count; ++h) {
    double re = 0.0, im = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double x = 2 * std::numbers::pi * static_cast<double>(h * k % values.size()) / n;
      re += values[k] * std::cos(x);
      im += values[k] * std::sin(x);
    }
    amplitudes.push_back(std::hypot(re, im) * (h == 0 ? 1.0 : 2.0) / n);
  }
  return amplitudes;
}

}  // namespace tellegen
