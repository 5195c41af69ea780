#include "tests/differential/generator.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tests/differential/expression.h"

namespace differential {
namespace {

// How the same five things are called in each domain, and how large they usually are.
struct Words {
  std::string domain, node, across, through;
  std::string resistor, resistance;
  std::string store, storage, start;           // accumulates the across variable
  bool store_to_datum;                         // has one port only
  std::string inertia, inertance, flow_start;  // accumulates the through variable; empty: none
  std::string across_source, across_value, through_source, through_value;
  bool across_to_datum;
  double across_size, through_size;
};

const std::vector<Words>& domains() {
  static const std::vector<Words> all{
      {"electrical",
       "v",
       "v",
       "i",
       "electrical.resistor",
       "R",
       "electrical.capacitor",
       "C",
       "v0",
       false,
       "electrical.inductor",
       "L",
       "i0",
       "electrical.voltage_source",
       "V",
       "electrical.current_source",
       "I",
       false,
       1,
       1},
      {"thermal", "T", "dT", "Q", "thermal.resistor",          "R", "thermal.capacitor",   "C", "T0",
       false,     "",  "",   "",  "thermal.fixed_temperature", "T", "thermal.heat_source", "Q", true,
       1,         1},
      {"rotational",
       "w",
       "w",
       "tau",
       "rotational.damper",
       "d",
       "rotational.inertia",
       "J",
       "w0",
       true,
       "rotational.spring",
       "c",
       "phi0",
       "rotational.speed_source",
       "w",
       "rotational.torque_source",
       "tau",
       false,
       1,
       1},
      {"translational",
       "v",
       "v",
       "F",
       "translational.damper",
       "d",
       "translational.mass",
       "m",
       "v0",
       true,
       "translational.spring",
       "c",
       "x0",
       "translational.speed_source",
       "v",
       "translational.force_source",
       "F",
       false,
       1,
       1},
      {"hydraulic", "p", "dp", "q", "hydraulic.resistor",        "R",  "hydraulic.accumulator", "C", "p0",
       false,       "",  "",   "",  "hydraulic.pressure_source", "dp", "hydraulic.flow_source", "q", false,
       1e5,         1e-4},
  };
  return all;
}

// The same number as a quantity, in a unit that people use for it; numbers of no such unit stay.
std::string unit_of(Random& random, const std::string& of) {
  static const std::map<std::string, std::vector<std::string>> known{
      {"electrical.resistor.R", {"ohm", "mohm", "kohm"}},
      {"electrical.capacitor.C", {"F", "mF", "uF"}},
      {"electrical.capacitor.v0", {"V", "mV"}},
      {"electrical.inductor.L", {"H", "mH"}},
      {"electrical.inductor.i0", {"A", "mA"}},
      {"thermal.resistor.R", {"K/W", "mK/W"}},
      {"thermal.capacitor.C", {"J/K", "kJ/K"}},
      {"rotational.inertia.J", {"kg m2"}},
      {"rotational.inertia.w0", {"rad/s", "rpm"}},
      {"translational.mass.m", {"kg", "g"}},
      {"hydraulic.accumulator.p0", {"Pa", "kPa", "bar"}},
      {"hydraulic.pressure_source.dp", {"kPa"}},
      {"signals.first_order.T", {"s", "ms"}},
      {"signals.pwm.period", {"s", "ms"}},
      {"signals.sample_hold.period", {"s", "ms"}},
      {"electrical.ideal_diode.Vf", {"V", "mV"}},
      {"electrical.coupled_inductors.L1", {"H", "mH"}}};
  const auto found = known.find(of);
  return found == known.end() ? "" : random.pick(found->second);
}

class Builder {
 public:
  explicit Builder(Random& random) : random_(random) {}
  Draft draft;

  std::string name(const std::string& letter) { return letter + std::to_string(++count_[letter]); }
  std::string node(const Words& w) { return name(std::string(1, w.domain[0]) + "n"); }

  std::string in_a_unit(const std::string& of, const std::string& number) {
    if (number.find_first_not_of("0123456789.+-e") != std::string::npos) return number;
    const std::string unit = unit_of(random_, of);
    if (unit.empty()) return number;
    return quoted(number_text(std::atof(number.c_str()) / unit_factor(unit), 6) + " " + unit);
  }

