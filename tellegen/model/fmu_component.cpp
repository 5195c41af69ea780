#include "tellegen/model/fmu_component.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "tellegen/model/model.h"
#include "tellegen/model/units.h"
#include "tellegen/symbolic/functions.h"

namespace tellegen {
namespace {

// "der(h)" -> "der_h", "x[1,2]" -> "x_1_2"; names that a model file needs for itself get an underscore: in
// expressions, and as keys of a component.
std::string own_name(std::string_view name, bool is_key, std::set<std::string>& taken) {
  std::string own;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      own += c;
    else if (!own.empty() && own.back() != '_')
      own += '_';
  }
  while (own.size() > 1 && own.back() == '_') own.pop_back();
  if (own.empty() || std::isdigit(static_cast<unsigned char>(own[0]))) own.insert(0, "_");
  for (const char* reserved : {"t", "pi", "datum"})
    if (own == reserved) own += '_';
  for (const char* reserved : {"kind", "model", "every", "isolate", "exchange", "count", "rows"})
    if (is_key && own == reserved) own += '_';
  if (find_function(own)) own += '_';
  while (!taken.insert(own).second) own += '_';
  return own;
}

// The unit in which numbers are declared here, and how an FMU's numbers become SI.
std::string convert(const FmuDescription& d, const FmuVariable& v, FmuSignal& signal) {
  if (v.unit.empty()) return {};
  const FmuUnit* defined = d.unit(v.unit);
  const bool known = units().known(v.unit);
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-9 * (1.0 + std::abs(b)); };
  if (defined && !defined->base.empty()) {
    signal.factor = defined->factor;
    signal.offset = defined->offset;
    if (known && close(units().to_si(0.0, v.unit), signal.offset) &&
        close(units().to_si(1.0, v.unit) - units().to_si(0.0, v.unit), signal.factor))
      return v.unit;
    return units().known(defined->base) ? defined->base : std::string();
  }
  if (!known) return {};
  signal.offset = units().to_si(0.0, v.unit);
  signal.factor = units().to_si(1.0, v.unit) - signal.offset;
  return v.unit;
}

class FmuKind {
 public:
  FmuKind(Pool& pool, std::string name, FmuUse& use) : pool_(pool), use_(use), d_(use.file->description()) {
    kind_.name = std::move(name);
    kind_.summary = d_.description.empty() ? d_.model_name : d_.description;
  }

  Kind make() {
    KindParameter every;
    every.name = "every";
    every.unit = "s";
    every.summary = "communication interval; the step if not given";
    every.fallback = pool_.number(std::numeric_limits<double>::min());
    every.above = 0.0;
    kind_.parameters.push_back(every);
    sample("~clock", "", pool_.symbol("t"), 0.0);
    discrete("~due", "", 0.0);
    each("input", [&](int v, std::size_t e) { add_input(v, e); });
    each("output", [&](int v, std::size_t e) { add_output(v, e); });
    for (const char* causality : {"parameter", "output", "local"})
      each(causality, [&](int v, std::size_t e) { add_parameter(v, e); });
    return std::move(kind_);
  }

 private:
  template <class Add>
  void each(std::string_view causality, Add add) {
    for (std::size_t v = 0; v < d_.variables.size(); ++v) {
      const FmuVariable& variable = d_.variables[v];
      if (variable.causality != causality || !is_number(variable.type)) continue;
      for (std::size_t e = 0; e < variable.size(); ++e) add(static_cast<int>(v), e);
    }
  }

  FmuSignal signal(int v, std::size_t element, std::string& unit) {
    const FmuVariable& variable = d_.variables[static_cast<std::size_t>(v)];
    FmuSignal s;
    s.variable = v;
    s.element = element;
    s.continuous = variable.variability == "continuous" && !is_whole(variable.type);
    unit = convert(d_, variable, s);
    const std::string whole = variable.element(element);
    s.name = own_name(whole, variable.causality != "output", taken_);
    use_.names[whole] = s.name;
    return s;
  }

  double start(const FmuSignal& s) const {
    const FmuVariable& v = d_.variables[static_cast<std::size_t>(s.variable)];
    return v.start.empty() ? 0.0 : s.factor * v.start[s.element] + s.offset;
  }

  KindParameter parameter(const FmuSignal& s, const std::string& unit) const {
    KindParameter p;
    p.name = s.name;
    p.unit = unit;
    p.any_unit = unit.empty();
    p.summary = d_.variables[static_cast<std::size_t>(s.variable)].description;
    return p;
  }

  // Nobody in the model changes it: the FMU does.
  Expr discrete(const std::string& name, const std::string& unit, double start) {
    const auto variable = static_cast<int>(kind_.variables.size());
    kind_.variables.push_back({name, unit, "", pool_.symbol(name)});
    KindDiscrete d;
    d.variable = variable;
    d.held = d.update = pool_.symbol("held(" + name + ")");
    d.start = pool_.number(start);
    kind_.discrete.push_back(d);
    kind_.equations.push_back({kind_.variables.back().symbol - d.held, name + " is held", 0});
    return d.held;
  }
  void sample(const std::string& name, const std::string& unit, Expr update, double start) {
    discrete(name, unit, start);
    kind_.discrete.back().update = update;
    kind_.discrete.back().every = pool_.symbol("every");
  }

