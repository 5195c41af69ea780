// Twins of models that switch and sample.
#include "tellegen/estimate/twin_events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/estimate/twin.h"
#include "tellegen/records/test_twin.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace twin_events_test {

// A heater that a comparator with hysteresis switches: a limit cycle that nothing drives from outside.
constexpr const char* thermostat = R"toml(
heater  = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "40*(1 - too_warm.y)" }
mass    = { kind = "thermal.capacitor", p = "a", n = "datum", C = "20 J/K", T0 = "300 K" }
wall    = { kind = "thermal.resistor", p = "a", n = "b", R = "1 K/W" }
housing = { kind = "thermal.capacitor", p = "b", n = "datum", C = "30 J/K", T0 = "299 K" }
out     = { kind = "thermal.resistor", p = "b", n = "c", R = "0.5 K/W" }
ambient = { kind = "thermal.fixed_temperature", p = "c", T = "295 K" }
too_warm = { kind = "signals.comparator", u = "a.T", upper = "320 K", lower = "316 K" }
[sensors]
T_b = { measures = "b.T", noise = "0.1 K" }
[estimate]
states = { "a.T" = { deviation = "0.5 K" }, "b.T" = { deviation = "0.3 K" } }
sensors = ["T_b"]
[simulation]
stop = "200 s"
step = "1 s"
)toml";

// A motor's speed under a sampled PI controller, through a modulator's mean voltage.
constexpr const char* controlled = R"toml(
control = { kind = "signals.sampled_pi", u = "100 - rotor.w", period = "13 ms", k = 0.05, Ti = "0.2 s" }
motor   = { kind = "rotational.torque_source", p = "datum", n = "rotor", tau = "control.y" }
inertia = { kind = "rotational.inertia", p = "rotor", J = "0.02 kg*m2", w0 = "10 rad/s" }
drag    = { kind = "rotational.damper", p = "rotor", n = "datum", d = "0.01 N*m*s/rad" }
[sensors]
w = { measures = "rotor.w", noise = "0.5 rad/s" }
[estimate]
states = { "rotor.w" = { deviation = "2 rad/s" } }
sensors = ["w"]
[simulation]
stop = "0.5 s"
step = "10 ms"
)toml";

// A converter whose coil runs empty in every period: edges that are known, and a diode of two straight lines.
constexpr const char* converter = R"toml(
source = { kind = "electrical.voltage_source", p = "in", n = "datum", V = "48 V" }
driver = { kind = "electrical.voltage_source", p = "g", n = "datum", V = "if(mod(1e5*t, 1) < 0.2, 1, 0)" }
gate   = { kind = "electrical.switch", cp = "g", cn = "datum", p = "in", n = "x", Ron = "10 mohm", Roff = "1 Mohm", Vt = "0.5 V" }
diode  = { kind = "electrical.ideal_diode", p = "datum", n = "x", Vf = "0.7 V", Ron = "10 mohm", Roff = "1 Mohm" }
coil   = { kind = "electrical.inductor", p = "x", n = "out", L = "100 uH" }
filter = { kind = "electrical.capacitor", p = "out", n = "datum", C = "10 uF" }
load   = { kind = "electrical.resistor", p = "out", n = "datum", R = "100 ohm" }
[sensors]
v = { measures = "out.v", noise = "20 mV" }
[estimate]
states = { "coil.i" = { deviation = "0.1 A" } }
sensors = ["v"]
[simulation]
stop = "1 ms"
step = "7 us"
)toml";

FollowOptions options_for(const Model& model, double step, const std::string& estimator = "ekf") {
  FollowOptions options;
  options.sensors = model.estimation.sensors;
  options.inputs = model.estimation.inputs;
  options.step = step;
  options.estimator = estimator;
  options.compile = false;
  return options;
}

std::size_t quantity(const Twin& twin, const std::string& name) {
  for (std::size_t k = 0; k < twin.described().size(); ++k)
    if (twin.described()[k].name == name) return k;
  ADD_FAILURE() << name;
  return 0;
}

