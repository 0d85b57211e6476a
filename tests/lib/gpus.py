"""What the suites create and look at: pods with GPUs and GpuMemoryQuotas."""

import collections
import json
import os
import socket
import threading
import uuid

from cluster import NotYet, wait_for

# Full counts, of `make soak`, instead of those of `make test`.
SOAK = os.environ.get("GPUQOS_SOAK") == "1"

GPU = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"
H100, T4 = "NVIDIA-H100-80GB-HBM3", "Tesla-T4"
# What nodes' labels say, in bytes.
MIB = 1 << 20
GIB = 1 << 30
UNIT = {"h100": 81559 * MIB, "t4": 15360 * MIB, "1g.10gb": 9984 * MIB, "3g.40gb": 40448 * MIB}


def container(name, resource=None, amount=0, **more):
    made = {"name": name, "image": "none", **more}
    if amount:
        made["resources"] = {"limits": {resource: str(amount)}}
    return made


def pod(name, resource=GPU, amount=1, product=None, **metadata):
    """A pod of one container; amount 0 asks for no GPU."""
    spec = {"containers": [container("main", resource, amount)], "terminationGracePeriodSeconds": 1}
    if product:
        spec["nodeSelector"] = {PRODUCT: product}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def quota(memory, name="team", **spec):
    return {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota",
            "metadata": {"name": name}, "spec": {"gpuMemory": memory, **spec}}


def condition(item, kind):
    """The condition of an object as {status, reason, message}, empty if absent."""
    found = [c for c in item.get("status", {}).get("conditions", []) if c["type"] == kind]
    return collections.defaultdict(str, found[0] if found else {})


class History:
    """Every state that the objects at a path have had while this was open.

        with History(cluster, path) as history:
            ...
        history.objects     # oldest first
    """

    def __init__(self, cluster, path):
        self.cluster, self.path = cluster, path
        self.objects = []

    def __enter__(self):
        version = self.cluster.get(self.path)["metadata"]["resourceVersion"]
        self.connection, self.answer = self.cluster.client.stream(
            f"{self.path}?watch=true&resourceVersion={version}")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def _read(self):
        try:
            for line in self.answer:
                self.objects.append(json.loads(line)["object"])
        except (OSError, ValueError):
            pass

    def conditions(self, kind, name="team"):
        """[(status, reason)] that the condition went through, each change once."""
        states = []
        for item in list(self.objects):
            seen = condition(item, kind)
            state = seen["status"], seen["reason"]
            if item["metadata"]["name"] == name and seen and states[-1:] != [state]:
                states.append(state)
        return states

    def __exit__(self, *_):
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()


