/* The functions that generated C needs; of <math.h> only sqrt, fabs, floor, ceil and constants. C99, no
 * allocation, no state; the interpreter includes this header too, so there is one arithmetic. Truth values
 * are 1.0 and 0.0.
 *
 * A table with `count` points has count + 1 pieces, each four coefficients of a cubic in t = at - x[k]:
 *
 *   at < x[0]               c[0..3],                 t = at - x[0]
 *   x[k-1] <= at < x[k]     c[4k..4k+3],             t = at - x[k-1]
 *   x[count-1] <= at        c[4 count..4 count + 3], t = at - x[count-1]
 */
#ifndef TELLEGEN_MATH_H
#define TELLEGEN_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tellegen_elementary.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline double tellegen_square(double a) { return a * a; }
static inline double tellegen_cube(double a) { return a * a * a; }
static inline double tellegen_sign(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }
static inline double tellegen_mod(double a, double b) { return a - b * floor(a / b); }
static inline double tellegen_min(double a, double b) { return a < b ? a : b; }
static inline double tellegen_max(double a, double b) { return a > b ? a : b; }

static inline double tellegen_lt(double a, double b) { return a < b ? 1.0 : 0.0; }
static inline double tellegen_le(double a, double b) { return a <= b ? 1.0 : 0.0; }
static inline double tellegen_gt(double a, double b) { return a > b ? 1.0 : 0.0; }
static inline double tellegen_ge(double a, double b) { return a >= b ? 1.0 : 0.0; }
static inline double tellegen_eq(double a, double b) { return a == b ? 1.0 : 0.0; }
static inline double tellegen_ne(double a, double b) { return a != b ? 1.0 : 0.0; }
static inline double tellegen_and(double a, double b) { return a != 0.0 && b != 0.0 ? 1.0 : 0.0; }
static inline double tellegen_or(double a, double b) { return a != 0.0 || b != 0.0 ? 1.0 : 0.0; }
static inline double tellegen_not(double a) { return a != 0.0 ? 0.0 : 1.0; }

/* exp(a), continued above the knee by its tangent line: a diode's current stays finite. */
#define TELLEGEN_LIMEXP_KNEE 80.0
static inline double tellegen_limexp(double a) {
  const double knee = TELLEGEN_LIMEXP_KNEE;
  const double e = tellegen_exp(a <= knee ? a : knee);
  return a <= knee ? e : e * (1.0 + (a - knee));
}

/* Shortens a Newton step in the argument u of an exponential: pnjlim of SPICE3 (devsup.c) with vt = 1
 * and vcrit = 4. Beyond 4, a step longer than 2 becomes its logarithm. */
static inline double tellegen_junction_limit(double u, double previous) {
  const double critical = 4.0;
  if (!(u > critical && fabs(u - previous) > 2.0)) return u;
  if (previous > 0.0) {
    const double argument = 1.0 + (u - previous);
    return argument > 0.0 ? previous + tellegen_log(argument) : critical;
  }
  return tellegen_log(u);
}

/* Mixes 64 bits so that each depends on all: the finaliser of SplitMix64 [Steele 2014, OOPSLA]. */
static inline uint64_t tellegen_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* The k-th number of a standard normal sequence, the same each time it is asked for: nothing is kept between
 * calls. Both arguments count by their integer part. The hash of both gives two uniform numbers, and those
 * one normal deviate by the formula of Box and Muller. */
static inline double tellegen_gauss(double seed, double k) {
  const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
  const double whole_seed = floor(seed) + 0.0, whole_k = floor(k) + 0.0; /* + 0.0: one zero, not two */
  uint64_t a, b;
  double u, angle;
  memcpy(&a, &whole_seed, sizeof a);
  memcpy(&b, &whole_k, sizeof b);
  a = tellegen_mix(tellegen_mix(a + step) + b);
  u = (double)((tellegen_mix(a + step) >> 11) + 1) * 0x1p-53; /* above 0, up to 1 */
  angle = (double)(tellegen_mix(a + 2 * step) >> 11) * 0x1p-53 * 6.283185307179586;
  return sqrt(-2.0 * tellegen_log(u)) * tellegen_cos(angle);
}

typedef struct tellegen_table {
  int count;       /* points */
  const double* x; /* strictly increasing */
  const double* c; /* 4 * (count + 1) */
} tellegen_table;

