// Bytes of a file in the memory, read with their ends checked.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tellegen/data/table_source.h"

namespace tellegen {

static_assert(std::endian::native == std::endian::little,
              "files of little-endian machines are read as they are");

class BinaryBytes {
 public:
  BinaryBytes(std::string_view bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}
  std::size_t size() const { return bytes_.size(); }
  std::string_view part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) throw cannot_read(file_, "it is cut off or damaged");
    return bytes_.substr(at, size);
  }
  template <class T>
  T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, part(at, sizeof(T)).data(), sizeof(T));
    return value;
  }
  const std::filesystem::path& file() const { return file_; }

 private:
  std::string_view bytes_;
  const std::filesystem::path& file_;
};

inline std::string file_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw cannot_read(file, "it cannot be opened");
  std::string bytes(std::filesystem::file_size(file), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

// zlib's stream; `expected`: its length, or 0 where nobody says.
inline std::string inflated(std::string_view packed, std::size_t expected,
                            const std::filesystem::path& file) {
  constexpr std::size_t most = std::size_t{1} << 34;
  if (expected > most || packed.size() > UINT32_MAX)
    throw cannot_read(file, "a compressed part is larger than any");
  std::string plain(expected > 0 ? expected : std::max<std::size_t>(4096, 4 * packed.size()), '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  if (inflateInit(&stream) != Z_OK) throw cannot_read(file, "a compressed part cannot be read");
  std::size_t got = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    if (got == plain.size()) {
      if (expected > 0 || plain.size() > most) break;
      plain.resize(2 * plain.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(plain.data() + got);
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(plain.size() - got, UINT32_MAX));
    const uInt room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    got += room - stream.avail_out;
    if (status == Z_OK && room == stream.avail_out && stream.avail_in == 0) break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END && got != expected) throw cannot_read(file, "a compressed part is damaged");
  plain.resize(got);
  return plain;
}

}  // namespace tellegen
