#include "tellegen/results/network_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tellegen/results/html.h"

namespace tellegen {
namespace {

using Symbol = DrawnNetwork::Symbol;

constexpr double node_height = 22.0, layer_gap = 98.0, stub_up = 36.0, character = 7.1, margin = 14.0;
constexpr std::size_t longest_name = 14;

std::string shortened(const std::string& name) {
  return name.size() <= longest_name ? name : name.substr(0, longest_name - 1) + "…";
}
double text_width(const std::string& name) {
  return character * static_cast<double>(std::min(name.size(), longest_name));
}
double box_width(const std::string& name) { return text_width(name) + 10.0; }

bool is_box(Symbol symbol) { return symbol == Symbol::resistor || symbol == Symbol::coil; }

enum class Side { up, down, right, left };

struct Stub {
  int edge, node;
  Side side = Side::right;
  double shift = 0.0;  // beside its neighbours on the same side
};

struct Link {
  int edge, upper, lower;
  double shift = 0.0;  // of the symbol, beside parallel ones
  double drop = 0.0;   // below its layer, where both ends are in it
  enum class SymbolAt { below_upper, above_lower, middle } at = SymbolAt::middle;
};

struct NodePlace {
  double x = 0.0, y = 0.0;
  double left = 0.0, right = 0.0;  // room it needs on each side
  int layer = 0;
  bool drawn = false;
};

// The nearest increasing positions with the given gaps: means of blocks that collide [pool adjacent
// violators].
std::vector<double> spread(const std::vector<double>& wanted, const std::vector<double>& gaps) {
  struct Block {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  double offset = 0.0;
  std::vector<double> offsets;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (k > 0) offset += gaps[k - 1];
    offsets.push_back(offset);
    blocks.push_back({wanted[k] - offset, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      blocks[blocks.size() - 2].sum += blocks.back().sum;
      blocks[blocks.size() - 2].count += blocks.back().count;
      blocks.pop_back();
    }
  }
  std::vector<double> placed;
  for (const Block& block : blocks)
    for (int k = 0; k < block.count; ++k) placed.push_back(block.mean() + offsets[placed.size()]);
  return placed;
}

class NetworkLayout {
 public:
  explicit NetworkLayout(const DrawnNetwork& network) : network_(network), places_(network.nodes.size()) {
    find_rails();
    sort_edges();
    choose_layers();
    order_layers();
    choose_sides();
    choose_room();
    choose_x();
    choose_y();
  }

  const DrawnNetwork& network_;
  std::vector<NodePlace> places_;
  std::vector<Stub> stubs_;
  std::vector<Link> links_;
  std::vector<bool> rail_;
  std::vector<std::vector<int>> layers_;
  std::vector<double> extra_;  // per layer: height that links within it take
  double width_ = 0.0, height_ = 0.0;

 private:
  void find_rails() {
    std::vector<std::size_t> degree(network_.nodes.size(), 0);
    std::vector<bool> fixed(network_.nodes.size(), false);
    for (const auto& edge : network_.edges) {
      ++degree[edge.from], ++degree[edge.to];
      if (edge.symbol != Symbol::across_source) continue;
      if (network_.nodes[edge.from].datum) fixed[edge.to] = true;
      if (network_.nodes[edge.to].datum) fixed[edge.from] = true;
    }
    for (std::size_t n = 0; n < degree.size(); ++n)
      rail_.push_back(network_.nodes[n].datum || (fixed[n] && degree[n] >= 6) || degree[n] >= 10);
  }

  void sort_edges() {
    for (int e = 0; e < static_cast<int>(network_.edges.size()); ++e) {
      const auto& edge = network_.edges[e];
      const bool from_datum = network_.nodes[edge.from].datum, to_datum = network_.nodes[edge.to].datum;
      if (from_datum && to_datum) continue;
      const bool from_rail = rail_[edge.from], to_rail = rail_[edge.to];
      if (!from_rail && !to_rail && edge.from != edge.to)
        links_.push_back({e, edge.from, edge.to});
      else
        stubs_.push_back({e, from_rail && (!to_rail || from_datum) ? edge.to : edge.from});
    }
    for (const Link& link : links_) places_[link.upper].drawn = places_[link.lower].drawn = true;
    for (const Stub& stub : stubs_) places_[stub.node].drawn = true;
  }

  std::vector<std::vector<int>> neighbours() const {
    std::vector<std::vector<int>> near(places_.size());
    for (const Link& link : links_)
      near[link.upper].push_back(link.lower), near[link.lower].push_back(link.upper);
    return near;
  }

  // Layers: how many links it is away from where power comes in.
  void choose_layers() {
    const auto near = neighbours();
    std::vector<int> depth(places_.size(), -1), queue;
    const auto begin_at = [&](Symbol symbol) {
      for (const Stub& stub : stubs_)
        if (network_.edges[stub.edge].symbol == symbol && depth[stub.node] < 0 && !rail_[stub.node]) {
          depth[stub.node] = 0;
          queue.push_back(stub.node);
        }
    };
    begin_at(Symbol::through_source);
    if (queue.empty()) begin_at(Symbol::across_source);
    std::size_t next = 0;
    for (int other = 0;;) {
      for (; next < queue.size(); ++next)
        for (int n : near[queue[next]])
          if (depth[n] < 0) {
            depth[n] = depth[queue[next]] + 1;
            queue.push_back(n);
          }
      while (other < static_cast<int>(places_.size()) &&
             (depth[other] >= 0 || !places_[other].drawn || rail_[other]))
        ++other;
      if (other == static_cast<int>(places_.size())) break;
      depth[other] = 0;
      queue.push_back(other);
    }
    const int last = queue.empty() ? -1 : *std::max_element(depth.begin(), depth.end());
    // A reference that is itself held stands at the end.
    for (std::size_t n = 0; n < places_.size(); ++n)
      if (places_[n].drawn && rail_[n]) depth[n] = std::max(last, 0);
    for (std::size_t n = 0; n < places_.size(); ++n) {
      if (!places_[n].drawn) continue;
      places_[n].layer = depth[n];
      layers_.resize(std::max(layers_.size(), static_cast<std::size_t>(depth[n]) + 1));
      layers_[depth[n]].push_back(static_cast<int>(n));
    }
    for (Link& link : links_)
      if (places_[link.upper].layer > places_[link.lower].layer) std::swap(link.upper, link.lower);
  }

  void order_layers() {
    const auto near = neighbours();
    std::vector<double> rank(places_.size(), 0.0);
    const auto number = [&] {
      for (const auto& layer : layers_)
        for (std::size_t k = 0; k < layer.size(); ++k)
          rank[layer[k]] = (static_cast<double>(k) + 0.5) / static_cast<double>(layer.size());
    };
    number();
    for (int sweep = 0; sweep < 12; ++sweep)
      for (std::size_t step = 0; step < layers_.size(); ++step) {
        const std::size_t l = sweep % 2 == 0 ? step : layers_.size() - 1 - step;
        std::map<int, double> wanted;
        for (int n : layers_[l]) {
          double sum = 0.0;
          for (int other : near[n]) sum += rank[other];
          wanted[n] = rail_[n] ? 2.0 : near[n].empty() ? rank[n] : sum / static_cast<double>(near[n].size());
        }
        std::stable_sort(layers_[l].begin(), layers_[l].end(),
                         [&](int a, int b) { return wanted[a] < wanted[b]; });
        number();
      }
  }

  void choose_sides() {
    std::vector<int> down(places_.size(), 0), up(places_.size(), 0);
    for (const Link& link : links_) {
      if (places_[link.upper].layer == places_[link.lower].layer) continue;
      ++down[link.upper], ++up[link.lower];
    }
    std::map<std::pair<int, int>, std::vector<Link*>> parallel;
    for (Link& link : links_) {
      parallel[{link.upper, link.lower}].push_back(&link);
      const bool next = places_[link.lower].layer == places_[link.upper].layer + 1;
      if (next)
        link.at = down[link.upper] == 1 ? Link::SymbolAt::below_upper
                  : up[link.lower] == 1 ? Link::SymbolAt::above_lower
                                        : Link::SymbolAt::middle;
    }
    for (auto& [pair, links] : parallel) {
      double total = -6.0;
      for (Link* link : links) total += box_width(network_.edges[link->edge].name) + 6.0;
      double at = -total / 2;
      for (Link* link : links) {
        const double own = box_width(network_.edges[link->edge].name);
        if (links.size() > 1) link->shift = at + own / 2;
        at += own + 6.0;
      }
    }
    std::map<int, int> taken;
    for (Stub& stub : stubs_) {
      const bool source = network_.edges[stub.edge].symbol == Symbol::through_source ||
                          network_.edges[stub.edge].symbol == Symbol::across_source;
      if (up[stub.node] == 0 && source)
        stub.side = Side::up;
      else if (down[stub.node] == 0)
        stub.side = Side::down;
      else
        stub.side = taken[stub.node]++ % 2 == 0 ? Side::right : Side::left;
    }
    // Several on one side of a node stand side by side.
    std::map<std::pair<int, Side>, std::vector<Stub*>> groups;
    for (Stub& stub : stubs_) groups[{stub.node, stub.side}].push_back(&stub);
    for (auto& [key, group] : groups) {
      double at = 0.0;
      for (Stub* stub : group) {
        stub->shift = at;
        at += key.second == Side::up || key.second == Side::down ? stub_room(*stub) : 34.0;
      }
      if (key.second == Side::up || key.second == Side::down)
        for (Stub* stub : group) stub->shift -= (at - stub_room(*group.back())) / 2;
    }
  }

  double stub_room(const Stub& stub) const {
    const auto& edge = network_.edges[stub.edge];
    return is_box(edge.symbol) ? box_width(edge.name) + 6.0 : 2 * (14.0 + text_width(edge.name));
  }

 public:
  double node_half(int n) const { return std::max(13.0, text_width(network_.nodes[n].name) / 2 + 6.0); }
  double badges_width(int n) const {
    double width = 0.0;
    for (const std::string& sensor : network_.nodes[n].sensors) width += text_width(sensor) + 12.0;
    return width;
  }
  double side_length(const Stub& stub) const {
    const auto& edge = network_.edges[stub.edge];
    return std::max(46.0, is_box(edge.symbol) ? box_width(edge.name) + 24.0 : text_width(edge.name) + 14.0);
  }

 private:
  void choose_room() {
    for (int n = 0; n < static_cast<int>(places_.size()); ++n) {
      NodePlace& place = places_[n];
      place.right = node_half(n) + 6.0;
      place.left = node_half(n) + badges_width(n) + 6.0;
    }
    for (const Link& link : links_) {
      const auto& edge = network_.edges[link.edge];
      const bool box = is_box(edge.symbol);
      const double left = box ? box_width(edge.name) / 2 + 4.0 : 16.0;
      const double right = box ? left : 18.0 + text_width(edge.name);
      for (int n : {link.upper, link.lower}) {
        const bool here = (n == link.upper) == (link.at == Link::SymbolAt::below_upper);
        if (!here && link.shift == 0.0) continue;
        places_[n].left = std::max(places_[n].left, left - link.shift);
        places_[n].right = std::max(places_[n].right, right + link.shift);
      }
    }
    for (const Stub& stub : stubs_) {
      NodePlace& place = places_[stub.node];
      const auto& edge = network_.edges[stub.edge];
      if (stub.side == Side::right)
        place.right = std::max(place.right, node_half(stub.node) + side_length(stub) + 16.0);
      else if (stub.side == Side::left)
        place.left =
            std::max(place.left, node_half(stub.node) + badges_width(stub.node) + side_length(stub) + 16.0);
      else {
        const bool box = is_box(edge.symbol);
        place.right = std::max(
            place.right, stub.shift + (box ? box_width(edge.name) / 2 + 4.0 : 16.0 + text_width(edge.name)));
        place.left = std::max(place.left, -stub.shift + (box ? box_width(edge.name) / 2 + 4.0 : 16.0));
      }
    }
  }

  void choose_x() {
    const auto near = neighbours();
    for (auto& layer : layers_) {
      double at = 0.0;
      for (int n : layer) places_[n].x = at += places_[n].left, at += places_[n].right;
      for (int n : layer) places_[n].x -= at / 2;
    }
    for (int sweep = 0; sweep < 60; ++sweep)
      for (std::size_t step = 0; step < layers_.size(); ++step) {
        const auto& layer = layers_[sweep % 2 == 0 ? step : layers_.size() - 1 - step];
        std::vector<double> wanted, gaps;
        for (std::size_t k = 0; k < layer.size(); ++k) {
          double sum = 0.0;
          for (int other : near[layer[k]]) sum += places_[other].x;
          wanted.push_back(near[layer[k]].empty() ? places_[layer[k]].x
                                                  : sum / static_cast<double>(near[layer[k]].size()));
          if (k > 0) gaps.push_back(places_[layer[k - 1]].right + places_[layer[k]].left);
        }
        const std::vector<double> placed = spread(wanted, gaps);
        for (std::size_t k = 0; k < layer.size(); ++k) places_[layer[k]].x = placed[k];
      }
    double low = 0.0, high = 0.0;
    bool first = true;
    for (const NodePlace& place : places_) {
      if (!place.drawn) continue;
      low = first ? place.x - place.left : std::min(low, place.x - place.left);
      high = first ? place.x + place.right : std::max(high, place.x + place.right);
      first = false;
    }
    width_ = std::max(high - low + 2 * margin, 420.0);
    const double shift = (width_ - (high + low)) / 2;
    for (NodePlace& place : places_) place.x += shift;
  }

  void choose_y() {
    bool above = false, below = false;
    for (const Stub& stub : stubs_) {
      above = above || stub.side == Side::up;
      below = below || stub.side == Side::down;
    }
    for (const Link& link : links_)
      below = below || (places_[link.upper].layer == places_[link.lower].layer &&
                        places_[link.upper].layer + 1 == static_cast<int>(layers_.size()));
    extra_.assign(layers_.size() + 1, 0.0);
    for (Link& link : links_) {
      if (places_[link.upper].layer != places_[link.lower].layer) continue;
      double& extra = extra_[places_[link.upper].layer];
      link.drop = 30.0 + extra;
      extra += 34.0;
    }
    std::vector<double> at{margin + node_height / 2 + (above ? 62.0 : 0.0)};
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) at.push_back(at.back() + layer_gap + extra_[l]);
    for (NodePlace& place : places_) place.y = at[place.layer];
    height_ = at.back() + (layers_.empty() ? 0.0 : extra_[layers_.size() - 1]) + node_height / 2 +
              (below ? 66.0 : 0.0) + margin;
  }
};

class NetworkWriter {
 public:
  explicit NetworkWriter(const DrawnNetwork& network) : network_(network), layout_(network) {}

