#!/usr/bin/env python3
"""What hack/demo.d/night.sh needs beside bash. No card is here, so this plays gpuqos-agent on the night's two nodes.

    night.py agent NODE SHARED          until it is ended: once a second writes each node's GpuNode. On NODE cards are as its kubelet gave
                                        them; on SHARED all pods are on one card. What a pod's processes use its annotation
                                        gpuqos-demo/use says: "sm=90 memory=16Gi"
    night.py wires NODE                 the node's layout, two cards below each PCIe switch, to be applied
    night.py leases NODE...             the Leases by which agents show that they live, to be applied
    night.py beside NAMESPACE POD       the pod on the other card of that one's switch
    night.py receipt                    the receipt (TenantQoS, stdin) for people
"""

import datetime
import json
import os
import subprocess
import sys
import textwrap
import time

GPU = "nvidia.com/gpu"
MACHINE, TOPOLOGY, USE = "dev.gpuqos.io/machine", "gpuqos.io/topology", "gpuqos-demo/use"
SYSTEM = "gpuqos-system"
CARDS_PER_SWITCH = 2
SHARED_CARD = {"id": "GPU-shared-0::", "pci": "0000:10:00.0"}
IDLE = "sm=3 memory=1Gi"


def kubectl(*words, **options):
    done = subprocess.run([os.environ.get("KUBECTL", "kubectl"), *words], stdout=subprocess.PIPE, text=True, check=True, **options)
    return done.stdout


def get(*words):
    return json.loads(kubectl("get", *words, "-o", "json"))


def print_list(items):
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


# --- the machine


def layout_of(node):
    layout = json.loads(get("node", node)["metadata"]["annotations"][MACHINE])
    layout["bridges"] = [{"pci": f"0000:{i + 1:02x}:00.0"} for i in range(len(layout["gpus"]) // CARDS_PER_SWITCH)]
    for card in layout["gpus"]:
        card.update(bridge=card["index"] // CARDS_PER_SWITCH, memory="81559Mi")
    return layout | {"writer": "demo"}


def print_wires(node):
    print_list([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "annotations": {TOPOLOGY: json.dumps(layout_of(node))}}}])


def print_leases(*nodes):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    print_list([{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {
        "name": f"gpuqos-agent-{node}", "namespace": SYSTEM, "labels": {"app.kubernetes.io/name": "gpuqos-agent"}},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 3600, "renewTime": now}} for node in nodes])


# --- its pods


def holds_gpus(pod):
    return pod["status"].get("phase") == "Running" and any(
        name.startswith(GPU) for c in pod["spec"]["containers"] for name in c["resources"].get("limits", {}))


def pods_on(node):
    return [pod for pod in get("pods", "-A", f"--field-selector=spec.nodeName={node}")["items"] if holds_gpus(pod)]


def ids_of(pod):
    """Of the cards that kubelet says it gave to the pod."""
    return [resource["resourceID"] for status in pod["status"].get("containerStatuses", [])
            for allocated in status.get("allocatedResourcesStatus", []) for resource in allocated.get("resources", [])]


def cards_of(pod, layout):
    """[(device id, PCI address)]"""
    if layout is None:
        return [(SHARED_CARD["id"] + pod["metadata"]["uid"][:4], SHARED_CARD["pci"])]
    pci = {card["uuid"]: card["pci"] for card in layout["gpus"]}
    return [(i, pci[i]) for i in ids_of(pod)]


def print_beside(namespace, name):
    """By switches, of what runs on the node of that pod."""
    node = get("pod", name, "-n", namespace)["spec"]["nodeName"]
    switches = {card["uuid"]: card["bridge"] for card in layout_of(node)["gpus"]}
    place = {pod["metadata"]["name"]: switches[ids_of(pod)[0]] for pod in pods_on(node)}
    print(*[other for other, switch in place.items() if other != name and switch == place[name]])


# --- what its agent tells


def used_by(pod):
    words = dict(word.split("=") for word in pod["metadata"].get("annotations", {}).get(USE, IDLE).split())
    return int(words["sm"]), words["memory"]


def gpu_node(name, pods, layout, breath):
    """@breath: figures of a card are never the same twice, and told anew when they changed."""
    held, users = [], []
    for pod in pods:
        cards = cards_of(pod, layout)
        resource = GPU if layout else f"{GPU}.shared"
        held.append({"namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"], "containers": [
            {"name": "main", "devices": [{"resource": resource, "ids": [i], "cards": [pci]} for i, pci in cards]}]})
        sm, memory = used_by(pod)
        users += [{"card": pci, "podUID": pod["metadata"]["uid"], "memory": f"{int(memory[:-2]) * 1024 + 64 * breath}Mi",
                   "smPercent": sm, "processes": 1, "shared": layout is None} for _, pci in cards]
    return {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": name}, "status": {
        "writer": "demo", "gpus": 8, "podCount": len(held), "pods": held, "users": users}}


def play_agent(node, shared):
    layouts = {node: layout_of(node), shared: None}
    breath = 0
    while True:
        breath = 1 - breath
        items = [gpu_node(name, pods_on(name), layout, breath) for name, layout in layouts.items()]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=gpuqos-demo", "-f", "-", input=text)
        time.sleep(1)  # a pace, as an agent has one


# --- for people


def print_receipt():
    receipt = json.load(sys.stdin)["status"]["evictions"][-1]
    rows = [("for", "{namespace}/{name}".format(**receipt["beneficiary"])),
            ("because", f"objective {receipt['objective']} was {receipt['objectiveValue']}"),
            ("proof", receipt["proof"])]
    rows += [("victim", f"{v['namespace']}/{v['name']}, {v['lostGPUSeconds']} GPU-seconds lost") for v in receipt["victims"]]
    rows += [("spared", f"{s['namespace']}/{s['name']}: {s['reason']}") for s in receipt.get("spared", [])]
    rows += [("limits", receipt["limits"]), ("outcome", f"{receipt['outcome']}: {receipt['message']}")]
    before = None
    for name, words in rows:
        lead = f"  {'' if name == before else name:<8} "
        print(textwrap.fill(words, 120, initial_indent=lead, subsequent_indent=" " * 11, break_on_hyphens=False))
        before = name


if __name__ == "__main__":
    {"agent": play_agent, "wires": print_wires, "leases": print_leases, "beside": print_beside,
     "receipt": print_receipt}[sys.argv[1]](*sys.argv[2:])
