// R, L, C and K.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

const KeyValue* find(const std::vector<KeyValue>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& a) { return a.name == name; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

// The value of a two-terminal element: after its nodes, as `key=`, or from its model.
Formula Translation::passive_value(const Item& item, std::vector<KeyValue>& options, const std::string& key) {
  std::vector<Field> fields = item.fields;
  // tc=1m,2u: two values after one name.
  for (std::size_t k = 3; k + 2 < fields.size(); ++k)
    if (fields[k].is("tc") && fields[k + 1].type == Field::Type::equals) {
      options.push_back({"tc1", fields[k + 2].text});
      const bool second = k + 3 < fields.size() && fields[k + 3].is_value() &&
                          (k + 4 >= fields.size() || fields[k + 4].type != Field::Type::equals);
      if (second) options.push_back({"tc2", fields[k + 3].text});
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(k),
                   fields.begin() + static_cast<std::ptrdiff_t>(k + (second ? 4 : 3)));
      break;
    }
  const auto named = take_assignments(fields);
  options.insert(options.end(), named.begin(), named.end());
  const ModelCard* model = nullptr;
  std::optional<Formula> value;
  for (std::size_t k = 3; k < fields.size(); ++k) {
    if (!fields[k].is_value()) fault(item, "T502", fmt::format("'{}' makes no sense here", fields[k].text));
    const ModelCard* found =
        fields[k].type == Field::Type::word ? item.element.at->model(fields[k].text) : nullptr;
    if (found && !model)
      model = found;
    else if (!value)
      value = formula(item, fields[k].text);
    else
      fault(item, "T502", fmt::format("'{}' is one value too many", fields[k].text));
  }
  if (const KeyValue* given = find(options, key)) value = formula(item, given->text);
  if (model) {
    if (model->wrong) throw *model->wrong;
    const std::string letter(1, item.element.letter());
    if (model->type != letter && model->type != (letter == "r" ? "res" : letter == "c" ? "cap" : "ind"))
      fault(item, "T503", fmt::format("the model '{}' is of type '{}'", model->name, model->type),
            {fmt::format("'{}' needs one of type '{}'", item.element.name, letter)});
    for (const KeyValue& a : model->values) {
      if (a.name == key || (key == "r" && a.name == "res") || (key == "c" && a.name == "cap") ||
          (key == "l" && a.name == "ind")) {
        if (!value) value = formula(item, a.text);
      } else if (a.name != "tc1" && a.name != "tc2" && a.name != "tnom") {
        throw netlist_fault(model->place, "T503",
                            fmt::format("'{}' of the model '{}' is not supported", a.name, model->name),
                            {fmt::format("supported: {}, tc1, tc2, tnom", key)});
      }
    }
  }
  if (!value)
    fault(item, "T502", fmt::format("'{}' has no value", item.element.name),
          {fmt::format("it is written: {} node node value", item.element.name)});
  Formula result = multiply(*value, temperature_factor(item, options, model));
  if (const KeyValue* m = find(options, "m")) {
    const Formula many = constant(item, m->text);
    result = key == "c" ? multiply(result, many) : divide(result, many);
  }
  if (const KeyValue* scale = find(options, "scale")) result = multiply(result, constant(item, scale->text));
  for (const KeyValue& a : options)
    if (a.name != key && a.name != "tc1" && a.name != "tc2" && a.name != "m" && a.name != "scale" &&
        a.name != "ic" && a.name != "temp" && a.name != "dtemp" && a.name != "noisy" && a.name != "ac")
      fault(item, "T502", fmt::format("'{}' has no '{}' here", item.element.name, a.name));
  return result;
}

// 1 + tc1*dT + tc2*dT^2
Formula Translation::temperature_factor(const Item& item, const std::vector<KeyValue>& options,
                                        const ModelCard* model) {
  Formula nominal = number_formula(run_.nominal), actual = number_formula(run_.celsius);
  std::map<std::string, Formula> coefficient;
  if (model)
    for (const KeyValue& a : model->values)
      (a.name == "tnom" ? nominal : coefficient[a.name]) = constant(item, a.text);
  for (const KeyValue& a : options)
    if (a.name == "temp")
      actual = constant(item, a.text);
    else if (a.name == "dtemp")
      actual = add(actual, constant(item, a.text));
    else if (a.name == "tc1" || a.name == "tc2")
      coefficient[a.name] = constant(item, a.text);
  const Formula above = number_formula(names_.number(subtract(actual, nominal), item.place()));
  Formula factor = number_formula(1.0);
  if (above.text == "0") return factor;
  if (coefficient.contains("tc1")) factor = add(factor, multiply(coefficient["tc1"], above));
  if (coefficient.contains("tc2")) factor = add(factor, multiply(coefficient["tc2"], multiply(above, above)));
  return factor;
}

