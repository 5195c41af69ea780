#include "tellegen/simulate/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/reading.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

using What = MeasureSpec::What;

std::string_view edge_name(MeasurePoint::Edge edge) {
  return edge == MeasurePoint::Edge::rise ? "rise" : edge == MeasurePoint::Edge::fall ? "fall" : "crossing";
}

}  // namespace

Measurement::Measurement(const Model& model, const Analyses& analyses) : model_(model), analyses_(analyses) {
  FaultList faults;
  const auto attempt = [&](const std::string& text, const Place& place) {
    try {
      if (!text.empty()) add_signal(text, place);
    } catch (const ModelError& error) {
      faults.add(error);
    }
  };
  for (const MeasureSpec& spec : analyses.measures) {
    attempt(spec.signal, spec.place);
    if (spec.first) attempt(spec.first->signal, spec.place);
    if (spec.second) attempt(spec.second->signal, spec.place);
  }
  for (const FourierSpec& spec : analyses.fourier)
    for (const FourierSpec::Signal& signal : spec.signals) attempt(signal.formula, spec.place);
  faults.throw_if_any();
}

std::size_t Measurement::add_signal(const std::string& text, const Place& place) {
  const auto known = signals_.find(text);
  if (known != signals_.end()) return known->second;
  formulas_.push_back(parse_value(model_, text, place));
  return signals_[text] = formulas_.size() - 1;
}

Curve Measurement::curve(const RunCurves& record, const std::string& signal) const {
  return {record, signals_.at(signal)};
}

// In parameters, with the numbers that they have now, and earlier measures.
double Measurement::number(const std::string& text, const Numbers& known) const {
  const Expr formula = parse(*model_.pool, text, model_.tables);
  ExprMap<double> at;
  for (const ModelParameter& p : model_.parameters) at[p.symbol] = p.number;
  for (const Expr symbol : symbols_of(std::span(&formula, 1))) {
    const auto found = known.find(std::string(symbol.name()));
    if (found == known.end()) continue;
    if (!found->second) throw NotReached{"it needs another measure that was not reached"};
    at[symbol] = *found->second;
  }
  const double value = evaluate(formula, at);
  if (!std::isfinite(value)) throw NotReached{"the value of its formula is not finite"};
  return value;
}

double Measurement::number_or(const std::string& text, double otherwise, const Numbers& known) const {
  return text.empty() ? otherwise : number(text, known);
}

double Measurement::instant(const RunCurves& record, const MeasurePoint& point, const Span& span,
                            const Numbers& known) const {
  if (!point.at.empty()) {
    const double at = number(point.at, known);
    if (at < span.from * (1 - 1e-12) || at > span.to * (1 + 1e-9))
      throw NotReached{
          fmt::format("{:g} s is not in the run, or not from {:g} s to {:g} s", at, span.from, span.to)};
    return std::clamp(at, span.from, span.to);
  }
  const double level = number(point.level, known),
               after = std::max(span.from, number_or(point.after, span.from, known));
  if (after > span.to)
    throw NotReached{fmt::format("{:g} s, from when on it is looked for, is after {:g} s", after, span.to)};
  auto crossings = curve(record, point.signal).crossings(level, after, span.to);
  if (point.edge != MeasurePoint::Edge::cross)
    std::erase_if(crossings,
                  [&](const auto& c) { return c.rising != (point.edge == MeasurePoint::Edge::rise); });
  const auto wanted = static_cast<std::size_t>(std::max(1, point.count));
  if (crossings.size() < wanted)
    throw NotReached{fmt::format("there {} {} {}{}, and number {} is asked for",
                                 crossings.size() == 1 ? "is" : "are",
                                 crossings.empty() ? "no" : fmt::format("{}", crossings.size()),
                                 edge_name(point.edge), crossings.size() == 1 ? "" : "s", wanted)};
  return (point.count == 0 ? crossings.back() : crossings[wanted - 1]).at;
}

