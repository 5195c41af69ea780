// A Stack to cells, capacities and resistances.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tellegen/model/stack.h"

namespace tellegen {
namespace {

constexpr double most_cells = 1e6;

// Lines at all edges, and between them as many as make no cell wider than `cell`. Edges closer than a
// millionth of a cell are one: they differ by rounding.
std::vector<double> lines(std::vector<double> edges, double cell) {
  std::sort(edges.begin(), edges.end());
  std::vector<double> all{edges.front()};
  for (const double edge : edges) {
    const double from = all.back(), width = edge - from;
    if (width < 1e-6 * cell) continue;
    const double pieces = std::max(1.0, std::ceil(width / cell - 1e-6));
    if (pieces > most_cells) return {};
    for (double k = 1; k < pieces; ++k) all.push_back(from + width * k / pieces);
    all.push_back(edge);
  }
  return all;
}

class NetworkMaker {
 public:
  NetworkMaker(const Source& source, const Stack& stack) : at_(source), stack_(stack) {}

  StackNetwork make() {
    if (!lay_lines() || !fill()) return {};
    for (int l = 0; l < layer_count(); ++l)
      for (int s = 0; s < stack_.layers[l].cells; ++s)
        for (int i = 0; i < nx_; ++i)
          for (int j = 0; j < ny_; ++j)
            if (part(l, i, j) >= 0) add_cell({l, s, i, j});
    for (const StackHeat& heat : stack_.heat) add_heat(heat);
    for (const StackFilm& film : stack_.films) add_film(film);
    for (const StackProbe& probe : stack_.probes) add_probe(probe);
    return std::move(network_);
  }

 private:
  struct Cell {
    int layer, slice, i, j;  // slices of a layer count from its top
  };

  int layer_count() const { return static_cast<int>(stack_.layers.size()); }
  double dx(int i) const { return x_[i + 1] - x_[i]; }
  double dy(int j) const { return y_[j + 1] - y_[j]; }
  double dz(int layer) const { return stack_.layers[layer].thickness / stack_.layers[layer].cells; }
  int& part(int layer, int i, int j) { return parts_[(static_cast<std::size_t>(layer) * nx_ + i) * ny_ + j]; }
  bool has(const StackRegion& region, int i, int j) {
    const int there = part(region.layer, i, j);
    return there >= 0 && (region.part < 0 || there == region.part);
  }
  const StackMaterial& material(const Cell& c) {
    return stack_.materials[stack_.layers[c.layer].parts[part(c.layer, c.i, c.j)].material];
  }
  std::string name(const Cell& c) const {
    return fmt::format("{}_{}_{}_{}", stack_.layers[c.layer].name, c.slice + 1, c.i + 1, c.j + 1);
  }
  void fault(int line, std::string_view code, std::string message, std::vector<std::string> details = {}) {
    at_.faults.add({at_.document.name(), line}, code, std::move(message), std::move(details));
  }
  void component(int line, std::string text) { network_.components.push_back({std::move(text), line}); }

  bool lay_lines() {
    std::vector<double> x, y;
    for (const StackLayer& layer : stack_.layers)
      for (const StackPart& part : layer.parts)
        for (const StackRectangle& r : part.rectangles) {
          x.insert(x.end(), {r.x0, r.x1});
          y.insert(y.end(), {r.y0, r.y1});
        }
    if (x.empty()) return false;
    x_ = lines(std::move(x), stack_.cell[0]);
    y_ = lines(std::move(y), stack_.cell[1]);
    nx_ = static_cast<int>(x_.size()) - 1;
    ny_ = static_cast<int>(y_.size()) - 1;
    double slices = 0.0;
    for (const StackLayer& layer : stack_.layers) slices += layer.cells;
    if (nx_ < 1 || ny_ < 1 || static_cast<double>(nx_) * ny_ * slices > most_cells) {
      fault(stack_.line, "T173", "the stack has more than a million cells",
            {"use a larger 'cell', or a cut along a plane of symmetry"});
      return false;
    }
    return true;
  }

