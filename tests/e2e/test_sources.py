"""One number over every way of sharing a card: for pods and nodes as each project makes them
(tests/data/sources), what `kubectl get gmq` shows is the sum by hand, to the byte; one more pod is
refused by the policy, and where docs/sources.md says that ResourceQuota holds a burst, that is full
too. The table is printed."""

import json

import pytest

import dra
from cluster import ROOT, NotYet, quantity, wait_for
from controller import Controller
from gpus import GIB, MIB, Namespace, quota

DATA = ROOT / "tests" / "data" / "sources"
H200, H100, A10 = 143771 * MIB, 81559 * MIB, 23028 * MIB

# What an admin writes for what no label tells: docs/sources.md explains each.
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
resources:
  - {name: huawei.com/Ascend910, unitMemory: 64Gi, product: Ascend910B, sharing: None}
  - {name: gpu.intel.com/i915, unitMemory: 128Gi, productLabel: gpu.intel.com/product, sharing: None}
  - {name: amd.com/cpx_nps4, memoryLabel: example.com/partition.memory, memoryUnit: 1Mi,
     productLabel: amd.com/gpu.product-name, sharing: MIG}
"""

QUOTA, POLICY = "policy and ResourceQuota", "policy"
# source, node, pod, by hand in words and in numbers, the gates that hold one more
CASES = [
    ("nvidia", "whole", "pair", "2 x 143771Mi", 2 * H200, QUOTA),
    ("nvidia", "mig-mixed", "slices", "71424Mi + 2 x 16384Mi", (71424 + 2 * 16384) * MIB, QUOTA),
    ("nvidia", "mig-single", "single", "3 x 4864Mi", 3 * 4864 * MIB, QUOTA),
    ("nvidia", "time-sliced", "sliced", "81559Mi / 4", H100 // 4, QUOTA),
    ("nvidia", "mps", "mps", "81559Mi / 10", H100 // 10, QUOTA),
    ("nvidia", "renamed", "renamed", "3 x (81559Mi / 10)", 3 * (H100 // 10), QUOTA),
    ("hami", "json", "memory", "2 x 3000Mi", 6000 * MIB, POLICY),
    ("hami", "json", "memory-alone", "3000Mi", 3000 * MIB, QUOTA),
    ("hami", "json", "percentage", "2 x 50 x (143771Mi / 100)", 100 * (H200 // 100), POLICY),
    ("hami", "csv", "percentage-csv", "25 x (40960Mi / 100)", 25 * (40960 * MIB // 100), QUOTA),
    ("hami", "json", "percentage-full", "143771Mi", H200, QUOTA),
    ("hami", "json", "cores", "cores are of a card: 143771Mi", H200, POLICY),
    ("hami", "json", "whole", "2 x 143771Mi", 2 * H200, POLICY),
    ("hami", "json", "lowered", "annotation lowers nothing: 3000Mi", 3000 * MIB, QUOTA),
    ("volcano", "register", "memory", "2 x 2048Mi", 4096 * MIB, POLICY),
    ("volcano", "register", "memory-alone", "2048Mi", 2048 * MIB, QUOTA),
    ("volcano", "register", "percentage", "30 x (23028Mi / 100)", 30 * (A10 // 100), QUOTA),
    ("volcano", "unlabelled", "whole", "24564Mi", 24564 * MIB, POLICY),
    ("koordinator", "shared", "memory", "16Gi", 16 * GIB, QUOTA),
    ("koordinator", "shared", "ratio", "50 x (81559Mi / 100)", 50 * (H100 // 100), QUOTA),
    ("koordinator", "shared", "gpu", "200 x (81559Mi / 100)", 200 * (H100 // 100), QUOTA),
    ("koordinator", "shared", "memory-of-two", "20Gi", 20 * GIB, QUOTA),
    ("kai", "whole", "half", "500 x (143771Mi / 1000)", 500 * (H200 // 1000), POLICY),
    ("kai", "whole", "thirds", "2 x 334 x (143771Mi / 1000)", 668 * (H200 // 1000), POLICY),
    ("kai", "whole", "memory", "8192Mi", 8192 * MIB, POLICY),
    ("kai", "whole", "memory-of-two", "2 x 8192Mi", 16384 * MIB, POLICY),
    ("amd", "whole", "four", "4 x 192Gi", 4 * 192 * GIB, QUOTA),
    ("amd", "partitioned", "partitions", "3 x 24Gi, by the table", 3 * 24 * GIB, QUOTA),
    ("intel", "max", "one", "128Gi, by the table", 128 * GIB, QUOTA),
    ("table", "ascend", "ascend", "2 x 64Gi, by the table", 2 * 64 * GIB, QUOTA),
]
# What no one can read is refused at once.
UNREADABLE = [("hami", "json", "percentage-absurd"), ("kai", "whole", "unreadable"), ("kai", "whole", "above-one")]


def load(source, kind, name):
    item = json.loads((DATA / source / f"{kind}-{name}.json").read_text())
    for field in ("uid", "resourceVersion", "creationTimestamp", "namespace"):
        item["metadata"].pop(field, None)
    return item


def as_written(item):
    """The pod as its user creates it: where it runs comes later."""
    item["spec"].pop("nodeName", None)
    item.pop("status", None)
    item["spec"].setdefault("terminationGracePeriodSeconds", 1)
    if item["spec"].get("schedulerName", "default-scheduler") == "default-scheduler":
        item["spec"]["schedulerName"] = "by-hand"
    return item


@pytest.fixture(scope="module")
def told(world, tmp_path_factory):
    """The cluster with a controller that has been told of what no node tells."""
    if world.controller.alive:
        world.controller.stop()
    folder = tmp_path_factory.mktemp("told")
    (folder / "config.yaml").write_text(CONFIG)
    mine = Controller(world.cluster, folder, "-v", "2", "--config", folder / "config.yaml").start()
    yield mine
    assert mine.stop(30)[0] == 0, mine.log()[-4000:]


def offer_only(cluster, controller, *items):
    """The cluster has these nodes and no others, and the controller knows."""
    for node in cluster.get("/api/v1/nodes")["items"]:
        cluster.api("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
    for item in items:
        cluster.api("POST", "/api/v1/nodes", item).ok()

    def seen():
        known = controller.metric("gpuqos_cache_objects", resource="nodes")
        return known == len(items) or NotYet(known)
    wait_for(seen, "the controller knows the nodes")


def bind(space, name, node):
    """As a scheduler does."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    space.cluster.api("POST", f"{space.pods}/{name}/binding",
                      {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}).ok()


