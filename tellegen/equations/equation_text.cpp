#include "tellegen/equations/equation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "tellegen/equations/minimal.h"
#include "tellegen/graph/faults.h"
#include "tellegen/model/named_formula.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// Comments of generated C end where they should.
std::string in_comment(std::string text) {
  for (std::size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "* /");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class CNames {
 public:
  explicit CNames(const EquationPage& page) {
    for (std::size_t k = 0; k < page.unknowns.size(); ++k) {
      names_[page.unknowns[k]] = fmt::format("x[{}]", k);
      names_[rate_symbol(page.unknowns[k])] = fmt::format("dx[{}]", k);
    }
    for (std::size_t k = 0; k < page.parameters.size(); ++k)
      names_[page.parameters[k]] = fmt::format("p[{}]", k);
    for (std::size_t k = 0; k < page.held.size(); ++k) names_[page.held[k]] = fmt::format("h[{}]", k);
    for (std::size_t k = 0; k < page.equations.named.size(); ++k)
      names_[page.equations.named[k].first] = fmt::format("t{}", k + 1);
  }
  std::string operator()(Expr e) const {
    const auto found = names_.find(e);
    return found == names_.end() ? std::string() : found->second;
  }

 private:
  ExprMap<std::string> names_;
};

std::vector<Expr> all_values(const EquationPage& page) {
  std::vector<Expr> values = page.equations.roots;
  for (const auto& [symbol, value] : page.equations.named) values.push_back(value);
  return values;
}

}  // namespace

EquationPage page_of(const SymbolicModel& model, const SymbolicEquations& equations, std::string form) {
  EquationPage page;
  page.model = model.model->name;
  page.form = std::move(form);
  page.unknowns = equations.unknowns;
  page.equations = name_common(equations.residuals);
  // What only names a formula of a mechanism is named anew, or written out without end.
  std::copy_if(equations.solved.begin(), equations.solved.end(), std::back_inserter(page.solved),
               [](const auto& s) {
                 const std::string& name = s.first.name();
                 return !names_a_formula(std::string_view(name).substr(name.find_last_of('.') + 1));
               });
  const auto values = all_values(page);
  const auto used = symbols_of(values);
  const std::set<Expr> present(used.begin(), used.end());
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    if (present.contains(model.parameters[k])) {
      page.parameters.push_back(model.parameters[k]);
      page.numbers.push_back(model.numbers[k]);
    }
  for (Expr h : model.held)
    if (present.contains(h)) page.held.push_back(h);
  return page;
}

EquationPage minimal_page(const Model& model) {
  Pool& pool = *model.pool;
  const EquationSystem system = build_system(model);
  if (auto faults = topology_faults(model, system.graph, system.tree); !faults.empty())
    throw ModelError(std::move(faults));
  check_written_out(system);
  const MinimalForm minimal = minimal_form(system, analyse_storage(system));
  EquationPage page;
  page.model = model.name;
  page.form = "minimal";
  ExprMap<Expr> names;
  for (std::size_t k = 0; k < minimal.parameters.size(); ++k)
    names[minimal.parameters[k]] = pool.number(minimal.values[k]);
  for (std::size_t k = 0; k < minimal.states.size(); ++k) {
    page.unknowns.push_back(pool.symbol(rate_name(system, minimal.state_rates[k])));
    names[minimal.states[k]] = page.unknowns.back();
  }
  for (std::size_t k = 0; k < minimal.unknowns.size(); ++k) {
    const std::int32_t column = minimal.unknown_columns[k];
    page.unknowns.push_back(column < system.size()
                                ? pool.symbol(column_name(system, column))
                                : rate_symbol(pool.symbol(rate_name(system, column - system.size()))));
    names[minimal.unknowns[k]] = page.unknowns.back();
  }
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.discrete.size()); ++k) {
    page.held.push_back(pool.symbol("held(" + system.discrete[k].name + ")"));
    names[discrete_symbol(system, k)] = page.held.back();
  }
  std::vector<Expr> residuals;
  for (std::size_t k = 0; k < minimal.derivatives.size(); ++k)
    residuals.push_back(rate_symbol(page.unknowns[k]) - substitute(minimal.derivatives[k], names));
  for (Expr r : minimal.residuals) residuals.push_back(substitute(r, names));
  page.equations = name_common(residuals);
  return page;
}

