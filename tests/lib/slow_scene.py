"""A node with an inference pod that is slow, as its users see, and a training pod below the same PCIe switch that is why.

    scene = Scene(town, node, Fault("Absent", "no such series", begin))
    scene.publish()                # a live agent
    scene.figures()                # what it measures: the training pod is busy
    gauge(scene, SLOW)
    scene.watch(query(scene))      # from here on somebody may know

Without a fault the training pod goes. A town has what scenes share: cluster, controller, exporter, training (a namespace) and,
where answers of Prometheus may be lies, between.
"""

import socket
import threading

from cluster import NotYet, wait_for
from controller import USER
from gpus import GPU, H100, Namespace, condition, pod
from kubelets import Kubelets
from placement import layout
from tenants import Tenant

GAUGE = "gpuqos_test_latency_seconds"
VLLM = "vllm:{}_seconds"
SLOW = 0.5
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: 1, timeoutSeconds: 2}}
alertmanager: {{url: "http://127.0.0.1:{deaf}", timeoutSeconds: 1}}
"""


def gauge(scene, value, name="web-0"):
    scene.exporter.gauge(GAUGE, value, namespace=scene.web.name, pod=name)


def serve(scene, seconds, metric="time_to_first_token", name="web-0", **odd):
    scene.exporter.serve(VLLM.format(metric), seconds, {"namespace": scene.web.name, "pod": name}, **odd)


def query(scene, text=f"max by (namespace, pod) ({GAUGE}{{{{namespace=\"{{}}\"}}}})"):
    return {"query": text.format(scene.web.name)}


def preset(name="vllm-time-to-first-token"):
    return lambda scene: {"preset": name}


class Fault:
    """asks: the objective's question. begin, end: of the fault. reasons: of Unknown. words: in the condition."""

    def __init__(self, reasons, words, begin, end=gauge, asks=query):
        self.reasons, self.words, self.asks = reasons.split(), words, asks
        self.begin, self._end = begin, end

    def end(self, scene):
        if self._end is gauge:
            gauge(scene, SLOW)
        else:
            self._end(scene)


