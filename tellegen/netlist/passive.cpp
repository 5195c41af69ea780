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

constexpr std::string_view of_model[] = {
    "tc1", "tc2",   "tnom", "tce", "rsh",    "cj", "cjsw",  "defw",  "defl", "narrow", "short", "dw",
    "dlr", "level", "kf",   "af",  "bv_max", "di", "thick", "noisy", "lmin", "lmax",   "wmin",  "wmax"};
constexpr std::string_view of_element[] = {"tc1",  "tc2",   "tce",  "m",     "scale", "ic",
                                           "temp", "dtemp", "tnom", "noisy", "ac",    "l",
                                           "w",    "rser",  "rpar", "cpar",  "lser",  "tnom"};

const KeyValue* find(const std::vector<KeyValue>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& a) { return a.name == name; });
  return found == list.end() ? nullptr : &*found;
}

// What follows `key =` where that is a choice (a ? b : c) outside of braces and quotes; braces within it
// become brackets.
std::string bare_choice(const std::string& card, const std::string& key) {
  const auto equals = card.find('=');
  if (equals == std::string::npos) return "";
  const auto last = card.find_last_not_of(" \t", equals - 1);
  if (last == std::string::npos || last + 1 < key.size() ||
      card.compare(last + 1 - key.size(), key.size(), key) != 0)
    return "";
  std::string rest = card.substr(equals + 1);
  int depth = 0;
  bool choice = false;
  for (char& c : rest) {
    if (c == '\'') return "";
    choice = choice || (c == '?' && depth == 0);
    depth += (c == '{') - (c == '}');
    if (c == '{') c = '(';
    if (c == '}') c = ')';
  }
  return choice ? rest : "";
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
  // c = (v(a) < 5) ? 1n : 2n, without braces around it: an expression to the end of the line.
  const std::string bare = bare_choice(item.element.card->text, key);
  if (!bare.empty())
    for (std::size_t k = 3; k + 1 < fields.size(); ++k)
      if (fields[k].is(key) && fields[k + 1].type == Field::Type::equals) {
        fields.resize(k);
        options.push_back({key, bare});
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
        // PSpice's r of a model is a factor of the element's value; ngspice's stands where there is none.
        if (!value)
          value = formula(item, a.text);
        else if (names_.number(constant(item, a.text), model->place) != 1.0)
          note_once(model->place,
                    fmt::format("'{}' of the model '{}' has no effect where an element has a value", a.name,
                                model->name));
      } else if (a.name == "t_abs" || a.name == "t_measured") {
        options.push_back({a.name == "t_abs" ? "temp" : "tnom", a.text});
      } else if (!is_one_of(a.name, of_model)) {
        note_once(model->place, fmt::format("'{}' is not a parameter of {}: it has no effect, as in ngspice",
                                            a.name, model->type));
      }
    }
    if (!value && key != "l") value = from_geometry(item, options, *model, key == "r");
  }
  if (!value)
    fault(item, "T502", fmt::format("'{}' has no value", item.element.name),
          {fmt::format("it is written: {} node node value", item.element.name)});
  Formula result = multiply(*value, temperature_factor(item, options, model));
  Formula many = parallel(*item.element.at);
  if (const KeyValue* m = find(options, "m")) many = multiply(many, constant(item, m->text));
  if (many.text != "1") result = key == "c" ? multiply(result, many) : divide(result, many);
  if (const KeyValue* scale = find(options, "scale")) result = multiply(result, constant(item, scale->text));
  for (const KeyValue& a : options)
    if (a.name != key && !is_one_of(a.name, of_element))
      fault(item, "T502", fmt::format("'{}' has no '{}' here", item.element.name, a.name));
  return result;
}

