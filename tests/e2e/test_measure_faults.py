"""What nodes' agents do not tell for certain is no proof either: nobody goes for it, and nobody is turned down.

The world of test_signal_faults.py, whose objective is known to be violated. Each training tenant has a second pod, far from
the one that suffers, that uses more of its card and of PCIe than its tenant may, both as the agent measures it. Without a
fault the one goes, and the tenant is turned down.
"""

import concurrent.futures
import threading
import types
import uuid

import pytest
from between import Between
from cluster import NotYet, wait_for
from conftest import offer_exactly
from controller import SYSTEM, Controller
from gpus import Namespace, condition
from prometheus import Exporter, Prometheus
from slow_scene import CONFIG, SLOW, Deaf, Fault, Scene, gauge, query
from tenants import Tenant

SECONDS = 4  # between two looks of an agent
PACE = "feedback: {graceSeconds: 20, alertSeconds: 1}\n"
QUIET = {"smPercent": 3, "shared": True}
BUSY = {"smPercent": 90, "shared": True, "pcieBytesPerSecond": "8G"}


def figures(near=BUSY, far=BUSY):
    """What the agent tells: of the pod that slows, and of the other."""
    return lambda scene: [scene.user(**near), scene.user(**far, card=scene.pci(7), podUID=scene.uid("far"))]


def of_the_card(scene):
    told = {"pcieBytesPerSecond": "8G", "pcieEstimated": True, "shared": True}
    return figures(told, told)(scene)


def of_pods_that_are_gone(scene):
    return [user | {"podUID": str(uuid.uuid4())} for user in figures()(scene)]


# {name: (figures, words of Abnormal, words of Unprotected)}
FAULTS = {
    "nothing is measured": (lambda scene: [], "Nothing tells how its pods use GPUs", "1 share with it, and nothing tells what they do"),
    "the whole card's figures": (of_the_card, "Not known: ", "1 share with it, and nothing tells what they do"),
    "figures of pods that are gone": (of_pods_that_are_gone, "Nothing tells how its pods use GPUs", "1 share with it, and nothing tells what they do"),
    "an agent that is dead": (figures(), "Nothing tells how its pods use GPUs", "nothing tells which cards it has"),
    "one signal alone": (figures(QUIET, {"smPercent": 90, "shared": True}), "Nothing that is seen of its use is abnormal", "1 share with it, and do little"),
    "figures that do not change": (figures(QUIET, BUSY), "Nothing tells how its pods use GPUs", "1 share with it, and do little"),
}


class Measured(Scene):
    def __init__(self, town, node, name):
        self.name = name
        self.says = FAULTS[name][0] if name in FAULTS else figures()
        mine = Namespace.make(town.cluster)
        self.trainers = Tenant.make(
            town.cluster, mine, tier="Training", preemptible={"minRunSeconds": 0}, feedback={"mode": "Throttle"},
            isolation={"gpuUtilizationPercent": 60, "pcieBytesPerSecond": "1G"})
        mine.put_quota("1Ti", enforced=False)
        super().__init__(town, node, Fault("None", "", lambda scene: gauge(scene, SLOW)), mine)
        self.pods["far"] = self.put(mine, "far")

    def uid(self, name):
        return self.pods[name]["metadata"]["uid"]

    def look(self, turn):
        """As the agent does again and again: no two looks find the very same."""
        if turn and self.name == "figures that do not change":
            return
        self.figures([user | {"memory": f"{1024 + turn % 2 * 64}Mi"} for user in self.says(self)])

    def held(self):
        return super().held() + [(self.mine, "far", 7)]

    @property
    def layout(self):
        """As our agent's, which is believed for as long as it lives."""
        return super().layout | {"writer": "gpuqos-agent/test"}

    def end_agent(self):
        self.cluster.api("PATCH", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/gpuqos-agent-{self.node}",
                         {"spec": {"leaseDurationSeconds": 1}}).ok()
        wait_for(lambda: self.controller.metric("gpuqos_node_layout_unknown", node=self.node, reason="AgentGone") == 1,
                 f"the agent of {self.node} is known to be gone")

    def throttle(self):
        return self.trainers.object().get("status", {}).get("throttle", {})

    def told(self, kind, tenant, *words):
        def says():
            message = condition(tenant.object(), kind)["message"]
            return (all(word in message for word in words) and message) or NotYet(message)
        return wait_for(says, f"{self.name}: {kind}: {words}", 60)

    def remove(self):
        super().remove()
        self.trainers.remove()
        self.mine.remove()


