// Every kind of the library against the worked answers in its file: the given edge variables and node
// potentials are imposed by ideal sources on a network of that one component, which is simulated until the
// answer's time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path library = TELLEGEN_SOURCE_DIR "/library";

// Ideal sources of either sort in every domain: a library has no reason to offer all of them.
fs::path folder_with_sources(const std::vector<Domain>& domains) {
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("tellegen-kinds-{}", getpid());
  for (const Domain& d : domains) {
    if (d.through.empty()) continue;
    fs::create_directories(folder / d.name);
    for (const bool across : {true, false}) {
      std::ofstream(folder / d.name / (across ? "imposed_across.toml" : "imposed_through.toml"))
          << fmt::format(
                 "summary = \"imposes a variable\"\nedges = {{ s = [\"p\", \"n\"] }}\n[parameters]\n"
                 "X = {{ unit = \"{}\", summary = \"value\" }}\n[equations]\nterminal = [\"s.{} = X\"]\n",
                 across ? d.across_unit : d.through_unit, across ? d.across : d.through);
    }
  }
  return folder;
}

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
      for (int e = 0; e < static_cast<int>(kind_.edges.size()); ++e) {
        if (e == edge || (kind_.edges[e].from != n && kind_.edges[e].to != n)) continue;
        n = kind_.edges[e].from == n ? kind_.edges[e].to : kind_.edges[e].from;
        edge = e;
        break;
      }
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
    ADD_FAILURE() << kind_.name << ": the check gives '" << name
                  << "', which is no variable that could be imposed";
  }

  const Kind& kind_;
  const std::vector<Domain>& domains_;
  const KindCheck& check_;
  std::string sources_;
  int count_ = 0;
};

class Kinds : public testing::TestWithParam<std::string> {};

TEST_P(Kinds, gives_its_worked_answers) {
  Pool pool;
  const auto domains = read_domains(library);
  const fs::path folder = folder_with_sources(domains);
  std::string path = GetParam();
  std::replace(path.begin(), path.end(), '.', '/');
  const Kind kind = read_kind(pool, domains, library / (path + ".toml"), GetParam());
  ASSERT_FALSE(kind.checks.empty()) << "a kind shows a worked answer in [check]";
  for (std::size_t k = 0; k < kind.checks.size(); ++k)
    for (const char* form : {"tableau", "minimal"}) {
      const KindCheck& check = kind.checks[k];
      const std::string text = OneComponent(kind, domains, check).text();
      SCOPED_TRACE(fmt::format("check {} in {} form of\n{}", k + 1, form, text));
      ReadOptions read;
      read.library = library;
      const Model model = read_model_text(text, folder / "model.toml", read);
      std::vector<OutputColumn> outputs;
      for (const auto& [name, value] : check.expect)
        if (name != "t") outputs.push_back({name, "", parse_value(model, "x." + name, {})});
      SimulationOptions options;
      options.stop = check.expect.at("t");
      options.step = options.stop / 200;
      options.sample = options.stop;
      options.method = "tr";
      options.form = form;
      options.compile = false;
      const SimulationResult result = Simulation(model, options, outputs).run();
      ASSERT_EQ(result.failure, "");
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const double expected = check.expect.at(outputs[i].name);
        const double size = expected == 0.0 ? 1e-6 : std::abs(expected);  // picofarads are no rounding errors
        EXPECT_NEAR(result.values[outputs.size() + i], expected, check.tolerance * size) << outputs[i].name;
      }
    }
  fs::remove_all(folder);
}

// Of these the stored energy has no formula in their states: a charge that is an integral of a capacitance, a
// table's area, a main flux that saturates, a gas below its charge.
const std::vector<std::string> without_energy{"battery.equivalent_circuit",
                                              "battery.equivalent_circuit_thermal",
                                              "battery.rint",
                                              "electrical.bjt",
                                              "electrical.jfet",
                                              "electrical.junction_diode",
                                              "electrical.mosfet_level1",
                                              "electrical.mosfet_level2",
                                              "electrical.mosfet_level3",
                                              "electrical.vdmos",
                                              "hydraulic.gas_accumulator",
                                              "machines.induction_qd0_saturated",
                                              "machines.induction_vbr_saturated",
                                              "machines.induction_vbr_table",
                                              "machines.synchronous_qd0_saturated",
                                              "machines.synchronous_table",
                                              "machines.synchronous_vbr_saturated",
                                              "machines.synchronous_vbr_table"};

TEST_P(Kinds, stores_the_energy_that_flows_in_through_its_edges) {
  Pool pool;
  const auto domains = read_domains(library);
  std::string path = GetParam();
  std::replace(path.begin(), path.end(), '.', '/');
  const Kind kind = read_kind(pool, domains, library / (path + ".toml"), GetParam());
  std::vector<Expr> residuals;
  for (const KindEquation& e : kind.equations) residuals.push_back(e.residual);
  const auto symbols = symbols_of(residuals);
  const bool has_rates =
      std::any_of(symbols.begin(), symbols.end(), [](Expr s) { return s.name().starts_with("der("); });
  const bool listed =
      std::find(without_energy.begin(), without_energy.end(), GetParam()) != without_energy.end();
  EXPECT_EQ(has_rates && !kind.edges.empty() && !kind.energy, listed)
      << "a kind with states and edges says what it stores: energy = \"C/2*v^2\"";
  if (!kind.energy || kind.energy.is_number(0)) return;
  // In its differentiated variables alone.
  for (Expr s : symbols_of(std::span(&kind.energy, 1))) {
    const bool parameter = std::any_of(kind.parameters.begin(), kind.parameters.end(),
                                       [&](const KindParameter& p) { return p.name == s.name(); });
    const bool state = std::any_of(symbols.begin(), symbols.end(),
                                   [&](Expr r) { return r.name() == "der(" + s.name() + ")"; });
    EXPECT_TRUE(parameter || state) << s.name();
  }
  const fs::path folder = folder_with_sources(domains);
  for (const KindCheck& check : kind.checks) {
    const std::string text = OneComponent(kind, domains, check).text();
    SCOPED_TRACE(text);
    ReadOptions read;
    read.library = library;
    const Model model = read_model_text(text, folder / "model.toml", read);
    SimulationOptions options;
    options.stop = check.expect.at("t");
    options.step = options.stop / 1000;
    options.sample = options.stop / 50;
    options.method = "tr";
    options.compile = false;
    options.balance = Balance::by_component;
    const SimulationResult result = Simulation(model, options, {}).run();
    ASSERT_EQ(result.failure, "");
    ASSERT_TRUE(result.balance->checked) << result.balance->reason;
    EXPECT_LT(result.balance->error, 1e-4) << result.balance->brief();
  }
  fs::remove_all(folder);
}

// Parts of mechanisms are nothing by themselves: mechanisms_test.cpp has them.
std::vector<std::string> kinds_by_themselves() {
  std::vector<std::string> names = library_kinds(library);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("multibody."); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, Kinds, testing::ValuesIn(kinds_by_themselves()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace tellegen
