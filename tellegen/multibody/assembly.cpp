#include "tellegen/multibody/assembly.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double closed = 1e-11;  // of a length of one metre, or of a direction

class Assembler {
 public:
  explicit Assembler(const AssemblyProblem& p) : p_(p), at_(p.numbers) {
    for (Expr e : p.equations) {
      slopes_.push_back(gradient(e, p.coordinates));
    }
  }

  Assembly run() {
    result_.values = p_.start;
    result_.redundant.assign(p_.equations.size(), 0);
    if (p_.equations.empty()) return result_;
    if (!close()) return result_;
    const Matrix j = slopes(result_.values);
    const auto rows = independent_rows(j);
    choose_dependent(j, rows);
    if (result_.status != Assembly::Status::closed) return result_;
    hold_independent();
    if (result_.status == Assembly::Status::closed) look_beside();
    return result_;
  }

 private:
  long count() const { return static_cast<long>(p_.equations.size()); }
  long size() const { return static_cast<long>(p_.coordinates.size()); }

  void put(const std::vector<double>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) at_[p_.coordinates[k]] = values[k];
  }
  Vector residual(const std::vector<double>& values) {
    put(values);
    Vector r(count());
    for (long i = 0; i < count(); ++i) r[i] = evaluate(p_.equations[i], at_);
    return r;
  }
  Matrix slopes(const std::vector<double>& values) {
    put(values);
    Matrix j(count(), size());
    for (long i = 0; i < count(); ++i)
      for (long k = 0; k < size(); ++k) j(i, k) = evaluate(slopes_[i][k], at_);
    return j;
  }

  // Damped: the smaller the residual, the nearer to Newton.
  bool close() {
    Vector r = residual(result_.values);
    double damping = 1e-3;
    Vector w(size());
    for (long k = 0; k < size(); ++k) w[k] = p_.mobility[k] * p_.mobility[k];
    for (int iteration = 0; iteration < 200 && r.lpNorm<Eigen::Infinity>() > closed; ++iteration) {
      const Matrix j = slopes(result_.values);
      const Matrix jw = j * w.asDiagonal();
      Matrix a = jw * j.transpose();
      const double scale = std::max(a.diagonal().maxCoeff(), 1e-300);
      a.diagonal().array() += std::max(damping * std::min(1.0, r.norm()), 1e-14) * scale;
      const Vector step = jw.transpose() * solve_symmetric(a, r);
      std::vector<double> next = result_.values;
      const double largest = step.lpNorm<Eigen::Infinity>();
      const double length = largest > 0.5 ? 0.5 / largest : 1.0;
      for (long k = 0; k < size(); ++k) next[k] -= length * step[k];
      const Vector after = residual(next);
      if (after.allFinite() && after.norm() < r.norm()) {
        result_.values = next;
        r = after;
        damping = std::max(damping * 0.2, 1e-12);
      } else {
        damping = std::min(damping * 10.0, 1e6);
        if (damping >= 1e6) break;
      }
    }
    long worst = 0;
    result_.gap = r.cwiseAbs().maxCoeff(&worst);
    if (result_.gap <= 1e-9) return true;
    result_.worst = static_cast<int>(worst);
    result_.status = Assembly::Status::open;
    return false;
  }

  // Vectors in the order given; true where a vector adds a direction to those before.
  static std::vector<char> add_directions(const Matrix& vectors, const std::vector<int>& order, double least,
                                          std::vector<char> taken) {
    std::vector<Vector> basis;
    const auto remainder = [&](int k) {
      Vector v = vectors.col(k);
      for (int twice = 0; twice < 2; ++twice)
        for (const Vector& b : basis) v -= b.dot(v) * b;
      return v;
    };
    const auto add = [&](int k, const Vector& v) { basis.push_back(v / v.norm()), taken[k] = 1; };
    for (int k : order)
      if (taken[k]) add(k, remainder(k));
    for (int k : order) {
      if (taken[k]) continue;
      const double size = vectors.col(k).norm();
      const Vector v = remainder(k);
      if (size > 1e-9 && v.norm() > least * size) add(k, v);
    }
    return taken;
  }

  std::vector<int> independent_rows(const Matrix& j) {
    std::vector<int> order(static_cast<std::size_t>(count()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return p_.last[a] < p_.last[b]; });
    const auto taken = add_directions(j.transpose(), order, 1e-7, std::vector<char>(p_.equations.size(), 0));
    std::vector<int> rows;
    for (int i = 0; i < count(); ++i)
      if (taken[i])
        rows.push_back(i);
      else
        result_.redundant[i] = 1;
    return rows;
  }

  // Columns least wanted as states first: those that add a clear direction, then any that add one.
  void choose_dependent(const Matrix& j, const std::vector<int>& rows) {
    Matrix reduced(static_cast<long>(rows.size()), size());
    for (std::size_t i = 0; i < rows.size(); ++i) reduced.row(static_cast<long>(i)) = j.row(rows[i]);
    std::vector<int> order;
    for (int k = 0; k < size(); ++k)
      if (!p_.fixed[k]) order.push_back(k);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return p_.preference[a] > p_.preference[b]; });
    std::vector<char> taken(p_.coordinates.size(), 0);
    for (const double least : {0.1, 1e-3, 1e-7}) {
      taken = add_directions(reduced, order, least, taken);
      if (std::count(taken.begin(), taken.end(), 1) >= static_cast<long>(rows.size())) break;
    }
    for (int k = 0; k < size(); ++k)
      if (taken[k]) result_.dependent.push_back(k);
    if (result_.dependent.size() < rows.size()) {
      result_.status = Assembly::Status::stuck;
      result_.worst = rows.back();
      return;
    }
    pair(reduced, rows);
  }

  // Any pairing will do: the largest entry that is left, one after the other, with elimination between.
  void pair(Matrix reduced, const std::vector<int>& rows) {
    const auto n = result_.dependent.size();
    result_.equation_of.assign(n, -1);
    std::vector<char> used(rows.size(), 0);
    for (std::size_t done = 0; done < n; ++done) {
      long row = -1;
      std::size_t column = 0;
      double best = -1.0;
      for (std::size_t c = 0; c < n; ++c)
        for (std::size_t r = 0; r < rows.size(); ++r)
          if (result_.equation_of[c] < 0 && !used[r] &&
              std::abs(reduced(static_cast<long>(r), result_.dependent[c])) > best)
            best = std::abs(reduced(static_cast<long>(r), result_.dependent[c])), row = static_cast<long>(r),
            column = c;
      result_.equation_of[column] = rows[static_cast<std::size_t>(row)];
      used[static_cast<std::size_t>(row)] = 1;
      const int pivot = result_.dependent[column];
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (!used[r])
          reduced.row(static_cast<long>(r)) -=
              reduced(static_cast<long>(r), pivot) / reduced(row, pivot) * reduced.row(row);
    }
  }

  // Newton on the dependent coordinates, with their equations at `wanted`; true where all that count are.
  bool follow(std::vector<double>& values, const Vector& wanted, bool redundant_too) {
    const auto n = static_cast<long>(result_.dependent.size());
    for (int iteration = 0; iteration < 50; ++iteration) {
      const Vector all = residual(values) - wanted;
      if (!all.allFinite()) return false;
      double most = 0.0;
      for (long i = 0; i < count(); ++i)
        if (redundant_too || !result_.redundant[static_cast<std::size_t>(i)])
          most = std::max(most, std::abs(all[i]));
      if (most <= closed) return true;
      const Matrix j = slopes(values);
      Matrix a(n, n);
      Vector r(n);
      for (long i = 0; i < n; ++i) {
        r[i] = all[result_.equation_of[static_cast<std::size_t>(i)]];
        for (long k = 0; k < n; ++k)
          a(i, k) = j(result_.equation_of[static_cast<std::size_t>(i)],
                      result_.dependent[static_cast<std::size_t>(k)]);
      }
      const Vector step = solve(a, r);
      if (!step.allFinite()) return false;
      const double largest = step.lpNorm<Eigen::Infinity>();
      if (largest < 1e-15) return true;
      for (long k = 0; k < n; ++k)
        values[result_.dependent[static_cast<std::size_t>(k)]] -=
            step[k] * (largest > 0.5 ? 0.5 / largest : 1.0);
    }
    return false;
  }

  // What the mechanism is left with must stay closed when it moves: a row that only the start makes redundant
  // does not. Drivers go on as the independent coordinates do; one that is redundant is a fault of its own.
  void look_beside() {
    bool any = false;
    for (std::size_t i = 0; i < p_.equations.size(); ++i) {
      if (result_.redundant[i] && p_.last[i]) return;
      any = any || result_.redundant[i];
    }
    if (!any) return;
    for (const double way : {1e-2, 1e-3}) {
      std::vector<double> values = result_.values;
      Vector wanted = Vector::Zero(count());
      double next = way;
      const auto move = [&] { return next *= -0.87; };  // none like another
      for (long i = 0; i < count(); ++i)
        if (p_.last[static_cast<std::size_t>(i)]) wanted[i] = move();
      for (std::size_t k = 0; k < values.size(); ++k)
        if (std::find(result_.dependent.begin(), result_.dependent.end(), static_cast<int>(k)) ==
            result_.dependent.end())
          values[k] += move();
      if (!follow(values, wanted, false)) continue;
      const Vector open = residual(values) - wanted;
      const Matrix j = slopes(values);
      for (long i = 0; i < count(); ++i)
        if (result_.redundant[static_cast<std::size_t>(i)] && std::abs(open[i]) > 1e-9 &&
            std::abs(open[i]) > 1e-4 * way * j.row(i).lpNorm<Eigen::Infinity>()) {
          result_.status = Assembly::Status::singular;
          result_.worst = static_cast<int>(i);
          return;
        }
      return;
    }
  }

  void hold_independent() {
    std::vector<double> values = p_.start;
    for (int k : result_.dependent) values[k] = result_.values[k];
    if (follow(values, Vector::Zero(count()), true)) {
      result_.values = values;
      return;
    }
    result_.status = Assembly::Status::start_moved;
    double most = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (std::find(result_.dependent.begin(), result_.dependent.end(), static_cast<int>(k)) ==
              result_.dependent.end() &&
          std::abs(result_.values[k] - p_.start[k]) > most) {
        most = std::abs(result_.values[k] - p_.start[k]);
        result_.moved = static_cast<int>(k);
      }
    const Vector r = residual(p_.start);
    long worst = 0;
    result_.gap = r.cwiseAbs().maxCoeff(&worst);
    result_.worst = static_cast<int>(worst);
  }

  const AssemblyProblem& p_;
  ExprMap<double> at_;
  std::vector<std::vector<Expr>> slopes_;
  Assembly result_;
};

}  // namespace

Assembly assemble(const AssemblyProblem& problem) { return Assembler(problem).run(); }

}  // namespace tellegen
