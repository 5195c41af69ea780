// A machine's cross-section as a picture, its iron coloured by flux density.
#pragma once

#include <string>

#include "tellegen/magnetics/static_study.h"

namespace tellegen {

struct CrossSection {
  std::string svg;
  double tooth = 0.0, yoke = 0.0, pole = 0.0, hub = 0.0;  // the largest flux densities
};

// At one operating point. Currents of phases are shown in their slots.
CrossSection cross_section(const StaticStudy& study, const MachinePoint& point);

}  // namespace tellegen
