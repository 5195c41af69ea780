// Which of several unknown quantities a set of readings tells, how well, and which it tells only together.
//
//   F = sum over readings of (dy/dp)' (dy/dp) / noise^2          Fisher's information
//   deviation of any unbiased estimate >= sqrt of the diagonal of F^-1     Cramer and Rao
//
// F itself loses half the digits, so its root is kept: R'R = F, by orthogonal reflections of the rows as they
// come. Columns are scaled by the quantities' own size; singular values then say how well each direction is
// known, relative to that size. A direction is lost where its singular value is zero to working accuracy.
//
// What is lost is told in words. A linear form w of the quantities is known although its parts are not where
// w n = 0 for every lost direction n. The same forms hold elsewhere only in the right coordinate: sums of the
// quantities themselves, sums of inverses (parallel paths), products of powers (scale). So the lost
// directions are found at other numbers too, and the coordinate is the one in which they stay the same.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tellegen {

struct UnknownQuantity {
  enum class What { parameter, input, state } what = What::parameter;  // input: it varies
  std::string name, unit;                                              // the unit it is told in; empty: SI
  double value = 0.0;                                                  // SI
  double scale = 1.0;  // its size: a deviation as large as that is no knowledge
};

// The root of the information that rows of slopes over noise add up to.
class InformationRoot {
 public:
  explicit InformationRoot(Eigen::Index quantities);
  void add(const Eigen::RowVectorXd& slopes_over_noise);
  const Eigen::MatrixXd& root();  // upper triangular

 private:
  void reflect();
  Eigen::MatrixXd rows_;  // the root so far, then rows that are not yet in it
  Eigen::Index filled_;
};

// The root at some numbers of the quantities.
struct InformationPoint {
  Eigen::VectorXd values;
  Eigen::MatrixXd root;
};

// Something that is known of quantities that are not.
struct Combination {
  std::string text;         // "R_dbc + 3 R_sp", "1/R1 + 1/R2", "R*C"
  double value = 0.0;       // SI
  double deviation = 0.0;   // SI
  std::string unit;         // where its parts agree in it; empty: SI
  bool everywhere = false;  // at other numbers too; otherwise near the present ones
};

// Quantities that cannot be told apart, and what can be told of them.
struct Entangled {
  std::vector<int> parts;
  std::vector<Combination> known;
};

struct Knowledge {
  enum class How {
    known,
    hardly,    // its deviation is larger than it is itself
    together,  // only in a combination: `entangled`
    not_at_all
  };
  std::vector<UnknownQuantity> quantities;
  std::vector<How> how;
  std::vector<double> deviation;  // SI, infinite where it is not known at all
  std::vector<Entangled> entangled;
  Eigen::MatrixXd lost;       // columns: lost directions, in units of the scales
  int rank = 0;               // of the scaled information
  double conditioning = 1.0;  // largest over smallest singular value that counts, columns scaled

  bool all_known() const;
  // What is not known, one each; empty: everything is. Without `states`: not what concerns states alone.
  std::vector<std::string> sentences(bool states = true) const;
};

// `elsewhere`: the information at other numbers, moved by about this part of the scales, differently for each
// quantity; asked for only where something is lost, and may have no answer. A relative deviation above
// `limit` is no knowledge.
using Elsewhere = std::function<std::optional<InformationPoint>(double part)>;
Knowledge judge(std::vector<UnknownQuantity> quantities, const InformationPoint& here,
                const Elsewhere& elsewhere, double limit);

// "a, b and c"
std::string listed(const std::vector<std::string>& names);

}  // namespace tellegen
