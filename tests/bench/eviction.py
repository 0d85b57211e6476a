#!/usr/bin/env python3
"""How long it takes from when a pod has waited long enough until the API server is asked to evict whom it needs gone: N
nodes full of training pods, and pods of ten inference tenants that come one after another, on a real API server,
through the kube-scheduler of config/scheduler and our extender.

    tests/bench/eviction.py [N [PODS]]      prints {"p50": ms, "p99": ms, "max": ms, "count": PODS}

Both moments are the API server's: creationTimestamp and pendingSeconds, or the answer to the create where that came
later, and when the request for the eviction was received, in its audit log. Between them lie a plan, the receipt in
the tenant's status, which is written first, and Events and the notice on the victim, for which nobody waits.
"""

import datetime
import json
import pathlib
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import scheduler as lib
from cluster import Cluster, NotYet, wait_for
from controller import install
from gpus import GPU, H100, Namespace, pod
from tenants import Tenant

TENANTS = 10
PENDING = 1  # seconds
PACE = 1  # between pods: what is timed is one, not a crowd
CARDS = 8  # of a node


def waiting_pod(name):
    item = pod(name, GPU, 1, H100)
    item["spec"] |= {"schedulerName": lib.NAME, "terminationGracePeriodSeconds": 0}
    return item


def time_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def fill(cluster, nodes):
    """Nodes, and training pods on all cards of them."""
    training = Namespace.make(cluster)
    Tenant.make(cluster, training, tier="Training", preemptible={"minRunSeconds": 0})
    training.put_quota("1000Ti")
    for response in cluster.create_many(training.pods, (waiting_pod(f"train-{number}") for number in range(CARDS * nodes)), threads=8):
        response.ok()

    def running():
        seen = sum(each["status"]["phase"] == "Running" for each in training.list_pods())
        return seen == CARDS * nodes or NotYet(seen)
    wait_for(running, "all cards are taken", 300)


def make_servers(cluster):
    """Namespaces whose pods may have room made for them, each of a tenant of its own."""
    made = []
    for _ in range(TENANTS):
        namespace = Namespace.make(cluster)
        tenant = Tenant.make(cluster, namespace, tier="Inference", pendingSeconds=PENDING, protection={
            "mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 0, "evictionsPerMinute": 60})
        namespace.put_quota("100Ti")
        made.append((namespace, tenant))
    return made


def receipts(servers):
    return [receipt for _, tenant in servers for receipt in tenant.object().get("status", {}).get("evictions", [])]


def asked_for(cluster):
    """{name of the victim: when its eviction was asked for first}."""
    times = {}
    for event in cluster.audit(verb="create", resource="pods"):
        if event["objectRef"].get("subresource") == "eviction":
            times.setdefault(event["objectRef"]["name"], time_of(event["requestReceivedTimestamp"]))
    return times


def created(cluster):
    """{name of the pod: when its create was answered}."""
    return {event["objectRef"]["name"]: time_of(event["stageTimestamp"])
            for event in cluster.audit(verb="create", resource="pods")
            if "subresource" not in event["objectRef"] and event["objectRef"].get("name", "").startswith("serve-")}


def play(cluster, servers, pods):
    """[seconds] of each pod for which somebody went."""
    due = {}
    for number in range(pods):
        namespace, _ = servers[number % TENANTS]
        made = cluster.api("POST", namespace.pods, waiting_pod(f"serve-{number}")).ok()
        due[made["metadata"]["name"]] = time_of(made["metadata"]["creationTimestamp"]) + PENDING
        threading.Event().wait(PACE)
    wait_for(lambda: len(receipts(servers)) >= pods or NotYet(receipts(servers)[-1:]), "room was made for all", 120)
    wait_for(lambda: len(asked_for(cluster)) >= pods or NotYet("audit"), "all evictions were asked for", 60)
    answered, asked = created(cluster), asked_for(cluster)
    took = []
    for receipt in receipts(servers):
        name = receipt["beneficiary"]["name"]
        begin = max(due[name], answered[name])
        took += [asked[victim["name"]] - begin for victim in receipt["victims"]]
    return took


def rank(values, percent):
    """The nearest rank."""
    return values[max(-(-len(values) * percent // 100) - 1, 0)]


def main():
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    pods = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with Cluster.start() as cluster, tempfile.TemporaryDirectory(prefix="gpuqos-bench-") as folder:
        cluster.nodes(f"h100={nodes}")
        install(cluster)
        with lib.placing(cluster, pathlib.Path(folder)):
            fill(cluster, nodes)
            took = sorted(1e3 * each for each in play(cluster, make_servers(cluster), pods))
    print(json.dumps({"p50": rank(took, 50), "p99": rank(took, 99), "max": took[-1], "count": len(took)}))


if __name__ == "__main__":
    main()
