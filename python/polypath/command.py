"""The command `polypath`, which takes path schedulers in Python: `my.py:MyScheduler`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _polypath


def load_file(path: Path) -> ModuleType:
    """The module in a file; its folder is searched for what it imports."""
    spec = importlib.util.spec_from_file_location(f"polypath_file_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no file of Python's")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def finder() -> Callable[[str], Any]:
    """A function that finds `FILE.py:NAME`, or says in words why not; each file is run once."""
    modules: dict[str, ModuleType] = {}

    def find(name: str) -> Any:
        file, colon, member = name.rpartition(":")
        if not colon or not file.endswith(".py"):
            return None
        if file not in modules:
            path = Path(file).resolve()
            if not path.is_file():
                return f"there is no file {file}"
            modules[file] = load_file(path)
        found = getattr(modules[file], member, None)
        if is_scheduler(found):
            return found
        names = [word for word, value in vars(modules[file]).items() if is_scheduler(value)]
        return f"{file} has no scheduler {member!r} (allowed: {', '.join(names) or 'none'})"

    return find


def is_scheduler(value: object) -> bool:
    """Whether it may be named as one: a class with `pick` or `decide`, or a compiled one."""
    if isinstance(value, type):
        own = value.__module__ != "polypath.policies"
        return own and (hasattr(value, "pick") or hasattr(value, "decide"))
    return hasattr(value, "_addresses")


def main() -> int:
    """Runs the command with the arguments of this process."""
    return int(_polypath.run_command(sys.argv, finder()))


if __name__ == "__main__":
    sys.exit(main())
