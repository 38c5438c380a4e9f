"""Path schedulers that numba compiles: as fast as Rust's, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _polypath
from .policies import SKIP, PathScheduler

#: A path, the association and a chunk as records: what `View`, `PathView` and `Chunk` have, as plain
#: numbers. Yes is 1, what there is none of is NaN, times are seconds.
PATH, VIEW, CHUNK = (np.dtype(fields) for fields in _polypath.record_fields())

#: What `begin` is told by number.
TRIGGERS = ("sack", "write", "timer", "path")
#: What `lost` is told by number.
LOSSES = ("fast-retransmit", "timeout")
#: What `path_changed` is told by number.
CHANGES = ("added", "state", "removed")

#: What a compiled `pick` returns to wait, and to skip the chunk.
WAIT, SKIP_CHUNK = -1, -2

#: Numbers of state, at most; the native half has the same bound.
MAX_STATE = 1 << 16

_HOOKS = ("begin", "sent", "acked", "lost", "path_changed")
_RAISED = -9


class Compiled:
    """What `compiled` makes: to be named where a path scheduler is."""

    def __init__(
        self,
        pick: Callable[..., int],
        hooks: dict[str, Callable[..., None]],
        state: int,
        version: str | None,
    ) -> None:
        if not 0 <= state <= MAX_STATE:
            raise ValueError(f"state = {state} (allowed: 0 to {MAX_STATE} numbers)")
        self.pick = pick
        self.hooks = hooks
        self.state = state
        self.version = version
        self.__name__ = pick.__name__
        self.__doc__ = pick.__doc__
        self._code = {
            name: _compile(function, state, name) for name, function in {"pick": pick, **hooks}.items()
        }
        self._addresses = {name: 0 for name in ("pick", *_HOOKS)} | {
            name: code.address for name, code in self._code.items()
        }
        self._addresses["state"] = state

    def plain(self) -> PathScheduler:
        """The same functions, run by the interpreter: slow, and exceptions have tracebacks."""
        return _Plain(self)

    def __call__(self) -> PathScheduler:
        return self.plain()

    def __repr__(self) -> str:
        return f"<compiled path scheduler {self.__name__}>"


def compiled(
    pick: Callable[..., int] | None = None,
    *,
    state: int = 0,
    begin: Callable[..., None] | None = None,
    sent: Callable[..., None] | None = None,
    acked: Callable[..., None] | None = None,
    lost: Callable[..., None] | None = None,
    path_changed: Callable[..., None] | None = None,
    version: str | None = None,
) -> Any:
    """Makes a path scheduler of functions over plain numbers, which numba compiles.

    `pick(view, paths, chunk, state)` returns the number of a path, `-1` to wait or `-2` to skip the
    chunk. `view` and `chunk` are records and `paths` is an array of records, with the attributes of
    `View`, `Chunk` and `PathView`; `state` is an array of as many floats as `state=` says, zero at
    first, which belongs to the association.

    The others are told what happened: `begin(view, paths, state, why)`, `sent(view, paths, chunk,
    state, path, new_packet)`, `acked(view, paths, state, path, bytes)`, `lost(view, paths, state,
    path, kind)`, `path_changed(view, paths, state, path, change)`.

    Indices are checked. `polypath.check` compares every decision with the plain form's.

    >>> @compiled
    ... def fastest(view, paths, chunk, state):
    ...     best = -1
    ...     for path in range(len(paths)):
    ...         if paths[path].sendable and (best < 0 or paths[path].srtt < paths[best].srtt):
    ...             best = path
    ...     return best
    """
    hooks = {
        "begin": begin,
        "sent": sent,
        "acked": acked,
        "lost": lost,
        "path_changed": path_changed,
    }
    given = {name: function for name, function in hooks.items() if function is not None}
    if pick is None:
        return lambda pick: Compiled(pick, given, state, version)
    return Compiled(pick, given, state, version)


def _compile(function: Callable[..., Any], state: int, name: str) -> Any:
    """A C function of the signature that the native half calls."""
    try:
        import numba
        from numba import carray, types
    except ImportError:
        raise ImportError("polypath.compiled needs numba: pip install numba") from None
    inner = numba.njit(boundscheck=True, error_model="python")(function)
    path, view, chunk = (types.CPointer(numba.from_dtype(dtype)) for dtype in (PATH, VIEW, CHUNK))
    signature = types.int64(
        path, types.int64, view, chunk, types.CPointer(types.float64), types.int64, types.int64
    )
    call = _callers(inner)[name]

    def outer(paths, count, view, chunk, numbers, what, more):  # type: ignore[no-untyped-def]
        try:
            return call(
                carray(view, 1)[0],
                carray(paths, count),
                carray(chunk, 1)[0],
                carray(numbers, state),
                what,
                more,
            )
        except Exception:
            return _RAISED

    try:
        return numba.cfunc(signature, nopython=True)(outer)
    except numba.core.errors.NumbaError as error:
        what = getattr(function, "__name__", name)
        raise TypeError(f"{what}: numba cannot compile it as {name}; its own words are the cause") from error


def _callers(inner: Any) -> dict[str, Any]:
    """How each function is called from what the native half hands over."""
    import numba

    def pick(view, paths, chunk, state, what, more):  # type: ignore[no-untyped-def]
        return np.int64(inner(view, paths, chunk, state))

    def sent(view, paths, chunk, state, what, more):  # type: ignore[no-untyped-def]
        inner(view, paths, chunk, state, what, more)
        return np.int64(0)

    def begin(view, paths, chunk, state, what, more):  # type: ignore[no-untyped-def]
        inner(view, paths, state, what)
        return np.int64(0)

    def told(view, paths, chunk, state, what, more):  # type: ignore[no-untyped-def]
        inner(view, paths, state, what, more)
        return np.int64(0)

    plain = {"pick": pick, "sent": sent, "begin": begin}
    plain |= {name: told for name in ("acked", "lost", "path_changed")}
    return {name: numba.njit(function) for name, function in plain.items()}


class _Plain(PathScheduler):
    """The functions of a compiled scheduler, called by the interpreter."""

    def __init__(self, compiled: Compiled) -> None:
        self._pick = compiled.pick
        self.state = np.zeros(compiled.state)
        for name, function in compiled.hooks.items():
            setattr(self, name, getattr(self, f"_{name}")(function))

    def pick(self, view: Any, chunk: Any) -> Any:
        answer = self._pick(*records(view), record_of(chunk), self.state)
        if answer == WAIT:
            return None
        return SKIP if answer == SKIP_CHUNK else int(answer)

    def _begin(self, function: Callable[..., None]) -> Any:
        return lambda view, why: function(*records(view), self.state, TRIGGERS.index(why))

    def _sent(self, function: Callable[..., None]) -> Any:
        def sent(view: Any, path: int, chunk: Any, new_packet: bool) -> None:
            function(*records(view), record_of(chunk), self.state, path, int(new_packet))

        return sent

    def _acked(self, function: Callable[..., None]) -> Any:
        return lambda view, path, count, rtt: function(*records(view), self.state, path, count)

    def _lost(self, function: Callable[..., None]) -> Any:
        return lambda view, path, kind: function(
            *records(view), self.state, path, LOSSES.index(kind)
        )

    def _path_changed(self, function: Callable[..., None]) -> Any:
        def changed(view: Any, path: int, change: str) -> None:
            code = CHANGES.index(change) if change in CHANGES else CHANGES.index("state")
            function(*records(view), self.state, path, code)

        return changed


def records(view: Any) -> tuple[Any, Any]:
    """The association and its paths, as compiled functions see them."""
    association, paths = view._records()
    return (
        np.frombuffer(association, VIEW).view(np.recarray)[0],
        np.frombuffer(paths, PATH).view(np.recarray),
    )


def record_of(chunk: Any) -> Any:
    """A chunk, as compiled functions see it."""
    return np.frombuffer(chunk._record(), CHUNK).view(np.recarray)[0]
