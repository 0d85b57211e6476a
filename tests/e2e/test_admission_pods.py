"""The admission policy: what one pod may ask for, and that no pod without GPUs is ever stopped."""

import pytest

from cluster import quantity, wait_for
from controller import as_tenant
from gpus import GPU, H100, T4, UNIT, container, pod

OFFER = ("h100=2", "t4", "mig-mixed")


@pytest.fixture(autouse=True)
def offer(nodes):
    nodes(*OFFER)


def test_a_pod_above_the_memory_of_per_pod_is_refused_with_both_numbers(namespace):
    namespace.put_quota("320Gi", perPod={"gpuMemory": "160Gi"})
    answer = namespace.wait_refused(pod("big", GPU, 3), "one pod may have 160Gi")
    assert "this pod asks for 3 x nvidia.com/gpu at 81559Mi" in answer.message
    assert f"= {3 * 81559}Mi of GPU memory" in answer.message
    namespace.wait_refused(pod("big", GPU, 3, H100), "one pod may have 160Gi")
    namespace.create(pod("same-count-but-cheaper", GPU, 3, T4)).ok()
    # 160Gi are 163840Mi: two H100 are 163118Mi.
    namespace.create(pod("fits", GPU, 2, H100)).ok()


def test_the_memory_of_per_pod_may_be_no_whole_number_of_bytes(namespace):
    namespace.put_quota("320Gi", perPod={"gpuMemory": "79.7Gi"})
    namespace.create(pod("fits", GPU, 1, H100)).ok()
    namespace.wait_refused(pod("big", GPU, 2, H100), "one pod may have 79.7Gi")
    namespace.patch_quota(perPod={"gpuMemory": f"{UNIT['h100'] - 1}500m"})
    namespace.wait_refused(pod("big", GPU, 1, H100), "one pod may have")


def test_a_pod_above_the_gpus_of_per_pod_is_refused_with_both_numbers(namespace):
    namespace.put_quota("640Gi", perPod={"gpus": 2})
    namespace.wait_refused(pod("big", GPU, 3, T4), "this pod asks for 3 whole GPUs, and one pod may have 2")
    # Slices are no whole GPUs.
    namespace.create(pod("slices", "nvidia.com/mig-1g.10gb", 8)).ok()
    namespace.create(pod("fits", GPU, 2, T4)).ok()


def test_the_cap_on_whole_gpus_counts_what_is_in_use(namespace):
    namespace.put_quota("640Gi", gpus=3)
    namespace.create(pod("two", GPU, 2, T4)).ok()
    wait_for(lambda: namespace.quota()["status"]["gpus"] == 2, "two are counted")
    answer = namespace.wait_refused(pod("more", GPU, 2, T4), "")
    assert "this pod asks for 2 whole GPUs, 2 of 3 are in use" in answer.message or "exceeded quota" in answer.message
    namespace.create(pod("third", GPU, 1, T4)).ok()


def test_a_cap_on_one_resource_is_kept_by_kubernetes_itself(namespace):
    namespace.put_quota("320Gi", resources={"nvidia.com/mig-1g.10gb": 7})
    namespace.create(pod("seven", "nvidia.com/mig-1g.10gb", 7)).ok()
    answer = namespace.wait_refused(pod("more", "nvidia.com/mig-1g.10gb"), "exceeded quota: gpuqos")
    assert "used: requests.nvidia.com/mig-1g.10gb=7, limited: requests.nvidia.com/mig-1g.10gb=7" in answer.message


UNPRICED = ["volcano.sh/vgpu-memory", "nvidia.com/gpumem", "volcano.sh/gpu-memory", "koordinator.sh/gpu-memory",
            "aliyun.com/gpu-mem", "nvidia.com/mig-7g.80gb", "amd.com/gpu", "amd.com/cpx_nps4", "gpu.intel.com/xe"]


def test_what_nothing_prices_is_refused(namespace):
    namespace.put_quota("320Gi")
    for resource in UNPRICED:
        answer = namespace.wait_refused(pod("a", resource), f"cannot price {resource}")
        assert "no node offers it with a known amount of memory" in answer.message
    beside = pod("a", GPU)
    beside["spec"]["containers"].append(container("more", UNPRICED[0], 1))
    namespace.wait_refused(beside, f"cannot price {UNPRICED[0]}")


