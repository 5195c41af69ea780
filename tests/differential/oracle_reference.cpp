#include <algorithm>
#include <array>
#include <cmath>

#include "tests/differential/oracle.h"

namespace differential {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Columns are 0 ..., rates n ....
struct DualLeaves : Leaves<Dual> {
  const VectorXd &x, &rates;
  const std::vector<double>& d;
  double t;
  DualLeaves(const VectorXd& x_, const VectorXd& r_, const std::vector<double>& d_, double t_)
      : x(x_), rates(r_), d(d_), t(t_) {}
  Dual time() override { return Dual(t); }
  Dual column(int k) override {
    Dual v(x[k]);
    v.slopes = {{k, 1.0}};
    return v;
  }
  Dual rate(int k) override {
    Dual v(rates[k]);
    v.slopes = {{k + static_cast<int>(x.size()), 1.0}};
    return v;
  }
  Dual discrete(int k) override { return Dual(d[static_cast<std::size_t>(k)]); }
  bool positive(const Dual& v, bool or_zero) override { return or_zero ? v.value >= 0 : v.value > 0; }
};

struct ValueLeaves : Leaves<double> {
  const VectorXd &x, &rates;
  const std::vector<double>& d;
  double t;
  ValueLeaves(const VectorXd& x_, const VectorXd& r_, const std::vector<double>& d_, double t_)
      : x(x_), rates(r_), d(d_), t(t_) {}
  double time() override { return t; }
  double column(int k) override { return x[k]; }
  double rate(int k) override { return rates[k]; }
  double discrete(int k) override { return d[static_cast<std::size_t>(k)]; }
  bool positive(const double& v, bool or_zero) override { return or_zero ? v >= 0 : v > 0; }
};

// Which way every comparison goes. Rates are not known here, and nothing of ours compares them.
struct SignatureLeaves : Leaves<double> {
  const VectorXd& x;
  const std::vector<double>& d;
  double t;
  std::vector<double> seen;
  SignatureLeaves(const VectorXd& x_, const std::vector<double>& d_, double t_) : x(x_), d(d_), t(t_) {}
  double time() override { return t; }
  double column(int k) override { return x[k]; }
  double rate(int) override { return 0.0; }
  double discrete(int k) override { return d[static_cast<std::size_t>(k)]; }
  bool positive(const double& v, bool or_zero) override {
    const bool yes = or_zero ? v >= 0 : v > 0;
    seen.push_back(yes);
    return yes;
  }
  void piece(double k) override { seen.push_back(k); }
};

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
  for (const auto& d : tableau.discrete) discrete.push_back(d.start);
}

Reference::Signature Reference::signature(const VectorXd& at, double time) const {
  SignatureLeaves leaves(at, discrete, time);
  for (const TreePtr& r : tableau_.residuals) evaluate(*r, leaves);
  for (const auto& d : tableau_.discrete)
    if (d.every == 0.0) evaluate(*d.update, leaves);
  for (const TreePtr& f : integrands) evaluate(*f, leaves);
  return leaves.seen;
}

bool Reference::step(double h, VectorXd& next, std::vector<double>* sums) {
  const int n = tableau_.size();
  static const Eigen::Matrix3d inverse = radau().inverse();
  VectorXd stages(3 * n);
  for (int i = 0; i < 3; ++i) stages.segment(i * n, n) = x;
  const auto stage_rates = [&](int i) {
    VectorXd rates = VectorXd::Zero(n);
    for (int j = 0; j < 3; ++j) rates += inverse(i, j) / h * (stages.segment(j * n, n) - x);
    return rates;
  };
  const auto factorise = [&] {
    MatrixXd jacobian = MatrixXd::Zero(3 * n, 3 * n);
    for (int i = 0; i < 3; ++i) {
      const VectorXd at = stages.segment(i * n, n), rates = stage_rates(i);
      DualLeaves leaves(at, rates, discrete, t + nodes[static_cast<std::size_t>(i)] * h);
      for (int r = 0; r < n; ++r)
        for (const auto& [c, slope] :
             evaluate(*tableau_.residuals[static_cast<std::size_t>(r)], leaves).slopes) {
          if (c < n)
            jacobian(i * n + r, i * n + c) += slope;
          else
            for (int j = 0; j < 3; ++j) jacobian(i * n + r, j * n + c - n) += slope * inverse(i, j) / h;
        }
    }
    factored_step_ = 0.0;
    if (!jacobian.allFinite()) return false;
    factors_.compute(jacobian);
    factored_step_ = h;
    return true;
  };
  // The factors of an earlier step serve as long as the iteration converges quickly with them.
  VectorXd residual(3 * n);
  double before = 0.0;
  bool done = false;
  for (int iteration = 0; iteration < 40 && !done; ++iteration) {
    if ((factored_step_ != h || iteration >= 3) && !factorise()) return false;
    for (int i = 0; i < 3; ++i) {
      const VectorXd at = stages.segment(i * n, n), rates = stage_rates(i);
      ValueLeaves leaves(at, rates, discrete, t + nodes[static_cast<std::size_t>(i)] * h);
      for (int r = 0; r < n; ++r)
        residual[i * n + r] = evaluate(*tableau_.residuals[static_cast<std::size_t>(r)], leaves);
    }
    if (!residual.allFinite()) return false;
    VectorXd change = factors_.solve(residual);
    if (!change.allFinite()) return false;
    limit(change, 5.0 * (1.0 + stages.cwiseAbs().maxCoeff()));
    stages -= change;
    const double now = (change.array().abs() / (1.0 + stages.array().abs())).maxCoeff();
    done = now < 1e-11 || (iteration > 0 && now < 1e-8 && now * now < 1e-12 * before);
    before = now;
  }
  if (!done) return false;
  next = stages.tail(n);
  if (sums) {
    sums->assign(integrands.size(), 0.0);
    for (std::size_t k = 0; k < integrands.size(); ++k)
      for (int i = 0; i < 3; ++i)
        (*sums)[k] += h * radau()(2, i) *
                      value_at(*integrands[k], stages.segment(i * n, n), discrete,
                               t + nodes[static_cast<std::size_t>(i)] * h);
  }
  return true;
}

