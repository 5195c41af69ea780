// What an estimation found, as a part of a page.
#pragma once

#include <string>
#include <vector>

#include "tellegen/estimate/estimate.h"
#include "tellegen/report/page.h"

namespace tellegen {

struct EstimatePartOptions {
  std::string title;              // empty: the model's name
  std::vector<std::string> show;  // quantities; none: outputs that no sensor reads, and unknowns
  std::string truth;              // columns of what is true, as `synthesize --truth` writes them
  Settings settings{};            // what the page was made with
};

// Which unit an estimated quantity is reported in; SI by its variable where it has none of its own.
std::string quantity_unit(const Model& model, const EstimatedQuantity& quantity);

// Figures of what was estimated, with the truth where it is known; innovations and their spectrum; tables.
// Throws ModelError: T671 where `show` names something else, T670 where the truth has nothing of it.
PagePart estimate_part(const Model& model, const Record& record, const Estimate& estimate,
                       const EstimatePartOptions& options);

}  // namespace tellegen
