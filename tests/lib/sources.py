"""Nodes and pods of the projects that share cards (tests/data/sources), and what a test does with
them: make a cluster of such nodes, create pods as their users do, bind as their schedulers do."""

import json

from cluster import ROOT, NotYet, quantity, wait_for
from gpus import GIB, Namespace, container, quota

DATA = ROOT / "tests" / "data" / "sources"

# What an admin writes for what no label tells: docs/sources.md explains each.
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
resources:
  - {name: huawei.com/Ascend910, unitMemory: 64Gi, product: Ascend910B, sharing: None}
  - {name: gpu.intel.com/i915, unitMemory: 128Gi, productLabel: gpu.intel.com/product, sharing: None}
  - {name: amd.com/cpx_nps4, memoryLabel: example.com/partition.memory, memoryUnit: 1Mi,
     productLabel: amd.com/gpu.product-name, sharing: MIG}
  - {name: example.com/coming, unitMemory: 8Gi, sharing: None}
"""

# Their schedulers write these when they bind; until then a pod does not have them.
WRITTEN_AT_BINDING = {"hami.io/vgpu-devices-allocated", "volcano.sh/vgpu-ids-new", "scheduling.koordinator.sh/device-allocated"}


def load(source, kind, name):
    """As the project makes it, without what the API server sets."""
    item = json.loads((DATA / source / f"{kind}-{name}.json").read_text())
    for field in ("uid", "resourceVersion", "creationTimestamp", "namespace"):
        item["metadata"].pop(field, None)
    return item


def asking(name, *containers, **annotations):
    """A pod of containers that are {resource: amount}; ("init", {...}) and ("sidecar", {...}) for others."""
    spec = {"containers": [], "initContainers": []}
    for number, entry in enumerate(containers):
        kind, wants = entry if isinstance(entry, tuple) else ("normal", entry)
        made = container(f"c{number}") | {"resources": {"limits": {key: str(n) for key, n in wants.items()}}}
        if kind == "sidecar":
            made["restartPolicy"] = "Always"
        spec["containers" if kind == "normal" else "initContainers"].append(made)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": spec}


class Asked:
    """A pod as its user creates it, and what its scheduler adds."""

    def __init__(self, item):
        item["spec"].pop("nodeName", None)
        item.pop("status", None)
        item["spec"].setdefault("terminationGracePeriodSeconds", 1)
        # No scheduler of this cluster takes it.
        if item["spec"].get("schedulerName", "default-scheduler") == "default-scheduler":
            item["spec"]["schedulerName"] = "by-hand"
        given = item["metadata"].get("annotations", {})
        self.at_binding = {key: given.pop(key) for key in WRITTEN_AT_BINDING & given.keys()}
        self.item = item

    def named(self, name):
        return self.item | {"metadata": self.item["metadata"] | {"name": name}}

    def bind(self, space, name, node):
        """As its scheduler does: what was allocated, then the Binding."""
        if self.at_binding:
            space.cluster.api("PATCH", f"{space.pods}/{name}", {"metadata": {"annotations": self.at_binding}}).ok()
        bind(space, name, node)


def bind(space, name, node):
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    space.cluster.api("POST", f"{space.pods}/{name}/binding",
                      {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}).ok()


def offer_only(cluster, controller, *items):
    """The cluster has these nodes and no others, and the controller knows."""
    for node in cluster.get("/api/v1/nodes")["items"]:
        cluster.api("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
    for item in items:
        cluster.api("POST", "/api/v1/nodes", item).ok()

    def seen():
        known = controller.metric("gpuqos_cache_objects", resource="nodes")
        return known == len(items) or NotYet(known)
    wait_for(seen, "the controller knows the nodes")


def plain_node(name, **resources):
    """A node that kwok keeps alive."""
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", **resources}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts}}


def governed(cluster, memory, prefix):
    """A fresh namespace under a quota of so many bytes, enforced."""
    space = Namespace.make(cluster, prefix)
    cluster.api("POST", space.quotas, quota(f"{max(memory, GIB)}")).ok()
    space.wait_condition("Ready", "True", "Enforced")
    wait_for(lambda: space.managed() == "true", f"{space.name} is managed")
    return space


def wait_status(space, used, live=None, rows=None):
    """Until used is that in bytes, and live and the sum of the rows the same or what is given; returns the status."""
    want = used, used if live is None else live, used if rows is None else rows

    def right():
        status = space.quota()["status"]
        shown = [row for row in status["resources"] if row["used"]]
        got = quantity(status["used"]), quantity(status["live"]), sum(row["used"] * quantity(row["unitMemory"]) for row in shown)
        return status if got == want else NotYet((got, shown))
    return wait_for(right, f"{space.name}: used, live and rows are {want}", timeout=20)
