#include "tellegen/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "runtime/tellegen_math.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {

Expr Assignments::define(Expr value) {
  if (value.is_number() || value.is_symbol()) return value;
  const Expr symbol = pool_.symbol(fmt::format("%{}", list_.size()));
  list_.push_back({symbol, value});
  return symbol;
}

namespace {

bool simple(Expr e) { return e.is_number() || e.is_symbol(); }

// Moves every part of a formula to the earliest section that can compute it.
class SectionSplitter {
 public:
  SectionSplitter(Pool& pool, std::span<const ProgramInput> inputs, int sections)
      : pool_(pool), split_(sections) {
    for (const ProgramInput& i : inputs) section_[i.symbol] = i.section;
  }

  void assign(Expr symbol, Expr value) {
    const Expr formula = split(value);
    const int section = std::max(0, section_of(formula));
    section_[symbol] = section;
    split_[section].push_back({symbol, formula});
  }

  Expr root(const ProgramRoot& root) { return split(root.value); }

  // Constants (-1) join whatever they stand beside.
  int section_of(Expr e) {
    if (e.is_number()) return -1;
    if (e.is_symbol()) {
      const auto found = section_.find(e);
      assert(found != section_.end() && "every symbol is an input or assigned before");
      return found->second;
    }
    if (const auto known = composite_.find(e); known != composite_.end()) return known->second;
    int section = -1;
    for (Expr a : e.args()) section = std::max(section, section_of(a));
    composite_[e] = section;
    return section;
  }

  const std::vector<std::vector<Assignment>>& sections() const { return split_; }

 private:
  Expr hoist(Expr e) {
    if (simple(e)) return e;
    if (const auto known = hoisted_.find(e); known != hoisted_.end()) return known->second;
    const int section = std::max(0, section_of(e));
    const Expr symbol = pool_.symbol(fmt::format("^{}", hoisted_.size()));
    hoisted_[e] = symbol;
    section_[symbol] = section;
    split_[section].push_back({symbol, e});
    return symbol;
  }

  Expr split(Expr e) {
    if (simple(e)) return e;
    if (const auto known = done_.find(e); known != done_.end()) return known->second;
    std::vector<Expr> args;
    for (Expr a : e.args()) args.push_back(split(a));
    int top = -1;
    for (Expr a : args) top = std::max(top, section_of(a));
    Expr result;
    if (e.op() == Op::add || e.op() == Op::multiply) {
      result = combine_by_section(e.op(), args);
    } else {
      for (Expr& a : args)
        if (section_of(a) < top) a = hoist(a);
      if (e.op() == Op::power)
        result = pool_.power(args[0], args[1]);
      else if (e.op() == Op::call)
        result = pool_.call(e.function(), args);
      else
        result = pool_.lookup(e.table(), e.order(), args);
    }
    done_[e] = result;
    return result;
  }

  // ((numbers and section 0) section 1) section 2: each bracket is computed once, in its own section.
  Expr combine_by_section(Op op, std::vector<Expr>& args) {
    std::stable_sort(args.begin(), args.end(), [&](Expr a, Expr b) { return section_of(a) < section_of(b); });
    std::vector<Expr> group;
    const auto join = [&] { return op == Op::add ? pool_.add(group) : pool_.multiply(group); };
    int group_section = -1;
    for (Expr arg : args) {
      const int section = section_of(arg);
      if (group_section >= 0 && section > group_section) group.assign(1, hoist(join()));
      group.push_back(arg);
      group_section = section;
    }
    return join();
  }

  Pool& pool_;
  ExprMap<int> section_;
  ExprMap<int> composite_;
  ExprMap<Expr> hoisted_, done_;
  std::vector<std::vector<Assignment>> split_;
};

class Lowering {
 public:
  Lowering(std::span<const ProgramInput> inputs, Program& program) : program_(program) {
    program.inputs.assign(inputs.begin(), inputs.end());
    for (const ProgramInput& i : inputs) {
      register_[i.symbol] = program.registers++;
      program.section_of.push_back(i.section);
    }
  }

  // A number stands in every section that uses it: sections need not run in the order of their numbers.
  void begin(int section) {
    section_ = section;
    for (Expr e : numbers_) register_.erase(e);
    numbers_.clear();
  }
  void end() { program_.section_end.push_back(static_cast<std::int32_t>(program_.code.size())); }
  void assign(Expr symbol, Expr value) { register_[symbol] = lower(value); }

  std::int32_t root(Expr e) {
    const std::int32_t r = lower(e);
    return r < static_cast<std::int32_t>(program_.inputs.size()) ? emit({.code = Code::copy, .a = r}) : r;
  }