def greedy_pod(place, **more):
    item = pod("hidden", amount=0)
    item["spec"].setdefault(place, []).append(container("greedy", GPU, 1, **more))
    return item


def test_no_container_is_overlooked(namespace):
    namespace.put_quota("320Gi", perPod={"gpuMemory": "40Gi"})
    for item in (greedy_pod("containers"), greedy_pod("initContainers"),
                 greedy_pod("initContainers", restartPolicy="Always")):
        namespace.wait_refused(item, "one pod may have 40Gi")


def test_no_pod_is_too_odd_to_be_charged(namespace):
    """What the policy lets in the ledger must be able to read, or it would be held for nothing."""
    namespace.put_quota("320Gi")
    names = pod("names-much-asks-little", GPU, 1, T4)
    names["spec"]["containers"][0]["resources"]["limits"] |= {f"nvidia.com/mig-{i}": "0" for i in range(100)}
    crowd = pod("crowd", GPU, 1, T4)
    crowd["spec"]["containers"] += [container(f"c{i}") for i in range(1100)]
    for item in (names, crowd):
        namespace.create(item).ok()
    wait_for(lambda: quantity(namespace.quota()["status"]["used"]) == 2 * UNIT["t4"], "both are charged")


def test_a_product_that_no_node_has_is_charged_at_the_dearest_by_both(namespace):
    """The policy refuses what it cannot price; what the controller counts for a pod that
    came in anyway is the dearest."""
    namespace.create(pod("early", GPU, 1, "No-Such-Card")).ok()
    namespace.put_quota("320Gi")
    wait_for(lambda: quantity(namespace.quota()["status"]["used"]) == UNIT["h100"], "charged as an H100")
    namespace.wait_refused(pod("late", GPU, 1, "No-Such-Card"), "cannot price nvidia.com/gpu on product No-Such-Card")


# --- pods without GPUs

def passes(namespace):
    namespace.create(pod("plain", amount=0)).ok()
    namespace.delete_pod("plain", force=True)


def test_a_pod_without_gpus_passes_when_all_is_used_up(namespace):
    namespace.put_quota("80Gi")
    namespace.create(pod("all", GPU, 1, H100)).ok()
    namespace.wait_refused(pod("more", GPU, 1, T4), "")
    passes(namespace)


def test_a_pod_without_gpus_passes_beside_a_duplicate(namespace):
    namespace.put_quota("80Gi", "first")
    namespace.put_quota("90Gi", "second", enforced=False)
    wait_for(lambda: {namespace.condition("Accepted", name)["reason"] for name in ("first", "second")}
             == {"Accepted", "Duplicate"}, "one of them is a duplicate")
    passes(namespace)


def test_a_pod_without_gpus_passes_while_the_controller_is_dead(running, namespace):
    namespace.put_quota("80Gi")
    running.kill()
    passes(namespace)
    # The policy holds with the last numbers it was given, and Kubernetes' own count goes on: of the
    # smallest device under the name, 80Gi are five.
    namespace.wait_refused(pod("big", GPU, 2, H100), "and only 81920Mi of 80Gi are free")
    answers = [namespace.create(pod(f"p{i}", GPU, 1, T4)) for i in range(8)]
    assert [a.status for a in answers] == [201] * 5 + [403] * 3
    assert "exceeded quota: gpuqos" in answers[-1].message


def test_a_quota_without_status_stops_no_pod(world, running, namespace):
    running.kill()
    label = {"metadata": {"labels": {"gpuqos.io/managed": "true"}}}
    world.cluster.api("PATCH", namespace.path, label).ok()
    namespace.put_quota("80Gi", enforced=False)
    passes(namespace)
    # Nothing is known of it yet: the policy passes it over, and no ResourceQuota exists.
    namespace.create(pod("a", GPU, 1, H100)).ok()
    running.start()
    namespace.wait_enforced()
    wait_for(lambda: namespace.quota()["status"]["pods"] == 1, "the pod is counted afterwards")


def test_a_namespace_without_quota_is_left_alone(world, namespace):
    namespace.create(pod("a", GPU, 8)).ok()
    namespace.create(pod("b", "volcano.sh/vgpu-memory", 5)).ok()
    assert namespace.managed() is None and namespace.resource_quota() is None
    answer = as_tenant(world.cluster, "POST", namespace.pods, pod("c", GPU, 8))
    assert answer.status == 201, answer
