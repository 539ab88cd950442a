"""The text store: durable, one writer, group commit, search, undo, once-only."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

apsw = pytest.importorskip("apsw")

from tallywise.serve import near_repeats, queries, store_writes  # noqa: E402
from tallywise.serve.text_store import QueueFullError, Store, StoreError, StoreFullError, StoreLockedError  # noqa: E402


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s") as found:
        yield found


def learn(store, text, label, who="me"):
    return store.write(lambda db: store_writes.learn(db, text, label, who=who)).result()


def test_a_learn_is_kept_and_a_repeated_one_counts_once(store):
    first, again = learn(store, "win a prize", "spam"), learn(store, "win a prize", "spam")
    assert (first.changed, again.changed) == (True, False)
    assert first.id == again.id
    assert store.read(queries.label_counts) == {"spam": 1}
    assert store.read(queries.totals)["events"] == 1


def test_changes_that_wait_together_share_a_commit(store):
    gate = threading.Event()
    blocker = store.write(lambda db: gate.wait())
    futures = [store.write(lambda db, k=k: store_writes.learn(db, f"text {k}", "a", who="me")) for k in range(100)]
    before = store.commits
    gate.set()
    blocker.result()
    assert sorted({future.result().changed for future in futures}) == [True]
    assert store.commits - before <= 2
    assert store.read(queries.totals)["labelled"] == 100


def test_a_job_that_fails_leaves_its_neighbours_alone(store):
    gate = threading.Event()
    store.write(lambda db: gate.wait())

    def bad(db):
        store_writes.learn(db, "half done", "a", who="me")
        msg = "no"
        raise ValueError(msg)

    futures = [store.write(lambda db: store_writes.learn(db, "one", "a", who="me")), store.write(bad)]
    futures.append(store.write(lambda db: store_writes.learn(db, "two", "a", who="me")))
    gate.set()
    assert futures[0].result().changed
    assert futures[2].result().changed
    with pytest.raises(ValueError, match="no"):
        futures[1].result()
    assert {item.text for item in store.read(queries.page)[0]} == {"one", "two"}


def test_what_was_acknowledged_survives_kill_nine(tmp_path):
    program = """
import sys
from tallywise.serve import store_writes
from tallywise.serve.text_store import Store
store = Store(sys.argv[1])
for k in range(10**6):
    store.write(lambda db: store_writes.learn(db, f"text {k}", "ab"[k % 2], who="me")).result()
    print(k, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    acknowledged = [int(child.stdout.readline()) for _ in range(60)]
    os.kill(child.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in child.stdout.read().splitlines()]
    child.wait()
    child.stdout.close()
    with Store(tmp_path) as store:
        assert store.read(queries.totals)["labelled"] >= len(acknowledged)
        assert store.read(lambda db: db.execute("PRAGMA integrity_check").get) == "ok"
        assert store.read(lambda db: queries.count(db, queries.Filter(q="text"))) >= len(acknowledged)


def test_a_full_disk_is_said_and_nothing_is_lost(store):
    learn(store, "before", "a")
    pages = store.write(lambda db: db.pragma("page_count")).result()
    store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 2}").get).result()
    with pytest.raises(StoreFullError, match="no room left"):
        store.write(lambda db: store_writes.add(db, "x" * 100_000, "here")).result()
    assert [item.text for item in store.read(queries.page)[0]] == ["before"]
    store.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").get).result()
    assert learn(store, "after", "a").changed


