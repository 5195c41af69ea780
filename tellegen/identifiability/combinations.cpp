#include "tellegen/identifiability/combinations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tellegen/model/model.h"
#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

constexpr double touched = 1e-5;  // part of a unit direction

// Gauss and Jordan with the largest pivot of all: a basis with as many zeros as come by themselves.
Eigen::MatrixXd reduced(Eigen::MatrixXd rows) {
  std::vector<char> used(static_cast<std::size_t>(rows.cols()), 0);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    Eigen::Index row = r, column = 0;
    double largest = -1.0;
    for (Eigen::Index i = r; i < rows.rows(); ++i)
      for (Eigen::Index j = 0; j < rows.cols(); ++j)
        if (!used[static_cast<std::size_t>(j)] && std::abs(rows(i, j)) > largest * (1.0 + 1e-9)) {
          largest = std::abs(rows(i, j));
          row = i;
          column = j;
        }
    if (largest <= touched) break;
    rows.row(r).swap(rows.row(row));
    used[static_cast<std::size_t>(column)] = 1;
    rows.row(r) /= rows(r, column);
    for (Eigen::Index i = 0; i < rows.rows(); ++i)
      if (i != r) rows.row(i) -= rows(i, column) * rows.row(r);
  }
  return rows;
}

// Orthonormal, with what all columns together span.
Eigen::MatrixXd complement(const Eigen::MatrixXd& of, Eigen::Index dimension) {
  return singular(of.transpose()).v.rightCols(of.rows() - dimension);
}

Eigen::MatrixXd rows_of(const Eigen::MatrixXd& of, const std::vector<int>& set) {
  Eigen::MatrixXd result(static_cast<Eigen::Index>(set.size()), of.cols());
  for (std::size_t k = 0; k < set.size(); ++k) result.row(static_cast<Eigen::Index>(k)) = of.row(set[k]);
  return result;
}

using Coordinate = ModelUnknown::Coordinate;

double coordinate_slope(Coordinate coordinate, double value) {
  if (coordinate == Coordinate::inverse) return -1.0 / (value * value);
  if (coordinate == Coordinate::logarithm) return 1.0 / value;
  return 1.0;
}

// The choices for a set of quantities, the plainest first: each itself; all as powers; all inverse; mixed.
std::vector<std::vector<Coordinate>> choices(std::size_t size, bool nonzero) {
  std::vector<std::vector<Coordinate>> all{std::vector(size, Coordinate::value)};
  if (!nonzero) return all;
  all.push_back(std::vector(size, Coordinate::logarithm));
  all.push_back(std::vector(size, Coordinate::inverse));
  if (size > 6) return all;
  for (unsigned bits = 1; bits + 1 < (1u << size); ++bits) {
    std::vector<Coordinate> mixed;
    for (std::size_t k = 0; k < size; ++k)
      mixed.push_back(bits >> k & 1u ? Coordinate::inverse : Coordinate::value);
    all.push_back(std::move(mixed));
  }
  return all;
}

// How far the lost directions of all points are from being the same ones in these coordinates: 0, they are.
double misfit(const std::vector<Coordinate>& coordinates, const std::vector<LostDirections>& points,
              const std::vector<int>& set, Eigen::Index dimension) {
  std::vector<Eigen::MatrixXd> bases;
  Eigen::Index columns = 0;
  for (const LostDirections& point : points) {
    Eigen::MatrixXd basis = rows_of(point.basis, set);
    for (std::size_t k = 0; k < set.size(); ++k)
      basis.row(static_cast<Eigen::Index>(k)) *= coordinate_slope(coordinates[k], point.values[set[k]]) /
                                                 coordinate_slope(coordinates[k], points[0].values[set[k]]);
    const Singular svd = singular(basis);
    Eigen::Index rank = 0;
    while (rank < svd.values.size() && svd.values[rank] > touched) ++rank;
    if (rank != dimension) return 1.0;
    bases.push_back(svd.u.leftCols(rank));
    columns += rank;
  }
  Eigen::MatrixXd all(static_cast<Eigen::Index>(set.size()), columns);
  Eigen::Index at = 0;
  for (const Eigen::MatrixXd& basis : bases) {
    all.middleCols(at, basis.cols()) = basis;
    at += basis.cols();
  }
  const Eigen::VectorXd values = singular_values(all);
  return dimension < values.size() ? values[dimension] : 0.0;
}

