#include "tellegen/numeric/row_program.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tellegen/numeric/lanes.h"

namespace tellegen {
namespace {

constexpr std::size_t longest = 8;  // rows that grow by others being put in
constexpr int row_cost = 2;         // of keeping a row, in entries: it is stored
constexpr std::int32_t near = 16;   // levels after which results are taken that need no later ones

// By halves down to pairs: compilers keep these in registers, and arrays not.
template <int width>
struct LaneSum {
  LaneSum<width / 2> low, high;
  static LaneSum times(double factor, const double* p) {
    return {LaneSum<width / 2>::times(factor, p), LaneSum<width / 2>::times(factor, p + width / 2)};
  }
  void operator+=(const LaneSum& other) { low += other.low, high += other.high; }
  void store(double* p) const { low.store(p), high.store(p + width / 2); }
};
template <>
struct LaneSum<2> {
  NumberPair pair;
  static LaneSum times(double factor, const double* p) { return {factor * pair_at(p)}; }
  void operator+=(const LaneSum& other) { pair += other.pair; }
  void store(double* p) const { pair_at(p) = pair; }
};
template <>
struct LaneSum<1> {
  double value;
  static LaneSum times(double factor, const double* p) { return {factor * *p}; }
  void operator+=(const LaneSum& other) { value += other.value; }
  void store(double* p) const { *p = value; }
};

// Where a run stands.
struct RunCursor {
  const std::uint32_t* index;
  const double* value;
  const std::int32_t* at;
  double* next;  // row
};

// Rows with equally many entries; the number is known to the compiler for the usual ones.
template <int width, std::int32_t fixed>
inline void take_rows(std::int32_t rows, std::int32_t entries, RunCursor& cursor, const double* work,
                      double* target) {
  const std::int32_t count = fixed > 0 ? fixed : entries;
  RunCursor c = cursor;
  const auto at = [&](std::uint32_t variable) { return work + std::size_t{width} * variable; };
  for (std::int32_t r = 0; r < rows; ++r) {
    LaneSum<width> sum = LaneSum<width>::times(c.value[0], at(c.index[0]));
#pragma GCC unroll 8
    for (std::int32_t k = 1; k < count; ++k) sum += LaneSum<width>::times(c.value[k], at(c.index[k]));
    c.value += count;
    c.index += count;
    if (target) {
      sum.store(target + static_cast<std::ptrdiff_t>(width) * *c.at++);
    } else {
      sum.store(c.next);
      c.next += width;
    }
  }
  cursor = c;
}

// Rows with nothing in them: there may be no variable at all that a zero could be a multiple of.
template <int width>
void take_empty_rows(std::int32_t rows, RunCursor& cursor, double* target) {
  for (std::int32_t r = 0; r < rows; ++r) {
    double* to = target ? target + static_cast<std::ptrdiff_t>(width) * *cursor.at++ : cursor.next;
    std::fill_n(to, width, 0.0);
    if (!target) cursor.next += width;
  }
}

struct Transposed {
  std::vector<std::int32_t> start, index;
  std::vector<double> value;
  template <class Visit>
  void each(std::int32_t row, Visit visit) const {
    for (std::int32_t k = start[row]; k < start[row + 1]; ++k) visit(index[k], value[k]);
  }
};
Transposed transposed(const SparsePattern& p, const std::vector<double>& values) {
  Transposed t;
  t.start.assign(p.size + 2, 0);
  t.index.resize(p.row.size());
  t.value.resize(p.row.size());
  for (std::int32_t r : p.row) ++t.start[r + 2];
  std::partial_sum(t.start.begin(), t.start.end(), t.start.begin());
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k) {
      const std::int32_t to = t.start[p.row[k] + 1]++;
      t.index[to] = c;
      t.value[to] = values[k];
    }
  return t;
}

}  // namespace

std::int32_t RowProgram::begin_row() {
  rows_.emplace_back();
  rows_.back().entries.reserve(4);
  return inputs_ + static_cast<std::int32_t>(rows_.size()) - 1;
}

void RowProgram::begin_result(int target, std::int32_t at) {
  rows_.emplace_back();
  rows_.back().entries.reserve(4);
  rows_.back().target = target;
  rows_.back().at = at;
}

void RowProgram::add(std::int32_t variable, double factor) {
  rows_.back().entries.push_back({variable, factor});
}

