#!/usr/bin/env python3
"""The clients and servers whose behaviour the bars need exactly: readers that stop, readers that look at the clock, echoes.

    measure.py COMMAND ARGUMENT...

Each prints one line of figures, which cases.sh reads; what is wrong goes to stderr and makes the exit code 1.
"""

import asyncio
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time
import tomllib


def percentile(values, share):
    """The value that this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ask(host, port, path):
    """A connection that has asked for a path."""
    sock = socket.create_connection((host, int(port)), timeout=20)
    sock.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    return sock


def fetch(host, port, path, seconds="0"):
    """Reads a body to its end, or for so long: seconds, bytes, longest gap within (s), and when that gap ended (s)."""
    start = time.monotonic()
    limit = float(seconds) or float("inf")
    sock = ask(host, port, path)
    sock.settimeout(40)
    buffer = bytearray(1 << 18)
    read, gap, at, last = 0, 0.0, 0.0, None
    while (now := time.monotonic()) - start < limit:
        count = sock.recv_into(buffer)
        now = time.monotonic()
        if count == 0:
            break
        if last is not None and now - last > gap:
            gap, at = now - last, now - start
        read, last = read + count, now
    print(f"{(last or now) - start:.3f} {read} {gap:.3f} {at:.2f}")


def crowd(host, port, path, count):
    """So many connections that read a body each, all at once: seconds until the last has it, the median, how many have not."""
    count = int(count)
    start = time.monotonic()
    selector = selectors.DefaultSelector()
    done, failed, wanted = [], 0, None
    for _ in range(count):
        sock = ask(host, port, path)
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_READ, [0])
    while selector.get_map():
        events = selector.select(60)
        if not events:
            failed += len(selector.get_map())
            break
        for key, _ in events:
            try:
                data = key.fileobj.recv(1 << 18)
            except OSError:
                data = b""
            key.data[0] += len(data)
            if wanted is None and (length := re.search(rb"Content-Length: (\d+)", data)):
                wanted = int(length[1])
            if not data:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                done.append(time.monotonic() - start)
                failed += key.data[0] < (wanted or 1)
    print(f"{max(done):.3f} {statistics.median(done):.3f} {failed}")


def stall(host, port, path, count, read):
    """So many connections that ask for a body, read so many bytes of it each and then stop, until stdin ends."""
    socks = [ask(host, port, path) for _ in range(int(count))]
    for sock in socks:
        left = int(read)
        while left > 0 and (data := sock.recv(min(left, 1 << 16))):
            left -= len(data)
    print("stalled", flush=True)
    sys.stdin.read()


def echo(seconds, *command):
    """A byte ten times a second through a command that returns it: p50, p99 and longest (ms), how many came, of how many."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    sent, trips = [], []

    def listen():
        while data := child.stdout.read(256):
            now = time.monotonic()
            for _ in data:
                trips.append(now - sent[len(trips)])

    def say():
        sent.append(time.monotonic())
        child.stdin.write(b"x")

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    # The first tells that the session is there; it does not count.
    say()
    while not trips:
        if child.poll() is not None:
            sys.exit("the session ended")
        time.sleep(0.01)
    begin = time.monotonic() + 0.2
    number = int(float(seconds) * 10)
    for tick in range(number):
        time.sleep(max(0.0, begin + tick / 10 - time.monotonic()))
        try:
            say()
        except BrokenPipeError:
            sys.exit("the session ended")
    child.stdin.close()
    listener.join(60)
    child.kill()
    if len(trips) <= number:
        sys.exit(f"only {len(trips) - 1} of {number} bytes came back")
    ms = [1000 * trip for trip in trips[1:]]
    print(f"{percentile(ms, 0.5):.1f} {percentile(ms, 0.99):.1f} {max(ms):.1f} {len(ms)} {number}")


