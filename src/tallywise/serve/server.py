"""The server: one socket, its connections, and what they may take together of files, bytes and time."""

import asyncio
import contextlib
import resource
import signal
import socket
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate
from typing import Any, Protocol

from tallywise._byte_budget import ByteBudget
from tallywise.serve.answers import JSON_HEADERS, Headers
from tallywise.serve.http_connection import Connection
from tallywise.serve.http_exchange import Exchange
from tallywise.serve.settings import Settings

_CONNECTIONS = 65_536
_RESERVED = 128  # files that are kept for the store, uploads and the learner
_AT_A_TIME = 64  # this share of all connections makes room at a time, so that looking for them is rare
_GRACE = 10.0  # seconds that requests under way are given at the end
_SWEEP = 1.0  # seconds between two looks at slow clients


class ServedApplication(Protocol):
    """What is served: an ASGI application that may answer some requests by a callback."""

    settings: Settings
    budget: ByteBudget

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""

    async def start(self) -> None:
        """Begin."""

    async def stop(self) -> None:
        """End; no request is under way any more."""

    def may_be_quick(self, exchange: Exchange) -> bool:
        """Whether a request may be answered by a callback once its body is there."""

    def answer_quickly(self, exchange: Exchange, done: Callable[[Exchange, bytes | None], None]) -> bool:
        """Answer a whole request by a callback, now or later; False where it has to go the usual way."""


class Server:
    """Runs an application until it is told to stop.

    Parameters
    ----------
    application : ServedApplication
        What answers.
    listening : socket
        Where clients come from.
    """

    def __init__(self, application: ServedApplication, listening: socket.socket) -> None:
        self.application, self._listening = application, listening
        self.budget = application.budget
        self.loop: asyncio.AbstractEventLoop = None  # type: ignore[assignment]
        self.most = most_connections()
        self._connections: set[Connection] = set()
        self._hurry = False
        self._date: Headers = []
        self._json_head = b""

    # --- what connections ask ---

    def now(self) -> float:
        """Seconds, by the clock of the loop."""
        return self.loop.time()

    def json_head(self) -> bytes:
        """Status line and fields that all good answers of JSON have."""
        return self._json_head

    def date_field(self) -> Headers:
        """The date, which changes once a second."""
        return self._date

    def admit(self, connection: Connection) -> bool:
        """Take a client in; where there are too many, those make room that have been idle the longest."""
        if len(self._connections) >= self.most and not self._make_room():
            return False
        self._connections.add(connection)
        return True

    def leave(self, connection: Connection) -> None:
        """A client is gone."""
        self._connections.discard(connection)

    def _make_room(self) -> bool:
        """Drop idle connections of the address that has most of them: it cannot keep others out."""
        idle = [connection for connection in self._connections if connection.idle]
        by_address = Counter(_address(connection) for connection in idle)
        if not by_address:
            return False
        ((address, _),) = by_address.most_common(1)
        oldest = sorted((c for c in idle if _address(c) == address), key=lambda connection: connection.since)
        for connection in oldest[: max(1, self.most // _AT_A_TIME)]:
            self._connections.discard(connection)
            connection.transport.abort()
        return True

    def take(self, connection: Connection, size: int) -> bool:
        """Bytes of the budget for a body; half requests make room, those first whose last byte came longest ago."""
        while not self.budget.take(size):
            half = [other for other in self._connections if other.half and other is not connection]
            if not half:
                return False
            min(half, key=lambda other: other.touched).give_up_half()
        connection.touched = self.now()
        return True

    # --- running ---

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            self.loop.add_signal_handler(number, self._told_to_stop, stop)
        self._tick()
        await self.application.start()
        try:
            server = await self.loop.create_server(lambda: Connection(self), sock=self._listening, backlog=2048)
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _SWEEP)
                self._sweep()
            server.close()
            await self._end_connections()
        finally:
            await self.application.stop()

    def _told_to_stop(self, stop: asyncio.Event) -> None:
        """End soon; told twice, without waiting for requests under way."""
        self._hurry = stop.is_set()
        stop.set()

    async def _end_connections(self) -> None:
        """Let requests under way end, for a while."""
        for connection in list(self._connections):
            connection.end()
        until = self.now() + _GRACE
        while any(not c.idle for c in self._connections) and self.now() < until and not self._hurry:
            await asyncio.sleep(0.02)
            self._tick()
        for connection in list(self._connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    def _sweep(self) -> None:
        self._tick()
        now = self.now()
        for connection in list(self._connections):
            connection.sweep(now, self.application.settings.timeout)

    def _tick(self) -> None:
        self._date = [(b"date", formatdate(usegmt=True).encode())]
        lines = b"".join(b"%s: %s\r\n" % pair for pair in (*self._date, *JSON_HEADERS))
        self._json_head = b"HTTP/1.1 200 OK\r\n" + lines


def most_connections() -> int:
    """Connections that may be open: as many files as the system lets us have, less those that we need ourselves."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if most == resource.RLIM_INFINITY else min(most, _CONNECTIONS)
    if now != resource.RLIM_INFINITY and now < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            now = wanted
    allowed = _CONNECTIONS if now == resource.RLIM_INFINITY else min(now, _CONNECTIONS)
    return max(allowed - _RESERVED, 16)


def _address(connection: Connection) -> str:
    return connection.client[0] if connection.client else ""


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Uvloop's event loop, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
