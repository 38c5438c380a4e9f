#!/usr/bin/env python3
"""Whether control sockets, `polypath top` and the exporter hold their bars: prints a table.

As root: tools/control-bars.py PROGRAM. PROGRAM is a `polypath` built with optimisation. Prometheus'
promtool is used where it is installed. Takes about a minute.
"""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = sys.argv[1]
CUT_AFTER = 3.0
ROWS = []


def row(what, figure, bar, held):
    ROWS.append((what, figure, bar, "yes" if held else "**no**"))
    print(f"{what}: {figure}", file=sys.stderr)


def ticks(pid):
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cut(only_path):
    """Cuts a path. Seconds from the cut of a path to the line of `events` and the picture of `top`, and the line."""
    server = f"exec >/dev/null; {PROGRAM} perf -s --listen $(echo $POLYPATH_SERVER_ADDRS | tr ' ' ,) --insecure --one-off 2>/dev/null"
    paths = "fibre" if only_path else "fibre,lte"
    client = f"""
        date +%s.%N > start
        {PROGRAM} perf -c {"10.0.1.2" if only_path else "10.0.1.2,10.0.2.2"} --paths {paths} --insecure -t 6 > perf.log 2>&1 &
        sleep 1
        {PROGRAM} control events "perf to" --json > events &
        wait %1
    """
    command = [PROGRAM, "emulate", "-q", "--no-check", "two-uplinks"]
    command += ["--set", f"at.0.time={CUT_AFTER:.0f}s", "--set", "at.1.time=60s"]
    Path("start").unlink(missing_ok=True)
    running = subprocess.Popen([*command, "--server", server, "--", "sh", "-c", client], stdin=subprocess.DEVNULL)
    while not Path("start").exists():
        time.sleep(0.05)
    time.sleep(1)
    at = float(Path("start").read_text()) + CUT_AFTER
    seen = watch_top(["silent", "in doubt", "potentially", "no answer for"], at, running)
    running.wait()
    events = [json.loads(line)["event"] for line in Path("events").read_text().splitlines()]
    events = [e for e in events if e["time"] >= at and e.get("why")]
    told = events[0]["time"] - at if events else float("inf")
    line = f"{events[0]['text']}: {events[0]['why']}" if events else "nothing"
    return told, (seen or float("inf")) - at, line


def watch_top(words, cut, running):
    """When `top`, in a terminal of 80x24, first shows one of the words after the cut; until `running` ends."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", f"stty cols 80 rows 24; exec {PROGRAM} top 'perf to'"])
    shown, when = b"", None
    while running.poll() is None:
        if terminal in select.select([terminal], [], [], 0.05)[0]:
            now = time.time()
            try:
                some = os.read(terminal, 65536)
            except OSError:
                break
            before, shown = len(shown), shown + some
            # Of what came after the cut, and of a word that was begun before.
            late = shown[max(before - 16, 0) :]
            if when is None and now >= cut and any(word.encode() in late for word in words):
                when = now
    Path("top.recorded").write_bytes(shown)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return when


def scrapes():
    """CPU milliseconds of a scrape, of the exporter and of a process with 100 associations."""
    address = "127.62.1.1:9962"
    server = subprocess.Popen([PROGRAM, "perf", "-s", "--insecure", "--listen", address, "--no-control"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    client = [PROGRAM, "perf", "-c", address, "--local", "127.62.1.11,127.62.1.12", "--mesh", "--insecure", "-P", "100", "-t", "60", "-b", "8k"]
    client = subprocess.Popen(client, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    exporter = subprocess.Popen([PROGRAM, "exporter", "--listen", "127.0.0.1:9963"], stderr=subprocess.DEVNULL)
    time.sleep(8)
    get = ["curl", "-s", "-o", "scraped", "http://127.0.0.1:9963/metrics"]
    rounds = 100

    def cost(act):
        before = (ticks(exporter.pid), ticks(client.pid), time.monotonic())
        for _ in range(rounds):
            act()
            time.sleep(0.1)
        return [b - a for a, b in zip(before, (ticks(exporter.pid), ticks(client.pid), time.monotonic()))]

    idle = cost(lambda: None)
    busy = cost(lambda: subprocess.run(get, check=True))
    background = idle[1] / idle[2] * busy[2]
    lint = shutil.which("promtool")
    lint = subprocess.run([lint, "check", "metrics"], stdin=open("scraped"), capture_output=True, text=True) if lint else None
    associations = set(re.findall(r'association="(\d+)"', Path("scraped").read_text()))
    for process in (client, exporter, server):
        process.kill()
        process.wait()
    return 1e3 * busy[0] / rounds, 1e3 * (busy[1] - background) / rounds, len(associations), lint


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["POLYPATH_HOME"] = folder
        for only in (False, True):
            told, shown, line = cut(only)
            what = "the only path is cut" if only else "one of two paths is cut"
            row(f"{what}: `events`", f"{told:.2f} s: {line}", "0.5 s, with the reason", 0 <= told <= 0.5)
            row(f"{what}: `top`", f"{shown:.2f} s", "0.5 s", 0 <= shown <= 0.5)
        exporter, process, associations, lint = scrapes()
        total = exporter + process
        figure = f"{total:.1f} ms of CPU ({exporter:.1f} exporter, {process:.1f} process), {associations} associations"
        row("a scrape", figure, "5 ms with 100", total <= 5 and associations >= 100)
        if lint is None:
            row("promtool check metrics", "not installed", "silent", False)
        else:
            said = (lint.stdout + lint.stderr).strip()
            row("promtool check metrics", said or "silent", "silent", lint.returncode == 0 and not said)
    print("| what | figure | bar | held |\n|---|---|---|---|")
    for line in ROWS:
        print(f"| {' | '.join(line)} |")
    sys.exit(any("no" in line[3] for line in ROWS))


main()
