"""The kube-scheduler of config/scheduler as a child process of a test, and its certificates.

    certs = make_certificates(tmp_path / "certs")         # by hack/extender-certs, good for 127.0.0.1
    scheduler = Scheduler(cluster, tmp_path / "s", extender=f"https://127.0.0.1:{port}", certs=certs).start()
    scheduler.metrics()
    scheduler.stop()

The program is the one that the cluster runs, its configuration that of config/scheduler with addresses and paths
replaced, and it reaches the cluster as ServiceAccount gpuqos-system/gpuqos-scheduler: what config/scheduler/rbac.yaml
lacks it lacks here too. The cluster has config/default already.
"""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import ssl
import subprocess
import types

from cluster import ROOT, TOOLS, NotYet, wait_for
from controller import SYSTEM, Controller, free_port, parse_metrics, write_kubeconfig
from histograms import PROTOBUF, Histogram

CONFIG = ROOT / "config" / "scheduler"
NAME = "gpuqos-scheduler"
USER = f"system:serviceaccount:{SYSTEM}:{NAME}"
MOUNTED = {"tls.crt": "client.crt", "tls.key": "client.key", "ca.crt": "ca.crt"}


def make_certificates(directory, *options):
    """ca, server and client as .crt and .key in the folder; the server's also good for 127.0.0.1."""
    subprocess.run([ROOT / "hack" / "extender-certs", directory, "--san", "IP:127.0.0.1", *options],
                   check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(directory)


def program(name="kube-scheduler"):
    """Where hack/cluster has a program of the control plane."""
    script = f'set -eu; . "{TOOLS}/lib.sh"; tool "$1"'
    found = subprocess.run(["bash", "-c", script, "bash", name], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(found.stdout.strip())


def replaced(text, pattern, by, times=1):
    """With each match replaced: the file may not drift away from what is known of it here."""
    changed, n = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE)
    assert n == times, f"{n} matches of {pattern} in kube-scheduler.yaml"
    return changed


def deployed_flags():
    """What the Deployment gives to it beside its configuration."""
    text = (CONFIG / "deployment.yaml").read_text()
    flags = re.findall(r"^ +- (--(?!config=)\S+)$", text, flags=re.MULTILINE)
    assert flags == ["--pod-max-in-unschedulable-pods-duration=30s"], flags
    return flags


class Scheduler:
    """It may be started again after it has ended; the log goes on.

    extender: the URL to ask instead of the Service; None: it is to decide alone.
    elect: to take the Lease; else it is told that it is the only one, which saves the wait for a dead one's.
    """

    def __init__(self, cluster, directory, extender=None, certs=None, elect=False, verbosity=2):
        self.cluster, self.extender, self.certs, self.elect = cluster, extender, certs, elect
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.verbosity = verbosity
        self.process = self.port = None
        self.log_path = self.directory / "kube-scheduler.log"
        self.kubeconfig = self.directory / "kubeconfig"
        self.config = self.directory / "kube-scheduler.yaml"
        cluster.kubectl("apply", "--server-side", "-f", str(CONFIG / "rbac.yaml"))
        token = cluster.kubectl("create", "token", NAME, "-n", SYSTEM, "--duration=24h").strip()
        write_kubeconfig(cluster, self.kubeconfig, token)
        self.config.write_text(self.configuration())

    def configuration(self):
        text = (CONFIG / "kube-scheduler.yaml").read_text()
        text = replaced(text, r"^clientConnection:$", f"clientConnection:\n  kubeconfig: {self.kubeconfig}")
        if not self.elect:
            text = replaced(text, "leaderElect: true", "leaderElect: false")
        if not self.extender:
            return replaced(text, r"^extenders:\n(^[ ].*\n)*", "")
        # One entry asks, one binds.
        text = replaced(text, r"urlPrefix: .*$", f"urlPrefix: {self.extender}", times=2)
        for name, own in MOUNTED.items():
            text = replaced(text, f"/etc/gpuqos-extender/{name}$", str(self.certs / own), times=2)
        return text

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def start(self, ready=True):
        """Starts it, and waits until its caches are complete unless told not to."""
        assert not self.alive
        self.port = free_port()
        command = [program(), "--config", self.config, *deployed_flags(), "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                   "--authentication-kubeconfig", self.kubeconfig, "--authorization-kubeconfig", self.kubeconfig,
                   "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics", f"-v={self.verbosity}"]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if ready:
            self.wait_ready()
        return self

    def wait_ready(self, timeout=30):
        def is_ready():
            assert self.alive, f"kube-scheduler has ended with {self.process.returncode}: {self.log()[-2000:]}"
            try:
                answer = self.page("/readyz")
            except OSError as error:
                return NotYet(error)
            return answer[0] == 200 or NotYet(answer)
        wait_for(is_ready, "kube-scheduler is ready", timeout)

    def page(self, path, **headers):
        """(status, bytes); its certificate is made anew with each start, and its own."""
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=unchecked)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def metrics(self):
        """As parse_metrics() has them."""
        status, text = self.page("/metrics")
        assert status == 200, text
        return parse_metrics(text.decode())

    def histogram(self, name):
        status, body = self.page("/metrics", Accept=PROTOBUF)
        assert status == 200, body
        return Histogram.read(body, name)

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def kill(self):
        if self.alive:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self, timeout=30):
        """SIGTERM; returns the exit status."""
        if self.alive:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)


def ask(port, certs, path, body, certificate="client"):
    """(status, decoded answer or text) of an extender at 127.0.0.1; 0 and why where there was none."""
    tls = ssl.create_default_context(cafile=certs / "ca.crt")
    if certificate:
        tls.load_cert_chain(certs / f"{certificate}.crt", certs / f"{certificate}.key")
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=tls)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, json.loads(text) if answer.status == 200 else text
    except OSError as error:
        return 0, str(error)
    finally:
        connection.close()


@contextlib.contextmanager
def placing(cluster, folder, *flags):
    """GPU pods of a cluster that has config/default go through our scheduler, and the extender of a controller with these
    flags, while this is open."""
    certs, port = make_certificates(folder / "certs"), free_port()
    controller = Controller(
        cluster, folder / "controller", "-v", "2", f"--extender-address=127.0.0.1:{port}",
        f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
        f"--extender-client-ca-file={certs}/ca.crt", *flags).start()
    scheduler = Scheduler(cluster, folder / "scheduler", extender=f"https://127.0.0.1:{port}", certs=certs).start()
    yield types.SimpleNamespace(controller=controller, scheduler=scheduler, port=port, certs=certs)
    scheduler.stop()
    assert controller.stop(30)[0] == 0, controller.log()[-4000:]
