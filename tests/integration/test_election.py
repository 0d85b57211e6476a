"""Leader election on a real Lease: who leads, who writes, and that never two do.

The audit log tells replicas apart by the tokens they use. A term begins with the
first Lease write of a replica that succeeds; a write by another after the term's
first write is an overlap. `make test` plays 3 rounds with a short lease, `make
soak` 100, and one with the default timings.
"""

import contextlib
import datetime
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "fault")]
from cluster import MERGE, NotYet, wait_for
from controller import SYSTEM
from gpus import Namespace
from harness import SHORT_LEASE, SOAK, STATE, Proxy, Replica, is_lease, is_write, of_replica, show

ROUNDS = 100 if SOAK else 3
DURATION, DEADLINE = 3, 2  # of SHORT_LEASE, seconds
# What a takeover may take beyond the duration, and a release at all.
GRACE = 2
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/gpuqos-controller"
PODS = f"/api/v1/namespaces/{SYSTEM}/pods"
ROLE = "gpuqos.io/role"


@pytest.fixture(scope="module")
def cluster(installed):
    return installed


def make_own_pod(cluster, name):
    """A pod that stands for a replica's own; no scheduler takes it."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    spec = {"schedulerName": "nobody",
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "controller", "image": "none", "securityContext": security}]}
    cluster.api("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    wait_for(lambda: cluster.api("GET", f"{PODS}/{name}").status == 404, f"no pod {name}")
    cluster.api("POST", PODS, {"metadata": {"name": name}, "spec": spec}).ok()


class Pair:
    """Two replicas, and what the cluster says of them."""

    def __init__(self, cluster, directory, *flags):
        self.cluster = cluster
        self.replicas = []
        for name in ("controller-a", "controller-b"):
            make_own_pod(cluster, name)
            replica = Replica(cluster, directory / name, *flags, env={"POD_NAME": name, "POD_NAMESPACE": SYSTEM})
            replica.name = name
            self.replicas.append(replica.start())

    def holder(self):
        """The name of the replica that the Lease names, or None."""
        answer = self.cluster.api("GET", LEASE)
        identity = "" if answer.status == 404 else answer.ok()["spec"].get("holderIdentity", "")
        return identity.rpartition("_")[0] or None

    def leader(self):
        """The replica that leads, and the other, once that is settled."""
        def settled():
            name = self.holder()
            for replica, other in (self.replicas, self.replicas[::-1]):
                if replica.name == name and replica.leads():
                    return replica, other
            return NotYet(name)
        return wait_for(settled, "one replica leads", 30)

    def wait_leads(self, replica, timeout):
        """Seconds until the Lease names the replica."""
        begun = time.monotonic()
        wait_for(lambda: self.holder() == replica.name, f"{replica.name} holds the Lease", timeout)
        return time.monotonic() - begun

    def labelled(self):
        listed = self.cluster.get(f"{PODS}?labelSelector={ROLE}%3Dleader")
        return sorted(item["metadata"]["name"] for item in listed["items"])

    def kill(self):
        for replica in self.replicas:
            if replica.alive:
                replica.signal(signal.SIGCONT)
            replica.kill()


@pytest.fixture
def pair(cluster, tmp_path):
    made = Pair(cluster, tmp_path, *SHORT_LEASE)
    yield made
    made.kill()


class Load:
    """Changes a quota all the time, so that whoever leads has something to write."""

    def __init__(self, cluster):
        self.namespace = Namespace.make(cluster, "load")
        self.cluster = cluster
        self.namespace.put_quota("100Gi", enforced=False)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._change, daemon=True)

    def _change(self):
        for i in range(10**9):
            if self.over.wait(0.15):
                return
            with contextlib.suppress(OSError):
                self.namespace.cluster.api("PATCH", f"{self.namespace.quotas}/team",
                                           {"spec": {"gpuMemory": f"{100 + i % 50}Gi"}}, MERGE)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.cluster.client.close()
        self.namespace.remove()


def seconds_of(event, stamp):
    return datetime.datetime.fromisoformat(event[stamp].replace("Z", "+00:00")).timestamp()


def received(event):
    return seconds_of(event, "requestReceivedTimestamp")


def succeeded(event):
    return 200 <= event.get("responseStatus", {}).get("code", 0) < 300


class Audit:
    """Writes of some replicas since a mark, by what the API server recorded."""

    def __init__(self, cluster, replicas, mark):
        self.events = []
        for event in cluster.audit(since=mark):
            writers = [replica for replica in replicas if is_write(event) and of_replica(event, replica)]
            if writers:
                self.events.append((received(event), writers[0], event))
        self.events.sort(key=lambda item: item[0])
        self.terms = []  # (begin, replica)
        for event in sorted((e for e in self.events if is_lease(e[2]) and succeeded(e[2])),
                            key=lambda item: seconds_of(item[2], "stageTimestamp")):
            if not self.terms or self.terms[-1][1] is not event[1]:
                self.terms.append((seconds_of(event[2], "stageTimestamp"), event[1]))

    def writes(self, replica):
        """Times of a replica's writes other than Leases, also of those that were refused."""
        return [when for when, writer, event in self.events if writer is replica and not is_lease(event)]

    def renewed(self, replica):
        """When a replica last renewed the Lease, None where it did not."""
        return max((when for when, writer, event in self.events
                    if writer is replica and is_lease(event) and succeeded(event)), default=None)

    def owner(self, when):
        """The term that a moment belongs to, or None before the first."""
        begun = [term for term in self.terms if term[0] <= when]
        return begun[-1] if begun else None

    def late(self):
        """Writes by who had lost the Lease to another already."""
        return [(when, writer.name) for when, writer, event in self.events if not is_lease(event)
                and self.owner(when) and self.owner(when)[1] is not writer]

    def overlaps(self):
        """Of these, the ones after the new leader's first write."""
        found = []
        for when, name in self.late():
            begun, leader = self.owner(when)
            found += [(when, name)] if any(begun <= other < when for other in self.writes(leader)) else []
        return found


