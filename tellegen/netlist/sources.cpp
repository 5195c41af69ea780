// V and I: constants and the waveforms of SPICE.
#include <fmt/format.h>

#include <array>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr std::string_view shapes[] = {"sin", "sine", "pulse", "pwl", "exp", "sffm", "am"};
constexpr std::string_view others[] = {"trnoise", "trrandom", "external", "portnum", "z0", "noise"};

}  // namespace

void Translation::source(const Item& item) {
  const auto& fields = item.fields;
  std::optional<Formula> level;
  std::string shape;
  std::vector<Formula> values;
  for (std::size_t k = 3; k < fields.size();) {
    const auto skip_equals = [&] {
      if (k < fields.size() && fields[k].type == Field::Type::equals) ++k;
    };
    const auto a_value = [&] {
      if (k >= fields.size() || !fields[k].is_value())
        fault(item, "T502",
              fmt::format("'{}' has no value after '{}'", item.element.name, fields[k - 1].text));
      return formula(item, fields[k++].text);
    };
    const Field& field = fields[k++];
    if (field.is("dc")) {
      skip_equals();
      level = a_value();
    } else if (field.is("ac") || field.is("distof1") || field.is("distof2")) {
      note(item.place(), fmt::format("'{}' of '{}' is for other analyses and has no effect", field.text,
                                     item.element.name));
      skip_equals();
      for (int n = 0; n < 2 && k < fields.size() && fields[k].is_value() &&
                      (fields[k].type == Field::Type::expression || read_number(fields[k].text));
           ++n)
        ++k;
    } else if (field.type == Field::Type::word && is_one_of(field.text, shapes)) {
      if (!shape.empty()) fault(item, "T502", fmt::format("'{}' has two waveforms", item.element.name));
      shape = field.text == "sine" ? "sin" : field.text;
      const bool bracket = k < fields.size() && fields[k].type == Field::Type::open;
      if (bracket) ++k;
      int depth = 1;
      for (; k < fields.size(); ++k) {
        depth += (fields[k].type == Field::Type::open) - (fields[k].type == Field::Type::close);
        if (bracket && depth == 0) break;
        if (fields[k].type == Field::Type::open || fields[k].type == Field::Type::close)
          continue;  // pwl((0,0) (1,2))
        if (fields[k].is("dc") || fields[k].is("ac")) break;
        if (!fields[k].is_value() || (k + 1 < fields.size() && fields[k + 1].type == Field::Type::equals))
          fault(item, "T502", fmt::format("'{}' is not supported in {}", fields[k].text, shape));
        values.push_back(constant(item, fields[k].text));
      }
      if (bracket && k++ >= fields.size()) fault(item, "T502", "a '(' is not closed");
    } else if (field.type == Field::Type::word && is_one_of(field.text, others)) {
      fault(item, "T500", fmt::format("'{}' of '{}' is not supported", field.text, item.element.name),
            {"waveforms: SIN, PULSE, PWL, EXP, SFFM, AM"});
    } else if (field.is_value() && !(k < fields.size() && fields[k].type == Field::Type::equals)) {
      level = formula(item, field.text);
    } else {
      fault(item, "T502", fmt::format("'{}' of '{}' makes no sense here", field.text, item.element.name));
    }
  }
  // In a transient the waveform counts, from its value at t = 0 on.
  if (!shape.empty()) return waveform(item, shape, values);
  write_source(item, item.element.letter() == 'v', level.value_or(number_formula(0.0)));
}

