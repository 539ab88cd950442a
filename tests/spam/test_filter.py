import base64
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import datasets
from tallywise._native import SpamCounts, SpamFeatures, SpamLearner, spam_checksum, spam_features, spam_identity
from tallywise.spam import SpamFilter, digest_of, trec_figures
from tests.mail import csdmc, messages, spamassassin
from tests.reference import spam as twin


def filled(stream, **options):
    mail = SpamFilter(**options)
    mail.learn_many(stream)
    return mail


def test_the_learner_is_the_formula():
    ours, page = SpamLearner(), twin.Learner()
    for raw, label in messages(60):
        features = spam_features(raw, [])
        views = [features.view(v).tolist() for v in range(3)]
        assert ours.score(features) == pytest.approx(page.score(views), rel=1e-9, abs=1e-12)
        ours.learn(features, label == "spam")
        page.learn(views, label == "spam")
    table = np.zeros(1 << 20, np.float32)
    table[list(page.w)] = list(page.w.values())
    np.testing.assert_allclose(ours.first(), table, rtol=1e-6, atol=1e-9)


def test_words_of_the_body_are_those_of_the_page():
    body = b"Buy NOW at www.x.example. Write to a@b.example, it's $5! caf\xc3\xa9 -- " + b"y" * 100 + b" end."
    names = {r.text for r in SpamLearner().explain(b"\n" + body, []) if r.view == 2}
    expected = {b" ".join(f) if isinstance(f, tuple) else f for f in twin.body_features(body)}
    assert names == expected


def test_words_in_base64_are_words_of_the_body():
    plain = b"Buy cheap pills now, 50% off!\n"
    code = base64.encodebytes(plain).replace(b"\n", b"\r\n")
    words = set(spam_features(b"\n" + plain, []).view(2).tolist())
    whole = b"Content-Transfer-Encoding: BASE64\r\nContent-Type:\r\n text/html\r\n\r\n" + code
    head = b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: %s\nContent-Transfer-Encoding: base64\n\n"
    for raw in (whole, head % b"text/plain" + code + b"--x--\n"):
        assert words <= set(spam_features(raw, []).view(2).tolist())
    attached = spam_features(head % b"image/gif" + code + b"--x--\n", [])
    assert not words & set(attached.view(2).tolist())


@pytest.mark.parametrize(
    ("words", "looks"),
    [
        ([b"viagra", b"VIAGRA", b"V1@gra", b"v-i-a-g-r-a", b"viaggra", b"vi\xc3\xa1gra", b"vi\xe1gra"], b"viagra"),
        ([b"m0rtgage", b"Mortgage", b"M0RTGAGE", b"m.o.r.t.g.a.g.e"], b"mortgage"),
        ([b"\xd0\xb8\xd0\xbc\xd1\x8f"], b"\xd0\xb8\xd0\xbc\xd1\x8f"),
    ],
)
def test_words_that_look_alike_share_a_feature(words, looks):
    def looking(word):
        return spam_features(b"\n" + word, []).view(2)

    for word in words:
        assert twin.skeleton(word) == looks
        assert set(looking(word)) & set(looking(words[0]))
    shown = [r for r in SpamLearner().explain(b"\n" + words[-1], []) if r.field == b"looks like"]
    assert [r.text for r in shown] == [words[-1]]


@given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_looks_are_those_of_the_page(parts):
    body = b" ".join(parts)
    expected = {twin.skeleton(word) for word in twin.words(body)}
    shown = [r for r in SpamLearner().explain(b"\n" + body, []) if r.view == 2 and r.field == b"looks like"]
    assert {twin.skeleton(r.text) for r in shown} == {looks for looks in expected if len(looks) > 2}


def test_hosts_of_the_header_count_by_their_domains_and_networks():
    raw = b"Received: from mail.Shop.example [192.0.2.7]\n\nwords"
    names = {r.text for r in SpamLearner().explain(raw, []) if r.field == b"received"}
    assert {b".shop.example", b".example", b"mail.", b"mail.shop.", b"192.", b"192.0.", b"192.0.2.", b".7"} <= names


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_message_and_features_survive_their_code(raw):
    features = spam_features(raw, [])
    again = SpamFeatures.decode(features.encode())
    for v in range(3):
        slots = features.view(v)
        assert (np.diff(slots.astype(np.int64)) > 0).all()
        np.testing.assert_array_equal(slots, again.view(v))
    assert np.isfinite(SpamLearner().score(features))


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None)
def test_a_damaged_code_is_refused_or_read_never_worse(code):
    try:
        features = SpamFeatures.decode(code)
    except ValueError:
        return
    assert all((features.view(v) < 1 << 20).all() for v in range(3))


