// Models made by hand for the tests of this folder: kinds with one edge from `p` to `n`, nodes made
// where they are first named ("datum" is that of the kind's domain), a line for every component.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tellegen/graph/graph.h"
#include "tellegen/model/model.h"

namespace tellegen {

class TestModel {
 public:
  enum KindNumber { voltage, capacitor, resistor, inductor, current, temperature, heat_resistor, heat };

  TestModel() {
    model.file = "models/test/model.toml";
    model.pool = std::make_shared<Pool>();
    model.domains = {{"electrical", "v", "v", "i", "V", "A"}, {"thermal", "T", "dT", "Q", "K", "W"}};
    const Expr v = symbol("v"), i = symbol("i"), dT = symbol("dT"), Q = symbol("Q"), t = symbol("t");
    add_kind("electrical.voltage_source", 0, v - t);
    add_kind("electrical.capacitor", 0, i - symbol("C") * symbol("der(v)"));
    add_kind("electrical.resistor", 0, v - symbol("R") * i);
    add_kind("electrical.inductor", 0, v - symbol("L") * symbol("der(i)"));
    add_kind("electrical.current_source", 0, i - t);
    add_kind("thermal.fixed_temperature", 1, dT - 300.0);
    add_kind("thermal.resistor", 1, dT - symbol("R") * Q);
    add_kind("thermal.heat_source", 1, Q - t);
  }

  // Adds a component, on the line after the last one's.
  TestModel& add(KindNumber kind, const std::string& name, const std::string& p, const std::string& n) {
    ++line_;
    const int domain = model.kinds[kind].edges[0].domain;
    const int a = node(p, domain), b = node(n, domain);
    model.components.push_back({name, kind, {a, b}, {}, {model.file.string(), line_}});
    return *this;
  }

  Expr symbol(const std::string& name) { return model.pool->symbol(name); }

  Model model;

 private:
  void add_kind(const std::string& name, int domain, Expr residual) {
    Kind kind;
    kind.name = name;
    kind.nodes = {{"p", domain}, {"n", domain}};
    kind.port_count = 2;
    const Domain& d = model.domains[domain];
    kind.edges = {{"e", 0, 1, domain, symbol(d.across), symbol(d.through)}};
    kind.equations = {{residual, "", 1}};
    model.kinds.push_back(kind);
  }

  int node(const std::string& name, int domain) {
    const std::string key = name == "datum" ? name + std::to_string(domain) : name;
    auto [found, is_new] = nodes_.try_emplace(key, static_cast<int>(model.nodes.size()));
    if (is_new) model.nodes.push_back({name, domain, name == "datum", line_, -1});
    return found->second;
  }

  std::unordered_map<std::string, int> nodes_;
  int line_ = 0;
};

// A graph of bare edges, for what needs no model.
inline LinearGraph bare_graph(std::int32_t nodes, const std::vector<std::pair<int, int>>& ends) {
  LinearGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) graph.model_node.push_back(n - 1);
  for (const auto& [from, to] : ends) graph.edges.push_back({{from}, {to}});
  return graph;
}

}  // namespace tellegen
