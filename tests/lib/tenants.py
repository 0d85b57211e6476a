"""A TenantQoS of a test, and what its namespaces may hold together."""

import json
import socket
import threading
import uuid

from cluster import NotYet, wait_for
from gpus import GPU, H100, MIB, UNIT, condition, pod

CARD = UNIT["h100"]
PATH = "/apis/gpuqos.io/v1alpha1/tenantqos"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


def tenant_qos(name, tier="Training", **spec):
    return {"apiVersion": "gpuqos.io/v1alpha1", "kind": "TenantQoS", "metadata": {"name": name},
            "spec": {"namespaceSelector": {"matchLabels": {"team": name}}, "tier": tier, **spec}}


class Tenant:
    """It has the namespaces that were adopted: those with label team of its name."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.path = f"{PATH}/{name}"
        self.namespaces = []

    @classmethod
    def make(cls, cluster, *namespaces, **spec):
        made = cls(cluster, f"tenant-{uuid.uuid4().hex[:8]}")
        cluster.api("POST", PATH, tenant_qos(made.name, **spec)).ok()
        for namespace in namespaces:
            made.adopt(namespace)
        return made

    def adopt(self, namespace):
        """The namespace is the tenant's, and the API server says so."""
        self.cluster.api("PATCH", namespace.path, {"metadata": {"labels": {"team": self.name}}}).ok()
        self.namespaces.append(namespace)
        wait_for(lambda: self.label(namespace) == self.name, f"{namespace.name} is labelled")

    def dismiss(self, namespace):
        self.cluster.api("PATCH", namespace.path, {"metadata": {"labels": {"team": None}}}).ok()
        self.namespaces.remove(namespace)
        wait_for(lambda: self.label(namespace) is None, f"{namespace.name} is no more labelled")

    @staticmethod
    def label(namespace):
        return namespace.object()["metadata"]["labels"].get("gpuqos.io/tenant")

    def object(self):
        return self.cluster.get(self.path)

    def patch(self, **spec):
        self.cluster.api("PATCH", self.path, {"spec": spec}).ok()

    def remove(self):
        self.cluster.api("DELETE", self.path)

    def wait_condition(self, kind, status, reason):
        def reached():
            seen = self.object()
            got = condition(seen, kind)
            current = seen.get("status", {}).get("observedGeneration") == seen["metadata"]["generation"]
            return (current and (got["status"], got["reason"]) == (status, reason) and seen) or NotYet(seen.get("status"))
        return wait_for(reached, f"{self.name}: {kind}={status}, {reason}")

    def wait_status(self, **fields):
        """Until status has these fields; numbers as numbers, amounts as text."""
        def reached():
            status = self.object().get("status", {})
            return {name: status.get(name) for name in fields} == fields or NotYet(status)
        wait_for(reached, f"{self.name}: {fields}")

    def bindings(self):
        """{name: spec} of the policy bindings that are its own."""
        return {item["metadata"]["name"]: item["spec"] for item in self.cluster.get(BINDINGS)["items"]
                if (item["spec"].get("paramRef") or {}).get("name") == self.name}


def cards(number):
    """Memory of so many devices, as a quantity."""
    return f"{number * CARD // MIB}Mi"


def hard_of(quota, part, resource=GPU):
    return int((quota.get(part) or {}).get("hard", {}).get(f"requests.{resource}", 0))


def hard(namespace, part="status"):
    """Devices that ResourceQuota gpuqos allows; None where there is none."""
    found = namespace.resource_quota()
    return None if found is None else hard_of(found, part)


def wait_hard(namespace, number, part="status"):
    def reached():
        got = hard(namespace, part)
        return got == number or NotYet((got, namespace.resource_quota()))
    wait_for(reached, f"{namespace.name} may hold {number} devices")


class CeilingWatch:
    """Reads every change of every ResourceQuota, in the order in which they were made, and keeps the
    largest sum that these namespaces could hold at any moment: what spec.hard asks to be enforced or
    what status.hard still enforces, whichever is more. What was counted once must stay so: ResourceQuota
    lets in any number where it has no key, and so `with` fails if one goes.

        with CeilingWatch(cluster, [a, b]) as watch:
            ...
        assert watch.most <= 8
    """

    def __init__(self, cluster, namespaces, resource=GPU):
        self.cluster, self.resource = cluster, resource
        self.names = {n.name for n in namespaces}
        self.now, self.most, self.changes = {}, 0, 0
        self.counted, self.lapses = set(), []

    def __enter__(self):
        listed = self.cluster.get("/api/v1/resourcequotas")
        for item in listed["items"]:
            self._take("ADDED", item)
        self.connection, self.answer = self.cluster.client.stream(
            f"/api/v1/resourcequotas?watch=true&resourceVersion={listed['metadata']['resourceVersion']}")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def _take(self, kind, item):
        meta = item["metadata"]
        if meta["namespace"] not in self.names or meta["name"] != "gpuqos":
            return
        if f"requests.{self.resource}" in item.get("status", {}).get("hard", {}) and kind != "DELETED":
            self.counted.add(meta["namespace"])
        elif meta["namespace"] in self.counted:
            self.lapses.append((kind, meta["namespace"]))
        hard = max(hard_of(item, part, self.resource) for part in ("spec", "status"))
        self.now[meta["namespace"]] = 0 if kind == "DELETED" else hard
        self.changes += 1
        self.most = max(self.most, sum(self.now.values()))

    def _read(self):
        try:
            for line in self.answer:
                event = json.loads(line)
                self._take(event["type"], event["object"])
        except (OSError, ValueError):
            pass

    def __exit__(self, error, *_):
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()
        assert error or not self.lapses, f"no longer counted: {self.lapses}"


def pod_names(namespace):
    """Of those that are not on their way out."""
    return {p["metadata"]["name"] for p in namespace.list_pods() if "deletionTimestamp" not in p["metadata"]}


def fill(namespace, *names, **options):
    """One pod of one device for each name, one after another, until all run. Of pods of one
    second the first by name counts as the youngest, so give names backwards where that matters."""
    for name in names:
        item = pod(name, product=H100, **options)
        wait_for(lambda i=item: namespace.create(i).ok(), f"{name} is admitted")

    def running():
        phases = {p["metadata"]["name"]: p["status"]["phase"] for p in namespace.list_pods()}
        return all(phases.get(name) == "Running" for name in names) or NotYet(phases)
    wait_for(running, f"{names} run")


def wait_throttled(space, status, reason):
    """The words of condition Throttled of its quota team."""
    def reached():
        got = condition(space.quota("team"), "Throttled")
        return (got["status"], got["reason"]) == (status, reason) and got["message"] or NotYet(got)
    return wait_for(reached, f"{space.name}: Throttled={status}, {reason}")


def wait_throttle(tenant, **fields):
    def reached():
        got = tenant.object().get("status", {}).get("throttle", {})
        return {name: got.get(name) for name in fields} == fields or NotYet(got)
    wait_for(reached, f"{tenant.name}: {fields}")


def throttle(tenant):
    return tenant.object()["status"]["throttle"]