  std::string svg(bool alone) {
    for (const Link& link : layout_.links_) draw(link);
    for (const Stub& stub : layout_.stubs_) draw(stub);
    for (std::size_t n = 0; n < network_.nodes.size(); ++n)
      if (layout_.places_[n].drawn) draw_node(static_cast<int>(n));
    std::string head =
        fmt::format("<svg{} viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"network\">\n",
                    alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", layout_.width_, layout_.height_);
    if (alone)
      head +=
          fmt::format("<style>{}</style>\n<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"var(--card)\"/>\n",
                      figure_style(), layout_.width_, layout_.height_);
    return head + wires_ + symbols_ + "</svg>\n";
  }

  // Nodes at which others end with the sign of a ground, by name.
  std::vector<std::string> references() const {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < network_.nodes.size(); ++n)
      if (layout_.rail_[n] && !network_.nodes[n].datum) names.push_back(network_.nodes[n].name);
    return names;
  }

 private:
  void wire(std::initializer_list<std::pair<double, double>> points) {
    char letter = 'M';
    wires_ += "<path class=\"wire\" d=\"";
    for (const auto& [x, y] : points) {
      wires_ += fmt::format("{}{:.1f} {:.1f}", letter, x, y);
      letter = 'L';
    }
    wires_ += "\"/>\n";
  }