def echo_server(port):
    """Returns what comes, at this port."""

    async def answer(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
            writer.close()
        except ConnectionError:
            pass

    async def main():
        server = await asyncio.start_server(answer, "127.0.0.1", int(port))
        await server.serve_forever()

    asyncio.run(main())


def sequences(host, port, count, seconds, patience="60", back="0"):
    """Long-lived connections that have numbers echoed, 50 blocks of 32 numbers a second each: how many were lost, had wrong bytes or
    lack some at the end, numbers in all, longest silence of any (s), and the seconds from the time `back` (of the epoch) until each
    connection had bytes again: first and last of them."""
    back, first_after, silence = float(back), [], [0.0]
    outcome = {"lost": 0, "wrong": 0, "short": 0, "numbers": 0}

    async def one(index):
        reader, writer = await asyncio.open_connection(host, int(port))
        end = time.monotonic() + float(seconds)
        sent = received = 0
        over = False

        async def send():
            nonlocal sent, over
            await asyncio.sleep(index / 1000)
            while time.monotonic() < end:
                writer.write(b"".join(n.to_bytes(8, "big") for n in range(sent, sent + 32)))
                sent += 32
                await writer.drain()
                await asyncio.sleep(0.02)
            over = True
            writer.write_eof()

        async def receive():
            nonlocal received
            rest, last, told = b"", time.monotonic(), False
            while True:
                data = await asyncio.wait_for(reader.read(1 << 16), float(patience) + 30)
                now = time.monotonic()
                if not data:
                    return
                silence[0] = max(silence[0], now - last)
                last = now
                if back and not told and time.time() > back:
                    told = True
                    first_after.append(time.time() - back)
                rest += data
                whole = len(rest) // 8
                for n in range(whole):
                    if int.from_bytes(rest[8 * n : 8 * n + 8], "big") != received + n:
                        outcome["wrong"] += 1
                        return
                received += whole
                rest = rest[8 * whole :]

        try:
            await asyncio.gather(send(), receive())
        except (OSError, asyncio.TimeoutError) as error:
            print(f"connection {index}: {error!r}", file=sys.stderr)
            outcome["lost"] += 1
            return
        outcome["short"] += received != sent or not over
        outcome["numbers"] += received

    async def main():
        results = await asyncio.gather(*(one(n) for n in range(int(count))), return_exceptions=True)
        outcome["lost"] += sum(isinstance(result, Exception) for result in results)

    asyncio.run(main())
    after = first_after or [float("nan")]
    print(outcome["lost"], outcome["wrong"], outcome["short"], outcome["numbers"], end=" ")
    print(f"{silence[0]:.2f} {min(after):.2f} {max(after):.2f}")


def vitals(pid):
    """MB of memory, descriptors and threads of a process."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    memory = int(fields["VmRSS"].split()[0]) / 1000
    print(f"{memory:.1f} {len(os.listdir(f'/proc/{pid}/fd'))} {fields['Threads'].strip()}")


def cpu(*pids):
    """CPU seconds that these processes and the ended children they waited for have had."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as stat:
            ticks += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:15]))
    print(ticks / os.sysconf("SC_CLK_TCK"))


def summary(decimals="1"):
    """Of the numbers of stdin: the median, and the least and the greatest in brackets."""
    values = [float(word) for word in sys.stdin.read().split()]
    if not values:
        print("none")
        return
    low, mid, high = (f"{value:.{decimals}f}" for value in (min(values), statistics.median(values), max(values)))
    print(f"{mid} ({low} to {high})")


def flaps(seconds, seed, *paths):
    """[[at]] events that take paths away and bring them back at random until a moment; then all are there."""
    import random

    rng = random.Random(int(seed))
    for path in paths:
        at, up = 2.0, True
        while True:
            at += rng.expovariate(1 / 3.0) + 0.2 if up else rng.expovariate(1 / 1.5) + 0.2
            if at > float(seconds):
                break
            up = not up
            print(f'[[at]]\ntime = "{at:.3f}s"\ntarget = "{path}"\naction = "{"restore" if up else "cut"}"\n')
        if not up:
            print(f'[[at]]\ntime = "{float(seconds):.3f}s"\ntarget = "{path}"\naction = "restore"\n')


def profiles(file):
    """The cases of the sweep `profile` of a file: a label and its --set options, a line each; those without losses first."""
    with open(file, "rb") as opened:
        sweeps = tomllib.load(opened)["sweep"]
    cases = next(sweep["cases"] for sweep in sweeps if sweep["name"] == "profile")
    lossy = lambda case: any(key.endswith(".loss") for key in case["set"])
    for case in sorted(cases, key=lossy):
        print(case["label"], *(f"--set {key}={value}" for key, value in case["set"].items()))


if __name__ == "__main__":
    commands = [fetch, crowd, stall, echo, echo_server, sequences, vitals, cpu, summary, flaps, profiles]
    {command.__name__.replace("_", "-"): command for command in commands}[sys.argv[1]](*sys.argv[2:])
