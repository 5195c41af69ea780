// V and I: constants and the waveforms of SPICE.
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "tellegen/model/document.h"
#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr std::string_view shapes[] = {"sin", "sine", "pulse", "pwl", "exp", "sffm", "am"};
constexpr std::string_view others[] = {"trnoise", "trrandom", "external", "portnum", "z0", "noise"};
constexpr std::string_view parasitics[] = {"rser", "rpar", "cpar", "lser"};

// LTspice's `rser=1m` and its like, wherever they stand: taken off the fields.
std::vector<KeyValue> take_parasitics(std::vector<Field>& fields) {
  std::vector<KeyValue> found;
  for (std::size_t k = 3; k + 2 < fields.size();)
    if (is_one_of(fields[k].text, parasitics) && fields[k + 1].type == Field::Type::equals) {
      found.push_back({fields[k].text, fields[k + 2].text});
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(k),
                   fields.begin() + static_cast<std::ptrdiff_t>(k + 3));
    } else {
      ++k;
    }
  return found;
}

}  // namespace

void Translation::source(Item item) {
  item.inner = behind_parasitics(item, take_parasitics(item.fields));
  const auto& fields = item.fields;
  std::optional<Formula> level;
  std::string shape;
  std::vector<Formula> values;
  struct {
    std::optional<double> repeat;
    double delay = 0.0;
  } pwl;
  int wrapped = 0;
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
      // DC PULSE(...): the waveform says what it is.
      const bool no_level = k < fields.size() && fields[k].type == Field::Type::word &&
                            (is_one_of(fields[k].text, shapes) || fields[k].is("ac"));
      if (k < fields.size() && fields[k].type == Field::Type::open) ++k, ++wrapped;  // dc(5)
      if (!no_level) level = a_value();
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
        if (shape == "pwl" &&
            (fields[k].is("r") || fields[k].is("td") || fields[k].is("file") || fields[k].is("repeat")))
          break;
        if (!fields[k].is_value() || (k + 1 < fields.size() && fields[k + 1].type == Field::Type::equals))
          fault(item, "T502", fmt::format("'{}' is not supported in {}", fields[k].text, shape));
        values.push_back(constant(item, fields[k].text));
      }
      if (bracket && depth == 0) ++k;
      if (bracket && depth != 0 && k >= fields.size()) fault(item, "T502", "a '(' is not closed");
    } else if (shape == "pwl" && (field.is("r") || field.is("td"))) {
      skip_equals();
      const double given = names_.number(a_value(), item.place());
      if (field.is("r"))
        pwl.repeat = given;
      else
        pwl.delay = given;
    } else if (shape == "pwl" && field.is("file")) {
      skip_equals();
      if (k >= fields.size()) fault(item, "T502", "pwl file needs the name of a file");
      values = points_of_file(item, fields[k++].text);
    } else if (shape == "pwl" && field.type == Field::Type::close) {
      continue;
    } else if (field.type == Field::Type::open || (field.type == Field::Type::close && wrapped > 0)) {
      wrapped += field.type == Field::Type::open ? 1 : -1;  // 0 (PULSE 0 1 ...)
    } else if (shape == "pwl" && field.is("repeat")) {
      fault(item, "T500", fmt::format("'repeat' within pwl of '{}' is not supported", item.element.name),
            {"r=0 after the points repeats all of them"});
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
  if (shape == "pwl" && (pwl.repeat || pwl.delay != 0.0)) {
    for (std::size_t k = 0; k < values.size(); k += 2)
      values[k] = number_formula(names_.number(values[k], item.place()) + pwl.delay);
    if (pwl.repeat) return repeated(item, values, *pwl.repeat + pwl.delay);
  }
  if (!shape.empty()) return waveform(item, shape, values);
  Formula constant = level.value_or(number_formula(0.0));
  if (run_.startup && !constant.varies)
    constant = multiply(constant, {"min(t/2e-5, 1)", Formula::atom, true});
  write_source(item, item.element.letter() == 'v', constant);
}