  void label(double x, double y, const char* anchor, const DrawnNetwork::Edge& edge) {
    symbols_ +=
        fmt::format("<text class=\"small name{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
                    edge.unknown ? " unknown" : "", x, y, anchor, escaped(shortened(edge.name)));
  }

  // The symbol of an edge whose wire runs upright or across; half its length along the wire comes back.
  void symbol(double x, double y, bool upright, const DrawnNetwork::Edge& edge, bool towards_second) {
    const char* unknown = edge.unknown ? " unknown" : "";
    symbols_ += fmt::format("<g><title>{}</title>", escaped(edge.tip.empty() ? edge.name : edge.tip));
    switch (edge.symbol) {
      case Symbol::resistor:
      case Symbol::coil: {
        const double w = box_width(edge.name);
        symbols_ += fmt::format(
            "<rect class=\"part{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"20\" rx=\"{}\"/>",
            unknown, x - w / 2, y - 10, w, edge.symbol == Symbol::coil ? 10 : 2);
        label(x, y + 4, "middle", edge);
        break;
      }
      case Symbol::store:
        // The wire is interrupted between the plates.
        symbols_ +=
            upright ? fmt::format(
                          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"4\" height=\"5\" fill=\"var(--card)\"/>"
                          "<path class=\"plate{}\" d=\"M{:.1f} {:.1f}h18m0 6h-18\"/>",
                          x - 2, y - 2.5, unknown, x - 9, y - 3)
                    : fmt::format(
                          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"5\" height=\"4\" fill=\"var(--card)\"/>"
                          "<path class=\"plate{}\" d=\"M{:.1f} {:.1f}v18m6 0v-18\"/>",
                          x - 2.5, y - 2, unknown, x - 3, y - 9);
        if (upright)
          label(x + 13, y + 4, "start", edge);
        else
          label(x, y - 13, "middle", edge);
        break;
      case Symbol::across_source:
      case Symbol::through_source: {
        symbols_ +=
            fmt::format("<circle class=\"part{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"10\"/>", unknown, x, y);
        const double sign = towards_second ? 1.0 : -1.0;
        if (edge.symbol == Symbol::through_source)
          symbols_ += upright ? fmt::format(
                                    "<path class=\"wire\" d=\"M{0:.1f} {1:.1f}V{2:.1f}m-3.5 {3:.1f}l3.5 "
                                    "{4:.1f}l3.5 {3:.1f}\"/>",
                                    x, y - 6 * sign, y + 6 * sign, -4 * sign, 4 * sign)
                              : fmt::format(
                                    "<path class=\"wire\" d=\"M{0:.1f} {1:.1f}H{2:.1f}m{3:.1f} -3.5l{4:.1f} "
                                    "3.5l{3:.1f} 3.5\"/>",
                                    x - 6 * sign, y, x + 6 * sign, -4 * sign, 4 * sign);
        else
          symbols_ += upright ? fmt::format("<path class=\"wire\" d=\"M{:.1f} {:.1f}v20\"/>", x, y - 10)
                              : fmt::format("<path class=\"wire\" d=\"M{:.1f} {:.1f}h20\"/>", x - 10, y);
        if (upright)
          label(x + 14, y + 4, "start", edge);
        else
          label(x, y - 14, "middle", edge);
      }
    }
    symbols_ += "</g>\n";
  }

