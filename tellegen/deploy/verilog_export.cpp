#include "tellegen/deploy/verilog_export.h"

#include <fmt/format.h>

#include "tellegen/deploy/c_names.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/program/compile.h"

namespace tellegen {
namespace {

[[noreturn]] void refuse(const Model& model, const char* code, const std::string& why,
                         const std::string& help) {
  throw ModelError(
      {{model.file.string(), 0}, code, "this step cannot be exported as Verilog: " + why, {help}});
}

// Inputs from outside as functions of time.
ExternalValue external_values(const Model& model, const std::vector<Expr>& external, double step) {
  std::vector<ProgramRoot> roots;
  std::vector<ProgramInput> inputs{{model.pool->symbol("t"), 0}};
  std::vector<double> numbers{0.0};
  for (const ModelParameter& p : model.parameters) {
    inputs.push_back({p.symbol, 0});
    numbers.push_back(p.number);
  }
  for (const Expr value : external) roots.push_back({value, 0});
  Program program = make_program(*model.pool, inputs, {}, roots, 1);
  std::vector<double> registers(static_cast<std::size_t>(program.registers), 0.0);
  std::copy(numbers.begin(), numbers.end(), registers.begin());
  return [program = std::move(program), registers, step](std::size_t input, double index) mutable {
    registers[0] = step * index;
    interpret(program, 0, registers.data());
    return registers[program.roots[input]];
  };
}

// Steps of the scenario: what is given, outputs, states. Of a pipeline each machine begins where the scenario
// is after as many steps as its number, with what is given thrice as far on; first come the states.
std::string vectors(const HardwareDesign& d, const StepScenario& scenario) {
  std::vector<FixedMachine> machines;
  std::vector<std::int64_t> given(d.fixed.given.size());
  std::string out;
  const auto give = [&](std::int64_t n) {
    const std::size_t at = static_cast<std::size_t>(n % scenario.steps) * scenario.given_width;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const FixedOp& op = d.fixed.ops[d.fixed.given[k].op];
      given[k] =
          to_raw(scenario.given[at + static_cast<std::size_t>(op.leaf)], d.fixed.given[k], op, d.bits());
    }
  };
  const auto put = [&](std::int64_t raw) { out += hex_word(raw, d.bits()) + " "; };
  const auto end_row = [&] { out.back() = '\n'; };
  for (int m = 0; m < std::max(1, d.machines); ++m) {
    machines.emplace_back(d.fixed, d.step);
    for (int n = 0; n < m; ++n) give(n), machines.back().step(given.data());
    if (d.machines == 0) break;
    for (std::size_t k = 0; k < d.fixed.states.size(); ++k) put(machines.back().state(k));
    end_row();
  }
  for (std::int64_t n = 0; n < d.vector_steps; ++n)
    for (std::size_t m = 0; m < machines.size(); ++m) {
      give(n + 3 * static_cast<std::int64_t>(m));
      machines[m].step(given.data());
      for (const std::int64_t raw : given) put(raw);
      for (std::size_t k = 0; k < d.fixed.outputs.size(); ++k) put(machines[m].output_raw(k));
      for (std::size_t k = 0; k < d.fixed.states.size(); ++k) put(machines[m].state(k));
      end_row();
    }
  return out;
}

std::string words_file(const HardwareDesign& d) {
  std::string out;
  for (const std::int64_t raw : d.micro.words) out += hex_word(raw, d.bits()) + "\n";
  return out;
}

std::string table_file(const FixedTable& table, int bits) {
  std::string out;
  for (std::size_t k = 0; k < table.entries.size(); ++k) out += hex_word(table_raw(table, k), bits) + "\n";
  return out;
}

// A step with its scenario as formulas.
HardwareProblem with_formulas(const Model& model, StraightStep step, StepScenario scenario) {
  HardwareProblem result{.step = std::move(step), .scenario = std::move(scenario), .formulas = {}};
  if (!result.scenario.refused.empty())
    refuse(model, "T420", result.scenario.refused,
           "a fixed number of Newton's iterations may help: --iterations 3");
  result.formulas = make_formulas(result.step);
  if (!result.formulas.refused.empty())
    refuse(model, "T422", result.formulas.refused + " has no form in fixed point yet",
           "sines, square roots, quotients, comparisons, tables of one argument and smooth functions of one "
           "argument have");
  return result;
}

// `d` says what is exported, and has no step yet.
VerilogExport made(const Model& model, HardwareDesign given, HardwareProblem hardware,
                   const VerilogOptions& options) {
  VerilogExport result{.files = {}, .design = std::move(given)};
  HardwareDesign& d = result.design;
  d.name = options.name;
  d.title = model.name;
  d.units = options.units;
  d.step = std::move(hardware.step);
  const StepScenario& scenario = hardware.scenario;
  d.scenario_steps = scenario.steps;
  d.fixed = make_fixed(hardware.formulas, d.step, scenario,
                       {.bits = options.bits,
                        .multiplier_latency = options.units.multiplier_latency,
                        .table_bits = options.table_bits});
  d.run = run_fixed(d.fixed, d.step, scenario);
  if (d.run.overflows > 0)
    refuse(model, "T422", fmt::format("{} results leave the range of their words", d.run.overflows),
           "take longer words: --bits");
  d.vector_steps = std::max<std::int64_t>(1, std::min(options.vector, d.scenario_steps));

  CMembers ports;
  for (const std::string& output : d.output_names) d.output_ports.push_back("y_" + ports.add(output));
  for (std::size_t k = 0; k < d.fixed.states.size(); ++k) {
    const FixedStep::Word& word = d.fixed.states[k];
    d.start.push_back(to_raw(d.step.states[k].start, word, d.fixed.ops[word.op], d.bits()));
  }
  d.microcode = options.microcode;
  const std::string& name = d.name;
  if (d.microcode) {
    d.micro = micro_program(d.fixed, d.start);
    result.files = {{name + "_words.v", micro_module(d)},
                    {name + "_program.hex", micro_program_file(d)},
                    {name + "_words.hex", words_file(d)},
                    {name + "_bench.v", words_bench(d)}};
  } else if (options.machines > 0) {
    d.machines = options.machines;
    const int depth = pipeline_depth(d.fixed, options.units);
    d.schedule = pipeline_step(
        d.fixed, options.units,
        options.interval > 0 ? options.interval : std::max(1, (depth + d.machines - 1) / d.machines));
    result.files = {{name + "_words.v", pipeline_module(d)}, {name + "_bench.v", words_bench(d)}};
  } else {
    d.schedule = schedule_step(d.fixed, options.units);
    result.files = {{name + ".v", verilog_module(d)},
                    {name + "_words.v", words_module(d)},
                    {name + "_bench.v", verilog_bench(d)}};
  }
  result.files.insert(result.files.end(), {{name + "_bytes.v", byte_port(d)},
                                           {name + "_axi.v", axi_port(d)},
                                           {name + "_ports_bench.v", ports_bench(d)},
                                           {name + "_vectors.hex", vectors(d, scenario)},
                                           {name + "_fixed.h", fixed_c_header(d)},
                                           {name + "_fixed.c", fixed_c_model(d)},
                                           {name + "_host.c", fixed_c_host(d)},
                                           {"main.c", fixed_c_replay(d)},
                                           {"tellegen_math.h", std::string(runtime_source())},
                                           {"Makefile", hardware_makefile(d)},
                                           {"README.md", hardware_readme(d)}});
  for (ExportedFile& file : quartus_files(d)) result.files.push_back(std::move(file));
  if (d.divides() && d.machines > 0)
    result.files.push_back({"tellegen_divide_pipeline.v", pipeline_divider()});
  else if (d.divides())
    result.files.push_back({"tellegen_divide.v", verilog_divider()});
  for (const FixedTable& table : d.fixed.tables)
    result.files.push_back({fmt::format("{}_{}.hex", name, table.name), table_file(table, d.bits())});
  return result;
}

}  // namespace

