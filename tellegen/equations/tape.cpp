#include "tellegen/equations/tape.h"

#include <cmath>

namespace tellegen {
namespace {

constexpr double rounding = 1e-12;     // of a cancellation that was exact
constexpr double large_enough = 1e-3;  // of a pivot among the others of its row; chosen was a tenth

}  // namespace

std::int32_t Tape::slot_of(Traced a) {
  if (a.slot >= 0) return a.slot;
  values_.push_back(a.value);
  return static_cast<std::int32_t>(values_.size()) - 1;
}

Traced Tape::record(Code code, double value, Traced a, Traced b, Traced c) {
  const std::int32_t operands[] = {slot_of(a), slot_of(b), slot_of(c)};
  values_.push_back(value);
  const auto target = static_cast<std::int32_t>(values_.size()) - 1;
  operations_.push_back({code, target, operands[0], operands[1], operands[2]});
  return {value, target};
}

Traced Tape::input(double value) {
  if (!records_) return {value};
  values_.push_back(value);
  inputs_.push_back(static_cast<std::int32_t>(values_.size()) - 1);
  return {value, inputs_.back()};
}

Traced Tape::add(Traced a, Traced b) {
  const double value = a.value + b.value;
  if (constant(a) && constant(b)) return {value};
  return record(Code::add, value, a, b);
}

Traced Tape::multiply(Traced a, Traced b) {
  const double value = a.value * b.value;
  if (constant(a) && constant(b)) return {value};
  return record(Code::multiply, value, a, b);
}

Traced Tape::subtract_product(Traced a, Traced b, Traced c) {
  const double value = a.value - b.value * c.value;
  if (constant(a) && constant(b) && constant(c)) return {value};
  return record(Code::subtract_product, value, a, b, c);
}

Traced Tape::invert(Traced a) {
  const double value = 1.0 / a.value;
  if (constant(a)) return {value};
  return record(Code::invert, value, a);
}

void Tape::is_zero(Traced a) {
  if (!constant(a)) record(Code::is_zero, 0.0, a);
}

void Tape::cancels(Traced a, Traced b, Traced c) {
  if (!constant(a) || !constant(b) || !constant(c)) record(Code::cancels, 0.0, a, b, c);
}

void Tape::is_large_among(Traced a, std::span<const Traced> others) {
  for (const Traced& other : others)
    if (other.slot != a.slot && !(constant(a) && constant(other))) record(Code::is_large, 0.0, a, other);
}

bool Tape::replay(std::span<const double> inputs) {
  for (std::size_t k = 0; k < inputs_.size(); ++k) values_[inputs_[k]] = inputs[k];
  double* v = values_.data();
  for (const Operation& o : operations_) {
    switch (o.code) {
      case Code::add:
        v[o.target] = v[o.a] + v[o.b];
        break;
      case Code::multiply:
        v[o.target] = v[o.a] * v[o.b];
        break;
      case Code::subtract_product:
        v[o.target] = v[o.a] - v[o.b] * v[o.c];
        break;
      case Code::invert:
        v[o.target] = 1.0 / v[o.a];
        break;
      case Code::is_zero:
        if (v[o.a] != 0.0) return false;
        break;
      case Code::cancels: {
        const double change = v[o.b] * v[o.c];
        if (!(std::abs(v[o.a] - change) <= rounding * std::max(std::abs(v[o.a]), std::abs(change))))
          return false;
        break;
      }
      case Code::is_large:
        if (!(std::abs(v[o.a]) >= large_enough * std::abs(v[o.b]))) return false;
        break;
    }
  }
  return true;
}

std::vector<RowValue> Tape::write(RowList& list, std::span<const RowValue> inputs) const {
  std::vector<RowValue> v(values_.begin(), values_.end());
  for (std::size_t k = 0; k < inputs_.size(); ++k) v[inputs_[k]] = inputs[k];
  for (const Operation& o : operations_) {
    switch (o.code) {
      case Code::add:
        v[o.target] = list.add(v[o.a], v[o.b]);
        break;
      case Code::multiply:
        v[o.target] = list.multiply(v[o.a], v[o.b]);
        break;
      case Code::subtract_product:
        v[o.target] = list.subtract_product(v[o.a], v[o.b], v[o.c]);
        break;
      case Code::invert:
        v[o.target] = list.divide(1.0, v[o.a]);
        break;
      case Code::is_zero:
        list.require(RowCheck::zero, v[o.a]);
        break;
      case Code::cancels:
        list.require_cancelling(v[o.a], v[o.b], v[o.c], rounding);
        break;
      case Code::is_large:
        list.require_share(v[o.a], v[o.b], large_enough);
        break;
    }
  }
  return v;
}

}  // namespace tellegen
