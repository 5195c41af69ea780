// The equations of a mechanism, given to the components they belong to. Each becomes the value of a hidden
// parameter ("~3") of its component, in full names, and the component's own equation says that it is zero: so
// they are ordinary equations of an ordinary model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tellegen/model/model_reader.h"

namespace tellegen {
namespace {

class PartWriter {
 public:
  PartWriter(Model& model, int component, bool afresh = true)
      : pool_(*model.pool), component_(model.components[component]), kind_(model.kinds[component_.kind]) {
    if (afresh) kind_.equations.clear();
  }

  Expr hidden(Expr value, std::string name = "") {
    name = "~" + (name.empty() ? fmt::format("{}", count_++) : name);
    KindParameter parameter;
    parameter.name = name;
    parameter.optional = true;
    kind_.parameters.push_back(std::move(parameter));
    component_.values.push_back({value, 0.0, false, nullptr});
    return pool_.symbol(name);
  }
  // A variable that the mechanism gives.
  void follow(std::size_t variable, Expr value) {
    equation(symbol(variable) - hidden(value), kind_.variables[variable].name + " as the mechanism moves");
  }
  void equation(Expr residual, std::string text) {
    kind_.equations.push_back({residual, std::move(text), component_.place.line});
  }
  void zero(Expr value, std::string text) { equation(hidden(value), std::move(text)); }

  // der(variable) = rate, both of this component.
  void rate(std::size_t variable, Expr rate, const std::string& text) {
    const Expr symbol = kind_.variables[variable].symbol;
    equation(pool_.symbol("der(" + symbol.name() + ")") - rate,
             fmt::format("der({}) = {}", symbol.name(), text));
  }

  // A variable that is no state begins with a guess.
  void guess(std::size_t variable, double value) {
    forget_start(variable);
    kind_.initial.push_back({kind_.variables[variable].symbol, pool_.number(value)});
  }
  void forget_start(std::size_t variable) {
    const Expr symbol = kind_.variables[variable].symbol;
    std::erase_if(kind_.initial, [&](const KindInitial& i) { return i.variable == symbol; });
  }

  void output(const std::string& name, Expr value) {
    for (std::size_t k = 0; k < kind_.parameters.size(); ++k)
      if (kind_.parameters[k].name == "~" + name) component_.values[k] = {value, 0.0, false, nullptr};
  }
  void outputs(const std::string& name, const Vec3& value) {
    output(name + "x", value[0]);
    output(name + "y", value[1]);
    output(name + "z", value[2]);
  }

  Kind& kind() { return kind_; }
  Expr symbol(std::size_t variable) const { return kind_.variables[variable].symbol; }

