"""A battery's cell from a pulse test, with no starting values: identify finds what calibrate then refines.

    PYTHONPATH=build/python python3 python/examples/identification.py
"""
import os

import tellegen

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "identification")

cell = tellegen.Model(os.path.join(FOLDER, "cell.toml"))
found = cell.identify(os.path.join(FOLDER, "cell.csv"))
print(found)
truth = {"E0": 3.7, "R0": 12e-3, "R1": 8e-3, "C1": 1500.0, "R2": 15e-3, "C2": 20000.0}
for name, value in truth.items():
    print(f"  {name}: {found[name]:.5g}, {(found[name] - value) / found.deviations[name]:+.1f} standard deviations from {value:g}")
    assert abs(found[name] - value) < 4 * found.deviations[name]
