// .tran, .ic, .nodeset, .temp, .options, and what has no effect here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr std::string_view analyses[] = {".ac",    ".dc", ".op",  ".noise", ".tf",  ".pz",
                                         ".disto", ".sp", ".pss", ".hb",    ".mpde"};
constexpr std::string_view reports[] = {".print", ".plot",     ".save", ".probe", ".width",
                                        ".graph", ".backanno", ".fft",  ".result"};
constexpr std::string_view measured[] = {".meas", ".measure", ".four", ".fourier"};
constexpr std::string_view of_other_programs[] = {
    ".preprocess", ".sndparam",  ".sndprint", ".sens",       ".psearch",      ".protect",
    ".unprotect",  ".simulator", ".hdl",      ".ptran",      ".distribution", ".aliases",
    ".endaliases", ".wave",      ".machine",  ".endmachine", ".text",         ".link"};
constexpr std::string_view packages[] = {
    "timeint",     "device",  "nonlin",     "nonlin-tran", "linsol",    "output",   "parser",    "restart",
    "sensitivity", "measure", "dist",       "loca",        "hbint",     "hb",       "linsol-hb", "sampling",
    "samples",     "fft",     "diagnostic", "topology",    "nonlin-hb", "linsol-ac"};

constexpr double most_rows = 1e5;

}  // namespace

void Translation::read_directive(const Card& card) {
  const std::vector<Field> fields = fields_of(card);
  const std::string& word = fields[0].text;
  const auto value = [&](std::size_t k) {
    return names_.number(names_.constant(fields[k].text, flat_.instances[0], card.place), card.place);
  };
  if (word == ".tran" || word == ".transient") return read_tran(card, fields);
  if (word == ".options" || word == ".option" || word == ".opt" || word == ".opts") return read_options(card);
  if (word == ".temp") {
    if (fields.size() < 2 || !fields[1].is_value())
      throw netlist_fault(card.place, "T502", ".temp takes a temperature, in degrees Celsius");
    run_.celsius = value(1);
    if (fields.size() > 2)
      note(card.place, fmt::format("the run is at {} degrees, the first of the temperatures of .temp",
                                   number_text(run_.celsius)));
    return;
  }
  if (word == ".global" || word == ".title") return;
  if (word == ".csparam") return note(card.place, ".csparam has no effect: it is for .control blocks");
  if (is_one_of(word, measured)) {
    measure_cards_.push_back(card);
    return;
  }
  if (word == ".step") {
    step_cards_.push_back(card);
    return;
  }
  if (word == ".data" || word == ".enddata" || word == ".mc" || word == ".wcase")
    return note(card.place, fmt::format("{} is not followed: the run has the values that stand in the "
                                        "netlist; 'tellegen sweep' varies parameters",
                                        word));
  if (is_one_of(word, analyses)) {
    run_.others.try_emplace(word, card.place);
    return;
  }
  if (is_one_of(word, reports))
    return note(card.place, fmt::format("{} has no effect: every voltage and current is an output", word));
  if (is_one_of(word, of_other_programs))
    return note(card.place, fmt::format("{} has no effect: it is for another program", word));
  throw netlist_fault(card.place, "T501", fmt::format("the directive '{}' is not supported", word),
                      {"supported: .tran .ic .nodeset .param .func .model .subckt .ends .include .lib .temp "
                       ".options .global .end"});
}

// Where no card asks for a transient analysis, the first `tran` of a .control block does.
void Translation::read_control() {
  std::vector<std::string> changes;
  for (const Card& card : cards_.control) {
    const std::string word = card.text.substr(0, card.text.find_first_of(" \t"));
    if (word.starts_with("alter") || word == "option" || card.text.starts_with("set temp"))
      changes.push_back(word);
    if (word != "tran" || run_.stop) continue;
    const std::vector<Field> fields = fields_of(card);
    for (const Field& field : fields)
      if (field.text.find('$') != std::string::npos)
        throw netlist_fault(card.place, "T502", "the tran of the .control block has a variable of its script",
                            {"write it as .tran with numbers"});
    read_tran(card, fields);
    note(card.place, "this tran of the .control block is the run: no .tran asks for one");
    if (!changes.empty())
      note(card.place,
           fmt::format("what the .control block changes before it ('{}') is not done", changes[0]));
  }
}

// Analyses that are no transient: a note beside one, otherwise a fault.
void Translation::check_analyses() {
  for (const auto& [word, place] : run_.others) {
    if (run_.stop)
      note(place, fmt::format("{} is not run: only the transient analysis is", word));
    else
      faults_.add(place, "T501", fmt::format("the analysis '{}' is not supported", word),
                  {"a transient analysis is: .tran step stop"});
  }
}

