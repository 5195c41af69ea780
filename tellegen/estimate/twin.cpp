#include "tellegen/estimate/twin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tellegen/estimate/widen.h"
#include "tellegen/model/parameters.h"
#include "tellegen/numeric/byte_stream.h"
#include "tellegen/records/statistics.h"
#include "tellegen/records/time_base.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

constexpr double longest_gap = 1e7;  // steps without a row; beyond that a clock has jumped

// A filter has diverged where the readings of a sensor are, over many of them, further from what it
// expects than its own uncertainty allows by this factor.
constexpr std::size_t divergence_window = 200;
constexpr double divergence_ratio = 100.0;  // of variances

constexpr std::string_view checkpoint_magic = "TLGNTWIN";
constexpr std::uint32_t checkpoint_version = 3;

}  // namespace

Twin::Twin(const Model& model, FollowOptions options)
    : original_(model),
      options_(std::move(options)),
      entry_(find_estimator(options_.estimator.empty() ? model.estimation.estimator : options_.estimator,
                            model.estimation.place)) {
  check_noise(model, options_.sensors);
  if (!(options_.step > 0.0))
    throw ModelError(
        {model.estimation.place, "T630", "a twin needs a step", {"give the step of the estimation"}});
  if (options_.smooth && !entry_.smooths)
    throw ModelError({model.estimation.place,
                      "T624",
                      fmt::format("no smoother can follow '{}'", entry_.name),
                      {"use ekf or kf"}});
  if (options_.any_times && !entry_.any_length)
    throw ModelError({model.estimation.place,
                      "T634",
                      fmt::format("'{}' cannot follow irregular times", entry_.name),
                      {"use ekf, or give its steps: --step 1s --resample nearest"}});
  for (const std::string& input : options_.inputs) {
    held_.push_back(is_held(model, input));
    begins_at_inputs_ =
        begins_at_inputs_ || std::any_of(model.parameters.begin(), model.parameters.end(),
                                         [&](const ModelParameter& p) { return p.name == input; });
  }
  goes_back_ = options_.late > 0.0;
  kept_ = static_cast<std::size_t>(std::ceil(options_.late / options_.step - close_enough)) + 1;
  filter_options_.step = options_.step;
  filter_options_.euler = options_.euler;
  filter_options_.compile = options_.compile;
  filter_options_.any_length = options_.any_times;
  filter_options_.reduce = options_.reduce;
  filter_options_.rows = options_.rows;
  filter_options_.begins = options_.begins;
  filter_options_.given = options_.given;
  if (model.estimation.gate) filter_options_.gate = chi_square_quantile(*model.estimation.gate, 1.0);
  if (begins_at_inputs_ && options_.given) {
    first_inputs_.assign(options_.given, options_.given + options_.inputs.size());
    build(begun_with(model, options_.inputs, first_inputs_));
  } else {
    build(model);
  }
}

Twin::~Twin() = default;

void Twin::build(const Model& model) {
  TwinOptions twin;
  twin.sensors = options_.sensors;
  twin.unknowns = model.estimation.unknowns;
  twin.inputs = options_.inputs;
  twin.plain = entry_.plain;
  twin.compile = options_.compile;
  twin.input_noise = true;
  twin.events = entry_.events;
  twin.listed_states = options_.reduce > 0    ? 0
                       : options_.reduce == 0 ? full_filter_limit
                                              : twin.listed_states;
  filter_.reset();
  fingerprint_.reset();
  plant_ = std::make_unique<TwinModel>(model, twin);
  first_memory_ = plant_->memory();
  events_.reset();
  if (plant_->has_events()) {
    events_.emplace(*plant_, options_.step);
    filter_options_.any_length = true;
  }
  filter_ = entry_.make(*plant_, filter_options_);
  if (filter_->executor().starts_with("generated")) plant_->take_quantities_from_formulas();
  begin();
}

// As before the first row.
void Twin::begin() {
  const std::size_t sensors = options_.sensors.size();
  moments_.clear();
  row_ = again_from_ = -1;
  gone_log_likelihood_ = 0.0;
  counts_ = {};
  counts_.out_of_range.assign(sensors, 0);
  counts_.stuck.assign(sensors, 0);
  checks_.clear();
  for (int s : options_.sensors) checks_.emplace_back(original_.outputs[s]);
  recent_.assign(sensors, {});
  innovations_ = {std::vector<double>(sensors, no_number), std::vector<double>(sensors, no_number),
                  std::vector<char>(sensors, 0), 0.0};
  quantities_known_ = diverged_ = false;
  failure_.clear();
  smoother_ = {};
  smoothed_inputs_.clear();
  smoothed_times_.clear();
}

