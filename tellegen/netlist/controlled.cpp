// E, G, F, H and B: sources whose value depends on what the circuit does.
#include <fmt/format.h>

#include <algorithm>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

// The words by which a formula is announced: `value={...}`, `vol='...'`, `cur=...`.
bool announces(const Field& field) {
  return field.is("value") || field.is("vol") || field.is("cur") || field.is("v") || field.is("i");
}

// What stands behind the first `=` that follows the word, or behind the word itself.
std::string text_after(const std::string& card, const std::string& word) {
  std::size_t at = 0;
  for (;;) {
    at = card.find(word, at);
    if (at == std::string::npos) return "";
    const bool alone = at > 0 && (card[at - 1] == ' ' || card[at - 1] == '\t');
    std::size_t end = at + word.size();
    while (end < card.size() && (card[end] == ' ' || card[end] == '\t')) ++end;
    // PSpice's `value 2*v(a)` needs no sign.
    if (alone && end < card.size() &&
        (std::string_view("={'(").find(card[end]) != std::string_view::npos || word == "value"))
      return card.substr(end + (card[end] == '='));
    at += word.size();
  }
}

}  // namespace

bool Translation::is_linear(const Item& item) const {
  const auto& fields = item.fields;
  return fields.size() > 3 && !fields[3].is("poly") && !fields[3].is("table") && !announces(fields[3]);
}

void Translation::write_source(const Item& item, bool voltage, const Formula& value) {
  ComponentText text = component(item, voltage ? "electrical.voltage_source" : "electrical.current_source");
  text.port("p", node(item, 1));
  text.port("n", node(item, 2));
  const Formula many = voltage ? number_formula(1.0) : parallel(*item.element.at);
  text.value(voltage ? "V" : "I", many.text == "1" ? without_unit(value) : multiply(many, value));
  write(text, item);
}

void Translation::controlled(const Item& item) {
  const bool voltage = item.element.letter() == 'e';
  need(item, 4,
       fmt::format("{0} node node control control gain, or {0} node node value={{...}}", item.element.name));
  const auto& fields = item.fields;
  if (announces(fields[3]))
    return write_source(item, voltage, formula(item, text_after(item.element.card->text, fields[3].text)));
  if (fields[3].is("poly")) {
    need(item, 8, fmt::format("{} node node poly(n) control control ... coefficient ...", item.element.name));
    const auto order = read_number(fields[5].text);
    if (fields[4].type != Field::Type::open || !order || *order < 1 || *order != static_cast<int>(*order))
      fault(item, "T502", "poly needs the number of its variables: poly(2)");
    const auto variables = static_cast<std::size_t>(*order);
    std::vector<Field> nodes;
    for (std::size_t k = 7; k < fields.size(); ++k)
      if (fields[k].is_value()) nodes.push_back(fields[k]);
    if (nodes.size() < 2 * variables + 1)
      fault(item, "T502",
            fmt::format("poly({}) of '{}' needs {} nodes and coefficients", variables, item.element.name,
                        2 * variables));
    Item flat{item.element, nodes};
    std::vector<Formula> x;
    for (std::size_t k = 0; k < variables; ++k) x.push_back(controlling_voltage(flat, 2 * k));
    return write_source(item, voltage, polynomial(flat, x, 2 * variables));
  }
  if (fields[3].is("table")) return write_source(item, voltage, table(item, 4));
  std::vector<Field> plain;  // e1 p n (a, b) 10 is as good as without brackets
  for (const Field& field : fields)
    if (field.is_value()) plain.push_back(field);
  if (plain.size() != 6)
    fault(item, "T502", fmt::format("'{}' is not complete, or has too much", item.element.name),
          {fmt::format("it is written: {} node node control control gain", item.element.name)});
  const Item flat{item.element, plain};
  for (const std::size_t k : {3u, 4u})
    controlling_voltage(Item{item.element, {plain[k], {Field::Type::word, "0"}}}, 0);
  ComponentText text = component(item, voltage ? "electrical.vcvs" : "electrical.vccs");
  text.port("p", node(flat, 1));
  text.port("n", node(flat, 2));
  text.port("cp", node(flat, 3));
  text.port("cn", node(flat, 4));
  text.value(voltage ? "A" : "G", formula(item, plain[5].text));
  write(text, item);
}

