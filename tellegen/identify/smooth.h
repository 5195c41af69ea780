// Readings with less noise, for relations between them: noise in the columns of a regression makes its
// numbers too small.
//
// At each row a parabola is fitted to the readings around it. Of windows that grow, the longest is taken
// whose value still agrees with those of all shorter ones within their deviations: wide where a signal is
// smooth, short at its jumps. Rows without a reading get a value too.
#pragma once

#include <vector>

namespace tellegen {

// `readings`: NaN where there is none; `noise`: their standard deviation, 0 to leave them as they are. Empty:
// no reading at all.
std::vector<double> smoothed(const std::vector<double>& readings, double noise);

// Standard deviation of what is white in a signal, from its second differences; NaN where there are too few.
double white_noise(const std::vector<double>& readings);

}  // namespace tellegen
