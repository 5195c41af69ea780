// T and O: transmission lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

// Of a line's resistance over its impedance, squared, over twelve times the number of sections: how far a
// chain of lossless lines and resistances is from the line.
constexpr double error_of_sections = 2e-3;
constexpr double fewest_sections = 8, most_sections = 200;
constexpr int sections_without_inductance = 50;

// The values of ic=a,b,...; they are taken away.
std::vector<std::string> take_start(std::vector<Field>& fields) {
  std::vector<std::string> start;
  for (std::size_t k = 0; k + 2 < fields.size(); ++k)
    if (fields[k].is("ic") && fields[k + 1].type == Field::Type::equals) {
      std::size_t end = k + 2;
      while (end < fields.size() && fields[end].is_value() &&
             (end + 1 >= fields.size() || fields[end + 1].type != Field::Type::equals))
        start.push_back(fields[end++].text);
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(k),
                   fields.begin() + static_cast<std::ptrdiff_t>(end));
      break;
    }
  return start;
}

}  // namespace

// `start`: voltage and current of both ends, with uic.
void Translation::line_between(const Item& item, const std::string& name,
                               const std::vector<std::string>& nodes, double impedance, double delay,
                               const std::vector<double>& start) {
  ComponentText text{name, "electrical.transmission_line", {}};
  const char* ports[] = {"p1", "n1", "p2", "n2"};
  for (std::size_t k = 0; k < 4; ++k) text.port(ports[k], nodes[k]);
  text.value("Z0", number_formula(impedance));
  text.value("TD", number_formula(delay));
  if (run_.uic) {
    text.value("at_rest", number_formula(0.0));
    text.value("to_b0", number_formula(start[0] + impedance * start[1]));
    text.value("to_a0", number_formula(start[2] + impedance * start[3]));
  }
  write(text, item);
}

// T1 a 0 b 0 Z0=50 TD=10n, or F= and NL=: the length in wavelengths at that frequency (a quarter).
void Translation::transmission_line(const Item& item) {
  const auto number = [&](const std::string& text) {
    return names_.number(constant(item, text), item.place());
  };
  std::vector<Field> fields(item.fields.begin() + 5, item.fields.end());
  std::vector<double> start;
  for (const std::string& text : take_start(fields)) start.push_back(number(text));
  if (!start.empty() && !run_.uic) note(item.place(), "ic= has no effect without uic in .tran");
  start.resize(4, 0.0);
  constexpr double usual_frequency = 1e9;  // of ngspice, where only the length is given
  double impedance = 0.0, delay = 0.0, frequency = 0.0, wavelengths = 0.25;
  for (const KeyValue& a : take_assignments(fields)) {
    if (a.name == "z0" || a.name == "zo")
      impedance = number(a.text);
    else if (a.name == "td")
      delay = number(a.text);
    else if (a.name == "f")
      frequency = number(a.text);
    else if (a.name == "nl") {
      wavelengths = number(a.text);
      if (frequency == 0.0) frequency = usual_frequency;
    } else if (a.name != "rel" && a.name != "abs")  // when SPICE takes a breakpoint
      fault(item, "T502", fmt::format("'{}' is not a parameter of '{}'", a.name, item.element.name));
  }
  if (!(delay > 0.0) && frequency > 0.0) delay = wavelengths / frequency;
  if (!(impedance > 0.0) || !(delay > 0.0))
    fault(item, "T502", fmt::format("'{}' has no impedance or no delay", item.element.name),
          {fmt::format("it is written: {} node node node node Z0=50 TD=10n, or F=1meg NL=0.25 for TD",
                       item.element.name)});
  line_between(item, names_.element(item.element.name),
               {node(item, 1), node(item, 2), node(item, 3), node(item, 4)}, impedance, delay, start);
}