// Rows whose products with x are differentiated.
MatrixXd Reference::rate_rows() const {
  const int n = tableau_.size();
  MatrixXd rows = MatrixXd::Zero(n, n);
  const VectorXd none = VectorXd::Zero(n);
  DualLeaves leaves(x, none, discrete, t);
  for (int r = 0; r < n; ++r)
    for (const auto& [c, slope] : evaluate(*tableau_.residuals[static_cast<std::size_t>(r)], leaves).slopes)
      if (c >= n) rows(r, c - n) += slope;
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
    DualLeaves leaves(x, rates, discrete, t);
    for (int k = 0; k < n; ++k) {
      const Dual v = evaluate(*tableau_.residuals[static_cast<std::size_t>(k)], leaves);
      residual[k] = v.value;
      for (const auto& [c, slope] : v.slopes) {
        if (c < n)
          jacobian(k, c) += slope;
        else
          jacobian.row(k).tail(r) += slope * basis.col(c - n).transpose();
      }
    }
    jacobian.bottomLeftCorner(m, n) = rows;
    residual.tail(m) = rows * x - held;
    if (!residual.allFinite() || !jacobian.allFinite()) throw OracleError("the start is not finite");
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

bool Reference::due(std::size_t k) const {
  const double every = tableau_.discrete[k].every;
  return every > 0.0 && t >= static_cast<double>(samples_[k]) * every - 1e-9 * std::max(1.0, t);
}

// Those that are sampled now, from what was before; then the others until nothing changes.
void Reference::update(bool sampled) {
  for (int round = 0; round < 60; ++round) {
    std::vector<double> next = discrete;
    for (std::size_t k = 0; k < discrete.size(); ++k) {
      const auto& d = tableau_.discrete[k];
      if (round == 0 && sampled ? due(k) : d.every == 0.0) next[k] = value_at(*d.update, x, discrete, t);
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
  update(true);
  integrals.assign(integrands.size(), 0.0);
}

void Reference::advance(double to) {
  int budget = 4000;
  while (t < to - 1e-12 * std::max(1.0, to)) {
    if (--budget == 0) throw OracleError("too many events or steps");
    double end = std::min(t + step_, to);
    for (std::size_t k = 0; k < discrete.size(); ++k)
      if (const double every = tableau_.discrete[k].every; every > 0.0)
        end = std::min(end, static_cast<double>(samples_[k]) * every);
    const Signature before = signature(x, t);
    double h = end - t;
    VectorXd next;
    std::vector<double> sums;
    const auto clean = [&](double length) {
      return step(length, next, &sums) && signature(next, t + length) == before;
    };
    if (!clean(h)) {
      double low = 0.0, high = h;
      while (high - low > 1e-11 * std::max(1.0, t)) {
        const double middle = 0.5 * (low + high);
        (clean(middle) ? low : high) = middle;
      }
      const auto accept = [&](double length) {
        x = next;
        t += length;
        for (std::size_t k = 0; k < sums.size(); ++k) integrals[k] += sums[k];
      };
      const double beyond = t + high;
      if (low > 0.0) {
        if (!clean(low)) throw OracleError("the step before an event failed");
        accept(low);
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
      if (events.size() > 400) throw OracleError("too many events");
      settle_held();
    } else {
      x = next;
      t = end;
      for (std::size_t k = 0; k < sums.size(); ++k) integrals[k] += sums[k];
    }
    const std::vector<double> old = discrete;
    update(true);
    if (old != discrete) events.push_back(t);
  }
}

}  // namespace differential
