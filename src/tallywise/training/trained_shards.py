"""A model of texts from shards."""

from typing import Any

from tallywise import report
from tallywise.plain_text import percent, table
from tallywise.reading.labelled_data import Shards
from tallywise.scale import report_data
from tallywise.scale import train as train_shards
from tallywise.text_model import report_data as text_report_data
from tallywise.training.trained import Trained, metrics_as_lists


class TrainedShards(Trained):
    """What `tallywise.scale.train` gives; `model` is its `Training`."""

    example = "new.eml"

    def __init__(self, data: Shards, model: str, progress: Any, settings: dict[str, Any]) -> None:
        self.data = data
        self.model = train_shards(data.paths, model=model, progress=progress, **settings)

    def report(self) -> str | None:
        """The report as one page of HTML; None where no texts were held out."""
        corpus = self.model.corpus
        if corpus is not None:
            return report.render(text_report_data(self.model.model, corpus.texts, corpus.labels, self.data.name))
        shown = report_data(self.model, self.data.name)
        return None if shown is None else report.render(shown)

    def summary(self) -> str:
        """What was read, compared and kept."""
        made = self.model
        rate, threshold = made.rows / made.seconds, made.model.threshold_
        lines = [
            f"learned from {made.rows:,} texts: {made.workers}, {made.seconds:.1f} s, {rate:,.0f} texts per second"
        ]
        lines += [f"skipped: {problem}" for problem in made.skipped.values()]
        rows = [["evaluated on held-out texts", "error", "log loss", "time", ""]]
        for k, trial in enumerate(made.trials):
            judged = trial["error"] == trial["error"]
            error, loss = (percent(trial["error"]), f"{trial['log_loss']:.4f}") if judged else ("", "")
            rows.append([trial["title"], error, loss, f"{trial['seconds']:.1f} s", "" if k else "<- kept"])
        lines.append(table(rows, right=(1, 2, 3)))
        if made.corpus is not None:
            lines += made.model.description_
        if threshold is not None:
            flagged, caught = percent(threshold.flagged.value), percent(threshold.caught.value)
            lines.append(
                f"threshold {threshold.value:.4g}: {flagged} flagged wrongly, {caught} caught, on held-out texts"
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        made, threshold = self.model, self.model.model.threshold_
        return {
            "shards": len(made.shards),
            "workers": made.workers,
            "texts": made.rows,
            "characters": made.characters,
            "classes": [str(label) for label in made.model.classes_],
            "kept": made.trials[0]["title"],
            "models": made.trials,
            "figures": metrics_as_lists(made.model.figures_),
            "threshold": None
            if threshold is None
            else {"value": threshold.value, "flagged": threshold.flagged.value, "caught": threshold.caught.value},
            "skipped": made.skipped,
            "bytes_moved": made.bytes_moved,
        }
