// The library as Python sees it; tellegen/__init__.py makes it comfortable.
//
// Everything that may take long runs without the interpreter's lock. Progress is looked at in between, which
// is also where Ctrl-C is heard. Arrays are views of the results, which they keep alive.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "tellegen/deploy/c_export.h"
#include "tellegen/equations/system.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/graph/faults.h"
#include "tellegen/identify/identify.h"
#include "tellegen/model/csv_header.h"
#include "tellegen/model/units.h"
#include "tellegen/report/model_drawing.h"
#include "tellegen/results/figure.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/simulate/stop.h"
#include "tellegen/tellegen.h"

namespace py = pybind11;
using namespace pybind11::literals;

namespace tellegen {
namespace {

using Strings = std::vector<std::string>;
using Numbers = std::map<std::string, std::variant<double, std::string>>;
using Files = std::vector<std::filesystem::path>;
using Columns = std::map<std::string, std::string>;

// A view of numbers that `owner` keeps; `width` 0: one dimension.
py::array view(const std::vector<double>& values, std::size_t width, const py::object& owner) {
  const auto rows = static_cast<py::ssize_t>(width == 0 ? values.size() : values.size() / width);
  const auto columns = static_cast<py::ssize_t>(width);
  py::array_t<double> array = width == 0 ? py::array_t<double>({rows}, values.data(), owner)
                                         : py::array_t<double>({rows, columns}, values.data(), owner);
  array.attr("setflags")("write"_a = false);
  return array;
}

// Hears Ctrl-C, and tells how far it is, twice a second; called without the lock.
class Listener {
 public:
  explicit Listener(py::object progress) : progress_(std::move(progress)) {}
  void operator()(double fraction) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress_.is_none()) progress_(fraction);
  }

 private:
  py::object progress_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Ctrl-C in a study: its loops ask. Python's own error waits in the thread meanwhile, for a study may take
// what is a std::exception for a run that failed.
class Interruptible {
 public:
  Interruptible()
      : watch_([last = std::chrono::steady_clock::now()]() mutable {
          const auto now = std::chrono::steady_clock::now();
          if (now - last < std::chrono::milliseconds(200)) return;
          last = now;
          const py::gil_scoped_acquire lock;
          if (PyErr_CheckSignals() != 0) throw Interrupted();
        }) {}

 private:
  InterruptionWatch watch_;
};

// All of them: two numbers have the same text where they are the same.
std::string digits(double number) {
  char text[40];
  std::snprintf(text, sizeof text, " %a", number);
  return text;
}

struct SimulateSettings {
  double stop = 0.0, step = 0.0, sample = 0.0, tolerance = 0.0;
  std::string method;
  Strings outputs;
  bool all = false, interpret = false, balance = true;
  std::string key(const Numbers& set) const {
    std::string text =
        method + (all ? " all" : "") + (interpret ? " interpret" : "") + (balance ? " balance" : "");
    for (double number : {step, sample, tolerance}) text += digits(number);
    for (const std::string& output : outputs) text += "\n" + output;
    for (const auto& [name, value] : set) text += "\r" + name;
    return text;
  }
};

// A model, and the simulations that were built of it: a call with other numbers runs one of them again.
class PyModel {
 public:
  PyModel(std::optional<std::filesystem::path> file, std::optional<std::string> text, Strings overrides)
      : file_(file.value_or("model.toml")), text_(std::move(text)) {
    for (const std::string& entry : overrides) {
      const auto at = entry.find('=');
      options_.overrides.emplace_back(entry.substr(0, at), entry.substr(at + 1));
    }
    options_.notes = &notes;
    model_ = read();
    options_.notes = nullptr;  // once
  }
  Strings notes;

  Model read() const {
    return text_ ? read_model_text(*text_, file_, options_) : read_any_model(file_, options_, options_.notes);
  }
  const Model& model() const { return model_; }