  // Which part is where. A cell belongs to a rectangle that contains its centre: edges are lines.
  bool fill() {
    parts_.assign(stack_.layers.size() * nx_ * ny_, -1);
    bool good = true;
    for (int l = 0; l < layer_count(); ++l) {
      const StackLayer& layer = stack_.layers[l];
      for (int p = 0; p < static_cast<int>(layer.parts.size()); ++p)
        for (const StackRectangle& r : layer.parts[p].rectangles) {
          const auto within = [](const std::vector<double>& at, double from, double to) {
            const auto centre_below = [&](double limit) {
              int k = 0;
              while (k + 1 < static_cast<int>(at.size()) && (at[k] + at[k + 1]) / 2 < limit) ++k;
              return k;
            };
            return std::pair(centre_below(from), centre_below(to));
          };
          const auto [i0, i1] = within(x_, r.x0, r.x1);
          const auto [j0, j1] = within(y_, r.y0, r.y1);
          for (int i = i0; i < i1; ++i)
            for (int j = j0; j < j1; ++j) {
              int& there = part(l, i, j);
              if (there >= 0 && there != p && good) {
                good = false;
                fault(layer.parts[p].line, "T174",
                      fmt::format("parts '{}' and '{}' of layer '{}' overlap", layer.parts[there].name,
                                  layer.parts[p].name, layer.name),
                      {fmt::format("near x = {:.6g} m, y = {:.6g} m", (x_[i] + x_[i + 1]) / 2,
                                   (y_[j] + y_[j + 1]) / 2)});
              }
              there = p;
            }
        }
    }
    for (int l = 0; l + 1 < layer_count(); ++l) {
      bool joined = false;
      for (int i = 0; i < nx_ && !joined; ++i)
        for (int j = 0; j < ny_ && !joined; ++j) joined = part(l, i, j) >= 0 && part(l + 1, i, j) >= 0;
      if (!joined) {
        good = false;
        fault(stack_.layers[l + 1].line, "T175",
              fmt::format("layer '{}' lies nowhere under '{}'", stack_.layers[l + 1].name,
                          stack_.layers[l].name),
              {"layers are written from the top down, each in contact with the next"});
      }
    }
    return good;
  }

  // The cell below, if there is one, and the resistance from centre to centre.
  bool below(const Cell& c, Cell& next) {
    next = c.slice + 1 < stack_.layers[c.layer].cells ? Cell{c.layer, c.slice + 1, c.i, c.j}
                                                      : Cell{c.layer + 1, 0, c.i, c.j};
    return next.layer < layer_count() && part(next.layer, c.i, c.j) >= 0;
  }
  double half_height(const Cell& c) { return dz(c.layer) / (2 * material(c).k[2] * dx(c.i) * dy(c.j)); }
  double down(const Cell& a, const Cell& b) {
    const double contact = a.layer == b.layer ? 0.0 : stack_.layers[a.layer].contact;
    return half_height(a) + half_height(b) + (contact > 0.0 ? 1 / (contact * dx(a.i) * dy(a.j)) : 0.0);
  }

  void add_cell(const Cell& c) {
    const int line = stack_.layers[c.layer].line;
    const StackMaterial& m = material(c);
    const double x = dx(c.i), y = dy(c.j), z = dz(c.layer);
    const std::string node = name(c);
    const std::string start = stack_.start.empty() ? "" : fmt::format(", T0 = \"{}\"", stack_.start);
    component(line, fmt::format(
                        "c_{} = {{ kind = \"thermal.capacitor\", p = \"{}\", n = \"datum\", C = {:.17g}{} }}",
                        node, node, m.capacity * x * y * z, start));
    const auto resistor = [&](char direction, const Cell& to, double R) {
      component(line,
                fmt::format("{}_{} = {{ kind = \"thermal.resistor\", p = \"{}\", n = \"{}\", R = {:.17g} }}",
                            direction, node, node, name(to), R));
    };
    if (c.i + 1 < nx_ && part(c.layer, c.i + 1, c.j) >= 0) {
      const Cell to{c.layer, c.slice, c.i + 1, c.j};
      resistor('x', to, (x / m.k[0] + dx(to.i) / material(to).k[0]) / (2 * y * z));
    }
    if (c.j + 1 < ny_ && part(c.layer, c.i, c.j + 1) >= 0) {
      const Cell to{c.layer, c.slice, c.i, c.j + 1};
      resistor('y', to, (y / m.k[1] + dy(to.j) / material(to).k[1]) / (2 * x * z));
    }
    if (Cell to; below(c, to)) resistor('z', to, down(c, to));
  }

