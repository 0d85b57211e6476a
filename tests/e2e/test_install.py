"""Installing and taking away, in the right order and in the wrong one."""

import json
import re

import pytest

from cluster import ROOT, NotYet, wait_for
from controller import SYSTEM, install
from gpus import GPU, Namespace, condition, pod

CONFIG = ROOT / "config"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpumemoryquotas.gpuqos.io"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


def installed(cluster):
    """{path of an object of config/default: the object}, as stored."""
    text = cluster.kubectl("get", "-k", str(CONFIG / "default"), "-o", "json")
    return {(o["kind"], o["metadata"]["name"]): o for o in json.loads(text)["items"]}


def passes(namespace, item=None):
    """Whether a pod without GPUs could be created now, and what was said."""
    answer = namespace.cluster.api("POST", namespace.pods + "?dryRun=All", item or pod("plain", amount=0))
    return answer.status == 201 or NotYet(answer)


def test_the_deployment_runs_two_replicas_in_a_restricted_namespace(world, nodes):
    nodes("cpu=2")
    labels = world.cluster.get(f"/api/v1/namespaces/{SYSTEM}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    path = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/gpuqos-controller"

    def available():
        status = world.cluster.get(path)["status"]
        return status.get("availableReplicas") == 2 or NotYet(status)
    wait_for(available, "both replicas are admitted and run")
    # Nothing in the namespace passes that is less careful than they are.
    careless = world.cluster.api("POST", f"/api/v1/namespaces/{SYSTEM}/pods?dryRun=All", pod("careless", amount=0))
    assert careless.status == 403 and "restricted" in careless.message


def test_applying_it_again_changes_nothing(world):
    def versions():
        return {key: (o["metadata"]["uid"], o["metadata"]["generation"]) for key, o in installed(world.cluster).items()
                if "generation" in o["metadata"]}
    before = versions()
    install(world.cluster)
    assert versions() == before


def test_the_api_server_finds_no_fault_in_the_policies(world):
    def checked():
        found = [o for (kind, _), o in installed(world.cluster).items() if kind == "ValidatingAdmissionPolicy"]
        return all(o.get("status", {}).get("observedGeneration") == o["metadata"]["generation"] for o in found) and found
    for policy in wait_for(checked, "all policies are checked"):
        assert not policy["status"].get("typeChecking", {}).get("expressionWarnings"), policy["status"]


@pytest.mark.parametrize("base", ["default", "full"])
def test_the_docs_give_the_controller_its_config(world, tmp_path, base):
    text = (ROOT / "docs" / "operations.md").read_text()
    patch, = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "configMapGenerator" in block]
    (tmp_path / "gpuqos").symlink_to(ROOT)
    own = tmp_path / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_text(f"resources: [../gpuqos/config/{base}]\n" + patch)
    (own / "controller.yaml").write_text("{apiVersion: config.gpuqos.io/v1alpha1, kind: ControllerConfig}\n")
    made = world.cluster.kubectl("apply", "-k", str(own), "--dry-run=server", "-o", "json")
    objects = {(o["kind"], o["metadata"]["name"]): o for o in json.loads(made)["items"]}
    pods = objects["Deployment", "gpuqos-controller"]["spec"]["template"]["spec"]
    container, = pods["containers"]
    assert container["args"][0] == "--leader-elect" and container["args"][-1] == "--config=/etc/gpuqos/controller.yaml"
    assert {"name": "config", "mountPath": "/etc/gpuqos", "readOnly": True} in container["volumeMounts"]
    volume, = [v for v in pods["volumes"] if v["name"] == "config"]
    assert ["extender-tls" in (v["name"] for v in pods["volumes"])] == [base == "full"]
    assert list(objects["ConfigMap", volume["configMap"]["name"]]["data"]) == ["controller.yaml"]


