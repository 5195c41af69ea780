// Every file in tests/models_broken is one mistake that users make. Its first lines say which, and what the
// program must say to it, to `check` and to `simulate`:
//
//   # fault: voltage sources in parallel
//   # expect 8: T202: across-sources 'v2', 'v1' form a circuit
//   # names: 'v1' from 'a' to 'datum' (line 7)             whom it must name; as many lines as needed
//   # remedy: remove one of them                           what would help
//   # expect kinds/x.toml:8: T152: ...                     a fault of another file; "T410: ..." of the whole
//   file # only: simulate                                       where `check` cannot know
//
// The .cir file beside it is the same mistake as a netlist: `* says:` is what ngspice says to it, `* so:`
// what it then does. docs/faults.md is the table of both; TELLEGEN_WRITE_DOCS=1
// build/tests/broken_models_test writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

const fs::path root = TELLEGEN_SOURCE_DIR;
const fs::path folder = "tests/models_broken";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// What follows `mark` in the lines that begin with it.
std::vector<std::string> marked(const fs::path& file, const std::string& mark) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(get(root / file)))
    if (line.starts_with(mark)) found.push_back(line.substr(mark.size()));
  return found;
}

std::vector<fs::path> broken_models() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root / folder))
    if (entry.path().extension() == ".toml") files.push_back(folder / entry.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path netlist_of(fs::path model) { return model.replace_extension(".cir"); }

class BrokenModel : public testing::TestWithParam<fs::path> {};

TEST_P(BrokenModel, is_explained) {
  fs::current_path(root);
  const fs::path& file = GetParam();
  const auto expect = marked(file, "# expect "), names = marked(file, "# names: "),
             remedy = marked(file, "# remedy: "), only = marked(file, "# only: ");
  ASSERT_EQ(expect.size(), 1u);
  ASSERT_EQ(remedy.size(), 1u);
  ASSERT_FALSE(marked(file, "# fault: ").empty());
  // A line of this file, the file as a whole, or a line of another.
  const bool line = std::isdigit(static_cast<unsigned char>(expect[0][0]));
  const bool whole = expect[0].starts_with("T");
  const std::string beginning = line    ? file.string() + ":" + expect[0]
                                : whole ? file.string() + ": " + expect[0]
                                        : (folder / expect[0]).string();
  const int code = expect[0].find("T410: ") == std::string::npos ? 2 : 1;
  for (const std::string command : {"check", "simulate"}) {
    const Ran ran = run_program({command, file.string()});
    if (!only.empty() && only[0] != command) {
      EXPECT_EQ(ran.code, 0) << command << ": " << ran.err;
      continue;
    }
    EXPECT_EQ(ran.code, code) << command;
    EXPECT_TRUE(ran.err.starts_with(beginning)) << command << " says\n" << ran.err << "not\n" << beginning;
    for (const std::string& name : names)
      EXPECT_NE(ran.err.find(name), std::string::npos) << command << " does not name " << name << " in\n"
                                                       << ran.err;
    EXPECT_NE(ran.err.find(remedy[0]), std::string::npos) << command << " knows no remedy in\n" << ran.err;
    EXPECT_EQ(ran.err.find("singular matrix"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenModel, testing::ValuesIn(broken_models()),
                         [](const auto& info) { return "n" + info.param.stem().string(); });

TEST(BrokenModels, AreTwentyAtLeast) { EXPECT_GE(broken_models().size(), 20u); }

// The quotations are of this version; another may say it differently.
constexpr const char* ngspice_version = "ngspice-39";

std::string output_of(const std::string& command) {
  std::string text;
  if (FILE* pipe = popen((command + " 2>&1 </dev/null").c_str(), "r")) {
    char buffer[4096];
    while (const std::size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
    pclose(pipe);
  }
  return text;
}

TEST(BrokenModels, NgspiceSaysWhatIsQuoted) {
  fs::current_path(root);
  if (output_of("ngspice --version").find(ngspice_version) == std::string::npos)
    GTEST_SKIP() << ngspice_version << " is not installed";
  int compared = 0;
  for (const fs::path& model : broken_models()) {
    const fs::path netlist = netlist_of(model);
    if (!fs::exists(netlist)) continue;
    const std::string said = output_of("ngspice -b " + netlist.string());
    for (const std::string& text : marked(netlist, "* says: ")) {
      EXPECT_NE(said.find(text), std::string::npos) << netlist << ": " << text;
      ++compared;
    }
  }
  EXPECT_GE(compared, 20);
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string faults_page() {
  std::string text =
      "# Faults, here and in ngspice\n\n"
      "The models in `tests/models_broken` have one fault each. The first line of what `tellegen simulate` "
      "says\n"
      "to each and its advice; between them it names the components, nodes and lines. Beside it what " +
      std::string(ngspice_version) +
      "\nsays in batch mode to the same fault in a netlist (the `.cir` beside the model), where it can be "
      "made there.\n[errors](errors.md) lists the codes.\n\n"
      "This page is written by `tests/broken_models_test.cpp`.\n\n"
      "| fault | Tellegen | ngspice |\n| --- | --- | --- |\n";
  for (const fs::path& model : broken_models()) {
    const auto said = lines_of(run_program({"simulate", model.string()}).err);
    const std::string remedy = marked(model, "# remedy: ")[0];
    std::string advice;
    for (std::size_t k = 1; k < said.size(); ++k)
      if (said[k].find(remedy) != std::string::npos) advice = said[k].substr(said[k].find_first_not_of(' '));
    std::string ours = said.empty() ? "" : said[0].substr(said[0].find(':') + 1);
    ours = ours.starts_with(' ') ? ours.substr(1) : "line " + ours;
    if (!advice.empty()) ours += "<br>" + advice;
    std::string theirs;
    const fs::path netlist = netlist_of(model);
    if (!fs::exists(root / netlist)) theirs = "(has no such thing)";
    for (const std::string& line : marked(netlist, "* says: "))
      theirs += (theirs.empty() ? "" : "<br>") + ("`" + line + "`");
    for (const std::string& line : marked(netlist, "* so: ")) theirs += (theirs.empty() ? "" : "<br>") + line;
    text += "| " + marked(model, "# fault: ")[0] + " (`" + model.stem().string() + "`) | " + escaped(ours) +
            " | " + escaped(theirs) + " |\n";
  }
  return text;
}

TEST(BrokenModels, ThePageShowsThemAll) {
  fs::current_path(root);
  const std::string expected = faults_page();
  if (std::getenv("TELLEGEN_WRITE_DOCS")) put(root / "docs/faults.md", expected);
  EXPECT_EQ(get(root / "docs/faults.md"), expected)
      << "TELLEGEN_WRITE_DOCS=1 build/tests/broken_models_test writes it";
}

}  // namespace
}  // namespace tellegen