  // The columns that are given go before [columns] of the model file.
  Record record(const Model& model, const Files& files, const Columns& columns, bool clock = true) const {
    TableOptions format;
    format.is_unit = is_header_unit;
    ColumnNames names;
    for (const auto& [name, column] : columns) names.push_back({name, column});
    if (!text_)
      for (ColumnName& entry : columns_section(file_))
        if (!columns.contains(entry.name)) names.push_back(std::move(entry));
    RecordOptions options = record_options(model);
    options.clock = clock;
    return read_record(model, DataSource(files, format, std::move(names)), options);
  }

  // A simulation that accounts for energy cannot be run again. But the same run has the same balance: it is
  // kept of the first, and what comes after runs what was built.
  SimulationResult simulate(SimulateSettings settings, const Numbers& set, Listener& listener) {
    if (!settings.balance || !set.empty()) return run_built(settings, set, listener);
    std::optional<EnergyBalance>& balance = balances_[settings.key(set) + digits(settings.stop)];
    settings.balance = !balance;
    SimulationResult result = run_built(settings, set, listener);
    if (balance)
      result.balance = balance;
    else if (result.failure.empty())
      balance = result.balance;
    return result;
  }

 private:
  struct Built {
    Model model;
    std::vector<int> parameters;
    std::unique_ptr<Simulation> simulation;
    bool again = false;
  };

  SimulationResult run_built(const SimulateSettings& settings, const Numbers& set, Listener& listener) {
    const std::string key = settings.key(set);
    auto built = built_.find(key);
    if (built != built_.end()) {
      Built& kept = *built->second;
      set_numbers(kept.model, kept.parameters, set);
      const double stop = settings.stop > 0.0 ? settings.stop : kept.model.simulation.stop.value_or(0.0);
      if (kept.again && kept.simulation->restart(stop)) return run(kept, listener);
      built_.erase(built);
    }
    auto fresh = std::make_unique<Built>();
    fresh->model = read();
    for (const auto& [name, value] : set)
      fresh->parameters.push_back(study_parameter(fresh->model, name, {"set", 0}));
    set_numbers(fresh->model, fresh->parameters, set);
    SimulationOptions options = as_the_model_says();
    options.stop = settings.stop;
    options.step = settings.step;
    options.sample = settings.sample;
    options.method = settings.method;
    if (settings.tolerance > 0.0) options.tolerance = settings.tolerance;
    options = complete_options(fresh->model, options);
    options.compile = !settings.interpret;
    options.balance = settings.balance ? Balance::on : Balance::off;
    add_stop_watch(fresh->model, options);
    std::vector<OutputColumn> columns;
    for (const std::string& text : settings.outputs)
      for (const std::string& name :
           text.find("[*]") != std::string::npos && text.find('(') == std::string::npos
               ? element_names(fresh->model.arrays, text)
               : Strings{text})
        columns.push_back({name, "", parse_value(fresh->model, name, {"outputs", 0})});
    options.restarts = options.stop_watch.empty() && !settings.balance;
    fresh->again = options.restarts;
    if (settings.all) {
      const EquationSystem system = build_system(fresh->model);
      columns = default_outputs(system, true);
    }
    fresh->simulation = std::make_unique<Simulation>(fresh->model, options, std::move(columns));
    Built& kept = *fresh;
    std::unique_ptr<Built> once;
    if (fresh->again)
      built_[key] = std::move(fresh);
    else
      once = std::move(fresh);
    return run(kept, listener);
  }

  static void set_numbers(Model& model, const std::vector<int>& parameters, const Numbers& set) {
    std::vector<double> numbers;
    std::size_t k = 0;
    for (const auto& [name, value] : set) {
      const ModelParameter& parameter = model.parameters[static_cast<std::size_t>(parameters[k++])];
      if (const auto* number = std::get_if<double>(&value)) {
        numbers.push_back(*number);
        continue;
      }
      const auto quantity = units().parse(std::get<std::string>(value));
      if (!quantity)
        throw ModelError({{"set", 0},
                          "T120",
                          "'" + std::get<std::string>(value) + "' is no quantity",
                          {"give " + name + " a number (SI) or a text such as \"5 mohm\""}});
      if (!quantity->unit.empty() && !parameter.unit.empty() &&
          !units().convertible(quantity->unit, parameter.unit))
        throw ModelError({{"set", 0},
                          "T123",
                          name + " is given in '" + quantity->unit + "'",
                          {"its unit is '" + parameter.unit + "', or one convertible to it"}});
      numbers.push_back(quantity->si);
    }
    if (!numbers.empty()) set_parameters(model, parameters, numbers);
  }

