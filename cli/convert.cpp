// tellegen convert: a SPICE netlist, a robot in URDF or a model file with a [stack] or [machine] in, the
// model file that it stands for out.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/machine.h"
#include "tellegen/model/stack.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/urdf/urdf.h"

namespace tellegen {
namespace {

std::string from_netlist(const std::string& from) {
  ConvertedNetlist converted = convert_netlist(from);
  for (const std::string& note : converted.notes) fmt::print(stderr, "{}\n", note);
  const Analyses& asked = converted.analyses;
  if (!asked.measures.empty() || !asked.fourier.empty() || !asked.steps.empty())
    fmt::print(stderr,
               "{}: note: .measure, .four and .step are of the netlist: a model file has none of them\n",
               from);
  return std::move(converted.toml);
}

std::string from_urdf(const std::string& from) {
  ConvertedRobot converted = convert_urdf(from);
  for (const std::string& note : converted.notes) fmt::print(stderr, "{}\n", note);
  return std::move(converted.toml);
}

std::string from_section(const std::string& from) {
  const bool model = std::filesystem::path(from).extension() == ".toml";
  if (model) {
    const Document document(read_text(from, {from, 0}), from);
    const bool stack = document.root().find("stack"), machine = document.root().find("machine");
    if (stack && machine) {
      const ExpandedText first = expand_stack(document);
      return expand_machine(Document(first.toml, from, first.lines)).toml;
    }
    if (stack) return expand_stack(document).toml;
    if (machine) return expand_machine(document).toml;
  }
  throw command_fault(
      tellegen_convert, "T401",
      model ? fmt::format("'{}' has no [stack] and no [machine]: it is a plain model file already", from)
            : fmt::format("'{}' is neither a netlist nor a robot", from),
      {"a netlist ends in .cir, .sp, .spice, .net or .ckt, or has directives of SPICE: .tran, .end; "
       "a robot in .urdf"});
}

void convert(const std::string& from, const std::string& to) {
  check_writable({tellegen_convert, "TO"}, to, {".toml"});
  const bool robot = std::filesystem::path(from).extension() == ".urdf";
  const std::string converted = robot              ? from_urdf(from)
                                : is_netlist(from) ? from_netlist(from)
                                                   : from_section(from);
  try {
    write_file(to, converted);
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_convert, error);
  }
  if (!is_stream(to)) fmt::print("wrote {}\n", to);
}

}  // namespace

void add_convert(CLI::App& command) {
  struct Request {
    std::string from, to;
  };
  auto request = std::make_shared<Request>();
  command
      .add_option("FROM", request->from,
                  "SPICE netlist, robot in URDF, or model file with a [stack] or [machine]")
      ->required();
  command.add_option("TO", request->to, "model file to write")->required();
  command.callback([request] { convert(request->from, request->to); });
}

}  // namespace tellegen
