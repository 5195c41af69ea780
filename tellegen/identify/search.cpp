#include "tellegen/identify/search.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tellegen/identify/responses.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/symbolic/evaluator.h"

namespace tellegen {
namespace {

constexpr double different = 0.3;       // of the logarithm of some number: another minimum
constexpr double smallest_part = 1e-7;  // of a column: what a perfect record leaves as a residual
constexpr double collinear = 1e-12;
constexpr int starts_of_each = 12;
constexpr int most_starts = 400;      // where none of these comes near to what the readings allow
constexpr double near_enough = 10.0;  // times what combinations that are made of nothing leave
constexpr int most_iterations = 60;
constexpr std::size_t kept = 8;
constexpr double far_away = 60.0;  // of a logarithm: no number of a model
constexpr double inside = 0.02;    // of its terms: what a difference that must be positive begins with

// One equation as a regression: what it leaves of its rows, and the combinations that stand before its
// columns.
struct Regression {
  std::vector<Expr> combinations;
  Eigen::VectorXd found;          // least squares without regard to what the combinations are made of
  Eigen::MatrixXd remainder;      // residuals = remainder * [combinations; -1], one for each row of it
  double rows = 0.0, size = 0.0;  // of the record; what a residual is divided by, relative to the target
};

Regression regression_of(const Form& form, std::size_t rows) {
  const std::vector<Term> terms = independent_terms(form, rows);
  if (terms.size() < 2)
    return {{}, Eigen::VectorXd(0), Eigen::MatrixXd(0, 1), 0.0, 1.0};  // this record says nothing
  // The term that the others explain: one without a parameter where there is such, else the largest.
  std::size_t target = 0;
  double best = -1.0;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const double size = terms[k].signal.rms() * (terms[k].factor.is_number() ? 1e6 : 1.0);
    if (size > best) best = size, target = k;
  }
  const auto width = static_cast<Eigen::Index>(terms.size()) - 1;
  const auto height = static_cast<Eigen::Index>(rows);
  Eigen::MatrixXd all(height, width + 1);
  Eigen::VectorXd scale(width + 1);
  Regression result;
  Eigen::Index column = 0;
  const auto put = [&](const Signal& signal, Eigen::Index c, double sign) {
    scale(c) = std::max(signal.rms(), std::numeric_limits<double>::min());
    for (Eigen::Index r = 0; r < height; ++r)
      all(r, c) = sign * signal[static_cast<std::size_t>(r)] / scale(c);
  };
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (k == target) continue;
    result.combinations.push_back(terms[k].factor / terms[target].factor);
    put(terms[k].signal, column++, 1.0);
  }
  put(terms[target].signal, width, -1.0);
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(all);
  const Eigen::Index left = std::min(height, width + 1);
  Eigen::MatrixXd r = qr.matrixQR().topRows(left).triangularView<Eigen::Upper>();
  result.found = r.topLeftCorner(std::min(left, width), width)
                     .completeOrthogonalDecomposition()
                     .solve(r.col(width).head(std::min(left, width)));
  const double residual = left > width ? std::abs(r(width, width)) : 0.0;
  const double size = std::max(residual, smallest_part * r.col(width).norm()) /
                      std::sqrt(std::max<double>(1.0, static_cast<double>(height - width)));
  for (Eigen::Index c = 0; c < width; ++c) result.found(c) *= scale(width) / scale(c);
  for (Eigen::Index c = 0; c <= width; ++c) r.col(c) *= scale(c) / scale(width) / size;
  result.remainder = std::move(r);
  result.rows = static_cast<double>(rows);
  result.size = size;
  return result;
}

class CompressedFit {
 public:
  CompressedFit(std::span<const Relations> relations, const std::vector<Expr>& poles,
                const std::vector<double>& at, double pole_weight, const std::vector<Expr>& positive)
      : parameters_(relations.front().parameters), pole_weight_(pole_weight) {
    ExprMap<double> values;
    for (std::size_t k = 0; k < poles.size(); ++k) {
      values[poles[k]] = at[k];
      pole_logarithms_.push_back(std::log(at[k]));
    }
    for (const Relations& of_record : relations)
      for (const Form& form : equations_in_signals(of_record, values))
        if (form.terms().size() > 1) regressions_.push_back(regression_of(form, of_record.times.size()));
    std::vector<Expr> roots;
    for (const Regression& r : regressions_)
      roots.insert(roots.end(), r.combinations.begin(), r.combinations.end());
    combinations_ = roots.size();
    roots.insert(roots.end(), poles.begin(), poles.end());
    first_positive_ = roots.size();
    roots.insert(roots.end(), positive.begin(), positive.end());
    values_ = roots.size();
    for (std::size_t k = 0; k < values_; ++k) {
      const std::vector<Expr> slopes = gradient(roots[k], parameters_);
      roots.insert(roots.end(), slopes.begin(), slopes.end());
    }
    program_ = Evaluator(roots, parameters_);
    out_.resize(roots.size());
  }

