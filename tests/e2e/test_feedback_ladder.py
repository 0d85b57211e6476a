"""A tenant whose pods take more than their share of cards that are shared: told of, turned down step by step, and let go. The test is
the node's agent and kubelet; the controller's pace is quicker than it would be otherwise.
"""

import pytest

from cluster import NotYet, wait_for
from controller import in_its_place
from gpus import GIB, History, condition
from hungry import NODE, Hungry, hungry_pod, start
from tenants import PATH, Tenant, hard_of, pod_names, throttle, wait_throttle, wait_throttled

# A quarter of a card, where a tenth is granted.
MUCH = 20 * GIB
PACE = {"graceSeconds": 5, "alertSeconds": 2, "stepSeconds": 3, "floorSeconds": 60, "restSeconds": 30, "recoverSeconds": 10}
FEEDBACK = {"mode": "Throttle", "decrease": 50, "recoverPerMinute": 100, "floorPercent": 40}


@pytest.fixture(scope="module")
def paced(world, tmp_path_factory):
    """A controller that goes on quickly, in place of the usual one."""
    with in_its_place(world, tmp_path_factory.mktemp("paced"), feedback=PACE) as made:
        yield made


@pytest.fixture
def node(world, paced, nodes):
    nodes("timesliced")
    with Hungry(world.cluster, NODE) as made:
        yield made


@pytest.fixture
def tenant(world, make_namespace):
    made = Tenant.make(world.cluster, make_namespace("hungry"), feedback=FEEDBACK)
    made.namespaces[0].put_quota("80Gi")
    yield made
    made.remove()


def percent(controller, tenant):
    return controller.metric("gpuqos_tenant_throttle_percent", tenant=tenant.name)


def steps(history, tenant):
    """[(step, percent)] that its throttle went through, each once."""
    seen = []
    for item in list(history.objects):
        got = item.get("status", {}).get("throttle")
        if item["metadata"]["name"] == tenant.name and got and seen[-1:] != [(got["step"], got["percent"])]:
            seen.append((got["step"], got["percent"]))
    return seen


def test_it_is_turned_down_step_by_step_and_let_go(world, paced, node, tenant, tell):
    space, = tenant.namespaces
    start(space, "greedy")
    node.use(space, "greedy")
    whole = hard_of(space.resource_quota(), "spec")
    with History(world.cluster, PATH) as history:
        tenant.wait_condition("Abnormal", "False", "NormalUse")
        assert throttle(tenant) == {"step": "None", "percent": 100} and percent(paced, tenant) == 100

        node.use(space, "greedy", memory=MUCH)
        node.crash(space, "greedy")
        wait_throttle(tenant, step="NoNewGrants", percent=50)
        seen = condition(tenant.wait_condition("Abnormal", "True", "AbnormalUse"), "Abnormal")
        assert "pods use more GPU memory than they were granted and containers crash over and over" in seen["message"]
        before = throttle(tenant)
        assert set(before["signals"]) == {"MemoryOvershoot", "CrashLoops"}

        # Whoever leads next goes on where this one stopped.
        paced.kill()
        paced.start()
        wait_throttle(tenant, step="NoNewGrants", percent=40)
        assert throttle(tenant)["since"] == before["since"] and percent(paced, tenant) == 40
        wait_throttled(space, "True", "Throttled")

        def lowered():
            got = hard_of(space.resource_quota(), "spec")
            return got == whole * 40 // 100 or NotYet((got, whole))
        wait_for(lowered, "40 % are left")
        start(space, *"abc")
        assert space.create(hungry_pod("d")).status == 403
        assert pod_names(space) == {"greedy", "a", "b", "c"}

        # The cause is gone.
        node.use(space, "greedy")
        node.heal(space, "greedy")
        wait_throttle(tenant, step="Release", percent=40)

        def released():
            got = throttle(tenant)
            return got == {"step": "None", "percent": 100} or NotYet(got)
        wait_for(released, "it has everything again", timeout=120)
        wait_throttled(space, "False", "NotThrottled")
        assert hard_of(space.resource_quota(), "spec") == whole and percent(paced, tenant) == 100
        seen = steps(history, tenant)
    assert seen == [("None", 100), ("Alert", 100), ("NoNewGrants", 50), ("NoNewGrants", 40), ("Release", 40), ("None", 100)]
    assert not tenant.object()["status"].get("evictions")
    tell(f"ladder: {' '.join(f'{step} {left} %,' for step, left in seen)}")
