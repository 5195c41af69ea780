// NAME.h and NAME.c: structures with the model's names, and the functions that a program calls.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/deploy/c_model.h"
#include "tellegen/deploy/c_names.h"
#include "tellegen/program/compile.h"
#include "tellegen/program/repeats.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {

std::string CModel::part_prefix(std::size_t part) const { return fmt::format("{}_part{}_", name, part); }
std::string CModel::part_file(std::size_t part) const { return fmt::format("{}_part{}.c", name, part); }
std::string CModel::pivot_file(std::size_t part) const { return fmt::format("{}_pivot{}.c", name, part); }
std::string CModel::number(double value) const { return single() ? c_single_number(value) : c_number(value); }
std::string CModel::reg(std::size_t part, std::int32_t r) const {
  if (single() && reals[part].precise[r]) return fmt::format("s->p{}[{}]", part, reals[part].slot[r]);
  return fmt::format("s->w{}[{}]", part, r);
}
std::string CModel::registers(std::size_t part) const {
  return single() ? fmt::format("s->w{0}, s->p{0}", part) : fmt::format("s->w{}", part);
}
std::string CModel::declared() const {
  return single() ? "(float* w, double* p, const float** in, float** out);\n"
                  : "(double* w, const double** in, double** out);\n";
}
std::string CModel::inputs_parameter() const {
  return inputs.empty() ? "" : fmt::format(", const {}_inputs* u", name);
}

std::vector<std::string> CModel::sources() const {
  std::vector<std::string> files{name + ".c"};
  for (std::size_t k = 0; k < code.parts.size(); ++k) {
    files.push_back(part_file(k));
    if (has_pivots(k)) files.push_back(pivot_file(k));
  }
  if (settable()) files.push_back(name + "_numbers.c");
  return files;
}

std::string CModel::input_unit(std::size_t input) const {
  const std::string& called = problem().options.external[input];
  const auto found = std::find_if(model.inputs.begin(), model.inputs.end(),
                                  [&](const ModelInput& i) { return i.name == called; });
  return found == model.inputs.end() ? "" : found->unit;
}

double CModel::input_start(std::size_t input) const {
  return problem().initial.held[static_cast<std::size_t>(problem().external[input])];
}

