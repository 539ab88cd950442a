"""How a table is learned, in five sentences.

On five folds, fit a line (ridge or logistic; penalty from five values by held-out loss). On columns in at most 255
bins, add trees of two splits, once from nothing and once on top of the line, until the held-out fold's loss has not
fallen for 30 rounds. Mix the two in shares a and 1 - a of least held-out loss. Do the same with 31-leaf trees, and keep
them instead only where held-out loss is lower by more than two standard errors. Average the five folds' models, without
a refit (`purified.py` writes two-split trees as a table per column and per pair).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Folds, make_folds
from tallywise.models.table_encoding import Design
from tallywise.models.table_trees import Trees
from tallywise.selection import Deadline, weighted_sum
from tallywise.table_model.boosting import MANY_LEAVES, TWO_SPLITS, BinnedRows, Side, TreeSize, added
from tallywise.table_model.goals import ClassGoal, Goal, NumberGoal, ordinal_probabilities, scales_of
from tallywise.table_model.lines import PENALTIES, TITLES, fit_line
from tallywise.table_model.training_columns import TableData, line_design, tree_design
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_FOLDS = 5
_SHARES = np.linspace(0.0, 1.0, 21)  # of the trees from nothing
_LEAVES_MARGIN = 2.0  # standard errors by which many leaves must be better: they can not be written out as tables
_EARLY_MARGIN = 1.0  # standard errors behind on the first fold after which the other folds are not tried

# Names that users may give, simplest first.
CLASS_MODELS = ("logistic", "additive", "boosted")
GRADE_MODELS = ("ordinal", *CLASS_MODELS)
NUMBER_MODELS = ("ridge", "additive", "boosted")
MODELS = {"classes": CLASS_MODELS, "grades": GRADE_MODELS, "numbers": NUMBER_MODELS}
SIZES = {"additive": TWO_SPLITS, "boosted": MANY_LEAVES}


@dataclass
class Learned:
    """One model, averaged over the folds: a line, its share of the sum and trees."""

    name: str
    title: str
    design: Design
    form: Form  # scores of the line, in its share
    trees: Trees | None
    scores: Array  # of the rows learned from, each while it was held out
    losses: Array  # likewise, their losses
    seconds: float
    goal: Goal
    correction: float = 0.0  # of the logarithms of numbers
    scale: float = 1.0  # of scores, before they become probabilities

    def predict(self, data: TableData, rows: Rows, X: Any) -> Array:
        """Probabilities of the classes, or numbers as one column, of rows with these features of the line."""
        z = np.asarray(X @ self.form.W + self.form.b)
        if self.trees is not None:
            z += self.trees.scores(data.of_rows(rows), len(rows))
        if isinstance(self.goal, ClassGoal):
            return self.goal.probabilities(self.scale * z, self.form.thresholds)
        return np.asarray((self.goal.raw(z) * np.exp(self.correction))[:, None])


@dataclass
class Outcome:
    """The models that were fitted, the name of the one that is kept, and what was not fitted."""

    models: dict[str, Learned]
    kept: str
    dropped: list[str] = field(default_factory=list)


@dataclass
class Procedure:
    """The choices of a user: which models, and by which loss numbers are compared."""

    names: tuple[str, ...]
    additive: bool  # keep the sum of columns and pairs, whatever it costs
    loss: str
    random_state: int
    clock: Deadline
    tell: Callable[[str], None]

    def learn(self, data: TableData, rows: Rows, groups: NDArray[np.intp], what: str = "") -> Outcome:
        """Learn from some rows of a table."""
        return _Learning(self, data, rows, groups, what).run()


class _Learning:
    """One run of the procedure."""

    def __init__(self, how: Procedure, data: TableData, rows: Rows, groups: NDArray[np.intp], what: str) -> None:
        self.how, self.data, self.rows, self.what = how, data, rows, what
        values = data.of_rows(rows)
        self.design = line_design(data.columns, values)
        self.X = data.matrix(self.design, rows)
        self.binned = BinnedRows(tree_design(data.columns, values), values, len(rows), data.n_jobs)
        task, target = data.target.task, data.target
        self.goal: Goal = NumberGoal(target.y, "plain", how.loss, rows)
        if task != "numbers":
            self.goal = ClassGoal(target, _row_weights(data))
        labels = target.y if task == "numbers" else target.codes
        splits = min(_FOLDS, len(np.unique(groups[rows])))
        self.folds = Folds([], "")
        if splits > 1:
            self.folds = make_folds(labels[rows], groups=groups[rows], n_splits=splits, random_state=how.random_state)
        self.task = task

    def run(self) -> Outcome:
        how = self.how
        found: dict[str, Learned] = {}
        dropped: list[str] = []
        kept = ""
        line = "ridge" if self.task == "numbers" else "logistic"
        trees = [name for name in how.names if name in SIZES] if len(self.folds) else []
        first_trees = None
        if self.task == "numbers" and trees:
            first_trees = self._choose_scale(SIZES[trees[0]])
        lines: dict[str, _Line] = {}
        for kind in dict.fromkeys([*(name for name in how.names if name in TITLES), *([line] if trees else [])]):
            if lines and how.clock.over():
                dropped.append(TITLES[kind])
                continue
            lines[kind] = _Line(self, kind)
            found[kind] = lines[kind].learned()
        kept = next((name for name in how.names if name in found), line)
        for name in trees:
            if line not in lines or how.clock.over():
                dropped.append(_title(name, TITLES[line]))
                continue
            reached = found.get("additive") if name == "boosted" else None
            model = self._mixed(name, lines[line], reached, first_trees if name == trees[0] else None)
            if model is None:
                dropped.append(_title(name, lines[line].title))
                continue
            found[name] = model
            margin = _LEAVES_MARGIN if name == "boosted" and kept == "additive" else 1.0 if kept == "ordinal" else 0.0
            sum_wanted = how.additive and name == "boosted" and "additive" in found
            if not sum_wanted and (kept not in how.names or _ahead(model, found[kept], margin)):
                kept = name
        return Outcome(found, kept, dropped)

    # --- parts ---

    def _choose_scale(self, size: TreeSize) -> "list[_Fold] | None":
        """Settle the scale of numbers: another than plain where held-out loss is lower by a standard error."""
        best: tuple[Goal, list[_Fold], Array] | None = None
        scales = scales_of(self.data.target.y[self.rows])
        if len(scales) == 1:
            return None
        for scale in scales:
            goal = NumberGoal(self.data.target.y, scale, self.how.loss, self.rows)
            folds = [self._boost(goal, size, fold, None) for fold in range(len(self.folds))]
            losses = goal.losses(self._gathered([f.held_out for f in folds]), self.rows)
            if best is None or _standard_errors(losses - best[2]) < -1:
                best = goal, folds, losses
        assert best is not None
        self.goal = best[0]
        return best[1]

    def _boost(self, goal: Goal, size: TreeSize, fold: int, form: Form | None) -> "_Fold":
        train, held = list(self.folds)[fold]
        start = goal.prior(self.rows[train])
        sides = []
        for side in (train, held):
            base = np.tile(start, (len(side), 1)) if form is None else np.asarray(self.X[side] @ form.W + form.b)
            sides.append(Side(side, self.rows[side], base))
        nodes, held_out = self.binned.boost(goal, size, *sides)
        return _Fold(start, nodes, held_out)

    def _gathered(self, parts: list[Array]) -> Array:
        z = np.zeros((len(self.rows), self.goal.outputs))
        for (_, held), part in zip(self.folds, parts, strict=True):
            z[held] = part
        return z

    def _mixed(
        self, name: str, line: "_Line", reached: Learned | None, from_nothing: "list[_Fold] | None"
    ) -> Learned | None:
        """The line mixed with trees; None where the first fold shows that they are clearly worse than `reached`."""
        begin, size, goal = time.perf_counter(), SIZES[name], self.goal
        own, on_line = list(from_nothing or []), []
        title = _title(name, line.title)
        for fold, (_, held) in enumerate(self.folds):
            self.how.tell(f"{self.what}fold {fold + 1} of {len(self.folds)}: {title}")
            if fold >= len(own):
                own.append(self._boost(goal, size, fold, None))
            on_line.append(self._boost(goal, size, fold, line.forms[fold]))
            if fold == 0 and reached is not None:
                rows = self.rows[held]
                z = self._share(own[0].held_out, on_line[0].held_out, rows)[1]
                if _standard_errors(goal.losses(z, rows) - reached.losses[held]) > _EARLY_MARGIN:
                    return None
        both = [self._gathered([fold.held_out for fold in start]) for start in (own, on_line)]
        share, z = self._share(both[0], both[1], self.rows)
        weight = 1 / len(self.folds)
        W = (1 - share) * weight * sum(form.W for form in line.forms)
        b = weight * sum((1 - share) * f.b + share * o.start for f, o in zip(line.forms, own, strict=True))
        parts = [(weight * share, f.nodes) for f in own] + [(weight * (1 - share), f.nodes) for f in on_line]
        trees = added(self.binned.design, parts, goal.outputs)
        form = Form(np.ascontiguousarray(W), np.asarray(b, dtype=np.float64))
        return self._learned(name, title, form, trees, z, time.perf_counter() - begin + line.seconds)

    def _share(self, own: Array, on_line: Array, rows: Rows) -> tuple[float, Array]:
        """The share of the trees from nothing with the least held-out loss, and the mixed scores."""
        mixed = [a * own + (1 - a) * on_line for a in _SHARES]
        best = int(np.argmin([self.goal.losses(z, rows).mean() for z in mixed]))
        return float(_SHARES[best]), mixed[best]

    def _learned(self, name: str, title: str, form: Form, trees: Trees | None, z: Array, seconds: float) -> Learned:
        goal, scale = self.goal, 1.0
        correction = goal.correction(z, self.rows) if isinstance(goal, NumberGoal) else 0.0
        if self.data.class_weight is not None and not form.thresholds.size:
            # Weights move the shares of the classes: offsets put them where the held-out rows have them.
            found = weighted_sum(z[None], self.data.target.codes[self.rows])
            scale = float(found.weights[0])
            form, z = form.shifted(found.offsets / scale), scale * z + found.offsets
        if form.thresholds.size:
            P = goal.probabilities(z)
            losses = -np.log(P[np.arange(len(P)), self.data.target.codes[self.rows]])
        else:
            losses = goal.losses(z, self.rows)
        return Learned(name, title, self.design, form, trees, z, losses, seconds, goal, correction, scale)


@dataclass
class _Fold:
    """Trees of a fold from nothing or from the line: first scores, nodes, and scores of the held-out rows."""

    start: Array
    nodes: dict[str, Any]
    held_out: Array


class _Line:
    """A line on every fold, with the penalty of least held-out loss."""

    def __init__(self, run: _Learning, kind: str) -> None:
        begin = time.perf_counter()
        self.run, self.kind = run, kind
        name, penalties = PENALTIES[kind]
        data, rows = run.data, run.rows
        y = run.goal.line if isinstance(run.goal, NumberGoal) else run.goal.y
        run.how.tell(f"{run.what}{TITLES[kind]}")
        if not len(run.folds):  # a single group: nothing can be held out
            self.penalty = penalties[2]
            self.forms = [fit_line(kind, data, run.X, rows, y, self.penalty)]
            self.z = np.asarray(run.X @ self.forms[0].W + self.forms[0].b)
        else:
            best = np.inf
            splits = [(train, held, run.X[train], run.X[held]) for train, held in run.folds]
            for penalty in penalties:
                forms = [fit_line(kind, data, X, rows[train], y, penalty) for train, _, X, _ in splits]
                z = np.zeros((len(rows), max(len(forms[0].thresholds), len(forms[0].b))))
                for (_, held, _, X), form in zip(splits, forms, strict=True):
                    # Ordered scores as their distances from the thresholds, which differ from fold to fold.
                    scores = np.asarray(X @ form.W + form.b)
                    z[held] = scores - form.thresholds if form.thresholds.size else scores
                loss = float(self._losses(z).mean())
                if loss < best:
                    best, self.penalty, self.forms, self.z = loss, penalty, forms, z
                elif loss > 1.2 * best and not data.texts:
                    break
        self.title = f"{TITLES[kind]} ({name} = {self.penalty:g})"
        self.seconds = time.perf_counter() - begin

    def _losses(self, z: Array) -> Array:
        rows, goal = self.run.rows, self.run.goal
        if self.kind != "ordinal":
            return np.asarray(goal.losses(z, rows))
        P = ordinal_probabilities(z)
        return np.asarray(-np.log(P[np.arange(len(P)), self.run.data.target.codes[rows]]))

    def learned(self) -> Learned:
        """The line alone."""
        weight = 1 / len(self.forms)
        form = Form(
            np.ascontiguousarray(weight * sum(form.W for form in self.forms)),
            np.asarray(weight * sum(form.b for form in self.forms)),
            np.asarray(weight * sum(form.thresholds for form in self.forms)),
        )
        if self.kind == "ordinal":
            run = self.run
            losses = self._losses(self.z)
            return Learned(self.kind, self.title, run.design, form, None, self.z, losses, self.seconds, run.goal)
        return self.run._learned(self.kind, self.title, form, None, self.z, self.seconds)


def _title(name: str, line: str) -> str:
    return f"{line} + trees of {'two splits' if name == 'additive' else '31 leaves'}"


def _row_weights(data: TableData) -> Array:
    given, codes = data.class_weight, data.target.codes
    if given is None:
        return np.ones(len(codes))
    from sklearn.utils.class_weight import compute_class_weight

    if not isinstance(given, str):
        given = {k: given.get(label, 1.0) for k, label in enumerate(data.target.classes.tolist())}
    weights = compute_class_weight(given, classes=np.arange(len(data.target.classes)), y=codes)
    return np.asarray(weights[codes], dtype=np.float64)


def _standard_errors(gap: Array) -> float:
    """The mean of paired differences in units of its standard error."""
    spread = float(gap.std()) / np.sqrt(len(gap))
    mean = float(gap.mean())
    return mean / spread if spread > 0 else float(np.sign(mean)) * np.inf if mean else 0.0


def _ahead(model: Learned, other: Learned, margin: float) -> bool:
    gap = model.losses - other.losses
    return bool(gap.mean() < 0) and _standard_errors(gap) < -margin
