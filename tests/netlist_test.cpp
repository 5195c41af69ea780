// The netlists of tests/netlists against ngspice, where it is installed: every node's voltage, and the
// currents of voltage sources and inductors. The results are the table of docs/netlists.md
// (TELLEGEN_WRITE_DOCS=1 writes it).
//
// Measure: the largest difference at any sample after t = 0, over the variable's range in ngspice's answer.
// ngspice runs with the netlist's own longest step and tightened tolerances, and is interpolated between its
// points. It does not locate the instants at which switches and conditions change: where its answer jumps
// within three of its steps around a sample, ours must lie between its values there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>

#include "tellegen/netlist/netlist.h"
#include "tellegen/simulate/simulate.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

constexpr double tolerance = 1e-3;
const fs::path root = TELLEGEN_SOURCE_DIR, netlists = root / "tests/netlists",
               page = root / "docs/netlists.md";

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(netlists))
    if (entry.path().extension() == ".cir") found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

fs::path file_of(const std::string& name) { return netlists / (name + ".cir"); }

std::string title_of(const std::string& name) {
  const std::string text = get(file_of(name));
  return text.substr(0, text.find('\n'));
}

SimulationResult simulated(const Model& model) {
  SimulationOptions options;
  options.method = options.form = options.start = "";
  return Simulation(model, complete_options(model, options), {}).run();
}

bool has_ngspice() {
  static const bool found = std::system("ngspice --version > /dev/null 2>&1") == 0;
  return found;
}

// ngspice's answer: columns by our names, V(out) and I(x1.v1).
struct Reference {
  std::vector<double> t;
  std::map<std::string, std::vector<double>> columns;
};

// The binary raw file: a header in text, then one row of doubles per time.
Reference read_raw(const std::string& bytes) {
  Reference reference;
  const auto begin = bytes.find("Binary:\n");
  if (begin == std::string::npos) return reference;
  const std::string head = bytes.substr(0, begin);
  std::vector<std::string> columns;
  const std::regex variable(R"(\n\t\d+\t([^\t]+)\t)");
  for (std::sregex_iterator at(head.begin(), head.end(), variable), end; at != end; ++at)
    columns.push_back((*at)[1]);
  const double* data = reinterpret_cast<const double*>(bytes.data() + begin + 8);
  const std::size_t rows = (bytes.size() - begin - 8) / (8 * columns.size());
  const auto value = [&](std::size_t row, std::size_t column) {
    double v = 0.0;
    std::memcpy(&v, data + row * columns.size() + column, sizeof v);
    return v;
  };
  // An element of a subcircuit is i(v.x1.v1) there.
  const std::regex pattern(R"(([vi])\((.*)\))");
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::smatch match;
    if (c > 0 && (!std::regex_match(columns[c], match, pattern) || columns[c].find('#') != std::string::npos))
      continue;
    std::vector<double> values(rows);
    for (std::size_t r = 0; r < rows; ++r) values[r] = value(r, c);
    if (c == 0) {
      reference.t = std::move(values);
      continue;
    }
    std::string inner = match[2];
    if (match[1] == "i" && inner.find('.') != std::string::npos) inner.erase(0, inner.find('.') + 1);
    reference.columns[(match[1] == "v" ? "V(" : "I(") + inner + ")"] = std::move(values);
  }
  return reference;
}

// A copy with tighter tolerances after the title, run in a folder that has the whole suite.
Reference run_ngspice(const std::string& name) {
  const TestFolder folder;
  fs::copy(netlists, folder / "suite", fs::copy_options::recursive);
  std::string text = get(file_of(name));
  text.insert(text.find('\n') + 1, ".options reltol=1e-5 abstol=1e-13 vntol=1e-8 chgtol=1e-17\n");
  put(folder / "suite" / (name + ".cir"), text);
  const std::string command = fmt::format("cd '{}' && timeout 60 ngspice -b -r out.raw {}.cir > log 2>&1",
                                          (folder / "suite").string(), name);
  if (std::system(command.c_str()) != 0) return {};
  return read_raw(get(folder / "suite" / "out.raw"));
}

struct Difference {
  std::string variable;
  double worst = 0.0, t = 0.0;
  int compared = 0;
};

double at(const Reference& reference, const std::vector<double>& column, std::size_t k, double t) {
  const double width = reference.t[k + 1] - reference.t[k];
  const double part = width > 0.0 ? (t - reference.t[k]) / width : 0.0;
  return column[k] + part * (column[k + 1] - column[k]);
}

Difference compared(const SimulationResult& ours, const Reference& reference) {
  std::map<char, double> largest;  // a range far below the others of its unit is noise
  for (const auto& [name, column] : reference.columns)
    for (const double v : column) largest[name[0]] = std::max(largest[name[0]], std::abs(v));
  Difference found;
  for (std::size_t c = 0; c < ours.names.size(); ++c) {
    const auto other = reference.columns.find(ours.names[c]);
    if (other == reference.columns.end()) {
      EXPECT_NE(ours.names[c][0], 'V') << "ngspice has no " << ours.names[c];
      continue;
    }
    ++found.compared;
    const std::vector<double>& column = other->second;
    const auto [low, high] = std::minmax_element(column.begin(), column.end());
    const double range = std::max(*high - *low, 1e-6 * largest[ours.names[c][0]] + 1e-300);
    std::size_t k = 0;
    for (std::size_t row = 1; row < ours.t.size(); ++row) {
      const double t = ours.t[row], value = ours.values[row * ours.names.size() + c];
      while (k + 2 < reference.t.size() && reference.t[k + 1] < t) ++k;
      double error = std::abs(value - at(reference, column, k, t)) / range;
      if (error > tolerance) {
        const auto first = column.begin() + static_cast<std::ptrdiff_t>(k > 2 ? k - 2 : 0);
        const auto last = column.begin() + static_cast<std::ptrdiff_t>(std::min(k + 4, column.size()));
        const auto [below, above] = std::minmax_element(first, last);
        if (*above - *below > 0.02 * range)
          error = std::max({0.0, (value - *above) / range, (*below - value) / range});
      }
      if (error > found.worst || !std::isfinite(error)) found = {ours.names[c], error, t, found.compared};
    }
  }
  return found;
}