namespace {

std::string unit_comment(const std::string& unit, const std::string& summary = "") {
  std::string text = unit.empty() ? "" : fmt::format("SI unit of {}", unit);
  if (!summary.empty()) text += (text.empty() ? "" : "; ") + summary;
  return text.empty() ? "" : fmt::format("  /* {} */", c_comment(text));
}

std::string structure(const CModel& m, const char* what, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = "typedef struct {\n";
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out + fmt::format("}} {}_{};\n\n", m.name, what);
}

std::string structures(const CModel& m) {
  std::string out;
  std::vector<std::string> lines;
  for (const CParameters::Setting& s : m.parameters.settings)
    lines.push_back(fmt::format("{} {};{}", m.real(), s.member,
                                unit_comment(m.parameter(s).unit, m.parameter(s).summary)));
  out += structure(m, "parameters", lines);
  lines.clear();
  for (std::size_t k = 0; k < m.inputs.size(); ++k)
    lines.push_back(fmt::format("{} {};{}", m.real(), m.inputs[k], unit_comment(m.input_unit(k))));
  out += structure(m, "inputs", lines);
  lines.clear();
  for (std::size_t k = 0; k < m.outputs.size(); ++k)
    lines.push_back(
        fmt::format("{} {};{}", m.real(), m.outputs[k], unit_comment(m.simulation.outputs()[k].unit)));
  out += structure(m, "outputs", lines);
  lines.clear();
  if (m.settable()) lines.push_back(fmt::format("{}_parameters parameters;", m.name));
  for (std::size_t k = 0; k < m.code.parts.size(); ++k)
    lines.push_back(fmt::format("{} w{}[{}];", m.real(), k, m.code.parts[k].registers.size()));
  for (std::size_t k = 0; k < m.reals.size(); ++k)
    lines.push_back(fmt::format("double p{}[{}];  /* time, and what grows with it */", k, m.reals[k].slots));
  lines.push_back(m.code.events ? c_event_state(m) : "int part;");
  return out + structure(m, "state", lines);
}

std::string init_function(const CModel& m) {
  std::string out =
      fmt::format("\nvoid {0}_init({0}_state* s, {0}_outputs* y) {{\n  memset(s, 0, sizeof *s);\n", m.name);
  for (std::size_t k = 0; k < m.code.parts.size(); ++k)
    out += fmt::format("  memcpy(s->w{0}, {1}start, sizeof s->w{0});\n", k, m.part_prefix(k));
  for (std::size_t k = 0; k < m.reals.size(); ++k)
    out += fmt::format("  memcpy(s->p{0}, {1}start_p, sizeof s->p{0});\n", k, m.part_prefix(k));
  for (const CParameters::Setting& s : m.parameters.settings)
    out += fmt::format("  s->parameters.{} = {};\n", s.member, m.number(m.parameter(s).number));
  if (m.code.events) out += "  start_run(s);\n";
  out += "  if (!y) return;\n";
  for (std::size_t k = 0; k < m.outputs.size(); ++k)
    out += fmt::format("  y->{} = {};\n", m.outputs[k], m.number(m.first[k]));
  return out + "}\n";
}

// More than so many numbers are copied by tables.
constexpr std::size_t many = 64;

std::string copy_tables(const std::string& name, const std::vector<RegisterCopy>& copies) {
  std::string to, from;
  for (std::size_t k = 0; k < copies.size(); ++k) {
    const char* const line = k % 24 == 0 ? "\n  " : "";
    to += fmt::format("{}{},", line, copies[k].target);
    from += fmt::format("{}{},", line, copies[k].source);
  }
  return fmt::format("\nstatic const int {0}_to[] = {{{1}\n}};\nstatic const int {0}_from[] = {{{2}\n}};\n",
                     name, to, from);
}

std::string copy_loop(const std::string& name, std::size_t count, const std::string& to,
                      const std::string& from) {
  return fmt::format(
      "{{\n    int k;\n    for (k = 0; k < {0}; ++k) {1}[{2}_to[k]] = {3}[{2}_from[k]];\n  }}\n", count, to,
      name, from);
}

bool copies_by_tables(const CModel& m, std::size_t count) { return !m.single() && count > many; }

// A number from outside may be in factors that are computed once.
std::string take_inputs(const CModel& m, std::size_t k) {
  const StepCode::Part& part = m.code.parts[k];
  std::string out =
      fmt::format("\nstatic void take_inputs{0}({1}_state* s, const {1}_inputs* u) {{\n", k, m.name);
  std::string changed, factors;
  for (std::size_t i = 0; i < m.inputs.size(); ++i) {
    const std::string differs = fmt::format("{} != u->{}", m.reg(k, part.inputs[i]), m.inputs[i]);
    changed += (changed.empty() ? "" : " || ") + differs;
    if (m.by_tables() ? m.tables[k].factor[i] != 0 : part.procedure.program.section_of[part.inputs[i]] == 0)
      factors += (factors.empty() ? "" : " || ") + differs;
  }
  out += fmt::format("  if (!({})) return;\n  {{\n", changed);
  if (!factors.empty()) out += fmt::format("    const int factors = {};\n", factors);
  for (std::size_t i = 0; i < m.inputs.size(); ++i)
    out += fmt::format("    {} = u->{};\n", m.reg(k, part.inputs[i]), m.inputs[i]);
  out += fmt::format("    {} = 1.0;\n", m.reg(k, part.counters.renew));
  if (!factors.empty())
    out += fmt::format("    if (factors) {}prepare({}, 0, 0);\n", m.part_prefix(k), m.registers(k));
  return out + "  }\n}\n";
}

std::string run_part(const CModel& m, std::size_t k) {
  const StepCode::Part& part = m.code.parts[k];
  const bool is_last = k + 1 == m.code.parts.size();
  // Counted in float only as far as that counts.
  const char* const turn =
      m.single() ? "  while (steps > 0) {\n    const long now = steps < 1000000 ? steps : 1000000;\n"
                 : "  if (steps > 0) {\n    const long now = steps;\n";
  std::string out = is_last ? turn : fmt::format("  while (s->part == {} && steps > 0) {{\n", k);
  if (!m.inputs.empty()) out += fmt::format("    take_inputs{0}(s, u);\n", k);
  out += fmt::format(
      "    out = to;\n    {} = {} = {};\n    {} = 0.0;\n    if ({}run({}, 0, &out) != 0) return 1;\n",
      m.reg(k, part.counters.left), m.reg(k, part.counters.stride),
      is_last ? fmt::format("({})now", m.real()) : "1.0", m.reg(k, part.counters.phase), m.part_prefix(k),
      m.registers(k));
  if (is_last) return out + "    steps -= now;\n  }\n";
  out += fmt::format("    --steps;\n    if ({} == {:.1f}) {{\n", m.reg(k, part.counters.index),
                     static_cast<double>(part.steps));
  if (copies_by_tables(m, part.hand_over.size()))
    out += "      " + copy_loop(fmt::format("hand_over{}", k), part.hand_over.size(),
                                fmt::format("s->w{}", k + 1), fmt::format("s->w{}", k));
  else
    for (const RegisterCopy& c : part.hand_over)
      out += fmt::format("      {} = {};\n", m.reg(k + 1, c.target), m.reg(k, c.source));
  return out + fmt::format("      s->part = {};\n    }}\n  }}\n", k + 1);
}

std::string run_functions(const CModel& m) {
  std::string out;
  for (std::size_t k = 0; k < m.code.parts.size() && !m.inputs.empty(); ++k) out += take_inputs(m, k);
  for (std::size_t k = 0; k + 1 < m.code.parts.size(); ++k)
    if (const auto& copies = m.code.parts[k].hand_over; copies_by_tables(m, copies.size()))
      out += copy_tables(fmt::format("hand_over{}", k), copies);
  out += fmt::format(
      "\nint {0}_run({0}_state* s{1}, long steps, {0}_outputs* y) {{\n"
      "  /* Outputs are so many numbers, one behind the other. */\n"
      "  {3} row[{2}], *const to = y ? ({3}*)y : row, *out;\n  if (steps <= 0) return 0;\n",
      m.name, m.inputs_parameter(), m.outputs.size(), m.real());
  for (std::size_t k = 0; k < m.code.parts.size(); ++k) out += run_part(m, k);
  out += "  return 0;\n}\n";
  std::string index = m.reg(m.code.parts.size() - 1, m.last().counters.index);
  if (m.code.parts.size() > 1)
    index = fmt::format("(s->part == 0 ? {} : {})", m.reg(0, m.code.parts[0].counters.index), index);
  return out + fmt::format("\ndouble {0}_time(const {0}_state* s) {{ return {1} * {2}; }}\n", m.name,
                           c_number(m.problem().step), index);
}

// What follows from parameters: many registers may have the same value.
std::vector<Expr> distinct_values(const CModel& m) {
  ExprMap<char> known;
  std::vector<Expr> values;
  for (const CParameters::Followed& f : m.parameters.followed)
    if (known.emplace(f.value, 1).second) values.push_back(f.value);
  return values;
}

// Of a part: its registers, and which of the distinct values each takes.
std::vector<RegisterCopy> followed_copies(const CModel& m, std::size_t part) {
  const std::vector<Expr> values = distinct_values(m);
  ExprMap<std::int32_t> number;
  for (std::size_t k = 0; k < values.size(); ++k) number.emplace(values[k], static_cast<std::int32_t>(k));
  std::vector<RegisterCopy> copies;
  for (const CParameters::Followed& f : m.parameters.followed)
    if (f.part == part) copies.push_back({f.reg, number.at(f.value)});
  return copies;
}

Procedure numbers_procedure(const CModel& m) {
  std::vector<ProgramInput> inputs;
  for (const CParameters::Setting& s : m.parameters.settings) inputs.push_back({m.parameter(s).symbol, 0});
  std::vector<ProgramRoot> roots;
  for (const Expr value : distinct_values(m)) roots.push_back({value, 0});
  Procedure procedure{.program = make_program(*m.model.pool, inputs, {}, roots, 1)};
  procedure.entries = {{"numbers_of", {run_section(0), emit(procedure.program.roots)}}};
  return procedure;
}

Procedure pivots_procedure(const CModel& m, std::size_t k) {
  Procedure pivots{.program = m.code.parts[k].pivots};
  pivots.entries = {{"pivot", {run_section(0), emit({pivots.program.roots[0]})}}};
  return pivots;
}

std::string judge_pivots(const CModel& m, std::size_t k) {
  std::string memory, registers = m.registers(k);
  if (!m.single())
    if (const Procedure pivots = pivots_procedure(m, k); !find_repeats(pivots).of_section.empty()) {
      // Loops step through registers in memory, and those of the state are others.
      memory = fmt::format(
          "    double memory[{0}];\n    memcpy(memory, s->w{1}, sizeof s->w{1});\n",
          std::max(m.code.parts[k].registers.size(), static_cast<std::size_t>(pivots.program.registers)), k);
      registers = "memory";
    }
  return fmt::format(
      "  {{\n    {0} pivot, *to = &pivot;\n{1}    {2}pivot({3}, 0, &to);\n"
      "    if (!(pivot > 1e-6)) {{\n      *s = before;\n      return 1;\n    }}\n  }}\n",
      m.real(), memory, m.part_prefix(k), registers);
}

std::string set_function(const CModel& m) {
  std::string out;
  for (std::size_t k = 0; k < m.code.parts.size(); ++k)
    if (const auto copies = followed_copies(m, k); copies_by_tables(m, copies.size()))
      out += copy_tables(fmt::format("followed{}", k), copies);
  out += fmt::format(
      "\nint {0}_set_parameters({0}_state* s, const {0}_parameters* p) {{\n"
      "  const {0}_state before = *s;\n  double numbers[{1}], *out = numbers;\n",
      m.name, std::max<std::size_t>(1, distinct_values(m).size()));
  // Long programs keep registers behind what is given (program/repeats.h).
  out += fmt::format("  double given[{}];\n", numbers_procedure(m).program.registers);
  for (std::size_t k = 0; k < m.parameters.settings.size(); ++k)
    out += fmt::format("  given[{}] = p->{};\n", k, m.parameters.settings[k].member);
  out += fmt::format("  {}_numbers_of(given, 0, &out);\n", m.name);
  for (std::size_t k = 0; k < m.code.parts.size(); ++k) {
    const std::vector<RegisterCopy> copies = followed_copies(m, k);
    if (copies_by_tables(m, copies.size()))
      out +=
          "  " + copy_loop(fmt::format("followed{}", k), copies.size(), fmt::format("s->w{}", k), "numbers");
    else
      for (const RegisterCopy& c : copies)
        out +=
            fmt::format("  {} = {}numbers[{}];\n", m.reg(k, c.target), m.single() ? "(float)" : "", c.source);
  }
  for (std::size_t k = 0; k < m.code.parts.size(); ++k) {
    if (m.has_pivots(k)) out += judge_pivots(m, k);
    const std::string prepared = fmt::format("{}prepare({}, 0, 0)", m.part_prefix(k), m.registers(k));
    out += m.by_tables() ? fmt::format("  if ({} != 0) {{\n    *s = before;\n    return 1;\n  }}\n", prepared)
                         : fmt::format("  {};\n", prepared);
    out += fmt::format("  {} = 1.0;\n", m.reg(k, m.code.parts[k].counters.renew));
  }
  if (m.code.events)
    out += m.code.events->explicit_steps ? "  s->run.now.fresh = 1;\n" : "  s->run.renew = 1;\n";
  return out + "  s->parameters = *p;\n  return 0;\n}\n";
}

}  // namespace

