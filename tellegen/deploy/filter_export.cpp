#include "tellegen/deploy/filter_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tellegen/deploy/c_names.h"
#include "tellegen/deploy/exchange_c.h"
#include "tellegen/deploy/fmu_archive.h"
#include "tellegen/estimate/filter_program.h"
#include "tellegen/estimate/record.h"
#include "tellegen/estimate/statistics.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/program/compile.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

class FilterExporter {
 public:
  FilterExporter(const Model& model, const FilterExportOptions& options)
      : model_(model), options_(options), name_(options.name), plant_(model, twin_options()) {
    if (options.sensors.empty())
      throw ModelError({{model.file.string(), 0},
                        "T621",
                        "the model has no sensors, and an estimator nothing to read",
                        {"add [sensors]"}});
    const FilterOptions filter = filter_options();
    const auto made = entry().make(plant_, filter);
    if (!made->executor().starts_with("generated"))
      throw ModelError(
          {{model.file.string(), 0},
           "T420",
           fmt::format("the estimator '{}' of this model cannot be exported as C: it is run by '{}'",
                       entry().name, made->executor()),
           {"kf, ekf, pkf, ukf and steady can, of a dozen states, where no equation has to be solved for a "
            "rate"}});
    program_ = std::make_unique<FilterProgram>(plant_, filter, made->process_noise(),
                                               *FilterFormulas::method_of(entry().name));
    registers_ = program_->memory();
    program_->prepare(registers_.data());
  }

  FilterExport run() {
    add_code();
    add("vector.h", vector());
    add("main.c", replay());
    add("CMakeLists.txt", cmake());
    add("README.md", readme());
    return std::move(result_);
  }

  FilterFmu run_fmu(int version) {
    add_code();
    FmuContent content;
    content.description = {.version = version,
                           .name = name_,
                           .title = model_.name,
                           .about = about_fmu(),
                           .step = options_.step,
                           .stop = model_.simulation.stop.value_or(1000.0 * options_.step),
                           .variables = fmu_variables()};
    content.exchange.refused = "an estimator goes from row to row";
    content.sources = std::move(result_.files);
    content.compiled = {name_ + ".c", name_ + "_filter.c", name_ + "_quantities.c"};
    content.header = [&](const ExportedDescription& fmu) { return fmu_header(fmu, content.exchange); };
    FilterFmu result{.fmu = {}, .left_out = result_.left_out};
    result.fmu.no_exchange = content.exchange.refused;
    for (const ExportedVariable& v : content.description.variables) {
      if (v.role == ExportedVariable::Role::input) result.fmu.inputs.push_back(v.name);
      if (v.role == ExportedVariable::Role::output) result.fmu.outputs.push_back(v.name);
    }
    pack_fmu(content, {model_.file.string(), 0}, result.fmu);
    return result;
  }

 private:
  void add_code() {
    name_members();
    build_quantities();
    measure();
    add(name_ + ".h", header());
    add(name_ + ".c", source());
    add(name_ + "_filter.c", filter_source());
    add(name_ + "_quantities.c", "#include \"tellegen_math.h\"\n\n" + c_source(quantities_, name_ + "_"));
    add("tellegen_math.h", std::string(runtime_source()));
  }

  std::string about_fmu() const {
    return fmt::format(
        "Estimator {}, a row every {:g} s from t = 0 on. All values are in SI units. A communication step "
        "takes "
        "the "
        "rows from where it begins to before where it ends, the first with the readings that were set, the "
        "others without any; outputs are the estimates of the last row taken, before the first what the "
        "model "
        "says, and NAME_sd is the standard deviation of NAME. A reading that is missing is not a number "
        "(NaN), "
        "which it "
        "is until it is set; it holds until it is set again.",
        entry().name, options_.step);
  }