  // A positive number, as itself or by way of a parameter.
  std::string positive(double size = 1.0, double low = 0.2, double high = 5.0) {
    const std::string number = number_text(size * random_.logarithmic(low, high));
    if (random_.chance(0.6)) return number;
    if (!plain_.empty() && size == 1.0 && random_.chance(0.4)) {
      const std::string p = random_.pick(plain_);
      return quoted(random_.chance(0.5) ? p : number_text(random_.between(0.5, 2)) + "*" + p + " + 0.1");
    }
    const std::string p = name(size == 1.0 ? "p" : "big");
    draft.parameters.emplace_back(p, number);
    if (size == 1.0) plain_.push_back(p);
    return quoted(p);
  }

  std::string sine() {
    const std::string w = number_text(random_.logarithmic(0.8, 15), 2);
    const std::string phase = random_.chance(0.4) ? " + " + number_text(random_.between(0.1, 3), 2) : "";
    return (random_.chance(0.7) ? "sin(" : "cos(") + w + "*t" + phase + ")";
  }

  // A function of time.
  std::string signal(double size, bool jumps) {
    const auto number = [&] { return number_text(size * random_.between(0.3, 4)); };
    if (!draft.inputs.empty() && random_.chance(0.25))
      return number() + "*" + random_.pick(draft.inputs).first;
    std::string text;
    switch (random_.below(jumps ? 8 : 6)) {
      case 0:
        return number();
      case 1:
        text = number() + "*" + sine();
        break;
      case 2:
        text = number() + " + " + number() + "*" + sine();
        break;
      case 3:
        text = number() + "*exp(-" + number_text(random_.between(0.3, 4), 2) + "*t)";
        break;
      case 4:
        text = number() + "*t";
        break;
      case 5:
        text = number() + "*" + sine() + " - " + number() + "*" + sine();
        break;
      case 6:
        text = "if(t < " +
               (random_.chance(0.5) ? number_text(0.125 * random_.range(1, 7), 4)
                                    : number_text(random_.between(0.1, 0.9))) +
               ", " + number() + ", " + number() + ")";
        break;
      default:
        text = "if(t < " + number_text(random_.between(0.1, 0.9)) + ", " + number() + "*" + sine() + ", -" +
               number() + ")";
    }
    if (size == 1.0 && random_.chance(0.25)) {
      const std::string u = name("u");
      draft.inputs.emplace_back(u, quoted(text));
      return u;
    }
    return text;
  }

  Part& add(const std::string& letter, const std::string& kind, Fields ports, Fields values) {
    for (auto& [key, value] : values)
      if (random_.chance(0.15)) value = in_a_unit(kind + "." + key, value);
    draft.parts.push_back({name(letter), kind, std::move(ports), std::move(values)});
    return draft.parts.back();
  }

 protected:
  Random& random_;
  std::map<std::string, int> count_;
  std::vector<std::string> plain_;  // parameters of usual size, to be used again
};

// ---- linear networks

class LinearBuilder : public Builder {
 public:
  using Builder::Builder;

  Draft build() {
    const int networks = random_.chance(0.55) ? 1 : random_.range(2, 3);
    std::vector<std::pair<const Words*, std::vector<std::string>>> made;
    jumps_ = random_.chance(0.35);
    for (int k = 0; k < networks; ++k) {
      const Words& w = random_.chance(0.4) ? domains()[0] : random_.pick(domains());
      made.emplace_back(&w, network(w));
    }
    for (std::size_t k = 1; k < made.size(); ++k)
      couple(*made[k - 1].first, made[k - 1].second, *made[k].first, made[k].second);
    if (random_.chance(0.3)) signals(made[0].second, *made[0].first);
    std::vector<std::string> variables;
    for (const auto& [w, nodes] : made)
      for (const std::string& n : nodes) variables.push_back(n + "." + w->node);
    for (int k = 0; k < 2; ++k) draft.outputs.push_back(random_.pick(variables));
    std::sort(draft.outputs.begin(), draft.outputs.end());
    draft.outputs.erase(std::unique(draft.outputs.begin(), draft.outputs.end()), draft.outputs.end());
    draft.objectives.emplace_back(
        "I", "{ integral = " +
                 quoted(random_.pick(variables) + (random_.chance(0.5)   ? "*" + sine()
                                                   : random_.chance(0.5) ? ""
                                                                         : "*" + random_.pick(variables))) +
                 " }");
    draft.objectives.emplace_back("e", "{ end = " + quoted(random_.pick(variables)) + " }");
    draft.simulation = {{"stop", "1"}, {"step", "0.015625"}};
    draft.seed = random_.bits();
    return draft;
  }

