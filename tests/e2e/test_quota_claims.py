"""What DRA costs a namespace: claims and extended resources as the real scheduler allocates them,
from slices as drivers publish them."""

import pytest

import dra
from cluster import NotYet, quantity, wait_for
from gpus import GIB, MIB, Namespace, quota

H100, SLICE = 81559 * MIB, 4864 * MIB
CLAIMS = dra.API + "/namespaces/{}/resourceclaims"


def publish(cluster, node, devices, sets=(), generation=1):
    for item in dra.slices(node, devices, sets, generation=generation):
        cluster.api("POST", f"{dra.API}/resourceslices", item).ok()


@pytest.fixture(scope="module")
def devices(world):
    """Four nodes: two H100, two MIG slices of an A100, an A100 that is cut when asked, an H100
    that claims share. No device plugin is there."""
    cluster = world.cluster
    for item in cluster.get("/api/v1/nodes")["items"]:
        cluster.api("DELETE", f"/api/v1/nodes/{item['metadata']['name']}").ok()
    cluster.nodes("cpu=4")
    publish(cluster, "cpu-0", [dra.whole(0), dra.whole(1)])
    publish(cluster, "cpu-1", [dra.partition(0, "1g.5gb", 0), dra.partition(0, "3g.20gb", 4)])
    parts, counters = dra.dynamic(0)
    publish(cluster, "cpu-2", parts, [counters])
    publish(cluster, "cpu-3", [dra.shared(0)])
    for item in dra.classes():
        cluster.api("POST", f"{dra.API}/deviceclasses", item).ok()
    yield cluster
    for kind in ("resourceslices", "deviceclasses"):
        for item in cluster.get(f"{dra.API}/{kind}")["items"]:
            cluster.api("DELETE", f"{dra.API}/{kind}/{item['metadata']['name']}").ok()


@pytest.fixture
def team(devices, running):
    """A namespace whose quota has room for everything, and which admits what it likes."""
    made = Namespace.make(devices)
    devices.api("POST", made.quotas, quota("2Ti")).ok()
    made.wait_condition("Ready", "True", "Enforced")
    yield made
    made.remove()


def create(team, *items):
    for item in items:
        path = team.pods if item["kind"] == "Pod" else f"{dra.API}/namespaces/{team.name}/{item['kind'].lower()}s"
        wait_for(lambda: team.cluster.api("POST", path, item).ok(), f"{item['metadata']['name']} is admitted")


def wait_used(team, used, live=None, pods=None):
    def counted():
        status = team.quota()["status"]
        got = [quantity(status["used"]), quantity(status["live"]), status["pods"]]
        wanted = [used, got[1] if live is None else live, got[2] if pods is None else pods]
        return got == wanted or NotYet([amount / MIB for amount in got[:2]] + got[2:])
    wait_for(counted, f"{used / MIB} MiB are used, {'any' if live is None else live / MIB} live")


def on(node):
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def test_a_claim_costs_the_dearest_until_it_is_allocated(team):
    create(team, dra.claim("cards", dra.exactly("r", "whole.example.com", 2)))
    wait_used(team, 2 * H100, 0, 0)
    create(team, dra.claim("slice", dra.exactly("r", "mig.nvidia.com")))
    wait_used(team, 2 * H100 + 40192 * MIB, 0)
    create(team, dra.pod("p", "slice", **on("cpu-1")))
    wait_used(team, 2 * H100 + SLICE, SLICE)
    create(team, dra.pod("q", "cards", **on("cpu-0")))
    wait_used(team, 2 * H100 + SLICE, 2 * H100 + SLICE)
    team.cluster.api("DELETE", f"{team.pods}/q?gracePeriodSeconds=0").ok()
    team.cluster.api("DELETE", CLAIMS.format(team.name) + "/cards").ok()
    wait_used(team, SLICE, SLICE)


def test_a_claim_that_pods_share_costs_once(team):
    create(team, dra.claim("one", dra.exactly("r", "whole.example.com")),
           *[dra.pod(f"p{i}", "one", **on("cpu-0")) for i in range(3)])
    wait_used(team, H100, H100)
    for i in range(3):
        team.delete_pod(f"p{i}", force=True)
    team.wait_pods(0)
    # There it still is, allocated or not.
    wait_used(team, H100)


def test_the_first_available_costs_the_dearest_and_then_what_it_got(team):
    create(team, dra.claim("any", dra.first_of("r", ("whole.example.com", 9), ("mig.nvidia.com", 1))))
    wait_used(team, 9 * H100, 0)
    create(team, dra.pod("p", "any", **on("cpu-1")))
    wait_used(team, SLICE, SLICE)


