"""Tellegen: digital twins of electric powertrains from one linear graph.

    import tellegen
    model = tellegen.Model("inverter.toml")
    run = model.simulate(stop="10 s", set={"R1": "5 mohm"})
    run.t, run["T_j"]

Numbers are in SI; a text such as "30.47 mK/W" may stand wherever a number may. Results are in the units of the model's
outputs (`run.units`). What is wrong with a model raises ModelError, with every fault.
"""
import base64
import html
import os
import re
import tempfile
import warnings

import numpy

from . import _tellegen

__version__ = _tellegen.version
__all__ = ["Model", "ModelError", "Run", "Estimate", "Calibration", "Gradient", "Function", "Sweep", "Optimum", "Twin"]


class ModelError(Exception):
    """What is wrong with a model, a file or a call; `faults` lists every fault with file, line, code and message."""

    def __init__(self, faults):
        self.faults = faults
        super().__init__("\n".join(fault["text"] for fault in faults))


def _si(value):
    """A number, from a number or a quantity."""
    if value is None:
        return 0.0
    return _tellegen.si(value) if isinstance(value, str) else float(value)


def _names(value):
    return [value] if isinstance(value, str) else list(value or [])


class _Columns:
    """Named columns over time."""

    def __getitem__(self, name):
        try:
            return self.values[:, self.names.index(name)]
        except ValueError:
            raise KeyError(f"there is no output '{name}'; there are: {', '.join(self.names)}") from None

    def __contains__(self, name):
        return name in self.names

    def __len__(self):
        return len(self.t)

    def frame(self):
        """A pandas DataFrame over t."""
        import pandas

        return pandas.DataFrame(self.values, index=pandas.Index(self.t, name="t"), columns=self.names)

    def _repr_html_(self):
        return _pictures(self, getattr(self, "deviations", None))


class Run(_Columns):
    """A run: times `t`, `values` row by row, `names` and `units` of the columns; run["v"] is a column."""

    def __init__(self, raw):
        self._raw = raw
        self.t, self.values, self.names, self.units = raw.t, raw.values, raw.names, raw.units
        self.failure, self.warnings, self.ended, self.summary = raw.failure, raw.warnings, raw.ended, raw.summary

    def __repr__(self):
        return f"<Run of {len(self.t)} rows: {', '.join(self.names[:6])}{', ...' if len(self.names) > 6 else ''}>"


class Estimate(_Columns):
    """What an estimator believed after each row: `values` and their standard `deviations`, in `units`."""

    def __init__(self, raw):
        self.t, self.names, self.units = raw.t, raw.names, raw.units
        self.values = numpy.array([[_tellegen.from_si(v, u) if u else v for v, u in zip(row, self.units)]
                                   for row in raw.mean]) if any(self.units) else raw.mean
        scale = numpy.array([_tellegen.from_si(1.0, u) - _tellegen.from_si(0.0, u) if u else 1.0 for u in self.units])
        self.deviations = raw.deviation * scale
        self.estimator, self.log_likelihood = raw.estimator, raw.log_likelihood
        self.failure, self.warnings = raw.failure, raw.warnings

    def deviation(self, name):
        """The standard deviation of one quantity over time."""
        return self.deviations[:, self.names.index(name)]

    def __repr__(self):
        return f"<Estimate of {len(self.t)} rows by {self.estimator}: {', '.join(self.names[:6])}>"


class Calibration:
    """Numbers found from a record: calibration["R1"] is a value in SI, `deviations` says how sure it is."""

    def __init__(self, raw):
        self.parameters = raw["parameters"]
        self.values = {p["name"]: p["value"] for p in self.parameters}
        self.deviations = {p["name"]: p["deviation"] for p in self.parameters}
        self.good, self.warnings, self.failures = raw["good"], raw["warnings"], raw["failures"]

    def __getitem__(self, name):
        return self.values[name]

    def _repr_html_(self):
        notes = "".join(f"<li>{html.escape(text)}</li>" for text in self.failures + self.warnings)
        return _table(["parameter", "unit", "before", "result", "standard deviation"],
                      [[p["name"], p["unit"], _told(p["before"], p["unit"]), _told(p["value"], p["unit"]),
                        f"{p['deviation'] * _scale(p['unit']):.2g}"] for p in self.parameters]) + (
                            f"<ul>{notes}</ul>" if notes else "")

    def __repr__(self):
        found = ", ".join(f"{n} = {v:.6g} +- {self.deviations[n]:.2g}" for n, v in self.values.items())
        return f"<Calibration{'' if self.good else ', doubtful'}: {found}>"


