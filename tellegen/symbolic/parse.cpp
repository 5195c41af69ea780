#include "tellegen/symbolic/parse.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <numbers>
#include <vector>

#include "tellegen/symbolic/nearest.h"
#include "tellegen/symbolic/written_functions.h"

namespace tellegen {
namespace {

constexpr int deepest_nesting = 500;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }
bool is_word(std::string_view name) { return name == "and" || name == "or" || name == "not"; }

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// Recursive descent, one function for each level of precedence. Long sums and products are loops, and
// every construct that nests passes through `nested`. What is off the recursive path is kept out of
// line, so that the deepest nesting fits any stack (a level takes 0.7 kB, 5 kB under the sanitizers).
class Parser {
 public:
  Parser(Pool& pool, std::string_view text, const TableMap& tables, const ElementNames& elements)
      : pool_(pool), text_(text), tables_(tables), elements_(elements) {}

  Expr whole() {
    Expr result = expression();
    skip_space();
    if (at_ < text_.size()) unexpected();
    return result;
  }

  ParsedEquation equation() {
    ParsedEquation result;
    result.left = expression();
    skip_space();
    if (at_ == text_.size()) fail("an equation needs '=' and a right-hand side");
    if (!take("=")) unexpected();
    result.right = expression();
    skip_space();
    if (at_ < text_.size() && text_[at_] == '=') fail("an equation has exactly one '='");
    if (at_ < text_.size()) unexpected();
    return result;
  }

 private:
  Expr expression() {
    Expr result = conjunction();
    while (take_word("or")) result = pool_.call("or", {result, conjunction()});
    return result;
  }

  Expr conjunction() {
    Expr result = negation();
    while (take_word("and")) result = pool_.call("and", {result, negation()});
    return result;
  }

  Expr negation() {
    int times = 0;
    while (take_word("not")) ++times;
    Expr result = comparison();
    for (int i = 0; i < (times > 2 ? 2 - times % 2 : times); ++i) result = pool_.call("not", {result});
    return result;
  }

  Expr comparison() {
    Expr result = sum();
    const Function* function = take_comparison();
    if (!function) return result;
    result = pool_.call(*function, std::array{result, sum()});
    const std::size_t next = at_;
    if (take_comparison()) fail("comparisons do not chain: write `a < b and b < c`", next);
    return result;
  }

  Expr sum() {
    Expr first = product();
    skip_space();
    if (!peek('+') && !peek('-')) return first;
    std::vector<Expr> terms{first};
    for (;;) {
      if (take("+"))
        terms.push_back(product());
      else if (take("-"))
        terms.push_back(-product());
      else
        return pool_.add(terms);
    }
  }

  Expr product() {
    Expr first = unary();
    skip_space();
    if (!peek('*') && !peek('/')) return first;
    std::vector<Expr> above{first}, below;
    for (;;) {
      if (take("*"))
        above.push_back(unary());
      else if (take("/"))
        below.push_back(unary());
      else
        break;
    }
    Expr numerator = pool_.multiply(above);
    return below.empty() ? numerator : numerator / pool_.multiply(below);
  }

  Expr unary() {
    bool negative = false;
    for (;;) {
      if (take("-"))
        negative = !negative;
      else if (!take("+"))
        break;
    }
    Expr result = primary();
    if (take("^")) result = pow(result, nested([&] { return unary(); }));
    return negative ? -result : result;
  }

  Expr primary() {
    skip_space();
    if (at_ == text_.size()) fail("the expression ends where a value is expected");
    if (is_digit(text_[at_]) || (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      return number();
    if (starts_name(text_[at_])) return named();
    if (!take("(")) unexpected();
    const std::size_t open = at_ - 1;
    Expr result = nested([&] { return expression(); });
    close(open);
    return result;
  }

  [[gnu::noinline]] Expr number() {
    const std::size_t start = at_;
    auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    digits();
    if (at_ < text_.size() && text_[at_] == '.') ++at_;
    digits();
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      std::size_t exponent = at_ + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        at_ = exponent;
        digits();
      }
    }
    double value = 0.0;
    if (std::from_chars(text_.data() + start, text_.data() + at_, value).ec != std::errc())
      fail("the number " + std::string(text_.substr(start, at_ - start)) + " is out of range", start);
    return pool_.number(value);
  }

