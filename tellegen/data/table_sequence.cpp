// Several files as one table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/data/table_source.h"

namespace tellegen {
namespace {

class TableSequence final : public TableSource {
 public:
  TableSequence(std::vector<std::filesystem::path> files, const TableOptions& options)
      : files_(std::move(files)), options_(options) {
    now_ = open(0);
    columns_ = now_->columns();
    time_column_ = now_->time_column();
    has_names_ = now_->has_names();
    header_line_ = now_->header_line();
    usual_ = files_.size() == 1 && now_->usual();
    description_ = files_.size() == 1 ? now_->description()
                                      : fmt::format("{} files in sequence, '{}' to '{}', {}", files_.size(),
                                                    files_.front().filename().string(),
                                                    files_.back().filename().string(), now_->description());
  }

  void choose(std::vector<int> columns) override {
    chosen_ = std::move(columns);
    time_at_ = std::find(chosen_.begin(), chosen_.end(), time_column_) - chosen_.begin();
    choose_in_file();
  }

  bool next(TableBlock& block) override {
    for (;;) {
      try {
        if (now_->next(block)) break;
      } catch (const TableError& error) {
        throw named(error);
      }
      for (std::string& note : notes_of(*now_)) notes_.push_back(std::move(note));
      if (index_ + 1 == files_.size()) return false;
      const auto origin = now_->origin();
      now_ = open(++index_);
      if (origin) now_->set_origin(*origin);
      choose_in_file();
      begins_ = true;
    }
    if (!origin_) origin_ = now_->origin();
    if (time_at_ < chosen_.size()) follow_times(block.columns[time_at_]);
    return true;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> all = notes_;
    if (index_ + 1 < files_.size() || files_.size() == 1)
      for (std::string& note : notes_of(*now_)) all.push_back(std::move(note));
    if (restarted_ > 0)
      all.push_back(
          fmt::format("{} of the files begin{} with its times anew ('{}'): they continue those of the file "
                      "before, one interval later",
                      restarted_, restarted_ == 1 ? "s" : "", restarted_file_));
    return all;
  }

 private:
  std::vector<std::string> notes_of(const TableSource& source) const {
    std::vector<std::string> notes = source.notes();
    if (files_.size() > 1)
      for (std::string& note : notes) note = files_[index_].filename().string() + ": " + note;
    return notes;
  }

  TableError named(const TableError& error) const {
    std::vector<TableFault> faults = error.faults();
    for (TableFault& fault : faults)
      if (fault.file.empty()) fault.file = files_[index_].string();
    return TableError(std::move(faults));
  }

  std::unique_ptr<TableSource> open(std::size_t index) {
    try {
      return open_table(files_[index], options_);
    } catch (const TableError& error) {
      throw named(error);
    }
  }

  void choose_in_file() {
    std::vector<int> there;
    for (int column : chosen_) {
      const std::string& name = columns_[static_cast<std::size_t>(column)].name;
      const auto& own = now_->columns();
      const auto found =
          std::find_if(own.begin(), own.end(), [&](const TableColumn& c) { return c.name == name; });
      if (found == own.end())
        throw TableError({{now_->header_line(),
                           "T591",
                           fmt::format("no column '{}', which '{}' has", name, files_[0].filename().string()),
                           {"files in sequence have the same columns"},
                           files_[index_].string()}});
      there.push_back(static_cast<int>(found - own.begin()));
      if (found->unit != columns_[static_cast<std::size_t>(column)].unit)
        throw TableError(
            {{now_->header_line(),
              "T593",
              fmt::format("column '{}' is in '{}', and in '{}' in '{}'", name, found->unit,
                          columns_[static_cast<std::size_t>(column)].unit, files_[0].filename().string()),
              {"files in sequence have the same units"},
              files_[index_].string()}});
    }
    now_->choose(std::move(there));
  }

  // A logger that was started again counts from zero: its times continue those before.
  void follow_times(std::vector<double>& times) {
    if (begins_ && !times.empty() && times.front() <= last_) {
      if (!columns_[static_cast<std::size_t>(time_column_)].is_time) {
        shift_ = last_ + interval_ - times.front();
        if (restarted_++ == 0) restarted_file_ = files_[index_].filename().string();
      }
    } else if (begins_ && !times.empty()) {
      shift_ = 0.0;
    }
    begins_ = false;
    for (double& t : times) {
      t += shift_;
      if (t > last_ && std::isfinite(last_)) interval_ = t - last_;
      if (!std::isnan(t)) last_ = t;
    }
  }

  std::vector<std::filesystem::path> files_;
  TableOptions options_;
  std::size_t index_ = 0, time_at_ = 0;
  std::unique_ptr<TableSource> now_;
  std::vector<int> chosen_;
  std::vector<std::string> notes_;
  bool begins_ = false;
  double last_ = -INFINITY, interval_ = 0.0, shift_ = 0.0;
  int restarted_ = 0;
  std::string restarted_file_;
};

}  // namespace

std::unique_ptr<TableSource> open_tables(const std::vector<std::filesystem::path>& files,
                                         const TableOptions& options) {
  if (files.size() == 1) return open_table(files[0], options);
  return std::make_unique<TableSequence>(files, options);
}

}  // namespace tellegen