class Gradient:
    """Objectives and their derivatives: gradient["E", "R"] is dE/dR in SI."""

    def __init__(self, raw, objectives, parameters):
        self.objectives, self.parameters = objectives, parameters
        self.values, self.gradient = raw.values, raw.gradient
        self.warnings, self.failure, self.method = raw.warnings, raw.failure, raw.method

    def __getitem__(self, names):
        objective, parameter = names
        return self.gradient[self.objectives.index(objective), self.parameters.index(parameter)]

    def _repr_html_(self):
        return _table(["", "value"] + [f"d/d {name}" for name in self.parameters],
                      [[name, f"{value:.6g}"] + [f"{slope:.6g}" for slope in row]
                       for name, value, row in zip(self.objectives, self.values, self.gradient)])

    def __repr__(self):
        return f"<Gradient of {', '.join(self.objectives)} by {', '.join(self.parameters)}>"


class Function:
    """Objectives as a function of parameters (SI), with exact derivatives, for an optimiser of your own:

        f = model.function("E_loss", ["R", "C"])
        scipy.optimize.minimize(f.value_and_gradient, f.nominal, jac=True)
        scipy.optimize.least_squares(f, f.nominal, jac=f.gradient)
    """

    def __init__(self, study, objectives, parameters):
        self._study, self.objectives, self.parameters = study, objectives, parameters
        self.nominal = numpy.array(study.nominal)
        self._last = None  # numbers and what came of them: optimisers ask for value and gradient one after the other

    def _checked(self, result):
        if result.failure:
            raise RuntimeError(result.failure)
        return result

    def __call__(self, numbers):
        numbers = numpy.array(numbers, float)
        if self._last is not None and numpy.array_equal(self._last[0], numbers):
            return self._last[1]
        values = self._checked(self._study.values(numbers)).values
        return values[0] if len(self.objectives) == 1 else values

    def value_and_gradient(self, numbers):
        """Of one objective a number and a vector; of several a vector and a matrix, a row for each objective."""
        numbers = numpy.array(numbers, float)
        if self._last is None or not numpy.array_equal(self._last[0], numbers):
            result = self._checked(self._study.evaluate(numbers))
            one = len(self.objectives) == 1
            self._last = (numbers, result.values[0] if one else result.values, result.gradient[0] if one else result.gradient)
        return self._last[1:]

    def gradient(self, numbers):
        return self.value_and_gradient(numbers)[1]

    def __repr__(self):
        return f"<Function of {', '.join(self.parameters)}: {', '.join(self.objectives)}>"


class Sweep:
    """Results of many samples: `values` has a row for each row of `samples`; `status` says why one has none."""

    def __init__(self, parameters, samples, names, values, status):
        self.parameters, self.samples, self.names, self.values, self.status = parameters, samples, names, values, status

    def __getitem__(self, name):
        if name in self.names:
            return self.values[:, self.names.index(name)]
        return self.samples[:, self.parameters.index(name)]

    def __len__(self):
        return len(self.samples)

    def frame(self):
        """A pandas DataFrame of samples and results."""
        import pandas

        return pandas.DataFrame(numpy.hstack([self.samples, self.values]), columns=self.parameters + self.names)

    def _repr_html_(self):
        shown = min(len(self), 20)
        rows = [[f"{v:.6g}" for v in self.samples[k]] + [f"{v:.6g}" for v in self.values[k]] + [self.status[k]]
                for k in range(shown)]
        more = f"<p>{len(self) - shown} more</p>" if shown < len(self) else ""
        return _table(self.parameters + self.names + ["status"], rows) + more

    def __repr__(self):
        return f"<Sweep of {len(self)} samples of {', '.join(self.parameters)}: {', '.join(self.names)}>"


