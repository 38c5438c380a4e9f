"""Associations on real sockets."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from net_pairs import UPLINKS, all_active, pair, run, start

from polypath import net


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
            assert {event.kind for event in seen} <= {"path-state", "path-silent", "limited", "sender-dry"}
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
