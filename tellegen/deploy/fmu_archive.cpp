#include "tellegen/deploy/fmu_archive.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tellegen/deploy/fmu_icon.h"
#include "tellegen/program/compile.h"
#include "tellegen/program/run_compiler.h"

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

struct FmuTarget {
  const char *architecture, *compiler, *fmi3, *fmi2;
};
constexpr FmuTarget fmu_targets[] = {
    {"x86_64", "x86_64-linux-gnu-gcc", "x86_64-linux", "linux64"},
    {"aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux", "aarch64-linux"},
};

bool compile_fmu(const fs::path& compiler, const fs::path& folder, const std::vector<std::string>& sources,
                 const fs::path& object) {
  std::vector<std::string> words{
      compiler,          "-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off",
      "-fno-math-errno", "-w",       "-o",  object};
  for (const std::string& source : sources) words.push_back(folder / source);
  words.push_back("-lm");
  return run_quietly(words);
}

void add_binaries(const FmuContent& content, const Place& place, FmuExport& result) {
  const ExportedDescription& fmu = content.description;
  const FmuBuildFolder folder;
  for (const ExportedFile& file : content.sources)
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
    if (!compile_fmu(compiler, folder.path(), content.compiled, object)) {
      if (here)
        throw ModelError({place,
                          "T421",
                          fmt::format("'{}' does not compile the FMU's code", compiler.string()),
                          {"export --as c, and compile the files to see what it says"}});
      continue;
    }
    const std::string code = read_bytes(object);
    const char* name = fmu.version == 3 ? target.fmi3 : target.fmi2;
    result.files.push_back({fmt::format("binaries/{}/{}.so", name, fmu.name), code});
    result.binaries.push_back(target.fmi3);
    if (fmu.version == 2 && for_linux64.empty()) for_linux64 = code;
  }
  // Importers of FMI 2 look into linux64 on every Linux of 64 bits.
  if (fmu.version == 2 && result.binaries == std::vector<std::string>{"aarch64-linux"})
    result.files.push_back({fmt::format("binaries/linux64/{}.so", fmu.name), for_linux64});
}

}  // namespace

void pack_fmu(FmuContent content, const Place& place, FmuExport& result) {
  ExportedDescription& fmu = content.description;
  const std::string interface = fmt::format("tellegen_fmu{}.c", fmu.version);
  content.compiled.push_back(interface);
  for (const std::string& name :
       {interface, std::string("tellegen_fmu.h"), std::string("tellegen_exchange.h"),
        fmt::format("tellegen_fmi{}.h", fmu.version)})
    content.sources.push_back({name, std::string(runtime_source(name))});
  std::string all = fmt::format("{} {}", fmu.version, fmu.title);
  for (const ExportedFile& file : content.sources) all += file.name + file.text;
  for (const ExportedVariable& v : fmu.variables) all += v.name + v.unit;
  const std::string h = content_hash(all);
  fmu.token = fmt::format("{{{}-{}-{}-{}-{}}}", h.substr(0, 8), h.substr(8, 4), h.substr(12, 4),
                          h.substr(16, 4), h.substr(20));
  content.sources.push_back({"fmu_model.h", content.header(fmu)});

  const auto add = [&](std::string name, std::string text) {
    result.files.push_back({std::move(name), std::move(text)});
  };
  add("modelDescription.xml", fmu_model_description(fmu, content.exchange, content.compiled));
  for (const ExportedFile& file : content.sources) add("sources/" + file.name, file.text);
  if (fmu.version == 3) add("sources/buildDescription.xml", fmu_build_description(fmu, content.compiled));
  add_binaries(content, place, result);
  const std::string icon = fmu_icon(static_cast<int>(fmu.count(ExportedVariable::Role::input)),
                                    static_cast<int>(fmu.count(ExportedVariable::Role::output)));
  if (fmu.version == 3) add("terminalsAndIcons/terminalsAndIcons.xml", fmu_terminals_and_icons());
  add(fmu.version == 3 ? "terminalsAndIcons/icon.png" : "model.png", icon);
  add("documentation/index.html", fmu_documentation(fmu));
}

}  // namespace tellegen
