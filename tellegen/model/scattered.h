// Values at scattered points of a plane or of space, brought onto a regular grid: what a test bench measured
// becomes a table of two or three arguments, with its continuous derivatives.
//
// The grid's values g are where
//
//   sum over points of (z - linear(g))^2 + 1e-4 sum of (second differences of g)^2
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

// `arguments` are two or three columns. Points on one line of a plane, or in one plane of space, determine
// nothing.
bool too_flat(const std::vector<std::vector<double>>& arguments);

// The grid spans the points: so many values along each axis, at least 4.
ScatteredFit fit_grid(const std::string& name, const std::vector<std::vector<double>>& arguments,
                      const std::vector<double>& values, const std::vector<std::size_t>& along,
                      Interpolation interpolation);

// Twice as many values along each axis as points would have in a square, or in a cube, if not too many.
std::size_t usual_grid(std::size_t points, std::size_t dimensions);

}  // namespace tellegen
