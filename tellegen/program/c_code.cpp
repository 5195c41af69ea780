// Instructions as C text. One assignment per instruction, in order: the compiler sees what the interpreter
// runs.
#include <fmt/format.h>

#include "tellegen/program/program.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

std::string fill_template(std::string_view c, const std::string (&args)[3]) {
  std::string out;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (c[i] == '$' && i + 1 < c.size() && c[i + 1] >= '1' && c[i + 1] <= '3')
      out += args[c[++i] - '1'];
    else
      out += c[i];
  }
  return out;
}

}  // namespace

std::string c_instruction(const Program& program, const Instruction& i,
                          const std::function<std::string(std::int32_t)>& name) {
  const std::string target = name(i.target);
  const auto binary = [&](char op) {
    return fmt::format("{} = {} {} {};", target, name(i.a), op, name(i.b));
  };
  switch (i.code) {
    case Code::number:
      return fmt::format("{} = {};", target, c_number(program.numbers[i.extra]));
    case Code::copy:
      return fmt::format("{} = {};", target, name(i.a));
    case Code::add:
      return binary('+');
    case Code::subtract:
      return binary('-');
    case Code::multiply:
      return binary('*');
    case Code::divide:
      return binary('/');
    case Code::negate:
      return fmt::format("{} = -{};", target, name(i.a));
    case Code::square_root:
      return fmt::format("{} = sqrt({});", target, name(i.a));
    case Code::power:
      return fmt::format("{} = pow({}, {});", target, name(i.a), name(i.b));
    case Code::call: {
      const std::string args[3] = {name(i.a), name(i.b), name(i.c)};
      return fmt::format("{} = {};", target, fill_template(program.functions[i.extra]->c, args));
    }
    case Code::lookup:
      return fmt::format("{} = tellegen_lookup(&table{}, {}, {});", target, i.extra, i.order, name(i.a));
  }
  return {};
}

std::string c_tables(const Program& program) {
  std::string out;
  const auto list = [&](const char* name, std::size_t k, const std::vector<double>& values) {
    out += fmt::format("static const double {}{}[] = {{", name, k);
    for (double v : values) out += c_number(v) + ", ";
    out += "};\n";
  };
  for (std::size_t k = 0; k < program.tables.size(); ++k) {
    const Table& table = *program.tables[k];
    list("table_x", k, table.x);
    list("table_c", k, table.c);
    out += fmt::format("static const tellegen_table table{0} = {{{1}, table_x{0}, table_c{0}}};\n", k,
                       table.x.size());
  }
  return out;
}

}  // namespace tellegen
