#include "tellegen/deploy/single_filter.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

std::size_t place(std::int32_t r) { return static_cast<std::size_t>(r); }

}  // namespace

SingleFilter::SingleFilter(const SingleFilterCode& code, const std::vector<double>& registers,
                           const std::vector<double>& inputs)
    : code_(code), w_(registers) {
  for (std::size_t r = 0; r < w_.size(); ++r)
    if (!code.filter_reals.precise[r]) w_[r] = static_cast<double>(single_number(w_[r]));
  for (double u : inputs) u_.push_back(single_number(u));
}

void SingleFilter::run(const char* entry) {
  const auto& entries = code_.filter.entries;
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == entry; });
  run_single(code_.filter, code_.filter_reals, static_cast<std::size_t>(found - entries.begin()), w_.data(),
             nullptr, nullptr);
}

bool SingleFilter::step(const std::vector<double>& readings, const std::vector<double>& inputs) {
  const float length = single_number(code_.step);
  if (row_ > 0) {
    w_[place(code_.at.time)] = code_.step * static_cast<double>(row_ - 1);
    for (std::size_t k = 0; k < u_.size(); ++k) {
      const float rate = (static_cast<float>(inputs[k]) - u_[k]) / length;
      w_[place(code_.at.u) + k] = static_cast<double>(u_[k]);
      w_[place(code_.at.du) + k] = code_.held[k] ? 0.0 : static_cast<double>(rate);
    }
    run("predict");
  }
  w_[place(code_.at.time)] = code_.step * static_cast<double>(row_);
  for (std::size_t k = 0; k < u_.size(); ++k) {
    u_[k] = static_cast<float>(inputs[k]);
    w_[place(code_.at.u) + k] = static_cast<double>(u_[k]);
  }
  for (std::size_t k = 0; k < readings.size(); ++k)
    w_[place(code_.at.reading) + k] = static_cast<double>(static_cast<float>(readings[k]));
  run("correct");
  ++row_;
  return std::isfinite(w_[0]);
}

std::vector<double> SingleFilter::estimates() const {
  const std::size_t n = code_.states, count = code_.last.size();
  std::vector<double> given(static_cast<std::size_t>(code_.quantities.program.registers), 0.0);
  std::vector<double> row(count + code_.column.size() + 1);
  std::copy_n(w_.begin(), n, given.begin());
  given[n] = w_[place(code_.at.time)];
  for (std::size_t k = 0; k < u_.size(); ++k) given[n + 1 + k] = static_cast<double>(u_[k]);
  for (std::size_t k = 0; k < code_.numbers.size(); ++k)
    given[n + 1 + u_.size() + k] = static_cast<double>(single_number(code_.numbers[k]));
  double* out = row.data();
  run_single(code_.quantities, code_.quantity_reals, 0, given.data(), nullptr, &out);
  const auto covariance = [&](std::size_t i, std::size_t j) {
    if (i > j) std::swap(i, j);
    return static_cast<float>(w_[n + i * n - i * (i + 1) / 2 + j]);
  };
  std::vector<double> result;
  for (std::size_t q = 0, from = 0; q < count; ++q) {
    const std::size_t to = place(code_.last[q]);
    float variance = 0.0f;
    for (std::size_t i = from; i < to; ++i) {
      float along = 0.0f;
      for (std::size_t j = from; j < to; ++j)
        along +=
            static_cast<float>(row[count + j]) * covariance(place(code_.column[j]), place(code_.column[i]));
      variance += static_cast<float>(row[count + i]) * along;
    }
    result.push_back(static_cast<double>(static_cast<float>(row[q])));
    result.push_back(static_cast<double>(std::sqrt(variance > 0.0f ? variance : 0.0f)));
    from = to;
  }
  return result;
}

}  // namespace tellegen
