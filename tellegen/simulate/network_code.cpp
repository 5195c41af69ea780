#include "tellegen/simulate/network_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "tellegen/program/c_functions.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// C has no arrays of nothing.
std::string int_table(const std::string& name, const std::vector<std::int32_t>& values) {
  std::string out =
      fmt::format("static const int {}[{}] = {{", name, std::max<std::size_t>(1, values.size()));
  for (std::size_t k = 0; k < values.size(); ++k)
    out += fmt::format("{}{},", k % 24 == 0 ? "\n  " : "", values[k]);
  return out + (values.empty() ? "0};\n" : "\n};\n");
}

std::string number_table(const std::string& name, const std::vector<double>& values) {
  std::string out =
      fmt::format("static const double {}[{}] = {{", name, std::max<std::size_t>(1, values.size()));
  for (std::size_t k = 0; k < values.size(); ++k)
    out += fmt::format("{}{},", k % 12 == 0 ? "\n  " : "", c_number(values[k]));
  return out + (values.empty() ? "0.0};\n" : "\n};\n");
}

// Columns without the diagonal, which the factors keep apart.
SparsePattern without_diagonal(const SparsePattern& p) {
  SparsePattern result{.size = p.size, .column_start = {0}, .row = {}};
  for (std::int32_t c = 0; c < p.size; ++c) {
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k)
      if (p.row[k] != c) result.row.push_back(p.row[k]);
    result.column_start.push_back(result.nonzeros());
  }
  return result;
}

std::vector<double> values_without_diagonal(const SparsePattern& p, const std::vector<double>& values,
                                            std::vector<double>* diagonal) {
  std::vector<double> result;
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k) {
      if (p.row[k] != c)
        result.push_back(values[k]);
      else if (diagonal)
        diagonal->push_back(values[k]);
    }
  return result;
}

// Entries of a pattern, numbered without the diagonal.
std::vector<std::int32_t> numbers_without_diagonal(const SparsePattern& p) {
  std::vector<std::int32_t> result;
  std::int32_t next = 0;
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k)
      result.push_back(p.row[k] == c ? -1 : next++);
  return result;
}

std::string pass_tables(const std::string& name, const RowSolver::Pass& pass,
                        const std::vector<std::int32_t>& numbers) {
  std::vector<std::int32_t> entries, block_end, origin;
  for (std::size_t r = 0, b = 0; r < pass.runs.size(); ++r) {
    for (; b < pass.block_end.size() && pass.block_end[b] == static_cast<std::int32_t>(r); ++b)
      block_end.push_back(static_cast<std::int32_t>(entries.size()));
    entries.insert(entries.end(), pass.runs[r].rows, pass.runs[r].entries);
  }
  block_end.resize(pass.block_end.size(), static_cast<std::int32_t>(entries.size()));
  for (const std::int32_t from : pass.origin) origin.push_back(from >= 0 ? numbers[from] : from);
  return int_table(name + "_row", pass.row) + int_table(name + "_entries", entries) +
         int_table(name + "_index", pass.index) + int_table(name + "_block", block_end) +
         int_table(name + "_from", origin) +
         fmt::format("static const tellegen_pass {0} = {{{0}_row, {0}_entries, {0}_index, {0}_block}};\n",
                     name);
}

}  // namespace

std::int32_t NetworkCode::room(std::size_t count) {
  const std::int32_t at = size_;
  size_ += static_cast<std::int32_t>(count);
  return at;
}

