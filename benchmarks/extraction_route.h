// The published route to the qd0 model, conic relaxation and local search, beside least squares and the
// published tables: part of `tellegen benchmark machine-extraction`.
#pragma once

#include "benchmarks/report.h"
#include "tellegen/magnetics/extraction.h"

namespace tellegen {

void show_extraction_route(const MachineRecord& linear, const MachineRecord& m19, bool quick, Report& report);

}  // namespace tellegen
