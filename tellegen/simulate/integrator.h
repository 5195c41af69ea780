// What every integration method looks like from outside, and what it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/equations/network.h"
#include "tellegen/equations/storage.h"
#include "tellegen/numeric/byte_stream.h"
#include "tellegen/program/step_code.h"
#include "tellegen/simulate/initial.h"
#include "tellegen/simulate/run_curves.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {

enum class Balance { off, on, by_component };

struct SimulationOptions {
  double stop = 0.0, step = 0.0;
  double sample = 0.0;  // 0: every step
  std::string method = "bdf3";
  std::string form = "auto";  // auto, tableau, minimal
  int iterations = 0;         // Newton iterations of every step; 0: to tolerance
  double tolerance = 1e-6;    // of Newton, in units of each variable's scale; of a step's error if adaptive
  std::string start = "trapezoidal";  // of multistep methods: trapezoidal, or constant history
  int start_steps = 0;                // trapezoidal steps before a multistep formula; 0: as many as it needs
  bool refactor = false;              // factorise in every iteration, even a constant tangent
  int event_bisections =
      1;  // 0: as the model says, or 1; a fixed step in which an event falls is done again in so many parts
  std::vector<std::string> slow = {};  // rk4: domains and states that take one step in slow_steps
  int slow_steps = 0;                  // 0: as the model says, or 1
  std::vector<std::string> external;   // inputs that are set from outside while the model runs
  std::string stop_watch;              // the run ends when this watch sees (stop.h); empty: at `stop`
  bool compile = true;                 // false: interpret everything
  bool straight_line = false;          // the whole step is one program, in networks beyond 64 unknowns too
  bool restarts = false;               // the run may be made again with other numbers (Simulation::restart)
  Balance balance = Balance::off;      // account for energy while it runs (balance.h)
  // Formulas in full names whose curves between the rows are kept too (run_curves.h).
  std::vector<Expr> recorded = {};
};

// Options that leave everything to the model's [simulation].
inline SimulationOptions as_the_model_says() {
  SimulationOptions options;
  options.method = options.form = options.start = "";
  options.event_bisections = 0;
  return options;
}

struct Statistics {
  std::int64_t steps = 0, iterations = 0, worst_iterations = 0, factorisations = 0, events = 0;
  std::int64_t unknowns = 0;  // of the equations solved in each step
  bool variable_step = false;
  std::string chatter;   // who changes in every step, and from when; empty: nobody
  std::string warning;   // what a user should know although the run goes on; empty: nothing
  std::string executor;  // "whole step, compiled", "kernels per kind, interpreted", ...
};

inline void keep(Checkpoint& parts, Statistics& s) {
  parts(s.steps, s.iterations, s.worst_iterations, s.factorisations, s.events, s.chatter);
}

// A model made ready for integration. Everything here stays unchanged while integrators run.
struct Problem {
  const EquationSystem* system = nullptr;
  Storage storage;
  InitialState initial;
  std::vector<Expr> outputs;  // in column symbols and t
  std::vector<std::string> output_names;
  double step = 0.0;                   // adjusted so that a whole number fits into the sample interval
  std::int64_t stride = 1;             // steps per sample
  std::vector<std::int32_t> external;  // discrete variable of each of options.external
  std::int32_t stop_event = -1;        // the discrete variable that ends the run when it is 1; -1: none
  // Integrals over the run, by the method's own formula and in step with it: integrands in column symbols and
  // t, and their values at the start. They drive nothing, so the solution is the same to the last bit.
  std::vector<Expr> totals;
  std::vector<double> totals_start;
  std::size_t followed_outputs = 0;     // the last so many outputs, wanted only in rows that are followed
  std::vector<Expr> recorded{};         // in column symbols and t
  std::shared_ptr<RunCurves> record{};  // of these; null: there are none
  Expr stored{}, exchanged{};  // the energy they account for, and a power to measure them by: see balance.h
  SimulationOptions options;
};

// What became of Problem::totals.
struct Totals {
  std::vector<double> values;  // empty: this method does not keep them
  std::int64_t steps = -1;     // they cover so many steps, a whole number of samples; -1: all
  std::int64_t rows = -1;      // whose followed outputs are known; -1: all
  std::optional<double> stored{}, exchanged{};  // after these; empty: as the outputs say
};

// How many steps keep totals and followed outputs, where an executor can do without them: all of a short run,
// the first of a long one, so that they cost no more than a twentieth of it. A whole number of samples.
std::int64_t followed_steps(const Problem& problem);

class Integrator {
 public:
  virtual ~Integrator() = default;
  // Advances by whole sample intervals and writes one row of outputs for each. Returns how many it finished;
  // fewer than asked means failure() says why, or that the run has ended at an event: then one more row
  // holds the outputs just before it. Allocates nothing.
  virtual std::int64_t advance(std::int64_t samples, double* rows) = 0;
  virtual std::optional<double> ended() const { return {}; }  // when, if at Problem::stop_event
  // From the start again, with the numbers and initial values that the problem has now. False where what was
  // built does not fit them; the integrator is of no use then. With SimulationOptions::restarts only.
  virtual bool restart() { return false; }
  // What it consists of, before it has begun.
  virtual StepCode step_code() const {
    return {.refused = "it is run by '" + statistics().executor + "', which has no code of a step"};
  }
  // From now on, where there is anything to compile, and it takes the compiler less than so many seconds.
  virtual void compile(double) {}
  // Between two calls of advance(): everything that the run consists of, to be written or read. False where
  // this method cannot. An integrator made for the same problem goes on from there to the last bit.
  virtual bool keep(Checkpoint&) { return false; }
  // An input from outside (SimulationOptions::external, by its number there), from the next step on.
  virtual void set_input(int input, double value) = 0;
  virtual std::string failure() const = 0;  // at what time, which variables
  virtual Statistics statistics() const = 0;
  virtual Totals totals() const { return {}; }
};

// The message of a row of outputs that is not finite; empty where all are.
std::string not_finite(const Problem& problem, const double* row, double t);

// What a method can do; whoever needs to know asks here, not for its name.
struct MethodTraits {
  enum class Steps { fixed, variable, samples } steps;  // samples: one each, exact between them
  enum class Formula { none, backward_differences, trapezoidal } formula;  // of its implicit steps
  int order;
  bool projects = false;   // the rates of redundant storage
  bool multirate = false;  // parts of a model may take longer steps
  bool records = false;    // Problem::record, from its steps
};

struct IntegratorEntry {
  std::string_view name, summary;
  std::unique_ptr<Integrator> (*make)(const Problem& problem);
  MethodTraits traits;
};
std::span<const IntegratorEntry> integrators();
const MethodTraits& traits_of(std::string_view method);  // of one that exists

}  // namespace tellegen
