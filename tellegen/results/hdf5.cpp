#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <stdexcept>

#include "tellegen/results/atomic_file.h"
#include "tellegen/results/hdf5_stream.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// An HDF5 identifier and how to close it; a negative one is an error.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
    if (id_ < 0) throw std::runtime_error(what);
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// The library prints its own stack of errors unless told not to; ours say what matters.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

void check(herr_t status, const std::string& what) {
  if (status < 0) throw std::runtime_error(what);
}

void write_data(hid_t file, const char* name, hid_t type, std::vector<hsize_t> shape, const void* data,
                const std::string& what) {
  const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose, what);
  const Handle set(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
                   what);
  check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), what);
}

hid_t make_text_type() {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts,
                 const std::string& what) {
  const Handle type(make_text_type(), H5Tclose, what);
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  write_data(file, name, type, {texts.size()}, pointers.data(), what);
}

std::vector<hsize_t> shape_of(hid_t set, const std::string& what) {
  const Handle space(H5Dget_space(set), H5Sclose, what);
  std::vector<hsize_t> shape(std::max(0, H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  return shape;
}

std::vector<double> read_numbers(hid_t file, const char* name, std::vector<hsize_t>& shape,
                                 const std::string& what) {
  const Handle set(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, what);
  shape = shape_of(set, what);
  hsize_t count = 1;
  for (hsize_t n : shape) count *= n;
  std::vector<double> numbers(count);
  check(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), what);
  return numbers;
}

std::vector<std::string> read_texts(hid_t file, const char* name, const std::string& what) {
  const Handle set(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, what);
  const std::vector<hsize_t> shape = shape_of(set, what);
  const Handle type(make_text_type(), H5Tclose, what);
  std::vector<char*> pointers(shape.size() == 1 ? shape[0] : 0, nullptr);
  check(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()), what);
  std::vector<std::string> texts;
  for (char* p : pointers) texts.emplace_back(p ? p : "");
  const Handle space(H5Dget_space(set), H5Sclose, what);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return texts;
}

}  // namespace

void write_hdf5(const fs::path& path, const Trajectory& trajectory) {
  const QuietErrors quiet;
  const std::string what = fmt::format("cannot write '{}' as HDF5", path.string());
  AtomicFile aside(path);
  {
    const Handle file(H5Fcreate(aside.aside().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                      what);
    std::vector<std::string> units = trajectory.units;
    units.resize(trajectory.columns());
    write_data(file, "t", H5T_NATIVE_DOUBLE, {trajectory.rows()}, trajectory.t.data(), what);
    write_data(file, "values", H5T_NATIVE_DOUBLE, {trajectory.rows(), trajectory.columns()},
               trajectory.values.data(), what);
    write_texts(file, "names", trajectory.names, what);
    write_texts(file, "units", units, what);
    check(H5Fflush(file, H5F_SCOPE_GLOBAL), what);
  }
  aside.commit();
}

struct Hdf5Stream::File {
  File(const fs::path& path, std::size_t columns, const std::string& what)
      : what(what),
        columns(columns),
        file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, what),
        t(growing("t", {0}), H5Dclose, what),
        values(growing("values", {0, columns}), H5Dclose, what) {}

  hid_t growing(const char* name, std::vector<hsize_t> shape) const {
    constexpr hsize_t rows_together = 4096;
    std::vector<hsize_t> most = shape, chunk = shape;
    most[0] = H5S_UNLIMITED;
    chunk[0] = rows_together;
    for (hsize_t& n : chunk) n = std::max<hsize_t>(n, 1);
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), most.data()), H5Sclose,
                       what);
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what);
    check(H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()), what);
    return H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  }

  void append(const Handle& set, std::vector<hsize_t> count, const double* data) const {
    std::vector<hsize_t> size = count, first(count.size(), 0);
    size[0] += rows;
    first[0] = rows;
    check(H5Dset_extent(set, size.data()), what);
    const Handle to(H5Dget_space(set), H5Sclose, what);
    check(H5Sselect_hyperslab(to, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr), what);
    const Handle from(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                      what);
    check(H5Dwrite(set, H5T_NATIVE_DOUBLE, from, to, H5P_DEFAULT, data), what);
  }

  const std::string what;
  const std::size_t columns;
  hsize_t rows = 0;
  Handle file, t, values;
};

Hdf5Stream::Hdf5Stream(const fs::path& path, const std::vector<std::string>& names,
                       const std::vector<std::string>& units) {
  const QuietErrors quiet;
  const std::string what = fmt::format("cannot write '{}' as HDF5", path.string());
  file_ = std::make_unique<File>(path, names.size(), what);
  std::vector<std::string> all_units = units;
  all_units.resize(names.size());
  write_texts(file_->file, "names", names, what);
  write_texts(file_->file, "units", all_units, what);
}

Hdf5Stream::~Hdf5Stream() = default;

void Hdf5Stream::rows(std::span<const double> t, std::span<const double> values) {
  if (t.empty()) return;
  const QuietErrors quiet;
  file_->append(file_->t, {t.size()}, t.data());
  if (file_->columns > 0) file_->append(file_->values, {t.size(), file_->columns}, values.data());
  file_->rows += t.size();
}

void Hdf5Stream::close() {
  if (!file_) return;
  check(H5Fflush(file_->file, H5F_SCOPE_GLOBAL), file_->what);
  file_.reset();
}

Trajectory read_hdf5(const fs::path& path) {
  const QuietErrors quiet;
  const std::string what = fmt::format("cannot read '{}': not a trajectory in HDF5", path.string());
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, what);
  Trajectory trajectory;
  std::vector<hsize_t> times, shape;
  trajectory.t = read_numbers(file, "t", times, what);
  trajectory.values = read_numbers(file, "values", shape, what);
  trajectory.names = read_texts(file, "names", what);
  trajectory.units = read_texts(file, "units", what);
  if (shape != std::vector<hsize_t>{trajectory.rows(), trajectory.columns()} ||
      trajectory.units.size() != trajectory.columns())
    throw std::runtime_error(what + " (its datasets do not fit each other)");
  return trajectory;
}

}  // namespace tellegen
