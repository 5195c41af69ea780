// Elimination order of a block: AMD, but long thin structures are cut first.
//
// A ladder or a line eliminated end to end is one chain of dependent rows, and a triangular solve then waits
// for each row's latency. Cutting it at a few nodes leaves independent parts whose rows can be interleaved
// (row_solver.h), at the price of a few entries of fill. Only cuts of a handful of nodes are taken: meshes
// keep plain AMD.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tellegen {

// Pattern by columns; the order of elimination, symmetric. Rows and columns are both permuted by it.
std::vector<std::int32_t> elimination_order(std::int32_t size, const std::int32_t* column_start,
                                            const std::int32_t* row);

}  // namespace tellegen
