#include "tellegen/model/kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/units.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {

std::string broken_bound(const KindParameter& parameter, double value) {
  const auto text = [&](double si) {
    std::string number = text_number(units().from_si(si, parameter.unit));
    return parameter.unit.empty() || parameter.unit == "1" ? number : number + " " + parameter.unit;
  };
  const auto broken = [&](const char* relation, double bound) {
    return fmt::format("must be {} {}, and is {}", relation, text(bound), text(value));
  };
  if (parameter.above && !(value > *parameter.above)) return broken("above", *parameter.above);
  if (parameter.at_least && !(value >= *parameter.at_least)) return broken("at least", *parameter.at_least);
  if (parameter.below && !(value < *parameter.below)) return broken("below", *parameter.below);
  if (parameter.at_most && !(value <= *parameter.at_most)) return broken("at most", *parameter.at_most);
  return {};
}

bool one_edge_name(const Kind& kind) {
  return std::all_of(kind.edges.begin(), kind.edges.end(),
                     [&](const KindEdge& edge) { return edge.name == kind.edges.front().name; });
}

}  // namespace tellegen
