"""Does hostile mail cost more than it should? ``python -m reliability.run mail [--full]``.

Every generator of `hostile_mail`, read as `tally classify` reads mail, and judged, explained, marked and learned by a
filter: never an exception, at most 1 s of processor time a MiB, at most 2.3 times as long for twice the size, at most
64 MiB and six times the size of memory. Messages of 64 and 128 KiB; with --full of 5 and 10 MiB. The same messages, of
128 KiB, then go to other readers, and a row says how many of them each reads within these bounds.
"""

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from reliability.hostile_mail import GENERATORS
from reliability.mail_peers import peers
from reliability.results import Limit, Measured, ended
from tallywise.reading.mail import mail_text
from tallywise.spam import SpamFilter, digest_of, fields, marked

MIB = 1 << 20
_SECONDS_A_MIB, _GROWTH, _MEMORY, _MEMORY_A_BYTE = 1.0, 2.3, 64 * MIB, 6
_SMALL = MIB // 8
_SHORT = 0.05  # seconds below which the clock says little about growth
_LIMIT, _LIMIT_OF_OTHERS = 60, 1  # seconds of the processor after which a reader is taken to hang: 8 times the bound
_PATIENCE = 600.0  # seconds of the clock, for machines that are busy


def _filtered(raw: bytes) -> None:
    mail = SpamFilter()
    mail.learn(b"Subject: lunch\n\nsee you at noon\n", "ham")
    mail.learn(raw, "spam")
    marked(raw, fields(mail.classify(raw, 10), mail.model))
    mail.forget(raw)
    digest_of(raw)


READERS: dict[str, Callable[[bytes], object]] = {"text": mail_text, "filter": _filtered}

_OURS = tuple(READERS)


class Cost(NamedTuple):
    """What one message took: seconds of the processor, bytes of memory beyond what was there, and what went wrong."""

    seconds: float
    memory: int
    error: str = ""


def cost(reader: str, raw: bytes) -> Cost:
    """What a message takes, in a process of its own; one of ours may take longer than another's before it is ended."""
    limit = _LIMIT if reader in _OURS else _LIMIT_OF_OTHERS
    there, here = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_measured, args=(reader, raw, here, limit))
    process.start()
    here.close()
    try:
        found = there.recv() if there.poll(_PATIENCE) else Cost(limit, 0, f"no answer in {_PATIENCE:.0f} s")
    except EOFError:
        found = Cost(limit, 0, f"the process died, or was ended after {limit} s")
    process.kill()
    process.join()
    return Cost(*found)


def _measured(reader: str, raw: bytes, out: "multiprocessing.connection.Connection", limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory counts from here
    before = _memory("VmRSS")
    start = time.process_time()
    error = ""
    try:
        READERS[reader](raw)
    except BaseException as caught:
        error = f"{type(caught).__name__}: {caught}"[:200]
    out.send((time.process_time() - start, max(0, _memory("VmHWM") - before), error))


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def breaches(reader: str, name: str, size: int) -> tuple[list[str], Cost]:
    """What is beyond its bounds for one generator, and what the larger message took."""
    small, large = (GENERATORS[name](n) for n in (size // 2, size))
    once = cost(reader, small)
    if once.error and reader not in _OURS:  # of others it is only asked whether they hold
        return [f"{name}, {len(small):,} bytes, {reader}: {once.error}"], once
    twice = cost(reader, large)
    if twice.seconds > _SHORT and twice.seconds > _GROWTH * len(large) / len(small) / 2 * once.seconds:
        once = Cost(max(once.seconds, cost(reader, small).seconds), *once[1:])  # the machine may have been busy
        twice = Cost(min(twice.seconds, cost(reader, large).seconds), *twice[1:])
    place = f"{name}, {len(large):,} bytes, {reader}"
    wrong = [f"{place}: {found.error}" for found in (once, twice) if found.error]
    if twice.seconds > max(_SHORT, _SECONDS_A_MIB * len(large) / MIB):
        wrong.append(f"{place}: {twice.seconds:.2f} s")
    if twice.seconds > _SHORT and twice.seconds > _GROWTH * len(large) / len(small) / 2 * once.seconds:
        wrong.append(f"{place}: {twice.seconds:.2f} s, and {once.seconds:.2f} s for half")
    if twice.memory > _MEMORY + _MEMORY_A_BYTE * len(large):
        wrong.append(f"{place}: {twice.memory / MIB:.0f} MiB of memory")
    return wrong, twice


def measure(full: bool, seconds: float | None, only: str = "") -> Iterator[Measured]:
    """Every generator through every reader."""
    limit = Limit(seconds)
    if only in ("", "ours"):
        yield ours(full, limit)
    if only in ("", "peers"):
        yield beside(limit)


def ours(full: bool, limit: Limit) -> Measured:
    """Every generator through our readers."""
    size = 10 * MIB if full else _SMALL
    wrong: list[str] = []
    worst = Cost(0, 0)
    count = 0
    for name in GENERATORS:
        for reader in READERS:
            if limit.over():
                break
            found, taken = breaches(reader, name, size)
            wrong += found
            worst = Cost(max(worst.seconds, taken.seconds), max(worst.memory, taken.memory))
            count += 1
    return Measured(
        "hostile_mail",
        "mail written to hurt its reader, read as text and judged, learned and forgotten by the filter",
        "no exception; at most 1 s a MiB, 2.3 times the time for twice the size, 64 MiB and 6 times the size of memory",
        {
            "messages": 2 * count,
            "generators": len(GENERATORS),
            "MiB the largest": round(size / MIB, 2),
            "s at most": round(worst.seconds, 2),
            "MiB of memory at most": round(worst.memory / MIB),
        },
        wrong,
        "python -m reliability.run mail --full",
    )


def beside(limit: Limit) -> Measured:
    """How many of the generators each other reader takes within the bounds, beside ours."""
    READERS.update(peers())  # children are forked, and know readers by name
    within = {name: 0 for name in ("text", *peers())}
    raised = dict.fromkeys(within, 0)
    tried = 0
    for name in GENERATORS:
        if limit.over():
            break
        tried += 1
        for reader in within:
            found = breaches(reader, name, _SMALL)[0]
            within[reader] += not found
            raised[reader] += any("Error" in line or "process died" in line for line in found)
    ours = within.pop("text")
    figures = {"generators": tried, "within the bounds by tallywise": ours}
    for reader, count in within.items():
        figures |= {f"by {reader}": count, f"exceptions or deaths of {reader}": raised[reader]}
    return Measured(
        "hostile_mail_peers",
        f"the same mail, of {_SMALL >> 10} KiB, read by others" + ended(tried, len(GENERATORS)),
        "the bounds of the row above hold for tallywise",
        figures,
        [] if ours == tried else [f"{tried - ours} generators are beyond the bounds"],
        "python -m reliability.run mail --full",
    )
