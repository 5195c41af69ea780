// The cards sorted: what a netlist, or one of its subcircuits, defines and contains. Nothing is translated
// yet.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/netlist/expressions.h"
#include "tellegen/netlist/fields.h"
#include "tellegen/netlist/lines.h"

namespace tellegen {

struct ParameterCard {
  std::string text;
  Place place;
};

struct ModelCard {  // .model name type(name=value ...)
  std::string name, type;
  std::vector<KeyValue> values;
  std::vector<std::string> flags;  // words without a value: pchan
  std::string like;                // ako:, the model whose values come first
  Place place;
  std::optional<ModelError> wrong;  // matters where the model is used; libraries have models of every program
};

struct FunctionCard : SpiceFunction {
  Place place;
};

struct Netlist {
  std::string name;                                 // empty: the netlist itself
  std::vector<std::string> ports;                   // of a .subckt
  std::vector<std::string> optional;                // nodes of its last ports, where an X leaves them out
  std::map<std::string, ParameterCard> defaults;    // of its own line, which an X may replace
  std::map<std::string, ParameterCard> parameters;  // .param
  std::vector<std::string> parameter_order;
  std::map<std::string, FunctionCard> functions;
  std::map<std::string, ModelCard> models;
  std::map<std::string, std::unique_ptr<Netlist>> subcircuits;
  std::vector<Card> elements;    // and .ic, .nodeset
  std::vector<Card> directives;  // all others; of the netlist itself only
  const Netlist* parent = nullptr;
  Place place;
};

// .step: what varies, how, and the numbers as they are written.
struct StepWords {
  bool is_parameter = false;
  std::string name, scale;  // lin, dec, oct, list
  std::vector<std::string> values;
};
std::optional<StepWords> step_words(const Card& card);  // nothing where it is not complete

// Throws ModelError with every fault of the cards' form; what is defined twice is added to the notes.
std::unique_ptr<Netlist> sort_cards(Cards& cards);

}  // namespace tellegen
