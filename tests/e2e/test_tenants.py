"""Several namespaces under one ceiling: what is granted, lent, called back and cut. All on one kind of
device, so that an amount is so many of them."""

import datetime
import os
import signal

import pytest

from cluster import NotYet, quantity, wait_for
from gpus import H100, condition, pod
from tenants import CARD, CeilingWatch, Tenant, cards, fill, hard, pod_names, wait_hard


@pytest.fixture(autouse=True)
def offer(nodes):
    nodes("h100=4")


@pytest.fixture
def make_tenant(world):
    """make_tenant(8, a, b, ...): a TenantQoS with a ceiling of so many devices over these namespaces."""
    made = []

    def make(ceiling, *namespaces, **spec):
        if ceiling:
            spec["ceiling"] = {"gpuMemory": cards(ceiling)}
        made.append(Tenant.make(world.cluster, *namespaces, **spec))
        return made[-1]
    yield make
    for tenant in made:
        tenant.remove()


@pytest.fixture
def pair(make_namespace):
    return make_namespace("first"), make_namespace("second")


@pytest.fixture
def manager(world):
    """Pid of kube-controller-manager, to be stopped and continued; continued in the end."""
    pid = int((world.cluster.directory / "pids" / "kube-controller-manager").read_text().split()[0])
    yield pid
    os.kill(pid, signal.SIGCONT)


@pytest.fixture
def kwok(world):
    """Pid of what plays the kubelets, likewise."""
    pid = int((world.cluster.directory / "pids" / "kwok").read_text().split()[0])
    yield pid
    os.kill(pid, signal.SIGCONT)


def restart(world):
    world.controller.kill()
    world.controller.start()


