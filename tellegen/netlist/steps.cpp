// .step: the values that a parameter is to take, one run for each. `tellegen sweep` does these; here they are
// found.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/phrases.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr double most_values = 1e6;
constexpr std::string_view step_form =
    "it is written: .step param x 1k 10k 1k, .step param x list 1k 2k 5k, .step dec param x 1k 100k 10 or "
    ".step v1 0 5 1";

std::vector<double> stepped(const std::string& scale, double first, double last, double step,
                            const Place& place) {
  std::vector<double> values;
  if (scale == "lin") {
    if (step == 0.0 && first != last)
      throw netlist_fault(place, "T508", "the increment of .step is 0", {std::string(step_form)});
    step = first <= last ? std::abs(step) : -std::abs(step);
    const double count = step == 0.0 ? 0.0 : std::floor((last - first) / step * (1 + 1e-12) + 1e-9);
    if (count >= most_values)
      throw netlist_fault(place, "T508", fmt::format(".step has {:g} values, which are too many", count));
    for (double k = 0.0; k <= count; ++k) values.push_back(first + k * step);
    return values;
  }
  if (!(first > 0.0) || !(last >= first) || !(step >= 1.0))
    throw netlist_fault(
        place, "T508",
        fmt::format(".step {} needs a begin above 0, an end above it and a number of points", scale));
  const double ratio = std::pow(scale == "dec" ? 10.0 : 2.0, 1 / step);
  const double count = std::floor(std::log(last / first) / std::log(ratio) + 1e-9);
  if (count >= most_values)
    throw netlist_fault(place, "T508", fmt::format(".step has {:g} values, which are too many", count));
  for (double k = 0.0; k <= count; ++k) values.push_back(first * std::pow(ratio, k));
  return values;
}

}  // namespace

std::optional<StepWords> step_words(const Card& card) {
  StepWords found;
  std::vector<std::string> words = words_of_phrase(card.text, card.place);
  std::erase(words, "=");
  words.erase(words.begin());
  const auto take = [&](std::initializer_list<std::string_view> known) {
    if (words.empty() || std::find(known.begin(), known.end(), words[0]) == known.end()) return std::string();
    std::string word = words[0];
    words.erase(words.begin());
    return word;
  };
  std::string scale = take({"lin", "dec", "oct"});
  found.is_parameter = !take({"param", "params"}).empty();
  if (words.size() < 2) return std::nullopt;
  found.name = words[0];
  words.erase(words.begin());
  if (scale.empty()) scale = take({"list", "lin", "dec", "oct"});
  found.scale = scale.empty() ? "lin" : scale;
  found.values = std::move(words);
  return found;
}

// What a netlist calls a number that can be varied, in the names of the model; empty where it has none.
std::string Translation::stepped_name(const StepWords& step) const {
  const auto& parameters = flat_.instances[0].circuit->parameters;
  if (parameters.contains(step.name)) return names_.parameter(step.name);
  if (step.is_parameter) return "";
  // Xyce's r1:r is the element's own value; others, as the amplitude of a sine, cannot be varied.
  const auto colon = step.name.find(':');
  const std::string element = step.name.substr(0, colon);
  if (!names_.has_element(element)) return "";
  const std::string of = colon == std::string::npos ? "" : step.name.substr(colon + 1);
  const bool source = element[0] == 'v' || element[0] == 'i';
  if (!of.empty() && of != (source ? "dcv0" : element.substr(0, 1))) return "";
  // A resistance is R, a constant voltage V.
  if (std::string_view("rlcvi").find(element[0]) == std::string_view::npos) return "";
  return fmt::format("{}.{:c}", names_.element(element), element[0] - 'a' + 'A');
}

void Translation::read_step(const Card& card) {
  const auto step = step_words(card);
  if (!step || step->values.empty())
    throw netlist_fault(card.place, "T502", ".step is not complete", {std::string(step_form)});
  if (step->name == "temp" || step->name == "data" || step->name == "npn" || step->name == "pnp" ||
      step->name == "nmos" || step->name == "pmos" || step->name == "d")
    return note(
        card.place,
        fmt::format(".step of '{}' is not followed: parameters and values of elements are", step->name));
  const std::string name = stepped_name(*step);
  if (name.empty() && step->name.find_first_of(":(") != std::string::npos)
    return note(card.place,
                fmt::format(".step of '{}' is not followed: only parameters of the netlist, values of "
                            "R, L and C and constant sources are",
                            step->name));
  if (name.empty())
    throw netlist_fault(
        card.place, "T506",
        fmt::format("there is no parameter or element '{}' whose value .step could vary", step->name),
        {std::string(step_form)});
  std::vector<double> numbers;
  for (const std::string& text : step->values)
    numbers.push_back(names_.number(names_.constant(text, flat_.instances[0], card.place), card.place));
  if (step->scale != "list") {
    if (numbers.size() != 3)
      throw netlist_fault(card.place, "T502",
                          fmt::format(".step has a begin, an end and {}",
                                      step->scale == "lin" ? "an increment" : "a number of points"),
                          {std::string(step_form)});
    numbers = stepped(step->scale, numbers[0], numbers[1], numbers[2], card.place);
  }
  for (const StepSpec& other : result_.analyses.steps)
    if (other.name == name)
      throw netlist_fault(card.place, "T509", fmt::format("'{}' has two .step", step->name));
  result_.analyses.steps.push_back({name, std::move(numbers), card.place});
}

}  // namespace tellegen