def test_fields_that_leak_a_label_are_left_out():
    plain = b"From: a@b.example\nSubject: hello\n\nsome words\n"
    marked = (
        b"From x Mon Jan  1 00:00:00 2001\r\nX-Spam-Status: Yes, score=9\r\n\tmore of it\r\nFrom: a@b.example\r\n"
        b"X-Bogosity: Spam\r\nX-Tally-Spam: spam\r\nSubject: hello\r\nStatus: RO\r\nX-UID: 7\r\n\r\nsome words\r\n"
    )
    assert spam_features(plain, []).encode() == spam_features(marked, []).encode()
    assert digest_of(plain) == digest_of(marked)


def test_authentication_results_count_from_servers_that_are_named_only():
    plain = b"Subject: hello\n\nwords\n"
    forged = b"Authentication-Results: evil.example; dkim=pass\n" + plain
    assert spam_features(forged, ["mx.example"]).encode() == spam_features(plain, []).encode()
    named = b"Authentication-Results: mx.example; dkim=pass\n" + plain
    assert spam_features(named, ["mx.example"]).encode() != spam_features(plain, []).encode()


def test_the_identity_of_a_message_outlives_its_journey():
    raw = b"From: a@b\nMessage-ID: <1@b>\nSubject: x\n\nbody\n"
    travelled = b"Received: from x by y\r\n" + raw.replace(b"\n", b"\r\n") + b"\r\n"
    assert spam_identity(raw) == spam_identity(travelled)
    assert digest_of(raw) != digest_of(raw.replace(b"body", b"other"))


@pytest.mark.parametrize("model", ["online", "naive_bayes"])
def test_forgetting_is_as_if_never_learned(model):
    stream = messages(120)
    mail = filled(stream, model=model)
    for gone in (3, 40, 119):
        assert mail.forget(stream[gone][0]).found
    mail.settle()
    without = filled([m for k, m in enumerate(stream) if k not in (3, 40, 119)], model=model)
    assert mail._weights.learner.state() == without._weights.learner.state()
    assert [mail.score(raw) for raw, _ in stream] == [without.score(raw) for raw, _ in stream]


def test_naive_bayes_forgets_exactly_at_once():
    stream = messages(50)
    mail = filled(stream, model="naive_bayes")
    assert mail.forget(stream[7][0]) == (True, True)
    assert (
        mail._weights.learner.state() == filled(stream[:7] + stream[8:], model="naive_bayes")._weights.learner.state()
    )


def test_forgetting_says_which_of_the_two_holds_and_comes_close_at_once():
    stream = messages(80)
    mail, odd = filled(stream), b"Subject: lunch\n\nlunch meeting of the casino kernel\n"
    never = mail.score(odd)
    mail.learn(odd, "spam")
    learned = mail.score(odd)
    mail._weights.rebuild_later = lambda: None  # as if the replay had not come to it yet
    assert mail.forget(odd) == (True, False)
    assert abs(mail.score(odd) - never) < abs(learned - never) / 10


def test_forgetting_what_was_never_learned_changes_nothing():
    mail = filled(messages(20))
    state = mail._weights.learner.state()
    assert mail.forget(b"Subject: never\n\nseen\n") == (False, True)
    assert mail._weights.learner.state() == state


def test_learning_twice_is_learning_once_and_another_label_replaces():
    stream = messages(30)
    mail = filled(stream)
    assert mail.learn(*stream[0]).outcome == "known"
    assert mail.stats()["messages"] == 30
    other = "ham" if stream[0][1] == "spam" else "spam"
    assert mail.learn(stream[0][0], other).outcome == "replaced"
    mail.settle()
    assert mail._weights.learner.state() == filled([*stream[1:], (stream[0][0], other)])._weights.learner.state()


def test_never_spam_when_one_class_was_seen():
    mail = SpamFilter()
    raw = b"Subject: pills\n\ncheap pills\n"
    assert mail.classify(raw).label == "unsure"
    for k in range(50):
        mail.learn(raw + b"x" * k, "spam")
        assert mail.classify(raw).label == "unsure"
    mail.learn(b"Subject: lunch\n\nat noon\n", "ham")
    assert mail.classify(raw).label == "spam"


def test_the_parts_of_a_score_sum_to_it():
    stream = messages(60)
    for model in ("online", "naive_bayes"):
        mail = filled(stream, model=model)
        raw = b"From: b@relay.example\nSubject: pills for the meeting\n\nfree pills and notes\n"
        assert sum(reason.adds for reason in mail.explain(raw)) == pytest.approx(mail.score(raw), rel=1e-9)
        assert mail.explain(raw)[0].view != "bytes"


def test_the_threshold_keeps_to_the_budget_on_its_own_record():
    stream = messages(600, seed=3)
    for budget in (0.0, 0.01, 0.1):
        stats = filled(stream, max_flagged=budget).stats()
        assert stats["ham_flagged"] <= budget * stats["judged_ham"]
    assert stats["ham_flagged"] > 0