  std::vector<ExportedVariable> fmu_variables() const {
    using Role = ExportedVariable::Role;
    std::vector<ExportedVariable> all{{"time", "s", "", Role::time}};
    for (int s : options_.sensors) {
      const ModelOutput& sensor = model_.outputs[static_cast<std::size_t>(s)];
      all.push_back({sensor.name, sensor_unit(s), "reading; not a number (NaN) where it is missing",
                     Role::input, std::numeric_limits<double>::quiet_NaN()});
    }
    const std::vector<double> start = start_inputs();
    for (std::size_t k = 0; k < options_.inputs.size(); ++k)
      all.push_back({options_.inputs[k], input_unit(options_.inputs[k]), "", Role::input, start[k]});
    for (std::size_t k : exported_) {
      const EstimatedQuantity& quantity = plant_.quantities()[k];
      const std::string unit = plant_.unit_of(quantity);
      all.push_back({quantity.name, unit, "estimate", Role::output});
      all.push_back({quantity.name + "_sd", unit, "standard deviation", Role::output, 0.0, true});
    }
    make_names_unique(all, "_estimate", "");
    return all;
  }

  std::string sensor_unit(int sensor) const {
    const ModelOutput& output = model_.outputs[static_cast<std::size_t>(sensor)];
    return plant_.unit_of({EstimatedQuantity::What::sensor, output.name, output.unit});
  }

  std::string input_unit(const std::string& name) const {
    for (const ModelParameter& p : model_.parameters)
      if (p.name == name) return p.unit;
    for (const ModelInput& input : model_.inputs)
      if (input.name == name) return input.unit;
    return {};
  }

  // What tellegen_fmu.h asks of a model.
  std::string fmu_header(const ExportedDescription& fmu, const ExchangeModel& exchange) const {
    std::string start;
    for (std::size_t k = 0; k < readings_.size(); ++k) start += "NAN, ";
    for (double value : start_inputs()) start += c_number(value) + ", ";
    std::string out = fmt::format(
        "/* The estimator for tellegen_fmu.h: readings, inputs and estimates as rows of numbers. */\n"
        "#include <math.h>\n#include <string.h>\n\n#include \"{0}.h\"\n\n#define FMU_TOKEN \"{1}\"\n"
        "#define FMU_STEP {2}\n#define FMU_READINGS {3}\n"
        "/* Rows before `to`. */\n#define FMU_STEPS_UNTIL(to) ceil((to) / FMU_STEP - 1e-6)\n"
        "#define FMU_FAILURE \"the estimator has no finite states\"\n"
        "enum {{ FMU_PARAMETERS = 0, FMU_INPUTS = {4}, FMU_OUTPUTS = {5} }};\n"
        "typedef {0}_state fmu_state;\n\n"
        "static const double fmu_start_values[FMU_INPUTS + 1] = {{{6}0.0}};\n\n"
        "static inline void fmu_model_init(fmu_state* s, double* y) {{\n  {0}_estimates row;\n"
        "  {0}_init(s);\n  {0}_now(s, &row);\n  memcpy(y, &row, sizeof row);\n}}\n\n",
        name_, fmu.token, c_number(options_.step), readings_.size(), readings_.size() + inputs_.size(),
        2 * estimates_.size(), start);
    out += fmt::format(
        "static inline int fmu_model_run(fmu_state* s, const double* u, long rows, double* y) {{\n"
        "  double given[FMU_READINGS];\n  {0}_readings readings;\n  {0}_estimates row;\n{1}  long k;\n"
        "  int j;\n  memcpy(given, u, sizeof given);\n  for (k = 0; k < rows; ++k) {{\n"
        "    memcpy(&readings, given, sizeof readings);\n"
        "    if ({0}_step(s, &readings{2}, &row) != 0) return 1;\n"
        "    for (j = 0; j < FMU_READINGS; ++j) given[j] = NAN; /* each counts once */\n  }}\n"
        "  if (rows > 0) memcpy(y, &row, sizeof row);\n  return 0;\n}}\n\n"
        "static inline int fmu_model_set(fmu_state* s, const double* p) {{\n  (void)s, (void)p;\n  return "
        "0;\n}}\n"
        "static inline double fmu_model_time(const fmu_state* s) {{ return FMU_STEP * (double)s->row; }}\n",
        name_, inputs_.empty() ? "" : fmt::format("  {0}_inputs inputs;\n", name_),
        inputs_.empty() ? "" : ", &inputs");
    if (!inputs_.empty()) {
      const std::string before = "  memcpy(given, u, sizeof given);\n";
      out.insert(out.find(before), "  memcpy(&inputs, u + FMU_READINGS, sizeof inputs);\n");
    }
    return out + exchange_header(exchange, name_);
  }