void Twin::restart(const Vector& process_noise) {
  plant_->set_memory(first_memory_);
  filter_ = entry_.make(*plant_, filter_options_);
  filter_->set_process_noise(process_noise);
  begin();
}

const Vector& Twin::process_noise() const { return filter_->process_noise(); }
std::string_view Twin::estimator() const { return entry_.name; }
std::string Twin::executor() const { return filter_->executor(); }
std::string Twin::remark() const { return filter_->remark(); }
const std::vector<EstimatedQuantity>& Twin::described() const { return plant_->quantities(); }
const Innovations& Twin::innovations() const { return innovations_; }

double Twin::time(std::int64_t row) const {
  if (!options_.any_times) return start_ + options_.step * static_cast<double>(row);
  const auto at =
      std::find_if(moments_.rbegin(), moments_.rend(), [&](const Moment& m) { return m.row == row; });
  return at == moments_.rend() ? start_ : at->t;
}

// Where among the moments a time is that is not new; one that no row had yet comes between two of them. -1:
// it is too late.
std::int64_t Twin::place_of(double t) {
  const auto at = std::lower_bound(moments_.begin(), moments_.end(), t,
                                   [](const Moment& m, double time) { return m.t < time; });
  const std::int64_t place = at - moments_.begin();
  if (at != moments_.end() && at->t == t) return place;
  if (at == moments_.begin() || at == moments_.end() || !goes_back_ || options_.smooth) return -1;
  const Moment &before = *std::prev(at), &after = *at;
  Moment between;
  between.row = -1;
  between.t = t;
  between.inputs = before.inputs;
  for (std::size_t k = 0; k < held_.size(); ++k)
    if (!held_[k])
      between.inputs[k] += (after.inputs[k] - before.inputs[k]) * (t - before.t) / (after.t - before.t);
  between.readings.assign(options_.sensors.size(), no_number);
  between.counted.assign(options_.sensors.size(), 0);
  moments_.insert(at, std::move(between));
  if (again_from_ >= place) ++again_from_;
  do_again(place - 1);
  return place;
}

void Twin::do_again(std::int64_t from) { again_from_ = again_from_ < 0 ? from : std::min(again_from_, from); }

bool Twin::is_over(double t) const {
  return options_.any_times
             ? moments_.size() > 1 && moments_[1].t < t - options_.late - close_enough * options_.step
             : moments_.size() > kept_;
}

bool Twin::fail(std::int64_t row, const std::string& reason) {
  failure_ = fmt::format("at t = {:.6g} s {}", time(row), reason);
  return false;
}

