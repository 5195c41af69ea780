// Vectors and matrices of expressions. Zeros and ones of the geometry fold away as they are built, so a plane
// mechanism becomes plane equations without anybody saying that it is plane.
#pragma once

#include <array>
#include <cstddef>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

using Vec3 = std::array<Expr, 3>;
using Mat3 = std::array<Vec3, 3>;  // rows

inline Vec3 zero_vector(Pool& pool) {
  const Expr zero = pool.number(0);
  return {zero, zero, zero};
}
inline Mat3 unit_matrix(Pool& pool) {
  const Expr zero = pool.number(0), one = pool.number(1);
  return {Vec3{one, zero, zero}, Vec3{zero, one, zero}, Vec3{zero, zero, one}};
}

inline Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Vec3 operator-(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Vec3 operator-(const Vec3& a) { return {-a[0], -a[1], -a[2]}; }
inline Vec3 operator*(Expr s, const Vec3& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline Expr dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

inline Vec3 operator*(const Mat3& m, const Vec3& a) { return {dot(m[0], a), dot(m[1], a), dot(m[2], a)}; }
inline Mat3 transposed(const Mat3& m) {
  return {Vec3{m[0][0], m[1][0], m[2][0]}, Vec3{m[0][1], m[1][1], m[2][1]}, Vec3{m[0][2], m[1][2], m[2][2]}};
}
inline Mat3 operator*(const Mat3& a, const Mat3& b) {
  const Mat3 columns = transposed(b);
  Mat3 product;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) product[i][j] = dot(a[i], columns[j]);
  return product;
}

// The turn by `angle` about a direction of length 1: cos I + sin [n]x + (1 - cos) n n'.
Mat3 turn_about(const Vec3& n, Expr angle);

// Rx(a) Ry(b) Rz(c): body-fixed 1-2-3 angles.
Mat3 turn_123(Expr a, Expr b, Expr c);

}  // namespace tellegen