std::string c_header(const CModel& m) {
  std::string guard = m.name;
  std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string out = fmt::format(
      "/* {0}, {1} with steps of {2:g} s. All numbers are in SI units.\n"
      "   Printed by Tellegen; {3}.c says how to use it. */\n"
      "#ifndef {4}_H\n#define {4}_H\n\n#include <stddef.h>\n{5}\n#ifdef __cplusplus\nextern \"C\" "
      "{{\n#endif\n\n",
      c_comment(m.model.name), m.problem().options.method, m.problem().step, m.name, guard,
      m.code.events ? fmt::format("\n#include \"{}\"\n", c_event_headers(m).back()) : "");
  out += structures(m);
  out += fmt::format(
      "/* The state at t = 0, with the model's numbers, and the outputs there (y may be 0). */\n"
      "void {0}_init({0}_state* s, {0}_outputs* y);\n"
      "/* One step, or several; the outputs after the last. 0, or 1 where Newton's iteration did not "
      "converge:\n"
      "   continue from a saved state, or with shorter steps.{2} */\n"
      "int {0}_step({0}_state* s{1}, {0}_outputs* y);\n"
      "int {0}_run({0}_state* s{1}, long steps, {0}_outputs* y);\n"
      "double {0}_time(const {0}_state* s);\n",
      m.name, m.inputs_parameter(),
      m.code.events ? " 2 where the run is over: at a\n   condition that ends it, or where the model no "
                      "longer knows when its sources jump."
                    : "");
  if (m.settable())
    out += fmt::format(
        "/* From the next step on; the state stays. 0, or 1 where the equations cannot be solved with "
        "these\n"
        "   numbers in the order in which they are solved here: then nothing has changed. */\n"
        "int {0}_set_parameters({0}_state* s, const {0}_parameters* p);\n",
        m.name);
  return out + fmt::format(
                   "/* A state is plain bytes: sizeof({0}_state) of them. */\n"
                   "void {0}_save(const {0}_state* s, void* to);\n"
                   "void {0}_restore({0}_state* s, const void* from);\n\n"
                   "#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
                   m.name);
}

