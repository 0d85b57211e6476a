"""What a GpuMemoryQuota's status says: each condition reached and left, and how it reads."""

import os
import signal

import pytest

from cluster import JSON_PATCH, MERGE, NotYet, quantity, wait_for
from gpus import GIB, GPU, H100, UNIT, condition, pod

OFFER = ("h100=2", "t4")


@pytest.fixture(autouse=True)
def offer(nodes):
    nodes(*OFFER)


@pytest.fixture
def manager(world):
    """Pid of kube-controller-manager, to be stopped and continued; continued in the end."""
    pid = int((world.cluster.directory / "pids" / "kube-controller-manager").read_text().split()[0])
    yield pid
    os.kill(pid, signal.SIGCONT)


def test_a_quota_becomes_enforced_and_its_status_adds_up(namespace):
    seen = namespace.put_quota("320Gi")
    status = seen["status"]
    assert status["observedGeneration"] == seen["metadata"]["generation"] == 1
    assert (status["effective"], status["used"], status["live"], status["usedPercent"]) == ("320Gi", "0", "0", 0)
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "Ready": "True", "Accepted": "True", "Exceeded": "False", "Throttled": "False", "Drifted": "False",
        "Priced": "True"}
    assert all(c["reason"] and c["message"] and c["lastTransitionTime"] and c["observedGeneration"] == 1
               for c in status["conditions"])
    rows = {(r["name"], r["product"]): r for r in status["resources"]}
    assert rows[GPU, H100] | {"unitMemory": 0} == {
        "name": GPU, "product": H100, "unitMemory": 0, "sharing": "None", "used": 0, "hard": 4}
    assert quantity(rows[GPU, H100]["unitMemory"]) == UNIT["h100"]
    assert rows[GPU, "Tesla-T4"]["hard"] == 21
    made = namespace.resource_quota()
    assert made["spec"] == {"hard": {"requests.nvidia.com/gpu": "21"}}
    owner, = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("GpuMemoryQuota", "team", seen["metadata"]["uid"])
    assert namespace.limit_range() is None


def test_used_and_live_follow_the_pods(namespace):
    namespace.put_quota("320Gi")
    namespace.create(pod("runs", product=H100)).ok()
    waiting = pod("waits", product=H100)
    waiting["spec"]["nodeSelector"]["kubernetes.io/hostname"] = "nowhere"
    namespace.create(waiting).ok()

    def counted():
        status = namespace.quota()["status"]
        got = quantity(status["used"]), quantity(status["live"]), status["pods"], status["gpus"], status["usedPercent"]
        return got == (2 * UNIT["h100"], UNIT["h100"], 2, 2, 50) or NotYet(got)
    wait_for(counted, "two pods are counted, one of them live")
    namespace.delete_pod("runs")
    namespace.delete_pod("waits")

    def free():
        status = namespace.quota()["status"]
        return (quantity(status["used"]), status["pods"]) == (0, 0) or NotYet(status)
    wait_for(free, "nothing is held")


def test_ready_waits_for_the_status_of_the_resource_quota(namespace, manager):
    os.kill(manager, signal.SIGSTOP)
    namespace.put_quota("320Gi", enforced=False)
    namespace.wait_condition("Ready", "False", "Pending")

    def says_what_is_missing():
        message = namespace.condition("Ready")["message"]
        return "does not show the hard values yet" in message or NotYet(message)
    wait_for(says_what_is_missing, "Ready says that the status of the ResourceQuota is missing")
    assert namespace.resource_quota()["spec"]["hard"]["requests.nvidia.com/gpu"] == "21"
    os.kill(manager, signal.SIGCONT)
    namespace.wait_condition("Ready", "True", "Enforced")
    # A new spec goes the same way.
    os.kill(manager, signal.SIGSTOP)
    namespace.patch_quota(gpuMemory="160Gi")
    namespace.wait_condition("Ready", "False", "Pending")
    os.kill(manager, signal.SIGCONT)
    seen = namespace.wait_condition("Ready", "True", "Enforced")
    assert seen["status"]["observedGeneration"] == 2 and seen["status"]["effective"] == "160Gi"
    assert namespace.resource_quota()["status"]["hard"]["requests.nvidia.com/gpu"] == "10"


