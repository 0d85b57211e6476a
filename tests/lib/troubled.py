"""A cluster full of training pods, two replicas of the controller, and a Prometheus: where rounds of trouble are played.

    with troubled(folder) as world:
        world.on_issue(lambda receipt: world.kill_leader())
        world.ask("chat", 2)
        world.wait_calm()
        world.clean()
"""

import contextlib
import http.client
import itertools
import json
import os
import pathlib
import secrets
import signal
import subprocess
import threading
import time

import inference
import scheduler as lib
from cluster import ROOT, ApiError, Cluster, NotYet, wait_for
from controller import SYSTEM, Controller, free_port, install
from forwarder import Forwarder
from gpus import GPU, Namespace, condition
from kubelets import Kubelets, start_ticks
from placement import LEADER, Service, gpu_pod, is_over, layout
from prometheus import Prometheus
from tenants import Tenant

POLICY = ROOT / "tests/data/audit/evictions.yaml"
ELECTION = ("--leader-elect", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
            "--leader-elect-retry-period=500ms")
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: 1, timeoutSeconds: 2}}
"""
TTFT = "vllm:time_to_first_token_seconds"
QUERY = " / ".join(f'sum by (namespace, pod) (rate({TTFT}_{part}{{{{namespace="{{0}}"}}}}[5s]))' for part in ("sum", "count"))
MOMENT = ("waits a moment longer", "may be old, since their watch is not back yet")
MACHINES, OTHERS = 6, 20  # nodes of eight cards whose devices kubelet's managers give out, and such that have none
LONG = {"dev.gpuqos.io/run-for": "100h", "dev.gpuqos.io/terminate-for": "200ms"}
# ReplicaSets, since a Job waits longer and longer before it replaces a pod:
# (namespace, how many, pods of each, labels, annotations); {} is the workload's name.
WORKLOADS = (
    ("training", 5, 8, {}, {}),
    ("training", 6, 4, {"jobset.sigs.k8s.io/jobset-name": "{}"}, {}),
    ("training", 4, 3, {"kueue.x-k8s.io/pod-group-name": "{}"}, {}),
    ("batch", 4, 8, {}, {}),
    ("batch", 4, 4, {}, {"scheduling.k8s.io/group-name": "{}"}),
    ("hostile", 1, 66, {"scheduling.x-k8s.io/pod-group": "{}"}, {}),
)
BARE = {  # (namespace, how many, metadata, grace)
    "near": ("batch", 4, {}, 2),  # where the live tenant's pod is
    "plain": ("batch", 5, {}, 2),
    "forged": ("hostile", 3, {"annotations": {"gpuqos.io/checkpoint": "2999-01-01T00:00:00Z"}}, 2),
    "held": ("hostile", 2, {"finalizers": ["example.com/mine"]}, 2),
    "endless": ("hostile", 3, {}, 86400),
}


def path_of(pod):
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def node_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def says_it_leads(replica):
    return any(value == 1 for (name, _), value in replica.metrics().items() if name == "gpuqos_leader")


def until(condition, what, timeout=60):
    """As wait_for(); an API server or a Prometheus that does not answer means: not yet."""
    def tried():
        try:
            return condition()
        except (OSError, http.client.HTTPException) as error:
            return NotYet(error)
    return wait_for(tried, what, timeout)


class Slowed(inference.Service):
    """The service of one pod, under a steady load; extra: what slows it down beside its neighbours."""

    def __init__(self, world):
        super().__init__(world.read, [inference.Request(i / 4, 2000) for i in range(40)])
        self.extra = 0

    def look(self):
        return {key: factor + self.extra for key, factor in (super().look() or {}).items()} or None


class World:
    def __init__(self, cluster, folder, prometheus_port):
        self.cluster, self.folder = cluster, folder
        self.kubelets = Kubelets(cluster)
        self.prometheus = Prometheus(folder / "prometheus", prometheus_port)
        self.replicas, self.ports = {}, {}
        self.issued, self.seen = None, set()
        self.lock = threading.Lock()
        self.errors, self.acting, self.ended = [], False, False
        self.lost = []  # [(begun, ended)]
        self.settled_before = set()  # ids of receipts that were there when the round began
        self.certs = lib.make_certificates(folder / "certs")

    # --- what it is made of

    def read(self, what):
        """For the inference service: only those that it is about."""
        try:
            if what == "pods":
                return self.cluster.get(f"/api/v1/pods?labelSelector={inference.LOAD.replace('/', '%2F')}")["items"]
            return [self.cluster.get(f"/api/v1/nodes/{self.machines[0]}")]
        except (OSError, http.client.HTTPException, ApiError):
            return None

    def make_nodes(self):
        self.machines, self.layouts = [f"machine-{i}" for i in range(MACHINES)], {}
        self.cluster.nodes(f"h100={OTHERS}")
        for name in self.machines:
            made = layout("single-numa-node", f"GPU-{name}")
            made["bridges"] = [{"pci": f"0000:{i + 1:02x}:00.0"} for i in range(4)]
            for card in made["gpus"]:
                card["bridge"] = card["index"] // 2
            self.layouts[name] = made
            self.kubelets.node(name, made, labels={"which": name})
            self.kubelets.publish(name, made, 86400)

    def make_tenants(self):
        self.spaces = {name: Namespace.make(self.cluster, name) for name in ("training", "batch", "hostile", "chat", "vision", "live")}
        protection = {"mode": "Enforce", "minVictimRunSeconds": 0, "cooldownSeconds": 1, "observationSeconds": 15, "evictionsPerMinute": 60}
        asks = {"tier": "Inference", "protection": protection}
        specs = {
            "training": {"tier": "Training", "preemptible": {"minRunSeconds": 0}},
            "batch": {"tier": "BestEffort", "preemptible": {"minRunSeconds": 0, "gracePeriodSeconds": 1}},
            "hostile": {"tier": "BestEffort", "preemptible": {"minRunSeconds": 0, "gracePeriodSeconds": 1}},
            "chat": asks | {"pendingSeconds": 2},
            "vision": asks | {"pendingSeconds": 2, "topology": {"policy": "Required", "scope": "NUMA"}},
            "live": asks | {"objectives": [{"name": "latency", "threshold": "130m", "for": "5s",
                                            "query": QUERY.format(self.spaces["live"].name)}]},
        }
        self.specs = specs
        self.tenants = {name: Tenant.make(self.cluster, self.spaces[name], **spec) for name, spec in specs.items()}
        for space in self.spaces.values():
            space.put_quota("100Ti")

    def start_replica(self, name):
        port = self.ports[name] = free_port()
        config = self.folder / "config.yaml"
        config.write_text(CONFIG.format(url=self.prometheus.url))
        certs = self.certs
        made = self.replicas[name] = Controller(
            self.cluster, self.folder / name, "-v", "2", *ELECTION, "--config", config, f"--extender-address=127.0.0.1:{port}",
            f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
            f"--extender-client-ca-file={certs}/ca.crt", env={"POD_NAME": name, "POD_NAMESPACE": SYSTEM})
        self.wire.redirect(made.kubeconfig)
        made.start()

    def own_pod(self, name):
        """What stands for a replica's own pod; no scheduler takes it."""
        security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        self.cluster.api("POST", f"/api/v1/namespaces/{SYSTEM}/pods", {"metadata": {"name": name}, "spec": {
            "schedulerName": "nobody",
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "controller", "image": "none", "securityContext": security}]}}).ok()

    # --- pods

    @staticmethod
    def training_pod(name, grace=2, **metadata):
        item = gpu_pod(name, 1, 1, {})
        item["spec"]["terminationGracePeriodSeconds"] = grace
        item["metadata"] = {"name": name} | metadata
        item["metadata"]["annotations"] = LONG | metadata.get("annotations", {})
        item["metadata"].setdefault("labels", {})
        item["metadata"]["labels"] = {"load": "training"} | item["metadata"]["labels"]
        return item

    def make_workloads(self):
        number = 0
        for place, count, pods, labels, annotations in WORKLOADS:
            for _ in range(count):
                number += 1
                self._workload(f"work-{number}", self.spaces[place].name, pods, labels, annotations)
        for kind in BARE:
            self.replenish(kind)

    def _workload(self, name, namespace, pods, labels, annotations):
        item = self.training_pod(name, labels={"app": name} | {k: v.format(name) for k, v in labels.items()},
                                 annotations={k: v.format(name) for k, v in annotations.items()})
        del item["metadata"]["name"]
        item["spec"]["restartPolicy"] = "Always"
        self.cluster.api("POST", f"/apis/apps/v1/namespaces/{namespace}/replicasets", {"metadata": {"name": name}, "spec": {
            "replicas": pods, "selector": {"matchLabels": {"app": name}}, "template": item}}).ok()

    def replenish(self, kind):
        """Pods that nobody owns come back by hand."""
        place, count, metadata, grace = BARE[kind]
        there = {p["metadata"]["name"] for p in self.spaces[place].list_pods()}
        for i in range(count):
            if f"{kind}-{i}" not in there:
                item = self.training_pod(f"{kind}-{i}", grace, **metadata)
                item["spec"]["nodeSelector"] = {"which": self.machines[0]} if kind == "near" else {}
                self.spaces[place].create(item).ok()

    def stranger(self, place, name, grace=2, labels=None, **metadata):
        """A pod that is of no workload, for clean() to remove."""
        item = self.training_pod(name, grace, labels={"stranger": "true"} | (labels or {}), **metadata)
        return self.spaces[place].create(item)

    @property
    def nodes(self):
        return sorted(n["metadata"]["name"] for n in self.cluster.get("/api/v1/nodes")["items"])

    def training_pods(self):
        return [p for name in ("training", "batch", "hostile") for p in self.spaces[name].list_pods()]

    def ask(self, place, gpus, **metadata):
        """An inference pod comes, and there is no room for it."""
        name = f"ask-{secrets.token_hex(3)}"
        item = gpu_pod(name, gpus, gpus, {})
        item["metadata"] = {"name": name} | metadata
        return until(lambda: self.spaces[place].create(item).ok(), f"{name} is asked for")

    def make_live(self):
        item = gpu_pod("web-0", 1, 1, {"which": self.machines[0]})
        item["metadata"]["labels"] = {inference.LOAD: "inference"}
        self.spaces["live"].create(item).ok()

    def asking(self):
        return [p for name in ("chat", "vision") for p in self.spaces[name].list_pods()]

    # --- who leads, and what it does

    def holder(self):
        """The name of the replica that has the leader's label; None."""
        names = [p["metadata"]["name"] for p in self.cluster.get(LEADER)["items"]]
        return names[0] if len(names) == 1 else None

    def leads(self, name):
        replica = self.replicas[name]
        return replica.alive and lib.ask(self.ports[name], self.certs, "/filter", {})[0] == 200

    def wait_leader(self, other_than=None):
        def found():
            name = self.holder()
            return name if name and name != other_than and self.leads(name) else NotYet(name)
        return until(found, "one replica leads")

    def receipts(self):
        return [r for name in ("chat", "vision", "live") for r in self.tenants[name].object().get("status", {}).get("evictions", [])]

    def on_issue(self, act):
        """act(receipt) is called once, as soon as the next receipt is Issued."""
        with self.lock:
            self.issued = act

    def _look(self, item):
        for receipt in item.get("status", {}).get("evictions", []):
            if receipt["id"] in self.seen or receipt["outcome"] != "Issued":
                continue
            self.seen.add(receipt["id"])
            with self.lock:
                act, self.issued = self.issued, None
            if act:
                self.acting = True
                threading.Thread(target=self._act, args=(act, receipt), daemon=True).start()

    def _act(self, act, receipt):
        try:
            act(receipt)
        except Exception as error:  # told by clean()
            self.errors.append(error)
        finally:
            self.acting = False

    def follow(self):
        """In a thread of its own: every change of every TenantQoS."""
        path = "/apis/gpuqos.io/v1alpha1/tenantqos"
        while not self.ended:
            with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException, ApiError):
                version = self.cluster.get(path)["metadata"]["resourceVersion"]
                connection, answer = self.cluster.client.stream(f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=30")
                with contextlib.closing(connection):
                    for line in answer:
                        self._look(json.loads(line)["object"])

    # --- trouble

    @contextlib.contextmanager
    def losing(self):
        """While it lasts what was sent may not arrive, or be done and not be logged."""
        begun = time.time()
        try:
            yield
        finally:
            self.lost.append((begun, time.time()))

    def kill_leader(self):
        name = self.holder()
        with self.losing():
            self.replicas[name].kill()
        self.wait_leader(other_than=name)

    def freeze_leader(self):
        """It is stopped for as long as it takes another to lead."""
        name = self.holder()
        self.replicas[name].signal(signal.SIGSTOP)
        try:
            self.wait_leader(other_than=name)
        finally:
            self.replicas[name].signal(signal.SIGCONT)

    def blink_wire(self):
        """Every connection ends, and new ones are let in at once."""
        with self.losing():
            self.wire.cut()
            self.wire.mend()

    def cut_wire(self):
        """Until nobody leads any more."""
        def lost():
            leading = [n for n, r in self.replicas.items() if r.alive and says_it_leads(r)]
            return not leading or NotYet(leading)
        with self.losing():
            self.wire.cut()
            try:
                until(lost, "nobody leads")
            finally:
                self.wire.mend()

    def _start_apiserver(self, command, pid_file):
        """Not waited for: it outlives the test, and hack/cluster/down ends it."""
        with open(self.cluster.directory / "logs" / "kube-apiserver.log", "ab") as log:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        pid_file.write_text(f"{started.pid} {start_ticks(started.pid)}\n")
        return started

    def restart_apiserver(self):
        """Kills it, and starts it again as it was."""
        pid_file = self.cluster.directory / "pids" / "kube-apiserver"
        pid = int(pid_file.read_text().split()[0])
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        with self.losing():
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: Kubelets.is_gone(pid), "the API server is gone")
        started = self._start_apiserver(command, pid_file)

        def back():
            nonlocal started
            if started.poll() is not None:  # somebody else had its port for a moment
                started = self._start_apiserver(command, pid_file)
            return self.takes_pods()
        until(back, "the API server is back, and finds what the policies ask for", 90)

    def takes_pods(self):
        item = self.training_pod("probe")
        return self.cluster.api("POST", f"{self.spaces['chat'].pods}?dryRun=All", item).ok()

    def wake_prometheus(self):
        self.prometheus.process.send_signal(signal.SIGCONT)
        if self.prometheus.process.poll() is not None:
            self.prometheus.start()

    def set_ready(self, node, ready):
        """What its kubelet would tell; kwok and kubelet-devices tell it only once."""
        self.cluster.api("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [
            {"type": "Ready", "status": "True" if ready else "False", "reason": "Test"}]}},
            "application/strategic-merge-patch+json").ok()

    def cordon(self, node, on=True):
        self.cluster.api("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": on or None}}).ok()

    def slow_down(self, *pods, extra=0):
        """These training pods are busy, and no others; extra: web-0 is slow by itself."""
        self.slowed.extra = extra
        busy = {p["metadata"]["uid"] for p in pods}
        for pod in self.training_pods():
            was, now = inference.LOAD in pod["metadata"].get("labels", {}), pod["metadata"]["uid"] in busy
            if was != now:
                self.cluster.api("PATCH", path_of(pod), {"metadata": {"labels": {inference.LOAD: "training" if now else None}}})
        self.tell_figures(busy)

    def budget(self, place, name, selector, **spec):
        path = f"/apis/policy/v1/namespaces/{self.spaces[place].name}/poddisruptionbudgets"
        return self.cluster.api("POST", path, {"metadata": {"name": name}, "spec": {"selector": selector, **spec}})

    def tell_figures(self, busy=()):
        """As the agent of the first machine: who is on which card, and works there."""
        node = self.machines[0]
        pci = {card["uuid"]: card["pci"] for card in self.layouts[node]["gpus"]}
        pods, users = [], []
        for pod in self.spaces["live"].list_pods() + self.training_pods():
            for card in inference.cards(pod) & pci.keys():
                meta = pod["metadata"]
                pods.append({"namespace": meta["namespace"], "name": meta["name"], "containers": [
                    {"name": "main", "devices": [{"resource": GPU, "ids": [card], "cards": [pci[card]]}]}]})
                users.append({"card": pci[card], "podUID": meta["uid"], "memory": "1Gi", "processes": 1,
                              "smPercent": 90 if meta["uid"] in busy else 3})
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps({
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": node},
            "status": {"gpus": 8, "podCount": len(pods), "pods": pods, "users": sorted(users, key=lambda u: u["card"])}}))

    def neighbours(self):
        """Training pods of the first machine that are near web-0, the nearest first."""
        shared = inference.wires(self.layouts[self.machines[0]])
        mine = inference.cards(self.cluster.get(f"{self.spaces['live'].pods}/web-0"))
        found = [(list(inference.SHARED).index(how), p) for p in self.training_pods()
                 if inference.runs(p) and (how := inference.nearest(mine, inference.cards(p), shared))]
        return [p for _, p in sorted(found, key=lambda f: (f[0], f[1]["metadata"]["name"]))]

    # --- waiting

    def make_near(self, pods):
        """Who has taken the place of one that is to be near the live tenant's pod goes elsewhere."""
        near = [p for p in pods if p["metadata"]["name"].startswith("near-")]
        others = [p for p in pods if p["spec"].get("nodeName") == self.machines[0] and p not in near]
        for _, other in zip([p for p in near if not p["spec"].get("nodeName")], others):
            self.cluster.api("DELETE", f"{path_of(other)}?gracePeriodSeconds=0")

    def wait_full(self):
        """Every training pod runs; those that nobody brings back are made anew."""
        tries = itertools.count()

        def full():
            self.clean_pods()
            pods = self.training_pods()
            waiting = [p["metadata"]["name"] for p in pods if not inference.runs(p)]
            self.make_near(pods)
            if waiting and next(tries) % 8 == 0:
                # kube-scheduler does not hear that held room was let go; a node that changes lets it try again at once.
                self.cluster.api("PATCH", f"/api/v1/nodes/{self.machines[-1]}", {"metadata": {"labels": {"tried": secrets.token_hex(4)}}})
            return len(pods) == TRAINING and not waiting or NotYet((len(pods), waiting[:5], len(waiting)))
        return until(full, f"all {TRAINING} training pods run", 120)

    def unprotected(self, name):
        """It is told why nobody goes, and that is not what is known in a moment."""
        told = condition(self.tenants[name].object(), "Unprotected")
        return told["status"] == "True" and not any(words in told["message"] for words in MOMENT)

    def wait_calm(self):
        """No receipt is open, and every pod that asked has its place, or a plan for one, or is told why not."""
        def calm():
            receipts = self.receipts()
            open_now = [r["id"] for r in receipts if r["outcome"] == "Issued"]
            planned = {r["beneficiary"]["uid"] for r in receipts if r["outcome"] == "Planned"}
            waiting = [p["metadata"]["name"] for name in ("chat", "vision") for p in self.spaces[name].list_pods()
                       if not p["spec"].get("nodeName") and not self.unprotected(name) and p["metadata"]["uid"] not in planned]
            return not self.acting and not open_now and not waiting or NotYet((self.acting, open_now, waiting))
        until(calm, f"the world is calm (in trouble: {self.errors})", 90)

    def mend(self):
        """All trouble is over."""
        self.on_issue(None)
        self.wire.mend()
        until(self.takes_pods, "the API server answers", 90)
        for name in ("chat", "vision"):
            for pod in self.spaces[name].list_pods():
                self.cluster.api("DELETE", f"{path_of(pod)}?gracePeriodSeconds=0")
        self.slow_down()
        for replica in self.replicas.values():
            if replica.alive:
                replica.signal(signal.SIGCONT)
            else:
                replica.start()
        self.wake_prometheus()
        for node in self.cluster.get("/api/v1/nodes")["items"]:
            if node["spec"].get("unschedulable"):
                self.cordon(node["metadata"]["name"], False)
            if not node_ready(node):
                self.set_ready(node["metadata"]["name"], True)
        for name in ("chat", "vision", "live"):
            self.tenants[name].patch(protection=self.specs[name]["protection"])

    def clean(self):
        """The world is as before."""
        self.mend()
        for place in ("training", "batch", "hostile"):
            budgets = f"/apis/policy/v1/namespaces/{self.spaces[place].name}/poddisruptionbudgets"
            for budget in self.cluster.get(budgets)["items"]:
                self.cluster.api("DELETE", f"{budgets}/{budget['metadata']['name']}")
        self.wait_leader()
        self.wait_full()
        self.tell_figures()
        until(lambda: self.is_quiet(), "nobody asks for anything")
        if self.errors:
            raise self.errors.pop()

    def is_quiet(self):
        """Nothing is open, no tenant is in need, and the live one's latency is known and met."""
        live = self.tenants["live"].object().get("status", {}).get("objectives", [{}])[0].get("state")
        needy = [n for n in ("chat", "vision", "live") if self.unprotected(n)]
        open_now = [r["id"] for r in self.receipts() if r["outcome"] == "Issued"]
        return live == "Met" and not needy and not open_now or NotYet((live, needy, open_now))

    def clean_pods(self):
        for pod in self.training_pods():
            meta = pod["metadata"]
            if meta.get("finalizers") and (meta.get("deletionTimestamp") or is_over(pod) or "stranger" in meta["labels"]):
                self.cluster.api("PATCH", path_of(pod), {"metadata": {"finalizers": None}})
            if meta.get("labels", {}).get("stranger") or is_over(pod) and not meta.get("ownerReferences"):
                self.cluster.api("DELETE", f"{path_of(pod)}?gracePeriodSeconds=0")
        for kind in BARE:
            self.replenish(kind)


