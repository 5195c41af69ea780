// .tran, .ic, .nodeset, .temp, .options, and what has no effect here.
#include <fmt/format.h>

#include <algorithm>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr std::string_view analyses[] = {".ac",   ".dc", ".op",    ".noise", ".tf",
                                         ".sens", ".pz", ".disto", ".sp",    ".pss"};
constexpr std::string_view reports[] = {".print",   ".plot", ".save",  ".probe", ".meas",
                                        ".measure", ".four", ".width", ".graph", ".backanno"};

}  // namespace

void Translation::read_directive(const Card& card) {
  const std::vector<Field> fields = fields_of(card);
  const std::string& word = fields[0].text;
  if (word == ".tran") return read_tran(card, fields);
  if (word == ".options" || word == ".option" || word == ".opt" || word == ".opts") return read_options(card);
  if (word == ".temp") {
    if (fields.size() != 2 || !fields[1].is_value())
      throw netlist_fault(card.place, "T502", ".temp takes one temperature, in degrees Celsius");
    run_.celsius = names_.number(names_.constant(fields[1].text, flat_.instances[0], card.place), card.place);
    return;
  }
  if (word == ".global" || word == ".title") return;
  if (word == ".csparam") return note(card.place, ".csparam has no effect: it is for .control blocks");
  if (is_one_of(word, analyses))
    return note(card.place, fmt::format("{} is not a transient analysis, skipped", word));
  if (is_one_of(word, reports))
    return note(card.place, fmt::format("{} has no effect: every voltage and current is an output", word));
  throw netlist_fault(card.place, "T501", fmt::format("the directive '{}' is not supported", word),
                      {"supported: .tran .ic .nodeset .param .func .model .subckt .ends .include .lib .temp "
                       ".options .global .end"});
}

void Translation::read_tran(const Card& card, const std::vector<Field>& fields) {
  if (run_.stop)
    throw netlist_fault(card.place, "T509", "there are two .tran",
                        {fmt::format("the other stands in line {}", run_.place.line)});
  std::vector<double> times;
  for (std::size_t k = 1; k < fields.size(); ++k) {
    if (fields[k].is("uic"))
      run_.uic = true;
    else if (fields[k].is_value())
      times.push_back(
          names_.number(names_.constant(fields[k].text, flat_.instances[0], card.place), card.place));
    else
      throw netlist_fault(card.place, "T502", fmt::format("'{}' makes no sense in .tran", fields[k].text));
  }
  if (times.size() < 2 || times.size() > 4)
    throw netlist_fault(card.place, "T502", ".tran takes a step and an end",
                        {"it is written: .tran step stop [start [longest step]] [uic]"});
  if (times[0] == 0.0 && times[1] > 0.0) {  // as many rows as a model file without `sample` has
    times[0] = times[1] / 500.0;
    note(card.place, fmt::format("the step of .tran is 0: rows every {:g} s, a 500th of the end", times[0]));
  }
  if (!(times[0] > 0.0) || !(times[1] > 0.0) || times[0] > times[1])
    throw netlist_fault(card.place, "T508",
                        "the step and the end of .tran must be above 0, the step not above the end");
  run_.place = card.place;
  run_.step = times[0];
  run_.stop = times[1];
  if (times.size() > 2 && times[2] > 0.0)
    note(card.place, "the start of .tran has no effect: results begin at 0");
  if (times.size() > 3 && times[3] > 0.0) run_.longest_step = times[3];
}

void Translation::read_options(const Card& card) {
  std::vector<Field> fields = fields_of(card);
  std::vector<KeyValue> given;
  for (std::size_t k = 1; k < fields.size(); ++k) {
    if (k + 2 < fields.size() && fields[k + 1].type == Field::Type::equals) {
      given.push_back({fields[k].text, fields[k + 2].text});
      k += 2;
    } else {
      given.push_back({fields[k].text, ""});
    }
  }
  for (const KeyValue& a : given) {
    const auto value = [&] {
      return names_.number(names_.constant(a.text, flat_.instances[0], card.place), card.place);
    };
    if (a.name == "temp") {
      run_.celsius = value();
    } else if (a.name == "tnom") {
      run_.nominal = value();
    } else if (a.name == "gmin") {
      run_.gmin = value();
    } else if (a.name == "reltol") {
      run_.tolerance = 1e-3 * value();  // SPICE's usual 1e-3 is Tellegen's usual 1e-6
    } else if (a.name == "method") {
      if (a.text != "gear" && a.text != "trap" && a.text != "trapezoidal")
        throw netlist_fault(card.place, "T501", fmt::format("the method '{}' is not known", a.text),
                            {"SPICE has gear and trap"});
      note(card.place, fmt::format("method={} was read: the method is adaptive, whose step and order vary "
                                   "(--method {} has a fixed step)",
                                   a.text, a.text == "gear" ? "bdf2" : "tr"));
    } else {
      note(card.place, fmt::format("the option '{}' has no effect", a.name));
    }
  }
}

// .ic v(a)=1 v(b)={x} ...
void Translation::read_condition(const Element& condition) {
  const Card& card = *condition.card;
  const std::vector<Field> fields = fields_of(card);
  const bool holds = fields[0].is(".ic");
  for (std::size_t k = 1; k < fields.size(); k += 6) {
    const bool good = k + 5 < fields.size() && fields[k].is("v") && fields[k + 1].type == Field::Type::open &&
                      fields[k + 2].is_value() && fields[k + 3].type == Field::Type::close &&
                      fields[k + 4].type == Field::Type::equals && fields[k + 5].is_value();
    if (!good)
      throw netlist_fault(
          card.place, "T502",
          fmt::format("{} takes voltages of nodes: {} v(a)=1", fields[0].text, fields[0].text));
    const Formula place = names_.formula("v(" + fields[k + 2].text + ")", *condition.at, card.place);
    const Formula value = names_.constant(fields[k + 5].text, *condition.at, card.place);
    if (place.text == "0") continue;
    if (!holds) {
      note(card.place, ".nodeset has no effect: the operating point is found without it");
    } else if (run_.uic) {
      starts_[condition.at->node(fields[k + 2].text)] = names_.number(value, card.place);
    } else {
      initial_.add(fmt::format("\"{}\" = {}", place.text, toml_value(value)), card.place);
    }
  }
}

void Translation::write_simulation(TomlText& to) const {
  if (run_.stop) {
    const double usual = std::min(*run_.step, *run_.stop / 50.0);
    to.add(fmt::format("stop = {}", number_text(*run_.stop)), run_.place);
    to.add(fmt::format("step = {}", number_text(std::min(run_.longest_step.value_or(usual), usual))),
           run_.place);
    to.add(fmt::format("sample = {}", number_text(*run_.step)), run_.place);
  }
  to.add("method = \"adaptive\"", run_.place);
  if (run_.tolerance) to.add(fmt::format("tolerance = {}", number_text(*run_.tolerance)), run_.place);
}

}  // namespace tellegen
