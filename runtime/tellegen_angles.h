/* Trigonometric and hyperbolic functions and their inverses; continues tellegen_elementary.h. */
#ifndef TELLEGEN_ANGLES_H
#define TELLEGEN_ANGLES_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sine, cosine, tangent ---- */

/* x = q pi/2 + hi + lo for any finite x above 2^-2: 192 bits of 2/pi, from where its multiples of 4 end;
 * returns q modulo 4. */
TELLEGEN_RARE int tellegen_reduce_far(double x, tellegen_pair* rest) {
  const uint64_t bits = tellegen_bits(x), mantissa = (bits & (~UINT64_C(0) >> 12)) | (UINT64_C(1) << 52);
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1075; /* x = mantissa 2^exponent */
  const int first = exponent - 2 + 64;                   /* bit of the table that stands for 2 */
  const uint32_t* const word = tellegen_two_over_pi + first / 32;
  const int shift = first % 32;
  uint32_t p[6];
  uint64_t carry = 0, a, b;
  tellegen_pair angle;
  int k, q, zeros = 0, negative;
  for (k = 5; k >= 0; --k) { /* modulo 2^192 */
    const uint32_t f = shift ? word[k] << shift | word[k + 1] >> (32 - shift) : word[k];
    carry += (uint64_t)f * (uint32_t)mantissa;
    p[k] = (uint32_t)carry;
    carry >>= 32;
  }
  carry = 0;
  for (k = 5; k >= 1; --k) {
    const uint32_t f = shift ? word[k] << shift | word[k + 1] >> (32 - shift) : word[k];
    carry += (uint64_t)f * (uint32_t)(mantissa >> 32) + p[k - 1];
    p[k - 1] = (uint32_t)carry;
    carry >>= 32;
  }
  q = (int)(p[0] >> 30);
  negative = (int)(p[0] >> 29 & 1);
  q += negative;
  for (k = 0; k < 6; ++k) { /* the fraction alone, as a magnitude */
    p[k] = p[k] << 2 | (k < 5 ? p[k + 1] >> 30 : 0u);
    if (negative) p[k] = ~p[k];
  }
  a = (uint64_t)p[0] << 32 | p[1];
  b = (uint64_t)p[2] << 32 | p[3];
  carry = (uint64_t)p[4] << 32 | p[5];
  while (zeros < 80 && !(a >> 63)) {
    a = a << 1 | b >> 63;
    b = b << 1 | carry >> 63;
    carry <<= 1;
    ++zeros;
  }
  angle.hi = (double)(a >> 11) * tellegen_from_bits((uint64_t)(1023 - 53 - zeros) << 52);
  angle.lo = (double)((a & 0x7ff) << 42 | b >> 22) * tellegen_from_bits((uint64_t)(1023 - 106 - zeros) << 52);
  *rest = tellegen_product(angle.hi, 0x1.921fb54442d18p0);
  rest->lo += angle.hi * 0x1.1a62633145c07p-54 + angle.lo * 0x1.921fb54442d18p0;
  *rest = tellegen_sum(rest->hi, rest->lo);
  if (negative) rest->hi = -rest->hi, rest->lo = -rest->lo;
  if (x < 0.0) rest->hi = -rest->hi, rest->lo = -rest->lo, q = -q;
  return q & 3;
}

/* For pi/4 < |x| < infinity. */
static inline int tellegen_reduce(double x, tellegen_pair* rest) {
  const double shift = 0x1.8p52, shifted = x * 0x1.45f306dc9c883p-1 + shift, n = shifted - shift;
  const double a = x - n * 0x1.921fb544p0, b = n * 0x1.0b4611a6p-34; /* exact up to 2^20 */
  const double hi = a - b, lo = n * 0x1.3198a2e037073p-69 - ((a - hi) - b);
  if (TELLEGEN_RARELY(!(fabs(x) < 0x1p20 && fabs(hi) > 0x1p-10))) return tellegen_reduce_far(x, rest);
  rest->hi = hi - lo;
  rest->lo = (hi - rest->hi) - lo;
  return (int)(tellegen_bits(shifted) & 3);
}

