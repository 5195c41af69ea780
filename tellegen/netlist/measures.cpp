// .measure and .four: what they ask for, in the names of the model (model/analyses.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/phrases.h"
#include "tellegen/netlist/translation.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

using What = MeasureSpec::What;

constexpr std::string_view measure_keywords[] = {
    "trig",     "targ",      "when",       "find",        "at",       "val",      "td",   "rise",   "fall",
    "cross",    "from",      "to",         "avg",         "rms",      "min",      "max",  "pp",     "integ",
    "integral", "deriv",     "derivative", "min_at",      "max_at",   "param",    "goal", "minval", "weight",
    "print",    "precision", "output",     "default_val", "frac_max", "rfc_level"};
constexpr std::string_view goals[] = {"goal",      "minval", "weight",     "print",
                                      "precision", "output", "default_val"};
constexpr std::string_view options_of_other_programs[] = {"frac_max", "rfc_level"};
constexpr std::string_view other_analyses[] = {"ac",      "dc",      "op",         "noise", "sp",       "tf",
                                               "ac_cont", "dc_cont", "noise_cont", "fft",   "tran_cont"};
// Kinds of other programs, and options of theirs that change what is measured.
constexpr std::string_view kinds_of_other_programs[] = {
    "err",      "err1", "err2", "err3", "error", "duty", "freq", "frequency", "on",  "off", "on_time",
    "off_time", "four", "fft",  "enob", "sfdr",  "sndr", "snr",  "thd",       "eqn", "file"};
constexpr std::pair<std::string_view, What> kinds[] = {
    {"avg", What::average},       {"rms", What::rms},           {"min", What::minimum},
    {"max", What::maximum},       {"pp", What::peak_to_peak},   {"integ", What::integral},
    {"integral", What::integral}, {"min_at", What::minimum_at}, {"max_at", What::maximum_at},
};
constexpr std::string_view form =
    "it is written: .meas tran name trig v(a) val=1 rise=1 targ v(b) val=1 rise=1, name when v(a)=1, "
    "name find v(a) when v(b)=1, name find v(a) at=1m, name avg v(a) from=0 to=1m, name param='formula'";

}  // namespace

// Only what a run can have: a formula in variables, time and parameters.
std::string Translation::measured_signal(const std::string& text, const Place& place) {
  if (text.empty()) throw netlist_fault(place, "T502", "a measure has no signal", {std::string(form)});
  const Formula found = names_.formula(text, flat_.instances[0], place);
  check_no_measures(found, text, place);
  return found.text;
}

void Translation::check_no_measures(const Formula& formula, const std::string& text, const Place& place) {
  Pool pool;
  std::vector<Expr> symbols;
  try {
    const Expr parsed = parse(pool, formula.text);
    symbols = symbols_of(std::span(&parsed, 1));
    for (const auto& [name, symbol] : names_.measures)
      if (std::any_of(symbols.begin(), symbols.end(),
                      [&wanted = symbol](Expr s) { return s.name() == wanted; }))
        throw netlist_fault(
            place, "T508",
            fmt::format("'{}' is a signal, and '{}' is known only when the run has ended", text, name),
            {"formulas of earlier measures go into param='...', val=, at=, td=, from= and to="});
  } catch (const ParseError&) {  // whoever uses it will say what is wrong
  }
}

std::string Translation::measured_number(const std::string& text, const Place& place) {
  if (text.empty()) throw netlist_fault(place, "T502", "a measure has a number missing", {std::string(form)});
  return names_.constant(text, flat_.instances[0], place).text;
}

