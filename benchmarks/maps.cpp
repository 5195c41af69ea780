#include "benchmarks/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "benchmarks/best_of.h"
#include "benchmarks/limit_map.h"
#include "benchmarks/report.h"
#include "tellegen/program/compile.h"
#include "tellegen/symbolic/print.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {
namespace {

constexpr std::size_t points = 100, positions = 100'000;

// From 0 to 1.
std::vector<double> axis(bool equal_distances, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  std::vector<double> x(points);
  for (std::size_t k = 0; k < points; ++k)
    x[k] = equal_distances ? static_cast<double>(k) / (points - 1) : uniform(random);
  std::sort(x.begin(), x.end());
  x.front() = 0;
  x.back() = 1;
  return x;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

}  // namespace

bool run_maps(const MapsOptions& options) {
  Report report;
  report.begin({"maps", fmt::format("{0} x {0} points, {1} random positions inside", points, positions),
                "the value at each position",
                "generated C and interpreter to the bit; a function by hand within 1e-12"});
  TextTable table{{"interpolation", "distances", "generated C, ns", "interpreter, ns", "by hand, ns"}, {}};
  const double budget = options.quick ? 0 : 1;
  for (const Interpolation interpolation : {Interpolation::cubic, Interpolation::linear})
    for (const bool equal : {true, false}) {
      std::mt19937_64 random(5);
      std::uniform_real_distribution<double> uniform;
      HandMap by_hand{axis(equal, random), axis(equal, random), {}, equal};
      std::vector<double> values;
      for (const double x : by_hand.x)
        for (const double y : by_hand.y) values.push_back(std::sin(5 * x) + std::cos(3 * x * y) + y);
      const auto map = make_grid("map", {by_hand.x, by_hand.y}, values, interpolation);
      by_hand.point = map->c;  // bit 0 of an index: by the first argument
      std::vector<double> a(positions), b(positions), compiled(positions), interpreted(positions);
      for (std::size_t k = 0; k < positions; ++k) a[k] = uniform(random), b[k] = uniform(random);

      const auto code = compile_c(
          c_table(*map, "map") +
          "void look_up(const double* a, const double* b, double* values, int count) {\n"
          "  for (int k = 0; k < count; ++k) values[k] = tellegen_grid_lookup(&map, 0, a[k], b[k], 0.0);\n"
          "}\n");
      const std::string name =
          fmt::format("{}, {} distances", interpolation == Interpolation::cubic ? "cubic" : "linear",
                      equal ? "equal" : "unequal");
      if (!report.require(code != nullptr, name + ": compiled")) continue;
      const auto look_up = code->function<void(const double*, const double*, double*, int)>("look_up");
      const auto run_compiled = [&] { look_up(a.data(), b.data(), compiled.data(), positions); };
      const auto run_interpreted = [&] {
        for (std::size_t k = 0; k < positions; ++k) {
          const double at[] = {a[k], b[k]};
          interpreted[k] = map->value_at(at);
        }
      };
      run_compiled();
      run_interpreted();
      if (!report.require(compiled == interpreted, name + ": generated C as the interpreter")) continue;
      const double each = 1e9 / positions;
      double hand = std::nan("");
      if (interpolation == Interpolation::cubic) {
        std::vector<double> answers(positions);
        const auto run_by_hand = [&] {
          look_up_by_hand(by_hand, a.data(), b.data(), answers.data(), positions);
        };
        run_by_hand();
        if (!report.require(largest_difference(answers, compiled) < 1e-12, name + ": by hand")) continue;
        hand = each * best_of(run_by_hand, budget);
      }
      const double generated = each * best_of(run_compiled, budget);
      table.rows.push_back({interpolation == Interpolation::cubic ? "cubic" : "linear",
                            equal ? "equal" : "unequal", cell(generated),
                            cell(each * best_of(run_interpreted, budget)), cell(hand)});
      report.add({name + ": ns", generated, 30, false, "a lookup in generated C"});
    }
  report.table("A lookup", table);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << '\n';
  return !report.failed();
}

}  // namespace tellegen