  void ground(double x, double y, Side side) {
    const double s = side == Side::up || side == Side::left ? -1.0 : 1.0;
    if (side == Side::up || side == Side::down)
      symbols_ += fmt::format("<path class=\"wire\" d=\"M{:.1f} {:.1f}h18m-3.5 {:.1f}h-11m3.5 {:.1f}h4\"/>\n",
                              x - 9, y, 4 * s, 4 * s);
    else
      symbols_ += fmt::format("<path class=\"wire\" d=\"M{:.1f} {:.1f}v18m{:.1f} -3.5v-11m{:.1f} 3.5v4\"/>\n",
                              x, y - 9, 4 * s, 4 * s);
  }

  void draw(const Stub& stub) {
    const NodePlace& node = layout_.places_[stub.node];
    const auto& edge = network_.edges[stub.edge];
    const bool leaves = edge.from == stub.node;  // the edge runs away from the node
    if (stub.side == Side::up || stub.side == Side::down) {
      const double s = stub.side == Side::up ? -1.0 : 1.0, x = node.x + stub.shift;
      const double y = node.y + (s > 0.0 ? layout_.extra_[node.layer] : 0.0);
      wire({{node.x, node.y}, {node.x, y + 16 * s}, {x, y + 16 * s}, {x, y + 58 * s}});
      symbol(x, y + stub_up * s, true, edge, leaves == (s > 0.0));
      ground(x, y + 58 * s, stub.side);
      return;
    }
    const double s = stub.side == Side::left ? -1.0 : 1.0;
    const double start = layout_.node_half(stub.node) + (s < 0.0 ? layout_.badges_width(stub.node) : 0.0);
    const double length = layout_.side_length(stub), y = node.y + stub.shift;
    if (stub.shift != 0.0) wire({{node.x + s * (start + 5), node.y}, {node.x + s * (start + 5), y}});
    wire({{node.x, node.y}, {node.x + s * (start + 5), node.y}});
    wire({{node.x + s * (start + 5), y}, {node.x + s * (start + length), y}});
    symbol(node.x + s * (start + length / 2), y, false, edge, leaves == (s > 0.0));
    ground(node.x + s * (start + length), y, stub.side);
  }

