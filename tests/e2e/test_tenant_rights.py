"""A tenant's admin, with the roles that are shipped: does what the samples show, and cannot get out by anything it may write.

vera has the sample's roles and no more. vic has, in the same namespaces, more than one should give: ResourceQuotas, namespaces, all of
TenantQoS by its name; where RBAC stops vera, it is our policies that stop vic.
"""

import json

import pytest

from cluster import ROOT, NotYet, wait_for
from controller import TENANT_RULES
from gpus import GPU, pod
from published import BINDINGS, TENANTS, accepted, bindings_of, row

SAMPLES = ROOT / "config" / "samples"
SPACES = ("vision", "vision-dev")
RBAC = "rbac.authorization.k8s.io"
KAI = {"gpu-fraction": "0.5"}
HARD = {"spec": {"hard": {"requests.nvidia.com/gpu": "4"}}}
GATES = [{"apiGroups": ["gpuqos.io"], "resources": ["gpumemoryquotas/gates", "tenantqos/platform"], "verbs": ["update"]}]


class Person:
    """Who asks; groups as an identity provider would tell."""

    def __init__(self, cluster, name, *groups):
        self.cluster, self.name = cluster, name
        self.groups = [*groups, "system:authenticated"]

    def ask(self, verb, path, body=None, content_type=None):
        return self.cluster.api(verb, path, body, content_type, user=self.name, groups=self.groups)

    def kubectl(self, *args, **options):
        return self.cluster.kubectl(f"--as={self.name}", *(f"--as-group={g}" for g in self.groups), *args, **options)


