// [machine] of a model file: the cross-section of an electric machine as a magnetic network.
//
// Nodes of the network are tooth tips, pieces of the stator's yoke, and what the rotor has: pole shoes or
// segments of its surface, and pieces of its yoke. Branches are iron (linear, or a B-H curve), slots, spaces
// between poles, magnets, and the air gap between every tooth and every piece of the rotor's surface, whose
// permeance is a function of the rotor's angle; the torque is half the square of the magnetomotive force
// across it times the derivative of that function. A tooth lies inside of all coils whose sides are on its
// two sides, so its windings are a running sum over the slots. Phases link the sum of what their teeth carry.
//
// What is given stays what it is: every dimension becomes a parameter of the model, `machine_gap`, and the
// components have formulas of these, so that sensitivities by geometry are those of any parameter.
//
// [Ostovic 1989] V. Ostovic, Dynamics of Saturated Electric Machines, ch. 2.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tellegen/model/expanded_text.h"
#include "tellegen/model/reading.h"

namespace tellegen {

// Turns around each tooth, and where the fundamental of phase a has its axis. Tooth k is at the angle
// k*2*pi/slots, slot k between it and the next.
struct MachineWinding {
  std::array<std::vector<double>, 3> conductors;  // per slot, signed; of a path
  std::array<std::vector<double>, 3> turns;       // per tooth
  double axis = 0.0;                              // mechanical angle of phase a's axis
};

// What a kilogram of iron turns into heat in an alternating field. Either coefficients, which are parameters
// of the model (machine_<material>_hysteresis, ...), or losses that were measured.
struct MachineLoss {
  bool given = false;
  struct Measured {
    double frequency, B, loss;  // Hz, T (amplitude), W/kg
  };
  std::vector<Measured> measured;  // empty: coefficients
};

struct MachineIron {
  std::string name;
  std::string mu_r;   // the parameter that has it; empty: a curve
  std::string curve;  // as TOML: field strength over flux density
  MachineLoss loss;
};

struct Machine {
  enum class Rotor { salient, surface, interior, cage } rotor = Rotor::salient;
  int line = 0;
  int slots = 0, poles = 0;
  int segments = 0;  // of a magnet's surface
  int bars = 0;      // of a cage
  bool open_slots =
      false;  // a tooth ends at the slot; otherwise slots are smeared over the gap by Carter's factor
  bool parallel = false;  // magnets magnetised in one direction, not radially
  bool wound_field() const { return rotor == Rotor::salient; }
  MachineWinding winding;
  MachineIron stator_iron, rotor_iron;
  std::string field_current;  // an expression; empty: the field winding has terminals
  std::array<std::string, 4> phases{"a", "b", "c", "neutral"};  // nodes
  std::array<std::string, 2> field{"field_p", "datum"};
  std::string shaft = "shaft";
  std::vector<AddedEntry> parameters;  // every dimension, as given
};

// What [machine] says; faults go to the source's list.
Machine read_machine(const Source& source, const Value& section);
// Windings from slots, poles and layers, or from a table of conductors; fault T185 where they are none.
MachineWinding read_winding(const Source& source, const Value* section, int slots, int poles);

// `loss` of a material: T187 where it says nothing about losses. Files are looked for beside the document.
MachineLoss read_loss(const Source& source, const Value& value, const std::string& what);

// What a machine's network hangs on. In a run: its windings' currents and its shaft's angle. In a static
// study: whatever the study imposes, and no winding is a component.
struct MachineDrive {
  std::array<std::string, 3> i{"phase_a.i", "phase_b.i", "phase_c.i"};
  std::string i_f, angle = "rotor.phi";
  bool imposed = false;
};
std::vector<AddedSection> machine_network(const Machine& machine, const MachineDrive& drive);

// The model file without [machine], with its network in its place. Throws ModelError.
ExpandedText expand_machine(const Document& document);

}  // namespace tellegen
