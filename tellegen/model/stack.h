// [stack] of a model file: a layered body (a power module on its cooler) as a thermal network of finite
// volumes.
//
// Layers lie on each other, the first one uppermost; each is made of rectangles. The edges of all rectangles
// are lines of one lateral grid, and between them there are more, so that no cell is wider than `cell`. A
// cell is a node with a heat capacity; neighbours are joined by the resistance from centre to centre,
//
//   R = (d_a/k_a + d_b/k_b)/(2 A),
//
// with 1/(h A) of a contact or film where there is one. Sides, and faces without a film, let no heat through:
// a cut along a plane of symmetry needs nothing. The error falls with the square of the cell's width, but for
// the corners of dies, where the heat flow is singular and convergence slower.
//
// The section is replaced by the components and outputs that it stands for, as text: what a reader sees then
// is an ordinary model.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tellegen/model/expanded_text.h"
#include "tellegen/model/reading.h"

namespace tellegen {

struct StackMaterial {
  std::string name;
  std::array<double, 3> k{};  // conductivity along x, y and z
  double capacity = 0.0;      // of a volume: rho*cp
};

struct StackRectangle {
  double x0, x1, y0, y1;
};

struct StackPart {
  std::string name;  // empty: the only part of its layer
  int material = 0;
  std::vector<StackRectangle> rectangles;
  int line = 0;
};

struct StackLayer {
  std::string name;
  double thickness = 0.0, contact = 0.0;  // conductance per area to the layer below; 0: perfect
  int cells = 1;                          // across its thickness
  std::vector<StackPart> parts{};
  int line = 0;
};

struct StackRegion {
  int layer = 0, part = -1;  // -1: all of them
};

struct StackHeat {
  std::string name, power;  // power is an expression of the model
  StackRegion region;
  int line = 0;
};

struct StackFilm {
  std::string name, node, h;  // h is an expression of the model
  double h_number = 0.0;      // where it is a plain number
  StackRegion region;
  bool top = false;
  int line = 0;
};

struct StackProbe {
  enum class Where { volume, top, bottom } where = Where::volume;
  std::string name;
  StackRegion region;
  std::vector<StackRegion> under{};         // at most one: only columns that it covers
  std::vector<std::array<double, 2>> at{};  // at most one: only the cell that contains the point
  int line = 0;
};

struct Stack {
  std::array<double, 2> cell{};  // largest width of a cell along x and y
  std::string start;             // temperature of all cells at the start, an expression; empty: steady
  std::vector<StackMaterial> materials;
  std::vector<StackLayer> layers;
  std::vector<StackHeat> heat;
  std::vector<StackFilm> films;
  std::vector<StackProbe> probes;
  int line = 0;
};

// What [stack] says; faults go to the source's list.
Stack read_stack(const Source& source, const Value& section);

// The components and outputs that a stack stands for, one to a line, and the line of the model file that each
// of these lines comes from. What cannot be laid out is reported to the source's list.
struct StackNetwork {
  std::vector<AddedEntry> components, outputs;
};
StackNetwork make_network(const Source& source, const Stack& stack);

// The model file without [stack], with its network in its place. Throws ModelError.
ExpandedText expand_stack(const Document& document);

}  // namespace tellegen
