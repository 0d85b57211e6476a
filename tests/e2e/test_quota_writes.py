"""What the controller writes and what it does not: by the API server's audit log."""

import collections
import random

import pytest

from cluster import NotYet, quantity, wait_for
from controller import USER
from gpus import GPU, H100, UNIT, pod

WRITES = ("create", "update", "patch", "delete", "deletecollection")


class Audit:
    """What was written in some namespaces from now on. Those of earlier tests may still
    be on their way out, and the controller is not idle there."""

    def __init__(self, *namespaces):
        self.cluster = namespaces[0].cluster
        self.names = {namespace.name for namespace in namespaces}
        self.mark = self.cluster.audit_mark()

    def events(self, **which):
        return [e for e in self.cluster.audit(since=self.mark, **which)
                if e["verb"] in WRITES and e.get("objectRef", {}).get("namespace") in self.names]

    def ours(self):
        """{what: how often} written by the controller; what is resource or resource/subresource."""
        found = collections.Counter()
        for event in self.events(user=USER):
            what = event["objectRef"]
            found["/".join(filter(None, (what["resource"], what.get("subresource"))))] += 1
        return found

    def foreign_quota_writes(self):
        """Changes of what a ResourceQuota asks for; its status is Kubernetes' own business."""
        return sum(1 for e in self.events(resource="resourcequotas") if not e["objectRef"].get("subresource"))


@pytest.fixture
def settled(nodes, namespace):
    """A namespace whose quota is enforced and shows no use."""
    nodes("h100=2", "t4=2")
    namespace.put_quota("16Ti")
    return namespace


def wait_used(namespace, pods):
    def shown():
        status = namespace.quota()["status"]
        got = status["pods"], quantity(status["used"])
        return got == (pods, pods * UNIT["h100"]) or NotYet(got)
    wait_for(shown, f"{pods} pods are counted")


def test_pod_events_write_no_resource_quota_and_at_most_one_status_a_second(settled):
    audit = Audit(settled)
    dice = random.Random(1)
    alive = []
    for number in range(60):
        if alive and dice.random() < 0.4:
            settled.delete_pod(alive.pop(dice.randrange(len(alive))))
        else:
            settled.create(pod(f"p{number}", product=H100)).ok()
            alive.append(f"p{number}")
    wait_used(settled, len(alive))
    times = sorted(e["requestReceivedTimestamp"] for e in audit.events(user=USER, resource="gpumemoryquotas"))
    assert audit.ours() == {"gpumemoryquotas/status": len(times)}
    assert audit.foreign_quota_writes() == 0
    gaps = [seconds(b) - seconds(a) for a, b in zip(times, times[1:])]
    assert all(gap > 0.9 for gap in gaps), gaps


def seconds(stamp):
    """Of a day; enough for the distance of two events."""
    hours, minutes, rest = stamp[11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def test_a_changed_spec_is_one_write_of_the_resource_quota(settled):
    audit = Audit(settled)
    settled.patch_quota(gpuMemory="8Ti")
    settled.wait_condition("Ready", "True", "Enforced")
    assert audit.ours()["resourcequotas"] == 1
    # What changes no hard value writes none.
    settled.patch_quota(perPod={"gpuMemory": "160Gi"})
    settled.wait_condition("Ready", "True", "Enforced")
    assert audit.ours()["resourcequotas"] == 1


def test_nodes_write_hard_values_only_when_they_offer_something_else(settled, nodes):
    audit = Audit(settled)
    nodes("h100=3", "t4=2")  # one more of the same
    settled.patch_quota(perPod={"gpuMemory": "160Gi"})
    settled.wait_condition("Ready", "True", "Enforced")
    assert audit.ours()["resourcequotas"] == 0
    nodes("h100=3", "t4=2", "mi300x")
    wait_for(lambda: "requests.amd.com/gpu" in settled.resource_quota()["spec"]["hard"], "the new resource is limited")
    settled.wait_condition("Ready", "True", "Enforced")
    assert audit.ours()["resourcequotas"] == 1


def test_several_quotas_change_at_once_in_few_writes(make_namespace, nodes):
    nodes("h100")
    made = [make_namespace() for _ in range(8)]
    for namespace in made:
        namespace.put_quota("320Gi", enforced=False)
    for namespace in made:
        namespace.wait_enforced()
    audit = Audit(*made)
    nodes("h100", "t4")
    for namespace in made:
        wait_for(lambda n=namespace: n.resource_quota()["spec"]["hard"]["requests.nvidia.com/gpu"] == "21",
                 "hard values follow")
        namespace.wait_condition("Ready", "True", "Enforced")
    assert audit.ours()["resourcequotas"] == len(made)


def test_every_write_is_allowed_and_named(world, settled):
    """RBAC by use: nothing that the controller asked for so far was refused."""
    settled.create(pod("a", GPU)).ok()
    settled.delete_pod("a")
    refused = [(e["verb"], e["objectRef"], e["responseStatus"]) for e in world.cluster.audit(user=USER)
               if e.get("responseStatus", {}).get("code") in (401, 403) and "terminat" not in
               e["responseStatus"].get("message", "")]
    assert refused == []
