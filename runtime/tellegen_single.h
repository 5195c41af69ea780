/* What exported C in single precision needs beyond tellegen_math.h: float arithmetic with the same bits on
 * every machine. Errors: sin and cos 1e-7 of 1, exp 1.5 and log 2 units in the last place. Functions that are
 * not here are taken in double and rounded. */
#ifndef TELLEGEN_SINGLE_H
#define TELLEGEN_SINGLE_H

#include "tellegen_math.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline float tellegen_squaref(float a) { return a * a; }
static inline float tellegen_cubef(float a) { return a * a * a; }
static inline float tellegen_signf(float a) { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a; }
static inline float tellegen_minf(float a, float b) { return a < b ? a : b; }
static inline float tellegen_maxf(float a, float b) { return a > b ? a : b; }
static inline float tellegen_ltf(float a, float b) { return a < b ? 1.0f : 0.0f; }
static inline float tellegen_lef(float a, float b) { return a <= b ? 1.0f : 0.0f; }
static inline float tellegen_gtf(float a, float b) { return a > b ? 1.0f : 0.0f; }
static inline float tellegen_gef(float a, float b) { return a >= b ? 1.0f : 0.0f; }
static inline float tellegen_eqf(float a, float b) { return a == b ? 1.0f : 0.0f; }
static inline float tellegen_nef(float a, float b) { return a != b ? 1.0f : 0.0f; }
static inline float tellegen_andf(float a, float b) { return a != 0.0f && b != 0.0f ? 1.0f : 0.0f; }
static inline float tellegen_orf(float a, float b) { return a != 0.0f || b != 0.0f ? 1.0f : 0.0f; }
static inline float tellegen_notf(float a) { return a != 0.0f ? 0.0f : 1.0f; }

static inline float tellegen_expf(float x) {
  const float shift = 0x1.8p23f;
  uint32_t bits;
  float k, r, r2, e, scale;
  int half;
  if (!(fabsf(x) <= 87.0f)) return (float)tellegen_exp((double)x);
  k = (x * 0x1.715476p0f + shift) - shift;
  r = (x - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
  r2 = r * r;
  e = (r + r2 * ((0x1.fffffap-2f + r * 0x1.555492p-3f) +
                 r2 * ((0x1.555a26p-5f + r * 0x1.123988p-7f) + r2 * 0x1.694cd2p-10f))) +
      1.0f;
  half = (int)k;
  bits = (uint32_t)(half + 127) << 23;
  memcpy(&scale, &bits, sizeof scale);
  return e * scale;
}
static inline float tellegen_logf(float x) {
  uint32_t bits;
  float k, m, s, z;
  if (!(x >= 0x1p-126f && x <= 0x1.fffffep127f)) return (float)tellegen_log((double)x);
  memcpy(&bits, &x, sizeof bits);
  bits -= 0x3f3504f3u; /* the root of 1/2 */
  k = (float)((int)((bits + 0x40000000u) >> 23) - 128);
  bits = (bits & 0x7fffffu) + 0x3f3504f3u;
  memcpy(&m, &bits, sizeof m);
  s = (m - 1.0f) / (m + 1.0f);
  z = s * s;
  return k * 0x1.62e4p-1f +
         (2.0f * s +
          (s * z * ((0x1.555554p-1f + z * 0x1.999bd4p-2f) + z * z * (0x1.23f1ap-2f + z * 0x1.ec1e3cp-3f)) +
           k * 0x1.7f7d1cp-20f));
}

/* sin(x + q pi/2). */
static inline float tellegen_sine_single(float x, int q) {
  float r = x, z, y;
  if (!(fabsf(x) <= 0x1.921fb6p-1f)) {
    const float shift = 0x1.8p23f;
    float n;
    if (!(fabsf(x) < 12000.0f)) {
      const double a = (double)x;
      return (float)(q & 1 ? tellegen_cos(a) : tellegen_sin(a));
    }
    n = (x * 0x1.45f306p-1f + shift) - shift;
    r = (((x - n * 0x1.92p0f) - n * 0x1.fb4p-12f) - n * 0x1.444p-24f) - n * 0x1.68c234p-39f;
    q += (int)n;
  }
  z = r * r;
  if (q & 1)
    y = 1.0f - z * (0.5f - z * (0x1.55554ap-5f - z * (0x1.6c0c28p-10f - z * 0x1.99e806p-16f)));
  else
    y = r + r * z * (-0x1.555556p-3f + z * (0x1.111164p-7f + z * (-0x1.a04856p-13f + z * 0x1.77da1p-19f)));
  return q & 2 ? -y : y;
}
static inline float tellegen_sinf(float x) { return tellegen_sine_single(x, 0); }
static inline float tellegen_cosf(float x) { return tellegen_sine_single(x, 1); }

static inline float tellegen_limexpf(float a) {
  const float knee = (float)TELLEGEN_LIMEXP_KNEE;
  const float e = tellegen_expf(a <= knee ? a : knee);
  return a <= knee ? e : e * (1.0f + (a - knee));
}
static inline float tellegen_junction_limitf(float u, float previous) {
  const float critical = 4.0f;
  if (!(u > critical && fabsf(u - previous) > 2.0f)) return u;
  if (previous > 0.0f) {
    const float argument = 1.0f + (u - previous);
    return argument > 0.0f ? previous + tellegen_logf(argument) : critical;
  }
  return tellegen_logf(u);
}

#ifdef __cplusplus
}
#endif

#endif