NetworkCode::NetworkCode(const NetworkStep& step, int fixed_iterations)
    : step_(step), fixed_(fixed_iterations), factors_(step.lu_->factors()) {
  for (std::int32_t* counter : {&counters_.left, &counters_.stride, &counters_.phase, &counters_.index,
                                &counters_.renew, &origin_, &length_, &renewed_ago_, &fixed_at_})
    *counter = room(1);
  scheme_ = room(5);
  event_length_ = room(1);
  time_ = room(1);
  const auto n = static_cast<std::size_t>(step.network_.size());
  const auto entries = static_cast<std::size_t>(step.lu_->pattern().nonzeros());
  work_ = room(step.work_.size());
  for (std::size_t g = 0; g < step.groups_.size(); ++g) {
    const Batch& batch = step.groups_[g].batch;
    const auto registers = static_cast<std::size_t>(batch.program().registers);
    Place place{.register_at = std::vector<std::int32_t>(registers, -1),
                .uniform = std::vector<char>(registers, 0)};
    const auto uniform = [&](std::int32_t reg, std::int32_t to) {
      place.register_at[reg] = to;
      place.uniform[reg] = 1;
    };
    uniform(step.groups_[g].time, time_);
    uniform(step.groups_[g].alpha, scheme_);
    for (std::int32_t age = 0; age < 3; ++age) uniform(step.groups_[g].past_factor + age, scheme_ + 1 + age);
    uniform(step.groups_[g].rate_factor, scheme_ + 4);
    for (std::int32_t reg = 0; reg < batch.program().registers; ++reg) {
      if (!batch.stored(reg)) continue;
      const auto& sources = step.source_arrays_[g];
      const auto source =
          std::find_if(sources.begin(), sources.end(), [&](const auto& a) { return a.first == reg; });
      place.register_at[reg] = source != sources.end() ? work_ + static_cast<std::int32_t>(n) + source->second
                                                       : room(static_cast<std::size_t>(batch.members()));
    }
    places_.push_back(std::move(place));
  }
  base_ = room(entries);
  values_ = room(entries);
  right_ = room(n);
  lower_ = room(factors_.lower.row.size());
  upper_ = room(factors_.upper.row.size());
  off_ = room(factors_.off_diagonal.row.size());
  diagonal_ = room(n);
  scale_ = room(n);
  scratch_ = room(n);
  updates_ = room(step.updates_.program.roots.size());
  if (!by_rows()) return;
  down_ = room(step.solver_->forward().index.size());
  up_ = room(step.solver_->backward().index.size());
  pivot_ = room(n);
}

std::string NetworkCode::refused() const {
  if (!step_.followed_.program.roots.empty()) return "it accounts for its energy";
  for (const GroupStep& g : step_.groups_)
    if (g.batch.has_large_tables()) return "it has tables of a million numbers";
  if (step_.pivot_choices() > 1) return "pivots in its equations have to be chosen anew while it runs";
  return {};
}

std::vector<double> NetworkCode::first_numbers(double step) const {
  std::vector<double> w(static_cast<std::size_t>(size_), 0.0);
  const auto put = [&](std::int32_t at, const auto& values) {
    std::copy(values.begin(), values.end(), w.begin() + at);
  };
  w[length_] = w[event_length_] = step;
  w[fixed_at_] = fixed_;
  w[counters_.renew] = 1.0;
  put(scheme_, std::array{step_.scheme_.alpha, step_.scheme_.past[0], step_.scheme_.past[1],
                          step_.scheme_.past[2], step_.scheme_.past_rate});
  put(work_, step_.work_);
  for (std::size_t g = 0; g < step_.groups_.size(); ++g) {
    Batch& batch = const_cast<Batch&>(step_.groups_[g].batch);
    for (std::int32_t reg = 0; reg < batch.program().registers; ++reg)
      if (batch.stored(reg)) std::copy_n(batch.array(reg), batch.members(), w.begin() + at(g, reg));
  }
  put(base_, step_.base_);
  put(values_, step_.values_);
  std::vector<double> diagonal;
  put(lower_, values_without_diagonal(factors_.lower, factors_.lower_values, nullptr));
  put(upper_, values_without_diagonal(factors_.upper, factors_.upper_values, &diagonal));
  put(off_, factors_.off_diagonal_values);
  put(diagonal_, diagonal);
  for (std::size_t k = 0; k < factors_.row_order.size(); ++k)
    w[scale_ + factors_.row_order[k]] = factors_.row_scale[k];
  if (!by_rows()) return w;
  put(down_, step_.solver_->forward().value);
  put(up_, step_.solver_->backward().value);
  put(pivot_, step_.solver_->pivots());
  return w;
}

