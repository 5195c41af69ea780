#include "tellegen/program/compile.h"

#include "tellegen/program/compile_cache.h"
#include "tellegen/program/run_compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace tellegen {
namespace fs = std::filesystem;
namespace {

// No contraction and no reassociation: the same answer as the interpreter and as every other machine.
constexpr std::array flags = {
    "-std=c99",           "-O3", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno",
    "-fno-trapping-math", "-w"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path cache_folder() {
  if (const auto own = environment("TELLEGEN_CACHE"); !own.empty()) return own;
  if (const auto xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "tellegen";
  if (const auto home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "tellegen";
  return fs::temp_directory_path() / fmt::format("tellegen-{}", getuid());
}

// A different compiler, or an updated one, is a different object.
std::string identity(const fs::path& compiler) {
  struct stat info {};
  const fs::path real = fs::canonical(compiler);
  if (stat(real.c_str(), &info) != 0) return real;
  return fmt::format("{} {} {}", real.string(), info.st_size, info.st_mtime);
}

bool run_compiler(const fs::path& compiler, const fs::path& source, const fs::path& object) {
  std::vector<std::string> words{compiler};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"-o", object, source, "-lm"});
  return run_quietly(std::move(words));
}

std::shared_ptr<const CompiledCode> load(const fs::path& object) {
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle ? std::make_shared<const CompiledCode>(handle) : nullptr;
}

// Text that is compiled, and the name of its object in the cache.
struct CachedObject {
  CachedObject(std::string_view source, const fs::path& compiler) : text(runtime_source()) {
    text += source;
    std::string key = text + identity(compiler);
    for (const char* f : flags) key += f;
    hash = content_hash(key);
  }
  fs::path path() const { return cache_folder() / (hash + ".so"); }
  std::string text, hash;
};

}  // namespace

bool is_compiled_already(std::string_view source) {
  const fs::path compiler = find_compiler();
  std::error_code ignored;
  return !compiler.empty() && fs::exists(CachedObject(source, compiler).path(), ignored);
}

CompiledCode::~CompiledCode() { dlclose(handle_); }

void* CompiledCode::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  assert(found && "the generator emits every function it asks for");
  return found;
}

std::shared_ptr<const CompiledCode> compile_c(std::string_view source) {
  const fs::path compiler = find_compiler();
  if (compiler.empty()) return nullptr;
  const CachedObject cached(source, compiler);
  const auto& [text, hash] = cached;
  std::error_code ignored;
  const fs::path folder = cache_folder();
  fs::create_directories(folder, ignored);
  const fs::path object = cached.path();
  if (fs::exists(object, ignored))
    if (auto code = load(object)) return code;

  static std::atomic<int> counter = 0;  // threads compile at once
  const std::string aside = fmt::format("{}.{}.{}", hash, getpid(), counter++);
  const fs::path c_file = folder / (aside + ".c"), new_object = folder / (aside + ".so");
  {
    std::ofstream out(c_file, std::ios::binary);
    out << text;
    if (!out.flush()) return nullptr;
  }
  const bool compiled = run_compiler(compiler, c_file, new_object);
  fs::remove(c_file, ignored);
  if (!compiled) {
    fs::remove(new_object, ignored);
    return nullptr;
  }
  fs::rename(new_object, object, ignored);
  return load(object);
}

}  // namespace tellegen