std::string row_start(const std::string& name) { return fmt::format("| `{}` | {} |", name, title_of(name)); }

// The table of the page, collected while the netlists run.
std::map<std::string, std::string>& rows() {
  static std::map<std::string, std::string> collected;
  return collected;
}

class EveryNetlist : public testing::TestWithParam<std::string> {
 public:
  static void TearDownTestSuite() {
    if (std::getenv("TELLEGEN_WRITE_DOCS") && rows().size() == names().size()) write_page();
  }

  static void write_page() {
    std::string text = get(page);
    const std::string head =
        "| netlist | what it is | variables | largest difference |\n| --- | --- | --- | --- |\n";
    const auto begin = text.find(head);
    ASSERT_NE(begin, std::string::npos);
    std::size_t end = begin + head.size();
    while (end < text.size() && text[end] == '|') end = text.find('\n', end) + 1;
    std::string table = head;
    for (const auto& [name, row] : rows()) table += row + "\n";
    put(page, text.replace(begin, end - begin, table));
  }
};

TEST_P(EveryNetlist, agrees_with_ngspice) {
  if (!has_ngspice()) GTEST_SKIP() << "ngspice is not installed";
  const SimulationResult ours = simulated(read_netlist(file_of(GetParam())));
  ASSERT_EQ(ours.failure, "");
  const Reference reference = run_ngspice(GetParam());
  ASSERT_GT(reference.t.size(), 10u) << "ngspice has no answer";
  EXPECT_NEAR(reference.t.back(), ours.t.back(), 1e-6 * ours.t.back());
  const Difference difference = compared(ours, reference);
  EXPECT_GT(difference.compared, 0);
  EXPECT_LT(difference.worst, tolerance) << difference.variable << " at t = " << difference.t << " s";
  rows()[GetParam()] =
      fmt::format("{} {} | {:.0e} |", row_start(GetParam()), difference.compared, difference.worst);
}

INSTANTIATE_TEST_SUITE_P(Netlists, EveryNetlist, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

// As it was found, with constant sources: ngspice 39 has 0.8110462 V and 1.869425 uV.
TEST(NetlistCases, an_off_darlington_at_its_operating_point) {
  const TestFolder folder;
  put(folder / "off.cir",
      "PNP darlington off\nV1 12 0 1\nV18 18 0 2\nQ13 14 13 12 QP\nQ15 14 18 13 QP\nR5 14 0 100K\n"
      "C1 13 0 1p\n.MODEL QP PNP (BF=20 BR=0.02 IS=1.0E-14)\n.tran 1u 1m\n.end\n");
  const SimulationResult run = simulated(read_netlist(folder / "off.cir"));
  ASSERT_EQ(run.failure, "");
  const auto last = [&](const std::string& name) {
    const auto k = std::find(run.names.begin(), run.names.end(), name) - run.names.begin();
    return run.values.at((run.t.size() - 1) * run.names.size() + static_cast<std::size_t>(k));
  };
  EXPECT_NEAR(last("V(13)"), 0.8110462, 1e-5);
  EXPECT_NEAR(last("V(14)"), 1.869425e-6, 1e-9);
}

TEST(NetlistPage, has_a_row_for_every_netlist) {
  const std::string text = get(page);
  for (const std::string& name : names())
    EXPECT_NE(text.find("\n" + row_start(name)), std::string::npos) << row_start(name);
  EXPECT_GE(names().size(), 40u);
}

TEST(NetlistConvert, the_model_file_gives_the_same_answer) {
  const TestFolder folder;
  for (const std::string name : {"subcircuit", "buck", "bjt_amplifier"}) {
    const fs::path file = folder / (name + ".toml");
    const Ran ran = run_program({"convert", file_of(name).string(), file.string()});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const SimulationResult a = simulated(read_netlist(file_of(name))), b = simulated(read_model(file));
    EXPECT_EQ(a.names, b.names) << name;
    EXPECT_EQ(a.values, b.values) << name;
  }
}

TEST(NetlistConvert, says_what_it_cannot_read_or_write) {
  const Ran not_a_netlist = run_program({"convert", "model.txt", "a.toml"});
  EXPECT_EQ(not_a_netlist.code, 2);
  EXPECT_NE(not_a_netlist.err.find("T401"), std::string::npos);
  const Ran nowhere = run_program({"convert", file_of("buck").string(), "/nowhere/a.toml"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.err.find("T402"), std::string::npos);
}

TEST(NetlistCommands, outputs_are_named_as_in_spice_in_any_case) {
  const TestFolder folder;
  const std::string csv = (folder / "a.csv").string();
  const Ran ran = run_program(
      {"simulate", file_of("rc_pulse").string(), "--outputs", "v(OUT), V(in,out), i(R1)*2", "--output", csv});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(get(csv).substr(0, get(csv).find('\n')), "t [s],v(OUT) [V],\"V(in,out)\",i(R1)*2");
}

TEST(NetlistCommands, notes_go_to_standard_error_and_checks_find_no_faults) {
  const Ran ran = run_program({"check", file_of("multipliers").string()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("multipliers.cir:2: note: the option 'abstol' has no effect"), std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace tellegen
