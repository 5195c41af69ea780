#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tellegen/data/binary_sources.h"
#include "tellegen/data/hdf5_library.h"

namespace tellegen {
namespace {

class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  operator hid_t() const { return id_; }
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Texts of a dataset or an attribute, of fixed or variable length.
template <class Read>
std::vector<std::string> read_texts(hid_t type, hid_t space, const Read& read) {
  std::vector<std::string> texts;
  const auto count =
      static_cast<std::size_t>(std::max<hssize_t>(0, loaded_hdf5().H5Sget_simple_extent_npoints(space)));
  if (loaded_hdf5().H5Tis_variable_str(type) > 0) {
    const Hdf5Handle memory(loaded_hdf5().H5Tcopy(loaded_hdf5().c_string), loaded_hdf5().H5Tclose);
    loaded_hdf5().H5Tset_size(memory, H5T_VARIABLE);
    loaded_hdf5().H5Tset_cset(memory, loaded_hdf5().H5Tget_cset(type));
    std::vector<char*> pointers(count, nullptr);
    if (read(memory, pointers.data()) < 0) return {};
    for (char* p : pointers) texts.emplace_back(p ? p : "");
    loaded_hdf5().H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data());
  } else {
    const std::size_t size = loaded_hdf5().H5Tget_size(type);
    std::vector<char> bytes(size * count);
    if (read(type, bytes.data()) < 0) return {};
    for (std::size_t k = 0; k < count; ++k) {
      std::string text(bytes.data() + k * size, size);
      text.resize(std::min(text.find('\0'), text.size()));
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

std::vector<std::string> attribute_texts(hid_t object, const char* name) {
  if (loaded_hdf5().H5Aexists(object, name) <= 0) return {};
  const Hdf5Handle attribute(loaded_hdf5().H5Aopen(object, name, H5P_DEFAULT), loaded_hdf5().H5Aclose);
  const Hdf5Handle type(loaded_hdf5().H5Aget_type(attribute), loaded_hdf5().H5Tclose),
      space(loaded_hdf5().H5Aget_space(attribute), loaded_hdf5().H5Sclose);
  if (loaded_hdf5().H5Tget_class(type) != H5T_STRING) return {};
  return read_texts(type, space,
                    [&](hid_t memory, void* to) { return loaded_hdf5().H5Aread(attribute, memory, to); });
}

class Hdf5Reader {
 public:
  Hdf5Reader(const std::filesystem::path& file, const TableOptions& options)
      : path_(file), options_(options) {}

  std::unique_ptr<TableSource> open() {
    const QuietHdf5 silent;
    const Hdf5Handle file(loaded_hdf5().H5Fopen(path_.c_str(), h5_read_only, H5P_DEFAULT),
                          loaded_hdf5().H5Fclose);
    if (!file.good()) throw cannot_read(path_, "it is not a whole HDF5 file");
    file_ = file;
    loaded_hdf5().H5Lvisit(
        file, H5_INDEX_NAME, H5_ITER_NATIVE,
        [](hid_t, const char* name, const H5L_info_t*, void* self) -> herr_t {
          static_cast<Hdf5Reader*>(self)->names_.emplace_back(name);
          return 0;
        },
        this);
    for (const std::string& name : names_)
      if (!name.starts_with("#refs#")) visit(name);
    std::string description = "HDF5, " + keep_one_length(columns_);
    if (columns_.empty()) throw cannot_read(path_, "no dataset of it is a column of numbers");
    return loaded_table(std::move(columns_), std::move(description), options_, path_);
  }

 private:
  std::vector<std::string> texts_of(const std::string& name) const {
    if (loaded_hdf5().H5Lexists(file_, name.c_str(), H5P_DEFAULT) <= 0) return {};
    const Hdf5Handle set(loaded_hdf5().H5Dopen2(file_, name.c_str(), H5P_DEFAULT), loaded_hdf5().H5Dclose);
    if (!set.good()) return {};
    const Hdf5Handle type(loaded_hdf5().H5Dget_type(set), loaded_hdf5().H5Tclose),
        space(loaded_hdf5().H5Dget_space(set), loaded_hdf5().H5Sclose);
    if (loaded_hdf5().H5Tget_class(type) != H5T_STRING) return {};
    return read_texts(type, space, [&](hid_t memory, void* to) {
      return loaded_hdf5().H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
    });
  }

  void visit(const std::string& name) {
    const Hdf5Handle set(loaded_hdf5().H5Dopen2(file_, name.c_str(), H5P_DEFAULT), loaded_hdf5().H5Dclose);
    if (!set.good()) return;  // a group
    const Hdf5Handle type(loaded_hdf5().H5Dget_type(set), loaded_hdf5().H5Tclose),
        space(loaded_hdf5().H5Dget_space(set), loaded_hdf5().H5Sclose);
    std::vector<hsize_t> shape(
        static_cast<std::size_t>(std::max(0, loaded_hdf5().H5Sget_simple_extent_ndims(space))));
    loaded_hdf5().H5Sget_simple_extent_dims(space, shape.data(), nullptr);
    std::string unit;
    for (const char* key : {"unit", "units", "Unit", "Units"})
      if (const auto texts = attribute_texts(set, key); unit.empty() && texts.size() == 1) unit = texts[0];
    const H5T_class_t kind = loaded_hdf5().H5Tget_class(type);
    if (kind == H5T_COMPOUND && shape.size() == 1) {
      for (int m = 0; m < loaded_hdf5().H5Tget_nmembers(type); ++m) {
        const Hdf5Handle member(loaded_hdf5().H5Tget_member_type(type, static_cast<unsigned>(m)),
                                loaded_hdf5().H5Tclose);
        if (loaded_hdf5().H5Tget_class(member) != H5T_FLOAT &&
            loaded_hdf5().H5Tget_class(member) != H5T_INTEGER)
          continue;
        char* field = loaded_hdf5().H5Tget_member_name(type, static_cast<unsigned>(m));
        const Hdf5Handle one(loaded_hdf5().H5Tcreate(H5T_COMPOUND, sizeof(double)), loaded_hdf5().H5Tclose);
        loaded_hdf5().H5Tinsert(one, field, 0, loaded_hdf5().native_double);
        std::vector<double> values(shape[0]);
        if (loaded_hdf5().H5Dread(set, one, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0)
          columns_.push_back({{field, "", false, ""}, std::move(values)});
        loaded_hdf5().H5free_memory(field);
      }
      return;
    }
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) return;
    if (shape.size() == 2 && (shape[0] == 1 || shape[1] == 1)) shape.assign(1, shape[0] * shape[1]);
    if (shape.empty() || shape.size() > 2) return;
    hsize_t count = 1;
    for (hsize_t n : shape) count *= n;
    std::vector<double> values(count);
    if (loaded_hdf5().H5Dread(set, loaded_hdf5().native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                              values.data()) < 0)
      return;
    if (shape.size() == 1) {
      columns_.push_back({{name, unit, false, ""}, std::move(values)});
      return;
    }
    // A table with its names beside it.
    const std::size_t slash = name.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "" : name.substr(0, slash + 1);
    auto names = texts_of(folder + "names"), units = texts_of(folder + "units");
    for (const char* key : {"columns", "names"})
      if (names.size() != shape[1]) names = attribute_texts(set, key);
    if (units.size() != shape[1]) units = attribute_texts(set, "units");
    for (hsize_t c = 0; c < shape[1]; ++c) {
      LoadedColumn column;
      column.column.name = names.size() == shape[1] ? names[c] : fmt::format("{}[{}]", name, c + 1);
      if (units.size() == shape[1]) column.column.unit = units[c];
      for (hsize_t r = 0; r < shape[0]; ++r) column.values.push_back(values[r * shape[1] + c]);
      columns_.push_back(std::move(column));
    }
  }

  std::filesystem::path path_;
  const TableOptions& options_;
  hid_t file_ = -1;
  std::vector<std::string> names_;
  std::vector<LoadedColumn> columns_;
};

}  // namespace

std::unique_ptr<TableSource> open_hdf5(const std::filesystem::path& file, const TableOptions& options) {
  return Hdf5Reader(file, options).open();
}

}  // namespace tellegen
