#include "cli/check_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/identifiability/estimability.h"
#include "tellegen/identifiability/placement.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/report/text.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

using Json = nlohmann::ordered_json;

// Positions in Model::outputs.
std::vector<int> chosen_sensors(const Model& model, const std::string& list) {
  if (list.empty()) return model.estimation.sensors;
  std::vector<std::string> known;
  for (const ModelOutput& output : model.outputs)
    if (output.sensor) known.push_back(output.name);
  std::vector<int> found;
  for (const std::string& name : split_list(list)) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end())
      throw command_fault(tellegen_check, "T610", fmt::format("there is no sensor '{}'", name),
                          {did_you_mean(name, known),
                           known.empty() ? "the model has no [sensors]" : "sensors: " + joined(known)});
    const auto sensor = static_cast<int>(at - known.begin());  // sensors come first
    if (std::find(found.begin(), found.end(), sensor) == found.end()) found.push_back(sensor);
  }
  return found;
}

// Positions in Model::unknowns; a parameter of which [unknowns] says nothing joins it.
std::vector<int> chosen_unknowns(Model& model, const std::string& list) {
  if (list.empty()) return model.estimation.unknowns;
  std::vector<int> found;
  for (const std::string& name : split_list(list)) {
    const int parameter = study_parameter(model, name);
    const auto at = std::find_if(model.unknowns.begin(), model.unknowns.end(),
                                 [&](const ModelUnknown& u) { return u.parameter == parameter; });
    const auto index = static_cast<int>(at - model.unknowns.begin());
    if (at == model.unknowns.end()) {
      ModelUnknown unknown;
      unknown.parameter = parameter;
      model.unknowns.push_back(unknown);
    }
    if (std::find(found.begin(), found.end(), index) == found.end()) found.push_back(index);
  }
  return found;
}

std::vector<int> parameters_of(const Model& model, const std::vector<int>& unknowns) {
  std::vector<int> found;
  for (int u : unknowns) found.push_back(model.unknowns[static_cast<std::size_t>(u)].parameter);
  return found;
}

// "4s:5s"; a side that is left out is the run's own.
std::pair<double, double> window_of_run(const std::string& text, double stop) {
  std::pair<double, double> window{0.0, stop};
  if (text.empty()) return window;
  const auto colon = text.find(':');
  const auto time = [&](const std::string& part, double otherwise) {
    const auto first = part.find_first_not_of(' ');
    if (first == std::string::npos) return otherwise;
    const auto zero = units().parse(part);
    return zero && zero->si == 0.0 ? 0.0 : read_seconds({tellegen_check, "--window"}, part);
  };
  if (colon == std::string::npos)
    throw command_fault(tellegen_check, "T613", fmt::format("--window '{}' is not two times", text),
                        {"write --window 4s:5s"});
  window.first = time(text.substr(0, colon), 0.0);
  window.second = time(text.substr(colon + 1), stop);
  if (!(window.first < window.second) || window.second > stop * (1.0 + 1e-9))
    throw command_fault(
        tellegen_check, "T613",
        fmt::format("there are no readings from {:g} s to {:g} s", window.first, window.second),
        {fmt::format("the run goes from 0 s to {:g} s", stop)});
  return window;
}

double read_noise(const std::string& text, const std::string& unit) {
  if (text.empty()) return 0.0;
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(text);
  } catch (const UnknownUnit&) {
  }
  const bool fits =
      quantity && (quantity->unit.empty() || unit.empty() || units().convertible(quantity->unit, unit));
  const double si = !fits                    ? 0.0
                    : quantity->unit.empty() ? quantity->si
                                             : quantity->si - units().to_si(0.0, quantity->unit);
  if (!(si > 0.0))
    throw command_fault(tellegen_check, "T612", fmt::format("--noise cannot be '{}'", text),
                        {fmt::format("it is the standard deviation of a reading, above 0{}",
                                     unit.empty() ? "" : ", in a unit like " + unit)});
  return si;
}

OutputColumn variable_of(const Model& model, const std::string& text) {
  OutputColumn column{text, "", parse_value(model, text, {std::string(tellegen_check), 0})};
  for (const ModelOutput& o : model.outputs)
    if (o.name == text) column.unit = o.unit;
  const Expr value = expand_names(model, column.value);
  if (column.unit.empty() && value.is_symbol())
    if (const auto ref = find_variable(model, value.name())) column.unit = variable_unit(model, *ref);
  return column;
}

double difference_in_unit(double si, const std::string& unit) {
  return in_unit(si, unit) - in_unit(0.0, unit);
}