 private:
  bool jumps_ = false;

  std::string initial(const Words& w) {
    if (w.domain == "thermal") return number_text(random_.between(-3, 3));
    return number_text(random_.between(-3, 3) * w.across_size);
  }

  void resistor(const Words& w, const std::string& a, const std::string& b) {
    add("r", w.resistor, {{"p", a}, {"n", b}}, {{w.resistance, positive(w.across_size / w.through_size)}});
  }
  // `chord`: it may close a circuit of storage, and what it would begin with may contradict the others.
  void store(const Words& w, const std::string& a, const std::string& b, bool chord = false) {
    Fields ports{{"p", a}};
    if (!w.store_to_datum) ports.emplace_back("n", b);
    Fields values{{w.storage, positive(w.through_size / w.across_size)}};
    if (!chord && (w.domain == "thermal" || random_.chance(0.7))) values.emplace_back(w.start, initial(w));
    add("c", w.store, ports, values);
  }
  void inertia(const Words& w, const std::string& a, const std::string& b) {
    Fields values{{w.inertance, positive(w.across_size / w.through_size)}};
    if (random_.chance(0.6)) values.emplace_back(w.flow_start, number_text(random_.between(-2, 2)));
    add("l", w.inertia, {{"p", a}, {"n", b}}, values);
  }

  std::string source_value(const Words& w, double size) {
    if (!draft.outputs.empty() || size != 1.0 || !random_.chance(0.12) || seen_.empty() ||
        w.across_size != 1.0)
      return signal(size, jumps_);
    return number_text(random_.between(-0.5, 0.5)) + "*" + random_.pick(seen_) + " + " + signal(1.0, jumps_);
  }
  std::vector<std::string> seen_;  // variables that a value may refer to

  // A tree of resistors, storage and sources from the datum, then chords.
  std::vector<std::string> network(const Words& w) {
    std::vector<std::string> nodes;
    const int count = random_.range(1, 5);
    for (int k = 0; k < count; ++k) {
      const std::string fresh = node(w);
      const std::string other = nodes.empty() || random_.chance(0.4) ? "datum" : random_.pick(nodes);
      switch (random_.below(w.inertia.empty() ? 4 : 5)) {
        case 0:
          resistor(w, fresh, other);
          break;
        case 1:
          store(w, fresh, w.store_to_datum ? "datum" : other);
          break;
        case 2: {
          // a source across, often behind a resistor
          std::string top = fresh;
          if (random_.chance(0.6)) {
            top = node(w);
            resistor(w, fresh, top);
          }
          Fields ports{{"p", top}};
          if (!w.across_to_datum) ports.emplace_back("n", other);
          add("v", w.across_source, ports, {{w.across_value, quoted(source_value(w, w.across_size))}});
          break;
        }
        case 3:
          add("i", w.through_source, {{"p", other}, {"n", fresh}},
              {{w.through_value, quoted(source_value(w, w.through_size))}});
          if (random_.chance(0.7))
            resistor(w, fresh, other);
          else
            store(w, fresh, w.store_to_datum ? "datum" : other);
          break;
        default:
          inertia(w, fresh, other);
          if (random_.chance(0.7)) resistor(w, fresh, random_.chance(0.5) ? "datum" : other);
      }
      nodes.push_back(fresh);
      if (w.across_size == 1.0) seen_.push_back(fresh + "." + w.node);
    }
    const int chords = random_.range(0, 3);
    for (int k = 0; k < chords; ++k) {
      const std::string a = random_.pick(nodes);
      std::string b = random_.chance(0.4) ? "datum" : random_.pick(nodes);
      if (a == b) b = "datum";
      switch (random_.below(w.inertia.empty() ? 2 : 3)) {
        case 0:
          resistor(w, a, b);
          break;
        case 1:
          store(w, a, b, true);
          break;
        default:
          inertia(w, a, b);
      }
    }
    if (random_.chance(0.35)) two_port(w, nodes);
    return nodes;
  }

