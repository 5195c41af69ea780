#include "tellegen/report/residual_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tellegen/model/units.h"
#include "tellegen/records/spectrum.h"
#include "tellegen/report/text.h"
#include "tellegen/results/figure.h"

namespace tellegen {

ResidualFigures residual_figures(const std::vector<double>& t, const std::vector<ResidualSeries>& series,
                                 const ResidualWords& words, double step) {
  ResidualFigures figures;
  Figure spectrum;
  spectrum.title = fmt::format("Spectrum of the {}", words.many);
  spectrum.y_label = "density over that of white ones";
  spectrum.x_label = "frequency [Hz]";
  spectrum.log_x = spectrum.log_y = true;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const ResidualSeries& one = series[s];
    const int colour = static_cast<int>(s);
    Figure figure;
    figure.title = with_unit(fmt::format("{} of {}", words.one, one.sensor), one.unit);
    figure.x_label = "t [s]";
    FigureLine line{FigureLine::Look::thin, words.difference, t, {}, colour};
    FigureBand band{"two expected standard deviations", t, {}, {}, colour};
    std::vector<double> normalised;
    std::int64_t outside = 0, used = 0;
    for (std::size_t row = 0; row < t.size(); ++row) {
      line.y.push_back(deviation_in_unit(one.residual[row], one.unit));
      band.low.push_back(-2.0 * deviation_in_unit(one.expected[row], one.unit));
      band.high.push_back(2.0 * deviation_in_unit(one.expected[row], one.unit));
      normalised.push_back(one.residual[row] / one.expected[row]);
      if (!std::isfinite(normalised.back())) continue;
      ++used;
      outside += std::abs(normalised.back()) > 2.0 ? 1 : 0;
    }
    // Readings that stand alone between missing ones make no curve.
    if (static_cast<std::size_t>(used) * 2 < t.size()) line.look = FigureLine::Look::dots;
    figure.caption =
        fmt::format("{:.1f} % of {} lie outside; 4.6 % are expected.",
                    used ? 100.0 * static_cast<double>(outside) / static_cast<double>(used) : 0.0, used);
    double size = 0.0;
    for (const auto* list : {&line.y, &band.high})
      for (const double value : *list)
        if (std::isfinite(value)) size = std::max(size, std::abs(value));
    figure.bands.push_back(std::move(band));
    figure.lines.push_back(std::move(line));
    for (const auto& [when, what] : one.events)
      figure.lines.push_back({FigureLine::Look::level, what, {when, when}, {-size, size}, 1, false});
    figures.over_time.push_back(to_html(figure));
    const Spectrum found = step > 0.0 ? averaged_spectrum(normalised, step) : Spectrum();
    if (found.frequency.empty()) continue;
    if (spectrum.bands.empty()) {
      const std::vector<double> ends{found.frequency.front(), found.frequency.back()};
      spectrum.bands.push_back(
          {"95 % of white ones", ends, {found.lowest, found.lowest}, {found.highest, found.highest}, 0});
      spectrum.lines.push_back({FigureLine::Look::truth, "flat", ends, {1.0, 1.0}, 0});
      spectrum.y_range = {0.2, 5.0};
    }
    for (double density : found.density) {
      spectrum.y_range.first = std::min(spectrum.y_range.first, 0.9 * density);
      spectrum.y_range.second = std::max(spectrum.y_range.second, 1.1 * density);
    }
    spectrum.lines.push_back({FigureLine::Look::line, one.sensor, found.frequency, found.density, colour});
    spectrum.caption = fmt::format(
        "Each of the {} over its expected deviation, averaged over {} stretches. Flat at 1: {} and noise "
        "agree. "
        "Below: {}; above: {}.",
        words.many, found.stretches, words.one == "Innovation" ? "filter" : "model", words.below,
        words.above);
  }
  if (!spectrum.lines.empty()) figures.spectrum = to_html(spectrum);
  return figures;
}

}  // namespace tellegen
