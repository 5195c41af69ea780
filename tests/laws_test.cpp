// Laws that hold for every model under models/, and for random networks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <random>

#include "tellegen/model/parameters.h"
#include "tellegen/model/units.h"
#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/linear_start.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/network_integrator.h"
#include "tellegen/simulate/parameter_derivatives.h"
#include "tellegen/simulate/run_lanes.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/simulate/test_run.h"
#include "tellegen/simulate/whole_integrator.h"

// Allocations so far: with the sanitizer every malloc (those of KLU and Eigen too), otherwise every new.
namespace {
std::atomic<std::int64_t> allocations{0};
}

#if defined(TELLEGEN_SANITIZED)
extern "C" void __sanitizer_malloc_hook(const volatile void*, std::size_t) { ++allocations; }
extern "C" void __sanitizer_free_hook(const volatile void*) {}
#else
#pragma GCC diagnostic ignored \
    "-Wmismatched-new-delete"  // GCC looks through the operators when it inlines them
void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size ? size : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
#endif

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// A saturated machine that starts from rest has no flux, where its main flux has no derivative: Newton's
// iteration of implicit steps fails there, and motor-sag is for rk4 (machines_test.cpp). The wishbone is
// moved by its drivers alone: nothing is stored in it, and its formulas are long. Machines from their
// cross-section have hundreds of unknowns, too many for one program of the whole step; magnetics_test has
// their laws. Six drives on a robot are as many; mechanism_loads_test has those.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TELLEGEN_SOURCE_DIR "/models"))
    if (fs::exists(entry.path() / "model.toml") && entry.path().filename() != "motor-sag" &&
        entry.path().filename() != "double-wishbone" && entry.path().filename() != "robot-arm" &&
        !entry.path().filename().string().ends_with("-mec"))
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Compiled code is kept from run to run, in a place of its own.
struct Cache : testing::Environment {
  void SetUp() override {
    setenv("TELLEGEN_CACHE", (fs::temp_directory_path() / "tellegen-laws-cache").c_str(), 0);
  }
};
const auto* const cache = testing::AddGlobalTestEnvironment(new Cache);

using Rows = std::vector<double>;

// What differences are measured by: the largest value among the columns of the same unit.
Rows scales(const EquationSystem& system, const Rows& rows) {
  const auto width = static_cast<std::size_t>(system.size());
  std::map<std::string, double> largest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double& of_unit = largest[column_unit(system, static_cast<std::int32_t>(i % width))];
    of_unit = std::max(of_unit, std::abs(rows[i]));
  }
  Rows scale;
  for (std::size_t c = 0; c < width; ++c)
    scale.push_back(largest[column_unit(system, static_cast<std::int32_t>(c))]);
  return scale;
}

double largest_difference(const Rows& a, const Rows& b, const Rows& scale) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]) / scale[i % scale.size()]);
  return largest;
}

// Of all values, by the largest.
double largest_relative(const Rows& a, const Rows& b) {
  double difference = 0.0, size = 1e-300;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return difference / size;
}

class Laws : public testing::TestWithParam<std::string> {
 protected:
  Laws() : model(running_model()) {}

  // The drive idles for its first 5 ms, where laws are about rounding: it is to run from the start.
  static Model running_model() {
    Model model = shipped_model(GetParam());
    if (GetParam() == "pmsm-drive")
      for (ModelInput& input : model.inputs)
        if (input.name == "w_ref") input.value = model.pool->number(100.0);
    return model;
  }

  // The model's own settings, for this many steps.
  SimulationOptions options(const std::string& method, int steps) const {
    SimulationOptions o;
    o.method = method;
    o.compile = false;
    o = complete_options(model, o);
    o.sample = 0.0;
    o.stop = std::min(o.stop, steps * o.step);
    return o;
  }
  std::unique_ptr<Integrator> make(const TestProblem& p, bool whole) const {
    if (whole) return std::make_unique<WholeIntegrator>(p.problem, build_network(p.system));
    return std::make_unique<NetworkIntegrator>(p.problem, build_network(p.system));
  }
  bool linear() const {
    const EquationSystem system = build_system(model);
    return !build_network(system).iterative();
  }
  bool switched() const {
    return std::any_of(model.kinds.begin(), model.kinds.end(),
                       [](const Kind& kind) { return !kind.discrete.empty(); });
  }
  Model model;
};

