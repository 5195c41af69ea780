// Which numbers the parameters of a study take: the rows of a design.
//
//   grid     every combination of the values of each axis, the last axis fastest
//   lhs      Latin hypercube: each axis cut into as many layers as there are samples, one sample in each
//   morris   trajectories through a grid of four levels, in each of which every axis moves once, by 2/3
//   sobol    matrices A and B, and for each axis A with that column of B: N (k + 2) samples
//
// Numbers are in the unit of their axis, so that a row can be given to --set as it stands. Random designs
// are uniform over an axis, or over its logarithm. They follow from the seed alone: the k-th number of a
// sequence is a hash of seed, sequence and k, on every machine the same.
//
// [McKay 1979] Technometrics 21, 239. [Morris 1991] Technometrics 33, 161.
// [Saltelli 2010] Comput. Phys. Commun. 181, 259.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tellegen {

// One parameter that varies, in its unit.
struct Axis {
  std::string name, unit;
  double lower = 0.0, upper = 0.0;
  bool log = false;
  std::vector<double> values = {};  // of a grid; empty: anything from lower to upper
};

enum class Design { grid, lhs, morris, sobol };

struct SampleSet {
  std::size_t width = 0;
  std::vector<double> values;  // row by row
  std::size_t rows() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const double> row(std::size_t r) const { return {values.data() + r * width, width}; }
};

// The count values of a grid from lower to upper, both among them, equal in distance or in ratio.
std::vector<double> grid_values(double lower, double upper, bool log, int count);

SampleSet grid_samples(const std::vector<Axis>& axes);
SampleSet latin_hypercube(const std::vector<Axis>& axes, std::size_t samples, std::uint64_t seed);
SampleSet morris_samples(const std::vector<Axis>& axes, std::size_t trajectories, std::uint64_t seed);
// Blocks of k + 2 rows: A's row, B's row, then A's row with the number of B for each axis in turn.
SampleSet sobol_samples(const std::vector<Axis>& axes, std::size_t base, std::uint64_t seed);

inline constexpr double morris_step = 2.0 / 3.0;  // of an axis, as everywhere with four levels

// From 0 up to but not 1.
double uniform_number(std::uint64_t seed, std::uint64_t sequence, std::uint64_t k);

}  // namespace tellegen