  void add_input(int v, std::size_t element) {
    std::string unit;
    const FmuSignal s = signal(v, element, unit);
    const bool none = std::isnan(start(s));  // a reading that is missing until somebody gives it
    const auto& variable = d_.variables[static_cast<std::size_t>(v)];
    if (none && !use_.given.contains(s.name) && !use_.given.contains(variable.element(element))) return;
    KindParameter p = parameter(s, unit);
    if (!none) p.fallback = pool_.number(start(s));
    kind_.parameters.push_back(p);
    sample("~" + s.name, unit, pool_.symbol(s.name), none ? 0.0 : start(s));
    use_.inputs.push_back(s);
  }

  void add_output(int v, std::size_t element) {
    std::string unit;
    const FmuSignal s = signal(v, element, unit);
    const Expr next = discrete("~next " + s.name, unit, start(s));
    if (s.continuous) {
      const Expr slope = discrete("~slope " + s.name, "", 0.0);
      kind_.variables.push_back(
          {s.name, unit, d_.variables[static_cast<std::size_t>(v)].description, pool_.symbol(s.name)});
      const Expr y = next + slope * (pool_.symbol("t") - kind_.discrete[FmuUse::due].held);
      kind_.equations.push_back({kind_.variables.back().symbol - y, s.name + " as its FMU gives it", 0});
    } else {
      sample(s.name, unit, next, start(s));
      kind_.variables.back().summary = d_.variables[static_cast<std::size_t>(v)].description;
    }
    use_.outputs.push_back(s);
  }

  // Parameters, and what other variables begin with where the FMU lets that be said.
  void add_parameter(int v, std::size_t element) {
    const FmuVariable& variable = d_.variables[static_cast<std::size_t>(v)];
    const bool is_start = variable.causality != "parameter";
    if (variable.variability == "constant" || variable.start.empty()) return;
    if (is_start && variable.initial != "exact" && variable.initial != "approx") return;
    FmuSignal s;
    std::string unit;
    if (is_start) {
      s.variable = v;
      s.element = element;
      unit = convert(d_, variable, s);
      s.name = own_name(variable.element(element) + "_start", true, taken_);
    } else {
      s = signal(v, element, unit);
    }
    KindParameter p = parameter(s, unit);
    if (is_start)
      p.optional = true;
    else
      p.fallback = pool_.number(start(s));
    use_.parameters.emplace_back(static_cast<int>(kind_.parameters.size()), s);
    kind_.parameters.push_back(std::move(p));
  }

  Pool& pool_;
  FmuUse& use_;
  const FmuDescription& d_;
  Kind kind_;
  std::set<std::string> taken_;
};

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

}  // namespace

Kind fmu_kind(Pool& pool, std::string name, std::shared_ptr<FmuUse> use) {
  Kind kind = FmuKind(pool, std::move(name), *use).make();
  kind.fmu = std::move(use);
  return kind;
}

std::string fmu_model_text(const std::filesystem::path& fmu) {
  auto use = std::make_shared<FmuUse>();
  use->file = open_fmu(fmu);
  const FmuDescription& d = use->file->description();
  Pool pool;
  const Kind kind = fmu_kind(pool, "", use);
  const auto number = [](Expr value) { return fmt::format("{:.17g}", value.number()); };
  std::string parameters, inputs, outputs, given;
  // Bare numbers of an entry with a unit are in that unit.
  const auto entry = [&](const KindParameter& p) {
    if (p.unit.empty()) return fmt::format("{} = {}\n", p.name, number(p.fallback));
    const double value = units().from_si(p.fallback.number(), p.unit);
    return fmt::format("{} = {{ value = {:.17g}, unit = {} }}\n", p.name, value, in_quotes(p.unit));
  };
  for (std::size_t k = FmuUse::first_input; k < kind.parameters.size(); ++k) {
    const KindParameter& p = kind.parameters[k];
    if (p.optional) continue;
    (k < FmuUse::first_input + use->inputs.size() ? inputs : parameters) += entry(p);
    given += fmt::format(", {0} = {0}", in_quotes(p.name));
  }
  for (const FmuSignal& s : use->outputs) {
    const auto is_it = [&](const KindVariable& v) { return v.name == s.name; };
    const KindVariable& v = *std::find_if(kind.variables.begin(), kind.variables.end(), is_it);
    outputs += v.unit.empty()
                   ? fmt::format("{0} = \"fmu.{0}\"\n", v.name)
                   : fmt::format("{0} = {{ value = \"fmu.{0}\", unit = {1} }}\n", v.name, in_quotes(v.unit));
  }
  const double stop = d.stop_time.value_or(1.0);
  std::string text =
      fmt::format("name = {}\n", in_quotes(d.model_name.empty() ? fmu.stem().string() : d.model_name));
  if (!parameters.empty()) text += "[parameters]\n" + parameters;
  if (!inputs.empty()) text += "[inputs]\n" + inputs;
  text += fmt::format("[components]\nfmu = {{ kind = {}{} }}\n",
                      in_quotes("fmu:" + std::filesystem::absolute(fmu).string()), given);
  if (!outputs.empty()) text += "[outputs]\n" + outputs;
  text +=
      fmt::format("[simulation]\nstop = {:.17g}\nstep = {:.17g}\n", stop, d.step_size.value_or(stop / 500));
  return text;
}

void refuse_fmus(const Model& model, std::string_view what) {
  std::vector<Fault> faults;
  for (const Component& component : model.components)
    if (model.kinds[static_cast<std::size_t>(component.kind)].fmu)
      faults.push_back({component.place,
                        "T693",
                        fmt::format("'{}' is an imported FMU, and {}", component.name, what),
                        {"an FMU can be simulated; its equations are not known"}});
  if (!faults.empty()) throw ModelError(std::move(faults));
}

}  // namespace tellegen
