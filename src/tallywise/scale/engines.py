"""Where workers run: threads of this process, or actors on a Ray cluster.

Ray schedules, carries and restarts; nothing of that is written here. Paths go in and small sums come out: rows never
travel. An actor that dies is started again by Ray with the same shards, and the call that it died under is made again.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Protocol

import numpy as np

from tallywise.errors import TallywiseError
from tallywise.scale.jobs import Done, Job, cores, parts

_BY_REFERENCE = 1 << 16  # bytes from which an argument for many workers is stored once a node
_OBJECT_STORE = 256 << 20  # bytes for a Ray of our own: sums are small


class Fleet(Protocol):
    """Workers that hold consecutive runs of shards."""

    workers: int
    bytes_moved: int  # of arguments and results between driver and workers

    def ask(self, verb: str, *arguments: Any) -> list[Any]:
        """The answers of all workers, in order."""

    def each_shard(self, verb: str, *arguments: Any) -> Iterator[Done]:
        """Have every worker do something for each of its shards; what is done comes as it ends."""

    def close(self) -> None:
        """Let the workers go."""


class Engine(Protocol):
    """Gives fleets."""

    workers: int
    bytes_moved: int  # by `map`, between driver and workers

    @property
    def title(self) -> str:
        """Where the workers are, and how many."""

    def fleet(self, make: Callable[..., Any], runs: list[tuple[Any, ...]], shards: list[range]) -> Fleet:
        """Workers `make(*run)`, each with its run of shards."""

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], shared: Any) -> Iterator[Any]:
        """``function(shared, *task)`` for all tasks, results as they end. Tasks may be run more than once."""

    def close(self) -> None:
        """Let go of what was started here."""


def connect(ray: str | None, workers: int | None = None, most: int | None = None) -> Engine:
    """The engine asked for.

    Parameters
    ----------
    ray : str or None
        None: threads of this process. ``'local'``: a Ray of its own on this machine. ``'auto'``: the cluster that this
        machine belongs to, or else as ``'local'``. Anything else is the address of a cluster.
    workers : int, optional
        How many; one per core by default.
    most : int, optional
        How many have anything to do: no more are started, nor said to have worked.

    Raises
    ------
    TallywiseError
        Where Ray is not installed or does not answer, in one line.
    """
    if workers is not None and workers < 1:
        msg = f"workers must be at least 1. Got {workers}."
        raise ValueError(msg)
    engine: Engine = Threads(workers or cores()) if ray is None else RayEngine(ray, workers)
    if most is not None:
        engine.workers = max(1, min(engine.workers, most))
    return engine


@contextlib.contextmanager
def started(
    make: Callable[..., Any], job: Job, sizes: list[int], ray: str | None, workers: int | None
) -> Iterator[tuple[Engine, Fleet]]:
    """An engine and its workers on the shards of a job, until the end of a block."""
    leaves = job.leaves
    engine = connect(ray, workers, len(leaves))
    try:
        held = parts([sum(sizes[k] for k in leaf) for leaf in leaves], engine.workers)
        runs = [range(leaves[run[0]].start, leaves[run[-1]].stop) for run in held]
        fleet = engine.fleet(make, [(job, run.start, run.stop) for run in runs], runs)
        try:
            yield engine, fleet
        finally:
            fleet.close()
    finally:
        engine.close()


# --- threads of this process ---


class Threads:
    """Workers in one process. Native code lets go of Python's lock, so that they run side by side."""

    def __init__(self, workers: int) -> None:
        self.workers, self.bytes_moved = workers, 0

    @property
    def title(self) -> str:
        """How many."""
        return f"{self.workers} thread{'s' * (self.workers > 1)} of one process"

    def fleet(self, make: Callable[..., Any], runs: list[tuple[Any, ...]], shards: list[range]) -> Fleet:
        """Workers, each with a thread of its own."""
        return _ThreadFleet([make(*run) for run in runs], shards)

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], shared: Any) -> Iterator[Any]:
        """Results as they end."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield from _ended([pool.submit(function, shared, *task) for task in tasks])

    def close(self) -> None:
        """Nothing was started that would outlive a call."""


class _ThreadFleet:
    def __init__(self, workers: list[Any], shards: list[range]) -> None:
        self.workers, self.bytes_moved = len(workers), 0
        self._workers, self._shards = workers, shards
        self._pools = [ThreadPoolExecutor(1) for _ in workers]  # one each: a worker does one thing at a time

    def ask(self, verb: str, *arguments: Any) -> list[Any]:
        asked = [
            pool.submit(getattr(worker, verb), *arguments)
            for pool, worker in zip(self._pools, self._workers, strict=True)
        ]
        return [answer.result() for answer in asked]

    def each_shard(self, verb: str, *arguments: Any) -> Iterator[Done]:
        asked: list[Future[Any]] = [
            pool.submit(getattr(worker, verb), *(*arguments, shard))
            for pool, worker, shards in zip(self._pools, self._workers, self._shards, strict=True)
            for shard in shards
        ]
        yield from _ended(asked)

    def close(self) -> None:
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)


def _ended(asked: list[Future[Any]]) -> Iterator[Any]:
    try:
        for answer in as_completed(asked):
            yield answer.result()
    except BaseException:
        for other in asked:
            other.cancel()
        raise


# --- Ray ---


class RayEngine:
    """Workers on a Ray cluster."""

    def __init__(self, address: str, workers: int | None) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            msg = "--ray needs Ray, which is not installed: pip install 'tallywise[ray]'"
            raise TallywiseError(msg) from None
        self._ray, self.bytes_moved = ray, 0
        self._ours = not ray.is_initialized()
        if self._ours:
            self._start(address, workers)
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._nodes = sum(node["Alive"] for node in ray.nodes())

    @property
    def title(self) -> str:
        """How many, on how many nodes there were to begin with."""
        workers, nodes = self.workers, self._nodes
        return f"{workers} Ray worker{'s' * (workers > 1)} on {nodes} node{'s' * (nodes > 1)}"

    def _start(self, address: str, workers: int | None) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        own: dict[str, Any] = {
            **quiet,
            "address": "local",
            "num_cpus": max(workers or 1, cores()),
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE,
        }
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            if address == "local":
                self._ray.init(**own)
            elif address == "auto":
                try:
                    self._ray.init(address="auto", **quiet)
                except ConnectionError:
                    self._ray.init(**own)
            else:
                self._ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            msg = f"Ray at {address!r} does not answer: {(str(error).splitlines() or [type(error).__name__])[0]}"
            raise TallywiseError(msg) from None

    def fleet(self, make: Callable[..., Any], runs: list[tuple[Any, ...]], shards: list[range]) -> Fleet:
        """Actors, spread over the nodes."""
        # No CPU is asked for while running: when a node is lost, its workers find room on those that are left. Ray may
        # put actors that ask for nothing all on one node, so each is given a home, which it leaves when that is lost.
        affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        actor = self._ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0)(_Actor)
        cpus = {n["NodeID"]: n["Resources"].get("CPU", 0.0) for n in self._ray.nodes() if n["Alive"]}
        actors = [
            actor.options(scheduling_strategy=affinity(home, soft=True)).remote(make, *run)
            for home, run in zip(homes(cpus, len(runs)), runs, strict=True)
        ]
        return _RayFleet(self._ray, actors, shards)

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], shared: Any) -> Iterator[Any]:
        """Results of Ray tasks as they end; what they share is stored once a node."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=-1, scheduling_strategy="SPREAD")(_call)
        reference = ray.put(shared)
        self.bytes_moved += _size(shared)
        waiting = list(tasks)[::-1]
        running: list[Any] = []
        try:
            while waiting or running:
                # As many as there are workers, however many more CPUs the cluster has for others.
                while waiting and len(running) < self.workers:
                    running.append(remote.remote(function, reference, *waiting.pop()))
                ended, running = ray.wait(running)
                for reference_to_one in ended:
                    result = _got(ray, reference_to_one)
                    self.bytes_moved += _size(result)
                    yield result
        finally:
            for reference_to_one in running:
                ray.cancel(reference_to_one, force=True)

    def close(self) -> None:
        """Stop Ray if it was started here."""
        if self._ours:
            self._ray.shutdown()