  void draw(const Link& link) {
    const NodePlace &a = layout_.places_[link.upper], &b = layout_.places_[link.lower];
    const auto& edge = network_.edges[link.edge];
    const bool down = edge.from == link.upper;
    if (a.layer == b.layer) {  // below both
      const double y = a.y + link.drop, x = (a.x + b.x) / 2 + link.shift;
      wire({{a.x, a.y}, {a.x, y}, {b.x, y}, {b.x, b.y}});
      symbol(x, y, false, edge, down == (a.x < b.x));
      return;
    }
    double x = (a.x + b.x) / 2, y = (a.y + layout_.extra_[a.layer] + b.y) / 2;
    if (link.at == Link::SymbolAt::below_upper)
      x = a.x, y = a.y + 42.0 + layout_.extra_[a.layer];
    else if (link.at == Link::SymbolAt::above_lower)
      x = b.x, y = b.y - 42.0;
    else if (b.layer > a.layer + 1)  // around the layers between
      x = std::max(a.x, b.x) + 46.0;
    x += link.shift;
    const double reach = is_box(edge.symbol) ? 14.0 : 16.0;
    const double past = a.y + layout_.extra_[a.layer];
    wire({{a.x, a.y}, {a.x, past}, {x, y - reach}, {x, y + reach}, {b.x, b.y}});
    symbol(x, y, true, edge, down);
  }

