"""Somebody goes only where kube-scheduler would let the pod: CPU, cordons, taints, selectors and what is not compared, on a
real kube-scheduler. Each time a node whose victims are the cheapest could not take the pod.
"""

import json
import secrets

import pytest
from cluster import NotYet, wait_for
from crowded import Crowded
from kubelets import TOPOLOGY
from placement import gpu_pod, layout

pytestmark = pytest.mark.together

VOLUMES, CLASSES = "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/storageclasses"


class Hosts:
    """Two nodes of eight cards that training has: the first, of some 32 CPUs, and a second, whose pods ran for less long."""

    def __init__(self, placed, kind, cpus=16):
        self.cluster, self.scene = placed.cluster, Crowded(placed.cluster, placed.kubelets, kind)
        self.made = []
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

    def put(self, namespace, name, gpus, cpu=1, site=None, port=None, claim=None, **spec):
        item = gpu_pod(name, gpus, cpu, {"site": site} if site else {"which": self.first})
        item["metadata"]["labels"] = {"app": name}
        item["spec"] |= spec
        if port:
            item["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
        if claim:
            item["spec"]["volumes"] = [{"name": "weights", "persistentVolumeClaim": {"claimName": claim}}]
        return namespace.create(item).ok()

    def claim(self, zone, **spec):
        """A claim of the inference tenant's, bound to a volume of this zone."""
        asked = {"accessModes": ["ReadWriteMany"], "storageClassName": ""} | spec
        self.make_volume(zone, asked)
        claim = self.make_claim(asked | {"volumeName": f"{self.first}-weights"})
        wait_for(lambda: self.cluster.get(claim)["status"].get("phase") == "Bound", "the claim is bound")

    def claim_that_waits(self, zone):
        """One whose volume is made for its first pod, in this zone."""
        labels = [{"key": "topology.kubernetes.io/zone", "values": [zone]}]
        self.cluster.api("POST", CLASSES, {
            "metadata": {"name": self.first}, "provisioner": "test.gpuqos.io/nobody",
            "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [{"matchLabelExpressions": labels}]}).ok()
        self.made.append(f"{CLASSES}/{self.first}")
        return self.make_claim({"accessModes": ["ReadWriteOnce"], "storageClassName": self.first})

    def make_volume(self, zone, spec):
        name = f"{self.first}-weights"
        term = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}
        self.cluster.api("POST", VOLUMES, {"metadata": {"name": name}, "spec": spec | {
            "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}).ok()
        self.made.append(f"{VOLUMES}/{name}")

    def make_claim(self, spec):
        claims = f"/api/v1/namespaces/{self.scene.web.name}/persistentvolumeclaims"
        self.cluster.api("POST", claims, {"metadata": {"name": "weights"}, "spec": spec | {
            "resources": {"requests": {"storage": "1Gi"}}}}).ok()
        return f"{claims}/weights"

    def zones(self):
        self.label(self.first, **{"topology.kubernetes.io/zone": "a"})
        self.label(self.second, **{"topology.kubernetes.io/zone": "b"})

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
        for path in self.made:
            self.cluster.api("DELETE", path)


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
    # Each of the two has a CPU of the node, on which a small pod of the system's may be as well.
    cpus = f"{1000 * hosts.cpus(hosts.first) - 500}m"
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


def test_where_its_volume_is_not_nobody_goes(hosts_of, tell):
    hosts = hosts_of("volume")
    hosts.zones()
    hosts.train("new", hosts.second)
    hosts.claim("a")
    hosts.put(hosts.scene.web, "web-0", 2, claim="weights")
    tell(hosts.wait_on_first()["proof"])


def test_where_its_volume_cannot_be_made_nobody_goes(hosts_of, tell):
    hosts = hosts_of("made")
    hosts.zones()
    hosts.train("new", hosts.second)
    claim = hosts.claim_that_waits("a")
    hosts.put(hosts.scene.web, "web-0", 2, claim="weights")

    # kube-scheduler chooses the node before there is a volume: whoever makes that is the test.
    def chosen():
        made_for = hosts.cluster.get(claim)["metadata"].get("annotations", {})
        return made_for.get("volume.kubernetes.io/selected-node") or NotYet(made_for)
    assert wait_for(chosen, "a node is chosen", timeout=60) == hosts.first
    hosts.make_volume("a", {"accessModes": ["ReadWriteOnce"], "storageClassName": hosts.first, "claimRef": {
        "namespace": hosts.scene.web.name, "name": "weights", "uid": hosts.cluster.get(claim)["metadata"]["uid"]}})
    tell(hosts.wait_on_first()["proof"])


def test_where_no_node_has_its_volume_nobody_goes(hosts_of, tell):
    hosts = hosts_of("novolume")
    hosts.zones()
    hosts.train("new", hosts.second)
    hosts.claim("c")
    hosts.put(hosts.scene.web, "web-0", 2, claim="weights")
    tell(hosts.wait_in_vain("2 that its volumes are not for")["message"])


def test_a_claim_that_is_not_there_is_told(hosts_of, tell):
    hosts = hosts_of("noclaim")
    hosts.train("new", hosts.second)
    hosts.put(hosts.scene.web, "web-0", 2, claim="weights")
    tell(hosts.wait_in_vain("its claim weights is not there")["message"])


def test_a_claim_for_one_pod_is_in_use(hosts_of, tell):
    hosts = hosts_of("once")
    hosts.zones()
    hosts.train("new", hosts.second)
    hosts.claim("a", accessModes=["ReadWriteOncePod"])
    hosts.put(hosts.scene.web, "reader", 0, site=hosts.first, claim="weights")
    hosts.scene.running(hosts.scene.web, "reader")
    hosts.put(hosts.scene.web, "web-0", 2, claim="weights")
    tell(hosts.wait_in_vain("its claim weights is for one pod at a time, and another has it")["message"])
    # Once that one is gone nothing is in the way.
    hosts.cluster.api("DELETE", f"{hosts.scene.web.pods}/reader").ok()
    hosts.wait_on_first()


def test_who_has_the_port_goes(hosts_of, tell):
    hosts = hosts_of("port")
    # There it is a pod's that goes for nobody; here the older one's, whose going costs more.
    hosts.put(hosts.scene.rivals, "exporter", 0, site=hosts.second, port=9400)
    hosts.scene.running(hosts.scene.rivals, "exporter")
    hosts.train("new", hosts.second)
    hosts.cluster.api("DELETE", f"{hosts.scene.training.pods}/old-1").ok()
    wait_for(lambda: hosts.scene.get(hosts.scene.training, "old-1") is None, "it is gone")
    hosts.cluster.api("DELETE", f"{hosts.scene.training.pods}/old-0").ok()
    wait_for(lambda: hosts.scene.get(hosts.scene.training, "old-0") is None, "it is gone")
    hosts.put(hosts.scene.training, "old-0", 4, site=hosts.first, port=9400)
    hosts.scene.running(hosts.scene.training, "old-0")
    hosts.put(hosts.scene.training, "old-1", 2, site=hosts.first)
    hosts.put(hosts.scene.training, "old-2", 2, site=hosts.first)
    for name in ("old-1", "old-2"):
        hosts.scene.running(hosts.scene.training, name)
    hosts.put(hosts.scene.web, "web-0", 2, port=9400)
    receipt = hosts.wait_on_first()
    assert [v["name"] for v in receipt["victims"]] == ["old-0"]
    tell(receipt["proof"])


def test_where_the_port_stays_taken_nobody_goes(hosts_of, tell):
    hosts = hosts_of("noport")
    hosts.train("new", hosts.second)
    for name in (hosts.first, hosts.second):
        hosts.put(hosts.scene.rivals, f"exporter-{name}", 0, site=name, port=9400)
        hosts.scene.running(hosts.scene.rivals, f"exporter-{name}")
    hosts.put(hosts.scene.web, "web-0", 2, port=9400)
    tell(hosts.wait_in_vain("2 where others have a port that it asks for")["message"])


def test_for_what_is_not_compared_nobody_goes(hosts_of, tell):
    hosts = hosts_of("beyond")
    hosts.train("new", hosts.second)
    hosts.put(hosts.scene.web, "web-0", 2, topologySpreadConstraints=[{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web-0"}}}])
    tell(hosts.wait_in_vain("since it asks for a topology spread that must hold")["message"])
