#include "tests/differential/property.h"

#include <algorithm>
#include <cmath>

#include "tests/differential/generator.h"
#include "tests/differential/subject.h"

namespace differential {

Verdict failed(std::string tag, std::string expected, std::string got, std::string where) {
  return {Verdict::What::failed, std::move(tag), std::move(expected), std::move(got), std::move(where), 0};
}
Verdict failed(std::string tag, double expected, double got, std::string where) {
  return failed(std::move(tag), number_text(expected, 17), number_text(got, 17), std::move(where));
}

Verdict same_bits(const Outcome& a, const Outcome& b, const std::string& tag, const std::string& where) {
  if (a.t.size() != b.t.size()) return failed(tag, "as many rows", "another number of rows", where);
  Verdict worst;
  double largest = 0.0;
  for (std::size_t k = 0; k < a.names.size(); ++k) {
    const auto other =
        static_cast<std::size_t>(std::find(b.names.begin(), b.names.end(), a.names[k]) - b.names.begin());
    if (other == b.names.size()) continue;
    double size = 0.0;
    for (std::size_t row = 0; row < a.t.size(); ++row) size = std::max(size, std::abs(a.at(row, k)));
    for (std::size_t row = 0; row < a.t.size(); ++row) {
      const double one = a.at(row, k), two = b.at(row, other);
      const double relative = std::abs(one - two) / std::max(size, 1e-3);
      if (one == two || relative <= largest) continue;
      largest = relative;
      worst = failed(tag + (relative < 1e-11 ? " in the last bits" : ""), one, two,
                     a.names[k] + " at t = " + number_text(a.t[row], 6) + ", " + where);
    }
  }
  return worst;
}

double usual_size(const std::string& variable) {
  const std::string last = variable.substr(variable.rfind('.') + 1);
  if (last == "p" || last == "dp") return 1e5;
  if (last == "q") return 1e-4;
  return 1.0;
}

std::string Convergence::text() const {
  std::string out;
  for (std::size_t k = 0; k < errors.size(); ++k)
    out += (k ? ", " : "") + number_text(errors[k]) + " at step " + number_text(steps[k]);
  return out;
}

Convergence converges(const std::function<double(double step)>& error_at, double step, double order,
                      double floor, int refinements) {
  Convergence c;
  const double needed = std::pow(2.0, order - 0.5);
  for (int k = 0; k <= refinements + 2; ++k, step /= 2) {
    // Two more where it still falls.
    if (k > refinements && !(c.errors[k - 1] < 0.5 && c.errors[k - 1] < 0.7 * c.errors[k - 2])) break;
    const double error = error_at(step);
    if (error < 0.0) {  // refused
      c.passed = c.at_order = true;
      return c;
    }
    c.steps.push_back(step);
    c.errors.push_back(error);
    if (error < floor || (k > 0 && error * needed < c.errors[c.errors.size() - 2] && error < 0.02)) {
      c.passed = c.at_order = true;
      return c;
    }
  }
  // Slower than its order, but on its way: an eighth of the first error, and small. Or still large, and
  // falling as it should in the last two halvings: a first-order method in many periods of an oscillation.
  c.passed = c.errors.back() < 0.01 && c.errors.back() * 4 < c.errors.front();
  if (const std::size_t n = c.errors.size(); n >= 3 && c.errors[n - 1] < 0.5) {
    const double near = std::pow(2.0, order - 0.1);
    c.passed =
        c.passed || (c.errors[n - 1] * near < c.errors[n - 2] && c.errors[n - 2] * near < c.errors[n - 3]);
  }
  return c;
}

std::vector<Property> properties() {
  return {
      {"linear", "linear networks against a dense descriptor system and its matrix exponential", linear_draft,
       check_linear, true},
      {"events", "nonlinear models and events against a plain implicit integrator", event_draft, check_events,
       true},
      {"derivatives", "forward and adjoint derivatives against extrapolated differences of runs",
       derivative_draft, check_derivatives, true},
      {"filters", "Kalman filters, the smoother and calibration against textbook ones", filter_draft,
       check_filters, true},
      {"sweeps", "samples of a sweep against single runs", derivative_draft, check_sweeps, true},
      {"mechanisms", "trees and circuits of bodies against equations in absolute coordinates",
       mechanism_draft, check_mechanisms, true},
      {"text", "expressions, their derivatives and units against a second evaluator", text_draft, check_text,
       false},
      {"netlists", "netlists against ngspice, where it is installed", netlist_draft, check_netlist, true},
  };
}

}  // namespace differential
