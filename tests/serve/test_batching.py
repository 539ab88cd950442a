"""Texts of requests that arrive together are scored together."""

import asyncio

import numpy as np
import pytest

pytest.importorskip("apsw")

from tallywise.serve.batching import Gatherer
from tallywise.serve.model_versions import Live, NoModelError


class Lengths:
    """A model whose second class has the probability length / 10,000, and which notes what it was asked."""

    classes = ("short", "long")

    def __init__(self):
        self.asked = []

    def predict_proba(self, texts):
        self.asked.append(len(texts))
        if "bad" in texts:
            msg = "a bad text"
            raise ArithmeticError(msg)
        p = np.array([len(text) for text in texts]) / 10_000
        return np.column_stack([1 - p, p])

    def decide(self, P):
        return P.argmax(axis=1)


class Holder:
    """Models with one in place."""

    def __init__(self, model):
        self.live = Live.of(model, 1, "1")

    def current(self):
        if self.live is None:
            raise NoModelError
        return self.live


def scored(gatherer, text):
    """The prediction of a text, once it is there."""
    future = asyncio.get_running_loop().create_future()

    def done(found):
        if future.cancelled():
            return
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)

    gatherer.submit(text, done)
    return future


def gathered(holder, texts):
    async def run():
        gatherer = Gatherer(holder)
        try:
            return await asyncio.gather(*(scored(gatherer, text) for text in texts), return_exceptions=True)
        finally:
            gatherer.close()

    return asyncio.run(run())


@pytest.mark.parametrize("sizes", [[1], [10] * 7, [5000] * 3, list(range(1, 9000, 50))])
def test_each_text_gets_its_own_verdict(sizes):
    found = gathered(Holder(Lengths()), ["x" * n for n in sizes])
    assert [round(max(n, 10_000 - n) / 10_000, 9) for n in sizes] == [
        round(one.probabilities[one.position], 9) for one in found
    ]
    assert [int(n > 5000) for n in sizes] == [one.position for one in found]


def test_texts_of_one_turn_share_a_call_and_none_has_more_than_a_chunk():
    model = Lengths()
    gathered(Holder(model), ["a text"] * 150)
    assert model.asked == [64, 64, 22]
    large = Lengths()
    gathered(Holder(large), ["x" * 1000] * 150)
    assert large.asked == [64, 64, 22]


def test_a_failed_call_fails_its_own_texts_and_the_next_go_on():
    model = Lengths()
    found = gathered(Holder(model), ["bad", *["x" * 1000] * 80])
    assert all(isinstance(one, ArithmeticError) for one in found[:64])
    assert all(one.position == 0 for one in found[64:])


def test_the_model_in_place_when_the_batch_is_formed_answers():
    holder = Holder(Lengths())
    other = holder.live._replace(version="2")

    async def run():
        gatherer = Gatherer(holder)
        asked = scored(gatherer, "a text")
        holder.live = other
        first = await asked
        holder.live = None
        with pytest.raises(NoModelError):
            await scored(gatherer, "a text")
        holder.live = other
        last = await scored(gatherer, "x" * 9000)
        gatherer.close()
        return first, last

    first, last = asyncio.run(run())
    assert (first.live.version, last.live.version, last.position) == ("2", "2", 1)


def test_one_who_went_away_does_not_hinder_the_others():
    async def run():
        gatherer = Gatherer(Holder(Lengths()))
        gone, stays = scored(gatherer, "x" * 6000), scored(gatherer, "x" * 6000)
        gone.cancel()
        found = await stays
        gatherer.close()
        return found

    assert asyncio.run(run()).position == 1