def test_of_two_quotas_the_older_governs_until_it_is_deleted(namespace):
    namespace.put_quota("320Gi", "older")
    # Creation times have whole seconds, and of the same second the order is another.
    born = namespace.quota("older")["metadata"]["creationTimestamp"]
    probe = f"{namespace.quotas}?dryRun=All"

    def later():
        return namespace.cluster.api("POST", probe, {
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota", "metadata": {"name": "probe"},
            "spec": {"gpuMemory": "1Gi"}}).ok()["metadata"]["creationTimestamp"] > born
    wait_for(later, "a second has passed")
    namespace.put_quota("640Gi", "younger", enforced=False)
    seen = namespace.wait_condition("Accepted", "False", "Duplicate", "younger")
    assert "older" in condition(seen, "Accepted")["message"]
    assert (condition(seen, "Ready")["status"], seen["status"]["effective"]) == ("False", "0")
    assert namespace.condition("Accepted", "older")["status"] == "True"
    assert namespace.resource_quota()["spec"]["hard"]["requests.nvidia.com/gpu"] == "21"
    namespace.wait_event("Duplicate", "older")
    # The policy reads both and lets the one that does not govern pass.
    namespace.create(pod("fits")).ok()

    namespace.delete_quota("older")
    seen = namespace.wait_enforced("younger")
    assert condition(seen, "Accepted")["reason"] == "Accepted" and seen["status"]["effective"] == "640Gi"
    assert namespace.resource_quota()["spec"]["hard"]["requests.nvidia.com/gpu"] == "42"
    owner, = namespace.resource_quota()["metadata"]["ownerReferences"]
    assert owner["name"] == "younger"


def test_a_quota_that_waits_for_a_finalizer_governs_no_more(namespace):
    namespace.put_quota("320Gi", "first")
    path = f"{namespace.quotas}/first"
    namespace.cluster.api("PATCH", path, {"metadata": {"finalizers": ["example.com/wait"]}}).ok()
    namespace.delete_quota("first")
    namespace.wait_condition("Accepted", "False", "Terminating", "first")
    namespace.put_quota("160Gi", "second")
    assert namespace.resource_quota()["spec"]["hard"]["requests.nvidia.com/gpu"] == "10"
    namespace.cluster.api("PATCH", path, {"metadata": {"finalizers": None}}).ok()
    wait_for(lambda: namespace.cluster.api("GET", path).status == 404, "the first is gone")
    # Garbage collection goes by the owner: what was handed over stays.
    namespace.wait_enforced("second")
    assert namespace.resource_quota()["metadata"]["ownerReferences"][0]["name"] == "second"


def test_the_last_quota_gone_frees_the_namespace(namespace):
    namespace.put_quota("20Gi")
    namespace.wait_refused(pod("big"), "")
    namespace.delete_quota()
    wait_for(lambda: namespace.managed() is None and namespace.resource_quota() is None,
             "label and ResourceQuota are gone")
    namespace.create(pod("big")).ok()


def test_lowering_the_spec_below_use_is_exceeded_and_stops_no_running_pod(namespace):
    namespace.put_quota("320Gi")
    for name in ("a", "b"):
        namespace.create(pod(name, product=H100)).ok()
    wait_for(lambda: namespace.quota()["status"]["pods"] == 2, "both are counted")
    namespace.patch_quota(gpuMemory="100Gi")
    seen = namespace.wait_condition("Exceeded", "True", "Shrunk")
    assert "nothing new is admitted until pods finish or are deleted" in condition(seen, "Exceeded")["message"]
    assert seen["status"]["usedPercent"] > 100
    namespace.wait_event("Shrunk", "are held where")
    namespace.wait_enforced()
    assert namespace.create(pod("c", "nvidia.com/gpu", 1, "Tesla-T4")).status == 403
    assert {p["metadata"]["name"] for p in namespace.list_pods()} == {"a", "b"}
    namespace.delete_pod("a")
    namespace.wait_condition("Exceeded", "False", "WithinLimit")
    namespace.wait_refused(pod("c", GPU, 2, "Tesla-T4"), "")
    namespace.create(pod("c", GPU, 1, "Tesla-T4")).ok()