class Optimum:
    """The design that was found: optimum["L"] is a number in SI."""

    def __init__(self, raw):
        self.values = dict(zip(raw["names"], raw["numbers"]))
        self.before = dict(zip(raw["names"], raw["before"]))
        self.goal, self.goal_before, self.objectives = raw["goal"], raw["goal_before"], raw["objectives"]
        self.feasible, self.converged, self.stopped = raw["feasible"], raw["converged"], raw["stopped"]
        self.evaluations = raw["evaluations"]

    def __getitem__(self, name):
        return self.values[name]

    def _repr_html_(self):
        rows = [[name, f"{self.before[name]:.6g}", f"{value:.6g}"] for name, value in self.values.items()]
        rows.append(["goal", f"{self.goal_before:.6g}", f"{self.goal:.6g}"])
        return _table(["", "before", "after"], rows) + f"<p>{html.escape(self.stopped)}</p>"

    def __repr__(self):
        found = ", ".join(f"{n} = {v:.6g}" for n, v in self.values.items())
        return f"<Optimum: {found}; goal {self.goal_before:.6g} -> {self.goal:.6g}, {self.stopped}>"


class Model:
    """A model file or a netlist, or a model as text.

        Model("inverter.toml"), Model(text="[components] ..."), Model("pack.toml", set={"R0": "2 mohm"})
    """

    def __init__(self, path=None, text=None, set=None):
        if (path is None) == (text is None):
            raise TypeError("a model is a path or a text")
        overrides = [f"{name}={value}" for name, value in (set or {}).items()]
        self._raw = _tellegen.Model(path, text, overrides)
        self.name, self.components, self.objectives = self._raw.name, self._raw.components, self._raw.objectives
        self.notes = self._raw.notes  # how well tables meet scattered points, what of a netlist has no effect

    @property
    def parameters(self):
        """Numbers of [parameters], SI."""
        return {name: number for name, (number, unit) in self._raw.parameters.items()}

    @property
    def all_parameters(self):
        """Names of every number that `set`, `sensitivity` and `sweep` know, those in components ("r1.R") too."""
        return self._raw.all_parameters()

    def check(self):
        """Raises ModelError where the model cannot be built; reading has found the other faults."""
        self._raw.check()
        return self

    def simulate(self, stop=None, step=None, sample=None, method="", tolerance=None, set=None, outputs=None,
                 all=False, interpret=False, balance=None, progress=None):
        """A run as `tellegen simulate` makes it. `set` gives parameters other numbers; with the same names again it
        runs what was built before. `outputs` are formulas; none: the model's. `progress` is called with a fraction.
        `balance`: account for energy; by default where nothing is set, since a run that may come again cannot."""
        numbers = {name: value if isinstance(value, str) else float(value) for name, value in (set or {}).items()}
        return Run(self._raw.simulate(_si(stop), _si(step), _si(sample), tolerance or 0.0, method, _names(outputs), all,
                                      interpret, not set if balance is None else balance, numbers, progress))

    def sensitivity(self, of=None, to=None, method=""):
        """Objectives of the model and their exact derivatives by parameters."""
        objectives, parameters = _names(of) or self.objectives, _names(to) or list(self.parameters)
        study = self._raw.study(objectives, parameters, method)
        return Gradient(study.evaluate(numpy.array(study.nominal)), objectives, parameters)

    def rank(self, of=None, to=None):
        """Parameters by what a change of 1 % does to an objective: (name, relative sensitivity), the largest first."""
        gradient = self.sensitivity(of or self.objectives[:1], to)
        nominal = self._raw.study(gradient.objectives, gradient.parameters, "").nominal
        relative = gradient.gradient[0] * numpy.array(nominal) / (gradient.values[0] or 1.0)
        return sorted(zip(gradient.parameters, relative.tolist()), key=lambda item: -abs(item[1]))

    def function(self, objectives, parameters, method=""):
        """Objectives as a function of parameters, with exact gradients (see Function)."""
        objectives, parameters = _names(objectives), _names(parameters)
        return Function(self._raw.study(objectives, parameters, method), objectives, parameters)

    def optimize(self, algorithm="slsqp", starts=1, seed=1, evaluations=300):
        """The design that [design] asks for."""
        return Optimum(self._raw.optimize(algorithm, starts, seed, evaluations))

    def sweep(self, axes, samples=None, seed=1, outputs=None, objectives=None, jobs=1, stop=None, step=None, method=""):
        """Runs with other numbers. `axes` are lists of values, of which every combination is run, or, with `samples`,
        pairs (lowest, highest) of a Latin hypercube. What comes out is at the end of each run."""
        names = list(axes)
        if samples is not None:
            ranges = [(_si(low), _si(high)) for low, high in axes.values()]
            rows = _tellegen.latin_hypercube(ranges, samples, seed)
        else:
            lists = [[_si(value) for value in values] for values in axes.values()]
            rows = numpy.array(numpy.meshgrid(*lists, indexing="ij")).reshape(len(names), -1).T
        rows = numpy.ascontiguousarray(rows, float)
        columns, values, status = self._raw.sweep(names, rows, _names(objectives), _names(outputs), jobs, _si(stop),
                                                  _si(step), method)
        return Sweep(names, rows, columns, values, status)

    def calibrate(self, data, columns=None, starts=1):
        """The model's unknown constants, from a log file, several in sequence, or a pandas frame. `columns` says which
        column is which sensor or input, {"T_h": "Case temperature"}, before [columns] of the model file."""
        with _files_of(data) as files:
            return Calibration(self._raw.calibrate(files, columns or {}, starts))

    def identify(self, data, columns=None):
        """The same with no starting values: those of the model are not looked at."""
        with _files_of(data) as files:
            return Calibration(self._raw.identify(files, columns or {}))

    def estimate(self, data, columns=None, estimator="", smooth=False, progress=None):
        """What cannot be measured, from a log file, several in sequence, or a pandas frame."""
        with _files_of(data) as files:
            return Estimate(self._raw.estimate(files, columns or {}, estimator, smooth, progress))

    def export(self, folder, name="", step=None, method="", outputs=None):
        """The model's step as C, into a folder; returns the names of the files."""
        files = self._raw.export_c(name, _si(step), method, _names(outputs))
        os.makedirs(folder, exist_ok=True)
        for file, text in files.items():
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                out.write(text)
        return sorted(files)

    def _repr_svg_(self):
        """The network, for notebooks; nothing where it is too large to draw."""
        return self._raw.drawing() or None

    def __repr__(self):
        return f"<Model '{self.name}' of {len(self.components)} components>"


