#include "tellegen/report/page.h"

#include <fmt/format.h>

#include "tellegen/model/units.h"
#include "tellegen/report/model_drawing.h"

namespace tellegen {
namespace {

std::string varies(ModelUnknown::Varies how) {
  constexpr const char* words[] = {"constant", "random walk", "integrated random walk", "oscillator"};
  return words[static_cast<int>(how)];
}

}  // namespace

std::string settings_html(const Settings& settings) {
  HtmlTable table{{"setting", "value"}, {}, "Settings"};
  for (const auto& [name, value] : settings)
    if (!value.empty()) table.rows.push_back({name, value});
  table.rows.push_back({"program", "tellegen " TELLEGEN_VERSION});
  return to_html(table);
}

std::string table_html(const TextTable& table, const std::string& caption) {
  return table.rows.empty() ? "" : to_html(HtmlTable{table.header, table.rows, caption});
}

PagePart network_part(const Model& model) {
  const DrawnNetwork network = drawn_network(model);
  HtmlTable sensors{{"sensor", "noise", "unit"}, {}, "Sensors"};
  for (std::size_t o = 0; o < model.outputs.size(); ++o) {
    const ModelOutput& output = model.outputs[o];
    if (!output.sensor) continue;
    const std::string unit = sensor_unit(model, static_cast<int>(o));
    sensors.rows.push_back(
        {output.name, output.noise ? brief_number(deviation_in_unit(*output.noise, unit)) : "-", unit});
  }
  HtmlTable unknowns{{"parameter", "varies", "unit", "what it is"}, {}, "Unknowns"};
  for (const ModelUnknown& unknown : model.unknowns) {
    const ModelParameter& p = model.parameters[unknown.parameter];
    unknowns.rows.push_back({p.name, varies(unknown.varies), p.unit, p.summary});
  }
  std::size_t nodes = 0;
  for (const ModelNode& node : model.nodes) nodes += node.datum ? 0 : 1;
  const std::string tables =
      (sensors.rows.empty() ? "" : to_html(sensors)) + (unknowns.rows.empty() ? "" : to_html(unknowns));
  PagePart part;
  part.title = fmt::format("The network: {}", model.name);
  part.html = paragraph(fmt::format("{} node{} and {} component{}.", nodes, nodes == 1 ? "" : "s",
                                    model.components.size(), model.components.size() == 1 ? "" : "s")) +
              side_by_side({to_html(network), tables});
  part.data = R"({"part":"network"})";
  return part;
}

}  // namespace tellegen
