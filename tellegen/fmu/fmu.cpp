#include "tellegen/fmu/fmu.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "tellegen/data/zip_library.h"
#include "tellegen/fmu/instances.h"

namespace tellegen {
namespace fs = std::filesystem;
namespace {

class Archive {
 public:
  explicit Archive(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error)) throw FmuError("there is no such file");
    if (!fs::is_regular_file(path, error)) throw FmuError("it is no file");
    int code = 0;
    zip_ = libzip_.zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (zip_) return;
    zip_error_t what;
    libzip_.zip_error_init_with_code(&what, code);
    const std::string text = libzip_.zip_error_strerror(&what);
    libzip_.zip_error_fini(&what);
    throw FmuError("it is no FMU: not a zip archive (" + text + ")");
  }
  ~Archive() { libzip_.zip_discard(zip_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    const auto count = static_cast<zip_uint64_t>(libzip_.zip_get_num_entries(zip_, 0));
    for (zip_uint64_t k = 0; k < count; ++k)
      if (const char* name = libzip_.zip_get_name(zip_, k, 0)) all.emplace_back(name);
    return all;
  }

  std::string content(const std::string& name) const {
    zip_stat_t info{};
    if (libzip_.zip_stat(zip_, name.c_str(), 0, &info) != 0)
      throw FmuError("it is no FMU: it has no " + name);
    std::string text(info.size, '\0');
    zip_file_t* file = libzip_.zip_fopen(zip_, name.c_str(), 0);
    const zip_int64_t read = file ? libzip_.zip_fread(file, text.data(), text.size()) : -1;
    if (file) libzip_.zip_fclose(file);
    if (read != static_cast<zip_int64_t>(text.size())) throw FmuError("its " + name + " cannot be read");
    return text;
  }

 private:
  const ZipLibrary& libzip_ = loaded_zip();
  zip_t* zip_ = nullptr;
};

// Folders of binaries/ with code for this machine. FMI 2 knows no ARM: what tools put there stands in one of
// these.
std::vector<std::string> platforms_here(int version) {
  utsname host{};
  uname(&host);
  const std::string machine = host.machine, tuple = machine + "-linux";
  if (version == 3) return {tuple};
  if (machine == "x86_64") return {"linux64", tuple};
  return {tuple, "linux64"};
}

// An instance of an FMU of which a process can hold one only.
class OnlyInstance : public FmuInstance {
 public:
  OnlyInstance(std::shared_ptr<const FmuFile> file, std::unique_ptr<FmuInstance> instance,
               std::atomic<bool>& taken)
      : file_(std::move(file)), instance_(std::move(instance)), taken_(taken) {}
  ~OnlyInstance() override {
    instance_.reset();
    taken_ = false;
  }
  void set(std::span<const int> v, std::span<const double> values) override { instance_->set(v, values); }
  void set_text(int v, const std::string& value) override { instance_->set_text(v, value); }
  void get(std::span<const int> v, std::span<double> values) override { instance_->get(v, values); }
  std::string text(int v) override { return instance_->text(v); }
  void enter_initialization() override { instance_->enter_initialization(); }
  void exit_initialization() override { instance_->exit_initialization(); }
  bool step(double t, double length) override { return instance_->step(t, length); }

 private:
  std::shared_ptr<const FmuFile> file_;  // whose `taken` this is
  std::unique_ptr<FmuInstance> instance_;
  std::atomic<bool>& taken_;
};

}  // namespace

// The files of the archive in a folder of their own, as long as somebody may need them.
struct FmuFile::Unpacked {
  std::mutex mutex;
  fs::path folder;
  bool complete = false;            // everything is in it
  std::atomic<bool> taken = false;  // by the only instance there may be
  ~Unpacked() {
    std::error_code error;
    if (!folder.empty()) fs::remove_all(folder, error);
  }

