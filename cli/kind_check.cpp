#include "cli/kind_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tellegen/equations/delayed.h"
#include "tellegen/results/table.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

class OneComponent {
 public:
  OneComponent(const Kind& kind, const std::vector<Domain>& domains, const KindCheck& check)
      : kind_(kind), domains_(domains), check_(check) {}

  std::string text() {
    std::string component = fmt::format("x = {{ kind = \"{}\"", kind_.name);
    std::string initial;
    for (const auto& [name, value] : check_.given) {
      if (is_parameter(name))
        component += fmt::format(", {} = {:.17g}", name, value);
      else if (name.ends_with("(0)"))
        initial += fmt::format("\"x.{}\" = {:.17g}\n", name.substr(0, name.size() - 3), value);
      else
        impose(name, value);
    }
    for (const auto& [name, formula] : check_.formulas)
      component += fmt::format(", {} = \"{}\"", name, formula);
    for (const auto& [name, table] : check_.tables) {
      if (table->dimensions == 2) {
        component += fmt::format(", {} = {}", name, grid_text(*table));
        continue;
      }
      component += fmt::format(", {} = [", name);
      for (std::size_t k = 0; k < table->x.size(); ++k)
        component += fmt::format("[{:.17g}, {:.17g}], ", table->x[k], table->value(table->x[k]));
      component += "]";
    }
    for (int n = 0; n < kind_.port_count; ++n)
      component += fmt::format(", {} = \"{}\"", kind_.nodes[n].name, node(n));
    return "name = \"check\"\n[components]\n" + component + " }\n" + sources_ + "[initial]\n" + initial;
  }

 private:
  static std::string grid_text(const Table& table) {
    std::string axes, values;
    for (const auto& axis : table.axes) axes += fmt::format("[{:.17g}], ", fmt::join(axis, ", "));
    for (const double x : table.axes[0]) {
      values += "[";
      for (const double y : table.axes[1]) {
        const double at[] = {x, y};
        values += fmt::format("{:.17g}, ", table.value_at(at));
      }
      values += "], ";
    }
    const bool cubic = table.interpolation == Interpolation::cubic;
    return fmt::format("{{ axes = [{}], values = [{}], interpolation = \"{}\" }}", axes, values,
                       cubic ? "cubic" : "linear");
  }

  bool is_parameter(const std::string& name) const {
    for (const KindParameter& p : kind_.parameters)
      if (p.name == name) return true;
    return false;
  }

  std::string potential(int n) const {
    return kind_.nodes[n].name + "." + domains_[kind_.nodes[n].domain].node;
  }
  bool potential_given(int n) const { return check_.given.contains(potential(n)); }

  // Second ends stand on the datum, unless their potential is given or an edge that begins there is driven.
  std::string node(int n) const {
    if (n < 0) return "datum";
    if (std::find(check_.joined.begin(), check_.joined.end(), kind_.nodes[n].name) != check_.joined.end())
      return "joined";
    bool second = false, driven = potential_given(n);
    for (const KindEdge& e : kind_.edges) {
      second |= e.to == n;
      driven |=
          e.from == n && (check_.given.contains(e.across.name()) || check_.given.contains(e.through.name()));
    }
    return second && !driven ? "datum" : "at_" + kind_.nodes[n].name;
  }

  void add_source(const char* sort, int domain, const std::string& p, const std::string& n, double value) {
    sources_ += fmt::format("s{} = {{ kind = \"{}.{}\", p = \"{}\", n = \"{}\", X = {:.17g} }}\n", count_++,
                            domains_[domain].name, sort, p, n, value);
  }

  // The port at which a chain of edges through inner nodes ends. An inner node of a chain has two edges.
  int outer_end(int n, int edge) const {
    while (n >= kind_.port_count) {
      const int before = n;
      for (int e = 0; e < static_cast<int>(kind_.edges.size()); ++e) {
        if (e == edge || (kind_.edges[e].from != n && kind_.edges[e].to != n)) continue;
        n = kind_.edges[e].from == n ? kind_.edges[e].to : kind_.edges[e].from;
        edge = e;
        break;
      }
      if (n == before) break;  // a node at which only one edge ends
    }
    return n;
  }

  void impose(const std::string& name, double value) {
    for (int n = 0; n < static_cast<int>(kind_.nodes.size()); ++n)
      if (potential_given(n) && potential(n) == name)
        return add_source("imposed_across", kind_.nodes[n].domain, node(n), "datum", value);
    for (int e = 0; e < static_cast<int>(kind_.edges.size()); ++e) {
      const KindEdge& edge = kind_.edges[e];
      if (edge.across.name() == name)
        return add_source("imposed_across", edge.domain, node(edge.from), node(edge.to), value);
      if (edge.through.name() == name)  // what flows from p to n inside comes back outside
        return add_source("imposed_through", edge.domain, node(outer_end(edge.to, e)),
                          node(outer_end(edge.from, e)), value);
    }
    throw ModelError({kind_.place,
                      "T571",
                      fmt::format("kind '{}': a check gives '{}', which cannot be imposed", kind_.name, name),
                      {"given are parameters, the across or through of an edge, a node's potential, and "
                       "initial values \"x(0)\""}});
  }

  const Kind& kind_;
  const std::vector<Domain>& domains_;
  const KindCheck& check_;
  std::string sources_;
  int count_ = 0;
};

// The folder from which the kind's name leads to its file.
fs::path folder_of(const Kind& kind) {
  fs::path folder = fs::absolute(kind.place.file).parent_path();
  for (const char c : kind.name)
    if (c == '.') folder = folder.parent_path();
  return folder;
}

