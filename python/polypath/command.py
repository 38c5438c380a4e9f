"""The command `polypath`, which takes path schedulers in Python: `my.py:MyScheduler`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _polypath


def load_file(file: str) -> ModuleType:
    """The module in `file`; its folder is searched for what it imports."""
    path = Path(file).resolve()
    spec = importlib.util.spec_from_file_location(f"polypath_file_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def finder() -> Callable[[str], Any]:
    """A function that finds `FILE.py:NAME`; each file is run once."""
    modules: dict[str, ModuleType] = {}

    def find(name: str) -> Any:
        file, colon, member = name.rpartition(":")
        if not colon or not file.endswith(".py"):
            return None
        if file not in modules:
            modules[file] = load_file(file)
        found = getattr(modules[file], member, None)
        if found is None:
            names = [word for word, value in vars(modules[file]).items() if is_scheduler(value)]
            raise AttributeError(f"{file} has no {member} (allowed: {', '.join(names) or 'none'})")
        return found

    return find


def is_scheduler(value: object) -> bool:
    """Whether it may be named as one."""
    return isinstance(value, type) and hasattr(value, "pick") and value.__module__ != "polypath.policies"


def main() -> int:
    """Runs the command with the arguments of this process."""
    return int(_polypath.run_command(sys.argv, finder()))


if __name__ == "__main__":
    sys.exit(main())
