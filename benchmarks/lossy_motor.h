// The motor of [Yadav 2021], section 4.6.1, whose speed, angle and flux are found from two currents: its
// filters, and a plant written by hand that makes records for them.
//
// The printed process noise, 1e-4, is read in two ways. Density: 1e-4 in a second, in plant and filter.
// Literal: 1e-4 at every sample of 10 us in the filter, while the plant has it on the rates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tellegen/estimate/filter.h"

namespace tellegen {

constexpr double lossy_step = 1e-5;
constexpr double lossy_flux = 0.005237624509;

enum class NoiseReading { density, literal };

// A filter of the example. Names are told in tables.
struct LossySetting {
  std::string name, estimator;
  NoiseReading reading = NoiseReading::density;
  double keep = 0.0, keep_flux = 0.0;
  double flux_start = 0.0, flux_deviation = 1.0;
  bool flux_walks = true, flux_known = false;
  bool positive = false;  // the flux is bounded from below: no mirror image
};

// models/pmsm-estimation with these numbers.
Model lossy_model(const LossySetting& setting);

// The stability example: ekf, pkf, ukf, and pkf with the bound.
std::vector<LossySetting> stability_filters(NoiseReading reading);
// The nuisance example, literal reading: the flux known, taken as 0.004 Wb, considered, estimated.
std::vector<LossySetting> nuisance_filters();

// Voltages of the example at sample k.
void lossy_voltage(std::int64_t k, double* v);

// What was true and what was read at samples 1, 2, ...
struct LossyRecord {
  std::vector<double> speed, angle;  // mechanical speed, electrical angle
  std::vector<double> readings;      // two a sample
  std::vector<double> arrival;       // uniform in [0, 1): lost where below the loss
};
LossyRecord lossy_record(NoiseReading reading, std::uint64_t seed, std::int64_t samples);

// One filter on its model, to be led along many records.
class LossyFilter {
 public:
  explicit LossyFilter(const LossySetting& setting);
  const LossySetting& setting() const { return setting_; }

  void begin() { filter_->restore(start_); }
  void begin_at_angle(double angle);  // electrical
  // From sample k to k + 1, with the readings there, or nullptr. False where the filter cannot go on.
  bool step(std::int64_t k, const double* readings);
  double speed() const { return filter_->belief().x[speed_]; }
  double angle() const { return filter_->belief().x[angle_]; }
  double flux() const { return flux_ < 0 ? setting_.flux_start : filter_->belief().x[flux_]; }

 private:
  LossySetting setting_;
  std::unique_ptr<TwinModel> twin_;
  std::unique_ptr<Filter> filter_;
  Belief start_;
  Innovations innovations_;
  long speed_ = -1, angle_ = -1, flux_ = -1;
};

// A filter over a record, judged over the second half of it. The pair (flux, angle) and its mirror image
// (-flux, angle + half a turn) give the same currents and the same speed: angles are compared modulo half a
// turn, fluxes by their size, and a run that ends in the image is said to.
struct LossyRun {
  double speed = 0.0, angle = 0.0, flux = 0.0;  // root of the mean square of the errors
  bool stopped = false;                         // the filter could not go on
  bool negative = false;                        // the flux at the end
  bool failed() const { return stopped || !(speed <= 25.0) || !(angle <= 0.5); }
  bool mirrored() const { return negative && !failed(); }
};
LossyRun lossy_run(LossyFilter& filter, const LossyRecord& record, double loss);

}  // namespace tellegen
