"""Filters by the options of ``tally spam``; without click, as a filter in a pipe starts for each message."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallywise.spam import SpamFilter

MODELS = ("online", "naive_bayes")


def default_store() -> str:
    """Where a filter lies when no --store is given."""
    given = os.environ.get("TALLY_SPAM")
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return given or os.path.join(home, "tallywise", "mail.spam")


def budget(text: str) -> float:
    """The share in "ham=0.001"."""
    name, _, value = text.rpartition("=")
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if name not in ("", "ham") or not 0 <= share < 1:
        msg = f"must be as in ham=0.001. Got {text!r}."
        raise ValueError(msg)
    return share


def user_name(text: str) -> str:
    """A name that can be that of a file."""
    if os.sep in text or text.startswith("."):
        msg = f"must be a plain name. Got {text!r}."
        raise ValueError(msg)
    return text


def store_files(store: str | None, user: str | None = None) -> list[str]:
    """The files of the filters that the options name, and those that SQLite keeps beside them."""
    path = store or default_store()
    own = [] if user is None else [os.path.join(os.path.dirname(path), "users", f"{user}.spam")]
    return [file + ending for file in (path, *own) for ending in ("", "-wal", "-shm", "-journal")]


def open_filter(
    store: str | None,
    user: str | None,
    model: str | None,
    max_flagged: float | None,
    trust: tuple[str, ...],
    *,
    read_only: bool = False,
    **more: Any,
) -> "SpamFilter":
    """The filter that the options name."""
    from tallywise.spam import SpamFilter

    path = store or default_store()
    folder = os.path.dirname(path)
    more |= {"model": model or "online", "max_flagged": max_flagged, "trusted": trust}
    if not read_only and folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if store is None and not os.environ.get("TALLY_SPAM"):  # a folder that is ours alone
            from tallywise.spam.folders import private_folder

            private_folder(folder)
    own = None if user is None else os.path.join(folder, "users", f"{user}.spam")
    if own is None or (read_only and not os.path.exists(own)):  # whoever only reads makes no file
        return SpamFilter(path, read_only=read_only, **more)
    if not read_only:
        from tallywise.spam.folders import private_folder

        private_folder(os.path.dirname(own))
    shared = SpamFilter(path, read_only=True, **more) if os.path.exists(path) else None
    return SpamFilter(own, shared=shared, read_only=read_only, **more)
