"""What tenants may not touch, though RBAC would let them: the objects named gpuqos and the label."""

import pytest

from cluster import wait_for
from controller import USER, as_tenant
from gpus import GPU, Namespace, pod, quota

HARD = {"spec": {"hard": {"requests.nvidia.com/gpu": "1000"}}}


@pytest.fixture(scope="module")
def managed(world):
    """A namespace with all that the controller makes; no test here changes it."""
    world.cluster.nodes("h100")
    made = Namespace.make(world.cluster)
    made.put_quota("320Gi", containerDefaults={GPU: 1})
    wait_for(made.limit_range, "LimitRange gpuqos exists")
    yield made
    made.remove()


@pytest.mark.parametrize("verb, body", [("PATCH", HARD), ("DELETE", None)], ids=["changed", "deleted"])
@pytest.mark.parametrize("kind", ["resourcequotas", "limitranges"])
def test_a_tenant_cannot_touch_what_the_controller_owns(world, managed, kind, verb, body):
    if kind == "limitranges" and body:
        body = {"spec": {"limits": []}}
    path = f"{managed.path}/{kind}/gpuqos"
    before = world.cluster.get(path)
    answer = as_tenant(world.cluster, verb, path, body)
    assert answer.status == 403 and f'{kind} "gpuqos" in namespace {managed.name} belongs to gpuqos' in answer.message
    assert world.cluster.get(path)["metadata"]["uid"] == before["metadata"]["uid"]
    assert world.cluster.get(path)["spec"] == before["spec"]


def test_a_tenant_cannot_get_round_the_name(world, managed, namespace):
    """Neither before the controller has made it, nor by deleting all there is."""
    first = {"metadata": {"name": "gpuqos"}, "spec": {"limits": []}}
    assert as_tenant(world.cluster, "POST", f"{namespace.path}/limitranges", first).status == 403
    path = f"{managed.path}/resourcequotas"
    assert as_tenant(world.cluster, "DELETE", path).status == 403
    assert managed.resource_quota()
    made = as_tenant(world.cluster, "POST", path, {"metadata": {"generateName": "gpuqos"}, "spec": {"hard": {}}}).ok()
    assert made["metadata"]["name"] != "gpuqos"


def test_a_tenant_cannot_use_subresources_instead(world, managed):
    """What the API server enforces is the status of a ResourceQuota, and a namespace's
    status and finalize carry its labels along."""
    more = {"status": {"hard": {"requests.nvidia.com/gpu": "1000"}}}
    answer = as_tenant(world.cluster, "PATCH", f"{managed.path}/resourcequotas/gpuqos/status", more)
    assert answer.status == 403 and "belongs to gpuqos" in answer.message, answer
    off = {"metadata": {"labels": {"gpuqos.io/managed": None}}}
    assert as_tenant(world.cluster, "PATCH", f"{managed.path}/status", off).status == 403
    without = managed.object()
    del without["metadata"]["labels"]["gpuqos.io/managed"]
    assert as_tenant(world.cluster, "PUT", f"{managed.path}/finalize", without).status == 403
    assert managed.managed() == "true"


def test_a_tenant_may_have_resource_quotas_of_other_names(world, managed):
    path = f"{managed.path}/resourcequotas"
    as_tenant(world.cluster, "POST", path, {"metadata": {"name": "own"}, "spec": {"hard": {"pods": "9"}}}).ok()
    as_tenant(world.cluster, "PATCH", f"{path}/own", {"spec": {"hard": {"pods": "8"}}}).ok()
    as_tenant(world.cluster, "DELETE", f"{path}/own").ok()


@pytest.mark.parametrize("value", [None, "false"], ids=["removed", "changed"])
def test_a_tenant_cannot_take_the_label_off(world, managed, value):
    answer = as_tenant(world.cluster, "PATCH", managed.path, {"metadata": {"labels": {"gpuqos.io/managed": value}}})
    assert answer.status == 403 and "is set and removed by gpuqos" in answer.message, answer
    assert managed.managed() == "true"
    as_tenant(world.cluster, "PATCH", managed.path, {"metadata": {"labels": {"team": "a"}}}).ok()


def test_a_tenant_cannot_put_the_label_on(world, namespace):
    on = {"metadata": {"labels": {"gpuqos.io/managed": "true"}}}
    assert as_tenant(world.cluster, "PATCH", namespace.path, on).status == 403
    fresh = {"metadata": {"name": f"{namespace.name}-x"} | on["metadata"]}
    assert as_tenant(world.cluster, "POST", "/api/v1/namespaces", fresh).status == 403


def test_a_tenant_writes_quotas_and_not_their_status(world, running, namespace):
    as_tenant(world.cluster, "POST", namespace.quotas, quota("320Gi")).ok()
    status = as_tenant(world.cluster, "PATCH", f"{namespace.quotas}/team/status", {"status": {"used": "0"}})
    assert status.status == 403
    namespace.wait_condition("Accepted", "True", "Accepted")
    # What a tenant writes into status with the object itself is dropped by the API server.
    as_tenant(world.cluster, "PATCH", f"{namespace.quotas}/team", {"status": {"effective": "9Ti"}}).ok()
    assert namespace.quota()["status"]["effective"] == "320Gi"


def test_a_namespace_that_is_deleted_is_emptied(world, running, namespace):
    """The namespace controller deletes our objects: the guards must not keep it from it."""
    namespace.put_quota("320Gi", containerDefaults={GPU: 1})
    namespace.create(pod("a")).ok()
    namespace.remove()
    wait_for(lambda: world.cluster.api("GET", namespace.path).status == 404, "the namespace is gone", 60)


def test_the_controller_may_do_no_more_than_it_must(world):
    """By the rights of its account: no secrets, no creating or deleting of pods, nothing everywhere."""
    def can(verb, resource, namespace="kube-system"):
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
            "resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace}}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        groups = ["system:serviceaccounts", "system:serviceaccounts:gpuqos-system", "system:authenticated"]
        return world.cluster.api("POST", path, review, user=USER, groups=groups).ok()["status"]["allowed"]
    forbidden = [("get", "secrets"), ("list", "secrets"), ("create", "pods"), ("delete", "pods"),
                 ("update", "nodes"), ("delete", "namespaces"), ("*", "*")]
    assert [f for f in forbidden if can(*f)] == []
    assert can("list", "pods") and can("create", "resourcequotas")
