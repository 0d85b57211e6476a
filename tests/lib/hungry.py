"""A node whose cards pods share, and its agent, which is the test: what the processes of each pod use, as it would tell.

    with Hungry(cluster, "timesliced-0") as node:
        node.use(namespace, "greedy", memory=20 * GIB, percent=90)     # of card 0, by its own processes
        node.use(namespace, "meek", card=1)
        node.crash(namespace, "meek")                                  # its containers do, over and over, as kubelet tells
        node.heal(namespace, "meek")

As the real one it writes what changed alone, and says by its Lease that it has looked and all is still so.
"""

import datetime
import json
import threading

from cluster import MERGE, NotYet, wait_for
from controller import SYSTEM
from gpus import GIB, GPU
from kubelets import TOPOLOGY, machine

SEEN = "gpuqos.io/usage-seen"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
NODE = "timesliced-0"  # such as it is made for
REPLICAS = 10  # of a card of that node kind


class Hungry:
    def __init__(self, cluster, node):
        self.cluster, self.node = cluster, node
        self.layout = machine(prefix=f"GPU-{node}")
        self.uses, self.stop = {}, threading.Event()

    def __enter__(self):
        uid = self.cluster.api("PATCH", f"/api/v1/nodes/{self.node}", {"metadata": {"annotations": {
            TOPOLOGY: json.dumps(self.layout)}}}, MERGE).ok()["metadata"]["uid"]
        self.lease = f"{LEASES}/gpuqos-agent-{self.node}"
        self.cluster.api("DELETE", self.lease)
        self.cluster.api("POST", LEASES, {
            "metadata": {"name": f"gpuqos-agent-{self.node}", "labels": {"app.kubernetes.io/name": "gpuqos-agent"}, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": uid}]},
            "spec": {"holderIdentity": self.node, "leaseDurationSeconds": 40, "renewTime": self._now()}}).ok()
        self.tell()
        self.thread = threading.Thread(target=self._renew, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.cluster.api("DELETE", self.lease)
        self.cluster.api("DELETE", f"/apis/gpuqos.io/v1alpha1/gpunodes/{self.node}")

    @staticmethod
    def _now():
        return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _renew(self):
        while not self.stop.wait(1):
            now = self._now()
            self.cluster.api("PATCH", self.lease, {"metadata": {"annotations": {SEEN: now}}, "spec": {"renewTime": now}}, MERGE)

    def use(self, namespace, name, card=0, memory=GIB, percent=10, pcie=None):
        """pcie: bytes a second that are estimated from the whole card. memory and percent None: nothing tells them."""
        uid = self.cluster.get(f"{namespace.pods}/{name}")["metadata"]["uid"]
        self.uses[namespace.name, name] = (uid, card, memory, percent, pcie)
        self.tell()

    def leave(self, namespace, name):
        """It is gone from the node."""
        self.uses.pop((namespace.name, name), None)
        self.tell()

    def tell(self):
        pods, users = [], []
        for (namespace, name), (uid, index, memory, percent, pcie) in sorted(self.uses.items()):
            card = self.layout["gpus"][index]
            pods.append({"namespace": namespace, "name": name, "containers": [{"name": "main", "devices": [
                {"resource": GPU, "ids": [f"{card['uuid']}::{len(pods) % REPLICAS}"], "cards": [card["pci"]]}]}]})
            user = {"card": card["pci"], "podUID": uid, "processes": 1}
            if memory is not None:
                user["memory"] = f"{memory // (1 << 20)}Mi"
            if percent is not None:
                user["smPercent"] = percent
            if pcie is not None:
                user |= {"pcieBytesPerSecond": str(pcie), "pcieEstimated": True, "shared": True}
            users.append(user)
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=gpuqos-agent", "-f", "-", stdin=json.dumps({
            "apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuNode", "metadata": {"name": self.node},
            "status": {"gpus": len(self.layout["gpus"]), "podCount": len(pods), "pods": pods, "users": sorted(users, key=lambda u: u["card"])}}))

    # --- as its kubelet

    def _statuses(self, namespace, name, state, restarts):
        seen = self.cluster.get(f"{namespace.pods}/{name}")
        ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": self._now(), "startedAt": self._now()}}
        self.cluster.api("PATCH", f"{namespace.pods}/{name}/status", {"status": {"containerStatuses": [
            {"name": c["name"], "image": c["image"], "imageID": "", "ready": restarts == 0, "restartCount": restarts, "state": state}
            | ({"lastState": ended} if restarts else {}) for c in seen["spec"]["containers"]]}}, MERGE).ok()

    def crash(self, namespace, name):
        """Each container waits to be started again."""
        self._statuses(namespace, name, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}}, 5)

    def heal(self, namespace, name):
        """Each runs as if it never ended."""
        self._statuses(namespace, name, {"running": {"startedAt": self._now()}}, 0)


def hungry_pod(name, containers=3):
    """One replica of a card for the first of its containers; the others have none."""
    made = [{"name": f"c{i}" if i else "main", "image": "none"} for i in range(containers)]
    made[0]["resources"] = {"limits": {GPU: "1"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": made, "terminationGracePeriodSeconds": 1}}


def start(namespace, *names, node=None):
    """Such pods, until they run; node: where, if that is not for the scheduler to say."""
    for name in names:
        made = hungry_pod(name)
        made["spec"] |= {"nodeName": node} if node else {}
        namespace.create(made).ok()

    def running():
        phases = {p["metadata"]["name"]: p["status"]["phase"] for p in namespace.list_pods()}
        return all(phases.get(name) == "Running" for name in names) or NotYet(phases)
    wait_for(running, f"{names} run")
