#include "tellegen/deploy/c_export.h"

#include <fmt/format.h>

#include <array>

#include "tellegen/deploy/c_model.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/program/compile.h"

namespace tellegen {

namespace {

// Beyond, a compiler takes minutes: saturated networks of hundreds of unknowns.
constexpr std::size_t most_of_a_step = 60'000;

}  // namespace

CModel make_c_model(const Model& model, Simulation& simulation, const std::string& name, bool single,
                    bool fixed) {
  refuse_fmus(model, "exported code is made of equations");
  CModel m{.model = model,
           .simulation = simulation,
           .name = name,
           .code = simulation.integrator().step_code(),
           .parameters = {},
           .outputs = {},
           .inputs = {},
           .first = {}};
  if (!m.code.refused.empty())
    throw ModelError({{model.file.string(), 0},
                      "T420",
                      fmt::format("this run cannot be exported as C: {}", m.code.refused),
                      {"models with states can, by bdf1, bdf2, bdf3, tr, trnp, by rk4 where their rates have "
                       "formulas, and by exact where they are linear and sources are smooth"}});
  for (const StepCode::Part& part : m.code.parts)
    if (const std::size_t count = part.procedure.program.code.size(); count > most_of_a_step)
      throw ModelError({{model.file.string(), 0},
                        "T420",
                        fmt::format("this run cannot be exported as C: its step would be {} instructions, "
                                    "and compilers cope with {}",
                                    count, most_of_a_step),
                        {"what is nonlinear in hundreds of equations is eliminated in every iteration; a "
                         "smaller or a linear network can"}});
  if (const auto* network = dynamic_cast<const HasTables*>(&simulation.integrator()))
    m.tables = network->step_tables();
  if (single && m.code.events)
    throw ModelError(
        {{model.file.string(), 0},
         "T420",
         "this run cannot be exported in single precision: something switches, is sampled or jumps",
         {"times of events need double; leave out --real float"}});
  if (single)
    for (const StepCode::Part& part : m.code.parts)
      m.reals.push_back(single_precision(part.procedure, std::array{part.counters.index}));
  CMembers outputs, inputs;
  for (const OutputColumn& column : simulation.outputs()) m.outputs.push_back(outputs.add(column.name));
  for (const std::string& input : simulation.problem().options.external)
    m.inputs.push_back(inputs.add(input));
  m.parameters = find_c_parameters(model, simulation, m.code);
  if (fixed) {
    for (const CParameters::Setting& s : m.parameters.settings)
      m.parameters.fixed.push_back(m.parameter(s).name + ": no parameter is to be set");
    m.parameters.settings.clear();
    m.parameters.followed.clear();
  }
  m.first.resize(m.outputs.size());
  simulation.first_row(m.first.data());
  return m;
}

std::vector<ExportedFile> c_code_files(const CModel& m) {
  std::vector<ExportedFile> files{{m.name + ".h", c_header(m)}, {m.name + ".c", c_main_functions(m)}};
  for (std::size_t k = 0; k < m.code.parts.size(); ++k) {
    files.push_back({m.part_file(k), c_part(m, k)});
    if (m.has_pivots(k)) files.push_back({m.pivot_file(k), c_pivots(m, k)});
  }
  if (m.settable()) files.push_back({m.name + "_numbers.c", c_numbers(m)});
  files.push_back({"tellegen_math.h", std::string(runtime_source())});
  if (m.by_tables())
    files.push_back({"tellegen_network.h", std::string(runtime_source("tellegen_network.h"))});
  if (m.single()) files.push_back({"tellegen_single.h", std::string(runtime_source("tellegen_single.h"))});
  if (m.code.events)
    for (const std::string& header : c_event_headers(m))
      files.push_back({header, std::string(runtime_source(header))});
  return files;
}

namespace {

bool iterates(const CModel& m) {
  const auto loops_in = [](const Body& body, const auto& self) -> int {
    int loops = 0;
    for (const Statement& s : body) {
      loops += s.flow == Flow::loop;
      for (const Body& b : s.bodies) loops += self(b, self);
    }
    return loops;
  };
  if (m.by_tables()) return m.tables.back().iterates;
  return loops_in(m.last().procedure.entries[1].body, loops_in) > 1;
}

// Operations, and calls of functions, in a step with one of Newton's iterations.
void count_operations(const CModel& m, CExport& result) {
  if (m.by_tables()) {
    result.operations = m.tables.back().operations;
    result.functions = m.tables.back().functions;
    return;
  }
  const Program& program = m.last().procedure.program;
  const auto count = [&](std::span<const Instruction> code, int sign) {
    for (const Instruction& i : code)
      if (i.code != Code::number && i.code != Code::copy)
        (i.code == Code::call || i.code == Code::power || i.code == Code::lookup ? result.functions
                                                                                 : result.operations) += sign;
  };
  count(program.code, 1);
  count(program.section(0), -1);  // prepare
}

void measure(const CModel& m, CExport& result) {
  count_operations(m, result);
  const std::size_t real = m.single() ? 4 : 8;
  for (const StepCode::Part& part : m.code.parts) result.state_bytes += real * part.registers.size();
  for (const Reals& reals : m.reals) result.state_bytes += 8 * static_cast<std::size_t>(reals.slots);
  result.state_bytes += real * m.parameters.settings.size() + (m.code.events ? c_event_bytes(m) : 8);
  result.iterates = iterates(m);
}

}  // namespace

CExport export_c(const Model& model, Simulation& simulation, const ExportOptions& options) {
  const CModel m = make_c_model(model, simulation, options.name, options.single, options.fixed);
  CExport result;
  for (const CParameters::Setting& s : m.parameters.settings)
    result.parameters.push_back(m.parameter(s).name);
  result.fixed = m.parameters.fixed;
  measure(m, result);
  result.files = c_code_files(m);
  const auto add = [&](std::string name, std::string text) {
    result.files.push_back({std::move(name), std::move(text)});
  };
  add("vector.h", c_test_vector(m, options.vector, result));
  add("main.c", c_replay(m));
  add("CMakeLists.txt", c_cmake(m));
  add("README.md", c_readme(m, result));
  return result;
}

}  // namespace tellegen
