"""`Training`: what a training over shards has brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallywise.scale.gathering import ShardCorpus
from tallywise.scale.jobs import Done, Path_
from tallywise.scale.report import HeldOutTexts
from tallywise.text_model import TextClassifier


@dataclass(frozen=True)
class Training:
    """What a training over shards has brought.

    Attributes
    ----------
    model : TextClassifier
        The fitted model: it predicts, explains and saves as any other.
    rows, characters : int
        Texts learned from and their length.
    shards : list of str
        All of them, in order.
    skipped : dict of str to str
        Shards that could not be read, and why.
    workers : str
        Where the shards were read.
    trials : list of dict
        What was compared on held-out texts: title, error, log loss, seconds; the model first.
    bytes_moved : int
        Between driver and workers.
    seconds : float
        Wall time.
    slowest : list of Done
        The shards that took longest.
    judged : HeldOutTexts or None
        Naive Bayes from sums: the held-out texts, as the report shows them; None where none were held out.
    corpus : ShardCorpus or None
        Other models: the texts that were gathered, with their labels.
    """

    model: TextClassifier
    rows: int
    characters: int
    shards: list[str]
    skipped: dict[str, str]
    workers: str
    trials: list[dict[str, Any]]
    bytes_moved: int
    seconds: float
    slowest: list[Done]
    judged: HeldOutTexts | None = None
    corpus: ShardCorpus | None = None

    def save(self, path: Path_) -> int:
        """Write the model file; its bytes depend on the list of shards and the options alone."""
        return self.model.save(path)
