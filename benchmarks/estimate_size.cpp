#include "benchmarks/estimate_size.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <random>

#include "benchmarks/report.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/filter.h"
#include "tellegen/model/read.h"
#include "tellegen/numeric/exponential.h"

namespace tellegen {
namespace {

constexpr int sensors = 10;

// What the sensors would read of the model at its start, wandering about, with noise: filters are compared on
// the same numbers, whatever they mean.
Record record_of(const Model& model, int rows) {
  Record record;
  record.sensors = model.estimation.sensors;
  record.inputs = model.estimation.inputs;
  record.step = 1.0;
  record.steps = rows;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int k = 0; k < rows; ++k) {
    record.given.push_back(10.0 + 5.0 * std::sin(0.05 * k));
    for (int s = 0; s < sensors; ++s) record.readings.push_back(300.0 + 0.005 * k * s + 0.1 * normal(random));
  }
  return record;
}

// x- = Phi x + G0 f + G1 f', P- = Phi P Phi' + Q; all readings at once.
void textbook(const Model& model, const Record& record, std::vector<double>& mean,
              std::vector<double>& deviation) {
  TwinOptions options;
  options.sensors = record.sensors;
  options.unknowns = model.estimation.unknowns;
  options.inputs = record.inputs;
  options.compile = false;
  TwinModel twin(model, options);
  const auto n = static_cast<long>(twin.size()), m = static_cast<long>(twin.sensors());
  Vector x = twin.start();
  Matrix p = twin.start_covariance(), q = Matrix::Zero(n, n), r = Matrix::Zero(m, m);
  for (long k = 0; k < n; ++k) q(k, k) = std::pow(twin.states()[static_cast<std::size_t>(k)].noise, 2);
  for (long k = 0; k < m; ++k) r(k, k) = std::pow(twin.noise()[static_cast<std::size_t>(k)], 2);
  TwinPoint point;
  Matrix e;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const double* u = record.given.data() + row;
    if (row > 0) {
      const double du = u[0] - u[-1];
      twin.evaluate(x, static_cast<double>(row - 1), u - 1, &du, point);
      if (e.size() == 0) {
        Matrix joined = Matrix::Zero(3 * n, 3 * n);
        joined.topLeftCorner(n, n) = point.by_state;
        joined.block(0, n, n, n).setIdentity();
        joined.block(n, 2 * n, n, n).setIdentity();
        e = exponential(joined);
      }
      x += e.block(0, n, n, n) * point.rates + e.block(0, 2 * n, n, n) * point.by_time;
      p = (e.topLeftCorner(n, n) * p * e.topLeftCorner(n, n).transpose() + q).eval();
    }
    twin.evaluate(x, static_cast<double>(row), u, nullptr, point);
    const Matrix& h = point.readings_by_state;
    const Eigen::Map<const Vector> y(record.readings.data() + row * m, m);
    const Matrix gain = p * h.transpose() * (h * p * h.transpose() + r).inverse();
    x += gain * (y - point.readings);
    p = (p - gain * h * p).eval();
    for (long k = 0; k < n; ++k)
      if (twin.states()[static_cast<std::size_t>(k)].unknown < 0) {
        mean.push_back(x[k]);
        deviation.push_back(std::sqrt(p(k, k)));
      }
  }
}

// Processor time where that is less: on a busy machine the rest is waiting.
class Stopwatch {
 public:
  double seconds() const {
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return std::min(wall, static_cast<double>(std::clock() - processor_) / CLOCKS_PER_SEC);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::clock_t processor_ = std::clock();
};

Estimate estimated(const Model& model, const Record& record, long reduce) {
  EstimateOptions options;
  options.reduce = reduce;
  return estimate(model, record, options);
}

}  // namespace