void Translation::waveform(const Item& item, const std::string& shape, const std::vector<Formula>& values) {
  const bool voltage = item.element.letter() == 'v';
  const std::string unit = voltage ? "voltage" : "current";
  const double step = run_.step.value_or(0.0), stop = run_.stop.value_or(0.0);
  const auto number = [&](std::size_t k) { return names_.number(values[k], item.place()); };
  // SPICE takes the run's times where a time is left out or zero.
  const auto time = [&](std::size_t k, double otherwise, const char* what) {
    if (k < values.size() && number(k) > 0.0) return values[k];
    if (otherwise > 0.0) return number_formula(otherwise);
    fault(item, "T502",
          fmt::format("the {} of '{}' is not given, and there is no .tran to take it from", what,
                      item.element.name));
  };
  const auto at = [&](std::size_t k) { return k < values.size() ? values[k] : number_formula(0.0); };
  const auto count = [&](std::size_t least, std::size_t most) {
    if (values.size() < least || values.size() > most)
      fault(item, "T502",
            fmt::format("{} of '{}' takes {} to {} values, and has {}", shape, item.element.name, least, most,
                        values.size()));
  };
  const Formula t{"t", Formula::atom, true};
  const auto call = [](std::string_view name, const Formula& of) {
    return Formula{fmt::format("{}({})", name, of.text), Formula::atom, of.varies};
  };
  const Formula turn = multiply(number_formula(2.0), {"pi", Formula::atom, false});
  const Formula radians{"pi/180", Formula::product, false};

  ComponentText text = component(item, "");
  text.port("p", node(item, 1));
  text.port("n", node(item, 2));
  if (shape == "sin") {
    count(2, 6);
    text.kind = "electrical.sine_" + unit;
    if (at(0).text != "0") text.value("offset", at(0));
    text.value("amplitude", at(1));
    text.value("frequency", time(2, stop > 0.0 ? 1.0 / stop : 0.0, "frequency"));
    if (values.size() > 3 && at(3).text != "0") text.value("delay", at(3));
    if (values.size() > 4 && at(4).text != "0") text.value("damping", at(4));
    if (values.size() > 5 && at(5).text != "0") text.value("phase", multiply(at(5), radians));
  } else if (shape == "pulse") {
    count(2, 7);
    text.kind = "electrical.pulse_" + unit;
    text.value("low", at(0));
    text.value("high", at(1));
    if (values.size() > 2 && at(2).text != "0") text.value("delay", at(2));
    text.value("rise", time(3, step, "rise time"));
    text.value("fall", time(4, step, "fall time"));
    // Without a width or a period it lasts to the end of the run, and longer.
    if (values.size() > 5 && number(5) > 0.0) text.value("width", at(5));
    if (values.size() > 6 && number(6) > 0.0) text.value("period", at(6));
  } else if (shape == "pwl") {
    if (values.size() < 2 || values.size() % 2 != 0)
      fault(item, "T502", fmt::format("pwl of '{}' takes pairs of a time and a value", item.element.name));
    text.kind = "electrical.pwl_" + unit;
    std::string points;
    // Two values at one time are a jump: the ramps without the jumps, and steps.
    std::vector<std::pair<Formula, Formula>> ramps;
    Formula jumps = number_formula(0.0);
    double jumped = 0.0;
    for (std::size_t k = 0; k < values.size(); k += 2) {
      if (k > 0 && number(k) < number(k - 2))
        fault(item, "T508",
              fmt::format("the times of pwl of '{}' go back to {} s", item.element.name,
                          number_text(number(k))));
      if (k > 0 && number(k) == number(k - 2)) {
        const double height = number(k + 1) - number(k - 1);
        jumped += height;
        jumps = add(jumps, {fmt::format("if(t >= {}, {}, 0)", number_text(number(k)), number_text(height)),
                            Formula::atom, true});
      } else {
        ramps.emplace_back(number_formula(number(k)), number_formula(number(k + 1) - jumped));
      }
    }
    if (jumps.text != "0") return write_source(item, voltage, add(piecewise(t, ramps, Outside::hold), jumps));
    for (std::size_t k = 0; k < values.size(); k += 2)
      points += fmt::format("{}[{}, {}]", k ? ", " : "", number_text(number(k)), number_text(number(k + 1)));
    if (values.size() == 2)  // one point is a constant
      return write_source(item, voltage, at(1));
    text.items.emplace_back("points", "[" + points + "]");
  } else if (shape == "exp") {
    count(2, 6);
    text.kind = fmt::format("electrical.exponential_{}_source", unit);
    text.value("v1", at(0));
    text.value("v2", at(1));
    text.value("td1", at(2));
    text.value("tau1", time(3, step, "time constant"));
    text.value("td2",
               values.size() > 4 && number(4) > 0.0 ? at(4) : add(at(2), time(9, step, "second delay")));
    text.value("tau2", time(5, step, "time constant"));
  } else if (shape == "sffm") {  // offset + amplitude*sin(2 pi fc t + index*sin(2 pi fs t))
    count(3, 5);
    const Formula carrier = multiply(multiply(turn, time(2, stop > 0.0 ? 1.0 / stop : 0.0, "frequency")), t);
    const Formula signal = multiply(multiply(turn, time(4, stop > 0.0 ? 1.0 / stop : 0.0, "frequency")), t);
    return write_source(
        item, voltage,
        add(at(0), multiply(at(1), call("sin", add(carrier, multiply(at(3), call("sin", signal)))))));
  } else {  // am: amplitude*(offset + sin(2 pi fm t))*sin(2 pi fc t), from the delay on
    count(4, 5);
    const Formula since = call("max", {subtract(t, at(4)).text + ", 0", Formula::atom, true});
    const Formula modulation = add(at(1), call("sin", multiply(multiply(turn, at(2)), since)));
    return write_source(
        item, voltage,
        multiply(multiply(at(0), modulation), call("sin", multiply(multiply(turn, at(3)), since))));
  }
  write(text, item);
}

}  // namespace tellegen