// Puts rows into their users where there are no more entries afterwards.
void RowProgram::simplify() {
  std::vector<std::vector<std::int32_t>> users(rows_.size());
  for (auto& list : users) list.reserve(4);
  const auto number = [&](std::int32_t variable) { return variable - inputs_; };
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (const auto& [v, f] : rows_[r].entries)
      if (v >= inputs_) users[number(v)].push_back(static_cast<std::int32_t>(r));
  const auto find = [](Row& row, std::int32_t variable) {
    return std::find_if(row.entries.begin(), row.entries.end(),
                        [&](const auto& e) { return e.first == variable; });
  };
  const auto drop = [&](std::int32_t r) {
    rows_[r].gone = true;
    for (const auto& [v, f] : rows_[r].entries)
      if (v >= inputs_) std::erase(users[number(v)], r);
  };
  for (auto r = static_cast<std::int32_t>(rows_.size()) - 1; r >= 0; --r)
    if (rows_[r].target < 0 && users[r].empty()) drop(r);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(rows_.size()); ++r) {
      Row& row = rows_[r];
      if (row.gone || row.target >= 0 || row.entries.size() > longest) continue;
      if (row.entries.size() > 1 && users[r].size() > longest) continue;
      auto more = -static_cast<int>(row.entries.size()) - row_cost;
      bool too_long = false;
      for (std::int32_t u : users[r]) {
        int grows = -1;
        for (const auto& [v, f] : row.entries) grows += find(rows_[u], v) == rows_[u].entries.end();
        too_long = too_long || (grows > 0 && rows_[u].entries.size() + grows > longest);
        more += grows;
      }
      if (more >= 0 || too_long) continue;
      const std::vector<std::int32_t> of = std::move(users[r]);
      for (std::int32_t u : of) {
        const auto at = find(rows_[u], inputs_ + r);
        const double factor = at->second;
        rows_[u].entries.erase(at);
        for (const auto& [v, f] : row.entries) {
          if (const auto same = find(rows_[u], v); same != rows_[u].entries.end()) {
            same->second += factor * f;
            continue;
          }
          rows_[u].entries.push_back({v, factor * f});
          if (v >= inputs_) users[number(v)].push_back(u);
        }
      }
      drop(r);
      changed = true;
    }
  }
}

void RowProgram::finish() {
  simplify();
  std::vector<std::int32_t> level(rows_.size(), 0), order, place(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    if (row.gone) continue;
    for (const auto& [v, f] : row.entries)
      if (v >= inputs_) level[r] = std::max(level[r], level[v - inputs_] + 1);
    // What is computed last is added last: the others need not wait for it.
    std::stable_sort(row.entries.begin(), row.entries.end(), [&](const auto& a, const auto& b) {
      const auto when = [&](std::int32_t v) { return v < inputs_ ? -1 : level[v - inputs_]; };
      return when(a.first) < when(b.first);
    });
    levels_ = std::max(levels_, level[r] + 1);
    order.push_back(static_cast<std::int32_t>(r));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    // Results come soon after what they need: it is still at hand, and they fill the time that rows of a
    // chain wait for each other.
    const auto key = [&](std::int32_t r) {
      const bool result = rows_[r].target >= 0;
      return std::tuple(level[r] / near, rows_[r].target, result ? 0 : level[r], rows_[r].entries.size());
    };
    return key(a) < key(b);
  });
  std::int32_t next = inputs_;
  for (std::int32_t r : order) {
    Row& row = rows_[r];
    const auto entries = static_cast<std::int32_t>(row.entries.size());
    if (row.target < 0)
      place[r] = next++;
    else
      at_.push_back(row.at);
    if (runs_.empty() || runs_.back().entries != entries || runs_.back().target != row.target)
      runs_.push_back({0, entries, row.target});
    ++runs_.back().rows;
    for (const auto& [v, f] : row.entries) {
      index_.push_back(static_cast<std::uint32_t>(v < inputs_ ? v : place[v - inputs_]));
      value_.push_back(f);
    }
  }
  variables_ = next;
  rows_ = {};
}

