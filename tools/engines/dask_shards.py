#!/usr/bin/env python3
"""Runs all shards of a plan with Dask (pip install polypath dask distributed):

    tools/engines/dask_shards.py PLAN SHARDS OUT [SCHEDULER]
    tools/engines/dask_shards.py plan 40 out
    tools/engines/dask_shards.py plan 400 out tcp://scheduler:8786

Without a scheduler's address it starts one on this machine. Workers have the Python package; PLAN
and OUT are on a file system that all of them have.
"""

import sys
from pathlib import Path


def run_shard(plan: str, number: int, shards: int, out: str) -> int:
    """Runs on a worker."""
    import polypath

    return polypath.Plan.read(plan).run_shard(number, shards, out, jobs=1).made


def main() -> int:
    if len(sys.argv) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    from dask.distributed import Client

    plan, out = (str(Path(word).resolve()) for word in (sys.argv[1], sys.argv[3]))
    shards = int(sys.argv[2])
    with Client(sys.argv[4] if len(sys.argv) == 5 else None) as client:
        made = client.map(
            lambda number: run_shard(plan, number, shards, out),
            range(1, shards + 1),
            retries=3,
            pure=False,
        )
        print(f"{sum(client.gather(made))} runs made in {shards} shards")
    return 0


if __name__ == "__main__":
    sys.exit(main())
