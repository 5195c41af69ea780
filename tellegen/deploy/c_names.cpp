#include "tellegen/deploy/c_names.h"

#include <fmt/format.h>

#include <cctype>

namespace tellegen {

std::string c_name(std::string_view text) {
  std::string name;
  for (const unsigned char c : text)
    if (std::isalnum(c))
      name += static_cast<char>(c);
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "m_" + name : name;
}

std::string c_comment(std::string text) {
  for (std::size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* /");
  return text;
}

CMembers::CMembers()
    : taken_{"auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
             "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
             "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
             "switch", "union",    "typedef",  "unsigned", "void",  "volatile", "while"} {}

std::string CMembers::add(std::string_view text) {
  std::string name = c_name(text);
  for (int k = 2; !taken_.insert(name).second; ++k) name = fmt::format("{}_{}", c_name(text), k);
  return name;
}

}  // namespace tellegen
