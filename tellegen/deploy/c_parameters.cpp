#include "tellegen/deploy/c_parameters.h"

#include <algorithm>
#include <set>

#include "tellegen/deploy/c_names.h"
#include "tellegen/equations/system.h"
#include "tellegen/simulate/signature.h"

namespace tellegen {
namespace {

using Names = std::set<std::string>;

class ParameterFinder {
 public:
  ParameterFinder(const Model& model, const Simulation& simulation, const StepCode& code)
      : model_(model), simulation_(simulation), code_(code) {
    for (const ModelParameter& p : model.parameters)
      if (symbols_of(std::span(&p.value, 1)).empty())
        plain_.push_back(p.symbol);
      else
        formulas_[p.symbol] = p.value;
  }

  CParameters find() {
    const Names used = follow_numbers(), baked = in_formulas(), deciding = deciding_names();
    CMembers members;
    for (std::size_t p = 0; p < model_.parameters.size(); ++p) {
      const ModelParameter& parameter = model_.parameters[p];
      if (std::find(plain_.begin(), plain_.end(), parameter.symbol) == plain_.end()) continue;
      const std::string symbol = parameter.symbol.name();
      std::string reason;
      if (baked.contains(symbol))
        reason = "an output or a change at an event has it in its formula";
      else if (deciding.contains(symbol))
        reason = "it decides when a source jumps";
      else if (!used.contains(symbol))
        reason = code_.parts.back().numbers.empty() ? "this method's code has numbers of its own"
                                                    : "the step does not depend on it, or it is zero";
      if (reason.empty())
        result_.settings.push_back({static_cast<int>(p), members.add(parameter.name)});
      else
        result_.fixed.push_back(parameter.name + ": " + reason);
    }
    put_in_fixed();
    return std::move(result_);
  }

 private:
  // In parameters that are plain numbers.
  Expr of_plain(Expr value) const {
    for (std::size_t k = 0; k <= model_.parameters.size(); ++k) {
      const Expr next = substitute(value, formulas_);
      if (next == value) break;
      value = next;
    }
    return value;
  }

  static void add_names(Names& names, Expr value) {
    for (Expr s : symbols_of(std::span(&value, 1))) names.insert(s.name());
  }

  Names follow_numbers() {
    Names used;
    for (std::size_t k = 0; k < code_.parts.size(); ++k)
      for (const StepCode::Number& n : code_.parts[k].numbers) {
        const Expr value = number_formula(simulation_.system(), n);
        if (!value) continue;
        const Expr plain_value = of_plain(value);
        if (symbols_of(std::span(&plain_value, 1)).empty()) continue;
        result_.followed.push_back({k, n.reg, plain_value});
        add_names(used, plain_value);
      }
    return used;
  }

  Names in_formulas() const {
    Names names;
    for (const OutputColumn& column : simulation_.outputs())
      add_names(names, of_plain(expand_names(model_, column.value)));
    for (std::size_t c = 0; c < model_.components.size(); ++c)
      for (const KindDiscrete& d : model_.kinds[model_.components[c].kind].discrete)
        for (const Expr formula : {d.update, d.every})
          if (formula)
            add_names(names,
                      of_plain(expand_names(model_, in_full_names(model_, static_cast<int>(c), formula))));
    return names;
  }

  Names deciding_names() const {
    Names names;
    if (!code_.events) return names;
    for (const StepCode::Number& n : code_.events->deciding)
      if (const Expr value = number_formula(simulation_.system(), n)) add_names(names, of_plain(value));
    return names;
  }

  // What depends on a fixed parameter keeps its number for it.
  void put_in_fixed() {
    ExprMap<Expr> numbers;
    for (std::size_t p = 0; p < model_.parameters.size(); ++p)
      if (std::none_of(result_.settings.begin(), result_.settings.end(),
                       [&](const CParameters::Setting& s) { return s.parameter == static_cast<int>(p); }))
        numbers[model_.parameters[p].symbol] = model_.pool->number(model_.parameters[p].number);
    for (CParameters::Followed& f : result_.followed) f.value = substitute(f.value, numbers);
    std::erase_if(result_.followed,
                  [&](const CParameters::Followed& f) { return symbols_of(std::span(&f.value, 1)).empty(); });
  }

  const Model& model_;
  const Simulation& simulation_;
  const StepCode& code_;
  std::vector<Expr> plain_;
  ExprMap<Expr> formulas_;  // of parameters that follow from others, innermost first
  CParameters result_;
};

}  // namespace

CParameters find_c_parameters(const Model& model, const Simulation& simulation, const StepCode& code) {
  return ParameterFinder(model, simulation, code).find();
}

}  // namespace tellegen
