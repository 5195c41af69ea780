// The magnetic network of a machine: arrays of components whose values are formulas of the machine's
// parameters.
#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/machine.h"

namespace tellegen {
namespace {

using Keys = std::vector<std::pair<std::string_view, std::string>>;

std::string quote(std::string_view text) { return fmt::format("\"{}\"", text); }
std::string each(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.12g}", text.empty() ? "" : ", ", value);
  return fmt::format("{{ each = [{}] }}", text);
}
// "tip[mod(i, 36) + 1]": what follows element i of a ring.
std::string next(std::string_view name, int count) { return fmt::format("{}[mod(i, {}) + 1]", name, count); }

class NetworkWriter {
 public:
  NetworkWriter(const Machine& machine, const MachineDrive& drive) : m_(machine), drive_(drive) {}

  std::vector<AddedSection> write() {
    parameters_.entries = m_.parameters;
    parameter("machine_poles", std::to_string(m_.poles));
    parameter("machine_slots", std::to_string(m_.slots));
    parameter("machine_axis", fmt::format("{:.17g}", m_.winding.axis));
    parameter("machine_tooth_pitch", quote("2*pi/machine_slots"));
    parameter("machine_pole_pitch", quote("2*pi/machine_poles"));
    parameter("machine_carter",
              quote("1/(1 - machine_stator_opening^2/((machine_stator_opening + 5*machine_gap)"
                    "*machine_tooth_pitch*machine_stator_bore/2))"));
    parameter("machine_face",
              quote(m_.open_slots ? "machine_tooth_pitch - 2*machine_stator_opening/machine_stator_bore"
                                  : "machine_tooth_pitch"));
    parameter("machine_gap_length", quote(m_.open_slots ? "machine_gap" : "machine_carter*machine_gap"));
    add_stator();
    switch (m_.rotor) {
      case Machine::Rotor::salient:
        add_salient_rotor();
        break;
      case Machine::Rotor::surface:
        add_surface_rotor();
        break;
      case Machine::Rotor::interior:
        add_interior_rotor();
        break;
      case Machine::Rotor::cage:
        add_cage_rotor();
        break;
    }
    component("machine_datum", "magnetic.ground", {{"p", quote("yoke[1]")}});
    if (!drive_.imposed) add_terminals();
    add_outputs();
    return {std::move(parameters_), std::move(components_), std::move(outputs_)};
  }

 private:
  void parameter(std::string_view name, std::string_view value) {
    parameters_.entries.push_back({fmt::format("{} = {}", name, value), m_.line});
  }
  void component(std::string_view name, std::string_view kind, const Keys& keys) {
    std::string text = fmt::format("{} = {{ kind = \"{}\"", name, kind);
    for (const auto& [key, value] : keys) text += fmt::format(", {} = {}", key, value);
    components_.entries.push_back({text + " }", m_.line});
  }
  void output(std::string_view name, std::string_view value, std::string_view unit,
              std::string_view summary) {
    outputs_.entries.push_back({fmt::format("{} = {{ value = \"{}\", unit = \"{}\", summary = \"{}\" }}",
                                            name, value, unit, summary),
                                m_.line});
  }

  // Iron of a length and a cross-section, in the words of its material.
  void iron(std::string_view name, const MachineIron& material, int count, std::string_view p,
            std::string_view n, std::string_view length, std::string_view width, const Keys& windings = {}) {
    Keys keys{{"count", std::to_string(count)},
              {"p", quote(p)},
              {"n", quote(n)},
              {"length", quote(length)},
              {"area", quote(fmt::format("{}*machine_stack*machine_stacking", width))}};
    if (material.mu_r.empty())
      keys.emplace_back("HB", material.curve);
    else
      keys.emplace_back("mu_r", quote(material.mu_r));
    keys.insert(keys.end(), windings.begin(), windings.end());
    const bool plain = windings.empty() && !material.mu_r.empty();
    component(name,
              plain                   ? "magnetic.core"
              : material.mu_r.empty() ? "magnetic.saturable_wound_core"
                                      : "magnetic.wound_core",
              keys);
  }

