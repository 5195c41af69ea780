#include <algorithm>
#include <cmath>
#include <functional>
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

bool reads(const Tree& tree, Tree::What what) {
  return tree.what == what || std::any_of(tree.arguments.begin(), tree.arguments.end(),
                                          [&](const TreePtr& a) { return reads(*a, what); });
}

// Whether a variable decides which way this goes.
bool chosen_by_columns(const Tree& tree) {
  static const std::vector<std::string> deciding{"lt", "le",    "gt",   "ge",   "eq",
                                                 "ne", "floor", "ceil", "sign", "mod"};
  if (tree.what == Tree::What::call && reads(tree, Tree::What::column) &&
      std::find(deciding.begin(), deciding.end(), tree.function) != deciding.end())
    return true;
  return std::any_of(tree.arguments.begin(), tree.arguments.end(),
                     [](const TreePtr& a) { return chosen_by_columns(*a); });
}

// Which of a model's events fixed steps meet where they are. Samples: where they fall on the grid of steps.
// What follows from time and other discrete variables: always. What variables decide: as closely as
// bisections go; in an equation, never.
struct Met {
  bool samples = true, decided = false, chosen = false;
};
Met met_events(const Tableau& tableau, double step) {
  Met met;
  for (const Tableau::Discrete& d : tableau.discrete) {
    const double ratio = d.every / step;
    met.samples = met.samples && std::abs(ratio - std::round(ratio)) < 1e-9 * std::max(1.0, ratio);
    met.decided = met.decided || (d.every == 0.0 && reads(*d.update, Tree::What::column));
  }
  for (const TreePtr& r : tableau.residuals) met.chosen = met.chosen || chosen_by_columns(*r);
  return met;
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
  double doubt = 0.0;  // how far two steps of the reference are apart, relative
  try {
    tableau = read_tableau(text, false);
    want = solve(tableau, draft.outputs, integrals, stop, stop / 50, 1e-9);
    // The oracle must agree with itself, and events must not hang by a thread.
    const Solution finer = solve(tableau, draft.outputs, integrals, stop, stop / 80, 0.0);
    for (std::size_t r = 0; r < want.at.size(); ++r)
      for (std::size_t k = 0; k < want.at[r].size(); ++k)
        doubt = std::max(doubt, std::abs(want.at[r][k] - finer.at[r][k]) / (1 + std::abs(want.at[r][k])));
    for (std::size_t k = 0; k < want.integrals.size(); ++k)
      doubt = std::max(doubt,
                       std::abs(want.integrals[k] - finer.integrals[k]) / (1 + std::abs(want.integrals[k])));
    if (doubt > 1e-3) no_oracle = "two steps of the reference differ";
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
  // Before anyone is accused: both steps of the reference may have passed over a short pulse, or be too long
  // for a junction in the same way.
  const std::string doubtful = "oracle: a much shorter step says otherwise";
  const auto finest_differs = [&] {
    try {
      const Solution finest = solve(tableau, draft.outputs, integrals, stop, stop / 1000, 0.0);
      if (finest.events.size() != want.events.size()) return true;
      for (std::size_t r = 0; r < want.at.size(); ++r)
        for (std::size_t k = 0; k < want.at[r].size(); ++k)
          if (std::abs(want.at[r][k] - finest.at[r][k]) / (1 + std::abs(want.at[r][k])) > 1e-5 + 2 * doubt)
            return true;
      return false;
    } catch (const OracleError&) {
      return true;
    }
  };
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
  const Met met = met_events(tableau, stop / 200);
  int checks = 0, ran = 0;
  std::string code;
  for (const std::string method : {"adaptive", "adaptive-ida", "tr", "bdf1", "bdf2", "bdf3", "trnp", "rk4"}) {
    if (random.chance(0.5)) continue;
    RunSpec s = spec;
    s.method = method;
    s.form = random.pick(std::vector<std::string>{"auto", "tableau", "minimal"});
    s.bisections = random.pick(std::vector<int>{1, 1, 12, 30});
    s.tolerance = 1e-9;
    const double order = method == "bdf1" ? 1.0 : 2.0;
    const bool variable = method.starts_with("adaptive");
    // rk4 looks for events of time too.
    const bool orderly =
        !variable && met.samples && !met.chosen && (s.bisections == 30 || (!met.decided && method != "rk4"));
    const auto judge = [&](const std::function<double(double)>& error, double step) {
      if (orderly) return converges(error, step, order, std::max(2e-7, 30 * doubt), 5);
      // rk4 meets events at the ends of its steps where it does not look for them.
      return converges(error, step, 0.6, std::max(variable || method == "rk4" ? 1e-4 : 1e-5, 10 * doubt), 5);
    };
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
        if (!orderly && near_event(run.t[r], step)) continue;
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
    const Convergence c = judge(error_at, step);
    ++checks;
    if (!crash.empty()) return failed("crash", "a reason or numbers", crash, s.text());
    if (const auto grid = !c.passed && !variable ? on_grid(s.step) : std::nullopt) {
      const Solution kept = std::exchange(want, *grid);
      const double error = error_at(s.step);
      want = kept;
      if (error < std::max({1e-5, 10 * doubt, 0.3 * c.errors.back()})) continue;
    }
    // What is decided by less than the method's error is decided rightly by much shorter steps.
    bool decided_rightly = false;
    const double shortest = s.step / (order == 1.0 ? 64 : 8);
    for (double shorter = s.step / 8; !c.passed && !variable && shorter >= shortest && !decided_rightly;
         shorter /= 8)
      decided_rightly = error_at(shorter) < 0.1 * c.errors.back();
    if (decided_rightly) continue;
    // Few bisections take an event late by a part of the step, whatever the step where it lies just before a
    // point of every grid: many take it where it is.
    if (!c.passed && !variable && s.bisections < 30) {
      const int few = std::exchange(s.bisections, 30);
      const double located = c.errors.back() < step / 32 ? error_at(step / 32) : -1.0;
      s.bisections = few;
      if (located >= 0.0 && located < 0.01 * c.errors.back()) continue;
    }
    if (!c.passed && finest_differs()) return unknown(doubtful);
    if (!c.passed)
      return failed(method + " is wrong", expected, got, where + ", " + s.text() + "; errors " + c.text());
    if (orderly && !c.at_order)
      return failed(method + " is slower than its order", expected, got,
                    where + ", " + s.text() + "; errors " + c.text());
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
      const Convergence ci = judge(integral_error, step);
      ++checks;
      if (!crash.empty()) return failed("crash", "a reason or numbers", crash, study.text());
      if (const auto grid = !ci.passed && !variable ? on_grid(study.step) : std::nullopt) {
        const double there = grid->integrals[k - 1];
        if (std::abs(got - there) / (1 + std::abs(there)) <
            std::max({1e-5, 10 * doubt, 0.3 * ci.errors.back()}))
          continue;
      }
      if (!ci.passed && !variable && integral_error(study.step / 8) < 0.1 * ci.errors.back()) continue;
      if (!ci.passed && finest_differs()) return unknown(doubtful);
      if (!ci.passed)
        return failed("integral over events is wrong with " + method, target, got,
                      name + ", " + study.text() + "; errors " + ci.text());
      if (orderly && !ci.at_order)
        return failed("integral over events is slower than its order with " + method, target, got,
                      name + ", " + study.text() + "; errors " + ci.text());
    }
  }
  // More outputs change no bit.
  if (random.chance(0.5)) {
    RunSpec s = spec;
    s.method = random.pick(std::vector<std::string>{"tr", "bdf2", "bdf3", "rk4", "adaptive"});
    s.compile = random.chance(0.1);
    std::vector<std::string> more = draft.outputs;
    for (const auto& [name, value] : draft.inputs) more.push_back(name);
    if (!draft.outputs.empty()) more.push_back(draft.outputs[0] + "*sin(2*t)");
    const Outcome few = simulate_text(text, s, draft.outputs), many = simulate_text(text, s, more);
    Verdict v = same_bits(few, many, "more outputs change the solution", s.text());
    if (few.ok() && many.ok() && v.what == Verdict::What::failed) return v;
    ++checks;
    if (few.ok() && s.compile) {
      s.compile = false;
      v = same_bits(few, simulate_text(text, s, draft.outputs), "compiled and interpreted differ", s.text());
      if (v.what == Verdict::What::failed) return v;
      ++checks;
    }
  }
  // A run in pieces is the same run, and ends where the other does.
  if (random.chance(0.5)) {
    RunSpec s = spec;
    s.method = random.pick(std::vector<std::string>{"tr", "bdf2", "bdf3", "rk4", "adaptive"});
    s.step = stop / 100;  // some do not converge in such steps, and must say so
    const Outcome whole = simulate_text(text, s, draft.outputs);
    s.pieces = true;
    const Outcome pieces = simulate_text(text, s, draft.outputs);
    if (whole.refused != pieces.refused || whole.crash != pieces.crash)
      return failed("a run in pieces ends otherwise", whole.refused + whole.crash,
                    pieces.refused + pieces.crash, s.text());
    Verdict v = same_bits(whole, pieces, "a run in pieces differs", s.text());
    if (whole.ok() && v.what == Verdict::What::failed) return v;
    ++checks;
  }
  // Another form of the equations takes the same steps.
  if (met.samples && !met.chosen && !met.decided && random.chance(0.5)) {
    RunSpec s = spec;
    s.method = random.pick(std::vector<std::string>{"tr", "bdf1", "bdf2", "bdf3"});
    s.step = stop / 200;
    s.tolerance = 1e-11;
    const Outcome one = simulate_text(text, s, draft.outputs);
    s.form = random.pick(std::vector<std::string>{"tableau", "minimal"});
    const Outcome other = simulate_text(text, s, draft.outputs);
    for (std::size_t r = 0; one.ok() && other.ok() && r < std::min(one.t.size(), other.t.size()); ++r)
      for (std::size_t k = 0; k < one.names.size(); ++k)
        if (!(std::abs(one.at(r, k) - other.at(r, k)) <= 1e-7 * (1 + std::abs(one.at(r, k)))))
          return failed("two forms take other steps", one.at(r, k), other.at(r, k),
                        one.names[k] + " at t = " + number_text(one.t[r], 6) + ", " + s.text());
    ++checks;
  }
  if (ran == 0 && !code.empty()) return refused(code);
  Verdict v;
  v.checks = checks;
  return v;
}

}  // namespace differential