def test_the_samples_are_accepted(world, running, nodes):
    nodes("h100", "mig-mixed")
    made = [Namespace(world.cluster, name) for name in ("chat-prod", "research")]
    for namespace in made:
        world.cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": namespace.name}}).ok()
    try:
        # In the order of their names, as kubectl takes them.
        world.cluster.kubectl("apply", "-f", str(CONFIG / "samples"))
        for namespace in made:
            assert condition(namespace.wait_enforced(), "Accepted")["status"] == "True"
    finally:
        for namespace in made:
            namespace.remove()
        world.cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", str(CONFIG / "samples" / "tenant.yaml"),
                              "-f", str(CONFIG / "samples" / "tenant-admin.yaml"))


# --- taken apart

@pytest.fixture
def repaired(world):
    """Installed again afterwards, whatever was taken away."""
    yield
    if not world.controller.alive:
        world.controller.start(ready=False)
    wait_for(lambda: world.cluster.api("GET", CRD).body.get("metadata", {}).get("deletionTimestamp") is None,
             "no CRD is on its way out")
    install(world.cluster)
    world.controller.wait_ready(60)


def remove(cluster, path):
    cluster.api("DELETE", path)
    wait_for(lambda: cluster.api("GET", path).status == 404, f"{path} is gone")


def remove_policies(cluster):
    items = cluster.get(POLICIES)["items"]
    for name in (item["metadata"]["name"] for item in items if item["metadata"]["name"].startswith("gpuqos-")):
        remove(cluster, f"{BINDINGS}/{name}")
        remove(cluster, f"{POLICIES}/{name}")


@pytest.mark.last
def test_without_the_crd_a_living_controller_sets_the_namespaces_free(world, running, nodes, namespace, repaired):
    nodes("h100")
    namespace.put_quota("320Gi")
    remove(world.cluster, CRD)
    wait_for(lambda: namespace.managed() is None, "the label is taken off")
    wait_for(lambda: passes(namespace), "pods pass")
    assert running.alive and running.page("/healthz")[0] == 200


@pytest.mark.last
def test_the_crd_comes_back_and_all_goes_on(world, running, nodes, namespace, repaired):
    nodes("h100")
    namespace.put_quota("320Gi")
    remove(world.cluster, CRD)
    wait_for(lambda: namespace.managed() is None, "the label is taken off")
    install(world.cluster)
    running.wait_ready(60)
    wait_for(lambda: namespace.resource_quota() is None, "what the lost quota owned is collected", 60)
    namespace.put_quota("160Gi")
    assert namespace.resource_quota()["spec"]["hard"] == {"requests.nvidia.com/gpu": "2"}


@pytest.mark.last
def test_uninstalled_in_order_nothing_is_blocked_at_any_time(world, running, nodes, namespace, repaired):
    nodes("h100")
    namespace.put_quota("320Gi")
    remove_policies(world.cluster)
    assert passes(namespace)
    remove(world.cluster, CRD)
    assert passes(namespace)
    wait_for(lambda: namespace.managed() is None, "the label is taken off")
    wait_for(lambda: namespace.resource_quota() is None, "the garbage collector takes what the quota owned", 60)
    running.stop()
    namespace.create(pod("a", GPU, 8)).ok()
    world.cluster.kubectl("delete", "--ignore-not-found", "-k", str(CONFIG / "default"))
    found = [path for path in (CRD, f"{POLICIES}/gpuqos-quota", f"/api/v1/namespaces/{SYSTEM}",
                               "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpuqos-controller")
             if world.cluster.api("GET", path).status != 404]
    assert found == []
    install(world.cluster)
    # The account is another one now: so are its tokens.
    running.renew_token()


@pytest.mark.last
def test_policies_without_their_crd_block_managed_namespaces_and_no_others(quiet, tell):
    """Installed in the wrong order, on an API server that has never seen the CRD."""
    seen = quiet("policies first")
    assert "failed to find resource referenced by paramKind" in seen["managed"].message
    passing = ("other", "kube-system", "without the label", "a namespace", "other, with a binding left over")
    assert {name: seen[name].status for name in passing} == dict.fromkeys(passing, 201)
    tell(f"pods pass {seen['seconds']:.0f} s after the CRD is there")