def wait_writes(cluster, replica, mark, count, what):
    """Until the replica has made so many writes since the mark, Leases not counted."""
    def made():
        done = len(Audit(cluster, [replica], mark).writes(replica))
        return done >= count or NotYet(done)
    wait_for(made, what, 60)


def stop_and_resume(pair, limit):
    """One round: the leader stands still until the other leads and writes, and goes on.
    Returns how long the takeover took, and when the old leader woke up."""
    cluster = pair.cluster
    leader, other = pair.leader()
    wait_writes(cluster, leader, cluster.audit_mark(), 1, f"{leader.name} writes")
    leader.signal(signal.SIGSTOP)
    took = pair.wait_leads(other, limit + 20)
    wait_writes(cluster, other, cluster.audit_mark(), 1, f"{other.name} writes")
    mark, woke = cluster.audit_mark(), time.time()
    leader.signal(signal.SIGCONT)
    wait_for(lambda: not leader.leads() and leader.try_page("/healthz")[0] == 200, f"{leader.name} knows", 30)
    wait_writes(cluster, other, mark, 3, f"{other.name} goes on")
    return took, woke, leader


def check_rounds(request, pair, rounds, limit):
    mark = pair.cluster.audit_mark()
    with Load(pair.cluster):
        results = [stop_and_resume(pair, limit) for _ in range(rounds)]
    audit = Audit(pair.cluster, pair.replicas, mark)
    times = [took for took, _, _ in results]
    show(request, f"{rounds} takeovers after SIGSTOP: min {min(times):.2f} s, median {statistics.median(times):.2f} s, "
         f"max {max(times):.2f} s; {len(audit.late())} late writes, {len(audit.overlaps())} overlaps")
    assert audit.overlaps() == [] and audit.late() == []
    assert len(audit.terms) >= rounds
    for _, woke, sleeper in results:
        again = [begun for begun, replica in audit.terms if replica is sleeper and begun > woke]
        until = again[0] if again else float("inf")
        assert [when for when in audit.writes(sleeper) if woke < when < until] == []
    assert max(times) <= limit, times
    for replica in pair.replicas:
        replica.assert_sane()


