"""What a path scheduler of one's own is, and what it may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from . import Chunk, PathView, View


class Later:
    """An answer of `pick` that names no path."""

    __slots__ = ("until",)

    def __init__(self, until: float | None) -> None:
        self.until = until

    def __repr__(self) -> str:
        return "polypath.SKIP" if self.until is None else f"polypath.wait_until({self.until!r})"


#: This chunk not now: the stream scheduler is asked for another stream.
SKIP = Later(None)


def wait_until(time: float) -> Later:
    """Nothing now; `pick` is asked again at this time (`View.now`, in seconds) at the latest."""
    return Later(float(time))


class PathScheduler:
    """Chooses the path of each chunk of new data. Subclass it, and write `pick`.

    One object is made for each association, by calling the class without arguments. Views are
    copies that nobody can change, and what `pick` answers is checked, so a scheduler cannot break
    the protocol. An exception ends the run, and is the cause of the `PolicyError` that it raises.

    A scheduler may also define any of these methods; each that exists costs a call:

    - `begin(view, why)`: a send attempt begins, since `"sack"`, `"write"`, `"timer"` or `"path"`;
    - `end(view)`: the send attempt is over;
    - `sent(view, path, chunk, new_packet)`: the chunk went out on the path of this number;
    - `acked(view, path, bytes, rtt)`: a SACK acknowledged data of a path; `rtt` may be `None`;
    - `lost(view, path, kind)`: a path lost data: `"fast-retransmit"` or `"timeout"`;
    - `path_changed(view, path, change)`: a path was `"added"` or `"removed"`, or is in a new state.

    A class attribute `version` lets the command `polypath sweep` find finished runs again: change
    it whenever decisions may differ. Without one they are made anew each time.
    """

    version: str | None = None

    def pick(self, view: View, chunk: Chunk) -> PathView | int | Later | None:
        """The path for `chunk`: a path or its number; `None` to wait; `SKIP`, or `wait_until(t)`.

        A path that is not `sendable` counts as `None`; `polypath.check` refuses it.
        """
        raise NotImplementedError


class IntervalPolicy:
    """Decides once per interval how the paths share new data. Subclass it, and write `decide`.

    One object is made for each association. It is called at most once in `every` seconds, whatever
    is sent, so it costs little; in between, chunks go by start-time fair queueing.
    """

    #: Seconds between two decisions, 0.001 to 10.
    every: float = 0.01
    version: str | None = None

    def decide(self, paths: np.ndarray, assoc: np.ndarray) -> Any:
        """A weight of 0 or more for each path: its share of the new data.

        `paths` has a row for each path with the figures `polypath.PATH_FIGURES`, `assoc` the
        figures `polypath.ASSOC_FIGURES` of the association, all scaled to 0 to about 1
        (docs/reference/python.md). A path of weight 0 carries data only while no other is
        usable. Answer `(weights, factors)` to bound what is in flight, too: factors are the part of
        its congestion window that each path may fill, above 0, at most 1.
        """
        raise NotImplementedError
