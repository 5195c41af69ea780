#include "tellegen/netlist/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/model/document.h"
#include "tellegen/netlist/faults.h"

namespace tellegen {
namespace fs = std::filesystem;
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Old netlists are in Latin-1, some of LTspice in UTF-16: as UTF-8, so that a micro sign is one.
std::string decoded(std::string_view text) {
  std::string result;
  const auto put = [&](unsigned code) {
    if (code < 0x80) {
      result += static_cast<char>(code);
    } else if (code < 0x800) {
      result += static_cast<char>(0xc0 | (code >> 6));
      result += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      result += static_cast<char>(0xe0 | (code >> 12));
      result += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      result += static_cast<char>(0x80 | (code & 0x3f));
    }
  };
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const bool marked = text.starts_with("\xff\xfe");
  if (marked || (text.size() > 3 && text[1] == '\0' && text[3] == '\0')) {
    for (std::size_t k = marked ? 2 : 0; k + 1 < text.size(); k += 2)
      put(byte(k) | (static_cast<unsigned>(byte(k + 1)) << 8));
    return result;
  }
  bool utf8 = true;
  for (std::size_t k = 0; k < text.size() && utf8; ++k) {
    if (byte(k) < 0x80) continue;
    const std::size_t more = byte(k) >= 0xf0 ? 3 : byte(k) >= 0xe0 ? 2 : byte(k) >= 0xc2 ? 1 : 0;
    utf8 = more > 0 && k + more < text.size() + (more == 0);
    for (std::size_t n = 1; utf8 && n <= more; ++n) utf8 = (byte(k + n) & 0xc0) == 0x80;
    k += more;
  }
  if (utf8) return std::string(text);
  for (std::size_t k = 0; k < text.size(); ++k) put(byte(k));
  return result;
}

// What stands before `;`, `//`, or a `$` after a blank; not inside quotes, where a path may be.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (quote) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    const bool alone = k == 0 || is_space(line[k - 1]) || line[k - 1] == ',';
    // PSpice's nodes: $G_VCC, $N_0001; variables of .control: $&step
    const bool name =
        k + 2 < line.size() &&
        (line[k + 1] == '&' || (line[k + 2] == '_' && std::isalpha(static_cast<unsigned char>(line[k + 1]))));
    if (c == ';' || (c == '$' && alone && !name) || (c == '/' && line.substr(k).starts_with("//")))
      return line.substr(0, k);
  }
  return line;
}

// The words of .include and .lib in their own case, without their quotes.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t k = 0; k < text.size();) {
    if (is_space(text[k])) {
      ++k;
      continue;
    }
    const bool quoted = text[k] == '"' || text[k] == '\'';
    const std::size_t end = quoted ? text.find(text[k], k + 1) : text.find_first_of(" \t", k);
    words.emplace_back(text.substr(k + quoted, end == std::string_view::npos ? end : end - k - quoted));
    if (end == std::string_view::npos) break;
    k = end + 1;
  }
  return words;
}

class Reader {
 public:
  explicit Reader(const fs::path& file) : top_(file), stack_{fs::weakly_canonical(file).string() + "\n"} {}
  Cards cards;

