#include "tellegen/results/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tellegen/results/atomic_file.h"

extern char** environ;

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// Okabe and Ito's palette, told apart with any colour vision; its yellow is left out, too pale on white.
constexpr std::array palette = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};

// Runs `gnuplot script` without a shell; what it says goes into the file `messages`.
int run_gnuplot(const fs::path& script, const fs::path& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  std::string program = "gnuplot", argument = script.string();
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    throw std::runtime_error("cannot plot: the program 'gnuplot' is not installed (package gnuplot-nox)");
  if (error != 0) throw std::runtime_error(fmt::format("cannot run gnuplot: {}", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

std::string whole_file(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::string gnuplot_text(const std::string& text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'') result += '\'';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result + "'";
}

std::string plot_colour(std::size_t k) { return palette[k % palette.size()]; }

void draw_picture(const fs::path& path,
                  const std::function<std::string(const fs::path& picture, bool png)>& script) {
  const std::string extension = path.extension().string();
  if (extension != ".svg" && extension != ".png")
    throw std::runtime_error(
        fmt::format("cannot plot to '{}': the name must end in .svg or .png", path.string()));
  AtomicFile picture(path);
  // Script and messages lie beside the picture and are never committed: they vanish with their AtomicFile.
  AtomicFile program(fs::path(path).concat(".gnuplot")), messages(fs::path(path).concat(".messages"));
  std::ofstream(program.aside()) << script(picture.aside(), extension == ".png");
  if (run_gnuplot(program.aside(), messages.aside()) != 0 || !fs::exists(picture.aside()))
    throw std::runtime_error(
        fmt::format("cannot plot to '{}': gnuplot failed\n{}", path.string(), whole_file(messages.aside())));
  picture.commit();
}

}  // namespace tellegen
