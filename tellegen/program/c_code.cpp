// Instructions as C text. One assignment per instruction, in order: the compiler sees what the interpreter
// runs.
#include <fmt/format.h>

#include <cctype>

#include "tellegen/program/c_functions.h"
#include "tellegen/program/single.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {

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
      return fmt::format("{} = tellegen_pow({}, {});", target, name(i.a), name(i.b));
    case Code::call: {
      const std::string args[3] = {name(i.a), name(i.b), name(i.c)};
      return fmt::format("{} = {};", target, fill_template(program.functions[i.extra]->c, args));
    }
    case Code::lookup: {
      const int arguments = program.tables[i.extra]->dimensions;
      if (arguments == 1)
        return fmt::format("{} = tellegen_lookup(&table{}, {}, {});", target, i.extra, i.order, name(i.a));
      return fmt::format("{} = tellegen_grid_lookup(&table{}, {}, {}, {}, {});", target, i.extra, i.order,
                         name(i.a), name(i.b), arguments > 2 ? name(i.c) : "0.0");
    }
  }
  return {};
}

bool has_large_tables(const Program& program) {
  constexpr std::size_t large = 1'000'000;  // numbers: a second of the compiler's time
  std::size_t numbers = 0;
  for (const auto& table : program.tables) numbers += table->x.size() + table->c.size();
  return numbers > large;
}

std::string c_tables(const Program& program) {
  std::string out;
  for (std::size_t k = 0; k < program.tables.size(); ++k)
    out += c_table(*program.tables[k], fmt::format("table{}", k));
  return out;
}

std::string with_table_names(std::string_view code, std::string_view prefix) {
  std::string renamed;
  for (std::size_t at = 0; at < code.size();) {
    const bool word =
        code.compare(at, 5, "table") == 0 && (at == 0 || (!isalnum(code[at - 1]) && code[at - 1] != '_'));
    if (word) renamed += fmt::format("{}_", prefix);
    renamed += code[at++];
  }
  return renamed;
}

}  // namespace tellegen
