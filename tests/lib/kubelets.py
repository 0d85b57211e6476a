"""Nodes whose devices and CPUs kubelet's own managers give out (hack/cluster/kubelet-devices),
and what they decided, which is a test's independent checker.

    with Cluster.start("--with", "kubelet-devices") as cluster:
        kubelets = Kubelets(cluster)
        kubelets.node("a", machine(policy="single-numa-node"))
        ...
        report = kubelets.report()
        assert not sold_twice(report.pods)
"""

import datetime
import json
import os
import pathlib
import signal
import ssl
import subprocess
import typing
import urllib.error
import urllib.request

from cluster import MERGE, Response, decode, wait_for
from controller import SYSTEM
from protobuf import fields, numbers

LABEL = "gpuqos.io/kubelet-devices"
MACHINE = "dev.gpuqos.io/machine"
TOPOLOGY = "gpuqos.io/topology"
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
        for thing in {*devices(pod), *cpus(pod)}:  # a pod's init container passes on what it had
            before = held.get((pod["node"], thing))
            if before and (before["released"] == 0 or before["released"] > pod["decided"]):
                twice.append((pod["node"], thing, before["name"], pod["name"]))
            held[pod["node"], thing] = pod
    return twice


def start_ticks(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]


class Kubelets:
    """The kubelets of a cluster that was started --with kubelet-devices."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.directory = cluster.directory / "kd"
        self.pid_file = cluster.directory / "pids" / "kubelet-devices"

    @property
    def address(self):
        return (self.directory / "address").read_text().strip()

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

    def publish(self, name, layout, seconds=3600):
        """What a live agent of the node shows, without an agent: the layout, and a Lease that holds so long."""
        uid = self.cluster.api("PATCH", f"/api/v1/nodes/{name}",
                               {"metadata": {"annotations": {TOPOLOGY: json.dumps(layout)}}}, MERGE).ok()["metadata"]["uid"]
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.cluster.api("POST", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases", {
            "metadata": {"name": f"gpuqos-agent-{name}", "labels": {"app.kubernetes.io/name": "gpuqos-agent"}, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": now}}).ok()

    def set_machine(self, name, layout):
        """Only the cards' health may differ: a kubelet's machine does not change."""
        self.cluster.api("PATCH", f"/api/v1/nodes/{name}",
                         {"metadata": {"annotations": {MACHINE: json.dumps(layout)}}}, MERGE).ok()

    def configz(self, name, token=None):
        """The Response of the node's kubelet to /configz."""
        port = self.cluster.get(f"/api/v1/nodes/{name}")["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        request = urllib.request.Request(f"https://127.0.0.1:{port}/configz")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        tls = ssl.create_default_context(cafile=self.cluster.directory / "pki" / "ca.crt")
        try:
            with urllib.request.urlopen(request, timeout=30, context=tls) as answer:
                return decode(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            return Response(error.code, error.read().decode())

    def pod_resources(self, name):
        """What PodResources List says of the node: {(namespace, pod): {container: (device IDs, CPUs)}}."""
        socket = self.directory / name / "pod-resources" / "kubelet.sock"
        answer = subprocess.run(
            ["curl", "-sS", "--http2-prior-knowledge", "--unix-socket", socket, "-H", "Content-Type: application/grpc",
             "-H", "TE: trailers", "--data-binary", "@-", "http://localhost/v1.PodResourcesLister/List"],
            input=bytes(5), stdout=subprocess.PIPE, check=True, timeout=30).stdout
        return dict(self._pod(data) for number, data in fields(answer[5:]) if number == 1)

    @staticmethod
    def _pod(data):
        found = list(fields(data))
        names = {number: value.decode() for number, value in found if number in (1, 2)}
        return (names[2], names[1]), dict(Kubelets._container(c) for number, c in found if number == 3)

    @staticmethod
    def _container(data):
        found = list(fields(data))
        name = next(value.decode() for number, value in found if number == 1)
        ids = {i.decode() for number, d in found if number == 2 for n, i in fields(d) if n == 2}
        return name, (ids, [cpu for number, c in found if number == 3 for cpu in numbers(c)])

    def restart(self):
        """Kills the program as it is, and starts it again on the same folder."""
        pid = int(self.pid_file.read_text().split()[0])
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.is_gone(pid), "the kubelets are gone")
        (self.directory / "address").unlink()
        with open(self.cluster.directory / "logs" / "kubelet-devices.log", "ab") as log:
            # Not waited for: it outlives the test, and hack/cluster/down ends it.
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.pid_file.write_text(f"{started.pid} {start_ticks(started.pid)}\n")
        wait_for((self.directory / "address").exists, "the kubelets are back")

    @staticmethod
    def is_gone(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
        except FileNotFoundError:
            return True
