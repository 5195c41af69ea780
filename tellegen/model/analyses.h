// What a netlist asks of its run besides rows: numbers of the whole run (.measure), harmonics (.four), and
// the values that are to be tried (.step). Formulas are texts in the model's names; those of numbers may also
// have the symbols of earlier measures in them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

// An instant: given, or where a signal passes a level.
struct MeasurePoint {
  enum class Edge { rise, fall, cross };
  std::string at;             // empty: a crossing
  std::string signal, level;  // of a crossing
  Edge edge = Edge::cross;
  int count = 1;      // the first is 1; 0: the last
  std::string after;  // only from then on; empty: from the begin
};

struct MeasureSpec {
  enum class What {
    interval,  // from the first point to the second
    when,      // the first point itself
    find,      // the signal there
    slope,     // the signal's derivative there
    average,   // and all that follow: of the signal, from one time to another
    rms,
    minimum,
    maximum,
    peak_to_peak,
    integral,
    minimum_at,
    maximum_at,
    formula
  };
  What what = What::formula;
  std::string name, symbol;  // the symbol stands for its number in later formulas
  std::string signal;
  std::string formula;
  std::optional<MeasurePoint> first, second;  // also the ends of an average and the like
  std::string from, to;                       // empty: the ends of the run
  Place place;
};

struct FourierSpec {
  double frequency = 0.0;
  struct Signal {
    std::string name, formula;
  };
  std::vector<Signal> signals;
  Place place;
};

struct StepSpec {
  std::string name;  // of a parameter of the model: "r", "v1.V"
  std::vector<double> values;
  Place place;
};

struct Analyses {
  double begin = 0.0;  // measures look at the run from here on
  std::vector<MeasureSpec> measures;
  std::vector<FourierSpec> fourier;
  std::vector<StepSpec> steps;
  std::vector<std::string>
      fixed;  // parameters whose numbers are in the model's text: others need another text
};

}  // namespace tellegen
