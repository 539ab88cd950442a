"""Rows of a table whose cells and names are hostile to pages, for tests."""

import numpy as np

HOSTILE = "<script>alert(1)</script>"


def rows(n=240):
    random = np.random.default_rng(0)
    found = []
    for _ in range(n):
        size, city = float(random.integers(20, 120)), [HOSTILE, "Jena", "Ulm"][random.integers(3)]
        rent = 9.5 * size + 200 * (city == "Ulm") + random.normal(0, 20)
        kind = "large" if size + random.normal(0, 9) > 70 else "small"
        found.append({"size": size, HOSTILE + "city": city, "rent": rent, "kind": kind, "grade": int(size // 25)})
    return found