// From the part that begins with trig, targ or when to the next such: taken off the parts.
MeasurePoint Translation::measured_point(std::vector<Phrase>& parts, const Place& place) {
  MeasurePoint point;
  Phrase head = parts.front();
  parts.erase(parts.begin());
  // Xyce's `trig v(1) 0.1`, without val=
  if (const auto gap = head.left.rfind(' ');
      head.right.empty() && gap != std::string::npos && read_number(head.left.substr(gap + 1))) {
    head.right = head.left.substr(gap + 1);
    head.left.resize(gap);
  }
  std::string level = head.right;
  bool edge = false;
  const auto is_own = [&](const Phrase& p) {
    return p.keyword == "at" || p.keyword == "val" || p.keyword == "td" || p.keyword == "rise" ||
           p.keyword == "fall" || p.keyword == "cross";
  };
  while (!parts.empty() && is_own(parts.front())) {
    const Phrase part = parts.front();
    parts.erase(parts.begin());
    if (part.keyword == "at") {
      point.at = measured_number(part.value(), place);
    } else if (part.keyword == "val") {
      level = part.value();
    } else if (part.keyword == "td") {
      point.after = measured_number(part.value(), place);
    } else {
      if (edge)
        throw netlist_fault(place, "T502", "a measure has more than one of rise, fall and cross for a point");
      edge = true;
      point.edge = part.keyword == "rise"   ? MeasurePoint::Edge::rise
                   : part.keyword == "fall" ? MeasurePoint::Edge::fall
                                            : MeasurePoint::Edge::cross;
      if (part.value() == "last" || part.value() == "-1") {  // the second is Xyce's
        point.count = 0;
        continue;
      }
      const double count = names_.number(names_.constant(part.value(), flat_.instances[0], place), place);
      if (!(count >= 1.0) || count != std::floor(count) || count > 1e9)
        throw netlist_fault(
            place, "T508",
            fmt::format("'{}={}' must be a whole number from 1 on, or last", part.keyword, part.value()));
      point.count = static_cast<int>(count);
    }
  }
  if (!point.at.empty()) return point;
  if (head.left.empty() || level.empty())
    throw netlist_fault(place, "T502",
                        fmt::format("'{}' of a measure has no {}", head.keyword,
                                    head.left.empty() ? "signal" : "value that the signal is to reach"),
                        {std::string(form)});
  const Formula left = names_.formula(head.left, flat_.instances[0], place),
                right = names_.formula(level, flat_.instances[0], place);
  check_no_measures(left, head.left, place);
  if (right.varies) {
    check_no_measures(right, level, place);
    point.signal = subtract(left, {right.text, right.level, true}).text;
    point.level = "0";
  } else {
    point.signal = left.text;
    point.level = right.text;
  }
  if (!left.varies && !right.varies)
    throw netlist_fault(place, "T508",
                        fmt::format("neither '{}' nor '{}' varies in the run", head.left, level));
  return point;
}

void Translation::read_measure(const Card& card) {
  const Place& place = card.place;
  std::vector<std::string> words = words_of_phrase(card.text, place);
  words.erase(words.begin());
  if (words.size() > 2 && (is_one_of(words[0], other_analyses) || words[0] == "tran" || words[0] == "tr")) {
    if (is_one_of(words[0], other_analyses))
      return note(place, fmt::format("the measure '{}' is not taken: it is of {}, and only those of tran are",
                                     words[1], words[0]));
    words.erase(words.begin());
  }
  if (words.size() < 2) throw netlist_fault(place, "T502", ".measure is not complete", {std::string(form)});
  MeasureSpec spec;
  spec.name = words[0];
  spec.place = place;
  words.erase(words.begin());
  if (is_one_of(words[0], kinds_of_other_programs))
    return note(place,
                fmt::format("the measure '{}' is not taken: '{}' is not supported", spec.name, words[0]));
  std::vector<Phrase> parts = phrases_of(words, measure_keywords);
  if (parts.empty() || parts[0].keyword.empty())
    throw netlist_fault(place, "T502", fmt::format("'{}' is no kind of measure", words[0]),
                        {std::string(form)});
  for (const Phrase& part : parts)
    if (is_one_of(part.keyword, options_of_other_programs))
      return note(place, fmt::format("the measure '{}' is not taken: '{}' is not supported", spec.name,
                                     part.keyword));
  std::erase_if(parts, [&](const Phrase& part) {
    const bool goal = is_one_of(part.keyword, goals);
    if (goal) note(place, fmt::format("'{}' of the measure '{}' has no effect", part.keyword, spec.name));
    return goal;
  });
  if (parts.empty()) throw netlist_fault(place, "T502", ".measure is not complete", {std::string(form)});
  const Phrase head = parts[0];
  const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                 [&](const auto& k) { return k.first == head.keyword; });
  if (kind != std::end(kinds)) {
    spec.what = kind->second;
    parts.erase(parts.begin());
    spec.signal = measured_signal(head.value(), place);
    if (!parts.empty() && parts[0].keyword == "trig") spec.first = measured_point(parts, place);
    if (!parts.empty() && parts[0].keyword == "targ") spec.second = measured_point(parts, place);
    for (Phrase& part : parts) {
      if (part.keyword == "rise" || part.keyword == "fall" || part.keyword == "cross")
        return note(place, fmt::format("the measure '{}' is not taken: '{}' of '{}' is not supported",
                                       spec.name, part.keyword, head.keyword));
    }
  } else if (head.keyword == "find" || head.keyword == "deriv" || head.keyword == "derivative") {
    spec.what = head.keyword == "find" ? What::find : What::slope;
    parts.erase(parts.begin());
    spec.signal = measured_signal(head.value(), place);
    if (parts.empty() || (parts[0].keyword != "when" && parts[0].keyword != "at"))
      throw netlist_fault(place, "T502",
                          fmt::format("'{}' does not say when: when v(b)=1, or at=1m", head.keyword),
                          {std::string(form)});
    if (parts[0].keyword == "at") parts.insert(parts.begin(), Phrase{"when", "", ""});
    spec.first = measured_point(parts, place);
  } else if (head.keyword == "when") {
    spec.what = What::when;
    spec.first = measured_point(parts, place);
  } else if (head.keyword == "trig") {
    spec.what = What::interval;
    spec.first = measured_point(parts, place);
    if (parts.empty() || parts[0].keyword != "targ")
      throw netlist_fault(place, "T502", "a measure with trig has no targ", {std::string(form)});
    spec.second = measured_point(parts, place);
  } else if (head.keyword == "param") {
    spec.what = What::formula;
    if (!head.value().empty() && names_.formula(head.value(), flat_.instances[0], place).varies)
      return note(place, fmt::format("the measure '{}' is not taken: '{}' is a signal, and not of measures",
                                     spec.name, head.value()));
    spec.formula = measured_number(head.value(), place);
    parts.erase(parts.begin());
  } else {
    throw netlist_fault(place, "T502", fmt::format("'{}' cannot begin a measure", head.keyword),
                        {std::string(form)});
  }
  for (const Phrase& part : parts) {
    const bool span = spec.what != What::formula;
    if (span && (part.keyword == "from" || part.keyword == "td")) {
      // An average may have both; it begins after both, as Xyce's does.
      const std::string begin = measured_number(part.value(), place);
      spec.from = spec.from.empty() ? begin : fmt::format("max({}, {})", spec.from, begin);
    } else if (span && part.keyword == "to") {
      spec.to = measured_number(part.value(), place);
    } else {
      throw netlist_fault(place, "T502", fmt::format("'{}' makes no sense here in a measure", part.keyword),
                          {std::string(form)});
    }
  }
  spec.symbol = names_.extra_parameter("measured_" + spec.name);
  names_.measures[spec.name] = spec.symbol;
  result_.analyses.measures.push_back(std::move(spec));
}

