"""The number follows: pods end and go, nodes are relabelled, cards are recut, others write into the
ResourceQuota and the status while pods come in, quotas are edited at once. Every sum is written out."""

import concurrent.futures
import itertools
import threading

import pytest

from cluster import NotYet, quantity, wait_for
from gpus import GPU, MIB, SOAK, T4, UNIT, burst, condition, pod
from sources import Asked, asking, governed, load, offer_only, wait_status

H200, H100, CARD = 143771 * MIB, 81559 * MIB, UNIT["t4"]
PODS = 200 if SOAK else 40
EDITS = 100 if SOAK else 12


def create(space, name, item, node):
    asked = Asked(item)
    wait_for(lambda: space.create(asked.named(name)).ok(), f"{name} is admitted")
    asked.bind(space, name, node)


def relabel(cluster, node, **labels):
    named = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    cluster.api("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": named}}).ok()


def end(space, name):
    """As a kubelet says it."""
    space.cluster.api("PATCH", f"{space.pods}/{name}/status", {"status": {"phase": "Succeeded"}}).ok()


def test_the_number_follows_pods_and_labels(world, told):
    cluster = world.cluster
    offer_only(cluster, told, load("nvidia", "node", "whole"), load("hami", "node", "json"), load("koordinator", "node", "shared"))
    space = governed(cluster, 8 << 40, "walk")
    create(space, "two", load("nvidia", "pod", "pair"), "nvidia-whole")
    create(space, "half", load("kai", "pod", "half"), "nvidia-whole")
    create(space, "part", load("hami", "pod", "percentage"), "hami-json")
    create(space, "mebibytes", load("hami", "pod", "memory"), "hami-json")
    create(space, "ratio", load("koordinator", "pod", "ratio"), "koordinator-shared")
    hami, ratio = 100 * (H200 // 100) + 6000 * MIB, 50 * (H100 // 100)
    wait_status(space, 2 * H200 + 500 * (H200 // 1000) + hami + ratio)
    # Another driver counts otherwise: what is cut out of the cards of that node follows. A row shows the dearest
    # node of its product, so the rows tell more as long as two nodes of one product differ.
    relabel(cluster, "nvidia-whole", nvidia_com__gpu_memory="143000")
    other = 143000 * MIB
    wait_status(space, 2 * other + 500 * (other // 1000) + hami + ratio,
                rows=2 * H200 + 500 * (H200 // 1000) + hami + ratio)
    relabel(cluster, "nvidia-whole", nvidia_com__gpu_product="NVIDIA-H200-NVL")
    wait_status(space, 2 * other + 500 * (other // 1000) + hami + ratio)
    end(space, "two")
    wait_status(space, 500 * (other // 1000) + hami + ratio)
    space.delete_pod("half", force=True)
    wait_status(space, hami + ratio)
    # One that waits costs the dearest, and with a node what it got.
    waits = Asked(asking("waits", {GPU: 1, "nvidia.com/gpumem-percentage": 10}))
    space.create(waits.item).ok()
    wait_status(space, hami + ratio + 10 * (H200 // 100), hami + ratio)
    waits.bind(space, "waits", "hami-json")
    wait_status(space, hami + ratio + 10 * (H200 // 100))
    space.cluster.api("DELETE", f"{space.pods}?gracePeriodSeconds=0").ok()
    wait_status(space, 0)
    space.remove()


def test_the_number_follows_cards_that_are_recut(world, told):
    """While they are, nobody knows what a unit is: the dearest of its name, and Priced says so."""
    cluster = world.cluster
    offer_only(cluster, told, load("nvidia", "node", "mig-single"), load("nvidia", "node", "whole"))
    space = governed(cluster, 8 << 40, "recut")
    create(space, "three", load("nvidia", "pod", "single"), "nvidia-mig-single")
    wait_status(space, 3 * 4864 * MIB)
    relabel(cluster, "nvidia-mig-single", nvidia_com__mig_config="all-2g.10gb", nvidia_com__mig_config_state="pending")
    wait_status(space, 3 * H200)
    space.wait_condition("Priced", "False", "MemoryAssumed")
    relabel(cluster, "nvidia-mig-single", nvidia_com__mig_config_state="success", nvidia_com__gpu_memory="9984",
            nvidia_com__gpu_product="NVIDIA-A100-SXM4-40GB-MIG-2g.10gb", nvidia_com__gpu_count="24")
    wait_status(space, 3 * 9984 * MIB)
    space.wait_condition("Priced", "True", "AllPriced")
    space.remove()


# --- other writers

class Storm:
    """Somebody who writes into ResourceQuota and status as fast as the API server takes it."""

    def __init__(self, space):
        self.space, self.writes, self.over = space, 0, threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(step,)) for step in (self._mark, self._forge)]

    def _mark(self, number):
        note = {"metadata": {"annotations": {"example.com/seen": str(number)}}}
        return self.space.cluster.api("PATCH", f"{self.space.path}/resourcequotas/gpuqos", note)

    def _forge(self, _):
        return self.space.cluster.api("PATCH", f"{self.space.quotas}/team/status", {"status": {"used": "0", "live": "0"}})

    def _run(self, step):
        for number in itertools.count():
            if self.over.is_set():
                break
            self.writes += step(number).status == 200

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def check_sum(space, fits, room, counts=True):
    """Pods that run side by side, and every number that is made of them. `counts` is whether Kubernetes' own count
    is among them: while hard values change it recounts from a cache that is a moment old, and may be one behind
    until it counts again minutes later."""
    assert len(space.list_pods()) == fits
    wait_status(space, fits * CARD)
    key = f"requests.{GPU}"

    def counted():
        status = space.resource_quota()["status"]
        return (status["hard"][key] == str(room) and (not counts or status["used"][key] == str(fits))) or NotYet(status)
    wait_for(counted, f"{fits} of {room} cards are counted")


def t4_pods(prefix, count):
    return [pod(f"{prefix}{i}", GPU, 1, T4) for i in range(count)]


def test_a_storm_of_conflicts_neither_admits_too_much_nor_loses_a_byte(nodes, namespace, tell):
    """The status is forged to show nothing used: what one kind of card may have alone holds all the same."""
    nodes("t4=8")
    room = 20
    namespace.put_quota(str(room * CARD))
    with Storm(namespace) as storm:
        refusals = [answer.message for answer in burst(namespace, t4_pods("p", PODS), 16)]
    tell(f"{PODS} creates, {storm.writes} writes by others: {len(namespace.list_pods())} of {room} admitted")
    assert not [words for words in refusals if "exceeded quota: gpuqos" not in words and "are free" not in words]
    check_sum(namespace, room, room)
    assert condition(namespace.quota(), "Exceeded")["status"] == "False"


def test_two_quotas_edited_at_once_end_as_the_last_edit_says(nodes, make_namespace):
    nodes("t4=8")
    spaces = [make_namespace(), make_namespace()]
    for number, space in enumerate(spaces):
        space.put_quota(str((30 + number) * CARD))

    def edit(space, offset):
        for number in range(EDITS):
            space.patch_quota(gpuMemory=str((30 + (number * 7 + offset) % 5) * CARD))
        space.patch_quota(gpuMemory=str((12 + offset) * CARD))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        edits = [pool.submit(edit, space, number) for number, space in enumerate(spaces)]
        bursts = [pool.submit(burst, space, t4_pods("p", 10), 4) for space in spaces]
        for done in edits + bursts:
            done.result()
    for number, space in enumerate(spaces):
        space.wait_condition("Ready", "True", "Enforced")
        check_sum(space, 10, 12 + number, counts=False)
        burst(space, t4_pods("late", 10), 16)
        check_sum(space, 12 + number, 12 + number, counts=False)
        assert quantity(space.quota()["status"]["effective"]) == (12 + number) * CARD


@pytest.mark.parametrize("first", [30, 10])
def test_two_quotas_of_one_namespace_edited_at_once(nodes, namespace, first):
    """The older governs, whatever the younger says."""
    nodes("t4=8")
    namespace.put_quota(str(40 * CARD))
    namespace.put_quota(str(20 * CARD), name="young", enforced=False)
    namespace.wait_condition("Accepted", "False", "Duplicate", "young")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number in range(EDITS):
            done = [pool.submit(namespace.patch_quota, name, gpuMemory=str((first + by * number) * CARD))
                    for name, by in (("team", 1), ("young", 3))]
            for each in done:
                each.result()
    namespace.wait_condition("Ready", "True", "Enforced")
    namespace.wait_condition("Accepted", "False", "Duplicate", "young")
    room = first + EDITS - 1
    burst(namespace, t4_pods("p", 5), 16)
    check_sum(namespace, 5, room)
