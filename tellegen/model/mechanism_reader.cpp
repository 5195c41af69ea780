// Components of mechanisms as the file has them: frames by name, vectors as lists, and the Mechanism they
// describe. Frames become components of their own, so that `tip.x` is a name like any other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/model_reader.h"
#include "tellegen/model/parameters.h"

namespace tellegen {
namespace {

using Role = MechanismRole::What;

const std::vector<MechanismRole>& roles() {
  static const std::vector<MechanismRole> list{
      {Role::body, "body", {"at"}},
      {Role::body, "box", {"at"}},
      {Role::body, "cone", {"at"}},
      {Role::body, "cylinder", {"at"}},
      {Role::body, "sphere", {"at"}},
      {Role::body, "tube", {"at"}},
      {Role::joint, "arm", {"from", "to"}, {"cut"}},
      {Role::joint, "weld", {"from", "to"}, {"cut"}},
      {Role::joint, "revolute", {"from", "to"}, {"cut"}},
      {Role::joint, "revolute_shaft", {"from", "to"}},
      {Role::joint, "prismatic", {"from", "to"}, {"cut"}},
      {Role::joint, "prismatic_rod", {"from", "to"}},
      {Role::joint, "cylindrical", {"from", "to"}, {"cut"}},
      {Role::joint, "screw", {"from", "to"}, {"cut"}},
      {Role::joint, "universal", {"from", "to"}, {"cut"}},
      {Role::joint, "spherical", {"from", "to"}, {"cut"}},
      {Role::joint, "spherical_quaternion", {"from", "to"}, {"cut"}},
      {Role::joint, "planar", {"from", "to"}, {"cut"}},
      {Role::joint, "free", {"from", "to"}},
      {Role::joint, "free_quaternion", {"from", "to"}},
      {Role::gravity, "gravity", {}},
      {Role::spring, "spring", {"from", "to"}},
      {Role::bushing, "bushing", {"from", "to"}},
      {Role::tyre, "tyre", {"from", "to"}},
      {Role::stop, "stop", {"joint"}},
      {Role::force, "force", {"at"}, {"in"}},
      {Role::torque, "torque", {"at"}, {"in"}},
      {Role::constraint, "rod", {"from", "to"}},
      {Role::constraint, "point_on_line", {"from", "to"}},
      {Role::constraint, "point_on_plane", {"from", "to"}},
      {Role::constraint, "gear", {"first", "second"}},
      {Role::constraint, "driver", {"joint"}},
      {Role::constraint, "point_driver", {"at"}},
  };
  return list;
}

bool names_joint(std::string_view key) { return key == "first" || key == "second" || key == "joint"; }

// Parameters that give directions: numbers in them are structure.
bool is_direction(std::string_view name) {
  return name.starts_with("axis_") || name.starts_with("second_") || name.starts_with("normal_");
}

void add_output(Kind& kind, Pool& pool, std::string name, std::string unit, std::string summary) {
  const std::string hidden = "~" + name;
  KindParameter value;
  value.name = hidden;
  value.unit = unit;
  value.optional = true;
  kind.parameters.push_back(std::move(value));
  kind.outputs.push_back({std::move(name), std::move(unit), std::move(summary), pool.symbol(hidden)});
}

Kind frame_kind(Pool& pool) {
  Kind kind;
  kind.name = "multibody.frame";
  kind.summary = "A frame of a mechanism.";
  for (const char* c : {"x", "y", "z"})
    add_output(kind, pool, c, "m", fmt::format("position along {} of the datum", c));
  for (const char* c : {"x", "y", "z"})
    add_output(kind, pool, fmt::format("v{}", c), "m/s", fmt::format("velocity along {} of the datum", c));
  for (const char* c : {"x", "y", "z"})
    add_output(kind, pool, fmt::format("a{}", c), "m/s2",
               fmt::format("acceleration along {} of the datum", c));
  for (const char* c : {"x", "y", "z"})
    add_output(kind, pool, fmt::format("w{}", c), "rad/s",
               fmt::format("angular velocity along {} of the datum", c));
  for (int i = 1; i <= 3; ++i)
    for (int j = 1; j <= 3; ++j)
      add_output(kind, pool, fmt::format("r{}{}", i, j), "1",
                 "element of the rotation matrix, frame to datum");
  return kind;
}

Kind mechanism_kind(Pool& pool) {
  Kind kind;
  kind.name = "multibody.mechanism";
  kind.summary = "All parts of the mechanism together.";
  add_output(kind, pool, "kinetic", "J", "kinetic energy of all bodies");
  add_output(kind, pool, "potential", "J", "potential energy of gravity and of springs between frames");
  return kind;
}

}  // namespace

const MechanismRole* role_of(std::string_view kind) {
  if (!is_mechanical(kind)) return nullptr;
  for (const MechanismRole& role : roles())
    if (kind.substr(kind.find('.') + 1) == role.kind) return &role;
  return nullptr;
}

// A part has a kind of its own, since its equations are its own.
int ModelReader::begin_part(int scope, const Value& entry, int kind) {
  const MechanismRole* role = role_of(model_.kinds[kind].name);
  if (!role) return kind;
  Kind own = model_.kinds[kind];
  if (role->what == Role::joint)
    for (const char* c : {"x", "y", "z"}) {
      add_output(own, *model_.pool, fmt::format("reaction_f{}", c), "N",
                 fmt::format("force through the joint on `to`, along {} of `from`", c));
      add_output(own, *model_.pool, fmt::format("reaction_m{}", c), "N m",
                 fmt::format("moment through the joint on `to`, along {} of `from`", c));
    }
  model_.kinds.push_back(std::move(own));
  MechanismPart part;
  part.component = static_cast<int>(model_.components.size());
  part.scope = scope;
  part.role = role;
  part.entry = &entry;
  parts_.push_back(std::move(part));
  return static_cast<int>(model_.kinds.size()) - 1;
}

// True where the item names a frame or a joint.
bool ModelReader::read_reference(int component, int scope, const Value& entry, const Value& item) {
  if (parts_.empty() || parts_.back().component != component) return false;
  MechanismPart& part = parts_.back();
  const Source at = source(scope);
  if (!part.role->refers_by(item.key)) return false;
  const std::string what = fmt::format("'{}' of '{}'", item.key, entry.key);
  if (item.key == "cut") {
    part.cut = at.is(item, Value::Type::boolean, what) && item.number != 0.0;
    return true;
  }
  if (!at.is(item, Value::Type::text, what)) return true;
  if (names_joint(item.key))
    part.references[std::string(item.key)] = scopes_[scope]->prefix + std::string(item.text);
  else if (item.text == "datum" || check_name(at, item, indexed(item.text).stem, "a frame"))
    part.references[std::string(item.key)] = frame_named(scope, item.text);
  return true;
}

// In full; what a port leads to is the frame of whoever uses the file.
std::string ModelReader::frame_named(int scope, std::string_view name) {
  if (name == "datum") return "datum";
  Scope& s = *scopes_[scope];
  const auto port = s.frame_ports.find(name);
  if (port == s.frame_ports.end()) return s.prefix + std::string(name);
  s.port_used[port->first] = true;
  return port->second;
}

// Whether a name of the file is one of a frame: a part of a mechanism is there, or a port of a subsystem.
bool ModelReader::has_frame(const Document& document, const std::filesystem::path& folder,
                            std::string_view name, int depth) {
  constexpr int deepest = 32;  // of files that contain themselves, which is reported elsewhere
  const Value* components = document.root().find("components");
  if (!components || !components->is_table() || depth > deepest) return false;
  for (const Value& entry : components->items) {
    if (!entry.is_table()) continue;
    const Value *kind = entry.find("kind"), *model = entry.find("model");
    const MechanismRole* role = kind && kind->is_text() ? role_of(kind->text) : nullptr;
    const Document* inside = nullptr;
    if (model && model->is_text())
      inside = document_of((folder / model->text).lexically_normal(), document.at(*model));
    const Value* ports = inside ? inside->root().find("ports") : nullptr;
    for (const Value& item : entry.items) {
      if (!item.is_text() || item.text != name) continue;
      if (role && !names_joint(item.key) && role->refers_by(item.key)) return true;
      const Value* port = ports && ports->is_table() ? ports->find(item.key) : nullptr;
      if (port && port->is_text() &&
          has_frame(*inside, (folder / model->text).lexically_normal().parent_path(), port->text, depth + 1))
        return true;
    }
  }
  return false;
}

// A port of a subsystem that leads to a frame.
void ModelReader::join_frame(int scope, int inner, const Value& entry, const Value& item, const Value& port) {
  const Source at = source(scope);
  if (!at.is(item, Value::Type::text, fmt::format("port '{}' of '{}'", item.key, entry.key))) return;
  if (item.text != "datum" && !check_name(at, item, indexed(item.text).stem, "a frame")) return;
  const std::string frame = frame_named(scope, item.text);
  const auto [joined_to, fresh] = scopes_[inner]->frame_ports.try_emplace(port.text, frame);
  if (!fresh && joined_to->second != frame)
    at.fault(item, "T106",
             fmt::format("two ports of '{}' lead to its frame '{}' and must be joined to one frame",
                         entry.key, port.text));
}

// A list for a parameter that the kind has by components: offset = ["1 m", 0, "L/2"].
bool ModelReader::read_vector(int scope, int component, const Value& item, std::vector<char>& given) {
  const Kind& kind = model_.kinds[model_.components[component].kind];
  if (!role_of(kind.name)) return false;
  static const std::vector<std::string> axes{"x", "y", "z"}, tensor{"xx", "yy", "zz", "xy", "xz", "yz"};
  const auto index = [&](const std::string& name) {
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      if (kind.parameters[k].name == name) return static_cast<int>(k);
    return -1;
  };
  const std::string key(item.key);
  const bool is_vector = index(key + "_x") >= 0, is_tensor = index(key + "_xx") >= 0;
  if (!is_vector && !is_tensor) return false;
  const std::size_t count = item.is_list() ? item.items.size() : 0;
  if (count != 3 && !(is_tensor && count == 6)) {
    source(scope).fault(
        item, "T102",
        item.is_list()
            ? fmt::format("'{}' of '{}' has {} entries", key, model_.components[component].name, count)
            : fmt::format("'{}' of '{}' is not a list", key, model_.components[component].name),
        {is_tensor ? "it needs three (xx, yy, zz) or six (xx, yy, zz, xy, xz, yz)"
                   : "it needs three: along x, y and z"});
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int k = index(key + "_" + (is_tensor ? tensor : axes)[i]);
    given[k] = 1;
    read_parameter(scope, component, k, item.items[i]);
  }
  return true;
}

void ModelReader::make_frames() {
  if (parts_.empty()) return;
  const auto add = [&](const std::string& name, int kind, const Place& place) {
    Component c;
    c.name = name;
    c.kind = kind;
    c.place = place;
    c.values.resize(model_.kinds[kind].parameters.size());
    model_.component_by_name[name] = static_cast<int>(model_.components.size());
    model_.components.push_back(std::move(c));
    return static_cast<int>(model_.components.size()) - 1;
  };
  const int kind = static_cast<int>(model_.kinds.size());
  model_.kinds.push_back(frame_kind(*model_.pool));
  first_frame_ = static_cast<int>(model_.components.size());
  for (const MechanismPart& part : parts_) {
    const Source at = source(part.scope);
    for (std::string_view key : part.role->references)
      if (!part.references.contains(key) && !part.entry->find(key))
        at.fault(
            *part.entry, "T112", fmt::format("'{}' of '{}' is not given", key, part.entry->key),
            {fmt::format("add {} = \"...\": the name of a {}", key, names_joint(key) ? "joint" : "frame")});
    for (const auto& [key, name] : part.references) {
      if (names_joint(key) || name == "datum" || frames_.contains(name)) continue;
      const Place place = at.document.at(*part.entry->find(key));
      if (const auto other = model_.component_by_name.find(name); other != model_.component_by_name.end()) {
        at.fault(*part.entry->find(key), "T106", fmt::format("'{}' is both a component and a frame", name),
                 {fmt::format("the component stands in line {}; give one of them another name",
                              model_.components[other->second].place.line)});
        continue;
      }
      frames_[name] = add(name, kind, place);
      if (const auto [stem, index] = indexed(name); !index.empty())
        model_.arrays[std::string(stem)].emplace_back(index);
    }
  }
  if (!model_.component_by_name.contains("mechanism")) {
    model_.kinds.push_back(mechanism_kind(*model_.pool));
    add("mechanism", static_cast<int>(model_.kinds.size()) - 1, model_.components[parts_[0].component].place);
  }
}

// Numbers that the file gives to parts become parameters of the model, so that studies can change them.
// Zeros and directions stay: they are what folds a plane mechanism into plane equations.
void ModelReader::promote_numbers() {
  for (const MechanismPart& part : parts_) {
    const Kind& kind = model_.kinds[model_.components[part.component].kind];
    const auto is_given = [&](const std::string& name) {
      const auto suffix = name.rfind('_');
      return part.entry->find(name) ||
             (suffix != std::string::npos && part.entry->find(name.substr(0, suffix)));
    };
    for (const KindParameter& p : kind.parameters) {
      const std::size_t k = &p - kind.parameters.data();
      const ParameterValue& v = model_.components[part.component].values[k];
      const bool initial = std::any_of(kind.initial.begin(), kind.initial.end(), [&](const KindInitial& i) {
        return depends_on(i.value, model_.pool->symbol(p.name));
      });
      if (initial || !v.value || !v.constant || !is_given(p.name) || is_direction(p.name) ||
          !v.value.is_number() || v.number == 0.0)
        continue;
      const int made = study_parameter(model_, model_.components[part.component].name + "." + p.name,
                                       model_.components[part.component].place);
      numbers_[model_.parameters[made].symbol] = model_.parameters[made].number;
    }
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      ParameterValue& v = model_.components[part.component].values[k];
      const bool initial = std::any_of(kind.initial.begin(), kind.initial.end(), [&](const KindInitial& i) {
        return depends_on(i.value, model_.pool->symbol(kind.parameters[k].name));
      });
      // Not a number that a study could move: nothing would follow it.
      if (!initial && v.value && v.value.is_number()) v.constant = false;
    }
  }
}

