// The folders of tellegen/ are layers: docs/architecture.md says which may include which, CMakeLists.txt
// links them so, and the sources keep to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Folders = std::set<std::string>;
using Layers = std::map<std::string, Folders>;

const fs::path root = TELLEGEN_SOURCE_DIR;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << path << " is missing or empty";
  return lines;
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

// The word at the front of `text`, taken off it.
std::string take_word(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string word(text.substr(0, end));
  text.remove_prefix(end);
  return word;
}

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

Folders words_of(std::string_view text) {
  Folders words;
  while (!text.empty()) {
    if (std::string word = take_word(text); !word.empty())
      words.insert(word);
    else
      text.remove_prefix(1);
  }
  return words;
}

// Rows such as "| `tellegen/graph/` | what it does | model, symbolic |".
Layers documented() {
  Layers layers;
  for (const std::string& line : lines_of(root / "docs/architecture.md")) {
    std::string_view rest = line;
    if (!take(rest, "| `tellegen/")) continue;
    const std::string folder = take_word(rest);
    if (!take(rest, "/` |")) continue;
    rest.remove_prefix(rest.find('|') + 1);
    layers[folder] = words_of(rest);
  }
  return layers;
}

struct BuildLine {
  std::string folder;
  Folders uses;
};

// Lines such as "tellegen_folder(graph model symbolic LINK fmt::fmt)", in their order.
std::vector<BuildLine> built() {
  std::vector<BuildLine> lines;
  for (const std::string& line : lines_of(root / "CMakeLists.txt")) {
    std::string_view rest = line;
    if (!take(rest, "tellegen_folder(")) continue;
    const std::string folder = take_word(rest);
    lines.push_back({folder, words_of(rest.substr(0, std::min(rest.find("LINK"), rest.find(')'))))});
  }
  return lines;
}

struct Include {
  std::string top, folder;  // "tellegen", "graph"
};

// Lines such as `#include "tellegen/graph/tree.h"`.
std::optional<Include> include_of(std::string_view line) {
  if (!take(line, "#include \"")) return std::nullopt;
  const std::string top = take_word(line);
  take(line, "/");
  return Include{top, take_word(line)};
}

std::string listed(const Folders& folders) {
  std::string text;
  for (const std::string& folder : folders) text += " " + folder;
  return text;
}

TEST(Includes, EveryFolderHasARowAndEveryRowAFolder) {
  Folders present, rows;
  for (const auto& entry : fs::directory_iterator(root / "tellegen"))
    if (entry.is_directory()) present.insert(entry.path().filename().string());
  for (const auto& [folder, uses] : documented()) rows.insert(folder);
  EXPECT_EQ(listed(present), listed(rows));
}

TEST(Includes, TheBuildLinksWhatTheTableAllows) {
  Layers layers;
  for (const BuildLine& line : built()) layers[line.folder] = line.uses;
  const Layers table = documented();
  EXPECT_EQ(layers.size(), table.size());
  for (const auto& [folder, uses] : table) EXPECT_EQ(listed(layers[folder]), listed(uses)) << folder;
}

TEST(Includes, AFolderUsesOnlyFoldersBuiltBeforeIt) {
  Folders before;
  for (const BuildLine& line : built()) {
    for (const std::string& used : line.uses)
      EXPECT_TRUE(before.contains(used)) << line.folder << " uses " << used;
    before.insert(line.folder);
  }
}

TEST(Includes, SourcesKeepToTheTable) {
  const Layers table = documented();
  for (const auto& [folder, uses] : table) {
    for (const auto& entry : fs::recursive_directory_iterator(root / "tellegen" / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      int number = 0;
      for (const std::string& line : lines_of(entry.path())) {
        ++number;
        const auto include = include_of(line);
        if (!include || include->top == "runtime") continue;
        EXPECT_TRUE(include->top == "tellegen" &&
                    (include->folder == folder || uses.contains(include->folder)))
            << entry.path().string() << ":" << number << ": " << line << "\n  " << folder << " may include"
            << (uses.empty() ? " no other folder" : listed(uses));
      }
    }
  }
}

// Everything is in one namespace, and the linker does not tell two types of one name apart.
TEST(Includes, no_two_headers_define_a_type_of_the_same_name) {
  std::map<std::string, std::string> defined;
  for (const char* folder : {"tellegen", "cli", "benchmarks"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".h") continue;
      for (const std::string& line : lines_of(entry.path()))
        for (const std::string_view keyword : {"struct ", "class ", "enum class "}) {
          if (!line.starts_with(keyword) || line.find('{') == std::string::npos) continue;
          if (line.find("::") < line.find('{')) continue;  // a part of another type
          const std::string name =
              line.substr(keyword.size(), line.find_first_of(" {:", keyword.size()) - keyword.size());
          const auto [first, is_new] = defined.try_emplace(name, entry.path().string());
          EXPECT_TRUE(is_new) << name << " is defined in " << first->second << " and in " << entry.path();
        }
    }
  EXPECT_GT(defined.size(), 100u);
}

}  // namespace
