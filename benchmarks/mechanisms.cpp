#include "benchmarks/mechanisms.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "benchmarks/limit_mechanism.h"
#include "benchmarks/report.h"
#include "tellegen/model/observers.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/sensitivity/run.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

// Programs of this folder that were built, because the library was there.
struct MechanismProgram {
  const char* name;
  const char* file;  // empty: not built
};
constexpr MechanismProgram mechanism_programs[] = {{"Simbody", TELLEGEN_MECHANISM_SIMBODY},
                                                   {"DART", TELLEGEN_MECHANISM_DART}};

std::optional<CaseAnswer> ask(const MechanismProgram& program, const MechanismCase& c) {
  if (!*program.file) return std::nullopt;
  const std::filesystem::path input =
      std::filesystem::temp_directory_path() / fmt::format("tellegen-{}-mechanism.txt", getpid());
  write_file(input, to_text(c));
  std::string said;
  if (FILE* pipe =
          popen(fmt::format("'{}' < '{}' 2> /dev/null", program.file, input.string()).c_str(), "r")) {
    for (char buffer[4096]; const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
      said.append(buffer, got);
    pclose(pipe);
  }
  std::filesystem::remove(input);
  try {
    std::istringstream in(said);
    return read_answer(in);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

struct OwnAnswer {
  CaseAnswer answer;
  double preparing = 0;  // seconds: read, formulated, compiled or found in the cache
  std::string failure, executor;
};

OwnAnswer run_own(const MechanismCase& c, bool quick) {
  using Clock = std::chrono::steady_clock;
  OwnAnswer own;
  own.answer.program = "Tellegen";
  ReadOptions read;
  read.library = TELLEGEN_SOURCE_DIR "/library";
  const auto begin = Clock::now();
  const Model model = read_model_text(model_text(c), "mechanism.toml", read);
  SimulationOptions options;
  options.method = "rk4";
  options.compile = !quick;
  options.step = c.step;
  options.stop = options.sample = c.step * c.steps;
  std::vector<OutputColumn> outputs;
  for (const std::string& name : coordinate_names(c))
    outputs.push_back({name, "", parse_value(model, name, {})});
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < (quick || c.links.size() > 100 ? 1 : 5); ++k) {
    Simulation simulation(model, complete_options(model, options), outputs);
    // However short this run is: what is compared is the loop.
    if (!quick) simulation.integrator().compile(std::numeric_limits<double>::infinity());
    if (k == 0) own.preparing = std::chrono::duration<double>(Clock::now() - begin).count();
    const SimulationResult r = simulation.run();
    own.failure = r.failure;
    if (!r.failure.empty()) return own;
    best = std::min(best, r.loop_seconds);
    own.answer.q.assign(r.values.end() - static_cast<long>(outputs.size()), r.values.end());
    own.executor = r.statistics.executor;
  }
  own.answer.seconds_per_step = best / c.steps;
  return own;
}

double apart(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    largest = std::max(largest, std::abs(a[k] - b[k]) / std::max(1.0, std::abs(a[k])));
  return largest;
}

constexpr double equal = 1e-8;

class MechanismRows {
 public:
  MechanismRows(Report& report, const MechanismsOptions& options) : report_(report), options_(options) {}

  // `own`: whether Tellegen runs it too; otherwise the others are compared with each other.
  void add(const MechanismCase& c, bool own) {
    std::optional<CaseAnswer> first;
    std::vector<std::string> row{c.name, cell(static_cast<std::int64_t>(coordinate_names(c).size()))};
    double ours = std::nan("");
    std::string preparing;
    if (own) {
      const OwnAnswer answer = run_own(c, options_.quick);
      if (!report_.require(answer.failure.empty(), fmt::format("{}: {}", c.name, answer.failure))) return;
      first = answer.answer;
      ours = answer.answer.seconds_per_step;
      preparing = cell(answer.preparing);
      if (c.links.size() == 10) per_link_of_ten_ = ours / 10;
      if (c.links.size() == 1000 && per_link_of_ten_ > 0 && !options_.quick)
        report_.add({fmt::format("{}: time of a link, beside a chain of 10", c.name),
                     ours / 1000 / per_link_of_ten_, 1.5, false, "ratio"});
    }
    row.push_back(cell(1e9 * ours, 4));
    const auto beside = [&](const std::optional<CaseAnswer>& other, const char* name) {
      const double difference = first && other ? apart(first->q, other->q) : 0.0;
      if (!other || !report_.require(difference <= equal,
                                     fmt::format("{}: {} is {:.2g} apart", c.name, name, difference))) {
        row.insert(row.end(), {"", "", ""});
        return std::nan("");
      }
      const double ratio = other->seconds_per_step / ours;
      row.insert(row.end(),
                 {first ? cell(difference) : "", cell(1e9 * other->seconds_per_step, 4), cell(ratio)});
      if (!first) first = other;
      return ratio;
    };
    const double by_hand = beside(limit_mechanism(c), "by hand");
    // A chain has its own bound where it is long; the one for small mechanisms is of the others.
    const bool is_chain = c.name.starts_with("chain");
    if (own && by_hand > 0 && !options_.quick && (!is_chain || c.links.size() == 1000))
      report_.add({fmt::format("{}: Tellegen / by hand", c.name), 1 / by_hand, is_chain ? 3.0 : 2.0, false,
                   "ns of a step"});
    for (const MechanismProgram& program : mechanism_programs) {
      const std::optional<CaseAnswer> other = ask(program, c);
      report_.require(other || !*program.file, fmt::format("{}: {} gave no answer", c.name, program.name));
      const double ratio = beside(other, program.name);
      if (own && ratio > 0 && !options_.quick &&
          (!is_chain || c.links.size() <= 10 || c.links.size() == 1000))
        report_.add({fmt::format("{}: {} / Tellegen", c.name, program.name), ratio, 8, true, "ns of a step"});
    }
    row.push_back(preparing);
    table_.rows.push_back(std::move(row));
  }

  const TextTable& table() const { return table_; }

 private:
  Report& report_;
  const MechanismsOptions& options_;
  double per_link_of_ten_ = 0;
  TextTable table_{{"mechanism", "coordinates", "Tellegen [ns/step]", "by hand apart", "by hand [ns/step]",
                    "ratio", "Simbody apart", "Simbody [ns/step]", "ratio", "DART apart", "DART [ns/step]",
                    "ratio", "preparing [s]"},
                   {}};
};

// The gradient of an integral over the run by every mass and length that is not zero: zeros are structure.
class GradientRows {
 public:
  GradientRows(Report& report, const MechanismsOptions& options) : report_(report), options_(options) {}

  void add(const MechanismCase& c, const std::string& method) {
    ReadOptions read;
    read.library = TELLEGEN_SOURCE_DIR "/library";
    Model model = read_model_text(model_text(c), "mechanism.toml", read);
    RunRequest request;
    request.simulation.method = method;
    request.simulation.tolerance = 1e-10;
    request.simulation.step = c.step;
    request.simulation.stop = request.simulation.sample = c.step * c.steps;
    request.simulation = complete_options(model, request.simulation);
    for (const std::string& name : lengths_and_masses(c)) request.wrt.push_back(study_parameter(model, name));
    std::string squares;
    for (const std::string& q : coordinate_names(c)) squares += (squares.empty() ? "" : " + ") + q + "^2";
    const Expr square = parse_value(model, squares, {});
    request.observed.push_back(
        {Observed::What::end, model.pool->symbol(add_integral(model, "goal", square, {}))});
    const std::string title = fmt::format("{}, {}", c.name, method);
    // Code is compiled where a run is long enough, or where it is in the cache: a long one brings it there.
    if (!options_.quick) {
      RunRequest longer = request;
      longer.simulation.stop = longer.simulation.sample = 100 * request.simulation.stop;
      simulate(model, longer);
      adjoint_run(model, longer);
    }
    // In turn, so that both meet the same machine.
    const int times = options_.quick ? 1 : 7;
    double one = std::numeric_limits<double>::infinity(), gradient = one, value = 0;
    RunDerivatives adjoint;
    for (int k = 0; k < times; ++k) {
      const auto [end, seconds] = simulate(model, request);
      adjoint = adjoint_run(model, request);
      if (!report_.require(adjoint.failure.empty(), fmt::format("{}: {}", title, adjoint.failure))) return;
      value = end;
      one = std::min(one, seconds);
      gradient = std::min(gradient, adjoint.loop_seconds);
    }
    const double values_apart = std::abs(adjoint.values[0] - value) / std::max(1.0, std::abs(value));
    if (!report_.require(values_apart <= equal, fmt::format("{}: values {:.2g} apart", title, values_apart)))
      return;
    double largest = 0, apart = 0;
    for (std::size_t k = 0; k < request.wrt.size(); ++k) {
      if (options_.quick && k > 3) break;
      const double number = model.parameters[request.wrt[k]].number, h = 1e-4 * number;
      double ends[2];
      for (const int side : {0, 1}) {
        Model moved = model;
        set_parameters(moved, std::span(request.wrt).subspan(k, 1), std::vector{number + (side ? h : -h)});
        ends[side] = simulate(moved, request).first;
      }
      apart =
          std::max(apart, std::abs(number * adjoint.gradient[k] - number * (ends[1] - ends[0]) / (2 * h)));
      largest = std::max(largest, std::abs(number * adjoint.gradient[k]));
    }
    apart /= largest;
    if (!report_.require(apart <= 1e-5, fmt::format("{}: differences are {:.2g} apart", title, apart)))
      return;
    table_.rows.push_back({c.name, method, cell(static_cast<std::int64_t>(request.wrt.size())), cell(apart),
                           cell(1e3 * one), cell(1e3 * gradient), cell(gradient / one)});
    if (!options_.quick)
      report_.add({fmt::format("{}: gradient / one simulation", title), gradient / one, 5.0, false,
                   fmt::format("adjoint, {} parameters", request.wrt.size())});
  }

  const TextTable& table() const { return table_; }

 private:
  static std::vector<std::string> lengths_and_masses(const MechanismCase& c) {
    std::vector<std::string> names;
    const auto vector = [&](const std::string& name, const Triple& v) {
      for (std::size_t i = 0; i < 3; ++i)
        if (v[i] != 0) names.push_back(fmt::format("{}_{}", name, "xyz"[i]));
    };
    for (std::size_t k = 0; k < c.links.size(); ++k) {
      names.push_back(fmt::format("b{}.mass", k));
      vector(fmt::format("b{}.com", k), c.links[k].centre);
      vector(fmt::format("a_j{}.offset", k), c.links[k].place);
    }
    for (std::size_t k = 0; k < c.loops.size(); ++k) {
      vector(fmt::format("a_p{}.offset", k), c.loops[k].first_point);
      vector(fmt::format("a_q{}.offset", k), c.loops[k].second_point);
    }
    return names;
  }
  static std::pair<double, double> simulate(const Model& model, const RunRequest& request) {
    Simulation simulation(model, request.simulation, {{"goal", "", request.observed[0].value}});
    const SimulationResult r = simulation.run();
    return {r.failure.empty() ? r.values.back() : std::nan(""), r.loop_seconds};
  }

  Report& report_;
  const MechanismsOptions& options_;
  TextTable table_{{"mechanism", "method", "parameters", "differences apart", "one simulation [ms]",
                    "gradient [ms]", "ratio"},
                   {}};
};

}  // namespace

bool run_mechanisms(const MechanismsOptions& options) {
  Report report;
  report.begin({"mechanisms", "open and closed chains under gravity, rk4 at 1 ms, 1000 steps",
                "all coordinates at the end",
                fmt::format("within {:g}, relative to 1 or their size", equal)});
  for (const MechanismProgram& program : mechanism_programs)
    if (!*program.file)
      report.note(fmt::format("{} is not installed where this was built: left out", program.name));
  MechanismRows mechanisms(report, options);
  for (MechanismCase c : mechanism_cases()) {
    if (options.quick) c.steps = 100;
    mechanisms.add(c, true);
  }
  report.table("closed chains: loops closed after each step by every program", mechanisms.table());

  report.begin({"chain", "bars of 1 m on hinges, the first turned by 0.5 rad; beyond 100 links 200 steps",
                "as above", "as above"});
  MechanismRows chains(report, options);
  for (const int count : options.chain) {
    MechanismCase c = chain_case(count);
    if (options.quick) c.steps = std::min(c.steps, 100);
    chains.add(c, count <= options.longest);
  }
  report.table(fmt::format("Tellegen up to {} links (--longest)", options.longest), chains.table());

  report.begin({"gradient", "the same mechanisms, rk4 and tr at 1 ms, 1000 steps; all masses and lengths",
                "derivatives of the integral of the sum of all coordinates' squares, by the adjoint",
                "central differences within 1e-5 of the largest score"});
  GradientRows gradients(report, options);
  for (MechanismCase c : mechanism_cases()) {
    if (c.links.size() > 10 || c.tyres.size() > 0) continue;
    if (options.quick) c.steps = 100;
    for (const char* method : {"rk4", "tr"}) gradients.add(c, method);
  }
  MechanismCase ten = chain_case(10);
  if (options.quick) ten.steps = 100;
  for (const char* method : {"rk4", "tr"}) gradients.add(ten, method);
  report.table("step loops of both, in one process", gradients.table());
  report.finish();
  if (!options.json.empty()) write_file(options.json, report.json().dump(2) + "\n");
  return !report.failed();
}

}  // namespace tellegen
