#include "tellegen/estimate/coordinate.h"

#include <cmath>

namespace tellegen {

using Coordinate = ModelUnknown::Coordinate;

double to_coordinate(Coordinate coordinate, double value) {
  if (coordinate == Coordinate::inverse) return 1.0 / value;
  if (coordinate == Coordinate::logarithm) return std::log(value);
  return value;
}

double from_coordinate(Coordinate coordinate, double at) {
  if (coordinate == Coordinate::inverse) return 1.0 / at;
  if (coordinate == Coordinate::logarithm) return std::exp(at);
  return at;
}

double value_slope(Coordinate coordinate, double at) {
  if (coordinate == Coordinate::inverse) return -1.0 / (at * at);
  if (coordinate == Coordinate::logarithm) return std::exp(at);
  return 1.0;
}

Expr from_coordinate(Coordinate coordinate, Expr at) {
  if (coordinate == Coordinate::inverse) return pow(at, -1.0);
  if (coordinate == Coordinate::logarithm) return at.pool().call("exp", {at});
  return at;
}

}  // namespace tellegen
