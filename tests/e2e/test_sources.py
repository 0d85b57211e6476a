"""One number over every way of sharing a card, and which gate holds each.

For nodes and pods as each project makes them (tests/data/sources) a quota has room for one pod. Two
are created while the controller is stopped, so that the policy sees nothing of the first: what then
refuses the second is ResourceQuota, which says so, or nothing does and it is only reported. When the
controller goes on, used, live and the rows that `kubectl get gmq` shows are the sum by hand, to the
byte, and the policy refuses a third. The table is printed.
"""

import contextlib
import signal
import typing

import pytest

import dra
from cluster import NotYet, quantity, wait_for
from gpus import GIB, GPU, MIB
from sources import Asked, asking, governed, load, offer_only, plain_node, wait_status

H200, H100, A10, A100 = 143771 * MIB, 81559 * MIB, 23028 * MIB, 40960 * MIB
MEM, PART, CORES = "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"
VOLCANO, VOLCANO_MEM, VOLCANO_PART = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage"
KOORD_MEM, RATIO = "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"
WHOLE = "whole.example.com.deviceclass.resource.k8s.io/devices"


class Case(typing.NamedTuple):
    """keys: what ResourceQuota counts of a pod, and the least that a unit may hold. held: ResourceQuota
    refuses a second pod where the policy has not seen the first."""

    source: str
    node: str
    pod: typing.Any
    words: str
    by_hand: int
    keys: dict
    held: bool


# What users write with several containers: init, sidecars, both keys.
LAYERED = asking("layered", ("sidecar", {GPU: 1}), ("init", {GPU: 3}), {GPU: 1}, {GPU: 1})
HAMI_LAYERED = asking("layered", ("init", {GPU: 2, MEM: 900}), ("sidecar", {MEM: 100}), {GPU: 1, MEM: 500, CORES: 10}, {GPU: 1, PART: 25})
VOLCANO_LAYERED = asking("layered", ("init", {VOLCANO: 1, VOLCANO_MEM: 512}), {VOLCANO: 2, VOLCANO_MEM: 1024}, {VOLCANO: 1, VOLCANO_PART: 10})
KOORD_BOTH = asking("both", {KOORD_MEM: "4Gi", RATIO: 10, "koordinator.sh/gpu-core": 10})

