"""Rounds of random trouble on a cluster full of training pods, and what an independent checker says of every eviction.

In each round somebody needs room, or an objective is violated, and something goes wrong meanwhile. The checker
(tests/lib/eviction_checker.py) reads the API server's audit log and Prometheus, and shares nothing with the program.
GPUQOS_SEED repeats a run, GPUQOS_ROUNDS=N makes as many rounds, GPUQOS_ROUNDS=A,B,... those alone, GPUQOS_ROUNDS_KEEP=DIR keeps
the audit log and the controllers' logs.
"""

import collections
import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import time
import urllib.parse
import urllib.request

import pytest
from audit_history import History
from cluster import NotYet
from eviction_checker import USER, Latency, check
from gpus import SOAK, condition
from troubled import TTFT, troubled, until

SEED = os.environ.get("GPUQOS_SEED") or secrets.token_hex(4)
KEEP = os.environ.get("GPUQOS_ROUNDS_KEEP")
PLACES = ("training", "batch", "hostile")


def numbers(text):
    return [int(n) for n in text.split(",")] if "," in text else list(range(int(text)))


ROUNDS = numbers(os.environ.get("GPUQOS_ROUNDS") or ("50" if SOAK else "3"))


def keep(world, directory):
    shutil.copy(world.cluster.directory / "audit.log", directory)
    for name, replica in world.replicas.items():
        shutil.copy(replica.directory / "log", directory / f"{name}.log")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with troubled(tmp_path_factory.mktemp("rounds")) as made:
        yield made


# --- who is in need

def owner_of(pod):
    return next((f"{o['kind']}/{o['name']}" for o in pod["metadata"].get("ownerReferences", [])), None)


def pods_wait(world, dice):
    """More than one, mostly: what goes wrong is about the first receipt alone."""
    for _ in range(dice.choice((2, 2, 3, 4))):
        world.ask(dice.choice(("chat", "chat", "vision")), dice.choice((1, 2, 2, 4)))


def neighbour_works(world, dice):
    """A neighbour of the live tenant's pod begins to work hard; one whose workload has lost no pod before, if there is any."""
    near = world.neighbours()
    lost = {(v["namespace"], v.get("owner")) for r in world.receipts() for v in r["victims"]}
    fresh = [p for p in near if (p["metadata"]["namespace"], owner_of(p)) not in lost or owner_of(p) is None]
    world.slow_down(dice.choice(fresh[:3] or near))


def slow_by_itself(world, dice):
    world.slow_down(extra=1.5)


# --- what goes wrong from the beginning

def nothing(world, dice):
    pass


def budget_of_none(world, dice):
    for i in range(3):
        number = dice.randrange(1, 25)
        for place in PLACES:
            world.budget(place, f"none-{i}", {"matchLabels": {"app": f"work-{number}"}}, maxUnavailable=0).ok()


def budget_of_some(world, dice):
    world.budget("training", "some", {"matchLabels": {"app": f"work-{dice.randrange(1, 6)}"}}, maxUnavailable=1).ok()
    world.budget("hostile", "most", {}, minAvailable=72).ok()


def two_budgets(world, dice):
    for name in ("one", "two"):
        world.budget(dice.choice(PLACES), name, {"matchLabels": {"load": "training"}}, minAvailable=1).ok()
    world.budget("hostile", "three", {}, minAvailable=1).ok()
    world.budget("hostile", "four", {"matchExpressions": [{"key": "load", "operator": "Exists"}]}, minAvailable=1).ok()


def prometheus_down(world, dice):
    world.prometheus.stop()


def prometheus_slow(world, dice):
    world.prometheus.process.send_signal(signal.SIGSTOP)


def some_cordoned(world, dice):
    for node in dice.sample(world.nodes, 4):
        world.cordon(node)


def some_not_ready(world, dice):
    for node in dice.sample(world.machines, 2):
        world.set_ready(node, False)


def lower_limits(world, dice):
    for name in ("chat", "vision"):
        world.tenants[name].patch(protection={"evictionsPerMinute": dice.randint(1, 4)})


def hostile_come(world, dice):
    """They ask for what is made free, and will not go again."""
    for i in range(4):
        world.stranger("hostile", f"come-{i}", grace=86400, finalizers=["example.com/mine"],
                       labels={"scheduling.x-k8s.io/pod-group": "work-24"}, annotations={"gpuqos.io/checkpoint": "2999-01-01T00:00:00Z"})


