// Storage that is not there. A kind with `i = f(v) + C*der(v)` says that its edge stores; a component whose C
// is zero does not, and to class its edge as storage would make a state of a voltage that other components
// determine. Such a component takes a variant of its kind, the same but for the terms that vanish.
#pragma once

#include "tellegen/model/model.h"

namespace tellegen {

// Constant parameters of value 0 are put into those equations that lose a time derivative by it. Variants
// follow the other kinds in Model::kinds, one for each set of zeros in use.
void drop_absent_storage(Model& model);

}  // namespace tellegen
