#include "tellegen/records/data_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tellegen/model/csv_header.h"
#include "tellegen/model/quantity_words.h"
#include "tellegen/model/units.h"
#include "tellegen/records/record.h"
#include "tellegen/records/sentinels.h"

namespace tellegen {
namespace {

constexpr std::size_t most_points = 4000;  // of a curve

// What a header says of a column, whoever asks.
CsvColumn column_at(const DataSurvey& survey, std::size_t k, const std::string& unit) {
  FaultList faults;
  std::vector<TableColumn> all;
  for (const SurveyedColumn& c : survey.columns) all.push_back(c.column);
  return CsvHeader(all, {}, faults).at(k, {unit, "", ""}).value_or(CsvColumn{-1, "", ""});
}

class Survey {
 public:
  explicit Survey(const DataSource& source) : source_(source) {}

  DataSurvey run() {
    std::vector<char> texts;
    // A column of texts is found when it is read; then it is left out, and the rest read again.
    for (int tries = 0; tries < 3; ++tries) {
      try {
        read();
        break;
      } catch (const TableError& error) {
        if (!leave_out(error)) throw to_model_error(error, source_.name());
      }
    }
    return std::move(survey_);
  }

 private:
  bool leave_out(const TableError& error) {
    bool all = true, any = false;
    for (const TableFault& fault : error.faults()) {
      if (fault.code != "T594") return false;
      bool found = false;
      for (std::size_t k = 0; k < survey_.columns.size(); ++k)
        if (fault.message.find("in column '" + survey_.columns[k].column.name + "'") != std::string::npos &&
            static_cast<int>(k) != survey_.time_column) {
          texts_.resize(survey_.columns.size());
          texts_[k] = fault.message.substr(0, fault.message.find(" in column"));
          found = any = true;
        }
      all = all && found;
    }
    return all && any;
  }

  void read() {
    const auto table = open_data(source_);
    survey_ = {};
    survey_.description = table->description();
    survey_.time_column = table->time_column();
    texts_.resize(table->columns().size());
    std::vector<int> chosen;
    for (std::size_t k = 0; k < table->columns().size(); ++k) {
      SurveyedColumn column;
      column.column = table->columns()[k];
      column.lowest = std::numeric_limits<double>::infinity();
      column.highest = -column.lowest;
      column.is_text = texts_[k];
      survey_.columns.push_back(std::move(column));
      if (texts_[k].empty()) chosen.push_back(static_cast<int>(k));
    }
    runs_.assign(survey_.columns.size(), {});
    sentinels_.assign(survey_.columns.size(), {});
    for (std::size_t k = 0; k < survey_.columns.size(); ++k) {
      SurveyedColumn& c = survey_.columns[k];
      FaultList none;
      if (!c.column.is_time) c.unit = CsvHeader(table->columns(), {}, none).unit_of(k);
    }
    std::string time_unit;
    if (survey_.time_column >= 0 &&
        !table->columns()[static_cast<std::size_t>(survey_.time_column)].is_time) {
      FaultList faults;
      const auto column = CsvHeader(table->columns(), {source_.name(), 0}, faults)
                              .at(static_cast<std::size_t>(survey_.time_column), {"s", "", "the time"});
      faults.throw_if_any();
      if (column) time_unit = column->unit;
    }
    table->choose(chosen);
    const auto at = std::find(chosen.begin(), chosen.end(), survey_.time_column) - chosen.begin();
    const bool timed = static_cast<std::size_t>(at) < chosen.size();
    const bool points = timed && table->columns()[static_cast<std::size_t>(survey_.time_column)].is_time;
    IntervalFinder finder;
    std::vector<std::pair<double, double>> gaps;
    std::size_t stride = 1;
    for (TableBlock block; table->next(block);)
      for (std::size_t r = 0; r < block.rows; ++r) {
        double t = static_cast<double>(survey_.rows);
        if (timed) t = block.columns[static_cast<std::size_t>(at)][r];
        if (timed && !points && !time_unit.empty()) t = units().to_si(t, time_unit);
        if (survey_.rows++ == 0) {
          survey_.first = survey_.last = t;
          finder.add(t);
        } else if (t > survey_.last) {
          finder.add(t);
          steps_.emplace_back(survey_.last, t);
          if (steps_.size() > (std::size_t{1} << 20))
            steps_.erase(steps_.begin(), steps_.begin() + (1 << 19));
          survey_.last = t;
        } else if (t == survey_.last) {
          ++survey_.same_time;
        } else if (t < survey_.last) {
          ++survey_.backwards;
        }
        const bool drawn = static_cast<std::size_t>(survey_.rows - 1) % stride == 0;
        if (drawn) survey_.times.push_back(t);
        for (std::size_t k = 0; k < chosen.size(); ++k)
          if (chosen[k] != survey_.time_column)
            sentinels_[static_cast<std::size_t>(chosen[k])].add(block.columns[k][r], block.lines[r]);
        for (std::size_t k = 0; k < chosen.size(); ++k)
          see(static_cast<std::size_t>(chosen[k]), t, block.columns[k][r], drawn);
        if (survey_.times.size() >= most_points) thin(), stride *= 2;
      }
    survey_.base.interval = finder.interval();
    for (const auto& [before, t] : steps_) survey_.base.add(before, t);
    survey_.notes = table->notes();
    for (std::size_t k = 0; k < sentinels_.size(); ++k)
      if (const SentinelFinder& s = sentinels_[k]; s.found() && source_.table.missing != "none")
        survey_.notes.push_back(
            fmt::format("{} in column '{}' (line {}, {} of them) does not look like a reading: --missing {} "
                        "leaves it out",
                        s.value(), survey_.columns[k].column.name, s.line(), s.count(), s.value()));
    survey_.origin = table->origin();
    for (SurveyedColumn& c : survey_.columns)
      if (c.readings > 0) c.mean /= static_cast<double>(c.readings);
  }

