"""Placement under load, end to end: real kube-scheduler, two replicas of the controller behind a Service of the test's
own, nodes of several shapes with kubelet's own managers. tests/lib/placement.py has the independent checker.
"""

import concurrent.futures
import json
import random
import secrets
import signal
import types

import pytest
import scheduler as lib
from cluster import Cluster, NotYet, quantity, wait_for
from controller import SYSTEM, Controller, free_port, install
from gpus import PRODUCT, SOAK, Namespace
from kubelets import Kubelets, admitted, rejected, sold_twice
from placement import BoundWatch, Service, ends, finish, gpu_pod, is_over, layout, refusal, stuck
from tenants import Tenant

RUN = secrets.token_hex(2)
SEED = 11
PODS = 2000 if SOAK else 150
BURST = 200 if SOAK else 110
MIB = 1 << 20
BIG, SMALL = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-PCIE-40GB"
MEMORY = {BIG: 81559, SMALL: 40960}  # MiB
ELECTION = ("--leader-elect", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
            "--leader-elect-retry-period=500ms")
SHAPES = {  # product, machine
    "strict": (BIG, {"policy": "single-numa-node"}),
    "podwide": (BIG, {"policy": "single-numa-node", "scope": "pod"}),
    "one": (BIG, {"policy": "none", "sockets": 1, "gpus": 8, "cpus": 32}),
    "effort": (BIG, {"policy": "best-effort"}),
    "plain": (SMALL, {"policy": "none", "gpus": 2}),
    "restricted": (SMALL, {"policy": "restricted", "gpus": 2}),
}


