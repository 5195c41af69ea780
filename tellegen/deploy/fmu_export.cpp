#include "tellegen/deploy/fmu_export.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "tellegen/deploy/c_model.h"
#include "tellegen/deploy/exchange_c.h"
#include "tellegen/deploy/fmu_description.h"
#include "tellegen/program/compile.h"
#include "tellegen/program/run_compiler.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// A folder for as long as the compiler needs it.
class FmuBuildFolder {
 public:
  FmuBuildFolder() {
    std::string name = (fs::temp_directory_path() / "tellegen-fmu-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    path_ = name;
  }
  ~FmuBuildFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  FmuBuildFolder(const FmuBuildFolder&) = delete;
  FmuBuildFolder& operator=(const FmuBuildFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What tellegen_fmu.h asks of a model.
std::string fmu_model_header(const CModel& m, const ExportedDescription& fmu, const ExchangeModel& exchange) {
  std::string start;
  const auto outputs =
      std::count_if(fmu.variables.begin(), fmu.variables.end(),
                    [](const ExportedVariable& v) { return v.role == ExportedVariable::Role::output; });
  for (const ExportedVariable& v : fmu.variables)
    if (v.role == ExportedVariable::Role::parameter || v.role == ExportedVariable::Role::input)
      start += c_number(v.start) + ", ";
  std::string out = fmt::format(
      "/* The model for tellegen_fmu.h: parameters, inputs and outputs as rows of numbers. */\n"
      "#include <string.h>\n\n#include \"{0}.h\"\n\n#define FMU_TOKEN \"{1}\"\n#define FMU_STEP {2}\n"
      "enum {{ FMU_PARAMETERS = {3}, FMU_INPUTS = {4}, FMU_OUTPUTS = {5} }};\n"
      "typedef {0}_state fmu_state;\n\n"
      "static const double fmu_start_values[FMU_PARAMETERS + FMU_INPUTS + 1] = {{{6}0.0}};\n\n"
      "static inline void fmu_model_init(fmu_state* s, double* y) {{\n  {0}_outputs row;\n"
      "  {0}_init(s, &row);\n  memcpy(y, &row, sizeof row);\n}}\n\n",
      m.name, fmu.token, c_number(m.problem().step), m.parameters.settings.size(), m.inputs.size(), outputs,
      start);
  out += fmt::format(
      "static inline int fmu_model_run(fmu_state* s, const double* u, long steps, double* y) {{\n"
      "  {0}_outputs row;\n  int status;\n{1}  memcpy(&row, y, sizeof row);\n"
      "  status = {0}_run(s{2}, steps, &row);\n  memcpy(y, &row, sizeof row);\n  return status;\n}}\n\n",
      m.name,
      m.inputs.empty() ? "  (void)u;\n"
                       : fmt::format("  {0}_inputs inputs;\n  memcpy(&inputs, u, sizeof inputs);\n", m.name),
      m.inputs.empty() ? "" : ", &inputs");
  if (m.settable())
    out += fmt::format(
        "static inline int fmu_model_set(fmu_state* s, const double* p) {{\n  {0}_parameters given;\n"
        "  memcpy(&given, p, sizeof given);\n  return {0}_set_parameters(s, &given);\n}}\n\n",
        m.name);
  else
    out +=
        "static inline int fmu_model_set(fmu_state* s, const double* p) {\n  (void)s, (void)p;\n"
        "  return 0;\n}\n\n";
  return out +
         fmt::format("static inline double fmu_model_time(const fmu_state* s) {{ return {}_time(s); }}\n",
                     m.name) +
         exchange_header(exchange, m.name);
}

struct FmuTarget {
  const char *architecture, *compiler, *fmi3, *fmi2;
};
constexpr FmuTarget fmu_targets[] = {
    {"x86_64", "x86_64-linux-gnu-gcc", "x86_64-linux", "linux64"},
    {"aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux", "aarch64-linux"},
};

// The run with states and discrete variables behind its outputs: what an instance for co-simulation shows of
// them.
std::unique_ptr<Simulation> with_states(const Simulation& simulation, const ExchangeModel& exchange) {
  std::vector<OutputColumn> columns = simulation.outputs();
  Pool& pool = *simulation.system().model->pool;
  for (const ExchangeModel::State& s : exchange.states)
    columns.push_back({s.name, s.unit, pool.symbol(s.name)});
  for (const std::string& name : exchange.discrete) columns.push_back({name, "", pool.symbol(name)});
  return std::make_unique<Simulation>(simulation.system(), simulation.problem().options, columns);
}

class FmuExporter {
 public:
  FmuExporter(const Model& model, Simulation& simulation, const FmuOptions& options)
      : simulation_(simulation), exchange_(exchange_of(model, simulation, options)) {
    if (exchange_.refused.empty()) extended_ = with_states(simulation, exchange_);
    m_.emplace(make_c_model(model, extended_ ? *extended_ : simulation, options.name));
    fmu_.version = options.version;
    fmu_.variables = fmu_variables(*m_, simulation.outputs().size(), exchange_);
  }

  FmuExport run() {
    collect_sources();
    add("modelDescription.xml", fmu_model_description(*m_, fmu_, exchange_, compiled_));
    for (const ExportedFile& file : sources_) add("sources/" + file.name, file.text);
    if (fmu_.version == 3) add("sources/buildDescription.xml", fmu_build_description(*m_, compiled_));
    add_binaries();
    add("documentation/index.html", fmu_documentation(*m_, fmu_));
    for (const CParameters::Setting& s : m_->parameters.settings)
      result_.parameters.push_back(m_->parameter(s).name);
    result_.inputs = m_->problem().options.external;
    for (const OutputColumn& column : simulation_.outputs()) result_.outputs.push_back(column.name);
    result_.fixed = m_->parameters.fixed;
    result_.no_exchange = exchange_.refused;
    result_.no_derivatives = exchange_.without_slopes;
    result_.states = exchange_.states.size();
    result_.indicators = exchange_.indicators;
    return std::move(result_);
  }

 private:
  // With those parameters that co-simulation has too.
  static ExchangeModel exchange_of(const Model& model, Simulation& simulation, const FmuOptions& options) {
    const CModel m = make_c_model(model, simulation, options.name);
    std::vector<std::string> parameters;
    for (const CParameters::Setting& s : m.parameters.settings) parameters.push_back(m.parameter(s).name);
    return make_exchange_model(model, simulation, parameters);
  }

  void add(std::string name, std::string text) {
    result_.files.push_back({std::move(name), std::move(text)});
  }

  void collect_sources() {
    sources_ = c_code_files(*m_);
    compiled_ = m_->sources();
    const std::string interface = fmt::format("tellegen_fmu{}.c", fmu_.version);
    if (exchange_.refused.empty()) {
      compiled_.push_back(m_->name + "_exchange.c");
      sources_.push_back({compiled_.back(), exchange_source(exchange_, m_->name)});
    }
    compiled_.push_back(interface);
    for (const std::string& name :
         {interface, std::string("tellegen_fmu.h"), std::string("tellegen_exchange.h"),
          fmt::format("tellegen_fmi{}.h", fmu_.version)})
      sources_.push_back({name, std::string(runtime_source(name))});
    std::string all = fmt::format("{} {}", fmu_.version, m_->model.name);
    for (const ExportedFile& file : sources_) all += file.name + file.text;
    for (const ExportedVariable& v : fmu_.variables) all += v.name + v.unit;
    const std::string h = content_hash(all);
    fmu_.token = fmt::format("{{{}-{}-{}-{}-{}}}", h.substr(0, 8), h.substr(8, 4), h.substr(12, 4),
                             h.substr(16, 4), h.substr(20));
    sources_.push_back({"fmu_model.h", fmu_model_header(*m_, fmu_, exchange_)});
  }

  bool compile(const fs::path& compiler, const fs::path& folder, const fs::path& object) const {
    std::vector<std::string> words{
        compiler,          "-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off",
        "-fno-math-errno", "-w",       "-o",  object};
    for (const std::string& source : compiled_) words.push_back(folder / source);
    words.push_back("-lm");
    return run_quietly(words);
  }

  void add_binaries() {
    const FmuBuildFolder folder;
    for (const ExportedFile& file : sources_)
      std::ofstream(folder.path() / file.name, std::ios::binary) << file.text;
    utsname host{};
    uname(&host);
    const fs::path own = find_compiler();
    std::string for_linux64;
    for (const FmuTarget& target : fmu_targets) {
      const bool here = std::string_view(host.machine) == target.architecture;
      // Where no compiler is wanted, none is used for other machines either.
      const fs::path compiler = own.empty() ? fs::path() : here ? own : find_program(target.compiler);
      if (compiler.empty()) continue;
      const fs::path object = folder.path() / (std::string(target.architecture) + ".so");
      if (!compile(compiler, folder.path(), object)) {
        if (here)
          throw ModelError({{m_->model.file.string(), 0},
                            "T421",
                            fmt::format("'{}' does not compile the FMU's code", compiler.string()),
                            {"export --as c, and compile the files to see what it says"}});
        continue;
      }
      const std::string code = read_bytes(object);
      const char* name = fmu_.version == 3 ? target.fmi3 : target.fmi2;
      add(fmt::format("binaries/{}/{}.so", name, m_->name), code);
      result_.binaries.push_back(target.fmi3);
      if (fmu_.version == 2 && for_linux64.empty()) for_linux64 = code;
    }
    // Importers of FMI 2 look into linux64 on every Linux of 64 bits.
    if (fmu_.version == 2 && result_.binaries == std::vector<std::string>{"aarch64-linux"})
      add(fmt::format("binaries/linux64/{}.so", m_->name), for_linux64);
  }

  Simulation& simulation_;
  ExchangeModel exchange_;
  std::unique_ptr<Simulation> extended_;
  std::optional<CModel> m_;
  ExportedDescription fmu_;
  std::vector<ExportedFile> sources_;
  std::vector<std::string> compiled_;  // of them
  FmuExport result_;
};

}  // namespace

FmuExport export_fmu(const Model& model, Simulation& simulation, const FmuOptions& options) {
  return FmuExporter(model, simulation, options).run();
}

}  // namespace tellegen
