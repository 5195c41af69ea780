// Elements to components: one object that holds what the letters share. Each group of letters has a file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "tellegen/model/reading.h"
#include "tellegen/netlist/devices.h"
#include "tellegen/netlist/environment.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/netlist/phrases.h"
#include "tellegen/netlist/toml.h"

namespace tellegen {

inline constexpr std::size_t most_named = 5;  // in a note

// What the directives say about the run.
struct RunSettings {
  std::optional<double> step, stop, start, longest_step, sample;  // sample: of the rows
  bool uic = false;
  std::optional<double> tolerance, gmin;
  double celsius = 27.0, nominal = 27.0;
  double scale = 1.0;                     // of the lengths that MOSFETs give
  std::map<std::string, double> channel;  // l, w, ad, as of MOSFETs that give none
  bool startup = false;                   // LTspice's: constant sources rise from 0 within 20 us
  std::map<std::string, Place> others;    // analyses that are no transient, by their names
  Place place;
};

class Translation {
 public:
  Translation(const Cards& cards, const FlatCircuit& flat, const DeviceTable& devices,
              const std::vector<std::pair<std::string, std::string>>& overrides);
  ConvertedNetlist convert();

 private:
  // An element and its fields, name first.
  struct Item {
    const Element& element;
    std::vector<Field> fields;
    std::string inner = "";  // what its first node is called behind a resistance of its own
    const Place& place() const { return element.card->place; }
  };

  // directives.cpp
  void read_directive(const Card& card);
  void read_control();
  void check_analyses();
  void read_tran(const Card& card, const std::vector<Field>& fields);
  void read_options(const Card& card);
  void read_condition(const Element& condition);
  void write_simulation(TomlText& to) const;

  // measures.cpp
  void read_measures();
  void read_measure(const Card& card);
  void read_fourier(const Card& card);
  std::string measured_signal(const std::string& text, const Place& place);
  std::string measured_number(const std::string& text, const Place& place);
  void check_no_measures(const Formula& formula, const std::string& text, const Place& place);
  MeasurePoint measured_point(std::vector<Phrase>& parts, const Place& place);

  // steps.cpp
  void read_step(const Card& card);
  std::string stepped_name(const StepWords& step) const;

  // translation.cpp
  void name_everything();
  void translate(const Element& element);
  void write_operations();
  void write_parameters(TomlText& to);
  void write_outputs(TomlText& to) const;
  void note(const Place& place, std::string text);
  void note_once(const Place& place, std::string text);  // the same text once only
  Item item_of(const Element& element) const;
  // Node `k` of the element, as the identifier of a node.
  std::string node(const Item& item, std::size_t k) const;
  std::size_t terminal_count(const Item& item) const;
  [[noreturn]] void missing_element(const Item& item) const;
  void need(const Item& item, std::size_t count, std::string_view form) const;
  [[noreturn]] void fault(const Item& item, std::string_view code, std::string message,
                          std::vector<std::string> details = {}) const;
  Formula formula(const Item& item, const std::string& text);
  Formula constant(const Item& item, const std::string& text);
  std::string current_of(const Element& element) const;
  // The current of the source that field `k` names.
  Formula controlling_current(const Item& item, std::size_t k);
  Formula controlling_voltage(const Item& item, std::size_t k);
  // A voltage may be a current's number in SPICE: times 1, so that no unit is compared.
  Formula without_unit(const Formula& value);
  ComponentText component(const Item& item, std::string_view kind) const;
  void write(const ComponentText& component, const Item& item);

  // passive.cpp
  void resistor(const Item& item);
  void storage(const Item& item);
  void couple();
  void coupled(const std::vector<std::size_t>& members);
  std::string behind_parasitics(const Item& item, const std::vector<KeyValue>& options);
  double coupling(std::size_t a, std::size_t b);
  bool tight(const std::vector<std::size_t>& members);
  void factored(const std::vector<std::size_t>& members);
  std::optional<Formula> from_geometry(const Item& item, const std::vector<KeyValue>& options,
                                       const ModelCard& model, bool resistance);
  bool perfectly_coupled(const std::vector<std::size_t>& members);
  Formula passive_value(const Item& item, std::vector<KeyValue>& options, const std::string& key);
  Formula temperature_factor(const Item& item, const std::vector<KeyValue>& options, const ModelCard* model);
  double node_start(const Item& item, std::size_t k) const;  // with uic, what .ic says

  // sources.cpp
  void source(Item item);
  std::vector<Formula> points_of_file(const Item& item, const std::string& lower) const;
  void repeated(const Item& item, const std::vector<Formula>& values, double from);
  void pulses(const Item& item, const std::vector<Formula>& values);
  void waveform(const Item& item, const std::string& shape, const std::vector<Formula>& values);

  // charges.cpp
  void share_charges();
  std::optional<double> source_start(const Item& item);

  // floating.cpp
  void hold_floating_parts();
  std::set<std::string> nodes_of_sources() const;

  // controlled.cpp
  bool is_linear(const Item& item) const;
  void controlled(const Item& item);
  void current_controlled(const Item& item);
  void behavioural(const Item& item);
  Formula polynomial(const Item& item, const std::vector<Formula>& variables, std::size_t first);
  Formula table(const Item& item, std::size_t first);
  void write_source(const Item& item, bool voltage, const Formula& value);

  // transmission.cpp
  void transmission_line(const Item& item);
  void lossy_line(const Item& item);
  void line_between(const Item& item, const std::string& name, const std::vector<std::string>& nodes,
                    double impedance, double delay, const std::vector<double>& start);

  // How many are in parallel by m= of the subcircuits around.
  Formula parallel(const Instance& at);
  // What may help where something is not defined: a near name, a library that was not found.
  std::vector<std::string> missing_hints(std::string near) const;

  // devices.cpp
  std::size_t model_field(const Item& item) const;
  const DeviceKind* device_of(const Element& element) const;
  std::string level_of(const ModelCard& model, const Instance& at) const;
  [[noreturn]] void no_device(const Item& item, const ModelCard& model) const;
  void device(const Item& item);

  const Cards& cards_;
  const FlatCircuit& flat_;
  const DeviceTable& devices_;
  mutable Environment names_;  // remembers what it has looked up
  RunSettings run_;
  FaultList faults_;
  ConvertedNetlist result_;
  TomlText components_, initial_;
  std::vector<Card> measure_cards_, step_cards_;  // read when every name is known
  std::set<std::string> said_;                    // by note_once
  std::string one_;                               // the parameter that is 1, where it is needed
  std::set<std::string> source_nodes_;            // decided by voltage sources alone
  std::map<std::string, double> starts_;          // .ic, by the node's full name
  // With uic: capacitors that do not begin where they say, and nodes whose potential sources and capacitors
  // decide.
  std::map<std::string, double> charged_, settled_;
  // In circuits with controlled sources: capacitors that begin there, and those that follow.
  std::map<std::string, double> beginning_;
  std::set<std::string> following_;

  // Inductors that K elements join: index into flat_.elements, coupling by pair.
  struct Coupling {
    std::size_t first, second;
    Formula k;
    const Element* element;
  };
  std::vector<Coupling> couplings_;
  std::map<std::string, std::size_t> inductors_;   // full name to index
  std::map<std::size_t, std::string> winding_of_;  // index: its current
};

}  // namespace tellegen
