#include "benchmarks/ngspice.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace tellegen {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  return std::nullopt;
}

// A folder of its own for every run, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "tellegen_ngspice_XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1 < /dev/null").c_str(), "r");
  if (!pipe) return text;
  std::array<char, 4096> block;
  while (const size_t count = fread(block.data(), 1, block.size(), pipe)) text.append(block.data(), count);
  pclose(pipe);
  return text;
}

// The number behind "name = " in ngspice's resource report.
std::optional<double> reported(const std::string& text, const std::string& name) {
  const size_t at = text.find(name + " = ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + at + name.size() + 3, nullptr);
}

std::string version_line(const fs::path& program) {
  const std::string text = output_of(fmt::format("'{}' --version", program.string()));
  const size_t at = text.find("ngspice-");
  return at == std::string::npos ? "ngspice" : text.substr(at, text.find_first_of(" \n", at) - at);
}

struct Duration {
  double t_end;
  int samples;
};
Duration duration(SpiceCircuit circuit) {
  switch (circuit) {
    case SpiceCircuit::rlc:
      return {10, 1000};
    case SpiceCircuit::ladder:
      return {1, 100};
    case SpiceCircuit::rectifier:
      return {1, 1000};
  }
  return {};
}

struct TimePoint {
  double t, first, second;
};

std::vector<TimePoint> read_time_points(const fs::path& file) {
  std::vector<TimePoint> points;
  std::ifstream in(file);
  for (TimePoint p; in >> p.t >> p.first >> p.second;) {
    if (points.empty() || p.t > points.back().t) points.push_back(p);
  }
  return points;
}

// The time point at t, or the polynomial through the six around it.
TimePoint value_at(const std::vector<TimePoint>& points, double t) {
  constexpr long stencil = 6;
  const auto above = std::lower_bound(points.begin(), points.end(), t,
                                      [](const TimePoint& p, double time) { return p.t < time; });
  const long index = above - points.begin(), count = static_cast<long>(points.size());
  for (long k = std::max(0L, index - 1); k <= std::min(index, count - 1); ++k) {
    if (std::abs(points[k].t - t) < 1e-10) return points[k];
  }
  const long begin = std::max(0L, std::min(index - stencil / 2, count - stencil));
  const long end = std::min(begin + stencil, count);
  TimePoint result{t, 0, 0};
  for (long j = begin; j < end; ++j) {
    double weight = 1;
    for (long k = begin; k < end; ++k) {
      if (k != j) weight *= (t - points[k].t) / (points[j].t - points[k].t);
    }
    result.first += weight * points[j].first;
    result.second += weight * points[j].second;
  }
  return result;
}

}  // namespace

SpiceSetting spice_setting(SpiceCircuit circuit, int loops, Precision precision) {
  const bool high = precision == Precision::high;
  const std::string linear = "method=trap reltol=1e-3 trtol=1e4 gmin=1e-18 temp=26.85";
  const std::string diodes = "method=trap reltol=1e-3 trtol=1e4 gmin=1e-12 abstol=1e-9 temp=26.85";
  switch (circuit) {
    case SpiceCircuit::rlc:
      return {high ? 0.4e-3 : 4e-3, linear};
    case SpiceCircuit::ladder:
      if (loops == 2) return {high ? 0.25e-3 : 2.5e-3, linear};
      return {high ? 0.19e-3 : 1.9e-3, linear};
    case SpiceCircuit::rectifier:
      return {high ? 0.125e-3 : 0.5e-3, diodes};
  }
  return {};
}

