// A twin for programs of others: the rules of a row are those of twin.h, values are in SI.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/pushed.h"
#include "tellegen/model/model.h"

namespace tellegen {

// What is left out is as [estimate] of the model says.
struct OnlineTwinOptions {
  std::string estimator;
  std::vector<std::string> sensors;  // the order of readings
  std::vector<std::string> inputs;   // the order of inputs: of the model, or parameters
  std::optional<double> step, late;  // between rows; how much later than newer ones a row may come
  bool check = true;                 // impossible readings count as missing
  bool compile = true;
};

class OnlineTwin {
 public:
  // The model must outlive it. Throws ModelError where the model cannot be estimated so.
  explicit OnlineTwin(const Model& model, const OnlineTwinOptions& options = {});
  ~OnlineTwin();
  OnlineTwin(OnlineTwin&&) noexcept;

  const std::vector<std::string>& sensors() const { return sensors_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<EstimatedQuantity>& quantities() const;  // what a belief is about

  using Pushed = tellegen::Pushed;
  // NaN: missing. The first row must give every input (T630).
  Pushed push(double t, std::span<const double> readings, std::span<const double> inputs = {});

  struct Belief {
    double t = 0.0;
    std::vector<double> mean, deviation;  // of each quantity
  };
  Belief belief();  // after the newest row
  // The coming steps up to the horizon, in seconds: inputs row by row; the last of them, or the newest that
  // came, holds on.
  std::vector<Belief> forecast(double horizon, std::span<const double> inputs = {});

  // Everything that must be kept to continue to the last bit. restore() throws ModelError: T631, T632.
  std::string checkpoint();
  void restore(std::string_view bytes);

  const std::string& failure() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::vector<std::string> sensors_, inputs_;
};

}  // namespace tellegen
