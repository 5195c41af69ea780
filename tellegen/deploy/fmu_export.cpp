#include "tellegen/deploy/fmu_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "tellegen/deploy/c_model.h"
#include "tellegen/deploy/exchange_c.h"
#include "tellegen/deploy/fmu_archive.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// Taken before an FMU is written, to see what happens in them.
constexpr std::int64_t most_tried_steps = 1000;

// What tellegen_fmu.h asks of a model.
std::string fmu_model_header(const CModel& m, const ExportedDescription& fmu, const ExchangeModel& exchange) {
  std::string start;
  const auto outputs =
      std::count_if(fmu.variables.begin(), fmu.variables.end(),
                    [](const ExportedVariable& v) { return v.role == ExportedVariable::Role::output; });
  for (const ExportedVariable& v : fmu.variables)
    if (v.role == ExportedVariable::Role::parameter || v.role == ExportedVariable::Role::input)
      start += c_number(v.start) + ", ";
  std::string out = fmt::format(
      "/* The model for tellegen_fmu.h: parameters, inputs and outputs as rows of numbers. */\n"
      "#include <string.h>\n\n#include \"{0}.h\"\n\n#define FMU_TOKEN \"{1}\"\n#define FMU_STEP {2}\n"
      "enum {{ FMU_PARAMETERS = {3}, FMU_INPUTS = {4}, FMU_OUTPUTS = {5} }};\n"
      "typedef {0}_state fmu_state;\n\n"
      "static const double fmu_start_values[FMU_PARAMETERS + FMU_INPUTS + 1] = {{{6}0.0}};\n\n"
      "static inline void fmu_model_init(fmu_state* s, double* y) {{\n  {0}_outputs row;\n"
      "  {0}_init(s, &row);\n  memcpy(y, &row, sizeof row);\n}}\n\n",
      m.name, fmu.token, c_number(m.problem().step), m.parameters.settings.size(), m.inputs.size(), outputs,
      start);
  out += fmt::format(
      "static inline int fmu_model_run(fmu_state* s, const double* u, long steps, double* y) {{\n"
      "  {0}_outputs row;\n  int status;\n{1}  memcpy(&row, y, sizeof row);\n"
      "  status = {0}_run(s{2}, steps, &row);\n  memcpy(y, &row, sizeof row);\n  return status;\n}}\n\n",
      m.name,
      m.inputs.empty() ? "  (void)u;\n"
                       : fmt::format("  {0}_inputs inputs;\n  memcpy(&inputs, u, sizeof inputs);\n", m.name),
      m.inputs.empty() ? "" : ", &inputs");
  if (m.settable())
    out += fmt::format(
        "static inline int fmu_model_set(fmu_state* s, const double* p) {{\n  {0}_parameters given;\n"
        "  memcpy(&given, p, sizeof given);\n  return {0}_set_parameters(s, &given);\n}}\n\n",
        m.name);
  else
    out +=
        "static inline int fmu_model_set(fmu_state* s, const double* p) {\n  (void)s, (void)p;\n"
        "  return 0;\n}\n\n";
  return out +
         fmt::format("static inline double fmu_model_time(const fmu_state* s) {{ return {}_time(s); }}\n",
                     m.name) +
         exchange_header(exchange, m.name);
}

// The run with states and discrete variables behind its outputs: what an instance for co-simulation shows of
// them.
std::unique_ptr<Simulation> with_states(const Simulation& simulation, const ExchangeModel& exchange) {
  std::vector<OutputColumn> columns = simulation.outputs();
  Pool& pool = *simulation.system().model->pool;
  for (const ExchangeModel::State& s : exchange.states)
    columns.push_back({s.name, s.unit, pool.symbol(s.name)});
  for (const std::string& name : exchange.discrete) columns.push_back({name, "", pool.symbol(name)});
  return std::make_unique<Simulation>(simulation.system(), simulation.problem().options, columns);
}

