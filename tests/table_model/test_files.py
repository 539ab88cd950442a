"""Tables as people save them: decimal signs, odd cells, rows of another width, spellings of labels, unclear labels."""

import csv
import json
import pickle

import numpy as np
import pytest

from reliability import spreadsheets
from reliability.spreadsheets import Country
from tallywise import TableModel
from tallywise.cli import main
from tallywise.reading import InputError, UnclearLabelError, join_labels, open_source, read_table
from tallywise.reading.number_formats import UnclearDecimalError
from tallywise.table_model import as_table, from_rows, recognise

GERMANY, US = Country("Germany", ";", ",", "."), Country("United States", ",", ".", ",")


def whole(path):
    found = read_table(str(path))
    if found.frame is not None:
        return as_table(found.frame)
    return from_rows(found.names, found.rows, delimiter=found.delimiter, lines=found.numbers)


def homes(n=120):
    random = np.random.default_rng(0)
    size, floor = np.round(random.uniform(20, 120, n), 1), random.integers(0, 9, n)
    price = np.round(1000 * size + 2000 * floor + random.normal(0, 500, n), 0)
    return [*zip(["Bonn", "Jena"] * (n // 2), size, floor, price, strict=True)]


def save(path, rows, country, names=("city", "size", "floor", "price")):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, delimiter=country.delimiter)
        writer.writerow(names)
        for row in rows:
            shown = [
                cell if isinstance(cell, str) else spreadsheets.written(cell, 1 * (cell % 1 != 0), country)
                for cell in row
            ]
            writer.writerow(shown)
    return path


def tally(capfd, *arguments):
    """Exit code, output and errors."""
    with pytest.raises(SystemExit) as leave:
        main(list(map(str, arguments)))
    said = capfd.readouterr()
    return leave.value.code or 0, said.out, said.err


# --- decimal signs ---


def test_the_same_table_from_any_country_gives_the_same_model_and_predictions(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    rows = homes()
    paths = [save(tmp_path / f"{k}.csv", rows, country) for k, country in enumerate(spreadsheets.COUNTRIES)]
    paths.append(save(tmp_path / "t.tsv", rows, Country("tabs", "\t", ",", "")))
    book = openpyxl.Workbook()
    for row in [["city", "size", "floor", "price"], *rows]:
        book.active.append([cell if isinstance(cell, str) else float(cell) for cell in row])
    book.save(tmp_path / "t.xlsx")
    tables = [whole(path) for path in (*paths, tmp_path / "t.xlsx")]
    models = [TableModel("ridge", cv=2).fit(table, "price") for table in tables]
    first = models[0].predict(tables[0])
    for model, table in zip(models, tables, strict=True):
        assert np.array_equal(model.predict(table), first)
        assert np.array_equal(models[0].predict(table), first)  # a file of one country, a model of another


@pytest.mark.parametrize("seed", range(0, 200, 5))
def test_numbers_of_any_country_are_read_or_asked_for(seed, tmp_path):
    assert spreadsheets.one_table(tmp_path / "t.csv", seed)[1] == ""
    assert spreadsheets.one_damaged(tmp_path / "t.csv", seed) == ""


def cells(delimiter="", **columns):
    names = list(columns)
    return from_rows(names, [*zip(*columns.values(), strict=True)], delimiter=delimiter)


OPEN = {"a": ["1.250", "950", "12.400"]}


def test_the_other_columns_decide_the_decimal_sign_then_the_delimiter_and_then_the_user():
    def values(table, **how):
        (column, *_) = recognise(table, **how)
        return column.values(table.columns["a"]).tolist()

    thousands, fractions = [1250, 950, 12400], [1.25, 950, 12.4]
    assert values(cells(**OPEN, b=["3,5", "1", "2"])) == thousands
    assert values(cells(**OPEN, b=["3.5", "1", "2"])) == fractions
    assert values(cells(";", **OPEN)) == thousands
    assert values(cells(";", **OPEN, b=["3.5", "1", "2"])) == fractions
    assert values(cells(**OPEN), decimal=",") == thousands
    assert values(cells(**OPEN), decimal=".") == fractions
    for delimiter in (",", "\t", ""):
        with pytest.raises(UnclearDecimalError, match=r"'a' holds \"1.250\", which is 1.25 or 1250.*--decimal"):
            recognise(cells(delimiter, **OPEN))
    with pytest.raises(UnclearDecimalError):  # other columns contradict each other
        recognise(cells(";", **OPEN, b=["3,5", "1", "2"], c=["3.5", "1", "2"]))
    kilograms = {"a": ["2,500", "3", "1,250"]}
    assert values(cells(";", **kilograms)) == [2.5, 3, 1.25]
    assert values(cells(",", **kilograms)) == [2500, 3, 1250]
    with pytest.raises(ValueError, match="decimal must be"):
        recognise(cells(**OPEN), decimal="x")


def test_the_command_asks_for_the_decimal_sign(tmp_path, capfd):
    rows = [(c, int(price) // 50, int(floor)) for c, _, floor, price in homes(40)]
    path = save(tmp_path / "t.csv", rows, Country("", ",", ",", "."), ("city", "price", "floor"))
    how = ("train", path, "--label", "price", "--model", "ridge", "--no-report", "-o", tmp_path / "m.tally")
    code, _, said = tally(capfd, *how)
    assert code == 1
    assert "--decimal ," in said
    code, out, said = tally(capfd, *how, "--decimal", ",", "--json")
    assert code == 0, said
    assert json.loads(out)["constant"] > 100


# --- cells that cannot be read ---


@pytest.mark.parametrize("odd", [">100", "#DIV/0!", "inf", "Total", "(120)", "12O0"])
def test_one_odd_cell_is_a_missing_value_that_is_listed(odd):
    rows = [{"x": str(k % 40), "y": str(3 * (k % 40) + 1)} for k in range(400)]
    for column, other in (("x", "y"), ("y", "x")):
        damaged = [{**row, column: odd} if k == 399 else row for k, row in enumerate(rows)]
        model = TableModel("ridge", cv=2).fit(damaged, "y")
        assert model.figures_["r2"].value > 0.99
        (note,) = [note for note in model.notes_ if note.startswith(f'"{column}": 1 of 400 cells')]
        assert f'"{odd}" (row 400' in note
        assert other not in note.partition(":")[0]


def test_a_typographic_minus_is_a_minus_and_is_named():
    (column,) = recognise(as_table({"x": ["\u22125", "3", "-2.5"]}))
    assert column.values(as_table({"x": ["\u22125"]}).columns["x"]).tolist() == [-5.0]
    assert column.note == '-5 to 3, with "\u2212" for a minus'
    (forced,) = recognise(as_table({"x": ["\u22125", "three", "-2.5"]}), number=["x"])
    assert "\u2212" in forced.note


def test_many_odd_cells_are_refused_at_prediction(tmp_path, capfd):
    rows = homes(60)
    good = save(tmp_path / "t.csv", rows, US)
    model = tmp_path / "m.tally"
    code, _, said = tally(capfd, "train", good, "--label", "price", "--model", "ridge", "--no-report", "-o", model)
    assert code == 0, said
    lines = good.read_text().splitlines()
    one = tmp_path / "one.csv"
    one.write_text("\n".join([*lines[:5], "Bonn,abc,2,", *lines[6:]]) + "\n")
    code, out, said = tally(capfd, "classify", model, one, "--json")
    assert code == 0, said
    assert 'one.csv: "size": 1 of 60 cells is not a number: "abc" (line 6)' in said
    assert json.loads(out.splitlines()[4])["interval"] is None  # none was missing in training
    many = tmp_path / "many.csv"
    many.write_text("\n".join([lines[0], *(f"Rome,about {k},1,1" for k in range(30))]) + "\n")
    for command in ("classify", "evaluate", "explain"):
        code, _, said = tally(capfd, command, model, many)
        assert code == 1
        assert '"size": ' in said
        assert "are not numbers" in said or "is not a number" in said
    strange = tmp_path / "strange.csv"
    strange.write_text("\n".join(line.replace("Bonn", "Rome") for line in lines) + "\n")
    assert '"city": 30 of 60 cells are not known values: "Rome" (line 2)' in tally(capfd, "classify", model, strange)[2]


# --- rows of another width ---


def texts(tmp_path, n, wide, header="label,text"):
    rows = [f"{'ham' if k % 2 else 'spam'},see you{', soon' if k in wide else ''} {k}" for k in range(n)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_rows_of_another_width_are_said_and_refused_where_they_are_many(tmp_path, capfd):
    how = ("--model", "multinomial_nb", "--no-report", "-o", tmp_path / "m.tally")
    code, out, said = tally(capfd, "train", texts(tmp_path, 60, {7, 20}), *how)
    assert code == 0, said
    assert "2 rows have more or fewer cells than the 2 of the first row (first: line 9, 3 cells); 2 with" in out
    for command in (
        ("train", texts(tmp_path, 60, range(0, 60, 3)), *how),
        ("classify", tmp_path / "m.tally", tmp_path / "t.csv"),
    ):
        code, _, said = tally(capfd, *command)
        assert code == 1
        assert (
            "20 rows have more or fewer cells than the 2 of the first row (first: line 2, 3 cells), of 60 rows" in said
        )
        assert "quotation marks" in said
    with pytest.raises(InputError, match="more or fewer"):
        read_table(str(tmp_path / "t.csv"))
    code, _, said = tally(capfd, "classify", tmp_path / "m.tally", texts(tmp_path, 60, {7}))
    assert code == 0
    assert "line 9" in said


def test_names_of_rows_without_a_name_of_their_own_are_refused(tmp_path):
    (tmp_path / "r.tsv").write_text("x\ty\n" + "".join(f"r{k}\t{k}\t{k % 2}\n" for k in range(30)))
    with pytest.raises(InputError, match="name every column"):
        read_table(str(tmp_path / "r.tsv"))
    (tmp_path / "e.csv").write_text("x,y\n" + "".join(f"{k},{k % 2},,\n" for k in range(30)) + ",,\n")
    assert read_table(str(tmp_path / "e.csv")).ragged == ""


# --- labels ---


def test_spellings_of_a_label_are_said_and_joined_on_demand(tmp_path, capfd):
    spelled = ["Yes", "yes", "no", "No ", "yes", "no"]
    path = tmp_path / "t.csv"
    path.write_text("text,label\n" + "".join(f"text number {k},{spelled[k % 6]}\n" for k in range(60)))
    how = ("train", path, "--model", "multinomial_nb", "--no-report", "-o", tmp_path / "m.tally")
    code, out, said = tally(capfd, *how)
    assert code == 0, said
    assert 'labels that may be one are different classes: "yes" (20), "Yes" (10); "no" (20), "No" (10)' in out
    assert "--join-labels" in out
    assert json.loads(tally(capfd, *how, "--join-labels", "--json")[1])["classes"] == ["no", "yes"]
    table = tmp_path / "u.csv"
    table.write_text("x,z,label\n" + "".join(f"{k % 7},{k % 5},{spelled[k % 6]}\n" for k in range(60)))
    how = ("train", table, "--model", "logistic", "--no-report", "-o", tmp_path / "m.tally")
    code, out, said = tally(capfd, *how)
    assert code == 0, said
    assert 'label = "label" (no: 20, yes: 20, No: 10, Yes: 10)' in out
    assert "--join-labels" in out
    assert json.loads(tally(capfd, *how, "--join-labels", "--json")[1])["class_counts"] == {"no": 30, "yes": 30}
    assert join_labels(["1", "01", "1.0", "TRUE", "true", "true"]) == ["01", "01", "01", "true", "true", "true"]


TWEETS = (
    "tweet_id,airline_sentiment,airline_sentiment_confidence,negativereason,negativereason_confidence,airline,"
    "airline_sentiment_gold,name,negativereason_gold,retweet_count,text,tweet_coord,tweet_created,tweet_location,"
    "user_timezone"
).split(",")


def tweets(n=200):
    random = np.random.default_rng(1)
    rows = []
    for k in range(n):
        mood = ["negative", "negative", "neutral", "positive"][random.integers(4)]
        bad = mood == "negative"
        air = ["United", "Delta", "Southwest"][random.integers(3)]
        words = " ".join(random.choice(["late", "crew", "thanks", "bag", "flight", "lost", "great"], 6))
        rows.append(
            [
                str(570306133677760000 + 7 * k), mood, f"{random.uniform(0.3, 1):.4f}",
                ["Late Flight", "Lost Luggage"][k % 2] if bad else "", f"{random.uniform(0.3, 1):.3f}" if bad else "",
                air, "", f"user{k}", "", str(random.integers(3)), f"@{air} {words} {k}", "",
                f"2015-02-{1 + k % 27:02d} 11:35:52", ["NY", "LA", ""][k % 3], ["Eastern", "Pacific"][k % 2],
            ]
        )  # fmt: skip
    return rows


def test_a_label_is_found_by_the_last_part_of_its_name(tmp_path, capfd):
    path = tmp_path / "tweets.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([TWEETS, *tweets()])
    source = open_source(path)
    next(iter(source))
    assert source.columns.description() == 'text = "text", label = "airline_sentiment"'
    how = ("train", path, "--model", "logistic", "--no-report", "-o", tmp_path / "m.tally")
    code, out, said = tally(capfd, *how)
    assert code == 0, said
    assert 'label = "airline_sentiment" (negative:' in out
    assert '"negativereason" has a value almost only where the target is "negative"' in out


def test_a_label_that_is_not_clear_is_asked_for(tmp_path, capfd):
    path = tmp_path / "tweets.csv"
    names = ["mood" if name == "airline_sentiment" else name for name in TWEETS]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *tweets()])
    for command in ("train", "compare"):
        code, _, said = tally(capfd, command, path)
        assert code == 1
        for name in ("mood", "airline", "user_timezone"):
            assert f"--label {name} " in said
        assert "3 values: negative" in said
        assert "--label text" not in said
        assert "--label tweet_id" not in said
    (tmp_path / "two.csv").write_text("text,area,mood\n" + "".join(f"a b {k},x{k % 3},y{k % 4}\n" for k in range(40)))
    source = open_source(tmp_path / "two.csv")
    assert all(record.label is None for record in source)
    assert [one.name for one in source.columns.unclear] == ["area", "mood"]
    assert "--label area" in str(pickle.loads(pickle.dumps(UnclearLabelError("two.csv", source.columns.unclear))))


def test_columns_that_say_the_same_are_one_label(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("words,kind_id,kind_name\n" + "".join(f"a b {k},{k % 3},k{k % 3}\n" for k in range(40)))
    source = open_source(path)
    next(iter(source))
    assert source.columns.description() == 'text = "words", label = "kind_id"'