/* The order-th derivative of the table's interpolation; NaN where it has no points. */
static inline double tellegen_lookup(const tellegen_table* table, int order, double at) {
  int low = 0, high = table->count; /* the answer k: x[k-1] <= at < x[k] */
  double t;
  const double* c;
  if (table->count == 0) return (double)NAN;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (at < table->x[middle])
      high = middle;
    else
      low = middle + 1;
  }
  t = at - table->x[low > 0 ? low - 1 : 0];
  c = table->c + 4 * low;
  switch (order) {
    case 0:
      return c[0] + t * (c[1] + t * (c[2] + t * c[3]));
    case 1:
      return c[1] + t * (2.0 * c[2] + t * (3.0 * c[3]));
    case 2:
      return 2.0 * c[2] + t * (6.0 * c[3]);
    case 3:
      return 6.0 * c[3];
    default:
      return 0.0;
  }
}

/* A table of two or three arguments: values on a grid, the last axis running first. Straight lines (0) and
 * holding (1) keep the end values outside; cubics (2) have at each point also the slopes, so that value and
 * slope are continuous, and go straight on outside: 2^dimensions numbers a point, bit d of an index meaning
 * the derivative by axis d.
 *
 * So that no search goes through a whole axis, it is divided into cells of equal width, `scale` of them to a
 * unit. guide[k + 1] is the interval in which the middle of cell k lies: for almost every position the
 * answer, and where points are at equal distances for all. */
typedef struct tellegen_grid {
  int dimensions, interpolation;
  int count[3];
  const double* x[3]; /* each strictly increasing */
  const double* c;
  double scale[3];
  const int* guide[3]; /* the first interval, one for each cell, twice the last */
} tellegen_grid;

/* The k with x[k] <= at < x[k+1], of a position between the first and the last point. The guess is compared
 * by a branch, which a processor foretells, so that what follows need not wait for it. */
static inline int tellegen_grid_interval(const tellegen_grid* grid, int axis, double at) {
  const double* const x = grid->x[axis];
  const double z = (at - x[0]) * grid->scale[axis];
  const int* const guide = grid->guide[axis] + (z > 0.0 ? (int)z : 0); /* not a number in an endless axis */
  int low = guide[1];
  if (!(x[low] <= at && at < x[low + 1])) {
    int more;
    low = guide[0];
    more = guide[2] - low; /* the answer is one of low ... low + more */
    while (more > 0) {
      const int half = (more + 1) / 2;
      low += half * (at >= x[low + half]);
      more -= half;
    }
  }
  return low;
}

/* Along one axis: the left point, and what values (w[0], w[1]) and slopes (w[2], w[3]) of both points weigh.
 */
static inline int tellegen_grid_axis(const tellegen_grid* grid, int axis, int order, double at, double* w) {
  const double* x = grid->x[axis];
  const int last = grid->count[axis] - 1;
  int low;
  double h, u;
  w[0] = w[1] = w[2] = w[3] = 0.0;
  if (!(at >= x[0] && at < x[last])) { /* outside, and wherever there is one point */
    const int behind = last > 0 && !(at < x[0]);
    w[behind] = at != at ? at : order == 0 ? 1.0 : 0.0;
    if (grid->interpolation == 2 && last > 0)
      w[2 + behind] = order == 0 ? at - x[behind ? last : 0] : order == 1 ? 1.0 : 0.0;
    return behind ? last - 1 : 0;
  }
  low = tellegen_grid_interval(grid, axis, at);
  h = x[low + 1] - x[low];
  u = (at - x[low]) / h;
  if (grid->interpolation == 1) {
    w[0] = order == 0 ? 1.0 : 0.0;
  } else if (grid->interpolation == 0) {
    if (order == 0) w[0] = 1.0 - u, w[1] = u;
    if (order == 1) w[0] = -1.0 / h, w[1] = 1.0 / h;
  } else if (order == 0) {
    w[1] = u * u * (3.0 - 2.0 * u);
    w[0] = 1.0 - w[1];
    w[2] = h * u * (1.0 - u) * (1.0 - u);
    w[3] = h * u * u * (u - 1.0);
  } else if (order == 1) {
    w[1] = 6.0 * u * (1.0 - u) / h;
    w[0] = -w[1];
    w[2] = (1.0 - u) * (1.0 - 3.0 * u);
    w[3] = u * (3.0 * u - 2.0);
  } else if (order == 2) {
    w[1] = (6.0 - 12.0 * u) / (h * h);
    w[0] = -w[1];
    w[2] = (6.0 * u - 4.0) / h;
    w[3] = (6.0 * u - 2.0) / h;
  } else {
    w[1] = -12.0 / (h * h * h);
    w[0] = -w[1];
    w[2] = w[3] = 6.0 / (h * h);
  }
  return low;
}

