#include "tellegen/deploy/filter_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "tellegen/deploy/c_names.h"
#include "tellegen/deploy/exchange_c.h"
#include "tellegen/deploy/fmu_archive.h"
#include "tellegen/deploy/single_filter.h"
#include "tellegen/estimate/filter_program.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/program/compile.h"
#include "tellegen/records/record.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

class FilterExporter {
 public:
  FilterExporter(const Model& model, const FilterExportOptions& options)
      : model_(model), options_(options), name_(options.name), filter_(model, options, "C") {
    program_ =
        std::make_unique<FilterProgram>(plant_, filter_.options, filter_.process_noise, filter_.method());
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
    add(name_ + "_quantities.c",
        math() + (single() ? c_single_source(quantities_, quantity_reals_, name_ + "_")
                           : c_source(quantities_, name_ + "_")));
    add("tellegen_math.h", std::string(runtime_source()));
    if (single()) add("tellegen_single.h", std::string(runtime_source("tellegen_single.h")));
  }

  bool single() const { return options_.single; }
  const char* real() const { return single() ? "float" : "double"; }
  std::string number(double value) const { return single() ? c_single_number(value) : c_number(value); }
  std::string math() const {
    return fmt::format("#include \"{}\"\n\n", single() ? "tellegen_single.h" : "tellegen_math.h");
  }
  // Of functions that are printed.
  const char* declared() const {
    return single() ? "(float* w, double* p, const float** in, float** out);\n"
                    : "(double* w, const double** in, double** out);\n";
  }
  std::string time_register() const {
    const std::int32_t time = program_->places().time;
    return single() ? fmt::format("s->p[{}]", filter_reals_.slot[static_cast<std::size_t>(time)])
                    : fmt::format("w[{}]", time);
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

  const EstimatorEntry& entry() const { return filter_.entry; }

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
    if (!single()) return;
    // Time, and what grows with it, stays double.
    filter_reals_ = single_precision(filter_procedure(), std::array{program_->places().time});
    quantity_reals_ = single_precision(quantities_, std::array{static_cast<std::int32_t>(states())});
  }

  // What is printed of the filter.
  Procedure filter_procedure() const {
    Procedure procedure = program_->procedure();
    std::erase_if(procedure.entries,
                  [](const Entry& e) { return e.name != "predict" && e.name != "correct"; });
    return procedure;
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
    result_.state_bytes = (single() ? 4 : 8) * (registers_.size() + inputs_.size()) + 8 +
                          8 * static_cast<std::size_t>(filter_reals_.slots);
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
      lines.push_back(
          fmt::format("{} {};{}", real(), readings_[k], comment(sensor_unit(options_.sensors[k]))));
    out += "/* What the sensors say; not a number (NAN of math.h) where a reading is missing. */\n";
    out += structure("readings", lines);
    lines.clear();
    for (const std::string& input : inputs_) lines.push_back(fmt::format("{} {};", real(), input));
    out += structure("inputs", lines);
    lines.clear();
    for (std::size_t k = 0; k < estimates_.size(); ++k)
      lines.push_back(fmt::format("{} {}, {};{}", real(), estimates_[k], deviations_[k],
                                  comment(plant_.unit_of(plant_.quantities()[exported_[k]]))));
    out += structure("estimates", lines);
    lines = {fmt::format("{} w[{}];", real(), registers_.size()),
             fmt::format("{} u[{}];", real(), inputs_.size() + 1), "long row;"};
    if (single())
      lines.push_back(fmt::format("double p[{}];  /* time, and what grows with it */", filter_reals_.slots));
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
    const std::vector<char> is_held = held_inputs();
    if (!is_held.empty()) out += whole_numbers("is_held", std::vector<int>(is_held.begin(), is_held.end()));
    const auto real_numbers = [&](const char* name, const std::vector<double>& values) {
      out += fmt::format("static const {} {}[{}] = {{", real(), name, values.size() + 1);
      for (double v : values) out += number(v) + ", ";
      out += number(0.0) + "};\n";
    };
    if (!inputs_.empty()) real_numbers("start_inputs", start_inputs());
    real_numbers("numbers", numbers_);
    return out;
  }