  Expr named() {
    const std::size_t start = at_;
    const std::string_view name = take_name();
    if (is_word(name)) misplaced_word(name, start);
    if (take("(")) return call(name, start);
    return name == "pi" ? pool_.number(std::numbers::pi) : pool_.symbol(name);
  }

  [[gnu::noinline]] Expr derivative_name(std::size_t open) {
    skip_space();
    const std::size_t column = at_;
    std::string_view of = at_ < text_.size() && starts_name(text_[at_]) ? take_name() : std::string_view();
    if (of.empty() || is_word(of)) fail("der() takes the name of a variable", column);
    close(open);
    return pool_.symbol("der(" + std::string(of) + ")");
  }

  Expr call(std::string_view name, std::size_t start) {
    const std::size_t open = at_ - 1;
    if (name == "der") return derivative_name(open);
    // f''(x) is the second derivative of the table f, g'10(x, y) that of g by its first argument.
    const std::string_view stem = name.substr(0, name.find('\''));
    auto table = tables_.find(name);
    int order = 0;
    if (table == tables_.end()) {
      table = tables_.find(stem);
      const std::string_view primes = name.substr(stem.size());
      if (is_digit(primes.empty() ? ' ' : primes.back()))
        for (std::size_t k = 1; k < primes.size(); ++k) order |= (primes[k] - '0') << (2 * (k - 1));
      else
        order = static_cast<int>(std::min<std::size_t>(primes.size(), 4));
    }
    const Function* function = table == tables_.end() ? find_function(name) : nullptr;
    const WrittenFunction* written =
        table == tables_.end() && !function ? find_written_function(name) : nullptr;
    if (table == tables_.end() && !function && !written) unknown_function(name, start);

    std::vector<Expr> args;
    skip_space();
    if (!peek(')')) {
      do args.push_back(nested([&] { return expression(); }));
      while (take(","));
    }
    close(open);
    const int arity = function ? function->arity : written ? written->arity : table->second->dimensions;
    bool of_elements = false;
    if (arity < 0)
      for (std::size_t k = args.size(); k-- > 0;) of_elements = take_elements(args, k, start) || of_elements;
    if (of_elements && args.size() == 1) return args[0];
    const std::size_t least = arity >= 0 ? static_cast<std::size_t>(arity) : function ? 2 : 1;
    if (args.size() < least || (arity >= 0 && args.size() > least))
      wrong_count(name, least, arity < 0, args.size(), start);
    if (written) return written->written_out(pool_, args);
    if (function) return pool_.call(*function, args);
    return order > 63 || (arity == 1 && order > 3) ? pool_.number(0.0)
                                                   : pool_.lookup(table->second, order, args);
  }

  // `cell[*].R*cell[*].i` as one product for each element.
  [[gnu::noinline]] bool take_elements(std::vector<Expr>& args, std::size_t k, std::size_t start) const {
    std::vector<std::pair<Expr, std::vector<std::string>>> all;
    for (Expr symbol : symbols_of(std::span(&args[k], 1)))
      if (symbol.name().find("[*]") != std::string_view::npos && elements_) {
        all.emplace_back(symbol, elements_(symbol.name()));
        if (all.back().second.empty()) fail("there are no elements " + quoted(symbol.name()), start);
        if (all.back().second.size() != all.front().second.size())
          fail(quoted(all.front().first.name()) + " and " + quoted(symbol.name()) +
                   " are not equally many: " + std::to_string(all.front().second.size()) + " and " +
                   std::to_string(all.back().second.size()),
               start);
      }
    if (all.empty()) return false;
    std::vector<Expr> elements;
    for (std::size_t element = 0; element < all.front().second.size(); ++element) {
      ExprMap<Expr> names;
      for (const auto& [symbol, list] : all) names[symbol] = pool_.symbol(list[element]);
      elements.push_back(substitute(args[k], names));
    }
    args.erase(args.begin() + static_cast<long>(k));
    args.insert(args.begin() + static_cast<long>(k), elements.begin(), elements.end());
    return true;
  }

  [[noreturn, gnu::noinline]] void misplaced_word(std::string_view word, std::size_t start) const {
    fail(quoted(word) + " stands where a value is expected", start);
  }

