#include "cli/fmu_check.h"

#include <fmt/format.h>

#include "tellegen/model/fmu_component.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

const FmuUse& the_fmu(const Model& model) {
  return *model.kinds[static_cast<std::size_t>(model.components[0].kind)].fmu;
}

std::string own_name_of(const FmuUse& use, const FmuVariable& v, std::size_t element) {
  const auto own = use.names.find(v.element(element));
  if (own != use.names.end()) return own->second;
  return v.type == FmuType::text && v.causality == "parameter" ? v.name : "";
}

std::string start_of(const FmuVariable& v, std::size_t element) {
  if (v.text) return *v.text;
  return v.start.empty() ? "" : fmt::format("{:g}", v.start[element]);
}

std::string platforms_of(const FmuUse& use) {
  const auto all = use.file->platforms();
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

// Local variables are left out: nothing here can see them.
template <class Visit>
void each_element(const FmuUse& use, Visit visit) {
  for (const char* causality : {"input", "parameter", "output"})
    for (const FmuVariable& v : use.file->description().variables)
      if (v.causality == causality)
        for (std::size_t k = 0; k < v.size(); ++k) visit(v, k);
}

}  // namespace

std::string fmu_text(const Model& model) {
  const FmuUse& use = the_fmu(model);
  const FmuDescription& d = use.file->description();
  TextTable table{{"variable", "name here", "causality", "type", "unit", "start", ""}, {}};
  each_element(use, [&](const FmuVariable& v, std::size_t k) {
    table.rows.push_back({v.element(k), own_name_of(use, v, k), v.causality, std::string(name_of(v.type)),
                          v.unit, start_of(v, k), v.description});
  });
  return fmt::format("{}\n\nFMI {}, {}{}\ncode for: {}\n\n{}\nno faults\n", d.model_name, d.version_text,
                     d.co_simulation.empty() ? "no co-simulation" : "co-simulation",
                     d.model_exchange.empty() ? ""
                     : d.rates.empty() || d.directional
                         ? ", model exchange"
                         : ", model exchange (it gives no derivatives: the integrator takes differences)",
                     platforms_of(use), to_text(table));
}

nlohmann::ordered_json fmu_json(const Model& model) {
  const FmuUse& use = the_fmu(model);
  const FmuDescription& d = use.file->description();
  nlohmann::ordered_json json{{"model", d.model_name},
                              {"fmi", d.version_text},
                              {"co_simulation", !d.co_simulation.empty()},
                              {"model_exchange", !d.model_exchange.empty()},
                              {"platforms", use.file->platforms()},
                              {"variables", nlohmann::ordered_json::array()},
                              {"faults", nlohmann::ordered_json::array()}};
  each_element(use, [&](const FmuVariable& v, std::size_t k) {
    json["variables"].push_back({{"variable", v.element(k)},
                                 {"name", own_name_of(use, v, k)},
                                 {"causality", v.causality},
                                 {"type", name_of(v.type)},
                                 {"unit", v.unit},
                                 {"start", start_of(v, k)},
                                 {"description", v.description}});
  });
  return json;
}

}  // namespace tellegen
