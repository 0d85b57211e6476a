"""Agents of four real machines publish what they are, on the real API server, and nothing else."""

import json
import re
import subprocess
import types

import pytest

from agent import ANNOTATION, EXPORTS, LEASES, USER, Agent, Kubelet, agent_pod, bound_token, install_agent, printed
from cluster import APPLY, Client, NotYet, wait_for
from controller import sanitized_bin, write_kubeconfig

MACHINES = ["nvidia-dgx2", "power8-p100", "power9-gpu-memory", "proliant-sl390s"]
POLICIES = ["single-numa-node", "restricted", "best-effort", "none"]
MEMORY_MAX_KIB = 4 * 1024


@pytest.fixture(scope="module")
def fleet(world, tmp_path_factory):
    """Four nodes with an agent each: the DaemonSet's pods as far as kwok plays them, the programs as ours."""
    folder = tmp_path_factory.mktemp("agents")
    install_agent(world.cluster)
    world.cluster.nodes("h100=4")
    names = [f"h100-{i}" for i in range(4)]
    tokens = {name: bound_token(world.cluster, agent_pod(world.cluster, name)) for name in names}
    kubelets = {name: Kubelet(world.cluster, folder / f"kubelet-{name}", name, topologyManagerPolicy=policy,
                              topologyManagerScope="pod" if i else "container", cpuManagerPolicy="none" if i else "static")
                for i, (name, policy) in enumerate(zip(names, POLICIES))}
    agents = {name: Agent(world.cluster, folder, name, "--hwloc-xml", EXPORTS / f"{machine}.xml", "--resync=1s",
                          token=tokens[name], kubelet=kubelets[name]) for name, machine in zip(names, MACHINES)}
    for agent in agents.values():
        agent.start(ready=False)
    for agent in agents.values():
        agent.wait_ready()
    yield types.SimpleNamespace(cluster=world.cluster, names=names, agents=agents, tokens=tokens, kubelets=kubelets, folder=folder)
    for agent in agents.values():
        status = agent.stop()[0]
        assert status == 0, agent.log()[-4000:]
    for kubelet in kubelets.values():
        kubelet.close()
    world.cluster.kubectl("delete", "-n", "gpuqos-system", "daemonset/gpuqos-agent")
    # What is said of them is of other machines: nobody else is to find them so.
    for name in names:
        world.cluster.api("DELETE", f"/api/v1/nodes/{name}").ok()


def writes_to_nodes(cluster, since):
    return [event for event in cluster.audit(user=USER, resource="nodes", since=since) if event["verb"] != "get"]


