import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.imap import Mailbox, MailboxError, State
from tests.mail import HAM, SPAM, Server, crlf, taught


def test_new_spam_is_moved_and_our_own_moves_are_not_lessons():
    server, mail, state = Server(), taught(), State()
    server.put("INBOX", crlf(SPAM))
    server.put("INBOX", crlf(HAM))
    visit = Mailbox(server, mail, state).look()
    assert (visit.looked_at, visit.moved) == (2, 1)
    assert list(server.folders["Junk"].values()) == [crlf(SPAM)]
    again = Mailbox(server, mail, state).look()
    assert (again.looked_at, again.learned_spam) == (0, 0)
    assert mail.stats()["messages"] == 200


def test_what_the_owner_moves_is_learned():
    server, mail, state = Server(), taught(), State()
    server.put("INBOX", crlf(SPAM))
    server.put("INBOX", crlf(HAM))
    Mailbox(server, mail, state).look()
    server.carry(crlf(SPAM), "Junk", "INBOX")
    server.carry(crlf(HAM), "INBOX", "Junk")
    visit = Mailbox(server, mail, state).look()
    assert (visit.learned_ham, visit.learned_spam, visit.moved) == (1, 1, 0)
    assert mail.learn(SPAM, "ham").outcome == "known"
    assert mail.learn(HAM, "spam").outcome == "known"


def test_a_dry_run_changes_nothing():
    server, mail, state = Server(), taught(), State()
    server.put("INBOX", crlf(SPAM))
    server.put("Junk", crlf(HAM))
    visit = Mailbox(server, mail, state, dry_run=True).look()
    assert (visit.moved, visit.learned_spam) == (1, 1)
    assert (state.last.get("INBOX", 0), state.moved) == (0, [])
    assert list(server.folders["INBOX"].values()) == [crlf(SPAM)]
    assert mail.stats()["messages"] == 200


@pytest.mark.parametrize(("capabilities", "tag_only"), [(("MOVE",), True), ((), False)])
def test_spam_is_tagged_where_it_cannot_be_moved_without_deleting(capabilities, tag_only):
    server = Server(capabilities)
    uid = server.put("INBOX", crlf(SPAM))
    visit = Mailbox(server, taught(), State(), tag_only=tag_only).look()
    assert (visit.tagged, visit.moved) == (1, 0)
    assert server.flags == [(uid, "($Junk)")]


def test_the_first_visit_takes_what_is_there_as_seen_or_learns_it():
    server, mail, state = Server(), SpamFilter(), State()
    server.put("INBOX", crlf(HAM))
    server.put("Junk", crlf(SPAM))
    Mailbox(server, mail, state).first_visit(learn=False)
    assert mail.stats()["messages"] == 0
    assert Mailbox(server, mail, state).look().looked_at == 0
    Mailbox(server, mail, State()).first_visit(learn=True)
    assert (mail.stats()["spam"], mail.stats()["ham"]) == (1, 1)


def test_state_survives_and_damage_is_named(tmp_path):
    path = tmp_path / "state" / "a.json"
    state = State({"INBOX": 7}, {"INBOX": 3}, ["aa"])
    state.save(path)
    assert State.load(path) == state
    path.write_text("[1")
    with pytest.raises(MailboxError, match="begin anew"):
        State.load(path)


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(MailboxError, match="no folder 'Spam'"):
        Mailbox(Server(), taught(), State(), junk="Spam").look()
