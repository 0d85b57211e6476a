"""onMismatch: Migrate on a real API server, kube-scheduler and kubelet's own managers: a pod whose cards do not lie as is
required is evicted once a node is known where they would, its successor gets that room while others ask for it, and
nothing is moved in vain, twice, or against a PodDisruptionBudget.
"""

import json
import secrets
import types

import pytest
import scheduler as lib
from cluster import Cluster, NotYet, wait_for
from controller import Controller, free_port, install
from gpus import Namespace, condition
from kubelets import Kubelets, admitted, sold_twice
from placement import gpu_pod, layout, refusal
from tenants import Tenant

RUN = secrets.token_hex(2)
TOPOLOGY = "gpuqos.io/topology"
NOTICE = "gpuqos.io/eviction-notice"


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """A cluster whose GPU pods go through our scheduler and extender."""
    with Cluster.start("--with", "kubelet-devices") as cluster:
        install(cluster)
        folder = tmp_path_factory.mktemp("migrate")
        certs = lib.make_certificates(folder / "certs")
        port = free_port()
        controller = Controller(
            cluster, folder / "controller", "-v", "2", f"--extender-address=127.0.0.1:{port}",
            f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
            f"--extender-client-ca-file={certs}/ca.crt").start()
        scheduler = lib.Scheduler(cluster, folder / "scheduler", extender=f"https://127.0.0.1:{port}", certs=certs).start()
        yield types.SimpleNamespace(cluster=cluster, controller=controller, scheduler=scheduler, kubelets=Kubelets(cluster))
        scheduler.stop()
        assert controller.stop(30)[0] == 0, controller.log()[-4000:]


