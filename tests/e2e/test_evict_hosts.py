"""Somebody goes only where kube-scheduler would let the pod: CPU, cordons, taints, selectors and what is not compared, on a
real kube-scheduler. Each time a node whose victims are the cheapest could not take the pod.
"""

import json
import secrets

import pytest
from cluster import wait_for
from crowded import Crowded
from kubelets import TOPOLOGY
from placement import gpu_pod, layout

pytestmark = pytest.mark.together


class Hosts:
    """Two nodes of eight cards that training has: the first, of some 32 CPUs, and a second, whose pods ran for less long."""

    def __init__(self, placed, kind, cpus=16):
        self.cluster, self.scene = placed.cluster, Crowded(placed.cluster, placed.kubelets, kind)
        self.first, self.second = self.scene.node, f"{self.scene.node}-{secrets.token_hex(2)}"
        self.label(self.first, site=self.first)
        made = layout("none", f"GPU-{self.second}", cpus=cpus)
        placed.kubelets.node(self.second, made, labels={"which": self.first, "site": self.second},
                             annotations={TOPOLOGY: json.dumps(made)})
        self.train("old", self.first)

    def cpus(self, name):
        return int(self.cluster.get(f"/api/v1/nodes/{name}")["status"]["allocatable"]["cpu"])

    def node(self, name, body):
        self.cluster.api("PATCH", f"/api/v1/nodes/{name}", body).ok()

    def label(self, name, **labels):
        self.node(name, {"metadata": {"labels": labels}})

    def put(self, namespace, name, gpus, cpu=1, site=None, **spec):
        item = gpu_pod(name, gpus, cpu, {"site": site} if site else {"which": self.first})
        item["metadata"]["labels"] = {"app": name}
        item["spec"] |= spec
        return namespace.create(item).ok()

    def train(self, name, site):
        for i in range(2):
            self.put(self.scene.training, f"{name}-{i}", 4, site=site)
        for i in range(2):
            self.scene.running(self.scene.training, f"{name}-{i}")

    def wait_on_first(self):
        receipt = self.scene.wait_receipt("Helped")
        assert receipt["node"] == self.first and {v["name"] for v in receipt["victims"]} < {"old-0", "old-1"}, receipt
        assert self.scene.running(self.scene.web, "web-0")["spec"]["nodeName"] == self.first
        assert {"new-0", "new-1"} <= self.scene.training_names() and len(self.scene.receipts()) == 1
        return receipt

    def wait_in_vain(self, words):
        told = self.scene.wait_in_vain(words)
        assert not self.scene.receipts()
        assert self.scene.training_names() == {"old-0", "old-1", "new-0", "new-1"}
        return told

    def remove(self):
        self.scene.remove()
        self.cluster.api("DELETE", f"/api/v1/nodes/{self.second}")


@pytest.fixture(scope="module")
def hosts_of(placed):
    made = []

    def make(kind, **options):
        made.append(Hosts(placed, kind, **options))
        return made[-1]
    yield make
    for hosts in made:
        hosts.remove()


def test_a_node_without_enough_cpu_is_left_alone(hosts_of, tell):
    hosts = hosts_of("cpu")
    # A pod without GPUs has all but six of the second node's CPUs, and goes for nobody; others have two of the six.
    hosts.put(hosts.scene.rivals, "bystander", 0, cpu=hosts.cpus(hosts.second) - 6, site=hosts.second)
    hosts.scene.running(hosts.scene.rivals, "bystander")
    hosts.train("new", hosts.second)
    assert hosts.scene.get(hosts.scene.rivals, "bystander")["status"]["phase"] == "Running"
    hosts.put(hosts.scene.web, "web-0", 2, cpu=8)
    tell(hosts.wait_on_first()["proof"])


def test_where_no_node_has_the_cpu_nobody_goes(hosts_of, tell):
    hosts = hosts_of("nowhere")
    hosts.train("new", hosts.second)
    hosts.put(hosts.scene.web, "web-0", 2, cpu=64)
    told = hosts.wait_in_vain("2 without enough CPU")
    tell(told["message"])