void Translation::resistor(const Item& item) {
  std::vector<KeyValue> options;
  const Formula value = passive_value(item, options, "r");
  const double number = value.varies ? 1.0 : names_.number(value, item.place());
  if (number == 0.0) return write_source(item, true, number_formula(0.0));  // a short circuit
  ComponentText text = component(item, number > 0.0 ? "electrical.resistor" : "electrical.negative_resistor");
  text.port("p", node(item, 1));
  text.port("n", node(item, 2));
  text.value("R", without_unit(value));
  write(text, item);
}

double Translation::node_start(const Item& item, std::size_t k) const {
  const auto found = starts_.find(item.element.at->node(item.fields[k].text));
  return found == starts_.end() ? 0.0 : found->second;
}

// L and C: with uic they begin at `ic=`, or at what .ic gives their nodes; otherwise steady.
void Translation::storage(const Item& item) {
  const bool inductor = item.element.letter() == 'l';
  if (inductor && winding_of_.contains(inductors_.at(item.element.name))) return;
  std::vector<KeyValue> options;
  const Formula value = passive_value(item, options, inductor ? "l" : "c");
  if (value.varies)
    fault(item, "T508", fmt::format("the value of '{}' varies", item.element.name),
          {"inductances and capacitances that depend on time, voltages or currents are not supported"});
  ComponentText text = component(item, inductor ? "electrical.inductor" : "electrical.capacitor");
  text.port("p", node(item, 1));
  text.port("n", node(item, 2));
  text.value(inductor ? "L" : "C", value);
  const KeyValue* start = find(options, "ic");
  const std::string state = text.name + (inductor ? ".i" : ".v");
  if (!run_.uic) {
    if (start) note(item.place(), "ic= has no effect without uic in .tran");
    initial_.add(fmt::format("\"{}\" = \"steady\"", state), item.place());
  } else if (start) {
    text.value(inductor ? "i0" : "v0", constant(item, start->text));
  } else if (const double v = node_start(item, 1) - node_start(item, 2); !inductor && v != 0.0) {
    text.value("v0", number_formula(v));
  }
  write(text, item);
}

// Reads the K elements and joins the inductors into groups; each becomes one component.
void Translation::couple() {
  for (std::size_t k = 0; k < flat_.elements.size(); ++k)
    if (flat_.elements[k].letter() == 'l') inductors_[flat_.elements[k].name] = k;
  std::map<std::size_t, std::size_t> group;  // inductor: the first of its group
  const auto root = [&](std::size_t k) {
    while (group.try_emplace(k, k).first->second != k) k = group[k];
    return k;
  };
  for (const Element& element : flat_.elements) {
    if (element.letter() != 'k') continue;
    Item item = item_of(element);
    need(item, 4, "k1 l1 l2 coefficient");
    std::vector<std::size_t> members;
    for (std::size_t k = 1; k + 1 < item.fields.size(); ++k) {
      const auto found = inductors_.find(element.at->prefix + item.fields[k].text);
      if (found == inductors_.end())
        fault(item, "T506",
              fmt::format("there is no inductor '{}' for '{}'", item.fields[k].text, element.name));
      members.push_back(found->second);
    }
    const Formula coefficient = constant(item, item.fields.back().text);
    for (std::size_t a = 0; a < members.size(); ++a)
      for (std::size_t b = a + 1; b < members.size(); ++b) {
        const auto pair = std::minmax(members[a], members[b]);
        if (pair.first == pair.second)
          fault(item, "T502", fmt::format("'{}' couples an inductor with itself", element.name));
        for (const Coupling& other : couplings_)
          if (other.first == pair.first && other.second == pair.second)
            fault(item, "T509",
                  fmt::format("'{}' and '{}' couple the same inductors", other.element->name, element.name));
        couplings_.push_back({pair.first, pair.second, coefficient, &element});
        group[root(pair.second)] = root(pair.first);
      }
  }
  std::map<std::size_t, std::vector<std::size_t>> groups;
  for (const auto& [member, first] : std::map(group)) groups[root(member)].push_back(member);
  for (const auto& [first, members] : groups) coupled(members);
}

