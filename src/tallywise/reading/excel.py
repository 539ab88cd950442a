"""Rows of the first sheet of an Excel file, by a process of its own: ``python -m tallywise.reading.excel MEGABYTES``.

A file of one kilobyte may name a cell in the last row and the last column: its reader then asks for room for all cells
before, half a terabyte, and ends the process when there is none. Here that process is one that may end, and that may
have so much memory. The file comes on standard input; on standard output go the name of the sheet and the rows that
are not empty, one JSON document a line, then ``{"end": true}``, or ``{"error": ...}``.
"""

import contextlib
import datetime
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tallywise.reading.encodings_and_limits import InputError

LARGEST = 256 << 20  # bytes of a file
_ROOM = 1024  # megabytes, and so many times the size of the file
_TIMES = 40


def first_sheet(name: str, content: bytes) -> Iterator[Any]:
    """The name of the first sheet of a file, then its rows as [number, cells]; nothing for a file without sheets.

    Raises
    ------
    InputError
        When it is no such file, or takes too much memory.
    """
    if len(content) > LARGEST:
        msg = f"{name} has more than {LARGEST >> 20} MB: save it as CSV"
        raise InputError(msg)
    room = _ROOM + _TIMES * (len(content) >> 20)
    command = [sys.executable, "-m", "tallywise.reading.excel", str(room)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with contextlib.suppress(BrokenPipeError):  # it has ended, and what it has said is read below
            process.stdin.write(content)
            process.stdin.close()
        for line in process.stdout:
            found = json.loads(line)
            if isinstance(found, dict):
                if "error" in found:
                    msg = f"{name} {found['error']}"
                    raise InputError(msg)
                return
            yield found
        msg = f"{name} is not a readable Excel file, or takes more than {room:,} MB of memory to read: save it as CSV"
        raise InputError(msg)
    finally:
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()


def cell(value: Any) -> str:
    """A cell of a sheet: dates as ISO has them, whole numbers without a fraction.

    Examples
    --------
    >>> import datetime
    >>> from tallywise.reading.excel import cell
    >>> [cell(value) for value in (3.0, 0.1, "a", None, True, datetime.datetime(2020, 1, 2))]
    ['3', '0.1', 'a', '', 'True', '2020-01-02']
    """
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(value)


def tell(news: Any) -> None:
    """One document on one line."""
    sys.stdout.write(json.dumps(news) + "\n")


def main() -> None:
    """Read the file on standard input."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # no such limits there
        import resource

        room = int(sys.argv[1]) << 20
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        tell({"error": "is an Excel file, which needs python-calamine: pip install 'tallywise[excel]'"})
        return
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
        names = book.sheet_names
        if names:
            tell(names[0])
            for number, row in enumerate(book.get_sheet_by_index(0).iter_rows(), 1):
                cells = [cell(value) for value in row]
                if any(cells):
                    tell([number, cells])
        tell({"end": True})
    except (CalamineError, ValueError, OSError) as error:
        why = str(error).splitlines()[0] if str(error) else "damaged"
        tell({"error": f"is not a readable Excel file ({why})"})


if __name__ == "__main__":
    main()
