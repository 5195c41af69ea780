#include "tellegen/deploy/micro_program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "tellegen/deploy/fixed_numbers.h"
#include "tellegen/deploy/hardware_schedule.h"

namespace tellegen {
namespace {

MicroKind kind_of(OpKind kind) {
  switch (kind) {
    case OpKind::multiply:
      return MicroKind::multiply;
    case OpKind::divide:
      return MicroKind::divide;
    case OpKind::root:
      return MicroKind::root;
    case OpKind::table:
      return MicroKind::table;
    case OpKind::offset:
      return MicroKind::offset;
    case OpKind::larger:
      return MicroKind::larger;
    case OpKind::smaller:
      return MicroKind::smaller;
    case OpKind::below:
      return MicroKind::below;
    case OpKind::at_most:
      return MicroKind::at_most;
    case OpKind::both:
      return MicroKind::both;
    case OpKind::either:
      return MicroKind::either;
    case OpKind::choice:
      return MicroKind::choose;
    default:
      return MicroKind::add;
  }
}

class Assembler {
 public:
  Assembler(const FixedStep& fixed, const std::vector<std::int64_t>& start) : fixed_(fixed), start_(start) {}

  MicroProgram assemble() {
    place_words();
    make_nodes();
    order_after_readers();
    std::vector<int> best = schedule(0);
    for (std::uint32_t seed = 1; seed < (nodes_.size() > 2000 ? 4u : 50u); ++seed)
      if (std::vector<int> other = schedule(seed); length(other) < length(best)) best = std::move(other);
    place_results(best);
    write_rows(best);
    return std::move(program_);
  }

 private:
  // What is done in one row, or in two that follow each other (`choose`, with its test).
  struct Node {
    MicroKind kind;
    int op = -1;                    // whose value it makes; -1: a copy
    int copied = -1;                // op
    int to = -1;                    // word; -1: one that is free
    int begun = -1;                 // of `take`: the node that began
    std::vector<int> sources = {};  // nodes whose values it reads
    std::vector<int> after = {};    // nodes that begin before it
    int rows() const { return kind == MicroKind::choose ? 2 : 1; }
    // Rows from its first one to the first one of a node that reads its value.
    int latency(int bits) const {
      if (kind == MicroKind::divide || kind == MicroKind::root) return bits;
      return micro_latency + rows() - 1;
    }
  };

  void place_words() {
    word_of_.assign(fixed_.ops.size(), -1);
    program_.words.assign(1, 0);
    constants_[0] = 0;
    program_.first_given = 1;
    for (const auto& w : fixed_.given) word_of_[w.op] = new_word(0);
    program_.first_output = static_cast<int>(program_.words.size());
    for (std::size_t k = 0; k < fixed_.outputs.size(); ++k) new_word(0);
    program_.first_state = static_cast<int>(program_.words.size());
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      word_of_[fixed_.states[k].op] = new_word(start_[k]);
  }
  int new_word(std::int64_t contents) {
    program_.words.push_back(contents);
    return static_cast<int>(program_.words.size()) - 1;
  }
  int constant_word(std::int64_t raw) {
    const auto [found, added] = constants_.try_emplace(raw, 0);
    if (added) found->second = new_word(raw);
    return found->second;
  }
  // As one word: sums drop what is above it; of what is compared or chosen the nearest number serves as well.
  std::int64_t as_word(std::int64_t raw, bool sum) const {
    const std::int64_t limit = std::int64_t{1} << (fixed_.bits - 1);
    if (!sum) return std::clamp(raw, -limit, limit - 1);
    const int unused = 64 - fixed_.bits;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(raw) << unused) >> unused;
  }

