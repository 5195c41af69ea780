// Reads a model file and the files it uses into one flat Model.
//
// First pass (model_reader.cpp): what there is. Every file used is a Scope: its names, its components, its
// subsystems, each a Scope of its own with a prefix ("cell."). Plain numbers and quantities are taken at
// once. Second pass (model_names.cpp, model_values.cpp): what it means. Expressions may name anything in any
// order, so parameters, inputs and outputs are resolved when first asked for, which also finds circles. Last
// (model_studies.cpp) what studies of the model ask of it.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tellegen/model/arrays.h"
#include "tellegen/model/document.h"
#include "tellegen/model/mechanism_parts.h"
#include "tellegen/model/mechanism_trees.h"
#include "tellegen/model/model.h"
#include "tellegen/model/read.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/table_value.h"
#include "tellegen/multibody/mechanism.h"

namespace tellegen {

class ModelReader {
 public:
  explicit ModelReader(const ReadOptions& options, MechanismTrees* trees = nullptr);
  Model read(std::string_view text, const std::filesystem::path& file);

 private:
  static constexpr int datum_ref = -2;  // the datum of whichever domain is joined to it
  static constexpr int bad = -3;        // reported; what hangs on it stays silent

  // A parameter, an input, a sensor or an output of a file.
  struct Named {
    enum class What { parameter, input, sensor, output } what;
    const Value* entry = nullptr;
    const Value* given = nullptr;  // of a subsystem's parameter: the value its user gives
    enum class State { fresh, open, done } state = State::fresh;
    Expr meaning{};  // what stands for the name in expressions; empty: reported as wrong
    Expr value{};
    double number = 0.0;
    bool constant = true;
    std::string unit{}, summary{};
    std::optional<double> noise{}, lowest{}, highest{}, stuck{};
    Interpolation interpolation = Interpolation::linear;  // of an input
  };

  // An expression's text in one scope, resolved once.
  struct Resolved {
    Expr value{};  // empty: wrong
    bool constant = false;
    double number = 0.0;
    std::optional<std::string> unit{};  // known where the expression is a single name
    std::vector<Fault> faults{};        // to be said again at every place that has this text
  };

  struct Scope {
    const Document* document;
    std::filesystem::path folder;
    std::string prefix;
    int parent = -1;
    std::unordered_map<std::string_view, Named> names{};
    std::vector<std::string_view> order{};              // of names, as in the file
    std::unordered_map<std::string_view, int> ports{};  // exported: inner node to the user's node
    std::unordered_map<std::string_view, std::string> frame_ports{};  // the same for frames: full names
    std::unordered_map<std::string_view, bool> port_used{};
    std::unordered_map<std::string_view, int> children{};  // subsystems
    std::unordered_map<std::string_view, int> kinds{};
    std::unordered_map<std::string_view, std::vector<std::string>> unknown_kinds{};  // what to say about them
    std::unordered_map<std::string_view, Resolved> expressions{};
    TableMap tables{};                                  // of [tables]
    std::set<std::string, std::less<>> wrong_tables{};  // those with a fault, which has been reported
  };

  struct Found {
    Named* named = nullptr;
    int scope = -1;
    std::optional<VariableRef> variable{};
    bool datum = false;
  };

  struct Pending {  // a component's parameter that is an expression
    int component, parameter, scope;
    const Value* value;
  };

  // model_reader.cpp: structure
  Source source(int scope) { return {*scopes_[scope]->document, faults_}; }
  static std::unique_ptr<Document> read_document(std::string_view text, const std::filesystem::path& file);
  int open_scope(const Document& document, const std::filesystem::path& folder, std::string prefix,
                 int parent);
  void read_names(int scope, std::string_view section, Named::What what);
  void read_components(int scope);
  void read_component(int scope, const Value& entry);
  void read_array(int scope, const Value& entry);
  void read_parameter(int scope, int component, int parameter, const Value& value);
  int node_named(int scope, const Value& value, std::string_view component);
  int connect(int node, int domain, int component, int port, int line);
  int datum_of(int domain);
  void check_ports(int scope);
  void check_datums();
  void check_clashes();