  void two_port(const Words& w, const std::vector<std::string>& nodes) {
    const std::string a = random_.pick(nodes);
    if (w.domain == "electrical") {
      const std::string b = random_.pick(nodes), fresh = node(w);
      switch (random_.below(6)) {
        case 0:
          add("x", "electrical.vcvs", {{"cp", a}, {"cn", "datum"}, {"p", fresh}, {"n", "datum"}},
              {{"A", number_text(random_.between(-2, 2))}});
          break;
        case 1:
          add("x", "electrical.vccs", {{"cp", a}, {"cn", "datum"}, {"p", fresh}, {"n", "datum"}},
              {{"G", number_text(random_.between(-1, 1))}});
          break;
        case 2:
          add("x", "electrical.ideal_transformer",
              {{"p1", a}, {"n1", "datum"}, {"p2", fresh}, {"n2", "datum"}},
              {{"n", number_text(random_.logarithmic(0.3, 3))}});
          break;
        case 3: {
          const std::string in = node(w);
          resistor(w, a, in);
          add("x", "electrical.ccvs", {{"cp", in}, {"cn", "datum"}, {"p", fresh}, {"n", "datum"}},
              {{"R", number_text(random_.between(-1, 1))}});
          break;
        }
        case 4: {
          const std::string in = node(w);
          resistor(w, a, in);
          add("x", "electrical.cccs", {{"cp", in}, {"cn", "datum"}, {"p", fresh}, {"n", "datum"}},
              {{"B", number_text(random_.between(-0.8, 0.8))}});
          break;
        }
        default:
          add("x", "electrical.coupled_inductors",
              {{"p1", a}, {"n1", "datum"}, {"p2", fresh}, {"n2", "datum"}},
              {{"L1", positive()}, {"L2", positive()}, {"k", number_text(random_.between(-0.9, 0.9))}});
      }
      resistor(w, fresh, "datum");
      if (random_.chance(0.5)) store(w, fresh, "datum");
    } else if (w.domain == "rotational") {
      const std::string fresh = node(w);
      add("x", "rotational.gear", {{"p", a}, {"r", fresh}, {"c", "datum"}},
          {{"ratio", number_text(random_.between(-3, 3))}});
      resistor(w, fresh, "datum");
      if (random_.chance(0.5)) store(w, fresh, "datum");
    } else if (w.domain == "translational") {
      const std::string fresh = node(w);
      add("x", "translational.lever", {{"p", a}, {"r", fresh}, {"c", "datum"}},
          {{"arm_p", positive()}, {"arm_r", positive()}});
      resistor(w, fresh, "datum");
      if (random_.chance(0.5)) store(w, fresh, "datum");
    }
  }

  void couple(const Words& a, const std::vector<std::string>& of_a, const Words& b,
              const std::vector<std::string>& of_b) {
    const auto both = [&](const char* x, const char* y) { return a.domain == x && b.domain == y; };
    const std::string na = random_.pick(of_a), nb = random_.pick(of_b);
    const std::string k = number_text(random_.logarithmic(0.3, 2));
    if (both("electrical", "rotational"))
      add("x", "transducers.gyrator", {{"p", na}, {"n", "datum"}, {"r", nb}, {"c", "datum"}}, {{"k", k}});
    else if (both("rotational", "electrical"))
      add("x", "transducers.gyrator", {{"p", nb}, {"n", "datum"}, {"r", na}, {"c", "datum"}}, {{"k", k}});
    else if (both("rotational", "translational"))
      add("x", "rotational.rack", {{"r", na}, {"c", "datum"}, {"p", nb}, {"n", "datum"}}, {{"radius", k}});
    else if (both("translational", "rotational"))
      add("x", "rotational.rack", {{"r", nb}, {"c", "datum"}, {"p", na}, {"n", "datum"}}, {{"radius", k}});
    else if (both("hydraulic", "translational"))
      add("x", "hydraulic.cylinder", {{"a", na}, {"b", "datum"}, {"r", nb}, {"c", "datum"}},
          {{"area", "1e-4"}});
    else if (a.domain == "electrical") {
      const std::string top = name("mn");
      add("x", "magnetic.winding", {{"p", na}, {"n", "datum"}, {"north", top}, {"south", "datum"}},
          {{"N", positive()}, {"phi0", number_text(random_.between(-1, 1))}});
      add("r", "magnetic.reluctance", {{"p", top}, {"n", "datum"}}, {{"R", positive()}});
    } else if (a.across_size == 1.0 && b.across_size == 1.0) {
      // only by a value: a source in b that follows a variable of a
      add("i", b.through_source, {{"p", "datum"}, {"n", nb}},
          {{b.through_value, quoted(number_text(random_.between(-1, 1)) + "*" + na + "." + a.node)}});
    }
  }