template <class Registers>
std::vector<std::int32_t> NetworkCode::all(Registers registers) const {
  std::vector<std::int32_t> result;
  for (std::size_t g = 0; g < step_.groups_.size(); ++g)
    for (const std::int32_t reg : registers(step_.groups_[g]))
      for (std::int32_t m = 0; m < step_.groups_[g].batch.members(); ++m) result.push_back(at(g, reg, m));
  return result;
}

namespace {

std::vector<std::int32_t> past_of(const std::vector<std::vector<std::int32_t>>& past, int age) {
  std::vector<std::int32_t> result;
  for (const auto& ages : past) result.push_back(ages[static_cast<std::size_t>(age)]);
  return result;
}

}  // namespace

std::vector<RegisterCopy> NetworkCode::hand_over(const NetworkCode& next) const {
  std::vector<RegisterCopy> copies;
  const auto add = [&](const auto& to, const auto& from) {
    const std::vector<std::int32_t> targets = next.all(to), sources = all(from);
    for (std::size_t k = 0; k < targets.size(); ++k) copies.push_back({targets[k], sources[k]});
  };
  for (int age = 0; age < 3; ++age) {
    const auto past = [&](const GroupStep& g) { return past_of(g.past, age); };
    add(past, past);
  }
  const auto rates = [](const GroupStep& g) { return g.rate; };
  const auto new_iterates = [](const GroupStep& g) { return g.new_iterate; };
  const auto limited = [](const GroupStep& g) { return g.new_limited; };
  add(rates, rates);
  add([](const GroupStep& g) { return g.iterates; }, new_iterates);
  add(new_iterates, new_iterates);
  add([](const GroupStep& g) { return g.previous; }, limited);
  add(limited, limited);
  copies.push_back({next.counters_.index, counters_.index});
  return copies;
}

void NetworkCode::add_registers(StepCode::Events& events) const {
  for (std::int32_t k = 0; k < 5; ++k) events.formula[static_cast<std::size_t>(k)] = scheme_ + k;
  events.formula[5] = event_length_;
  const auto add = [&](const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to) {
    events.stored.insert(events.stored.end(), from.begin(), from.end());
    events.loaded.insert(events.loaded.end(), to.begin(), to.end());
  };
  for (int age = 0; age < 3; ++age) {
    const auto values = all([&](const GroupStep& g) { return past_of(g.past, age); });
    events.values = static_cast<std::int32_t>(values.size());
    add(values, values);
  }
  const auto rates = all([](const GroupStep& g) { return g.rate; });
  add(rates, rates);
  add(all([](const GroupStep& g) { return g.new_iterate; }),
      all([](const GroupStep& g) { return g.iterates; }));
  add(all([](const GroupStep& g) { return g.new_limited; }),
      all([](const GroupStep& g) { return g.previous; }));
  events.held_registers = part(0.0).inputs;
  for (const Discrete& d : step_.system_.discrete)
    events.factor.push_back(step_.system_.groups[d.group].additive[d.held] ? 0 : 1);
  for (std::size_t k = 0; k < step_.updates_.program.roots.size(); ++k)
    events.updates.push_back(updates_ + static_cast<std::int32_t>(k));
  events.origin = origin_;
  events.step = length_;
  events.renewed_ago = renewed_ago_;
  events.fixed = fixed_at_;
}

StepCode::Part NetworkCode::part(double step) const {
  StepCode::Part part{.registers = first_numbers(step), .counters = counters_};
  for (const Discrete& d : step_.system_.discrete)
    part.inputs.push_back(at(static_cast<std::size_t>(d.group),
                             step_.first_parameter_[d.group] + held_slot(step_.system_, d), d.member));
  for (std::size_t g = 0; g < step_.groups_.size(); ++g)
    for (std::size_t p = 0; p < step_.system_.groups[g].parameters.size(); ++p)
      for (std::int32_t m = 0; m < step_.groups_[g].batch.members(); ++m)
        part.numbers.push_back({static_cast<std::int32_t>(g), static_cast<std::int32_t>(p), m,
                                at(g, step_.first_parameter_[g] + static_cast<std::int32_t>(p), m)});
  return part;
}

