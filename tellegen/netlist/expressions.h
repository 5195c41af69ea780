// SPICE's expressions as Tellegen's: `**` and `^`, `?:`, `&&`, `||`, `!`, numbers with suffixes, V(a,b),
// I(V1), time, temper, and the functions of ngspice. What names stand for is asked of Meanings.
//
// As in ngspice x^y and x**y take the magnitude of x (and bind to the left): pow(-2, 3) is 8.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// A text in Tellegen's language, and how tightly its outermost operator binds.
struct Formula {
  enum Level { choice, disjunction, conjunction, negation, comparison, sum, product, sign, power, atom };
  std::string text;
  Level level = atom;
  bool varies = false;  // with time, or with what the circuit does

  std::string within(Level outer) const { return level < outer ? "(" + text + ")" : text; }
};

struct ExpressionError : std::runtime_error {
  ExpressionError(const std::string& code, const std::string& message)
      : std::runtime_error(message), code(code) {}
  std::string code;  // T505, T506, T507
};

struct SpiceFunction {  // .func f(a, b) {body}
  std::vector<std::string> arguments;
  std::string body;
};

class Meanings {
 public:
  virtual ~Meanings() = default;
  virtual std::optional<Formula> value(const std::string& name) = 0;  // of a parameter
  virtual const SpiceFunction* function(const std::string& name) = 0;
  virtual Formula voltage(const std::string& node) = 0;  // throws ExpressionError where there is no such node
  virtual Formula current(const std::string& element) = 0;
  virtual double celsius() = 0;
  // ddt(of), sdt(of): where the circuit can have them.
  virtual Formula operation(const std::string& name, const Formula& of);
};

Formula translate(std::string_view text, Meanings& meanings);

Formula number_formula(double value);
// a + b, a*b and so on, with parentheses only where they are needed.
Formula add(const Formula& a, const Formula& b);
Formula subtract(const Formula& a, const Formula& b);
Formula multiply(const Formula& a, const Formula& b);
Formula divide(const Formula& a, const Formula& b);
// Straight lines through the points; outside, the end values are held or the end lines go on.
enum class Outside { hold, extend };
Formula piecewise(const Formula& x, const std::vector<std::pair<Formula, Formula>>& points, Outside outside);

}  // namespace tellegen