  // Power spread evenly over the volume.
  void add_heat(const StackHeat& heat) {
    double area = 0.0;
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < ny_; ++j)
        if (has(heat.region, i, j)) area += dx(i) * dy(j);
    const int slices = stack_.layers[heat.region.layer].cells;
    for (int s = 0; s < slices; ++s)
      for (int i = 0; i < nx_; ++i)
        for (int j = 0; j < ny_; ++j)
          if (has(heat.region, i, j)) {
            const Cell c{heat.region.layer, s, i, j};
            // Twelve digits: equal cells have equal expressions, whatever the rounding of their corners.
            component(heat.line,
                      fmt::format("{}_{} = {{ kind = \"thermal.heat_source\", p = \"datum\", n = \"{}\", Q = "
                                  "\"{:.12g}*({})\" }}",
                                  heat.name, name(c), name(c), dx(i) * dy(j) / (area * slices), heat.power));
          }
  }

  // The outermost cell of a column at a face of a layer.
  Cell at_face(int layer, bool top, int i, int j) const {
    return {layer, top ? 0 : stack_.layers[layer].cells - 1, i, j};
  }
  bool covered(int layer, bool top, int i, int j) {
    const int other = layer + (top ? -1 : 1);
    return other >= 0 && other < layer_count() && part(other, i, j) >= 0;
  }
  std::string film_name(const StackFilm& film, int i, int j) const {
    return fmt::format("{}_{}_{}", film.name, i + 1, j + 1);
  }

  void add_film(const StackFilm& film) {
    bool any = false;
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < ny_; ++j) {
        if (!has(film.region, i, j) || covered(film.region.layer, film.top, i, j)) continue;
        const Cell c = at_face(film.region.layer, film.top, i, j);
        component(film.line, fmt::format("{} = {{ kind = \"thermal.resistor\", p = \"{}\", n = \"{}\", R = "
                                         "\"{:.12g} + 1/({:.12g}*({}))\" }}",
                                         film_name(film, i, j), name(c), film.node, half_height(c),
                                         dx(i) * dy(j), film.h));
        any = true;
      }
    if (!any)
      fault(film.line, "T176", fmt::format("film '{}' touches nothing", film.name),
            {fmt::format("the {} of '{}' is covered by another layer", film.top ? "top" : "bottom",
                         stack_.layers[film.region.layer].name)});
  }

  // A probe is a sum of temperatures: terms by the variable they have.
  struct Term {
    double weight;
    std::string variable;
  };

  // Temperature at a face of a column, by the resistances on both sides of it.
  void add_face(const StackProbe& probe, int i, int j, double weight, std::vector<Term>& terms) {
    const bool top = probe.where == StackProbe::Where::top;
    const Cell c = at_face(probe.region.layer, top, i, j);
    const auto between = [&](double share, const std::string& other) {
      terms.push_back({weight * (1 - share), name(c) + ".T"});
      terms.push_back({weight * share, other + ".T"});
    };
    if (covered(probe.region.layer, top, i, j)) {
      const Cell other = top ? at_face(c.layer - 1, false, i, j) : at_face(c.layer + 1, true, i, j);
      return between(half_height(c) / (top ? down(other, c) : down(c, other)), name(other));
    }
    for (const StackFilm& film : stack_.films) {
      if (film.top != top || film.region.layer != c.layer || !has(film.region, i, j)) continue;
      if (film.h_number > 0.0) {
        const double inner = half_height(c), outer = 1 / (film.h_number * dx(i) * dy(j));
        return between(inner / (inner + outer), film.node);
      }
      terms.push_back({weight, name(c) + ".T"});
      terms.push_back({-weight * half_height(c), film_name(film, i, j) + ".Q"});
      return;
    }
    terms.push_back({weight, name(c) + ".T"});  // no heat leaves here
  }

