#include "tellegen/conic/conic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tellegen/conic/cones.h"

namespace tellegen {
namespace conic_test {

const double root2 = std::sqrt(2.0);

ConicOptions tight() {
  ConicOptions options;
  options.feasibility = options.gap = 1e-9;
  return options;
}

std::vector<double> product(const std::vector<SparseEntry>& entries, const std::vector<double>& x,
                            std::size_t rows, bool transposed = false) {
  std::vector<double> y(rows, 0.0);
  for (const SparseEntry& e : entries)
    y[transposed ? e.column : e.row] += e.value * x[transposed ? e.row : e.column];
  return y;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

double margin(const ConicProblem& problem, const std::vector<double>& point) {
  return ConeProduct(problem.nonnegative, problem.second_order, problem.semidefinite).margin(point.data());
}

// The conditions of Karush, Kuhn and Tucker, from the data alone.
void expect_optimal(const ConicProblem& problem, const ConicSolution& found, double tolerance) {
  ASSERT_EQ(found.status, ConicStatus::solved) << found.brief();
  const auto ax = product(problem.A, found.x, problem.b.size());
  for (std::size_t k = 0; k < ax.size(); ++k) EXPECT_NEAR(ax[k], problem.b[k], tolerance);
  const auto gx = product(problem.G, found.x, problem.h.size());
  for (std::size_t k = 0; k < gx.size(); ++k) EXPECT_NEAR(gx[k] + found.s[k], problem.h[k], tolerance);
  auto stationary = product(problem.A, found.y, problem.variables, true);
  const auto gz = product(problem.G, found.z, problem.variables, true);
  for (std::int32_t k = 0; k < problem.variables; ++k)
    EXPECT_NEAR(stationary[k] + gz[k] + problem.c[k], 0.0, tolerance);
  EXPECT_GE(margin(problem, found.s), 0.0);
  EXPECT_GE(margin(problem, found.z), 0.0);
  const double primal = inner(problem.c, found.x),
               dual = -inner(problem.b, found.y) - inner(problem.h, found.z);
  EXPECT_NEAR(primal, dual, tolerance * (1.0 + std::abs(primal)));
  EXPECT_NEAR(inner(found.s, found.z), 0.0, tolerance * (1.0 + std::abs(primal)));
}

void expect_infeasible(const ConicProblem& problem, const ConicSolution& found) {
  ASSERT_EQ(found.status, ConicStatus::infeasible) << found.brief();
  const auto ay = product(problem.A, found.y, problem.variables, true);
  const auto gz = product(problem.G, found.z, problem.variables, true);
  for (std::int32_t k = 0; k < problem.variables; ++k) EXPECT_NEAR(ay[k] + gz[k], 0.0, 1e-7);
  EXPECT_NEAR(inner(problem.b, found.y) + inner(problem.h, found.z), -1.0, 1e-9);
  EXPECT_GE(margin(problem, found.z), 0.0);
}

void expect_unbounded(const ConicProblem& problem, const ConicSolution& found) {
  ASSERT_EQ(found.status, ConicStatus::unbounded) << found.brief();
  for (const double r : product(problem.A, found.x, problem.b.size())) EXPECT_NEAR(r, 0.0, 1e-7);
  const auto gx = product(problem.G, found.x, problem.h.size());
  for (std::size_t k = 0; k < gx.size(); ++k) EXPECT_NEAR(gx[k] + found.s[k], 0.0, 1e-7);
  EXPECT_NEAR(inner(problem.c, found.x), -1.0, 1e-9);
  EXPECT_GE(margin(problem, found.s), 0.0);
}

// max 3x + 5y: x <= 4, 2y <= 12, 3x + 2y <= 18, x, y >= 0. [Hillier and Lieberman, Wyndor Glass]
TEST(conic, a_textbook_linear_programme) {
  ConicProblem p;
  p.variables = 2;
  p.c = {-3.0, -5.0};
  p.G = {{0, 0, 1.0}, {1, 1, 2.0}, {2, 0, 3.0}, {2, 1, 2.0}, {3, 0, -1.0}, {4, 1, -1.0}};
  p.h = {4.0, 12.0, 18.0, 0.0, 0.0};
  p.nonnegative = 5;
  const ConicSolution found = solve(p, tight());
  expect_optimal(p, found, 1e-7);
  EXPECT_NEAR(found.x[0], 2.0, 1e-7);
  EXPECT_NEAR(found.x[1], 6.0, 1e-7);
  EXPECT_NEAR(found.objective, -36.0, 1e-7);
}

// min x + 2y + 2z in the ball |.| <= 3: -3 |(1, 2, 2)|, at -(1, 2, 2).
TEST(conic, a_linear_form_over_a_ball) {
  ConicProblem p;
  p.variables = 3;
  p.c = {1.0, 2.0, 2.0};
  p.G = {{1, 0, -1.0}, {2, 1, -1.0}, {3, 2, -1.0}};
  p.h = {3.0, 0.0, 0.0, 0.0};
  p.second_order = {4};
  const ConicSolution found = solve(p, tight());
  expect_optimal(p, found, 1e-7);
  EXPECT_NEAR(found.objective, -9.0, 1e-7);
  EXPECT_NEAR(found.x[1], -2.0, 1e-6);
}

// The largest eigenvalue of a symmetric matrix: min t, t I - M >= 0. Of tridiag(-1, 2, -1), order 4:
// 2 + 2 cos(pi / 5).
TEST(conic, the_largest_eigenvalue_as_a_semidefinite_programme) {
  ConicProblem p;
  p.variables = 1;
  p.c = {1.0};
  p.semidefinite = {4};
  for (int j = 0, row = 0; j < 4; ++j)
    for (int i = j; i < 4; ++i, ++row) {
      if (i == j) p.G.push_back({row, 0, -1.0});
      p.h.push_back(i == j ? -2.0 : i == j + 1 ? root2 : 0.0);
    }
  const ConicSolution found = solve(p, tight());
  expect_optimal(p, found, 1e-7);
  EXPECT_NEAR(found.objective, 2.0 + 2.0 * std::cos(std::acos(-1.0) / 5.0), 1e-8);
}

// The cone of a product: c3 is largest, with both squares given, at the geometric mean of what they leave.
TEST(conic, the_cone_of_a_product) {
  ConicProblem p;  // [1 a b; a A c; b c B] >= 0 with a = 0.5, b = 2, A = 1.25, B = 5: c <= a b + sqrt(1 * 1)
  p.variables = 1;
  p.c = {-1.0};
  p.semidefinite = {3};
  p.G = {{4, 0, -root2}};
  p.h = {1.0, 0.5 * root2, 2.0 * root2, 1.25, 0.0, 5.0};
  const ConicSolution found = solve(p, tight());
  expect_optimal(p, found, 1e-6);
  EXPECT_NEAR(found.x[0], 2.0, 1e-7);
}

TEST(conic, contradicting_bounds_are_proved_infeasible) {
  ConicProblem p;  // x >= 1, x <= 0
  p.variables = 1;
  p.c = {1.0};
  p.G = {{0, 0, -1.0}, {1, 0, 1.0}};
  p.h = {-1.0, 0.0};
  p.nonnegative = 2;
  expect_infeasible(p, solve(p));
}

TEST(conic, a_ball_beside_its_tangent_plane_is_proved_infeasible) {
  ConicProblem p;  // |x| <= 1, x_0 + x_1 = 1.5
  p.variables = 2;
  p.c = {0.0, 1.0};
  p.A = {{0, 0, 1.0}, {0, 1, 1.0}};
  p.b = {1.5};
  p.G = {{1, 0, -1.0}, {2, 1, -1.0}};
  p.h = {1.0, 0.0, 0.0};
  p.second_order = {3};
  expect_infeasible(p, solve(p));
}

TEST(conic, a_matrix_with_a_negative_diagonal_is_proved_infeasible) {
  ConicProblem p;  // [-1 x; x y] >= 0
  p.variables = 2;
  p.c = {1.0, 1.0};
  p.G = {{1, 0, -root2}, {2, 1, -1.0}};
  p.h = {-1.0, 0.0, 0.0};
  p.semidefinite = {2};
  expect_infeasible(p, solve(p));
}

TEST(conic, unbounded_problems_come_with_a_ray) {
  ConicProblem line;  // min -x, x >= 0
  line.variables = 1;
  line.c = {-1.0};
  line.G = {{0, 0, -1.0}};
  line.h = {0.0};
  line.nonnegative = 1;
  expect_unbounded(line, solve(line));

  ConicProblem matrix;  // min x - y, [y x; x 1] >= 0
  matrix.variables = 2;
  matrix.c = {1.0, -1.0};
  matrix.G = {{0, 1, -1.0}, {1, 0, -root2}};
  matrix.h = {0.0, 0.0, 1.0};
  matrix.semidefinite = {2};
  expect_unbounded(matrix, solve(matrix));

  ConicProblem cone;  // min -t, |x| <= t, x = 1
  cone.variables = 2;
  cone.c = {-1.0, 0.0};
  cone.A = {{0, 1, 1.0}};
  cone.b = {1.0};
  cone.G = {{0, 0, -1.0}, {1, 1, -1.0}};
  cone.h = {0.0, 0.0};
  cone.second_order = {2};
  expect_unbounded(cone, solve(cone));
}

// An infimum that is not attained: min A, [A 1; 1 B] >= 0. The objective comes as near to zero as is asked.
TEST(conic, an_infimum_that_is_not_attained_is_approached) {
  ConicProblem p;
  p.variables = 2;
  p.c = {1.0, 0.0};
  p.G = {{0, 0, -1.0}, {2, 1, -1.0}};
  p.h = {0.0, root2, 0.0};
  p.semidefinite = {2};
  for (const double gap : {1e-3, 1e-4, 1e-5, 1e-6}) {
    ConicOptions options;
    options.gap = gap;
    const ConicSolution found = solve(p, options);
    EXPECT_EQ(found.status, ConicStatus::solved) << found.brief();
    EXPECT_LE(std::abs(found.objective), 10.0 * gap);
    EXPECT_GE(found.x[1], 0.01 / gap);  // and its matrix grows without bound
  }
}

// Feasible and bounded by its making: h = G x + (inside), c = -A'y - G'(inside).
ConicProblem random_problem(std::mt19937_64& random, int variables, int equalities, int nonnegative,
                            std::vector<int> second_order, std::vector<int> semidefinite) {
  std::normal_distribution<double> normal;
  ConicProblem p;
  p.variables = variables;
  p.nonnegative = nonnegative;
  p.second_order = std::move(second_order);
  p.semidefinite = std::move(semidefinite);
  ConeProduct cones(nonnegative, p.second_order, p.semidefinite);
  const auto vector = [&](int n) {
    std::vector<double> v(n);
    for (double& x : v) x = normal(random);
    return v;
  };
  const auto inside = [&] {
    std::vector<double> v = vector(cones.rows());
    cones.add_identity(0.1 - std::min(0.0, cones.margin(v.data())), v.data());
    return v;
  };
  for (int i = 0; i < equalities; ++i)
    for (int j = 0; j < variables; ++j) p.A.push_back({i, j, normal(random)});
  for (int i = 0; i < cones.rows(); ++i)
    for (int j = 0; j < variables; ++j)
      if (random() % 2) p.G.push_back({i, j, normal(random)});
  const auto x = vector(variables), y = vector(equalities), s = inside(), z = inside();
  p.b = product(p.A, x, equalities);
  p.h = product(p.G, x, cones.rows());
  for (int k = 0; k < cones.rows(); ++k) p.h[k] += s[k];
  p.c = product(p.A, y, variables, true);
  const auto gz = product(p.G, z, variables, true);
  for (int k = 0; k < variables; ++k) p.c[k] = -p.c[k] - gz[k];
  return p;
}

TEST(conic, random_problems_meet_the_optimality_conditions) {
  std::mt19937_64 random(7);
  for (int draw = 0; draw < 60; ++draw) {
    const int variables = 3 + static_cast<int>(random() % 12);
    std::vector<int> second_order, semidefinite;
    for (int k = static_cast<int>(random() % 4); k > 0; --k)
      second_order.push_back(2 + static_cast<int>(random() % 5));
    for (int k = static_cast<int>(random() % 4); k > 0; --k)
      semidefinite.push_back(1 + static_cast<int>(random() % 5));
    const ConicProblem p =
        random_problem(random, variables, variables / 4, variables + 2, second_order, semidefinite);
    const ConicSolution found = solve(p);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + found.brief());
    expect_optimal(p, found, 1e-5);
    EXPECT_LE(found.iterations, 25);
  }
}

TEST(conic, equalities_alone_are_solved_too) {
  ConicProblem p;  // x + y = 2, x - y = 1, min 3x - y: nothing is left to choose
  p.variables = 2;
  p.c = {3.0, -1.0};
  p.A = {{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, 1.0}, {1, 1, -1.0}};
  p.b = {2.0, 1.0};
  const ConicSolution found = solve(p);
  ASSERT_EQ(found.status, ConicStatus::solved) << found.brief();
  EXPECT_NEAR(found.objective, 4.0, 1e-7);
}

// A variable that one equality gives is not searched; its multiplier comes back.
TEST(conic, substituted_variables_keep_objective_and_multipliers) {
  ConicProblem p;  // min u + v: u = 1 - x, v = 2 x + 3, 0 <= x <= 5
  p.variables = 3;
  p.c = {0.0, 1.0, 1.0};
  p.A = {{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, -2.0}, {1, 2, 1.0}};
  p.b = {1.0, 3.0};
  p.G = {{0, 0, -1.0}, {1, 0, 1.0}};
  p.h = {0.0, 5.0};
  p.nonnegative = 2;
  const ConicSolution found = solve(p);
  expect_optimal(p, found, 1e-6);
  EXPECT_NEAR(found.objective, 4.0, 1e-6);
  EXPECT_NEAR(found.dual_objective, 4.0, 1e-6);
}

TEST(conic, badly_scaled_rows_and_columns_change_little) {
  std::mt19937_64 random(8);
  ConicProblem p = random_problem(random, 8, 2, 10, {4}, {3});
  const ConicSolution before = solve(p, tight());
  std::vector<double> column(p.variables);
  for (double& d : column) d = std::pow(10.0, 6.0 * std::uniform_real_distribution<double>()(random) - 3.0);
  for (std::vector<SparseEntry>* entries : {&p.A, &p.G})
    for (SparseEntry& e : *entries) e.value *= column[e.column];
  for (int k = 0; k < p.variables; ++k) p.c[k] *= column[k];
  const ConicSolution after = solve(p, tight());
  EXPECT_EQ(after.status, ConicStatus::solved) << after.brief();
  EXPECT_NEAR(after.objective, before.objective, 1e-6 * (1.0 + std::abs(before.objective)));
}

// A chain in time, each link a product of a state and one of two numbers that all links share: the factor
// grows by the same entries with every link.
ConicProblem chain(int links) {
  ConicProblem p;  // parameters 0: a, 1: its square; per link x, x^2, a x
  p.variables = 2 + 3 * links;
  p.c.assign(p.variables, 0.0);
  p.c[1] = 1e-3;
  for (int k = 0; k < links; ++k) {
    const int x = 2 + 3 * k;
    const double reading = std::pow(0.9, k);
    p.c[x] = -2.0 * reading, p.c[x + 1] = 1.0;
    if (k + 1 < links) {  // x_next = x - 0.1 a x
      p.A.insert(p.A.end(), {{k, x + 3, 1.0}, {k, x, -1.0}, {k, x + 2, 0.1}});
      p.b.push_back(0.0);
    }
    const int row = 6 * k;
    p.G.insert(p.G.end(), {{row + 1, 0, -root2},
                           {row + 2, x, -root2},
                           {row + 3, 1, -1.0},
                           {row + 4, x + 2, -root2},
                           {row + 5, x + 1, -1.0}});
    p.h.insert(p.h.end(), {1.0, 0.0, 0.0, 0.0, 0.0, 0.0});
    p.semidefinite.push_back(3);
  }
  return p;
}

TEST(conic, a_chain_in_time_costs_the_same_for_every_link) {
  const auto nonzeros = [](int links) {
    const ConicProblem p = chain(links);
    const ConicSolution found = solve(p);
    EXPECT_EQ(found.status, ConicStatus::solved) << found.brief();
    return static_cast<double>(found.factor_nonzeros);
  };
  const double small = nonzeros(100), large = nonzeros(1000);
  EXPECT_NEAR(large / small, 10.0, 0.5);
}

TEST(conic, the_same_problem_gives_the_same_bits) {
  const ConicProblem p = chain(50);
  EXPECT_EQ(solve(p).x, solve(p).x);
}

}  // namespace conic_test
}  // namespace tellegen
