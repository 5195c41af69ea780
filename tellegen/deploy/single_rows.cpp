// The steps of an exported model in single precision, as its NAME.c takes them.
#include "tellegen/deploy/c_model.h"

namespace tellegen {

std::vector<double> single_rows(const CModel& m, std::int64_t rows, std::int64_t stride) {
  std::vector<std::vector<double>> registers;
  for (std::size_t k = 0; k < m.code.parts.size(); ++k) {
    registers.push_back(m.code.parts[k].registers);
    for (std::size_t r = 0; r < registers[k].size(); ++r)
      if (!m.reals[k].precise[r]) registers[k][r] = single_number(registers[k][r]);
  }
  const std::size_t last = m.code.parts.size() - 1;
  std::vector<double> out, row(m.outputs.size());
  std::size_t part = 0;
  for (std::int64_t step = 1; step <= rows * stride; ++step) {
    const StepCode::Part& at = m.code.parts[part];
    double* const r = registers[part].data();
    r[at.counters.left] = r[at.counters.stride] = 1.0;
    r[at.counters.phase] = 0.0;
    double* to = row.data();
    std::size_t run = 0;
    while (at.procedure.entries[run].name != "run") ++run;
    if (run_single(at.procedure, m.reals[part], run, r, nullptr, &to) != 0) break;
    if (step % stride == 0) out.insert(out.end(), row.begin(), row.end());
    if (part == last || r[at.counters.index] != static_cast<double>(at.steps)) continue;
    for (const RegisterCopy& c : at.hand_over) {
      const double value = r[c.source];
      registers[part + 1][static_cast<std::size_t>(c.target)] =
          m.reals[part + 1].precise[c.target] ? value : static_cast<double>(static_cast<float>(value));
    }
    ++part;
  }
  return out;
}

}  // namespace tellegen
