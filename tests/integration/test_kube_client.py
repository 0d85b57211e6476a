"""The client against a real API server: every verb, what refusals become, credentials.

The program under test is tests/integration/kube_client.c, one request a run.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import threading
import time
import urllib.parse
import uuid

import pytest


TOOLS = pathlib.Path(os.environ["GPUQOS_TOOLS"]) / "integration"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}


@pytest.fixture(scope="module")
def cluster(bare):
    return bare


@pytest.fixture
def namespace(cluster):
    name = f"kube-{uuid.uuid4().hex[:8]}"
    cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).ok()
    cluster.api("POST", f"/api/v1/namespaces/{name}/serviceaccounts",
                {"metadata": {"name": "default"}}).ok()
    return name


def command(verb, kind, **options):
    words = [TOOLS / "kube_client", verb, kind]
    for key, value in options.items():
        words.append("--" + key.replace("_", "-"))
        words.append(json.dumps(value) if isinstance(value, (dict, list)) else str(value))
    return words


class Ran:
    """What one run of the program said."""

    def __init__(self, done):
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.parts, self.end = lines[:-1], lines[-1]
        assert self.end["done"]

    @property
    def objects(self):
        return [part for part in self.parts if part["part"] == "object"]

    def ok(self):
        assert "error" not in self.end, self.end
        return self.end

    def error(self):
        assert "error" in self.end, self.end
        return self.end["error"]


def run(cluster, verb, kind, kubeconfig=None, **options):
    env = cluster.environ | ({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})
    return Ran(subprocess.run(command(verb, kind, **options), env=env, timeout=60, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False))


def lease(name, **spec):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
            "spec": spec}


def pod(name):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "a"}},
            "spec": {"containers": [{"name": "main", "image": "none"}]}}


def lease_path(namespace, name):
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"


def pod_path(namespace, name):
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


# --- reads


def test_get_as_protobuf_and_as_json(cluster):
    as_protobuf = run(cluster, "get", "namespaces", name="default").ok()
    assert as_protobuf["protobuf"] and as_protobuf["kind"] == "Namespace"
    as_json = run(cluster, "get", "namespaces", name="default", json=1).ok()
    assert as_json["body"]["metadata"]["resourceVersion"] == as_protobuf["version"]


@pytest.mark.parametrize("as_json", [0, 1])
def test_list_in_pages(cluster, namespace, as_json):
    for index in range(5):
        cluster.api("POST", lease_path(namespace, ""), lease(f"l{index}")).ok()
    names, token, pages = [], "", 0
    while pages == 0 or token:
        page = run(cluster, "list", "leases", namespace=namespace, limit=2, json=as_json,
                   **({"continue": token} if token else {}))
        page.ok()
        names += [item["name"] for item in page.objects]
        token = next(part for part in page.parts if part["part"] == "meta")["continue"]
        pages += 1
    assert pages == 3
    assert names == [f"l{index}" for index in range(5)]


def test_selectors(cluster, namespace):
    cluster.api("POST", pod_path(namespace, ""), pod("a")).ok()
    by_field = run(cluster, "list", "pods", field_selector=f"metadata.namespace={namespace}")
    assert [item["name"] for item in by_field.objects] == ["a"]
    assert not run(cluster, "list", "pods", namespace=namespace,
                   label_selector="app in (b, c)").objects


@pytest.mark.parametrize("as_json", [0, 1])
def test_watch_tells_what_happens(cluster, namespace, as_json):
    with subprocess.Popen(command("watch", "leases", namespace=namespace, initial_events=1,
                                  parts=4, seconds=30, json=as_json),
                          env=cluster.environ, stdout=subprocess.PIPE, text=True) as watch:
        first = json.loads(watch.stdout.readline())
        assert first["event"] == "BOOKMARK" and first["initial_events_end"]
        cluster.api("POST", lease_path(namespace, ""), lease("w")).ok()
        cluster.api("PATCH", lease_path(namespace, "w"), {"spec": {"holderIdentity": "x"}}).ok()
        cluster.api("DELETE", lease_path(namespace, "w")).ok()
        rest = [json.loads(line) for line in watch.stdout]
    assert [part.get("event") for part in rest] == ["ADDED", "MODIFIED", "DELETED", None]
    assert all(part["name"] == "w" for part in rest[:3])
    assert rest[3]["error"] == "cancelled"


def test_watch_ended_by_the_server_is_no_error(cluster):
    assert run(cluster, "watch", "namespaces", seconds=1).ok()["status"] == 200


def test_watch_from_a_version_too_old(cluster):
    watch = run(cluster, "watch", "gpumemoryquotas", resource_version=1, seconds=5)
    if watch.objects:
        assert watch.objects[0]["event"] == "ERROR"
        assert watch.objects[0]["error"] == "expired"
        assert watch.objects[0]["http_status"] == 410
    else:
        assert watch.error() == "expired"


def test_version_of_the_future_is_expired(cluster):
    got = run(cluster, "get", "namespaces", name="default", resource_version=10**15)
    assert got.error() == "expired"
    assert got.end["http_status"] == 504


def test_streams_share_one_connection(cluster):
    done = subprocess.run(command("watch", "namespaces", streams=5,
                                  field_selector="metadata.name=default"),
                          env=cluster.environ, timeout=60, stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout) == {"streams": 5, "connections": 1}


def test_both_formats_read_the_same(cluster, namespace):
    cluster.nodes("h100=2", "mig-mixed", "t4")
    cluster.api("POST", pod_path(namespace, ""), pod("full") | {"spec": {
        "nodeSelector": {"a": "b"}, "overhead": None,
        "initContainers": [{"name": "i", "image": "none", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "none", "resources": {
            "limits": {"nvidia.com/gpu": "2", "cpu": "1500m", "memory": "1.5Gi"}}}]}}).ok()
    core = f"/api/v1/namespaces/{namespace}"
    cluster.api("POST", f"{core}/resourcequotas", {"metadata": {"name": "q"}, "spec": {
        "hard": {"requests.nvidia.com/gpu": "3", "pods": "1k"}}}).ok()
    cluster.api("POST", f"{core}/limitranges", {"metadata": {"name": "r"}, "spec": {"limits": [{
        "type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"},
        "max": {"memory": "1Gi"}, "min": {"memory": "1Mi"}}]}}).ok()
    cluster.api("POST", lease_path(namespace, ""), lease(
        "l", holderIdentity="h", leaseDurationSeconds=15, leaseTransitions=3,
        acquireTime="2026-01-02T03:04:05.000006Z", renewTime="2026-01-02T03:04:05.123456Z")).ok()
    cluster.api("POST", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", {
        "metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": {
            "matchLabels": {"app": "x"}, "matchExpressions": [{"key": "role", "operator": "In", "values": ["a", "b"]}]}}}).ok()
    cluster.api("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs", {"metadata": {"name": "j"}, "spec": {
        "backoffLimit": 0, "suspend": True, "podFailurePolicy": {"rules": [{
            "action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}}}}).ok()
    for kind in "pods nodes namespaces resourcequotas limitranges leases poddisruptionbudgets jobs".split():
        done = subprocess.run([TOOLS / "kube_compare", kind], env=cluster.environ, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout
        assert not done.stdout.startswith("0 objects")


# --- writes


def test_create_update_delete(cluster, namespace):
    path = lease_path(namespace, "l")
    where = {"namespace": namespace, "name": "l"}
    created = run(cluster, "create", "leases", namespace=namespace, body=lease("l")).ok()
    assert created["status"] == 201 and created["name"] == "l"

    held = lease("l", holderIdentity="me")
    held["metadata"]["resourceVersion"] = created["version"]
    updated = run(cluster, "update", "leases", **where, body=held)
    assert updated.ok()["version"] != created["version"]
    assert cluster.get(path)["spec"]["holderIdentity"] == "me"

    stale = run(cluster, "update", "leases", **where, body=held)
    assert stale.error() == "conflict" and stale.end["http_status"] == 409

    uid = cluster.get(path)["metadata"]["uid"]
    wrong = run(cluster, "delete", "leases", **where, body={"preconditions": {"uid": "x"}})
    assert wrong.error() == "conflict"
    assert cluster.get(path)
    run(cluster, "delete", "leases", **where, body={"preconditions": {"uid": uid}}).ok()
    assert cluster.api("GET", path).status == 404


def test_patches(cluster, namespace):
    where = {"namespace": namespace, "name": "l"}
    path = lease_path(namespace, "l")
    run(cluster, "create", "leases", namespace=namespace, body=lease("l")).ok()
    run(cluster, "merge-patch", "leases", **where, body={"spec": {"holderIdentity": "a"}}).ok()
    assert cluster.get(path)["spec"]["holderIdentity"] == "a"
    run(cluster, "json-patch", "leases", **where, body=[
        {"op": "test", "path": "/spec/holderIdentity", "value": "a"},
        {"op": "replace", "path": "/spec/holderIdentity", "value": "b"}]).ok()
    assert cluster.get(path)["spec"]["holderIdentity"] == "b"
    failed = run(cluster, "json-patch", "leases", **where, body=[
        {"op": "test", "path": "/spec/holderIdentity", "value": "a"}])
    assert failed.error() == "invalid"


def test_apply_owns_its_fields(cluster, namespace):
    where = {"namespace": namespace, "name": "q"}
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/q"

    def quota(**hard):
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
                "spec": {"hard": hard}}

    run(cluster, "apply", "resourcequotas", **where, body=quota(pods="1", secrets="2")).ok()
    cluster.api("PATCH", path, {"spec": {"hard": {"pods": "5"}}}).ok()
    run(cluster, "apply", "resourcequotas", **where, body=quota(pods="3")).ok()
    seen = cluster.get(path)
    assert seen["spec"]["hard"] == {"pods": "3"}
    assert "gpuqos-controller" in [m["manager"] for m in seen["metadata"]["managedFields"]]


def test_status_subresource(cluster, namespace):
    quota = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota",
             "metadata": {"name": "g"}, "spec": {"gpuMemory": "80Gi"}}
    run(cluster, "create", "gpumemoryquotas", namespace=namespace, body=quota).ok()
    run(cluster, "merge-patch", "gpumemoryquotas", namespace=namespace, name="g",
        subresource="status", body={"status": {"pods": 3}}).ok()
    got = run(cluster, "get", "gpumemoryquotas", namespace=namespace, name="g").ok()
    assert not got["protobuf"]
    assert got["body"]["status"]["pods"] == 3 and got["body"]["metadata"]["generation"] == 1


def running_pod(cluster, namespace, name):
    cluster.api("POST", pod_path(namespace, ""), pod(name)).ok()
    cluster.api("PATCH", pod_path(namespace, name) + "/status", {"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}).ok()


def test_eviction(cluster, namespace):
    running_pod(cluster, namespace, "p")
    body = EVICTION | {"metadata": {"name": "p", "namespace": namespace}}
    evict = {"namespace": namespace, "name": "p", "subresource": "eviction"}
    assert run(cluster, "create", "pods", **evict, body=body).ok()["status"] == 201
    assert run(cluster, "create", "pods", **evict, body=body).error() == "not found"


def test_eviction_against_a_budget_is_kept_and_told_apart(cluster, namespace):
    running_pod(cluster, namespace, "p")
    budget = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    cluster.api("POST", budget, {"metadata": {"name": "b"}, "spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}).ok()
    cluster.api("PATCH", f"{budget}/b/status", {"status": {
        "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1,
        "desiredHealthy": 1, "expectedPods": 1}}).ok()
    body = EVICTION | {"metadata": {"name": "p", "namespace": namespace}}
    refused = run(cluster, "create", "pods", namespace=namespace, name="p",
                  subresource="eviction", body=body)
    assert refused.error() == "kept by a disruption budget"
    assert "disruption budget" in refused.end["message"]
    assert cluster.get(pod_path(namespace, "p"))


# --- refusals


def test_refusals_are_typed_and_say_where(cluster, namespace):
    created = run(cluster, "create", "leases", namespace=namespace, body=lease("l"))
    created.ok()
    again = run(cluster, "create", "leases", namespace=namespace, body=lease("l"))
    assert again.error() == "already exists"

    missing = run(cluster, "get", "leases", namespace=namespace, name="nix")
    assert missing.error() == "not found"
    assert missing.end["message"] == (f"GET {lease_path(namespace, 'nix')}: "
                                      'leases.coordination.k8s.io "nix" not found')

    invalid = run(cluster, "create", "leases", namespace=namespace,
                  body=lease("m", leaseDurationSeconds=-1))
    assert invalid.error() == "invalid" and invalid.end["http_status"] == 422
    assert "spec.leaseDurationSeconds" in invalid.end["message"]

    unknown = run(cluster, "create", "leases", namespace=namespace, body=lease("m", nix=1))
    assert unknown.error() == "invalid"
    assert 'unknown field "spec.nix"' in unknown.end["message"]

    absurd = run(cluster, "get", "leases", namespace=namespace, name="a/b")
    assert absurd.error() == "invalid" and absurd.end["http_status"] == 0


# --- credentials


def write_kubeconfig(cluster, path, user, server=None):
    config = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"][0]["user"] = user(config["users"][0]["user"]) if callable(user) else user
    if server:
        config["clusters"][0]["cluster"]["server"] = server
    path.write_text(json.dumps(config))
    return path


def account_token(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    return cluster.api("POST", path, {"spec": {"expirationSeconds": 600}}).ok()["status"]["token"]


def test_token_files_are_read_again(cluster, namespace, tmp_path):
    (tmp_path / "token").write_text("not a real one")
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", {"tokenFile": "token"})
    assert "no token" in run(cluster, "get", "namespaces", kubeconfig, name="x").end["message"]
    (tmp_path / "token").write_text("invented")
    assert run(cluster, "get", "namespaces", kubeconfig, name="x").error() == "unauthorized"
    (tmp_path / "token").write_text(account_token(cluster, namespace) + "\n")
    known = run(cluster, "get", "namespaces", kubeconfig, name="x")
    assert known.error() == "forbidden"
    assert f"system:serviceaccount:{namespace}:default" in known.end["message"]


def test_exec_plugin(cluster, namespace, tmp_path):
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
              "status": {"token": account_token(cluster, namespace)}}
    (tmp_path / "answer").write_text(json.dumps(answer))
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", {"exec": {
        "apiVersion": answer["apiVersion"], "interactiveMode": "Never",
        "command": "cat", "args": [str(tmp_path / "answer")]}})
    known = run(cluster, "get", "namespaces", kubeconfig, name="x")
    assert known.error() == "forbidden"
    assert f"system:serviceaccount:{namespace}:default" in known.end["message"]
    (tmp_path / "answer").unlink()
    failed = run(cluster, "get", "namespaces", kubeconfig, name="x")
    assert failed.error() == "unauthorized"
    assert "exit status 1; it said: cat: " in failed.end["message"]


def test_impersonation(cluster, tmp_path):
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", lambda user: user | {
        "as": "jane", "as-groups": ["g1", "g2"], "as-uid": "7"})
    refused = run(cluster, "get", "namespaces", kubeconfig, name="x")
    assert refused.error() == "forbidden"
    assert 'User "jane"' in refused.end["message"]


def test_nobody_listens(cluster, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{unused.getsockname()[1]}"
        kubeconfig = write_kubeconfig(cluster, tmp_path / "config", {}, server)
        refused = run(cluster, "get", "namespaces", kubeconfig, name="x")
    assert refused.error() == "unavailable"


# --- a connection that dies without a word


class Proxy:
    """Forwards connections until frozen: then they stay open and nothing passes."""

    def __init__(self, target):
        self.target = target
        self.frozen = threading.Event()
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def server(self):
        return f"https://127.0.0.1:{self.listener.getsockname()[1]}"

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                upstream = socket.create_connection(self.target)
                self.sockets += [client, upstream]
                for pair in ((client, upstream), (upstream, client)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self.frozen.is_set():
                    sink.sendall(data)

    def close(self):
        for each in [self.listener, *self.sockets]:
            each.close()


def test_half_open_connection_ends_the_watch(cluster, tmp_path):
    config = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    server = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"])
    with contextlib.closing(Proxy((server.hostname, server.port))) as proxy:
        kubeconfig = write_kubeconfig(cluster, tmp_path / "config", lambda user: user,
                                      proxy.server)
        with subprocess.Popen(command("watch", "namespaces", seconds=600), text=True,
                              env=cluster.environ | {"KUBECONFIG": str(kubeconfig)},
                              stdout=subprocess.PIPE) as watch:
            assert json.loads(watch.stdout.readline())["event"] == "ADDED"
            proxy.frozen.set()
            since = time.monotonic()
            end = json.loads(watch.stdout.read().splitlines()[-1])
            took = time.monotonic() - since
    assert end["error"] == "unavailable"
    assert "did not answer a probe" in end["message"]
    assert took < 45
