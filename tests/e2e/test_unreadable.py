"""Objects as large and as odd as the API server lets through are charged like others.

Whoever may create a pod may give it labels until etcd refuses it, and whoever may
label a namespace likewise. What does not concern us in them must not hide what does.
"""

import itertools
import string

from cluster import NotYet, quantity, wait_for
from gpus import GPU, MIB, SOAK, UNIT, container, pod
from sources import load, offer_only
from tenants import Tenant

CARD = UNIT["h100"]
PART = 900 * (CARD // 1000)  # what gpu-fraction 0.9 costs
LETTERS = string.ascii_lowercase + string.digits
KEYS = ("".join(letters) for n in (2, 3, 4) for letters in itertools.product(LETTERS, repeat=n))
# etcd takes no more than 66,000, and the API server is busy with such a pod for ten seconds.
LABELS = dict.fromkeys(itertools.islice(KEYS, 66000 if SOAK else 40000), "")
MANY = dict(itertools.islice(LABELS.items(), 60000 if SOAK else 20000))


def cards(n):
    return f"{n * CARD // MIB}Mi"


def part(name, **metadata):
    """A pod that asks by annotation alone: nothing but us counts it."""
    return pod(name, amount=0, annotations={"gpu-fraction": "0.9"}, **metadata)


def wait_used(namespace, used):
    def shown():
        now = quantity(namespace.quota()["status"]["used"])
        return now == used or NotYet(now)
    wait_for(shown, f"{namespace.name} uses {used}")


def unreadable(controller, resource):
    return controller.metric("gpuqos_watch_unreadable_total", resource=resource)


def test_labels_do_not_hide_a_pod(running, nodes, namespace):
    nodes("h100=2")
    before = unreadable(running, "pods")
    namespace.put_quota(cards(1))
    namespace.create(part("many", labels=LABELS)).ok()
    wait_used(namespace, PART)
    namespace.wait_refused(part("more", labels=MANY), "are free")
    assert unreadable(running, "pods") == before


def test_a_pod_that_grows_keeps_its_charge_and_goes_with_it(running, nodes, namespace):
    nodes("h100=2")
    namespace.put_quota(cards(1))
    namespace.create(part("grows")).ok()
    wait_used(namespace, PART)
    namespace.cluster.api("PATCH", f"{namespace.pods}/grows", {"metadata": {"labels": MANY}}).ok()
    running.kill()
    running.start()
    # The first status after a restart that shows the latest is seen by what it admits.
    namespace.patch_quota(gpuMemory=cards(2))
    namespace.wait_condition("Ready", "True", "Enforced")
    wait_used(namespace, PART)
    namespace.delete_pod("grows", force=True)
    wait_used(namespace, 0)


def test_what_kai_s_annotations_ask_for_is_not_to_be_had_by_name(running, nodes, namespace):
    nodes("h100=2")
    names = [f"kai.scheduler/gpu-{part}" for part in ("fraction", "memory")]
    for number, name in enumerate(names):  # from before there was a quota
        namespace.create(pod(f"old-{number}", name, 1000000)).ok()
    namespace.put_quota(cards(1))
    for name in names:
        namespace.wait_refused(pod("p", name, 1000000), f"cannot price {name}")
    namespace.create(part("part")).ok()
    wait_used(namespace, PART)
    # Its row, which is shown by now, prices the annotation and not the name.
    for name in names:
        namespace.wait_refused(pod("p", name), f"cannot price {name}")


def koordinator(name, names):
    asks = {f"koordinator.sh/gpu-{'core' if i == 0 else f'x{i}'}": "1" for i in range(names)}
    item = pod(name, amount=0)
    item["spec"]["containers"] = [container("main") | {"resources": {"limits": asks}}]
    return item


def test_names_that_nobody_knows_do_not_hide_a_pod(world, running, namespace):
    offer_only(world.cluster, running, load("koordinator", "node", "shared"))
    namespace.put_quota("100Gi", enforced=False)
    namespace.wait_condition("Ready", "True", "Enforced")
    namespace.create(koordinator("one", 1)).ok()

    def charged():
        now = quantity(namespace.quota()["status"]["used"])
        return now > 0 and (now,) or NotYet(now)
    one = wait_for(charged, "one name is charged")[0]
    namespace.delete_pod("one", force=True)
    wait_used(namespace, 0)
    namespace.create(koordinator("many", 70)).ok()
    wait_used(namespace, one)
    namespace.wait_refused(koordinator("more", 70), "are free")


def test_a_pod_that_never_ran_was_allocated_nothing(world, running, namespace):
    """The scheduler tells by annotation what it gave, and so may the tenant."""
    offer_only(world.cluster, running, load("hami", "node", "json"))
    namespace.put_quota("100Gi", enforced=False)
    namespace.wait_condition("Ready", "True", "Enforced")
    items = [pod(name, "nvidia.com/gpumem", 1000) for name in ("waits", "next")]
    for item in items:
        item["spec"]["nodeSelector"] = {"no": "such"}
    namespace.create(items[0]).ok()
    wait_used(namespace, 1000 * MIB)
    told = {"hami.io/vgpu-devices-allocated": "GPU-x,NVIDIA,9000000000,30:;"}
    namespace.cluster.api("PATCH", f"{namespace.pods}/waits", {"metadata": {"annotations": told}}).ok()
    # The next one is seen after that.
    namespace.create(items[1]).ok()
    wait_used(namespace, 2000 * MIB)


def test_labels_do_not_take_a_namespace_from_its_tenant(world, running, nodes, make_namespace):
    nodes("h100=4")
    namespaces = make_namespace(), make_namespace()
    tenant = Tenant.make(world.cluster, *namespaces, ceiling={"gpuMemory": cards(2)})
    try:
        for namespace in namespaces:
            namespace.put_quota(cards(1))
        first, second = namespaces
        second.create(pod("holds")).ok()
        wait_used(second, CARD)
        labels = {f"l{i}": "v" for i in range(600)}
        world.cluster.api("PATCH", second.path, {"metadata": {"labels": labels}}).ok()
        running.kill()
        running.start()
        first.patch_quota(gpuMemory=cards(2))
        first.wait_condition("Accepted", "False", "CeilingExceeded")
        tenant.wait_status(namespaceCount=2)
        assert first.resource_quota()["spec"]["hard"][f"requests.{GPU}"] == "1"
        second.patch_quota(gpuMemory=cards(0.5))
        second.wait_condition("Exceeded", "True", "Shrunk")
    finally:
        tenant.remove()


def test_a_namespace_born_with_many_labels_is_governed(world, running, nodes, namespace):
    nodes("h100=4")
    world.cluster.api("PATCH", namespace.path, {"metadata": {"labels": MANY}}).ok()
    namespace.put_quota(cards(1))
    namespace.create(pod("fits")).ok()
    assert namespace.create(pod("late")).status == 403
    assert unreadable(running, "namespaces") == 0