def test_a_part_of_a_shared_card_costs_the_part(team):
    quarter = dra.exactly("r", "whole.example.com", capacity={"requests": {"memory": "20Gi"}})
    create(team, dra.claim("part", quarter))
    wait_used(team, H100, 0)
    create(team, dra.pod("p", "part", **on("cpu-3")))
    wait_used(team, 20 * GIB, 20 * GIB)


def test_a_card_that_is_cut_when_asked_costs_the_slice(team):
    create(team, dra.template("slices", dra.exactly("r", "mig.nvidia.com", selectors=[
        {"cel": {"expression": "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"}}])),
        dra.pod("p", "template/slices", **on("cpu-2")), dra.pod("q", "template/slices", **on("cpu-2")))
    wait_used(team, 2 * SLICE, 2 * SLICE)


def test_administrative_access_costs_nothing(team):
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    team.cluster.api("PATCH", team.path, label).ok()
    create(team, dra.claim("look", dra.exactly("r", "whole.example.com", adminAccess=True)),
           dra.claim("slice", dra.exactly("r", "mig.nvidia.com")), dra.pod("p", "look", **on("cpu-0")))
    wait_used(team, 40192 * MIB, 0)


def test_an_extended_resource_costs_once_whoever_claims_it(team):
    create(team, dra.pod("p", extended=[("nvidia.com/gpu", 1)], **on("cpu-0")))

    def named():
        status = team.cluster.get(f"{team.pods}/p")["status"]
        return status.get("extendedResourceClaimStatus") or NotYet(status)
    made = wait_for(named, "the scheduler made a claim for the pod")["resourceClaimName"]
    wait_used(team, H100, H100, 1)
    item = team.cluster.get(CLAIMS.format(team.name) + f"/{made}")
    # Whoever copies it has a claim of its own.
    forged = {"apiVersion": item["apiVersion"], "kind": item["kind"], "spec": item["spec"], "metadata": {
        "name": "forged", **{key: item["metadata"][key] for key in ("annotations", "ownerReferences")}}}
    create(team, forged)
    wait_used(team, 2 * H100, H100, 1)
    team.delete_pod("p", force=True)
    wait_used(team, 0, 0, 0)


def test_a_pool_that_changes_is_read_when_it_is_whole(team):
    cluster = team.cluster
    create(team, dra.claim("card", dra.exactly("r", "whole.example.com")), dra.pod("p", "card", **on("cpu-0")))
    wait_used(team, H100, H100)
    path = f"{dra.API}/resourceslices/cpu-0-{dra.DRIVER}-0"
    item = cluster.get(path)
    bigger = item["spec"]["devices"]
    for device in bigger:
        device["capacity"]["memory"]["value"] = "94Gi"
    pool = item["spec"]["pool"]
    cluster.api("PATCH", path, {"spec": {"devices": bigger, "pool": pool | {"generation": 2, "resourceSliceCount": 1}}}).ok()
    wait_used(team, 94 * GIB, 94 * GIB)
    cluster.api("DELETE", path).ok()
    # The device is unknown now: the dearest of its class that is left.
    wait_used(team, H100, H100)
    publish(cluster, "cpu-0", [dra.whole(0), dra.whole(1)], generation=3)
    wait_used(team, H100, H100)


def answer(team, item):
    """What the API server would say to creating it."""
    return team.cluster.api("POST", CLAIMS.format(team.name) + "?dryRun=All", item)


def wait_classes(team, classes):
    def shown():
        got = {c["name"]: c["resource"] for c in team.quota()["status"].get("deviceClasses", [])}
        return got == classes or NotYet(got)
    wait_for(shown, f"status.deviceClasses is {classes}")


@pytest.fixture
def nics(devices):
    """Two classes of network cards, one of them for a resource; no driver has published any yet."""
    made = [dra.device_class("nic.example.com", "device.driver == 'dra.example.com'"),
            dra.device_class("fast.example.com", "device.driver == 'dra.example.com'", extended="example.com/nic")]
    for item in made:
        devices.api("POST", f"{dra.API}/deviceclasses", item).ok()
    yield devices
    for item in made:
        devices.api("DELETE", f"{dra.API}/deviceclasses/{item['metadata']['name']}").ok()
    devices.api("DELETE", f"{dra.API}/resourceslices/cpu-0-dra.example.com-0")


