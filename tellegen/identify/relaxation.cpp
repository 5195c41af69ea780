#include "tellegen/identify/relaxation.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "tellegen/conic/lifting.h"
#include "tellegen/identify/per_unit.h"

namespace tellegen {
namespace {

enum Parameter { L_s, L_m, r_s, r_r, Q_w, B, parameter_count };

// What stands for the quantities of one sample.
struct Sample {
  std::array<Affine, 4> flux, flux_square, h, z;
  std::array<Lifted, 4> current;
  Lifted speed;
  std::array<double, 4> current_centre{};
  double speed_centre = 0.0;
  std::array<Affine, 2> y;
  Affine theta;
  // From the difference equations to the next sample, or unknowns.
  std::array<Affine, 2> f;
  std::array<Affine, 4> g;
  Affine phi, torque;
};

double lifted_product(const Affine& c3, const Affine& c4, const Affine& c5, const std::vector<double>& x) {
  return std::abs(c3.at(x) - c4.at(x) * c5.at(x));
}

std::vector<double> filled(const std::vector<double>& readings) {
  std::vector<double> result = readings;
  std::size_t last = readings.size();
  for (std::size_t n = 0; n < readings.size(); ++n) {
    if (std::isnan(readings[n])) continue;
    const std::size_t from = last == readings.size() ? 0 : last;
    for (std::size_t k = from; k < n; ++k)
      if (std::isnan(readings[k]))
        result[k] = last == readings.size()
                        ? readings[n]
                        : readings[last] + (readings[n] - readings[last]) * static_cast<double>(k - last) /
                                               static_cast<double>(n - last);
    last = n;
  }
  for (std::size_t k = 0; k < readings.size(); ++k)
    if (std::isnan(result[k])) result[k] = last == readings.size() ? 0.0 : readings[last];
  return result;
}

class Formulation {
 public:
  Formulation(const StartUp& data, const RelaxationOptions& options)
      : data_(data), options_(options), unit_(data), samples_(data.samples()) {
    set_sizes();
    for (int k = 0; k < parameter_count; ++k)
      parameters_[k] = {unknown(size_[k]), unknown(size_[k] * size_[k])};
    for (std::size_t n = 0; n < samples_.size(); ++n) declare(n);
    for (std::size_t n = 0; n < samples_.size(); ++n) difference(n);
    for (std::size_t n = 0; n < samples_.size(); ++n) constrain(n);
    for (const Lifted& parameter : parameters_)
      if (!options_.eliminated) programme_.square(parameter.square, parameter.value);
    if (options_.limits) limit();
  }

  Relaxation solved() {
    Relaxation result;
    result.scale = scale_;
    const double constant = programme_.constant() / scale_;
    ConicProblem problem = programme_.build();
    for (double& c : problem.c) c /= scale_;
    result.variables = problem.variables;
    result.equalities = static_cast<std::int32_t>(problem.b.size());
    result.cones = problem.semidefinite.size();
    const ConicSolution found = solve(problem, options_.conic);
    result.status = found.status;
    result.iterations = found.iterations;
    result.factor_nonzeros = found.factor_nonzeros;
    result.primal_residual = found.primal_residual;
    result.dual_residual = found.dual_residual;
    result.objective = (found.objective + constant) * scale_;
    result.gap = (found.objective - found.dual_objective) * scale_;
    for (std::size_t n = 0; n < samples_.size(); ++n) result.fit += fit(n).at(found.x);
    read(found.x, result);
    if (options_.limits && options_.penalty == 0.0) result.lower_bound = bound(problem, found, constant);
    return result;
  }

 private:
  bool last_of_window(std::size_t n) const {
    return n + 1 == samples_.size() ||
           std::find(data_.windows.begin(), data_.windows.end(), n + 1) != data_.windows.end();
  }

