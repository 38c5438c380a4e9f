"""Scenarios, runs and sweeps."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import polypath
from conftest import TWO_PATHS


def test_a_run_is_a_function_of_scenario_and_seed(two_paths):
    one, again, other = two_paths.run(seed=1), two_paths.run(seed=1), two_paths.run(seed=2)
    assert one.json() == again.json()
    assert one.json() != other.json()
    assert one.seed == 1 and 15e6 < one.goodput < 20e6
    assert one.raw["flows"][0]["total"]["goodput"] == one.goodput
    assert one.metrics["goodput"] == one.goodput
    assert "Mbit/s" in repr(one) and "goodput" in one._repr_html_()


def test_a_run_is_that_of_the_command(two_paths, tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(two_paths.text)
    command = [sys.executable, "-m", "polypath", "simulate", str(file), "--seed", "3", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout)["result"]
    assert told == two_paths.run(seed=3).raw


def test_set_makes_another_scenario(two_paths):
    slow = two_paths.set("path.b.delay", "75ms")
    assert "75ms" in slow.text and "75ms" not in two_paths.text
    assert two_paths.paths == ["a", "b"]


def test_a_scenario_of_a_dict():
    scenario = polypath.Scenario(
        {
            "path": {"a": {"rate": "10Mbit/s", "delay": "10ms"}},
            "flow": [{"app": "file", "size": "100KiB"}],
            "time": {"measure": "10s"},
        }
    )
    assert scenario.run().raw["flows"][0]["total"]["bytes"] == 102_400


def test_examples_have_names():
    assert polypath.Scenario.load("three-dissimilar").paths == ["fibre", "lte", "satellite"]
    figure = polypath.Scenario.load("iyengar-2007/figure-4")
    assert figure.paths == ["A", "B"] and figure.set("sweep", []).run().goodput > 1e6


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("path.b.dely", "75ms", "unknown field"),
        ("path.b.delay", "75", "expected a duration"),
        ("stack.path-scheduler", "min-rt", '"min-rt" is unknown'),
        ("stack.path-scheduler", "my.py:Mine", "give the class itself"),
        ("stack.path-scheduler", "learned", "option \"file\" is missing"),
        ("stack.path-scheduler", "learned?file=/nowhere/net.json", "/nowhere/net.json: No such file"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(two_paths, field, value, told):
    with pytest.raises(polypath.ScenarioError) as error:
        two_paths.set(field, value)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_what_a_scenario_cannot_hold(two_paths):
    with pytest.raises(TypeError, match="allowed: str, bool"):
        two_paths.set("path.b.delay", object())
    with pytest.raises(polypath.ScenarioError, match="nowhere.toml: no file, example or experiment"):
        polypath.Scenario.load("nowhere.toml")
    with pytest.raises(polypath.ScenarioError, match="did you mean flapping"):
        polypath.Scenario.load("flaping")
    for wrong in ({"seed": -1}, {"seed": 2**64}, {"seed": "1"}, {"sample": 0.1}):
        with pytest.raises(ValueError, match="\\(allowed: a "):
            two_paths.run(**wrong)
    with pytest.raises(TypeError, match="allowed: a list of values"):
        two_paths.sweep({"path.b.delay": "1ms"})
    with pytest.raises(ValueError, match="seeds = 0"):
        two_paths.sweep({}, seeds=0)


def test_series_and_messages(two_paths):
    result = two_paths.run(sample="100ms", messages=True)
    series = result.series("path.*.cwnd")
    assert list(series) == ["path.a.cwnd", "path.b.cwnd"]
    assert len(result.times) == len(series["path.a.cwnd"]) == 30
    assert 0.02 < result.series("path.a.srtt")["path.a.srtt"][0] < 0.1
    messages = result.messages()
    assert (messages["delivered"] > messages["accepted"]).all()
    whole = result.series("delivered")["delivered"][-1]
    assert messages["bytes"].sum() == pytest.approx(whole, rel=0.02)
    assert len(two_paths.run().times) == 0 and len(two_paths.run().messages()["bytes"]) == 0


def test_a_sweep_has_columns(two_paths, fastest):
    heard = []
    sweep = two_paths.sweep(
        {"path.b.delay": ["20ms", "60ms"], "stack.path-scheduler": ["min-rtt", fastest]},
        seeds=2,
        metrics=["goodput", "delay.mean"],
        progress=lambda done, total: heard.append((done, total)),
    )
    columns = sweep.columns()
    assert len(sweep) == 8 and not sweep.errors
    assert list(columns) == ["path.b.delay", "stack.path-scheduler", "seed", "goodput", "delay.mean"]
    assert columns["path.b.delay"].tolist() == ["20ms"] * 4 + ["60ms"] * 4
    assert columns["seed"].tolist() == [1, 2] * 4
    # The same decisions, the same bits.
    assert columns["goodput"][:2].tolist() == columns["goodput"][2:4].tolist()
    assert columns["goodput"] is sweep.columns()["goodput"], "no copy"
    table = sweep.ci("delay.mean")
    assert table["runs"].tolist() == [2] * 4 and (table["low"] < table["mean"]).all()
    assert all(total == 8 for _, total in heard)
    assert "<table>" in sweep._repr_html_()
    with pytest.raises(KeyError, match="allowed: goodput, delay.mean"):
        sweep.ci("delay")


def test_axes_of_the_scenario_come_first(two_paths):
    own = '[[sweep]]\nname = "buffer"\nset = ["stack.send-buffer", "stack.receive-buffer"]\n'
    both = polypath.Scenario(TWO_PATHS + own + 'values = ["64KiB", "1MiB"]\n')
    sweep = both.sweep({"path.b.delay": ["20ms", "30ms"]}, seeds=1)
    assert sweep.axes == ["buffer", "path.b.delay"]
    assert sweep.columns()["buffer"].tolist() == ["64KiB"] * 2 + ["1MiB"] * 2


def test_a_metric_that_does_not_exist(two_paths):
    with pytest.raises(polypath.ScenarioError, match="no metric"):
        two_paths.sweep({}, seeds=1, metrics="goodputt")


def test_the_doctests():
    import doctest

    import polypath.compilation

    for module in (polypath, polypath.compilation):
        assert doctest.testmod(module).failed == 0


def test_import_loads_little():
    code = "import sys, polypath; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "gymnasium", "matplotlib", "asyncio"} & set(loaded.stdout.split())


def test_text_is_toml():
    assert polypath.Scenario(polypath.Scenario(TWO_PATHS).text).run(1).goodput > 0
