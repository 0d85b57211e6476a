"""Kill at every write of an eviction: SIGKILL before or after the receipt, the notice, the eviction and what came of it.

The controller is started again, and ends where one ends that was not killed: one receipt, one pod evicted.
"""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "fault")]
from cluster import NotYet, wait_for
from harness import SHORT_LEASE, Proxy, Replica
from kubelets import Kubelets
from moves import NOTICE, Story

RECEIPTS = r"^/apis/gpuqos\.io/.*fieldManager=gpuqos-controller-evictions"
NOTICES = r"^/api/v1/namespaces/[^/]*/pods/[^/?]*\?"
EVICTIONS = r"/pods/[^/]*/eviction"


@pytest.fixture(scope="module")
def cluster(installed):
    return installed


@pytest.fixture(scope="module")
def proxy(cluster, tmp_path_factory):
    made = Proxy(cluster, tmp_path_factory.mktemp("proxy"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def replica(cluster, proxy, tmp_path_factory):
    made = Replica(cluster, tmp_path_factory.mktemp("replica"), *SHORT_LEASE, proxy=proxy)
    yield made
    made.kill()


def lead(replica):
    if not replica.alive:
        replica.start()
    wait_for(lambda: replica.leads() or NotYet("it does not lead"), "it leads", 30)


def evictions(proxy):
    """That passed since the rules were last set."""
    return sum("/eviction" in write["path"] and write["status"] < 300 for write in proxy.writes())


def kill_and_restart(proxy, replica):
    """Returns how many evictions the one that is killed had asked for."""
    wait_for(lambda: not replica.alive or NotYet(proxy.matched()), "it was killed", 60)
    asked = evictions(proxy)
    proxy.rules()
    lead(replica)
    return asked


@pytest.mark.parametrize("what, path, skip", [
    ("receipt", RECEIPTS, 0), ("notice", NOTICES, 0), ("eviction", EVICTIONS, 0), ("outcome", RECEIPTS, 1)])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_one_receipt_evicts_one_pod_wherever_it_dies(what, path, skip, moment, cluster, proxy, replica):
    proxy.rules()
    lead(replica)
    story = Story(cluster, Kubelets(cluster), f"{what}-{moment}")
    try:
        owners = story.workload("work")
        before = story.spread("work-1", owners)
        story.node("to", "single-numa-node")
        proxy.rules({"method": "WRITE", "path": path, "action": f"kill-{moment}", "skip": skip, "count": 1,
                     "pid": replica.process.pid})
        story.require()
        asked = kill_and_restart(proxy, replica) if what != "outcome" else 0
        story.wait_gone("work-1")
        story.pair("work-2", owners, "to")
        if what == "outcome":
            asked = kill_and_restart(proxy, replica)
        receipt = story.wait_receipt("Helped")
        assert len(story.receipts()) == 1 and [v["uid"] for v in receipt["victims"]] == [before["metadata"]["uid"]]
        # Asking again for a pod that is on its way out evicts nobody. That work-1 went shows that it was asked: of who
        # is killed meanwhile no answer is seen.
        assert asked + evictions(proxy) <= 2
        after = story.running("work-2")
        assert NOTICE not in after["metadata"].get("annotations", {})
        replica.assert_sane()
    finally:
        proxy.rules()
        story.remove()
