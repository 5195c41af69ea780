// The first line of a CSV file: which column a value stands in, and in which unit.
//
//   t [ms], S1 (degC), Q0_W, comment       a unit in brackets, or behind the name
//
// A unit that the header gives counts more than the one the model gives: it stands beside the numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/reading.h"

namespace tellegen {

struct CsvColumn {
  int at = -1;
  std::string name;  // as in the header
  std::string unit;  // empty: SI already

  double si(double value) const;
};

class CsvHeader {
 public:
  CsvHeader(const std::vector<std::string_view>& cells, Place place, FaultList& faults);
  std::size_t size() const { return cells_.size(); }
  const std::string& text(std::size_t column) const { return cells_[column].text; }

  // What a column is to be: `expected` is what its unit must convert to, `bare` the unit of numbers to which
  // the header gives none; empty: SI, whatever that is. `what` is the subject of faults: "input 'P'".
  struct Wanted {
    std::string expected, bare, what;
  };
  // The column of that name, with or without a unit behind it. Nothing where there is none, or where a fault
  // was reported (T591: two of them; T593: its unit).
  std::optional<CsvColumn> find(std::string_view name, const Wanted& wanted);
  // The column at a place, likewise.
  std::optional<CsvColumn> at(std::size_t column, const Wanted& wanted);

  bool missing() const { return missing_; }  // the last find() saw nothing of the kind
  // Reports T591: the column is missing.
  void no_column(const std::string& name, const std::string& what);

 private:
  struct Cell {
    std::string text;  // as it stands there
    std::string name;  // without a unit in brackets
    std::optional<std::string> unit;
    bool square = false;  // brackets of which kind: V(out) is a name, too
    bool taken = false;   // somebody has found it already
  };
  static Cell cell(std::string_view text);
  std::optional<CsvColumn> checked(CsvColumn column, const Wanted& wanted);

  Place place_;
  FaultList& faults_;
  std::vector<Cell> cells_;
  bool missing_ = false;
};

}  // namespace tellegen
