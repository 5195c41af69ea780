#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unsupported/Eigen/MatrixFunctions>

#include "tests/differential/oracle.h"

namespace differential {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct PointLeaves : Leaves<double> {
  const VectorXd& x;
  const std::vector<double>& d;
  double t;
  PointLeaves(const VectorXd& x_, const std::vector<double>& d_, double t_) : x(x_), d(d_), t(t_) {}
  double time() override { return t; }
  double column(int k) override { return x[k]; }
  double rate(int) override { throw OracleError("a rate where none can be"); }
  double discrete(int k) override { return d.at(static_cast<std::size_t>(k)); }
  bool positive(const double& v, bool or_zero) override { return or_zero ? v >= 0 : v > 0; }
};

// Every quantity as a linear form of columns (0 ...), rates (n ...), time (2n) and signals of time (2n + 1
// ...).
struct FormLeaves : Leaves<Dual> {
  int n;
  double middle = 0.0;          // of the piece of time in which comparisons are decided
  std::set<double> boundaries;  // times at which one of them changes
  struct Signal {
    bool sine;
    double rate, phase;  // sin(rate*t + phase), exp(rate*t + phase)
  };
  std::vector<Signal> signals;  // a sine has its cosine behind it
  VectorXd point;               // columns at which products are formed: two points tell whether all is linear
  explicit FormLeaves(int n_) : n(n_), point(VectorXd::Zero(2 * n_)) {}

  static Dual form(int k, double value) {
    Dual d(value);
    d.slopes = {{k, 1.0}};
    return d;
  }
  Dual time() override { return form(2 * n, 0.0); }
  Dual column(int k) override { return form(k, point[k]); }
  Dual rate(int k) override { return form(n + k, point[n + k]); }
  Dual discrete(int) override { throw OracleError("discrete variables are not linear"); }
  bool of_time_only(const Dual& v) const {
    return std::all_of(v.slopes.begin(), v.slopes.end(),
                       [&](const auto& s) { return s.first == 2 * n || s.second == 0.0; });
  }
  double time_slope(const Dual& v) const {
    double slope = 0.0;
    for (const auto& [k, s] : v.slopes)
      if (k == 2 * n) slope = s;
    return slope;
  }
  bool positive(const Dual& v, bool or_zero) override {
    if (!of_time_only(v)) throw OracleError("a comparison of variables is not linear");
    const double slope = time_slope(v);
    if (slope != 0.0) boundaries.insert(-v.value / slope);
    const double now = v.value + slope * middle;
    return or_zero ? now >= 0 : now > 0;
  }
  bool special(const std::string& f, const std::vector<Dual>& a, Dual& result) override {
    if (a.size() == 1 && (f == "sin" || f == "cos" || f == "exp") && !a[0].slopes.empty()) {
      if (!of_time_only(a[0])) throw OracleError("a function of variables is not linear");
      const Signal wanted{f != "exp", time_slope(a[0]), a[0].value};
      int at = 2 * n + 1;
      for (const Signal& s : signals) {
        if (s.sine == wanted.sine && s.rate == wanted.rate && s.phase == wanted.phase) {
          result = form(f == "cos" ? at + 1 : at, 0.0);
          return true;
        }
        at += s.sine ? 2 : 1;
      }
      signals.push_back(wanted);
      result = form(f == "cos" ? at + 1 : at, 0.0);
      return true;
    }
    static const std::set<std::string> linear{"+", "-", "neg", "*", "/", "gt", "ge", "lt", "le"};
    if (linear.contains(f)) {
      const auto varies = [](const Dual& v) {
        return std::any_of(v.slopes.begin(), v.slopes.end(), [](const auto& s) { return s.second != 0.0; });
      };
      if ((f == "*" && varies(a[0]) && varies(a[1])) || (f == "/" && varies(a[1])))
        throw OracleError("a product of variables is not linear");
      return false;
    }
    for (const Dual& v : a)
      for (const auto& s : v.slopes)
        if (s.second != 0.0) throw OracleError("'" + f + "' is not linear");
    return false;
  }
};

MatrixXd range_of(const MatrixXd& m) {
  Eigen::ColPivHouseholderQR<MatrixXd> qr(m);
  qr.setThreshold(1e-10);
  return MatrixXd(qr.householderQ()).leftCols(qr.rank());
}

// The range of all powers of m.
MatrixXd lasting_range(const MatrixXd& m) {
  MatrixXd basis = range_of(m);
  for (;;) {
    MatrixXd next = range_of(m * basis);
    if (next.cols() == basis.cols()) return next;
    basis = std::move(next);
  }
}

void solve_segment(LinearOracle::Segment& s) {
  // Rows and columns of like size, so that ranks are clear: pressures are large and flows small.
  const double shift = 1.3719;
  MatrixXd E = s.E, A = s.A;
  VectorXd scale = VectorXd::Ones(A.cols());
  for (int sweep = 0; sweep < 6; ++sweep) {
    for (int r = 0; r < A.rows(); ++r) {
      const double largest = std::max(E.row(r).cwiseAbs().maxCoeff(), A.row(r).cwiseAbs().maxCoeff());
      E.row(r) /= largest;
      A.row(r) /= largest;
    }
    for (int c = 0; c < A.cols(); ++c) {
      const double largest = std::max(E.col(c).cwiseAbs().maxCoeff(), A.col(c).cwiseAbs().maxCoeff());
      if (largest == 0.0) throw OracleError("the pencil is singular");
      E.col(c) /= largest;
      A.col(c) /= largest;
      scale[c] /= largest;
    }
  }
  Eigen::FullPivLU<MatrixXd> lu(shift * E + A);
  if (lu.rcond() < 1e-12) throw OracleError("the pencil is singular");
  const MatrixXd M = lu.solve(E);
  s.V = lasting_range(M);
  const MatrixXd W = lasting_range(M.transpose());
  if (W.cols() != s.V.cols()) throw OracleError("ranks are not clear");
  const MatrixXd WV = W.transpose() * s.V;
  Eigen::FullPivLU<MatrixXd> oblique(WV);
  if (s.V.cols() > 0 && oblique.rcond() < 1e-10) throw OracleError("ranges are not clear");
  s.P = s.V * oblique.solve(W.transpose());
  s.J = (M * s.V).colPivHouseholderQr().solve(shift * M * s.V - s.V);
  s.V = scale.asDiagonal() * s.V;
  s.P = scale.asDiagonal() * s.P * scale.cwiseInverse().asDiagonal();
}

}  // namespace

