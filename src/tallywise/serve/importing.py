"""Files into the store: looked at, their columns chosen, read in pieces; a reading that was cut short goes on."""

import hashlib
import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from html import unescape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallywise._private_files import private_file, private_folder
from tallywise.errors import TallywiseError
from tallywise.reading import InputError, Record
from tallywise.reading.input_formats import recognise
from tallywise.reading.preview import NONE, Asked, Days, look, open_records
from tallywise.serve import queries, store_writes

if TYPE_CHECKING:
    from tallywise.serve.service import Service
    from tallywise.serve.text_store import Store

_TOGETHER = 200  # records a transaction: a learn never waits long for a file that is being read
_FIRST = 2000  # records after which a first model is fitted, while the others are still being read
_MOST_FILES, _LARGEST_ZIP = 100_000, 1 << 30  # files of a zip, and bytes of them in all


class ContradictionError(TallywiseError, ValueError):
    """Options that are not those with which the store was made."""


# --- imports of a store ---


def enter(store: "Store", path: str, name: str, who: str, stamp: str, asked: Asked, state: str) -> int:
    """Enter a file among the imports, once looked at; returns its number."""
    seen = look(path, name, asked)
    columns = {"asked": asked, **seen._asdict()}
    query = "INSERT INTO imports (name, path, stamp, who, columns, state) VALUES (?, ?, ?, ?, ?, ?)"

    def write(db: Any) -> int:
        db.execute(query, (name, path, stamp, who, json.dumps(columns), state))
        return int(db.last_insert_rowid())

    return store.write(write).result()


def of_command(store: "Store", path: str, who: str, asked: Asked) -> int | None:
    """Enter a file that the command names; None if it was read before, with the same columns.

    Raises
    ------
    ContradictionError
        If it was read before with other columns than those that are asked for now.
    """
    found = os.stat(path)
    stamp = f"read:{os.path.abspath(path)}:{found.st_size}:{found.st_mtime_ns}"
    known = next((one for one in store.read(queries.imports) if one["stamp"] == stamp), None)
    if known is None:
        return enter(store, path, path, who, stamp, asked, "reading")
    used = known["columns"].get("used")
    for kind in ("text", "label", "date"):
        wanted = getattr(asked, kind)
        if used is not None and wanted is not None and wanted != used[kind]:
            msg = (
                f"{path} was read before with {kind} = {used[kind] or 'none'}, which --{kind} {wanted} contradicts. "
                "Change its columns on the page Data, or choose another store with --store."
            )
            raise ContradictionError(msg)
    return None


def unfinished(store: "Store") -> list[int]:
    """Imports whose reading was cut short and whose file is still there."""
    return [
        one["number"]
        for one in reversed(store.read(queries.imports))
        if one["state"] == "reading" and Path(one["path"]).exists()
    ]


def read(service: "Service", number: int) -> int:
    """Read a file into the store from where its reading ended; returns how many texts it has brought."""
    store = service.store
    one = next(one for one in store.read(queries.imports) if one["number"] == number)
    name, path, done = one["name"], one["path"], int(one["done"])
    asked, lines = Asked(*one["columns"]["asked"]), one["columns"]["lines"]
    days = Days(None if asked.date == NONE else asked.date)
    count = done
    try:
        _, records = open_records(path, asked, days)
        for part in _parts(islice(records, done, None)):
            at = days.of([r.date for r in part])
            rows = [
                (unescape(r.text), _label(r), r.source.replace(path, name, 1), day)
                for r, day in zip(part, at, strict=True)
            ]

            def write(db: Any, rows: list[Any] = rows, count: int = count) -> None:
                store_writes.add_records(db, rows, one["who"], number)
                db.execute(
                    "UPDATE imports SET done = ?, state = 'reading' WHERE number = ?", (count + len(rows), number)
                )

            store.write(write).result()
            count += len(rows)
            line = part[-1].source.rpartition(":")[2]
            share = min(int(line) / lines, 1.0) if lines and line.isdecimal() else None
            service.reading = {"name": name, "count": count, "share": share}
            if count - done <= _FIRST < count - done + _TOGETHER:
                service.notice()
        _close(store, number, "read", "")
    except (TallywiseError, OSError) as error:
        _close(store, number, "failed", f"stopped after {count:,} texts: {error}".replace(path, name))
    finally:
        service.reading = None
        service.notice()
    return count - done