StepTables NetworkCode::tables() const {
  StepTables tables{.text = text(), .iterates = step_.network_.iterative()};
  for (const Discrete& d : step_.system_.discrete)
    tables.factor.push_back(step_.system_.groups[d.group].additive[d.held] ? 0 : 1);
  count(tables);
  return tables;
}

// Of one step with one of Newton's iterations.
void NetworkCode::count(StepTables& tables) const {
  for (const GroupStep& g : step_.groups_)
    for (int section = 1; section < NetworkStep::recovery; ++section)
      for (const Instruction& i : g.batch.program().section(section)) {
        if (i.code == Code::number || i.code == Code::copy) continue;
        const bool function = i.code == Code::call || i.code == Code::power || i.code == Code::lookup;
        (function ? tables.functions : tables.operations) += g.batch.members();
      }
  const auto column = [&](const SparsePattern& p, std::int32_t c) {
    return p.column_start[c + 1] - p.column_start[c];
  };
  const auto entries = static_cast<std::int64_t>(factors_.lower.row.size() + factors_.upper.row.size() +
                                                 factors_.off_diagonal.row.size());
  tables.operations += 2 * entries + static_cast<std::int64_t>(2 * step_.sources_.size());
  if (step_.constant_tangent_) return;
  for (std::int32_t c = 0; c < factors_.upper.size; ++c)
    for (std::int32_t k = factors_.upper.column_start[c]; k < factors_.upper.column_start[c + 1]; ++k)
      if (factors_.upper.row[k] != c)
        tables.operations += 2 * (column(factors_.lower, factors_.upper.row[k]) - 1);
  tables.operations += 2 * entries;
}

std::string NetworkCode::kernels(int section) const {
  std::string out;
  for (std::size_t g = 0; g < step_.groups_.size(); ++g) out += fmt::format("  g{}_{}(w);\n", g, section);
  return out;
}

// A section for all members; with registers that are wanted for one, into `to`.
std::string NetworkCode::kernel_text(std::size_t g, int section,
                                     const std::vector<std::int32_t>& wanted) const {
  const Batch& batch = step_.groups_[g].batch;
  const Program& program = batch.program();
  const auto inputs = static_cast<std::int32_t>(program.inputs.size());
  const bool one = !wanted.empty();
  std::set<std::int32_t> loads, stores, needed(wanted.begin(), wanted.end());
  std::vector<Instruction> code;
  const auto all = program.section(section);
  for (auto i = all.rbegin(); i != all.rend(); ++i) {
    if (one && !needed.contains(i->target)) continue;
    code.insert(code.begin(), *i);
    for_each_operand(program, *i, [&](std::int32_t reg) {
      needed.insert(reg);
      if (reg < inputs || program.section_of[reg] != section) loads.insert(reg);
    });
  }
  for (std::int32_t reg = inputs; !one && reg < program.registers; ++reg)
    if (batch.stored(reg) && program.section_of[reg] == section) stores.insert(reg);
  std::string arrays, body;
  for (const std::int32_t reg : loads) {
    if (places_[g].uniform[reg]) {
      arrays += fmt::format("  const double r{} = w[{}];\n", reg, at(g, reg));
    } else if (batch.stored(reg)) {
      arrays += fmt::format("  const double* restrict a{} = w + {};\n", reg, at(g, reg));
      body += fmt::format("    const double r{0} = a{0}[m];\n", reg);
    } else {
      body += fmt::format("    const double r{} = w[{} + g{}_index{}[m]];\n", reg, work_, g, reg);
    }
  }
  for (const Instruction& i : code)
    body += "    const double " +
            c_instruction(program, i, [](std::int32_t r) { return fmt::format("r{}", r); }) + "\n";
  for (const std::int32_t reg : stores) {
    arrays += fmt::format("  double* restrict a{} = w + {};\n", reg, at(g, reg));
    body += fmt::format("    a{0}[m] = r{0};\n", reg);
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) body += fmt::format("    to[{}] = r{};\n", k, wanted[k]);
  if (one)
    return fmt::format("static void g{}_of(double* w, int m, double* to) {{\n{}{}  (void)w, (void)m;\n}}\n",
                       g, arrays, body);
  const std::string loop =
      body.empty() ? "" : fmt::format("  for (int m = 0; m < {}; ++m) {{\n{}  }}\n", batch.members(), body);
  return fmt::format("static void g{}_{}(double* w) {{\n{}{}  (void)w;\n}}\n", g, section, arrays, loop);
}

