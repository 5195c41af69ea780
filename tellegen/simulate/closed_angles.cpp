#include "tellegen/simulate/closed_angles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tellegen {
namespace {

constexpr double least_slope = 1e-3;  // nearer to a toggle, the iteration is as good

std::optional<ClosedAngle> close_angle(Pool& pool, Expr residual, Expr x, std::size_t k,
                                       const ExprMap<double>& start) {
  const auto named = [&](const char* what) { return pool.symbol(fmt::format("~{}{}", what, k)); };
  ClosedAngle angle;
  angle.unknown = x;
  angle.sine = named("sine");
  angle.cosine = named("cosine");
  angle.in_symbols = {{pool.call("sin", {x}), angle.sine}, {pool.call("cos", {x}), angle.cosine}};
  const Expr r = substitute(residual, angle.in_symbols);
  const Expr a = derivative(r, angle.sine), b = derivative(r, angle.cosine);
  const Expr c = substitute(r, {{angle.sine, pool.number(0)}, {angle.cosine, pool.number(0)}});
  for (Expr part : {a, b, c})
    for (Expr s : {x, angle.sine, angle.cosine})
      if (depends_on(part, s)) return std::nullopt;
  const Expr square = a * a + b * b;
  angle.slope = (a * pool.call("cos", {x}) - b * pool.call("sin", {x})) / pool.call("sqrt", {square});
  const double slope = evaluate(angle.slope, start);
  if (!(std::abs(slope) > least_slope)) return std::nullopt;
  angle.rising = slope > 0.0;
  const auto define = [&](const char* what, Expr value) {
    const Expr symbol = named(what);
    angle.list.push_back({symbol, value});
    return symbol;
  };
  const Expr size = define("size", square);
  const Expr root = pool.call("sqrt", {size - c * c});
  const Expr d = define("slope", angle.rising ? root : -root);
  const Expr inverse = define("inverse", pow(size, -1.0));
  angle.list.push_back({angle.sine, -((a * c + b * d) * inverse)});
  angle.list.push_back({angle.cosine, (a * d - b * c) * inverse});
  angle.sine_before = named("sine_before");
  angle.cosine_before = named("cosine_before");
  angle.turns_before = named("turns_before");
  // From above to below behind, where atan2 jumps from half a turn to minus half a turn, is one turn more.
  const Expr zero = pool.number(0);
  const Expr crossed = pool.call("ge", {angle.sine_before, zero}) - pool.call("ge", {angle.sine, zero});
  const Expr behind = pool.call("lt", {angle.cosine + angle.cosine_before, zero});
  angle.turns = define("turns", angle.turns_before + behind * crossed);
  return angle;
}

}  // namespace

std::vector<ClosedAngle> close_angles(Pool& pool, ExplicitForm& form, std::vector<ExprMap<double>>& points) {
  std::vector<ClosedAngle> closed;
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < form.residuals.size() && !found; ++i) {
      // An equation of one unknown alone.
      const auto symbols = symbols_of(std::span(&form.residuals[i], 1));
      Expr x;
      int count = 0;
      for (Expr s : form.iterated)
        if (std::find(symbols.begin(), symbols.end(), s) != symbols.end()) x = s, ++count;
      if (count != 1) continue;
      const auto angle = close_angle(pool, form.residuals[i], x, closed.size(), points[0]);
      if (!angle) continue;
      found = true;
      form.residuals.erase(form.residuals.begin() + static_cast<long>(i));
      form.iterated.erase(std::find(form.iterated.begin(), form.iterated.end(), x));
      for (auto& at : points) {
        at[angle->sine] = std::sin(at.at(x));
        at[angle->cosine] = std::cos(at.at(x));
      }
      for (Expr& r : form.residuals) r = substitute(r, angle->in_symbols);
      closed.push_back(*angle);
    }
  }
  return closed;
}

}  // namespace tellegen
