"""A model of texts with one label each."""

from typing import Any

from tallywise import report
from tallywise._lazy import lazy
from tallywise.plain_text import percent, table
from tallywise.reading.labelled_data import LabelledTexts
from tallywise.report import ReportData
from tallywise.text_model import TextClassifier, report_data
from tallywise.training.trained import Trained, metrics_as_lists, trials_of


class TrainedTexts(Trained):
    """A fitted `TextClassifier` with the texts that it was evaluated on."""

    example = "new.eml"

    def __init__(self, data: LabelledTexts, model: str, progress: Any, settings: dict[str, Any]) -> None:
        self.data, self._progress = data, progress
        self.model = TextClassifier(model, progress=progress, **settings).fit(data.texts, data.labels)

    @lazy
    def _evaluated(self) -> ReportData:
        return report_data(self.model, self.data.texts, self.data.labels, self.data.name, page=False)

    def report(self) -> str:
        """The report as one page of HTML."""
        if self._progress is not None:
            self._progress("writing the report")
        shown = report_data(self.model, self.data.texts, self.data.labels, self.data.name)
        self.__dict__["_evaluated"] = shown  # it has all that the summary says, too
        return report.render(shown)

    def summary(self) -> str:
        """What was read, compared and kept."""
        model, shown = self.model, self._evaluated
        repeats = len(self.data.texts) - len(set(model.groups_.tolist()))
        lines = [self.data.read + (f"; {repeats:,} repeats kept together" if repeats else "")]
        lines.append(trial_table(model, shown))
        if model.threshold_ is not None:
            lines.append(threshold_line(model))
        elif len(model.classes_) == 2:
            area = model.figures_["roc_area"]
            lines.append(f"ROC area {area.value:.4f} ({area.low:.4f} to {area.high:.4f})")
        elif "mae" in model.figures_:
            off = model.figures_["mae"]
            lines.append(f"mean absolute error {off.value:.3f} ({off.low:.3f} to {off.high:.3f})")
        if left := model.runtime_.meta.get("left_out"):
            lines.append(
                f"left out {left['terms']:,} of {left['of']:,} terms for the size; that changes the prediction for "
                f"{percent(left['changed'], 2)} of the texts learned from"
            )
        return "\n".join([*lines, *(f"note: {warning}" for warning in [*self.data.notes, *shown.warnings])])

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        model = self.model
        return {
            "read": self.data.read,
            "texts": len(self.data.texts),
            "classes": [str(label) for label in model.classes_],
            "notes": self.data.notes,
            "kept": model.trials_[0].title,
            "models": trials_of(model.trials_),
            "figures": metrics_as_lists(model.figures_),
            "threshold": None if model.threshold_ is None else model.threshold_.value,
            "left_out": model.runtime_.meta.get("left_out"),
        }


def threshold_line(model: Any) -> str:
    """The threshold of two classes, and what it costs."""
    found, caught = model.threshold_, model.rule_["class"]
    (spared,) = [label for label in model.classes_.tolist() if label != caught]
    return (
        f"threshold {found.value:.4f}: {percent(found.flagged.value, 2)} of {spared} flagged, "
        f"{percent(found.caught.value)} of {caught} caught "
        f"({percent(found.caught.low)} to {percent(found.caught.high)})"
    )


def trial_table(classifier: TextClassifier, data: ReportData) -> str:
    """The majority class, naive Bayes as a reference, and the model, on held-out texts; what was left out."""
    rows = [[f"held-out texts, {classifier.description_[0].removeprefix('compared by ').split(', ')[0]}"]]
    rows[0] += ["error", "95 % interval", "log loss"]
    rows.append([f'majority class "{data.commonest}"', percent(data.constant_error), "", ""])
    model, *others = classifier.trials_
    for trial in [*(other for other in others if other.reference), model]:
        error = trial.error_metric(classifier.groups_[classifier.rows_])
        title = f"{trial.title}, for reference" if trial is not model else trial.title
        interval = f"{percent(error.low)} to {percent(error.high)}"
        rows.append([title, percent(error.value), interval, f"{trial.log_loss:.4f}"])
    return "\n".join([table(rows, right=(1, 3)), *classifier.description_[1:]])


def dropped_line(dropped: list[str], else_why: str) -> str:
    """The models that were dropped early."""
    return f"\n  dropped early (clearly worse, or {else_why}): {'; '.join(dropped)}" if dropped else ""