Twin::Pushed Twin::push(double t, std::span<const double> readings, std::span<const double> inputs) {
  if (!failure_.empty()) return Pushed::failed;
  if (row_ < 0) {
    start_ = t;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (std::isnan(inputs[k]))
        throw ModelError({original_.estimation.place,
                          "T630",
                          fmt::format("the first row does not give the input '{}'", options_.inputs[k]),
                          {"an input that is missing stays what it was; here it was nothing yet"}});
    if (begins_at_inputs_ &&
        !std::equal(inputs.begin(), inputs.end(), first_inputs_.begin(), first_inputs_.end())) {
      first_inputs_.assign(inputs.begin(), inputs.end());
      build(begun_with(original_, options_.inputs, inputs));
    }
  }
  const double at = (t - start_) / options_.step, nearest = std::round(at);
  if (!std::isfinite(at) ||
      (!options_.nearest && !options_.any_times && std::abs(at - nearest) > close_enough)) {
    ++counts_.beside;
    return Pushed::beside;
  }
  ++counts_.rows;
  const auto row =
      options_.any_times ? row_ + 1 : static_cast<std::int64_t>(std::clamp(nearest, -1e18, 1e18));
  const bool newer = options_.any_times ? row_ < 0 || t > moments_.back().t : row > row_;
  checked_.assign(readings.begin(), readings.end());
  if (options_.check)
    for (std::size_t s = 0; s < checked_.size(); ++s) {
      ReadingCheck alone(original_.outputs[options_.sensors[s]]);
      const ReadingVerdict verdict = (newer ? checks_[s] : alone).see(t, checked_[s]);
      counts_.out_of_range[s] += verdict == ReadingVerdict::out_of_range;
      counts_.stuck[s] += verdict == ReadingVerdict::stuck;
      if (verdict != ReadingVerdict::good) checked_[s] = no_number;
    }
  const auto is_read = [](double reading) { return !std::isnan(reading); };
  if (!newer && options_.any_times && std::none_of(checked_.begin(), checked_.end(), is_read))
    return Pushed::duplicate;
  if (!newer) return push_old(options_.any_times ? place_of(t) : row - oldest(), checked_);
  const double passed = row_ < 0 ? 0.0 : std::round((t - time(row_)) / options_.step);
  if (passed > longest_gap) {
    fail(row_, fmt::format("the next row is {:.3g} s later: {:.0f} steps without readings", t - time(row_),
                           passed));
    return Pushed::failed;
  }
  if (!catch_up()) return Pushed::failed;

  target_.assign(inputs.begin(), inputs.end());
  if (row_ >= 0) {
    origin_ = moments_.back().inputs;
    for (std::size_t k = 0; k < target_.size(); ++k)
      if (std::isnan(target_[k])) target_[k] = origin_[k];
  }
  const std::int64_t before = row_;
  for (std::int64_t next = before + 1; next <= row; ++next) {
    Moment& moment = next_moment(next, options_.any_times ? t : time(next));
    moment.inputs = target_;
    if (next == row) {
      moment.readings = checked_;
    } else {
      // Steps between have inputs on the way to those of this row, and no readings.
      ++counts_.empty;
      moment.readings.assign(checked_.size(), no_number);
      const double along = (time(next) - time(before)) / (time(row) - time(before));
      for (std::size_t k = 0; k < target_.size(); ++k)
        moment.inputs[k] = held_[k] ? origin_[k] : origin_[k] + (target_[k] - origin_[k]) * along;
    }
    if (!step_to(next)) return Pushed::failed;
  }
  return Pushed::taken;
}

// Where the oldest is no longer needed, its memory is used again.
Twin::Moment& Twin::next_moment(std::int64_t row, double t) {
  // Moments that came in between leave several at once.
  while (options_.any_times && moments_.size() > 2 && is_over(t) &&
         moments_[2].t < t - options_.late - close_enough * options_.step) {
    gone_log_likelihood_ += moments_.front().log_likelihood;
    moments_.pop_front();
  }
  if (is_over(t)) {
    gone_log_likelihood_ += moments_.front().log_likelihood;
    moments_.push_back(std::move(moments_.front()));
    moments_.pop_front();
  } else {
    moments_.emplace_back();
  }
  Moment& moment = moments_.back();
  moment.row = row;
  moment.t = t;
  moment.counted.assign(options_.sensors.size(), 0);
  moment.log_likelihood = 0.0;
  return moment;
}

// The newest moment has its inputs and readings.
bool Twin::step_to(std::int64_t row) {
  quantities_known_ = false;
  Moment& moment = moments_.back();
  if (moments_.size() > 1 && !predict(moments_[moments_.size() - 2], moment)) return false;
  if (moments_.size() == 1) {
    if (events_ && !filter_->begin_events(*events_, moment.t, moment.inputs.data()))
      return fail(row, "the model cannot be evaluated");
    widen(*plant_, *filter_, row, options_.widenings);
  }
  if (options_.smooth) {
    smoothed_inputs_.insert(smoothed_inputs_.end(), moment.inputs.begin(), moment.inputs.end());
    smoothed_times_.push_back(moment.t);
  }
  if (goes_back_) {
    moment.belief = filter_->save();
    moment.memory = plant_->memory();
  }
  row_ = row;
  if (!correct(moment, moment.readings.data())) return false;
  watch(moment);
  return failure_.empty();
}

bool Twin::advance(double t, double length, const double* inputs, Matrix* transition) {
  if (events_) return filter_->predict_through(*events_, t, length, inputs, rates_.data(), transition);
  if (options_.any_times) return filter_->predict_over(t, length, inputs, rates_.data(), transition);
  if (!filter_->predict(t, inputs, rates_.data())) return false;
  if (transition) *transition = filter_->transition();
  return true;
}