@pytest.mark.parametrize("spec, words", [
    ({"gpus": 1}, "2 whole GPUs are held where 1 are allowed"),
    ({"resources": {GPU: 1}}, "2 of nvidia.com/gpu are held where 1 are allowed"),
], ids=["gpus", "a cap of one resource"])
def test_a_cap_below_use_is_exceeded(namespace, spec, words):
    namespace.put_quota("320Gi")
    namespace.create(pod("a", GPU, 2, H100)).ok()
    namespace.patch_quota(**spec)
    seen = namespace.wait_condition("Exceeded", "True", "Shrunk")
    assert words in condition(seen, "Exceeded")["message"]
    assert namespace.resource_quota()["spec"]["hard"]["requests.nvidia.com/gpu"] == "1"
    namespace.patch_quota(**{key: None for key in spec})
    namespace.wait_condition("Exceeded", "False", "WithinLimit")


def age_condition(namespace, kind):
    """Puts the condition's last transition an hour back."""
    seen = namespace.quota()["status"]["conditions"]
    index = [c["type"] for c in seen].index(kind)
    patch = [{"op": "test", "path": f"/status/conditions/{index}/type", "value": kind},
             {"op": "replace", "path": f"/status/conditions/{index}/lastTransitionTime", "value": "2026-01-01T00:00:00Z"}]
    namespace.cluster.api("PATCH", f"{namespace.quotas}/team/status", patch, JSON_PATCH).ok()


@pytest.mark.parametrize("change", [{"requests.nvidia.com/gpu": "1000"}, {"pods": "7"},
                                    {"requests.nvidia.com/gpu": None}, {"requests.nvidia.com/gpu": "1e30"}],
                         ids=["our value", "a key of its own", "our key removed", "our value beyond any number"])
def test_a_foreign_change_of_the_resource_quota_is_named_and_put_right(namespace, change):
    namespace.put_quota("320Gi")
    path = f"{namespace.path}/resourcequotas/gpuqos?fieldManager=meddler"
    namespace.cluster.api("PATCH", path, {"spec": {"hard": change}}).ok()

    def put_right():
        now = namespace.resource_quota()["spec"]
        return now.get("hard") == {"requests.nvidia.com/gpu": "21"} or NotYet(now)
    wait_for(put_right, "our values are put back")
    if None in change.values():
        return  # what was removed has no owner to name
    seen = namespace.wait_condition("Drifted", "True", "ForeignWriter")
    assert "pods" in change or '"meddler"' in condition(seen, "Drifted")["message"]
    namespace.wait_event("ForeignWriter", "")
    # It stays to be read for a while, then goes by itself; nobody waits for that here.
    namespace.wait_condition("Ready", "True", "Enforced")
    age_condition(namespace, "Drifted")
    namespace.wait_condition("Drifted", "False", "InSync")


def test_a_resource_quota_that_counts_only_some_pods_is_made_anew(namespace):
    """The API server lets nobody change scopes, and pods outside of them are not counted."""
    scoped = {"metadata": {"name": "gpuqos"}, "spec": {"hard": {"pods": "7"}, "scopes": ["NotTerminating"]}}
    namespace.cluster.api("POST", f"{namespace.path}/resourcequotas", scoped).ok()
    namespace.put_quota("320Gi")
    assert namespace.resource_quota()["spec"] == {"hard": {"requests.nvidia.com/gpu": "21"}}


def test_what_was_deleted_by_hand_comes_back(namespace):
    namespace.put_quota("320Gi")
    before = namespace.resource_quota()["metadata"]["uid"]
    namespace.cluster.api("DELETE", f"{namespace.path}/resourcequotas/gpuqos").ok()

    def back():
        now = namespace.resource_quota()
        return now and now["metadata"]["uid"] != before
    wait_for(back, "ResourceQuota gpuqos is there again")
    namespace.cluster.api("PATCH", namespace.path, {"metadata": {"labels": {"gpuqos.io/managed": None}}}).ok()
    wait_for(lambda: namespace.managed() == "true", "the label is there again")
    namespace.cluster.api("PATCH", f"{namespace.quotas}/team/status", {"status": None}, MERGE).ok()
    seen = namespace.wait_enforced()
    assert seen["status"]["effective"] == "320Gi"


