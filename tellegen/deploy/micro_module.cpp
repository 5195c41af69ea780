// The processor of a MicroProgram as a Verilog module, with the program as its memory's contents.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tellegen/deploy/hardware_design.h"

namespace tellegen {
namespace {

class MicroPrinter {
 public:
  explicit MicroPrinter(const HardwareDesign& d)
      : d_(d),
        p_(d.micro),
        w_(d.bits()),
        shape_(micro_shape(p_, w_)),
        a_(shape_.a),
        b_(shape_.b),
        product_(shape_.product),
        dividend_(shape_.dividend),
        compares_(shape_.compares),
        divides_(shape_.divides),
        size_(shape_.operand_bits) {
    layout();
  }

  std::string program_file() const {
    std::string out;
    for (const MicroInstruction& i : p_.rows) out += encoded(i) + "\n";
    return out;
  }

  std::string print() {
    declare();
    fetch();
    shift();
    compute();
    write();
    out_ += "endmodule\n";
    product_module();
    return out_;
  }

 private:
  struct Field {
    int at = 0, bits = 0;
  };

  void layout() {
    const auto add = [&](const char* name, int bits) {
      fields_[name] = {width_, bits};
      width_ += bits;
    };
    const int address = address_bits();
    add("kind", 4);
    add("a", address);
    add("b", address);
    add("to", address);
    add("writes", 1);
    add("right_a", a_.bits());
    add("right_b", b_.bits());
    add("negative_a", 1);
    add("negative_b", 1);
    add("rounded", 1);
    add("right", std::max(product_.bits(), dividend_.bits()));
    add("lookup", shape_.lookup_bits);
  }
  int address_bits() const { return shape_.address_bits; }

  std::string encoded(const MicroInstruction& i) const {
    std::vector<char> bits(static_cast<std::size_t>(width_), 0);
    const auto put = [&](const char* name, int value) {
      const Field& f = fields_.at(name);
      for (int k = 0; k < f.bits; ++k) bits[f.at + k] = static_cast<char>((value >> k) & 1);
    };
    put("kind", static_cast<int>(i.kind));
    put("a", i.a);
    put("b", i.b);
    put("to", std::max(0, i.to));
    put("writes", i.to >= 0);
    put("right_a", a_.most - i.left_a);
    put("right_b", b_.most - i.left_b);
    put("negative_a", i.negative_a);
    put("negative_b", i.negative_b);
    put("rounded", i.rounded);
    if (i.kind == MicroKind::multiply) put("right", product_.most + i.right);
    if (i.kind == MicroKind::divide || i.kind == MicroKind::root) put("right", dividend_.most - i.right);
    put("lookup", i.lookup);
    std::string digits;
    for (int at = 0; at < width_; at += 4) {
      int digit = 0;
      for (int k = 0; k < 4 && at + k < width_; ++k) digit |= bits[at + k] << k;
      digits.insert(digits.begin(), "0123456789abcdef"[digit]);
    }
    return digits;
  }

  static std::string range(int bits) { return fmt::format("[{}:0]", bits - 1); }
  std::string field(const char* name) const {
    const Field& f = fields_.at(name);
    return fmt::format("row[{}:{}]", f.at + f.bits - 1, f.at);
  }
  static std::string code(MicroKind kind) { return fmt::format("4'd{}", static_cast<int>(kind)); }
  template <class... Arguments>
  void put(const char* format, const Arguments&... arguments) {
    out_ += fmt::format(fmt::runtime(format), arguments...);
  }

  void declare() {
    const int address = address_bits();
    put("// {}: one step of {:g} s by {} in {} clock cycles, an instruction a cycle.\n"
        "// Words lie in one memory; README.md tells which is where. While busy is 0, a host reads the word "
        "at address\n"
        "// (it is there a cycle later) and writes it; writing to address 0 begins a step. After a reset the "
        "states\n// take their first values.\n"
        "module {}_words (\n  input wire clk,\n  input wire reset,\n  input wire {} address,\n"
        "  input wire write,\n  input wire signed {} write_data,\n  output wire signed {} read_data,\n"
        "  output reg busy\n);\n",
        d_.title, d_.step_seconds, d_.method, p_.cycles(), d_.name, range(address), range(w_), range(w_));
    const int rows = static_cast<int>(p_.rows.size());
    put("  reg {0} rows [0:{1}];\n  initial $readmemh(\"{2}_program.hex\", rows);\n"
        "  reg {3} word_a [0:{4}], word_b [0:{4}];\n"
        "  initial begin\n    $readmemh(\"{2}_words.hex\", word_a);\n    $readmemh(\"{2}_words.hex\", "
        "word_b);\n  end\n",
        range(width_), rows - 1, d_.name, range(w_), p_.words.size() - 1);
  }

