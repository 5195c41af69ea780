#include "tellegen/report/measure_report.h"

#include <fmt/format.h>

#include "tellegen/results/table.h"

namespace tellegen {

std::string measure_table(const std::vector<MeasureResult>& measures) {
  TextTable table{{"measure", "unit", "value", "times [s]"}, {}};
  for (const MeasureResult& m : measures) {
    std::string times = m.reason;
    for (const auto& [name, t] : m.times)
      times += fmt::format("{}{} {}", times.empty() ? "" : ", ", name, brief_number(t, 6));
    table.rows.push_back({m.name, m.unit, m.value ? brief_number(*m.value + 0.0, 7) : "-", times});
  }
  return to_text(table);
}

std::string fourier_table(const FourierResult& result) {
  if (!result.reason.empty())
    return fmt::format("harmonics of {} at {} Hz: {}\n", result.name, brief_number(result.frequency, 6),
                       result.reason);
  TextTable table{{"harmonic", "frequency [Hz]", "magnitude", "phase [deg]", "normalised", "phase [deg]"},
                  {}};
  for (std::size_t k = 0; k < result.harmonics.size(); ++k) {
    const FourierResult::Harmonic& h = result.harmonics[k];
    table.rows.push_back({fmt::format("{}", k), brief_number(h.frequency, 6), brief_number(h.magnitude, 6),
                          brief_number(h.phase, 6), brief_number(h.normalised_magnitude, 6),
                          brief_number(h.normalised_phase, 6)});
  }
  return fmt::format("harmonics of {} over the last period, from {} s; total harmonic distortion {} %\n{}",
                     result.name, brief_number(result.from, 6), brief_number(result.distortion, 6),
                     to_text(table));
}

nlohmann::ordered_json to_json(const std::vector<MeasureResult>& measures) {
  auto list = nlohmann::ordered_json::array();
  for (const MeasureResult& m : measures) {
    nlohmann::ordered_json json{{"name", m.name}, {"unit", m.unit}, {"value", nullptr}};
    if (m.value) json["value"] = *m.value;
    for (const auto& [name, t] : m.times) json[name] = t;
    if (!m.reason.empty()) json["reason"] = m.reason;
    list.push_back(std::move(json));
  }
  return list;
}

nlohmann::ordered_json to_json(const std::vector<FourierResult>& results) {
  auto list = nlohmann::ordered_json::array();
  for (const FourierResult& r : results) {
    nlohmann::ordered_json json{{"signal", r.name}, {"frequency", r.frequency}};
    if (r.reason.empty()) {
      json["from"] = r.from;
      json["total_harmonic_distortion_percent"] = r.distortion;
      auto& harmonics = json["harmonics"] = nlohmann::ordered_json::array();
      for (const FourierResult::Harmonic& h : r.harmonics)
        harmonics.push_back({{"frequency", h.frequency},
                             {"magnitude", h.magnitude},
                             {"phase", h.phase},
                             {"normalised_magnitude", h.normalised_magnitude},
                             {"normalised_phase", h.normalised_phase}});
    } else {
      json["reason"] = r.reason;
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace tellegen
