// What a run is between its rows: curves of formulas, from the steps themselves.
//
// A curve is made of panels, each a polynomial of fourth degree through five solutions at equal distances.
// A step becomes one panel; where the fourth difference of its points shows that one is not enough (an
// algebraic variable may do more in a step than the states, whose error chose it), the worst panel is divided
// until all are good or the budget of solutions is spent. Panels join without gaps: across a jump lies a
// panel as short as the instant that the integrator takes for it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tellegen {

class RunCurves {
 public:
  static constexpr std::size_t points = 5;  // of a panel

  // `accuracy`: of the curves, relative to their range; where magnitudes are given, to the largest that the
  // curve has had, and not below the given one.
  RunCurves(std::size_t curves, double accuracy, std::vector<double> magnitudes = {});

  // A step, or the part of it that is valid: `solve` gives the formulas' values within it, or says that it
  // cannot. Of panels that begin in it already, none is kept: a step may be taken back.
  using Solve = std::function<bool(double t, double* values)>;
  void add_step(double from, double to, const Solve& solve);

  // Rows of a run whose steps are not to be had, `stride` numbers apart: polynomials through five rows where
  // they are smooth, straight lines elsewhere.
  void add_rows(std::span<const double> t, const double* rows, std::size_t stride);

  std::size_t curves() const { return width_; }
  std::size_t panels() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  bool full() const { return full_; }  // the run has more panels than memory should hold: they are not all
  double begin() const { return begin_; }
  double end() const { return ends_.empty() ? begin_ : ends_.back(); }
  double panel_begin(std::size_t panel) const { return panel == 0 ? begin_ : ends_[panel - 1]; }
  double panel_end(std::size_t panel) const { return ends_[panel]; }
  std::array<double, points> panel_values(std::size_t panel, std::size_t curve) const;
  std::size_t panel_at(double t) const;                                // of a time within the record
  double largest(std::size_t curve) const { return largest_[curve]; }  // magnitude of any point

 private:
  struct Panel {
    double from, to, error;
    std::vector<double> values;  // point by point
  };
  double error_of(const std::vector<double>& values) const;
  void look_at(const double* values);
  void append(const Panel& panel);

  std::size_t width_;
  double accuracy_, begin_ = 0.0;
  std::vector<double> ends_, values_;
  std::vector<double> magnitudes_, low_, high_, largest_;
  bool full_ = false;
};

}  // namespace tellegen