// Of a model with a sheet resistance, or with capacitances per area and length; nothing where it has neither.
std::optional<Formula> Translation::from_geometry(const Item& item, const std::vector<KeyValue>& options,
                                                  const ModelCard& model, bool resistance) {
  const auto number = [&](std::string_view name, double otherwise) {
    double found = otherwise;
    for (const KeyValue& a : model.values)
      if (a.name == name) found = names_.number(constant(item, a.text), model.place);
    if (const KeyValue* given = find(options, name))
      found = names_.number(constant(item, given->text), item.place());
    return found;
  };
  const double narrow = number("narrow", number("dw", 0.0)), shorter = number("short", number("dlr", 0.0));
  const double l = number("l", number("defl", resistance ? 10e-6 : 0.0));
  const double w = number("w", number("defw", 10e-6));
  if (resistance) {
    const double sheet = number("rsh", 0.0);
    if (sheet == 0.0 || !find(options, "l")) return std::nullopt;
    return number_formula(sheet * (l - shorter) / (w - narrow));
  }
  const double area = number("cj", 0.0), side = number("cjsw", 0.0);
  if (!find(options, "l") || area + side == 0.0) return std::nullopt;
  return number_formula(area * (l - shorter) * (w - narrow) + 2.0 * side * (l - shorter + w - narrow));
}

// 1 + tc1*dT + tc2*dT^2, or 1.01^(tce*dT)
Formula Translation::temperature_factor(const Item& item, const std::vector<KeyValue>& options,
                                        const ModelCard* model) {
  Formula nominal = number_formula(run_.nominal), actual = number_formula(run_.celsius);
  std::map<std::string, Formula> coefficient;
  if (model)
    for (const KeyValue& a : model->values)
      if (a.name == "tnom" || a.name == "tc1" || a.name == "tc2" || a.name == "tce")
        (a.name == "tnom" ? nominal : coefficient[a.name]) = constant(item, a.text);
  for (const KeyValue& a : options)
    if (a.name == "temp")
      actual = constant(item, a.text);
    else if (a.name == "tnom")
      nominal = constant(item, a.text);
    else if (a.name == "dtemp")
      actual = add(actual, constant(item, a.text));
    else if (a.name == "tc1" || a.name == "tc2" || a.name == "tce")
      coefficient[a.name] = constant(item, a.text);
  const Formula above = number_formula(names_.number(subtract(actual, nominal), item.place()));
  Formula factor = number_formula(1.0);
  if (above.text == "0") return factor;
  if (coefficient.contains("tce"))
    return {fmt::format("1.01^({})", multiply(coefficient["tce"], above).text), Formula::power, false};
  if (coefficient.contains("tc1")) factor = add(factor, multiply(coefficient["tc1"], above));
  if (coefficient.contains("tc2")) factor = add(factor, multiply(coefficient["tc2"], multiply(above, above)));
  return factor;
}

void Translation::resistor(const Item& item) {
  std::vector<KeyValue> options;
  const Formula value = passive_value(item, options, "r");
  const double number = value.varies ? 1.0 : names_.size_of(value, item.place());
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
  const double number = value.varies ? 1.0 : names_.size_of(value, item.place());
  if (number == 0.0)  // a short circuit; nothing
    return write_source(item, inductor, number_formula(0.0));
  ComponentText text = component(item, inductor       ? "electrical.inductor"
                                       : number > 0.0 ? "electrical.capacitor"
                                                      : "electrical.negative_capacitor");
  text.port("p", behind_parasitics(item, options));
  text.port("n", node(item, 2));
  text.value(inductor ? "L" : "C", without_unit(value));
  const KeyValue* start = find(options, "ic");
  const std::string state = text.name + (inductor ? ".i" : ".v");
  if (!run_.uic) {
    if (start) note(item.place(), "ic= has no effect without uic in .tran");
    initial_.add(fmt::format("\"{}\" = \"steady\"", state), item.place());
  } else if (const auto shared = charged_.find(item.element.name); !inductor && shared != charged_.end()) {
    text.value("v0", number_formula(shared->second));
  } else if (const auto at = beginning_.find(item.element.name); !inductor && at != beginning_.end()) {
    initial_.add(fmt::format("\"{}\" = {}", state, number_text(at->second)), item.place());
  } else if (!inductor && following_.contains(item.element.name)) {  // begins as the others say
  } else if (start) {
    text.value(inductor ? "i0" : "v0", constant(item, start->text));
  } else if (const double v = node_start(item, 1) - node_start(item, 2); !inductor && v != 0.0) {
    text.value("v0", number_formula(v));
  }
  write(text, item);
}

