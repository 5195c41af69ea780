#include "cli/realtime.h"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

std::atomic<bool> asked_to_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The first signal ends the run with its report; a second one ends the program at once.
class StopSignals {
 public:
  StopSignals() {
    asked_to_stop = false;
    struct sigaction action {};
    action.sa_handler = [](int) { asked_to_stop = true; };
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, &before_[0]);
    sigaction(SIGTERM, &action, &before_[1]);
  }
  ~StopSignals() {
    sigaction(SIGINT, &before_[0], nullptr);
    sigaction(SIGTERM, &before_[1], nullptr);
  }
  StopSignals(const StopSignals&) = delete;

 private:
  struct sigaction before_[2];
};

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
}

std::string input_list(const Simulation& simulation) {
  std::vector<std::string> list;
  for (const std::string& name : simulation.problem().options.external_inputs)
    for (const ModelInput& input : simulation.system().model->inputs)
      if (input.name == name) list.push_back(with_unit(name, input.unit));
  return joined(list);
}

std::string output_list(const Simulation& simulation) {
  std::vector<std::string> list;
  for (const OutputColumn& column : simulation.outputs()) list.push_back(with_unit(column.name, column.unit));
  return joined(list);
}

nlohmann::ordered_json to_json(const DurationHistogram& histogram) {
  nlohmann::ordered_json json{{"median", histogram.quantile(0.5)},
                              {"p9999", histogram.quantile(0.9999)},
                              {"worst", histogram.longest()},
                              {"histogram", nlohmann::ordered_json::array()}};
  for (const auto& bin : histogram.bins())
    json["histogram"].push_back({{"to", bin.to}, {"count", bin.count}});
  return json;
}

}  // namespace

CLI::Option* add_realtime_options(CLI::App& command, RealtimeRequest& request) {
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
  add(command.add_option("--send", request.send, "send outputs there, every sample"),
      "udp:[HOST:]PORT|unix:PATH");
  add(command.add_option("--external", request.external,
                         "which inputs come from outside, in the packet's order; all if not given"),
      "LIST")
      ->needs(listen);
  add(command.add_option("--priority", request.priority, "SCHED_FIFO at this priority, 1 to 99"), "N")
      ->check(CLI::Range(1, 99));
  add(command.add_flag("--lock-memory", request.lock_memory, "keep all memory from being swapped out"), "");
  add(command.add_option("--max-miss", request.max_miss,
                         "exit code 1 where more deadlines than this are missed"),
      "N")
      ->check(CLI::NonNegativeNumber);
  return on;
}

std::vector<std::string> external_inputs(const RealtimeRequest& request, const Model& model) {
  if (request.listen.empty()) return {};
  std::vector<std::string> known, own;
  for (const ModelInput& input : model.inputs) {
    known.push_back(input.name);
    if (input.name.find('.') == std::string::npos) own.push_back(input.name);
  }
  const auto wrong = [](std::string message, std::vector<std::string> details) {
    return command_fault("tellegen simulate", "T555", std::move(message), std::move(details));
  };
  const std::vector<std::string> names = split_list(request.external);
  if (names.empty() && own.empty())
    throw wrong(
        "--listen: the model has no inputs that could come from outside",
        {"what is set from outside stands in its section [inputs]: u = { value = 0.0, unit = \"V\" }"});
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (std::find(known.begin(), known.end(), names[k]) == known.end())
      throw wrong(fmt::format("--external: the model has no input '{}'", names[k]),
                  {did_you_mean(names[k], known), known.empty() ? "" : "its inputs: " + joined(known)});
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(k), names[k]) !=
        names.begin() + static_cast<std::ptrdiff_t>(k))
      throw wrong(fmt::format("--external names '{}' twice", names[k]), {});
  }
  return names.empty() ? own : names;
}

RealtimeRun run_in_real_time(const RealtimeRequest& request, Simulation& simulation) {
  const auto address = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<Address>(text);
  };
  std::optional<Exchange> exchange;
  if (!request.listen.empty() || !request.send.empty())
    exchange.emplace(address(request.listen), address(request.send),
                     simulation.problem().options.external_inputs.size(), simulation.outputs().size());
  const double stop = simulation.problem().options.stop;
  fmt::print(stderr, "{}, a period of {}\n",
             std::isfinite(stop) ? fmt::format("until t = {:g} s", stop) : "until Ctrl-C",
             duration_text(simulation.sample_interval()));
  if (!request.listen.empty())
    fmt::print(stderr, "inputs from {}: {}\n", request.listen, input_list(simulation));
  if (!request.send.empty()) fmt::print(stderr, "outputs to {}: {}\n", request.send, output_list(simulation));
  MonotonicClock clock;
  const StopSignals signals;
  return run_realtime(simulation, {.priority = request.priority, .lock_memory = request.lock_memory},
                      exchange ? &*exchange : nullptr, clock, asked_to_stop);
}

std::string too_many_missed(const RealtimeRequest& request, const RealtimeReport& report) {
  if (!request.max_miss || report.missed <= *request.max_miss) return {};
  return fmt::format("{} of {} deadlines were missed, and --max-miss allows {}", report.missed,
                     report.periods, *request.max_miss);
}

nlohmann::ordered_json to_json(const RealtimeReport& report) {
  const PacketCounts& p = report.packets;
  nlohmann::ordered_json json{{"period", report.period},
                              {"periods", report.periods},
                              {"missed", report.missed},
                              {"interrupted", report.interrupted},
                              {"kept_from", report.kept_from},
                              {"lateness", to_json(report.lateness)},
                              {"execution", to_json(report.execution)}};
  if (report.listened)
    json["packets_in"] = {{"received", p.received},   {"lost", p.lost},
                          {"late", p.late},           {"duplicate", p.duplicate},
                          {"malformed", p.malformed}, {"superseded", p.superseded},
                          {"restarts", p.restarts},   {"held_periods", p.held}};
  if (report.sent) json["packets_out"] = {{"sent", p.sent}, {"not_sent", p.unsent}};
  return json;
}

}  // namespace tellegen
