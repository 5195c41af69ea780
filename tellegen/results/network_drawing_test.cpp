#include "tellegen/results/network_drawing.h"

#include <gtest/gtest.h>

#include <regex>

#include "tellegen/results/test_html.h"

namespace tellegen {
namespace network_drawing_test {

using Symbol = DrawnNetwork::Symbol;

DrawnNetwork ladder(int sections) {
  DrawnNetwork network;
  network.nodes.push_back({"datum", true, {}});
  for (int k = 1; k <= sections; ++k) network.nodes.push_back({"n" + std::to_string(k), false, {}});
  network.edges.push_back({"source", "", 0, 1, Symbol::through_source, false});
  for (int k = 1; k < sections; ++k)
    network.edges.push_back({"r" + std::to_string(k), "", k, k + 1, Symbol::resistor, k == 1});
  for (int k = 1; k <= sections; ++k)
    network.edges.push_back({"c" + std::to_string(k), "", k, 0, Symbol::store, false});
  return network;
}

struct Box {
  double x, y, w, h;
};

std::vector<Box> boxes(const std::string& svg) {
  std::vector<Box> all;
  const std::regex pattern(
      "<rect class=\"(?:node|part|part unknown|badge)\" x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" "
      "width=\"([0-9.]+)\" "
      "height=\"([0-9.]+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at)
    all.push_back({std::stod((*at)[1]), std::stod((*at)[2]), std::stod((*at)[3]), std::stod((*at)[4])});
  return all;
}

TEST(NetworkDrawing, has_every_node_component_and_sensor) {
  DrawnNetwork network = ladder(4);
  network.nodes[3].sensors = {"S<1>"};
  const std::string html = to_html(network);
  EXPECT_EQ(tag_fault(html), "");
  EXPECT_EQ(outside_reference(html), "");
  for (const char* text :
       {">n1<", ">n4<", ">r1<", ">c4<", ">source<", "S&lt;1&gt;", "unknown", "ground is the datum."})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST(NetworkDrawing, nothing_overlaps_and_nothing_lies_outside) {
  // Two legs that join, one component across them, two in parallel.
  DrawnNetwork network = ladder(3);
  network.nodes.push_back({"other", false, {"S1", "S2"}});
  network.edges.push_back({"source2", "", 0, 4, Symbol::through_source, false});
  network.edges.push_back({"joining", "", 4, 2, Symbol::resistor, false});
  network.edges.push_back({"across", "", 1, 4, Symbol::resistor, false});
  network.edges.push_back({"parallel", "", 2, 3, Symbol::coil, false});
  const std::string svg = to_svg(network);
  std::smatch view;
  ASSERT_TRUE(std::regex_search(svg, view, std::regex("viewBox=\"0 0 ([0-9]+) ([0-9]+)\"")));
  const std::vector<Box> all = boxes(svg);
  ASSERT_EQ(all.size(), 4u + 2u + 5u);
  for (std::size_t a = 0; a < all.size(); ++a) {
    EXPECT_GE(all[a].x, 0.0);
    EXPECT_LE(all[a].x + all[a].w, std::stod(view[1]));
    EXPECT_LE(all[a].y + all[a].h, std::stod(view[2]));
    for (std::size_t b = a + 1; b < all.size(); ++b)
      EXPECT_FALSE(all[a].x < all[b].x + all[b].w && all[b].x < all[a].x + all[a].w &&
                   all[a].y < all[b].y + all[b].h && all[b].y < all[a].y + all[a].h)
          << a << " and " << b;
  }
}

TEST(NetworkDrawing, is_the_same_each_time) { EXPECT_EQ(to_svg(ladder(20)), to_svg(ladder(20))); }

TEST(NetworkDrawing, a_held_node_where_much_ends_is_a_reference) {
  DrawnNetwork network = ladder(7);
  network.nodes.push_back({"ref", false, {}});
  for (auto& edge : network.edges)
    for (int* end : {&edge.from, &edge.to})
      if (*end == 0) *end = 8;
  network.edges.push_back({"held", "", 8, 0, Symbol::across_source, false});
  EXPECT_NE(to_html(network).find("ground is the datum or ref."), std::string::npos);
}

TEST(NetworkDrawing, more_than_can_be_read_is_not_drawn_but_told) {
  const std::string html = to_html(ladder(40));
  EXPECT_EQ(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("80 edges"), std::string::npos) << html;
}

TEST(NetworkDrawing, without_components_there_is_nothing) { EXPECT_EQ(to_html(DrawnNetwork{}), ""); }

}  // namespace network_drawing_test
}  // namespace tellegen
