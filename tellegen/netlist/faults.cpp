#include "tellegen/netlist/faults.h"

namespace tellegen {
namespace {

constexpr FaultCode codes[] = {
    {"T500", "an element of a netlist that is not known, or not supported"},
    {"T501", "a directive of a netlist that is not known, or not supported"},
    {"T502", "a line of a netlist with something missing, or too much"},
    {"T503", "a .model that is not there, of the wrong type, or with a parameter it does not have"},
    {"T504", "a .subckt that is not there, has other nodes or parameters, or does not end"},
    {"T505", "an expression of a netlist that cannot be read"},
    {"T506", "an expression of a netlist names something that is not there"},
    {"T507", "a netlist, subcircuit, function or parameter that contains itself"},
    {"T508", "a value of a netlist that is not a number, or not one that can be used"},
    {"T509", "one name for two things in a netlist"},
    {"T510", "subcircuits or parameters that are nested beyond all measure"},
};

}  // namespace

std::span<const FaultCode> netlist_fault_codes() { return codes; }

ModelError netlist_fault(const Place& place, std::string_view code, std::string message,
                         std::vector<std::string> details) {
  std::erase(details, "");
  Fault fault;
  fault.place = place;
  fault.code = code;
  fault.message = std::move(message);
  fault.details = std::move(details);
  return ModelError(std::move(fault));
}

}  // namespace tellegen
