// What an export has beside its code: the test vector and its replay, CMakeLists.txt, README.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/deploy/c_export.h"
#include "tellegen/deploy/c_model.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

std::string source_list(const CModel& m) {
  std::string out;
  for (const std::string& file : m.sources()) out += (out.empty() ? "" : " ") + file;
  return out;
}

std::string start_inputs(const CModel& m) {
  std::string out;
  for (std::size_t k = 0; k < m.inputs.size(); ++k)
    out += fmt::format("  u.{} = {};\n", m.inputs[k], c_number(m.input_start(k)));
  return out;
}

}  // namespace

void refuse_other_pivots(const CModel& m) {
  if (!m.by_tables()) return;
  if (const StepCode after = m.simulation.integrator().step_code(); !after.refused.empty())
    throw ModelError({{m.model.file.string(), 0},
                      "T420",
                      fmt::format("this run cannot be exported as C: {}", after.refused),
                      {"exported code keeps the pivots it begins with; shorter steps change less"}});
}

// Steps that Tellegen takes, every one a row.
std::string c_test_vector(const CModel& m, std::int64_t steps, CExport& result) {
  const auto width = m.outputs.size();
  const std::int64_t samples = std::max<std::int64_t>(1, std::min(steps, sample_count(m.problem())));
  std::vector<double> rows(static_cast<std::size_t>(samples) * width);
  const std::int64_t done = m.simulation.integrator().advance(samples, rows.data());
  refuse_other_pivots(m);
  if (m.single()) {
    const std::vector<double> single = single_rows(m, done, m.problem().stride);
    if (single.size() < static_cast<std::size_t>(done) * width)
      throw ModelError(
          {{m.model.file.string(), 0},
           "T420",
           fmt::format("this run cannot be exported in single precision: Newton's iteration does not "
                       "converge in it, in or after row {} of the test vector",
                       single.size() / std::max<std::size_t>(1, width) + 1),
           {"leave out --real float, or give a fixed number of --iterations"}});
    for (std::size_t c = 0; c < width; ++c) {
      double largest = 0.0, difference = 0.0;
      for (std::size_t k = c; k < single.size(); k += width) {
        largest = std::max(largest, std::fabs(rows[k]));
        difference = std::max(difference, std::fabs(single[k] - rows[k]));
      }
      result.differences.push_back(largest > 0.0 ? difference / largest : difference);
    }
    rows = single;
  }
  std::string out = fmt::format(
      "/* What Tellegen computed: {0} rows, {1} steps from one to the next. */\n"
      "#define VECTOR_ROWS {0}\n#define VECTOR_STEPS {1}\n#define VECTOR_WIDTH {2}\n"
      "static const {3} vector[VECTOR_ROWS][VECTOR_WIDTH] = {{\n",
      done, m.problem().stride, width, m.real());
  for (std::int64_t r = 0; r < done; ++r) {
    out += "  {";
    for (std::size_t c = 0; c < width; ++c)
      out += m.number(rows[static_cast<std::size_t>(r) * width + c]) + ", ";
    out += "},\n";
  }
  return out + "};\n";
}

std::string c_replay(const CModel& m) {
  return fmt::format(
      "/* Replays vector.h: exit code 0 where every bit is the same. With a number: prints so many rows. "
      "*/\n"
      "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n#include \"{0}.h\"\n"
      "#include \"vector.h\"\n\n"
      "int main(int count, char** arguments) {{\n"
      "  static {0}_state s;\n  {0}_outputs y;\n{1}"
      "  const long rows = count > 1 ? atol(arguments[1]) : VECTOR_ROWS;\n"
      "  {0}_init(&s, &y);\n{2}"
      "  for (long k = 0; k < rows; ++k) {{\n"
      "    const int status = {0}_run(&s{3}, VECTOR_STEPS, &y);\n"
      "    if (status != 0) {{\n"
      "      fprintf(stderr, status == 1 ? \"Newton's iteration did not converge after t = %g s\\n\"\n"
      "                                  : \"the run is over at t = %g s\\n\", {0}_time(&s));\n"
      "      return 1;\n    }}\n"
      "    if (count > 1) {{\n"
      "      const {4}* row = (const {4}*)&y;\n"
      "      for (int c = 0; c < VECTOR_WIDTH; ++c) printf(c ? \" %a\" : \"%a\", (double)row[c]);\n"
      "      printf(\"\\n\");\n"
      "    }} else if (memcmp(&y, vector[k], sizeof vector[k]) != 0) {{\n"
      "      fprintf(stderr, \"row %ld, t = %g s, differs\\n\", k + 1, {0}_time(&s));\n"
      "      return 1;\n    }}\n  }}\n"
      "  if (count <= 1) printf(\"%d rows agree to the last bit\\n\", VECTOR_ROWS);\n  return 0;\n}}\n",
      m.name, m.inputs.empty() ? "" : fmt::format("  {}_inputs u;\n", m.name), start_inputs(m),
      m.inputs.empty() ? "" : ", &u", m.real());
}

