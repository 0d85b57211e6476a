"""Who slows an inference pod down is told by exporters' series of cards in a real Prometheus, where no agent measures pods: a
card's figures are those of a pod that has it for itself, and nobody's where it is time-sliced, stale or gone.
"""

import copy
import datetime
import pathlib
import re
import time

import inference
import pytest
from cluster import NotYet, wait_for
from crowded import Crowded

PAGES = pathlib.Path(__file__).resolve().parents[1] / "data/device-series"
LATENCY = "gpuqos_test_latency_seconds"
UTIL = "DCGM_FI_DEV_GPU_UTIL"
EXPORTERS_SECONDS = 30  # after its start figures of a pod's cards are of those before it


class TimeSlicing:
    """Kubelets whose device plugin gives each card out twice, as GPU feature discovery labels it."""

    LABELS = {"nvidia.com/gpu.replicas": "2", "nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.product": "H100-SHARED"}

    def __init__(self, kubelets):
        self.kubelets = kubelets

    def node(self, name, layout, labels=None, annotations=None):
        twice = copy.deepcopy(layout)
        twice["gpus"] = [card | {"uuid": f"{card['uuid']}::{k}", "index": 2 * card["index"] + k, "pci": f"0000:{card['index'] + 16:02x}:00.{k}"}
                         for card in twice["gpus"] for k in range(2)]
        self.kubelets.node(name, twice, labels=(labels or {}) | self.LABELS, annotations=annotations)

    def publish(self, name, layout):
        self.kubelets.publish(name, layout)


class Street(Crowded):
    """web-0 has a unit of a card, training pods have all others; the latency is what the test says. All cards do little but the one
    beside web-0's, of which nothing is told yet."""

    def __init__(self, placed, kind, kubelets, units):
        super().__init__(placed.cluster, kubelets, kind, switches=2, observationSeconds=10)
        self.exporter = placed.exporter
        kubelets.publish(self.node, self.layout)
        self.put(self.web, "web-0", 1)
        self.running(self.web, "web-0")
        for i in range(units - 1):
            self.train(f"train-{i}", 1)
        self.cards = {p["metadata"]["name"]: self.card_of(p["metadata"]["name"]) for p in self.web.list_pods() + self.training.list_pods()}
        self.latency(0.1)
        for card in self.layout["gpus"]:
            self.busy(card["uuid"], 3 if card["uuid"] != self.beside() else None)
        self.tenant.patch(objectives=[{
            "name": "latency", "threshold": "150m", "for": "5s",
            "query": f'max by (namespace, pod) ({LATENCY}{{namespace="{self.web.name}"}})'}])

    def card_of(self, name):
        def told():
            seen = self.get(self.web if name == "web-0" else self.training, name)
            return inference.cards(seen) or NotYet(seen["status"])
        card, = wait_for(told, f"the card of {name} is told")
        return card

    def latency(self, value):
        self.exporter.gauge(LATENCY, value, namespace=self.web.name, pod="web-0")

    def busy(self, uuid, percent):
        self.exporter.gauge(UTIL, percent, UUID=uuid, gpu="0", device="nvidia0", modelName="H100", Hostname=self.node)

    def beside(self):
        """The other card below web-0's switch."""
        shared = inference.wires(self.layout)
        return next(uuid for uuid in shared if uuid != self.cards["web-0"]
                    and inference.nearest({self.cards["web-0"]}, {uuid}, shared) == "switch")

    def wait_old(self):
        """Until its pods run for so long that what exporters tell of their cards counts."""
        def old():
            begun = [p["status"]["startTime"] for p in self.web.list_pods() + self.training.list_pods()]
            age = time.time() - datetime.datetime.fromisoformat(max(begun).replace("Z", "+00:00")).timestamp()
            return age > EXPORTERS_SECONDS + 1 or NotYet(age)
        wait_for(old, "all pods have run for a while", EXPORTERS_SECONDS + 60)

    def wait_state(self, *states):
        def reached():
            seen = self.tenant.object().get("status", {}).get("objectives", [{}])[0]
            return seen if seen.get("state") in states else NotYet(seen)
        return wait_for(reached, f"latency is {states}", 60)

    def remove(self):
        self.latency(None)
        for card in self.layout["gpus"]:
            self.busy(card["uuid"], None)
        super().remove()