# --- what goes wrong as soon as a receipt is there

def victim_of(receipt, dice):
    victim = dice.choice(receipt["victims"])
    return victim, f"/api/v1/namespaces/{victim['namespace']}/pods/{victim['name']}"


def no_more(world, dice, receipt):
    pass


def victim_finishes(world, dice, receipt):
    _, path = victim_of(receipt, dice)
    world.cluster.api("PATCH", f"{path}/status", {"status": {"phase": "Succeeded"}})


def victim_is_deleted(world, dice, receipt):
    _, path = victim_of(receipt, dice)
    world.cluster.api("DELETE", f"{path}?gracePeriodSeconds=0")


def victim_is_replaced(world, dice, receipt):
    """By another pod of its name."""
    victim, path = victim_of(receipt, dice)
    world.cluster.api("DELETE", f"{path}?gracePeriodSeconds=0")
    place = next(p for p in PLACES if world.spaces[p].name == victim["namespace"])
    world.stranger(place, victim["name"])


def budget_meanwhile(world, dice, receipt):
    """One over everybody comes, is changed, and goes."""
    for place in PLACES:
        world.budget(place, "late", {}, maxUnavailable=0)
        path = f"/apis/policy/v1/namespaces/{world.spaces[place].name}/poddisruptionbudgets/late"
        world.cluster.api("PATCH", path, {"spec": {"maxUnavailable": None, "minAvailable": 1000}})
        if dice.random() < 0.5:
            world.cluster.api("DELETE", path)


def limits_meanwhile(world, dice, receipt):
    for name in ("chat", "vision", "live"):
        world.tenants[name].patch(protection={"evictionsPerMinute": 1})


def leader_is_killed(world, dice, receipt):
    world.kill_leader()


def leader_is_frozen(world, dice, receipt):
    world.freeze_leader()


def wire_is_cut(world, dice, receipt):
    world.cut_wire()


def wire_blinks(world, dice, receipt):
    world.blink_wire()


def apiserver_is_killed(world, dice, receipt):
    world.restart_apiserver()


# --- what lets nobody be evicted

def wave(world, dice):
    """More than a fifth of the nodes are not ready: all whose kubelets do not tell it again at once, as kwok's do."""
    assert len(world.machines) * 5 > len(world.nodes)
    for node in world.machines:
        world.set_ready(node, False)


