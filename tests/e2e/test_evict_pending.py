"""An inference pod that waits has room made for it, on a real API server, kube-scheduler and kubelet's own managers: the
fewest go, and of these the cheapest; what they leave is nobody else's; who may not go stays, and the reason is told.
"""

import contextlib
import datetime
import signal

import pytest
from cluster import NotYet, wait_for
from crowded import Crowded
from inference import cards
from kubelets import sold_twice
from moves import NOTICE
from placement import refusal

pytestmark = pytest.mark.together


@pytest.fixture(scope="module")
def scene_of(placed):
    """Makes a full node: one training pod of 4 cards, and two of 2."""
    scenes = []

    def make(kind, **protection):
        scene = Crowded(placed.cluster, placed.kubelets, kind, **protection)
        scenes.append(scene)
        scene.train("large", 4, size="large")
        scene.train("small-1", 2, size="small")
        scene.train("small-2", 2, size="small")
        return scene
    yield make
    for scene in scenes:
        scene.remove()


def wait_refused(scene, namespace, name):
    wait_for(lambda: refusal(scene.get(namespace, name)) or NotYet(scene.get(namespace, name)["status"]), f"{name} waits")


def events_on(scene, pod, reason):
    return [e for e in scene.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{scene.web.name}/events")["items"]
            if e["regarding"].get("uid") == pod["metadata"]["uid"] and e["reason"] == reason]


def test_the_cheapest_goes_and_nobody_else_gets_its_room(placed, scene_of, tell):
    scene = scene_of("room")
    scene.put(scene.rivals, "rival", 2)
    wait_refused(scene, scene.rivals, "rival")
    pod = scene.put(scene.web, "web-0", 2)
    receipt = scene.wait_receipt("Helped")
    assert (receipt["cause"], receipt["node"]) == ("PendingPod", scene.node)
    assert receipt["beneficiary"]["uid"] == pod["metadata"]["uid"]
    assert len(receipt["victims"]) == 1 and receipt["victims"][0]["name"].startswith("small-")
    assert {s["name"] for s in receipt["spared"]} | {receipt["victims"][0]["name"]} == {"large", "small-1", "small-2"}
    assert "with 1 of the 3 pods there gone, 3 of which may go" in receipt["proof"] and receipt["limits"] and receipt["settledTime"]
    assert scene.running(scene.web, "web-0")["spec"]["nodeName"] == scene.node
    assert scene.training_names() == {"large", "small-1", "small-2"} - {receipt["victims"][0]["name"]}
    assert not scene.get(scene.rivals, "rival")["spec"].get("nodeName")
    assert scene.tenant.object()["status"]["evictionCount"] == 1 and len(scene.receipts()) == 1
    assert not sold_twice(placed.kubelets.report().pods)
    tell(f"room: {receipt['proof']} {receipt['message']}")


def test_who_a_budget_keeps_stays_though_it_is_cheaper(scene_of):
    scene = scene_of("budget")
    scene.budget("small", size="small")
    scene.put(scene.web, "web-0", 2)
    receipt = scene.wait_receipt("Helped")
    assert [v["name"] for v in receipt["victims"]] == ["large"]
    assert all("PodDisruptionBudget" in s["reason"] for s in receipt["spared"]) and len(receipt["spared"]) == 2
    assert scene.training_names() == {"small-1", "small-2"}


def test_where_nobody_may_go_the_reason_is_told_once(scene_of):
    scene = scene_of("vain")
    scene.budget("all-large", size="large")
    scene.budget("all-small", size="small")
    pod = scene.put(scene.web, "web-0", 2)
    told = scene.wait_in_vain("0 of 3 candidates eligible: 3: a PodDisruptionBudget allows no disruption")
    assert told["reason"] == "NobodyMayGo" and "web-0" in told["message"]
    assert wait_for(lambda: events_on(scene, pod, "NobodyMayGo") or NotYet("no Event"), "an Event on the pod")
    assert len(events_on(scene, pod, "NobodyMayGo")) == 1 and not scene.receipts()
    assert scene.training_names() == {"large", "small-1", "small-2"}
    # Once it waits no more, there is nothing to tell.
    scene.cluster.api("DELETE", f"{scene.web.pods}/web-0").ok()
    scene.tenant.wait_condition("Unprotected", "False", "AsAsked")


def test_what_dry_run_would_do_stands_in_a_receipt(scene_of):
    scene = scene_of("dry", mode="DryRun")
    scene.put(scene.web, "web-0", 2)
    receipt = scene.wait_receipt("Planned")
    assert receipt["node"] == scene.node and receipt["victims"][0]["name"].startswith("small-")
    assert scene.training_names() == {"large", "small-1", "small-2"}
    spared = scene.get(scene.training, receipt["victims"][0]["name"])
    assert NOTICE not in spared["metadata"].get("annotations", {})
    assert not scene.get(scene.web, "web-0")["spec"].get("nodeName")
    assert len(scene.receipts()) == 1 and scene.tenant.object()["status"]["evictionCount"] == 0


