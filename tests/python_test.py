"""Runs the examples of docs/python.md, and what they leave out. Usage: python_test.py SOURCE_FOLDER"""
import ast
import base64
import importlib.util
import inspect
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
import xml.etree.ElementTree

import numpy

import tellegen

root = os.path.abspath(sys.argv.pop(1))
folder = tempfile.mkdtemp()
with open(os.path.join(root, "docs", "python.md"), encoding="utf-8") as page:
    text = page.read()
for name, body in re.findall(r"```toml\n# model: (\S+)\n(.*?)```", text, re.S):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(body)
os.chdir(folder)


class Page(unittest.TestCase):
    def test_examples_run(self):
        names = {}
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreaterEqual(len(blocks), 6)
        for block in blocks:
            exec(compile(block, "docs/python.md", "exec"), names)


class Models(unittest.TestCase):
    def test_same_numbers_whether_built_anew_or_run_again(self):
        again = tellegen.Model("discharge.toml")
        for resistance in (500.0, 2000.0, 1000.0):
            fresh = tellegen.Model("discharge.toml", set={"R": resistance})
            numpy.testing.assert_array_equal(again.simulate(set={"R": resistance}).values, fresh.simulate().values)

    def test_arrays_are_views_that_outlive_the_run(self):
        run = tellegen.Model("discharge.toml").simulate()
        v, values = run["v"], run.values
        self.assertIs(v.base.base is not None or v.base is not None, True)
        with self.assertRaises(ValueError):
            values[0, 0] = 1.0
        del run
        self.assertEqual(v[0], 1000.0)

    def test_what_is_wrong_is_said(self):
        model = tellegen.Model("discharge.toml")
        for call, code in ((lambda: model.simulate(set={"Rx": 1.0}), "T140"),
                           (lambda: model.simulate(set={"R": "5 K"}), "T123"),
                           (lambda: model.simulate(set={"R": -1.0}), "T124"),
                           (lambda: model.simulate(outputs=["q.v"]), "T121"),
                           (lambda: model.simulate(method="bdf7"), "T310"),
                           (lambda: model.sensitivity("nothing"), "T141"),
                           (lambda: tellegen.Model("absent.toml"), "T180")):
            with self.assertRaises(tellegen.ModelError) as caught:
                call()
            self.assertEqual(caught.exception.faults[0]["code"], code)
        with self.assertRaises(KeyError):
            model.simulate()["w"]
        with self.assertRaises(TypeError):
            tellegen.Model()

    def test_a_network_that_cannot_be_is_found_by_check(self):
        model = tellegen.Model(text="[components]\na = { kind = 'electrical.voltage_source', p = 'x', n = 'datum', V = 1 }\n"
                                    "b = { kind = 'electrical.voltage_source', p = 'x', n = 'datum', V = 2 }\n")
        with self.assertRaises(tellegen.ModelError):
            model.check()

    def test_progress_is_told_and_can_stop_a_run(self):
        class Enough(Exception):
            pass

        def stop(fraction):
            raise Enough

        with self.assertRaises(Enough):
            tellegen.Model("discharge.toml").simulate(stop=1e7, interpret=True, sample=1e4, progress=stop)

    def test_ctrl_c_ends_studies(self):
        calls = {"sweep": "m.sweep({'R': (500, 1500)}, samples=10**6, outputs='c1.v', stop=20)",
                 "one long sample": "tellegen.Model('long.toml').sweep({'R': [1e3]}, outputs='c1.v')",
                 "sensitivity": "tellegen.Model('long.toml').sensitivity('v_end', ['R', 'C'])",
                 "optimize": "tellegen.Model('long.toml').optimize()"}
        with open("discharge.toml", encoding="utf-8") as file:
            body = file.read().replace('stop = "1 s"', 'stop = "3e5 s"\nsample = "100 s"')
        with open("long.toml", "w", encoding="utf-8") as file:
            file.write(body + "[design]\nvariables = { R = [500, 2000] }\nminimize = 'v_end'\n")
        for name, call in calls.items():
            body = f"import tellegen\nm = tellegen.Model('discharge.toml')\nprint('ready', flush=True)\n{call}\n"
            with subprocess.Popen([sys.executable, "-c", body], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                time.sleep(1.0)
                self.assertIsNone(process.poll(), name + ": it was to take long")
                process.send_signal(signal.SIGINT)
                try:
                    _, error = process.communicate(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    self.fail(name + " does not hear Ctrl-C")
                self.assertIn(b"KeyboardInterrupt", error, name)

    def test_a_plain_run_again_is_the_same_with_its_balance(self):
        model = tellegen.Model("discharge.toml")
        first = model.simulate()
        self.assertIn("energy balance", first.summary)
        for _ in range(3):
            again = model.simulate()
            numpy.testing.assert_array_equal(again.values, first.values)
            self.assertEqual(again.summary.splitlines()[1:], first.summary.splitlines()[1:])
        self.assertEqual(model.simulate(stop=0.5).t[-1], 0.5)
        self.assertEqual(model.simulate(step=2e-9, stop=1e-6).t[1], 2e-9)
        self.assertEqual(model.simulate(step=1e-9, stop=1e-6).t[1], 1e-9)

    def test_a_twin_says_when_readings_cannot_be_si(self):
        twin = tellegen.Twin(tellegen.Model("heater.toml"))
        with self.assertWarnsRegex(UserWarning, "push\\(\\) takes SI"):
            twin.push(0.0, {"T_case": 27.0}, {"Q": 20.0})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            twin.push(1.0, {"T_case": 27.0}, {"Q": 20.0})  # once
            twin = tellegen.Twin(tellegen.Model("heater.toml"))
            self.assertEqual(twin.push(0.0, {"T_case": "26.9 degC"}, {"Q": 20.0}), "taken")
        self.assertEqual(twin.push(1.5, {"T_case": 300.0}, {"Q": 20.0}), "beside")

    def test_faults_of_a_frame_are_said_in_python(self):
        class Frame:  # as much of pandas as is asked for
            columns = ["Case", "Q"]

            def to_csv(self, path, index, index_label):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("t,Case,Q\n" + "".join(f"{t},{300 + 0.01 * t},20\n" for t in range(20)))

        with self.assertRaises(tellegen.ModelError) as caught:
            tellegen.Model("heater.toml").estimate(Frame())
        self.assertNotIn("--", str(caught.exception))
        self.assertNotIn(".csv", str(caught.exception))
        self.assertIn("columns={", str(caught.exception))

    def test_gradients_agree_with_differences(self):
        f = tellegen.Model("discharge.toml").function(["v_end", "heat"], ["R", "C"])
        _, gradient = f.value_and_gradient(f.nominal)
        for k in range(2):
            step = numpy.zeros(2)
            step[k] = 1e-4 * f.nominal[k]
            difference = (f(f.nominal + step) - f(f.nominal - step)) / (2 * step[k])
            numpy.testing.assert_allclose(gradient[:, k], difference, rtol=1e-5)

    def test_a_pack_of_96_cells_in_25_lines(self):
        with open(os.path.join(root, "models", "battery-pack", "model.toml"), encoding="utf-8") as file:
            body = file.read().replace("= 12,", "= 96,").replace("= 11,", "= 95,").replace("n[12]", "n[96]")
        self.assertLessEqual(sum(bool(line) for line in body.splitlines()), 25)
        random = numpy.random.default_rng(1)
        with open("cells.csv", "w", encoding="utf-8") as file:
            file.write("R0 [mohm],capacity [Ah],soc0\n")
            for _ in range(96):
                file.write(f"{random.uniform(0.8, 1):.4f},{random.uniform(59, 61):.3f},{random.uniform(0.79, 0.81):.4f}\n")
        with open("pack.toml", "w", encoding="utf-8") as file:
            file.write(body)
        run = tellegen.Model("pack.toml").simulate(stop="50 s", step="0.1 s", outputs=["cell[*].soc", "bus.v", "sum(cell[*].soc)"])
        self.assertEqual((len(run.names), run.failure), (98, ""))
        numpy.testing.assert_allclose(run.values[:, :96].sum(axis=1), run["sum(cell[*].soc)"], rtol=1e-13)
        self.assertGreater(run["bus.v"][-1], 330.0)

    def test_a_record_is_estimated_and_calibrated(self):
        heater = tellegen.Model("heater.toml")
        truth = heater.simulate(outputs=["case.T", "core.T"])
        random = numpy.random.default_rng(1)
        with open("log.csv", "w", encoding="utf-8") as file:
            file.write("t [s];T_case [degC];Q [W]\n")
            for t, case in zip(truth.t, truth["case.T"]):
                file.write(f"{t:g};{case - 273.15 + 0.1 * random.standard_normal():.4f};20\n")
        estimate = heater.estimate("log.csv")
        self.assertLess(abs(estimate["T_core"][-1] - truth["core.T"][-1]), 4 * estimate.deviation("T_core")[-1])
        with open("heater.toml", encoding="utf-8") as file:
            body = file.read().replace('R = "1 K/W"', 'R = "Rf"').replace("[parameters]", '[parameters]\nRf = "1.3 K/W"')
        found = tellegen.Model(text=body + '[unknowns]\nRf = { between = [0.1, 10] }\n').calibrate("log.csv")
        self.assertLess(abs(found["Rf"] - 1.0), 4 * found.deviations["Rf"])

    def test_export_writes_c(self):
        files = tellegen.Model("discharge.toml").export("exported")
        self.assertIn("discharge.c", files)
        self.assertTrue(os.path.exists("exported/main.c"))

    def test_records_are_identified_and_their_columns_named(self):
        heater = os.path.join(root, "models", "identification", "thermal.toml")
        found = tellegen.Model(heater).identify(os.path.join(root, "models", "identification", "thermal.csv"))
        for name, value in {"R_wh": 0.2, "R_ha": 0.6, "C_w": 400.0, "C_h": 3000.0}.items():
            self.assertLess(abs(found[name] - value), 4 * found.deviations[name], name)
        self.assertTrue(found.good)
        with open("other.csv", "w", encoding="utf-8") as file:
            file.write("t;Gehaeuse;Q\n" + "".join(f"{t};{300 + 0.01 * t};20\n" for t in range(30)))
        heater = tellegen.Model("heater.toml")
        with self.assertRaises(tellegen.ModelError) as caught:
            heater.estimate("other.csv")
        self.assertEqual(caught.exception.faults[0]["code"], "T591")
        self.assertEqual(len(heater.estimate("other.csv", columns={"T_case": "Gehaeuse"})), 30)
        with self.assertRaises(tellegen.ModelError):
            tellegen.Model("discharge.toml").identify("other.csv")

    def test_a_function_serves_optimisers(self):
        f = tellegen.Model("discharge.toml").function("v_end", ["R", "C"])
        value, slope = f.value_and_gradient(f.nominal)
        self.assertEqual(f(f.nominal), value)
        numpy.testing.assert_array_equal(f.gradient(f.nominal), slope)
        self.assertEqual((numpy.ndim(value), slope.shape), (0, (2,)))
        x = f.nominal.copy()
        f.value_and_gradient(x)
        x *= 2.0  # optimisers change their vectors in place
        self.assertNotEqual(f(x), value)
        if importlib.util.find_spec("scipy"):
            from scipy.optimize import minimize

            goal = tellegen.Model("discharge.toml").function("v_end", ["R"])
            found = minimize(lambda x: ((goal(x) - 0.5) ** 2, 2 * (goal(x) - 0.5) * goal.gradient(x)), goal.nominal, jac=True,
                             bounds=[(100.0, 1e4)], options={"ftol": 1e-15, "gtol": 1e-12})
            self.assertAlmostEqual(found.x[0], 1442.7, delta=1.0)


class Notebooks(unittest.TestCase):
    def svg(self, text):
        return xml.etree.ElementTree.fromstring(text)

    def test_a_model_is_drawn(self):
        picture = tellegen.Model("discharge.toml")._repr_svg_()
        self.svg(picture)
        for name in (">r1<", ">c1<"):
            self.assertIn(name, picture)
        large = "[components]\nr = { kind = 'electrical.resistor', count = 100, p = 'n[i]', n = 'n[i-1]', R = 1 }\n"
        self.assertIsNone(tellegen.Model(text=large + "g = { kind = 'electrical.ground', p = 'n[0]' }")._repr_svg_())

    def test_runs_and_estimates_are_drawn(self):
        heater = tellegen.Model("heater.toml")
        run = heater.simulate(outputs=["case.T", "core.T"])
        page = run._repr_html_()
        pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
        self.assertEqual(len(pictures), 2)
        self.assertIn("class=\"line s0\"", base64.b64decode(pictures[0]).decode())
        self.svg(base64.b64decode(pictures[0]))
        with open("drawn.csv", "w", encoding="utf-8") as file:
            file.write("t,T_case,Q\n" + "".join(f"{t:g},{T:.3f},20\n" for t, T in zip(run.t, run["case.T"])))
        page = heater.estimate("drawn.csv")._repr_html_()
        pictures = re.findall(r'base64,([^"]+)"', page)
        self.assertIn("class=\"band", base64.b64decode(pictures[0]).decode())

    def test_results_are_tables(self):
        model = tellegen.Model("discharge.toml")
        for shown, part in ((model.sensitivity("v_end", ["R"]), "d/d R"),
                            (model.sweep({"R": [1e3, 2e3]}, outputs="c1.v"), "<td>2000</td>")):
            self.assertIn(part, shown._repr_html_())
        self.assertIn("R_wh", tellegen.Calibration({"parameters": [{"name": "R_wh<", "unit": "mK/W", "before": 1.0, "value": 2.0,
                                                                    "deviation": 0.1}],
                                                    "good": True, "warnings": ["a < b"], "failures": []})._repr_html_())
        html = tellegen.Calibration({"parameters": [{"name": "R_wh<", "unit": "mK/W", "before": 1.0, "value": 2.0, "deviation": 0.1}],
                                     "good": True, "warnings": ["a < b"], "failures": []})._repr_html_()
        for part in ("R_wh&lt;", "<td>2000</td>", "<td>1e+02</td>", "a &lt; b"):
            self.assertIn(part, html)


class Stubs(unittest.TestCase):
    """tellegen/__init__.pyi says what the module has: the same classes, methods, parameters, defaults and attributes."""

    def setUp(self):
        folder = os.path.dirname(tellegen.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as file:
            self.stub = {node.name: node for node in ast.parse(file.read()).body if isinstance(node, ast.ClassDef)}

    def members(self, name):
        methods, attributes = {}, set()
        node = self.stub[name]
        for base in node.bases:
            if base.id in self.stub:
                inherited, more = self.members(base.id)
                methods.update(inherited)
                attributes |= more
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                if any(getattr(d, "id", "") == "property" for d in item.decorator_list):
                    attributes.add(item.name)
                else:
                    methods[item.name] = item.args
            elif isinstance(item, ast.AnnAssign):
                attributes.add(item.target.id)
        return methods, attributes

    def test_every_class_and_method_is_there_with_its_parameters(self):
        self.assertEqual(sorted(name for name in self.stub if not name.startswith("_")), sorted(tellegen.__all__))
        for name in tellegen.__all__:
            methods, attributes = self.members(name)
            kind = getattr(tellegen, name)
            real = {member for member, value in inspect.getmembers(kind, inspect.isfunction)
                    if not member.startswith("_") or member in ("__init__", "__getitem__", "__contains__", "__len__", "__call__")}
            self.assertEqual(set(methods), real, name)
            for method, stub in methods.items():
                signature = inspect.signature(getattr(kind, method)).parameters
                self.assertEqual([a.arg for a in stub.args], list(signature), f"{name}.{method}")
                defaults = [p.default for p in signature.values() if p.default is not inspect.Parameter.empty]
                self.assertEqual([ast.literal_eval(d) for d in stub.defaults], defaults, f"{name}.{method}")

    def test_every_attribute_is_there(self):
        model, heater = tellegen.Model("discharge.toml"), tellegen.Model("heater.toml")
        run = heater.simulate()
        with open("stub.csv", "w", encoding="utf-8") as file:
            file.write("t,T_case,Q\n" + "".join(f"{t},{300 + 0.01 * t},20\n" for t in range(20)))
        with open("discharge.toml", encoding="utf-8") as file:
            design = file.read() + "[design]\nvariables = { R = [500, 2000] }\nminimize = 'v_end'\n"
        things = [model, run, model.sensitivity("v_end"), model.function("v_end", ["R"]), tellegen.Twin(heater),
                  model.sweep({"R": [1.0]}, outputs="c1.v"), heater.estimate("stub.csv"), tellegen.Model(text=design).optimize(),
                  tellegen.Calibration({"parameters": [], "good": True, "warnings": [], "failures": []}), tellegen.ModelError([])]
        self.assertEqual(sorted(type(thing).__name__ for thing in things), sorted(tellegen.__all__))
        for thing in things:
            _, attributes = self.members(type(thing).__name__)
            real = {name for name in dir(thing) if not name.startswith("_") and not callable(getattr(thing, name))}
            self.assertEqual(attributes, real - {"args"}, type(thing).__name__)


class Examples(unittest.TestCase):
    def test_every_example_runs(self):
        folder = os.path.join(root, "python", "examples")
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
        self.assertGreaterEqual(len(names), 4)
        around = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(os.path.abspath(tellegen.__file__))))
        for name in names:
            ran = subprocess.run([sys.executable, os.path.join(folder, name)], capture_output=True, text=True, env=around)
            self.assertEqual(ran.returncode, 0, name + "\n" + ran.stderr)
            self.assertNotEqual(ran.stdout, "", name)


if __name__ == "__main__":
    unittest.main()