Expr ModelReader::part_value(const MechanismPart& part, std::string_view name) const {
  const Component& component = model_.components[part.component];
  const Kind& kind = model_.kinds[component.kind];
  for (std::size_t k = 0; k < kind.parameters.size(); ++k)
    if (kind.parameters[k].name == name) return component.values[k].value;
  return {};
}

Vec3 ModelReader::part_vector(const MechanismPart& part, const std::string& name) const {
  return {part_value(part, name + "_x"), part_value(part, name + "_y"), part_value(part, name + "_z")};
}

// Of length 1. Plain numbers are divided here, so that a coordinate axis stays one.
Vec3 ModelReader::direction(const MechanismPart& part, const std::string& name) {
  Pool& pool = *model_.pool;
  Vec3 v = part_vector(part, name);
  double square = 0.0;
  bool numbers = true;
  for (Expr e : v) {
    const double n = evaluate(e, numbers_);
    square += n * n;
    numbers = numbers && e.is_number();
  }
  if (!(square > 0.0)) {
    faults_.add(model_.components[part.component].place, "T190",
                fmt::format("'{}' of '{}' has no direction", name, model_.components[part.component].name),
                {"all its components are zero, or depend on more than parameters"});
    return unit_matrix(pool)[2];
  }
  if (!numbers) return pow(dot(v, v), -0.5) * v;
  for (Expr& e : v) e = pool.number(e.number() / std::sqrt(square));
  return v;
}

