"""What `polypath exporter` prints, read by Prometheus' own parsers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

ADDRESSES = "127.61.1.1,127.61.1.2"
COMMAND = [sys.executable, "-m", "polypath"]


def said(process, word):
    """The line of a command's talk that has the word."""
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"{process.args}: ended without {word!r}")


@pytest.fixture
def running(tmp_path):
    """A measurement over two paths, both ends with control sockets; what runs a command beside it."""
    environment = {**os.environ, "POLYPATH_HOME": str(tmp_path)}
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [*COMMAND, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
        )
        started.append(process)
        return process

    def run(*arguments):
        ran = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    said(start("perf", "-s", "--insecure", *(f"--listen={a}:9961" for a in ADDRESSES.split(","))), "listening")
    client = ("--local=127.61.1.11,127.61.1.12", "--insecure", "-t", "60", "-b", "2M", "--length", "1000", "-P", "3")
    start("perf", "-c", ",".join(f"{a}:9961" for a in ADDRESSES.split(",")), *client)
    run.start = start
    deadline = time.monotonic() + 30
    # Three associations of two paths, and those of the server.
    while run("ss").count(": active, ") < 12:
        assert time.monotonic() < deadline, run("ss")
        time.sleep(0.1)
    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


def samples(families):
    return {(s.name, *sorted(s.labels.items())): s.value for f in families for s in f.samples}


def test_both_formats_are_understood_and_say_the_same_of_each_path(running):
    families = list(plain(running("exporter", "--once")))
    assert all(family.documentation and family.type in ("counter", "gauge") for family in families)
    ups = [s for f in families if f.name == "polypath_path_up" for s in f.samples]
    assert len(ups) == 12 and {s.value for s in ups} == {1.0}, ups
    assert {(s.labels["path"], s.labels["name"]) for s in ups} >= {("0", "127.61.1.11"), ("1", "127.61.1.12")}
    (bytes_,) = [f for f in families if f.name == "polypath_path_bytes"]
    assert bytes_.type == "counter" and {s.name for s in bytes_.samples} == {"polypath_path_bytes_total"}
    (lost,) = [f for f in families if f.name == "polypath_path_lost_chunks"]
    assert lost.type == "gauge"
    series = [(s.name, *sorted(s.labels.items())) for f in families for s in f.samples]
    assert len(series) == len(set(series))

    exporter = running.start("exporter", "--listen", "127.0.0.1:0")
    url = said(exporter, "metrics at").split()[2].rstrip(",")
    request = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        told = samples(open_metrics(answer.read().decode()))
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        older = samples(plain(answer.read().decode()))
    assert told.keys() == older.keys() and len(told) > 80


def test_a_file_appears_whole_and_others_are_counted(running, tmp_path):
    file = tmp_path / "polypath.prom"
    running("exporter", "--textfile", str(file), "--max-associations", "1")
    families = list(plain(file.read_text()))
    associations = {s.labels["association"] for f in families for s in f.samples if "association" in s.labels}
    assert associations == {"1"}
    untold = [s.value for f in families if f.name == "polypath_associations_untold" for s in f.samples]
    assert untold == [2.0, 2.0]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
