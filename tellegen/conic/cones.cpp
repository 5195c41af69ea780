#include "tellegen/conic/cones.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

#define TELLEGEN_UNROLLED inline __attribute__((always_inline))

constexpr double root2 = 1.41421356237309504880, half_root2 = 0.5 * root2;
constexpr double unlimited = std::numeric_limits<double>::infinity();

// Matrices n x n by rows. Every function below is compiled for n = 3 apart (see with_order).
TELLEGEN_UNROLLED void unpack(int n, const double* packed, double* m) {
  for (int j = 0, k = 0; j < n; ++j)
    for (int i = j; i < n; ++i, ++k)
      m[i * n + j] = m[j * n + i] = i == j ? packed[k] : packed[k] * half_root2;
}

TELLEGEN_UNROLLED void pack(int n, const double* m, double* packed) {
  for (int j = 0, k = 0; j < n; ++j)
    for (int i = j; i < n; ++i, ++k)
      packed[k] = i == j ? m[i * n + i] : (m[i * n + j] + m[j * n + i]) * half_root2;
}

// c = a b, with either transposed.
TELLEGEN_UNROLLED void multiply(int n, const double* a, bool a_transposed, const double* b, bool b_transposed,
                                double* c) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0.0;
      for (int k = 0; k < n; ++k)
        sum += (a_transposed ? a[k * n + i] : a[i * n + k]) * (b_transposed ? b[j * n + k] : b[k * n + j]);
      c[i * n + j] = sum;
    }
}

TELLEGEN_UNROLLED bool cholesky(int n, const double* m, double* l) {
  for (int j = 0; j < n; ++j) {
    double d = m[j * n + j];
    for (int k = 0; k < j; ++k) d -= l[j * n + k] * l[j * n + k];
    if (!(d > 0.0)) return false;
    const double root = std::sqrt(d);
    for (int i = 0; i < j; ++i) l[i * n + j] = 0.0;
    l[j * n + j] = root;
    for (int i = j + 1; i < n; ++i) {
      double sum = m[i * n + j];
      for (int k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = sum / root;
    }
  }
  return true;
}

// Jacobi's rotations of the columns of b until they are orthogonal; v takes part.
TELLEGEN_UNROLLED void orthogonalise(int n, double* b, double* v) {
  for (int i = 0; i < n * n; ++i) v[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
  for (int sweep = 0; sweep < 40; ++sweep) {
    bool turned = false;
    for (int p = 0; p + 1 < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        double alpha = 0.0, beta = 0.0, gamma = 0.0;
        for (int i = 0; i < n; ++i) {
          alpha += b[i * n + p] * b[i * n + p];
          beta += b[i * n + q] * b[i * n + q];
          gamma += b[i * n + p] * b[i * n + q];
        }
        if (gamma * gamma <= 1e-31 * alpha * beta) continue;
        turned = true;
        const double zeta = (beta - alpha) / (2.0 * gamma);
        const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1.0 + zeta * zeta));
        const double c = 1.0 / std::sqrt(1.0 + t * t), s = c * t;
        for (int i = 0; i < n; ++i) {
          const double x = b[i * n + p], y = b[i * n + q];
          b[i * n + p] = c * x - s * y, b[i * n + q] = s * x + c * y;
          const double f = v[i * n + p], g = v[i * n + q];
          v[i * n + p] = c * f - s * g, v[i * n + q] = s * f + c * g;
        }
      }
    if (!turned) break;
  }
}

// Smallest eigenvalue of a symmetric matrix, which is overwritten.
TELLEGEN_UNROLLED double smallest_eigenvalue(int n, double* a) {
  for (int sweep = 0; sweep < 40; ++sweep) {
    double off = 0.0, diagonal = 0.0;
    for (int i = 0; i < n; ++i) {
      diagonal += a[i * n + i] * a[i * n + i];
      for (int j = 0; j < i; ++j) off += a[i * n + j] * a[i * n + j];
    }
    if (off <= 1e-24 * diagonal) break;  // a step's length needs no more
    for (int p = 0; p + 1 < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const double apq = a[q * n + p];
        if (apq == 0.0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(1.0 + theta * theta));
        const double c = 1.0 / std::sqrt(1.0 + t * t), s = c * t;
        a[p * n + p] -= t * apq;
        a[q * n + q] += t * apq;
        a[p * n + q] = a[q * n + p] = 0.0;
        for (int k = 0; k < n; ++k)
          if (k != p && k != q) {
            const double x = a[k * n + p], y = a[k * n + q];
            a[k * n + p] = a[p * n + k] = c * x - s * y;
            a[k * n + q] = a[q * n + k] = s * x + c * y;
          }
      }
  }
  double least = a[0];
  for (int i = 1; i < n; ++i) least = std::min(least, a[i * n + i]);
  return least;
}

