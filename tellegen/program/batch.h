// A program run over all members of a group, laid out as structure of arrays: one small kernel per section,
// whether the group has three members or a million.
//
// An input is uniform (one value for all), a member array, or gathered from a shared vector by an index
// array. Registers that a later section or the caller reads have arrays of their own; the caller may move
// any array (history is rotated, not copied) or place it elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/program/compile.h"
#include "tellegen/program/machine_code.h"
#include "tellegen/program/program.h"

namespace tellegen {

enum class InputSource : std::uint8_t { uniform, member, gather };

class Batch {
 public:
  // One source per input of the program; `exports` are registers that the caller wants to read.
  Batch(Program program, std::vector<InputSource> sources, std::span<const std::int32_t> exports,
        std::int32_t members);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  Batch(Batch&&) = default;

  const Program& program() const { return program_; }
  std::int32_t members() const { return members_; }

  double*& array(std::int32_t reg) { return arrays_[slot_[reg]]; }  // of a member input or a stored register
  bool stored(std::int32_t reg) const { return slot_[reg] >= 0; }
  double& uniform(std::int32_t input) { return uniforms_[input]; }
  std::int32_t*& index(std::int32_t input) { return indices_[input]; }
  const std::int32_t* index(std::int32_t input) const { return indices_[input]; }

  // Every number it holds, array by array; those that lie elsewhere too.
  template <class Visit>
  void each(Visit visit) {
    visit(uniforms_.data(), uniforms_.size());
    for (double* array : arrays_) visit(array, static_cast<std::size_t>(members_));
  }

  // Gives every stored register that has none an array, and every gathered input an index array.
  void allocate();

  void run(int section, const double* x);
  void run_some(int section, std::span<const std::int32_t> members, const double* x);  // interpreted
  // The same for one member into `registers`, always interpreted: for outputs.
  void run_member(int section, std::int32_t member, const double* x, double* registers) const;

  bool has_large_tables() const { return tellegen::has_large_tables(program_); }
  std::string c_source(const std::string& prefix) const;  // functions <prefix>_<section>
  void use(std::shared_ptr<const CompiledCode> code, const std::string& prefix);

 private:
  using Kernel = void(std::int64_t, double* const*, const double*, const double*, const std::int32_t* const*);
  struct Section {
    std::vector<std::int32_t> loads, stores;  // registers
    Kernel* kernel = nullptr;
  };
  bool empty(int section) const {
    return program_.section(section).empty() && sections_[section].stores.empty();
  }
  void load(int section, std::int32_t member, const double* x, double* registers) const;

  Program program_;
  std::shared_ptr<const MachineCode> machine_;  // of its sections; null: interpret()
  std::vector<InputSource> sources_;
  std::int32_t members_;
  std::vector<std::int32_t> slot_;  // per register, -1: not stored
  std::vector<double*> arrays_;
  std::vector<double> uniforms_;
  std::vector<std::int32_t*> indices_;
  std::vector<Section> sections_;
  std::vector<std::vector<double>> storage_;
  std::vector<std::vector<std::int32_t>> index_storage_;
  std::vector<double> registers_;
  std::shared_ptr<const CompiledCode> code_;
};

}  // namespace tellegen
