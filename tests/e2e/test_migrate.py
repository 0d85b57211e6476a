"""onMismatch: Migrate on a real API server, kube-scheduler and kubelet's own managers: a pod whose cards do not lie as is
required is evicted once a node is known where they would, its successor gets that room while others ask for it, and
nothing is moved in vain, twice, or against a PodDisruptionBudget.
"""

import pytest
import scheduler as lib
from cluster import NotYet, wait_for
from kubelets import sold_twice
from moves import NOTICE, Story
from placement import refusal

pytestmark = pytest.mark.together


@pytest.fixture(scope="module")
def story_of(placed):
    """Makes a Story, which is gone with the module."""
    stories = []

    def make(kind, **protection):
        stories.append(Story(placed.cluster, placed.kubelets, kind, lib.NAME, **protection))
        return stories[-1]
    yield make
    for story in stories:
        story.remove()


def test_a_pod_is_moved_once_to_room_that_is_held_for_it(placed, story_of, tell):
    story = story_of("moved")
    owners = story.workload("work")
    before = story.spread("work-1", owners)
    story.node("to", "single-numa-node")
    story.fill("to", (2, 0))
    assert not story.receipts()

    story.require()
    receipt = story.wait_receipt("Issued")
    assert (receipt["cause"], receipt["node"]) == ("TopologyMismatch", f"{story.kind}-to")
    assert [v["uid"] for v in receipt["victims"]] == [before["metadata"]["uid"]]
    assert receipt["beneficiary"]["owner"] == "ConfigMap/work" and "required" in receipt["proof"]
    story.wait_gone("work-1")

    # The room is free, and nobody else of the tier gets it.
    for i in range(3):
        story.pair(f"rival-{i}", story.workload(f"rival-{i}"))
    for i in range(3):
        wait_for(lambda name=f"rival-{i}": refusal(story.get(name)) or NotYet(story.get(name)["status"]), "a rival waits", timeout=60)
    story.pair("work-2", owners)
    after = story.running("work-2")
    assert after["spec"]["nodeName"] == f"{story.kind}-to"
    assert story.verdict("work-2")["gpuNuma"] in ([0], [1])
    receipt = story.wait_receipt("Helped")
    assert "work-2" in receipt["message"] and receipt["settledTime"]
    assert story.tenant.object()["status"]["evictionCount"] == 1
    assert not any(story.get(f"rival-{i}")["spec"].get("nodeName") == f"{story.kind}-to" for i in range(3))
    assert not sold_twice(placed.kubelets.report().pods)
    tell(f"moved: {receipt['message']} {receipt['limits']}")


def test_a_workload_is_not_moved_twice_within_the_hour(placed, story_of):
    story = story_of("twice", observationSeconds=10)
    owners = story.workload("work")
    story.spread("work-1", owners)
    story.node("to", "single-numa-node")
    story.require()
    story.wait_gone("work-1")
    story.require("None")
    # Its successor is misplaced once more, where nobody minded.
    story.spread("work-2", owners)
    story.require()
    story.wait_unmoved("work-2 is not moved: its last move, made or planned, is not an hour ago")
    assert story.get("work-2")["status"]["phase"] == "Running"
    assert len(story.receipts()) == 1


def test_without_a_better_node_nobody_is_evicted_and_the_reason_stands(story_of):
    story = story_of("alone")
    pod = story.spread("work-1", story.workload("work"))
    story.require()
    story.wait_unmoved("work-1 is not moved: no node fits: ")
    spared = story.get("work-1")
    assert spared["metadata"]["uid"] == pod["metadata"]["uid"] and NOTICE not in spared["metadata"].get("annotations", {})
    assert not story.receipts()


def test_a_pod_without_an_owner_stays(story_of):
    story = story_of("bare")
    story.spread("bare", None)
    story.node("to", "single-numa-node")
    story.require()
    story.wait_unmoved("bare is not moved: nobody owns it")
    assert story.get("bare") and not story.receipts()


def test_what_dry_run_would_do_stands_in_a_receipt(story_of):
    story = story_of("dry", mode="DryRun")
    pod = story.spread("work-1", story.workload("work"))
    story.node("to", "single-numa-node")
    story.require()
    receipt = story.wait_receipt("Planned")
    assert receipt["node"] == f"{story.kind}-to"
    story.wait_unmoved("work-1 is not moved: its last move, made or planned, is not an hour ago")
    assert story.get("work-1")["metadata"]["uid"] == pod["metadata"]["uid"]
    assert story.tenant.object()["status"]["evictionCount"] == 0 and len(story.receipts()) == 1


def test_a_budget_that_allows_nothing_keeps_the_pod(placed, story_of):
    story = story_of("budget")
    pod = story.spread("work-1", story.workload("work"), app="work")
    placed.cluster.api("POST", f"/apis/policy/v1/namespaces/{story.namespace.name}/poddisruptionbudgets", {
        "metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "work"}}}}).ok()

    def seen():
        budget = placed.cluster.get(f"/apis/policy/v1/namespaces/{story.namespace.name}/poddisruptionbudgets/all")
        return budget.get("status", {}).get("currentHealthy") == 1 or NotYet(budget.get("status"))
    wait_for(seen, "the budget counts the pod")
    story.node("to", "single-numa-node")
    story.require()
    story.wait_unmoved("PodDisruptionBudget allows no")
    kept = story.get("work-1")
    assert kept["metadata"]["uid"] == pod["metadata"]["uid"] and "deletionTimestamp" not in kept["metadata"]
    assert all(receipt["outcome"] == "Refused" for receipt in story.receipts())
    assert story.tenant.object().get("status", {}).get("evictionCount", 0) == 0
