// What is wrong with a netlist, T5xx. One card of the netlist gives one fault; all are thrown together.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

std::span<const FaultCode> netlist_fault_codes();  // for docs/errors.md

// Empty details are left out.
ModelError netlist_fault(const Place& place, std::string_view code, std::string message,
                         std::vector<std::string> details = {});

}  // namespace tellegen
