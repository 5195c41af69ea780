#include "tellegen/netlist/circuit.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/reading.h"
#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"

namespace tellegen {
namespace {

constexpr std::size_t deepest_definition = 100;
constexpr std::string_view parameter_words[] = {".param", ".parameter", ".parameters", ".params",
                                                ".global_param"};

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" \t")); }

std::string_view rest_of(const std::string& text) {
  const auto blank = text.find_first_of(" \t");
  return blank == std::string::npos ? std::string_view() : std::string_view(text).substr(blank + 1);
}

class Sorter {
 public:
  explicit Sorter(std::vector<NetlistNote>& notes)
      : top_(std::make_unique<Netlist>()), at_(top_.get()), notes_(notes) {}

  std::unique_ptr<Netlist> sort(const Cards& cards) {
    for (const Card& card : cards.cards) {
      try {
        sort(card);
      } catch (const ModelError& error) {
        faults_.add(error);
      }
    }
    if (at_ != top_.get())
      faults_.add(at_->place, "T504", fmt::format("the subcircuit '{}' does not end", at_->name),
                  {"it ends with '.ends'"});
    faults_.throw_if_any();
    complete(*top_);
    define_stepped();
    return std::move(top_);
  }

 private:
  void sort(const Card& card) {
    const std::string word = first_word(card.text);
    if (word[0] != '.') {
      at_->elements.push_back(card);
    } else if (word == ".subckt") {
      begin_subcircuit(card);
    } else if (word == ".ends" || word == ".eom") {
      if (at_ == top_.get()) throw netlist_fault(card.place, "T504", ".ends without a .subckt");
      at_ = stack_.back();
      stack_.pop_back();
    } else if (is_one_of(word, parameter_words)) {
      for (const KeyValue& a : assignments_of(rest_of(card.text), card.place)) {
        // .param f(x) = x*2 defines a function, as .func does.
        if (a.name.find('(') != std::string::npos)
          function(a.name, a.text, card.place);
        else
          parameter(a, card.place);
      }
    } else if (word == ".func") {
      function(card);
    } else if (word == ".model") {
      model(card);
    } else if (word == ".ic" || word == ".nodeset" || word == ".initcond" || word == ".dcvolt") {
      at_->elements.push_back(card);
    } else {
      // Analyses and options hold for everything, wherever they stand.
      top_->directives.push_back(card);
    }
  }

  void begin_subcircuit(const Card& card) {
    std::vector<Field> fields = fields_of(card);
    std::string text = card.text;
    // "params:" may announce what follows.
    std::erase_if(fields, [](const Field& f) { return f.is("params:") || f.is("param:"); });
    const auto optional =
        std::find_if(fields.begin(), fields.end(), [](const Field& f) { return f.is("optional:"); });
    std::vector<KeyValue> nodes;
    if (optional != fields.end()) {  // optional: a=$g_dpwr b=...
      std::vector<Field> rest(optional + 1, fields.end());
      fields.erase(optional, fields.end());
      std::size_t k = 0;
      for (; k + 2 < rest.size() && rest[k + 1].type == Field::Type::equals &&
             rest[k + 2].text.starts_with("$");
           k += 3)
        nodes.push_back({rest[k].text, rest[k + 2].text});
      fields.insert(fields.end(), rest.begin() + static_cast<std::ptrdiff_t>(k), rest.end());
    }
    if (fields.size() < 2 || !fields[1].is_value())
      throw netlist_fault(card.place, "T504", ".subckt has no name");
    auto inner = std::make_unique<Netlist>();
    inner->name = fields[1].text;
    inner->parent = at_;
    inner->place = card.place;
    const auto given = take_assignments(fields);
    for (const KeyValue& a : given) inner->defaults[a.name] = {a.text, card.place};
    for (std::size_t k = 2; k < fields.size(); ++k) {
      if (fields[k].type == Field::Type::open || fields[k].type == Field::Type::close) continue;
      if (fields[k].type != Field::Type::word)
        throw netlist_fault(card.place, "T504",
                            fmt::format("'{}' cannot be a node of the subcircuit", fields[k].text),
                            {"nodes come first, then parameters as name=value"});
      inner->ports.push_back(fields[k].text);
    }
    for (const KeyValue& node : nodes) {
      inner->ports.push_back(node.name);
      inner->optional.push_back(node.text);
    }
    if (stack_.size() >= deepest_definition)
      throw netlist_fault(card.place, "T510", "subcircuits are defined too deep within each other");
    Netlist* circuit = inner.get();
    const auto [entry, fresh] = at_->subcircuits.try_emplace(inner->name, std::move(inner));
    if (!fresh) {
      // Sorted on, so that its .ends is not one too many.
      spare_.push_back(std::move(inner));
      repeated(card.place, "subcircuit", entry->first, entry->second->place);
    }
    stack_.push_back(at_);
    at_ = circuit;
  }

  void parameter(const KeyValue& a, const Place& place) {
    // As in ngspice the last one counts.
    if (at_->parameters.insert_or_assign(a.name, ParameterCard{a.text, place}).second)
      at_->parameter_order.push_back(a.name);
  }

  // .func f(a, b) {body}, .func f(a,b)='body'
  void function(const Card& card) {
    const std::string_view text = rest_of(card.text);
    const auto close = text.find(')');
    if (close == std::string_view::npos)
      throw netlist_fault(card.place, "T502", "a .func needs its arguments: .func f(x) {x*2}");
    std::string_view body = text.substr(close + 1);
    while (!body.empty() && (body.front() == ' ' || body.front() == '\t' || body.front() == '='))
      body.remove_prefix(1);
    function(std::string(text.substr(0, close + 1)), std::string(body), card.place);
  }

