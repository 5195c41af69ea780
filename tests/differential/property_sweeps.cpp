// Samples of a sweep against single runs of models in which the numbers were written as text.
#include <cmath>
#include <cstdlib>

#include "tests/differential/generator.h"
#include "tests/differential/property.h"
#include "tests/differential/subject.h"

namespace differential {

Verdict check_sweeps(const Draft& draft) {
  Random random(draft.seed);
  std::vector<std::string> axes, objectives;
  std::vector<double> nominal;
  for (const auto& [name, value] : draft.parameters) {
    if (value.front() == '"' || axes.size() == 3) continue;
    axes.push_back(name);
    nominal.push_back(std::atof(value.c_str()));
  }
  if (axes.empty()) return unknown("nothing to vary");
  for (const auto& [name, value] : draft.objectives) objectives.push_back(name);
  std::vector<std::vector<double>> samples(4);
  for (auto& sample : samples)
    for (const double number : nominal)
      sample.push_back(number == 0.0 ? random.between(-0.3, 0.3) : number * random.between(0.7, 1.4));
  StudySpec spec;
  spec.stop = 0.0;
  spec.step = 0.01;
  spec.method = random.pick(std::vector<std::string>{"tr", "bdf2", "bdf3", "adaptive"});
  spec.bisections = random.pick(std::vector<int>{1, 20});
  spec.derivatives = "none";
  spec.objectives = objectives;
  const SweepOutcome sweep = sweep_text(draft.text(), spec, axes, samples, objectives, draft.outputs);
  if (!sweep.crash.empty()) return failed("crash", "a reason or numbers", sweep.crash, spec.text());
  if (!sweep.ok()) return refused(sweep.code);
  const double tolerance = spec.method == "adaptive" ? 1e-5 : 1e-8;
  int checks = 0;
  std::string why;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    Draft single = draft;
    std::string numbers;
    for (std::size_t p = 0; p < axes.size(); ++p)
      for (auto& [name, value] : single.parameters)
        if (name == axes[p]) {
          value = number_text(samples[k][p], 17);
          numbers += (p ? ", " : "") + name + " = " + value;
        }
    const std::string where = "sample " + std::to_string(k) + ", " + numbers + ", " + spec.text();
    const StudyOutcome study = study_text(single.text(), spec);
    const Outcome run = simulate_text(single.text(), spec, draft.outputs);
    if (!run.crash.empty()) return failed("crash", "a reason or numbers", run.crash, where);
    std::vector<double> want = study.values;
    bool finite = study.ok() && run.ok();
    for (std::size_t c = 0; run.ok() && c < run.names.size(); ++c)
      want.push_back(run.at(run.t.size() - 1, c));
    for (const double v : want) finite = finite && std::isfinite(v);
    if (finite != sweep.status[k].empty())
      return failed("a sample runs, or a single run, not both", finite ? "a result" : "none",
                    finite ? sweep.status[k] : "a result", where);
    if (!finite) {
      why = sweep.status[k].substr(0, 40);
      continue;
    }
    for (std::size_t c = 0; c < want.size(); ++c) {
      const double got = sweep.values[k * sweep.names.size() + c];
      if (!(std::abs(got - want[c]) <= tolerance * (1 + std::abs(want[c]))))
        return failed("a sample is not what a single run gives", want[c], got, sweep.names[c] + ", " + where);
      ++checks;
    }
  }
  if (checks == 0) return refused(why);
  Verdict v;
  v.checks = checks;
  return v;
}

}  // namespace differential
