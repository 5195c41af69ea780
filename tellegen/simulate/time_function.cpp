#include "tellegen/simulate/time_function.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

class PieceReader {
 public:
  PieceReader(double at, const ExprMap<double>& numbers) : at_(at), numbers_(numbers) {}
  double until = forever;

  std::optional<TimeFunction> read(Expr e) {
    switch (e.op()) {
      case Op::number:
        return constant(e.number());
      case Op::symbol:
        if (const auto found = numbers_.find(e); found != numbers_.end()) return constant(found->second);
        if (e.name() != "t") return std::nullopt;
        return TimeFunction{{0, 0, 1, 1, 0}};
      case Op::add: {
        TimeFunction sum;
        for (Expr a : e.args()) {
          const auto f = read(a);
          if (!f) return std::nullopt;
          for (const TimeTerm& term : *f) add(sum, term);
        }
        return sum;
      }
      case Op::multiply: {
        TimeFunction product = constant(1.0);
        for (Expr a : e.args()) {
          const auto f = read(a);
          if (!f) return std::nullopt;
          const auto next = times(product, *f);
          if (!next) return std::nullopt;
          product = *next;
        }
        return product;
      }
      case Op::power:
        return power(e);
      case Op::call:
        return call(e);
      case Op::lookup:
        return lookup(e);
    }
    return std::nullopt;
  }

 private:
  static TimeFunction constant(double c) { return c == 0.0 ? TimeFunction{} : TimeFunction{{0, 0, 0, c, 0}}; }

  static void add(TimeFunction& to, const TimeTerm& term) {
    for (TimeTerm& t : to)
      if (t.lambda == term.lambda && t.omega == term.omega && t.degree == term.degree) {
        t.cosine += term.cosine;
        t.sine += term.sine;
        return;
      }
    to.push_back(term);
  }

  static std::optional<TimeFunction> times(const TimeFunction& f, const TimeFunction& g) {
    TimeFunction product;
    for (const TimeTerm& a : f)
      for (const TimeTerm& b : g) {
        if (a.degree + b.degree > 1) return std::nullopt;
        // cos A cos B = (cos(A-B) + cos(A+B))/2, and so on
        const double cc = a.cosine * b.cosine, ss = a.sine * b.sine, cs = a.cosine * b.sine,
                     sc = a.sine * b.cosine;
        const TimeTerm sum{a.lambda + b.lambda, a.omega + b.omega, a.degree + b.degree, 0.5 * (cc - ss),
                           0.5 * (cs + sc)};
        TimeTerm difference{a.lambda + b.lambda, a.omega - b.omega, a.degree + b.degree, 0.5 * (cc + ss),
                            0.5 * (sc - cs)};
        if (difference.omega < 0) difference.omega = -difference.omega, difference.sine = -difference.sine;
        add(product, sum);
        add(product, difference);
      }
    return product;
  }

  // Value of a function that is constant on this piece.
  static std::optional<double> as_constant(const TimeFunction& f) {
    double total = 0.0;
    for (const TimeTerm& t : f) {
      if (t.cosine == 0.0 && t.sine == 0.0) continue;
      if (t.lambda != 0.0 || t.omega != 0.0 || t.degree != 0) return std::nullopt;
      total += t.cosine;
    }
    return total;
  }

  // f = slope t + offset?
  static std::optional<std::pair<double, double>> as_line(const TimeFunction& f) {
    double slope = 0.0, offset = 0.0;
    for (const TimeTerm& t : f) {
      if (t.cosine == 0.0 && t.sine == 0.0) continue;
      if (t.lambda != 0.0 || t.omega != 0.0) return std::nullopt;
      (t.degree == 1 ? slope : offset) += t.cosine;
    }
    return std::pair(slope, offset);
  }