def test_a_replay_is_score_then_learn():
    stream = messages(80)
    mail = SpamFilter()
    one_by_one = []
    for raw, label in stream:
        one_by_one.append(mail.score(raw))
        mail.learn(raw, label)
    for threads in (1, 2):
        assert SpamFilter().replay(stream, threads=threads) == one_by_one


def test_a_user_has_the_shared_filter_under_his_own():
    stream = messages(60)
    shared = filled(stream)
    own = SpamFilter(shared=shared)
    raw = stream[0][0]
    assert own.score(raw) == shared.score(raw)
    assert own.classify(raw).label == shared.classify(raw).label
    own.learn(raw, "ham")
    own.learn(b"Subject: z\n\nzz\n", "spam")
    assert own.score(raw) < shared.score(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"\0" * 1000,
        b"Subject: only a header",
        b"no header at all\n" * 10,
        b"A" * (50 << 20),
        b"X: y\n" * 200_000,
        b"Subject: x\n" + b" fold\n" * 200_000 + b"\nbody",
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\nContent-Type: text/plain\n\nx\n" * 10_000,
        b"://" * 100_000,
    ],
    ids=["empty", "newline", "nul", "header", "no header", "50 MB", "fields", "folds", "parts", "links"],
)
def test_hostile_messages_are_scored_learned_and_forgotten(raw):
    mail = filled(messages(30))
    assert mail.classify(raw).label in ("spam", "ham", "unsure")
    assert mail.learn(raw, "ham").outcome == "learned"
    assert mail.forget(raw).found


def test_figures_of_the_protocol_against_all_pairs():
    rng = random.Random(1)
    spam = [rng.random() < 0.4 for _ in range(300)]
    scores = [round(rng.gauss(1.5 if s else 0, 1), 1) for s in spam]
    pairs = [(h, s) for h, a in zip(scores, spam, strict=True) if not a for s, b in zip(scores, spam, strict=True) if b]
    wrong = sum((h > s) + (h == s) / 2 for h, s in pairs)
    assert trec_figures(scores, spam).one_minus_roca == pytest.approx(100 * wrong / len(pairs))


def test_labels_and_settings_are_checked():
    with pytest.raises(ValueError, match="'spam' or 'ham'"):
        SpamFilter().learn(b"", "junk")
    with pytest.raises(ValueError, match="model"):
        SpamFilter(model="oracle")
    with pytest.raises(ValueError, match="max_flagged"):
        SpamFilter(max_flagged=1.5)


@pytest.mark.parametrize("make", [SpamLearner, SpamCounts])
def test_a_raw_message_is_judged_as_its_features_are_scored(make):
    learner = make()
    for raw, label in messages(60):
        features = spam_features(raw, ["mx.example"])
        assert learner.judge(raw, ["mx.example"]) == learner.score(features)
        learner.learn(features, label == "spam")


def test_weights_that_come_in_pieces_are_those_that_went_out():
    learner = SpamLearner()
    for raw, label in messages(20):
        learner.learn(spam_features(raw, []), label == "spam")
    state, again = learner.state(), SpamLearner()
    assert len(state) == SpamLearner.state_bytes
    for offset in range(0, len(state), 100_000):
        again.fill(offset, state[offset : offset + 100_000])
    again.check()
    assert again.state() == state
    assert again.checksum() == learner.checksum() == spam_checksum(state)
    with pytest.raises(ValueError, match="size"):
        again.fill(len(state) - 1, b"ab")


def test_damaged_weights_are_refused():
    for learner in (SpamLearner(), SpamCounts()):
        with pytest.raises(ValueError, match="size"):
            learner.restore(b"short")
    with pytest.raises(ValueError, match="damaged"):
        SpamLearner().restore(struct.pack("<f", float("nan")) * (2 << 20))


@pytest.mark.parametrize(
    ("stream", "one_minus_roca", "lost_spam", "lam"), [(csdmc, 0.0177, 4.1, 0.77), (spamassassin, 0.0353, 6.1, 1.07)]
)
def test_a_stream_of_real_mail_is_filtered_as_well_as_promised(stream, one_minus_roca, lost_spam, lam):
    messages = stream()
    figures = trec_figures(SpamFilter().replay(messages), [label == "spam" for _, label in messages])
    assert figures.one_minus_roca <= one_minus_roca
    assert round(figures.lost_spam, 1) <= lost_spam
    assert round(figures.lam, 2) <= lam


def test_a_batch_of_half_of_real_mail_judges_the_other_half():
    raws, labels = datasets.mails()
    order = list(range(len(raws)))
    random.Random(0).shuffle(order)
    half = len(order) // 2
    learner = SpamLearner()
    learner.replay([raws[k] for k in order[:half]], [labels[k] == "spam" for k in order[:half]], 2)
    scores = [learner.score(spam_features(raws[k], [])) for k in order[half:]]
    figures = trec_figures(scores, [labels[k] == "spam" for k in order[half:]])
    assert figures.lost_spam <= 5
