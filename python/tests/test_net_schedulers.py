"""Path schedulers of one's own on real sockets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from net_pairs import all_active, pair, run

import polypath
from polypath import net


class Alternate(polypath.PathScheduler):
    """One chunk here, one there."""

    picks = 0

    def pick(self, view: Any, chunk: Any) -> Any:
        if not view.sendable:
            return None
        Alternate.picks += 1
        return view.sendable[Alternate.picks % len(view.sendable)]


def test_a_scheduler_of_ones_own_decides() -> None:
    async def main() -> None:
        Alternate.picks = 0
        async with pair(scheduler=Alternate) as (here, there):
            await all_active(here)
            for _ in range(400):
                await here.send(bytes(1200))
            for _ in range(400):
                await there.receive()
            assert Alternate.picks >= 400
            sent = [path.bytes_sent for path in here.paths()]
            assert min(sent) > sum(sent) / 8, sent
            await here.shutdown()

    run(main())


def test_a_scheduler_is_asked_while_the_loop_asks_for_figures() -> None:
    """Whoever waits for the endpoint holds no interpreter, and the other way round."""

    async def main() -> None:
        async with pair(scheduler=Alternate) as (here, there):
            over = asyncio.Event()

            async def look() -> int:
                looks = 0
                while not over.is_set():
                    here.paths(), here.stats(), there.paths(), here.room
                    looks += 1
                    await asyncio.sleep(0)
                return looks

            async def carry() -> None:
                for _ in range(600):
                    await here.send(bytes(1200))
                for _ in range(600):
                    await there.receive()
                over.set()

            looks, _ = await asyncio.gather(look(), carry())
            assert looks > 10

    run(main())


class Raises(polypath.PathScheduler):
    def pick(self, view: Any, chunk: Any) -> Any:
        raise ZeroDivisionError("a slip of the scheduler")


class RaisesAtOnce:
    def __init__(self) -> None:
        raise LookupError("not even made")

    def pick(self, view: Any, chunk: Any) -> Any:
        return None


def test_what_a_scheduler_raises_is_the_cause() -> None:
    async def main() -> None:
        async with pair(scheduler=Raises) as (here, there):
            waiting = asyncio.create_task(here.receive())
            await here.send(b"x")
            with pytest.raises(polypath.PolicyError, match="a slip of the scheduler") as failed:
                await waiting
            assert isinstance(failed.value.__cause__, ZeroDivisionError)
            with pytest.raises(polypath.PolicyError) as again:
                await here.send(b"y")
            assert again.value.__cause__ is failed.value.__cause__
            with pytest.raises(net.Closed) as end:
                await there.receive()
            assert end.value.reason == "peer-abort"

    run(main())


def test_what_a_scheduler_of_a_server_raises_is_the_cause() -> None:
    async def main() -> None:
        async with pair(server={"scheduler": Raises}) as (here, there):
            await there.send(b"x")
            with pytest.raises(polypath.PolicyError) as failed:
                await there.receive()
            assert isinstance(failed.value.__cause__, ZeroDivisionError)
            with pytest.raises(net.Closed):
                await here.receive()

    run(main())


def test_a_scheduler_that_cannot_be_made_is_told() -> None:
    async def main() -> None:
        async with pair(scheduler=RaisesAtOnce) as (here, _):
            await here.send(b"x")
            await here.receive()

    with pytest.raises(polypath.PolicyError) as failed:
        run(main())
    assert isinstance(failed.value.__cause__, LookupError)


def test_interval_policies_and_named_schedulers_decide() -> None:
    class Second:
        every = 0.01

        def decide(self, paths: Any, association: Any) -> Any:
            return [0.0] + [1.0] * (len(paths) - 1)

    async def carried(scheduler: Any) -> list[int]:
        async with pair(scheduler=scheduler) as (here, there):
            await all_active(here)
            for _ in range(300):
                await here.send(bytes(1200))
            for _ in range(300):
                await there.receive()
            sent = [path.bytes_sent for path in here.paths()]
            await here.shutdown()
            return sent

    first, second = run(carried(Second))
    assert second > first
    assert sum(run(carried("min-rtt"))) >= 360_000


def test_schedulers_may_need_files(tmp_path: Path) -> None:
    weights = [[1.0] + [0.0] * 29]
    network = {
        "format": "polypath-learned",
        "version": 1,
        "observation": 1,
        "every_ms": 10,
        "layers": [{"weights": weights, "bias": [0.0], "activation": "linear"}],
    }
    file = tmp_path / "net.json"
    file.write_text(json.dumps(network))

    async def main() -> None:
        async with pair(scheduler=f"learned?file={file}") as (here, there):
            await all_active(here)
            for _ in range(100):
                await here.send(bytes(1200))
            for _ in range(100):
                await there.receive()
            assert all(path.bytes_sent > 0 for path in here.paths())
            await here.shutdown()
        with pytest.raises(polypath.ScenarioError, match="no-such.json"):
            await net.connect("127.0.0.1", insecure=True, scheduler="learned?file=no-such.json")

    run(main())


def test_compiled_schedulers_decide() -> None:
    pytest.importorskip("numba")
    from polypath import compiled

    @compiled
    def second(view: Any, paths: Any, chunk: Any, state: Any) -> int:
        return 1 if paths[1].sendable else -1

    async def main() -> None:
        async with pair(scheduler=second) as (here, there):
            for _ in range(200):
                await here.send(bytes(1200))
            for _ in range(200):
                await there.receive()
            assert [path.bytes_sent > 0 for path in here.paths()] == [False, True]
            await here.shutdown()

    run(main())
