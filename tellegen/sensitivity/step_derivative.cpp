#include "tellegen/sensitivity/step_derivative.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tellegen {
namespace {

constexpr int sections = 3, directions_section = 2;
constexpr int settled = 2;  // rewriting the factors pays once the matrix has settled for so many steps

}  // namespace

StepDerivative::StepDerivative(const EquationSystem& system, std::span<const int> wrt,
                               std::span<const std::int32_t> columns)
    : system_(system),
      linear_(linearised_system(system)),
      network_(build_network(linear_)),
      pool_(*system.model->pool),
      pattern_(network_.size()) {
  const auto rates = static_cast<std::int32_t>(system.rates.size());
  const auto asked = static_cast<std::int32_t>(columns.size());
  rows_[a] = SparseRows(network_.size());
  rows_[b] = rows_[u] = rows_[r] = SparseRows(system.size());  // by direction
  rows_[v] = rows_[w] = SparseRows(rates);
  rows_[p] = rows_[q] = SparseRows(asked);
  const auto slopes = group_slopes(system, wrt);
  groups_.reserve(system.groups.size());
  for (std::size_t g = 0; g < system.groups.size(); ++g) build_group(g, columns, slopes);

  // Columns that are unknowns of the network.
  std::vector<std::int32_t> direct;
  for (std::int32_t c = 0; c < asked; ++c)
    if (network_.unknown_of[columns[c]] >= 0)
      direct.push_back(rows_[p].add(c, network_.unknown_of[columns[c]]));

  lu_ = std::make_unique<SparseLu>(pattern_.build());
  k_values_.resize(lu_->pattern().nonzeros());
  for (Which m : {a, b, v, w, u, p, q, r}) rows_[m].build();
  for (GroupPart& part : groups_)
    for (Stamp& stamp : part.stamps) {
      for (auto& [member, place] : stamp.at)
        place = stamp.matrix == k ? pattern_.position(place) : rows_[stamp.matrix].place(place);
      std::erase_if(stamp.at, [](const auto& at) { return at.second < 0; });
      varies_[stamp.matrix] = varies_[stamp.matrix] || stamp.varies;
      if (stamp.varies)
        for (const auto& [member, place] : stamp.at) varying_places_[stamp.matrix].push_back(place);
    }
  base_[k].assign(k_values_.size(), 0.0);
  for (Which m : {a, b, v, w, u, p, q, r}) base_[m].assign(rows_[m].values().size(), 0.0);
  constant_p_ = base_[p];
  for (std::int32_t entry : direct) constant_p_[rows_[p].place(entry)] = 1.0;
  right_.resize(static_cast<std::size_t>(lanes) * network_.size());
  unknowns_.resize(right_.size());
  columns_work_.resize(right_.size());
  place_directions();
  find_loose();
  find_members();
}

void StepDerivative::find_members() {
  std::vector<std::set<std::int32_t>> members(groups_.size());
  for (const auto* terms : {&parameter_terms_, &held_terms_, &time_terms_})
    for (const Term& term : *terms) members[term.group].insert(term.member);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    GroupPart& part = groups_[g];
    const auto all = static_cast<std::size_t>(part.batch.members());
    const bool varies =
        std::any_of(part.stamps.begin(), part.stamps.end(), [](const Stamp& stamp) { return stamp.varies; });
    if (varies)
      for (std::int32_t m = 0; m < part.batch.members(); ++m) members[g].insert(m);
    part.members.assign(members[g].begin(), members[g].end());
    part.few = 8 * part.members.size() <= all;
  }
}

std::vector<std::int32_t> StepDerivative::used_of_point() const {
  std::vector<std::int32_t> used;
  for (const GroupPart& part : groups_)
    for (std::int32_t input : part.gathered)
      for (std::int32_t m : part.members) used.push_back(part.batch.index(input)[m]);
  return used;
}

