"""Raw mail to plain text, for hostile input: iterative, linear time, hard caps.

The standard library's parser recurses into nested parts until Python gives up, and its HTML parser takes quadratic time
on ``<a a=<a a=``; neither is used on the structure here, only its single-purpose decoders (base64, quoted-printable,
encoded words).
"""

import binascii
import quopri
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from typing import IO

from tallywise.reading.charsets import codec_of
from tallywise.reading.encodings_and_limits import InputError

# What decoders pass over, taken out by one table: a substitution holds each piece between two of them, 90 bytes a byte.
_NO_BASE64 = bytes(byte for byte in range(256) if not re.match(rb"[A-Za-z0-9+/]", bytes([byte])))
_MOST_PARTS = 1000
_LARGEST_MAIL = 32 << 20
_LONGEST_HEADER = 1 << 16
_MOST_FOLDS = 1000
_MOST_LINES = 20_000  # of a header; the rest of it is passed over
_EMPTY_LINE = re.compile(rb"\n\r?\n")
_SHOWN = ("subject", "from", "to", "reply-to")
_ATTRIBUTE = re.compile(r'\b(boundary|charset)\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_ENTITY = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": " ", "apos": "'"}
_REFERENCE = re.compile(r"&(#x?[0-9a-fA-F]{1,7}|[a-zA-Z]{2,6});")
# Elements whose content is no text, by where they end. Not by html.lower(), which is longer than html for some letters.
_SILENT = {name: re.compile(f"</{name}", re.ASCII | re.IGNORECASE) for name in ("script", "style")}


def mail_text(raw: bytes) -> str:
    r"""Subject, correspondents and readable body of one message.

    Examples
    --------
    >>> from tallywise.reading.mail import mail_text
    >>> mail_text(b"Subject: =?utf-8?q?Caf=C3=A9?=\n\nSee you at <b>ten</b>.")
    'Subject: Café\n\nSee you at <b>ten</b>.'
    """
    headers, body = _split_head(raw[:_LARGEST_MAIL])
    shown = [f"{name.title()}: {decoded_words(headers[name])}" for name in _SHOWN if name in headers]
    return "\n".join(shown) + "\n\n" + _body_text(headers, body)


def _split_head(raw: bytes) -> tuple[dict[str, str], bytes]:
    """Headers (the first of each name, unfolded) and the rest."""
    found: dict[str, list[str]] = {}  # pieces, joined at the end: adding to a string at each fold would be quadratic
    name = ""
    place = lines = 0
    body = b""
    while place < len(raw):
        lines += 1
        if lines > _MOST_LINES:
            gap = _EMPTY_LINE.search(raw, place)
            body = raw[gap.end() :] if gap else b""
            break
        end = raw.find(b"\n", place)
        end = len(raw) if end < 0 else end
        line = raw[place:end].rstrip(b"\r")
        following = end + 1
        if not line:
            body = raw[following:]
            break
        if line[:1] in b" \t" and found:
            if name and len(found[name]) < _MOST_FOLDS:  # no name: a fold of a field that came before
                found[name].append(line.strip().decode("latin-1"))
        else:
            head, colon, value = line.partition(b":")
            if not colon or b" " in head.rstrip():
                if line.startswith(b"From ") and not found:
                    place = following
                    continue
                body = raw[place:]  # no header line: the body has begun
                break
            key = head.strip().decode("latin-1").lower()
            name = "" if key in found else key
            if name:
                found[name] = [value.strip().decode("latin-1")]
        place = following
    return {key: " ".join(pieces)[:_LONGEST_HEADER] for key, pieces in found.items()}, body


def _body_text(headers: dict[str, str], body: bytes) -> str:
    """Text of all readable parts; a stack of parts instead of recursion."""
    texts: list[str] = []
    stack = [(headers, body)]
    parts = 0
    work = 20 * len(body) + 1  # parts nested in parts are read again at each level: the sum of their sizes is bounded
    while stack and parts < _MOST_PARTS and work > 0:
        head, content = stack.pop()
        parts += 1
        work -= len(content)
        kind = head.get("content-type", "text/plain").lower()
        attributes = {
            a.lower(): quoted or plain for a, quoted, plain in _ATTRIBUTE.findall(head.get("content-type", ""))
        }
        if kind.startswith("multipart/") and "boundary" in attributes:
            inner = _split_parts(content, attributes["boundary"].encode("latin-1", "replace"))
            stack.extend(_split_head(part) for part in reversed(inner[:_MOST_PARTS]))
        elif kind.startswith("message/"):
            stack.append(_split_head(content))
        elif kind.startswith("text/"):
            text = _decode(_transfer(content, head.get("content-transfer-encoding", "")), attributes.get("charset"))
            texts.append(html_text(text) if kind.startswith("text/html") else text)
    return "\n".join(texts)


def _split_parts(content: bytes, boundary: bytes) -> list[bytes]:
    pieces = re.split(rb"(?:^|\r?\n)--" + re.escape(boundary) + rb"(?:--)?[ \t]*(?=\r?\n|$)", content)
    return [piece.lstrip(b"\r\n") if piece[:2] in (b"\r\n", b"\n") else piece for piece in pieces[1:]]


def _transfer(content: bytes, encoding: str) -> bytes:
    encoding = encoding.strip().lower()
    if encoding == "quoted-printable":
        return quopri.decodestring(content)
    if encoding == "base64":
        kept = content.translate(None, _NO_BASE64)
        try:
            return binascii.a2b_base64(kept[: len(kept) // 4 * 4])
        except binascii.Error:
            return b""
    return content


def _decode(raw: bytes, charset: str | None) -> str:
    for name in (codec_of(charset), "utf-8"):
        try:
            if name:
                return raw.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return raw.decode("cp1252", errors="replace")


def decoded_words(value: str) -> str:
    """A header's value with its encoded words decoded."""
    if "=?" not in value:
        return value
    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError, UnicodeError, binascii.Error):
        return value
    return "".join(piece if isinstance(piece, str) else _decode(piece, charset) for piece, charset in pieces)


def html_text(html: str) -> str:
    """Text of HTML by one walk from tag to tag: no tree, no backtracking, addresses of links kept.

    Examples
    --------
    >>> from tallywise.reading.mail import html_text
    >>> html_text('<p>Claim <a href="http://x.example">here</a> &amp; now<style>p {}</style></p>').split()
    ['Claim', 'http://x.example', 'here', '&', 'now']
    """
    out: list[str] = []
    place = 0
    while True:
        start = html.find("<", place)
        if start < 0:
            out.append(html[place:])
            break
        out.append(html[place:start])
        if html.startswith("<!--", start):
            end = html.find("-->", start + 4)
            place = len(html) if end < 0 else end + 3
            continue
        end = html.find(">", start)
        if end < 0:
            break
        tag = html[start + 1 : end]
        name = next(iter(tag[:10].split(None, 1)), "").lower()
        place = end + 1
        if name in _SILENT:
            close = _SILENT[name].search(html, place)
            place = close.start() if close else len(html)
        elif name in ("a", "img") and len(tag) < 4096:
            out.append(" " + _address(tag) + " ")
        else:
            out.append(" ")
    return _REFERENCE.sub(_entity, "".join(out))


def _address(tag: str) -> str:
    found = re.search(r"(?:href|src)\s*=\s*[\"']?([^\s\"'>]{1,500})", tag, re.IGNORECASE)
    return found.group(1) if found else ""


def _entity(found: re.Match[str]) -> str:
    name = found.group(1)
    if not name.startswith("#"):
        return _ENTITY.get(name.lower(), found.group(0))
    number = int(name[2:], 16) if name[1] in "xX" else int(name[1:]) if name[1:].isdigit() else 0
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else " "


def split_mbox(stream: IO[bytes]) -> Iterator[bytes]:
    """Messages of an mbox, one in memory at a time; what is beyond 32 MB of one message is left out."""
    message: list[bytes] = []
    size = 0
    begun = False
    after_blank = True
    while line := stream.readline(1 << 20):
        if after_blank and line.startswith(b"From "):
            if begun:
                yield b"".join(message)
            message, size, begun = [], 0, True
        elif not begun:
            msg = "this is no mbox: its first line does not begin with 'From '"
            raise InputError(msg)
        elif size < _LARGEST_MAIL:
            message.append(line[1:] if line.startswith(b">From ") else line)
            size += len(line)
        after_blank = not line.strip()
    if begun:
        yield b"".join(message)
