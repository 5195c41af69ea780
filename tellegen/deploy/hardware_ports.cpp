// How a host reaches the words of a step: at addresses, over a port of a byte or over AXI4-Lite.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tellegen/deploy/hardware_design.h"

namespace tellegen {
namespace {

std::string filled(std::string text, const HardwareDesign& d) {
  return filled_in(std::move(text), {{"NAME", d.name},
                                     {"W", std::to_string(d.bits())},            // bits of a word
                                     {"B", std::to_string(d.address_bits())}});  // of an address
}

}  // namespace

int HardwareDesign::word_bits() const {
  const std::size_t words = microcode ? micro.words.size() : host_words();
  return std::bit_width(words - 1);
}

int HardwareDesign::machine_bits() const {
  return machines == 0 ? 0 : std::bit_width(static_cast<unsigned>(std::max(1, machines - 1)));
}

std::string words_module(const HardwareDesign& d) {
  const FixedStep& fixed = d.fixed;
  const std::string word = fmt::format("signed [{}:0]", d.bits() - 1);
  std::string wires, ports, reads;
  std::size_t address = 1;
  const auto read = [&](const std::string& port) {
    wires += fmt::format("  wire {} {};\n", word, port);
    ports += fmt::format(", .{0}({0})", port);
    reads += fmt::format("      {}'d{}: read_data <= {};\n", d.address_bits(), address++, port);
  };
  for (std::size_t k = 0; k < fixed.given.size(); ++k, ++address) {
    wires += fmt::format("  reg {} u{};\n", word, k);
    ports += fmt::format(", .u{0}(u{0})", k);
    reads += fmt::format(
        "      {}'d{}: begin\n        read_data <= u{};\n        if (write && !busy) u{} <= write_data;\n"
        "      end\n",
        d.address_bits(), address, k, k);
  }
  for (const std::string& port : d.output_ports) read(port);
  for (std::size_t k = 0; k < fixed.states.size(); ++k) read(fmt::format("x{}", k));
  return filled(
             R"(// {NAME} with its words at addresses; README.md tells which is where. While busy is 0, a host reads the word at
// address (it is there a cycle later) and writes what goes into a step; writing to address 0 begins one.
module {NAME}_words (
  input wire clk,
  input wire reset,
  input wire [{B}-1:0] address,
  input wire write,
  input wire signed [{W}-1:0] write_data,
  output reg signed [{W}-1:0] read_data,
  output reg busy
);
)",
             d) +
         wires +
         filled(R"(  reg start;
  wire done;
  {NAME} step (.clk(clk), .reset(reset), .start(start), .done(done))",
                d) +
         ports +
         filled(R"();
  always @(posedge clk) begin
    start <= !reset && write && !busy && address == 0;
    if (reset || done) busy <= 1'b0;
    else if (write && address == 0) busy <= 1'b1;
    case (address)
)",
                d) +
         reads + "      default: read_data <= 0;\n    endcase\n  end\nendmodule\n";
}