  // As deviations_of() in estimate/filter.cpp, term by term.
  std::string deviation_function() const {
    return fmt::format(
        "\n/* The covariance is an upper triangle, row after row. */\n"
        "static {1} covariance(const {1}* p, int i, int j) {{\n"
        "  return i <= j ? p[i * {0} - i * (i + 1) / 2 + j] : p[j * {0} - j * (j + 1) / 2 + i];\n}}\n\n"
        "static {1} deviation(const {1}* p, const {1}* slope, int from, int to) {{\n"
        "  {1} variance = {2};\n  int i, j;\n  for (i = from; i < to; ++i) {{\n    {1} along = {2};\n"
        "    for (j = from; j < to; ++j) along += slope[j] * covariance(p, column[j], column[i]);\n"
        "    variance += slope[i] * along;\n  }}\n  return {3}(variance > {2} ? variance : {2});\n}}\n",
        states(), real(), number(0.0), single() ? "sqrtf" : "sqrt");
  }

  std::string now_function() const {
    const std::size_t n = states(), m = inputs_.size(), k = estimates_.size();
    // Long programs keep registers behind what is given (program/repeats.h).
    std::string out = fmt::format(
        "\nvoid {0}_now(const {0}_state* s, {0}_estimates* e) {{\n  const {1}* w = s->w;\n"
        "  {1} given[{2}], row[{3}], *out = row;\n{4}  int k;\n"
        "  for (k = 0; k < {5}; ++k) given[k] = w[k];\n",
        name_, real(), quantities_.program.registers, k + column_.size() + 1,
        single() ? fmt::format("  double precise[{}];\n", quantity_reals_.slots) : "", n);
    out += single() ? fmt::format("  memset(precise, 0, sizeof precise);\n  precise[{}] = {};\n",
                                  quantity_reals_.slot[n], time_register())
                    : fmt::format("  given[{}] = {};\n", n, time_register());
    out += fmt::format(
        "  for (k = 0; k < {1}; ++k) given[{2} + k] = s->u[k];\n"
        "  for (k = 0; k < {3}; ++k) given[{4} + k] = numbers[k];\n  {0}_quantities(given, {5}0, &out);\n",
        name_, m, n + 1, numbers_.size(), n + 1 + m, single() ? "precise, " : "");
    for (std::size_t i = 0; i < k; ++i)
      out += fmt::format(
          "  e->{0} = row[{1}];\n  e->{2} = deviation(w + {3}, row + {4}, {5}, first_slope[{1}]);\n",
          estimates_[i], i, deviations_[i], n, k, i == 0 ? "0" : fmt::format("first_slope[{}]", i - 1));
    return out + "}\n";
  }

  std::string step_function() const {
    const FilterProgram::Places at = program_->places();
    const std::size_t m = inputs_.size();
    const char* const precise = single() ? "s->p, " : "";
    std::string out = fmt::format(
        "\nint {0}_step({0}_state* s, const {0}_readings* y{1}, {0}_estimates* e) {{\n"
        "  {2}* w = s->w;\n",
        name_, inputs_parameter(), real());
    if (m > 0) out += fmt::format("  {} now[{}];\n  int k;\n", real(), m);
    for (std::size_t i = 0; i < m; ++i) out += fmt::format("  now[{}] = u->{};\n", i, inputs_[i]);
    out += fmt::format("  if (s->row > 0) {{\n    {} = {} * (double)(s->row - 1);\n", time_register(),
                       c_number(options_.step));
    if (m > 0)
      out += fmt::format(
          "    for (k = 0; k < {0}; ++k) {{\n      w[{1} + k] = s->u[k];\n"
          "      w[{2} + k] = is_held[k] ? {4} : (now[k] - s->u[k]) / {3};\n    }}\n",
          m, at.u, at.du, number(options_.step), number(0.0));
    out += fmt::format("    {0}_predict(w, {3}0, 0);\n  }}\n  {1} = {2} * (double)s->row;\n", name_,
                       time_register(), c_number(options_.step), precise);
    if (m > 0) out += fmt::format("  for (k = 0; k < {}; ++k) w[{} + k] = s->u[k] = now[k];\n", m, at.u);
    for (std::size_t i = 0; i < readings_.size(); ++i)
      out += fmt::format("  w[{}] = y->{};\n", static_cast<std::size_t>(at.reading) + i, readings_[i]);
    out += fmt::format("  {}_correct(w, {}0, 0);\n  ++s->row;\n  if (!isfinite(w[0])) return 1;\n", name_,
                       precise);
    return out + fmt::format("  if (e) {}_now(s, e);\n  return 0;\n}}\n", name_);
  }

