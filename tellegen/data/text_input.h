// A text file in parts that end with a line, as UTF-8, never within a quoted cell.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace tellegen {

class TextInput {
 public:
  // "-" is standard input. Throws TableError (T180). `encoding`: as TableOptions.
  TextInput(const std::filesystem::path& file, const std::string& encoding);
  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  // What the file begins with, to be recognised: whole lines, and again part of what next() gives. Of
  // standard input one line more each time.
  std::string_view look_ahead();
  bool is_standard() const { return standard_; }
  bool is_whole() const { return ended_; }  // look_ahead() has seen the end

  std::string_view next();                                   // empty at the end
  const std::string& encoding() const { return encoding_; }  // "UTF-8", "UTF-16", "Latin-1"
  bool has_mark() const { return mark_; }                    // a byte-order mark
  void set_quotes(bool quotes) { quotes_ = quotes; }         // whether cells may be quoted

 private:
  bool read_more();
  void recognise_encoding(const std::string& asked);
  void append(std::string_view bytes);
  std::string_view part(std::size_t size) { return std::string_view(text_).substr(0, given_ = size); }
  std::size_t last_line_end() const;

  std::filesystem::path file_;
  bool standard_, ended_ = false, mark_ = false, quotes_ = true, returns_ = false;
  std::FILE* stream_ = nullptr;
  std::string text_, raw_, encoding_ = "UTF-8";
  bool big_endian_ = false;
  std::size_t given_ = 0;
};

// Latin-1 (with what Windows puts where it has control characters) as UTF-8.
std::string latin1_to_utf8(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace tellegen
