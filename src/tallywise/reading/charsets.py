"""Text in a character set that a mail names; a mail may name anything."""

import codecs

# Text encodings of Python that no mail is in. Punycode takes quadratic time.
_NOT_IN_MAIL = {"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}


def codec_of(charset: str | None) -> str | None:
    """Python's name of a character set; None for what is none."""
    if not charset:
        return None
    try:
        found = codecs.lookup(charset)
    except (LookupError, ValueError, UnicodeError):
        return None
    return found.name if found._is_text_encoding and found.name.replace("-", "_") not in _NOT_IN_MAIL else None


def as_utf8(raw: bytes, charset: bytes) -> bytes:
    """The same text in UTF-8, as it is where the character set is not known."""
    name = codec_of(charset.decode("latin-1"))
    return raw if name is None else raw.decode(name, "replace").encode("utf-8", "replace")