  std::string source() const {
    std::string out =
        fmt::format("/* {0}. */\n#include \"{1}.h\"\n\n#include <math.h>\n#include <string.h>\n\n",
                    c_comment(model_.name), name_);
    for (const char* entry : {"predict", "correct", "quantities"})
      out += fmt::format("int {}_{}", name_, entry) + declared();
    for (const auto& [type, name, size] : start_tables())
      out += fmt::format("extern const {} {}[{}];\n", type, name, size);
    out += "\n" + tables() + deviation_function();
    out += fmt::format(
        "\nvoid {0}_init({0}_state* s) {{\n  memset(s, 0, sizeof *s);\n"
        "  memcpy(s->w, {0}_start, sizeof s->w);\n{1}{2}}}\n",
        name_, single() ? fmt::format("  memcpy(s->p, {}_start_p, sizeof s->p);\n", name_) : "",
        inputs_.empty() ? "" : "  memcpy(s->u, start_inputs, sizeof s->u);\n");
    out += now_function() + step_function();
    return out + fmt::format(
                     "\nvoid {0}_save(const {0}_state* s, void* to) {{ memcpy(to, s, sizeof *s); }}\n"
                     "void {0}_restore({0}_state* s, const void* from) {{ memcpy(s, from, sizeof *s); }}\n",
                     name_);
  }

  struct StartTable {
    const char* type;
    std::string name;
    std::size_t size;
  };
  std::vector<StartTable> start_tables() const {
    std::vector<StartTable> all{{real(), name_ + "_start", registers_.size()}};
    if (single())
      all.push_back({"double", name_ + "_start_p", static_cast<std::size_t>(filter_reals_.slots)});
    return all;
  }

  std::string filter_source() const {
    const Procedure procedure = filter_procedure();
    std::string out = math() + (single() ? c_single_source(procedure, filter_reals_, name_ + "_")
                                         : c_source(procedure, name_ + "_"));
    for (const auto& [type, name, size] : start_tables()) {
      const bool precise = name.ends_with("_p");
      out += fmt::format("\nextern const {0} {1}[{2}];\nconst {0} {1}[{2}] = {{\n", type, name, size);
      for (std::size_t r = 0; r < registers_.size(); ++r)
        if (!precise)
          out += "  " + number(registers_[r]) + ",\n";
        else if (filter_reals_.precise[r])
          out += "  " + c_number(registers_[r]) + ",\n";
      out += "};\n";
    }
    return out;
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
    const Procedure filter = filter_procedure();
    const SingleFilterCode code{filter,          filter_reals_, program_->places(), quantities_,
                                quantity_reals_, states(),      options_.step,      numbers_,
                                column_,         first_slope_,  held_inputs()};
    std::optional<SingleFilter> in_single;
    std::vector<double> largest;
    if (single()) {
      in_single.emplace(code, registers_, base);
      result_.differences.assign(exported_.size(), 0.0);
      result_.in_deviations = largest = result_.differences;
    }
    const auto given = [&](double value) {
      return single() ? static_cast<double>(single_number(value)) : value;
    };
    std::string out;
    std::int64_t rows = 0;
    for (; rows < std::max<std::int64_t>(1, options_.vector); ++rows) {
      std::vector<double> readings, inputs;
      for (std::size_t k = 0; k < readings_.size(); ++k) {
        const double value = expected[static_cast<long>(k)] + plant_.noise()[k] * noise();
        readings.push_back((static_cast<std::size_t>(rows) + 3 * k) % 7 == 5
                               ? std::numeric_limits<double>::quiet_NaN()
                               : given(value));
      }
      // The first row has the model's own inputs: what begins at one of them begins there in both.
      for (double value : base)
        inputs.push_back(given(rows == 0 ? value : value + 0.01 * noise() * (value == 0.0 ? 1.0 : value)));
      const Twin::Pushed pushed = twin.push(options_.step * static_cast<double>(rows), readings, inputs);
      if (pushed == Twin::Pushed::failed) break;
      const Twin::Quantities& quantities = twin.quantities();
      std::vector<double> estimates;
      for (std::size_t k : exported_)
        estimates.insert(estimates.end(),
                         {quantities.mean[static_cast<long>(k)], quantities.deviation[static_cast<long>(k)]});
      if (in_single) {
        if (!in_single->step(readings, inputs))
          refuse_single(fmt::format("after {} rows its states are not finite", rows + 1));
        const std::vector<double> rounded = in_single->estimates();
        for (std::size_t k = 0; k < exported_.size(); ++k) {
          const double away = std::abs(rounded[2 * k] - estimates[2 * k]), deviation = estimates[2 * k + 1];
          largest[k] = std::max(largest[k], std::abs(estimates[2 * k]));
          const auto raise = [](double& most, double value) {
            if (!(value <= most)) most = value;  // or no number
          };
          raise(result_.differences[k], away);
          if (deviation > 0.0) raise(result_.in_deviations[k], away / deviation);
        }
        estimates = rounded;
      }
      out += "  {";
      for (const auto& values : {inputs, readings, estimates})
        for (double v : values) out += (std::isnan(v) ? "NAN" : number(v)) + ", ";
      out += "},\n";
    }
    judge_differences(largest);
    return fmt::format(
               "/* What Tellegen estimated: inputs, readings, then estimates and their deviations. */\n"
               "#include <math.h>\n\n#define VECTOR_ROWS {}\n#define VECTOR_INPUTS {}\n#define "
               "VECTOR_READINGS {}\n"
               "#define VECTOR_ESTIMATES {}\nstatic const {} "
               "vector[VECTOR_ROWS][VECTOR_INPUTS + VECTOR_READINGS + VECTOR_ESTIMATES] = {{\n",
               rows, inputs_.size(), readings_.size(), 2 * estimates_.size(), real()) +
           out + "};\n";
  }