double Measurement::evaluated(const RunCurves& record, const MeasureSpec& spec, const Numbers& known,
                              MeasureResult& result) const {
  if (spec.what == What::formula) return number(spec.formula, known);
  if (record.full()) throw NotReached{"the run has too many steps to be kept for measures"};
  if (record.empty()) throw NotReached{"nothing of the run was recorded"};
  const double begin = std::max(analyses_.begin, record.begin());
  Span span{begin, record.end()};
  if (!spec.from.empty()) span.from = std::max(span.from, number(spec.from, known));
  if (!spec.to.empty()) span.to = std::min(span.to, number(spec.to, known));
  if (!(span.to > span.from))
    throw NotReached{fmt::format("nothing of the run, which ends at {:g} s, lies from {:g} s to {:g} s",
                                 record.end(), span.from, span.to)};
  if (spec.what == What::interval) {
    const double first = instant(record, *spec.first, span, known),
                 second = instant(record, *spec.second, span, known);
    result.times = {{"trig", first}, {"targ", second}};
    return second - first;
  }
  if (spec.what == What::when || spec.what == What::find || spec.what == What::slope) {
    const double at = instant(record, *spec.first, span, known);
    result.times = {{"at", at}};
    if (spec.what == What::when) return at;
    const Curve signal = curve(record, spec.signal);
    return spec.what == What::find ? signal.value(at) : signal.slope(at);
  }
  const double from = spec.first ? instant(record, *spec.first, span, known) : span.from,
               to = spec.second ? instant(record, *spec.second, span, known) : span.to;
  if (!(to > from)) throw NotReached{fmt::format("it would end at {:g} s and begin at {:g} s", to, from)};
  result.times = {{"from", from}, {"to", to}};
  const Curve signal = curve(record, spec.signal);
  const auto found = [&](const Curve::Extreme& extreme, bool time) {
    result.times.insert(result.times.begin(), {"at", extreme.at});
    return time ? extreme.at : extreme.value;
  };
  switch (spec.what) {
    case What::average:
      return signal.integral(from, to) / (to - from);
    case What::rms:
      return std::sqrt(signal.mean_square(from, to));
    case What::integral:
      return signal.integral(from, to);
    case What::peak_to_peak:
      return signal.maximum(from, to).value - signal.minimum(from, to).value;
    case What::minimum:
    case What::minimum_at:
      return found(signal.minimum(from, to), spec.what == What::minimum_at);
    default:
      return found(signal.maximum(from, to), spec.what == What::maximum_at);
  }
}

std::string Measurement::unit_of(const MeasureSpec& spec) const {
  switch (spec.what) {
    case What::interval:
    case What::when:
    case What::minimum_at:
    case What::maximum_at:
      return "s";
    case What::formula:
    case What::integral:
    case What::slope:
      return "";
    default:
      break;
  }
  const Expr signal = formulas_[signals_.at(spec.signal)];
  if (!signal.is_symbol()) return "";
  const auto variable = find_variable(model_, signal.name());
  return variable ? variable_unit(model_, *variable) : "";
}

std::vector<MeasureResult> Measurement::measures(const RunCurves& record) const {
  std::vector<MeasureResult> results;
  Numbers known;
  for (const MeasureSpec& spec : analyses_.measures) {
    MeasureResult result{spec.name, unit_of(spec), {}, "", {}};
    try {
      result.value = evaluated(record, spec, known, result);
    } catch (const NotReached& error) {
      result.times.clear();
      result.reason = "not reached: " + error.why;
    }
    known[spec.symbol] = result.value;
    results.push_back(std::move(result));
  }
  return results;
}

FourierResult Measurement::fourier(const RunCurves& record, double frequency,
                                   const FourierSpec::Signal& signal) const {
  constexpr int harmonics = 10;
  const double period = 1 / frequency, degrees = 180 / M_PI;
  FourierResult result{signal.name, frequency, record.end() - period, {}, 0.0, ""};
  const double begin = std::max(analyses_.begin, record.begin());
  if (record.full()) {
    result.reason = "the run has too many steps to be kept for its harmonics";
  } else if (result.from < begin - 1e-9 * period) {
    result.reason = fmt::format("a period of {:g} s is longer than the run, from {:g} s to {:g} s", period,
                                begin, record.end());
  }
  if (!result.reason.empty()) return result;
  result.from = std::max(result.from, begin);
  const Curve curve = this->curve(record, signal.formula);
  double squares = 0.0;
  for (int k = 0; k < harmonics; ++k) {
    const auto sum = curve.fourier(result.from, period, k);
    FourierResult::Harmonic h{frequency * k, 0.0, 0.0, 0.0, 0.0};
    if (k == 0) {
      h.magnitude = sum.real() / period;
    } else {
      h.magnitude = 2 * std::abs(sum) / period;
      h.phase = degrees * std::atan2(sum.real(), sum.imag());
      const FourierResult::Harmonic& first = k == 1 ? h : result.harmonics[1];
      h.normalised_magnitude = first.magnitude > 0.0 ? h.magnitude / first.magnitude : 0.0;
      h.normalised_phase = h.phase - first.phase;
      if (k > 1) squares += h.normalised_magnitude * h.normalised_magnitude;
    }
    result.harmonics.push_back(h);
  }
  result.distortion = 100 * std::sqrt(squares);
  return result;
}

std::vector<FourierResult> Measurement::fourier(const RunCurves& record) const {
  std::vector<FourierResult> results;
  for (const FourierSpec& spec : analyses_.fourier)
    for (const FourierSpec::Signal& signal : spec.signals)
      results.push_back(fourier(record, spec.frequency, signal));
  return results;
}

}  // namespace tellegen
