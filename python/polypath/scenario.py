"""Scenarios, with what is nicer in Python."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from . import _polypath
from .sweeps import Sweep, show_progress

Scenario = _polypath.Scenario


def _read_axes(
    axes: Mapping[str, Sequence[Any]], metrics: Iterable[str]
) -> tuple[list[tuple[str, list[Any]]], list[str]]:
    for field, values in axes.items():
        if isinstance(values, str):
            raise TypeError(f"axis {field} = {values!r} (allowed: a list of values)")
    fields = [(field, list(values)) for field, values in axes.items()]
    return fields, [metrics] if isinstance(metrics, str) else list(metrics)


def sweep(
    self: Scenario,
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 8,
    metrics: Iterable[str] = ("goodput",),
    progress: bool | Callable[[int, int], object] | None = None,
) -> Sweep:
    """Runs all combinations of the values in `axes`, each with as many seeds, on all cores.

    `axes` has dotted names of fields, such as `"path.B.delay"` or `"stack.path-scheduler"`, and
    the values that each shall take; a value may be the class of a scheduler. Runs with a scheduler
    in plain Python are made one after the other, on one core: the interpreter admits no more.

    Axes that the scenario has itself (`[[sweep]]` in its file) come first: `sweep({})` runs those.
    One of them may set several fields at once, or name cases.

    A run whose scheduler raises an exception has NaN in its row and the exception in
    `Sweep.errors`; all other rows are there.

    `progress` hears how many runs are done, and of how many; `True` shows a bar (tqdm's, if it is
    installed), and so does `None` on a terminal.
    """
    fields, names = _read_axes(axes, metrics)
    with show_progress(progress) as report:
        swept = _polypath.run_sweep(self, fields, seeds, names, report)
    return Sweep(swept["axes"], swept["columns"], swept["errors"])


def plan(
    self: Scenario,
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 8,
    metrics: Iterable[str] = ("goodput",),
) -> _polypath.Plan:
    """Plans what `sweep` would run, for other machines: `plan.run_shard(i, n, out)` runs one of n
    parts on any of them, and `join(out)` reads what they made.

    The plan has all that it needs, and may be written and read. Schedulers of this process are no
    part of it; built-in ones and `learned?file=FILE` are.
    """
    fields, names = _read_axes(axes, metrics)
    return _polypath.plan_sweep(self, fields, seeds, names)


def join(*paths: str | os.PathLike[str], partial: bool = False) -> Sweep:
    """The sweep whose shards wrote these segments: files, folders with files `*.seg`, or patterns.

    While runs are missing that is an error, unless `partial` says that a part is enough.
    """
    swept, missing = _polypath.join_runs(list(paths))
    if missing and not partial:
        raise ValueError(f"{missing} runs are missing (allowed: with partial=True)")
    return Sweep(swept["axes"], swept["columns"], {})


Scenario.sweep = sweep
Scenario.plan = plan


def series(self: Any, pattern: str = "*") -> dict[str, Any]:
    """The time series whose names fit `pattern`, such as `"path.*.cwnd"`: values at `times`.

    Only what was run with `sample=`, or sets `time.sample`, has any. Of the first flow: `peer_rwnd`,
    `send_buffer`, `unsent`, `receive_buffer`, `out_of_order`, `delivered` and, for each path,
    `path.NAME.cwnd`, `.ssthresh`, `.outstanding` (bytes) and `.srtt` (seconds).
    """
    return {name: values for name, values in self._series().items() if fnmatchcase(name, pattern)}


def raw(self: Any) -> dict[str, Any]:
    """Everything that a run found out, as `polypath simulate --json` prints it under `result`."""
    parsed: dict[str, Any] = json.loads(self.json())
    return parsed


def result_html(self: Any) -> str:
    """The metrics as a table."""
    known = {name: value for name, value in self.metrics.items() if value is not None}
    rows = "".join(f"<tr><td>{html.escape(n)}</td><td>{v:.6g}</td></tr>" for n, v in known.items())
    return f"<details><summary>{html.escape(repr(self))}</summary><table>{rows}</table></details>"


_polypath.Result.series = series
_polypath.Result.raw = property(raw)
_polypath.Result._repr_html_ = result_html
