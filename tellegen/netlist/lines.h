// A netlist file as cards: logical lines in lower case, continuations joined, comments gone, included files
// and library sections put in place, .control blocks left out. The first line of the file is its title.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

struct Card {
  Place place;  // of its first line
  std::string text;
  std::string as_written = {};  // in its own case, where it names a file
};

struct NetlistNote {  // what was read and has no effect, and why
  Place place;
  std::string text;
};

struct Cards {
  std::string title;
  std::vector<Card> cards;
  std::vector<NetlistNote> notes;
  std::vector<Card> control;         // commands of .control blocks
  std::vector<std::string> missing;  // libraries of another machine that are not here
};

std::string lower_case(std::string_view text);

// Throws ModelError where a file cannot be read, a section is missing, or a file includes itself.
Cards read_cards(const std::filesystem::path& file);
Cards read_cards_text(std::string_view text, const std::filesystem::path& file);  // the text of that file

}  // namespace tellegen
