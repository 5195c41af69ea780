#include "tellegen/identifiability/knowledge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/identifiability/combinations.h"
#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

// Beside the largest singular value, columns scaled: slopes are exact to about 1e-11 of their size.
constexpr double zero = 1e-9;

struct Decomposed {
  Eigen::VectorXd values;
  Eigen::MatrixXd directions;  // columns
  Eigen::Index rank = 0;
};

Decomposed decompose(const Eigen::MatrixXd& root) {
  Decomposed d;
  if (root.cols() == 0) return d;
  const Singular svd = singular(root);
  d.values = svd.values;
  d.directions = svd.v;
  while (d.rank < d.values.size() && d.values[d.rank] > zero * d.values[0]) ++d.rank;
  return d;
}

Eigen::MatrixXd columns(const Eigen::MatrixXd& of, const std::vector<int>& which) {
  Eigen::MatrixXd result(of.rows(), static_cast<Eigen::Index>(which.size()));
  for (std::size_t k = 0; k < which.size(); ++k) result.col(static_cast<Eigen::Index>(k)) = of.col(which[k]);
  return result;
}

}  // namespace

InformationRoot::InformationRoot(Eigen::Index quantities)
    : rows_(Eigen::MatrixXd::Zero(quantities + std::max<Eigen::Index>(64, quantities), quantities)),
      filled_(quantities) {}

void InformationRoot::add(const Eigen::RowVectorXd& slopes_over_noise) {
  if (filled_ == rows_.rows()) reflect();
  rows_.row(filled_++) = slopes_over_noise;
}

void InformationRoot::reflect() {
  const Eigen::Index n = rows_.cols();
  const Eigen::MatrixXd root = triangle(rows_);
  rows_.setZero();
  rows_.topRows(n) = root;
  filled_ = n;
}

const Eigen::MatrixXd& InformationRoot::root() {
  if (rows_.cols() > 0) reflect();
  rows_.conservativeResize(rows_.cols(), Eigen::NoChange);
  return rows_;
}

bool Knowledge::all_known() const {
  return std::all_of(how.begin(), how.end(), [](How h) { return h == How::known; });
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += (k == 0 ? "" : k + 1 < names.size() ? ", " : " and ") + names[k];
  return text;
}

std::vector<std::string> Knowledge::sentences(bool states) const {
  std::vector<std::string> said;
  const auto passed_over = [&](int q) {
    return !states && quantities[static_cast<std::size_t>(q)].what == UnknownQuantity::What::state;
  };
  for (const Entangled& e : entangled) {
    if (std::all_of(e.parts.begin(), e.parts.end(), passed_over)) continue;
    std::vector<std::string> parts, known;
    bool everywhere = true;
    for (int p : e.parts) parts.push_back(quantities[static_cast<std::size_t>(p)].name);
    for (const Combination& c : e.known) {
      known.push_back(c.text);
      everywhere = everywhere && c.everywhere;
    }
    said.push_back(fmt::format("{} only as {}{}", listed(parts), listed(known),
                               everywhere ? "" : ", near the present values"));
  }
  for (std::size_t k = 0; k < quantities.size(); ++k) {
    const UnknownQuantity& q = quantities[k];
    if (passed_over(static_cast<int>(k))) continue;
    if (how[k] == How::not_at_all) said.push_back(q.name + " not at all");
    if (how[k] == How::hardly)
      said.push_back(
          fmt::format("{} hardly: the deviation is {:.2g} times its size", q.name, deviation[k] / q.scale));
  }
  return said;
}

Knowledge judge(std::vector<UnknownQuantity> quantities, const InformationPoint& here,
                const Elsewhere& elsewhere, double limit) {
  using How = Knowledge::How;
  const auto count = static_cast<Eigen::Index>(quantities.size());
  const double infinite = std::numeric_limits<double>::infinity();
  Knowledge known;
  known.quantities = std::move(quantities);
  known.how.assign(static_cast<std::size_t>(count), How::known);
  known.deviation.assign(static_cast<std::size_t>(count), infinite);
  Eigen::VectorXd scale(count);
  for (Eigen::Index k = 0; k < count; ++k) scale[k] = known.quantities[static_cast<std::size_t>(k)].scale;
  const Eigen::MatrixXd root = here.root * scale.asDiagonal();

  // What would not be known even if everything else were: the others do not notice it either.
  const double largest = count == 0 ? 0.0 : root.colwise().norm().maxCoeff();
  std::vector<int> told;
  for (Eigen::Index k = 0; k < count; ++k) {
    const double own = root.col(k).norm();
    const auto at = static_cast<std::size_t>(k);
    if (own <= zero * largest || own == 0.0) {
      known.how[at] = How::not_at_all;
    } else if (own * limit < 1.0) {
      known.how[at] = How::hardly;
      known.deviation[at] = scale[k] / own;
    } else {
      told.push_back(static_cast<int>(k));
    }
  }

  const Decomposed d = decompose(columns(root, told));
  known.rank = static_cast<int>(d.rank);
  if (d.rank > 0) known.conditioning = d.values[0] / d.values[d.rank - 1];
  const auto size = static_cast<Eigen::Index>(told.size());
  const Eigen::MatrixXd kept = d.directions.leftCols(d.rank), lost = d.directions.rightCols(size - d.rank);
  const Eigen::VectorXd variances = d.values.head(d.rank).cwiseAbs2().cwiseInverse();
  const Eigen::MatrixXd covariance = kept * variances.asDiagonal() * kept.transpose();
  for (Eigen::Index k = 0; k < size; ++k) {
    const auto at = static_cast<std::size_t>(told[static_cast<std::size_t>(k)]);
    if (lost.cols() > 0 && lost.row(k).norm() > 1e-5) {
      known.how[at] = How::together;
      continue;
    }
    const double relative = std::sqrt(covariance(k, k));
    known.deviation[at] = relative * known.quantities[at].scale;
    if (relative > limit) known.how[at] = How::hardly;
  }
  known.lost = Eigen::MatrixXd::Zero(count, lost.cols());
  for (Eigen::Index k = 0; k < size; ++k) known.lost.row(told[static_cast<std::size_t>(k)]) = lost.row(k);
  if (lost.cols() == 0) return known;

  // The same at other numbers: closer where the model cannot be moved so far.
  std::vector<UnknownQuantity> parts;
  std::vector<LostDirections> points;
  const auto values_of = [&](const Eigen::VectorXd& all) {
    Eigen::VectorXd values(size);
    for (Eigen::Index k = 0; k < size; ++k) values[k] = all[told[static_cast<std::size_t>(k)]];
    return values;
  };
  for (int k : told) parts.push_back(known.quantities[static_cast<std::size_t>(k)]);
  points.push_back({values_of(here.values), lost});
  for (double part : {0.3, 0.1, 0.02}) {
    if (!elsewhere) break;
    const auto there = elsewhere(part);
    if (!there) continue;
    const Decomposed other = decompose(columns(there->root * scale.asDiagonal(), told));
    points.push_back({values_of(there->values), other.directions.rightCols(size - other.rank)});
    break;
  }
  for (const std::vector<int>& set : entangled_sets(lost)) {
    Entangled entangled;
    entangled.known = known_combinations(parts, set, points, covariance);
    for (int k : set) entangled.parts.push_back(told[static_cast<std::size_t>(k)]);
    known.entangled.push_back(std::move(entangled));
  }
  return known;
}

}  // namespace tellegen