  // The sum of all terms as a tree of sums of three, all of one shape: one kernel for thousands of them,
  // where a single formula would have thousands of names. Its value is the variable y of `name`.
  void add_sum(int line, const std::string& name, std::vector<Term> terms) {
    int count = 0;
    do {
      std::vector<Term> sums;
      for (std::size_t first = 0; first < terms.size(); first += 3) {
        const std::size_t end = std::min(first + 3, terms.size());
        const bool last = terms.size() <= 3;
        const std::string sum = last ? name : fmt::format("{}_{}", name, ++count);
        std::string text = fmt::format("{} = {{ kind = \"signals.sum\"", sum);
        for (std::size_t k = first; k < first + 2 || k < end; ++k)
          text += k < end ? fmt::format(", u{} = \"{}\", k{} = {:.17g}", k - first + 1, terms[k].variable,
                                        k - first + 1, terms[k].weight)
                          : fmt::format(", u{} = 0", k - first + 1);
        component(line, text + " }");
        sums.push_back({1.0, sum + ".y"});
      }
      terms = std::move(sums);
    } while (terms.size() > 1);
  }

  // Each variable once: that of a film's node is in every column.
  static std::vector<Term> collected(const std::vector<Term>& terms) {
    std::vector<Term> all;
    std::unordered_map<std::string, std::size_t> place;
    for (const Term& term : terms) {
      const auto [at, fresh] = place.try_emplace(term.variable, all.size());
      if (fresh)
        all.push_back(term);
      else
        all[at->second].weight += term.weight;
    }
    return all;
  }

  void add_probe(const StackProbe& probe) {
    const auto selected = [&](int i, int j) {
      if (!has(probe.region, i, j)) return false;
      if (!probe.under.empty() && !has(probe.under[0], i, j)) return false;
      if (probe.at.empty()) return true;
      const auto [x, y] = probe.at[0];
      return x_[i] <= x && x < x_[i + 1] && y_[j] <= y && y < y_[j + 1];
    };
    double area = 0.0;
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < ny_; ++j)
        if (selected(i, j)) area += dx(i) * dy(j);
    if (area == 0.0) {
      fault(probe.line, "T177", fmt::format("probe '{}' has no cell to read", probe.name),
            {probe.at.empty() ? "nothing of its region lies under the layer it names"
                              : "its point lies outside of its region"});
      return;
    }
    const int slices = stack_.layers[probe.region.layer].cells;
    std::vector<Term> terms;
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < ny_; ++j) {
        if (!selected(i, j)) continue;
        const double weight = dx(i) * dy(j) / area;
        if (probe.where != StackProbe::Where::volume)
          add_face(probe, i, j, weight, terms);
        else
          for (int s = 0; s < slices; ++s)
            terms.push_back({weight / slices, name({probe.region.layer, s, i, j}) + ".T"});
      }
    add_sum(probe.line, "mean_" + probe.name, collected(terms));
    network_.outputs.push_back(
        {fmt::format("{} = {{ value = \"mean_{}.y\", unit = \"K\" }}", probe.name, probe.name), probe.line});
  }

  Source at_;
  const Stack& stack_;
  StackNetwork network_;
  std::vector<double> x_, y_;  // lines of the grid
  int nx_ = 0, ny_ = 0;
  std::vector<int> parts_;  // by layer and column: the part that is there, -1 where there is nothing
};

}  // namespace

StackNetwork make_network(const Source& source, const Stack& stack) {
  return NetworkMaker(source, stack).make();
}

}  // namespace tellegen
