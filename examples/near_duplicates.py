"""Texts that are almost the same, by the cosine between their characters."""

from importlib.resources import files

from tallywise import NearestNeighbors, TfidfVectorizer
from tallywise.reading import open_source


def main() -> None:
    """Change some texts a little, hide them among the others, find the pairs."""
    records = open_source(str(files("tallywise") / "demo_corpus" / "messages.csv"))
    texts = [record.text for record in records if len(record.text) > 60][:300]
    changed = [text.replace("e", "3", 2).replace("you", "u") + " thx" for text in texts[::60]]
    everything = texts + changed
    X = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(everything)
    distances, rows = NearestNeighbors(n_neighbors=2, metric="cosine").fit(X).kneighbors(X)
    pairs = {
        tuple(sorted((i, int(j)))) for i, (d, j) in enumerate(zip(distances[:, 1], rows[:, 1], strict=True)) if d < 0.4
    }
    found = sum((60 * k, len(texts) + k) in pairs for k in range(len(changed)))
    print(f"{len(everything)} texts, {len(changed)} of them changed copies: {found} found, {len(pairs)} pairs in all")
    for i, j in sorted(pairs)[:3]:
        print(f"\n  {everything[i][:100]!r}\n  {everything[j][:100]!r}")


if __name__ == "__main__":
    main()