  struct Result {
    Eigen::VectorXd logarithms;
    double cost = std::numeric_limits<double>::infinity();
  };

  // What combinations that are made of nothing leave: about one for each row.
  double least_cost() const {
    double rows = 0.0;
    for (const Regression& r : regressions_) rows += r.rows;
    return rows;
  }

  // The combinations as least squares give them, in logarithms: exact where each is a product of powers.
  Eigen::VectorXd first_start(Eigen::VectorXd x, const std::vector<double>& signs) {
    const auto n = x.size();
    for (int pass = 0; pass < 12; ++pass) {
      evaluate(x, signs);
      Eigen::MatrixXd normal = 1e-6 * Eigen::MatrixXd::Identity(n, n);
      Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
      std::size_t at = 0;
      const auto take = [&](std::size_t k, double wanted, double weight) {
        const double value = std::abs(out_[k]);
        if (!(value > 0.0) || !std::isfinite(value)) return;
        Eigen::VectorXd slope(n);
        for (Eigen::Index p = 0; p < n; ++p) slope(p) = this->slope(k, p, x, signs) / out_[k];
        if (!slope.allFinite()) return;
        normal += weight * slope * slope.transpose();
        right += weight * slope * (wanted - std::log(value));
      };
      for (const Regression& r : regressions_) {
        for (Eigen::Index c = 0; c < r.found.size(); ++c, ++at) {
          // What a column is worth beside the noise: a combination that is not determined says nothing.
          const double worth = std::abs(r.found(c)) * std::abs(r.remainder(c, c));
          if (std::abs(r.found(c)) > 0.0) take(at, std::log(std::abs(r.found(c))), std::min(worth, 1e4));
        }
      }
      for (std::size_t k = 0; k < pole_logarithms_.size(); ++k)
        take(combinations_ + k, pole_logarithms_[k], 1e4);
      const Eigen::VectorXd step = normal.ldlt().solve(right);
      if (!step.allFinite()) break;
      x += step.cwiseMax(-5.0).cwiseMin(5.0);
      if (step.cwiseAbs().maxCoeff() < 1e-9) break;
    }
    return x.cwiseMax(-far_away).cwiseMin(far_away);
  }

  // Moved to where components can be built: along the steepest way, one condition after the other.
  Eigen::VectorXd move_inside(Eigen::VectorXd x, const std::vector<double>& signs) {
    for (int pass = 0; pass < 30; ++pass) {
      evaluate(x, signs);
      if (permitted()) break;
      for (std::size_t k = first_positive_; k < values_; ++k) {
        if (out_[k] > 0.0) continue;
        Eigen::VectorXd slope(x.size());
        for (Eigen::Index p = 0; p < x.size(); ++p) slope(p) = this->slope(k, p, x, signs);
        const double size = slope.cwiseAbs().sum(), square = slope.squaredNorm();
        if (!(square > 0.0) || !std::isfinite(size)) return x;
        x += slope * std::clamp((inside * size - out_[k]) / square, 0.0, 1.0 / slope.cwiseAbs().maxCoeff());
      }
    }
    return x;
  }

