// The model: what the user said, read, checked and resolved. Subsystems are flattened (`cell.r1`), names
// are indices, quantities are SI, values are expressions.
//
// Values are written in: names of model parameters, names of inputs, `t`, and variables of the model by
// their full name (`n2.T`, `r1.Q`, `motor.shaft.w`). find_variable() says what such a name is.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tellegen/model/array_names.h"
#include "tellegen/model/fault.h"
#include "tellegen/model/kind.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct ModelNode {
  std::string name;  // "n2", "cell.mid", "d1.j" (internal), "datum"
  int domain = 0;
  bool datum = false;
  int line = 0;        // where it is first named
  int component = -1;  // of an internal node: its component
};

struct ParameterValue {
  Expr value;                          // empty: an optional parameter left out
  double number = 0.0;                 // its value where it depends on model parameters only
  bool constant = true;                // false: depends on t, inputs or variables
  std::shared_ptr<const Table> table;  // of a table parameter
};

struct Component {
  std::string name;
  int kind = 0;
  std::vector<int> nodes;              // one per Kind::nodes, ports and internal ones
  std::vector<ParameterValue> values;  // one per Kind::parameters
  Place place;
};

// A component that is a part of a mechanism, and what it names: frames (`from`, `to`, `at`, `in`), or joints.
struct ModelPart {
  int component = -1;
  std::map<std::string, std::string, std::less<>> references{};  // by key: full names
};

struct ModelParameter {
  std::string name, unit, summary;
  Expr symbol;
  Expr value;  // in other parameters
  double number = 0.0;
  Place place;
};

struct ModelInput {
  std::string name, unit;
  Expr symbol;
  Expr value;  // an expression of t and parameters (a table is a lookup)
  Place place;
  Interpolation interpolation = Interpolation::linear;  // between the rows of data that give it
  double noise = 0.0;                                   // standard deviation of a row of such data
  int bias = -1;                                        // parameter by which all of them are too large
};

// A sensor or an output: a named formula with the unit it is reported in.
struct ModelOutput {
  std::string name, unit;  // empty unit: SI, whatever that is
  Expr value;
  std::optional<double> noise;  // standard deviation, of a sensor
  bool sensor = false;
  Place place;
  std::optional<double> lowest, highest;  // readings of a sensor outside are none
  std::optional<double> stuck;            // a reading that stays the same for so long is none
};

struct ModelInitial {
  std::string variable;  // full name
  Expr value;            // in parameters; empty: steady (its time derivative is zero)
  Place place;
  Expr condition{};  // left - right of what is to hold instead, in full names and their "der(...)"
  std::string text{};
};

// A component that begins in what its kind calls a steady state.
struct ModelSteady {
  int component = 0;
  Place place;
};

struct SimulationDefaults {
  std::optional<double> stop, step, sample, tolerance;
  Expr stop_formula;  // of `stop`, in parameters; empty where it is a plain number
  Expr stop_when;     // the run ends where this condition becomes true; empty: at `stop`
  std::optional<int> iterations, event_bisections, slow_steps;
  std::optional<std::string> method, form, start;
  std::vector<std::string> slow;  // domains and states that are stepped less often
  Place place;
};

// What a run is judged by: one number of a whole run, or a formula of such numbers.
struct ModelObjective {
  enum class What {
    integral,   // of the value over the run
    end,        // the value at the end
    time_when,  // the first time at which the condition becomes true
    maximum,    // the largest value of all samples
    minimum,
    formula  // of other objectives (symbols of their names) and parameters
  } what;
  std::string name, unit;  // empty unit: SI, whatever that is
  Expr value;
  int run = -1;  // in Model::runs; -1: the model as it stands
  Place place;
};

// The same model with other numbers: a charge beside a discharge.
struct ModelRun {
  std::string name;
  std::vector<std::pair<int, Expr>> parameters;  // which, and its value in other parameters
  Expr stop;                                     // in parameters; empty: as [simulation] says
  Place place;
};

// [design]: what `optimize` changes, and what it is to reach. [experiment] has no goals of its own: what the
// readings tell is to be as much as possible.
struct ModelDesign {
  std::string section = "design";
  struct Variable {
    int parameter;
    double lower, upper;
    Place place;
  };
  struct Goal {
    int objective;
    double weight;  // negative: to be made large
  };
  struct Constraint {
    Expr value;  // of objectives and parameters; at most zero
    std::string text;
    Place place;
  };
  std::vector<Variable> variables;
  std::vector<Goal> goals;
  bool weights_from_ranges = false;  // divide each goal by its range over the corners of the bounds
  std::vector<Constraint> constraints;
  Place place;
};

// [unknowns]: a number of the model that is to be found from measurements.
struct ModelUnknown {
  enum class Varies { constant, walk, integrated_walk, oscillator };
  enum class Coordinate { automatic, value, inverse, logarithm };
  int parameter = -1;
  Varies varies = Varies::constant;
  Coordinate coordinate = Coordinate::automatic;
  std::optional<double> start;         // empty: the model's number
  std::optional<double> deviation;     // of the start; empty: as large as the start itself
  std::optional<double> lower, upper;  // it lies between
  double walk = 0.0;  // standard deviation of its change (integrated walk: of its slope's) after one second
  double frequency = 0.0;  // of an oscillator, Hz
  double keep = 0.0;       // of pkf: the part of each correction that is left out
  Place place;
};

