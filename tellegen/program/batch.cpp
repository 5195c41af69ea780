#include "tellegen/program/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tellegen/program/c_functions.h"

namespace tellegen {
Batch::Batch(Program program, std::vector<InputSource> sources, std::span<const std::int32_t> exports,
             std::int32_t members)
    : program_(std::move(program)),
      machine_(MachineCode::make(program_)),
      sources_(std::move(sources)),
      members_(members) {
  const auto inputs = static_cast<std::int32_t>(program_.inputs.size());
  slot_.assign(program_.registers, -1);
  uniforms_.assign(inputs, 0.0);
  indices_.assign(inputs, nullptr);
  registers_.resize(program_.registers);
  const auto store = [&](std::int32_t reg) {
    if (slot_[reg] >= 0) return;
    slot_[reg] = static_cast<std::int32_t>(arrays_.size());
    arrays_.push_back(nullptr);
  };
  for (std::int32_t k = 0; k < inputs; ++k)
    if (sources_[k] == InputSource::member) store(k);
  for (std::int32_t reg : exports) store(reg);
  sections_.resize(program_.sections());
  for (int s = 0; s < program_.sections(); ++s) {
    std::set<std::int32_t> loads;
    for (const Instruction& i : program_.section(s))
      for_each_operand(program_, i, [&](std::int32_t reg) {
        if (reg < inputs || program_.section_of[reg] != s) loads.insert(reg);
        if (reg >= inputs && program_.section_of[reg] != s) store(reg);
      });
    sections_[s].loads.assign(loads.begin(), loads.end());
  }
  for (std::int32_t reg = inputs; reg < program_.registers; ++reg)
    if (slot_[reg] >= 0) sections_[program_.section_of[reg]].stores.push_back(reg);
}

void Batch::allocate() {
  for (double*& array : arrays_)
    if (!array) array = storage_.emplace_back(members_, 0.0).data();
  for (std::size_t k = 0; k < indices_.size(); ++k)
    if (sources_[k] == InputSource::gather && !indices_[k])
      indices_[k] = index_storage_.emplace_back(members_, 0).data();
}

void Batch::load(int section, std::int32_t m, const double* x, double* registers) const {
  for (std::int32_t reg : sections_[section].loads) {
    if (slot_[reg] >= 0)
      registers[reg] = arrays_[slot_[reg]][m];
    else if (sources_[reg] == InputSource::uniform)
      registers[reg] = uniforms_[reg];
    else
      registers[reg] = x[indices_[reg][m]];
  }
}

void Batch::run_member(int section, std::int32_t member, const double* x, double* registers) const {
  load(section, member, x, registers);
  if (machine_)
    machine_->run(section, registers);
  else
    interpret(program_, section, registers);
}

void Batch::run(int section, const double* x) {
  if (empty(section)) return;
  Section& s = sections_[section];
  if (s.kernel) {
    s.kernel(members_, arrays_.data(), uniforms_.data(), x, indices_.data());
    return;
  }
  for (std::int32_t m = 0; m < members_; ++m) {
    run_member(section, m, x, registers_.data());
    for (std::int32_t reg : s.stores) arrays_[slot_[reg]][m] = registers_[reg];
  }
}

void Batch::run_some(int section, std::span<const std::int32_t> members, const double* x) {
  if (empty(section)) return;
  for (std::int32_t m : members) {
    run_member(section, m, x, registers_.data());
    for (std::int32_t reg : sections_[section].stores) arrays_[slot_[reg]][m] = registers_[reg];
  }
}

std::string Batch::c_source(const std::string& prefix) const {
  std::string out;
  // Tables are named per program; a prefix keeps several programs in one file apart.
  const std::string tables = c_tables(program_);
  const auto name = [](std::int32_t r) { return fmt::format("r{}", r); };
  for (int s = 0; s < program_.sections(); ++s) {
    if (empty(s)) continue;
    const Section& section = sections_[s];
    out += fmt::format(
        "void {}_{}(long long n, double* const* a, const double* u, const double* restrict x, const int* "
        "const* ix) {{\n",
        prefix, s);
    std::set<std::int32_t> slots;
    for (std::int32_t reg : section.loads) {
      if (slot_[reg] >= 0)
        slots.insert(slot_[reg]);
      else if (sources_[reg] == InputSource::uniform)
        out += fmt::format("  const double r{0} = u[{0}];\n", reg);
      else
        out += fmt::format("  const int* restrict i{0} = ix[{0}];\n", reg);
    }
    for (std::int32_t reg : section.stores) slots.insert(slot_[reg]);
    for (std::int32_t slot : slots) out += fmt::format("  double* restrict a{0} = a[{0}];\n", slot);
    out += "  for (long long m = 0; m < n; ++m) {\n";
    for (std::int32_t reg : section.loads) {
      if (slot_[reg] >= 0)
        out += fmt::format("    const double r{} = a{}[m];\n", reg, slot_[reg]);
      else if (sources_[reg] == InputSource::gather)
        out += fmt::format("    const double r{0} = x[i{0}[m]];\n", reg);
    }
    for (const Instruction& i : program_.section(s))
      out += "    const double " + c_instruction(program_, i, name) + "\n";
    for (std::int32_t reg : section.stores) out += fmt::format("    a{}[m] = r{};\n", slot_[reg], reg);
    out += "  }\n}\n";
  }
  const std::string all = tables + out;
  return program_.tables.empty() ? all : with_table_names(all, prefix);
}

void Batch::use(std::shared_ptr<const CompiledCode> code, const std::string& prefix) {
  code_ = std::move(code);
  for (int s = 0; s < program_.sections(); ++s)
    if (!empty(s)) sections_[s].kernel = code_->function<Kernel>(fmt::format("{}_{}", prefix, s).c_str());
}

}  // namespace tellegen
