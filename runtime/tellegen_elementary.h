/* Elementary functions with the same bits on every machine: double arithmetic, one rounding after another,
 * tables and polynomials, no C library but sqrt and fabs. C99; round to nearest, no contraction, no excess
 * precision. Errors are below 1 unit in the last place, mostly below 0.6; special values are those of C99,
 * annex F, errno and floating-point exceptions apart.
 *
 *   exp        k/128 of ln 2 taken off, a table of 2^(i/128), a polynomial           [Tang 1989, ACM TOMS 15]
 *   log, pow   a table of 1/c around the argument and of log c, in two parts         [Tang 1990, ACM TOMS 16]
 *   sin, cos   multiples of pi/2 taken off: in three parts [Cody 1980], near its multiples and from 2^20 on
 *              with as many bits of 2/pi as are needed                               [Payne 1983, SIGNUM 18]
 *   others     polynomials around zero, beyond by these and identities, remainders carried along
 *
 * Polynomials are minimax with double coefficients [Brisebarre 2007, ARITH-18]. A sum of two doubles is
 * written hi, lo below: lo is what hi misses. */
#ifndef TELLEGEN_ELEMENTARY_H
#define TELLEGEN_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tellegen_elementary_tables.h"

#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2
#error "double arithmetic with excess precision has other bits: on x86 use -msse2 -mfpmath=sse"
#endif

#ifdef __GNUC__
#define TELLEGEN_RARELY(condition) __builtin_expect(!!(condition), 0)
#define TELLEGEN_RARE static __attribute__((noinline, cold, unused))
#define TELLEGEN_FUNCTION                                                          \
  static __attribute__((noinline, unused)) /* copies only take the compiler longer \
                                            */
#else
#define TELLEGEN_RARELY(condition) (condition)
#define TELLEGEN_RARE static inline
#define TELLEGEN_FUNCTION static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tellegen_pair {
  double hi, lo;
} tellegen_pair;

static inline uint64_t tellegen_bits(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}
static inline double tellegen_from_bits(uint64_t bits) {
  double a;
  memcpy(&a, &bits, sizeof a);
  return a;
}
static inline double tellegen_nan(void) { return tellegen_from_bits(UINT64_C(0x7ff8000000000000)); }
static inline double tellegen_infinity(void) { return tellegen_from_bits(UINT64_C(0x7ff0000000000000)); }
static inline double tellegen_with_sign(double magnitude, double sign) {
  const uint64_t top = UINT64_C(1) << 63;
  return tellegen_from_bits((tellegen_bits(magnitude) & ~top) | (tellegen_bits(sign) & top));
}

/* a + b, |a| >= |b| or a = 0. */
static inline tellegen_pair tellegen_sum(double a, double b) {
  tellegen_pair s;
  s.hi = a + b;
  s.lo = (a - s.hi) + b;
  return s;
}
/* a b without overflow; lo is exact to half a unit of its own. */
static inline tellegen_pair tellegen_product(double a, double b) {
  const uint64_t upper = ~UINT64_C(0x7ffffff);
  const double a1 = tellegen_from_bits(tellegen_bits(a) & upper), a2 = a - a1;
  const double b1 = tellegen_from_bits(tellegen_bits(b) & upper), b2 = b - b1;
  tellegen_pair p;
  p.hi = a * b;
  p.lo = (((a1 * b1 - p.hi) + a1 * b2) + a2 * b1) + a2 * b2;
  return p;
}
static inline tellegen_pair tellegen_quotient(tellegen_pair n, tellegen_pair d) {
  tellegen_pair q, p;
  q.hi = n.hi / d.hi;
  p = tellegen_product(q.hi, d.hi);
  q.lo = (((n.hi - p.hi) - p.lo) + (n.lo - q.hi * d.lo)) / d.hi;
  return q;
}
/* The root of a number above zero that is neither tiny nor huge. */
static inline tellegen_pair tellegen_root(tellegen_pair a) {
  tellegen_pair s, p;
  s.hi = sqrt(a.hi);
  p = tellegen_product(s.hi, s.hi);
  s.lo = (((a.hi - p.hi) - p.lo) + a.lo) / (2.0 * s.hi);
  return s;
}

