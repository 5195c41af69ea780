"""Runs the examples of docs/python.md, and what they leave out. Usage: python_test.py SOURCE_FOLDER"""
import os
import re
import sys
import tempfile
import time
import unittest

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

    def test_pictures_of_notebooks(self):
        self.assertIn("<polyline", tellegen.Model("discharge.toml").simulate()._repr_html_())


if __name__ == "__main__":
    unittest.main()