  void add(std::string name, std::string text) {
    result_.files.push_back({std::move(name), std::move(text)});
  }

  const EstimatorEntry& entry() const {
    return find_estimator(options_.estimator.empty() ? model_.estimation.estimator : options_.estimator,
                          model_.estimation.place);
  }

  TwinOptions twin_options() const {
    TwinOptions twin;
    twin.sensors = options_.sensors;
    twin.unknowns = model_.estimation.unknowns;
    twin.inputs = options_.inputs;
    twin.plain = entry().plain;
    twin.compile = false;
    twin.input_noise = true;
    return twin;
  }

  // As a twin has them.
  FilterOptions filter_options() const {
    FilterOptions filter;
    filter.step = options_.step;
    filter.compile = false;
    if (model_.estimation.gate) filter.gate = chi_square_quantile(*model_.estimation.gate, 1.0);
    return filter;
  }

  std::size_t states() const { return plant_.size(); }

  void name_members() {
    CMembers readings, inputs;
    for (int s : options_.sensors)
      readings_.push_back(readings.add(model_.outputs[static_cast<std::size_t>(s)].name));
    for (const std::string& input : options_.inputs) inputs_.push_back(inputs.add(input));
  }

  // Estimates and their slopes: roots of one program of states, time and inputs.
  void build_quantities() {
    QuantityCode code = plant_.quantity_code();
    CMembers members;
    for (std::size_t k : code.quantities) {
      const std::string& name = plant_.quantities()[k].name;
      estimates_.push_back(members.add(name));
      deviations_.push_back(members.add(name + " deviation"));
      result_.estimates.push_back(name);
    }
    for (const std::string& name : code.left_out)
      result_.left_out.push_back(name + ": it follows from equations that have to be solved");
    exported_ = std::move(code.quantities);
    numbers_ = std::move(code.numbers);
    column_ = std::move(code.column);
    first_slope_ = std::move(code.last);
    quantities_.program = std::move(code.program);
    quantities_.entries = {{"quantities", {run_section(0), run_section(1), emit(quantities_.program.roots)}}};
  }

  void measure() {
    const auto count = [&](std::span<const Instruction> code) {
      for (const Instruction& i : code)
        if (i.code != Code::number && i.code != Code::copy)
          ++(i.code == Code::call || i.code == Code::power || i.code == Code::lookup ? result_.functions
                                                                                     : result_.operations);
    };
    const Program& filter = program_->procedure().program;
    for (int section : program_->step_sections()) count(filter.section(section));
    count(quantities_.program.code);
    result_.state_bytes = 8 * (registers_.size() + inputs_.size() + 1);
  }

  std::string structure(const char* what, const std::vector<std::string>& lines) const {
    if (lines.empty()) return {};
    std::string out = "typedef struct {\n";
    for (const std::string& line : lines) out += "  " + line + "\n";
    return out + fmt::format("}} {}_{};\n\n", name_, what);
  }

  std::string inputs_parameter() const {
    return inputs_.empty() ? "" : fmt::format(", const {}_inputs* u", name_);
  }

