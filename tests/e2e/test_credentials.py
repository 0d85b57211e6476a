"""A Prometheus and an Alertmanager that want TLS, a client certificate and a password: --web.config.file of the real ones.

Bearer tokens, which these cannot ask for themselves, are test_objectives_source.py's.
"""

import base64
import json
import ssl

import pytest
import scheduler as lib
from alertmanager import Alertmanager
from cluster import NotYet, wait_for
from controller import Controller
from prometheus import Exporter, Prometheus
from tenants import Tenant

USER, PASSWORD = "gpuqos", "not to be guessed"
BCRYPT = "$2b$05$0J0jeWiiii5q8WSnpTpXeu4PWtGCrk5rkzHJPM7eca6bHY90kGIeG"
LATENCY = "gpuqos_test_latency_seconds"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """(folder, certificates, what makes a server guarded)"""
    folder = tmp_path_factory.mktemp("credentials")
    certs = lib.make_certificates(folder / "certs")
    (folder / "web.yaml").write_text(json.dumps({
        "tls_server_config": {"cert_file": f"{certs}/server.crt", "key_file": f"{certs}/server.key",
                              "client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": f"{certs}/ca.crt"},
        "basic_auth_users": {USER: BCRYPT}}))

    def guard(server):
        server.flags = [f"--web.config.file={folder}/web.yaml"]
        server.url = f"https://127.0.0.1:{server.port}"
        server.tls = ssl.create_default_context(cafile=certs / "ca.crt")
        server.tls.load_cert_chain(certs / "client.crt", certs / "client.key")
        server.headers = {"Authorization": "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
        return server
    return folder, certs, guard


@pytest.fixture(scope="module")
def servers(guarded):
    """A Prometheus and an Alertmanager."""
    folder, _, guard = guarded
    with Exporter() as exporter, guard(Prometheus(folder / "prometheus", exporter.port)) as prometheus:
        exporter.gauge(LATENCY, 0.1, namespace="n", pod="p")
        (folder / "alertmanager").mkdir()
        alertmanager = guard(Alertmanager(folder / "alertmanager"))
        alertmanager.start()
        yield prometheus, alertmanager
        alertmanager.stop()


@pytest.fixture
def tenant(world):
    made = Tenant.make(world.cluster, tier="Inference", objectives=[
        {"name": "latency", "query": f"max by (namespace, pod) ({LATENCY})", "threshold": "200m", "for": "5s"}])
    yield made
    made.remove()


@pytest.fixture
def controller_with(world, guarded, servers, tmp_path):
    """A function that starts a controller that knows both servers, without these of its fields."""
    folder, certs, _ = guarded
    (folder / "password").write_text(f"{PASSWORD}\n")
    if world.controller.alive:
        world.controller.stop()
    access = {"username": USER, "passwordFile": f"{folder}/password", "caFile": f"{certs}/ca.crt",
              "certFile": f"{certs}/client.crt", "keyFile": f"{certs}/client.key"}
    running = []

    def start(*without):
        fields = {name: value for name, value in access.items() if name not in without}
        prometheus, alertmanager = servers
        (tmp_path / "config.json").write_text(json.dumps({
            "apiVersion": "config.gpuqos.io/v1alpha1", "kind": "ControllerConfig",
            "prometheus": {"url": prometheus.url, "intervalSeconds": 1, **fields},
            "alertmanager": {"url": alertmanager.url, **fields}}))
        running.append(Controller(world.cluster, tmp_path, "-v", "2", f"--config={tmp_path}/config.json").start())
        return running[0]
    yield start
    for each in running:
        assert each.stop(30)[0] == 0, each.log()[-4000:]


def wait_state(tenant, state, reason):
    def reached():
        seen = (tenant.object().get("status", {}).get("objectives") or [{}])[0]
        return (seen.get("state"), seen.get("reason")) == (state, reason) or NotYet(seen)
    wait_for(reached, f"{tenant.name}: {state}, {reason}", 60)


def test_with_all_that_is_asked_for_both_answer(controller_with, servers, guarded, tenant):
    controller_with()
    wait_state(tenant, "Met", "WithinThreshold")
    tenant.patch(feedback={"override": {"percent": 50}})
    servers[1].wait_firing("GpuqosTenantThrottled")
    # Passwords are read anew.
    password = guarded[0] / "password"
    password.write_text("wrong")
    wait_state(tenant, "Unknown", "Forbidden")
    tenant.patch(feedback=None)
    password.write_text(PASSWORD)
    wait_state(tenant, "Met", "WithinThreshold")
    servers[1].wait_firing()


@pytest.mark.parametrize("without", [("certFile", "keyFile"), ("caFile",)], ids=["no client certificate", "an unknown CA"])
def test_without_it_nothing_is_known(controller_with, servers, tenant, without):
    controller = controller_with(*without)
    wait_state(tenant, "Unknown", "SourceDown")
    tenant.patch(feedback={"override": {"percent": 50}})
    failed = wait_for(lambda: controller.metric("gpuqos_alertmanager_posts_total", result="failed") or NotYet(0), "a post failed", 30)
    assert failed >= 1 and not servers[1].firing()
    assert PASSWORD not in controller.log()
    assert controller.metric("gpuqos_prometheus_down") == 1


def test_without_a_password_it_is_forbidden(controller_with, tenant):
    controller_with("username", "passwordFile")
    wait_state(tenant, "Unknown", "Forbidden")
