"""From the command to a running service: socket, store, model and data."""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tallywise.errors import TallywiseError
from tallywise.reading import InputError, preview
from tallywise.serve import importing, queries
from tallywise.serve.model_versions import readable, table_model
from tallywise.serve.server import Server
from tallywise.serve.service import Service
from tallywise.serve.settings import Settings
from tallywise.serve.table_service import TableService
from tallywise.serve.text_store import Store

_SWITCH = 0.001  # seconds after which a thread that scored a batch gets Python's lock back from the event loop
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # of malloc.h
_LARGE = 1 << 18


class AddressError(TallywiseError, OSError):
    """The address cannot be listened on."""


def store_folder(inputs: Sequence[str]) -> str:
    """Where the store goes when nobody says: beside the first input."""
    return f"{inputs[0].rstrip('/')}.store" if inputs else "tally.store"


def listen(host: str, port: int) -> socket.socket:
    """A socket on the address, or one line on why not."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((bare, port))
        found.listen(2048)
    except OSError as error:
        found.close()
        taken = "the port is in use" if error.errno == 98 else (error.strerror or str(error))
        msg = f"Cannot listen on {host}:{port}: {taken}. Choose another with --port, or --port 0 for any."
        raise AddressError(msg) from None
    return found


def prepare(inputs: Sequence[str], folder: str, settings: Settings, **columns: str | None) -> tuple[Service, list[int]]:
    """A service over the inputs, and the imports that are left to read."""
    for path in inputs:
        if not Path(path).exists():
            msg = f"{path} does not exist"
            raise InputError(msg)
    brought = [path for path in inputs if not Path(path).is_dir() and readable(path)]
    data = [path for path in inputs if path not in brought]
    store = Store(folder)
    try:
        service = Service(store, settings)
        for path in brought:
            service.models.bring(path, has_texts=bool(data))
        for path in data:
            importing.of_command(store, path, settings.user, preview.Asked(**columns))
    except BaseException:
        store.close()
        raise
    return service, importing.unfinished(store)


def run(
    inputs: Sequence[str],
    folder: str,
    settings: Settings,
    *,
    tell: Callable[[str], None],
    browser: bool,
    **columns: str | None,
) -> None:
    """Serve until told to stop."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that hangs up must not end the service
    os.umask(0o077)  # texts, models and uploads are for their owner alone; the learner's process inherits it
    sys.setswitchinterval(_SWITCH)
    _share_heap()
    with contextlib.closing(listen(settings.host, settings.port)) as listening:
        port = listening.getsockname()[1]
        settings = replace(settings, port=port)
        shown = "localhost" if settings.local else settings.host
        address = f"http://{shown}:{port}{settings.root_path}/"
        model = table_model(inputs)
        app: Any
        jobs: list[int]
        if model is not None:
            app, jobs = TableService(model, settings), []
        else:
            app, jobs = prepare(inputs, folder, settings, **columns)
            tell(f"texts and models in {folder}")
            for one in app.store.read(queries.imports):
                used = one["columns"].get("used", {})
                if one["name"] in inputs and used.get("text"):
                    chosen = [f'{kind} = "{column}"' if column else f"no {kind}" for kind, column in used.items()]
                    tell(f"{one['name']}: {', '.join(chosen)}   change it on the page Data")
        tell(f"serving at {address}   stop with Ctrl-C")
        if jobs:
            threading.Thread(target=_read_all, args=(app, jobs), daemon=True, name="reading").start()
        if browser and _desktop():
            threading.Timer(0.5, webbrowser.open, [address]).start()
        Server(app, listening).run()


def _share_heap() -> None:
    """One heap for all threads, where the C library gives each its own.

    What one thread frees another can use then: 105 MB instead of 115 after 20,000 mixed requests, and 218 instead of
    249 with 100,000 texts. Threads seldom allocate at the same time, because few of them run without Python's lock.
    Large arrays, which are those of models, lie outside of it and go back to the system with their model: the C library
    would put them into the heap once it has seen one freed, and what is allocated since would lie between them.
    """
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if limit is not None:
        limit(_M_ARENA_MAX, 1)
        limit(_M_MMAP_THRESHOLD, _LARGE)


def _read_all(service: Service, jobs: list[int]) -> None:
    for number in jobs:
        importing.read(service, number)


def _desktop() -> bool:
    """Whether a browser could be shown to the person who typed the command."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
