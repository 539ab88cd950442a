"""Smaller models: weights in few bits, terms and scales coded; the file says by how much that can change a score.

- Weights become whole numbers: of 16 bits times one unit for a single column of scores, of 8 bits times a power of two
  of their row for several. A score changes by at most the sum over features of |x_j| times half a unit of row j
  (`TextModel.largest_change`); the file states the largest of these halves.
- What all classes share in a row changes no verdict: with several columns each row is moved so that its largest and its
  smallest weight are equally far from 0.
- A view whose terms are all in another view of the same analysis is folded into that one; terms without any weight are
  left out where they do not count for the length of a text.
- Terms are written by what they share with the one before, scales by their place in a table. Both are exact.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _native
from tallywise.models.model_file import Contents, size

_MOST_SCALES = 1 << 16
_ROUNDED = 1 << 16  # rows of weights at a time: they may be made as they are asked for
_FOR_REMARKS = 64  # bytes for what is said later of the terms left out
_MOST_TIMES, _MOST_MORE = 32, 1 << 20  # bytes of decoded terms: so many times the coded ones, and so many more
_BY_FEATURE = {
    "W": 0,
    "scale": 1,
    "exponents": -100,  # a weight of 0 is exact
}  # arrays with a row a feature, and what a term without weight has there


def compact(contents: Contents, max_size: int | None = None) -> Contents:
    """The model in few bytes; see the module for what changes.

    With `max_size`, terms are left out, those first that add least to the scores of usual texts, until the file has at
    most so many bytes. That may change verdicts; the file states how many terms were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.models.model_file import Contents, size
    >>> from tallywise.models.compression import compact
    >>> meta = {"views": [{"n_features": 2}], "blocks": [{"view": 0, "norm": "none"}], "link": {"kind": "sigmoid"}}
    >>> small = compact(Contents(meta, {"W": np.array([[0.5], [-1.0]]), "scale": np.ones(2)}))
    >>> small.arrays["W"].ravel(), small.meta["precision"]["bits"]
    (array([ 16384, -32767], dtype=int16), 16)
    """
    meta, arrays = dict(contents.meta), dict(contents.arrays)
    if "memory" not in meta and arrays["W"].dtype == np.float64:
        _round_weights(meta, arrays)
        _fold_views(meta, arrays)
        _leave_out_dead_terms(meta, arrays)
    found = _coded(meta, arrays)
    return found if max_size is None or size(*found) <= max_size else _shrunk(meta, arrays, max_size)


def _coded(meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Contents:
    coded = dict(arrays)
    for v in range(len(meta["views"])):
        _code_terms(coded, f"_{v}" if v else "")
    _code_scale(coded)
    return Contents(meta, coded)


# --- leaving out ---


def _shrunk(meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]], max_size: int) -> Contents:
    """The model with as many of its terms as a file of that size can hold, found by bisection."""
    if "memory" in meta or any(view["n_features"] is not None for view in meta["views"]):
        msg = "max_size leaves out terms: a model that remembers texts, or whose columns are hashes, cannot do without."
        raise ValueError(msg)
    room = max_size - _FOR_REMARKS
    importance = _importance(meta, arrays)
    values = np.sort(np.concatenate(importance))[::-1]
    low, high, found = 0, len(values), None
    while high - low > max(len(values) // 200, 1) or found is None:
        middle = (low + high) // 2
        kept = [part >= values[middle] for part in importance] if middle else [part < 0 for part in importance]
        trial = _coded(*_with_terms(meta, arrays, kept))
        if size(*trial) <= room:
            low, found = middle, trial
        elif middle == 0:
            msg = f"A file of this model takes {size(*trial):,} bytes without any term. Got max_size={max_size:,}."
            raise ValueError(msg)
        else:
            high = middle
    return found


def _importance(meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float64]]:
    """What each term of each view moves scores by in the mean over texts, up to a factor.

    A term in a share of exp(1 - scale) of the texts (tf-idf; no share is known to other weightings) that moves a score
    by its weight, times its value in a text of usual length.
    """
    sizes = [_size(meta["views"], arrays, v) for v in range(len(meta["views"]))]
    found = [np.zeros(n) for n in sizes]
    share = [np.ones(n) for n in sizes]
    begin = 0
    for block in meta["blocks"]:
        v, end = block["view"], begin + sizes[block["view"]]
        scale = arrays["scale"][begin:end]
        W = ModelWeights.read(arrays)[begin:end]
        alone = W.shape[1] == 1 or meta["link"]["kind"] == "independent"
        moved = np.abs(W).max(axis=1) if alone else W.max(axis=1) - W.min(axis=1)
        found[v] = np.maximum(found[v], moved * np.abs(scale) / (float(block.get("length", 1.0)) or 1.0))
        if block["norm"] == "l2":
            share[v] = np.exp(1 - scale)
        begin = end
    return [a * b for a, b in zip(found, share, strict=True)]


def _with_terms(
    meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]], kept: list[NDArray[np.bool_]]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The model with some of its terms, by view."""
    found = dict(arrays)
    for v, mine in enumerate(kept):
        if mine.all():
            continue
        ending = f"_{v}" if v else ""
        found[f"terms{ending}"], found[f"term_offsets{ending}"] = _take(*_terms(arrays, v), mine)
    rows = np.concatenate([kept[block["view"]] for block in meta["blocks"]])
    found |= {name: arrays[name][rows] for name in _BY_FEATURE if name in arrays}
    left_out = {"terms": int(sum((~mine).sum() for mine in kept)), "of": sum(map(len, kept))}
    return {**meta, "left_out": left_out}, found