bool Twin::predict(const Moment& from, const Moment& to) {
  const double length = options_.any_times ? to.t - from.t : options_.step;
  rates_.resize(to.inputs.size());
  for (std::size_t k = 0; k < rates_.size(); ++k)
    rates_[k] = held_[k] ? 0.0 : (to.inputs[k] - from.inputs[k]) / length;
  if (options_.smooth) corrected_ = filter_->belief();
  if (!advance(from.t, length, from.inputs.data(), options_.smooth ? &transition_ : nullptr))
    return fail(to.row, "the model cannot be evaluated");
  widen(*plant_, *filter_, to.row, options_.widenings);
  if (options_.smooth)
    smoother_.keep(static_cast<std::size_t>(to.row), corrected_, transition_, filter_->belief());
  return true;
}

// `more`: what other readings of this step have said already.
bool Twin::correct(Moment& moment, const double* readings, const Innovations* more) {
  if (!filter_->correct(moment.t, moment.inputs.data(), readings, innovations_))
    return fail(moment.row, "the innovation's covariance is singular");
  if (more) {
    moment.log_likelihood += innovations_.log_likelihood;
    for (std::size_t s = 0; s < recent_.size(); ++s) {
      if (!std::isnan(readings[s])) continue;
      innovations_.value[s] = more->value[s];
      innovations_.variance[s] = more->variance[s];
      innovations_.refused[s] = more->refused[s];
    }
  } else {
    moment.log_likelihood = innovations_.log_likelihood;
  }
  // A row is corrected again when a late reading belongs to it or to one before: each reading counts once.
  for (std::size_t s = 0; s < recent_.size(); ++s) {
    if (moment.counted[s] || std::isnan(innovations_.value[s])) continue;
    moment.counted[s] = 1;
    const double square = innovations_.value[s] * innovations_.value[s] / innovations_.variance[s];
    Recent& recent = recent_[s];
    if (recent.squares.size() < divergence_window) {
      recent.squares.push_back(square);
    } else {
      recent.sum -= recent.squares[recent.next];
      recent.squares[recent.next] = square;
      recent.next = (recent.next + 1) % divergence_window;
    }
    recent.sum += square;
  }
  if (options_.corrected && moment.row >= 0) options_.corrected(moment.row, innovations_);
  return true;
}

void Twin::watch(const Moment& moment) {
  if (options_.anyway) return;
  for (std::size_t s = 0; s < recent_.size(); ++s) {
    if (recent_[s].squares.size() < divergence_window ||
        !(recent_[s].sum > divergence_ratio * static_cast<double>(divergence_window)))
      continue;
    fail(moment.row, fmt::format("the filter diverged: {} readings of '{}' in a row are {:.0f} "
                                 "standard deviations off, on average",
                                 divergence_window, original_.outputs[options_.sensors[s]].name,
                                 std::sqrt(recent_[s].sum / static_cast<double>(divergence_window))));
    diverged_ = true;
    return;
  }
}

Twin::Pushed Twin::push_old(std::int64_t place, std::span<const double> readings) {
  const auto newest = static_cast<std::int64_t>(moments_.size()) - 1;
  // The newest step may be read in several rows; before it there is a way back, or none.
  if (place < 0 || (place < newest && (!goes_back_ || (!options_.any_times &&
                                                       newest - place > static_cast<std::int64_t>(kept_))))) {
    ++counts_.too_late;
    return Pushed::too_late;
  }
  Moment& moment = moments_[static_cast<std::size_t>(place)];
  bool any = false;
  new_readings_.assign(readings.size(), no_number);
  for (std::size_t s = 0; s < readings.size(); ++s) {
    if (std::isnan(readings[s])) continue;
    if (!std::isnan(moment.readings[s])) {
      ++counts_.duplicate;
      continue;
    }
    moment.readings[s] = new_readings_[s] = readings[s];
    any = true;
  }
  if (!any) return Pushed::duplicate;
  quantities_known_ = false;
  if (place < newest) ++counts_.late;
  if (goes_back_) {
    do_again(place);
    return place < newest ? Pushed::late : Pushed::taken;
  }
  const Innovations before = innovations_;
  if (!correct(moment, new_readings_.data(), &before)) return Pushed::failed;
  watch(moment);
  return failure_.empty() ? Pushed::taken : Pushed::failed;
}

