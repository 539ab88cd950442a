"""Counters and times in Prometheus' text format."""

from bisect import bisect_left
from collections import defaultdict

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What happened since the start; touched from one thread only."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, int], int] = defaultdict(int)
        self.buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self.seconds: dict[str, float] = defaultdict(float)
        self.counters: dict[str, int] = defaultdict(int)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[route, status] += 1
        self.buckets[route][bisect_left(_BOUNDS, seconds)] += 1
        self.seconds[route] += seconds

    def text(self, gauges: dict[str, float]) -> str:
        """The page that Prometheus reads."""
        lines = ["# TYPE tally_requests_total counter"]
        for (route, status), n in sorted(self.requests.items()):
            lines.append(f'tally_requests_total{{route="{route}",status="{status}"}} {n}')
        lines.append("# TYPE tally_request_seconds histogram")
        for route, counts in sorted(self.buckets.items()):
            total = 0
            for bound, n in zip((*_BOUNDS, "+Inf"), counts, strict=True):
                total += n
                lines.append(f'tally_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
            lines.append(f'tally_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.6f}')
            lines.append(f'tally_request_seconds_count{{route="{route}"}} {total}')
        for name, count in sorted(self.counters.items()):
            lines += [f"# TYPE tally_{name}_total counter", f"tally_{name}_total {count}"]
        for name, value in gauges.items():
            lines += [f"# TYPE tally_{name} gauge", f"tally_{name} {value:g}"]
        return "\n".join(lines) + "\n"
