"""Texts of requests that arrive together are scored together, by one native call."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tallywise.serve.models import Live, Models

_TOGETHER = 64  # texts a call: what one native thread takes at a time
_ON_LOOP = 1 << 13  # characters that take no longer to score than a thread takes to wake up


class Scored(NamedTuple):
    """A verdict on one text, and the model that gave it."""

    live: Live
    position: int  # of the verdict among the classes
    probability: float


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
        self._waiting: list[tuple[str, asyncio.Future[Scored]]] = []
        self._going = False  # a batch is about to be formed, or being scored

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=True)

    def score(self, text: str) -> "asyncio.Future[Scored]":
        """The verdict on a text, once it is there."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Scored] = loop.create_future()
        self._waiting.append((text, future))
        if not self._going:
            self._going = True
            loop.call_soon(self._next, loop)
        return future

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Form a batch and have it scored."""
        batch, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
        if not batch:
            self._going = False
            return
        texts, futures = [text for text, _ in batch], [future for _, future in batch]
        if sum(map(len, texts)) <= _ON_LOOP:
            self._answer(futures, _attempt(self._models, texts))
            loop.call_soon(self._next, loop)
            return

        def scored(done: "asyncio.Future[list[Scored] | Exception]") -> None:
            self._answer(futures, done.result())
            self._next(loop)

        loop.run_in_executor(self._thread, _attempt, self._models, texts).add_done_callback(scored)

    @staticmethod
    def _answer(futures: "list[asyncio.Future[Scored]]", found: "list[Scored] | Exception") -> None:
        for k, future in enumerate(futures):
            if future.cancelled():
                continue
            if isinstance(found, Exception):
                future.set_exception(found)
            else:
                future.set_result(found[k])


def _attempt(models: Models, texts: list[str]) -> list[Scored] | Exception:
    """Verdicts on a batch, or what went wrong with it."""
    try:
        live = models.current()
        P = live.model.predict_proba(texts)
        chosen = live.model.decide(P).tolist()
        return [Scored(live, k, row[k]) for k, row in zip(chosen, P.tolist(), strict=True)]
    except Exception as error:
        return error
