#include "tellegen/model/fault.h"

#include <fmt/format.h>

namespace tellegen {
namespace {

// One row per code; docs/errors.md is written from this table.
constexpr FaultCode codes[] = {
    {"T100", "the file is not valid TOML"},
    {"T101", "a key or section that the file language does not know"},
    {"T102", "a value of the wrong type: a list where a number belongs, say"},
    {"T103", "a key or section that must be there is missing"},
    {"T105", "a name that cannot be used: not a letter, digits and underscores, or reserved"},
    {"T106", "one name for two things"},
    {"T110", "no kind of that name, in the model's folder or in the library"},
    {"T111", "a component gives something that is neither a port nor a parameter of its kind"},
    {"T112", "a port is not connected"},
    {"T113", "a parameter without a default is not given"},
    {"T114", "a node is joined to ports of different domains"},
    {"T115", "a domain has no datum"},
    {"T116", "a model contains itself"},
    {"T117", "an exported port leads to a node that the model does not have"},
    {"T120", "an expression cannot be read"},
    {"T121", "an expression uses a name that the model does not have"},
    {"T122", "an unknown unit"},
    {"T123", "a unit of the wrong dimension"},
    {"T124", "a value out of bounds"},
    {"T125", "a value that is not a finite number"},
    {"T126", "values that depend on each other in a circle"},
    {"T127", "a value depends on what it may not depend on"},
    {"T128",
     "a table that is not a function: too few points, x not increasing, or scattered points that it does not "
     "meet"},
    {"T130", "a parameter to be replaced that the model does not have"},
    {"T131", "an input to be set from outside that the model does not have"},
    {"T132", "a component that is to begin steady, of a kind that does not say what that is"},
    {"T133", "parameters of a component that contradict each other"},
    {"T134", "ports of a component that must not be joined to one node"},
    {"T140", "a parameter to be studied that the model does not have"},
    {"T141", "an objective that the model does not have"},
    {"T142", "an objective that says nothing, or too much"},
    {"T143", "a condition that compares nothing, or cannot change during a run"},
    {"T144", "a run that the model does not have"},
    {"T145", "a design variable that cannot be one, or bounds that leave it no room"},
    {"T146", "a constraint that compares nothing, or in a way that cannot be held"},
    {"T147", "a design without variables or goal, or with weights that mean nothing"},
    {"T148", "a study of what the model does not offer"},
    {"T149", "a number that cannot be written to the model file, since it stands in another"},
    {"T150", "a kind without edges, or a file that is not a kind"},
    {"T151", "an unknown domain, or an edge or node whose domain is not known"},
    {"T152", "a kind whose equations are not as many as its edges and internal variables"},
    {"T153", "a formula of a kind uses a name that the kind does not have"},
    {"T154", "a formula of a kind cannot be read"},
    {"T155", "one name for two things in a kind"},
    {"T156", "der() of something that is not a variable of the kind"},
    {"T157", "an optional parameter where its value is needed"},
    {"T158", "a worked check that names what the kind does not have"},
    {"T160", "an unknown that follows from other parameters"},
    {"T161", "a word, or the lack of one, that leaves an unknown or an estimation without meaning"},
    {"T162", "bounds or a window that are not two values, or leave nothing between them"},
    {"T163", "an estimation or calibration that names a sensor or an input that there is not"},
    {"T170", "a material that the stack does not have"},
    {"T171", "a region that is no layer or part of the stack"},
    {"T172", "a face that a layer does not have"},
    {"T173", "a stack with too many cells"},
    {"T174", "parts of a layer that overlap"},
    {"T175", "a layer that does not touch the one above it"},
    {"T176", "a film that touches nothing"},
    {"T177", "a probe without a cell to read"},
    {"T178", "a stack that begins steady and has no film"},
    {"T180", "a file or folder cannot be read"},
    {"T181", "a CSV file with something that is not a number"},
    {"T182", "a CSV file without that column"},
    {"T184", "a material that the machine does not have"},
    {"T185", "a winding that makes no three phases in its slots"},
    {"T186", "a rotor of a type that there is not"},
    {"T190", "a part of a mechanism that says something impossible"},
    {"T191", "a frame of a mechanism that hangs on nothing"},
    {"T192", "a joint that has to close a circuit and carries a port, a spring, friction or a driver"},
    {"T193", "a circuit of joints that cannot be closed from the given start"},
    {"T194", "a quaternion that would have to follow from a circuit"},
    {"T195", "a driver that prescribes what is already decided"},
    {"T196", "a URDF file that does not describe a robot"},
};

constexpr std::size_t longest_line = 1000;  // a file of one line is quoted in part

// Bytes of the UTF-8 character at the front of `text`; 0: it is none, or one that moves the cursor.
std::size_t printable_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (char c : text.substr(1, size - 1))
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, what is beyond Unicode, and the second set of control characters.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f) ||
                     (first == 0xc2 && second < 0xa0);
  return wrong ? 0 : size;
}

// Faults quote what the file says; whatever that is, a terminal and a JSON file must be able to take it.
void make_printable(std::string& text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    if (clean.size() > longest_line) {
      clean += " ...";
      break;
    }
    const std::size_t size = printable_size(std::string_view(text).substr(at));
    if (size == 0)
      clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
    else
      clean.append(text, at, size), at += size;
  }
  text = std::move(clean);
}

std::vector<Fault> printable(std::vector<Fault> faults) {
  for (Fault& fault : faults) {
    make_printable(fault.message);
    for (std::string& detail : fault.details) make_printable(detail);
  }
  return faults;
}

std::string all_texts(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    if (!text.empty()) text += '\n';
    text += to_text(fault);
  }
  return text;
}

}  // namespace

std::span<const FaultCode> fault_codes() { return codes; }

std::string to_text(const Fault& fault) {
  std::string text = fault.place.file;
  if (fault.place.line > 0) text += fmt::format(":{}", fault.place.line);
  if (!text.empty()) text += ": ";
  text += fmt::format("{}: {}", fault.code, fault.message);
  for (const std::string& detail : fault.details) text += "\n  " + detail;
  return text;
}

ModelError::ModelError(std::vector<Fault> faults) : ModelError(printable(std::move(faults)), Printable{}) {}

ModelError::ModelError(std::vector<Fault> faults, Printable)
    : std::runtime_error(all_texts(faults)), faults_(std::move(faults)) {}

}  // namespace tellegen
