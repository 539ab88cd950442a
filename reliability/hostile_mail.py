"""Messages written to hurt whoever reads them: each generator gives one of about so many bytes.

What they aim at: recursion (parts nested in parts), quadratic searches (openings that never close), tables that grow
with the input (fields, parts, parameters), decoders that are slow or give more than they get (charsets, transfer
encodings), and text that looks like other text.
"""

import base64
import quopri
import random
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO

Generator = Callable[[int], bytes]
GENERATORS: dict[str, Generator] = {}


def generator(make: Generator) -> Generator:
    """Enter a generator under its name."""
    GENERATORS[make.__name__.replace("_", " ")] = make
    return make


def repeated(name: str, piece: bytes, before: bytes = b"", behind: bytes = b"") -> None:
    """Enter a generator of one piece again and again."""

    def make(size: int) -> bytes:
        return before + piece * max(1, (size - len(before) - len(behind)) // len(piece)) + behind

    make.__name__ = name
    generator(make)


def numbered(name: str, piece: str, before: bytes = b"", behind: bytes = b"") -> None:
    """Enter a generator of pieces that each have a number in the place of {k}."""

    def make(size: int) -> bytes:
        count = max(1, (size - len(before) - len(behind)) // len(piece.format(k=size // len(piece)).encode()))
        return before + "".join(piece.format(k=k) for k in range(count)).encode() + behind

    make.__name__ = name
    generator(make)


MIXED = b"Content-Type: multipart/mixed; boundary=b\n\n"
HTML = b"Subject: x\nContent-Type: text/html; charset=utf-8\n\n"
PLAIN = b"Subject: x\n\n"


def of_type(content_type: str, encoding: str = "") -> bytes:
    """A header of this content type."""
    more = f"Content-Transfer-Encoding: {encoding}\n" if encoding else ""
    return f"Subject: x\nContent-Type: {content_type}\n{more}\n".encode()


# --- structure ---


@generator
def parts_nested_each_with_its_boundary(size: int) -> bytes:
    """Multipart in multipart; a level has about 60 bytes, so 10 MiB go 170,000 deep."""
    levels = [f"Content-Type: multipart/mixed; boundary=b{k}\n\n--b{k}\n" for k in range(size // 56)]
    return "".join(levels).encode()


@generator
def parts_nested_and_closed(size: int) -> bytes:
    """The same, with every level closed behind the innermost."""
    depth = size // 66
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{k}\n\n--b{k}\n" for k in range(depth))
    return (head + "\ntext\n" + "".join(f"\n--b{k}--\n" for k in reversed(range(depth)))).encode()


repeated("parts_nested_with_one_boundary", b"--b\nContent-Type: multipart/mixed; boundary=b\n\n", MIXED)
repeated("messages_in_messages", b"Content-Type: message/rfc822\n\n")
repeated(
    "alternating_messages_and_parts",
    b"Content-Type: message/rfc822\n\nContent-Type: multipart/mixed; boundary=b\n\n--b\n",
)
repeated("parts_of_one_line", b"--b\n\nx\n", MIXED, b"--b--\n")
repeated("empty_parts", b"--b\n", MIXED)
repeated("closing_boundaries", b"--b--\n", MIXED)
repeated("boundaries_that_almost_match", b"--b-x\n", MIXED)
repeated("boundaries_with_long_spaces", b"--b" + b" " * 1000 + b"x\n", MIXED)
repeated("dashes", b"-", MIXED)
repeated("lines_of_two_dashes", b"\n--", MIXED)
repeated(
    "a_boundary_of_punctuation",
    b"--" + b"(.*)+?" * 10 + b"\n\nx\n",
    b'Content-Type: multipart/mixed; boundary="' + b"(.*)+?" * 10 + b'"\n\n',
)
repeated("an_empty_boundary", b"--\n\nx\n", b'Content-Type: multipart/mixed; boundary=""\n\n')
numbered("parts_that_each_have_a_type", "--b\nContent-Type: text/x{k}; charset=c{k}\n\nx\n", MIXED)
repeated("digest_without_types", b"--b\n\nSubject: y\n\nz\n", b"Content-Type: multipart/digest; boundary=b\n\n")


@generator
def a_boundary_of_the_whole_size(size: int) -> bytes:
    """A boundary as long as the message."""
    boundary = b"b" * (size // 2)
    return b'Content-Type: multipart/mixed; boundary="' + boundary + b'"\n\n--' + boundary + b"\n\nx\n"


# --- header ---

repeated("one_field_again_and_again", b"Received: from a by b\n", b"", b"\nx\n")
numbered("a_million_fields", "X{k}:\n", b"", b"\nx\n")
repeated("fields_without_names", b":\n", b"Subject: x\n", b"\nx\n")
repeated("folds", b" fold\n", b"Subject: x\n", b"\nx\n")
repeated("folds_of_one_blank", b" \n", b"Subject: x\n", b"\nx\n")
repeated("a_subject_of_one_line", b"word ", b"Subject: ", b"\n\nx\n")
repeated("a_name_of_one_line", b"X", b"", b": y\n\nx\n")
repeated("only_a_header_without_end", b"Subject: x\n")
repeated("from_lines_of_mboxes", b"From x Mon Jan 1 00:00:00 2001\n")
repeated("colons", b":", b"Subject", b"\n\nx\n")
repeated("encoded_words", b"=?utf-8?q?=C3=A9?= ", b"Subject: ", b"\n\nx\n")
repeated("encoded_words_folded", b" =?utf-8?b?w6k=?=\n", b"Subject: x\n", b"\nx\n")
repeated("encoded_words_never_closed", b"=?utf-8?q?", b"Subject: ", b"\n\nx\n")
repeated("encoded_words_of_question_marks", b"?", b"Subject: =?utf-8?q", b"\n\nx\n")
repeated("encoded_words_of_equal_signs", b"=?", b"Subject: ", b"\n\nx\n")
repeated("encoded_words_of_unknown_charsets", b"=?x-none?b?w6k=?= ", b"Subject: ", b"\n\nx\n")
repeated("encoded_words_of_bad_base64", b"=?utf-8?b?*?= ", b"Subject: ", b"\n\nx\n")
repeated("encoded_words_of_punycode", b"=?punycode?q?a-b9999999999?= ", b"Subject: ", b"\n\nx\n")
numbered("parameters_in_pieces", " boundary*{k}*=x;", b"Content-Type: multipart/mixed;", b"\n\nx\n")
numbered("parameters_in_folded_pieces", " name*{k}*=utf-8''x;\n", b"Content-Type: text/plain;\n", b"\nx\n")
repeated("parameters_boundary_again", b" boundary=b;", b"Content-Type: multipart/mixed;", b"\n\n--b\n\nx\n")
repeated("parameters_never_closed", b'charset="', b"Content-Type: text/plain; ", b"\n\nx\n")
repeated("spaces_before_an_equal_sign", b" ", b"Content-Type: text/plain; charset", b"=utf-8\n\nx\n")
repeated("comments_in_an_address", b"(", b"From: ", b" a@b.example\n\nx\n")
repeated("quotes_in_an_address", b'"\\', b"From: ", b" a@b.example\n\nx\n")
repeated("angles_in_an_address", b"<", b"From: ", b" a@b.example\n\nx\n")
numbered("a_hundred_thousand_recipients", "a{k}@b.example, ", b"To: ", b"\n\nx\n")

# --- charsets and transfer encodings ---

for _name in (
    "idna",
    "punycode",
    "utf-7",
    "utf-16",
    "utf-32",
    "unicode_escape",
    "raw_unicode_escape",
    "hz",
    "iso2022_jp",
    "gb18030",
    "zlib_codec",
    "rot13",
    "undefined",
    "mbcs",
    "charmap",
):
    repeated(f"text_that_says_it_is_{_name}", b"a-b9999~{+AGE-\\u0041.", of_type(f"text/plain; charset={_name}"))
repeated("labels_of_idna", b"xn--a-b9999.", of_type("text/plain; charset=idna"))
repeated("bytes_that_are_no_utf8", b"\xff\xfe\xc3", of_type("text/plain; charset=utf-8"))
repeated("a_charset_that_does_not_exist", b"caf\xe9 ", of_type("text/plain; charset=../../etc/passwd"))
repeated("escapes_of_iso_2022", b"\x1b$B\x1b(B", of_type("text/plain; charset=iso-2022-jp"))
repeated("base64_of_padding", b"====", of_type("text/plain", "base64"))
repeated("base64_of_other_bytes", b"*\n", of_type("text/plain", "base64"))
repeated("base64_of_single_letters", b"A\n\n", of_type("text/plain", "base64"))
repeated("quoted_equal_signs", b"=", of_type("text/plain", "quoted-printable"))
repeated("quoted_soft_breaks", b"=\n", of_type("text/plain", "quoted-printable"))
repeated("quoted_bad_digits", b"=ZZ=A", of_type("text/plain", "quoted-printable"))
repeated("quoted_spaces_before_line_ends", b" " * 500 + b"\n", of_type("text/plain", "quoted-printable"))
repeated("uuencoded_lines", b"M" + b"`" * 60 + b"\n", of_type("text/plain", "x-uuencode") + b"begin 644 x\n", b"end\n")
repeated("an_unknown_encoding", b"x" * 70 + b"\n", of_type("text/plain", "x-" + "y" * 1000))


@generator
def base64_of_html_that_never_closes(size: int) -> bytes:
    """Unclosed tags inside base64."""
    return of_type("text/html", "base64") + base64.encodebytes(b"<a a=" * (size * 3 // 20))


@generator
def quoted_html_of_entities(size: int) -> bytes:
    """References inside quoted-printable."""
    return of_type("text/html", "quoted-printable") + quopri.encodestring(b"&#x41;" * (size // 7))


@generator
def a_zip_bomb(size: int) -> bytes:
    """An attached archive that unpacks to a thousand times its size."""
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(min(size * 100, 300 << 20)))
    packed = base64.encodebytes(held.getvalue())
    part = b"--b\nContent-Type: application/zip\nContent-Transfer-Encoding: base64\n\n" + packed
    return MIXED + part * max(1, size // len(part)) + b"\n--b--\n"


@generator
def a_zlib_bomb(size: int) -> bytes:
    """Compressed zeros that say they are text."""
    packed = zlib.compress(bytes(min(size * 100, 300 << 20)), 9)
    return of_type("text/plain; charset=zlib") + packed * max(1, size // len(packed))


# --- bodies ---

repeated("nul", b"\0", PLAIN)
repeated("nul_everywhere", b"\0")
repeated("bare_cr", b"\r")
repeated("bare_cr_in_a_body", b"x\r", PLAIN)
repeated("empty_lines", b"\n", PLAIN)
repeated("crlf_lines", b"\r\n", b"Subject: x\r\n\r\n")
repeated("one_line", b"x", PLAIN)
repeated("one_word_of_dots", b"a.", PLAIN)
repeated("words_of_one_letter", b"a ", PLAIN)
repeated("bytes_above_ascii", b"\xf0\x9f\x98\x80", PLAIN)
repeated("from_lines_in_a_body", b"\nFrom x\n", PLAIN)
numbered("every_word_another", "w{k} ", PLAIN)
numbered("hosts_of_links", "http://h{k}.example/ ", PLAIN)
repeated("content_types_in_a_body", b"Content-Type: text/x charset=c ://h ", PLAIN)
repeated("right_to_left_marks", "\u202eabc\u202c".encode(), of_type("text/plain; charset=utf-8"))
repeated("zero_width_marks", "c\u200bh\u200be\u200ba\u200bp ".encode(), of_type("text/plain; charset=utf-8"))
repeated("combining_marks", "e\u0301\u0327".encode(), of_type("text/plain; charset=utf-8"))
repeated("letters_that_look_alike", "\u0441\u04bb\u0435\u0430\u0440 ".encode(), of_type("text/plain; charset=utf-8"))
repeated("letters_that_grow_in_lower_case", "\u0130".encode(), HTML)

# --- HTML ---

for _name, _piece in {
    "opening_angles": b"<",
    "tags_never_closed": b"<a a=",
    "comments_never_closed": b"<!--",
    "comments_of_dashes": b"<!-- --",
    "declarations_never_closed": b"<![CDATA[",
    "scripts_never_closed": b"<script>",
    "scripts_almost_closed": b"<script></scrip",
    "styles_never_closed": b"<style>p",
    "tags_nested": b"<div>",
    "tags_of_one_letter": b"<b>",
    "closing_tags": b"</b>",
    "links": b"<a href=http://x.example/>",
    "links_of_long_addresses": b"<a href=" + b"h" * 4000 + b">",
    "attributes_of_quotes": b"<a href='\"",
    "attributes_in_one_tag": b"",
    "references": b"&amp;",
    "references_never_closed": b"&#x1",
    "references_of_huge_numbers": b"&#9999999;",
    "ampersands": b"&",
    "tables_nested": b"<table><tr><td>",
    "formatting_misnested": b"<b><i></b></i>",
}.items():
    if _piece:
        repeated(f"html_{_name}", _piece, HTML)
repeated("html_attributes_in_one_tag", b" href=x", HTML + b"<a", b">")
repeated("html_spaces_before_an_equal_sign", b" ", HTML + b"<a href", b"=x>")


@generator
def random_bytes(size: int) -> bytes:
    """Noise."""
    return random.Random(size).randbytes(size)


@generator
def random_pieces(size: int) -> bytes:
    """Pieces of mail in a random order."""
    draw = random.Random(size)
    pieces = [b"\n", b"\r\n", b"--b", b"--b--\n", b"Content-Type: ", b"multipart/mixed; boundary=b\n", b"=?utf-8?b?"]
    pieces += [
        b"?=",
        b"<a href=",
        b"<!--",
        b"&#",
        b";",
        b": ",
        b"From ",
        b"\0",
        b"=\n",
        b"text/html\n",
        b" ",
        b"base64\n",
    ]
    pieces += [b"Content-Transfer-Encoding: ", b"message/rfc822\n", b"\xff", b'"', b"word"]
    return b"".join(draw.choices(pieces, k=size // 6))
