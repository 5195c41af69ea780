// The pages say what the program does: tables of functions, methods, faults and kinds are held against the
// code, and every example is read or run.
//
// Blocks of a page are files and commands, in a folder of their own for each page:
//
//   ```toml or ```csv, first line "# model: my/rc.toml"   saved there, and read without fault; so is "# kind:
//   ..."
//                                 "# part: ...", "# file: ...", "# wrong model: ..."   saved only
//   indented "build/tellegen simulate ...", "cd ... && ..."   run from that folder; must end well
//   ```console, "$ build/tellegen ..."                      run, and says what the page says; "..." stands
//   for the rest
//                                                           of a line, or for any number of lines
//
// docs/library.md is written by this test: TELLEGEN_WRITE_DOCS=1 build/tests/docs_test
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/graph/faults.h"
#include "tellegen/model/kind_text.h"
#include "tellegen/model/read.h"
#include "tellegen/netlist/faults.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/written_functions.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const fs::path root = TELLEGEN_SOURCE_DIR;

std::string page(const std::string& name) {
  const std::string text = get(root / name);
  EXPECT_FALSE(text.empty()) << name << " is missing or empty";
  return text;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void expect_line(const std::string& name, const std::string& line) {
  const Lines lines = lines_of(page(name));
  EXPECT_TRUE(std::find(lines.begin(), lines.end(), line) != lines.end()) << name << " lacks the line\n"
                                                                          << line;
}

std::string ticked(std::string_view name) { return "`" + std::string(name) + "`"; }
std::string row(const Lines& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += (cell.empty() ? " |" : " " + cell + " |");
  return text;
}

TEST(Docs, model_file_lists_every_function) {
  for (const Function& f : functions())
    expect_line(
        "docs/model-file.md",
        row({ticked(f.name), f.arity < 0 ? "2 or more" : std::to_string(f.arity), std::string(f.summary)}));
}

TEST(Docs, model_file_lists_every_written_function) {
  for (const WrittenFunction& f : written_functions())
    expect_line(
        "docs/model-file.md",
        row({ticked(f.name), f.arity < 0 ? "1 or more" : std::to_string(f.arity), std::string(f.summary)}));
}

TEST(Docs, model_file_lists_every_method) {
  for (const IntegratorEntry& method : integrators())
    expect_line("docs/model-file.md", row({ticked(method.name), std::string(method.summary)}));
}

TEST(Docs, model_file_lists_every_domain) {
  for (const Domain& d : read_domains(root / "library"))
    expect_line("docs/model-file.md",
                row({ticked(d.name), ticked("node." + d.node), ticked(d.across) + ", " + ticked(d.through),
                     d.across_unit + ", " + d.through_unit}));
}

// Rows such as "| T100 | the file is not valid TOML | see the line |".
std::map<std::string, std::string> documented_faults() {
  std::map<std::string, std::string> codes;
  const std::regex pattern(R"(\| (T\d{3}) \| (.*) \| .+ \|)");
  std::smatch match;
  for (const std::string& line : lines_of(page("docs/errors.md")))
    if (std::regex_match(line, match, pattern)) {
      EXPECT_TRUE(codes.emplace(match[1], match[2]).second) << match[1] << " stands twice";
    }
  return codes;
}

TEST(Docs, errors_lists_every_fault_with_its_meaning) {
  const auto documented = documented_faults();
  for (const auto& codes : {fault_codes(), topology_fault_codes(), netlist_fault_codes()})
    for (const FaultCode& fault : codes) {
      const auto found = documented.find(std::string(fault.code));
      ASSERT_NE(found, documented.end()) << fault.code;
      EXPECT_EQ(found->second, fault.meaning) << fault.code;
    }
}

TEST(Docs, errors_lists_the_codes_that_the_sources_have_and_no_others) {
  std::set<std::string> used, documented;
  const std::regex pattern(R"re("(T\d{3})")re");
  for (const char* folder : {"tellegen", "cli"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) continue;
      const std::string text = get(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
        used.insert((*at)[1]);
    }
  for (const auto& [code, meaning] : documented_faults()) documented.insert(code);
  for (const std::string& code : used)
    EXPECT_TRUE(documented.contains(code)) << code << " is not on the page";
  for (const std::string& code : documented)
    EXPECT_TRUE(used.contains(code)) << code << " is not in the sources";
}

TEST(Docs, library_shows_every_kind_as_its_file_has_it) {
  const std::string expected = library_page(root / "library");
  if (std::getenv("TELLEGEN_WRITE_DOCS")) put(root / "docs/library.md", expected);
  const Lines are = lines_of(page("docs/library.md")), should = lines_of(expected);
  const auto [is, must] = std::mismatch(are.begin(), are.end(), should.begin(), should.end());
  EXPECT_TRUE(is == are.end() && must == should.end())
      << "docs/library.md:" << is - are.begin() + 1 << ": " << (is == are.end() ? "(end)" : *is)
      << "\nshould be\n"
      << (must == should.end() ? "(end)" : *must)
      << "\nTELLEGEN_WRITE_DOCS=1 build/tests/docs_test writes it";
}

// Examples.
struct Ran {
  int code = -1;
  Lines said;
};

class Example {
 public:
  explicit Example(const std::string& name) : name_(name) {
    fs::create_directories(folder_ / "build");
    fs::create_symlink(tested_program, folder_ / "build/tellegen");
    fs::create_symlink(root / "models", folder_ / "models");
  }

  void run() {
    const Lines lines = lines_of(page(name_));
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (lines[k].starts_with("```")) {
        const std::string language = lines[k].substr(3);
        Lines block;
        for (++k; k < lines.size() && lines[k] != "```"; ++k) block.push_back(lines[k]);
        if (language == "console")
          converse(block);
        else if (!block.empty())
          save(block);
      } else if (lines[k].starts_with("    build/tellegen ") || lines[k].starts_with("    cd ")) {
        const std::string command = lines[k].substr(4);
        if (command.starts_with("build/tellegen benchmark") || command.starts_with("build/tellegen explore"))
          continue;  // minutes
        const Ran ran = run_command(command);
        EXPECT_EQ(ran.code, 0) << name_ << ": " << command << "\n" << joined(ran.said);
      }
    }
  }

 private:
  static std::string joined(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }

  void save(const Lines& block) {
    const std::regex pattern(R"(# (model|kind|part|file|wrong model): (\S+))");
    std::smatch match;
    if (!std::regex_match(block[0], match, pattern)) return;
    const fs::path file = folder_ / match[2];
    fs::create_directories(file.parent_path());
    put(file, joined(block));
    try {
      Pool pool;
      const fs::path library = root / "library";
      if (match[1] == "model") read_model(file, {library, {}});
      if (match[1] == "kind") read_kind(pool, read_domains(library), file, file.stem().string());
    } catch (const ModelError& error) {
      ADD_FAILURE() << name_ << ": " << error.what();
    }
  }

  Ran run_command(const std::string& command) {
    Ran ran;
    const std::string line = "cd '" + (folder_ / "").string() + "' && " + command + " 2>&1";
    FILE* pipe = popen(line.c_str(), "r");
    if (!pipe) return ran;
    std::string text;
    for (char buffer[4096]; const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
      text.append(buffer, got);
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.said = lines_of(text);
    return ran;
  }

  void converse(const Lines& block) {
    for (std::size_t k = 0; k < block.size();) {
      ASSERT_TRUE(block[k].starts_with("$ ")) << name_ << ": " << block[k];
      const std::string command = block[k++].substr(2);
      Lines shown;
      while (k < block.size() && !block[k].starts_with("$ ")) shown.push_back(block[k++]);
      const bool faulty = std::regex_search(joined(shown), std::regex(R"(: T\d{3}:)"));
      const Ran ran = run_command(command);
      EXPECT_EQ(ran.code == 0, !faulty) << name_ << ": " << command;
      compare(command, shown, ran.said);
    }
  }

  // Columns widen with what stands in them: runs of spaces count as one.
  static std::string squeezed(const std::string& line) {
    return std::regex_replace(line, std::regex(" +"), " ");
  }

  void compare(const std::string& command, const Lines& shown, const Lines& said) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < shown.size(); ++k) {
      if (shown[k] == "...") {
        const std::size_t left = shown.size() - k - 1;
        at = said.size() >= left ? std::max(at, said.size() - left) : at;
        continue;
      }
      const bool cut = shown[k].ends_with("...");
      const std::string start = squeezed(cut ? shown[k].substr(0, shown[k].size() - 3) : shown[k]);
      const bool same =
          at < said.size() && (cut ? squeezed(said[at]).starts_with(start) : squeezed(said[at]) == start);
      EXPECT_TRUE(same) << name_ << ": " << command << "\npage: " << shown[k]
                        << "\nsaid: " << (at < said.size() ? said[at] : "(nothing more)");
      if (!same) return;
      ++at;
    }
    EXPECT_EQ(at, said.size()) << name_ << ": " << command << " says more than the page";
  }

  std::string name_;
  TestFolder folder_;
};