class Scene:
    """Its web-0 is slow, and train, below the same switch, is why. mine: the training pod's namespace, where it is not
    everybody's."""

    def __init__(self, town, node, fault, mine=None):
        vars(self).update(vars(town))
        self.node, self.fault, self.mine = node, fault, mine or self.training
        self.train = f"train-{node}"
        self.web = Namespace.make(self.cluster)
        self.tenant = Tenant.make(
            self.cluster, self.web, tier="Inference",
            protection={"mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 0, "observationSeconds": 10})
        self.web.put_quota("1Ti", enforced=False)
        self.pods = {}
        for space, name in (self.web, "web-0"), (self.web, "web-1"), (self.mine, self.train):
            self.pods[name] = self.put(space, name)

    def put(self, space, name):
        item = pod(name, product=H100)
        item["spec"]["nodeName"] = self.node
        return wait_for(lambda: space.create(item).ok(), f"{space.name} takes {name}", 60)

    def replace(self, name):
        """Another pod of that name is there in its place, and serves on under it."""
        self.web.delete_pod(name, force=True).ok()
        wait_for(lambda: self.cluster.api("GET", f"{self.web.pods}/{name}").status == 404, f"{name} is gone")
        self.pods[name] = self.put(self.web, name)

    def held(self):
        """Which pod has which card."""
        return [(self.web, "web-0", 0), (self.mine, self.train, 1), (self.web, "web-1", 4)]

    def figures(self, users=None, memory="1Gi"):
        """As the node's agent: web-0 and train have two cards of one switch."""
        told = {"gpus": 8, "podCount": len(self.held()), "pods": [
            {"namespace": space.name, "name": name, "containers": [
                {"name": "main", "devices": [{"resource": GPU, "ids": [self.layout["gpus"][card]["uuid"]], "cards": [self.pci(card)]}]}]}
            for space, name, card in self.held()]}
        told["users"] = [self.user(memory=memory, smPercent=90, pcieBytesPerSecond="8G", shared=True)] if users is None else users
        self.cluster.api("PATCH", f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}", {"status": told}).ok()

    def pci(self, card):
        return self.layout["gpus"][card]["pci"]

    def user(self, **figures):
        return {"card": self.pci(1), "podUID": self.pods[self.train]["metadata"]["uid"], "processes": 1, **figures}

    def publish(self):
        """A live agent, and its GpuNode."""
        Kubelets(self.cluster).publish(self.node, self.layout)
        self.cluster.api("POST", "/apis/gpuqos.io/v1alpha1/gpunodes", {
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": self.node}}).ok()

    @property
    def layout(self):
        made = layout("none", f"GPU-{self.node}")
        made["bridges"] = [{"pci": f"0000:{i + 1:02x}:00.0"} for i in range(4)]
        for card in made["gpus"]:
            card["bridge"] = card["index"] // 2
        return made

    def watch(self, asks):
        self.tenant.patch(objectives=[{"name": "latency", "threshold": "200m", "for": "5s", **asks}])

    def objective(self):
        return (self.tenant.object().get("status", {}).get("objectives") or [{}])[0]

    def wait_objective(self, *states):
        def reached():
            seen = self.objective()
            return seen if seen.get("state") in states else NotYet(seen)
        return wait_for(reached, f"{self.node}: latency is {states}", 60)

    def wait_unknown(self):
        """The condition's text, once the objective is Unknown for one of the fault's reasons."""
        def reached():
            seen, told = self.objective(), condition(self.tenant.object(), "Objectives")
            right = seen.get("state") == "Unknown" and any(f"({reason})" in told["message"] for reason in self.fault.reasons)
            return (told["status"] == "Unknown" and right and told["message"]) or NotYet((seen, told["message"]))
        return wait_for(reached, f"{self.node} is unknown: {self.fault.reasons}", 60)

    def assert_nobody_went(self):
        """Every pod is there as it was, and nothing says that one should go."""
        there = {p["metadata"]["name"]: p["metadata"] for p in self.web.list_pods() + self.mine.list_pods()}
        for name, made in self.pods.items():
            assert there[name]["uid"] == made["metadata"]["uid"] and "deletionTimestamp" not in there[name], name
            assert "gpuqos.io/eviction-notice" not in there[name].get("annotations", {}), name
        status = self.tenant.object().get("status", {})
        assert not status.get("evictions") and not status.get("evictionCount"), status
        assert (self.mine.name, self.train) not in evicted(self.cluster)
        assert not any(dict(labels).get("tenant") == self.tenant.name
                       for (name, labels), value in self.controller.metrics().items()
                       if name == "gpuqos_eviction_receipts_total" and value)

    def wait_evicted(self):
        uid = self.pods[self.train]["metadata"]["uid"]

        def gone():
            receipts = self.tenant.object().get("status", {}).get("evictions", [])
            return [v["uid"] for r in receipts for v in r["victims"]] == [uid] and receipts[0] or NotYet((self.objective(), receipts))
        receipt = wait_for(gone, f"{self.train} goes", 60)
        assert receipt["cause"] == "Objective" and "a PCIe switch" in receipt["proof"]
        wait_for(lambda: (self.mine.name, self.train) in evicted(self.cluster), "the API server was asked", 10)
        return receipt

    def remove(self):
        self.tenant.remove()
        self.web.remove()
        for path in f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}", f"/api/v1/nodes/{self.node}":
            self.cluster.api("DELETE", path)


def evicted(cluster):
    """Namespace and name of the pods that the controller asked the API server to evict."""
    return {(event["objectRef"]["namespace"], event["objectRef"]["name"]) for event in cluster.audit("create", "pods", USER)
            if event["objectRef"].get("subresource") == "eviction"}


class Deaf:
    """Takes connections, and never says a word."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                self.taken.append(self.socket.accept()[0])
            except OSError:
                return

    def close(self):
        self.socket.close()
        for each in self.taken:
            each.close()