  void declare(std::size_t n) {
    Sample& s = samples_[n];
    if (options_.eliminated) {
      for (int k = 0; k < 4; ++k)
        s.current_centre[k] = (k < 2 ? filled_[k][n] : guess_[n][k - 2]) / unit_.current;
      s.speed_centre = filled_[2][n] / unit_.frequency;
    }
    // The variables are differences from the centres: x = centre + d, square = d2 + 2 centre d + centre^2.
    const auto lifted = [&](double centre, double size) {
      const double most = size + std::abs(centre);
      const Affine d = unknown(most), d2 = unknown(most * most);
      return Lifted{d + Affine(centre), d2 + 2.0 * centre * d + Affine(centre * centre)};
    };
    for (int k = 0; k < 4; ++k) s.current[k] = lifted(s.current_centre[k], current_size_);
    s.speed = lifted(s.speed_centre, speed_size_);
    const auto current_most = [&](int k) { return current_size_ + std::abs(s.current_centre[k]); };
    const double speed_most = speed_size_ + std::abs(s.speed_centre);
    for (int k = 0; k < 4; ++k) {
      const int across = (k + 2) % 4;
      s.h[k] = unknown(size_[L_s] * current_most(k)) + s.current_centre[k] * parameters_[L_s].value;
      s.z[k] = unknown(size_[L_m] * current_most(across)) + s.current_centre[across] * parameters_[L_m].value;
      s.flux_square[k] = unknown(flux_size_ * flux_size_);
      s.flux[k] = options_.eliminated ? s.z[k] + s.h[k] : unknown(flux_size_);
      if (!options_.eliminated) programme_.equal_zero(s.flux[k] - s.z[k] - s.h[k]);  // (3.11d)
    }
    for (int k = 0; k < 2; ++k)
      s.y[k] = unknown(flux_size_ * current_most(1 - k)) + s.current_centre[1 - k] * s.flux[k];
    s.theta = unknown(size_[Q_w] * speed_most) + s.speed_centre * parameters_[Q_w].value;
    s.torque = s.y[1] - s.y[0];
    if (!options_.eliminated) {
      const double most = 2.0 * flux_size_ * current_size_;
      const Affine torque = unknown(most);
      programme_.equal_zero(torque - s.torque);         // (3.11e)
      programme_.square(unknown(most * most), torque);  // (3.13n)
      s.torque = torque;
    }
    for (int k = options_.eliminated ? 2 : 0; k < 4; ++k) {
      const Parameter r = k < 2 ? r_s : r_r;
      s.g[k] = unknown(size_[r] * current_most(k)) + s.current_centre[k] * parameters_[r].value;
    }
    if (!options_.eliminated) {
      for (Affine& f : s.f) f = unknown(speed_size_ * flux_size_);
      s.phi = unknown(size_[B] * speed_size_);
    }
  }

  // (3.11b), (3.11c): equalities, or what they give for r_s i_s, w_r lambda_r and B w_r.
  void difference(std::size_t n) {
    if (last_of_window(n)) return;
    Sample &s = samples_[n], &next = samples_[n + 1];
    const double a = data_.frequency * data_.step;
    const double voltage[4] = {data_.v_qs[n] / unit_.voltage, data_.v_ds[n] / unit_.voltage, 0.0, 0.0};
    for (int k = 0; k < 4; ++k) {
      // rate = rotation + f - g + v; the frame turns at the supply's frequency, which is one
      const Affine turned = (k % 2 == 0 ? -1.0 : 1.0) * s.flux[k % 2 == 0 ? k + 1 : k - 1];
      const Affine rate = (1.0 / a) * (next.flux[k] - s.flux[k]);
      if (!options_.eliminated) {
        Affine sum = turned - s.g[k] + Affine(voltage[k]) - rate;
        if (k >= 2) sum.add(1.0, s.f[k - 2]);
        programme_.equal_zero(a * sum);
      } else if (k < 2) {
        s.g[k] = turned + Affine(voltage[k]) - rate;
      } else {
        s.f[k - 2] = rate - turned + s.g[k];
      }
    }
    const Affine rate = (1.0 / a) * (next.theta - s.theta);
    if (options_.eliminated)
      s.phi = s.torque - rate;
    else
      programme_.equal_zero(a * (s.torque - s.phi - rate));
  }

