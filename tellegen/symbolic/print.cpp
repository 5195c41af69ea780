#include "tellegen/symbolic/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "tellegen/symbolic/pieces.h"

namespace tellegen {
namespace {

std::string shortest(double value) {
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

// Not finite: something that evaluates to it.
std::string written_number(double value) {
  if (std::isnan(value)) return "0/0";
  if (std::isinf(value)) return value > 0.0 ? "1/0" : "-1/0";
  return shortest(value);
}

// x/3 is kept as 0.333...*x; print what was meant if that gives the same number back.
bool better_divided(double coefficient) {
  const double reciprocal = 1.0 / coefficient;
  return std::isfinite(reciprocal) && 1.0 / reciprocal == coefficient &&
         shortest(reciprocal).size() + 4 < shortest(coefficient).size();
}

int text_binding(const Piece& piece) {
  const Expr e = piece.e;
  if (piece.exponent != 1.0) return of_power;
  switch (e.op()) {
    case Op::number:
      if (!std::isfinite(e.number())) return of_product;
      return (e.number() < 0.0) != piece.negated ? of_unary : of_atom;
    case Op::add:
      return of_sum;
    case Op::multiply:
      return of_product;
    case Op::power:
      return is_negative_power(e) ? of_product : of_power;
    case Op::call:
      if (e.function().infix.empty()) return of_atom;
      if (e.function().name == "or") return of_or;
      if (e.function().name == "and") return of_and;
      return e.function().name == "not" ? of_not : of_comparison;
    case Op::symbol:
    case Op::lookup:
      break;
  }
  return of_atom;
}

void write_text_quotient(const Piece& piece, Line& line) {
  Quotient q = as_quotient(piece.e, of_unary, [](Expr) { return false; });
  double coefficient = piece.negated ? -q.coefficient : q.coefficient;
  if (coefficient < 0.0) line.push_back(words("-"));
  coefficient = std::abs(coefficient);
  // A number below (1/0 is not folded) would swallow the other: y/(3*0) reads as y/0.
  const bool number_below = std::any_of(q.denominator.begin(), q.denominator.end(),
                                        [](const Piece& p) { return p.e && p.e.is_number(); });
  if (coefficient != 1.0 && !number_below && better_divided(coefficient)) {
    q.denominator.insert(q.denominator.begin(), words(shortest(1.0 / coefficient)));
    coefficient = 1.0;
  }
  if (coefficient != 1.0 || q.numerator.empty())
    q.numerator.insert(q.numerator.begin(), words(written_number(coefficient)));
  separate(line, std::move(q.numerator), "*");
  if (q.denominator.empty()) return;
  const bool several = q.denominator.size() > 1;
  line.push_back(words(several ? "/(" : "/"));
  separate(line, std::move(q.denominator), "*");
  if (several) line.push_back(words(")"));
}

void write_call(Expr e, Line& line) {
  const Function& f = e.function();
  if (f.infix.empty()) {
    line.push_back(words(std::string(f.name) + "("));
    Line args;
    for (Expr arg : e.args()) args.push_back(inner(arg, 0));
    separate(line, std::move(args), ", ");
    line.push_back(words(")"));
    return;
  }
  const int binding = text_binding(inner(e, 0));
  if (e.args().size() == 1) {
    line.push_back(words(std::string(f.infix) + " "));
    line.push_back(inner(e.args()[0], binding));
    return;
  }
  line.push_back(inner(e.args()[0], binding == of_comparison ? binding + 1 : binding));
  line.push_back(words(std::string(1, ' ').append(f.infix) + " "));
  line.push_back(inner(e.args()[1], binding + 1));
}

void expand_text(const Piece& piece, Line& line) {
  const Expr e = piece.e;
  const bool parentheses = text_binding(piece) < piece.binding;
  Line content;
  if (piece.exponent != 1.0) {
    content = {inner(e, of_atom), words("^"), words(shortest(piece.exponent))};
  } else {
    switch (e.op()) {
      case Op::number:
        content.push_back(words(written_number(piece.negated ? -e.number() : e.number())));
        break;
      case Op::symbol:
        content.push_back(words(e.name()));
        break;
      case Op::add:
        write_sum(e, of_product, content);
        break;
      case Op::multiply:
        write_text_quotient(piece, content);
        break;
      case Op::power:
        if (is_negative_power(e))
          write_text_quotient(piece, content);
        else
          content = {inner(e.args()[0], of_atom), words("^"), inner(e.args()[1], of_atom)};
        break;
      case Op::call:
        write_call(e, content);
        break;
      case Op::lookup:
        content = {words(e.table()->name + derivative_mark(e) + "(")};
        for (std::size_t k = 0; k < e.args().size(); ++k) {
          if (k > 0) content.push_back(words(", "));
          content.push_back(inner(e.args()[k], 0));
        }
        content.push_back(words(")"));
        break;
    }
  }
  if (parentheses) line.push_back(words("("));
  std::move(content.begin(), content.end(), std::back_inserter(line));
  if (parentheses) line.push_back(words(")"));
}

}  // namespace

std::string to_text(Expr e) { return write_pieces(e, expand_text); }

std::string text_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0.0 ? "inf" : "-inf";
  return shortest(value);
}

}  // namespace tellegen
