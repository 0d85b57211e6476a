"""/metrics, /healthz and /readyz of a controller at work."""

import shutil
import subprocess

import pytest

from cluster import NotYet, quantity, wait_for
from controller import Controller
from gpus import GPU, H100, UNIT, pod

KINDS = {"pods", "nodes", "namespaces", "gpumemoryquotas", "resourcequotas", "limitranges", "tenantqos",
         "validatingadmissionpolicybindings", "resourceclaims", "resourceslices", "deviceclasses", "leases", "gpunodes",
         "poddisruptionbudgets", "jobs"}


@pytest.fixture
def busy(nodes, namespace):
    nodes("h100")
    namespace.put_quota("320Gi")
    namespace.create(pod("a", GPU, 2, H100)).ok()
    return namespace


def test_a_namespaces_numbers_are_those_of_its_status(running, busy):
    def equal():
        status = busy.quota()["status"]
        shown = {name: quantity(status[name]) for name in ("effective", "used", "live")}
        shown["limit"] = 320 << 30
        metrics = {name: running.metric(f"gpuqos_quota_{name}_bytes", namespace=busy.name) for name in shown}
        return (shown == metrics and shown["live"] == 2 * UNIT["h100"]) or NotYet((shown, metrics))
    wait_for(equal, "status and metrics agree")


def test_promtool_finds_nothing_wrong_with_the_metrics(running, busy):
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; run hack/deps test"
    _, text = running.page("/metrics")
    check = subprocess.run([promtool, "check", "metrics"], input=text, text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (check.returncode, check.stdout) == (0, "")


def test_the_metrics_cover_what_an_operator_asks(running, busy):
    metrics = running.metrics()
    by_kind = {name: {dict(labels)["resource"] for n, labels in metrics if n == name and "resource" in dict(labels)}
               for name in ("gpuqos_watch_age_seconds", "gpuqos_watch_restarts_total", "gpuqos_cache_objects",
                            "gpuqos_cache_bytes")}
    assert all(kinds == KINDS | {"devices", "noderesourcetopologies"} for kinds in by_kind.values()), by_kind
    names = {name for name, _ in metrics}
    assert names >= {"gpuqos_leader", "gpuqos_ledger_recounts_total", "gpuqos_ledger_differing_total",
                     "gpuqos_ledger_drift_bytes_total", "gpuqos_api_requests_total", "gpuqos_build_info",
                     "gpuqos_workqueue_depth", "gpuqos_workqueue_latency_seconds_sum", "gpuqos_reconcile_total",
                     "gpuqos_reconcile_duration_seconds_sum"}
    assert all(0 <= value < 700 for (name, _), value in metrics.items() if name == "gpuqos_watch_age_seconds")
    assert running.metric("gpuqos_ledger_differing_total") == 0


def test_a_node_that_does_not_tell_its_memory_is_counted(world, running, nodes):
    nodes("t4=2")
    row = {"resource": "nvidia.com/gpu", "product": "Tesla-T4"}

    def counted(number):
        now = running.metric("gpuqos_nodes_without_memory", **row)
        return now == number or NotYet(now)
    wait_for(lambda: counted(0), "both nodes tell it")
    label = {"metadata": {"labels": {"nvidia.com/gpu.memory": None}}}
    world.cluster.api("PATCH", "/api/v1/nodes/t4-0", label).ok()
    wait_for(lambda: counted(1), "one does not")


def test_it_is_healthy_and_ready_and_says_of_what(running):
    status, text = running.page("/healthz")
    assert status == 200 and "reconcile" in text
    status, text = running.page("/readyz")
    assert status == 200 and "role: leader" in text and all(f"cache {kind}: complete" in text for kind in KINDS)
    # Koordinator's, and of Node Feature Discovery: this cluster has none.
    assert "cache devices: not installed" in text and "cache noderesourcetopologies: not installed" in text
    assert running.page("/nothing")[0] == 404


def test_it_is_not_ready_before_its_caches_are_complete(world, tmp_path):
    """With a token that nobody knows it lives, says why, and is not ready."""
    replica = Controller(world.cluster, tmp_path, "--leader-elect", "--leader-elect-namespace=gpuqos-system", token="none")
    try:
        replica.start(ready=False)

        def not_ready():
            status, text = replica.try_page("/readyz")
            return (status == 503 and "401" in text or "Unauthorized" in text) or NotYet((status, text))
        wait_for(not_ready, "/readyz says what is missing and why")
        assert replica.page("/healthz")[0] == 200
    finally:
        replica.kill()
