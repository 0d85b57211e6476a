"""A tenant that is turned down for what its pods are seen to use, and let go when that ends. The test is the node's agent: it writes a GpuNode
where figures changed, and says by its Lease when it looked again and they had not.
"""

import datetime
import json
import threading

import pytest

from cluster import MERGE, NotYet, wait_for
from controller import SYSTEM
from gpus import condition, pod
from tenants import Tenant

NODE = "timesliced-renamed-0"
SHARED = "nvidia.com/gpu.shared"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
GPU_NODE = f"/apis/gpuqos.io/v1alpha1/gpunodes/{NODE}"
PACE = {"graceSeconds": 5, "alertSeconds": 1, "stepSeconds": 3, "recoverSeconds": 2}
CONFIG = json.dumps({"apiVersion": "config.gpuqos.io/v1alpha1", "kind": "ControllerConfig", "feedback": PACE})
TOO_MUCH, FINE = {"memory": "16Gi", "smPercent": 90}, {"memory": "7Gi", "smPercent": 10}


@pytest.fixture(scope="module")
def hurried(world, tmp_path_factory):
    """The controller's ladder takes seconds, not minutes."""
    path = tmp_path_factory.mktemp("samples") / "controller.yaml"
    path.write_text(CONFIG)
    flags = world.controller.flags
    world.controller.kill()
    world.controller.flags = (*flags, f"--config={path}")
    world.controller.start()
    yield world
    world.controller.kill()
    world.controller.flags = flags
    world.controller.start()


class Agent:
    """Looks at the cards, and renews its Lease, each half second while it is open."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def tell(self, users):
        """{uid: figures}, all on one card."""
        listed = [{"card": "0000:10:00.0", "podUID": uid, "processes": 1, "shared": True, **figures} for uid, figures in users.items()]
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps({
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": NODE},
            "status": {"gpus": 8, "podCount": 0, "pods": [], "users": listed}}))

    def version(self):
        return self.cluster.get(GPU_NODE)["metadata"]["resourceVersion"]

    def _lease(self):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"metadata": {"name": f"gpuqos-agent-{NODE}", "labels": {"app.kubernetes.io/name": "gpuqos-agent"},
                             "annotations": {"gpuqos.io/usage-seen": now}},
                "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": now}}

    def _run(self):
        while not self.stop.wait(0.5):
            self.cluster.api("PATCH", f"{LEASES}/gpuqos-agent-{NODE}", self._lease(), MERGE)

    def __enter__(self):
        self.cluster.api("POST", LEASES, self._lease()).ok()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.cluster.api("DELETE", f"{LEASES}/gpuqos-agent-{NODE}")
        self.cluster.api("DELETE", GPU_NODE)


@pytest.fixture
def tenant(hurried, make_namespace, nodes):
    nodes("timesliced-renamed=1")
    made = Tenant.make(hurried.cluster, make_namespace("team"), isolation={"gpuUtilizationPercent": 60},
                       feedback={"mode": "Throttle", "decrease": 30, "floorPercent": 50, "recoverPerMinute": 50})
    space, = made.namespaces
    space.put_quota("80Gi")
    yield made
    made.remove()


def run_pods(space, *names):
    """{name: uid}"""
    for name in names:
        wait_for(lambda n=name: space.create(pod(n, SHARED)).ok(), f"{name} is admitted")

    def running():
        pods = space.list_pods()
        return all(p["status"].get("phase") == "Running" for p in pods) and pods or NotYet(pods)
    return {p["metadata"]["name"]: p["metadata"]["uid"] for p in wait_for(running, f"{names} run")}


def wait_left(tenant, step, percent):
    def reached():
        got = tenant.object().get("status", {}).get("throttle", {})
        return (got.get("step"), got.get("percent")) == (step, percent) and got or NotYet(got)
    return wait_for(reached, f"{step} at {percent} %", timeout=90)


def wait_effective(space, memory):
    def reached():
        got = space.quota("team")["status"].get("effective")
        return got == memory or NotYet(got)
    wait_for(reached, f"{space.name} may have {memory}")


def test_use_that_stays_too_high_is_throttled_and_let_go_when_it_is_normal(hurried, tenant):
    space, = tenant.namespaces
    uids = run_pods(space, "a", "b")
    with Agent(hurried.cluster) as agent:
        tenant.wait_condition("Abnormal", "Unknown", "SignalsUnknown")
        agent.tell({uids["a"]: TOO_MUCH, uids["b"]: FINE})
        # The figures are the same for all of the time: nothing is written, and it counts all the same.
        version = agent.version()
        throttle = wait_left(tenant, "NoNewGrants", 50)
        assert agent.version() == version
        assert throttle["signals"] == ["MemoryOvershoot", "GPUUtilization"]
        assert f"Pod {space.name}/a is proven to be the one." in condition(tenant.object(), "Abnormal")["message"]
        wait_effective(space, "40Gi")
        assert {p["metadata"]["name"] for p in space.list_pods()} == {"a", "b"}
        agent.tell({uids["a"]: FINE, uids["b"]: FINE})
        wait_left(tenant, "None", 100)
        wait_effective(space, "80Gi")
