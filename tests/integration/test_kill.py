"""Kill at every write: SIGKILL before or after the n-th write of a scenario.

The controller is started again and must bring the cluster to the state of a run in
which nothing was killed. `make test` tries a seeded sample (GPUQOS_SEED chooses
another), `make soak` every write, before and after.
"""

import os
import pathlib
import random
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "fault")]
from cluster import NotYet, wait_for
from harness import SHORT_LEASE, SOAK, Proxy, Replica, Scenario, difference, show

SEED = int(os.environ.get("GPUQOS_SEED", "1"))
SAMPLE = 4
# Leases are renewed for ever; killing there is the election suite's.
WRITES = r"^/(api|apis/gpuqos\.io|apis/events\.k8s\.io)/"
LEASES = r"^/apis/coordination"


@pytest.fixture(scope="module")
def cluster(installed):
    return installed


@pytest.fixture(scope="module")
def proxy(cluster, tmp_path_factory):
    made = Proxy(cluster, tmp_path_factory.mktemp("proxy"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def replica(cluster, proxy, tmp_path_factory):
    made = Replica(cluster, tmp_path_factory.mktemp("replica"), *SHORT_LEASE, proxy=proxy)
    yield made
    made.kill()


def lead(replica):
    replica.start()
    wait_for(lambda: replica.leads(), "it leads", 30)


@pytest.fixture(scope="module")
def clean(cluster, proxy, replica):
    """The state that the scenario leads to, and how many writes that takes at least."""
    proxy.rules()
    scenario = Scenario(cluster, "clean")
    lead(replica)
    play(scenario)
    state = scenario.wait_settled()
    replica.end()
    count = sum("/leases" not in write["path"] for write in proxy.writes())
    scenario.remove()
    return state, count


def play(scenario):
    scenario.begin()
    scenario.change()
    scenario.finish()


def run_killed(number, moment, path, cluster, proxy, replica, clean):
    """Plays the scenario with the kill at the number-th write to such a path. False when
    it came to its end with fewer: how many writes are saved up into one is a matter of
    chance."""
    state, _ = clean
    proxy.rules()
    if not replica.alive:
        lead(replica)
    rule = {"method": "WRITE", "path": path, "action": f"kill-{moment}", "skip": number, "count": 1,
            "pid": replica.process.pid}
    proxy.rules(rule)
    scenario = Scenario(cluster, f"kill-{moment}-{number}")
    scenario.begin()
    scenario.change()

    def killed_or_done():
        scenario.try_again()
        done = not scenario.waiting and difference(scenario.state(), state) is None
        return not replica.alive or done or NotYet(proxy.matched())
    wait_for(killed_or_done, f"write {number} is made and its writer killed", 60)
    was_killed = not replica.alive
    proxy.rules()
    if was_killed:
        assert replica.process.returncode == -9, replica.log()[-3000:]
        lead(replica)
    scenario.finish()
    scenario.wait_equal(state)
    replica.assert_sane()
    scenario.remove()
    return was_killed


def moments(count):
    # The last ones are not reached by every run.
    numbers = range(count if SOAK else count * 2 // 3)
    every = [(number, moment) for number in numbers for moment in ("before", "after")]
    return every if SOAK else random.Random(SEED).sample(every, SAMPLE)


def test_whichever_write_it_dies_at_the_state_is_that_of_a_clean_run(request, cluster, proxy, replica, clean):
    tried = moments(clean[1])
    killed = sum(run_killed(number, moment, WRITES, cluster, proxy, replica, clean) for number, moment in tried)
    show(request, f"{killed} kills at {len(tried)} moments before and after the {clean[1]} writes of the scenario; "
         "all converged")
    assert killed >= len(tried) * (0.7 if SOAK else 1)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_dying_at_a_renewal_of_the_lease_changes_nothing_either(moment, cluster, proxy, replica, clean):
    # The first renewal after it began: a quick machine is done before the fourth.
    assert run_killed(0, moment, LEASES, cluster, proxy, replica, clean)


def test_at_last_it_ends_in_time_and_has_leaked_nothing(proxy, replica, clean):
    proxy.rules()
    if not replica.alive:
        lead(replica)
    assert replica.end() < 5
