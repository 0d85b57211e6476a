"""What the election, fault and kill suites share: the fault proxy, replicas that
are watched for sanitizer reports, and a scenario with the state it leads to.

    proxy = Proxy(cluster, tmp_path / "proxy")
    replica = Replica(cluster, tmp_path / "a", "--leader-elect", proxy=proxy).start()
    proxy.rules({"method": "WRITE", "action": "status", "status": 503, "count": 5})
    scenario = Scenario(cluster, "x")
    ...
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import select
import subprocess
import time
import urllib.request
import uuid

from cluster import ROOT, NotYet, wait_for
from controller import Controller, sanitized_bin
from gpus import H100, T4, pod, quota

SOAK = os.environ.get("GPUQOS_SOAK") == "1"
# A longer pause in `make soak` finds what a loaded machine makes slow.
PATIENCE = 120
SHORT_LEASE = ("--leader-elect", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
               "--leader-elect-retry-period=500ms")
REPORT = re.compile(r"ERROR: (?:Address|Leak|Undefined\w*)Sanitizer|WARNING: ThreadSanitizer|runtime error:|Assertion")

# Which requests a rule means. Leases and Events are not what a cluster's state is made of.
WATCH, INITIAL, LIST = "watch=true", "sendInitialEvents=true", "limit=500"
STATE = "resourcequotas|limitranges|gpumemoryquotas|namespaces/[^/?]*[?]"


def show(request, text):
    """A figure for who reads the log of the suite, which pytest would keep to itself."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n    {text}", flush=True)


def build_proxy():
    """The fault proxy, built with the Go that the development cluster uses."""
    folder = ROOT / "build" / "fault"
    script = ('set -euo pipefail; . hack/cluster/lib.sh; . hack/cluster/go.sh; go=$(find_go); mkdir -p "$1"; '
              'cd tests/fault/proxy; CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS=-mod=mod "$go" build -o "$1/proxy" .')
    subprocess.run(["bash", "-c", script, "build", str(folder)], cwd=ROOT, check=True)
    return folder / "proxy"


def make_certificate(folder):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=fault proxy", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, stderr=subprocess.DEVNULL)
    return folder / "cert.pem", folder / "key.pem"


