"""The development cluster itself: what all other suites stand on."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
from cluster import TOOLS, Cluster, NotYet, quantity, read_env, wait_for

ETCD_AND_API = "--without=controller-manager,scheduler,kwok"


@pytest.fixture(scope="module")
def cluster():
    with Cluster.start() as started:
        started.nodes("h100", "mig-mixed", "t4")
        yield started


@pytest.fixture
def namespace(cluster):
    name = f"dev-{uuid.uuid4().hex[:8]}"
    cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).ok()
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_for(lambda: cluster.get(account), f"namespace {name} takes pods")
    yield name
    cluster.api("DELETE", f"/api/v1/namespaces/{name}").ok()


def pod(name, resource="nvidia.com/gpu", amount=1, **metadata):
    container = {"name": "main", "image": "none",
                 "resources": {"limits": {resource: str(amount)}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}


def job(name, **annotations):
    spec = pod(name)["spec"] | {"restartPolicy": "Never"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completions": 2, "parallelism": 2, "backoffLimit": 0, "template": {
                "metadata": {"annotations": annotations}, "spec": spec}}}


def condition(item, kind):
    """The condition of an object as {status, reason, message}, empty if absent."""
    found = [c for c in item["status"].get("conditions", []) if c["type"] == kind]
    return collections.defaultdict(str, found[0] if found else {})


def pods_path(namespace, name=""):
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")


def has_phase(cluster, path, phase):
    seen = cluster.get(path)["status"].get("phase")
    return seen == phase or NotYet(seen)


def processes_of(directory):
    """Pids of all processes whose command line names the folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{directory}/" in words and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