  void signals(const std::vector<std::string>& nodes, const Words& w) {
    const std::string u = quoted(number_text(1.0 / w.across_size) + "*" + random_.pick(nodes) + "." + w.node +
                                 (random_.chance(0.5) ? " + " + signal(1.0, jumps_) : ""));
    switch (random_.below(4)) {
      case 0:
        add("s", "signals.integrator", {}, {{"u", u}, {"y0", number_text(random_.between(-1, 1))}});
        break;
      case 1:
        add("s", "signals.first_order", {},
            {{"u", u}, {"T", positive()}, {"y0", number_text(random_.between(-1, 1))}});
        break;
      case 2:
        add("s", "signals.second_order", {},
            {{"u", u}, {"w0", positive(3.0)}, {"y0", number_text(random_.between(-1, 1))}});
        break;
      default:
        add("s", "signals.gain", {}, {{"u", u}, {"k", number_text(random_.between(-2, 2))}});
    }
  }
};

// ---- models with events

class EventBuilder : public Builder {
 public:
  using Builder::Builder;

  // `parameters`: every number is a parameter where it can be, for derivatives.
  Draft build(bool small) {
    met_ = random_.chance(0.35);
    const int boxes = random_.range(1, small && !met_ ? 1 : met_ ? 3 : 2);
    add_source("a1");
    std::string last = "a1";
    const int cells = random_.range(1, small ? 2 : 3);
    for (int k = 0; k < cells; ++k) {
      const std::string x = "b" + std::to_string(k + 1);
      series(last, x);
      load(x);
      states_.push_back(x + ".v");
      last = x;
    }
    for (int k = 0; k < boxes; ++k) discrete_.push_back(box());
    if (random_.chance(0.3)) box();
    const std::vector<std::string>& discrete = discrete_;
    // what the discrete variables act on
    for (const std::string& d : discrete) act(d);
    for (const std::string& s : states_)
      if (random_.chance(0.7) || draft.outputs.empty()) draft.outputs.push_back(s);
    draft.objectives.emplace_back("I", "{ integral = " + quoted(integrand(discrete)) + " }");
    draft.objectives.emplace_back("e", "{ end = " + quoted(random_.pick(states_)) + " }");
    draft.simulation = {{"stop", "1"}, {"step", "0.005"}};
    draft.seed = random_.bits();
    return draft;
  }

 private:
  std::vector<std::string> states_, discrete_;
  bool met_ = false;  // every event is sampled, or follows from time and other events: fixed steps meet it

  std::string integrand(const std::vector<std::string>& discrete) {
    const std::string s = random_.pick(states_);
    switch (random_.below(4)) {
      case 0:
        return s;
      case 1:
        return s + "*" + sine();
      case 2:
        return random_.pick(discrete) + "*" + s;
      default:
        return s + "^2";
    }
  }

  void add_source(const std::string& top) {
    const std::string value = signal(1.5, random_.chance(0.5));
    const std::string place = random_.chance(0.3) ? "a0" : top;
    add("v", "electrical.voltage_source", {{"p", place}, {"n", "datum"}}, {{"V", quoted(value)}});
    if (place != top) add("r", "electrical.resistor", {{"p", place}, {"n", top}}, {{"R", positive()}});
  }

