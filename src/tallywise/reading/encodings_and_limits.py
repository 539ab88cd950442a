"""Records of the readers, and limits on hostile input."""

import io
from collections.abc import Iterator
from typing import IO, NamedTuple

from tallywise.errors import TallywiseError

LONGEST_LINE = 64 << 20  # bytes; a longer line is no table, and would have to be held in memory whole
_CHUNK = 1 << 20


class InputError(TallywiseError, ValueError):
    """Input that cannot be used; the message is one line."""


class Record(NamedTuple):
    """One text, its label if it has one, and where it came from, for messages.

    Where a cell may hold several labels, `labels` has them, and `label` is the cell. `date` is
    the cell of the column of dates, where that was asked for.
    """

    text: str
    label: str | None
    source: str
    labels: tuple[str, ...] | None = None
    date: str | None = None


class Decoder:
    """Bytes to text, line by line: UTF-8, or Windows-1252 where a line is not UTF-8. Counts the latter."""

    def __init__(self) -> None:
        self.fallbacks = 0

    def __call__(self, raw: bytes) -> str:
        """Text of one line."""
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.fallbacks += 1
            return raw.decode("cp1252", errors="replace")


def lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Lines with their ends, never holding more than one; UTF-16 is decoded and binary files are refused.

    Raises
    ------
    InputError
        For a line beyond 64 MB, or a binary file.
    """
    first = True
    while True:
        line = stream.readline(LONGEST_LINE + 1)
        if not line:
            return
        if first:
            first = False
            if wide := wide_encoding(line):
                yield from _wide_lines(line, stream, wide, name)
                return
            line = line.removeprefix(b"\xef\xbb\xbf")
        check_line(line, name)
        yield line


def check_line(line: bytes, name: str) -> None:
    """Refuse a line beyond 64 MB, and binary files."""
    if len(line) > LONGEST_LINE:
        msg = f"{name} has a line of more than {LONGEST_LINE >> 20} MB: it is not a table of texts"
        raise InputError(msg)
    if b"\0" in line:
        msg = f"{name} holds NUL bytes: it is a binary file, not text"
        raise InputError(msg)


def text_lines(stream: IO[bytes], name: str, decode: Decoder) -> Iterator[str]:
    """What decoding each of `lines` gives, read and decoded in blocks of whole lines: several times as fast."""
    read = getattr(stream, "read1", stream.read)  # what is there, without waiting for more
    block = stream.readline(LONGEST_LINE + 1)
    if wide_encoding(block):
        yield from (decode(line) for line in _wide_lines(block, stream, wide_encoding(block) or "", name))
        return
    block = block.removeprefix(b"\xef\xbb\xbf")
    while block:
        if not block.endswith(b"\n"):
            block += stream.readline(LONGEST_LINE + 1)
        if len(block) > LONGEST_LINE and max(map(len, block.split(b"\n"))) >= LONGEST_LINE:
            msg = f"{name} has a line of more than {LONGEST_LINE >> 20} MB: it is not a table of texts"
            raise InputError(msg)
        zero = block.find(b"\0")
        whole = block if zero < 0 else block[: block.rfind(b"\n", 0, zero) + 1]
        try:
            yield from io.StringIO(whole.decode("utf-8"), newline="\n")
        except UnicodeDecodeError:
            yield from map(decode, io.BytesIO(whole))
        if zero >= 0:
            msg = f"{name} holds NUL bytes: it is a binary file, not text"
            raise InputError(msg)
        block = read(_CHUNK)


def wide_encoding(start: bytes) -> str | None:
    """The UTF-16 that a file begins with: by its byte order mark, or by zero bytes in every other place."""
    for encoding, mark, zeros in (("utf-16-le", b"\xff\xfe", start[1:64:2]), ("utf-16-be", b"\xfe\xff", start[:64:2])):
        if start.startswith(mark) or (len(start) >= 8 and start[:64].count(0) == len(zeros) == zeros.count(0)):
            return encoding
    return None


def _wide_lines(start: bytes, stream: IO[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """UTF-16 to lines of UTF-8."""
    import codecs

    decode = codecs.getincrementaldecoder(encoding)(errors="replace")
    rest = decode.decode(start).removeprefix("\ufeff")
    while True:
        chunk = stream.read(_CHUNK)
        rest += decode.decode(chunk, final=not chunk)
        if "\0" in rest:
            msg = f"{name} holds NUL bytes: it is a binary file, not text"
            raise InputError(msg)
        *whole, rest = rest.split("\n")
        yield from (line.encode() + b"\n" for line in whole)
        if len(rest) > LONGEST_LINE:
            msg = f"{name} has a line of more than {LONGEST_LINE >> 20} MB: it is not a table of texts"
            raise InputError(msg)
        if not chunk:
            if rest:
                yield rest.encode()
            return
