// Numbers of parameters from relations between signals, with no starting values.
//
// For given poles (responses.h) each equation is a regression: combinations of parameters times columns. A QR
// decomposition leaves of its thousands of rows as many as it has columns, so the parameters are then found
// on a problem of a dozen numbers: from the combinations that least squares give, and from elsewhere to see
// whether there are other minima. Poles are searched on a grid over all rates that the record can show.
//
// Noise in the columns makes these numbers somewhat wrong: they are the start of a fit to the readings
// themselves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/identify/relations.h"

namespace tellegen {

struct RelationStart {
  std::vector<double> numbers;  // per parameter
  // Sum of squared residuals over their sizes in the unrestricted regression; where there are poles, by the
  // geometric mean of the equations' own.
  double cost = 0.0;
};

struct RelationSearch {
  std::vector<RelationStart> starts;  // different ones, best first
  std::vector<Expr> poles;
  std::vector<Expr> missing;  // parameters that no equation contains
  std::int64_t regressions = 0;
};

// Terms whose signals are multiples of one another are one: their factors add up.
std::vector<Term> independent_terms(const Form& form, std::size_t rows);

// `negative`: per parameter, whether it may be below zero. `positive`: what of the parameters must be above
// zero, because a component could not be built otherwise. Of several records: relations of each, between the
// same parameters.
RelationSearch search_relations(std::span<const Relations> relations, const std::vector<char>& negative,
                                const std::vector<Expr>& positive = {});

}  // namespace tellegen