  std::int32_t lower(Expr e) {
    if (const auto known = register_.find(e); known != register_.end()) return known->second;
    std::int32_t r = -1;
    switch (e.op()) {
      case Op::number:
        r = number(e.number());
        numbers_.push_back(e);
        break;
      case Op::symbol:
        assert(false && "symbol without a register");
        break;
      case Op::add:
        r = sum(e);
        break;
      case Op::multiply:
        r = product(e);
        break;
      case Op::power:
        r = power(e);
        break;
      case Op::call:
        r = call(e);
        break;
      case Op::lookup: {
        const auto& tables = program_.tables;
        const auto found = std::find(tables.begin(), tables.end(), e.table());
        const auto index = static_cast<std::int32_t>(found - tables.begin());
        if (found == tables.end()) program_.tables.push_back(e.table());
        const auto args = e.args();
        r = emit({.code = Code::lookup,
                  .a = lower(args[0]),
                  .b = args.size() > 1 ? lower(args[1]) : 0,
                  .c = args.size() > 2 ? lower(args[2]) : 0,
                  .extra = index,
                  .order = e.order()});
        break;
      }
    }
    register_[e] = r;
    return r;
  }

 private:
  std::int32_t emit(Instruction i) {
    i.target = program_.registers++;
    program_.section_of.push_back(section_);
    program_.code.push_back(i);
    return i.target;
  }
  std::int32_t number(double value) {
    program_.numbers.push_back(value);
    return emit({.code = Code::number, .extra = static_cast<std::int32_t>(program_.numbers.size()) - 1});
  }
  std::int32_t binary(Code code, std::int32_t a, std::int32_t b) {
    return emit({.code = code, .a = a, .b = b});
  }

  static bool negative(Expr e) {
    if (e.is_number()) return e.number() < 0;
    return e.op() == Op::multiply && e.args()[0].is_number() && e.args()[0].number() < 0;
  }

  std::int32_t sum(Expr e) {
    // Positive terms first, so that nothing needs a sign change.
    std::vector<Expr> terms(e.args().begin(), e.args().end());
    std::stable_partition(terms.begin(), terms.end(), [](Expr t) { return !negative(t); });
    std::int32_t r = -1;
    for (Expr term : terms) {
      if (r < 0)
        r = lower(term);
      else if (negative(term))
        r = binary(Code::subtract, r, lower(negated(term)));
      else
        r = binary(Code::add, r, lower(term));
    }
    return r;
  }
  static Expr negated(Expr e) { return -e; }

  std::int32_t product(Expr e) {
    std::int32_t above = -1, below = -1;
    bool negate = false;
    const auto times = [&](std::int32_t& into, std::int32_t r) {
      into = into < 0 ? r : binary(Code::multiply, into, r);
    };
    for (Expr factor : e.args()) {
      if (factor.is_number(-1))
        negate = true;
      else if (factor.op() == Op::power && factor.args()[1].is_number() && factor.args()[1].number() < 0)
        times(below, lower(pow(factor.args()[0], -factor.args()[1].number())));
      else
        times(above, lower(factor));
    }
    std::int32_t r = above;
    if (below >= 0) r = binary(Code::divide, above < 0 ? number(1.0) : above, below);
    return negate ? emit({.code = Code::negate, .a = r}) : r;
  }

  std::int32_t power(Expr e) {
    const Expr base = e.args()[0], exponent = e.args()[1];
    if (exponent.is_number()) {
      const double n = exponent.number();
      if (n < 0) return binary(Code::divide, number(1.0), lower(pow(base, -n)));
      if (n == 0.5) return emit({.code = Code::square_root, .a = lower(base)});
      if (n == std::floor(n) && n >= 2 && n <= 8) {
        const int half = static_cast<int>(n) / 2;
        const std::int32_t h = lower(pow(base, half));
        const std::int32_t square = binary(Code::multiply, h, h);
        return static_cast<int>(n) % 2 ? binary(Code::multiply, square, lower(base)) : square;
      }
    }
    const std::int32_t a = lower(base);
    return binary(Code::power, a, lower(exponent));
  }

  std::int32_t call(Expr e) {
    const auto& known = program_.functions;
    const auto found = std::find(known.begin(), known.end(), &e.function());
    Instruction i{.code = Code::call, .extra = static_cast<std::int32_t>(found - known.begin())};
    if (found == known.end()) program_.functions.push_back(&e.function());
    const auto args = e.args();
    assert(args.size() <= 3);
    if (args.size() > 0) i.a = lower(args[0]);
    if (args.size() > 1) i.b = lower(args[1]);
    if (args.size() > 2) i.c = lower(args[2]);
    return emit(i);
  }

  Program& program_;
  ExprMap<std::int32_t> register_;
  std::vector<Expr> numbers_;  // that this section has
  int section_ = 0;
};

// Keeps, from the end backwards, what the roots need.
void mark_needed(Expr e, ExprMap<char>& needed) {
  for (Expr s : symbols_of(std::span(&e, 1))) needed[s] = 1;
}

}  // namespace