// Each group's kernels, and what they gather.
std::string NetworkCode::groups_text() const {
  std::string out;
  for (std::size_t g = 0; g < step_.groups_.size(); ++g) {
    const Batch& batch = step_.groups_[g].batch;
    const std::string name = fmt::format("g{}", g);
    std::string code;
    for (int section = 0; section < NetworkStep::recovery; ++section)
      if (section == 3 ? step_.network_.iterative()
                       : section != 2 || step_.network_.iterative() || !step_.constant_tangent_)
        code += kernel_text(g, section, {});
    if (const std::vector<std::int32_t> wanted = recovered(static_cast<std::int32_t>(g)); !wanted.empty())
      code += kernel_text(g, NetworkStep::recovery, wanted);
    const auto mentions = [&](const std::string& text) { return code.find(text) != std::string::npos; };
    for (std::size_t k = 0; k < batch.program().inputs.size(); ++k)
      if (const std::string index = fmt::format("{}_index{}", name, k); mentions(index + "[")) {
        const std::int32_t* first = batch.index(static_cast<std::int32_t>(k));
        out += int_table(index, {first, first + batch.members()});
      }
    for (std::size_t k = 0; k < batch.program().tables.size(); ++k)
      if (const std::string table = fmt::format("table{}", k); mentions("&" + table + ","))
        out += with_table_names(c_table(*batch.program().tables[k], table), name);
    out += batch.program().tables.empty() ? code : with_table_names(code, name);
  }
  return out;
}

// Registers of a group that outputs and updates want, and that are computed for them alone.
std::vector<std::int32_t> NetworkCode::recovered(std::int32_t g) const {
  std::set<std::int32_t> wanted;
  for (const auto* reader : {&step_.outputs_, &step_.updates_})
    for (const auto& n : reader->needed)
      if (n.unknown < 0 && n.group == g &&
          step_.groups_[g].batch.program().section_of[n.reg] == NetworkStep::recovery)
        wanted.insert(n.reg);
  return {wanted.begin(), wanted.end()};
}

std::string NetworkCode::matrix_text() const {
  const SparsePattern& matrix = step_.lu_->pattern();
  const SparsePattern lower = without_diagonal(factors_.lower), upper = without_diagonal(factors_.upper);
  std::vector<std::int32_t> place_of_row(factors_.row_order.size());
  for (std::size_t k = 0; k < factors_.row_order.size(); ++k)
    place_of_row[factors_.row_order[k]] = static_cast<std::int32_t>(k);
  std::string out = int_table("block", factors_.block_start) + int_table("place_of_row", place_of_row) +
                    int_table("row_at", factors_.row_order) + int_table("column_at", factors_.column_order) +
                    int_table("matrix_column", matrix.column_start) + int_table("matrix_row", matrix.row) +
                    int_table("lower_column", lower.column_start) + int_table("lower_row", lower.row) +
                    int_table("upper_column", upper.column_start) + int_table("upper_row", upper.row) +
                    int_table("off_column", factors_.off_diagonal.column_start) +
                    int_table("off_row", factors_.off_diagonal.row);
  out += fmt::format(
      "static const tellegen_sparse matrix = {{{}, {}, block, place_of_row, row_at, column_at,\n"
      "  matrix_column, matrix_row, lower_column, lower_row, upper_column, upper_row, off_column, "
      "off_row}};\n",
      matrix.size, factors_.block_start.size() - 1);
  out += fmt::format(
      "static tellegen_factors factors_in(double* w) {{\n"
      "  const tellegen_factors f = {{w + {}, w + {}, w + {}, w + {}, w + {}, w + {}}};\n  return f;\n}}\n",
      lower_, upper_, off_, diagonal_, scale_, scratch_);
  std::vector<std::int32_t> row, source;
  std::vector<double> factor;
  for (const RowSource& s : step_.sources_) {
    row.push_back(s.row);
    source.push_back(s.source);
    factor.push_back(s.factor);
  }
  if (!by_rows())
    return out + int_table("source_row", row) + int_table("source", source) +
           number_table("source_factor", factor);
  return out + pass_tables("down", step_.solver_->forward(), numbers_without_diagonal(factors_.lower)) +
         pass_tables("up", step_.solver_->backward(), numbers_without_diagonal(factors_.upper));
}

