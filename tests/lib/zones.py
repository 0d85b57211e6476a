"""NodeResourceTopology objects as Node Feature Discovery's topology updater writes them.

    zones.install(cluster)                          # the kind
    zones.publish(cluster, "a", kubelets.machine("single-numa-node"))
"""

from cluster import ROOT, NotYet, wait_for
from gpus import GPU

KIND = ROOT / "tests" / "data" / "topology" / "noderesourcetopologies.yaml"
API = "/apis/topology.node.k8s.io/v1alpha2"
PATH = f"{API}/noderesourcetopologies"
WORDS = {"single-numa-node": "SingleNUMANode", "restricted": "Restricted", "best-effort": "BestEffort"}


def install(cluster):
    cluster.kubectl("apply", "-f", str(KIND))
    wait_for(lambda: cluster.api("GET", PATH).status == 200 or NotYet("it is not served"), "NodeResourceTopology is served")


def amount(name, count):
    """Of which none is available: what the object says of that has to count nowhere."""
    return {"name": name, "capacity": str(count), "allocatable": str(count), "available": "0"}


def zones(machine):
    """A zone for each NUMA node: CPUs where kubelet's policy is static, and how many cards."""
    made = []
    for numa in machine["numa"]:
        first, last = map(int, numa["cpus"].split("-"))
        cards = sum(gpu["numa"] == numa["id"] for gpu in machine["gpus"])
        resources = [amount(GPU, cards)] if cards else []
        if machine["kubelet"]["cpuPolicy"] == "static":
            resources.append(amount("cpu", last - first + 1))
        made.append({"name": f"node-{numa['id']}", "type": "Node", "resources": resources,
                     "costs": [{"name": f"node-{i}", "value": value} for i, value in enumerate(numa["distances"])]})
    return made[::-1]  # the order means nothing


def publish(cluster, node, machine):
    kubelet = machine["kubelet"]
    policy, scope = kubelet["topologyPolicy"], kubelet["topologyScope"]
    cluster.api("POST", PATH, {
        "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": node},
        "topologyPolicies": [f"{WORDS[policy]}{scope.title()}Level" if policy in WORDS else "None"],
        "attributes": [{"name": "topologyManagerPolicy", "value": policy}, {"name": "topologyManagerScope", "value": scope}],
        "zones": zones(machine)}).ok()


def replace(cluster, node, made):
    """Other zones in a node's object."""
    cluster.api("PATCH", f"{PATH}/{node}", {"zones": made}, "application/merge-patch+json").ok()