/* sin(a) - a.hi, and cos(a) less its first part, for |a| up to pi/4. */
static inline double tellegen_sine_rest(tellegen_pair a) {
  const double z = a.hi * a.hi, z2 = z * z;
  return a.lo * (1.0 - 0.5 * z) + z * a.hi *
                                      ((-0x1.5555555555548p-3 + z * 0x1.111111110f742p-7) +
                                       z2 * ((-0x1.a01a019becba9p-13 + z * 0x1.71de355919c12p-19) +
                                             z2 * (-0x1.ae5e4f13006fap-26 + z * 0x1.5d8c7a5390814p-33)));
}
static inline tellegen_pair tellegen_cosine_parts(tellegen_pair a) {
  const double z = a.hi * a.hi, z2 = z * z, half = 0.5 * z;
  tellegen_pair c;
  c.hi = 1.0 - half;
  c.lo = ((1.0 - c.hi) - half) + (z2 * ((0x1.555555555554bp-5 - z * 0x1.6c16c16c15001p-10) +
                                        z2 * ((0x1.a01a019c8bba4p-16 - z * 0x1.27e4f7ee42406p-22) +
                                              z2 * (0x1.1ee9d916b22b9p-29 - z * 0x1.8fa4e6f547c6fp-37))) -
                                  a.hi * a.lo);
  return c;
}
static inline double tellegen_sine_near(tellegen_pair a) { return a.hi + tellegen_sine_rest(a); }
static inline double tellegen_cosine_near(tellegen_pair a) {
  const tellegen_pair c = tellegen_cosine_parts(a);
  return c.hi + c.lo;
}

TELLEGEN_FUNCTION double tellegen_sin(double x) {
  tellegen_pair a = {x, 0.0};
  double y;
  int q;
  if (fabs(x) <= 0x1.921fb54442d18p-1) return TELLEGEN_RARELY(fabs(x) < 0x1p-27) ? x : tellegen_sine_near(a);
  if (TELLEGEN_RARELY(!(fabs(x) < tellegen_infinity()))) return x != x ? x : tellegen_nan();
  q = tellegen_reduce(x, &a);
  y = q & 1 ? tellegen_cosine_near(a) : tellegen_sine_near(a);
  return q & 2 ? -y : y;
}
TELLEGEN_FUNCTION double tellegen_cos(double x) {
  tellegen_pair a = {x, 0.0};
  double y;
  int q;
  if (fabs(x) <= 0x1.921fb54442d18p-1) return tellegen_cosine_near(a);
  if (TELLEGEN_RARELY(!(fabs(x) < tellegen_infinity()))) return x != x ? x : tellegen_nan();
  q = tellegen_reduce(x, &a) + 1;
  y = q & 1 ? tellegen_cosine_near(a) : tellegen_sine_near(a);
  return q & 2 ? -y : y;
}
/* Both of one angle, to the bit what they are one by one: the sine in hi, the cosine in lo. */
TELLEGEN_FUNCTION tellegen_pair tellegen_sine_cosine(double x) {
  tellegen_pair a = {x, 0.0}, both;
  double s, c;
  int q = 0;
  if (TELLEGEN_RARELY(!(fabs(x) < tellegen_infinity()))) {
    both.hi = both.lo = x != x ? x : tellegen_nan();
    return both;
  }
  if (fabs(x) > 0x1.921fb54442d18p-1) q = tellegen_reduce(x, &a);
  s = q == 0 && fabs(x) < 0x1p-27 ? x : tellegen_sine_near(a);
  c = tellegen_cosine_near(a);
  both.hi = q & 1 ? c : s;
  both.lo = q & 1 ? s : c;
  if (q & 2) both.hi = -both.hi;
  if ((q + 1) & 2) both.lo = -both.lo;
  return both;
}
TELLEGEN_FUNCTION double tellegen_tan(double x) {
  tellegen_pair a = {x, 0.0}, sine, cosine, quotient;
  int q = 0;
  if (fabs(x) < 0x1p-27) return x;
  if (TELLEGEN_RARELY(!(fabs(x) < tellegen_infinity()))) return x != x ? x : tellegen_nan();
  if (fabs(x) > 0x1.921fb54442d18p-1) q = tellegen_reduce(x, &a);
  sine = tellegen_sum(a.hi, tellegen_sine_rest(a));
  cosine = tellegen_cosine_parts(a);
  cosine = tellegen_sum(cosine.hi, cosine.lo);
  quotient = q & 1 ? tellegen_quotient(cosine, sine) : tellegen_quotient(sine, cosine);
  return q & 1 ? -(quotient.hi + quotient.lo) : quotient.hi + quotient.lo;
}

/* ---- inverses ---- */

