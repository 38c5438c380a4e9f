"""Pairs of ends on this machine: 127.0.0.1 and 127.0.0.2 are two paths."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

from polypath import net

#: Both paths of a client.
UPLINKS = ["127.0.0.1", "127.0.0.2"]


def run(work: Awaitable[Any], seconds: float = 60) -> Any:
    async def limited() -> Any:
        return await asyncio.wait_for(work, seconds)

    return asyncio.run(limited())


@asynccontextmanager
async def pair(*, server: dict[str, Any] | None = None, **client: Any) -> AsyncIterator[Any]:
    """Both ends of an association over two paths, in plain."""
    listening = {"udp": 0, "insecure": True} | (server or {})
    endpoint = await net.listen(["127.0.0.3", "127.0.0.4"], **listening)
    client = {"paths": UPLINKS, "insecure": True} | client
    try:
        there, here = await asyncio.gather(
            endpoint.accept(), net.connect(endpoint.addresses, **client)
        )
        yield here, there
    finally:
        endpoint._native.release()


async def all_active(association: net.Association) -> None:
    """Waits until the peer has proved all of its addresses."""
    while any(path.state != "active" for path in association.paths()):
        await asyncio.sleep(0.01)


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
