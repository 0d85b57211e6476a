"""GPU pods that go through our scheduler and extender, and what an independent checker says of where they went.

    with Service(cluster, {"controller-a": 9443}) as service: ...     # follows the leader's label
    with BoundWatch(cluster, memory_of_nodes, limits) as watch: ...
    assert not watch.above
    assert not stuck(cluster, kubelets.report(), limits)

The checker knows the rules and nothing of the program: what the API server says, and what kubelet's managers gave.
"""

import collections
import contextlib
import json
import select
import socket
import threading

import scheduler as lib
from cluster import quantity
from controller import SYSTEM
from gpus import GPU
from kubelets import admitted, cpus, devices, machine

ENDS = "test.gpuqos.io/ends"
LEADER = f"/api/v1/namespaces/{SYSTEM}/pods?labelSelector=gpuqos.io%2Frole%3Dleader"


def layout(policy, prefix, memory="81559Mi", **more):
    """As an agent would publish it, with the memory of the cards."""
    made = machine(policy, prefix=prefix, **more)
    for card in made["gpus"]:
        card["memory"] = memory
    return made | {"writer": "test"}


def gpu_pod(name, gpus, cpu, selector, guaranteed=True, ends=False):
    """Of one container; gpus 0 asks for none. Guaranteed with whole CPUs has CPUs of its own where kubelet pins.
    ends: it is for finish() to end it."""
    amounts = {"cpu": str(cpu), "memory": "1Gi"} | ({GPU: str(gpus)} if gpus else {})
    limits = amounts if guaranteed else {GPU: str(gpus)} if gpus else {}
    return {"metadata": {"name": name, "labels": {ENDS: "true"} if ends else {}}, "spec": {
        "schedulerName": lib.NAME, "nodeSelector": selector, "terminationGracePeriodSeconds": 0, "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "x", "resources": {"requests": amounts, "limits": limits}}]}}


def refusal(pod):
    """Why it has no place, once kube-scheduler has said so; not what it says of what is not seen yet."""
    said = next((c.get("message") or "" for c in pod["status"].get("conditions", [])
                 if c["type"] == "PodScheduled" and c["status"] == "False"), None)
    return None if said and "and will in a moment" in said else said


def asked(pod):
    """Cards, and CPUs in thousandths."""
    requests = pod["spec"]["containers"][0]["resources"].get("requests", {})
    return int(requests.get(GPU, 0)), quantity_milli(requests.get("cpu", "0"))


def quantity_milli(text):
    return int(text[:-1]) if text.endswith("m") else quantity(text) * 1000


def is_over(pod):
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def ends(pod):
    return ENDS in pod["metadata"].get("labels", {})


def finish(namespace):
    """Ends the pods that run and are to end, as if their containers had: the kubelets take it from there."""
    for pod in namespace.list_pods():
        if ends(pod) and pod["status"]["phase"] == "Running":
            namespace.cluster.api("PATCH", f"{namespace.pods}/{pod['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})


def is_pinned(pod):
    return pod["status"].get("qosClass") == "Guaranteed" and asked(pod)[1] % 1000 == 0


class Watch:
    """Every change of every pod, in the order in which they were made, while it is open."""

    def __init__(self, cluster):
        self.cluster = cluster

    def take(self, kind, pod):
        raise NotImplementedError

    def __enter__(self):
        listed = self.cluster.get("/api/v1/pods")
        for pod in listed["items"]:
            self.take("ADDED", pod)
        self.connection, self.answer = self.cluster.client.stream(
            f"/api/v1/pods?watch=true&resourceVersion={listed['metadata']['resourceVersion']}")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def _read(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.answer:
                event = json.loads(line)
                self.take(event["type"], event["object"])

    def __exit__(self, *_):
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()


class BoundWatch(Watch):
    """What the namespaces hold of GPU memory on nodes, and whether that was ever more than its limit; whether a pod
    was ever bound to two nodes.

    memory: bytes of a card by node; limits: bytes by namespace.
    """

    def __init__(self, cluster, memory, limits):
        super().__init__(cluster)
        self.memory, self.limits = memory, limits
        self.held = collections.defaultdict(dict)
        self.most = collections.Counter()
        self.nodes = {}
        self.above, self.moved = [], []

    def take(self, kind, pod):
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        if meta["namespace"] not in self.limits or not node:
            return
        if self.nodes.setdefault(meta["uid"], node) != node:
            self.moved.append((meta["name"], self.nodes[meta["uid"]], node))
        held = self.held[meta["namespace"]]
        held.pop(meta["uid"], None)
        if kind != "DELETED" and not is_over(pod):
            held[meta["uid"]] = asked(pod)[0] * self.memory[node]
        total = sum(held.values())
        self.most[meta["namespace"]] = max(self.most[meta["namespace"]], total)
        if total > self.limits[meta["namespace"]]:
            self.above.append((meta["namespace"], total, self.limits[meta["namespace"]]))


# --- whether a pod that waits had a place

class Room:
    """What is left of a node: cards and CPUs of each NUMA node by kubelet's managers, and CPUs by requests."""

    def __init__(self, node, made, verdicts, pods):
        self.kubelet = made["kubelet"]
        self.labels = node["metadata"]["labels"]
        held = {d for v in verdicts if v["released"] == 0 for d in devices(v)}
        pinned = {c for v in verdicts if v["released"] == 0 for c in cpus(v)}
        self.cards, self.cpus = collections.Counter(), collections.Counter()
        for card in made["gpus"]:
            self.cards[card["numa"]] += card["uuid"] not in held
        for numa in made["numa"]:
            first, last = map(int, numa["cpus"].split("-"))
            self.cpus[numa["id"]] = sum(1 for c in range(first, last + 1) if c not in pinned)
        self.milli = quantity_milli(node["status"]["allocatable"]["cpu"]) - sum(asked(p)[1] for p in pods)

    def has_numa(self, pod):
        """A NUMA node with room for all of it."""
        gpus, milli = asked(pod)
        need = milli // 1000 if is_pinned(pod) else 0
        return any(self.cards[n] >= gpus and self.cpus[n] >= need for n in self.cpus)

    def takes(self, pod, required):
        """It would surely run there, and within one NUMA node where that is required. The other way is not said: a
        node that does not pass here may be one that is right."""
        gpus, milli = asked(pod)
        if any(self.labels.get(k) != v for k, v in pod["spec"].get("nodeSelector", {}).items()):
            return False
        if sum(self.cards.values()) < gpus or self.milli < milli:
            return False
        if self.kubelet["topologyPolicy"] in ("single-numa-node", "restricted"):
            aligned = self.kubelet["topologyPolicy"] == "single-numa-node" and is_pinned(pod)
            return self.has_numa(pod) and (aligned or len(self.cpus) == 1 or not required)
        return len(self.cpus) == 1 or not required


def stuck(cluster, report, memory, limits, required):
    """[(pod, node)] of pods that wait although there is a node that takes them; required: names of namespaces."""
    pods = [p for p in cluster.get("/api/v1/pods")["items"] if not is_over(p)]
    on = collections.defaultdict(list)
    held = collections.Counter()
    for pod in pods:
        node = pod["spec"].get("nodeName")
        on[node].append(pod)
        if node in memory:
            held[pod["metadata"]["namespace"]] += asked(pod)[0] * memory[node]
    verdicts = collections.defaultdict(list)
    for verdict in admitted(report.pods):
        verdicts[verdict["node"]].append(verdict)
    rooms = {n["metadata"]["name"]: Room(n, report.nodes[n["metadata"]["name"]]["layout"], verdicts[n["metadata"]["name"]],
                                         on[n["metadata"]["name"]])
             for n in cluster.get("/api/v1/nodes")["items"] if n["metadata"]["name"] in memory}
    found = []
    for pod in on[None]:
        namespace = pod["metadata"]["namespace"]
        if namespace not in limits:
            continue
        found += [(pod["metadata"]["name"], name, refusal(pod)) for name, room in rooms.items()
                  if held[namespace] + asked(pod)[0] * memory[name] <= limits[namespace]
                  and room.takes(pod, namespace in required)][:1]
    return found


# --- the Service

class Service:
    """Stands for Service gpuqos-extender: a port whose new connections go to the pod that has the leader's label.
    A connection stays with whom it began, as with a real Service.

    ports: the extender's port by name of the controller's pod.
    """

    def __init__(self, cluster, ports):
        self.cluster, self.ports = cluster, ports
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]

    def target(self):
        """The port to go to, or None where nobody has the label."""
        with contextlib.suppress(OSError, ValueError):
            names = [p["metadata"]["name"] for p in self.cluster.get(LEADER)["items"]]
            return next((self.ports[n] for n in names if n in self.ports), None)
        return None

    def __enter__(self):
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()
        return self

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near):
        try:
            with near:
                port = self.target()
                self.cluster.client.close()
                if not port:
                    return
                with socket.create_connection(("127.0.0.1", port), timeout=10) as far:
                    far.settimeout(None)
                    self._pump(near, far)
        except OSError:
            pass

    @staticmethod
    def _pump(near, far):
        other = {near: far, far: near}
        while True:
            for side in select.select([near, far], [], [])[0]:
                data = side.recv(1 << 16)
                if not data:
                    return
                other[side].sendall(data)

    def __exit__(self, *_):
        # close() alone does not wake accept()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
