#!/usr/bin/env python3
"""What hack/demo.d/placement.sh needs beside bash: the pods of a load, layouts for nodes, and a picture of who holds what.

    placement.py pods NAMESPACE WAVE SCHEDULER PLACE    pods of a wave, for nodes with label gpuqos-demo/sockets in PLACE (A,B)
    placement.py ended WAVE                             names of those that end before the next wave
    placement.py asked                                  how many pods a load asks for, in both waves
    placement.py layouts                                Nodes (stdin) with the layout of their machine, as an agent publishes it
    placement.py report ADDRESS                         what the kubelets decided
    placement.py counts NAMESPACE NODES                 `admitted spanning TopologyAffinityErrors rejected-otherwise` (kubelets' report, stdin)
    placement.py picture [--ascii] [--color] NAMESPACE NODES    nodes whose names begin so, with the pods of a namespace (the same)
"""

import json
import sys
import urllib.request

GPU = "nvidia.com/gpu"
CPUS_PER_GPU = 16
# GPUs of each pod. Those of the first wave fill three nodes of eight; those at the places in ENDED end before the second.
WAVES = {"early": (1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1), "late": (4, 4, 2, 2, 4, 2, 1, 4, 2, 2)}
ENDED = {"early": (0, 1, 3, 5, 6, 9, 10, 11, 12, 14, 16, 18)}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LINES = {False: ("┌─┐", "│", "└─┘"), True: ("+-+", "|", "+-+")}
CELLS = 16  # columns of a socket
RED, PLAIN = "\033[1;31m", "\033[0m"


def names(wave):
    return [f"{wave}-{letter}" for letter in LETTERS[:len(WAVES[wave])]]


def pod(name, namespace, gpus, scheduler, places):
    amounts = {"cpu": str(CPUS_PER_GPU * gpus), "memory": "8Gi", GPU: str(gpus)}
    term = {"matchExpressions": [{"key": "gpuqos-demo/sockets", "operator": "In", "values": places}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": {
        "schedulerName": scheduler, "terminationGracePeriodSeconds": 0,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10",
                        "resources": {"requests": amounts, "limits": amounts}}]}}


def print_list(items):
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def print_pods(namespace, wave, scheduler, places):
    print_list([pod(name, namespace, gpus, scheduler, places.split(",")) for name, gpus in zip(names(wave), WAVES[wave])])


def print_ended(wave):
    print(*[names(wave)[i] for i in ENDED[wave]])


def print_asked():
    print(sum(map(len, WAVES.values())))


def print_layouts():
    """To be applied: the annotation alone."""
    made = []
    for node in json.load(sys.stdin)["items"]:
        layout = json.loads(node["metadata"]["annotations"]["dev.gpuqos.io/machine"])
        memory = node["metadata"]["labels"]["nvidia.com/gpu.memory"]
        for card in layout["gpus"]:
            card["memory"] = f"{memory}Mi"
        made.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node["metadata"]["name"], "annotations": {
            "gpuqos.io/topology": json.dumps(layout | {"writer": "demo"})}}})
    print_list(made)


def print_report(address):
    with urllib.request.urlopen(f"http://{address}/report", timeout=30) as answer:
        print(answer.read().decode())


def decisions(report, namespace, nodes):
    return [p for p in report["pods"] if p["namespace"] == namespace and p["node"].startswith(nodes)]


def spans(decision):
    return decision["spans"]["cpuGpu"] or decision["spans"]["gpus"]


def print_counts(namespace, nodes):
    """Of all that were ever decided about, those that have ended too."""
    decided = decisions(json.load(sys.stdin), namespace, nodes)
    admitted = [p for p in decided if p["verdict"] == "Admitted"]
    reasons = [p["reason"] for p in decided if p["verdict"] == "Rejected"]
    errors = reasons.count("TopologyAffinityError")
    print(len(admitted), len([p for p in admitted if spans(p)]), errors, len(reasons) - errors)


class Picture:
    """For each node and socket, a letter for each card and for each pod whose CPUs lie there."""

    def __init__(self, ascii_only, color):
        self.corners, self.wall, self.floor = LINES[ascii_only]
        self.color = color

    def mark(self, decision):
        """a for early-a, A for late-a; with ! where it spans."""
        wave, _, letter = decision["name"].rpartition("-")
        mark = (letter.upper() if wave == "late" else letter) + ("!" if spans(decision) else " ")
        return f"{RED}{mark}{PLAIN}" if self.color and spans(decision) else mark

    def row(self, head, sockets, gap):
        """Marks, two columns each, in every socket."""
        room = [CELLS - len(marks) * (2 + len(gap)) for marks in sockets]
        cells = ["".join(mark + gap for mark in marks) + " " * left for marks, left in zip(sockets, room)]
        return f"{head:<11}" + "  ".join(f"{self.wall} {cell}{self.wall}" for cell in cells)

    def edge(self, text, corners):
        left, line, right = corners
        return f"{left}{line}{text:{line}<{CELLS}}{right}"

    def draw(self, node, layout, held):
        sockets = range(len(layout["numa"]))
        owner = {d["id"]: p for p in held for c in p["containers"] for d in c["devices"]}
        cards = [[self.mark(owner[g["uuid"]]) if g["uuid"] in owner else ". " for g in layout["gpus"] if g["numa"] == socket]
                 for socket in sockets]
        cpus = [[self.mark(p) for p in held if socket in p["cpuNuma"]][:CELLS // 2] for socket in sockets]
        yield " " * 11 + "  ".join(self.edge(f" socket {socket} ", self.corners) for socket in sockets)
        yield self.row(node, cards, " ")
        yield self.row("  CPUs of", cpus, "")
        yield " " * 11 + "  ".join(self.edge("", self.floor) for _ in sockets)


def print_picture(*words):
    picture = Picture("--ascii" in words, "--color" in words)
    namespace, nodes = [word for word in words if not word.startswith("--")]
    report = json.load(sys.stdin)
    held = [p for p in decisions(report, namespace, nodes) if p["verdict"] == "Admitted" and not p["released"]]
    for name, node in sorted(report["nodes"].items()):
        if name.startswith(nodes):
            print(*picture.draw(name, node["layout"], [p for p in held if p["node"] == name]), sep="\n")


if __name__ == "__main__":
    {"pods": print_pods, "ended": print_ended, "asked": print_asked, "layouts": print_layouts, "report": print_report,
     "counts": print_counts, "picture": print_picture}[sys.argv[1]](*sys.argv[2:])
