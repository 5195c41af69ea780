#include "benchmarks/lossy_motor.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace {

// The standard's engine gives the same bits everywhere; its distributions do not.
class LossyNoise {
 public:
  explicit LossyNoise(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double operator()() {
    if (has_other_) {
      has_other_ = false;
      return other_;
    }
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform())), angle = 2.0 * M_PI * uniform();
    other_ = radius * std::sin(angle);
    has_other_ = true;
    return radius * std::cos(angle);
  }

 private:
  std::mt19937_64 engine_;
  double other_ = 0.0;
  bool has_other_ = false;
};

}  // namespace

Model lossy_model(const LossySetting& setting) {
  Model model =
      read_model(std::filesystem::path(TELLEGEN_SOURCE_DIR) / "models" / "pmsm-estimation" / "model.toml");
  // Noise is told as of one second.
  const double per_sample = setting.reading == NoiseReading::density ? 1.0 : 1.0 / std::sqrt(lossy_step);
  for (ModelEstimation::State& s : model.estimation.states) {
    s.noise *= per_sample;
    s.keep = setting.keep;
  }
  ModelUnknown& flux = model.unknowns[static_cast<std::size_t>(model.estimation.unknowns.at(0))];
  flux.keep = setting.keep_flux;
  flux.walk = setting.flux_walks ? flux.walk * per_sample : 0.0;
  flux.start = setting.flux_start;
  flux.deviation = setting.flux_deviation;
  if (setting.positive) {
    flux.lower = 0.0;
    flux.upper = 1.0;
  }
  if (setting.flux_known) {
    model.estimation.unknowns.clear();
    set_parameters(model, std::vector<int>{flux.parameter}, std::vector<double>{setting.flux_start});
  }
  return model;
}

std::vector<LossySetting> stability_filters(NoiseReading reading) {
  return {{.name = "ekf", .estimator = "ekf", .reading = reading},
          {.name = "pkf", .estimator = "pkf", .reading = reading, .keep = 0.2, .keep_flux = 0.75},
          {.name = "ukf", .estimator = "ukf", .reading = reading},
          {.name = "pkf, flux >= 0",
           .estimator = "pkf",
           .reading = reading,
           .keep = 0.2,
           .keep_flux = 0.75,
           .positive = true}};
}

std::vector<LossySetting> nuisance_filters() {
  const NoiseReading literal = NoiseReading::literal;
  return {{.name = "ekf, true flux",
           .estimator = "ekf",
           .reading = literal,
           .flux_start = lossy_flux,
           .flux_known = true},
          {.name = "ekf, 0.004 Wb",
           .estimator = "ekf",
           .reading = literal,
           .flux_start = 0.004,
           .flux_known = true},
          {.name = "ukf, 0.004 Wb",
           .estimator = "ukf",
           .reading = literal,
           .flux_start = 0.004,
           .flux_known = true},
          {.name = "pkf, considered",
           .estimator = "pkf",
           .reading = literal,
           .keep = 0.8,
           .keep_flux = 1.0,
           .flux_start = 0.004,
           .flux_deviation = 0.001,
           .flux_walks = false},
          {.name = "pkf, as printed",
           .estimator = "pkf",
           .reading = literal,
           .keep = 0.8,
           .keep_flux = 1.0,
           .flux_start = 0.004,
           .flux_deviation = 1.0}};
}

void lossy_voltage(std::int64_t k, double* v) {
  const double electrical = 200.0, size = lossy_flux * electrical + 0.75;  // one ampere through 0.75 ohm
  const double angle = electrical * lossy_step * static_cast<double>(k);
  v[0] = -size * std::sin(angle);
  v[1] = size * std::cos(angle);
}

