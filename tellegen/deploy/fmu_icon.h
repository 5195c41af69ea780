// The picture of an FMU in an importer's diagram: a box with a pin for each input on its left and for each
// output on its right, and in it a linear graph.
#pragma once

#include <string>

namespace tellegen {

std::string fmu_icon(int inputs, int outputs);  // the bytes of a PNG

}  // namespace tellegen
