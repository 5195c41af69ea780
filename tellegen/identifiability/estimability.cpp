#include "tellegen/identifiability/estimability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/time_origin.h"
#include "tellegen/model/units.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

double in_unit(double si, const std::string& unit) { return unit.empty() ? si : units().from_si(si, unit); }

// Of a deviation: where the unit begins does not matter.
double size_in_unit(double si, const std::string& unit) { return in_unit(si, unit) - in_unit(0.0, unit); }

std::string per_cent(double part) {
  const double percent = 100.0 * part;
  return percent >= 1e4 ? fmt::format("{:.1e} %", percent) : brief_number(percent, 3) + " %";
}

std::string told(const Knowledge& k, std::size_t at) {
  using How = Knowledge::How;
  const UnknownQuantity& q = k.quantities[at];
  if (k.how[at] == How::not_at_all) return "not at all";
  if (k.how[at] == How::together) {
    for (const Entangled& e : k.entangled)
      if (std::find(e.parts.begin(), e.parts.end(), static_cast<int>(at)) != e.parts.end()) {
        std::vector<std::string> others;
        for (int p : e.parts)
          if (p != static_cast<int>(at)) others.push_back(k.quantities[static_cast<std::size_t>(p)].name);
        return "only with " + listed(others);
      }
  }
  return fmt::format("{}{}", k.how[at] == How::hardly ? "hardly: " : "", per_cent(k.deviation[at] / q.scale));
}

std::string knowledge_table(const Knowledge& k) {
  TextTable table{{"", "value", "unit", "deviation", "of its size"}, {}};
  for (std::size_t at = 0; at < k.quantities.size(); ++at) {
    const UnknownQuantity& q = k.quantities[at];
    table.rows.push_back(
        {q.name, brief_number(in_unit(q.value, q.unit), 6), q.unit.empty() ? "SI" : q.unit,
         std::isfinite(k.deviation[at]) ? brief_number(size_in_unit(k.deviation[at], q.unit), 3) : "-",
         told(k, at)});
  }
  for (const Entangled& e : k.entangled)
    for (const Combination& c : e.known)
      table.rows.push_back({c.text, brief_number(in_unit(c.value, c.unit), 6), c.unit.empty() ? "SI" : c.unit,
                            brief_number(size_in_unit(c.deviation, c.unit), 3),
                            c.value != 0.0 ? per_cent(c.deviation / std::abs(c.value)) : "-"});
  return to_text(table);
}

std::string rank_line(const Knowledge& k) {
  return fmt::format("rank {} of {}, conditioning {:.3g} (scaled)\n", k.rank, k.quantities.size(),
                     k.conditioning);
}

void add_new(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& s : from)
    if (std::find(to.begin(), to.end(), s) == to.end()) to.push_back(s);
}

std::vector<std::string> advice_for(const Knowledge& k) {
  std::vector<std::string> advice;
  for (const Entangled& e : k.entangled) {
    if (std::all_of(e.parts.begin(), e.parts.end(), [&](int p) {
          return k.quantities[static_cast<std::size_t>(p)].what == UnknownQuantity::What::state;
        }))
      continue;
    std::vector<std::string> parts;
    for (int p : e.parts) parts.push_back(k.quantities[static_cast<std::size_t>(p)].name);
    const std::size_t free = e.parts.size() - e.known.size();
    advice.push_back(
        free == 1 ? fmt::format("take one of {} as known, or measure where they differ", listed(parts))
                  : fmt::format("take {} of {} as known, or measure where they differ", free, listed(parts)));
  }
  return advice;
}

}  // namespace

std::vector<std::string> EstimabilityReport::sentences() const {
  std::vector<std::string> said;
  if (parameters) add_new(said, parameters->sentences());
  if (states) add_new(said, states->knowledge.sentences());
  return said;
}

std::vector<std::string> EstimabilityReport::reasons() const {
  std::vector<std::string> said;
  if (parameters) add_new(said, parameters->sentences());
  if (states) add_new(said, states->knowledge.sentences(!states->rest_fades()));
  return said;
}

std::string EstimabilityReport::text() const {
  std::string text = "what can be known: " + experiment + "\n";
  const auto say = [&](const Knowledge& k) {
    text += knowledge_table(k) + "\n";
    for (const std::string& s : k.sentences()) text += s + "\n";
    text += rank_line(k);
  };
  if (parameters) {
    text += "\nfrom the whole of it, the start known:\n\n";
    say(*parameters);
  }
  if (states) {
    text += "\nas the run continues, the start unknown:\n\n";
    say(states->knowledge);
    for (double left : states->left)
      if (left >= 0.999)
        text += "what the readings do not determine of the states stays: the model does not forget it\n";
      else
        text += fmt::format(
            "what the readings do not determine of the states fades: {} of it remains after {:g} s\n",
            left < 1e-6 ? "nothing" : per_cent(left), states->seconds);
  }
  if (arrival) {
    text += fmt::format("\nwhere readings get lost, {} ({} sensors, {} states):\n\n", arrival->estimator,
                        arrival->sensors, arrival->states);
    for (const std::string& s : arrival->sentences()) text += s + "\n";
  }
  if (!states_note.empty()) text += "\nthe states were not looked at: " + states_note + "\n";
  text += all_known ? "\neverything that was asked for can be known\n"
                    : "\nnot everything that was asked for can be known\n";
  for (const std::string& a : advice) text += "  " + a + "\n";
  return text;
}

EstimabilityReport what_can_be_known(const Model& model, const Record& record,
                                     const EstimabilityQuestion& question) {
  EstimabilityReport report;
  std::vector<std::string> names;
  for (int s : record.sensors) names.push_back(model.outputs[static_cast<std::size_t>(s)].name);
  report.experiment =
      fmt::format("{} read {} from {:g} s to {:g} s", listed(names),
                  record.clock.empty() ? fmt::format("every {:g} s", record.step) : "at irregular times",
                  record.start, record.time(std::max<std::int64_t>(0, record.steps - 1)));
  // Readings that exist were taken in a run that begins with them; a planned run begins at t = 0.
  if (!record.readings.empty() && record.start != 0.0) {
    EstimabilityReport found =
        what_can_be_known(with_time_origin(model, record.start), from_zero(record), question);
    found.experiment = report.experiment;
    return found;
  }
  if (!question.parameters.empty() || !question.states) {
    report.parameters = parameter_knowledge(model, record, question.parameters, question.limit);
    report.all_known = report.parameters->all_known();
    report.advice = advice_for(*report.parameters);
  }
  if (question.states) {
    try {
      report.states = state_knowledge(model, record, question.unknowns, question.limit);
      report.all_known = report.all_known && report.states->unknowns_known() && report.states->rest_fades();
      if (!report.states->note.empty()) {
        report.states_note = report.states->note;
        report.states.reset();
      }
      if (question.arrival && report.states)
        report.arrival = arrival_conditions(model, record, question.unknowns);
    } catch (const ModelError& error) {
      // The parameters are an answer of their own.
      if (!report.parameters) throw;
      report.states_note = error.faults().front().message;
    }
    if (report.states && !report.states->unknowns_known())
      add_new(report.advice, advice_for(report.states->knowledge));
  }
  return report;
}

}  // namespace tellegen
