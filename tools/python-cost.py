#!/usr/bin/env python3
"""What the Python package costs, as ratios of one run: python tools/python-cost.py, with polypath installed.

Prints Markdown: the table of docs/evidence/python.md.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import polypath
from polypath import gym

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "tests"))

import copies  # noqa: E402

NETWORK = """
[path.a]
rate = "10Mbit/s"
delay = "10ms"
[path.b]
rate = "10Mbit/s"
delay = "10ms"
[stack]
profile = "fast"
[[flow]]
app = "saturated"
[time]
settle = "1s"
measure = "30s"
"""
ROUNDS = 9
ENVIRONMENTS = 256


def seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def ratios() -> dict[str, list[float]]:
    """Processor time of runs over that of the Rust scheduler, taken in turns."""
    scenario = polypath.Scenario(NETWORK)
    rust = scenario.set("stack.path-scheduler", "min-rtt")
    forms = {
        "plain": scenario.set("stack.path-scheduler", copies.MinRtt),
        "compiled": scenario.set("stack.path-scheduler", copies.compiled()["min-rtt"]),
    }
    found: dict[str, list[float]] = {name: [] for name in forms}
    for seed in range(ROUNDS):
        base = seconds(lambda seed=seed: rust.run(seed))
        for name, form in forms.items():
            found[name].append(seconds(lambda seed=seed, form=form: form.run(seed)) / base)
    return found


def steps() -> list[float]:
    """Steps of 10 ms in a second of one core."""
    worlds = gym.PathWeightsVector(polypath.Scenario(NETWORK), ENVIRONMENTS, paths=2, threads=1)
    worlds.reset(seed=1)
    action = np.ones(worlds.action_space.shape, np.float32)
    for _ in range(60):
        worlds.step(action)
    found = []
    for _ in range(ROUNDS):
        time_taken = seconds(lambda: [worlds.step(action) for _ in range(10)])
        found.append(10 * ENVIRONMENTS / time_taken)
    return found


def imports() -> list[float]:
    """ms that the package takes beyond numpy."""
    code = "import time, numpy; t = time.perf_counter(); import polypath; print(time.perf_counter() - t)"
    run = [sys.executable, "-c", code]
    return [1e3 * float(subprocess.check_output(run)) for _ in range(ROUNDS)]


def interrupts() -> list[float]:
    """ms from Ctrl-C inside a long run to the exception."""
    code = (
        "import polypath, sys, time\n"
        f"scenario = polypath.Scenario({NETWORK!r}).set('time.measure', '36000s')\n"
        "print('go', flush=True)\n"
        "try: scenario.run()\n"
        "except KeyboardInterrupt: print(time.time(), flush=True)"
    )
    found = []
    for _ in range(ROUNDS):
        running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None and running.stdout.readline() == "go\n"
        time.sleep(0.3)
        pressed = time.time()
        os.kill(running.pid, signal.SIGINT)
        found.append(1e3 * (float(running.communicate()[0]) - pressed))
    return found


def main() -> None:
    cost = ratios()
    rows = [
        ("`min-rtt` compiled over Rust's", cost["compiled"], "at most 1.1"),
        ("`min-rtt` in plain Python over Rust's", cost["plain"], "at most 5"),
        (f"{ENVIRONMENTS} environments, steps of 10 ms a core and second", steps(), "at least 10,000"),
        ("`import polypath` beyond numpy, ms", imports(), "at most 50"),
        ("Ctrl-C to the exception, ms", interrupts(), "at most 200"),
    ]
    print("| | median | lowest to highest | aim |\n|---|---|---|---|")
    for name, values, aim in rows:
        digits = 0 if max(values) > 100 else 1 if max(values) > 20 else 2
        low, high, middle = min(values), max(values), statistics.median(values)
        print(f"| {name} | {middle:,.{digits}f} | {low:,.{digits}f} to {high:,.{digits}f} | {aim} |")


if __name__ == "__main__":
    main()
