// The code of an FMU, loaded; and what the FMU says while it runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

class SharedObject {
 public:
  explicit SharedObject(const std::filesystem::path& file);  // throws FmuError
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;  // throws FmuError
  void* handle_;
};

// The last messages of an instance, for the fault that follows them.
class FmuMessages {
 public:
  void add(std::string_view category, std::string_view message);
  std::string text() const;  // ": message; message", or nothing
  void clear() { last_.clear(); }

 private:
  std::vector<std::string> last_;
};

}  // namespace tellegen
