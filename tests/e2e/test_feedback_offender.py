"""Pods that go for their own doing: who takes more than its share where others suffer from it, and whose GPUs do nothing. Each with what
must not be enough, and a signal that takes as long. The test is the node's agent and kubelet; the controller's pace is quicker than it
would be otherwise.
"""

import pytest

from cluster import NotYet, wait_for
from conftest import offer_exactly
from controller import in_its_place
from gpus import GIB, Namespace, condition
from hungry import Hungry, hungry_pod, start
from tenants import Tenant, throttle

pytestmark = pytest.mark.together

MUCH = 20 * GIB  # of a card of 80, where a tenth is granted
PACE = {"graceSeconds": 5, "alertSeconds": 1, "stepSeconds": 1, "floorSeconds": 25, "restSeconds": 1, "idleSeconds": 30}
FEEDBACK = {"mode": "Throttle", "decrease": 90, "recoverPerMinute": 100, "floorPercent": 50, "evictOffender": True}
QUICK = {"preemptible": {"minRunSeconds": 0}}
PROTECTION = {"mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 0, "observationSeconds": 60}


@pytest.fixture(scope="module")
def quick(world, tmp_path_factory):
    """A controller that goes on quickly, in place of the usual one."""
    with in_its_place(world, tmp_path_factory.mktemp("quick"), feedback=PACE) as made:
        yield made


class Street:
    """A greedy pod, and one of another tenant on the same card, on a node of their own; each tenant has one namespace."""

    def __init__(self, world, node, **spec):
        self.node = Hungry(world.cluster, node).__enter__()
        self.greedy, self.quiet = Namespace.make(world.cluster, "greedy"), Namespace.make(world.cluster, "quiet")
        self.tenant = Tenant.make(world.cluster, self.greedy, **(QUICK | {"protection": PROTECTION} | spec))
        self.other = Tenant.make(world.cluster, self.quiet, tier="Inference")
        for space in (self.greedy, self.quiet):
            space.put_quota("80Gi")
        start(self.greedy, "one", "two", node=node)
        start(self.quiet, "web", node=node)

    def receipts(self):
        return self.tenant.object().get("status", {}).get("evictions", [])

    def names(self):
        return {p["metadata"]["name"] for p in self.greedy.list_pods() if "deletionTimestamp" not in p["metadata"]}

    def wait_receipt(self, outcome, timeout=90):
        def there():
            got = self.receipts()
            return (got and got[-1]["outcome"] == outcome and got[-1]) or NotYet((got, self.tenant.object()["status"]))
        return wait_for(there, f"a receipt is {outcome}", timeout)

    def wait_kept(self, words, timeout=90):
        """Until Abnormal says why the offender stays."""
        def told():
            got = condition(self.tenant.object(), "Abnormal")
            return words in got["message"] or NotYet((got, throttle(self.tenant)))
        wait_for(told, words, timeout)

    def remove(self):
        self.tenant.remove()
        self.other.remove()
        self.greedy.remove()
        self.quiet.remove()
        self.node.__exit__()


@pytest.fixture(scope="module")
def street(world, quick):
    free = list(offer_exactly(world.cluster, ("timesliced=7",)))
    made = []

    def make(**spec):
        made.append(Street(world, free.pop(), **spec))
        return made[-1]
    yield make
    for each in made:
        each.remove()


ISOLATION = {"gpuUtilizationPercent": 60}


def misbehave(street, crash=True):
    """`one` takes memory and time of a card that `web` has a part of."""
    street.node.use(street.greedy, "one", memory=MUCH, percent=90)
    street.node.use(street.greedy, "two", card=1)
    street.node.use(street.quiet, "web")
    if crash:
        street.node.crash(street.quiet, "web")


def test_the_proven_offender_goes_and_nobody_else(street, tell):
    street = street(isolation=ISOLATION, feedback=FEEDBACK)
    misbehave(street, crash=False)
    # It is proven, and nobody suffers.
    street.wait_kept("It is not evicted: nobody who has a card in common with it is seen to suffer for it.")
    assert not street.receipts() and street.names() == {"one", "two"}
    street.node.crash(street.quiet, "web")
    receipt = street.wait_receipt("Issued")
    assert receipt["cause"] == "Offender" and [v["name"] for v in receipt["victims"]] == ["one"]
    assert "by its own processes" in receipt["proof"] and "20480 MiB of GPU memory where 8155 MiB are granted" in receipt["proof"]
    assert f"a pod of {street.other.name}, whose containers crash over and over" in receipt["proof"]
    wait_for(lambda: street.names() == {"two"} or NotYet(street.names()), "the offender is gone")
    street.node.leave(street.greedy, "one")
    receipt = street.wait_receipt("Helped")
    assert receipt["message"] == "It went, and use is normal again." and len(street.receipts()) == 1
    assert street.names() == {"two"} and len(street.quiet.list_pods()) == 1
    tell(f"offender: {receipt['proof']} {receipt['message']}")


def wait_rest(street):
    """Until the ladder has been all the way without effect."""
    def reached():
        got = throttle(street.tenant)
        return got.get("futileTries", 0) >= 1 or NotYet(got)
    wait_for(reached, "it was at the floor in vain", timeout=120)


def test_without_the_field_nobody_goes(street):
    street = street(isolation=ISOLATION, feedback=FEEDBACK | {"evictOffender": False})
    misbehave(street)
    wait_rest(street)
    assert not street.receipts() and street.names() == {"one", "two"}


def test_figures_of_the_whole_card_prove_nothing(street):
    street = street(isolation=ISOLATION | {"pcieBytesPerSecond": "1G"}, feedback=FEEDBACK)
    # More over PCIe than is allowed, as far as the whole card tells; of its own only memory.
    street.node.use(street.greedy, "one", memory=MUCH, percent=None, pcie=50 * GIB)
    street.node.use(street.greedy, "two", card=1)
    street.node.use(street.quiet, "web")
    street.node.crash(street.quiet, "web")
    # A second signal that is no pod's: the tenant is turned down, and nobody is proven to be the one.
    street.node.crash(street.greedy, "two")
    wait_rest(street)
    assert "proven" not in condition(street.tenant.object(), "Abnormal")["message"]
    assert not street.receipts() and street.names() == {"one", "two"}


def test_dry_run_plans_it(street):
    street = street(isolation=ISOLATION, feedback=FEEDBACK, protection=PROTECTION | {"mode": "DryRun"})
    misbehave(street)
    receipt = street.wait_receipt("Planned")
    assert receipt["cause"] == "Offender" and [v["name"] for v in receipt["victims"]] == ["one"]
    wait_rest(street)
    assert street.names() == {"one", "two"} and len(street.receipts()) == 1


# --- whose GPUs do nothing

def wait_idle(street, words):
    def told():
        got = condition(street.tenant.object(), "IdleGPUs")
        return words in got["message"] or NotYet(got)
    wait_for(told, words, timeout=90)


def test_who_is_idle_is_told_of_and_goes_with_the_field_alone(street, tell):
    street = street(feedback={"mode": "Off"})
    street.node.use(street.greedy, "one", percent=0)
    street.node.use(street.greedy, "two", card=1, percent=10)
    wait_idle(street, "1 of its pods")
    assert condition(street.tenant.object(), "IdleGPUs")["status"] == "True"
    assert not street.receipts() and street.names() == {"one", "two"}
    street.tenant.patch(feedback={"mode": "Off", "reclaimIdle": True})
    receipt = street.wait_receipt("Helped")
    assert receipt["cause"] == "IdleGPU" and [v["name"] for v in receipt["victims"]] == ["one"]
    assert street.names() == {"two"} and len(street.receipts()) == 1
    tell(f"idle: {receipt['proof']} {receipt['message']}")


def test_what_is_not_measured_is_not_idle(street):
    street = street(feedback={"mode": "Off", "reclaimIdle": True})
    street.node.use(street.greedy, "one", percent=None)
    street.node.use(street.greedy, "two", card=1, percent=0)
    receipt = street.wait_receipt("Helped")
    assert [v["name"] for v in receipt["victims"]] == ["two"] and street.names() == {"one"}


# --- who is refused

def test_pods_that_are_refused_over_and_over_are_a_signal(world, street):
    """By the Events of the controller of ReplicaSets, whose back-off leaves some fourteen in the first minute of each."""
    street = street(feedback={"mode": "Alert"})
    space = street.greedy
    for name, card in ("one", 0), ("two", 1):
        street.node.use(space, name, card=card)

    def known():
        got = condition(street.tenant.object(), "Abnormal")
        return (got["reason"] == "NormalUse" and "RefusedPods" not in got["message"]) or NotYet(got)
    wait_for(known, "a minute of Events was seen", timeout=120)
    street.node.use(space, "one", memory=MUCH)
    for i in range(8):
        labels = {"app": f"storm-{i}"}
        template = {"metadata": {"labels": labels}, "spec": hungry_pod("storm", containers=1)["spec"] | {"nodeName": street.node.node}}
        world.cluster.api("POST", f"/apis/apps/v1/namespaces/{space.name}/replicasets", {
            "metadata": {"name": f"storm-{i}"}, "spec": {"replicas": 40, "selector": {"matchLabels": labels}, "template": template}}).ok()

    def told():
        got = throttle(street.tenant)
        return set(got.get("signals", [])) == {"MemoryOvershoot", "RefusedPods"} and got or NotYet((got, condition(street.tenant.object(), "Abnormal")))
    assert wait_for(told, "refused pods are told of", timeout=120)["step"] == "Alert"
    assert world.controller.metric("gpuqos_tenant_throttle_percent", tenant=street.tenant.name) == 100
