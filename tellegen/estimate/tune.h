// A minimum of a function of few variables without derivatives: the simplex of [Nelder, Mead 1965].
#pragma once

#include <functional>
#include <vector>

namespace tellegen {

// Begins at `start` with steps of `size`; ends where the simplex is a thousandth of that.
std::vector<double> minimise(std::vector<double> start, double size,
                             const std::function<double(const std::vector<double>&)>& function);

}  // namespace tellegen
