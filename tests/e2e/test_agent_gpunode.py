"""The agent's GpuNode on the real API server: which pod holds which card, as a kubelet tells by gRPC."""

import json
import os
import pathlib
import types

import grpc
import pytest

from agent import EXPORTS, USER, Agent, agent_pod, bound_token, install_agent
from cluster import ROOT, NotYet, wait_for
from kubelet import PodResources

LIBRARY = pathlib.Path(os.environ.get("GPUQOS_NVML", ROOT / "build/nvml")) / "libnvml_test.so"
MACHINE = EXPORTS / "nvidia-dgx2.xml"
NODE = "h100-0"
PATH = "/apis/gpuqos.io/v1alpha1/gpunodes"


@pytest.fixture(scope="module", name="node")
def served(world, tmp_path_factory):
    """An agent of a DGX-2, and its kubelet."""
    folder = tmp_path_factory.mktemp("gpunode")
    install_agent(world.cluster)
    world.cluster.nodes("h100=2")
    with PodResources(folder / "kubelet.sock") as kubelet:
        token = bound_token(world.cluster, agent_pod(world.cluster, NODE))
        agent = Agent(world.cluster, folder, NODE, "--hwloc-xml", MACHINE, "--resync=1s", "--kubelet-address=0",
                      f"--pod-resources-socket={kubelet.path}", token=token)
        agent.start(ready=False)
        agent.wait_ready()
        yield types.SimpleNamespace(cluster=world.cluster, agent=agent, kubelet=kubelet)
        status = agent.stop()[0]
        assert status == 0, agent.log()[-4000:]
    world.cluster.kubectl("delete", "-n", "gpuqos-system", "daemonset/gpuqos-agent")
    # What is said of them is of other machines: nobody else is to find them so.
    for name in (NODE, "h100-1"):
        world.cluster.api("DELETE", f"/api/v1/nodes/{name}").ok()


def layout(node):
    return json.loads(node.agent.annotation())


def pod(name, *containers):
    return {"namespace": "team", "name": name, "containers": list(containers)}


def holding(name, *ids, **more):
    return {"name": name, "devices": [{"resource": "nvidia.com/gpu", "ids": [i], "numa": [0]} for i in ids], **more}


def published(node, expected, what):
    """Waits until the GpuNode's pods are like `expected`."""
    def seen():
        answer = node.cluster.api("GET", f"{PATH}/{NODE}")
        status = answer.ok()["status"] if answer.status == 200 else None
        return status if status and status["pods"] == expected else NotYet(status or answer)
    return wait_for(seen, what)


def test_a_pods_devices_are_published_with_their_cards(node):
    gpus = layout(node)["gpus"]
    ids = [gpus[3]["uuid"], gpus[5]["uuid"] + "::2"]
    node.kubelet.pods = [pod("train", holding("main", *ids, cpus=[0, 1, 2]), {"name": "log", "cpus": [9]}),
                         pod("web", {"name": "c", "cpus": [4, 5]}, {"name": "d"})]
    node.kubelet.allocatable = [{"resource": "nvidia.com/gpu", "ids": [gpu["uuid"]], "numa": [gpu["numa"]]} for gpu in gpus]
    status = published(node, [{"namespace": "team", "name": "train", "containers": [
        {"name": "main", "cpus": "0-2", "devices": [
            {"resource": "nvidia.com/gpu", "ids": [ids[0]], "cards": [gpus[3]["pci"]], "numa": [0]},
            {"resource": "nvidia.com/gpu", "ids": [ids[1]], "cards": [gpus[5]["pci"]], "numa": [0]}]}]}], "the pod is there")
    assert (status["gpus"], status["podCount"]) == (16, 1)
    assert status["otherCpus"] == "4-5,9"
    assert [d["cards"] for d in status["allocatable"]] == [[gpu["pci"]] for gpu in gpus]


def test_it_is_the_nodes_and_goes_with_it(node):
    item = node.cluster.get(f"{PATH}/{NODE}")
    owner, = item["metadata"]["ownerReferences"]
    assert owner["uid"] == node.cluster.get(f"/api/v1/nodes/{NODE}")["metadata"]["uid"]
    assert {entry["manager"] for entry in item["metadata"]["managedFields"]} == {"gpuqos-agent"}


def test_kubectl_shows_it(node):
    columns = node.cluster.kubectl("get", "gnode", NODE, "--no-headers").split()
    assert columns[:3] == [NODE, "16", "1"]