struct Answer {
  std::string failure;
  std::vector<double> values;  // as `expect` has its names, without t
};

Answer answer_of(const Model& model, const KindCheck& check, std::string_view form, int steps) {
  std::vector<OutputColumn> outputs;
  for (const auto& [name, value] : check.expect)
    if (name != "t") outputs.push_back({name, "", parse_value(model, "x." + name, {})});
  SimulationOptions options;
  options.stop = check.expect.at("t");
  options.step = options.stop / steps;
  options.sample = options.stop;
  options.method = "tr";
  options.form = form;
  for (const Kind& kind : model.kinds)
    for (const KindDiscrete& d : kind.discrete)
      if (is_delayed(d.update)) {  // a history is kept by the variable step alone
        options.method = "adaptive";
        options.form = "auto";
        options.step = 0.0;
        options.tolerance = 1e-9;
      }
  options.compile = false;
  const SimulationResult result = Simulation(model, options, outputs).run();
  Answer answer{result.failure, {}};
  if (result.failure.empty())
    answer.values.assign(result.values.end() - static_cast<std::ptrdiff_t>(outputs.size()),
                         result.values.end());
  return answer;
}

std::vector<std::string> differences(const KindCheck& check, const Answer& answer) {
  if (!answer.failure.empty()) return {"its run failed: " + answer.failure};
  std::vector<std::string> messages;
  std::size_t at = 0;
  for (const auto& [name, expected] : check.expect) {
    if (name == "t") continue;
    const double value = answer.values[at++];
    const double size = expected == 0.0 ? 1e-6 : std::abs(expected);  // picofarads are no rounding errors
    if (!(std::abs(value - expected) <= check.tolerance * size))
      messages.push_back(fmt::format(
          "{} = {} at t = {} s, and {} is expected (relative difference {}, "
          "tolerance {})",
          name, brief_number(value, 9), brief_number(check.expect.at("t"), 6), brief_number(expected, 9),
          brief_number(std::abs(value - expected) / size, 2), brief_number(check.tolerance, 2)));
  }
  return messages;
}

}  // namespace

KindChecks::KindChecks(const fs::path& library) : domains_(read_domains(library)) {
  std::string name = (fs::temp_directory_path() / "tellegen-kinds-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
  folder_ = name;
  fs::copy_file(library / "domains.toml", folder_ / "domains.toml");
  for (const Domain& d : domains_) {
    if (d.through.empty()) continue;
    fs::create_directories(folder_ / d.name);
    for (const bool across : {true, false}) {
      std::ofstream(folder_ / d.name / (across ? "imposed_across.toml" : "imposed_through.toml"))
          << fmt::format(
                 "summary = \"imposes a variable\"\nedges = {{ s = [\"p\", \"n\"] }}\n[parameters]\n"
                 "X = {{ unit = \"{}\", summary = \"value\" }}\n[equations]\nterminal = [\"s.{} = X\"]\n",
                 across ? d.across_unit : d.through_unit, across ? d.across : d.through);
    }
  }
}

KindChecks::~KindChecks() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string KindChecks::text(const Kind& kind, const KindCheck& check) const {
  return OneComponent(kind, domains_, check).text();
}

Model KindChecks::model(const Kind& kind, const KindCheck& check) const {
  ReadOptions read;
  read.library = folder_;
  return read_model_text(text(kind, check), folder_of(kind) / "the worked answer", read);
}

std::vector<WrongAnswer> KindChecks::wrong_answers(const Kind& kind, std::string_view form,
                                                   bool patient) const {
  std::vector<WrongAnswer> wrong;
  for (std::size_t k = 0; k < kind.checks.size(); ++k) {
    const KindCheck& check = kind.checks[k];
    const auto add = [&](const std::string& message) { wrong.push_back({k, message}); };
    const auto time = check.expect.find("t");
    if (time == check.expect.end() || !(time->second > 0.0)) {
      add("it has no time: expect = { t = 1e-3, v = 1.0 }, t above 0");
      continue;
    }
    if (check.expect.size() < 2) {
      add("it expects nothing: expect = { t = 1e-3, v = 1.0 }");
      continue;
    }
    try {
      const Model one = model(kind, check);
      std::vector<std::string> messages = differences(check, answer_of(one, check, form, 200));
      if (patient && !messages.empty()) messages = differences(check, answer_of(one, check, form, 20000));
      for (const std::string& message : messages) add(message);
    } catch (const ModelError& error) {
      for (const Fault& fault : error.faults()) add(fault.message);
    } catch (const SimulationError& error) {
      add(error.what());
    }
  }
  return wrong;
}

std::vector<CheckedKind> check_kinds(const fs::path& library, const std::vector<Kind>& kinds) {
  std::vector<CheckedKind> checked;
  std::vector<Fault> faults;
  const KindChecks checks(library);
  for (const Kind& kind : kinds) {
    if (kind.name.starts_with("multibody.")) continue;
    const std::vector<WrongAnswer> wrong = checks.wrong_answers(kind);
    for (std::size_t k = 0; k < wrong.size(); ++k) {
      if (k > 0 && wrong[k].check == wrong[k - 1].check) {
        faults.back().details.push_back(wrong[k].message);
        continue;
      }
      const std::size_t number = wrong[k].check + 1;
      faults.push_back({{kind.place.file, kind.checks[wrong[k].check].line},
                        "T571",
                        fmt::format("kind '{}' does not give {}", kind.name,
                                    kind.checks.size() == 1 ? std::string("its worked answer")
                                                            : fmt::format("its worked answer {}", number)),
                        {wrong[k].message}});
    }
    checked.push_back({kind.name, kind.place.file, kind.checks.size()});
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  return checked;
}

}  // namespace tellegen
