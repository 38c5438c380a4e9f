"""Multipath SCTP from Python: simulate it, schedule it, learn to.

>>> import polypath
>>> class Fastest(polypath.PathScheduler):
...     def pick(self, view, chunk):
...         return min(view.sendable, key=lambda path: path.srtt or 0.0, default=None)
>>> scenario = polypath.Scenario.load("three-dissimilar")
>>> scenario.set("stack.path-scheduler", Fastest).run(seed=1).goodput > 0
True

Rates are in bit/s, times in seconds, sizes in bytes, unless a name says otherwise.
"""

from __future__ import annotations

from ._polypath import (
    Chunk,
    PathView,
    Plan,
    PolicyError,
    Result,
    ScenarioError,
    ShardDone,
    View,
    __version__,
    scheduler_names,
)
from .judging import Bench, Check, CheckError, bench, check
from .compilation import Compiled, compiled
from .learned import ASSOC_FIGURES, PATH_FIGURES, Net
from .policies import SKIP, IntervalPolicy, PathScheduler, wait_until
from .scenario import Scenario, join
from .sweeps import Sweep

__all__ = [
    "ASSOC_FIGURES",
    "PATH_FIGURES",
    "SKIP",
    "Bench",
    "Check",
    "CheckError",
    "Chunk",
    "Compiled",
    "IntervalPolicy",
    "Net",
    "PathScheduler",
    "PathView",
    "Plan",
    "PolicyError",
    "Result",
    "Scenario",
    "ScenarioError",
    "ShardDone",
    "Sweep",
    "View",
    "__version__",
    "bench",
    "check",
    "compiled",
    "join",
    "scheduler_names",
    "wait_until",
]
