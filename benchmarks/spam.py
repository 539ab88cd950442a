"""How fast and how large is the mail filter? ``python -m benchmarks.spam [--messages 100000]``.

Prints messages a second scored and learned in process (2,000 bytes of each), CHECKs a second of ``tally spam serve``
with 50 clients, memory and size of a filter of 100,000 messages, the time to open it, and ``tally spam filter`` from
start to end, each beside its bar. On a busy machine go by the CPU times: what a second of one core does. With --quality
it prints 1-ROCA%, the share of spam lost at 0.1 % of ham flagged and lam% of two streams of real mail.
"""

import argparse
import itertools
import os
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallywise.spam import SpamFilter, trec_figures

TALLY = [sys.executable, "-c", "from tallywise.cli import main; main()"]
CUT = 2000


def show(what: str, figure: str, bar: str, more: str = "") -> None:
    print(f"{what:<44} {figure:>16}   bar {bar:<16} {more}", flush=True)


def streams() -> list[tuple[str, list[tuple[bytes, str]]]]:
    """Two archives of real mail, in order."""
    from tests.mail import csdmc, spamassassin  # with all that tests import: not for who measures memory

    return [("CSDMC 2010", csdmc()), ("SpamAssassin", spamassassin())]


def quality() -> None:
    """The protocol of the TREC spam track, beside the real bogofilter, which learns and judges the same messages."""
    for name, messages in streams():
        spam = [label == "spam" for _, label in messages]
        ours = trec_figures(SpamFilter().replay(messages), spam)
        with tempfile.TemporaryDirectory() as folder:
            theirs = trec_figures([bogofilter(folder, raw, label) - 0.5 for raw, label in messages], spam)
        for who, found in (("tallywise", ours), ("bogofilter", theirs)):
            print(
                f"{name:<14}{who:<11}{found.one_minus_roca:.4f} / {found.lost_spam:.2f} / {found.lam:.2f}", flush=True
            )


def bogofilter(folder: str, raw: bytes, label: str) -> float:
    """The probability of spam that bogofilter gives a message, which it then learns."""
    program = ["bogofilter", "-d", folder]
    answer = subprocess.run([*program, "-T"], input=raw, capture_output=True).stdout.split()
    subprocess.run([*program, "-s" if label == "spam" else "-n"], input=raw, check=True)
    return float(answer[1]) if len(answer) > 1 else 0.5  # the first message finds no words, and no answer


def in_process(messages: list[tuple[bytes, str]]) -> None:
    cut = [(raw[:CUT], label) for raw, label in messages]
    for threads in (1, 2):
        best, cpu = 1e9, 1e9
        for _ in range(5):
            start, used = time.perf_counter(), time.process_time()
            SpamFilter().replay(cut, threads=threads)
            best, cpu = min(best, time.perf_counter() - start), min(cpu, time.process_time() - used)
        more = f"{1e6 * cpu / len(cut):.1f} us of CPU a message"
        show(f"scored and learned a second, {threads} threads", f"{len(cut) / best:,.0f}", "20,000 (two)", more)


def learned(path: Path, n: int) -> None:
    """Learn n messages of a file of them, the same ones again and again, made others by a word; print memory's peak."""
    before = peak()
    start, used = time.perf_counter(), time.process_time()
    with SpamFilter(path) as mail:
        messages = variants(path.with_suffix(".messages"), n)
        while batch := list(itertools.islice(messages, 200)):
            mail.learn_many(batch)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    show(
        f"memory with {n:,} learned", f"{peak():,.0f} MB", "150 MB", f"{before:,.0f} MB before; file {size >> 20:,} MB"
    )
    show("learned a second into a file", f"{n / seconds:,.0f}", "-", f"{1e6 * cpu / n:.0f} us of CPU a message")


def variants(path: Path, n: int) -> Iterator[tuple[bytes, Any]]:
    """So many messages from a file in which each has a line before it: its label and its size."""
    done = round = 0
    while done < n:
        with path.open("rb") as file:
            while done < n and (line := file.readline()):
                label, size = line.split()
                yield file.read(int(size)) + b"\nvariant%d\n" % round, label.decode()
                done += 1
        round += 1