def as_account(fleet, name):
    """A Client with the token of that node's agent."""
    config = json.loads(fleet.cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"][0]["user"] = {"token": fleet.tokens[name]}
    return Client(config)


# --- what is published

def told_by_lstopo(machine):
    """How many NUMA nodes hwloc's own tool counts, and the PCI addresses of NVIDIA's cards."""
    text = subprocess.run(["lstopo-no-graphics", "-v", "--of", "console", "-i", EXPORTS / f"{machine}.xml"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    numas = re.search(r"(\d+) NUMANode", text)
    return int(numas[1]), sorted(re.findall(r"busid=(\S+) id=10de:\w+ class=03", text))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_annotation_is_what_print_says_and_what_kubelet_says(fleet, machine):
    index = MACHINES.index(machine)
    agent = fleet.agents[fleet.names[index]]
    seen = json.loads(agent.annotation())
    assert seen.pop("kubelet") == {"topologyPolicy": POLICIES[index], "topologyScope": "pod" if index else "container",
                                   "cpuPolicy": "none" if index else "static"}
    assert seen.pop("generation") >= 1
    want = printed("--hwloc-xml", EXPORTS / f"{machine}.xml")
    del want["kubelet"], want["generation"]
    assert seen == want
    numas, cards = told_by_lstopo(machine)
    assert len(seen["numa"]) == numas and [gpu["pci"] for gpu in seen["gpus"]] == cards


def test_the_node_says_whose_the_annotation_is(fleet):
    item = fleet.cluster.get(f"/api/v1/nodes/{fleet.names[0]}")
    entry, = [entry for entry in item["metadata"]["managedFields"] if entry["manager"] == "gpuqos-agent"]
    assert entry["operation"] == "Apply"
    assert entry["fieldsV1"] == {"f:metadata": {"f:annotations": {f"f:{ANNOTATION}": {}}}}


def test_in_a_quiet_time_nothing_is_written(fleet):
    cluster = fleet.cluster
    mark = cluster.audit_mark()
    before = {name: agent.annotation() for name, agent in fleet.agents.items()}

    def looked():
        reads = [event["objectRef"]["name"] for event in cluster.audit("get", "nodes", USER, mark)]
        return all(reads.count(name) >= 4 for name in fleet.names) or NotYet(reads)
    wait_for(looked, "every agent has read its Node four times")
    assert writes_to_nodes(cluster, mark) == []
    assert {name: agent.annotation() for name, agent in fleet.agents.items()} == before
    assert not [verb for verb in ("list", "watch") if list(cluster.audit(verb, "nodes", USER, mark))]


def test_an_agent_that_is_started_again_writes_nothing_either(fleet):
    agent = fleet.agents[fleet.names[1]]
    before = agent.annotation()
    assert agent.stop()[0] == 0
    mark = fleet.cluster.audit_mark()
    agent.start()
    assert agent.annotation() == before
    assert [event["objectRef"]["name"] for event in writes_to_nodes(fleet.cluster, mark)] == []


@pytest.mark.parametrize("value", ['{"version": 1}', "not JSON", None], ids=["another layout", "nonsense", "nothing"])
def test_what_others_make_of_it_does_not_last(fleet, value):
    agent = fleet.agents[fleet.names[2]]
    path = f"/api/v1/nodes/{agent.node}"
    before = json.loads(agent.annotation())
    fleet.cluster.api("PATCH", path, {"metadata": {"annotations": {ANNOTATION: value}}}).ok()

    def restored():
        text = agent.annotation()
        seen = json.loads(text) if text and text.startswith("{") else {}
        return seen if seen.get("numa") else NotYet(text)
    after = wait_for(restored, "the annotation is as it was")
    assert after.pop("generation") > before.pop("generation")
    assert after == before


def test_a_kubelet_with_another_policy_is_published(fleet):
    name = fleet.names[3]
    agent, kubelet = fleet.agents[name], fleet.kubelets[name]
    kubelet.config["topologyManagerPolicy"] = "restricted"
    wait_for(lambda: json.loads(agent.annotation())["kubelet"]["topologyPolicy"] == "restricted", "the policy is published")
    kubelet.down = True
    wait_for(lambda: agent.metric("gpuqos_agent_kubelet_asked_total", outcome="failed"), "kubelet does not answer")
    assert json.loads(agent.annotation())["kubelet"]["topologyPolicy"] == "restricted"  # for five minutes
    kubelet.down = False


def test_a_kubelet_that_cannot_prove_who_it_is_is_not_asked(fleet, tmp_path):
    name = fleet.names[3]
    other = Kubelet(fleet.cluster, tmp_path, "somebody-else")
    agent = Agent(fleet.cluster, tmp_path, name, "--hwloc-xml", EXPORTS / f"{MACHINES[3]}.xml", token=fleet.tokens[name], kubelet=other)
    fleet.agents[name].stop()
    agent.start()
    try:
        assert "topologyPolicy" not in json.loads(agent.annotation())["kubelet"]
        assert (other.answered, other.refused) == (0, 0)
        assert agent.metric("gpuqos_agent_kubelet_known") == 0
        assert "kubelet was not asked" in agent.log()
    finally:
        agent.stop()
        other.close()
        fleet.agents[name].start()


@pytest.fixture
def another(fleet, tmp_path):
    """Starts an agent of the last node, under sanitizers, in place of the usual one."""
    name, started = fleet.names[3], []

    def start(*flags, ready=True):
        fleet.agents[name].stop()
        agent = Agent(fleet.cluster, tmp_path, name, *flags, token=fleet.tokens[name], kubelet=fleet.kubelets[name])
        agent.path = sanitized_bin() / "gpuqos-agent"
        started.append(agent)
        return agent.start(ready)
    yield start
    status, _ = started[0].stop(30)
    fleet.agents[name].start()
    assert status == 0, started[0].log()[-4000:]


def test_a_machine_that_cannot_be_read_is_not_vouched_for(fleet, another, tmp_path):
    export = tmp_path / "machine.xml"
    export.write_text("no machine")
    name = fleet.names[3]
    agent = another("--hwloc-xml", export, "--resync=1s", ready=False)
    wait_for(lambda: agent.try_page("/healthz")[0] == 200, "it serves")
    fleet.cluster.api("DELETE", f"{LEASES}/gpuqos-agent-{name}").ok()
    wait_for(lambda: (agent.metric("gpuqos_agent_machine_read_total", outcome="failed") or 0) >= 3, "it has tried")
    assert agent.page("/readyz")[0] == 503 and agent.page("/healthz")[0] == 200
    assert agent.log().count("the machine cannot be read") == 1
    assert fleet.cluster.api("GET", f"{LEASES}/gpuqos-agent-{name}").status == 404
    export.write_bytes((EXPORTS / f"{MACHINES[0]}.xml").read_bytes())
    wait_for(lambda: len(json.loads(agent.annotation())["gpus"]) == 16, "the machine is published once it can be read")
    agent.wait_ready()


def test_a_node_that_is_made_anew_is_published_anew(fleet, another):
    name = fleet.names[3]
    agent = another("--hwloc-xml", EXPORTS / f"{MACHINES[3]}.xml", "--resync=1s")
    before = fleet.cluster.get(f"/api/v1/nodes/{name}")
    fleet.cluster.api("DELETE", f"/api/v1/nodes/{name}").ok()
    wait_for(lambda: agent.page("/readyz")[0] == 503, "the agent misses its Node")
    copy = {key: before["metadata"][key] for key in ("name", "labels")}
    fleet.cluster.api("POST", "/api/v1/nodes", {"metadata": copy, "status": {"capacity": before["status"]["capacity"]}}).ok()
    # The pod of the DaemonSet went with the Node, and with it the token.
    pod = agent_pod(fleet.cluster, name)
    fleet.tokens[name] = bound_token(fleet.cluster, pod)
    for each in (agent, fleet.agents[name]):
        write_kubeconfig(fleet.cluster, each.kubeconfig, fleet.tokens[name])
    agent.stop()
    agent.start()
    node = fleet.cluster.get(f"/api/v1/nodes/{name}")
    assert ANNOTATION in node["metadata"]["annotations"]
    owner, = agent.lease()["metadata"]["ownerReferences"]
    assert owner["uid"] == node["metadata"]["uid"] != before["metadata"]["uid"]


# --- the Lease

def test_the_lease_is_renewed_and_owned_by_the_node(fleet):
    agent = fleet.agents[fleet.names[0]]
    lease = agent.lease()
    node = fleet.cluster.get(f"/api/v1/nodes/{agent.node}")
    assert lease["spec"]["holderIdentity"] == agent.node and lease["spec"]["leaseDurationSeconds"] == 40
    assert lease["metadata"]["labels"] == {"app.kubernetes.io/name": "gpuqos-agent"}
    assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": agent.node, "uid": node["metadata"]["uid"]}]
    wait_for(lambda: agent.lease()["spec"]["renewTime"] > lease["spec"]["renewTime"], "it is renewed")
    fleet.cluster.api("DELETE", f"{LEASES}/gpuqos-agent-{agent.node}").ok()
    wait_for(agent.lease, "it is made anew")


# --- what an agent may not do

def annotate(client, node, **annotations):
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "annotations": annotations}}
    return client.request("PATCH", f"/api/v1/nodes/{node}?fieldManager=gpuqos-agent&force=true&dryRun=All", body, APPLY)


def test_an_agent_writes_our_keys_of_its_own_node_and_no_others(fleet):
    own, other = fleet.names[:2]
    client = as_account(fleet, own)
    path = f"/api/v1/nodes/{own}?dryRun=All"
    fleet.cluster.api("PATCH", f"/api/v1/nodes/{own}", {"metadata": {"annotations": {"example.com/theirs": "x"}}}).ok()
    annotate(client, own, **{ANNOTATION: "{}", "gpuqos.io/more": "x"}).ok()
    refusals = {
        "another node": (annotate(client, other, **{ANNOTATION: "{}"}), f"token is of node {own}"),
        "another key": (annotate(client, own, **{ANNOTATION: "{}", "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}),
                        "not cluster-autoscaler.kubernetes.io/scale-down-disabled"),
        "a key taken away": (client.request("PATCH", path, {"metadata": {"annotations": {"example.com/theirs": None}}}),
                             "not example.com/theirs"),
        "a label": (client.request("PATCH", path, {"metadata": {"labels": {"nvidia.com/gpu.product": "better"}}}), "nothing else of it"),
        "a taint": (client.request("PATCH", path, {"spec": {"unschedulable": True}}), "nothing else of it"),
        "a finalizer": (client.request("PATCH", path, {"metadata": {"finalizers": ["a.io/b"]}}), "nothing else of it"),
    }
    for what, (answer, words) in refusals.items():
        assert answer.status == 403 and words in answer.message, (what, answer)
    for verb, target in (("GET", "/api/v1/nodes"), ("DELETE", f"/api/v1/nodes/{own}"), ("GET", f"/api/v1/nodes/{own}/proxy/configz"),
                         ("GET", "/api/v1/pods"), ("GET", LEASES)):
        assert client.request(verb, target).status == 403, target


def test_an_agent_writes_its_own_lease_and_no_others(fleet):
    own, other = fleet.names[:2]
    client = as_account(fleet, own)
    body = {"spec": {"holderIdentity": "somebody"}}
    client.request("PATCH", f"{LEASES}/gpuqos-agent-{own}?dryRun=All", body).ok()
    for name in (f"gpuqos-agent-{other}", "gpuqos-controller"):
        if name == "gpuqos-controller":
            lease = {"metadata": {"name": name}, "spec": {"holderIdentity": "x"}}
            answer = client.request("POST", f"{LEASES}?dryRun=All", lease)
        else:
            answer = client.request("PATCH", f"{LEASES}/{name}?dryRun=All", body)
        assert answer.status == 403 and f"token is of node {own}" in answer.message, answer


def test_a_token_of_no_node_writes_nothing(fleet):
    text = fleet.cluster.kubectl("create", "token", "gpuqos-agent", "-n", "gpuqos-system").strip()
    fleet.tokens["none"] = text
    answer = annotate(as_account(fleet, "none"), fleet.names[0], **{ANNOTATION: "{}"})
    assert answer.status == 403 and "token is of no node" in answer.message


# --- cost

def test_an_agent_is_small(fleet, tell):
    for agent, machine in zip(fleet.agents.values(), MACHINES):
        with open(f"/proc/{agent.process.pid}/status", encoding="ascii") as status:
            kib = int(re.search(r"RssAnon:\s+(\d+) kB", status.read())[1])
        tell(f"agent of {machine}: {kib} KiB of anonymous memory")
        assert kib < MEMORY_MAX_KIB