  static SimulationResult run(Built& built, Listener& listener) {
    return built.simulation->run([&](double fraction) { listener(fraction); });
  }

  std::filesystem::path file_;
  std::optional<std::string> text_;
  ReadOptions options_;
  Model model_;
  std::map<std::string, std::unique_ptr<Built>> built_;
  std::map<std::string, std::optional<EnergyBalance>> balances_;
};

const char* word(Twin::Pushed pushed) {
  switch (pushed) {
    case Twin::Pushed::taken:
      return "taken";
    case Twin::Pushed::late:
      return "late";
    case Twin::Pushed::duplicate:
      return "duplicate";
    case Twin::Pushed::too_late:
      return "too late";
    case Twin::Pushed::beside:
      return "beside";
    case Twin::Pushed::failed:
      return "failed";
  }
  return "";
}

// A twin and the model it needs.
class PyTwin {
 public:
  PyTwin(const PyModel& model, double step, const std::string& estimator) : model_(model.read()) {
    FollowOptions options;
    const RecordOptions said = record_options(model_);
    options.sensors = said.sensors;
    options.inputs = said.inputs;
    options.step = step > 0.0 ? step : said.step;
    options.late = said.late;
    options.estimator = estimator;
    options.check = true;
    options.nearest = said.resample == "nearest";
    for (const int sensor : options.sensors) {
      sensors.push_back(model_.outputs[static_cast<std::size_t>(sensor)].name);
      sensor_units_.push_back(sensor_unit(model_, sensor));
    }
    inputs = options.inputs;
    twin.emplace(model_, options);
    if (!twin->model().uncertain()) idle = nothing_corrected().front();
    for (const EstimatedQuantity& quantity : twin->described()) {
      names.push_back(quantity.name);
      units.push_back(quantity.unit);
    }
  }
  Strings sensors, inputs, names, units;
  std::optional<Twin> twin;

  const char* push(double t, const std::vector<double>& readings, const std::vector<double>& inputs) {
    const Twin::Pushed pushed = twin->push(t, readings, inputs);
    if (pushed == Twin::Pushed::taken && rows_++ < first_rows) doubt_readings(readings);
    return word(pushed);
  }
  std::string idle;   // that the filter corrects nothing; empty: it does
  std::string doubt;  // what is to be said of the first readings, once; empty: nothing

 private:
  static constexpr int first_rows = 5;
  static constexpr double far_off = 50.0;  // standard deviations

  // Numbers in another unit than SI give themselves away at once.
  void doubt_readings(const std::vector<double>& readings) {
    const Innovations& seen = twin->innovations();
    for (std::size_t s = 0; s < readings.size() && doubt.empty(); ++s) {
      const std::string& unit = sensor_units_[s];
      const double off = std::abs(seen.value[s]) / std::sqrt(seen.variance[s]);
      const bool cold = readings[s] < 0.0 && tellegen::units().convertible(unit, "K");
      if (!(off > far_off) && !cold) continue;
      char text[64];
      std::snprintf(text, sizeof text, "%.6g, %.3g standard deviations off", readings[s], off);
      doubt = "'" + sensors[s] + "' reads " + (cold ? "less than 0 K" : text) +
              ": push() takes SI, or a text with a unit" +
              (unit.empty() ? "" : " such as \"" + std::string("1 ") + unit + "\"");
    }
  }

