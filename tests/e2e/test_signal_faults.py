"""What is no proof evicts nobody and turns nobody down: each fault of a signal as a case of its own.

Every case has a node with an inference pod that is slow, as its users see, and a training pod below the same PCIe switch
that is measured to be busy there: one that goes, as soon as anybody knows of it. Between the controller and a real Prometheus
is a server that passes questions on, or lies where a real one cannot be made to. While a fault lasts, nobody is evicted;
where it ends, the eviction follows, so that each case shows that its fault was all that was in the way. Faults of what
nodes' agents measure have a training tenant each that would be turned down, as one without a fault is.
"""

import concurrent.futures
import signal
import socket
import threading
import types

import between as lies
import pytest
from between import Between
from cluster import NotYet, wait_for
from conftest import offer_exactly
from controller import USER, Controller
from gpus import GPU, H100, Namespace, condition, pod
from kubelets import Kubelets
from placement import layout
from prometheus import Exporter, Prometheus
from tenants import Tenant

GAUGE = "gpuqos_test_latency_seconds"
VLLM = "vllm:{}_seconds"
SLOW, QUICK = 0.5, 0.05
ROUNDS = 8  # of one second; `for` is five
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: 1, timeoutSeconds: 2}}
alertmanager: {{url: "http://127.0.0.1:{deaf}", timeoutSeconds: 1}}
"""


# --- what may be wrong

def gauge(scene, value, name="web-0"):
    scene.exporter.gauge(GAUGE, value, namespace=scene.web.name, pod=name)


def serve(scene, seconds, metric="time_to_first_token", name="web-0", **odd):
    scene.exporter.serve(VLLM.format(metric), seconds, {"namespace": scene.web.name, "pod": name}, **odd)


def query(scene, text=f"max by (namespace, pod) ({GAUGE}{{{{namespace=\"{{}}\"}}}})"):
    return {"query": text.format(scene.web.name)}


def preset(name="vllm-time-to-first-token"):
    return lambda scene: {"preset": name}


class Fault:
    """asks: the objective's question. begin, end: of the fault. reasons: of Unknown. words: in the condition."""

    def __init__(self, reasons, words, begin, end=gauge, asks=query):
        self.reasons, self.words, self.asks = reasons.split(), words, asks
        self.begin, self._end = begin, end

    def end(self, scene):
        if self._end is gauge:
            gauge(scene, SLOW)
        else:
            self._end(scene)


def lie(reasons, words, made):
    """The real one knows the truth, and what comes of it is another thing."""
    def begin(scene):
        gauge(scene, SLOW)
        scene.between.lies[scene.web.name] = made()

    def end(scene):
        del scene.between.lies[scene.web.name]
    return Fault(reasons, words, begin, end)


def wrong_query(text, words="refuses the query"):
    """What is asked is at fault; it ends when it is corrected."""
    return Fault("QueryRefused", words, lambda scene: gauge(scene, SLOW), lambda scene: scene.watch(query(scene)),
                 lambda scene: query(scene, text))


def two_alike(scene):
    for name in "web-0", "web-1":
        gauge(scene, SLOW, name)


def serve_another(scene):
    """Of the former series the past stays late for as long as their window is."""
    serve(scene, SLOW, "request_queue_time")
    scene.watch(preset("vllm-queue-time")(scene))


def others_alone(scene):
    for name in "web-0-old", "gone":
        serve(scene, SLOW, name=name)


