#include "tellegen/estimate/estimate_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "tellegen/estimate/innovation_monitor.h"

namespace tellegen {
namespace {

constexpr std::size_t block_bytes = std::size_t{16} << 20;

class StreamRun {
 public:
  StreamRun(const Model& model, RecordStream& stream, const StreamOptions& options)
      : model_(model), stream_(stream), options_(options), sensors_(model.estimation.sensors.size()) {}

  StreamedEstimate run() {
    FollowOptions follow = follow_options(model_, options_.estimate, stream_.step());
    follow.check = true;
    follow.nearest = stream_.nearest();
    follow.any_times = stream_.irregular();
    follow.corrected = [this](std::int64_t row, const Innovations& innovations) {
      corrected(row, innovations);
    };
    Twin twin(model_, follow);
    twin_ = &twin;
    if (!options_.resume.empty()) twin.restore(options_.resume);
    Estimate& e = result_.estimate;
    e.quantities = twin.described();
    e.estimator = twin.estimator();
    e.executor = twin.executor();
    e.reduction = twin.remark();
    columns_.emplace(model_, follow.sensors, e.quantities);
    if (options_.columns) options_.columns(*columns_);
    const std::size_t width = 1 + 2 * e.quantities.size() + 3 * sensors_;
    block_rows_ = std::clamp<std::size_t>(block_bytes / (width * sizeof(double)), 256, 65536);
    const double constant = std::numeric_limits<double>::infinity();
    e.ranges.assign(e.quantities.size(), {0.0, 0.0, constant, -constant});
    const std::int64_t resumed = twin.row();
    next_row_ = first_row_ = resumed + 1;
    const auto begin = std::chrono::steady_clock::now();
    follow_rows(follow, resumed);
    write_block();
    if (options_.save && twin.row() > resumed && (twin.failure().empty())) options_.save(twin.checkpoint());
    e.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    finish(follow);
    return std::move(result_);
  }

 private:
  void follow_rows(const FollowOptions& follow, std::int64_t resumed) {
    RecordStream::Row row;
    double saved = resumed < 0 ? -std::numeric_limits<double>::infinity() : twin_->time(resumed);
    // What is older than any way back has been followed before; without one, the newest step too.
    const double beside = follow.any_times ? 1e-12 * std::abs(twin_->time(resumed)) : follow.step;
    const double way_back = follow.late > 0.0 ? follow.late + 1.5 * beside : -0.5 * beside;
    const double oldest =
        resumed < 0 ? -std::numeric_limits<double>::infinity() : twin_->time(resumed) - way_back;
    while (!(options_.stop && *options_.stop) && stream_.next(row)) {
      if (row.t < oldest) {
        ++followed_before_;
        continue;
      }
      const std::int64_t before = next_row_;
      switch (twin_->push(row.t, row.readings, row.inputs)) {
        case Twin::Pushed::failed:
          return;
        case Twin::Pushed::beside:
          throw ModelError({{model_.file.string(), 0},
                            "T597",
                            fmt::format("the time {:.10g} s in line {} lies beside the steps of {}", row.t,
                                        row.line, seconds_text(follow.step)),
                            {"write resample = \"nearest\" in [estimate], or give another step"}});
        default:
          break;
      }
      if (next_row_ == before && !row.late && !t_.empty() && row.t > t_.back() - 0.5 * follow.step)
        read_again();
      if (!std::isfinite(saved)) saved = row.t;
      if (options_.every > 0.0 && twin_->time(twin_->row()) >= saved + options_.every * (1.0 - 1e-9)) {
        saved = twin_->time(twin_->row());
        write_block();
        if (options_.save) options_.save(twin_->checkpoint());
      }
    }
  }

  // A step was corrected: a new row of the block, or one that is done again.
  void corrected(std::int64_t row, const Innovations& innovations) {
    if (!monitor_) {
      std::vector<std::string> names;
      for (int s : model_.estimation.sensors) names.push_back(model_.outputs[s].name);
      monitor_.emplace(std::move(names), stream_.step(), stream_.rows());
      begin_ = twin_->time(row);
    }
    if (row >= next_row_) {
      next_row_ = row + 1;
      if (t_.size() == block_rows_) write_block();
      const Twin::Quantities& now = twin_->quantities();
      t_.push_back(now.t);
      mean_.insert(mean_.end(), now.mean.begin(), now.mean.end());
      deviation_.insert(deviation_.end(), now.deviation.begin(), now.deviation.end());
      innovation_.resize(t_.size() * sensors_);
      innovation_deviation_.resize(t_.size() * sensors_);
      refused_.resize(t_.size() * sensors_);
      if (options_.estimate.progress && row % 4096 == 0 && stream_.rows() > 0)
        options_.estimate.progress(static_cast<double>(row) / static_cast<double>(stream_.rows()));
    }
    const std::int64_t in_block = row - (next_row_ - static_cast<std::int64_t>(t_.size()));
    if (in_block < 0) return;  // it has left
    for (std::size_t s = 0; s < sensors_; ++s) {
      const std::size_t at = static_cast<std::size_t>(in_block) * sensors_ + s;
      innovation_[at] = innovations.value[s];
      innovation_deviation_[at] = std::sqrt(innovations.variance[s]);
      refused_[at] = innovations.refused[s];
    }
  }

  // More readings of the newest step came.
  void read_again() {
    const Twin::Quantities& now = twin_->quantities();
    std::copy(now.mean.begin(), now.mean.end(), mean_.end() - now.mean.size());
    std::copy(now.deviation.begin(), now.deviation.end(), deviation_.end() - now.deviation.size());
  }