  [[noreturn]] void refuse_single(const std::string& why) const {
    throw ModelError(
        {{model_.file.string(), 0},
         "T420",
         "this estimator cannot be exported in single precision: " + why,
         {"a covariance of seven digits loses what small variances say; leave out --real float"}});
  }

  // Where rounding is not small beside what the filter does not know, nor beside the estimate, it is no
  // filter.
  void judge_differences(const std::vector<double>& largest) {
    for (std::size_t k = 0; k < result_.differences.size(); ++k) {
      if (result_.differences[k] != 0.0) result_.differences[k] /= largest[k];
      if (!(result_.in_deviations[k] <= 0.5) && !(result_.differences[k] <= 1e-2))
        refuse_single(fmt::format(
            "over the test vector '{}' is {:.2g} standard deviations and {:.2g} of its largest value from "
            "double",
            plant_.quantities()[exported_[k]].name, result_.in_deviations[k], result_.differences[k]));
    }
  }

  std::vector<char> held_inputs() const {
    std::vector<char> held;
    for (const std::string& input : options_.inputs) held.push_back(is_held(model_, input) ? 1 : 0);
    return held;
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
        "  for (int k = 0; k < VECTOR_ROWS; ++k) {{\n    const {3}* row = vector[k];\n"
        "    {0}_readings y;\n    {0}_estimates e;\n{1}"
        "    memcpy(&y, row + VECTOR_INPUTS, sizeof y);\n"
        "    if ({0}_step(&s, &y{2}, &e) != 0 ||\n"
        "        memcmp(&e, row + VECTOR_INPUTS + VECTOR_READINGS, sizeof e) != 0) {{\n"
        "      fprintf(stderr, \"row %d differs\\n\", k + 1);\n      return 1;\n    }}\n  }}\n"
        "  printf(\"%d rows agree to the last bit\\n\", VECTOR_ROWS);\n  return 0;\n}}\n",
        name_, inputs, inputs_.empty() ? "" : ", &u", real());
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
    if (single()) {
      out +=
          "\nSingle precision. Over the rows of `vector.h` estimates are at most so far from those in "
          "double, "
          "relative\nto their largest value and in their standard deviations:\n\n| estimate | relative | "
          "deviations |\n| --- | --- | --- |\n";
      for (std::size_t k = 0; k < result_.differences.size(); ++k)
        out += fmt::format("| `{}` | {:.2g} | {:.2g} |\n", estimates_[k], result_.differences[k],
                           result_.in_deviations[k]);
    }
    if (!result_.left_out.empty()) {
      out += "\nNot exported:\n\n";
      for (const std::string& text : result_.left_out) out += "- " + text + "\n";
    }
    return out;
  }

  const Model& model_;
  const FilterExportOptions& options_;
  std::string name_;
  ExportedFilter filter_;
  TwinModel& plant_ = filter_.plant;
  std::unique_ptr<FilterProgram> program_;
  std::vector<double> registers_;  // of the filter, before its first row
  std::vector<std::string> readings_, inputs_, estimates_, deviations_;  // members
  std::vector<std::size_t> exported_;                                    // quantities
  Procedure quantities_;
  std::vector<double> numbers_;
  Reals filter_reals_, quantity_reals_;             // in single precision
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
