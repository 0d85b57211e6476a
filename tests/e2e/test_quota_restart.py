"""Stopping, dying and starting again: nothing is lost, made twice, or written without need."""

import json
import subprocess

import pytest

from cluster import NotYet, wait_for
from controller import SYSTEM, USER, Controller, binary
from gpus import GPU, H100, pod

WRITES = ("create", "update", "patch", "delete")
# Short, so that a successor of a killed one need not wait long.
LEASE = ("--leader-elect", f"--leader-elect-namespace={SYSTEM}", "--leader-elect-lease-duration=3s",
         "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/gpuqos-controller"


@pytest.fixture
def alone(world, tmp_path):
    """A replica with leader election, while the world's own controller is not running."""
    world.controller.kill()
    replica = Controller(world.cluster, tmp_path, *LEASE)
    yield replica
    replica.kill()


@pytest.fixture
def offered(nodes):
    nodes("h100=2", "mig-mixed")


def leads(replica):
    return ("gpuqos_leader", 1) in {(name, value) for (name, _), value in replica.metrics().items()}


def wait_leading(replica):
    wait_for(lambda: leads(replica), "the replica leads")


def writes(cluster, since):
    """What the controller wrote but Leases; what namespaces on their way out get is not counted."""
    found = []
    for event in cluster.audit(user=USER, since=since):
        what = event.get("objectRef", {})
        if event["verb"] in WRITES and what["resource"] != "leases":
            found.append((event["verb"], what["resource"], what.get("namespace"), what.get("name"), what.get("subresource")))
    return found


def settle(cluster):
    """Waits until namespaces of earlier tests are gone."""
    def gone():
        left = [n["metadata"]["name"] for n in cluster.get("/api/v1/namespaces")["items"]
                if n["status"]["phase"] == "Terminating"]
        return not left or NotYet(left)
    wait_for(gone, "no namespace is on its way out", 60)


def owned_objects(cluster):
    """{(kind, namespace, name): (uid, resourceVersion)} of all that is ours."""
    found = {}
    for kind, path in (("ResourceQuota", "/api/v1/resourcequotas"), ("LimitRange", "/api/v1/limitranges"),
                       ("GpuMemoryQuota", "/apis/gpuqos.io/v1alpha1/gpumemoryquotas"),
                       ("Namespace", "/api/v1/namespaces")):
        for item in cluster.get(path)["items"]:
            meta = item["metadata"]
            found[kind, meta.get("namespace"), meta["name"]] = meta["uid"], meta["resourceVersion"]
    return found


def test_sigterm_ends_it_soon_and_releases_the_lease(world, offered, alone, namespace):
    alone.start()
    wait_leading(alone)
    namespace.put_quota("320Gi")
    held = world.cluster.get(LEASE_PATH)["spec"]
    assert held["holderIdentity"] and held["leaseDurationSeconds"] == 3
    status, seconds = alone.stop()
    assert (status, seconds < 5) == (0, True), seconds
    released = world.cluster.get(LEASE_PATH)["spec"]
    assert released.get("holderIdentity", "") == "" and released["leaseTransitions"] == held["leaseTransitions"]
    # The next one leads at once: it need not wait until the Lease runs out.
    alone.start()
    wait_leading(alone)
    assert world.cluster.get(LEASE_PATH)["spec"]["leaseTransitions"] == held["leaseTransitions"] + 1


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_starting_again_writes_nothing_when_nothing_differs(world, offered, alone, make_namespace, end):
    alone.start()
    wait_leading(alone)
    made = [make_namespace() for _ in range(3)]
    for index, namespace in enumerate(made):
        namespace.put_quota(f"{320 + index}Gi", containerDefaults={GPU: 1})
        namespace.create(pod("a", GPU, 1, H100)).ok()
    for namespace in made:
        wait_for(lambda n=namespace: n.quota()["status"]["live"] != "0", "the pod is live")
        wait_for(namespace.limit_range, "LimitRange gpuqos exists")
    settle(world.cluster)
    alone.stop() if end == "SIGTERM" else alone.kill()
    before, mark = owned_objects(world.cluster), world.cluster.audit_mark()
    alone.start()
    wait_leading(alone)
    wait_for(lambda: alone.metric("gpuqos_ledger_recounts_total") >= 1, "the ledger is counted")
    # It acts on a change that comes afterwards, so it has been through all there was before.
    made[0].create(pod("b", GPU, 1, H100)).ok()
    wait_for(lambda: made[0].quota()["status"]["pods"] == 2, "the new pod is counted")
    after = owned_objects(world.cluster)
    concerned = {("GpuMemoryQuota", made[0].name, "team"), ("ResourceQuota", made[0].name, "gpuqos")}
    assert {k for k in before if before[k] != after.get(k)} <= concerned
    assert after.keys() == before.keys()
    assert {w[2:] for w in writes(world.cluster, mark)} == {(made[0].name, "team", "status")}


def test_what_changed_while_it_was_dead_is_put_right(world, running, offered, make_namespace):
    changed, deleted, fresh = (make_namespace() for _ in range(3))
    for namespace in (changed, deleted):
        namespace.put_quota("320Gi")
    running.kill()
    changed.patch_quota(gpuMemory="640Gi")
    changed.create(pod("a", GPU, 1, H100)).ok()
    deleted.delete_quota()
    fresh.put_quota("160Gi", enforced=False)
    running.start()
    seen = changed.wait_enforced()
    assert seen["status"]["effective"] == "640Gi"
    wait_for(lambda: changed.quota()["status"]["pods"] == 1, "the pod is counted")
    fresh.wait_enforced()
    wait_for(lambda: deleted.managed() is None and deleted.resource_quota() is None, "the third is free")


def test_the_version_and_wrong_flags():
    run = subprocess.run([binary(), "--version"], stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout.startswith("gpuqos-controller ")
    for flags in (["--no-such-flag"], ["extra"], ["-v", "loud"], ["-v", "3"], ["--leader-elect-lease-duration=soon"]):
        run = subprocess.run([binary(), *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        assert run.returncode == 2 and run.stderr.startswith("gpuqos-controller: "), (flags, run)


def test_a_config_file_is_read_and_what_it_does_not_know_is_refused(world, tmp_path, offered, namespace):
    world.controller.kill()
    path = tmp_path / "config.yaml"
    config = {"apiVersion": "config.gpuqos.io/v1alpha1", "kind": "ControllerConfig",
              "leaderElection": {"resourceName": "other-lease"}}
    path.write_text(json.dumps(config | {"usageStatusInterval": 5}))
    run = subprocess.run([binary(), "--config", path], stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 2 and "usageStatusInterval" in run.stderr and str(path) in run.stderr
    path.write_text("apiVersion: config.gpuqos.io/v1alpha1\nkind: ControllerConfig\nusageStatusIntervalSeconds: 2\n")
    replica = Controller(world.cluster, tmp_path / "replica", "--config", str(path)).start()
    namespace.put_quota("320Gi")
    assert replica.stop()[0] == 0


def test_the_log_is_json_when_asked_for(world, tmp_path):
    world.controller.kill()
    replica = Controller(world.cluster, tmp_path / "replica", "--log-format=json").start()
    assert replica.stop()[0] == 0
    lines = [json.loads(line) for line in replica.log().splitlines()]
    assert len(lines) > 1 and all(line.keys() >= {"level"} for line in lines), lines


def test_several_bad_ways_to_reach_the_cluster_say_why(world, tmp_path):
    cases = {"missing": None, "no YAML: [": "\tno: [yaml", "empty": "",
             "no server": json.dumps({"clusters": [], "contexts": [], "users": []})}
    for name, text in cases.items():
        path = tmp_path / f"kubeconfig-{name.split()[0].rstrip(':')}"
        if text is not None:
            path.write_text(text)
        run = subprocess.run([binary(), "--kubeconfig", path, "--metrics-bind-address=0", "--health-probe-bind-address=0"],
                             stderr=subprocess.PIPE, text=True, check=False, timeout=20)
        assert run.returncode == 1 and str(path) in run.stderr, (name, run)