def test_a_class_that_gives_no_gpus_is_free_once_that_is_known(team, nics):
    gpus = {"gpu.nvidia.com": "nvidia.com/gpu"}
    asked = [dra.claim(name.partition(".")[0], dra.exactly("r", name, 30)) for name in ("nic.example.com", "fast.example.com")]
    wait_classes(team, gpus)
    for item in asked:
        assert "which nothing prices: the dearest device there is" in answer(team, item).message
    for item in dra.slices("cpu-0", [dra.nic(0), dra.nic(1)], driver="dra.example.com"):
        nics.api("POST", f"{dra.API}/resourceslices", item).ok()
    wait_classes(team, gpus | {"nic.example.com": "", "fast.example.com": ""})
    create(team, *asked, dra.pod("asks", extended=[("deviceclass.resource.kubernetes.io/nic.example.com", 30)]))
    create(team, dra.claim("cards", dra.exactly("r", "whole.example.com")))
    wait_used(team, H100, 0)
    # Whatever has memory may be a GPU.
    path = f"{dra.API}/resourceslices/cpu-0-dra.example.com-0"
    spec = nics.get(path)["spec"]
    spec["devices"].append(dra.whole(7) | {"capacity": {"memory": {"value": "16Gi"}}})
    nics.api("PATCH", path, {"spec": spec}).ok()
    wait_classes(team, gpus | {"fast.example.com": "example.com/nic"})


@pytest.fixture
def accelerators(devices):
    """Two classes of one driver whose name is not that of GPUs: its devices have memory."""
    made = [dra.device_class("acc.example.com", "device.driver == 'acc.example.com'", extended="example.com/acc"),
            dra.device_class("own.example.com", "device.driver == 'acc.example.com'")]
    cards = [{"name": f"acc-{i}", "capacity": {"memory": {"value": "80Gi"}}} for i in range(4)]
    for item in made:
        devices.api("POST", f"{dra.API}/deviceclasses", item).ok()
    for item in dra.slices("cpu-0", cards, driver="acc.example.com"):
        devices.api("POST", f"{dra.API}/resourceslices", item).ok()
    yield f"{dra.API}/resourceslices/cpu-0-acc.example.com-0"
    for item in made:
        devices.api("DELETE", f"{dra.API}/deviceclasses/{item['metadata']['name']}").ok()


def test_what_a_class_gave_once_is_never_free(team, running, accelerators):
    classes = {"gpu.nvidia.com": "nvidia.com/gpu", "acc.example.com": "example.com/acc"}
    wait_classes(team, classes)
    create(team, dra.claim("held", dra.exactly("r", "own.example.com")), dra.pod("p", "held", **on("cpu-0")))
    wait_used(team, 80 * GIB, 80 * GIB)

    def counted():
        hard = team.cluster.get(f"{team.path}/resourcequotas/gpuqos")["spec"]["hard"].get("requests.example.com/acc")
        return hard == "0" or NotYet(hard)
    team.cluster.api("DELETE", accelerators).ok()
    for item in (dra.pod("asks", extended=[("example.com/acc", 1)]), dra.pod("by", extended=[("deviceclass.resource.kubernetes.io/acc.example.com", 1)])):
        wait_for(lambda wanted=item: team.cluster.api("POST", team.pods + "?dryRun=All", wanted).status == 403, "no pod is let in")
    for _ in range(2):
        wait_used(team, H100, H100)
        wait_classes(team, classes)
        wait_for(counted, "ResourceQuota counts what nobody offers")
        assert team.cluster.api("POST", team.pods + "?dryRun=All", dra.pod("asks", extended=[("example.com/acc", 1)])).status == 403
        running.kill()
        running.start()
        team.patch_quota(gpuMemory="3Ti")
        team.wait_condition("Ready", "True", "Enforced")


def test_a_class_that_stands_for_a_resource_is_charged_as_that(devices, running):
    team = Namespace.make(devices)
    devices.api("POST", team.quotas, quota("163118Mi", resources={"nvidia.com/gpu": 1})).ok()
    team.wait_condition("Ready", "True", "Enforced")
    wait_classes(team, {"gpu.nvidia.com": "nvidia.com/gpu"})
    item = dra.claim("two", dra.exactly("r", "gpu.nvidia.com", 2))
    wait_for(lambda: "requests.nvidia.com/gpu=2" in answer(team, item).message, "the row has no room for two")
    wait_for(lambda: "asks for 3 x gpu.nvidia.com at 81559Mi = 244677Mi" in
             answer(team, dra.claim("three", dra.exactly("r", "gpu.nvidia.com", 3))).message, "the policy charges by the row")
    create(team, dra.claim("one", dra.exactly("r", "gpu.nvidia.com")))
    wait_used(team, H100, 0, 0)
    rows = {r["name"]: r["used"] for r in team.quota()["status"]["resources"] if r["used"]}
    assert rows == {"nvidia.com/gpu": 1}
    asks = dra.pod("asks", extended=[("deviceclass.resource.kubernetes.io/gpu.nvidia.com", 2)])
    assert "= 163118Mi of GPU memory, and only 81559Mi" in team.cluster.api("POST", team.pods + "?dryRun=All", asks).message
    team.remove()