// Calls with a number that the compiler knows where it is the usual one.
template <typename Function>
TELLEGEN_UNROLLED auto with_order(int order, Function function) {
  if (order == 3) return function(3);
  if (order == 2) return function(2);
  return function(order);
}

// out = a X a' or a' X a of a packed X.
TELLEGEN_UNROLLED void congruence(int order, const double* a, bool transposed, const double* x, double* out,
                                  double* scratch) {
  with_order(
      order, [&](int n) __attribute__((always_inline)) {
        double local[18], *full = n <= 3 ? local : scratch, *half = full + n * n;
        unpack(n, x, full);
        multiply(n, full, false, a, !transposed, half);
        for (int j = 0, at = 0; j < n; ++j)
          for (int i = j; i < n; ++i, ++at) {
            double sum = 0.0;
            for (int k = 0; k < n; ++k) sum += (transposed ? a[k * n + i] : a[i * n + k]) * half[k * n + j];
            out[at] = i == j ? sum : sum * root2;
          }
      });
}

double squared_norm(const double* v, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += v[i] * v[i];
  return sum;
}

double inner(const double* u, const double* v, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += u[i] * v[i];
  return sum;
}

// s_0^2 - |s_1|^2, without the cancellation of the squares.
double hyperbolic_norm(const double* s, int rows) {
  const double tail = std::sqrt(squared_norm(s + 1, rows - 1));
  return (s[0] - tail) * (s[0] + tail);
}

// out = H(w) v for the second-order scaling; sign -1 gives its inverse.
void hyperbolic(const double* w, double sign, int rows, const double* v, double* out) {
  const double along = inner(w + 1, v + 1, rows - 1), head = v[0];
  const double factor = sign * head + along / (1.0 + w[0]);
  for (int i = 1; i < rows; ++i) out[i] = v[i] + factor * w[i];
  out[0] = w[0] * head + sign * along;
}

}  // namespace

ConeProduct::ConeProduct(int nonnegative, std::span<const int> second_order,
                         std::span<const int> semidefinite) {
  std::int64_t scaling = 0;
  int largest = 1;
  for (int k = 0; k < nonnegative; ++k, ++rows_, ++scaling)
    cones_.push_back({Cone::Kind::nonnegative, 1, rows_, 1, scaling});
  for (const int order : second_order) {
    cones_.push_back({Cone::Kind::second_order, order, rows_, order, scaling});
    rows_ += order, scaling += order + 1;
    most_rows_ = std::max(most_rows_, order);
  }
  for (const int order : semidefinite) {
    const int rows = order * (order + 1) / 2;
    cones_.push_back({Cone::Kind::semidefinite, order, rows_, rows, scaling});
    rows_ += rows, scaling += 2 * order * order;
    most_rows_ = std::max(most_rows_, rows);
    largest = std::max(largest, order);
  }
  for (const Cone& cone : cones_) degree_ += cone.kind == Cone::Kind::semidefinite ? cone.order : 1;
  scaling_.resize(scaling);
  scratch_.resize(6 * largest * largest);
}

void ConeProduct::identity(double* e) const {
  std::fill(e, e + rows_, 0.0);
  add_identity(1.0, e);
}

void ConeProduct::add_identity(double t, double* s) const {
  for (const Cone& cone : cones_) {
    s[cone.first] += t;
    if (cone.kind == Cone::Kind::semidefinite)
      for (int j = 0, k = 0; j < cone.order; k += cone.order - j, ++j)
        if (j > 0) s[cone.first + k] += t;
  }
}

double ConeProduct::margin(const double* s) {
  double least = unlimited;
  for (const Cone& cone : cones_) {
    const double* x = s + cone.first;
    if (cone.kind == Cone::Kind::nonnegative)
      least = std::min(least, x[0]);
    else if (cone.kind == Cone::Kind::second_order)
      least = std::min(least, x[0] - std::sqrt(squared_norm(x + 1, cone.rows - 1)));
    else
      least = std::min(least, with_order(
                                  cone.order, [&](int n) __attribute__((always_inline)) {
                                    unpack(n, x, scratch_.data());
                                    return smallest_eigenvalue(n, scratch_.data());
                                  }));
  }
  return least;
}

