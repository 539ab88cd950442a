"""Shards: the same rows however they are packed, cut and listed, in pieces of bounded size."""

import gzip
import json
import tracemalloc

import pytest

from tallywise.reading import InputError, find_shards, layout_of, open_source, shard_size

ROWS = [(f"text number {k}, of some length", ("ham", "spam")[k % 3 == 0]) for k in range(1000)]


def jsonl(rows):
    return "".join(json.dumps({"id": 7, "body": text, "kind": label}) + "\n" for text, label in rows).encode()


def csv(rows):
    return ("id,body,kind\n" + "".join(f'1,"{text}",{label}\n' for text, label in rows)).encode()


def zstd(data):
    pa = pytest.importorskip("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def write_parquet(path, rows, **columns):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {"id": [1] * len(rows), "body": [text for text, _ in rows], "kind": [label for _, label in rows]}
    parquet.write_table(pa.table({**table, **columns}), path, row_group_size=300)


def read(shards, **options):
    layout, _ = layout_of(shards)
    return [
        (text, label)
        for shard in shards
        for piece in layout.pieces(shard, **options)
        for text, label in zip(piece.texts, piece.labels, strict=True)
    ]


@pytest.mark.parametrize("rows", [1, 7, 299, 10_000])
def test_every_format_and_packing_gives_the_same_rows_in_pieces_of_any_size(tmp_path, rows):
    (tmp_path / "a.jsonl").write_bytes(jsonl(ROWS))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(jsonl(ROWS)))
    (tmp_path / "c.csv").write_bytes(csv(ROWS))
    (tmp_path / "d.csv.zst").write_bytes(zstd(csv(ROWS)))
    write_parquet(tmp_path / "e.parquet", ROWS)
    shards = find_shards(tmp_path)
    assert len(shards) == 5
    for shard in shards:
        assert read([shard], rows=rows) == ROWS
        assert [(r.text, r.label) for r in open_source(shard)] == ROWS
    assert read(shards) == ROWS * 5


def test_pieces_keep_to_rows_and_characters(tmp_path):
    rows = [("x" * 10, "a"), ("y" * 500, "b"), *ROWS]
    (tmp_path / "a.jsonl").write_bytes(jsonl(rows))
    shard = str(tmp_path / "a.jsonl")
    layout, _ = layout_of([shard])
    sizes = [(len(p.texts), sum(map(len, p.texts))) for p in layout.pieces(shard, rows=16, characters=200)]
    assert max(n for n, _ in sizes) <= 16
    assert [size for n, size in sizes if size > 200] == [500]
    assert sum(n for n, _ in sizes) == len(rows)


def test_a_shard_is_never_in_memory_whole(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(jsonl(ROWS * 20), 1))
    shard = str(tmp_path / "a.jsonl.gz")
    layout, _ = layout_of([shard])

    def peak(read):
        tracemalloc.start()
        rows = sum(len(piece.texts) for piece in read(layout.pieces(shard, rows=100)))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows == 20_000
        return most

    assert peak(iter) < peak(list) / 3


def test_shards_come_as_listed_and_sorted_within_a_pattern_without_repeats(tmp_path):
    for name in ("b.csv", "a.csv", "c.jsonl", ".hidden.csv", "_SUCCESS"):
        (tmp_path / name).write_bytes(b"text,label\nx y,a\n")
    names = [s.rsplit("/", 1)[1] for s in find_shards([tmp_path / "c.jsonl", f"{tmp_path}/*", f"{tmp_path}/a.csv"])]
    assert names == ["c.jsonl", "a.csv", "b.csv"]
    assert [s.rsplit("/", 1)[1] for s in find_shards(tmp_path)] == ["a.csv", "b.csv", "c.jsonl"]
    assert shard_size(str(tmp_path / "a.csv")) == 17
    with pytest.raises(InputError, match="nothing matches"):
        find_shards(str(tmp_path / "*.parquet"))
    with pytest.raises(InputError, match="does not exist"):
        find_shards(str(tmp_path / "z.csv"))


