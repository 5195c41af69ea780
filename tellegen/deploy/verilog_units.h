// The units of a step as Verilog: what they read in each cycle, and what they give. Where a value lies says
// who prints: the module that takes one step at a time (verilog_module.cpp), or the pipeline
// (pipeline_module.cpp).
#pragma once

#include <map>
#include <string>

#include "tellegen/deploy/hardware_design.h"

namespace tellegen {

class UnitPrinter {
 public:
  explicit UnitPrinter(const HardwareDesign& design)
      : d_(design), fixed_(design.fixed), schedule_(design.schedule), w_(design.bits()) {}
  virtual ~UnitPrinter() = default;

 protected:
  // The register that has this operation's value when `reader` begins.
  virtual std::string register_of(int k, int reader) const = 0;

  std::string literal(std::int64_t raw) const;
  std::string word() const;  // a declaration
  int given_index(int k) const;
  std::string source(int k, int reader) const;  // a register, or a constant
  // What the unit of an operation that begins reads; empty for what needs no unit.
  std::string operands(int k);
  std::string value(int k) const;  // what it gives at its end
  std::string declared_units() const;
  std::string idle_units() const;  // operands where nothing begins
  std::string declared_tables();

  const HardwareDesign& d_;
  const FixedStep& fixed_;
  const HardwareSchedule& schedule_;
  const int w_;
  std::map<std::string, int> ports_;  // of tables: how many are used, after operands() of all operations

 private:
  std::string aligned(int to, const FixedOperand& x) const;
  std::string wide(int to, const FixedOperand& x) const;
  std::string round_bit(int to, const FixedOperand& x) const;
  std::string add_operands(int k) const;
  std::string divide_operands(int k) const;
  std::string wire_value(int k) const;
};

// A case of so many bits: statements by its value, where there are any.
std::string verilog_case(const std::string& of, int bits, const std::vector<std::string>& statements);

}  // namespace tellegen