  void fetch() {
    const int pc = bits_for(static_cast<int>(p_.rows.size()) - 1);
    put("\n  // Fetched, and the words read.\n  reg {0} counter;\n  reg {1} row;\n"
        "  always @(posedge clk) begin\n    row <= rows[counter];\n"
        "    if (reset) begin\n      counter <= {2}'d{3};\n      busy <= 1'b1;\n"
        "    end else if (busy) begin\n"
        "      if (counter == {2}'d{4} || counter == {2}'d{5}) busy <= 1'b0;\n"
        "      else counter <= counter + {2}'d1;\n"
        "    end else if (write && address == 0) begin\n      counter <= 0;\n      busy <= 1'b1;\n    end\n"
        "  end\n",
        range(pc), range(width_), pc, p_.restart, p_.restart - 1, p_.rows.size() - 1);
    put("  reg signed {0} a, b;\n"
        "  wire {1} address_a = busy ? {2} : address;\n"
        "  always @(posedge clk) begin\n    a <= word_a[address_a];\n    b <= word_b[{3}];\n  end\n"
        "  assign read_data = a;\n",
        range(w_), range(address_bits()), field("a"), field("b"));
  }

  // What travels with an instruction, from stage to stage.
  void carry(const char* from, const char* to, std::initializer_list<const char*> names) {
    for (const char* name : names) put("  reg {} {}_{};\n", range(fields_[name].bits), to, name);
    put("  always @(posedge clk) begin\n");
    for (const std::string name : names)
      put("    {}_{} <= {}{};\n", to, name,
          *from == 0 ? field(name.c_str()) : fmt::format("{}_{}", from, name),
          name == "writes" ? " & ~reset" : "");
    put("  end\n");
  }

  // The operand at the point where it is used, and the bit below.
  void operand(const char* x, const MicroShifter& s) {
    const int in = std::max(w_ + s.most, size_) + 1;
    put("  wire signed {0} {1}_long = $signed({{{1}, {2}'h0}}) >>> s_right_{1};\n"
        "  wire signed {3} {1}_shifted = {1}_long[{4}:1];\n"
        "  wire {1}_below = s_rounded & {1}_long[0];\n",
        range(in), x, s.most + 1, range(size_), size_);
  }

  void shift() {
    put("\n  // Shifted: a number with its carry; a negative one is inverted, and the carry adds 1.\n");
    carry("", "s",
          {"kind", "to", "writes", "right_a", "right_b", "negative_a", "negative_b", "rounded", "right",
           "lookup"});
    operand("a", a_);
    operand("b", b_);
    put("  reg signed {0} p, q;\n  reg p_carry, q_carry;\n  reg signed {1} m, n;\n", range(size_), range(w_));
    std::string first = "s_negative_a ? ~a_shifted : a_shifted";
    if (p_.has(MicroKind::offset)) {
      put("  reg signed {} offset;\n  always @* case (s_lookup)\n", range(size_));
      const int bits = fields_["lookup"].bits;
      for (std::size_t l = 0; l < p_.lookups.size(); ++l) {
        const int shift = d_.fixed.tables[p_.lookups[l].table].shift;
        put("    {0}'d{1}: offset = $signed({{~a[{2}], a[{3}:0]}});\n", bits, l, shift - 1, shift - 2);
      }
      put("    default: offset = {{{}{{1'bx}}}};\n  endcase\n", size_);
      first = fmt::format("s_kind == {} ? offset : {}", code(MicroKind::offset), first);
    }
    put("  always @(posedge clk) begin\n    p <= {};\n    q <= s_negative_b ? ~b_shifted : b_shifted;\n"
        "    p_carry <= a_below ^ s_negative_a;\n    q_carry <= b_below ^ s_negative_b;\n"
        "    m <= a;\n    n <= b;\n  end\n",
        first);
    if (p_.has(MicroKind::test))
      put("  reg chosen;\n  always @(posedge clk) if (s_kind == {}) chosen <= a != 0;\n",
          code(MicroKind::test));
    if (p_.has(MicroKind::table)) tables();
    if (divides_) divider();
  }