  void draw_node(int n) {
    const NodePlace& place = layout_.places_[n];
    const double half = layout_.node_half(n);
    symbols_ += fmt::format(
        "<rect class=\"node\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"11\"/>"
        "<text class=\"small name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        place.x - half, place.y - node_height / 2, 2 * half, node_height, place.x, place.y + 4,
        escaped(shortened(network_.nodes[n].name)));
    double at = place.x - half;
    for (const std::string& sensor : network_.nodes[n].sensors) {
      const double w = text_width(sensor) + 10.0;
      symbols_ += fmt::format(
          "<rect class=\"badge\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\" rx=\"4\"/>"
          "<text class=\"small onbadge\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
          at - w - 2, place.y - 9, w, at - w / 2 - 2, place.y + 4, escaped(shortened(sensor)));
      at -= w + 2;
    }
  }

  const DrawnNetwork& network_;
  NetworkLayout layout_;
  std::string wires_, symbols_;
};

}  // namespace

std::string to_svg(const DrawnNetwork& network, bool alone) { return NetworkWriter(network).svg(alone); }

std::string to_html(const DrawnNetwork& network) {
  if (network.edges.size() > most_drawn_edges)
    return paragraph(fmt::format("The network has {} edges; more than {} are not drawn.",
                                 network.edges.size(), most_drawn_edges));
  if (network.edges.empty()) return "";
  NetworkWriter writer(network);
  std::string said = "Rectangles dissipate, plates store";
  const auto has = [&](Symbol symbol) {
    return std::any_of(network.edges.begin(), network.edges.end(),
                       [&](const auto& e) { return e.symbol == symbol; });
  };
  if (has(Symbol::coil)) said += ", rounded rectangles store by their flow";
  said += ", circles are sources. The sign of a ground is the datum";
  for (const std::string& name : writer.references()) said += " or " + name;
  said += ".";
  if (std::any_of(network.nodes.begin(), network.nodes.end(),
                  [](const auto& n) { return !n.sensors.empty(); }))
    said += " Sensors stand beside the node whose value they read.";
  if (std::any_of(network.edges.begin(), network.edges.end(), [](const auto& e) { return e.unknown; }))
    said += " What depends on an unknown is in colour.";
  return "<figure>\n" + writer.svg(false) + "<figcaption>" + escaped(said) + "</figcaption>\n</figure>\n";
}

}  // namespace tellegen
