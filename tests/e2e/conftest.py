"""One cluster with gpuqos installed, and one controller, for all suites of a run."""

import functools
import json
import pathlib
import subprocess
import sys
import types

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
import scheduler
import together
from cluster import TOOLS, Cluster, NotYet, wait_for
from controller import Controller, install
from gpus import Namespace
from kubelets import Kubelets
from prometheus import Exporter, Prometheus
from quiet import Quiet
from sources import CONFIG

PLACED = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: 1, timeoutSeconds: 2, deviceSeries: [DCGM, HAMi, AMD], deviceSeriesJobs: [test]}}
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "last: comes after all others")
    config.pluginmanager.register(together)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A cluster with gpuqos installed and a controller that is ready."""
    with Cluster.start() as cluster:
        install(cluster)
        controller = Controller(cluster, tmp_path_factory.mktemp("controller"), "-v", "2").start()
        yield types.SimpleNamespace(cluster=cluster, controller=controller)
        # Under a sanitizer this is where it tells of leaks.
        assert not controller.alive or controller.stop(30)[0] == 0, controller.log()[-4000:]


@pytest.fixture(scope="session")
def policies():
    """A cluster with gpuqos installed and no controller: tests publish the statuses that
    the policies read. GPUQOS_POLICIES_DIR names a cluster to use instead, as it is."""
    with Cluster.start("--without", "kwok,scheduler", "--apiserver-arg", "--allow-privileged=true",
                       variable="GPUQOS_POLICIES_DIR") as cluster:
        if not cluster.keep:
            install(cluster)
        yield cluster


@pytest.fixture(scope="session")
def placed(tmp_path_factory):
    """A cluster whose GPU pods go through our scheduler and extender, and whose controller asks a Prometheus."""
    with Cluster.start("--with", "kubelet-devices") as cluster, Exporter() as exporter:
        install(cluster)
        folder = tmp_path_factory.mktemp("placed")
        with Prometheus(folder / "prometheus", exporter.port) as prometheus:
            (folder / "config.yaml").write_text(PLACED.format(url=prometheus.url))
            with scheduler.placing(cluster, folder, "--config", folder / "config.yaml") as parts:
                yield types.SimpleNamespace(cluster=cluster, exporter=exporter, prometheus=prometheus, kubelets=Kubelets(cluster),
                                            **vars(parts))


@pytest.fixture(scope="session", autouse=True)
def quiet_player(request, tmp_path_factory):
    """Begins with the run, if a test of this run looks at what came of it."""
    if not any("quiet" in item.fixturenames for item in request.session.items):
        yield None
        return
    player = Quiet(tmp_path_factory.mktemp("quiet"))
    yield player
    player.thread.join()


@pytest.fixture
def tell(capsys):
    """Prints a figure that is to be seen also when all is well."""
    def say(text):
        with capsys.disabled():
            print(f"\n    {text}")
    return say


@pytest.fixture
def quiet(quiet_player):
    return quiet_player.scene


@pytest.fixture
def running(world):
    """The controller, started again if an earlier test has left it dead."""
    if not world.controller.alive:
        world.controller.start()
    return world.controller


@pytest.fixture(scope="module")
def told(world, tmp_path_factory):
    """A controller that has been told of what no node tells, in place of the usual one."""
    if world.controller.alive:
        world.controller.stop()
    folder = tmp_path_factory.mktemp("told")
    (folder / "config.yaml").write_text(CONFIG)
    mine = Controller(world.cluster, folder, "-v", "2", "--config", folder / "config.yaml").start()
    yield mine
    assert mine.stop(30)[0] == 0, mine.log()[-4000:]


@functools.cache
def described(wishes):
    """{name: node} as hack/cluster/nodes would make them."""
    out = subprocess.run([TOOLS / "nodes", "--dry-run", *wishes], stdout=subprocess.PIPE, check=True).stdout
    return {node["metadata"]["name"]: node for node in json.loads(out)["items"]}


def is_as_made(node, made):
    labels, want = node["metadata"].get("labels", {}), made["metadata"]["labels"]
    shown = {k: v for k, v in labels.items() if k in want or "gpu" in k or "nvidia" in k}
    return shown == want and node["status"]["capacity"] == made["status"]["capacity"]


def offer_exactly(cluster, wishes):
    """Deletes the nodes that are not wanted or were changed, and makes what is missing."""
    want = described(wishes)
    have = {node["metadata"]["name"]: node for node in cluster.get("/api/v1/nodes")["items"]}
    good = {name for name in have if name in want and is_as_made(have[name], want[name])}
    for name in have.keys() - good:
        cluster.api("DELETE", f"/api/v1/nodes/{name}").ok()
    if good != want.keys():
        cluster.nodes(*wishes)
    return want


@pytest.fixture
def nodes(world, running):
    """nodes("h100=2", "t4"): the cluster has these nodes and no others, as made."""
    def offer(*wishes):
        names = offer_exactly(world.cluster, wishes)

        def seen():
            known = running.metric("gpuqos_cache_objects", resource="nodes")
            return known == len(names) or NotYet(known)
        wait_for(seen, "the controller knows the nodes")
    return offer


@pytest.fixture
def make_namespace(world):
    """A function that makes namespaces of this test's own."""
    made = []

    def make(prefix="t"):
        made.append(Namespace.make(world.cluster, prefix))
        return made[-1]
    yield make
    for namespace in made:
        namespace.remove()


@pytest.fixture
def namespace(make_namespace):
    return make_namespace()