std::vector<EquationSides> sides(const EquationPage& page) {
  std::set<Expr> moving;  // unknowns, rates, and names of what contains them
  std::set<Expr> rates;
  for (Expr u : page.unknowns) {
    moving.insert(u);
    rates.insert(rate_symbol(u));
  }
  moving.insert(rates.begin(), rates.end());
  const auto contains = [](Expr e, const std::set<Expr>& set) {
    const auto symbols = symbols_of(std::span(&e, 1));
    return std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return set.contains(s); });
  };
  for (const auto& [symbol, value] : page.equations.named) {
    if (contains(value, rates)) rates.insert(symbol);
    if (contains(value, moving)) moving.insert(symbol);
  }
  std::vector<EquationSides> result;
  for (Expr r : page.equations.roots) {
    Pool& pool = r.pool();
    const std::vector<Expr> terms =
        r.op() == Op::add ? std::vector<Expr>(r.args().begin(), r.args().end()) : std::vector<Expr>{r};
    std::vector<Expr> left, right;
    int sign_of_rate = 0, signs = 0;
    for (Expr term : terms) {
      const bool moves = contains(term, moving);
      (moves ? left : right).push_back(moves ? term : -term);
      if (!moves) continue;
      const int sign = split_coefficient(term).coefficient < 0.0 ? -1 : 1;
      signs += sign;
      if (sign_of_rate == 0 && contains(term, rates)) sign_of_rate = sign;
    }
    if (left.empty()) std::swap(left, right);
    const bool flip = sign_of_rate != 0 ? sign_of_rate < 0 : signs < 0;
    const double sign = flip ? -1.0 : 1.0;
    for (auto* side : {&left, &right})
      for (Expr& term : *side) term = sign * term;
    result.push_back({pool.add(left), pool.add(right)});
  }
  return result;
}

std::string equations_as_text(const EquationPage& page) {
  std::string text;
  for (const auto& [symbol, value] : page.equations.named)
    text += fmt::format("{} = {}\n", symbol.name(), to_text(value));
  if (!page.equations.named.empty() && !page.equations.roots.empty()) text += "\n";
  for (const EquationSides& s : sides(page))
    text += fmt::format("{} = {}\n", to_text(s.left), to_text(s.right));
  return text;
}

std::string equations_as_latex(const EquationPage& page) {
  std::vector<std::string> lines;
  for (const auto& [symbol, value] : page.equations.named)
    lines.push_back(fmt::format("{} &= {}", to_latex(symbol), to_latex(value)));
  for (const EquationSides& s : sides(page))
    lines.push_back(fmt::format("{} &= {}", to_latex(s.left), to_latex(s.right)));
  std::string text = "\\begin{align*}\n";
  for (std::size_t k = 0; k < lines.size(); ++k)
    text += "  " + lines[k] + (k + 1 < lines.size() ? R"( \\)" : "") + "\n";
  return text + "\\end{align*}\n";
}

std::string equations_as_c(const EquationPage& page, std::string_view runtime) {
  const CNames names(page);
  std::string text = fmt::format("/* {}: {}.\n", in_comment(page.model), page.form);
  const auto list = [&](const char* array, const std::vector<Expr>& symbols, const char* what) {
    if (!symbols.empty()) text += fmt::format(" *\n * {}\n", what);
    for (std::size_t k = 0; k < symbols.size(); ++k)
      text += fmt::format(" *   {}[{}]  {}\n", array, k, in_comment(symbols[k].name()));
  };
  list("x", page.unknowns, "unknowns; dx: their time derivatives, read where the equations have them");
  list("p", page.parameters, "parameters, tellegen_parameters as the model has them");
  list("h", page.held, "values of discrete variables since the last event");
  text += " */\n";
  text += runtime;
  text += "\n";

  const auto values = all_values(page);
  std::vector<const Table*> tables;
  for (Expr e : nodes_of(values))
    if (e.op() == Op::lookup && std::find(tables.begin(), tables.end(), e.table().get()) == tables.end())
      tables.push_back(e.table().get());
  const auto table_name = [&](const Table& table) {
    return fmt::format("table{}", std::find(tables.begin(), tables.end(), &table) - tables.begin());
  };
  for (const Table* table : tables) text += c_table(*table, table_name(*table));

  text += fmt::format("enum {{ tellegen_unknowns = {} }};\n", page.unknowns.size());
  std::string numbers;
  for (double number : page.numbers) numbers += (numbers.empty() ? "" : ", ") + c_number(number);
  text += fmt::format("const double tellegen_parameters[] = {{{}}};\n\n", numbers.empty() ? "0.0" : numbers);
  text +=
      "/* f[k] is zero where equation k holds. */\n"
      "void tellegen_residuals(double t, const double *x, const double *dx, const double *p, const double "
      "*h,\n"
      "                        double *f) {\n"
      "  (void)t, (void)x, (void)dx, (void)p, (void)h;\n";
  const auto written = [&](Expr e) { return to_c(e, names, table_name); };
  for (std::size_t k = 0; k < page.equations.named.size(); ++k)
    text += fmt::format("  const double t{} = {};\n", k + 1, written(page.equations.named[k].second));
  for (std::size_t k = 0; k < page.equations.roots.size(); ++k)
    text += fmt::format("  f[{}] = {};\n", k, written(page.equations.roots[k]));
  return text + "}\n";
}

}  // namespace tellegen
