// Windings of a stator: which conductors lie in which slot, and how often they surround which tooth.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "tellegen/model/machine.h"

namespace tellegen {
namespace {

constexpr double pi = std::numbers::pi;

class WindingReader {
 public:
  WindingReader(const Source& source, const Value& section, int slots, int poles)
      : at_(source), section_(section), slots_(slots), poles_(poles) {}

  MachineWinding read() {
    for (auto& phase : winding_.conductors) phase.assign(static_cast<std::size_t>(slots_), 0.0);
    const bool table = section_.find("a") || section_.find("b") || section_.find("c");
    if (table ? !from_table() : !from_numbers()) return winding_;
    const double paths = count("paths", 1);
    for (auto& phase : winding_.conductors)
      for (double& conductors : phase) conductors /= paths;
    surround_teeth();
    check_balance();
    return winding_;
  }

 private:
  void fault(const Value& at, std::string message, std::vector<std::string> details = {}) {
    at_.fault(at, "T185", std::move(message), std::move(details));
  }

  int count(std::string_view key, int otherwise) {
    const Value* value = section_.find(key);
    if (!value) return otherwise;
    const std::string what = fmt::format("'{}' of the winding", key);
    if (!at_.is(*value, Value::Type::integer, what)) return otherwise;
    if (value->number >= 1 && value->number <= 100000) return static_cast<int>(value->number);
    at_.fault(*value, "T124", fmt::format("{} must be at least 1", what));
    return otherwise;
  }

  bool from_table() {
    constexpr std::string_view keys[] = {"a", "b", "c"};
    for (const std::string_view key : {"conductors", "layers", "coil_pitch"})
      if (const Value* value = section_.find(key))
        at_.fault(*value, "T101", fmt::format("the winding is a table of conductors and has '{}'", key),
                  {"one of them"});
    for (std::size_t p = 0; p < 3; ++p) {
      const Value* list = section_.find(keys[p]);
      const std::string what = fmt::format("'{}' of the winding", keys[p]);
      if (!list) {
        at_.fault(section_, "T103", fmt::format("the winding is a table and has no {}", what));
        return false;
      }
      if (!at_.is(*list, Value::Type::list, what)) return false;
      if (static_cast<int>(list->items.size()) != slots_) {
        fault(*list, fmt::format("{} has {} entries for {} slots", what, list->items.size(), slots_));
        return false;
      }
      for (std::size_t s = 0; s < list->items.size(); ++s) {
        if (!list->items[s].is_number()) {
          at_.fault(list->items[s], "T102", fmt::format("{} must have numbers", what));
          return false;
        }
        winding_.conductors[p][s] = list->items[s].number;
      }
    }
    return true;
  }

  // The star of slots: belts of sixty electrical degrees, a, -c, b, -a, c, -b.
  bool from_numbers() {
    const Value* given = section_.find("conductors");
    if (!given) {
      at_.fault(section_, "T103", "the winding needs 'conductors', per slot",
                {"or a table: a = [8, 8, 0, ...], b = [...], c = [...]"});
      return false;
    }
    const int conductors = count("conductors", 1), layers = count("layers", 1);
    if (layers > 2) {
      fault(*section_.find("layers"), "a winding has one layer or two");
      return false;
    }
    const int full = slots_ / poles_;
    const int pitch = count("coil_pitch", std::max(1, full));
    if (layers == 1 && section_.find("coil_pitch") && pitch != full) {
      fault(*section_.find("coil_pitch"), "a coil pitch other than the pole pitch needs two layers");
      return false;
    }
    if (pitch >= slots_) {
      fault(*section_.find("coil_pitch"), fmt::format("a coil cannot span {} of {} slots", pitch, slots_));
      return false;
    }
    constexpr std::size_t phase_of[] = {0, 2, 1, 0, 2, 1};
    for (int s = 0; s < slots_; ++s) {
      const int belt = static_cast<int>(std::int64_t{6} * (std::int64_t{s} * poles_ / 2 % slots_) / slots_);
      const double sign = belt % 2 == 0 ? 1.0 : -1.0;
      auto& phase = winding_.conductors[phase_of[belt]];
      phase[static_cast<std::size_t>(s)] += sign * conductors / layers;
      if (layers == 2) phase[static_cast<std::size_t>((s + pitch) % slots_)] -= sign * conductors / 2.0;
    }
    return true;
  }

  void surround_teeth() {
    for (std::size_t p = 0; p < 3; ++p) {
      auto& turns = winding_.turns[p];
      double sum = 0.0;
      for (const double conductors : winding_.conductors[p]) {
        turns.push_back(sum);
        sum += conductors;
      }
      const double mean = std::accumulate(turns.begin(), turns.end(), 0.0) / slots_;
      for (double& t : turns) t -= mean;
      if (std::abs(sum) > 1e-9)
        fault(section_,
              fmt::format("phase {} has more conductors one way than the other", static_cast<char>('a' + p)));
    }
  }

  std::complex<double> fundamental(const std::vector<double>& turns) const {
    std::complex<double> sum;
    for (std::size_t k = 0; k < turns.size(); ++k)
      sum += turns[k] * std::polar(1.0, pi * poles_ * static_cast<double>(k) / slots_);
    return sum;
  }

  void check_balance() {
    const std::complex<double> a = fundamental(winding_.turns[0]);
    const double size = std::abs(a);
    bool balanced = size > 1e-9;
    for (const int p : {1, 2})
      balanced = balanced && std::abs(fundamental(winding_.turns[static_cast<std::size_t>(p)]) -
                                      a * std::polar(1.0, 2 * pi / 3 * p)) < 1e-6 * size;
    if (!balanced)
      fault(section_,
            fmt::format("the winding of {} slots makes no three equal phases for {} poles", slots_, poles_),
            {"slots must be a multiple of three times as many as a symmetric winding repeats in; "
             "phases b and c must follow a by 120 and 240 degrees"});
    winding_.axis = std::arg(a) / (0.5 * poles_);
  }

  Source at_;
  const Value& section_;
  int slots_, poles_;
  MachineWinding winding_;
};

}  // namespace

MachineWinding read_winding(const Source& source, const Value* section, int slots, int poles) {
  return WindingReader(source, *section, slots, poles).read();
}

}  // namespace tellegen
