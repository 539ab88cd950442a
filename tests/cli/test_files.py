"""Outputs: no command writes over a file that it reads, and every file is replaced whole or not at all."""

import json
import os
import stat
import subprocess
import sys

import pytest

from reliability import outputs
from tallywise import TextClassifier
from tallywise.errors import OverwriteError
from tallywise.files import refuse_overwrite, replacing, writing
from tallywise.scale import classify
from tallywise.spam import SpamFilter
from tests.commands import tally

TEXTS, LABELS = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
TABLE = "text,label\n" + "win a prize,spam\nlunch at noon,ham\n" * 10


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.tally"
    TextClassifier("multinomial_nb", cv=2).fit(TEXTS, LABELS).save(path)
    return path


def names_of(path):
    """The same file under other names: relative, by a link, by a hard link."""
    soft, hard = path.with_name("soft"), path.with_name("hard")
    soft.symlink_to(path.name)
    hard.hardlink_to(path)
    return [path, os.path.relpath(path), soft, hard, path.parent / ".." / path.parent.name / path.name]


def in_shell(command, cwd):
    """A command line in a shell, `tally` being this package's."""
    program = f'tally() {{ "{sys.executable}" -c "from tallywise.cli import main; main()" "$@"; }}; {command}'
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


# --- identity ---


def test_a_file_is_refused_under_each_of_its_names(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(TABLE)
    for name in names_of(path):
        with pytest.raises(OverwriteError, match="would be written over"):
            refuse_overwrite([name], ["no such file", path])
    refuse_overwrite([tmp_path / "new", "/dev/null"], [path, "/dev/null", tmp_path])


def test_two_outputs_are_two_files(tmp_path):
    (tmp_path / "there").write_text("x")
    for first, second in [("a", "a"), ("a", "./a"), ("there", "link")]:
        if second == "link":
            (tmp_path / "link").symlink_to("there")
        with pytest.raises(OverwriteError, match="written twice"):
            refuse_overwrite([tmp_path / first, tmp_path / second], [])


# --- replacement ---


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)

    def fails():
        with replacing(path) as stream:
            stream.write(b"half")
            assert stat.S_IMODE(next(tmp_path.glob(".out*")).stat().st_mode) == 0o600
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert path.read_text() == "old"
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out"]


def test_a_new_file_has_the_permissions_of_new_files(tmp_path):
    old = os.umask(0o027)
    try:
        with replacing(tmp_path / ("n" * 255)) as stream:
            stream.write(b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / ("n" * 255)).stat().st_mode) == 0o640


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")  # where nothing is yet
    for content in (b"one", b"two"):
        with replacing(tmp_path / "link") as stream:
            stream.write(content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "file").read_bytes() == content


