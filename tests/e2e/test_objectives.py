"""Objectives over a real Prometheus: met, at risk, violated and met again; what is no signal is Unknown and says why."""

import json

import pytest

from cluster import NotYet, wait_for
from controller import Controller
from gpus import condition, pod
from prometheus import Exporter, Prometheus
from tenants import Tenant

LATENCY = "gpuqos_test_latency_seconds"
VLLM = "vllm:time_to_first_token_seconds"
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: 1, timeoutSeconds: 2}}
"""


@pytest.fixture(scope="module")
def exporter():
    with Exporter() as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(exporter, tmp_path_factory):
    with Prometheus(tmp_path_factory.mktemp("prometheus"), exporter.port) as running:
        yield running


@pytest.fixture(scope="module")
def watching(world, prometheus, tmp_path_factory):
    """A controller that knows the Prometheus, in place of the usual one."""
    if world.controller.alive:
        world.controller.stop()
    folder = tmp_path_factory.mktemp("watching")
    (folder / "config.yaml").write_text(CONFIG.format(url=prometheus.url))
    mine = Controller(world.cluster, folder, "-v", "2", "--config", folder / "config.yaml").start()
    yield mine
    assert mine.stop(30)[0] == 0, mine.log()[-4000:]


@pytest.fixture
def make_tenant(world, watching, make_namespace):
    """A tenant of one namespace with two pods that wait for cards, and objectives."""
    made = []

    def make(*objectives):
        namespace = make_namespace()
        tenant = Tenant.make(world.cluster, namespace, tier="Inference", objectives=list(objectives))
        made.append(tenant)
        return tenant, namespace
    yield make
    for tenant in made:
        tenant.remove()


@pytest.fixture(scope="module")
def cards(world):
    """Nodes; without the usual controller, which knows no Prometheus and must not come to lead here."""
    if not any(node["metadata"]["name"] == "h100-0" for node in world.cluster.get("/api/v1/nodes")["items"]):
        world.cluster.nodes("h100=4")


def objective_of(tenant, name):
    seen = tenant.object().get("status", {})
    return next((each for each in seen.get("objectives", []) if each["name"] == name), {})


def wait_state(tenant, name, state, reason):
    def reached():
        seen = objective_of(tenant, name)
        return (seen.get("state"), seen.get("reason")) == (state, reason) and seen or NotYet(tenant.object().get("status"))
    return wait_for(reached, f"{tenant.name}: {name} is {state}, {reason}", 60)


def by_query(namespace, **more):
    return {"name": "latency", "threshold": "200m", "for": "5s",
            "query": f'max by (namespace, pod) ({LATENCY}{{namespace="{namespace}"}})', **more}


def test_from_met_to_violated_and_back(exporter, watching, make_tenant, tell):
    tenant, namespace = make_tenant()
    exporter.gauge(LATENCY, 0.1, namespace=namespace.name, pod="a")
    exporter.gauge(LATENCY, 0.12, namespace=namespace.name, pod="b")
    tenant.patch(objectives=[by_query(namespace.name)])
    seen = wait_state(tenant, "latency", "Met", "WithinThreshold")
    assert seen["value"] == "0.12" and seen["since"]
    assert condition(tenant.wait_condition("Objectives", "True", "Met"), "Objectives")["message"] == "The one objective is met."
    assert tenant.object()["status"]["objectivesSummary"] == "1 Met"

    exporter.gauge(LATENCY, 0.5, namespace=namespace.name, pod="b")
    wait_state(tenant, "latency", "AtRisk", "BurnRate")
    wait_state(tenant, "latency", "Violated", "PastThreshold")
    message = condition(tenant.wait_condition("Objectives", "False", "Violated"), "Objectives")["message"]
    tell(message)
    assert message == "1 of 1 objectives is violated: latency is 0.5 where at most 0.2 is promised."
    assert watching.metric("gpuqos_objective_state", tenant=tenant.name, objective="latency") == 3

    exporter.gauge(LATENCY, 0.1, namespace=namespace.name, pod="b")
    exporter.gauge(LATENCY, 0.11, namespace=namespace.name, pod="a")
    wait_state(tenant, "latency", "Met", "WithinThreshold")


def served(exporter, make_tenant, seconds):
    """A tenant whose two pods serve by vLLM."""
    tenant, namespace = make_tenant({"name": "ttft", "preset": "vllm-time-to-first-token", "threshold": "200m", "for": "5s"})
    namespace.put_quota("320Gi")
    servers = [{"namespace": namespace.name, "pod": name} for name in ("a", "b")]
    for each in servers:
        namespace.create(pod(each["pod"])).ok()
    if seconds[0] == seconds[1]:
        exporter.serve(VLLM, seconds[0], *servers)
    else:
        for each, latency in zip(servers, seconds):
            exporter.serve(VLLM, latency, each)
    return tenant, namespace


def test_a_preset_reads_its_own_namespaces_and_the_worst_pod(exporter, make_tenant, cards):
    good, space = served(exporter, make_tenant, (0.03, 0.05))
    bad, _ = served(exporter, make_tenant, (0.03, 0.7))
    # Of a pod that is not there, or of another's namespace, nothing counts.
    exporter.serve(VLLM, 9, {"namespace": space.name, "pod": "gone"})
    wait_state(good, "ttft", "Met", "WithinThreshold")
    seen = wait_state(bad, "ttft", "Violated", "PastThreshold")
    assert 0.5 < float(seen["value"]) <= 0.75, seen


def test_what_is_no_signal_is_unknown(exporter, make_tenant, cards, tell):
    cloned, _ = served(exporter, make_tenant, (0.7, 0.7))
    idle, _ = served(exporter, make_tenant, (None, None))
    absent, _ = make_tenant(by_query("nowhere"))
    wrong, _ = make_tenant(by_query("nowhere", query="max by ("))
    wait_state(absent, "latency", "Unknown", "Absent")
    wait_state(wrong, "latency", "Unknown", "QueryRefused")
    # The scrapes of both pods come at one moment: their rates are the same to the bit.
    wait_state(cloned, "ttft", "Unknown", "Cloned")
    wait_state(idle, "ttft", "Unknown", "AllZero")
    for tenant, reason in (cloned, "Cloned"), (idle, "AllZero"), (absent, "Absent"), (wrong, "QueryRefused"):
        message = condition(tenant.wait_condition("Objectives", "Unknown", "NoSignal"), "Objectives")["message"]
        tell(message)
        assert f"({reason})" in message


def test_without_prometheus_nothing_is_known(exporter, prometheus, watching, make_tenant, tell):
    tenant, namespace = make_tenant()
    exporter.gauge(LATENCY, 0.5, namespace=namespace.name, pod="a")
    tenant.patch(objectives=[by_query(namespace.name)])
    wait_state(tenant, "latency", "Violated", "PastThreshold")
    prometheus.stop()
    wait_state(tenant, "latency", "Unknown", "SourceDown")
    message = condition(tenant.wait_condition("Objectives", "Unknown", "NoSignal"), "Objectives")["message"]
    tell(message)
    assert "Prometheus does not answer" in message and "nothing is done" in message
    assert "value" not in objective_of(tenant, "latency")
    assert watching.alive and watching.metric("gpuqos_prometheus_down") == 1
    prometheus.start()
    wait_state(tenant, "latency", "Violated", "PastThreshold")
    assert watching.metric("gpuqos_prometheus_down") == 0


def test_a_tenant_admin_writes_presets_and_no_query(world, make_tenant):
    tenant, _ = make_tenant({"name": "a", "preset": "tgi-queue-time", "threshold": "1"})
    rules = [{"apiGroups": ["gpuqos.io"], "resources": ["tenantqos"], "resourceNames": [tenant.name], "verbs": ["get", "patch", "update"]}]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": tenant.name}
    world.cluster.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        kind | {"kind": "ClusterRole", "metadata": {"name": tenant.name}, "rules": rules},
        kind | {"kind": "ClusterRoleBinding", "metadata": {"name": tenant.name}, "roleRef": role,
                "subjects": [{"apiGroup": role["apiGroup"], "kind": "User", "name": "vera"}]}]}))

    def write(*objectives):
        return world.cluster.api("PATCH", tenant.path, {"spec": {"objectives": list(objectives)}}, user="vera")
    preset = {"name": "a", "preset": "tgi-queue-time", "threshold": "2"}
    wait_for(lambda: "spec.objectives is for those" in (answer := write(preset)).message or NotYet(answer.message), "vera may ask")
    tenant.patch(delegated=["objectives"])
    wait_for(lambda: write(preset).status == 200, "objectives are delegated")
    refused = write(preset, by_query("default"))
    assert refused.status == 403 and "the query of objective latency is for those who may update tenantqos/platform" in refused.message
    # What the platform set she may leave as it is.
    tenant.patch(objectives=[preset, by_query("default")])
    assert write(preset | {"threshold": "3"}, by_query("default", threshold="1")).status == 200
    assert write(preset, by_query("kube-system")).status == 403
