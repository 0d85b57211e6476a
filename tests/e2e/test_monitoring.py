"""What is shipped for Prometheus and Grafana, against the real pages: after a scene in which everything happened, each query of each
dashboard has data, and each rule is loaded, evaluated without an error, and of series that there are.
"""

import json
import re
import subprocess
import types

import pytest
import scheduler as lib
from agent import EXPORTS, Agent, agent_pod, bound_token, install_agent
from cluster import ROOT, NotYet, wait_for
from conftest import offer_exactly
from controller import Controller, free_port
from gpus import GPU, H100, Namespace, pod
from kubelet import PodResources
from prometheus import Exporter, Prometheus
from slow_scene import SLOW, Fault, Scene, gauge, query
from tenants import Tenant

MONITORING = ROOT / "config/monitoring"
SERIES = re.compile(r"\b(?:gpuqos_[a-z0-9_]+|(?:[a-z]+:)?gpuqos[a-z_]*:[a-z0-9_:]+)")
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: 1, timeoutSeconds: 2, deviceSeries: [DCGM]}}
"""
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))
QUERIES = [(board.stem, panel["title"], target["expr"]) for board in DASHBOARDS
           for panel in json.loads(board.read_text())["panels"] for target in panel["targets"]]


class Wide(Scene):
    """One of its pods has two cards on two NUMA nodes."""

    def figures(self, users=None, memory="1Gi"):
        super().figures(users, memory)
        path = f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}"
        told = self.cluster.get(path)["status"]
        cards = [self.layout["gpus"][i] for i in (3, 7)]
        told["pods"].append({"namespace": self.web.name, "name": "wide", "containers": [{"name": "main", "devices": [
            {"resource": GPU, "ids": [c["uuid"] for c in cards], "cards": [c["pci"] for c in cards]}]}]})
        self.cluster.api("PATCH", path, {"status": told | {"podCount": len(told["pods"])}}).ok()

    def widen(self):
        item = pod("wide", amount=2, product=H100)
        item["spec"]["nodeName"] = self.node
        wait_for(lambda: self.web.create(item).ok(), "the wide pod is taken")
        self.tenant.patch(topology={"policy": "Preferred", "scope": "NUMA", "onMismatch": "Alert"}, ceiling={"gpuMemory": "1Ti"})


def replica(cluster, folder, name, certs, config):
    """One of two, with an extender of its own: (Controller, its extender's port)."""
    port = free_port()
    made = Controller(
        cluster, folder / name, "-v", "2", "--config", config, "--leader-elect", f"--extender-address=127.0.0.1:{port}",
        f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
        f"--extender-client-ca-file={certs}/ca.crt")
    return made.start(), port


def play(scene, trainers, ports, certs):
    """An objective is violated, a pod goes for it, another lies badly, a tenant is turned down, and the extender is asked."""
    scene.widen()
    scene.publish()
    scene.figures()
    card = scene.layout["gpus"][0]["uuid"]
    scene.exporter.gauge("DCGM_FI_DEV_GPU_UTIL", 5, UUID=card, gpu="0", device="nvidia0", modelName="H100", Hostname=scene.node)
    gauge(scene, SLOW)
    scene.watch(query(scene))
    scene.wait_evicted()
    trainers.patch(feedback={"override": {"percent": 50}})

    def throttled():
        got = trainers.object()["status"].get("throttle", {})
        return got.get("percent") == 50 or NotYet(got)
    wait_for(throttled, "the tenant is turned down")
    for port in ports:
        assert lib.ask(port, certs, "/filter", {})[0] != 0


@pytest.fixture(scope="module")
def seen(world, tmp_path_factory):
    """The Prometheus that scraped two controllers and an agent through it all."""
    if world.controller.alive:
        world.controller.stop()
    folder = tmp_path_factory.mktemp("monitoring")
    nodes = sorted(offer_exactly(world.cluster, ("h100=2",)))
    install_agent(world.cluster)
    certs, rules = lib.make_certificates(folder / "certs"), folder / "rules.yaml"
    rules.write_text(subprocess.run([ROOT / "hack/rules"], check=True, capture_output=True, text=True).stdout)
    with Exporter() as exporter, PodResources(folder / "kubelet.sock") as kubelet:
        prometheus = Prometheus(folder / "prometheus", exporter.port)
        (folder / "config.yaml").write_text(CONFIG.format(url=prometheus.url))
        replicas = [replica(world.cluster, folder, name, certs, folder / "config.yaml") for name in ("a", "b")]
        agent = Agent(world.cluster, folder, nodes[1], "--hwloc-xml", EXPORTS / "nvidia-dgx2.xml", "--resync=1s", "--kubelet-address=0",
                      f"--pod-resources-socket={kubelet.path}", token=bound_token(world.cluster, agent_pod(world.cluster, nodes[1])))
        agent.start(ready=False)
        agent.wait_ready()
        prometheus.ports += [each.metrics_port for each in (replicas[0][0], replicas[1][0], agent)]
        prometheus.rules = [rules]
        with prometheus:
            town = types.SimpleNamespace(cluster=world.cluster, exporter=exporter, between=None, controller=replicas[0][0],
                                         training=Namespace.make(world.cluster))
            trainers = Tenant.make(world.cluster, town.training, tier="Training", preemptible={"minRunSeconds": 0})
            town.training.put_quota("1Ti")
            scene = Wide(town, nodes[0], Fault("None", "", lambda scene: gauge(scene, SLOW)))
            play(scene, trainers, [port for _, port in replicas], certs)
            prometheus.variables = {"tenant": scene.tenant.name, "namespace": f"{scene.web.name}|{town.training.name}"}
            yield prometheus
            scene.remove()
            trainers.remove()
            town.training.remove()
        for program in agent, *(each for each, _ in replicas):
            assert program.stop(30)[0] == 0, program.log()[-4000:]
    world.cluster.kubectl("delete", "-n", "gpuqos-system", "daemonset/gpuqos-agent")
    world.cluster.api("DELETE", f"/api/v1/nodes/{nodes[1]}")


def substituted(text, variables):
    for name, value in variables.items():
        text = text.replace(f"${name}", value)
    assert "$" not in text, f"a variable that no dashboard has: {text}"
    return text


@pytest.mark.parametrize("board, title, text", QUERIES)
def test_a_panel_has_data(seen, board, title, text):
    text = substituted(text, seen.variables)
    wait_for(lambda: seen.query(text) or NotYet(text), f"{board}, {title}: {text}", 20)


@pytest.mark.parametrize("board", DASHBOARDS, ids=lambda board: board.stem)
def test_a_variable_has_values(seen, board):
    for variable in json.loads(board.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            series, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()
            values = {labels[label] for labels, _ in seen.query(series)}
            assert set(seen.variables[variable["name"]].split("|")) <= values, variable


def test_every_rule_is_evaluated_without_an_error(seen):
    def evaluated():
        rules = [rule for group in seen.api("rules")["groups"] for rule in group["rules"]]
        waiting = [rule["name"] for rule in rules if rule["health"] == "unknown"]
        return (rules and not waiting and rules) or NotYet(waiting)
    rules = wait_for(evaluated, "all rules are evaluated")
    assert len(rules) > 20 and {rule["health"] for rule in rules} == {"ok"}, [r for r in rules if r["health"] != "ok"]


def test_what_a_rule_names_is_there(seen):
    """As a series, or as a family that has none as yet: pages tell of those, too."""
    there = set(seen.api("label/__name__/values")) | set(seen.api("metadata"))
    named = {name for group in seen.api("rules")["groups"] for rule in group["rules"] for name in SERIES.findall(rule["query"])}
    assert len(named) > 20 and named <= there, named - there
    empty = {name for name in named if not seen.query(name)}
    # No node, pod or read of the scene is at fault in these ways.
    assert empty <= {"gpuqos_node_layout_unknown", "gpuqos_node_memory_disagreement_bytes"}, empty


def test_what_happened_fires(seen):
    """The alerts of the scene are pending or fire, and none that says that gpuqos itself is broken."""
    def pending():
        alerts = {alert["labels"]["alertname"] for alert in seen.api("alerts")["alerts"]}
        return {"GpuqosTopologyMismatch", "GpuqosThrottledTooLong"} <= alerts and alerts or NotYet(alerts)
    alerts = wait_for(pending, "alerts of the scene are pending")
    broken = {"GpuqosNotLeading", "GpuqosWatchStale", "GpuqosKindUnread", "GpuqosLedgerDrift", "GpuqosObjectsUnreadable", "GpuqosMessagesLost",
              "GpuqosReconcileFailing", "GpuqosPrometheusDown", "GpuqosAgentNotPublishing"}
    assert not alerts & broken, alerts
