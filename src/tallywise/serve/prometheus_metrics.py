"""Counters and times of the service."""

from bisect import bisect_left
from collections import defaultdict

from tallywise._prometheus import family, histogram, page

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
        requests = [({"route": route, "status": status}, n) for (route, status), n in sorted(self.requests.items())]
        times = [({"route": route}, counts, self.seconds[route]) for route, counts in sorted(self.buckets.items())]
        return page(
            family("tally_requests_total", "counter", *requests),
            histogram("tally_request_seconds", _BOUNDS, *times),
            *(family(f"tally_{name}_total", "counter", ({}, count)) for name, count in sorted(self.counters.items())),
            *(family(f"tally_{name}", "gauge", ({}, value)) for name, value in gauges.items()),
        )