std::string spice_netlist(SpiceCircuit circuit, int loops, const SpiceSetting& setting,
                          const std::string& output) {
  std::string text = "* tellegen benchmark\nV1 n2 0 SIN(0 100 5)\n";
  std::string saved, written;
  switch (circuit) {
    case SpiceCircuit::rlc:
      text += "R1 n2 n3 10\nL1 n3 0 0.1 IC=0\nC1 n3 0 0.4 IC=0\nC2 n3 0 0.2 IC=0\n";
      saved = written = "v(n3) i(L1)";
      break;
    case SpiceCircuit::ladder: {
      for (int i = 1; i <= loops; ++i) {
        const int rail = 2 * i + 1, capacitor = 2 * i + 2, before = i == 1 ? 2 : 2 * i - 1;
        text += fmt::format("R{0} n{1} n{2} 10\nL{0} n{2} n{3} 0.1 IC=0\nC{0} n{3} 0 0.1 IC=0\n", i, before,
                            rail, capacitor);
      }
      const int monitored = loops == 2 ? 2 : 1;
      saved = written = fmt::format("v(n{}) i(L{})", 2 * monitored + 2, monitored);
      break;
    }
    case SpiceCircuit::rectifier:
      text +=
          ".model DX D(IS=1e-15 N=1.5 RS=1e-3 TNOM=26.85)\n"
          "D1 n2 n3 DX\nD2 0 n3 DX\nD3 n4 n2 DX\nD4 n4 0 DX\n"
          "R1 n3 n5 10\nL1 n5 n4 0.1 IC=0\n";
      saved = "v(n2) v(n3) i(L1)";
      written = "v(n2,n3) i(L1)";
      break;
  }
  return text + fmt::format(
                    ".options {}\n.save {}\n.tran {} {} 0 {} uic\n"
                    ".control\nset numdgt=15\nset wr_singlescale\nset num_threads=1\n"
                    "run\nrusage accept trantime\nwrdata {} {}\n.endc\n.end\n",
                    setting.options, saved, 2.5 * setting.max_step, duration(circuit).t_end, setting.max_step,
                    output, written);
}

ExternalRun run_ngspice(SpiceCircuit circuit, int loops, const SpiceSetting& setting, int repetitions) {
  const auto [t_end, samples] = duration(circuit);
  return run_ngspice_text(
      fmt::format("max step {:g} s, {}", setting.max_step, setting.options),
      [&](const std::string& output) { return spice_netlist(circuit, loops, setting, output); }, t_end,
      samples, repetitions);
}

ExternalRun run_ngspice_text(const std::string& setting,
                             const std::function<std::string(const std::string& output)>& text, double t_end,
                             int samples, int repetitions) {
  ExternalRun run;
  run.setting = setting;
  const auto unavailable = [&](const std::string& reason) {
    run.available = false;
    run.setting = reason;
    return run;
  };
  const auto program = find_program("ngspice");
  if (!program) return unavailable("ngspice is not installed");
  run.version = version_line(*program);

  const TemporaryFolder folder;
  if (folder.path().empty()) return unavailable("ngspice: no temporary folder");
  const fs::path netlist = folder.path() / "circuit.cir", output = folder.path() / "output.txt";
  std::ofstream(netlist) << text(output.string());

  run.seconds = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::string report = output_of(
        fmt::format("cd '{}' && '{}' -b '{}'", folder.path().string(), program->string(), netlist.string()));
    const auto seconds = reported(report, "Transient analysis time");
    const auto steps = reported(report, "Accepted timepoints");
    if (!seconds || !steps) return unavailable("ngspice failed: " + report.substr(0, 400));
    run.seconds = std::min(run.seconds, *seconds);
    run.steps = std::lround(*steps);
  }

  const auto points = read_time_points(output);
  if (points.size() < 6 || points.back().t < t_end * (1 - 1e-9)) {
    return unavailable("ngspice stopped before the end of the interval");
  }
  for (int i = 1; i <= samples; ++i) {
    const double t = i * t_end / samples;
    const TimePoint value = value_at(points, t);
    run.t.push_back(t), run.first.push_back(value.first), run.second.push_back(value.second);
  }
  run.available = true;
  return run;
}

}  // namespace tellegen
