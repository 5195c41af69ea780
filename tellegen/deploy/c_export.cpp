#include "tellegen/deploy/c_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "tellegen/equations/system.h"
#include "tellegen/program/compile.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {

std::string c_name(std::string_view text) {
  std::string name;
  for (const unsigned char c : text)
    if (std::isalnum(c))
      name += static_cast<char>(c);
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "m_" + name : name;
}

namespace {

// Members of a structure: a name each, none twice, none a word of C.
class Members {
 public:
  std::string add(std::string_view text) {
    std::string name = c_name(text);
    for (int k = 2; !taken_.insert(name).second; ++k) name = fmt::format("{}_{}", c_name(text), k);
    return name;
  }

 private:
  std::set<std::string> taken_{"auto",   "break",   "case",     "char",   "const",    "continue", "default",
                               "do",     "double",  "else",     "enum",   "extern",   "float",    "for",
                               "goto",   "if",      "inline",   "int",    "long",     "register", "restrict",
                               "return", "short",   "signed",   "sizeof", "static",   "struct",   "switch",
                               "union",  "typedef", "unsigned", "void",   "volatile", "while"};
};

std::string comment_text(std::string text) {
  for (std::size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* /");
  return text;
}

class Exporter {
 public:
  Exporter(const Model& model, Simulation& simulation, const ExportOptions& options)
      : model_(model),
        simulation_(simulation),
        options_(options),
        name_(options.name),
        code_(simulation.integrator().step_code()) {
    if (!code_.refused.empty())
      throw ModelError({{model.file.string(), 0},
                        "T420",
                        fmt::format("this run cannot be exported as C: {}", code_.refused),
                        {"a model of up to 64 unknowns can, by bdf1, bdf2, bdf3, tr, trnp or rk4, where "
                         "nothing switches, is sampled or jumps"}});
  }

  CExport run() {
    name_members();
    find_parameters();
    measure();
    first_.resize(output_names_.size());
    simulation_.first_row(first_.data());
    add(name_ + ".h", header());
    add(name_ + ".c", source());
    for (std::size_t k = 0; k < code_.parts.size(); ++k) {
      add(part_file(k), part_source(k));
      if (has_pivots(k)) add(pivot_file(k), pivot_source(k));
    }
    if (!settings_.empty()) add(name_ + "_numbers.c", numbers_source());
    add("tellegen_math.h", std::string(runtime_source()));
    add("vector.h", vector());
    add("main.c", main_source());
    add("CMakeLists.txt", cmake());
    add("README.md", readme());
    return std::move(result_);
  }

 private:
  struct Setting {
    int parameter;
    std::string member;
  };
  // A register of a part that follows from the settings.
  struct Followed {
    std::size_t part;
    std::int32_t reg;
    Expr value;
  };

  void add(std::string name, std::string text) {
    result_.files.push_back({std::move(name), std::move(text)});
  }

  std::string part_file(std::size_t k) const { return fmt::format("{}_part{}.c", name_, k); }
  std::string pivot_file(std::size_t k) const { return fmt::format("{}_pivot{}.c", name_, k); }
  std::string part_prefix(std::size_t k) const { return fmt::format("{}_part{}_", name_, k); }
  const StepCode::Part& last() const { return code_.parts.back(); }

  void name_members() {
    Members outputs, inputs;
    for (const OutputColumn& column : simulation_.outputs())
      output_names_.push_back(outputs.add(column.name));
    for (const std::string& input : simulation_.problem().options.external)
      input_names_.push_back(inputs.add(input));
  }

  // Numbers of components as formulas of the model's plain parameters.
  void find_parameters() {
    ExprMap<Expr> formulas;  // of parameters that follow from others, innermost first
    std::vector<Expr> plain;
    for (const ModelParameter& p : model_.parameters)
      if (symbols_of(std::span(&p.value, 1)).empty())
        plain.push_back(p.symbol);
      else
        formulas[p.symbol] = p.value;
    const auto of_plain = [&](Expr value) {
      for (std::size_t k = 0; k <= model_.parameters.size(); ++k) {
        const Expr next = substitute(value, formulas);
        if (next == value) break;
        value = next;
      }
      return value;
    };
    const std::set<std::string> baked = baked_parameters(of_plain);
    std::set<std::string> used;
    const auto names_in = [&](Expr value) {
      std::set<std::string> names;
      for (Expr s : symbols_of(std::span(&value, 1))) names.insert(s.name());
      return names;
    };
    for (std::size_t k = 0; k < code_.parts.size(); ++k)
      for (const StepCode::Number& n : code_.parts[k].numbers) {
        const Expr value = number_formula(n);
        if (!value) continue;
        const Expr plain_value = of_plain(value);
        const auto names = names_in(plain_value);
        if (names.empty()) continue;
        followed_.push_back({k, n.reg, plain_value});
        used.insert(names.begin(), names.end());
      }
    Members members;
    for (std::size_t p = 0; p < model_.parameters.size(); ++p) {
      const ModelParameter& parameter = model_.parameters[p];
      if (std::find(plain.begin(), plain.end(), parameter.symbol) == plain.end()) continue;
      const std::string symbol = parameter.symbol.name();
      if (baked.contains(symbol))
        result_.fixed.push_back(parameter.name + ": an output or a change at an event has it in its formula");
      else if (!used.contains(symbol))
        result_.fixed.push_back(parameter.name + (last().numbers.empty()
                                                      ? ": this method's code has numbers of its own"
                                                      : ": the step does not depend on it, or it is zero"));
      else {
        settings_.push_back({static_cast<int>(p), members.add(parameter.name)});
        result_.parameters.push_back(parameter.name);
      }
    }
    // What depends on a fixed parameter keeps its number for it.
    ExprMap<Expr> numbers;
    for (const ModelParameter& p : model_.parameters)
      if (std::none_of(settings_.begin(), settings_.end(), [&](const Setting& s) {
            return model_.parameters[static_cast<std::size_t>(s.parameter)].symbol == p.symbol;
          }))
        numbers[p.symbol] = model_.pool->number(p.number);
    for (Followed& f : followed_) f.value = substitute(f.value, numbers);
    std::erase_if(followed_, [&](const Followed& f) { return symbols_of(std::span(&f.value, 1)).empty(); });
  }

  template <class OfPlain>
  std::set<std::string> baked_parameters(const OfPlain& of_plain) const {
    std::set<std::string> names;
    for (const OutputColumn& column : simulation_.outputs()) {
      const Expr value = of_plain(expand_names(model_, column.value));
      for (Expr s : symbols_of(std::span(&value, 1))) names.insert(s.name());
    }
    return names;
  }

  // In model parameters; empty: it is none of the user's.
  Expr number_formula(const StepCode::Number& n) const {
    const EquationSystem& system = simulation_.system();
    const Group& group = system.groups[n.group];
    const Kind& kind = model_.kinds[group.kind];
    const std::string& slot = group.parameters[n.parameter].name();
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      if (kind.parameters[k].name == slot) {
        const ParameterValue& value = model_.components[group.components[n.member]].values[k];
        return value.constant ? value.value : Expr();
      }
    for (const ModelParameter& p : model_.parameters)
      if (slot.size() == p.name.size() + 1 && slot.ends_with(p.name)) return p.symbol;  // "$R1"
    return {};
  }

  void measure() {
    const auto& program = last().procedure.program;
    for (const Instruction& i : program.code) {
      if (i.code == Code::number || i.code == Code::copy) continue;
      ++(i.code == Code::call || i.code == Code::power || i.code == Code::lookup ? result_.functions
                                                                                 : result_.operations);
    }
    const auto once = program.section(0);  // prepare
    for (const Instruction& i : once)
      if (i.code != Code::number && i.code != Code::copy)
        --(i.code == Code::call || i.code == Code::power || i.code == Code::lookup ? result_.functions
                                                                                   : result_.operations);
    for (const StepCode::Part& part : code_.parts) result_.state_bytes += 8 * part.registers.size();
    result_.state_bytes += 8 * settings_.size() + 8;
    result_.iterates = iterates();
  }

  std::string unit_comment(const std::string& unit, const std::string& summary = "") const {
    std::string text = unit.empty() ? "" : fmt::format("SI unit of {}", unit);
    if (!summary.empty()) text += (text.empty() ? "" : "; ") + summary;
    return text.empty() ? "" : fmt::format("  /* {} */", comment_text(text));
  }

  std::string input_unit(std::size_t k) const {
    const std::string& name = simulation_.problem().options.external[k];
    const auto input = std::find_if(model_.inputs.begin(), model_.inputs.end(),
                                    [&](const ModelInput& i) { return i.name == name; });
    return input == model_.inputs.end() ? "" : input->unit;
  }

  std::string header() const {
    std::string guard = name_;
    std::transform(guard.begin(), guard.end(), guard.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    std::string out = fmt::format(
        "/* {0}, {1} with steps of {2:g} s. All numbers are in SI units.\n"
        "   Printed by Tellegen; {3}.c says how to use it. */\n"
        "#ifndef {4}_H\n#define {4}_H\n\n#include <stddef.h>\n\n#ifdef __cplusplus\nextern \"C\" "
        "{{\n#endif\n\n",
        comment_text(model_.name), simulation_.problem().options.method, simulation_.problem().step, name_,
        guard);
    const auto structure = [&](const char* what, const std::vector<std::string>& lines) {
      out += "typedef struct {\n";
      for (const std::string& line : lines) out += "  " + line + "\n";
      out += fmt::format("}} {}_{};\n\n", name_, what);
    };
    std::vector<std::string> lines;
    for (const Setting& s : settings_) {
      const ModelParameter& p = model_.parameters[static_cast<std::size_t>(s.parameter)];
      lines.push_back(fmt::format("double {};{}", s.member, unit_comment(p.unit, p.summary)));
    }
    if (!lines.empty()) structure("parameters", lines);
    lines.clear();
    for (std::size_t k = 0; k < input_names_.size(); ++k)
      lines.push_back(fmt::format("double {};{}", input_names_[k], unit_comment(input_unit(k))));
    if (!lines.empty()) structure("inputs", lines);
    lines.clear();
    for (std::size_t k = 0; k < output_names_.size(); ++k)
      lines.push_back(
          fmt::format("double {};{}", output_names_[k], unit_comment(simulation_.outputs()[k].unit)));
    structure("outputs", lines);
    lines.clear();
    if (!settings_.empty()) lines.push_back(fmt::format("{}_parameters parameters;", name_));
    for (std::size_t k = 0; k < code_.parts.size(); ++k)
      lines.push_back(fmt::format("double w{}[{}];", k, code_.parts[k].registers.size()));
    lines.push_back("int part;");
    structure("state", lines);
    const std::string inputs = input_names_.empty() ? "" : fmt::format(", const {}_inputs* u", name_);
    out += fmt::format(
        "/* The state at t = 0, with the model's numbers, and the outputs there (y may be 0). */\n"
        "void {0}_init({0}_state* s, {0}_outputs* y);\n"
        "/* One step, or several; the outputs after the last. 0, or 1 where Newton's iteration did not "
        "converge:\n"
        "   go on from a state that was saved, or with shorter steps. */\n"
        "int {0}_step({0}_state* s{1}, {0}_outputs* y);\n"
        "int {0}_run({0}_state* s{1}, long steps, {0}_outputs* y);\n"
        "double {0}_time(const {0}_state* s);\n",
        name_, inputs);
    if (!settings_.empty())
      out += fmt::format(
          "/* From the next step on; the state stays. 0, or 1 where the equations cannot be solved with "
          "these\n"
          "   numbers in the order in which they are solved here: then nothing has changed. */\n"
          "int {0}_set_parameters({0}_state* s, const {0}_parameters* p);\n",
          name_);
    out += fmt::format(
        "/* A state is plain bytes: sizeof({0}_state) of them. */\n"
        "void {0}_save(const {0}_state* s, void* to);\nvoid {0}_restore({0}_state* s, const void* from);\n\n"
        "#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        name_);
    return out;
  }

  std::string source() const {
    std::string out = fmt::format(
        "/* {0}.\n\n     {1}_state s;\n     {1}_outputs y;\n     {1}_init(&s, &y);\n"
        "     for (;;)\n       if ({1}_step(&s{2}, &y) != 0) break;\n*/\n#include \"{1}.h\"\n\n"
        "#include <string.h>\n\n",
        comment_text(model_.name), name_, input_names_.empty() ? "" : ", &u");
    const std::string declared = "(double* w, const double** in, double** out);\n";
    for (std::size_t k = 0; k < code_.parts.size(); ++k) {
      for (const char* entry : {"prepare", "run"})
        out += fmt::format("int {}{}", part_prefix(k), entry) + declared;
      if (has_pivots(k)) out += fmt::format("int {}pivot", part_prefix(k)) + declared;
      out +=
          fmt::format("extern const double {}start[{}];\n", part_prefix(k), code_.parts[k].registers.size());
    }
    if (!settings_.empty()) out += fmt::format("int {}_numbers_of", name_) + declared;
    out += init_source() + run_source();
    if (!settings_.empty()) out += set_source();
    out += fmt::format(
        "\nvoid {0}_save(const {0}_state* s, void* to) {{ memcpy(to, s, sizeof *s); }}\n"
        "void {0}_restore({0}_state* s, const void* from) {{ memcpy(s, from, sizeof *s); }}\n",
        name_);
    return out;
  }

  bool has_pivots(std::size_t k) const { return !settings_.empty() && !code_.parts[k].pivots.roots.empty(); }

  std::string init_source() const {
    std::string out = fmt::format("\nvoid {0}_init({0}_state* s, {0}_outputs* y) {{\n", name_);
    for (std::size_t k = 0; k < code_.parts.size(); ++k)
      out += fmt::format("  memcpy(s->w{0}, {1}start, sizeof s->w{0});\n", k, part_prefix(k));
    for (const Setting& s : settings_)
      out += fmt::format("  s->parameters.{} = {};\n", s.member,
                         c_number(model_.parameters[static_cast<std::size_t>(s.parameter)].number));
    out += "  s->part = 0;\n  if (!y) return;\n";
    for (std::size_t k = 0; k < output_names_.size(); ++k)
      out += fmt::format("  y->{} = {};\n", output_names_[k], c_number(first_[k]));
    return out + "}\n";
  }

  std::string run_source() const {
    const std::string inputs = input_names_.empty() ? "" : fmt::format(", const {}_inputs* u", name_);
    std::string out;
    if (!input_names_.empty()) {
      // A number from outside may be in factors that are computed once.
      for (std::size_t k = 0; k < code_.parts.size(); ++k) {
        const StepCode::Part& part = code_.parts[k];
        out += fmt::format("\nstatic void take_inputs{}(double* w, const {}_inputs* u) {{\n", k, name_);
        std::string changed;
        for (std::size_t i = 0; i < input_names_.size(); ++i)
          if (part.procedure.program.section_of[part.inputs[i]] == 0)
            changed += fmt::format("{}w[{}] != u->{}", changed.empty() ? "" : " || ", part.inputs[i],
                                   input_names_[i]);
        if (!changed.empty()) out += fmt::format("  const int changed = {};\n", changed);
        for (std::size_t i = 0; i < input_names_.size(); ++i)
          out += fmt::format("  w[{}] = u->{};\n", part.inputs[i], input_names_[i]);
        out += fmt::format("  w[{}] = 1.0;\n", part.counters.renew);
        if (!changed.empty()) out += fmt::format("  if (changed) {}prepare(w, 0, 0);\n", part_prefix(k));
        out += "}\n";
      }
    }
    out += fmt::format(
        "\nint {0}_step({0}_state* s{1}, {0}_outputs* y) {{ return {0}_run(s{2}, 1, y); }}\n\n"
        "int {0}_run({0}_state* s{1}, long steps, {0}_outputs* y) {{\n"
        "  double row[{3}], *out = row;\n  if (steps <= 0) return 0;\n",
        name_, inputs, input_names_.empty() ? "" : ", u", output_names_.size());
    for (std::size_t k = 0; k < code_.parts.size(); ++k) {
      const StepCode::Part& part = code_.parts[k];
      const bool is_last = k + 1 == code_.parts.size();
      out += is_last ? "  if (steps > 0) {\n" : fmt::format("  while (s->part == {} && steps > 0) {{\n", k);
      if (!input_names_.empty()) out += fmt::format("    take_inputs{0}(s->w{0}, u);\n", k);
      const std::string count = is_last ? "(double)steps" : "1.0";
      out += fmt::format(
          "    out = row;\n    s->w{0}[{1}] = s->w{0}[{2}] = {3};\n    s->w{0}[{4}] = 0.0;\n"
          "    if ({5}run(s->w{0}, 0, &out) != 0) return 1;\n",
          k, part.counters.left, part.counters.stride, count, part.counters.phase, part_prefix(k));
      if (!is_last) {
        out += fmt::format("    --steps;\n    if (s->w{}[{}] == {:.1f}) {{\n", k, part.counters.index,
                           static_cast<double>(part.steps));
        for (const RegisterCopy& c : part.hand_over)
          out += fmt::format("      s->w{}[{}] = s->w{}[{}];\n", k + 1, c.target, k, c.source);
        out += fmt::format("      s->part = {};\n    }}\n", k + 1);
      }
      out += "  }\n";
    }
    out += "  if (!y) return 0;\n";
    for (std::size_t k = 0; k < output_names_.size(); ++k)
      out += fmt::format("  y->{} = row[{}];\n", output_names_[k], k);
    out += "  return 0;\n}\n";
    out += fmt::format("\ndouble {0}_time(const {0}_state* s) {{ return {1} * ", name_,
                       c_number(simulation_.problem().step));
    std::string index = fmt::format("s->w{}[{}]", code_.parts.size() - 1, last().counters.index);
    if (code_.parts.size() > 1)
      index = fmt::format("(s->part == 0 ? s->w0[{}] : {})", code_.parts[0].counters.index, index);
    return out + index + "; }\n";
  }

  std::string set_source() const {
    std::string out = fmt::format(
        "\nint {0}_set_parameters({0}_state* s, const {0}_parameters* p) {{\n"
        "  const {0}_state before = *s;\n  double numbers[{1}], *out = numbers;\n",
        name_, std::max<std::size_t>(1, followed_.size()));
    out += fmt::format("  double given[{}] = {{", settings_.size());
    for (const Setting& s : settings_) out += fmt::format("p->{}, ", s.member);
    out += fmt::format("}};\n  {}_numbers_of(given, 0, &out);\n", name_);
    for (std::size_t k = 0; k < followed_.size(); ++k)
      out += fmt::format("  s->w{}[{}] = numbers[{}];\n", followed_[k].part, followed_[k].reg, k);
    for (std::size_t k = 0; k < code_.parts.size(); ++k) {
      if (has_pivots(k))
        out += fmt::format(
            "  {{\n    double pivot, *to = &pivot;\n    {}pivot(s->w{}, 0, &to);\n"
            "    if (!(pivot > 1e-6)) {{\n      *s = before;\n      return 1;\n    }}\n  }}\n",
            part_prefix(k), k);
      out += fmt::format("  {}prepare(s->w{}, 0, 0);\n  s->w{}[{}] = 1.0;\n", part_prefix(k), k, k,
                         code_.parts[k].counters.renew);
    }
    return out + "  s->parameters = *p;\n  return 0;\n}\n";
  }

  std::string part_source(std::size_t k) const {
    const StepCode::Part& part = code_.parts[k];
    Procedure procedure = part.procedure;
    std::erase_if(procedure.entries, [](const Entry& e) { return e.name != "prepare" && e.name != "run"; });
    std::string out = "#include \"tellegen_math.h\"\n\n" + c_source(procedure, part_prefix(k));
    out += fmt::format("\nextern const double {0}start[{1}];\nconst double {0}start[{1}] = {{\n",
                       part_prefix(k), part.registers.size());
    for (double v : part.registers) out += "  " + c_number(v) + ",\n";
    return out + "};\n";
  }

  std::string pivot_source(std::size_t k) const {
    Procedure pivots{.program = code_.parts[k].pivots};
    pivots.entries = {{"pivot", {run_section(0), emit({pivots.program.roots[0]})}}};
    return "#include \"tellegen_math.h\"\n\n" + c_source(pivots, part_prefix(k));
  }

  std::string numbers_source() const {
    std::vector<ProgramInput> inputs;
    for (const Setting& s : settings_)
      inputs.push_back({model_.parameters[static_cast<std::size_t>(s.parameter)].symbol, 0});
    std::vector<ProgramRoot> roots;
    for (const Followed& f : followed_) roots.push_back({f.value, 0});
    Procedure procedure{.program = make_program(*model_.pool, inputs, {}, roots, 1)};
    procedure.entries = {{"numbers_of", {run_section(0), emit(procedure.program.roots)}}};
    return "#include \"tellegen_math.h\"\n\n" + c_source(procedure, name_ + "_");
  }

  // Steps that Tellegen takes, every one a row.
  std::string vector() {
    const auto width = output_names_.size();
    const std::int64_t samples =
        std::max<std::int64_t>(1, std::min(options_.vector, sample_count(simulation_.problem())));
    std::vector<double> rows(static_cast<std::size_t>(samples) * width);
    const std::int64_t done = simulation_.integrator().advance(samples, rows.data());
    std::string out = fmt::format(
        "/* What Tellegen computed: {0} rows, {1} steps from one to the next. */\n"
        "#define VECTOR_ROWS {0}\n#define VECTOR_STEPS {1}\n#define VECTOR_WIDTH {2}\n"
        "static const double vector[VECTOR_ROWS][VECTOR_WIDTH] = {{\n",
        done, simulation_.problem().stride, width);
    for (std::int64_t r = 0; r < done; ++r) {
      out += "  {";
      for (std::size_t c = 0; c < width; ++c)
        out += c_number(rows[static_cast<std::size_t>(r) * width + c]) + ", ";
      out += "},\n";
    }
    return out + "};\n";
  }

  std::string main_source() const {
    const std::string inputs = input_names_.empty() ? "" : ", &u";
    return fmt::format(
        "/* Replays vector.h: exit code 0 where every bit is the same. With a number: prints so many rows. "
        "*/\n"
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n#include \"{0}.h\"\n"
        "#include \"vector.h\"\n\n"
        "int main(int count, char** arguments) {{\n"
        "  static {0}_state s;\n  {0}_outputs y;\n{1}"
        "  const long rows = count > 1 ? atol(arguments[1]) : VECTOR_ROWS;\n"
        "  {0}_init(&s, &y);\n{2}"
        "  for (long k = 0; k < rows; ++k) {{\n"
        "    if ({0}_run(&s{3}, VECTOR_STEPS, &y) != 0) {{\n"
        "      fprintf(stderr, \"Newton's iteration did not converge after t = %g s\\n\", {0}_time(&s));\n"
        "      return 1;\n    }}\n"
        "    if (count > 1) {{\n"
        "      const double* row = (const double*)&y;\n"
        "      for (int c = 0; c < VECTOR_WIDTH; ++c) printf(c ? \" %a\" : \"%a\", row[c]);\n"
        "      printf(\"\\n\");\n"
        "    }} else if (memcmp(&y, vector[k], sizeof vector[k]) != 0) {{\n"
        "      fprintf(stderr, \"row %ld, t = %g s, differs\\n\", k + 1, {0}_time(&s));\n"
        "      return 1;\n    }}\n  }}\n"
        "  if (count <= 1) printf(\"%d rows agree to the last bit\\n\", VECTOR_ROWS);\n  return 0;\n}}\n",
        name_, input_names_.empty() ? "" : fmt::format("  {}_inputs u;\n", name_), start_inputs(), inputs);
  }

  std::string start_inputs() const {
    std::string out;
    const Problem& problem = simulation_.problem();
    for (std::size_t k = 0; k < input_names_.size(); ++k)
      out += fmt::format("  u.{} = {};\n", input_names_[k],
                         c_number(problem.initial.held[static_cast<std::size_t>(problem.external[k])]));
    return out;
  }

  std::string sources() const {
    std::string out = name_ + ".c";
    for (std::size_t k = 0; k < code_.parts.size(); ++k)
      out += " " + part_file(k) + (has_pivots(k) ? " " + pivot_file(k) : "");
    if (!settings_.empty()) out += " " + name_ + "_numbers.c";
    return out;
  }

  std::string cmake() const {
    return fmt::format(
        "cmake_minimum_required(VERSION 3.13)\nproject({0} C)\nset(CMAKE_C_STANDARD 99)\n"
        "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
        "add_library({0} STATIC {1})\n"
        "# The same bits everywhere: no contraction, no fast-math.\n"
        "target_compile_options({0} PRIVATE -ffp-contract=off)\n"
        "target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\ntarget_link_libraries({0} m)\n"
        "add_executable(replay main.c)\ntarget_link_libraries(replay {0})\n"
        "enable_testing()\nadd_test(NAME replay COMMAND replay)\n",
        name_, sources());
  }

  std::string readme() const {
    std::string out = fmt::format(
        "# {0}\n\nThe step of a Tellegen model as C99: method {1}, {2:g} s a step. No allocation, no "
        "recursion, no\n"
        "global state; nothing but `math.h`. All numbers are in SI units.\n\n"
        "    cc -std=c99 -O2 -ffp-contract=off {3} main.c -o replay -lm && ./replay\n\n"
        "`replay` takes the steps of `vector.h` and fails where a bit differs from what Tellegen computed.\n"
        "Sines, exponentials and the like are the C library's: with another one the last bits may differ.\n"
        "`{4}.h` has the functions.\n\n| a step | |\n| --- | --- |\n| operations | {5}{6} |\n"
        "| calls of functions, powers, tables | {7} |\n| state | {8} bytes |\n",
        model_.name, simulation_.problem().options.method, simulation_.problem().step, sources(), name_,
        result_.operations, result_.iterates ? ", with one of Newton's iterations" : "", result_.functions,
        result_.state_bytes);
    if (!settings_.empty()) {
      out +=
          "\nNumbers that can be set while it runs:\n\n| parameter | member | SI unit of |\n| --- | --- | "
          "--- |\n";
      for (const Setting& s : settings_) {
        const ModelParameter& p = model_.parameters[static_cast<std::size_t>(s.parameter)];
        out += fmt::format("| {} | `{}` | {} |\n", p.name, s.member, p.unit);
      }
    }
    if (!result_.fixed.empty()) {
      out += "\nNumbers that are part of the code:\n\n";
      for (const std::string& text : result_.fixed) out += "- " + text + "\n";
    }
    return out;
  }

  bool iterates() const {
    const auto has_loop = [](const Body& body, const auto& self) -> int {
      int loops = 0;
      for (const Statement& s : body) {
        loops += s.flow == Flow::loop;
        for (const Body& b : s.bodies) loops += self(b, self);
      }
      return loops;
    };
    return has_loop(last().procedure.entries[1].body, has_loop) > 1;
  }

  const Model& model_;
  Simulation& simulation_;
  const ExportOptions& options_;
  std::string name_;
  StepCode code_;
  std::vector<std::string> output_names_, input_names_;
  std::vector<Setting> settings_;
  std::vector<Followed> followed_;
  std::vector<double> first_;
  CExport result_;
};

}  // namespace

CExport export_c(const Model& model, Simulation& simulation, const ExportOptions& options) {
  return Exporter(model, simulation, options).run();
}

}  // namespace tellegen