/* ---- exponential ---- */

/* exp(x + low) = scale + scale rest, for |x| up to 750: the bits of scale may have left their field. */
typedef struct tellegen_power_of_e {
  uint64_t scale;
  double rest, k; /* 128 times the binary exponent */
} tellegen_power_of_e;

static inline tellegen_power_of_e tellegen_exp_parts(double x, double low) {
  const double shift = 0x1.8p52; /* rounds to an integer, which then stands in the last bits */
  const double shifted = x * 0x1.71547652b82fep7 + shift;
  const uint64_t k = tellegen_bits(shifted);
  const unsigned i = 2 * (unsigned)(k % 128);
  tellegen_power_of_e e;
  double r, r2;
  e.k = shifted - shift;
  r = (x - e.k * 0x1.62e42fef8p-8) - (e.k * 0x1.1cf79abc9e3b4p-43 - low);
  r2 = r * r;
  e.scale = tellegen_exp_table[i + 1] + (k << 45);
  e.rest = tellegen_from_bits(tellegen_exp_table[i]) + r +
           r2 * (0x1.ffffffffffdb8p-2 + r * 0x1.5555555555439p-3) +
           r2 * r2 * (0x1.55555cf9a577bp-5 + r * 0x1.1111168163aaep-7);
  return e;
}
static inline double tellegen_exp_near(double x, double low) {
  const tellegen_power_of_e e = tellegen_exp_parts(x, low);
  const double scale = tellegen_from_bits(e.scale);
  return scale + scale * e.rest;
}
/* Where the result, or a part of it, may be out of the range of normal numbers, or x is none. */
TELLEGEN_RARE double tellegen_exp_far(double x, double low) {
  tellegen_power_of_e e;
  double scale, y;
  if (x != x) return x;
  if (x > 720.0) return tellegen_infinity();
  if (x < -750.0) return 0.0;
  e = tellegen_exp_parts(x, low);
  if (e.k > 0.0) {
    scale = tellegen_from_bits(e.scale - (UINT64_C(1009) << 52));
    return 0x1p1009 * (scale + scale * e.rest);
  }
  scale = tellegen_from_bits(e.scale + (UINT64_C(1022) << 52));
  y = scale + scale * e.rest;
  if (y < 1.0) { /* a denormal number: rounded once, to its own last place */
    const double rest = (scale - y) + scale * e.rest, one = 1.0 + y;
    y = (one + (((1.0 - one) + y) + rest)) - 1.0;
  }
  return 0x1p-1022 * y;
}
TELLEGEN_FUNCTION double tellegen_exp(double x) {
  if (TELLEGEN_RARELY(!(fabs(x) <= 670.0))) return tellegen_exp_far(x, 0.0);
  return tellegen_exp_near(x, 0.0);
}
/* For |x| up to 670. */
static inline tellegen_pair tellegen_exp_pair(double x) {
  const tellegen_power_of_e e = tellegen_exp_parts(x, 0.0);
  const double scale = tellegen_from_bits(e.scale);
  return tellegen_sum(scale, scale * e.rest);
}

/* ---- logarithm ---- */

/* x = 2^k z, log z = -log c + log(1 + r + rest); bits are those of a normal number above zero, and denormal
 * numbers come with a k of their own. */
typedef struct tellegen_logarithm {
  double k, log_hi, log_lo, r, rest;
} tellegen_logarithm;

