#include "tellegen/symbolic/written_functions.h"

#include <cmath>

namespace tellegen {
namespace {

using Args = std::span<const Expr>;
const double sqrt3 = std::sqrt(3.0);

Expr sine(Pool& pool, Expr angle) { return pool.call("sin", {angle}); }
Expr cosine(Pool& pool, Expr angle) { return pool.call("cos", {angle}); }

// In differences of phases, so that what all three have in common drops out exactly.
Expr alpha(Args a) { return ((a[0] - a[1]) + (a[0] - a[2])) / 3.0; }
Expr beta(Args a) { return (a[1] - a[2]) / sqrt3; }
Expr turned_alpha(Pool& p, Args a) { return a[0] * cosine(p, a[3]) + a[1] * sine(p, a[3]); }
Expr turned_beta(Pool& p, Args a) { return a[0] * sine(p, a[3]) - a[1] * cosine(p, a[3]); }

const WrittenFunction written_table[] = {
    {"sum", -1, [](Pool& p, Args a) { return p.add(a); }, "the sum"},
    {"mean", -1, [](Pool& p, Args a) { return p.add(a) / static_cast<double>(a.size()); }, "the mean"},
    {"alpha_of", 3, [](Pool&, Args a) { return alpha(a); },
     "alpha component of phases a, b, c: along phase a"},
    {"beta_of", 3, [](Pool&, Args a) { return beta(a); },
     "beta component of phases a, b, c: a quarter turn ahead of phase a"},
    {"zero_of", 3, [](Pool&, Args a) { return (a[0] + a[1] + a[2]) / 3.0; },
     "zero sequence of phases a, b, c: their mean"},
    {"q_of", 4, [](Pool& p, Args a) { return alpha(a) * cosine(p, a[3]) + beta(a) * sine(p, a[3]); },
     "q component of phases a, b, c in the frame whose q axis is at the angle of the last argument"},
    {"d_of", 4, [](Pool& p, Args a) { return alpha(a) * sine(p, a[3]) - beta(a) * cosine(p, a[3]); },
     "d component there: a quarter turn behind the q axis"},
    {"a_of", 4, [](Pool& p, Args a) { return a[2] + turned_alpha(p, a); },
     "phase a of components q, d, zero in the frame at the angle of the last argument"},
    {"b_of", 4,
     [](Pool& p, Args a) { return a[2] - 0.5 * turned_alpha(p, a) + (0.5 * sqrt3) * turned_beta(p, a); },
     "phase b of q, d, zero there"},
    {"c_of", 4,
     [](Pool& p, Args a) { return a[2] - 0.5 * turned_alpha(p, a) - (0.5 * sqrt3) * turned_beta(p, a); },
     "phase c of q, d, zero there"},
};

}  // namespace

std::span<const WrittenFunction> written_functions() { return written_table; }

const WrittenFunction* find_written_function(std::string_view name) {
  for (const WrittenFunction& f : written_table)
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace tellegen
