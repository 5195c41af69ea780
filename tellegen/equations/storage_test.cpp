#include "tellegen/equations/storage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tellegen/model/test_text.h"

namespace tellegen {
namespace storage_test {

struct Analysed {
  explicit Analysed(std::string_view text)
      : model(model_of(text)), system(build_system(model)), storage(analyse_storage(system)) {}
  Model model;
  EquationSystem system;
  Storage storage;

  std::string terms(std::size_t k) const {
    const RedundantRate& r = storage.redundant.at(k);
    std::string out = rate_name(system, r.rate) + " =";
    for (const auto& t : r.terms)
      out += std::string(t.sign > 0 ? " +" : " -") +
             (t.rate >= 0 ? rate_name(system, t.rate) : edge_name(model, system.graph, t.source));
    return out;
  }
};

TEST(Storage, parallel_capacitors_have_one_state) {
  const Analysed a(R"toml(
e  = { kind = "electrical.voltage_source", p = "in", n = "datum", V = 5 }
r  = { kind = "electrical.resistor", p = "in", n = "a", R = 1 }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
c2 = { kind = "electrical.capacitor", p = "datum", n = "a", C = 1 }
)toml");
  EXPECT_EQ(a.storage.state_count(), 1);
  ASSERT_EQ(a.storage.redundant.size(), 1u);
  EXPECT_TRUE(a.terms(0) == "c2.v = -c1.v" || a.terms(0) == "c1.v = -c2.v") << a.terms(0);
}

TEST(Storage, a_capacitor_across_a_source_has_no_state) {
  const Analysed a(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 3 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
)toml");
  EXPECT_EQ(a.storage.state_count(), 0);
  EXPECT_EQ(a.terms(0), "c.v = +e");
  const Expr rate = source_rate(a.system, a.storage.redundant[0].terms[0].source);
  ASSERT_TRUE(rate);
  const double w = 2 * std::numbers::pi * 3, t = 0.1;
  EXPECT_NEAR(evaluate(rate, {{a.model.pool->symbol("t"), t}}), 2 * w * std::cos(w * t), 1e-12 * w);
}

TEST(Storage, capacitors_in_a_triangle_have_two_states) {
  const Analysed a(R"toml(
c1 = { kind = "electrical.capacitor", p = "a", n = "b", C = 1 }
c2 = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
c3 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
r  = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
)toml");
  EXPECT_EQ(a.storage.state_count(), 2);
  ASSERT_EQ(a.storage.redundant.size(), 1u);
  EXPECT_EQ(a.storage.redundant[0].terms.size(), 2u);
}

TEST(Storage, inductors_in_series_have_one_state) {
  const Analysed a(R"toml(
e  = { kind = "electrical.voltage_source", p = "in", n = "datum", V = 5 }
r  = { kind = "electrical.resistor", p = "in", n = "a", R = 1 }
l1 = { kind = "electrical.inductor", p = "a", n = "b", L = 1 }
l2 = { kind = "electrical.inductor", p = "datum", n = "b", L = 1 }
)toml");
  EXPECT_EQ(a.storage.state_count(), 1);
  ASSERT_EQ(a.storage.redundant.size(), 1u);
  EXPECT_TRUE(a.terms(0) == "l2.i = -l1.i" || a.terms(0) == "l1.i = -l2.i") << a.terms(0);
}

TEST(Storage, an_inductor_fed_by_a_current_source_has_no_state) {
  const Analysed a(R"toml(
j = { kind = "electrical.sine_current", p = "datum", n = "a", amplitude = 2, frequency = 3 }
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 1 }
)toml");
  EXPECT_EQ(a.storage.state_count(), 0);
  EXPECT_EQ(a.terms(0), "l.i = +j");
}

// A capacitor across a controlled source, which itself follows from a resistor fed with a current t.
Analysed across_controlled(const std::string& law) {
  return Analysed("e = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"" + law +
                  R"toml(" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 3 }
j = { kind = "electrical.current_source", p = "datum", n = "b", I = "t" }
)toml");
}

TEST(Storage, the_rate_of_a_nonlinear_controlled_source_is_not_known) {
  const Analysed a = across_controlled("b.v*b.v");
  ASSERT_EQ(a.storage.redundant.size(), 1u);
  EXPECT_FALSE(source_rate(a.system, a.storage.redundant[0].terms[0].source));
}

TEST(Storage, that_of_a_linear_one_is_found_along_its_chain) {
  const Analysed a = across_controlled("2*b.v");
  ASSERT_EQ(a.storage.redundant.size(), 1u);
  ASSERT_TRUE(a.storage.redundant[0].drive);
  EXPECT_NEAR(evaluate(a.storage.redundant[0].drive, {}), 6.0, 1e-12);  // 2 * 3 ohm * 1 A/s
}

TEST(Storage, independent_storage_is_all_states) {
  const Model model = shipped_model("ladder-2");
  const EquationSystem system = build_system(model);
  EXPECT_EQ(analyse_storage(system).state_count(), 4);
}

}  // namespace storage_test
}  // namespace tellegen
