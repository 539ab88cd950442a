"""Who may do what: Host and Origin, tokens, sessions in a cookie, and the token that every form carries."""

import base64
import hashlib
import hmac
import secrets
import time
from collections import deque
from typing import Any, NamedTuple

from tallywise.serve.answers import ServiceError
from tallywise.serve.settings import Settings

_SESSION_SECONDS = 14 * 86400
_CLOCK_SECONDS = 3600  # by which the clock may have been set back since a session began
_READING_POSTS = frozenset({"/classify", "/explain", "/flip", "/try"})
_OPEN = frozenset(
    {"/health", "/login", "/static/page.css", "/static/page.js", "/static/report.css", "/static/icon.svg"}
)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_FAILURES, _FAILURE_SECONDS = 10, 60.0

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


class Who(NamedTuple):
    """The one who asks."""

    role: str  # admin, reader, nobody
    name: str
    session: str = ""  # of the cookie; empty for those who send a token

    @property
    def may_change(self) -> bool:
        """Whether they may label and switch models."""
        return self.role == "admin"


def header(scope: Any, name: bytes) -> str:
    """A header's value, or nothing."""
    for key, value in scope["headers"]:
        if key == name:
            found: str = value.decode("latin-1")
            return found
    return ""


class Guard:
    """Checks each request before anything else sees it."""

    def __init__(self, settings: Settings, secret: bytes) -> None:
        self.settings, self._secret = settings, secret
        self._hosts = settings.known_hosts
        self._token = (settings.token or "").encode()
        self._reader = (settings.reader_token or "").encode()
        self._failures: deque[float] = deque(maxlen=_MOST_FAILURES)
        self.cookie = f"tally{settings.port}"
        self._good_hosts: set[bytes] = set()

    # --- a request ---

    def check(self, scope: Any) -> Who:
        """The one who asks, or a `ServiceError` that says why they may not."""
        host = origin = token = cookie = site = b""
        for key, value in scope["headers"]:
            if key == b"host":
                host = value
            elif key == b"origin":
                origin = value
            elif key == b"authorization":
                token = value
            elif key == b"cookie":
                cookie = value
            elif key == b"sec-fetch-site":
                site = value
        self._check_host(host)
        method = scope["method"]
        if origin and origin.rpartition(b"//")[2] != host:
            raise ServiceError(403, "Requests from pages of another origin are not taken.", "wrong_origin")
        if site == b"cross-site" and method not in _SAFE:
            raise ServiceError(403, "Requests from pages of another site are not taken.", "wrong_origin")
        who = self._who(token, cookie)
        path = scope["path"]
        if path in _OPEN:
            return who
        if who.role == "nobody":
            raise ServiceError(401, "Send the token as 'Authorization: Bearer ...', or log in at /login.")
        if who.role == "reader" and method not in _SAFE and path not in _READING_POSTS:
            raise ServiceError(403, "The reader's token may classify and read, not change anything.")
        return who

    def _check_host(self, host: bytes) -> None:
        if host in self._good_hosts:
            return
        name = host.decode("latin-1").lower()
        bare = name[1 : name.index("]")] if name.startswith("[") and "]" in name else name.rpartition(":")[0] or name
        if bare not in self._hosts:
            msg = "The Host header names no host of this service. Add it with --allow-host if it should."
            raise ServiceError(400, msg, "unknown_host")
        if len(self._good_hosts) < 100:
            self._good_hosts.add(host)

    def _who(self, authorization: bytes, cookie: bytes) -> Who:
        if authorization:
            scheme, _, sent = authorization.partition(b" ")
            role = self.role(sent.strip()) if scheme.lower() == b"bearer" else None
            if role is None:
                raise ServiceError(401, "The token is not right.")
            return Who(role, "service")
        session = self._session(cookie.decode("latin-1")) if cookie else None
        if session is not None:
            return session
        return Who("admin", self.settings.user) if not self._token else Who("nobody", "")

    def role(self, sent: bytes) -> str | None:
        """The role that a token stands for; without tokens everybody on this machine is trusted."""
        if not self._token:
            return "admin"
        is_admin = hmac.compare_digest(sent, self._token)
        is_reader = bool(self._reader) and hmac.compare_digest(sent, self._reader)
        return "admin" if is_admin else "reader" if is_reader else None

    # --- sessions ---

    def log_in(self, token: str, name: str) -> str:
        """A cookie's value for who knows a token; guesses are slowed down."""
        now = time.monotonic()
        while self._failures and now - self._failures[0] > _FAILURE_SECONDS:
            self._failures.popleft()
        if len(self._failures) == _MOST_FAILURES:
            raise ServiceError(429, "Too many wrong tokens. Wait a minute.")
        role = self.role(token.encode("utf-8", "replace"))
        if role is None:
            self._failures.append(now)
            raise ServiceError(401, "The token is not right.")
        shown = " ".join(name.split())[:60] or self.settings.user
        return self.new_session(role, shown)

    def new_session(self, role: str, name: str) -> str:
        """A cookie's value: who it is, until when, signed."""
        until = int(time.time()) + _SESSION_SECONDS
        shown = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")
        payload = f"{role}.{shown}.{until}.{secrets.token_urlsafe(12)}"
        return f"{payload}.{self._sign('session', payload)}"

    def _session(self, cookies: str) -> Who | None:
        for part in cookies.split(";"):
            name, _, value = part.strip().partition("=")
            if name != self.cookie:
                continue
            payload, _, signature = value.rpartition(".")
            pieces = payload.split(".")
            if len(pieces) != 4 or not hmac.compare_digest(signature, self._sign("session", payload)):
                return None
            role, shown, until, nonce = pieces
            left = int(until) - time.time()  # of a session that began while the clock was ahead, too much
            if not 0 <= left <= _SESSION_SECONDS + _CLOCK_SECONDS or (role == "reader" and not self._reader):
                return None
            return Who(role, base64.urlsafe_b64decode(shown + "=" * (-len(shown) % 4)).decode(), nonce)
        return None

    def set_cookie(self, value: str) -> str:
        """The header that sets the session."""
        return f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_SESSION_SECONDS if value else 0}"

    # --- forms ---

    def form_token(self, who: Who) -> str:
        """What every form of a session carries."""
        return self._sign("form", who.session)

    def check_form(self, who: Who, sent: str) -> None:
        """Refuse a form that no page of this session made."""
        if not who.session or not hmac.compare_digest(sent.encode(), self.form_token(who).encode()):
            raise ServiceError(403, "The form is not of this session. Load the page again.", "wrong_form_token")

    def _sign(self, purpose: str, payload: str) -> str:
        key = self._secret + self._token + self._reader  # a new token ends old sessions
        return hmac.new(key, f"{purpose}:{payload}".encode(), hashlib.sha256).hexdigest()
