"""spamd's protocol, rspamd's ``POST /checkv2`` and Prometheus figures, over TCP and unix sockets.

One event loop reads and answers; learning is handed to one thread, which commits what has gathered while it was busy in
one transaction, and every client hears of its message after that commit. A failure of ours is answered as a failure,
never as a verdict.
"""

import asyncio
import itertools
import os
import resource
import signal
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallywise._byte_budget import ByteBudget
from tallywise._prometheus import CONTENT_TYPE, family, page
from tallywise.spam import milter, rspamd, spamd
from tallywise.spam.client_connection import ClientConnection, Request
from tallywise.spam.filter import SpamFilter
from tallywise.spam.users import OddName, Users
from tallywise.spam.verdict import Label, Verdict

_OTHER_FILES = 64  # open files beside connections and filters of users, which have three each
_FILES_OF_A_FILTER = 3


@dataclass(frozen=True)
class Limits:
    """What one client may take up, and what all of them may.

    Attributes
    ----------
    message : int
        Bytes of a message.
    seconds : float
        Time for a request.
    connections : int
        Clients at the same time; fewer where the system allows fewer open files.
    users : int
        Filters of users that stay open.
    under_way : int
        Bytes of all requests and answers that are under way.
    """

    message: int = 64 << 20
    seconds: float = 60.0
    connections: int = 500
    users: int = 32
    under_way: int = 256 << 20


