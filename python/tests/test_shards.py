"""Plans that other machines run in shards, and what came of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polypath

SCENARIO = """
path.A = { rate = "10Mbit/s", delay = "10ms", loss = "1%" }
path.B = { rate = "5Mbit/s", delay = "10ms" }
flow = [{ app = "file", size = "60kB" }]
"""

AXES = {"path.B.delay": ["1ms", "10ms", "50ms"], "stack.path-scheduler": ["rr", "min-rtt"]}


def scenario() -> polypath.Scenario:
    return polypath.Scenario(SCENARIO)


def test_shards_come_to_what_a_sweep_comes_to(tmp_path: Path) -> None:
    whole = scenario().sweep(AXES, seeds=5, metrics=["transfer-time", "goodput"])
    plan = scenario().plan(AXES, seeds=5, metrics=["transfer-time", "goodput"])
    plan.write(tmp_path / "plan")
    read = polypath.Plan.read(tmp_path / "plan")
    assert (read.id, read.estimate()[0]) == (plan.id, 30)
    out = tmp_path / "out"
    made = [read.run_shard(number, 4, out, jobs=1).made for number in (3, 1, 4, 2)]
    assert sum(made) == 30
    joined = polypath.join(out)
    assert joined.axes == whole.axes
    for name, column in whole.columns().items():
        other = joined.columns()[name]
        assert np.array_equal(column, other), name
    assert read.run_shard(2, 4, out).made == 0
    assert "0 of" in repr(read.run_shard(2, 4, out))


def test_a_part_is_joined_when_asked_for(tmp_path: Path) -> None:
    plan = scenario().plan({}, seeds=6)
    plan.run_shard(1, 2, tmp_path)
    with pytest.raises(ValueError, match="3 runs are missing"):
        polypath.join(tmp_path)
    assert len(polypath.join(tmp_path / "*.seg", partial=True).columns()["seed"]) == 3


def test_what_no_other_machine_has_is_refused() -> None:
    class Mine(polypath.PathScheduler):
        def pick(self, view: polypath.View, chunk: polypath.Chunk) -> polypath.PathView | None:
            return next(iter(view.sendable), None)

    with pytest.raises(ValueError, match="is no file of a plan"):
        scenario().set("stack.path-scheduler", Mine).plan({})
    with pytest.raises(ValueError, match="no metric 'x'|no metric \"x\""):
        scenario().plan({}, metrics=["x"])
    with pytest.raises(ValueError, match="seeds = 0"):
        scenario().plan({}, seeds=0)


def test_rubbish_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="plan.json"):
        polypath.Plan.read(tmp_path)
    with pytest.raises(ValueError, match="no segments"):
        polypath.join(tmp_path)
    plan = scenario().plan({}, seeds=1)
    for number, of in [(0, 1), (2, 1), (1, 0)]:
        with pytest.raises(ValueError, match="no shard"):
            plan.run_shard(number, of, tmp_path)
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(ValueError, match="no plan"):
        polypath.Plan.read(tmp_path)