FAULTS = {
    "no series": Fault("Absent", "no such series", lambda scene: gauge(scene, None)),
    "samples of three minutes ago": Fault(
        "Stale", "too old", lambda scene: serve(scene, SLOW, late=180), lambda scene: serve_another(scene), preset()),
    "NaN": Fault("NaN", "no number", lambda scene: gauge(scene, "NaN")),
    "the same of two pods, as of a card that they share": Fault(
        "Cloned", "the same figures", two_alike, lambda scene: gauge(scene, 0.1, "web-1")),
    "counters that stand at nothing": Fault(
        "AllZero", "all figures are 0", lambda scene: serve(scene, None), lambda scene: serve(scene, SLOW), preset()),
    "a histogram that begins anew before each scrape": Fault(
        "AllZero", "all figures are 0", lambda scene: serve(scene, SLOW, anew=True), lambda scene: serve(scene, SLOW), preset()),
    "pods that are gone": Fault("Absent", "no such series", others_alone, lambda scene: serve(scene, SLOW), preset()),
    "a clock that is ahead": lie("ClockSkew", "clock", lambda: lies.clock(45)),
    "a clock that is behind": lie("ClockSkew", "clock", lambda: lies.clock(-45)),
    "too few samples in a row": lie("TooFew Absent", "(", lambda: lies.every(3)),
    "no PromQL": wrong_query("max by ({}"),
    "PromQL that cannot be evaluated": wrong_query(
        f'{GAUGE}{{{{namespace="{{}}"}}}} * on (job) group_left () {{{{job="test"}}}}'),
    "a range where a number is asked for": wrong_query(f'{GAUGE}{{{{namespace="{{}}"}}}}[30s]'),
    "a text": wrong_query('"{}"'),
    "a part of the series, with a warning": lie("Partial", "warns", lambda: lies.warns("a store is missing")),
    "more than 5 MB": lie("TooLarge", "more than can be read", lambda: lies.says(200, lies.JSON, b" " * 6_000_000)),
    "a storm of series": lie("TooLarge", "more than can be read", lambda: lies.storm(20001)),
    "a page of a proxy": lie("QueryRefused", "its answer is of no use", lambda: lies.says(200, "text/html", "<html>sign in</html>")),
    "half an answer": lie("QueryRefused", "its answer is of no use", lambda: lies.in_part),
    "success without data": lie("QueryRefused", "its answer is of no use", lambda: lies.says(200, lies.JSON, '{"status": "success"}')),
    "an old answer again and again": lie("Stale", "too old", lies.the_first),
}
# Begin when the objective is known to be violated.
LATE = {
    "a server that is no more scraped": Fault(
        "Stale", "too old", lambda scene: scene.exporter.end(VLLM.format("time_to_first_token"), namespace=scene.web.name, pod="web-0"),
        None, preset()),
    "a pod that has the name of another": Fault("Stale", "too old", lambda scene: scene.replace("web-0"), None, preset()),
}


# --- the world

