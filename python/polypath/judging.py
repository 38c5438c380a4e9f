"""Whether a path scheduler is sound, and how good it is beside all others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _polypath
from .policies import PathScheduler
from .scenario import Scenario
from .sweeps import Sweep, show_progress

_NEAR = '[path.near]\nrate = "20Mbit/s"\ndelay = "10ms"\n'
_FAR = '[path.far]\nrate = "8Mbit/s"\ndelay = "40ms"\n'
_REST = """
[stack]
profile = "fast"
[[flow]]
app = "saturated"
[time]
settle = "1s"
measure = "4s"
"""

#: What `check` runs: two unlike paths; the same in the other order; and the near one dies before
#: anything is measured.
TWO_PATHS = _NEAR + _FAR + _REST
SWAPPED = _FAR + _NEAR + _REST
DYING = TWO_PATHS + '[[at]]\ntime = "1s"\ntarget = "near"\naction = "cut"\n'

#: Scenarios of `bench`: one of each paper, without its sweep.
PAPERS = (
    "iyengar-2007/figure-4",
    "dreibholz-2010/sections-5-to-7",
    "halepoto-2015/figure-2",
    "lim-2017/simple-downloads",
)

#: What `check` runs for the sake of what arrives.
ROUGH = ("lossy-second-path", "flapping", "path-failure")

#: Seeds of `bench`'s networks: nothing in Polypath was tuned on them.
BENCH_SEED = 3_100_000


class CheckError(AssertionError):
    """What a scheduler does that it must not do."""


@dataclasses.dataclass(frozen=True)
class Check:
    """What `check` found: each line is something that holds."""

    scheduler: str
    held: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.scheduler}:", *(f"  {line}" for line in self.held)])


def check(scheduler: Any, *, seeds: Sequence[int] = (1, 2)) -> Check:
    """Looks for common faults of a path scheduler.

    First, in rounds of random views and events: it names paths that are open, waits only while
    something is in flight, and decides alike twice. Then, in simulation: the same seed gives the
    same run; the order of the paths does not decide over the goodput; a dying path stops nothing;
    what is sent arrives once and in order where packets are lost; of a compiled scheduler, each
    decision is that of its plain form.

    Raises `CheckError` that says what was found, or the `PolicyError` of what the scheduler raised.
    """
    name = getattr(scheduler, "__name__", str(scheduler))
    for seed in seeds:
        broken = _polypath.broken_rule(scheduler, seed)
        if broken is not None:
            # Without the name that all schedulers in Python have in the core.
            raise CheckError(f"{name}, random rounds of {broken.partition(', ')[2]}")
    for seed in seeds:
        _check_runs(name, scheduler, seed)
    for rough in ROUGH:
        _check_what_arrives(name, Scenario.load(rough).set("stack.path-scheduler", scheduler), seeds[0])
    held = [
        "in random rounds it takes open paths only, and waits only while something is in flight",
        "the same seed gives the same run, bit for bit",
        "the order of the paths does not decide",
        "data goes on when a path dies",
        "all arrives once and in order where packets are lost and paths flap",
    ]
    if hasattr(scheduler, "_addresses"):
        decisions = sum(_compare_forms(scheduler, seed) for seed in seeds)
        held.append(f"{decisions} decisions are those of the plain form")
    return Check(name, tuple(held))


def _check_runs(name: str, scheduler: Any, seed: int) -> None:
    def run(text: str) -> Any:
        scenario = Scenario(text, "polypath.check").set("stack.path-scheduler", scheduler)
        return scenario.run(seed)

    def mbits(result: Any) -> str:
        return f"{result.goodput / 1e6:.2f} Mbit/s"

    one, again = run(TWO_PATHS), run(TWO_PATHS)
    if one.json() != again.json():
        raise CheckError(
            f"{name}: two runs of seed {seed} differ (allowed: decisions that depend on what the "
            "scheduler sees and saw of this association, and on nothing else)"
        )
    if one.goodput <= 1e5:
        raise CheckError(f"{name}: {mbits(one)} over paths of 20 and 8 (allowed: to send)")
    swapped = run(SWAPPED)
    if not 0.8 < swapped.goodput / one.goodput < 1.25:
        raise CheckError(
            f"{name}: {mbits(one)} with the near path first, {mbits(swapped)} with it last "
            "(allowed: a fifth)"
        )
    dying = run(DYING)
    # It is 8 Mbit/s, less what finding out takes.
    if dying.goodput <= 2e6:
        raise CheckError(f"{name}: {mbits(dying)} after a path died (allowed: data goes on)")


def _check_what_arrives(name: str, scenario: Scenario, seed: int) -> None:
    for flow in scenario.run(seed).raw["flows"]:
        # What is under way at the end is no fault.
        faults = flow["integrity"] | {"outstanding": 0}
        wrong = {fault: count for fault, count in faults.items() if count}
        if wrong or flow["outcome"] == "not_established" or isinstance(flow["outcome"], dict):
            raise CheckError(f"{name}: {scenario!r}: {flow['outcome']}, {wrong} (allowed: nothing)")


def _compare_forms(scheduler: Any, seed: int) -> int:
    """Runs the plain form beside the compiled one, and counts the decisions that agree."""
    compiled = Scenario(TWO_PATHS).set("stack.path-scheduler", scheduler).run(seed)
    count = 0

    class Plain(PathScheduler):
        def __init__(self) -> None:
            self.plain = scheduler.plain()
            for hook in scheduler.hooks:
                setattr(self, hook, getattr(self.plain, hook))

        def pick(self, view: Any, chunk: Any) -> Any:
            nonlocal count
            count += 1
            return self.plain.pick(view, chunk)

    plain = Scenario(TWO_PATHS).set("stack.path-scheduler", Plain).run(seed)
    if plain.json() != compiled.json():
        raise CheckError(
            f"{scheduler.__name__}: compiled, it decides otherwise than run by the interpreter "
            f"(seed {seed}): {compiled.goodput / 1e6:.3f} and {plain.goodput / 1e6:.3f} Mbit/s"
        )
    return count


@dataclasses.dataclass
class Bench:
    """What `bench` measured."""

    #: Name of the scheduler in question.
    scheduler: str
    #: Of each paper's scenario the sweep over all schedulers.
    papers: dict[str, Sweep]
    #: Names of all schedulers, the one in question first.
    schedulers: list[str]
    #: Performance (bit/s, or responses per second) by network and scheduler.
    performance: np.ndarray
    #: What each network admits; NaN where that is not defined.
    limit: np.ndarray
    #: The traffic of each network.
    application: list[str]
    #: What was raised, by network and scheduler.
    errors: dict[tuple[int, int], Exception]

    def ratios(self) -> dict[str, tuple[float, float, float]]:
        """The scheduler in question over each other one: geometric mean, and its 95 % interval.

        Over the networks on which both got anything through.
        """
        ratios = {}
        for number, name in enumerate(self.schedulers[1:], 1):
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(self.performance[:, 0] / self.performance[:, number])
            ratios[name] = _geometric(logs)
        return ratios

    def of_limit(self) -> dict[str, tuple[float, float, float]]:
        """Each scheduler over the limit, likewise, over the networks that have one."""
        shares = {}
        for number, name in enumerate(self.schedulers):
            with np.errstate(divide="ignore", invalid="ignore"):
                shares[name] = _geometric(np.log(self.performance[:, number] / self.limit))
        return shares

    def __str__(self) -> str:
        lines = [f"{self.scheduler} on {len(self.limit)} random networks (95 % intervals)"]
        limits = int(np.isfinite(self.limit).sum())
        lines.append(f"{'':<24}{f'{self.scheduler[:14]} over it':>22}{f'of the limit ({limits})':>24}")
        shares, ratios = self.of_limit(), self.ratios()
        for name in self.schedulers:
            ratio = _show(ratios[name]) if name in ratios else ""
            lines.append(f"{name:<24}{ratio:>22}{_show(shares[name]):>24}")
        for title, sweep in self.papers.items():
            lines.append(f"\n{title}, goodput in Mbit/s")
            table = sweep.ci("goodput")
            for row, name in enumerate(table["stack.path-scheduler"]):
                mean, half = table["mean"][row], table["high"][row] - table["mean"][row]
                lines.append(f"{name:<24}{mean / 1e6:>12.3f} ± {half / 1e6:.3f}")
        if self.errors:
            lines.append(f"\n{len(self.errors)} runs failed; the first: {next(iter(self.errors.values()))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def _geometric(logs: np.ndarray) -> tuple[float, float, float]:
    known = logs[np.isfinite(logs)]
    mean, half = (array[0] for array in _polypath.mean_intervals([known.tolist()]))
    return float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half))


def _show(ratio: tuple[float, float, float]) -> str:
    if not np.isfinite(ratio).all():
        return "too few networks"
    return f"{ratio[0]:.3f} [{ratio[1]:.3f}, {ratio[2]:.3f}]"


def bench(
    scheduler: Any,
    *,
    networks: int = 40,
    against: Iterable[Any] | None = None,
    seed: int = BENCH_SEED,
    packets: int = 10_000,
    papers: Iterable[str | Scenario] = PAPERS,
    seeds: int = 4,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Bench:
    """Measures a path scheduler beside all that are part of Polypath, or those in `against`.

    It runs on as many random networks (`polypath population` describes them) from a seed that
    nothing was tuned on, with runs of so many packets, and on the scenarios of `papers`, by name or
    as `Scenario`, without their sweeps and with as many seeds. Every scheduler sees the same networks and seeds.

    A scheduler in plain Python runs on one core.
    """
    if networks < 1:
        raise ValueError(f"networks = {networks} (allowed: 1 or more)")
    others = list(_polypath.all_round_schedulers() if against is None else against)
    everyone = [scheduler, *others]
    with show_progress(progress) as report:
        found = _polypath.run_population(everyone, networks, seed, packets, 0, report)
    sweeps = {}
    for paper in papers:
        scenario = paper if isinstance(paper, Scenario) else Scenario.load(paper)
        alone = scenario.set("sweep", [])
        swept = alone.sweep({"stack.path-scheduler": everyone}, seeds=seeds, progress=False)
        sweeps[str(paper)] = swept
    return Bench(
        scheduler=found["schedulers"][0],
        papers=sweeps,
        schedulers=found["schedulers"],
        performance=found["performance"],
        limit=found["limit"],
        application=found["application"],
        errors=found["errors"],
    )