  // The code of this model identifier.
  fs::path unpack(const fs::path& path, const FmuDescription& d, const std::string& identifier) {
    const std::lock_guard lock(mutex);
    const Archive archive(path);
    const std::vector<std::string> names = archive.names();
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::string found;
    for (const std::string& platform : platforms_here(d.version))
      if (const std::string name = fmt::format("binaries/{}/{}.so", platform, identifier);
          found.empty() && has(name))
        found = name;
    if (found.empty()) throw FmuError(no_code(names, d, identifier));
    if (complete) return folder / found;
    if (folder.empty()) {
      std::string made = (fs::temp_directory_path() / "tellegen-fmu-XXXXXX").string();
      if (!mkdtemp(made.data())) throw FmuError("there is no folder to unpack it to");
      folder = made;
    }
    for (const std::string& name : names) {
      const fs::path target = folder / fs::path(name).lexically_normal();
      const fs::path inside = target.lexically_relative(folder);
      if (inside.empty() || *inside.begin() == "..")
        throw FmuError("its archive has the unsafe file name '" + name + "'");
      if (name.ends_with('/')) {
        fs::create_directories(target);
        continue;
      }
      fs::create_directories(target.parent_path());
      const std::string content = archive.content(name);
      std::ofstream(target, std::ios::binary).write(content.data(), static_cast<long>(content.size()));
      std::error_code error;
      if (fs::file_size(target, error) != content.size())
        throw FmuError("it cannot be unpacked to " + target.string());
    }
    complete = true;
    return folder / found;
  }

  static std::string no_code(const std::vector<std::string>& names, const FmuDescription& d,
                             const std::string& identifier) {
    std::vector<std::string> there;
    bool sources = false;
    for (const std::string& name : names) {
      sources = sources || name.starts_with("sources/");
      if (!name.starts_with("binaries/")) continue;
      const std::string platform = name.substr(9, name.find('/', 9) - 9);
      if (!platform.empty() && std::find(there.begin(), there.end(), platform) == there.end())
        there.push_back(platform);
    }
    return fmt::format("it has no code for this machine ({}/{}.so); it has {}",
                       fmt::join(platforms_here(d.version), ", "), identifier,
                       !there.empty() ? "code for " + fmt::format("{}", fmt::join(there, ", "))
                       : sources      ? "sources only"
                                      : "no code at all");
  }
};

FmuFile::FmuFile(fs::path path) : path_(std::move(path)), unpacked_(std::make_unique<Unpacked>()) {
  description_ = read_description(Archive(path_).content("modelDescription.xml"));
}
FmuFile::~FmuFile() = default;

std::vector<std::string> FmuFile::platforms() const {
  std::vector<std::string> all;
  for (const std::string& name : Archive(path_).names()) {
    if (!name.starts_with("binaries/")) continue;
    const std::string platform = name.substr(9, name.find('/', 9) - 9);
    if (!platform.empty() && std::find(all.begin(), all.end(), platform) == all.end())
      all.push_back(platform);
  }
  return all;
}

std::unique_ptr<FmuInstance> FmuFile::start(const std::string& name, const FmuStart& how) const {
  const bool exchange = how.exchange || description_.co_simulation.empty();
  const std::string& identifier = exchange ? description_.model_exchange : description_.co_simulation;
  if (identifier.empty())
    throw FmuError(description_.co_simulation.empty() ? "it says no way in which it can be run"
                                                      : "it has no model exchange");
  if (description_.needs_tool) throw FmuError("it needs the tool that made it (needsExecutionTool)");
  const fs::path code = unpacked_->unpack(path_, description_, identifier);
  const FmuPlace place{shared_from_this(), unpacked_->folder, code, name};
  const auto here = [place, exchange, this]() -> std::unique_ptr<FmuInstance> {
    const FmuInterface interface = exchange ? FmuInterface::model_exchange : FmuInterface::co_simulation;
    auto instance = description_.version == 2 ? start_fmi2(place, interface) : start_fmi3(place, interface);
    if (!exchange) return instance;
    return integrated(description_, std::move(instance));
  };
  if (how.isolate) return start_isolated(description_, here);
  if (!description_.once_per_process) return here();
  if (unpacked_->taken.exchange(true))
    throw FmuError("a process can hold one instance of it only (canBeInstantiatedOnlyOncePerProcess)");
  try {
    return std::make_unique<OnlyInstance>(shared_from_this(), here(), unpacked_->taken);
  } catch (...) {
    unpacked_->taken = false;
    throw;
  }
}

std::shared_ptr<const FmuFile> open_fmu(const fs::path& path) { return std::make_shared<FmuFile>(path); }

}  // namespace tellegen
