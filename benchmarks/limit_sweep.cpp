#include "benchmarks/limit_sweep.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tellegen {
namespace {

constexpr int lanes = 16;
using V = double __attribute__((vector_size(8 * 8)));  // one of AVX-512, two of AVX, four of SSE2 or NEON
using M = long long __attribute__((vector_size(8 * 8)));
constexpr int vectors = lanes / 8;

// Numbers of the lanes of one block.
struct Row {
  V v[vectors];
};

template <class Get>
Row gather(Get get) {
  Row row;
  for (int l = 0; l < lanes; ++l) row.v[l / 8][l % 8] = get(l);
  return row;
}

#define EACH for (int k = 0; k < vectors; ++k)

V chosen(M mask, V a, V b) { return mask ? a : b; }
bool any(M mask) {
  long long all = 0;
  for (int l = 0; l < 8; ++l) all |= mask[l];
  return all != 0;
}

// Below -746, where a junction blocks, it is 0.
V library_exponential(V a) {
  V r{};
  if (any(a > -746.0))
    for (int l = 0; l < 8; ++l)
      if (a[l] > -746.0) r[l] = std::exp(a[l]);
  return r;
}

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX512F__)
extern "C" V _ZGVeN8v_exp(V);
V exponential(V a, bool vector_functions) {
  if (vector_functions) return any(a > -746.0) ? _ZGVeN8v_exp(a) : V{};
  return library_exponential(a);
}
constexpr bool vectorised = true;
#else
V exponential(V a, bool) { return library_exponential(a); }
constexpr bool vectorised = false;
#endif

}  // namespace

bool has_vector_functions() { return vectorised; }

// Two temperatures above the air: C1 x' = Q - (x - y)/R2, C2 y' = (x - y)/R2 - y/R3. With rates a x + past of
// the formula, (x, y) = S (C1 past_x, C2 past_y) + s Q, one constant matrix.
std::vector<double> limit_thermal_samples(std::span<const ThermalSample> samples, double step, long steps) {
  constexpr double air = 300.0;
  std::vector<double> results(3 * samples.size());
  for (std::size_t first = 0; first < samples.size(); first += lanes) {
    const auto at = [&](int l) -> const ThermalSample& {
      return samples[std::min(samples.size() - 1, first + static_cast<std::size_t>(l))];
    };
    const Row g2 = gather([&](int l) { return 1.0 / at(l).r2; }),
              g3 = gather([&](int l) { return 1.0 / at(l).r3; }),
              c1 = gather([&](int l) { return at(l).c1; }), c2 = gather([&](int l) { return at(l).c2; }),
              q = gather([&](int l) { return at(l).heat; });
    Row x, y, x1{}, y1{}, x2{}, y2{}, m11, m12, m21, m22, b1, b2;
    EACH {
      x.v[k] = V{} + (299 - air);
      y.v[k] = V{} + (301 - air);
    }
    const auto matrix = [&](double alpha) {
      EACH {
        const V a = alpha * c1.v[k] + g2.v[k], d = alpha * c2.v[k] + g2.v[k] + g3.v[k], o = g2.v[k];
        const V inverse = 1.0 / (a * d - o * o);
        m11.v[k] = d * inverse, m12.v[k] = o * inverse, m22.v[k] = a * inverse;
        b1.v[k] = m11.v[k] * q.v[k], b2.v[k] = m12.v[k] * q.v[k];
        m21.v[k] = m12.v[k] * c1.v[k], m11.v[k] *= c1.v[k];
        m12.v[k] *= c2.v[k], m22.v[k] *= c2.v[k];
      }
    };
    matrix(2 / step);
    long done = 0;
    for (; done < std::min(2L, steps); ++done) EACH {
        const V rate_x = (q.v[k] - (x.v[k] - y.v[k]) * g2.v[k]) / c1.v[k],
                rate_y = ((x.v[k] - y.v[k]) * g2.v[k] - y.v[k] * g3.v[k]) / c2.v[k];
        const V hx = 2 / step * x.v[k] + rate_x, hy = 2 / step * y.v[k] + rate_y;
        x2.v[k] = x1.v[k], y2.v[k] = y1.v[k], x1.v[k] = x.v[k], y1.v[k] = y.v[k];
        x.v[k] = m11.v[k] * hx + m12.v[k] * hy + b1.v[k];
        y.v[k] = m21.v[k] * hx + m22.v[k] * hy + b2.v[k];
      }
    matrix(11 / (6 * step));
    const double h0 = 3 / step, h1 = -1.5 / step, h2 = 1 / (3 * step);
    for (; done < steps; ++done) EACH {
        const V hx = h0 * x.v[k] + h1 * x1.v[k] + h2 * x2.v[k],
                hy = h0 * y.v[k] + h1 * y1.v[k] + h2 * y2.v[k];
        x2.v[k] = x1.v[k], y2.v[k] = y1.v[k], x1.v[k] = x.v[k], y1.v[k] = y.v[k];
        x.v[k] = m11.v[k] * hx + m12.v[k] * hy + b1.v[k];
        y.v[k] = m21.v[k] * hx + m22.v[k] * hy + b2.v[k];
      }
    for (std::size_t l = 0; l < lanes && first + l < samples.size(); ++l) {
      double* result = results.data() + 3 * (first + l);
      const double t2 = air + x.v[l / 8][l % 8];
      result[0] = t2 + at(static_cast<int>(l)).r1 * at(static_cast<int>(l)).heat;
      result[1] = t2, result[2] = air + y.v[l / 8][l % 8];
    }
  }
  return results;
}

