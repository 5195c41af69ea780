// Derivatives against differences of the same runs. Differences are extrapolated (Richardson) from three
// steps, and are believed where the extrapolations agree.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "tests/differential/property.h"
#include "tests/differential/subject.h"

namespace differential {
namespace {

// An extrapolated difference, and how far two extrapolations are apart.
struct Slope {
  double value = 0.0, doubt = 0.0;
};
Slope extrapolated(double d1, double d2, double d3) {
  const double first = (4 * d2 - d1) / 3, second = (4 * d3 - d2) / 3;
  return {second, std::abs(first - second) + 0.1 * std::abs(d3 - d2)};
}

// Nothing switches with a variable, and the end does not move.
bool smooth(const Draft& draft) {
  static const std::vector<std::string> discrete{
      "signals.comparator", "signals.sample_hold", "signals.pwm",           "signals.unit_delay",
      "signals.sampled_pi", "electrical.switch",   "electrical.ideal_diode"};
  for (const Part& part : draft.parts) {
    if (std::find(discrete.begin(), discrete.end(), part.kind) != discrete.end()) return false;
    for (const auto& [key, value] : part.values)
      for (const char* word : {"if(", "max(", "min(", "abs("})
        if (value.find(word) != std::string::npos) return false;
  }
  for (const auto& [key, value] : draft.inputs)
    if (value.find("if(") != std::string::npos) return false;
  return std::all_of(draft.simulation.begin(), draft.simulation.end(), [](const auto& field) {
    return field.first != "stop_when" && field.second.front() != '"';
  });
}

// The largest magnitude of variables like this one at the nodes of its domain: its rounding comes from these.
double largest_alike(const Draft& draft, const RunSpec& run, const std::string& variable) {
  const auto dot = variable.find('.');
  if (dot == std::string::npos) return 0.0;
  const std::string node = variable.substr(0, dot);
  const auto domain = [](const Part& part) { return part.kind.substr(0, part.kind.find('.')); };
  const auto touches = [](const Part& part, const std::string& name) {
    return std::any_of(part.ports.begin(), part.ports.end(),
                       [&](const auto& port) { return port.second == quoted(name) || port.second == name; });
  };
  const auto at = std::find_if(draft.parts.begin(), draft.parts.end(),
                               [&](const Part& part) { return touches(part, node); });
  if (at == draft.parts.end()) return 0.0;
  std::vector<std::string> alike;
  for (const Part& part : draft.parts)
    for (const auto& [port, name] : part.ports) {
      if (domain(part) != domain(*at)) continue;
      const std::string plain = name.front() == '"' ? name.substr(1, name.size() - 2) : name;
      if (plain != "datum") alike.push_back(plain + variable.substr(dot));
    }
  const Outcome values = simulate_text(draft.text(), run, alike);
  double largest = 0.0;
  for (const double v : values.values)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  return largest;
}

// The first variable of an objective such as { integral = "n.v*sin(t)", ... }.
std::string variable_of(const std::string& objective) {
  const auto begin = objective.find('"') + 1;
  const auto end = objective.find_first_of("\"+-*/() ", begin);
  return objective.substr(begin, end - begin);
}

// The sensitivity graph against forward derivatives of values at the end. Each has the error of its own
// formula (of the graph's start, of another form or method), so that what they differ by must vanish with the
// step at the order of the slower one, or with the tolerance.
Verdict compare_graph(const Draft& draft, const RunSpec& run, const StudySpec& spec,
                      const StudyOutcome& forward, const std::vector<std::string>& variables,
                      const std::vector<std::size_t>& ends, const std::vector<double>& nominal, int& checks) {
  const std::string text = draft.text();
  const std::size_t width = spec.parameters.size();
  std::vector<double> sizes;
  for (const std::string& variable : variables) sizes.push_back(largest_alike(draft, run, variable));
  RunSpec graph_spec = run;
  StudySpec study_spec = spec;
  double want = 0.0, got = 0.0;
  std::string where, crash;
  const auto apart = [&](double step) {
    const double finer = step / spec.step;
    graph_spec.step = run.step * finer;
    study_spec.step = step;
    if (spec.method == "adaptive") study_spec.tolerance = spec.tolerance * std::pow(finer, 4);
    if (run.method == "adaptive") graph_spec.tolerance = run.tolerance * std::pow(finer, 4);
    const StudyOutcome other = finer == 1.0 ? forward : study_text(text, study_spec);
    const Outcome graph = graph_text(text, graph_spec, variables, spec.parameters);
    if (!graph.crash.empty()) crash = graph.crash;
    if (!graph.ok() || !other.ok()) return -1.0;
    double worst = 0.0;
    for (std::size_t k = 0; k < variables.size(); ++k)
      for (std::size_t p = 0; p < width; ++p) {
        const double one = other.gradient[ends[k] * width + p], two = graph.values[k * width + p];
        // Relative to the parameter a derivative has the rounding of the values it comes from.
        const double value = std::abs(other.values[ends[k]]), size = std::max(value, sizes[k]);
        const double scale = std::abs(one) + 1e-2 * value + 1e-3 +
                             (nominal[p] != 0.0 ? 1e-5 * size / std::abs(nominal[p]) : 0.0);
        ++checks;
        if (const double difference = std::abs(two - one) / scale; !(difference <= worst)) {
          worst = difference;
          want = one;
          got = two;
          where = "d " + variables[k] + "/d " + spec.parameters[p];
        }
      }
    return worst;
  };
  const double order = spec.method == "bdf1" ? 1.0 : 2.0;
  const Convergence c = converges(apart, spec.step, order, 1e-6, 4);
  if (!crash.empty()) return failed("crash", "a reason or numbers", crash, graph_spec.text());
  if (c.passed) return {};
  return failed("the sensitivity graph and forward differ", want, got,
                where + ", " + graph_spec.text() + ", forward " + study_spec.text() + "; apart " + c.text());
}

}  // namespace

Verdict check_derivatives(const Draft& draft) {
  Random random(draft.seed);
  const std::string text = draft.text();
  if (draft.objectives.empty() || draft.parameters.empty()) return unknown("nothing to differentiate");
  StudySpec spec;
  spec.stop = 0.0;  // as the model says
  spec.step = random.pick(std::vector<double>{0.01, 0.005});
  spec.method = random.pick(std::vector<std::string>{"bdf2", "tr", "bdf3", "bdf1", "adaptive", "adaptive"});
  spec.tolerance = spec.method == "adaptive" ? 1e-9 : 1e-11;
  spec.bisections = 0;
  std::vector<double> nominal;
  for (const auto& [name, value] : draft.parameters) {
    if (value.front() == '"' || spec.parameters.size() == 4) continue;
    spec.parameters.push_back(name);
    nominal.push_back(std::atof(value.c_str()));
  }
  if (spec.parameters.empty()) return unknown("nothing to differentiate");
  for (const auto& [name, value] : draft.objectives) spec.objectives.push_back(name);
  const std::size_t width = spec.parameters.size();

  spec.derivatives = "forward";
  const StudyOutcome forward = study_text(text, spec);
  if (!forward.crash.empty()) return failed("crash", "a reason or numbers", forward.crash, spec.text());
  if (!forward.ok()) return refused(forward.code);
  StudySpec backward = spec;
  backward.derivatives = "adjoint";
  StudyOutcome adjoint = study_text(text, backward);
  if (!adjoint.crash.empty()) return failed("crash", "a reason or numbers", adjoint.crash, backward.text());

  int checks = 0, pairs = 0, unsettled = 0, warned = 0;  // pairs of an objective and a parameter
  // The sensitivity graph, for values at a fixed end of models in which nothing switches.
  std::vector<std::string> variables;
  std::vector<std::size_t> ends;
  for (std::size_t k = 0; k < draft.objectives.size(); ++k)
    if (const std::string& objective = draft.objectives[k].second; objective.starts_with("{ end = ")) {
      variables.push_back(objective.substr(9, objective.rfind('"') - 9));
      ends.push_back(k);
    }
  // An event of an objective cuts a step where it falls, and what moves the event moves the cut: a warning
  // tells of it.
  if (smooth(draft) && forward.warnings.empty() && !variables.empty()) {
    RunSpec run = spec;
    run.form = random.pick(std::vector<std::string>{"auto", "tableau", "minimal"});
    if (random.chance(0.3)) {
      run.method = "rk4";
      run.step = 1e-3;
    }
    const Verdict verdict = compare_graph(draft, run, spec, forward, variables, ends, nominal, checks);
    if (verdict.what == Verdict::What::failed) return verdict;
  }

  StudySpec plain = spec;
  plain.derivatives = "none";
  auto values = std::make_unique<Values>(text, plain);
  for (std::size_t p = 0; p < width; ++p) {
    const double size = nominal[p] != 0.0 ? std::abs(nominal[p]) : 0.1;
    // Values of all objectives at nominal +- relative*size.
    const auto central = [&](double relative, std::vector<double>& slopes) {
      StudyOutcome side[2];
      for (const int s : {0, 1}) {
        std::vector<double> numbers = nominal;
        numbers[p] += (s ? 1 : -1) * relative * size;
        side[s] = values->at(numbers);
        if (!side[s].ok()) return false;
      }
      slopes.clear();
      for (std::size_t k = 0; k < spec.objectives.size(); ++k)
        slopes.push_back((side[1].values[k] - side[0].values[k]) / (2 * relative * size));
      return true;
    };
    // The extrapolated slope of runs with other settings; nothing where they do not end.
    const auto slope_of = [&](const StudySpec& other, std::size_t k, double by) {
      std::vector<double> d[3];
      auto kept = std::exchange(values, std::make_unique<Values>(text, other));
      const bool there = central(by, d[0]) && central(by / 2, d[1]) && central(by / 4, d[2]);
      values = std::move(kept);
      return there ? std::optional(extrapolated(d[0][k], d[1][k], d[2][k])) : std::nullopt;
    };
    // Whether a slope is that of shorter differences to one side or to both.
    const auto beside = [&](double relative, std::size_t k, double slope, double tolerance) {
      double at[5];
      for (const int s : {-2, -1, 0, 1, 2}) {
        std::vector<double> numbers = nominal;
        numbers[p] += 0.5 * s * relative * size;
        const StudyOutcome run = values->at(numbers);
        if (!run.ok()) return true;
        at[s + 2] = run.values[k];
      }
      const double h = relative * size;
      const double below = (3 * at[2] - 4 * at[1] + at[0]) / h, above = (4 * at[3] - at[4] - 3 * at[2]) / h;
      return std::min({std::abs(slope - below), std::abs(slope - above),
                       std::abs(slope - 0.5 * (below + above))}) <= tolerance;
    };
    const double relative = spec.method == "adaptive" ? 4e-3 : 1e-3;
    std::vector<double> d1, d2, d3;
    if (!central(relative, d1) || !central(relative / 2, d2) || !central(relative / 4, d3)) {
      ++unsettled;
      continue;
    }
    for (std::size_t k = 0; k < spec.objectives.size(); ++k) {
      const Slope difference = extrapolated(d1[k], d2[k], d3[k]);
      const double second = difference.value, doubt = difference.doubt;
      const double scale = std::max({std::abs(second), std::abs(forward.values[k]) / size * 1e-2, 1e-3});
      if (!std::isfinite(second) || doubt > 2e-3 * scale) {
        ++unsettled;
        continue;
      }
      const double tolerance = 3e-3 * scale + 5 * doubt;
      const auto compare = [&](const StudyOutcome& run, const std::string& way, Verdict& verdict) {
        if (!run.ok()) return true;
        const double got = run.gradient[k * width + p];
        ++checks;
        if (std::abs(got - second) <= tolerance) return true;
        if (!run.warnings.empty()) {
          ++warned;
          return true;
        }
        // Rounding of values of its kind elsewhere in the model, beside which this one is nothing; or less
        // than the tolerance leaves of a variable of the size 1.
        const std::string variable = variable_of(draft.objectives[k].second);
        const double left = spec.method == "adaptive" ? 10 * spec.tolerance : 0.0;
        if (std::abs(got - second) * size <= std::max(left, 1e-12 * largest_alike(draft, spec, variable))) {
          ++unsettled;
          return true;
        }
        // Rounding through small storage: it changes with the steps, and is next to nothing.
        if (std::abs(got - second) * size < 1e-5 && spec.method != "adaptive") {
          StudySpec shorter = spec;
          shorter.derivatives = way;
          shorter.step *= 0.83;
          const StudyOutcome again = study_text(text, shorter);
          shorter.derivatives = "none";
          const std::optional<Slope> slope = slope_of(shorter, k, relative);
          const double moved = slope && again.ok() ? std::max(std::abs(again.gradient[k * width + p] - got),
                                                              std::abs(slope->value - second))
                                                   : std::numeric_limits<double>::infinity();
          if (moved > 0.3 * std::abs(got - second)) {
            ++unsettled;
            return true;
          }
        }
        // A kink within the steps of the differences, such as an edge next to the end: then the slope of one
        // side is right, or that of shorter differences.
        for (const double closer : {16.0, 64.0, 256.0})
          if (beside(relative / closer, k, got, 3e-3 * scale)) {
            ++unsettled;
            return true;
          }
        // An extreme is that of a row, and a little further that of the next one, and rows move with the end:
        // rows that are closer to each other have the slope.
        const std::string& what = draft.objectives[k].second;
        if (what.starts_with("{ maximum") || what.starts_with("{ minimum")) {
          StudySpec denser = spec;
          denser.derivatives = way;
          denser.step /= 64;
          const StudyOutcome again = study_text(text, denser);
          denser.derivatives = "none";
          const std::optional<Slope> dense = slope_of(denser, k, relative);
          if (!dense || !again.ok() || !(dense->doubt <= 2e-3 * scale) ||
              std::abs(again.gradient[k * width + p] - dense->value) <= 3e-3 * scale + 5 * dense->doubt) {
            ++unsettled;
            return true;
          }
        }
        // Where a jump falls within a fixed step changes with the step, and the step with the end: then
        // differences of such runs are off, however short the step. Those of `adaptive` decide.
        if (spec.method != "adaptive") {
          StudySpec other = plain;
          other.method = "adaptive";
          other.tolerance = 1e-9;
          const std::optional<Slope> truth = slope_of(other, k, 8e-3);
          if (!truth) {
            ++unsettled;
            return true;
          }
          const double off = std::abs(got - truth->value);
          if (!(truth->doubt < 5e-3 * scale) || off < 1e-2 * scale) {
            ++unsettled;
            return true;
          }
          // What is sampled is sampled on the grid of steps: then it comes closer as they get shorter.
          StudySpec finer = spec;
          finer.derivatives = way;
          finer.step /= 16;
          const StudyOutcome again = study_text(text, finer);
          if (again.ok() && std::abs(again.gradient[k * width + p] - truth->value) < 0.5 * off) {
            ++unsettled;
            return true;
          }
        }
        const std::string& objective = draft.objectives[k].second;
        verdict =
            failed(way + " derivative is wrong, " + (spec.method == "adaptive" ? "adaptive" : "fixed step") +
                       ", " + objective.substr(2, objective.find(' ', 2) - 2),
                   second, got, "d " + spec.objectives[k] + "/d " + spec.parameters[p] + ", " + spec.text());
        return false;
      };
      Verdict verdict;
      const int before = checks;
      if (!compare(forward, "forward", verdict) || !compare(adjoint, "adjoint", verdict)) return verdict;
      pairs += checks > before;
    }
  }
  if (checks == 0) return unknown(unsettled > 0 ? "differences do not settle" : "nothing to compare");
  if (warned > 0 && warned == checks) return refused("a derivative with a warning");
  Verdict v;
  v.checks = std::max(pairs, 1);
  return v;
}

}  // namespace differential