struct Course {
  std::vector<double> mean, deviation;
};

// Without readings, from starts that are `away` from the model's.
Course course(Model model, double step, int rows, const std::string& of, const std::string& moved = "",
              double away = 0.0, double deviation = -1.0) {
  for (ModelEstimation::State& s : model.estimation.states) {
    if (deviation >= 0.0) s.deviation = s.pattern == moved ? deviation : 0.0;
    if (s.pattern == moved && away != 0.0) s.start = away;
  }
  Twin twin(model, options_for(model, step));
  const std::vector<double> nothing(model.estimation.sensors.size(), no_number);
  Course all;
  for (int row = 0; row < rows; ++row) {
    EXPECT_EQ(twin.push(step * row, nothing, {}), Twin::Pushed::taken) << twin.failure();
    const std::size_t k = quantity(twin, of);
    all.mean.push_back(twin.quantities().mean[static_cast<long>(k)]);
    all.deviation.push_back(twin.quantities().deviation[static_cast<long>(k)]);
  }
  return all;
}

std::vector<double> simulated(Model model, double step, double stop, const std::string& of) {
  SimulationOptions options;
  options.method = "adaptive";
  options.tolerance = 1e-9;
  options.stop = stop;
  options.sample = step;
  options.compile = false;
  OutputColumn column{of, "", parse_value(model, of, {"outputs", 0})};
  Simulation simulation(model, options, {column});
  return simulation.run().values;
}

TEST(TwinEvents, without_readings_a_twin_goes_where_a_simulation_goes) {
  const struct {
    const char *text, *of;
    double step;
    int rows;
  } cases[] = {
      {thermostat, "a.T", 1.0, 200}, {controlled, "rotor.w", 0.01, 50}, {converter, "out.v", 7e-6, 60}};
  for (const auto& c : cases) {
    const Model model = model_of(c.text);
    const Course twin = course(model, c.step, c.rows + 1, c.of);
    const std::vector<double> wanted = simulated(model, c.step, c.step * c.rows, c.of);
    ASSERT_EQ(twin.mean.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(twin.mean[k], wanted[k], 2e-5) << c.of << k;
  }
}

// One state is uncertain, so its deviation is that of the start times the derivative: here by differences of
// two courses that begin elsewhere, through some twenty events.
TEST(TwinEvents, deviations_are_those_of_the_derivative_across_events) {
  const struct {
    const char *text, *of, *moved;
    double step, start, away;
    int rows;
  } cases[] = {{thermostat, "a.T", "b.T", 1.0, 299.0, 1e-3, 200},
               {thermostat, "b.T", "a.T", 0.7, 300.0, 1e-3, 200},
               {controlled, "rotor.w", "rotor.w", 0.01, 10.0, 1e-3, 50}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.of);
    const Model model = model_of(c.text);
    const Course low = course(model, c.step, c.rows, c.of, c.moved, c.start - c.away),
                 high = course(model, c.step, c.rows, c.of, c.moved, c.start + c.away),
                 twin = course(model, c.step, c.rows, c.of, c.moved, 0.0, 1.0);
    double largest = 0.0;
    int compared = 0;
    for (std::size_t k = 0; k < twin.mean.size(); ++k) {
      const double slope = (high.mean[k] - low.mean[k]) / (2 * c.away);
      largest = std::max(largest, std::abs(slope));
      // A row between the two times of an event: the difference is of one on each side.
      if (std::abs(high.mean[k] - 2 * twin.mean[k] + low.mean[k]) > 1e-6) continue;
      EXPECT_NEAR(twin.deviation[k], std::abs(slope), 1e-3 * largest) << k;
      ++compared;
    }
    EXPECT_GT(compared, 3 * c.rows / 4);
  }
}

Record read(const Model& model, double step, int rows) {
  Record record = rows_of(model.estimation.sensors, step, rows);
  read_with_noise(model, record, 5);
  return record;
}