Program make_program(Pool& pool, std::span<const ProgramInput> inputs,
                     std::span<const Assignment> assignments, std::span<const ProgramRoot> roots,
                     int sections, int late) {
  // Drop assignments that nothing needs before splitting.
  ExprMap<char> needed;
  for (const ProgramRoot& r : roots) mark_needed(r.value, needed);
  std::vector<Assignment> kept;
  for (auto a = assignments.rbegin(); a != assignments.rend(); ++a)
    if (needed.contains(a->symbol)) {
      kept.push_back(*a);
      mark_needed(a->value, needed);
    }
  std::reverse(kept.begin(), kept.end());

  SectionSplitter splitter(pool, inputs, sections);
  for (const Assignment& a : kept) splitter.assign(a.symbol, a.value);
  std::vector<Expr> values;
  for (const ProgramRoot& r : roots) values.push_back(splitter.root(r));

  // A root is lowered in its own section, or in the one it is wanted in where that is later; a value that
  // only late roots need moves to the earliest of them.
  std::vector<int> wanted(roots.size());
  for (std::size_t k = 0; k < roots.size(); ++k)
    wanted[k] = std::max({0, roots[k].section, splitter.section_of(values[k])});
  ExprMap<int> first_use;
  const auto use = [&](Expr e, int section) {
    for (Expr s : symbols_of(std::span(&e, 1))) {
      const auto [at, is_new] = first_use.try_emplace(s, section);
      if (!is_new) at->second = std::min(at->second, section);
    }
  };
  for (std::size_t k = 0; k < roots.size(); ++k) use(values[k], wanted[k]);
  struct Placed {
    Assignment assignment;
    int section;
  };
  std::vector<Placed> placed;
  for (int s = sections - 1; s >= 0; --s) {
    const auto& list = splitter.sections()[s];
    for (auto a = list.rbegin(); a != list.rend(); ++a) {
      const auto used = first_use.find(a->symbol);
      if (used == first_use.end()) continue;
      const int section = s >= 1 && used->second >= late ? used->second : s;
      placed.push_back({*a, section});
      use(a->value, section);
    }
  }
  std::reverse(placed.begin(), placed.end());

  Program program;
  Lowering lowering(inputs, program);
  program.roots.assign(roots.size(), -1);
  for (int s = 0; s < sections; ++s) {
    lowering.begin(s);
    for (const Placed& p : placed)
      if (p.section == s) lowering.assign(p.assignment.symbol, p.assignment.value);
    for (std::size_t k = 0; k < roots.size(); ++k)
      if (wanted[k] == s) program.roots[k] = lowering.root(values[k]);
    lowering.end();
  }
  return program;
}

void interpret(const Program& program, int section, double* r) {
  for (const Instruction& i : program.section(section)) {
    switch (i.code) {
      case Code::number:
        r[i.target] = program.numbers[i.extra];
        break;
      case Code::copy:
        r[i.target] = r[i.a];
        break;
      case Code::add:
        r[i.target] = r[i.a] + r[i.b];
        break;
      case Code::subtract:
        r[i.target] = r[i.a] - r[i.b];
        break;
      case Code::multiply:
        r[i.target] = r[i.a] * r[i.b];
        break;
      case Code::divide:
        r[i.target] = r[i.a] / r[i.b];
        break;
      case Code::negate:
        r[i.target] = -r[i.a];
        break;
      case Code::square_root:
        r[i.target] = std::sqrt(r[i.a]);
        break;
      case Code::power:
        r[i.target] = tellegen_pow(r[i.a], r[i.b]);
        break;
      case Code::call: {
        const double args[3] = {r[i.a], r[i.b], r[i.c]};
        const Function& f = *program.functions[i.extra];
        r[i.target] = f.value(args, f.arity < 0 ? 2 : f.arity);
        break;
      }
      case Code::lookup: {
        const double args[3] = {r[i.a], r[i.b], r[i.c]};
        r[i.target] = program.tables[i.extra]->value_at(args, i.order);
        break;
      }
    }
  }
}

void write_section(RowList& list, const Program& program, int section, std::span<RowValue> r) {
  for (const Instruction& i : program.section(section)) {
    const auto arguments = [&](int count) {
      std::vector<RowValue> all{r[i.a], r[i.b], r[i.c]};
      all.resize(static_cast<std::size_t>(count));
      return all;
    };
    switch (i.code) {
      case Code::number:
        r[i.target] = program.numbers[i.extra];
        break;
      case Code::copy:
        r[i.target] = r[i.a];
        break;
      case Code::add:
        r[i.target] = list.add(r[i.a], r[i.b]);
        break;
      case Code::subtract:
        r[i.target] = list.subtract(r[i.a], r[i.b]);
        break;
      case Code::multiply:
        r[i.target] = list.multiply(r[i.a], r[i.b]);
        break;
      case Code::divide:
        r[i.target] = list.divide(r[i.a], r[i.b]);
        break;
      case Code::negate:
        r[i.target] = list.negate(r[i.a]);
        break;
      case Code::square_root:
        r[i.target] = list.square_root(r[i.a]);
        break;
      case Code::power:
        r[i.target] = list.raise(r[i.a], r[i.b]);
        break;
      case Code::call: {
        const Function& f = *program.functions[i.extra];
        r[i.target] = list.call(f, arguments(f.arity < 0 ? 2 : f.arity));
        break;
      }
      case Code::lookup: {
        const auto& table = program.tables[i.extra];
        r[i.target] = list.look_up(table, i.order, arguments(table->dimensions));
        break;
      }
    }
  }
}

}  // namespace tellegen
