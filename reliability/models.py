"""Small models of every family, made from nothing but a seed: what measurements mutate, compare and serve."""

import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallywise import TableModel, TextClassifier
from tallywise.models import model_file
from tallywise.table_model.procedure import MODELS
from tallywise.text_model import MODEL_TYPES

_WORDS = {
    "spam": "win a cheap prize now click the casino offer FREE! $$$ v1agra pills".split(),
    "ham": "lunch at noon please review the patch and send notes, thanks Ärger".split(),
    "news": "the minister said on Monday that rain would end the match early".split(),
}


def texts(n: int, seed: int = 0, classes: int = 2) -> tuple[list[str], list[str]]:
    """Texts of made-up classes that share some words, and their labels."""
    draw = random.Random(seed)
    names = list(_WORDS)[:classes]
    labels = [names[k % classes] for k in range(n)]
    common = [word for words in _WORDS.values() for word in words]
    found = [" ".join(draw.choices(_WORDS[label] * 3 + common, k=draw.randrange(3, 12))) for label in labels]
    return found, labels


def rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with a number, a category, a date, a text and gaps; targets of each task."""
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []
    said, labels = texts(n, seed)
    for k in range(n):
        x, kind = draw.gauss(0, 1), draw.choice("abc")
        number = 3 * x + (kind == "b") + (labels[k] == "spam") + draw.gauss(0, 0.3)
        found.append(
            {
                "x": None if draw.random() < 0.05 else round(x, 3),
                "kind": kind,
                "day": f"2024-0{draw.randrange(1, 10)}-1{draw.randrange(10)}",
                "said": said[k],
                "number": number,
                "grade": min(4, max(0, round(number) + 2)),
                "class": "high" if number > 0.5 else "low",
            }
        )
    return found


def text_models() -> Iterator[tuple[str, Any]]:
    """Names and unfitted text models: every model type, and every form that a file can have."""
    for model_type in MODEL_TYPES:
        yield f"text {model_type.name}", TextClassifier(model_type.name, cv=2)
    yield "text hashed", TextClassifier("multinomial_nb", n_features=64, cv=2)
    yield "text threshold", TextClassifier("logistic", max_flagged={"ham": 0.2}, cv=2)
    yield "text costs", TextClassifier("multinomial_nb", costs={("ham", "spam"): 5}, cv=2)
    yield "text sum", TextClassifier(["linear_svm", "nb_svm"], deobfuscate=True, stop_words="english", cv=2)


def save_all(folder: Path, n: int = 60) -> dict[str, Path]:
    """Fit and save a model of every family; the names and paths of their files."""
    saved: dict[str, Path] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in text_models():
            said, labels = texts(n, classes=2 if "threshold" in name or "costs" in name else 3)
            y: list[Any] = (
                [{"ham": 1, "news": 2, "spam": 3}[label] for label in labels] if "ordinal" in name else labels
            )
            saved[name] = folder / f"{name}.tally"
            model.fit(said, y).save(saved[name])
        contents = model_file.read(saved["text logistic"])
        saved["text raw"] = folder / "text raw.tally"
        model_file.write(saved["text raw"], *contents, pack=False)
        table = rows(n)
        for task, target in (("classes", "class"), ("grades", "grade"), ("numbers", "number")):
            left_out = {"class", "grade", "number"} - {target}
            given = [{key: value for key, value in row.items() if key not in left_out} for row in table]
            for model in MODELS[task]:
                name = f"table {model} {task}"
                TableModel(model, task=task, cv=2).fit(given, target).save(folder / f"{name}.tally")
                saved[name] = folder / f"{name}.tally"
    return saved
