#include "tellegen/sweep/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "runtime/tellegen_math.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view format_name = "tellegen-sweep-1";

// FNV-1a, mixed at the end so that short texts differ in all bits.
std::uint64_t checksum(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ull ^ seed;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return tellegen_mix(hash);
}

std::string header_text(const Fingerprints& study) {
  std::string text(format_name);
  for (const auto& [name, hash] : study) text += fmt::format(" {}={}", name, hash);
  return text;
}

std::string sealed(const std::string& text, std::uint64_t seed) {
  return fmt::format("{}#{:016x}\n", text, checksum(text, seed));
}

// The line without its checksum, or nothing where it does not fit.
std::optional<std::string_view> unsealed(std::string_view line, std::uint64_t seed) {
  if (line.size() < 17 || line[line.size() - 17] != '#') return std::nullopt;
  const std::string_view text = line.substr(0, line.size() - 17), digits = line.substr(line.size() - 16);
  std::uint64_t given = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), given, 16);
  if (error != std::errc() || end != digits.end() || given != checksum(text, seed)) return std::nullopt;
  return text;
}

std::string entry_text(const JournalEntry& entry) {
  std::string text = std::to_string(entry.sample);
  for (const double v : entry.values) {
    char digits[40];
    text += ' ';
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  text += " |";
  for (const char c : entry.status) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\\')
      text += "\\\\";
    else
      text += c;
  }
  return text;
}

std::optional<JournalEntry> read_entry(std::string_view text, std::size_t width) {
  JournalEntry entry;
  const char *at = text.data(), *const end = at + text.size();
  const auto first = std::from_chars(at, end, entry.sample);
  if (first.ec != std::errc()) return std::nullopt;
  at = first.ptr;
  for (std::size_t k = 0; k < width; ++k) {
    double v = 0.0;
    if (at == end || *at++ != ' ') return std::nullopt;
    const auto next = std::from_chars(at, end, v);
    if (next.ec != std::errc()) return std::nullopt;
    entry.values.push_back(v);
    at = next.ptr;
  }
  if (end - at < 2 || at[0] != ' ' || at[1] != '|') return std::nullopt;
  for (at += 2; at != end; ++at) {
    const bool escaped = *at == '\\' && at + 1 != end;
    if (escaped) ++at;
    entry.status += escaped && *at == 'n' ? '\n' : *at;
  }
  return entry;
}

// The first fingerprint of a header that is not the study's; nothing where all are.
std::string difference(std::string_view header, const Fingerprints& study) {
  std::istringstream words{std::string(header)};
  std::string word;
  if (!(words >> word) || word != format_name) return "format";
  for (const auto& [name, hash] : study)
    if (!(words >> word) || word != name + "=" + hash) return name;
  return words >> word ? word.substr(0, word.find('=')) : "";
}

void read_one(const fs::path& path, const Fingerprints& study, std::size_t width,
              std::unordered_set<std::size_t>& seen, JournalContents& contents) {
  std::ifstream in(path, std::ios::binary);
  if (!in && errno == ENOENT) return;  // a process that came to its end has just taken it away
  if (!in) throw std::runtime_error(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  std::ostringstream buffer;
  buffer << in.rdbuf();
  const std::string text = buffer.str();
  const std::size_t first_end = text.find('\n');
  const auto header = unsealed(std::string_view(text).substr(0, first_end), 0);
  if (!header) throw JournalMismatch(path, "format");
  if (const std::string other = difference(*header, study); !other.empty())
    throw JournalMismatch(path, other);
  const std::uint64_t seed = checksum(*header, 0);
  for (std::size_t at = first_end + 1; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto line = end < text.size() ? unsealed(std::string_view(text).substr(at, end - at), seed)
                                        : std::nullopt;  // torn
    auto entry = line ? read_entry(*line, width) : std::nullopt;
    if (!entry)
      ++contents.damaged;
    else if (seen.insert(entry->sample).second)
      contents.entries.push_back(std::move(*entry));
    at = end + 1;
  }
}

std::vector<fs::path> parts_of(const fs::path& path) {
  std::vector<fs::path> parts;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string start = path.filename().string() + ".";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.size() > start.size() &&
        name.find_first_not_of("0123456789", start.size()) == std::string::npos)
      parts.push_back(path.parent_path() / name);
  }
  return parts;
}

[[noreturn]] void cannot_write(const fs::path& path) {
  throw std::runtime_error(fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
}

void write_all(int descriptor, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_write(path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The file that is there, locked; -1 where there is none.
int lock_existing(const fs::path& path) {
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    struct stat mine {
    }, named{};
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!locked) {
      ::close(descriptor);
      throw JournalBusy(path);
    }
    // It may have been replaced between opening and locking.
    if (::fstat(descriptor, &mine) == 0 && ::stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino)
      return descriptor;
    ::close(descriptor);
  }
}

}  // namespace

JournalMismatch::JournalMismatch(const fs::path& path, const std::string& what)
    : std::runtime_error(
          fmt::format("'{}' is the journal of another study: its {} differs", path.string(), what)),
      path(path),
      what_differs(what) {}

JournalBusy::JournalBusy(const fs::path& path)
    : std::runtime_error(fmt::format("'{}' is being written by another process", path.string())) {}

fs::path journal_part(const fs::path& path, int rank) {
  return rank == 0 ? path : fs::path(path).concat(fmt::format(".{}", rank));
}

JournalContents read_journals(const fs::path& path, const Fingerprints& study, std::size_t width,
                              bool parts) {
  JournalContents contents;
  std::unordered_set<std::size_t> seen;
  std::error_code ignored;
  if (fs::exists(path, ignored)) read_one(path, study, width, seen, contents);
  if (parts)
    for (const fs::path& part : parts_of(path)) read_one(part, study, width, seen, contents);
  return contents;
}

void remove_journal_parts(const fs::path& path) {
  std::error_code ignored;
  for (const fs::path& part : parts_of(path)) fs::remove(part, ignored);
}

void remove_journals(const fs::path& path) {
  std::error_code ignored;
  remove_journal_parts(path);
  fs::remove(path, ignored);
}

Journal::Journal(const fs::path& path, const Fingerprints& study, const std::vector<JournalEntry>& entries)
    : path_(path) {
  const std::string header = header_text(study);
  seed_ = checksum(header, 0);
  replaced_ = lock_existing(path);
  const fs::path aside = fs::path(path).concat(".new");
  descriptor_ = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) cannot_write(path);
  ::flock(descriptor_, LOCK_EX | LOCK_NB);
  std::string text = sealed(header, 0);
  for (const JournalEntry& entry : entries) text += sealed(entry_text(entry), seed_);
  write_all(descriptor_, text, path);
  if (::fsync(descriptor_) != 0 || ::rename(aside.c_str(), path.c_str()) != 0) cannot_write(path);
  synced_ = now();
}

Journal::~Journal() {
  for (const int descriptor : {descriptor_, replaced_})
    if (descriptor >= 0) ::close(descriptor);
}

void Journal::append(std::span<const JournalEntry> entries) {
  std::string lines;
  for (const JournalEntry& entry : entries) lines += sealed(entry_text(entry), seed_);
  const std::lock_guard lock(mutex_);
  write_all(descriptor_, lines, path_);
  if (const double time = now(); time - synced_ > 1.0) {
    ::fdatasync(descriptor_);
    synced_ = time;
  }
}

std::string text_hash(std::string_view text) { return fmt::format("{:016x}", checksum(text, 0)); }

}  // namespace tellegen
