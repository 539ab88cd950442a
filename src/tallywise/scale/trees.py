"""Sums of floating point numbers over shards, with the same bits however the shards are spread over workers.

The shards are the leaves of one binary tree, which depends on their number alone. A worker that holds consecutive
shards adds up the largest subtrees that it holds whole and sends those few sums; the driver goes on from there. Whoever
adds two children adds the same two numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Sum = tuple[NDArray[np.float64], ...]


class Node(NamedTuple):
    """The subtree over shards [place 2^level, (place + 1) 2^level)."""

    level: int
    place: int

    @property
    def children(self) -> "tuple[Node, Node]":
        """The two halves."""
        return Node(self.level - 1, 2 * self.place), Node(self.level - 1, 2 * self.place + 1)


def root(n: int) -> Node:
    """The tree over n shards."""
    return Node((n - 1).bit_length(), 0)


def whole_nodes(held: range, n: int) -> Iterator[Node]:
    """The largest subtrees, in order, whose shards among the n are all in `held`.

    Examples
    --------
    >>> [tuple(node) for node in whole_nodes(range(2, 7), 7)]
    [(1, 1), (2, 1)]
    """

    def walk(node: Node) -> Iterator[Node]:
        start, stop = node.place << node.level, min((node.place + 1) << node.level, n)
        if start >= stop or stop <= held.start or start >= held.stop:
            return
        if held.start <= start and stop <= held.stop:
            yield node
        else:
            for child in node.children:
                yield from walk(child)

    yield from walk(root(n))


def node_sum(node: Node, leaf: Callable[[int], Sum | None], n: int) -> Sum | None:
    """Sum over a subtree; None where none of its shards has anything. No more sums are alive than the tree is deep."""
    if node.place << node.level >= n:
        return None
    if node.level == 0:
        return leaf(node.place)
    left, right = node.children
    return added(node_sum(left, leaf, n), node_sum(right, leaf, n))


def total(known: dict[Node, Sum | None], n: int) -> Sum:
    """Sum over the whole tree from the sums of subtrees."""

    def walk(node: Node) -> Sum | None:
        if node in known:
            return known[node]
        if node.level == 0:
            return None
        left, right = node.children
        return added(walk(left), walk(right))

    found = walk(root(n))
    assert found is not None, "no shard has any rows"
    return found


def gathered(answers: Iterable[dict[Node, Sum | None]], n: int) -> Sum:
    """Sum over the whole tree from what workers have sent."""
    known: dict[Node, Sum | None] = {}
    for answer in answers:
        known.update(answer)
    # What came from another process is read-only, and the first child of a sum is written to.
    return total({node: None if s is None else tuple(map(np.array, s)) for node, s in known.items()}, n)


def added(a: Sum | None, b: Sum | None) -> Sum | None:
    """Sum of two; the arrays of the first are reused."""
    if a is None or b is None:
        return a if b is None else b
    for mine, theirs in zip(a, b, strict=True):
        mine += theirs
    return a