// Entries of the matrix: tables, then the additions.
std::string NetworkCode::stamps_text(bool constant) const {
  std::string tables, calls;
  for (std::size_t g = 0; g < step_.groups_.size(); ++g) {
    const GroupStep& group = step_.groups_[g];
    for (std::size_t k = 0; k < group.stamps.size(); ++k) {
      const GroupStep::Stamp& s = group.stamps[k];
      if (s.constant != constant) continue;
      tables += int_table(fmt::format("stamp{}_{}", g, k), s.position);
      calls +=
          fmt::format("  tellegen_stamp(w + {}, stamp{}_{}, w + {}, {}, {});\n", constant ? base_ : values_,
                      g, k, at(g, s.reg), group.batch.members(), c_number(s.factor));
    }
  }
  return tables + fmt::format("static void stamp_{}(double* w) {{\n  (void)w;\n{}}}\n",
                              constant ? "constants" : "iterates", calls);
}

std::string NetworkCode::prepare_text() const {
  const std::int32_t entries = step_.lu_->pattern().nonzeros();
  std::string out = "static int prepare(double* w) {\n";
  out += kernels(0);
  out += fmt::format(
      "  tellegen_clear(w + {0}, {1});\n  stamp_constants(w);\n  tellegen_copy(w + {2}, w + {0}, {1});\n",
      base_, entries, values_);
  if (step_.constant_tangent_) {
    out += fmt::format(
        "  {{\n    const tellegen_factors f = factors_in(w);\n"
        "    if (tellegen_factor(&matrix, w + {}, &f)) return 1;\n",
        base_);
    if (by_rows())
      out += fmt::format(
          "    tellegen_row_values(&matrix, &f, &down, down_from, w + {}, &up, up_from, w + {}, w + {});\n",
          down_, up_, pivot_);
    out += "  }\n";
  }
  return out + "  return 0;\n}\n";
}

std::string NetworkCode::solve_text() const {
  std::string out = "static void solve(double* w) {\n";
  if (by_rows())
    return out + fmt::format("  tellegen_solve_rows({}, &down, w + {}, &up, w + {}, w + {}, w + {});\n}}\n",
                             factors_.block_start.size() - 1, down_, up_, pivot_, work_);
  return out + fmt::format(
                   "  const tellegen_factors f = factors_in(w);\n  tellegen_clear(w + {0}, {1});\n"
                   "  tellegen_gather(w + {0}, source_row, source, source_factor, {2}, w + {3});\n"
                   "  tellegen_solve(&matrix, &f, w + {0});\n  tellegen_copy(w + {4}, w + {0}, {1});\n}}\n",
                   right_, step_.network_.size(), step_.sources_.size(), work_ + step_.network_.size(),
                   work_);
}

std::string NetworkCode::copies(const std::vector<std::pair<std::int32_t, std::int32_t>>& arrays,
                                std::size_t g) const {
  std::string out;
  for (const auto& [to, from] : arrays)
    out += fmt::format("  tellegen_copy(w + {}, w + {}, {});\n", at(g, to), at(g, from),
                       step_.groups_[g].batch.members());
  return out;
}

