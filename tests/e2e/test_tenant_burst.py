"""The ceiling of a tenant holds in a burst: 200 creates at once in 20 namespaces whose quotas together
ask for more than it, with lending among them, and the controller killed at random.

With one kind of device never more than the ceiling is held. With several, no more than what the
ResourceQuotas allow of each kind, which is the bound that docs/sources.md derives.
"""

import collections
import random
import threading

import pytest

from cluster import NotYet, quantity, wait_for
from gpus import GIB, GPU, H100, MIB, SOAK, UNIT, burst, pod
from tenants import CeilingWatch, Tenant

CARD = UNIT["h100"]
NAMESPACES, PODS, CARDS = 20, 200, 30
MIG = "nvidia.com/mig-1g.10gb"
# Rounds of one kind in `make test` and in `make soak`.
ROUNDS = 100 if SOAK else 3


def amount(cards):
    return f"{cards * CARD // MIB}Mi"


@pytest.fixture
def tenant(world, nodes, make_namespace):
    """20 namespaces of up to 2 cards each, and 2 more that they may borrow, under 30 cards."""
    nodes("h100=4", "mig-mixed=4")
    spaces = [make_namespace(f"burst{number}") for number in range(NAMESPACES)]
    made = Tenant.make(world.cluster, *spaces, ceiling={"gpuMemory": amount(CARDS)})
    for space in spaces:
        space.put_quota(amount(2), enforced=False, borrowLimit=amount(2))
    wait_settled(made)
    yield made
    made.remove()


def wait_settled(tenant):
    """Until whatever fits is granted, and is enforced."""
    def settled():
        status = tenant.object().get("status", {})
        ready = [c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"]
        full = quantity(status.get("granted", "0")) == CARDS * CARD
        return (ready == ["True"] and full) or NotYet(status)
    wait_for(settled, f"{tenant.name}: all that fits is granted and enforced", timeout=60)


def create_everywhere(tenant, items):
    """A burst in every namespace at the same time."""
    threads = [threading.Thread(target=burst, args=(space, share))
               for space, share in zip(tenant.namespaces, items)]
    for thread in threads:
        thread.start()
    return threads


def kill_within(running, tenant, dice, threads):
    """As soon as a random number of pods is there, if that comes to be."""
    number = dice.randrange(1, CARDS)

    def reached():
        there = sum(len(space.list_pods()) for space in tenant.namespaces)
        return there >= number or not any(t.is_alive() for t in threads) or NotYet(there)
    wait_for(reached, f"{number} pods are there")
    running.kill()


def held(tenant):
    """Units by resource, of all its pods."""
    units = collections.Counter()
    for space in tenant.namespaces:
        for item in space.list_pods():
            for name, count in item["spec"]["containers"][0]["resources"]["requests"].items():
                units[name] += int(count)
    return units


def one_round(running, tenant, dice, items):
    threads = create_everywhere(tenant, items)
    killed = dice.random() < 0.5
    if killed:
        kill_within(running, tenant, dice, threads)
    for thread in threads:
        thread.join()
    if killed:
        running.start()
    return killed


def empty(tenant):
    for space in tenant.namespaces:
        space.cluster.api("DELETE", f"{space.pods}?gracePeriodSeconds=0")
    for space in tenant.namespaces:
        space.wait_pods(0)


def test_one_kind_never_holds_more_than_the_ceiling(running, tenant, tell):
    """Also at no moment between: the largest sum of what the ResourceQuotas allowed is looked at."""
    dice = random.Random(20)
    killed, most = 0, 0
    with CeilingWatch(tenant.cluster, tenant.namespaces) as watch:
        for number in range(ROUNDS):
            items = [[pod(f"p{number}-{i}", GPU, 1, H100) for i in range(PODS // NAMESPACES)]
                     for _ in tenant.namespaces]
            killed += one_round(running, tenant, dice, items)
            units = held(tenant)
            most = max(most, units[GPU])
            assert units[GPU] <= CARDS, f"round {number}: {units}"
            empty(tenant)
    tell(f"{ROUNDS} rounds of {PODS} creates in {NAMESPACES} namespaces, killed in {killed}: "
         f"{most} of {CARDS} cards held at most, {watch.most} allowed at most, {watch.changes} changes seen")
    assert watch.most <= CARDS
    assert most > CARDS // 2, "the bursts found no room"


def test_several_kinds_overshoot_within_the_bound(running, tenant, tell):
    dice = random.Random(21)
    with CeilingWatch(tenant.cluster, tenant.namespaces) as cards, \
            CeilingWatch(tenant.cluster, tenant.namespaces, MIG) as slices:
        menu = [(GPU, H100), (MIG, None)]
        items = []
        for _ in tenant.namespaces:
            picked = [dice.choice(menu) for _ in range(PODS // NAMESPACES)]
            items.append([pod(f"m{i}", name, 1, product) for i, (name, product) in enumerate(picked)])
        one_round(running, tenant, dice, items)
        units = held(tenant)
    used = units[GPU] * CARD + units[MIG] * UNIT["1g.10gb"]
    bound = cards.most * CARD + slices.most * UNIT["1g.10gb"]
    tell(f"mixed burst: {used / GIB:.0f}Gi held of {CARDS * CARD / GIB:.0f}Gi, "
         f"overshoot {max(used - CARDS * CARD, 0) / GIB:.0f}Gi, at most {(bound - CARDS * CARD) / GIB:.0f}Gi by the docs")
    assert units[GPU] <= cards.most <= CARDS
    assert units[MIG] <= slices.most
    assert used <= bound
