"""spamd's protocol, rspamd's ``POST /checkv2`` and Prometheus figures, over TCP and unix sockets.

One event loop reads and answers; learning is handed to one thread, which commits what has gathered while it was busy in
one transaction, and every client hears of its message after that commit. A failure of ours is answered as a failure,
never as a verdict.
"""

import asyncio
import contextlib
import itertools
import os
import re
import signal
import stat
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallywise.spam import rspamd, spamd
from tallywise.spam.connection import Connection, Request
from tallywise.spam.filter import SpamFilter
from tallywise.spam.verdict import Label

_USER = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}")


@dataclass(frozen=True)
class Limits:
    """What one client may take up."""

    message: int = 64 << 20
    seconds: float = 60.0
    connections: int = 500
    users: int = 32


class Users:
    """Filters of users, each in a file of a folder over the shared one; the ones used last stay open."""

    def __init__(self, shared: SpamFilter, folder: Path | None, most: int, options: dict[str, Any]) -> None:
        self.shared, self._folder, self._most, self._options = shared, folder, most, options
        self._open: OrderedDict[str, SpamFilter] = OrderedDict()

    def of(self, name: str | None) -> SpamFilter:
        """The filter of a user; the shared one where there is no folder or no such name."""
        if self._folder is None or not name or not _USER.fullmatch(name):
            return self.shared
        if name not in self._open:
            while len(self._open) >= self._most:
                self._open.popitem(last=False)[1].close()
            path = self._folder / f"{name}.spam"
            self._open[name] = SpamFilter(path, shared=self.shared, **self._options)
        self._open.move_to_end(name)
        return self._open[name]

    def refresh(self) -> None:
        """Take in what other processes wrote."""
        for mail in (self.shared, *self._open.values()):
            mail.refresh()

    def close(self) -> None:
        """Close all."""
        for mail in (*self._open.values(), self.shared):
            mail.close()


