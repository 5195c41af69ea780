#include "tellegen/simulate/dense_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tellegen {
namespace {

constexpr int per_piece = 8;  // places between the ends of a piece: five nodes at even ones, tests at two odd
constexpr std::array<int, 2> tests{1, 7};  // where the polynomial is furthest from what it stands for
constexpr double least_allowed = 1e-12;    // of any output, in its unit
constexpr double times_noise = 10.0;
constexpr int deepest = 16;  // a step is halved so often at most

// Places are counted in the smallest parts that there may be.
double part_of(double place) { return place / (static_cast<double>(per_piece) * (1 << deepest)); }

using Weights = std::array<double, 5>;
Weights weights_at(double x) {  // x from 0 to 4, nodes at the whole numbers
  Weights weights;
  for (int a = 0; a < 5; ++a) {
    weights[a] = 1.0;
    for (int b = 0; b < 5; ++b)
      if (a != b) weights[a] *= (x - b) / (a - b);
  }
  return weights;
}

double value_of(const Weights& weights, const std::array<const double*, 5>& nodes, std::size_t k) {
  // The weights add up to 1. What does not change is so to the last bit.
  const double first = nodes[0][k];
  double sum = 0.0;
  for (int a = 1; a < 5; ++a) sum += weights[a] * (nodes[a][k] - first);
  return first + sum;
}

}  // namespace

void DenseRows::begin(double end, std::int64_t rows) {
  end_ = end;
  rows_ = rows;
  peak_ = seen_;
  noise_.assign(width_, 0.0);
  nodes_.clear();
  refused_.clear();
}

const std::vector<double>* DenseRows::node(std::uint32_t place, const Solve& solve) {
  const auto [found, inserted] = nodes_.try_emplace(place);
  if (inserted) {
    found->second.resize(width_);
    if (!solve(end_ * part_of(place), found->second.data())) {
      nodes_.erase(found);
      return nullptr;
    }
  }
  return &found->second;
}

// Solutions so near each other that only rounding makes a difference show how much of it there is: the
// current of a small capacitance between large voltages is mostly that, and no row is nearer to the truth.
bool DenseRows::find_noise(const Solve& solve) {
  constexpr std::uint32_t unit = 1u << deepest;
  for (const int test : tests)
    for (const double beside : {1e-3, -1e-3}) {
      const auto* at = node(test * unit, solve);
      if (!at || !solve(end_ * part_of((test + beside * allowed_) * unit), solved_.data())) return false;
      for (std::size_t k = 0; k < width_; ++k)
        noise_[k] = std::max(noise_[k], times_noise * std::abs(solved_[k] - (*at)[k]));
    }
  return true;
}

const std::vector<char>* DenseRows::refused(Piece piece, const Solve& solve) {
  const auto found = refused_.find(piece);
  if (found != refused_.end()) return &found->second;
  const std::uint32_t unit = 1u << (deepest - piece.first), first = piece.second * per_piece * unit;
  std::array<const double*, 5> nodes;
  std::vector<double> allowed = peak_, error(width_);
  for (std::uint32_t a = 0; a < 5; ++a) {
    const auto* at = node(first + 2 * a * unit, solve);
    if (!at) return nullptr;
    nodes[a] = at->data();
    for (std::size_t k = 0; k < width_; ++k) allowed[k] = std::max(allowed[k], std::abs(nodes[a][k]));
  }
  bool met = true;
  for (const int test : tests) {
    const auto* at = node(first + test * unit, solve);
    if (!at) return nullptr;
    const Weights weights = weights_at(0.5 * test);
    for (std::size_t k = 0; k < width_; ++k) {
      error[k] = std::max(error[k], std::abs(value_of(weights, nodes, k) - (*at)[k]));
      met = met && error[k] <= allowed_ * allowed[k] + least_allowed;
    }
  }
  if (!met && piece.first == 0 && !find_noise(solve)) return nullptr;
  std::vector<char>& refused = refused_[piece];
  refused.resize(width_);
  for (std::size_t k = 0; k < width_; ++k)
    refused[k] = !(error[k] <= allowed_ * allowed[k] + std::max(least_allowed, noise_[k]));
  return &refused;
}

bool DenseRows::row(double theta, const Solve& solve, double* row) {
  left_.resize(width_);
  solved_.resize(width_);
  row_.resize(width_);
  for (std::size_t k = 0; k < width_; ++k) left_[k] = k;
  for (int depth = 0; !left_.empty(); ++depth) {
    const double parts = 1 << depth;
    if (theta > end_ || depth == deepest || static_cast<double>(rows_) / parts < fewest_) {
      if (!solve(theta, solved_.data())) return false;
      for (const std::size_t k : left_) row_[k] = solved_[k];
      break;
    }
    const double at = theta / end_ * parts;
    const auto part = std::min(static_cast<std::uint32_t>(at), (1u << depth) - 1);
    const auto* refused = this->refused({depth, part}, solve);
    if (!refused) return false;
    const Weights weights = weights_at(4.0 * (at - part));
    std::array<const double*, 5> nodes;
    for (std::uint32_t a = 0; a < 5; ++a)
      nodes[a] = nodes_.at((part * per_piece + 2 * a) << (deepest - depth)).data();
    std::size_t still = 0;
    for (const std::size_t k : left_)
      if ((*refused)[k])
        left_[still++] = k;
      else
        row_[k] = value_of(weights, nodes, k);
    left_.resize(still);
  }
  for (std::size_t k = 0; k < width_; ++k) seen_[k] = std::max(seen_[k], std::abs(row_[k]));
  std::copy(row_.begin(), row_.end(), row);
  return true;
}

}  // namespace tellegen