// Where directions enter: each row of the network, rate and column that one reaches has an input.
void StepDerivative::place_directions() {
  std::set<std::int32_t> rows;
  for (const auto* list : {&by_parameter_, &by_held_}) {
    for (const DerivativeEntry& e : *list) rows.insert(e.row);
  }
  direction_rows_.assign(rows.begin(), rows.end());
  for (const DerivativeEntry& e : by_time_) rows.insert(e.row);
  inputs_ = static_cast<std::int32_t>(system_.rates.size());
  const std::pair<Which, std::int32_t> reached[] = {
      {b, network_.size()}, {u, rows_[v].rows()}, {r, rows_[p].rows()}};
  for (int k = 0; k < 3; ++k) {
    slot_[k].assign(reached[k].second, -1);
    const SparseRows& m = rows_[reached[k].first];
    for (std::int32_t row : rows)
      for (std::int32_t i = m.begin(row); i < m.end(row); ++i)
        if (std::int32_t& slot = slot_[k][m.column(i)]; slot < 0) slot = inputs_++;
  }
  for (int width : {few_lanes, lanes})
    lane_work(width).assign(static_cast<std::size_t>(width) * inputs_, 0.0);
}

void StepDerivative::find_loose() {
  std::set<std::int32_t> unknowns;
  const auto find = [&](Which by_unknown, Which by_history, std::vector<std::int32_t>& loose) {
    std::set<std::int32_t> rows;
    for (Which m : {by_unknown, by_history}) {
      const std::set<std::int32_t> places(varying_places_[m].begin(), varying_places_[m].end());
      for (std::int32_t row = 0; row < rows_[m].rows(); ++row)
        if (const auto first = places.lower_bound(rows_[m].begin(row));
            first != places.end() && *first < rows_[m].end(row))
          rows.insert(row);
    }
    loose.assign(rows.begin(), rows.end());
    const SparseRows& m = rows_[by_unknown];
    for (std::int32_t row : rows)
      for (std::int32_t i = m.begin(row); i < m.end(row); ++i) unknowns.insert(m.column(i));
  };
  find(v, w, loose_rates_);
  find(p, q, loose_columns_);
  loose_unknowns_.assign(unknowns.begin(), unknowns.end());
}

bool StepDerivative::compile(double executions) {
  const auto large = [](const auto& g) { return g.batch.has_large_tables(); };
  if (std::any_of(groups_.begin(), groups_.end(), large)) return false;
  std::string source;
  for (std::size_t g = 0; g < groups_.size(); ++g) source += groups_[g].batch.c_source(fmt::format("g{}", g));
  const auto code = compile_c(source, seconds_of_interpreting(source, executions));
  if (!code) return false;
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].batch.use(code, fmt::format("g{}", g));
  return true;
}