LossyRecord lossy_record(NoiseReading reading, std::uint64_t seed, std::int64_t samples) {
  constexpr double pairs = 4.0, resistance = 0.75, inductance = 1.05e-3, inertia = 2.4018552467e-6,
                   drag = 11.603710493e-6, h = lossy_step;
  const double disturbance = reading == NoiseReading::density ? std::sqrt(1e-4 * h) : 0.01 * h;
  const double noise = std::sqrt(0.1);
  LossyNoise normal(seed);
  LossyRecord record;
  double a = 4.0, b = 2.0, w = 50.0, angle = 0.0, v[2];  // angle: mechanical
  for (std::int64_t k = 0; k < samples; ++k) {
    lossy_voltage(k, v);
    const double s = std::sin(pairs * angle), c = std::cos(pairs * angle), e = lossy_flux * pairs * w;
    const double torque = 1.5 * pairs * lossy_flux * (b * c - a * s);
    const double da = (v[0] - resistance * a + e * s) / inductance,
                 db = (v[1] - resistance * b - e * c) / inductance, dw = (torque - drag * w) / inertia;
    angle += h * w + disturbance * normal();
    a += h * da + disturbance * normal();
    b += h * db + disturbance * normal();
    w += h * dw + disturbance * normal();
    record.speed.push_back(w);
    record.angle.push_back(pairs * angle);
    record.readings.push_back(a + noise * normal());
    record.readings.push_back(b + noise * normal());
    record.arrival.push_back(normal.uniform());
  }
  return record;
}

LossyFilter::LossyFilter(const LossySetting& setting) : setting_(setting) {
  const Model model = lossy_model(setting);
  TwinOptions twin;
  twin.sensors = model.estimation.sensors;
  twin.unknowns = model.estimation.unknowns;
  twin.inputs = model.estimation.inputs;
  twin_ = std::make_unique<TwinModel>(model, twin);
  FilterOptions options;
  options.step = lossy_step;
  options.euler = true;
  filter_ = find_estimator(setting.estimator, model.estimation.place).make(*twin_, options);
  start_ = filter_->save();
  const double nan = std::nan("");
  innovations_ = {{nan, nan}, {nan, nan}, {0, 0}, 0.0};
  for (std::size_t k = 0; k < twin_->size(); ++k) {
    const std::string& name = twin_->states()[k].name;
    if (name == "shaft.w") speed_ = static_cast<long>(k);
    if (name == "motor.theta") angle_ = static_cast<long>(k);
    if (name == "flux") flux_ = static_cast<long>(k);
  }
}

void LossyFilter::begin_at_angle(double angle) {
  Belief belief = start_;
  belief.x[angle_] = angle;
  filter_->restore(belief);
}

bool LossyFilter::step(std::int64_t k, const double* readings) {
  double u[2], next[2];
  const double none[2] = {0.0, 0.0};
  lossy_voltage(k, u);
  const double t = lossy_step * static_cast<double>(k);
  if (!filter_->predict(t, u, none)) return false;
  if (!readings) return true;
  lossy_voltage(k + 1, next);
  return filter_->correct(t + lossy_step, next, readings, innovations_);
}

LossyRun lossy_run(LossyFilter& filter, const LossyRecord& record, double loss) {
  LossyRun run;
  filter.begin();
  const auto samples = static_cast<std::int64_t>(record.speed.size());
  double count = 0.0;
  for (std::int64_t k = 0; k < samples; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (!filter.step(k, record.arrival[at] < loss ? nullptr : record.readings.data() + 2 * at)) {
      run.stopped = true;
      break;
    }
    if (2 * k < samples) continue;
    const double speed = filter.speed() - record.speed[at];
    const double angle = std::remainder(filter.angle() - record.angle[at], M_PI);
    const double flux = std::abs(filter.flux()) - lossy_flux;
    run.speed += speed * speed;
    run.angle += angle * angle;
    run.flux += flux * flux;
    count += 1.0;
  }
  for (double* sum : {&run.speed, &run.angle, &run.flux})
    *sum = count > 0.0 ? std::sqrt(*sum / count) : std::nan("");
  run.negative = filter.flux() < 0.0;
  return run;
}

}  // namespace tellegen
