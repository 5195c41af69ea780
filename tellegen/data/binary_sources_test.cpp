#include "tellegen/data/binary_sources.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "tellegen/data/hdf5_library.h"

namespace tellegen {
namespace binary_sources_test {

namespace fs = std::filesystem;

using Values = std::vector<double>;

class BinaryTables : public testing::Test {
 protected:
  BinaryTables() : folder_(fs::temp_directory_path() / ("tellegen-binary-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~BinaryTables() override { fs::remove_all(folder_); }
  fs::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static Values column(TableSource& table, const std::string& name) {
    for (std::size_t k = 0; k < table.columns().size(); ++k)
      if (table.columns()[k].name == name) {
        Values values;
        table.choose({static_cast<int>(k)});
        for (TableBlock block; table.next(block);)
          for (double v : block.columns[0]) values.push_back(std::isnan(v) ? -1.0 : v);
        return values;
      }
    ADD_FAILURE() << "no column " << name;
    return {};
  }
  const fs::path folder_;
};

template <class T>
void add(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string packed(const std::string& plain) {
  uLongf size = compressBound(plain.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
           plain.size());
  out.resize(size);
  return out;
}

// ---- MATLAB

std::string mat_element(std::uint32_t type, const std::string& data) {
  std::string bytes;
  add(bytes, type);
  add(bytes, static_cast<std::uint32_t>(data.size()));
  bytes += data;
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

std::string mat_array(const std::string& name, std::int32_t rows, std::int32_t columns, std::uint32_t type,
                      const std::string& numbers) {
  std::string flags, sizes;
  add(flags, std::uint32_t{6});  // double
  add(flags, std::uint32_t{0});
  add(sizes, rows);
  add(sizes, columns);
  return mat_element(
      14, mat_element(6, flags) + mat_element(5, sizes) + mat_element(1, name) + mat_element(type, numbers));
}

std::string doubles(const Values& values) {
  std::string bytes;
  for (double v : values) add(bytes, v);
  return bytes;
}

std::string mat4_array(const std::string& name, std::int32_t type, std::int32_t rows, std::int32_t columns,
                       const std::string& numbers) {
  std::string bytes;
  for (std::int32_t n : {type, rows, columns, 0, static_cast<std::int32_t>(name.size() + 1)})
    bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
  return bytes + name + '\0' + numbers;
}

// As scipy.io.savemat(format="4") and Octave's save -v4 lay them out.
TEST_F(BinaryTables, matlab_4) {
  const std::string shorts("\x0a\x00\xf6\xff\x1e\x00", 6);
  const std::string bytes = mat4_array("t", 0, 1, 3, doubles({0, 0.5, 1})) +
                            mat4_array("note", 51, 1, 2, "ok") + mat4_array("P", 30, 3, 1, shorts) +
                            mat4_array("M", 0, 3, 2, doubles({1, 2, 3, 4, 5, 6}));
  const auto table = open_table(put("old.mat", bytes), {});
  ASSERT_EQ(table->columns().size(), 4u) << table->description();
  EXPECT_EQ(table->columns()[1].name, "P");
  EXPECT_EQ(table->columns()[3].name, "M(:,2)");
  EXPECT_EQ(table->time_column(), 0);
  EXPECT_EQ(column(*open_table(put("old.mat", bytes), {}), "P"), (Values{10, -10, 30}));
  EXPECT_EQ(column(*table, "M(:,2)"), (Values{4, 5, 6}));
  for (std::size_t size : {bytes.size() - 3, bytes.size() - 40, std::size_t{30}})
    EXPECT_THROW(open_table(put("cut.mat", bytes.substr(0, size)), {}), TableError) << size;
  EXPECT_THROW(open_table(put("huge.mat", mat4_array("t", 0, 1 << 30, 1 << 30, doubles({1}))), {}),
               TableError);
}

TEST_F(BinaryTables, what_is_no_text_is_one_fault) {
  try {
    open_table(put("log.bin", std::string("REC1\0\0\0\0\x07\0\0\0", 12) + doubles({0, 1, 2, 3})), {});
    FAIL();
  } catch (const TableError& error) {
    ASSERT_EQ(error.faults().size(), 1u);
    EXPECT_EQ(error.faults()[0].code, "T180");
  }
}

TEST_F(BinaryTables, matlab_vectors_matrices_and_structures) {
  std::string head = "MATLAB 5.0 MAT-file, made by a test";
  head.resize(124, ' ');
  head += std::string("\x00\x01IM", 4);
  std::string small;
  for (std::int16_t v : {60, 61, 62}) add(small, v);
  std::string compressed;
  add(compressed, std::uint32_t{15});
  const std::string stream = packed(mat_array("P", 1, 3, 3, small));
  add(compressed, static_cast<std::uint32_t>(stream.size()));
  // A structure log with the field T.
  std::string flags, sizes, length;
  add(flags, std::uint32_t{2});
  add(flags, std::uint32_t{0});
  add(sizes, std::int32_t{1});
  add(sizes, std::int32_t{1});
  add(length, std::int32_t{8});
  const std::string structure =
      mat_element(14, mat_element(6, flags) + mat_element(5, sizes) + mat_element(1, "log") +
                          mat_element(5, length) + mat_element(1, std::string("T\0\0\0\0\0\0\0", 8)) +
                          mat_array("", 3, 1, 9, doubles({20, 21, 22})));
  const std::string bytes = head + mat_array("time", 3, 1, 9, doubles({0, 0.5, 1})) + compressed + stream +
                            structure + mat_array("M", 3, 2, 9, doubles({1, 2, 3, 4, 5, 6})) +
                            mat_array("scalar", 1, 1, 9, doubles({7}));
  const fs::path file = put("log.mat", bytes);
  EXPECT_EQ(column(*open_table(file, {}), "time"), (Values{0, 0.5, 1}));
  EXPECT_EQ(column(*open_table(file, {}), "P"), (Values{60, 61, 62}));
  EXPECT_EQ(column(*open_table(file, {}), "log.T"), (Values{20, 21, 22}));
  EXPECT_EQ(column(*open_table(file, {}), "M(:,2)"), (Values{4, 5, 6}));
  const auto table = open_table(file, {});
  EXPECT_EQ(table->time_column(), 0);
  EXPECT_NE(table->description().find("1 of other lengths"), std::string::npos) << table->description();
  // Cut off anywhere, it is a fault.
  for (std::size_t size : {std::size_t{130}, std::size_t{200}, bytes.size() - 20})
    EXPECT_THROW(open_table(put("cut.mat", bytes.substr(0, size)), {}), TableError) << size;
}

// ---- HDF5

TEST_F(BinaryTables, hdf5_datasets_with_units) {
  const fs::path file = folder_ / "log.h5";
  const hid_t out = loaded_hdf5().H5Fcreate(file.c_str(), h5_truncate, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = loaded_hdf5().H5Gcreate2(out, "bench", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const auto write = [&](const char* name, std::vector<hsize_t> shape, const Values& values,
                         const std::string& unit) {
    const hid_t space = loaded_hdf5().H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t set = loaded_hdf5().H5Dcreate2(out, name, loaded_hdf5().native_double, space, H5P_DEFAULT,
                                               H5P_DEFAULT, H5P_DEFAULT);
    loaded_hdf5().H5Dwrite(set, loaded_hdf5().native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    if (!unit.empty()) {
      const hid_t type = loaded_hdf5().H5Tcopy(loaded_hdf5().c_string),
                  one = loaded_hdf5().H5Screate(H5S_SCALAR);
      loaded_hdf5().H5Tset_size(type, unit.size());
      const hid_t attribute = loaded_hdf5().H5Acreate2(set, "units", type, one, H5P_DEFAULT, H5P_DEFAULT);
      loaded_hdf5().H5Awrite(attribute, type, unit.data());
      loaded_hdf5().H5Aclose(attribute), loaded_hdf5().H5Sclose(one), loaded_hdf5().H5Tclose(type);
    }
    loaded_hdf5().H5Dclose(set), loaded_hdf5().H5Sclose(space);
  };
  write("bench/time", {3}, {0, 0.5, 1}, "s");
  write("bench/T", {3}, {20, 21, 22}, "degC");
  write("bench/U", {3, 1}, {1, 2, 3}, "");
  write("constant", {1}, {7}, "");
  loaded_hdf5().H5Gclose(group);
  loaded_hdf5().H5Fclose(out);
  const auto table = open_table(file, {});
  EXPECT_EQ(table->columns()[static_cast<std::size_t>(table->time_column())].name, "bench/time");
  EXPECT_EQ(column(*open_table(file, {}), "bench/T"), (Values{20, 21, 22}));
  EXPECT_EQ(column(*open_table(file, {}), "bench/U"), (Values{1, 2, 3}));
  for (const TableColumn& c : table->columns()) {
    EXPECT_TRUE(c.name != "bench/T" || c.unit == "degC");
  }
}

// ---- MDF 4

// Writes blocks one behind the other; links are filled in when their places are known.
class MdfWriter {
 public:
  MdfWriter() {
    bytes_ = "MDF     4.10    test    ";
    bytes_.resize(64, '\0');
  }
  std::uint64_t block(const std::string& id, const std::vector<std::uint64_t>& links,
                      const std::string& data) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
    const std::uint64_t at = bytes_.size();
    bytes_ += "##" + id;
    add(bytes_, std::uint32_t{0});
    add(bytes_, static_cast<std::uint64_t>(24 + 8 * links.size() + data.size()));
    add(bytes_, static_cast<std::uint64_t>(links.size()));
    for (std::uint64_t link : links) add(bytes_, link);
    bytes_ += data;
    return at;
  }
  void set_link(std::uint64_t block, std::size_t k, std::uint64_t to) {
    std::memcpy(bytes_.data() + block + 24 + 8 * k, &to, 8);
  }
  std::uint64_t text(const std::string& text) { return block("TX", {}, text + '\0'); }
  std::uint64_t channel(const std::string& name, const std::string& unit, std::uint8_t type,
                        std::uint8_t data_type, std::uint32_t byte, std::uint32_t bits,
                        std::uint64_t conversion = 0) {
    std::string data;
    add(data, type);
    add(data, static_cast<std::uint8_t>(type == 2 ? 1 : 0));
    add(data, data_type);
    add(data, std::uint8_t{0});
    add(data, byte);
    add(data, bits);
    add(data, std::uint32_t{0});
    add(data, std::uint32_t{0});
    data.resize(72, '\0');
    return block("CN", {0, 0, text(name), 0, conversion, 0, text(unit), 0}, data);
  }
  std::uint64_t linear(double offset, double factor) {
    std::string data;
    add(data, std::uint8_t{1});
    add(data, std::uint8_t{0});
    add(data, std::uint16_t{0});
    add(data, std::uint16_t{0});
    add(data, std::uint16_t{2});
    add(data, 0.0);
    add(data, 0.0);
    add(data, offset);
    add(data, factor);
    return block("CC", {0, 0, 0, 0}, data);
  }
  std::uint64_t group(const std::vector<std::uint64_t>& channels, std::uint64_t cycles, std::uint32_t bytes,
                      std::uint64_t id = 0) {
    for (std::size_t k = 0; k + 1 < channels.size(); ++k) set_link(channels[k], 0, channels[k + 1]);
    std::string data;
    add(data, id);
    add(data, cycles);
    add(data, std::uint16_t{0});
    add(data, std::uint16_t{0});
    add(data, std::uint32_t{0});
    add(data, bytes);
    add(data, std::uint32_t{0});
    return block("CG", {0, channels[0], 0, 0, 0, 0}, data);
  }
  std::uint64_t data_group(std::uint64_t group, std::uint64_t data, std::uint8_t id_size = 0) {
    return block("DG", {0, group, data, 0},
                 std::string(1, static_cast<char>(id_size)) + std::string(7, '\0'));
  }
  std::uint64_t zipped(const std::string& plain, std::uint32_t columns) {
    std::string turned = plain;
    if (columns > 1) {
      const std::size_t lines = plain.size() / columns;
      for (std::size_t c = 0; c < columns; ++c)
        for (std::size_t r = 0; r < lines; ++r) turned[c * lines + r] = plain[r * columns + c];
    }
    const std::string stream = packed(turned);
    std::string data = "DT";
    add(data, static_cast<std::uint8_t>(columns > 1));
    add(data, std::uint8_t{0});
    add(data, columns);
    add(data, static_cast<std::uint64_t>(plain.size()));
    add(data, static_cast<std::uint64_t>(stream.size()));
    return block("DZ", {}, data + stream);
  }
  std::string bytes_;
};

TEST_F(BinaryTables, mdf_groups_of_two_rates_compressed_and_not) {
  MdfWriter w;
  std::string start;
  add(start, std::uint64_t{1772359200000000000});  // 2026-03-01 10:00:00
  start.resize(32, '\0');
  const std::uint64_t head = w.block("HD", {0, 0, 0, 0, 0, 0}, start);
  // Every half second: time as a double, raw temperature as an integer of 16 bits.
  std::string fast;
  for (int k = 0; k < 4; ++k) {
    add(fast, 0.5 * k);
    add(fast, static_cast<std::int16_t>(200 + 10 * k));
  }
  const std::uint64_t t = w.channel("t", "s", 2, 4, 0, 64);
  const std::uint64_t temperature = w.channel("T_h", "degC", 0, 2, 8, 16, w.linear(0.0, 0.1));
  const std::uint64_t g1 = w.group({t, temperature}, 4, 10);
  // In two parts in a list, one of them compressed by columns.
  const std::uint64_t first = w.block("DT", {}, fast.substr(0, 20)), second = w.zipped(fast.substr(20), 10);
  std::string flags(8, '\0');
  const std::uint64_t list = w.block("DL", {0, first, second}, flags + std::string(16, '\0'));
  const std::uint64_t dg1 = w.data_group(g1, w.block("HL", {list}, std::string(8, '\0')));
  // Every second: big-endian float.
  std::string slow;
  for (int k = 0; k < 2; ++k) {
    add(slow, 1.0 * k);
    float p = 60.0F + static_cast<float>(k);
    char raw[4];
    std::memcpy(raw, &p, 4);
    for (int b = 3; b >= 0; --b) slow += raw[b];
  }
  const std::uint64_t dg2 =
      w.data_group(w.group({w.channel("t", "s", 2, 4, 0, 64), w.channel("P", "W", 0, 5, 8, 32)}, 2, 12),
                   w.zipped(slow, 1));
  w.set_link(dg1, 0, dg2);
  w.set_link(head, 0, dg1);
  const fs::path file = put("log.mf4", w.bytes_);
  EXPECT_EQ(column(*open_table(file, {}), "time"), (Values{0, 0.5, 1, 1.5}));
  const Values read = column(*open_table(file, {}), "T_h");
  ASSERT_EQ(read.size(), 4u);
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(read[static_cast<std::size_t>(k)], 20.0 + k, 1e-12);
  EXPECT_EQ(column(*open_table(file, {}), "P"), (Values{60, -1, 61, -1}));
  const auto table = open_table(file, {});
  EXPECT_EQ(table->description(), "MDF 4, 2 channels in 2 groups from 2026-03-01 10:00:00, merged by time");
  EXPECT_EQ(table->columns()[1].unit, "degC");
  for (std::size_t size : {std::size_t{80}, std::size_t{300}, w.bytes_.size() - 10})
    EXPECT_THROW(open_table(put("cut.mf4", w.bytes_.substr(0, size)), {}), TableError) << size;
}

// Records of two groups in one stream, told apart by an identifier.
TEST_F(BinaryTables, mdf_unsorted) {
  MdfWriter w;
  const std::uint64_t head = w.block("HD", {0, 0, 0, 0, 0, 0}, std::string(32, '\0'));
  std::string rows;
  for (int k = 0; k < 3; ++k) {
    rows += '\x01';
    add(rows, static_cast<double>(k));
    add(rows, static_cast<double>(10 + k));
    if (k == 1) rows += '\x02', add(rows, 1.0), add(rows, static_cast<std::uint8_t>(7));
  }
  const std::uint64_t a =
      w.group({w.channel("t", "s", 2, 4, 0, 64), w.channel("x", "", 0, 4, 8, 64)}, 3, 16, 1);
  const std::uint64_t b =
      w.group({w.channel("t", "s", 2, 4, 0, 64), w.channel("y", "", 0, 0, 8, 8)}, 1, 9, 2);
  w.set_link(a, 0, b);
  w.set_link(head, 0, w.data_group(a, w.block("DT", {}, rows), 1));
  const fs::path file = put("log.mf4", w.bytes_);
  EXPECT_EQ(column(*open_table(file, {}), "x"), (Values{10, 11, 12}));
  EXPECT_EQ(column(*open_table(file, {}), "y"), (Values{-1, 7, -1}));
}

}  // namespace binary_sources_test
}  // namespace tellegen