def test_a_pod_that_ends_leaves(node):
    node.kubelet.pods = [pod("infer", holding("a", "GPU-of-nobody"), holding("b", "MIG-1"))]
    published(node, [{"namespace": "team", "name": "infer", "containers": [
        {"name": "a", "devices": [{"resource": "nvidia.com/gpu", "ids": ["GPU-of-nobody"], "numa": [0]}]},
        {"name": "b", "devices": [{"resource": "nvidia.com/gpu", "ids": ["MIG-1"], "numa": [0]}]}]}], "only the new pod is there")


def test_in_a_quiet_time_nothing_is_written(node):
    mark, asked = node.cluster.audit_mark(), node.kubelet.asked
    wait_for(lambda: node.kubelet.asked > asked + 4 or NotYet(node.kubelet.asked), "kubelet was asked four times")
    assert list(node.cluster.audit(user=USER, resource="gpunodes", since=mark)) == []


def test_a_kubelet_that_is_silent_changes_nothing(node):
    before = node.cluster.get(f"{PATH}/{NODE}")
    node.kubelet.status = grpc.StatusCode.UNAVAILABLE
    wait_for(lambda: node.agent.metric("gpuqos_agent_devices_asked_total", outcome="failed"), "a question failed")
    assert node.cluster.get(f"{PATH}/{NODE}") == before
    node.kubelet.status = None


POD_UID = "5c3e0f1a-0000-4000-8000-00000000000a"
CARDS = """\
card
pci 0000:34:00
uuid GPU-0
memory 34359738368
process 101 10737418241
process 102 1
process 103 1073741824
busy 101 30
busy 102 34
card
pci 0000:36:00
uuid GPU-1
memory 34359738368
process 104 5
"""


def test_who_uses_a_card_is_told_by_pod(node, tmp_path, monkeypatch):
    """A second agent, with NVML and a folder that stands for the node's /proc."""
    for pid, cgroup in [(101, f"0::/kubepods/pod{POD_UID}/a"), (102, f"0::/kubepods/pod{POD_UID}/b"), (103, "0::/system.slice/x")]:
        (tmp_path / "proc" / str(pid)).mkdir(parents=True)
        (tmp_path / "proc" / str(pid) / "cgroup").write_text(cgroup + "\n")
    (tmp_path / "cards").write_text(CARDS)
    monkeypatch.setenv("NVML_DESCRIPTION", str(tmp_path / "cards"))
    token = bound_token(node.cluster, agent_pod(node.cluster, "h100-1"))
    agent = Agent(node.cluster, tmp_path, "h100-1", "--hwloc-xml", MACHINE, "--resync=1s", "--kubelet-address=0", f"--proc={tmp_path / 'proc'}",
                  f"--nvml={LIBRARY}", f"--pod-resources-socket={node.kubelet.path}", token=token)
    agent.start()

    def told():
        answer = node.cluster.api("GET", f"{PATH}/h100-1")
        return answer.ok()["status"] if answer.status == 200 else NotYet(answer)
    status = wait_for(told, "the GpuNode is there")
    assert status["users"] == [{"card": "0000:34:00.0", "memory": "1Gi", "processes": 1},
                               {"card": "0000:34:00.0", "podUID": POD_UID, "memory": "10304Mi", "smPercent": 60, "processes": 2},
                               {"card": "0000:36:00.0", "memory": "64Mi", "processes": 1}]
    assert status["unaccountedCount"] == 2
    assert agent.metric("gpuqos_agent_user_memory_bytes", card="0000:34:00.0", pod_uid=POD_UID) == 10737418242
    assert agent.metric("gpuqos_agent_user_sm_ratio", card="0000:34:00.0", pod_uid=POD_UID) == 0.64

    # It looks again: nothing has changed, nothing is written, and the Lease says so.
    version = node.cluster.get(f"{PATH}/h100-1")["metadata"]["resourceVersion"]

    def seen(after=""):
        said = agent.lease()["metadata"].get("annotations", {}).get("gpuqos.io/usage-seen", "")
        return said if said > after else NotYet(said)
    first = wait_for(seen, "it has looked again", timeout=60)
    wait_for(lambda: seen(first), "and again", timeout=60)
    assert node.cluster.get(f"{PATH}/h100-1")["metadata"]["resourceVersion"] == version
    assert agent.stop()[0] == 0


def test_an_agent_writes_no_other_nodes(node):
    body = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": "h100-9"}}
    answer = node.cluster.api("POST", PATH, body, user=USER)
    assert answer.status == 403 and "of its own node" in answer.message