def wait_status(namespace, name="team", **fields):
    """Until the quota's status has these amounts, given in devices."""
    def reached():
        status = namespace.quota(name).get("status", {})
        got = {field: quantity(status.get(field, "-1")) // CARD for field in fields}
        return got == fields or NotYet(status)
    wait_for(reached, f"{namespace.name}: {fields} devices")


def wait_pods(namespace, *names):
    def reached():
        got = pod_names(namespace)
        return got == set(names) or NotYet(got)
    wait_for(reached, f"{namespace.name} has pods {names}")


def receipts(namespace):
    """{pod: Event} of what says that a pod was asked to go."""
    events = namespace.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{namespace.name}/events")["items"]
    return {e["related"]["name"]: e for e in events if e.get("reason") == "Evicted" and "related" in e}


def owner_kind(namespace):
    owner, = namespace.resource_quota()["metadata"]["ownerReferences"]
    return owner["kind"]


# --- the ceiling

def test_a_namespace_of_a_tenant_holds_nothing_without_a_quota(make_tenant, pair, world):
    first, second = pair
    tenant = make_tenant(8, first, second)
    for namespace in pair:
        wait_hard(namespace, 0)
        assert owner_kind(namespace) == "TenantQoS" and namespace.managed() == "true"
        answer = namespace.create(pod("p"))
        assert answer.status == 403 and "has no GpuMemoryQuota in force" in answer.message, answer
    tenant.wait_condition("Ready", "True", "Enforced")
    seen = tenant.wait_condition("Accepted", "True", "Accepted")["status"]
    assert (seen["namespaces"], seen["namespaceCount"], seen["granted"]) == (
        sorted(n.name for n in pair), 2, "0")
    bound = tenant.bindings()
    assert bound[f"gpuqos-tenant-{tenant.name}"]["policyName"] == "gpuqos-tenant-pods"
    assert bound[f"gpuqos-tenant-labels-{tenant.name}"]["policyName"] == "gpuqos-tenant-labels"
    assert len(bound) == 2

    first.put_quota(cards(4))
    wait_hard(first, 4)
    assert owner_kind(first) == "TenantQoS"
    # A quota that is deleted sets nobody free.
    first.delete_quota()
    wait_hard(first, 0)
    assert owner_kind(first) == "TenantQoS" and first.managed() == "true"
    assert first.create(pod("p")).status == 403


# By ways that ResourceQuota never counts, or that no node of the fixture offers.
ASKS = {
    "KAI": pod("a", amount=0, annotations={"gpu-fraction": "0.5"}),
    "KAI's memory": pod("a", amount=0, annotations={"gpu-memory": "4096"}),
    "KAI's memory by name": pod("a", "kai.scheduler/gpu-memory", 1000000),
    "KAI's fraction by name": pod("a", "kai.scheduler/gpu-fraction", 1000000),
    "MIG": pod("a", "nvidia.com/mig-1g.10gb"),
    "AMD": pod("a", "amd.com/gpu"),
    "Volcano": pod("a", "volcano.sh/vgpu-memory", 1024),
    "Koordinator": pod("a", "koordinator.sh/gpu-core", 100),
    "a class": pod("a", "deviceclass.resource.kubernetes.io/gpu.example.com"),
}


def test_whatever_asks_for_gpus_needs_a_quota_in_force(make_tenant, pair, world):
    """Hard 0 does not hold what is not counted, and what no node offers yet is not counted."""
    first, second = pair
    make_tenant(8, first, second)

    def ask(item):
        return world.cluster.api("POST", f"{first.pods}?dryRun=All", item)
    for way, item in ASKS.items():
        said = wait_for(lambda wanted=item: (answer := ask(wanted)).status == 403 and answer, way).message
        assert f"namespace {first.name} of TenantQoS" in said and "has no GpuMemoryQuota in force" in said, way
    ask(pod("plain", amount=0)).ok()
    ask(pod("none", "nvidia.com/mig-1g.10gb", 0)).ok()
    kai = ASKS["KAI"]
    first.put_quota(cards(4))
    wait_for(lambda: ask(kai).status == 201, "the quota prices it")
    assert "cannot price nvidia.com/mig-1g.10gb" in ask(ASKS["MIG"]).message
    # Beside a quota that governs, another that does not changes nothing.
    first.put_quota(cards(1), name="younger", enforced=False)
    first.wait_condition("Accepted", "False", "Duplicate", name="younger")
    ask(kai).ok()
    first.delete_quota()
    first.wait_condition("Accepted", "True", "Accepted", name="younger")
    wait_for(lambda: ask(kai).status == 201, "the younger one prices it")
    first.delete_quota("younger")
    wait_for(lambda: ask(kai).status == 403, "the last one is gone")


def test_a_pool_that_is_scaled_to_zero_and_back_lets_nobody_in(make_tenant, pair, nodes):
    first, second = pair
    make_tenant(8, first, second)
    first.put_quota(cards(2))
    wait_hard(second, 0)
    nodes("cpu")
    wait_hard(first, 0)
    for namespace in pair:
        assert hard(namespace) == 0 and hard(namespace, "spec") == 0
        assert namespace.create(pod("early")).status == 403
    nodes("h100=4")
    wait_hard(first, 2)
    assert first.list_pods() == second.list_pods() == []
    first.create(pod("now")).ok()


def test_quotas_are_granted_while_the_ceiling_lasts(make_tenant, pair, world):
    first, second = pair
    tenant = make_tenant(8, first, second)
    with CeilingWatch(world.cluster, pair) as watch:
        first.put_quota(cards(5))
        wait_hard(first, 5)
        second.put_quota(cards(5), enforced=False)
        seen = second.wait_condition("Accepted", "False", "CeilingExceeded")
        message = condition(seen, "Accepted")["message"]
        assert f"TenantQoS {tenant.name}" in message and "~159.3Gi are missing" in message, message
        assert "nothing is granted" in message and seen["status"]["effective"] == "0"
        second.wait_event("CeilingExceeded", "are missing")
        wait_hard(second, 0)

        restart(world)
        # Room appears: the one that was refused takes effect by itself.
        first.patch_quota(gpuMemory=cards(3))
        second.wait_condition("Ready", "True", "Enforced")
        wait_hard(second, 5)
        # A raise that does not fit keeps what was granted, and takes nothing from the other.
        first.patch_quota(gpuMemory=cards(4))
        seen = first.wait_condition("Accepted", "False", "CeilingExceeded")
        assert "stay granted." in condition(seen, "Accepted")["message"]
        restart(world)
        wait_status(first, granted=3, effective=3)
        wait_hard(first, 3)
        assert hard(second) == 5
        tenant.wait_status(granted=cards(8), namespaceCount=2)

        second.delete_quota()
        first.wait_condition("Ready", "True", "Enforced")
        wait_hard(first, 4)
        wait_hard(second, 0)
        assert watch.most <= 8, watch.most
        assert watch.changes > 8


def test_a_raise_waits_until_the_donor_is_seen_to_have_let_go(make_tenant, pair, world, manager):
    first, second = pair
    make_tenant(8, first, second)
    first.put_quota(cards(6))
    second.put_quota(cards(2))
    with CeilingWatch(world.cluster, pair) as watch:
        # Nobody copies spec.hard to status.hard now, which is what the API server enforces.
        os.kill(manager, signal.SIGSTOP)
        first.patch_quota(gpuMemory=cards(2))
        wait_hard(first, 2, "spec")
        second.patch_quota(gpuMemory=cards(6))
        seen = second.wait_condition("Ready", "False", "Pending")
        assert condition(seen, "Accepted")["status"] == "True"
        assert (hard(first), hard(second, "spec")) == (6, 2)
        restart(world)
        second.wait_condition("Ready", "False", "Pending")
        assert (hard(first), hard(second, "spec")) == (6, 2)
        os.kill(manager, signal.SIGCONT)
        second.wait_condition("Ready", "True", "Enforced")
        wait_hard(second, 6)
        assert (hard(first), watch.most) == (2, 8)


def test_a_lowered_ceiling_takes_from_the_youngest_and_stops_no_pod(make_tenant, pair, world):
    first, second = pair
    tenant = make_tenant(8, first, second)
    first.put_quota(cards(4))
    second.put_quota(cards(4))
    fill(second, "a", "b", "c", "d")
    tenant.patch(ceiling={"gpuMemory": cards(6)})
    seen = second.wait_condition("Exceeded", "True", "Shrunk")
    assert "the tenant's ceiling was cut" in condition(seen, "Exceeded")["message"]
    wait_status(second, granted=2, used=4)
    wait_status(first, granted=4, effective=4)
    assert pod_names(second) == {"a", "b", "c", "d"} and not receipts(second)


# --- lending

def test_unused_memory_is_lent_and_called_back(make_tenant, pair, world):
    owner, borrower = pair
    tenant = make_tenant(8, owner, borrower)
    with CeilingWatch(world.cluster, pair) as watch:
        owner.put_quota(cards(4))
        borrower.put_quota(cards(4), borrowLimit=cards(2))
        fill(borrower, "a", "b", "c", "d")
        # The owner keeps room for two of its devices.
        wait_status(borrower, borrowed=2, effective=6)
        wait_status(owner, lent=2, effective=2)
        tenant.wait_status(lent=cards(2))
        wait_hard(owner, 2)
        wait_hard(borrower, 6)
        fill(borrower, "e", "f")
        restart(world)
        wait_status(borrower, borrowed=2, effective=6, used=6)

        # The owner's use comes near what it kept: nothing new for the borrower, whose pods stay.
        fill(owner, "g")
        fill(owner, "h")
        borrower.wait_condition("Exceeded", "True", "Recalled")
        wait_status(borrower, effective=4)
        assert borrower.create(pod("late", product=H100)).status == 403
        assert len(pod_names(borrower)) == 6 and not receipts(borrower)
        for name in ("e", "f"):
            borrower.delete_pod(name)
        wait_status(owner, lent=0, effective=4)
        wait_status(borrower, borrowed=0, effective=4)
        borrower.wait_condition("Exceeded", "False", "WithinLimit")
        fill(owner, "i", "j")
        tenant.wait_status(lent="0", used=cards(8))
        assert watch.most <= 8, watch.most


def test_what_is_called_back_evicts_the_youngest_where_the_borrower_says_so(make_tenant, pair, world):
    owner, borrower = pair
    make_tenant(8, owner, borrower)
    owner.put_quota(cards(4))
    borrower.put_quota(cards(4), borrowLimit=cards(2), onShrink="Evict")
    fill(borrower, "f", "e", "d", "c")
    wait_hard(borrower, 6)
    fill(borrower, "b", "a")
    fill(owner, "g")
    fill(owner, "h")
    wait_pods(borrower, "f", "e", "d", "c")
    assert set(receipts(borrower)) == {"a", "b"}
    wait_hard(owner, 4)


# --- cuts

def test_evict_takes_the_excess_at_once_with_a_receipt_for_each(make_tenant, pair, world):
    namespace, _ = pair
    make_tenant(8, namespace)
    namespace.put_quota(cards(4), onShrink="Evict")
    fill(namespace, "d", "c", "b", "a")
    mark = world.cluster.audit_mark()
    namespace.patch_quota(gpuMemory=cards(2))
    wait_pods(namespace, "d", "c")
    namespace.wait_condition("Exceeded", "False", "WithinLimit")
    made = receipts(namespace)
    assert set(made) == {"a", "b"}
    for name, event in made.items():
        assert event["regarding"]["kind"] == "GpuMemoryQuota" and event["type"] == "Warning"
        assert f"Pod {name} holds " in event["note"] and "onShrink Evict" in event["note"], event["note"]
    # The receipt is written before its eviction, and the next eviction after the pod before it is gone.
    steps = [(e["objectRef"]["resource"], e["objectRef"].get("subresource"))
             for e in world.cluster.audit(verb="create", since=mark)
             if e["objectRef"].get("namespace") == namespace.name and e["stage"] == "ResponseComplete"
             and (e["objectRef"].get("subresource") == "eviction" or "gpuqos-evicted" in e["objectRef"].get("name", ""))]
    evictions = [s for s in steps if s[1] == "eviction"]
    assert len(evictions) == 2, steps

    def told():
        return {tuple(sorted(dict(labels).items())): value for (name, labels), value in world.controller.metrics().items()
                if name == "gpuqos_evictions_total" and dict(labels)["namespace"] == namespace.name}
    assert told() == {(("namespace", namespace.name), ("reason", "Shrunk"), ("result", "issued")): 2.0}, told()


def test_a_budget_keeps_a_pod_and_nothing_else_waits_for_it(make_tenant, pair, world):
    namespace, _ = pair
    make_tenant(8, namespace)
    namespace.put_quota(cards(2), onShrink="Evict")
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"},
              "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "kept"}}}}
    budgets = f"/apis/policy/v1/namespaces/{namespace.name}/poddisruptionbudgets"
    fill(namespace, "b", "a", labels={"app": "kept"})
    world.cluster.api("POST", budgets, budget).ok()

    def observed():
        status = world.cluster.get(f"{budgets}/keep").get("status", {})
        return status.get("currentHealthy") == 2 and status.get("disruptionsAllowed") == 0 or NotYet(status)
    wait_for(observed, "the budget counts two")
    namespace.patch_quota(gpuMemory=cards(1))

    def kept():
        message = namespace.condition("Exceeded")["message"]
        return "PodDisruptionBudget" in message or NotYet(message)
    wait_for(kept, "Exceeded says what keeps the pod")
    # Gates and status are written all the same.
    wait_hard(namespace, 1)
    namespace.patch_quota(gpuMemory=cards(1), perPod={"gpus": 1})
    namespace.wait_condition("Accepted", "True", "Accepted")
    assert pod_names(namespace) == {"a", "b"}
    restart(world)
    world.cluster.api("DELETE", f"{budgets}/keep").ok()
    # Whichever is asked first from then on: who was refused lately waits a little.
    wait_for(lambda: len(pod_names(namespace)) == 1, "one is evicted")
    namespace.wait_condition("Exceeded", "False", "WithinLimit")


def test_drain_leaves_pods_alone_until_the_deadline(make_tenant, pair, world):
    namespace, _ = pair
    make_tenant(8, namespace)
    namespace.put_quota(cards(2), onShrink="Drain", shrinkDeadlineSeconds=4)
    fill(namespace, "b", "a")
    namespace.patch_quota(gpuMemory=cards(1))
    seen = namespace.wait_condition("Exceeded", "True", "Shrunk")
    cut = datetime.datetime.fromisoformat(condition(seen, "Exceeded")["lastTransitionTime"])
    restart(world)
    wait_pods(namespace, "b")
    event, = receipts(namespace).values()
    evicted = datetime.datetime.fromisoformat(event["eventTime"])
    assert event["related"]["name"] == "a" and (evicted - cut).total_seconds() >= 4
    namespace.wait_condition("Exceeded", "False", "WithinLimit")


def test_freeze_stops_nothing(make_tenant, pair, world):
    namespace, _ = pair
    make_tenant(8, namespace)
    namespace.put_quota(cards(2))
    fill(namespace, "a", "b")
    namespace.patch_quota(gpuMemory=cards(1))
    namespace.wait_condition("Exceeded", "True", "Shrunk")
    wait_hard(namespace, 1)
    assert pod_names(namespace) == {"a", "b"} and not receipts(namespace)


# --- the rest of a quota

def test_dry_run_writes_nothing_and_counts_what_it_would_refuse(namespace, world):
    namespace.put_quota(cards(1), enforced=False, enforcement="DryRun")
    namespace.wait_condition("Ready", "True", "DryRun")
    for name in ("a", "b", "c"):
        namespace.create(pod(name, product=H100)).ok()

    def counted():
        told = namespace.quota()["status"].get("dryRun", {})
        return told.get("refusedPods") == 2 or NotYet(told)
    wait_for(counted, "two would have been refused")
    assert namespace.resource_quota() is None and namespace.limit_range() is None
    # From then on it holds, and back.
    namespace.patch_quota(enforcement="Enforce")
    wait_hard(namespace, 1)
    namespace.patch_quota(enforcement="DryRun")
    wait_for(lambda: namespace.resource_quota() is None, "the ResourceQuota is gone")


def set_ready(cluster, node, status):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": status, "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now}
    others = [c for c in cluster.get(f"/api/v1/nodes/{node}")["status"]["conditions"] if c["type"] != "Ready"]
    cluster.api("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [*others, ready]}}).ok()


def test_a_pod_stuck_on_a_dead_node_is_released_and_charged_when_the_node_returns(namespace, world, kwok):
    namespace.put_quota(cards(2), releaseOn="Terminal", terminalTimeoutSeconds=1)
    fill(namespace, "a", finalizers=["example.com/hold"])
    node, = (p["spec"]["nodeName"] for p in namespace.list_pods())
    wait_status(namespace, used=1, released=0)
    os.kill(kwok, signal.SIGSTOP)
    set_ready(world.cluster, node, "Unknown")
    namespace.delete_pod("a")
    wait_status(namespace, used=0, released=1)
    assert namespace.quota()["status"]["releasedPods"] == 1
    assert world.controller.metric("gpuqos_quota_released_bytes", namespace=namespace.name) == CARD
    restart(world)
    wait_status(namespace, used=0, released=1)
    # The node comes back, and the pod still runs there.
    set_ready(world.cluster, node, "True")
    wait_status(namespace, used=1, released=0)
    os.kill(kwok, signal.SIGCONT)
    world.cluster.api("PATCH", f"{namespace.pods}/a", {"metadata": {"finalizers": None}}).ok()
    wait_status(namespace, used=0, released=0)


# --- who belongs to whom

def test_of_two_tenants_the_older_has_the_namespace(make_tenant, namespace, world):
    older = make_tenant(8, namespace)
    born = older.object()["metadata"]["creationTimestamp"]

    def later():
        item = older.object() | {"metadata": {"name": "probe"}}
        item.pop("status", None)
        return world.cluster.api("POST", f"{older.path.rsplit('/', 1)[0]}?dryRun=All", item).ok()[
            "metadata"]["creationTimestamp"] > born
    wait_for(later, "a second has passed")
    younger = make_tenant(4, namespaceSelector={"matchLabels": {"team": older.name}})
    seen = younger.wait_condition("Accepted", "False", "NamespaceConflict")
    assert older.name in condition(seen, "Accepted")["message"]
    older.remove()
    wait_for(lambda: Tenant.label(namespace) == younger.name, "the younger has it")
    younger.wait_condition("Accepted", "True", "Accepted")


def test_a_namespace_that_leaves_is_bound_by_its_own_quota_alone(make_tenant, pair, world):
    first, second = pair
    tenant = make_tenant(4, first, second)
    first.put_quota(cards(4))
    second.put_quota(cards(4), enforced=False)
    second.wait_condition("Accepted", "False", "CeilingExceeded")
    tenant.dismiss(first)
    # Both are whole: one outside, one with the room that it left.
    first.wait_condition("Ready", "True", "Enforced")
    second.wait_condition("Ready", "True", "Enforced")
    wait_hard(first, 4)
    wait_hard(second, 4)
    wait_for(lambda: owner_kind(first) == "GpuMemoryQuota", "the ResourceQuota is handed over")
    assert first.managed() == "true" and first.quota()["status"].get("tenant", "") == ""


def test_a_tenant_that_is_deleted_leaves_quotas_and_frees_the_rest(make_tenant, pair, world):
    first, second = pair
    tenant = make_tenant(4, first, second)
    first.put_quota(cards(4))
    wait_hard(second, 0)
    restart(world)
    tenant.remove()
    wait_for(lambda: second.managed() is None and second.resource_quota() is None and Tenant.label(second) is None,
             "nothing is left in the namespace without a quota")

    def handed_over():
        return (owner_kind(first), hard(first), Tenant.label(first)) == ("GpuMemoryQuota", 4, None)
    wait_for(handed_over, "the quota owns its ResourceQuota")
    wait_for(lambda: not tenant.bindings(), "its bindings are gone")
    first.wait_condition("Ready", "True", "Enforced")
    second.create(pod("free", product=H100)).ok()


def test_the_metrics_show_the_tenant(make_tenant, pair, world):
    first, _ = pair
    tenant = make_tenant(8, first)
    first.put_quota(cards(4))
    fill(first, "a")

    def shown():
        got = [world.controller.metric(f"gpuqos_tenant_{what}_bytes", tenant=tenant.name)
               for what in ("ceiling", "granted", "used", "lent")]
        return got == [8 * CARD, 4 * CARD, CARD, 0] or NotYet(got)
    wait_for(shown, "the page has its amounts")
