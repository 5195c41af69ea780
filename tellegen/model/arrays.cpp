#include "tellegen/model/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "tellegen/data/csv_format.h"
#include "tellegen/model/csv_header.h"
#include "tellegen/model/csv_records.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

constexpr std::array<std::string_view, 3> index_names{"i", "j", "k"};
constexpr double most_elements = 1e6;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_digit_at(const std::string& text, std::size_t at) {
  return std::isdigit(static_cast<unsigned char>(text[at]));
}

std::string index_text(std::span<const int> index) {
  std::string text;
  for (int k : index) text += fmt::format("[{}]", k);
  return text;
}

}  // namespace

bool ComponentArrays::is_index(std::string_view name) {
  return std::find(index_names.begin(), index_names.end(), name) != index_names.end();
}

std::span<const Value> ComponentArrays::elements(const Source& source, const Value& entry,
                                                 const std::filesystem::path& folder) {
  std::vector<int> count;
  std::vector<Row> rows;
  const bool from_file = entry.find("rows");
  if (from_file) {
    rows = read_rows(source, entry, folder);
    if (rows.empty()) return {};
    count = {static_cast<int>(rows.size())};
  }
  if (entry.find("count")) {
    std::vector<int> given;
    if (!read_count(source, entry, given)) return {};
    if (from_file && given != count) {
      source.fault(entry, "T124",
                   fmt::format("'{}' has {} rows and a 'count' of its own", entry.key, rows.size()),
                   {"leave 'count' away: every row is one element"});
      return {};
    }
    count = given;
  }
  std::size_t total = 1;
  for (int k : count) total *= static_cast<std::size_t>(k);

  std::vector<Template> templates;
  for (const Value& item : entry.items) {
    if (item.key == "count" || item.key == "rows") continue;
    Template& made = templates.emplace_back(Template{&item, {}});
    if (item.is_text() && !cut(source, item, count.size(), made.pieces)) return {};
    if (const Value* each = item.is_table() ? item.find("each") : nullptr) {
      if (!each->is_list() || item.items.size() != 1 || each->items.size() != total) {
        source.fault(item, "T124",
                     fmt::format("'{}' of '{}' needs one value for each element", item.key, entry.key),
                     {each->is_list() ? fmt::format("{} are given, there are {}", each->items.size(), total)
                                      : "write { each = [ ... ] }"});
        return {};
      }
    }
  }

  std::vector<Value>& made = values_.emplace_back();
  made.reserve(total);
  std::vector<int> index(count.size(), 1);
  for (std::size_t element = 0; element < total; ++element) {
    std::vector<Value>& items = values_.emplace_back();
    std::string name = std::string(entry.key) + index_text(index);
    items.reserve(templates.size() + (from_file ? rows[element].size() : 0));
    for (const Template& from : templates) {
      // A column of the file goes before what is said for all.
      if (from_file && std::any_of(rows[element].begin(), rows[element].end(),
                                   [&](const auto& cell) { return cell.first == from.value->key; }))
        continue;
      Value& item = items.emplace_back(*from.value);
      if (const Value* each = item.is_table() ? item.find("each") : nullptr) {
        item = each->items[element];
        item.key = from.value->key;
      }
      if (std::string text; !from.pieces.empty()) {
        if (!write(source, from, index, text)) return {};
        item.text = keep(std::move(text));
      }
    }
    if (from_file)
      for (const auto& [key, text] : rows[element]) {
        if (key == "name") {
          name = text;
          continue;
        }
        Value& item = items.emplace_back();
        item.line = entry.line;
        item.key = keep(key);
        if (const auto number = csv_number(text)) {
          item.type = *number == std::floor(*number) ? Value::Type::integer : Value::Type::number;
          item.number = *number;
        } else {
          item.type = Value::Type::text;
          item.text = keep(text);
        }
      }
    Value& value = made.emplace_back(entry);
    value.key = keep(std::move(name));
    value.items = items;
    for (std::size_t d = count.size(); d-- > 0;) {
      if (++index[d] <= count[d]) break;
      index[d] = 1;
    }
  }
  return made;
}

bool ComponentArrays::read_count(const Source& source, const Value& entry, std::vector<int>& count) {
  const Value& value = *entry.find("count");
  const std::span<const Value> list = value.is_list() ? value.items : std::span(&value, 1);
  double total = 1.0;
  for (const Value& item : list) {
    if (item.type != Value::Type::integer || item.number < 1 || total * item.number > most_elements) {
      source.fault(value, "T124", fmt::format("'count' of '{}' cannot be that", entry.key),
                   {"a number of elements from 1 to a million, or up to three for rows, columns and layers: "
                    "count = [3, 4]"});
      return false;
    }
    total *= item.number;
    count.push_back(static_cast<int>(item.number));
  }
  if (!count.empty() && count.size() <= index_names.size()) return true;
  source.fault(value, "T124", fmt::format("'count' of '{}' must be one to three numbers", entry.key));
  return false;
}

