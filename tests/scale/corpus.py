"""A corpus in shards for the tests of scale: what model, which shards, what bytes."""

import hashlib
import json
import random


def corpus(classes=2, rows=1200, seed=0):
    """Texts of eight words, whose distribution depends on the class."""
    draw = random.Random(seed)
    words = [f"word{k}" for k in range(600)]
    labels = [str(draw.randrange(classes) + 1) for _ in range(rows)]
    texts = [" ".join(draw.choices(words[60 * int(label) : 60 * int(label) + 360], k=8)) for label in labels]
    return texts, labels


def write_shards(folder, texts, labels, shards=7):
    folder.mkdir(exist_ok=True)
    size = -(-len(texts) // shards)
    for k in range(shards):
        rows = zip(texts[k * size : (k + 1) * size], labels[k * size : (k + 1) * size], strict=True)
        lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
        (folder / f"part-{k}.jsonl").write_text(lines)
    return str(folder)


def digest(trained, folder):
    path = folder / "digest.tally"
    trained.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()