template <int width>
void RowProgram::run(double* work, double* const* targets) const {
  RunCursor cursor{index_.data(), value_.data(), at_.data(),
                   work + static_cast<std::ptrdiff_t>(width) * inputs_};
  for (const Run& run : runs_) {
    double* target = run.target < 0 ? nullptr : targets[run.target];
    const auto take = [&]<std::int32_t fixed>() {
      target ? take_rows<width, fixed>(run.rows, run.entries, cursor, work, target)
             : take_rows<width, fixed>(run.rows, run.entries, cursor, work, nullptr);
    };
    switch (run.entries) {
      case 0:
        take_empty_rows<width>(run.rows, cursor, target);
        break;
      case 1:
        take.template operator()<1>();
        break;
      case 2:
        take.template operator()<2>();
        break;
      case 3:
        take.template operator()<3>();
        break;
      case 4:
        take.template operator()<4>();
        break;
      case 5:
        take.template operator()<5>();
        break;
      default:
        take.template operator()<0>();
    }
  }
}
template void RowProgram::run<1>(double*, double* const*) const;
template void RowProgram::run<few_lanes>(double*, double* const*) const;
template void RowProgram::run<lanes>(double*, double* const*) const;

// y_i = b_i - sum F_ij s_i x_j - sum L_ij (s_i / s_j) y_j,  x_i = y_i / (s_i U_ii) - sum (U_ij / U_ii) x_j
std::vector<std::int32_t> add_solution(RowProgram& program, const SparseLu::Factors& f,
                                       const RightSide& right) {
  const Transposed lower = transposed(f.lower, f.lower_values), upper = transposed(f.upper, f.upper_values),
                   off = transposed(f.off_diagonal, f.off_diagonal_values);
  const std::size_t n = f.row_order.size();
  std::vector<std::int32_t> y(n), x(n), unknown(n);
  for (auto block = static_cast<std::int32_t>(f.block_start.size()) - 2; block >= 0; --block) {
    const std::int32_t begin = f.block_start[block], end = f.block_start[block + 1];
    for (std::int32_t i = begin; i < end; ++i) {
      y[i] = program.begin_row();
      right(f.row_order[i]);
      off.each(i, [&](std::int32_t j, double v) { program.add(x[j], -v * f.row_scale[i]); });
      lower.each(i, [&](std::int32_t j, double v) {
        if (j != i) program.add(y[j], -v * f.row_scale[i] / f.row_scale[j]);
      });
    }
    for (std::int32_t i = end - 1; i >= begin; --i) {
      double diagonal = 1.0;
      upper.each(i, [&](std::int32_t j, double v) {
        if (j == i) diagonal = v;
      });
      x[i] = unknown[f.column_order[i]] = program.begin_row();
      program.add(y[i], 1.0 / (diagonal * f.row_scale[i]));
      upper.each(i, [&](std::int32_t j, double v) {
        if (j != i) program.add(x[j], -v / diagonal);
      });
    }
  }
  return unknown;
}

// v_j = (b_j - sum F_ij w_i - sum U_ij v_i) / U_jj,  w_i = v_i - sum L_ji w_j;  the solution is z_i = w_i /
// s_i
std::vector<std::int32_t> add_transposed_solution(RowProgram& program, const SparseLu::Factors& f,
                                                  const RightSide& right) {
  const auto each = [](const SparsePattern& p, const std::vector<double>& values, std::int32_t column,
                       auto&& visit) {
    for (std::int32_t k = p.column_start[column]; k < p.column_start[column + 1]; ++k)
      visit(p.row[k], values[k]);
  };
  const std::size_t n = f.row_order.size();
  std::vector<std::int32_t> v(n), z(n), of_row(n);
  for (std::size_t block = 0; block + 1 < f.block_start.size(); ++block) {
    const std::int32_t begin = f.block_start[block], end = f.block_start[block + 1];
    for (std::int32_t j = begin; j < end; ++j) {
      double diagonal = 1.0;
      const std::int32_t sum = program.begin_row();
      right(f.column_order[j]);
      each(f.off_diagonal, f.off_diagonal_values, j,
           [&](std::int32_t i, double u) { program.add(z[i], -u * f.row_scale[i]); });
      each(f.upper, f.upper_values, j, [&](std::int32_t i, double u) {
        if (i == j)
          diagonal = u;
        else
          program.add(v[i], -u);
      });
      v[j] = program.begin_row();
      program.add(sum, 1.0 / diagonal);
    }
    for (std::int32_t i = end - 1; i >= begin; --i) {
      z[i] = of_row[f.row_order[i]] = program.begin_row();
      program.add(v[i], 1.0 / f.row_scale[i]);
      each(f.lower, f.lower_values, i, [&](std::int32_t j, double l) {
        if (j != i) program.add(z[j], -l * f.row_scale[j] / f.row_scale[i]);
      });
    }
  }
  return of_row;
}

}  // namespace tellegen