void StepDerivative::build_group(std::size_t index, std::span<const std::int32_t> columns,
                                 std::span<const std::vector<GroupSlope>> slopes) {
  const Group& group = system_.groups[index];
  const Group& differentiated = linear_.groups[index];
  const NetworkGroup& placed = network_.groups[index];
  const CondensedGroup& form = placed.form;
  const auto g = static_cast<std::int32_t>(index);
  std::vector<ProgramInput> inputs;
  std::vector<InputSource> sources;
  const auto input = [&](Expr symbol, int section, InputSource source) {
    inputs.push_back({symbol, section});
    sources.push_back(source);
    return static_cast<std::int32_t>(inputs.size()) - 1;
  };
  const std::int32_t alpha = input(form.alpha, 0, InputSource::uniform);
  const std::int32_t time = input(group.time, 1, InputSource::uniform);
  const auto first_parameter = static_cast<std::int32_t>(inputs.size());
  for (Expr s : group.parameters) input(s, 0, InputSource::member);

  // What is wanted of the group, and where it goes.
  std::vector<ProgramRoot> roots;
  ExprMap<Expr> at_point;
  for (const LocalSymbol& s : group.symbols) {
    at_point[s.symbol] = point_symbol(s.symbol);
    if (s.rate) at_point[s.rate] = point_symbol(s.rate);
  }
  struct Wanted {
    Which matrix;
    std::size_t root;
    std::vector<std::pair<std::int32_t, std::int32_t>> at;
  };
  std::vector<Wanted> wanted;
  const auto want = [&](Which matrix, Expr value, auto&& entry_of) {
    Wanted one{matrix, roots.size(), {}};
    for (std::int32_t m = 0; m < group.size(); ++m)
      if (const std::int32_t e = entry_of(m); e >= 0) one.at.push_back({m, e});
    if (one.at.empty()) return;
    roots.push_back({value, 0});
    wanted.push_back(std::move(one));
  };
  const auto rate = [&](int which, std::int32_t m) { return group.first_rate[m] + which; };
  const LinearGroup linear = linear_group(linear_, differentiated, form);
  for (const auto& c : linear.row_by_terminal)
    want(k, c.value,
         [&](std::int32_t m) { return pattern_.add(placed.rows[c.row][m], placed.terminals[c.column][m]); });
  for (const auto& c : linear.row_by_history)
    want(a, c.value, [&](std::int32_t m) { return rows_[a].add(placed.rows[c.row][m], rate(c.column, m)); });
  for (const auto& c : linear.row_by_direction)
    want(b, c.value,
         [&](std::int32_t m) { return rows_[b].add(group.first_row[m] + c.column, placed.rows[c.row][m]); });
  for (const auto& c : linear.value_by_terminal)
    want(v, c.value,
         [&](std::int32_t m) { return rows_[v].add(rate(c.row, m), placed.terminals[c.column][m]); });
  for (const auto& c : linear.value_by_history)
    want(w, c.value, [&](std::int32_t m) { return rows_[w].add(rate(c.row, m), rate(c.column, m)); });
  for (const auto& c : linear.value_by_direction)
    want(u, c.value,
         [&](std::int32_t m) { return rows_[u].add(group.first_row[m] + c.column, rate(c.row, m)); });

  // Columns asked for that are condensed inside members of this group.
  std::map<std::pair<int, std::int32_t>, std::int32_t> asked;  // (what, member) -> column asked for
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (network_.unknown_of[columns[c]] >= 0) continue;
    const ColumnOwner owner = owner_of(system_, columns[c]);
    if (owner.component < 0 || system_.group_of[owner.component] != g) continue;
    const int what = owner.node >= 0 ? static_cast<int>(group.symbols.size()) + owner.node : owner.symbol;
    asked[{what, system_.member_of[owner.component]}] = static_cast<std::int32_t>(c);
  }
  if (!asked.empty()) {
    const LinearGroup recovered = linear_recovery(linear_, differentiated, form);
    const auto column = [&](int what, std::int32_t m) {
      const auto found = asked.find({what, m});
      return found == asked.end() ? -1 : found->second;
    };
    const auto only_asked = [&](int what, std::int32_t m, auto&& add) {
      const std::int32_t c = column(what, m);
      return c < 0 ? -1 : add(c);
    };
    for (const auto& c : recovered.value_by_terminal)
      want(p, c.value, [&](std::int32_t m) {
        return only_asked(c.row, m, [&](auto at) { return rows_[p].add(at, placed.terminals[c.column][m]); });
      });
    for (const auto& c : recovered.value_by_history)
      want(q, c.value, [&](std::int32_t m) {
        return only_asked(c.row, m, [&](auto at) { return rows_[q].add(at, rate(c.column, m)); });
      });
    for (const auto& c : recovered.value_by_direction)
      want(r, c.value, [&](std::int32_t m) {
        return only_asked(c.row, m, [&](auto at) { return rows_[r].add(group.first_row[m] + c.column, at); });
      });
  }

  // dF/d(number) of the numbers that follow a parameter or are discrete variables, and dF/dt.
  std::set<int> slots(group.held.begin(), group.held.end());
  for (const auto& list : slopes)
    for (const GroupSlope& s : list)
      if (s.group == g) slots.insert(s.slot);
  std::map<std::pair<int, int>, std::size_t> slope_root;  // (equation, slot; -1: time) -> root
  for (int equation = 0; equation < static_cast<int>(group.residuals.size()); ++equation) {
    const auto add = [&](int slot, Expr by) {
      const Expr slope = derivative(group.residuals[equation], by);
      if (slope.is_number(0)) return;
      slope_root[{equation, slot}] = roots.size();
      roots.push_back({substitute(slope, at_point), directions_section});
    };
    for (int slot : slots) add(slot, group.parameters[slot]);
    add(-1, group.time);
  }

  // Points: differences of columns, and rates.
  std::vector<Expr> used_list;
  for (const ProgramRoot& root : roots) used_list.push_back(root.value);
  const auto used_symbols = symbols_of(used_list);
  const std::set<Expr> used(used_symbols.begin(), used_symbols.end());
  Assignments points(pool_);
  struct Gathered {
    std::int32_t input;
    const std::vector<std::int32_t>* columns;  // null: a rate
    int rate;
  };
  std::vector<Gathered> gathered;
  const auto is_used = [&](Expr symbol) { return used.contains(symbol); };
  for (std::size_t s = 0; s < group.symbols.size(); ++s) {
    const LocalSymbol& local = group.symbols[s];
    if (const Expr point = point_symbol(local.symbol); is_used(point)) {
      const Expr plus = pool_.symbol(fmt::format("~plus{}", s));
      gathered.push_back({input(plus, 1, InputSource::gather), &group.plus[s], -1});
      const auto& minus_columns = group.minus[s];
      if (std::any_of(minus_columns.begin(), minus_columns.end(), [](std::int32_t c) { return c >= 0; })) {
        const Expr minus = pool_.symbol(fmt::format("~minus{}", s));
        gathered.push_back({input(minus, 1, InputSource::gather), &group.minus[s], -1});
        points.assign(point, plus - minus);
      } else {
        points.assign(point, plus);
      }
    }
    if (local.rate && is_used(point_symbol(local.rate))) {
      const auto which = std::find(group.rated.begin(), group.rated.end(), static_cast<int>(s));
      gathered.push_back({input(point_symbol(local.rate), 1, InputSource::gather), nullptr,
                          static_cast<int>(which - group.rated.begin())});
    }
  }

  Program program = make_program(pool_, inputs, points.list(), roots, sections);
  const std::vector<std::int32_t> root_register = program.roots, section_of = program.section_of;
  GroupPart part{Batch(std::move(program), std::move(sources), root_register, group.size()),
                 alpha,
                 time,
                 first_parameter,
                 {},
                 {},
                 {},
                 false};
  part.batch.allocate();
  for (std::size_t s = 0; s < group.parameters.size(); ++s)
    std::copy(group.values[s].begin(), group.values[s].end(),
              part.batch.array(first_parameter + static_cast<std::int32_t>(s)));
  const auto zero = system_.size() + static_cast<std::int32_t>(system_.rates.size());
  for (const Gathered& x : gathered) part.gathered.push_back(x.input);
  for (const Gathered& x : gathered)
    for (std::int32_t m = 0; m < group.size(); ++m) {
      const std::int32_t from = x.columns ? (*x.columns)[m] : system_.size() + rate(x.rate, m);
      part.batch.index(x.input)[m] = from < 0 ? zero : from;
    }
  for (Wanted& one : wanted)
    part.stamps.push_back(
        {one.matrix, root_register[one.root], section_of[root_register[one.root]] > 0, std::move(one.at)});

  const auto add_terms = [&](int slot, std::int32_t m, int of, double factor, std::vector<Term>& terms,
                             std::vector<DerivativeEntry>& entries) {
    for (int equation = 0; equation < static_cast<int>(group.residuals.size()); ++equation)
      if (const auto found = slope_root.find({equation, slot}); found != slope_root.end()) {
        terms.push_back({g, root_register[found->second], m, factor});
        entries.push_back({group.first_row[m] + equation, of, 0.0});
      }
  };
  for (std::size_t which = 0; which < slopes.size(); ++which)
    for (const GroupSlope& s : slopes[which])
      if (s.group == g)
        add_terms(s.slot, s.member, static_cast<int>(which), s.slope, parameter_terms_, by_parameter_);
  for (std::size_t d = 0; d < system_.discrete.size(); ++d)
    if (system_.discrete[d].group == g)
      add_terms(held_slot(system_, system_.discrete[d]), system_.discrete[d].member, static_cast<int>(d), 1.0,
                held_terms_, by_held_);
  for (std::int32_t m = 0; m < group.size(); ++m) add_terms(-1, m, 0, 1.0, time_terms_, by_time_);
  groups_.push_back(std::move(part));
}