  void series(const std::string& a, const std::string& b) {
    const std::string middle = name("m");
    const int choice = random_.below(6);
    switch (met_ && choice >= 1 && choice <= 3 ? 5 : choice) {
      case 0:
        add("d", "electrical.diode", {{"p", a}, {"n", middle}}, {{"Rs", "0.1"}});
        add("r", "electrical.resistor", {{"p", middle}, {"n", b}}, {{"R", positive()}});
        break;
      case 1:
        add("d", "electrical.ideal_diode", {{"p", a}, {"n", middle}},
            {{"Vf", number_text(random_.between(0, 0.7))}, {"Ron", "0.05"}, {"Roff", "1e3"}});
        add("r", "electrical.resistor", {{"p", middle}, {"n", b}}, {{"R", positive()}});
        break;
      case 2: {
        add("r", "electrical.resistor", {{"p", a}, {"n", middle}}, {{"R", positive()}});
        const std::string c = name("c");
        add("w", "electrical.switch", {{"cp", c}, {"cn", "datum"}, {"p", middle}, {"n", b}},
            {{"Vt", number_text(random_.between(-0.5, 0.5))},
             {"Vh", number_text(random_.between(0.05, 0.3))},
             {"Ron", "0.1"},
             {"Roff", "100"}});
        add("v", "electrical.voltage_source", {{"p", c}, {"n", "datum"}}, {{"V", quoted(sine())}});
        break;
      }
      case 3:
        add("r", "electrical.resistor", {{"p", a}, {"n", b}},
            {{"R", quoted("if(" + b + ".v > " + number_text(random_.between(0.2, 1.5)) + ", " +
                          number_text(random_.logarithmic(0.3, 3)) + ", " +
                          number_text(random_.logarithmic(0.3, 3)) + ")")}});
        break;
      case 4:
        add("r", "electrical.resistor", {{"p", a}, {"n", middle}}, {{"R", positive()}});
        add("l", "electrical.inductor", {{"p", middle}, {"n", b}}, {{"L", positive(0.2)}, {"i0", "0"}});
        states_.push_back(draft.parts.back().name + ".i");
        break;
      default:
        add("r", "electrical.resistor", {{"p", a}, {"n", b}}, {{"R", positive()}});
    }
  }

  void load(const std::string& x) {
    add("c", "electrical.capacitor", {{"p", x}, {"n", "datum"}},
        {{"C", positive(0.2)}, {"v0", number_text(random_.between(-1, 1))}});
    if (random_.chance(0.6))
      add("r", "electrical.resistor", {{"p", x}, {"n", "datum"}}, {{"R", positive(2)}});
    if (random_.chance(0.2))
      add("i", "electrical.current_source", {{"p", "datum"}, {"n", x}},
          {{"I", quoted(number_text(random_.between(0.2, 1)) + "*" +
                        random_.pick(std::vector<std::string>{
                            "max(" + x + ".v, 0.2)", "min(" + x + ".v, 0.5)", "abs(" + x + ".v - 0.3)"}) +
                        "*(-1)")}});
  }

  // `decides`: of a comparator, whose events it makes.
  std::string input(bool decides) {
    if (!discrete_.empty() && random_.chance(decides && met_ ? 0.6 : 0.3)) {  // one event makes another
      const std::string follows = number_text(random_.between(0.5, 1.5), 2) + "*" + random_.pick(discrete_);
      if (decides && (met_ || random_.chance(0.3))) return follows;
      return follows + " - 0.3*" + random_.pick(states_);
    }
    switch (random_.below(decides && met_ ? 2 : 5)) {
      case 0:
        return number_text(random_.between(0.7, 1.3)) + "*t";
      case 1:
        return sine();
      case 2:
        return random_.pick(states_) + " + 0.5*" + sine();
      default:
        return random_.pick(states_);
    }
  }

