"""kubelet's own managers on the development cluster, with plain kube-scheduler: what
happens to GPU pods when nobody minds the NUMA nodes.
"""

import random
import secrets

import pytest
from cluster import Cluster, NotYet, wait_for
from kubelets import GPU, Kubelets, admitted, cpus, devices, machine, rejected, sold_twice, spanning

PODS = "/api/v1/namespaces/default/pods"
NODES = 4
SEED = 5
# A cluster that is kept remembers the pods of earlier runs.
RUN = secrets.token_hex(2)


@pytest.fixture(scope="module")
def kubelets():
    with Cluster.start("--with", "kubelet-devices") as cluster:
        yield Kubelets(cluster)


def gpu_pod(name, gpus, cpu=4, kind="", namespace="default"):
    """A Guaranteed pod with whole CPUs, for the nodes of this kind."""
    amounts = {"cpu": str(cpu), "memory": "1Gi", GPU: str(gpus)}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {
        "nodeSelector": {"kind": kind} if kind else {}, "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}]}}


def pods_of(cluster, prefix):
    pods = cluster.get(PODS)["items"]
    return {p["metadata"]["name"]: p for p in pods if p["metadata"]["name"].startswith(prefix)}


def settle(cluster, prefix, count):
    """Until each of these pods has run or was rejected, or waits for room."""
    def settled():
        pods = pods_of(cluster, prefix)
        fate = {name: p["status"]["phase"] if p["spec"].get("nodeName") else unschedulable(p) for name, p in pods.items()}
        open_ones = [name for name, phase in fate.items() if phase in ("Pending", None)]
        return len(fate) == count and not open_ones and pods or NotYet(open_ones[:5])
    return wait_for(settled, f"{count} pods have settled", timeout=120)


def unschedulable(pod):
    conditions = pod["status"].get("conditions", [])
    return next((c["reason"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), None)


def published(pod):
    """The devices that the pod's status names."""
    return {r["resourceID"] for c in pod["status"].get("containerStatuses", [])
            for a in c.get("allocatedResourcesStatus", []) if a["name"] == GPU for r in a["resources"]}


def race(kubelets, kind, policy, rounds=3):
    """Fills the nodes of a kind with pods of 1 card, and then replaces half of all in each round by pods of
    mostly 2, made all at once. Returns the decisions."""
    cluster = kubelets.cluster
    for i in range(NODES):
        kubelets.node(f"{kind}-{i}", machine(policy, prefix=f"GPU-{kind}-{i}"), labels={"kind": kind})
    dice = random.Random(SEED)
    for turn in range(rounds):
        sizes = [dice.choice((1, 2, 2)) if turn else 1 for _ in range(8 * NODES)]
        made = [gpu_pod(f"{kind}-{turn}-{i}", size, cpu=4 * size, kind=kind) for i, size in enumerate(sizes)]
        for response in cluster.create_many(PODS, made):
            response.ok()
        pods = settle(cluster, f"{kind}-{turn}-", len(made))
        for name in dice.sample(sorted(pods), len(pods) // 2):
            cluster.api("DELETE", f"{PODS}/{name}").ok()
    return check_world(kubelets, kind)


def check_world(kubelets, kind):
    """What the API shows is what the kubelets decided, and nothing was sold twice. Returns the decisions."""
    # The decisions come second: by then there is one on every pod that was seen to have a fate.
    pods = pods_of(kubelets.cluster, f"{kind}-")
    verdicts = [p for p in kubelets.report().pods if p["node"].startswith(f"{kind}-")]
    assert not sold_twice(verdicts)
    by_uid = {p["uid"]: p for p in verdicts}
    for name, pod in pods.items():
        if not pod["spec"].get("nodeName") or pod["status"]["phase"] == "Pending":
            continue
        verdict = by_uid[pod["metadata"]["uid"]]
        if verdict["verdict"] == "Admitted":
            assert published(pod) == set(devices(verdict)), name
        else:
            status = pod["status"]
            assert (status["phase"], status["reason"]) == ("Failed", verdict["reason"]), name
            assert status["message"] == f"Pod was rejected: {verdict['message']}", name
            assert "containerStatuses" not in status, name
    return verdicts


def test_without_a_topology_policy_pods_span_numa_nodes(kubelets, tell):
    verdicts = race(kubelets, f"none-{RUN}", "none")
    assert not rejected(verdicts)
    assert spanning(verdicts)
    tell(f"policy none: {len(spanning(verdicts))} of {len(admitted(verdicts))} pods span NUMA nodes")


def test_with_single_numa_node_the_kubelet_rejects_what_would_span(kubelets, tell):
    verdicts = race(kubelets, f"single-{RUN}", "single-numa-node")
    assert not spanning(verdicts)
    assert rejected(verdicts, "TopologyAffinityError")
    tell(f"policy single-numa-node: 0 of {len(admitted(verdicts))} pods span NUMA nodes, "
         f"{len(rejected(verdicts))} rejected")


def one_free_on_each_side(kubelets, kind, policy):
    """A node full of pods of 1 card, of which one on each NUMA node has gone again."""
    kubelets.node(f"{kind}-0", machine(policy, prefix=f"GPU-{kind}"), labels={"kind": kind})
    cluster = kubelets.cluster
    for response in cluster.create_many(PODS, [gpu_pod(f"{kind}-{i}", 1, cpu=1, kind=kind) for i in range(8)]):
        response.ok()
    settle(cluster, f"{kind}-", 8)
    verdicts = kubelets.report().verdicts(f"{kind}-0")
    assert len(admitted(verdicts)) == 8 and sorted(p["gpuNuma"][0] for p in verdicts) == [0] * 4 + [1] * 4
    for side in (0, 1):
        name = next(p["name"] for p in verdicts if p["gpuNuma"] == [side])
        cluster.api("DELETE", f"{PODS}/{name}").ok()
        wait_for(lambda: not pods_of(cluster, name), f"pod {name} is gone")


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_two_cards_of_which_one_is_free_on_each_side(kubelets, policy):
    kind = f"sides-{policy}-{RUN}"
    one_free_on_each_side(kubelets, kind, policy)
    cluster = kubelets.cluster
    cluster.api("POST", PODS, gpu_pod(f"{kind}-pair", 2, cpu=2, kind=kind)).ok()
    settle(cluster, f"{kind}-pair", 1)
    verdict = kubelets.report().verdicts(f"{kind}-0")[-1]
    assert verdict["name"] == f"{kind}-pair"
    if policy in ("none", "best-effort"):
        assert verdict["spans"]["gpus"] and verdict["gpuNuma"] == [0, 1], verdict
    else:
        assert (verdict["verdict"], verdict["reason"]) == ("Rejected", "TopologyAffinityError"), verdict
    check_world(kubelets, kind)


def test_a_pod_gets_its_own_cpus_and_gives_them_back(kubelets):
    kind = f"own-{RUN}"
    kubelets.node(kind, machine("single-numa-node", cpus=8, gpus=2), labels={"kind": kind})
    cluster = kubelets.cluster
    cluster.api("POST", PODS, gpu_pod(kind, 2, cpu=6, kind=kind)).ok()
    settle(cluster, kind, 1)
    [first] = kubelets.report().verdicts(kind)
    assert len(cpus(first)) == 6 and len(devices(first)) == 2
    assert first["cpuNuma"] == first["gpuNuma"] and len(first["gpuNuma"]) == 1
    cluster.api("DELETE", f"{PODS}/{kind}").ok()
    wait_for(lambda: not pods_of(cluster, kind), "the pod is gone")
    assert kubelets.report().verdicts(kind)[0]["released"] > 0