// O1 a 0 b 0 model, of type ltra: without resistance a lossless line; otherwise a chain of lossless lines
// with resistances between them, or of resistances and capacitances where it has no inductance.
void Translation::lossy_line(const Item& item) {
  const ModelCard* model = item.fields.size() > 5 ? item.element.at->model(item.fields[5].text) : nullptr;
  if (!model || model->type != "ltra")
    fault(item, "T503", fmt::format("'{}' needs a model of type ltra", item.element.name));
  if (model->wrong) throw *model->wrong;
  std::vector<Field> fields(item.fields.begin() + 6, item.fields.end());
  std::vector<double> start;
  for (const std::string& text : take_start(fields))
    start.push_back(names_.number(constant(item, text), item.place()));
  start.resize(4, 0.0);
  if (run_.uic && std::any_of(start.begin(), start.end(), [](double v) { return v != 0.0; }))
    fault(item, "T500", fmt::format("ic= of the lossy line '{}' is not supported", item.element.name));
  std::map<std::string, double> of{{"r", 0.0}, {"l", 0.0}, {"g", 0.0}, {"c", 0.0}, {"len", 0.0}};
  for (const KeyValue& a : model->values)
    if (of.contains(a.name))
      of[a.name] = names_.number(names_.constant(a.text, *item.element.at, model->place), model->place);
  const double length = of["len"], r = of["r"] * length, l = of["l"] * length, c = of["c"] * length;
  if (of["g"] != 0.0 || !(c > 0.0) || !(length > 0.0) || !(r > 0.0 || l > 0.0))
    fault(item, "T500",
          fmt::format("the lossy line '{}' has a conductance, or no capacitance: this is not supported",
                      item.element.name),
          {"supported: ltra with r, l and c, or two of them, and len"});
  const std::string name = names_.element(item.element.name);
  const std::vector<std::string> ends{node(item, 1), node(item, 2), node(item, 3), node(item, 4)};
  const auto inside = [&] { return names_.extra_node(item.element.name + "_inside"); };
  const auto part = [&](int k, const char* of) {
    return names_.extra_component(fmt::format("{}_{}{}", item.element.name, of, k));
  };
  const auto two_ended = [&](std::string of, const char* kind, const char* parameter, double value,
                             const std::string& p, const std::string& n) {
    ComponentText text{std::move(of), kind, {}};
    text.port("p", p);
    text.port("n", n);
    text.value(parameter, number_formula(value));
    write(text, item);
  };
  const auto resistance = [&](std::string of, double value, const std::string& p, const std::string& n) {
    two_ended(std::move(of), "electrical.resistor", "R", value, p, n);
  };
  if (r == 0.0) return line_between(item, name, ends, std::sqrt(l / c), std::sqrt(l * c), start);
  if (l > 0.0) {
    const double impedance = std::sqrt(l / c), delay = std::sqrt(l * c), loss = r / impedance;
    const double wanted = std::ceil(loss * loss / (12.0 * error_of_sections));
    if (wanted > most_sections)
      fault(item, "T500",
            fmt::format(
                "the resistance of the lossy line '{}' is {:.3g} times its impedance: more than {} is not "
                "supported",
                item.element.name, loss, std::floor(std::sqrt(12.0 * error_of_sections * most_sections))),
            {"without l it is a line of resistance and capacitance"});
    const int sections = static_cast<int>(std::max(wanted, fewest_sections));
    note_once(model->place, fmt::format("a line of '{}' is a chain of {} lossless lines and resistances",
                                        model->name, sections));
    std::string from = inside();
    resistance(name, r / (2.0 * sections), ends[0], from);
    for (int k = 1; k <= sections; ++k) {
      const std::string to = inside();
      line_between(item, part(k, "line"), {from, ends[1], to, k < sections ? ends[1] : ends[3]}, impedance,
                   delay / sections, start);
      from = k < sections ? inside() : ends[2];
      resistance(part(k, "r"), k < sections ? r / sections : r / (2.0 * sections), to, from);
    }
    return;
  }
  if (ends[1] != ends[3])
    fault(item, "T500",
          fmt::format("the line '{}' has no inductance, and its ends have no node in common: this is not "
                      "supported",
                      item.element.name));
  note_once(model->place, fmt::format("a line of '{}' is a chain of {} resistances and capacitances",
                                      model->name, sections_without_inductance));
  std::string from = ends[0];
  for (int k = 1; k <= sections_without_inductance; ++k) {
    const bool last = k == sections_without_inductance;
    const std::string middle = inside(), to = last ? ends[2] : inside();
    const double half = r / (2.0 * sections_without_inductance);
    resistance(k == 1 ? name : part(k, "ra"), half, from, middle);
    const std::string storage = part(k, "c");
    two_ended(storage, "electrical.capacitor", "C", c / sections_without_inductance, middle, ends[1]);
    if (!run_.uic) initial_.add(fmt::format("\"{}.v\" = \"steady\"", storage), item.place());
    resistance(part(k, "rb"), half, middle, to);
    from = to;
  }
}

}  // namespace tellegen
