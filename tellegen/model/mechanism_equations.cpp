// The equations of a mechanism, given to the components they belong to. Each becomes the value of a hidden
// parameter ("~3") of its component, in full names, and the component's own equation says that it is zero: so
// they are ordinary equations of an ordinary model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tellegen/model/model_reader.h"

namespace tellegen {
namespace {

class PartWriter {
 public:
  PartWriter(Model& model, int component, bool afresh = true, std::string prefix = "")
      : pool_(*model.pool),
        component_(model.components[component]),
        kind_(model.kinds[component_.kind]),
        prefix_(std::move(prefix)) {
    if (afresh) kind_.equations.clear();
  }

  Expr hidden(Expr value, std::string name = "") {
    name = "~" + (name.empty() ? fmt::format("{}{}", prefix_, count_++) : name);
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
    equation(rate_of(variable) - rate, fmt::format("der({}) = {}", symbol(variable).name(), text));
  }
  Expr rate_of(std::size_t variable) const { return pool_.symbol("der(" + symbol(variable).name() + ")"); }

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
  // A variable of this component by its full name.
  Expr own(Expr full) const { return pool_.symbol(full.name().substr(component_.name.size() + 1)); }

 private:
  Pool& pool_;
  Component& component_;
  Kind& kind_;
  std::string prefix_;  // of hidden names, where a part is written twice
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

// Where it may begin in equilibrium: no acceleration and no speed. A speed that a rotor on the joint's shaft
// has is no state of the joint; then the equation that falls away is the last one with its rate.
void write_equilibrium(PartWriter& part, const MechanismEquations& f, int k, std::size_t speeds_begin) {
  const auto each = [&](bool still) {
    for (const CoordinateMotion& c : f.coordinates) {
      if (c.joint != k || !c.independent || !c.q) continue;
      const auto i = static_cast<std::size_t>(c.index);
      const Expr acceleration = part.rate_of(speeds_begin + i);
      const std::string& name = part.kind().variables[i].name;
      part.kind().steady.push_back({still ? part.rate_of(i) + acceleration : acceleration,
                                    fmt::format("equilibrium: {} {}", name, still ? "at rest" : "held")});
    }
  };
  each(false);
  each(true);
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
  write_equilibrium(part, f, k, n);
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
    part.hidden(f.exchanged, "exchanged");
  }
}

// What keeps a circuit closed is a variable: the multiplier of its equation.
void write_multipliers(PartWriter& part, const MechanismEquations& f, int constraint,
                       bool redundant_too = true) {
  for (const CircuitEquation& e : f.circuits) {
    if (e.constraint != constraint) continue;
    if (e.redundant && redundant_too) part.equation(part.own(e.multiplier), "redundant: left out");
    if (!e.redundant) part.zero(e.acceleration, "circuit closed: accelerations");
  }
}

KindVariable multiplier_of(Expr own) {
  return {own.name(), "", "what keeps the circuit closed, along its equation", own};
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

// A joint out of the tree: instead of coordinates it has what its circuit puts on it. Its motion and what it
// transmits follow from the frames that it joins.
void make_closing(PartWriter& part, const MechanismEquations& f, std::size_t k, const MechanismJoint& joint) {
  Kind& kind = part.kind();
  std::erase_if(kind.outputs, [](const KindOutput& o) { return !o.value.is_symbol(); });
  const std::vector<KindVariable> coordinates = std::move(kind.variables);
  kind.variables.clear();
  kind.initial.clear();
  for (const Expr symbol : joint.reactions) kind.variables.push_back(multiplier_of(part.own(symbol)));
  const ClosingMotion& motion = f.closing_motions[k];
  auto next = coordinates.begin();
  for (const auto* formulas : {&motion.q, &motion.u, &motion.a})
    for (const Expr value : *formulas) {
      kind.outputs.push_back({next->name, next->unit, next->summary, part.hidden(value, next->name)});
      ++next;
    }
  part.outputs("reaction_f", f.joint_force[k]);
  part.outputs("reaction_m", f.joint_moment[k]);
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

// A joint or constraint of which nothing is left, since others keep what it would keep.
std::vector<std::string> idle_constraints(const Model& model, const MechanismEquations& f) {
  std::vector<std::string> notes;
  for (std::size_t k = 0; k < f.constraints.size(); ++k) {
    bool any = false, left = false;
    for (const CircuitEquation& e : f.circuits) {
      if (e.constraint != static_cast<int>(k)) continue;
      any = true;
      left = left || !e.redundant;
    }
    if (!any || left) continue;
    const Component& c = model.components[model.component_by_name.at(f.constraints[k].name)];
    notes.push_back(
        fmt::format("{}:{}: note: '{}' is redundant: other joints and constraints keep all that it would "
                    "keep, so it is left out "
                    "and carries nothing",
                    c.place.file, c.place.line, c.name));
  }
  return notes;
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

namespace {

void want_joints(Mechanism& mechanism, const std::vector<std::string>& names) {
  for (MechanismJoint& joint : mechanism.joints)
    joint.wanted = std::find(names.begin(), names.end(), joint.name) != names.end();
}

// A joint that is a branch for the sensitivities and a chord of the system's own tree: its coordinates are
// variables too, which follow from the frames.
void add_followers(PartWriter& part, Pool& pool, const MechanismJoint& joint, const ClosingMotion& motion) {
  std::vector<KindVariable> variables;
  std::vector<std::pair<std::size_t, Expr>> follow;
  const auto add = [&](const std::vector<Expr>& symbols, const std::vector<Expr>& values) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const std::string name = symbols[i].name().substr(joint.name.size() + 1);
      const auto shown = std::find_if(part.kind().outputs.begin(), part.kind().outputs.end(),
                                      [&](const KindOutput& o) { return o.name == name; });
      variables.push_back({name, shown->unit, shown->summary, pool.symbol(name)});
      part.kind().outputs.erase(shown);
      follow.emplace_back(variables.size() - 1, values[i]);
    }
  };
  add(joint.q, motion.q);
  add(joint.u, motion.u);
  add(joint.a, motion.a);
  auto& all = part.kind().variables;
  all.insert(all.begin(), variables.begin(), variables.end());
  for (const auto& [variable, value] : follow) part.follow(variable, value);
}

}  // namespace

// A joint that is a branch of the system and a chord for the sensitivities: its multipliers are variables
// too, which the equations of motion give that follow from its circuit there.
void add_multipliers(PartWriter& part, const MechanismEquations& f, int constraint) {
  for (std::size_t k = 0; k < f.circuits.size(); ++k) {
    const CircuitEquation& e = f.circuits[k];
    if (e.constraint != constraint || e.redundant) continue;
    part.kind().variables.push_back(multiplier_of(part.own(e.multiplier)));
    for (const CoordinateMotion& c : f.coordinates)
      if (!c.independent && c.constraint == static_cast<int>(k)) part.zero(c.motion, "equation of motion");
  }
}

// Sensitivities with a tree of their own: what is differentiated are the equations of motion of that tree, in
// its coordinates; these are variables of the system where its own tree does not have them.
void ModelReader::write_sensitivities(const Mechanism& mechanism, const MechanismEquations& f,
                                      const MechanismEquations& system) {
  const auto refuse = [&](int component, const std::string& why) {
    faults_.add(model_.components[component].place, "T197",
                fmt::format("the sensitivities cannot have this tree beside the system's: '{}' {}",
                            model_.components[component].name, why),
                {"choose trees that share this joint"});
  };
  if (!f.named.empty())
    refuse(parts_.front().component, "belongs to a tree of too many coordinates for that");
  for (const MechanismPart& p : parts_) {
    const std::string& name = model_.components[p.component].name;
    const auto found = mechanism_joints_.find(name);
    const int k = found == mechanism_joints_.end() ? -1 : found->second;
    if (k < 0 && p.role->what != MechanismRole::What::constraint) continue;
    const auto closes = [&](const MechanismConstraint& c) { return c.name == name; };
    const auto constraint = static_cast<int>(
        std::find_if(f.constraints.begin(), f.constraints.end(), closes) - f.constraints.begin());
    const bool branch = k >= 0 && f.in_tree[k], system_branch = k >= 0 && system.in_tree[k];
    PartWriter part(model_, p.component, false, "s");
    Kind& kind = part.kind();
    if (branch && !system_branch) {
      const ClosingMotion& motion = system.closing_motions[k];
      if (motion.q.size() != mechanism.joints[k].q.size()) {
        refuse(p.component, "turns about several axes, and closes a circuit of the system");
        continue;
      }
      add_followers(part, *model_.pool, mechanism.joints[k], motion);
    }
    if (!branch && system_branch) add_multipliers(part, f, constraint);
    const std::vector<KindEquation> equations = std::exchange(kind.equations, {}), steady = kind.steady;
    const std::vector<KindInitial> initial = std::exchange(kind.initial, {});
    DifferentiatedPart own;
    if (branch) {
      kind.initial = starts_[p.component];
      write_joint(part, f, k, mechanism.joints[k]);
      for (const auto* list : {&mechanism.joints[k].q, &mechanism.joints[k].u, &mechanism.joints[k].a})
        for (const Expr symbol : *list) own.variables.push_back(part.own(symbol));
    } else {
      write_multipliers(part, f, constraint, !system_branch);
      for (const CircuitEquation& e : f.circuits)
        if (e.constraint == constraint && !(system_branch && e.redundant))
          own.variables.push_back(part.own(e.multiplier));
      if (k >= 0) {
        part.outputs("reaction_f", f.joint_force[k]);
        part.outputs("reaction_m", f.joint_moment[k]);
      }
    }
    own.equations = std::exchange(kind.equations, equations);
    own.initial = std::exchange(kind.initial, initial);
    kind.steady = steady;
    trees_->differentiated[p.component] = std::move(own);
  }
}

bool ModelReader::report(const MechanismEquations& f) {
  for (const MechanismFault& fault : f.faults)
    faults_.add(model_.components[model_.component_by_name.at(fault.name)].place, fault.code, fault.message,
                fault.details);
  return f.faults.empty();
}

// Joints and constraints; gives the joints that have states.
std::vector<int> ModelReader::write_parts(const Mechanism& mechanism, const MechanismEquations& f) {
  std::vector<int> with_states;
  for (const MechanismPart& p : parts_) {
    if (p.role->what == MechanismRole::What::stop || p.role->what == MechanismRole::What::tyre) continue;
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
      if (const int k = f.closing[c]; k >= 0) make_closing(part, f, k, mechanism.joints[k]);
      write_multipliers(part, f, static_cast<int>(c));
    }
  }
  return with_states;
}

// What has no equations of motion: frames, stops, tyres, and the mechanism as a whole.
void ModelReader::write_followers(const Mechanism& mechanism, const MechanismEquations& f,
                                  const std::string& summary) {
  for (const auto& [name, component] : frames_)
    write_frame(model_, component, f.frames[1 + component - first_frame_]);
  std::size_t tyres = 0;
  for (const MechanismPart& p : parts_) {
    PartWriter part(model_, p.component, false);
    if (p.role->what == MechanismRole::What::stop) {
      const MechanismJoint& joint = mechanism.joints[mechanism_joints_.at(p.references.at("joint"))];
      part.follow(0, joint.q[0]);
      part.follow(1, joint.u[0]);
    } else if (p.role->what == MechanismRole::What::tyre) {
      for (std::size_t k = 0; k < 3; ++k) part.follow(k, f.tyres[tyres][k]);
      ++tyres;
    }
  }
  if (const auto all = model_.component_by_name.find("mechanism"); all != model_.component_by_name.end())
    if (model_.kinds[model_.components[all->second].kind].name == "multibody.mechanism") {
      PartWriter part(model_, all->second);
      part.kind().summary = summary;
      part.output("kinetic", f.kinetic);
      part.output("potential", f.potential);
    }
}

void ModelReader::build_mechanism() {
  if (parts_.empty() || !faults_.empty()) return;
  promote_numbers();
  Mechanism mechanism = describe_mechanism();
  if (!faults_.empty()) return;
  for (const MechanismPart& p : parts_)
    starts_[p.component] = model_.kinds[model_.components[p.component].kind].initial;
  if (trees_) want_joints(mechanism, trees_->system);
  const MechanismEquations f = mechanism_equations(mechanism);
  if (!report(f)) return;
  if (options_.notes) {
    for (std::string& note : lost_speeds(model_, mechanism, f)) options_.notes->push_back(std::move(note));
    for (std::string& note : idle_constraints(model_, f)) options_.notes->push_back(std::move(note));
  }
  const std::vector<int> with_states = write_parts(mechanism, f);
  if (!trees_ || trees_->sensitivities.empty()) {
    write_followers(mechanism, f, described(f));
    write_energy(model_, with_states, f);
  } else {
    want_joints(mechanism, trees_->sensitivities);
    const MechanismEquations sensitivities = mechanism_equations(mechanism);
    if (!report(sensitivities)) return;
    write_sensitivities(mechanism, sensitivities, f);
    write_followers(mechanism, sensitivities, described(f));
  }
  for (const MechanismPart& p : parts_) model_.mechanism.push_back({p.component, p.references});
}

}  // namespace tellegen