static inline tellegen_logarithm tellegen_log_parts(uint64_t bits, int k) {
  const uint64_t from = bits - UINT64_C(0x3fe6900000000000) + (UINT64_C(1) << 62);
  const double* const row = tellegen_log_table + 3 * (unsigned)((from >> 45) % 128);
  const uint64_t z = bits - (from & ~(~UINT64_C(0) >> 12)) + (UINT64_C(1) << 62);
  const double upper = tellegen_from_bits(z & ~UINT64_C(0x1fffff));
  const double a = upper * row[0] - 1.0, b = (tellegen_from_bits(z) - upper) * row[0]; /* both exact */
  tellegen_logarithm l;
  l.k = (double)((int)(from >> 52) - 1024 + k);
  l.log_hi = l.k * 0x1.62e42fefa38p-1 + row[1]; /* exact */
  l.log_lo = l.k * 0x1.ef35793c7673p-45 + row[2];
  l.r = a + b;
  l.rest = (a - l.r) + b;
  return l;
}
static inline double tellegen_log_near(uint64_t bits, int k) {
  const tellegen_logarithm l = tellegen_log_parts(bits, k);
  const double r = l.r, r2 = r * r, hi = l.log_hi + r;
  const double lo = ((l.log_hi - hi) + r) + l.log_lo;
  return hi + (lo + r2 * ((-0.5 + r * 0x1.5555555555557p-2) +
                          r2 * ((-0x1.ffffffff43a78p-3 + r * 0x1.999999987d327p-3) +
                                r2 * (-0x1.555717ae2c152p-3 + r * 0x1.2494128eda4fbp-3))));
}
TELLEGEN_RARE double tellegen_log_far(double x) {
  if (x == 0.0) return -tellegen_infinity();
  if (!(x > 0.0)) return x != x ? x : tellegen_nan();
  if (x > 0x1.fffffffffffffp1023) return x;
  return tellegen_log_near(tellegen_bits(x * 0x1p54), -54);
}
/* Whether the bits are those of a normal number above zero. */
static inline int tellegen_is_normal(uint64_t bits) {
  return bits - (UINT64_C(1) << 52) < UINT64_C(0x7fe0000000000000);
}
TELLEGEN_FUNCTION double tellegen_log(double x) {
  const uint64_t bits = tellegen_bits(x);
  if (TELLEGEN_RARELY(!tellegen_is_normal(bits))) return tellegen_log_far(x);
  return tellegen_log_near(bits, 0);
}
/* With 67 bits, hi and lo overlapping by a few; k as above. */
static inline tellegen_pair tellegen_log_pair(uint64_t bits, int k) {
  const tellegen_logarithm l = tellegen_log_parts(bits, k);
  const double r = l.r, r1 = tellegen_from_bits(tellegen_bits(r) & ~UINT64_C(0x7ffffff)), r2 = r * r;
  const tellegen_pair first = tellegen_sum(l.log_hi, r);
  tellegen_pair log = tellegen_sum(first.hi, -0.5 * (r1 * r1)); /* exact */
  const double cubic = (r * r2) * ((0x1.5555555555558p-2 - r * 0x1.0000000000004p-2) +
                                   r2 * ((0x1.9999999816f7dp-3 - r * 0x1.55555553829e8p-3) +
                                         r2 * (0x1.24945c23711e1p-3 - r * 0x1.00021ffcb5bb9p-3)));
  log.lo += (((l.log_lo + first.lo) + (l.rest - l.rest * r)) - 0.5 * (r - r1) * (r + r1)) + cubic;
  return log;
}
/* log(a) for a from 1 to 2^1000. */
static inline double tellegen_log_of(tellegen_pair a) {
  const tellegen_pair l = tellegen_log_pair(tellegen_bits(a.hi), 0);
  return l.hi + (l.lo + a.lo / a.hi);
}
TELLEGEN_FUNCTION double tellegen_log10(double x) {
  const tellegen_pair scale = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  const uint64_t bits = tellegen_bits(x);
  const int denormal = x > 0.0 && !tellegen_is_normal(bits) && x < 1.0;
  tellegen_pair l, p;
  if (TELLEGEN_RARELY(!tellegen_is_normal(bits) && !denormal)) return tellegen_log_far(x);
  l = denormal ? tellegen_log_pair(tellegen_bits(x * 0x1p54), -54) : tellegen_log_pair(bits, 0);
  p = tellegen_product(l.hi, scale.hi);
  return p.hi + (p.lo + (l.hi * scale.lo + l.lo * scale.hi));
}