def test_a_spec_that_cannot_be_used_grants_nothing_and_says_why(namespace):
    namespace.put_quota("320Gi", enforced=False, resources={"example.com/widget": 3})
    seen = namespace.wait_condition("Accepted", "False", "Invalid")
    assert "example.com/widget is no GPU resource that is known" in condition(seen, "Accepted")["message"]
    assert (condition(seen, "Ready")["reason"], seen["status"]["effective"]) == ("NotAccepted", "0")
    wait_for(lambda: namespace.resource_quota()["spec"]["hard"] == {"requests.nvidia.com/gpu": "0"}, "none is allowed")
    wait_for(lambda: namespace.create(pod("any")).status == 403, "no GPU is to be had")
    namespace.create(pod("plain", amount=0)).ok()
    namespace.patch_quota(resources=None)
    namespace.wait_enforced()
    assert namespace.condition("Accepted")["reason"] == "Accepted"


def test_devices_whose_memory_nobody_tells_make_exceeded_unknown(world, namespace, nodes):
    nodes("mi300x", "h100")
    namespace.put_quota("320Gi")
    namespace.create(pod("a", "amd.com/gpu")).ok()
    wait_for(lambda: quantity(namespace.quota()["status"]["used"]) == 192 * GIB, "it is priced")
    one = pod("c", GPU)
    namespace.cluster.api("POST", namespace.pods + "?dryRun=All", one).ok()
    node = "/api/v1/nodes/mi300x-0"
    world.cluster.api("PATCH", node, {"metadata": {"labels": {"amd.com/gpu.vram": None}}}).ok()
    seen = namespace.wait_condition("Exceeded", "Unknown", "UnknownDeviceMemory")
    assert "unitMemory" not in seen["status"]["resources"][0]
    wait_for(lambda: namespace.resource_quota()["spec"]["hard"]["requests.amd.com/gpu"] == "0", "no more of them")
    namespace.wait_refused(pod("b", "amd.com/gpu"), "cannot price amd.com/gpu")
    # What is free for others is not known either.
    namespace.wait_refused(one, "pods hold devices whose memory nothing tells (see condition Priced)")
    world.cluster.api("PATCH", node, {"metadata": {"labels": {"amd.com/gpu.vram": "192G"}}}).ok()
    namespace.wait_condition("Exceeded", "False", "WithinLimit")
    wait_for(lambda: namespace.cluster.api("POST", namespace.pods + "?dryRun=All", one).status == 201, "it is known again")


def test_the_resource_quota_follows_what_nodes_offer(namespace, nodes):
    namespace.put_quota("320Gi")
    nodes(*OFFER, "mig-mixed", "mi300x")

    def hard():
        now = namespace.resource_quota()["spec"]["hard"]
        return now == {"requests.nvidia.com/gpu": "21", "requests.amd.com/gpu": "1",
                       "requests.nvidia.com/mig-1g.10gb": "32", "requests.nvidia.com/mig-2g.20gb": "16",
                       "requests.nvidia.com/mig-3g.40gb": "8"} or NotYet(now)
    wait_for(hard, "hard values for all that is offered")
    nodes("h100")

    def left():
        now = namespace.resource_quota()["spec"]["hard"]
        return now == {"requests.nvidia.com/gpu": "4", "requests.amd.com/gpu": "0", "requests.nvidia.com/mig-1g.10gb": "0",
                       "requests.nvidia.com/mig-2g.20gb": "0", "requests.nvidia.com/mig-3g.40gb": "0"} or NotYet(now)
    wait_for(left, "hard values for what is left, and nothing for what is gone")


# --- LimitRange

