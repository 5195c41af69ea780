#include "tellegen/deploy/area_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tellegen/deploy/fixed_numbers.h"

namespace tellegen {
namespace {

// A bit somewhere: bit `at` of word `word`; constants are 0 and 1.
using Bit = std::int64_t;
constexpr Bit zero = 0, one = 1;
Bit bit_of(int word, int at, bool inverted) {
  return 2 + ((static_cast<Bit>(word) * 128 + at) * 2 + (inverted ? 1 : 0));
}

using Word = std::vector<Bit>;

// A word that gets its bits from different places in different cycles.
struct Destination {
  std::vector<Word> words;  // one for each cycle
  void take(Word word) { words.push_back(std::move(word)); }
};

void sort_unique(auto& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class Counter {
 public:
  Counter(const FixedStep& fixed, const HardwareSchedule& schedule, const HardwareUnits& units)
      : fixed_(fixed), schedule_(schedule), units_(units), w_(fixed.bits) {}

  AreaCounts count() {
    for (std::size_t k = 0; k < fixed_.ops.size(); ++k)
      if (schedule_.places[k].start >= 0) {
        read(static_cast<int>(k));
        write(static_cast<int>(k));
      }
    for (std::size_t y = 0; y < fixed_.outputs.size(); ++y)
      if (const int k = fixed_.outputs[y].op; unit_of(fixed_.ops[k].kind) == UnitKind::none)
        output(static_cast<int>(y)).take(shifted(source(k), 0, w_, false));
    for (std::size_t s = 0; s < schedule_.copied.size(); ++s)
      if (schedule_.copied[s])
        state(static_cast<int>(s)).take(word_of(reg, schedule_.places[fixed_.next[s]].reg));
    for (auto& [key, destination] : destinations_) add(key.first, destination);
    arithmetic();
    return counts_;
  }

 private:
  enum Kind {
    given,
    states,
    reg,
    product,
    sum,
    quotient,
    table,
    computed,
    operand_a,
    operand_b,
    carry,
    output_word
  };

  int name(int kind, int index) {
    const auto [found, added] = names_.try_emplace({kind, index}, static_cast<int>(names_.size()));
    return found->second;
  }
  Word word_of(int kind, int index, int bits = 0) {
    Word word(static_cast<std::size_t>(bits == 0 ? w_ : bits));
    const int n = name(kind, index);
    for (std::size_t k = 0; k < word.size(); ++k) word[k] = bit_of(n, static_cast<int>(k), false);
    return word;
  }
  static Word literal(std::int64_t raw, int bits) {
    Word word(static_cast<std::size_t>(bits));
    for (int k = 0; k < bits; ++k) word[k] = (raw >> std::min(k, 63)) & 1 ? one : zero;
    return word;
  }
  Word source(int k) {
    const FixedOp& op = fixed_.ops[k];
    const HardwareSchedule::Place& p = schedule_.places[k];
    if (op.kind == OpKind::constant) return literal(constant_raw(op), w_);
    if (op.kind == OpKind::state) return word_of(states, op.leaf);
    if (op.kind == OpKind::given) return word_of(given, k);
    if (p.state >= 0 && !schedule_.copied[p.state]) return word_of(states, p.state);
    return word_of(reg, p.reg);
  }
  static Word shifted(const Word& x, int left, int bits, bool negative) {
    Word word(static_cast<std::size_t>(bits));
    for (int k = 0; k < bits; ++k) {
      const int from = k - left;
      const Bit b =
          from < 0 ? zero : x[static_cast<std::size_t>(std::min<int>(from, static_cast<int>(x.size()) - 1))];
      word[k] = negative ? b ^ 1 : b;
    }
    return word;
  }

  Destination& state(int k) { return destinations_[{states, k}]; }
  Destination& output(int k) { return destinations_[{output_word, k}]; }

  Word aligned(const FixedOp& to, const FixedOperand& x, bool negative) {
    if (fixed_.ops[x.op].kind == OpKind::constant)
      return shifted(literal(aligned_constant(fixed_, to, x), w_), 0, w_, negative);
    return shifted(source(x.op), operand_shift(fixed_, to, x), w_, negative);
  }

  void read(int k) {
    const FixedOp& op = fixed_.ops[k];
    const int unit = schedule_.places[k].unit;
    switch (unit_of(op.kind)) {
      case UnitKind::multiplier:
        destinations_[{operand_a, name(product, unit)}].take(source(op.a.op));
        destinations_[{operand_b, name(product, unit)}].take(source(op.b.op));
        break;
      case UnitKind::adder: {
        const AdderOperands o = adder_operands(fixed_, op);
        destinations_[{operand_a, name(sum, unit)}].take(aligned(op, o.p, false));
        destinations_[{operand_b, name(sum, unit)}].take(aligned(op, o.q, o.q.negative));
        const int round = rounding_bit(fixed_, op, o.q);
        Word bit{o.q.negative ? one : zero};
        if (round >= 0) bit[0] = o.q.negative ? source(o.q.op)[round] ^ 1 : source(o.q.op)[round];
        destinations_[{carry, name(sum, unit)}].take(bit);
        if (rounding_bit(fixed_, op, o.p) >= 0) counts_.carries += w_;
        break;
      }
      case UnitKind::divider:
        destinations_[{operand_a, name(quotient, unit)}].take(
            shifted(source(op.a.op), result_shift(fixed_, op), 2 * w_, false));
        if (op.kind != OpKind::root) destinations_[{operand_b, name(quotient, unit)}].take(source(op.b.op));
        break;
      case UnitKind::table: {
        const FixedTable& t = fixed_.tables[op.table];
        Word address = shifted(source(op.a.op), -t.shift, t.address_bits, false);
        if (op.first != 0) {
          address = word_of(computed, k, t.address_bits);
          counts_.carries += 2;  // a quarter of the table further: the bits above
        }
        ports_[op.table] = std::max(ports_[op.table], unit + 1);
        destinations_[{operand_a, name(table, 16 * op.table + unit)}].take(address);
        break;
      }
      default:
        if (op.kind != OpKind::offset) counts_.compared += w_;
        break;
    }
  }

  void write(int k) {
    const FixedOp& op = fixed_.ops[k];
    const HardwareSchedule::Place& p = schedule_.places[k];
    Word word;
    switch (unit_of(op.kind)) {
      case UnitKind::multiplier:
        word = shifted(word_of(product, p.unit, 2 * w_), -result_shift(fixed_, op), w_, false);
        for (const Bit b : word)
          if (b > one) products_.insert(b);
        break;
      case UnitKind::adder:
        word = word_of(sum, p.unit);
        break;
      case UnitKind::divider:
        word = word_of(quotient, p.unit);
        break;
      case UnitKind::table:
        word = word_of(table, 16 * op.table + p.unit);
        break;
      default:
        word = word_of(computed, k);
        if (op.kind == OpKind::offset) {
          const int low = fixed_.tables[op.table].shift;
          word = source(op.a.op);
          for (int b = low - 1; b < w_; ++b) word[b] = source(op.a.op)[low - 1] ^ 1;
        } else if (op.kind == OpKind::below || op.kind == OpKind::at_most || op.kind == OpKind::both ||
                   op.kind == OpKind::either) {
          for (int b = 1; b < w_; ++b) word[b] = zero;
        }
        break;
    }
    if (p.state >= 0 && !schedule_.copied[p.state])
      state(p.state).take(word);
    else if (p.reg >= 0)
      destinations_[{reg, p.reg}].take(word);
    for (std::size_t y = 0; y < fixed_.outputs.size(); ++y)
      if (fixed_.outputs[y].op == k) output(static_cast<int>(y)).take(word);
  }

  void add(int kind, Destination& d) {
    // A register keeps its value in all other cycles; an operand may be anything then.
    const bool keeps = kind == states || kind == reg || kind == output_word;
    const std::size_t cycles = d.words.size();
    sort_unique(d.words);
    int& widest = keeps ? counts_.result_words : counts_.operand_words;
    widest = std::max(widest, static_cast<int>(d.words.size()));
    if (d.words.size() > 1 || keeps) counts_.choices += static_cast<double>(cycles);
    std::vector<Bit> column;
    for (std::size_t k = 0; k < d.words[0].size(); ++k) {
      column.clear();
      for (const Word& word : d.words) column.push_back(word[k]);
      sort_unique(column);
      const int constants = static_cast<int>(
                    std::count_if(column.begin(), column.end(), [](Bit b) { return b <= one; })),
                legs = static_cast<int>(column.size()) - constants;
      counts_.legs += std::max(0, legs - 1);
    }
  }

  void arithmetic() {
    counts_.carries += w_ * schedule_.adders + std::bit_width(static_cast<unsigned>(schedule_.cycles));
    // Of 18 bits, or of four parts and the sums of these; a 19th bit is not worth three more.
    counts_.dsps = schedule_.multipliers * (w_ <= 19 ? 1 : 4);
    if (w_ > 18) counts_.carries += schedule_.multipliers * (w_ == 19 ? 117.0 : 5.0 * w_ - 54.0);
    counts_.divided = static_cast<double>(w_) * schedule_.dividers;
    counts_.flipflops =
        static_cast<double>(w_) * (schedule_.registers + static_cast<int>(fixed_.states.size()) +
                                   static_cast<int>(fixed_.outputs.size()));
    counts_.flipflops += 1 + std::bit_width(static_cast<unsigned>(std::max(1, schedule_.cycles - 1)));
    counts_.flipflops += static_cast<double>(products_.size()) * (units_.multiplier_latency - 1);
    counts_.flipflops += schedule_.dividers * (5.0 * w_);
    for (const auto& [t, ports] : ports_) {
      const int bits = fixed_.tables[t].address_bits;
      const double size = std::ldexp(static_cast<double>(w_), bits);
      // 18 bits wide up to 1024 words, half as wide for twice as many; below this LUTs are taken.
      const int columns = bits <= 10   ? (w_ + 17) / 18
                          : bits == 11 ? (w_ + 8) / 9
                          : bits == 12 ? (w_ + 3) / 4
                                       : (w_ + 1) / 2 << (bits - 13);
      if (size > 16.0 * luts_for_a_block * columns)
        counts_.ram_blocks += columns;
      else
        counts_.table_bits += size * ports, counts_.flipflops += static_cast<double>(w_) * ports;
    }
  }

  static constexpr double luts_for_a_block = 128.0;  // what yosys takes a block to be worth

  const FixedStep& fixed_;
  const HardwareSchedule& schedule_;
  const HardwareUnits& units_;
  const int w_;
  std::map<std::pair<int, int>, int> names_;
  std::map<std::pair<int, int>, Destination> destinations_;
  std::map<int, int> ports_;
  std::set<Bit> products_;
  AreaCounts counts_;
};

}  // namespace

const AreaCoefficients& area_coefficients() {
  // By yosys 0.23 (synth_ecp5 -nowidelut): legs and choices by least squares over several designs, dividers
  // from one that is alone; `tellegen benchmark hardware --only calibration` repeats them. A carry cell of 2
  // bits takes 2 LUTs, a LUT holds 16 bits of a table. Of comparisons an estimate.
  static const AreaCoefficients coefficients{
      .leg = 0.82, .choice = 0.52, .carry = 1.0, .compared = 1.5, .divided = 21.3, .table_bit = 1.0 / 16.0};
  return coefficients;
}

AreaCounts count_area(const FixedStep& fixed, const HardwareSchedule& schedule, const HardwareUnits& units) {
  return Counter(fixed, schedule, units).count();
}

HardwareArea estimated_area(const AreaCounts& c) {
  const AreaCoefficients& k = area_coefficients();
  return {k.leg * c.legs + k.choice * c.choices + k.carry * c.carries + k.compared * c.compared +
              k.divided * c.divided + k.table_bit * c.table_bits,
          c.flipflops, c.dsps, c.ram_blocks};
}

double estimated_period(const AreaCounts& counts, const HardwareUnits& units, int bits) {
  // A LUT of 6 inputs chooses from 4; with the wires to it. Delays of cells: those of yosys' models of an
  // ECP5.
  constexpr double level = 1.2e-9, registers = 0.6e-9, product = 4.0e-9, carry_start = 0.6e-9,
                   carry_bit = 0.03e-9;
  const auto levels = [](int words) { return level * std::ceil(std::log2(std::max(1, words)) / 2.0); };
  const double before = registers + levels(counts.operand_words), behind = levels(counts.result_words),
               sum = carry_start + carry_bit * bits,
               multiplied = product + (bits > 18 ? 2.0 * (carry_start + 2.0 * carry_bit * bits) : 0.0);
  if (units.multiplier_latency == 1) return before + std::max(multiplied, sum) + behind;
  return std::max({before + multiplied, registers + behind, before + sum + behind});
}

}  // namespace tellegen
