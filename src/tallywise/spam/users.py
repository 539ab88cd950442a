"""Filters of users: each in a file of one folder, over a filter that all of them share."""

import asyncio
import re
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tallywise._private_files import private_folder
from tallywise.spam.filter import SpamFilter

# Names of files on any file system; what else may stand before the @ of an address is refused.
_NAME = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}")


class OddName(ValueError):
    """A user's name that cannot be that of a file."""


class Users:
    """The filters used last stay open; files are opened, refreshed and closed by one thread beside the event loop.

    Parameters
    ----------
    shared : SpamFilter
        The filter of all users.
    folder : path, optional
        Folder of the files; None where users have no filters of their own.
    most : int
        Filters that stay open.
    options : dict
        Parameters of the filters.
    """

    def __init__(self, shared: SpamFilter, folder: Path | None, most: int, options: dict[str, Any]) -> None:
        self.shared, self._folder, self._most, self._options = shared, folder, most, options
        self._open: OrderedDict[str, SpamFilter] = OrderedDict()
        self._busy: Counter[str] = Counter()
        self._one_at_a_time = asyncio.Lock()
        self._files = ThreadPoolExecutor(1, "tallywise-spam-users")
        if folder is not None:
            private_folder(folder)

    def name(self, given: str | None) -> str | None:
        """The user that a client names; None for the shared filter."""
        if self._folder is None or given is None:
            return None
        if not _NAME.fullmatch(given):
            msg = f"a user's name has letters, digits and . _ @ + - only, not {given[:40]!r}"
            raise OddName(msg)
        return given

    def ready(self, name: str | None) -> SpamFilter | None:
        """The filter of a user, where it is open."""
        if name is None:
            return self.shared
        mail = self._open.get(name)
        if mail is not None:
            self._open.move_to_end(name)
        return mail

    async def opened(self, name: str, *, create: bool) -> SpamFilter | None:
        """The filter of a user from its file; None where there is no file, unless one is to be made."""
        async with self._one_at_a_time:
            if (mail := self.ready(name)) is not None:
                return mail
            # Taken out here, between two requests: nobody judges with a filter that is being closed.
            idle = [other for other in self._open if not self._busy[other]]
            old = [self._open.pop(other) for other in idle[: max(0, len(self._open) - self._most + 1)]]
            loop = asyncio.get_running_loop()
            mail = await loop.run_in_executor(self._files, self._from_file, name, create, old)
            if mail is not None:
                self._open[name] = mail
            return mail

    def _from_file(self, name: str, create: bool, old: list[SpamFilter]) -> SpamFilter | None:
        for mail in old:
            mail.close()
        assert self._folder is not None
        path = self._folder / f"{name}.spam"
        if not create and not path.exists():
            return None
        return SpamFilter(path, shared=self.shared, **self._options)

    def keep_open(self, name: str | None) -> None:
        """Keep a user's filter open until `let_go` is called as often."""
        if name is not None:
            self._busy[name] += 1

    def let_go(self, name: str | None) -> None:
        """The opposite of `keep_open`."""
        if name is not None:
            self._busy[name] -= 1
            if not self._busy[name]:
                del self._busy[name]

    async def refresh(self) -> None:
        """Take in what other processes wrote."""
        mails = [self.shared, *self._open.values()]
        await asyncio.get_running_loop().run_in_executor(self._files, _refresh, mails)

    async def close(self) -> None:
        """Close all."""
        mails = [*self._open.values(), self.shared]
        await asyncio.get_running_loop().run_in_executor(self._files, _close, mails)
        self._files.shutdown()


def _refresh(mails: list[SpamFilter]) -> None:
    for mail in mails:
        mail.refresh()


def _close(mails: list[SpamFilter]) -> None:
    for mail in mails:
        mail.close()
