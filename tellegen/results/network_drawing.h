// A network as a picture: nodes in layers, from where power comes in to where it leaves, components between.
//
// What stands between a node and the datum is drawn at the node, with the sign of a ground at its other end;
// so is what ends at a node that nearly everything ends at (a reference). The same network gives the same
// picture. It disappoints where circuits interlock in many ways; beyond some sixty components nothing is
// drawn.
#pragma once

#include <string>
#include <vector>

namespace tellegen {

struct DrawnNetwork {
  enum class Symbol { resistor, store, coil, across_source, through_source };
  struct Node {
    std::string name;
    bool datum = false;
    std::vector<std::string> sensors;
  };
  struct Edge {
    std::string name, tip;  // tip: what a reader is told who points at it
    int from = -1, to = -1;
    Symbol symbol = Symbol::resistor;
    bool unknown = false;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

constexpr std::size_t most_drawn_edges = 60;

// A figure with its caption; a sentence instead where there is too much to draw.
std::string to_html(const DrawnNetwork& network);
std::string to_svg(const DrawnNetwork& network, bool alone = false);

}  // namespace tellegen
