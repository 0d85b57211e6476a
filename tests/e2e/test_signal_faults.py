"""What is no proof evicts nobody and turns nobody down: each fault of a signal as a case of its own.

Every case has a node with an inference pod that is slow, as its users see, and a training pod below the same PCIe switch
that is measured to be busy there: one that goes, as soon as anybody knows of it. Between the controller and a real Prometheus
is a server that passes questions on, or lies where a real one cannot be made to. While a fault lasts, nobody is evicted;
where it ends, the eviction follows, so that each case shows that its fault was all that was in the way. Faults of what
nodes' agents measure have a training tenant each that would be turned down, as one without a fault is.
"""

import concurrent.futures
import signal
import types

import between as lies
import pytest
from between import Between
from cluster import NotYet, wait_for
from conftest import offer_exactly
from controller import Controller
from gpus import Namespace
from prometheus import Exporter, Prometheus
from slow_scene import CONFIG, GAUGE, SLOW, VLLM, Deaf, Fault, Scene, gauge, preset, query, serve
from tenants import Tenant

ROUNDS = 8  # of one second; `for` is five


# --- what may be wrong

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


@pytest.mark.parametrize("name, reason, words", [("slow", "Timeout", "does not answer in time"), ("down", "SourceDown", "does not answer")])
def test_a_prometheus_that_is(down, name, reason, words, tell):
    tell(f"{name}: {down[name]}")
    assert f"nothing is done for them: latency ({reason}). {reason}: Prometheus {words}." in down[name]


def begin_late(town, name):
    """It was known to be violated when the fault began, and then it is told who is busy. What was told"""
    scene = town.scenes[name]
    scene.wait_objective("Violated")
    scene.fault.begin(scene)
    told = scene.wait_unknown()
    scene.figures()
    rounds(town, scene, town.between.asked(scene.web.name))
    return told


@pytest.fixture(scope="module")
def played(town, down):
    """All faults have lasted for longer than a violation takes. {name: what was told}"""
    scenes = {name: town.scenes[name] for name in FAULTS}
    for scene in scenes.values():
        scene.fault.begin(scene)
    for scene in (town.scenes[name] for name in LATE):
        serve(scene, SLOW)
        scene.figures([scene.user(smPercent=3, shared=True)])
        scene.watch(scene.fault.asks(scene))
    with concurrent.futures.ThreadPoolExecutor(8) as pool, concurrent.futures.ThreadPoolExecutor(len(LATE)) as beside:
        late = beside.map(failed_or(begin_late), [town] * len(LATE), LATE)
        list(pool.map(lambda scene: scene.watch(scene.fault.asks(scene)), scenes.values()))
        told = dict(zip(scenes, pool.map(failed_or(Scene.wait_unknown), scenes.values())))
        list(pool.map(lambda scene: rounds(town, scene), scenes.values()))
        return told | dict(zip(LATE, late))


@pytest.mark.parametrize("name", FAULTS)
def test_nobody_goes_for(town, played, name, tell):
    scene = town.scenes[name]
    tell(f"{name}: {played[name]}")
    assert scene.fault.words in played[name] and "nothing is done for them" in played[name]
    assert scene.objective()["state"] == "Unknown"
    scene.assert_nobody_went()


def test_who_slows_goes_where_there_is_no_fault(town, played, tell):
    receipt = town.scenes["none"].wait_evicted()
    tell(f"none: {receipt['proof']}")


@pytest.mark.parametrize("name", LATE)
def test_nobody_goes_any_more_for(town, played, name, tell):
    scene = town.scenes[name]
    tell(f"{name}: {played[name]}")
    assert scene.fault.words in played[name] and scene.objective()["state"] == "Unknown"
    scene.assert_nobody_went()


@pytest.fixture(scope="module")
def mended(town, played):
    for name in FAULTS:
        town.scenes[name].fault.end(town.scenes[name])


@pytest.mark.parametrize("name", FAULTS)
def test_who_slows_goes_at_the_end_of(town, mended, name):
    town.scenes[name].wait_evicted()
