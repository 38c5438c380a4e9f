"""SCTP over all paths, for asyncio, on real sockets.

>>> import asyncio, polypath.net
>>> async def main():
...     endpoint = await polypath.net.listen("127.0.0.1", udp=0, insecure=True)
...     async with endpoint, await polypath.net.connect(endpoint.addresses, insecure=True) as client:
...         await client.send(b"hello")
...         server = await endpoint.accept()
...         return await server.receive()
>>> asyncio.run(main()).data
b'hello'

An association carries messages on streams, over all of its paths at the same time. Packets are
encrypted, and each end proves to have the private key of its identity, unless both say
`insecure=True`: docs/how-to/protect-transfers.md.

A call that is cancelled has not happened: nothing was sent or received by it. Messages that wait to
be sent or received take no more memory than the buffers of the association, which `settings` name;
`send` waits while there is no room, and a peer that sends faster than this end receives is slowed
down.

When the interpreter ends, associations that still live are aborted: end them with `async with`, or
with `shutdown`, for what was sent to arrive. A process that is forked cannot use those of its parent.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from . import _polypath
from ._polypath import Closed, ConnectError, PolicyError, UntrustedPeer

__all__ = [
    "Association",
    "Closed",
    "ConnectError",
    "Endpoint",
    "Event",
    "Message",
    "Path",
    "PolicyError",
    "Refusal",
    "UntrustedPeer",
    "connect",
    "identity",
    "listen",
    "remember",
]

#: The UDP port of SCTP (RFC 6951), and the SCTP port of Polypath's own applications.
DEFAULT_PORT = 9899


class Message(NamedTuple):
    """A message of the peer."""

    #: What it says.
    data: bytes
    #: The number of its stream.
    stream: int
    #: Whether it was delivered in the order of its stream.
    ordered: bool
    #: Payload protocol identifier, as the peer gave it.
    ppid: int


@dataclass(frozen=True)
class Path:
    """A path, as it was when `Association.paths` was called."""

    #: Its number.
    number: int
    #: Addresses of both ends, with UDP ports.
    local: str
    remote: str
    #: The network device that its packets take, if one was named.
    device: str | None
    #: "unconfirmed", "active", "potentially-failed", "inactive" or "removed".
    state: str
    #: What it may be used for: "active", "backup" or "disabled".
    use: str
    #: Whether it is the primary path.
    primary: bool
    #: Smoothed round-trip time in seconds, once measured, and the retransmission timeout.
    srtt: float | None
    rto: float
    #: Congestion window, slow-start threshold and bytes in flight.
    cwnd: int
    ssthresh: int
    outstanding: int
    #: The largest IP packet.
    mtu: int
    #: Bytes of messages, retransmissions and duplicates included.
    bytes_sent: int
    bytes_received: int
    #: SCTP packets.
    packets_sent: int
    packets_received: int
    #: DATA chunks that were sent again on this path, and expiries of its retransmission timer.
    retransmissions: int
    timeouts: int
    #: For how many seconds nothing was heard of it; `None`: nothing ever came back.
    silent_for: float | None
    #: Why the system refused to send on it, if it ever did.
    refusal: str | None


class Event(NamedTuple):
    """Something that happened to an association."""

    #: "path-state", "path-silent", "path-added", "path-removed", "primary-changed", "path-mtu", "packets-too-big",
    #: "limited", "stalled", "restarted", "sender-dry", "peer-shutdown", "abandoned", "send-failed".
    kind: str
    #: The number of its path, if it has one.
    path: int | None
    #: More in words: the new state of a path, its MTU, what limits the transfer, and so on.
    text: str


class Refusal(NamedTuple):
    """A peer that was not let in."""

    #: Where it was.
    remote: str
    #: Why, with the fingerprint of its key.
    reason: str


class Association:
    """An association. One task may send while another receives.

    `async with association:` shuts it down at the end, and aborts it when an exception leaves the
    block. `async for message in association:` ends after a graceful shutdown of the peer.

    What its path scheduler raises ends it, and comes out of the pending or next call as the cause
    of a `polypath.PolicyError`.
    """

    def __init__(self, native: _polypath.Association) -> None:
        self._native = native
        _living.add(self)

    async def send(
        self,
        data: bytes | bytearray | memoryview,
        stream: int = 0,
        *,
        unordered: bool = False,
        lifetime: float | None = None,
        retransmissions: int | None = None,
        ppid: int = 0,
    ) -> None:
        """Hands over one message, and waits as long as the send buffer has no room for it.

        `unordered` messages are delivered as they come. After `lifetime` seconds, or after so many
        `retransmissions`, the message is given up. `ppid` is passed on untouched.

        Raises `Closed` when the association is over, and `ValueError` for what can never be sent.
        """
        if not isinstance(data, bytes):
            data = bytes(memoryview(data))
        try:
            operation = self._native.send(data, stream, unordered, ppid, lifetime, retransmissions)
        except OverflowError:
            text = f"stream = {stream}, ppid = {ppid}, retransmissions = {retransmissions}"
            raise ValueError(f"{text} (allowed: 16, 32 and 32 bits, from 0)") from None
        await _finish(operation)

    async def receive(self, stream: int | None = None) -> Message:
        """The next message: of all streams, or of one.

        Raises `Closed` when the association is over and everything was received; its `reason` is
        "shutdown" after a graceful end.
        """
        received = await _finish(self._native.receive(stream))
        if received is None:
            raise _graceful()
        return Message._make(received)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        received = await _finish(self._native.receive(None))
        if received is None:
            raise StopAsyncIteration
        return Message._make(received)

    async def shutdown(self) -> None:
        """Sends all that waits, tells the peer that nothing more comes, and waits for the end.

        Messages of the peer can be received meanwhile and afterwards. Raises `Closed` when the
        association ends otherwise. A shutdown whose wait is cancelled goes on.
        """
        await _finish(self._native.shutdown())

    async def wait_closed(self) -> Closed | PolicyError:
        """Waits until it is over, and returns why, as the exception that other calls raise."""
        end: Closed | PolicyError = await _finish(self._native.wait_closed())
        return end

    def events(self) -> AsyncIterator[Event]:
        """What happens from now on, until the association is over.

        Who is more than 256 events behind misses the oldest.
        """
        return _events(self._native.events())

    def set_use(self, path: int, use: str) -> None:
        """Says what the path of this number may be used for.

        "active"; "backup", for data only while no active path is usable; "disabled", for none.
        """
        self._native.set_use(path, use)

    def abort(self, reason: str | bytes = b"") -> None:
        """Ends it at once, and tells the peer why. What was not delivered is lost."""
        self._native.abort(reason.encode() if isinstance(reason, str) else reason)

    @property
    def closed(self) -> bool:
        """Whether it is over."""
        return bool(self._native.closed)

    @property
    def peer(self) -> str | None:
        """The fingerprint of the key that the peer has proved to have; `None` if it has none."""
        fingerprint: str | None = self._native.peer
        return fingerprint

    @property
    def protected(self) -> bool:
        """Whether packets are encrypted."""
        return bool(self._native.protected)

    @property
    def streams(self) -> tuple[int, int]:
        """Streams on which this end may send, and those on which the peer may; both from 0."""
        outbound, inbound = self._native.streams
        return outbound, inbound

    @property
    def room(self) -> int:
        """Free bytes of the send buffer."""
        return int(self._native.room)

    def paths(self) -> list[Path]:
        """What is known of each path; nothing once the association is over and forgotten."""
        return [Path(**path) for path in self._native.paths()]

    def stats(self) -> dict[str, Any]:
        """Counters of the association and its streams, by the names of `AssocStats` in Rust."""
        counters: dict[str, Any] = json.loads(self._native.stats())
        counters.pop("paths", None)
        return counters

    def limits(self) -> dict[str, float]:
        """For how many seconds each limit has held the transfer back, the longest first."""
        return dict(self._native.limits())

    async def __aenter__(self) -> Association:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abort(f"{type(error).__name__} at the other end")
            return
        try:
            await self.shutdown()
        except Closed as end:
            # Who has ended it in the block has said enough.
            if end.reason != "local-abort":
                raise

    def __repr__(self) -> str:
        if self.closed:
            return "<Association, over>"
        ways = [f"{path.local} -> {path.remote}" for path in self.paths()]
        return f"<Association {', '.join(ways)}>"


class Endpoint:
    """An SCTP port at which peers open associations.

    `async for association in endpoint:` accepts them one after the other, until the endpoint is
    closed. `async with endpoint:` closes it at the end; when an exception leaves the block, it only
    stops to accept.
    """

    def __init__(self, native: _polypath.Endpoint) -> None:
        self._native = native
        _endpoints.add(self)

    async def accept(self) -> Association:
        """The next association that a peer opened.

        Raises `Closed` once the endpoint is closed.
        """
        accepted = await _finish(self._native.accept())
        if accepted is None:
            raise _graceful("the endpoint is closed")
        return Association(accepted)

    def __aiter__(self) -> AsyncIterator[Association]:
        return self

    async def __anext__(self) -> Association:
        accepted = await _finish(self._native.accept())
        if accepted is None:
            raise StopAsyncIteration
        return Association(accepted)

    async def refused(self) -> Refusal:
        """The next peer that was not let in; of those that nobody asks for, the latest are kept.

        Raises `Closed` once the endpoint is closed.
        """
        refused = await _finish(self._native.refused())
        if refused is None:
            raise _graceful("the endpoint is closed")
        return Refusal._make(refused)

    async def close(self) -> None:
        """Shuts all associations down, waits until they are over, and ends `accept`."""
        await _finish(self._native.close())

    @property
    def addresses(self) -> list[str]:
        """Its addresses with UDP ports, as `connect` takes them."""
        return list(self._native.addresses)

    @property
    def port(self) -> int:
        """The SCTP port."""
        return int(self._native.port)

    @property
    def associations(self) -> int:
        """Associations that are not over, accepted or not."""
        return int(self._native.associations)

    @property
    def warnings(self) -> list[str]:
        """What works less well than it could, such as socket buffers that the system cut."""
        return list(self._native.warnings)

    async def __aenter__(self) -> Endpoint:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close()
        self._native.release()


async def connect(
    to: str | Iterable[str],
    *,
    paths: str | Iterable[str] | None = None,
    port: int = DEFAULT_PORT,
    udp: int | None = DEFAULT_PORT,
    scheduler: Any = None,
    profile: str = "fast",
    settings: Mapping[str, Any] | None = None,
    peer: str | None = None,
    key: str | os.PathLike[str] | None = None,
    psk: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    mesh: bool = False,
    timeout: float | None = 10.0,
) -> Association:
    """Opens an association to the host with these names or addresses.

    `to` takes what the command takes: `"host"`, `"192.0.2.5:9899"`, `"[2001:db8::5]"`, several in a
    list or separated by commas. `udp` is the UDP port of those that name none, or `None` to send
    directly over IP, which needs the right to open raw sockets; `port` is the SCTP port.

    `paths` are addresses of this host or names of its network devices, each for a path of its own,
    or `"auto"`, all devices, as they come and go. By default the routing table decides. As many
    addresses here as there are paired one by one; otherwise, or with `mesh`, each with each.

    `scheduler` is the name of a path scheduler with its options (`"learned?file=net.json"`), a
    class (`polypath.PathScheduler`), what `polypath.compiled` makes, or an object's factory with
    `decide`. `settings` has fields of `[stack]` by the names that scenarios have for them
    (`{"send-buffer": "8MB"}`), on top of the `profile`.

    The peer has to be known: by its line in the file `known-peers` (`remember` adds one), or by
    `peer`, its fingerprint, which `polypath id` prints there. Else `UntrustedPeer` tells the key
    that it came with. `key` is a file with the private key of this end, by default the host's own;
    `psk` is a file with a secret of both ends in place of keys. `insecure` encrypts nothing.

    Raises `ConnectError` when nobody answers within `timeout` seconds, or the peer refuses;
    `OSError` when an address or a file of this host cannot be used; `ValueError` for arguments that
    are wrong.
    """
    hosts = _with_ports(_list(to), udp)
    stack = _polypath.Stack(profile, _settings(settings), scheduler)
    route = {
        "to": ",".join(hosts),
        "paths": _list(paths),
        "port": _number("port", port, 1),
        "mesh": mesh,
        "raw": udp is None,
    }
    keys = _keys(key, psk, insecure, None if peer is None else [peer])
    opening = _finish(_polypath.connect(route, stack, keys))
    try:
        native = await asyncio.wait_for(opening, timeout)
    except asyncio.TimeoutError:
        raise ConnectError(f"no answer from {', '.join(hosts)} within {timeout} s") from None
    return Association(native)


async def listen(
    addresses: str | Iterable[str],
    *,
    port: int = DEFAULT_PORT,
    udp: int | None = DEFAULT_PORT,
    scheduler: Any = None,
    profile: str = "fast",
    settings: Mapping[str, Any] | None = None,
    allow: Iterable[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    psk: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    max_associations: int = 1024,
) -> Endpoint:
    """Opens an endpoint at addresses of this host: all of them are announced to peers.

    `port` is the SCTP port, `udp` the UDP port; 0 takes a free one, and `None` goes directly over
    IP. `allow` has the fingerprints of those that are let in; `None` lets in anyone, and
    `Association.peer` tells who it is. The other arguments are those of `connect`.

    Raises `OSError` when an address or a file of this host cannot be used.
    """
    place = {
        "addresses": _list(addresses),
        "port": _number("port", port, 1),
        "udp": None if udp is None else _number("udp", udp, 0),
        "most": max_associations,
    }
    stack = _polypath.Stack(profile, _settings(settings), scheduler)
    keys = _keys(key, psk, insecure, None if allow is None else _list(allow))
    return Endpoint(await _finish(_polypath.listen(place, stack, keys)))


def identity(key: str | os.PathLike[str] | None = None) -> str:
    """The fingerprint of this host's key, as `polypath id` prints it; the key is made at first use.

    `key` is a file with another private key (PKCS#8, PEM).
    """
    return str(_polypath.identity(_file(key)))


def remember(to: str | Iterable[str], fingerprint: str, *, udp: int = DEFAULT_PORT) -> None:
    """Writes into the file `known-peers` that the host of these names has this key.

    Compare it with what `polypath id` prints there: who does not may talk to somebody in between.
    """
    _polypath.remember(",".join(_with_ports(_list(to), udp)), fingerprint)


class _Home:
    """What wakes the waiting calls of one event loop."""

    #: Calls that need not wait until others of the loop get their turn.
    TURN = 64

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.wakeups = _polypath.Wakeups()
        self.numbers = itertools.count(1)
        self.waiters: dict[int, asyncio.Future[None]] = {}
        self.calls = 0
        loop.add_reader(self.wakeups.fileno(), self.wake)

    def wake(self) -> None:
        for number in self.wakeups.take():
            waiter = self.waiters.get(number)
            if waiter is not None and not waiter.done():
                waiter.set_result(None)


_homes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Home] = WeakKeyDictionary()
_living: WeakSet[Association] = WeakSet()
_endpoints: WeakSet[Endpoint] = WeakSet()


async def _finish(operation: _polypath.Operation) -> Any:
    """Polls an operation until it is over. A cancelled one goes no further."""
    loop = asyncio.get_running_loop()
    home = _homes.get(loop)
    if home is None:
        home = _homes[loop] = _Home(loop)
    try:
        home.calls += 1
        if home.calls % home.TURN == 0:
            await asyncio.sleep(0)
        while True:
            number = next(home.numbers)
            answer = operation.poll(home.wakeups, number)
            if answer is not None:
                return answer[0]
            waiter = home.waiters[number] = loop.create_future()
            try:
                await waiter
            finally:
                del home.waiters[number]
    finally:
        operation.close()


async def _events(native: _polypath.Events) -> AsyncIterator[Event]:
    while (event := await _finish(native.next())) is not None:
        yield Event._make(event)


def _list(given: str | Iterable[str] | None) -> list[str]:
    if given is None:
        return []
    parts = given.split(",") if isinstance(given, str) else [str(part) for part in given]
    return [part.strip() for part in parts]


def _with_ports(hosts: list[str], udp: int | None) -> list[str]:
    """The hosts as the command takes them, with the UDP port where they name none."""
    if not hosts:
        raise ValueError("to = nobody (allowed: names or addresses of one host, at least one)")
    if udp is None or _number("udp", udp, 1) == DEFAULT_PORT:
        return hosts
    return [host if _has_port(host) else _join_port(host, udp) for host in hosts]


def _has_port(host: str) -> bool:
    if host.startswith("["):
        return "]:" in host
    return host.count(":") == 1


def _join_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _number(name: str, port: int, least: int) -> int:
    if not least <= port <= 65535:
        raise ValueError(f"{name} = {port} (allowed: {least} to 65535)")
    return port


def _settings(settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if settings is None else dict(settings)


def _file(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _keys(
    key: str | os.PathLike[str] | None,
    psk: str | os.PathLike[str] | None,
    insecure: bool,
    allowed: list[str] | None,
) -> dict[str, Any]:
    return {"key": _file(key), "psk": _file(psk), "insecure": insecure, "allowed": allowed}


def _graceful(text: str = "the association was shut down") -> Closed:
    end = Closed(text)
    end.reason, end.said = "shutdown", b""
    return end


_process = os.getpid()


@atexit.register
def _leave() -> None:
    # A forked process has the associations of its parent before it, but none of its threads.
    if os.getpid() != _process:
        return
    associations = [association._native for association in _living]
    _polypath.leave(associations, [endpoint._native for endpoint in _endpoints])