  // A cross-section that cannot be built is refused in its own words.
  void slotted_ring(std::string_view name, std::string_view section, int teeth, std::string_view tip,
                    std::string_view root, std::string_view height) {
    const auto of = [&](std::string_view key) { return fmt::format("machine_{}_{}", section, key); };
    component(name, "magnetic.slotted_ring",
              {{"teeth", std::to_string(teeth)},
               {"tip", quote(tip)},
               {"root", quote(root)},
               {"tooth_width", quote(of("tooth_width"))},
               {"slot_width", quote(of("slot_width"))},
               {"slot_height", quote(fmt::format("{} + {}", of(height), of("opening_height")))},
               {"opening", quote(of("opening"))}});
  }
  void pole_ring(int poles, std::string_view inner, std::string_view outer, std::string_view width) {
    component("rotor_section", "magnetic.pole_ring",
              {{"poles", std::to_string(poles)},
               {"inner", quote(inner)},
               {"outer", quote(outer)},
               {"width", quote(width)}});
  }

  void add_stator() {
    slotted_ring("stator_section", "stator", m_.slots, "machine_stator_bore/2",
                 "machine_stator_bore/2 + machine_stator_tooth_height", "conductor_height");
    Keys windings;
    constexpr std::string_view turns[] = {"N_a", "N_b", "N_c"}, currents[] = {"i_a", "i_b", "i_c"};
    for (std::size_t p = 0; p < 3; ++p) windings.emplace_back(turns[p], each(m_.winding.turns[p]));
    for (std::size_t p = 0; p < 3; ++p) windings.emplace_back(currents[p], quote(drive_.i[p]));
    iron("tooth", m_.stator_iron, m_.slots, "tip[i]", "yoke[i]", "machine_stator_tooth_height",
         "machine_stator_tooth_width", windings);
    iron("back_iron", m_.stator_iron, m_.slots, "yoke[i]", next("yoke", m_.slots),
         "machine_tooth_pitch*(machine_stator_bore/2 + machine_stator_tooth_height + machine_stator_yoke/2)",
         "machine_stator_yoke");
    component(
        "slot", "magnetic.reluctance",
        {{"count", std::to_string(m_.slots)},
         {"p", quote("tip[i]")},
         {"n", quote(next("tip", m_.slots))},
         {"R",
          quote("1/(1.25663706212e-6*machine_stack*(machine_stator_conductor_height/"
                "(3*machine_stator_slot_width) + machine_stator_opening_height/machine_stator_opening))")}});
  }

  void add_salient_rotor() {
    parameter("machine_rotor_space", quote("machine_pole_pitch*(1 - machine_rotor_pole_arc)"));
    std::string turns;
    for (int k = 0; k < m_.poles; ++k)
      turns += fmt::format("{}\"{}machine_rotor_turns\"", k == 0 ? "" : ", ", k % 2 == 0 ? "" : "-");
    pole_ring(m_.poles, "machine_rotor_shaft_radius + machine_rotor_yoke",
              "machine_stator_bore/2 - machine_gap", "machine_rotor_body_width");
    iron("pole", m_.rotor_iron, m_.poles, "hub[i]", "shoe[i]",
         "machine_rotor_body_height + machine_rotor_shoe_height", "machine_rotor_body_width",
         {{"N_a", fmt::format("{{ each = [{}] }}", turns)}, {"i_a", quote(drive_.i_f)}});
    iron("hub_iron", m_.rotor_iron, m_.poles, "hub[i]", next("hub", m_.poles),
         "machine_pole_pitch*(machine_rotor_shaft_radius + machine_rotor_yoke/2)", "machine_rotor_yoke");
    component("pole_leakage", "magnetic.reluctance",
              {{"count", std::to_string(m_.poles)},
               {"p", quote("shoe[i]")},
               {"n", quote(next("shoe", m_.poles))},
               {"R", quote("machine_rotor_space*machine_stator_bore/2/(1.25663706212e-6*machine_stack*"
                           "(machine_rotor_shoe_height + machine_rotor_body_height/3))")}});
    component("gap", "magnetic.salient_gap",
              {{"count", fmt::format("[{}, {}]", m_.slots, m_.poles)},
               {"p", quote("shoe[j]")},
               {"n", quote("tip[i]")},
               {"r", quote(shaft())},
               {"frame", quote("datum")},
               {"tooth", quote("machine_tooth_pitch*(i - 1)")},
               {"pole", quote(fmt::format("{} + machine_pole_pitch*(j - 1.5)", position()))},
               {"pitch", quote("machine_face")},
               {"arc", quote("machine_rotor_pole_arc*machine_pole_pitch")},
               {"space", quote("machine_rotor_space")},
               {"radius", quote("machine_stator_bore/2")},
               {"depth", quote("machine_stack")},
               {"length", quote("machine_gap_length")}});
  }

