#include "tellegen/program/machine_code.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "runtime/tellegen_math.h"
#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {
namespace {

double look_up(const Table* table, const double* arguments, int order) {
  return table->value_at(arguments, order);
}

template <class Function>
std::uint64_t address_of(Function* function) {
  return reinterpret_cast<std::uint64_t>(function);
}

// What both machines can do; `value` is the register in which a result is before it is stored.
#if defined(__x86_64__)

// System V: the register file in rbx, which calls preserve; arguments of functions on the stack; results in
// xmm0.
class Assembler {
 public:
  static constexpr bool known = true;

  void begin() {
    bytes({0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xfb});
  }                                                            // push rbx; sub rsp, 32; mov rbx, rdi
  void end() { bytes({0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3}); }  // add rsp, 32; pop rbx; ret
  void load(std::int32_t from) { memory({0xf2, 0x0f, 0x10}, 0, from); }  // movsd xmm0, [from]
  void store(std::int32_t to) { memory({0xf2, 0x0f, 0x11}, 0, to); }
  void add(std::int32_t b) { memory({0xf2, 0x0f, 0x58}, 0, b); }
  void subtract(std::int32_t b) { memory({0xf2, 0x0f, 0x5c}, 0, b); }
  void multiply(std::int32_t b) { memory({0xf2, 0x0f, 0x59}, 0, b); }
  void divide(std::int32_t b) { memory({0xf2, 0x0f, 0x5e}, 0, b); }
  void square_root() { bytes({0xf2, 0x0f, 0x51, 0xc0}); }
  void negate() {
    bytes({0x66, 0x48, 0x0f, 0x7e, 0xc0, 0x48, 0x0f, 0xba, 0xf8, 0x3f});  // movq rax, xmm0; btc rax, 63
    bytes({0x66, 0x48, 0x0f, 0x6e, 0xc0});                                // movq xmm0, rax
  }
  void magnitude() {
    bytes({0x66, 0x48, 0x0f, 0x7e, 0xc0, 0x48, 0x0f, 0xba, 0xf0, 0x3f});  // btr rax, 63
    bytes({0x66, 0x48, 0x0f, 0x6e, 0xc0});
  }
  void number(double value) {
    move_to_rax(std::bit_cast<std::uint64_t>(value));
    bytes({0x66, 0x48, 0x0f, 0x6e, 0xc0});
  }
  // 1 where a < b, or a <= b; 0 elsewhere, and for what is no number.
  void less(std::int32_t a, std::int32_t b, bool or_equal) {
    load(a);
    memory({0xf2, 0x0f, 0xc2}, 0, b);  // cmpltsd, cmplesd
    code_.push_back(or_equal ? 2 : 1);
    move_to_rax(std::bit_cast<std::uint64_t>(1.0));
    bytes({0x66, 0x48, 0x0f, 0x6e, 0xc8, 0x66, 0x0f, 0x54, 0xc1});  // movq xmm1, rax; andpd xmm0, xmm1
  }
  // b where a is not 0, else c.
  void choose(std::int32_t a, std::int32_t b, std::int32_t c) {
    memory({0xf2, 0x0f, 0x10}, 1, a);  // movsd xmm1, [a]
    load(b);
    bytes({0x66, 0x0f, 0x57, 0xd2, 0x66, 0x0f, 0x2e, 0xca});  // xorpd xmm2, xmm2; ucomisd xmm1, xmm2
    bytes({0x7a, 0x0a, 0x75, 0x08});                          // jp, jne past the load of c
    load(c);
  }
  void argument(int k, std::int32_t from) {
    memory({0x48, 0x8b}, 0, from);                                      // mov rax, [from]
    bytes({0x48, 0x89, 0x44, 0x24, static_cast<std::uint8_t>(8 * k)});  // mov [rsp + 8k], rax
  }
  // double function(const double* arguments, int count)
  void call_with_arguments(std::uint64_t function, int count) {
    bytes({0x48, 0x89, 0xe7, 0xbe});  // mov rdi, rsp; mov esi, count
    word(static_cast<std::uint32_t>(count));
    call(function);
  }
  // double function(const Table* table, const double* arguments, int order)
  void call_with_table(std::uint64_t function, std::uint64_t table, int order) {
    bytes({0x48, 0xbf});  // mov rdi, table
    wide(table);
    bytes({0x48, 0x89, 0xe6, 0xba});  // mov rsi, rsp; mov edx, order
    word(static_cast<std::uint32_t>(order));
    call(function);
  }
  // double function(double, double): the first is loaded
  void call_with_second(std::uint64_t function, std::int32_t b) {
    memory({0xf2, 0x0f, 0x10}, 1, b);
    call(function);
  }
  std::size_t size() const { return code_.size(); }
  const std::uint8_t* data() const { return code_.data(); }

