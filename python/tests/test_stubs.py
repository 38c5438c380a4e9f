"""The stubs are what the native half is."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_stubs(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "polypath._polypath"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