Expr input_formula(const Model& model, std::string_view name) {
  ExprMap<Expr> others;  // an input may be written in others
  Expr result;
  for (const ModelInput& i : model.inputs) {
    others[i.symbol] = i.value;
    if (i.name == name) result = i.value;
  }
  if (result)
    for (std::size_t k = 0; k < model.inputs.size(); ++k) result = substitute(result, others);
  return result;
}

HardwareProblem hardware_problem(const Model& model, Simulation& simulation,
                                 const std::vector<Expr>& external) {
  const Problem& problem = simulation.problem();
  refuse_fmus(model, "exported code is made of equations");
  StraightStep step = straight_step(simulation.integrator().step_code());
  if (!step.refused.empty())
    refuse(model, "T420", step.refused,
           "a model of up to 64 unknowns can, by rk4 or by bdf1, bdf2, bdf3, tr where it is linear; a source "
           "that "
           "jumps can be an input of the model that is given to every step: --inputs");
  if (step.states.empty()) refuse(model, "T420", "nothing in it changes from step to step", "");
  StepScenario scenario = run_scenario(step, sample_count(problem) * problem.stride,
                                       external_values(model, external, problem.step));
  return with_formulas(model, std::move(step), std::move(scenario));
}

VerilogExport export_verilog(const Model& model, Simulation& simulation, const VerilogOptions& options) {
  const Problem& problem = simulation.problem();
  HardwareDesign d;
  d.method = problem.options.method;
  d.step_seconds = problem.step;
  d.external = problem.options.external;
  for (const OutputColumn& column : simulation.outputs()) d.output_names.push_back(column.name);
  return made(model, std::move(d), hardware_problem(model, simulation, options.external), options);
}

VerilogExport export_filter_verilog(const Model& model, const FilterExportOptions& filter,
                                    const Record& record, const std::vector<std::string>& outputs,
                                    const VerilogOptions& options, std::vector<std::string>& left_out) {
  FilterStep row = filter_step(model, filter, record, outputs);
  left_out = std::move(row.left_out);
  HardwareDesign d;
  d.method = filter.estimator;
  d.estimator = true;
  d.step_seconds = filter.step;
  d.external = std::move(row.inputs);
  d.output_names = std::move(row.outputs);
  if (!row.step.refused.empty()) refuse(model, "T420", row.step.refused, "");
  return made(model, std::move(d), with_formulas(model, std::move(row.step), std::move(row.scenario)),
              options);
}

}  // namespace tellegen
