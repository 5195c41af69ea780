// What the names of columns say of times; is_time_name stands in table_source.h.
#pragma once

#include <string_view>

namespace tellegen {

bool is_date_name(std::string_view name);   // of points in time: "Datum"
bool has_time_unit(std::string_view name);  // in brackets: "Test (Sec)"
bool says_time(std::string_view name);      // it has such a word in it: "Step time", "DPt Time"

}  // namespace tellegen