/* ---- powers ---- */

/* x^y, with the bits of a normal x above zero. */
static inline double tellegen_pow_near(uint64_t bits, int k, double y) {
  const uint64_t upper = ~UINT64_C(0x7ffffff);
  const tellegen_pair l = tellegen_log_pair(bits, k);
  const double y1 = tellegen_from_bits(tellegen_bits(y) & upper);
  const double l1 = tellegen_from_bits(tellegen_bits(l.hi) & upper);
  const double hi = y1 * l1, lo = (y - y1) * l1 + y * ((l.hi - l1) + l.lo);
  if (TELLEGEN_RARELY(!(fabs(hi) <= 670.0))) return tellegen_exp_far(hi, lo);
  return tellegen_exp_near(hi, lo);
}
/* 1 where y is odd, 0 where it is even, -1 where it is no integer. */
static inline int tellegen_parity(double y) {
  if (fabs(y) >= 0x1p53) return 0;
  if ((double)(int64_t)y != y) return -1;
  return (int)((int64_t)y & 1);
}
TELLEGEN_RARE double tellegen_pow_far(double x, double y) {
  const double size = fabs(x), huge = tellegen_infinity();
  const int parity = y == y ? tellegen_parity(y) : -1;
  const double sign = x < 0.0 && parity == 1 ? -1.0 : 1.0;
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  if (fabs(y) == huge) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? huge : 0.0;
  if (size == 0.0 || size == huge) {
    const double result = (size == 0.0) == (y > 0.0) ? 0.0 : huge;
    return parity == 1 ? tellegen_with_sign(result, x) : result;
  }
  if (x < 0.0 && parity < 0) return tellegen_nan();
  if (size == 1.0) return sign;
  if (fabs(y) >= 0x1p64) return (size > 1.0) == (y > 0.0) ? sign * huge : 0.0 * sign;
  if (fabs(y) < 0x1p-66) return 1.0;
  if (!tellegen_is_normal(tellegen_bits(size)))
    return sign * tellegen_pow_near(tellegen_bits(size * 0x1p54), -54, y);
  return sign * tellegen_pow_near(tellegen_bits(size), 0, y);
}
TELLEGEN_FUNCTION double tellegen_pow(double x, double y) {
  const uint64_t bits = tellegen_bits(x);
  if (TELLEGEN_RARELY(!tellegen_is_normal(bits) || !(fabs(y) < 0x1p64 && fabs(y) >= 0x1p-66)))
    return tellegen_pow_far(x, y);
  return tellegen_pow_near(bits, 0, y);
}

/* The length of (a, b). */
TELLEGEN_FUNCTION double tellegen_hypot(double a, double b) {
  const double huge = tellegen_infinity();
  double x = fabs(a), y = fabs(b), scale = 1.0;
  tellegen_pair p, q, sum;
  if (x == huge || y == huge) return huge;
  if (x != x || y != y) return x + y;
  if (x < y) scale = x, x = y, y = scale, scale = 1.0;
  if (y <= x * 0x1p-60) return x + y;
  if (x > 0x1p500) x *= 0x1p-600, y *= 0x1p-600, scale = 0x1p600;
  if (y < 0x1p-400) x *= 0x1p600, y *= 0x1p600, scale = 0x1p-600;
  p = tellegen_product(x, x);
  q = tellegen_product(y, y);
  sum = tellegen_sum(p.hi, q.hi);
  sum.lo += p.lo + q.lo;
  p = tellegen_root(sum);
  return scale * (p.hi + p.lo);
}

#ifdef __cplusplus
}
#endif

#include "tellegen_angles.h"

#endif
