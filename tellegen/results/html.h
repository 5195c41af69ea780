// Reports as one HTML file that needs nothing else: no scripts, no fonts, no pictures from outside. It reads
// on a telephone and on a desk, in light and in dark.
//
// A page is made of parts, one for each thing that was done (a network, a calibration, an estimation). A part
// carries what it found for machines, too, so that the parts of several pages can be put together again:
//
//   write_file("report.html", to_html(page));
//   Page again = read_html(text);      the parts as they were
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// For the text of an element and the value of an attribute.
std::string escaped(std::string_view text);

struct HtmlTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // text, escaped here; missing cells are empty
  std::string caption;
};

// Columns of numbers are set to the right. A wide table scrolls in itself.
std::string to_html(const HtmlTable& table);

std::string paragraph(std::string_view text);                // escaped
std::string notices(const std::vector<std::string>& lines);  // escaped; nothing where there are none
std::string subsection(std::string_view heading, const std::string& html);
std::string side_by_side(const std::vector<std::string>& html);  // side by side where there is room
std::string folded(std::string_view summary, const std::string& html);

struct PagePart {
  std::string title;
  std::string html;
  std::string data;  // for machines: JSON
};

struct Page {
  std::string title;
  std::string introduction;  // text
  std::vector<PagePart> parts;
};

std::string to_html(const Page& page);

// The parts of a page that to_html() wrote; nothing where it is another file.
std::optional<Page> read_html(std::string_view text);

// Colours and sizes of figures, for a picture that stands alone.
std::string figure_style();

}  // namespace tellegen
