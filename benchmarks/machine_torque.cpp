#include "benchmarks/machine_torque.h"

#include <cmath>
#include <complex>
#include <numbers>

namespace tellegen {

std::vector<double> interpolated_torque(const InductanceTable& table, const std::vector<double>& theta,
                                        const std::vector<std::array<double, 4>>& currents,
                                        double pole_pairs) {
  const std::size_t n = table.size();
  std::vector<std::complex<double>> turns(n);
  for (std::size_t k = 0; k < n; ++k)
    turns[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  std::vector<std::array<std::complex<double>, 16>> waves(n / 2);
  for (std::size_t h = 1; h < waves.size(); ++h)
    for (std::size_t k = 0; k < n; ++k) {
      const std::complex<double> turn = 2.0 / static_cast<double>(n) * turns[h * (k + 1) % n];
      for (std::size_t e = 0; e < 16; ++e) waves[h][e] += table[k][e] * turn;
    }
  std::vector<double> torque;
  for (std::size_t r = 0; r < theta.size(); ++r) {
    double sum = 0.0;
    for (std::size_t h = 1; h < waves.size(); ++h) {
      const auto turn = std::polar(static_cast<double>(h), theta[r] * static_cast<double>(h));
      std::complex<double> wave = 0.0;
      for (std::size_t e = 0; e < 16; ++e) wave += currents[r][e / 4] * currents[r][e % 4] * waves[h][e];
      sum += (turn * wave * std::complex<double>(0, 1)).real();
    }
    torque.push_back(0.5 * pole_pairs * sum);
  }
  return torque;
}

std::array<double, 3> phases_of(double q, double d, double zero, double theta) {
  std::array<double, 3> phases{};
  for (std::size_t p = 0; p < 3; ++p) {
    const double th = theta - 2 * std::numbers::pi / 3 * static_cast<double>(p);
    phases[p] = q * std::cos(th) + d * std::sin(th) + zero;
  }
  return phases;
}

double torque_of_power(const std::array<PowerSample, 3>& samples, const std::array<double, 3>& energy,
                       const std::array<double, 3>& linkage, double resistance, double apart, double w_m) {
  double work = 0.0;
  const double simpson[3] = {1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0};
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t p = 0; p < 3; ++p) {
      const double i = samples[k].current[p];
      work += simpson[k] * apart * (samples[k].v[p] * i - resistance * i * i);
    }
  work += samples[1].current[3] * (linkage[2] - linkage[0]);  // of a constant current
  return (work - (energy[2] - energy[0])) / (w_m * apart);
}

}  // namespace tellegen
