#include "tellegen/equations/branch_chord.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "tellegen/equations/equation_text.h"
#include "tellegen/equations/formulation.h"
#include "tellegen/equations/sensitivity_graph.h"
#include "tellegen/model/test_text.h"
#include "tellegen/symbolic/parse.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace branch_chord_test {

using Names = std::vector<std::string>;
using Matrix = std::vector<std::vector<int>>;

// The resistive circuit of [thesis, fig. 1.1], its edges directed so that (1.1) holds.
Model resistive_circuit() {
  return model_of(R"toml(
R1 = { kind = "electrical.resistor", p = "a", n = "datum", R = "R_1" }
R2 = { kind = "electrical.resistor", p = "a", n = "b", R = "R_2" }
R5 = { kind = "electrical.resistor", p = "b", n = "c", R = "R_5" }
R4 = { kind = "electrical.resistor", p = "c", n = "datum", R = "R_4" }
R3 = { kind = "electrical.resistor", p = "b", n = "datum", R = "R_3" }
E  = { kind = "electrical.voltage_source", p = "datum", n = "a", V = "E_0*sin(t)" }
[parameters]
R_1 = "1 ohm"
R_2 = "2 ohm"
R_3 = "3 ohm"
R_4 = "4 ohm"
R_5 = "5 ohm"
E_0 = "10 V"
)toml");
}

TEST(BranchChord, the_resistive_circuit_has_the_cutsets_of_1_1) {
  const Model model = resistive_circuit();
  const LinearGraph graph = build_graph(model);
  const Tree tree = tree_of(model, graph, Names{"R1", "R2", "R5"});
  const Matrix a = cutset_part(graph, tree), b = circuit_part(graph, tree);
  EXPECT_EQ(a, (Matrix{{1, 1, -1}, {-1, -1, 0}, {-1, 0, 0}}));  // chords R4, R3, E
  EXPECT_EQ(b, (Matrix{{-1, 1, 1}, {-1, 1, 0}, {1, 0, 0}}));    // (1.2) is printed with the opposite sign
  for (std::size_t chord = 0; chord < 3; ++chord)
    for (std::size_t branch = 0; branch < 3; ++branch)
      EXPECT_EQ(b[chord][branch], -a[branch][chord]);  // B_w = -A_u^T (2.5)
}

TEST(BranchChord, cutsets_and_circuits_of_every_model_are_orthogonal) {
  for (const auto& entry : std::filesystem::directory_iterator(TELLEGEN_SOURCE_DIR "/models")) {
    const Model model = shipped_model(entry.path().filename().string());
    const LinearGraph graph = build_graph(model);
    const Tree tree = normal_tree(graph);
    const Matrix a = cutset_part(graph, tree), b = circuit_part(graph, tree);
    for (std::size_t branch = 0; branch < a.size(); ++branch)
      for (std::size_t chord = 0; chord < b.size(); ++chord)  // [1 A_u] [B_w 1]^T
        ASSERT_EQ(b[chord][branch] + a[branch][chord], 0) << entry.path();
  }
}

TEST(BranchChord, six_unknowns_of_twelve_and_fewer_where_resistors_are_explicit) {
  const Model model = resistive_circuit();
  const SymbolicModel symbolic = symbolic_model(model);
  const Tree tree = tree_of(model, symbolic.graph, Names{"R1", "R2", "R5"});
  EXPECT_EQ(symbolic_tableau(symbolic, tree).unknowns.size(), 12u);
  const SymbolicEquations full = branch_chord(symbolic, tree), left = simplified(symbolic, tree);
  EXPECT_EQ(full.unknowns.size(), 6u);
  EXPECT_EQ(left.unknowns.size(), left.residuals.size());
  EXPECT_LT(left.unknowns.size(), 4u);
  EXPECT_EQ(left.unknowns.size() + left.solved.size(), 6u);
}

// What was eliminated satisfies the equations it was eliminated from.
TEST(BranchChord, what_is_solved_satisfies_every_terminal_equation) {
  for (const char* name : {"rlc", "rc-thermal", "dc-motor", "rectifier", "rc-subsystem"}) {
    const Model model = shipped_model(name);
    const SymbolicModel symbolic = symbolic_model(model);
    const Tree tree = choose_tree(symbolic);
    const SymbolicEquations full = branch_chord(symbolic, tree), left = simplified(symbolic, tree);
    ExprMap<Expr> solved;
    for (const auto& [variable, value] : left.solved) {
      solved[variable] = value;
      solved[rate_symbol(variable)] = derivative(value, model.pool->symbol("t"));
    }
    std::mt19937 random(7);
    std::uniform_real_distribution<double> number(0.1, 1.0);
    ExprMap<double> at{{model.pool->symbol("t"), 0.3}};
    for (std::size_t k = 0; k < symbolic.parameters.size(); ++k)
      at[symbolic.parameters[k]] = symbolic.numbers[k];
    for (Expr u : left.unknowns) at[u] = at[rate_symbol(u)] = number(random);
    std::size_t zero = 0;  // those that gave a variable; the others are the equations left
    for (Expr r : full.residuals) zero += std::abs(evaluate(substitute(r, solved), at)) < 1e-9;
    EXPECT_GE(zero, left.solved.size()) << name;
  }
}