  void make_nodes() {
    const std::vector<char> needed = needed_operations(fixed_);
    node_of_.assign(fixed_.ops.size(), -1);
    for (std::size_t k = 0; k < fixed_.ops.size(); ++k) {
      const FixedOp& op = fixed_.ops[k];
      if (!needed[k] || unit_of(op.kind) == UnitKind::none) continue;
      Node node{.kind = kind_of(op.kind)};
      node.op = static_cast<int>(k);
      for_each_source(op, [&](int s) { read(node, s); });
      if (node.kind == MicroKind::divide || node.kind == MicroKind::root) {
        const int begun = put(node);
        node = {.kind = MicroKind::take};
        node.op = static_cast<int>(k);
        node.begun = begun;
        node.sources = {begun};
      }
      node_of_[k] = put(node);
    }
    for (std::size_t k = 0; k < fixed_.outputs.size(); ++k)
      keep(fixed_.outputs[k].op, program_.first_output + static_cast<int>(k));
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      keep(fixed_.next[k], word_of_[fixed_.states[k].op]);
  }
  int put(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }
  void read(Node& node, int op) {
    if (node_of_[op] >= 0) node.sources.push_back(node_of_[op]);
    if (fixed_.ops[op].kind == OpKind::state)
      readers_[word_of_[op]].push_back(static_cast<int>(nodes_.size()));
  }
  // The value goes to this word; where it has another one already, it is copied there.
  void keep(int op, int word) {
    const int node = node_of_[op];
    if (node >= 0 && nodes_[node].to < 0) {
      nodes_[node].to = word;
      return;
    }
    Node copy{.kind = MicroKind::add};
    copy.copied = op;
    copy.to = word;
    read(copy, op);
    put(std::move(copy));
  }

