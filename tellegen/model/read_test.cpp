#include "tellegen/model/read.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace read_test {

namespace fs = std::filesystem;

Model read(std::string_view text, const ReadOptions& options = {}) {
  ReadOptions with_library = options;
  with_library.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, "test.toml", with_library);
}

std::string faults_of(std::string_view text, const ReadOptions& options = {}) {
  try {
    read(text, options);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

const ParameterValue& value(const Model& model, const std::string& component, std::size_t k) {
  return model.components[model.component_by_name.at(component)].values[k];
}

constexpr const char* thermal = R"toml(
name = "RC thermal benchmark"
[parameters]
Q0 = "10 W"
R1 = { value = 1000, unit = "mK/W", summary = "path" }
R2 = "2*R1"
[components]
source = { kind = "thermal.heat_source", p = "datum", n = "n1",    Q = "Q0" }
r1     = { kind = "thermal.resistor",    p = "n1",    n = "n2",    R = "R1" }
r2     = { kind = "thermal.resistor",    p = "n2",    n = "datum", R = "1.355*n2.T - 206.58" }
c1     = { kind = "thermal.capacitor",   p = "n2",    n = "datum", C = "0.1 J/K", T0 = "25.85 degC" }
c2     = { kind = "thermal.capacitor",   p = 3,       n = "datum", C = 1 }
r3     = { kind = "thermal.resistor",    p = 3,       n = "n2", R = "R2" }
[sensors]
T2 = { measures = "n2.T", noise = "0.5 degC", unit = "degC" }
[outputs]
P  = "r1.r.Q"
P2 = { value = "2*P", unit = "mW" }
[initial]
"c2.dT" = "steady"
[simulation]
stop = "5 s"
step = "1 ms"
iterations = 3
method = "bdf2"
)toml";

TEST(ReadModel, components_nodes_and_values_are_what_the_file_says) {
  const Model model = read(thermal);
  EXPECT_EQ(model.name, "RC thermal benchmark");
  ASSERT_EQ(model.components.size(), 6u);
  EXPECT_EQ(model.components[1].name, "r1") << "in the order of the file";
  EXPECT_EQ(model.components[1].place.line, 9);
  EXPECT_EQ(model.kinds.size(), 3u) << "each kind once";
  EXPECT_EQ(model.nodes.size(), 4u) << "datum, n1, n2, 3";
  EXPECT_TRUE(model.nodes[model.components[0].nodes[0]].datum);
  EXPECT_EQ(model.domains[model.nodes[model.node_by_name.at("n2")].domain].name, "thermal");
  EXPECT_EQ(to_text(value(model, "r1", 0).value), "R1");
  EXPECT_EQ(value(model, "r1", 0).number, 1.0);
  EXPECT_EQ(value(model, "r3", 0).number, 2.0);
  EXPECT_EQ(value(model, "c1", 1).number, 299.0);
  EXPECT_FALSE(value(model, "c2", 1).value) << "an optional parameter left out";
}

TEST(ReadModel, a_value_may_be_an_expression_in_any_variable) {
  const Model model = read(thermal);
  EXPECT_FALSE(value(model, "r2", 0).constant);
  EXPECT_TRUE(depends_on(value(model, "r2", 0).value, model.pool->symbol("n2.T")));
}

TEST(ReadModel, parameters_keep_their_units_and_order) {
  const Model model = read(thermal);
  ASSERT_EQ(model.parameters.size(), 3u);
  EXPECT_EQ(model.parameters[1].name, "R1");
  EXPECT_EQ(model.parameters[1].number, 1.0);
  EXPECT_EQ(model.parameters[1].unit, "mK/W");
  EXPECT_EQ(model.parameters[1].summary, "path");
  EXPECT_EQ(to_text(model.parameters[2].value), "2*R1");
}

TEST(ReadModel, sensors_come_before_outputs_and_noise_is_a_difference) {
  const Model model = read(thermal);
  ASSERT_EQ(model.outputs.size(), 3u);
  EXPECT_TRUE(model.outputs[0].sensor);
  EXPECT_NEAR(*model.outputs[0].noise, 0.5, 1e-12);
  EXPECT_EQ(to_text(model.outputs[1].value), "r1.Q") << "an edge's name may be written";
  EXPECT_EQ(to_text(model.outputs[2].value), "2*r1.Q") << "an output may use another";
  EXPECT_EQ(model.outputs[2].unit, "mW");
}

TEST(ReadModel, initial_values_and_the_simulation) {
  const Model model = read(thermal);
  ASSERT_EQ(model.initial.size(), 1u);
  EXPECT_EQ(model.initial[0].variable, "c2.dT");
  EXPECT_FALSE(model.initial[0].value) << "steady";
  EXPECT_EQ(model.simulation.stop, 5.0);
  EXPECT_EQ(model.simulation.step, 0.001);
  EXPECT_EQ(model.simulation.iterations, 3);
  EXPECT_EQ(model.simulation.method, "bdf2");
}

TEST(ReadModel, dotted_keys_are_names_in_initial) {
  const Model model = read(R"toml(
[components]
d1 = { kind = "electrical.diode", p = "a", n = "datum" }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
[parameters]
V0 = "3 V"
[initial]
c1.v = "V0/2"
d1.junction.v = "0.1 V"
)toml");
  ASSERT_EQ(model.initial.size(), 2u);
  EXPECT_EQ(model.initial[0].variable, "c1.v");
  EXPECT_EQ(to_text(model.initial[0].value), "0.5*V0");
  EXPECT_EQ(model.initial[1].variable, "d1.junction.v");
}

TEST(ReadModel, internal_nodes_and_outputs_of_a_kind_have_full_names) {
  const Model model = read(R"toml(
[components]
d1 = { kind = "electrical.diode", p = "a", n = "datum", T = "290 + t" }
r1 = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
)toml");
  const auto node = find_variable(model, "d1.j.v");
  ASSERT_TRUE(node);
  EXPECT_EQ(model.nodes[node->node].component, 0);
  const auto current = find_variable(model, "d1.i");
  ASSERT_TRUE(current);
  EXPECT_EQ(current->what, VariableRef::What::output);
  EXPECT_EQ(to_text(output_value(model, *current)), "d1.junction.i");
  EXPECT_EQ(variable_unit(model, *current), "A");
  EXPECT_EQ(variable_name(model, *find_variable(model, "r1.r.i")), "r1.i");
  EXPECT_FALSE(find_variable(model, "d1.v.x"));
  EXPECT_FALSE(find_variable(model, "a"));
  // The default of Vt follows the given T, which varies here.
  EXPECT_FALSE(value(model, "d1", 4).constant);
  EXPECT_TRUE(depends_on(value(model, "d1", 4).value, model.pool->symbol("t")));
}

TEST(ReadModel, inputs_are_expressions_points_or_columns) {
  const fs::path folder = fs::temp_directory_path() / "tellegen_read_test";
  fs::create_directories(folder);
  std::ofstream(folder / "load.csv") << "\xEF\xBB\xBFtime,\"P\",v\r\n# a remark\r\n0,1,5\r\n\r\n2,3,6\r\n";
  const Model model = read_model_text(R"toml(
[parameters]
A = 3
[inputs]
u = "A*sin(t)"
w = "u + 1"
p = { table = "load.csv", column = "P", interpolation = "hold", unit = "kW" }
q = { points = [[0, 1], [2, 3]] }
k = "40 degC"
[components]
s  = { kind = "thermal.heat_source", p = "datum", n = "n1", Q = "p + q" }
c1 = { kind = "thermal.capacitor", p = "n1", n = "datum", C = 1, T0 = 300 }
)toml",
                                      folder / "model.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
  ASSERT_EQ(model.inputs.size(), 5u);
  const auto at = [&](int k, double t) {
    return evaluate(model.inputs[k].value, {{model.pool->symbol("t"), t}, {model.pool->symbol("A"), 3.0}});
  };
  EXPECT_DOUBLE_EQ(at(0, 1.0), 3.0 * std::sin(1.0));
  EXPECT_DOUBLE_EQ(at(1, 1.0), 3.0 * std::sin(1.0) + 1.0);
  EXPECT_DOUBLE_EQ(at(2, 1.9), 1000.0);
  EXPECT_DOUBLE_EQ(at(3, 1.0), 2.0);
  EXPECT_DOUBLE_EQ(at(4, 0.0), 313.15);
  EXPECT_FALSE(value(model, "s", 0).constant);
  fs::remove_all(folder);
}

TEST(ReadModel, a_table_parameter_takes_points) {
  const Model model = read(R"toml(
[components]
v1 = { kind = "electrical.pwl_voltage", p = "a", n = "datum", points = [[0, 0], [1, 5]] }
v2 = { kind = "electrical.pwl_voltage", p = "b", n = "datum", points = { points = [[0, 0], [1, 5]], interpolation = "hold", unit = "mV" } }
)toml");
  ASSERT_TRUE(value(model, "v1", 0).table);
  EXPECT_DOUBLE_EQ(value(model, "v1", 0).table->value(0.5), 2.5);
  EXPECT_DOUBLE_EQ(value(model, "v2", 0).table->value(1.0), 0.005);
}

TEST(ReadModel, subsystems_are_flattened_with_their_own_values) {
  const Model model = read_model(TELLEGEN_SOURCE_DIR "/models/rc-subsystem/model.toml");
  ASSERT_EQ(model.components.size(), 5u);
  EXPECT_EQ(model.components[1].name, "first.r");
  EXPECT_EQ(value(model, "first.r", 0).number, 2000.0) << "given by its user, from a parameter of the user";
  EXPECT_EQ(to_text(value(model, "first.r", 0).value), "first.R");
  EXPECT_EQ(value(model, "second.r", 0).number, 1000.0) << "its own default";
  EXPECT_EQ(value(model, "second.c1", 0).number, 2e-6);
  EXPECT_FALSE(model.node_by_name.contains("first.a")) << "an exported port is the user's node";
  EXPECT_EQ(model.components[1].nodes[0], model.node_by_name.at("in"));
  EXPECT_EQ(model.components[1].nodes[1], model.components[3].nodes[0]);
  EXPECT_TRUE(model.nodes[model.components[2].nodes[1]].datum);
  EXPECT_EQ(model.outputs.size(), 3u) << "outputs of a subsystem are for naming";
  EXPECT_EQ(model.outputs[2].value, parse_value(model, "first.r.v*first.r.i + second.r.v*second.r.i", {}));
  EXPECT_EQ(parse_value(model, "first.loss + second.loss", {}), model.outputs[2].value);
}

TEST(ReadModel, a_varying_value_given_to_a_subsystem_stands_in_its_place) {
  const fs::path folder = fs::temp_directory_path() / "tellegen_subsystem_test";
  fs::create_directories(folder);
  std::ofstream(folder / "inner.toml") << R"toml(
[ports]
p = "a"
[parameters]
R = "1 ohm"
[components]
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "2*R + a.v" }
[initial]
"a.v" = "1 V"
)toml";
  std::ofstream(folder / "outer.toml") << R"toml(