def budgets_over_all(world, dice):
    """With maxUnavailable 0 alone those would be left out that no ReplicaSet asks for: they are more than is expected."""
    for place in PLACES:
        world.budget(place, "all", {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, maxUnavailable=0).ok()
        world.budget(place, "rest", {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, minAvailable=1000).ok()


def dry_run(world, dice):
    for name in ("chat", "vision", "live"):
        world.tenants[name].patch(protection={"mode": "DryRun"})


NEEDS = (pods_wait, pods_wait, pods_wait, neighbour_works)
AT_FIRST = (nothing, nothing, budget_of_none, budget_of_some, two_budgets, prometheus_down, prometheus_slow, some_cordoned,
            some_not_ready, lower_limits, hostile_come)
MEANWHILE = (no_more, no_more, victim_finishes, victim_is_deleted, victim_is_replaced, budget_meanwhile, limits_meanwhile, leader_is_killed,
             leader_is_frozen, wire_is_cut, wire_blinks, apiserver_is_killed)
BLINDING = (prometheus_down, prometheus_slow)
IN_VAIN = ((pods_wait, wave), (pods_wait, budgets_over_all), (pods_wait, dry_run), (slow_by_itself, nothing),
           (neighbour_works, prometheus_down))


class Round:
    """What will happen in one: need, trouble at first, trouble once a receipt is there (None: nobody may be evicted)."""

    def __init__(self, number):
        self.number, self.dice = number, random.Random(f"{SEED}-{number}")
        # The first is for the objective, in the second nobody may go, the third evicts for certain.
        if number % 5 == 1:
            self.need, self.first = self.dice.choice(IN_VAIN)
            self.meanwhile = None
        else:
            self.need = {0: neighbour_works, 2: pods_wait}.get(number) or self.dice.choice(NEEDS)
            self.first = nothing if number in (0, 2) else self.dice.choice(AT_FIRST)
            # The API server takes its time to come back.
            self.meanwhile = self.dice.choice(MEANWHILE[:-1] if number < 3 else MEANWHILE)
            if number == 0:
                self.meanwhile = self.dice.choice((no_more, limits_meanwhile, victim_finishes))

    def __str__(self):
        names = [f.__name__ for f in (self.need, self.first, self.meanwhile) if f not in (None, nothing, no_more)]
        return f"round {self.number}: {', '.join(names).replace('_', ' ')}"

    def play(self, world):
        self.first(world, self.dice)
        if self.meanwhile:
            world.on_issue(lambda receipt: self.meanwhile(world, self.dice, receipt))
        self.need(world, self.dice)
        if self.need is pods_wait:
            world.wait_calm()
        else:
            until(lambda: self.is_seen(world), "the objective's trouble was seen")
            if self.meanwhile and self.first in BLINDING:
                world.wake_prometheus()
                until(lambda: self.is_seen(world, blind=False), "the objective's trouble was seen at last")
            world.wait_calm()

    def is_seen(self, world, blind=True):
        """Something was done for the live tenant, or it is told why not."""
        item = world.tenants["live"].object()
        state = item["status"]["objectives"][0]["state"]
        done = any(r["id"] not in world.settled_before for r in item["status"].get("evictions", []) if r["outcome"] != "Issued")
        told = condition(item, "Unprotected")["status"] == "True"
        unknown = blind and state == "Unknown" and self.first in BLINDING
        return done or told or unknown or NotYet(item["status"])


def evicted(world, since):
    return sum(1 for e in world.cluster.audit(resource="pods", user=USER, since=since)
               if e["objectRef"].get("subresource") == "eviction" and e["responseStatus"]["code"] < 300)


def latency_of(prometheus):
    """Every sample of the histogram's sum and count that Prometheus has."""
    found = {}
    for part in ("sum", "count"):
        data = urllib.parse.urlencode({"query": f"{TTFT}_{part}[6h]"}).encode()
        with urllib.request.urlopen(f"{prometheus.url}/api/v1/query", data, timeout=60) as answer:
            for series in json.load(answer)["data"]["result"]:
                key = series["metric"]["namespace"], series["metric"]["pod"]
                for when, value in series["values"]:
                    found.setdefault(key, {}).setdefault(when, {})[part] = float(value)
    return Latency({key: [(when, v["sum"], v["count"]) for when, v in sorted(samples.items()) if len(v) == 2]
                    for key, samples in found.items()})


def play_rounds(world, tell):
    """How many were evicted, and the rounds in which somebody was although nobody might be."""
    in_vain, total = [], 0
    for number in ROUNDS:
        at = time.strftime("%H:%M:%S", time.gmtime())
        this, mark, begun = Round(number), world.cluster.audit_mark(), time.monotonic()
        world.settled_before = {r["id"] for r in world.receipts()}
        this.play(world)
        world.mend()
        calm, count = time.monotonic() - begun, evicted(world, mark)
        if this.meanwhile is None and count:
            in_vain.append((str(this), count))
        total += count
        world.clean()
        tell(f"{at} {this}: {count} evicted, calm after {calm:.0f} s, as before after {time.monotonic() - begun:.0f} s")
    return total, in_vain


def verdict(world, tell):
    present = {p["metadata"]["uid"] for p in world.cluster.get("/api/v1/pods")["items"]}
    history = History(world.cluster.audit(), present)
    faults = check(history, latency_of(world.prometheus), world.lost)
    outcomes = collections.Counter(r.last["outcome"] for r in history.receipts)
    tell(f"{len(history.evictions(USER))} evictions asked for, {len(faults)} faults; receipts: {dict(outcomes)}")
    return faults


def test_every_eviction_of_rounds_of_trouble_is_justified(world, tell):
    tell(f"GPUQOS_SEED={SEED} repeats these {len(ROUNDS)} rounds")
    try:
        total, in_vain = play_rounds(world, tell)
    finally:
        if KEEP:
            keep(world, pathlib.Path(KEEP))
    faults = verdict(world, tell)
    assert not faults, "\n".join(faults)
    assert not in_vain
    assert total >= max(len(ROUNDS) // 3, 1)
