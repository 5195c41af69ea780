#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tellegen/data/hdf5_library.h"
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

void check(herr_t status, const std::string& what) {
  if (status < 0) throw std::runtime_error(what);
}

void write_data(hid_t file, const char* name, hid_t type, std::vector<hsize_t> shape, const void* data,
                const std::string& what) {
  const Handle space(loaded_hdf5().H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                     loaded_hdf5().H5Sclose, what);
  const Handle set(loaded_hdf5().H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                   loaded_hdf5().H5Dclose, what);
  check(loaded_hdf5().H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), what);
}

hid_t make_text_type() {
  const hid_t type = loaded_hdf5().H5Tcopy(loaded_hdf5().c_string);
  loaded_hdf5().H5Tset_size(type, H5T_VARIABLE);
  loaded_hdf5().H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts,
                 const std::string& what) {
  const Handle type(make_text_type(), loaded_hdf5().H5Tclose, what);
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  write_data(file, name, type, {texts.size()}, pointers.data(), what);
}

std::vector<hsize_t> shape_of(hid_t set, const std::string& what) {
  const Handle space(loaded_hdf5().H5Dget_space(set), loaded_hdf5().H5Sclose, what);
  std::vector<hsize_t> shape(std::max(0, loaded_hdf5().H5Sget_simple_extent_ndims(space)));
  loaded_hdf5().H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  return shape;
}

std::vector<double> read_numbers(hid_t file, const char* name, std::vector<hsize_t>& shape,
                                 const std::string& what) {
  const Handle set(loaded_hdf5().H5Dopen2(file, name, H5P_DEFAULT), loaded_hdf5().H5Dclose, what);
  shape = shape_of(set, what);
  hsize_t count = 1;
  for (hsize_t n : shape) count *= n;
  std::vector<double> numbers(count);
  check(
      loaded_hdf5().H5Dread(set, loaded_hdf5().native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()),
      what);
  return numbers;
}

std::vector<std::string> read_texts(hid_t file, const char* name, const std::string& what) {
  const Handle set(loaded_hdf5().H5Dopen2(file, name, H5P_DEFAULT), loaded_hdf5().H5Dclose, what);
  const std::vector<hsize_t> shape = shape_of(set, what);
  const Handle type(make_text_type(), loaded_hdf5().H5Tclose, what);
  std::vector<char*> pointers(shape.size() == 1 ? shape[0] : 0, nullptr);
  check(loaded_hdf5().H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()), what);
  std::vector<std::string> texts;
  for (char* p : pointers) texts.emplace_back(p ? p : "");
  const Handle space(loaded_hdf5().H5Dget_space(set), loaded_hdf5().H5Sclose, what);
  loaded_hdf5().H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return texts;
}

}  // namespace

void write_hdf5(const fs::path& path, const Trajectory& trajectory) {
  const QuietHdf5 quiet;
  const std::string what = fmt::format("cannot write '{}' as HDF5", path.string());
  AtomicFile aside(path);
  {
    const Handle file(loaded_hdf5().H5Fcreate(aside.aside().c_str(), h5_truncate, H5P_DEFAULT, H5P_DEFAULT),
                      loaded_hdf5().H5Fclose, what);
    std::vector<std::string> units = trajectory.units;
    units.resize(trajectory.columns());
    write_data(file, "t", loaded_hdf5().native_double, {trajectory.rows()}, trajectory.t.data(), what);
    write_data(file, "values", loaded_hdf5().native_double, {trajectory.rows(), trajectory.columns()},
               trajectory.values.data(), what);
    write_texts(file, "names", trajectory.names, what);
    write_texts(file, "units", units, what);
    check(loaded_hdf5().H5Fflush(file, H5F_SCOPE_GLOBAL), what);
  }
  aside.commit();
}

struct Hdf5Stream::File {
  File(const fs::path& path, std::size_t columns, const std::string& what)
      : what(what),
        columns(columns),
        file(loaded_hdf5().H5Fcreate(path.c_str(), h5_truncate, H5P_DEFAULT, H5P_DEFAULT),
             loaded_hdf5().H5Fclose, what),
        t(growing("t", {0}), loaded_hdf5().H5Dclose, what),
        values(growing("values", {0, columns}), loaded_hdf5().H5Dclose, what) {}

  hid_t growing(const char* name, std::vector<hsize_t> shape) const {
    constexpr hsize_t rows_together = 4096;
    std::vector<hsize_t> most = shape, chunk = shape;
    most[0] = H5S_UNLIMITED;
    chunk[0] = rows_together;
    for (hsize_t& n : chunk) n = std::max<hsize_t>(n, 1);
    const Handle space(
        loaded_hdf5().H5Screate_simple(static_cast<int>(shape.size()), shape.data(), most.data()),
        loaded_hdf5().H5Sclose, what);
    const Handle properties(loaded_hdf5().H5Pcreate(loaded_hdf5().dataset_creation), loaded_hdf5().H5Pclose,
                            what);
    check(loaded_hdf5().H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()), what);
    return loaded_hdf5().H5Dcreate2(file, name, loaded_hdf5().native_double, space, H5P_DEFAULT, properties,
                                    H5P_DEFAULT);
  }

  void append(const Handle& set, std::vector<hsize_t> count, const double* data) const {
    std::vector<hsize_t> size = count, first(count.size(), 0);
    size[0] += rows;
    first[0] = rows;
    check(loaded_hdf5().H5Dset_extent(set, size.data()), what);
    const Handle to(loaded_hdf5().H5Dget_space(set), loaded_hdf5().H5Sclose, what);
    check(loaded_hdf5().H5Sselect_hyperslab(to, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr),
          what);
    const Handle from(loaded_hdf5().H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                      loaded_hdf5().H5Sclose, what);
    check(loaded_hdf5().H5Dwrite(set, loaded_hdf5().native_double, from, to, H5P_DEFAULT, data), what);
  }

  const std::string what;
  const std::size_t columns;
  hsize_t rows = 0;
  Handle file, t, values;
};

Hdf5Stream::Hdf5Stream(const fs::path& path, const std::vector<std::string>& names,
                       const std::vector<std::string>& units) {
  const QuietHdf5 quiet;
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
  const QuietHdf5 quiet;
  file_->append(file_->t, {t.size()}, t.data());
  if (file_->columns > 0) file_->append(file_->values, {t.size(), file_->columns}, values.data());
  file_->rows += t.size();
}

void Hdf5Stream::close() {
  if (!file_) return;
  check(loaded_hdf5().H5Fflush(file_->file, H5F_SCOPE_GLOBAL), file_->what);
  file_.reset();
}

Trajectory read_hdf5(const fs::path& path) {
  const QuietHdf5 quiet;
  const std::string what = fmt::format("cannot read '{}': not a trajectory in HDF5", path.string());
  const Handle file(loaded_hdf5().H5Fopen(path.c_str(), h5_read_only, H5P_DEFAULT), loaded_hdf5().H5Fclose,
                    what);
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
