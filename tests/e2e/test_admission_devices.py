"""Ways to GPUs that nobody was asked for, and around the scheduler; and what stays open beside them."""

import json

import pytest

from cluster import wait_for
from controller import as_tenant
from gpus import GPU, container, pod
from published import Published, row

ROWS = [row(GPU, "80Gi")]
KAI = {"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "train-x7-shared-gpu"}


def edited(change, **annotations):
    item = pod("p", amount=0, annotations=annotations)
    change(item["spec"])
    return item


def env(name, **value):
    return lambda spec: spec["containers"][0].update(env=[{"name": name, **value}])


def from_map(name):
    return {"valueFrom": {"configMapKeyRef": {"name": name, "key": "NVIDIA_VISIBLE_DEVICES"}}}


def initial(change):
    """The same in an init container."""
    def both(spec):
        first = {"containers": [container("first")]}
        change(first)
        spec["initContainers"] = first["containers"]
    return both


def host(path, **more):
    def change(spec):
        spec["volumes"] = [{"name": "v", "hostPath": {"path": path}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/host", **more}]
    return change


def mount(path):
    def change(spec):
        spec["volumes"] = [{"name": "v", "emptyDir": {}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": path}]
    return change


def privileged(spec):
    spec["containers"][0]["securityContext"] = {"privileged": True}


def on_node(resource=GPU, amount=1):
    def change(spec):
        spec["nodeName"] = "gpu-1"
        spec["containers"][0] = container("main", resource, amount)
    return change


VISIBLE = "NVIDIA_VISIBLE_DEVICES"
REFUSED = [
    ("all GPUs by environment", edited(env(VISIBLE, value="all")), f"container main sets {VISIBLE}, which reaches GPUs"),
    ("one GPU by environment", edited(env(VISIBLE, value="GPU-1")), f"container main sets {VISIBLE}"),
    ("in an init container", edited(initial(env(VISIBLE, value="0"))), f"container first sets {VISIBLE}"),
    ("by reference", edited(env(VISIBLE, **from_map("mine"))), f"container main sets {VISIBLE}"),
    ("by reference, beside KAI's", edited(env(VISIBLE, **from_map("mine")), **KAI), f"container main sets {VISIBLE}"),
    ("from the pod itself", edited(env(VISIBLE, valueFrom={"fieldRef": {"fieldPath": "metadata.name"}})), "container main sets"),
    ("AMD's environment", edited(env("AMD_VISIBLE_DEVICES", value="all")), "container main sets AMD_VISIBLE_DEVICES"),
    ("CDI by annotation", edited(lambda _: None, **{"cdi.k8s.io/x": "nvidia.com/gpu=all"}), "annotation cdi.k8s.io/x reaches devices"),
    ("a mount that names GPUs", edited(mount("/var/run/nvidia-container-devices/all")), "a mount at /var/run/nvidia-container-devices/all"),
    ("a mount over devices", edited(mount("/dev/nvidia0")), "a mount at /dev/nvidia0"),
    ("NVIDIA's device", edited(host("/dev/nvidia0")), "hostPath /dev/nvidia0 reaches the GPUs"),
    ("the render nodes", edited(host("/dev/dri")), "hostPath /dev/dri reaches the GPUs"),
    ("AMD's device", edited(host("/dev/kfd")), "hostPath /dev/kfd reaches the GPUs"),
    ("all devices", edited(host("/dev")), "hostPath /dev reaches the GPUs"),
    ("all devices, in other words", edited(host("//dev/./")), "hostPath //dev/./ reaches the GPUs"),
    ("the whole node", edited(host("/")), "hostPath / reaches the GPUs"),
    ("a privileged container", edited(privileged), "container main is privileged"),
    ("past the scheduler", edited(on_node()), "spec.nodeName gpu-1 places a pod that asks for devices past the scheduler"),
    ("past the scheduler, a part of a card",
     edited(lambda spec: spec.update(nodeName="gpu-1"), **{"gpu-fraction": "0.5"}), "spec.nodeName gpu-1"),
]

ADMITTED = [
    ("no GPU by environment", edited(env(VISIBLE, value="void"))),
    ("none by environment", edited(env(VISIBLE, value="none"))),
    ("a filter of what was given", edited(env("CUDA_VISIBLE_DEVICES", value="0"))),
    ("AMD's filter", edited(env("ROCR_VISIBLE_DEVICES", value="0"))),
    ("what KAI's webhook adds", edited(env(VISIBLE, **from_map("train-x7-shared-gpu-0")), **KAI)),
    ("shared memory", edited(mount("/dev/shm"))),
    ("another path of the node", edited(host("/data/sets"))),
    ("a path that only begins alike", edited(host("/devices"))),
    ("a node of one's own choice, without GPUs", edited(on_node(amount=0))),
]


@pytest.fixture(scope="module")
def team(policies):
    made = Published.make(policies, "800Gi", ROWS)
    yield made
    made.remove()


def as_user(team, item):
    return as_tenant(team.cluster, "POST", team.pods + "?dryRun=All", item)


@pytest.mark.parametrize("item, words", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_pod_that_reaches_for_gpus_is_refused(team, item, words):
    answer = as_user(team, item)
    assert answer.status == 403 and words in answer.message, answer


@pytest.mark.parametrize("item", [r[1] for r in ADMITTED], ids=[r[0] for r in ADMITTED])
def test_a_pod_that_does_not_is_let_in(team, item):
    as_user(team, item).ok()


def test_elsewhere_nothing_of_this_is_looked_at(policies):
    other = Published.__mro__[1].make(policies)
    for _, item, _ in REFUSED:
        assert as_user(other, item).status == 201
    other.remove()


def test_the_platform_may(team):
    """A cluster admin, and a ServiceAccount that was given the right: a DaemonSet's pods are made by a controller."""
    team.admits(edited(privileged))
    rights = [{"apiGroups": ["gpuqos.io"], "resources": ["gpumemoryquotas/gates"], "verbs": ["update"]}]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    path = f"{kind['apiVersion']}/namespaces/{team.name}"
    team.cluster.api("POST", f"/api/v1/namespaces/{team.name}/serviceaccounts", {"metadata": {"name": "drivers"}}).ok()
    team.cluster.api("POST", f"/apis/{path}/roles", kind | {"kind": "Role", "metadata": {"name": "gates"}, "rules": rights}).ok()
    team.cluster.api("POST", f"/apis/{path}/rolebindings", kind | {
        "kind": "RoleBinding", "metadata": {"name": "gates"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gates"},
        "subjects": [{"kind": "ServiceAccount", "name": "drivers", "namespace": team.name}]}).ok()
    item = edited(privileged)
    item["spec"]["serviceAccountName"] = "drivers"
    wait_for(lambda: as_user(team, item).status == 201, "pods of that account may")
    assert as_user(team, edited(privileged)).status == 403


def test_a_debug_container_reaches_no_further(team):
    team.create(pod("debugged", amount=0)).ok()
    path = f"{team.pods}/debugged/ephemeralcontainers"
    debug = {"name": "debug", "image": "none", "env": [{"name": VISIBLE, "value": "all"}]}
    answer = as_tenant(team.cluster, "PATCH", path, {"spec": {"ephemeralContainers": [debug]}}, STRATEGIC)
    assert answer.status == 403 and f"container debug sets {VISIBLE}" in answer.message, answer
    debug = {"name": "debug", "image": "none", "securityContext": {"privileged": True}}
    answer = as_tenant(team.cluster, "PATCH", path, {"spec": {"ephemeralContainers": [debug]}}, STRATEGIC)
    assert answer.status == 403 and "container debug is privileged" in answer.message, answer
    debug = {"name": "debug", "image": "none"}
    as_tenant(team.cluster, "PATCH", path, {"spec": {"ephemeralContainers": [debug]}}, STRATEGIC).ok()


STRATEGIC = "application/strategic-merge-patch+json"


def test_annotations_cannot_do_afterwards_what_they_could_not_at_first(team):
    team.create(pod("shared", amount=0, annotations={"gpu-fraction": "0.5"})).ok()
    team.create(pod("plain", amount=0)).ok()
    frozen = "says what part of a GPU it asks for, and stays as it was"
    for name, annotations, words in [
            ("shared", {"gpu-fraction": "0.1"}, f"annotation gpu-fraction of a pod {frozen}"),
            ("shared", {"gpu-fraction": None}, f"annotation gpu-fraction of a pod {frozen}"),
            ("shared", {"gpu-fraction-num-devices": "4"}, f"annotation gpu-fraction-num-devices of a pod {frozen}"),
            ("plain", {"gpu-memory": "9000"}, f"annotation gpu-memory of a pod {frozen}"),
            ("plain", {"cdi.k8s.io/x": "nvidia.com/gpu=all"}, "annotation cdi.k8s.io/x reaches devices")]:
        for subresource in ("", "/status"):
            answer = as_tenant(team.cluster, "PATCH", f"{team.pods}/{name}{subresource}", {"metadata": {"annotations": annotations}})
            assert answer.status == 403, answer
            assert words in answer.message or subresource, answer


# What schedulers write when they have placed a pod, each as its own ServiceAccount that may update pods.
GIVEN = {
    "kai": {"received-resource-type": "Fraction", "kai.scheduler/numa-placement-observed": "[]", "runai/shared-gpu-configmap": "a-b"},
    "hami": {"hami.io/vgpu-devices-allocated": "GPU-a1,NVIDIA,8192,30:;", "hami.io/bind-phase": "success"},
    "volcano": {"volcano.sh/vgpu-ids-new": "GPU-a1,NVIDIA,8192,30:", "volcano.sh/bind-phase": "allocating"},
    "koordinator": {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": [{"minor": 0}]})},
}


@pytest.mark.parametrize("scheduler", GIVEN)
def test_schedulers_write_what_they_gave(team, scheduler):
    name = f"given-by-{scheduler}"
    team.create(pod(name, amount=0, annotations={"gpu-fraction": "0.5"})).ok()
    as_tenant(team.cluster, "PATCH", f"{team.pods}/{name}", {"metadata": {"annotations": GIVEN[scheduler]}}).ok()
    team.delete_pod(name, force=True)
