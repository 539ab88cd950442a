"""Number of threads of a native call."""

import os


def count(n_jobs: int | None = None) -> int:
    """Threads for ``n_jobs`` in scikit-learn's sense; None means the default.

    The default is ``TALLYWISE_NUM_THREADS``, or else the cores that this process may use. Negative values count back
    from those cores: -1 is all of them, -2 all but one. Results do not depend on it.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        given = os.environ.get("TALLYWISE_NUM_THREADS", "").strip()
        if not given:
            return cores
        if not given.isdigit() or not 1 <= int(given) <= 1024:
            msg = f"TALLYWISE_NUM_THREADS must be a whole number in [1, 1024]. Got {given!r}."
            raise ValueError(msg)
        return int(given)
    if n_jobs == 0:
        msg = "n_jobs == 0 is not allowed: use None for the default or -1 for all cores."
        raise ValueError(msg)
    return min(n_jobs, 1024) if n_jobs > 0 else max(1, cores + 1 + n_jobs)
