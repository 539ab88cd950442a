"""What the filter reads of a message: past transport headers and style sheets, text as its reader sees it."""

import base64
import quopri
import random
import time

import pytest

from reliability import evasions, todays_mail
from tallywise._native import spam_features, spam_header
from tallywise.spam import SpamFilter, trec_figures
from tests.mail import HAM, SPAM, messages, taught

PLAIN = b"From: ann@x.example\nSubject: lunch\n\nsee you at noon\n"


def views(raw):
    features = spam_features(raw, [])
    return [set(features.view(v).tolist()) for v in range(3)]


def html(body, encoding=""):
    head = b"From: a@x.example\nContent-Type: text/html\n"
    return head + (f"Content-Transfer-Encoding: {encoding}\n".encode() if encoding else b"") + b"\n" + body


@pytest.mark.parametrize("lines", [b"From a Mon\n", b"From a Mon\nFrom b Tue\n", b"From a Mon\n>From b\n>From c\n"])
def test_lines_by_which_an_mbox_parts_messages_are_not_read(lines):
    assert views(lines + PLAIN) == views(PLAIN)
    assert b"From : a" in spam_header(b"From : a@x.example\nTo: y\n\nz", [])


@pytest.mark.parametrize(
    "name", ["DKIM-Signature", "X-Google-Foo", "X-MS-Has-Attach", "X-SES-Outgoing", "Received-SPF"]
)
def test_of_signatures_and_transport_only_the_name_is_read(name):
    first, second = (views(f"{name}: some {word} here\n".encode() + PLAIN) for word in ("pills", "flowers"))
    assert first == second
    assert first[1] != views(PLAIN)[1]


def test_received_comes_last_from_both_ends_and_is_bounded():
    lines = b"".join(b"Received: from host%03d.example by here\n" % k for k in range(200))
    header = spam_header(lines + PLAIN, [])
    assert header.startswith(b"From: ann")
    assert len(header) < 2100
    assert header.index(b"host000") < header.index(b"host199") < header.index(b"host001")
    assert b"host100" not in header


@pytest.mark.parametrize(
    "run", ["CAJ8d3kf9QwX7zLm2Vb4", "4f3a9c1e7b2d8f60a1c5e9b3", "dGhpcyBpcyBhIHRlc3QgMTIz", "8a1b-9c2d-7e3f-6a4b"]
)
def test_an_identifier_is_one_token_in_every_field_but_the_subject(run):
    assert b"$id$" in spam_header(f"X-Vendor: a {run} b\n\n".encode(), [])
    assert run.encode() in spam_header(f"Subject: a {run} b\n\n".encode(), [])


@pytest.mark.parametrize("words", ["multipart-alternative-parts", "list-unsubscribe-post", "internationalisation"])
def test_words_are_no_identifiers(words):
    assert words.encode() in spam_header(f"X-Vendor: {words}\n\n".encode(), [])


def test_from_and_subject_are_read_behind_kilobytes_of_transport():
    draw = random.Random(3)
    for size in (2600, 4500, 9000):
        header = spam_header(todays_mail.with_headers(PLAIN, size, draw), [])
        assert b"From: ann@x.example\n" in header
        assert b"Subject: lunch\n" in header


@pytest.mark.parametrize("encoding", ["quoted-printable", "base64"])
def test_text_in_any_encoding_has_the_words_of_plain_text(encoding):
    text = b"<p>cheap pills \xc3\xbcber alles, see http://bad.example/x</p>\n" * 3
    coded = base64.encodebytes(text) if encoding == "base64" else quopri.encodestring(text)
    plain, found = views(html(text)), views(html(coded, encoding))
    assert found[2] == plain[2]
    hosts = views(html(b"http://bad.example/"))[1] - views(html(b"/"))[1]
    assert hosts <= found[1]


def test_a_line_of_hyphens_in_base64_does_not_end_its_part():
    coded = base64.encodebytes(b"cheap pills and casino prizes for everyone today\n" * 4).splitlines(keepends=True)
    broken = b"".join([*coded[:1], b"--\n", *coded[1:]])
    assert views(html(broken, "base64"))[2] == views(html(b"".join(coded), "base64"))[2]


UNSEEN = {
    "style": b"<style>.zq { color: red }\nzebra</style>",
    "script": b"<SCRIPT type=x>var zebra = 1 < 2</SCRIPT>",
    "comment": b"<!-- zebra > zebra -->",
    "display": b'<div style="display: none"><div>zebra</div> zebra</div>',
    "visibility": b"<span style='color:red; VISIBILITY : hidden'>zebra</span>",
    "size": b'<font style="font-size:0px">zebra</font>',
}


@pytest.mark.parametrize("kind", UNSEEN)
def test_what_html_hides_is_not_read(kind):
    word = views(b"\nzebra\n")[2]
    assert not word <= views(html(b"<p>lunch</p>" + UNSEEN[kind] + b"<p>at noon</p>"))[2]
    assert views(b"\nnoon\n")[2] <= views(html(b"<p>lunch</p>" + UNSEEN[kind] + b"<p>at noon</p>"))[2]
    assert word <= views(html(b"<p>zebra</p>" + UNSEEN[kind]))[2]


