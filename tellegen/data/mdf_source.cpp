// Measurement files of ASAM MDF 4: a tree of blocks linked by their places in the file.
//
//   HD -> DG (data group) -> CG (channel group: rows of one rate) -> CN (channel) -> CC (conversion), TX
//   (texts) the rows: DT, or compressed DZ, or lists of them: DL, HL
//
// Not read, and said: channels of variable length, arrays, texts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tellegen/data/binary_bytes.h"
#include "tellegen/data/binary_sources.h"
#include "tellegen/data/time_text.h"

namespace tellegen {
namespace {

constexpr double no_sample = std::numeric_limits<double>::quiet_NaN();

struct MdfBlock {
  std::string_view id;
  std::vector<std::uint64_t> links;
  std::string_view data;
};

struct MdfChannel {
  std::string name, unit;
  bool master = false, is_virtual = false;
  std::uint8_t data_type = 0, bit_offset = 0;
  std::uint32_t byte_offset = 0, bits = 0, invalid_bit = 0;
  bool can_be_invalid = false, all_invalid = false;
  std::uint64_t conversion = 0;
  std::vector<double> values;
};

struct MdfGroup {
  std::uint64_t record_id = 0, cycles = 0;
  std::uint32_t bytes = 0, invalid_bytes = 0;
  bool variable = false;  // its records are texts of their own length
  std::vector<MdfChannel> channels;
};

class MdfReader {
 public:
  MdfReader(const std::filesystem::path& file, const TableOptions& options)
      : path_(file), options_(options), bytes_(file_bytes(file)), in_(bytes_, path_) {}

  std::unique_ptr<TableSource> open() {
    const MdfBlock head = block(64, "##HD");
    start_ = BinaryBytes(head.data, path_).get<std::uint64_t>(0);
    for (std::uint64_t at = link(head, 0); at != 0;) {
      const MdfBlock group = block(at, "##DG");
      read_data_group(group);
      at = link(group, 0);
    }
    return merged();
  }

 private:
  MdfBlock block(std::uint64_t at, std::string_view expected) {
    if (++visited_ > 10'000'000) throw cannot_read(path_, "its blocks go round in a circle");
    MdfBlock found;
    found.id = in_.part(at, 4);
    const auto length = in_.get<std::uint64_t>(at + 8), links = in_.get<std::uint64_t>(at + 16);
    if ((!expected.empty() && found.id != expected) || links > length / 8 || length < 24)
      throw cannot_read(
          path_, fmt::format("a block of it is damaged ({} expected)", expected.empty() ? "data" : expected));
    in_.part(at, length);
    for (std::uint64_t k = 0; k < links; ++k) found.links.push_back(in_.get<std::uint64_t>(at + 24 + 8 * k));
    found.data = in_.part(at + 24 + 8 * links, length - 24 - 8 * links);
    return found;
  }
  std::uint64_t link(const MdfBlock& b, std::size_t k) const { return k < b.links.size() ? b.links[k] : 0; }

  // A text, or the <TX> of one in XML.
  std::string text(std::uint64_t at) {
    if (at == 0) return "";
    const MdfBlock b = block(at, "");
    std::string found(b.data);
    found.resize(std::min(found.find('\0'), found.size()));
    if (b.id == "##MD") {
      const std::size_t from = found.find("<TX>"), to = found.find("</TX>");
      found = from == found.npos || to == found.npos ? "" : found.substr(from + 4, to - from - 4);
    }
    return found;
  }

