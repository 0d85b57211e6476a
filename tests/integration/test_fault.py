"""Faults between controller and API server: after each, the cluster's state is what
a run without faults leads to.

Each fault holds while tenants change quotas and pods; then it stops, and state,
objects and controller must be as if it had never been. `make test` tries a seeded
sample (GPUQOS_SEED chooses another), `make soak` all.
"""

import os
import pathlib
import random
import subprocess
import sys
import time
import typing

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "fault")]
from cluster import NotYet, wait_for
from harness import INITIAL, LIST, SOAK, STATE, WATCH, Proxy, Replica, Scenario, show

SEED = int(os.environ.get("GPUQOS_SEED", "1"))
SAMPLE = 6
# How long a fault may take to be met by something.
MET = 60
# In which a half-open connection must be found and what was missed be caught up, seconds.
HALF_OPEN = 45 + 5


class Fault(typing.NamedTuple):
    name: str
    rules: list
    cut: bool = False      # lines are cut when the rules begin, so that watches are opened again
    restart: bool = False  # the controller starts under the fault


def rule(action, path="", count=0, **more):
    return {"action": action, "path": path, "count": count, **more}


def on_writes(action, count=5, **more):
    return rule(action, STATE, count, method="WRITE", **more)


# A server that has no streamed lists: it is asked for pages instead.
PAGED = rule("status", INITIAL, status=400)


def streams():
    for action in ("cut", "truncate"):
        for size in (0, 1, 5, 100, 1000):
            yield Fault(f"{action}-watch-{size}", [rule(action, WATCH, 12, bytes=size)], cut=True)
        for size in (0, 10, 1000, 20000):
            yield Fault(f"{action}-initial-{size}", [rule(action, INITIAL, 8, bytes=size)], restart=True)
            yield Fault(f"{action}-page-{size}", [PAGED, rule(action, LIST, 6, bytes=size)], restart=True)
    for status in (410, 500, 504):
        for size in (0, 500):
            yield Fault(f"error-event-{status}-{size}", [rule("expire", WATCH, 8, bytes=size, status=status)], cut=True)


def refusals():
    for status in (401, 403, 404, 410, 500, 503, 504):
        yield Fault(f"watch-{status}", [rule("status", WATCH, 8, status=status)], cut=True)
    for status in (410, 500, 503):
        yield Fault(f"page-{status}", [PAGED, rule("status", LIST, 4, status=status)], restart=True)
    for status in (401, 403, 404, 409, 500, 503, 504):
        yield Fault(f"write-{status}", [on_writes("status", status=status)])
    yield Fault("watch-429", [rule("status", WATCH, 8, status=429, retryAfter=1)], cut=True)
    yield Fault("write-429", [on_writes("status", status=429, retryAfter=1)])
    yield Fault("everything-503", [rule("status", count=40, status=503)], cut=True)
    yield Fault("leases-503", [rule("status", "leases/", 30, status=503)])


def lines():
    yield Fault("answers-cut-at-once", [on_writes("cut", bytes=0)])
    yield Fault("answers-cut-in-the-middle", [on_writes("cut", bytes=150)])
    yield Fault("answers-truncated", [on_writes("truncate", bytes=150)])
    yield Fault("answers-lost", [on_writes("lose-answer", 8)])
    yield Fault("everything-late", [rule("delay", delayMs=300)])
    yield Fault("writes-late", [on_writes("delay", 8, delayMs=3000)])
    yield Fault("watches-late", [rule("delay", WATCH, 14, delayMs=3000)], cut=True)
    yield Fault("writes-hang", [on_writes("hang", 4)])
    yield Fault("watches-hang", [rule("hang", WATCH, 7)], cut=True)
    yield Fault("leases-hang", [rule("hang", "leases/", 4)])
    yield Fault("stale-pages", [PAGED, rule("stale", LIST, 12), rule("status", WATCH, 6, status=410)], restart=True)


FAULTS = [*streams(), *refusals(), *lines()]


def chosen():
    if SOAK:
        return FAULTS
    return random.Random(SEED).sample(FAULTS, SAMPLE)


LEASE = ("--leader-elect", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
         "--leader-elect-retry-period=500ms")