  void constrain(std::size_t n) {
    const Sample& s = samples_[n];
    for_products(n, [&](const Affine& c1, const Affine& c2, const Affine& c3, const Affine& c4,
                        const Affine& c5, double centre) { programme_.product(c1, c2, c3, c4, c5, centre); });
    if (!options_.eliminated) {  // (3.13k) to (3.13m), which the cones imply
      for (int k = 0; k < 4; ++k) {
        programme_.square(s.flux_square[k], s.flux[k]);
        programme_.square(s.current[k].square, s.current[k].value);
      }
      programme_.square(s.speed.square, s.speed.value);
    }
    programme_.minimise(1.0, fit(n));
    const double i2 = unit_.current * unit_.current;
    for (int k = 0; k < 2 && options_.penalty > 0.0; ++k) {
      const double guess = guess_[n][k] / unit_.current;
      programme_.minimise(options_.penalty * i2, lifted_mismatch(s.current[k + 2], guess));
      scale_ += options_.penalty * i2 * guess * guess;
    }
    for (const auto* readings : {&data_.i_qs, &data_.i_ds})
      if (!std::isnan((*readings)[n])) scale_ += options_.current_weight * (*readings)[n] * (*readings)[n];
    if (!std::isnan(data_.w_r[n])) scale_ += options_.speed_weight * data_.w_r[n] * data_.w_r[n];
  }

  Affine fit(std::size_t n) const {
    const Sample& s = samples_[n];
    Affine sum;
    const double i2 = unit_.current * unit_.current, w2 = unit_.frequency * unit_.frequency;
    if (!std::isnan(data_.i_qs[n]))
      sum.add(options_.current_weight * i2, lifted_mismatch(s.current[0], data_.i_qs[n] / unit_.current));
    if (!std::isnan(data_.i_ds[n]))
      sum.add(options_.current_weight * i2, lifted_mismatch(s.current[1], data_.i_ds[n] / unit_.current));
    if (!std::isnan(data_.w_r[n]))
      sum.add(options_.speed_weight * w2, lifted_mismatch(s.speed, data_.w_r[n] / unit_.frequency));
    return sum;
  }

  // The cones of a sample. Those of the last one's rates bind nothing, where rates are no unknowns.
  template <typename Visit>
  void for_products(std::size_t n, Visit visit) const {
    const Sample& s = samples_[n];
    const bool rates = !options_.eliminated || !last_of_window(n);
    if (rates) {
      // (3.13c): f_3 = w_r lambda_dr, f_4 = -w_r lambda_qr, with -w_r as the factor
      visit(s.flux_square[3], s.speed.square, s.f[0], s.flux[3], s.speed.value, s.speed_centre);
      visit(s.flux_square[2], s.speed.square, -1.0 * s.f[1], s.flux[2], s.speed.value, s.speed_centre);
    }
    for (int k = 0; k < 4; ++k) {
      const Lifted &i = s.current[k], &across = s.current[(k + 2) % 4];
      const Lifted& r = parameters_[k < 2 ? r_s : r_r];
      if (rates || k >= 2)
        visit(r.square, i.square, s.g[k], r.value, i.value, s.current_centre[k]);  // (3.13d)
      visit(parameters_[L_s].square, i.square, s.h[k], parameters_[L_s].value, i.value,
            s.current_centre[k]);  // (3.13e)
      visit(parameters_[L_m].square, across.square, s.z[k], parameters_[L_m].value, across.value,
            s.current_centre[(k + 2) % 4]);  // (3.13f)
    }
    for (int k = 0; k < 2; ++k)  // (3.13g)
      visit(s.flux_square[k], s.current[1 - k].square, s.y[k], s.flux[k], s.current[1 - k].value,
            s.current_centre[1 - k]);
    visit(parameters_[Q_w].square, s.speed.square, s.theta, parameters_[Q_w].value, s.speed.value,
          s.speed_centre);  // (3.13h)
    if (rates)
      visit(parameters_[B].square, s.speed.square, s.phi, parameters_[B].value, s.speed.value,
            s.speed_centre);
  }

