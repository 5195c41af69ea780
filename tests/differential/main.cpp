// tellegen-differential: random models against oracles (docs/differential.md).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "tests/differential/property.h"
#include "tests/differential/regressions.h"

namespace differential {
namespace {

struct Options {
  std::set<std::string> only;
  std::uint64_t seed = 1;
  int count = 100;
  double seconds = 0.0;
  std::string keep;
  int most_failures = 5;  // of each kind that are shrunk and kept
  bool show = false;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string as_comment(const std::string& text) {
  std::string out = "# ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + "\n";
}

// The check in a process of its own: what crashes there or does not end is a failure like others.
constexpr rlim_t longest = 60;  // seconds of processor time

Verdict guarded(const Property& property, const Draft& draft) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const rlimit limit{longest, longest + 5};
    setrlimit(RLIMIT_CPU, &limit);
    Verdict v;
    try {
      v = property.check(draft);
    } catch (const std::exception& error) {
      v = failed("uncaught exception", "a verdict", error.what(), "");
    }
    std::string bytes = std::to_string(static_cast<int>(v.what)) + '\0' + std::to_string(v.checks) + '\0';
    for (const std::string& s : {v.tag, v.expected, v.got, v.where}) bytes += s + '\0';
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t count = write(ends[1], bytes.data() + at, bytes.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string bytes;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    bytes.append(buffer, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return failed(WTERMSIG(status) == SIGXCPU ? "does not end" : "crash", "a verdict",
                  std::string("signal ") + strsignal(WTERMSIG(status)), "");
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\0', at);
    fields.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  if (WEXITSTATUS(status) != 0 || fields.size() != 6)
    return failed("crash", "a verdict", "exit code " + std::to_string(WEXITSTATUS(status)), "");
  return {static_cast<Verdict::What>(std::stoi(fields[0])),
          fields[2],
          fields[3],
          fields[4],
          fields[5],
          std::stoi(fields[1])};
}

// True where nothing failed.
bool examine(const Property& property, const Options& options) {
  const double begin = now();
  int generated = 0, checked = 0, refusals = 0, unknowns = 0, failures = 0;
  long checks = 0;
  std::map<std::string, int> reasons, kinds;
  std::map<std::string, int> first;
  for (std::uint64_t k = 0;; ++k) {
    if (options.seconds > 0.0 ? now() - begin > options.seconds : generated >= options.count) break;
    const std::uint64_t seed = options.seed + k;
    Random random(seed);
    const Draft draft = property.generate(random);
    ++generated;
    if (options.show)
      std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(seed), draft.text().c_str());
    const Verdict v = guarded(property, draft);
    checks += v.checks;
    if (v.what == Verdict::What::passed) ++checked;
    if (v.what == Verdict::What::refused) {
      ++refusals;
      ++reasons["refused: " + v.tag];
    }
    if (v.what == Verdict::What::unknown) {
      ++unknowns;
      ++reasons["no verdict: " + v.tag];
    }
    if (v.what != Verdict::What::failed) continue;
    ++failures;
    first.try_emplace(v.tag, generated);
    if (++kinds[v.tag] > options.most_failures) continue;
    const Draft small = property.shrinks && v.tag != "does not end"
                            ? shrink(
                                  draft, [&](const Draft& d) { return guarded(property, d); }, v.tag, 600)
                            : draft;
    const Verdict s = guarded(property, small);
    const std::string report = "property " + property.name + ", seed " + std::to_string(seed) + ": " + s.tag +
                               "\nexpected " + s.expected + "\ngot      " + s.got + "\nat       " + s.where;
    std::printf("FAILED %s\n%s\n", report.c_str(), small.text().c_str());
    std::fflush(stdout);
    if (!options.keep.empty()) {
      std::filesystem::create_directories(options.keep);
      std::ofstream(options.keep + "/" + property.name + "-" + std::to_string(seed) + ".toml")
          << as_comment(report) << small.text();
    }
  }
  std::printf(
      "%s: %d models, %d checked (%ld comparisons), %d refused, %d without a verdict, %d failed; seeds %llu "
      "to %llu, %.0f s\n",
      property.name.c_str(), generated, checked, checks, refusals, unknowns, failures,
      static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(options.seed) + static_cast<unsigned long long>(generated) - 1,
      now() - begin);
  for (const auto& [why, count] : reasons) std::printf("  %5d %s\n", count, why.c_str());
  for (const auto& [tag, count] : kinds)
    std::printf("  %5d FAILED: %s (first after %d models)\n", count, tag.c_str(), first[tag]);
  std::fflush(stdout);
  return failures == 0;
}

int run(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string option = argv[k];
    const auto value = [&]() -> std::string {
      if (k + 1 >= argc) {
        std::fprintf(stderr, "%s needs a value\n", option.c_str());
        std::exit(2);
      }
      return argv[++k];
    };
    if (option == "--only") {
      std::string list = value();
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        options.only.insert(list.substr(at, comma - at));
        at = comma + 1;
      }
    } else if (option == "--seed") {
      options.seed = std::strtoull(value().c_str(), nullptr, 10);
    } else if (option == "--count") {
      options.count = std::atoi(value().c_str());
    } else if (option == "--seconds") {
      options.seconds = std::atof(value().c_str());
    } else if (option == "--keep") {
      options.keep = value();
    } else if (option == "--regressions") {
      return replay_regressions(value()) ? 0 : 1;
    } else if (option == "--show") {
      options.show = true;
    } else {
      std::fprintf(stderr,
                   "usage: tellegen-differential [--only a,b] [--seed N] [--count N | --seconds S] [--keep "
                   "DIR] [--show]\n");
      for (const Property& p : properties())
        std::fprintf(stderr, "  %-12s %s\n", p.name.c_str(), p.summary.c_str());
      return 2;
    }
  }
  bool good = true;
  for (const Property& property : properties())
    if (options.only.empty() || options.only.contains(property.name))
      good = examine(property, options) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) { return differential::run(argc, argv); }