double* StepDerivative::values_of(Which matrix) {
  return matrix == k ? k_values_.data() : rows_[matrix].values().data();
}

// Constant entries into the bases, or bases and varying entries into the matrices.
void StepDerivative::fill(bool varying) {
  for (int m = 0; m < count; ++m) {
    if (!varying)
      std::fill(base_[m].begin(), base_[m].end(), 0.0);
    else if (dirty_)
      std::copy(base_[m].begin(), base_[m].end(), values_of(static_cast<Which>(m)));
    else
      for (std::int32_t place : varying_places_[m]) values_of(static_cast<Which>(m))[place] = base_[m][place];
  }
  if (!varying) base_[p] = constant_p_;
  for (GroupPart& part : groups_)
    for (const Stamp& stamp : part.stamps) {
      if (stamp.varies != varying) continue;
      double* to = varying ? values_of(stamp.matrix) : base_[stamp.matrix].data();
      const double* from = part.batch.array(stamp.reg);
      for (const auto& [member, place] : stamp.at) to[place] += from[member];
    }
}

void StepDerivative::evaluate(std::span<const Term> terms, std::vector<DerivativeEntry>& entries) {
  for (std::size_t i = 0; i < terms.size(); ++i)
    entries[i].value = terms[i].factor * groups_[terms[i].group].batch.array(terms[i].reg)[terms[i].member];
}