  // Levenberg-Marquardt in logarithms.
  Result minimise(Eigen::VectorXd x, const std::vector<double>& signs) {
    const auto n = static_cast<Eigen::Index>(parameters_.size());
    Eigen::MatrixXd normal;
    Eigen::VectorXd gradient;
    double cost = squares(x, signs, &normal, &gradient), damping = 1e-2;
    Result result;
    if (!std::isfinite(cost)) return result;
    for (int k = 0; k < most_iterations; ++k) {
      Eigen::MatrixXd damped = normal;
      for (Eigen::Index p = 0; p < n; ++p) damped(p, p) += damping * std::max(normal(p, p), 1e-9);
      Eigen::VectorXd step = -damped.ldlt().solve(gradient);
      if (!step.allFinite()) break;
      const double longest = step.cwiseAbs().maxCoeff();
      if (longest > 3.0) step *= 3.0 / longest;
      const Eigen::VectorXd trial = (x + step).cwiseMax(-far_away).cwiseMin(far_away);
      Eigen::MatrixXd trial_normal;
      Eigen::VectorXd trial_gradient;
      const double trial_cost = squares(trial, signs, &trial_normal, &trial_gradient);
      if (std::isfinite(trial_cost) && trial_cost <= cost) {
        const bool settled = cost - trial_cost <= 1e-9 * cost && longest < 1e-3;
        x = trial, cost = trial_cost, normal = std::move(trial_normal), gradient = std::move(trial_gradient);
        damping = std::max(1e-12, damping / 5.0);
        if (settled) break;
      } else {
        damping *= 4.0;
        if (damping > 1e12) break;
      }
    }
    result.cost = pole_logarithms_.empty() ? cost : cost_among_poles(x, signs);
    // A number that would rather be negative has run towards zero: it begins where it can be told from zero.
    for (Eigen::Index p = 0; p < n; ++p)
      if (normal(p, p) > 0.0 && normal(p, p) < 1.0) x(p) -= 0.5 * std::log(normal(p, p));
    result.logarithms = x.cwiseMax(-far_away).cwiseMin(far_away);
    return result;
  }

 private:
  // Residuals are divided by what least squares leave at these poles, which is large where the poles are
  // wrong: between poles their own sizes count, of all equations by their geometric mean (the likelihood
  // where nobody knows the noise).
  double cost_among_poles(const Eigen::VectorXd& x, const std::vector<double>& signs) {
    Eigen::MatrixXd normal;
    Eigen::VectorXd gradient;
    std::vector<double> each;
    const double cost = squares(x, signs, &normal, &gradient, &each);
    if (!std::isfinite(cost)) return cost;
    double sum = each.back(), rows = 0.0;  // the last: how far the numbers are from the poles
    for (std::size_t k = 0; k < regressions_.size(); ++k) {
      const Regression& r = regressions_[k];
      if (r.rows == 0.0) continue;
      const double least = 1e-30;  // of a perfect record
      sum += r.rows * std::log(std::max(least, each[k] * r.size * r.size / r.rows));
      rows += r.rows;
    }
    return rows * std::exp(sum / std::max(1.0, rows));
  }

  bool permitted() const {
    for (std::size_t k = first_positive_; k < values_; ++k)
      if (!(out_[k] > 0.0)) return false;
    return true;
  }

  void evaluate(const Eigen::VectorXd& x, const std::vector<double>& signs) {
    numbers_.resize(signs.size());
    for (std::size_t p = 0; p < signs.size(); ++p)
      numbers_[p] = signs[p] * std::exp(x(static_cast<Eigen::Index>(p)));
    program_.run(numbers_, out_);
  }

  double slope(std::size_t k, Eigen::Index p, const Eigen::VectorXd& x,
               const std::vector<double>& signs) const {
    const auto at = values_ + k * parameters_.size() + static_cast<std::size_t>(p);
    return out_[at] * signs[static_cast<std::size_t>(p)] * std::exp(x(p));
  }