class Twin:
    """A model and its estimator, which follow a machine as its data come.

        twin = Twin(model, step="1 s")
        twin.push(0.0, {"T_case": 300.1}, {"P": 12.0})
        twin["T_j"], twin.deviation("T_j")
    """

    def __init__(self, model, step=None, estimator=""):
        self._raw = _tellegen.Twin(model._raw, _si(step), estimator)
        self._doubted = False
        if self._raw.idle:
            warnings.warn(self._raw.idle, stacklevel=2)
        self.sensors, self.inputs, self.names, self.units = (self._raw.sensors, self._raw.inputs, self._raw.names,
                                                             self._raw.units)

    def push(self, t, readings, inputs=None):
        """A row of data, SI or texts with a unit ("41 degC"): a reading for each of `sensors` and a value for each of
        `inputs`, by name or in order; what is missing is not there. Results of a run are in its `units`, not in SI.
        Returns what became of it: "taken", "late", "duplicate", "too late", "beside" (on no step: not used)."""
        word = self._raw.push(float(t), _row(readings, self.sensors), _row(inputs, self.inputs))
        if word == "failed":
            raise RuntimeError(self._raw.failure)
        if self._raw.doubt and not self._doubted:
            self._doubted = True
            warnings.warn(self._raw.doubt, stacklevel=2)
        return word

    def __getitem__(self, name):
        return self._raw.quantities()[1][self.names.index(name)]

    def deviation(self, name):
        return self._raw.quantities()[2][self.names.index(name)]

    def quantities(self):
        """(t, values, standard deviations) after the newest row, in `units`."""
        return self._raw.quantities()

    def forecast(self, horizon, inputs=None):
        """The coming steps without readings: a list of (t, values, deviations). The newest inputs hold on, or `inputs`
        has a row of them for each step."""
        rows = numpy.asarray([] if inputs is None else inputs, float)
        return self._raw.forecast(rows, _si(horizon))

    def checkpoint(self):
        """Bytes from which restore() continues to the last bit."""
        return self._raw.checkpoint()

    def restore(self, data):
        self._raw.restore(data)
        return self