  void write_block() {
    if (t_.empty()) return;
    Estimate& e = result_.estimate;
    const std::size_t width = e.quantities.size();
    const std::vector<InconsistentStretch> found =
        monitor_->add(t_, innovation_, innovation_deviation_, refused_);
    end_ = t_.back();
    std::size_t next = 0;
    const std::int64_t first = next_row_ - static_cast<std::int64_t>(t_.size()) - first_row_;
    for (std::size_t row = 0; row < t_.size(); ++row) {
      for (; next < found.size() && found[next].first <= first + static_cast<std::int64_t>(row); ++next)
        e.inflation = std::max(e.inflation, std::sqrt(found[next].ratio));
      for (std::size_t q = 0; q < width; ++q) {
        double& deviation = deviation_[row * width + q];
        if (e.inflation > 1.0) deviation *= e.inflation;
        const double value = mean_[row * width + q];
        Estimate::Range& range = e.ranges[q];
        range = {value, deviation, std::min(range.lowest, value), std::max(range.highest, value)};
      }
      if (!options_.row) continue;
      const auto part = [&](const std::vector<double>& of, std::size_t size) {
        return std::span(of).subspan(row * size, size);
      };
      columns_->convert({part(mean_, width),
                         part(deviation_, width),
                         {},
                         {},
                         part(innovation_, sensors_),
                         part(innovation_deviation_, sensors_)},
                        cells_);
      options_.row(t_[row], cells_);
    }
    if (options_.flush) options_.flush();
    e.rows += static_cast<std::int64_t>(t_.size());
    for (auto* list : {&t_, &mean_, &deviation_, &innovation_, &innovation_deviation_}) list->clear();
    refused_.clear();
  }

  void finish(const FollowOptions& follow) {
    Estimate& e = result_.estimate;
    e.log_likelihood = twin_->log_likelihood();
    e.failure = twin_->failure();
    e.corrects = twin_->model().uncertain();
    if (monitor_) {
      e.inconsistent = monitor_->stretches();
      e.sensors = monitor_->statistics();
      e.warnings = monitor_->warnings();
    }
    for (const SensorStatistics& s : e.sensors)
      if (s.used == 0) e.warnings.push_back(fmt::format("no reading of '{}' was used", s.name));
    if (e.rows == 0) e.ranges.clear();
    if (!e.inconsistent.empty())
      e.warnings.push_back(
          "the reason is not looked for in a record that is followed row by row; a part of it (--window) "
          "without "
          "--checkpoint is looked at as a whole");
    Record& record = result_.record;
    record.sensors = follow.sensors;
    record.inputs = follow.inputs;
    record.steps = e.rows;
    record.start = begin_;
    record.step =
        follow.any_times && e.rows > 1 ? (end_ - begin_) / static_cast<double>(e.rows - 1) : follow.step;
    record.remarks = stream_.remarks();
    const Twin::Counts& counts = twin_->counts();
    for (std::size_t s = 0; s < sensors_; ++s) {
      Record::Count& count = record.counts.emplace_back();
      if (s < e.sensors.size()) count.taken = e.sensors[s].used, count.missing = e.sensors[s].missing;
      count.out_of_range = counts.out_of_range[s];
      count.stuck = counts.stuck[s];
      count.too_late = stream_.too_late(s);
    }
    if (followed_before_ > 0)
      record.remarks.push_back(
          fmt::format("{} rows before the checkpoint were followed already", followed_before_));
    if (counts.late > 0)
      record.remarks.push_back(fmt::format("{} rows came late, and were put in", counts.late));
    std::int64_t too_late = counts.too_late;
    for (std::size_t s = 0; s < sensors_; ++s) too_late += stream_.too_late(s);
    if (too_late > 0) record.remarks.push_back(fmt::format("{} readings came too late", too_late));
    if (counts.duplicate > 0)
      record.remarks.push_back(
          fmt::format("{} readings of steps that had been read already were not used", counts.duplicate));
  }

  const Model& model_;
  RecordStream& stream_;
  const StreamOptions& options_;
  std::size_t sensors_, block_rows_ = 0;
  Twin* twin_ = nullptr;
  std::optional<EstimateColumns> columns_;
  std::optional<InnovationMonitor> monitor_;
  StreamedEstimate result_;
  std::int64_t next_row_ = 0, first_row_ = 0;  // the row that comes next; the first of this run
  double begin_ = 0.0, end_ = 0.0;
  std::int64_t followed_before_ = 0;  // rows of the stream, by the twin that was saved
  std::vector<double> t_, mean_, deviation_, innovation_, innovation_deviation_, cells_;
  std::vector<char> refused_;
};

}  // namespace

FollowOptions follow_options(const Model& model, const EstimateOptions& options, double step) {
  FollowOptions follow;
  follow.sensors = model.estimation.sensors;
  follow.inputs = model.estimation.inputs;
  follow.step = step;
  follow.late = model.estimation.late;
  follow.nearest = model.estimation.resample == "nearest";
  follow.estimator = options.estimator;
  follow.euler = options.euler;
  follow.compile = options.compile;
  follow.anyway = options.anyway;
  follow.smooth = options.smooth;
  follow.reduce = options.reduce;
  follow.widenings = options.widenings;
  return follow;
}

StreamedEstimate estimate_stream(const Model& model, RecordStream& stream, const StreamOptions& options) {
  return StreamRun(model, stream, options).run();
}

}  // namespace tellegen
