"""The process that fits: ``python -m tallywise.serve.fit_process STORE``, an order a line in, news a line out.

Fitting needs memory and scikit-learn; the service needs neither, so it happens in a process of its own. Orders and
answers are JSON objects on one line; models and what is known of them go through files.
"""

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import apsw
import numpy as np

from tallywise.evaluation.intervals import proportion
from tallywise.report import ReportData, curves
from tallywise.report.page import curve_pictures, learning_picture
from tallywise.serve import queries, store_writes
from tallywise.text_model import TextClassifier, report_data

_MOST_JUDGED = 20_000  # unlabelled texts that are scored after a fit
_SECOND = ("multinomial_nb", "logistic")  # families whose disagreement with the best is looked at


class Learner:
    """Keeps the fitted classifier between orders, so that those that can go on learning do."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.classifier: TextClassifier | None = None
        self.learned = 0
        self.db = apsw.Connection(os.fspath(self.folder / "texts.db"), flags=apsw.SQLITE_OPEN_READWRITE)
        self.db.set_busy_timeout(5000)
        self.db.execute("PRAGMA query_only = 1")

    def fit(self, order: dict[str, Any]) -> dict[str, Any]:
        """Fit on all labels of the store; writes the model to `out` and what is known of it to `facts`."""
        began = time.perf_counter()
        with self.db:
            learned = store_writes.last_event(self.db)
            rows = queries.training(self.db)
            waiting = queries.unlabelled(self.db, _MOST_JUDGED)
        ids, texts, labels = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
        if len(set(labels)) < 2:
            msg = f"Two classes are needed to learn a difference. The labels so far: {sorted(set(labels))}."
            raise ValueError(msg)
        classifier = TextClassifier(order["model"], time_limit=order["time_limit"], progress=progress)
        with warnings.catch_warnings(record=True) as said:  # for the page, not for the terminal of the service
            warnings.simplefilter("always")
            classifier.fit(texts, labels)
        progress("judging")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            facts = facts_of(classifier, texts, labels)
        notes = [str(one.message) for one in said if issubclass(one.category, UserWarning)]
        facts["warnings"] = list(dict.fromkeys([*facts.get("warnings", []), *notes]))
        own = classifier.runtime_
        P = classifier.oof_probabilities_
        verdicts = own.decide(P)
        names = [str(label) for label in own.classes]
        held_out = [
            (ids[row], labels[row], names[k], float(p[k]))
            for row, k, p in zip(classifier.rows_.tolist(), verdicts.tolist(), P, strict=True)
        ]
        facts["audit"] = _audit([row[3] for row in rows], held_out, ids)
        progress("reading the unlabelled texts")
        judged = self._judged(classifier, texts, labels, waiting)
        classifier.save(order["out"])
        self.classifier, self.learned = classifier, learned
        found = {"facts": facts, "held_out": held_out, "judged": judged}
        Path(order["facts"]).write_text(json.dumps(found), encoding="utf-8")
        return {
            "title": classifier.title_,
            "texts": len(texts),
            "learned": learned,
            "online": len(classifier.model_types_) == 1 and classifier.model_types_[0].learns,
            "seconds": time.perf_counter() - began,
        }

    def _judged(
        self, classifier: TextClassifier, texts: list[str], labels: list[str], waiting: list[tuple[int, str]]
    ) -> list[Any]:
        """Verdict, probability, margin, and disagreement with a second family, of texts without a label."""
        if not waiting:
            return []
        name = next(name for name in _SECOND if name not in classifier.trials_[0].names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            second = TextClassifier(name, cv=2).fit(texts, labels)
        bodies = [text for _, text in waiting]
        P, Q = classifier.predict_proba(bodies), second.predict_proba(bodies)
        chosen = classifier.runtime_.decide(P)
        at = np.arange(len(P))
        rest = P.copy()
        rest[at, chosen] = 0.0
        margin = P[at, chosen] - rest.max(axis=1)
        apart = np.abs(P - Q).sum(axis=1) / 2
        names = [str(label) for label in classifier.runtime_.classes]
        return [
            (number, names[chosen[i]], float(P[i, chosen[i]]), float(margin[i]), float(apart[i]))
            for i, (number, _) in enumerate(waiting)
        ]

    def update(self, order: dict[str, Any]) -> dict[str, Any]:
        """Learn and forget what has changed since, where the model can; otherwise say that it must be fitted anew."""
        if self.classifier is None:
            return {"refit": True}
        with self.db:
            learned = store_writes.last_event(self.db)
            rows = queries.labelled_after(self.db, self.learned)
            bodies = {number: queries.item(self.db, number) for number, _, _ in rows}
        known = {str(label) for label in self.classifier.classes_}
        if any(bodies[number] is None or (new is not None and new not in known) for number, _, new in rows):
            return {"refit": True}
        text = {number: item.text for number, item in bodies.items() if item is not None}
        gone = [(text[number], old) for number, old, _ in rows if old is not None]
        come = [(text[number], new) for number, _, new in rows if new is not None]
        try:
            if gone:
                self.classifier.forget([body for body, _ in gone], [label for _, label in gone])
            if come:
                self.classifier.learn([body for body, _ in come], [label for _, label in come])
        except (TypeError, ValueError):  # a family that cannot, or a label that it never learned
            self.classifier = None
            return {"refit": True}
        self.classifier.save(order["out"])
        self.learned = learned
        return {"learned": learned}

    def topics(self, order: dict[str, Any]) -> dict[str, Any]:
        """Topics of all texts; writes what the page shows to `out`."""
        from tallywise.report.topic_overview import find_topics

        with self.db:
            rows = queries.dated(self.db)
        found = find_topics(rows, int(order["n_topics"]), progress)
        Path(order["out"]).write_text(json.dumps(found), encoding="utf-8")
        return {"texts": len(rows)}


def facts_of(classifier: TextClassifier, texts: list[str], labels: list[str]) -> dict[str, Any]:
    """What the report shows, as JSON and finished pictures."""
    own = classifier.runtime_
    names = [str(label) for label in own.classes]
    base: dict[str, Any] = {
        "classes": names,
        "counts": {name: labels.count(name) for name in names},
        "figures": {name: [f.value, f.low, f.high] for name, f in classifier.figures_.items()},
        "split": classifier.description_[0],
        "words": {name: own.top_terms(label) for name, label in zip(names, own.classes, strict=True)},
    }
    try:
        data = report_data(classifier, texts, labels, "the store")
    except ValueError:  # too few texts for a learning curve or a bound
        return dict(_finite(base))
    K = len(names)
    confusion = np.bincount(data.codes * K + data.verdicts, minlength=K * K).reshape(K, K)
    base |= {
        "model": data.model,
        "rivals": [
            [r.name, r.error.value, r.error.low, r.error.high, r.log_loss, r.seconds, r.kept] for r in data.rivals
        ],
        "dropped": classifier.dropped_,
        "constant_error": data.constant_error,
        "bayes_error": data.bayes_error,
        "curve": [[n, f.value, f.low, f.high] for n, f in data.curve],
        "warnings": data.warnings,
        "confusion": confusion.tolist(),
        "by_class": [
            [c.name, c.support, *([f.value, f.low, f.high] for f in (c.precision, c.recall))] for c in data.by_class
        ],
        "positive": data.positive,
        "threshold": data.threshold,
        "sweep": _sweep(data),
        "plots": _plots(data),
    }
    return dict(_finite(base))


def _audit(drawn: list[str], held_out: list[tuple[int, str, str, float]], ids: list[int]) -> dict[str, Any] | None:
    """The error on labels that no model had a say in, where others were chosen because a model was unsure of them."""
    chosen = {number for number, how in zip(ids, drawn, strict=True) if how == "chosen"}
    if not chosen:
        return None
    rest = [label != verdict for number, label, verdict, _ in held_out if number not in chosen]
    error = proportion("error", rest) if rest else None
    return {"chosen": len(chosen), "drawn": len(rest), "error": error and [error.value, error.low, error.high]}


def _finite(value: Any) -> Any:
    """JSON has no NaN or infinity: such a figure is none."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value


