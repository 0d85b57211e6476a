"""A tenant that is turned down: by a human, on the real API server, and given everything back."""

import json

import pytest

from alertmanager import Alertmanager
from cluster import NotYet, wait_for
from gpus import H100, condition, pod
from tenants import Tenant, cards, fill, hard_of, pod_names, wait_hard, wait_throttle, wait_throttled

RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(autouse=True)
def offer(nodes):
    nodes("h100=10")


@pytest.fixture
def tenant(world, make_namespace):
    made = Tenant.make(world.cluster, make_namespace("team"), ceiling={"gpuMemory": cards(10)},
                       delegated=["feedback", "isolation"])
    yield made
    made.remove()


@pytest.fixture
def space(tenant):
    space, = tenant.namespaces
    space.put_quota(cards(10), onShrink="Evict")
    wait_hard(space, 10)
    return space


def test_an_override_lowers_what_is_enforced_and_gives_it_back(tenant, space):
    wait_throttle(tenant, step="None", percent=100)
    fill(space, *"gfedcba")
    tenant.patch(feedback={"override": {"percent": 50}})
    wait_hard(space, 5)
    wait_throttle(tenant, step="Override", percent=50, until=None)
    tenant.wait_condition("Throttled", "True", "Overridden")
    message = wait_throttled(space, "True", "Overridden")
    assert f"The platform has set its tenant {tenant.name} to 50 % of what it would have: " in message
    assert "are held back from new pods. What runs stays." in message
    # More runs than is allowed now, and onShrink is Evict: a throttle is no cut.
    got = condition(space.quota("team"), "Exceeded")
    assert (got["status"], got["reason"]) == ("True", "OverLimit"), got
    assert space.create(pod("more", product=H100)).status == 403
    assert pod_names(space) == set("gfedcba")
    assert hard_of(space.resource_quota(), "spec") == 5
    tenant.patch(feedback=None)
    wait_hard(space, 10)
    wait_throttle(tenant, step="None", percent=100)
    wait_throttled(space, "False", "NotThrottled")
    # The API server's admission sees what it has stored a moment later.
    wait_for(lambda: space.create(pod("more", product=H100)).status == 201 or NotYet("refused"), "there is room again")


def test_an_override_outlives_the_controller_and_ends_by_itself(tenant, space, world):
    tenant.patch(feedback={"override": {"percent": 0, "until": "2126-01-01T00:00:00Z"}})
    wait_hard(space, 0)
    assert "until 2126-01-01T00:00:00Z" in wait_throttled(space, "True", "Overridden")
    world.controller.kill()
    world.controller.start()
    tenant.patch(feedback={"override": {"percent": 30, "until": "2126-01-01T00:00:00Z"}})
    wait_hard(space, 3)
    tenant.patch(feedback={"override": {"percent": 30, "until": "2026-01-01T00:00:00Z"}})
    wait_hard(space, 10)
    wait_throttled(space, "False", "NotThrottled")


def test_a_tenants_admin_may_change_feedback_and_neither_override_nor_evict_offender(tenant, world):
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": tenant.name},
            "rules": [{"apiGroups": ["gpuqos.io"], "resources": ["tenantqos"], "resourceNames": [tenant.name],
                       "verbs": ["get", "patch", "update"]}]}
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": tenant.name},
               "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "vera"}],
               "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": tenant.name}}
    world.cluster.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List",
                                                                "items": [role, binding]}))

    def ask(**feedback):
        return world.cluster.api("PATCH", tenant.path, {"spec": {"feedback": feedback}}, user="vera",
                                 groups=["system:authenticated"])
    wait_for(lambda: ask(mode="Alert").status == 200, "vera may change what is delegated")
    for name, value in (("override", {"percent": 100}), ("evictOffender", True)):
        answer = ask(**{name: value})
        assert answer.status == 403 and f"spec.feedback.{name} is for those who may update tenantqos/platform" in answer.message
    tenant.patch(feedback={"override": {"percent": 50}})
    answer = ask(override=None)
    assert answer.status == 403 and "spec.feedback.override is for those" in answer.message
    world.cluster.kubectl("delete", "clusterrole,clusterrolebinding", tenant.name)


def test_nobody_is_judged_by_what_nothing_tells(tenant, space):
    tenant.patch(feedback={"mode": "Throttle"}, isolation={"gpuUtilizationPercent": 10})
    fill(space, "a")
    seen = tenant.wait_condition("Abnormal", "Unknown", "SignalsUnknown")
    assert "nobody is turned down for it" in condition(seen, "Abnormal")["message"]
    assert seen["status"]["throttle"] == {"step": "None", "percent": 100}


# --- Alertmanager

@pytest.fixture
def alertmanager(world, tmp_path):
    """The controller posts to it."""
    made = Alertmanager(tmp_path)
    made.start()
    (tmp_path / "controller.yaml").write_text(json.dumps({
        "apiVersion": "config.gpuqos.io/v1alpha1", "kind": "ControllerConfig",
        "alertmanager": {"url": f"http://127.0.0.1:{made.port}/", "timeoutSeconds": 2}}))
    flags = world.controller.flags
    world.controller.kill()
    world.controller.flags = (*flags, f"--config={tmp_path}/controller.yaml")
    world.controller.start()
    yield made
    made.stop()
    world.controller.kill()
    world.controller.flags = flags
    world.controller.start()


def test_alerts_reach_a_real_alertmanager_and_are_resolved(alertmanager, tenant, space):
    assert alertmanager.firing() == {}
    tenant.patch(feedback={"override": {"percent": 50}})
    alert = alertmanager.wait_firing("GpuqosTenantThrottled")["GpuqosTenantThrottled"]
    assert alert["labels"] == {"alertname": "GpuqosTenantThrottled", "tenant": tenant.name, "severity": "warning"}
    assert alert["annotations"]["summary"].startswith("feedback.override leaves 50 % of what its quotas allow")
    # What is changed while it is down is told as it is when it is back.
    alertmanager.stop()
    tenant.patch(feedback={"override": {"percent": 40}})
    wait_hard(space, 4)
    alertmanager.start()
    alert = alertmanager.wait_firing("GpuqosTenantThrottled")["GpuqosTenantThrottled"]
    assert alert["annotations"]["summary"].startswith("feedback.override leaves 40 % of what its quotas allow")
    tenant.patch(feedback=None)
    alertmanager.wait_firing()


def test_an_alert_ends_with_its_tenant(alertmanager, tenant, space):
    tenant.patch(feedback={"override": {"percent": 50}})
    alertmanager.wait_firing("GpuqosTenantThrottled")
    tenant.remove()
    alertmanager.wait_firing()