  struct Stretch {
    double value = std::numeric_limits<double>::quiet_NaN(), from = 0.0;
    std::int64_t rows = 0;
  };

  void see(std::size_t k, double t, double value, bool drawn) {
    SurveyedColumn& c = survey_.columns[k];
    if (drawn) c.curve.push_back(value);
    if (!std::isfinite(value)) {
      ++c.missing;
      return;
    }
    ++c.readings;
    c.mean += value;
    c.lowest = std::min(c.lowest, value);
    c.highest = std::max(c.highest, value);
    Stretch& stretch = runs_[k];
    if (value != stretch.value) stretch = {value, t, 0};
    if (++stretch.rows > c.stuck) c.stuck = stretch.rows, c.stuck_from = stretch.from;
  }

  void thin() {
    const auto halve = [](std::vector<double>& list) {
      for (std::size_t k = 0; 2 * k < list.size(); ++k) list[k] = list[2 * k];
      list.resize((list.size() + 1) / 2);
    };
    halve(survey_.times);
    for (SurveyedColumn& c : survey_.columns) halve(c.curve);
  }

  const DataSource& source_;
  DataSurvey survey_;
  std::vector<std::string> texts_;  // per column: a cell that is no number
  std::vector<Stretch> runs_;
  std::vector<SentinelFinder> sentinels_;
  std::vector<std::pair<double, double>> steps_;
};

}  // namespace

DataSurvey survey_data(const DataSource& source) { return Survey(source).run(); }

std::vector<ColumnProposal> propose_columns(const Model& model, const DataSurvey& survey,
                                            const ColumnNames& given) {
  struct Wish {
    ColumnProposal proposal;
    double value = std::numeric_limits<double>::quiet_NaN();  // what the model says of an input
    std::optional<double> lowest, highest;                    // what a sensor can read
  };
  std::vector<Wish> wishes;
  for (std::size_t k = 0; k < model.outputs.size(); ++k)
    if (model.outputs[k].sensor)
      wishes.push_back({{model.outputs[k].name, "sensor", sensor_unit(model, static_cast<int>(k)), -1, false},
                        std::numeric_limits<double>::quiet_NaN(),
                        model.outputs[k].lowest,
                        model.outputs[k].highest});
  std::vector<std::string> inputs = model.estimation.inputs;
  if (inputs.empty())
    for (const ModelInput& input : model.inputs) inputs.push_back(input.name);
  for (const std::string& name : inputs) {
    Wish wish{{name, "input", input_unit(model, name), -1, false},
              std::numeric_limits<double>::quiet_NaN(),
              {},
              {}};
    for (const ModelInput& input : model.inputs)
      if (input.name == name && input.value.is_number()) wish.value = input.value.number();
    for (const ModelParameter& parameter : model.parameters)
      if (parameter.name == name) wish.value = parameter.number;
    wishes.push_back(std::move(wish));
  }
  std::vector<TableColumn> all;
  for (const SurveyedColumn& c : survey.columns) all.push_back(c.column);
  std::vector<char> taken(all.size(), 0);
  if (survey.time_column >= 0) taken[static_cast<std::size_t>(survey.time_column)] = 1;
  for (Wish& wish : wishes) {
    FaultList faults;
    ColumnProposal& p = wish.proposal;
    const auto found = CsvHeader(all, {}, faults, given).find(p.name, {p.unit, p.unit, p.name});
    if (!found) continue;
    p.column = found->at;
    p.by_name = true;
    taken[static_cast<std::size_t>(found->at)] = 1;
  }
  // The best pair first, until none is left.
  for (;;) {
    Wish* best = nullptr;
    std::size_t best_column = 0;
    double best_score = 0.15;
    for (Wish& wish : wishes) {
      if (wish.proposal.column >= 0) continue;
      for (std::size_t k = 0; k < all.size(); ++k) {
        const SurveyedColumn& c = survey.columns[k];
        if (taken[k] || !c.is_text.empty() || c.readings == 0 || c.column.is_time) continue;
        const std::string& unit = wish.proposal.unit;
        const CsvColumn column = column_at(survey, k, unit);
        if (column.at < 0) continue;  // in another unit
        if (!unit.empty() && !c.unit.empty() && !units().convertible(header_unit(c.unit, unit), unit))
          continue;
        const bool same_unit = !c.unit.empty() && !unit.empty();
        const CsvColumn taken_as{column.at, column.name, c.unit.empty() ? unit : column.unit};
        double score = likeness(wish.proposal.name, c.column.name) +
                       (same_unit ? 0.5 : 0.6 * quantity_likeness(c.column.name, unit));
        const double low = taken_as.si(c.lowest), high = taken_as.si(c.highest), mean = taken_as.si(c.mean);
        if ((wish.lowest && high < *wish.lowest) || (wish.highest && low > *wish.highest)) continue;
        // An input stands near what the model says of it.
        if (std::isfinite(wish.value)) {
          const double size = std::max({std::abs(wish.value), std::abs(mean), 1e-12});
          score += 0.4 * std::max(0.0, 1.0 - 10.0 * std::abs(mean - wish.value) / size);
        } else if (high == low) {
          score -= 0.3;  // a sensor sees something
        }
        if (score > best_score) best_score = score, best = &wish, best_column = k;
      }
    }
    if (!best) break;
    best->proposal.column = static_cast<int>(best_column);
    taken[best_column] = 1;
  }
  std::vector<ColumnProposal> proposals;
  for (Wish& wish : wishes) proposals.push_back(std::move(wish.proposal));
  return proposals;
}

}  // namespace tellegen