@pytest.fixture
def street_of(placed):
    streets = []

    def make(kind, kubelets, units):
        streets.append(Street(placed, kind, kubelets, units))
        return streets[-1]
    yield make
    for street in streets:
        street.remove()


def wait_figures(placed, count, exporter="DCGM", quantity="sm", of="card"):
    def told():
        seen = placed.controller.metric("gpuqos_device_series", exporter=exporter, quantity=quantity, of=of)
        return seen == count or NotYet(seen)
    wait_for(told, f"{count} of {exporter}'s {quantity} of a {of} are known", 60)


def test_who_has_a_busy_card_for_itself_goes(placed, street_of, tell):
    street = street_of("series", placed.kubelets, 8)
    everybody, beside = street.training_names(), street.beside()
    culprit = next(name for name, card in street.cards.items() if card == beside)
    street.wait_state("Met")
    wait_figures(placed, 7)

    # The card of whoever is busy is told of by an old sample alone, and another's, which no node has, by a fresh one.
    street.busy(beside, f"95 {int((time.time() - 100) * 1000)}")
    street.busy("GPU-gone", 95)
    wait_figures(placed, 8)
    street.wait_old()
    street.latency(0.18)
    street.wait_state("AtRisk", "Violated")
    street.wait_in_vain("1 share with it, and nothing tells what they do")
    assert not street.receipts() and street.training_names() == everybody

    # It is told of as it is now.
    street.busy("GPU-gone", None)
    street.busy(beside, 95)
    receipt = street.wait_receipt("Issued")
    assert (receipt["cause"], receipt["objective"], receipt["node"]) == ("Objective", "latency", street.node)
    assert "a PCIe switch" in receipt["proof"] and "95 % of a card, by DCGM's exporter" in receipt["proof"]
    assert [v["name"] for v in receipt["victims"]] == [culprit]
    wait_for(lambda: street.get(street.training, culprit) is None or NotYet(culprit), f"{culprit} is gone")
    street.busy(beside, 0)
    street.latency(0.1)
    receipt = street.wait_receipt("Helped")
    assert street.training_names() == everybody - {culprit} and len(street.receipts()) == 1
    tell(f"series: {receipt['proof']} {receipt['message']}")


def test_a_time_sliced_cards_figures_blame_nobody(placed, street_of):
    street = street_of("sliced", TimeSlicing(placed.kubelets), 16)
    everybody, beside = street.training_names(), street.beside()
    assert sorted(street.cards.values()).count(beside) == 2
    street.wait_state("Met")
    street.busy(beside, 95)
    wait_figures(placed, 8)
    street.latency(0.18)
    street.wait_state("Violated")
    street.wait_in_vain("the figures are their cards', which others have, too")
    assert not street.receipts() and street.training_names() == everybody


def test_each_exporters_pages_are_read(placed):
    """Left out: a MIG instance, a card of two hosts, NaN, more than 100 %, less than 0, one direction of two, what
    another job has."""
    series = re.compile(r"(\w+)\{(.*)\} (\S+)")
    found = [series.match(line).groups() for page in sorted(PAGES.glob("*.txt")) for line in page.read_text().splitlines()]
    pages = [(metric, dict(re.findall(r'(\w+)="([^"]*)"', labels)), value) for metric, labels, value in found]
    pages.append(("vGPU_device_memory_usage_in_bytes", {"podnamespace": "a", "podname": "blamed", "deviceuuid": "GPU-page-1", "job": "forged"}, 5))
    for metric, labels, value in pages:
        placed.exporter.gauge(metric, value, **labels)
    for exporter, quantity, of, count in [
            ("DCGM", "sm", "card", 2), ("DCGM", "memory", "card", 1), ("DCGM", "pcie", "card", 1),
            ("HAMi", "memory", "pod", 2), ("HAMi", "sm", "pod", 2), ("HAMi", "memory", "card", 2), ("HAMi", "sm", "card", 1),
            ("AMD", "memory", "cards", 1), ("AMD", "sm", "cards", 0)]:
        wait_figures(placed, count, exporter, quantity, of)
    for metric, labels, _ in pages:
        placed.exporter.gauge(metric, None, **labels)
    for exporter, quantity, of in [("DCGM", "memory", "card"), ("HAMi", "sm", "pod"), ("AMD", "memory", "cards")]:
        wait_figures(placed, 0, exporter, quantity, of)