  void function(const std::string& head, const std::string& body, const Place& place) {
    FunctionCard card;
    card.place = place;
    card.body = body;
    const std::vector<Field> fields = fields_of({place, head, ""});
    if (fields.size() < 3 || fields[0].type != Field::Type::word || fields[1].type != Field::Type::open ||
        body.empty())
      throw netlist_fault(place, "T502", "a .func needs a name, arguments and a body: .func f(x) {x*2}");
    for (std::size_t k = 2; k + 1 < fields.size(); ++k) card.arguments.push_back(fields[k].text);
    at_->functions.insert_or_assign(fields[0].text, std::move(card));
  }

  void model(const Card& card) {
    std::vector<Field> fields = fields_of(card);
    if (fields.size() < 3 || fields[1].type != Field::Type::word || fields[2].type != Field::Type::word) {
      notes_.push_back({card.place, "left out: .model needs a name and a type: .model name d(is=1e-14)"});
      return;
    }
    ModelCard model;
    model.name = fields[1].text;
    model.type = fields[2].text;
    model.place = card.place;
    std::size_t first = 3;
    if (model.type.starts_with("ako:")) {  // a kind of another model: its values, and others after them
      model.like = model.type.substr(4);
      model.type.clear();
      if (model.like.empty() && fields.size() > 3) model.like = fields[first++].text;
      if (first < fields.size() && fields[first].type == Field::Type::word &&
          (first + 1 == fields.size() || fields[first + 1].type != Field::Type::equals))
        model.type = fields[first++].text;
    }
    for (std::size_t k = first; k < fields.size();) {
      if (fields[k].type == Field::Type::open || fields[k].type == Field::Type::close) {
        ++k;
      } else if (k + 2 < fields.size() && fields[k].type == Field::Type::word &&
                 fields[k + 1].type == Field::Type::equals && fields[k + 2].is_value()) {
        model.values.push_back({fields[k].text, fields[k + 2].text});
        k += 3;
      } else if (fields[k].type == Field::Type::word &&
                 (k + 1 == fields.size() || fields[k + 1].type != Field::Type::equals)) {
        // SPICE 2 has no sign between them: BF 20.
        const bool value = k + 1 < fields.size() && fields[k + 1].type == Field::Type::word &&
                           !read_number(fields[k].text) && read_number(fields[k + 1].text) &&
                           (k + 2 == fields.size() || fields[k + 2].type != Field::Type::equals);
        if (value) {
          model.values.push_back({fields[k].text, fields[k + 1].text});
          k += 2;
          continue;
        }
        model.flags.push_back(fields[k++].text);
      } else {
        model.wrong = netlist_fault(
            card.place, "T503",
            fmt::format("'{}' of the model '{}' is not a name and a value", fields[k].text, model.name),
            {"it is written name=value"});
        break;
      }
    }
    // As in ngspice the first one counts.
    const auto [entry, fresh] = at_->models.try_emplace(model.name, model);
    if (!fresh) repeated(card.place, "model", model.name, entry->second.place);
  }

  void repeated(const Place& place, std::string_view what, const std::string& name, const Place& first) {
    notes_.push_back(
        {place, fmt::format("there are two of the {} '{}': that of line {} of '{}' counts, as in ngspice",
                            what, name, first.line, first.file)});
  }

  // As in LTspice a parameter may have its values from .step alone; the first one is its own then.
  void define_stepped() {
    for (const Card& card : top_->directives) {
      if (first_word(card.text) != ".step") continue;
      const auto step = step_words(card);
      if (!step || !step->is_parameter || step->values.empty() || top_->parameters.contains(step->name))
        continue;
      top_->parameters[step->name] = {step->values[0], card.place};
      top_->parameter_order.push_back(step->name);
    }
  }

  // The values of a model that is a kind of another one.
  void complete(Netlist& circuit) {
    for (auto& [name, model] : circuit.models) complete(circuit, model, 0);
    for (auto& [name, inner] : circuit.subcircuits) complete(*inner);
  }

  void complete(Netlist& circuit, ModelCard& model, int depth) {
    if (model.like.empty() || model.wrong) return;
    for (Netlist* c = &circuit; c; c = const_cast<Netlist*>(c->parent))
      if (const auto found = c->models.find(model.like); found != c->models.end() && depth < 100) {
        if (&found->second == &model) continue;
        ModelCard& base = found->second;
        complete(*c, base, depth + 1);
        if (model.type.empty()) model.type = base.type;
        model.values.insert(model.values.begin(), base.values.begin(), base.values.end());
        model.flags.insert(model.flags.begin(), base.flags.begin(), base.flags.end());
        model.like.clear();
        return;
      }
    model.wrong = netlist_fault(
        model.place, "T503",
        fmt::format("there is no model '{}' that '{}' could be a kind of", model.like, model.name));
  }

  std::unique_ptr<Netlist> top_;
  Netlist* at_;
  std::vector<Netlist*> stack_;
  std::vector<std::unique_ptr<Netlist>> spare_;
  FaultList faults_;
  std::vector<NetlistNote>& notes_;
};

}  // namespace

std::unique_ptr<Netlist> sort_cards(Cards& cards) { return Sorter(cards.notes).sort(cards); }

}  // namespace tellegen
