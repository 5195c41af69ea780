#include "tellegen/netlist/translation.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/netlist/faults.h"

namespace tellegen {

Translation::Translation(const Cards& cards, const FlatCircuit& flat, const DeviceTable& devices,
                         const std::vector<std::pair<std::string, std::string>>& overrides)
    : cards_(cards), flat_(flat), devices_(devices), names_(flat, overrides) {}

ConvertedNetlist Translation::convert() {
  const auto attempt = [&](auto&& work) {
    try {
      work();
    } catch (const ModelError& error) {
      faults_.add(error);
    }
  };
  for (const NetlistNote& said : cards_.notes) note(said.place, said.text);
  for (const NetlistNote& said : flat_.notes) note_once(said.place, said.text);
  for (const Card& card : cards_.cards)
    for (const std::string_view call : {"agauss(", "gauss(", "aunif(", "unif("})
      if (card.text.find(call) != std::string::npos) {
        note(card.place, fmt::format("{}) is its mean: nothing is random here", call));
        break;
      }
  for (const Card& card : flat_.instances[0].circuit->directives) attempt([&] { read_directive(card); });
  if (!run_.stop) attempt([&] { read_control(); });
  check_analyses();
  names_.celsius = run_.celsius;
  if (flat_.elements.empty())
    attempt([&] { throw netlist_fault(run_.place, "T502", "the netlist has no elements"); });
  name_everything();
  faults_.throw_if_any();  // what follows needs every name
  attempt([&] { couple(); });
  for (const Element& element : flat_.elements) names_.currents[element.name] = current_of(element);
  if (!flat_.conditions.empty()) source_nodes_ = nodes_of_sources();
  for (const Element& condition : flat_.conditions) attempt([&] { read_condition(condition); });
  attempt([&] { share_charges(); });
  for (const Element& element : flat_.elements) attempt([&] { translate(element); });
  attempt([&] { hold_floating_parts(); });

  attempt([&] { read_measures(); });
  for (const Card& card : step_cards_) attempt([&] { read_step(card); });
  attempt([&] { write_operations(); });

  TomlText all;
  if (!cards_.title.empty()) all.add("summary = " + toml_string(cards_.title));
  attempt([&] { write_parameters(all); });
  faults_.throw_if_any();
  const auto section = [&](std::string_view name, const TomlText& lines) {
    if (lines.text.empty()) return;
    if (!all.text.empty()) all.add("");
    all.add(fmt::format("[{}]", name));
    all.text += lines.text;
    all.places.insert(all.places.end(), lines.places.begin(), lines.places.end());
  };
  section("components", components_);
  TomlText outputs, simulation;
  write_outputs(outputs);
  section("outputs", outputs);
  section("initial", initial_);
  write_simulation(simulation);
  section("simulation", simulation);
  result_.analyses.fixed.assign(names_.counted.begin(), names_.counted.end());
  result_.toml = std::move(all.text);
  result_.places = std::move(all.places);
  return std::move(result_);
}

void Translation::name_everything() {
  for (const Element& element : flat_.elements) names_.add_element(element.name);
  for (const Element& element : flat_.elements) {
    try {
      const Item item = item_of(element);
      const std::size_t count = terminal_count(item);
      if (item.fields.size() <= count)
        fault(item, "T502", fmt::format("'{}' needs {} nodes", element.name, count));
      for (std::size_t k = 1; k <= count; ++k) {
        if (item.fields[k].type != Field::Type::word)
          fault(item, "T502", fmt::format("'{}' cannot be a node of '{}'", item.fields[k].text, element.name),
                {fmt::format("it needs {} nodes", count)});
        names_.add_node(element.at->node(item.fields[k].text));
      }
    } catch (const ModelError& error) {
      faults_.add(error);
    }
  }
}

// How many fields after the name are nodes that the element joins.
std::size_t Translation::terminal_count(const Item& item) const {
  switch (item.element.letter()) {
    case 'k':
      return 0;
    case 'r':
    case 'l':
    case 'c':
    case 'v':
    case 'i':
    case 'e':
    case 'g':
    case 'f':
    case 'h':
    case 'b':
    case 'd':
    case 'w':
      return 2;
    case 's':
    case 't':
    case 'o':
      return 4;
    case 'q':
    case 'j':
    case 'm': {  // terminals may be left out or added: they end where a model stands
      const std::size_t usual = item.element.letter() == 'm' ? 4 : 3;
      for (std::size_t k = 4; k < std::min<std::size_t>(item.fields.size(), 9); ++k)
        if (item.fields[k].type == Field::Type::word && item.element.at->model(item.fields[k].text))
          return k - 1;
      return usual;
    }
    default:
      missing_element(item);
  }
}

void Translation::translate(const Element& element) {
  const Item item = item_of(element);
  switch (element.letter()) {
    case 'r':
      return resistor(item);
    case 'l':
    case 'c':
      return storage(item);
    case 'k':
      return;  // couple() has read it
    case 'v':
    case 'i':
      return source(item);
    case 'e':
    case 'g':
      return controlled(item);
    case 'f':
    case 'h':
      return current_controlled(item);
    case 'b':
      return behavioural(item);
    case 't':
      return transmission_line(item);
    case 'o':
      return lossy_line(item);
    default:
      return device(item);
  }
}

// What ddt() and sdt() of the expressions stand for.
void Translation::write_operations() {
  for (std::size_t k = 0; k < names_.operations.size(); ++k) {
    const Operation operation = names_.operations[k];
    const bool rate = operation.name == "ddt";
    ComponentText source{names_.extra_component(operation.component + "_of"),
                         rate ? "electrical.voltage_source" : "electrical.current_source",
                         {}};
    source.port("p", rate ? operation.node : "datum");
    source.port("n", rate ? "datum" : operation.node);
    source.value(rate ? "V" : "I", without_unit(operation.of));
    components_.add(source.line(), run_.place);
    ComponentText capacitor{operation.component, "electrical.capacitor", {}};
    capacitor.port("p", operation.node);
    capacitor.port("n", "datum");
    capacitor.value("C", number_formula(1.0));
    components_.add(capacitor.line(), run_.place);
    if (!rate)
      initial_.add(fmt::format("\"{}.v\" = 0", operation.component), run_.place);
    else if (!run_.uic)
      initial_.add(fmt::format("\"{}.v\" = \"steady\"", operation.component), run_.place);
  }
}

void Translation::write_parameters(TomlText& to) {
  const Instance& top = flat_.instances[0];
  if (top.circuit->parameter_order.empty() && one_.empty()) return;
  if (!to.text.empty()) to.add("");
  to.add("[parameters]");
  if (!one_.empty()) to.add(one_ + " = 1");
  for (const std::string& name : top.circuit->parameter_order) {
    const ParameterCard& card = top.circuit->parameters.at(name);
    try {
      const Formula value = names_.constant(card.text, top, card.place);
      to.add(fmt::format("{} = {}", names_.parameter(name), toml_value(value)), card.place);
    } catch (const ModelError& error) {
      faults_.add(error);
    }
  }
}

void Translation::write_outputs(TomlText& to) const {
  for (const std::string& name : names_.nodes())
    to.add(fmt::format("{} = \"{}.v\"", toml_string("V(" + name + ")"), names_.node(name)));
  for (const Element& element : flat_.elements)
    if (const std::string& current = names_.currents.at(element.name); !current.empty())
      to.add(fmt::format("{} = \"{}\"", toml_string("I(" + element.name + ")"), current),
             element.card->place);
}

// Elements that Tellegen does not have, by what they are.
void Translation::missing_element(const Item& item) const {
  const auto& fields = item.fields;
  const std::string& name = item.element.name;
  // The last word that no value is given to: the model of most elements.
  std::string model;
  for (std::size_t k = 1; k < fields.size(); ++k) {
    if (fields[k].type == Field::Type::equals) break;
    if (fields[k].type != Field::Type::word) continue;
    if (k + 1 < fields.size() && fields[k + 1].type == Field::Type::equals) break;
    model = fields[k].text;
  }
  const ModelCard* card = item.element.at->model(model);
  const auto what = [&]() -> std::string {
    switch (item.element.letter()) {
      case 'a':
        return fmt::format("an XSPICE code model, '{}'", card ? card->type : model);
      case 'p':
        return "coupled transmission lines (CPL)";
      case 'u':
        return card && card->type == "urc" ? "a uniform distributed RC line (URC)"
                                           : "a digital element of PSpice";
      case 'y':
        return card && card->type == "txl" ? "a lossy transmission line (TXL)"
                                           : fmt::format("an element of Xyce ('{}')", fields[0].text);
      case 'z':
        return "a MESFET";
      case 'n':
        return fmt::format("a Verilog-A element (OSDI model '{}')", model);
      default:
        return fmt::format("an element of the letter '{}'", item.element.letter());
    }
  };
  fault(item, "T500", fmt::format("'{}' is {}, which is not supported", name, what()),
        {"supported: R L C K V I E G F H B D S W Q M J T O X"});
}

std::vector<std::string> Translation::missing_hints(std::string near) const {
  std::vector<std::string> hints;
  if (!near.empty()) hints.push_back(std::move(near));
  for (const std::string& file : cards_.missing)
    hints.push_back(fmt::format("the library '{}' was not found", file));
  return hints;
}

Formula Translation::parallel(const Instance& at) {
  Formula many = number_formula(1.0);
  for (const Instance* i = &at; i->parent; i = i->parent)
    if (i->many) many = multiply(many, names_.constant(i->many->text, *i->parent, i->many->place));
  return many;
}

void Translation::note_once(const Place& place, std::string text) {
  if (said_.insert(text).second) note(place, std::move(text));
}

void Translation::note(const Place& place, std::string text) {
  result_.notes.push_back(fmt::format("{}:{}: note: {}", place.file, place.line, text));
}

// E1 (b 0) (a 0) 10: pairs of nodes may stand in brackets.
Translation::Item Translation::item_of(const Element& element) const {
  Item item{element, fields_of(*element.card)};
  auto& fields = item.fields;
  for (const std::ptrdiff_t k : {1, 3})
    if (std::string_view("efgh").find(element.letter()) != std::string_view::npos &&
        fields.size() > static_cast<std::size_t>(k) + 3 && fields[k].type == Field::Type::open &&
        fields[k + 3].type == Field::Type::close) {
      fields.erase(fields.begin() + k + 3);
      fields.erase(fields.begin() + k);
    }
  return item;
}

std::string Translation::node(const Item& item, std::size_t k) const {
  return k == 1 && !item.inner.empty() ? item.inner : names_.node(item.element.at->node(item.fields[k].text));
}

void Translation::need(const Item& item, std::size_t count, std::string_view form) const {
  if (item.fields.size() < count)
    fault(item, "T502", fmt::format("'{}' is not complete", item.element.name),
          {fmt::format("it is written: {}", form)});
}

void Translation::fault(const Item& item, std::string_view code, std::string message,
                        std::vector<std::string> details) const {
  throw netlist_fault(item.place(), code, std::move(message), std::move(details));
}

Formula Translation::formula(const Item& item, const std::string& text) {
  return names_.formula(text, *item.element.at, item.place());
}

Formula Translation::constant(const Item& item, const std::string& text) {
  return names_.constant(text, *item.element.at, item.place());
}

// Of the first terminal, into the element; empty where it has none.
std::string Translation::current_of(const Element& element) const {
  const std::string& name = names_.element(element.name);
  switch (element.letter()) {
    case 'k':
    case 'o':
      return "";
    case 'l':
      if (const auto found = inductors_.find(element.name); found != inductors_.end())
        if (const auto winding = winding_of_.find(found->second); winding != winding_of_.end())
          return winding->second;
      return name + ".i";
    case 'e':
    case 'g':
      return name + (is_linear(item_of(element)) ? ".output.i" : ".i");
    case 'd':
    case 'q':
    case 'm':
    case 'j':
    case 's':
    case 'w': {
      const DeviceKind* device = device_of(element);
      std::string current = device ? device->current : "";
      for (auto at = current.find('%'); at != std::string::npos; at = current.find('%', at + name.size()))
        current.replace(at, 1, name);
      return current;
    }
    case 't':
      return name + ".a.i";
    default:
      return name + ".i";
  }
}

Formula Translation::controlling_current(const Item& item, std::size_t k) {
  if (item.fields[k].type != Field::Type::word)
    fault(item, "T502", fmt::format("'{}' is not the name of a voltage source", item.fields[k].text));
  return formula(item, "i(" + item.fields[k].text + ")");
}

Formula Translation::controlling_voltage(const Item& item, std::size_t k) {
  return formula(item, "v(" + item.fields[k].text + "," + item.fields[k + 1].text + ")");
}

Formula Translation::without_unit(const Formula& value) {
  if (!value.varies || value.level != Formula::atom || value.text == "t") return value;
  if (one_.empty()) one_ = names_.extra_parameter("one");
  return {one_ + "*" + value.text, Formula::product, true};
}

ComponentText Translation::component(const Item& item, std::string_view kind) const {
  return {names_.element(item.element.name), std::string(kind), {}};
}

void Translation::write(const ComponentText& component, const Item& item) {
  components_.add(component.line(), item.place());
}

}  // namespace tellegen
