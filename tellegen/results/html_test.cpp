#include "tellegen/results/html.h"

#include <gtest/gtest.h>

#include "tellegen/results/test_html.h"

namespace tellegen {
namespace html_test {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string nasty = "<b>\"R&D\" isn't > 1</b>\x01";

Page example() {
  Page page{"A & B", "Said <so>.", {}};
  page.parts.push_back({"First", paragraph("one"), R"({"part":"estimate","name":"<T1> \"x\""})"});
  page.parts.push_back({nasty,
                        to_html(HtmlTable{{"name", "value"}, {{nasty, "1.5"}, {"b", "-"}}, nasty}) +
                            notices({nasty}) + subsection(nasty, paragraph(nasty)) +
                            side_by_side({paragraph("l"), "", paragraph("r")}) + folded(nasty, "<p>x</p>"),
                        "{}"});
  page.parts.push_back({"Third", "", ""});
  return page;
}

TEST(Html, text_is_escaped_and_control_characters_are_dropped) {
  EXPECT_EQ(escaped(nasty), "&lt;b&gt;&quot;R&amp;D&quot; isn&#39;t &gt; 1&lt;/b&gt;");
  EXPECT_EQ(escaped("µ ± Ω\n"), "µ ± Ω\n");
}

TEST(Html, page_is_well_formed_and_needs_nothing_from_outside) {
  const std::string html = to_html(example());
  EXPECT_EQ(tag_fault(html), "");
  EXPECT_EQ(outside_reference(html), "");
  EXPECT_FALSE(has(html, "<b>"));
  EXPECT_TRUE(has(html, "<title>A &amp; B</title>"));
  EXPECT_TRUE(has(html, "name=\"viewport\""));
  EXPECT_TRUE(has(html, "prefers-color-scheme: dark"));
  EXPECT_TRUE(has(html, "href=\"#part2\"") && has(html, "id=\"part2\""));
}

TEST(Html, the_test_of_pages_finds_faults) {
  EXPECT_NE(tag_fault("<p><b>x</p></b>"), "");
  EXPECT_NE(tag_fault("<p>"), "");
  EXPECT_NE(tag_fault("<p title=\"<\"></p>"), "");
  EXPECT_EQ(tag_fault("<p><br><path d=\"M0 0\"/></p>"), "");
  EXPECT_NE(outside_reference("<img src=\"x.png\">"), "");
}

TEST(Html, columns_of_numbers_are_set_to_the_right) {
  const std::string html =
      to_html(HtmlTable{{"name", "value", "share"}, {{"a", "1.5", "95.1 %"}, {"b", "-", "3 %"}, {"c"}}, ""});
  EXPECT_TRUE(has(html, "<td>a</td><td class=\"number\">1.5</td><td class=\"number\">95.1 %</td>"));
  EXPECT_TRUE(has(html, "<th>name</th><th class=\"number\">value</th>"));
}

TEST(Html, a_table_too_wide_for_a_small_screen_has_labels_to_be_stacked) {
  const std::vector<std::string> header{"sensor",          "used",     "missing",
                                        "out of range",    "stuck",    "refused",
                                        "innovation mean", "variance", "<white>"};
  const std::string wide =
      to_html(HtmlTable{header, {{"T_h", "1801", "0", "0", "0", "0", "0.0123", "1.0123", "0.79"}}, ""});
  EXPECT_TRUE(has(wide, "<table class=\"stacked\">"));
  EXPECT_TRUE(has(wide, "<td class=\"number\" data-label=\"&lt;white&gt;\">0.79</td>")) << wide;
  EXPECT_EQ(tag_fault(wide), "");
  const std::string narrow = to_html(HtmlTable{{"sensor", "noise", "unit"}, {{"T_h", "0.15", "degC"}}, ""});
  EXPECT_FALSE(has(narrow, "stacked") || has(narrow, "data-label")) << narrow;
}

TEST(Html, parts_of_a_page_come_back_as_they_were) {
  const Page page = example();
  const auto again = read_html(to_html(page));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->title, page.title);
  EXPECT_EQ(again->introduction, page.introduction);
  ASSERT_EQ(again->parts.size(), page.parts.size());
  for (std::size_t p = 0; p < page.parts.size(); ++p) {
    EXPECT_EQ(again->parts[p].data, page.parts[p].data);
    EXPECT_EQ(again->parts[p].html, page.parts[p].html);
  }
  EXPECT_EQ(again->parts[0].title, "First");
  EXPECT_EQ(to_html(*again), to_html(*read_html(to_html(*again))));
}

TEST(Html, another_file_has_no_parts) {
  EXPECT_FALSE(read_html(""));
  EXPECT_FALSE(read_html("<!doctype html><html><body><h1>x</h1></body></html>"));
}

}  // namespace html_test
}  // namespace tellegen
