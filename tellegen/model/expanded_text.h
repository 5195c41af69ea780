// A model file with a section that stands for components ([stack], [machine]) to one without: its other
// sections as they are, an entry to a line, and what the section stands for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/model/reading.h"

namespace tellegen {

// A line of text for a section, and the line of the model file that it comes from.
struct AddedEntry {
  std::string text;
  int line;
};
struct AddedSection {
  std::string name;
  std::vector<AddedEntry> entries;
};

// Lines of the text by the lines they come from, as Document takes them.
struct ExpandedText {
  std::string toml;
  std::vector<int> lines;
};

std::string toml_text(const Value& value);  // as a file would have it, on one line

// The file without the section `replaced`, with the entries added to the sections they name; where `kept` has
// names, only these sections of the file. Throws ModelError where the file has an entry of such a name
// already.
ExpandedText expanded_text(const Document& document, std::string_view replaced,
                           std::span<const AddedSection> added, std::span<const std::string_view> kept = {});

}  // namespace tellegen