def test_a_folder_of_mail_is_one_shard(tmp_path):
    for label in ("ham", "spam"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.eml").write_text(f"Subject: this is {label}\n\nbody\n")
    assert find_shards(tmp_path) == [str(tmp_path)]
    assert [label for _, label in read([str(tmp_path)])] == ["ham", "spam"]


def test_columns_are_chosen_once_and_asked_of_every_shard(tmp_path):
    (tmp_path / "a.csv").write_text("one,two\nlong text here,x\nlong text there,y\n" * 1)
    (tmp_path / "b.csv").write_text("two,one\nx,other text\n")
    (tmp_path / "c.csv").write_text("two,three\nx,other text\n")
    shards = find_shards(tmp_path)
    layout, description = layout_of(shards, text="one", label="two")
    assert description == 'csv: text = "one", label = "two"'
    assert [p.texts for p in layout.pieces(shards[1])] == [["other text"]]
    with pytest.raises(InputError, match=r'c\.csv has no column "one"'):
        list(layout.pieces(shards[2]))


def test_a_table_without_header_keeps_its_first_row_in_every_shard(tmp_path):
    rows = [(text, "no" if label == "ham" else "yes") for text, label in ROWS[:50]]
    for name in ("a", "b"):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{label}\t{text}\n" for text, label in rows))
    (tmp_path / "c.tsv").write_text("no\tan only row\n")
    assert read(find_shards(tmp_path)) == [*rows * 2, ("an only row", "no")]


def test_rows_without_text_or_label_are_left_out_alike(tmp_path):
    rows = [*ROWS[:30], ("", "ham"), ("  \n", "ham"), ("text", ""), ("text", " "), (" kept ", " ham ")]
    (tmp_path / "a.jsonl").write_bytes(jsonl(rows))
    write_parquet(tmp_path / "b.parquet", rows)
    expected = [*ROWS[:30], (" kept ", "ham")]
    assert read([str(tmp_path / "a.jsonl")]) == expected
    assert read([str(tmp_path / "b.parquet")]) == expected


@pytest.mark.parametrize("damage", ["cut", "bytes", "empty"])
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
def test_a_damaged_shard_is_named_in_one_line(tmp_path, name, damage):
    path = tmp_path / name
    if name.endswith("parquet"):
        write_parquet(path, ROWS)
    else:
        path.write_bytes(gzip.compress(jsonl(ROWS)) if name.endswith("gz") else zstd(jsonl(ROWS)))
    layout, _ = layout_of([str(path)])
    data = bytearray(path.read_bytes())
    if damage == "bytes":
        data[len(data) // 2 : len(data) // 2 + 40] = b"\x55" * 40
    path.write_bytes({"cut": data[: len(data) // 2], "bytes": data, "empty": b""}[damage])
    if damage == "bytes" and name.endswith("parquet"):
        data[-9:] = b"\xff" * 9
        path.write_bytes(data)
    with pytest.raises(InputError, match=name) as error:
        list(layout.pieces(str(path)))
    assert "\n" not in str(error.value)


def test_a_parquet_file_in_gzip_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet.gz").write_bytes(b"x")
    with pytest.raises(InputError, match="unpack"):
        layout_of([str(tmp_path / "a.parquet.gz")])


def test_urls_are_read_by_fsspec_or_refused_in_one_line():
    try:
        import fsspec
    except ImportError:
        with pytest.raises(InputError, match="pip install fsspec"):
            find_shards("memory://corpus/*.jsonl")
        return
    fs = fsspec.filesystem("memory")
    for name, data in {"a.jsonl": jsonl(ROWS), "b.csv.gz": gzip.compress(csv(ROWS))}.items():
        fs.pipe(f"/corpus/{name}", data)
    shards = find_shards("memory://corpus/*")
    assert [shard.rsplit("/", 1)[1] for shard in shards] == ["a.jsonl", "b.csv.gz"]
    assert read(shards) == ROWS * 2
    assert shard_size(shards[0]) == len(jsonl(ROWS))