  std::string header() const {
    std::string guard = name_;
    std::transform(guard.begin(), guard.end(), guard.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    std::string out = fmt::format(
        "/* {0}: estimator {1}, a row every {2:g} s. All numbers are in SI units.\n   Printed by Tellegen. "
        "*/\n"
        "#ifndef {3}_H\n#define {3}_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
        c_comment(model_.name), entry().name, options_.step, guard);
    const auto comment = [](const std::string& unit) {
      return unit.empty() ? "" : fmt::format("  /* SI unit of {} */", c_comment(unit));
    };
    std::vector<std::string> lines;
    for (std::size_t k = 0; k < readings_.size(); ++k)
      lines.push_back(fmt::format("double {};{}", readings_[k], comment(sensor_unit(options_.sensors[k]))));
    out += "/* What the sensors say; not a number (NAN of math.h) where a reading is missing. */\n";
    out += structure("readings", lines);
    lines.clear();
    for (const std::string& input : inputs_) lines.push_back(fmt::format("double {};", input));
    out += structure("inputs", lines);
    lines.clear();
    for (std::size_t k = 0; k < estimates_.size(); ++k)
      lines.push_back(fmt::format("double {}, {};{}", estimates_[k], deviations_[k],
                                  comment(plant_.unit_of(plant_.quantities()[exported_[k]]))));
    out += structure("estimates", lines);
    lines = {fmt::format("double w[{}];", registers_.size()),
             fmt::format("double u[{}];", inputs_.size() + 1), "long row;"};
    out += structure("state", lines);
    return out + fmt::format(
                     "/* Before the first row. */\nvoid {0}_init({0}_state* s);\n"
                     "/* The next row, and what is known then. 0, or 1 where the filter has no finite states "
                     "any more. */\n"
                     "int {0}_step({0}_state* s, const {0}_readings* y{1}, {0}_estimates* e);\n"
                     "/* What is known after the last row; before the first what the model says. */\n"
                     "void {0}_now(const {0}_state* s, {0}_estimates* e);\n"
                     "/* A state is plain bytes: sizeof({0}_state) of them. */\n"
                     "void {0}_save(const {0}_state* s, void* to);\n"
                     "void {0}_restore({0}_state* s, const void* from);\n\n"
                     "#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
                     name_, inputs_parameter());
  }

  template <class Values>
  static std::string whole_numbers(const char* name, const Values& values) {
    std::string out = fmt::format("static const int {}[{}] = {{", name, values.size() + 1);
    for (auto v : values) out += fmt::format("{}, ", v);
    return out + "0};\n";
  }

  std::string tables() const {
    std::string out = whole_numbers("column", column_) + whole_numbers("first_slope", first_slope_);
    std::vector<int> held;
    for (const std::string& input : options_.inputs) held.push_back(is_held(model_, input) ? 1 : 0);
    if (!held.empty()) out += whole_numbers("is_held", held);
    const auto real_numbers = [&](const char* name, const std::vector<double>& values) {
      out += fmt::format("static const double {}[{}] = {{", name, values.size() + 1);
      for (double v : values) out += c_number(v) + ", ";
      out += "0.0};\n";
    };
    if (!inputs_.empty()) real_numbers("start_inputs", start_inputs());
    real_numbers("numbers", numbers_);
    return out;
  }

  // As deviations_of() in estimate/filter.cpp, term by term.
  std::string deviation_function() const {
    return fmt::format(
        "\n/* The covariance is an upper triangle, row after row. */\n"
        "static double covariance(const double* p, int i, int j) {{\n"
        "  return i <= j ? p[i * {0} - i * (i + 1) / 2 + j] : p[j * {0} - j * (j + 1) / 2 + i];\n}}\n\n"
        "static double deviation(const double* p, const double* slope, int from, int to) {{\n"
        "  double variance = 0.0;\n  int i, j;\n  for (i = from; i < to; ++i) {{\n    double along = 0.0;\n"
        "    for (j = from; j < to; ++j) along += slope[j] * covariance(p, column[j], column[i]);\n"
        "    variance += slope[i] * along;\n  }}\n  return sqrt(variance > 0.0 ? variance : 0.0);\n}}\n",
        states());
  }

  std::string now_function() const {
    const FilterProgram::Places at = program_->places();
    const std::size_t n = states(), m = inputs_.size(), k = estimates_.size();
    std::string out = fmt::format(
        "\nvoid {0}_now(const {0}_state* s, {0}_estimates* e) {{\n  const double* w = s->w;\n"
        "  double given[{1}], row[{2}], *out = row;\n  int k;\n"
        "  for (k = 0; k < {3}; ++k) given[k] = w[k];\n  given[{3}] = w[{4}];\n"
        "  for (k = 0; k < {5}; ++k) given[{6} + k] = s->u[k];\n"
        "  for (k = 0; k < {7}; ++k) given[{8} + k] = numbers[k];\n  {0}_quantities(given, 0, &out);\n",
        name_, n + 1 + m + numbers_.size(), k + column_.size() + 1, n, at.time, m, n + 1, numbers_.size(),
        n + 1 + m);
    for (std::size_t i = 0; i < k; ++i)
      out += fmt::format(
          "  e->{0} = row[{1}];\n  e->{2} = deviation(w + {3}, row + {4}, {5}, first_slope[{1}]);\n",
          estimates_[i], i, deviations_[i], n, k, i == 0 ? "0" : fmt::format("first_slope[{}]", i - 1));
    return out + "}\n";
  }

  std::string step_function() const {
    const FilterProgram::Places at = program_->places();
    const std::size_t m = inputs_.size();
    std::string out = fmt::format(
        "\nint {0}_step({0}_state* s, const {0}_readings* y{1}, {0}_estimates* e) {{\n"
        "  double* w = s->w;\n",
        name_, inputs_parameter());
    if (m > 0) out += fmt::format("  double now[{}];\n  int k;\n", m);
    for (std::size_t i = 0; i < m; ++i) out += fmt::format("  now[{}] = u->{};\n", i, inputs_[i]);
    out += fmt::format("  if (s->row > 0) {{\n    w[{}] = {} * (double)(s->row - 1);\n", at.time,
                       c_number(options_.step));
    if (m > 0)
      out += fmt::format(
          "    for (k = 0; k < {0}; ++k) {{\n      w[{1} + k] = s->u[k];\n"
          "      w[{2} + k] = is_held[k] ? 0.0 : (now[k] - s->u[k]) / {3};\n    }}\n",
          m, at.u, at.du, c_number(options_.step));
    out += fmt::format("    {0}_predict(w, 0, 0);\n  }}\n  w[{1}] = {2} * (double)s->row;\n", name_, at.time,
                       c_number(options_.step));
    if (m > 0) out += fmt::format("  for (k = 0; k < {}; ++k) w[{} + k] = s->u[k] = now[k];\n", m, at.u);
    for (std::size_t i = 0; i < readings_.size(); ++i)
      out += fmt::format("  w[{}] = y->{};\n", static_cast<std::size_t>(at.reading) + i, readings_[i]);
    out += fmt::format("  {}_correct(w, 0, 0);\n  ++s->row;\n  if (!isfinite(w[0])) return 1;\n", name_);
    return out + fmt::format("  if (e) {}_now(s, e);\n  return 0;\n}}\n", name_);
  }

  std::string source() const {
    const std::string declared = "(double* w, const double** in, double** out);\n";
    std::string out =
        fmt::format("/* {0}. */\n#include \"{1}.h\"\n\n#include <math.h>\n#include <string.h>\n\n",
                    c_comment(model_.name), name_);
    for (const char* entry : {"predict", "correct", "quantities"})
      out += fmt::format("int {}_{}", name_, entry) + declared;
    out += fmt::format("extern const double {}_start[{}];\n\n", name_, registers_.size());
    out += tables() + deviation_function();
    out += fmt::format(
        "\nvoid {0}_init({0}_state* s) {{\n  memset(s, 0, sizeof *s);\n"
        "  memcpy(s->w, {0}_start, sizeof s->w);\n{1}}}\n",
        name_, inputs_.empty() ? "" : "  memcpy(s->u, start_inputs, sizeof s->u);\n");
    out += now_function() + step_function();
    return out + fmt::format(
                     "\nvoid {0}_save(const {0}_state* s, void* to) {{ memcpy(to, s, sizeof *s); }}\n"
                     "void {0}_restore({0}_state* s, const void* from) {{ memcpy(s, from, sizeof *s); }}\n",
                     name_);
  }

  std::string filter_source() const {
    Procedure procedure = program_->procedure();
    std::erase_if(procedure.entries,
                  [](const Entry& e) { return e.name != "predict" && e.name != "correct"; });
    std::string out = "#include \"tellegen_math.h\"\n\n" + c_source(procedure, name_ + "_");
    out += fmt::format("\nextern const double {0}_start[{1}];\nconst double {0}_start[{1}] = {{\n", name_,
                       registers_.size());
    for (double v : registers_) out += "  " + c_number(v) + ",\n";
    return out + "};\n";
  }

  // Rows as a record might have them: around the start, with noise and gaps.
  std::string vector() {
    FollowOptions follow;
    follow.sensors = options_.sensors;
    follow.inputs = options_.inputs;
    follow.step = options_.step;
    follow.estimator = entry().name;
    follow.compile = false;
    follow.anyway = true;
    Twin twin(model_, follow);
    const std::vector<double> base = start_inputs();
    Vector expected(static_cast<long>(readings_.size()));
    plant_.readings(plant_.start(), 0.0, base.data(), expected);
    std::uint64_t state = 1;
    const auto noise = [&] {  // between -1 and 1
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
    };
    std::string out;
    std::int64_t rows = 0;
    for (; rows < std::max<std::int64_t>(1, options_.vector); ++rows) {
      std::vector<double> readings, inputs;
      for (std::size_t k = 0; k < readings_.size(); ++k) {
        const double value = expected[static_cast<long>(k)] + plant_.noise()[k] * noise();
        readings.push_back((static_cast<std::size_t>(rows) + 3 * k) % 7 == 5
                               ? std::numeric_limits<double>::quiet_NaN()
                               : value);
      }
      // The first row has the model's own inputs: what begins at one of them begins there in both.
      for (double value : base)
        inputs.push_back(rows == 0 ? value : value + 0.01 * noise() * (value == 0.0 ? 1.0 : value));
      const Twin::Pushed pushed = twin.push(options_.step * static_cast<double>(rows), readings, inputs);
      if (pushed == Twin::Pushed::failed) break;
      const Twin::Quantities& quantities = twin.quantities();
      out += "  {";
      for (const auto& values : {inputs, readings})
        for (double v : values) out += (std::isnan(v) ? "NAN" : c_number(v)) + ", ";
      for (std::size_t k : exported_)
        out += c_number(quantities.mean[static_cast<long>(k)]) + ", " +
               c_number(quantities.deviation[static_cast<long>(k)]) + ", ";
      out += "},\n";
    }
    return fmt::format(
               "/* What Tellegen estimated: inputs, readings, then estimates and their deviations. */\n"
               "#include <math.h>\n\n#define VECTOR_ROWS {}\n#define VECTOR_INPUTS {}\n#define "
               "VECTOR_READINGS {}\n"
               "#define VECTOR_ESTIMATES {}\nstatic const double "
               "vector[VECTOR_ROWS][VECTOR_INPUTS + VECTOR_READINGS + VECTOR_ESTIMATES] = {{\n",
               rows, inputs_.size(), readings_.size(), 2 * estimates_.size()) +
           out + "};\n";
  }

  // At t = 0, as the model says.
  std::vector<double> start_inputs() const {
    std::vector<double> values;
    ExprMap<double> numbers{{model_.pool->symbol("t"), 0.0}};
    for (const ModelParameter& p : model_.parameters) numbers[p.symbol] = p.number;
    for (const std::string& name : options_.inputs) {
      double value = 0.0;
      for (const ModelParameter& p : model_.parameters)
        if (p.name == name) value = p.number;
      for (const ModelInput& input : model_.inputs)
        if (input.name == name) value = evaluate(expand_names(model_, input.value), numbers);
      values.push_back(value);
    }
    return values;
  }

  std::string replay() const {
    std::string inputs;
    if (!inputs_.empty()) inputs = fmt::format("    {0}_inputs u;\n    memcpy(&u, row, sizeof u);\n", name_);
    return fmt::format(
        "/* Replays vector.h: exit code 0 where every bit is the same. */\n"
        "#include <stdio.h>\n#include <string.h>\n\n#include \"{0}.h\"\n#include \"vector.h\"\n\n"
        "int main(void) {{\n  static {0}_state s;\n  {0}_init(&s);\n"
        "  for (int k = 0; k < VECTOR_ROWS; ++k) {{\n    const double* row = vector[k];\n"
        "    {0}_readings y;\n    {0}_estimates e;\n{1}"
        "    memcpy(&y, row + VECTOR_INPUTS, sizeof y);\n"
        "    if ({0}_step(&s, &y{2}, &e) != 0 ||\n"
        "        memcmp(&e, row + VECTOR_INPUTS + VECTOR_READINGS, sizeof e) != 0) {{\n"
        "      fprintf(stderr, \"row %d differs\\n\", k + 1);\n      return 1;\n    }}\n  }}\n"
        "  printf(\"%d rows agree to the last bit\\n\", VECTOR_ROWS);\n  return 0;\n}}\n",
        name_, inputs, inputs_.empty() ? "" : ", &u");
  }

  std::string cmake() const {
    return fmt::format(
        "cmake_minimum_required(VERSION 3.13)\nproject({0} C)\nset(CMAKE_C_STANDARD 99)\n"
        "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
        "add_library({0} STATIC {0}.c {0}_filter.c {0}_quantities.c)\n"
        "# The same bits everywhere: no contraction, no fast-math.\n"
        "target_compile_options({0} PRIVATE -ffp-contract=off)\n"
        "target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\ntarget_link_libraries({0} m)\n"
        "add_executable(replay main.c)\ntarget_link_libraries(replay {0})\n"
        "enable_testing()\nadd_test(NAME replay COMMAND replay)\n",
        name_);
  }

  std::string readme() const {
    std::string out = fmt::format(
        "# {0}\n\nAn estimator of a Tellegen model as C99: {1}, a row every {2:g} s. No allocation, no "
        "recursion, "
        "no\nglobal state; of the C library square roots and magnitudes alone. All numbers are in SI "
        "units.\n\n"
        "    cc -std=c99 -O2 -ffp-contract=off {3}.c {3}_filter.c {3}_quantities.c main.c -o replay -lm && "
        "./replay\n\n"
        "`replay` follows the rows of `vector.h` and fails where a bit differs from what Tellegen "
        "estimated.\n"
        "`{3}.h` has the functions.\n\n| a row | |\n| --- | --- |\n| operations | {4} |\n"
        "| calls of functions, powers, tables | {5} |\n| state | {6} bytes |\n",
        model_.name, entry().name, options_.step, name_, result_.operations, result_.functions,
        result_.state_bytes);
    if (!result_.left_out.empty()) {
      out += "\nNot exported:\n\n";
      for (const std::string& text : result_.left_out) out += "- " + text + "\n";
    }
    return out;
  }

  const Model& model_;
  const FilterExportOptions& options_;
  std::string name_;
  TwinModel plant_;
  std::unique_ptr<FilterProgram> program_;
  std::vector<double> registers_;  // of the filter, before its first row
  std::vector<std::string> readings_, inputs_, estimates_, deviations_;  // members
  std::vector<std::size_t> exported_;                                    // quantities
  Procedure quantities_;
  std::vector<double> numbers_;
  std::vector<std::int32_t> column_, first_slope_;  // of slopes: the state; of quantities: the end of theirs
  FilterExport result_;
};

}  // namespace

FilterExport export_filter(const Model& model, const FilterExportOptions& options) {
  return FilterExporter(model, options).run();
}

FilterFmu export_filter_fmu(const Model& model, const FilterExportOptions& options, int version) {
  return FilterExporter(model, options).run_fmu(version);
}

}  // namespace tellegen
