"""Classifiers of fastText: equal answers to its package, explanations that add up, refusals of what is no model."""

import json
import struct

import numpy as np
import pytest

import tallywise
from benchmarks import datasets
from tallywise import ModelFileError
from tallywise.cli import main
from tallywise.models.fasttext_serving import FastTextModel
from tests.places import STORED

SETTINGS = {
    "default": {},
    "pairs of words": {"wordNgrams": 2, "bucket": 50_000},
    "triples of words": {"wordNgrams": 3, "bucket": 50_000},
    "parts of words": {"minn": 2, "maxn": 5, "bucket": 50_000},
    "all n-grams": {"wordNgrams": 2, "minn": 1, "maxn": 3, "bucket": 20_000},
    "hierarchical softmax": {"loss": "hs", "wordNgrams": 2, "bucket": 50_000},
    "one against the rest": {"loss": "ova"},
    "negative sampling": {"loss": "ns"},
    "many labels": {"loss": "ova"},
}
QUANTISED = {
    "quantised": ("pairs of words", {}),
    "norms apart": ("all n-grams", {"qnorm": True}),
    "pruned": ("pairs of words", {"cutoff": 3000, "retrain": False}),
    "pruned parts of words": ("parts of words", {"cutoff": 5000, "qnorm": True}),
    "quantised output": ("many labels", {"qout": True, "dsub": 3}),
    "pruned, hierarchical": ("hierarchical softmax", {"cutoff": 3000}),
}


