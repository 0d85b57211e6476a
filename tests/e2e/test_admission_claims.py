"""What the admission policy charges for ResourceClaims, from statuses that the test publishes."""

import re

import pytest

from cluster import wait_for
from controller import as_tenant
from gpus import GPU, H100, MIB, T4, pod
from published import Published, row

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
CARD, SMALL, SLICE = 81559 * MIB, 15360 * MIB, 9984 * MIB
SUFFIX = ".deviceclass.resource.k8s.io/devices"
ROWS = [row(GPU, str(CARD), H100), row(GPU, str(SMALL), T4), row(f"mig.example.com{SUFFIX}", str(SLICE), H100, sharing="MIG"),
        row(f"free.example.com{SUFFIX}", "0", sharing="Unknown"), row(f"tpu.example.com{SUFFIX}", "32Gi", "TPU")]
CLASSES = [{"name": "fast.nvidia.com", "resource": "nvidia.com/none"}, {"name": "gpu.nvidia.com", "resource": GPU},
           {"name": "nic.example.com", "resource": ""}]


def exactly(device_class, count=None, **more):
    return {"exactly": {"deviceClassName": device_class, **({"count": count} if count else {}), **more}}


def first(*alternatives):
    return {"firstAvailable": [{"name": f"a{i}", "deviceClassName": name, "count": count}
                               for i, (name, count) in enumerate(alternatives)]}


def claim(*requests, **metadata):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", **metadata},
            "spec": {"devices": {"requests": [{"name": f"r{i}"} | r for i, r in enumerate(requests)]}}}


def ask(team, item, **options):
    return team.answer(item, CLAIMS.format(team.name), **options)


@pytest.fixture(scope="module")
def make(policies):
    made = []

    def new(effective, used="0", **spec):
        made.append(Published.make(policies, "800Gi", ROWS, **spec))
        made[-1].publish(effective, ROWS, used=used, deviceClasses=CLASSES)
        return made[-1]
    yield new
    for namespace in made:
        namespace.remove()


@pytest.fixture(scope="module")
def full(make):
    return make("800Gi", "800Gi")


CHARGES = [
    ("a class of its own", [exactly("mig.example.com", 3)], 3 * SLICE),
    ("a class that stands for a resource, at the dearest", [exactly("gpu.nvidia.com", 2)], 2 * CARD),
    ("one device, if it says no number", [exactly("mig.example.com")], SLICE),
    ("all devices are 32", [exactly("mig.example.com", allocationMode="All")], 32 * SLICE),
    ("requests are added up", [exactly("mig.example.com", 1), exactly("gpu.nvidia.com", 1)], CARD + SLICE),
    ("of alternatives the dearest", [first(("mig.example.com", 3), ("gpu.nvidia.com", 1))], CARD),
    ("of alternatives the dearest, by number too", [first(("mig.example.com", 9), ("gpu.nvidia.com", 1))], 9 * SLICE),
    ("a class that nothing prices, at the dearest there is", [exactly("odd.example.com", 2)], 2 * CARD),
    ("a class that stands for what nothing prices, too", [exactly("fast.nvidia.com", 2)], 2 * CARD),
    ("a class that gives no GPUs, nothing", [exactly("nic.example.com", 9), exactly("mig.example.com")], SLICE),
    ("and nothing among alternatives", [first(("nic.example.com", 9), ("mig.example.com", 2))], 2 * SLICE),
]


@pytest.mark.parametrize("requests, charge", [c[1:] for c in CHARGES], ids=[c[0] for c in CHARGES])
def test_a_refusal_tells_the_charge(full, requests, charge):
    answer = ask(full, claim(*requests))
    told = re.search(r"this claim asks for .* = (\d+)Mi of GPU memory, and only 0Mi of 800Gi are free", answer.message)
    assert answer.status == 403 and told and int(told[1]) == charge // MIB, answer


def test_what_costs_nothing_is_let_in(policies, full):
    ask(full, claim(exactly("free.example.com", 4))).ok()
    # Administrative access wants a label of the namespace, which the platform sets.
    full.label(**{"resource.kubernetes.io/admin-access": "true"})
    ask(full, claim(exactly("gpu.nvidia.com", adminAccess=True))).ok()


def test_administrative_access_is_the_platforms(full):
    """Also where somebody has set the label that Kubernetes wants for it."""
    full.label(**{"resource.kubernetes.io/admin-access": "true"})
    inner = claim(exactly("gpu.nvidia.com", adminAccess=True))
    template = inner | {"kind": "ResourceClaimTemplate", "spec": {"spec": inner["spec"]}}
    for item, path in ((inner, CLAIMS), (template, CLAIMS.replace("claims", "claimtemplates"))):
        answer = as_tenant(full.cluster, "POST", path.format(full.name), item)
        assert answer.status == 403 and "adminAccess reaches devices that others hold" in answer.message, answer
        full.cluster.api("POST", path.format(full.name) + "?dryRun=All", item).ok()


