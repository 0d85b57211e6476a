"""Nodes whose devices and CPUs kubelet's own managers give out (hack/cluster/kubelet-devices),
and what they decided, which is a test's independent checker.

    with Cluster.start("--with", "kubelet-devices") as cluster:
        kubelets = Kubelets(cluster)
        kubelets.node("a", machine(policy="single-numa-node"))
        ...
        report = kubelets.report()
        assert not sold_twice(report.pods)
"""

import json
import typing
import urllib.request

from cluster import wait_for

LABEL = "gpuqos.io/kubelet-devices"
MACHINE = "dev.gpuqos.io/machine"
GPU = "nvidia.com/gpu"


def machine(policy="none", scope="container", cpu_policy="static", sockets=2, cpus=16, gpus=4, memory="256Gi", prefix="GPU"):
    """A layout as docs/topology.md has it: so many sockets with so many CPUs and cards each."""
    numa = [{"id": i, "cpus": f"{i * cpus}-{(i + 1) * cpus - 1}", "memory": memory,
             "distances": [10 if i == j else 21 for j in range(sockets)]} for i in range(sockets)]
    cards = [{"uuid": f"{prefix}-{i}", "index": i, "pci": f"0000:{i + 16:02x}:00.0", "numa": i // gpus, "health": "OK"}
             for i in range(sockets * gpus)]
    return {"version": 1, "kubelet": {"topologyPolicy": policy, "topologyScope": scope, "cpuPolicy": cpu_policy},
            "numa": numa, "gpus": cards}


class Report(typing.NamedTuple):
    """nodes by name, and the decisions in their order, as report.go and ledger.go describe them."""

    nodes: dict
    pods: list

    def verdicts(self, node=None):
        """The decisions on the pods of one node, or of all."""
        return [p for p in self.pods if node in (None, p["node"])]


def admitted(pods):
    return [p for p in pods if p["verdict"] == "Admitted"]


def rejected(pods, reason=None):
    return [p for p in pods if p["verdict"] == "Rejected" and reason in (None, p["reason"])]


def spanning(pods):
    """Those admitted whose cards, or CPUs and cards, lie on different NUMA nodes."""
    return [p for p in admitted(pods) if p["spans"]["cpuGpu"] or p["spans"]["gpus"]]


def devices(pod):
    return [d["id"] for c in pod["containers"] for d in c["devices"]]


def cpus(pod):
    return [cpu for c in pod["containers"] for cpu in c["cpus"]]


def sold_twice(pods):
    """Devices and CPUs that two pods of one node held at the same time, at any time since the start."""
    twice = []
    held = {}
    for pod in admitted(pods):  # in the order of the decisions
        for thing in [*devices(pod), *cpus(pod)]:
            before = held.get((pod["node"], thing))
            if before and (before["released"] == 0 or before["released"] > pod["decided"]):
                twice.append((pod["node"], thing, before["name"], pod["name"]))
            held[pod["node"], thing] = pod
    return twice


class Kubelets:
    """The kubelets of a cluster that was started --with kubelet-devices."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.address = (cluster.directory / "kd" / "address").read_text().strip()

    def report(self):
        with urllib.request.urlopen(f"http://{self.address}/report", timeout=30) as answer:
            return Report(**json.load(answer))

    def node(self, name, layout, labels=None, annotations=None):
        """Makes a node with this machine, and waits until it is Ready. The rest of it its kubelet fills in."""
        self.cluster.api("POST", "/api/v1/nodes", {"metadata": {
            "name": name, "labels": {LABEL: "true", "kubernetes.io/hostname": name} | (labels or {}),
            "annotations": {MACHINE: json.dumps(layout)} | (annotations or {})}}).ok()
        wait_for(lambda: self.is_ready(name), f"node {name} is Ready")

    def is_ready(self, name):
        node = self.cluster.get(f"/api/v1/nodes/{name}")
        conditions = node["status"].get("conditions", [])
        return not node["spec"].get("taints") and any(
            c["type"] == "Ready" and c["status"] == "True" for c in conditions)
