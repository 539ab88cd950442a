"""A model of texts with any number of labels each."""

from collections.abc import Sequence
from typing import Any

from tallywise import report
from tallywise._lazy import lazy
from tallywise.plain_text import percent, shorten, table
from tallywise.reading.labelled_data import LabelSets
from tallywise.text_model import MultiLabelTextClassifier, label_report_data
from tallywise.training.trained import Trained, metrics_as_lists

_MOST_LABELS = 30  # listed for people


class TrainedLabelSets(Trained):
    """A fitted `MultiLabelTextClassifier` with the texts that it was evaluated on."""

    example = "new.eml"

    def __init__(self, data: LabelSets, model: str, progress: Any, settings: dict[str, Any]) -> None:
        self.data = data
        self.model = MultiLabelTextClassifier(model, progress=progress, **settings).fit(data.texts, data.sets)
        if data.separator is not None:
            self.model.runtime_.meta["label_separator"] = data.separator

    @lazy
    def _evaluated(self) -> Any:
        return label_report_data(self.model, self.data.texts, self.data.sets, self.data.name)

    def report(self) -> str:
        """The report as one page of HTML."""
        return report.render(self._evaluated)

    def summary(self) -> str:
        """What was read, compared and kept."""
        model = self.model
        repeats = len(self.data.texts) - len(set(model.groups_.tolist()))
        lines = [self.data.read + (f"; {repeats:,} repeats kept together" if repeats else "")]
        rows = [[model.description_[0].split(", ")[0], "micro F1", "macro F1", "log loss", "time", ""]]
        for trial in model.trials_:
            scores = [percent(trial.figures[name].value) for name in ("micro_f1", "macro_f1")]
            kept = "<- kept" if trial is model.trials_[0] else ""
            rows.append([trial.title, *scores, f"{trial.log_loss:.4f}", f"{trial.seconds:.2f} s", kept])
        lines.append(table(rows, right=(1, 2, 3, 4)))
        for name in ("micro_f1", "macro_f1", "exact_match"):
            figure, title = model.figures_[name], name.replace("_", " ").replace("f1", "F1")
            between = f"({percent(figure.low)} to {percent(figure.high)})"
            lines.append(f"{title} {percent(figure.value)} {between} on held-out texts")
        lines.append(label_rows(model.by_label_, model.thresholds_))
        if left := model.runtime_.meta.get("left_out"):
            lines.append(
                f"left out {left['terms']:,} of {left['of']:,} terms for the size; that changes the labels of "
                f"{percent(left['changed'], 2)} of the texts learned from"
            )
        return "\n".join([*lines, *(f"note: {warning}" for warning in [*self.data.notes, *self._evaluated.warnings])])

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        model = self.model
        return {
            "read": self.data.read,
            "texts": len(self.data.texts),
            "labels": [str(label) for label in model.classes_],
            "notes": self.data.notes,
            "kept": model.trials_[0].title,
            "models": [
                {
                    "title": trial.title,
                    "micro_f1": trial.figures["micro_f1"].value,
                    "macro_f1": trial.figures["macro_f1"].value,
                    "log_loss": trial.log_loss,
                    "seconds": trial.seconds,
                }
                for trial in model.trials_
            ],
            "figures": metrics_as_lists(model.figures_),
            "by_label": label_documents(model.by_label_),
            "thresholds": dict(zip(map(str, model.classes_), model.thresholds_.tolist(), strict=True)),
            "left_out": model.runtime_.meta.get("left_out"),
        }


def label_rows(found: Sequence[Any], thresholds: Any = None) -> str:
    """Metrics of each label, as plain columns."""
    rows = [["label", "texts", "precision", "recall", "F1", *([] if thresholds is None else ["threshold"])]]
    for k, label in enumerate(found[:_MOST_LABELS]):
        row = [shorten(label.name, 40), f"{label.support:,}"]
        row += [percent(figure.value) for figure in (label.precision, label.recall, label.f1)]
        rows.append(row if thresholds is None else [*row, f"{thresholds[k]:.3f}"])
    more = len(found) - _MOST_LABELS
    return table(rows, right=(1, 2, 3, 4, 5)) + (f"\n  and {more} more labels" if more > 0 else "")


def label_documents(found: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Metrics of each label, as plain values."""
    return {
        label.name: {
            "texts": label.support,
            **metrics_as_lists({"precision": label.precision, "recall": label.recall, "f1": label.f1}),
        }
        for label in found
    }