// PWL FILE: pairs of a time and a value, in the file beside the one that names it.
std::vector<Formula> Translation::points_of_file(const Item& item, const std::string& lower) const {
  const Card& card = *item.element.card;
  const auto at = card.text.find(lower);
  const std::string name =
      at == std::string::npos || card.as_written.empty() ? lower : card.as_written.substr(at, lower.size());
  const auto path = (std::filesystem::path(item.place().file).parent_path() / name).lexically_normal();
  std::string text = read_text(path, item.place());
  std::vector<Formula> values;
  for (char& c : text)
    if (c == ',' || c == ';' || c == '\t' || c == '\r') c = ' ';
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('*') || line.starts_with('#')) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const auto number = read_number(lower_case(word));
      if (!number)
        fault(item, "T502", fmt::format("'{}' of '{}' is not a number", word, path.filename().string()));
      values.push_back(number_formula(*number));
    }
  }
  return values;
}

// PWL with r=: what lies between that time and the last one comes again and again.
void Translation::repeated(const Item& item, const std::vector<Formula>& values, double from) {
  std::vector<std::pair<Formula, Formula>> points;
  for (std::size_t k = 0; k + 1 < values.size(); k += 2) points.emplace_back(values[k], values[k + 1]);
  if (points.size() < 2) fault(item, "T502", fmt::format("pwl of '{}' needs two points", item.element.name));
  const double last = names_.number(points.back().first, item.place());
  if (!(from >= 0.0 && from < last))
    fault(item, "T508", fmt::format("r= of pwl of '{}' must lie before its last time", item.element.name));
  for (std::size_t k = 0; k + 1 < points.size(); ++k)
    if (!(names_.number(points[k].first, item.place()) < names_.number(points[k + 1].first, item.place())))
      fault(item, "T508", fmt::format("the times of pwl of '{}' do not increase", item.element.name));
  const std::string begin = number_text(from), end = number_text(last);
  const Formula phase{
      fmt::format("if(t < {0}, t, {1} + mod(t - {1}, {2}))", end, begin, number_text(last - from)),
      Formula::atom, true};
  write_source(item, item.element.letter() == 'v', piecewise(phase, points, Outside::hold));
}

// PULSE whose eighth value counts the pulses: so many, as points.
void Translation::pulses(const Item& item, const std::vector<Formula>& values) {
  std::vector<double> v;
  for (const Formula& value : values) v.push_back(names_.number(value, item.place()));
  const double step = run_.step.value_or(0.0), stop = run_.stop.value_or(0.0);
  const double rise = v[3] > 0.0 ? v[3] : step, fall = v[4] > 0.0 ? v[4] : step;
  const double period = v[6] > 0.0 ? v[6] : stop;
  const double many = std::min(v[7], std::ceil((stop - v[2]) / std::max(period, 1e-30)));
  if (!(many <= 10000.0))
    fault(item, "T508", fmt::format("pulse of '{}' has too many pulses", item.element.name));
  std::vector<Formula> points{number_formula(std::min(0.0, v[2])), values[0]};
  const auto add = [&](double t, double value) {
    const double before = names_.number(points[points.size() - 2], item.place());
    if (t > before) points.insert(points.end(), {number_formula(t), number_formula(value)});
  };
  for (int k = 0; k < static_cast<int>(many); ++k) {
    const double begin = v[2] + k * period;
    add(begin, v[0]);
    add(begin + rise, v[1]);
    add(begin + rise + v[5], v[1]);
    add(begin + rise + v[5] + fall, v[0]);
  }
  waveform(item, "pwl", points);
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
    count(2, 8);
    if (values.size() > 7 && number(7) > 0.0) return pulses(item, values);
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
    count(4, 7);
    for (std::size_t k = 5; k < values.size(); ++k)
      if (number(k) != 0.0)
        fault(item, "T502", fmt::format("the phases of am of '{}' are not supported", item.element.name));
    const Formula since = call("max", {subtract(t, at(4)).text + ", 0", Formula::atom, true});
    const Formula modulation = add(at(1), call("sin", multiply(multiply(turn, at(2)), since)));
    return write_source(
        item, voltage,
        multiply(multiply(at(0), modulation), call("sin", multiply(multiply(turn, at(3)), since))));
  }
  write(text, item);
}

}  // namespace tellegen