// Does again what follows from readings that came late.
bool Twin::catch_up() {
  if (again_from_ < 0) return failure_.empty();
  const std::int64_t from = std::exchange(again_from_, -1);
  for (auto k = static_cast<std::size_t>(from); k < moments_.size(); ++k) {
    Moment& moment = moments_[k];
    if (k == static_cast<std::size_t>(from)) {
      filter_->restore(moment.belief);
      plant_->set_memory(moment.memory);
    } else {
      if (!predict(moments_[k - 1], moment)) return false;
      moment.belief = filter_->save();
      moment.memory = plant_->memory();
    }
    if (!correct(moment, moment.readings.data())) return false;
  }
  watch(moments_.back());
  return failure_.empty();
}

double Twin::log_likelihood() {
  catch_up();
  double sum = gone_log_likelihood_;
  for (const Moment& m : moments_) sum += m.log_likelihood;
  return sum;
}

const Belief& Twin::belief() {
  catch_up();
  return filter_->belief();
}

void Twin::read_quantities(const Vector& x, double t, const double* inputs, Quantities& out) {
  out.t = t;
  plant_->quantities_at(x, out.t, inputs, out.mean, slopes_);
}

const Twin::Quantities& Twin::quantities() {
  catch_up();
  if (quantities_known_ || row_ < 0) return quantities_;
  const Vector memory = plant_->memory();
  read_quantities(filter_->mean(), moments_.back().t, moments_.back().inputs.data(), quantities_);
  filter_->deviations(slopes_, quantities_.deviation);
  plant_->set_memory(memory);
  quantities_known_ = true;
  return quantities_;
}

std::vector<Twin::Quantities> Twin::forecast(std::span<const double> inputs, double horizon) {
  std::vector<Quantities> coming;
  if (!catch_up() && !diverged_) return coming;
  if (row_ < 0) return coming;
  const Belief now = filter_->save();
  const Vector memory = plant_->memory();
  const std::size_t width = options_.inputs.size();
  const auto steps = static_cast<std::int64_t>(std::floor(horizon / options_.step + close_enough));
  const double begin = moments_.back().t;
  std::vector<double> at = moments_.back().inputs, next = at;
  rates_.resize(width);
  bool good = true;
  for (std::int64_t k = 0; k < steps && good; ++k) {
    if (width > 0 && (static_cast<std::size_t>(k) + 1) * width <= inputs.size())
      next.assign(inputs.begin() + static_cast<long>(static_cast<std::size_t>(k) * width),
                  inputs.begin() + static_cast<long>((static_cast<std::size_t>(k) + 1) * width));
    for (std::size_t i = 0; i < width; ++i) rates_[i] = held_[i] ? 0.0 : (next[i] - at[i]) / options_.step;
    const double t = options_.any_times ? begin + options_.step * static_cast<double>(k) : time(row_ + k);
    good = advance(t, options_.step, at.data());
    at = next;
    if (!good) break;
    read_quantities(filter_->mean(), options_.any_times ? t + options_.step : time(row_ + k + 1), at.data(),
                    coming.emplace_back());
    filter_->deviations(slopes_, coming.back().deviation);
  }
  filter_->restore(now);
  plant_->set_memory(memory);
  if (!good) coming.clear();
  return coming;
}

void Twin::smooth(const std::function<void(std::int64_t row, const Quantities&)>& each) {
  catch_up();
  const std::size_t width = options_.inputs.size();
  const Vector memory = plant_->memory();
  Quantities out;
  smoother_.run(filter_->belief(), [&](std::size_t row, const Belief& belief) {
    read_quantities(filter_->states_of(belief), smoothed_times_[row], smoothed_inputs_.data() + row * width,
                    out);
    filter_->deviations_in(belief, slopes_, out.deviation);
    each(static_cast<std::int64_t>(row), out);
  });
  plant_->set_memory(memory);
}