  int rows_ = 0;
  Strings sensor_units_;
  Model model_;
};

py::tuple quantities(PyTwin& self, const Twin::Quantities& q) {
  const auto in_unit = [&](const Vector& values, bool difference) {
    py::array_t<double> array(values.size());
    for (long k = 0; k < values.size(); ++k) {
      const std::string& unit = self.units[static_cast<std::size_t>(k)];
      array.mutable_at(k) = unit.empty() ? values[k]
                            : difference ? units().from_si(values[k], unit) - units().from_si(0.0, unit)
                                         : units().from_si(values[k], unit);
    }
    return array;
  };
  return py::make_tuple(q.t, in_unit(q.mean, false), in_unit(q.deviation, true));
}

std::vector<double> doubles(const py::array_t<double, py::array::c_style | py::array::forcecast>& array) {
  return {array.data(), array.data() + array.size()};
}
using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

py::array copied(const std::vector<double>& values, std::size_t width) {
  const auto rows = static_cast<py::ssize_t>(width == 0 ? values.size() : values.size() / width);
  if (width == 0) return py::array_t<double>({rows}, values.data());
  return py::array_t<double>({rows, static_cast<py::ssize_t>(width)}, values.data());
}

py::dict calibration_of(const CalibrationResult& result) {
  py::list parameters, warnings, failures;
  for (const StageResult& stage : result.stages) {
    for (const CalibratedParameter& p : stage.parameters) {
      const ModelParameter& parameter = result.model.parameters[static_cast<std::size_t>(p.parameter)];
      parameters.append(py::dict("name"_a = parameter.name, "unit"_a = parameter.unit, "before"_a = p.before,
                                 "value"_a = p.after, "deviation"_a = p.deviation, "at_bound"_a = p.at_bound,
                                 "chi_square"_a = stage.chi_square));
    }
    for (const std::string& text : stage.warnings) warnings.append(text);
    if (!stage.misfit.empty()) warnings.append(stage.misfit);
    if (!stage.failure.empty()) failures.append(stage.failure);
  }
  return py::dict("parameters"_a = parameters, "warnings"_a = warnings, "failures"_a = failures,
                  "good"_a = result.good() && result.consistent());
}

// ModelError of the Python side, with its faults.
void raise_faults(const std::vector<Fault>& faults) {
  const py::object type = py::module_::import("tellegen").attr("ModelError");
  py::list list;
  for (const Fault& fault : faults)
    list.append(py::dict("file"_a = fault.place.file, "line"_a = fault.place.line, "code"_a = fault.code,
                         "message"_a = fault.message, "details"_a = fault.details,
                         "text"_a = to_text(fault)));
  PyErr_SetObject(type.ptr(), type(list).ptr());
}

}  // namespace