TEST(Docs, the_readme_s_examples_work) { Example("README.md").run(); }
TEST(Docs, the_tutorial_s_examples_work) { Example("docs/tutorial.md").run(); }
TEST(Docs, the_model_file_s_examples_work) { Example("docs/model-file.md").run(); }
TEST(Docs, the_studies_examples_work) { Example("docs/studies.md").run(); }
TEST(Docs, from_a_log_file_to_a_twin) { Example("docs/log-to-twin.md").run(); }
TEST(Docs, the_twin_s_examples_work) { Example("docs/twin.md").run(); }
TEST(Docs, the_examples_of_stacks_work) { Example("docs/stacks.md").run(); }
TEST(Docs, the_examples_of_magnetic_circuits_work) { Example("docs/magnetic-circuits.md").run(); }
TEST(Docs, the_examples_of_mechanisms_work) { Example("docs/mechanisms.md").run(); }
TEST(Docs, the_examples_of_equations_work) { Example("docs/equations.md").run(); }

TEST(Docs, the_examples_of_identification_work) { Example("docs/identify.md").run(); }
TEST(Docs, the_examples_of_machines_work) { Example("docs/machines.md").run(); }
// For ARMv7 and a bare Cortex-M too; what is built is replayed.
TEST(Docs, the_examples_of_deployment_work) { Example("docs/deploy.md").run(); }
TEST(Docs, the_gallery_s_commands_work) { Example("docs/gallery.md").run(); }

