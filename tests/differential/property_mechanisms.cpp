// Mechanisms against an oracle without a tree (mechanism_oracle.h).
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "tests/differential/expression.h"
#include "tests/differential/mechanism_oracle.h"
#include "tests/differential/property.h"
#include "tests/differential/subject.h"

namespace differential {
namespace {

constexpr int check_times = 4;
using Shown = std::map<std::string, double>;

std::string last_of(const std::string& variable) { return variable.substr(variable.rfind('.') + 1); }

// Variables of one group have one size, the largest in the model: rounding comes from there.
std::string group_of(const std::string& variable) {
  const std::string last = last_of(variable);
  if (last.starts_with("reaction") || last.starts_with("force") || last == "torque") return "force";
  if (last == "kinetic" || last == "potential") return "energy";
  if (last.ends_with("acceleration") || last.starts_with("alpha") || (last.size() == 2 && last[0] == 'a'))
    return "acceleration";
  if (last.ends_with("rate") || last == "speed" || (last.size() == 2 && (last[0] == 'v' || last[0] == 'w')))
    return "speed";
  return "place";
}
bool is_angle(const std::string& variable) {
  const std::string last = last_of(variable);
  return last == "angle" || last == "angle_1" || last == "angle_2" || last == "angle_3";
}

struct Expected {
  std::vector<std::string> names;
  std::vector<Shown> at;  // at k*stop/check_times
  std::map<std::string, double> size;
};

struct Error {
  double size = 0.0, expected = 0.0, got = 0.0;
  std::string where;
};
Error error_of(const Outcome& run, const Expected& expected) {
  Error worst;
  for (std::size_t row = 0; row < run.t.size() && row < expected.at.size(); ++row)
    for (std::size_t k = 0; k < run.names.size(); ++k) {
      const std::string& name = expected.names[k];
      const double want = expected.at[row].at(name), got = run.at(row, k);
      double off = got - want;
      if (is_angle(name)) off = std::remainder(off, 2 * std::numbers::pi);
      const double error = std::abs(off) / expected.size.at(group_of(name));
      if (error > worst.size) worst = {error, want, got, name + " at t = " + number_text(run.t[row], 6)};
    }
  return worst;
}

double order_of(const std::string& method) {
  if (method == "bdf1") return 1;
  if (method == "bdf3") return 3;
  if (method == "rk4") return 4;
  return 2;
}

// What the program shows of a mechanism with circuits does not depend on where these are opened.
std::vector<std::string> names_to_ask(const Shown& shown, bool tree, bool reactions, const Draft& draft) {
  std::vector<std::string> names;
  for (const auto& [name, value] : shown) {
    const std::string owner = name.substr(0, name.find('.')), last = last_of(name);
    std::string kind;
    for (const Part& part : draft.parts)
      if (part.name == owner) kind = part.kind.substr(10);
    const bool multiplier =
        last.starts_with("reaction") || (!kind.empty() && (last.starts_with("force") || last == "torque") &&
                                         kind != "revolute" && kind != "prismatic");
    if (multiplier && !reactions) continue;
    static const std::vector<std::string> plain{"revolute", "prismatic", "screw", "cylindrical", "planar"};
    const bool joint = !kind.empty() && !multiplier;
    if (joint && !tree &&
        (last == "torque" || last == "force" || std::find(plain.begin(), plain.end(), kind) == plain.end()))
      continue;
    names.push_back(name);
  }
  return names;
}

RunSpec base_spec() {
  RunSpec spec;
  spec.method = "rk4";
  spec.stop = 0.4;
  spec.sample = spec.stop / check_times;
  spec.step = spec.stop / 32;
  return spec;
}

// Brings the oracle to the start that the program shows: where circuits are, it decides what follows.
std::optional<std::string> start_where_the_program_does(MechanismOracle& oracle, const Draft& draft) {
  const std::vector<std::string> names = oracle.start_variables();
  RunSpec spec = base_spec();
  spec.stop = spec.step = spec.sample = 1e-6;
  const Outcome run = simulate_text(draft.text(), spec, names);
  if (!run.ok()) return run.crash.empty() ? run.code : "crash: " + run.crash;
  std::map<std::string, double> first;
  for (std::size_t k = 0; k < names.size(); ++k) first[names[k]] = run.at(0, k);
  oracle.start_at([&](const std::string& name) { return first.at(name); });
  return {};
}

double end_of(const Draft& draft, const std::string& variable) {
  MechanismOracle oracle(draft.text());
  if (oracle.is_tree())
    oracle.start();
  else if (const auto why = start_where_the_program_does(oracle, draft))
    throw OracleError("no start: " + *why);
  oracle.advance(base_spec().stop);
  return oracle.observe().at(variable);
}

// Forward and adjoint derivatives against differences of the oracle.
Verdict check_derivative(const Draft& draft, Random& random, double size) {
  if (draft.parameters.empty() || draft.objectives.empty()) return {};
  const std::size_t p = static_cast<std::size_t>(random.below(static_cast<int>(draft.parameters.size())));
  const auto& [name, text] = draft.parameters[p];
  const double nominal = std::atof(text.c_str());
  const std::string& objective = draft.objectives[0].second;
  const std::size_t from = objective.find('"') + 1;
  const std::string variable = objective.substr(from, objective.rfind('"') - from);
  if (nominal == 0.0) return {};
  const auto difference = [&](double h) {
    Draft more = draft, less = draft;
    more.parameters[p].second = number_text(nominal * (1 + h), 17);
    less.parameters[p].second = number_text(nominal * (1 - h), 17);
    return (end_of(more, variable) - end_of(less, variable)) / (2 * h);
  };
  double want = 0.0, doubt = 0.0;
  try {
    const double wide = difference(2e-3), near = difference(1e-3);
    want = (4 * near - wide) / 3;
    doubt = std::abs(near - wide);
  } catch (const OracleError&) {
    return {};
  }
  const double scale = std::abs(want) + 0.1 * size;
  if (!(doubt < 1e-3 * scale)) return {};
  StudySpec spec;
  static_cast<RunSpec&>(spec) = base_spec();
  spec.sample = 0.0;
  spec.method = random.pick(std::vector<std::string>{"rk4", "rk4", "tr", "bdf2"});
  spec.objectives = {draft.objectives[0].first};
  spec.parameters = {name};
  Verdict passed;
  for (const char* way : {"forward", "adjoint"}) {
    spec.derivatives = way;
    double got = 0.0;
    std::string crash;
    const Convergence c = converges(
        [&](double step) {
          spec.step = step;
          const StudyOutcome run = study_text(draft.text(), spec);
          if (!run.crash.empty()) crash = run.crash;
          if (!run.ok()) return -1.0;
          got = run.gradient[0] * nominal;
          return std::abs(got - want) / scale;
        },
        spec.step, order_of(spec.method), 1e-6 + doubt / scale * 1e-2, 4);
    if (!crash.empty()) return failed("crash", "a reason or numbers", crash, spec.text());
    if (!c.passed)
      return failed(
          std::string(way) + " derivative is wrong", want, got,
          "d " + variable + "/d " + name + " times " + name + ", " + spec.text() + "; errors " + c.text());
    ++passed.checks;
  }
  return passed;
}

}  // namespace

Verdict check_mechanisms(const Draft& draft) {
  Random random(draft.seed);
  const std::string text = draft.text();
  RunSpec spec = base_spec();
  const auto without_oracle = [&](const std::string& why) {
    const Outcome run = simulate_text(text, spec, {});
    if (!run.crash.empty()) return failed("crash", "a reason or numbers", run.crash, spec.text());
    if (!run.ok()) return refused(run.code);
    if (why.starts_with("masses"))
      return failed("runs, though masses do not decide", why, "numbers", spec.text());
    return unknown("oracle: " + why);
  };
  std::optional<MechanismOracle> made;
  Expected expected;
  try {
    made.emplace(text);
    if (made->is_tree()) {
      made->start();
    } else if (const auto why = start_where_the_program_does(*made, draft)) {
      if (why->starts_with("crash")) return failed("crash", "a reason or numbers", *why, spec.text());
      return refused(*why);
    }
  } catch (const OracleError& error) {
    return without_oracle(error.what());
  }
  MechanismOracle& oracle = *made;
  const bool tree = oracle.is_tree();
  if (oracle.open_places() > 1e-7)
    return failed("a circuit is open at the start", 0, oracle.open_places(), "t = 0");
  if (oracle.open_speeds() > 1e-6)
    return failed("a circuit's speeds are open at the start", 0, oracle.open_speeds(), "t = 0");
  if (!tree && oracle.speeds_that_hold() < oracle.freedoms())
    return failed("speeds at the start do not hold", oracle.freedoms(), oracle.speeds_that_hold(),
                  "freedoms, and joint speeds as the file gives them");
  std::map<std::string, double> size;
  try {
    for (int k = 0; k <= check_times; ++k) {
      if (k > 0) oracle.advance(spec.stop * k / check_times);
      if (oracle.near_singular()) return unknown("oracle: angles near a quarter turn");
      expected.at.push_back(oracle.observe());
      for (const auto& [name, value] : expected.at.back()) {
        double& largest = size[group_of(name)];
        if (!is_angle(name)) largest = std::max(largest, std::abs(value));
      }
    }
  } catch (const OracleError& error) {
    return without_oracle(error.what());
  }
  if (oracle.open_places() > 1e-7 || oracle.open_speeds() > 1e-6)
    return unknown("oracle: does not keep its circuits closed");
  for (const auto& [group, largest] : size) {
    if (!(largest < 1e6)) return unknown("oracle: grows beyond all bounds");
    expected.size[group] = largest + 1e-2;
  }
  expected.names = names_to_ask(expected.at[0], tree, oracle.unique_reactions(), draft);
  Verdict passed;
  std::vector<std::string> methods{"rk4"};
  for (const char* method : {"tr", "trnp", "bdf1", "bdf2", "bdf3", "adaptive", "adaptive-ida"})
    if (random.chance(0.25)) methods.emplace_back(method);
  std::vector<std::string> joints;
  if (!tree && expected.at[0].at("mechanism.kinetic") < 1e-20) {
    methods.emplace_back("rk4");
    for (const Part& part : draft.parts)
      if (part.ports.size() == 2 && part.ports[0].first == "from" &&
          expected.at[0].contains(part.name + ".reaction_fx"))
        joints.push_back(part.name);
  }
  bool first = true;
  for (const std::string& method : methods) {
    RunSpec run_spec = spec;
    run_spec.method = method;
    if (method != "rk4") run_spec.form = random.pick(std::vector<std::string>{"auto", "tableau", "minimal"});
    run_spec.compile = random.chance(0.01);
    // At rest nothing depends on which coordinates are independent.
    if (!joints.empty() && random.chance(0.6)) run_spec.branch = random.pick(joints);
    Error last;
    std::string crash, why;
    const auto error_at = [&](double step) {
      run_spec.step = step;
      const Outcome run = simulate_text(text, run_spec, expected.names);
      if (!run.crash.empty()) crash = run.crash;
      if (!run.ok()) {
        why = run.code;
        return -1.0;
      }
      last = error_of(run, expected);
      if (first) {
        Outcome start = run;
        start.t.resize(1);
        const Error at_start = error_of(start, expected);
        first = false;
        if (at_start.size > 1e-7) {
          crash = "the first row";
          last = at_start;
          return -1.0;
        }
      }
      return last.size;
    };
    if (method.starts_with("adaptive")) {
      run_spec.tolerance = 1e-8;
      if (error_at(spec.step) > 1e-4 && crash.empty()) {
        run_spec.tolerance = 1e-10;
        if (error_at(spec.step / 8) > 1e-4 && crash.empty())
          return failed(method + " is wrong", last.expected, last.got, last.where + ", " + run_spec.text());
      }
    } else {
      const Convergence c = converges(error_at, spec.step, order_of(method), 1e-7, method == "bdf1" ? 4 : 5);
      if (crash.empty() && !c.passed)
        return failed(method + " is wrong", last.expected, last.got,
                      last.where + ", " + run_spec.text() + "; errors " + c.text());
    }
    if (crash.starts_with("the first row"))
      return failed("the first row", last.expected, last.got, last.where);
    if (!crash.empty()) return failed("crash", "a reason or numbers", crash, run_spec.text());
    if (!why.empty() && method == "rk4" && run_spec.branch.empty()) return refused(why);
    passed.checks += why.empty();
  }
  if (random.chance(0.25)) {
    const Verdict derivative = check_derivative(draft, random, expected.size.at("place"));
    if (derivative.what != Verdict::What::passed) return derivative;
    passed.checks += derivative.checks;
  }
  return passed;
}

}  // namespace differential