def _row(values, names):
    if values is None:
        return [float("nan")] * len(names)
    if isinstance(values, dict):
        unknown = [name for name in values if name not in names]
        if unknown:
            raise KeyError(f"'{unknown[0]}' is none of {', '.join(names) or 'nothing'}")
        return [_si(values[name]) if name in values else float("nan") for name in names]
    values = [_si(value) for value in values]
    if len(values) != len(names):
        raise ValueError(f"{len(values)} values for {', '.join(names) or 'nothing'}")
    return values


def _in_python(fault, made):
    """A fault as who called from Python knows things: no file that was made of a frame, no options of the command line."""

    def said(text):
        if made:
            text = text.replace(made, "the frame").replace("the data file", "the frame")
        text = re.sub(r'--columns "([^"=]+)=([^"]*)"', r'columns={"\1": "\2"}', text)
        text = re.sub(r"--resample (\w+)", r'resample = "\1" in [estimate]', text)
        return re.sub(r"--step( \w+)?, or step", "step", text)

    return {**fault, "file": said(fault["file"]), "message": said(fault["message"]), "text": said(fault["text"]),
            "details": [said(detail) for detail in fault["details"]]}


class _files_of:
    """Paths of log files; of a pandas frame a file is made. Its index is the time where no column is."""

    def __init__(self, data):
        self.data, self.made = data, None

    def __enter__(self):
        if not hasattr(self.data, "to_csv"):
            several = isinstance(self.data, (list, tuple))
            return [os.fspath(file) for file in (self.data if several else [self.data])]
        handle, self.made = tempfile.mkstemp(suffix=".csv")
        os.close(handle)
        has_time = any(re.fullmatch(r"(t|time)\s*([\[(/<{].*)?", str(c)) for c in self.data.columns)
        self.data.to_csv(self.made, index=not has_time, index_label=None if has_time else "t")
        return [self.made]

    def __exit__(self, kind, error, _):
        if self.made:
            os.unlink(self.made)
        if isinstance(error, ModelError):
            raise ModelError([_in_python(fault, self.made) for fault in error.faults]) from None


def _scale(unit):
    """By which a difference in SI becomes one in a unit."""
    return _tellegen.from_si(1.0, unit) - _tellegen.from_si(0.0, unit) if unit else 1.0


def _told(value, unit):
    return f"{_tellegen.from_si(value, unit) if unit else value:.6g}"


def _table(header, rows):
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _pictures(columns, deviations=None, most=12):
    """A figure for each column. As images: what a figure says of colours and letters does not reach the page around it."""
    pictures = []
    for k, name in enumerate(columns.names[:most]):
        values = columns.values[:, k]
        band = None
        if deviations is not None:
            half = 1.959963984540054 * deviations[:, k]
            band = ("95 %", columns.t, values - half, values + half)
        title = f"{name} [{columns.units[k]}]" if columns.units[k] else name
        svg = _tellegen.figure(title, "t [s]", [(name, columns.t, values)], band)
        data = base64.b64encode(svg.encode()).decode()
        pictures.append(f'<figure style="display:inline-block;margin:4px 12px"><figcaption>{html.escape(title)}</figcaption>'
                        f'<img width="480" alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}"></figure>')
    more = len(columns.names) - len(pictures)
    return "<div>" + "".join(pictures) + "</div>" + (f"<p>{more} more are not drawn</p>" if more > 0 else "")
