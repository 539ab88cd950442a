# ruff: noqa: D102 (rules are named for what they do)
"""Do the stores stay what they were told to be? ``python -m reliability.run states [--full]``.

Hypothesis draws sequences of learn, forget, relearn, undo, merge, compact, restart and kill for the service's text
store, for the mail filter, and for the service over HTTP. A dictionary is told the same; after every step the two must
agree. A run that disagrees is shrunk to the shortest that does and printed. A few runs of 50 steps by default, 1,000
with --full.

A kill of the stores is a copy of their files as they are on the disk, without the process that writes them; a kill of
the service is SIGKILL. The files lie in memory, and services are forked from a process that has imported all they need.
"""

import json
import shutil
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from reliability.children import service
from reliability.results import MEMORY, Limit, Measured, ended
from tallywise.serve import Store, queries, store_writes
from tallywise.spam import SpamFilter, digest_of

STEPS = 50
done: Counter[str] = Counter()  # steps of each kind that were taken

# Few texts, so that learns meet; spaces and case, which make repeats; scripts, NUL, quotation marks, FTS5's operators.
_SAMPLES = ["win a prize", "WIN  a prize", "lunch at noon", "e\u0301t\u00e9", "\u0645\u0631\u062d\u0628\u0627"]
TEXTS = st.sampled_from([*_SAMPLES, "a\x00b", '"NEAR" OR *', "", "x " * 3000]) | st.text(max_size=12)
LABELS = st.sampled_from(["spam", "ham", "unsure?", "\u05e9\u05dc\u05d5\u05dd"])