def own_pod(name):
    """A pod that stands for a replica's own; no scheduler takes it."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {"metadata": {"name": name}, "spec": {
        "schedulerName": "nobody",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "controller", "image": "none", "securityContext": security}]}}


class Pair:
    """Two replicas, and the Service in front of them."""

    def __init__(self, cluster, folder, certs):
        self.cluster, self.certs, self.ports, self.replicas = cluster, certs, {}, {}
        for name in ("controller-a", "controller-b"):
            cluster.api("POST", f"/api/v1/namespaces/{SYSTEM}/pods", own_pod(name)).ok()
            self.ports[name] = port = free_port()
            self.replicas[name] = Controller(
                cluster, folder / name, "-v", "2", *ELECTION, f"--extender-address=127.0.0.1:{port}",
                f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
                f"--extender-client-ca-file={certs}/ca.crt",
                env={"POD_NAME": name, "POD_NAMESPACE": SYSTEM}).start()

    def leader(self):
        """(the replica that answers, the other one), once there is one."""
        def settled():
            answers = {name: lib.ask(self.ports[name], self.certs, "/filter", {})[0]
                       for name, r in self.replicas.items() if r.alive}
            leaders = [name for name, status in answers.items() if status == 200]
            if len(leaders) != 1:
                return NotYet(answers)
            other = next(name for name in self.replicas if name != leaders[0])
            return leaders[0], other
        return wait_for(settled, "one replica answers", 60)

    def end(self):
        for replica in self.replicas.values():
            if replica.alive:
                replica.signal(signal.SIGCONT)
                assert replica.stop(30)[0] == 0, replica.log()[-4000:]


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """A cluster with nodes of all shapes, whose GPU pods go through our scheduler and the extender that leads."""
    with Cluster.start("--with", "kubelet-devices") as cluster:
        install(cluster)
        folder = tmp_path_factory.mktemp("load")
        certs = lib.make_certificates(folder / "certs")
        kubelets, memory = Kubelets(cluster), {}
        for shape, (product, made) in SHAPES.items():
            for i in range(2):
                name = f"{shape}-{i}-{RUN}"
                add_node(kubelets, name, product, **made)
                memory[name] = MEMORY[product] * MIB
        pair = Pair(cluster, folder, certs)
        with Service(cluster, pair.ports) as service:
            scheduler = lib.Scheduler(cluster, folder / "s", extender=f"https://127.0.0.1:{service.port}", certs=certs).start()
            yield types.SimpleNamespace(cluster=cluster, pair=pair, kubelets=kubelets, memory=memory, certs=certs,
                                        scheduler=scheduler)
            scheduler.stop()
        pair.end()


def add_node(kubelets, name, product, policy, **made):
    machine = layout(policy, f"GPU-{name}", f"{MEMORY[product]}Mi", **made)
    kubelets.node(name, machine, annotations={"gpuqos.io/topology": json.dumps(machine)}, labels={
        "shape": name.split("-")[0], PRODUCT: product, "nvidia.com/gpu.memory": str(MEMORY[product])})


class Team:
    """A namespace of a tenant of its own, with a quota of so many of the large cards."""

    def __init__(self, cluster, cards, policy):
        self.namespace = Namespace.make(cluster)
        self.required = policy == "Required"
        topology = {} if policy == "None" else {"topology": {"policy": policy, "scope": "NUMA"}}
        self.tenant = Tenant.make(cluster, self.namespace, **topology)
        seen = self.namespace.put_quota(f"{cards * MEMORY[BIG]}Mi")
        self.limit = quantity(seen["status"]["effective"])

    @property
    def name(self):
        return self.namespace.name


class Verdict:
    """What held all the time while this was open, and holds at the end."""

    def __init__(self, placed, teams):
        self.placed, self.teams = placed, teams
        self.limits = {t.name: t.limit for t in teams}
        self.watch = BoundWatch(placed.cluster, placed.memory, self.limits)

    def __enter__(self):
        self.watch.__enter__()
        return self

    def __exit__(self, *error):
        self.watch.__exit__(*error)
        for team in self.teams:
            team.namespace.remove()

    def decisions(self):
        return [p for p in self.placed.kubelets.report().pods if p["namespace"] in self.limits]

    def check(self):
        pods = self.decisions()
        required = {t.name for t in self.teams if t.required}
        strict = [p for p in pods if p["namespace"] in required]
        assert not sold_twice(pods)
        assert not [p for p in admitted(strict) if p["spans"]["cpuGpu"] or p["spans"]["gpus"]]
        assert not rejected(strict), rejected(strict)[:3]
        assert not self.watch.above and not self.watch.moved
        return pods

    def wait_settled(self):
        """Until no pod waits that had a place."""
        required = {t.name for t in self.teams if t.required}

        def settled():
            for team in self.teams:
                finish(team.namespace)
            waiting = self._unsettled()
            found = stuck(self.placed.cluster, self.placed.kubelets.report(), self.placed.memory, self.limits, required)
            return not waiting and not found or NotYet((waiting[:3], found[:3]))
        wait_for(settled, "every pod runs, is over, or waits for want of a place", 90)

    def wait_decided(self, count):
        wait_for(lambda: len(self.decisions()) == count, f"kubelets have decided on {count} pods")

    def _unsettled(self):
        """Names of pods that are bound and not yet admitted, finishing, or not yet refused."""
        pods = [p for t in self.teams for p in t.namespace.list_pods() if not is_over(p)]
        return [p["metadata"]["name"] for p in pods if is_passing(p) or (
            p["spec"].get("nodeName") and p["status"]["phase"] == "Pending")]


# --- random pods

def random_pod(dice, number):
    gpus = dice.choice((1, 1, 1, 2, 2, 3, 4, 8))
    guaranteed = dice.random() < 0.7
    cpu = 2 * gpus if guaranteed else f"{500 * gpus}m"
    selector = {PRODUCT: dice.choice((BIG, SMALL))} if dice.random() < 0.4 else {}
    return gpu_pod(f"p-{number}", gpus, cpu, selector, guaranteed, ends=dice.random() < 0.8)


def is_passing(pod):
    """It will end by itself, or it may yet get a place."""
    if not pod["spec"].get("nodeName"):
        return refusal(pod) is None
    return ends(pod)


class Flow:
    """Pods in a stream: some finish, some are deleted, what the quota refuses is tried again."""

    def __init__(self, teams, dice, count, make=random_pod, deletes=True):
        self.teams, self.dice, self.refused, self.deleted, self.why = teams, dice, 0, 0, None
        self.deletes = deletes
        self.queue = [(team, make(dice, i)) for i, team in enumerate(dice.choices(teams, k=count))]

    def play(self, at_half=None):
        """at_half: what to do once, when half of the pods were made."""
        half = len(self.queue) // 2
        while self.queue:
            if at_half and len(self.queue) <= half:
                at_half()
                at_half = None
            batch, self.queue = self.queue[:24], self.queue[24:]
            wait_for(lambda: self._create(batch), "some pods of a batch are let in", 60)
            self.queue = batch + self.queue
            for team in self.teams:
                self._delete_some(team)

    def _create(self, batch):
        """True once some were created: those are taken off the batch."""
        for team in self.teams:
            finish(team.namespace)
        before = len(batch)
        for team in self.teams:
            mine = [pod for t, pod in batch if t is team]
            answers = team.namespace.cluster.create_many(team.namespace.pods, mine, threads=6)
            made = {p["metadata"]["name"] for p, a in zip(mine, answers, strict=True) if a.status == 201}
            wrong = [a for a in answers if a.status not in (201, 403)]
            assert not wrong, wrong[0]
            self.refused += len(mine) - len(made)
            self.why = next((a.message for a in answers if a.status != 201), self.why)
            batch[:] = [(t, pod) for t, pod in batch if t is not team or pod["metadata"]["name"] not in made]
        if len(batch) == before:
            for team in self.teams:
                self._delete_some(team, keep=0)
        return len(batch) < before or NotYet((len(batch), self.why))

    def _delete_some(self, team, keep=3):
        """Keeps a few of those that would stay, waiting or running."""
        if not self.deletes:
            return
        staying = [p["metadata"]["name"] for p in team.namespace.list_pods() if not is_over(p) and not is_passing(p)]
        for name in self.dice.sample(sorted(staying), max(0, len(staying) - keep)):
            team.namespace.delete_pod(name)
            self.deleted += 1


def test_random_pods(placed, tell):
    teams = [Team(placed.cluster, cards, policy)
             for cards, policy in ((14, "Required"), (30, "Required"), (16, "Preferred"), (14, "None"))]
    flow = Flow(teams, random.Random(SEED), PODS)
    with Verdict(placed, teams) as verdict:
        flow.play()
        verdict.wait_settled()
        pods = verdict.check()
        waiting = [p for t in teams for p in t.namespace.list_pods() if not p["spec"].get("nodeName")]
    assert admitted(pods)
    tell(f"{PODS} pods, {flow.refused} times refused by quota, {flow.deleted} deleted: {len(admitted(pods))} admitted, "
         f"{len(rejected(pods))} of other policies rejected, {len(waiting)} wait at the end")


# --- a leader that goes

def short_pod(dice, number):
    """It ends by itself a little after it has begun."""
    gpus = dice.choice((1, 1, 2, 4))
    return gpu_pod(f"p-{number}", gpus, 2 * gpus, {}, ends=True)


def status_of(placed, name, verb="filter"):
    return lib.ask(placed.pair.ports[name], placed.certs, f"/{verb}", {})[0]


def burst(placed, harm):
    """Pods in a burst; in its middle harm(leader, other) is done. All of them run and end, each once."""
    teams = [Team(placed.cluster, cards, policy) for cards, policy in ((100, "Required"), (12, "None"))]
    leader, other = placed.pair.leader()
    assert [status_of(placed, other, verb) for verb in ("filter", "prioritize", "preempt", "bind")] == [503] * 4
    flow = Flow(teams, random.Random(SEED), BURST, short_pod, deletes=False)
    with Verdict(placed, teams) as verdict:
        flow.play(lambda: harm(leader, other))

        def ended():
            for team in teams:
                finish(team.namespace)
            pods = [p for t in teams for p in t.namespace.list_pods()]
            going = [(p["metadata"]["name"], p["spec"].get("nodeName"), refusal(p)) for p in pods if not is_over(p)]
            return len(pods) == BURST and not going or NotYet((len(pods), len(going), going[:3]))
        wait_for(ended, "all pods of the burst have ended", 120)
        pods = verdict.check()
    assert len(admitted(pods)) + len(rejected(pods)) == BURST
    return leader, other


def test_a_leader_that_dies_in_a_burst(placed):
    leader, other = burst(placed, lambda leader, _: placed.pair.replicas[leader].kill())
    wait_for(lambda: status_of(placed, other) == 200, "the standby answers")
    placed.pair.replicas[leader].start()
    assert status_of(placed, leader) == 503


def test_a_leader_that_stands_still_in_a_burst_and_goes_on(placed):
    def stop_and_go(leader, other):
        placed.pair.replicas[leader].signal(signal.SIGSTOP)
        wait_for(lambda: status_of(placed, other) == 200, "the standby answers", 60)
        placed.pair.replicas[leader].signal(signal.SIGCONT)
        assert status_of(placed, leader) == 503
    leader, other = burst(placed, stop_and_go)
    assert placed.pair.leader() == (other, leader)


# --- bind, by itself

def bind(placed, port, pod, node):
    """The error of the answer, empty where the pod was bound."""
    meta = pod["metadata"]
    body = {"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node}

    def answered():
        status, answer = lib.ask(port, placed.certs, "/bind", body)
        assert status == 200, answer
        error = answer.get("Error") or ""
        return NotYet(error) if "not seen this pod yet" in error else [error]
    return wait_for(answered, f"bind knows {meta['name']}")[0]


def waiting_pods(placed, team, count, node):
    """Pods of one card whom no scheduler takes, of whom the extender has been asked once."""
    made = [gpu_pod(f"b-{i}", 1, 1, {}) for i in range(count)]
    for pod in made:
        pod["spec"]["schedulerName"] = "nobody"
    pods = [a.ok() for a in placed.cluster.create_many(team.namespace.pods, made)]
    # bind refuses a pod that filter was asked about and no watch has shown; kube-scheduler asks filter first, too.
    port = placed.pair.ports[placed.pair.leader()[0]]
    for pod in pods:
        lib.ask(port, placed.certs, "/filter", {"Pod": pod, "NodeNames": [node]})
    return pods


def bind_all(placed, pods, node):
    """The error of each, when all are to be bound at once."""
    port = placed.pair.ports[placed.pair.leader()[0]]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda pod: bind(placed, port, pod, node), pods))


def test_binds_at_once_for_the_last_of_a_quota(placed):
    team = Team(placed.cluster, 10, "None")
    node = f"one-0-{RUN}"
    pods = waiting_pods(placed, team, 8, node)
    team.namespace.patch_quota(gpuMemory=f"{3 * MEMORY[BIG]}Mi")
    limit = 3 * MEMORY[BIG] * MIB
    wait_for(lambda: quantity(team.namespace.quota()["status"]["effective"]) == limit, "the quota is smaller")
    team.limit = limit
    with Verdict(placed, [team]) as verdict:
        errors = bind_all(placed, pods, node)
        assert sorted(map(bool, errors)) == [False] * 3 + [True] * 5, errors
        verdict.wait_decided(3)
        verdict.check()
    assert all("gpuqos: " in error for error in errors if error), errors


def test_binds_at_once_of_two_tenants_for_the_last_cards_of_a_node(placed):
    teams = [Team(placed.cluster, 30, "None"), Team(placed.cluster, 30, "Preferred")]
    node = f"one-1-{RUN}"
    pods = [pod for team in teams for pod in waiting_pods(placed, team, 7, node)]
    with Verdict(placed, teams) as verdict:
        errors = bind_all(placed, pods, node)
        assert errors.count("") == 8, errors
        verdict.wait_decided(8)
        verdict.check()


# --- pods without GPUs, and a controller that is not there

def test_what_a_controller_that_is_down_keeps_waiting(placed):
    """As docs/scheduling.md says, "When something is down"."""
    namespace = Namespace.make(placed.cluster)

    def make(name, gpus=0, scheduler=lib.NAME):
        pod = gpu_pod(name, gpus, 1, {})
        pod["spec"]["schedulerName"] = scheduler
        namespace.create(pod).ok()

    def wait_bound(name):
        wait_for(lambda: placed.cluster.get(f"{namespace.pods}/{name}")["spec"].get("nodeName"), f"{name} is bound", 60)

    def wait_failed(name):
        def failed():
            pod = placed.cluster.get(f"{namespace.pods}/{name}")
            conditions = [c["reason"] for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"]
            return conditions == ["SchedulerError"] and not pod["spec"].get("nodeName") or NotYet(pod["status"])
        wait_for(failed, f"{name} waits, since nobody answers", 60)
    make("plain-up")
    wait_bound("plain-up")
    for replica in placed.pair.replicas.values():
        replica.kill()
    make("plain-ours")
    make("card", gpus=1)
    make("plain", scheduler="default-scheduler")
    wait_bound("plain")
    wait_failed("plain-ours")
    wait_failed("card")
    for replica in placed.pair.replicas.values():
        replica.start()
    wait_bound("plain-ours")
    wait_bound("card")
    namespace.remove()
