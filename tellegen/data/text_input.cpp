#include "tellegen/data/text_input.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "tellegen/data/table_source.h"

namespace tellegen {
namespace {

constexpr std::size_t text_part_size = 1 << 20;  // bytes that are read at once

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t k = 0; k < text.size();) {
    const auto c = static_cast<unsigned char>(text[k]);
    const std::size_t more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : 4;
    if (more == 4) return false;
    for (std::size_t i = 1; i <= more; ++i) {
      if (k + i >= text.size()) return true;  // cut off here, not wrong
      if ((static_cast<unsigned char>(text[k + i]) & 0xC0) != 0x80) return false;
    }
    k += more + 1;
  }
  return true;
}

std::string latin1_to_utf8(std::string_view text) {
  // 0x80 to 0x9F of Windows-1252.
  static constexpr std::uint16_t windows[32] = {
      0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
      0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
      0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  std::string out;
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    append_utf8(out, code >= 0x80 && code < 0xA0 ? windows[code - 0x80] : code);
  }
  return out;
}

TextInput::TextInput(const std::filesystem::path& file, const std::string& encoding)
    : file_(file), standard_(file == "-") {
  stream_ = standard_ ? stdin : std::fopen(file.c_str(), "rb");
  if (!stream_) throw cannot_read(file, "it cannot be opened");
  if (standard_) {
    if (!encoding.empty()) recognise_encoding(encoding);
    return;
  }
  read_more();
  recognise_encoding(encoding);
}

TextInput::~TextInput() {
  if (stream_ && !standard_) std::fclose(stream_);
}

void TextInput::recognise_encoding(const std::string& asked) {
  std::string bytes = std::move(text_);
  text_.clear();
  std::string_view rest = bytes;
  const auto skip = [&](std::size_t size) {
    mark_ = true;
    rest.remove_prefix(size);
  };
  if (rest.starts_with("\xEF\xBB\xBF")) {
    skip(3);
  } else if (rest.starts_with("\xFF\xFE") || rest.starts_with("\xFE\xFF")) {
    big_endian_ = rest.starts_with("\xFE\xFF");
    encoding_ = "UTF-16";
    skip(2);
  } else if (const std::string_view head = rest.substr(0, 4096); head.size() >= 4) {
    // Digits and commas have a zero byte beside them.
    std::size_t even = 0, odd = 0;
    for (std::size_t k = 0; k < head.size(); ++k) (k % 2 == 0 ? even : odd) += head[k] == '\0';
    if (even > head.size() / 4 || odd > head.size() / 4) {
      encoding_ = "UTF-16";
      big_endian_ = even > odd;
    }
  }
  if (encoding_ == "UTF-8" && !mark_ && !is_utf8(rest)) encoding_ = "Latin-1";
  if (asked == "latin-1") encoding_ = "Latin-1";
  if (asked == "utf-8") encoding_ = "UTF-8";
  if (asked == "utf-16") encoding_ = "UTF-16";
  const std::size_t line = rest.find('\n');
  returns_ = encoding_ != "UTF-16" && line == rest.npos && rest.find('\r') != rest.npos;
  append(rest);
}

// Bytes of the file as text.
void TextInput::append(std::string_view bytes) {
  if (encoding_ != "UTF-16") {
    const std::size_t before = text_.size();
    text_.append(bytes);
    if (returns_) std::replace(text_.begin() + static_cast<long>(before), text_.end(), '\r', '\n');
    return;
  }
  raw_.append(bytes);
  std::size_t k = 0;
  const auto unit = [&](std::size_t at) {
    const auto a = static_cast<unsigned char>(raw_[at]), b = static_cast<unsigned char>(raw_[at + 1]);
    return static_cast<std::uint32_t>(big_endian_ ? a << 8 | b : b << 8 | a);
  };
  for (; k + 1 < raw_.size(); k += 2) {
    std::uint32_t code = unit(k);
    if (code >= 0xD800 && code < 0xDC00) {
      if (k + 3 >= raw_.size()) break;
      code = 0x10000 + ((code - 0xD800) << 10) + (unit(k + 2) & 0x3FF);
      k += 2;
    }
    append_utf8(text_, code);
  }
  raw_.erase(0, k);
}

// False at the end.
bool TextInput::read_more() {
  if (ended_) return false;
  if (standard_) {  // a line at a time: whoever writes there waits for an answer
    char* line = nullptr;
    std::size_t room = 0;
    const ssize_t size = getline(&line, &room, stream_);
    std::string_view got = size > 0 ? std::string_view(line, static_cast<std::size_t>(size)) : "";
    if (text_.empty() && got.starts_with("\xEF\xBB\xBF")) got.remove_prefix(3);
    append(got);
    std::free(line);
    ended_ = size <= 0;
    return !ended_;
  }
  // Before the encoding is known, and where it is not UTF-16, straight into the text.
  const std::size_t before = text_.size();
  text_.resize(before + text_part_size);
  const std::size_t got = std::fread(text_.data() + before, 1, text_part_size, stream_);
  text_.resize(before + got);
  if (got > 0 && (encoding_ == "UTF-16" || returns_)) {
    const std::string bytes = text_.substr(before);
    text_.resize(before);
    append(bytes);
  }
  ended_ = got == 0;
  return !ended_;
}

std::string_view TextInput::look_ahead() {
  if (standard_) {
    read_more();
    return text_;
  }
  constexpr std::size_t enough = 1 << 16;
  while (text_.size() < enough && read_more()) {
  }
  const std::string_view head = std::string_view(text_).substr(0, enough);
  if (text_.size() <= enough && ended_) return head;
  return head.substr(0, head.rfind('\n') + 1);
}

std::string_view TextInput::next() {
  text_.erase(0, given_);
  given_ = 0;
  for (;;) {
    const std::size_t end = last_line_end();
    if (end > 0 && (text_.size() >= text_part_size || standard_)) return part(end);
    if (!read_more()) return part(text_.size());
  }
}

// Behind the last line that does not end within quotes. Comments have no cells.
std::size_t TextInput::last_line_end() const {
  if (!quotes_ || text_.find('"') == text_.npos) return text_.rfind('\n') + 1;
  std::size_t end = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t line = std::min(text_.find('\n', at), text_.size());
    const std::size_t first = text_.find_first_not_of(" \t", at);
    if (quoted || first >= line || text_[first] != '#')
      quoted = quoted != (std::count(text_.begin() + static_cast<long>(at),
                                     text_.begin() + static_cast<long>(line), '"') %
                              2 !=
                          0);
    at = line + 1;
    if (!quoted && line < text_.size()) end = at;
  }
  return end;
}

}  // namespace tellegen