void Translation::read_tran(const Card& card, const std::vector<Field>& fields) {
  if (run_.stop)
    return note(card.place, fmt::format("this .tran is not run: that of line {} is", run_.place.line));
  std::vector<double> times;
  for (std::size_t k = 1; k < fields.size(); ++k) {
    if (fields[k].is("uic") || fields[k].is("noop"))  // the second is Xyce's
      run_.uic = true;
    else if (fields[k].is("startup"))
      run_.startup = true;
    else if (fields[k].is("steady") || fields[k].is("nodiscard") || fields[k].is("step"))
      note(card.place, fmt::format("'{}' of .tran has no effect", fields[k].text));
    else if (fields[k].is_value())
      times.push_back(
          names_.number(names_.constant(fields[k].text, flat_.instances[0], card.place), card.place));
    else
      throw netlist_fault(card.place, "T502", fmt::format("'{}' makes no sense in .tran", fields[k].text));
  }
  if (times.size() == 1) times.insert(times.begin(), 0.0);  // LTspice: .tran stop
  if (times.size() < 2 || times.size() > 4)
    throw netlist_fault(card.place, "T502", ".tran takes a step and an end",
                        {"it is written: .tran step stop [start [longest step]] [uic]"});
  if (!(times[1] > 0.0) || times[0] < 0.0)
    throw netlist_fault(card.place, "T508", "the end of .tran must be above 0, and its step not below");
  if (times[0] == 0.0 || times[0] > times[1]) {  // as many rows as a model file without `sample` has
    const char* why = times[0] == 0.0 ? "0" : "longer than the run";
    times[0] = times[1] / 500.0;
    note(card.place,
         fmt::format("the step of .tran is {}: rows every {:g} s, a 500th of the end", why, times[0]));
  }
  run_.place = card.place;
  run_.step = run_.sample = times[0];
  run_.stop = times[1];
  if (const double rows = times[1] / times[0] * (1 - 1e-9); rows > most_rows) {
    // For other programs it only bounds the step.
    run_.sample = times[0] * std::ceil(rows / most_rows);
    note(card.place,
         fmt::format("the step of .tran would make {:.3g} rows: there is one every {:g} s; --sample "
                     "'{:g} s' gives all of them",
                     rows, *run_.sample, times[0]));
  }
  if (times.size() > 2 && times[2] > 0.0) {
    run_.start = times[2];
    note(card.place, "the start of .tran is that of measures; rows begin at 0");
  }
  if (times.size() > 3 && times[3] > 0.0) run_.longest_step = times[3];
}

void Translation::read_options(const Card& card) {
  const std::vector<Field> fields = fields_of(card);
  std::vector<KeyValue> given;
  for (std::size_t k = 1; k < fields.size(); ++k) {
    if (k + 2 < fields.size() && fields[k + 1].type == Field::Type::equals) {
      given.push_back({fields[k].text, fields[k + 2].text});
      k += 2;
    } else {
      given.push_back({fields[k].text, ""});
    }
  }
  // Xyce's options are of a part of it, which is named first.
  const bool package = !given.empty() && given[0].text.empty() && is_one_of(given[0].name, packages);
  const std::string of = package ? given[0].name : "";
  if (package) given.erase(given.begin());
  const bool ours = of.empty() || of == "timeint" || of == "device" || of == "parser";
  for (const KeyValue& a : given) {
    const auto value = [&] {
      return names_.number(names_.constant(a.text, flat_.instances[0], card.place), card.place);
    };
    if (!ours || a.text.empty()) {
      note(card.place, fmt::format("the option '{}' has no effect", a.name));
    } else if (a.name == "temp") {
      run_.celsius = value();
    } else if (a.name == "tnom") {
      run_.nominal = value();
    } else if (a.name == "gmin") {
      run_.gmin = value();
    } else if (a.name == "reltol") {
      run_.tolerance = 0.1 * value();  // SPICE's usual 1e-3 is the usual 1e-4 of a simulation
    } else if (a.name == "defl" || a.name == "defw" || a.name == "defad" || a.name == "defas") {
      run_.channel[a.name.substr(3)] = value();
    } else if (a.name == "scale") {
      run_.scale = value();
    } else if (a.name == "method") {
      note(card.place, fmt::format("method={} was read: the step and the order of the method here vary "
                                   "(--method bdf2 and --method tr have a fixed step)",
                                   a.text));
    } else {
      note(card.place, fmt::format("the option '{}' has no effect", a.name));
    }
  }
}

// .ic v(a)=1 v(b)={x} ...
void Translation::read_condition(const Element& condition) {
  const Card& card = *condition.card;
  const std::vector<Field> fields = fields_of(card);
  const bool holds = fields[0].is(".ic") || fields[0].is(".initcond") || fields[0].is(".dcvolt");
  for (std::size_t k = 1; k < fields.size(); k += 6) {
    const bool good = k + 5 < fields.size() && fields[k].is("v") && fields[k + 1].type == Field::Type::open &&
                      fields[k + 2].is_value() && fields[k + 3].type == Field::Type::close &&
                      fields[k + 4].type == Field::Type::equals && fields[k + 5].is_value();
    if (!good)
      throw netlist_fault(
          card.place, "T502",
          fmt::format("{} takes voltages of nodes: {} v(a)=1", fields[0].text, fields[0].text));
    if (!holds) {
      note_once(card.place, ".nodeset has no effect: the operating point is found without it");
      continue;
    }
    const Formula place = names_.formula("v(" + fields[k + 2].text + ")", *condition.at, card.place);
    const Formula value = names_.constant(fields[k + 5].text, *condition.at, card.place);
    if (place.text == "0") continue;
    if (!run_.uic && source_nodes_.contains(condition.at->node(fields[k + 2].text))) {
      note_once(card.place, fmt::format("'{}' of {} has no effect: a source decides it", fields[k + 2].text,
                                        fields[0].text));
      continue;
    }
    if (run_.uic) {
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
    to.add(fmt::format("sample = {}", number_text(*run_.sample)), run_.place);
  }
  to.add("method = \"adaptive\"", run_.place);
  if (run_.tolerance) to.add(fmt::format("tolerance = {}", number_text(*run_.tolerance)), run_.place);
}

}  // namespace tellegen