/* asin(x) - x for |x| up to 0.5; z is x^2. */
static inline double tellegen_asin_rest(double x, double z) {
  const double z2 = z * z, z4 = z2 * z2;
  return x * z *
         (((0x1.555555555538ep-3 + z * 0x1.333333336ec3dp-4) +
           z2 * (0x1.6db6db424bab2p-5 + z * 0x1.f1c72c48e69cdp-6)) +
          z4 * (((0x1.6e89f2b076866p-6 + z * 0x1.1c6bfa1bc577p-6) +
                 z2 * (0x1.c6fbce60e35efp-7 + z * 0x1.8ed02b053074cp-7)) +
                z4 * ((0x1.ab5a5a0be6e54p-8 + z * 0x1.4046a166cd6b9p-6) +
                      z2 * (-0x1.0a569c41a84c3p-6 + z * 0x1.059b65564f755p-5))));
}
/* asin(sqrt((1 - x)/2)), for x from 0.5 to 1: half of acos(x). */
static inline tellegen_pair tellegen_half_acos(double x) {
  const tellegen_pair square = {0.5 * (1.0 - x), 0.0};
  tellegen_pair root = {0.0, 0.0};
  if (square.hi == 0.0) return root;
  root = tellegen_root(square);
  root.lo += tellegen_asin_rest(root.hi, square.hi);
  return root;
}
TELLEGEN_FUNCTION double tellegen_asin(double x) {
  const double size = fabs(x);
  tellegen_pair half, sum;
  if (!(size <= 1.0)) return x != x ? x : tellegen_nan();
  if (size < 0x1p-27) return x;
  if (size <= 0.5) return x + tellegen_asin_rest(x, x * x);
  half = tellegen_half_acos(size);
  sum = tellegen_sum(0x1.921fb54442d18p0, -2.0 * half.hi);
  return tellegen_with_sign(sum.hi + (sum.lo + (0x1.1a62633145c07p-54 - 2.0 * half.lo)), x);
}
TELLEGEN_FUNCTION double tellegen_acos(double x) {
  tellegen_pair half, sum;
  if (!(fabs(x) <= 1.0)) return x != x ? x : tellegen_nan();
  if (fabs(x) <= 0.5) {
    sum = tellegen_sum(0x1.921fb54442d18p0, -x);
    return sum.hi + (sum.lo + (0x1.1a62633145c07p-54 - tellegen_asin_rest(x, x * x)));
  }
  half = tellegen_half_acos(fabs(x));
  if (x > 0.0) return 2.0 * (half.hi + half.lo);
  sum = tellegen_sum(0x1.921fb54442d18p1, -2.0 * half.hi);
  return sum.hi + (sum.lo + (0x1.1a62633145c07p-53 - 2.0 * half.lo));
}

/* atan of a number above zero: that of c, from a table, plus that of (x - c)/(1 + c x). */
static inline tellegen_pair tellegen_atan_pair(tellegen_pair x) {
  tellegen_pair t = x, of_c = {0.0, 0.0}, sum;
  double z, z2, z4;
  if (x.hi > 0.42) {
    tellegen_pair n, d;
    if (x.hi < 2.5) {
      const double c = x.hi < 0.7 ? 0.5 : x.hi < 1.25 ? 1.0 : 2.0;
      if (c == 0.5)
        of_c.hi = 0x1.dac670561bb4fp-2, of_c.lo = 0x1.a2b7f222f65e2p-56;
      else if (c == 1.0)
        of_c.hi = 0x1.921fb54442d18p-1, of_c.lo = 0x1.1a62633145c07p-55;
      else
        of_c.hi = 0x1.1b6e192ebbe44p0, of_c.lo = 0x1.b1b466a88828ep-54;
      n.hi = x.hi - c; /* exact */
      n.lo = x.lo;
      d = c * x.hi > 1.0 ? tellegen_sum(c * x.hi, 1.0) : tellegen_sum(1.0, c * x.hi);
      d.lo += c * x.lo;
    } else {
      of_c.hi = 0x1.921fb54442d18p0, of_c.lo = 0x1.1a62633145c07p-54;
      n.hi = -1.0, n.lo = 0.0;
      d = x;
    }
    t = tellegen_quotient(n, d);
  }
  z = t.hi * t.hi, z2 = z * z, z4 = z2 * z2;
  t.lo = t.lo * (1.0 - z) +
         t.hi * z *
             (((-0x1.5555555555535p-2 + z * 0x1.9999999994579p-3) +
               z2 * (-0x1.2492492231db7p-3 + z * 0x1.c71c70b47b1e8p-4)) +
              z4 * (((-0x1.745cf32bd3b9ep-4 + z * 0x1.3b10b22976b09p-4) +
                     z2 * (-0x1.10e7160a78e4p-4 + z * 0x1.decb1fe8f41fap-5)) +
                    z4 * ((-0x1.9b9ce812ca016p-5 + z * 0x1.34bd0ba85ba53p-5) - z2 * 0x1.1e991d3f55f7ep-6)));
  if (of_c.hi == 0.0) return tellegen_sum(t.hi, t.lo);
  sum = tellegen_sum(of_c.hi, t.hi);
  return tellegen_sum(sum.hi, sum.lo + (of_c.lo + t.lo));
}
TELLEGEN_FUNCTION double tellegen_atan(double x) {
  tellegen_pair a = {fabs(x), 0.0};
  if (!(a.hi < 0x1p60)) return x != x ? x : tellegen_with_sign(0x1.921fb54442d18p0, x);
  if (a.hi < 0x1p-27) return x;
  return tellegen_with_sign(tellegen_atan_pair(a).hi, x);
}
/* The angle of the point (x, y). */
TELLEGEN_FUNCTION double tellegen_atan2(double y, double x) {
  const double huge = tellegen_infinity();
  tellegen_pair a = {fabs(x), 0.0}, b = {fabs(y), 0.0}, angle;
  const int left = (int)(tellegen_bits(x) >> 63);
  if (x != x || y != y) return x + y;
  if (b.hi == 0.0) return left ? tellegen_with_sign(0x1.921fb54442d18p1, y) : y;
  if (a.hi == huge && b.hi == huge) a.hi = b.hi = 1.0;
  if (a.hi == 0.0 || b.hi == huge || a.hi < b.hi * 0x1p-60) return tellegen_with_sign(0x1.921fb54442d18p0, y);
  if (a.hi == huge || b.hi < a.hi * 0x1p-60) {
    if (left) return tellegen_with_sign(0x1.921fb54442d18p1, y);
    return tellegen_with_sign(b.hi / a.hi, y);
  }
  if (a.hi > 0x1p800 || b.hi > 0x1p800) a.hi *= 0x1p-300, b.hi *= 0x1p-300;
  if (a.hi < 0x1p-800 || b.hi < 0x1p-800) a.hi *= 0x1p300, b.hi *= 0x1p300;
  angle = tellegen_atan_pair(tellegen_quotient(b, a));
  if (left) {
    const tellegen_pair sum = tellegen_sum(0x1.921fb54442d18p1, -angle.hi);
    angle.hi = sum.hi + (sum.lo + (0x1.1a62633145c07p-53 - angle.lo));
  }
  return tellegen_with_sign(angle.hi, y);
}

