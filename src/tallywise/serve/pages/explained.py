"""Verdicts as pages show them: coloured pieces of the text, and bars that add up to the score."""

import json
from typing import Any

from tallywise._highlight import pieces
from tallywise.serve.application import LONGEST_EXPLAINED, explainable
from tallywise.serve.model_versions import Live

_LONGEST_SHOWN = 20_000


def explanation(live: Live, text: str) -> dict[str, Any]:
    """All that Try shows of a text."""
    (verdict,) = live.predictions([explainable(text)])
    found = live.model.explain(text, live.label(verdict.label))
    words = [(word.term, word.contribution) for word in found.words[:15]]
    rest = sum(word.contribution for word in found.words[15:])
    top = max([abs(c) for _, c in words] + [abs(rest), abs(found.bias), 1e-12])
    rows = [*words, (f"{len(found.words) - 15} other words", rest)] if len(found.words) > 15 else words
    bars = [
        {"term": term, "value": value, "length": round(100 * abs(value) / top, 1)}
        for term, value in [*rows, ("bias", found.bias)]
    ]
    flip = live.model.flip(text) if len(text) <= _LONGEST_SHOWN else None
    ranked = sorted(zip(live.names, verdict.probabilities, strict=True), key=lambda pair: -pair[1])[:8]
    return {
        "verdict": verdict,
        "pieces": _shades(text, found),
        "bars": bars,
        "score": found.score,
        "flip": flip,
        "ranked": ranked,
        "version": live.version,
        "names": live.names,
        "names_json": json.dumps(live.names),
        "item": None,
    }


def coloured(live: Live, text: str, label: str) -> list[tuple[str, int]]:
    """A text in pieces, each with its shade: 1 to 5 for the label, -1 to -5 against it, 0 for neither."""
    if len(text) > LONGEST_EXPLAINED:
        return [(text[:_LONGEST_SHOWN], 0), (" …", 0)]
    return _shades(text, live.model.explain(text, live.label(label)))


def _shades(text: str, found: Any) -> list[tuple[str, int]]:
    spans = [(a, b, word.contribution / len(word.spans)) for word in found.words for a, b in word.spans]
    cut = pieces(text[:_LONGEST_SHOWN], spans)
    top = max((abs(weight) for _, weight in cut), default=0.0) or 1.0
    shades = [(piece, round(5 * weight / top)) for piece, weight in cut]
    return [*shades, (" …", 0)] if len(text) > _LONGEST_SHOWN else shades
