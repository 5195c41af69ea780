// What a benchmark says: tasks with their tables on the terminal as they come, bars at the end, all as JSON.
//
// A task states its input, its result and when two results are equal. Answers are compared first: a row
// whose answer is wrong shows no time, and one such row makes the whole run fail.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tellegen/results/table.h"

namespace tellegen {

struct Task {
  std::string name, input, result, equality;
};

// A number we hold ourselves to.
struct Bar {
  std::string name;
  double measured = 0, bound = 0;
  bool at_least = false;  // otherwise: at most
  std::string setting;    // what was compared
  bool met() const { return at_least ? measured >= bound : measured <= bound; }
};

class Report {
 public:
  void begin(const Task& task);
  // Records a wrong answer; returns `equal`.
  bool require(bool equal, const std::string& what);
  void table(const std::string& caption, const TextTable& table);
  void note(const std::string& text);
  void add(const Bar& bar) { bars_.push_back(bar); }
  void finish();  // the bars and the failures

  bool failed() const { return !failures_.empty(); }
  nlohmann::json json() const;

 private:
  nlohmann::json tasks_ = nlohmann::json::array();
  std::vector<Bar> bars_;
  std::vector<std::string> failures_;
  std::string task_;
};

// Cells. NaN is an empty cell.
std::string cell(double value, int digits = 3);
std::string cell(std::int64_t value);

}  // namespace tellegen
