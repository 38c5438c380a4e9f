"""Associations on real sockets: 127.0.0.1 and 127.0.0.2 are two paths."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import polypath
from polypath import net

#: Both paths of a client.
UPLINKS = ["127.0.0.1", "127.0.0.2"]


def run(work: Awaitable[Any], seconds: float = 60) -> Any:
    async def limited() -> Any:
        return await asyncio.wait_for(work, seconds)

    return asyncio.run(limited())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of keys for each test."""
    folder = tmp_path / "home"
    monkeypatch.setenv("POLYPATH_HOME", str(folder))
    yield folder


@asynccontextmanager
async def pair(*, server: dict[str, Any] | None = None, **client: Any) -> AsyncIterator[Any]:
    """Both ends of an association over two paths, in plain."""
    listening = {"udp": 0, "insecure": True} | (server or {})
    endpoint = await net.listen(["127.0.0.3", "127.0.0.4"], **listening)
    client = {"paths": UPLINKS, "insecure": True} | client
    try:
        there, here = await asyncio.gather(
            endpoint.accept(), net.connect(endpoint.addresses, **client)
        )
        yield here, there
    finally:
        endpoint._native.release()


async def all_active(association: net.Association) -> None:
    """Waits until the peer has proved all of its addresses."""
    while any(path.state != "active" for path in association.paths()):
        await asyncio.sleep(0.01)


def test_an_echo_over_two_paths() -> None:
    async def main() -> None:
        async with pair() as (here, there):
            await here.send(b"hello", stream=3, ppid=7)
            message = await there.receive()
            assert message == net.Message(b"hello", 3, True, 7)
            await there.send(bytearray(message.data.upper()), unordered=True)
            answer = await here.receive()
            assert (answer.data, answer.ordered) == (b"HELLO", False)
            paths = here.paths()
            assert [path.local.split(":")[0] for path in paths] == UPLINKS
            assert {path.state for path in paths} <= {"active", "unconfirmed"}
            assert sum(path.bytes_sent for path in paths) >= 5
            assert here.stats()["messages_sent"] == 1 and here.stats()["messages_delivered"] == 1
            assert here.peer is None and not here.protected
            assert sum(here.limits().values()) > 0
            async with there:
                async with here:
                    pass
                with pytest.raises(net.Closed, match="shut down") as end:
                    await there.receive()
                assert end.value.reason == "shutdown"
            assert here.closed and there.closed

    run(main())


def test_many_messages_over_streams_arrive_in_order_on_all_paths() -> None:
    count, streams = 6000, 8

    async def main() -> None:
        async with pair(settings={"outbound-streams": streams}) as (here, there):

            async def send() -> None:
                for number in range(count):
                    await here.send(number.to_bytes(4, "big") * 300, stream=number % streams)
                await here.shutdown()

            async def receive() -> list[list[int]]:
                seen: list[list[int]] = [[] for _ in range(streams)]
                async for message in there:
                    number = int.from_bytes(message.data[:4], "big")
                    assert message.data == message.data[:4] * 300
                    seen[message.stream].append(number)
                return seen

            _, seen = await asyncio.gather(send(), receive())
            assert seen == [list(range(stream, count, streams)) for stream in range(streams)]

    run(main())


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


def test_keys_are_proved_and_strangers_refused(home: Path) -> None:
    async def main() -> None:
        own = net.identity()
        async with await net.listen("127.0.0.3", udp=0, allow=[own]) as endpoint:
            [at] = endpoint.addresses
            with pytest.raises(net.UntrustedPeer, match="is not known, and has the key") as unknown:
                await net.connect(at)
            assert unknown.value.fingerprint == own and str(home / "known-peers") in str(unknown.value)
            assert f'peer="{own}"' in str(unknown.value)

            there = asyncio.create_task(endpoint.accept())
            async with await net.connect(at, peer=own) as here:
                assert here.peer == own and here.protected
                await here.send(b"a secret")
                async with await there as other:
                    assert (await other.receive()).data == b"a secret"
                    assert other.peer == own

            net.remember(at, own)
            async with await net.connect(at):
                pass

            stranger = net.identity(home / "other")
            assert stranger != own
            with pytest.raises(net.UntrustedPeer, match=f"(?s)not let this host in.*{stranger}"):
                async with await net.connect(at, key=home / "other") as here:
                    await here.receive()
            refused = await endpoint.refused()
            while "not one that is allowed" not in refused.reason:
                refused = await endpoint.refused()
            assert stranger in refused.reason and refused.remote.startswith("127.0.0.1:")
            with pytest.raises(net.UntrustedPeer, match="not that of peer="):
                await net.connect(at, peer=stranger)
            with pytest.raises(net.ConnectError, match="insecure"):
                await net.connect(at, insecure=True)

    run(main())