void Translation::coupled(const std::vector<std::size_t>& members) {
  constexpr std::string_view edges[] = {"primary", "secondary", "tertiary"};
  const auto together = [&](const Coupling& c) {
    return std::find(members.begin(), members.end(), c.first) != members.end();
  };
  const auto first = std::find_if(couplings_.begin(), couplings_.end(), together);
  const Item item = item_of(*first->element);
  if (members.size() > 3)
    fault(item, "T500", fmt::format("{} inductors are coupled with each other", members.size()),
          {"up to three are supported"});
  if (perfectly_coupled(members)) return;
  ComponentText text = component(
      item, members.size() == 2 ? "electrical.coupled_inductors" : "electrical.coupled_inductors_3");
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Item inductor = item_of(flat_.elements[members[k]]);
    std::vector<KeyValue> options;
    const Formula value = passive_value(inductor, options, "l");
    const std::string number = std::to_string(k + 1);
    text.port("p" + number, node(inductor, 1));
    text.port("n" + number, node(inductor, 2));
    text.value("L" + number, value);
    winding_of_[members[k]] = fmt::format("{}.{}.i", text.name, edges[k]);
    if (!run_.uic)
      initial_.add(fmt::format("\"{}.{}.i\" = \"steady\"", text.name, edges[k]), inductor.place());
    else if (const KeyValue* start = find(options, "ic"))
      text.value("i" + number + "_0", constant(inductor, start->text));
  }
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      Formula k = number_formula(0.0);
      for (const Coupling& c : couplings_)
        if (c.first == members[a] && c.second == members[b]) k = c.k;
      text.value(members.size() == 2 ? "k" : fmt::format("k{}{}", a + 1, b + 1), k);
    }
  write(text, item);
}

// K = 1 or -1: the first inductor carries what magnetises, and ideal transformers join the others to it. True
// where every coupling of the group is so; where only some are, the kinds of the library say that it cannot
// be.
bool Translation::perfectly_coupled(const std::vector<std::size_t>& members) {
  std::vector<double> sign(members.size(), 1.0);  // against the first
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      double k = 0.0;
      for (const Coupling& c : couplings_)
        if (c.first == members[a] && c.second == members[b]) k = names_.number(c.k, c.element->card->place);
      if (std::abs(k) != 1.0 || (a > 0 && k != sign[a] * sign[b])) return false;
      if (a == 0) sign[b] = k;
    }
  const Item first = item_of(flat_.elements[members[0]]);
  std::vector<KeyValue> options;
  const Formula inductance = passive_value(first, options, "l");
  ComponentText magnetising = component(first, "electrical.inductor");
  magnetising.port("p", node(first, 1));
  magnetising.port("n", node(first, 2));
  magnetising.value("L", inductance);
  Formula start = number_formula(0.0);
  if (const KeyValue* ic = find(options, "ic")) start = constant(first, ic->text);
  std::string current = magnetising.name + ".i";
  for (std::size_t k = 1; k < members.size(); ++k) {
    const Item other = item_of(flat_.elements[members[k]]);
    options.clear();
    const Formula ratio = divide(passive_value(other, options, "l"), inductance);
    const Formula turns{fmt::format("{}sqrt({})", sign[k] < 0.0 ? "-" : "", ratio.text),
                        sign[k] < 0.0 ? Formula::sign : Formula::atom, false};
    if (const KeyValue* ic = find(options, "ic"))
      start = add(start, multiply(constant(other, ic->text), turns));
    ComponentText transformer{
        names_.extra_component(other.element.name + "_ideal"), "electrical.ideal_transformer", {}};
    transformer.port("p1", node(first, 1));
    transformer.port("n1", node(first, 2));
    transformer.port("p2", node(other, 1));
    transformer.port("n2", node(other, 2));
    transformer.value("n", names_.simplified(divide(number_formula(1.0), turns)));
    write(transformer, other);
    winding_of_[members[k]] = transformer.name + ".secondary.i";
    current += fmt::format(" + {}.primary.i", transformer.name);
  }
  winding_of_[members[0]] = current;
  if (!run_.uic)
    initial_.add(fmt::format("\"{}.i\" = \"steady\"", magnetising.name), first.place());
  else if (start.text != "0")
    magnetising.value("i0", names_.simplified(start));
  write(magnetising, first);
  return true;
}

}  // namespace tellegen
