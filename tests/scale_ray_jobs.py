"""Jobs on Ray in a process of their own, which prints what they gave as JSON: Ray ends with that process."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

STORE = 96 << 20


def actors():
    """Processes of the actors of this process's Ray."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    below = {str(os.getpid())}
    while more := {pid for pid, parent, _ in rows if parent in below} - below:
        below |= more
    return [int(pid) for pid, _, args in rows if pid in below and "ray::_Actor" in args]


class Killer:
    """Kills a worker the first time that a job reaches a stage."""

    def __init__(self, stage):
        self.stage, self.killed = stage, 0

    def __call__(self, progress):
        if progress.stage == self.stage and not self.killed:
            for pid in actors()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1


def digest(trained, folder):
    path = Path(folder, "digest.tally")
    trained.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def one_machine(folder):
    """Trainings with several numbers of workers, with a worker killed, a scoring and a bad shard."""
    import ray

    from tallywise.reading import InputError
    from tallywise.scale import classify, train

    ray.init(num_cpus=2, object_store_memory=STORE, include_dashboard=False, log_to_driver=False)
    shards, found = f"{folder}/parts", {}
    for model, workers in (("multinomial_nb", 2), ("multinomial_nb", 5), ("logistic", 1), ("logistic", 2)):
        trained = train(shards, model=model, workers=workers, ray="auto")
        found[f"{model} {workers}"] = [digest(trained, folder), trained.workers]
    for stage in ("counting", "fitting"):
        killer = Killer(stage)
        trained = train(shards, model="logistic", workers=2, ray="auto", progress=killer)
        found[f"killed while {stage}"] = [digest(trained, folder), killer.killed]
    done = classify(f"{folder}/model.tally", shards, f"{folder}/verdicts", workers=2, ray="auto")
    found["verdicts"] = done.outputs
    try:
        train([f"{shards}/part-0.jsonl", f"{folder}/bad.jsonl"], model="multinomial_nb", workers=2, ray="auto")
    except InputError as error:
        found["error"] = str(error)
    ray.shutdown()
    return found


def two_nodes(folder):
    """A training on two nodes, one of which is removed in the middle of the fit."""
    import ray
    from ray.cluster_utils import Cluster

    from tallywise.scale import train

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": STORE})
    second = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    removed = []

    def remove(progress):
        if progress.stage == "fitting" and not removed:
            removed.append(cluster.remove_node(second, allow_graceful=False))

    trained = train(f"{folder}/parts", model="logistic", workers=2, ray="auto", progress=remove)
    found = {"digest": digest(trained, folder), "workers": trained.workers, "removed": len(removed)}
    ray.shutdown()
    cluster.shutdown()
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