TEST_P(Laws, power_balances_at_every_sample) {
  for (const char* method : {"bdf1", "bdf3", "tr", "trnp", "exact", "rk4"}) {
    if (method == std::string("exact") && (!linear() || switched())) continue;
    TestProblem p(model, options(method, 300), {});
    std::unique_ptr<Integrator> integrators[2];
    if (method == std::string("exact"))
      integrators[0] = minimal_exact(p.problem);
    else if (method == std::string("rk4"))
      integrators[0] = minimal_rk4(p.problem);
    else
      integrators[0] = make(p, true), integrators[1] = make(p, false);
    for (const auto& integrator : integrators) {
      if (!integrator) continue;
      const auto width = static_cast<std::size_t>(p.system.size());
      Rows rows(300 * width);
      const auto done = integrator->advance(300, rows.data());
      if (method != std::string("rk4")) {
        EXPECT_EQ(done, 300) << integrator->failure();
      }
      // Relative to the largest power of the run: while all diodes block there is none, but rounding is
      // there.
      double largest = 0.0, size = 0.0;
      for (std::int64_t r = 0; r < done; ++r) {
        const double* x = rows.data() + static_cast<std::size_t>(r) * width;
        double sum = 0.0, now = 0.0;
        for (std::int32_t e = 0; e < p.system.graph.edge_count(); ++e) {
          const GraphEdge& edge = p.system.graph.edges[e];
          const auto from = p.system.node_column(edge.from), to = p.system.node_column(edge.to);
          const double power =
              ((from < 0 ? 0 : x[from]) - (to < 0 ? 0 : x[to])) * x[p.system.through_column(EdgeIndex{e})];
          sum += power;
          now += std::abs(power);
        }
        size = std::max(size, now);
        largest = std::max(largest, std::abs(sum));
      }
      EXPECT_LE(largest, 1e-9 * size) << method << ", " << integrator->statistics().executor;
    }
  }
}

TEST_P(Laws, energy_is_accounted_for_by_the_models_own_method_and_nothing_else_changes) {
  // Sticking takes long to find out of its first microjoules.
  SimulationOptions o = options("", GetParam() == "stick-slip-drive" ? 30000
                                    : GetParam() == "pmsm-drive"     ? 2500
                                                                     : 1000);
  const SimulationResult without = Simulation(model, o, {}).run();
  o.balance = Balance::on;
  const Model anew = running_model();  // a pool that has seen a run orders its sums otherwise
  const SimulationResult with = Simulation(anew, o, {}).run();
  ASSERT_EQ(with.failure, "");
  if (GetParam() == "motor-thermal") {  // a sum of three powers, which the balance has made first
    ASSERT_EQ(without.values.size(), with.values.size());
    for (std::size_t k = 0; k < with.values.size(); ++k)
      ASSERT_NEAR(without.values[k], with.values[k], 1e-12 * (1.0 + std::abs(with.values[k])));
  } else {
    EXPECT_EQ(without.values, with.values);
  }
  EXPECT_LT(with.balance->power_error, 1e-9);
  EXPECT_EQ(with.balance->warning(), "");
  EXPECT_EQ(with.balance->checked, o.method != "exact" && GetParam() != "choke") << with.balance->reason;
  EXPECT_LT(with.balance->error, 0.01);
}

TEST_P(Laws, compiled_code_gives_the_interpreters_numbers_to_the_last_bit) {
  for (bool whole : {true, false}) {
    SimulationOptions o = options("bdf3", 150);
    TestProblem interpreted(model, o, {});
    o.compile = true;
    TestProblem compiled(model, o, {});
    const auto a = make(interpreted, whole), b = make(compiled, whole);
    b->compile(std::numeric_limits<double>::infinity());  // a short run of a large model is not worth it
    const Rows x = interpreted.rows(*a), y = compiled.rows(*b);
    EXPECT_NE(b->statistics().executor.find(", compiled"), std::string::npos);
    EXPECT_EQ(x, y) << b->statistics().executor;
    EXPECT_EQ(a->statistics().iterations, b->statistics().iterations);
  }
}