// .four frequency v(a) v(a,b) ...; LTspice's numbers of harmonics and periods may stand in between.
void Translation::read_fourier(const Card& card) {
  std::vector<std::string> words = words_of_phrase(card.text, card.place);
  FourierSpec spec;
  spec.place = card.place;
  if (words.size() < 3)
    throw netlist_fault(card.place, "T502", fmt::format("{} takes a frequency and signals", words[0]),
                        {"it is written: .four 1k v(a) v(a,b) i(v1)"});
  spec.frequency = names_.number(names_.constant(words[1], flat_.instances[0], card.place), card.place);
  if (!(spec.frequency > 0.0))
    throw netlist_fault(card.place, "T508", fmt::format("the frequency of {} must be above 0", words[0]));
  for (std::size_t k = 2; k < words.size(); ++k) {
    const Formula signal = names_.formula(words[k], flat_.instances[0], card.place);
    if (signal.varies)
      spec.signals.push_back({words[k], measured_signal(words[k], card.place)});
    else
      note(card.place, fmt::format("'{}' of {} has no effect: harmonics 0 to 9 are taken, of the last period",
                                   words[k], words[0]));
  }
  if (spec.signals.empty())
    throw netlist_fault(card.place, "T502", fmt::format("{} has no signal", words[0]));
  result_.analyses.fourier.push_back(std::move(spec));
}

// A measure of what the circuit does not have (power of an element, a device's own variables) is left out
// with a note: the circuit itself is no worse for it. What is written wrongly is a fault; not so in .control
// blocks, whose scripts have more than Tellegen follows.
void Translation::read_measures() {
  const auto read = [&](const Card& card, bool script) {
    const std::string word = card.text.substr(0, card.text.find_first_of(" \t"));
    if (script && word != "meas" && word != "measure" && word != "fourier") return;
    try {
      word.find("four") != std::string::npos ? read_fourier(card) : read_measure(card);
    } catch (const ModelError& error) {
      const Fault& fault = error.faults().front();
      if (script || fault.code == "T505" || fault.code == "T506")
        note(card.place, fmt::format("'{}' is not taken: {}", card.text, fault.message));
      else
        faults_.add(error);
    }
  };
  for (const Card& card : measure_cards_) read(card, false);
  for (const Card& card : cards_.control) read(card, true);
  result_.analyses.begin = run_.start.value_or(0.0);
}

}  // namespace tellegen
