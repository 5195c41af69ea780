#include "tellegen/magnetics/iron_loss.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

using std::numbers::pi;

// What the rate of a sine means: mean of |cos|^1.5, times (2 pi)^1.5.
double excess_of_sine() {
  return std::pow(2 * pi, 1.5) * std::tgamma(1.25) / (std::sqrt(pi) * std::tgamma(1.75));
}

// Heights of all closed loops of a periodic sequence (rainflow counting). From its largest value on, every
// smaller loop closes before the one that contains it.
std::vector<double> loop_heights(std::span<const double> values) {
  const auto top = static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  std::vector<double> heights, open;
  for (std::size_t k = 0; k <= values.size(); ++k) {
    const double value = values[(top + k) % values.size()];
    const std::size_t n = open.size();
    if (n >= 2 && (open[n - 1] - open[n - 2]) * (value - open[n - 1]) >= 0.0) open.pop_back();  // no turn
    open.push_back(value);
    while (open.size() >= 3) {
      const std::size_t last = open.size() - 1;
      const double height = std::abs(open[last - 1] - open[last - 2]);
      if (std::abs(open[last] - open[last - 1]) < height) break;
      heights.push_back(height);
      open.erase(open.end() - 3, open.end() - 1);
    }
  }
  return heights;
}

// By four neighbours: of the tenth harmonic in 360 points 1e-5 is lost.
double rate(std::span<const double> values, std::size_t k, double interval) {
  const std::size_t n = values.size();
  const auto at = [&](std::size_t offset) { return values[(k + offset) % n]; };
  return (8 * (at(1) - at(n - 1)) - (at(2) - at(n - 2))) / (12 * interval);
}

// Coefficients for an exponent; infinite cost where none are allowed.
struct ExponentFit {
  LossCoefficients coefficients;
  double cost = std::numeric_limits<double>::infinity();
};
ExponentFit fit_exponent(std::span<const MachineLoss::Measured> points, double exponent) {
  ExponentFit best;
  for (int chosen = 1; chosen < 8; ++chosen) {  // three numbers that may be zero: seven least squares
    std::vector<int> columns;
    for (int c = 0; c < 3; ++c)
      if (chosen >> c & 1) columns.push_back(c);
    const auto n = static_cast<Eigen::Index>(columns.size());
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n), scale = Eigen::VectorXd::Zero(n);
    std::vector<Eigen::VectorXd> rows;
    for (const auto& [f, B, loss] : points) {
      const double all[] = {f * std::pow(B, exponent) / loss, f * f * B * B / loss,
                            std::pow(f * B, 1.5) / loss};
      Eigen::VectorXd row(n);
      for (Eigen::Index c = 0; c < n; ++c) row[c] = all[columns[static_cast<std::size_t>(c)]];
      scale = scale.cwiseMax(row.cwiseAbs());
      rows.push_back(std::move(row));
    }
    for (Eigen::VectorXd& row : rows) {
      row = row.cwiseQuotient(scale);
      normal += row * row.transpose();
      right += row;
    }
    const Eigen::VectorXd x = solve(normal, right);
    if (!x.allFinite() || x.minCoeff() < 0.0) continue;
    double cost = 0.0;
    for (const Eigen::VectorXd& row : rows) cost += std::pow(row.dot(x) - 1.0, 2);
    if (!(cost < best.cost)) continue;
    best = {{0.0, exponent, 0.0, 0.0}, cost};
    double* const to[] = {&best.coefficients.hysteresis, &best.coefficients.eddy, &best.coefficients.excess};
    for (Eigen::Index c = 0; c < n; ++c) *to[columns[static_cast<std::size_t>(c)]] = x[c] / scale[c];
  }
  return best;
}

// Arrays of iron in the network, and what people call them.
struct IronArray {
  std::string name, region;
  int count;
  const MachineIron* iron;
};
std::vector<IronArray> iron_arrays(const Machine& m) {
  std::vector<IronArray> all{{"tooth", "stator teeth", m.slots, &m.stator_iron},
                             {"back_iron", "stator yoke", m.slots, &m.stator_iron}};
  const auto rotor = [&](const char* name, const char* region, int count) {
    all.push_back({name, region, count, &m.rotor_iron});
  };
  switch (m.rotor) {
    case Machine::Rotor::salient:
      rotor("pole", "poles", m.poles);
      break;
    case Machine::Rotor::surface:
      break;
    case Machine::Rotor::interior:
      for (const char* name : {"bridge_before", "bridge_behind"}) rotor(name, "bridges", m.poles);
      for (const char* name : {"post_before", "post_behind"}) rotor(name, "posts", m.poles);
      break;
    case Machine::Rotor::cage:
      rotor("rotor_tooth", "rotor teeth", m.bars);
      rotor("rotor_back", "rotor yoke", m.bars);
      return all;
  }
  rotor("hub_iron", "rotor yoke", m.poles);
  return all;
}

void check_losses(const StaticStudy& study) {
  FaultList faults;
  for (const MachineIron* iron : {&study.machine().stator_iron, &study.machine().rotor_iron})
    if (!iron->loss.given)
      faults.add({study.file().string(), study.machine().line}, "T148",
                 fmt::format("material '{}' has no 'loss'", iron->name),
                 {"iron losses need its density, and coefficients or measured losses: loss = { density = "
                  "7650, hysteresis = 0.02, eddy = 5e-5 }"});
  faults.throw_if_any();
}

}  // namespace

