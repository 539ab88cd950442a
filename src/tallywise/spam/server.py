"""spamd's protocol, rspamd's ``POST /checkv2`` and Prometheus figures, over TCP and unix sockets.

One event loop reads and answers; learning is handed to one thread, which commits what has gathered while it was busy in
one transaction, and every client hears of its message after that commit. A failure of ours is answered as a failure,
never as a verdict.
"""

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import stat
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallywise.spam import spamd
from tallywise.spam.filter import SpamFilter
from tallywise.spam.marking import scaled
from tallywise.spam.verdict import Label, Verdict

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
        self._users = Users(mail, None if users is None else Path(users), self.limits.users, options or {})
        self._servers: list[asyncio.Server] = []
        self._sockets: list[Path] = []
        self._waiting: asyncio.Queue[tuple[SpamFilter, bytes, Label | None, asyncio.Future[Any]]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._busy = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.seconds = 0.0
        self._started = time.time()

    async def listen(self, host: str, port: int) -> int:
        """Listen on TCP; returns the port, for those who asked for any (0)."""
        server = await asyncio.start_server(self._client, host, port, limit=1 << 16, backlog=1024)
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
        server = await asyncio.start_unix_server(self._client, os.fspath(place), limit=1 << 16, backlog=1024)
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
        while self._busy:
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

    async def _queue(self, mail: SpamFilter, raw: bytes, label: Label | None) -> Any:
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((mail, raw, label, done))
        return await done

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(1)
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self._users.refresh)

    # --- clients ---

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._busy += 1
        try:
            if self._busy > self.limits.connections:
                writer.write(spamd.error_answer(spamd.ProtocolError(75, "EX_TEMPFAIL", "too many connections")))
            else:
                async with asyncio.timeout(self.limits.seconds):
                    writer.write(await self._serve(reader))
                    await writer.drain()
                    await _read_out(reader, writer)
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            self.counts["errors", "client"] += 1
        finally:
            self._busy -= 1
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader) -> bytes:
        start = time.perf_counter()
        try:
            line = await self._line(reader)
            if line.rstrip().endswith((b"HTTP/1.1", b"HTTP/1.0")):
                return await self._http(line, reader)
            request = spamd.first_line(line)
            while (line := await self._line(reader)).strip():
                spamd.header_line(request, line)
            if request.command not in ("PING", "SKIP"):
                body = await self._body(reader, request.length)
                request.message = spamd.unpacked(request, body, self.limits.message)
            answer = await self._answer(request)
        except spamd.ProtocolError as error:
            self.counts["errors", "protocol"] += 1
            return spamd.error_answer(error)
        except (ConnectionError, asyncio.IncompleteReadError):
            raise
        except Exception as error:
            self.counts["errors", "internal"] += 1
            return spamd.error_answer(spamd.ProtocolError(75, "EX_TEMPFAIL", f"{type(error).__name__}: {error}"))
        self.seconds += time.perf_counter() - start
        return answer

    async def _answer(self, request: spamd.Request) -> bytes:
        self.counts["requests", request.command] += 1
        mail = self._users.of(request.headers.get("user"))
        if request.command != "TELL":
            return spamd.answer(request, mail)
        label = spamd.tell_wants(request)
        if label is None:
            forgotten = await self._queue(mail, request.message, None)
            return spamd.tell_answer(request, "DidRemove" if forgotten.found else "")
        learned = await self._queue(mail, request.message, label)
        self.counts["learned", learned.outcome] += 1
        return spamd.tell_answer(request, "DidSet" if learned.outcome in ("learned", "replaced") else "")

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            raise spamd.ProtocolError(76, "EX_PROTOCOL", "a header line is too long") from error
        except asyncio.IncompleteReadError as error:
            line = error.partial
        if len(line) > spamd.LONGEST_LINE:
            raise spamd.ProtocolError(76, "EX_PROTOCOL", "a header line is too long")
        return line

    async def _body(self, reader: asyncio.StreamReader, length: int | None) -> bytes:
        """So many bytes, or all until the client closes; fewer than it said is an error, and nothing is judged."""
        most = self.limits.message
        if length is not None and length > most:
            raise spamd.ProtocolError(65, "EX_DATAERR", f"the message is larger than {most} bytes")
        parts: list[bytes] = []
        size = 0
        while length is None or size < length:
            part = await reader.read(1 << 16 if length is None else min(1 << 16, length - size))
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > most:
                raise spamd.ProtocolError(65, "EX_DATAERR", f"the message is larger than {most} bytes")
        if length is not None and size < length:
            raise spamd.ProtocolError(76, "EX_PROTOCOL", f"Content-length says {length} bytes, {size} came")
        return b"".join(parts)

    # --- HTTP ---

    async def _http(self, line: bytes, reader: asyncio.StreamReader) -> bytes:
        method, _, rest = line.decode("latin-1").partition(" ")
        path = rest.split(" ")[0].split("?")[0]
        headers: dict[str, str] = {}
        lines = 0
        while (field := await self._line(reader)).strip():
            name, _, value = field.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
            lines += 1
            if lines > spamd.MOST_HEADERS:
                return _http_answer(431, b'{"error": "too many header lines"}')
        self.counts["requests", f"{method} {path}" if path in _PATHS else "other"] += 1
        if (method, path) == ("GET", "/ping"):
            return _http_answer(200, b"pong\r\n", "text/plain")
        if (method, path) == ("GET", "/metrics"):
            return _http_answer(200, self.metrics().encode(), "text/plain; version=0.0.4")
        if method != "POST" or path not in ("/checkv2", "/check"):
            return _http_answer(404, b'{"error": "POST /checkv2, GET /ping and GET /metrics are here"}')
        length = headers.get("content-length", "")
        if not length.isdigit() or int(length) > self.limits.message:
            return _http_answer(
                413 if length.isdigit() else 411, b'{"error": "Content-Length is missing or too large"}'
            )
        message = await self._body(reader, int(length))
        try:
            mail = self._users.of(headers.get("deliver-to") or headers.get("user"))
            verdict = mail.classify(message, 10)
        except Exception as error:
            self.counts["errors", "internal"] += 1
            return _http_answer(500, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        return _http_answer(200, json.dumps(rspamd_answer(verdict)).encode())

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
            f"tallywise_spam_connections {self._busy}",
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


async def _read_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take what a refused client still sends, for a second at the most: closing on it would take the answer back."""
    if writer.can_write_eof():
        writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            while not reader.at_eof():
                await reader.read(1 << 16)


_PATHS = ("/ping", "/metrics", "/checkv2", "/check")


def _sample(name: str, label: str, value: str, count: int) -> str:
    return f'tallywise_spam_{name}_total{{{label}="{value}"}} {count}'


def rspamd_answer(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the words of rspamd: reject spam, mark what is unsure, let ham pass."""
    action = {"spam": "reject", "unsure": "no action", "ham": "no action"}[verdict.label]
    scale = 3.0  # rspamd rejects at 15 where spamd says 5
    found = {
        f"TALLY_{reason.view.upper()}_{number}": {
            "name": f"TALLY_{reason.view.upper()}_{number}",
            "score": round(scale * reason.adds, 3),
            "description": f"{reason.field}: {reason.text}" if reason.field else reason.text,
        }
        for number, reason in enumerate(verdict.reasons, 1)
    }
    return {
        "is_skipped": False,
        "score": round(scale * scaled(verdict), 3),
        "required_score": 15.0,
        "action": action,
        "symbols": {
            f"TALLY_{verdict.label.upper()}": {"name": f"TALLY_{verdict.label.upper()}", "score": 0.0},
            **found,
        },
        "messages": {},
        "milter": {"add_headers": {"X-Tally-Spam": {"value": verdict.label, "order": 0}}},
    }


def _http_answer(code: int, body: bytes, kind: str = "application/json") -> bytes:
    word = {200: "OK", 404: "Not Found", 411: "Length Required", 413: "Payload Too Large"}.get(code, "Error")
    head = f"HTTP/1.1 {code} {word}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
