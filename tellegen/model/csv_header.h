// The first line of a CSV file: which column a value stands in, and in which unit.
//
//   t [ms], S1 (degC), Q0_W, T / K, comment       a unit in brackets, or behind the name
//
// A unit that the header gives counts more than the one the model gives: it stands beside the numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/data/table_source.h"
#include "tellegen/model/column_names.h"
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
  // The column at a place, likewise.
  std::optional<CsvColumn> at(std::size_t column, const Wanted& wanted);

  // The unit that the header gives a column, as the program knows it; empty: none.
  std::string unit_of(std::size_t column) const;

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
  static Cell cell(const TableColumn& column);
  std::optional<CsvColumn> named(const ColumnName& entry, const Wanted& wanted);
  std::optional<CsvColumn> checked(CsvColumn column, const Wanted& wanted);

  Place place_;
  FaultList& faults_;
  ColumnNames names_;
  std::vector<Cell> cells_;
  bool missing_ = false;
};

// The unit that a text of a header stands for: "°C", "Deg C" and "C" beside temperatures are degC. Unchanged
// where it is none that loggers write.
std::string header_unit(std::string_view text, std::string_view expected);

// Whether a text is a unit as headers have them.
bool is_header_unit(std::string_view text);

// The faults of a table, as those of a file of that name.
ModelError to_model_error(const TableError& error, const std::string& file);

}  // namespace tellegen
