"""Readers beside a writer, one short round each; `reliability.run threads` has more."""

from reliability import threads


def test_readers_see_committed_versions_and_never_an_older_one(tmp_path):
    answers, versions, wrong = threads.filter_round(0, None, 60)
    assert wrong == []
    assert versions > 20
    assert answers > 0
    assert threads.model_round(0, tmp_path, 2)[2] == []


def test_an_answer_of_no_version_or_of_an_older_one_is_noticed():
    versions = [[1.0, 5.0], [2.0, 5.0], [3.0, 6.0]]
    assert threads.out_of_order([[(0, 1.0), (1, 5.0), (0, 2.0), (1, 5.0), (0, 3.0)]], versions) == []
    assert "of no version" in threads.out_of_order([[(0, 1.0), (0, 2.5)]], versions)[0]
    assert "older version" in threads.out_of_order([[(0, 2.0), (0, 1.0)]], versions)[0]
