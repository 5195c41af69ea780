#include "tellegen/symbolic/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace parse_test {

class Parse : public testing::Test {
 protected:
  double value(const std::string& text) { return evaluate(parse(pool, text), {}); }
  Expr expr(const std::string& text) { return parse(pool, text); }

  // The message and the column of the error.
  std::pair<std::string, std::size_t> error(const std::string& text, const TableMap& tables = {}) {
    try {
      parse(pool, text, tables);
    } catch (const ParseError& e) {
      return {e.what(), e.column};
    }
    return {"none", 0};
  }

  Pool pool;
};

TEST_F(Parse, precedence_is_the_usual_one) {
  EXPECT_EQ(value("1 + 2*3"), 7.0);
  EXPECT_EQ(value("-2^2"), -4.0);
  EXPECT_EQ(value("2^-1"), 0.5);
  EXPECT_EQ(value("2^3^2"), 512.0);
  EXPECT_EQ(value("12/2/3"), 2.0);
  EXPECT_EQ(value("1 - 2 - 3"), -4.0);
  EXPECT_EQ(value("2*-3"), -6.0);
  EXPECT_EQ(value("--3"), 3.0);
  EXPECT_EQ(value("1 + 1 < 3"), 1.0);
  EXPECT_EQ(value("1 > 2 or 3 > 2 and not 1 == 2"), 1.0);
  EXPECT_EQ(value("not 0 and 0"), 0.0);
  EXPECT_EQ(value("not not not 5"), 0.0);
  EXPECT_EQ(value("1 <= 1") + value("1 >= 2") + value("1 != 2"), 2.0);
}

TEST_F(Parse, numbers_in_every_spelling) {
  EXPECT_EQ(value("1e-3"), 1e-3);
  EXPECT_EQ(value(".5"), 0.5);
  EXPECT_EQ(value("2.5e+3"), 2500.0);
  EXPECT_EQ(value("2."), 2.0);
  EXPECT_EQ(value("1E3"), 1000.0);
  EXPECT_EQ(value("pi"), std::numbers::pi);
}

TEST_F(Parse, names_have_dots_primes_and_dollars) {
  for (const char* name : {"j1.T", "cell_2.r.i", "x'", "x''", "$t", "_a", "android", "e1", "min", "pie"})
    EXPECT_EQ(expr(name), pool.symbol(name));
  EXPECT_EQ(expr("der( c1.v )"), pool.symbol("der(c1.v)"));
  EXPECT_EQ(expr("C*der(v)"), pool.symbol("C") * pool.symbol("der(v)"));
}

TEST_F(Parse, calls_take_their_arguments) {
  EXPECT_EQ(value("if(2 > 1, 10, 20)"), 10.0);
  EXPECT_EQ(value("min(3, 1, 2)"), 1.0);
  EXPECT_EQ(value("max(3, 1, 2, 7)"), 7.0);
  EXPECT_EQ(value("atan2(1, 0)"), std::atan2(1.0, 0.0));
  EXPECT_EQ(value("lt(1, 2)"), 1.0);
}

TEST_F(Parse, a_table_is_called_by_name_and_its_slope_with_a_prime) {
  TableMap tables{{"f", make_table("f", {0.0, 1.0}, {0.0, 3.0}, Interpolation::linear)}};
  Expr x = pool.symbol("x");
  EXPECT_EQ(parse(pool, "f(x)", tables), pool.lookup(tables["f"], 0, x));
  EXPECT_EQ(parse(pool, "f'(x)", tables), pool.lookup(tables["f"], 1, x));
  EXPECT_EQ(error("f(x, 2)", tables).first, "'f' takes 1 argument, not 2");
}

TEST_F(Parse, an_unknown_function_is_named_with_the_nearest_one) {
  EXPECT_EQ(error("1 + sine(x)"),
            std::pair(std::string("there is no function 'sine'; did you mean 'sin'?"), 4ul));
  EXPECT_EQ(error("voltage(x)").first, "there is no function 'voltage'");
}