def _sweep(data: ReportData, most: int = 100) -> list[list[float]]:
    """Threshold, share of the others lost and of the class caught, each with its 95 % interval."""
    if len(data.classes) != 2:
        return []
    positive, scores = data.codes == data.positive, data.probabilities[:, data.positive]
    shares = curves.threshold_shares(positive, scores, curves.some_thresholds(scores, most))
    return [
        [s.threshold, *(end for share in (s.flagged, s.caught) for end in (share.value, share.low, share.high))]
        for s in shares
    ]


def _plots(data: ReportData) -> dict[str, str]:
    """Pictures of the report, as SVG."""
    found = {caption.partition(":")[0]: picture for caption, picture in curve_pictures(data)}
    if learning := learning_picture(data):
        found["learning curve"] = learning
    return found


def progress(line: str) -> None:
    """Tell the service how far we are."""
    tell({"progress": line})


def tell(news: dict[str, Any]) -> None:
    """One object on one line."""
    sys.stdout.write(json.dumps(news) + "\n")
    sys.stdout.flush()


def listen(orders: "SimpleQueue[str]") -> None:
    """Put orders into a queue; end the process, in the midst of a fit too, when whoever gives them is gone."""
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


def main() -> None:
    """Take orders for as long as somebody can give them."""
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=listen, args=(orders,), daemon=True).start()
    learner = Learner(sys.argv[1])
    tell({"ready": True})
    while True:
        order = json.loads(orders.get())
        try:
            done = getattr(learner, {"fit": "fit", "update": "update", "topics": "topics"}[order["do"]])(order)
        except Exception as error:  # whatever went wrong, the service must hear of it and go on
            tell(
                {
                    "failed": f"{error}"
                    if isinstance(error, (ValueError, OSError))
                    else f"{type(error).__name__}: {error}"
                }
            )
        else:
            tell({"done": done})


if __name__ == "__main__":
    main()