TRAINING = sum(count * pods for _, count, pods, _, _ in WORKLOADS) + sum(count for _, count, _, _ in BARE.values())


@contextlib.contextmanager
def troubled(folder):
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Cluster.start("--with", "kubelet-devices", "--without", "scheduler", "--audit", str(POLICY)))
        install(cluster)
        port = free_port()
        world = World(cluster, folder, port)
        world.wire = stack.enter_context(Forwarder(cluster))
        world.make_nodes()
        stack.enter_context(world.prometheus)
        for name in ("controller-a", "controller-b"):
            world.own_pod(name)
            world.start_replica(name)
        stack.callback(lambda: [r.kill() for r in world.replicas.values()])
        world.make_tenants()
        service = stack.enter_context(Service(cluster, world.ports))
        scheduler = lib.Scheduler(cluster, folder / "scheduler", extender=f"https://127.0.0.1:{service.port}", certs=world.certs).start()
        stack.callback(scheduler.kill)
        world.make_live()
        until(lambda: inference.runs(cluster.get(f"{world.spaces['live'].pods}/web-0")), "web-0 runs")
        world.replenish("near")
        world.make_workloads()
        world.slowed = Slowed(world)
        stack.enter_context(inference.Exporter(world.slowed, port))
        thread = threading.Thread(target=world.follow, daemon=True)
        thread.start()
        world.wait_full()
        world.tell_figures()
        yield world
        world.ended = True