// Saved, destroyed and read into a run that was made anew: the rows that follow are those of one that was not
// interrupted.
TEST_P(Laws, a_run_that_was_saved_goes_on_to_the_last_bit) {
  constexpr int samples = 60;
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(GetParam())));
  for (const char* method : {"bdf1 kernels", "bdf2 whole", "bdf3 whole", "bdf3 kernels", "tr whole",
                             "tr kernels", "trnp kernels", "rk4", "rk4 slow", "exact", "adaptive"}) {
    const std::string text = method, name = text.substr(0, text.find(' '));
    if (name == "exact" && (!linear() || switched())) continue;
    SimulationOptions o = options(name == "adaptive" ? "bdf3" : name, samples);
    o.method = name;
    if (name == "adaptive") o.tolerance = 1e-4;
    if (text.ends_with("slow")) {  // the first state takes one step in three
      const EquationSystem system = build_system(model);
      const Storage storage = analyse_storage(system);
      if (std::count(storage.is_state.begin(), storage.is_state.end(), 1) < 2) continue;
      for (std::size_t k = system.rates.size(); k-- > 0;)
        if (storage.is_state[k]) o.slow = {rate_name(system, static_cast<std::int32_t>(k))};
      o.slow_steps = 3;
      try {
        TestProblem(model, o, {});
      } catch (const ModelError&) {
        continue;  // its rates have no formulas
      }
    }
    const auto make_run = [&](const TestProblem& p) -> std::unique_ptr<Integrator> {
      if (text.ends_with("whole")) return make(p, true);
      if (text.ends_with("kernels")) return make(p, false);
      for (const IntegratorEntry& e : integrators())
        if (e.name == name) return e.make(p.problem);
      return nullptr;
    };
    const Model first = running_model();
    const TestProblem p(first, o, {});
    const auto width = p.problem.outputs.size();
    Rows whole(samples * width);
    const auto uninterrupted = make_run(p);
    const auto all =
        uninterrupted->advance(std::min<std::int64_t>(samples, sample_count(p.problem)), whole.data());
    // rk4 is explicit, and some models are too stiff for it.
    if (all < 3 || (name == "rk4" && !uninterrupted->failure().empty())) continue;
    whole.resize(static_cast<std::size_t>(all) * width);
    for (int cut = 0; cut < 2; ++cut) {
      const auto before = std::uniform_int_distribution<std::int64_t>(1, all - 1)(random);
      Rows rows(whole.size());
      std::string bytes;
      {
        const Model again = running_model();
        const TestProblem saved(again, o, {});
        const auto run = make_run(saved);
        ASSERT_EQ(run->advance(before, rows.data()), before) << text;
        Checkpoint parts;
        ASSERT_TRUE(run->keep(parts)) << text;
        bytes = parts.bytes();
      }
      const Model anew = running_model();
      const TestProblem resumed(anew, o, {});
      const auto run = make_run(resumed);
      Checkpoint parts(bytes);
      ASSERT_TRUE(run->keep(parts) && parts.good()) << text;
      EXPECT_EQ(run->advance(all - before, rows.data() + static_cast<std::size_t>(before) * width),
                all - before)
          << text << ": " << run->failure();
      EXPECT_EQ(rows, whole) << text << " after " << before;
      EXPECT_EQ(run->statistics().steps, uninterrupted->statistics().steps) << text;
      EXPECT_EQ(run->statistics().events, uninterrupted->statistics().events) << text;
    }
  }
}

// Nonlinear models only as closely as Newton's iteration ends, and as a blocked bridge is determined at all.
TEST_P(Laws, whole_step_and_network_agree) {
  if (GetParam() == "pmsm-drive")
    GTEST_SKIP() << "it idles at first: there is nothing but rounding to compare";
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "trnp"}) {
    SimulationOptions o = options(method, 200);
    TestProblem p(model, o, {});
    const auto a = make(p, true), b = make(p, false);
    const Rows x = p.rows(*a), y = p.rows(*b);
    // A row where a source jumps has flows of storage from a short part of a step: rounding is divided by it.
    const double of_linear = GetParam() == "cooling-loop" ? 1e-8 : 1e-10;
    EXPECT_LT(largest_difference(x, y, scales(p.system, x)), linear() ? of_linear : 1e-6) << method;
  }
}

