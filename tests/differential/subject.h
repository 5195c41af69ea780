// The program under test, through its library.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace differential {

struct RunSpec {
  std::string method = "tr", form = "auto";
  double stop = 1.0, step = 0.01, sample = 0.0, tolerance = 1e-10;
  int bisections = 1;
  bool compile = false;
  bool pieces = false;       // a few samples at a time, as with a progress bar
  std::string branch;        // a joint that has to be in the tree of a mechanism
  std::string text() const;  // as options of the command line
};

struct Outcome {
  std::string refused;  // why, in the program's words; empty: it ran
  std::string code;     // "T301", "SimulationError", "stopped"
  std::string crash;    // what must not happen: another exception, a number that is none
  std::vector<std::string> names;
  std::vector<double> t, values;  // [row][name], SI
  std::string note;
  bool ok() const { return refused.empty() && crash.empty(); }
  double at(std::size_t row, std::size_t k) const { return values[row * names.size() + k]; }
};

Outcome simulate_text(const std::string& model, const RunSpec& spec, const std::vector<std::string>& outputs);

// Objectives of a model: values, and derivatives where parameters are named.
struct StudyOutcome : Outcome {
  std::vector<double> gradient;  // [objective][parameter]
  std::vector<std::string> warnings;
};
struct StudySpec : RunSpec {
  std::string derivatives = "forward";  // forward, adjoint, none
  std::vector<std::string> objectives, parameters;
  std::vector<double> numbers;  // of the parameters; empty: the model's
};
StudyOutcome study_text(const std::string& model, const StudySpec& spec);

// The study of a model that is read once: for many values of the same parameters.
class Values {
 public:
  Values(const std::string& model, const StudySpec& spec);
  ~Values();
  StudyOutcome at(const std::vector<double>& numbers);

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

// d variable/d parameter at the end, with the sensitivity graph drawn beside the model and both run by
// `spec`: [variable][parameter].
Outcome graph_text(const std::string& model, const RunSpec& spec, const std::vector<std::string>& variables,
                   const std::vector<std::string>& parameters);

// Samples of a sweep: of each the objectives, then outputs at the end. Row by row; NaN where one failed.
struct SweepOutcome : Outcome {
  std::vector<std::string> status;  // of each sample; empty: good
};
SweepOutcome sweep_text(const std::string& model, const RunSpec& spec, const std::vector<std::string>& axes,
                        const std::vector<std::vector<double>>& samples,
                        const std::vector<std::string>& objectives, const std::vector<std::string>& outputs);

}  // namespace differential
