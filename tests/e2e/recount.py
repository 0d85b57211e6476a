#!/usr/bin/env python3
"""What each namespace holds of GPU memory, counted anew from what the cluster says.

    kubectl get pods,nodes -A -o json | tests/e2e/recount.py [NAMESPACE]

Written from the rules, not from the program: what a device has (NVIDIA's GFD labels,
AMD's node labeller), what a pod holds (Kubernetes' own formula), what a pod costs
that has no node yet (the dearest it could get). Prints {namespace: {used, live, pods,
gpus, resources}} as JSON, in the words of a GpuMemoryQuota's status, memory in bytes.
"""

import collections
import json
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from cluster import quantity

MIB, GIB = 1 << 20, 1 << 30

# Devices whose memory some label or name may tell, and those that only say how much of a card they take.
DEVICES = re.compile(
    r"nvidia\.com/(gpu|gpu\.shared|mig-.+)|amd\.com/(gpu|[a-z]px_nps\w*)|gpu\.intel\.com/(i915|xe)")
FRACTIONS = re.compile(
    r"nvidia\.com/(gpumem|gpumem-percentage|gpucores)|volcano\.sh/v?gpu-.+|koordinator\.sh/gpu.*|aliyun\.com/gpu-.+")
SELECTORS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")

Offer = collections.namedtuple("Offer", "product memory sharing")


def is_gpu(resource):
    return bool(DEVICES.fullmatch(resource) or FRACTIONS.fullmatch(resource))


# --- what nodes offer

def positive(text, most=10**18):
    return int(text) if text is not None and re.fullmatch(r"\d+", text) and 0 < int(text) <= most else None


def nvidia_offer(resource, labels):
    base = resource.removesuffix(".shared")
    product = labels.get(SELECTORS[0], "")
    whole = base == "nvidia.com/gpu"
    sliced = not whole or "-MIG-" in product
    if whole and "-MIG-INVALID" in product:
        return Offer(product, None, "MIG")
    shared = base != resource or (whole and product.endswith("-SHARED"))
    replicas = labels.get(f"{base}.replicas")
    if (replicas is None and shared) or (replicas is not None and not re.fullmatch(r"\d+", replicas)):
        return Offer(product, None, "Unknown")
    parts = max(int(replicas or 1), 1)
    memory = positive(labels.get(f"{base}.memory"))
    memory = memory * MIB // parts if memory else None
    if parts > 1:
        mps = labels.get(f"{base}.sharing-strategy") == "mps"
        return Offer(product, memory or None, "MPS" if mps else "TimeSlicing")
    return Offer(product, memory, "MIG" if sliced else "None")


def amd_offer(resource, labels):
    product = labels.get(SELECTORS[1], labels.get("beta." + SELECTORS[1], ""))
    partition = labels.get("amd.com/compute-memory-partition", "spx")
    if not re.fullmatch(r"amd\.com/(gpu|spx_nps\w*)", resource) or not partition.startswith("spx"):
        return Offer(product, None, "Unknown")
    vram = labels.get("amd.com/gpu.vram", labels.get("beta.amd.com/gpu.vram", ""))
    memory = positive(vram[:-1]) if vram.endswith("G") else None
    return Offer(product, memory * GIB if memory else None, "None")


def offer_of(resource, labels):
    if FRACTIONS.fullmatch(resource):
        return Offer("", None, "Unknown")
    if resource.startswith("nvidia.com/"):
        return nvidia_offer(resource, labels)
    if resource.startswith("amd.com/"):
        return amd_offer(resource, labels)
    return Offer(labels.get("gpu.intel.com/product", ""), None, "Unknown")


def offers_of(node):
    """{resource: Offer} of what the node has at least one of."""
    capacity = node.get("status", {}).get("capacity", {})
    labels = node["metadata"].get("labels", {})
    return {r: offer_of(r, labels) for r, n in capacity.items() if is_gpu(r) and quantity(n) > 0}


# --- prices

def claimed_by_name(resource):
    """The last source, and the largest a slice of that name can be."""
    match = re.match(r"nvidia\.com/mig-\d+g\.(\d+)gb", resource)
    return int(match[1]) * GIB if match else None


class Prices:
    """rows: {(resource, product): [Offer]} over all nodes."""

    def __init__(self, nodes):
        self.nodes = {n["metadata"]["name"]: offers_of(n) for n in nodes}
        self.rows = collections.defaultdict(list)
        for offers in self.nodes.values():
            for resource, offer in offers.items():
                self.rows[resource, offer.product].append(offer)

    def dearest(self, resource):
        known = [o.memory for (r, _), offers in self.rows.items() if r == resource for o in offers if o.memory]
        return max(known, default=None) or claimed_by_name(resource)

    def of_row(self, resource, product):
        """Bytes of a unit: the dearest of its row; one that does not tell may be as large as any."""
        memories = [o.memory for o in self.rows[resource, product]]
        return max(memories) if all(memories) else self.dearest(resource)

    def row_of_dearest(self, resource):
        rows = [product for r, product in self.rows if r == resource]
        unit = {product: self.of_row(resource, product) for product in rows}
        return max(rows, key=lambda product: unit[product] or 0, default=None)

    def charge(self, resource, pod):
        """(bytes of a unit or None, product of the row it is shown in or None)."""
        offer = self.nodes.get(pod["spec"].get("nodeName"), {}).get(resource)
        if offer:
            return offer.memory or self.dearest(resource), offer.product
        selector = pod["spec"].get("nodeSelector", {})
        wanted = selector.get(SELECTORS[0], selector.get(SELECTORS[1], ""))
        if wanted and (resource, wanted) in self.rows:
            return self.of_row(resource, wanted), wanted
        return self.dearest(resource), self.row_of_dearest(resource)

    def table(self):
        """{(resource, product): {unitMemory, sharing}} as status shows it."""
        return {key: {"unitMemory": self.of_row(*key),
                      "sharing": min((o.sharing for o in offers), key=SHARINGS.index)}
                for key, offers in list(self.rows.items()) if not FRACTIONS.fullmatch(key[0])}