// Newton's iteration, or the one solution there is.
std::string NetworkCode::iterate_text() const {
  const bool iterative = step_.network_.iterative();
  std::string out = "static int solve_step(double* w) {\n";
  if (step_.constant_tangent_ && !iterative) return out + "  solve(w);\n  return 0;\n}\n";
  out += fmt::format(
      "  const int fixed = (int)w[{}], most = fixed > 0 ? fixed : {};\n  int iterations = 0, stagnant = 0;\n"
      "  double smallest = (double)INFINITY;\n  for (;;) {{\n  double change = 0.0;\n",
      fixed_at_, iterative ? 50 : 1);
  for (std::size_t g = 0; g < step_.groups_.size(); ++g) {
    const GroupStep& s = step_.groups_[g];
    std::vector<std::pair<std::int32_t, std::int32_t>> arrays;
    for (std::size_t k = 0; k < s.iterates.size(); ++k) arrays.push_back({s.iterates[k], s.new_iterate[k]});
    for (std::size_t k = 0; k < s.previous.size(); ++k) arrays.push_back({s.previous[k], s.new_limited[k]});
    out += copies(arrays, g);
  }
  out += kernels(2) + "  ++iterations;\n";
  if (!step_.constant_tangent_)
    out += fmt::format(
        "  {{\n    const tellegen_factors f = factors_in(w);\n    tellegen_copy(w + {0}, w + {1}, {2});\n"
        "    stamp_iterates(w);\n    if (tellegen_factor(&matrix, w + {0}, &f)) return 1;\n  }}\n  "
        "solve(w);\n",
        values_, base_, step_.lu_->pattern().nonzeros());
  else
    out += step_.iterate_drives_ ? "  solve(w);\n" : "  if (iterations == 1) solve(w);\n";
  if (iterative) {
    out += kernels(3);
    for (std::size_t g = 0; g < step_.groups_.size(); ++g)
      for (const std::int32_t reg : step_.groups_[g].change)
        out += fmt::format("  change = tellegen_largest(change, w + {}, {});\n", at(g, reg),
                           step_.groups_[g].batch.members());
  }
  return out +
         fmt::format(
             "  if (fixed == 0 && change <= 1.0) return 0;\n"
             "  /* Where rounding keeps the changes from shrinking any further, and they are small. */\n"
             "  stagnant = change < 0.5 * smallest ? 0 : stagnant + 1;\n"
             "  if (change < smallest) smallest = change;\n"
             "  if (fixed == 0 && stagnant >= 4 &&\n"
             "      change * {} <= {} * tellegen_larger(1e-5 * w[{}] * {}, 1.0))\n    return 0;\n"
             "  if (iterations >= most) return fixed == 0;\n  }}\n}}\n",
             c_number(step_.options_.tolerance), c_number(rounding_floor), scheme_,
             c_number(step_.options_.step));
}

std::string NetworkCode::reader_text(const NetworkStep::Reader& reader, const std::string& name) const {
  if (reader.program.roots.empty()) return {};
  Procedure procedure{.program = reader.program};
  procedure.entries = {{"", {run_section(0), emit(procedure.program.roots)}}};
  std::string out = c_static_function(procedure, name + "_of");
  out += fmt::format(
      "static void {}(double* w, double t, double* to) {{\n  double v[{}], of[{}];\n  v[0] = t;\n", name,
      reader.program.registers, reader.needed.size() + 1);
  std::int32_t group = -1, member = -1;  // recovered last
  for (std::size_t k = 0; k < reader.needed.size(); ++k) {
    const NetworkStep::Needed& n = reader.needed[k];
    std::string from;
    if (n.unknown >= 0) {
      from = fmt::format("w[{}]", work_ + step_.position_[n.unknown]);
    } else if (const Batch& batch = step_.groups_[n.group].batch;
               batch.program().section_of[n.reg] != NetworkStep::recovery) {
      from = fmt::format("w[{}]", at(static_cast<std::size_t>(n.group), n.reg, n.member));
    } else {
      const std::vector<std::int32_t> wanted = recovered(n.group);
      if (group != n.group || member != n.member)
        out += fmt::format("  g{}_of(w, {}, of);\n", group = n.group, member = n.member);
      from = fmt::format("of[{}]", std::find(wanted.begin(), wanted.end(), n.reg) - wanted.begin());
    }
    out += fmt::format("  v[{}] = {};\n", k + 1, from);
  }
  return out + fmt::format("  (void)w, (void)of;\n  {}_of(v, 0, &to);\n}}\n", name);
}

