#include <algorithm>
#include <array>
#include <cmath>

#include "tests/differential/oracle.h"

namespace differential {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

const std::array<double, 3> nodes{(4 - std::sqrt(6.0)) / 10, (4 + std::sqrt(6.0)) / 10, 1.0};
const Eigen::Matrix3d& radau() {
  static const Eigen::Matrix3d a = [] {
    const double s = std::sqrt(6.0);
    Eigen::Matrix3d m;
    m << (88 - 7 * s) / 360, (296 - 169 * s) / 1800, (-2 + 3 * s) / 225,  //
        (296 + 169 * s) / 1800, (88 + 7 * s) / 360, (-2 - 3 * s) / 225,   //
        (16 - s) / 36, (16 + s) / 36, 1.0 / 9;
    return m;
  }();
  return a;
}

void limit(VectorXd& change, double most) {
  const double largest = change.cwiseAbs().maxCoeff();
  if (largest > most) change *= most / largest;
}

}  // namespace

Reference::Reference(const Tableau& tableau, double step) : tableau_(tableau), step_(step) {
  x = VectorXd::Zero(tableau.size());
  std::vector<TreePtr> updates;
  for (const auto& d : tableau.discrete) {
    discrete.push_back(d.start);
    updates.push_back(d.update);
  }
  const int n = tableau.size(), m = static_cast<int>(discrete.size());
  residuals_ = Flat(tableau.residuals, n, m);
  updates_ = Flat(updates, n, m);
}

Reference::Signature Reference::signature(const VectorXd& at, double time) {
  Signature seen;
  for (Flat* flat : {&residuals_, &updates_, &integrands_}) {
    flat->set(at.data(), nullptr, discrete.data(), time);
    flat->pieces.clear();
    for (std::size_t k = 0; k < flat->size(); ++k)
      if (flat != &updates_ || tableau_.discrete[k].every == 0.0) flat->value(k);
    seen.insert(seen.end(), flat->pieces.begin(), flat->pieces.end());
    flat->pieces.clear();
  }
  return seen;
}

bool Reference::step(double h, VectorXd& next, std::vector<double>* sums) {
  const int n = tableau_.size();
  static const Eigen::Matrix3d inverse = radau().inverse();
  stages_.resize(3 * n);
  staged_ = 0.0;
  for (int i = 0; i < 3; ++i) stages_.segment(i * n, n) = x;
  VectorXd rates(n);
  const auto set_stage = [&](int i) {
    rates.setZero();
    for (int j = 0; j < 3; ++j) rates += inverse(i, j) / h * (stages_.segment(j * n, n) - x);
    residuals_.set(stages_.data() + i * n, rates.data(), discrete.data(),
                   t + nodes[static_cast<std::size_t>(i)] * h);
    residuals_.pieces.clear();
  };
  std::vector<std::pair<int, double>> slopes;
  const auto factorise = [&] {
    MatrixXd jacobian = MatrixXd::Zero(3 * n, 3 * n);
    for (int i = 0; i < 3; ++i) {
      set_stage(i);
      for (int r = 0; r < n; ++r) {
        residuals_.value(static_cast<std::size_t>(r), slopes);
        for (const auto& [c, slope] : slopes) {
          if (c < n)
            jacobian(i * n + r, i * n + c) += slope;
          else
            for (int j = 0; j < 3; ++j) jacobian(i * n + r, j * n + c - n) += slope * inverse(i, j) / h;
        }
      }
    }
    factored_step_ = 0.0;
    if (!jacobian.allFinite()) return false;
    factors_.compute(jacobian);
    factored_step_ = h;
    return true;
  };
  // The factors of an earlier step of about this length serve as long as the iteration converges quickly.
  VectorXd residual(3 * n), change;
  double before = 0.0;
  bool done = false;
  for (int iteration = 0; iteration < 15 && !done; ++iteration) {
    if ((std::abs(factored_step_ - h) > 0.02 * h || iteration >= 4) && !factorise()) return false;
    for (int i = 0; i < 3; ++i) {
      set_stage(i);
      for (int r = 0; r < n; ++r) residual[i * n + r] = residuals_.value(static_cast<std::size_t>(r));
    }
    if (!residual.allFinite()) return false;
    change = factors_.solve(residual);
    if (!change.allFinite()) return false;
    limit(change, 5.0 * (1.0 + stages_.cwiseAbs().maxCoeff()));
    stages_ -= change;
    const double now = (change.array().abs() / (1.0 + stages_.array().abs())).maxCoeff();
    done = now < 1e-11 || (iteration > 0 && now < 1e-8 && now * now < 1e-12 * before);
    before = now;
  }
  if (!done) return false;
  staged_ = h;
  next = stages_.tail(n);
  if (sums) {
    sums->assign(integrands.size(), 0.0);
    for (int i = 0; i < 3; ++i) {
      integrands_.set(stages_.data() + i * n, nullptr, discrete.data(),
                      t + nodes[static_cast<std::size_t>(i)] * h);
      for (std::size_t k = 0; k < integrands.size(); ++k)
        (*sums)[k] += h * radau()(2, i) * integrands_.value(k);
    }
  }
  return true;
}