[ports]
p = "b"
[components]
deep = { model = "inner.toml", p = "b", R = "3 + b.v" }
)toml";
  const Model model = read_model_text(R"toml(
[components]
x  = { model = "outer.toml", p = "n1" }
c1 = { kind = "electrical.capacitor", p = "n1", n = "datum", C = 1 }
[initial]
"n1.v" = "7 V"
)toml",
                                      folder / "model.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
  EXPECT_EQ(value(model, "x.deep.r", 0).value, parse_value(model, "2*(3 + n1.v) + n1.v", {}));
  EXPECT_TRUE(model.parameters.empty());
  ASSERT_EQ(model.initial.size(), 1u);
  EXPECT_EQ(model.initial[0].value.number(), 7.0) << "the outermost word counts";
  fs::remove_all(folder);
}

TEST(ReadModel, a_kind_in_the_models_folder_works_like_one_of_the_library) {
  const fs::path folder = fs::temp_directory_path() / "tellegen_own_kind_test";
  fs::create_directories(folder / "kinds" / "thermal");
  const char* kind = R"toml(
summary    = "Radiation."
domain     = "thermal"
edges      = { r = ["p", "n"] }
variables  = { e = { unit = "W", summary = "emitted" } }
parameters = { G = { unit = "W/K4", above = 0.0, default = "0.5 mW/K4" } }
equations  = { terminal = ["Q = e", "e = G*(p.T^4 - n.T^4)"] }
)toml";
  std::ofstream(folder / "radiator.toml") << kind;
  std::ofstream(folder / "kinds" / "thermal" / "radiator.toml") << kind;
  const Model model = read_model_text(R"toml(
[components]
r1 = { kind = "radiator", p = "a", n = "b" }
r2 = { kind = "thermal.radiator", p = "b", n = "datum", G = 2 }
)toml",
                                      folder / "model.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
  EXPECT_EQ(value(model, "r1", 0).number, 0.0005);
  EXPECT_EQ(value(model, "r2", 0).number, 2.0);
  EXPECT_EQ(find_variable(model, "r1.e")->what, VariableRef::What::internal);
  fs::remove_all(folder);
}

