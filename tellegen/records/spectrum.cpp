#include "tellegen/records/spectrum.h"

#include <cmath>
#include <numbers>

#include "tellegen/records/statistics.h"

namespace tellegen {

Spectrum averaged_spectrum(std::span<const double> series, double step) {
  Spectrum spectrum;
  std::size_t length = 256;
  while (length > 16 && series.size() < 8 * length) length /= 2;
  if (series.size() < 2 * length || !(step > 0.0)) return spectrum;

  std::vector<double> window(length), cosine(length), sine(length);
  double power = 0.0;
  for (std::size_t k = 0; k < length; ++k) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    window[k] = 0.5 - 0.5 * std::cos(angle);
    power += window[k] * window[k];
    cosine[k] = std::cos(angle);
    sine[k] = std::sin(angle);
  }
  std::size_t present = 0;
  for (double value : series) present += std::isfinite(value) ? 1 : 0;
  if (present < 2 * length) return spectrum;
  const double share = static_cast<double>(present) / static_cast<double>(series.size());

  const std::size_t half = length / 2;
  spectrum.density.assign(half - 1, 0.0);
  std::vector<double> tapered(length);
  for (std::size_t first = 0; first + length <= series.size(); first += half) {
    for (std::size_t k = 0; k < length; ++k)
      tapered[k] = std::isfinite(series[first + k]) ? window[k] * series[first + k] : 0.0;
    for (std::size_t f = 1; f < half; ++f) {
      double real = 0.0, imaginary = 0.0;
      for (std::size_t k = 0, at = 0; k < length; ++k, at = (at + f) % length) {
        real += tapered[k] * cosine[at];
        imaginary += tapered[k] * sine[at];
      }
      spectrum.density[f - 1] += (real * real + imaginary * imaginary) / power;
    }
    ++spectrum.stretches;
  }
  for (std::size_t f = 1; f < half; ++f) {
    spectrum.frequency.push_back(static_cast<double>(f) / (static_cast<double>(length) * step));
    spectrum.density[f - 1] /= spectrum.stretches * share;
  }
  // Neighbouring stretches share half their values; with Hann's window they correlate by 1/36 in power.
  const double degrees = 2.0 * spectrum.stretches / (1.0 + 2.0 / 36.0);
  spectrum.lowest = chi_square_quantile(0.025, degrees) / degrees;
  spectrum.highest = chi_square_quantile(0.975, degrees) / degrees;
  return spectrum;
}

}  // namespace tellegen