def broad_rights():
    """For vic, in each namespace; and the TenantQoS with every verb."""
    kind = {"apiVersion": f"{RBAC}/v1"}
    subject = [{"apiGroup": RBAC, "kind": "User", "name": "vic"}]
    items = [kind | {"kind": "ClusterRole", "metadata": {"name": "too-much"}, "rules": TENANT_RULES + [
                {"apiGroups": ["gpuqos.io"], "resources": ["gpumemoryquotas/status"], "verbs": ["patch"]},
                {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["deletecollection"]}]},
             kind | {"kind": "ClusterRole", "metadata": {"name": "too-much-of-one"}, "rules": [
                 {"apiGroups": ["gpuqos.io"], "resources": ["tenantqos", "tenantqos/status"], "verbs": ["*"]}]},
             kind | {"kind": "ClusterRoleBinding", "metadata": {"name": "too-much-of-one"}, "subjects": subject,
                     "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "too-much-of-one"}}]
    items += [kind | {"kind": "RoleBinding", "metadata": {"name": "too-much", "namespace": space}, "subjects": subject,
                      "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "too-much"}} for space in SPACES]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def play_the_controller(cluster):
    """Labels, ResourceQuotas, statuses and bindings, as they would come from the objects of the sample."""
    for each in bindings_of(cluster.get(f"{TENANTS}/vision")):
        cluster.api("POST", BINDINGS, each).ok()
    for space in SPACES:
        path = f"/api/v1/namespaces/{space}"
        cluster.api("PATCH", path, {"metadata": {"labels": {"gpuqos.io/managed": "true", "gpuqos.io/tenant": "vision"}}}).ok()
        cluster.api("POST", f"{path}/resourcequotas", {"metadata": {"name": "gpuqos"}, **HARD}).ok()
        cluster.api("PATCH", f"/apis/gpuqos.io/v1alpha1/namespaces/{space}/gpumemoryquotas/team/status", {"status": {
            "observedGeneration": 1, "effective": "320Gi", "used": "0", "resources": [row(GPU, "80Gi")],
            "deviceClasses": [{"name": "gpu.nvidia.com", "resource": GPU}], "conditions": [accepted()]}}).ok()
        wait_for(lambda path=path: cluster.get(f"{path}/resourcequotas/gpuqos")["status"].get("hard"), "the quota controller has seen it")


@pytest.fixture(scope="module")
def vera(policies):
    """The sample is applied by a platform admin, its quotas by vera herself."""
    made = Person(policies, "vera", "vision-admins")
    text = (SAMPLES / "tenant.yaml").read_text().split("---\n")
    platform = Person(policies, "pat", "platform")
    policies.kubectl("create", "clusterrolebinding", "platform", "--clusterrole=gpuqos-platform-admin", "--group=platform")
    policies.kubectl("apply", "-f", "-", stdin="---\n".join(t for t in text if "kind: Namespace" in t))
    policies.kubectl("apply", "-f", str(SAMPLES / "tenant-admin.yaml"))
    policies.kubectl("apply", "-f", "-", stdin=broad_rights())
    wait_for(lambda: platform.kubectl("apply", "-f", "-", stdin="---\n".join(t for t in text if "kind: TenantQoS" in t)), "rights act")
    made.kubectl("apply", "-f", "-", stdin="---\n".join(t for t in text if "kind: GpuMemoryQuota" in t))
    play_the_controller(policies)
    yield made
    for each in bindings_of(policies.get(f"{TENANTS}/vision")):
        policies.api("DELETE", f"{BINDINGS}/{each['metadata']['name']}")
    policies.kubectl("delete", "--wait=false", "-f", str(SAMPLES / "tenant.yaml"))
    policies.kubectl("delete", "clusterrolebinding", "platform", "too-much-of-one")


@pytest.fixture(scope="module")
def vic(vera):
    return Person(vera.cluster, "vic", "vision-admins")


TENANT = f"{TENANTS}/vision"
SPACE = "/api/v1/namespaces/vision"
PODS = f"{SPACE}/pods"
QUOTAS = "/apis/gpuqos.io/v1alpha1/namespaces/vision/gpumemoryquotas"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/vision/resourceclaims"


def test_the_tenant_admin_does_what_the_samples_show(vera):
    """Quotas of its own namespaces, and the opened fields of its own TenantQoS."""
    vera.kubectl("patch", "gmq", "team", "-n", "vision", "--type=merge", "-p", '{"spec": {"gpuMemory": "400Gi"}}')
    vera.kubectl("patch", "tqos", "vision", "--type=merge", "-p", '{"spec": {"priorityClasses": ["gpuqos-training"]}}')
    vera.kubectl("patch", "tqos", "vision", "--type=merge", "-p", '{"spec": {"qosClass": {"class": "Burstable", "action": "Warn"}}}')
    vera.kubectl("patch", "tqos", "vision", "--type=merge", "-p", '{"spec": {"topology": {"policy": "Required"}}}')
    assert "vision" in vera.kubectl("get", "tqos", "vision")
    assert "team" in vera.kubectl("get", "gmq", "-n", "vision-dev")
    vera.kubectl("delete", "gmq", "team", "-n", "vision-dev")
    text = (SAMPLES / "tenant.yaml").read_text().split("---\n")
    vera.kubectl("apply", "-f", "-", stdin="---\n".join(t for t in text if "kind: GpuMemoryQuota" in t))
    vera.ask("POST", PODS + "?dryRun=All", pod("p")).ok()


def test_a_viewer_looks_and_does_no_more(policies, vera):
    policies.kubectl("create", "rolebinding", "viewers", "-n", "vision", "--clusterrole=view", "--group=vision-viewers")
    viewer = Person(policies, "val", "vision-viewers")
    assert "team" in wait_for(lambda: viewer.kubectl("get", "gmq", "-n", "vision"), "the viewer sees the quota")
    assert viewer.ask("PATCH", f"{QUOTAS}/team", {"spec": {"gpuMemory": "1Ti"}}).status == 403
    assert viewer.ask("GET", TENANT).status == 403


def test_the_platform_admin_may_all_of_it(policies, vera):
    pat = Person(policies, "pat", "platform")
    pat.ask("PATCH", TENANT + "?dryRun=All", {"spec": {"tier": "Inference", "ceiling": {"gpuMemory": "1Ti"}}}).ok()
    pat.ask("PATCH", f"{QUOTAS}/team?dryRun=All", {"spec": {"enforcement": "DryRun"}}).ok()
    pat.ask("POST", TENANTS + "?dryRun=All", {"apiVersion": "gpuqos.io/v1alpha1", "kind": "TenantQoS", "metadata": {"name": "other"},
                                              "spec": {"namespaceSelector": {"matchLabels": {"team": "o"}}, "tier": "Training"}}).ok()
    pat.ask("DELETE", TENANT + "?dryRun=All").ok()


def spec(**fields):
    return {"spec": fields}


def labels(**values):
    return {"metadata": {"labels": {key.replace("__", "/").replace("_", "."): value for key, value in values.items()}}}


def quota_with(**fields):
    return {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota", "metadata": {"name": "more"},
            "spec": {"gpuMemory": "1Gi", **fields}}


def container_with(**fields):
    item = pod("p", amount=0)
    item["spec"]["containers"][0].update(fields)
    return item


def pod_with(**fields):
    item = pod("p")
    item["spec"].update(fields)
    return item


def claim(device, kind="ResourceClaim", **metadata):
    inner = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", **device}}]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "c", **metadata},
            "spec": inner if kind == "ResourceClaim" else {"spec": inner}}


OWNER = {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"}]}}
ROLE = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "gates"}, "rules": GATES}
TO_PLATFORM = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "up"},
               "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "gpuqos-platform-admin"},
               "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "vera"}]}
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
SECOND = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "TenantQoS", "metadata": {"name": "ours"},
          "spec": {"namespaceSelector": {"matchLabels": {"team": "vision"}}, "tier": "Inference"}}

