// Names and texts in generated C.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tellegen {

// "Motor & gear.toml" -> motor_gear
std::string c_name(std::string_view text);

// What may stand in a comment.
std::string c_comment(std::string text);

// Members of a structure: a name each, none twice, none a word of C.
class CMembers {
 public:
  CMembers();
  std::string add(std::string_view text);

 private:
  std::set<std::string> taken_;
};

}  // namespace tellegen
