"""A node whose cards are all taken by a training tenant, and an inference tenant whose pods are to have room.

    scene = Crowded(cluster, kubelets, "kind")
    scene.train("train-a", 4)
    scene.wait("web-0", 2)
    scene.wait_receipt("Helped")
"""

import json
import secrets

from cluster import NotYet, wait_for
from gpus import Namespace, condition
from moves import TOPOLOGY
from placement import gpu_pod, layout
from scheduler import NAME
from tenants import Tenant

BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"


class Crowded:
    """protection: of the inference tenant, beside what lets tests be short. switches: so many cards are below each. policy:
    of kubelet's topology manager. scheduler: that of its pods; None: the cluster's own."""

    def __init__(self, cluster, kubelets, kind, switches=0, policy="none", scheduler=NAME, **protection):
        self.cluster, self.kubelets, self.scheduler = cluster, kubelets, scheduler
        self.node = f"{kind}-{secrets.token_hex(2)}"
        made = layout(policy, f"GPU-{self.node}")
        if switches:
            made["bridges"] = [{"pci": f"0000:{i + 1:02x}:00.0"} for i in range(8 // switches)]
            for card in made["gpus"]:
                card["bridge"] = card["index"] // switches
        self.layout = made
        kubelets.node(self.node, made, labels={"which": self.node}, annotations={TOPOLOGY: json.dumps(made)})
        self.web, self.training, self.rivals = (Namespace.make(cluster) for _ in range(3))
        self.tenant = Tenant.make(
            cluster, self.web, tier="Inference", pendingSeconds=2,
            protection={"mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 0} | protection)
        self.others = [Tenant.make(cluster, self.training, tier="Training", preemptible={"minRunSeconds": 0}),
                       Tenant.make(cluster, self.rivals, tier="Inference")]
        for namespace in self.namespaces:
            namespace.put_quota("100Ti")

    @property
    def namespaces(self):
        return self.web, self.training, self.rivals

    def put(self, namespace, name, gpus, gates=(), annotations=None, **labels):
        item = gpu_pod(name, gpus, 1, {"which": self.node})
        item["spec"]["schedulerName"] = self.scheduler or "default-scheduler"
        item["metadata"]["annotations"] = annotations or {}
        if gates:
            item["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
        item["metadata"]["labels"] = labels
        return namespace.create(item).ok()

    def get(self, namespace, name):
        answer = self.cluster.api("GET", f"{namespace.pods}/{name}")
        return answer.body if answer.status == 200 else None

    def running(self, namespace, name):
        def runs():
            pod = self.get(namespace, name)
            return pod and pod["status"]["phase"] == "Running" and pod or NotYet(pod and pod["status"])
        return wait_for(runs, f"{name} runs", timeout=120)

    def train(self, name, gpus, **labels):
        self.put(self.training, name, gpus, **labels)
        return self.running(self.training, name)

    def training_names(self):
        return {p["metadata"]["name"] for p in self.training.list_pods() if "deletionTimestamp" not in p["metadata"]}

    def budget(self, name, **labels):
        """That nobody with these labels may go, and the API server knows."""
        path = BUDGETS.format(self.training.name)
        self.cluster.api("POST", path, {"metadata": {"name": name}, "spec": {
            "maxUnavailable": 0, "selector": {"matchLabels": labels}}}).ok()

        def seen():
            status = self.cluster.get(f"{path}/{name}").get("status", {})
            return status.get("observedGeneration") == 1 or NotYet(status)
        wait_for(seen, "the budget is looked at")

    def receipts(self):
        return self.tenant.object().get("status", {}).get("evictions", [])

    def wait_receipt(self, outcome):
        def there():
            receipts = self.receipts()
            right = receipts and receipts[-1]["outcome"] == outcome and receipts[-1]
            return right or NotYet(receipts or condition(self.tenant.object(), "Unprotected"))
        return wait_for(there, f"a receipt is {outcome}", timeout=90)

    def wait_in_vain(self, words):
        def told():
            got = condition(self.tenant.object(), "Unprotected")
            return (got["status"] == "True" and words in got["message"] and got) or NotYet(got)
        return wait_for(told, words, timeout=60)

    def remove(self):
        for tenant in (self.tenant, *self.others):
            tenant.remove()
        for namespace in self.namespaces:
            namespace.remove()
        self.cluster.api("DELETE", f"/api/v1/nodes/{self.node}")