double LossCoefficients::at(double frequency, double B) const {
  return hysteresis * frequency * std::pow(B, exponent) + eddy * frequency * frequency * B * B +
         excess * std::pow(frequency * B, 1.5);
}

LossFit fit_losses(std::span<const MachineLoss::Measured> points) {
  // The cost over the exponent has few bends: the best of a grid, then between its neighbours.
  constexpr double low = 1.0, high = 4.0, grid = 0.05, golden = 0.381966011250105;
  double at = low;
  ExponentFit best;
  for (int k = 0; low + grid * k <= high + 1e-9; ++k)
    if (const ExponentFit fit = fit_exponent(points, low + grid * k); fit.cost < best.cost) {
      best = fit;
      at = low + grid * k;
    }
  double from = std::max(low, at - grid), to = std::min(high, at + grid);
  while (to - from > 1e-7) {
    const double a = from + golden * (to - from), b = to - golden * (to - from);
    const ExponentFit fit_a = fit_exponent(points, a), fit_b = fit_exponent(points, b);
    for (const ExponentFit* fit : {&fit_a, &fit_b})
      if (fit->cost < best.cost) best = *fit;
    (fit_a.cost < fit_b.cost ? to : from) = fit_a.cost < fit_b.cost ? b : a;
  }
  LossFit result{best.coefficients, 0.0};
  for (const auto& [f, B, loss] : points)
    result.worst = std::max(result.worst, std::abs(result.coefficients.at(f, B) / loss - 1.0));
  return result;
}

LossParts loss_of_period(std::span<const double> B, double period, const LossCoefficients& c) {
  LossParts loss;
  for (const double height : loop_heights(B))
    loss.hysteresis += c.hysteresis * std::pow(height / 2, c.exponent) / period;
  const auto n = static_cast<double>(B.size());
  for (std::size_t k = 0; k < B.size(); ++k) {
    const double slope = std::abs(rate(B, k, period / n));
    loss.eddy += c.eddy / (2 * pi * pi) * slope * slope / n;
    loss.excess += c.excess / excess_of_sine() * std::pow(slope, 1.5) / n;
  }
  return loss;
}

LossParts IronLoss::total() const {
  LossParts sum;
  for (const RegionLoss& r : regions) {
    sum.hysteresis += r.loss.hysteresis;
    sum.eddy += r.loss.eddy;
    sum.excess += r.loss.excess;
  }
  return sum;
}

IronLoss iron_loss(const StaticStudy& study, double speed, double q, double d, double field, int angles) {
  check_losses(study);
  const Machine& m = study.machine();
  const std::vector<IronArray> arrays = iron_arrays(m);
  std::vector<std::string> observe;
  for (const IronArray& array : arrays) {
    const auto parameter = [&](const char* key) {
      return fmt::format("machine_{}_{}", array.iron->name, key);
    };
    observe.push_back(fmt::format("{}[1].volume", array.name));
    observe.push_back(parameter("density"));
    if (array.iron->loss.measured.empty())
      for (const char* key : {"hysteresis", "exponent", "eddy", "excess"}) observe.push_back(parameter(key));
    for (int k = 1; k <= array.count; ++k) observe.push_back(fmt::format("{}[{}].B", array.name, k));
  }
  // After one electrical turn currents are what they were, and so is the stator's iron. The rotor's meets the
  // same slots again after as many turns as make whole slots.
  const int pairs = m.poles / 2, turns = pairs / std::gcd(m.slots, pairs), count = turns * angles;
  std::vector<MachinePoint> points;
  for (int k = 0; k < count; ++k) {
    const double angle = 2 * pi / pairs * k / angles;
    points.push_back({angle, study.currents(angle, q, d, 0.0, field)});
  }
  const std::vector<MachineAnswer> answers = study.at(points, false, observe);

  IronLoss result;
  result.frequency = speed * pairs / (2 * pi);
  const double period = turns / result.frequency;
  std::size_t at = 0;
  std::vector<double> B(answers.size());
  for (const IronArray& array : arrays) {
    const auto next = [&] { return answers[0].observed[at++]; };
    const double volume = next(), density = next(), mass = density * volume;
    LossCoefficients coefficients;
    if (array.iron->loss.measured.empty()) {
      for (double* to :
           {&coefficients.hysteresis, &coefficients.exponent, &coefficients.eddy, &coefficients.excess})
        *to = next();
    } else {
      auto known = std::find_if(result.fits.begin(), result.fits.end(),
                                [&](const auto& fit) { return fit.first == array.iron->name; });
      if (known == result.fits.end())
        known = result.fits.emplace(known, array.iron->name, fit_losses(array.iron->loss.measured));
      coefficients = known->second.coefficients;
    }
    if (result.regions.empty() || result.regions.back().region != array.region)
      result.regions.push_back({array.region, 0.0, 0.0, {}});
    RegionLoss& region = result.regions.back();
    for (int piece = 0; piece < array.count; ++piece, ++at) {
      for (std::size_t k = 0; k < B.size(); ++k) B[k] = answers[k].observed[at];
      const LossParts loss = loss_of_period(B, period, coefficients);
      const auto [low, high] = std::minmax_element(B.begin(), B.end());
      region.mass += mass;
      region.swing = std::max(region.swing, (*high - *low) / 2);
      region.loss.hysteresis += mass * loss.hysteresis;
      region.loss.eddy += mass * loss.eddy;
      region.loss.excess += mass * loss.excess;
    }
  }
  return result;
}

}  // namespace tellegen