// A prescribed motion as a formula of t, so that it can be differentiated.
Expr ModelReader::motion_in_time(const MechanismPart& part) {
  const Component& component = model_.components[part.component];
  Expr value = part_value(part, "motion");
  ExprMap<Expr> written_out;
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (const auto input = input_values_.find(s); input != input_values_.end())
      written_out[s] = input->second;
  value = substitute(value, written_out);
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (!numbers_.contains(s) && s.name() != "t")
      faults_.add(component.place, "T127",
                  fmt::format("the motion of '{}' depends on '{}'", component.name, s.name()),
                  {"a driver prescribes a formula of t, inputs and parameters"});
  return value;
}

// Masses, lengths and directions are parameters: the equations of motion take them for constant.
void ModelReader::check_geometry(const MechanismPart& part) {
  static const std::vector<std::string_view> varying{"applied", "stiffness", "rest",    "damping", "friction",
                                                     "slip",    "motion",    "preload", "length"};
  if (part.role->what == Role::force || part.role->what == Role::torque) return;
  const Component& component = model_.components[part.component];
  const Kind& kind = model_.kinds[component.kind];
  for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
    const ParameterValue& v = component.values[k];
    const std::string& name = kind.parameters[k].name;
    const bool may_vary = part.role->what != Role::body && part.role->kind != "rod" &&
                          std::find(varying.begin(), varying.end(), name) != varying.end();
    if (!v.value || v.constant || v.value.is_number() || may_vary) continue;
    faults_.add(component.place, "T190",
                fmt::format("'{}' of '{}' depends on more than parameters", name, component.name),
                {"the equations of motion take masses, lengths and directions for constant"});
  }
}

