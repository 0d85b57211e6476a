"""kubelet's own managers on the development cluster, with plain kube-scheduler: what
happens to GPU pods when nobody minds the NUMA nodes.
"""

import json
import random
import secrets

import pytest
from agent import EXPORTS, Agent, agent_pod, bound_token, install_agent
from cluster import Cluster, NotYet, wait_for
from controller import install
from kubelets import GPU, Kubelets, admitted, cpus, devices, machine, rejected, sold_twice, spanning

PODS = "/api/v1/namespaces/default/pods"
NODES = 4
MOST_ROUNDS = 12
SEED = 5
# A cluster that is kept remembers the pods of earlier runs.
RUN = secrets.token_hex(2)


@pytest.fixture(scope="module")
def kubelets():
    """GPUQOS_KUBELETS_DIR names a cluster to use instead of one's own."""
    with Cluster.start("--with", "kubelet-devices", variable="GPUQOS_KUBELETS_DIR") as cluster:
        yield Kubelets(cluster)


def gpu_pod(name, gpus, cpu=4, kind="", containers=("main",)):
    """A Guaranteed pod with whole CPUs, for the nodes of this kind: so much for each container."""
    amounts = {"cpu": str(cpu), "memory": "1Gi", GPU: str(gpus)}
    return {"metadata": {"name": name}, "spec": {
        "nodeSelector": {"kind": kind} if kind else {}, "terminationGracePeriodSeconds": 0,
        "containers": [{"name": c, "image": "x", "resources": {"requests": amounts, "limits": amounts}} for c in containers]}}


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


def race(kubelets, kind, policy, seen):
    """Fills the nodes of a kind with pods of 1 card; then, in each round, half of all are deleted and as many made
    at once, mostly of 2 cards. Until seen(decisions), and three rounds at least. Returns the decisions."""
    cluster = kubelets.cluster
    for i in range(NODES):
        kubelets.node(f"{kind}-{i}", machine(policy, prefix=f"GPU-{kind}-{i}"), labels={"kind": kind})
    dice = random.Random(SEED)
    count = 8 * NODES
    for turn in range(MOST_ROUNDS):
        sizes = [dice.choice((1, 2, 2)) if turn else 1 for _ in range(count)]
        made = [gpu_pod(f"{kind}-{turn}-{i}", size, cpu=4 * size, kind=kind) for i, size in enumerate(sizes)]
        for response in cluster.create_many(PODS, made):
            response.ok()
        settle(cluster, f"{kind}-{turn}-", len(made))
        verdicts = check_world(kubelets, kind)
        if turn >= 2 and seen(verdicts):
            break
        bound = sorted(name for name, pod in pods_of(cluster, f"{kind}-").items() if pod["spec"].get("nodeName"))
        count = len(bound) // 2
        for name in dice.sample(bound, count):
            cluster.api("DELETE", f"{PODS}/{name}").ok()
    return verdicts


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
    verdicts = race(kubelets, f"none-{RUN}", "none", spanning)
    assert not rejected(verdicts)
    assert spanning(verdicts)
    tell(f"policy none: {len(spanning(verdicts))} of {len(admitted(verdicts))} pods span NUMA nodes")


def test_with_single_numa_node_the_kubelet_rejects_what_would_span(kubelets, tell):
    verdicts = race(kubelets, f"single-{RUN}", "single-numa-node", rejected)
    assert not spanning(verdicts)
    assert rejected(verdicts, "TopologyAffinityError")
    tell(f"policy single-numa-node: 0 of {len(admitted(verdicts))} pods span NUMA nodes, "
         f"{len(rejected(verdicts))} rejected")


def one_free_on_each_side(kubelets, kind, policy, scope="container"):
    """A node full of pods of 1 card, of which one on each NUMA node has gone again."""
    kubelets.node(f"{kind}-0", machine(policy, scope, prefix=f"GPU-{kind}"), labels={"kind": kind})
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


