// A property that every model has: something to generate, something to check.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/differential/draft.h"
#include "tests/differential/random.h"

namespace differential {

struct Verdict {
  enum class What { passed, refused, unknown, failed } what = What::passed;
  std::string tag;  // why refused or unknown; of a failure its kind: a shrunk model must fail in the same way
  std::string expected, got, where;
  int checks = 0;
};

inline Verdict refused(std::string why) { return {Verdict::What::refused, std::move(why), "", "", "", 0}; }
inline Verdict unknown(std::string why) { return {Verdict::What::unknown, std::move(why), "", "", "", 0}; }
Verdict failed(std::string tag, double expected, double got, std::string where);
Verdict failed(std::string tag, std::string expected, std::string got, std::string where);

struct Property {
  std::string name, summary;
  std::function<Draft(Random&)> generate;
  std::function<Verdict(const Draft&)> check;
  bool shrinks = true;
};
std::vector<Property> properties();

// One of each file property_*.cpp.
Verdict check_linear(const Draft& draft);
Verdict check_events(const Draft& draft);
Verdict check_derivatives(const Draft& draft);
Verdict check_filters(const Draft& draft);
Verdict check_sweeps(const Draft& draft);
Verdict check_mechanisms(const Draft& draft);
Draft text_draft(Random& random);
Verdict check_text(const Draft& draft);
Draft netlist_draft(Random& random);
Verdict check_netlist(const Draft& draft);

// The smallest draft found that fails `check` with the same tag.
Draft shrink(const Draft& draft, const std::function<Verdict(const Draft&)>& check, const std::string& tag,
             int budget);

// The same outputs of two runs must be the same to the bit. The tag tells rounding from more.
struct Outcome;
Verdict same_bits(const Outcome& a, const Outcome& b, const std::string& tag, const std::string& where);

// A value in numbers: how large an error counts for a variable of this name.
double usual_size(const std::string& variable);

// Runs with shrinking steps must come closer to the expected values, at the order of the method. `run` gives
// the largest error at a step, relative; `order` is what is to be seen. Returns the errors; `passed` says
// whether they do.
struct Convergence {
  std::vector<double> steps, errors;
  bool passed = false, at_order = false;
  std::string text() const;
};
Convergence converges(const std::function<double(double step)>& error_at, double step, double order,
                      double floor, int refinements);

}  // namespace differential