/* ---- hyperbolic functions: polynomials up to 0.3, exponentials and logarithms beyond ---- */

/* exp(x)/2 for x > 40, which overflows later than exp(x). */
static inline double tellegen_half_exp(double x) {
  return tellegen_exp_far(x - 0x1.62e42fefa38p-1, -0x1.ef35793c7673p-45);
}
TELLEGEN_FUNCTION double tellegen_sinh(double x) {
  const double size = fabs(x);
  tellegen_pair up, down, sum;
  if (size < 0.3) {
    const double z = x * x;
    if (size < 0x1p-27) return x;
    return x +
           x * z *
               ((0x1.5555555555556p-3 + z * 0x1.11111111109bfp-7) +
                z * z * (0x1.a01a01a648249p-13 + z * (0x1.71de16b0b0654p-19 + z * 0x1.af1ce92618547p-26)));
  }
  if (!(size < 40.0)) return x != x ? x : tellegen_with_sign(tellegen_half_exp(size), x);
  up = tellegen_exp_pair(size), down = tellegen_exp_pair(-size);
  sum = tellegen_sum(up.hi, -down.hi);
  return tellegen_with_sign(0.5 * (sum.hi + (sum.lo + (up.lo - down.lo))), x);
}
TELLEGEN_FUNCTION double tellegen_cosh(double x) {
  const double size = fabs(x);
  tellegen_pair up, down, sum;
  if (!(size < 40.0)) return x != x ? x : tellegen_half_exp(size);
  up = tellegen_exp_pair(size), down = tellegen_exp_pair(-size);
  sum = tellegen_sum(up.hi, down.hi);
  return 0.5 * (sum.hi + (sum.lo + (up.lo + down.lo)));
}
TELLEGEN_FUNCTION double tellegen_tanh(double x) {
  const double size = fabs(x);
  tellegen_pair e, above, below;
  if (size < 0.3) {
    const double z = x * x, z2 = z * z, z4 = z2 * z2;
    if (size < 0x1p-27) return x;
    return x + x * z *
                   (((-0x1.5555555555555p-2 + z * 0x1.1111111111027p-3) +
                     z2 * (-0x1.ba1ba1b9fda0ap-5 + z * 0x1.664f4872f6473p-6)) +
                    z4 * (((-0x1.226e30873f91bp-7 + z * 0x1.d6d1fc911f8dp-9) +
                           z2 * (-0x1.7d6bf734d6652p-10 + z * 0x1.3153442e514p-11)) -
                          z4 * 0x1.a0f300a1af4c7p-13));
  }
  if (!(size < 22.0)) return x != x ? x : tellegen_with_sign(1.0, x);
  e = tellegen_exp_pair(2.0 * size);
  above = tellegen_sum(e.hi, -1.0), below = tellegen_sum(e.hi, 1.0);
  above.lo += e.lo, below.lo += e.lo;
  e = tellegen_quotient(above, below);
  return tellegen_with_sign(e.hi + e.lo, x);
}