  // The angle that everything of the rotor turns with: pole 1 is half a pole pitch behind it.
  std::string position() const { return fmt::format("machine_axis + {}", drive_.angle); }

  // Gaps between all teeth and pieces of a round rotor, of one or two indices: p is a node of these, j and k.
  void round_gap(std::string_view name, std::string_view counts, std::string_view node,
                 std::string_view piece, std::string_view width) {
    component(name, "magnetic.segment_gap",
              {{"count", fmt::format("[{}, {}]", m_.slots, counts)},
               {"p", quote(node)},
               {"n", quote("tip[i]")},
               {"r", quote(shaft())},
               {"frame", quote("datum")},
               {"tooth", quote("machine_tooth_pitch*(i - 1)")},
               {"piece", quote(fmt::format("{} + {}", position(), piece))},
               {"face", quote("machine_face")},
               {"width", quote(width)},
               {"ramp", quote("machine_rotor_ramp")},
               {"radius", quote("machine_stator_bore/2")},
               {"depth", quote("machine_stack")},
               {"length", quote("machine_gap_length")}});
  }

  // Magnets on a round yoke, each in segments, and air between them: half of it belongs to either pole.
  void add_surface_rotor() {
    parameter("machine_rotor_inner",
              quote("machine_stator_bore/2 - machine_gap - machine_rotor_magnet_height"));
    parameter("machine_rotor_segment",
              quote(fmt::format("machine_rotor_magnet_arc*machine_pole_pitch/{}", m_.segments)));
    parameter("machine_rotor_side", quote("(1 - machine_rotor_magnet_arc)*machine_pole_pitch/2"));
    parameter("machine_rotor_ramp", quote("0.5*min(machine_rotor_segment, machine_rotor_side)"));
    pole_ring(m_.poles, "machine_rotor_yoke", "machine_rotor_inner", "0");
    const std::string middle = fmt::format("machine_rotor_segment*(j - {})", 0.5 * (m_.segments + 1));
    component(
        "magnet", "magnetic.permanent_magnet",
        {{"count", fmt::format("[{}, {}]", m_.poles, m_.segments)},
         {"p", quote("face[i][j]")},
         {"n", quote("hub[i]")},
         {"Br", quote(fmt::format("machine_rotor_remanence*(1 - 2*mod(i - 1, 2)){}",
                                  m_.parallel ? fmt::format("*cos({})", middle) : ""))},
         {"mu_r", quote("machine_rotor_recoil")},
         {"length", quote("machine_rotor_magnet_height")},
         {"area",
          quote(
              "machine_rotor_segment*(machine_rotor_inner + machine_rotor_magnet_height/2)*machine_stack")}});
    component(
        "space", "magnetic.air_gap",
        {{"count", fmt::format("[{}, 2]", m_.poles)},
         {"p", quote("side[i][j]")},
         {"n", quote("hub[i]")},
         {"length", quote("machine_rotor_magnet_height")},
         {"area",
          quote("machine_rotor_side*(machine_rotor_inner + machine_rotor_magnet_height/2)*machine_stack")}});
    iron("hub_iron", m_.rotor_iron, m_.poles, "hub[i]", next("hub", m_.poles),
         "machine_pole_pitch*(machine_rotor_inner - machine_rotor_yoke/2)", "machine_rotor_yoke");
    round_gap(
        "gap", fmt::format("{}, {}", m_.poles, m_.segments), "face[j][k]",
        fmt::format("machine_pole_pitch*(j - 1.5) + machine_rotor_segment*(k - {})", 0.5 * (m_.segments + 1)),
        "machine_rotor_segment");
    round_gap("side_gap", fmt::format("{}, 2", m_.poles), "side[j][k]",
              "machine_pole_pitch*(j - 1.5) + (2*k - 3)*(machine_pole_pitch - machine_rotor_side)/2",
              "machine_rotor_side");
  }

