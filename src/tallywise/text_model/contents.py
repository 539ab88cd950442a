"""Fitted text models as `TextModelFile`: what is saved and served."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Calibration
from tallywise.models.compression import ModelWeights, Scales
from tallywise.models.decision_rule import DecisionRule, plain
from tallywise.models.text_schema import Link, ModelFacts, StoredTexts, TermWeighting, TextModelFile, ViewTerms
from tallywise.text_model.forms import Block, Form, SharedWeights
from tallywise.text_model.views import View

if TYPE_CHECKING:
    from tallywise.text_model.text_classifier import TextClassifier


def text_file_of(model: "TextClassifier", form: Form) -> TextModelFile:
    """A text classifier with this linear model (or these stored texts) over the features of its blocks."""
    classes = [plain(label) for label in model.classes_]
    facts = ModelFacts(
        "sum" if len(model.model_types_) > 1 else model.model_types_[0].name,
        model.title_,
        len(model.groups_),
        model.description_,
        {name: [f.value, f.low, f.high] for name, f in model.figures_.items()},
        getattr(model, "unknown_words_", None),
        None if model.time_limit is None else float(model.time_limit),
    )
    rule = DecisionRule.read(model.rule_, model.cost_matrix_, classes)
    return text_file(form, model.views_, classes, link_of(form, model.calibration_), rule, facts)


def text_file(
    form: Form,
    views: Sequence[View],
    classes: Sequence[Any],
    link: Link,
    rule: DecisionRule | None = None,
    facts: ModelFacts | None = None,
    label_thresholds: NDArray[np.float64] | None = None,
) -> TextModelFile:
    """A model of texts from its scores, the views they are of, and what they mean."""
    # Weights that are made as they are asked for pass as an array: only slices of them are.
    W: Any = form.W if isinstance(form.W, SharedWeights) else np.ascontiguousarray(form.W)
    stored = None
    if form.memory is not None:
        stored = StoredTexts.read(form.memory.meta, form.memory.arrays)
    return TextModelFile(
        classes,
        [saved_terms(view) for view in views],
        saved_weightings(views, form.blocks),
        Scales(np.concatenate([weighting.scale for _, weighting in form.blocks])),
        ModelWeights(W),
        form.b,
        link,
        form.thresholds,
        rule or DecisionRule(),
        label_thresholds,
        stored,
        facts,
    )


def saved_terms(view: View) -> ViewTerms:
    """A view as a model file has it."""
    return ViewTerms(view.tokenisation, *view.terms())


def saved_weightings(views: Sequence[View], blocks: Sequence[Block]) -> list[TermWeighting]:
    """Blocks as a model file has them."""
    place = {view.name: v for v, view in enumerate(views)}
    return [TermWeighting(place[view], how.tf, how.norm, how.length) for view, how in blocks]


def link_of(form: Form, calibration: Calibration) -> Link:
    """How the scores of classes that exclude each other become probabilities."""
    if form.thresholds.size:
        return Link("ordered")
    kind = "sigmoid" if len(form.b) == 1 else "sigmoids" if calibration.sigmoids else "softmax"
    return Link(kind, calibration.scale, calibration.shift)
