"""Numbers in Prometheus' text format, for all services."""

from collections.abc import Iterable, Mapping

Labels = Mapping[str, object]
CONTENT_TYPE = "text/plain; version=0.0.4"


def family(name: str, kind: str, *samples: tuple[Labels, float]) -> list[str]:
    """Lines of one name: its kind (counter, gauge), and a line for each set of labels.

    Examples
    --------
    >>> from tallywise._prometheus import family
    >>> family("tally_requests_total", "counter", ({"route": "/classify", "status": 200}, 7))
    ['# TYPE tally_requests_total counter', 'tally_requests_total{route="/classify",status="200"} 7']
    """
    return [f"# TYPE {name} {kind}", *(_line(name, labels, value) for labels, value in samples)]


def histogram(name: str, bounds: Iterable[float], *samples: tuple[Labels, Iterable[int], float]) -> list[str]:
    """Lines of a histogram: for each set of labels the counts up to each bound and beyond the last, and the sum."""
    lines = [f"# TYPE {name} histogram"]
    ends = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    for labels, counts, total in samples:
        seen = 0
        for end, count in zip(ends, counts, strict=True):
            seen += count
            lines.append(_line(f"{name}_bucket", {**labels, "le": end}, seen))
        lines += [_line(f"{name}_sum", labels, total), _line(f"{name}_count", labels, seen)]
    return lines


def page(*families: list[str]) -> str:
    """What Prometheus reads."""
    return "".join(f"{line}\n" for lines in families for line in lines)


def _line(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(str(label))}"' for key, label in labels.items())
    return f"{name}{{{inside}}} {value:.12g}" if inside else f"{name} {value:.12g}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