def test_a_class_that_gives_no_gpus_needs_neither_room_nor_a_price(policies, make):
    full = make("400Gi", "800Gi")
    for item in (claim(exactly("nic.example.com", 4)), claim(first(("nic.example.com", 2), ("nic.example.com", 1)))):
        ask(full, item).ok()
    # With no list nobody knows what the class gives.
    bare = Published.make(policies, "800Gi", ROWS)
    bare.publish("800Gi", ROWS, used="800Gi")
    assert "4 x nic.example.com at 81559Mi (which nothing prices" in ask(bare, claim(exactly("nic.example.com", 4))).message
    bare.remove()
    team = Published.make(policies, "800Gi")
    team.publish("800Gi", [], deviceClasses=CLASSES)
    team.cluster.api("PATCH", f"{team.quotas}/team/status", {"status": {"resources": []}}).ok()
    wait_for(lambda: ask(team, claim(exactly("gpu.nvidia.com"))).status == 403, "nothing is priced any more")
    ask(team, claim(exactly("nic.example.com", 4))).ok()
    team.remove()


def test_the_last_byte_decides(make):
    team = make(str(2 * CARD))
    ask(team, claim(exactly("gpu.nvidia.com", 2))).ok()
    team.publish(str(2 * CARD - 1), ROWS, deviceClasses=CLASSES)
    assert ask(team, claim(exactly("gpu.nvidia.com", 2))).status == 403


def test_per_pod_holds_for_each_claim(make):
    team = make("800Gi", perPod={"gpuMemory": "160Gi", "gpus": 1})
    ask(team, claim(exactly("mig.example.com", 10))).ok()
    assert "one claim may have 160Gi" in ask(team, claim(exactly("gpu.nvidia.com", 3))).message
    assert "asks for 2 whole GPUs, and one claim may have 1" in ask(team, claim(exactly("gpu.nvidia.com", 2))).message


def test_caps_hold_for_claims(make):
    team = make("800Gi", gpus=2, products=[{"product": "TPU", "gpuMemory": "64Gi"}])
    assert "asks for 3 whole GPUs, 0 of 2 are in use" in ask(team, claim(exactly("gpu.nvidia.com", 3))).message
    ask(team, claim(exactly("tpu.example.com", 2))).ok()
    capped = make("800Gi", products=[{"product": "TPU", "gpuMemory": "64Gi"}])
    assert "asks for 98304Mi of TPU, of which 0Mi of 64Gi" in ask(capped, claim(exactly("tpu.example.com", 3))).message


def test_without_any_price_a_claim_is_refused(policies):
    team = Published.make(policies, "800Gi")
    team.publish("800Gi", [])
    # The row that publish() waits for is a price too.
    team.cluster.api("PATCH", f"{team.quotas}/team/status", {"status": {"resources": []}}).ok()

    def refused():
        return "cannot price devices of class odd.example.com" in ask(team, claim(exactly("odd.example.com"))).message
    wait_for(refused, "nothing is priced any more")
    team.remove()


def test_the_claim_of_the_scheduler_was_charged_with_its_pod(full):
    """And nobody else's claim is one because it says so."""
    mark = {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}
    item = claim(exactly("gpu.nvidia.com", 1), **mark)
    ask(full, item, user="system:kube-scheduler", groups=["system:masters"]).ok()
    tenant = as_tenant(full.cluster, "POST", CLAIMS.format(full.name) + "?dryRun=All", item)
    assert tenant.status == 403 and "only 0Mi of 800Gi are free" in tenant.message
    assert "only 0Mi" in ask(full, claim(exactly("gpu.nvidia.com", 1)), user="system:kube-scheduler", groups=["system:masters"]).message


def test_what_is_made_from_a_template_is_charged_too(policies, full):
    """The claim controller makes it, for a pod that is there already: the refusal is an Event of the pod."""
    spec = claim(exactly("gpu.nvidia.com", 1))["spec"]
    path = f"/apis/resource.k8s.io/v1/namespaces/{full.name}"
    policies.api("POST", f"{path}/resourceclaimtemplates", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": spec}}).ok()
    item = pod("user", amount=0)
    item["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    item["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpu"}]}
    full.create(item).ok()

    def told():
        events = policies.get(f"/api/v1/namespaces/{full.name}/events")["items"]
        return any("only 0Mi of 800Gi are free" in e["message"] for e in events)
    wait_for(told, "an Event of the pod says why it waits")
    assert policies.get(f"{path}/resourceclaims")["items"] == []
