// Whole steps in lanes: the loop of steps of whole_integrator.cpp, with starting steps and then those of the
// formula, where nothing happens around the steps.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tellegen/model/units.h"
#include "tellegen/program/lanes.h"
#include "tellegen/simulate/denormals.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {
class WholeLanes : public RunLanes {
  // One loop of steps: the registers of all lanes, and the code for them.
  class LoopLanes {
   public:
    LoopLanes(const StepLoop& loop, int lanes)
        : loop_(loop),
          lanes_(lanes),
          rows_((loop.program().registers + LaneCode::extra_rows) * static_cast<std::size_t>(lanes)) {}

    void take(int lane) {
      const double* r = loop_.registers();
      for (std::int32_t reg = 0; reg < loop_.program().registers; ++reg) row(reg)[lane] = r[reg];
      alive()[lane] = 1.0;
      not_finite()[lane] = 0.0;
    }
    // Lanes from `used` on are dead, and like the first.
    void fill(int used) {
      for (std::int32_t reg = 0; reg < loop_.program().registers; ++reg)
        std::fill(row(reg) + used, row(reg) + lanes_, row(reg)[0]);
      std::fill(alive() + used, alive() + lanes_, 0.0);
    }

    // What all lanes begin with, and what each has of its own.
    void follow(std::vector<RowValue> registers) {
      start_.resize(rows_.size());
      own_.clear();
      for (std::int32_t reg = 0; reg < loop_.program().registers; ++reg) {
        std::fill_n(start_.begin() + std::ptrdiff_t{reg} * lanes_, lanes_, registers[reg].number);
        if (registers[reg].varies()) own_.push_back({reg, registers[reg]});
      }
    }
    // Lanes that are not good are dead, and like one that is.
    void take_rows(RowList& list, std::span<const char> good) {
      std::copy(start_.begin(), start_.end(), rows_.begin());
      const auto first = std::find_if(good.begin(), good.end(), [](char g) { return g != 0; }) - good.begin();
      for (const auto& [reg, value] : own_) {
        double* to = row(reg);
        list.put(value, to);
        for (int l = 0; l < lanes_; ++l)
          if (!good[l]) to[l] = to[first];
      }
      for (int l = 0; l < lanes_; ++l) alive()[l] = good[l] ? 1.0 : 0.0;
    }
    bool make_code_for_rows(const std::vector<std::int32_t>& more, double interpreting) {
      std::vector<char> differ(static_cast<std::size_t>(loop_.program().registers), 0);
      for (const auto& [reg, value] : own_) differ[reg] = 1;
      return make_code_for(std::move(differ), more, interpreting);
    }

    // `more`: registers that will differ although they do not yet. False where there is no code.
    bool make_code(const std::vector<std::int32_t>& more, double interpreting) {
      std::vector<char> differ(static_cast<std::size_t>(loop_.program().registers), 0);
      for (std::int32_t reg = 0; reg < loop_.program().registers; ++reg)
        differ[reg] = std::any_of(row(reg), row(reg) + lanes_,
                                  [&](double v) { return std::memcmp(&v, row(reg), sizeof v) != 0; });
      return make_code_for(std::move(differ), more, interpreting);
    }
    bool make_code_for(std::vector<char> differ, const std::vector<std::int32_t>& more, double interpreting) {
      for (const std::int32_t reg : more) differ[reg] = 1;
      if (code_) {
        const auto& varying = code_->varying();
        bool covered = true;
        for (std::size_t r = 0; r < differ.size(); ++r) covered = covered && (!differ[r] || varying[r]);
        if (covered) return true;
        for (std::size_t r = 0; r < differ.size(); ++r) differ[r] = differ[r] || varying[r];
      }
      code_ = LaneCode::make(loop_.procedure(), StepLoop::run_entry, std::move(differ), interpreting);
      return code_ != nullptr;
    }
    bool varies(std::int32_t reg) const { return code_->varying()[reg]; }

    void run(std::int64_t steps, double* row_of_outputs) {
      std::fill_n(row(loop_.counters().left), lanes_, static_cast<double>(steps));
      code_->call(rows_.data(), row_of_outputs);
    }
    double* row(std::int32_t reg) { return rows_.data() + static_cast<std::size_t>(reg) * lanes_; }
    double* not_finite() { return row(loop_.program().registers + 1); }
    double* alive() { return row(loop_.program().registers); }
    const StepCounters& counters() const { return loop_.counters(); }

   private:
    const StepLoop& loop_;
    int lanes_;
    std::vector<double> rows_;  // [register][lane]
    std::vector<double> start_;
    std::vector<std::pair<std::int32_t, RowValue>> own_;
    std::shared_ptr<const LaneCode> code_;
  };