std::string number(double value) { return fmt::format("{:.4g}", value); }

// "a + 3 b - 1/c"
std::string sum_text(const std::vector<double>& coefficients, const std::vector<Coordinate>& coordinates,
                     const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double c = coefficients[k], size = std::abs(c);
    if (c == 0.0) continue;
    text += text.empty() ? (c < 0.0 ? "-" : "") : (c < 0.0 ? " - " : " + ");
    if (coordinates[k] == Coordinate::inverse)
      text += number(size) + "/" + names[k];
    else
      text += (size == 1.0 ? "" : number(size) + " ") + names[k];
  }
  return text;
}

// "a*b^2/c"
std::string product_text(const std::vector<double>& exponents, const std::vector<std::string>& names) {
  std::string above, below;
  const auto power = [&](std::size_t k) {
    const double size = std::abs(exponents[k]);
    return size == 1.0 ? names[k] : names[k] + "^" + number(size);
  };
  int divisors = 0;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (exponents[k] > 0.0) above += (above.empty() ? "" : "*") + power(k);
    if (exponents[k] < 0.0) {
      below += (below.empty() ? "" : "*") + power(k);
      ++divisors;
    }
  }
  if (below.empty()) return above;
  return (above.empty() ? "1" : above) + "/" + (divisors > 1 ? "(" + below + ")" : below);
}

}  // namespace

std::vector<std::vector<int>> entangled_sets(const Eigen::MatrixXd& basis) {
  const Eigen::MatrixXd rows = reduced(basis.transpose());
  std::vector<int> set_of(static_cast<std::size_t>(basis.rows()), -1);
  std::vector<std::vector<int>> sets;
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    std::vector<int> members;
    for (Eigen::Index k = 0; k < rows.cols(); ++k)
      if (std::abs(rows(r, k)) > touched) {
        const int other = set_of[static_cast<std::size_t>(k)];
        if (other < 0) {
          members.push_back(static_cast<int>(k));
        } else {
          members.insert(members.end(), sets[static_cast<std::size_t>(other)].begin(),
                         sets[static_cast<std::size_t>(other)].end());
          for (int m : sets[static_cast<std::size_t>(other)]) set_of[static_cast<std::size_t>(m)] = -1;
          sets[static_cast<std::size_t>(other)].clear();
        }
      }
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    for (int m : members) set_of[static_cast<std::size_t>(m)] = static_cast<int>(sets.size());
    sets.push_back(std::move(members));
  }
  std::erase_if(sets, [](const std::vector<int>& s) { return s.empty(); });
  std::sort(sets.begin(), sets.end());
  return sets;
}

std::vector<double> simple_multiples(const std::vector<double>& coefficients, double tolerance) {
  constexpr int largest_factor = 12, largest_number = 100;
  double smallest = 0.0, first = 0.0, largest = 0.0;
  for (double c : coefficients) largest = std::max(largest, std::abs(c));
  std::vector<double> plain;
  for (double c : coefficients) {
    plain.push_back(std::abs(c) > tolerance * largest ? c : 0.0);
    if (plain.back() == 0.0) continue;
    if (first == 0.0) first = c;
    if (smallest == 0.0 || std::abs(c) < smallest) smallest = std::abs(c);
  }
  if (first == 0.0) return plain;
  const double sign = first < 0.0 ? -1.0 : 1.0;
  for (int factor = 1; factor <= largest_factor; ++factor) {
    std::vector<double> whole;
    for (double c : plain) {
      const double exact = sign * c / smallest * factor, round = std::round(exact);
      if (std::abs(round) > largest_number || std::abs(exact - round) > tolerance * std::abs(exact)) break;
      whole.push_back(round + 0.0);
    }
    if (whole.size() == plain.size()) return whole;
  }
  for (double& c : plain) c /= first;
  return plain;
}

