// Reads one kind file. kind_reader.cpp has its structure, kind_formulas.cpp what is written in its names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/kind.h"
#include "tellegen/model/reading.h"

namespace tellegen {

class KindReader {
 public:
  KindReader(Pool& pool, const std::vector<Domain>& domains, const Document& document, FaultList& faults,
             const std::string& name);
  Kind read();

 private:
  // What a name may stand for, in the order in which a reader would look.
  enum class Meaning { parameter, table, variable, discrete, node, output, time };
  struct Named {
    Meaning meaning;
    int index = -1;  // parameter, node or output
    Expr symbol{};
  };

  // kind_reader.cpp
  int domain_of(const Value& at, std::string_view name) const;  // -1: unknown, reported
  void find_default_domain();
  void read_edges(const Value& edges);
  void read_edge(const Value& edge);
  int node_of(const Value& end, const Value& edge, int domain);
  void read_distinct(const Value& list);
  void read_nodes();
  void read_parameters(const Value& table);
  void read_parameter(const Value& entry);
  void read_variables(const Value& table);
  void declare_discrete(const Value& table);
  void check_port_names();

  // kind_formulas.cpp
  void name_everything();
  void define(const Value& at, const std::string& name, Named named);
  void read_defaults();
  void order_defaults();
  void read_outputs();
  Expr output(int index);
  void read_equations();
  void read_discrete();
  void read_initial();
  void read_steady();
  void read_energy();
  void read_requirements();
  KindEquation equation(const Value& entry, std::string_view what);
  void check_optional();
  void read_checks();
  void read_check(const Value& table);
  Expr formula(const Value& at, std::string_view text, std::string_view what, bool parameters_only);
  Expr resolve(const Value& at, Expr raw, std::string_view what, bool parameters_only);
  Expr meaning_of(const Value& at, Expr symbol, std::string_view what, bool parameters_only);
  const Named* find(std::string_view name) const;
  std::vector<std::string> all_names(bool parameters_only) const;

  Pool& pool_;
  const std::vector<Domain>& domains_;
  const Document& document_;
  Source source_;
  const Value& root_;
  Kind kind_;
  int default_domain_ = -1;
  std::vector<const Value*> parameter_entries_, variable_entries_, output_entries_, edge_entries_;
  std::vector<const Value*> discrete_entries_;
  std::vector<int> output_state_;  // 0 not yet, 1 being written out, 2 done
  std::vector<int> node_edge_;     // the edge from which a node has its domain
  std::map<std::string, Named, std::less<>> names_;
  TableMap tables_;
};

}  // namespace tellegen