std::string c_main_functions(const CModel& m) {
  std::string out = fmt::format(
      "/* {0}.\n\n     {1}_state s;\n     {1}_outputs y;\n     {1}_init(&s, &y);\n"
      "     for (;;)\n       if ({1}_step(&s{2}, &y) != 0) break;\n*/\n#include \"{1}.h\"\n\n"
      "#include <string.h>\n\n",
      c_comment(m.model.name), m.name, m.inputs.empty() ? "" : ", &u");
  const std::string declared = m.declared();
  for (std::size_t k = 0; k < m.code.parts.size(); ++k) {
    for (const char* entry : {"prepare", "run"})
      out += fmt::format("int {}{}", m.part_prefix(k), entry) + declared;
    if (m.has_pivots(k)) out += fmt::format("int {}pivot", m.part_prefix(k)) + declared;
    out += fmt::format("extern const {} {}start[{}];\n", m.real(), m.part_prefix(k),
                       m.code.parts[k].registers.size());
    if (m.single())
      out += fmt::format("extern const double {}start_p[{}];\n", m.part_prefix(k), m.reals[k].slots);
  }
  if (m.settable())
    out += fmt::format("int {}_numbers_of(double* w, const double** in, double** out);\n", m.name);
  if (m.code.events) out += c_event_tables(m);
  out += init_function(m);
  out += m.code.events ? c_event_functions(m) : run_functions(m);
  out += fmt::format("\nint {0}_step({0}_state* s{1}, {0}_outputs* y) {{ return {0}_run(s{2}, 1, y); }}\n",
                     m.name, m.inputs_parameter(), m.inputs.empty() ? "" : ", u");
  if (m.settable()) out += set_function(m);
  return out + fmt::format(
                   "\nvoid {0}_save(const {0}_state* s, void* to) {{ memcpy(to, s, sizeof *s); }}\n"
                   "void {0}_restore({0}_state* s, const void* from) {{ memcpy(s, from, sizeof *s); }}\n",
                   m.name);
}