def test_a_pod_that_is_deleted_keeps_its_cpus_until_its_containers_have_ended(kubelets):
    """pkg/cluster/nodes/rooms.c counts on that, and so does tests/lib/kubelet_model.c."""
    node, cluster = f"leaves-{RUN}", kubelets.cluster
    kubelets.node(node, machine("single-numa-node", cpus=8, prefix=f"GPU-{node}"), labels={"kind": node})

    def verdict_on(name, cpu, **annotations):
        pod = gpu_pod(name, 1, cpu=cpu, kind=node)
        pod["metadata"]["annotations"] = annotations
        pod["spec"]["terminationGracePeriodSeconds"] = 600
        uid = cluster.api("POST", PODS, pod).ok()["metadata"]["uid"]
        return wait_for(lambda: [p for p in kubelets.report().pods if p["uid"] == uid], f"kubelet has decided on {name}")[0]

    # Six of the eight CPUs of either NUMA node.
    leaving = verdict_on(f"{node}-leaving", 6, **{"dev.gpuqos.io/terminate-for": "1h"})
    assert verdict_on(f"{node}-stays", 6)["verdict"] == "Admitted"
    path = f"{PODS}/{node}-leaving"
    cluster.api("DELETE", path).ok()
    # kube-scheduler sees three CPUs that are free, and kubelet at most two on each side: one is its own.
    early = verdict_on(f"{node}-early", 3)
    assert (early["verdict"], early["reason"]) == ("Rejected", "TopologyAffinityError")
    assert cluster.get(path)["metadata"]["deletionTimestamp"]
    cluster.api("PATCH", path, {"metadata": {"annotations": {"dev.gpuqos.io/terminate-for": "0s"}}}).ok()
    wait_for(lambda: cluster.api("GET", path).status == 404, "it is gone")
    late = verdict_on(f"{node}-late", 3)
    assert late["verdict"] == "Admitted"
    assert {cpu // 8 for cpu in cpus(late)} == {cpu // 8 for cpu in cpus(leaving)}


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_two_containers_with_a_card_each_of_which_one_is_free_on_each_side(kubelets, scope):
    """single-numa-node holds for each container; only the pod's scope holds for all of them together."""
    kind = f"two-{scope}-{RUN}"
    one_free_on_each_side(kubelets, kind, "single-numa-node", scope)
    cluster = kubelets.cluster
    cluster.api("POST", PODS, gpu_pod(f"{kind}-pair", 1, cpu=1, kind=kind, containers=("left", "right"))).ok()
    settle(cluster, f"{kind}-pair", 1)
    verdict = check_world(kubelets, kind)[-1]
    if scope == "container":
        assert verdict["verdict"] == "Admitted" and verdict["gpuNuma"] == [0, 1], verdict
    else:
        assert (verdict["verdict"], verdict["reason"]) == ("Rejected", "TopologyAffinityError"), verdict


def test_a_pod_gets_its_own_cpus_and_gives_them_back(kubelets):
    kind = f"own-{RUN}"
    kubelets.node(f"{kind}-0", machine("single-numa-node", cpus=8, gpus=2), labels={"kind": kind})
    cluster = kubelets.cluster
    cluster.api("POST", PODS, gpu_pod(kind, 2, cpu=6, kind=kind)).ok()
    settle(cluster, kind, 1)
    [first] = kubelets.report().verdicts(f"{kind}-0")
    assert len(cpus(first)) == 6 and len(devices(first)) == 2
    assert first["cpuNuma"] == first["gpuNuma"] and len(first["gpuNuma"]) == 1
    cluster.api("DELETE", f"{PODS}/{kind}").ok()
    wait_for(lambda: not pods_of(cluster, kind), "the pod is gone")
    assert kubelets.report().verdicts(f"{kind}-0")[0]["released"] > 0


def make_token(cluster, account, subresource):
    """A ServiceAccount's token, with the right to this subresource of nodes, or to nothing."""
    cluster.api("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": account}}).ok()
    if subresource:
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        cluster.api("POST", f"{rbac}/clusterroles", {"metadata": {"name": account}, "rules": [
            {"apiGroups": [""], "resources": [f"nodes/{subresource}"], "verbs": ["get"]}]}).ok()
        cluster.api("POST", f"{rbac}/clusterrolebindings", {
            "metadata": {"name": account}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": account}]}).ok()
    made = cluster.api("POST", f"/api/v1/namespaces/default/serviceaccounts/{account}/token", {"spec": {}}).ok()
    return made["status"]["token"]


def test_configz_tells_its_policies_to_who_may_read_them(kubelets):
    name = f"configz-{RUN}"
    kubelets.node(name, machine("restricted", scope="pod"))
    reader = make_token(kubelets.cluster, f"reader-{RUN}", "configz")
    stranger = make_token(kubelets.cluster, f"stranger-{RUN}", None)
    def config():
        return kubelets.configz(name, reader).ok()["kubeletconfig"]  # RBAC learns of a binding by its own watch
    config = wait_for(config, "the reader may read")
    assert config["kind"] == "KubeletConfiguration"
    assert [config[key] for key in ("topologyManagerPolicy", "topologyManagerScope", "cpuManagerPolicy")] == [
        "restricted", "pod", "static"]
    assert kubelets.configz(name).status == 401
    assert kubelets.configz(name, "nonsense").status == 401
    assert kubelets.configz(name, stranger).status == 403


def test_pods_keep_what_they_have_when_the_kubelets_are_killed(kubelets):
    kind = f"kept-{RUN}"
    kubelets.node(f"{kind}-0", machine("none", prefix=f"GPU-{kind}"), labels={"kind": kind})
    cluster = kubelets.cluster
    for response in cluster.create_many(PODS, [gpu_pod(f"{kind}-{i}", 1, cpu=2, kind=kind) for i in range(4)]):
        response.ok()
    settle(cluster, kind, 4)

    def held():
        return {p["name"]: (set(devices(p)), cpus(p)) for p in kubelets.report().verdicts(f"{kind}-0")}
    before = held()
    assert {name: what["main"] for (_, name), what in kubelets.pod_resources(f"{kind}-0").items()} == before
    kubelets.restart()
    wait_for(lambda: len(held()) == 4, "the kubelet has seen its pods again")
    assert held() == before
    cluster.api("POST", PODS, gpu_pod(f"{kind}-all", 4, cpu=4, kind=kind)).ok()
    settle(cluster, f"{kind}-all", 1)
    after = check_world(kubelets, kind)
    assert len({d for p in admitted(after) for d in devices(p)}) == 8


def test_a_card_that_fails_is_told_and_not_given_out(kubelets):
    kind = f"health-{RUN}"
    cards = machine("single-numa-node", gpus=1, prefix=f"GPU-{kind}")
    kubelets.node(f"{kind}-0", cards, labels={"kind": kind})
    cluster = kubelets.cluster
    cluster.api("POST", PODS, gpu_pod(f"{kind}-a", 1, kind=kind)).ok()
    settle(cluster, f"{kind}-a", 1)
    card = devices(kubelets.report().verdicts(f"{kind}-0")[0])[0]
    for gpu in cards["gpus"]:
        gpu["health"] = "Failed" if gpu["uuid"] == card else "OK"
    kubelets.set_machine(f"{kind}-0", cards)

    def shown():
        [pod] = pods_of(cluster, f"{kind}-a").values()
        [resource] = pod["status"]["containerStatuses"][0]["allocatedResourcesStatus"]
        return resource["resources"] == [{"resourceID": card, "health": "Unhealthy"}]
    wait_for(shown, "the pod's status says that its card is unhealthy")
    status = wait_for(lambda: (s := cluster.get(f"/api/v1/nodes/{kind}-0")["status"])["allocatable"][GPU] == "1" and s,
                      "one card less is allocatable")
    assert status["capacity"][GPU] == "2"


def told_by_agent(cluster, name):
    """What the GpuNode says: {(namespace, pod): {container: (device IDs, exclusive CPUs)}}."""
    answer = cluster.api("GET", f"/apis/gpuqos.io/v1alpha1/gpunodes/{name}")
    pods = answer.ok()["status"]["pods"] if answer.status == 200 else []
    return {(p["namespace"], p["name"]): {c["name"]: ({i for d in c["devices"] for i in d["ids"]}, c.get("cpus", ""))
                                          for c in p["containers"]} for p in pods}


def listed(text):
    """The CPUs of "2-3,8"."""
    ends = [[int(n) for n in part.split("-")] for part in text.split(",") if part]
    return [cpu for end in ends for cpu in range(end[0], end[-1] + 1)]


def test_the_agent_asks_this_kubelet_as_it_asks_any(kubelets, tmp_path):
    """It finds address and port in the Node, and trusts the certificate, without being told a thing."""
    name = f"agent-{RUN}"
    cluster = kubelets.cluster
    kubelets.node(name, machine("restricted", scope="pod"), labels={"nvidia.com/gpu.present": "true", "kind": name})
    install(cluster)
    install_agent(cluster)
    socket = kubelets.directory / name / "pod-resources" / "kubelet.sock"
    agent = Agent(cluster, tmp_path, name, "--hwloc-xml", EXPORTS / "nvidia-dgx2.xml", f"--pod-resources-socket={socket}",
                  token=bound_token(cluster, agent_pod(cluster, name)))
    agent.start()
    try:
        seen = wait_for(lambda: json.loads(agent.annotation() or "{}").get("kubelet"), "the agent has published kubelet's policies")
        assert seen == {"topologyPolicy": "restricted", "topologyScope": "pod", "cpuPolicy": "static"}
        made = [gpu_pod(f"{name}-{i}", i + 1, kind=name) for i in range(2)]
        for response in cluster.create_many(PODS, made):
            response.ok()
        settle(cluster, f"{name}-", len(made))
        given = kubelets.pod_resources(name)
        told = wait_for(lambda: len(t := told_by_agent(cluster, name)) == 2 and t, "the GpuNode has both pods")
        assert {pod: {c: (ids, listed(cpus)) for c, (ids, cpus) in found.items()} for pod, found in told.items()} == \
            {pod: {c: (ids, sorted(cpus)) for c, (ids, cpus) in given[pod].items()} for pod in given if pod[0] == "default"}
    finally:
        agent.stop()