def write_messages(path: Path, messages: list[tuple[bytes, str]]) -> None:
    """The file that `variants` reads: whoever learns from it holds one batch of messages in memory, not all."""
    with path.open("wb") as file:
        for raw, label in messages:
            file.write(b"%s %d\n%s" % (label.encode(), len(raw), raw))


def peak() -> float:
    """The most megabytes that this program had at a time; getrusage would count those of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def opened(path: Path) -> None:
    times = []
    for _ in range(5):
        start, used = time.perf_counter(), time.process_time()
        SpamFilter(path, read_only=True).close()
        times.append((time.perf_counter() - start, time.process_time() - used))
    show(
        "a file of so many opens in",
        f"{1000 * min(times)[0]:,.0f} ms",
        "1,000 ms",
        f"{1000 * min(times)[1]:,.0f} ms of CPU",
    )


def piped(path: Path, raw: bytes) -> None:
    command = [*TALLY, "spam", "filter", "--store", str(path)]
    # As installed: pip compiles what it installs, and the first run here writes what later ones find.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(21):
        start, used = time.perf_counter(), children()
        subprocess.run(command, input=raw, stdout=subprocess.DEVNULL, check=True, env=environment)
        times.append((time.perf_counter() - start, children() - used))
    show(
        "tally spam filter, start to end",
        f"{1000 * min(times)[0]:.0f} ms",
        "60 ms",
        f"{1000 * min(times)[1]:.0f} ms of CPU",
    )


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def served(path: Path, messages: list[tuple[bytes, str]], clients: int, seconds: float) -> None:
    command = [*TALLY, "spam", "serve", "--store", str(path), "--spamd", "127.0.0.1:0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    port = int(server.stderr.readline().rsplit(":", 1)[1])
    requests = [
        b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(raw[:CUT]) + raw[:CUT] for raw, _ in messages[:500]
    ]
    used, start = cpu_of(server.pid), time.perf_counter()
    done = checks(port, requests, clients, start + seconds)
    took, used = time.perf_counter() - start, cpu_of(server.pid) - used
    server.terminate()
    server.wait()
    server.stderr.close()
    more = f"{1e6 * used / done:.0f} us of the server's CPU each; clients on the same cores"
    show(f"CHECKs a second, {clients} clients", f"{done / took:,.0f}", "3,000", more)


def checks(port: int, requests: list[bytes], clients: int, stop: float) -> int:
    """How many CHECKs are answered until a time, by clients that connect, ask and wait; all of them on one thread.

    A thread a client would measure how threads wait for each other.
    """
    poll, open_ones, done = select.epoll(), {}, 0
    more = itertools.cycle(requests)

    def begin() -> None:
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(next(more))
        poll.register(connection, select.EPOLLIN)
        open_ones[connection.fileno()] = (connection, [])

    for _ in range(clients):
        begin()
    while open_ones:
        for number, _ in poll.poll():
            connection, parts = open_ones[number]
            if part := connection.recv(4096):
                parts.append(part)
                continue
            answer = b"".join(parts)
            if b"EX_OK" not in answer:
                raise RuntimeError(answer)
            done += 1
            del open_ones[number]
            connection.close()
            if time.perf_counter() < stop:
                begin()
    poll.close()
    return done


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=100_000, help="messages of the large filter")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--learn-into", type=Path, help="learn into this file alone, and say what memory that took")
    parser.add_argument("--quality", action="store_true", help="figures of two streams instead, beside bogofilter's")
    options = parser.parse_args()
    if options.quality:
        quality()
        return
    if options.learn_into is not None:
        learned(options.learn_into, options.messages)
        return
    messages = streams()[1][1]
    in_process(messages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mail.spam")
        write_messages(path.with_suffix(".messages"), messages)
        count = ["--learn-into", str(path), "--messages", str(options.messages)]
        subprocess.run([sys.executable, "-m", "benchmarks.spam", *count], check=True)  # its peak of memory is its own
        opened(path)
        piped(path, messages[0][0])
        served(path, messages, options.clients, options.seconds)


if __name__ == "__main__":
    main()