  std::array<double, 6> per_unit(const InductionParameters& p) const {
    std::array<double, 6> values = p.values();
    const std::array<double, 6> bases = unit_.bases();
    for (int k = 0; k < parameter_count; ++k) values[k] /= bases[k];
    return values;
  }

  // x in [low, high]: x^2 <= (low + high) x - low high.
  void limit() {
    const auto low = per_unit(options_.limits->low), high = per_unit(options_.limits->high);
    const auto between = [&](const Lifted& x, double from, double to) {
      programme_.at_least_zero(x.value - Affine(from));
      programme_.at_least_zero(Affine(to) - x.value);
      programme_.at_least_zero((from + to) * x.value - Affine(from * to) - x.square);
    };
    for (int k = 0; k < parameter_count; ++k) between(parameters_[k], low[k], high[k]);
    for (const Sample& s : samples_) {
      for (int k = 0; k < 4; ++k) {
        programme_.at_least_zero(Affine(flux_size_ * flux_size_) - s.flux_square[k]);
        programme_.at_least_zero(Affine(current_size_ * current_size_) - s.current[k].square);
      }
      programme_.at_least_zero(Affine(speed_size_ * speed_size_) - s.speed.square);
    }
  }

  // A dual point that misses A'y + G'z + c = 0 by r proves -b'y - h'z - sum |r_k| X_k where |x_k| <= X_k,
  // which holds for what every machine in the limits lifts to.
  double bound(const ConicProblem& problem, const ConicSolution& found, double constant) const {
    std::vector<double> r = problem.c;
    double proved = constant;
    for (const SparseEntry& e : problem.A) r[e.column] += e.value * found.y[e.row];
    for (const SparseEntry& e : problem.G) r[e.column] += e.value * found.z[e.row];
    for (std::size_t k = 0; k < problem.b.size(); ++k) proved -= problem.b[k] * found.y[k];
    for (std::size_t k = 0; k < problem.h.size(); ++k) proved -= problem.h[k] * found.z[k];
    for (std::size_t k = 0; k < r.size(); ++k) proved -= std::abs(r[k]) * most_[k];
    return std::max(0.0, proved * scale_);
  }

  Affine unknown(double most) {
    most_.push_back(most);
    return programme_.unknown();
  }
  void set_sizes() {
    if (!options_.limits) return;
    const auto low = per_unit(options_.limits->low), high = per_unit(options_.limits->high);
    for (int k = 0; k < parameter_count; ++k) size_[k] = std::max(std::abs(low[k]), std::abs(high[k]));
    flux_size_ = options_.limits->flux * unit_.frequency / unit_.voltage;
    current_size_ = options_.limits->current / unit_.current;
    speed_size_ = options_.limits->speed / unit_.frequency;
  }

  void read(const std::vector<double>& x, Relaxation& result) const {
    std::array<double, 6> p{};
    const std::array<double, 6> bases = unit_.bases();
    for (int k = 0; k < parameter_count; ++k) {
      p[k] = parameters_[k].value.at(x) * bases[k];
      result.largest_square = std::max(result.largest_square, parameters_[k].square.at(x));
    }
    result.parameters = {p[L_s], p[L_m], p[r_s], p[r_r], p[Q_w], p[B]};
    for (std::size_t n = 0; n < samples_.size(); ++n) {
      InductionState state;
      for (int k = 0; k < 4; ++k) {
        state.current[k] = samples_[n].current[k].value.at(x) * unit_.current;
        result.largest_square = std::max(result.largest_square, samples_[n].flux_square[k].at(x));
      }
      state.speed = samples_[n].speed.value.at(x) * unit_.frequency;
      result.states.push_back(state);
      for_products(
          n, [&](const Affine&, const Affine&, const Affine& c3, const Affine& c4, const Affine& c5, double) {
            result.largest_slack = std::max(result.largest_slack, lifted_product(c3, c4, c5, x));
          });
    }
  }

