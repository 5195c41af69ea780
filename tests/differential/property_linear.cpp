#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>

#include "tests/differential/oracle.h"
#include "tests/differential/property.h"
#include "tests/differential/subject.h"

namespace differential {
namespace {

using Eigen::VectorXd;

constexpr int check_times = 8;

struct Expected {
  std::vector<VectorXd> at;  // at k*stop/check_times
  VectorXd size;
  std::vector<double> jumps;
  double stop = 1.0;
  bool near_jump(double t, double step) const {
    return std::any_of(jumps.begin(), jumps.end(), [&](double j) { return std::abs(t - j) < 2.5 * step; });
  }
};

// The largest error over columns and times, and where.
struct Error {
  double size = 0.0, expected = 0.0, got = 0.0;
  std::string where;
};
Error error_of(const Outcome& run, const Expected& expected, double step) {
  Error worst;
  for (std::size_t row = 0; row < run.t.size() && row < expected.at.size(); ++row) {
    if (expected.near_jump(run.t[row], step)) continue;
    for (std::size_t k = 0; k < run.names.size(); ++k) {
      const double want = expected.at[row][static_cast<int>(k)], got = run.at(row, k);
      const double error = std::abs(got - want) / expected.size[static_cast<int>(k)];
      if (error > worst.size)
        worst = {error, want, got, run.names[k] + " at t = " + number_text(run.t[row], 6)};
    }
  }
  return worst;
}

double order_of(const std::string& method) {
  if (method == "bdf1") return 1;
  if (method == "bdf3") return 3;
  if (method == "rk4") return 4;
  return 2;
}

// Gauss's rule between jumps, each panel halved until it settles: what decays quickly at the start is short.
double integral_of(const LinearOracle& oracle, const Tree& f, double from, double to) {
  const auto gauss = [&](double a, double b) {
    static const double points[3][2] = {
        {0.5 - std::sqrt(0.15), 5.0 / 18}, {0.5, 8.0 / 18}, {0.5 + std::sqrt(0.15), 5.0 / 18}};
    double sum = 0.0;
    for (const auto& [c, w] : points) {
      const double t = a + c * (b - a);
      sum += w * (b - a) * value_at(f, oracle.at(t), {}, t);
    }
    return sum;
  };
  const std::function<double(double, double, double, int)> settled = [&](double a, double b, double whole,
                                                                         int depth) {
    const double middle = 0.5 * (a + b), left = gauss(a, middle), right = gauss(middle, b);
    if (depth == 0 || std::abs(left + right - whole) < 1e-10 * (std::abs(left) + std::abs(right)) + 1e-13)
      return left + right;
    return settled(a, middle, left, depth - 1) + settled(middle, b, right, depth - 1);
  };
  std::vector<double> marks{from};
  for (double j : oracle.jumps())
    if (j > from && j < to) marks.push_back(j);
  marks.push_back(to);
  double sum = 0.0;
  const int panels = 4;
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
    const double h = (marks[k + 1] - marks[k]) / panels;
    for (int p = 0; p < panels; ++p) {
      const double a = marks[k] + p * h;
      sum += settled(a, a + h, gauss(a, a + h), 12);
    }
  }
  return sum;
}

}  // namespace

