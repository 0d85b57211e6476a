"""The GpuMemoryQuota CRD on a real API server: what it accepts, the words with which
it refuses, its defaults, columns and explanations."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
from cluster import ROOT, Cluster, wait_for

CRD = ROOT / "crds" / "gpumemoryquotas.yaml"
QUOTAS = "/apis/gpuqos.io/v1alpha1/namespaces/default/gpumemoryquotas"
LONG = "example.com/" + "x" * 306


@pytest.fixture(scope="module")
def cluster():
    with Cluster.start("--without", "controller-manager,scheduler,kwok") as started:
        started.kubectl("apply", "-f", str(CRD))
        wait_for(lambda: started.get(QUOTAS), "the CRD is served")
        yield started


def create(cluster, spec, name="q", query="?dryRun=All&fieldValidation=Strict"):
    body = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota",
            "metadata": {"name": name}, "spec": spec}
    return cluster.api("POST", QUOTAS + query, body)


@pytest.mark.parametrize("spec", [
    {"gpuMemory": "320Gi"},
    {"gpuMemory": "1Gi"},
    {"gpuMemory": "1.5Ti"},
    {"gpuMemory": 1073741824},
    {"gpuMemory": "7Ei"},
    {"gpuMemory": "320Gi", "gpus": 0, "perPod": {}, "resources": {}, "containerDefaults": {}},
    {"gpuMemory": "320Gi", "gpus": 4, "perPod": {"gpuMemory": "320Gi", "gpus": 2},
     "resources": {"nvidia.com/mig-1g.10gb": 7, "amd.com/cpx_nps4": "8", "nvidia.com/gpu.shared": 0},
     "containerDefaults": {"nvidia.com/gpu": 1},
     "onShrink": "Freeze", "releaseOn": "Deletion", "enforcement": "Enforce"},
])
def test_accepts(cluster, spec):
    create(cluster, spec).ok()


WHOLE = "amounts of resources are whole numbers, 0 or more"
NAMED = "names of resources are written domain/name, such as nvidia.com/gpu"


@pytest.mark.parametrize("spec, field, message", [
    ({}, "spec.gpuMemory", "Required value"),
    ({"gpuMemory": 320}, "spec.gpuMemory",
     "gpuMemory 320 is less than 1Gi; write it with a unit, such as 320Gi"),
    ({"gpuMemory": "320"}, "spec.gpuMemory",
     "gpuMemory 320 is less than 1Gi; write it with a unit, such as 320Gi"),
    ({"gpuMemory": "1023Mi"}, "spec.gpuMemory", "gpuMemory 1023Mi is less than 1Gi"),
    ({"gpuMemory": "-4Gi"}, "spec.gpuMemory", "gpuMemory -4Gi is less than 1Gi"),
    ({"gpuMemory": "4GiB"}, "spec.gpuMemory", "gpuMemory must be a quantity of bytes, such as 320Gi"),
    ({"gpuMemory": ""}, "spec.gpuMemory", "gpuMemory must be a quantity of bytes, such as 320Gi"),
    ({"gpuMemory": "8Ei"}, "spec.gpuMemory", "gpuMemory must be less than 8Ei"),
    ({"gpuMemory": "4Gi", "gpus": -1}, "spec.gpus", "gpus must be 0 or more"),
    ({"gpuMemory": "4Gi", "gpus": 1.5}, "spec.gpus", "must be of type int"),
    ({"gpuMemory": "4Gi", "perPod": {"gpuMemory": "5Gi"}}, "spec.perPod.gpuMemory",
     "perPod.gpuMemory 5Gi is more than gpuMemory 4Gi"),
    ({"gpuMemory": "4Gi", "perPod": {"gpuMemory": "0"}}, "spec.perPod.gpuMemory",
     "gpuMemory must be more than 0"),
    ({"gpuMemory": "4Gi", "perPod": {"gpuMemory": "much"}}, "spec.perPod.gpuMemory",
     "gpuMemory must be a quantity of bytes, such as 160Gi"),
    ({"gpuMemory": "4Gi", "perPod": {"gpus": -1}}, "spec.perPod.gpus", "gpus must be 0 or more"),
    ({"gpuMemory": "4Gi", "resources": {"cpu": 1}}, "spec.resources", NAMED),
    ({"gpuMemory": "4Gi", "resources": {"nvidia.com/": 1}}, "spec.resources", NAMED),
    ({"gpuMemory": "4Gi", "resources": {LONG: 1}}, "spec.resources", NAMED),
    ({"gpuMemory": "4Gi", "resources": {"nvidia.com/gpu": "1.5"}}, "spec.resources", WHOLE),
    ({"gpuMemory": "4Gi", "resources": {"nvidia.com/gpu": -1}}, "spec.resources", WHOLE),
    ({"gpuMemory": "4Gi", "resources": {f"nvidia.com/mig-{i}g": 1 for i in range(65)}},
     "spec.resources", "must have at most 64 items"),
    ({"gpuMemory": "4Gi", "containerDefaults": {"gpu": 1}}, "spec.containerDefaults", NAMED),
    *[({"gpuMemory": "4Gi", "containerDefaults": {name: 1}}, "spec.containerDefaults", NAMED)
      for name in ("a..b/x", "a.-b/x", ".a/x", "nvidia.com/gpu_", "nvidia.com/" + "x" * 64, "a" * 245 + "/x", "a/b/c")],
    *[({"gpuMemory": "4Gi", "containerDefaults": {name: 1}}, "spec.containerDefaults",
       "only extended resources can be given to containers, such as nvidia.com/gpu")
      for name in ("requests.nvidia.com/gpu", "kubernetes.io/x", "pod.kubernetes.io/x")],
    ({"gpuMemory": "4Gi", "containerDefaults": {"nvidia.com/gpu": "one"}}, "spec.containerDefaults",
     WHOLE),
    ({"gpuMemory": "4Gi", "onShrink": "Drain"}, "spec.onShrink", 'supported values: "Freeze"'),
    ({"gpuMemory": "4Gi", "releaseOn": "Terminal"}, "spec.releaseOn", 'supported values: "Deletion"'),
    ({"gpuMemory": "4Gi", "enforcement": "DryRun"}, "spec.enforcement", 'supported values: "Enforce"'),
])
def test_refuses_in_plain_words(cluster, spec, field, message):
    answer = create(cluster, spec)
    assert answer.status == 422
    causes = answer.body["details"]["causes"]
    assert any(cause["field"] == field and message in cause["message"] for cause in causes), causes


def test_refuses_fields_it_does_not_know(cluster):
    answer = create(cluster, {"gpuMemory": "4Gi", "gpuMemroy": "5Gi"})
    assert answer.status == 400 and "gpuMemroy" in answer.message


def test_fills_in_defaults_and_shows_columns(cluster):
    spec = create(cluster, {"gpuMemory": "320Gi"}, "shown", "").ok()["spec"]
    assert spec == {"gpuMemory": "320Gi", "onShrink": "Freeze", "releaseOn": "Deletion",
                    "enforcement": "Enforce"}
    moment = "2026-01-02T03:04:05Z"
    condition = {"status": "True", "reason": "Enforced", "message": "m", "lastTransitionTime": moment}
    status = {"effective": "160Gi", "used": "81559Mi", "usedPercent": 50, "gpus": 1, "pods": 2,
              "resources": [{"name": "nvidia.com/gpu", "used": 1, "hard": 2}],
              "conditions": [condition | {"type": "Ready"},
                             condition | {"type": "Throttled", "status": "False"}]}
    # Without a product: the default makes it part of the list's key.
    stored = cluster.api("PATCH", f"{QUOTAS}/shown/status", {"status": status}).ok()["status"]
    assert stored["resources"][0]["product"] == ""
    head, row = cluster.kubectl("get", "gmq", "shown").splitlines()
    assert head.split() == ["NAME", "MEMORY", "EFFECTIVE", "USED", "USED%", "GPUS", "PODS",
                            "THROTTLED", "READY", "AGE"]
    assert row.split()[:-1] == ["shown", "320Gi", "160Gi", "81559Mi", "50", "1", "2", "False", "True"]
    assert "shown" in cluster.kubectl("get", "gpuqos")


def test_status_is_written_by_its_own_endpoint_only(cluster):
    create(cluster, {"gpuMemory": "4Gi"}, "apart", "").ok()
    cluster.api("PATCH", f"{QUOTAS}/apart", {"status": {"used": "1Gi"}}).ok()
    assert "status" not in cluster.get(f"{QUOTAS}/apart")
    cluster.api("PATCH", f"{QUOTAS}/apart/status", {"spec": {"gpuMemory": "9Gi"}}).ok()
    after = cluster.get(f"{QUOTAS}/apart")
    assert after["spec"]["gpuMemory"] == "4Gi" and after["metadata"]["generation"] == 1


def fields_of(schema, path):
    """(path, schema) of every property below, through lists too."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from fields_of(inner, f"{path}.{name}")
    if "items" in schema:
        yield from fields_of(schema["items"], path)


def test_explains_every_field(cluster):
    crd = cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpumemoryquotas.gpuqos.io")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = [path for path, _ in fields_of(schema, "gmq") if path != "gmq.metadata"]
    assert len(fields) > 35, json.dumps(fields)
    for path in ("gmq", "gmq.spec.gpuMemory", "gmq.status.resources", "gmq.status.conditions.reason"):
        assert "<empty>" not in cluster.kubectl("explain", path).split("DESCRIPTION:")[1], path
    missing = [path for path, inner in fields_of(schema, "gmq")
               if path != "gmq.metadata" and len(inner.get("description", "")) < 15]
    assert not missing