@pytest.fixture(scope="module")
def fasttext():
    return pytest.importorskip("fasttext", reason="fasttext is not installed")


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """A training file as fastText takes it, and texts to classify, odd ones among them."""
    texts, labels = datasets.banking("train")
    path = tmp_path_factory.mktemp("fasttext") / "train.txt"
    lines = [
        f"__label__{label.replace(' ', '_')} {' '.join(text.split())}"
        for text, label in zip(texts, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    new = [" ".join(text.split()) for text in datasets.banking("test")[0]]
    odd = ["", " ", "naïve café Ünïcödé 日本語 テキスト 🙂", "zzzz qqqq xxxx", "card </s> card lost", "a\tb\vc\fd\re"]
    odd += ["__label__x card", f"{lines[0].split()[0]} card", "card\0lost card", "my " * 300 + "card", "x" * 300]
    return path, new + odd


@pytest.fixture(scope="module")
def trained(fasttext, questions):
    """Models of the package by name, trained once."""
    models = {}

    def train(name):
        if name not in models:
            source = questions[0]
            if name == "many labels":  # an output is quantised from 256 rows on
                source = questions[0].with_name("many.txt")
                lines = questions[0].read_text().splitlines()
                source.write_text("".join(line.replace(" ", f"_{k % 4} ", 1) + "\n" for k, line in enumerate(lines)))
            # Eleven threads: with fewer, fastText 0.9.3 leaves a part of its weights uninitialised.
            for _ in range(10):
                try:
                    models[name] = fasttext.train_supervised(
                        input=str(source), dim=16, epoch=8, lr=0.8, thread=11, verbose=0, **SETTINGS[name]
                    )
                    break
                except RuntimeError:  # "Encountered NaN": its threads write over each other
                    continue
            else:
                pytest.skip("fastText met NaN in every attempt to train this model")
        return models[name]

    return train


def answers(model, texts):
    """Most likely label and probabilities of all, of fastText; the first is empty where it says nothing."""
    first, whole = [], []
    names = [label.removeprefix("__label__") for label in model.get_labels()]
    for text in texts:
        top = model.f.predict(text + "\n", 1, 0.0, "strict")
        first.append(top[0][1].removeprefix("__label__") if top else "")
        found = {label.removeprefix("__label__"): p for p, label in model.f.predict(text + "\n", -1, 0.0, "strict")}
        whole.append([found.get(name, np.nan) for name in names])
    return np.array(first), np.array(whole)


def agrees(model, path, texts):
    ours = tallywise.load(path)
    assert isinstance(ours, FastTextModel)
    first, whole = answers(model, texts)
    said = first != ""
    assert said.mean() > 0.99
    assert ours.classes == [label.removeprefix("__label__") for label in model.get_labels()]
    P = ours.predict_proba(texts)
    np.testing.assert_array_equal(ours.predict(texts)[said], first[said])
    told = ~np.isnan(whole)  # of a tree fastText leaves out what is less likely than 1e-5
    assert (P[said] < 1e-4)[~told[said]].all()
    # fastText adds 1e-5 to every probability, at every node of a tree, and adds rows up in single precision: a score
    # at the edge of a step of its table of the logistic function, at most 1 / 128 high, may go either way.
    apart = np.abs(P - whole + 1e-5)[told & said[:, None]]
    assert np.quantile(apart, 0.9999) < (2e-4 if ours.file.loss == "hs" else 5e-5)
    assert apart.max() < (1 / 128 if ours.file.loss in ("ova", "ns") else 2e-4)
    if ours.file.loss in ("softmax", "hs"):
        np.testing.assert_allclose(P.sum(axis=1), 1)


@pytest.mark.parametrize("name", SETTINGS)
def test_models_answer_as_in_fasttext_on_all_of_a_test_set(trained, questions, tmp_path, name):
    model = trained(name)
    path = tmp_path / "m.bin"
    model.save_model(str(path))
    agrees(model, path, questions[1])


@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_models_answer_as_in_fasttext_on_all_of_a_test_set(fasttext, trained, questions, tmp_path, name):
    base, options = QUANTISED[name]
    plain, path = tmp_path / "m.bin", tmp_path / "m.ftz"
    trained(base).save_model(str(plain))
    model = fasttext.load_model(str(plain))
    model.quantize(
        input=str(questions[0] if base != "many labels" else questions[0].with_name("many.txt")),
        thread=11,
        verbose=0,
        **options,
    )
    model.save_model(str(path))
    agrees(model, path, questions[1])


# --- without the package ---


def stored():
    return sorted(STORED.glob("fasttext_*.json"))


@pytest.fixture(params=stored(), ids=lambda path: path.stem)
def kept(request):
    """A small model of fastText, and what fastText answers."""
    answers = json.loads(request.param.read_text())
    return tallywise.load(STORED / answers["model"]), answers


def test_stored_models_answer_as_in_fasttext(kept):
    model, answers = kept
    assert model.predict(answers["texts"]).tolist() == answers["labels"]
    P = model.predict_proba(answers["texts"])
    best = P[np.arange(len(P)), model.decide(P)]
    np.testing.assert_allclose(best, answers["probabilities"], atol=2e-4)


def test_contributions_of_words_add_up_to_the_score(kept):
    model, answers = kept
    for text in answers["texts"]:
        for label in model.classes:
            found = model.explain(text, label)
            assert found.score == pytest.approx(found.bias + sum(word.contribution for word in found.words))
            z = model.scores([text])[0]
            k = model.classes.index(label)
            rest = np.delete(z, k).mean() if model.file.loss == "softmax" else 0.0
            rest = rest if len(z) == 2 or model.file.loss != "softmax" else z.mean()
            assert found.score == pytest.approx(z[k] - rest, abs=1e-9)
            for word in found.words:
                assert all(text[begin:end].split()[0] == word.term.split()[0] for begin, end in word.spans)


def test_a_flip_changes_the_verdict(kept):
    model, answers = kept
    flipped = 0
    for text in answers["texts"]:
        flip = model.flip(text)
        if flip is None or not flip.remove:
            continue
        flipped += 1
        rest = " ".join(word for word in text.split() if word not in flip.remove)
        assert model.predict([rest])[0] == flip.becomes != model.predict([text])[0] == flip.label
    assert flipped


def test_one_text_and_many_give_the_same(kept):
    model, answers = kept
    texts = answers["texts"] * 300
    together = model.predict_proba(texts)
    alone = np.vstack([model.predict_proba([text]) for text in answers["texts"]])
    np.testing.assert_allclose(together, np.tile(alone, (300, 1)), rtol=1e-12)
    assert model.predict_proba([]).shape == (0, len(model.classes))


def test_the_command_takes_models_of_fasttext(kept, tmp_path, capsys):
    _, answers = kept
    path = str(STORED / answers["model"])
    texts = tmp_path / "texts.csv"
    texts.write_text("text\n" + "\n".join(f'"{text}"' for text in answers["texts"] if text.strip()) + "\n")

    def tally(*arguments):
        with pytest.raises(SystemExit) as end:
            main([*arguments])
        assert end.value.code in (0, None)
        return capsys.readouterr().out

    shown = [json.loads(line)["label"] for line in tally("classify", path, str(texts), "--json").splitlines()]
    assert shown == [label for text, label in zip(answers["texts"], answers["labels"], strict=True) if text.strip()]
    assert "fastText" in tally("inspect", path)
    assert tally("classify", path, str(texts), "--explain")
    assert "bias" in tally("explain", path, str(texts))


def test_any_cut_and_any_changed_byte_is_a_model_or_a_refusal(kept, tmp_path):
    _, answers = kept
    data = (STORED / answers["model"]).read_bytes()
    path = tmp_path / "m.ftz"
    random = np.random.default_rng(0)
    dictionary = data.rfind(b"__label__") + 60
    places = [*random.integers(0, len(data), 100), *random.integers(8, dictionary, 400)]
    for place in map(int, places):
        changed = bytearray(data)
        changed[place] = int(random.integers(256))
        for content in (bytes(changed), data[:place]):
            path.write_bytes(content)
            try:
                model = FastTextModel(path)
                model.predict(answers["texts"][:2])
            except ModelFileError as error:
                assert "Cannot" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("offset", "form", "value", "cause"),
    [
        (0, "<i", 1, "does not begin|not a tallywise model"),
        (4, "<i", 13, "version is 13"),
        (8, "<i", 0, "dimension"),
        (8, "<i", 1 << 30, "does not fit"),
        (28, "<i", 1 << 20, "n-grams"),
        (32, "<i", 9, "loss"),
        (36, "<i", 1, "word vectors"),
        (40, "<i", -1, "buckets"),
        (64, "<i", 1 << 30, "dictionary"),
        (84, "<q", 1 << 60, "ends too early"),
    ],
)
def test_what_is_no_classifier_of_fasttext_is_refused_with_its_cause(tmp_path, offset, form, value, cause):
    data = bytearray((STORED / "fasttext_softmax.bin").read_bytes())
    struct.pack_into(form, data, offset, value)
    path = tmp_path / "m.bin"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=cause):
        tallywise.load(path)


def test_loading_needs_neither_scikit_learn_nor_scipy():
    import subprocess
    import sys

    code = (
        "import sys, tallywise\n"
        f"tallywise.load({str(STORED / 'fasttext_softmax.bin')!r}).predict(['good'])\n"
        "assert not {'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