// Parameters to differentiate by, on any model: the first model parameter and own parameters of components.
Names some_parameters(const Model& model) {
  Names names;
  if (!model.parameters.empty()) names.push_back(model.parameters.front().name);
  for (const Component& component : model.components) {
    const Kind& kind = model.kinds[component.kind];
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      const ParameterValue& v = component.values[k];
      if (names.size() < 3 && v.value && v.constant && !v.table)
        names.push_back(component.name + "." + kind.parameters[k].name);
    }
  }
  return names;
}

TEST(BranchChord, the_sensitivity_graph_agrees_with_the_derivative_of_the_assembled_equations) {
  for (const auto& entry : std::filesystem::directory_iterator(TELLEGEN_SOURCE_DIR "/models")) {
    SCOPED_TRACE(entry.path().filename().string());
    const Model model = shipped_model(entry.path().filename().string());
    if (entry.path().filename().string().ends_with("-mec")) continue;  // too large to be written out
    const Names parameters = some_parameters(model);
    const Model combined = with_sensitivities(model, parameters);
    const SymbolicModel system = symbolic_model(model, parameters),
                        both = symbolic_model(combined, parameters);
    const Tree tree = normal_tree(system.graph);
    const SymbolicEquations assembled = branch_chord(system, tree);
    const SymbolicEquations graph =
        branch_chord(both, combined_tree(model, system.graph, tree, tree, combined, both.graph));
    ASSERT_EQ(graph.residuals.size(), (parameters.size() + 1) * assembled.residuals.size());

    std::vector<Expr> direct = assembled.residuals;
    for (const std::string& p : parameters) {
      ParameterDerivative wrt(model, find_parameter(model, p));
      const auto derivatives = differentiate_directly(system, assembled, wrt);
      direct.insert(direct.end(), derivatives.begin(), derivatives.end());
    }
    std::mt19937 random(3);
    std::uniform_real_distribution<double> number(0.2, 0.9);
    ExprMap<double> at;
    for (Expr s : symbols_of(direct)) at[s] = number(random);
    for (Expr s : symbols_of(graph.residuals)) at.try_emplace(s, number(random));
    for (const ModelParameter& p : model.parameters)
      at[p.symbol] += 1.0;  // concentrations below their limits
    // Own parameters as they are: derivatives of defaults that are written in them have numbers in them.
    for (std::size_t k = 0; k < system.own.size(); ++k)
      if (const ParameterRef& p = system.own[k]; p.component >= 0)
        at[system.parameters[k]] = evaluate(model.components[p.component].values[p.index].value, at);
    // Component by component: its own equations, then those of each parameter. Directly: parameter by
    // parameter.
    const std::size_t count = assembled.residuals.size();
    std::size_t next = 0, first = 0;
    for (const Component& component : model.components) {
      const std::size_t own = model.kinds[component.kind].equations.size();
      for (std::size_t p = 0; p <= parameters.size(); ++p)
        for (std::size_t k = 0; k < own; ++k) {
          const double expected = evaluate(direct[p * count + first + k], at);
          const double found = evaluate(graph.residuals[next++], at);
          ASSERT_FALSE(std::isnan(found)) << component.name;
          ASSERT_NEAR(found, expected, 1e-9 * (1.0 + std::abs(expected))) << component.name << " " << p;
        }
      first += own;
    }
  }
}

// [thesis (3.5), (3.10)]: m x'' + c x' + k (x - l0) = F and m x_k'' + c x_k' + k x_k = l0 - x.
TEST(BranchChord, the_spring_mass_damper_has_the_sensitivity_equation_3_10) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "tellegen-spring";
  std::filesystem::create_directories(folder);
  {
    std::ofstream kind(folder / "spring.toml");
    kind << R"toml(
summary    = "Spring with its displacement as a variable."
edges      = { spring = { ports = ["p", "n"], domain = "translational" } }
parameters = { k = { unit = "N/m" }, l0 = { unit = "m" } }
variables  = { x = { unit = "m" } }
equations  = { terminal = ["der(x) = v", "F = k*(x - l0)"] }
)toml";
    std::ofstream file(folder / "model.toml");
    file << R"toml(