Json to_json(const Knowledge& k) {
  constexpr std::string_view how[] = {"known", "hardly", "together", "not at all"};
  constexpr std::string_view what[] = {"parameter", "input", "state"};
  Json json{{"rank", k.rank}, {"of", k.quantities.size()}, {"conditioning", k.conditioning}};
  json["quantities"] = Json::array();
  for (std::size_t at = 0; at < k.quantities.size(); ++at) {
    const UnknownQuantity& q = k.quantities[at];
    Json entry{{"name", q.name},
               {"what", what[static_cast<int>(q.what)]},
               {"unit", q.unit},
               {"value", in_unit(q.value, q.unit)},
               {"how", how[static_cast<int>(k.how[at])]}};
    if (std::isfinite(k.deviation[at])) {
      entry["deviation"] = difference_in_unit(k.deviation[at], q.unit);
      entry["relative"] = k.deviation[at] / q.scale;
    }
    json["quantities"].push_back(std::move(entry));
  }
  json["only_together"] = Json::array();
  for (const Entangled& e : k.entangled) {
    Json entry{{"parts", Json::array()}, {"known", Json::array()}};
    for (int p : e.parts) entry["parts"].push_back(k.quantities[static_cast<std::size_t>(p)].name);
    for (const Combination& c : e.known)
      entry["known"].push_back({{"combination", c.text},
                                {"unit", c.unit},
                                {"value", in_unit(c.value, c.unit)},
                                {"deviation", difference_in_unit(c.deviation, c.unit)},
                                {"everywhere", c.everywhere}});
    json["only_together"].push_back(std::move(entry));
  }
  json["in_words"] = k.sentences();
  return json;
}

// Rates that nothing follows for are null.
Json to_json(const ArrivalConditions& a) {
  const auto rate = [](const std::optional<double>& bound) { return bound ? Json(*bound) : Json(nullptr); };
  const auto in_units = [&](const ArrivalConditions::InUnits& u) {
    return Json{{"norm", u.norm},
                {"lambda_0", u.information},
                {"invertible", rate(u.invertible)},
                {"general", rate(u.general)}};
  };
  return Json{{"estimator", a.estimator},
              {"states", a.states},
              {"sensors", a.sensors},
              {"keep", a.keep},
              {"readings_invertible", a.is_invertible},
              {"steps_looked_at", a.looked_at},
              {"si", in_units(a.si)},
              {"in_sizes", in_units(a.sized)},
              {"in_best_units", in_units(a.best)},
              {"in_words", a.sentences()}};
}

Json to_json(const EstimabilityReport& report) {
  Json json{{"experiment", report.experiment}, {"all_known", report.all_known}};
  if (report.parameters) json["parameters"] = to_json(*report.parameters);
  if (report.states) {
    json["states"] = to_json(report.states->knowledge);
    json["states"]["left"] = report.states->left;
  }
  if (report.arrival) json["arrival"] = to_json(*report.arrival);
  if (!report.states_note.empty()) json["states_note"] = report.states_note;
  json["in_words"] = report.sentences();
  json["advice"] = report.advice;
  return json;
}

std::string names_of(const PlacementOptions& options, const std::vector<int>& choice) {
  std::string text;
  for (int k : choice)
    text += (text.empty() ? "" : ", ") + options.candidates[static_cast<std::size_t>(k)].name;
  return text;
}

