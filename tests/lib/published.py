"""Namespaces whose GpuMemoryQuota has the status that a test wants, with no controller about.

    team = Published.make(cluster, "800Gi", rows=[row(GPU, "80Gi", H100)])
    team.wait_refused(pod("a", GPU, 11), "only 819200Mi")
    team.refuses(pod("b", GPU, 12))         # the words of the refusal, once the policy has seen the status
"""

import secrets

from gpus import Namespace, pod, quota

# A row of its own in each status, at a price that no other status has: a refusal that tells it has seen this one.
PROBE = "nvidia.com/mig-probe"


def row(name, unit=None, product="", used=0, sharing="None", **more):
    """An entry of status.resources."""
    made = {"name": name, "product": product, "used": used, "sharing": sharing, **more}
    return made | ({"unitMemory": unit} if unit is not None else {})


def accepted(status="True", reason="Accepted"):
    return {"type": "Accepted", "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


class Published(Namespace):
    """A managed namespace, with a quota whose status says what it is told to."""

    @classmethod
    def make(cls, cluster, memory="800Gi", rows=(), labels=None, prefix="p", **spec):
        made = super().make(cluster, prefix)
        made.label(**{"gpuqos.io/managed": "true"} | (labels or {}))
        cluster.api("POST", made.quotas, quota(memory, **spec)).ok()
        made.publish(memory, rows)
        return made

    def label(self, **labels):
        self.cluster.api("PATCH", self.path, {"metadata": {"labels": labels}}).ok()

    def publish(self, effective, rows, name="team", **status):
        """Writes the status, and waits until the policies go by it."""
        mark = row(PROBE, str((1 << 20) + secrets.randbelow(1 << 19)), sharing="MIG")
        stamp = {"observedGeneration": self.quota(name)["metadata"]["generation"], "effective": effective, "used": "0",
                 "resources": [*rows, mark], "conditions": [accepted()], **status}
        self.cluster.api("PATCH", f"{self.quotas}/{name}/status", {"status": stamp}).ok()
        if self.quota(name)["spec"].get("enforcement") != "DryRun" and "conditions" not in status:
            self.wait_refused(pod("probe", PROBE, 10**12), f"at {mark['unitMemory']} ")

    def answer(self, item, path=None, **options):
        """What the API server would answer to creating it: a dry run."""
        return self.cluster.api("POST", (path or self.pods) + "?dryRun=All", item, **options)

    def refuses(self, item, **options):
        """The message of the refusal."""
        answer = self.answer(item, **options)
        assert answer.status == 403, answer
        return answer.message

    def admits(self, item, **options):
        self.answer(item, **options).ok()

    def api_class(self, item):
        """The QoS class that Kubernetes gives to it, asked where no policy looks."""
        done = self.cluster.api("POST", "/api/v1/namespaces/default/pods?dryRun=All", item).ok()
        return done["status"]["qosClass"]


TENANTS = "/apis/gpuqos.io/v1alpha1/tenantqos"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


def tenant_qos(name, **spec):
    return {"apiVersion": "gpuqos.io/v1alpha1", "kind": "TenantQoS", "metadata": {"name": name},
            "spec": {"namespaceSelector": {"matchLabels": {"team": name}}, "tier": "Training", **spec}}


def binding(policy, tenant, actions=("Deny",), **resources):
    """As the controller writes it."""
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": policy + "-" + tenant if policy != "gpuqos-tenant-pods" else f"gpuqos-tenant-{tenant}"},
            "spec": {"policyName": policy, "validationActions": list(actions), "matchResources": resources,
                     "paramRef": {"name": tenant, "parameterNotFoundAction": "Allow"}}}


def bindings_of(item):
    name, spec = item["metadata"]["name"], item["spec"]
    inside = {"namespaceSelector": {"matchLabels": {"gpuqos.io/tenant": name}}}
    made = [binding("gpuqos-tenant-pods", name, **inside),
            binding("gpuqos-tenant-labels", name, objectSelector=spec["namespaceSelector"])]
    if "qosClass" in spec:
        made.append(binding("gpuqos-tenant-qos", name, [spec["qosClass"]["action"]], **inside))
    return made


class PublishedTenant:
    """A TenantQoS and its bindings, written as the controller would."""

    def __init__(self, cluster, name, **spec):
        self.cluster, self.name = cluster, name
        self.path = f"{TENANTS}/{name}"
        item = tenant_qos(name, **spec)
        cluster.api("POST", TENANTS, item).ok()
        self.bindings = bindings_of(item)
        for each in self.bindings:
            cluster.api("POST", BINDINGS, each).ok()

    def labels(self):
        """Of its namespaces."""
        return {"team": self.name, "gpuqos.io/managed": "true", "gpuqos.io/tenant": self.name}

    def remove(self):
        for each in self.bindings:
            self.cluster.api("DELETE", f"{BINDINGS}/{each['metadata']['name']}").ok()
        self.cluster.api("DELETE", self.path)
