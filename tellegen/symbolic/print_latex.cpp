// Expression to LaTeX, for reports and reference pages.
//
//   cell_2.r.i   i_{\mathrm{cell\_2.r}}     der(x)   \dot{x}     a/b   \frac{a}{b}     tau   \tau
//   held(x)      \overline{x}
#include <algorithm>
#include <cmath>
#include <set>

#include "tellegen/symbolic/pieces.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

std::string latex_number(double value) {
  if (std::isnan(value)) return R"(\mathrm{NaN})";
  if (std::isinf(value)) return value > 0.0 ? R"(\infty)" : R"(-\infty)";
  std::string text = text_number(value);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  const std::string mantissa = text.substr(0, e);
  const std::string power = "10^{" + std::to_string(std::stoi(text.substr(e + 1))) + "}";
  if (mantissa == "1") return power;
  return mantissa == "-1" ? "-" + power : mantissa + R"( \cdot )" + power;
}

std::string upright(std::string_view name) {
  std::string result = R"(\mathrm{)";
  for (char c : name) {
    if (c == '_' || c == '$') result += '\\';
    result += c;
  }
  return result + "}";
}

// One part of a dotted name without its subscript: a letter, a Greek letter or an upright word.
std::string latex_word(std::string_view word) {
  static const std::set<std::string_view> greek = {
      "alpha", "beta",  "gamma", "delta",  "epsilon", "zeta",  "eta", "theta", "kappa", "lambda",
      "mu",    "nu",    "xi",    "rho",    "sigma",   "tau",   "phi", "chi",   "psi",   "omega",
      "Gamma", "Delta", "Theta", "Lambda", "Xi",      "Sigma", "Phi", "Psi",   "Omega"};
  if (greek.contains(word)) return std::string(1, '\\').append(word);
  return word.size() == 1 && word != "_" && word != "$" ? std::string(word) : upright(word);
}

std::string latex_name(std::string_view name) {
  if (name.starts_with("der(") && name.ends_with(")"))
    return R"(\dot{)" + latex_name(name.substr(4, name.size() - 5)) + "}";
  if (name.starts_with("held(") && name.ends_with(")"))
    return R"(\overline{)" + latex_name(name.substr(5, name.size() - 6)) + "}";
  std::string primes(static_cast<std::size_t>(std::count(name.begin(), name.end(), '\'')), '\'');
  name = name.substr(0, name.find('\''));
  const std::size_t dot = name.rfind('.');
  std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  std::string_view owner = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  const std::size_t underscore = last.find('_', 1);
  std::string subscript;
  if (underscore != std::string_view::npos && underscore + 1 < last.size()) {
    subscript = latex_word(last.substr(underscore + 1));
    last = last.substr(0, underscore);
  }
  if (!owner.empty()) subscript += (subscript.empty() ? "" : ", ") + upright(owner);
  return latex_word(last) + primes + (subscript.empty() ? "" : "_{" + subscript + "}");
}

int latex_binding(const Piece& piece) {
  const Expr e = piece.e;
  if (piece.exponent != 1.0) return of_power;
  switch (e.op()) {
    case Op::number:
      if ((e.number() < 0.0) != piece.negated) return of_sum;
      return text_number(e.number()).find('e') == std::string::npos ? of_atom : of_product;
    case Op::add:
      return of_sum;
    case Op::multiply:
      return (split_coefficient(e).coefficient < 0.0) != piece.negated ? of_sum : of_product;
    case Op::power:
      return is_negative_power(e) ? of_product : of_power;
    case Op::call:
      if (e.function().infix.empty()) return of_atom;
      return e.args().size() == 1 || e.function().name == "and" || e.function().name == "or" ? of_or
                                                                                             : of_comparison;
    case Op::symbol:
    case Op::lookup:
      break;
  }
  return of_atom;
}

void write_latex_quotient(const Piece& piece, Line& line) {
  Quotient q = as_quotient(piece.e, of_power, [](Expr) { return false; });
  const double coefficient = piece.negated ? -q.coefficient : q.coefficient;
  if (coefficient < 0.0) line.push_back(words("-"));
  if (std::abs(coefficient) != 1.0 || q.numerator.empty())
    q.numerator.insert(q.numerator.begin(), words(latex_number(std::abs(coefficient))));
  if (q.denominator.empty()) return separate(line, std::move(q.numerator), R"(\,)");
  for (Line* side : {&q.numerator, &q.denominator})
    if (side->size() == 1) side->front().binding = 0;  // the bar is its parentheses
  line.push_back(words(R"(\frac{)"));
  separate(line, std::move(q.numerator), R"(\,)");
  line.push_back(words("}{"));
  separate(line, std::move(q.denominator), R"(\,)");
  line.push_back(words("}"));
}

void expand_latex(const Piece& piece, Line& line) {
  const Expr e = piece.e;
  Line content;
  if (piece.exponent != 1.0) {
    content = {inner(e, of_atom), words("^{" + latex_number(piece.exponent) + "}")};
  } else {
    switch (e.op()) {
      case Op::number:
        content.push_back(words(latex_number(piece.negated ? -e.number() : e.number())));
        break;
      case Op::symbol:
        content.push_back(words(latex_name(e.name())));
        break;
      case Op::add:
        write_sum(e, of_sum, content);
        break;
      case Op::multiply:
        write_latex_quotient(piece, content);
        break;
      case Op::power:
        if (is_negative_power(e))
          write_latex_quotient(piece, content);
        else
          content = {inner(e.args()[0], of_atom), words("^{"), inner(e.args()[1], 0), words("}")};
        break;
      case Op::call:
        fill_pattern(e.function().latex, e, e.function().infix.empty() ? 0 : of_sum, content);
        break;
      case Op::lookup:
        content = {words(latex_name(e.table()->name) + derivative_mark(e) + R"(\left()")};
        for (std::size_t k = 0; k < e.args().size(); ++k) {
          if (k > 0) content.push_back(words(", "));
          content.push_back(inner(e.args()[k], 0));
        }
        content.push_back(words(R"(\right))"));
        break;
    }
  }
  const bool parentheses = latex_binding(piece) < piece.binding;
  if (parentheses) line.push_back(words(R"(\left()"));
  std::move(content.begin(), content.end(), std::back_inserter(line));
  if (parentheses) line.push_back(words(R"(\right))"));
}

}  // namespace

std::string to_latex(Expr e) { return write_pieces(e, expand_latex); }

}  // namespace tellegen
