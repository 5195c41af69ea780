// The spectrum of a series that should be white: innovations of a filter whose noise is right have a flat
// one.
//
// Averaged periodograms [Welch 1967]: stretches of 256 values that overlap by half, tapered by Hann's window.
// White values of variance 1 have density 1 at every frequency.
//
// [Welch 1967] The use of fast Fourier transform for the estimation of power spectra, IEEE Trans. AU-15.
#pragma once

#include <span>
#include <vector>

namespace tellegen {

struct Spectrum {
  std::vector<double> frequency, density;  // Hz; both empty where the series is too short
  int stretches = 0;
  double lowest = 0.0, highest = 0.0;  // between these lie 95 % of the densities of white values
};

// Missing values (NaN) count as zero, and the density is raised by as much as they lack.
Spectrum averaged_spectrum(std::span<const double> series, double step);

}  // namespace tellegen
