#include "tellegen/fmu/shared_object.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "tellegen/fmu/description.h"

namespace tellegen {

SharedObject::SharedObject(const std::filesystem::path& file)
    : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) throw FmuError(fmt::format("its code cannot be loaded: {}", dlerror()));
}
SharedObject::~SharedObject() { dlclose(handle_); }

void* SharedObject::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (!found) throw FmuError(fmt::format("its code has no function {}", name));
  return found;
}

void FmuMessages::add(std::string_view category, std::string_view message) {
  constexpr std::size_t most = 3;
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.remove_suffix(1);
  if (message.empty()) return;
  if (last_.size() == most) last_.erase(last_.begin());
  last_.push_back(category.empty() ? std::string(message) : fmt::format("{} ({})", message, category));
}

std::string FmuMessages::text() const {
  std::string all;
  for (const std::string& message : last_) all += (all.empty() ? ": " : "; ") + message;
  return all;
}

}  // namespace tellegen
