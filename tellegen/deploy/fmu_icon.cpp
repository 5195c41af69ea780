// PNG without compression: the archive compresses. [ISO/IEC 15948], [RFC 1950], [RFC 1951].
#include "tellegen/deploy/fmu_icon.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace tellegen {
namespace {

constexpr int width = 96, most_pins = 8;

enum Color : char { nothing, ink, paper, across, color_count };
// Red, green, blue and opacity.
constexpr std::array<std::array<unsigned char, 4>, color_count> colors{
    {{255, 255, 255, 0}, {40, 48, 60, 255}, {246, 247, 249, 255}, {32, 108, 176, 255}}};

class Picture {
 public:
  void fill(int x1, int y1, int x2, int y2, Color color) {
    for (int y = y1; y < y2; ++y)
      for (int x = x1; x < x2; ++x) at(x, y) = color;
  }
  void disc(double cx, double cy, double radius, Color color) {
    for (int y = 0; y < width; ++y)
      for (int x = 0; x < width; ++x)
        if (std::hypot(x + 0.5 - cx, y + 0.5 - cy) <= radius) at(x, y) = color;
  }
  void line(double x1, double y1, double x2, double y2, double thick, Color color) {
    const double length = std::hypot(x2 - x1, y2 - y1);
    for (double s = 0.0; s <= length; s += 0.5)
      disc(x1 + (x2 - x1) * s / length, y1 + (y2 - y1) * s / length, thick / 2, color);
  }
  // Rows of a byte for the filter (none) and a byte for each pixel.
  std::string rows() const {
    std::string out;
    for (const auto& row : pixels_) out += '\0' + std::string(row.begin(), row.end());
    return out;
  }

 private:
  char& at(int x, int y) { return pixels_[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)]; }
  std::array<std::array<char, width>, width> pixels_{};
};

std::string big_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

std::string chunk(std::string_view type, std::string_view content) {
  std::string checked(type);
  checked += content;
  std::uint32_t sum = 0xffffffffu;  // CRC-32
  for (char c : checked) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320u : 0u);
  }
  return big_endian(static_cast<std::uint32_t>(content.size())) + checked + big_endian(~sum);
}

// A zlib stream of one block that is stored as it is.
std::string stored(const std::string& bytes) {
  const auto size = static_cast<std::uint16_t>(bytes.size());
  std::string out = "\x78\x01\x01";
  for (const std::uint16_t length : {size, static_cast<std::uint16_t>(~size)})
    out += {static_cast<char>(length), static_cast<char>(length >> 8)};
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return out + bytes + big_endian(b << 16 | a);
}
static_assert(width * (width + 1) < 65536);

std::string png(const Picture& picture) {
  std::string palette, opacity;
  for (const auto& c : colors) {
    for (std::size_t k = 0; k < 3; ++k) palette += static_cast<char>(c[k]);
    opacity += static_cast<char>(c[3]);
  }
  std::string header = big_endian(width) + big_endian(width);
  header += {8, 3, 0, 0, 0};  // a byte a pixel, a number in the palette
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("PLTE", palette) + chunk("tRNS", opacity) +
         chunk("IDAT", stored(picture.rows())) + chunk("IEND", "");
}

}  // namespace

std::string fmu_icon(int inputs, int outputs) {
  Picture picture;
  picture.fill(10, 4, 86, 92, ink);
  picture.fill(12, 6, 84, 90, paper);
  const auto pins = [&](int count, int x1, int x2) {
    count = std::min(count, most_pins);
    for (int k = 0; k < count; ++k) {
      const int y = 6 + 84 * (2 * k + 1) / (2 * count);
      picture.fill(x1, y - 2, x2, y + 2, ink);
    }
  };
  pins(inputs, 2, 10);
  pins(outputs, 86, 94);
  const std::array<std::pair<double, double>, 3> nodes{{{26, 68}, {48, 26}, {70, 68}}};
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto& [x1, y1] = nodes[k];
    const auto& [x2, y2] = nodes[(k + 1) % nodes.size()];
    picture.line(x1, y1, x2, y2, 3, across);
  }
  for (const auto& [x, y] : nodes) picture.disc(x, y, 7, ink);
  return png(picture);
}

}  // namespace tellegen