def test_the_owner_of_a_file_stays(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    if os.geteuid() != 0:
        pytest.skip("only the administrator can give files away")
    os.chown(path, 1234, 5678)
    with replacing(path) as stream:
        stream.write(b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_devices_and_pipes_are_written_to_and_never_replaced(tmp_path):
    code = "from tallywise.files import writing\nwith writing({!r}) as s: s.write(b'x\\n')"
    for name in ("-", "/dev/stdout", "/dev/fd/1"):
        done = subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True)
        assert (done.returncode, done.stdout) == (0, b"x\n")
        with (tmp_path / "out").open("wb") as out:
            subprocess.run([sys.executable, "-c", code.format(name)], stdout=out, check=True)
        assert (tmp_path / "out").read_bytes() == b"x\n"
    with writing("/dev/null") as stream:
        stream.write(b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.path.islink("/dev/stdout")


# --- the commands ---


def test_a_filter_is_not_exported_over_itself(tmp_path):
    path = tmp_path / "x.spam"
    with SpamFilter(path) as mail:
        mail.learn(b"Subject: win\n\nwin a prize\n", "spam")
    before = path.read_bytes()
    for name in [*names_of(path), f"{path}-wal"]:
        if str(name).endswith("-wal"):
            (tmp_path / "x.spam-wal").touch()
        code, _, said = tally("spam", "export", "--store", path, name)
        assert code != 0
        assert "would be written over" in said
    assert path.read_bytes() == before
    assert tally("spam", "export", "--store", path, tmp_path / "copy.jsonl")[0] == 0
    assert len((tmp_path / "copy.jsonl").read_text().splitlines()) == 1
    assert tally("spam", "export", "--store", path)[1] == (tmp_path / "copy.jsonl").read_text()


def test_an_export_that_fails_leaves_the_backup(tmp_path, monkeypatch):
    path, backup = tmp_path / "x.spam", tmp_path / "backup.jsonl"
    with SpamFilter(path) as mail:
        mail.learn(b"Subject: win\n\nwin a prize\n", "spam")
    backup.write_text("good")

    def fails(self):
        yield {"a": 1}
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(SpamFilter, "export", fails)
    assert tally("spam", "export", "--store", path, backup)[0] == 1
    assert backup.read_text() == "good"


def test_a_filter_does_not_learn_its_own_file(tmp_path):
    path = tmp_path / "x.spam"
    with SpamFilter(path) as mail:
        mail.learn(b"Subject: win\n\nwin a prize\n", "spam")
    (tmp_path / "link").symlink_to("x.spam")
    for arguments in (["learn", "--spam", tmp_path / "link"], ["import", tmp_path / "link"]):
        code, _, said = tally("spam", *arguments, "--store", path)
        assert code != 0
        assert "would be written over" in said


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("resume", [False, True])
def test_shards_are_not_replaced_by_their_predictions(tmp_path, model, ending, resume):
    folder = tmp_path / "sh"
    folder.mkdir()
    for name in ("a", "b"):
        path = folder / f"{name}.{ending}"
        if ending == "jsonl":
            path.write_text('{"text": "win a prize"}\n{"text": "lunch"}\n')
        else:
            pa = pytest.importorskip("pyarrow")
            import pyarrow.parquet as parquet

            parquet.write_table(pa.table({"text": ["win a prize", "lunch"]}), path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (tmp_path / "other").symlink_to("sh")
    for output in (folder, tmp_path / "other", f"{folder}/../sh"):
        options = ["-o", output, *(["--resume"] if resume else [])]
        code, _, said = tally("classify", model, f"{folder}/*.{ending}", *options)
        assert code != 0
        assert "would be written over" in said
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    code, said, _ = tally("classify", model, f"{folder}/*.{ending}", "-o", tmp_path / "out")
    assert (code, "wrote 2 files" in said) == (0, True)


def test_a_model_among_the_outputs_of_shards_is_refused(tmp_path, model):
    (tmp_path / "a.csv").write_text("text\nwin\n")
    (tmp_path / "out").mkdir()
    own = tmp_path / "out" / "a.jsonl"
    own.write_bytes(model.read_bytes())
    with pytest.raises(OverwriteError, match="would be written over"):
        classify(own, [tmp_path / "a.csv"], tmp_path / "out", workers=1)
    assert own.read_bytes() == model.read_bytes()


def test_shards_whose_names_differ_in_case_get_files_of_their_own(tmp_path, model):
    for folder, name in (("x", "A.csv"), ("y", "a.csv")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("text\nwin\n")
    done = classify(model, [tmp_path / "x" / "A.csv", tmp_path / "y" / "a.csv"], tmp_path / "out", workers=1)
    assert len({os.path.basename(path).casefold() for path in done.outputs}) == 2


def test_a_list_of_words_is_not_replaced_by_the_model(tmp_path):
    data, words = tmp_path / "data.csv", tmp_path / "stop.txt"
    data.write_text(TABLE)
    words.write_text("the a an")
    for name in names_of(words):
        for options in (["-o", name, "--no-report"], ["-o", tmp_path / "new.tally", "--report", name]):
            code, _, said = tally("train", data, "--stop-words", words, *options)
            assert code == 2
            assert "would be written over" in said
    assert words.read_text() == "the a an"
    assert not (tmp_path / "new.tally").exists()


def test_a_folder_of_classes_is_not_written_into_but_beside(tmp_path):
    for label, text in (("spam", "win a prize"), ("ham", "lunch at noon")):
        (tmp_path / "mail" / label).mkdir(parents=True)
        for k in range(6):
            (tmp_path / "mail" / label / f"{k}.txt").write_text(f"{text} {k}")
    code, _, said = tally("train", tmp_path / "mail", "-o", tmp_path / "mail" / "ham" / "1.txt", "--no-report")
    assert (code, "would be written over" in said) == (2, True)
    for _ in range(2):  # what lies beside the classes is not read
        options = ["-o", tmp_path / "mail" / "m.tally", "--no-report", "--model", "multinomial_nb"]
        assert tally("train", tmp_path / "mail", *options)[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        "tally train - -o data.csv --no-report < data.csv",
        "tally train data.csv -o new.tally --no-report >> data.csv",
        "tally classify m.tally data.csv >> data.csv",
        "tally classify m.tally --json - < data.csv >> data.csv",
        "tally classify m.tally 'dat*.csv' 1<> m.tally",
    ],
)
def test_redirected_streams_are_files_like_others(tmp_path, model, command):
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "m.tally").write_bytes(model.read_bytes())
    code, _, said = in_shell(command, tmp_path)
    assert code == 2
    assert "would be written over" in said
    assert (tmp_path / "data.csv").read_text() == TABLE
    assert (tmp_path / "m.tally").read_bytes() == model.read_bytes()


def test_the_demo_leaves_messages_of_others_alone(tmp_path):
    (tmp_path / "messages.csv").write_text(TABLE)
    code, _, said = tally("demo", "-o", tmp_path)
    assert code == 2
    assert "would be written over" in said
    assert (tmp_path / "messages.csv").read_text() == TABLE


def test_json_lines_of_an_export_are_complete(tmp_path):
    path = tmp_path / "x.spam"
    with SpamFilter(path) as mail:
        for k in range(3):
            mail.learn(f"Subject: {k}\n\nwin {k}\n".encode(), "spam")
    assert tally("spam", "export", "--store", path, tmp_path / "out")[0] == 0
    assert [json.loads(line)["label"] for line in (tmp_path / "out").read_text().splitlines()] == ["spam"] * 3


def test_no_output_is_an_input_under_another_name(tmp_path):
    """One try of each command; `python -m reliability.run outputs --full` has all names of all inputs."""
    outputs.prepare(tmp_path)
    seen = set()
    for command, name, kind in outputs.tries():
        if command not in seen and kind in ("itself", "linked folder", "hard link"):
            seen.add(command)
            assert outputs.run(tmp_path, command, name, kind) is None