# --- pods

def requests(container):
    asked = container.get("resources", {})
    amounts = asked.get("limits", {}) | asked.get("requests", {})
    return collections.Counter({r: quantity(n) for r, n in amounts.items() if is_gpu(r)})


def pod_request(pod):
    """Kubernetes' formula: the most that is held at once, plus the overhead."""
    spec = pod["spec"]
    sidecars, peak = collections.Counter(), collections.Counter()
    for container in spec.get("initContainers", []):
        if container.get("restartPolicy") == "Always":
            sidecars += requests(container)
        else:
            peak |= sidecars + requests(container)
    running = sum((requests(c) for c in spec["containers"]), collections.Counter()) + sidecars
    overhead = {r: quantity(n) for r, n in spec.get("overhead", {}).items() if is_gpu(r)}
    return +((running | peak) + collections.Counter(overhead))


def holds(pod):
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def count(pods, prices):
    """The status of one namespace that has these pods."""
    found = {"used": 0, "live": 0, "pods": 0, "gpus": 0, "unpriced": 0}
    units = collections.Counter()
    for pod in filter(holds, pods):
        asked = pod_request(pod)
        found["pods"] += bool(asked)
        for resource, amount in asked.items():
            unit, product = prices.charge(resource, pod)
            found["unpriced"] += 0 if unit else amount
            found["used"] += amount * (unit or 0)
            found["live"] += amount * (unit or 0) if pod["spec"].get("nodeName") else 0
            if product is not None:
                units[resource, product] += amount
    table = prices.table()
    found["gpus"] = sum(n for key, n in units.items() if table.get(key, {}).get("sharing") == "None")
    found["resources"] = [{"name": r, "product": p, "used": units[r, p], **table[r, p]} for r, p in sorted(table)]
    return found


def recount(pods, nodes):
    """{namespace: what it holds} for the namespaces of these pods."""
    prices = Prices(nodes)
    by_namespace = collections.defaultdict(list)
    for pod in pods:
        by_namespace[pod["metadata"]["namespace"]].append(pod)
    return {name: count(own, prices) for name, own in by_namespace.items()}


# Where the nodes of a row differ, it shows the first of these.
SHARINGS = ("None", "MIG", "TimeSlicing", "MPS", "Unknown")


def comparable(found):
    """The same, without what no rule says: of two cards that cost the same, under which a
    pod without a node is shown. Rows of a resource with one price become one."""
    merged = collections.defaultdict(lambda: {"products": [], "used": 0})
    kinds = collections.defaultdict(set)
    for row in found["resources"]:
        key = row["name"], row["unitMemory"] or 0
        merged[key]["products"].append((row["product"], row["sharing"]))
        merged[key]["used"] += row["used"]
        kinds[key].add(row["sharing"] == "None")
    ambiguous = any(len(whole) > 1 for whole in kinds.values())
    return found | {"resources": sorted(merged.items()), "gpus": None if ambiguous else found["gpus"]}


def of_status(status):
    """The same words out of a quota's status, to be compared."""
    rows = [{"name": r["name"], "product": r["product"], "used": r["used"], "sharing": r["sharing"],
             "unitMemory": quantity(r["unitMemory"]) if "unitMemory" in r else None}
            for r in status.get("resources", [])]
    return {"used": quantity(status["used"]), "live": quantity(status["live"]), "pods": status["pods"],
            "gpus": status["gpus"], "resources": rows}


def hard(nodes, memory, gpus=math.inf, caps=()):
    """{resource: most units} that a quota of so many bytes allows: by the smallest unit there is."""
    prices, caps = Prices(nodes), dict(caps)
    found = {}
    for resource in {r for r, _ in prices.rows}:
        offers = [o for (r, _), row in prices.rows.items() if r == resource for o in row]
        smallest = min((o.memory for o in offers if o.memory), default=claimed_by_name(resource))
        whole = all(o.sharing == "None" for o in offers)
        most = memory // smallest if smallest else 0
        found[resource] = min(most, caps.get(resource, most), gpus if whole else most)
    return found


def main():
    items = json.load(sys.stdin)["items"]
    found = recount([i for i in items if i["kind"] == "Pod"], [i for i in items if i["kind"] == "Node"])
    wanted = sys.argv[1:]
    print(json.dumps({n: found[n] for n in found if not wanted or n in wanted}, indent=2))


if __name__ == "__main__":
    main()
