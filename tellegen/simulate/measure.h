// Numbers of a whole run, as .measure and .four of SPICE ask for them (model/analyses.h), from the curves of
// its steps (run_curves.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/analyses.h"
#include "tellegen/model/model.h"
#include "tellegen/simulate/curve.h"

namespace tellegen {

struct MeasureResult {
  std::string name, unit;
  std::optional<double> value;
  std::string reason;  // where there is no value: "not reached: ..."
  // Times that belong to it: "at", "trig" and "targ", "from" and "to".
  std::vector<std::pair<std::string, double>> times;
};

struct FourierResult {
  struct Harmonic {
    double frequency, magnitude, phase;             // degrees, of a sine that begins with the period
    double normalised_magnitude, normalised_phase;  // by those of the first
  };
  std::string name;  // of the signal
  double frequency = 0.0, from = 0.0;
  std::vector<Harmonic> harmonics;  // 0 (the mean) to 9
  double distortion = 0.0;          // percent: harmonics 2 to 9 over the first
  std::string reason;               // empty unless there is no result
};

class Measurement {
 public:
  // Throws ModelError where a formula cannot be read. The model must live on; its parameters may change.
  Measurement(const Model& model, const Analyses& analyses);
  // What is to be recorded (SimulationOptions::recorded).
  const std::vector<Expr>& formulas() const { return formulas_; }
  bool empty() const { return analyses_.measures.empty() && analyses_.fourier.empty(); }

  std::string unit_of(const MeasureSpec& spec) const;  // empty: SI, whatever that is
  std::vector<MeasureResult> measures(const RunCurves& record) const;
  std::vector<FourierResult> fourier(const RunCurves& record) const;

 private:
  struct NotReached {
    std::string why;
  };
  using Numbers = std::map<std::string, std::optional<double>>;  // of measures so far, by their symbols
  std::size_t add_signal(const std::string& text, const Place& place);
  Curve curve(const RunCurves& record, const std::string& signal) const;
  double number(const std::string& text, const Numbers& known) const;
  double number_or(const std::string& text, double otherwise, const Numbers& known) const;
  struct Span {
    double from, to;
  };
  double instant(const RunCurves& record, const MeasurePoint& point, const Span& span,
                 const Numbers& known) const;
  double evaluated(const RunCurves& record, const MeasureSpec& spec, const Numbers& known,
                   MeasureResult& result) const;
  FourierResult fourier(const RunCurves& record, double frequency, const FourierSpec::Signal& signal) const;

  const Model& model_;
  Analyses analyses_;
  std::map<std::string, std::size_t> signals_;  // index of each formula's curve
  std::vector<Expr> formulas_;
};

}  // namespace tellegen