class SpamServer:
    r"""A server over one filter.

    Parameters
    ----------
    mail : SpamFilter
        The filter; closed with the server.
    users : path, optional
        Folder of the filters of users, by the ``User`` header of a request.
    limits : Limits
        What one client may take up, and what all of them may.
    options : dict, optional
        Parameters of the filters of users.
    manner : Manner, optional
        Shadow mode, reasons in the header, and whether milters refuse spam.

    Examples
    --------
    >>> import asyncio
    >>> from tallywise.spam import SpamFilter
    >>> from tallywise.spam.server import SpamServer
    >>> async def ping():
    ...     server = SpamServer(SpamFilter())
    ...     port = await server.listen("127.0.0.1", 0)
    ...     reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ...     writer.write(b"PING SPAMC/1.5\r\n\r\n")
    ...     answer = await reader.read()
    ...     writer.close()
    ...     await server.close()
    ...     return answer
    >>> asyncio.run(ping())
    b'SPAMD/1.5 0 PONG\r\n'
    """

    def __init__(
        self,
        mail: SpamFilter,
        *,
        users: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        options: dict[str, Any] | None = None,
        manner: spamd.Manner | None = None,
    ) -> None:
        self.manner = manner or spamd.Manner()
        self.limits = limits or Limits()
        self.most, self.time_limit = self.limits.message, self.limits.seconds  # of one client
        self._users = Users(mail, None if users is None else Path(users), self.limits.users, options or {})
        self._bytes = ByteBudget(self.limits.under_way)
        self._most_clients = min(self.limits.connections, _connections_possible(self.limits.users))
        self._servers: list[asyncio.Server] = []
        self._sockets: list[Path] = []
        self._waiting: asyncio.Queue[tuple[SpamFilter, bytes, Label | None, asyncio.Future[Any]]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._answers: set[asyncio.Task[Any]] = set()
        self._milters: set[asyncio.StreamWriter] = set()
        self._clients: dict[ClientConnection, None] = {}  # the oldest first
        self.counts: Counter[tuple[str, str]] = Counter()
        self.seconds = 0.0
        self._started = time.time()

    async def listen(self, host: str, port: int) -> int:
        """Listen on TCP; returns the port, for those who asked for any (0)."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ClientConnection(self), host, port, backlog=1024)
        self._begin(server)
        return int(server.sockets[0].getsockname()[1])

    async def listen_unix(self, path: str | os.PathLike[str], mode: int = 0o660) -> None:
        """Listen on a unix socket; one that nobody listens on any more is replaced."""
        place = Path(path)
        if place.exists():
            if not stat.S_ISSOCK(place.stat().st_mode):
                msg = f"{place} is there and is no socket"
                raise OSError(msg)
            try:
                _, writer = await asyncio.open_unix_connection(os.fspath(place))
            except OSError:
                place.unlink()
            else:
                writer.close()
                msg = f"{place} is in use by another server"
                raise OSError(msg)
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: ClientConnection(self), os.fspath(place), backlog=1024)
        place.chmod(mode)
        self._sockets.append(place)
        self._begin(server)

    async def listen_milter(self, host: str, port: int) -> int:
        """Listen for mail servers that speak the milter protocol; returns the port."""
        server = await asyncio.start_server(self._milter, host, port, backlog=1024)
        self._begin(server)
        return int(server.sockets[0].getsockname()[1])

    async def _milter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._milters) >= self._most_clients:
            writer.close()
            return
        session = milter.Session(
            self._judged, self.limits.message, reject=self.manner.reject, shadow=self.manner.shadow
        )
        self._milters.add(writer)
        try:
            await milter.speak(session, reader, writer, self._bytes, milter.PATIENCE)
        except milter.MilterError:
            self.failed("protocol")
        finally:
            self._milters.discard(writer)

    def _judged(self, raw: bytes) -> tuple[Verdict, str]:
        self.counts["requests", "milter"] += 1
        mail = self._users.shared
        try:
            return mail.classify(raw, self.manner.reasons), mail.model
        except Exception:
            self.failed("internal")
            raise

    def _begin(self, server: asyncio.Server) -> None:
        self._servers.append(server)
        if not self._tasks:
            for work in (self._write(), self._look()):
                self._tasks.add(asyncio.create_task(work))

    async def close(self) -> None:
        """Stop listening, finish what was taken on, and close the filter."""
        for server in self._servers:
            server.close()
        for client in [client for client in self._clients if client.silent]:
            client.drop()
        for writer in list(self._milters):
            writer.close()
        while self._clients or self._answers:
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._users.close()
        for place in self._sockets:
            place.unlink(missing_ok=True)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await stop.wait()
        await self.close()

    # --- learning ---

    async def _write(self) -> None:
        """The one writer: what has gathered is done together, and acknowledged after its commit."""
        while True:
            jobs = [await self._waiting.get()]
            while not self._waiting.empty() and len(jobs) < 500:
                jobs.append(self._waiting.get_nowait())
            results = await asyncio.to_thread(_done_together, [(mail, raw, label) for mail, raw, label, _ in jobs])
            for (_, _, _, done), result in zip(jobs, results, strict=True):
                if done.cancelled():
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(1)
            try:
                await self._users.refresh()
            except Exception:  # a locked or damaged file is said to those who ask for it
                self.failed("refresh")

    # --- clients ---

    def admitted(self, connection: ClientConnection) -> bool:
        """Whether there is room for one more client, which is counted from now on."""
        self._clients[connection] = None
        if len(self._clients) <= self._most_clients:
            return True
        # Many that send nothing must not keep out one that does: who has waited longest without a byte makes room, or
        # else with half a request.
        waiting = [client for client in self._clients if client.silent and client is not connection]
        slowest = next((client for client in waiting if not client.held), waiting[0] if waiting else None)
        if slowest is not None:
            slowest.drop()
        return slowest is not None

    def holds(self, connection: ClientConnection, size: int) -> bool:
        """Whether a client may hold `size` bytes from now on; larger half requests of others make room for it."""
        if size <= connection.held:
            self._bytes.give_back(connection.held - size)
            connection.held = size
            return True
        while not self._bytes.take(size - connection.held):
            largest = max(self._clients, key=lambda client: client.held if client.silent else 0, default=connection)
            if largest is connection or not largest.silent or largest.held <= size:
                return False
            self.failed("no room")
            largest.put_off()
        connection.held = size
        return True

    def gone(self, connection: ClientConnection) -> None:
        """A client that was counted is gone."""
        self._clients.pop(connection, None)

    def failed(self, kind: str) -> None:
        """Count a request that got no answer, or an error for one."""
        self.counts["errors", kind] += 1

    def answer(self, request: Request, done: Callable[[bytes], None]) -> None:
        """Answer a request: at once, or after a file was opened or a commit."""
        start = time.perf_counter()
        answer = self._tried(request, lambda: self._begun(request, done))
        self.seconds += time.perf_counter() - start
        if answer is not None:
            done(answer)

    def _tried(self, request: Request, work: Callable[[], bytes | None]) -> bytes | None:
        try:
            return work()
        except spamd.Refused as error:
            self.failed("protocol")
            return error.answer
        except OddName as error:
            self.failed("protocol")
            http = isinstance(request, rspamd.Request)
            odd: spamd.Refused = rspamd.HttpError(400, str(error)) if http else spamd.no_user(str(error))
            return odd.answer
        except Exception as error:
            return self._our_failure(request, error)

    def _begun(self, request: Request, done: Callable[[bytes], None]) -> bytes | None:
        name, learns = self._users.name(request.user), request.learns
        mail = self._users.ready(name)
        if mail is not None:
            return self._answer(request, mail, name, done)
        assert name is not None
        self._later(self._opened_and_answered(request, name, learns, done))
        return None

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _opened_and_answered(
        self, request: Request, name: str, learns: bool, done: Callable[[bytes], None]
    ) -> None:
        """Answer a request to the filter of a user that is not open; only what is learned makes a file."""
        try:
            mail = await self._users.opened(name, create=learns)
        except Exception as error:
            done(self._our_failure(request, error))
            return
        answer = self._tried(request, lambda: self._answer(request, mail, name, done))
        if answer is not None:
            done(answer)

    def _answer(
        self, request: Request, mail: SpamFilter | None, name: str | None, done: Callable[[bytes], None]
    ) -> bytes | None:
        """The answer of a user's filter, or of the shared one where the user has none."""
        if isinstance(request, rspamd.Request):
            return self._http(request, mail or self._users.shared)
        self.counts["requests", request.command] += 1
        if request.command != "TELL":
            return spamd.answer(request, mail or self._users.shared, self.manner)
        if mail is None:  # nothing was learned, so there is nothing to forget
            return spamd.tell_answer(request, "")
        self._users.keep_open(name)
        self._later(self._told(request, mail, name, done))
        return None

    def _our_failure(self, request: Request, error: Exception) -> bytes:
        self.failed("internal")
        why = f"{type(error).__name__}: {error}"
        refused = rspamd.HttpError(500, why) if isinstance(request, rspamd.Request) else spamd.our_failure(why)
        return refused.answer

    async def _told(
        self, request: spamd.Request, mail: SpamFilter, name: str | None, done: Callable[[bytes], None]
    ) -> None:
        """Learn or forget, and answer after the commit."""
        label = request.label
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((mail, request.message, label, outcome))
        try:
            result = await outcome
        except Exception as error:
            done(self._our_failure(request, error))
            return
        finally:
            self._users.let_go(name)
        if label is None:
            done(spamd.tell_answer(request, "DidRemove" if result.found else ""))
        else:
            self.counts["learned", result.outcome] += 1
            done(spamd.tell_answer(request, "DidSet" if result.outcome in ("learned", "replaced") else ""))

    def _http(self, request: rspamd.Request, mail: SpamFilter) -> bytes:
        name = f"{request.method} {request.path}"
        self.counts["requests", name if request.path in rspamd.PATHS else "other"] += 1
        if name == "GET /ping":
            return rspamd.http_answer(200, b"pong\r\n", "text/plain")
        if name == "GET /metrics":
            return rspamd.http_answer(200, self.metrics().encode(), CONTENT_TYPE)
        if not request.checks:
            raise rspamd.HttpError(404, "POST /checkv2, GET /ping and GET /metrics are here")
        return rspamd.check_answer(mail.classify(request.message, 10), mail.model, self.manner)

    def metrics(self) -> str:
        """Figures for Prometheus."""
        mail = self._users.shared
        counted = {"requests": "command", "errors": "kind", "learned": "outcome"}
        totals = [
            family(f"tallywise_spam_{kind}_total", "counter", *self._counted(kind, label))
            for kind, label in counted.items()
        ]
        messages = zip(("spam", "ham"), mail.counts(), strict=True)
        gauges = {
            "exact": int(mail.exact),
            "connections": len(self._clients),
            "bytes_under_way": self._bytes.taken,
            "start_time_seconds": round(self._started),
        }
        return page(
            *totals,
            family("tallywise_spam_seconds_total", "counter", ({}, self.seconds)),
            family("tallywise_spam_messages", "gauge", *(({"label": name}, count) for name, count in messages)),
            *(family(f"tallywise_spam_{name}", "gauge", ({}, value)) for name, value in gauges.items()),
        )

    def _counted(self, kind: str, label: str) -> list[tuple[dict[str, str], int]]:
        return [({label: name}, count) for (of, name), count in sorted(self.counts.items()) if of == kind]


def _done_together(jobs: list[tuple[SpamFilter, bytes, Label | None]]) -> list[Any]:
    """Learn or forget (no label) in order; neighbours that learn in one filter share a transaction."""
    results: list[Any] = []
    for (mail, learns), group in itertools.groupby(jobs, key=lambda job: (job[0], job[2] is not None)):
        messages = [(raw, label) for _, raw, label in group]
        try:
            if learns:
                results += mail.learn_many([(raw, label or "ham") for raw, label in messages], source="spamd")
            else:
                results += [mail.forget(raw) for raw, _ in messages]
        except Exception as error:
            results += [error] * (len(jobs[: len(results) + len(messages)]) - len(results))
    return results


def _connections_possible(users: int) -> int:
    """How many connections the system's limit on open files leaves."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = soft == resource.RLIM_INFINITY
    return sys.maxsize if unlimited else max(1, soft - _OTHER_FILES - _FILES_OF_A_FILTER * users)