// Each method's own difference between two steps bounds its distance from the reference.
TEST_P(Laws, all_methods_agree_within_their_error) {
  if (switched()) GTEST_SKIP() << "fixed steps take events at their ends: near an edge a sample is on or off";
  if (GetParam() == "generator-torque-step")
    GTEST_SKIP() << "it idles for 10 s: its torque is nothing but the methods' errors";
  if (GetParam() == "generator-fault" || GetParam() == "motor-free-acceleration")
    GTEST_SKIP() << "adaptive runs out of steps; machines_test compares with published trajectories";
  const SimulationOptions base = options("bdf2", 200);
  const auto run = [&](const std::string& method, double step, double tolerance) {
    SimulationOptions o = base;
    o.method = method;
    o.sample = base.step;
    o.step = step;
    o.tolerance = tolerance;
    return Simulation(model, o, {}).run();
  };
  const SimulationResult reference = linear() && !switched() ? run("exact", base.step, 1e-8)
                                     : has_adaptive()        ? run("adaptive-ida", base.step, 1e-11)
                                                             : run("tr", base.step / 32, 1e-10);
  ASSERT_EQ(reference.failure, "");
  const std::size_t width = reference.names.size();
  Rows scale(width, 1e-9);
  for (std::size_t i = 0; i < reference.values.size(); ++i)
    scale[i % width] = std::max(scale[i % width], std::abs(reference.values[i]));
  if (GetParam() == "pendulum-3d")  // its spin stays zero
    scale[std::ranges::find(reference.names, "spin") - reference.names.begin()] = 1.0;
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "trnp", "rk4"}) {
    const SimulationResult coarse = run(method, base.step / 2, 1e-9), fine = run(method, base.step / 4, 1e-9);
    if (method == std::string("rk4") && !(fine.failure + coarse.failure).empty()) continue;  // too stiff
    // A step chosen for order four is far too long for order one.
    if (method == std::string("bdf1") && model.simulation.method == "rk4") continue;
    ASSERT_EQ(fine.failure + coarse.failure, "") << method;
    const double error = largest_difference(fine.values, reference.values, scale);
    const double own = largest_difference(fine.values, coarse.values, scale);
    EXPECT_LE(error, 3 * own + 1e-7) << method;
    EXPECT_LT(error, 0.1) << method;
  }
  if (has_adaptive()) {
    const SimulationResult adaptive = run("adaptive", base.step, 1e-7);
    ASSERT_EQ(adaptive.failure, "");
    EXPECT_LT(largest_difference(adaptive.values, reference.values, scale), 1e-3);
  }
}

TEST_P(Laws, derivatives_of_the_tableau_are_those_of_central_differences) {
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  const InitialState start = find_initial_state(tableau, analyse_storage(system));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  const auto n = tableau.size();
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<double> x = start.x, rates = start.rates;
    for (double& v : x) v += 0.01 * (1 + std::abs(v)) * number(random);
    for (double& v : rates) v += 0.01 * (1 + std::abs(v)) * number(random);
    const double t = 0.0130023;  // between the edges of sources
    std::vector<double> by_x(tableau.x_entries().size()), by_rate(tableau.rate_entries().size());
    tableau.jacobian(x, rates, t, {}, by_x, by_rate);
    const auto residual = [&](const Model& of, const EquationSystem& s) {
      (void)of;
      Tableau other(s);
      Rows f(n);
      other.residual(x, rates, t, {}, f);
      return f;
    };
    // One column at a time, of variables and of rates.
    const auto check = [&](std::vector<double>& values, std::span<const Tableau::Entry> entries,
                           const Rows& slopes, const char* what) {
      for (std::size_t c = 0; c < values.size(); ++c) {
        const double kept = values[c], h = 1e-6 * (1 + std::abs(kept));
        Rows low(n), high(n), expected(n, 0.0);
        values[c] = kept - h;
        tableau.residual(x, rates, t, {}, low);
        values[c] = kept + h;
        tableau.residual(x, rates, t, {}, high);
        values[c] = kept;
        for (std::size_t e = 0; e < entries.size(); ++e)
          if (entries[e].column == static_cast<std::int32_t>(c) && entries[e].row >= 0)
            expected[entries[e].row] += slopes[e];
        for (std::int32_t r = 0; r < n; ++r)
          ASSERT_NEAR((high[r] - low[r]) / (2 * h), expected[r],
                      1e-6 * (1 + std::abs(expected[r])) + 1e-9 * std::abs(high[r]) / h)
              << what << " " << c << " in the " << row_name(system, r);
      }
    };
    check(x, tableau.x_entries(), by_x, "variable");
    check(rates, tableau.rate_entries(), by_rate, "rate");
    for (std::size_t k = 0; k < model.parameters.size(); ++k) {
      const ModelParameter& p = model.parameters[k];
      const double h = 1e-5 * std::abs(p.number);
      if (h == 0.0) continue;
      const auto changed = [&](double value) {
        ReadOptions read;
        read.library = TELLEGEN_SOURCE_DIR "/library";
        const std::string said = p.unit.empty()
                                     ? fmt::format("{:.17g}", value)
                                     : fmt::format("{:.17g} {}", units().from_si(value, p.unit), p.unit);
        read.overrides = {{p.name, said}};
        const Model other = read_model(TELLEGEN_SOURCE_DIR "/models/" + GetParam() + "/model.toml", read);
        return residual(other, build_system(other));
      };
      const Rows low = changed(p.number - h), high = changed(p.number + h);
      Rows f(n);
      const std::array wrt{static_cast<int>(k)};
      std::vector<DerivativeEntry> entries;
      ParameterDerivatives(system, wrt).evaluate(tableau, x, rates, t, entries);
      for (const DerivativeEntry& e : entries) f[e.row] += e.value;
      double largest = 0.0;
      for (double v : f) largest = std::max(largest, std::abs(v));
      for (std::int32_t r = 0; r < n; ++r)
        ASSERT_NEAR((high[r] - low[r]) / (2 * h), f[r], 1e-5 * largest + 1e-9 * std::abs(high[r]) / h)
            << p.name << " in the " << row_name(system, r);
      if (trial > 0) break;  // reading a model again is slow
    }
  }
}

