"""Many runs, as columns."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class Sweep:
    """The runs of a sweep: one row each, points in order of the axes, seeds within them."""

    def __init__(
        self, axes: list[str], columns: dict[str, Any], errors: dict[int, Exception]
    ) -> None:
        #: Names of the axes; the first varies slowest.
        self.axes = axes
        #: What was raised in a run, by the number of its row.
        self.errors = errors
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns["seed"])

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [name for name in self._columns if name not in (*self.axes, "seed")]

    def columns(self) -> dict[str, np.ndarray]:
        """Each axis, `seed` and each metric as an array with one value for each run.

        Metrics are in base units (docs/reference/metrics.md), NaN where a run has no such number.
        They are the arrays themselves, not copies.
        """
        return {name: np.asarray(values) for name, values in self._columns.items()}

    def frame(self) -> Any:
        """The columns as a data frame: polars' if it is installed, else pandas'."""
        with contextlib.suppress(ImportError):
            import polars

            return polars.DataFrame(self.columns())
        try:
            import pandas
        except ImportError:
            raise ImportError("frame() needs polars or pandas: pip install polars") from None
        return pandas.DataFrame(self.columns())

    def ci(self, metric: str | None = None) -> dict[str, np.ndarray]:
        """For each point the mean of a metric over its seeds, with its 95 % interval.

        The result has a column for each axis, and `mean`, `low`, `high` and `runs`. Intervals are
        Student's; of a single run they are infinite, and rows without a number count as no run.
        """
        from ._polypath import mean_intervals

        name = self._metric(metric)
        columns = self.columns()
        points = self._points()
        values = [columns[name][rows] for rows in points]
        kept = [sample[~np.isnan(sample)] for sample in values]
        mean, half = mean_intervals([sample.tolist() for sample in kept])
        table = {axis: columns[axis][[rows[0] for rows in points]] for axis in self.axes}
        return table | {
            "mean": mean,
            "low": mean - half,
            "high": mean + half,
            "runs": np.array([len(sample) for sample in kept]),
        }

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draws a metric over the first axis, a curve for each value of the others (matplotlib)."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        name = self._metric(metric)
        table = self.ci(name)
        if not self.axes:
            raise ValueError("plot() needs an axis to draw over")
        if ax is None:
            _, ax = plt.subplots()
        first, others = self.axes[0], self.axes[1:]
        curves: dict[tuple[str, ...], list[int]] = {}
        for row in range(len(table["mean"])):
            curves.setdefault(tuple(str(table[axis][row]) for axis in others), []).append(row)
        for labels, rows in curves.items():
            error = (table["high"] - table["low"])[rows] / 2
            known = np.where(np.isfinite(error), error, 0.0)
            ax.errorbar(
                [str(at) for at in table[first][rows]],
                table["mean"][rows],
                yerr=known,
                marker=".",
                capsize=2,
                label=", ".join(labels) or name,
            )
        ax.set_xlabel(first)
        ax.set_ylabel(name)
        if others:
            ax.legend()
        return ax

    def _metric(self, metric: str | None) -> str:
        if metric is None:
            return self.metrics[0]
        if metric not in self.metrics:
            raise KeyError(f"no metric {metric!r} here (allowed: {', '.join(self.metrics)})")
        return metric

    def _points(self) -> list[list[int]]:
        points: dict[tuple[str, ...], list[int]] = {}
        labels = [self._columns[axis] for axis in self.axes]
        for row in range(len(self)):
            points.setdefault(tuple(str(column[row]) for column in labels), []).append(row)
        return list(points.values())

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<Sweep over {', '.join(self.axes) or 'nothing'}: {len(self)} runs{failed}>"

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(axis)}</th>" for axis in self.axes)
        head += "".join(f"<th>{html.escape(name)}</th>" for name in self.metrics)
        tables = [self.ci(name) for name in self.metrics]
        body = ""
        for row in range(len(self._points())):
            cells = [html.escape(str(tables[0][axis][row])) for axis in self.axes]
            cells += [
                f"{table['mean'][row]:.4g} ± {table['high'][row] - table['mean'][row]:.2g}"
                for table in tables
            ]
            body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@contextlib.contextmanager
def show_progress(
    wanted: bool | Callable[[int, int], object] | None,
) -> Iterator[Callable[[int, int], object] | None]:
    """What to call with how many runs are done, and of how many; `None` for nothing."""
    if callable(wanted):
        yield wanted
        return
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(unit="run") as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
