"""The command of the wheel, and interpreters that are interrupted or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

SCHEDULER = """
import polypath

class Mine(polypath.PathScheduler):
    version = {version!r}

    def pick(self, view, chunk):
        return next(iter(view.sendable), None)

class Breaks(polypath.PathScheduler):
    def pick(self, view, chunk):
        return 1 / 0
"""


def polypath(*arguments, folder):
    command = [sys.executable, "-m", "polypath", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.fixture
def folder(tmp_path, two_paths):
    (tmp_path / "two.toml").write_text(two_paths.text)
    (tmp_path / "my.py").write_text(SCHEDULER.format(version=None))
    return tmp_path


def test_simulate_takes_a_scheduler_in_python(folder):
    own = "stack.path-scheduler=my.py:Mine"
    ran = polypath("simulate", "two.toml", "--set", own, "--json", folder=folder)
    assert ran.returncode == 0 and '"goodput"' in ran.stdout, ran.stderr


def test_errors_are_lines(folder):
    for name, told in [
        ("my.py:Nine", "my.py has no scheduler 'Nine' (allowed: Mine, Breaks)"),
        ("my.py:polypath", "my.py has no scheduler 'polypath' (allowed: Mine, Breaks)"),
        ("your.py:Mine", "there is no file your.py"),
        ("min-rt", '"min-rt" is unknown'),
    ]:
        ran = polypath("simulate", "two.toml", "--set", f"stack.path-scheduler={name}", folder=folder)
        assert ran.returncode == 2 and told in ran.stderr, ran.stderr
        assert len(ran.stderr.splitlines()) == 1, ran.stderr


def test_an_exception_has_its_traceback_and_the_scenario(folder):
    ran = polypath(
        "simulate", "two.toml", "--set", "stack.path-scheduler=my.py:Breaks", folder=folder
    )
    assert ran.returncode == 1 and "ZeroDivisionError" in ran.stderr, ran.stderr
    assert "my.py" in ran.stderr and "line 12" in ran.stderr


def test_a_sweep_keeps_what_has_a_version(folder):
    axis = "stack.path-scheduler=rr,my.py:Mine,my.py:Breaks"
    sweep = ("sweep", "two.toml", "--axis", axis, "--seeds", "2", "--out", "out")
    ran = polypath(*sweep, folder=folder)
    assert "has no version" in ran.stderr and ran.returncode == 1, ran.stderr
    assert "2 of 6 runs failed" in ran.stderr and "my.py:Mine" in ran.stdout
    assert not list((folder / "out" / "runs").glob("*.seg"))
    (folder / "my.py").write_text(SCHEDULER.format(version="1"))
    axis = "stack.path-scheduler=rr,my.py:Mine"
    sweep = ("sweep", "two.toml", "--axis", axis, "--seeds", "2", "--out", "out")
    ran = polypath(*sweep, folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert list((folder / "out" / "runs").glob("*.seg"))


def test_population_takes_one(folder):
    ran = polypath(
        "population", "--draws", "1", "--packets", "2000", "--schedulers", "my.py:Mine",
        folder=folder,
    )  # fmt: skip
    assert ran.returncode == 0 and "my.py:Mine" in ran.stdout, ran.stderr


LONG = """
import polypath, time, sys
class Mine(polypath.PathScheduler):
    def pick(self, view, chunk):
        return next(iter(view.sendable), None)
class Endless(polypath.PathScheduler):
    def pick(self, view, chunk):
        while True:
            pass
class Slow(polypath.PathScheduler):
    def pick(self, view, chunk):
        time.sleep(0.05)
        return next(iter(view.sendable), None)
scenario = polypath.Scenario(open("two.toml").read()).set("time.measure", "3600s")
print("begun", flush=True)
begin = time.monotonic()
try:
    {work}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "work",
    [
        "scenario.run()",
        "scenario.set('stack.path-scheduler', Mine).run()",
        "scenario.set('stack.path-scheduler', Endless).run()",
        "scenario.sweep({'stack.path-scheduler': [Slow]}, seeds=4)",
        "scenario.sweep({'path.b.delay': ['20ms', '30ms']}, seeds=4)",
        "polypath.bench(Mine, networks=500, papers=())",
        "scenario.set('time.measure', '1s').plan({}, seeds=90000).run_shard(1, 1, 'out')",
    ],
)
def test_ctrl_c_ends_a_long_run(folder, work):
    command = [sys.executable, "-c", LONG.format(work=work)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    assert running.stdout.readline() == "begun\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    # 0.2 s on an idle machine: docs/evidence/python.md.
    out, _ = running.communicate(timeout=20)
    assert out == "interrupted\n"


def test_a_killed_interpreter_leaves_nothing(folder):
    command = [sys.executable, "-c", LONG.format(work="scenario.sweep({}, seeds=50)")]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=folder, start_new_session=True
    )
    assert running.stdout.readline() == "begun\n"
    running.kill()
    running.wait()
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