  // A magnet under each shoe, and iron posts between the poles; thin bridges of iron join them.
  void add_interior_rotor() {
    parameter("machine_rotor_post", quote("(1 - machine_rotor_pole_arc)*machine_pole_pitch"));
    parameter("machine_rotor_ramp",
              quote("0.5*min(machine_rotor_pole_arc*machine_pole_pitch, machine_rotor_post)"));
    pole_ring(m_.poles, "machine_rotor_shaft_radius + machine_rotor_yoke + machine_rotor_magnet_height",
              "machine_stator_bore/2 - machine_gap", "machine_rotor_magnet_width");
    component("magnet", "magnetic.permanent_magnet",
              {{"count", std::to_string(m_.poles)},
               {"p", quote("shoe[i]")},
               {"n", quote("hub[i]")},
               {"Br", quote("machine_rotor_remanence*(1 - 2*mod(i - 1, 2))")},
               {"mu_r", quote("machine_rotor_recoil")},
               {"length", quote("machine_rotor_magnet_height")},
               {"area", quote("machine_rotor_magnet_width*machine_stack")}});
    for (const bool behind : {false, true}) {
      const std::string other = behind ? next("shoe", m_.poles) : "shoe[i]";
      iron(behind ? "bridge_behind" : "bridge_before", m_.rotor_iron, m_.poles, other, "post[i]",
           "machine_rotor_bridge_length", "machine_rotor_bridge_width");
      iron(behind ? "post_behind" : "post_before", m_.rotor_iron, m_.poles, "post[i]",
           behind ? next("hub", m_.poles) : "hub[i]", "machine_rotor_post_height",
           "machine_rotor_post*(machine_stator_bore/2 - machine_gap)/2");
    }
    iron("hub_iron", m_.rotor_iron, m_.poles, "hub[i]", next("hub", m_.poles),
         "machine_pole_pitch*(machine_rotor_shaft_radius + machine_rotor_yoke/2)", "machine_rotor_yoke");
    round_gap("gap", std::to_string(m_.poles), "shoe[j]", "machine_pole_pitch*(j - 1.5)",
              "machine_rotor_pole_arc*machine_pole_pitch");
    round_gap("post_gap", std::to_string(m_.poles), "post[j]", "machine_pole_pitch*(j - 1)",
              "machine_rotor_post");
  }

  // Loop k of the cage is bar k, bar k + 1 and the ring between them, and surrounds tooth k. Both rings are
  // in one: its segments carry the loops' currents.
  void add_cage_rotor() {
    parameter("machine_bars", std::to_string(m_.bars));
    parameter("machine_bar_pitch", quote("2*pi/machine_bars"));
    parameter(
        "machine_rotor_carter",
        quote("1/(1 - machine_rotor_opening^2/((machine_rotor_opening + 5*machine_gap)*machine_bar_pitch*"
              "(machine_stator_bore/2 - machine_gap)))"));
    for (AddedEntry& entry : parameters_.entries)
      if (entry.text.starts_with("machine_gap_length "))
        entry.text.insert(entry.text.size() - 1, "*machine_rotor_carter");
    parameter("machine_rotor_ramp", quote("0.5*machine_bar_pitch"));
    parameter("machine_rotor_root",
              quote("machine_stator_bore/2 - machine_gap - machine_rotor_tooth_height"));
    slotted_ring("rotor_slots", "rotor", m_.bars, "machine_stator_bore/2 - machine_gap", "machine_rotor_root",
                 "bar_height");
    pole_ring(m_.bars, "machine_rotor_yoke", "machine_rotor_root", "0");
    iron("rotor_tooth", m_.rotor_iron, m_.bars, "rotor_yoke[i]", "rotor_mid[i]", "machine_rotor_tooth_height",
         "machine_rotor_tooth_width");
    iron("rotor_back", m_.rotor_iron, m_.bars, "rotor_yoke[i]", next("rotor_yoke", m_.bars),
         "machine_bar_pitch*(machine_rotor_root - machine_rotor_yoke/2)", "machine_rotor_yoke");
    component(
        "rotor_slot", "magnetic.reluctance",
        {{"count", std::to_string(m_.bars)},
         {"p", quote("rotor_tip[i]")},
         {"n", quote(next("rotor_tip", m_.bars))},
         {"R",
          quote("1/(1.25663706212e-6*machine_stack*(machine_rotor_bar_height/(3*machine_rotor_slot_width) + "
                "machine_rotor_opening_height/machine_rotor_opening))")}});
    round_gap("gap", std::to_string(m_.bars), "rotor_tip[j]", "machine_bar_pitch*(j - 1)",
              "machine_bar_pitch");
    if (drive_.imposed) {  // no loop carries current where nothing changes
      component("rotor_loop", "magnetic.mmf_source",
                {{"count", std::to_string(m_.bars)},
                 {"p", quote("rotor_tip[i]")},
                 {"n", quote("rotor_mid[i]")},
                 {"F", "0"}});
      return;
    }
    component("rotor_loop", "magnetic.winding",
              {{"count", std::to_string(m_.bars)},
               {"p", quote("ring[i]")},
               {"n", quote("ring_end[i]")},
               {"north", quote("rotor_tip[i]")},
               {"south", quote("rotor_mid[i]")},
               {"N", "1"}});
    component("ring_segment", "electrical.resistor",
              {{"count", std::to_string(m_.bars)},
               {"p", quote("ring_end[i]")},
               {"n", quote(next("ring", m_.bars))},
               {"R", quote("2*machine_rotor_ring_resistance")}});
    component("bar", "electrical.resistor",
              {{"count", std::to_string(m_.bars)},
               {"p", quote("ring[i]")},
               {"n", quote("datum")},
               {"R", quote("machine_rotor_bar_resistance")}});
  }

