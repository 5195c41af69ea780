// Parts of a circuit that nothing joins to ground. SPICE finds their potentials with gmin; here a conductance
// is written for each, and said.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

// Which nodes hang together: each leads to another of its part, the last one to itself.
class Parts {
 public:
  std::string of(const std::string& node) {
    std::string at = node;
    while (up_.try_emplace(at, at).first->second != at) at = up_[at];
    return up_[node] = at;
  }
  void join(const std::string& a, const std::string& b) {
    const std::string from = of(a), to = of(b);
    if (to == "0")
      up_[from] = to;
    else
      up_[to] = from;
  }

 private:
  std::map<std::string, std::string> up_;
};

// Whether an expression names the node, as a word of its own; ground is not looked for.
bool mentions(std::string_view text, const std::string& node) {
  if (node == "0") return false;
  const auto part_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = text.find(node); at != std::string_view::npos; at = text.find(node, at + 1)) {
    const auto end = at + node.size();
    if ((at == 0 || !part_of_word(text[at - 1])) && (end == text.size() || !part_of_word(text[end])))
      return true;
  }
  return false;
}

}  // namespace

// Nodes that independent voltage sources tie to node 0.
std::set<std::string> Translation::nodes_of_sources() const {
  Parts parts;
  parts.of("0");
  std::set<std::string> nodes, fixed;
  for (const Element& element : flat_.elements) {
    if (element.letter() != 'v') continue;
    const Item item = item_of(element);
    const std::string a = element.at->node(item.fields[1].text), b = element.at->node(item.fields[2].text);
    parts.join(a, b);
    nodes.insert({a, b});
  }
  for (const std::string& node : nodes)
    if (parts.of(node) == "0") fixed.insert(node);
  return fixed;
}

// Controlling terminals carry no current and join nothing; the two ends of a line are apart. Where the run
// begins steady, capacitors and gates carry none either. A current source decides no potential, unless it
// depends on that of its own nodes.
void Translation::hold_floating_parts() {
  Parts parts;
  parts.of("0");
  const bool steady = !run_.uic;
  for (const Element& element : flat_.elements) {
    const char letter = element.letter();
    if (letter == 'k') continue;
    const Item item = item_of(element);
    if (steady && (letter == 'c' || letter == 'i' || letter == 'f')) continue;
    const auto node = [&](std::size_t k) { return element.at->node(item.fields[k].text); };
    const bool current = letter == 'g' || (letter == 'b' && item.fields.size() > 3 && item.fields[3].is("i"));
    if (steady && current &&
        std::none_of(item.fields.begin() + 3, item.fields.end(), [&](const Field& field) {
          return mentions(field.text, item.fields[1].text) || mentions(field.text, item.fields[2].text);
        }))
      continue;
    const bool all = std::string_view("qmj").find(letter) != std::string_view::npos;
    const std::size_t last = all ? terminal_count(item) : 2;
    for (std::size_t k = 2; k <= last; ++k)
      if (!(steady && letter == 'm' && k == 2)) parts.join(node(1), node(k));
    if (letter == 't' || letter == 'o') parts.join(node(3), node(4));
    if (letter == 'q' && last == 3) parts.join(node(1), "0");  // by its substrate
  }
  std::map<std::string, std::vector<std::string>> floating;
  std::vector<std::string> order;
  for (const std::string& name : names_.nodes()) {
    const std::string part = parts.of(name);
    if (part == "0") continue;
    if (!floating.contains(part)) order.push_back(part);
    floating[part].push_back(name);
  }
  const double conductance = run_.gmin.value_or(1e-12);
  if (!(conductance > 0.0) || floating.empty()) return;
  const auto listed = [](const std::vector<std::string>& nodes) {
    std::string names;
    for (std::size_t k = 0; k < std::min(nodes.size(), most_named); ++k)
      names += fmt::format("{}'{}'", k ? ", " : "", nodes[k]);
    return nodes.size() > most_named ? names + fmt::format(" and {} more", nodes.size() - most_named) : names;
  };
  const auto hold = [&](const std::string& name, const std::string& p, const std::string& n, double siemens) {
    ComponentText resistor{names_.extra_component("hold_" + name), "electrical.resistor", {}};
    resistor.port("p", p);
    resistor.port("n", n);
    resistor.value("R", number_formula(1.0 / siemens));
    components_.add(resistor.line(), run_.place);
    return resistor.name;
  };

  // Parts that capacitors alone join to others: groups of them, and whether one leads to node 0.
  struct Capacitor {
    Item item;
    std::string a, b;  // parts
    double size;
  };
  std::vector<Capacitor> capacitors;
  Parts groups;
  std::set<std::string> reached;
  std::map<std::string, double> largest;
  if (steady)
    for (const Element& element : flat_.elements) {
      if (element.letter() != 'c') continue;
      const Item item = item_of(element);
      const std::string a = parts.of(element.at->node(item.fields[1].text)),
                        b = parts.of(element.at->node(item.fields[2].text));
      if (a == b) continue;
      std::vector<KeyValue> options;
      const Formula value = passive_value(item, options, "c");
      const double size = value.varies ? 0.0 : names_.number(value, item.place());
      if (!(size > 0.0)) continue;
      if (a != "0" && b != "0") groups.join(a, b);
      capacitors.push_back({item, a, b, size});
    }
  for (const Capacitor& c : capacitors)
    for (const std::string& part : {c.a, c.b}) {
      if (part == "0") continue;
      const std::string group = groups.of(part);
      if (c.a == "0" || c.b == "0") reached.insert(group);
      largest[group] = std::max(largest[group], c.size);
    }
  // Conductances in the ratio of the capacitances: the charges of such a part add up to zero at the start,
  // and nothing flows on when they move.
  for (const Capacitor& c : capacitors)
    if (const std::string group = groups.of(c.a == "0" ? c.b : c.a); reached.contains(group))
      hold(names_.element(c.item.element.name), node(c.item, 1), node(c.item, 2),
           conductance * c.size / largest[group]);
  for (const std::string& part : order) {
    const std::vector<std::string>& nodes = floating[part];
    if (reached.contains(groups.of(part))) {
      note(run_.place,
           fmt::format("capacitors alone join {} to node 0: conductances of up to {} S (gmin) beside "
                       "them hold {} where no charge has come",
                       listed(nodes), number_text(conductance), nodes.size() > 1 ? "them" : "it"));
      continue;
    }
    const std::string held = names_.node(nodes[0]);
    const std::string name = hold(held, held, "datum", conductance);
    note(run_.place, fmt::format("nothing joins {} to node 0: '{}' holds '{}' with {} S (gmin)",
                                 listed(nodes), name, nodes[0], number_text(conductance)));
  }
}

}  // namespace tellegen