  // mechanism_reader.cpp, mechanism_loads.cpp, mechanism_equations.cpp: components of mechanisms
  int begin_part(int scope, const Value& entry, int kind);
  bool read_reference(int component, int scope, const Value& entry, const Value& item);
  bool read_vector(int scope, int component, const Value& item, std::vector<char>& given);
  std::string frame_named(int scope, std::string_view name);
  bool has_frame(const Document& document, const std::filesystem::path& folder, std::string_view name,
                 int depth = 0);
  void join_frame(int scope, int inner, const Value& entry, const Value& item, const Value& port);
  void make_frames();
  void build_mechanism();
  std::vector<int> write_parts(const Mechanism& mechanism, const MechanismEquations& f);
  void write_followers(const Mechanism& mechanism, const MechanismEquations& f, const std::string& summary);
  void write_sensitivities(const Mechanism& mechanism, const MechanismEquations& f,
                           const MechanismEquations& system);
  bool report(const MechanismEquations& f);
  void promote_numbers();
  Mechanism describe_mechanism();
  Expr part_value(const MechanismPart& part, std::string_view name) const;
  Vec3 part_vector(const MechanismPart& part, const std::string& name) const;
  Vec3 direction(const MechanismPart& part, const std::string& name);
  void add_joint(const MechanismPart& part, Mechanism& mechanism);
  void add_constraint(const MechanismPart& part, Mechanism& mechanism);
  void add_load(const MechanismPart& part, Mechanism& mechanism);
  void add_stop(const MechanismPart& part, Mechanism& mechanism);
  Expr part_output(const MechanismPart& part, std::string_view name) const;
  int mechanism_joint(const MechanismPart& part, std::string_view key, const Mechanism& mechanism);
  Expr motion_in_time(const MechanismPart& part);
  int mechanism_frame(const MechanismPart& part, std::string_view key) const;
  void check_geometry(const MechanismPart& part);

  // model_files.cpp: kinds and subsystems
  int kind_named(int scope, const Value& value);
  int read_fmu(int scope, const Value& entry, const Value& kind);  // fmu_reader.cpp
  std::vector<std::string> kinds_within_reach(int scope) const;
  std::string kinds_that_fix(int domain);
  void read_subsystem(int scope, const Value& entry, const Value& file);
  const Document* document_of(const std::filesystem::path& file, const Place& from);
  bool contains_itself(int scope, const Value& at, const std::filesystem::path& file);

  // model_tables.cpp: [tables]
  void read_tables(int scope);
  bool names_values(int scope, const Value& value, const std::string& name, const Table& table);
  std::vector<ModelParameter> named_values(const Value& value, const std::string& name,
                                           const std::string& unit, const Table& table);
  std::shared_ptr<const Table> with_named_values(const Value& value, const std::string& unit,
                                                 const Table& table);
  void name_table_values();
  void name_table_values(const Pending& of);

  // model_names.cpp: what names and expressions stand for
  Found lookup(int scope, std::string_view name);
  Expr meaning_of(int scope, std::string_view name, std::vector<Fault>& faults);
  const Resolved& expression(int scope, const Value& at, std::string_view text);
  std::optional<std::string> unit_of(Expr value) const;
  Expr resolve(int scope, Named& named);
  bool check_unit_of(int scope, const Value& at, const std::optional<std::string>& unit,
                     std::string_view expected, std::string_view what);

  // model_values.cpp: parameters, inputs, outputs, initial values, the simulation's defaults
  void resolve_parameter(int scope, Named& named);
  void resolve_input(int scope, Named& named);
  void resolve_formula(int scope, Named& named);
  void resolve_everything();
  void resolve_components();
  void fill_defaults();
  void fill_default(int component, int parameter);
  void set_value(int component, int parameter, Expr value, bool constant, double number, const Place& place);
  void read_initial(int scope, const Value& table, const std::string& prefix);
  void read_steady(int scope, const Value& entry);
  void read_equilibrium(const Place& place);
  bool read_such_that(int scope, const Value& entry, const std::string& name, ModelInitial& initial);
  void read_simulation();
  void check_overrides();