std::vector<Combination> known_combinations(const std::vector<UnknownQuantity>& quantities,
                                            const std::vector<int>& set,
                                            const std::vector<LostDirections>& points,
                                            const Eigen::MatrixXd& covariance) {
  const Eigen::MatrixXd own = rows_of(points[0].basis, set);
  const Eigen::VectorXd sizes = singular_values(own);
  Eigen::Index dimension = 0;
  while (dimension < sizes.size() && sizes[dimension] > touched) ++dimension;

  bool nonzero = true;
  for (int k : set)
    for (const LostDirections& point : points) nonzero = nonzero && point.values[k] != 0.0;
  std::vector<Coordinate> chosen(set.size(), Coordinate::value);
  bool everywhere = false;
  if (points.size() > 1) {
    // What stays the same to working accuracy; the plainest of those.
    for (const auto& coordinates : choices(set.size(), nonzero))
      if (misfit(coordinates, points, set, dimension) < 1e-5) {
        chosen = coordinates;
        everywhere = true;
        break;
      }
  }

  // Forms w with w n = 0, in the coordinates themselves rather than in units of the scales.
  Eigen::MatrixXd forms = complement(own, dimension).transpose();
  std::vector<std::string> names;
  for (std::size_t k = 0; k < set.size(); ++k) {
    const UnknownQuantity& q = quantities[static_cast<std::size_t>(set[k])];
    names.push_back(q.name);
    forms.col(static_cast<Eigen::Index>(k)) /=
        coordinate_slope(chosen[k], points[0].values[set[k]]) * q.scale;
  }
  // Columns of like size while forms are made sparse.
  Eigen::VectorXd size(forms.cols());
  for (Eigen::Index k = 0; k < forms.cols(); ++k)
    size[k] = std::max(forms.col(k).norm(), std::numeric_limits<double>::min());
  forms = reduced(forms * size.cwiseInverse().asDiagonal()) * size.asDiagonal();

  const bool powers = chosen[0] == Coordinate::logarithm;
  std::vector<Combination> found;
  for (Eigen::Index r = 0; r < forms.rows(); ++r) {
    std::vector<double> row(set.size());
    for (std::size_t k = 0; k < set.size(); ++k) row[k] = forms(r, static_cast<Eigen::Index>(k));
    const std::vector<double> w = simple_multiples(row, 1e-4);
    Combination c;
    c.everywhere = everywhere;
    c.text = powers ? product_text(w, names) : sum_text(w, chosen, names);
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(covariance.rows());
    bool same_unit = !powers;
    double sum = 0.0;
    for (std::size_t k = 0; k < set.size(); ++k) {
      const UnknownQuantity& q = quantities[static_cast<std::size_t>(set[k])];
      const double value = points[0].values[set[k]];
      sum += w[k] * (chosen[k] == Coordinate::value     ? value
                     : chosen[k] == Coordinate::inverse ? 1.0 / value
                                                        : std::log(std::abs(value)));
      slope[set[k]] = w[k] * coordinate_slope(chosen[k], value) * q.scale;
      same_unit = same_unit && chosen[k] == Coordinate::value &&
                  q.unit == quantities[static_cast<std::size_t>(set[0])].unit;
    }
    c.value = powers ? std::exp(sum) : sum;
    c.deviation = std::sqrt(slope.dot(covariance * slope)) * (powers ? c.value : 1.0);
    if (same_unit) c.unit = quantities[static_cast<std::size_t>(set[0])].unit;
    found.push_back(std::move(c));
  }
  return found;
}

}  // namespace tellegen
