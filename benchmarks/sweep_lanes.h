// `tellegen benchmark sweep`, the part about speed: samples one by one, side by side in lanes, and by hand.
#pragma once

#include "benchmarks/report.h"

namespace tellegen {

// So many samples of the thermal network, and a tenth of them of the rectifier.
void report_lanes(Report& report, int samples);

}  // namespace tellegen
