// MATLAB's files of versions 4 and 5 to 7 [MAT-File Format, MathWorks]. From 5 on: a header of 128 bytes,
// then elements of a tag (type, size) and data, each array an element of elements: flags, dimensions, name,
// numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <map>

#include "tellegen/data/binary_bytes.h"
#include "tellegen/data/binary_sources.h"

namespace tellegen {
namespace {

enum : std::uint32_t { mi_int8 = 1, mi_matrix = 14, mi_compressed = 15, mi_utf8 = 16 };
enum : std::uint8_t { mx_struct = 2, mx_char = 4, mx_double = 6, mx_uint64 = 15 };

template <class T>
std::vector<double> values_as(std::string_view bytes) {
  std::vector<double> values;
  for (std::size_t k = 0; k + sizeof(T) <= bytes.size(); k += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + k, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

// A vector is a column; a matrix has several.
void add_columns(const std::string& name, std::size_t rows, std::vector<double> values,
                 std::vector<LoadedColumn>& columns) {
  const std::size_t count = values.size();
  if (rows == 1 || rows == count) {
    columns.push_back({{name, "", false, ""}, std::move(values)});
    return;
  }
  for (std::size_t c = 0; rows > 0 && c < count / rows; ++c)
    columns.push_back({{fmt::format("{}(:,{})", name, c + 1), "", false, ""},
                       std::vector<double>(values.begin() + static_cast<long>(c * rows),
                                           values.begin() + static_cast<long>((c + 1) * rows))});
}

struct MatElement {
  std::uint32_t type = 0;
  std::string_view data;
};

class MatReader {
 public:
  MatReader(const std::filesystem::path& file, const TableOptions& options)
      : path_(file), options_(options) {}

  std::unique_ptr<TableSource> open() {
    const std::string bytes = file_bytes(path_);
    const BinaryBytes whole(bytes, path_);
    if (whole.part(126, 2) == "MI")
      throw cannot_read(path_, "it is of a big-endian machine: save it again, or as CSV");
    read_elements(std::string_view(bytes).substr(128), "");
    std::string description = "MATLAB, " + keep_one_length(columns_);
    if (columns_.empty())
      throw cannot_read(path_, passed_ > 0
                                   ? "it has no vectors of numbers (objects, as timeseries and tables are, "
                                     "cannot be read: save vectors)"
                                   : "it has no vectors of numbers");
    return loaded_table(std::move(columns_), std::move(description), options_, path_);
  }

 private:
  // The element at `at`, which moves behind it.
  MatElement element(std::string_view bytes, std::size_t& at) const {
    const BinaryBytes in(bytes, path_);
    std::uint32_t type = in.get<std::uint32_t>(at), size = 0;
    MatElement found;
    if (type >> 16 != 0) {  // small: the size stands beside the type
      size = type >> 16;
      found = {type & 0xFFFF, in.part(at + 4, size)};
      at += 8;
    } else {
      size = in.get<std::uint32_t>(at + 4);
      found = {type, in.part(at + 8, size)};
      at += 8 + (type == mi_compressed ? size : (size + 7) / 8 * 8);
    }
    return found;
  }

  void read_elements(std::string_view bytes, const std::string& prefix) {
    for (std::size_t at = 0; at + 8 <= bytes.size();) {
      const MatElement e = element(bytes, at);
      if (e.type == mi_compressed)
        read_elements(inflated(e.data, 0, path_), prefix);
      else if (e.type == mi_matrix && !e.data.empty())
        read_array(e.data, prefix, "");
    }
  }

  void read_array(std::string_view bytes, const std::string& prefix, const std::string& given) {
    std::size_t at = 0;
    const MatElement flags = element(bytes, at);
    if (flags.data.size() < 8) throw cannot_read(path_, "it is damaged");
    const auto kind = static_cast<std::uint8_t>(flags.data[0]);
    if (kind > mx_uint64) {  // an object
      ++passed_;
      return;
    }
    const MatElement sizes = element(bytes, at);
    std::size_t rows = 1, count = 1;
    for (std::size_t k = 0; k + 4 <= sizes.data.size(); k += 4) {
      const auto n =
          static_cast<std::size_t>(std::max(0, BinaryBytes(sizes.data, path_).get<std::int32_t>(k)));
      if (k == 0) rows = n;
      count *= n;
    }
    const MatElement name = element(bytes, at);
    const std::string full = prefix + (given.empty() ? std::string(name.data) : given);
    if (kind == mx_struct && count == 1) {
      const MatElement length = element(bytes, at), names = element(bytes, at);
      const auto size = static_cast<std::size_t>(BinaryBytes(length.data, path_).get<std::int32_t>(0));
      for (std::size_t k = 0; size > 0 && (k + 1) * size <= names.data.size(); ++k) {
        std::string field(names.data.substr(k * size, size));
        field.resize(std::min(field.find('\0'), field.size()));
        const MatElement value = element(bytes, at);
        if (value.type == mi_matrix && !value.data.empty()) read_array(value.data, full + ".", field);
      }
      return;
    }
    if (kind < mx_double) {
      passed_ += kind != mx_char;
      return;
    }
    const MatElement numbers = element(bytes, at);
    std::vector<double> values = converted(numbers);
    if (values.size() != count) throw cannot_read(path_, fmt::format("the array '{}' is damaged", full));
    add_columns(full, rows, std::move(values), columns_);
  }

  // Numbers are stored in the smallest type that holds them.
  std::vector<double> converted(const MatElement& e) const {
    switch (e.type) {
      case 1:
        return values_as<std::int8_t>(e.data);
      case 2:
        return values_as<std::uint8_t>(e.data);
      case 3:
        return values_as<std::int16_t>(e.data);
      case 4:
        return values_as<std::uint16_t>(e.data);
      case 5:
        return values_as<std::int32_t>(e.data);
      case 6:
        return values_as<std::uint32_t>(e.data);
      case 7:
        return values_as<float>(e.data);
      case 9:
        return values_as<double>(e.data);
      case 12:
        return values_as<std::int64_t>(e.data);
      case 13:
        return values_as<std::uint64_t>(e.data);
      default:
        return {};
    }
  }

  std::filesystem::path path_;
  const TableOptions& options_;
  int passed_ = 0;
  std::vector<LoadedColumn> columns_;
};

// Version 4: each matrix is a header of five integers, its name and its numbers. The thousands of `type` are
// the machine, its tens how numbers are written; 1: text, 2: sparse.
struct Mat4Header {
  std::int32_t type, rows, columns, imaginary, name_length;

  std::size_t bytes() const {
    constexpr std::array<std::size_t, 6> sizes{8, 4, 4, 2, 2, 1};
    return sizes[static_cast<std::size_t>(type / 10)];
  }
  bool sound() const {
    return type >= 0 && type < 60 && type % 10 <= 2 && rows >= 0 && columns >= 0 &&
           (imaginary == 0 || imaginary == 1) && name_length >= 2 && name_length <= 256;
  }
};

std::vector<double> numbers_of(std::string_view bytes, const Mat4Header& header) {
  switch (header.type / 10) {
    case 0:
      return values_as<double>(bytes);
    case 1:
      return values_as<float>(bytes);
    case 2:
      return values_as<std::int32_t>(bytes);
    case 3:
      return values_as<std::int16_t>(bytes);
    case 4:
      return values_as<std::uint16_t>(bytes);
    default:
      return values_as<std::uint8_t>(bytes);
  }
}

}  // namespace

bool is_mat4(std::string_view head) {
  Mat4Header header{};
  if (head.size() < sizeof header) return false;
  std::memcpy(&header, head.data(), sizeof header);
  const auto length = static_cast<std::size_t>(std::max(0, header.name_length));
  if (!header.sound() || head.size() < sizeof header + length) return false;
  const std::string_view name = head.substr(sizeof header, length);
  return name.back() == '\0' && std::all_of(name.begin(), name.end() - 1,
                                            [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::unique_ptr<TableSource> open_mat4(const std::filesystem::path& file, const TableOptions& options) {
  const std::string bytes = file_bytes(file);
  const BinaryBytes in(bytes, file);
  std::vector<LoadedColumn> columns;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto header = in.get<Mat4Header>(at);
    if (!header.sound() || (header.rows > 0 && static_cast<std::size_t>(header.columns) >
                                                   bytes.size() / static_cast<std::size_t>(header.rows)))
      throw cannot_read(file, "it is cut off or damaged");
    const std::string name(in.part(at + sizeof header, static_cast<std::size_t>(header.name_length) - 1));
    at += sizeof header + static_cast<std::size_t>(header.name_length);
    const auto rows = static_cast<std::size_t>(header.rows), count = static_cast<std::size_t>(header.columns),
               size = rows * count * header.bytes();
    const std::string_view part = in.part(at, size);
    at += size * (header.imaginary != 0 ? 2 : 1);
    if (header.type % 10 == 0) add_columns(name, rows, numbers_of(part, header), columns);
  }
  std::string description = "MATLAB 4, " + keep_one_length(columns);
  if (columns.empty()) throw cannot_read(file, "it has no vectors of numbers");
  return loaded_table(std::move(columns), std::move(description), options, file);
}

std::unique_ptr<TableSource> open_mat(const std::filesystem::path& file, const TableOptions& options) {
  return MatReader(file, options).open();
}

}  // namespace tellegen
