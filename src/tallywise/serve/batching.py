"""Texts of requests that arrive together are scored together, by one native call."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tallywise.serve.model_versions import Live, Models

_TOGETHER = 64  # texts a call: what one native thread takes at a time
_ON_LOOP = 1 << 13  # characters that take no longer to score than a thread takes to wake up


class ScoredText(NamedTuple):
    """A prediction of one text, and the model that gave it."""

    live: Live
    position: int  # of the label among the classes
    probabilities: list[float]


Done = Callable[[ScoredText | Exception], None]


class Gatherer:
    """Collects the texts of one turn of the event loop, and scores them while the loop reads the next requests.

    Nothing waits for company: a batch is what has arrived when the turn ends, or while the batch before it was scored.
    A batch of few characters is scored on the loop itself, others on a thread of their own, without Python's lock.
    Touched from the loop's thread only.

    Parameters
    ----------
    models : Models
        The model that is in place when a batch is formed scores all of it.
    """

    def __init__(self, models: Models) -> None:
        self._models = models
        self._thread = ThreadPoolExecutor(1, "scoring")
        self._waiting: list[tuple[str, Done]] = []
        self._going = False  # a batch is about to be formed, or being scored

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=True)

    def submit(self, text: str, done: Done) -> None:
        """Have a text scored; `done` is called on the loop with the verdict, or with what went wrong."""
        self._waiting.append((text, done))
        if not self._going:
            self._going = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Form a batch and have it scored."""
        batch, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
        if not batch:
            self._going = False
            return
        texts, waiting = [text for text, _ in batch], [done for _, done in batch]
        if sum(map(len, texts)) <= _ON_LOOP:
            _answer(waiting, _attempt(self._models, texts))
            loop.call_soon(self._next, loop)
            return

        def scored(done: "asyncio.Future[list[ScoredText] | Exception]") -> None:
            found = done.result()
            self._next(loop)  # first, so that the thread is busy while answers are written
            _answer(waiting, found)

        loop.run_in_executor(self._thread, _attempt, self._models, texts).add_done_callback(scored)


def _answer(waiting: list[Done], found: list[ScoredText] | Exception) -> None:
    for k, done in enumerate(waiting):
        done(found if isinstance(found, Exception) else found[k])


def _attempt(models: Models, texts: list[str]) -> list[ScoredText] | Exception:
    """Verdicts on a batch, or what went wrong with it."""
    try:
        live = models.current()
        P = live.model.predict_proba(texts)
        chosen = live.model.decide(P).tolist()
        return [ScoredText(live, k, row) for k, row in zip(chosen, P.tolist(), strict=True)]
    except Exception as error:
        return error
