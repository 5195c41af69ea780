// SPICE netlists. A netlist is translated to the text of a model file, and that text is read as any other:
// what `tellegen convert` writes is what is simulated. Names become identifiers (`x1.r1` is `x1_r1`); V(node)
// and I(element) are outputs. docs/netlists.md says what is understood.
//
// What is wrong is told at the lines of the netlist, also where the model reader finds it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tellegen/model/analyses.h"
#include "tellegen/model/read.h"

namespace tellegen {

struct ConvertedNetlist {
  std::string toml;
  std::vector<Place> places;       // of each line of toml: where in the netlist it comes from
  std::vector<std::string> notes;  // "file:line: note: ...": what was read and has no effect
  Analyses analyses;               // what its run is asked for besides rows
};

// .cir, .sp, .spice, .net, .ckt, or a file of another ending (not .toml) with a directive of SPICE in it.
bool is_netlist(const std::filesystem::path& file);

ConvertedNetlist convert_netlist(const std::filesystem::path& file, const ReadOptions& options = {});
// A few lines of subcircuits may stand for billions of elements; at most so many are written out.
ConvertedNetlist convert_netlist_text(std::string_view text, const std::filesystem::path& name,
                                      const ReadOptions& options = {}, double most_elements = 5e6);

// The model of a netlist; its notes go to `notes` and its analyses to `analyses` where there are such.
Model read_netlist(const std::filesystem::path& file, const ReadOptions& options = {},
                   std::vector<std::string>* notes = nullptr, Analyses* analyses = nullptr);

// A netlist or a model file, by its ending.
Model read_any_model(const std::filesystem::path& file, const ReadOptions& options = {},
                     std::vector<std::string>* notes = nullptr, Analyses* analyses = nullptr);

}  // namespace tellegen
