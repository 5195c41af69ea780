#include "tellegen/magnetics/cross_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace tellegen {
namespace {

constexpr double full_scale = 2.0;  // T: dark red

// White over yellow and orange to dark red.
std::string colour(double B) {
  const double x = std::clamp(std::abs(B) / full_scale, 0.0, 1.0);
  constexpr double stops[][3] = {
      {246, 247, 250}, {254, 224, 144}, {252, 141, 89}, {215, 48, 39}, {127, 0, 0}};
  const double place = x * 4;
  const int k = std::min(3, static_cast<int>(place));
  const double f = place - k;
  const auto mix = [&](int c) {
    return static_cast<int>(std::lround(stops[k][c] * (1 - f) + stops[k + 1][c] * f));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
}

// Millimetres from the middle, y upwards.
class Picture {
 public:
  explicit Picture(double radius) : radius_(radius) {}

  struct Corner {
    double r, angle;
  };
  // Corners joined by straight lines; arcs are drawn as many corners.
  void shape(const std::vector<Corner>& corners, const std::string& fill, const std::string& title) {
    std::string points;
    for (const Corner& c : corners)
      points += fmt::format("{:.3f},{:.3f} ", c.r * std::cos(c.angle), -c.r * std::sin(c.angle));
    body_ +=
        fmt::format("<polygon points=\"{}\" fill=\"{}\"><title>{}</title></polygon>\n", points, fill, title);
  }
  void circle(double r, const std::string& fill) {
    body_ += fmt::format("<circle r=\"{:.3f}\" fill=\"{}\"/>\n", r, fill);
  }
  std::string finish(const std::string& caption) const {
    const double r = radius_ * 1.05, width = 2 * r, legend = 0.16 * r;
    std::string bar;
    for (int k = 0; k < 20; ++k)
      bar += fmt::format("<rect x=\"{:.3f}\" y=\"{:.3f}\" width=\"{:.3f}\" height=\"{:.3f}\" fill=\"{}\"/>\n",
                         -0.8 * r + 0.08 * r * k, r + 0.3 * legend, 0.081 * r, 0.3 * legend,
                         colour(full_scale * (k + 0.5) / 20));
    const auto text = [&](double x, double y, std::string_view anchor, const std::string& what) {
      return fmt::format(
          "<text x=\"{:.3f}\" y=\"{:.3f}\" text-anchor=\"{}\" font-family=\"sans-serif\" "
          "font-size=\"{:.3f}\">{}</text>\n",
          x, y, anchor, 0.35 * legend, what);
    };
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{:.3f} {:.3f} {:.3f} {:.3f}\" "
               "width=\"640\" stroke=\"#555\" stroke-width=\"{:.3f}\">\n<rect x=\"{:.3f}\" y=\"{:.3f}\" "
               "width=\"{:.3f}\" height=\"{:.3f}\" fill=\"#fff\" stroke=\"none\"/>\n",
               -r, -r, width, width + 1.6 * legend, 0.002 * r, -r, -r, width, width + 1.6 * legend) +
           body_ + "<g stroke=\"none\">\n" + bar + text(-0.8 * r, r + legend, "start", "0 T") +
           text(0.8 * r, r + legend, "end", fmt::format("{:g} T", full_scale)) +
           text(0, r + legend, "middle", caption) + "</g>\n</svg>\n";
  }

 private:
  double radius_;
  std::string body_;
};

// A piece of a ring between two radii and two angles.
std::vector<Picture::Corner> ring(double inner, double outer, double from, double to) {
  std::vector<Picture::Corner> corners;
  const int pieces = std::max(2, static_cast<int>(std::ceil(std::abs(to - from) / 0.05)));
  for (int k = 0; k <= pieces; ++k) corners.push_back({outer, from + (to - from) * k / pieces});
  for (int k = pieces; k >= 0; --k) corners.push_back({inner, from + (to - from) * k / pieces});
  return corners;
}
// A straight bar along a radius.
std::vector<Picture::Corner> bar(double inner, double outer, double width, double angle) {
  const auto at = [&](double r, double side) {
    return Picture::Corner{std::hypot(r, side), angle + std::atan2(side, r)};
  };
  return {at(inner, -width / 2), at(outer, -width / 2), at(outer, width / 2), at(inner, width / 2)};
}

// Rows of pieces whose flux densities are looked at, and where each begins in the answer.
class Pieces {
 public:
  // "tooth", {36}: tooth[1].B to tooth[36].B; of two counts, magnet[1][1].B and so on.
  std::size_t add(const std::string& name, int count, int inner = 0) {
    const std::size_t first = names_.size();
    for (int i = 1; i <= count; ++i)
      for (int j = 1; j <= std::max(1, inner); ++j)
        names_.push_back(inner ? fmt::format("{}[{}][{}].B", name, i, j) : fmt::format("{}[{}].B", name, i));
    return first;
  }
  std::size_t value(const std::string& name) {
    names_.push_back("machine_" + name);
    return names_.size() - 1;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

class SectionDrawing {
 public:
  SectionDrawing(const StaticStudy& study, const MachinePoint& point)
      : study_(study), m_(study.machine()), point_(point) {}

  CrossSection draw() {
    // Everything is asked for at once: one solution.
    const std::size_t bore = pieces_.value("stator_bore"), gap = pieces_.value("gap"),
                      tooth_width = pieces_.value("stator_tooth_width"),
                      tooth_height = pieces_.value("stator_tooth_height"),
                      yoke = pieces_.value("stator_yoke"), tooth = pieces_.add("tooth", m_.slots),
                      back = pieces_.add("back_iron", m_.slots);
    ask_rotor();
    values_ = study_.at({&point_, 1}, false, pieces_.names()).front().observed;
    bore_ = 500 * values_[bore];
    surface_ = bore_ - 1e3 * values_[gap];
    const double height = 1e3 * values_[tooth_height];
    Picture picture(bore_ + height + 1e3 * values_[yoke]);
    draw_stator(picture, tooth, back, 1e3 * values_[tooth_width], height, 1e3 * values_[yoke]);
    draw_rotor(picture);
    result_.tooth = largest(tooth, m_.slots);
    result_.yoke = largest(back, m_.slots);
    result_.svg = picture.finish(
        fmt::format("flux density; rotor at {:.1f} degrees", point_.angle * 180 / std::numbers::pi));
    return std::move(result_);
  }

 private:
  double largest(std::size_t from, int count) const {
    double most = 0.0;
    for (std::size_t k = from; k < from + static_cast<std::size_t>(count); ++k)
      most = std::max(most, std::abs(values_[k]));
    return most;
  }
  void piece(Picture& picture, const std::vector<Picture::Corner>& corners, const char* what, int number,
             double B) {
    picture.shape(corners, colour(B), fmt::format("{} {}: {:.3f} T", what, number + 1, B));
  }

  void draw_stator(Picture& picture, std::size_t tooth, std::size_t back, double width, double height,
                   double yoke) {
    const double pitch = 2 * std::numbers::pi / m_.slots, outer = bore_ + height;
    constexpr std::string_view copper[] = {"#e5c07b", "#98c379", "#61afef"};
    for (int k = 0; k < m_.slots; ++k) {
      const std::size_t slot = static_cast<std::size_t>(k);
      const double angle = pitch * k, width_of_slot = 0.76 * pitch;
      piece(picture, ring(outer, outer + yoke, angle, angle + pitch), "yoke", k, values_[back + slot]);
      // Sides of coils of several phases share the slot by their conductors, those of the slot before first:
      // of coils around teeth each lies at its tooth.
      const std::size_t before = (slot + static_cast<std::size_t>(m_.slots) - 1) % m_.slots;
      std::array<std::size_t, 3> phases{0, 1, 2};
      std::stable_sort(phases.begin(), phases.end(), [&](std::size_t p, std::size_t q) {
        return std::abs(m_.winding.conductors[p][before]) > std::abs(m_.winding.conductors[q][before]);
      });
      double all = 0.0, from = angle + 0.12 * pitch;
      for (const auto& conductors : m_.winding.conductors) all += std::abs(conductors[slot]);
      if (all == 0.0)
        picture.shape(ring(bore_ + 0.06 * height, outer, from, from + width_of_slot), "#fff",
                      fmt::format("slot {}: no current in sum", k + 1));
      for (const std::size_t p : phases) {
        const double conductors = m_.winding.conductors[p][slot];
        if (conductors == 0.0) continue;
        const double to = from + width_of_slot * std::abs(conductors) / all;
        picture.shape(
            ring(bore_ + 0.06 * height, outer, from, to), std::string(copper[p]),
            fmt::format("slot {}: {} conductors of phase {}", k + 1, conductors, static_cast<char>('a' + p)));
        from = to;
      }
    }
    for (int k = 0; k < m_.slots; ++k)
      piece(picture, bar(bore_, outer, width, pitch * k), "tooth", k,
            values_[tooth + static_cast<std::size_t>(k)]);
  }

  void ask_rotor() {
    yoke_ = pieces_.value("rotor_yoke");
    switch (m_.rotor) {
      case Machine::Rotor::salient:
        for (const char* name :
             {"rotor_shaft_radius", "rotor_pole_arc", "rotor_body_width", "rotor_shoe_height"})
          sizes_.push_back(pieces_.value(name));
        first_ = pieces_.add("pole", m_.poles);
        break;
      case Machine::Rotor::surface:
        for (const char* name : {"rotor_inner", "rotor_segment", "rotor_magnet_height"})
          sizes_.push_back(pieces_.value(name));
        first_ = pieces_.add("magnet", m_.poles, m_.segments);
        break;
      case Machine::Rotor::interior:
        for (const char* name :
             {"rotor_shaft_radius", "rotor_pole_arc", "rotor_magnet_width", "rotor_magnet_height"})
          sizes_.push_back(pieces_.value(name));
        first_ = pieces_.add("magnet", m_.poles);
        break;
      case Machine::Rotor::cage:
        for (const char* name : {"rotor_tooth_width", "rotor_tooth_height"})
          sizes_.push_back(pieces_.value(name));
        first_ = pieces_.add("rotor_tooth", m_.bars);
        break;
    }
    hub_ = m_.rotor == Machine::Rotor::cage ? pieces_.add("rotor_back", m_.bars)
                                            : pieces_.add("hub_iron", m_.poles);
  }

  void draw_rotor(Picture& picture) {
    const bool cage = m_.rotor == Machine::Rotor::cage;
    const int count = cage ? m_.bars : m_.poles;
    const double pitch = 2 * std::numbers::pi / count, yoke = 1e3 * values_[yoke_];
    const auto size = [&](std::size_t k) { return 1e3 * values_[sizes_[k]]; };
    const double hub = cage                                  ? surface_ - size(1)
                       : m_.rotor == Machine::Rotor::surface ? size(0)
                                                             : size(0) + yoke;
    result_.hub = largest(hub_, count);
    result_.pole = largest(first_, count * (m_.rotor == Machine::Rotor::surface ? m_.segments : 1));
    for (int k = 0; k < count; ++k) {
      const double angle = m_.winding.axis + point_.angle + pitch * (k - (cage ? 0.0 : 0.5));
      piece(picture, ring(hub - yoke, hub, angle, angle + pitch), "rotor yoke", k,
            values_[hub_ + static_cast<std::size_t>(k)]);
      const std::size_t at = first_ + static_cast<std::size_t>(k);
      switch (m_.rotor) {
        case Machine::Rotor::salient: {
          const double arc = values_[sizes_[1]] * pitch / 2;
          piece(picture, bar(0.98 * hub, surface_ - 0.5 * size(3), size(2), angle), "pole", k, values_[at]);
          piece(picture, ring(surface_ - size(3), surface_, angle - arc, angle + arc), "pole", k,
                values_[at]);
          break;
        }
        case Machine::Rotor::surface:
          for (int j = 0; j < m_.segments; ++j) {
            const double width = values_[sizes_[1]], middle = angle + width * (j - 0.5 * (m_.segments - 1));
            piece(picture, ring(hub, surface_, middle - width / 2, middle + width / 2), "magnet", k,
                  values_[first_ + static_cast<std::size_t>(k * m_.segments + j)]);
          }
          break;
        case Machine::Rotor::interior: {
          const double arc = values_[sizes_[1]] * pitch / 2;
          picture.shape(ring(hub, surface_, angle - pitch / 2, angle + pitch / 2), "#eef0f4", "rotor iron");
          picture.shape(ring(hub + size(3), surface_, angle - arc, angle + arc), "#f6f7fa", "shoe");
          piece(picture, bar(hub, hub + size(3), size(2), angle), "magnet", k, values_[at]);
          break;
        }
        case Machine::Rotor::cage:
          picture.shape(ring(hub, surface_, angle + 0.1 * pitch, angle + 0.9 * pitch), "#e5c07b", "bar");
          piece(picture, bar(hub, surface_, size(0), angle), "rotor tooth", k, values_[at]);
          break;
      }
    }
    picture.circle(hub - yoke, "#ccc");
  }

  const StaticStudy& study_;
  const Machine& m_;
  MachinePoint point_;
  Pieces pieces_;
  std::vector<double> values_;
  std::vector<std::size_t> sizes_;
  std::size_t yoke_ = 0, first_ = 0, hub_ = 0;
  double bore_ = 0.0, surface_ = 0.0;
  CrossSection result_;
};

}  // namespace

CrossSection cross_section(const StaticStudy& study, const MachinePoint& point) {
  return SectionDrawing(study, point).draw();
}

}  // namespace tellegen
