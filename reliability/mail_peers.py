"""Other readers of mail on the same hostile messages, for the table beside ours."""

import email
import email.policy
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.util import find_spec
from typing import Any


class _Words(HTMLParser):
    """What the standard library's parser takes for text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.found.append(data)


def _by_parser(html: str) -> str:
    parser = _Words()
    parser.feed(html)
    parser.close()
    return " ".join(parser.found)


def _by_selectolax(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    return str(LexborHTMLParser(html).text())


def _by_standard_library(raw: bytes, html_text: Callable[[str], str]) -> list[str]:
    """Headers decoded, every text part decoded and, of HTML, its text."""
    message: Any = email.message_from_bytes(raw, policy=email.policy.default)
    found = [str(value) for value in message.values()]
    for part in message.walk():
        if part.get_content_maintype() == "text":
            text = part.get_content()
            found.append(html_text(text) if part.get_content_subtype() == "html" else text)
    return found


def _by_rust(raw: bytes) -> list[str]:
    import fast_mail_parser

    found = fast_mail_parser.parse_email(raw)
    return [found.subject, *found.text_plain, *found.text_html]


def peers() -> dict[str, Callable[[bytes], object]]:
    """Readers that are installed, by name: the standard library always."""
    found: dict[str, Callable[[bytes], object]] = {
        "email and html.parser": lambda raw: _by_standard_library(raw, _by_parser)
    }
    if find_spec("selectolax"):
        found["email and selectolax"] = lambda raw: _by_standard_library(raw, _by_selectolax)
    if find_spec("fast_mail_parser"):
        found["fast-mail-parser (Rust)"] = _by_rust
    return found