  // A state's word is written where nobody needs the old value any more; through a copy where that is later
  // than somebody needs the new one.
  void order_after_readers() {
    for (std::size_t k = 0; k < fixed_.states.size(); ++k) {
      const int word = word_of_[fixed_.states[k].op];
      const auto writer =
          std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& n) { return n.to == word; });
      int target = static_cast<int>(writer - nodes_.begin());
      std::vector<int> readers = readers_[word];
      std::erase(readers, target);
      if (std::any_of(readers.begin(), readers.end(), [&](int r) { return needs(r, target); })) {
        Node copy{.kind = MicroKind::add};
        copy.copied = writer->op;
        copy.to = word;
        copy.sources = {target};
        writer->to = -1;
        target = put(std::move(copy));
      }
      nodes_[target].after = std::move(readers);
    }
  }
  // Whether `node` has to begin after `other`.
  bool needs(int node, int other) const {
    std::vector<char> seen(nodes_.size(), 0);
    std::vector<int> open{node};
    while (!open.empty()) {
      const int n = open.back();
      open.pop_back();
      if (n == other) return true;
      if (std::exchange(seen[n], 1)) continue;
      open.insert(open.end(), nodes_[n].sources.begin(), nodes_[n].sources.end());
      open.insert(open.end(), nodes_[n].after.begin(), nodes_[n].after.end());
    }
    return false;
  }

  // First row of every node: the longest way to the end first.
  std::vector<int> schedule(std::uint32_t seed) const {
    const std::size_t n = nodes_.size();
    std::vector<std::vector<int>> readers(n), later(n);
    std::vector<int> waits(n, 0), way(n, 0), ready(n, 0), first(n, -1);
    for (std::size_t k = 0; k < n; ++k) {
      for (const int s : nodes_[k].sources) readers[s].push_back(static_cast<int>(k));
      for (const int s : nodes_[k].after) later[s].push_back(static_cast<int>(k));
      waits[k] = static_cast<int>(nodes_[k].sources.size() + nodes_[k].after.size());
    }
    for (const int k : backwards(readers, later)) {
      for (const int r : readers[k]) way[k] = std::max(way[k], way[r] + nodes_[k].latency(fixed_.bits));
      for (const int r : later[k]) way[k] = std::max(way[k], way[r] + 1);
    }
    std::vector<int> order(n);
    for (std::size_t k = 0; k < n; ++k) order[k] = static_cast<int>(k);
    const auto tie = [&](int k) {
      return seed == 0 ? 0u : repeatable_shuffle(seed, static_cast<std::uint32_t>(k));
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int x, int y) { return way[x] != way[y] ? way[x] > way[y] : tie(x) < tie(y); });
    int dividing = -1;  // the node whose result has not been taken
    for (int row = 0; !order.empty();) {
      const auto next = std::find_if(order.begin(), order.end(), [&](int k) {
        const bool divides = nodes_[k].kind == MicroKind::divide || nodes_[k].kind == MicroKind::root;
        return waits[k] == 0 && ready[k] <= row && !(divides && dividing >= 0);
      });
      if (next == order.end()) {
        ++row;
        continue;
      }
      const int k = *next;
      order.erase(next);
      first[k] = row;
      if (nodes_[k].kind == MicroKind::divide || nodes_[k].kind == MicroKind::root) dividing = k;
      if (nodes_[k].kind == MicroKind::take) dividing = -1;
      for (const int r : readers[k])
        --waits[r], ready[r] = std::max(ready[r], row + nodes_[k].latency(fixed_.bits));
      for (const int r : later[k]) --waits[r];
      row += nodes_[k].rows();
    }
    return first;
  }
  std::vector<int> backwards(const std::vector<std::vector<int>>& readers,
                             const std::vector<std::vector<int>>& later) const {
    std::vector<int> left(nodes_.size()), order;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      left[k] = static_cast<int>(readers[k].size() + later[k].size());
      if (left[k] == 0) order.push_back(static_cast<int>(k));
    }
    for (std::size_t at = 0; at < order.size(); ++at)
      for (const std::vector<int>* before : {&nodes_[order[at]].sources, &nodes_[order[at]].after})
        for (const int s : *before)
          if (--left[s] == 0) order.push_back(s);
    return order;
  }
  int length(const std::vector<int>& first) const {
    int rows = 0;
    for (std::size_t k = 0; k < nodes_.size(); ++k) rows = std::max(rows, first[k] + nodes_[k].rows());
    return rows;
  }

  // Values that are not alive together share a word.
  void place_results(const std::vector<int>& first) {
    for (std::size_t k = 0; k < nodes_.size(); ++k)  // constants before words that change
      write_row(static_cast<int>(k), {});
    std::vector<int> last(nodes_.size(), -1), order;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      for (const int s : nodes_[k].sources) last[s] = std::max(last[s], first[k] + nodes_[k].rows() - 1);
      order.push_back(static_cast<int>(k));
    }
    std::sort(order.begin(), order.end(), [&](int x, int y) { return first[x] < first[y]; });
    std::vector<std::pair<int, int>> free;  // row from which on, word
    for (const int k : order) {
      Node& node = nodes_[k];
      if (node.kind == MicroKind::divide || node.kind == MicroKind::root) continue;
      if (node.to < 0) {
        const auto found =
            std::find_if(free.begin(), free.end(), [&](const auto& f) { return f.first <= first[k]; });
        node.to = found == free.end() ? new_word(0) : found->second;
        if (found != free.end()) free.erase(found);
        free.emplace_back(last[k], node.to);
      }
      if (node.op >= 0) word_of_[node.op] = node.to;
    }
  }

  // The word of an operand, and how it is read.
  void operand(const FixedOp& to, const FixedOperand& x, bool aligned, int& word, int& left, bool& negative) {
    if (x.op < 0) return;
    const FixedOp& from = fixed_.ops[x.op];
    if (from.kind == OpKind::constant) {
      const std::int64_t raw = aligned ? aligned_constant(fixed_, to, x) : constant_raw(from);
      negative = x.negative && to.kind == OpKind::root;
      word = constant_word(as_word(x.negative && aligned ? -raw : raw, to.kind == OpKind::add));
      return;
    }
    word = word_of_[x.op];
    if (aligned) left = operand_shift(fixed_, to, x);
    negative = x.negative && (aligned || to.kind == OpKind::root);
  }

  // Without `first` only constants get their words.
  void write_row(int k, const std::vector<int>& first) {
    const Node& node = nodes_[k];
    MicroInstruction i{.kind = node.kind};
    i.to = node.kind == MicroKind::divide || node.kind == MicroKind::root ? -1 : node.to;
    if (node.op < 0) {
      i.a = word_of_[node.copied];
    } else if (node.kind != MicroKind::take) {
      const FixedOp& op = fixed_.ops[node.op];
      const bool aligned = node.kind == MicroKind::add || node.kind == MicroKind::choose ||
                           node.kind == MicroKind::larger || node.kind == MicroKind::smaller ||
                           node.kind == MicroKind::below || node.kind == MicroKind::at_most;
      operand(op, op.a, aligned, i.a, i.left_a, i.negative_a);
      operand(op, op.b, aligned, i.b, i.left_b, i.negative_b);
      i.rounded = node.kind == MicroKind::add && op.rounded;
      if (node.kind == MicroKind::multiply || node.kind == MicroKind::divide || node.kind == MicroKind::root)
        i.right = result_shift(fixed_, op);
      if (node.kind == MicroKind::table || node.kind == MicroKind::offset) {
        i.lookup = lookup({op.table, op.first});
        if (node.kind == MicroKind::table) i.left_a = -fixed_.tables[op.table].shift;
      }
      if (node.kind == MicroKind::choose) {
        MicroInstruction test{.kind = MicroKind::test};
        operand(op, op.c, false, test.a, test.left_a, test.negative_a);
        test.negative_a = false;
        if (!first.empty()) program_.rows[first[k]] = test;
      }
    }
    if (!first.empty()) program_.rows[first[k] + node.rows() - 1] = i;
  }
  int lookup(const MicroLookup& l) {
    const auto found = std::find(program_.lookups.begin(), program_.lookups.end(), l);
    if (found == program_.lookups.end()) program_.lookups.push_back(l);
    return static_cast<int>(std::find(program_.lookups.begin(), program_.lookups.end(), l) -
                            program_.lookups.begin());
  }

  void write_rows(const std::vector<int>& first) {
    program_.rows.resize(static_cast<std::size_t>(length(first) + micro_latency));
    for (std::size_t k = 0; k < nodes_.size(); ++k) write_row(static_cast<int>(k), first);
    for (const MicroInstruction& i : program_.rows) program_.instructions += i.kind != MicroKind::nothing;
    program_.restart = static_cast<int>(program_.rows.size());
    for (std::size_t k = 0; k < fixed_.states.size(); ++k) {
      MicroInstruction i{.kind = MicroKind::add};
      i.a = constant_word(start_[k]);
      i.to = program_.first_state + static_cast<int>(k);
      program_.rows.push_back(i);
    }
    program_.rows.resize(program_.rows.size() + micro_latency);
  }

  const FixedStep& fixed_;
  const std::vector<std::int64_t>& start_;
  MicroProgram program_;
  std::vector<Node> nodes_;
  std::vector<int> node_of_, word_of_;       // per op
  std::map<int, std::vector<int>> readers_;  // of a state's word: nodes
  std::map<std::int64_t, int> constants_;
};

}  // namespace