void place(const Model& model, const EstimateCheckRequest& request, PlacementOptions options) {
  options.count = request.place;
  if (request.target.empty())
    throw command_fault(tellegen_check, "T614", "--place-sensors needs a variable that is to be known",
                        {"give --target, such as a temperature: --target j1.T"});
  options.target = variable_of(model, request.target);
  if (request.candidates.empty()) {
    options.candidates =
        default_candidates(model, options.target.value, read_noise(request.noise, options.target.unit));
  } else {
    for (const std::string& name : split_list(request.candidates)) {
      const OutputColumn column = variable_of(model, name);
      const double noise = read_noise(request.noise, column.unit);
      double own = noise;
      for (const ModelOutput& o : model.outputs)
        if (o.name == name && o.sensor && o.noise.value_or(0.0) > 0.0) own = *o.noise;
      options.candidates.push_back({name, column.unit, column.value,
                                    own > 0.0 ? own : candidate_noise(model, name, column.unit, noise)});
    }
  }
  if (!request.beside.empty()) {
    const std::vector<int> there =
        request.beside == "all" ? model.estimation.sensors : chosen_sensors(model, request.beside);
    check_noise(model, there);
    for (int s : there) {
      const ModelOutput& sensor = model.outputs[static_cast<std::size_t>(s)];
      options.beside.push_back({sensor.name, sensor_unit(model, s), sensor.value, *sensor.noise});
      // It need not be placed again.
      std::erase_if(options.candidates, [&](const SensorCandidate& c) { return c.name == sensor.name; });
    }
  }
  const Placement placement = place_sensors(model, options);
  const std::string& unit = options.target.unit;
  const auto told_deviation = [&](double si) {
    return std::isfinite(si) ? brief_number(difference_in_unit(si, unit), 4) : std::string("not known");
  };
  if (request.json) {
    const auto number = [&](double si) {
      return std::isfinite(si) ? Json(difference_in_unit(si, unit)) : Json(nullptr);
    };
    Json json{{"model", model.name},           {"file", request.file},
              {"target", options.target.name}, {"unit", unit},
              {"step", options.step},          {"without_sensors", number(placement.without)},
              {"tried", placement.tried},      {"all_tried", placement.all_tried}};
    json["candidates"] = Json::array();
    for (std::size_t k = 0; k < options.candidates.size(); ++k)
      json["candidates"].push_back(
          {{"name", options.candidates[k].name},
           {"noise", difference_in_unit(options.candidates[k].noise, options.candidates[k].unit)},
           {"unit", options.candidates[k].unit},
           {"alone", number(placement.alone[k])}});
    json["best"] = Json::array();
    for (const SensorChoice& choice : placement.best) {
      Json names = Json::array();
      for (int k : choice.candidates) names.push_back(options.candidates[static_cast<std::size_t>(k)].name);
      json["best"].push_back({{"sensors", names}, {"deviation", number(choice.deviation)}});
    }
    fmt::print("{}", json_text(json));
  } else {
    fmt::print("{} by {} of {} sensors, read every {:g} s: {}\n\n", options.target.name, options.count,
               options.candidates.size(), options.step,
               placement.all_tried
                   ? fmt::format("all {} choices tried", placement.tried)
                   : fmt::format("{} choices tried, the best found by exchange", placement.tried));
    TextTable table{
        {"sensors", fmt::format("deviation of {} [{}]", options.target.name, unit.empty() ? "SI" : unit)},
        {}};
    for (const SensorChoice& choice : placement.best)
      table.rows.push_back({names_of(options, choice.candidates), told_deviation(choice.deviation)});
    table.rows.push_back({options.beside.empty() ? "none" : "none beside those that are there",
                          told_deviation(placement.without)});
    fmt::print("{}", to_text(table));
  }
  if (!std::isfinite(placement.best.at(0).deviation))
    throw StudyError(request.file,
                     fmt::format("no {} of these sensors determine {}", options.count, options.target.name),
                     {"place more, or name other candidates"});
}

}  // namespace

void add_estimate_check_options(CLI::App& command, EstimateCheckRequest& r) {
  const char* group = "What can be known";
  command
      .add_flag("--estimate", r.on,
                "which unknowns the sensors determine in the model's run, how well, and which only together")
      ->group(group);
  command.add_option("--sensors", r.sensors, "of the model; those of [estimate] if not given")
      ->type_name("LIST")
      ->group(group);
  command.add_option("--unknowns", r.unknowns, "parameters, r1.R too; those of [unknowns] if not given")
      ->type_name("LIST")
      ->group(group);
  command.add_option("--stop", r.stop, "end of the run")->type_name("TIME")->group(group);
  command.add_option("--step", r.step, "between readings")->type_name("TIME")->group(group);
  command.add_option("--window", r.window, "only readings from one time to another: 4s:5s")
      ->type_name("FROM:TO")
      ->group(group);
  command.add_option("--limit", r.limit, "a deviation that many times a quantity's size is no knowledge (1)")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(group);
  command.add_option("--place-sensors", r.place, "the best so many sensors for --target")
      ->type_name("K")
      ->check(not_positive_count)
      ->group(group);
  command
      .add_option("--candidates", r.candidates,
                  "where they may be: variables or sensors; all nodes if not given")
      ->type_name("LIST")
      ->group(group);
  command
      .add_option("--beside", r.beside,
                  "sensors that are there already, with --place-sensors; all: those of [sensors]")
      ->type_name("LIST|all")
      ->group(group);
  command.add_option("--target", r.target, "what they are to determine: a variable that cannot be measured")
      ->type_name("VARIABLE")
      ->group(group);
  command.add_option("--noise", r.noise, "standard deviation of a reading where the model says none")
      ->type_name("QUANTITY")
      ->group(group);
  add_data_options(command, r.source,
                   "what this very record can determine: its inputs, its times, the readings that are there")
      ->group(group);
}

void refuse_without_estimate(const EstimateCheckRequest& r) {
  if (r.on) return;
  for (const auto& [option, given] : {std::pair{"--sensors", !r.sensors.empty()},
                                      {"--unknowns", !r.unknowns.empty()},
                                      {"--stop", !r.stop.empty()},
                                      {"--step", !r.step.empty()},
                                      {"--window", !r.window.empty()},
                                      {"--limit", r.limit != 1.0},
                                      {"--place-sensors", r.place != 0},
                                      {"--candidates", !r.candidates.empty()},
                                      {"--beside", !r.beside.empty()},
                                      {"--target", !r.target.empty()},
                                      {"--noise", !r.noise.empty()},
                                      {"--data", !r.source.files.empty()}})
    if (given)
      throw command_fault(tellegen_check, "T401", fmt::format("{} goes with --estimate", option),
                          {"add --estimate"});
}