  // A discrete signal; returns the name of its output.
  std::string box() {
    switch (random_.below(6)) {
      case 0:
      case 1: {
        const double upper = random_.between(0.1, 1.2);
        // More digits than values have: what rests exactly at a threshold, rounding decides.
        Part& k = add("k", "signals.comparator", {},
                      {{"u", quoted(input(true))},
                       {"upper", number_text(upper, 7)},
                       {"lower", number_text(upper - random_.between(0.05, 0.6), 7)}});
        return k.name + ".y";
      }
      case 2: {
        Part& k = add("h", "signals.sample_hold", {}, {{"u", quoted(input(false))}, {"period", period()}});
        return k.name + ".y";
      }
      case 3: {
        const std::string u =
            random_.chance(0.6) ? number_text(random_.between(0.1, 0.9)) : quoted("0.5 + 0.3*" + sine());
        Part& k = add("w", "signals.pwm", {}, {{"u", u}, {"period", period()}});
        return k.name + ".y";
      }
      case 4: {
        Part& k = add("d", "signals.unit_delay", {},
                      {{"u", quoted(input(false))}, {"period", period()}, {"y0", "0.3"}});
        return k.name + ".y";
      }
      default: {
        Part& k = add("q", "signals.sampled_pi", {},
                      {{"u", quoted("0.8 - " + random_.pick(states_))},
                       {"period", period()},
                       {"k", number_text(random_.between(0.2, 1))},
                       {"Ti", number_text(random_.between(0.2, 1))},
                       {"low", "-2"},
                       {"high", "2"}});
        return k.name + ".y";
      }
    }
  }
  std::string period() {
    return met_ || random_.chance(0.5) ? random_.pick(std::vector<std::string>{"0.1", "0.05", "0.2", "0.125"})
                                       : number_text(random_.between(0.06, 0.3));
  }

