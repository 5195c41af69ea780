// Components that are parts of a mechanism: what their kinds mean there (multibody/mechanism.h).
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/document.h"

namespace tellegen {

struct MechanismRole {
  enum class What { body, joint, gravity, spring, bushing, tyre, stop, force, torque, constraint } what;
  std::string_view kind;                     // after "multibody."
  std::vector<std::string_view> references;  // keys that name frames, or joints of a gear, stop or driver
  std::vector<std::string_view> optional{};  // keys that may be left out
  bool refers_by(std::string_view key) const {
    return std::find(references.begin(), references.end(), key) != references.end() ||
           std::find(optional.begin(), optional.end(), key) != optional.end();
  }
};

// A kind of the folder multibody: its equations come from the mechanism, not from its file.
inline bool is_mechanical(std::string_view kind) { return kind.starts_with("multibody."); }
const MechanismRole* role_of(std::string_view kind);  // null: not a part that Tellegen knows

struct MechanismPart {
  int component = -1, scope = 0;
  const MechanismRole* role = nullptr;
  const Value* entry = nullptr;
  std::map<std::string, std::string, std::less<>> references{};  // by key: full names
  bool cut = false;
};

}  // namespace tellegen
