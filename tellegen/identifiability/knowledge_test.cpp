#include "tellegen/identifiability/knowledge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/identifiability/combinations.h"

namespace tellegen {
namespace knowledge_test {

using How = Knowledge::How;

// Readings as functions of the quantities: slopes by central differences, exact enough for these.
using Readings = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

Knowledge judge_readings(const std::vector<std::string>& names, const std::vector<double>& at,
                         const Readings& readings, double noise = 1e-3) {
  std::vector<UnknownQuantity> quantities;
  for (std::size_t k = 0; k < names.size(); ++k)
    quantities.push_back({UnknownQuantity::What::parameter, names[k], "", at[k], std::abs(at[k])});
  const auto information = [&](const Eigen::VectorXd& p) {
    const auto rows = readings(p).size();
    Eigen::MatrixXd slopes(rows, p.size());
    for (Eigen::Index k = 0; k < p.size(); ++k) {
      const double h = 1e-4 * std::abs(p[k]);
      Eigen::VectorXd low = p, high = p;
      low[k] -= h;
      high[k] += h;
      slopes.col(k) = (readings(high) - readings(low)) / (2 * h);
    }
    InformationRoot root(p.size());
    for (Eigen::Index r = 0; r < rows; ++r) root.add(slopes.row(r) / noise);
    return InformationPoint{p, root.root()};
  };
  const Eigen::VectorXd here = Eigen::Map<const Eigen::VectorXd>(at.data(), static_cast<long>(at.size()));
  const auto elsewhere = [&](double part) -> std::optional<InformationPoint> {
    Eigen::VectorXd moved = here;
    for (Eigen::Index k = 0; k < here.size(); ++k)
      moved[k] *= 1.0 + part * (k % 2 == 0 ? 1.0 : -0.7) / static_cast<double>(k + 1);
    return information(moved);
  };
  return judge(quantities, information(here), elsewhere, 1.0);
}

Eigen::VectorXd vector(std::initializer_list<double> values) {
  Eigen::VectorXd v(static_cast<long>(values.size()));
  Eigen::Index k = 0;
  for (double x : values) v[k++] = x;
  return v;
}

TEST(Knowledge, the_bound_of_a_straight_line_is_that_of_least_squares) {
  // y = a + b t at t = 0, 1, 2, 3: variances s^2 (7/10) and s^2/5.
  const Knowledge k = judge_readings({"a", "b"}, {2.0, 3.0}, [](const auto& p) {
    return vector({p[0], p[0] + p[1], p[0] + 2 * p[1], p[0] + 3 * p[1]});
  });
  ASSERT_TRUE(k.all_known());
  EXPECT_NEAR(k.deviation[0], 1e-3 * std::sqrt(0.7), 1e-9);
  EXPECT_NEAR(k.deviation[1], 1e-3 * std::sqrt(0.2), 1e-9);
  EXPECT_TRUE(k.sentences().empty());
  EXPECT_EQ(k.rank, 2);
}

TEST(Knowledge, many_rows_add_up_as_one_matrix_would) {
  InformationRoot root(2);
  for (int k = 0; k < 1000; ++k) root.add(vector({1.0, static_cast<double>(k % 7)}).transpose());
  Eigen::Matrix2d f = Eigen::Matrix2d::Zero();
  for (int k = 0; k < 1000; ++k) {
    const Eigen::Vector2d row(1.0, k % 7);
    f += row * row.transpose();
  }
  EXPECT_LT((root.root().transpose() * root.root() - f).norm(), 1e-9 * f.norm());
}

TEST(Knowledge, a_sum_is_told_as_a_sum_with_whole_numbers) {
  const Knowledge k =
      judge_readings({"R_die", "R_dbc", "R_sp", "R_w"}, {7.5, 30.47, 3.771, 1.837}, [](const auto& p) {
        return vector({2 * p[1] + 6 * p[2] + 6 * p[3], 6 * p[3]});
      });
  EXPECT_EQ(k.sentences(),
            (std::vector<std::string>{"R_dbc and R_sp only as R_dbc + 3 R_sp", "R_die not at all"}));
  EXPECT_EQ(k.how[3], How::known);
  ASSERT_EQ(k.entangled.size(), 1u);
  const Combination& c = k.entangled[0].known.at(0);
  EXPECT_TRUE(c.everywhere);
  EXPECT_NEAR(c.value, 41.783, 1e-9);
  EXPECT_NEAR(c.deviation, 1e-3 * std::sqrt(2.0) / 2.0, 1e-9);
}

TEST(Knowledge, a_scale_is_told_as_a_product) {
  const Knowledge k = judge_readings({"R", "C"}, {2.0, 0.4}, [](const auto& p) {
    return vector({std::exp(-1.0 / (p[0] * p[1])), std::exp(-2.0 / (p[0] * p[1]))});
  });
  EXPECT_EQ(k.sentences(), std::vector<std::string>{"R and C only as R*C"});
  EXPECT_NEAR(k.entangled.at(0).known.at(0).value, 0.8, 1e-12);
}

TEST(Knowledge, a_ratio_and_a_power_are_told_as_such) {
  EXPECT_EQ(
      judge_readings({"k", "m"}, {3.0, 5.0}, [](const auto& p) { return vector({std::sqrt(p[0] / p[1])}); })
          .sentences(),
      std::vector<std::string>{"k and m only as k/m"});
  EXPECT_EQ(judge_readings({"a", "b"}, {3.0, 5.0}, [](const auto& p) { return vector({p[0] * p[1] * p[1]}); })
                .sentences(),
            std::vector<std::string>{"a and b only as a*b^2"});
}

TEST(Knowledge, parallel_paths_are_told_as_a_sum_of_inverses) {
  const Knowledge k = judge_readings({"R1", "R2"}, {2.0, 3.0},
                                     [](const auto& p) { return vector({1.0 / (1.0 / p[0] + 1.0 / p[1])}); });
  EXPECT_EQ(k.sentences(), std::vector<std::string>{"R1 and R2 only as 1/R1 + 1/R2"});
}

TEST(Knowledge, three_that_are_told_by_two_sums) {
  const Knowledge k = judge_readings({"a", "b", "c"}, {2.0, 3.0, 5.0}, [](const auto& p) {
    return vector({p[0] + p[1], p[1] + p[2]});
  });
  ASSERT_EQ(k.entangled.size(), 1u);
  EXPECT_EQ(k.entangled[0].known.size(), 2u);
  EXPECT_EQ(k.rank, 2);
}

TEST(Knowledge, what_is_drowned_in_noise_is_hardly_known) {
  const Knowledge k = judge_readings(
      {"a", "b"}, {2.0, 3.0},
      [](const auto& p) {
        return vector({p[0], 1e-5 * p[1]});
      },
      1e-3);
  EXPECT_EQ(k.how[0], How::known);
  EXPECT_EQ(k.how[1], How::hardly);
  EXPECT_NEAR(k.deviation[1], 100.0, 1e-4);
}

TEST(Knowledge, a_combination_that_holds_only_here_says_so) {
  // (a + b^2) and nothing else: no coordinate of the list makes it a form.
  const Knowledge k =
      judge_readings({"a", "b"}, {2.0, 3.0}, [](const auto& p) { return vector({p[0] + p[1] * p[1]}); });
  EXPECT_EQ(k.sentences(), std::vector<std::string>{"a and b only as a + 6 b, near the present values"});
}

TEST(Knowledge, coefficients_become_whole_numbers_where_they_can) {
  EXPECT_EQ(simple_multiples({0.2, 0.6}, 1e-6), (std::vector<double>{1.0, 3.0}));
  EXPECT_EQ(simple_multiples({-1.0, 1.5}, 1e-6), (std::vector<double>{2.0, -3.0}));
  EXPECT_EQ(simple_multiples({1.0, M_PI}, 1e-6), (std::vector<double>{1.0, M_PI}));
  EXPECT_EQ(simple_multiples({1.0, 1e-9, 2.0}, 1e-6), (std::vector<double>{1.0, 0.0, 2.0}));
}

}  // namespace knowledge_test
}  // namespace tellegen
