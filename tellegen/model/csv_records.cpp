#include "tellegen/model/csv_records.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace tellegen {
namespace {

std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

CsvRecords::CsvRecords(std::string_view text) : text_(text) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
}

bool CsvRecords::next(std::vector<std::string_view>& cells) {
  while (at_ < text_.size() && wrong_.empty()) {
    line_ = next_line_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view whole = trimmed(text_.substr(at_, end - at_));
    if (whole.empty() || whole.front() == '#') {
      at_ = end + 1;
      ++next_line_;
      continue;
    }
    cells.clear();
    unquoted_.clear();
    for (bool more = true; more;) cells.push_back(cell(more));
    return wrong_.empty();
  }
  return false;
}

// Reads one cell and what ends it; `more` says whether the record goes on.
std::string_view CsvRecords::cell(bool& more) {
  const std::size_t first = std::min(text_.find_first_not_of(" \t", at_), text_.size());
  std::string_view value;
  if (first < text_.size() && text_[first] == '"') {
    at_ = first + 1;
    value = quoted();
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    if (wrong_.empty() && !trimmed(text_.substr(at_, end - at_)).empty())
      wrong_ = "text after a closing quote";
    at_ = end;
  } else {
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    value = trimmed(text_.substr(at_, end - at_));
    at_ = end;
  }
  more = at_ < text_.size() && text_[at_] == ',';
  if (at_ < text_.size() && text_[at_] == '\n') ++next_line_;
  ++at_;
  return value;
}

std::string_view CsvRecords::quoted() {
  std::string& value = unquoted_.emplace_back();
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') ++next_line_;
    if (text_[at_] == '"') {
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
        ++at_;
        return trimmed(value);
      }
      ++at_;
    }
    value += text_[at_];
  }
  wrong_ = "a quoted cell does not end";
  return {};
}

std::optional<double> csv_number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc::invalid_argument || end != cell.data() + cell.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(cell).c_str(), nullptr);
  return value;
}

}  // namespace tellegen