@pytest.fixture(scope="module")
def cluster(installed):
    return installed


@pytest.fixture(scope="module")
def proxy(cluster, tmp_path_factory):
    made = Proxy(cluster, tmp_path_factory.mktemp("proxy"))
    yield made
    made.stop()


@pytest.fixture
def replica(cluster, proxy, tmp_path):
    """A fresh one for each fault: watches wait the longer the more often they failed."""
    proxy.rules()
    made = Replica(cluster, tmp_path, *LEASE, proxy=proxy).start()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def clean(cluster, proxy, tmp_path_factory):
    """The state that the scenario leads to without faults."""
    proxy.rules()
    replica = Replica(cluster, tmp_path_factory.mktemp("clean"), *LEASE, proxy=proxy)
    scenario = Scenario(cluster, "clean")
    try:
        replica.start()
        scenario.begin()
        scenario.wait_settled()
        scenario.change()
        scenario.finish()
        state = scenario.wait_settled()
        replica.end()
    finally:
        replica.kill()
    scenario.remove()
    assert state["a"]["managed"] == state["e"]["managed"] == "true"
    assert state["d"]["resourcequotas"] == [] and state["c"]["limitranges"] != []
    return state


def apply_fault(fault, proxy, replica):
    if fault.restart:
        replica.end()
    proxy.rules(*fault.rules)
    if fault.restart:
        replica.start(ready=False)
    if fault.cut:
        proxy.cut()


def wait_met(fault, proxy):
    """Until the fault itself (the last rules may never be reached) has acted."""
    faults = [i for i, rule in enumerate(fault.rules) if rule is not PAGED]

    def met():
        acted = proxy.acted()
        return not faults or acted[faults[0]] > 0 or NotYet(acted)
    wait_for(met, f"{fault.name} happens", MET)


def finish(scenario, clean, replica):
    """All must be as if nothing had been: the state, and a process that ends in time and
    has leaked nothing."""
    scenario.finish()
    scenario.wait_equal(clean)
    replica.assert_sane()
    assert replica.end() < 5
    scenario.remove()


@pytest.mark.parametrize("fault", chosen(), ids=lambda fault: fault.name)
def test_after_a_fault_the_state_is_that_of_a_clean_run(fault, cluster, proxy, replica, clean):
    scenario = Scenario(cluster, fault.name)
    scenario.begin()
    apply_fault(fault, proxy, replica)
    scenario.change()
    wait_met(fault, proxy)
    proxy.rules()
    finish(scenario, clean, replica)


@pytest.mark.skipif(not SOAK, reason="takes as long as a dead line may go unnoticed")
def test_a_line_that_died_without_a_word_is_found_in_time(request, cluster, proxy, replica, clean):
    scenario = Scenario(cluster, "half-open")
    scenario.begin()
    scenario.wait_settled()
    proxy.freeze()
    begun = time.monotonic()
    scenario.change()
    scenario.finish()
    scenario.wait_equal(clean)
    took = time.monotonic() - begun
    show(request, f"half-open connections were found, and all was caught up, {took:.1f} s after they died")
    assert took < HALF_OPEN
    finish(scenario, clean, replica)


def run_clean(cluster, clean, replica):
    scenario = Scenario(cluster, "variant")
    try:
        replica.start()
        scenario.begin()
        scenario.change()
        finish(scenario, clean, replica)
    finally:
        replica.kill()


@pytest.mark.skipif(not SOAK, reason="a variant of the clean run")
def test_a_server_without_http2_leads_to_the_same_state(cluster, clean, tmp_path):
    plain = Proxy(cluster, tmp_path / "proxy", "-http1")
    try:
        run_clean(cluster, clean, Replica(cluster, tmp_path / "replica", *LEASE, proxy=plain))
    finally:
        plain.stop()


@pytest.mark.skipif(not SOAK, reason="builds the program once more")
def test_threads_do_not_race(cluster, clean, tmp_path):
    subprocess.run(["make", "--no-print-directory", "V=tsan", "programs"], cwd=TESTS.parent, check=True)
    folder = TESTS.parent / "build" / "tsan" / "bin"
    run_clean(cluster, clean, Replica(cluster, tmp_path, *LEASE, folder=folder))