def test_one_more_goes_where_cpu_is_missing_too(hosts_of):
    hosts = hosts_of("more")
    # Each of the two has a CPU of the node.
    cpus = int(hosts.cluster.get(f"/api/v1/nodes/{hosts.first}")["status"]["allocatable"]["cpu"])
    hosts.node(hosts.second, {"spec": {"unschedulable": True}})
    hosts.put(hosts.scene.web, "web-0", 2, cpu=cpus)
    receipt = hosts.scene.wait_receipt("Helped")
    assert {v["name"] for v in receipt["victims"]} == {"old-0", "old-1"}
    assert hosts.scene.running(hosts.scene.web, "web-0")["spec"]["nodeName"] == hosts.first


def test_a_cordoned_node_is_left_alone(hosts_of):
    hosts = hosts_of("cordon")
    hosts.train("new", hosts.second)
    hosts.node(hosts.second, {"spec": {"unschedulable": True}})
    hosts.put(hosts.scene.web, "web-0", 2)
    hosts.wait_on_first()


def test_a_tainted_node_is_left_alone_and_both_tell_why(hosts_of, tell):
    hosts = hosts_of("taint")
    hosts.train("new", hosts.second)
    taint = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    for name in (hosts.first, hosts.second):
        hosts.node(name, {"spec": {"taints": [taint]}})
    hosts.put(hosts.scene.web, "web-0", 2)
    tell(hosts.wait_in_vain("2 with a taint that it does not tolerate")["message"])
    # One that tolerates it has room made for it.
    hosts.cluster.api("DELETE", f"{hosts.scene.web.pods}/web-0").ok()
    wait_for(lambda: hosts.scene.get(hosts.scene.web, "web-0") is None, "it is gone")
    hosts.node(hosts.second, {"spec": {"unschedulable": True}})
    hosts.put(hosts.scene.web, "web-0", 2, tolerations=[{"key": "dedicated", "operator": "Exists"}])
    hosts.wait_on_first()


def test_a_node_that_affinity_leaves_out_is_left_alone(hosts_of):
    hosts = hosts_of("affinity")
    hosts.train("new", hosts.second)
    hosts.label(hosts.second, generation="4")
    terms = [{"matchExpressions": [{"key": "which", "operator": "In", "values": [hosts.first]},
                                   {"key": "generation", "operator": "DoesNotExist"}]}]
    hosts.put(hosts.scene.web, "web-0", 2, affinity={"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
    hosts.wait_on_first()


def test_what_others_anti_affinity_closes_is_left_alone(hosts_of):
    hosts = hosts_of("shunned")
    term = {"labelSelector": {"matchLabels": {"app": "web-0"}}, "topologyKey": "kubernetes.io/hostname",
            "namespaces": [hosts.scene.web.name]}
    hosts.put(hosts.scene.rivals, "loner", 0, site=hosts.second, affinity={"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    hosts.scene.running(hosts.scene.rivals, "loner")
    hosts.train("new", hosts.second)
    hosts.put(hosts.scene.web, "web-0", 2)
    hosts.wait_on_first()


def test_its_own_anti_affinity_keeps_it_from_where_its_like_is(hosts_of):
    hosts = hosts_of("apart")
    hosts.put(hosts.scene.web, "web-1", 0, site=hosts.second)
    hosts.scene.running(hosts.scene.web, "web-1")
    hosts.train("new", hosts.second)
    term = {"labelSelector": {"matchLabels": {"app": "web-1"}}, "topologyKey": "kubernetes.io/hostname"}
    hosts.put(hosts.scene.web, "web-0", 2, affinity={"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    hosts.wait_on_first()


def test_for_what_is_not_compared_nobody_goes(hosts_of, tell):
    hosts = hosts_of("beyond")
    hosts.train("new", hosts.second)
    hosts.put(hosts.scene.web, "web-0", 2, topologySpreadConstraints=[{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web-0"}}}])
    tell(hosts.wait_in_vain("since it asks for a topology spread that must hold")["message"])