TEST(TwinEvents, an_unknown_is_found_and_the_innovations_are_what_is_expected) {
  std::string text = thermostat;
  text.replace(text.find("30 J/K"), 6, "C");
  text.replace(text.find("sensors = ["), 0, "unknowns = [\"C\"]\n");
  const Model model = model_of(text + R"toml(method = "adaptive"
[parameters]
C = { value = 30.0, unit = "J/K" }
[unknowns]
C = { start = 45.0, deviation = 20.0 }
)toml");
  for (const std::uint64_t seed : {1, 2, 3}) {
    Record record = rows_of(model.estimation.sensors, 1.0, 600);
    read_with_noise(model, record, seed);
    const Estimate found = estimate(model, record, {});
    ASSERT_EQ(found.failure, "");
    const std::size_t width = found.quantities.size(), last = (found.t.size() - 1) * width;
    ASSERT_EQ(found.quantities[0].name, "C");
    EXPECT_LT(found.deviation[last], 1.0);
    EXPECT_NEAR(found.mean[last], 30.0, 4.0 * found.deviation[last]);
    EXPECT_NEAR(found.sensors[0].variance, 1.0, 0.3);
  }
}

TEST(TwinEvents, saved_and_restored_a_twin_continues_to_the_bit) {
  for (const char* text : {thermostat, controlled})
    for (const char* estimator : {"kf", "pkf"}) {
      const Model model = model_of(text);
      const double step = *model.simulation.step;
      const Record record = read(model, step, 60);
      Twin whole(model, options_for(model, step, estimator));
      auto piece = std::make_unique<Twin>(model, options_for(model, step, estimator));
      for (std::int64_t row = 0; row < record.steps; ++row) {
        const std::span reading(record.readings.data() + row, 1);
        ASSERT_EQ(whole.push(record.time(row), reading, {}), Twin::Pushed::taken);
        ASSERT_EQ(piece->push(record.time(row), reading, {}), Twin::Pushed::taken);
        ASSERT_EQ(whole.belief().x, piece->belief().x) << row;
        ASSERT_EQ(whole.belief().p, piece->belief().p) << row;
        piece->forecast({}, 5 * step);  // changes nothing
        if (row % 7 != 3) continue;
        const std::string bytes = piece->checkpoint();
        piece = std::make_unique<Twin>(model, options_for(model, step, estimator));
        piece->restore(bytes);
      }
    }
}

TEST(TwinEvents, late_readings_are_as_if_they_had_come_in_time) {
  for (const char* text : {thermostat, controlled}) {
    const Model model = model_of(text);
    const double step = *model.simulation.step;
    const Record record = read(model, step, 60);
    FollowOptions options = options_for(model, step);
    Twin in_time(model, options);
    options.late = 4.5 * step;
    Twin late(model, options);
    const double nothing = no_number;
    for (std::int64_t row = 0; row < record.steps; ++row) {
      const std::span reading(record.readings.data() + row, 1);
      in_time.push(record.time(row), reading, {});
      const bool waits = row % 5 == 2;
      late.push(record.time(row), waits ? std::span(&nothing, 1) : reading, {});
      if (row % 5 != 4) continue;
      EXPECT_EQ(late.push(record.time(row - 2), std::span(record.readings.data() + row - 2, 1), {}),
                Twin::Pushed::late);
    }
    EXPECT_EQ(in_time.belief().x, late.belief().x);
    EXPECT_EQ(in_time.belief().p, late.belief().p);
  }
}

TEST(TwinEvents, estimators_without_events_say_which_have_them) {
  const Model model = model_of(thermostat);
  for (const char* estimator : {"ukf", "ekf-perfect", "steady"}) try {
      Twin twin(model, options_for(model, 1.0, estimator));
      FAIL() << estimator;
    } catch (const ModelError& error) {
      EXPECT_EQ(error.faults()[0].code, "T622");
    }
}

}  // namespace twin_events_test
}  // namespace tellegen
