#include "benchmarks/readers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>

#include "benchmarks/child_process.h"
#include "benchmarks/report.h"
#include "tellegen/data/table_source.h"
#include "tellegen/graph/faults.h"
#include "tellegen/graph/tree.h"
#include "tellegen/model/csv.h"
#include "tellegen/model/read.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// A file for this process only, gone when it is.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view name)
      : path_(fs::temp_directory_path() / fmt::format("tellegen-{}-{}", getpid(), name)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A grid of resistors with a capacitor to the datum at every node, fed in one corner. Values as users write
// them: bare numbers, quantities, and now and then a formula.
Found write_model(const fs::path& file, std::int64_t components) {
  std::ofstream out(file);
  std::mt19937_64 random(3);
  const auto width = std::max<std::int64_t>(2, std::llround(std::sqrt(static_cast<double>(components) / 3)));
  Found made;
  const auto resistor = [&](std::int64_t x, std::int64_t y, std::int64_t to_x, std::int64_t to_y) {
    if (made.components >= components) return;
    const auto ohms = static_cast<double>(1 + random() % 1000);
    std::string value;
    switch (random() % 8) {
      case 0:
        value = fmt::format("\"{}*scale\"", ohms);
        break;
      case 1:
      case 2:
        value = fmt::format("{}", ohms);
        break;
      default:
        value = fmt::format("\"{} ohm\"", ohms);
    }
    out << fmt::format("r{} = {{ kind = \"electrical.resistor\", p = \"n{}_{}\", n = \"n{}_{}\", R = {} }}\n",
                       made.components, x, y, to_x, to_y, value);
    ++made.components;
    made.sum += ohms;
  };
  out << "name = \"grid\"\n\n[parameters]\nscale = 1\n\n[components]\n"
         "source = { kind = \"electrical.voltage_source\", p = \"n0_0\", n = \"datum\", V = \"5 V\" }\n";
  made.components = 1;
  made.nodes = 1;
  for (std::int64_t y = 0; made.components < components; ++y)
    for (std::int64_t x = 0; x < width && made.components < components; ++x) {
      made.nodes += x + y > 0;
      out << fmt::format(
          "c{} = {{ kind = \"electrical.capacitor\", p = \"n{}_{}\", n = \"datum\", C = \"{} nF\" }}\n",
          made.components, x, y, 1 + random() % 100);
      ++made.components;
      if (x > 0) resistor(x, y, x - 1, y);
      if (y > 0) resistor(x, y, x, y - 1);
    }
  out << "\n[simulation]\nstop = \"1 ms\"\nstep = \"1 us\"\n";
  made.edges = made.components;
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
  return made;
}

Found read(const Model& model) {
  const LinearGraph graph = build_graph(model);
  const Tree tree = normal_tree(graph);
  if (!topology_faults(model, graph, tree).empty()) throw std::runtime_error("the graph has faults");
  Found found;
  found.components = static_cast<std::int64_t>(model.components.size());
  found.nodes = graph.node_count() - 1;
  found.edges = graph.edge_count();
  for (const Component& c : model.components) {
    const Kind& kind = model.kinds[c.kind];
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      if (kind.parameters[k].name == "R") found.sum += c.values[k].number;
  }
  return found;
}

Found write_table(const fs::path& file, std::int64_t bytes) {
  constexpr int columns = 9;
  std::ofstream out(file);
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  Found made;
  made.columns = columns;
  out << "t [s]";
  for (int c = 0; c < columns; ++c) out << fmt::format(",x{} [V]", c);
  out << '\n';
  std::int64_t written = 0;
  for (std::string line; written < bytes; written += static_cast<std::int64_t>(line.size())) {
    const double t = 1e-3 * static_cast<double>(made.rows++);
    made.sum += t;
    line = fmt::format("{}", t);
    for (int c = 0; c < columns; ++c) {
      const double value = std::floor(1e6 * normal(random)) / 1e6;
      made.sum += value;
      line += fmt::format(",{}", value);
    }
    line += '\n';
    out << line;
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
  return made;
}

Found read(const CsvFile& csv) {
  Found found;
  found.columns = static_cast<std::int64_t>(csv.columns.size()) - 1;
  found.rows = static_cast<std::int64_t>(csv.lines.size());
  for (std::int64_t r = 0; r < found.rows; ++r)
    for (const auto& column : csv.columns) found.sum += column[r];
  return found;
}

Found read(const Trajectory& trajectory) {
  Found found;
  found.columns = static_cast<std::int64_t>(trajectory.columns());
  found.rows = static_cast<std::int64_t>(trajectory.rows());
  for (std::int64_t r = 0; r < found.rows; ++r) {
    found.sum += trajectory.t[r];
    for (double value : trajectory.row(r)) found.sum += value;
  }
  return found;
}

// Block by block: nothing of the file is kept. The sum is taken row by row, as the others take it.
Found read_blocks(const fs::path& file) {
  const auto table = open_table(file, {});
  Found found;
  std::vector<int> all;
  for (std::size_t k = 0; k < table->columns().size(); ++k) all.push_back(static_cast<int>(k));
  table->choose(all);
  found.columns = static_cast<std::int64_t>(all.size()) - 1;
  for (TableBlock block; table->next(block);) {
    found.rows += static_cast<std::int64_t>(block.rows);
    for (std::size_t r = 0; r < block.rows; ++r)
      for (const auto& column : block.columns) found.sum += column[r];
  }
  return found;
}

template <class Write, class Read>
std::optional<Reading> measure_reading(std::string_view name, Write write, Read take) {
  const TemporaryFile file(name);
  Reading made;
  made.expected = write(file.path());
  made.megabytes = 1e-6 * static_cast<double>(fs::file_size(file.path()));
  return run_in_child([&] {
    Reading reading = made;
    const auto begin = std::chrono::steady_clock::now();
    reading.found = take(file.path());
    reading.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    reading.peak_megabytes = peak_megabytes();
    return reading;
  });
}

}  // namespace

std::optional<Reading> read_large_model(std::int64_t components) {
  return measure_reading(
      "grid.toml", [&](const fs::path& file) { return write_model(file, components); },
      [](const fs::path& file) { return read(read_model(file)); });
}

std::optional<Reading> read_large_table(std::int64_t bytes) {
  return measure_reading(
      "table.csv", [&](const fs::path& file) { return write_table(file, bytes); },
      [](const fs::path& file) {
        return read(read_csv(file, {file.string(), 0}));
      });
}

std::optional<Reading> read_large_trajectory(std::int64_t bytes) {
  return measure_reading(
      "run.csv", [&](const fs::path& file) { return write_table(file, bytes); },
      [](const fs::path& file) { return read(read_csv(file)); });
}

std::optional<Reading> read_large_record(std::int64_t bytes) {
  return measure_reading(
      "record.csv", [&](const fs::path& file) { return write_table(file, bytes); }, read_blocks);
}

bool run_readers(const ReadersOptions& options) {
  Report report;
  report.begin({"large inputs", "files generated from a seed, read in a process of its own each",
                "components, nodes and edges found; rows, columns and the sum of all numbers",
                "exactly what was written"});
  TextTable table{{"input", "file MB", "found", "seconds", "peak MB"}, {}};
  const auto row = [&](const std::string& name, const std::optional<Reading>& reading,
                       const std::string& what) {
    if (!report.require(reading && reading->found == reading->expected, name)) {
      table.rows.push_back({name, "", "wrong", "", ""});
      return;
    }
    table.rows.push_back(
        {name, cell(reading->megabytes), what, cell(reading->seconds), cell(reading->peak_megabytes, 4)});
  };
  const auto model = read_large_model(options.components);
  row("model: read, checked, graph", model,
      model ? fmt::format("{} components, {} nodes", model->found.components, model->found.nodes) : "");
  const auto cells = [](const std::optional<Reading>& r) {
    return r ? fmt::format("{} rows of {} columns", r->found.rows, r->found.columns + 1) : "";
  };
  const auto csv = read_large_table(options.csv_bytes);
  row("CSV as a model's table", csv, cells(csv));
  const auto run = read_large_trajectory(options.csv_bytes);
  row("CSV as a reference", run, cells(run));
  const auto record = read_large_record(options.record_bytes);
  row("CSV as a record", record, cells(record));
  report.table("Large inputs", table);
  if (record && options.record_bytes >= 1'000'000'000) {
    report.add({"record of 1 GB: MB/s", record->megabytes / record->seconds, 150, true,
                "one core, the reader alone"});
    report.add({"record of 1 GB: MB", record->peak_megabytes, 100, false, "peak resident memory"});
  }
  if (model && options.components >= 1'000'000) {
    report.add(
        {"model of 10^6 components: seconds", model->seconds, 60, false, "read, checked, graph built"});
    report.add({"model of 10^6 components: MB", model->peak_megabytes, 4000, false, "peak resident memory"});
  }
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << '\n';
  return !report.failed();
}

}  // namespace tellegen
