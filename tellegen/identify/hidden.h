// Starting values where one variable that nobody reads stands as a factor before states: the speed of an
// induction machine of which only voltages and currents are recorded.
//
//   s' = A_s + z B_s     the rate of each such state s, z the hidden variable (products of unknowns: no sum)
//   s  = G_s             what the other equations say of it: an integral of signals, or a sum of signals
//
// so a_s + z b_s = 0 with a_s = A_s - G_s' and b_s = B_s, sums of combinations of parameters times signals.
// Two of these make one relation without z,
//
//   a_s b_t - a_t b_s = 0,
//
// again such a sum, that is searched as others are (search.h). Its columns are integrated from the first row
// on, with values halfway between rows and differences of rows in place of derivatives: noise in a difference
// is taken back by the next. From the numbers found z follows row by row, z = -(sum of a b) / (sum of b^2),
// and with it as a reading the other relations (the balance of torques) give the other parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tellegen/identify/search.h"

namespace tellegen {

struct HiddenVariable {
  std::string name;                    // in the model's words: rotor.w
  std::vector<std::string> equations;  // that it was eliminated from, and those used after
  std::vector<std::string> left_out;
  RelationSearch search;  // starts for all parameters
};

// `unknowns`, `negative`, `positive`: as of derive_relations() and search_relations(). Empty: no variable can
// be eliminated so, or the record is too poor.
std::optional<HiddenVariable> search_hidden(const Model& model, const Record& record,
                                            const std::vector<int>& unknowns,
                                            const std::vector<char>& negative,
                                            const std::vector<Expr>& positive);

}  // namespace tellegen
