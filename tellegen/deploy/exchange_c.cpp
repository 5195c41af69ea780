#include "tellegen/deploy/exchange_c.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/program/repeats.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// C has no arrays of nothing: each has one element more.
template <class Values, class Text>
std::string table_of(const char* type, const char* name, const Values& values, Text text) {
  std::string out = fmt::format("static const {} {}[{}] = {{", type, name, std::size(values) + 1);
  for (const auto& value : values) out += text(value) + ", ";
  return out + "0};\n";
}

}  // namespace

std::string exchange_header(const ExchangeModel& exchange, const std::string& name) {
  const bool there = exchange.refused.empty();
  // Loops in long code step through registers in memory (program/repeats.h).
  const bool has_loops = there && !find_repeats(exchange.procedure).of_section.empty();
  const auto count = [&](std::size_t size) { return there ? size : 0; };
  std::string out = fmt::format(
      "\n/* For tellegen_exchange.h. */\nenum {{\n  FMU_EXCHANGE = {}, FMU_STATES = {}, FMU_DISCRETE = {}, "
      "FMU_ITERATED = {}, FMU_INDICATORS = {},\n  FMU_JUMPS = {}, FMU_TIMED = {}, FMU_SLOPES = {}, "
      "FMU_HAS_SLOPES = {}, FMU_STOP = {}, FMU_MEMORY = {}\n}};\n",
      there ? 1 : 0, count(exchange.states.size()), count(exchange.held.size()),
      count(exchange.iterated.size()), count(exchange.indicators), count(exchange.jumps.size()),
      count(exchange.timed.size()), count(exchange.slopes.size()),
      there && exchange.without_slopes.empty() ? 1 : 0, there ? exchange.stop : -1,
      has_loops ? exchange.procedure.program.registers : 0);
  out += fmt::format("#define FMU_KNOWN_TO {}\n",
                     std::isfinite(exchange.known_to) ? c_number(exchange.known_to) : "INFINITY");
  const ExchangeModel none;
  const ExchangeModel& e = there ? exchange : none;
  const auto numbers = [&](const char* table, const std::vector<double>& values) {
    out += table_of("double", table, values, [](double v) { return c_number(v); });
  };
  const auto whole = [](auto v) { return std::to_string(v); };
  std::vector<double> start, nominal;
  std::vector<std::int32_t> unknowns, knowns;
  for (const ExchangeModel::State& s : e.states) {
    start.push_back(s.start);
    nominal.push_back(s.nominal);
  }
  for (const ExchangeModel::Slope& s : e.slopes) {
    unknowns.push_back(s.unknown);
    knowns.push_back(s.known);
  }
  numbers("fmu_state_start", start);
  numbers("fmu_state_nominal", nominal);
  numbers("fmu_discrete_start", e.held);
  numbers("fmu_every", e.every);
  numbers("fmu_iterated_start", e.iterated);
  numbers("fmu_jump", e.jumps);
  numbers("fmu_before_jump", e.before_jumps);
  out += table_of("int", "fmu_timed", e.timed, whole);
  out += table_of("int", "fmu_slope_unknown", unknowns, whole);
  out += table_of("int", "fmu_slope_known", knowns, whole);
  out += "typedef int fmu_function(double*, const double**, double**);\n";
  for (const char* function : {"values", "updates", "slopes", "pivots", "timed"}) {
    bool found = false;
    for (const Entry& entry : e.procedure.entries) found = found || entry.name == function;
    if (found)
      out += fmt::format("fmu_function {0}_exchange_{1};\n#define fmu_exchange_{1} {0}_exchange_{1}\n", name,
                         function);
    else
      out += fmt::format(
          "static inline int fmu_exchange_{}(double* w, const double** in, double** out) {{\n"
          "  (void)w, (void)in, (void)out;\n  return 1;\n}}\n",
          function);
  }
  return out;
}

std::string exchange_source(const ExchangeModel& exchange, const std::string& name) {
  return "/* Rates, outputs, what decides events, and their derivatives, as functions of states, "
         "parameters,\n"
         " * inputs and discrete variables. */\n#include \"tellegen_math.h\"\n\n" +
         c_source(exchange.procedure, name + "_exchange_");
}

}  // namespace tellegen
