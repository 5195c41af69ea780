#include "cli/realtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/model_file.h"
#include "tellegen/model/reading.h"
#include "tellegen/report/text.h"

namespace tellegen {
namespace {

std::atomic<bool> asked_to_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

std::string input_list(const Simulation& simulation) {
  std::vector<std::string> list;
  for (const std::string& name : simulation.problem().options.external)
    for (const ModelInput& input : simulation.system().model->inputs)
      if (input.name == name) list.push_back(with_unit(name, input.unit));
  return comma_list(list);
}

std::string output_list(const Simulation& simulation) {
  std::vector<std::string> list;
  for (const OutputColumn& column : simulation.outputs()) list.push_back(with_unit(column.name, column.unit));
  return comma_list(list);
}

}  // namespace

StopSignals::StopSignals() {
  asked_to_stop = false;
  struct sigaction action {};
  action.sa_handler = [](int) { asked_to_stop = true; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, &before_[0]);
  sigaction(SIGTERM, &action, &before_[1]);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &before_[0], nullptr);
  sigaction(SIGTERM, &before_[1], nullptr);
}

const std::atomic<bool>& StopSignals::asked() { return asked_to_stop; }

CLI::Option* add_realtime_options(CLI::App& command, RealtimeRequest& request, bool external) {
  const char* group = "In real time";
  auto* on = command.add_flag("--realtime", request.on,
                              "pace the run by the wall clock, a period a sample interval; --stop inf: until "
                              "Ctrl-C");
  on->group(group);
  const auto add = [&](CLI::Option* option, const char* type) {
    if (*type) option->type_name(type);
    return option->needs(on)->group(group);
  };
  auto* listen = add(command.add_option("--listen", request.listen, "take inputs from there"),
                     "udp:[HOST:]PORT|unix:PATH");
  add(command.add_option(
          "--from", request.from,
          "take inputs from this sender alone, or from any; if not given, from the first whose "
          "packet is valid"),
      "udp:HOST:PORT|unix:PATH|any")
      ->needs(listen);
  add(command.add_option("--send", request.send, "send outputs there, every sample"),
      "udp:[HOST:]PORT|unix:PATH");
  if (external)
    add(command.add_option("--external", request.external,
                           "which inputs come from outside, in the packet's order; all if not given"),
        "LIST")
        ->needs(listen);
  add(command.add_option("--priority", request.priority, "SCHED_FIFO at this priority, 1 to 99"), "N")
      ->check([](const std::string& text) {
        const bool good = not_positive_count(text).empty() && text.size() < 3;
        return good ? "" : fmt::format("'{}' is not a priority, 1 to 99", text);
      });
  add(command.add_flag("--lock-memory", request.lock_memory, "keep all memory from being swapped out"), "");
  add(command.add_option("--max-miss", request.max_miss,
                         "exit code 1 where more deadlines than this are missed"),
      "N")
      ->check([](const std::string& text) {
        const bool count =
            !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == text.npos;
        return count ? "" : fmt::format("'{}' is not a whole number from 0 on", text);
      });
  return on;
}

void check_addresses(const RealtimeRequest& request) {
  for (const std::string& text : {request.listen, request.send, request.from == "any" ? "" : request.from})
    if (!text.empty()) const Address address(text);
}

std::vector<std::string> make_external(const RealtimeRequest& request, Model& model) {
  if (request.listen.empty()) return {};
  std::vector<std::string> names = split_list(request.external);
  if (names.empty())
    for (const ModelInput& input : model.inputs)
      if (input.name.find('.') == std::string::npos) names.push_back(input.name);  // not a subsystem's
  const auto wrong = [](std::string message, std::vector<std::string> details) {
    return command_fault("tellegen simulate", "T401", std::move(message), std::move(details));
  };
  if (names.empty())
    throw wrong("--listen: the model has no inputs that could come from outside",
                {"they stand in its section [inputs]: u = { value = 0.0, unit = \"V\" }"});
  make_external({"tellegen simulate", "--external"}, names, model);
  return names;
}

std::unique_ptr<Exchange> open_exchange(const RealtimeRequest& request, std::size_t inputs,
                                        std::size_t outputs, bool missing) {
  const auto address = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<Address>(text);
  };
  AllowedSender allowed;
  if (request.from == "any")
    allowed.who = AllowedSender::Who::anybody;
  else if (!request.from.empty())
    allowed = {AllowedSender::Who::one, address(request.from)};
  if (request.listen.empty() && request.send.empty()) return nullptr;
  return std::make_unique<Exchange>(address(request.listen), address(request.send), inputs, outputs, allowed,
                                    missing);
}

RealtimeRun run_in_real_time(const RealtimeRequest& request, Simulation& simulation, CsvStream* stream) {
  const auto exchange =
      open_exchange(request, simulation.problem().options.external.size(), simulation.outputs().size());
  const double stop = simulation.problem().options.stop;
  fmt::print(stderr, "{}, a period of {}\n",
             std::isfinite(stop) ? fmt::format("until t = {:g} s", stop) : "until Ctrl-C",
             duration_text(simulation.sample_interval()));
  if (!request.listen.empty())
    fmt::print(stderr, "inputs from {}: {}\n", request.listen, input_list(simulation));
  if (!request.send.empty()) fmt::print(stderr, "outputs to {}: {}\n", request.send, output_list(simulation));
  std::optional<StreamSink> sink;
  if (stream) sink.emplace(*stream);
  MonotonicClock clock;
  const StopSignals signals;
  return run_realtime(simulation, {.priority = request.priority, .lock_memory = request.lock_memory},
                      exchange.get(), clock, asked_to_stop, sink ? &*sink : nullptr);
}

std::string too_many_missed(const RealtimeRequest& request, const RealtimeReport& report) {
  if (!request.max_miss || report.missed <= *request.max_miss) return {};
  return fmt::format("{} of {} deadlines were missed, and --max-miss allows {}", report.missed,
                     report.periods, *request.max_miss);
}

}  // namespace tellegen