 private:
  Pool& pool_;
  Component& component_;
  Kind& kind_;
  int count_ = 0;
};

void write_frame(Model& model, int component, const FrameMotion& f) {
  PartWriter part(model, component);
  part.outputs("", f.position);
  part.outputs("v", f.velocity);
  part.outputs("a", f.acceleration);
  part.outputs("w", f.angular);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) part.output(fmt::format("r{}{}", i + 1, j + 1), f.orientation[i][j]);
}

// What the recursion along the tree names at a joint.
void write_named(PartWriter& part, Pool& pool, const MechanismEquations& f, int k, std::string_view joint) {
  for (const NamedFormula& n : f.named) {
    if (n.joint != k) continue;
    KindVariable v;
    v.name = n.symbol.name().substr(joint.size() + 1);
    v.summary = "named by the recursion along the tree";
    v.symbol = pool.symbol(v.name);
    part.kind().variables.push_back(std::move(v));
    const std::size_t variable = part.kind().variables.size() - 1;
    part.guess(variable, n.start);
    part.follow(variable, n.value);
  }
}

// A joint of the tree: its coordinates are variables, states where they are independent.
void write_joint(PartWriter& part, const MechanismEquations& f, int k, const MechanismJoint& joint) {
  const JointSize size = size_of(joint.kind);
  const auto n = static_cast<std::size_t>(size.coordinates), m = static_cast<std::size_t>(size.speeds);
  for (const CoordinateMotion& c : f.coordinates) {
    if (c.joint != k) continue;
    const auto i = static_cast<std::size_t>(c.index), speed = n + i;
    const std::string& name = part.kind().variables[speed].name;
    if (c.independent) {
      if (c.q) part.rate(i, part.symbol(speed), name);
      part.rate(speed, part.symbol(n + m + i), part.kind().variables[n + m + i].name);
    } else {
      const CircuitEquation& e = f.circuits[c.constraint];
      const std::string& circuit = f.constraints[e.constraint].name;
      part.guess(i, c.start);
      part.forget_start(speed);
      part.zero(e.position, fmt::format("'{}' closed", circuit));
      part.zero(e.velocity, fmt::format("'{}' closed: speeds", circuit));
    }
    part.zero(c.motion, fmt::format("equation of motion of {}", name));
  }
  for (std::size_t i = 0; i < n; ++i)
    for (const auto& [q, rate] : f.quaternion_rates)
      if (q == joint.q[i]) part.rate(i, part.hidden(rate), "rate of a quaternion");
  for (const KindEdge& edge : part.kind().edges)
    part.equation(edge.across - part.symbol(n), "the port moves with the joint");
  part.outputs("reaction_f", f.joint_force[k]);
  part.outputs("reaction_m", f.joint_moment[k]);
}

// The kinetic energy of the whole mechanism stands on its first joint with a state: all power that comes
// through ports arrives there. What gravity and springs take counts as converted, so that the balance of a
// pendulum, which exchanges energy with nothing else, says something.
void write_energy(Model& model, const std::vector<int>& joints, const MechanismEquations& f) {
  Pool& pool = *model.pool;
  bool first = true;
  for (const int component : joints) {
    Kind& kind = model.kinds[model.components[component].kind];
    Expr through_edges = pool.number(0);
    for (const KindEdge& edge : kind.edges) through_edges = through_edges + edge.across * edge.through;
    kind.energy = pool.number(0);
    kind.loss = through_edges;
    if (!first) continue;
    first = false;
    PartWriter part(model, component, false);
    kind.energy = part.hidden(f.kinetic, "energy");
    kind.loss = through_edges - part.hidden(f.power, "power");
  }
}

// What keeps a circuit closed is a variable: the multiplier of its equation.
void write_multipliers(PartWriter& part, const MechanismEquations& f, int constraint) {
  for (const CircuitEquation& e : f.circuits) {
    if (e.constraint != constraint) continue;
    if (e.redundant)
      part.equation(part.symbol(e.index), "redundant: left out");
    else
      part.zero(e.acceleration, "circuit closed: accelerations");
  }
}

// What was chosen, for `tellegen check`.
std::string described(const MechanismEquations& f) {
  std::string states, others, closing, left_out;
  const auto add = [](std::string& list, const std::string& name) {
    list += (list.empty() ? "" : ", ") + name;
  };
  for (const CoordinateMotion& c : f.coordinates)
    add(c.independent ? states : others, (c.q ? c.q : c.u).name());
  for (std::size_t k = 0; k < f.constraints.size(); ++k) add(closing, f.constraints[k].name);
  for (const CircuitEquation& e : f.circuits)
    if (e.redundant && !e.position.is_number(0)) add(left_out, e.multiplier.name());
  std::string text = "states: " + (states.empty() ? "none, drivers decide everything" : states);
  if (!others.empty()) text += "; following from circuits: " + others;
  if (!closing.empty()) text += "; circuits closed by: " + closing;
  if (!left_out.empty()) text += "; redundant, left out: " + left_out;
  return text;
}

// A joint out of the tree: instead of coordinates it has what its circuit puts on it.
void make_closing(PartWriter& part, Pool& pool, std::size_t count) {
  Kind& kind = part.kind();
  std::erase_if(kind.outputs, [](const KindOutput& o) { return !o.value.is_symbol(); });
  kind.variables.clear();
  kind.initial.clear();
  for (std::size_t i = 0; i < count; ++i) {
    KindVariable v;
    v.name = fmt::format("reaction_{}", i + 1);
    v.summary = "what keeps the circuit closed, along its equation";
    v.symbol = pool.symbol(v.name);
    kind.variables.push_back(std::move(v));
  }
}

// What the file gives for a speed at the start; 0 where it gives nothing.
double given_speed(const Model& model, int component, std::size_t variable, const ExprMap<double>& numbers) {
  const Component& c = model.components[component];
  const Kind& kind = model.kinds[c.kind];
  for (const KindInitial& initial : kind.initial)
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      if (initial.variable == kind.variables[variable].symbol && initial.value.is_symbol() &&
          initial.value.name() == kind.parameters[k].name && c.values[k].value)
        return evaluate(c.values[k].value, numbers);
  return 0.0;
}

// A mechanism that was to move, and begins at rest: speeds were given to joints that follow from circuits
// only.
std::vector<std::string> lost_speeds(const Model& model, const Mechanism& mechanism,
                                     const MechanismEquations& f) {
  ExprMap<double> numbers = mechanism.numbers;
  numbers[model.pool->symbol("t")] = 0.0;
  std::vector<std::string> leading, notes;
  std::vector<int> lost;
  for (const CoordinateMotion& c : f.coordinates) {
    const MechanismJoint& joint = mechanism.joints[c.joint];
    const int component = model.component_by_name.at(joint.name);
    const std::size_t speed = static_cast<std::size_t>(size_of(joint.kind).coordinates + c.index);
    const double given = given_speed(model, component, speed, numbers);
    if (c.independent && given != 0.0) return {};
    if (c.independent)
      leading.push_back(fmt::format("'{}'", joint.name));
    else if (given != 0.0)
      lost.push_back(component);
  }
  if (leading.empty()) return {};
  leading.erase(std::unique(leading.begin(), leading.end()), leading.end());
  for (const int component : lost)
    notes.push_back(fmt::format(
        "{}:{}: note: the speed that '{}' is given at the start is not used: it follows from circuits, and "
        "what "
        "it follows from is at rest; give a speed to {}, or put '{}' before it in the file",
        model.components[component].place.file, model.components[component].place.line,
        model.components[component].name, fmt::join(leading, ", "), model.components[component].name));
  return notes;
}

}  // namespace

