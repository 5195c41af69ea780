// With uic every capacitor begins at a voltage of its own. Where capacitors and voltage sources form circuits
// these may contradict each other; as in SPICE's first step charge then flows at once, and what nodes hold is
// kept: the sum of C*(v - v0) at a node is zero. What controlled sources give is not known here: of
// capacitors that form circuits with these the large ones begin where they say, and the smallest of each
// circuit follows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/potentials.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr std::string_view waveforms[] = {"sin", "sine", "pulse", "pwl", "exp", "sffm", "am"};

struct Charge {
  const Element* element;
  std::size_t a, b;
  double capacitance, voltage;
};

// Potentials of roots so that the sum of C*(v - v0) vanishes at each of them; conjugate gradients on the
// capacitances. Those of `fixed` stay at zero.
std::vector<double> shared(const Potentials& nodes, const std::vector<Charge>& charges,
                           const std::vector<bool>& fixed) {
  const std::size_t n = nodes.size();
  const auto current = [&](const std::vector<double>& phi, bool with_charges) {
    std::vector<double> sum(n, 0.0);
    for (const Charge& c : charges) {
      const auto a = nodes.of(c.a), b = nodes.of(c.b);
      double v = phi[a.root] - phi[b.root];
      if (with_charges) v += a.above - b.above - c.voltage;
      sum[a.root] += c.capacitance * v;
      sum[b.root] -= c.capacitance * v;
    }
    for (std::size_t k = 0; k < n; ++k)
      if (fixed[k]) sum[k] = 0.0;
    return sum;
  };
  const auto product = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += x[k] * y[k];
    return sum;
  };
  std::vector<double> around(n, 0.0);  // the capacitances at a root: they differ by many powers of ten
  for (const Charge& c : charges)
    for (const std::size_t k : {nodes.of(c.a).root, nodes.of(c.b).root}) around[k] += c.capacitance;
  const auto scaled = [&](std::vector<double> x) {
    for (std::size_t k = 0; k < n; ++k) x[k] = around[k] > 0.0 ? x[k] / around[k] : 0.0;
    return x;
  };
  std::vector<double> phi(n, 0.0), rest = current(phi, true);
  for (double& r : rest) r = -r;
  std::vector<double> along = scaled(rest);
  double size = product(rest, along);
  const double small = 1e-28 * size;
  for (std::size_t k = 0; k < 4 * n + 50 && size > small; ++k) {
    const std::vector<double> image = current(along, false);
    const double stride = size / product(along, image);
    if (!std::isfinite(stride)) break;
    for (std::size_t j = 0; j < n; ++j) phi[j] += stride * along[j], rest[j] -= stride * image[j];
    const std::vector<double> direction = scaled(rest);
    const double next = product(rest, direction);
    for (std::size_t j = 0; j < n; ++j) along[j] = direction[j] + next / size * along[j];
    size = next;
  }
  return phi;
}

}  // namespace

// Of an independent voltage source just before the run; nothing where that is not a plain number.
std::optional<double> Translation::source_start(const Item& item) {
  const auto& fields = item.fields;
  double level = 0.0;
  for (std::size_t k = 3; k < fields.size(); ++k) {
    if (fields[k].is("ac") || fields[k].is("distof1") || fields[k].is("distof2")) break;
    if (fields[k].type == Field::Type::word && is_one_of(fields[k].text, waveforms)) {
      std::vector<double> values;
      for (std::size_t n = k + 1; n < fields.size() && values.size() < 6; ++n) {
        if (fields[n].is("file") || fields[n].is("dc")) break;
        if (fields[n].is_value())
          values.push_back(names_.number(constant(item, fields[n].text), item.place()));
      }
      const std::string& shape = fields[k].text;
      if (values.size() < 2) return std::nullopt;
      if (shape == "pwl") return values[1];
      if (shape == "am") return 0.0;
      const bool phase = shape.starts_with("sin") && values.size() > 5 && values[3] <= 0.0;
      return values[0] + (phase ? values[1] * std::sin(values[5] * std::acos(-1.0) / 180.0) : 0.0);
    }
    if (!fields[k].is_value() || fields[k].is("dc")) continue;
    const Formula value = formula(item, fields[k].text);
    if (value.varies) return std::nullopt;
    level = names_.number(value, item.place());
  }
  return run_.startup ? 0.0 : level;
}

