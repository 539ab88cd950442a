"""Are damaged files of filters noticed? ``python -m reliability.run stores [--full]``.

A bit of a filter's file is flipped, or a page of it is zeroed or takes the place of another. Then the filter must give
the probabilities that it gave before, or refuse; an export must be the one that it was before, or refuse; and what is
saved from the damaged file must be messages that were learned, with the labels that they had.
"""

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from reliability.kills import stream
from reliability.results import MEMORY, Limit, Measured, ended
from tallywise.spam import SpamFilter, SpamStoreError, digest_of
from tallywise.spam.recovery import recover

PAGE = 4096
_MESSAGES = 1500


def flip(data: bytearray, draw: random.Random) -> str:
    """Flip one bit."""
    at = draw.randrange(len(data))
    data[at] ^= 1 << draw.randrange(8)
    return f"bit of byte {at} flipped"


def flip_on_a_small_page(data: bytearray, draw: random.Random) -> str:
    """Flip one bit beside the table of weights, which fills most of the file."""
    pages = [start for start in range(0, len(data), PAGE) if data[start] in (2, 5, 10, 13)]  # pages of trees
    at = draw.choice(pages) + draw.randrange(PAGE)
    data[at] ^= 1 << draw.randrange(8)
    return f"bit of byte {at} flipped"


def zero(data: bytearray, draw: random.Random) -> str:
    """Zero one page."""
    at = PAGE * draw.randrange(len(data) // PAGE)
    data[at : at + PAGE] = bytes(PAGE)
    return f"page at {at} zeroed"


def copy(data: bytearray, draw: random.Random) -> str:
    """Put one page in the place of another, as a write that went astray does."""
    start, end = (PAGE * draw.randrange(1, len(data) // PAGE) for _ in range(2))
    data[end : end + PAGE] = data[start : start + PAGE]
    return f"page at {start} written to {end}"


DAMAGES: dict[str, Callable[[bytearray, random.Random], str]] = {
    "flip": flip,
    "flip on a small page": flip_on_a_small_page,
    "zero": zero,
    "copy": copy,
}


class Good:
    """A filter in a file, with weights kept and entries behind them, and what it answers."""

    def __init__(self, folder: Path, messages: int = _MESSAGES) -> None:
        self.folder = folder
        self.messages = stream(0, messages)
        with SpamFilter(folder / "good", keep_text=True) as mail:
            mail.learn_many(self.messages[: messages * 4 // 5])
            mail.forget(self.messages[3][0])
            mail.compact()
            mail.learn_many(self.messages[messages * 4 // 5 :])
        self.bytes = (folder / "good").read_bytes()
        self.asked = [raw for raw, _ in self.messages[::50]]
        self.labels = {digest_of(raw): label for raw, label in self.messages}
        with SpamFilter(folder / "good", read_only=True, max_flagged=0.01) as mail:
            self.scores = [mail.score(raw) for raw in self.asked]
            self.threshold = mail.threshold()
            self.export = list(mail.export())

    def outcome(self, kind: str, draw: random.Random) -> tuple[str, str]:
        """What a damage leads to, "right" or "refused", and what is wrong with it, if anything is."""
        data = bytearray(self.bytes)
        done = DAMAGES[kind](data, draw)
        path = self.folder / "bad"
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)
        found, wrong = "refused", ""
        try:
            with SpamFilter(path, read_only=True, max_flagged=0.01) as mail:
                scores, threshold = [mail.score(raw) for raw in self.asked], mail.threshold()
                found = "right"
                if scores != self.scores or threshold != self.threshold:
                    wrong = f"{done}: other probabilities"
                if list(mail.export()) != self.export:
                    wrong = f"{done}: another export"
        except SpamStoreError:
            pass
        except Exception as error:
            wrong = f"{done}: {type(error).__name__}: {error}"
        return found, wrong or self._wrong_when_recovered(path, done)

    def _wrong_when_recovered(self, path: Path, done: str) -> str:
        new = self.folder / "new"
        try:
            recover(path, new)
            with SpamFilter(new) as mail:
                saved = {bytes.fromhex(entry["digest"]): entry["label"] for entry in mail.export()}
            if any(self.labels.get(digest) != label for digest, label in saved.items()):
                return f"{done}: saved what was not learned so"
        except SpamStoreError:
            pass
        except Exception as error:
            return f"{done}: recover: {type(error).__name__}: {error}"
        finally:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{new}{suffix}").unlink(missing_ok=True)
        return ""


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """A thousand damages of each kind with `full`, else twenty."""
    count = 1000 if full else 20
    limit, draw = Limit(seconds), random.Random(1)
    outcomes = {"right": 0, "refused": 0}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        good = Good(Path(folder))
        for _ in range(count):
            if limit.over():
                break
            for kind in DAMAGES:
                found, why = good.outcome(kind, draw)
                outcomes[found] += 1
                wrong += [why] if why else []
    total = sum(outcomes.values())
    yield Measured(
        "stores",
        "files of mail filters with a flipped bit or a lost page" + ended(total, count * len(DAMAGES)),
        "the same probabilities and export as before, or a refusal; what is saved is what was learned",
        {"damages": total, "without effect": outcomes["right"], "refused": outcomes["refused"]},
        wrong,
    )
