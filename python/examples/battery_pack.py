"""A pack of cells that differ: which ends first, how much the spread of the resistances matters.

    PYTHONPATH=build/python python3 python/examples/battery_pack.py
"""
import os
import tempfile

import numpy

import tellegen

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")

with open(os.path.join(MODELS, "battery-pack", "model.toml"), encoding="utf-8") as file:
    text = file.read()

folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "pack.toml")
with open(path, "w", encoding="utf-8") as file:
    file.write(text)


def write_cells(spread, seed):
    """The cells' column file, as a supplier's test would give it."""
    random = numpy.random.default_rng(seed)
    with open(os.path.join(folder.name, "cells.csv"), "w", encoding="utf-8") as file:
        file.write("R0 [mohm],capacity [Ah],soc0\n")
        for _ in range(12):
            file.write(f"{0.9 * (1 + spread * random.standard_normal()):.5f},{60 * (1 + 0.3 * spread * random.standard_normal()):.4f},0.8\n")


losses = []
for spread in (0.0, 0.05, 0.1):
    write_cells(spread, seed=1)
    pack = tellegen.Model(path)
    run = pack.simulate(outputs=["bus.v", "cell[*].soc", "cell[*].loss", "max(x[*].T) - min(x[*].T)"])
    soc = numpy.array([run[f"cell[{k}].soc"][-1] for k in range(1, 13)])
    energy = sum(numpy.trapz(run[f"cell[{k}].loss"], run.t) for k in range(1, 13))
    losses.append(energy)
    print(f"spread {spread:4.0%}: cell {soc.argmin() + 1} is the emptiest at {soc.min():.4%}, {soc.max() - soc.min():.4%} below the fullest; "
          f"{energy / 1e3:.2f} kJ lost; {run['max(x[*].T) - min(x[*].T)'].max():.2f} K between cells")
assert losses[0] > 0.0 and numpy.isfinite(losses).all()

# The coolant's temperature: a sweep of the same model.
sweep = pack.sweep({"glycol.T": ["10 degC", "20 degC", "30 degC"]}, outputs=["max(x[*].T)"], jobs=2)
for temperature, hottest in zip(sweep["glycol.T"], sweep["max(x[*].T)"]):
    print(f"coolant at {temperature - 273.15:.0f} degC: the hottest cell ends at {hottest - 273.15:.2f} degC")
assert (numpy.diff(sweep["max(x[*].T)"]) > 0).all()
