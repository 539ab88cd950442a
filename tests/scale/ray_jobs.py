"""Trainings on a Ray of two nodes, in a process of their own that prints what they gave as JSON: Ray ends with it."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

STORE = 96 << 20  # bytes of shared memory for each node: sums are small


def processes():
    """Processes as (number, parent, command)."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            yield int(folder.name), parent, (folder / "cmdline").read_text()
        except OSError:  # it has ended meanwhile
            continue


def workers(ancestor, kind):
    """Workers of a kind among the descendants of a process: ``_Actor`` holds shards, ``_call`` is a task."""
    known = list(processes())
    below = {ancestor}
    while more := {pid for pid, parent, _ in known if parent in below} - below:
        below |= more
    return sorted(pid for pid, _, command in known if pid in below and f"ray::{kind}" in command)


def broken(*run):
    msg = "no such package here"
    raise RuntimeError(msg)


def spell(shared, task):
    """When a task began and ended."""
    began = time.monotonic()
    time.sleep(shared)
    return began, time.monotonic()


def slowly(reading, number, shard):
    """Read a shard, but not before there was time to kill whoever does."""
    from tallywise.scale.gathering import read_shard

    time.sleep(1.0)
    return read_shard(reading, number, shard)


class Jobs:
    """Trainings on the cluster, by the name under which the test asks for them."""

    def __init__(self, folder):
        from ray.cluster_utils import Cluster

        self.folder, self.shards, self.found = folder, f"{folder}/parts", {}
        head = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.second = self.cluster.add_node(num_cpus=1, object_store_memory=STORE)
        self.cluster.wait_for_nodes(300)

    def train(self, name, model, n, progress=None):
        from tallywise.scale import train

        began = time.perf_counter()
        trained = train(self.shards, model=model, workers=n, ray="auto", progress=progress)
        path = Path(self.folder, "ray.tally")
        trained.save(path)
        self.found[name] = [hashlib.sha256(path.read_bytes()).hexdigest(), trained.workers]
        self.found["moved"] = trained.bytes_moved / trained.characters
        print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)

    def any_number_of_workers(self):
        self.train("multinomial_nb 2", "multinomial_nb", 2)
        for n in (1, 5):  # two have the jobs in which one dies
            self.train(f"auto {n}", "auto", n)

    def topics(self):
        from tallywise.scale import find_topics

        found = find_topics(self.shards, 3, passes=3, workers=2, ray="auto")
        self.found["topics"] = hashlib.sha256(found.model.components_.tobytes()).hexdigest()

    def worker_killed(self):
        """A worker is killed while sums are counted, and one while texts are gathered."""
        from tallywise.scale import gathering

        killed = []

        def kill(progress):
            kind = {"counting": "_Actor", "reading": "_call"}.get(progress.stage)
            running = workers(os.getpid(), kind) if kind and progress.stage not in killed else []
            if running:
                os.kill(running[0], signal.SIGKILL)
                killed.append(progress.stage)

        self.train("sums, worker killed", "multinomial_nb", 2, kill)
        real, gathering.read_shard = gathering.read_shard, slowly
        self.train("worker killed", "auto", 2, kill)
        gathering.read_shard = real
        self.found["killed"] = killed

    def scored(self):
        from tallywise.reading import InputError
        from tallywise.scale import classify

        model = f"{self.folder}/model.tally"
        self.found["verdicts"] = classify(model, self.shards, f"{self.folder}/verdicts", ray="auto").outputs
        try:
            classify(model, f"{self.folder}/bad.jsonl", f"{self.folder}/none", workers=1, ray="auto")
        except InputError as error:
            self.found["bad shard"] = str(error)

    def one_at_a_time(self):
        """One worker on a cluster of two CPUs."""
        from tallywise.scale.engines import connect

        self.found["spells"] = sorted(connect("auto", 1).map(spell, [(k,) for k in range(4)], 0.2))

    def worker_that_cannot_start(self):
        from tallywise.errors import TallywiseError
        from tallywise.scale.engines import connect

        try:
            connect("auto", 1).fleet(broken, [()], [range(1)]).ask("memory")
        except TallywiseError as error:
            self.found["cannot start"] = str(error)

    def node_removed(self):
        """The second node is killed while texts are gathered, with the worker on it."""
        from tallywise.scale import gathering

        lost = []

        def remove(progress):
            raylet = self.second.all_processes["raylet"][0].process.pid if not lost else 0
            if progress.stage == "reading" and not lost and workers(raylet, "_call"):
                lost.append(len(workers(raylet, "_call")))
                self.cluster.remove_node(self.second, allow_graceful=False)

        gathering.read_shard = slowly
        for _ in range(3):  # Ray may start a worker elsewhere than asked for, on a machine that is very busy
            if not lost:
                self.train("node removed", "auto", 2, remove)
        self.found["lost"] = lost


def main(folder):
    import ray

    jobs = Jobs(folder)
    ray.init(address=jobs.cluster.address, log_to_driver=False)
    jobs.any_number_of_workers()
    jobs.topics()
    jobs.worker_killed()
    jobs.scored()
    jobs.one_at_a_time()
    jobs.worker_that_cannot_start()
    jobs.node_removed()
    ray.shutdown()
    jobs.cluster.shutdown()
    return jobs.found


if __name__ == "__main__":
    print("\n" + json.dumps(main(sys.argv[1])))
