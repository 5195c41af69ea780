# The Python half of `tellegen benchmark python` (python_calls.cpp): the same calls, their times and answers as JSON.
import json
import sys
import time

import tellegen

file, calls, samples, repetitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
model = tellegen.Model(file)
model.simulate(set={"R1": 1000.0})  # built once
call, answers = float("inf"), []
for _ in range(repetitions):
    answers = []
    begin = time.process_time()
    for k in range(calls):
        answers.append(model.simulate(set={"R1": 1000.0 + k}).values)
    call = min(call, (time.process_time() - begin) / calls)
sweep = float("inf")
for _ in range(repetitions):
    begin = time.process_time()
    result = model.sweep({"R1": (100.0, 10e3), "C1": (0.1e-6, 10e-6)}, samples=samples, seed=3)
    sweep = min(sweep, time.process_time() - begin)
print(json.dumps({"call": call, "sum": sum(float(values[-1, 0]) for values in answers), "sweep": sweep,
                  "sweep_sum": float(sum(result.values[:, 0].tolist()))}))