TEST(ReadModel, overrides_replace_parameters) {
  const Model model = read(thermal, {{}, {{"R1", "3 K/W"}, {"Q0", "2*R1"}}});
  EXPECT_EQ(model.parameters[1].number, 3.0);
  EXPECT_EQ(model.parameters[2].number, 6.0);
  EXPECT_EQ(model.parameters[0].number, 6.0);
  EXPECT_EQ(read(thermal, {{}, {{"R1", "3"}}}).parameters[1].number, 0.003)
      << "in the unit it is declared with";
  EXPECT_NE(faults_of(thermal, {{}, {{"R11", "3"}}})
                .find("T130: the model has no parameter 'R11' to be replaced by '3'\n  did you mean 'R1'?"),
            std::string::npos);
  EXPECT_NE(
      faults_of(thermal, {{}, {{"Q0", "3 V"}}}).find("test.toml:4: T123: parameter 'Q0' is given in 'V'"),
      std::string::npos);
}

TEST(ReadModel, parse_value_says_what_is_wrong_with_a_name) {
  const Model model = read(thermal);
  EXPECT_EQ(parse_value(model, "n2.T", {}), model.pool->symbol("n2.T"));
  EXPECT_EQ(parse_value(model, "2.5 ms", {}).number(), 0.0025);
  EXPECT_EQ(parse_value(model, "T2", {}), model.pool->symbol("n2.T")) << "an output by its name";
  try {
    parse_value(model, "n2.Q + foo(1)", {"--of", 0});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("--of: T120: "), std::string::npos) << error.what();
  }
  try {
    parse_value(model, "r1.q", {"--of", 0});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(),
                 "--of: T121: there is no variable, parameter or output 'r1.q'\n  did you mean 'r1.Q'?");
  }
}

