// Numbers as bytes, for checkpoints: as this machine has them, little-endian like all we run on.
//
//   seal: magic (8), version (4), fingerprint (8), size of the payload (8), payload, its hash (8)
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tellegen {

static_assert(std::endian::native == std::endian::little);

// Of Eigen, which is not included here: public headers include this one.
template <class T>
concept MatrixOfNumbers = requires(T m) {
  m.resize(m.rows(), m.cols());
  m.data()[0] + 1.0;
};

// FNV-1a, 64 bits.
class Fingerprint {
 public:
  void bytes(const void* from, std::size_t size) {
    const auto* p = static_cast<const unsigned char*>(from);
    for (std::size_t k = 0; k < size; ++k) value_ = (value_ ^ p[k]) * 0x100000001b3ull;
  }
  void text(std::string_view text) {
    bytes(text.data(), text.size());
    bytes("", 1);
  }
  void number(double value) { bytes(&value, sizeof value); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  template <MatrixOfNumbers Matrix>
  void matrix(const Matrix& m) {
    put(static_cast<std::uint64_t>(m.rows()));
    put(static_cast<std::uint64_t>(m.cols()));
    bytes_.append(reinterpret_cast<const char*>(m.data()),
                  static_cast<std::size_t>(m.size()) * sizeof(double));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// What is not there leaves its target alone; good() says so.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }
  void fail() { good_ = false; }

  template <class T>
  void get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (const char* from = take(sizeof value)) std::memcpy(&value, from, sizeof value);
  }
  void text(std::string& into) {
    std::uint64_t size = 0;
    get(size);
    if (const char* from = take(size)) into.assign(from, size);
  }
  template <MatrixOfNumbers Matrix>
  void matrix(Matrix& into) {
    std::uint64_t rows = 0, columns = 0;
    get(rows), get(columns);
    if (rows > 1'000'000'000 || columns > 1'000'000'000) good_ = false;
    if constexpr (Matrix::ColsAtCompileTime == 1)
      if (columns != 1) good_ = false;
    if (const char* from = take(rows * columns * sizeof(double))) {
      into.resize(static_cast<std::ptrdiff_t>(rows), static_cast<std::ptrdiff_t>(columns));
      std::memcpy(into.data(), from, rows * columns * sizeof(double));
    }
  }

 private:
  const char* take(std::uint64_t size) {
    good_ = good_ && size <= bytes_.size();
    if (!good_) return nullptr;
    const char* from = bytes_.data();
    bytes_.remove_prefix(size);
    return from;
  }
  std::string_view bytes_;
  bool good_ = true;
};

// The parts of something as bytes: one list for both ways, so that what is read is what was written.
//
//   void keep(Checkpoint& parts) { parts(time_, values_, held_); }
//
// What is computed again from other parts is not listed.
class Checkpoint {
 public:
  Checkpoint() = default;  // to be filled
  explicit Checkpoint(std::string_view bytes) : in_(bytes), reading_(true) {}
  bool reading() const { return reading_; }
  const std::string& bytes() const { return out_.bytes(); }
  bool good() const { return in_.good() && in_.at_end(); }  // after reading: nothing missing, nothing left
  bool reading_goes_on() const { return in_.good(); }       // so far nothing is missing
  template <class... Parts>
  void operator()(Parts&... parts) {
    (part(parts), ...);
  }
  void array(double* first, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) part(first[k]);
  }

 private:
  template <class T>
  void part(T& value) {
    reading_ ? in_.get(value) : out_.put(value);
  }
  template <class T>
  void part(std::vector<T>& list) {
    auto size = static_cast<std::uint64_t>(list.size());
    part(size);
    if (!in_.good() || (reading_ && size > in_.left())) return in_.fail();
    list.resize(size);
    for (T& value : list) part(value);
  }
  void part(std::string& text) { reading_ ? in_.text(text) : out_.text(text); }
  template <MatrixOfNumbers Matrix>
  void part(Matrix& m) {
    reading_ ? in_.matrix(m) : out_.matrix(m);
  }
  ByteWriter out_;
  ByteReader in_{{}};
  bool reading_ = false;
};

inline std::string sealed(std::string_view magic, std::uint32_t version, std::uint64_t fingerprint,
                          const std::string& payload) {
  ByteWriter out;
  out.put(version), out.put(fingerprint), out.text(payload);
  Fingerprint hash;
  hash.bytes(payload.data(), payload.size());
  out.put(hash.value());
  return std::string(magic) + out.bytes();
}

struct Sealed {
  std::string problem;  // why it cannot be used; empty: it is as it was written
  std::uint32_t version = 0;
  std::uint64_t fingerprint = 0;
  std::string payload;
};
inline Sealed unsealed(std::string_view magic, std::uint32_t version, std::string_view bytes) {
  Sealed seal;
  if (!bytes.starts_with(magic)) {
    seal.problem = "it is none";
    return seal;
  }
  ByteReader in(bytes.substr(magic.size()));
  std::uint64_t hash = 0;
  in.get(seal.version), in.get(seal.fingerprint), in.text(seal.payload), in.get(hash);
  Fingerprint found;
  found.bytes(seal.payload.data(), seal.payload.size());
  if (!in.good())
    seal.problem = "it is incomplete";
  else if (!in.at_end() || hash != found.value())
    seal.problem = "it is damaged";
  else if (seal.version != version)
    seal.problem = "it is of version " + std::to_string(seal.version) + ", and this program writes " +
                   std::to_string(version);
  return seal;
}

}  // namespace tellegen
