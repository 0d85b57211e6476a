"""What a TenantQoS says of its tenant's pods and namespaces, with bindings as the controller writes them."""

import json
import uuid

import pytest

from cluster import wait_for
from controller import as_tenant
from gpus import GPU, container, pod
from published import Published, PublishedTenant, row


@pytest.fixture(scope="module")
def tenant(policies):
    """make(**spec): a TenantQoS and a namespace of it."""
    made = []

    def make(**spec):
        owner = PublishedTenant(policies, f"x{uuid.uuid4().hex[:8]}", **spec)
        team = Published.make(policies, rows=[row(GPU, "80Gi")], labels=owner.labels())
        made.extend([team, owner])
        return owner, team
    yield make
    for each in made:
        each.remove()


# --- PriorityClasses

def with_class(name):
    item = pod("p", amount=0)
    item["spec"]["priorityClassName"] = name
    return item


def test_only_the_listed_priority_classes_may_be_named(tenant):
    owner, team = tenant(priorityClasses=["gpuqos-training", "gpuqos-best-effort"])
    wait_for(lambda: team.answer(with_class("gpuqos-inference")).status == 403, "the policy knows its tenant")
    said = team.refuses(with_class("gpuqos-inference"))
    assert f"TenantQoS {owner.name}: this pod has PriorityClass gpuqos-inference" in said
    assert "may use gpuqos-training, gpuqos-best-effort" in said
    team.admits(with_class("gpuqos-training"))
    team.admits(pod("p", amount=0))


def test_the_default_of_the_cluster_is_no_way_around(policies, tenant):
    _, team = tenant(priorityClasses=["gpuqos-training"])
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    policies.api("POST", path, {"metadata": {"name": "everybody"}, "value": 900000, "globalDefault": True}).ok()
    try:
        wait_for(lambda: "PriorityClass everybody" in team.answer(pod("p", amount=0)).message, "the default is refused")
    finally:
        policies.api("DELETE", f"{path}/everybody").ok()


def test_without_a_list_any_class_may_be_named(tenant):
    _, team = tenant()
    team.admits(with_class("gpuqos-inference"))


def test_our_classes_preempt_nobody_and_stay_below_the_system(policies):
    found = {c["metadata"]["name"]: c for c in policies.get("/apis/scheduling.k8s.io/v1/priorityclasses")["items"]}
    ours = [found[f"gpuqos-{tier}"] for tier in ("best-effort", "training", "inference")]
    assert {c["preemptionPolicy"] for c in ours} == {"Never"}
    values = [c["value"] for c in ours]
    assert values == sorted(values) and 0 < values[0] and values[-1] < 1_000_000_000
    assert not any(c.get("globalDefault") for c in ours)


# --- QoS classes

CPU, MEMORY = {"cpu": "1"}, {"memory": "1Gi"}
BOTH = CPU | MEMORY


def part(name="main", requests=None, limits=None):
    return container(name) | {"resources": {"requests": requests or {}, "limits": limits or {}}}


def parts(*containers, first=(), whole=None):
    item = pod("p", amount=0)
    item["spec"]["containers"] = list(containers)
    if first:
        item["spec"]["initContainers"] = list(first)
    if whole:
        item["spec"]["resources"] = whole
    return item


def with_gpu(item):
    """The same, asking for a part of a GPU."""
    return item | {"metadata": item["metadata"] | {"annotations": {"gpu-memory": "1"}}}


SHAPES = [
    ("limits alone", parts(part(limits=BOTH)), "Guaranteed"),
    ("limits and equal requests", parts(part(requests=BOTH, limits=BOTH)), "Guaranteed"),
    ("the same amount, written otherwise", parts(part(requests={"cpu": "1000m", "memory": "1024Mi"}, limits=BOTH)), "Guaranteed"),
    ("a request below its limit", parts(part(requests={"cpu": "500m"}, limits=BOTH)), "Burstable"),
    ("no memory", parts(part(limits=CPU)), "Burstable"),
    ("requests alone", parts(part(requests=BOTH)), "Burstable"),
    ("nothing", parts(part()), "BestEffort"),
    ("a GPU alone", parts(part(limits={GPU: "1"})), "BestEffort"),
    ("zeros", parts(part(requests={"cpu": "0"}, limits={"memory": "0"})), "BestEffort"),
    ("one of two containers", parts(part(limits=BOTH), part("second")), "Burstable"),
    ("an init container without", parts(part(limits=BOTH), first=[part("first")]), "Burstable"),
    ("an init container with", parts(part(limits=BOTH), first=[part("first", limits=BOTH)]), "Guaranteed"),
    ("the pod as a whole", parts(part(), whole={"requests": BOTH, "limits": BOTH}), "Guaranteed"),
    ("the pod as a whole, loosely", parts(part(limits=BOTH), whole={"requests": BOTH, "limits": {"cpu": "2", "memory": "1Gi"}}), "Burstable"),
]


@pytest.fixture(scope="module")
def strict(tenant):
    made = {kind: tenant(qosClass={"class": kind, "action": "Deny"}) for kind in ("Guaranteed", "Burstable")}
    for _, team in made.values():
        wait_for(lambda team=team: team.answer(with_gpu(parts(part()))).status == 403, "the policy knows its tenant")
    return made


