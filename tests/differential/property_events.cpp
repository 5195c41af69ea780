#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tests/differential/oracle.h"
#include "tests/differential/property.h"
#include "tests/differential/subject.h"

namespace differential {
namespace {

using Eigen::VectorXd;

constexpr int rows = 20;

struct Solution {
  std::vector<std::vector<double>> at;  // [row][output]
  std::vector<double> integrals;
  std::vector<double> events;
};

Solution solve(const Tableau& tableau, const std::vector<std::string>& outputs,
               const std::vector<std::string>& integrals, double stop, double step, double lag,
               double grid = 0.0) {
  std::vector<TreePtr> trees;
  for (const std::string& o : outputs) trees.push_back(tableau.parse(o));
  Reference reference(tableau, step);
  reference.lag = lag;
  reference.grid = grid;
  for (const std::string& f : integrals) reference.integrands.push_back(tableau.parse(f));
  reference.start();
  Solution s;
  const auto keep = [&] {
    std::vector<double> row;
    for (const TreePtr& tree : trees)
      row.push_back(value_at(*tree, reference.x, reference.discrete, reference.t));
    s.at.push_back(row);
  };
  keep();
  for (int k = 1; k <= rows; ++k) {
    reference.advance(stop * k / rows);
    keep();
  }
  s.integrals = reference.integrals;
  s.events = reference.events;
  return s;
}

std::string formula_of(const std::string& objective) {
  const std::size_t from = objective.find("= \"") + 3;
  return objective.substr(from, objective.rfind('"') - from);
}

}  // namespace

Verdict check_events(const Draft& draft) {
  Random random(draft.seed);
  const std::string text = draft.text();
  const double stop = 1.0;
  std::vector<std::string> integrals;
  for (const auto& [name, value] : draft.objectives)
    if (value.find("integral") != std::string::npos) integrals.push_back(formula_of(value));
  Solution want;
  Tableau tableau;
  std::string no_oracle;
  try {
    tableau = read_tableau(text, false);
    want = solve(tableau, draft.outputs, integrals, stop, stop / 50, 1e-9);
    // The oracle must agree with itself, and events must not hang by a thread.
    const Solution finer = solve(tableau, draft.outputs, integrals, stop, stop / 80, 0.0);
    for (std::size_t r = 0; r < want.at.size() && no_oracle.empty(); ++r)
      for (std::size_t k = 0; k < want.at[r].size(); ++k)
        if (std::abs(want.at[r][k] - finer.at[r][k]) > 1e-5 * (1 + std::abs(want.at[r][k])))
          no_oracle = "two steps of the reference differ";
    if (want.events.size() != finer.events.size()) no_oracle = "two steps of the reference see other events";
    want = finer;
  } catch (const OracleError& error) {
    no_oracle = error.what();
  }
  RunSpec spec;
  spec.stop = stop;
  spec.sample = stop / rows;
  if (!no_oracle.empty()) {
    const Outcome run = simulate_text(text, spec, draft.outputs);
    if (!run.crash.empty()) return failed("crash", "a reason or numbers", run.crash, spec.text());
    return run.ok() ? unknown("oracle: " + no_oracle) : refused(run.code);
  }
  const auto near_event = [&](double t, double step) {
    return std::any_of(want.events.begin(), want.events.end(),
                       [&](double e) { return std::abs(t - e) < 3 * step; });
  };
  // Fixed steps sample at the first step that ends at a multiple of the period or after it. Where halving the
  // step does not move that point, the oracle samples there too.
  const bool sampled = std::any_of(tableau.discrete.begin(), tableau.discrete.end(),
                                   [](const Tableau::Discrete& d) { return d.every > 0.0; });
  const auto on_grid = [&](double step) -> std::optional<Solution> {
    if (!sampled) return std::nullopt;
    try {
      return solve(tableau, draft.outputs, integrals, stop, stop / 80, 0.0, step);
    } catch (const OracleError&) {
      return std::nullopt;
    }
  };
  int checks = 0, ran = 0;
  std::string code;
  for (const std::string method : {"adaptive", "tr", "bdf1", "bdf2", "bdf3", "trnp", "rk4"}) {
    if (random.chance(0.5)) continue;
    RunSpec s = spec;
    s.method = method;
    s.form = random.pick(std::vector<std::string>{"auto", "tableau", "minimal"});
    s.bisections = random.pick(std::vector<int>{1, 1, 12, 30});
    s.tolerance = 1e-9;
    double expected = 0.0, got = 0.0;
    std::string where, crash;
    const auto error_at = [&](double step) {
      s.step = step;
      const Outcome run = simulate_text(text, s, draft.outputs);
      if (!run.crash.empty()) crash = run.crash;
      if (!run.ok()) {
        code = run.code;
        return -1.0;
      }
      ++ran;
      double worst = 0.0;
      for (std::size_t r = 0; r < run.t.size() && r < want.at.size(); ++r) {
        if (near_event(run.t[r], step)) continue;
        for (std::size_t k = 0; k < run.names.size(); ++k) {
          const double error = std::abs(run.at(r, k) - want.at[r][k]) / (1 + std::abs(want.at[r][k]));
          if (error > worst) {
            worst = error;
            expected = want.at[r][k];
            got = run.at(r, k);
            where = run.names[k] + " at t = " + number_text(run.t[r], 6);
          }
        }
      }
      return worst;
    };
    double step = stop / 200;
    if (method == "rk4") step = stop / 2000;
    const Convergence c = converges(error_at, step, 0.6, method == "adaptive" ? 1e-4 : 1e-5, 5);
    ++checks;
    if (!crash.empty()) return failed("crash", "a reason or numbers", crash, s.text());
    if (const auto grid = !c.passed && method != "adaptive" ? on_grid(s.step) : std::nullopt) {
      const Solution kept = std::exchange(want, *grid);
      const double error = error_at(s.step);
      want = kept;
      if (error < std::max(1e-5, 0.3 * c.errors.back())) continue;
    }
    if (!c.passed)
      return failed(method + " is wrong", expected, got, where + ", " + s.text() + "; errors " + c.text());
    // Integrals over events, by the same method.
    if (method == "rk4" || integrals.empty() || !random.chance(0.6)) continue;
    StudySpec study;
    static_cast<RunSpec&>(study) = s;
    study.sample = 0.0;
    study.derivatives = "none";
    std::size_t k = 0;
    for (const auto& [name, value] : draft.objectives) {
      if (value.find("integral") == std::string::npos) continue;
      study.objectives = {name};
      const double target = want.integrals[k++];
      const auto integral_error = [&](double h) {
        study.step = h;
        const StudyOutcome run = study_text(text, study);
        if (!run.crash.empty()) crash = run.crash;
        if (!run.ok()) return -1.0;
        got = run.values[0];
        return std::abs(got - target) / (1 + std::abs(target));
      };
      const Convergence ci = converges(integral_error, step, 0.6, method == "adaptive" ? 1e-4 : 1e-5, 5);
      ++checks;
      if (!crash.empty()) return failed("crash", "a reason or numbers", crash, study.text());
      if (const auto grid = !ci.passed && method != "adaptive" ? on_grid(study.step) : std::nullopt) {
        const double there = grid->integrals[k - 1];
        if (std::abs(got - there) / (1 + std::abs(there)) < std::max(1e-5, 0.3 * ci.errors.back())) continue;
      }
      if (!ci.passed)
        return failed("integral over events is wrong with " + method, target, got,
                      name + ", " + study.text() + "; errors " + ci.text());
    }
  }
  // More outputs change no bit.
  if (random.chance(0.5)) {
    RunSpec s = spec;
    s.method = random.pick(std::vector<std::string>{"tr", "bdf2", "bdf3", "adaptive"});
    std::vector<std::string> more = draft.outputs;
    for (const auto& [name, value] : draft.inputs) more.push_back(name);
    if (!draft.outputs.empty()) more.push_back(draft.outputs[0] + "*sin(2*t)");
    const Outcome few = simulate_text(text, s, draft.outputs), many = simulate_text(text, s, more);
    const Verdict v = same_bits(few, many, "more outputs change the solution", s.text());
    if (few.ok() && many.ok() && v.what == Verdict::What::failed) return v;
    ++checks;
  }
  if (ran == 0 && !code.empty()) return refused(code);
  Verdict v;
  v.checks = checks;
  return v;
}

}  // namespace differential
