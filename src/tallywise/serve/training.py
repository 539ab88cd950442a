"""Background fitting: notices changed labels, gives orders to the learner's process, puts its models in place."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tallywise.serve import queries, store_writes
from tallywise.serve.model_versions import Models
from tallywise.serve.text_store import Store

_REST = 3.0  # a fit that took t seconds is followed by a pause of 3 t, so that fitting takes a quarter of the time
_LONGEST_REST = 120.0
_IDLE = 60.0  # seconds after which a learner that holds nothing gives its memory back
_FIRST = "multinomial_nb"  # the model that is fitted first
_GROWN = 1.25  # labels over those of the last fit, from which on a model that learns on line is chosen and judged anew


@dataclass
class FitProgress:
    """What the page shows of a fit."""

    state: str = "idle"  # idle, fitting, failed
    line: str = ""
    since: float = field(default_factory=time.time)


class Trainer:
    """One learner process, fed one order at a time."""

    def __init__(self, store: Store, models: Models, model: str = "auto", time_limit: float = 60.0) -> None:
        self.store, self.models = store, models
        self.model, self.time_limit = model, time_limit
        self.progress = FitProgress()
        self.fits = self.failures = 0
        self._changed = asyncio.Event()
        self._asked = False
        self._order = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._online: int | None = None  # version that the learner holds and can go on with
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look after the model."""
        self._task = asyncio.create_task(self._run(), name="trainer")
        self._changed.set()

    async def stop(self) -> None:
        """End the learner; labels are in the store, so nothing is lost."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._end()

    def changed(self) -> None:
        """Say that labels have changed."""
        self._changed.set()

    def ask(self) -> None:
        """Fit now, whatever the labels."""
        self._asked = True
        self._changed.set()

    def behind(self) -> int:
        """Changes of labels that the newest model has not seen."""
        versions = self.store.read(queries.versions)
        learned = versions[0].learned if versions else 0
        return self.store.read(store_writes.last_event) - learned

    def willing(self) -> str | None:
        """None if labels of the store may replace the model; else why they do not by themselves."""
        counts = self.store.overview(queries.label_counts)
        if len(counts) < 2:
            return "Labels of two classes are needed to learn a difference."
        if self._asked:
            return None
        live = self.models.live
        if live is not None:
            version = self.models.get(live.number)
            if version.brought and sum(counts.values()) < version.texts:
                return (
                    f"The model in place learned from {version.texts:,} texts that are not in the store, so labels are "
                    "kept but do not replace it by themselves. Ask for a fit to use the store's labels alone."
                )
        return None

    async def _run(self) -> None:
        while True:
            waiting = None if self._process is None or self._online is not None else _IDLE
            try:
                await asyncio.wait_for(self._changed.wait(), waiting)
            except TimeoutError:
                await self._end()
                continue
            await asyncio.sleep(0.05)  # labels that come together are learned together
            self._changed.clear()
            try:
                await self._work()
            except Exception as error:  # a failed fit must not end all later ones
                self.failures += 1
                self.progress = FitProgress("failed", str(error))

    async def _judge_new(self) -> None:
        """Let the model in place say what it thinks of texts that have come since."""
        while (live := self.models.live) is not None:
            rows = await asyncio.to_thread(self.store.read, queries.unjudged)
            if not rows:
                return
            verdicts = await asyncio.to_thread(live.predictions, [text for _, text in rows])
            seen = [
                store_writes.Judged(number, v.label, v.probability, v.margin)
                for (number, _), v in zip(rows, verdicts, strict=True)
            ]
            judge = partial(store_writes.judge, verdicts=seen, version=live.version)
            await asyncio.wrap_future(self.store.write(judge))

    async def _work(self) -> None:
        await self._judge_new()
        behind = await asyncio.to_thread(self.behind)
        if not (behind > 0 or self._asked):
            return
        if await asyncio.to_thread(self.willing) is not None:
            if await asyncio.to_thread(self.store.overview, queries.label_counts) and self.models.live is None:
                await self._ready()  # it is up when the second class comes, and suggestions follow at once
            return
        if not self._asked and self._online is not None and await self._update() and not await self._outgrown():
            return
        self.progress = FitProgress("fitting", "starting")
        if self.models.live is None and self.model == "auto":  # a quick one first: suggestions begin within seconds
            await self._fit(_FIRST)
        self._asked = False
        seconds = await self._fit(self.model)
        self.progress = FitProgress()
        self.fits += 1
        if self._online is not None:  # it goes on learning, and fits that wait for growth are rare by themselves
            return
        rest = min(_REST * seconds, _LONGEST_REST)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._until_asked(), rest)

    async def _until_asked(self) -> None:
        while not self._asked:
            await asyncio.sleep(0.1)

    async def _update(self) -> bool:
        """Learn on line; False where that cannot be done."""
        number = self._online
        assert number is not None
        version = await asyncio.to_thread(self.models.get, number)
        done = await self.order({"do": "update", "out": str(self.store.models / version.file)})
        if done.get("refit"):
            self._online = None
            return False
        updates = version.updates + 1
        await asyncio.wrap_future(
            self.store.write(lambda db: store_writes.update_model(db, number, int(done["learned"]), updates))
        )
        if not self.models.pinned:
            await asyncio.to_thread(self.models.activate, number)
        return True

    async def _outgrown(self) -> bool:
        """Whether there are so many more labels than at the last fit that its choice and its figures are old."""
        assert self._online is not None
        fitted = (await asyncio.to_thread(self.models.get, self._online)).texts
        counts = await asyncio.to_thread(self.store.overview, queries.label_counts)
        return sum(counts.values()) >= _GROWN * fitted

    async def _ready(self) -> None:
        """Have the learner's process up."""
        async with self._order:
            if self._process is None:
                await self._begin()

    async def _fit(self, model: str) -> float:
        """Fit, evaluate, activate; returns the seconds that the learner took for it."""
        name = f"{time.time_ns()}.tally"
        out, facts_file = self.store.models / name, self.store.models / f"{name}.json"
        done = await self.order(
            {"do": "fit", "model": model, "time_limit": self.time_limit, "out": str(out), "facts": str(facts_file)}
        )
        found = json.loads(await asyncio.to_thread(facts_file.read_text, "utf-8"))
        facts_file.unlink()
        title, learned, texts = str(done["title"]), int(done["learned"]), int(done["texts"])
        number = await asyncio.wrap_future(
            self.store.write(lambda db: store_writes.add_model(db, title, name, learned, texts, False, found["facts"]))
        )
        for rows in _parts(found["held_out"]):
            part = [(int(i), str(a), str(b), float(p)) for i, a, b, p in rows]

            def keep(db: Any, part: list[tuple[int, str, str, float]] = part) -> None:
                store_writes.add_held_out(db, number, part)
                store_writes.judge(db, [store_writes.Judged(i, called, p, p) for i, _, called, p in part], str(number))

            await asyncio.wrap_future(self.store.write(keep))
        if not await asyncio.to_thread(lambda: self.models.pinned):
            for rows in _parts(found["judged"]):  # first: pages that see the new version ask for the least certain
                seen = [store_writes.Judged(*row) for row in rows]
                await asyncio.wrap_future(
                    self.store.write(partial(store_writes.judge, verdicts=seen, version=str(number)))
                )
            await asyncio.to_thread(self.models.activate, number)
        self._online = number if done["online"] else None
        return float(done["seconds"])

    async def order(self, order: dict[str, Any]) -> dict[str, Any]:
        """Give the learner an order and wait for its answer; progress lines are shown meanwhile."""
        async with self._order:
            process = self._process or await self._begin()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(order).encode() + b"\n")
                await process.stdin.drain()
                while line := await process.stdout.readline():
                    news = json.loads(line)
                    if "progress" in news:
                        self.progress = FitProgress("fitting", str(news["progress"]))
                    elif "failed" in news:
                        raise ValueError(news["failed"])
                    elif "done" in news:
                        answer: dict[str, Any] = news["done"]
                        return answer
            except (BrokenPipeError, ConnectionResetError):
                pass
            except asyncio.CancelledError:
                await self._end()
                raise
            await self._end()
            msg = "The process that fits has ended (out of memory?). It is started again at the next change."
            raise RuntimeError(msg)

    async def order_alone(self, order: dict[str, Any]) -> None:
        """Give an order whose result is in a file; what goes wrong is shown."""
        try:
            await self.order(order)
            self.progress = FitProgress()
        except (ValueError, RuntimeError) as error:
            self.progress = FitProgress("failed", str(error))

    async def _begin(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tallywise.serve.fit_process",
            str(self.store.folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
            start_new_session=True,  # Ctrl-C is for the service, which ends the learner itself
        )
        return self._process

    async def _end(self) -> None:
        process, self._process, self._online = self._process, None, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _parts(rows: list[Any]) -> Iterator[list[Any]]:
    """Writes of a thousand rows, so that a learn never waits for a long one."""
    for start in range(0, len(rows), 1000):
        yield rows[start : start + 1000]
