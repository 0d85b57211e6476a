"""gpuqos-controller as a child process of a test, and its installation.

    install(cluster)                                  # kubectl apply -k config/default
    controller = Controller(cluster, tmp_path / "c", "--leader-elect")
    controller.start()
    controller.page("/readyz")                        # (200, "...")
    controller.stop()                                 # SIGTERM; the exit status

It reaches the cluster as ServiceAccount gpuqos-system/gpuqos-controller, so that
what its ClusterRole lacks it lacks here too. GPUQOS_BIN names the folder of the
program.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from cluster import ROOT, NotYet, wait_for

SYSTEM = "gpuqos-system"
ACCOUNT = "gpuqos-controller"
# How the audit log and the guard policies know it.
USER = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def binary(name="gpuqos-controller"):
    return pathlib.Path(os.environ.get("GPUQOS_BIN", ROOT / "build" / "bin")) / name


def sanitized_bin():
    """The folder of the programs with sanitizers."""
    return pathlib.Path(os.environ.get("GPUQOS_ASAN_BIN", ROOT / "build" / "asan" / "bin"))


# A tenant's admin: all of the built-in role admin, and more than one should give: quotas, limits and
# namespaces as well, so that it is our policies that refuse and not RBAC.
TENANTS = "tenant-admins"
TENANT_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]
TENANT_RULES = [
    # Even * must not reach the virtual subresource that the guards ask for.
    {"apiGroups": ["gpuqos.io"], "resources": ["gpumemoryquotas"], "verbs": ["*"]},
    {"apiGroups": [""], "verbs": TENANT_VERBS, "resources": [
        "resourcequotas", "resourcequotas/status", "limitranges", "namespaces", "namespaces/status", "namespaces/finalize",
        "pods/status", "pods/ephemeralcontainers"]},
    {"apiGroups": ["resource.k8s.io"], "verbs": TENANT_VERBS, "resources": ["resourceclaims", "resourceclaimtemplates"]},
]


def tenant_access():
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    role = kind | {"kind": "ClusterRole", "metadata": {"name": TENANTS}, "rules": TENANT_RULES}
    bindings = [
        kind | {"kind": "ClusterRoleBinding", "metadata": {"name": f"{TENANTS}-{target}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": target},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": TENANTS}]}
        for target in (TENANTS, "admin")]
    return {"apiVersion": "v1", "kind": "List", "items": [role, *bindings]}


def as_tenant(cluster, verb, path, body=None, content_type=None):
    """One request of a tenant's admin; returns a Response."""
    return cluster.api(verb, path, body, content_type, user="tia", groups=[TENANTS, "system:authenticated"])


def install(cluster):
    """Applies config/default, makes tenant admins, and waits until the policies act,
    which is a moment after they are stored."""
    cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "config" / "default"))
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(tenant_access()))
    cluster.kubectl("wait", "--for=condition=Established", "crd/gpumemoryquotas.gpuqos.io")
    probe = {"metadata": {"name": "gpuqos-probe", "labels": {"gpuqos.io/managed": "true"}}}

    def guarded():
        answer = as_tenant(cluster, "POST", "/api/v1/namespaces?dryRun=All", probe)
        return "set and removed by gpuqos" in answer.message or NotYet(answer)
    wait_for(guarded, "the guard policies act")


def write_kubeconfig(cluster, path, token):
    """A kubeconfig for a bearer token; the tests' own one has certificates."""
    text = cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json")
    config = json.loads(text)
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["context"]["namespace"] = SYSTEM
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def parse_metrics(text):
    """{(name, frozenset of (label, value)): number} of a Prometheus page."""
    found = {}
    for line in text.splitlines():
        match = SAMPLE.fullmatch(line)
        if match:
            labels = frozenset(LABEL.findall(match[2] or ""))
            found[match[1], labels] = float(match[3])
    return found


class Controller:
    """One replica. It may be started again after it has ended; the log goes on."""

    program, account = "gpuqos-controller", ACCOUNT

    def __init__(self, cluster, directory, *flags, token=None, env=None):
        self.cluster = cluster
        self.path = binary(self.program)
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.flags = flags
        self.env = env or {}
        self.process = None
        self.metrics_port = self.health_port = None
        self.log_path = self.directory / "log"
        self.kubeconfig = self.directory / "kubeconfig"
        write_kubeconfig(cluster, self.kubeconfig, token or self.new_token())

    def new_token(self):
        return self.cluster.kubectl("create", "token", self.account, "-n", SYSTEM, "--duration=24h").strip()

    def renew_token(self):
        """For the next start: the account may have been made anew."""
        write_kubeconfig(self.cluster, self.kubeconfig, self.new_token())

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def start(self, ready=True):
        """Starts it, and waits until its caches are complete unless told not to."""
        assert not self.alive
        self.metrics_port, self.health_port = free_port(), free_port()
        command = [self.path, "--kubeconfig", self.kubeconfig,
                   f"--metrics-bind-address=127.0.0.1:{self.metrics_port}",
                   f"--health-probe-bind-address=127.0.0.1:{self.health_port}", *self.flags]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=os.environ | self.env)
        if ready:
            self.wait_ready()
        return self

    def wait_ready(self, timeout=30):
        def is_ready():
            assert self.alive, f"{self.program} has ended with {self.process.returncode}: {self.log()[-2000:]}"
            return self.try_page("/readyz")[0] == 200
        wait_for(is_ready, f"{self.program} is ready", timeout)

    def try_page(self, path):
        try:
            return self.page(path)
        except OSError as error:
            return 0, str(error)

    def page(self, path):
        """(status, text) of a page of its servers."""
        port = self.metrics_port if path == "/metrics" else self.health_port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metrics(self):
        status, text = self.page("/metrics")
        assert status == 200, text
        return parse_metrics(text)

    def metric(self, name, **labels):
        """One value, or None where there is no such sample."""
        return self.metrics().get((name, frozenset(labels.items())))

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        if self.alive:
            self.signal(signal.SIGKILL)
            self.process.wait()

    def stop(self, timeout=10):
        """SIGTERM; returns (exit status, seconds it took)."""
        begun = time.monotonic()
        self.signal(signal.SIGTERM)
        status = self.process.wait(timeout)
        return status, time.monotonic() - begun


@contextlib.contextmanager
def in_its_place(world, folder, **config):
    """A controller with these keys in --config stands in for world.controller, which is ended."""
    (folder / "config.yaml").write_text(json.dumps({
        "apiVersion": "config.gpuqos.io/v1alpha1", "kind": "ControllerConfig", **config}))
    if world.controller.alive:
        world.controller.stop()
    made = Controller(world.cluster, folder, "-v", "2", "--config", folder / "config.yaml").start()
    usual, world.controller = world.controller, made
    yield made
    assert made.stop(30)[0] == 0, made.log()[-4000:]
    world.controller = usual