class StoreMachine(RuleBasedStateMachine):
    """The text store against a dictionary of texts and labels."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.generation = 0
        self.store = Store(self.folder / "0")
        self.model: dict[str, str | None] = {}
        self.changes: list[tuple[str, str | None]] = []  # what may be undone: text and label before
        self.keys: dict[str, tuple[str, str, Any]] = {}

    def write(self, job: Any) -> Any:
        return self.store.write(job).result()

    @rule(text=TEXTS, label=LABELS)
    def learn(self, text: str, label: str) -> None:
        done["store learn"] += 1
        found = self.write(lambda db: store_writes.learn(db, text, label, who="me"))
        old = self.model.get(text)
        assert (found.changed, found.old) == (old != label, old)
        if old != label:
            self.changes.append((text, old))
        self.model[text] = label

    @rule(text=TEXTS)
    def forget(self, text: str) -> None:
        done["store forget"] += 1

        def job(db: Any) -> Any:
            number = store_writes.find(db, text)
            return None if number is None else store_writes.forget(db, number, "me")

        found = self.write(job)
        assert (found is None) == (text not in self.model)
        if found is not None:
            old = self.model[text]
            assert found.old == old
            if old is not None:
                self.changes.append((text, old))
            self.model[text] = None

    @rule()
    def undo(self) -> None:
        done["store undo"] += 1
        if not self.changes:
            try:
                self.write(lambda db: store_writes.undo(db, who="me"))
            except store_writes.NothingToUndoError:
                return
            msg = "there was nothing to undo"
            raise AssertionError(msg)
        text, old = self.changes.pop()
        self.write(lambda db: store_writes.undo(db, who="me"))
        self.model[text] = old

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def erase(self, data: Any) -> None:
        done["store erase"] += 1
        text = data.draw(st.sampled_from(sorted(self.model)))
        self.write(lambda db: store_writes.erase(db, [store_writes.find(db, text)]))
        del self.model[text]
        self.changes = [change for change in self.changes if change[0] != text]

    @rule(key=st.sampled_from(["k1", "k2", "k3"]), text=TEXTS, label=LABELS)
    def learn_once(self, key: str, text: str, label: str) -> None:
        """A key gives its first answer again, and is refused for anything else."""
        done["store learn once"] += 1
        request = f"{text}\x00{label}".encode("utf-8", "surrogatepass")

        def job(db: Any) -> Any:
            return store_writes.once(
                db, key, request, lambda: {"changed": store_writes.learn(db, text, label, who="me").changed}
            )

        known = self.keys.get(key)
        if known is not None and known[:2] != (text, label):
            try:
                self.write(job)
            except store_writes.KeyReusedError:
                return
            msg = "a key was taken for two requests"
            raise AssertionError(msg)
        answer = self.write(job)
        if known is not None:
            assert answer == known[2]
            return
        old = self.model.get(text)
        assert answer == {"changed": old != label}
        if old != label:
            self.changes.append((text, old))
        self.model[text] = label
        self.keys[key] = (text, label, answer)

    @rule()
    def a_job_that_fails(self) -> None:
        """What fails half way leaves nothing."""
        done["store failing job"] += 1

        def job(db: Any) -> None:
            store_writes.learn(db, "half", "spam", who="me")
            raise KeyError

        future = self.store.write(job)
        assert isinstance(future.exception(), KeyError)

    @rule()
    def restart(self) -> None:
        done["store restart"] += 1
        self.store.close()
        self.store = Store(self.folder / str(self.generation))

    @rule()
    def kill(self) -> None:
        done["store kill"] += 1
        old, self.generation = self.folder / str(self.generation), self.generation + 1
        shutil.copytree(old, self.folder / str(self.generation), ignore=shutil.ignore_patterns("*-shm"))
        self.store.close()
        shutil.rmtree(old)
        self.store = Store(self.folder / str(self.generation))

    @invariant()
    def agrees(self) -> None:
        def look(db: Any) -> Any:
            items, _ = queries.page(db, limit=500)
            return items, queries.label_counts(db), queries.totals(db), queries.labelled_after(db, 0)

        items, counts, totals, net = self.store.read(look)
        assert len(items) == len(self.model)
        assert {item.text: item.label for item in items} == self.model
        labels = Counter(label for label in self.model.values() if label is not None)
        assert counts == dict(labels)
        assert (totals["texts"], totals["labelled"]) == (len(self.model), sum(labels.values()))
        # What a model has yet to hear of, all told, are the labels that there are.
        assert Counter(new for _, _, new in net if new is not None) == labels

    def teardown(self) -> None:
        check = self.store.read(lambda db: db.execute("PRAGMA integrity_check").get)
        self.write(lambda db: db.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)"))
        self.store.close()
        shutil.rmtree(self.folder)
        assert check == "ok"


MAILS = [f"From: a{k}@x.example\nSubject: {word}\n\n{word} {k}\n".encode() for k, word in enumerate(
    ["pills", "lunch", "prize", "notes", "casino", "patch", "offer", "draft"])]  # fmt: skip


class FilterMachine(RuleBasedStateMachine):
    """The mail filter against a dictionary of digests and labels."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.generation = 0
        self.model: dict[str, str] = {}
        self._start()

    def _start(self) -> None:
        self.mail = SpamFilter(self.folder / f"{self.generation}.spam")

    @rule(raw=st.sampled_from(MAILS), label=st.sampled_from(["spam", "ham"]))
    def learn(self, raw: bytes, label: Any) -> None:
        done["filter learn"] += 1
        known = self.model.get(digest_of(raw).hex())
        outcome = self.mail.learn(raw, label).outcome
        assert outcome == ("learned" if known is None else "known" if known == label else "replaced")
        self.model[digest_of(raw).hex()] = label

    @rule(raws=st.lists(st.sampled_from(MAILS), max_size=5), label=st.sampled_from(["spam", "ham"]))
    def learn_many(self, raws: list[bytes], label: Any) -> None:
        done["filter learn many"] += 1
        self.mail.learn_many([(raw, label) for raw in raws])
        self.model |= {digest_of(raw).hex(): label for raw in raws}

    @rule(raw=st.sampled_from(MAILS), purge=st.booleans())
    def forget(self, raw: bytes, purge: bool) -> None:
        done["filter forget"] += 1
        assert self.mail.forget(raw, purge=purge).found == (self.model.pop(digest_of(raw).hex(), None) is not None)

    @rule(raws=st.lists(st.sampled_from(MAILS), max_size=4, unique=True), label=st.sampled_from(["spam", "ham"]))
    def merge(self, raws: list[bytes], label: Any) -> None:
        done["filter merge"] += 1
        with SpamFilter() as other:
            other.learn_many([(raw, label) for raw in raws])
            entries = list(other.export())
        new = sum(self.model.get(entry["digest"]) != label for entry in entries)
        assert self.mail.take_in(entries) == new
        self.model |= {entry["digest"]: label for entry in entries}

    @rule()
    def compact(self) -> None:
        done["filter compact"] += 1
        self.mail.compact()

    @rule()
    def restart(self) -> None:
        done["filter restart"] += 1
        self.mail.close()
        self._start()

    @rule()
    def kill(self) -> None:
        done["filter kill"] += 1
        old, self.generation = self.generation, self.generation + 1
        for path in self.folder.glob(f"{old}.spam*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, self.folder / path.name.replace(str(old), str(self.generation), 1))
        self.mail.close()
        self._start()

    @invariant()
    def agrees(self) -> None:
        entries = [(entry["digest"], entry["label"]) for entry in self.mail.export()]
        assert len(entries) == len(self.model)
        assert dict(entries) == self.model
        spam = sum(label == "spam" for label in self.model.values())
        assert self.mail.counts() == (spam, len(self.model) - spam)

    def teardown(self) -> None:
        self.mail.settle()
        wrong = self.mail.verify()
        self.mail.close()
        shutil.rmtree(self.folder)
        assert wrong == []


class ServiceMachine(RuleBasedStateMachine):
    """The service, over HTTP, against a dictionary of texts and labels."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.model: dict[str, str | None] = {}
        self._start()

    def _start(self) -> None:
        self.server = service(self.folder / "s")
        self.asked = 0

    def worked(self) -> bool:
        """Whether there is something that a restart could lose: starts are by far the slowest steps."""
        return self.asked >= 5

    def ask(self, path: str, body: Any = None, key: str = "") -> Any:
        data = None if body is None else json.dumps(body).encode()
        self.asked += data is not None
        headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
        with urllib.request.urlopen(
            urllib.request.Request(self.server.url + path, data, headers), timeout=60
        ) as answer:
            return json.load(answer)

    @rule(text=TEXTS, label=LABELS, times=st.integers(1, 2), key=st.booleans())
    def learn(self, text: str, label: str, times: int, key: bool) -> None:
        """A retried learn counts once, with a key or without."""
        done["service learn"] += 1
        old = self.model.get(text)
        name = f"{len(done)}-{done.total()}" if key else ""
        answers = [self.ask("/learn", {"text": text, "label": label}, name) for _ in range(times)]
        assert (answers[0]["changed"], answers[0]["old"]) == (old != label, old)
        assert key is False or all(answer == answers[0] for answer in answers)
        assert key or times == 1 or not answers[1]["changed"]
        self.model[text] = label

    @rule(pairs=st.lists(st.tuples(TEXTS, LABELS), max_size=5))
    def learn_many(self, pairs: list[tuple[str, str]]) -> None:
        done["service learn many"] += 1
        answer = self.ask("/learn", {"examples": [{"text": text, "label": label} for text, label in pairs]})
        changed = 0
        for text, label in pairs:
            changed += self.model.get(text) != label
            self.model[text] = label
        assert answer == {"learned": len(pairs), "changed": changed}

    @rule(text=TEXTS, erase=st.booleans())
    def forget(self, text: str, erase: bool) -> None:
        done["service forget"] += 1
        answer = self.ask("/forget", {"text": text, "erase": erase})
        assert (answer["id"] is not None) == (text in self.model)
        if text in self.model:
            assert answer["old"] == self.model[text]
            self.model[text] = None
            if erase:
                del self.model[text]

    @precondition(worked)
    @rule()
    def restart(self) -> None:
        done["service restart"] += 1
        assert self.server.stop() in (0, -15)
        self._start()

    @precondition(worked)
    @rule()
    def kill(self) -> None:
        done["service kill"] += 1
        self.server.stop("kill")
        self._start()

    @invariant()
    def agrees(self) -> None:
        found = self.ask("/texts?limit=500")
        assert found["before"] is None
        assert len(found["texts"]) == len(self.model)
        assert {item["text"]: item["label"] for item in found["texts"]} == self.model

    def teardown(self) -> None:
        code = self.server.stop()
        shutil.rmtree(self.folder)
        assert code in (0, -15)


MACHINES = {"store": StoreMachine, "filter": FilterMachine, "service": ServiceMachine}


def run(name: str, runs: int) -> str:
    """Drive one machine; what went wrong, in one line, or nothing."""
    chosen = settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    try:
        run_state_machine_as_test(MACHINES[name], settings=chosen)
    except Exception as error:  # whatever it was: hypothesis has printed the shortest sequence that leads there
        return f"{name}: {type(error).__name__}: {error}".splitlines()[0]
    return ""


def measure(full: bool, seconds: float | None, only: str = "") -> Iterator[Measured]:
    """Drive each machine, a few runs at a time until there are enough or the time is over."""
    for name, machine in MACHINES.items():
        if only not in ("", name):
            continue
        done.clear()
        wanted = 1000 if full else 5 if name == "service" else 25
        limit = Limit(seconds)
        runs, wrong = 0, ""
        while runs < wanted and not wrong and not limit.over():
            part = min(5 if name == "service" else 25, wanted - runs)
            wrong = run(name, part)
            runs += part
        kinds = ", ".join(f"{n:,} {kind.removeprefix(name + ' ')}" for kind, n in sorted(done.items()))
        yield Measured(
            f"states_{name}",
            str(machine.__doc__).rstrip(".") + ended(runs, wanted),
            "after every step both hold the same",
            {"runs": runs, "steps": done.total(), "of them": kinds},
            [wrong] if wrong else [],
            "python -m reliability.run states --full",
        )
