"""`Trained`: what every training gives, whatever it learned from."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tallywise.files import replacing


class Trained(ABC):
    """A trained model with its evaluation.

    Attributes
    ----------
    model : TextClassifier, MultiLabelTextClassifier, TableModel or scale.Training
        The fitted model.
    seconds : float
        Time from the data to the model.
    example : str
        A name of what it can be asked about next, for messages.

    Examples
    --------
    >>> from tallywise import train
    >>> from tallywise.reading import LabelledTexts
    >>> texts = ["see you at noon", "win a prize now"] * 20
    >>> trained = train(LabelledTexts("two texts", "40 texts", texts, ["ham", "spam"] * 20), "multinomial_nb")
    >>> trained.summary().splitlines()[0]
    '40 texts; 38 repeats kept together'
    """

    model: Any
    seconds: float
    example: str

    @abstractmethod
    def summary(self) -> str:
        """What was read, compared and kept, as lines of plain text."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""

    @abstractmethod
    def report(self) -> str | None:
        """The report as one page of HTML; None where nothing was held out to report on."""

    def save(self, path: str | os.PathLike[str], report: str | os.PathLike[str] | None = None) -> bool:
        """Write the model and, if a path is given, the report: each by replacement, or neither.

        Returns
        -------
        bool
            Whether a report was written: there is none where nothing was held out.
        """
        page = None if report is None else self.report()
        if report is None or page is None:
            self.model.save(path)
            return False
        with replacing(Path(report)) as stream:
            stream.write(page.encode("utf-8", errors="replace"))
            stream.flush()
            self.model.save(path)
        return True


def metrics_as_lists(figures: dict[str, Any]) -> dict[str, list[float]]:
    """Metrics with the ends of their intervals."""
    return {name: [f.value, f.low, f.high] for name, f in figures.items()}


def trials_of(trials: list[Any]) -> list[dict[str, Any]]:
    """The models compared, as plain values."""
    return [{"title": t.title, "error": t.error, "log_loss": t.log_loss, "seconds": t.seconds} for t in trials]
