#include "tellegen/netlist/netlist.h"

#include <algorithm>
#include <fstream>

#include "tellegen/model/document.h"
#include "tellegen/netlist/fields.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view directives_of_spice[] = {
    ".tran", ".end", ".ends", ".subckt",  ".model",  ".param", ".include", ".inc",  ".lib",   ".control",
    ".op",   ".ac",  ".dc",   ".options", ".option", ".print", ".ic",      ".temp", ".global"};

ReadOptions completed(ReadOptions options) {
  if (options.library.empty()) options.library = library_folder();
  for (auto& [name, text] : options.overrides) name = lower_case(name);  // SPICE knows no case
  return options;
}

// From a line of the model's text to that of the netlist.
class Mapping {
 public:
  Mapping(const ConvertedNetlist& converted, const fs::path& file)
      : converted_(converted), file_(file.string()) {}

  void move(Place& place) const {
    if (place.file == file_ && place.line > 0) place = at(place.line);
  }
  void move(int& line) const {  // of the netlist itself
    const Place place = at(line);
    line = place.file == file_ ? place.line : 0;
  }

 private:
  Place at(int line) const {
    const auto index = static_cast<std::size_t>(line) - 1;
    if (line < 1 || index >= converted_.places.size() || converted_.places[index].file.empty())
      return {file_, 0};
    return converted_.places[index];
  }
  const ConvertedNetlist& converted_;
  std::string file_;
};

Model read_converted(const ConvertedNetlist& converted, const fs::path& file, const ReadOptions& options) {
  const Mapping mapping(converted, file);
  try {
    Model model = read_model_text(converted.toml, file, options);
    for (Component& component : model.components) mapping.move(component.place);
    for (ModelParameter& parameter : model.parameters) mapping.move(parameter.place);
    for (ModelOutput& output : model.outputs) mapping.move(output.place);
    for (ModelInitial& initial : model.initial) mapping.move(initial.place);
    for (ModelNode& node : model.nodes) mapping.move(node.line);
    mapping.move(model.simulation.place);
    return model;
  } catch (const ModelError& error) {
    std::vector<Fault> faults = error.faults();
    for (Fault& fault : faults) mapping.move(fault.place);
    throw ModelError(std::move(faults));
  }
}

}  // namespace

bool is_netlist(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  if (ending == ".cir" || ending == ".sp" || ending == ".spice" || ending == ".net" || ending == ".ckt")
    return true;
  if (ending == ".toml") return false;
  // Another ending, or none: a line that begins with one of SPICE's directives. No line of a model file
  // begins with a dot.
  std::ifstream in(file, std::ios::binary);
  std::string line;
  for (int k = 0; k < 20000 && std::getline(in, line); ++k) {
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] != '.') continue;
    const std::string word = lower_case(line.substr(first, line.find_first_of(" \t\r", first) - first));
    if (is_one_of(word, directives_of_spice)) return true;
  }
  return false;
}

ConvertedNetlist convert_netlist(const fs::path& file, const ReadOptions& options) {
  return convert_netlist_text(read_text(file, {file.string(), 0}), file, options);
}

ConvertedNetlist convert_netlist_text(std::string_view text, const fs::path& name, const ReadOptions& given,
                                      double most_elements) {
  const ReadOptions options = completed(given);
  Cards cards = read_cards_text(text, name);
  const auto circuit = sort_cards(cards);
  const auto flat = flatten(*circuit, most_elements, cards.missing);
  const DeviceTable devices(options.library);
  return Translation(cards, *flat, devices, options.overrides).convert();
}

Model read_netlist(const fs::path& file, const ReadOptions& given, std::vector<std::string>* notes,
                   Analyses* analyses) {
  const ReadOptions options = completed(given);
  ConvertedNetlist converted = convert_netlist(file, options);
  if (notes) *notes = std::move(converted.notes);
  if (analyses) *analyses = std::move(converted.analyses);
  return read_converted(converted, file, options);
}

Model read_any_model(const fs::path& file, const ReadOptions& options, std::vector<std::string>* notes,
                     Analyses* analyses) {
  if (is_netlist(file)) return read_netlist(file, options, notes, analyses);
  ReadOptions noted = options;
  if (notes) noted.notes = notes;
  return read_model(file, noted);
}

}  // namespace tellegen