// A table whose values are parameters. Where they are unknown, `smoothness` is the standard deviation of one
// from the straight line between its neighbours along an axis.
struct ParameterTable {
  std::string name;
  std::vector<int> parameters;            // the last axis running first
  std::vector<std::vector<double>> axes;  // one to three
  std::optional<double> smoothness;
  Place place;
};

// [estimate]: which estimator, with which sensors, and what it believes of the states.
struct ModelEstimation {
  struct State {
    std::string pattern;  // of variables: "n2.T", "*.T"
    std::optional<double> start, deviation;
    double noise = 0.0;       // standard deviation of what disturbs it in one second
    double rate_noise = 0.0;  // ... of what disturbs its rate, where the rate is a state too (ekf-perfect)
    double keep = 0.0;
    Place place;
  };
  std::string estimator = "ekf";
  std::optional<double> step;      // empty: as [simulation] says
  std::optional<double> gate;      // probability of a reading's being taken where all is well; empty: no gate
  double late = 0.0;               // readings may arrive so much later than they were taken
  std::string resample = "exact";  // how readings beside the steps are taken: exact, nearest, linear
  std::vector<int> sensors;        // in outputs
  std::vector<int> unknowns;       // in Model::unknowns
  std::vector<std::string> inputs;  // of the model, or parameters: the data give them
  std::vector<State> states;        // an exact name goes before a pattern
  Place place;
};

// [calibrate]: which numbers are found from which part of a record, one stage after the other.
struct CalibrationStage {
  std::vector<int> parameters;  // in Model::unknowns
  std::vector<int> sensors;     // in outputs; empty: all that the record has
  std::optional<double> from, to;
  Place place;
};

struct Model {
  std::string name;
  std::filesystem::path file;
  std::shared_ptr<Pool> pool;
  std::vector<Domain> domains;
  std::vector<Kind> kinds;  // those in use
  std::vector<ModelNode> nodes;
  std::vector<Component> components;
  std::vector<ModelParameter> parameters;
  std::vector<ModelInput> inputs;
  std::vector<ModelOutput> outputs;  // sensors first, then outputs
  std::vector<ModelInitial> initial;
  std::vector<ModelSteady> steady;
  SimulationDefaults simulation;
  std::vector<ModelObjective> objectives;
  std::vector<ModelRun> runs;
  std::optional<ModelDesign> design, experiment;
  std::vector<ModelUnknown> unknowns;
  std::vector<ParameterTable> parameter_tables;
  ModelEstimation estimation;
  std::vector<CalibrationStage> calibration;
  std::vector<ModelPart> mechanism;  // in the order of the file

  std::unordered_map<std::string, int> node_by_name;  // no datums; a sensitivity node by its variable
  std::unordered_map<std::string, int> component_by_name;
  ArrayIndices arrays;  // of components and of nodes
  TableMap tables;      // functions that expressions may call
  // Sensors and outputs of the model and of its subsystems ("first.loss"): names that stand for a formula.
  std::unordered_map<std::string, Expr> formulas;
};

// What the full name of a variable stands for.
struct VariableRef {
  enum class What { node, across, through, internal, output } what;
  int node = -1;       // of a node
  int component = -1;  // of all others
  int index = -1;      // edge, internal variable or output of the kind
};
std::optional<VariableRef> find_variable(const Model& model, std::string_view name);
// ... of a name within a component: "v", "junction.v", "x".
std::optional<VariableRef> find_in_component(const Model& model, int component, std::string_view name);
std::string variable_name(const Model& model, const VariableRef& ref);
std::string variable_unit(const Model& model, const VariableRef& ref);  // "" if not declared

// What a component's parameters break of what its kind requires of them together: one fault each (T133). Only
// what is constant is judged.
void check_requirements(const Model& model, int component, class FaultList& faults);

// A formula of a kind for one component, in full names; and a kind's output: `d1.i` -> `d1.junction.i`.
Expr in_full_names(const Model& model, int component, Expr local_value);
Expr output_value(const Model& model, const VariableRef& ref);

// Turns an input into a variable that whoever runs the model sets: a component without edges whose only
// discrete variable is the input's value. It begins with what the input is at t = 0. Throws ModelError where
// there is no such input.
void make_external(Model& model, std::string_view input);

// An expression written by a user after the model was read (`--of`, `--outputs`): parsed and its names
// checked against the model. Outputs called V(out) may be used in any case, and V(a, b) is a difference of
// two. Throws ModelError.
Expr parse_value(const Model& model, std::string_view text, const Place& place);

// V(out), I(x1.r1): an output may be called so, though no expression of the file can use the name.
bool is_display_name(std::string_view name);

// Names a user may have meant by a wrong one, for a suggestion.
std::vector<std::string> names_near(const Model& model, std::string_view name);

}  // namespace tellegen