class Scene:
    """Its web-0 is slow, and train, below the same switch, is why. mine: the training pod's namespace, where it is not
    everybody's."""

    def __init__(self, town, node, fault, mine=None):
        vars(self).update(vars(town))
        self.node, self.fault, self.mine = node, fault, mine or self.training
        self.train = f"train-{node}"
        self.web = Namespace.make(self.cluster)
        self.tenant = Tenant.make(
            self.cluster, self.web, tier="Inference",
            protection={"mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 0, "observationSeconds": 20})
        self.web.put_quota("1Ti", enforced=False)
        self.pods = {}
        for space, name in (self.web, "web-0"), (self.web, "web-1"), (self.mine, self.train):
            self.pods[name] = self.put(space, name)

    def put(self, space, name):
        item = pod(name, product=H100)
        item["spec"]["nodeName"] = self.node
        return wait_for(lambda: space.create(item).ok(), f"{space.name} takes {name}", 60)

    def replace(self, name):
        """Another pod of that name is there in its place, and serves on under it."""
        self.web.delete_pod(name, force=True).ok()
        wait_for(lambda: self.cluster.api("GET", f"{self.web.pods}/{name}").status == 404, f"{name} is gone")
        self.pods[name] = self.put(self.web, name)

    def held(self):
        """Which pod has which card."""
        return [(self.web, "web-0", 0), (self.mine, self.train, 1), (self.web, "web-1", 4)]

    def figures(self, users=None, memory="1Gi"):
        """As the node's agent: web-0 and train have two cards of one switch."""
        told = {"gpus": 8, "podCount": len(self.held()), "pods": [
            {"namespace": space.name, "name": name, "containers": [
                {"name": "main", "devices": [{"resource": GPU, "ids": [self.layout["gpus"][card]["uuid"]], "cards": [self.pci(card)]}]}]}
            for space, name, card in self.held()]}
        told["users"] = [self.user(memory=memory, smPercent=90, pcieBytesPerSecond="8G", shared=True)] if users is None else users
        self.cluster.api("PATCH", f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}", {"status": told}).ok()

    def pci(self, card):
        return self.layout["gpus"][card]["pci"]

    def user(self, **figures):
        return {"card": self.pci(1), "podUID": self.pods[self.train]["metadata"]["uid"], "processes": 1, **figures}

    def publish(self):
        """A live agent, and its GpuNode."""
        Kubelets(self.cluster).publish(self.node, self.layout)
        self.cluster.api("POST", "/apis/gpuqos.io/v1alpha1/gpunodes", {
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": self.node}}).ok()

    @property
    def layout(self):
        made = layout("none", f"GPU-{self.node}")
        made["bridges"] = [{"pci": f"0000:{i + 1:02x}:00.0"} for i in range(4)]
        for card in made["gpus"]:
            card["bridge"] = card["index"] // 2
        return made

    def watch(self, asks):
        self.tenant.patch(objectives=[{"name": "latency", "threshold": "200m", "for": "5s", **asks}])

    def objective(self):
        return (self.tenant.object().get("status", {}).get("objectives") or [{}])[0]

    def wait_objective(self, *states):
        def reached():
            seen = self.objective()
            return seen if seen.get("state") in states else NotYet(seen)
        return wait_for(reached, f"{self.node}: latency is {states}", 60)

    def wait_unknown(self):
        """The condition's text, once the objective is Unknown for one of the fault's reasons."""
        def reached():
            seen, told = self.objective(), condition(self.tenant.object(), "Objectives")
            right = seen.get("state") == "Unknown" and any(f"({reason})" in told["message"] for reason in self.fault.reasons)
            return (told["status"] == "Unknown" and right and told["message"]) or NotYet((seen, told["message"]))
        return wait_for(reached, f"{self.node} is unknown: {self.fault.reasons}", 60)

    def assert_nobody_went(self):
        """Every pod is there as it was, and nothing says that one should go."""
        there = {p["metadata"]["name"]: p["metadata"] for p in self.web.list_pods() + self.mine.list_pods()}
        for name, made in self.pods.items():
            assert there[name]["uid"] == made["metadata"]["uid"] and "deletionTimestamp" not in there[name], name
            assert "gpuqos.io/eviction-notice" not in there[name].get("annotations", {}), name
        status = self.tenant.object().get("status", {})
        assert not status.get("evictions") and not status.get("evictionCount"), status
        assert self.train not in evicted(self.cluster)
        assert not any(dict(labels).get("tenant") == self.tenant.name
                       for (name, labels), value in self.controller.metrics().items()
                       if name == "gpuqos_eviction_receipts_total" and value)

    def wait_evicted(self):
        uid = self.pods[self.train]["metadata"]["uid"]

        def gone():
            receipts = self.tenant.object().get("status", {}).get("evictions", [])
            return [v["uid"] for r in receipts for v in r["victims"]] == [uid] and receipts[0] or NotYet((self.objective(), receipts))
        receipt = wait_for(gone, f"{self.train} goes", 60)
        assert receipt["cause"] == "Objective" and "a PCIe switch" in receipt["proof"]
        wait_for(lambda: self.train in evicted(self.cluster), "the API server was asked", 10)
        return receipt

    def remove(self):
        self.tenant.remove()
        self.web.remove()
        for path in f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}", f"/api/v1/nodes/{self.node}":
            self.cluster.api("DELETE", path)


def evicted(cluster):
    """Names of the pods that the controller asked the API server to evict."""
    return {event["objectRef"]["name"] for event in cluster.audit("create", "pods", USER)
            if event["objectRef"].get("subresource") == "eviction"}


class Deaf:
    """Takes connections, and never says a word."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                self.taken.append(self.socket.accept()[0])
            except OSError:
                return

    def close(self):
        self.socket.close()
        for each in self.taken:
            each.close()


@pytest.fixture(scope="module")
def town(world, tmp_path_factory):
    """All scenes, each slow, and nobody knows: Prometheus is not there yet."""
    if world.controller.alive:
        world.controller.stop()
    folder = tmp_path_factory.mktemp("faults")
    names = [*FAULTS, *LATE, "none"]
    nodes = sorted(offer_exactly(world.cluster, (f"h100={len(names)}",)))
    deaf = Deaf()
    with Exporter() as exporter, Prometheus(folder / "prometheus", exporter.port) as prometheus, Between(prometheus.url) as between:
        (folder / "config.yaml").write_text(CONFIG.format(url=between.url, deaf=deaf.port))
        controller = Controller(world.cluster, folder, "-v", "2", "--config", folder / "config.yaml").start()
        made = types.SimpleNamespace(cluster=world.cluster, exporter=exporter, prometheus=prometheus, between=between,
                                     controller=controller, training=Namespace.make(world.cluster))
        trainers = Tenant.make(world.cluster, made.training, tier="Training", preemptible={"minRunSeconds": 0})
        made.training.put_quota("100Ti")
        none = Fault("None", "", lambda scene: gauge(scene, SLOW))
        faults = FAULTS | LATE | {"none": none}
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            scenes = list(pool.map(lambda of: Scene(made, of[0], faults[of[1]]), zip(nodes, names)))
            list(pool.map(Scene.publish, scenes))
            list(pool.map(Scene.figures, scenes))
        made.scenes = dict(zip(names, scenes))
        yield made
        for scene in scenes:
            scene.remove()
        trainers.remove()
        made.training.remove()
        assert controller.stop(30)[0] == 0, controller.log()[-4000:]
    deaf.close()


def failed_or(what):
    """What one scene lacks is told in its own case."""
    def call(*args):
        try:
            return what(*args)
        except AssertionError as error:
            return str(error)
    return call


def rounds(town, scene, since=0):
    """Its question was answered for longer than a violation takes."""
    def asked():
        return town.between.asked(scene.web.name)
    wait_for(lambda: asked() >= since + ROUNDS or NotYet(asked()), f"{scene.node}: {ROUNDS} rounds", 60)


def in_vain(town):
    def failed():
        return town.controller.metric("gpuqos_prometheus_queries_total", result="failed")
    before = failed()
    wait_for(lambda: failed() > before or NotYet(failed()), "it is asked in vain", 60)


@pytest.fixture(scope="module")
def down(town):
    """Prometheus takes questions and does not answer, and then nobody listens at all. What was told meanwhile."""
    scene = town.scenes["none"]
    gauge(scene, SLOW)
    town.prometheus.process.send_signal(signal.SIGSTOP)
    told = {}
    scene.watch(query(scene))
    scene.fault.reasons = ["Timeout"]
    told["slow"] = scene.wait_unknown()
    in_vain(town)
    scene.assert_nobody_went()
    town.prometheus.process.send_signal(signal.SIGCONT)
    town.prometheus.stop()
    scene.fault.reasons = ["SourceDown"]
    told["down"] = scene.wait_unknown()
    in_vain(town)
    scene.assert_nobody_went()
    town.prometheus.start()
    return told


@pytest.mark.parametrize("name, words", [("slow", "does not answer in time (Timeout)"), ("down", "does not answer (SourceDown)")])
def test_a_prometheus_that_is(down, name, words, tell):
    tell(f"{name}: {down[name]}")
    assert f"nothing is done for them: of latency, Prometheus {words}." in down[name]


@pytest.fixture(scope="module")
def faulty(town, down):
    """All faults have lasted for longer than a violation takes. {name: what was told}"""
    scenes = {name: town.scenes[name] for name in FAULTS}
    for scene in scenes.values():
        scene.fault.begin(scene)
    for scene in (town.scenes[name] for name in LATE):
        serve(scene, SLOW)
        scene.figures([scene.user(smPercent=3, shared=True)])
        scene.watch(scene.fault.asks(scene))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda scene: scene.watch(scene.fault.asks(scene)), scenes.values()))
        told = dict(zip(scenes, pool.map(failed_or(Scene.wait_unknown), scenes.values())))
        list(pool.map(lambda scene: rounds(town, scene), scenes.values()))
    return told


@pytest.mark.parametrize("name", FAULTS)
def test_nobody_goes_for(town, faulty, name, tell):
    scene = town.scenes[name]
    tell(f"{name}: {faulty[name]}")
    assert scene.fault.words in faulty[name] and "nothing is done for them" in faulty[name]
    assert scene.objective()["state"] == "Unknown"
    scene.assert_nobody_went()


def test_who_slows_goes_where_there_is_no_fault(town, faulty, tell):
    receipt = town.scenes["none"].wait_evicted()
    tell(f"none: {receipt['proof']}")


@pytest.fixture(scope="module")
def late(town, faulty):
    """It was known to be violated when the fault began, and then it is told who is busy. {name: what was told}"""
    def story(name):
        scene = town.scenes[name]
        scene.wait_objective("Violated")
        scene.fault.begin(scene)
        told = scene.wait_unknown()
        scene.figures()
        rounds(town, scene, town.between.asked(scene.web.name))
        return told
    with concurrent.futures.ThreadPoolExecutor(len(LATE)) as pool:
        return dict(zip(LATE, pool.map(failed_or(story), LATE)))


@pytest.mark.parametrize("name", LATE)
def test_nobody_goes_any_more_for(town, late, name, tell):
    scene = town.scenes[name]
    tell(f"{name}: {late[name]}")
    assert scene.fault.words in late[name] and scene.objective()["state"] == "Unknown"
    scene.assert_nobody_went()


@pytest.fixture(scope="module")
def mended(town, faulty):
    for name in FAULTS:
        town.scenes[name].fault.end(town.scenes[name])


@pytest.mark.parametrize("name", FAULTS)
def test_who_slows_goes_at_the_end_of(town, mended, name):
    town.scenes[name].wait_evicted()