  // model_studies.cpp: what the model is judged by, and what may be changed in it
  struct Constant {
    Expr value;
    double number;
  };
  std::optional<Constant> read_constant(const Value& value, std::string_view what, std::string_view unit,
                                        std::optional<std::string_view> bare_unit = std::nullopt);
  void read_stop(const Value& value, std::string_view what, std::optional<double>& number, Expr& formula);
  Expr read_condition(const Value& value, std::string_view what);
  int studied_parameter(const Value& at, const std::string& name, std::optional<std::string_view>& bare_unit);
  void read_runs();
  void read_run_parameters(const Value& table, const std::string& prefix, ModelRun& run);
  bool check_run_circles(const ModelRun& run, const Value& entry);
  ExprMap<double> numbers_in(const ModelRun& run) const;
  void read_objectives();
  bool read_objective(const Value& entry);
  std::string unit_of_formula(Expr symbol) const;
  Expr objective_formula(const Value& at, std::string_view text);
  void read_design();
  void read_experiment();
  ModelDesign read_variables_and_constraints(const Value& table, std::string section);
  void read_design_variables(const Value& table, const std::string& prefix, ModelDesign& design);
  void read_goals(const Value& value, double sign, ModelDesign& design);
  void read_constraint(const Value& item, ModelDesign& design);

  // model_estimation.cpp: what is to be found from measurements, and how
  void read_reading_limits(int scope, Named& named, std::string_view what, const std::string& unit);
  std::optional<double> read_number(const Value& table, std::string_view key, const std::string& what,
                                    std::string_view unit, bool difference, double lowest);
  void read_unknowns(const Value& table, const std::string& prefix);
  void read_unknown(const Value& entry, const std::string& name);
  void read_unknown_table(const Value& entry, ParameterTable& table);
  void read_unknown_value(const Value& entry, const std::string& what, int parameter);
  void read_noise(int scope, Named& named, std::string_view what, const std::string& unit);
  void read_biases();
  void read_bias(const Value& bias, int parameter, std::optional<double> noise);
  void replace_number(ModelParameter& parameter, const Value& at, bool difference);
  void read_estimation();
  void read_states(const Value& table, const std::string& prefix);
  void read_calibration();
  void read_stage(const Value& entry);
  std::vector<int> sensors_named(const Value& table, const std::string& what);
  std::vector<int> unknowns_named(const Value& table, std::string_view key, const std::string& what);

  ReadOptions options_;
  int suggestions_left_ = 100;  // of names in expressions: each searches the whole model
  Model model_;
  FaultList faults_;
  TableReader tables_;
  ComponentArrays arrays_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::map<std::filesystem::path, std::unique_ptr<Document>> documents_;  // null: it had faults
  std::map<std::filesystem::path, int> kind_files_;
  std::vector<std::filesystem::path> open_files_;  // from the model down to the subsystem being read
  std::unordered_map<std::string, Value*> overrides_;
  std::set<std::string> made_;  // parameters that stand in no [parameters]: biases, values of tables
  std::deque<Value> override_values_;
  std::vector<int> datums_;                     // per domain: its node, -1 if none
  std::vector<std::pair<int, int>> node_user_;  // per node: component and port that gave it its domain
  std::vector<Pending> pending_;
  std::vector<Pending> named_tables_;   // components' tables with `parameters = true`
  std::vector<std::string> resolving_;  // names being resolved, outermost first
  ExprMap<double> numbers_;             // of parameters' symbols
  ExprMap<std::string> symbol_units_;   // of parameters' and inputs' symbols
  ExprMap<Expr> input_values_;
  std::unordered_map<std::string, std::size_t> initial_of_;
  std::vector<MechanismPart> parts_;
  std::unordered_map<std::string, int> frames_;  // their components, by full name; they follow one another
  int first_frame_ = 0;
  MechanismTrees* trees_ = nullptr;
  std::unordered_map<int, std::vector<KindInitial>> starts_;  // of parts, as their kinds have them
  std::unordered_map<std::string, int> mechanism_joints_;     // in Mechanism::joints, by full name
};

}  // namespace tellegen
