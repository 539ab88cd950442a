"""Who may do what: Host and Origin, tokens, sessions in a cookie, and the token that every form carries."""

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tallywise.serve.answers import Headers, ServiceError
from tallywise.serve.settings import Settings

_SESSION_SECONDS = 14 * 86400
_CLOCK_SECONDS = 3600  # by which the clock may have been set back since a session began
_READING_POSTS = frozenset({"/classify", "/explain", "/flip", "/try", "/file", "/logout", "/theme"})
_OPEN = frozenset(
    {"/health", "/login", "/static/page.css", "/static/page.js", "/static/report.css", "/static/icon.svg"}
)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_FAILURES, _FAILURE_SECONDS = 10, 60.0
_MOST_ADDRESSES = 10_000  # whose wrong tokens are counted; the oldest are forgotten
_HOST = re.compile(rb"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/\s]+))(?::[0-9]{1,5})?")

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


def content_type(scope: Any) -> str:
    """What a request says that its body is."""
    return header(scope, b"content-type").partition(";")[0].strip().lower()


class AccessControl:
    """Checks each request before anything else sees it.

    Parameters
    ----------
    settings : Settings
        Names, tokens, and whether a proxy tells who its clients are.
    secret : bytes
        Key of signatures.
    ended : dict
        Sessions that were ended before their time, and when they would have ended by themselves.
    """

    def __init__(self, settings: Settings, secret: bytes, ended: Mapping[str, int] = MappingProxyType({})) -> None:
        self.settings, self._secret = settings, secret
        self._hosts = settings.known_hosts
        self._token, self._reader = _digest(settings.token), _digest(settings.reader_token)
        self.guesses = Guesses()
        self.ended = dict(ended)
        self.cookie = f"tally{settings.port}"
        self._good_hosts: set[bytes] = set()

    # --- a request ---

    def check(self, method: str, path: str, headers: Headers, client: tuple[str, int] | None) -> Who:
        """The one who asks, or a `ServiceError` that says why they may not."""
        host = origin = token = cookie = site = b""
        hosts = 0
        for key, value in headers:
            if key == b"host":
                host, hosts = value, hosts + 1
            elif key == b"origin":
                origin = value
            elif key == b"authorization":
                token = value
            elif key == b"cookie":
                cookie = value
            elif key == b"sec-fetch-site":
                site = value
        if hosts != 1 or host not in self._good_hosts:
            self._check_host(host, hosts)
        if origin and origin.rpartition(b"//")[2] != host:
            raise ServiceError(403, "Requests from pages of another origin are not taken.", "wrong_origin")
        if site == b"cross-site" and method not in _SAFE:
            raise ServiceError(403, "Requests from pages of another site are not taken.", "wrong_origin")
        who = self._who(token, cookie, headers, client)
        if path in _OPEN:
            return who
        if who.role == "nobody":
            raise ServiceError(401, "Send the token as 'Authorization: Bearer ...', or log in at /login.")
        if who.role == "reader" and method not in _SAFE and path not in _READING_POSTS:
            raise ServiceError(403, "The reader's token may classify and read, not change anything.")
        return who

    def _check_host(self, host: bytes, count: int) -> None:
        if count != 1:
            raise ServiceError(400, f"A request must have one Host header. Got {count}.", "unknown_host")
        found = _HOST.fullmatch(host.lower())
        if found is None or (found[1] or found[2]).decode() not in self._hosts:
            msg = "The Host header names no host of this service. Add it with --allow-host if it should."
            raise ServiceError(400, msg, "unknown_host")
        if len(self._good_hosts) < 100:
            self._good_hosts.add(host)

    def _who(self, authorization: bytes, cookie: bytes, headers: Headers, client: tuple[str, int] | None) -> Who:
        if authorization:
            scheme, _, sent = authorization.partition(b" ")
            guess = sent.strip() if scheme.lower() == b"bearer" else b""
            return Who(self._role(guess, self.address(headers, client)), "service")
        session = self._session(cookie) if cookie else None
        if session is not None:
            return session
        return Who("admin", self.settings.user) if not self._token else Who("nobody", "")

    def address(self, headers: Headers, client: tuple[str, int] | None) -> str:
        """Whose guesses these are: the client's address, or what a trusted proxy calls it."""
        if self.settings.trust_proxy:
            told = [value for name, value in headers if name == b"x-forwarded-for"]
            if told:
                return told[-1].rpartition(b",")[2].strip().decode("latin-1")[:64]
        return client[0] if client else ""

    def _role(self, sent: bytes, address: str) -> str:
        """The role that a token stands for; without tokens everybody on this machine is trusted."""
        if not self._token:
            return "admin"
        if not self.guesses.allowed(address):
            raise ServiceError(429, "Too many wrong tokens from this address. Wait a minute.")
        guess = _digest(sent)  # digests have one length: the time of a comparison tells nothing of a token
        is_admin = hmac.compare_digest(guess, self._token)
        is_reader = hmac.compare_digest(guess, self._reader or self._token)
        if not (is_admin or is_reader):
            self.guesses.wrong(address)
            raise ServiceError(401, "The token is not right.")
        return "admin" if is_admin else "reader"

    # --- sessions ---

    def log_in(self, token: str, name: str, address: str) -> str:
        """A cookie's value for who knows a token."""
        role = self._role(token.encode("utf-8", "replace"), address)
        shown = " ".join(name.split())[:60] or self.settings.user
        return self.new_session(role, shown)

    def new_session(self, role: str, name: str) -> str:
        """A cookie's value: who it is, until when, signed."""
        until = int(time.time()) + _SESSION_SECONDS
        shown = base64.urlsafe_b64encode(name.encode("utf-8", "replace")).decode().rstrip("=")
        payload = f"{role}.{shown}.{until}.{secrets.token_urlsafe(12)}"
        return f"{payload}.{self._sign('session', payload)}"

    def end_session(self, who: Who) -> None:
        """Let a session be no good any more, for whoever has its cookie."""
        now = int(time.time())
        self.ended = {nonce: until for nonce, until in self.ended.items() if until > now}
        self.ended[who.session] = now + _SESSION_SECONDS

    def _session(self, cookies: bytes) -> Who | None:
        for part in cookies.split(b";"):
            name, _, value = part.strip().partition(b"=")
            if name != self.cookie.encode():
                continue
            payload, _, signature = value.rpartition(b".")
            if not hmac.compare_digest(signature, self._sign("session", payload.decode("latin-1")).encode()):
                return None
            role, shown, until, nonce = payload.decode().split(".")
            left = int(until) - time.time()  # of a session that began while the clock was ahead, too much
            if not 0 <= left <= _SESSION_SECONDS + _CLOCK_SECONDS:
                return None
            if nonce in self.ended or (role == "reader" and not self._reader):
                return None
            return Who(role, base64.urlsafe_b64decode(shown + "=" * (-len(shown) % 4)).decode(), nonce)
        return None

    def set_cookie(self, value: str) -> str:
        """The header that sets the session."""
        age = _SESSION_SECONDS if value else 0
        path = self.settings.root_path or "/"
        return f"{self.cookie}={value}; Path={path}; HttpOnly; SameSite=Strict; Max-Age={age}"

    # --- forms ---

    def form_token(self, who: Who) -> str:
        """What every form of a session carries."""
        return self._sign("form", who.session)

    def check_form(self, who: Who, sent: str) -> None:
        """Refuse a form that no page of this session made."""
        if not who.session or not hmac.compare_digest(sent.encode("utf-8", "replace"), self.form_token(who).encode()):
            raise ServiceError(403, "The form is not of this session. Load the page again.", "wrong_form_token")

    def _sign(self, purpose: str, payload: str) -> str:
        key = self._secret + self._token + self._reader  # a new token ends old sessions
        return hmac.new(key, f"{purpose}:{payload}".encode(), hashlib.sha256).hexdigest()


class Guesses:
    """Wrong tokens by address: who sends too many has to wait, and nobody else.

    Examples
    --------
    >>> from tallywise.serve.access import Guesses
    >>> guesses = Guesses()
    >>> for _ in range(10):
    ...     guesses.wrong("192.0.2.7")
    >>> guesses.allowed("192.0.2.7"), guesses.allowed("192.0.2.8")
    (False, True)
    """

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def allowed(self, address: str) -> bool:
        """Whether a token of this address is looked at."""
        times = self._wrong.get(_network(address))
        return times is None or len(times) < _MOST_FAILURES or time.monotonic() - times[0] > _FAILURE_SECONDS

    def wrong(self, address: str) -> None:
        """Count a wrong token."""
        times = self._wrong.setdefault(_network(address), deque(maxlen=_MOST_FAILURES))
        times.append(time.monotonic())
        self._wrong.move_to_end(_network(address))
        while len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)


def _network(address: str) -> str:
    """What one client has: an IPv4 address, or 64 bits of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6:
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return address


def _digest(token: str | bytes | None) -> bytes:
    if not token:
        return b""
    return hashlib.sha256(token if isinstance(token, bytes) else token.encode()).digest()