def wait_status(space, used):
    """Until used, live and the sum of the rows are all that, in bytes."""
    def right():
        status = space.quota()["status"]
        rows = sum(row["used"] * quantity(row["unitMemory"]) for row in status["resources"] if row["used"])
        got = quantity(status["used"]), quantity(status["live"]), rows
        return set(got) == {used} or NotYet(got)
    wait_for(right, f"{space.name}: used, live and rows are {used}", timeout=20)


def asked_keys(item):
    """What ResourceQuota counts of a pod: containers that run side by side, or the largest before them."""
    spec, total = item["spec"], {}
    for name in {name for c in spec["containers"] + spec.get("initContainers", []) for name in requests(c)}:
        stay = [c for c in spec.get("initContainers", []) if c.get("restartPolicy") == "Always"]
        first = [c for c in spec.get("initContainers", []) if c not in stay]
        both = sum(requests(c).get(name, 0) for c in spec["containers"] + stay)
        total[f"requests.{name}"] = max([both] + [requests(c).get(name, 0) for c in first])
    return total


def requests(container):
    resources = container.get("resources", {})
    return {k: quantity(v) for k, v in (resources.get("limits", {}) | resources.get("requests", {})).items() if "/" in k}


def quota_is_full(space, item):
    """Whether no burst could bring in one more."""
    status = space.resource_quota()["status"]
    return any(quantity(status["used"][key]) + amount > quantity(status["hard"][key])
               for key, amount in asked_keys(item).items() if key in status["hard"])


def wait_gates(space, item):
    """Which gates hold one more; the policy may see the status a moment later than we do."""
    answer = space.wait_refused(item, "GpuMemoryQuota team: ")
    assert "free" in answer.message, answer
    return QUOTA if quota_is_full(space, item) else POLICY


