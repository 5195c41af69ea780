// Every file in tests/models_bad says in its first lines what must be said about it:
//
//   # expect 5: T110: there is no kind 'electrical.resitor' | did you mean 'electrical.resistor'?
//
// the line (or file:line), the code and the message, up to where it is written, then a detail. Exactly these
// faults, all in one ModelError. To test another fault, add a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tellegen/model/read.h"

namespace tellegen {
namespace bad_models_test {

namespace fs = std::filesystem;

struct Expected {
  std::string beginning, detail;  // of the fault's text
};

std::vector<Expected> expected_of(const fs::path& file) {
  std::vector<Expected> expected;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::string mark = "# expect ";
    if (line.rfind(mark, 0) != 0) continue;
    line = line.substr(mark.size());
    Expected one;
    if (const auto bar = line.find(" | "); bar != std::string::npos) {
      one.detail = line.substr(bar + 3);
      line = line.substr(0, bar);
    }
    const bool same_file = std::isdigit(static_cast<unsigned char>(line[0]));
    one.beginning = same_file ? file.string() + ":" + line : (file.parent_path() / line).string();
    expected.push_back(one);
  }
  return expected;
}

class BadModel : public testing::TestWithParam<fs::path> {};

TEST_P(BadModel, reports_every_fault_with_its_line_and_its_mend) {
  fs::current_path(TELLEGEN_SOURCE_DIR);
  std::vector<Expected> expected = expected_of(GetParam());
  ASSERT_FALSE(expected.empty());
  try {
    read_model(GetParam());
    FAIL() << "it was read";
  } catch (const ModelError& error) {
    for (const Fault& fault : error.faults()) {
      const std::string text = to_text(fault);
      const auto found = std::find_if(expected.begin(), expected.end(), [&](const Expected& one) {
        return text.rfind(one.beginning, 0) == 0 &&
               (one.detail.empty() ||
                std::find(fault.details.begin(), fault.details.end(), one.detail) != fault.details.end());
      });
      EXPECT_NE(found, expected.end()) << "not expected: " << text;
      if (found != expected.end()) expected.erase(found);
      const auto known = fault_codes();
      EXPECT_TRUE(std::any_of(known.begin(), known.end(),
                              [&](const FaultCode& row) { return row.code == fault.code; }))
          << fault.code << " is not in the table of codes";
    }
  }
  for (const Expected& one : expected)
    ADD_FAILURE() << "not reported: " << one.beginning << " | " << one.detail;
}

std::vector<fs::path> bad_models() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(TELLEGEN_SOURCE_DIR "/tests/models_bad"))
    if (entry.path().extension() == ".toml")
      files.push_back(fs::path("tests/models_bad") / entry.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, BadModel, testing::ValuesIn(bad_models()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace bad_models_test
}  // namespace tellegen
