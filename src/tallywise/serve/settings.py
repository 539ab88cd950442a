"""What a service is told when it starts."""

import getpass
import ipaddress
import re
from dataclasses import dataclass, field

from tallywise.errors import TallywiseError


class SettingsError(TallywiseError, ValueError):
    """Settings that do not go together."""


@dataclass(frozen=True)
class Settings:
    """Address, tokens and limits.

    Parameters
    ----------
    host, port : str, int
        Where to listen.
    token, reader_token : str, optional
        Who sends `token` may do everything; `reader_token` may classify and read. Needed off the loopback.
    hosts : tuple of str
        Names beside `host` by which the service may be called.
    max_body, max_upload : int
        Bytes of a request, and of an uploaded file.
    max_batch : int
        Texts in a request.
    max_waiting : int
        Requests under way at a time, single classifications not counted.
    timeout : float
        Seconds for a request.
    record : bool
        Keep every text that is classified, for History.
    model, time_limit : str, float
        What background fits try, and how long.
    root_path : str
        Prefix of the addresses at which a proxy shows the service, such as "/tally".
    trust_proxy : bool
        Take a client's address from the last entry of X-Forwarded-For, which the proxy before the service writes.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    reader_token: str | None = None
    hosts: tuple[str, ...] = ()
    max_body: int = 8 << 20
    max_upload: int = 256 << 20
    max_batch: int = 10_000
    max_waiting: int = 256
    timeout: float = 60.0
    record: bool = False
    model: str = "auto"
    time_limit: float = 60.0
    root_path: str = ""
    trust_proxy: bool = False
    user: str = field(default_factory=lambda: _user())

    def __post_init__(self) -> None:
        if self.root_path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", self.root_path):
            msg = f"--root-path must be like /tally: letters, digits and ._~- between slashes. Got {self.root_path!r}."
            raise SettingsError(msg)
        if not self.local and not self.token:
            msg = f"Listening on {self.host} lets other machines in: give a --token that they must send."
            raise SettingsError(msg)
        if self.reader_token and not self.token:
            msg = "A --reader-token needs a --token beside it: without one everybody may do everything."
            raise SettingsError(msg)
        for token in (self.token, self.reader_token):
            if token is not None and (len(token) < 8 or not token.isascii() or not token.isprintable() or " " in token):
                msg = "A token must have at least 8 printable ASCII characters and no spaces."
                raise SettingsError(msg)
        if self.token is not None and self.token == self.reader_token:
            msg = "--token and --reader-token must differ."
            raise SettingsError(msg)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def own_path(self, path: str) -> str:
        """A path without the prefix, which proxies pass on or take away."""
        root = self.root_path
        return path[len(root) :] or "/" if root and (path == root or path.startswith(f"{root}/")) else path

    @property
    def known_hosts(self) -> frozenset[str]:
        """Names in a Host header that are ours; a page of another name that resolves to us is not."""
        wild = self.host in ("0.0.0.0", "::")
        own = () if wild else (self.host.strip("[]").lower(),)
        return frozenset({"localhost", "127.0.0.1", "::1", *own, *(host.lower() for host in self.hosts)})


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"
