// The scalable ladder as a model file: the text a user would write for N loops.
//
//   n2 --R1-- n3 --R2-- n5 --R3-- n7 ...        rail
//             |         |         |
//             L, C      L, C      L, C          to ground, through n4, n6, n8, ...
//
// Outputs: V_first, I_first (node 4, l1) and V_last, I_last (node 2N+2, lN).
#pragma once

#include <string>

namespace tellegen {

std::string ladder_model(int loops);

}  // namespace tellegen