PYBIND11_MODULE(_tellegen, m) {
  m.attr("version") = std::string(version());
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const ModelError&) {
      raise_faults(current_faults());
    } catch (const SimulationError&) {
      raise_faults(current_faults());
    } catch (const Interrupted&) {  // its error is set
    }
  });

  py::class_<SimulationResult>(m, "Run")
      .def_readonly("names", &SimulationResult::names)
      .def_readonly("units", &SimulationResult::units)
      .def_readonly("failure", &SimulationResult::failure)
      .def_readonly("ended", &SimulationResult::ended)
      .def_readonly("step", &SimulationResult::step)
      .def_property_readonly("warnings", &SimulationResult::warnings)
      .def_property_readonly("summary", &SimulationResult::brief)
      .def_property_readonly(
          "t", [](const py::object& self) { return view(self.cast<SimulationResult&>().t, 0, self); })
      .def_property_readonly("values", [](const py::object& self) {
        const auto& r = self.cast<SimulationResult&>();
        return view(r.values, r.names.size(), self);
      });

  py::class_<Estimate>(m, "EstimateResult")
      .def_property_readonly("names",
                             [](const Estimate& e) {
                               Strings names;
                               for (const auto& q : e.quantities) names.push_back(q.name);
                               return names;
                             })
      .def_property_readonly("units",
                             [](const Estimate& e) {
                               Strings names;
                               for (const auto& q : e.quantities) names.push_back(q.unit);
                               return names;
                             })
      .def_property_readonly("t",
                             [](const py::object& self) { return view(self.cast<Estimate&>().t, 0, self); })
      .def_property_readonly("mean",
                             [](const py::object& self) {
                               const auto& e = self.cast<Estimate&>();
                               return view(e.mean, e.quantities.size(), self);
                             })
      .def_property_readonly("deviation",
                             [](const py::object& self) {
                               const auto& e = self.cast<Estimate&>();
                               return view(e.deviation, e.quantities.size(), self);
                             })
      .def_readonly("log_likelihood", &Estimate::log_likelihood)
      .def_readonly("estimator", &Estimate::estimator)
      .def_readonly("failure", &Estimate::failure)
      .def_property_readonly("warnings", [](const Estimate& e) {
        Strings all = complaints(e);
        for (const std::string& text : e.warnings)
          if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
        return all;
      });

  py::class_<Study>(m, "Study")
      .def_property_readonly("nominal", &Study::nominal)
      .def("values",
           [](Study& study, const Array& numbers) {
             const std::vector<double> at = doubles(numbers);
             const Interruptible interruptible;
             const py::gil_scoped_release free;
             return study.values(at);
           })
      .def("evaluate", [](Study& study, const Array& numbers) {
        const std::vector<double> at = doubles(numbers);
        const Interruptible interruptible;
        const py::gil_scoped_release free;
        return study.evaluate(at);
      });
  py::class_<StudyResult>(m, "StudyResult")
      .def_property_readonly("values", [](const StudyResult& r) { return copied(r.values, 0); })
      .def_property_readonly(
          "gradient",
          [](const StudyResult& r) { return copied(r.gradient, r.gradient.size() / r.values.size()); })
      .def_readonly("warnings", &StudyResult::warnings)
      .def_readonly("failure", &StudyResult::failure)
      .def_readonly("method", &StudyResult::method);

  py::class_<PyTwin>(m, "Twin")
      .def(py::init<const PyModel&, double, const std::string&>())
      .def_readonly("sensors", &PyTwin::sensors)
      .def_readonly("inputs", &PyTwin::inputs)
      .def_readonly("names", &PyTwin::names)
      .def_readonly("units", &PyTwin::units)
      .def_property_readonly("failure", [](const PyTwin& self) { return self.twin->failure(); })
      .def("push", &PyTwin::push)
      .def_readonly("idle", &PyTwin::idle)
      .def_readonly("doubt", &PyTwin::doubt)
      .def("quantities", [](PyTwin& self) { return quantities(self, self.twin->quantities()); })
      .def("forecast",
           [](PyTwin& self, const Array& inputs, double horizon) {
             py::list rows;
             for (const Twin::Quantities& q : self.twin->forecast(doubles(inputs), horizon))
               rows.append(quantities(self, q));
             return rows;
           })
      .def("checkpoint", [](PyTwin& self) { return py::bytes(self.twin->checkpoint()); })
      .def("restore", [](PyTwin& self, const std::string& bytes) { self.twin->restore(bytes); });

  py::class_<PyModel>(m, "Model")
      .def(py::init<std::optional<std::filesystem::path>, std::optional<std::string>, Strings>())
      .def_property_readonly("name", [](const PyModel& self) { return self.model().name; })
      .def_readonly("notes", &PyModel::notes)
      .def_property_readonly("components",
                             [](const PyModel& self) {
                               Strings names;
                               for (const Component& c : self.model().components) names.push_back(c.name);
                               return names;
                             })
      .def_property_readonly("parameters",
                             [](const PyModel& self) {
                               py::dict all;
                               for (const ModelParameter& p : self.model().parameters)
                                 all[py::str(p.name)] = py::make_tuple(p.number, p.unit);
                               return all;
                             })
      .def_property_readonly("objectives",
                             [](const PyModel& self) {
                               Strings names;
                               for (const auto& o : self.model().objectives) names.push_back(o.name);
                               return names;
                             })
      .def("all_parameters", [](const PyModel& self) { return parameter_names(self.model(), true); })
      .def("check",
           [](const PyModel& self) {
             const EquationSystem system = build_system(self.model());
             auto faults = topology_faults(*system.model, system.graph, system.tree);
             if (!faults.empty()) throw ModelError(std::move(faults));
           })
      .def("simulate",
           [](PyModel& self, double stop, double step, double sample, double tolerance,
              const std::string& method, const Strings& outputs, bool all, bool interpret, bool balance,
              const Numbers& set, const py::object& progress) {
             const SimulateSettings settings{stop,    step, sample,    tolerance, method,
                                             outputs, all,  interpret, balance};
             Listener listener(progress);
             py::gil_scoped_release free;
             return self.simulate(settings, set, listener);
           })
      .def("study",
           [](const PyModel& self, const Strings& objectives, const Strings& parameters,
              const std::string& method) {
             StudyOptions options;
             if (method == "forward") options.method = StudyOptions::Method::forward;
             if (method == "adjoint") options.method = StudyOptions::Method::adjoint;
             return std::make_unique<Study>(self.read(), objectives, parameters, options);
           })
      .def("optimize",
           [](const PyModel& self, const std::string& algorithm, int starts, std::uint64_t seed, int most) {
             OptimizeOptions options;
             options.algorithm = algorithm;
             options.starts = starts;
             options.seed = seed;
             options.most_evaluations = most;
             std::optional<OptimizeResult> result;
             Strings names;
             {
               const Interruptible interruptible;
               const py::gil_scoped_release free;
               DesignProblem problem(self.read(), {});
               for (std::size_t k = 0; k < problem.variable_count(); ++k)
                 names.push_back(problem.study().parameter(k).name);
               result = optimize(problem, options);
             }
             return py::dict("names"_a = names, "numbers"_a = result->best.best.numbers,
                             "before"_a = result->before.numbers, "goal"_a = result->best.best.goal,
                             "goal_before"_a = result->before.goal,
                             "objectives"_a = result->best.best.objectives,
                             "feasible"_a = result->best.feasible, "converged"_a = result->best.converged,
                             "stopped"_a = result->best.stopped, "evaluations"_a = result->best.evaluations);
           })
      .def("sweep",
           [](const PyModel& self, const Strings& names, const Array& rows, const Strings& objectives,
              const Strings& outputs, int jobs, double stop, double step, const std::string& method) {
             SampleTask task;
             task.read = [&] { return self.read(); };
             for (const std::string& name : names) task.axes.push_back({name, ""});
             task.objectives = objectives;
             task.outputs = outputs;
             task.simulation.stop = stop;
             task.simulation.step = step;
             task.simulation.method = method;
             const SampleSet samples{names.size(), doubles(rows)};
             std::vector<SampleOutcome> outcomes;
             std::vector<ResultColumn> columns;
             {
               const Interruptible interruptible;
               const py::gil_scoped_release free;
               outcomes = sweep(
                   task, samples, jobs, [](double) { InterruptionWatch::ask(); }, &columns);
             }
             py::array_t<double> values({outcomes.size(), columns.size()});
             double* value = values.mutable_data();
             py::list status(outcomes.size());
             const py::str done("");
             for (std::size_t r = 0; r < outcomes.size(); ++r) {
               const SampleOutcome& outcome = outcomes[r];
               status[r] = outcome.status.empty() ? done : py::str(outcome.status);
               for (std::size_t c = 0; c < columns.size(); ++c)
                 *value++ = c < outcome.values.size() ? outcome.values[c] : std::nan("");
             }
             Strings names_of_columns;
             for (const ResultColumn& column : columns) names_of_columns.push_back(column.name);
             return py::make_tuple(names_of_columns, values, status);
           })
      .def("calibrate",
           [](const PyModel& self, const Files& files, const Columns& columns, int starts) {
             std::optional<CalibrationResult> result;
             {
               const Interruptible interruptible;
               const py::gil_scoped_release free;
               const Model model = self.read();
               CalibrationOptions options = calibration_options();
               options.starts = starts;
               result = calibrate(model, self.record(model, files, columns), model.calibration, options);
             }
             return calibration_of(*result);
           })
      .def("identify",
           [](const PyModel& self, const Files& files, const Columns& columns) {
             std::optional<Identification> found;
             {
               const Interruptible interruptible;
               const py::gil_scoped_release free;
               const Model model = self.read();
               std::vector<int> unknowns;
               for (std::size_t k = 0; k < model.unknowns.size(); ++k)
                 if (model.unknowns[k].varies == ModelUnknown::Varies::constant)
                   unknowns.push_back(static_cast<int>(k));
               if (unknowns.empty())
                 throw ModelError({{"identify", 0},
                                   "T611",
                                   "nothing is asked for",
                                   {"name the parameters to find in [unknowns] of the model"}});
               found = identify(model, self.record(model, files, columns, false), unknowns, {});
             }
             if (!found->failure.empty()) throw std::runtime_error(found->failure);
             py::dict result = calibration_of(found->fit);
             result["good"] = found->good() && found->consistent();
             for (const std::string& text : found->misfit) result["warnings"].cast<py::list>().append(text);
             result["relations"] = found->equations;
             return result;
           })
      .def("drawing",
           [](const PyModel& self) {
             const DrawnNetwork network = drawn_network(self.model());
             return network.edges.size() > most_drawn_edges ? std::string() : to_svg(network, true);
           })
      .def("estimate",
           [](const PyModel& self, const Files& files, const Columns& columns, const std::string& estimator,
              bool smooth, const py::object& progress) {
             Listener listener(progress);
             const Interruptible interruptible;
             const py::gil_scoped_release free;
             const Model model = self.read();
             EstimateOptions options;
             options.estimator = estimator;
             options.smooth = smooth;
             options.progress = [&](double fraction) { listener(fraction); };
             return judged_estimate(model, self.record(model, files, columns), options);
           })
      .def("export_c", [](const PyModel& self, const std::string& name, double step,
                          const std::string& method, const Strings& outputs) {
        const Model model = self.read();
        SimulationOptions options = as_the_model_says();
        options.step = step;
        options.method = method;
        options = complete_options(model, options);
        options.compile = false;
        options.restarts = true;
        std::vector<OutputColumn> columns;
        for (const std::string& text : outputs)
          columns.push_back({text, "", parse_value(model, text, {"outputs", 0})});
        Simulation simulation(model, options, columns);
        py::dict files;
        for (const ExportedFile& file :
             export_c(model, simulation, {name.empty() ? c_name(model.name) : name}).files)
          files[py::str(file.name)] = file.text;
        return files;
      });

  m.def("si", [](const std::string& text) {
    const auto quantity = units().parse(text);
    if (!quantity) throw py::value_error("'" + text + "' is no quantity");
    return quantity->si;
  });
  m.def("from_si", [](double value, const std::string& unit) { return units().from_si(value, unit); });
  // Lines are (name, x, y), a band is (name, x, low, high) or nothing.
  using Line = std::tuple<std::string, std::vector<double>, std::vector<double>>;
  using Band = std::tuple<std::string, std::vector<double>, std::vector<double>, std::vector<double>>;
  m.def("figure", [](const std::string& title, const std::string& x_label, const std::vector<Line>& lines,
                     const std::optional<Band>& band) {
    Figure figure;
    figure.title = title;
    figure.x_label = x_label;
    int colour = 0;
    for (const auto& [name, x, y] : lines)
      figure.lines.push_back({FigureLine::Look::line, name, x, y, colour++, false});
    if (band)
      figure.bands.push_back(
          {std::get<0>(*band), std::get<1>(*band), std::get<2>(*band), std::get<3>(*band), 0});
    return to_svg(figure, true);
  });
  m.def("latin_hypercube",
        [](const std::vector<std::pair<double, double>>& ranges, std::size_t samples, std::uint64_t seed) {
          std::vector<Axis> axes;
          for (const auto& [lower, upper] : ranges) axes.push_back({"", "", lower, upper});
          return copied(latin_hypercube(axes, samples, seed).values, ranges.size());
        });
}

}  // namespace tellegen