  void read_data_group(const MdfBlock& data_group) {
    const auto id_size = static_cast<std::uint8_t>(data_group.data.empty() ? 0 : data_group.data[0]);
    std::vector<MdfGroup> groups;
    for (std::uint64_t at = link(data_group, 1); at != 0;) {
      const MdfBlock b = block(at, "##CG");
      const BinaryBytes data(b.data, path_);
      MdfGroup group;
      group.record_id = data.get<std::uint64_t>(0);
      group.cycles = data.get<std::uint64_t>(8);
      group.variable = (data.get<std::uint16_t>(16) & 1) != 0;
      group.bytes = data.get<std::uint32_t>(24);
      group.invalid_bytes = data.get<std::uint32_t>(28);
      for (std::uint64_t channel = link(b, 1); channel != 0;) channel = read_channel(channel, group);
      groups.push_back(std::move(group));
      at = link(b, 0);
    }
    std::string rows;
    read_rows(link(data_group, 2), rows);
    take_rows(groups, id_size, rows);
    for (MdfGroup& group : groups)
      if (!group.variable && !group.channels.empty()) groups_.push_back(std::move(group));
  }

  std::uint64_t read_channel(std::uint64_t at, MdfGroup& group) {
    const MdfBlock b = block(at, "##CN");
    const BinaryBytes data(b.data, path_);
    MdfChannel channel;
    const auto type = data.get<std::uint8_t>(0), sync = data.get<std::uint8_t>(1);
    channel.data_type = data.get<std::uint8_t>(2);
    channel.bit_offset = data.get<std::uint8_t>(3);
    channel.byte_offset = data.get<std::uint32_t>(4);
    channel.bits = data.get<std::uint32_t>(8);
    const auto flags = data.get<std::uint32_t>(12);
    channel.invalid_bit = data.get<std::uint32_t>(16);
    channel.all_invalid = (flags & 1) != 0;
    channel.can_be_invalid = (flags & 2) != 0;
    channel.name = text(link(b, 2));
    channel.unit = text(link(b, 6));
    channel.conversion = link(b, 4);
    if (channel.unit.empty() && channel.conversion != 0)
      channel.unit = text(link(block(channel.conversion, "##CC"), 1));
    channel.master = (type == 2 || type == 3) && sync <= 1;
    channel.is_virtual = type == 3 || type == 6;
    const bool fixed = type == 0 || type == 2 || type == 3 || type == 6;
    if (fixed && channel.data_type <= 5 && link(b, 1) == 0 && (channel.is_virtual || fits(channel, group)))
      group.channels.push_back(std::move(channel));
    else
      ++passed_;
    return link(b, 0);
  }

  static bool fits(const MdfChannel& c, const MdfGroup& group) {
    const bool real = c.data_type >= 4;
    return c.bits > 0 && c.bits <= 64 && c.bit_offset < 8 && (!real || c.bits == 32 || c.bits == 64) &&
           (c.bit_offset + c.bits + 7) / 8 <= 8 &&
           c.byte_offset + (c.bit_offset + c.bits + 7) / 8 <= group.bytes;
  }

  // The bytes of all rows, whatever the blocks they stand in.
  void read_rows(std::uint64_t at, std::string& rows) {
    while (at != 0) {
      const MdfBlock b = block(at, "");
      at = 0;
      if (b.id == "##DT" || b.id == "##DV") {
        rows.append(b.data);
      } else if (b.id == "##DZ") {
        const BinaryBytes data(b.data, path_);
        const auto zip = data.get<std::uint8_t>(2);
        const auto columns = data.get<std::uint32_t>(4);
        const auto size = data.get<std::uint64_t>(8), packed = data.get<std::uint64_t>(16);
        std::string plain = inflated(data.part(24, packed), size, path_);
        if (zip == 1 && columns > 1) transpose(plain, columns);
        rows.append(plain);
      } else if (b.id == "##HL") {
        at = link(b, 0);
      } else if (b.id == "##DL") {
        for (std::size_t k = 1; k < b.links.size(); ++k)
          if (b.links[k] != 0) read_rows(b.links[k], rows);
        at = link(b, 0);
      } else {
        throw cannot_read(path_, fmt::format("its rows stand in blocks '{}', which are not read", b.id));
      }
    }
  }

  // Compressed column by column: back to rows. What is left over at the end stands as it is.
  static void transpose(std::string& bytes, std::size_t columns) {
    const std::size_t lines = bytes.size() / columns;
    std::string rows(bytes);
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t r = 0; r < lines; ++r) rows[r * columns + c] = bytes[c * lines + r];
    bytes = std::move(rows);
  }