Verdict check_linear(const Draft& draft) {
  Random random(draft.seed);
  const std::string text = draft.text();
  Tableau tableau;
  std::unique_ptr<LinearOracle> oracle;
  Expected expected;
  std::string no_oracle;
  try {
    tableau = read_tableau(text, true);
    oracle = std::make_unique<LinearOracle>(tableau, expected.stop);
  } catch (const OracleError& error) {
    no_oracle = error.what();
  }
  RunSpec spec;
  spec.stop = expected.stop;
  spec.sample = spec.stop / check_times;
  spec.step = spec.stop / 64;
  if (!oracle) {
    const Outcome run = simulate_text(text, spec, draft.outputs);
    if (!run.crash.empty()) return failed("crash", "a reason or numbers", run.crash, spec.text());
    return run.ok() ? unknown("oracle: " + no_oracle) : refused(run.code);
  }
  const std::vector<std::string> all = tableau.columns;
  const Outcome base = simulate_text(text, spec, all);
  if (!base.crash.empty()) return failed("crash", "a reason or numbers", base.crash, spec.text());
  if (!base.ok()) return refused(base.code);

  VectorXd first(tableau.size());
  for (int k = 0; k < tableau.size(); ++k) first[k] = base.at(0, static_cast<std::size_t>(k));
  try {
    if (!oracle->start()) {
      // Initial values that contradict each other: some give way. Explicit ones must not.
      for (const auto& given : tableau.initial)
        if (!given.by_default && std::abs(value_at(*given.variable, first, {}, 0.0) - given.value) >
                                     1e-6 * (1 + std::abs(given.value)))
          return failed("an initial value that is given does not hold", given.value,
                        value_at(*given.variable, first, {}, 0.0), given.name + " at t = 0");
      oracle->start_near(first);
    }
  } catch (const OracleError& error) {
    return unknown(std::string("oracle: ") + error.what());
  }
  if (oracle->fastest() > 400) return unknown("oracle: too stiff to judge orders");
  expected.jumps = oracle->jumps();
  expected.size = VectorXd::Zero(tableau.size());
  for (int k = 0; k <= check_times; ++k) {
    expected.at.push_back(oracle->at(expected.stop * k / check_times));
    expected.size = expected.size.cwiseMax(expected.at.back().cwiseAbs());
  }
  if (!expected.size.allFinite() || expected.size.maxCoeff() > 1e9)
    return unknown("oracle: grows beyond all bounds");
  double largest = 0.0;  // relative to the usual size: rounding in the whole network
  for (int k = 0; k < tableau.size(); ++k)
    largest = std::max(largest, expected.size[k] / usual_size(tableau.columns[static_cast<std::size_t>(k)]));
  for (int k = 0; k < tableau.size(); ++k)
    expected.size[k] +=
        1e-2 * std::max(1.0, largest) * usual_size(tableau.columns[static_cast<std::size_t>(k)]);
  for (int k = 0; k < tableau.size(); ++k)
    if (std::abs(first[k] - expected.at[0][k]) > 1e-7 * expected.size[k] && !expected.near_jump(0.0, 1e-9))
      return failed("the first row", expected.at[0][k], first[k],
                    all[static_cast<std::size_t>(k)] + " at t = 0");

  int checks = 0;
  const bool jumps = !expected.jumps.empty();
  // Every method, with a form and a way of execution by chance.
  std::vector<std::string> methods{"exact", "tr",  "trnp",     "bdf1",        "bdf2",
                                   "bdf3",  "rk4", "adaptive", "adaptive-ida"};
  for (const std::string& method : methods) {
    if (method != "exact" && random.chance(0.5)) continue;
    RunSpec run_spec = spec;
    run_spec.method = method;
    run_spec.form = random.pick(std::vector<std::string>{"auto", "tableau", "minimal"});
    Error last;
    std::string crash, why;
    double at_step = spec.step;
    const auto error_at = [&](double step) {
      run_spec.step = at_step = step;
      const Outcome run = simulate_text(text, run_spec, all);
      if (!run.crash.empty()) crash = run.crash;
      if (!run.ok()) return -1.0;
      last = error_of(run, expected, step);
      return last.size;
    };
    ++checks;
    if (method == "exact" || method.starts_with("adaptive")) {
      // exact at any step, where sources are such; adaptive to its tolerance
      if (method != "exact") run_spec.tolerance = 1e-8;
      const double error = error_at(spec.step);
      // The oracle's own exponential, of numbers from 1e-9 to 1e9, is no better than that.
      const double floor = method == "exact" ? 1e-6 : 1e-4;
      if (crash.empty() && error > floor) {
        run_spec.tolerance = 1e-10;
        if (error_at(spec.step / 8) > floor)
          return failed(method + " is wrong", last.expected, last.got, last.where + ", " + run_spec.text());
      }
    } else {
      const double fast = std::max(1.0, oracle->fastest());
      double step = spec.step;
      if (method == "rk4")
        while (step * fast > 0.5) step /= 2;
      // Without projection nothing takes away what rounding leaves in the rates. Where an inductor stands
      // behind a capacitor it is divided by the step twice, in every one of the steps; sizes here are a
      // hundredth.
      constexpr int halvings = 5;
      const double shortest = std::ldexp(step, -halvings);
      const double rounding = 100 * DBL_EPSILON * 4 / (shortest * shortest) * std::sqrt(spec.stop / shortest);
      const double floor = method == "trnp" ? std::max(2e-8, rounding) : 2e-8;
      const Convergence c = converges(
          error_at, step, jumps ? std::min(2.0, order_of(method)) : order_of(method), floor, halvings);
      if (crash.empty() && !c.passed)
        return failed(method + " is wrong", last.expected, last.got,
                      last.where + ", " + run_spec.text() + "; errors " + c.text());
    }
    if (!crash.empty()) return failed("crash", "a reason or numbers", crash, run_spec.text());
  }
  // More outputs change no bit of the others.
  {
    RunSpec s = spec;
    s.method = random.pick(methods);
    s.form = random.pick(std::vector<std::string>{"auto", "tableau", "minimal"});
    s.compile = random.chance(0.02);
    std::vector<std::string> more = all;
    for (const auto& [name, value] : draft.inputs) more.push_back(name);
    for (const Part& part : draft.parts)
      for (const auto& [key, value] : part.values)
        if (value.find("*t") != std::string::npos && value.front() == '"' &&
            value.find('.') != std::string::npos)
          more.push_back(value.substr(1, value.size() - 2) + " + 0");
    if (!draft.outputs.empty()) more.push_back(draft.outputs[0] + "*sin(2*t)");
    const Outcome few = simulate_text(text, s, draft.outputs), many = simulate_text(text, s, more);
    if (!many.crash.empty()) return failed("crash", "a reason or numbers", many.crash, s.text());
    if (few.ok() != many.ok())
      return failed("more outputs change whether it runs", few.refused, many.refused, s.text());
    Verdict v = same_bits(few, many, "more outputs change the solution", s.text());
    if (v.what == Verdict::What::failed) return v;
    if (few.ok() && s.compile) {
      RunSpec interpreted = s;
      interpreted.compile = false;
      const Outcome other = simulate_text(text, interpreted, draft.outputs);
      v = same_bits(few, other, "compiled and interpreted differ", s.text());
      if (v.what == Verdict::What::failed) return v;
    }
    checks += 2;
  }
  // Objectives.
  if (!draft.objectives.empty() && random.chance(0.5)) {
    StudySpec s;
    static_cast<RunSpec&>(s) = spec;
    s.sample = 0.0;
    s.method = random.pick(std::vector<std::string>{"tr", "bdf2", "bdf3", "adaptive"});
    s.derivatives = "none";
    for (const auto& [name, value] : draft.objectives) {
      s.objectives = {name};
      const std::size_t from = value.find("= \"") + 3;
      const std::string formula = value.substr(from, value.rfind('"') - from);
      double want = 0.0;
      try {
        const TreePtr tree = tableau.parse(formula);
        want = value.find("integral") != std::string::npos
                   ? integral_of(*oracle, *tree, 0.0, spec.stop)
                   : value_at(*tree, expected.at.back(), {}, spec.stop);
      } catch (const OracleError&) {
        continue;
      }
      double got = 0.0;
      std::string crash;
      const double scale = std::abs(want) +
                           usual_size(formula) * (formula.find("*") == std::string::npos
                                                      ? 1.0
                                                      : usual_size(formula.substr(0, formula.find('*')))) +
                           1e-3;
      const auto error_at = [&](double step) {
        s.step = step;
        const StudyOutcome run = study_text(text, s);
        if (!run.crash.empty()) crash = run.crash;
        if (!run.ok()) return -1.0;
        got = run.values[0];
        return std::abs(got - want) / scale;
      };
      const Convergence c = converges(error_at, spec.step, jumps || s.method == "bdf1" ? 1.0 : 2.0,
                                      s.method == "adaptive" ? 1e-4 : 1e-8, 5);
      if (!crash.empty()) return failed("crash", "a reason or numbers", crash, s.text());
      if (!c.passed)
        return failed("objective " +
                          std::string(value.find("integral") != std::string::npos ? "integral" : "end") +
                          " is wrong with " + s.method,
                      want, got, name + ", " + s.text() + "; errors " + c.text());
      ++checks;
    }
  }
  Verdict passed;
  passed.checks = checks;
  return passed;
}

}  // namespace differential