// Rates of storage that follows sources and other storage.
std::string NetworkCode::project_text() const {
  std::int32_t registers = 1;
  for (const Program& program : step_.source_rates_) registers = std::max(registers, program.registers);
  std::string functions,
      out = fmt::format("static void project(double* w, double t) {{\n  double total, *to, v[{}];\n",
                        registers);
  const auto rate = [&](std::int32_t r) {
    const Rate& where = step_.system_.rates[r];
    const auto k = r - step_.system_.groups[where.group].first_rate[where.member];
    return at(static_cast<std::size_t>(where.group), step_.groups_[where.group].new_rate[k], where.member);
  };
  for (std::size_t k = 0; k < step_.source_rates_.size(); ++k) {
    Procedure procedure{.program = step_.source_rates_[k]};
    procedure.entries = {{"", {run_section(0), emit({procedure.program.roots[0]})}}};
    const std::string name = fmt::format("source_rate{}", k);
    functions += c_static_function(procedure, name);
    out += fmt::format("  to = &total, v[0] = t;\n  {}(v, 0, &to);\n", name);
    const RedundantRate& r = step_.storage_.redundant[k];
    for (const auto& term : r.terms)
      if (term.rate >= 0)
        out += fmt::format("  total += {} * w[{}];\n", c_number(term.sign), rate(term.rate));
    out += fmt::format("  w[{}] = total;\n", rate(r.rate));
  }
  return functions + out + "}\n";
}

std::string NetworkCode::run_text() const {
  const bool events = step_.options_.events;
  const std::size_t width = step_.outputs_.program.roots.size();
  std::string out = fmt::format(
      "static int run(double* w, double** out) {{\n  while (w[{}] > 0.0) {{\n"
      "  const double t = w[{}] + w[{}] * (w[{}] + 1.0);\n",
      counters_.left, origin_, length_, counters_.index);
  out += fmt::format("  w[{}] = t;\n", time_);
  out += kernels(1) + "  if (solve_step(w)) return 1;\n" + kernels(4);
  if (!step_.source_rates_.empty()) out += "  project(w, t);\n";
  out += fmt::format("  w[{0}] = 0.0;\n  w[{1}] += 1.0;\n  w[{2}] -= 1.0;\n  w[{3}] += 1.0;\n",
                     counters_.renew, counters_.index, counters_.left, counters_.phase);
  out += fmt::format("  if (w[{0}] == w[{1}]) {{\n{2}    *out += {3};\n    w[{0}] = 0.0;\n  }}\n",
                     counters_.phase, counters_.stride, width > 0 ? "    outputs(w, t, *out);\n" : "", width);
  if (!step_.updates_.program.roots.empty()) out += fmt::format("  updates(w, t, w + {});\n", updates_);
  for (std::size_t g = 0; g < step_.groups_.size(); ++g) {
    const GroupStep& s = step_.groups_[g];
    std::vector<std::pair<std::int32_t, std::int32_t>> arrays;
    for (std::size_t k = 0; k < s.new_value.size(); ++k)
      for (const auto& [to, from] : {std::pair{s.past[k][2], s.past[k][1]},
                                     {s.past[k][1], s.past[k][0]},
                                     {s.past[k][0], s.new_value[k]}})
        arrays.push_back({to, from});
    for (std::size_t k = 0; k < s.new_rate.size(); ++k) arrays.push_back({s.rate[k], s.new_rate[k]});
    out += copies(arrays, g);
  }
  // The caller looks whether something happens.
  return out + (events ? "  break;\n" : "") + "  }\n  return 0;\n}\n";
}

std::string NetworkCode::text() const {
  std::string out = groups_text() + matrix_text() + stamps_text(true);
  if (!step_.constant_tangent_) out += stamps_text(false);
  out += prepare_text() + solve_text() + iterate_text() + reader_text(step_.outputs_, "outputs") +
         reader_text(step_.updates_, "updates");
  if (!step_.source_rates_.empty()) out += project_text();
  return out + run_text();
}

}  // namespace tellegen