  void take_rows(std::vector<MdfGroup>& groups, std::size_t id_size, std::string_view rows) {
    const BinaryBytes data(rows, path_);
    std::map<std::uint64_t, MdfGroup*> by_id;
    for (MdfGroup& group : groups) by_id[group.record_id] = &group;
    if (groups.empty()) return;
    for (std::size_t at = 0; at < rows.size();) {
      MdfGroup* group = &groups.front();
      if (id_size > 0) {
        std::uint64_t id = 0;
        std::memcpy(&id, data.part(at, std::min<std::size_t>(id_size, 8)).data(),
                    std::min<std::size_t>(id_size, 8));
        at += id_size;
        const auto found = by_id.find(id);
        if (found == by_id.end()) throw cannot_read(path_, "a row of it belongs to no group");
        group = found->second;
      }
      if (group->variable) {
        at += 4 + data.get<std::uint32_t>(at);
        continue;
      }
      const std::size_t size = std::size_t{group->bytes} + group->invalid_bytes;
      if (size == 0) return;
      if (at + size > rows.size()) {
        ++cut_off_;
        return;
      }
      const std::string_view row = rows.substr(at, size);
      const double index =
          group->channels.empty() ? 0.0 : static_cast<double>(group->channels[0].values.size());
      for (MdfChannel& channel : group->channels)
        channel.values.push_back(value(channel, *group, row, index));
      at += size;
    }
  }

  double value(const MdfChannel& c, const MdfGroup& group, std::string_view row, double index) {
    if (c.all_invalid) return no_sample;
    if (c.can_be_invalid && group.bytes + c.invalid_bit / 8 < row.size() &&
        (static_cast<unsigned char>(row[group.bytes + c.invalid_bit / 8]) >> (c.invalid_bit % 8) & 1) != 0)
      return no_sample;
    double raw = index;
    if (!c.is_virtual) {
      const std::size_t size = (c.bit_offset + c.bits + 7) / 8;
      unsigned char bytes[8] = {};
      std::memcpy(bytes, row.data() + c.byte_offset, size);
      if (c.data_type % 2 == 1) std::reverse(bytes, bytes + size);  // big-endian
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes, 8);
      bits >>= c.bit_offset;
      if (c.bits < 64) bits &= (std::uint64_t{1} << c.bits) - 1;
      if (c.data_type <= 1) {
        raw = static_cast<double>(bits);
      } else if (c.data_type <= 3) {
        const unsigned up = 64 - c.bits;
        raw = static_cast<double>(static_cast<std::int64_t>(bits << up) >> up);
      } else if (c.bits == 32) {
        raw = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      } else {
        raw = std::bit_cast<double>(bits);
      }
    }
    return c.conversion == 0 ? raw : converted(conversion(c.conversion), raw);
  }

  struct Conversion {
    std::uint8_t type = 0;
    std::vector<double> values;
  };
  const Conversion& conversion(std::uint64_t at) {
    const auto [entry, fresh] = conversions_.try_emplace(at);
    if (fresh) {
      const MdfBlock b = block(at, "##CC");
      const BinaryBytes data(b.data, path_);
      entry->second.type = data.get<std::uint8_t>(0);
      const auto count = data.get<std::uint16_t>(6);
      for (std::size_t k = 0; k < count; ++k) entry->second.values.push_back(data.get<double>(24 + 8 * k));
      if (entry->second.type == 3)
        throw cannot_read(path_, "a channel is converted by a formula, which is not read");
    }
    return entry->second;
  }

