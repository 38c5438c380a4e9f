"""Programs with associations that end, are interrupted, killed, or fork."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from net_pairs import run, start

import polypath
from polypath import net


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
