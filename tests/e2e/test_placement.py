"""Placement end to end: real kube-scheduler, our extender, and kubelet's own managers that give out cards and CPUs
(hack/cluster/kubelet-devices), whose report is the judge.
"""

import functools
import http.client
import json
import os
import random
import secrets
import signal
import ssl
import types

import dra
import pytest
import scheduler as lib
import zones
from cluster import Cluster, NotYet, wait_for
from controller import install
from gpus import SOAK, Namespace
from kubelets import Kubelets, admitted, rejected, sold_twice, spanning
from placement import gpu_pod, layout, refusal
from tenants import Tenant

RUN = secrets.token_hex(2)
SEED = 7
TOPOLOGY = "gpuqos.io/topology"
# As GFD labels a node.
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}


def ask(port, certs, verb, body):
    """The extender's answer, as kube-scheduler would get it."""
    tls = ssl.create_default_context(cafile=certs / "ca.crt")
    tls.load_cert_chain(certs / "client.crt", certs / "client.key")
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=tls)
    try:
        connection.request("POST", f"/{verb}", json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """A cluster whose GPU pods go through our scheduler and extender."""
    with Cluster.start("--with", "kubelet-devices") as cluster:
        install(cluster)
        with lib.placing(cluster, tmp_path_factory.mktemp("placement")) as parts:
            yield types.SimpleNamespace(cluster=cluster, kubelets=Kubelets(cluster), ask=functools.partial(ask, parts.port, parts.certs),
                                        **vars(parts))


def add_nodes(placed, kind, policy, count=4, published=True):
    for i in range(count):
        made = layout(policy, f"GPU-{kind}-{i}")
        annotations = {TOPOLOGY: json.dumps(made)} if published else {}
        labels = {"kind": kind} if published else {"kind": kind, **H100}
        placed.kubelets.node(f"{kind}-{i}", made, labels=labels, annotations=annotations)


def namespace_with(placed, **topology):
    """A namespace of a tenant of this topology, with room for everything."""
    namespace = Namespace.make(placed.cluster)
    tenant = Tenant.make(placed.cluster, namespace, topology=topology)
    namespace.put_quota("100Ti")
    return namespace, tenant


def settle(namespace, prefix, count):
    def settled():
        pods = {p["metadata"]["name"]: p for p in namespace.cluster.get(namespace.pods)["items"]
                if p["metadata"]["name"].startswith(prefix)}
        waiting = [n for n, p in pods.items() if (p["status"]["phase"] == "Pending"
                   if p["spec"].get("nodeName") else refusal(p) is None)]
        return len(pods) == count and not waiting and pods or NotYet(waiting[:5])
    return wait_for(settled, f"{count} pods have settled", timeout=180)


def race(placed, namespace, kind, rounds=3, cpus=4):
    """As test_kubelet_devices.race(): the load that brings forth misplacements where nobody minds."""
    dice = random.Random(SEED)
    for turn in range(rounds):
        sizes = [dice.choice((1, 2, 2)) if turn else 1 for _ in range(32)]
        made = [gpu_pod(f"{kind}-{turn}-{i}", size, cpus * size, {"kind": kind}) for i, size in enumerate(sizes)]
        for response in placed.cluster.create_many(namespace.pods, made):
            response.ok()
        pods = settle(namespace, f"{kind}-{turn}-", len(made))
        for name in dice.sample(sorted(pods), len(pods) // 2):
            placed.cluster.api("DELETE", f"{namespace.pods}/{name}").ok()
    verdicts = [p for p in placed.kubelets.report().pods if p["node"].startswith(f"{kind}-")]
    assert not sold_twice(verdicts)
    return verdicts


def test_required_pods_are_aligned_or_wait(placed, tell):
    kind = f"req-{RUN}"
    add_nodes(placed, kind, "single-numa-node")
    namespace, _ = namespace_with(placed, policy="Required", scope="NUMA")
    verdicts = race(placed, namespace, kind)
    assert admitted(verdicts)
    assert not spanning(verdicts)
    assert not rejected(verdicts), json.dumps(rejected(verdicts)[:3]) + json.dumps(placed.kubelets.report().nodes)
    tell(f"Required: 0 of {len(admitted(verdicts))} pods span NUMA nodes, 0 rejected")


def known(placed):
    return placed.controller.metric("gpuqos_node_layouts", state="Known")


def test_cards_that_are_only_counted_are_aligned_or_wait(placed, tell):
    """Nodes of which nothing tells but a NodeResourceTopology, of a kind that came after the controller."""
    kind = f"zones-{RUN}"
    add_nodes(placed, kind, "single-numa-node", published=False)
    namespace, _ = namespace_with(placed, policy="Required", scope="NUMA")
    placed.cluster.api("POST", namespace.pods, gpu_pod("early", 2, 8, {"kind": kind})).ok()
    assert "topology is not known" in refusal(settle(namespace, "early", 1)["early"])
    namespace.delete_pod("early", force=True)
    before = known(placed)
    zones.install(placed.cluster)
    for i in range(4):
        zones.publish(placed.cluster, f"{kind}-{i}", layout("single-numa-node", f"GPU-{kind}-{i}"))
    wait_for(lambda: known(placed) == before + 4 or NotYet(known(placed)), "zones are read")
    pairs = [gpu_pod(f"pair-{i}", 2, 2, {"kind": kind}) for i in range(14)]
    for response in placed.cluster.create_many(namespace.pods, pairs):
        response.ok()
    bound = [name for name, p in settle(namespace, "pair-", len(pairs)).items() if p["spec"].get("nodeName")]
    # Of a node with three pairs nobody can tell whether the two cards that are left lie together.
    assert len(bound) == 4 * 3
    for name in bound[::2]:
        namespace.delete_pod(name, force=True)
    verdicts = race(placed, namespace, kind, cpus=1)
    assert len(admitted(verdicts)) > 32
    assert not spanning(verdicts)
    assert not rejected(verdicts), json.dumps(rejected(verdicts)[:3])
    tell(f"Required by counted cards: 0 of {len(admitted(verdicts))} pods span NUMA nodes, 0 rejected")


def test_counts_that_contradict_the_node_are_unknown(placed):
    kind = f"miscount-{RUN}"
    node, made = f"{kind}-0", layout("single-numa-node", f"GPU-{kind}-0")
    zones.install(placed.cluster)
    add_nodes(placed, kind, "single-numa-node", count=1, published=False)
    zones.publish(placed.cluster, node, made | {"gpus": made["gpus"][:-1]})

    def contradicts():
        return placed.controller.metric("gpuqos_node_layout_unknown", node=node, reason="Contradicts") == 1
    wait_for(lambda: contradicts() or NotYet("it does not contradict"), "seven cards are not eight")
    namespace, _ = namespace_with(placed, policy="Required", scope="NUMA")
    placed.cluster.api("POST", namespace.pods, gpu_pod("pair", 2, 8, {"kind": kind})).ok()
    assert "topology is not known (Contradicts)" in refusal(settle(namespace, "pair", 1)["pair"])

    def told():
        events = placed.cluster.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        notes = [e["note"] for e in events if e["reason"] == "TopologyContradicts" and e["regarding"]["name"] == node]
        return notes or NotYet(len(events))
    assert "NodeResourceTopology does not count just the GPUs" in wait_for(told, "an Event says so")[0]
    zones.replace(placed.cluster, node, zones.zones(made))
    wait_for(lambda: not contradicts() or NotYet("it contradicts"), "eight cards are")


def test_a_refusal_names_the_reason(placed):
    kind = f"why-{RUN}"
    add_nodes(placed, kind, "none", count=1)
    namespace, _ = namespace_with(placed, policy="Required", scope="NUMA")
    placed.cluster.api("POST", namespace.pods, gpu_pod("pair", 2, 8, {"kind": kind})).ok()
    pod = settle(namespace, "pair", 1)["pair"]
    assert "set its topologyManagerPolicy to single-numa-node" in refusal(pod)

    def told():
        events = placed.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{namespace.name}/events")["items"]
        notes = [e["note"] for e in events if e["reason"] == "NoGpuNodeFits"]
        return notes or NotYet(events)
    [note] = wait_for(told, "an Event names the reason")
    assert note.startswith("0 of 1 nodes fit: 1: free cards lie in more than one NUMA node"), note


@pytest.mark.skipif(not SOAK, reason="kube-scheduler asks again after half a minute to a minute")
def test_what_kube_scheduler_does_not_see_is_enough(placed):
    """Nothing happens but that the tenant asks for less."""
    kind = f"less-{RUN}"
    add_nodes(placed, kind, "none", count=1)
    namespace, tenant = namespace_with(placed, policy="Required", scope="NUMA")
    placed.cluster.api("POST", namespace.pods, gpu_pod("pair", 2, 8, {"kind": kind})).ok()
    assert "topologyManagerPolicy" in refusal(settle(namespace, "pair", 1)["pair"])
    tenant.patch(topology={"policy": "None"})

    def runs():
        pod = placed.cluster.get(f"{namespace.pods}/pair")
        return pod["status"]["phase"] == "Running" or NotYet(pod["status"])
    wait_for(runs, "the pod runs", timeout=120)


class StoppedServer:
    """The API server stands still, with what was sent to it."""

    def __init__(self, cluster):
        self.pid = int((cluster.directory / "pids" / "kube-apiserver").read_text().split()[0])

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


def test_a_binding_without_an_answer_holds_its_node(placed):
    """It may have been made: the pod goes nowhere else, and its cards are nobody's, until that is known."""
    kind = f"lost-{RUN}"
    add_nodes(placed, kind, "none", count=2)
    here, there = f"{kind}-0", f"{kind}-1"
    namespace, _ = namespace_with(placed, policy="None")
    pods = {}
    for name in ("lost", "next"):
        item = gpu_pod(name, 8, 1, {"kind": kind})
        item["spec"]["schedulerName"] = "nobody"
        pods[name] = placed.cluster.api("POST", namespace.pods, item).ok()

    def filtered(name, *nodes):
        return placed.ask("filter", {"Pod": pods[name], "NodeNames": nodes})

    def bind(name, node):
        meta = pods[name]["metadata"]
        return placed.ask("bind", {"PodName": name, "PodNamespace": namespace.name, "PodUID": meta["uid"], "Node": node})["Error"]

    wait_for(lambda: filtered("lost", here, there)["NodeNames"] == [here, there] or NotYet(filtered("lost", here, there)), "both fit")
    with StoppedServer(placed.cluster):
        assert "no complete answer in time" in bind("lost", here)
        may_be_there = f"gpuqos: an earlier binding of the pod to node {here} may still come true"
        assert bind("lost", there) == may_be_there
        assert filtered("lost", here, there)["NodeNames"] == [here]
        assert filtered("lost", there)["Error"] == may_be_there
        assert filtered("next", here, there)["NodeNames"] == [there]
    bind("lost", here)  # made now, or refused since it was made before
    assert placed.cluster.get(f"{namespace.pods}/lost")["spec"]["nodeName"] == here
    assert filtered("next", here, there)["NodeNames"] == [there]


# --- ResourceClaims

@pytest.fixture
def claims(placed):
    """A node whose four cards, two on each socket, are a DRA driver's; and how to make a pod with a claim on some."""
    node, kind = "cpu-0", f"dra-{RUN}"
    placed.cluster.nodes("cpu=1")
    made = layout("none", f"GPU-{kind}")
    placed.cluster.api("PATCH", f"/api/v1/nodes/{node}", {"metadata": {
        "labels": {"kind": kind}, "annotations": {TOPOLOGY: json.dumps(made)}}}).ok()
    devices = [dra.whole(i, dra.H100 | {"memory": "81559Mi"}) for i in range(len(made["gpus"]))]
    for device, gpu in zip(devices, made["gpus"]):
        device["attributes"]["uuid"] = {"string": gpu["uuid"]}
        device["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": f"pci0000:{gpu['numa']:02x}"}
    for item in dra.slices(node, devices):
        placed.cluster.api("POST", f"{dra.API}/resourceslices", item).ok()
    placed.cluster.api("POST", f"{dra.API}/deviceclasses", dra.device_class(kind, f"device.driver == '{dra.DRIVER}'")).ok()

    def claim(namespace, name, count, together=False):
        item = dra.claim(name, dra.exactly("cards", kind, count))
        if together:
            item["spec"]["devices"]["constraints"] = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]
        placed.cluster.api("POST", f"{dra.API}/namespaces/{namespace.name}/resourceclaims", item).ok()

    def use(namespace, name):
        item = dra.pod(name, name, schedulerName=lib.NAME, nodeSelector={"kind": kind})
        placed.cluster.api("POST", namespace.pods, item).ok()
        return settle(namespace, name, 1)[name]

    def given(namespace, name):
        """NUMA nodes of the devices that the claim has."""
        path = f"{dra.API}/namespaces/{namespace.name}/resourceclaims/{name}"
        results = placed.cluster.get(path)["status"]["allocation"]["devices"]["results"]
        return {made["gpus"][int(r["device"].removeprefix("gpu-"))]["numa"] for r in results}
    yield types.SimpleNamespace(claim=claim, use=use, given=given)
    for item in dra.slices(node, devices):
        placed.cluster.api("DELETE", f"{dra.API}/resourceslices/{item['metadata']['name']}")
    placed.cluster.api("DELETE", f"{dra.API}/deviceclasses/{kind}")


def test_claims_are_certain_or_wait(placed, claims):
    namespace, _ = namespace_with(placed, policy="Required", scope="NUMA")
    claims.claim(namespace, "pair", 2)
    assert "may be given from several domains" in refusal(claims.use(namespace, "pair"))
    claims.claim(namespace, "near", 2, together=True)
    assert claims.use(namespace, "near")["spec"].get("nodeName") == "cpu-0"
    assert len(claims.given(namespace, "near")) == 1
    claims.claim(namespace, "one", 1)
    assert claims.use(namespace, "one")["spec"].get("nodeName") == "cpu-0"
    for name in ("pair", "near", "one"):
        namespace.delete_pod(name, force=True)


def test_claims_are_bound_within_the_quota(placed, claims):
    namespace, _ = namespace_with(placed, policy="None")
    namespace.patch_quota(gpuMemory="200Gi")
    for name in ("first", "second"):
        claims.claim(namespace, name, 1)
    namespace.patch_quota(gpuMemory="100Gi")
    wait_for(lambda: namespace.quota()["status"].get("effective") == "100Gi" or NotYet(namespace.quota().get("status")),
             "the quota is 100Gi")
    assert claims.use(namespace, "first")["spec"].get("nodeName") == "cpu-0"
    words = refusal(claims.use(namespace, "second"))
    assert "asks for ~79.6Gi of GPU memory in its namespace, of which ~79.6Gi of 100Gi are held" in words, words
