#include "tellegen/deploy/filter_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tellegen/estimate/filter_program.h"

namespace tellegen {
namespace {

class RowBuilder {
 public:
  RowBuilder(const Model& model, const FilterExportOptions& options, const Record& record)
      : model_(model), options_(options), record_(record), filter_(model, options, "Verilog") {
    if (filter_.method() == FilterFormulas::Method::sigma_points &&
        FilterFormulas::points_matter(filter_.plant))
      refuse("sigma points are not exported as Verilog", "ekf can be");
    straight_.halvings = most_halvings();
    for (const std::string& input : options.inputs) straight_.held.push_back(is_held(model, input));
  }

  FilterStep build(const std::vector<std::string>& wanted) {
    const FilterProgram program(filter_.plant, filter_.options, filter_.process_noise, filter_.method(),
                                false, &straight_);
    StepCode::Part part;
    part.procedure = program.procedure();
    row_ = program.row();
    write_outputs(part.procedure, wanted);
    part.registers = program.memory();
    part.registers.resize(static_cast<std::size_t>(part.procedure.program.registers), 0.0);
    part.counters.index = row_.index;
    for (std::size_t s = 0; s < sensors(); ++s) {
      const std::string& name = model_.outputs[static_cast<std::size_t>(options_.sensors[s])].name;
      const auto at = static_cast<std::int32_t>(s);
      part.inputs.insert(part.inputs.end(), {row_.value + at, row_.there + at});
      result_.inputs.insert(result_.inputs.end(), {name, name + "_there"});
    }
    part.inputs.insert(part.inputs.end(), row_.inputs.begin(), row_.inputs.end());
    result_.inputs.insert(result_.inputs.end(), options_.inputs.begin(), options_.inputs.end());
    result_.step = straight_step(part, false);
    if (result_.step.refused.empty())
      result_.scenario = run_scenario(result_.step, record_.steps, [&](std::size_t input, double index) {
        return given(input, static_cast<std::int64_t>(index));
      });
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why, const std::string& help) const {
    throw ModelError({{model_.file.string(), 0}, "T420", why, {help}});
  }
  std::size_t sensors() const { return options_.sensors.size(); }

  double given(std::size_t input, std::int64_t row) const {
    if (input >= 2 * sensors())
      return record_.given[static_cast<std::size_t>(row) * options_.inputs.size() + input - 2 * sensors()];
    const double reading = record_.reading(row, input / 2);
    if (input % 2 == 1) return std::isnan(reading) ? 0.0 : 1.0;
    return std::isnan(reading) ? 0.0 : reading;
  }

  // How often the estimator itself halves its flow, on the way along the record.
  int most_halvings() {
    if (filter_.plant.constant_slopes()) return 0;
    const FilterProgram program(filter_.plant, filter_.options, filter_.process_noise, filter_.method());
    std::vector<double> w = program.memory(), none(sensors()), variance(sensors());
    program.prepare(w.data());
    int most = 0;
    const std::size_t inputs = options_.inputs.size();
    std::vector<double> rates(inputs);
    for (std::int64_t row = 0; row < record_.steps; ++row) {
      const double* u = record_.given.data() + static_cast<std::size_t>(row) * inputs;
      if (row > 0) {
        for (std::size_t k = 0; k < inputs; ++k)
          rates[k] = is_held(model_, options_.inputs[k]) ? 0.0 : (u[k] - (u - inputs)[k]) / options_.step;
        program.predict(w.data(), options_.step * static_cast<double>(row - 1), u - inputs, rates.data());
        most = std::max(most, program.halvings(w.data()));
      }
      program.correct(w.data(), options_.step * static_cast<double>(row), u,
                      record_.readings.data() + static_cast<std::size_t>(row) * sensors(), none.data(),
                      variance.data());
    }
    return most;
  }

