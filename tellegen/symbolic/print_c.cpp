// Expression to C. The order of operations is that of evaluate(): the two agree to the last bit where
// the compiler neither contracts nor reorders.
#include <array>
#include <charconv>
#include <cmath>

#include "tellegen/symbolic/pieces.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

using NameOf = std::function<std::string(Expr)>;
using TableName = std::function<std::string(const Table&)>;

class CNotation {
 public:
  CNotation(const NameOf& name_of, const TableName& table_name)
      : name_of_(name_of), table_name_(table_name) {}

  void expand(const Piece& piece, Line& line) const {
    if (piece.exponent != 1.0) return write_power(piece, line);
    const Expr e = piece.e;
    if (std::string name = name_of(e); !name.empty()) {
      line.push_back(words(std::move(name)));
      return;
    }
    switch (e.op()) {
      case Op::number:
        line.push_back(words(c_number(piece.negated ? -e.number() : e.number())));
        break;
      case Op::symbol:
        line.push_back(words(c_identifier(e.name())));
        break;
      case Op::add:
        in_parentheses(piece.binding > of_sum, line, [&] { write_sum(e, line); });
        break;
      case Op::multiply:
        in_parentheses(piece.binding > of_product, line, [&] { write_quotient(piece, line); });
        break;
      case Op::power:
        if (is_negative_power(e)) {
          in_parentheses(piece.binding > of_product, line, [&] { write_quotient(piece, line); });
        } else if (e.args()[1].is_number()) {
          Piece power = inner(e.args()[0], piece.binding);
          power.exponent = e.args()[1].number();
          write_power(power, line);
        } else {
          fill_pattern("tellegen_pow($1, $2)", e, 0, line);
        }
        break;
      case Op::call:
        fill_pattern(e.function().c, e, 0, line);
        break;
      case Op::lookup:
        line.push_back(words((e.args().size() > 1 ? "tellegen_grid_lookup(&" : "tellegen_lookup(&") +
                             table_name(*e.table()) + ", " + std::to_string(e.order())));
        for (Expr arg : e.args()) {
          line.push_back(words(", "));
          line.push_back(inner(arg, 0));
        }
        line.push_back(words(e.args().size() == 2 ? ", 0.0)" : ")"));
        break;
    }
  }

 private:
  std::string name_of(Expr e) const { return name_of_ ? name_of_(e) : std::string(); }

  std::string table_name(const Table& table) const {
    return table_name_ ? table_name_(table) : "table_" + c_identifier(table.name);
  }

  template <class Write>
  static void in_parentheses(bool needed, Line& line, Write write) {
    if (needed) line.push_back(words("("));
    write();
    if (needed) line.push_back(words(")"));
  }

  // A base that is a name is multiplied out; anything longer is written once.
  void write_power(const Piece& piece, Line& line) const {
    const Expr base = piece.e;
    const double n = piece.exponent;
    const bool short_base = base.is_symbol() || !name_of(base).empty();
    if ((n == 2.0 || n == 3.0) && short_base) {
      in_parentheses(piece.binding > of_product, line, [&] {
        Line factors(static_cast<std::size_t>(n), inner(base, of_atom));
        separate(line, std::move(factors), "*");
      });
      return;
    }
    const char* start = n == 2.0   ? "tellegen_square("
                        : n == 3.0 ? "tellegen_cube("
                        : n == 0.5 ? "sqrt("
                                   : "tellegen_pow(";
    line.push_back(words(start));
    line.push_back(inner(base, 0));
    const bool general = n != 2.0 && n != 3.0 && n != 0.5;
    line.push_back(words(general ? ", " + c_number(n) + ")" : ")"));
  }

  void write_sum(Expr e, Line& line) const {
    bool first = true;
    for (Expr term : e.args()) {
      const bool minus = !first && starts_negative(term) && name_of(term).empty();
      if (!first) line.push_back(words(minus ? " - " : " + "));
      Piece piece = inner(term, of_product);
      piece.negated = minus;
      line.push_back(std::move(piece));
      first = false;
    }
  }

  void write_quotient(const Piece& piece, Line& line) const {
    Quotient q = as_quotient(piece.e, of_atom, [&](Expr f) { return !name_of(f).empty(); });
    const double coefficient = piece.negated ? -q.coefficient : q.coefficient;
    if (q.numerator.empty() || std::abs(coefficient) != 1.0)
      q.numerator.insert(q.numerator.begin(), words(c_number(coefficient)));
    else if (coefficient < 0.0)
      line.push_back(words("-"));
    separate(line, std::move(q.numerator), "*");
    if (q.denominator.empty()) return;
    const bool several = q.denominator.size() > 1;
    line.push_back(words(several ? "/(" : "/"));
    separate(line, std::move(q.denominator), "*");
    if (several) line.push_back(words(")"));
  }

  const NameOf& name_of_;
  const TableName& table_name_;
};

template <class Number, class Print>
std::string c_array(const std::vector<Number>& values, Print print) {
  std::string out = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += i % 8 == 0 ? ",\n  " : ", ";
    out += print(values[i]);
  }
  return out + (values.empty() ? "0.0}" : "}");
}

}  // namespace

std::string to_c(Expr e, const NameOf& name_of, const TableName& table_name) {
  const CNotation notation(name_of, table_name);
  return write_pieces(e, [&](const Piece& piece, Line& line) { notation.expand(piece, line); });
}

std::string c_number(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0.0 ? "INFINITY" : "-INFINITY";
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string c_identifier(std::string_view name) {
  std::string result;
  for (char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && result.empty()) result += '_';
    const bool allowed = digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    result += allowed ? c : '_';
  }
  return result.empty() ? "_" : result;
}

std::string c_table(const Table& table, const std::string& identifier) {
  const auto array = [](const std::string& name, const std::vector<double>& values) {
    return "static const double " + name + "[] = " + c_array(values, c_number) + ";\n";
  };
  std::string text = array(identifier + "_c", table.c);
  if (table.dimensions == 1)
    return text + array(identifier + "_x", table.x) + "static const tellegen_table " + identifier + " = {" +
           std::to_string(table.x.size()) + ", " + identifier + "_x, " + identifier + "_c};\n";
  std::string counts, axes, scales, guides;
  for (std::size_t d = 0; d < table.axes.size(); ++d) {
    const std::string axis = identifier + "_x" + std::to_string(d), comma = d > 0 ? ", " : "";
    text += array(axis, table.axes[d]);
    counts += comma + std::to_string(table.axes[d].size());
    axes += comma + axis;
    scales += comma + c_number(table.guides[d].scale);
    if (table.guides[d].intervals.empty()) {  // of a single point
      guides += comma + "0";
      continue;
    }
    const std::string guide = identifier + "_guide" + std::to_string(d);
    text += "static const int " + guide +
            "[] = " + c_array(table.guides[d].intervals, [](int k) { return std::to_string(k); }) + ";\n";
    guides += comma + guide;
  }
  if (table.dimensions == 2) counts += ", 1", axes += ", 0", scales += ", 0.0", guides += ", 0";
  return text + "static const tellegen_grid " + identifier + " = {" + std::to_string(table.dimensions) +
         ", " + std::to_string(table.grid_interpolation()) + ", {" + counts + "}, {" + axes + "}, " +
         identifier + "_c, {" + scales + "}, {" + guides + "}};\n";
}

}  // namespace tellegen