std::string thermal_block(int nodes) {
  const int width = std::max(1, static_cast<int>(std::lround(std::cbrt(nodes))));
  std::mt19937_64 random(static_cast<std::uint64_t>(nodes));
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  std::string text =
      "name = \"thermal block\"\n[parameters]\nP = \"20 W\"\nQ = \"10 W\"\n[components]\n"
      "air = { kind = \"thermal.fixed_temperature\", p = \"outside\", T = 300 }\n";
  const auto resistor = [&](const std::string& name, int from, const std::string& to, double r) {
    text += fmt::format("{} = {{ kind = \"thermal.resistor\", p = \"n{}\", n = \"{}\", R = {:.6f} }}\n", name,
                        from, to, r);
  };
  for (int k = 0; k < nodes; ++k) {
    text += fmt::format(
        "c{0} = {{ kind = \"thermal.capacitor\", p = \"n{0}\", n = \"datum\", C = {1:.6f}, T0 = 300 }}\n", k,
        between(5, 50));
    const bool ends[] = {k % width == width - 1, k / width % width == width - 1, false};
    const int steps[] = {1, width, width * width};
    for (int way = 0; way < 3; ++way)
      if (!ends[way] && k + steps[way] < nodes)
        resistor(fmt::format("r{}_{}", way, k), k, fmt::format("n{}", k + steps[way]), between(0.5, 5));
    if (k % 5 == 0) resistor(fmt::format("a{}", k), k, "outside", between(5, 50));
  }
  text += fmt::format(
      "p = {{ kind = \"thermal.heat_source\", p = \"datum\", n = \"n{}\", Q = \"P\" }}\n"
      "q = {{ kind = \"thermal.heat_source\", p = \"datum\", n = \"n{}\", Q = \"Q\" }}\n[sensors]\n",
      nodes / 3, 2 * nodes / 3);
  for (int s = 0; s < sensors; ++s)
    text += fmt::format("S{} = {{ measures = \"n{}.T\", noise = \"0.1 K\" }}\n", s,
                        s * nodes / sensors + nodes / (2 * sensors));
  text += fmt::format(
      "[outputs]\nhot = \"n{}.T\"\n[unknowns]\n"
      "P = {{ start = \"10 W\", deviation = \"20 W\", walk = \"1 W\" }}\n[estimate]\nestimator = \"kf\"\n"
      "unknowns = [\"P\"]\ninputs = [\"Q\"]\n"
      "states = {{ \"*.T\" = {{ deviation = \"1 K\", noise = \"0.05 K\" }} }}\n"
      "[simulation]\nstop = \"200 s\"\nstep = \"1 s\"\n",
      nodes / 3);
  return text;
}

bool run_estimate_size(const EstimateSizeOptions& options) {
  Report report;
  report.begin({"estimate-size",
                fmt::format("blocks of thermal nodes, {} sensors, {} rows", sensors, options.rows),
                "temperatures and their deviations at every row",
                "full: 1e-7 of a textbook filter on dense matrices (up to 200 nodes); reduced: 1e-3 of a "
                "deviation of the full one (up to 1000 nodes)"});
  TextTable table{{"nodes", "read s", "estimate s", "reduced s", "executor", "largest difference"}, {}};
  for (int nodes : options.nodes) {
    const std::string text = thermal_block(nodes);
    const Stopwatch reading;
    const Model model = read_model_text(text, fmt::format("block_{}.toml", nodes));
    const double read = reading.seconds();
    const Record record = record_of(model, options.rows);
    const Stopwatch estimating;
    const Estimate found = estimated(model, record, 0);
    const double full = estimating.seconds();
    report.require(found.failure.empty(), fmt::format("{} nodes: {}", nodes, found.failure));
    double difference = std::nan(""), reduced = std::nan("");
    const std::size_t width = found.quantities.size(), rows = found.t.size();
    if (nodes <= 200) {
      std::vector<double> mean, deviation;
      textbook(model, record, mean, deviation);
      const auto states = static_cast<std::size_t>(nodes);
      difference = 0.0;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t k = 0; k < states; ++k) {
          const std::size_t at = row * width + width - states + k;
          difference = std::max({difference, std::abs(found.mean[at] - mean[row * states + k]),
                                 std::abs(found.deviation[at] - deviation[row * states + k])});
        }
      report.require(difference < 1e-7, fmt::format("{} nodes: {:g} K off the textbook", nodes, difference));
    } else if (found.reduction.empty()) {
      const Stopwatch reducing;
      const Estimate small = estimated(model, record, 400);
      reduced = reducing.seconds();
      difference = 0.0;
      const std::size_t few = small.quantities.size();
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t q = 0; q < few; ++q) {
          const double size = found.deviation[row * width + q];
          difference =
              std::max({difference, std::abs(small.mean[row * few + q] - found.mean[row * width + q]) / size,
                        std::abs(small.deviation[row * few + q] - size) / size});
        }
      report.require(difference < 1e-3,
                     fmt::format("{} nodes: reduced {:g} deviations off", nodes, difference));
      report.note(small.reduction);
    } else {
      report.note(found.reduction);
    }
    table.rows.push_back(
        {fmt::format("{}", nodes), cell(read), cell(full), cell(reduced), found.executor, cell(difference)});
    const double bound = nodes <= 100 ? 0.3 : 10.0;
    report.add({fmt::format("{} nodes: read and estimated", nodes), read + full, bound, false, "seconds"});
  }
  report.table("seconds", table);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
