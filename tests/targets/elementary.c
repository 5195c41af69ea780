/* A checksum of elementary functions at pseudo-random arguments of all sizes, signs and kinds. */
#include "tellegen_single.h"

uint64_t checksum(int count);

static uint64_t state = UINT64_C(88172645463325252), sum = UINT64_C(14695981039346656037);

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}
static double between(double a, double b) { return a + (b - a) * (double)(next() >> 11) * 0x1p-53; }
static void add(double y) {
  if (y != y) y = 0.125; /* what kind of no number it is may differ */
  sum = (sum ^ tellegen_bits(y)) * UINT64_C(1099511628211);
}

uint64_t checksum(int count) {
  int k;
  for (k = 0; k < count; ++k) {
    const double x = between(-3.0, 3.0), y = between(-3.0, 3.0), u = between(0.0, 1.0);
    const double any = tellegen_from_bits(next()), other = tellegen_from_bits(next());
    const float f = (float)x;
    add(tellegen_exp(x)), add(tellegen_exp(250.0 * x)), add(tellegen_log(u)), add(tellegen_log(any));
    add(tellegen_log10(u)), add(tellegen_sin(x)), add(tellegen_sin(1e4 * x)), add(tellegen_sin(any));
    add(tellegen_cos(y)), add(tellegen_cos(other)), add(tellegen_tan(x)), add(tellegen_tan(any));
    add(tellegen_asin(u)), add(tellegen_acos(-u)), add(tellegen_atan(x)), add(tellegen_atan(any));
    add(tellegen_atan2(x, y)), add(tellegen_atan2(any, other)), add(tellegen_sinh(x));
    add(tellegen_cosh(250.0 * x)), add(tellegen_tanh(y)), add(tellegen_asinh(any));
    add(tellegen_acosh(1.0 + u)), add(tellegen_atanh(u)), add(tellegen_pow(u, y)), add(tellegen_pow(any, x));
    add(tellegen_pow(-2.0, (double)(int)(100.0 * y))), add(tellegen_hypot(x, y)),
        add(tellegen_hypot(any, other));
    add(sqrt(u)), add(tellegen_gauss(x, y)), add(tellegen_limexp(40.0 * x)), add(tellegen_mod(x, u));
    add(tellegen_expf(f)), add(tellegen_expf(30.0f * f)), add(tellegen_logf((float)u)), add(tellegen_sinf(f));
    add(tellegen_cosf(1000.0f * f)), add(tellegen_sinf(1e5f * f)), add(tellegen_limexpf(30.0f * f));
  }
  return sum;
}