  // Is f positive just after at_? Its next zero ends the piece.
  std::optional<bool> positive(const TimeFunction& f) {
    const auto line = as_line(f);
    if (!line) return std::nullopt;
    const auto [slope, offset] = *line;
    const double size = std::abs(slope * at_) + std::abs(offset);
    double value = slope * at_ + offset;
    if (std::abs(value) <= 1e-12 * size) value = 0.0;
    if (slope != 0.0) {
      const double zero = -offset / slope;
      if (zero > at_ && value != 0.0) until = std::min(until, zero);
    }
    return value > 0.0 || (value == 0.0 && slope > 0.0);
  }

  std::optional<bool> truth(Expr condition) {
    if (condition.op() != Op::call) {
      const auto f = read(condition);
      const auto value = f ? as_constant(*f) : std::nullopt;
      return value ? std::optional(*value != 0.0) : std::nullopt;
    }
    const auto name = condition.function().name;
    const auto args = condition.args();
    if (name == "lt" || name == "le") return positive_difference(args[1], args[0]);
    if (name == "gt" || name == "ge") return positive_difference(args[0], args[1]);
    if (name == "not") {
      const auto a = truth(args[0]);
      return a ? std::optional(!*a) : std::nullopt;
    }
    if (name == "and" || name == "or") {
      const auto a = truth(args[0]), b = truth(args[1]);
      if (!a || !b) return std::nullopt;
      return name == "and" ? *a && *b : *a || *b;
    }
    return std::nullopt;
  }

  std::optional<bool> positive_difference(Expr a, Expr b) {
    auto f = read(a);
    const auto g = read(b);
    if (!f || !g) return std::nullopt;
    for (TimeTerm term : *g) {
      term.cosine = -term.cosine;
      term.sine = -term.sine;
      add(*f, term);
    }
    return positive(*f);
  }

  std::optional<TimeFunction> power(Expr e) {
    const auto base = read(e.args()[0]);
    const auto exponent = read(e.args()[1]);
    if (!base || !exponent) return std::nullopt;
    const auto n = as_constant(*exponent);
    if (!n) return std::nullopt;
    if (const auto b = as_constant(*base)) return constant(std::pow(*b, *n));
    TimeFunction product = constant(1.0);
    if (*n != std::floor(*n) || *n < 0 || *n > 4) return std::nullopt;
    for (int k = 0; k < static_cast<int>(*n); ++k) {
      const auto next = times(product, *base);
      if (!next) return std::nullopt;
      product = *next;
    }
    return product;
  }

