// Components that come in numbers:
//
//   cell = { kind = "cell", count = 12, p = "n[i]", n = "n[i+1]", R = "R0*(1 + 0.01*i)" }
//   link = { kind = "thermal.resistor", count = [3, 4], p = "x[i][j]", n = "x[i][j+1]", R = 2 }
//   cell = { kind = "cell", rows = "cells.csv", p = "n[i]", n = "n[i+1]" }
//
// Each element becomes an entry like any other, named cell[1] to cell[12]. In its texts the index i, from 1
// (and j, k where there are more), is a number, and what stands in brackets is worked out. A value { each =
// [...] } has one for each element. With `rows` every row of a CSV file is an element and its columns are
// keys of the component; a column `name` names it.
#pragma once

#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/reading.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

class ComponentArrays {
 public:
  static bool is_array(const Value& entry) { return entry.find("count") || entry.find("rows"); }
  // The entries that one stands for; none where it has faults. They last as long as this object.
  std::span<const Value> elements(const Source& source, const Value& entry,
                                  const std::filesystem::path& folder);
  static bool is_index(std::string_view name);  // "i", "j", "k"

 private:
  // A text cut where the index stands in it.
  struct Piece {
    std::string text;    // before the formula
    Expr formula{};      // empty: the text ends here
    bool index = false;  // in brackets: a whole number
  };
  struct Template {
    const Value* value;
    std::vector<Piece> pieces;  // of a text
  };
  using Row = std::vector<std::pair<std::string, std::string>>;  // keys and values of a row of a file

  bool read_count(const Source& source, const Value& entry, std::vector<int>& count);
  std::vector<Row> read_rows(const Source& source, const Value& entry, const std::filesystem::path& folder);
  bool cut(const Source& source, const Value& value, std::size_t dimensions, std::vector<Piece>& pieces);
  bool write(const Source& source, const Template& from, std::span<const int> index, std::string& text);
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  Pool pool_;
  std::deque<std::string> texts_;
  std::deque<std::vector<Value>> values_;
};

}  // namespace tellegen