def try_case(cluster, case):
    """One pod under a quota that has room for it alone. Returns the line of the table."""
    source, node, name, words, by_hand, gate = case
    space = Namespace.make(cluster, source)
    item = as_written(load(source, "pod", name))
    cluster.api("POST", space.quotas, quota(f"{max(by_hand, GIB)}")).ok()
    space.wait_condition("Ready", "True", "Enforced")
    wait_for(lambda: space.managed() == "true", f"{space.name} is managed")
    wait_for(lambda: space.create(item).ok(), f"{source}/{name} is admitted")
    bind(space, item["metadata"]["name"], load(source, "node", node)["metadata"]["name"])
    wait_status(space, by_hand)
    again = as_written(load(source, "pod", name))
    again["metadata"]["name"] += "-again"
    seen = wait_gates(space, again)
    shown = cluster.kubectl("get", "gmq", "team", "-n", space.name, "-o", "jsonpath={.status.used}")
    space.remove()
    assert quantity(shown) == by_hand, case
    wrong = "" if seen == gate else f"  NOT {gate}"
    return f"{source:12} {node:14} {name:16} {words:34} {by_hand:>14} {quantity(shown):>14}  {seen}{wrong}"


def test_every_source_agrees_with_the_sum_by_hand(world, told, tell):
    lines = []
    for node in dict.fromkeys(case[:2] for case in CASES):
        offer_only(world.cluster, told, load(node[0], "node", node[1]))
        lines += [try_case(world.cluster, case) for case in CASES if case[:2] == node]
    head = f"{'source':12} {'node':14} {'pod':16} {'by hand':34} {'bytes':>14} {'kubectl':>14}  one more is held by"
    tell("\n    ".join([head, *lines]))
    assert not [line for line in lines if " NOT " in line]


@pytest.mark.parametrize("source, node, name", UNREADABLE)
def test_what_cannot_be_read_is_refused(world, told, make_namespace, source, node, name):
    offer_only(world.cluster, told, load(source, "node", node))
    space = make_namespace(source)
    world.cluster.api("POST", space.quotas, quota("2Ti")).ok()
    space.wait_condition("Ready", "True", "Enforced")

    def refused():
        answer = space.cluster.api("POST", f"{space.pods}?dryRun=All", as_written(load(source, "pod", name)))
        return answer.status == 403 or NotYet(answer)
    wait_for(refused, f"{source}/{name} is refused")


def test_one_quota_over_whole_cards_slices_parts_and_claims_is_one_number(world, told, make_namespace, tell):
    cluster, space = world.cluster, make_namespace("all")
    nodes = [("nvidia", "mig-mixed"), ("hami", "json"), ("koordinator", "shared"), ("amd", "whole")]
    plain = load("nvidia", "node", "whole")
    cpu = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "dra-0", "labels": {"kubernetes.io/hostname": "dra-0"}},
           "status": {"capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}, "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}}
    offer_only(cluster, told, plain, cpu, *[load(*pair[:1], "node", pair[1]) for pair in nodes])
    made = dra.slices("dra-0", [dra.whole(0)]) + dra.classes()
    for item in made:
        plural = "resourceslices" if item["kind"] == "ResourceSlice" else "deviceclasses"
        cluster.api("POST", f"{dra.API}/{plural}", item).ok()
    try:
        cluster.api("POST", space.quotas, quota("8Ti")).ok()
        space.wait_condition("Ready", "True", "Enforced")
        asked = [("nvidia", "whole", "pair", 2 * H200), ("nvidia", "mig-mixed", "slices", (71424 + 2 * 16384) * MIB),
                 ("hami", "json", "memory", 6000 * MIB), ("hami", "json", "both", 3000 * MIB), ("koordinator", "shared", "memory", 16 * GIB),
                 ("amd", "whole", "four", 4 * 192 * GIB)]
        for source, node, name, _ in asked:
            item = as_written(load(source, "pod", name))
            item["metadata"]["name"] = f"{source}-{name}"
            wait_for(lambda wanted=item: space.create(wanted).ok(), f"{name} is admitted")
            bind(space, item["metadata"]["name"], load(source, "node", node)["metadata"]["name"])
        cluster.api("POST", f"{dra.API}/namespaces/{space.name}/resourceclaims",
                    dra.claim("card", dra.exactly("r", "whole.example.com"))).ok()
        for number in range(2):
            space.create(dra.pod(f"shares-{number}", "card", nodeSelector={"kubernetes.io/hostname": "dra-0"})).ok()
        total = sum(bytes_ for *_, bytes_ in asked) + H100
        wait_status(space, total)
        tell(f"whole cards, MIG, HAMi, Koordinator, AMD and a claim of two pods: {total} bytes by hand, "
             f"{space.quota()['status']['used']} by kubectl")
    finally:
        for item in made:
            plural = "resourceslices" if item["kind"] == "ResourceSlice" else "deviceclasses"
            cluster.api("DELETE", f"{dra.API}/{plural}/{item['metadata']['name']}")
