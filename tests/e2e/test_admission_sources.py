"""What the admission policy charges for each way of asking for GPU memory: the numbers of its refusals, from statuses
that the test publishes."""

import re

import pytest

from cluster import quantity, wait_for
from gpus import GPU, H100, MIB, T4, container, pod
from published import Published, accepted, row

CARD, SMALL = 81559 * MIB, 15360 * MIB
RATIO = "koordinator.sh/gpu-memory-ratio"
CLASS = "gpu.example.com.deviceclass.resource.k8s.io/devices"
ROWS = [
    row(GPU, str(CARD), H100), row(GPU, str(SMALL), T4),
    row("nvidia.com/gpumem", "1Mi", H100, sharing="Unknown"),
    row("nvidia.com/gpumem-percentage", str(CARD // 100), H100, sharing="Unknown"),
    row("volcano.sh/vgpu-number", str(CARD), H100),
    row("volcano.sh/vgpu-memory", "1Mi", H100, sharing="Unknown"),
    row("volcano.sh/vgpu-memory-percentage", str(CARD // 100), H100, sharing="Unknown"),
    row("koordinator.sh/gpu-memory", "1", H100, sharing="Unknown"),
    row(RATIO, str(CARD // 100), H100, sharing="Unknown"),
    row("huawei.com/Ascend910", "64Gi", "910B"),
    row(CLASS, "40Gi", "A100"),
]
ASK = "deviceclass.resource.kubernetes.io/"
CLASSES = [{"name": "big.nvidia.com", "resource": GPU}, {"name": "gpu.nvidia.com", "resource": GPU},
           {"name": "nic.example.com", "resource": ""}, {"name": "nic.example.org", "resource": ""},
           {"name": "npu.example.com", "resource": "example.com/npu"}]


@pytest.fixture(scope="module")
def team(policies):
    """Nothing is left in it: every refusal tells the charge."""
    made = Published.make(policies, "800Gi", ROWS)
    made.publish("800Gi", ROWS, used="800Gi", deviceClasses=CLASSES)
    yield made
    made.remove()


def asking(*containers, product=None, overhead=None, **annotations):
    """A pod of containers that are {resource: amount}; ("init", {...}) and ("sidecar", {...}) for others."""
    item = pod("asks", amount=0, product=product, annotations=annotations)
    spec = item["spec"]
    spec["containers"], spec["initContainers"] = [], []
    for i, entry in enumerate(containers):
        kind, wants = entry if isinstance(entry, tuple) else ("normal", entry)
        made = container(f"c{i}") | {"resources": {"limits": {name: str(n) for name, n in wants.items()}}}
        if kind == "sidecar":
            made["restartPolicy"] = "Always"
        spec["containers" if kind == "normal" else "initContainers"].append(made)
    if not spec["containers"]:
        spec["containers"].append(container("main"))
    return item


HAMI_MEM, HAMI_PART, HAMI_CORES = "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"
VOLCANO, VOLCANO_MEM = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory"
VOLCANO_PART, VOLCANO_CORES = "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores"
KOORD, KOORD_MEM = "koordinator.sh/gpu", "koordinator.sh/gpu-memory"

# What it is, the pod, and the bytes.
CHARGES = [
    ("whole cards, at the dearest", asking({GPU: 2}), 2 * CARD),
    ("whole cards of a product", asking({GPU: 2}, product=T4), 2 * SMALL),
    ("HAMi: memory of one card", asking({HAMI_MEM: 3000}), 3000 * MIB),
    ("HAMi: memory of each of two cards", asking({GPU: 2, HAMI_MEM: 3000}), 6000 * MIB),
    ("HAMi: a percentage of each of two cards", asking({GPU: 2, HAMI_PART: 30}), 60 * (CARD // 100)),
    ("HAMi: memory wins over a percentage", asking({GPU: 2, HAMI_MEM: 10, HAMI_PART: 90}), 20 * MIB),
    ("HAMi: all of a card, in percent", asking({GPU: 3, HAMI_PART: 100}), 3 * CARD),
    ("HAMi: no memory said", asking({GPU: 1, HAMI_CORES: 10}), CARD),
    ("HAMi: cores alone are a card", asking({HAMI_CORES: 10}), CARD),
    ("HAMi: cores cost nothing beside memory", asking({HAMI_CORES: 50, HAMI_MEM: 100}), 100 * MIB),
    ("HAMi: a percentage of 0 is no limit", asking({GPU: 1, HAMI_PART: 0}), CARD),
    ("HAMi beside whole cards", asking({GPU: 1, HAMI_MEM: 100}, {GPU: 1}), 100 * MIB + CARD),
    ("Volcano: memory of each of two cards", asking({VOLCANO: 2, VOLCANO_MEM: 3000}), 6000 * MIB),
    ("Volcano: memory without a number", asking({VOLCANO_MEM: 3000}), 3000 * MIB),
    ("Volcano: a percentage", asking({VOLCANO: 2, VOLCANO_PART: 25}), 50 * (CARD // 100)),
    ("Volcano: 100 percent", asking({VOLCANO: 2, VOLCANO_PART: 100}), 2 * CARD),
    ("Volcano: a number alone", asking({VOLCANO: 2, VOLCANO_CORES: 5}), 2 * CARD),
    ("Volcano: cores alone are a card", asking({VOLCANO_CORES: 5}), CARD),
    ("Koordinator: bytes", asking({KOORD_MEM: 5 * MIB}), 5 * MIB),
    ("Koordinator: bytes are a total", asking({KOORD_MEM: 5 * MIB, "koordinator.sh/gpu.shared": 2}), 5 * MIB),
    ("Koordinator: hundredths", asking({RATIO: 50, "koordinator.sh/gpu-core": 50}), 50 * (CARD // 100)),
    ("Koordinator: two cards", asking({RATIO: 200}), 200 * (CARD // 100)),
    ("Koordinator: the shorthand", asking({KOORD: 100}), 100 * (CARD // 100)),
    ("Koordinator: both count", asking({KOORD_MEM: 5 * MIB, RATIO: 50}), 5 * MIB + 50 * (CARD // 100)),
    ("Koordinator: no memory said", asking({"koordinator.sh/gpu-core": 30}), 100 * (CARD // 100)),
    ("KAI: half a card", asking(**{"gpu-fraction": "0.5"}), 500 * (CARD // 1000)),
    ("KAI: thousandths are rounded up", asking(**{"gpu-fraction": "0.0701"}), 71 * (CARD // 1000)),
    ("KAI: exact where doubles are not", asking(**{"gpu-fraction": "0.07"}), 70 * (CARD // 1000)),
    ("KAI: all of a card", asking(**{"gpu-fraction": "1"}), 1000 * (CARD // 1000)),
    ("KAI: of a product", asking(product=T4, **{"gpu-fraction": ".25"}), 250 * (SMALL // 1000)),
    ("KAI: of several cards", asking(**{"gpu-fraction": "0.25", "gpu-fraction-num-devices": "3"}), 750 * (CARD // 1000)),
    ("KAI: memory", asking(**{"gpu-memory": "8192"}), 8192 * MIB),
    ("KAI: memory of several cards", asking(**{"gpu-memory": "8192", "gpu-fraction-num-devices": "2"}), 16384 * MIB),
    ("a resource of the table", asking({"huawei.com/Ascend910": 2}), 128 << 30),
    ("a device class", asking({ASK + "gpu.example.com": 2}), 80 << 30),
    ("a device class that stands for a resource", asking({ASK + "gpu.nvidia.com": 2}), 2 * CARD),
    ("two device classes that stand for one resource, beside it",
     asking({ASK + "gpu.nvidia.com": 2, ASK + "big.nvidia.com": 1, GPU: 1}), 4 * CARD),
    ("device classes that give no GPUs, beside one that does",
     asking({ASK + "nic.example.com": 2, ASK + "nic.example.org": 3, ASK + "gpu.example.com": 1}), 40 << 30),
    ("Kubernetes' formula: the largest of init", asking(("init", {GPU: 3}), ("init", {GPU: 1}), {GPU: 2}), 3 * CARD),
    ("Kubernetes' formula: sidecars stay",
     asking(("init", {GPU: 1}), ("sidecar", {GPU: 2}), ("init", {GPU: 2}), {GPU: 1}), 4 * CARD),
    ("Kubernetes' formula: parts of cards too",
     asking(("init", {GPU: 2, HAMI_MEM: 900}), ("sidecar", {HAMI_MEM: 100}), {HAMI_MEM: 500}), 1800 * MIB),
    ("kinds are added up", asking({GPU: 1, "huawei.com/Ascend910": 1}, {HAMI_MEM: 5}, **{"gpu-memory": "7"}),
     CARD + (64 << 30) + 12 * MIB),
]


@pytest.mark.parametrize("item, charge", [c[1:] for c in CHARGES], ids=[c[0] for c in CHARGES])
def test_a_refusal_tells_the_charge_to_the_mebibyte(team, item, charge):
    told = re.search(r"= (\d+)Mi of GPU memory", team.refuses(item))
    assert told and int(told[1]) == charge // MIB


@pytest.mark.parametrize("item, charge", [c[1:] for c in CHARGES], ids=[c[0] for c in CHARGES])
def test_the_last_byte_decides(policies, narrow, item, charge):
    narrow(charge - 1).refuses(item)
    narrow(charge).admits(item)


@pytest.fixture(scope="module")
def narrow(policies):
    made = Published.make(policies, "800Gi", ROWS)

    def leave(free, **status):
        made.publish(str(free), ROWS, deviceClasses=CLASSES, **status)
        return made
    yield leave
    made.remove()


REFUSED = [
    ("HAMi: over 100 percent", asking({HAMI_PART: 101}), "nvidia.com/gpumem-percentage is above 100"),
    ("Volcano: over 100 percent", asking({VOLCANO_PART: 200}), "volcano.sh/vgpu-memory-percentage is above 100"),
    ("KAI: more than a card", asking(**{"gpu-fraction": "1.5"}), 'annotation gpu-fraction is "1.5", and must be a decimal number'),
    ("KAI: nothing", asking(**{"gpu-fraction": "0"}), 'annotation gpu-fraction is "0"'),
    ("KAI: a negative part", asking(**{"gpu-fraction": "-0.5"}), 'annotation gpu-fraction is "-0.5"'),
    ("KAI: words", asking(**{"gpu-fraction": "half"}), 'annotation gpu-fraction is "half"'),
    ("KAI: empty", asking(**{"gpu-fraction": ""}), 'annotation gpu-fraction is ""'),
    ("KAI: an exponent", asking(**{"gpu-fraction": "5e-1"}), 'annotation gpu-fraction is "5e-1"'),
    ("KAI: memory with a unit", asking(**{"gpu-memory": "8Gi"}), 'annotation gpu-memory is "8Gi", and must be a whole number of MiB'),
    ("KAI: no devices", asking(**{"gpu-memory": "8", "gpu-fraction-num-devices": "0"}), "gpu-fraction-num-devices is \"0\""),
    ("KAI: of a card that nobody has", asking(product="No-Such", **{"gpu-memory": "8"}),
     "cannot price annotation gpu-memory on product No-Such"),
    ("a class that nothing prices", asking({ASK + "odd": 1}), "cannot price odd.deviceclass"),
    ("a class that stands for what nothing prices", asking({ASK + "npu.example.com": 1}), "cannot price example.com/npu"),
    ("what a class of GPUs stands for, and nothing prices", asking({"example.com/npu": 1}), "cannot price example.com/npu"),
    ("a GPU resource without a row", asking({"aliyun.com/gpu-mem": 1}), "cannot price aliyun.com/gpu-mem"),
    ("a GPU resource without a row beside one with", asking({GPU: 1}, {"amd.com/cpx_nps4": 1}), "cannot price amd.com/cpx_nps4"),
    ("a product without HAMi", asking({HAMI_MEM: 5}, product=T4), "cannot price nvidia.com/gpumem on product Tesla-T4"),
]


@pytest.mark.parametrize("item, words", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_cannot_be_read_or_priced_is_refused_with_the_reason(team, item, words):
    assert words in team.refuses(item)


def test_what_is_no_gpu_is_not_looked_at(team):
    team.admits(asking({"example.com/fpga": 4, "nvidia.com/hostdev": 1}))
    team.admits(asking(**{"gpu-fraction-num-devices": "2"}))
    team.admits(pod("plain", amount=0))


def test_a_class_that_gives_no_gpus_needs_no_room(narrow):
    team = narrow(1, used="2")
    team.admits(asking({ASK + "nic.example.com": 2, ASK + "nic.example.org": 3}))
    assert "asks for 1 x " + GPU in team.refuses(asking({ASK + "nic.example.com": 2, ASK + "gpu.nvidia.com": 1}))


@pytest.mark.parametrize("effective", ["99Ti", "100Ti", "1Pi", "2.5Pi", "123456789Mi"])
def test_a_large_quota_is_read_however_it_is_written(policies, narrow, effective):
    team = narrow(effective, used="98.5Ti")
    team.admits(asking({GPU: 1}))
    free = (quantity(effective) - quantity("98.5Ti")) // MIB
    assert f"and only {free}Mi of {effective} are free" in team.refuses(asking({GPU: 10**8}))


def test_other_quotas_are_passed_over(policies, team):
    """Nothing of a quota that governs nothing is read: duplicates, dry runs, those without a status."""
    dry = Published.make(policies, "1Gi", ROWS, enforcement="DryRun")
    dry.admits(asking({GPU: 8}))
    dry.admits(asking(**{"gpu-fraction": "nonsense"}))
    dry.remove()


@pytest.mark.parametrize("reason", ["CeilingExceeded", "Invalid"])
def test_a_quota_that_is_not_accepted_grants_what_its_status_says(policies, reason):
    """It may be the only one of its namespace, and what asks by annotation no ResourceQuota sees."""
    team = Published.make(policies, "800Gi", ROWS)
    team.publish("0", ROWS, conditions=[accepted("False", reason)])
    team.wait_refused(asking(**{"gpu-fraction": "0.5"}), "only 0Mi of 0 are free")
    team.wait_refused(asking({GPU: 1}), "only 0Mi of 0 are free")
    team.admits(pod("plain", amount=0))
    team.publish("0", ROWS, conditions=[accepted("False", "Duplicate")])
    wait_for(lambda: team.answer(asking({GPU: 1})).status == 201, "a duplicate is passed over")
    team.remove()


# --- caps by product

CAPS = [{"product": H100, "gpuMemory": "160Gi"}, {"product": T4, "gpus": 3}, {"product": "910B", "gpuMemory": "100Gi", "gpus": 9}]


@pytest.fixture(scope="module")
def capped(policies):
    held = [row(GPU, str(CARD), H100, used=1), row(GPU, str(SMALL), T4, used=2),
            row("nvidia.com/mig-1g.10gb", "9984Mi", H100, used=2, sharing="MIG"), *ROWS[2:]]
    made = Published.make(policies, "800Gi", held, products=CAPS)
    yield made
    made.remove()


def test_a_cap_on_a_product_bounds_the_memory_of_all_its_rows(capped):
    """160Gi less an H100 and two slices are 62313Mi: 4 slices more are 39936Mi, 7 are too many."""
    slices = "nvidia.com/mig-1g.10gb"
    capped.admits(asking({slices: 6}))
    said = capped.refuses(asking({slices: 7}))
    assert f"asks for {7 * 9984}Mi of {H100}, {81559 + 2 * 9984}Mi of its 160Gi are in use" in said
    # Undecided it is charged as an H100.
    assert "a nodeSelector on nvidia.com/gpu.product says which" in capped.refuses(asking({GPU: 1}))
    capped.admits(asking({GPU: 1}, product=T4))


def test_a_cap_on_the_cards_of_a_product(capped):
    capped.admits(asking({GPU: 1}, product=T4))
    assert f"asks for 2 whole GPUs of {T4}, 2 of 3 are in use" in capped.refuses(asking({GPU: 2}, product=T4))
    capped.admits(asking({"huawei.com/Ascend910": 1}))
    assert "of its 100Gi are in use" in capped.refuses(asking({"huawei.com/Ascend910": 2}))


def test_parts_of_cards_count_for_their_product(capped):
    free = 160 * 1024 - 81559 - 2 * 9984
    capped.admits(asking({HAMI_MEM: free}))
    assert "of its 160Gi are in use" in capped.refuses(asking({HAMI_MEM: free + 1}))
    capped.admits(asking(**{"gpu-memory": str(free)}))
    assert "of its 160Gi are in use" in capped.refuses(asking(**{"gpu-memory": str(free + 1)}))
    capped.admits(asking(product=T4, **{"gpu-memory": str(free + 1)}))