void ModelReader::add_joint(const MechanismPart& part, Mechanism& mechanism) {
  static const std::map<std::string_view, JointKind> kinds{
      {"arm", JointKind::rigid},
      {"weld", JointKind::rigid},
      {"revolute", JointKind::revolute},
      {"revolute_shaft", JointKind::revolute},
      {"prismatic", JointKind::prismatic},
      {"prismatic_rod", JointKind::prismatic},
      {"cylindrical", JointKind::cylindrical},
      {"screw", JointKind::screw},
      {"universal", JointKind::universal},
      {"spherical", JointKind::spherical},
      {"spherical_quaternion", JointKind::spherical_quaternion},
      {"planar", JointKind::planar},
      {"free", JointKind::free},
      {"free_quaternion", JointKind::free_quaternion}};
  Pool& pool = *model_.pool;
  const Component& component = model_.components[part.component];
  const Kind& kind = model_.kinds[component.kind];
  MechanismJoint joint;
  joint.name = component.name;
  joint.kind = kinds.at(part.role->kind);
  joint.from = mechanism_frame(part, "from");
  joint.to = mechanism_frame(part, "to");
  joint.cut = part.cut;
  joint.axis = joint.second = unit_matrix(pool)[2];
  if (part_value(part, "axis_x")) joint.axis = direction(part, "axis");
  if (part_value(part, "second_x")) joint.second = direction(part, "second");
  joint.pitch = part_value(part, "pitch");
  joint.offset = zero_vector(pool);
  joint.rotation = unit_matrix(pool);
  if (part.role->kind == "arm") {
    joint.offset = part_vector(part, "offset");
    const Vec3 angles = part_vector(part, "rotation");
    joint.rotation = turn_123(angles[0], angles[1], angles[2]);
  }
  const JointSize size = size_of(joint.kind);
  const auto symbol = [&](std::size_t k) {
    return pool.symbol(component.name + "." + kind.variables[k].name);
  };
  for (int i = 0; i < size.coordinates; ++i) {
    joint.q.push_back(symbol(i));
    double start = 0.0;
    for (const KindInitial& initial : kind.initial)
      if (initial.variable == kind.variables[i].symbol)
        start = evaluate(part_value(part, initial.value.name()), numbers_);
    joint.start.push_back(start);
  }
  for (int i = 0; i < size.speeds; ++i) {
    joint.u.push_back(symbol(size.coordinates + i));
    joint.a.push_back(symbol(size.coordinates + size.speeds + i));
  }
  for (const KindOutput& output : kind.outputs)
    if (output.name == "torque" || output.name == "force") {
      const Expr effort = in_full_names(model_, part.component, output.value);
      joint.has_effort = !effort.is_number(0);
      joint.effort.assign(1, effort);
    }
  joint.preferred = !kind.edges.empty();
  joint.has_effort = joint.has_effort || joint.preferred;
  const int closed = closing_equations(joint.kind);
  for (int i = 0; i < closed; ++i)
    joint.reactions.push_back(pool.symbol(fmt::format("{}.reaction_{}", component.name, i + 1)));
  mechanism_joints_[component.name] = static_cast<int>(mechanism.joints.size());
  mechanism.joints.push_back(std::move(joint));
}

