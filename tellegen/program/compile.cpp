#include "tellegen/program/compile.h"

#include "tellegen/program/run_compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

namespace tellegen {
namespace fs = std::filesystem;
namespace {

// No contraction and no reassociation: the same answer as the interpreter and as every other machine.
constexpr std::array flags = {
    "-std=c99", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w"};
constexpr std::size_t large = 100'000;  // bytes: thousands of statements without a loop, slow to optimise

// Without the numbers of tables, which a compiler only copies.
std::size_t bytes_of_statements(std::string_view source) {
  std::size_t numbers = 0, at = 0;
  for (std::size_t from = 0; (from = source.find("static const ", at)) != std::string_view::npos; from = at) {
    at = std::min(source.find(";\n", from), source.size());
    numbers += at - from;
  }
  return source.size() - numbers;
}
const char* level(std::string_view source) { return bytes_of_statements(source) < large ? "-O3" : "-O1"; }

// Measured with GCC 12: register allocation is worse than linear.
double seconds_of_compiling(std::string_view source) {
  const auto bytes = static_cast<double>(bytes_of_statements(source));
  const double numbers = static_cast<double>(source.size()) - bytes;
  return 0.05 + 5e-6 * bytes + 1e-11 * bytes * bytes + 3e-7 * numbers;
}

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

bool run_compiler(const fs::path& compiler, const char* level, const fs::path& source,
                  const fs::path& object) {
  std::vector<std::string> words{compiler, level};
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
    key += level(source);
    hash = content_hash(key);
  }
  fs::path path(const char* extension = ".so") const { return cache_folder() / (hash + extension); }
  std::string text, hash;
};

std::string name_aside(const std::string& hash) {  // of a file that is not whole yet; threads compile at once
  static std::atomic<int> counter = 0;
  return fmt::format("{}.{}.{}", hash, getpid(), counter++);
}

// Seconds that earlier runs have interpreted, in place of compiling it.
double interpreted_before(const fs::path& file) {
  static std::mutex mutex;
  static std::map<fs::path, double> known;  // what this run adds is not from before
  const std::lock_guard lock(mutex);
  const auto [found, inserted] = known.try_emplace(file, 0.0);
  if (inserted) std::ifstream(file) >> found->second;
  return found->second;
}

void remember(const fs::path& file, const fs::path& aside, double seconds) {
  std::ofstream(aside) << seconds;
  std::error_code ignored;
  fs::rename(aside, file, ignored);
}

}  // namespace

CompiledCode::~CompiledCode() { dlclose(handle_); }

void* CompiledCode::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  assert(found && "the generator emits every function it asks for");
  return found;
}

double seconds_of_interpreting(std::string_view source, double executions) {
  constexpr double per_statement = 1e-9;
  if (bytes_of_statements(source) < large) return std::numeric_limits<double>::infinity();
  return executions * per_statement * static_cast<double>(std::count(source.begin(), source.end(), '\n'));
}

std::shared_ptr<const CompiledCode> compile_c(std::string_view source, double interpreting) {
  const fs::path compiler = find_compiler();
  if (compiler.empty() || source.empty()) return nullptr;
  const CachedObject cached(source, compiler);
  const auto& [text, hash] = cached;
  std::error_code ignored;
  const fs::path folder = cache_folder();
  fs::create_directories(folder, ignored);
  const fs::path object = cached.path();
  if (fs::exists(object, ignored))
    if (auto code = load(object)) return code;
  if (interpreting <= 0.0) return nullptr;
  const std::string aside = name_aside(hash);
  const fs::path seconds = cached.path(".seconds");
  if (const double all = interpreted_before(seconds) + interpreting; all < seconds_of_compiling(source)) {
    remember(seconds, folder / aside, all);
    return nullptr;
  }

  const fs::path c_file = folder / (aside + ".c"), new_object = folder / (aside + ".so");
  {
    std::ofstream out(c_file, std::ios::binary);
    out << text;
    if (!out.flush()) return nullptr;
  }
  const bool compiled = run_compiler(compiler, level(source), c_file, new_object);
  fs::remove(c_file, ignored);
  if (!compiled) {
    fs::remove(new_object, ignored);
    return nullptr;
  }
  fs::rename(new_object, object, ignored);
  fs::remove(seconds, ignored);
  return load(object);
}

}  // namespace tellegen
