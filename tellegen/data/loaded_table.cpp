#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tellegen/data/binary_sources.h"
#include "tellegen/data/number_cell.h"
#include "tellegen/data/time_names.h"
#include "tellegen/data/time_text.h"

namespace tellegen {
namespace {

class LoadedTable final : public TableSource {
 public:
  LoadedTable(std::vector<LoadedColumn> columns, std::string description, const TableOptions& options,
              const std::filesystem::path& file)
      : loaded_(std::move(columns)) {
    usual_ = false;
    description_ = std::move(description);
    for (LoadedColumn& loaded : loaded_) {
      leave_out(loaded.values, options.missing);
      columns_.push_back(loaded.column);
      rows_ = std::max(rows_, loaded.values.size());
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      // The name behind the last sign of a path, too: "bench/time", "log.t".
      const std::string& name = columns_[c].name;
      const std::size_t cut = name.find_last_of("/.");
      const std::string last = cut == std::string::npos ? name : name.substr(cut + 1);
      if (options.time_column.empty() ? time_column_ < 0 && is_time_name(last)
                                      : name == options.time_column || last == options.time_column)
        time_column_ = static_cast<int>(c);
    }
    if (!options.time_column.empty() && time_column_ < 0)
      throw TableError(
          {{0, "T591", fmt::format("no column '{}' for the time", options.time_column), {}, file.string()}});
    if (time_column_ >= 0) read_epoch(options);
  }

  void choose(std::vector<int> columns) override { chosen_ = std::move(columns); }

  bool next(TableBlock& block) override {
    constexpr std::size_t most = 4096;
    block.rows = std::min(most, rows_ - at_);
    block.columns.resize(chosen_.size());
    block.lines.clear();
    for (std::size_t k = 0; k < block.rows; ++k) block.lines.push_back(static_cast<int>(at_ + k + 1));
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      const auto& values = loaded_[static_cast<std::size_t>(chosen_[k])].values;
      block.columns[k].assign(values.begin() + static_cast<long>(at_),
                              values.begin() + static_cast<long>(at_ + block.rows));
    }
    at_ += block.rows;
    return block.rows > 0;
  }

  std::vector<std::string> notes() const override {
    if (left_out_ == 0) return {};
    return {fmt::format("{} number{} for 'no reading' or 'overload' count as missing", left_out_,
                        left_out_ == 1 ? "" : "s")};
  }

 private:
  void leave_out(std::vector<double>& values, const std::string& missing) {
    double mark = std::numeric_limits<double>::quiet_NaN();
    read_number(missing, {0, true}, mark);
    for (double& value : values)
      if (value == mark || is_overload(value)) {
        value = std::numeric_limits<double>::quiet_NaN();
        ++left_out_;
      }
  }

  // Numbers that are points in time, as seconds from the first.
  void read_epoch(const TableOptions& options) {
    LoadedColumn& time = loaded_[static_cast<std::size_t>(time_column_)];
    if (time.values.empty() || !time.column.unit.empty()) return;
    const Epoch* epoch = options.time_format.empty() ? epoch_of(time.values, is_date_name(time.column.name))
                                                     : find_epoch(options.time_format);
    if (!epoch) return;
    const double first = time.values.front();
    origin_ = epoch->point(first);
    for (double& t : time.values) t = (t - first) * (epoch->nanoseconds * 1e-9);
    columns_[static_cast<std::size_t>(time_column_)].is_time = true;
    description_ += fmt::format(", times '{}' as {}", time.column.name, epoch->name);
  }

  std::vector<LoadedColumn> loaded_;
  std::vector<int> chosen_;
  std::size_t rows_ = 0, at_ = 0, left_out_ = 0;
};

}  // namespace

std::string keep_one_length(std::vector<LoadedColumn>& columns) {
  std::map<std::size_t, int> lengths;
  for (const LoadedColumn& column : columns) ++lengths[column.values.size()];
  std::size_t rows = 0;
  for (const auto& [length, count] : lengths)
    if (length > 1 && (rows == 0 || count > lengths[rows] || (count == lengths[rows] && length > rows)))
      rows = length;
  const auto others =
      std::erase_if(columns, [&](const LoadedColumn& c) { return rows == 0 || c.values.size() != rows; });
  std::string description = fmt::format("{} columns of {} rows", columns.size(), rows);
  if (others > 0) description += fmt::format(", {} of other lengths passed over", others);
  return description;
}

std::unique_ptr<TableSource> loaded_table(std::vector<LoadedColumn> columns, std::string description,
                                          const TableOptions& options, const std::filesystem::path& file) {
  return std::make_unique<LoadedTable>(std::move(columns), std::move(description), options, file);
}

}  // namespace tellegen