void StepDerivative::set_constants(double alpha, std::span<const double> held) {
  alpha_ = alpha;
  held_.assign(held.begin(), held.end());
  for (std::size_t d = 0; d < held.size(); ++d) {
    const Discrete& discrete = system_.discrete[d];
    GroupPart& part = groups_[discrete.group];
    part.batch.array(part.first_parameter + held_slot(system_, discrete))[discrete.member] = held[d];
  }
  for (GroupPart& part : groups_) {
    part.batch.uniform(part.alpha) = alpha;
    part.batch.run(0, nullptr);
  }
  fill(false);
  serves_ = alpha_ == program_alpha_ && held_ == program_held_;
}

void StepDerivative::prepare(double alpha, std::span<const double> held, Way way) {
  if (varies_[k] || varies_[a]) return;
  set_constants(alpha, held);
  dirty_ = true;
  fill(true);
  if (!lu_->refactor(k_values_)) {
    alpha_ = 0.0;  // to be found again by a step
    return;
  }
  steady_ = settled;
  if (!program_serves()) return;
  if (way == Way::forward)
    build_forward();
  else if (!varies_[b] && !varies_[u] && !varies_[r])
    build_backward();
}

bool StepDerivative::at(double alpha, std::span<const double> point, double t, std::span<const double> held) {
  dirty_ = alpha != alpha_ || !std::equal(held.begin(), held.end(), held_.begin(), held_.end());
  if (dirty_) set_constants(alpha, held);
  for (GroupPart& part : groups_) {
    part.batch.uniform(part.time) = t;
    for (int section = 1; section < sections; ++section)
      if (part.few)
        part.batch.run_some(section, part.members, point.data());
      else
        part.batch.run(section, point.data());
  }
  const bool any = std::any_of(varies_, varies_ + count, [](bool varies) { return varies; });
  if (any || dirty_) fill(true);
  evaluate(parameter_terms_, by_parameter_);
  evaluate(held_terms_, by_held_);
  evaluate(time_terms_, by_time_);
  steady_ = dirty_ ? 0 : steady_ + 1;
  if (!varies_[k] && !dirty_) return true;
  ++factorisations_;
  return lu_->refactor(k_values_);
}