class SpamServer:
    r"""A server over one filter.

    Parameters
    ----------
    mail : SpamFilter
        The filter; closed with the server.
    users : path, optional
        Folder of the filters of users, by the ``User`` header of a request.
    limits : Limits
        What one client may take up.
    options : dict, optional
        Parameters of the filters of users.

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
    ) -> None:
        self.limits = limits or Limits()
        self.most, self.time_limit = self.limits.message, self.limits.seconds  # of one client
        self._users = Users(mail, None if users is None else Path(users), self.limits.users, options or {})
        self._servers: list[asyncio.Server] = []
        self._sockets: list[Path] = []
        self._waiting: asyncio.Queue[tuple[SpamFilter, bytes, Label | None, asyncio.Future[Any]]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._clients: dict[Connection, None] = {}  # the oldest first
        self.counts: Counter[tuple[str, str]] = Counter()
        self.seconds = 0.0
        self._started = time.time()

    async def listen(self, host: str, port: int) -> int:
        """Listen on TCP; returns the port, for those who asked for any (0)."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self), host, port, backlog=1024)
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
        server = await loop.create_unix_server(lambda: Connection(self), os.fspath(place), backlog=1024)
        place.chmod(mode)
        self._sockets.append(place)
        self._begin(server)

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
        while self._clients:
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._users.close)
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
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self._users.refresh)

    # --- clients ---

    def admitted(self, connection: Connection) -> bool:
        """Whether there is room for one more client, which is counted from now on."""
        self._clients[connection] = None
        if len(self._clients) <= self.limits.connections:
            return True
        # Many that send nothing must not keep out one that does: who has waited longest with half a request makes room.
        slowest = next((client for client in self._clients if client.silent and client is not connection), None)
        if slowest is not None:
            slowest.drop()
        return slowest is not None

    def gone(self, connection: Connection) -> None:
        """A client that was counted is gone."""
        self._clients.pop(connection, None)

    def failed(self, kind: str) -> None:
        """Count a request that got no answer, or an error for one."""
        self.counts["errors", kind] += 1

    def answer(self, request: Request, done: Callable[[bytes], None]) -> None:
        """Answer a request: at once, or, where something is learned or forgotten, after the commit."""
        start = time.perf_counter()
        try:
            answer = self._http(request) if isinstance(request, rspamd.Request) else self._spamd(request, done)
        except spamd.Refused as error:
            self.failed("protocol")
            answer = error.answer
        except Exception as error:
            answer = self._our_failure(request, error)
        self.seconds += time.perf_counter() - start
        if answer is not None:
            done(answer)

    def _our_failure(self, request: Request, error: Exception) -> bytes:
        self.failed("internal")
        why = f"{type(error).__name__}: {error}"
        refused = rspamd.HttpError(500, why) if isinstance(request, rspamd.Request) else spamd.our_failure(why)
        return refused.answer

    def _spamd(self, request: spamd.Request, done: Callable[[bytes], None]) -> bytes | None:
        self.counts["requests", request.command] += 1
        mail = self._users.of(request.headers.get("user"))
        if request.command != "TELL":
            return spamd.answer(request, mail)
        label = spamd.tell_wants(request)

        def told(outcome: "asyncio.Future[Any]") -> None:
            error = outcome.exception()
            if isinstance(error, Exception):
                done(self._our_failure(request, error))
            elif label is None:
                done(spamd.tell_answer(request, "DidRemove" if outcome.result().found else ""))
            else:
                word = outcome.result().outcome
                self.counts["learned", word] += 1
                done(spamd.tell_answer(request, "DidSet" if word in ("learned", "replaced") else ""))

        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        outcome.add_done_callback(told)
        self._waiting.put_nowait((mail, request.message, label, outcome))
        return None

    def _http(self, request: rspamd.Request) -> bytes:
        name = f"{request.method} {request.path}"
        self.counts["requests", name if request.path in rspamd.PATHS else "other"] += 1
        if name == "GET /ping":
            return rspamd.http_answer(200, b"pong\r\n", "text/plain")
        if name == "GET /metrics":
            return rspamd.http_answer(200, self.metrics().encode(), "text/plain; version=0.0.4")
        if not request.checks:
            raise rspamd.HttpError(404, "POST /checkv2, GET /ping and GET /metrics are here")
        mail = self._users.of(request.headers.get("deliver-to") or request.headers.get("user"))
        return rspamd.check_answer(mail.classify(request.message, 10))

    def metrics(self) -> str:
        """Figures for Prometheus."""
        mail = self._users.shared
        stats = dict(zip(("spam", "ham"), mail.counts(), strict=True))
        lines = ["# TYPE tallywise_spam_requests_total counter"]
        lines += [_sample("requests", "command", n, v) for (k, n), v in sorted(self.counts.items()) if k == "requests"]
        lines.append("# TYPE tallywise_spam_errors_total counter")
        lines += [_sample("errors", "kind", n, v) for (k, n), v in sorted(self.counts.items()) if k == "errors"]
        lines.append("# TYPE tallywise_spam_learned_total counter")
        lines += [_sample("learned", "outcome", n, v) for (k, n), v in sorted(self.counts.items()) if k == "learned"]
        lines += [
            "# TYPE tallywise_spam_seconds_total counter",
            f"tallywise_spam_seconds_total {self.seconds:.6f}",
            "# TYPE tallywise_spam_messages gauge",
            *(f'tallywise_spam_messages{{label="{name}"}} {count}' for name, count in stats.items()),
            "# TYPE tallywise_spam_exact gauge",
            f"tallywise_spam_exact {int(mail.exact)}",
            "# TYPE tallywise_spam_connections gauge",
            f"tallywise_spam_connections {len(self._clients)}",
            "# TYPE tallywise_spam_start_time_seconds gauge",
            f"tallywise_spam_start_time_seconds {self._started:.0f}",
        ]
        return "\n".join(lines) + "\n"


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


def _sample(name: str, label: str, value: str, count: int) -> str:
    return f'tallywise_spam_{name}_total{{{label}="{value}"}} {count}'