 public:
  explicit WholeLanes(WholeIntegrator& run)
      : run_(run), lanes_(lanes_of_this_machine().lanes()), step_(run.step_->loop(), lanes_) {
    if (run.start_) {
      start_.emplace(run.start_->loop(), lanes_);
      hand_over_ = run.start_->hand_over(*run.step_);
      hand_over_.push_back({step_.counters().phase, start_->counters().phase});
    }
  }

  int lanes() const override { return lanes_; }

  bool take(int lane) override {
    for (WholeStep* step : {run_.start_.get(), run_.step_.get()})
      if (step) step->loop().set(run_.control_);
    step_.take(lane);
    if (start_) start_->take(lane);
    taken_ = lane + 1;
    by_rows_ = false;
    return true;
  }

  bool write(RowList& list, const Simulation& simulation, const StartRows& start) override {
    const EquationSystem& system = *run_.problem_.system;
    if (&system != simulation.problem().system || !run_.events_->always_empty()) return false;
    std::vector<RowValue> values;
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.rates.size()); ++k)
      values.push_back(start.differentiated(list, system, k));
    for (WholeStep* step : {run_.start_.get(), run_.step_.get()}) {
      if (!step) continue;
      step->loop().set(run_.control_);
      auto registers = step->write(list, start.numbers, values, start.rates);
      if (!registers || !list.possible()) return false;
      (step == run_.step_.get() ? step_ : *start_).follow(std::move(*registers));
    }
    return true;
  }

  void take_rows(RowList& list, std::span<const char> good) override {
    step_.take_rows(list, good);
    if (start_) start_->take_rows(list, good);
    taken_ = lanes_;
    by_rows_ = true;
  }

  bool run(std::int64_t samples, double interpreting, std::span<double> ends, std::span<char> good,
           const std::function<void()>& now_and_then) override {
    if (!by_rows_) {
      step_.fill(taken_);
      if (start_) start_->fill(taken_);
    }
    const int taken = std::exchange(taken_, 0);
    const auto make_code = [&](LoopLanes& loop, const std::vector<std::int32_t>& more) {
      return by_rows_ ? loop.make_code_for_rows(more, interpreting) : loop.make_code(more, interpreting);
    };
    std::vector<std::int32_t> handed;
    if (start_) {
      if (!make_code(*start_, {})) return false;
      for (const RegisterCopy& c : hand_over_)
        if (start_->varies(c.source)) handed.push_back(c.target);
    }
    if (!make_code(step_, handed)) return false;

    const FlushDenormals flush;
    const std::int64_t stride = run_.problem_.stride, steps = samples * stride;
    std::int64_t done = 0;
    if (start_) {
      done = std::min<std::int64_t>(steps, run_.plan_.start_steps);
      start_->run(done, ends.data());
      for (const RegisterCopy& c : hand_over_)
        std::copy_n(start_->row(c.source), lanes_, step_.row(c.target));
      std::copy_n(start_->alive(), lanes_, step_.alive());
      std::copy_n(start_->not_finite(), lanes_, step_.not_finite());
      std::fill_n(step_.row(step_.counters().renew), lanes_, 1.0);
    }
    const std::int64_t chunk = std::max<std::int64_t>(1000, steps / 20);
    while (done < steps) {
      if (now_and_then) now_and_then();
      const std::int64_t some = std::min(steps - done, chunk);
      step_.run(some, ends.data());
      done += some;
    }
    for (int lane = 0; lane < lanes_; ++lane)
      good[lane] = lane < taken && step_.alive()[lane] != 0.0 && step_.not_finite()[lane] == 0.0;
    return true;
  }

 private:
  WholeIntegrator& run_;
  int lanes_, taken_ = 0;
  bool by_rows_ = false;
  std::optional<LoopLanes> start_;
  LoopLanes step_;
  std::vector<RegisterCopy> hand_over_;
};

std::unique_ptr<RunLanes> WholeIntegrator::lanes() {
  if (!events_->empty() || !problem_.totals.empty() || problem_.followed_outputs > 0) return nullptr;
  return std::make_unique<WholeLanes>(*this);
}

std::unique_ptr<RunLanes> lanes_of(Simulation& simulation) {
  const Problem& problem = simulation.problem();
  const bool plain = problem.options.restarts && problem.options.balance == Balance::off && !problem.record &&
                     problem.stop_event < 0;
  const auto integrator = plain ? dynamic_cast<HasLanes*>(&simulation.integrator()) : nullptr;
  return integrator ? integrator->lanes() : nullptr;
}

void to_units(const Simulation& simulation, std::span<double> rows, std::size_t lanes) {
  for (std::size_t k = 0; k < rows.size() / lanes; ++k) {
    const std::string& unit = simulation.outputs()[k].unit;
    if (unit.empty()) continue;
    const UnitScale scale = units().scale(unit);
    const double offset = scale.from_si(0.0), slope = scale.from_si(1.0) - offset;
    if (offset != 0.0 || slope != 1.0)
      for (double& value : rows.subspan(k * lanes, lanes)) value = scale.from_si(value);
  }
}

}  // namespace tellegen