def test_a_plan_is_carried_out_once_the_mode_is_enforce(scene_of, tell):
    """A plan counts for no limit of those that evict: whoever looked at it first has not to wait for that."""
    limits = {"cooldownSeconds": 3600, "evictionsPerMinute": 1}
    scene = scene_of("switched", mode="DryRun", **limits)
    pod = scene.put(scene.web, "web-0", 2)
    planned = scene.wait_receipt("Planned")
    assert wait_for(lambda: events_on(scene, pod, "Planned") or NotYet("no Event"), "an Event on the pod")
    everybody = {"large", "small-1", "small-2"}
    assert scene.training_names() == everybody and scene.tenant.object()["status"]["evictionCount"] == 0

    scene.tenant.patch(protection={"mode": "Enforce"})
    helped = scene.wait_receipt("Helped")
    assert [r["outcome"] for r in scene.receipts()] == ["Planned", "Helped"]
    assert [v["uid"] for v in helped["victims"]] == [v["uid"] for v in planned["victims"]] and len(helped["victims"]) == 1
    assert helped["beneficiary"]["uid"] == planned["beneficiary"]["uid"] == pod["metadata"]["uid"]
    assert scene.running(scene.web, "web-0")["spec"]["nodeName"] == scene.node
    assert scene.training_names() == everybody - {helped["victims"][0]["name"]}
    assert scene.tenant.object()["status"]["evictionCount"] == 1
    tell(f"switched: {planned['proof']} {helped['message']}")


def test_several_go_together_where_one_is_not_enough(scene_of):
    scene = scene_of("several")
    scene.put(scene.web, "web-0", 8)
    receipt = scene.wait_receipt("Helped")
    assert {v["name"] for v in receipt["victims"]} == {"large", "small-1", "small-2"} and "spared" not in receipt
    assert scene.running(scene.web, "web-0") and scene.training_names() == set()


def test_a_gated_pod_does_not_wait(scene_of):
    scene = scene_of("gated")
    scene.put(scene.web, "gated", 4, gates=["example.com/later"])
    scene.put(scene.web, "web-0", 2)
    receipt = scene.wait_receipt("Helped")
    assert receipt["beneficiary"]["name"] == "web-0" and len(scene.receipts()) == 1
    # Once the gate is gone it does.
    scene.cluster.api("PATCH", f"{scene.web.pods}/gated", {"spec": {"schedulingGates": None}}).ok()
    scene.running(scene.web, "gated")
    assert scene.training_names() == {"small-1", "small-2"} - {receipt["victims"][0]["name"]}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextlib.contextmanager
def stopped(process):
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def test_who_gets_a_card_in_a_moment_is_waited_for(placed, tell):
    """One is promised a card of one NUMA node, and the next has two of the other freed: not a third, so that there are two of one
    whichever the first gets."""
    scene = Crowded(placed.cluster, placed.kubelets, "moment", policy="single-numa-node")
    try:
        sides = {card["uuid"]: card["numa"] for card in scene.layout["gpus"]}
        pods = [scene.train(f"train-{i}", 1) for i in range(8)]
        side = {p["metadata"]["name"]: sides[cards(p).pop()] for p in pods}
        # The first to go is the one that saved what it did after all others began; from its own side nobody else goes.
        began = max(p["status"]["startTime"] for p in pods)
        saved = wait_for(lambda: now() if now() > began else NotYet(began), "a second has passed")
        for name in side:
            change = {"annotations": {"gpuqos.io/checkpoint": saved}} if name == "train-7" else {
                "labels": {"stays": str(side[name] == side["train-7"]).lower()}}
            scene.cluster.api("PATCH", f"{scene.training.pods}/{name}", {"metadata": change}).ok()
        scene.budget("stays", stays="true")
        with stopped(placed.scheduler.process):
            scene.put(scene.web, "first", 1)
            receipt = scene.wait_receipt("Issued")
            assert [v["name"] for v in receipt["victims"]] == ["train-7"]
            scene.put(scene.web, "second", 2, annotations={"gpuqos.io/topology-policy": "Required"})
            scene.wait_in_vain(f"fewer may be enough once it is told which cards pod {scene.web.name}/first has")
        scene.running(scene.web, "second")
        helped = wait_for(lambda: [r for r in scene.receipts() if r["outcome"] == "Helped"][1:] or NotYet(scene.receipts()),
                          "both are helped")
        assert len(scene.receipts()) == 2 and len(helped[0]["victims"]) == 2
        assert len({side[v["name"]] for v in helped[0]["victims"]} | {side["train-7"]}) == 2
        assert len(scene.training_names()) == 5
        tell(f"moment: {helped[0]['proof']} {helped[0]['message']}")
    finally:
        scene.remove()
