#!/usr/bin/env python3
"""Runs all shards of a plan with HyperQueue (pip install hyperqueue):

    tools/engines/hyperqueue.py PLAN SHARDS OUT [--server DIR] [--cores N]
    tools/engines/hyperqueue.py plan 200 out
    tools/engines/hyperqueue.py plan 4000 out --server ~/.hq-server

Without --server it starts a server and a worker on this machine. With it the shards go to a running
server (hq server start), whose workers may be jobs of Slurm or PBS (hq alloc add); PLAN and OUT are
on a file system that all of them have. POLYPATH names the program.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

# The file has the library's name, so its own folder must not come first.
sys.path.pop(0)

from hyperqueue import Job, LocalCluster
from hyperqueue.client import Client
from hyperqueue.cluster import WorkerConfig

ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("plan", type=Path)
    parser.add_argument("shards", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--server", type=Path, help="folder of a running server")
    parser.add_argument("--cores", type=int, help="of the worker here")
    args = parser.parse_args()
    if args.server:
        return run(Client(args.server), args)
    with LocalCluster(worker_config=WorkerConfig(cores=args.cores)) as cluster:
        return run(cluster.client(), args)


def run(client: Client, args: argparse.Namespace) -> int:
    """Submits shards until each has its segment; tasks that died are submitted again."""
    args.out.mkdir(parents=True, exist_ok=True)
    program = shutil.which(os.environ.get("POLYPATH", "polypath"))
    if program is None:
        print("polypath: not found (allowed: in PATH, or named by POLYPATH)", file=sys.stderr)
        return 2
    worker = [str(Path(program).resolve()), "--quiet", "worker", str(args.plan.resolve())]
    rest = ["--out", str(args.out.resolve()), "--jobs", "1"]
    missing = list(range(1, args.shards + 1))
    for _ in range(ROUNDS):
        job = Job(max_fails=None, default_workdir=args.out)
        for number in missing:
            shard = f"{number}/{args.shards}"
            job.program([*worker, "--shard", shard, *rest], stdout=None, stderr=None, name=shard)
        client.wait_for_jobs([client.submit(job)], raise_on_error=False)
        missing = [number for number in missing if not is_whole(args, number)]
        if not missing:
            return 0
        print(f"{len(missing)} of {args.shards} shards are not whole", file=sys.stderr)
    return 1


def is_whole(args: argparse.Namespace, number: int) -> bool:
    name = f"{number:0{len(str(args.shards))}}-of-{args.shards}.seg"
    return any(args.out.glob(f"*-{name}"))


if __name__ == "__main__":
    sys.exit(main())