  // All gaps act on one node, and what it passes on is the torque: one variable, not a sum of formulas.
  static std::string shaft() { return "machine_rotor"; }

  void add_terminals() {
    constexpr std::string_view names[] = {"a", "b", "c"};
    for (std::size_t p = 0; p < 3; ++p)
      component(fmt::format("phase_{}", names[p]), "magnetic.linked_winding",
                {{"p", quote(m_.phases[p])},
                 {"n", quote(m_.phases[3])},
                 {"R", quote("machine_winding_resistance")},
                 {"L", quote("machine_winding_end_leakage")},
                 {"linkage", quote(fmt::format("sum(tooth[*].linkage_{})", names[p]))}});
    if (m_.wound_field() && m_.field_current.empty())
      component("field", "magnetic.linked_winding",
                {{"p", quote(m_.field[0])},
                 {"n", quote(m_.field[1])},
                 {"R", quote("machine_rotor_resistance")},
                 {"linkage", quote("sum(pole[*].linkage_a)")}});
    component("machine_torque", "rotational.torque_sensor", {{"p", quote(shaft())}, {"n", quote(m_.shaft)}});
    component("rotor", "rotational.angle",
              {{"p", quote(m_.shaft)}, {"n", quote("datum")}, {"phi0", quote("machine_rotor_angle")}});
  }

  void add_outputs() {
    output("T_e", drive_.imposed ? "machine_stand.tau" : "machine_torque.tau", "N m", "torque on the rotor");
    output("theta_r", fmt::format("machine_poles/2*({})", drive_.angle), "rad",
           "electrical angle of the q axis from phase a");
    if (drive_.imposed) {
      component("machine_stand", "rotational.speed_source",
                {{"p", quote(shaft())}, {"n", quote("datum")}, {"w", "0"}});
      constexpr std::string_view names[] = {"a", "b", "c"};
      for (std::size_t p = 0; p < 3; ++p)
        output(
            fmt::format("lambda_{}", names[p]),
            fmt::format("sum(tooth[*].linkage_{}) + machine_winding_end_leakage*({})", names[p], drive_.i[p]),
            "Wb", "flux linkage");
      if (m_.wound_field()) output("lambda_f", "sum(pole[*].linkage_a)", "Wb", "flux linkage of the field");
      return;
    }
    for (const auto& [name, variable, unit] : {std::array<std::string_view, 3>{"i", "i", "A"},
                                               std::array<std::string_view, 3>{"lambda", "lambda", "Wb"}}) {
      const std::string abc = fmt::format("phase_a.{0}, phase_b.{0}, phase_c.{0}", variable);
      for (const std::string_view axis : {"q", "d"})
        output(fmt::format("{}_{}", name, axis), fmt::format("{}_of({}, theta_r)", axis, abc), unit,
               fmt::format("{} component in the rotor's frame", axis));
      output(fmt::format("{}_0", name), fmt::format("zero_of({})", abc), unit, "zero sequence");
    }
  }

  const Machine& m_;
  const MachineDrive& drive_;
  AddedSection parameters_{"parameters", {}}, components_{"components", {}}, outputs_{"outputs", {}};
};

}  // namespace

std::vector<AddedSection> machine_network(const Machine& machine, const MachineDrive& drive) {
  return NetworkWriter(machine, drive).write();
}

}  // namespace tellegen