def test_a_locked_store_is_said(store, monkeypatch, tmp_path):
    with pytest.raises(StoreLockedError, match="in use by another process"):
        Store(store.folder)
    store.write(lambda db: db.set_busy_timeout(10)).result()
    other = apsw.Connection(str(store.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLockedError, match="locked by another program"):
        learn(store, "x", "a")
    other.execute("ROLLBACK")
    assert learn(store, "x", "a").changed
    other.close()


@pytest.mark.parametrize(
    "content", [b"no database at all, just some bytes" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_store_is_refused(tmp_path, content):
    (tmp_path / "texts.db").write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged or no store|not a store"):
        Store(tmp_path)
    assert (tmp_path / "texts.db").read_bytes() == content


def test_another_programs_database_is_refused(tmp_path):
    other = apsw.Connection(str(tmp_path / "texts.db"))
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path)


def test_too_many_waiting_changes_are_refused(store):
    gate = threading.Event()
    blocker = store.write(lambda db: gate.wait())

    def flood():
        for _ in range(10_000):
            store.write(lambda db: None)

    with pytest.raises(QueueFullError, match="Try again"):
        flood()
    gate.set()
    blocker.result()


def test_undo_brings_back_what_was_there(store):
    number = learn(store, "text", "a").id
    store.write(lambda db: store_writes.relabel(db, number, "b", "you")).result()
    for expected in ("a", None):
        store.write(lambda db: store_writes.undo(db, number=number)).result()
        assert store.read(lambda db: queries.item(db, number)).label == expected
    with pytest.raises(store_writes.NothingToUndoError):
        store.write(lambda db: store_writes.undo(db, number=number)).result()


def test_undo_by_person_undoes_their_last_change_only(store):
    mine, yours = learn(store, "mine", "a", "me").id, learn(store, "yours", "a", "you").id
    store.write(lambda db: store_writes.undo(db, who="me")).result()
    assert store.read(lambda db: queries.item(db, mine)).label is None
    assert store.read(lambda db: queries.item(db, yours)).label == "a"


def test_putting_off_and_its_undo(store):
    number = store.write(lambda db: store_writes.add(db, "hm", "here")).result()
    store.write(lambda db: store_writes.put_off(db, number, "unsure", "me")).result()
    assert store.read(lambda db: queries.next_to_label(db, "as given")) is None
    assert store.read(lambda db: queries.next_to_label(db, "least certain", "unsure")).id == number
    store.write(lambda db: store_writes.undo(db, who="me")).result()
    assert store.read(lambda db: queries.next_to_label(db, "as given")).id == number


def test_an_idempotency_key_gives_the_same_answer_once(store):
    calls = []

    def job(request):
        return store.write(
            lambda db: store_writes.once(db, "k1", request, lambda: calls.append(1) or {"n": len(calls)})
        ).result()

    assert job(b"r") == job(b"r") == {"n": 1}
    with pytest.raises(store_writes.KeyReusedError):
        job(b"other")


def test_search_takes_words_as_words(store):
    for text in (
        "Zürich is nice",
        'a "quoted" NEAR(x) text',
        "東京都に住む",
        "x\0y nul",
        "مرحبا بالعالم",
        "-- DROP TABLE",
    ):
        store.write(lambda db, text=text: store_writes.add(db, text, "here")).result()

    def found(q):
        return [item.text for item in store.read(lambda db: queries.page(db, queries.Filter(q=q)))[0]]

    assert found("zurich") == ["Zürich is nice"]
    assert found("nic") == ["Zürich is nice"]
    assert found('"quoted" NEAR(') == ['a "quoted" NEAR(x) text']
    assert found("京都") == ["東京都に住む"]
    assert found("مرحبا") == ["مرحبا بالعالم"]
    assert found("'; DROP") == ["-- DROP TABLE"]
    assert found('"') == ['a "quoted" NEAR(x) text']
    assert len(found("")) == 6

    def with_term(term):
        return [item.text for item in store.read(lambda db: queries.page(db, queries.Filter(term=term)))[0]]

    assert with_term("- -") == ["-- DROP TABLE"]
    assert with_term("- drop") == ["-- DROP TABLE"]
    assert with_term("' drop") == []


def test_pages_follow_each_other_without_gap_or_repeat(store):
    store.write(
        lambda db: store_writes.add_records(db, [(f"t {k}", None, "f:1", None) for k in range(25)], "me")
    ).result()
    seen, before = [], None
    while True:
        rows, before = store.read(lambda db, before=before: queries.page(db, before=before, limit=10))
        seen += [item.id for item in rows]
        if before is None:
            break
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 25


def test_erased_texts_leave_nothing_behind(store):
    number = learn(store, "my secret words", "a").id
    store.write(lambda db: store_writes.erase(db, [number])).result()
    assert store.read(lambda db: queries.item(db, number)) is None
    assert store.read(lambda db: queries.count(db, queries.Filter(q="secret"))) == 0
    assert store.read(lambda db: queries.labelled_after(db, 0)) == [(number, "a", None)]


def test_repeats_and_near_repeats_are_found(store):
    base = "dear customer you have won a prize of one thousand pounds call now to claim it before friday"
    numbers = [
        store.write(lambda db, text=text: store_writes.add(db, text, "here")).result()
        for text in (base, base.upper(), base.replace("thousand", "hundred"), "lunch at noon")
    ]
    same, near = store.read(lambda db: queries.repeats(db, numbers[0], base))
    assert same == [numbers[1]]
    assert near == [numbers[2]]


def test_net_changes_of_labels_are_what_a_model_has_yet_to_learn(store):
    a = learn(store, "a", "x")
    b = learn(store, "b", "x").id
    start = store.read(store_writes.last_event)
    store.write(lambda db: store_writes.relabel(db, a.id, "y", "me")).result()
    store.write(lambda db: store_writes.relabel(db, a.id, "z", "me")).result()
    store.write(lambda db: store_writes.relabel(db, b, "y", "me")).result()
    store.write(lambda db: store_writes.relabel(db, b, "x", "me")).result()
    assert store.read(lambda db: queries.labelled_after(db, start)) == [(a.id, "x", "z")]


@pytest.mark.parametrize("label", ["", "   ", "a\0b", "x" * 201, "a\x1bb"])
def test_labels_that_cannot_be_shown_are_refused(store, label):
    with pytest.raises(ValueError, match="A label must have"):
        learn(store, "t", label)


def test_many_threads_read_while_one_writes(store):
    def work(k):
        learn(store, f"text {k}", "a")
        return store.read(queries.totals)["labelled"]

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(200))) == 200