// Whether programs are to be used: there are some for these numbers, or it is time to make them.
bool StepDerivative::program_serves() {
  if (serves_ || varies_[k] || varies_[a] || steady_ < settled) return serves_;
  forward_.reset();
  backward_.reset();
  program_alpha_ = alpha_;
  program_held_ = held_;
  return serves_ = true;
}

void StepDerivative::build_forward() {
  const auto rates = static_cast<std::int32_t>(system_.rates.size());
  forward_ = std::make_unique<RowProgram>(inputs_);
  const auto add = [&](const SparseRows& m, std::int32_t row, double factor, auto&& variable) {
    for (std::int32_t i = m.begin(row); i < m.end(row); ++i)
      forward_->add(variable(m.column(i)), factor * m.value(i));
  };
  const auto add_slot = [&](int which, std::int32_t row) {
    if (slot_[which][row] >= 0) forward_->add(slot_[which][row], 1.0);
  };
  const auto history = [](std::int32_t rate) { return rate; };
  const auto unknown = add_solution(*forward_, lu_->factors(), [&](std::int32_t row) {
    add_slot(0, row);
    add(rows_[a], row, -1.0, history);
  });
  const auto of_unknown = [&](std::int32_t column) { return unknown[column]; };
  const auto results = [&](int target, std::int32_t count, const std::vector<std::int32_t>& loose,
                           Which by_unknown, Which by_history) {
    for (std::int32_t row = 0; row < count; ++row) {
      if (std::binary_search(loose.begin(), loose.end(), row)) continue;
      forward_->begin_result(target, row);
      add(rows_[by_unknown], row, 1.0, of_unknown);
      add(rows_[by_history], row, 1.0, history);
      add_slot(1 + target, row);
    }
  };
  results(0, rates, loose_rates_, v, w);
  results(1, rows_[p].rows(), loose_columns_, p, q);
  for (std::int32_t x : loose_unknowns_) {
    forward_->begin_result(2, x);
    forward_->add(unknown[x], 1.0);
  }
  forward_->finish();
  for (int width : {few_lanes, lanes})
    lane_work(width).resize(std::max(lane_work(width).size(), forward_->work_size(width)));
}

std::span<double> StepDerivative::histories(int width) {
  if (program_serves() && !forward_) build_forward();
  return std::span(lane_work(width)).first(width * system_.rates.size());
}

bool StepDerivative::constant() const {
  return serves_ && forward_ && std::none_of(varies_, varies_ + count, [](bool varies) { return varies; });
}

void StepDerivative::forward(int width, std::span<const LaneEntry> directions, double* values,
                             double* columns) {
  if (width == lanes)
    forward_in<lanes>(directions, values, columns);
  else
    forward_in<few_lanes>(directions, values, columns);
}