def test_who_is_stopped_is_followed_and_writes_nothing_when_it_goes_on(request, pair):
    check_rounds(request, pair, ROUNDS, DURATION + GRACE)


@pytest.mark.skipif(not SOAK, reason="takes as long as a default lease")
def test_the_same_with_the_default_timings(request, cluster, tmp_path):
    pair = Pair(cluster, tmp_path, "--leader-elect")
    try:
        check_rounds(request, pair, 2, 15 + GRACE)
    finally:
        pair.kill()


def test_who_is_asked_to_stop_hands_over_at_once(request, pair):
    cluster, times = pair.cluster, []
    for _ in range(ROUNDS):
        leader, other = pair.leader()
        wait_for(lambda: pair.labelled() == [leader.name], "the leader is labelled")
        mark = cluster.audit_mark()
        begun = time.monotonic()
        leader.signal(signal.SIGTERM)
        pair.wait_leads(other, 20)
        times.append(time.monotonic() - begun)
        assert leader.process.wait(10) == 0
        mine = [event for _, _, event in Audit(cluster, [leader], mark).events]
        patched = [i for i, event in enumerate(mine) if event["objectRef"]["resource"] == "pods"]
        freed = [i for i, event in enumerate(mine) if is_lease(event)]
        assert patched and patched[-1] < freed[-1], "the label goes before the Lease"
        wait_for(lambda: pair.labelled() == [other.name], "the label has moved")
        leader.start()
    show(request, f"{ROUNDS} takeovers after SIGTERM: min {min(times):.2f} s, median {statistics.median(times):.2f} s, "
         f"max {max(times):.2f} s")
    assert max(times) < GRACE
    for replica in pair.replicas:
        replica.assert_sane()


def test_the_label_follows_a_leader_that_died(pair):
    leader, other = pair.leader()
    wait_for(lambda: pair.labelled() == [leader.name], "the leader is labelled")
    leader.kill()
    pair.wait_leads(other, 20)
    wait_for(lambda: pair.labelled() == [other.name], "the label has moved")


# --- beside client-go

