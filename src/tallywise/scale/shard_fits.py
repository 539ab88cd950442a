"""Fits of linear models over shards: workers make the designs and give sums, the driver minimises."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tallywise.scale import newton
from tallywise.scale.checkpoints import Checkpoints
from tallywise.scale.engines import Fleet
from tallywise.scale.jobs import Job, Progress, Report
from tallywise.scale.worker import ShardProblem

Array = NDArray[np.float64]


@dataclass
class Fits:
    """The fits of one job, one after the other."""

    job: Job
    fleet: Fleet
    report: Report
    tol: float
    max_iter: int
    _problem: ShardProblem | None = field(default=None, init=False)

    def solve(
        self,
        problem: ShardProblem,
        l2: float,
        lanes: int,
        b: Array,
        weight: float,
        *,
        before: newton.Solution | None,
        checkpoint: Checkpoints,
        title: str,
    ) -> newton.Solution:
        """Minimise the loss of a problem plus l2/2 |W|^2, from a solution before it where there is one.

        `weight` is the sum of the weights of the rows that are learned, `b` the offsets to begin with.
        """
        known = self._problem
        if known is not None and known.key == problem.key:  # the same object, which workers have already
            same = known.held_out_too == problem.held_out_too
            problem = known if same else dataclasses.replace(known, held_out_too=problem.held_out_too)
        self._problem = problem
        reading, fitting = (Progress(stage, len(self.job.shards)) for stage in ("reading", "fitting"))
        for done in self.fleet.each_shard("build", problem):
            reading.done.append(done)
            self.report(reading)

        def tell(said: str) -> None:
            fitting.line = f"{title}: {said}"
            self.report(fitting)

        return newton.fit(
            newton.Objective(self.fleet, problem, len(self.job.leaves), l2),
            (len(problem.scale), lanes),
            b if before is None else before.b,
            weight,
            W=None if before is None else before.W,
            tol=self.tol,
            max_iter=self.max_iter,
            checkpoint=checkpoint,
            tell=tell,
        )
