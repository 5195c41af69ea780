"""A motor's thermal twin from a log file: calibrated, then following the winding that nobody measures.

    PYTHONPATH=build/python python3 python/examples/motor_twin.py
"""
import os

import tellegen

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "bench-motor")

# The log is as a German logger writes it: lines before the header, date and time, ; and decimal commas. [columns] of the
# model says which column is which; calibrate(..., columns={"T_h": "..."}) would say it here.
model = tellegen.Model(os.path.join(BENCH, "model.toml"))
found = model.calibrate(os.path.join(BENCH, "log.csv"))
print(found)
truth = {"R_wh": 0.42, "R_ha": 0.31, "C_w": 80.0, "C_h": 600.0}
for name, value in truth.items():
    assert abs(found[name] - value) < 3.5 * found.deviations[name], name

# The model with the parameters found, in operation: constants are known now, the states follow the readings.
with open(os.path.join(BENCH, "model.toml"), encoding="utf-8") as file:
    text = file.read()
begin, end = text.index("[unknowns]"), text.index("[estimate]")
text = text[:begin] + text[end:].replace("[estimate]", '[estimate]\nstates = { "*.T" = { deviation = "2 K", noise = "0.01 K" } }\nstep = "1 s"')
motor = tellegen.Model(text=text, set=found.values)

drive = motor.simulate(stop="10 min", outputs=["housing.T", "winding.T"])
twin = tellegen.Twin(motor)
for t, (housing, _) in zip(drive.t, drive.values):
    twin.push(t, {"T_h": housing}, {"P": "40 W", "amb": "22 degC"})
print(f"after {drive.t[-1]:.0f} s the winding is at {twin['T_w']:.2f} degC, standard deviation {twin.deviation('T_w'):.2f} K")
assert abs(twin["T_w"] + 273.15 - drive["winding.T"][-1]) < 0.5

# What comes: the next five minutes at twice the loss.
steps = twin.forecast("5 min", [[80.0, 295.15]] * 300)
print(f"at 80 W it would be at {steps[-1][1][twin.names.index('T_w')]:.1f} degC five minutes later")
