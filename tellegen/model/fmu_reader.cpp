// Components that are FMUs: `kind = "fmu:plant.fmu"`.
#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/fmu_component.h"
#include "tellegen/model/model_reader.h"

namespace tellegen {

// Index of a kind of its own, or `bad`. Texts, `isolate` and `exchange` are taken here; numbers are
// parameters.
int ModelReader::read_fmu(int scope, const Value& entry, const Value& kind) {
  const Source at = source(scope);
  auto use = std::make_shared<FmuUse>();
  const std::filesystem::path file = scopes_[scope]->folder / std::filesystem::path(kind.text.substr(4));
  try {
    use->file = open_fmu(file);
  } catch (const FmuError& error) {
    at.fault(kind, "T690", fmt::format("'{}' cannot be used: {}", file.string(), error.what()));
    return bad;
  }
  const FmuDescription& d = use->file->description();
  use->isolate = options_.isolate;
  use->exchange = options_.exchange;
  if (const Value* exchange = entry.find("exchange"))
    if (at.is(*exchange, Value::Type::boolean, "'exchange'")) use->exchange = exchange->number != 0.0;
  const bool none = d.co_simulation.empty() && d.model_exchange.empty();
  if (none || d.needs_tool || (use->exchange && d.model_exchange.empty())) {
    at.fault(kind, "T690",
             fmt::format("'{}' cannot be used: {}", file.string(),
                         d.needs_tool ? "it needs the tool that made it (needsExecutionTool)"
                         : none       ? "it has neither co-simulation nor model exchange"
                                      : "it has no model exchange"));
    return bad;
  }
  if (const Value* isolate = entry.find("isolate"))
    if (at.is(*isolate, Value::Type::boolean, "'isolate'")) use->isolate = isolate->number != 0.0;
  for (const Value& item : entry.items) use->given.emplace(item.key);
  for (const Value& item : entry.items) {
    const auto is_it = [&](const FmuVariable& v) { return v.name == item.key; };
    const auto v = std::find_if(d.variables.begin(), d.variables.end(), is_it);
    if (v == d.variables.end() || is_number(v->type)) continue;
    if (v->type == FmuType::text && (v->causality == "parameter" || v->causality == "input")) {
      if (at.is(item, Value::Type::text, fmt::format("'{}' of '{}'", item.key, entry.key)))
        use->texts[v->name] = std::string(item.text);
      else
        use->reported.emplace(item.key);
    } else {
      at.fault(item, "T692",
               fmt::format("'{}' of '{}' cannot be set: it is of type {}, with causality {}", item.key,
                           entry.key, name_of(v->type), v->causality));
      use->reported.emplace(item.key);
    }
  }
  model_.kinds.push_back(fmu_kind(*model_.pool, std::string(kind.text), use));
  Kind& made = model_.kinds.back();
  made.place = at.document.at(kind);
  for (const Value& item : entry.items) {
    const auto& names = made.fmu->names;
    const auto& v = d.variables;
    const auto own = names.find(item.key);
    const std::string name = own == names.end() ? std::string(item.key) : own->second;
    const auto is_it = [&](const FmuSignal& s) { return s.name == name; };
    const auto& outputs = made.fmu->outputs;
    if (const auto output = std::find_if(outputs.begin(), outputs.end(), is_it); output != outputs.end()) {
      at.fault(
          item, "T692",
          fmt::format("'{}' is an output of the FMU '{}', not an input or a parameter", item.key, entry.key),
          {v[static_cast<std::size_t>(output->variable)].initial.empty()
               ? ""
               : fmt::format("its initial value is '{}_start'", name)});
      use->reported.emplace(item.key);
    }
  }
  return static_cast<int>(model_.kinds.size()) - 1;
}

}  // namespace tellegen
