"""Answers in JSON, and one shape for every error: ``{"error": {"status", "code", "message"}}``."""

import json
from typing import Any

Headers = list[tuple[bytes, bytes]]

JSON_HEADERS: Headers = [
    (b"content-type", b"application/json"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]
CODES = {
    400: "bad_request",
    401: "token_needed",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "wrong_content_type",
    422: "invalid",
    429: "too_many_requests",
    431: "too_large",
    500: "internal_error",
    503: "not_now",
    507: "no_room",
}


class ServiceError(Exception):
    """An error that the client is told; `field` is the one of a form that it is about."""

    def __init__(self, status: int, message: str, code: str | None = None, field: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field
        self.code = code or CODES[status]


def error_body(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The one shape of errors."""
    return {"error": {"status": status, "code": code or CODES.get(status, "error"), "message": message}}


def encode(document: Any) -> bytes:
    """JSON as it goes over the wire."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "backslashreplace"
    )


async def send_json(send: Any, status: int, document: Any, headers: Headers = []) -> None:  # noqa: B006
    """A whole answer."""
    await send_body(send, status, encode(document), headers)


async def send_body(send: Any, status: int, body: bytes, headers: Headers = []) -> None:  # noqa: B006
    """A whole answer whose JSON is made already."""
    own = [*JSON_HEADERS, (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Any, status: int, message: str, code: str | None = None) -> None:
    """An error; those that pass say when to come again."""
    headers: Headers = [(b"retry-after", b"1")] if status in (429, 503) else []
    if status == 401:
        headers = [(b"www-authenticate", b"Bearer")]
    await send_json(send, status, error_body(status, message, code), headers)