std::vector<ComponentArrays::Row> ComponentArrays::read_rows(const Source& source, const Value& entry,
                                                             const std::filesystem::path& folder) {
  const Value& value = *entry.find("rows");
  if (!source.is(value, Value::Type::text, fmt::format("'rows' of '{}'", entry.key))) return {};
  const std::filesystem::path file = folder / value.text;
  std::string text;
  try {
    text = read_text(file, source.document.at(value));
  } catch (const ModelError& error) {
    source.faults.add(error);
    return {};
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  const std::string_view head = std::string_view(text).substr(0, text.find('\n'));
  char delimiter = ',';
  for (char sign : {';', '\t'})
    if (std::count(head.begin(), head.end(), sign) > std::count(head.begin(), head.end(), delimiter))
      delimiter = sign;
  std::vector<std::pair<std::string, std::string>> columns;  // key and unit
  std::vector<Row> rows;
  int line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view row = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), row.size() + 1));
    ++line;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.find_first_not_of(" \t") == std::string_view::npos || row.starts_with('#')) continue;
    const std::vector<std::string> cells = cut_cells(row, delimiter);
    if (columns.empty()) {
      std::vector<TableColumn> described(cells.size());
      for (std::size_t k = 0; k < cells.size(); ++k) described[k].name = cells[k];
      const CsvHeader header(described, {file.string(), line}, source.faults);
      for (std::size_t k = 0; k < cells.size(); ++k) {
        const auto bracket = cells[k].find_first_of("[(");
        std::string key = cells[k].substr(0, bracket);
        while (key.ends_with(' ')) key.pop_back();
        columns.emplace_back(key, bracket == std::string::npos ? "" : header.unit_of(k));
      }
      continue;
    }
    if (cells.size() != columns.size()) {
      source.faults.add({file.string(), line}, "T181",
                        fmt::format("{} cells, where the header has {}", cells.size(), columns.size()));
      return {};
    }
    Row& made = rows.emplace_back();
    for (std::size_t k = 0; k < cells.size(); ++k) {
      std::string cell = cells[k];
      if (cell.empty()) continue;  // as said for all, or the kind's own
      // A decimal comma: the only one, between digits.
      if (const auto comma = cell.find(','); delimiter == ';' && comma != std::string::npos && comma > 0 &&
                                             comma + 1 < cell.size() && comma == cell.rfind(',') &&
                                             is_digit_at(cell, comma - 1) && is_digit_at(cell, comma + 1))
        cell[comma] = '.';
      if (!columns[k].second.empty() && csv_number(cell)) cell += " " + columns[k].second;
      made.emplace_back(columns[k].first, cell);
    }
  }
  if (rows.empty())
    source.fault(value, "T181", fmt::format("'{}' has no rows", file.string()),
                 {"a header line names ports and parameters of the component; each line below is one"});
  return rows;
}

bool ComponentArrays::cut(const Source& source, const Value& value, std::size_t dimensions,
                          std::vector<Piece>& pieces) {
  const std::string_view text = value.text;
  const auto known = std::span(index_names).first(dimensions);
  const auto is_index = [&](std::string_view word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  Piece piece;
  for (std::size_t at = 0; at < text.size();) {
    if (in_word(text[at]) || text[at] == '.') {  // a name or a number, with its dots
      std::size_t end = at;
      while (end < text.size() && (in_word(text[end]) || text[end] == '.')) ++end;
      const std::string_view word = text.substr(at, end - at);
      if (is_index(word) && (at == 0 || text[at - 1] != ']')) {
        piece.formula = pool_.symbol(word);
        pieces.push_back(std::move(piece));
        piece = {};
      } else {
        piece.text += word;
      }
      at = end;
    } else if (text[at] == '[' && text.substr(at, 3) != "[*]") {
      const auto end = text.find(']', at);
      const std::string_view inner = text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
      try {
        if (end == std::string_view::npos) throw ParseError("the bracket is not closed", inner.size());
        piece.text += '[';
        piece.formula = parse(pool_, inner);
        piece.index = true;
      } catch (const ParseError& error) {
        source.fault(value, "T120", fmt::format("the index cannot be read: {}", error.what()),
                     shown(inner, error));
        return false;
      }
      for (Expr symbol : symbols_of(std::span(&piece.formula, 1)))
        if (!is_index(symbol.name())) {
          source.fault(value, "T121", fmt::format("an index cannot depend on '{}'", symbol.name()),
                       {fmt::format("it is made of {} and numbers: n[i+1]",
                                    fmt::join(known.begin(), known.end(), ", "))});
          return false;
        }
      pieces.push_back(std::move(piece));
      piece = {};
      piece.text = "]";
      at = end + 1;
    } else {
      piece.text += text[at++];
    }
  }
  if (!pieces.empty()) pieces.push_back(std::move(piece));
  return true;
}

bool ComponentArrays::write(const Source& source, const Template& from, std::span<const int> index,
                            std::string& text) {
  ExprMap<double> numbers;
  for (std::size_t d = 0; d < index.size(); ++d) numbers[pool_.symbol(index_names[d])] = index[d];
  for (const Piece& piece : from.pieces) {
    text += piece.text;
    if (!piece.formula) continue;
    const double number = evaluate(piece.formula, numbers);
    if (piece.index && !(number >= 0 && number == std::floor(number) && number <= 1e9)) {
      source.fault(*from.value, "T124", fmt::format("an index cannot be {:g}", number),
                   {fmt::format("at {}", index_text(index))});
      return false;
    }
    text += fmt::format("{:.0f}", number);
  }
  return true;
}

}  // namespace tellegen
