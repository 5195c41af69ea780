// The smallest model that still fails in the same way: parts are left out, nodes joined, values made plain,
// numbers rounded.
#include <cctype>
#include <cstdlib>

#include "tests/differential/property.h"

namespace differential {
namespace {

// Numbers of a text replaced by ones with fewer digits.
std::string rounded(const std::string& text, int digits) {
  std::string out;
  for (std::size_t k = 0; k < text.size();) {
    const bool begins = std::isdigit(static_cast<unsigned char>(text[k])) &&
                        (k == 0 || (!std::isalnum(static_cast<unsigned char>(text[k - 1])) &&
                                    text[k - 1] != '_' && text[k - 1] != '.'));
    if (!begins) {
      out += text[k++];
      continue;
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str() + k, &end);
    out += number_text(value, digits);
    k = static_cast<std::size_t>(end - text.c_str());
  }
  return out;
}

}  // namespace

Draft shrink(const Draft& draft, const std::function<Verdict(const Draft&)>& check, const std::string& tag,
             int budget) {
  Draft best = draft;
  const auto fails = [&](const Draft& candidate) {
    if (budget-- <= 0) return false;
    const Verdict v = check(candidate);
    return v.what == Verdict::What::failed && v.tag == tag;
  };
  const auto keep = [&](const Draft& candidate) {
    if (!fails(candidate)) return false;
    best = candidate;
    return true;
  };
  for (bool changed = true; changed && budget > 0;) {
    changed = false;
    for (std::size_t k = best.parts.size(); k-- > 0;) {
      Draft d = best;
      d.parts.erase(d.parts.begin() + static_cast<long>(k));
      changed |= keep(d);
    }
    for (Fields Draft::*section : {&Draft::parameters, &Draft::inputs, &Draft::objectives, &Draft::initial,
                                   &Draft::sensors, &Draft::unknowns, &Draft::estimate})
      for (std::size_t k = (best.*section).size(); k-- > 0;) {
        Draft d = best;
        (d.*section).erase((d.*section).begin() + static_cast<long>(k));
        changed |= keep(d);
      }
    for (std::size_t k = best.outputs.size(); k-- > 0 && best.outputs.size() > 1;) {
      Draft d = best;
      d.outputs.erase(d.outputs.begin() + static_cast<long>(k));
      changed |= keep(d);
    }
    for (std::size_t k = 0; k < best.parts.size(); ++k) {
      for (std::size_t p = 0; p < best.parts[k].ports.size(); ++p) {  // a node joined to the datum
        if (best.parts[k].ports[p].second == "datum") continue;
        Draft d = best;
        d.parts[k].ports[p].second = "datum";
        changed |= keep(d);
      }
      for (std::size_t v = 0; v < best.parts[k].values.size(); ++v) {
        Draft without = best;
        without.parts[k].values.erase(without.parts[k].values.begin() + static_cast<long>(v));
        if (keep(without)) {
          changed = true;
          break;
        }
        if (best.parts[k].values[v].second == "1") continue;
        Draft d = best;
        d.parts[k].values[v].second = "1";
        if (keep(d)) {
          changed = true;
          continue;
        }
        const std::string& text = best.parts[k].values[v].second;
        for (const int digits : {1, 2}) {
          d = best;
          d.parts[k].values[v].second = rounded(text, digits);
          if (d.parts[k].values[v].second != text && keep(d)) {
            changed = true;
            break;
          }
        }
      }
    }
    for (Fields Draft::*section : {&Draft::parameters, &Draft::inputs})
      for (std::size_t k = 0; k < (best.*section).size(); ++k)
        for (const std::string& plain : {std::string("1"), rounded((best.*section)[k].second, 1)}) {
          if ((best.*section)[k].second == plain) break;
          Draft d = best;
          (d.*section)[k].second = plain;
          if (keep(d)) {
            changed = true;
            break;
          }
        }
  }
  return best;
}

}  // namespace differential
