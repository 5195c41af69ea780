// tellegen-differential: random models against oracles (docs/differential.md).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
  bool show = false, until_failure = false;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of the checks, in processes of their own.
double processor_time() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
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

// A property, and how the models it was given came out.
class Examination {
 public:
  Examination(Property property, const Options& options)
      : property_(std::move(property)), options_(options) {}
  double seconds() const { return seconds_; }
  int generated() const { return generated_; }
  int failures() const { return failures_; }

  void next() {
    const double begin = now(), begin_processor = processor_time();
    const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(generated_++);
    Random random(seed);
    const Draft draft = property_.generate(random);
    if (options_.show)
      std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(seed), draft.text().c_str());
    const Verdict v = guarded(property_, draft);
    checks_ += v.checks;
    checked_ += v.what == Verdict::What::passed;
    if (v.what == Verdict::What::refused) {
      ++refusals_;
      ++reasons_["refused: " + v.tag];
    }
    if (v.what == Verdict::What::unknown) {
      ++unknowns_;
      ++reasons_["no verdict: " + v.tag];
    }
    if (v.what == Verdict::What::failed) fail(seed, draft, v);
    seconds_ += now() - begin;
    processor_ += processor_time() - begin_processor;
  }

  void report() const {
    std::printf(
        "%s: %d models, %d checked (%ld comparisons), %d refused, %d without a verdict, %d failed; seeds "
        "%llu "
        "to %llu, %.0f s, %.0f s of processor time\n",
        property_.name.c_str(), generated_, checked_, checks_, refusals_, unknowns_, failures_,
        static_cast<unsigned long long>(options_.seed),
        static_cast<unsigned long long>(options_.seed) + static_cast<unsigned long long>(generated_) - 1,
        seconds_, processor_);
    for (const auto& [why, count] : reasons_) std::printf("  %5d %s\n", count, why.c_str());
    for (const auto& [tag, count] : kinds_)
      std::printf("  %5d FAILED: %s (first after %d models)\n", count, tag.c_str(), first_.at(tag));
    std::fflush(stdout);
  }

 private:
  void fail(std::uint64_t seed, const Draft& draft, const Verdict& v) {
    ++failures_;
    first_.try_emplace(v.tag, generated_);
    if (++kinds_[v.tag] > options_.most_failures) return;
    const bool shrinks = property_.shrinks && v.tag != "does not end" && !options_.until_failure;
    const Draft small = shrinks
                            ? shrink(
                                  draft, [&](const Draft& d) { return guarded(property_, d); }, v.tag, 600)
                            : draft;
    const Verdict s = shrinks ? guarded(property_, small) : v;
    const std::string text = "property " + property_.name + ", seed " + std::to_string(seed) + ": " + s.tag +
                             "\nexpected " + s.expected + "\ngot      " + s.got + "\nat       " + s.where;
    std::printf("FAILED %s\n%s\n", text.c_str(), small.text().c_str());
    std::fflush(stdout);
    if (options_.keep.empty()) return;
    std::filesystem::create_directories(options_.keep);
    std::ofstream(options_.keep + "/" + property_.name + "-" + std::to_string(seed) + ".toml")
        << as_comment(text) << small.text();
  }

  Property property_;
  const Options& options_;
  double seconds_ = 0.0, processor_ = 0.0;
  int generated_ = 0, checked_ = 0, refusals_ = 0, unknowns_ = 0, failures_ = 0;
  long checks_ = 0;
  std::map<std::string, int> reasons_, kinds_, first_;
};

// All properties side by side, each with the same share of time, until one fails.
bool examine_until_failure(std::vector<Examination>& all, double seconds) {
  const double begin = now();
  for (;;) {
    auto& next = *std::min_element(all.begin(), all.end(), [](const Examination& a, const Examination& b) {
      return a.seconds() < b.seconds();
    });
    next.next();
    const double elapsed = now() - begin;
    if (next.failures() == 0 && elapsed < seconds) continue;
    for (const Examination& e : all) e.report();
    std::printf(next.failures() > 0 ? "failed after %.1f s\n" : "nothing failed in %.1f s\n", elapsed);
    return next.failures() == 0;
  }
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
    } else if (option == "--until-failure") {
      options.until_failure = true;
    } else if (option == "--show") {
      options.show = true;
    } else {
      std::fprintf(stderr,
                   "usage: tellegen-differential [--only a,b] [--seed N] [--count N | --seconds S] "
                   "[--until-failure] [--keep DIR] [--show]\n");
      for (const Property& p : properties())
        std::fprintf(stderr, "  %-12s %s\n", p.name.c_str(), p.summary.c_str());
      return 2;
    }
  }
  std::vector<Examination> all;
  for (const Property& property : properties())
    if (options.only.empty() || options.only.contains(property.name)) all.emplace_back(property, options);
  if (options.until_failure && !all.empty()) return examine_until_failure(all, options.seconds) ? 0 : 1;
  bool good = true;
  for (Examination& examination : all) {
    while (options.seconds > 0.0 ? examination.seconds() < options.seconds
                                 : examination.generated() < options.count)
      examination.next();
    examination.report();
    good = good && examination.failures() == 0;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) { return differential::run(argc, argv); }
