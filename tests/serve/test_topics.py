"""Topics of the stored texts, and their shares over time."""

import datetime

import numpy as np
import pytest

for name in ("apsw", "fastapi", "httptools"):
    pytest.importorskip(name)

from tallywise.reading import InputError, open_source, preview  # noqa: E402
from tallywise.reading.preview import Days  # noqa: E402
from tallywise.report.topic_overview import find_topics, over_time, pictures  # noqa: E402
from tallywise.serve import Settings, Store, importing, queries  # noqa: E402
from tallywise.serve.service import Service  # noqa: E402

EPOCH = datetime.date(1970, 1, 1)


def days_of(*dates):
    return np.array([np.nan if date is None else (datetime.date.fromisoformat(date) - EPOCH).days for date in dates])


def test_shares_of_a_period_are_the_means_of_its_texts():
    draw = np.random.default_rng(0)
    theta = draw.dirichlet([1.0, 2.0, 3.0], 300)
    days = days_of("2023-01-01")[0] + draw.integers(0, 365, 300)
    found = over_time(theta, days + draw.random(300))
    assert found["unit"] == "month"
    assert found["periods"] == [f"2023-{month:02d}" for month in range(1, 13)]
    months = np.array([(EPOCH + datetime.timedelta(int(day))).month for day in days])
    for k in range(3):
        for month in range(1, 13):
            own = theta[months == month, k]
            half = 1.96 * own.std(ddof=1) / np.sqrt(len(own))
            assert found["texts"][month - 1] == len(own)
            got = [found[name][k][month - 1] for name in ("shares", "low", "high")]
            np.testing.assert_allclose(got, [own.mean(), max(own.mean() - half, 0), own.mean() + half], rtol=1e-9)


@pytest.mark.parametrize(
    ("dates", "unit", "periods"),
    [
        (["2024-02-28"] * 20 + ["2024-03-01"] * 20, "day", ["2024-02-28", "2024-02-29", "2024-03-01"]),
        (["2024-01-01", "2024-01-02", "2024-01-14"], "week", ["2024-01-01", "2024-01-08"]),
        (["1969-12-31"] * 10 + ["1970-01-01"] * 10, "day", ["1969-12-31", "1970-01-01"]),
        (["2023-12-31", "2024-07-01"] * 3, "year", ["2023", "2024"]),
        (["2023-01-31", "2023-04-01"] * 3, "quarter", ["2023 Q1", "2023 Q2"]),
        (["0101-01-01", "9999-12-31"] * 50, "century", None),
        ([None, "2024-01-01", "2024-01-01"], None, None),
        ([None, None], None, None),
        ([], None, None),
    ],
)
def test_the_period_fits_the_dates(dates, unit, periods):
    found = over_time(np.full((len(dates), 2), 0.5), days_of(*dates))
    assert (found and found["unit"]) == unit
    if periods is not None:
        assert found["periods"] == periods
    if found:
        assert sum(found["texts"]) == sum(date is not None for date in dates)
        assert len(pictures(found)) == 2


def test_a_period_without_texts_is_a_gap():
    found = over_time(np.full((40, 1), 0.25), days_of(*["2024-01-01"] * 20, *["2024-01-03"] * 20))
    assert found["shares"] == [[0.25, None, 0.25]]
    assert pictures(found)[0].count("<circle") == 2


def test_dates_of_a_file_reach_the_topics(tmp_path):
    data = tmp_path / "notes.csv"
    words = {"a": "river boat sail wind", "b": "bread oven flour yeast"}
    rows = [f"{words['ab'[k % 2]]} {k},{'ab'[k % 2]},{1 + k % 28}.{1 + k % 2}.2024" for k in range(80)]
    data.write_text("\n".join(["text,label,written", *rows, "no date here river,a,"]))
    with Store(tmp_path / "s") as store:
        service = Service(store, Settings())
        assert importing.read(service, importing.of_command(store, str(data), "me", preview.Asked())) == 81
        dated = store.read(queries.dated)
        assert dated[-1][2] is None
        assert dated[1][2] == (datetime.date(2024, 2, 2) - EPOCH).days
        found = find_topics(dated, 2, lambda line: None)
        service.gather.close()
    assert sum(found["over_time"]["texts"]) == 80
    assert len(found["pictures"]) == 2


def test_the_column_of_dates_can_be_named(tmp_path):
    data = tmp_path / "notes.csv"
    data.write_text("text,sent,read\na text,2024-01-01,2025-01-01\nanother text,2024-01-02,2025-01-02\n")
    named = Days("read")
    assert [record.date for record in open_source(data, is_date=named.recognise)] == ["2025-01-01", "2025-01-02"]
    assert [record.date for record in open_source(data)] == [None, None]
    with Store(tmp_path / "s") as store:
        service = Service(store, Settings())
        with pytest.raises(InputError, match='no column "when" whose cells are all dates'):
            importing.of_command(store, str(data), "me", preview.Asked(date="when"))
        service.gather.close()


FIRST_SCHEMA = """
CREATE TABLE texts (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL);
CREATE VIRTUAL TABLE search USING fts5 (text, content = 'texts', content_rowid = 'id');
CREATE TABLE items (
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL, folded BLOB NOT NULL, source TEXT NOT NULL, added REAL NOT NULL,
  label TEXT, labelled_by TEXT, labelled_at REAL, state TEXT NOT NULL DEFAULT '', verdict TEXT, probability REAL,
  margin REAL, disagreement REAL, version TEXT
);
CREATE INDEX items_folded ON items (folded);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL, action TEXT NOT NULL, old TEXT, new TEXT,
  who TEXT NOT NULL, at REAL NOT NULL, undone INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO texts (text) VALUES ('win a prize');
INSERT INTO items (id, digest, folded, source, added, label) VALUES (1, x'00', x'00', 'a.csv:2', 0, 'spam');
INSERT INTO events (id, action, new, who, at) VALUES (1, 'learn', 'spam', 'me', 0);
PRAGMA user_version = 1; PRAGMA application_id = 1952541817;
"""


def test_a_store_of_the_first_release_gets_dates_classes_and_steps(tmp_path):
    import apsw

    (tmp_path / "s").mkdir()
    db = apsw.Connection(str(tmp_path / "s" / "texts.db"))
    db.execute(FIRST_SCHEMA)
    db.close()
    for _ in range(2):
        with Store(tmp_path / "s") as store:
            assert store.read(queries.dated) == [(1, "win a prize", None)]
            assert store.read(queries.classes) == [queries.Class("spam", 1, 1, "")]
            assert [step["new"] for step in store.read(queries.steps)] == ["spam"]