  // All tables in one memory, each at a multiple of its size.
  void tables() {
    std::vector<int> begin(d_.fixed.tables.size(), -1);
    int entries = 0;
    std::vector<std::size_t> order(d_.fixed.tables.size());
    for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return d_.fixed.tables[x].entries.size() > d_.fixed.tables[y].entries.size();
    });
    for (const std::size_t t : order) {
      begin[t] = entries;
      entries += static_cast<int>(d_.fixed.tables[t].entries.size());
    }
    const int address = bits_for(entries - 1), bits = fields_["lookup"].bits;
    put("  reg {0} entries [0:{1}];\n  initial begin\n", range(w_), entries - 1);
    for (const std::size_t t : order)
      put("    $readmemh(\"{}_{}.hex\", entries, {}, {});\n", d_.name, d_.fixed.tables[t].name, begin[t],
          begin[t] + static_cast<int>(d_.fixed.tables[t].entries.size()) - 1);
    put("  end\n  reg {} entry;\n  reg signed {} found;\n  always @(posedge clk) begin\n    case "
        "(s_lookup)\n",
        range(address), range(w_));
    for (std::size_t l = 0; l < p_.lookups.size(); ++l) {
      const MicroLookup& use = p_.lookups[l];
      const int own = d_.fixed.tables[use.table].address_bits;
      std::string low = fmt::format("a_shifted[{}:0]", own - 1);
      if (use.first != 0) {
        put("      {0}'d{1}: entry <= {2}'d{3} + (({4} + {5}'d{6}) & {5}'d{7});\n", bits, l, address,
            begin[use.table], low, own, use.first, (1 << own) - 1);
      } else {
        put("      {0}'d{1}: entry <= {2}'d{3} + {4};\n", bits, l, address, begin[use.table], low);
      }
    }
    put("      default: entry <= 0;\n    endcase\n    found <= entries[entry];\n  end\n");
  }

  void divider() {
    const int in = 2 * w_ + std::max(0, dividend_.most);
    put("  wire signed {0} size = s_negative_a ? -{{a[{1}], a}} : {{a[{1}], a}};\n"
        "  wire signed {2} dividend = $signed({{{{{3}{{size[{4}]}}}}, size}}) <<< {5} >>> s_right;\n"
        "  reg begins, root;\n  reg signed {6} numerator;\n  reg signed {7} divisor;\n"
        "  always @(posedge clk) begin\n    begins <= s_kind == {8} || s_kind == {9};\n    root <= s_kind == "
        "{9};\n"
        "    numerator <= dividend[{10}:0];\n    divisor <= b;\n  end\n"
        "  wire signed {7} ready;  // in one cycle only\n  reg signed {7} quotient;\n  reg [5:0] waits;\n"
        "  tellegen_divide #(.W({11})) divide (clk, begins, root, numerator, divisor, ready);\n"
        "  always @(posedge clk) begin\n    if (begins) waits <= 6'd{11};\n"
        "    else if (waits != 0) waits <= waits - 6'd1;\n    if (waits == 1) quotient <= ready;\n  end\n",
        range(w_ + 1), w_ - 1, range(in), in - w_ - 1, w_, std::max(0, dividend_.most), range(2 * w_),
        range(w_), code(MicroKind::divide), code(MicroKind::root), 2 * w_ - 1, w_);
  }

  void compute() {
    put("\n  // Added, compared, or multiplied in parts that a block multiplier takes.\n");
    carry("s", "x", {"kind", "to", "writes", "right"});
    put("  reg signed {0} sum;\n", range(size_));
    if (compares_)
      put("  wire signed {0} p_value = p + $signed({{1'b0, p_carry}}), q_value = q + $signed({{1'b0, "
          "q_carry}});\n",
          range(size_));
    put("  always @(posedge clk) case (x_kind)\n");
    const auto when = [&](MicroKind kind, const char* value) {
      if (p_.has(kind)) put("    {}: sum <= {};\n", code(kind), value);
    };
    when(MicroKind::choose, "chosen ? p_value : q_value");
    when(MicroKind::larger, "p_value > q_value ? p_value : q_value");
    when(MicroKind::smaller, "p_value < q_value ? p_value : q_value");
    when(MicroKind::below, "{1'b0, p_value < q_value}");
    when(MicroKind::at_most, "{1'b0, p_value <= q_value}");
    when(MicroKind::both, "{1'b0, p != 0 && q != 0}");
    when(MicroKind::either, "{1'b0, p != 0 || q != 0}");
    put("    default: sum <= p + q + $signed({{1'b0, p_carry}}) + $signed({{1'b0, q_carry}});\n  endcase\n");
    products();
    put("\n  // Parts of products summed; tables and quotients come in.\n");
    carry("x", "y", {"kind", "to", "writes", "right"});
    put("  reg signed {0} z;\n  always @(posedge clk) case (y_kind)\n    {1}: z <= product;\n", range(2 * w_),
        code(MicroKind::multiply));
    if (p_.has(MicroKind::table)) put("    {}: z <= found;\n", code(MicroKind::table));
    if (divides_) put("    {}: z <= quotient;\n", code(MicroKind::take));
    put("    default: z <= $signed(sum[{}:0]);\n  endcase\n", w_ - 1);
  }

