"""The pages of the handbook about Python say what is."""

from __future__ import annotations

import contextlib
import fnmatch
import io
import re
from pathlib import Path

import pytest
import reference

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["tutorials/scheduler-in-python.md", "how-to/learn-a-policy.md", "how-to/python-sockets.md"]
FENCE = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)


def test_the_reference_is_up_to_date():
    pytest.importorskip("gymnasium")
    told = "run PYTHONPATH=python python python/tests/reference.py"
    assert reference.PAGE.read_text() == reference.written(), told


@pytest.mark.parametrize("name", [page for page in PAGES if (DOCS / page).exists()])
def test_a_page_prints_what_it_says(name, tmp_path, monkeypatch):
    """Blocks of Python run in one namespace, as pasted; the block of text after one is its output."""
    pytest.importorskip("numba")
    pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    printed = None
    for note, language, text in FENCE.findall((DOCS / name).read_text()):
        if note.startswith("file: "):
            Path(note.removeprefix("file: ")).write_text(text)
        if note.startswith("not run"):
            printed = None
        elif language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, name, "exec"), space)
            printed = out.getvalue()
        elif language == "text" and printed is not None:
            told = text.replace("[..]", "\0").replace("[", "[[]").replace("\0", "*")
            told = re.sub(r"(?m)^\.\.\.$", "*", told)
            assert fnmatch.fnmatchcase(printed, told), f"{name}:\n{printed}"
            printed = None