bool MicroProgram::has(MicroKind kind) const {
  return std::any_of(rows.begin(), rows.end(), [&](const MicroInstruction& i) { return i.kind == kind; });
}

int bits_for(int largest) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(std::max(0, largest)))));
}

void MicroShifter::take(int left) {
  least = any ? std::min(least, left) : left;
  most = any ? std::max(most, left) : left;
  any = true;
}

int MicroShifter::bits() const { return bits_for(most - least); }

int MicroShape::instruction_bits() const {
  constexpr int kind = 4, flags = 4;  // writes, negative_a, negative_b, rounded
  return kind + flags + 3 * address_bits + a.bits() + b.bits() + std::max(product.bits(), dividend.bits()) +
         lookup_bits;
}

MicroShape micro_shape(const MicroProgram& program, int bits) {
  MicroShape s;
  for (const MicroInstruction& i : program.rows) {
    if (i.kind == MicroKind::nothing) continue;
    s.a.take(i.left_a);
    s.b.take(i.left_b);
    if (i.kind == MicroKind::multiply) s.product.take(-i.right);
    if (i.kind == MicroKind::divide || i.kind == MicroKind::root) s.dividend.take(i.right);
  }
  for (MicroShifter* shifter : {&s.a, &s.b, &s.dividend}) shifter->take(0);
  for (const MicroKind kind :
       {MicroKind::larger, MicroKind::smaller, MicroKind::below, MicroKind::at_most, MicroKind::choose})
    s.compares = s.compares || program.has(kind);
  s.divides = program.has(MicroKind::take);
  // Of a comparison's operands no bit may be lost.
  s.operand_bits = s.compares ? bits + std::max({0, s.a.most, s.b.most}) + 1 : bits;
  s.address_bits = bits_for(static_cast<int>(program.words.size()) - 1);
  s.lookup_bits = bits_for(static_cast<int>(program.lookups.size()) - 1);
  return s;
}

MicroProgram micro_program(const FixedStep& fixed, const std::vector<std::int64_t>& start) {
  return Assembler(fixed, start).assemble();
}

}  // namespace tellegen