  void act(const std::string& d) {
    const std::string x = random_.pick(states_);
    const std::string node = "b" + std::to_string(1);
    const std::string choice =
        random_.chance(0.5) ? "if(" + d + " > 0.5, " + number_text(random_.between(0.5, 3)) + ", " +
                                  number_text(random_.between(-1, 1)) + ")"
                            : number_text(random_.between(0.3, 2)) + "*" + d +
                                  (random_.chance(0.4) ? " + " + number_text(random_.between(-1, 1)) : "");
    switch (random_.below(5)) {
      case 0: {  // a source of its own behind a resistor
        const std::string top = name("e");
        add("v", "electrical.voltage_source", {{"p", top}, {"n", "datum"}}, {{"V", quoted(choice)}});
        add("r", "electrical.resistor", {{"p", top}, {"n", node}}, {{"R", positive()}});
        break;
      }
      case 1:
        add("r", "electrical.resistor", {{"p", node}, {"n", "datum"}},
            {{"R", quoted("if(" + d + " > 0.5, " + number_text(random_.logarithmic(0.3, 1)) + ", " +
                          number_text(random_.logarithmic(1, 5)) + ")")}});
        break;
      case 2: {
        Part& f =
            add("f", "signals.first_order", {}, {{"u", quoted(choice)}, {"T", positive(0.2)}, {"y0", "0"}});
        states_.push_back(f.name + ".y");
        break;
      }
      case 3: {
        Part& f = add("g", "signals.integrator", {}, {{"u", quoted(choice)}, {"y0", "0.1"}});
        states_.push_back(f.name + ".y");
        break;
      }
      default: {
        // a thermostat's heater
        add("q", "thermal.heat_source", {{"p", "datum"}, {"n", "h"}}, {{"Q", quoted(choice)}});
        if (count_["hc"]++ == 0) {
          add("c", "thermal.capacitor", {{"p", "h"}, {"n", "datum"}}, {{"C", positive(0.3)}, {"T0", "1"}});
          add("r", "thermal.resistor", {{"p", "h"}, {"n", "datum"}}, {{"R", positive()}});
          states_.push_back("h.T");
        }
      }
    }
  }
};

// Numbers of components become parameters; ends move, objectives of every kind.
void parametrise(Random& random, Draft& draft) {
  int count = 0;
  for (Part& part : draft.parts)
    for (auto& [key, value] : part.values) {
      const bool plain = value.find_first_not_of("0123456789.+-e") == std::string::npos;
      if (!plain || key == "Ron" || key == "Roff" || key == "Rs" || key == "period" || !random.chance(0.5))
        continue;
      const std::string name = "q" + std::to_string(++count);
      draft.parameters.emplace_back(name, value);
      value = quoted(name);
    }
  if (random.chance(0.4)) {  // a parameter that is zero, and one in two places
    for (Part& part : draft.parts)
      for (auto& [key, value] : part.values)
        if (key == "V" && value.front() == '"' && count >= 0) {
          draft.parameters.emplace_back("z", "0");
          value.insert(value.size() - 1, " + z");
          count = -1;
        }
  }
}

}  // namespace

Draft derivative_draft(Random& random) {
  Draft draft = random.chance(0.25) ? LinearBuilder(random).build() : EventBuilder(random).build(true);
  parametrise(random, draft);
  if (draft.parameters.empty()) draft.parameters.emplace_back("unused", "1");
  const std::string state = random.pick(draft.outputs);
  if (random.chance(0.4)) draft.objectives.emplace_back("m", "{ maximum = " + quoted(state) + " }");
  if (random.chance(0.2)) draft.objectives.emplace_back("n", "{ minimum = " + quoted(state) + " }");
  if (random.chance(0.3))
    draft.objectives.emplace_back(
        "w", "{ time_when = " + quoted(state + " > " + number_text(random.between(0.2, 1), 2)) + " }");
  if (random.chance(0.2))
    draft.simulation.emplace_back("stop_when",
                                  quoted(state + " > " + number_text(random.between(0.2, 1.2), 2)));
  else if (random.chance(0.25)) {
    const auto& [name, value] = random.pick(draft.parameters);
    const double number = std::atof(value.c_str());
    if (number > 0.05 && number < 20)
      draft.simulation[0].second = quoted(number_text(0.8 / number) + "*" + name);
  }
  return draft;
}

// Thermal or electrical ladders of which every storage element is a state; sensors, an input, an unknown
// source.
Draft filter_draft(Random& random) {
  Draft draft;
  const bool thermal = random.chance(0.6);
  const std::string domain = thermal ? "thermal" : "electrical", across = thermal ? "T" : "v";
  const int cells = random.range(1, 4);
  std::string last = "datum";
  const auto add = [&](const std::string& name, const std::string& kind, Fields ports, Fields values) {
    draft.parts.push_back({name, domain + "." + kind, std::move(ports), std::move(values)});
  };
  const auto positive = [&] { return number_text(random.logarithmic(0.3, 3)); };
  for (int k = 1; k <= cells; ++k) {
    const std::string n = "n" + std::to_string(k), i = std::to_string(k);
    draft.parameters.emplace_back("R" + i, positive());
    draft.parameters.emplace_back("C" + i, positive());
    add("r" + i, "resistor", {{"p", n}, {"n", last}}, {{"R", quoted("R" + i)}});
    add("c" + i, "capacitor", {{"p", n}, {"n", "datum"}},
        {{"C", quoted("C" + i)}, {thermal ? "T0" : "v0", number_text(random.between(-2, 4))}});
    draft.estimate.emplace_back("c" + i + (thermal ? ".dT" : ".v"),
                                "{ deviation = " + positive() + ", noise = " + positive() + " }");
    last = n;
  }
  draft.inputs.emplace_back("u", "1");
  draft.parameters.emplace_back("Q0", positive());
  const std::string source = thermal ? "heat_source" : "current_source", key = thermal ? "Q" : "I";
  add("s1", source, {{"p", "datum"}, {"n", last}}, {{key, quoted("u")}});
  add("s2", source, {{"p", "datum"}, {"n", "n1"}}, {{key, quoted("Q0")}});
  const int sensors = random.range(1, 2);
  for (int k = 0; k < sensors; ++k)
    draft.sensors.emplace_back(
        "y" + std::to_string(k + 1),
        "{ measures = " +
            quoted(random.chance(0.7) ? "n" + std::to_string(random.range(1, cells)) + "." + across
                                      : std::string("r1.") + (thermal ? "Q" : "i")) +
            ", noise = " + number_text(random.logarithmic(0.05, 1)) + " }");
  if (random.chance(0.5))
    draft.unknowns.emplace_back("Q0", "{ deviation = 1, coordinate = \"value\", walk = " + positive() + " }");
  draft.simulation = {{"stop", "1"}, {"step", "0.05"}};
  draft.seed = random.bits();
  return draft;
}

Draft linear_draft(Random& random) { return LinearBuilder(random).build(); }
Draft event_draft(Random& random) { return EventBuilder(random).build(random.chance(0.5)); }

}  // namespace differential