void Translation::current_controlled(const Item& item) {
  const bool voltage = item.element.letter() == 'h';
  need(item, 5, fmt::format("{} node node vsource gain", item.element.name));
  const auto& fields = item.fields;
  if (fields[3].is("poly")) {
    const auto order = fields.size() > 6 ? read_number(fields[5].text) : std::nullopt;
    if (!order || fields[4].type != Field::Type::open || *order < 1 || *order != static_cast<int>(*order))
      fault(item, "T502", "poly needs the number of its variables: poly(2)");
    const auto variables = static_cast<std::size_t>(*order);
    std::vector<Field> rest;
    for (std::size_t k = 7; k < fields.size(); ++k)
      if (fields[k].is_value()) rest.push_back(fields[k]);
    if (rest.size() < variables + 1)
      fault(item, "T502",
            fmt::format("poly({}) of '{}' needs {} sources and coefficients", variables, item.element.name,
                        variables));
    const Item flat{item.element, rest};
    std::vector<Formula> x;
    for (std::size_t k = 0; k < variables; ++k) x.push_back(controlling_current(flat, k));
    return write_source(item, voltage, polynomial(flat, x, variables));
  }
  if (fields.size() != 5)
    fault(item, "T502", fmt::format("'{}' has too much", item.element.name),
          {fmt::format("it is written: {} node node vsource gain", item.element.name)});
  write_source(item, voltage, multiply(formula(item, fields[4].text), controlling_current(item, 3)));
}

void Translation::behavioural(const Item& item) {
  need(item, 5, fmt::format("{0} node node v=expression, or {0} node node i=expression", item.element.name));
  const Field& what = item.fields[3];
  if (!what.is("v") && !what.is("i"))
    fault(item, "T502", fmt::format("'{}' needs v=expression or i=expression", item.element.name));
  write_source(item, what.is("v"), formula(item, text_after(item.element.card->text, what.text)));
}

// The terms of SPICE's POLY: 1, each variable, then the products of two, of three, ..., each variable of a
// product not before the last one. A single coefficient of one variable is its gain.
Formula Translation::polynomial(const Item& item, const std::vector<Formula>& variables, std::size_t first) {
  std::vector<Formula> coefficients;
  for (std::size_t k = first; k < item.fields.size(); ++k)
    coefficients.push_back(formula(item, item.fields[k].text));
  if (variables.size() == 1 && coefficients.size() == 1) return multiply(coefficients[0], variables[0]);
  Formula result = number_formula(0.0);
  std::vector<std::vector<std::size_t>> products{{}};
  std::size_t next = 0;
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    if (next == products.size()) {  // one degree more
      std::vector<std::vector<std::size_t>> longer;
      for (const auto& product : products)
        for (std::size_t v = product.empty() ? 0 : product.back(); v < variables.size(); ++v) {
          longer.push_back(product);
          longer.back().push_back(v);
        }
      products = std::move(longer);
      next = 0;
    }
    Formula term = coefficients[k];
    for (const std::size_t v : products[next]) term = multiply(term, variables[v]);
    ++next;
    if (coefficients[k].text != "0") result = add(result, term);
  }
  return result;
}

// table {expression} = (x, y) (x, y) ...
Formula Translation::table(const Item& item, std::size_t first) {
  const auto& fields = item.fields;
  std::string of;
  std::size_t next = first + 1;
  if (first < fields.size() && fields[first].type == Field::Type::expression) {
    of = fields[first].text;
  } else {  // table v(1) = (x, y) ...
    const std::string& text = item.element.card->text;
    const auto begin = text.find("table") + 5, end = text.find('=', begin);
    for (next = first; next < fields.size() && fields[next].type != Field::Type::equals;) ++next;
    if (end == std::string::npos)
      fault(item, "T502", fmt::format("'{}' needs an expression in braces after table", item.element.name));
    of = text.substr(begin, end - begin);
  }
  const Formula x = formula(item, of);
  std::vector<Formula> values;
  for (std::size_t k = next; k < fields.size(); ++k)
    if (fields[k].is_value()) values.push_back(constant(item, fields[k].text));
  if (values.size() < 4 || values.size() % 2 != 0)
    fault(item, "T502", fmt::format("the table of '{}' needs pairs: (x, y) (x, y)", item.element.name));
  std::vector<std::pair<Formula, Formula>> points;
  for (std::size_t k = 0; k < values.size(); k += 2) points.emplace_back(values[k], values[k + 1]);
  for (std::size_t k = 0; k + 1 < points.size(); ++k)
    if (!(names_.number(points[k].first, item.place()) < names_.number(points[k + 1].first, item.place())))
      fault(item, "T508", fmt::format("the table of '{}' does not increase", item.element.name));
  return piecewise(x, points, Outside::hold);
}

}  // namespace tellegen