std::string c_cmake(const CModel& m) {
  return fmt::format(
      "cmake_minimum_required(VERSION 3.13)\nproject({0} C)\nset(CMAKE_C_STANDARD 99)\n"
      "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
      "add_library({0} STATIC {1})\n"
      "# The same bits everywhere: no contraction, no fast-math.\n"
      "target_compile_options({0} PRIVATE -ffp-contract=off)\n"
      "target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\ntarget_link_libraries({0} m)\n"
      "add_executable(replay main.c)\ntarget_link_libraries(replay {0})\n"
      "enable_testing()\nadd_test(NAME replay COMMAND replay)\n",
      m.name, source_list(m));
}

std::string c_readme(const CModel& m, const CExport& result) {
  std::string out = fmt::format(
      "# {0}\n\nThe step of a Tellegen model as C99: method {1}, {2:g} s a step. No allocation, no "
      "recursion, no\n"
      "global state; of the C library square roots, magnitudes and whole numbers alone. All numbers are in "
      "SI units.\n\n"
      "    cc -std=c99 -O2 -ffp-contract=off {3} main.c -o replay -lm && ./replay\n\n"
      "`replay` takes the steps of `vector.h` and fails where a bit differs from what Tellegen computed.\n"
      "Sines, exponentials and the like are in `tellegen_math.h`: without contraction the same bits come "
      "from every\n"
      "machine with IEEE arithmetic.\n"
      "`{4}.h` has the functions.\n\n| a step | |\n| --- | --- |\n| operations | {5}{6} |\n"
      "| calls of functions, powers, tables | {7} |\n| state | {8} bytes |\n",
      m.model.name, m.problem().options.method, m.problem().step, source_list(m), m.name, result.operations,
      result.iterates ? ", with one of Newton's iterations" : "", result.functions, result.state_bytes);
  if (m.single()) {
    out +=
        "\nIn single precision; time and angles that grow with it are double. What `vector.h` has was "
        "computed so by\n"
        "Tellegen as well; compared with double precision, the largest difference relative to the largest "
        "value:\n\n"
        "| output | difference |\n| --- | --- |\n";
    for (std::size_t k = 0; k < m.outputs.size(); ++k)
      out += fmt::format("| {} | {:.2g} |\n", m.outputs[k], result.differences[k]);
  }
  if (m.code.events) {
    out +=
        "\nA step in which something switches is done again in parts, so it costs several times as much: "
        "at most 8\nevents are looked for in one step, and 20 changes may follow one another at an event "
        "(`tellegen_events.h`).\n";
    if (m.code.events->known_to < std::numeric_limits<double>::infinity())
      out += fmt::format(
          "When sources jump is known up to t = {:g} s; there the run is over. `export --stop` looks "
          "further.\n",
          m.problem().options.stop);
  }
  if (m.settable()) {
    out +=
        "\nNumbers that can be set while it runs:\n\n| parameter | member | SI unit of |\n| --- | --- | "
        "--- |\n";
    for (const CParameters::Setting& s : m.parameters.settings)
      out += fmt::format("| {} | `{}` | {} |\n", m.parameter(s).name, s.member, m.parameter(s).unit);
  }
  if (!result.fixed.empty()) {
    out += "\nNumbers that are part of the code:\n\n";
    for (const std::string& text : result.fixed) out += "- " + text + "\n";
  }
  return out;
}

}  // namespace tellegen
