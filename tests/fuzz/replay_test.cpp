// Every file of the corpus through its fuzz target, under the sanitizers. tests/fuzz/run looks for new ones;
// what it finds is fixed and kept in the corpus, named after what it probes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using Target = int(const unsigned char*, std::size_t);
extern "C" Target fuzz_csv, fuzz_expression, fuzz_kind, fuzz_model, fuzz_netlist;

namespace {

namespace fs = std::filesystem;

const std::map<std::string, Target*> targets{{"csv", fuzz_csv},
                                             {"expression", fuzz_expression},
                                             {"kind", fuzz_kind},
                                             {"model", fuzz_model},
                                             {"netlist", fuzz_netlist}};

const fs::path corpus = TELLEGEN_SOURCE_DIR "/tests/fuzz/corpus";

struct Input {
  std::string target;
  fs::path file;
};

void PrintTo(const Input& input, std::ostream* out) { *out << input.file; }

std::vector<Input> inputs() {
  std::vector<Input> found;
  for (const auto& folder : fs::directory_iterator(corpus))
    for (const auto& entry : fs::directory_iterator(folder))
      found.push_back({folder.path().filename(), entry.path()});
  std::sort(found.begin(), found.end(), [](const Input& a, const Input& b) { return a.file < b.file; });
  return found;
}

class Corpus : public testing::TestWithParam<Input> {};

TEST_P(Corpus, is_read_or_refused) {
  std::ifstream stream(GetParam().file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  ASSERT_FALSE(text.empty() && fs::file_size(GetParam().file) > 0);
  targets.at(GetParam().target)(reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(inputs()), [](const auto& info) {
  std::string name = info.param.target + "_" + info.param.file.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(Corpus, EveryTargetHasOne) {
  for (const auto& [name, target] : targets) EXPECT_TRUE(fs::is_directory(corpus / name)) << name;
}

}  // namespace
