#!/usr/bin/env python3
"""What our extender adds to kube-scheduler's decision: the same pods with GPUs are placed on the same nodes with
published layouts, by the kube-scheduler of config/scheduler without its extender and then with it. Every node is
looked at and scored in both: alone by its own plugins, with the extender by us, and the best of them by both. The
nodes are objects and no more: nobody runs what is bound to them.

    tests/bench/scheduling.py [NODES [PODS]]

Pods come in two ways: in a burst, where all are there before kube-scheduler starts and the API server, etcd and
bindings take what they can of the same cores; and paced, a fifth of them, one after the other. Each way is played
without, with, with, without, since neither the machine nor etcd is the same from minute to minute; what is added up of
both is one result.

prints {"burst": {"without": {...}, "with": {...}}, "paced": ...}, of each p50 and mean of
scheduler_scheduling_algorithm_duration_seconds in ms, as kube-scheduler itself measures: from its native histogram,
whose buckets are 9 % wide.
"""

import contextlib
import functools
import json
import operator
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import scheduler as lib
from cluster import Cluster, NotYet, wait_for
from controller import Controller, free_port, install
from gpus import GPU, Namespace
from kubelets import machine
from tenants import Tenant

DURATION = "scheduler_scheduling_algorithm_duration_seconds"
NODES = "/api/v1/nodes"
CARDS = 8  # of a node
ROUNDS = 2
RATE = 40  # paced pods a second
PACED_SHARE = 5  # one of so many pods
PRIORITY = -15  # as tests/bench/processes.py: before what else the machine has to do
SIZES = (1, 1, 1, 2)  # cards of a pod: 5,000 pods find a place on 1,000 nodes also where they are spread


def prefer(pids):
    """Before what else the machine has to do, where that is allowed. What is started in a session of its own is in
    a group of its own, whose niceness counts and not the process's."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, PRIORITY)
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/{pid}/autogroup").write_text(str(PRIORITY))


def summary(plays):
    total = functools.reduce(operator.add, plays)
    return {"p50": 1e3 * total.quantile(0.5), "mean": 1e3 * total.mean, "count": total.count}


def nodes_with_layouts(nodes):
    """Each node's layout, as its agent would publish it."""
    for number in range(nodes):
        made = machine("none", gpus=CARDS, cpus=64, prefix=f"GPU-{number}")
        for card in made["gpus"]:
            card["memory"] = "81559Mi"
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": f"gpu-{number:04}", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                                                   "nvidia.com/gpu.memory": "81559"},
            "annotations": {"gpuqos.io/topology": json.dumps(made | {"writer": "bench"})}},
            "status": {what: {"cpu": "128", "memory": "1Ti", "pods": "110", GPU: str(CARDS)} for what in ("capacity", "allocatable")}
            | {"conditions": [{"type": "Ready", "status": "True", "reason": "Bench", "message": ""}]}}


def add_nodes(cluster, nodes):
    names = [response.ok()["metadata"]["name"] for response in cluster.create_many(NODES, nodes_with_layouts(nodes), threads=8)]

    def untainted():
        """They are born tainted; the controller manager takes that off who says it is ready."""
        while names and not cluster.get(f"{NODES}/{names[-1]}")["spec"].get("taints"):
            names.pop()
        return not names or NotYet(len(names))
    wait_for(untainted, f"{nodes} nodes may be used", timeout=300)


def gpu_pods(count):
    dice = random.Random(1)
    for number in range(count):
        cards = dice.choice(SIZES)
        amounts = {"cpu": str(4 * cards), "memory": "4Gi", GPU: str(cards)}
        yield {"metadata": {"name": f"pod-{number}"}, "spec": {
            "schedulerName": lib.NAME, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}]}}


def burst(namespace, scheduler, count):
    """All pods are there, then kube-scheduler starts."""
    for response in namespace.cluster.create_many(namespace.pods, gpu_pods(count), threads=8):
        response.ok()
    scheduler.start()


def paced(namespace, scheduler, count):
    scheduler.start()
    begun = time.monotonic()
    for number, pod in enumerate(gpu_pods(count // PACED_SHARE)):
        time.sleep(max(0, begun + number / RATE - time.monotonic()))
        namespace.cluster.api("POST", namespace.pods, pod).ok()


def play(namespace, scheduler, count, arrive):
    """What kube-scheduler says once all pods have a place."""
    cluster, begun = namespace.cluster, time.monotonic()
    arrive(namespace, scheduler, count)
    if arrive is paced:
        count //= PACED_SHARE

    def placed():
        metrics = scheduler.metrics()
        done = sum(v for (name, labels), v in metrics.items()
                   if name == "scheduler_schedule_attempts_total" and dict(labels)["result"] == "scheduled")
        return done >= count or NotYet(done)
    wait_for(placed, f"{count} pods have a place", timeout=600)
    seen = scheduler.histogram(DURATION)
    scheduler.stop()
    print(f"{summary([seen])} after {time.monotonic() - begun:.0f} s", file=sys.stderr)
    while cluster.get(f"{namespace.pods}?limit=1")["items"]:  # all at once would take longer than a request may
        cluster.api("DELETE", f"{namespace.pods}?gracePeriodSeconds=0&limit=500").ok()
    return seen


def compare(namespace, without, extended, count, arrive):
    sides = [(without, []), (extended, [])]
    for _ in range(ROUNDS):
        for scheduler, plays in sides:
            plays.append(play(namespace, scheduler, count // ROUNDS, arrive))
        sides.reverse()
    seen = dict(sides)
    return {"without": summary(seen[without]), "with": summary(seen[extended])}


def main():
    with contextlib.suppress(OSError):
        os.setsid()  # else its session, and whose else it is, would be preferred too
        prefer([os.getpid()])
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    pods = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    with Cluster.start("--without", "scheduler,kwok", "--audit", "none", "--client-qps", "2000",
                       "--controller-manager-arg", "--node-monitor-grace-period=24h") as cluster, \
            tempfile.TemporaryDirectory(prefix="gpuqos-bench-") as folder:
        prefer(int(file.read_text().split()[0]) for file in (pathlib.Path(cluster.directory) / "pids").iterdir())
        install(cluster)
        folder = pathlib.Path(folder)
        certs = lib.make_certificates(folder / "certs")
        port = free_port()
        controller = Controller(
            cluster, folder / "controller", f"--extender-address=127.0.0.1:{port}",
            f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
            f"--extender-client-ca-file={certs}/ca.crt").start()
        add_nodes(cluster, nodes)
        namespace = Namespace.make(cluster)
        Tenant.make(cluster, namespace, topology={"policy": "Preferred", "scope": "NUMA"})
        namespace.put_quota("1000Ti")
        wait_for(lambda: cluster.get(f"/api/v1/namespaces/{namespace.name}/resourcequotas")["items"], "there is a quota")
        schedulers = (lib.Scheduler(cluster, folder / "alone"),
                      lib.Scheduler(cluster, folder / "both", f"https://127.0.0.1:{port}", certs))
        seen = {arrive.__name__: compare(namespace, *schedulers, pods, arrive) for arrive in (paced, burst)}
        controller.stop(30)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