  // `each`: of every regression, and of the poles.
  double squares(const Eigen::VectorXd& x, const std::vector<double>& signs, Eigen::MatrixXd* normal,
                 Eigen::VectorXd* gradient, std::vector<double>* each = nullptr) {
    evaluate(x, signs);
    if (!permitted()) return std::numeric_limits<double>::infinity();
    const auto n = static_cast<Eigen::Index>(parameters_.size());
    *normal = Eigen::MatrixXd::Zero(n, n);
    *gradient = Eigen::VectorXd::Zero(n);
    double cost = 0.0;
    std::size_t at = 0;
    for (const Regression& r : regressions_) {
      const auto width = static_cast<Eigen::Index>(r.combinations.size());
      Eigen::VectorXd values(width + 1);
      Eigen::MatrixXd slopes(width, n);
      for (Eigen::Index c = 0; c < width; ++c, ++at) {
        values(c) = out_[at];
        for (Eigen::Index p = 0; p < n; ++p) slopes(c, p) = slope(at, p, x, signs);
      }
      values(width) = -1.0;
      const Eigen::VectorXd residual = r.remainder * values;
      const Eigen::MatrixXd j = r.remainder.leftCols(width) * slopes;
      cost += residual.squaredNorm();
      if (each) each->push_back(residual.squaredNorm());
      *normal += j.transpose() * j;
      *gradient += j.transpose() * residual;
    }
    const double of_regressions = cost;
    for (std::size_t k = 0; k < pole_logarithms_.size(); ++k) {
      const double value = out_[combinations_ + k];
      const double residual = pole_weight_ * (std::log(std::abs(value)) - pole_logarithms_[k]);
      Eigen::VectorXd j(n);
      for (Eigen::Index p = 0; p < n; ++p)
        j(p) = pole_weight_ * slope(combinations_ + k, p, x, signs) / value;
      cost += residual * residual;
      *normal += j * j.transpose();
      *gradient += j * residual;
    }
    if (each) each->push_back(cost - of_regressions);
    return cost;
  }

  const std::vector<Expr>& parameters_;
  std::vector<Regression> regressions_;
  std::vector<double> pole_logarithms_;
  double pole_weight_;
  Evaluator program_;
  std::size_t combinations_ = 0, first_positive_ = 0, values_ = 0;
  std::vector<double> out_, numbers_;
};

// Every rate that the records can show, for each pole: a grid where there are few, else points all over.
std::vector<std::vector<double>> pole_grid(std::span<const Relations> relations, std::size_t poles) {
  if (poles == 0) return {{}};
  double longest = 0.0, shortest = std::numeric_limits<double>::infinity();
  for (const Relations& r : relations) {
    const double length = r.times.back() - r.times.front();
    longest = std::max(longest, length);
    shortest = std::min(shortest, length / static_cast<double>(r.times.size() - 1));
  }
  const double low = std::log(0.2 / longest), high = std::log(0.5 / shortest);
  std::vector<std::vector<double>> grid;
  const std::size_t points = poles == 1 ? 48 : poles == 2 ? 20 : 9;
  if (poles <= 3) {
    std::vector<std::size_t> at(poles, 0);
    for (bool more = true; more;) {
      std::vector<double> point;
      for (std::size_t k : at)
        point.push_back(
            std::exp(low + (high - low) * static_cast<double>(k) / static_cast<double>(points - 1)));
      grid.push_back(std::move(point));
      std::size_t digit = 0;
      while (digit < poles && ++at[digit] == points) at[digit++] = 0;
      more = digit < poles;
    }
    return grid;
  }
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> anywhere(low, high);
  for (int k = 0; k < 800; ++k) {
    std::vector<double> point(poles);
    for (double& p : point) p = std::exp(anywhere(random));
    grid.push_back(std::move(point));
  }
  return grid;
}

class RelationSearcher {
 public:
  RelationSearcher(std::span<const Relations> relations, const std::vector<char>& negative,
                   const std::vector<Expr>& positive)
      : relations_(relations), negative_(negative), positive_(positive) {}