// The number of a frame in the mechanism: those of make_frames() in the order of their components.
int ModelReader::mechanism_frame(const MechanismPart& part, std::string_view key) const {
  const std::string& name = part.references.at(std::string(key));
  return name == "datum" ? 0 : 1 + frames_.at(name) - first_frame_;
}

Mechanism ModelReader::describe_mechanism() {
  Pool& pool = *model_.pool;
  Mechanism m;
  m.pool = &pool;
  m.gravity = zero_vector(pool);
  m.numbers = numbers_;
  m.frames.resize(frames_.size() + 1);
  for (const auto& [name, component] : frames_) m.frames[1 + component - first_frame_] = name;
  const MechanismPart* gravity = nullptr;
  if (!faults_.empty()) return m;
  for (const MechanismPart& part : parts_) {
    const Component& component = model_.components[part.component];
    check_geometry(part);
    switch (part.role->what) {
      case Role::body: {
        MechanismBody b{mechanism_frame(part, "at"), part_value(part, "mass"), part_vector(part, "com"), {}};
        const auto i = [&](const char* name) { return part_value(part, std::string("inertia_") + name); };
        b.inertia = {Vec3{i("xx"), i("xy"), i("xz")}, Vec3{i("xy"), i("yy"), i("yz")},
                     Vec3{i("xz"), i("yz"), i("zz")}};
        m.bodies.push_back(b);
        break;
      }
      case Role::joint:
        add_joint(part, m);
        break;
      case Role::gravity:
        if (gravity)
          faults_.add(component.place, "T190", "there are two components of kind 'multibody.gravity'",
                      {fmt::format("the first is '{}'", model_.components[gravity->component].name)});
        gravity = &part;
        m.gravity = part_vector(part, "g");
        break;
      default:
        break;  // when all joints are known
    }
  }
  for (const MechanismPart& part : parts_) {
    if (part.role->what == Role::constraint) add_constraint(part, m);
    add_load(part, m);
  }
  return m;
}

}  // namespace tellegen