class Namespace:
    """A namespace of a test and what is in it."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.path = f"/api/v1/namespaces/{name}"
        self.pods = f"{self.path}/pods"
        self.quotas = f"/apis/gpuqos.io/v1alpha1/namespaces/{name}/gpumemoryquotas"

    @classmethod
    def make(cls, cluster, prefix="t"):
        made = cls(cluster, f"{prefix}-{uuid.uuid4().hex[:8]}")
        cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": made.name}}).ok()
        account = f"{made.path}/serviceaccounts/default"
        wait_for(lambda: cluster.get(account), f"namespace {made.name} takes pods")
        return made

    def remove(self):
        """What is in it goes a little later, also pods that take their time."""
        self.cluster.api("DELETE", self.path)
        self.cluster.api("DELETE", f"{self.pods}?gracePeriodSeconds=0")

    def object(self):
        return self.cluster.get(self.path)

    def managed(self):
        return self.object()["metadata"]["labels"].get("gpuqos.io/managed")

    def resource_quota(self):
        """ResourceQuota gpuqos, or None."""
        answer = self.cluster.api("GET", f"{self.path}/resourcequotas/gpuqos")
        return None if answer.status == 404 else answer.ok()

    def limit_range(self):
        answer = self.cluster.api("GET", f"{self.path}/limitranges/gpuqos")
        return None if answer.status == 404 else answer.ok()

    def create(self, item, **options):
        """Creates a pod; returns the Response."""
        return self.cluster.create(self.pods, item, **options)

    def list_pods(self):
        return self.cluster.get(self.pods)["items"]

    def delete_pod(self, name, force=False):
        path = f"{self.pods}/{name}" + ("?gracePeriodSeconds=0" if force else "")
        return self.cluster.api("DELETE", path)

    def wait_pods(self, count):
        def seen():
            pods = self.list_pods()
            return len(pods) == count or NotYet(len(pods))
        wait_for(seen, f"{self.name} has {count} pods")

    def put_quota(self, memory, name="team", enforced=True, **spec):
        """Creates a GpuMemoryQuota, and waits until the API server enforces it."""
        self.cluster.api("POST", self.quotas, quota(memory, name, **spec)).ok()
        return self.wait_enforced(name) if enforced else None

    def patch_quota(self, name="team", **spec):
        self.cluster.api("PATCH", f"{self.quotas}/{name}", {"spec": spec}).ok()

    def delete_quota(self, name="team"):
        self.cluster.api("DELETE", f"{self.quotas}/{name}").ok()

    def quota(self, name="team"):
        return self.cluster.get(f"{self.quotas}/{name}")

    def condition(self, kind, name="team"):
        return condition(self.quota(name), kind)

    def wait_condition(self, kind, status, reason, name="team", timeout=30):
        """Until the condition is that, and about the latest spec; returns the quota."""
        def reached():
            seen = self.quota(name)
            got = condition(seen, kind)
            current = seen.get("status", {}).get("observedGeneration") == seen["metadata"]["generation"]
            right = current and (got["status"], got["reason"]) == (status, reason)
            return seen if right else NotYet(seen.get("status"))
        return wait_for(reached, f"{self.name}/{name}: {kind}={status}, {reason}", timeout)

    def history(self):
        return History(self.cluster, self.quotas)

    def wait_event(self, reason, words, kind="Warning"):
        """Until there is such an Event about one of the quotas; returns it."""
        def seen():
            events = self.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{self.name}/events")["items"]
            found = [e for e in events if (e.get("reason"), e.get("type")) == (reason, kind) and words in e["note"]]
            return found[0] if found else NotYet([(e.get("reason"), e.get("note")) for e in events])
        return wait_for(seen, f"{self.name} has an Event {reason}: {words}")

    def wait_enforced(self, name="team", timeout=30):
        """Until Ready says so and the policy, which has a watch of its own, has seen it."""
        self.wait_condition("Ready", "True", "Enforced", name, timeout)
        wait_for(lambda: self.managed() == "true", f"{self.name} is managed")
        # The API server may take half a minute to find a CRD that was away.
        self.wait_refused(pod("probe", "volcano.sh/vgpu-memory", 1), "cannot price", timeout=90)
        seen = self.quota(name)
        self._wait_priced(seen)
        return seen

    def _wait_priced(self, quota_seen):
        """Until the policy has the prices of this status too: the first status of a quota has none."""
        priced = [row["name"] for row in quota_seen["status"].get("resources", []) if "unitMemory" in row]

        def known():
            answer = self.cluster.api("POST", self.pods + "?dryRun=All", pod("probe", priced[0], 1))
            return "cannot price" not in answer.message or NotYet(answer)
        if priced:
            wait_for(known, f"{self.name}: the policy prices {priced[0]}")

    def wait_refused(self, item, words, timeout=10):
        """Until creating the pod would be refused with these words (dry run)."""
        def refused():
            answer = self.cluster.api("POST", self.pods + "?dryRun=All", item)
            return (answer.status == 403 and words in answer.message and answer) or NotYet(answer)
        return wait_for(refused, f"{self.name} refuses {item['metadata']['name']}: {words}", timeout)


def burst(namespace, items, threads=50):
    """Creates all at once. Returns the refusals."""
    answers = namespace.cluster.create_many(namespace.pods, items, threads)
    assert {answer.status for answer in answers} <= {201, 403}, answers
    return [answer for answer in answers if answer.status == 403]