std::string byte_port(const HardwareDesign& d) {
  return filled(
      R"(// A port of one byte: address[1:0] is the byte of a word, the lowest first. A word is written with its byte 3 (the others
// are kept until then), and read, with its sign, as long as its address is there; the byte is there a cycle later.
module {NAME}_bytes (
  input wire clk,
  input wire reset,
  input wire [{B}+1:0] address,
  input wire write,
  input wire [7:0] data_in,
  output wire [7:0] data_out,
  output wire busy
);
  reg [23:0] kept;
  reg [1:0] byte_read;
  wire signed [31:0] to_write = {data_in, kept};
  wire signed [{W}-1:0] word;
  wire signed [31:0] read = word;
  {NAME}_words words (.clk(clk), .reset(reset), .address(address[{B}+1:2]), .write(write && address[1:0] == 2'd3),
      .write_data(to_write[{W}-1:0]), .read_data(word), .busy(busy));
  always @(posedge clk) begin
    byte_read <= address[1:0];
    if (write) case (address[1:0])
      2'd0: kept[7:0] <= data_in;
      2'd1: kept[15:8] <= data_in;
      2'd2: kept[23:16] <= data_in;
      default: ;
    endcase
  end
  assign data_out = read >> {byte_read, 3'b000};
endmodule
)",
      d);
}

std::string axi_port(const HardwareDesign& d) {
  return filled(
      R"(// AXI4-Lite: the word k at byte address 4k, with its sign. Reading address 0 tells whether a step is being taken (bit 0);
// writing it begins one. What is written while a step is taken waits until its end, as reading does, but for address 0.
module {NAME}_axi (
  input wire clk,
  input wire reset_n,
  input wire [{B}+1:0] s_awaddr,
  input wire s_awvalid,
  output wire s_awready,
  input wire [31:0] s_wdata,
  input wire [3:0] s_wstrb,
  input wire s_wvalid,
  output wire s_wready,
  output wire [1:0] s_bresp,
  output reg s_bvalid,
  input wire s_bready,
  input wire [{B}+1:0] s_araddr,
  input wire s_arvalid,
  output wire s_arready,
  output wire signed [31:0] s_rdata,
  output wire [1:0] s_rresp,
  output reg s_rvalid,
  input wire s_rready,
  output wire busy
);
  wire signed [{W}-1:0] word;
  reg reading, status, status_busy;  // a word is on its way; it is the status
  reg signed [31:0] held;
  wire to_status = s_araddr[{B}+1:2] == 0;
  // A write takes the address when both its parts are there; a read waits for it.
  wire writes = s_awvalid && s_wvalid && !s_bvalid && !busy && !reading;
  wire reads = s_arvalid && !s_rvalid && !reading && !writes && (!busy || to_status);
  assign s_awready = writes, s_wready = writes, s_arready = reads;
  assign s_bresp = 2'b00, s_rresp = 2'b00;
  {NAME}_words words (.clk(clk), .reset(!reset_n), .address(writes ? s_awaddr[{B}+1:2] : s_araddr[{B}+1:2]),
      .write(writes && s_wstrb == 4'hf), .write_data(s_wdata[{W}-1:0]), .read_data(word), .busy(busy));
  always @(posedge clk)
    if (!reset_n) begin
      s_bvalid <= 1'b0;
      s_rvalid <= 1'b0;
      reading <= 1'b0;
    end else begin
      if (writes) s_bvalid <= 1'b1;
      else if (s_bready) s_bvalid <= 1'b0;
      reading <= reads;
      if (reads) begin
        status <= to_status;
        status_busy <= busy;
      end
      if (reading) begin
        held <= status ? $signed({31'b0, status_busy}) : word;
        s_rvalid <= 1'b1;
      end else if (s_rready) s_rvalid <= 1'b0;
    end
  assign s_rdata = held;
endmodule
)",
      d);
}

// Rows of a pipeline's vectors: first the states of every machine, then the rows of all machines, step by
// step.
std::string words_bench(const HardwareDesign& d) {
  const std::size_t width = d.words_per_row(), given = d.fixed.given.size(),
                    machines = static_cast<std::size_t>(std::max(1, d.machines)),
                    first = d.machines > 0 ? machines * d.fixed.states.size() : 0;
  return filled(fmt::format(R"(// Replays {{NAME}}_vectors.hex and counts the bits that differ.
`timescale 1ns/1ns
module {{NAME}}_bench;
  localparam steps = {0}, width = {1}, given = {2}, machines = {5}, first = {6}, states = first / machines;
  reg [{{W}}-1:0] vectors [0:{3}];
  reg clk = 0, reset = 1, write = 0;
  reg [{{B}}-1:0] address = 0;
  reg [{{W}}-1:0] write_data = 0, difference;
  wire [{{W}}-1:0] read_data;
  wire busy;
  {{NAME}}_words device (.clk(clk), .reset(reset), .address(address), .write(write), .write_data(write_data),
      .read_data(read_data), .busy(busy));
  integer n, m, k, b, row, cycles, bad = 0;
  always #5 clk = !clk;
  task put_word(input integer machine, input integer word, input [{{W}}-1:0] value);
    begin
      address = (machine << {7}) + word; write_data = value; write = 1;
      @(negedge clk);
    end
  endtask
  initial begin
    $readmemh("{{NAME}}_vectors.hex", vectors);
    repeat (2) @(negedge clk);
    reset = 0;
    @(negedge clk);
    while (busy) @(negedge clk);
    for (m = 0; m < machines; m = m + 1)
      for (k = 0; k < states; k = k + 1) put_word(m, 1 + width - states + k, vectors[states*m + k]);
    for (n = 0; n < steps; n = n + 1) begin
      for (m = 0; m < machines; m = m + 1) begin
        row = first + width*(machines*n + m);
        for (k = 0; k < given; k = k + 1) put_word(m, 1 + k, vectors[row + k]);
      end
      put_word(0, 0, 0);
      write = 0;
      for (cycles = 0; busy; cycles = cycles + 1) @(negedge clk);
      if (cycles != {4}) bad = bad + 1;
      for (m = 0; m < machines; m = m + 1) begin
        row = first + width*(machines*n + m);
        for (k = given; k < width; k = k + 1) begin
          address = (m << {7}) + 1 + k;
          @(negedge clk);
          difference = read_data ^ vectors[row + k];
          for (b = 0; b < {{W}}; b = b + 1) if (difference[b] !== 1'b0) bad = bad + 1;
        end
      end
    end
    $display("%0d steps of %0d cycles, %0d bits differ", n, cycles, bad);
    if (bad != 0) $fatal(1);
    $finish;
  end
endmodule
)",
                            d.vector_steps, width, given,
                            first + static_cast<std::size_t>(d.vector_steps) * machines * width - 1,
                            d.cycles(), machines, first, d.word_bits()),
                d);
}

std::string ports_bench(const HardwareDesign& d) {
  // Of a pipeline the first machine.
  const std::size_t width = d.words_per_row(), given = d.fixed.given.size(),
                    machines = static_cast<std::size_t>(std::max(1, d.machines)),
                    first = d.machines > 0 ? machines * d.fixed.states.size() : 0;
  return filled(
      fmt::format(
          R"(// Replays {{NAME}}_vectors.hex over the port of a byte and over AXI4-Lite, and counts the words that differ.
`timescale 1ns/1ns
module {{NAME}}_ports_bench;
  localparam steps = {0}, width = {1}, given = {2}, first = {4}, stride = {5};
  reg [{{W}}-1:0] vectors [0:{3}];
  reg clk = 0, reset = 1;
  always #5 clk = !clk;
  integer n, k, b, cycles, bad = 0;
  reg signed [31:0] value;

  reg [{{B}}+1:0] address = 0;
  reg write = 0;
  reg [7:0] data_in = 0;
  wire [7:0] data_out;
  wire busy;
  {{NAME}}_bytes bytes (.clk(clk), .reset(reset), .address(address), .write(write), .data_in(data_in),
      .data_out(data_out), .busy(busy));
  task put_word(input integer at, input [31:0] word);
    for (b = 0; b < 4; b = b + 1) begin
      address = 4 * at + b; data_in = word >> 8 * b; write = 1;
      @(negedge clk); write = 0;
    end
  endtask
  task get_word(input integer at);
    for (b = 0; b < 4; b = b + 1) begin
      address = 4 * at + b;
      @(negedge clk); value[8*b +: 8] = data_out;
    end
  endtask

  reg [{{B}}+1:0] awaddr = 0, araddr = 0;
  reg [31:0] wdata = 0;
  reg valid = 0, arvalid = 0;
  wire awready, wready, bvalid, arready, rvalid, axi_busy;
  wire signed [31:0] rdata;
  {{NAME}}_axi axi (.clk(clk), .reset_n(!reset), .s_awaddr(awaddr), .s_awvalid(valid), .s_awready(awready),
      .s_wdata(wdata), .s_wstrb(4'hf), .s_wvalid(valid), .s_wready(wready), .s_bresp(), .s_bvalid(bvalid),
      .s_bready(1'b1), .s_araddr(araddr), .s_arvalid(arvalid), .s_arready(arready), .s_rdata(rdata), .s_rresp(),
      .s_rvalid(rvalid), .s_rready(1'b1), .busy(axi_busy));
  task axi_put(input integer at, input [31:0] word);
    begin
      awaddr = 4 * at; wdata = word; valid = 1;
      while (!awready) @(negedge clk);
      @(negedge clk); valid = 0;
    end
  endtask
  task axi_get(input integer at);
    begin
      araddr = 4 * at; arvalid = 1;
      while (!arready) @(negedge clk);
      @(negedge clk); arvalid = 0;
      while (!rvalid) @(negedge clk);
      value = rdata;
      @(negedge clk);
    end
  endtask
  task check(input signed [{{W}}-1:0] word);
    if (value !== word) bad = bad + 1;
  endtask

  initial begin
    $readmemh("{{NAME}}_vectors.hex", vectors);
    repeat (2) @(negedge clk);
    reset = 0;
    @(negedge clk);
    while (busy || axi_busy) @(negedge clk);
    for (n = 0; n < steps; n = n + 1) begin
      for (k = 0; k < given; k = k + 1) begin
        put_word(1 + k, vectors[first + stride*n + k]);
        axi_put(1 + k, vectors[first + stride*n + k]);
      end
      axi_put(0, 1);
      axi_get(0);
      if (value !== 1) bad = bad + 1;
      put_word(0, 1);
      cycles = 0;
      @(negedge clk);
      while (busy) begin @(negedge clk); cycles = cycles + 1; end
      for (k = given; k < width; k = k + 1) begin
        get_word(1 + k); check(vectors[first + stride*n + k]);
        axi_get(1 + k); check(vectors[first + stride*n + k]);
      end
    end
    $display("%0d steps over both ports, %0d words differ", n, bad);
    if (bad != 0) $fatal(1);
    $finish;
  end
endmodule
)",
          d.vector_steps, width, given,
          first + static_cast<std::size_t>(d.vector_steps) * machines * width - 1, first, width * machines),
      d);
}

}  // namespace tellegen