CASES = [Case(*case) for case in [
    ("nvidia", "whole", "pair", "2 x 143771Mi", 2 * H200, {GPU: (2, H200)}, True),
    ("nvidia", "whole", LAYERED, "(sidecar 1 + init 3) x 143771Mi", 4 * H200, {GPU: (4, H200)}, True),
    ("nvidia", "mig-mixed", "slices", "71424Mi + 2 x 16384Mi", (71424 + 2 * 16384) * MIB,
     {"nvidia.com/mig-3g.71gb": (1, 71424 * MIB), "nvidia.com/mig-1g.18gb": (2, 16384 * MIB)}, True),
    ("nvidia", "mig-single", "single", "3 x 4864Mi", 3 * 4864 * MIB, {GPU: (3, 4864 * MIB)}, True),
    ("nvidia", "time-sliced", "sliced", "81559Mi / 4", H100 // 4, {GPU: (1, H100 // 4)}, True),
    ("nvidia", "mps", "mps", "81559Mi / 10", H100 // 10, {GPU: (1, H100 // 10)}, True),
    ("nvidia", "renamed", "renamed", "3 x (81559Mi / 10)", 3 * (H100 // 10), {"nvidia.com/gpu.shared": (3, H100 // 10)}, True),
    ("hami", "json", "memory", "2 x 3000Mi", 6000 * MIB, {MEM: (3000, MIB), GPU: (2, MIB)}, False),
    ("hami", "json", "memory-alone", "3000Mi", 3000 * MIB, {MEM: (3000, MIB)}, True),
    ("hami", "json", "percentage", "2 x 50 x (143771Mi / 100)", 100 * (H200 // 100), {PART: (50, H200 // 100)}, False),
    ("hami", "csv", "percentage-csv", "25 x (40960Mi / 100)", 25 * (A100 // 100), {PART: (25, A100 // 100)}, True),
    ("hami", "json", "percentage-full", "143771Mi", H200, {PART: (100, H200 // 100)}, True),
    ("hami", "json", "cores", "cores are of a card: 143771Mi", H200, {}, False),
    ("hami", "json", "whole", "2 x 143771Mi", 2 * H200, {GPU: (2, MIB)}, False),
    ("hami", "json", "lowered", "annotation lowers nothing: 3000Mi", 3000 * MIB, {MEM: (3000, MIB)}, True),
    ("hami", "json", "allocated", "asked 3000Mi, allocated 4096Mi", 4096 * MIB, {MEM: (3000, MIB)}, True),
    ("hami", "json", HAMI_LAYERED, "2 x 900Mi + 25 x (143771Mi / 100)", 1800 * MIB + 25 * (H200 // 100),
     {MEM: (900, MIB), PART: (25, H200 // 100)}, True),
    ("volcano", "register", "memory", "2 x 2048Mi", 4096 * MIB, {VOLCANO_MEM: (2048, MIB)}, False),
    ("volcano", "register", "memory-alone", "2048Mi", 2048 * MIB, {VOLCANO_MEM: (2048, MIB)}, True),
    ("volcano", "register", "percentage", "30 x (23028Mi / 100)", 30 * (A10 // 100), {VOLCANO_PART: (30, A10 // 100)}, True),
    ("volcano", "register", VOLCANO_LAYERED, "2 x 1024Mi + 10 x (23028Mi / 100)", 2048 * MIB + 10 * (A10 // 100),
     {VOLCANO_MEM: (1024, MIB), VOLCANO_PART: (10, A10 // 100)}, True),
    ("volcano", "unlabelled", "whole", "24564Mi", 24564 * MIB, {VOLCANO: (1, MIB)}, False),
    ("koordinator", "shared", "memory", "16Gi", 16 * GIB, {KOORD_MEM: (16 * GIB, 1)}, True),
    ("koordinator", "shared", "ratio", "50 x (81559Mi / 100)", 50 * (H100 // 100), {RATIO: (50, H100 // 100)}, True),
    ("koordinator", "shared", "gpu", "200 x (81559Mi / 100)", 200 * (H100 // 100), {"koordinator.sh/gpu": (200, H100 // 100)}, True),
    ("koordinator", "shared", "memory-of-two", "20Gi", 20 * GIB, {KOORD_MEM: (20 * GIB, 1)}, True),
    ("koordinator", "shared", "cores-alone", "200 x (81559Mi / 100)", 200 * (H100 // 100), {}, False),
    ("koordinator", "shared", KOORD_BOTH, "4Gi + 10 x (81559Mi / 100)", 4 * GIB + 10 * (H100 // 100),
     {KOORD_MEM: (4 * GIB, 1), RATIO: (10, H100 // 100)}, True),
    ("kai", "whole", "half", "500 x (143771Mi / 1000)", 500 * (H200 // 1000), {}, False),
    ("kai", "whole", "thirds", "2 x 334 x (143771Mi / 1000)", 668 * (H200 // 1000), {}, False),
    ("kai", "whole", "memory", "8192Mi", 8192 * MIB, {}, False),
    ("kai", "whole", "memory-of-two", "2 x 8192Mi", 16384 * MIB, {}, False),
    ("amd", "whole", "four", "4 x 192Gi", 4 * 192 * GIB, {"amd.com/gpu": (4, 192 * GIB)}, True),
    ("amd", "partitioned", "partitions", "3 x 24Gi, by the table", 3 * 24 * GIB, {"amd.com/cpx_nps4": (3, 24 * GIB)}, True),
    ("intel", "max", "one", "128Gi, by the table", 128 * GIB, {"gpu.intel.com/i915": (1, 128 * GIB)}, True),
    ("table", "ascend", "ascend", "2 x 64Gi, by the table", 2 * 64 * GIB, {"huawei.com/Ascend910": (2, 64 * GIB)}, True),
]]
# What no one can read is refused at once.
UNREADABLE = [("hami", "json", "percentage-absurd", "is above 100"), ("kai", "whole", "unreadable", "and must be a decimal number"),
              ("kai", "whole", "above-one", "and must be a decimal number")]
LINE = "{:12} {:13} {:16} {:34} {:>13} {:>13}  {}"


@contextlib.contextmanager
def standing_still(controller):
    """No status is written meanwhile: that is what a burst of creates sees."""
    controller.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        controller.signal(signal.SIGCONT)


class Try:
    """Two pods of a case in a namespace with room for one."""

    def __init__(self, cluster, case):
        self.case = case
        self.asked = Asked(load(case.source, "pod", case.pod) if isinstance(case.pod, str) else case.pod)
        self.space = governed(cluster, case.by_hand, case.source)
        self.admitted, self.refusal = [], None

    def create(self):
        wait_for(lambda: self.space.create(self.asked.named("first")).ok(), f"{self.case} is admitted")
        answer = self.space.create(self.asked.named("second"))
        self.admitted = ["first"] if answer.status == 403 else ["first", "second"]
        if answer.status == 403:
            self.refusal = answer.message
        else:
            answer.ok()

    def bind(self):
        """Nothing of ours stands there, whatever was admitted."""
        node = load(self.case.source, "node", self.case.node)["metadata"]["name"]
        for name in self.admitted:
            self.asked.bind(self.space, name, node)

    def check_keys(self):
        """The ResourceQuota, by hand: what it allows, and what it has counted."""
        status = self.space.resource_quota()["status"]
        for name, (asked, smallest) in self.case.keys.items():
            key = f"requests.{name}"
            if key in status["hard"]:
                assert quantity(status["hard"][key]) == self.case.by_hand // smallest, (self.case, status)
                assert quantity(status["used"][key]) == asked * len(self.admitted), (self.case, status)
            else:
                assert name == "koordinator.sh/gpu", (self.case, status)

    def check(self, cluster):
        """Returns the line of the table."""
        space, case = self.space, self.case
        total = case.by_hand * len(self.admitted)
        wait_status(space, total)
        self.check_keys()
        third = space.wait_refused(self.asked.named("third"), "GpuMemoryQuota team: ")
        assert "are free" in third.message, third
        if self.refusal:
            assert "exceeded quota: gpuqos, requested: requests." in self.refusal, self.refusal
        else:
            space.wait_condition("Exceeded", "True", "OverLimit")
        shown = cluster.kubectl("get", "gmq", "team", "-n", space.name, "-o", "jsonpath={.status.used}")
        assert quantity(shown) == total, case
        return LINE.format(case.source, case.node, self.asked.item["metadata"]["name"], case.words, total, quantity(shown),
                           gates(bool(self.refusal)) + ("" if bool(self.refusal) == case.held else "  NOT AS THE DOCS SAY"))


def gates(held):
    """Of one more pod: in a burst, and after it."""
    return "ResourceQuota; policy" if held else "reported; policy"


def table(lines):
    head = LINE.format("source", "node", "pod", "by hand", "bytes", "kubectl", "a burst is held by; one pod by")
    return "\n    ".join([head, *lines])


def test_every_source_agrees_with_the_sum_by_hand(world, told, tell):
    lines = []
    for node in dict.fromkeys(case[:2] for case in CASES):
        offer_only(world.cluster, told, load(node[0], "node", node[1]))
        tries = [Try(world.cluster, case) for case in CASES if case[:2] == node]
        with standing_still(told):
            for each in tries:
                each.create()
        for each in tries:
            each.bind()
        lines += [each.check(world.cluster) for each in tries]
        for each in tries:
            each.space.remove()
    tell(table(lines))
    assert not [line for line in lines if "NOT AS" in line]


@pytest.mark.parametrize("source, node, name, words", UNREADABLE)
def test_what_cannot_be_read_is_refused(world, told, source, node, name, words):
    offer_only(world.cluster, told, load(source, "node", node))
    space = governed(world.cluster, 2 << 40, source)
    space.wait_refused(Asked(load(source, "pod", name)).item, words)
    space.remove()


def test_what_the_table_has_is_not_free_while_no_node_offers_it(world, told):
    offer_only(world.cluster, told, load("nvidia", "node", "whole"))
    space = governed(world.cluster, 2 << 40, "table")
    space.wait_refused(asking("early", {"example.com/coming": 1}), "cannot price example.com/coming")
    assert space.resource_quota()["spec"]["hard"]["requests.example.com/coming"] == "0"
    space.remove()


def test_a_percentage_beside_memory_is_not_charged_but_counted(world, told):
    """HAMi goes by the memory. ResourceQuota knows of no such rule: the percentage has to fit as well."""
    offer_only(world.cluster, told, load("hami", "node", "json"))
    pod, part = Asked(load("hami", "pod", "both")), 50 * (H200 // 100)
    for room, said in ((part - 1, f"exceeded quota: gpuqos, requested: requests.{PART}=50, used: requests.{PART}=0, limited: requests.{PART}=49"), (part, "")):
        space = governed(world.cluster, room, "hami")
        if said:
            space.wait_refused(pod.item, said)
        else:
            wait_for(lambda made=space: made.create(pod.item).ok(), "the pod is admitted")
            pod.bind(space, "both", "hami-json")
            wait_status(space, 3000 * MIB)
        space.remove()


# --- DRA: the real scheduler allocates

@pytest.fixture
def devices(world, told):
    """A node with four cards that a driver publishes."""
    cluster, made = world.cluster, dra.slices("dra-0", [dra.whole(i) for i in range(4)]) + dra.classes()
    offer_only(cluster, told, plain_node("dra-0"))
    for item in made:
        cluster.api("POST", path_of(item), item).ok()
    yield cluster
    for item in made:
        cluster.api("DELETE", f"{path_of(item)}/{item['metadata']['name']}")


def path_of(item):
    return f"{dra.API}/{'resourceslices' if item['kind'] == 'ResourceSlice' else 'deviceclasses'}"


def make_claim(space, name, count=1):
    item = dra.claim(name, dra.exactly("r", "whole.example.com", count))
    return space.cluster.api("POST", f"{dra.API}/namespaces/{space.name}/resourceclaims", item)


def try_claim(space):
    """A claim that two pods share; another claim."""
    wait_for(lambda: make_claim(space, "first").ok(), "the claim is admitted")
    for name in ("a", "b"):
        space.create(dra.pod(name, "first")).ok()
    return make_claim(space, "second").message


def try_extended(space):
    """The scheduler makes the claim, for a resource that no device plugin has."""
    wait_for(lambda: space.create(dra.pod("first", extended=[(GPU, 1)])).ok(), "the pod is admitted")
    return space.create(dra.pod("second", extended=[(GPU, 1)])).message


def try_template(space):
    """Kubernetes makes the claims, and is told when it may not; the pod waits."""
    path = f"{dra.API}/namespaces/{space.name}/resourceclaimtemplates"
    space.cluster.api("POST", path, dra.template("card", dra.exactly("r", "whole.example.com"))).ok()
    space.create(dra.pod("first", "template/card")).ok()
    claims = f"{dra.API}/namespaces/{space.name}/resourceclaims"
    wait_for(lambda: space.cluster.get(claims)["items"], "there is a claim for the first pod")
    space.create(dra.pod("second", "template/card")).ok()

    def told_of():
        events = space.cluster.get(f"{space.path}/events")["items"]
        notes = [e["message"] for e in events if e["reason"] == "FailedResourceClaimCreation" and e["involvedObject"]["name"] == "second"]
        return (notes and notes[-1]) or NotYet([(e["reason"], e["message"]) for e in events])
    return wait_for(told_of, "an Event says why the second pod waits")


@pytest.mark.parametrize("kind, attempt, key", [
    ("claim of two", try_claim, WHOLE), ("template", try_template, WHOLE), ("extended", try_extended, f"requests.{GPU}")],
    ids=["a claim that pods share", "a template", "an extended resource"])
def test_claims_agree_with_the_sum_by_hand(devices, told, tell, kind, attempt, key):
    space = governed(devices, H100, "dra")
    with standing_still(told):
        refusal = attempt(space)
    assert f"exceeded quota: gpuqos, requested: {key}=1, used: {key}=1, limited: {key}=1" in refusal
    wait_status(space, H100)
    status = space.resource_quota()["status"]
    assert (status["hard"][key], status["used"][key]) == ("1", "1")
    third = wait_for(lambda: "GpuMemoryQuota team: " in make_claim(space, "third").message and make_claim(space, "third"), "the policy refuses")
    assert "are free" in third.message
    tell(table([LINE.format("dra", "slices", kind, "81559Mi", H100, quantity(space.quota()["status"]["used"]), gates(True))]))
    space.remove()


def test_one_quota_over_whole_cards_slices_parts_and_claims_is_one_number(devices, told, tell):
    cluster, space = devices, None
    nodes = [("nvidia", "whole"), ("nvidia", "mig-mixed"), ("hami", "json"), ("koordinator", "shared"), ("amd", "whole")]
    offer_only(cluster, told, plain_node("dra-0"), *[load(source, "node", name) for source, name in nodes])
    space = governed(cluster, 8 << 40, "all")
    asked = [("nvidia", "whole", "pair", 2 * H200), ("nvidia", "mig-mixed", "slices", (71424 + 2 * 16384) * MIB),
             ("hami", "json", "memory", 6000 * MIB), ("hami", "json", "both", 3000 * MIB),
             ("koordinator", "shared", "memory", 16 * GIB), ("amd", "whole", "four", 4 * 192 * GIB)]
    for source, node, name, _ in asked:
        pod = Asked(load(source, "pod", name))
        wait_for(lambda wanted=pod.named(f"{source}-{name}"): space.create(wanted).ok(), f"{name} is admitted")
        pod.bind(space, f"{source}-{name}", load(source, "node", node)["metadata"]["name"])
    make_claim(space, "card").ok()
    for number in range(2):
        space.create(dra.pod(f"shares-{number}", "card", nodeSelector={"kubernetes.io/hostname": "dra-0"})).ok()
    total = sum(bytes_ for *_, bytes_ in asked) + H100
    wait_status(space, total)
    tell(f"whole cards, MIG, HAMi, Koordinator, AMD and a claim of two pods: {total} bytes by hand, "
         f"{space.quota()['status']['used']} by kubectl")
    space.remove()