  [[noreturn, gnu::noinline]] void wrong_count(std::string_view name, std::size_t least, bool more,
                                               std::size_t given, std::size_t start) const {
    fail(quoted(name) + " takes " + std::to_string(least) + (more ? " or more" : "") +
             (least == 1 && !more ? " argument, not " : " arguments, not ") + std::to_string(given),
         start);
  }

  [[noreturn, gnu::noinline]] void unknown_function(std::string_view name, std::size_t start) const {
    std::vector<std::string> known{"der"};
    for (const Function& f : functions())
      if (!is_word(f.name)) known.emplace_back(f.name);
    for (const WrittenFunction& f : written_functions()) known.emplace_back(f.name);
    for (const auto& table : tables_) known.push_back(table.first);
    const std::string close = nearest(name, known);
    fail("there is no function " + quoted(name) +
             (close.empty() ? "" : "; did you mean " + quoted(close) + "?"),
         start);
  }

  template <class Parse>
  Expr nested(Parse parse) {
    if (++depth_ > deepest_nesting) fail("the expression is nested too deeply");
    Expr result = parse();
    --depth_;
    return result;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }

  [[gnu::noinline]] bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  [[gnu::noinline]] bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && (continues_name(text_[end]) || text_[end] == '\'')) return false;
    at_ = end;
    return true;
  }

  [[gnu::noinline]] const Function* take_comparison() {
    for (std::string_view name : {"le", "ge", "eq", "ne", "lt", "gt"}) {  // "<=" before "<"
      const Function* function = find_function(name);
      if (take(function->infix)) return function;
    }
    return nullptr;
  }

  // The length of "[3]" or "[*]"; 0 where there is none.
  std::size_t index_at(std::size_t from) const {
    std::size_t to = from + 1;
    if (from >= text_.size() || text_[from] != '[') return 0;
    if (to < text_.size() && text_[to] == '*')
      ++to;
    else
      while (to < text_.size() && is_digit(text_[to])) ++to;
    return to > from + 1 && to < text_.size() && text_[to] == ']' ? to + 1 - from : 0;
  }

  std::string_view take_name() {
    const std::size_t start = at_;
    for (;;) {
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
      const std::size_t index = index_at(at_);
      if (index == 0) break;
      at_ += index;
    }
    const std::size_t primes = at_;
    while (at_ < text_.size() && text_[at_] == '\'') ++at_;
    if (at_ == primes + 1)
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '3' && at_ < primes + 4) ++at_;
    return text_.substr(start, at_ - start);
  }

  [[gnu::noinline]] void close(std::size_t open) {
    if (take(")")) return;
    if (at_ < text_.size()) unexpected();
    fail("the parenthesis opened at column " + std::to_string(open + 1) + " is not closed");
  }

  [[noreturn, gnu::noinline]] void unexpected() {
    skip_space();
    if (at_ == text_.size()) fail("the expression ends too early");
    const char c = text_[at_];
    if (c == '=') fail("unexpected '=': comparing is written '=='");
    if (c == '&') fail("unexpected '&': write `and`");
    if (c == '|') fail("unexpected '|': write `or`");
    if (c == '!') fail("unexpected '!': write `not`");
    if (c == '[') fail("an index is a number in brackets: cell[3].T");
    if (is_digit(c) || starts_name(c)) {
      const std::size_t start = at_;
      std::size_t end = at_;
      while (end < text_.size() && continues_name(text_[end])) ++end;
      fail("an operator is missing before " + quoted(text_.substr(start, end - start)));
    }
    char code[8];
    std::snprintf(code, sizeof code, c > 0x20 && c < 0x7f ? "%c" : "\\x%02x", static_cast<unsigned char>(c));
    fail("unexpected " + quoted(code));
  }

  [[noreturn]] void fail(std::string_view message) const { fail(message, at_); }
  [[noreturn, gnu::noinline]] void fail(std::string_view message, std::size_t column) const {
    throw ParseError(std::string(message), column);
  }

  Pool& pool_;
  std::string_view text_;
  const TableMap& tables_;
  const ElementNames& elements_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Expr parse(Pool& pool, std::string_view text, const TableMap& tables, const ElementNames& elements) {
  return Parser(pool, text, tables, elements).whole();
}

ParsedEquation parse_equation(Pool& pool, std::string_view text, const TableMap& tables) {
  return Parser(pool, text, tables, {}).equation();
}

}  // namespace tellegen