@pytest.mark.parametrize("item, kind", [s[1:] for s in SHAPES], ids=[s[0] for s in SHAPES])
def test_the_class_is_what_kubernetes_makes_of_the_pod(strict, item, kind):
    for wanted, (owner, team) in strict.items():
        assert team.api_class(with_gpu(item)) == kind
        answer = team.answer(with_gpu(item))
        assert answer.status == (201 if kind in (wanted, "Guaranteed") else 403), answer
        if answer.status == 403:
            assert f"TenantQoS {owner.name}: this pod is of QoS class {kind}, and its tenant's are to be {wanted}" in answer.message


def test_pods_without_devices_may_be_of_any_class(strict):
    for _, team in strict.values():
        team.admits(parts(part()))


def test_the_refusal_says_what_to_set(strict):
    _, team = strict["Guaranteed"]
    said = team.refuses(with_gpu(parts(part(limits=BOTH), part("second", limits=CPU))))
    assert "set cpu and memory of container second as limits, and as requests the same or none" in said
    _, team = strict["Burstable"]
    assert "set a request of cpu or memory in one container" in team.refuses(with_gpu(parts(part())))


def test_a_warning_lets_the_pod_in(tenant):
    _, team = tenant(qosClass={"class": "Guaranteed", "action": "Warn"})
    item = json.dumps(with_gpu(parts(part())))

    def warned():
        out = team.cluster.kubectl("create", "-f", "-", "-n", team.name, "--dry-run=server", stdin=item, check=False)
        return "Warning" in out and "this pod is of QoS class BestEffort" in out and "created" in out
    wait_for(warned, "the warning is shown, and the pod made")


# --- labels of namespaces

def labelled(place, **labels):
    return as_tenant(place.cluster, "PATCH", place.path + "?dryRun=All", {"metadata": {"labels": labels}})


def test_the_labels_that_select_are_not_the_tenants(tenant):
    owner, team = tenant()
    other, _ = tenant()
    wait_for(lambda: labelled(team, team=None).status == 403, "the policy knows its tenant")
    for value in (None, other.name, ""):
        answer = labelled(team, team=value)
        # Where it would leave one tenant for another, both object.
        named = {name for name in (owner.name, other.name) if f"belongs to TenantQoS {name}:" in answer.message}
        assert answer.status == 403 and named and f"the label team of namespace {team.name}" in answer.message, answer
    labelled(team, stage="prod").ok()


def test_expressions_select_too(tenant):
    name = f"k{uuid.uuid4().hex[:6]}"
    _, team = tenant(namespaceSelector={"matchExpressions": [{"key": name, "operator": "In", "values": ["a", "b"]},
                                                             {"key": "leaving", "operator": "DoesNotExist"}]})
    team.label(**{name: "a"})
    wait_for(lambda: labelled(team, **{name: None}).status == 403, "the policy knows its tenant")
    assert labelled(team, **{name: "b"}).status == 403
    assert labelled(team, leaving="now").status == 403


def test_nobody_joins_a_tenant_by_creating_a_namespace(policies, tenant):
    owner, _ = tenant()
    item = {"metadata": {"name": f"n{uuid.uuid4().hex[:8]}", "labels": {"team": owner.name}}}
    answer = wait_for(lambda: (a := as_tenant(policies, "POST", "/api/v1/namespaces?dryRun=All", item)).status == 403 and a, "refused")
    assert f"TenantQoS {owner.name}" in answer.message
    policies.api("POST", "/api/v1/namespaces?dryRun=All", item).ok()


def test_a_tenant_that_is_gone_stops_nobody(tenant):
    owner, team = tenant(priorityClasses=["gpuqos-training"])
    wait_for(lambda: team.answer(with_class("gpuqos-inference")).status == 403, "the policy knows its tenant")
    team.cluster.api("DELETE", owner.path).ok()
    wait_for(lambda: team.answer(with_class("gpuqos-inference")).status == 201, "the binding without its TenantQoS lets by")


def test_whatever_asks_for_gpus_needs_a_quota_in_a_tenants_namespace(policies, tenant):
    _, team = tenant()
    asks = [pod("part", amount=0, annotations={key: value}) for key, value in (("gpu-fraction", "0.5"), ("gpu-memory", "4096"))] + [pod("card")]
    claims = f"/apis/resource.k8s.io/v1/namespaces/{team.name}/resourceclaims"
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "any.example.com"}}]}}}
    for item in asks:
        team.admits(item)
    team.admits(claim, path=claims)
    policies.api("PATCH", team.path, {"metadata": {"labels": {"gpuqos.io/quota": "none"}}}).ok()
    for item in asks:
        wait_for(lambda wanted=item: team.answer(wanted).status == 403, "refused where no quota is in force")
        assert "has no GpuMemoryQuota in force" in team.refuses(item)
    assert "this claim asks for devices, and namespace" in team.refuses(claim, path=claims)
    team.admits(pod("plain", amount=0))