static inline double tellegen_asinh_rest(double x) {
  const double z = x * x, z2 = z * z, z4 = z2 * z2;
  return x * z *
         (((-0x1.5555555555555p-3 + z * 0x1.3333333333197p-4) +
           z2 * (-0x1.6db6db6d8e7a4p-5 + z * 0x1.f1c71c5333f74p-6)) +
          z4 * (((-0x1.6e8b9c54cf4c5p-6 + z * 0x1.1c4de5e0105bfp-6) +
                 z2 * (-0x1.c973d4078dbfcp-7 + z * 0x1.78786b718cc55p-7)) +
                z4 * (-0x1.2dcd808132677p-7 + z * 0x1.6bcacae44cfe2p-8)));
}
/* log(2 x) for large x. */
static inline double tellegen_log_twice(double x) {
  const tellegen_pair l = tellegen_log_pair(tellegen_bits(x), 1);
  return l.hi + l.lo;
}
TELLEGEN_FUNCTION double tellegen_asinh(double x) {
  const double size = fabs(x);
  tellegen_pair square, sum, root;
  if (size < 0.3) return size < 0x1p-27 ? x : x + tellegen_asinh_rest(x);
  if (!(size < tellegen_infinity())) return x;
  if (size > 0x1p30) return tellegen_with_sign(tellegen_log_twice(size), x);
  square = tellegen_product(size, size);
  sum = size > 1.0 ? tellegen_sum(square.hi, 1.0) : tellegen_sum(1.0, square.hi);
  sum.lo += square.lo;
  root = tellegen_root(sum);
  sum = tellegen_sum(root.hi, size);
  sum.lo += root.lo;
  return tellegen_with_sign(tellegen_log_of(sum), x);
}
TELLEGEN_FUNCTION double tellegen_acosh(double x) {
  tellegen_pair square, sum, root;
  if (!(x > 1.0)) return x == 1.0 ? 0.0 : x != x ? x : tellegen_nan();
  if (!(x < tellegen_infinity())) return x;
  if (x > 0x1p30) return tellegen_log_twice(x);
  if (x < 1.17) { /* twice asinh(sqrt((x - 1)/2)) */
    const tellegen_pair half = {0.5 * (x - 1.0), 0.0};
    root = tellegen_root(half);
    return 2.0 * (root.hi + (root.lo + tellegen_asinh_rest(root.hi)));
  }
  square = tellegen_product(x, x);
  sum = tellegen_sum(square.hi, -1.0);
  sum.lo += square.lo;
  root = tellegen_root(sum);
  sum = tellegen_sum(x, root.hi);
  sum.lo += root.lo;
  return tellegen_log_of(sum);
}
TELLEGEN_FUNCTION double tellegen_atanh(double x) {
  const double size = fabs(x);
  tellegen_pair above, below;
  if (size < 0.3) {
    const double z = x * x, z2 = z * z, z4 = z2 * z2;
    if (size < 0x1p-27) return x;
    return x +
           x * z *
               (((0x1.5555555555555p-2 + z * 0x1.9999999999a82p-3) +
                 z2 * (0x1.249249248b5f2p-3 + z * 0x1.c71c71ca00d4ep-4)) +
                z4 * (((0x1.745d171438badp-4 + z * 0x1.3b13a962cdc0ap-4) +
                       z2 * (0x1.11131a2f4c689p-4 + z * 0x1.e1792379652adp-5)) +
                      z4 * (0x1.b5093a8fa3143p-5 + z * 0x1.55453cc40d686p-5 + z2 * 0x1.1ceb014b3dd76p-4)));
  }
  if (!(size < 1.0))
    return x != x ? x : size == 1.0 ? tellegen_with_sign(tellegen_infinity(), x) : tellegen_nan();
  above = tellegen_sum(1.0, size), below = tellegen_sum(1.0, -size);
  above = tellegen_quotient(above, below);
  return tellegen_with_sign(0.5 * tellegen_log_of(tellegen_sum(above.hi, above.lo)), x);
}

#ifdef __cplusplus
}
#endif

#endif