// LTspice's rser, rpar and cpar of an inductor, a capacitor or a source: the node behind what is in series.
std::string Translation::behind_parasitics(const Item& item, const std::vector<KeyValue>& options) {
  const auto add = [&](const char* key, const char* kind, const char* parameter, const std::string& p,
                       const std::string& n) {
    const KeyValue* given = find(options, key);
    if (!given) return false;
    const Formula value = constant(item, given->text);
    if (names_.size_of(value, item.place()) == 0.0) return false;
    ComponentText beside{names_.extra_component(fmt::format("{}_{}", item.element.name, key)), kind, {}};
    beside.port("p", p);
    beside.port("n", n);
    beside.value(parameter, value);
    if (std::string_view(key) == "cpar" && !run_.uic)
      initial_.add(fmt::format("\"{}.v\" = \"steady\"", beside.name), item.place());
    write(beside, item);
    return true;
  };
  if (find(options, "lser"))
    fault(item, "T500", fmt::format("'lser' of '{}' is not supported", item.element.name));
  const std::string outer = node(item, 1);
  add("rpar", "electrical.resistor", "R", outer, node(item, 2));
  add("cpar", "electrical.capacitor", "C", outer, node(item, 2));
  if (!find(options, "rser")) return outer;
  const std::string inner = names_.extra_node(item.element.name + "_inner");
  return add("rser", "electrical.resistor", "R", outer, inner) ? inner : outer;
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
    if (const ModelCard* core = element.at->model(item.fields.back().text))
      fault(item, "T500",
            fmt::format("'{}' has a core, '{}' ({}), which is not supported", element.name, core->name,
                        core->type),
            {"without the model the inductors are coupled linearly"});
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
        std::erase_if(couplings_, [&](const Coupling& other) {
          const bool same = other.first == pair.first && other.second == pair.second;
          if (same)
            note(item.place(), fmt::format("'{}' and '{}' couple the same inductors: the last one counts",
                                           other.element->name, element.name));
          return same;
        });
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
  if (perfectly_coupled(members)) return;
  if (members.size() > 3 || tight(members)) return factored(members);
  if (members.size() == 3) {
    const double a = coupling(members[0], members[1]), b = coupling(members[0], members[2]),
                 c = coupling(members[1], members[2]);
    if (1.0 + 2.0 * a * b * c < a * a + b * b + c * c)
      fault(item, "T508",
            fmt::format("the couplings of '{}', '{}' and '{}' cannot be: their energy would be negative",
                        flat_.elements[members[0]].name, flat_.elements[members[1]].name,
                        flat_.elements[members[2]].name),
            {"a coupling that is not given is 0"});
  }
  ComponentText text = component(
      item, members.size() == 2 ? "electrical.coupled_inductors" : "electrical.coupled_inductors_3");
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Item inductor = item_of(flat_.elements[members[k]]);
    std::vector<KeyValue> options;
    const Formula value = passive_value(inductor, options, "l");
    const std::string number = std::to_string(k + 1);
    text.port("p" + number, behind_parasitics(inductor, options));
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

double Translation::coupling(std::size_t a, std::size_t b) {
  for (const Coupling& c : couplings_)
    if (c.first == std::min(a, b) && c.second == std::max(a, b))
      return names_.number(c.k, c.element->card->place);
  return 0.0;
}

// Whether some of the inductors are coupled perfectly: their matrix has no inverse then.
bool Translation::tight(const std::vector<std::size_t>& members) {
  for (const std::size_t a : members)
    for (const std::size_t b : members)
      if (a < b && std::abs(coupling(a, b)) >= 1.0 - 1e-9) return true;
  return false;
}

// Any number of windings: the matrix of inductances is A*transposed(A), A lower triangular. Each column of A
// is an inductor of 1 H on a node of its own, and a winding is a series of ideal transformers on these.
// Columns that are zero (perfect coupling) are left out.
void Translation::factored(const std::vector<std::size_t>& members) {
  const std::size_t n = members.size();
  std::vector<double> inductance(n), start(n, 0.0);
  std::vector<std::string> begin(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Item item = item_of(flat_.elements[members[k]]);
    std::vector<KeyValue> options;
    inductance[k] = names_.number(passive_value(item, options, "l"), item.place());
    begin[k] = behind_parasitics(item, options);
    if (const KeyValue* ic = find(options, "ic"))
      start[k] = names_.number(constant(item, ic->text), item.place());
  }
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0.0));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = j; k < n; ++k) {
      double rest =
          (j == k ? 1.0 : coupling(members[j], members[k])) * std::sqrt(inductance[j] * inductance[k]);
      for (std::size_t m = 0; m < j; ++m) rest -= a[k][m] * a[j][m];
      const double least = 1e-9 * std::sqrt(inductance[j] * inductance[k]);
      if (j == k && rest < -least)
        fault(item_of(flat_.elements[members[k]]), "T508",
              fmt::format("the couplings of '{}' cannot be: its energy would be negative",
                          flat_.elements[members[k]].name));
      if (j == k)
        a[k][j] = rest > least ? std::sqrt(rest) : 0.0;
      else if (a[j][j] > 0.0)
        a[k][j] = rest / a[j][j];
      else if (std::abs(rest) > least)
        fault(item_of(flat_.elements[members[k]]), "T508",
              fmt::format("the couplings of '{}' contradict each other", flat_.elements[members[k]].name));
    }
  std::vector<std::string> flux(n);
  for (std::size_t j = 0; j < n; ++j) {
    if (a[j][j] == 0.0) continue;
    const Item item = item_of(flat_.elements[members[j]]);
    ComponentText core{names_.extra_component(item.element.name + "_core"), "electrical.inductor", {}};
    flux[j] = names_.extra_node(item.element.name + "_flux");
    core.port("p", flux[j]);
    core.port("n", "datum");
    core.value("L", number_formula(1.0));
    double current = 0.0;
    for (std::size_t k = j; k < n; ++k) current += a[k][j] * start[k];
    if (!run_.uic)
      initial_.add(fmt::format("\"{}.i\" = \"steady\"", core.name), item.place());
    else if (current != 0.0)
      core.value("i0", number_formula(current));
    write(core, item);
  }
  for (std::size_t k = 0; k < n; ++k) {
    const Item item = item_of(flat_.elements[members[k]]);
    std::vector<std::size_t> columns;
    for (std::size_t j = 0; j <= k; ++j)
      if (a[k][j] != 0.0) columns.push_back(j);
    std::string from = begin[k];
    for (std::size_t m = 0; m < columns.size(); ++m) {
      const std::size_t j = columns[m];
      const bool last = m + 1 == columns.size();
      const std::string to =
          last ? node(item, 2) : names_.extra_node(fmt::format("{}_{}", item.element.name, m + 1));
      ComponentText transformer{names_.extra_component(fmt::format("{}_ideal{}", item.element.name, m + 1)),
                                "electrical.ideal_transformer",
                                {}};
      transformer.port("p1", flux[j]);
      transformer.port("n1", "datum");
      transformer.port("p2", from);
      transformer.port("n2", to);
      transformer.value("n", number_formula(1.0 / a[k][j]));
      write(transformer, item);
      if (m == 0) winding_of_[members[k]] = transformer.name + ".secondary.i";
      from = to;
    }
  }
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
  const std::string begin = behind_parasitics(first, options);
  ComponentText magnetising = component(first, "electrical.inductor");
  magnetising.port("p", begin);
  magnetising.port("n", node(first, 2));
  magnetising.value("L", inductance);
  Formula start = number_formula(0.0);
  if (const KeyValue* ic = find(options, "ic")) start = constant(first, ic->text);
  std::string current = magnetising.name + ".i";
  for (std::size_t k = 1; k < members.size(); ++k) {
    const Item other = item_of(flat_.elements[members[k]]);
    options.clear();
    const Formula ratio = divide(passive_value(other, options, "l"), inductance);
    const std::string of_other = behind_parasitics(other, options);
    const Formula turns{fmt::format("{}sqrt({})", sign[k] < 0.0 ? "-" : "", ratio.text),
                        sign[k] < 0.0 ? Formula::sign : Formula::atom, false};
    if (const KeyValue* ic = find(options, "ic"))
      start = add(start, multiply(constant(other, ic->text), turns));
    ComponentText transformer{
        names_.extra_component(other.element.name + "_ideal"), "electrical.ideal_transformer", {}};
    transformer.port("p1", begin);
    transformer.port("n1", node(first, 2));
    transformer.port("p2", of_other);
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