template <int width>
void StepDerivative::forward_in(std::span<const LaneEntry> directions, double* values, double* columns) {
  double* work = lane_work(width).data();
  const auto scatter = [&](auto&& at) {
    const std::tuple<Which, int, double> reached[] = {{b, 0, -1.0}, {u, 1, 1.0}, {r, 2, 1.0}};
    for (const auto& [matrix, which, factor] : reached) {
      const SparseRows& m = rows_[matrix];
      for (const LaneEntry& e : directions)
        for (std::int32_t i = m.begin(e.row); i < m.end(e.row); ++i)
          at(work[width * slot_[which][m.column(i)] + e.lane], factor * e.value * m.value(i));
    }
  };
  scatter([](double& slot, double value) { slot += value; });
  const auto add_slots = [&](int which, std::int32_t row, double* to) {
    if (const std::int32_t slot = slot_[which][row]; slot >= 0)
      for (int lane = 0; lane < width; ++lane) to[lane] += work[width * slot + lane];
  };
  const auto result = [&](int which, std::int32_t row, Which by_unknown, Which by_history, double* to) {
    std::fill_n(to, width, 0.0);
    rows_[by_unknown].template add_row<width>(row, unknowns_.data(), to);
    rows_[by_history].template add_row<width>(row, work, to);
    add_slots(which, row, to);
  };
  if (serves_) {
    double* const targets[] = {values, columns, unknowns_.data()};
    forward_->template run<width>(work, targets);
    for (std::int32_t row : loose_rates_) result(1, row, v, w, values + width * row);
    for (std::int32_t row : loose_columns_) result(2, row, p, q, columns + width * row);
  } else {
    const auto n = network_.size();
    std::fill_n(right_.begin(), static_cast<std::size_t>(width) * n, 0.0);
    rows_[a].template add_product<width>(-1.0, work, right_.data());
    for (std::int32_t i = 0; i < n; ++i) {
      double* right = right_.data() + static_cast<std::size_t>(width) * i;
      add_slots(0, i, right);
      for (int lane = 0; lane < width; ++lane)
        columns_work_[static_cast<std::size_t>(lane) * n + i] = right[lane];
    }
    lu_->solve_columns(columns_work_.data(), width);
    for (std::int32_t i = 0; i < n; ++i)
      for (int lane = 0; lane < width; ++lane)
        unknowns_[static_cast<std::size_t>(width) * i + lane] =
            columns_work_[static_cast<std::size_t>(lane) * n + i];
    for (std::int32_t row = 0; row < rows_[v].rows(); ++row) result(1, row, v, w, values + width * row);
    for (std::int32_t row = 0; row < rows_[p].rows(); ++row) result(2, row, p, q, columns + width * row);
  }
  scatter([](double& slot, double) { slot = 0.0; });
}

// Inputs: values, columns, what loose ones contribute to their unknowns.
void StepDerivative::build_backward() {
  const std::int32_t rates = rows_[v].rows(), asked = rows_[p].rows();
  backward_ = std::make_unique<RowProgram>(rates + asked + static_cast<std::int32_t>(loose_unknowns_.size()));
  // What a column of several matrices receives: variable and factor.
  using Received = std::vector<std::vector<std::pair<std::int32_t, double>>>;
  const auto transpose = [&](Received& to, Which matrix, const std::vector<std::int32_t>& loose,
                             auto&& variable, double factor) {
    const SparseRows& m = rows_[matrix];
    for (std::int32_t row = 0; row < m.rows(); ++row)
      if (!std::binary_search(loose.begin(), loose.end(), row))
        for (std::int32_t i = m.begin(row); i < m.end(row); ++i)
          to[m.column(i)].push_back({variable(row), factor * m.value(i)});
  };
  const auto value = [](std::int32_t rate) { return rate; };
  const auto column = [&](std::int32_t c) { return rates + c; };
  const auto add = [&](const auto& list) {
    for (const auto& [variable, factor] : list) backward_->add(variable, factor);
  };
  Received right(network_.size()), histories(rates);
  transpose(right, v, loose_rates_, value, 1.0);
  transpose(right, p, loose_columns_, column, 1.0);
  for (std::size_t k = 0; k < loose_unknowns_.size(); ++k)
    right[loose_unknowns_[k]].push_back({rates + asked + static_cast<std::int32_t>(k), 1.0});
  const auto of_row =
      add_transposed_solution(*backward_, lu_->factors(), [&](std::int32_t unknown) { add(right[unknown]); });
  const auto solution = [&](std::int32_t row) { return of_row[row]; };
  transpose(histories, a, {}, solution, -1.0);
  transpose(histories, w, loose_rates_, value, 1.0);
  transpose(histories, q, loose_columns_, column, 1.0);
  for (std::int32_t k = 0; k < rates; ++k) {
    backward_->begin_result(0, k);
    add(histories[k]);
  }
  for (std::int32_t row : direction_rows_) {
    backward_->begin_result(1, row);
    const auto gather = [&](Which matrix, double factor, auto&& variable) {
      const SparseRows& m = rows_[matrix];
      for (std::int32_t i = m.begin(row); i < m.end(row); ++i)
        backward_->add(variable(m.column(i)), factor * m.value(i));
    };
    gather(u, 1.0, value);
    gather(b, -1.0, solution);
    gather(r, 1.0, column);
  }
  backward_->finish();
  back_work_.assign(backward_->work_size(1), 0.0);
}