namespace {

// The report, and whether all is known.
void print_reports(const Model& model, const EstimateCheckRequest& request,
                   const std::vector<EstimabilityReport>& reports) {
  std::vector<std::string> reasons;
  bool all_known = true;
  for (const EstimabilityReport& report : reports) {
    all_known = all_known && report.all_known;
    if (report.all_known) continue;
    for (const std::string& reason : report.reasons())
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
  }
  if (request.json) {
    Json json{{"model", model.name}, {"file", request.file}, {"all_known", all_known}};
    json["reports"] = Json::array();
    for (const EstimabilityReport& report : reports) json["reports"].push_back(to_json(report));
    fmt::print("{}", json_text(json));
  } else {
    fmt::print("{} ({})\n", model.name, request.file);
    for (const EstimabilityReport& report : reports) fmt::print("\n{}", report.text());
  }
  if (!all_known) throw StudyError(request.file, "not everything that was asked for can be known", reasons);
}

// What a record that is there can tell.
void check_record(const Model& model, const EstimateCheckRequest& request, const std::vector<int>& unknowns) {
  RecordOptions reading = record_options(model);
  reading.sensors = chosen_sensors(model, request.sensors);
  if (!request.window.empty())
    std::tie(reading.from, reading.to) = read_window({tellegen_check, "--window"}, request.window);
  if (!request.step.empty()) reading.step = read_seconds({tellegen_check, "--step"}, request.step);
  const Record record =
      read_record(model, data_source(tellegen_check, request.source, request.file), reading);
  if (!request.json)
    for (const std::string& remark : record.remarks) fmt::print("{}\n", remark);
  print_reports(model, request,
                {what_can_be_known(model, record,
                                   {.parameters = parameters_of(model, unknowns),
                                    .states = true,
                                    .unknowns = unknowns,
                                    .limit = request.limit})});
}

}  // namespace

void check_estimate(Model model, const EstimateCheckRequest& request) {
  const std::vector<int> unknowns = chosen_unknowns(model, request.unknowns);
  if (!request.source.files.empty() && request.place == 0) return check_record(model, request, unknowns);
  double stop = request.stop.empty() ? model.simulation.stop.value_or(0.0)
                                     : read_seconds({tellegen_check, "--stop"}, request.stop);
  const double step = !request.step.empty() ? read_seconds({tellegen_check, "--step"}, request.step)
                      : model.estimation.step
                          ? *model.estimation.step
                          : model.simulation.sample.value_or(model.simulation.step.value_or(0.0));
  if (!(stop > 0.0) || !(step > 0.0))
    throw command_fault(
        tellegen_check, "T613",
        fmt::format("nothing says {}", stop > 0.0 ? "how often the sensors are read" : "how long the run is"),
        {fmt::format("give --{0}, or {0} in [simulation]", stop > 0.0 ? "step" : "stop")});
  if (request.place > 0) {
    PlacementOptions options;
    options.unknowns = unknowns;
    options.step = step;
    options.until = stop;
    place(model, request, std::move(options));
    return;
  }
  if (!request.candidates.empty() || !request.target.empty() || !request.beside.empty())
    throw command_fault(tellegen_check, "T614", "--candidates, --beside and --target go with --place-sensors",
                        {"say how many are to be placed: --place-sensors 3"});
  // As the model says: each stage of [calibrate] for itself, then [estimate]. Otherwise what the user asks.
  std::vector<EstimabilityReport> reports;
  const bool as_said = request.unknowns.empty() && request.sensors.empty() && request.window.empty();
  if (as_said && !model.calibration.empty()) {
    for (const CalibrationStage& stage : model.calibration)
      reports.push_back(
          what_can_be_known(model,
                            planned_record(stage.sensors.empty() ? model.estimation.sensors : stage.sensors,
                                           stage.from.value_or(0.0), stage.to.value_or(stop), step),
                            {.parameters = parameters_of(model, stage.parameters), .limit = request.limit}));
    reports.push_back(
        what_can_be_known(model, planned_record(model.estimation.sensors, 0.0, stop, step),
                          {.states = true, .unknowns = unknowns, .arrival = true, .limit = request.limit}));
  } else {
    const auto [from, to] = window_of_run(request.window, stop);
    reports.push_back(
        what_can_be_known(model, planned_record(chosen_sensors(model, request.sensors), from, to, step),
                          {.parameters = parameters_of(model, unknowns),
                           .states = from == 0.0,
                           .unknowns = unknowns,
                           .arrival = from == 0.0,
                           .limit = request.limit}));
  }
  print_reports(model, request, reports);
}

}  // namespace tellegen
