"""A second cluster on which little happens, slowly: played in a thread beside the suites."""

import collections
import os
import signal
import subprocess
import threading
import time

from cluster import ROOT, TOOLS, Cluster, NotYet, wait_for
from controller import SYSTEM, USER, Controller, install
from gpus import Namespace, condition, pod
from published import BINDINGS, binding

WRITES = ("create", "update", "patch", "delete", "deletecollection")
RENEWALS = 10  # one every two seconds
STALE_SECONDS = 60


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_writes(cluster, since):
    return collections.Counter((e["verb"], e.get("objectRef", {}).get("resource"))
                               for e in cluster.audit(user=USER, since=since) if e["verb"] in WRITES)


def try_pod(namespace):
    return namespace.cluster.api("POST", namespace.pods + "?dryRun=All", pod("plain", amount=0))


def play_policies_first(cluster):
    """The wrong order: policies, and a namespace that they match, without their CRD."""
    managed, other = Namespace.make(cluster, "managed"), Namespace.make(cluster, "other")
    label = {"metadata": {"labels": {"gpuqos.io/managed": "true"}}}
    cluster.api("PATCH", managed.path, label).ok()
    cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "config" / "admission"))

    def refused():
        answer = try_pod(managed)
        return answer if answer.status != 201 else NotYet(answer)
    seen = {"managed": wait_for(refused, "the policy acts")}
    seen |= {"other": try_pod(other), "kube-system": try_pod(Namespace(cluster, "kube-system"))}
    # What looks at the labels of namespaces looks at all of them, and must not stop them.
    left_over = binding("gpuqos-tenant-labels", "nobody", objectSelector={"matchLabels": {"team": "nobody"}})
    cluster.api("POST", BINDINGS, left_over).ok()
    item = {"metadata": {"name": "joins", "labels": {"team": "nobody"}}}
    seen["a namespace"] = cluster.api("POST", "/api/v1/namespaces", item)
    seen["other, with a binding left over"] = try_pod(other)
    cluster.api("DELETE", f"{BINDINGS}/{left_over['metadata']['name']}").ok()
    # The way out, when nothing else is at hand.
    cluster.api("PATCH", managed.path, {"metadata": {"labels": {"gpuqos.io/managed": None}}}).ok()

    def passes():
        answer = try_pod(managed)
        return answer if answer.status == 201 else NotYet(answer)
    seen["without the label"] = wait_for(passes, "without the label pods pass")
    cluster.api("PATCH", managed.path, label).ok()
    wait_for(refused, "with it they do not")
    install(cluster)
    begun = time.monotonic()
    wait_for(passes, "with the CRD they do", 90)
    seen["seconds"] = time.monotonic() - begun
    return seen


def play_idle(cluster, controller):
    """Nothing happens for as long as it takes to renew the Lease some times."""
    mark, begun, cpu = cluster.audit_mark(), time.monotonic(), cpu_seconds(controller.process.pid)

    def renewed():
        seen = count_writes(cluster, mark)
        return seen if seen["update", "leases"] >= RENEWALS else NotYet(seen)
    writes = wait_for(renewed, "the Lease is renewed", 60)
    return {"writes": writes, "seconds": time.monotonic() - begun, "cpu": cpu_seconds(controller.process.pid) - cpu}


def play_stale(cluster, namespace):
    """A spec changes while kube-controller-manager is stopped, for longer than is normal."""
    pid = int((cluster.directory / "pids" / "kube-controller-manager").read_text().split()[0])
    with namespace.history() as history:
        os.kill(pid, signal.SIGSTOP)
        try:
            namespace.patch_quota(gpuMemory="160Gi")
            namespace.wait_condition("Ready", "False", "Pending")
            seen = namespace.wait_condition("Ready", "False", "QuotaStatusStale", timeout=STALE_SECONDS + 20)
        finally:
            os.kill(pid, signal.SIGCONT)
        namespace.wait_condition("Ready", "True", "Enforced")
        wait_for(lambda: history.conditions("Ready")[-1] == ("True", "Enforced"), "the watch has shown it")
    return {"ready": history.conditions("Ready"), "message": condition(seen, "Ready")["message"]}


class Quiet:
    """Started once; scene(name) waits for what came of it."""

    def __init__(self, directory):
        self.directory = directory
        self.scenes, self.error = {}, None
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        try:
            self._play()
        except BaseException as error:  # told by scene()
            self.error = error
        with self.changed:
            self.changed.notify_all()

    def _set(self, name, value):
        with self.changed:
            self.scenes[name] = value
            self.changed.notify_all()

    def _play(self):
        place = self.directory / "cluster"
        subprocess.run([TOOLS / "up", place, "--without=scheduler,kwok"], check=True, stderr=subprocess.DEVNULL)
        controller = None
        try:
            cluster = Cluster(place, keep=True)
            self._set("policies first", play_policies_first(cluster))
            cluster.nodes("h100", "mig-mixed")
            controller = Controller(cluster, self.directory / "controller", "--leader-elect",
                                    f"--leader-elect-namespace={SYSTEM}").start()
            namespace = Namespace.make(cluster, "quiet")
            namespace.put_quota("320Gi")
            namespace.create(pod("waits")).ok()
            wait_for(lambda: namespace.quota()["status"]["pods"] == 1, "the pod is counted")
            self._set("idle", play_idle(cluster, controller))
            self._set("stale", play_stale(cluster, namespace))
        finally:
            if controller:
                controller.kill()
            subprocess.run([TOOLS / "down", place], check=True, stderr=subprocess.DEVNULL)

    def scene(self, name, timeout=240):
        with self.changed:
            self.changed.wait_for(lambda: name in self.scenes or self.error, timeout)
        if name not in self.scenes:
            raise AssertionError(f"the scene {name} was not played") from self.error
        return self.scenes[name]
