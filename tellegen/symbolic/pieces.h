// Writing an expression without recursion: a stack of pieces, each either text or an expression still
// to be written. A notation expands one expression into the pieces of its line.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct Piece {
  std::string text;       // written as it is, if e is empty
  Expr e;                 // otherwise this ...
  double exponent = 1.0;  // ... to this power (a positive number) ...
  bool negated = false;   // ... with the sign of its number changed ...
  int binding = 0;        // ... in parentheses, if it binds less than this
};

using Line = std::vector<Piece>;

// How tightly each construct binds, loosest first, as parse.h lists them. Notations need not tell all apart.
enum Binding { of_or = 1, of_and, of_not, of_comparison, of_sum, of_product, of_unary, of_power, of_atom };

// Primes of a table's derivative: f'' of one argument, g'10 of two.
inline std::string derivative_mark(Expr lookup) {
  const auto order = static_cast<std::size_t>(lookup.order());
  if (lookup.args().size() == 1 || order == 0) return std::string(order, '\'');
  std::string mark = "'";
  for (std::size_t k = 0; k < lookup.args().size(); ++k)
    mark += static_cast<char>('0' + ((order >> (2 * k)) & 3));
  return mark;
}

inline Piece words(std::string text) { return {.text = std::move(text), .e = {}}; }
inline Piece inner(Expr e, int binding) { return {.text = {}, .e = e, .binding = binding}; }

template <class Expand>  // void(const Piece&, Line&)
std::string write_pieces(Expr root, Expand expand) {
  std::string out;
  Line stack, line;
  stack.push_back(inner(root, 0));
  while (!stack.empty()) {
    Piece piece = std::move(stack.back());
    stack.pop_back();
    if (!piece.e) {
      out += piece.text;
      continue;
    }
    line.clear();
    expand(piece, line);
    stack.insert(stack.end(), std::make_move_iterator(line.rbegin()), std::make_move_iterator(line.rend()));
  }
  return out;
}

inline bool is_negative_power(Expr e) {
  return e.op() == Op::power && e.args()[1].is_number() && e.args()[1].number() < 0.0;
}

// A product, or a power with a negative number as exponent, as coefficient * numerator / denominator.
// Factors for which `whole` holds are not taken apart.
struct Quotient {
  double coefficient = 1.0;
  Line numerator, denominator;
};
template <class Whole>  // bool(Expr)
Quotient as_quotient(Expr e, int binding, Whole whole) {
  Quotient result;
  auto factor = [&](Expr f, bool keep) {
    if (f.is_number() && !keep) {
      result.coefficient = f.number();
    } else if (!keep && is_negative_power(f)) {
      Piece below = inner(f.args()[0], binding);
      below.exponent = -f.args()[1].number();
      result.denominator.push_back(std::move(below));
    } else {
      result.numerator.push_back(inner(f, binding));
    }
  };
  if (e.op() == Op::multiply)
    for (Expr f : e.args()) factor(f, !f.is_number() && whole(f));
  else
    factor(e, false);
  return result;
}

// Is this written with a minus in front? Then a sum writes `- term` with the sign changed.
inline bool starts_negative(Expr e) {
  return e.is_number() ? e.number() < 0.0 : split_coefficient(e).coefficient < 0.0;
}

// A sum whose first term, where one can, has no minus: `1 - x`, not `-x + 1`.
inline void write_sum(Expr e, int binding, Line& line) {
  std::vector<Expr> terms(e.args().begin(), e.args().end());
  auto positive = std::find_if_not(terms.begin(), terms.end(), starts_negative);
  if (positive != terms.end()) std::rotate(terms.begin(), positive, positive + 1);
  for (Expr term : terms) {
    const bool minus = !line.empty() && starts_negative(term);
    if (!line.empty()) line.push_back(words(minus ? " - " : " + "));
    Piece piece = inner(term, binding);
    piece.negated = minus;
    line.push_back(std::move(piece));
  }
}

// A pattern such as "atan2($1, $2)" with the arguments of e in their places.
inline void fill_pattern(std::string_view pattern, Expr e, int binding, Line& line) {
  std::size_t start = 0;
  for (std::size_t at; (at = pattern.find('$', start)) != std::string_view::npos; start = at + 2) {
    line.push_back(words(std::string(pattern.substr(start, at - start))));
    line.push_back(inner(e.args()[static_cast<std::size_t>(pattern[at + 1] - '1')], binding));
  }
  line.push_back(words(std::string(pattern.substr(start))));
}

inline void separate(Line& line, Line&& pieces, std::string_view separator) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) line.push_back(words(std::string(separator)));
    line.push_back(std::move(pieces[i]));
  }
}

}  // namespace tellegen