name = "spring, mass, damper"
[parameters]
m  = "2 kg"
c  = "0.3 N s/m"
k  = "5 N/m"
l0 = "0.1 m"
[components]
mass   = { kind = "translational.mass", p = "a", m = "m" }
spring = { kind = "spring", p = "a", n = "datum", k = "k", l0 = "l0" }
damper = { kind = "translational.damper", p = "a", n = "datum", d = "c" }
force  = { kind = "translational.force_source", p = "datum", n = "a", F = "sin(t)" }
)toml";
  }
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  const Model model = read_model(folder / "model.toml", reading);
  const Formulation found = formulate(model, {SymbolicForm::branch_chord, {"mass"}, {"k"}, {}});
  Pool& pool = *model.pool;
  ExprMap<Expr> in_displacement;  // v = der(x), as the spring says
  for (const std::string s : {"", "_k"}) {
    in_displacement[pool.symbol("mass.v" + s)] = pool.symbol("der(x" + s + ")");
    in_displacement[pool.symbol("der(mass.v" + s + ")")] = pool.symbol("acc" + s);
    in_displacement[pool.symbol("spring.x" + s)] = pool.symbol("x" + s);
    in_displacement[pool.symbol("der(spring.x" + s + ")")] = pool.symbol("der(x" + s + ")");
  }
  const auto present = [&](const char* text) {
    const Expr expected = parse(pool, text);
    for (Expr r : found.equations.residuals) {
      const Expr is = substitute(r, in_displacement);
      ExprMap<double> at;
      double number = 0.3;
      for (Expr s : symbols_of(std::array{is, expected})) at[s] = number += 0.17;
      const double a = evaluate(is, at), b = evaluate(expected, at);
      if (std::abs(std::abs(a) - std::abs(b)) < 1e-12 && std::abs(a) > 1e-3) return true;
    }
    return false;
  };
  EXPECT_TRUE(present("m*acc + c*der(x) + k*(x - l0) - sin(t)"));
  EXPECT_TRUE(present("m*acc_k + c*der(x_k) + k*x_k - (l0 - x)"));
  EXPECT_EQ(found.equations.residuals.size(), 4u);
}

