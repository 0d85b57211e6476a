"""Nobody is evicted by what may be old: the watch of pods is down, and what it would show is that there is room by now."""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "fault")]
from cluster import NotYet, wait_for
from crowded import Crowded
from harness import Proxy, Replica
from kubelets import Kubelets

PODS = r"^/api/v1/pods\?.*watch=true"


@pytest.fixture(scope="module")
def proxy(installed, tmp_path_factory):
    made = Proxy(installed, tmp_path_factory.mktemp("proxy"))
    yield made
    made.stop()


@pytest.fixture
def replica(installed, proxy, tmp_path):
    made = Replica(installed, tmp_path / "replica", proxy=proxy).start()
    yield made
    made.kill()


def test_nobody_goes_while_the_watch_of_pods_is_down(installed, proxy, replica):
    scene = Crowded(installed, Kubelets(installed), "behind", scheduler=None)
    try:
        scene.tenant.patch(pendingSeconds=3600)
        scene.train("train", 8)
        scene.put(scene.web, "web-0", 8)
        wait_for(lambda: scene.web.quota()["status"].get("pods") == 1 or NotYet("it is not"), "web-0 is seen")

        proxy.rules({"method": "GET", "path": PODS, "action": "status", "status": 503})
        proxy.cut()
        wait_for(lambda: proxy.acted()[0] > 0 or NotYet("it was not asked for"), "the watch of pods is refused")
        installed.api("DELETE", f"{scene.training.pods}/train?gracePeriodSeconds=0").ok()
        scene.running(scene.web, "web-0")
        scene.tenant.patch(pendingSeconds=1)
        scene.wait_in_vain("what is known of pods may be old, since their watch is not back yet")
        assert not scene.receipts()

        proxy.rules()
        scene.tenant.wait_condition("Unprotected", "False", "AsAsked")
        assert not scene.receipts()
        replica.assert_sane()
    finally:
        proxy.rules()
        scene.remove()