  // Parts have 16 bits with their sign: 15 of the lower one's own. The module keeps the sum out of the block
  // multipliers, where yosys 0.23 loses addends.
  void products() {
    if (w_ <= 16) {
      put("  wire signed {0} product;\n  {1}_product #({2}, {2}) one (clk, m, n, product);\n", range(2 * w_),
          d_.name, w_);
      return;
    }
    const int high = w_ - 15;
    put("  wire signed [15:0] m_low = {{1'b0, m[14:0]}}, n_low = {{1'b0, n[14:0]}};\n"
        "  wire signed {0} m_high = m[{1}:15], n_high = n[{1}:15];\n"
        "  wire signed [31:0] low_low;\n  wire signed {2} low_high, high_low;\n  wire signed {3} high_high;\n"
        "  {5}_product #(16, 16) part_0 (clk, m_low, n_low, low_low);\n"
        "  {5}_product #(16, {6}) part_1 (clk, m_low, n_high, low_high);\n"
        "  {5}_product #({6}, 16) part_2 (clk, m_high, n_low, high_low);\n"
        "  {5}_product #({6}, {6}) part_3 (clk, m_high, n_high, high_high);\n"
        "  wire signed {4} product = $signed({{high_high, 30'h0}}) + $signed({{low_high, 15'h0}}) +\n"
        "      $signed({{high_low, 15'h0}}) + low_low;\n",
        range(high), w_ - 1, range(16 + high), range(2 * high), range(2 * w_), d_.name, high);
  }

  // A product with a register behind it.
  void product_module() {
    put("\n(* keep_hierarchy *)\nmodule {0}_product #(parameter A = 16, parameter B = 16) (\n  input wire "
        "clk,\n"
        "  input wire signed [A-1:0] a,\n  input wire signed [B-1:0] b,\n  output reg signed [A+B-1:0] "
        "y\n);\n"
        "  always @(posedge clk) y <= a * b;\nendmodule\n",
        d_.name);
  }

  void write() {
    put("\n  // Written.\n");
    carry("y", "w", {"kind", "to", "writes", "right"});
    const int left = std::max(0, product_.most), fixed = std::max(0, -product_.most);
    put("  wire signed {0} scaled = ($signed({{z, {1}'h0}}) >>> {2}) >>> w_right;\n",
        range(2 * w_ + left + 1), left + 1, fixed);
    put("  wire {0} result = w_kind == {1} ? scaled[{2}:1] : z[{3}:0];\n", range(w_),
        code(MicroKind::multiply), w_, w_ - 1);
    put("  wire given = write && !busy && address != 0, put = w_writes || given;\n"
        "  wire {0} address_w = w_writes ? w_to : address;\n  wire {1} data = w_writes ? result : "
        "write_data;\n"
        "  always @(posedge clk) if (put) begin\n    word_a[address_w] <= data;\n    word_b[address_w] <= "
        "data;\n"
        "  end\n",
        range(address_bits()), range(w_));
  }

  const HardwareDesign& d_;
  const MicroProgram& p_;
  const int w_;
  const MicroShape shape_;
  const MicroShifter &a_, &b_, &product_, &dividend_;
  const bool compares_, divides_;
  const int size_;
  std::map<std::string, Field> fields_;
  int width_ = 0;
  std::string out_;
};

}  // namespace

std::string micro_module(const HardwareDesign& design) { return MicroPrinter(design).print(); }
std::string micro_program_file(const HardwareDesign& design) { return MicroPrinter(design).program_file(); }

}  // namespace tellegen
