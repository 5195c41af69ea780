#include "tellegen/model/csv_header.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tellegen/model/read.h"

namespace tellegen {
namespace csv_header_test {

// A model beside a table of time, in a folder of its own.
class InputTable : public testing::Test {
 protected:
  InputTable() : folder_(std::filesystem::path(testing::TempDir()) / "tellegen-input-table") {
    std::filesystem::create_directories(folder_);
  }
  ~InputTable() override { std::filesystem::remove_all(folder_); }

  Model read(const std::string& csv, const std::string& input) {
    std::ofstream(folder_ / "f.csv") << csv;
    const std::string text = "[inputs]\nP = " + input + R"toml(
[components]
q = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "P" }
r = { kind = "thermal.resistor", p = "a", n = "datum", R = "1 K/W" }
)toml";
    return read_model_text(text, (folder_ / "m.toml").string(),
                           {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
  }
  double at(const Model& model, double t) const {
    return evaluate(model.inputs[0].value, {{model.pool->symbol("t"), t}});
  }
  std::string fault_of(const std::string& csv, const std::string& input) {
    try {
      read(csv, input);
    } catch (const ModelError& error) {
      return error.faults().front().code;
    }
    return "";
  }
  std::filesystem::path folder_;
};

TEST_F(InputTable, units_of_the_header_are_honoured) {
  const std::string csv = "time [min],T_h [degF],P [kW],amb [K]\n0,71.7,0.06,295.15\n1,71.4,0.12,295.16\n";
  EXPECT_NEAR(at(read(csv, R"({ table = "f.csv", column = "P" })"), 30.0), 90.0, 1e-12);
  EXPECT_NEAR(at(read(csv, R"({ table = "f.csv", column = "P [kW]", unit = "W" })"), 60.0), 120.0, 1e-12);
  EXPECT_NEAR(at(read(csv, R"({ table = "f.csv", column = "P", interpolation = "hold" })"), 59.0), 60.0,
              1e-12);
  // Behind the name, too; and round brackets may be part of a name.
  EXPECT_NEAR(at(read("t,P_kJ_s\n0,1\n2,3\n", R"({ table = "f.csv", column = "P", unit = "W" })"), 1.0),
              2000.0, 1e-9);
  EXPECT_NEAR(at(read("t,P_kJ_per_h\n0,36\n2,36\n", R"({ table = "f.csv", column = "P", unit = "W" })"), 1.0),
              10.0, 1e-9);
  EXPECT_NEAR(at(read("t,P_kW\n0,1\n2,3\n", R"({ table = "f.csv", column = "P", unit = "W" })"), 1.0), 2000.0,
              1e-9);
  EXPECT_NEAR(at(read("t,V(out)\n0,1\n2,3\n", R"({ table = "f.csv" })"), 1.0), 2.0, 1e-12);
  // A header without units: what the model says.
  EXPECT_NEAR(at(read("t,P\n0,1\n2,3\n", R"({ table = "f.csv", unit = "kW" })"), 1.0), 2000.0, 1e-9);
}

TEST_F(InputTable, units_that_cannot_be_are_faults) {
  EXPECT_EQ(fault_of("t,P [glork]\n0,1\n2,3\n", R"({ table = "f.csv" })"), "T593");
  EXPECT_EQ(fault_of("t,P [K]\n0,1\n2,3\n", R"({ table = "f.csv", unit = "W" })"), "T593");
  EXPECT_EQ(fault_of("t [K],P\n0,1\n2,3\n", R"({ table = "f.csv" })"), "T593");
  EXPECT_EQ(fault_of("t,P\n0,1\n2,3\n", R"({ table = "f.csv", column = "Q" })"), "T182");
}

}  // namespace csv_header_test
}  // namespace tellegen