TEST_P(Laws, a_step_allocates_nothing) {
  {
    TestProblem p(model, options("bdf3", 50), {});
    if (SourceJumps(p.system, p.problem.step, p.problem.options.stop).next() < 50 * p.problem.step)
      GTEST_SKIP() << "a source jumps: when it will do so next is found in its formulas, which takes memory";
  }
  const auto expect_none = [&](Integrator& integrator, const TestProblem& p, const std::string& what) {
    Rows rows(50 * p.problem.outputs.size());
    const auto before = allocations.load();
    const auto done = integrator.advance(50, rows.data());
    const auto during = allocations.load() - before;
    if (what == "rk4" && done < 50) return;  // too stiff for it; the message is allocated
    EXPECT_EQ(done, 50) << what << ": " << integrator.failure();
    EXPECT_EQ(during, 0) << what;
  };
  for (bool compile : {false, true})
    for (const char* method : {"bdf3", "tr"}) {
      if (compile && method == std::string("tr")) continue;
      SimulationOptions o = options(method, 50);
      o.compile = compile;
      TestProblem p(model, o, {});
      expect_none(*make(p, true), p, fmt::format("whole step, {}", method));
      expect_none(*make(p, false), p, fmt::format("network, {}", method));
    }
  TestProblem p(model, options("rk4", 50), {});
  expect_none(*minimal_rk4(p.problem), p, "rk4");
  if (linear() && !switched()) expect_none(*minimal_exact(p.problem), p, "exact");
}

// Another run with other numbers is the run of a model with these numbers, whatever ran before. Where the
// equations cannot be kept it says so.
TEST_P(Laws, a_run_with_other_numbers_keeps_nothing_of_the_last) {
  std::vector<int> parameters;
  std::vector<double> nominal;
  for (const std::string& name : parameter_names(model, false)) {
    parameters.push_back(study_parameter(model, name));
    nominal.push_back(model.parameters[parameters.back()].number);
  }
  const auto scaled = [&](double factor) {
    std::vector<double> numbers = nominal;
    for (double& n : numbers) n *= factor;
    return numbers;
  };
  for (const char* method : {"bdf3", "tr", "rk4", "exact"}) {
    if (method == std::string("exact") && (!linear() || switched())) continue;
    SimulationOptions o = options(method, 100);
    o.restarts = true;
    set_parameters(model, parameters, nominal);
    Simulation often(model, o, {}), once(model, o, {});
    const auto run = [&](Simulation& simulation, double factor) {
      set_parameters(model, parameters, scaled(factor));
      return simulation.restart(o.stop) ? simulation.run().values : Rows{};
    };
    try {
      run(often, 0.9999);
      const Rows after_others = run(often, 1.001);
      EXPECT_EQ(after_others, run(once, 1.001)) << method;
      if (after_others.empty()) continue;  // redundant storage, conditions at the start
      for (const bool restarts :
           {true, false}) {  // equations in which numbers stay, and in which they do not
        o.restarts = restarts;
        EXPECT_LT(largest_relative(after_others, Simulation(model, o, {}).run().values), 1e-7) << method;
      }
    } catch (const ModelError&) {  // a bound, a start that contradicts itself
    }
    set_parameters(model, parameters, nominal);
  }
}