@pytest.fixture(scope="module")
def town(world, tmp_path_factory):
    """All scenes, looked at by agents, for as long as it takes to turn somebody down."""
    if world.controller.alive:
        world.controller.stop()
    folder = tmp_path_factory.mktemp("measures")
    names = [*FAULTS, "none"]
    nodes = sorted(offer_exactly(world.cluster, (f"h100={len(names)}",)))
    deaf, stop = Deaf(), threading.Event()
    with Exporter() as exporter, Prometheus(folder / "prometheus", exporter.port) as prometheus, Between(prometheus.url) as between:
        (folder / "config.yaml").write_text(CONFIG.format(url=between.url, deaf=deaf.port) + PACE)
        controller = Controller(world.cluster, folder, "-v", "2", "--config", folder / "config.yaml").start()
        made = types.SimpleNamespace(cluster=world.cluster, exporter=exporter, between=between, controller=controller,
                                     deaf=deaf, training=None)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            scenes = list(pool.map(lambda of: Measured(made, *of), zip(nodes, names)))
            list(pool.map(Measured.publish, scenes))
        made.scenes = dict(zip(names, scenes))

        def look():
            turn = 0
            while not stop.is_set():
                for scene in scenes:
                    scene.look(turn)
                turn += 1
                stop.wait(SECONDS)
        made.scenes["an agent that is dead"].end_agent()
        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        for scene in scenes:
            gauge(scene, SLOW)
            scene.watch(query(scene))
        yield made
        stop.set()
        thread.join()
        for scene in scenes:
            scene.remove()
        assert controller.stop(30)[0] == 0, controller.log()[-4000:]
    deaf.close()


@pytest.fixture(scope="module")
def proven(town):
    """The receipt and the throttle of the scene without a fault."""
    scene = town.scenes["none"]
    receipt = scene.wait_evicted()

    def throttled():
        return (scene.throttle().get("step") == "NoNewGrants" and scene.throttle()) or NotYet(scene.throttle())
    return receipt, wait_for(throttled, "the tenant is turned down", 120)


def test_who_slows_goes_and_who_uses_more_than_it_may_is_turned_down(town, proven, tell):
    receipt, throttle = proven
    scene = town.scenes["none"]
    assert throttle["percent"] < 100 and set(throttle["signals"]) == {"GPUUtilization", "PCIeBandwidth"}
    assert town.controller.metric("gpuqos_tenant_throttle_percent", tenant=scene.trainers.name) == throttle["percent"]
    tell(receipt["proof"])
    tell(scene.told("Abnormal", scene.trainers, "proven to be at fault"))


@pytest.mark.parametrize("name", FAULTS)
def test_nobody_goes_or_is_turned_down_for(town, proven, name, tell):
    scene, (_, abnormal, unprotected) = town.scenes[name], FAULTS[name]
    assert scene.wait_objective("Violated")
    tell(f"{name}: {scene.told('Abnormal', scene.trainers, abnormal)}")
    tell(f"{name}: {scene.told('Unprotected', scene.tenant, '0 of 4 candidates to blame', unprotected)}")
    scene.assert_nobody_went()
    assert scene.throttle() == {"step": "None", "percent": 100}
    assert town.controller.metric("gpuqos_tenant_throttle_percent", tenant=scene.trainers.name) == 100


def test_an_alertmanager_that_never_answers_changes_nothing(town, proven):
    """All of the above came about while it was posted to in vain."""
    assert town.deaf.taken and town.controller.alive
