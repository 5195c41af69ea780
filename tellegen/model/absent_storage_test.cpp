#include "tellegen/model/absent_storage.h"

#include <gtest/gtest.h>

#include "tellegen/model/read.h"

namespace tellegen {
namespace absent_storage_test {

Model read(std::string_view text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, "test.toml", options);
}

bool stores(const Model& model, const char* component) {
  for (const KindEquation& equation :
       model.kinds[model.components[model.component_by_name.at(component)].kind].equations)
    for (Expr symbol : symbols_of(std::span(&equation.residual, 1)))
      if (symbol.name().starts_with("der(")) return true;
  return false;
}

TEST(AbsentStorage, a_junction_stores_where_a_capacitance_is_given) {
  const Model model = read(R"toml(
[parameters]
C = 0
[components]
plain   = { kind = "electrical.junction_diode", p = "a", n = "datum" }
plain2  = { kind = "electrical.junction_diode", p = "a", n = "datum", Is = 1e-12, Cj0 = "C" }
deep    = { kind = "electrical.junction_diode", p = "a", n = "datum", Cj0 = "1 pF" }
transit = { kind = "electrical.junction_diode", p = "a", n = "datum", Tt = "1 ns" }
varying = { kind = "electrical.junction_diode", p = "a", n = "datum", Cj0 = "1e-12*t" }
)toml");
  EXPECT_FALSE(stores(model, "plain"));
  EXPECT_FALSE(stores(model, "plain2"));
  EXPECT_TRUE(stores(model, "deep"));
  EXPECT_TRUE(stores(model, "transit"));
  EXPECT_TRUE(stores(model, "varying"));
  EXPECT_EQ(model.components[0].kind, model.components[1].kind) << "one variant for the same zeros";
  EXPECT_EQ(model.kinds.back().name, "electrical.junction_diode");
}

TEST(AbsentStorage, equations_that_lose_nothing_keep_their_zeros) {
  const Model model = read(R"toml(
[components]
m = { kind = "electrical.mosfet_level1", d = "d", g = "g", s = "datum", b = "datum", Cgso = 1e-10 }
)toml");
  const Kind& kind = model.kinds[model.components[0].kind];
  const Expr lambda = model.pool->symbol("lambda");
  EXPECT_TRUE(depends_on(kind.equations[0].residual, lambda)) << "zero, but not in front of a derivative";
  EXPECT_TRUE(depends_on(kind.equations[1].residual, model.pool->symbol("der(gs.v)")));
  EXPECT_FALSE(depends_on(kind.equations[2].residual, model.pool->symbol("der(gd.v)")));
}

}  // namespace absent_storage_test
}  // namespace tellegen