def test_a_limit_range_is_there_while_container_defaults_are(namespace):
    namespace.put_quota("320Gi", containerDefaults={GPU: 1})
    one = {"type": "Container", "default": {GPU: "1"}, "defaultRequest": {GPU: "1"}}
    wait_for(lambda: namespace.limit_range()["spec"] == {"limits": [one]}, "LimitRange gpuqos has the defaults")
    assert "every container of the namespace" in namespace.condition("Accepted")["message"]
    wait_for(lambda: namespace.cluster.api("POST", namespace.pods + "?dryRun=All", pod("a", amount=0)).ok()
             ["spec"]["containers"][0].get("resources", {}).get("requests") == {GPU: "1"}, "a container gets one")
    namespace.patch_quota(containerDefaults={GPU: 2})
    wait_for(lambda: namespace.limit_range()["spec"]["limits"][0]["default"] == {GPU: "2"}, "it follows the spec")
    namespace.patch_quota(containerDefaults=None)
    wait_for(lambda: namespace.limit_range() is None, "LimitRange gpuqos is gone")


def test_a_limit_range_of_somebody_else_stays(namespace):
    path = f"{namespace.path}/limitranges"
    namespace.cluster.api("POST", path, {"metadata": {"name": "gpuqos"}, "spec": {
        "limits": [{"type": "Container", "max": {"cpu": "4"}}]}}).ok()
    namespace.put_quota("320Gi")
    assert namespace.limit_range()["spec"]["limits"][0]["max"] == {"cpu": "4"}


# --- how it reads

def test_the_columns_of_kubectl_get(world, namespace):
    namespace.put_quota("320Gi")
    namespace.create(pod("a", GPU, 2, H100)).ok()
    wait_for(lambda: namespace.quota()["status"]["pods"] == 1, "the pod is counted")
    lines = world.cluster.kubectl("get", "gmq", "-n", namespace.name).splitlines()
    assert lines[0].split() == ["NAME", "MEMORY", "EFFECTIVE", "USED", "USED%", "GPUS", "PODS", "THROTTLED", "READY", "AGE"]
    assert lines[1].split()[:-1] == ["team", "320Gi", "320Gi", "163118Mi", "50", "2", "1", "False", "True"]
    wide = world.cluster.kubectl("get", "gmq", "-n", namespace.name, "-o", "wide").splitlines()
    assert wide[0].split() == ["NAME", "MEMORY", "EFFECTIVE", "USED", "USED%", "GPUS", "PODS", "THROTTLED", "READY", "ACCEPTED",
                               "GRANTED", "LENT", "BORROWED", "TENANT", "AGE"]
    assert wide[1].split()[7:10] == ["False", "True", "True"]
    assert world.cluster.kubectl("get", "gpuqos", "-n", namespace.name, "-o", "name").split() == [
        "gpumemoryquota.gpuqos.io/team"]


@pytest.mark.parametrize("field, words", [
    ("", "One per namespace is in force, the oldest"),
    ("spec", "Written by a tenant admin"),
    ("spec.gpuMemory", "at least 1Gi"),
    ("spec.perPod.gpuMemory", "GPU memory of one pod"),
    ("spec.containerDefaults", "every container"),
    ("status.resources.unitMemory", "GPU memory of one unit"),
    ("status.resources.sharing", "Fraction, a part of a card"),
    ("status.conditions", "whether that is what the spec asks for is condition Accepted"),
    ("status.conditions.reason", "One word for programs"),
])
def test_kubectl_explains_each_field(world, field, words):
    text = world.cluster.kubectl("explain", "gmq" + (f".{field}" if field else ""))
    assert words in " ".join(text.split())


@pytest.mark.parametrize("memory, words", [
    ("320", "gpuMemory 320 is less than 1Gi; write it with a unit, such as 320Gi"),
    ("many", "gpuMemory must be a quantity of bytes, such as 320Gi"),
    ("-1Gi", "is less than 1Gi"),
    ("8Ei", "must be less than 8Ei"),
])
def test_a_senseless_spec_is_refused_when_it_is_written(namespace, memory, words):
    answer = namespace.cluster.api("POST", namespace.quotas, {
        "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota", "metadata": {"name": "team"},
        "spec": {"gpuMemory": memory}})
    assert answer.status == 422 and words in answer.message, answer