def test_a_changed_key_is_told(home: Path) -> None:
    async def main() -> None:
        async with await net.listen("127.0.0.3", udp=0, key=home / "new") as endpoint:
            [at] = endpoint.addresses
            net.remember(at, net.identity())
            with pytest.raises(net.UntrustedPeer, match="another key than before.*line 1"):
                await net.connect(at)

    run(main())


def test_a_shared_secret_is_enough(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(os.urandom(32).hex())
    secret.chmod(0o600)

    async def main() -> None:
        keys = {"insecure": False, "psk": secret}
        async with pair(server=keys, **keys) as (here, there):
            assert here.protected and there.protected
            await here.send(b"x")
            assert (await there.receive()).data == b"x"

    run(main())


def test_cancelled_calls_have_not_happened() -> None:
    """Receivers that are cancelled at any moment lose no message, and change no order."""
    count = 3000

    async def main() -> None:
        async with pair() as (here, there):
            seen: list[int] = []

            async def send() -> None:
                for number in range(count):
                    await here.send(number.to_bytes(4, "big"))
                    await asyncio.sleep(0)

            async def receive() -> None:
                message = await there.receive()
                seen.append(int.from_bytes(message.data, "big"))

            sending = asyncio.create_task(send())
            cancelled = 0
            while len(seen) < count:
                task = asyncio.create_task(receive())
                for _ in range(len(seen) % 3):
                    await asyncio.sleep(0)
                if task.cancel():
                    cancelled += 1
                await asyncio.gather(task, return_exceptions=True)
                if len(seen) % 3 == 0 and len(seen) < count:
                    await receive()
            await sending
            assert seen == list(range(count)) and cancelled > 20
            await here.shutdown()

    run(main())


def test_a_cancelled_send_sends_nothing() -> None:
    async def main() -> None:
        buffers = {"send-buffer": "64KiB", "receive-buffer": "64KiB"}
        async with pair(settings=buffers, server={"settings": buffers}) as (here, there):
            sent = 0
            while True:
                try:
                    await asyncio.wait_for(here.send(sent.to_bytes(2, "big") * 2000), 0.3)
                except asyncio.TimeoutError:
                    break
                sent += 1
            assert 16 <= sent <= 64, sent
            for number in range(sent):
                assert (await there.receive()).data == number.to_bytes(2, "big") * 2000
            await here.send(b"last")
            assert (await there.receive()).data == b"last"

    run(main())


def test_senders_wait_for_slow_receivers() -> None:
    async def main() -> None:
        buffers = {"send-buffer": "128KiB", "receive-buffer": "128KiB"}
        async with pair(settings=buffers, server={"settings": buffers}) as (here, there):
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(400):
                    await here.send(bytes(4000))
                    sent += 1
                await here.shutdown()

            sending = asyncio.create_task(send())
            await asyncio.sleep(0.5)
            held = sent * 4000
            assert 100_000 < held <= 2 * 131_072, held
            received = 0
            async for message in there:
                received += len(message.data)
            await sending
            assert (sent, received) == (400, 400 * 4000)

    run(main())


def test_a_peer_that_disappears_is_told() -> None:
    """The server is killed: its host answers no more, or says that the port is closed."""
    script = """
        import asyncio, sys
        from polypath import net
        async def main():
            endpoint = await net.listen("127.0.0.3", udp=0, insecure=True)
            print(*endpoint.addresses, flush=True)
            association = await endpoint.accept()
            await association.send(b"here")
            await asyncio.sleep(3600)
        asyncio.run(main())
    """

    async def main() -> None:
        with start(script) as server:
            assert server.stdout is not None
            at = server.stdout.readline().strip()
            settings = {"rto-initial": "100ms", "rto-min": "50ms", "rto-max": "200ms", "assoc-max-retrans": 3}
            here = await net.connect(at, insecure=True, settings=settings)
            assert (await here.receive()).data == b"here"
            server.send_signal(signal.SIGKILL)
            server.wait()
            await here.send(b"anybody?")
            with pytest.raises(net.Closed) as end:
                await here.receive()
            assert end.value.reason in ("unreachable", "peer-gone")
            with pytest.raises(net.Closed):
                await here.send(b"x")

    run(main())


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_ends_a_program_at_once() -> None:
    script = """
        import asyncio, polypath
        from polypath import net
        class First(polypath.PathScheduler):
            def pick(self, view, chunk):
                return next(iter(view.sendable), None)
        async def main():
            async with await net.listen("127.0.0.3", udp=0, insecure=True, scheduler=First) as endpoint:
                async with await net.connect(endpoint.addresses, insecure=True, scheduler=First) as here:
                    there = await endpoint.accept()
                    print("ready", flush=True)
                    await asyncio.gather(*[carry(a, b) for a, b in [(here, there), (there, here)]])
        async def carry(a, b):
            while True:
                await a.send(bytes(1000))
                await b.receive()
        asyncio.run(main())
    """
    interrupt(script, after=0.3)


def test_ctrl_c_ends_an_attempt_to_connect() -> None:
    script = """
        import asyncio, socket
        from polypath import net
        async def main():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
                silent.bind(("127.0.0.6", 0))
                print("ready", flush=True)
                await net.connect(f"127.0.0.6:{silent.getsockname()[1]}", insecure=True, timeout=None)
        asyncio.run(main())
    """
    interrupt(script, after=0.2)


def interrupt(script: str, after: float) -> None:
    with start(script) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "ready\n"
            time.sleep(after)
            program.send_signal(signal.SIGINT)
            _, said = program.communicate(timeout=20)
            assert program.returncode == -signal.SIGINT and "KeyboardInterrupt" in said, said
        finally:
            program.kill()


def test_a_program_that_forgets_its_associations_ends_and_tells_peers() -> None:
    script = """
        import asyncio, sys, polypath
        from polypath import net
        class First(polypath.PathScheduler):
            def pick(self, view, chunk):
                return next(iter(view.sendable), None)
        kept = []
        async def main():
            association = await net.connect(sys.argv[1].split(","), insecure=True, scheduler=First)
            kept.append(association)
            for _ in range(200):
                await association.send(bytes(1200))
        asyncio.run(main())
    """

    async def main() -> None:
        endpoint = await net.listen("127.0.0.3", udp=0, insecure=True)
        with start(script, *endpoint.addresses) as program:
            there = await endpoint.accept()
            with pytest.raises(net.Closed) as end:
                while True:
                    await there.receive()
            assert (end.value.reason, end.value.said) == ("peer-abort", b"the program has ended")
            _, said = await asyncio.to_thread(program.communicate, timeout=20)
            assert program.returncode == 0, said

    run(main())


def test_forked_processes_end() -> None:
    """Locks that threads of the parent held when it was forked are nobody's there."""
    script = """
        import asyncio, os, sys, warnings, polypath
        from polypath import net
        warnings.simplefilter("ignore")
        class First(polypath.PathScheduler):
            def pick(self, view, chunk):
                return next(iter(view.sendable), None)
        async def main():
            endpoint = await net.listen("127.0.0.3", udp=0, insecure=True)
            here = await net.connect(endpoint.addresses, insecure=True, scheduler=First)
            there = await endpoint.accept()
            for _ in range(20):
                for _ in range(50):
                    await here.send(bytes(1200))
                if os.fork() == 0:
                    try:
                        here.paths()
                    except RuntimeError as error:
                        assert "forked" in str(error)
                        del here, there, endpoint
                        os._exit(7)
                assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
                for _ in range(50):
                    await there.receive()
            await asyncio.gather(here.shutdown(), there.shutdown())
        asyncio.run(main())
    """
    with start(script) as program:
        try:
            _, said = program.communicate(timeout=40)
            assert program.returncode == 0, said
        finally:
            program.kill()


def test_a_server_that_ends_tells_those_whom_nobody_has_accepted() -> None:
    script = """
        import asyncio, sys
        from polypath import net
        async def main():
            global endpoint
            endpoint = await net.listen("127.0.0.3", udp=0, insecure=True)
            print(*endpoint.addresses, flush=True)
            await asyncio.to_thread(sys.stdin.readline)
        asyncio.run(main())
    """

    async def main() -> None:
        command = [sys.executable, "-c", textwrap.dedent(script)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, text=True, **pipes) as server:
            here = await net.connect(server.stdout.readline().strip(), insecure=True)
            server.stdin.write("end\n")
            server.stdin.close()
            end = await here.wait_closed()
            assert (end.reason, end.said) == ("peer-abort", b"the program has ended")

    run(main())


def test_the_end_of_a_block_says_why() -> None:
    async def main() -> None:
        async with pair() as (here, there):
            with pytest.raises(KeyError):
                async with here:
                    raise KeyError("oh")
            with pytest.raises(net.Closed, match="KeyError") as end:
                await there.receive()
            assert end.value.said == b"KeyError at the other end"
            with pytest.raises(net.Closed) as own:
                await here.send(b"x")
            assert own.value.reason == "local-abort"
            async with here:
                pass

    run(main())


def test_closed_endpoints_end_their_iteration() -> None:
    async def main() -> None:
        endpoint = await net.listen("127.0.0.3", udp=0, insecure=True)
        accepted = []

        async def accept() -> None:
            async for association in endpoint:
                accepted.append(association)

        accepting = asyncio.create_task(accept())
        here = await net.connect(endpoint.addresses, insecure=True)
        while endpoint.associations == 0 or not accepted:
            await asyncio.sleep(0.01)
        await endpoint.close()
        await accepting
        with pytest.raises(net.Closed):
            await endpoint.accept()
        with pytest.raises(net.Closed):
            await here.receive()

    run(main())


def test_mistakes_are_told_with_what_is_allowed() -> None:
    async def refused(*arguments: Any, **options: Any) -> str:
        with pytest.raises((ValueError, OSError, net.ConnectError)) as error:
            await net.connect(*arguments, **options)
        assert "\n" not in str(error.value)
        return str(error.value)

    async def main() -> None:
        plain = {"insecure": True}
        assert "min-rtt" in await refused("127.0.0.1", scheduler="best", **plain)
        assert "fast" in await refused("127.0.0.1", profile="best", **plain)
        assert "settings" in await refused("127.0.0.1", settings={"no-such": 1}, **plain)
        assert "16KiB" in await refused("127.0.0.1", settings={"send_buffer": "8KB"}, **plain)
        assert "65535" in await refused("127.0.0.1", port=70000, **plain)
        assert "65535" in await refused("127.0.0.1", udp=0, **plain)
        assert "nosuch0" in await refused("127.0.0.1", paths="nosuch0", **plain)
        assert "either" in await refused("127.0.0.1", paths=["127.0.0.1", "lo"], **plain)
        assert "at least one" in await refused([], **plain)
        assert "peer" in await refused("127.0.0.1", peer="pp:short")
        assert "only one" in await refused("127.0.0.1", peer="pp:short", **plain)
        assert "refused" in await refused("127.0.0.1:9", **plain)
        with pytest.raises(OSError, match="in use"):
            async with await net.listen("127.0.0.3", udp=0, insecure=True) as endpoint:
                udp = int(endpoint.addresses[0].rsplit(":", 1)[1])
                await net.listen("127.0.0.3", udp=udp, insecure=True)
        with pytest.raises(ValueError, match="addresses of this host"):
            await net.listen("localhost", insecure=True)
        with pytest.raises(OSError, match="not an address of this host"):
            await net.listen("192.0.2.1", insecure=True)
        async with pair() as (here, _):
            with pytest.raises(ValueError, match="at least 1"):
                await here.send(b"")
            for wrong in (5, "text"):
                with pytest.raises(TypeError):
                    await here.send(wrong)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="16, 32 and 32 bits"):
                await here.send(b"x", stream=70_000)
            with pytest.raises(ValueError, match="allowed: active, backup, disabled"):
                here.set_use(0, "never")
            with pytest.raises(ValueError, match="stream"):
                await here.send(b"x", stream=60_000)
            with pytest.raises(ValueError, match="from 0"):
                await here.send(b"x", lifetime=-1)
            with pytest.raises(ValueError, match="only one"):
                await here.send(b"x", lifetime=1, retransmissions=1)

    run(main())