TEST(Docs, the_readmes_of_the_models_tell_how_to_run_them) {
  for (const auto& entry : fs::directory_iterator(root / "models")) {
    const std::string name = entry.path().filename().string();
    expect_line("models/" + name + "/README.md",
                "    build/tellegen simulate models/" + name + "/model.toml");
  }
}

// Pages link to pages and pictures that are there.
TEST(Docs, links_lead_somewhere) {
  const std::regex pattern(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  for (const std::string name : {"README.md",           "CONTRIBUTING.md",      "docs/tutorial.md",
                                 "docs/model-file.md",  "docs/errors.md",       "docs/theory.md",
                                 "docs/realtime.md",    "docs/architecture.md", "docs/library.md",
                                 "docs/netlists.md",    "docs/studies.md",      "docs/equations.md",
                                 "docs/twin.md",        "docs/stacks.md",       "docs/machines.md",
                                 "docs/gallery.md",     "docs/identify.md",     "docs/python.md",
                                 "docs/log-to-twin.md", "docs/mechanisms.md",   "docs/magnetic-circuits.md",
                                 "docs/deploy.md"}) {
    const std::string text = page(name);
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
      EXPECT_TRUE(fs::exists((root / name).parent_path() / (*at)[1].str())) << name << ": " << (*at)[0];
  }
}

// What `--help` offers is on the page.
void expect_every_option(const std::string& command, const std::string& name) {
  const std::string text = page(name);
  const std::regex pattern(R"(--[a-z-]+)");
  FILE* pipe = popen((std::string(tested_program) + " " + command + " --help").c_str(), "r");
  ASSERT_TRUE(pipe);
  std::string help;
  for (char buffer[4096]; const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
    help.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0);
  for (std::sregex_iterator at(help.begin(), help.end(), pattern), end; at != end; ++at)
    EXPECT_TRUE((*at)[0] == "--help" || text.find((*at)[0]) != std::string::npos)
        << command << ": " << (*at)[0];
}

TEST(Docs, the_tutorial_has_every_option) {
  expect_every_option("simulate", "docs/tutorial.md");
  expect_every_option("check", "docs/tutorial.md");
}

TEST(Docs, the_page_of_magnetic_circuits_has_every_option) {
  expect_every_option("machine", "docs/magnetic-circuits.md");
}
TEST(Docs, the_page_of_equations_has_every_option) { expect_every_option("equations", "docs/equations.md"); }

TEST(Docs, studies_have_every_option) {
  for (const char* command : {"sweep", "sensitivity", "rank", "optimize"})
    expect_every_option(command, "docs/studies.md");
}

TEST(Docs, deployment_has_every_option) {
  for (const char* command : {"export", "explore"}) expect_every_option(command, "docs/deploy.md");
}

TEST(Docs, twins_have_every_option) {
  for (const char* command : {"synthesize", "estimate", "calibrate", "report"})
    expect_every_option(command, "docs/twin.md");
  expect_every_option("data", "docs/log-to-twin.md");
  for (const char* command : {"identify", "design-experiment"})
    expect_every_option(command, "docs/identify.md");
}

}  // namespace
}  // namespace tellegen