class Proxy:
    """A fault proxy in front of the cluster's API server."""

    def __init__(self, cluster, directory, *flags):
        directory = pathlib.Path(directory)
        config = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        upstream = config["clusters"][0]["cluster"]
        self.certificate, key = make_certificate(directory)
        ca = directory / "upstream.pem"
        ca.write_bytes(base64.b64decode(upstream["certificate-authority-data"]))
        with open(directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [build_proxy(), "-upstream", upstream["server"], "-ca", ca, "-cert", self.certificate, "-key", key,
                 *flags],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        assert select.select([self.process.stdout], [], [], 30)[0], "the fault proxy does not start"
        self.url, self.control = self.process.stdout.readline().split()

    def _ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.control + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text.strip() else None

    def rules(self, *rules):
        """Replaces all rules; without any, everything passes."""
        self._ask("PUT", "/rules", list(rules))

    def acted(self):
        """How often each rule acted."""
        return [rule["acted"] for rule in self._ask("GET", "/rules")]

    def matched(self):
        return [rule["matched"] for rule in self._ask("GET", "/rules")]

    def cut(self):
        self._ask("POST", "/cut")

    def freeze(self):
        self._ask("POST", "/freeze")

    def writes(self):
        return self._ask("GET", "/writes")

    def redirect(self, kubeconfig):
        """Makes a kubeconfig go through here."""
        config = json.loads(kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {
            "server": self.url,
            "certificate-authority-data": base64.b64encode(self.certificate.read_bytes()).decode()}
        kubeconfig.write_text(json.dumps(config))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Replica(Controller):
    """A controller under sanitizers, through a proxy where one is given."""

    def __init__(self, cluster, directory, *flags, proxy=None, folder=None, **more):
        token = more.pop("token", None)
        self.folder = folder or sanitized_bin()
        super().__init__(cluster, directory, *flags, token=token, **more)
        self.token = json.loads(self.kubeconfig.read_text())["users"][0]["user"]["token"]
        if proxy:
            proxy.redirect(self.kubeconfig)

    @property
    def credential(self):
        """What the audit log calls this replica's token."""
        payload = self.token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return f"JTI={claims['jti']}"

    def start(self, ready=True):
        before = os.environ.get("GPUQOS_BIN")
        os.environ["GPUQOS_BIN"] = str(self.folder)
        try:
            return super().start(ready)
        finally:
            os.environ.pop("GPUQOS_BIN")
            if before is not None:
                os.environ["GPUQOS_BIN"] = before

    def leads(self):
        with contextlib.suppress(OSError, AssertionError):
            return any(value == 1 for (name, _), value in self.metrics().items() if name == "gpuqos_leader")
        return False

    def assert_sane(self):
        assert self.alive, f"it has ended with {self.process.returncode}:\n{self.log()[-3000:]}"
        assert not REPORT.search(self.log()), self.log()[-6000:]

    def end(self):
        """SIGTERM; it must end in time, with 0 and without a report."""
        status, seconds = self.stop()
        assert status == 0 and not REPORT.search(self.log()), f"{status}:\n{self.log()[-6000:]}"
        return seconds


def of_replica(event, replica):
    extra = event["user"].get("extra", {})
    return replica.credential in extra.get("authentication.kubernetes.io/credential-id", [])


def is_write(event):
    return event["verb"] in ("create", "update", "patch", "delete")


def is_lease(event):
    return event.get("objectRef", {}).get("resource") == "leases"


# --- a scenario and what becomes of it

def without_times(item):
    """A copy of JSON without what differs from run to run."""
    if isinstance(item, dict):
        return {key: without_times(value) for key, value in item.items() if not key.lower().endswith("time")}
    if isinstance(item, list):
        return [without_times(value) for value in item]
    return item


def owners(item):
    return [(owner["kind"], owner["name"]) for owner in item["metadata"].get("ownerReferences", [])]


class Scenario:
    """Quotas and pods of five namespaces, before and after changes. Names begin with
    the prefix; state() leaves it out, so that runs can be compared."""

    NAMESPACES = "abcde"

    def __init__(self, cluster, prefix):
        self.cluster, self.prefix = cluster, f"{prefix}-{uuid.uuid4().hex[:6]}"
        self.waiting = []  # what was refused, to be tried again

    def name(self, letter):
        return f"{self.prefix}-{letter}"

    def core(self, letter, kind):
        return f"/api/v1/namespaces/{self.name(letter)}/{kind}"

    def quotas(self, letter):
        return f"/apis/gpuqos.io/v1alpha1/namespaces/{self.name(letter)}/gpumemoryquotas"

    def make_namespace(self, letter):
        self.cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": self.name(letter)}}).ok()
        account = self.core(letter, "serviceaccounts/default")
        wait_for(lambda: self.cluster.get(account), f"{letter} takes pods")

    def make_pods(self, letter, *items):
        self.waiting += [(letter, item) for item in items]
        self.try_again()

    def try_again(self):
        """Pods that are refused for now: numbers that are not there yet are a reason."""
        left = []
        for letter, item in self.waiting:
            answer = self.cluster.api("POST", self.core(letter, "pods"), item)
            if answer.status == 403:
                left.append((letter, item))
            elif answer.status != 409 or answer.reason != "AlreadyExists":
                answer.ok()
        self.waiting = left

    def delete_pod(self, letter, name):
        """Also one that is still refused: it is not tried again."""
        self.waiting = [(other, item) for other, item in self.waiting if (other, item["metadata"]["name"]) != (letter, name)]
        self.cluster.api("DELETE", self.core(letter, f"pods/{name}"))

    def put_quota(self, letter, memory, name="team", **spec):
        self.cluster.api("POST", self.quotas(letter), quota(memory, name, **spec)).ok()

    def begin(self):
        for letter in "abd":
            self.make_namespace(letter)
        self.put_quota("a", "320Gi", gpus=4, perPod={"gpuMemory": "160Gi"})
        self.put_quota("b", "640Gi", resources={"nvidia.com/mig-1g.10gb": "7"})
        self.put_quota("d", "100Gi")
        self.make_pods("a", *[pod(f"p{i}", product=H100) for i in range(2)])
        self.make_pods("b", *[pod(f"m{i}", "nvidia.com/mig-1g.10gb") for i in range(3)])

    def change(self):
        for letter in "ce":
            self.make_namespace(letter)
        self.cluster.api("PATCH", self.quotas("a") + "/team", {"spec": {"gpuMemory": "480Gi", "gpus": 6}}).ok()
        self.delete_pod("a", "p0")
        self.put_quota("b", "64Gi", name="younger")
        self.delete_pod("b", "m0")
        self.put_quota("c", "200Gi", containerDefaults={"nvidia.com/mig-1g.10gb": "1"})
        self.cluster.api("DELETE", self.quotas("d") + "/team").ok()
        self.put_quota("e", "1Ti", perPod={"gpus": 2})
        self.make_pods("a", pod("p2", amount=2, product=H100))
        self.make_pods("e", pod("t0", product=T4), pod("t1", amount=2, product=H100), pod("cpu", amount=0))

    def finish(self, timeout=PATIENCE):
        def all_made():
            self.try_again()
            return not self.waiting or NotYet([(letter, item["metadata"]["name"]) for letter, item in self.waiting])
        wait_for(all_made, "all pods are accepted", timeout)

    def namespace_state(self, letter):
        answer = self.cluster.api("GET", f"/api/v1/namespaces/{self.name(letter)}")
        if answer.status == 404:
            return None
        labels = answer.ok()["metadata"]["labels"]
        limits = {kind: [(item["metadata"]["name"], item["spec"], owners(item))
                         for item in self.cluster.get(self.core(letter, kind))["items"]]
                  for kind in ("resourcequotas", "limitranges")}
        quotas = {item["metadata"]["name"]: (item["spec"], without_times(item.get("status")))
                  for item in self.cluster.get(self.quotas(letter))["items"]}
        pods = {item["metadata"]["name"]: item["status"].get("phase")
                for item in self.cluster.get(self.core(letter, "pods"))["items"]}
        return {"managed": labels.get("gpuqos.io/managed"), "quotas": quotas, "pods": pods, **limits}

    def state(self):
        found = {letter: self.namespace_state(letter) for letter in self.NAMESPACES}
        return json.loads(json.dumps(found).replace(self.prefix + "-", ""))

    def wait_settled(self, timeout=PATIENCE):
        """Until every quota says that it is about its latest spec, and what belonged to
        others is gone (a new cluster's garbage collector learns of our CRD after up to
        half a minute); returns the state."""
        def settled():
            for letter in self.NAMESPACES:
                items = self.cluster.get(self.quotas(letter))["items"]
                left = self.cluster.api("GET", self.core(letter, "resourcequotas/gpuqos"))
                if not items and left.status != 404:
                    return NotYet((letter, left.status))
                for item in items:
                    status = item.get("status", {})
                    ready = [c for c in status.get("conditions", []) if c["type"] == "Ready"]
                    if status.get("observedGeneration") != item["metadata"]["generation"] or not ready:
                        return NotYet((letter, status))
                    if ready[0]["status"] != "True" and ready[0]["reason"] not in ("Duplicate", "NotAccepted"):
                        return NotYet((letter, ready))
            return True
        wait_for(settled, "every quota is decided", timeout)
        return self.wait_still()

    def wait_still(self, seconds=4):
        """Until all pods run and nothing has changed for so long; returns the state."""
        seen = [None, 0]

        def still():
            state, now = self.state(), time.monotonic()
            if state != seen[0]:
                seen[:] = [state, now]
            phases = [phase for found in state.values() if found for phase in found["pods"].values()]
            return (set(phases) == {"Running"} and now - seen[1] >= seconds) or NotYet((phases, now - seen[1]))
        wait_for(still, "all pods run and the state stands still", PATIENCE)
        return seen[0]

    def wait_equal(self, expected, timeout=PATIENCE, seconds=1):
        """Until the state has been this for so long."""
        since = [None]

        def equal():
            differs = difference(self.state(), expected)
            since[0] = None if differs is not None else since[0] or time.monotonic()
            return differs if differs is not None else time.monotonic() - since[0] >= seconds
        wait_for(equal, "the state is that of a clean run", timeout)

    def remove(self):
        for letter in self.NAMESPACES:
            self.cluster.api("DELETE", f"/api/v1/namespaces/{self.name(letter)}")


def difference(found, wanted, path=""):
    """Where two JSON values differ, as NotYet; None where they do not."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(set(found) | set(wanted)):
            differs = difference(found.get(key), wanted.get(key), f"{path}/{key}")
            if differs is not None:
                return differs
        return None
    return None if found == wanted else NotYet(f"{path}: {found!r}, wanted {wanted!r}")
