"""What several tests use."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import polypath

# Who runs tests in the background of a shell has Ctrl-C ignored, and the programs that tests start
# would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

TWO_PATHS = """
[path.a]
rate = "10Mbit/s"
delay = "10ms"
[path.b]
rate = "10Mbit/s"
delay = "20ms"
[stack]
profile = "fast"
[[flow]]
app = "saturated"
[time]
settle = "1s"
measure = "2s"
"""


@pytest.fixture
def two_paths() -> polypath.Scenario:
    return polypath.Scenario(TWO_PATHS, "two-paths")


class Fastest(polypath.PathScheduler):
    """min-rtt."""

    def pick(self, view, chunk):
        rtt = lambda path: view.rto_initial if path.srtt is None else path.srtt  # noqa: E731
        return min(view.sendable, key=rtt, default=None)


@pytest.fixture
def fastest() -> type[polypath.PathScheduler]:
    return Fastest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of keys for each test."""
    folder = tmp_path / "home"
    monkeypatch.setenv("POLYPATH_HOME", str(folder))
    yield folder