bool ConeProduct::scale(const double* s, const double* z, double* lambda) {
  for (const Cone& cone : cones_) {
    const double *a = s + cone.first, *b = z + cone.first;
    double *l = lambda + cone.first, *w = scaling_.data() + cone.scaling;
    if (cone.kind == Cone::Kind::nonnegative) {
      if (!(a[0] > 0.0 && b[0] > 0.0)) return false;
      w[0] = std::sqrt(a[0] / b[0]);
      l[0] = std::sqrt(a[0] * b[0]);
    } else if (cone.kind == Cone::Kind::second_order) {
      // w[0]: eta, w[1..]: the point whose hyperbolic rotation takes z into s.
      const double sn = hyperbolic_norm(a, cone.rows), zn = hyperbolic_norm(b, cone.rows);
      if (!(sn > 0.0 && zn > 0.0 && a[0] > 0.0 && b[0] > 0.0)) return false;
      const double sr = std::sqrt(sn), zr = std::sqrt(zn);
      const double gamma = std::sqrt(0.5 * (1.0 + inner(a, b, cone.rows) / (sr * zr)));
      w[0] = std::sqrt(sr / zr);
      w[1] = (a[0] / sr + b[0] / zr) / (2.0 * gamma);
      for (int i = 1; i < cone.rows; ++i) w[i + 1] = (a[i] / sr - b[i] / zr) / (2.0 * gamma);
      w[1] = std::sqrt(1.0 + squared_norm(w + 2, cone.rows - 1));
      hyperbolic(w + 1, 1.0, cone.rows, b, l);
      for (int i = 0; i < cone.rows; ++i) l[i] *= w[0];
    } else {
      // S = K K', Z = L L', L'K = U D V':  R = K V D^-1/2 and R^-1 = D^-1/2 U' L'.
      const bool inside = with_order(
          cone.order, [&](int n) __attribute__((always_inline)) {
            double *m = scratch_.data(), *k = m + n * n, *f = k + n * n, *product = f + n * n,
                   *v = product + n * n;
            unpack(n, a, m);
            if (!cholesky(n, m, k)) return false;
            unpack(n, b, m);
            if (!cholesky(n, m, f)) return false;
            multiply(n, f, true, k, false, product);
            orthogonalise(n, product, v);
            double *r = w, *inverse = w + n * n;
            multiply(n, k, false, v, false, r);
            multiply(n, product, true, f, true, inverse);
            for (int j = 0, at = 0; j < n; at += n - j, ++j) {
              double square = 0.0;
              for (int i = 0; i < n; ++i) square += product[i * n + j] * product[i * n + j];
              const double d = std::sqrt(square);
              if (!(d > 0.0)) return false;
              const double root = std::sqrt(d);
              for (int i = 0; i < n; ++i) r[i * n + j] /= root, inverse[j * n + i] /= d * root;
              l[at] = d;
              for (int i = 1; i < n - j; ++i) l[at + i] = 0.0;
            }
            return true;
          });
      if (!inside) return false;
    }
  }
  return true;
}

void ConeProduct::map(const double* from, bool inverse, bool transposed, double* out) {
  for (const Cone& cone : cones_) {
    const double *x = from + cone.first, *w = scaling_.data() + cone.scaling;
    double* y = out + cone.first;
    if (cone.kind == Cone::Kind::nonnegative) {
      y[0] = inverse ? x[0] / w[0] : w[0] * x[0];
    } else if (cone.kind == Cone::Kind::second_order) {
      hyperbolic(w + 1, inverse ? -1.0 : 1.0, cone.rows, x, y);
      for (int i = 0; i < cone.rows; ++i) y[i] = inverse ? y[i] / w[0] : y[i] * w[0];
    } else {
      const double* factor = inverse ? w + cone.order * cone.order : w;
      congruence(cone.order, factor, !transposed, x, y, scratch_.data());
    }
  }
}

void ConeProduct::apply(const double* z, double* out) { map(z, false, false, out); }
void ConeProduct::apply_transposed(const double* v, double* out) { map(v, false, true, out); }
void ConeProduct::apply_inverse(const double* v, double* out) { map(v, true, false, out); }
void ConeProduct::apply_inverse_transposed(const double* s, double* out) { map(s, true, true, out); }

void ConeProduct::inverse_square(const Cone& cone, double* block) {
  const double* w = scaling_.data() + cone.scaling;
  if (cone.kind == Cone::Kind::nonnegative) {
    block[0] = 1.0 / (w[0] * w[0]);
  } else if (cone.kind == Cone::Kind::second_order) {
    // eta^-2 (2 (J w)(J w)' - J)
    const double scale = 1.0 / (w[0] * w[0]);
    for (int i = 0; i < cone.rows; ++i)
      for (int j = 0; j < cone.rows; ++j) {
        double entry = 2.0 * w[i + 1] * w[j + 1] * ((i == 0) != (j == 0) ? -1.0 : 1.0);
        if (i == j) entry -= i == 0 ? 1.0 : -1.0;
        block[i * cone.rows + j] = scale * entry;
      }
  } else {
    with_order(
        cone.order, [&](int n) __attribute__((always_inline)) {
          const double* inverse = w + n * n;
          const int rows = n * (n + 1) / 2;
          double* p = scratch_.data();
          multiply(n, inverse, true, inverse, false, p);
          for (int l = 0, b = 0; l < n; ++l)
            for (int k = l; k < n; ++k, ++b)
              for (int j = 0, a = 0; j < n; ++j)
                for (int i = j; i < n; ++i, ++a) {
                  if (a < b) continue;
                  double entry = p[i * n + k] * p[j * n + l];
                  if (k != l) entry = (entry + p[i * n + l] * p[j * n + k]) * half_root2;
                  if (i != j) entry *= root2;
                  block[a * rows + b] = block[b * rows + a] = entry;
                }
        });
  }
}

