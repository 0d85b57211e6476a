"""GpuMemoryQuota of 320Gi: creates are refused exactly when the sum in bytes would exceed it.

One device size for each resource name: by the API server's own ResourceQuota, whatever
the concurrency and whether or not the controller lives. Several sizes: by the policy,
one pod at a time; a burst of mixed kinds may overshoot, and by how much is printed.
"""

import collections
import itertools
import random
import re
import threading

import pytest

from cluster import NotYet, quantity, wait_for
from gpus import GIB, GPU, H100, MIB, SOAK, T4, UNIT, burst, container, pod
from recount import Prices, count

LIMIT = 320 * GIB
OFFER = ("h100=2", "mig-mixed", "timesliced-renamed", "mi300x")

# resource, memory of a unit, nodes that offer the name in this size alone
KINDS = {
    "whole H100": (GPU, UNIT["h100"], OFFER),
    "MIG 1g.10gb": ("nvidia.com/mig-1g.10gb", UNIT["1g.10gb"], OFFER),
    "T4": (GPU, UNIT["t4"], ("t4=2",)),
    "time-sliced replicas": (GPU, UNIT["h100"] // 10, ("timesliced",)),
}
if SOAK:
    KINDS["time-sliced replicas under their own name"] = ("nvidia.com/gpu.shared", UNIT["h100"] // 10, OFFER)
    KINDS["whole MI300X"] = ("amd.com/gpu", 192 * GIB, OFFER)
# `make test` kills the controller under some kinds, `make soak` under all.
KILLED = KINDS if SOAK else ("MIG 1g.10gb", "T4")
CASES = [pytest.param(kind, False, id=kind) for kind in KINDS]
CASES += [pytest.param(kind, True, id=f"{kind}, and the controller killed meanwhile") for kind in KILLED]


def says_both_numbers(message, resource):
    """Kubernetes' own words for a count, or our policy's for memory."""
    kubernetes = rf"exceeded quota: gpuqos, requested: requests\.{re.escape(resource)}=\d+, used: .*=\d+, limited: .*=\d+"
    ours = r"this pod asks for \d+ x .* = \d+Mi of GPU memory, and only \d+Mi of 320Gi are free"
    return re.search(kubernetes, message) or re.search(ours, message)


@pytest.mark.parametrize("kind, killed", CASES)
def test_concurrent_creates_end_with_exactly_what_fits(running, nodes, namespace, kind, killed):
    resource, unit, offer = KINDS[kind]
    nodes(*offer)
    namespace.put_quota("320Gi")
    items = [pod(f"p{i}", resource) for i in range(1000 if SOAK else 120)]
    if killed:
        # In the middle: as soon as the first pod is there.
        def kill():
            wait_for(namespace.list_pods, "the first pod is admitted")
            running.kill()
        killer = threading.Thread(target=kill)
        killer.start()
    refusals = burst(namespace, items)
    if killed:
        killer.join()
        assert not running.alive
    fits = LIMIT // unit
    assert len(namespace.list_pods()) == fits
    assert len(refusals) == len(items) - fits
    strange = [r.message for r in refusals if not says_both_numbers(r.message, resource)]
    assert not strange
    # Nothing more comes in later, one by one, and the controller's number is the same.
    assert namespace.create(pod("late", resource)).status == 403
    if killed:
        running.start()

    def shown():
        used = quantity(namespace.quota()["status"]["used"])
        return used == fits * unit or NotYet(used)
    wait_for(shown, f"status shows {fits} x {unit}")


def held(namespace):
    """Bytes that the namespace holds, by the recount, and what status shows of it."""
    everything = namespace.cluster.get("/api/v1/nodes")["items"]
    return count(namespace.list_pods(), Prices(everything))["used"]


def wait_shown(namespace):
    """Until status shows all that is held; returns the bytes."""
    def shown():
        now, status = held(namespace), quantity(namespace.quota()["status"]["used"])
        return (now == status and (now,)) or NotYet((now, status))
    return wait_for(shown, f"{namespace.name}: status shows what is held")[0]


def cost(item, prices):
    """Bytes at which a pod without a node is charged."""
    return count([item], prices)["used"]


MENU = [
    (GPU, 1, H100), (GPU, 2, H100), (GPU, 1, T4), (GPU, 2, T4), (GPU, 1, None),
    ("nvidia.com/mig-1g.10gb", 3, None), ("nvidia.com/mig-3g.40gb", 1, None), ("nvidia.com/gpu.shared", 4, None),
]

# What a unit of each can cost at most.
DEAREST = {GPU: UNIT["h100"], "nvidia.com/mig-1g.10gb": UNIT["1g.10gb"], "nvidia.com/mig-3g.40gb": UNIT["3g.40gb"],
           "nvidia.com/gpu.shared": UNIT["h100"] // 10}


def create_exactly(namespace, item, prices):
    """Creates the pod if it fits by the recount, and finds it refused if it does not.
    Returns whether it fits."""
    used, price = wait_shown(namespace), cost(item, prices)
    if used + price <= LIMIT:
        namespace.create(item).ok()
        return True
    # The policy reads status from a watch of its own, which may be a moment behind ours.
    namespace.wait_refused(item, "")
    answer = namespace.create(item)
    assert answer.status == 403, answer
    assert f"= {price // MIB}Mi of GPU memory, and only {(LIMIT - used) // MIB}Mi of 320Gi are free" \
        in answer.message, answer.message
    return False


@pytest.mark.parametrize("seed", range(5 if SOAK else 1))
def test_mixed_kinds_one_at_a_time_are_refused_exactly_when_the_sum_would_exceed(
        world, nodes, namespace, seed):
    nodes("h100=2", "t4=8", "mig-mixed", "timesliced-renamed")
    namespace.put_quota("320Gi")
    prices = Prices(world.cluster.get("/api/v1/nodes")["items"])
    dice, refused = random.Random(seed), 0
    for number in itertools.count():
        resource, amount, product = dice.choice(MENU)
        refused += not create_exactly(namespace, pod(f"p{number}", resource, amount, product), prices)
        if refused == (20 if SOAK else 3):
            break
    assert wait_shown(namespace) <= LIMIT


def test_a_pod_of_several_kinds_is_priced_by_their_sum(nodes, namespace):
    nodes("h100=2", "mig-mixed")
    namespace.put_quota("320Gi")
    mixed = pod("mixed", GPU, 2)
    mixed["spec"]["containers"].append(container("more", "nvidia.com/mig-3g.40gb", 4))
    mixed["spec"]["initContainers"] = [
        container("first", GPU, 2),
        container("beside", "nvidia.com/mig-1g.10gb", 1, restartPolicy="Always"),
        container("then", GPU, 3)]
    price = 3 * UNIT["h100"] + 4 * UNIT["3g.40gb"] + UNIT["1g.10gb"]
    answer = namespace.wait_refused(mixed, f"= {price // MIB}Mi of GPU memory, and only 327680Mi of 320Gi are free")
    assert "3 x nvidia.com/gpu at 81559Mi" in answer.message, answer.message
    mixed["spec"]["initContainers"].pop()
    mixed["spec"]["containers"].pop()
    namespace.create(mixed).ok()
    assert wait_shown(namespace) == 2 * UNIT["h100"] + UNIT["1g.10gb"]


def test_a_selector_on_the_product_makes_a_pod_cheaper_and_the_refusal_says_so(nodes, namespace):
    nodes("h100", "t4=2")
    namespace.put_quota("40Gi")
    answer = namespace.wait_refused(pod("any"), f"the dearest, {H100}; a nodeSelector on nvidia.com/gpu.product may cost less")
    assert "1 x nvidia.com/gpu at 81559Mi" in answer.message
    assert "= 81559Mi of GPU memory, and only 40960Mi of 40Gi are free" in answer.message
    namespace.create(pod("cheap", GPU, 2, T4)).ok()
    assert wait_shown(namespace) == 2 * UNIT["t4"]
    answer = namespace.wait_refused(pod("third", GPU, 1, T4), "= 15360Mi of GPU memory, and only 10240Mi of 40Gi are free")
    assert "dearest" not in answer.message


def test_a_burst_of_mixed_kinds_overshoots_by_no_more_than_what_came_within_the_lag(nodes, namespace, tell):
    nodes("h100=4", "t4=8", "mig-mixed", "timesliced-renamed")
    namespace.put_quota("320Gi")
    dice = random.Random(7)
    items = [pod(f"p{i}", *dice.choice(MENU)) for i in range(1000 if SOAK else 80)]
    burst(namespace, items)
    used = wait_shown(namespace)
    # Each resource name still has a limit of its own, which no burst passes; docs/sources.md adds them up.
    hard = namespace.resource_quota()["status"]["hard"]
    bound = sum(int(hard[f"requests.{name}"]) * dearest for name, dearest in DEAREST.items())
    tell(f"mixed burst of {len(items)}: {used / GIB:.1f}Gi held of 320Gi, overshoot "
         f"{max(used - LIMIT, 0) / GIB:.1f}Gi, at most {(bound - LIMIT) / GIB:.1f}Gi by the docs")
    assert used <= bound
    asked = collections.Counter()
    for item in namespace.list_pods():
        for name, amount in item["spec"]["containers"][0]["resources"]["requests"].items():
            asked[f"requests.{name}"] += int(amount)
    assert all(asked[name] <= int(hard[name]) for name in asked)
    if used > LIMIT:
        namespace.wait_condition("Exceeded", "True", "OverLimit")
        namespace.wait_refused(pod("late", "nvidia.com/mig-1g.10gb"), "and only 0Mi of 320Gi are free")


def test_a_resource_is_held_from_the_moment_that_it_appears(nodes, namespace, tell):
    """Creates go on while the first nodes come that offer it: ResourceQuota counts it only when its
    status has the key, and until then it is refused."""
    fits, most = LIMIT // UNIT["h100"], 0
    for number in range(20 if SOAK else 4):
        nodes("cpu")
        namespace.put_quota("320Gi")
        wait_for(lambda: not namespace.resource_quota()["status"].get("hard"), "nothing is offered")
        stop, threads = threading.Event(), []

        def creates(client):
            for i in itertools.count():
                if stop.is_set():
                    return
                namespace.cluster.api("POST", namespace.pods, pod(f"r{number}-{client}-{i}", GPU))
        threads = [threading.Thread(target=creates, args=(client,)) for client in range(6)]
        for thread in threads:
            thread.start()
        nodes("h100=4")
        namespace.wait_condition("Ready", "True", "Enforced")
        wait_for(lambda: len(namespace.list_pods()) >= fits, "what fits is admitted")
        stop.set()
        for thread in threads:
            thread.join()
        most = max(most, len(namespace.list_pods()))
        assert most == fits, f"round {number}"
        namespace.cluster.api("DELETE", f"{namespace.pods}?gracePeriodSeconds=0")
        namespace.wait_pods(0)
        namespace.delete_quota()
        wait_for(lambda: namespace.resource_quota() is None, "nothing is counted")
    tell(f"{most} of {fits} cards held at most while their first nodes came")