// Another number costs no memory: a linear model without jumps begins anew where it stands.
TEST_P(Laws, another_number_allocates_nothing) {
  const EquationSystem system = build_system(model);
  if (!LinearStart::make(system, analyse_storage(system)) || SourceJumps(system, 1e-3, 1.0).possible())
    GTEST_SKIP() << "it begins with a search, or with sources that may jump";
  std::vector<int> parameters;
  std::vector<double> numbers;
  for (const std::string& name : parameter_names(model, false)) {
    parameters.push_back(study_parameter(model, name));
    numbers.push_back(model.parameters[parameters.back()].number);
  }
  // In others a number may stand in the formula of an output.
  const bool expected = GetParam() == "rc-thermal" || GetParam() == "ladder-2" || GetParam() == "rlc";
  ParameterSetter setter(model, parameters);
  for (const char* method : {"bdf3", "tr"}) {
    SimulationOptions o = options(method, 10);
    o.restarts = true;
    Simulation simulation(model, o, {});
    for (int round = 0; round < 3; ++round) {
      for (double& n : numbers) n *= 1.0001;
      const auto before = allocations.load();
      setter.set(numbers);
      const bool again = simulation.restart(o.stop);
      const auto during = allocations.load() - before;
      ASSERT_TRUE(again || !expected) << method;
      if (again && round > 0) {
        EXPECT_EQ(during, 0) << method;
      }
    }
  }
}

// In lanes each run is what it is alone, however many run beside it and whatever their numbers are.
TEST_P(Laws, runs_side_by_side_are_runs_alone_to_the_last_bit) {
  std::vector<int> parameters;
  std::vector<double> nominal;
  for (const std::string& name : parameter_names(model, false)) {
    parameters.push_back(study_parameter(model, name));
    nominal.push_back(model.parameters[parameters.back()].number);
  }
  SimulationOptions o = options("bdf3", 100);
  o.restarts = true;
  Simulation together(model, o, {}), alone(model, o, {});
  const std::unique_ptr<RunLanes> lanes = lanes_of(together);
  const bool expected = GetParam() == "rectifier" || GetParam() == "ladder-2" || GetParam() == "rc-thermal";
  ASSERT_TRUE(lanes || !expected);
  if (!lanes) GTEST_SKIP() << "its runs are made one by one";
  const auto ready = [&](Simulation& simulation, double factor) {
    std::vector<double> numbers = nominal;
    for (double& n : numbers) n *= factor;
    try {
      set_parameters(model, parameters, numbers);
      return simulation.restart(o.stop);
    } catch (const ModelError&) {  // a bound
      return false;
    }
  };
  const auto width = static_cast<std::size_t>(lanes->lanes());
  const std::size_t outputs = together.problem().outputs.size();
  std::vector<double> ends(outputs * width);
  std::vector<char> good(width);
  for (const std::size_t taken : {width, std::size_t{2}}) {
    std::vector<double> factors;
    for (std::size_t l = 0; l < taken; ++l)
      factors.push_back(1.0 +
                        1e-3 * (taken == 2 ? static_cast<double>(l) : static_cast<double>(7 * l % width)));
    for (std::size_t l = 0; l < taken; ++l) {
      const bool fits = ready(together, factors[l]);
      ASSERT_TRUE(fits || !expected);
      if (!fits) GTEST_SKIP() << "other numbers need other equations";
      lanes->take(static_cast<int>(l));
    }
    ASSERT_TRUE(lanes->run(sample_count(together.problem()), 1e9, ends, good, {}));
    for (std::size_t l = 0; l < width; ++l) {
      if (l >= taken) {
        EXPECT_FALSE(good[l]);
        continue;
      }
      ASSERT_TRUE(ready(alone, factors[l]));
      const SimulationResult run = alone.run();
      EXPECT_EQ(good[l] != 0, run.failure.empty()) << run.failure;
      if (!good[l]) continue;
      Rows row;
      for (std::size_t k = 0; k < outputs; ++k) row.push_back(ends[width * k + l]);
      to_units(together, row);
      EXPECT_EQ(row, Rows(run.values.end() - static_cast<std::ptrdiff_t>(outputs), run.values.end())) << l;
    }
  }
}

