"""A pod whose cards lie on two NUMA nodes, and a tenant that minds from a moment of the test's own on.

    story = Story(cluster, kubelets, "kind")     # its node "from" has one card left on each side
    story.spread("work-1", story.workload("work"))
    story.node("to", "single-numa-node")
    story.require()
    story.wait_receipt("Issued")
"""

import json
import secrets

from cluster import NotYet, wait_for
from gpus import Namespace, condition
from kubelets import admitted
from placement import gpu_pod, layout
from tenants import Tenant

RUN = secrets.token_hex(2)
TOPOLOGY = "gpuqos.io/topology"
NOTICE = "gpuqos.io/eviction-notice"


class Story:
    """A node with one card free on each NUMA node, a tenant that may be moved, and its filler: pods that only take cards."""

    def __init__(self, cluster, kubelets, kind, scheduler=None, **protection):
        """scheduler: that of its pods; None: the cluster's own."""
        self.cluster, self.kubelets, self.scheduler = cluster, kubelets, scheduler
        self.kind, self.nodes = f"{kind}-{RUN}", []
        self.node("from", "none")  # before the quotas, which know no price without it
        self.namespace, self.fillers = Namespace.make(self.cluster), Namespace.make(self.cluster)
        self.tenant = Tenant.make(
            self.cluster, self.namespace, self.fillers, topology={"policy": "None"}, preemptible={"minRunSeconds": 0},
            protection={"mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 0} | protection)
        self.namespace.put_quota("100Ti")
        self.fillers.put_quota("100Ti")
        self.fill("from", (1, 1))

    def node(self, name, policy):
        made = layout(policy, f"GPU-{self.kind}-{name}")
        self.nodes.append(f"{self.kind}-{name}")
        self.kubelets.node(f"{self.kind}-{name}", made, labels={"kind": self.kind, "which": f"{self.kind}-{name}"},
                                  annotations={TOPOLOGY: json.dumps(made)})

    def fill(self, name, leave):
        """All of a node's cards but so many of each NUMA node."""
        prefix = f"{name}-{secrets.token_hex(2)}"
        selector = {"which": f"{self.kind}-{name}"}
        for response in self.cluster.create_many(
                self.fillers.pods, [self.gpu_pod(f"{prefix}-{i}", 1, 1, selector) for i in range(8)]):
            response.ok()
        for i in range(8):
            self.running(f"{prefix}-{i}", self.fillers)
        verdicts = [p for p in admitted(self.kubelets.report().verdicts(f"{self.kind}-{name}"))
                    if p["name"].startswith(prefix)]
        for side, count in enumerate(leave):
            for verdict in [p for p in verdicts if p["gpuNuma"] == [side]][:count]:
                self.cluster.api("DELETE", f"{self.fillers.pods}/{verdict['name']}").ok()
                wait_for(lambda gone=verdict["name"]: self.get(gone, self.fillers) is None, "a card is free")

    def get(self, name, namespace=None):
        answer = self.cluster.api("GET", f"{(namespace or self.namespace).pods}/{name}")
        return answer.body if answer.status == 200 else None

    def running(self, name, namespace=None):
        def runs():
            pod = self.get(name, namespace)
            return pod and pod["status"]["phase"] == "Running" and pod or NotYet(pod and pod["status"])
        return wait_for(runs, f"{name} runs", timeout=120)

    def workload(self, name):
        """What owns pods: the test is its controller."""
        made = self.cluster.api("POST", f"/api/v1/namespaces/{self.namespace.name}/configmaps", {"metadata": {"name": name}}).ok()
        return [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made["metadata"]["uid"], "controller": True}]

    def gpu_pod(self, name, gpus, cpu, selector):
        item = gpu_pod(name, gpus, cpu, selector)
        item["spec"] |= {"schedulerName": self.scheduler or "default-scheduler"}
        return item

    def pair(self, name, owners=None, node=None, **labels):
        """A pod of two cards, on this node or on any of its kind."""
        item = self.gpu_pod(name, 2, 2, {"which": f"{self.kind}-{node}"} if node else {"kind": self.kind})
        item["metadata"] |= {"ownerReferences": owners or [], "labels": labels}
        return self.namespace.create(item).ok()

    def require(self, policy="Required"):
        self.tenant.patch(topology={"policy": policy, "scope": "NUMA", "onMismatch": "Migrate"})

    def receipts(self):
        return self.tenant.object().get("status", {}).get("evictions", [])

    def wait_receipt(self, outcome, which=-1):
        def there():
            receipts = self.receipts()
            return (receipts and receipts[which]["outcome"] == outcome and receipts[which]) or NotYet(receipts)
        return wait_for(there, f"a receipt is {outcome}", timeout=60)

    def wait_unmoved(self, words):
        def told():
            message = condition(self.tenant.object(), "TopologyMismatch")["message"]
            return words in message or NotYet(message)
        wait_for(told, words, timeout=60)

    def verdict(self, name):
        return next(p for p in reversed(self.kubelets.report().pods) if (p["namespace"], p["name"]) == (self.namespace.name, name))

    def spread(self, name, owners, **labels):
        """A pod of two cards, one on each NUMA node of the only node that has any left."""
        # One that may go nowhere else is not moved.
        self.pair(name, owners, "from" if len(self.nodes) > 1 else None, **labels)
        pod = self.running(name)
        assert self.verdict(name)["gpuNuma"] == [0, 1], self.verdict(name)
        return pod

    def wait_gone(self, name):
        def gone():
            pod = self.get(name)
            return pod is None or NotYet(pod["metadata"])
        wait_for(gone, f"{name} is gone")

    def remove(self):
        """Its nodes too, since any node of the cluster may be where a pod is moved."""
        self.require("None")
        for namespace in (self.namespace, self.fillers):
            namespace.remove()
        for name in self.nodes:
            self.cluster.api("DELETE", f"/api/v1/nodes/{name}")
