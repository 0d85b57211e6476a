"""Who slows an inference pod down is evicted, on a real API server with a real Prometheus: once it is known that the latency is bad,
and who is to blame. The test is the node's agent; latency follows from tests/lib/inference.py's model of who shares wires.
"""

import json
import threading

import inference
import pytest
from cluster import NotYet, wait_for
from crowded import Crowded
from gpus import GPU

LATENCY = "gpuqos_test_latency_seconds"
UNDISTURBED = 0.1

pytestmark = pytest.mark.together


class Town(Crowded):
    """web-0 has one card; seven training pods have the others. Latency is what the busy ones make it."""

    def __init__(self, placed, kind, **protection):
        super().__init__(placed.cluster, placed.kubelets, kind, switches=2, **protection)
        self.placed, self.busy = placed, set()
        placed.kubelets.publish(self.node, self.layout)
        self.put(self.web, "web-0", 1)
        self.running(self.web, "web-0")
        for i in range(7):
            self.train(f"train-{i}", 1)
        self.wires = inference.wires(self.layout)
        self.cards = {p["metadata"]["name"]: self.cards_of(p) for p in self.all_pods()}
        self.uids = {p["metadata"]["name"]: p["metadata"]["uid"] for p in self.all_pods()}
        self.tell_figures({})
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        self.tenant.patch(objectives=[{
            "name": "latency", "threshold": "150m", "for": "5s",
            "query": f'max by (namespace, pod) ({LATENCY}{{namespace="{self.web.name}"}})'}])

    def all_pods(self):
        return self.web.list_pods() + self.training.list_pods()

    def cards_of(self, pod):
        name = pod["metadata"]["name"]

        def told():
            seen = self.get(self.web if name == "web-0" else self.training, name)
            return inference.cards(seen) or NotYet(seen["status"])
        return wait_for(told, f"the card of {name} is told")

    def neighbour(self):
        """Who is below the same switch."""
        return next(name for name, cards in self.cards.items()
                    if name != "web-0" and inference.nearest(self.cards["web-0"], cards, self.wires) == "switch")

    def latency(self):
        there = self.training_names()
        return UNDISTURBED * inference.slowdown(self.cards["web-0"], [self.cards[n] for n in self.busy if n in there], self.wires)

    def _serve(self):
        while not self.stop.wait(0.3):
            self.placed.exporter.gauge(LATENCY, self.latency(), namespace=self.web.name, pod="web-0")

    def tell_figures(self, percents):
        """As the node's agent: which card each pod has, and what its processes do there."""
        pci = {card["uuid"]: card["pci"] for card in self.layout["gpus"]}
        pods, users = [], []
        for name, cards in sorted(self.cards.items()):
            card, = cards
            pods.append({"namespace": (self.web if name == "web-0" else self.training).name, "name": name, "containers": [
                {"name": "main", "devices": [{"resource": GPU, "ids": [card], "cards": [pci[card]]}]}]})
            users.append({"card": pci[card], "podUID": self.uids[name], "memory": "1Gi", "smPercent": percents.get(name, 3), "processes": 1})
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps({
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": self.node},
            "status": {"gpus": 8, "podCount": len(pods), "pods": pods, "users": sorted(users, key=lambda u: u["card"])}}))

    def wait_state(self, *states):
        def reached():
            seen = self.tenant.object().get("status", {}).get("objectives", [{}])[0]
            return seen if seen.get("state") in states else NotYet(seen)
        return wait_for(reached, f"latency is {states}", 60)

    def remove(self):
        self.stop.set()
        self.thread.join()
        self.placed.exporter.gauge(LATENCY, None, namespace=self.web.name, pod="web-0")
        self.cluster.api("DELETE", f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}")
        super().remove()


@pytest.fixture(scope="module")
def town_of(placed):
    towns = []

    def make(kind, **protection):
        towns.append(Town(placed, kind, **protection))
        return towns[-1]
    yield make
    for town in towns:
        town.remove()


def failures(placed):
    return placed.controller.metric("gpuqos_prometheus_queries_total", result="failed")


def test_who_is_to_blame_goes_and_latency_falls(placed, town_of, tell):
    town = town_of("blame", observationSeconds=10)
    everybody = town.training_names()
    town.wait_state("Met")

    # It is slow, and nobody knows.
    placed.prometheus.stop()
    town.wait_state("Unknown")
    culprit = town.neighbour()
    town.busy.add(culprit)
    town.tell_figures({culprit: 90})
    refused = failures(placed)
    wait_for(lambda: failures(placed) >= refused + 3 or NotYet(failures(placed)), "it was asked for in vain", 60)
    assert town.wait_state("Unknown")["reason"] == "SourceDown"
    assert not town.receipts() and town.training_names() == everybody

    # It is known, and nothing tells who it is.
    town.tell_figures({})
    placed.prometheus.start()
    town.wait_state("AtRisk", "Violated")
    told = town.wait_in_vain("candidates to blame")
    assert "web-0" in told["message"] and not town.receipts() and town.training_names() == everybody

    # It is known who it is.
    town.tell_figures({culprit: 90})
    receipt = town.wait_receipt("Issued")
    assert (receipt["cause"], receipt["objective"], receipt["node"]) == ("Objective", "latency", town.node)
    assert receipt["objectiveValue"] == "0.18" and "a PCIe switch" in receipt["proof"] and "90 % of a card" in receipt["proof"]
    assert [v["name"] for v in receipt["victims"]] == [culprit]
    assert {s["name"] for s in receipt["spared"]} == everybody - {culprit}
    assert {s["reason"] for s in receipt["spared"]} == {"it does little", "it shares nothing with it"}
    receipt = town.wait_receipt("Helped")
    assert town.training_names() == everybody - {culprit} and len(town.receipts()) == 1
    assert town.wait_state("Met")["value"] == "0.1"
    assert town.tenant.object()["status"]["evictionCount"] == 1
    tell(f"blame: {receipt['proof']} {receipt['message']}")


def test_what_dry_run_would_do_stands_in_a_receipt(town_of):
    town = town_of("dry-blame", mode="DryRun")
    everybody = town.training_names()
    town.wait_state("Met")
    culprit = town.neighbour()
    town.busy.add(culprit)
    town.tell_figures({culprit: 90})
    receipt = town.wait_receipt("Planned")
    assert receipt["cause"] == "Objective" and [v["name"] for v in receipt["victims"]] == [culprit]
    town.wait_state("Violated")
    assert town.training_names() == everybody and len(town.receipts()) == 1
