// Cells of a CSV file.
#pragma once

#include <string>

namespace tellegen {

std::string csv_cell(const std::string& text);                             // in quotes where it must be
std::string csv_header(const std::string& name, const std::string& unit);  // T2 [degC]

}  // namespace tellegen