# What is tried, by whom, the request, and words of the refusal.
ATTEMPTS = [
    ("raise the tier", "vera", "PATCH", TENANT, spec(tier="Inference"), "spec.tier is for those who may update tenantqos/platform"),
    ("raise the ceiling", "vera", "PATCH", TENANT, spec(ceiling={"gpuMemory": "9Ti"}), "spec.ceiling is for those"),
    ("remove the ceiling", "vera", "PATCH", TENANT, spec(ceiling=None), "spec.ceiling is for those"),
    ("select other namespaces", "vera", "PATCH", TENANT, spec(namespaceSelector={"matchLabels": {"a": "b"}}), "spec.namespaceSelector is for those"),
    ("open more fields", "vera", "PATCH", TENANT, spec(delegated=[]), "spec.delegated is for those"),
    ("have the TenantQoS collected as garbage", "vera", "PATCH", TENANT, OWNER, "metadata.ownerReferences is for those"),
    ("keep the TenantQoS from being deleted", "vera", "PATCH", TENANT, {"metadata": {"finalizers": ["a.b/c"]}}, "metadata.finalizers is for those"),
    ("write its status", "vera", "PATCH", f"{TENANT}/status", {"status": {"used": "0"}}, 'cannot patch resource "tenantqos/status"'),
    ("the same with that right", "vic", "PATCH", f"{TENANT}/status", {"status": {"used": "0"}}, "is written by gpuqos alone"),
    ("delete the TenantQoS", "vera", "DELETE", TENANT, None, 'cannot delete resource "tenantqos"'),
    ("the same with that right", "vic", "DELETE", TENANT, None, "may delete it"),
    ("make a TenantQoS of its own", "vera", "POST", TENANTS, SECOND, 'cannot create resource "tenantqos"'),
    ("the same with that right", "vic", "POST", TENANTS, SECOND, "may create it"),

    ("switch the quota to DryRun", "vera", "PATCH", f"{QUOTAS}/team", spec(enforcement="DryRun"), "spec.enforcement is for those who may"),
    ("make a quota in DryRun", "vera", "POST", QUOTAS, quota_with(enforcement="DryRun"), "spec.enforcement is for those who may"),
    ("let terminating pods go early", "vera", "PATCH", f"{QUOTAS}/team", spec(releaseOn="Terminal"), "spec.releaseOn is for those who may"),
    ("make a quota that does", "vera", "POST", QUOTAS, quota_with(releaseOn="Terminal"), "spec.releaseOn is for those who may"),
    ("let them go at once", "vera", "PATCH", f"{QUOTAS}/team", spec(terminalTimeoutSeconds=0), "spec.terminalTimeoutSeconds is for those"),
    ("write the quota's status", "vera", "PATCH", f"{QUOTAS}/team/status", {"status": {"used": "0"}}, 'cannot patch resource "gpumemoryquotas/status"'),
    ("the same with that right", "vic", "PATCH", f"{QUOTAS}/team/status", {"status": {"used": "0"}}, "is written by gpuqos alone"),
    ("change another's quota", "vera", "POST", QUOTAS.replace("/vision/", "/default/"), quota_with(), "cannot create resource"),

    ("raise the ResourceQuota", "vera", "PATCH", f"{SPACE}/resourcequotas/gpuqos", HARD, 'cannot patch resource "resourcequotas"'),
    ("the same with that right", "vic", "PATCH", f"{SPACE}/resourcequotas/gpuqos", spec(hard={"requests.nvidia.com/gpu": "99"}),
     "within the ceiling of TenantQoS vision: change that one instead"),
    ("through its status", "vic", "PATCH", f"{SPACE}/resourcequotas/gpuqos/status", {"status": {"hard": {"requests.nvidia.com/gpu": "9"}}}, "belongs to gpuqos"),
    ("delete the ResourceQuota", "vic", "DELETE", f"{SPACE}/resourcequotas/gpuqos", None, "belongs to gpuqos"),
    ("delete all ResourceQuotas", "vic", "DELETE", f"{SPACE}/resourcequotas", None, "belongs to gpuqos"),
    ("make the LimitRange first", "vic", "POST", f"{SPACE}/limitranges", {"metadata": {"name": "gpuqos"}, "spec": {"limits": []}}, "belongs to gpuqos"),

    ("take the namespace out of sight", "vera", "PATCH", SPACE, labels(gpuqos_io__managed=None), 'cannot patch resource "namespaces"'),
    ("the same with that right", "vic", "PATCH", SPACE, labels(gpuqos_io__managed=None), "the label gpuqos.io/managed of namespace vision"),
    ("leave the tenant", "vic", "PATCH", SPACE, labels(gpuqos_io__tenant=None), "the label gpuqos.io/tenant of namespace vision"),
    ("have a quota by saying so", "vic", "PATCH", SPACE, labels(gpuqos_io__quota="team"), "the label gpuqos.io/quota of namespace vision"),
    ("go to another tenant", "vic", "PATCH", SPACE, labels(gpuqos_io__tenant="rich"), "the label gpuqos.io/tenant of namespace vision"),
    ("no longer be selected", "vic", "PATCH", SPACE, labels(team="rich"), "the label team of namespace vision says whether it belongs"),
    ("the same through the status", "vic", "PATCH", f"{SPACE}/status", labels(team=None), "the label team of namespace vision says whether"),
    ("let claims have devices of others", "vic", "PATCH", SPACE, {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
     "the label resource.kubernetes.io/admin-access of namespace vision"),

    ("unbind a policy", "vera", "DELETE", f"{BINDINGS}/gpuqos-tenant-vision", None, "cannot delete resource"),
    ("delete a policy", "vera", "DELETE", f"{POLICIES}/gpuqos-quota", None, "cannot delete resource"),
    ("make a PriorityClass", "vera", "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "top"}, "value": 1}, "cannot create resource"),
    ("grant itself the gates", "vera", "POST", f"/apis/{RBAC}/v1/namespaces/vision/roles", ROLE, "attempting to grant RBAC permissions not currently held"),
    ("bind itself to the platform", "vera", "POST", f"/apis/{RBAC}/v1/namespaces/vision/rolebindings", TO_PLATFORM, "attempting to grant RBAC permissions not currently held"),

    ("run ahead of its tier", "vera", "POST", PODS, pod_with(priorityClassName="gpuqos-inference"), "this pod has PriorityClass gpuqos-inference"),
    ("more than the quota", "vera", "POST", PODS, pod("p", GPU, 5), "GpuMemoryQuota team: this pod asks for 5 x nvidia.com/gpu"),
    ("go past the scheduler", "vera", "POST", PODS, pod_with(nodeName="n"), "spec.nodeName n places a pod"),
    ("see all GPUs", "vera", "POST", PODS, container_with(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]), "sets NVIDIA_VISIBLE_DEVICES"),
    ("be privileged", "vera", "POST", PODS, container_with(securityContext={"privileged": True}), "is privileged and so reaches all GPUs"),
    ("mount the devices", "vera", "POST", PODS, pod_with(volumes=[{"name": "v", "hostPath": {"path": "/dev"}}]), "hostPath /dev reaches the GPUs"),
    ("have CDI add a device", "vera", "POST", PODS, pod("p", amount=0, annotations={"cdi.k8s.io/a": "nvidia.com/gpu=all"}), "annotation cdi.k8s.io/a reaches"),
    ("ask for next to nothing afterwards", "vera", "PATCH", f"{PODS}/half", {"metadata": {"annotations": {"gpu-fraction": "0.001"}}}, "stays as it was when the pod was created"),
    ("ask for nothing afterwards", "vera", "PATCH", f"{PODS}/half", {"metadata": {"annotations": {"gpu-fraction": None}}}, "stays as it was when the pod was created"),
    ("ask in a way nobody can read", "vera", "POST", PODS, pod("p", amount=0, annotations={"gpu-fraction": "0,1"}), 'annotation gpu-fraction is "0,1"'),
    ("administrative access to devices", "vic", "POST", CLAIMS, claim({"adminAccess": True}), "admin"),
    ("the same by a template", "vic", "POST", f"{CLAIMS}templates".replace("claimstemplates", "claimtemplates"),
     claim({"adminAccess": True}, "ResourceClaimTemplate"), "admin"),
    ("a claim over the quota", "vic", "POST", CLAIMS, claim({"count": 5}), "GpuMemoryQuota team: this claim asks for 5 x gpu.nvidia.com"),
    ("a claim that says the scheduler made it", "vic", "POST", CLAIMS,
     claim({"count": 5}, annotations={"resource.kubernetes.io/extended-resource-claim": "true"}), "this claim asks for 5 x gpu.nvidia.com"),
]


def wait_effective(vera, vic):
    """Until the API server's policies, each with watches of its own, go by the quota's status and by the TenantQoS."""
    for who, verb, path, body, words in (
            (vic, "POST", PODS, pod("p", GPU, 5), "GpuMemoryQuota team: this pod asks"),
            (vera, "POST", PODS, pod_with(priorityClassName="gpuqos-inference"), "this pod has PriorityClass gpuqos-inference"),
            (vic, "PATCH", SPACE, labels(team="rich"), "the label team of namespace vision")):
        def refused(who=who, verb=verb, path=path, body=body, words=words):
            answer = who.ask(verb, path + "?dryRun=All", body)
            return words in answer.message or NotYet(answer)
        # The API server may take half a minute to find a CRD that was away.
        wait_for(refused, f"refused: {words}", 90)


def test_nothing_that_a_tenant_may_write_sets_it_free(policies, vera, vic, tell):
    policies.api("POST", PODS, pod("half", amount=0, annotations=KAI)).ok()
    wait_effective(vera, vic)
    before = [policies.get(path) for path in (TENANT, SPACE, f"{QUOTAS}/team", f"{SPACE}/resourcequotas/gpuqos", f"{PODS}/half")]
    lines, wrong = [], []
    for attempt, who, verb, path, body, words in ATTEMPTS:
        answer = {"vera": vera, "vic": vic}[who].ask(verb, path, body)
        lines.append(f"| {who} | {attempt} | {answer.message.split('denied request: ')[-1]} |")
        if answer.status not in (403, 422) or words not in answer.message:
            wrong.append((attempt, words, answer.status, answer.message))
    tell("\n    ".join(["who may what, and is refused:", *lines]))
    assert wrong == []
    after = [policies.get(item_path) for item_path in (TENANT, SPACE, f"{QUOTAS}/team", f"{SPACE}/resourcequotas/gpuqos", f"{PODS}/half")]
    assert [(o.get("spec"), o["metadata"].get("labels"), o["metadata"].get("annotations")) for o in after] \
        == [(o.get("spec"), o["metadata"].get("labels"), o["metadata"].get("annotations")) for o in before]
    assert policies.get(PODS)["items"][0]["metadata"]["name"] == "half" and len(policies.get(PODS)["items"]) == 1