/* The value of cubics of two arguments inside the grid. */
static inline double tellegen_grid_bicubic(const tellegen_grid* grid, double a, double b) {
  const double *const x = grid->x[0], *const y = grid->x[1];
  const int i = tellegen_grid_interval(grid, 0, a), j = tellegen_grid_interval(grid, 1, b);
  const int row = 4 * grid->count[1];
  const double *const p = grid->c + i * row + 4 * j, *const q = p + row;
  const double g = x[i + 1] - x[i], u = (a - x[i]) / g, h = y[j + 1] - y[j], v = (b - y[j]) / h;
  const double u1 = u * u * (3.0 - 2.0 * u), u0 = 1.0 - u1;
  const double u2 = g * u * (1.0 - u) * (1.0 - u), u3 = g * u * u * (u - 1.0);
  const double v1 = v * v * (3.0 - 2.0 * v), v0 = 1.0 - v1;
  const double v2 = h * v * (1.0 - v) * (1.0 - v), v3 = h * v * v * (v - 1.0);
  return u0 * (v0 * p[0] + v1 * p[4] + v2 * p[2] + v3 * p[6]) +
         u2 * (v0 * p[1] + v1 * p[5] + v2 * p[3] + v3 * p[7]) +
         (u1 * (v0 * q[0] + v1 * q[4] + v2 * q[2] + v3 * q[6]) +
          u3 * (v0 * q[1] + v1 * q[5] + v2 * q[3] + v3 * q[7]));
}

/* The derivative whose order by axis d stands in bits 2d and 2d + 1; NaN where the grid has no points. */
static inline double tellegen_grid_lookup(const tellegen_grid* grid, int order, double a, double b,
                                          double c) {
  const int d = grid->dimensions, combinations = grid->interpolation == 2 ? 1 << d : 1;
  const int n1 = grid->count[1], n2 = d > 2 ? grid->count[2] : 1;
  double w[3][4] = {{0}, {0}, {1.0, 0.0, 0.0, 0.0}}, sum = 0.0;
  int at[3] = {0, 0, 0}, corner, bits;
  if (grid->count[0] == 0) return (double)NAN;
  if (d == 2 && order == 0 && grid->interpolation == 2 && a >= grid->x[0][0] &&
      a < grid->x[0][grid->count[0] - 1] && b >= grid->x[1][0] && b < grid->x[1][n1 - 1])
    return tellegen_grid_bicubic(grid, a, b);
  at[0] = tellegen_grid_axis(grid, 0, order & 3, a, w[0]);
  at[1] = tellegen_grid_axis(grid, 1, (order >> 2) & 3, b, w[1]);
  if (d > 2) at[2] = tellegen_grid_axis(grid, 2, (order >> 4) & 3, c, w[2]);
  if (d == 2 && grid->count[0] > 1 && n1 > 1) { /* the usual case: the loop below, written out */
    const double* p = grid->c + (at[0] * n1 + at[1]) * combinations;
    const double* const y = w[1];
    if (combinations == 1)
      return w[0][0] * (y[0] * p[0] + y[1] * p[1]) + w[0][1] * (y[0] * p[n1] + y[1] * p[n1 + 1]);
    for (corner = 0; corner < 2; ++corner, p += 4 * n1)
      sum += w[0][corner] * (y[0] * p[0] + y[1] * p[4] + y[2] * p[2] + y[3] * p[6]) +
             w[0][2 + corner] * (y[0] * p[1] + y[1] * p[5] + y[2] * p[3] + y[3] * p[7]);
    return sum;
  }
  for (corner = 0; corner < 1 << d; ++corner) {
    const int i = corner & 1, j = (corner >> 1) & 1, k = corner >> 2;
    const double* point;
    if ((i && grid->count[0] == 1) || (j && n1 == 1) || (k && n2 == 1)) continue;
    point = grid->c + (((at[0] + i) * n1 + at[1] + j) * n2 + at[2] + k) * combinations;
    for (bits = 0; bits < combinations; ++bits)
      sum += w[0][i + 2 * (bits & 1)] * w[1][j + (bits & 2)] * w[2][k + 2 * (bits >> 2)] * point[bits];
  }
  return sum;
}

#ifdef __cplusplus
}
#endif

#endif