// When the polynomial through the stages of the last step takes another way than `before`; 0 without such a
// step. A guess: whoever asks makes steps to either side of it.
double Reference::guess(const Signature& before) {
  if (staged_ == 0.0) return 0.0;
  const int n = tableau_.size();
  const auto at = [&](double theta) {
    VectorXd sum = VectorXd::Zero(n);
    const double points[4] = {0.0, nodes[0], nodes[1], nodes[2]};
    for (int i = 0; i < 4; ++i) {
      double weight = 1.0;
      for (int j = 0; j < 4; ++j)
        if (j != i) weight *= (theta - points[j]) / (points[i] - points[j]);
      if (i == 0)
        sum += weight * x;
      else
        sum += weight * stages_.segment((i - 1) * n, n);
    }
    return sum;
  };
  double low = 0.0, high = 1.0;
  while (high - low > 1e-13) {
    const double middle = 0.5 * (low + high);
    (signature(at(middle), t + middle * staged_) == before ? low : high) = middle;
  }
  return high * staged_;
}

// Rows whose products with x are differentiated.
MatrixXd Reference::rate_rows() {
  const int n = tableau_.size();
  MatrixXd rows = MatrixXd::Zero(n, n);
  residuals_.set(x.data(), nullptr, discrete.data(), t);
  std::vector<std::pair<int, double>> slopes;
  for (int r = 0; r < n; ++r) {
    residuals_.value(static_cast<std::size_t>(r), slopes);
    for (const auto& [c, slope] : slopes)
      if (c >= n) rows(r, c - n) += slope;
  }
  Eigen::ColPivHouseholderQR<MatrixXd> qr(rows.transpose());
  qr.setThreshold(1e-12);
  return MatrixXd(qr.householderQ()).leftCols(qr.rank()).transpose();
}

// All equations hold, and rows*x = held; what is left free are the rates.
void Reference::settle(const MatrixXd& rows, const VectorXd& held) {
  const int n = tableau_.size();
  const MatrixXd basis = rate_rows();  // rates = basis' * s
  const int r = static_cast<int>(basis.rows()), m = static_cast<int>(rows.rows());
  VectorXd s = VectorXd::Zero(r);
  bool done = false;
  for (int iteration = 0; iteration < 200 && !done; ++iteration) {
    MatrixXd jacobian = MatrixXd::Zero(n + m, n + r);
    VectorXd residual(n + m);
    const VectorXd rates = basis.transpose() * s;
    residuals_.set(x.data(), rates.data(), discrete.data(), t);
    std::vector<std::pair<int, double>> slopes;
    for (int k = 0; k < n; ++k) {
      residual[k] = residuals_.value(static_cast<std::size_t>(k), slopes);
      for (const auto& [c, slope] : slopes) {
        if (c < n)
          jacobian(k, c) += slope;
        else
          jacobian.row(k).tail(r) += slope * basis.col(c - n).transpose();
      }
    }
    jacobian.bottomLeftCorner(m, n) = rows;
    residual.tail(m) = rows * x - held;
    if (!residual.allFinite() || !jacobian.allFinite()) throw OracleError("the start is not finite");
    // A junction far beyond its voltage must not make all other rows look like nothing.
    for (int k = 0; k < n + m; ++k) {
      const double size = std::max(1.0, jacobian.row(k).cwiseAbs().maxCoeff());
      jacobian.row(k) /= size;
      residual[k] /= size;
    }
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> solver(jacobian);
    solver.setThreshold(1e-13);
    if (solver.rank() < n + r) throw OracleError("equations at one time leave something open");
    VectorXd change = solver.solve(residual);
    const double residual_left = (residual - jacobian * change).cwiseAbs().maxCoeff();
    done = (change.head(n).array().abs() / (1.0 + x.array().abs())).maxCoeff() < 1e-11;
    if (done && residual_left > 1e-7 * (1.0 + residual.cwiseAbs().maxCoeff() + x.cwiseAbs().maxCoeff()))
      throw OracleError("storage must jump");
    limit(change, 3.0 * (1.0 + x.cwiseAbs().maxCoeff()));
    x -= change.head(n);
    s -= change.tail(r);
  }
  if (!done) throw OracleError("the equations at one time were not solved");
}

void Reference::settle_held() {
  const MatrixXd rows = rate_rows();
  settle(rows, rows * x);
}

double Reference::sample_time(std::size_t k) const {
  const double time = static_cast<double>(samples_[k]) * tableau_.discrete[k].every;
  return grid > 0.0 ? grid * std::ceil(time / grid - 1e-6) : time;
}

