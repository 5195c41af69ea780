// What acts on the joints and frames of a mechanism: constraints, stops, and forces of every kind.
#include <fmt/format.h>

#include "tellegen/model/model_reader.h"

namespace tellegen {

// A joint of one coordinate that a part names: in Mechanism::joints, -1 after a fault.
int ModelReader::mechanism_joint(const MechanismPart& part, std::string_view key,
                                 const Mechanism& mechanism) {
  const std::string& wanted = part.references.at(std::string(key));
  const auto at = mechanism_joints_.find(wanted);
  if (at != mechanism_joints_.end() && mechanism.joints[at->second].q.size() == 1) return at->second;
  std::vector<std::string> known;
  for (const auto& [name, k] : mechanism_joints_)
    if (mechanism.joints[k].q.size() == 1) known.push_back(name);
  const Component& component = model_.components[part.component];
  faults_.add(component.place, "T190",
              fmt::format("'{}' of '{}' is '{}', which is not a joint with one coordinate", key,
                          component.name, wanted),
              {did_you_mean(wanted, known)});
  return -1;
}

void ModelReader::add_constraint(const MechanismPart& part, Mechanism& mechanism) {
  using Constraint = MechanismConstraint::What;
  static const std::map<std::string_view, Constraint> kinds{
      {"rod", Constraint::distance},         {"point_on_line", Constraint::line},
      {"point_on_plane", Constraint::plane}, {"gear", Constraint::gear},
      {"driver", Constraint::driver},        {"point_driver", Constraint::point_driver}};
  const Component& component = model_.components[part.component];
  MechanismConstraint c;
  c.what = kinds.at(part.role->kind);
  c.name = component.name;
  switch (c.what) {
    case Constraint::gear:
      c.from = mechanism_joint(part, "first", mechanism);
      c.to = mechanism_joint(part, "second", mechanism);
      c.value = part_value(part, "ratio");
      c.offset = part_value(part, "offset");
      break;
    case Constraint::driver:
      c.from = c.to = mechanism_joint(part, "joint", mechanism);
      c.value = motion_in_time(part);
      break;
    case Constraint::point_driver:
      c.to = mechanism_frame(part, "at");
      c.axis = direction(part, "axis");
      c.value = motion_in_time(part);
      break;
    default:
      c.from = mechanism_frame(part, "from");
      c.to = mechanism_frame(part, "to");
      if (c.what == Constraint::distance)
        c.value = part_value(part, "length");
      else
        c.axis = direction(part, "axis");
  }
  if (c.from < 0 || c.to < 0) return;
  if (c.what == Constraint::gear || c.what == Constraint::driver)
    mechanism.joints[c.from].has_effort = mechanism.joints[c.to].has_effort = true;
  for (const KindVariable& v : model_.kinds[component.kind].variables)
    c.multipliers.push_back(model_.pool->symbol(component.name + "." + v.name));
  mechanism.constraints.push_back(std::move(c));
}

// A formula of the part's kind, in full names.
Expr ModelReader::part_output(const MechanismPart& part, std::string_view name) const {
  for (const KindOutput& output : model_.kinds[model_.components[part.component].kind].outputs)
    if (output.name == name) return in_full_names(model_, part.component, output.value);
  return {};
}

// What acts in the joint is the stop's law of the joint's own coordinate and speed.
void ModelReader::add_stop(const MechanismPart& part, Mechanism& mechanism) {
  const int k = mechanism_joint(part, "joint", mechanism);
  if (k < 0) return;
  const std::string& name = model_.components[part.component].name;
  MechanismJoint& joint = mechanism.joints[k];
  const Expr effort =
      substitute(part_output(part, "effort"), {{model_.pool->symbol(name + ".position"), joint.q[0]},
                                               {model_.pool->symbol(name + ".speed"), joint.u[0]}});
  if (joint.effort.empty()) joint.effort.assign(1, model_.pool->number(0));
  joint.effort[0] = joint.effort[0] + effort;
  joint.has_effort = true;
}

void ModelReader::add_load(const MechanismPart& part, Mechanism& m) {
  using Role = MechanismRole::What;
  const auto symbol = [&](const char* name) {
    return model_.pool->symbol(model_.components[part.component].name + "." + name);
  };
  switch (part.role->what) {
    case Role::spring:
      m.springs.push_back({mechanism_frame(part, "from"), mechanism_frame(part, "to"),
                           part_value(part, "stiffness"), part_value(part, "length"),
                           part_value(part, "damping"), part_value(part, "preload")});
      break;
    case Role::bushing:
      m.bushings.push_back({mechanism_frame(part, "from"), mechanism_frame(part, "to"),
                            part_vector(part, "stiffness"), part_vector(part, "damping"),
                            part_vector(part, "turning_stiffness"), part_vector(part, "turning_damping")});
      break;
    case Role::tyre:
      m.tyres.push_back({mechanism_frame(part, "from"), mechanism_frame(part, "to"),
                         direction(part, "normal"), direction(part, "axis"), part_value(part, "radius"),
                         part_value(part, "slow"), symbol("deflection"), symbol("rate"), symbol("slip"),
                         part_output(part, "load"), part_output(part, "lateral")});
      break;
    case Role::stop:
      add_stop(part, m);
      break;
    case Role::force:
    case Role::torque: {
      const bool is_force = part.role->what == Role::force;
      const Vec3 none = zero_vector(*model_.pool);
      m.forces.push_back(
          {mechanism_frame(part, "at"), part.references.contains("in") ? mechanism_frame(part, "in") : 0,
           is_force ? part_vector(part, "force") : none, is_force ? none : part_vector(part, "torque")});
      break;
    }
    default:
      break;
  }
}

}  // namespace tellegen