  const StartUp& data_;
  const RelaxationOptions& options_;
  PerUnit unit_;
  std::vector<std::array<double, 2>> guess_ = guess_of_rotor_currents(data_);
  std::array<std::vector<double>, 3> filled_{filled(data_.i_qs), filled(data_.i_ds), filled(data_.w_r)};
  LiftedProgramme programme_;
  std::array<Lifted, parameter_count> parameters_;
  std::vector<Sample> samples_;
  double scale_ = 0.0;
  // Largest absolute values in the limits, per unit; of every variable.
  std::array<double, parameter_count> size_{};
  double flux_size_ = 0.0, current_size_ = 0.0, speed_size_ = 0.0;
  std::vector<double> most_;
};

}  // namespace

PerUnit::PerUnit(const StartUp& data) : frequency(data.frequency), poles(data.poles) {
  for (std::size_t n = 0; n < data.samples(); ++n) {
    voltage = std::max({voltage, std::abs(data.v_qs[n]), std::abs(data.v_ds[n])});
    for (const double i : {data.i_qs[n], data.i_ds[n]})
      if (!std::isnan(i)) current = std::max(current, std::abs(i));
  }
  if (voltage == 0.0) voltage = 1.0;
  if (current == 0.0) current = 1.0;
  torque = 0.75 * poles * voltage / frequency * current;
}

std::array<double, 6> PerUnit::bases() const {
  const double inductance = voltage / (frequency * current), resistance = voltage / current;
  return {inductance,
          inductance,
          resistance,
          resistance,
          poles * torque / (2.0 * frequency * frequency),
          torque * poles / (2.0 * frequency)};
}

std::vector<std::array<double, 2>> guess_of_rotor_currents(const StartUp& data) {
  const std::vector<double> q = filled(data.i_qs), d = filled(data.i_ds), w = filled(data.w_r);
  std::vector<std::array<double, 2>> guess(data.samples(), {0.0, 0.0});
  for (std::size_t n = 0; n < data.samples() && w[n] < 0.95 * data.frequency; ++n) guess[n] = {-q[n], -d[n]};
  return guess;
}

StartUp euler_start_up(const InductionParameters& machine, double step, std::size_t samples, double voltage,
                       double frequency, int poles) {
  StartUp data;
  data.step = step, data.frequency = frequency, data.poles = poles;
  const double determinant = machine.L_s * machine.L_s - machine.L_m * machine.L_m;
  std::array<double, 4> flux{};
  double speed = 0.0;
  for (std::size_t n = 0; n < samples; ++n) {
    std::array<double, 4> i{};
    for (int k = 0; k < 4; ++k)
      i[k] = (machine.L_s * flux[k] - machine.L_m * flux[(k + 2) % 4]) / determinant;
    data.v_qs.push_back(voltage), data.v_ds.push_back(0.0);
    data.i_qs.push_back(i[0]), data.i_ds.push_back(i[1]), data.w_r.push_back(speed);
    const double torque = 0.75 * poles * (flux[1] * i[0] - flux[0] * i[1]);
    const std::array<double, 4> rate{voltage - machine.r_s * i[0] - frequency * flux[1],
                                     -machine.r_s * i[1] + frequency * flux[0],
                                     -machine.r_r * i[2] - (frequency - speed) * flux[3],
                                     -machine.r_r * i[3] + (frequency - speed) * flux[2]};
    for (int k = 0; k < 4; ++k) flux[k] += step * rate[k];
    speed += step * poles / (2.0 * machine.J) * (torque - 2.0 * machine.B * speed / poles);
  }
  return data;
}

Relaxation relax(const StartUp& data, const RelaxationOptions& options) {
  assert(data.samples() > 0 && data.i_qs.size() == data.samples());
  return Formulation(data, options).solved();
}

}  // namespace tellegen