def homes(cpus: dict[str, float], workers: int) -> list[str]:
    """A node for each worker, as many on each as it has a share of the CPUs.

    Examples
    --------
    >>> homes({"a": 1, "b": 3, "head": 0}, 4)
    ['b', 'b', 'a', 'b']
    """
    found: list[str] = []
    usable = {node: n for node, n in sorted(cpus.items()) if n > 0} or dict.fromkeys(sorted(cpus), 1.0)
    for _ in range(workers):
        found.append(min(usable, key=lambda node: (found.count(node) + 1) / usable[node]))
    return found


class _Actor:
    """A worker in a process of its own, with one thread."""

    def __init__(self, make: Callable[..., Any], *run: Any) -> None:
        os.environ["TALLYWISE_NUM_THREADS"] = "1"
        self._worker = make(*run)

    def call(self, verb: str, *arguments: Any) -> Any:
        return getattr(self._worker, verb)(*arguments)


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    os.environ["TALLYWISE_NUM_THREADS"] = "1"
    return function(*arguments)


class _RayFleet:
    def __init__(self, ray: Any, actors: list[Any], shards: list[range]) -> None:
        self._ray, self._actors, self._shards = ray, actors, shards
        self.workers, self.bytes_moved = len(actors), 0
        self._stored: dict[int, tuple[Any, Any]] = {}  # by identity: what was stored, and its reference

    def ask(self, verb: str, *arguments: Any) -> list[Any]:
        references = [self._reference(argument) for argument in arguments]
        asked = [actor.call.remote(verb, *references) for actor in self._actors]
        answers = [_got(self._ray, answer) for answer in asked]
        self.bytes_moved += sum(_size(answer) for answer in answers)
        return answers

    def each_shard(self, verb: str, *arguments: Any) -> Iterator[Done]:
        references = [self._reference(argument) for argument in arguments]
        running = [
            actor.call.remote(verb, *references, shard)
            for actor, shards in zip(self._actors, self._shards, strict=True)
            for shard in shards
        ]
        try:
            while running:
                ended, running = self._ray.wait(running)
                for answer in ended:
                    yield _got(self._ray, answer)
        finally:
            for answer in running:
                with contextlib.suppress(Exception):
                    self._ray.cancel(answer)

    def _reference(self, argument: Any) -> Any:
        """The argument, or where it is stored once for all who ask for it."""
        size = _size(argument)
        if size < _BY_REFERENCE:
            self.bytes_moved += size * len(self._actors)
            return argument
        known = self._stored.pop(id(argument), None)
        if known is None or known[0] is not argument:
            known = (argument, self._ray.put(argument))
            self.bytes_moved += size
        self._stored[id(argument)] = known
        if len(self._stored) > 5:  # the problem, a point, a direction or two: older ones are not asked for again
            self._stored.pop(next(iter(self._stored)))
        return known[1]

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)


def _got(ray: Any, reference: Any) -> Any:
    """A result; an error of ours as itself, not wrapped in Ray's."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, TallywiseError | ValueError | OSError):
            raise cause from None
        raise
    except ray.exceptions.RayActorError as error:  # not one that dies, which Ray starts again: one that cannot start
        reason = [line for line in str(error).splitlines() if line.strip()]
        msg = f"a Ray worker could not be started; are the packages of all nodes the same? {reason[-1].strip()}"
        raise TallywiseError(msg) from None


def _size(value: Any) -> int:
    """Bytes of what a value holds in arrays."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    if hasattr(value, "__dataclass_fields__"):
        return sum(_size(getattr(value, name)) for name in value.__dataclass_fields__)
    return 8