class Story:
    """A node with one card free on each NUMA node, a tenant that may be moved, and its filler: pods that only take cards."""

    def __init__(self, placed, kind, **protection):
        self.placed, self.cluster, self.kind, self.nodes = placed, placed.cluster, f"{kind}-{RUN}", []
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
        self.placed.kubelets.node(f"{self.kind}-{name}", made, labels={"kind": self.kind, "which": f"{self.kind}-{name}"},
                                  annotations={TOPOLOGY: json.dumps(made)})

    def fill(self, name, leave):
        """All of a node's cards but so many of each NUMA node."""
        prefix = f"{name}-{secrets.token_hex(2)}"
        selector = {"which": f"{self.kind}-{name}"}
        for response in self.cluster.create_many(
                self.fillers.pods, [gpu_pod(f"{prefix}-{i}", 1, 1, selector) for i in range(8)]):
            response.ok()
        for i in range(8):
            self.running(f"{prefix}-{i}", self.fillers)
        verdicts = [p for p in admitted(self.placed.kubelets.report().verdicts(f"{self.kind}-{name}"))
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

    def pair(self, name, owners=None, **labels):
        item = gpu_pod(name, 2, 2, {"kind": self.kind})
        item["metadata"] |= {"ownerReferences": owners or [], "labels": labels}
        return self.cluster.api("POST", self.namespace.pods, item).ok()

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
        return next(p for p in reversed(self.placed.kubelets.report().pods) if p["name"] == name)


@pytest.fixture
def story_of(placed):
    """Makes a Story; its nodes are gone with the test, since any node of the cluster may be where a pod is moved."""
    stories = []

    def make(kind, **protection):
        stories.append(Story(placed, kind, **protection))
        return stories[-1]
    yield make
    for story in stories:
        story.tenant.patch(topology={"policy": "None"})
        for namespace in (story.namespace, story.fillers):
            namespace.remove()
        for name in story.nodes:
            placed.cluster.api("DELETE", f"/api/v1/nodes/{name}")


def spread(story, name, owners, **labels):
    """A pod of two cards, one on each NUMA node of the only node that has any left."""
    story.pair(name, owners, **labels)
    pod = story.running(name)
    assert story.verdict(name)["gpuNuma"] == [0, 1], story.verdict(name)
    return pod


def test_a_pod_is_moved_once_to_room_that_is_held_for_it(placed, story_of, tell):
    story = story_of("moved")
    owners = story.workload("work")
    before = spread(story, "work-1", owners)
    story.node("to", "single-numa-node")
    story.fill("to", (2, 0))
    assert not story.receipts()

    story.require()
    receipt = story.wait_receipt("Issued")
    assert (receipt["cause"], receipt["node"]) == ("TopologyMismatch", f"{story.kind}-to")
    assert [v["uid"] for v in receipt["victims"]] == [before["metadata"]["uid"]]
    assert receipt["beneficiary"]["owner"] == "ConfigMap/work" and "required" in receipt["proof"]
    wait_for(lambda: story.get("work-1") is None, "the pod is gone")

    # The room is free, and nobody else of the tier gets it.
    for i in range(3):
        story.pair(f"rival-{i}", story.workload(f"rival-{i}"))
    for i in range(3):
        wait_for(lambda name=f"rival-{i}": refusal(story.get(name)) or NotYet(story.get(name)["status"]), "a rival waits", timeout=60)
    story.pair("work-2", owners)
    after = story.running("work-2")
    assert after["spec"]["nodeName"] == f"{story.kind}-to"
    assert story.verdict("work-2")["gpuNuma"] in ([0], [1])
    receipt = story.wait_receipt("Helped")
    assert "work-2" in receipt["message"] and receipt["settledTime"]
    assert story.tenant.object()["status"]["evictionCount"] == 1
    assert not any(story.get(f"rival-{i}")["spec"].get("nodeName") == f"{story.kind}-to" for i in range(3))
    assert not sold_twice(placed.kubelets.report().pods)
    tell(f"moved: {receipt['message']} {receipt['limits']}")


def test_a_workload_is_not_moved_twice_within_the_hour(placed, story_of):
    story = story_of("twice", observationSeconds=10)
    owners = story.workload("work")
    spread(story, "work-1", owners)
    story.node("to", "single-numa-node")
    story.require()
    wait_for(lambda: story.get("work-1") is None, "the pod is gone")
    story.require("None")
    # Its successor is misplaced once more, where nobody minded.
    item = gpu_pod("work-2", 2, 2, {"which": f"{story.kind}-from"})
    item["metadata"]["ownerReferences"] = owners
    placed.cluster.api("POST", story.namespace.pods, item).ok()
    story.running("work-2")
    assert story.verdict("work-2")["gpuNuma"] == [0, 1]
    story.require()
    story.wait_unmoved("work-2 is not moved: its last move, made or planned, is not an hour ago")
    assert story.get("work-2")["status"]["phase"] == "Running"
    assert len(story.receipts()) == 1


def test_without_a_better_node_nobody_is_evicted_and_the_reason_stands(story_of):
    story = story_of("alone")
    pod = spread(story, "work-1", story.workload("work"))
    story.require()
    story.wait_unmoved("work-1 is not moved: no node fits: ")
    spared = story.get("work-1")
    assert spared["metadata"]["uid"] == pod["metadata"]["uid"] and NOTICE not in spared["metadata"].get("annotations", {})
    assert not story.receipts()


def test_a_pod_without_an_owner_stays(story_of):
    story = story_of("bare")
    spread(story, "bare", None)
    story.node("to", "single-numa-node")
    story.require()
    story.wait_unmoved("bare is not moved: nobody owns it")
    assert story.get("bare") and not story.receipts()


def test_what_dry_run_would_do_stands_in_a_receipt(story_of):
    story = story_of("dry", mode="DryRun")
    pod = spread(story, "work-1", story.workload("work"))
    story.node("to", "single-numa-node")
    story.require()
    receipt = story.wait_receipt("Planned")
    assert receipt["node"] == f"{story.kind}-to"
    story.wait_unmoved("work-1 is not moved: its last move, made or planned, is not an hour ago")
    assert story.get("work-1")["metadata"]["uid"] == pod["metadata"]["uid"]
    assert story.tenant.object()["status"]["evictionCount"] == 0 and len(story.receipts()) == 1


def test_a_budget_that_allows_nothing_keeps_the_pod(placed, story_of):
    story = story_of("budget")
    pod = spread(story, "work-1", story.workload("work"), app="work")
    placed.cluster.api("POST", f"/apis/policy/v1/namespaces/{story.namespace.name}/poddisruptionbudgets", {
        "metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "work"}}}}).ok()

    def seen():
        budget = placed.cluster.get(f"/apis/policy/v1/namespaces/{story.namespace.name}/poddisruptionbudgets/all")
        return budget.get("status", {}).get("currentHealthy") == 1 or NotYet(budget.get("status"))
    wait_for(seen, "the budget counts the pod")
    story.node("to", "single-numa-node")
    story.require()
    story.wait_unmoved("PodDisruptionBudget allows no")
    kept = story.get("work-1")
    assert kept["metadata"]["uid"] == pod["metadata"]["uid"] and "deletionTimestamp" not in kept["metadata"]
    assert all(receipt["outcome"] == "Refused" for receipt in story.receipts())
    assert story.tenant.object().get("status", {}).get("evictionCount", 0) == 0