 private:
  void bytes(std::initializer_list<std::uint8_t> all) { code_.insert(code_.end(), all); }
  void word(std::uint32_t value) {
    for (int k = 0; k < 4; ++k) code_.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
  }
  void wide(std::uint64_t value) {
    word(static_cast<std::uint32_t>(value));
    word(static_cast<std::uint32_t>(value >> 32));
  }
  // An operation with xmm<which> (or rax) and [rbx + 8 index].
  void memory(std::initializer_list<std::uint8_t> operation, int which, std::int32_t index) {
    bytes(operation);
    code_.push_back(static_cast<std::uint8_t>(0x83 | which << 3));
    word(static_cast<std::uint32_t>(index) * 8u);
  }
  void move_to_rax(std::uint64_t value) {
    bytes({0x48, 0xb8});
    wide(value);
  }
  void call(std::uint64_t function) {
    move_to_rax(function);
    bytes({0xff, 0xd0});
  }
  std::vector<std::uint8_t> code_;
};

#elif defined(__aarch64__)

// The register file in x19, which calls preserve; arguments of functions on the stack; results in d0.
class Assembler {
 public:
  static constexpr bool known = true;

  void begin() {
    put(0xa9bd7bfd);  // stp x29, x30, [sp, #-48]!
    put(0xf9000bf3);  // str x19, [sp, #16]
    put(0xaa0003f3);  // mov x19, x0
  }
  void end() {
    put(0xf9400bf3);  // ldr x19, [sp, #16]
    put(0xa8c37bfd);  // ldp x29, x30, [sp], #48
    put(0xd65f03c0);  // ret
  }
  void load(std::int32_t from) { load_into(0, from); }
  void store(std::int32_t to) {
    if (to < 4096)
      put(0xfd000000u | field(to, 10) | 19u << 5);  // str d0, [x19, #8 to]
    else
      move(9, static_cast<std::uint64_t>(to)), put(0xfc207800u | 9u << 16 | 19u << 5);
  }
  void add(std::int32_t b) { with(0x1e602800, b); }
  void subtract(std::int32_t b) { with(0x1e603800, b); }
  void multiply(std::int32_t b) { with(0x1e600800, b); }
  void divide(std::int32_t b) { with(0x1e601800, b); }
  void square_root() { put(0x1e61c000); }
  void negate() { put(0x1e614000); }
  void magnitude() { put(0x1e60c000); }
  void number(double value) {
    move(9, std::bit_cast<std::uint64_t>(value));
    put(0x9e670000u | 9u << 5);  // fmov d0, x9
  }
  void less(std::int32_t a, std::int32_t b, bool or_equal) {
    load_into(1, a);
    load_into(2, b);
    put(0x1e602000u | 2u << 16 | 1u << 5);                               // fcmp d1, d2
    put(0x1e6e1000u | 1u);                                               // fmov d1, #1.0
    put(0x9e6703e0u | 2u);                                               // fmov d2, xzr
    put(0x1e600c00u | 2u << 16 | (or_equal ? 9u : 4u) << 12 | 1u << 5);  // fcsel d0, d1, d2, ls or mi
  }
  void choose(std::int32_t a, std::int32_t b, std::int32_t c) {
    load_into(3, a);
    load_into(1, b);
    load_into(2, c);
    put(0x1e602008u | 3u << 5);                        // fcmp d3, #0.0
    put(0x1e600c00u | 2u << 16 | 1u << 12 | 1u << 5);  // fcsel d0, d1, d2, ne
  }
  void argument(int k, std::int32_t from) {
    load_into(1, from);
    put(0xfd000000u | field(3 + k, 10) | 31u << 5 | 1u);  // str d1, [sp, #24 + 8k]
  }
  void call_with_arguments(std::uint64_t function, int count) {
    put(0x910063e0u);  // add x0, sp, #24
    move(1, static_cast<std::uint64_t>(count));
    call(function);
  }
  void call_with_table(std::uint64_t function, std::uint64_t table, int order) {
    move(0, table);
    put(0x910063e1u);  // add x1, sp, #24
    move(2, static_cast<std::uint64_t>(order));
    call(function);
  }
  void call_with_second(std::uint64_t function, std::int32_t b) {
    load_into(1, b);
    call(function);
  }
  std::size_t size() const { return code_.size() * sizeof(std::uint32_t); }
  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(code_.data()); }