double value_at(const Tree& tree, const VectorXd& x, const std::vector<double>& discrete, double t) {
  PointLeaves leaves(x, discrete, t);
  return evaluate(tree, leaves);
}

LinearOracle::LinearOracle(const Tableau& tableau, double stop)
    : columns_(tableau.size()), tableau_(tableau) {
  if (!tableau.discrete.empty()) throw OracleError("discrete variables are not linear");
  const int n = columns_;
  std::set<double> bounds;
  const auto forms = [&](double middle, FormLeaves& leaves) {
    leaves.middle = middle;
    std::vector<Dual> rows;
    for (const TreePtr& r : tableau.residuals) rows.push_back(evaluate(*r, leaves));
    for (double b : leaves.boundaries)
      if (b > 1e-12 && b < stop) bounds.insert(b);
    return rows;
  };
  for (std::size_t known = 1; known != bounds.size();) {
    known = bounds.size();
    std::vector<double> marks{0.0};
    marks.insert(marks.end(), bounds.begin(), bounds.end());
    marks.push_back(stop);
    for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
      FormLeaves leaves(n);
      forms(0.5 * (marks[k] + marks[k + 1]), leaves);
    }
  }
  jumps_.assign(bounds.begin(), bounds.end());
  std::vector<double> marks{0.0};
  marks.insert(marks.end(), jumps_.begin(), jumps_.end());
  marks.push_back(stop);
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
    Segment s;
    s.from = marks[k];
    s.to = marks[k + 1];
    FormLeaves leaves(n);
    const std::vector<Dual> rows = forms(0.5 * (s.from + s.to), leaves);
    int extra = 2;
    for (const auto& signal : leaves.signals) extra += signal.sine ? 2 : 1;
    const int size = n + extra;
    s.E = MatrixXd::Zero(size, size);
    s.A = MatrixXd::Zero(size, size);
    for (int r = 0; r < n; ++r) {
      const Dual& row = rows[static_cast<std::size_t>(r)];
      s.A(r, n) = row.value;  // times 1
      for (const auto& [c, v] : row.slopes) {
        if (c < n)
          s.A(r, c) += v;
        else if (c < 2 * n)
          s.E(r, c - n) += v;
        else if (c == 2 * n)
          s.A(r, n + 1) += v;
        else
          s.A(r, n + 2 + (c - 2 * n - 1)) += v;
      }
      const double largest = std::max(s.A.row(r).cwiseAbs().maxCoeff(), s.E.row(r).cwiseAbs().maxCoeff());
      if (largest == 0.0) throw OracleError("an empty equation");
      s.A.row(r) /= largest;
      s.E.row(r) /= largest;
    }
    s.exogenous.resize(extra);
    s.exogenous[0] = 1.0;
    s.exogenous[1] = s.from;
    s.E(n, n) = 1.0;  // 1' = 0
    s.E(n + 1, n + 1) = 1.0;
    s.A(n + 1, n) = -1.0;  // t' = 1
    int at = n + 2;
    for (const auto& signal : leaves.signals) {
      const double phase = signal.rate * s.from + signal.phase;
      if (signal.sine) {
        s.E(at, at) = s.E(at + 1, at + 1) = 1.0;
        s.A(at, at + 1) = -signal.rate;
        s.A(at + 1, at) = signal.rate;
        s.exogenous[at - n] = std::sin(phase);
        s.exogenous[at - n + 1] = std::cos(phase);
        at += 2;
      } else {
        s.E(at, at) = 1.0;
        s.A(at, at) = -signal.rate;
        s.exogenous[at - n] = std::exp(phase);
        ++at;
      }
    }
    solve_segment(s);
    segments_.push_back(std::move(s));
  }
}