  RelationSearch run() {
    find_missing();
    for (const Relations& r : relations_) {
      if (r.times.size() < 4) return std::move(result_);
      equations_ += r.equations.size();
      for (Expr pole : poles_of(r))
        if (std::find(result_.poles.begin(), result_.poles.end(), pole) == result_.poles.end())
          result_.poles.push_back(pole);
    }
    if (equations_ == 0) return std::move(result_);
    for (const std::vector<double>& at : pole_grid(relations_, result_.poles.size())) look(at);
    refine();
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.cost < b.cost; });
    for (const Found& f : found_) keep(f);
    return std::move(result_);
  }

 private:
  struct Found {
    std::vector<double> numbers, poles;
    double cost = 0.0;
  };

  void find_missing() {
    std::vector<Expr> factors;
    for (const Relations& r : relations_) {
      for (const auto& e : r.equations)
        for (const Term& t : e.form.terms()) factors.push_back(t.factor);
      for (const auto& s : r.states)
        for (const Term& t : s.rate.terms()) factors.push_back(t.factor);
    }
    const std::vector<Expr> used = symbols_of(factors);
    for (Expr p : relations_.front().parameters)
      if (std::find(used.begin(), used.end(), p) == used.end()) result_.missing.push_back(p);
  }

  void look(const std::vector<double>& poles) {
    std::size_t rows = 0;
    for (const Relations& r : relations_) rows += r.times.size();
    const double weight = poles.empty() ? 0.0 : 30.0 * std::sqrt(static_cast<double>(rows));
    InterruptionWatch::ask();
    CompressedFit fit(relations_, result_.poles, poles, weight, positive_);
    ++result_.regressions;
    std::mt19937_64 random(7);
    std::normal_distribution<double> about(0.0, 1.5);
    std::vector<double> signs(relations_.front().parameters.size(), 1.0);
    const int starts = poles.empty() ? starts_of_each : 3;
    double best = std::numeric_limits<double>::infinity();
    const auto enough = [&](int k) {
      return k >= starts && (!poles.empty() || k >= most_starts || best < near_enough * fit.least_cost());
    };
    for (int k = 0; !enough(k); ++k) {
      Eigen::VectorXd x(static_cast<Eigen::Index>(signs.size()));
      for (std::size_t p = 0; p < signs.size(); ++p) {
        x(static_cast<Eigen::Index>(p)) = 2.0 * about(random);
        if (k > 0 && negative_[p]) signs[p] = about(random) < 0.0 ? -1.0 : 1.0;
      }
      x = fit.move_inside(fit.first_start(x, signs), signs);
      const CompressedFit::Result found = fit.minimise(x, signs);
      if (!std::isfinite(found.cost)) continue;
      best = std::min(best, found.cost);
      Found f{{}, poles, found.cost};
      for (std::size_t p = 0; p < signs.size(); ++p)
        f.numbers.push_back(signs[p] * std::exp(found.logarithms(static_cast<Eigen::Index>(p))));
      found_.push_back(std::move(f));
    }
  }

  // Between the points of the grid, about the best of them.
  void refine() {
    if (result_.poles.empty() || found_.empty()) return;
    double spread = 0.5;
    for (int round = 0; round < 6; ++round, spread *= 0.6) {
      const Found best = *std::min_element(found_.begin(), found_.end(),
                                           [](const Found& a, const Found& b) { return a.cost < b.cost; });
      for (std::size_t k = 0; k < best.poles.size(); ++k)
        for (double sign : {-1.0, 1.0}) {
          std::vector<double> poles = best.poles;
          poles[k] *= std::exp(sign * spread);
          look(poles);
        }
    }
  }

  void keep(const Found& f) {
    if (result_.starts.size() >= kept) return;
    for (const RelationStart& s : result_.starts) {
      bool same = true;
      for (std::size_t p = 0; p < f.numbers.size(); ++p)
        same = same && std::abs(std::log(std::abs(f.numbers[p] / s.numbers[p]))) < different &&
               (f.numbers[p] > 0.0) == (s.numbers[p] > 0.0);
      if (same) return;
    }
    result_.starts.push_back({f.numbers, f.cost});
  }

  std::span<const Relations> relations_;  // of each record
  const std::vector<char>& negative_;
  const std::vector<Expr>& positive_;
  std::size_t equations_ = 0;
  RelationSearch result_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Term> independent_terms(const Form& form, std::size_t rows) {
  std::vector<Term> terms;
  std::vector<double> norms;
  for (const Term& t : form.terms()) {
    const double norm = t.signal.rms();
    if (!(norm > 0.0)) continue;
    bool merged = false;
    for (std::size_t k = 0; k < terms.size() && !merged; ++k) {
      double product = 0.0;
      for (std::size_t r = 0; r < rows; ++r) product += terms[k].signal[r] * t.signal[r];
      const double cosine = product / static_cast<double>(rows) / (norm * norms[k]);
      if (std::abs(cosine) < 1.0 - collinear) continue;
      terms[k].factor = terms[k].factor + std::copysign(norm / norms[k], cosine) * t.factor;
      merged = true;
    }
    if (!merged) terms.push_back(t), norms.push_back(norm);
  }
  return terms;
}

RelationSearch search_relations(std::span<const Relations> relations, const std::vector<char>& negative,
                                const std::vector<Expr>& positive) {
  return RelationSearcher(relations, negative, positive).run();
}

}  // namespace tellegen