namespace {

// By tables: what every part has, around what the text defines.
std::string tables_text(const StepTables& tables, const std::string& prefix) {
  return fmt::format(
      "#include \"tellegen_network.h\"\n\n{0}\n"
      "int {1}prepare(double* w, const double** in, double** out);\n"
      "int {1}prepare(double* w, const double** in, double** out) {{\n  (void)in, (void)out;\n"
      "  return prepare(w);\n}}\n"
      "int {1}run(double* w, const double** in, double** out);\n"
      "int {1}run(double* w, const double** in, double** out) {{\n  (void)in;\n  return run(w, out);\n}}\n",
      tables.text, prefix);
}

std::string procedure_text(const CModel& m, std::size_t k) {
  Procedure procedure = m.code.parts[k].procedure;
  std::erase_if(procedure.entries, [](const Entry& e) { return e.name != "prepare" && e.name != "run"; });
  return m.single() ? c_single_source(procedure, m.reals[k], m.part_prefix(k))
                    : c_source(procedure, m.part_prefix(k));
}

}  // namespace

std::string c_part(const CModel& m, std::size_t k) {
  const StepCode::Part& part = m.code.parts[k];
  const std::string prefix = m.part_prefix(k);
  std::string out = fmt::format("#include \"{}\"\n\n", m.math());
  out += m.by_tables() ? tables_text(m.tables[k], prefix) : procedure_text(m, k);
  out += fmt::format("\nextern const {0} {1}start[{2}];\nconst {0} {1}start[{2}] = {{\n", m.real(), prefix,
                     part.registers.size());
  for (double v : part.registers) out += "  " + m.number(v) + ",\n";
  out += "};\n";
  if (!m.single()) return out;
  out += fmt::format("extern const double {0}start_p[{1}];\nconst double {0}start_p[{1}] = {{\n", prefix,
                     m.reals[k].slots);
  for (std::size_t r = 0; r < part.registers.size(); ++r)
    if (m.reals[k].precise[r]) out += "  " + c_number(part.registers[r]) + ",\n";
  return out + "};\n";
}

std::string c_pivots(const CModel& m, std::size_t k) {
  const Procedure pivots = pivots_procedure(m, k);
  const std::string prefix = m.part_prefix(k), include = fmt::format("#include \"{}\"\n\n", m.math());
  return include + (m.single() ? c_single_source(pivots, single_precision(pivots, {}), prefix)
                               : c_source(pivots, prefix));
}

std::string c_numbers(const CModel& m) {
  return "#include \"tellegen_math.h\"\n\n" + c_source(numbers_procedure(m), m.name + "_");
}

}  // namespace tellegen