def test_the_nearest_labelled_texts_share_words(store):
    learn(store, "win a big prize now", "spam")
    learn(store, "lunch at noon tomorrow", "ham")
    found = store.read(lambda db: queries.nearest_labelled(db, "a big prize is yours"))
    assert found[0][0].label == "spam"
    assert 0 < found[0][1] < 1


def test_similarity_is_jaccards():
    assert near_repeats.alike("a b c", "B c d") == 0.5
    assert near_repeats.keys("") == []


def test_the_nearest_are_found_by_rare_words_among_many_texts_with_common_ones(store):
    def fill(db):
        store_writes.add_records(db, [(f"the and {k}", "b", "f:1", None) for k in range(2500)], "me")
        return store_writes.learn(db, "the and quixotic zephyr", "a", who="me").id

    wanted = store.write(fill).result()
    nearest = store.read(lambda db: queries.nearest_labelled(db, "the and quixotic _ kites"))
    assert nearest[0][0].id == wanted
    common = store.read(lambda db: queries.nearest_labelled(db, "the and"))
    assert len(common) == 5
    assert store.read(lambda db: queries.nearest_labelled(db, "_ ?")) == []


def test_an_overview_is_that_of_the_last_commit(store):
    assert store.overview(queries.label_counts) == {}
    for k in range(1, 4):
        store.write(lambda db, k=k: store_writes.learn(db, f"text {k}", "a", who="me")).result()
        assert store.overview(queries.label_counts) == {"a": k}
        assert store.overview(queries.label_counts) is store.overview(queries.label_counts)
        assert store.overview(queries.totals)["texts"] == k


def test_versions_come_with_their_figures_and_one_with_all_that_is_known(store):
    facts = {"figures": {"error": [0.1, 0.05, 0.2]}, "plots": {"curve": "<svg/>"}}
    for known in (facts, {"classes": ["a"]}):
        store.write(lambda db, known=known: store_writes.add_model(db, "nb", "f.tally", 0, 10, True, known)).result()
    second, first = store.read(queries.versions)
    assert (first.facts, second.facts) == ({"figures": facts["figures"]}, {"figures": {}})
    assert store.read(lambda db: queries.version(db, 1)).facts == facts
    assert store.read(lambda db: queries.version(db, 3)) is None