// What makes a checkpoint one of this twin: equations, numbers, what is estimated how.
std::uint64_t Twin::fingerprint() {
  if (fingerprint_) return *fingerprint_;
  Fingerprint print;
  print.text(entry_.name);
  // Of irregular rows the step is a usual interval, which the rows to come change: the checkpoint has its
  // own.
  for (double number : {options_.any_times ? 0.0 : options_.step, options_.late, filter_options_.gate})
    print.number(number);
  for (bool choice : {options_.nearest, options_.any_times, options_.check, options_.euler, options_.anyway})
    print.number(choice);
  for (double number :
       {static_cast<double>(options_.reduce), static_cast<double>(options_.rows), options_.begins})
    print.number(number);
  for (int s : options_.sensors) print.text(original_.outputs[s].name);
  for (const std::string& input : options_.inputs) print.text(input);
  for (char held : held_) print.number(held);
  for (const TwinState& state : plant_->states()) {
    print.text(state.name);
    for (double number : {state.start, state.deviation, state.noise, state.rate_noise, state.keep})
      print.number(number);
  }
  for (double noise : plant_->noise()) print.number(noise);
  for (const EstimatedQuantity& q : plant_->quantities()) print.text(q.name);
  const MinimalForm& form = plant_->form();
  for (const auto* list : {&form.derivatives, &form.residuals, &plant_->reading_formulas()})
    for (Expr e : *list) print.text(to_text(e));
  for (double value : form.values) print.number(value);
  fingerprint_ = print.value();
  return *fingerprint_;
}

// Everything but what the filter carries, which is made anew when it is read.
void Twin::keep(Checkpoint& parts) {
  parts(start_, row_, gone_log_likelihood_, options_.step);
  auto moments = static_cast<std::uint64_t>(moments_.size());
  parts(moments);
  for (std::uint64_t k = 0; k < moments && parts.reading_goes_on(); ++k) {
    if (parts.reading()) moments_.emplace_back();
    Moment& m = moments_[k];
    parts(m.row, m.t, m.log_likelihood, m.belief.x, m.belief.p, m.memory, m.readings, m.inputs, m.counted);
  }
  for (ReadingCheck& check : checks_) {
    ReadingCheck::State state = check.state();
    parts(state);
    check.set_state(state);
  }
  for (Recent& r : recent_) parts(r.squares, r.next, r.sum);
  parts(counts_.rows, counts_.late, counts_.too_late, counts_.duplicate, counts_.beside, counts_.empty,
        counts_.out_of_range, counts_.stuck);
  parts(innovations_.value, innovations_.variance, innovations_.refused, innovations_.log_likelihood);
  parts(failure_, diverged_);
}

std::string Twin::checkpoint() {
  catch_up();
  Checkpoint parts;
  Belief now = filter_->save();
  Vector memory = plant_->memory(), noise = filter_->process_noise();
  parts(first_inputs_, now.x, now.p, memory, noise);
  keep(parts);
  return sealed(checkpoint_magic, checkpoint_version, fingerprint(), parts.bytes());
}

void Twin::restore(std::string_view bytes) {
  const Place place{original_.file.string(), 0};
  const Sealed seal = unsealed(checkpoint_magic, checkpoint_version, bytes);
  const auto wrong = [&](std::string_view code, std::string message, std::string advice) {
    return ModelError({place, std::string(code), std::move(message), {std::move(advice)}});
  };
  if (!seal.problem.empty())
    throw wrong("T631", "the checkpoint cannot be used: " + seal.problem, "begin anew without it");
  Checkpoint parts(seal.payload);
  std::vector<double> first;
  Belief now;
  Vector memory, noise;
  parts(first, now.x, now.p, memory, noise);
  if (!first.empty() && first != first_inputs_ && first.size() == options_.inputs.size()) {
    first_inputs_ = first;
    build(begun_with(original_, options_.inputs, first));
  }
  if (seal.fingerprint != fingerprint())
    throw wrong("T632", "the checkpoint is of another model, estimator or step",
                "continue with the model file and the options of the run that wrote it");
  begin();
  keep(parts);
  if (!parts.good())
    throw wrong("T631", "the checkpoint cannot be used: it is damaged", "begin anew without it");
  filter_options_.step = options_.step;
  if (events_) events_.emplace(*plant_, options_.step);
  filter_ = entry_.make(*plant_, filter_options_);
  if (noise != filter_->process_noise()) filter_->set_process_noise(noise);
  filter_->restore(now);
  plant_->set_memory(memory);
}

}  // namespace tellegen
