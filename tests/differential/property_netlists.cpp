// Netlists against ngspice. Both run with tight tolerances; rows near an edge of a switch are left out.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tellegen/netlist/netlist.h"
#include "tellegen/simulate/simulate.h"
#include "tests/differential/property.h"

namespace differential {
namespace {

namespace fs = std::filesystem;

struct Table {
  std::vector<double> t;
  std::map<std::string, std::vector<double>> columns;
};

// ngspice's binary raw file: a header in text, then a row of numbers for each time.
Table read_raw(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Table table;
  const std::size_t begin = bytes.find("Binary:\n");
  if (begin == std::string::npos) return table;
  std::istringstream head(bytes.substr(0, begin));
  std::vector<std::string> names;
  bool variables = false;
  for (std::string line; std::getline(head, line);) {
    if (line.rfind("Variables:", 0) == 0) {
      variables = true;
      continue;
    }
    std::istringstream fields(line);
    std::string number, name;
    if (variables && fields >> number >> name) names.push_back(name);
  }
  const std::size_t rows = (bytes.size() - begin - 8) / (8 * names.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < names.size(); ++c) {
      double v = 0.0;
      std::memcpy(&v, bytes.data() + begin + 8 + (r * names.size() + c) * 8, 8);
      if (c == 0)
        table.t.push_back(v);
      else
        table.columns[names[c]].push_back(v);
    }
  return table;
}

bool has_ngspice() {
  static const bool found = std::system("ngspice --version > /dev/null 2>&1") == 0;
  return found;
}

Table run_ngspice(const std::string& netlist) {
  const fs::path folder = fs::temp_directory_path() / ("tellegen-differential-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::string text = netlist;
  text.insert(text.find('\n') + 1, ".options reltol=1e-6 abstol=1e-12 vntol=1e-9 chgtol=1e-18 method=gear\n");
  std::ofstream(folder / "random.cir") << text;
  fs::remove(folder / "out.raw");
  const std::string command =
      "cd '" + folder.string() + "' && timeout 20 ngspice -b -r out.raw random.cir > log 2>&1";
  const int status = std::system(command.c_str());
  Table table = status == 0 ? read_raw(folder / "out.raw") : Table{};
  // It begins somewhere where its operating point is singular: a controlled source across an inductor.
  std::ifstream log(folder / "log");
  const std::string said{std::istreambuf_iterator<char>(log), {}};
  if (said.find("singular matrix") != std::string::npos) table = {};
  fs::remove_all(folder);
  return table;
}

Verdict compare(const tellegen::SimulationResult& ours, const Table& theirs) {
  if (theirs.t.size() < 3) return unknown("ngspice gives nothing");
  int checks = 0;
  std::map<char, double> largest;
  for (const auto& [name, column] : theirs.columns)
    for (double v : column) largest[name[0]] = std::max(largest[name[0]], std::abs(v));
  for (const double v : ours.values) largest['~'] = std::max(largest['~'], std::abs(v));
  for (const auto& [kind, size] : largest)
    if (!(size < 1e9)) return unknown("a source through a diode into an inductor: no circuit");
  for (std::size_t c = 0; c < ours.names.size(); ++c) {
    std::string name = ours.names[c];
    for (char& ch : name) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    const auto found = theirs.columns.find(name);
    if (found == theirs.columns.end()) continue;
    const std::vector<double>& column = found->second;
    double low = 1e300, high = -1e300;
    for (double v : column) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
    // ngspice's abstol, through a controlled source into an inductor for 2 ms, is a hundredth of the last.
    const double range = std::max({high - low, 0.02 * largest[name[0]], 1e-8});
    int wrong = 0;
    double worst = 0.0, want = 0.0, got = 0.0, when = 0.0;
    for (std::size_t r = 1; r < ours.t.size(); ++r) {
      // between the lowest and the highest of ngspice in a window of three of its steps
      const double t = ours.t[r];
      const auto begin = static_cast<std::size_t>(
          std::lower_bound(theirs.t.begin(), theirs.t.end(), t - 12e-6) - theirs.t.begin());
      double floor = 1e300, ceiling = -1e300;
      for (std::size_t k = begin ? begin - 1 : 0; k < theirs.t.size(); ++k) {
        floor = std::min(floor, column[k]);
        ceiling = std::max(ceiling, column[k]);
        if (theirs.t[k] > t + 12e-6) break;
      }
      const double v = ours.values[r * ours.names.size() + c];
      const double error = std::max({floor - v, v - ceiling, 0.0}) / range;
      if (error > 5e-3) ++wrong;
      if (error > worst) {
        worst = error;
        want = 0.5 * (floor + ceiling);
        got = v;
        when = t;
      }
    }
    ++checks;
    if (wrong > 3 && worst > 0.02)
      return failed(
          "differs from ngspice", want, got,
          ours.names[c] + " at t = " + number_text(when, 6) + ", " + std::to_string(wrong) + " rows");
  }
  if (checks == 0) return unknown("no variable in common");
  Verdict v;
  v.checks = checks;
  return v;
}

}  // namespace

Draft netlist_draft(Random& random) {
  Draft draft;
  draft.language = Draft::Language::netlist;
  draft.seed = random.bits();
  int count = 0;
  const auto add = [&](const std::string& letter, const std::string& rest) {
    draft.parts.push_back({letter + std::to_string(++count), rest, {}, {}});
    return draft.parts.back().name;
  };
  const auto value = [&](double size) { return number_text(size * random.logarithmic(0.2, 5)); };
  std::vector<std::string> nodes;
  const auto other = [&] {
    return nodes.empty() || random.chance(0.4) ? std::string("0") : random.pick(nodes);
  };
  const auto source = [&] {
    switch (random.below(4)) {
      case 0:
        return "dc " + value(2);
      case 1:
        return "sin(" + number_text(random.between(-1, 1)) + " " + value(2) + " " + value(1.0) + "k)";
      case 2:
        return "pulse(0 " + value(3) + " 0.1m 0.05m 0.05m 0.4m 1m)";
      default:
        return "pwl(0 0 0.3m " + value(2) + " 0.9m -" + value(1) + " 2m 0.5)";
    }
  };
  add("V", "n1 0 " + source());
  nodes.push_back("n1");
  const int cells = random.range(1, 4);
  std::string first_source = draft.parts[0].name;
  for (int k = 0; k < cells; ++k) {
    const std::string n = "n" + std::to_string(nodes.size() + 1);
    const std::string from = random.pick(nodes);
    switch (random.below(5)) {
      case 0:
        add("D", from + " " + n + " dmod");
        break;
      case 1: {
        add("L", from + " " + n + " " + value(1) + "m");
        break;
      }
      case 2:
        add("S", from + " " + n + " " + random.pick(nodes) + " 0 smod");
        break;
      default:
        add("R", from + " " + n + " " + value(1) + "k");
    }
    add("R", n + " " + other() + " " + value(1) + "k");
    if (random.chance(0.7)) add("C", n + " 0 " + value(0.3) + "u");
    nodes.push_back(n);
  }
  if (random.chance(0.3)) {
    const std::string n = "n" + std::to_string(nodes.size() + 1);
    switch (random.below(4)) {
      case 0:
        add("E", n + " 0 " + random.pick(nodes) + " 0 " + number_text(random.between(-2, 2)));
        break;
      case 1:
        add("G", n + " 0 " + random.pick(nodes) + " 0 " + number_text(random.between(-1, 1)) + "m");
        break;
      case 2:
        add("F", n + " 0 " + first_source + " " + number_text(random.between(-0.8, 0.8)));
        break;
      default:
        add("H", n + " 0 " + first_source + " " + value(0.3) + "k");
    }
    add("R", n + " 0 " + value(1) + "k");
    nodes.push_back(n);
  }
  if (random.chance(0.2)) {
    const std::string n = "n" + std::to_string(nodes.size() + 1);
    const std::string a = add("L", random.pick(nodes) + " 0 " + value(1) + "m");
    const std::string b = add("L", n + " 0 " + value(1) + "m");
    add("K", a + " " + b + " " + number_text(random.between(0.3, 0.95)));
    add("R", n + " 0 " + value(1) + "k");
    nodes.push_back(n);
  }
  draft.simulation = {{".model dmod d", "(is=1e-14 n=1.2)"},
                      {".model smod sw", "(vt=0.503 vh=0.2017 ron=10 roff=1meg)"},
                      {".tran", "5u 2m 0 5u"}};
  return draft;
}

Verdict check_netlist(const Draft& draft) {
  if (!has_ngspice()) return unknown("ngspice is not installed");
  const std::string text = draft.text();
  tellegen::SimulationResult ours;
  try {
    tellegen::ReadOptions reading;
    reading.library = TELLEGEN_SOURCE_DIR "/library";
    const tellegen::ConvertedNetlist converted = tellegen::convert_netlist_text(text, "random.cir", reading);
    const tellegen::Model model = tellegen::read_model_text(converted.toml, "random.toml", reading);
    tellegen::SimulationOptions options;
    options.method = options.form = options.start = "";
    options.event_bisections = 0;
    options.compile = false;
    options.tolerance = 1e-8;
    ours = tellegen::Simulation(model, tellegen::complete_options(model, options), {}).run();
  } catch (const tellegen::ModelError& error) {
    return refused(error.faults().empty() ? "no reason" : error.faults()[0].code);
  } catch (const tellegen::SimulationError& error) {
    return refused(std::string("SimulationError: ") + error.what());
  }
  if (!ours.failure.empty()) return refused("stopped");
  Verdict verdict = compare(ours, run_ngspice(text));
  // ngspice looks at its switches step by step, and what they charge keeps the error: short steps decide.
  for (const char* shorter : {" 0 0.1u", " 0 0.01u"}) {
    if (verdict.what != Verdict::What::failed) break;
    std::string finer = text;
    if (const std::size_t at = finer.find(" 0 5u"); at != std::string::npos) finer.replace(at, 5, shorter);
    verdict = compare(ours, run_ngspice(finer));
  }
  return verdict;
}

}  // namespace differential
