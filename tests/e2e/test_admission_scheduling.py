"""Which scheduler pods that ask for devices may name, and what they may ask of topology."""

import json
import uuid

import pytest

from cluster import ROOT, NotYet, wait_for
from controller import as_tenant
from gpus import GPU, pod
from published import Published, PublishedTenant, row

ROWS = [row(GPU, "80Gi")]
SCHEDULER = ROOT / "config" / "scheduler"
POLICY, SCOPE = "gpuqos.io/topology-policy", "gpuqos.io/topology-scope"


# --- the scheduler's name

def objects_of(cluster, path):
    """What a file of manifests holds."""
    text = cluster.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", str(path))
    found, rest = [], text.strip()
    while rest:
        item, end = json.JSONDecoder().raw_decode(rest)
        found += item["items"] if item["kind"] == "List" else [item]
        rest = rest[end:].lstrip()
    return found


def apply_for(team, path):
    """Applies a policy so that it holds in one namespace alone: other tests share the cluster."""
    made = objects_of(team.cluster, path)
    for item in made:
        if item["kind"].endswith("Binding"):
            item["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team.name}}}
    team.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    return made


def withdraw(cluster, items):
    cluster.kubectl("delete", "--ignore-not-found", "-f", "-",
                    stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def named(scheduler=None, **changes):
    """A pod with one GPU, unless changes say otherwise."""
    item = pod("p", **({"resource": GPU, "amount": 1} | changes))
    if scheduler:
        item["spec"]["schedulerName"] = scheduler
    return item


def claiming(scheduler=None):
    item = named(scheduler, amount=0)
    item["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
    return item


@pytest.fixture(scope="module")
def sent(policies):
    """A namespace whose pods must name our scheduler."""
    team = Published.make(policies, "800Gi", ROWS)
    made = apply_for(team, SCHEDULER / "scheduler-name-policy.yaml")
    wait_for(lambda: team.answer(named()).status == 403, "the policy acts")
    yield team
    withdraw(policies, made)
    team.remove()


@pytest.mark.parametrize("item, scheduler", [
    (named(), "default-scheduler"),
    (named("other"), "other"),
    (named(amount=0, annotations={"gpu-fraction": "0.5"}), "default-scheduler"),
    (claiming(), "default-scheduler"),
], ids=["no name", "another name", "a part of a card by annotation", "a claim"])
def test_who_asks_for_devices_names_the_scheduler_that_knows_them(sent, item, scheduler):
    answer = as_tenant(sent.cluster, "POST", sent.pods + "?dryRun=All", item)
    assert answer.status == 403, answer
    assert (f"this pod asks for devices and names scheduler {scheduler}, which does not see how GPUs are wired: "
            "set spec.schedulerName to gpuqos-scheduler") in answer.message


@pytest.mark.parametrize("item", [
    named("gpuqos-scheduler"), named("gpuqos-scheduler", amount=0), named(amount=0), named("other", amount=0), claiming("gpuqos-scheduler"),
], ids=["our scheduler", "our scheduler, without GPUs", "no GPUs", "no GPUs, another scheduler", "a claim"])
def test_all_others_name_whom_they_like(sent, item):
    sent.admits(item)


def test_a_node_may_report_its_static_pods(sent):
    item = named()
    item["spec"]["nodeName"] = "n1"
    item["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    sent.admits(item, user="system:node:n1", groups=["system:nodes", "system:authenticated"])


def test_the_policy_is_checked_and_finds_no_fault(sent):
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gpuqos-scheduler-name"

    def without_faults():
        checked = sent.cluster.get(path).get("status", {})
        return checked.get("observedGeneration") and (not checked.get("typeChecking", {}).get("expressionWarnings") or NotYet(checked))
    wait_for(without_faults, "the policy is checked")


def test_where_pods_can_be_changed_the_name_is_filled_in(policies, sent):
    if policies.api("GET", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies").status == 404:
        pytest.skip("this Kubernetes has no MutatingAdmissionPolicy v1")
    made = apply_for(sent, SCHEDULER / "mutating" / "scheduler-name-mutation.yaml")

    def scheduler_of(item):
        answer = sent.answer(item)
        return answer.body["spec"]["schedulerName"] if answer.status == 201 else answer.message
    try:
        wait_for(lambda: scheduler_of(named()) == "gpuqos-scheduler" or NotYet(scheduler_of(named())), "the name is filled in")
        assert scheduler_of(named(amount=0, annotations={"gpu-fraction": "0.5"})) == "gpuqos-scheduler"
        assert scheduler_of(claiming()) == "gpuqos-scheduler"
        assert scheduler_of(named(amount=0)) == "default-scheduler"
        assert "names scheduler other" in scheduler_of(named("other"))
    finally:
        withdraw(policies, made)


# --- what a pod asks of topology

@pytest.fixture(scope="module")
def team(policies):
    made = Published.make(policies, "800Gi", ROWS)
    yield made
    made.remove()


def asking(policy=None, scope=None):
    wishes = {POLICY: policy, SCOPE: scope}
    return named(annotations={key: value for key, value in wishes.items() if value is not None})


@pytest.mark.parametrize("wish, words", [
    (("required",), "annotation gpuqos.io/topology-policy is required; it may be Required, Preferred or None"),
    (("",), "annotation gpuqos.io/topology-policy is ; it may be"),
    (("Required", "Rack"), "annotation gpuqos.io/topology-scope is Rack; it may be NUMA, PCIeSwitch or NVLink"),
    ((None, "NUMA"), "gpuqos.io/topology-policy whether they must: give both"),
], ids=["a policy that is none", "an empty policy", "a scope that is none", "a scope alone"])
def test_annotations_have_known_values(team, wish, words):
    assert words in team.refuses(asking(*wish))


def test_a_pod_of_no_tenant_asks_for_what_it_likes(team):
    for policy in ("Required", "Preferred", "None"):
        for scope in (None, "NUMA", "PCIeSwitch", "NVLink"):
            team.admits(asking(policy, scope))


def test_what_was_asked_for_stays_while_the_pod_lives(team):
    team.cluster.api("POST", team.pods, asking("Required", "NUMA") | {"metadata": asking("Required", "NUMA")["metadata"] | {"name": "kept"}}).ok()
    path = f"{team.pods}/kept"
    for where in (path, f"{path}/status"):
        for change in ({POLICY: "None"}, {POLICY: None, SCOPE: None}, {SCOPE: "NVLink"}):
            answer = as_tenant(team.cluster, "PATCH", where + "?dryRun=All", {"metadata": {"annotations": change}})
            assert answer.status == 403 and "stay as they were when it was created" in answer.message, answer
    as_tenant(team.cluster, "PATCH", path, {"metadata": {"annotations": {"other": "x"}}}).ok()


@pytest.fixture(scope="module")
def tenant(policies):
    """tenant(topology): a namespace of a TenantQoS with it."""
    made = {}

    def get(**topology):
        key = json.dumps(topology)
        if key not in made:
            owner = PublishedTenant(policies, f"x{uuid.uuid4().hex[:8]}", **({"topology": topology} if topology else {}))
            made[key] = Published.make(policies, "800Gi", ROWS, labels=owner.labels()), owner
            if topology.get("policy", "None") != "None":
                wait_for(lambda: made[key][0].answer(asking("None")).status == 403, "the policy knows its tenant")
        return made[key][0]
    yield get
    for each in (item for pair in made.values() for item in pair):
        each.remove()


NUMA, SWITCH, LINK = ({"policy": "Required", "scope": scope} for scope in ("NUMA", "PCIeSwitch", "NVLink"))


@pytest.mark.parametrize("topology, wish, words", [
    ({"policy": "Required"}, ("None",), "this pod asks for topology policy None (annotation gpuqos.io/topology-policy), and its tenant's is Required"),
    ({"policy": "Required"}, ("Preferred", "PCIeSwitch"), "asks for topology policy Preferred"),
    ({"policy": "Preferred"}, ("None",), "and its tenant's is Preferred: a pod may ask for more, not for less"),
    (NUMA, ("Required", "NVLink"), "this pod asks for topology scope NVLink (annotation gpuqos.io/topology-scope), and its tenant's is NUMA with "
                                   "policy Required: with the same policy it may be NUMA or PCIeSwitch"),
    (SWITCH, ("Required", "NUMA"), "with the same policy it may be PCIeSwitch"),
    (LINK, ("Required", "NUMA"), "with the same policy it may be NVLink"),
    ({"policy": "Preferred", "scope": "NVLink"}, ("Preferred", "NUMA"), "with the same policy it may be NVLink"),
])
def test_a_pod_asks_for_no_less_than_its_tenant(tenant, topology, wish, words):
    assert words in tenant(**topology).refuses(asking(*wish))


@pytest.mark.parametrize("topology, wishes", [
    ({}, [(), ("None",), ("Preferred", "NVLink"), ("Required", "NUMA")]),
    ({"policy": "None", "scope": "NVLink"}, [("None", "NUMA"), ("Required", "NUMA")]),
    ({"policy": "Preferred"}, [(), ("Preferred",), ("Preferred", "PCIeSwitch"), ("Required",), ("Required", "NVLink")]),
    (NUMA, [(), ("Required",), ("Required", "NUMA"), ("Required", "PCIeSwitch")]),
    (LINK, [(), ("Required", "NVLink")]),
])
def test_a_pod_asks_for_more_than_its_tenant(tenant, topology, wishes):
    for wish in wishes:
        tenant(**topology).admits(asking(*wish))