bool Reference::due(std::size_t k) const {
  return tableau_.discrete[k].every > 0.0 && t >= sample_time(k) - (1e-11 + 10 * lag) * std::max(1.0, t);
}

// Those that are sampled now, from what was before; then the others until nothing changes.
void Reference::update(bool sampled) {
  for (int round = 0; round < 60; ++round) {
    std::vector<double> next = discrete;
    updates_.set(x.data(), nullptr, discrete.data(), round == 0 && sampled ? t + lag : t);
    for (std::size_t k = 0; k < discrete.size(); ++k) {
      const auto& d = tableau_.discrete[k];
      if (round == 0 && sampled ? due(k) : d.every == 0.0) next[k] = updates_.value(k);
    }
    if (round == 0 && sampled)
      for (std::size_t k = 0; k < discrete.size(); ++k)
        if (due(k)) ++samples_[k];
    if (next == discrete && (round > 0 || !sampled)) return;
    if (next != discrete) {
      discrete = next;
      factored_step_ = 0.0;
      settle_held();
    }
  }
  throw OracleError("discrete variables do not settle");
}

void Reference::start() {
  const int n = tableau_.size();
  integrands_ = Flat(integrands, n, static_cast<int>(discrete.size()));
  std::vector<VectorXd> forms;
  std::vector<double> values;
  for (const auto& given : tableau_.initial) {
    VectorXd form(n);
    for (int c = 0; c < n; ++c) form[c] = value_at(*given.variable, VectorXd::Unit(n, c), discrete, 0.0);
    forms.push_back(form);
    values.push_back(given.value);
  }
  MatrixXd rows(static_cast<int>(forms.size()), n);
  VectorXd held(static_cast<int>(forms.size()));
  for (std::size_t k = 0; k < forms.size(); ++k) {
    rows.row(static_cast<int>(k)) = forms[k].transpose();
    held[static_cast<int>(k)] = values[k];
  }
  settle(rows, held);
  samples_.assign(discrete.size(), 0);
  update(false);  // the first samples are taken of what has settled
  update(true);
  integrals.assign(integrands.size(), 0.0);
}

void Reference::advance(double to) {
  int budget = 600;
  double most = step_;  // shorter for a while where Newton's iteration fails
  while (t < to - 1e-12 * std::max(1.0, to)) {
    if (--budget == 0) throw OracleError("too many events or steps");
    double end = std::min(t + most, to);
    for (std::size_t k = 0; k < discrete.size(); ++k)
      if (tableau_.discrete[k].every > 0.0) end = std::min(end, sample_time(k));
    const Signature before = signature(x, t);
    const double h = end - t;
    VectorXd next;
    std::vector<double> sums;
    const auto clean = [&](double length) {
      return step(length, next, &sums) && signature(next, t + length) == before;
    };
    const auto accept = [&](double length) {
      x = next;
      t += length;
      for (std::size_t k = 0; k < sums.size(); ++k) integrals[k] += sums[k];
    };
    if (clean(h)) {
      accept(h);
      t = end;
      most = std::min(step_, 4 * most);
    } else if (staged_ == 0.0 && h > 1e-6) {
      most = h / 4;
      continue;
    } else {
      // Bisection, with steps to just before and just behind the guess where there is one.
      double low = 0.0, high = h, margin = 1e-3, guessed = guess(before);
      const auto try_step = [&](double length) {
        if (length <= low || length >= high) return;
        if (clean(length)) {
          low = length;
        } else {
          high = length;
          guessed = guess(before);
        }
      };
      while (high - low > 1e-11 * std::max(1.0, t)) {
        const double width = high - low, near = guessed;
        try_step(near - margin * width);
        try_step(near + margin * width);
        if (high - low <= 0.3 * width) continue;
        try_step(0.5 * (low + high));
        margin = std::min(0.3, 10 * margin);
      }
      const double beyond = t + high;
      // Found with other factors, the same step may end a rounding error behind the event.
      for (double back = 0.0; low - back > 0.0; back = std::max(1e-11, 4 * back)) {
        if (back > 1e-7) throw OracleError("the step before an event failed");
        if (!clean(low - back)) continue;
        accept(low - back);
        break;
      }
      // A step so short that it may be wrong takes everything to the other side.
      bool across = false;
      for (double tiny = beyond - t; tiny < 1e-7 && !across; tiny *= 3) {
        if (!step(tiny, next, &sums) || signature(next, t + tiny) == before) continue;
        accept(tiny);
        across = true;
      }
      if (!across) t = beyond;
      events.push_back(t);
      if (events.size() > 100) throw OracleError("too many events");
      settle_held();
    }
    const std::vector<double> old = discrete;
    update(true);
    if (old != discrete) events.push_back(t);
  }
}

}  // namespace differential