  std::optional<TimeFunction> call(Expr e) {
    const auto name = e.function().name;
    const auto args = e.args();
    if (name == "if") {
      const auto c = truth(args[0]);
      return c ? read(args[*c ? 1 : 2]) : std::nullopt;
    }
    if (name == "max" || name == "min") {
      const auto first = positive_difference(args[0], args[1]);
      return first ? read(args[*first == (name == "max") ? 0 : 1]) : std::nullopt;
    }
    if (name == "lt" || name == "le" || name == "gt" || name == "ge" || name == "not" || name == "and" ||
        name == "or") {
      const auto c = truth(e);
      return c ? std::optional(constant(*c ? 1.0 : 0.0)) : std::nullopt;
    }
    if (name == "mod") {
      const auto f = read(args[0]), g = read(args[1]);
      const auto line = f ? as_line(*f) : std::nullopt;
      const auto period = g ? as_constant(*g) : std::nullopt;
      if (!line || !period || *period <= 0.0) return std::nullopt;
      const auto [slope, offset] = *line;
      double turns = std::floor((slope * at_ + offset) / *period + (slope > 0 ? 1e-12 : -1e-12));
      if (slope > 0) until = std::min(until, ((turns + 1) * *period - offset) / slope);
      if (slope < 0) until = std::min(until, (turns * *period - offset) / slope);
      return TimeFunction{{0, 0, 1, slope, 0}, {0, 0, 0, offset - turns * *period, 0}};
    }
    if (name == "floor" || name == "ceil") {
      const auto f = read(args[0]);
      const auto line = f ? as_line(*f) : std::nullopt;
      if (!line) return std::nullopt;
      const auto [slope, offset] = *line;
      const double x = slope * at_ + offset;
      if (slope == 0.0) return constant(name == "floor" ? std::floor(x) : std::ceil(x));
      const double low = std::floor(x + (slope > 0 ? 1e-12 : -1e-12) * (1.0 + std::abs(x)));
      until = std::min(until, ((slope > 0 ? low + 1.0 : low) - offset) / slope);
      return constant(name == "floor" ? low : low + 1.0);
    }
    if (name == "sign") {
      const auto f = read(args[0]);
      const auto up = f ? positive(*f) : std::nullopt;
      return up ? std::optional(constant(*up ? 1.0 : -1.0)) : std::nullopt;
    }
    std::vector<TimeFunction> read_args;
    for (Expr a : args) {
      const auto f = read(a);
      if (!f) return std::nullopt;
      read_args.push_back(*f);
    }
    if (name == "abs") {
      const auto up = positive(read_args[0]);
      if (!up) return std::nullopt;
      return times(read_args[0], constant(*up ? 1.0 : -1.0));
    }
    if (const auto line = args.size() == 1 ? as_line(read_args[0]) : std::nullopt) {
      const auto [slope, offset] = *line;
      if (slope != 0.0) {
        if (name == "exp" || name == "limexp") return TimeFunction{{slope, 0, 0, std::exp(offset), 0}};
        const double sign = slope < 0 ? -1.0 : 1.0;  // omega is kept positive
        if (name == "sin")
          return TimeFunction{{0, std::abs(slope), 0, std::sin(offset), sign * std::cos(offset)}};
        if (name == "cos")
          return TimeFunction{{0, std::abs(slope), 0, std::cos(offset), -sign * std::sin(offset)}};
        return std::nullopt;
      }
    }
    // Any other function, of constants.
    double values[3] = {};
    for (std::size_t k = 0; k < read_args.size() && k < 3; ++k) {
      const auto v = as_constant(read_args[k]);
      if (!v) return std::nullopt;
      values[k] = *v;
    }
    return constant(e.function().value(values, static_cast<int>(args.size())));
  }

  std::optional<TimeFunction> lookup(Expr e) {
    if (e.args().size() > 1) return std::nullopt;
    const auto f = read(e.args()[0]);
    const auto line = f ? as_line(*f) : std::nullopt;
    if (!line) return std::nullopt;
    const auto [slope, offset] = *line;
    const Table& table = *e.table();
    if (slope == 0.0) return constant(table.value(offset, e.order()));
    if (slope < 0.0) return std::nullopt;
    // Just after at_: the piece that starts at or before it.
    const double x = slope * at_ + offset, nudge = 1e-12 * (std::abs(slope * at_) + std::abs(offset));
    const auto next = std::upper_bound(table.x.begin(), table.x.end(), x + nudge);
    if (next != table.x.end()) until = std::min(until, (*next - offset) / slope);
    const double left = next == table.x.begin() ? table.x.front() : *(next - 1);
    const double* c = &table.c[4 * static_cast<std::size_t>(next - table.x.begin())];
    if (c[2] != 0.0 || c[3] != 0.0) return std::nullopt;  // curved
    if (e.order() >= 2) return TimeFunction{};
    if (e.order() == 1) return constant(c[1]);
    return TimeFunction{{0, 0, 1, c[1] * slope, 0}, {0, 0, 0, c[0] + c[1] * (offset - left), 0}};
  }

  double at_;
  const ExprMap<double>& numbers_;
};

}  // namespace

std::optional<TimePiece> time_piece(Expr e, double at, const ExprMap<double>& numbers) {
  PieceReader reader(at, numbers);
  auto f = reader.read(e);
  if (!f) return std::nullopt;
  return TimePiece{std::move(*f), reader.until};
}

}  // namespace tellegen
