"""Tables at random, saved as spreadsheets of other countries save them, and tables whose rows have lost their shape.

A column comes back with the values that it was written with, or the reader asks for the decimal sign; cells that are no
numbers are counted one by one; rows of another width are counted, and refused where they are many.
"""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reliability.results import MEMORY, Limit, Measured, ended
from tallywise.reading import InputError, read_table
from tallywise.reading.number_formats import UnclearDecimalError
from tallywise.reading.unreadable_cells import all_unread
from tallywise.table_model import from_rows, recognise

ODD = (">100", "#DIV/0!", "inf", "Total", "(120)", "12O0", "n.b.", "1e999", "1.2.3", "--5")
SIZES = (1.0, 30.0, 2e3, 5e5, 3e7)


class Country(NamedTuple):
    """How a spreadsheet writes numbers: delimiter of cells, decimal sign, sign between thousands."""

    name: str
    delimiter: str
    decimal: str
    group: str


COUNTRIES = (
    Country("program", ",", ".", ""),
    Country("United States", ",", ".", ","),
    Country("Germany", ";", ",", ""),
    Country("Germany, thousands", ";", ",", "."),
    Country("France", ";", ",", "\u202f"),
    Country("Switzerland", ";", ".", "'"),
    Country("tabs, Germany", "\t", ",", "."),
    Country("tabs, program", "\t", ".", ""),
)


def written(x: float, decimals: int, country: Country) -> str:
    """A number as the country writes it."""
    shown = f"{x:,.{decimals}f}".replace(",", "_").replace(".", country.decimal)
    return shown.replace("_", country.group)


def columns(random: np.random.Generator, n: int) -> list[tuple[NDArray[np.float64], int]]:
    """A few columns of numbers of any size, each with the number of decimals that it is written with."""
    found = []
    for _ in range(int(random.integers(1, 5))):
        decimals = int(random.choice([0, 0, 1, 2, 3, 4]))
        x = random.lognormal(np.log(random.choice(SIZES)), 1.0, n) * random.choice([1, 1, 1, -1])
        found.append((np.round(x, decimals) + 0.0, decimals))
    return found


def saved(path: Path, table: list[tuple[NDArray[np.float64], int]], country: Country) -> None:
    """Write a table, with a column of words."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=country.delimiter)
        writer.writerow(["city", *(f"x{k}" for k in range(len(table)))])
        for i in range(len(table[0][0])):
            writer.writerow(["ab"[i % 2] * 3, *(written(x[i], decimals, country) for x, decimals in table)])


def one_table(path: Path, seed: int) -> tuple[str, str]:
    """What came of one table in one country: read, asked or wrong; and what was wrong."""
    random = np.random.default_rng(seed)
    country = COUNTRIES[seed % len(COUNTRIES)]
    table = columns(random, int(random.integers(30, 120)))
    saved(path, table, country)
    found = read_table(str(path), format="csv")
    assert found is not None
    whole = from_rows(found.names, found.rows, delimiter=found.delimiter, lines=found.numbers)
    try:
        kinds = {column.name: column for column in recognise(whole)}
    except UnclearDecimalError:
        return "asked", ""
    for k, (x, decimals) in enumerate(table):
        column = kinds[f"x{k}"]
        if column.kind == "number" and not np.array_equal(column.values(whole.columns[column.name]), x):
            first = written(x[0], decimals, country)
            return "wrong", f"seed {seed}, {country.name}: {column.name} ({first}) was read as {column.number.style}"
    return "read", ""


def one_damaged(path: Path, seed: int) -> str:
    """A breach of what is promised of odd cells and of rows of another width, if there is one."""
    random = np.random.default_rng(seed)
    n = int(random.integers(60, 200))
    rows = [[str(round(float(x), 2)), "ab"[i % 2]] for i, x in enumerate(random.normal(50, 20, n))]
    odd = sorted(random.choice(n, int(random.integers(1, max(2, n // 25))), replace=False).tolist())
    for i in odd:
        rows[i][0] = str(random.choice(ODD))
    wide = sorted(random.choice(n, int(random.integers(0, n // 5)), replace=False).tolist())
    lines = [",".join(row) + (", and more" if i in set(wide) else "") for i, row in enumerate(rows)]
    path.write_text("x,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    try:
        found = read_table(str(path), format="csv")
    except InputError as error:
        return "" if len(wide) > n / 20 and f"line {wide[0] + 2}" in str(error) else f"seed {seed}: {error}"
    assert found is not None
    if len(wide) > n / 20 or (wide and f"line {wide[0] + 2}" not in found.ragged) or len(found.shifted) != len(wide):
        return f"seed {seed}: {len(wide)} of {n} rows of another width gave {found.ragged!r}"
    whole = from_rows(found.names, found.rows, lines=found.numbers)
    (column, _) = recognise(whole)
    lost = all_unread([column], whole)
    if column.kind != "number" or [one.count for one in lost] != [len(odd)] or lost[0].first[0][0] != odd[0]:
        return f"seed {seed}: {len(odd)} odd cells of {n} gave {column.kind}, {[str(one) for one in lost]}"
    return ""


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """20,000 tables each with `full`, else 200."""
    limit, wanted = Limit(seconds), 20_000 if full else 200
    came = {"read": 0, "asked": 0, "wrong": 0}
    wrong: list[str] = []
    damaged: list[str] = []
    done = 0
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder, "table.csv")
        for seed in range(wanted):
            if limit.over():
                break
            how, breach = one_table(path, seed)
            came[how] += 1
            wrong += [breach] if breach else []
            breach = one_damaged(path, seed)
            damaged += [breach] if breach else []
            done += 1
    yield Measured(
        "spreadsheets",
        "tables of numbers saved as spreadsheets of eight countries and programs save them" + ended(done, wanted),
        "every number is read as it was, or the decimal sign is asked for",
        {"tables": done, "read": came["read"], "asked": came["asked"]},
        wrong,
    )
    yield Measured(
        "damaged_tables",
        "tables with cells that are no numbers and rows of another width" + ended(done, wanted),
        "each of them is counted, the first named; more than one row in twenty of another width is refused",
        {"tables": done},
        damaged,
    )