def test_events_tell_of_paths_and_of_the_end() -> None:
    async def main() -> None:
        async with pair() as (here, there):
            seen: list[net.Event] = []
            events = here.events()

            async def listen() -> None:
                async for event in events:
                    seen.append(event)

            listening = asyncio.create_task(listen())
            ended = asyncio.create_task(there.wait_closed())
            await all_active(here)
            here.set_use(0, "disabled")
            for _ in range(50):
                await here.send(bytes(1200))
            for _ in range(50):
                await there.receive()
            first, second = here.paths()
            assert (first.use, first.bytes_sent) == ("disabled", 0) and second.bytes_sent >= 60_000
            await here.shutdown()
            await listening
            assert {event.kind for event in seen} <= {"path-state", "limited", "sender-dry"}
            assert any(event.kind == "sender-dry" for event in seen), seen
            end = await ended
            assert isinstance(end, net.Closed) and end.reason == "shutdown"
            here_end = await here.wait_closed()
            assert isinstance(here_end, net.Closed) and here_end.reason == "shutdown"

    run(main())


def test_messages_may_be_given_up() -> None:
    async def main() -> None:
        async with pair(settings={"send-buffer": "64KiB"}) as (here, there):
            for number in range(300):
                await here.send(number.to_bytes(2, "big") * 500, lifetime=0.001)
            await here.send(b"last", retransmissions=0)
            async with there, here:
                message = await there.receive()
                while message.data != b"last":
                    message = await there.receive()

    run(main())


@pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="a host without IPv6")
def test_ipv6_is_as_good() -> None:
    async def main() -> None:
        async with await net.listen("::1", udp=0, insecure=True) as endpoint:
            udp = int(endpoint.addresses[0].rsplit(":", 1)[1])
            for to in (endpoint.addresses, "::1", "[::1]"):
                async with await net.connect(to, udp=udp, insecure=True) as here:
                    await here.send(b"x")
                    assert (await (await endpoint.accept()).receive()).data == b"x"

    run(main())


def test_who_does_not_answer_is_given_up() -> None:
    import socket

    async def main() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.5", 0))
            at = f"127.0.0.5:{silent.getsockname()[1]}"
            with pytest.raises(net.ConnectError, match="no answer"):
                await net.connect(at, insecure=True, timeout=0.3)

    run(main())


def test_loops_of_several_threads_work_side_by_side() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        async def main() -> None:
            async with pair() as (here, there):
                for _ in range(200):
                    await here.send(bytes([number]) * 100)
                    assert (await there.receive()).data == bytes([number]) * 100
                await here.shutdown()

        run(main())
        done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3]


def test_what_is_dropped_leaves_no_thread_and_no_socket() -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    async def main() -> None:
        async with pair() as (here, there):
            await here.send(b"x")
            await there.receive()
            await asyncio.gather(here.shutdown(), there.shutdown())

    run(main())
    gc.collect()
    before = count()
    for _ in range(10):
        run(main())
    gc.collect()
    for _ in range(100):
        if all(now <= then for now, then in zip(count(), before)):
            return
        time.sleep(0.05)
    assert count() <= before


def test_importing_polypath_does_not_import_sockets() -> None:
    check = "import sys, polypath; sys.exit('asyncio' in sys.modules or 'polypath.net' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
