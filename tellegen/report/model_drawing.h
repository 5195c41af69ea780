// The network of a model as a picture: nodes with the sensors that read them, what depends on an unknown in
// colour. For reports, and for notebooks (python/).
#pragma once

#include "tellegen/model/model.h"
#include "tellegen/results/network_drawing.h"

namespace tellegen {

DrawnNetwork drawn_network(const Model& model);

}  // namespace tellegen