 private:
  static std::uint32_t field(std::int32_t value, int at) { return static_cast<std::uint32_t>(value) << at; }
  void put(std::uint32_t instruction) { code_.push_back(instruction); }
  void load_into(std::uint32_t d, std::int32_t from) {
    if (from < 4096)
      put(0xfd400000u | field(from, 10) | 19u << 5 | d);  // ldr d, [x19, #8 from]
    else
      move(9, static_cast<std::uint64_t>(from)), put(0xfc607800u | 9u << 16 | 19u << 5 | d);
  }
  void with(std::uint32_t operation, std::int32_t b) {  // d0 = d0 op d1
    load_into(1, b);
    put(operation | 1u << 16);
  }
  void move(std::uint32_t x, std::uint64_t value) {
    put(0xd2800000u | static_cast<std::uint32_t>(value & 0xffff) << 5 | x);  // movz
    for (std::uint32_t k = 1; k < 4; ++k)
      if (const auto part = static_cast<std::uint32_t>(value >> (16 * k) & 0xffff))
        put(0xf2800000u | k << 21 | part << 5 | x);  // movk
  }
  void call(std::uint64_t function) {
    move(16, function);
    put(0xd63f0000u | 16u << 5);  // blr x16
  }
  std::vector<std::uint32_t> code_;
};

#else

class Assembler {
 public:
  static constexpr bool known = false;
};

#endif

// One section.
template <class Assembler>
class SectionCode {
 public:
  SectionCode(const Program& program, Assembler& to) : program_(program), to_(to) {}

  void write(std::span<const Instruction> instructions) {
    to_.begin();
    for (const Instruction& i : instructions) {
      one(i);
      to_.store(i.target);
      at_hand_ = i.target;
    }
    to_.end();
  }

 private:
  void load(std::int32_t from) {
    if (from != at_hand_) to_.load(from);
  }

  void one(const Instruction& i) {
    switch (i.code) {
      case Code::number:
        return to_.number(program_.numbers[static_cast<std::size_t>(i.extra)]);
      case Code::copy:
        return load(i.a);
      case Code::add:  // in either order the same
        load(i.b == at_hand_ ? i.b : i.a);
        return to_.add(i.b == at_hand_ ? i.a : i.b);
      case Code::subtract:
        load(i.a);
        return to_.subtract(i.b);
      case Code::multiply:
        load(i.b == at_hand_ ? i.b : i.a);
        return to_.multiply(i.b == at_hand_ ? i.a : i.b);
      case Code::divide:
        load(i.a);
        return to_.divide(i.b);
      case Code::negate:
        load(i.a);
        return to_.negate();
      case Code::square_root:
        load(i.a);
        return to_.square_root();
      case Code::power:
        load(i.a);
        return to_.call_with_second(address_of(&power), i.b);
      case Code::call:
        return call(i);
      case Code::lookup:
        arguments(i, 3);
        return to_.call_with_table(
            address_of(&look_up),
            reinterpret_cast<std::uint64_t>(program_.tables[static_cast<std::size_t>(i.extra)].get()),
            i.order);
    }
  }

  void call(const Instruction& i) {
    const Function& f = *program_.functions[static_cast<std::size_t>(i.extra)];
    const std::string_view name = f.name;
    if (name == "lt" || name == "le") return to_.less(i.a, i.b, name == "le");
    if (name == "gt" || name == "ge") return to_.less(i.b, i.a, name == "ge");
    if (name == "if") return to_.choose(i.a, i.b, i.c);
    if (name == "abs") {
      load(i.a);
      return to_.magnitude();
    }
    const int count = f.arity < 0 ? 2 : f.arity;
    arguments(i, count);
    to_.call_with_arguments(address_of(f.value), count);
  }

  void arguments(const Instruction& i, int count) {
    const std::int32_t all[] = {i.a, i.b, i.c};
    for (int k = 0; k < count; ++k) to_.argument(k, all[k]);
  }

  static double power(double base, double exponent) { return tellegen_pow(base, exponent); }

  const Program& program_;
  Assembler& to_;
  std::int32_t at_hand_ = -1;  // the register whose value the last instruction left
};

}  // namespace

std::shared_ptr<const MachineCode> MachineCode::make(const Program& program) {
  if constexpr (!Assembler::known) {
    return nullptr;
  } else {
    std::shared_ptr<MachineCode> code(new MachineCode);
    Assembler to;
    for (int s = 0; s < program.sections(); ++s) {
      code->starts_.push_back(to.size());
      SectionCode<Assembler>(program, to).write(program.section(s));
    }
    if (to.size() == 0) return nullptr;
    void* const memory = mmap(nullptr, to.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    code->memory_ = memory;
    code->size_ = to.size();
    std::memcpy(memory, to.data(), to.size());
    if (mprotect(memory, to.size(), PROT_READ | PROT_EXEC) != 0) return nullptr;
    __builtin___clear_cache(static_cast<char*>(memory), static_cast<char*>(memory) + to.size());
    code->tables_ = program.tables;
    return code;
  }
}

MachineCode::~MachineCode() {
  if (memory_) munmap(memory_, size_);
}

}  // namespace tellegen
