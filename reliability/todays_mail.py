"""Old mail as it would arrive today: behind kilobytes of transport headers, or as HTML behind a long style sheet.

Mail that may be shared is of 2002 to 2010. What servers write into a header today is much longer, and the same for spam
and ham: drawn here at random for each message, whatever its label, in the manner of Exchange, Gmail, Amazon SES and of
vendors that nobody has listed. A filter must read past it.
"""

import base64
import quopri
import random
import re
import string
from collections.abc import Callable

from tallywise.reading.mail import mail_text

_BASE64 = string.ascii_letters + string.digits + "+/"
_HEX = "0123456789abcdef"
_HOSTS = ("outlook.example", "google.example", "amazonses.example", "mailgun.example", "relay.example", "mx.example")

Vendor = Callable[[random.Random], str]


def _run(draw: random.Random, letters: str, size: int) -> str:
    return "".join(draw.choices(letters, k=size))


def _folded(text: str, width: int = 72) -> str:
    return "\n ".join(text[start : start + width] for start in range(0, len(text), width))


def _received(draw: random.Random) -> str:
    host, other = draw.choice(_HOSTS), draw.choice(_HOSTS)
    address = ".".join(str(draw.randrange(1, 255)) for _ in range(4))
    return (
        f"Received: from {_run(draw, string.ascii_uppercase + string.digits, 14)}.{host} ({address}) by\n"
        f" {_run(draw, string.ascii_uppercase + string.digits, 14)}.{other} (2603:10a6:{_run(draw, _HEX, 3)}::"
        f"{draw.randrange(99)}) with Microsoft SMTP Server (version=TLS1_2,\n"
        f" cipher=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) id 15.20.{draw.randrange(9999)}.{draw.randrange(99)};\n"
        f" {draw.choice(('Mon', 'Tue', 'Wed'))}, {draw.randrange(1, 29)} Mar 2026 08:{draw.randrange(10, 60)}:"
        f"{draw.randrange(10, 60)} +0000\n"
    )


def _signature(draw: random.Random, name: str) -> str:
    domain = draw.choice(_HOSTS)
    body, signed = _run(draw, _BASE64, 43), _run(draw, _BASE64, 342)
    return (
        f"{name}: v=1; a=rsa-sha256; c=relaxed/relaxed; d={domain}; s=selector{draw.randrange(9)};\n"
        f" h=From:Date:Subject:Message-ID:Content-Type:MIME-Version:X-MS-Exchange-SenderADCheck;\n"
        f" bh={body}=;\n b={_folded(signed)}==\n"
    )


def exchange(draw: random.Random) -> str:
    """What Exchange Online writes."""
    lines = [_received(draw) for _ in range(3)]
    lines += [_signature(draw, f"ARC-{kind}") for kind in ("Seal", "Message-Signature")]
    lines.append(f"ARC-Authentication-Results: i=1; mx.{draw.choice(_HOSTS)} 1; spf=pass dkim=pass dmarc=pass\n")
    lines.append(_signature(draw, "DKIM-Signature"))
    lines.append(f"X-MS-TrafficTypeDiagnostic: {_run(draw, string.ascii_uppercase + string.digits, 15)}:EE_\n")
    lines.append(f"X-MS-Office365-Filtering-Correlation-Id: {_run(draw, _HEX, 8)}-{_run(draw, _HEX, 24)}\n")
    lines.append(f"X-MS-Exchange-AntiSpam-MessageData-0:\n {_folded(_run(draw, _BASE64, 900))}\n")
    return "".join(lines)


def gmail(draw: random.Random) -> str:
    """What Gmail writes."""
    return "".join(
        [
            f"X-Received: by 2002:a05:{_run(draw, _HEX, 4)}:{_run(draw, _HEX, 4)} with SMTP id\n"
            f" {_run(draw, string.ascii_lowercase + string.digits, 36)}.{draw.randrange(10**9)};\n",
            _received(draw),
            _signature(draw, "DKIM-Signature"),
            _signature(draw, "X-Google-DKIM-Signature"),
            f"X-Gm-Message-State: {_run(draw, _BASE64, 60)}\n",
            f"X-Google-Smtp-Source: {_run(draw, _BASE64, 70)}\n",
            f"Received-SPF: pass (google.example: domain of {_run(draw, _HEX, 20)}@x.example designates sender)\n",
        ]
    )


def ses(draw: random.Random) -> str:
    """What Amazon SES and senders of bulk mail write."""
    return "".join(
        [
            _received(draw),
            _signature(draw, "DKIM-Signature"),
            f"X-SES-Outgoing: 2026.03.{draw.randrange(1, 29)}-{draw.randrange(255)}.{draw.randrange(255)}.0.1\n",
            f"Feedback-ID: ::1.eu-west-1.{_run(draw, _BASE64, 44)}=:AmazonSES\n",
            f"X-SG-EID:\n {_folded(_run(draw, _BASE64, 300))}\n",
            f"X-Mailgun-Sid: {_run(draw, _BASE64, 60)}\n",
        ]
    )


def unknown(draw: random.Random) -> str:
    """What vendors write whom nobody has listed."""
    name = f"X-{draw.choice(('Acme', 'Vortex', 'Pylon', 'Quill', 'Zephyr'))}"
    return "".join(
        [
            _received(draw),
            f"{name}-Trace: {_folded(_run(draw, _BASE64, 400))}\n",
            f"{name}-Message-Key: {_run(draw, _HEX, 64)}\n",
            f"{name}-Route: node={_run(draw, _HEX, 16)}; shard={_run(draw, _BASE64, 24)}; v=2\n",
        ]
    )


VENDORS: tuple[Vendor, ...] = (exchange, gmail, ses, unknown)


def with_headers(raw: bytes, size: int, draw: random.Random) -> bytes:
    """A message behind about `size` bytes of today's transport headers."""
    found = ""
    while len(found) < size:
        found += draw.choice(VENDORS)(draw)
    end = found.rfind("\n", 0, size) + 1
    while end and found[end : end + 1] == " ":  # not within a field
        end = found.rfind("\n", 0, end - 1) + 1
    mbox = raw.find(b"\n") + 1 if raw.startswith(b"From ") else 0
    return raw[:mbox] + found[:end].encode() + raw[mbox:]


def style_sheet(size: int, draw: random.Random) -> str:
    """About `size` bytes of rules."""
    rules, length = [], 0
    while length < size:
        name = _run(draw, string.ascii_lowercase, 6)
        rules.append(
            f".{name} {{ font: {draw.randrange(9, 30)}px Arial; color: #{_run(draw, _HEX, 6)}; margin: 0 auto }}\n"
        )
        length += len(rules[-1])
    return "".join(rules)


_OF_THE_BODY = re.compile(
    rb"^(?:mime-version|content-type|content-transfer-encoding)[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*", re.I | re.M
)


def as_html(raw: bytes, size: int, encoding: str, draw: random.Random) -> bytes:
    """A message whose text is HTML behind a style sheet of `size` bytes, in quoted-printable or base64."""
    text = mail_text(raw).partition("\n\n")[2].replace("&", "&amp;").replace("<", "&lt;")
    page = f"<html><head><style>\n{style_sheet(size, draw)}</style></head><body><p>{text}</p></body></html>\n"
    data = page.encode("utf-8", "replace")
    body = base64.encodebytes(data) if encoding == "base64" else quopri.encodestring(data)
    header = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n"
    head = f"MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n"
    return _OF_THE_BODY.sub(b"", header) + head.encode() + body