  // `section`: only what stands between `.lib section` and `.endl`; empty: everything.
  void read(const fs::path& file, std::string_view text, const std::string& section, bool titled) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    // What DOS wrote behind the end of a text.
    if (const auto end = text.find_last_not_of("\x1a \t\r\n"); end + 1 < text.size())
      text = text.substr(0, std::min(text.find('\x1a', end + 1), text.size()));
    const std::string name = file.string();
    const bool wanted_section = !section.empty();
    bool inside = !wanted_section, control = false, found = false;
    bool ended = false, unread = false;  // behind .end; what is no command stands there
    std::string skipping;                // a section that was not asked for
    int line = 0;
    bool open = false;  // the last card may be continued
    std::string raw;    // of the last card, in its own case
    Place raw_place;
    const auto finish = [&] {
      if (open) card(raw_place, raw, file);
      open = false;
    };
    while (!text.empty()) {
      const auto end = text.find('\n');
      std::string_view all = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line;
      if (line == 1 && titled) {
        cards.title = trimmed(all);
        continue;
      }
      const Place place{name, line};
      const std::string_view whole = trimmed(all);
      if (whole.starts_with('*') || whole.empty()) continue;
      check_characters(place, whole);
      std::string_view content = trimmed(without_comment(whole));
      if (content.empty()) continue;
      // A parenthesis that closes what the line before has opened goes on with it too.
      if (content.starts_with('+') || (content.starts_with(')') && open)) {
        if (!inside || !skipping.empty() || (ended && !control)) continue;
        if (control) {
          if (!cards.control.empty())
            cards.control.back().text += " " + lower_case(trimmed(content.substr(1)));
          continue;
        }
        if (!open)
          throw netlist_fault(place, "T502", "there is no line that this one could continue",
                              {"a line that begins with '+' continues the one before it"});
        raw += ' ';
        raw += trimmed(content.substr(content.starts_with('+') ? 1 : 0));
        continue;
      }
      finish();
      const std::string word = lower_case(content.substr(0, content.find_first_of(" \t")));
      if (control) {
        control = word != ".endc";
        if (control && inside && skipping.empty()) cards.control.push_back({place, lower_case(content), ""});
        continue;
      }
      if (word == ".control") {
        control = true;
        if (inside && skipping.empty())
          cards.notes.push_back({place, ".control block passed over: its commands are for ngspice"});
        continue;
      }
      if (ended) {
        unread = unread || word != ".end";
        continue;
      }
      if (word == ".endl") {
        if (wanted_section) inside = false;
        skipping.clear();
        continue;
      }
      if (word == ".lib") {
        const auto words = words_of(content.substr(4));
        if (words.size() == 1 && begins_section(words[0], file, text)) {
          const bool wanted = wanted_section && lower_case(words[0]) == section;
          if (wanted_section) inside = wanted;
          found = found || wanted;
          skipping = wanted ? "" : words[0];
          if (!wanted_section)
            cards.notes.push_back({place, fmt::format("section '{0}' is not read: '.lib {1} {0}' reads it",
                                                      words[0], file.filename().string())});
          continue;
        }
      }
      if (!inside || !skipping.empty()) continue;
      if (word == ".end") {  // of an included file it has no effect
        ended = titled && has_elements();
        if (titled && !ended) cards.notes.push_back({place, ".end before the first element has no effect"});
        continue;
      }
      raw = content;
      raw_place = place;
      open = true;
    }
    finish();
    if (unread) cards.notes.push_back({{name, line}, "what stands behind .end is not read"});
    if (control && !ended) throw netlist_fault({name, line}, "T502", "the .control block does not end");
    if (wanted_section && !found)
      throw netlist_fault({name, 0}, "T502", fmt::format("the library has no section '{}'", section),
                          {fmt::format("it would begin with '.lib {}' and end with '.endl'", section)});
  }

 private:
  bool has_elements() const {
    return std::any_of(cards.cards.begin(), cards.cards.end(),
                       [](const Card& card) { return !card.text.starts_with('.'); });
  }

  static void check_characters(const Place& place, std::string_view text) {
    const auto control = [](unsigned char c) {
      return (c < 0x20 && c != '\t' && c != '\f' && c != '\v' && c != '\r') || c == 0x7f;
    };
    if (std::any_of(text.begin(), text.end(), control))
      throw netlist_fault(place, "T502", "the line has a character that is not text",
                          {"is this a netlist, and not a binary file?"});
  }

  // From the file that names it, or from that of the netlist; Windows' separators are as good.
  fs::path path_of(const fs::path& from, std::string name) const {
    std::replace(name.begin(), name.end(), '\\', '/');
    std::error_code error;
    const fs::path beside = (from.parent_path() / name).lexically_normal();
    const fs::path below = (top_.parent_path() / name).lexically_normal();
    return !fs::exists(beside, error) && fs::exists(below, error) ? below : beside;
  }

  // `.lib name`: a section, which must end, or a file that is read whole.
  bool begins_section(const std::string& name, const fs::path& file, std::string_view after) const {
    std::error_code error;
    if (fs::is_regular_file(path_of(file, name), error)) return false;
    while (!after.empty()) {
      const auto end = after.find('\n');
      const std::string_view line = trimmed(after.substr(0, end));
      const std::string word = lower_case(line.substr(0, std::min(line.find_first_of(" \t"), line.size())));
      if (word == ".endl") return true;
      if (word == ".lib" && words_of(line.substr(4)).size() == 1) return false;
      after.remove_prefix(end == std::string_view::npos ? after.size() : end + 1);
    }
    return false;
  }

  void card(const Place& place, const std::string& raw, const fs::path& file) {
    const std::string word = lower_case(std::string_view(raw).substr(0, raw.find_first_of(" \t")));
    const bool include = word == ".include" || word == ".inc" || word == ".incl";
    if (!include && word != ".lib") {
      cards.cards.push_back({place, lower_case(raw), ""});
      const std::string& text = cards.cards.back().text;
      if (text.find("file") != std::string::npos || text.find("table") != std::string::npos)
        cards.cards.back().as_written = raw;
      return;
    }
    auto words = words_of(std::string_view(raw).substr(word.size()));
    const bool elsewhere = !words.empty() && words[0].size() > 2 && words[0][1] == ':' &&
                           (words[0][2] == '\\' || words[0][2] == '/');
    if (elsewhere &&
        !include) {  // a path of Windows, which may have blanks: LTspice names its own libraries so
      std::string all(trimmed(std::string_view(raw).substr(word.size())));
      std::erase(all, '"');
      cards.missing.push_back(all);
      cards.notes.push_back({place, fmt::format("the library '{}' is not here and not read", all)});
      return;
    }
    if (words.empty() || words.size() > (include ? 1u : 2u))
      throw netlist_fault(place, "T502",
                          include ? ".include takes the name of a file"
                                  : ".lib takes a file, or a file and one of its sections");
    enter(place, path_of(file, words[0]), words.size() > 1 ? lower_case(words[1]) : "");
  }

  void enter(const Place& place, const fs::path& file, const std::string& section) {
    const std::string key = fs::weakly_canonical(file).string() + "\n" + section;
    if (std::find(stack_.begin(), stack_.end(), key) != stack_.end())
      throw netlist_fault(place, "T507", fmt::format("'{}' includes itself", file.filename().string()));
    stack_.push_back(key);
    read(file, decoded(read_text(file, place)), section, false);
    stack_.pop_back();
  }

  fs::path top_;
  std::vector<std::string> stack_;
};

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

Cards read_cards(const fs::path& file) { return read_cards_text(read_text(file, {file.string(), 0}), file); }

Cards read_cards_text(std::string_view text, const fs::path& file) {
  Reader reader(file);
  reader.read(file, decoded(text), "", true);
  return std::move(reader.cards);
}

}  // namespace tellegen