LinearOracle::~LinearOracle() = default;
const std::vector<double>& LinearOracle::jumps() const { return jumps_; }
const LinearOracle::Segment& LinearOracle::segment(std::size_t k) const { return segments_[k]; }
int LinearOracle::states() const {
  return static_cast<int>(segments_[0].V.cols() - segments_[0].exogenous.size());
}
double LinearOracle::fastest() const {
  double largest = 0.0;
  for (const Segment& s : segments_)
    if (s.J.size() > 0) largest = std::max(largest, s.J.eigenvalues().cwiseAbs().maxCoeff());
  return largest;
}

bool LinearOracle::start() {
  const Segment& s = segments_[0];
  const int n = columns_, extra = static_cast<int>(s.exogenous.size());
  const int rows = static_cast<int>(tableau_.initial.size());
  // A storage that is left out begins in a steady state. Where storages are bound to each other as well,
  // which default gives way to that is the program's choice.
  int storages = 0;
  for (int r = 0; r < n; ++r) storages += !s.E.row(r).head(n).isZero(0.0);
  if (storages > rows && storages > states()) return false;
  MatrixXd conditions(rows + extra, s.V.cols());
  VectorXd values(rows + extra);
  for (int r = 0; r < rows; ++r) {
    const auto& given = tableau_.initial[static_cast<std::size_t>(r)];
    VectorXd form(n);
    for (int c = 0; c < n; ++c) form[c] = value_at(*given.variable, VectorXd::Unit(n, c), {}, 0.0);
    conditions.row(r) = form.transpose() * s.V.topRows(n);
    values[r] = given.value;
  }
  conditions.bottomRows(extra) = s.V.bottomRows(extra);
  values.tail(extra) = s.exogenous;
  Eigen::ColPivHouseholderQR<MatrixXd> qr(conditions);
  qr.setThreshold(1e-9);
  if (qr.rank() < s.V.cols()) return false;
  const VectorXd y = qr.solve(values);
  // Each against its own size: a pressure of 1e5 Pa excuses no millivolt.
  if (((conditions * y - values).array().abs() > 1e-8 * (1.0 + values.array().abs())).any()) return false;
  start_near((s.V * y).head(n));
  return true;
}

double LinearOracle::start_near(const VectorXd& x) {
  VectorXd before = x;
  double distance = 0.0;
  for (std::size_t k = 0; k < segments_.size(); ++k) {
    Segment& s = segments_[k];
    VectorXd z(columns_ + s.exogenous.size());
    z << before, s.exogenous;
    const VectorXd projected = s.P * z;
    if (k == 0) distance = (projected - z).cwiseAbs().maxCoeff();
    s.y = s.V.colPivHouseholderQr().solve(projected);
    before = (s.V * ((s.J * (s.to - s.from)).exp() * s.y)).head(columns_);
  }
  return distance;
}

VectorXd LinearOracle::at(double t) const {
  std::size_t k = 0;
  while (k + 1 < segments_.size() && t >= segments_[k].to) ++k;
  const Segment& s = segments_[k];
  return (s.V * ((s.J * (t - s.from)).exp() * s.y)).head(columns_);
}

}  // namespace differential
