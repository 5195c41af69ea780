// What the processor of a step takes on an ECP5: it is nearly the same for every step, so a few widths say
// it.
#include <algorithm>
#include <cmath>

#include "tellegen/deploy/area_model.h"

namespace tellegen {
namespace {

// Bits of a LUT, and of the largest memories that are not worth a block: of contents that stay, and of
// others.
constexpr int lut_bits = 16, largest_fixed = 2048, largest_written = 1024;

// Blocks of 18 kbit: 36 bits wide up to 512 words, half as wide for twice as many. A small memory is in LUTs:
// its bits are added to `small`, none where it is written (memories of 16 x 4 bits are not counted).
int ram_blocks(int words, int bits, double& small, bool written) {
  const int deep = std::max(9, bits_for(words - 1)), wide = std::max(1, 36 >> std::min(deep - 9, 5)),
            columns = (bits + wide - 1) / wide * (deep > 14 ? 1 << (deep - 14) : 1);
  if (words * bits > (written ? largest_written : largest_fixed)) return columns;
  if (!written) small += words * bits;
  return 0;
}

}  // namespace

MicroCounts count_micro(const FixedStep& fixed, const MicroProgram& program) {
  const int w = fixed.bits;
  const MicroShape s = micro_shape(program, w);
  MicroCounts c;
  // A shift is a choice between two for each bit and each digit of how far.
  c.shifted = s.operand_bits * (s.a.bits() + s.b.bits()) + w * s.product.bits() +
              (s.divides ? 2 * w * s.dividend.bits() : 0);
  // Inverted operands, what is added up, and what is written.
  c.chosen = 2 * s.operand_bits + (program.has(MicroKind::table) ? w : 0) + (s.divides ? w : 0) + 2 * w;
  c.carries = s.operand_bits + (w > 16 ? 2 * w : 0) + bits_for(program.restart) +
              (s.compares ? 4 * s.operand_bits : 0);
  c.divided = s.divides ? w : 0;
  c.dsps = w > 16 ? 4 : 1;
  c.flipflops = 3.0 * s.operand_bits + 6.0 * w + 2.0 * w + 4.0 * (8 + s.address_bits) +
                (s.divides ? 8.0 * w : 0.0) + (w > 16 ? 4.0 * w : 2.0 * w);
  c.ram_blocks =
      ram_blocks(static_cast<int>(program.rows.size()), s.instruction_bits(), c.table_bits, false) +
      2 * ram_blocks(static_cast<int>(program.words.size()), w, c.table_bits, true);
  int entries = 0;
  for (const FixedTable& table : fixed.tables) entries += 1 << table.address_bits;
  if (entries > 0) c.ram_blocks += ram_blocks(entries, w, c.table_bits, false);
  return c;
}

// Coefficients by yosys 0.23 (synth_ecp5 -nowidelut) of two processors; what a divider takes is that of the
// other model.
HardwareArea estimated_area(const MicroCounts& c) {
  constexpr double moved = 1.5, always = 60.0;
  const AreaCoefficients& k = area_coefficients();
  return {moved * (c.shifted + c.chosen) + k.carry * c.carries + k.divided * c.divided +
              c.table_bits / lut_bits + always,
          c.flipflops, c.dsps, c.ram_blocks};
}

// A memory, a shift, a product, a sum: whichever takes longest is a stage.
double micro_period(const MicroProgram& program, int bits) {
  constexpr double level = 1.2e-9, registers = 0.6e-9, memory = 3.5e-9, product = 4.0e-9,
                   carry_start = 0.6e-9, carry_bit = 0.03e-9;
  const MicroShape s = micro_shape(program, bits);
  const auto shift = [&](const MicroShifter& by) {
    return registers + level * std::ceil(by.bits() / 2.0 + 1.0);
  };
  const double sum = registers + carry_start + carry_bit * s.operand_bits + level * (s.compares ? 2.0 : 1.0),
               parts = registers + 2.0 * (carry_start + 2.0 * carry_bit * bits) + level;
  return std::max({registers + memory, shift(s.a), shift(s.b), shift(s.product), sum, registers + product,
                   bits > 16 ? parts : 0.0});
}

}  // namespace tellegen
