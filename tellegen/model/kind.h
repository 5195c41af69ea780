// A kind: the description of a component, read from library/<domain>/<name>.toml (or from a file beside
// the model). Everything Tellegen does with a component follows from this data; see docs/model-file.md.
//
// Equations are written in the kind's own names: parameters, internal variables, `t`, and for each edge its
// across and through variable, `v` and `i` where the kind has one edge, `shaft.w` and `shaft.tau` where it
// has several. `der(x)` is the time derivative of a variable x (an edge's across or through, or internal).
// `p.T` is the absolute across variable of node p. A parameter may be called like the variable of the only
// edge (a heat source's `Q`); the variable is then written with its edge, `source.Q`. A kind without edges is
// a signal: internal variables only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/fault.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct Domain {
  std::string name;                                // "electrical"
  std::string node;                                // name of a node's across variable: "v", "T", "w", ...
  std::string across, through;                     // of an edge: "v", "i"; "dT", "Q"
  std::string across_unit, through_unit;           // "V", "A"
  double across_scale = 1.0, through_scale = 1.0;  // a small but not negligible amount: Newton's yardstick
};

struct KindNode {
  std::string name;
  int domain = 0;
  Expr across{};  // symbol of its own across variable in the equations ("p.T"); empty: not used there
};

struct KindEdge {
  std::string name;
  int from = 0, to = 0;  // indices into Kind::nodes; -1: the datum of the edge's domain
  int domain = 0;
  Expr across, through;  // their symbols in the equations
};

struct KindParameter {
  std::string name, unit, summary;
  bool any_unit = false;  // unit = "any": a signal, with no unit of its own
  Expr fallback;          // default value, in the kind's other parameters; empty: must be given
  bool optional = false;  // may be left out altogether (an initial value, say)
  bool table = false;     // a table, called like a function in the equations
  int dimensions = 1;     // ... of so many arguments
  Interpolation interpolation = Interpolation::linear;  // of a table, unless the model says otherwise
  std::optional<double> above, below, at_least, at_most;
};

// "must be above 0, and is -3"; empty where the value keeps the parameter's bounds.
std::string broken_bound(const KindParameter& parameter, double value);

struct KindVariable {
  std::string name, unit, summary;
  Expr symbol;
};

// A discrete variable keeps its value between events. In the kind's equations it is the constant `held`; for
// everybody else it is the internal variable of the same name, which one more equation sets equal to it.
struct KindDiscrete {
  int variable = 0;    // in Kind::variables
  Expr held;           // symbol of the value since the last event
  Expr start, update;  // in parameters; in all names of the kind
  Expr every;          // in parameters: taken over at its multiples only; empty: whenever `update` differs
};

struct KindEquation {
  Expr residual;  // left - right
  std::string text;
  int line = 0;
};

// An output is a named formula of the kind's variables, for plots and expressions: `i` of a diode. The
// kind's equations and other outputs may use it too; everywhere here it is already written out.
struct KindOutput {
  std::string name, unit, summary;
  Expr value;
};

struct KindInitial {
  Expr variable;     // symbol of an across, through or internal variable
  Expr value;        // in parameters
  Expr origin = {};  // of a sensitivity: the value it is of, which a user has given or not
};

// What parameters must satisfy together: a leakage inductance below the self inductance.
struct KindRequirement {
  Expr condition;  // in parameters
  std::string text, message;
};

// A worked answer: parameters, inputs held constant, and what must come out; the tests run it.
struct KindCheck {
  // Names are those of the symbols above. given: parameters; an across or through variable or a node's
  // across ("p.T") imposed; "x(0)" initial. expect: "t", and variables and outputs at that time.
  std::map<std::string, double> given;
  std::map<std::string, double> expect;
  std::map<std::string, std::string> formulas{};  // parameters given as expressions of t
  TableMap tables{};                              // table parameters, by name
  std::vector<std::string> joined{};              // ports that are one node
  double tolerance = 1e-6;
  int line = 0;
};

struct Kind {
  std::string name;  // "electrical.capacitor"
  std::string summary;
  Place place;
  bool fixes_node = false;      // a ground or a fixed temperature: no flow of its own in the counts
  std::vector<KindNode> nodes;  // the ports, then internal nodes
  int port_count = 0;
  std::vector<KindEdge> edges;
  std::vector<KindParameter> parameters;
  std::vector<KindVariable> variables;
  std::vector<KindDiscrete> discrete;
  std::vector<KindEquation> equations;  // as many as edges and variables together
  std::vector<KindOutput> outputs;
  std::vector<KindInitial> initial;
  // What holds in a steady state of the component, one equation for each variable whose rate they contain:
  // of a machine in its turning frame, where "every rate is zero" would stop the supply.
  std::vector<KindEquation> steady;
  // What it stores, in its differentiated variables and parameters, and the power that is neither stored nor
  // goes on through an edge: over all edges, power in = d(energy)/dt + loss (simulate/balance.h). Empty: not
  // known; no loss: none.
  Expr energy{}, loss{};
  std::vector<KindRequirement> requirements;
  std::vector<KindCheck> checks;
  std::shared_ptr<const struct FmuUse> fmu{};  // of an imported FMU: who updates its discrete variables
};

// True where variables need no edge's name: the kind has one edge, or several called alike whose domains
// differ (an edge and its sensitivities).
bool one_edge_name(const Kind& kind);

}  // namespace tellegen