  static double converted(const Conversion& c, double x) {
    const auto& v = c.values;
    switch (c.type) {
      case 1:
        return v.size() >= 2 ? v[0] + v[1] * x : x;
      case 2:
        return v.size() >= 6 ? (v[0] * x * x + v[1] * x + v[2]) / (v[3] * x * x + v[4] * x + v[5]) : x;
      case 4:
      case 5: {  // pairs of key and value
        const std::size_t n = v.size() / 2;
        if (n == 0) return x;
        if (x <= v[0]) return v[1];
        for (std::size_t k = 1; k < n; ++k)
          if (x <= v[2 * k]) {
            const double a = v[2 * k - 2], b = v[2 * k], along = (x - a) / (b - a);
            if (c.type == 5) return x - a < b - x || x - a == b - x ? v[2 * k - 1] : v[2 * k + 1];
            return v[2 * k - 1] + along * (v[2 * k + 1] - v[2 * k - 1]);
          }
        return v[2 * n - 1];
      }
      case 6: {  // triples of lower end, upper end and value
        for (std::size_t k = 0; k + 2 < v.size(); k += 3)
          if (x >= v[k] && x <= v[k + 1]) return v[k + 2];
        return v.empty() ? x : v.back();
      }
      default:
        return x;  // values that stand for texts stay numbers
    }
  }

  // All groups over one column of times.
  std::unique_ptr<TableSource> merged() {
    struct Cursor {
      const MdfGroup* group;
      const MdfChannel* master;
      std::size_t first_column, at = 0;
    };
    std::vector<Cursor> cursors;
    std::vector<LoadedColumn> columns(1);
    columns[0].column = {"time", "s", true, ""};
    std::map<std::string, int> seen;
    std::size_t without_time = 0;
    for (const MdfGroup& group : groups_)
      for (const MdfChannel& channel : group.channels) seen[channel.name] += !channel.master;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const MdfGroup& group = groups_[g];
      const auto master = std::find_if(group.channels.begin(), group.channels.end(),
                                       [](const MdfChannel& c) { return c.master; });
      if (master == group.channels.end() || master->values.empty()) {
        without_time += group.channels.size();
        continue;
      }
      cursors.push_back({&group, &*master, columns.size(), 0});
      for (const MdfChannel& channel : group.channels) {
        if (channel.master) continue;
        std::string name = channel.name;
        if (seen[name] > 1) name += fmt::format(" #{}", g + 1);  // the same name in several groups
        columns.push_back({{std::move(name), channel.unit, false, ""}, {}});
      }
    }
    if (cursors.empty()) throw cannot_read(path_, "none of its groups has samples with times");
    for (;;) {
      double t = std::numeric_limits<double>::infinity();
      for (const Cursor& c : cursors)
        if (c.at < c.master->values.size()) t = std::min(t, c.master->values[c.at]);
      if (!std::isfinite(t)) break;
      columns[0].values.push_back(t);
      for (Cursor& c : cursors) {
        const bool now = c.at < c.master->values.size() && c.master->values[c.at] == t;
        std::size_t column = c.first_column;
        for (const MdfChannel& channel : c.group->channels)
          if (!channel.master) columns[column++].values.push_back(now ? channel.values[c.at] : no_sample);
        c.at += now;
      }
    }
    std::string description =
        fmt::format("MDF 4, {} channels in {} group{} from {}", columns.size() - 1, cursors.size(),
                    cursors.size() == 1 ? "" : "s", time_words(static_cast<std::int64_t>(start_)));
    if (cursors.size() > 1) description += ", merged by time";
    if (passed_ > 0) description += fmt::format(", {} channels that are no numbers passed over", passed_);
    if (without_time > 0) description += fmt::format(", {} channels without times passed over", without_time);
    if (cut_off_ > 0) description += ", the last row is cut off";
    columns[0].column.is_time = false;
    return loaded_table(std::move(columns), std::move(description), options_, path_);
  }

  std::filesystem::path path_;
  const TableOptions& options_;
  std::string bytes_;
  BinaryBytes in_;
  std::uint64_t start_ = 0, visited_ = 0;
  int passed_ = 0, cut_off_ = 0;
  std::vector<MdfGroup> groups_;
  std::map<std::uint64_t, Conversion> conversions_;
};

}  // namespace

std::unique_ptr<TableSource> open_mdf(const std::filesystem::path& file, const TableOptions& options) {
  return MdfReader(file, options).open();
}

}  // namespace tellegen