void StepDerivative::backward(std::span<const double> values, std::span<const double> columns,
                              std::span<double> history, std::span<double> directions) {
  const bool by_program = !varies_[b] && !varies_[u] && !varies_[r] && program_serves();
  if (by_program && !backward_) build_backward();
  if (by_program) {
    double* slots =
        std::copy(columns.begin(), columns.end(), std::copy(values.begin(), values.end(), back_work_.data()));
    const auto each_loose = [&](auto&& visit) {
      for (std::int32_t row : loose_rates_) visit(v, w, row, values[row]);
      for (std::int32_t row : loose_columns_) visit(p, q, row, columns[row]);
    };
    std::fill_n(slots, loose_unknowns_.size(), 0.0);
    each_loose([&](Which by_unknown, Which, std::int32_t row, double value) {
      const SparseRows& m = rows_[by_unknown];
      for (std::int32_t i = m.begin(row); i < m.end(row); ++i)
        slots[std::lower_bound(loose_unknowns_.begin(), loose_unknowns_.end(), m.column(i)) -
              loose_unknowns_.begin()] += value * m.value(i);
    });
    double* const targets[] = {history.data(), directions.data()};
    backward_->run<1>(back_work_.data(), targets);
    each_loose([&](Which, Which by_history, std::int32_t row, double value) {
      const SparseRows& m = rows_[by_history];
      for (std::int32_t i = m.begin(row); i < m.end(row); ++i) history[m.column(i)] += value * m.value(i);
    });
    return;
  }
  const auto n = static_cast<std::size_t>(network_.size());
  std::fill_n(right_.begin(), n, 0.0);
  rows_[v].add_transposed(1.0, values.data(), right_.data());
  rows_[p].add_transposed(1.0, columns.data(), right_.data());
  lu_->solve_transposed(right_.data());
  std::fill(history.begin(), history.end(), 0.0);
  rows_[w].add_transposed(1.0, values.data(), history.data());
  rows_[q].add_transposed(1.0, columns.data(), history.data());
  rows_[a].add_transposed(-1.0, right_.data(), history.data());
  const auto gather = [&](Which matrix, std::int32_t row, const double* from) {
    double sum = 0.0;
    const SparseRows& m = rows_[matrix];
    for (std::int32_t i = m.begin(row); i < m.end(row); ++i) sum += m.value(i) * from[m.column(i)];
    return sum;
  };
  for (std::int32_t row : direction_rows_)
    directions[row] =
        gather(u, row, values.data()) - gather(b, row, right_.data()) + gather(r, row, columns.data());
}

}  // namespace tellegen
