"""What mail servers ask of rspamd over HTTP, ``POST /checkv2``; `server` answers it beside spamd's protocol."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tallywise.spam import spamd
from tallywise.spam.marking import FIELD, REASON_FIELD, fields, scaled
from tallywise.spam.verdict import Verdict

PATHS = ("/ping", "/metrics", "/checkv2", "/check")
_WORDS = {200: "OK", 404: "Not Found", 411: "Length Required", 413: "Payload Too Large", 503: "Service Unavailable"}


class HttpError(spamd.Refused):
    """A request over HTTP that is not answered."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code

    @property
    def answer(self) -> bytes:
        """What the client is told."""
        return http_answer(self.code, json.dumps({"error": str(self)}).encode())


@dataclass
class Request:
    """One request over HTTP."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    message: bytes = b""
    lines: int = 0

    @property
    def checks(self) -> bool:
        """Whether it asks for a verdict."""
        return self.method == "POST" and self.path in ("/checkv2", "/check")

    learns = False  # not over this protocol

    @property
    def user(self) -> str | None:
        """Whose filter is asked; None for the shared one."""
        return (self.headers.get("deliver-to") or self.headers.get("user")) if self.checks else None

    def take(self, line: bytes) -> None:
        """Take in one header line."""
        name, _, value = line.decode("latin-1").partition(":")
        self.lines += 1
        if self.lines > spamd.MOST_HEADERS:
            raise HttpError(431, "too many header lines")
        name, value = name.strip().lower(), value.strip()
        if name == "transfer-encoding" or (name == "content-length" and self.headers.get(name, value) != value):
            raise HttpError(400, "the length of the message is said in one way, by Content-Length")
        self.headers[name] = value

    def length(self, most: int) -> int:
        """Bytes that follow."""
        if not self.checks:
            return 0
        text = self.headers.get("content-length", "")
        if not (text.isascii() and text.isdigit()):
            raise HttpError(411, "Content-Length is missing")
        if len(text) > 12 or int(text) > most:
            raise HttpError(413, f"the message is larger than {most} bytes")
        return int(text)

    def put(self, message: bytes, most: int) -> None:
        """Take in the message."""
        self.message = message


def first_line(line: bytes) -> Request:
    """The request that a first line begins."""
    method, _, rest = line.decode("latin-1").partition(" ")
    return Request(method, rest.split(" ")[0].split("?")[0])


def check_answer(verdict: Verdict, model: str, manner: spamd.Manner) -> bytes:
    """The answer to a check."""
    lines = [] if manner.shadow else fields(verdict, model)
    verdict = verdict.silent if manner.shadow else verdict
    return http_answer(200, json.dumps(told(verdict, lines if manner.reasons else lines[:1])).encode())


def told(verdict: Verdict, lines: Sequence[str] = ()) -> dict[str, Any]:
    """A verdict in the words of rspamd: reject spam, let all else pass; `lines` are put into the header."""
    headers = dict(line.split(": ", 1) for line in lines)
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
        # 0: every field of the name that came with the message is a forged one, and goes
        "milter": {
            "remove_headers": {name: 0 for name in (FIELD, REASON_FIELD) if lines},
            "add_headers": {name: {"value": value, "order": 0} for name, value in headers.items()},
        },
    }


def http_answer(code: int, body: bytes, kind: str = "application/json") -> bytes:
    """An answer over HTTP."""
    word = _WORDS.get(code, "Error")
    head = f"HTTP/1.1 {code} {word}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