void ModelReader::build_mechanism() {
  if (parts_.empty() || !faults_.empty()) return;
  promote_numbers();
  const Mechanism mechanism = describe_mechanism();
  if (!faults_.empty()) return;
  const MechanismEquations f = mechanism_equations(mechanism);
  for (const MechanismFault& fault : f.faults)
    faults_.add(model_.components[model_.component_by_name.at(fault.name)].place, fault.code, fault.message,
                fault.details);
  if (!f.faults.empty()) return;
  if (options_.notes)
    for (std::string& note : lost_speeds(model_, mechanism, f)) options_.notes->push_back(std::move(note));
  for (const auto& [name, component] : frames_)
    write_frame(model_, component, f.frames[1 + component - first_frame_]);
  std::vector<int> with_states;
  std::size_t tyres = 0;
  for (const MechanismPart& p : parts_) {
    if (p.role->what == MechanismRole::What::stop) {
      const MechanismJoint& joint = mechanism.joints[mechanism_joints_.at(p.references.at("joint"))];
      PartWriter part(model_, p.component, false);
      part.follow(0, joint.q[0]);
      part.follow(1, joint.u[0]);
      continue;
    }
    if (p.role->what == MechanismRole::What::tyre) {
      PartWriter part(model_, p.component, false);
      for (std::size_t k = 0; k < 3; ++k) part.follow(k, f.tyres[tyres][k]);
      ++tyres;
      continue;
    }
    PartWriter part(model_, p.component);
    const std::string& name = model_.components[p.component].name;
    const auto joint = mechanism_joints_.find(name);
    if (joint != mechanism_joints_.end() && f.in_tree[joint->second]) {
      write_joint(part, f, joint->second, mechanism.joints[joint->second]);
      write_named(part, *model_.pool, f, joint->second, name);
      if (std::any_of(f.coordinates.begin(), f.coordinates.end(),
                      [&](const CoordinateMotion& c) { return c.joint == joint->second && c.independent; }))
        with_states.push_back(p.component);
      continue;
    }
    for (std::size_t c = 0; c < f.constraints.size(); ++c) {
      if (f.constraints[c].name != name) continue;
      if (f.closing[c] >= 0) make_closing(part, *model_.pool, f.constraints[c].multipliers.size());
      write_multipliers(part, f, static_cast<int>(c));
    }
  }
  write_energy(model_, with_states, f);
  for (const MechanismPart& p : parts_) model_.mechanism.push_back({p.component, p.references});
  if (const auto all = model_.component_by_name.find("mechanism"); all != model_.component_by_name.end())
    if (model_.kinds[model_.components[all->second].kind].name == "multibody.mechanism") {
      PartWriter part(model_, all->second);
      part.kind().summary = described(f);
      part.output("kinetic", f.kinetic);
      part.output("potential", f.potential);
    }
}

}  // namespace tellegen