# --- weights ---


def _round_weights(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    W = arrays["W"]
    if W.shape[1] == 1:
        W = np.asarray(W)
        unit = float(np.abs(W).max(initial=0.0)) / 32767 or 1.0
        arrays["W"], arrays["units"] = np.rint(W / unit).astype(np.int16), np.array([unit])
        meta["precision"] = {"bits": 16, "half_unit": unit / 2}
        return
    stretches = [slice(begin, begin + _ROUNDED) for begin in range(0, len(W), _ROUNDED)]
    units = np.ones(W.shape[1])
    if meta["link"]["kind"] == "independent":  # scores that are never compared: each has a unit of its own size
        squares = np.sum([np.square(W[rows]).sum(axis=0) for rows in stretches], axis=0)
        units = np.sqrt(squares / max(len(W), 1)) + np.finfo(float).tiny
    rounded, exponents = np.empty(W.shape, dtype=np.int8), np.empty(len(W), dtype=np.int8)
    for rows in stretches:
        rounded[rows], exponents[rows] = _native.rounded_rows(W[rows] / units, meta["link"]["kind"] == "softmax")
    arrays |= {"W": rounded, "exponents": exponents, "units": units}
    half = float(np.ldexp(0.5, int(exponents.max(initial=-100)))) * float(units.max())
    meta["precision"] = {"bits": 8, "half_unit": half}


@dataclass(frozen=True, eq=False)
class ModelWeights:
    """The weights of all features: real numbers, or whole ones times a unit per column and a power of two per row."""

    W: NDArray[Any]  # (features, columns), as stored
    units: NDArray[np.float64] | None = None
    exponents: NDArray[np.int8] | None = None

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> "ModelWeights":
        """From the arrays of a model file."""
        found = cls(arrays["W"], arrays.get("units"), arrays.get("exponents"))
        if found.W.dtype not in (np.float64, np.int16, np.int8):
            msg = "its W is none of float64, int16, int8"
            raise ValueError(msg)
        units_fit = found.units is None or found.units.dtype == np.float64
        if not units_fit or (found.exponents is not None and found.exponents.dtype != np.int8):
            msg = "its units of weights are of the wrong kind"
            raise ValueError(msg)
        # An empty array is none to the native scorer, and would be found out by explanations alone.
        sizes = [(found.units, 1), (found.exponents, 0)]
        if found.W.ndim != 2 or any(a is not None and a.shape != (found.W.shape[axis],) for a, axis in sizes):
            msg = "its units of weights do not fit its W"
            raise ValueError(msg)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays in a model file."""
        found = {"W": self.W, "units": self.units, "exponents": self.exponents}
        return {name: array for name, array in found.items() if array is not None}

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        W: NDArray[Any] = self.W[rows]
        if self.units is None:
            return np.asarray(W, dtype=np.float64)
        scaled = W * self.units
        if self.exponents is not None:  # a product with a power of two is ldexp, and five times as fast
            scaled *= np.ldexp(1.0, self.exponents[rows])[:, None]
        return np.asarray(scaled)

    def half_units(self, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Half a unit of the weights in these rows, the largest over scores; 0 for weights that were not rounded."""
        if self.units is None:
            return np.zeros(len(columns))
        half = np.full(len(columns), float(self.units.max()) / 2)
        return half if self.exponents is None else np.ldexp(half, self.exponents[columns])

    @property
    def native(self) -> _native.WeightUnits:
        """The units as the native scorer takes them."""
        none = np.empty(0, dtype=np.int8)
        return _native.WeightUnits(
            np.empty(0) if self.units is None else self.units, none if self.exponents is None else self.exponents
        )


# --- views and terms ---


def _fold_views(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Blocks of a view of n-grams up to some length become blocks of the view that has longer ones too.

    A term that only the larger view has gets weight 0 there, and must not count for the length of a text.
    """
    views, blocks = meta["views"], meta["blocks"]
    for small in range(len(views) - 1, 0, -1):
        of_small = [k for k, block in enumerate(blocks) if block["view"] == small]
        if any(blocks[k]["norm"] != "none" for k in of_small):
            continue
        for large in range(small):
            kept = _shorter(views[large], views[small], arrays, large, small)
            if kept is None:
                continue
            starts = np.cumsum([0, *(_size(views, arrays, block["view"]) for block in blocks)])
            for name, other in _BY_FEATURE.items():
                if name in arrays:
                    parts = [arrays[name][a:b] for a, b in itertools.pairwise(starts)]
                    spread = [_spread(part, kept, other) if k in of_small else part for k, part in enumerate(parts)]
                    arrays[name] = np.concatenate(spread)
            blocks = [{**block, "view": large} if k in of_small else block for k, block in enumerate(blocks)]
            blocks = [{**block, "view": block["view"] - (block["view"] > small)} for block in blocks]
            views = _without_view(views, arrays, small)
            break
    meta["views"], meta["blocks"] = views, blocks


def _shorter(
    large: dict[str, Any], small: dict[str, Any], arrays: Mapping[str, NDArray[Any]], first: int, second: int
) -> NDArray[np.bool_] | None:
    """Which terms of one view are those of another; None unless the other has them all, in the same order."""
    free = ("name", "ngram_range")
    alike = {k: v for k, v in large.items() if k not in free} == {k: v for k, v in small.items() if k not in free}
    if not alike or large["units"] != "word" or large["n_features"] is not None:
        return None
    text, offsets = _terms(arrays, first)
    if len(offsets) < 2:
        return None
    words = np.add.reduceat((text == ord(" ")).view(np.uint8), offsets[:-1], dtype=np.int32) + 1
    low, high = small["ngram_range"]
    kept = (words >= low) & (words <= high)
    mine, theirs = _take(text, offsets, kept), _terms(arrays, second)
    return kept if np.array_equal(mine[0], theirs[0]) and np.array_equal(mine[1], theirs[1]) else None


def _leave_out_dead_terms(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Terms whose weights are 0 in every block, in views where none of these divides by the length of a text."""
    views, blocks = meta["views"], meta["blocks"]
    sizes = [_size(views, arrays, v) for v in range(len(views))]
    starts = np.cumsum([0, *(sizes[block["view"]] for block in blocks)])
    kept = [np.ones(n, dtype=bool) for n in sizes]
    for v, view in enumerate(views):
        mine = [k for k, block in enumerate(blocks) if block["view"] == v]
        if view["n_features"] is None and mine and all(blocks[k]["norm"] == "none" for k in mine):
            alive = np.any([arrays["W"][starts[k] : starts[k + 1]].any(axis=1) for k in mine], axis=0)
            kept[v] = alive if alive.any() else kept[v]
    if not all(mine.all() for mine in kept):
        arrays |= _with_terms(meta, arrays, kept)[1]


def _terms(arrays: Mapping[str, NDArray[Any]], v: int) -> tuple[NDArray[Any], NDArray[Any]]:
    ending = f"_{v}" if v else ""
    return arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"]


def _size(views: list[dict[str, Any]], arrays: Mapping[str, NDArray[Any]], v: int) -> int:
    hashed = views[v]["n_features"]
    return len(_terms(arrays, v)[1]) - 1 if hashed is None else int(hashed)


def _take(
    text: NDArray[Any], offsets: NDArray[Any], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    lengths = np.diff(offsets)
    return text[np.repeat(kept, lengths)], np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)


def _spread(values: NDArray[Any], kept: NDArray[np.bool_], other: int) -> NDArray[Any]:
    """Values in the places that are kept, another in the rest."""
    found = np.full((len(kept), *values.shape[1:]), other, dtype=values.dtype)
    found[kept] = values
    return found


def _without_view(views: list[dict[str, Any]], arrays: dict[str, NDArray[Any]], gone: int) -> list[dict[str, Any]]:
    for v in range(gone, len(views)):
        ending = f"_{v}"
        del arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"]
        if v + 1 < len(views):
            arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"] = _terms(arrays, v + 1)
    return [view for v, view in enumerate(views) if v != gone]


# --- exact codes ---


def _code_terms(arrays: dict[str, NDArray[Any]], ending: str) -> None:
    if f"terms{ending}" not in arrays or len(arrays[f"term_offsets{ending}"]) < 2:
        return
    text, offsets = arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"]
    parts = _native.front_coded(text, offsets)
    if len(text) > _room(parts):
        return
    del arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"]
    arrays |= dict(zip((f"{name}{ending}" for name in _PARTS), parts, strict=True))


_PARTS = ("term_shared", "term_lengths", "term_rest")


def terms_of(arrays: Mapping[str, NDArray[Any]], ending: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The terms of a view, however they are written: their bytes, and where each begins."""
    if f"terms{ending}" in arrays:
        return arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"]
    shared, lengths, rest = parts = [arrays[f"{name}{ending}"] for name in _PARTS]
    return _native.front_decoded(shared, lengths, rest, _room(parts))


def _room(parts: Any) -> int:
    return int(_MOST_TIMES * sum(part.nbytes for part in parts) + _MOST_MORE)


def _code_scale(arrays: dict[str, NDArray[Any]]) -> None:
    if "scale" not in arrays:
        return
    scale = arrays["scale"]
    values = np.unique(scale)
    if len(values) <= _MOST_SCALES and len(values) < len(scale):
        places = np.empty(len(scale), dtype=np.uint8 if len(values) <= 1 << 8 else np.uint16)
        for begin in range(0, len(scale), _ROUNDED):  # places of 64 bits each, all at once, take eight times as much
            places[begin : begin + _ROUNDED] = np.searchsorted(values, scale[begin : begin + _ROUNDED])
        del arrays["scale"]
        arrays |= {"scale_values": values, "scale_places": places}


@dataclass(frozen=True, eq=False)
class Scales:
    """The scales of all features: themselves, or a table of them and places in it."""

    values: NDArray[np.float64]
    places: NDArray[Any] | None = None

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> "Scales":
        """From the arrays of a model file."""
        coded = "scale" not in arrays
        found = cls(arrays["scale_values" if coded else "scale"], arrays["scale_places"] if coded else None)
        if found.places is not None:
            kind, last = found.places.dtype, int(found.places.max(initial=0))
            if kind not in (np.uint8, np.uint16) or found.places.ndim != 1 or last >= len(found.values):
                msg = "its scales are not in their table"
                raise ValueError(msg)
        if found.values.dtype != np.float64 or found.values.ndim != 1:
            msg = "its scale is not float64"
            raise ValueError(msg)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays in a model file."""
        if self.places is None:
            return {"scale": self.values}
        return {"scale_values": self.values, "scale_places": self.places}

    def __len__(self) -> int:
        return len(self.values if self.places is None else self.places)

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        return np.asarray(self.values[rows] if self.places is None else self.values[self.places[rows]])

    def table(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
        """Some scales as a table, and their places in it."""
        if self.places is None:
            values = self.values[rows]
            return values, np.arange(len(values), dtype=np.uint32)
        return self.values, self.places[rows].astype(np.uint32)
