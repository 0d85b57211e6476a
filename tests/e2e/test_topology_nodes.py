"""What the controller makes of topologies that nodes publish, of those that are wrong, and of agents that are gone."""

import itertools
import json
import types

import pytest

from agent import ANNOTATION, LEASES
from cluster import NotYet, wait_for
from gpus import GPU, condition, pod
from tenants import Tenant

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
GPUNODES = "/apis/gpuqos.io/v1alpha1/gpunodes"
AGENT = "gpuqos-agent/test"
STATES = ["Known", "NotPublished", "Malformed", "FutureVersion", "Contradicts", "AgentGone"]
DURATION = 2
renewals = itertools.count()


def card(node, index):
    """The uuid of a card of a node, as its layout and kubelet name it."""
    return f"GPU-{node}-{index}"


def address(index):
    return f"0000:{16 + index:02x}:00.0"


def layout(node, writer="by hand", gpus=8, **more):
    """Two sockets, half of the cards on each."""
    return {"version": 1, "writer": writer, "generation": 1,
            "numa": [{"id": i, "cpus": f"{8 * i}-{8 * i + 7}", "memory": "256Gi"} for i in range(2)],
            "gpus": [{"uuid": card(node, i), "index": i, "pci": address(i), "numa": 2 * i // gpus}
                     for i in range(gpus)], **more}


def publish(cluster, node, value):
    text = value if value is None or isinstance(value, str) else json.dumps(value)
    cluster.api("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {ANNOTATION: text}}}).ok()


def renew(cluster, node, duration=DURATION):
    """Makes the Lease of the node's agent, or renews it; what time it says matters to nobody."""
    name = f"gpuqos-agent-{node}"
    lease = {"metadata": {"name": name, "labels": {"app.kubernetes.io/name": "gpuqos-agent"}},
             "spec": {"holderIdentity": node, "leaseDurationSeconds": duration,
                      "renewTime": f"2020-01-01T00:00:00.{next(renewals):06d}Z"}}
    answer = cluster.api("PATCH", f"{LEASES}/{name}", lease)
    if answer.status == 404:
        answer = cluster.api("POST", LEASES, lease)
    answer.ok()


@pytest.fixture(scope="module", autouse=True)
def fresh(world):
    """A controller that has told nothing yet: what another module's nodes of these names were told would be continued, as
    one series, and so be no Event of a test here."""
    if world.controller.alive:
        world.controller.stop(30)
    world.controller.start()


@pytest.fixture
def pair(world, running, nodes):
    """Two nodes that publish nothing, and the controller."""
    nodes("h100=2")
    names = ["h100-0", "h100-1"]
    mark = {e["metadata"]["name"] for e in world.cluster.get(EVENTS)["items"]}
    yield names, running, mark
    for name in names:
        publish(world.cluster, name, None)
        world.cluster.api("DELETE", f"{LEASES}/gpuqos-agent-{name}")


def wait_states(controller, **counts):
    """Until so many nodes are in these states, and none in others."""
    want = {state: counts.get(state, 0) for state in STATES}

    def reached():
        seen = {state: controller.metric("gpuqos_node_layouts", state=state) for state in STATES}
        return seen == want or NotYet(seen)
    wait_for(reached, f"nodes are {counts}")


def events(cluster, node, mark):
    """[(type, reason)] of what was told of the node since, oldest first; one that came again as often."""
    found = [e for e in cluster.get(EVENTS)["items"] if e["regarding"].get("name") == node and e["metadata"]["name"] not in mark
             and e["regarding"]["kind"] == "Node" and e.get("reason", "").startswith("Topology")]
    found.sort(key=lambda e: e["eventTime"])
    return [(e["type"], e["reason"]) for e in found for _ in range((e.get("series") or {"count": 1})["count"])], found


def wait_events(cluster, node, mark, *want):
    def reached():
        seen, items = events(cluster, node, mark)
        return (sorted(seen) == sorted(want) and items) or NotYet(seen)
    return wait_for(reached, f"Events of {node}: {want}")


BAD = [
    ("Malformed", "{", "JSON"),
    ("Malformed", json.dumps(layout("x") | {"gpus": [{"pci": "0000:16:00.0", "numa": 7}]}), "numa"),
    ("FutureVersion", json.dumps({"version": 2, "all": "else"}), "version"),
    ("Contradicts", json.dumps(layout("x", gpus=4)), "more whole GPUs"),
]


def test_what_cannot_be_believed_is_unknown_and_told_once(world, pair):
    cluster, ([good, bad], controller, mark) = world.cluster, pair
    wait_states(controller, NotPublished=2)
    publish(cluster, good, layout(good))
    wait_states(controller, NotPublished=1, Known=1)
    want = []
    for state, text, words in BAD:
        publish(cluster, bad, text)
        wait_states(controller, Known=1, **{state: 1})
        assert controller.metric("gpuqos_node_layout_unknown", node=bad, reason=state) == 1
        if ("Warning", f"Topology{state}") not in want:
            want.append(("Warning", f"Topology{state}"))
        told = [e for e in wait_events(cluster, bad, mark, *want) if e["reason"] == f"Topology{state}"]
        assert any(words in e["note"] for e in told) or state == "Malformed", told
    publish(cluster, bad, layout(bad))
    wait_states(controller, Known=2)
    wait_events(cluster, bad, mark, *want, ("Normal", "TopologyKnown"))
    assert not [key for key in controller.metrics() if key[0] == "gpuqos_node_layout_unknown"]
    assert events(cluster, good, mark)[0] == []


def test_a_layout_holds_while_its_agent_renews_its_lease(world, pair):
    cluster, ([mine, other], controller, mark) = world.cluster, pair
    renew(cluster, mine)
    publish(cluster, mine, layout(mine, AGENT))
    publish(cluster, other, layout(other))
    wait_states(controller, Known=2)
    wait_states(controller, Known=1, AgentGone=1)
    assert controller.metric("gpuqos_node_layout_unknown", node=mine, reason="AgentGone") == 1
    [told] = wait_events(cluster, mine, mark, ("Warning", "TopologyAgentGone"))
    assert f"gpuqos-agent-{mine}" in told["note"]
    renew(cluster, mine)
    wait_states(controller, Known=2)
    wait_events(cluster, mine, mark, ("Warning", "TopologyAgentGone"), ("Normal", "TopologyKnown"))
    cluster.api("DELETE", f"{LEASES}/gpuqos-agent-{mine}").ok()
    wait_states(controller, Known=1, AgentGone=1)


def test_a_fresh_controller_gives_a_lease_its_time(world, pair):
    cluster, ([mine, _], controller, _) = world.cluster, pair
    renew(cluster, mine)
    publish(cluster, mine, layout(mine, AGENT))
    wait_states(controller, NotPublished=1, AgentGone=1)
    controller.stop(30)
    controller.start()
    assert controller.metric("gpuqos_node_layouts", state="Known") == 1
    wait_states(controller, NotPublished=1, AgentGone=1)


# --- pods whose cards kubelet has told

@pytest.fixture
def team(world, pair, make_namespace):
    """A namespace whose tenant requires one NUMA node, on two nodes that publish their topology."""
    names, controller, _ = pair
    for name in names:
        publish(world.cluster, name, layout(name))
    wait_states(controller, Known=2)
    namespace = make_namespace()
    tenant = Tenant.make(world.cluster, namespace, topology={"policy": "Required", "scope": "NUMA", "onMismatch": "Alert"})
    namespace.put_quota("1500Gi")
    yield types.SimpleNamespace(cluster=world.cluster, controller=controller, nodes=names, namespace=namespace, tenant=tenant)
    tenant.remove()


def run(team, name, node, *cards, annotations=None, tells=True):
    """A pod that runs on a node, and of which kubelet says which cards it has."""
    made = pod(name, amount=len(cards), annotations=annotations or {})
    made["spec"]["schedulerName"] = "nobody"
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    container = made["spec"]["containers"][0]["name"]
    devices = [{"resourceID": card(node, i), "health": "Healthy"} for i in cards] if tells else []
    given = [{"name": GPU, "resources": devices}] if tells else []
    status = {"phase": "Running", "containerStatuses": [
        {"name": container, "image": "none", "imageID": "", "ready": True, "restartCount": 0, "allocatedResourcesStatus": given}]}
    team.cluster.api("POST", team.namespace.pods, made).ok()
    team.cluster.api("POST", f"{team.namespace.pods}/{name}/binding", binding).ok()
    # kwok plays these nodes and writes statuses as well: what is told comes after.
    wait_for(lambda: team.cluster.get(f"{team.namespace.pods}/{name}")["status"].get("phase") == "Running" or NotYet(name),
             f"{name} runs")
    team.cluster.api("PATCH", f"{team.namespace.pods}/{name}/status", {"status": status}).ok()


def observe(team, node, name, cards, cpus, **more):
    """What the node's agent tells of one pod."""
    container = {"name": "main", "cpus": cpus, "devices": [
        {"resource": GPU, "ids": [card(node, i) for i in cards], "cards": [address(i) for i in cards]}]}
    told = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": node},
            "status": {"pods": [{"namespace": team.namespace.name, "name": name, "containers": [container]}], **more}}
    team.cluster.api("PATCH", f"{GPUNODES}/{node}?fieldManager=test&force=true", told, "application/apply-patch+yaml").ok()


def mismatched(team, scope="NUMA"):
    return team.controller.metric("gpuqos_topology_mismatched_pods", tenant=team.tenant.name, scope=scope)


def told_of(team, name):
    path = f"/apis/events.k8s.io/v1/namespaces/{team.namespace.name}/events"
    return [e for e in team.cluster.get(path)["items"]
            if e["regarding"].get("name") == name and e.get("reason") == "TopologyMismatch"]


def wait_told(team, name):
    [event] = wait_for(lambda: told_of(team, name) or NotYet(name), f"an Event about {name}")
    return event


def wait_topology(team, status, reason, words):
    def reached():
        seen = condition(team.tenant.object(), "TopologyMismatch")
        return ((seen["status"], seen["reason"]) == (status, reason) and words in seen["message"]) or NotYet((dict(seen), states()))

    def states():
        return [(p["metadata"]["name"], p["spec"].get("nodeName"), p["status"]) for p in team.namespace.list_pods()], \
            [(key, value) for key, value in team.controller.metrics().items() if "topology" in key[0] or "layout" in key[0]]
    wait_for(reached, f"TopologyMismatch={status}, {reason}: {words}")


def test_a_pod_that_spans_numa_nodes_is_a_mismatch(team):
    node, other = team.nodes
    wait_topology(team, "False", "AsAsked", "No pod")
    run(team, "good", node, 0, 1)
    wait_topology(team, "False", "AsAsked", "all of 1 pods")
    assert mismatched(team) == 0
    run(team, "bad", node, 3, 4)
    wait_topology(team, "True", "SpansDomains", f"1 of 2 pods do not lie within the scope that is required (NUMA: 1), {team.namespace.name}/bad")
    assert mismatched(team) == 1 and mismatched(team, "PCIeSwitch") == 0
    event = wait_told(team, "bad")
    assert event["type"] == "Warning" and "cards 3, 4" in event["note"] and node in event["note"]
    assert event["regarding"]["uid"] == team.cluster.get(f"{team.namespace.pods}/bad")["metadata"]["uid"]
    run(team, "worse", other, 0, 7)
    wait_topology(team, "True", "SpansDomains", "2 of 3 pods")
    wait_told(team, "worse")
    for name in ("bad", "worse"):
        team.namespace.delete_pod(name, force=True)
    wait_topology(team, "False", "AsAsked", "all of 1 pods")
    assert mismatched(team) == 0 and not told_of(team, "good")


def test_a_mismatch_is_told_once_however_often_the_pod_changes(team):
    run(team, "bad", team.nodes[0], 2, 6)
    event = wait_told(team, "bad")
    for turn in range(5):
        team.cluster.api("PATCH", f"{team.namespace.pods}/bad", {"metadata": {"labels": {"turn": str(turn)}}}).ok()
    publish(team.cluster, team.nodes[0], "{")
    wait_topology(team, "Unknown", "DevicesUnknown", "1 of 1")
    publish(team.cluster, team.nodes[0], layout(team.nodes[0]))
    wait_topology(team, "True", "SpansDomains", "bad")
    [again] = told_of(team, "bad")
    assert "series" not in again and again["metadata"]["uid"] == event["metadata"]["uid"]


def test_what_the_agent_tells_of_a_pod_comes_first(team):
    node = team.nodes[0]
    run(team, "seen", node, 0)
    publish(team.cluster, node, layout(node, AGENT))
    renew(team.cluster, node, duration=3600)
    wait_topology(team, "False", "AsAsked", "all of 1 pods")
    observe(team, node, "seen", [4], "0-3")
    wait_topology(team, "True", "CPUsApart", f"1 of 1 pods are on another NUMA node than their cards, {team.namespace.name}/seen")
    assert mismatched(team) == 0 and team.controller.metric("gpuqos_topology_cpus_apart_pods", tenant=team.tenant.name) == 1
    event = wait_told(team, "seen")
    assert "CPUs of NUMA nodes 0 and cards 4" in event["note"]
    observe(team, node, "seen", [4], "8-9", otherCpus="10-11")
    wait_topology(team, "False", "AsAsked", "all of 1 pods")
    observe(team, node, "seen", [3, 4], "8-9")
    wait_topology(team, "True", "SpansDomains", "1 of 1 pods")
    team.cluster.api("DELETE", f"{GPUNODES}/{node}").ok()
    wait_topology(team, "False", "AsAsked", "all of 1 pods")


def test_what_kubelet_does_not_tell_is_unknown(team):
    run(team, "one", team.nodes[0], 0, tells=False)
    wait_topology(team, "False", "AsAsked", "all of 1 pods")
    run(team, "dark", team.nodes[0], 2, 6, tells=False)
    wait_topology(team, "Unknown", "DevicesUnknown", "Of 1 of 2 pods")
    assert team.controller.metric("gpuqos_topology_unknown_pods", tenant=team.tenant.name) == 1
    assert mismatched(team) == 0


def test_what_is_only_preferred_is_counted_and_no_more(team):
    team.tenant.patch(topology={"policy": "Preferred", "scope": "NUMA"})
    run(team, "soft", team.nodes[0], 2, 6)
    wait_topology(team, "False", "AsAsked", "Of 1 that only prefer it, 1 do not lie so")
    assert mismatched(team) == 1
    run(team, "strict", team.nodes[1], 2, 6, annotations={"gpuqos.io/topology-policy": "Required"})
    wait_topology(team, "True", "SpansDomains", f"{team.namespace.name}/strict")
    wait_told(team, "strict")
    assert mismatched(team) == 2 and not told_of(team, "soft")
    team.tenant.patch(topology={"policy": "Preferred", "scope": "NUMA", "onMismatch": "Ignore"})
    wait_topology(team, "False", "NotAsked", "nobody looks")
    assert mismatched(team) is None