def _close(store: "Store", number: int, state: str, problem: str) -> None:
    query = "UPDATE imports SET state = ?, problem = ? WHERE number = ?"
    store.write(lambda db: db.execute(query, (state, problem, number)).get).result()


def read_again(store: "Store", number: int, asked: Asked) -> None:
    """Have a file read anew with other columns, in place of what it brought; not where people labelled its texts."""
    one = next((one for one in store.read(queries.imports) if one["number"] == number), None)
    if one is None or not Path(one["path"]).exists() or not one["path"]:
        msg = "The file is not there any more: bring it in again."
        raise InputError(msg)
    seen = look(one["path"], one["name"], asked)
    columns = json.dumps({"asked": asked, **seen._asdict()})

    def write(db: Any) -> None:
        query = "SELECT count(DISTINCT id) FROM events JOIN items USING (id) WHERE file = ? AND action != 'import'"
        changed = db.execute(query, (number,)).get
        if changed:
            msg = (
                f"{changed:,} texts of {one['name']} were labelled or changed here, which reading it again would lose. "
                "Download the labels, and start with another --store."
            )
            raise InputError(msg)
        store_writes.erase(db, [row[0] for row in db.execute("SELECT id FROM items WHERE file = ?", (number,))])
        db.execute("DELETE FROM classes WHERE name NOT IN (SELECT label FROM items WHERE label IS NOT NULL)")
        query = "UPDATE imports SET columns = ?, done = 0, state = 'reading', problem = '' WHERE number = ?"
        db.execute(query, (columns, number))

    store.write(write).result()


def uploaded(folder: Path, name: str, chunks: Iterator[bytes]) -> tuple[str, str]:
    """Keep an uploaded file; a zip of files becomes a folder of them. Returns its path and what identifies it."""
    private_folder(folder)
    path = folder / (secrets.token_hex(8) + "".join(c for c in Path(name).suffix.lower() if c.isalnum() or c == "."))
    private_file(path)
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("wb") as out:
            for chunk in chunks:
                out.write(chunk)
                digest.update(chunk)
        return str(_unpacked(path)), f"upload:{digest.hexdigest()}"
    except BaseException:
        remove(str(path))
        raise


def remove(path: str) -> None:
    """Take an uploaded file away."""
    shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink(missing_ok=True)


def _unpacked(path: Path) -> Path:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start != b"PK\x03\x04" or path.suffix in (".xlsx", ".xlsm", ".ods"):
        return path
    try:
        with zipfile.ZipFile(path) as packed:
            members = [one for one in packed.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]
            if any(one.filename == "[Content_Types].xml" for one in members):
                return path.rename(path.with_suffix(".xlsx"))
            if len(members) > _MOST_FILES or sum(one.file_size for one in members) > _LARGEST_ZIP:
                msg = f"{path} holds more than {_MOST_FILES:,} files or {_LARGEST_ZIP >> 20:,} MB"
                raise InputError(msg)
            folder = path.with_suffix(".d")
            private_folder(folder)
            for one in members:
                parts = [part for part in one.filename.replace("\\", "/").split("/") if part not in ("", ".", "..")]
                place = folder.joinpath(*parts)
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with packed.open(one) as content, place.open("wb") as out:
                    shutil.copyfileobj(content, out, 1 << 20)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        msg = f"{path} is not a zip file that can be read ({error})"
        raise InputError(msg) from None
    path.unlink()
    inner = list(folder.iterdir())
    while len(inner) == 1 and inner[0].is_dir() and any(one.is_dir() for one in inner[0].iterdir()):
        folder, inner = inner[0], list(inner[0].iterdir())
    return inner[0] if len(inner) == 1 and inner[0].is_file() and recognise(str(inner[0])) else folder


def _label(record: Record) -> str | None:
    """The label, or none where it is unfit for one."""
    try:
        return None if record.label is None else store_writes.clean_label(record.label)
    except ValueError:
        return None


def _parts(records: Iterator[Record]) -> Iterator[list[Record]]:
    while part := list(islice(records, _TOGETHER)):
        yield part
