// One curve of a RunCurves, and what can be asked of it: values, extremes, integrals, crossings. All of it
// is of the panels' polynomials, so nothing depends on how rows are spaced.
#pragma once

#include <complex>
#include <vector>

#include "tellegen/simulate/run_curves.h"

namespace tellegen {

class Curve {
 public:
  Curve(const RunCurves& record, std::size_t curve) : record_(record), curve_(curve) {}

  double value(double t) const;
  double slope(double t) const;

  struct Extreme {
    double value, at;
  };
  // In a time span within the record, which may be a single instant.
  Extreme minimum(double from, double to) const { return extreme(from, to, -1.0); }
  Extreme maximum(double from, double to) const { return extreme(from, to, 1.0); }

  double integral(double from, double to) const;
  double mean_square(double from, double to) const;
  // Integrals of the curve times cosine (real) and sine (imaginary) over one period.
  std::complex<double> fourier(double from, double period, int harmonic) const;

  // Where it comes to the level from below (rising) or from above, from `after` to `until`. A curve that
  // leaves the level where it lay passes nothing, as in SPICE.
  struct Crossing {
    double at;
    bool rising;
  };
  std::vector<Crossing> crossings(double level, double after, double until) const;

 private:
  struct Quartic;  // of u, from 0 to 4
  Quartic panel(std::size_t k) const;
  Extreme extreme(double from, double to, double sign) const;
  // Of f(value, t) dt. The rule is exact for polynomials of ninth degree over each part of a panel, and no
  // part is longer than `longest` (0: a panel).
  template <class Integrand>
  double integral(double from, double to, double longest, const Integrand& f) const;

  const RunCurves& record_;
  std::size_t curve_;
};

}  // namespace tellegen