  // Estimates and deviations behind the row.
  void write_outputs(Procedure& procedure, const std::vector<std::string>& wanted) {
    const QuantityCode code = filter_.plant.quantity_code();
    for (const std::string& name : code.left_out)
      result_.left_out.push_back(name + ": it follows from equations that have to be solved");
    SectionWriter write(procedure.program);
    std::vector<std::int32_t> from;
    const auto n = static_cast<std::int32_t>(filter_.plant.size());
    for (std::int32_t i = 0; i < n; ++i) from.push_back(i);
    from.push_back(row_.time);
    for (std::size_t k = 0; k < options_.inputs.size(); ++k)
      from.push_back(row_.u + static_cast<std::int32_t>(k));
    for (const double value : code.numbers) from.push_back(write.number(value));
    Body& body = row_.body;
    body.push_back(write.end());
    const int first = procedure.program.sections();
    const std::vector<std::int32_t> roots = append(procedure.program, code.program, from);
    body.push_back(run_section(first));
    body.push_back(run_section(first + 1));
    const std::size_t count = code.quantities.size();
    std::map<std::string, std::size_t> place;
    for (std::size_t k = 0; k < count; ++k)
      place.try_emplace(filter_.plant.quantities()[code.quantities[k]].name, k);
    std::vector<std::string> names = wanted;
    if (names.empty())
      for (std::size_t k = 0; k < count; ++k)
        names.push_back(filter_.plant.quantities()[code.quantities[k]].name);
    std::vector<std::int32_t> outputs;
    for (const std::string& name : names) {
      const bool deviates = !place.contains(name) && name.ends_with("_sd");
      const auto found = place.find(deviates ? name.substr(0, name.size() - 3) : name);
      if (found == place.end())
        refuse(fmt::format("'{}' is no estimate", name),
               "estimate --output lists them; NAME_sd is the standard deviation of one");
      const std::size_t k = found->second;
      outputs.push_back(deviates ? deviation(write, code, k, roots) : roots[k]);
      result_.outputs.push_back(name);
    }
    body.push_back(write.end());
    body.push_back(emit(outputs));
    procedure.entries = {procedure.entries.front(), {"run", body}};
  }

  // f = U' s, variance = f' D f.
  std::int32_t deviation(SectionWriter& write, const QuantityCode& code, std::size_t k,
                         const std::vector<std::int32_t>& roots) const {
    const auto n = static_cast<std::int32_t>(filter_.plant.size());
    const auto factor = [&](std::int32_t i, std::int32_t j) { return n + i * n - i * (i + 1) / 2 + j; };
    std::vector<std::int32_t> f(static_cast<std::size_t>(n), -1);
    const auto sum = [&](std::int32_t& into, std::int32_t term) {
      into = into < 0 ? term : write.add(into, term);
    };
    for (auto at = k == 0 ? 0 : code.last[k - 1]; at < code.last[k]; ++at) {
      const std::int32_t slope = roots[code.quantities.size() + static_cast<std::size_t>(at)],
                         i = code.column[static_cast<std::size_t>(at)];
      sum(f[static_cast<std::size_t>(i)], slope);
      for (std::int32_t j = i + 1; j < n; ++j)
        sum(f[static_cast<std::size_t>(j)], write.multiply(slope, factor(i, j)));
    }
    std::int32_t variance = -1;
    for (std::int32_t j = 0; j < n; ++j)
      if (const std::int32_t g = f[static_cast<std::size_t>(j)]; g >= 0)
        sum(variance, write.multiply(g, write.multiply(factor(j, j), g)));
    return variance < 0 ? write.number(0.0) : write.call("sqrt", variance);
  }

  const Model& model_;
  const FilterExportOptions& options_;
  const Record& record_;
  ExportedFilter filter_;
  StraightForm straight_;
  FilterProgram::Row row_;
  FilterStep result_;
};

}  // namespace

FilterStep filter_step(const Model& model, const FilterExportOptions& options, const Record& record,
                       const std::vector<std::string>& wanted) {
  return RowBuilder(model, options, record).build(wanted);
}

}  // namespace tellegen