TEST_F(Parse, errors_say_what_and_where) {
  EXPECT_EQ(error("sin(1, 2)").first, "'sin' takes 1 argument, not 2");
  EXPECT_EQ(error("min(1)").first, "'min' takes 2 or more arguments, not 1");
  EXPECT_EQ(error("sin()").first, "'sin' takes 1 argument, not 0");
  EXPECT_EQ(error("a < b < c").second, 6u);
  EXPECT_EQ(error("2x"), std::pair(std::string("an operator is missing before 'x'"), 1ul));
  EXPECT_EQ(error("a +"), std::pair(std::string("the expression ends where a value is expected"), 3ul));
  EXPECT_EQ(error("(a"), std::pair(std::string("the parenthesis opened at column 1 is not closed"), 2ul));
  EXPECT_EQ(error("a && b"), std::pair(std::string("unexpected '&': write `and`"), 2ul));
  EXPECT_EQ(error("a = b").first, "unexpected '=': comparing is written '=='");
  EXPECT_EQ(error("der(a + b)").first, "unexpected '+'");
  EXPECT_EQ(error("der(2)").first, "der() takes the name of a variable");
  EXPECT_EQ(error("1e999").first, "the number 1e999 is out of range");
  EXPECT_EQ(error("a \xc3\xa4").first, "unexpected '\\xc3'");
  EXPECT_EQ(error("and").first, "'and' stands where a value is expected");
  EXPECT_EQ(error("").second, 0u);
}

TEST_F(Parse, an_equation_has_exactly_one_equals_sign) {
  ParsedEquation equation = parse_equation(pool, "i = C*der(v)");
  EXPECT_EQ(equation.left, pool.symbol("i"));
  EXPECT_EQ(equation.right, expr("C*der(v)"));
  EXPECT_EQ(parse_equation(pool, "a == b = c").left, expr("a == b"));
  EXPECT_THROW(parse_equation(pool, "i"), ParseError);
  EXPECT_THROW(parse_equation(pool, "a = b = c"), ParseError);
  EXPECT_THROW(parse_equation(pool, "a ="), ParseError);
  EXPECT_THROW(parse_equation(pool, "= b"), ParseError);
}

TEST_F(Parse, nesting_is_bounded) {
  const std::string open(1000000, '(');
  EXPECT_EQ(error(open).first, "the expression is nested too deeply");
  std::string powers, calls, minus(1000000, '-');
  for (int i = 0; i < 100000; ++i) powers += "x^", calls += "sin(";
  EXPECT_THROW(expr(powers + "x"), ParseError);
  EXPECT_THROW(expr(calls), ParseError);
  EXPECT_EQ(expr(minus + "x"), pool.symbol("x"));
  const std::string nested = std::string(450, '(') + "x" + std::string(450, ')');
  EXPECT_EQ(expr(nested), pool.symbol("x"));
}

TEST_F(Parse, long_sums_and_products_take_linear_space) {
  std::string sum = "0", product = "1";
  for (int i = 0; i < 20000; ++i) {
    sum += " - s" + std::to_string(i);
    product += "/p" + std::to_string(i);
  }
  EXPECT_EQ(expr(sum).args().size(), 20000u);
  EXPECT_EQ(expr(product).args().size(), 20000u);
  EXPECT_LT(pool.size(), 200000u);
}

TEST_F(Parse, no_text_breaks_it) {
  const std::vector<std::string> words = {
      "x",  "y'", "1",     ".5",   "1e9",   "(",   ")",    ",",    "+",    "-", "*",  "/",    "^",    "<",
      "==", "=",  " and ", " or ", " not ", "if(", "sin(", "der(", "min(", "0", "f(", "\x80", "mod(", "log("};
  TableMap tables{{"f", make_table("f", {0.0, 1.0}, {0.0, 3.0}, Interpolation::cubic)}};
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned n = random() % 10; n > 0; --n) text += words[random() % words.size()];
    try {
      Expr e = parse(pool, text, tables);
      const std::string printed = to_text(e);
      EXPECT_EQ(to_text(parse(pool, printed, tables)), printed) << text;
      (void)to_latex(derivative(e, pool.symbol("x")));
      ++accepted;
    } catch (const ParseError& error) {
      EXPECT_LE(error.column, text.size());
    }
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace parse_test
}  // namespace tellegen