def run_tool(name, directory, *options):
    return subprocess.run([TOOLS / name, directory, *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


# --- pods and nodes

def test_nodes_become_ready_with_the_resources_they_were_made_with(cluster):
    def ready():
        nodes = cluster.get("/api/v1/nodes")["items"]
        states = {n["metadata"]["name"]: condition(n, "Ready")["status"] for n in nodes}
        return set(states.values()) == {"True"} or NotYet(states)
    wait_for(ready, "all nodes are ready")
    offer = cluster.get("/api/v1/nodes/mig-mixed-0")["status"]["allocatable"]
    assert quantity(offer["nvidia.com/mig-1g.10gb"]) == 16
    assert quantity(cluster.get("/api/v1/nodes/h100-0")["status"]["capacity"]["nvidia.com/gpu"]) == 8


def test_making_the_same_nodes_again_changes_nothing(cluster):
    before = cluster.get("/api/v1/nodes/t4-0")["metadata"]
    cluster.nodes("t4")
    after = cluster.get("/api/v1/nodes/t4-0")["metadata"]
    assert (after["uid"], after["labels"]) == (before["uid"], before["labels"])


def test_a_pod_with_gpus_runs_on_a_node_that_has_them(cluster, namespace):
    cluster.api("POST", pods_path(namespace), pod("big", amount=8)).ok()
    wait_for(lambda: has_phase(cluster, pods_path(namespace, "big"), "Running"), "pod runs")
    running = cluster.get(pods_path(namespace, "big"))
    assert running["spec"]["nodeName"] == "h100-0"
    assert running["status"]["containerStatuses"][0]["ready"]


def test_a_pod_that_fits_no_node_stays_pending(cluster, namespace):
    cluster.api("POST", pods_path(namespace), pod("huge", amount=9)).ok()

    def refused():
        seen = condition(cluster.get(pods_path(namespace, "huge")), "PodScheduled")
        return "Insufficient nvidia.com/gpu" in seen["message"] or NotYet(dict(seen))
    wait_for(refused, "the scheduler says why")


def test_a_job_completes(cluster, namespace):
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    cluster.api("POST", path, job("good", **{"dev.gpuqos.io/run-for": "100ms"})).ok()
    wait_for(lambda: condition(cluster.get(f"{path}/good"), "Complete")["status"] == "True",
             "job is complete")


def test_a_job_fails_when_its_pods_are_told_to(cluster, namespace):
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    annotations = {"dev.gpuqos.io/run-for": "100ms", "dev.gpuqos.io/exit-code": "3"}
    cluster.api("POST", path, job("bad", **annotations)).ok()
    wait_for(lambda: condition(cluster.get(f"{path}/bad"), "Failed")["status"] == "True",
             "job has failed")


def test_a_deleted_pod_goes(cluster, namespace):
    path = pods_path(namespace, "brief")
    cluster.api("POST", pods_path(namespace), pod("brief")).ok()
    wait_for(lambda: has_phase(cluster, path, "Running"), "pod runs")
    cluster.api("DELETE", path).ok()
    wait_for(lambda: cluster.api("GET", path).status == 404, "pod is gone")


def test_a_pod_may_take_its_time_to_go(cluster, namespace):
    path = pods_path(namespace, "slow")
    slow = pod("slow", annotations={"dev.gpuqos.io/terminate-for": "1h"})
    cluster.api("POST", pods_path(namespace), slow).ok()
    wait_for(lambda: has_phase(cluster, path, "Running"), "pod runs")
    cluster.api("DELETE", path).ok()
    # Another pod, deleted later, is gone first.
    test_a_deleted_pod_goes(cluster, namespace)
    assert cluster.get(path)["metadata"]["deletionTimestamp"]
    cluster.api("DELETE", path + "?gracePeriodSeconds=0").ok()
    wait_for(lambda: cluster.api("GET", path).status == 404, "pod is gone")


# --- the API server

def test_a_quota_admits_exactly_what_it_says_under_concurrent_creates(cluster, namespace):
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    cluster.api("POST", quotas, {"metadata": {"name": "q"}, "spec": {
        "hard": {"requests.nvidia.com/gpu": "20"}}}).ok()
    wait_for(lambda: cluster.get(f"{quotas}/q").get("status", {}).get("hard"), "quota is in force")
    answers = cluster.create_many(pods_path(namespace), [pod(f"p{i}") for i in range(60)])
    assert collections.Counter(a.status for a in answers) == {201: 20, 403: 40}
    assert all("exceeded quota: q" in a.message for a in answers if a.status == 403)


def test_rights_are_checked(cluster, namespace):
    answer = cluster.api("GET", pods_path(namespace), user="mallory", groups=["system:authenticated"])
    assert (answer.status, answer.reason) == (403, "Forbidden")


def test_the_audit_log_tells_who_did_what(cluster, namespace):
    cluster.api("POST", pods_path(namespace), pod("seen"),
                user="alice", groups=["system:masters"]).ok()
    events = [e for e in cluster.audit(verb="create", resource="pods")
              if e["objectRef"].get("namespace") == namespace]
    assert [e["stage"] for e in events] == ["ResponseComplete"]
    assert events[0]["impersonatedUser"]["username"] == "alice"
    assert events[0]["responseStatus"]["code"] == 201 and events[0]["stageTimestamp"]


# --- up and down

@pytest.mark.skipif("GPUQOS_CLUSTER_DIR" in os.environ, reason="the given cluster has its options")
def test_up_leaves_a_running_cluster_alone(cluster):
    pids = sorted(processes_of(cluster.directory))
    assert run_tool("up", cluster.directory).returncode == 0
    other = run_tool("up", cluster.directory, "--without=kwok")
    assert other.returncode == 1 and "other options" in other.stdout
    assert sorted(processes_of(cluster.directory)) == pids


def test_two_clusters_start_at_once_and_stand_apart(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    starts = [subprocess.Popen([TOOLS / "up", d, ETCD_AND_API]) for d in (first, second)]
    try:
        assert [start.wait() for start in starts] == [0, 0]
        one, two = Cluster(first, keep=True), Cluster(second, keep=True)
        assert one.client.port != two.client.port
        one.api("POST", "/api/v1/namespaces", {"metadata": {"name": "only-here"}}).ok()
        assert two.api("GET", "/api/v1/namespaces/only-here").status == 404
        assert run_tool("down", first).returncode == 0
        assert not processes_of(first)
        assert two.get("/api/v1/namespaces/default")
    finally:
        for directory in (first, second, second):
            assert run_tool("down", directory).returncode == 0
    assert not processes_of(tmp_path)
    assert sorted(p.name for p in second.iterdir() if p.name != ".lock") == ["audit.log", "logs"]


def test_up_works_after_it_was_killed_half_way(tmp_path):
    for sign in ("pki/sa.pub", "pids/etcd", "pids/kube-apiserver"):
        start = subprocess.Popen([TOOLS / "up", tmp_path, ETCD_AND_API], stderr=subprocess.DEVNULL)
        wait_for((tmp_path / sign).exists, f"up has made {sign}")
        start.send_signal(signal.SIGKILL)
        start.wait()
        assert not (tmp_path / "env").exists()
    try:
        assert run_tool("up", tmp_path, ETCD_AND_API).returncode == 0
        names = [pathlib.Path(f"/proc/{p}/comm").read_text().strip() for p in processes_of(tmp_path)]
        assert sorted(names) == ["etcd", "kube-apiserver"]
        assert Cluster(tmp_path, keep=True).get("/api/v1/namespaces/default")
    finally:
        assert run_tool("down", tmp_path).returncode == 0
    assert not processes_of(tmp_path)


def test_up_that_fails_says_why_and_leaves_nothing(tmp_path):
    failed = run_tool("up", tmp_path, ETCD_AND_API, "--apiserver-arg=--no-such-flag")
    assert failed.returncode == 1
    assert "kube-apiserver: ended at once" in failed.stdout and "no-such-flag" in failed.stdout
    assert not processes_of(tmp_path) and not (tmp_path / "env").exists()


def test_down_spares_a_process_that_was_given_the_pid_since(tmp_path):
    (tmp_path / "pids").mkdir()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (tmp_path / "pids" / "etcd").write_text(f"{stranger.pid} 1\n")
        assert run_tool("down", tmp_path).returncode == 0
        assert stranger.poll() is None
        stranger.kill()
    assert not (tmp_path / "pids").exists()


def test_env_names_files_in_the_folder(cluster):
    env = read_env(cluster.directory / "env")
    assert set(env) == {"KUBECONFIG", "KUBECTL"}
    assert os.access(env["KUBECTL"], os.X_OK) and pathlib.Path(env["KUBECONFIG"]).exists()


# --- what the node kinds look like; no cluster is needed

LABELS = [
    ("h100", {"gpu.product": "NVIDIA-H100-80GB-HBM3", "gpu.count": "8", "gpu.replicas": "1",
              "gpu.memory": "81559", "gpu.sharing-strategy": "none", "gpu.family": "hopper"},
     {"nvidia.com/gpu": "8"}),
    ("timesliced", {"gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED", "gpu.replicas": "10",
                    "gpu.memory": "81559", "gpu.sharing-strategy": "time-slicing"},
     {"nvidia.com/gpu": "80"}),
    ("timesliced-renamed", {"gpu.product": "NVIDIA-H100-80GB-HBM3", "gpu.replicas": "10"},
     {"nvidia.com/gpu.shared": "80"}),
    ("mps", {"gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED", "gpu.replicas": "4",
             "gpu.sharing-strategy": "mps", "mps.capable": "true", "gpu.memory": "81559"},
     {"nvidia.com/gpu": "32"}),
    ("mig-single", {"gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "gpu.count": "56",
                    "gpu.replicas": "1", "gpu.memory": "4864", "mig.strategy": "single"},
     {"nvidia.com/gpu": "56"}),
    ("mig-mixed", {"gpu.product": "NVIDIA-H100-80GB-HBM3", "gpu.count": "8", "gpu.replicas": "0",
                   "gpu.memory": "81559", "mig.strategy": "mixed", "mig-1g.10gb.memory": "9984",
                   "mig-1g.10gb.count": "16", "mig-1g.10gb.replicas": "1",
                   "mig-3g.40gb.product": "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"},
     {"nvidia.com/mig-1g.10gb": "16", "nvidia.com/mig-2g.20gb": "8", "nvidia.com/mig-3g.40gb": "8"}),
    ("t4", {"gpu.product": "Tesla-T4", "mig.capable": "false", "gpu.family": "turing"},
     {"nvidia.com/gpu": "4"}),
    ("mi300x", {}, {"amd.com/gpu": "8"}),
]


@pytest.mark.parametrize("kind, labels, resources", LABELS, ids=[row[0] for row in LABELS])
def test_a_node_is_labelled_as_its_kind_would_be(kind, labels, resources):
    out = subprocess.run([TOOLS / "nodes", "--dry-run", kind], stdout=subprocess.PIPE, check=True)
    node, = json.loads(out.stdout)["items"]
    shown = {key.removeprefix("nvidia.com/"): value for key, value in node["metadata"]["labels"].items()}
    assert labels.items() <= shown.items()
    offer = {k: v for k, v in node["status"]["allocatable"].items() if "/" in k}
    assert offer == resources and node["status"]["capacity"] == node["status"]["allocatable"]