@pytest.mark.parametrize(
    "opened",
    [b"<!-- zebra", b"<style> zebra", b'<div style="display:none"> zebra', b"<p style='font-size:0.9em'>zebra"],
)
def test_what_is_never_closed_or_only_small_is_read(opened):
    assert views(b"\nzebra\n")[2] <= views(html(opened))[2]


def test_style_sheets_do_not_push_text_out_of_what_is_read():
    draw = random.Random(5)
    for encoding in ("base64", "quoted-printable"):
        raw = todays_mail.as_html(b"Subject: x\n\nzebra crossing\n", 20_000, encoding, draw)
        assert views(b"\nzebra\n")[2] <= views(raw)[2]


def test_lines_of_attachments_and_heads_of_parts_are_read_as_they_are():
    part = b"--b\nContent-Type: %b\nContent-Transfer-Encoding: base64\n\nemVicmE=\n"
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + part % b"image/png" + part % b"text/plain" + b"--b--\n"
    assert views(b"\nemVicmE\n")[2] <= views(raw)[2]
    assert views(b"\nzebra\n")[2] <= views(raw)[2]
    assert views(b"\nContent-Type: image/png\n")[1] - views(b"\n")[1] <= views(raw)[1]


HOSTILE = [
    b"<!--",
    b"<style>",
    b'<div style="display:none">',
    b"<div style=display:none></div>",
    b"<",
    b"=\n",
    b"--b\n",
    b"\r",
    b"a1B",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_parts_are_read_in_linear_time(piece):
    """Seconds of the processor for a megabyte: hundreds where a search begins anew at each opening."""
    for raw in (html(piece * (1_000_000 // len(piece))), b"X: " + piece * (1_000_000 // len(piece))):
        start = time.process_time()
        spam_features(raw, [])
        assert time.process_time() - start < 5


def test_a_filter_reads_past_what_every_message_has():
    """1-ROCA of a made-up stream behind today's headers, and as HTML with style sheets, is that of the plain stream."""
    draw = random.Random(1)
    stream = messages(600)
    labels = [label == "spam" for _, label in stream]
    dressed = {
        "plain": stream,
        "headers": [(todays_mail.with_headers(raw, 4500, draw), label) for raw, label in stream],
        "html": [(todays_mail.as_html(raw, 9000, "quoted-printable", draw), label) for raw, label in stream],
    }
    found = {name: trec_figures(SpamFilter().replay(mail), labels).one_minus_roca for name, mail in dressed.items()}
    assert found["headers"] <= found["plain"] + 0.2
    assert found["html"] <= found["plain"] + 0.2


CHARSETS = ["koi8-r", "windows-1251", "iso-8859-5", "utf-8"]


def in_charset(text, charset, kind="plain"):
    head = f'Content-Type: text/{kind};\n charset="{charset}"\nContent-Transfer-Encoding: base64\n\n'
    return head.encode() + base64.encodebytes(text.encode(charset))


@pytest.mark.parametrize("kind", ["plain", "html"])
@pytest.mark.parametrize(
    ("text", "charsets"),
    [
        ("дешёвые таблетки и казино", CHARSETS),
        ("便宜的药丸和赌场", ["gb18030", "gb2312", "utf-8", "utf-16"]),
        ("安い薬とカジノ", ["iso-2022-jp", "shift_jis", "euc-jp", "utf-8"]),
        ("pâté à la crème", ["iso-8859-1", "windows-1252", "utf-8"]),
    ],
)
def test_a_text_has_the_same_words_in_every_character_set(text, charsets, kind):
    found = [views(in_charset(text, charset, kind))[2] for charset in charsets]
    assert found[0]
    assert all(words == found[0] for words in found)


def test_parts_of_one_message_have_each_its_character_set():
    parts = [b"--b\n" + in_charset("казино", charset) for charset in ("koi8-r", "windows-1251")]
    for part in parts:
        raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + part + b"--b--\n"
        assert views("\nказино\n".encode())[2] <= views(raw)[2]


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "rot13", "zlib", "no-such", "\xff", "x" * 999]
)
def test_what_is_no_character_set_of_mail_leaves_text_as_it_is(charset):
    head = f"Content-Type: text/plain; charset={charset}\n\n".encode("latin-1")
    start = time.process_time()
    assert views(head + b"caf\xe9 " * 30_000)[2] >= views(b"\ncaf\xe9\n")[2]
    assert time.process_time() - start < 5


def test_a_filter_taught_in_utf8_knows_the_same_text_in_koi8():
    mail = SpamFilter()
    for k in range(20):
        mail.learn(in_charset(f"дешёвые таблетки казино {k}", "utf-8"), "spam")
        mail.learn(in_charset(f"встреча завтра на обед {k}", "utf-8"), "ham")
    assert mail.classify(in_charset("таблетки и казино дешёвые", "koi8-r")).label == "spam"
    assert mail.score(in_charset("обед и встреча завтра", "koi8-r")) < 0


@pytest.mark.parametrize("name", [name for name in evasions.REWRITINGS if name != "an image alone"])
def test_spam_that_is_rewritten_is_still_spam(name):
    mail = taught(n=400)
    raw = SPAM + b"you are a winner, click for free money from the casino, cheap pills and a prize now\n"
    found = evasions.rewritten(raw, HAM, evasions.REWRITINGS[name], random.Random(0))
    assert mail.score(found) > 0
