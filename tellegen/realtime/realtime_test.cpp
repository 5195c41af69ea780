#include "tellegen/realtime/realtime.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "runtime/tellegen_packet.h"
#include "tellegen/model/fault.h"
#include "tellegen/simulate/test_run.h"

// Every malloc so far, where the sanitizer counts them.
static std::atomic<std::int64_t> allocations{0};
#if defined(TELLEGEN_SANITIZED)
extern "C" void __sanitizer_malloc_hook(const volatile void*, std::size_t) { ++allocations; }
extern "C" void __sanitizer_free_hook(const volatile void*) {}
#endif

namespace tellegen {
namespace realtime_test {

constexpr std::int64_t us = 1000;

// Time passes where the test says so: in sleeps, which may end late or early, and in steps.
struct TestClock : Clock {
  std::int64_t time = 5'000'000 * us;
  std::int64_t oversleep = 0;  // every sleep ends so much too late
  std::int64_t sleeps = 0;
  std::function<void(TestClock&)> on_sleep;  // instead of the above
  std::int64_t now() override { return time; }
  void sleep_until(std::int64_t moment) override {
    ++sleeps;
    if (on_sleep)
      on_sleep(*this);
    else
      time = moment + oversleep;
  }
};

// Its only output is its only input, times 10; step k takes durations[k], or the last of them.
struct TestIntegrator : Integrator {
  TestIntegrator(TestClock& clock_, std::vector<std::int64_t> durations_)
      : clock(clock_), durations(std::move(durations_)) {}
  std::int64_t advance(std::int64_t samples, double* rows) override {
    EXPECT_EQ(samples, 1);
    if (steps == fails_at) return 0;
    clock.time += durations[std::min<std::size_t>(static_cast<std::size_t>(steps), durations.size() - 1)];
    ++steps;
    if (steps == 1) allocations_before = allocations;
    allocations_after = allocations;
    *rows = 10.0 * input;
    return 1;
  }
  void set_input(int index, double value) override {
    EXPECT_EQ(index, 0);
    input = value;
  }
  std::string failure() const override { return "it broke"; }
  Statistics statistics() const override { return {}; }
  TestClock& clock;
  std::vector<std::int64_t> durations;
  std::int64_t steps = 0, fails_at = -1;
  std::int64_t allocations_before = 0, allocations_after = 0;  // first step, last step
  double input = 0.0;
};

struct Paced {
  explicit Paced(std::vector<std::int64_t> durations, std::int64_t periods = 10)
      : integrator(clock, std::move(durations)), task{integrator, 1e-3, periods, {{}}, {{}}}, rows(1, 100) {
    rows.next()[0] = 0.0;
  }
  RealtimeReport run(Exchange* exchange = nullptr) { return run_paced(task, rows, exchange, clock, stop); }
  TestClock clock;
  TestIntegrator integrator;
  PacedTask task;
  LastRows rows;
  std::atomic<bool> stop = false;
};

TEST(Paced, a_punctual_run_sleeps_before_every_period) {
  Paced paced({200 * us});
  const std::int64_t begin = paced.clock.time;
  const RealtimeReport report = paced.run();
  EXPECT_EQ(report.periods, 10);
  EXPECT_EQ(report.missed, 0);
  EXPECT_EQ(paced.clock.sleeps, 10);
  EXPECT_EQ(report.lateness.longest(), 0.0);
  EXPECT_DOUBLE_EQ(report.execution.longest(), 200e-6);
  EXPECT_DOUBLE_EQ(report.execution_seconds, 2e-3);
  EXPECT_EQ(paced.clock.time - begin, 10 * 1000 * us + 200 * us);  // a period ahead, nine more, the last work
  EXPECT_FALSE(report.interrupted);
}

TEST(Paced, lateness_is_measured_from_the_plan_and_does_not_add_up) {
  Paced paced({200 * us});
  paced.clock.oversleep = 70 * us;
  const RealtimeReport report = paced.run();
  EXPECT_EQ(report.missed, 0);
  EXPECT_EQ(report.lateness.count(), 10);
  EXPECT_DOUBLE_EQ(report.lateness.longest(), 70e-6);
  EXPECT_DOUBLE_EQ(report.lateness.quantile(0.01), 70e-6);
}

TEST(Paced, a_wake_up_late_enough_misses_though_the_step_is_short) {
  Paced paced({200 * us});
  paced.clock.oversleep = 801 * us;
  EXPECT_EQ(paced.run().missed, 5);  // each time the next follows at once, and is in time
  Paced just({200 * us});
  just.clock.oversleep = 800 * us;
  EXPECT_EQ(just.run().missed, 0);
}

// The third begins at 2 ms and ends at 5.5, the next end at 5.7, 5.9, 6.1 and, in time again, at 6.3 ms.
TEST(Paced, after_a_long_step_it_catches_up_without_sleep_and_counts_each_miss) {
  Paced paced({200 * us, 200 * us, 3500 * us, 200 * us});
  const std::int64_t begin = paced.clock.time;
  const RealtimeReport report = paced.run();
  EXPECT_EQ(report.periods, 10);
  EXPECT_EQ(report.missed, 4);  // those due at 3, 4, 5 and 6 ms
  EXPECT_EQ(paced.clock.sleeps, 6);
  EXPECT_DOUBLE_EQ(report.lateness.longest(), 2.5e-3);             // the one after
  EXPECT_EQ(paced.clock.time - begin, 10 * 1000 * us + 200 * us);  // and nothing has slipped
}

TEST(Paced, a_model_too_slow_for_its_period_misses_all) {
  Paced paced({1500 * us});
  const RealtimeReport report = paced.run();
  EXPECT_EQ(report.periods, 10);
  EXPECT_EQ(report.missed, 10);
  EXPECT_EQ(paced.clock.sleeps, 1);
  EXPECT_DOUBLE_EQ(report.lateness.longest(), 9 * 0.5e-3);
}

TEST(Paced, a_signal_during_a_sleep_ends_it_with_what_is_there) {
  Paced paced({200 * us}, std::numeric_limits<std::int64_t>::max());
  paced.clock.on_sleep = [&](TestClock& clock) {
    if (clock.sleeps == 5) paced.stop = true;
    clock.time += 1000 * us;
  };
  const RealtimeReport report = paced.run();
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.periods, 4);
  EXPECT_EQ(paced.rows.count(), 5);
}

TEST(Paced, a_sleep_cut_short_is_gone_back_to) {
  Paced paced({200 * us}, 3);
  paced.clock.on_sleep = [](TestClock& clock) { clock.time += 100 * us; };
  const RealtimeReport report = paced.run();
  EXPECT_EQ(report.periods, 3);
  EXPECT_EQ(report.lateness.longest(), 0.0);
  EXPECT_EQ(paced.clock.sleeps, 10 + 8 + 8);
}

TEST(Paced, a_failing_step_is_told_and_its_row_is_not_there) {
  Paced paced({200 * us});
  paced.integrator.fails_at = 3;
  const RealtimeReport report = paced.run();
  EXPECT_EQ(report.failure, "it broke");
  EXPECT_EQ(report.periods, 3);
  EXPECT_EQ(paced.rows.count(), 4);
}

TEST(LastRows, keeps_the_last) {
  LastRows rows(2, 3);
  for (int k = 0; k < 5; ++k) {
    const auto row = rows.next();
    row[0] = k, row[1] = -k;
  }
  EXPECT_EQ(rows.count(), 5);
  EXPECT_EQ(rows.first(), 2);
  rows.next()[0] = 99.0;  // in the place of row 2
  rows.forget_last();
  EXPECT_EQ(rows.count(), 5);
  EXPECT_EQ(rows.first(), 3);
  EXPECT_EQ(rows.take(), (std::vector<double>{3, -3, 4, -4}));
  LastRows few(1, 10);
  few.next()[0] = 1.0;
  EXPECT_EQ(few.take(), std::vector<double>{1.0});
}

// Packets 1, 2, 3 are sent while the loop sleeps; their values are in mV, the output in units of 0.1.
TEST(Paced, inputs_are_in_force_from_the_next_period_on_and_hold) {
  char name[] = "/tmp/tellegen-paced-XXXXXX";
  const std::filesystem::path folder = mkdtemp(name);
  const Address here("unix:" + (folder / "here").string());
  {
    Exchange exchange(here, std::nullopt, 1, 1);
    const int other = socket(AF_UNIX, SOCK_DGRAM, 0);
    const auto put = [&](std::uint64_t sequence, double value) {
      unsigned char bytes[TELLEGEN_PACKET_SIZE(1)];
      const tellegen_packet head{sequence, 0.0, 0, 1};
      const std::size_t size = tellegen_packet_write(bytes, &head, &value);
      ASSERT_EQ(sendto(other, bytes, size, 0, reinterpret_cast<const sockaddr*>(&here.name), here.size),
                static_cast<ssize_t>(size));
    };
    Paced paced({200 * us}, 6);
    paced.task.inputs = {{1e-3, 0.0}};
    paced.task.outputs = {{10.0, 1.0}};
    std::int64_t due = paced.clock.time;
    paced.clock.on_sleep = [&](TestClock& clock) {
      if (clock.sleeps == 2) put(1, 100.0);
      if (clock.sleeps == 4) put(3, 300.0), put(2, 200.0);
      clock.time = due += 1000 * us;
    };
    const RealtimeReport report = paced.run(&exchange);
    EXPECT_EQ(paced.integrator.allocations_before, paced.integrator.allocations_after);
    const std::vector<double> rows = paced.rows.take(),
                              expected{0.0, 1.0, 11.0, 11.0, 31.0, 31.0, 31.0};  // the first is the caller's
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_DOUBLE_EQ(rows[k], expected[k]) << k;
    EXPECT_TRUE(report.listened);
    EXPECT_FALSE(report.sent);
    EXPECT_EQ(report.packets.received, 2);
    EXPECT_EQ(report.packets.late, 1);
    EXPECT_EQ(report.packets.held, 3);
    ::close(other);
  }
  std::filesystem::remove_all(folder);
}

// 5 V for 50 ms, then 1 V: v = u + (v0 - u) exp(-t/RC) twice. Formulas with a past see the jump up to half a
// step late, 4 V/RC*h/2 = 20 mV, and rk4 and adaptive when it comes.
TEST(Realtime, an_input_from_outside_holds_in_every_method_that_takes_one) {
  const struct {
    const char *method, *form;
    double tolerance;
  } cases[] = {{"bdf1", "tableau", 20e-3}, {"bdf2", "tableau", 20e-3}, {"bdf3", "minimal", 20e-3},
               {"tr", "tableau", 20e-3},   {"tr", "minimal", 20e-3},   {"rk4", "auto", 1e-9},
               {"adaptive", "auto", 1e-4}};
  const double decay = std::exp(-0.5), first = 5 - 5 * decay, second = 1 + (first - 1) * decay;
  for (const auto& c : cases) {
    Model model = shipped_model("rc-realtime");
    make_external(model, "u");
    SimulationOptions options = options_of(c.method, 0.1, 1e-3);
    options.form = c.form;
    options.external = {"u"};
    Simulation simulation(model, options, columns_of(model, {"out.v"}));
    std::vector<double> rows(50);
    ASSERT_EQ(simulation.integrator().advance(50, rows.data()), 50) << simulation.integrator().failure();
    EXPECT_NEAR(rows.back(), first, c.tolerance) << c.method << " " << c.form;
    simulation.integrator().set_input(0, 1.0);
    ASSERT_EQ(simulation.integrator().advance(50, rows.data()), 50) << simulation.integrator().failure();
    EXPECT_NEAR(rows.back(), second, c.tolerance) << c.method << " " << c.form;
  }
}

TEST(Realtime, gives_the_rows_of_an_unpaced_run) {
  const Model model = shipped_model("dc-motor");
  const SimulationOptions options = complete_options(model, options_of("tr", 0.05, 1e-3));
  const SimulationResult expected = Simulation(model, options, {}).run();
  Simulation simulation(model, options, {});
  TestClock clock;
  const RealtimeRun run = run_realtime(simulation, {}, nullptr, clock, false);
  EXPECT_EQ(run.report.periods, 50);
  EXPECT_EQ(run.result.names, expected.names);
  EXPECT_EQ(run.result.units, expected.units);
  EXPECT_EQ(run.result.t, expected.t);
  ASSERT_EQ(run.result.values.size(), expected.values.size());
  for (std::size_t k = 0; k < expected.values.size(); ++k)  // units are converted in another order
    EXPECT_NEAR(run.result.values[k], expected.values[k], 1e-12 * std::abs(expected.values[k]));
}

TEST(Realtime, an_endless_run_keeps_the_last_rows) {
  const Model model = shipped_model("rc-thermal");
  SimulationOptions options = options_of("tr", std::numeric_limits<double>::infinity(), 1e-3);
  Simulation simulation(model, complete_options(model, options), {});
  TestClock clock;
  std::atomic<bool> stop = false;
  clock.on_sleep = [&](TestClock& c) {
    c.time += 1000 * us;
    stop = c.sleeps > 100;
  };
  const RealtimeRun run =
      run_realtime(simulation, {.kept_bytes = 10 * 2 * sizeof(double)}, nullptr, clock, stop);
  EXPECT_EQ(run.report.periods, 100);
  ASSERT_EQ(run.result.t.size(), 10u);
  EXPECT_DOUBLE_EQ(run.result.t.front(), 0.091);
  EXPECT_DOUBLE_EQ(run.result.t.back(), 0.1);
  EXPECT_DOUBLE_EQ(run.report.kept_from, 0.091);
  EXPECT_NEAR(run.result.values[0], 299.0 + 100.0 * 0.091, 1e-9);  // closed form
}

TEST(Realtime, the_report_is_a_page) {
  Paced paced({200 * us});
  const std::string text = paced.run().text();
  EXPECT_TRUE(text.starts_with("10 periods of 1 ms in real time, 0 missed deadlines\n")) << text;
  EXPECT_NE(text.find("execution       200 us      200 us      200 us\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("packets"), std::string::npos) << text;
}

// In a process of its own, without rights: what is asked for and not granted is a fault, and says so.
std::string code_without_rights(int priority, bool lock_memory) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_RTPRIO, &none);
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    try {
      SchedulingRights rights(priority, lock_memory);
    } catch (const ModelError& error) {
      _exit(std::stoi(error.faults().at(0).code.substr(1)) - 500);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return code == 0 ? "" : "T" + std::to_string(500 + code);
}

TEST(SchedulingRights, that_are_not_granted_are_a_fault) {
  EXPECT_EQ(code_without_rights(50, false), "T553");
  EXPECT_EQ(code_without_rights(0, false), "");
#if !defined(TELLEGEN_SANITIZED)  // it makes mlockall do nothing
  EXPECT_EQ(code_without_rights(0, true), "T554");
#endif
}

TEST(MonotonicClock, never_wakes_before_its_time) {
  MonotonicClock clock;
  const std::int64_t moment = clock.now() + 3'000 * us;
  clock.sleep_until(moment);
  EXPECT_GE(clock.now(), moment);
}

}  // namespace realtime_test
}  // namespace tellegen
