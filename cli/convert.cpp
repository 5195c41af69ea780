// tellegen convert: a SPICE netlist in, the equivalent model file out.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {
namespace {

constexpr std::string_view command_name = "tellegen convert";

void convert(const std::string& from, const std::string& to) {
  if (!is_netlist(from))
    throw command_fault(command_name, "T401", fmt::format("'{}' is not a netlist", from),
                        {"a netlist ends in .cir, .sp, .spice, .net or .ckt"});
  check_writable({command_name, "TO"}, to, {".toml"});
  const ConvertedNetlist converted = convert_netlist(from);
  for (const std::string& note : converted.notes) fmt::print(stderr, "{}\n", note);
  try {
    write_file(to, converted.toml);
  } catch (const std::runtime_error& error) {
    throw command_fault(command_name, "T402", error.what());
  }
  if (!is_stream(to)) fmt::print("wrote {}\n", to);
}

}  // namespace

void add_convert(CLI::App& command) {
  struct Request {
    std::string from, to;
  };
  auto request = std::make_shared<Request>();
  command.add_option("FROM", request->from, "SPICE netlist")->required();
  command.add_option("TO", request->to, "model file to write")->required();
  command.callback([request] { convert(request->from, request->to); });
}

}  // namespace tellegen
