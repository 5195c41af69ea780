#include "tellegen/model/quantity_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "tellegen/data/time_names.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

struct QuantityWords {
  const char* unit;  // none: no quantity that a sensor reads
  std::array<std::string_view, 7> words;
};

// Words or beginnings of words, as loggers of English, German and French speakers write them.
constexpr QuantityWords words_of_quantities[] = {
    {"V", {"volt", "spannung", "tension", "ewe", "ecell", "", ""}},
    {"A", {"current", "amps", "ampere", "strom", "courant", "", ""}},
    {"K", {"temp", "thermo", "", "", "", "", ""}},
    {"W", {"power", "loss", "verlust", "leistung", "puissance", "heat", ""}},
    {"rad/s", {"speed", "rpm", "drehzahl", "omega", "vitesse", "", ""}},
    {"N m", {"torque", "moment", "couple", "", "", "", ""}},
    {"Pa", {"press", "druck", "", "", "", "", ""}},
    {"m3/s", {"flow", "durchfluss", "debit", "", "", "", ""}},
    {"A s", {"capacity", "kapazit", "amp-hr", "amphr", "throughput", "", ""}},
    {"J", {"energ", "watt-hr", "watthr", "", "", "", ""}},
    {"ohm", {"resistance", "widerstand", "impedance", "", "", "", ""}},
    {"Hz", {"freq", "", "", "", "", "", ""}},
    {"", {"index", "cycle", "zyklus", "step", "point", "rec#", "count"}},
};

bool has_word_of(std::string_view name, const QuantityWords& quantity) {
  return std::any_of(quantity.words.begin(), quantity.words.end(), [&](std::string_view word) {
    return !word.empty() && name.find(word) != std::string_view::npos;
  });
}

}  // namespace

double quantity_likeness(std::string_view column, std::string_view unit) {
  std::string name;
  for (const char c : column) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (name.size() > 3 && name[0] == 'd' && name.find("/d") != std::string::npos) return -1.0;  // dV/dt
  double likeness = says_time(column) || is_date_name(column) ? -1.0 : 0.0;
  for (const QuantityWords& quantity : words_of_quantities)
    if (has_word_of(name, quantity)) {
      const std::string known = quantity.unit;
      if (!known.empty() && !unit.empty() && units().convertible(known, std::string(unit))) return 1.0;
      if (!unit.empty()) likeness = -1.0;
    }
  return likeness;
}

}  // namespace tellegen
