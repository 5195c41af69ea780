// What a study has finished so far, on disk: append-only, one line for each sample, each with a checksum.
//
//   tellegen-sweep-1 model=5b1f... samples=77a0... #9c0d...
//   17 3.25 0.5 |#b2e4...
//   18 nan nan |T124: parameter 'R' of 'r1' must be above 0#01aa...
//
// Lines are handed to the system whole as soon as their samples are done, those of samples that were computed
// together at once, so a process that is killed at any moment loses only what was being computed; once a
// second the disk is made to have it too. A line that is torn or damaged does not fit its checksum and is
// left out: its sample is computed again.
//
// Several processes (ranks) of one study write a part each, `F.journal.1` beside `F.journal`;
// merge_journals() makes one of all, before and after. The header is a list of fingerprints: what belongs to
// another study is never taken for this one's. A journal is locked while it is written to; the lock dies with
// the process.
#pragma once

#include <filesystem>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tellegen {

struct JournalEntry {
  std::size_t sample = 0;
  std::vector<double> values;
  std::string status;  // empty: good
};

// What a study is, by name: "model" and a hash of it.
using Fingerprints = std::vector<std::pair<std::string, std::string>>;

// The journal is another study's: `what` names the fingerprint that differs.
struct JournalMismatch : std::runtime_error {
  JournalMismatch(const std::filesystem::path& path, const std::string& what);
  std::filesystem::path path;
  std::string what_differs;
};
struct JournalBusy : std::runtime_error {
  explicit JournalBusy(const std::filesystem::path& path);
};

struct JournalContents {
  std::vector<JournalEntry> entries;  // each sample once, in the order of the file
  std::size_t damaged = 0;            // lines left out
};

// The journal and its parts (`parts`: or it alone). Nothing where there is none. Throws JournalMismatch.
JournalContents read_journals(const std::filesystem::path& path, const Fingerprints& study, std::size_t width,
                              bool parts = true);
void remove_journal_parts(const std::filesystem::path& path);
void remove_journals(const std::filesystem::path& path);                          // it and its parts
std::filesystem::path journal_part(const std::filesystem::path& path, int rank);  // itself, of rank 0

class Journal {
 public:
  // Replaces what is there by `entries` at once. Throws JournalBusy, std::runtime_error.
  Journal(const std::filesystem::path& path, const Fingerprints& study,
          const std::vector<JournalEntry>& entries);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void append(std::span<const JournalEntry> entries);  // at once, from any thread

 private:
  std::filesystem::path path_;
  std::uint64_t seed_ = 0;  // of the lines' checksums: the header's
  int descriptor_ = -1, replaced_ = -1;
  double synced_ = 0.0;
  std::mutex mutex_;
};

// 16 hexadecimal digits of a text.
std::string text_hash(std::string_view text);

}  // namespace tellegen