// Where a start is so many operations on numbers, all lanes begin at once, and each as it would alone; one
// whose numbers fit nothing is left out.
TEST_P(Laws, runs_that_begin_side_by_side_are_runs_alone_to_the_last_bit) {
  const bool expected = GetParam() == "ladder-2" || GetParam() == "rc-thermal" || GetParam() == "rlc";
  std::vector<int> parameters;
  std::vector<double> nominal;
  for (const std::string& name : parameter_names(model, false)) {
    parameters.push_back(study_parameter(model, name));
    nominal.push_back(model.parameters[parameters.back()].number);
  }
  for (const char* method : {"bdf3", "exact"}) {
    SimulationOptions o = options(method, 100);
    o.restarts = true;
    set_parameters(model, parameters, nominal);
    std::optional<Simulation> together, alone;
    try {
      together.emplace(model, o, std::vector<OutputColumn>());
      alone.emplace(model, o, std::vector<OutputColumn>());
    } catch (const ModelError&) {  // not for this method
      ASSERT_FALSE(expected);
      continue;
    }
    const std::unique_ptr<RunLanes> lanes = lanes_of(*together);
    ASSERT_TRUE(lanes || !expected) << method;
    if (!lanes || !together->restart(o.stop)) continue;
    ParameterSetter setter(model, parameters);
    RowList list;
    std::vector<RowValue> inputs;
    for (std::size_t p = 0; p < parameters.size(); ++p) inputs.push_back(list.input());
    const NumberRows numbers = setter.write(list, inputs);
    const auto start = together->write_start(list, numbers);
    const bool written = start && list.possible() && lanes->write(list, *together, *start);
    ASSERT_TRUE(written || !expected) << method;
    if (!written) continue;
    const auto width = static_cast<std::size_t>(lanes->lanes());
    const std::size_t outputs = together->problem().outputs.size(), broken = width / 2;
    const auto number = [&](std::size_t p, std::size_t lane) {
      return lane == broken && p == 0 ? std::nan("")
                                      : nominal[p] * (1.0 + 1e-3 * static_cast<double>(lane + p));
    };
    std::vector<double> ends(outputs * width);
    std::vector<char> good(width, 1);
    list.start(static_cast<int>(width));
    for (std::size_t p = 0; p < inputs.size(); ++p)
      for (std::size_t lane = 0; lane < width; ++lane) list.row(inputs[p])[lane] = number(p, lane);
    list.run(good);
    if (std::none_of(good.begin(), good.end(), [](char g) { return g != 0; })) {
      ASSERT_FALSE(expected) << method;
      continue;
    }
    const std::vector<char> fitted = good;
    lanes->take_rows(list, good);
    ASSERT_TRUE(lanes->run(sample_count(together->problem()), 1e9, ends, good, {}));
    for (std::size_t lane = 0; lane < width; ++lane) {
      if (expected) {
        EXPECT_EQ(good[lane] != 0, parameters.empty() || lane != broken) << method;
      }
      if (!good[lane]) continue;
      EXPECT_TRUE(fitted[lane]);
      std::vector<double> values;
      for (std::size_t p = 0; p < inputs.size(); ++p) values.push_back(number(p, lane));
      set_parameters(model, parameters, values);
      ASSERT_TRUE(alone->restart(o.stop)) << method;
      const SimulationResult run = alone->run();
      ASSERT_EQ(run.failure, "");
      Rows row;
      for (std::size_t k = 0; k < outputs; ++k) row.push_back(ends[width * k + lane]);
      to_units(*together, row);
      EXPECT_EQ(row, Rows(run.values.end() - static_cast<std::ptrdiff_t>(outputs), run.values.end()))
          << method << " in lane " << lane;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Laws, testing::ValuesIn(model_names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Allocations, are_counted) {
  const auto before = allocations.load();
  const auto p = std::make_unique<std::vector<double>>(100);
  EXPECT_GE(allocations.load() - before, 2);
}

// A sine source behind a resistor, a tree of resistors so that nothing floats, and anything between any two
// nodes.
std::string random_network(unsigned seed, bool diodes) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) {
    return low * std::pow(high / low, (random() % 1000) / 999.0);
  };
  const int nodes = 3 + static_cast<int>(random() % 6);
  const auto name = [&](int k) { return k < 0 ? std::string("datum") : fmt::format("n{}", k); };
  std::string text = fmt::format(
      "e = {{ kind = \"electrical.sine_voltage\", p = \"in\", n = \"datum\", amplitude = {:.3f}, frequency = "
      "20 }}\n"
      "r = {{ kind = \"electrical.resistor\", p = \"in\", n = \"n0\", R = {:.3f} }}\n",
      uniform(1, 20), uniform(1, 100));
  for (int k = 0; k < nodes; ++k)
    text +=
        fmt::format("t{0} = {{ kind = \"electrical.resistor\", p = \"n{0}\", n = \"{1}\", R = {2:.3f} }}\n",
                    k, name(static_cast<int>(random() % (k + 1)) - 1), uniform(10, 1000));
  for (int k = 0; k < 2 * nodes; ++k) {
    const int a = static_cast<int>(random() % (nodes + 1)) - 1,
              b = static_cast<int>(random() % (nodes + 1)) - 1;
    if (a == b) continue;
    switch (random() % (diodes ? 4 : 3)) {
      case 0:
        text +=
            fmt::format("x{} = {{ kind = \"electrical.resistor\", p = \"{}\", n = \"{}\", R = {:.3f} }}\n", k,
                        name(a), name(b), uniform(10, 1000));
        break;
      case 1:
        text +=
            fmt::format("x{} = {{ kind = \"electrical.capacitor\", p = \"{}\", n = \"{}\", C = {:.3g} }}\n",
                        k, name(a), name(b), uniform(1e-6, 1e-4));
        break;
      case 2:
        text +=
            fmt::format("x{} = {{ kind = \"electrical.inductor\", p = \"{}\", n = \"{}\", L = {:.3g} }}\n", k,
                        name(a), name(b), uniform(1e-2, 1));
        break;
      default:
        text += fmt::format("x{} = {{ kind = \"electrical.diode\", p = \"{}\", n = \"{}\", Rs = 0.1 }}\n", k,
                            name(a), name(b));
    }
  }
  return text;
}

TEST(RandomNetworks, give_the_same_by_every_way) {
  for (unsigned seed = 1; seed <= 16; ++seed) {
    const bool diodes = seed > 6;
    const std::string text = random_network(seed, diodes);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const Model model = model_of(text);
    SimulationOptions o = options_of("bdf2", 0.05, 1e-4);
    o.sample = 1e-3;
    o.tolerance = 1e-9;
    TestProblem p(model, o, {});
    WholeIntegrator whole(p.problem, build_network(p.system));
    NetworkIntegrator network(p.problem, build_network(p.system));
    const Rows a = p.rows(whole), b = p.rows(network);
    const Rows scale = scales(p.system, a);
    EXPECT_LT(largest_difference(a, b, scale), diodes ? 1e-8 : 1e-12) << "whole and network";
    const Rows c = p.rows(*minimal_fixed_step(p.problem));
    EXPECT_LT(largest_difference(a, c, scale), diodes ? 1e-6 : 1e-10) << "whole and minimal";
    if (!diodes) {
      const Rows exact = p.rows(*minimal_exact(p.problem));
      EXPECT_LT(largest_difference(a, exact, scale), 2e-3) << "bdf2 and exact";
    }
    if (has_adaptive()) {
      o.step = 2e-5;  // where nothing damps an oscillation, longer steps have errors of their own
      TestProblem finer(model, o, {});
      WholeIntegrator fine(finer.problem, build_network(finer.system));
      const Rows e = finer.rows(fine);
      o.tolerance = 1e-7;
      o.method = "adaptive";
      TestProblem q(model, o, {});
      const Rows d = q.rows(*make_adaptive(q.problem));
      EXPECT_LT(largest_difference(e, d, scale), 5e-3) << "bdf2 and adaptive";
    }
  }
}

}  // namespace
}  // namespace tellegen