// Two potentials, behind and before the load, and its current. Each diode is its tangent at u, the exponent
// of its junction, in series with its resistance: i = G (v - n u) + J. SPICE's limit on the steps of u.
std::vector<double> limit_rectifier_samples(std::span<const RectifierSample> samples, double step, long steps,
                                            bool vector_functions) {
  constexpr double saturation = 1e-15, series = 1e-3, gmin = 1e-12;
  constexpr double n = 1.5 * (1.380649e-23 * 300 / 1.602176634e-19);
  constexpr double inverse_n = 1 / n, omega = 10 * std::numbers::pi, tolerance = 1e-6;
  constexpr int most = 50;
  std::vector<double> results(2 * samples.size());
  for (std::size_t first = 0; first < samples.size(); first += lanes) {
    const auto at = [&](int l) -> const RectifierSample& {
      return samples[std::min(samples.size() - 1, first + static_cast<std::size_t>(l))];
    };
    const Row r = gather([&](int l) { return at(l).resistance; }),
              h = gather([&](int l) { return at(l).inductance; }),
              amplitude = gather([&](int l) { return at(l).amplitude; });
    Row loads[2];  // of the starting steps, and of the formula
    EACH for (int formula = 0; formula < 2; ++formula) loads[formula].v[k] =
        1.0 / (r.v[k] + (formula == 0 ? 2 : 11.0 / 6) / step * h.v[k]);
    Row u[4]{}, i{}, i1{}, i2{}, rate{}, v3{}, v4{};
    for (long done = 0; done < steps; ++done) {
      const bool starting = done < 2;
      const double alpha = starting ? 2 / step : 11 / (6 * step);
      const double sine = std::sin(omega * step * static_cast<double>(done + 1));
      const Row& load = loads[starting ? 0 : 1];
      Row past, e;
      EACH {
        past.v[k] = starting ? 2 / step * i.v[k] + rate.v[k]
                             : 3 / step * i.v[k] - 1.5 / step * i1.v[k] + 1 / (3 * step) * i2.v[k];
        e.v[k] = amplitude.v[k] * sine;
      }
      EACH {
        const V drop = h.v[k] * past.v[k];
        M on = M{} - 1;
        V current = i.v[k], a = v3.v[k], b = v4.v[k];
        for (int iteration = 0; iteration < most; ++iteration) {
          V conductance[4], constant[4];
          for (int d = 0; d < 4; ++d) {
            const V exponent = exponential(u[d].v[k], vector_functions);
            const V g = saturation * inverse_n * exponent + gmin,
                    j = saturation * (exponent - 1.0) + gmin * n * u[d].v[k] - g * n * u[d].v[k];
            const V in_series = 1.0 / (1.0 + g * series);
            conductance[d] = g * in_series, constant[d] = j * in_series;
          }
          // d1: n2 to n3, d2: n1 to n3, d3: n4 to n2, d4: n4 to n1; n1 is the ground.
          const V into3 = conductance[0] * e.v[k] + constant[0] + constant[1] - load.v[k] * drop,
                  into4 = conductance[2] * e.v[k] - constant[2] - constant[3] + load.v[k] * drop;
          const V g3 = conductance[0] + conductance[1], g4 = conductance[2] + conductance[3];
          const V inverse = 1.0 / (g3 * g4 + load.v[k] * (g3 + g4));
          const V new3 = (into3 * (g4 + load.v[k]) + load.v[k] * into4) * inverse,
                  new4 = (into4 * (g3 + load.v[k]) + load.v[k] * into3) * inverse;
          const V across[4] = {e.v[k] - new3, -new3, new4 - e.v[k], new4};
          M settled = M{} - 1;
          for (int d = 0; d < 4; ++d) {
            const V through = conductance[d] * across[d] + constant[d];
            V wanted = (across[d] - series * through) * inverse_n;
            const V change = wanted - u[d].v[k], size = chosen(change < 0.0, -change, change);
            if (any((wanted > 4.0) & (size > 2.0)))
              for (int l = 0; l < 8; ++l) {
                const double now = wanted[l], before = u[d].v[k][l];
                if (!(now > 4.0 && std::abs(now - before) > 2.0)) continue;
                const double argument = 1.0 + (now - before);
                wanted[l] =
                    before > 0.0 ? (argument > 0.0 ? before + std::log(argument) : 4.0) : std::log(now);
              }
            const V moved = wanted - u[d].v[k], moved_size = chosen(moved < 0.0, -moved, moved);
            const V magnitude = chosen(wanted < 0.0, -wanted, wanted);
            settled &= (moved_size <= tolerance * (1.0 + magnitude)) | (wanted < -40.0);
            u[d].v[k] = chosen(on, wanted, u[d].v[k]);
          }
          a = chosen(on, new3, a), b = chosen(on, new4, b);
          current = chosen(on, load.v[k] * (new3 - new4 + drop), current);
          on &= ~settled;
          if (!any(on)) break;
        }
        v3.v[k] = a, v4.v[k] = b;
        rate.v[k] = alpha * current - past.v[k];
        i2.v[k] = i1.v[k], i1.v[k] = i.v[k], i.v[k] = current;
        if (done + 1 == steps)
          for (std::size_t l = 0; l < 8; ++l) {
            const std::size_t sample = first + 8 * static_cast<std::size_t>(k) + l;
            if (sample >= samples.size()) continue;
            results[2 * sample] = e.v[k][l] - a[l];
            results[2 * sample + 1] = current[l];
          }
      }
    }
  }
  return results;
}

}  // namespace tellegen
