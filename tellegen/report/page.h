// What the parts of HTML reports have in common: settings, tables, and what a part is asked to show.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/results/html.h"
#include "tellegen/results/table.h"

namespace tellegen {

using Settings = std::vector<std::pair<std::string, std::string>>;

// What a page was made with; rows without a value are left out, the program's version comes last.
std::string settings_html(const Settings& settings);

std::string table_html(const TextTable& table, const std::string& caption = "");

// The network with its sensors and unknowns: nothing of the numbers, so that it is the same before and after
// a calibration.
PagePart network_part(const Model& model);

}  // namespace tellegen
