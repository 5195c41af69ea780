// Iron losses of a machine, estimated from the flux densities of its pieces of iron over a period.
//
// Sinusoidal flux of amplitude B and frequency f heats a kilogram by [Bertotti 1988]
//
//   hysteresis f B^exponent + eddy f^2 B^2 + excess (f B)^1.5
//
// and what the coefficients say of a sine, they say of any B(t): hysteresis is counted by closed loops, each
// with half of its height as its amplitude (so that ripple on a larger swing, or on a constant field, is
// counted too), and the others by the rate of B, mean over the period:
//
//   eddy/(2 pi^2) mean of (dB/dt)^2 + excess/((2 pi)^1.5 mean of |cos|^1.5) mean of |dB/dt|^1.5
//
// An estimate: flux is taken to be uniform in a piece, to alternate and not to turn, and a loop to cost the
// same whatever field it stands on. Iron that is no piece of the network (the shoe above a buried magnet) is
// not in it, nor are eddy currents in magnets and damage by punching.
//
// [Bertotti 1988] General properties of power losses in soft ferromagnetic materials, IEEE Trans. Magn. 24.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/magnetics/static_study.h"

namespace tellegen {

struct LossCoefficients {
  double hysteresis = 0.0, exponent = 2.0, eddy = 0.0, excess = 0.0;  // W/kg at 1 Hz and 1 T
  double at(double frequency, double B) const;                        // of a sine, W/kg
};

// Least squares of relative errors, no coefficient below zero, the exponent between 1 and 4.
struct LossFit {
  LossCoefficients coefficients;
  double worst = 0.0;  // largest relative error of a point
};
LossFit fit_losses(std::span<const MachineLoss::Measured> points);

struct LossParts {
  double hysteresis = 0.0, eddy = 0.0, excess = 0.0;
  double total() const { return hysteresis + eddy + excess; }
};
// Of a kilogram, from values at equal distances over a period in s.
LossParts loss_of_period(std::span<const double> B, double period, const LossCoefficients& coefficients);

struct RegionLoss {
  std::string region;
  double mass = 0.0;   // kg
  double swing = 0.0;  // half of the largest difference of flux densities of a piece, T
  LossParts loss;      // W
};
struct IronLoss {
  double frequency = 0.0;  // electrical, Hz
  std::vector<RegionLoss> regions;
  std::vector<std::pair<std::string, LossFit>> fits;  // of materials whose losses were measured
  LossParts total() const;
};

// At a speed (mechanical, rad/s) with constant currents in the rotor's frame, from `angles` points of each
// electrical turn. A cage carries no currents: it turns with the field. Throws ModelError (T148) where a
// material has no losses, and as StaticStudy::at().
IronLoss iron_loss(const StaticStudy& study, double speed, double q, double d, double field, int angles);

}  // namespace tellegen