void ConeProduct::product(const double* u, const double* v, double* out) {
  for (const Cone& cone : cones_) {
    const double *a = u + cone.first, *b = v + cone.first;
    double* y = out + cone.first;
    if (cone.kind == Cone::Kind::nonnegative) {
      y[0] = a[0] * b[0];
    } else if (cone.kind == Cone::Kind::second_order) {
      const double head = inner(a, b, cone.rows);
      for (int i = 1; i < cone.rows; ++i) y[i] = a[0] * b[i] + b[0] * a[i];
      y[0] = head;
    } else {
      with_order(
          cone.order, [&](int n) __attribute__((always_inline)) {
            double *x = scratch_.data(), *m = x + n * n, *full = m + n * n;
            unpack(n, a, x);
            unpack(n, b, m);
            multiply(n, x, false, m, false, full);
            pack(n, full, y);  // which takes the symmetric half of it
          });
    }
  }
}

void ConeProduct::divide(const double* lambda, const double* d, double* out) const {
  for (const Cone& cone : cones_) {
    const double *l = lambda + cone.first, *b = d + cone.first;
    double* y = out + cone.first;
    if (cone.kind == Cone::Kind::nonnegative) {
      y[0] = b[0] / l[0];
    } else if (cone.kind == Cone::Kind::second_order) {
      const double norm = hyperbolic_norm(l, cone.rows), along = inner(l + 1, b + 1, cone.rows - 1);
      const double head = (l[0] * b[0] - along) / norm;
      for (int i = 1; i < cone.rows; ++i) y[i] = (b[i] - head * l[i]) / l[0];
      y[0] = head;
    } else {
      const int n = cone.order;
      const auto diagonal = [&](int j) { return l[j * n - j * (j - 1) / 2]; };
      for (int j = 0, at = 0; j < n; ++j)
        for (int i = j; i < n; ++i, ++at) y[at] = 2.0 * b[at] / (diagonal(i) + diagonal(j));
    }
  }
}

double ConeProduct::longest_step(const double* lambda, const double* d, double most) {
  double least = -1.0 / most;  // of the eigenvalues of d in the scale of lambda
  for (const Cone& cone : cones_) {
    const double *l = lambda + cone.first, *b = d + cone.first;
    if (cone.kind == Cone::Kind::nonnegative) {
      least = std::min(least, b[0] / l[0]);
    } else if (cone.kind == Cone::Kind::second_order) {
      const double norm = std::sqrt(hyperbolic_norm(l, cone.rows));
      const double head = (l[0] * b[0] - inner(l + 1, b + 1, cone.rows - 1)) / norm;
      const double factor = (head + b[0]) / (l[0] / norm + 1.0);
      double tail = 0.0;
      for (int i = 1; i < cone.rows; ++i) {
        const double x = b[i] - factor * l[i] / norm;
        tail += x * x;
      }
      least = std::min(least, (head - std::sqrt(tail)) / norm);
    } else {
      least =
          std::min(least, with_order(
                              cone.order, [&](int n) __attribute__((always_inline)) {
                                double local[12], *m = n <= 3 ? local : scratch_.data(), *root = m + n * n;
                                for (int j = 0, at = 0; j < n; at += n - j, ++j)
                                  root[j] = 1.0 / std::sqrt(l[at]);
                                // Trace and norm bound the smallest eigenvalue; most cones are not the
                                // shortest.
                                double trace = 0.0, norm = 0.0;
                                for (int j = 0, at = 0; j < n; ++j)
                                  for (int i = j; i < n; ++i, ++at) {
                                    const double entry = b[at] * root[i] * root[j];
                                    m[i * n + j] = m[j * n + i] = i == j ? entry : entry * half_root2;
                                    norm += entry * entry;
                                    if (i == j) trace += entry;
                                  }
                                const double mean = trace / n, spread = std::max(0.0, norm - trace * mean);
                                if (mean - std::sqrt(spread * (n - 1) / n) >= least) return least;
                                return smallest_eigenvalue(n, m);
                              }));
    }
  }
  return -1.0 / least;
}

}  // namespace tellegen