// How large states become in the first steps of a run, as powers of ten: importers without a better idea take
// their absolute tolerances from it. A flux of 1e-4 Wb is nothing beside 1.
void find_nominals(const Simulation& simulation, ExchangeModel& exchange) {
  const auto own = with_states(simulation, exchange);
  const std::size_t width = own->outputs().size(), first = simulation.outputs().size();
  std::vector<double> row(width), largest(exchange.states.size(), 0.0);
  for (std::size_t k = 0; k < largest.size(); ++k) largest[k] = std::abs(exchange.states[k].start);
  const std::int64_t steps = std::min(most_tried_steps, sample_count(own->problem()));
  for (std::int64_t step = 0; step < steps && own->integrator().advance(1, row.data()) == 1; ++step)
    for (std::size_t k = 0; k < largest.size(); ++k)
      largest[k] = std::max(largest[k], std::abs(row[first + k]));
  for (std::size_t k = 0; k < largest.size(); ++k)
    if (largest[k] > 1e-12 && std::isfinite(largest[k]))
      exchange.states[k].nominal = std::pow(10.0, std::round(std::log10(largest[k])));
}

class FmuExporter {
 public:
  FmuExporter(const Model& model, Simulation& simulation, const FmuOptions& options)
      : simulation_(simulation) {
    ExchangeModel exchange = exchange_of(model, simulation, options);
    if (exchange.refused.empty()) {
      find_nominals(simulation, exchange);
      extended_ = with_states(simulation, exchange);
    }
    m_.emplace(make_c_model(model, extended_ ? *extended_ : simulation, options.name, false, options.fixed));
    content_.description = {.version = options.version,
                            .name = m_->name,
                            .title = model.name,
                            .about = about_co_simulation(*m_),
                            .step = m_->problem().step,
                            .stop = m_->problem().options.stop,
                            .intermediate = true,
                            .fixed = m_->parameters.fixed,
                            .variables = fmu_variables(*m_, simulation.outputs().size(), exchange)};
    content_.exchange = std::move(exchange);
  }

  FmuExport run() {
    const ExchangeModel& exchange = content_.exchange;
    FmuExport result;
    for (const CParameters::Setting& s : m_->parameters.settings)
      result.parameters.push_back(m_->parameter(s).name);
    result.inputs = m_->problem().options.external;
    for (const OutputColumn& column : simulation_.outputs()) result.outputs.push_back(column.name);
    result.fixed = m_->parameters.fixed;
    result.no_exchange = exchange.refused;
    result.no_derivatives = exchange.without_slopes;
    result.states = exchange.states.size();
    result.indicators = exchange.indicators;
    content_.sources = c_code_files(*m_);
    content_.compiled = m_->sources();
    if (exchange.refused.empty()) {
      content_.compiled.push_back(m_->name + "_exchange.c");
      content_.sources.push_back({content_.compiled.back(), exchange_source(exchange, m_->name)});
    }
    if (m_->by_tables()) {
      std::vector<double> row(m_->simulation.outputs().size());
      const std::int64_t steps = std::min(most_tried_steps, sample_count(m_->problem()));
      for (std::int64_t k = 0; k < steps && m_->simulation.integrator().advance(1, row.data()) == 1; ++k) {
      }
      refuse_other_pivots(*m_);
    }
    content_.header = [&](const ExportedDescription& fmu) {
      return fmu_model_header(*m_, fmu, content_.exchange);
    };
    pack_fmu(content_, {m_->model.file.string(), 0}, result);
    return result;
  }

 private:
  // With those parameters that co-simulation has too.
  static ExchangeModel exchange_of(const Model& model, Simulation& simulation, const FmuOptions& options) {
    const CModel m = make_c_model(model, simulation, options.name, false, options.fixed);
    std::vector<std::string> parameters;
    for (const CParameters::Setting& s : m.parameters.settings) parameters.push_back(m.parameter(s).name);
    return make_exchange_model(model, simulation, parameters);
  }

  Simulation& simulation_;
  std::unique_ptr<Simulation> extended_;
  std::optional<CModel> m_;
  FmuContent content_;
};

}  // namespace

FmuExport export_fmu(const Model& model, Simulation& simulation, const FmuOptions& options) {
  return FmuExporter(model, simulation, options).run();
}

}  // namespace tellegen