TEST(ReadModel, a_missing_model_file_is_said_plainly) {
  try {
    read_model("nowhere/model.toml");
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(),
                 "nowhere/model.toml: T180: cannot read 'nowhere/model.toml'\n  there is no such file");
  }
}

TEST(ReadModel, a_hundred_thousand_components_are_read) {
  std::string text = "[parameters]\nR = \"10 ohm\"\n[components]\n";
  const int loops = 33'334;
  for (int k = 0; k < loops; ++k)
    text += fmt::format(
        "r{0} = {{ kind = \"electrical.resistor\", p = \"n{1}\", n = \"n{2}\", R = \"R\" }}\n"
        "l{0} = {{ kind = \"electrical.inductor\", p = \"n{2}\", n = \"m{0}\", L = \"0.1 H\" }}\n"
        "c{0} = {{ kind = \"electrical.capacitor\", p = \"m{0}\", n = \"datum\", C = 0.{0} }}\n",
        k + 1, k, k + 1);
  const Model model = read(text);
  EXPECT_EQ(model.components.size(), 3u * loops);
  EXPECT_EQ(model.nodes.size(), 2u * loops + 2);
  EXPECT_EQ(value(model, "l77", 0).number, 0.1);
}

}  // namespace read_test
}  // namespace tellegen