void Translation::share_charges() {
  if (!run_.uic) return;
  Potentials nodes;
  nodes.index("0");
  std::vector<Charge> charges;
  std::vector<std::size_t> unknown;  // where controlled sources end
  std::vector<std::pair<std::size_t, std::size_t>> controlled;
  const auto add = [&](const Element& element) {
    const char letter = element.letter();
    if (std::string_view("cvehb").find(letter) == std::string_view::npos) return;
    const Item item = item_of(element);
    if (item.fields.size() < (letter == 'v' ? 3u : 4u)) return;
    if (letter == 'b' && !item.fields[3].is("v")) return;
    const std::size_t a = nodes.index(element.at->node(item.fields[1].text));
    const std::size_t b = nodes.index(element.at->node(item.fields[2].text));
    const bool resistive = std::any_of(item.fields.begin() + 3, item.fields.end(),
                                       [](const Field& field) { return field.is("rser"); });
    if (resistive) return;
    if (letter == 'v') {
      if (const auto value = source_start(item)) {
        nodes.fix(a, b, *value);
        return;
      }
    }
    if (letter != 'c') {
      unknown.insert(unknown.end(), {a, b});
      controlled.push_back({a, b});
      return;
    }
    std::vector<KeyValue> options;
    const Formula value = passive_value(item, options, "c");
    if (value.varies) {
      unknown.insert(unknown.end(), {a, b});
      return;
    }
    double start = node_start(item, 1) - node_start(item, 2);
    for (const KeyValue& option : options)
      if (option.name == "ic") start = names_.number(constant(item, option.text), item.place());
    const double capacitance = names_.number(value, item.place());
    if (capacitance > 0.0) charges.push_back({&element, a, b, capacitance, start});
  };
  for (const Element& element : flat_.elements) {
    try {
      add(element);
    } catch (const ModelError&) {
      // What is wrong with it is said where it is translated.
    }
  }
  // Parts that capacitors join; in each one root stays where it is: ground's, where it has it.
  std::vector<std::size_t> part(nodes.size());
  for (std::size_t k = 0; k < part.size(); ++k) part[k] = nodes.of(k).root;
  const auto first = [&](std::size_t k) {
    while (part[k] != k) k = part[k];
    return k;
  };
  for (const Charge& c : charges) {
    const std::size_t a = first(c.a), b = first(c.b);
    part[std::max(a, b)] = std::min(a, b);
  }
  std::vector<bool> fixed(nodes.size(), true), left_alone(nodes.size(), false);
  for (std::size_t k = 0; k < nodes.size(); ++k) fixed[k] = nodes.of(k).root != k || first(k) == k;
  for (const std::size_t k : unknown)
    if (k != 0) left_alone[first(k)] = true;
  const std::vector<double> phi = shared(nodes, charges, fixed);
  const auto potential = [&](std::size_t k) { return phi[nodes.of(k).root] + nodes.of(k).above; };
  std::string named;
  for (const Charge& c : charges) {
    const double voltage = potential(c.a) - potential(c.b);
    const std::size_t of = first(c.a);
    if (left_alone[of]) continue;
    if (std::abs(voltage - c.voltage) <= 1e-9 * (std::abs(voltage) + std::abs(c.voltage)) + 1e-12) continue;
    charged_[c.element->name] = voltage;
    if (charged_.size() <= most_named)
      named += fmt::format("{}'{}' at {:g} V (not {:g})", named.empty() ? "" : ", ", c.element->name, voltage,
                           c.voltage);
  }
  if (!charged_.empty())
    note(run_.place,
         fmt::format(
             "with uic capacitors begin with the charge that they share with others and with "
             "sources: {}{}",
             named,
             charged_.size() > most_named ? fmt::format(" and {} more", charged_.size() - most_named) : ""));
  for (std::size_t k = 0; k < nodes.size(); ++k)
    if (first(k) == 0 && !left_alone[0]) settled_[nodes.name(k)] = potential(k);

  // A spanning tree of sources and capacitors, the largest first.
  std::vector<std::size_t> joined(nodes.size());
  for (std::size_t k = 0; k < joined.size(); ++k) joined[k] = nodes.of(k).root;
  const auto end = [&](std::size_t k) {
    while (joined[k] != k) k = joined[k];
    return k;
  };
  for (const auto& [a, b] : controlled) joined[end(a)] = end(b);
  std::vector<const Charge*> by_size;
  for (const Charge& c : charges) by_size.push_back(&c);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const Charge* a, const Charge* b) { return a->capacitance > b->capacitance; });
  std::set<std::size_t> with_circuits;
  std::vector<const Charge*> tree;
  for (const Charge* c : by_size) {
    if (!left_alone[first(c->a)]) continue;
    if (end(c->a) == end(c->b)) {
      with_circuits.insert(first(c->a));
      following_.insert(c->element->name);
    } else {
      joined[end(c->a)] = end(c->b);
      tree.push_back(c);
    }
  }
  for (const Charge* c : tree)
    if (with_circuits.contains(first(c->a))) beginning_[c->element->name] = c->voltage;
}

}  // namespace tellegen
