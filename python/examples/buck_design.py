"""A step-down converter designed: ripple against losses, by the model's own [design] and by an optimiser of our own.

    PYTHONPATH=build/python python3 python/examples/buck_design.py
"""
import numpy

import tellegen

BUCK = """
name = "step-down converter"

[parameters]
V_in = "24 V"
duty = 0.5
f    = "100 kHz"
L    = { value = 47.0, unit = "uH", summary = "inductance of the coil" }
C    = { value = 100.0, unit = "uF", summary = "capacitance behind it" }
R    = "4 ohm"                                # the load
r_L  = "L*1000 + 0.01"                        # a larger coil has more wire: 1 ohm per mH

[components]
leg  = { kind = "electrical.voltage_source", p = "switched", n = "datum", V = "V_in*(duty + 0.637*sin(2*pi*f*t))" }
wire = { kind = "electrical.resistor", p = "switched", n = "a", R = "r_L" }
coil = { kind = "electrical.inductor", p = "a", n = "out", L = "L", i0 = 3 }
cap  = { kind = "electrical.capacitor", p = "out", n = "datum", C = "C", v0 = 12 }
load = { kind = "electrical.resistor", p = "out", n = "datum", R = "R" }

[outputs]
V_out = "out.v"
I_L   = "coil.i"

[objectives]
peak = { maximum = "coil.i" }
loss = { integral = "wire.v*wire.i", unit = "mJ" }

[design]
variables = { L = ["10 uH", "200 uH"] }
minimize  = { loss = 1.0, peak = 5e-4 }

[simulation]
stop = "1 ms"
step = "0.1 us"
"""
# The leg is its mean and its first harmonic: smooth, so that derivatives see all of it.

model = tellegen.Model(text=BUCK).check()
run = model.simulate(sample="1 us")
print(run)
print(f"voltage {run['V_out'][-1]:.3f} V, current between {run['I_L'].min():.2f} A and {run['I_L'].max():.2f} A")

print("\nwhat a change of 1 % does to the losses, in %:")
for name, relative in model.rank("loss", ["L", "C", "R", "V_in"]):
    print(f"  {name:5} {relative:+.3f}")

best = model.optimize()
print(f"\n{best}")

# The same goal as a function with its exact gradient. With SciPy: scipy.optimize.minimize(goal, x0, jac=True).
f = model.function(["loss", "peak"], ["L"])


def goal(x):
    """In the logarithm of L, which keeps it positive and its scale near 1."""
    L = numpy.exp(x)
    values, slopes = f.value_and_gradient(L)
    weights = numpy.array([1.0, 5e-4])
    return weights @ values, (weights @ slopes) * L


x = numpy.log(f.nominal)
low, high = numpy.log(10e-6), numpy.log(200e-6)
for _ in range(60):  # the bisection of the gradient
    x[0] = (low + high) / 2
    if goal(x)[1][0] > 0.0:
        high = x[0]
    else:
        low = x[0]
print(f"by the gradient alone: L = {numpy.exp(x[0]) * 1e6:.3f} uH, {goal(x)[0] * 1e3:.5f} mJ")
assert abs(numpy.exp(x[0]) - best["L"]) < 0.01 * best["L"]
