"""The notebooks run to their end, cell by cell in one namespace."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
#: Takes a minute at most; the others run where POLYPATH_NOTEBOOKS is 1.
QUICK = "first-scheduler"


def cells(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [(cell, "".join(cell["source"])) for cell in content["cells"]]


@pytest.fixture(params=sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def notebook(request):
    return request.param


def test_a_notebook_runs(notebook, tmp_path, monkeypatch):
    if notebook.stem != QUICK and os.environ.get("POLYPATH_NOTEBOOKS") != "1":
        pytest.skip("takes minutes: POLYPATH_NOTEBOOKS=1 runs it")
    matplotlib = pytest.importorskip("matplotlib")
    for needed in ("numba", "gymnasium"):
        pytest.importorskip(needed)
    matplotlib.use("Agg")
    for file in FOLDER.glob("*.json"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for cell, source in cells(notebook):
        if cell["cell_type"] == "code" and not source.startswith("# not in tests"):
            exec(compile(source, f"{notebook.name}, {cell['id']}", "exec"), names)


def test_a_notebook_is_short_and_has_no_outputs(notebook):
    content = cells(notebook)
    words = sum(len(text.split()) for cell, text in content if cell["cell_type"] == "markdown")
    assert len(content) <= 25 and words <= 550
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell, _ in content)


def test_there_are_notebooks():
    assert QUICK in [path.stem for path in FOLDER.glob("*.ipynb")]
