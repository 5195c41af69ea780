#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tellegen/symbolic/parse.h"
#include "tellegen/symbolic/print.h"

#ifndef TELLEGEN_SOURCE_DIR
#define TELLEGEN_SOURCE_DIR "."
#endif

namespace tellegen {
namespace print_c_test {

// C text compiled into a shared object that lives as long as this does.
class Compiled {
 public:
  explicit Compiled(const std::string& source) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tellegen_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "code.c") << source;
    const std::string command =
        "cc -std=c99 -Wall -Wextra -Werror -O1 -ffp-contract=off -fno-builtin -shared -fPIC -I'" +
        std::string(TELLEGEN_SOURCE_DIR) + "' '" + (folder_ / "code.c").string() + "' -o '" +
        (folder_ / "code.so").string() + "' -lm";
    if (std::system(command.c_str()) == 0) library_ = dlopen((folder_ / "code.so").c_str(), RTLD_NOW);
  }
  ~Compiled() {
    if (library_) dlclose(library_);
    std::filesystem::remove_all(folder_);
  }
  using Run = void (*)(const double* in, double* out);
  Run run() const { return library_ ? reinterpret_cast<Run>(dlsym(library_, "run")) : nullptr; }

 private:
  std::filesystem::path folder_;
  void* library_ = nullptr;
};

TEST(PrintC, compiled_text_computes_what_evaluate_computes) {
  Pool pool;
  const std::array x{pool.symbol("x.a"), pool.symbol("x.b"), pool.symbol("x.c")};
  auto cubic = make_table("cubic", {-1.0, 0.0, 0.5, 2.0}, {0.0, 1.0, 3.0, 3.5}, Interpolation::cubic);
  auto linear = make_table("linear", {-1.0, 0.7}, {2.0, -1.0}, Interpolation::linear);
  TableMap tables{{"cubic", cubic}, {"linear", linear}};

  std::vector<Expr> all;
  for (const Function& f : functions()) {
    const std::size_t count = f.arity < 0 ? 2 : static_cast<std::size_t>(f.arity);
    all.push_back(pool.call(f, std::span(x.data(), count)));
    for (std::size_t k = 0; k < count; ++k) all.push_back(derivative(all.back(), x[k]));
  }
  for (const char* text : {"x.a - x.b",
                           "-x.a - 2*x.b - 3",
                           "x.a^2",
                           "x.a^3*x.b",
                           "1/x.a",
                           "-1/x.a^2",
                           "x.a/(x.b*x.c)",
                           "x.a^0.5",
                           "x.a^-0.5*x.b",
                           "x.a^1.7",
                           "x.a^-1.7",
                           "x.a^x.b",
                           "(x.a + x.b)^2/(x.a - x.b)^3",
                           "-(x.a + x.b)*x.c",
                           "x.a/3",
                           "2^x.a",
                           "1/0",
                           "x.a + 1/0*x.b",
                           "cubic(x.a)",
                           "cubic'(x.a)",
                           "cubic''(x.b)",
                           "cubic'''(x.c)",
                           "linear(x.a*x.b)",
                           "linear'(x.a)",
                           "if(x.a < x.b and not x.c == 0, x.a, if(x.b, 1, -2))",
                           "limexp(100*x.c)",
                           "junction_limit(20*x.c, x.a)",
                           "x.a*(x.b*(x.c + 1) - 1)/(x.a + 1/x.b)"})
    all.push_back(parse(pool, text, tables));

  // Every third expression is also given a name, so that text refers to what is assigned already.
  ExprMap<std::string> names{{x[0], "in[0]"}, {x[1], "in[1]"}, {x[2], "in[2]"}};
  auto name_of = [&](Expr e) { return names.contains(e) ? names.at(e) : std::string(); };
  std::string source = "#include \"runtime/tellegen_math.h\"\n" + c_table(*cubic, "table_cubic") +
                       c_table(*linear, "table_linear") + "void run(const double* in, double* out);\n" +
                       "void run(const double* in, double* out) {\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string target = "out[" + std::to_string(i) + "]";
    source += "  " + target + " = " + to_c(all[i], name_of) + ";\n";
    if (i % 3 == 0 && !all[i].is_number()) names.emplace(all[i], target);
  }
  Compiled code(source + "}\n");
  ASSERT_NE(code.run(), nullptr) << source;

  for (std::array<double, 3> in : {std::array{0.3, 0.6, 0.9}, std::array{-0.4, 0.8, 0.0},
                                   std::array{1.5, -2.5, 1.2}, std::array{3.0, 2.0, -7.0}}) {
    std::vector<double> out(all.size());
    code.run()(in.data(), out.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double expected = evaluate(all[i], {{x[0], in[0]}, {x[1], in[1]}, {x[2], in[2]}});
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(out[i])) << to_text(all[i]);
      else if (std::isinf(expected))
        EXPECT_EQ(out[i], expected) << to_text(all[i]);
      else
        EXPECT_NEAR(out[i], expected, 1e-15 * std::abs(expected))
            << to_text(all[i]) << " as " << to_c(all[i], {});
    }
  }
}

TEST(PrintC, reads_as_a_person_would_write_it) {
  Pool pool;
  auto c = [&](const char* text) { return to_c(parse(pool, text), {}); };
  EXPECT_EQ(c("a - 2*b"), "a - 2.0*b");
  EXPECT_EQ(c("-a"), "-a");
  EXPECT_EQ(c("a^2"), "a*a");
  EXPECT_EQ(c("a/b"), "a/b");
  EXPECT_EQ(c("1/(a*b)"), "1.0/(a*b)");
  EXPECT_EQ(c("(a + b)^2"), "tellegen_square(a + b)");
  EXPECT_EQ(c("a^0.5"), "sqrt(a)");
  EXPECT_EQ(c("a^b"), "tellegen_pow(a, b)");
  EXPECT_EQ(c("(a + b)*a"), "a*(a + b)");
  EXPECT_EQ(c("a.b' + 1"), "a_b_ + 1.0");
}

}  // namespace print_c_test
}  // namespace tellegen