TEST(BranchChord, a_wrong_tree_is_explained) {
  const Model model = resistive_circuit();
  const LinearGraph graph = build_graph(model);
  const auto fault = [&](const Names& edges) -> std::string {
    try {
      tree_of(model, graph, edges);
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(fault({"R1", "E", "R2"}).find("T222: 'E' in the tree closes a circuit"), std::string::npos);
  EXPECT_NE(fault({"R1", "E", "R2"}).find("T223: the tree does not reach 'c'"), std::string::npos);
  EXPECT_NE(fault({"R1", "R2"}).find("T223"), std::string::npos);
  EXPECT_NE(fault({"R1", "r2", "R5"}).find("did you mean 'R2'?"), std::string::npos);
  EXPECT_EQ(fault({"R3", "R4", "E"}), "");
}

TEST(BranchChord, the_chosen_tree_is_no_worse_than_the_normal_one) {
  for (const char* name : {"rlc", "dc-motor", "ladder-2"}) {
    const Model model = shipped_model(name);
    const SymbolicModel symbolic = symbolic_model(model);
    EXPECT_LE(simplified(symbolic, choose_tree(symbolic)).residuals.size(),
              simplified(symbolic, normal_tree(symbolic.graph)).residuals.size());
  }
}

TEST(BranchChord, different_trees_for_system_and_sensitivities_say_the_same) {
  const Model model = resistive_circuit();
  const auto solve = [&](const Names& tree) {  // d i_R4/d R_2, by Cramer's rule on linear equations
    const Formulation f = formulate(model, {SymbolicForm::branch_chord, {"R1", "R2", "R5"}, {"R_2"}, tree});
    const std::size_t n = f.equations.residuals.size();
    ExprMap<double> at{{model.pool->symbol("t"), 0.5}};
    for (std::size_t k = 0; k < f.symbolic.parameters.size(); ++k)
      at[f.symbolic.parameters[k]] = f.symbolic.numbers[k];
    for (Expr u : f.equations.unknowns) at[u] = 0.0;
    std::vector<std::vector<double>> m(n, std::vector<double>(n + 1));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        m[i][j] = evaluate(derivative(f.equations.residuals[i], f.equations.unknowns[j]), at);
      m[i][n] = -evaluate(f.equations.residuals[i], at);
    }
    for (std::size_t j = 0; j < n; ++j) {
      std::size_t pivot = j;
      for (std::size_t i = j; i < n; ++i)
        if (std::abs(m[i][j]) > std::abs(m[pivot][j])) pivot = i;
      std::swap(m[j], m[pivot]);
      for (std::size_t i = 0; i < n; ++i)
        if (i != j)
          for (std::size_t k = n + 1; k-- > j;) m[i][k] -= m[i][j] / m[j][j] * m[j][k];
    }
    for (std::size_t j = 0; j < n; ++j) at[f.equations.unknowns[j]] = m[j][n] / m[j][j];
    for (auto s = f.equations.solved.rbegin(); s != f.equations.solved.rend(); ++s)
      at[s->first] = evaluate(s->second, at);
    // The through of R4's copy: a chord in one tree, in the other the copy's resistance gives it.
    const Expr through = model.pool->symbol("R4.i_R_2"), across = model.pool->symbol("R4.v_R_2");
    return at.contains(through) ? at.at(through) : at.at(across) / 4.0;
  };
  const double same = solve({}), other = solve({"R4", "R3", "E"});
  EXPECT_NEAR(same, other, 1e-12);
  // Closed form: R2 feeds R3 parallel to R4 + R5 (9 ohm); the source pulls a below the datum.
  const auto i4 = [](double r2) {
    const double parallel = 3.0 * 9.0 / 12.0, v = 10.0 * std::sin(0.5) * parallel / (r2 + parallel);
    return -v / 9.0;
  };
  EXPECT_NEAR(same, (i4(2.0 + 1e-6) - i4(2.0 - 1e-6)) / 2e-6, 1e-8);
}

TEST(BranchChord, a_large_model_is_refused) {
  std::string text;
  for (int k = 0; k < 1100; ++k)
    text +=
        "r" + std::to_string(k) + " = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", R = 1 }\n";
  const Model model = model_of(text);
  try {
    symbolic_model(model);
    ADD_FAILURE();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].code, "T225");
  }
}

TEST(BranchChord, the_system_s_equations_stay_free_of_sensitivities) {
  const Model model = shipped_model("rlc");
  const Formulation alone = formulate(model, {SymbolicForm::branch_chord, {"ground", "e1", "c1"}, {}, {}});
  const Formulation both =
      formulate(model, {SymbolicForm::branch_chord, {"ground", "e1", "c1"}, {"l1.L"}, {}});
  ASSERT_EQ(both.equations.residuals.size(), 2 * alone.equations.residuals.size());
  for (std::size_t k = 0; k < alone.equations.residuals.size(); ++k)
    EXPECT_EQ(both.equations.residuals[k], alone.equations.residuals[k]);
}

TEST(BranchChord, costs_of_the_three_ways_are_compared) {
  const Model model = shipped_model("rlc");
  const Formulation f = formulate(model, {SymbolicForm::branch_chord, {}, {"r1.R", "l1.L"}, {}});
  const auto costs = compare_costs(model, f);
  ASSERT_EQ(costs.size(), 4u);
  EXPECT_EQ(costs[0].method, "finite differences");
  EXPECT_EQ(costs[0].after.multiplications, 3 * costs[3].after.multiplications);
  EXPECT_EQ(costs[2].method, "sensitivity graph");
  EXPECT_GT(costs[2].before.additions, costs[3].before.additions);
  for (const MethodCost& c : costs) EXPECT_LE(c.after.multiplications, c.before.multiplications) << c.method;
}

TEST(EquationText, unknowns_stand_to_the_left) {
  const Model model = shipped_model("rc-thermal");
  const Formulation f = formulate(model, {});
  const std::string text = equations_as_text(page_of(f.symbolic, f.equations, "branch-chord"));
  EXPECT_NE(text.find("der("), std::string::npos) << text;
  EXPECT_EQ(text.find("= 0\n"), std::string::npos) << text;
}

TEST(EquationText, the_minimal_form_is_written_with_numbers) {
  const Model model = shipped_model("rlc");
  const EquationPage page = minimal_page(model);
  EXPECT_EQ(page.unknowns.size(), 2u);
  EXPECT_EQ(page.equations.roots.size(), 2u);
  for (Expr s : symbols_of(page.equations.roots))
    EXPECT_TRUE(s.name().find("$") == std::string::npos) << s.name();
}

}  // namespace branch_chord_test
}  // namespace tellegen
