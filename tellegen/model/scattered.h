// Values at scattered points of a plane, brought onto a regular grid: what a test bench measured becomes a
// table of two arguments, with its continuous derivatives.
//
// The grid's values g are where
//
//   sum over points of (z - bilinear(g))^2 + 1e-4 sum of (second differences of g)^2
//
// is smallest: close to the points, as smooth as they allow, straight on beyond them. That is a banded
// system. What the table (as it is interpolated) still lacks at the points is brought onto the grid in the
// same way, until nothing is gained; so a grid that is fine enough meets every point. How well it does is
// part of the result. It disappoints where points are noisy, or lie closer together than the grid's and
// differ.
//
// The second differences alone are a discrete thin plate [Duchon 1977].
//
// [Duchon 1977] Splines minimizing rotation-invariant semi-norms in Sobolev spaces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tellegen/symbolic/table.h"

namespace tellegen {

struct ScatteredFit {
  std::shared_ptr<const Table> table;
  double rms = 0.0, largest = 0.0;  // of the points, over the range of their values
  std::size_t worst = 0;            // the point with the largest
};

// Points that lie on one line, or fewer than three of them, determine no surface.
bool on_one_line(const std::vector<double>& x, const std::vector<double>& y);

// The grid spans the points: so many values along x and along y, at least 4 each.
ScatteredFit fit_grid(const std::string& name, const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& z, std::size_t along_x, std::size_t along_y,
                      Interpolation interpolation);

// Twice as many values along each axis as points would have in a square.
std::size_t usual_grid(std::size_t points);

}  // namespace tellegen
