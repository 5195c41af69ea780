// The first line of a CSV file: which column a value stands in, and in which unit.
//
// A unit that the header gives (header_units.h) counts more than the one the model gives: it stands beside
// the numbers. What the user says of a column, "I=I/mA [mA]", counts more than both.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/data/table_source.h"
#include "tellegen/model/column_names.h"
#include "tellegen/model/header_units.h"
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
  // `names`: what the user says of the columns; `table` may have a row of units.
  CsvHeader(const std::vector<TableColumn>& table, Place place, FaultList& faults, ColumnNames names = {});
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
  // The column whose header is written so, with its unit; otherwise as find().
  std::optional<CsvColumn> find_text(std::string_view text, const Wanted& wanted);
  // The column at a place, likewise; `stated`: the unit that the user says.
  std::optional<CsvColumn> at(std::size_t column, const Wanted& wanted, const std::string& stated = "");

  // The unit that the header gives a column, as the program knows it; empty: none.
  std::string unit_of(std::size_t column) const;

  bool missing() const { return missing_; }                       // the last find() saw nothing of the kind
  void take(std::size_t column) { cells_[column].taken = true; }  // it is proposed to nobody
  // Reports T591: the column is missing. The example that it gives is a column that would do.
  void no_column(const std::string& name, const Wanted& wanted);
  // Which units were taken from something else than brackets: "'I/mA' in mA".
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Cell {
    std::string text;  // as it stands there
    std::string name;  // without a unit in brackets
    std::optional<std::string> unit;
    bool square = false;            // brackets of which kind: V(out) is a name, too
    std::vector<NameAndUnit> cuts;  // where a unit may begin otherwise
    bool has_unit() const { return unit && (square || is_header_unit(*unit)); }
    bool taken = false;  // somebody has found it already
  };
  static Cell cell(const TableColumn& column);
  std::optional<CsvColumn> named(const ColumnName& entry, const Wanted& wanted);
  std::vector<std::size_t> matches(const std::string& column, const Wanted& wanted) const;
  std::optional<CsvColumn> loose(std::size_t column, const Wanted& wanted);
  std::optional<std::size_t> behind_path(std::string_view name) const;
  bool fits(const Cell& cell, const Wanted& wanted) const;
  void note(const Cell& cell, const std::string& text, bool bracketed, const Wanted& wanted);
  std::optional<CsvColumn> checked(CsvColumn column, const Wanted& wanted);

  Place place_;
  FaultList& faults_;
  ColumnNames names_;
  std::vector<Cell> cells_;
  std::vector<std::string> notes_;
  bool missing_ = false;
};

// How much two names have in common, from 0 to 1: the letters of the one in the order of the other.
double likeness(std::string_view a, std::string_view b);

// The faults of a table, as those of a file of that name.
ModelError to_model_error(const TableError& error, const std::string& file);

}  // namespace tellegen