@contextlib.contextmanager
def scheduler(cluster, log):
    """Another kube-scheduler, for its leader election, which is client-go's: it competes for our Lease."""
    pid = (cluster.directory / "pids" / "kube-scheduler").read_text().split()[0]
    with open(log, "ab") as out:
        process = subprocess.Popen(
            [os.readlink(f"/proc/{pid}/exe"), f"--kubeconfig={cluster.env['KUBECONFIG']}", "--secure-port=0",
             "--leader-elect=true", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
             "--leader-elect-retry-period=500ms", "--leader-elect-resource-name=gpuqos-controller",
             f"--leader-elect-resource-namespace={SYSTEM}"],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_client_go_and_we_follow_each_other_on_one_lease(pair, tmp_path):
    cluster = pair.cluster
    ours = {replica.name for replica in pair.replicas}

    def lease_of_client_go():
        lease = cluster.get(LEASE)
        return pair.holder() not in ours and lease["spec"]["holderIdentity"] and lease

    leader, other = pair.leader()
    other.end()
    mine = cluster.get(LEASE)
    with scheduler(cluster, tmp_path / "scheduler.log") as theirs:
        wait_for(lambda: "attempting to acquire leader lease" in (tmp_path / "scheduler.log").read_text().lower()
                 or NotYet((tmp_path / "scheduler.log").read_text()[-500:]), "client-go competes", 60)
        assert pair.holder() == leader.name
        other.start()
        # We die, and client-go or our standby follows; the standby is made to wait, so client-go does.
        other.signal(signal.SIGSTOP)
        leader.kill()
        its = wait_for(lease_of_client_go, "client-go leads", 30)
        assert set(its["spec"]) == set(mine["spec"])
        assert {key: type(value) for key, value in its["spec"].items()} == \
            {key: type(value) for key, value in mine["spec"].items()}
        for key in ("acquireTime", "renewTime"):
            assert len(its["spec"][key]) == len(mine["spec"][key]) and mine["spec"][key].endswith("Z")
        assert its["spec"]["leaseTransitions"] == mine["spec"]["leaseTransitions"] + 1
        other.signal(signal.SIGCONT)
        wait_for(lambda: other.try_page("/readyz")[0] == 200, f"{other.name} goes on")
        mark = cluster.audit_mark()
        before = cluster.get(LEASE)["spec"]["renewTime"]
        wait_for(lambda: cluster.get(LEASE)["spec"]["renewTime"] != before, "client-go renews")
        assert pair.holder() not in ours and Audit(cluster, [other], mark).writes(other) == []
        # It dies, and we follow.
        theirs.kill()
        pair.wait_leads(other, 30)
    assert cluster.get(LEASE)["spec"]["leaseTransitions"] == its["spec"]["leaseTransitions"] + 1
    other.assert_sane()


# --- what waits when the lease is lost

NAMESPACES = 120 if SOAK else 40


def test_work_that_is_queued_when_the_lease_is_lost_is_not_written(request, cluster, tmp_path):
    proxy = Proxy(cluster, tmp_path / "proxy")
    replica = Replica(cluster, tmp_path / "replica", *SHORT_LEASE, proxy=proxy).start()
    spaces = [Namespace.make(cluster, "queued") for _ in range(NAMESPACES)]
    try:
        for space in spaces:
            space.put_quota("100Gi", enforced=False)
        for space in spaces:
            space.wait_condition("Ready", "True", "Enforced", timeout=60)
        mark = cluster.audit_mark()
        wait_for(lambda: Audit(cluster, [replica], mark).renewed(replica), "a renewal of ours is on record")
        proxy.rules({"path": "leases/", "action": "status", "status": 503},
                    {"method": "WRITE", "path": STATE, "action": "delay", "delayMs": 600})
        for space in spaces:
            space.patch_quota(gpuMemory="200Gi")
        wait_for(lambda: "no longer leading" in replica.log(), "the lease is lost", 30)
        waits = replica.metric("gpuqos_workqueue_depth", controller="quota")
        proxy.rules({"path": "leases/", "action": "status", "status": 503})
        wait_for(lambda: proxy.acted()[0] >= 4, "the Lease is asked for in vain", 60)
        # What was on its way has arrived by now, and what waits must go on waiting.
        unwritten = [space for space in spaces if stale(space)]
        wait_for(lambda: proxy.acted()[0] >= 12, "the Lease is asked for in vain", 60)
        assert waits > 0 and unwritten, (waits, unwritten)
        assert [space.name for space in unwritten if not stale(space)] == []
        audit = Audit(cluster, [replica], mark)
        # Nobody else can lead before this.
        free = audit.renewed(replica) + DURATION
        late = [when - free for when in audit.writes(replica) if when > free]
        show(request, f"{int(waits)} keys waited when the lease was lost, {len(unwritten)} of {NAMESPACES} quotas stayed "
             f"unwritten; {len(audit.writes(replica))} writes before, {len(late)} after")
        assert late == []
        proxy.rules()
        for space in spaces:
            space.wait_condition("Ready", "True", "Enforced", timeout=60)
        replica.end()
    finally:
        replica.kill()
        proxy.stop()
        for space in spaces:
            space.remove()


def stale(space):
    seen = space.quota()
    return seen["status"].get("observedGeneration") != seen["metadata"]["generation"]
