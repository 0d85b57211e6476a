"""Unit tests of eviction_checker.py: an eviction as it should be, and the same log doctored, so that one rule is broken each time."""

import copy
import datetime
import json

import pytest
from audit_history import GPU, TOPOLOGY, History
from eviction_checker import USER, Latency, check

T0 = 1_800_000_000.0
NOTICE = "gpuqos.io/eviction-notice"
LAYOUT = {"gpus": [{"uuid": f"g{i}", "numa": i // 2, "bridge": i // 2} for i in range(4)]}


def stamp(after, digits=6):
    text = datetime.datetime.fromtimestamp(T0 + after, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return (text if digits else text[:-7]) + "Z"


def event(after, verb, resource, name, answer, namespace=None, part=None, asked=None, user="admin", code=200):
    where = {"resource": resource, "name": name} | ({"namespace": namespace} if namespace else {}) | ({"subresource": part} if part else {})
    return {"requestReceivedTimestamp": stamp(after - 0.005), "stageTimestamp": stamp(after), "verb": verb, "objectRef": where,
            "user": {"username": user}, "responseStatus": {"code": code}, "requestObject": asked, "responseObject": answer}


def node(after, name, ready="True"):
    return event(after, "create", "nodes", name, {
        "metadata": {"name": name, "annotations": {TOPOLOGY: json.dumps(LAYOUT)}},
        "status": {"allocatable": {GPU: "4", "cpu": "64", "memory": "64Gi"}, "conditions": [{"type": "Ready", "status": ready}]}})


def namespace(name):
    return event(0, "create", "namespaces", name, {"metadata": {"name": name, "labels": {"team": name}}}, namespace=name)


def tenant(after, name, tier, receipts=(), user="admin", **spec):
    return event(after, "update", "tenantqos", name, {
        "metadata": {"name": name}, "spec": {"namespaceSelector": {"matchLabels": {"team": name}}, "tier": tier, **spec},
        "status": {"evictions": list(receipts)}}, user=user)


def pod_item(after, space, name, gpus, cards=(), **metadata):
    return {"kind": "Pod", "metadata": {"namespace": space, "name": name, "uid": f"uid-{name}", "creationTimestamp": stamp(after, 0)} | metadata,
            "spec": {"terminationGracePeriodSeconds": 5,
                     "containers": [{"resources": {"limits": {GPU: str(gpus), "cpu": "1", "memory": "1Gi"}}}]},
            "status": {"phase": "Running", "startTime": stamp(after, 0), "containerStatuses": [{"allocatedResourcesStatus": [
                {"name": GPU, "resources": [{"resourceID": card} for card in cards]}]}]} if cards else {"phase": "Pending"}}


def binding(after, space, name, where):
    return event(after, "create", "pods", name, {"kind": "Status"}, space, "binding", {"target": {"name": where}})


def running(log, space, name, cards, where="n0", after=1, **metadata):
    """A pod that runs since then."""
    log[f"create {name}"] = event(after, "create", "pods", name, pod_item(after, space, name, len(cards), **metadata), space)
    log[f"bind {name}"] = binding(after + 0.1, space, name, where)
    log[f"run {name}"] = event(after + 0.2, "patch", "pods", name, pod_item(after, space, name, len(cards), cards, **metadata), space, "status")


PROTECTION = {"mode": "Enforce", "minVictimRunSeconds": 10, "cooldownSeconds": 30, "evictionsPerMinute": 2, "victimTiers": ["Training"]}
OBJECTIVE = {"name": "latency", "threshold": "130m", "for": "5s"}


def receipt(outcome="Issued", **more):
    made = {"id": "r1", "cause": "PendingPod", "outcome": outcome, "time": stamp(100), "proof": "it fits", "limits": "0 of 2", "node": "n0",
            "heldUntil": stamp(120), "beneficiary": {"namespace": "web", "name": "ask", "uid": "uid-ask"},
            "victims": [{"namespace": "train", "name": "t0", "uid": "uid-t0"}]}
    return made | ({} if outcome == "Issued" else {"settledTime": stamp(105), "message": "it is there"}) | more


def web(after, *receipts, **spec):
    return tenant(after, "web", "Inference", receipts, user=USER, **({"pendingSeconds": 5, "protection": PROTECTION} | spec))


def eviction(after, name="t0", code=201, **options):
    return event(after, "create", "pods", name, {"kind": "Status"}, "train", "eviction", {
        "apiVersion": "policy/v1", "deleteOptions": {"preconditions": {"uid": f"uid-{name}"}, "gracePeriodSeconds": 2} | options}, USER, code)


def notice(after, name="t0"):
    return event(after, "patch", "pods", name, pod_item(1, "train", name, 1, ["g0"], annotations={NOTICE: "r1"}), "train",
                 asked={"metadata": {"uid": f"uid-{name}", "annotations": {NOTICE: "r1"}}}, user=USER)


def as_it_should_be():
    """A node of four cards; a pod that asked for one had one made free."""
    log = {}
    for i in range(6):
        log[f"node {i}"] = node(0, f"n{i}")
    for name in ("train", "web", "rival"):
        log[f"namespace {name}"] = namespace(name)
    log["tenant train"] = tenant(0, "train", "Training", preemptible={"minRunSeconds": 20, "gracePeriodSeconds": 2})
    log["tenant rival"] = tenant(0, "rival", "Inference")
    log["tenant web"] = web(0)
    for i in range(4):
        running(log, "train", f"t{i}", [f"g{i}"])
    log["ask"] = event(90, "create", "pods", "ask", pod_item(90, "web", "ask", 1), "web")
    log["issued"] = web(100, receipt())
    log["notice"] = notice(100.1)
    log["evict"] = eviction(100.2)
    log["gone"] = event(102, "delete", "pods", "t0", {"kind": "Status"}, "train")
    log["bound"] = binding(104, "web", "ask", "n0")
    log["settled"] = web(105, receipt("Helped"))
    return log


def for_an_objective():
    """The same, for a pod that runs beside t1 and was slow."""
    log = as_it_should_be()
    del log["gone"], log["bound"]
    for name in ("create t3", "bind t3", "run t3", "ask"):
        del log[name]
    running(log, "web", "ask", ["g1"], after=2)
    for key in ("create t1", "bind t1", "run t1"):
        del log[key]
    running(log, "train", "t1", ["g3"])
    log["tenant web"] = web(0, objectives=[OBJECTIVE])
    mine = {"cause": "Objective", "objective": "latency"}
    log["issued"] = web(100, receipt(**mine), objectives=[OBJECTIVE])
    log["settled"] = web(105, receipt("Helped", **mine), objectives=[OBJECTIVE])
    log["figures"] = event(50, "update", "gpunodes", "n0", {"metadata": {"name": "n0"}, "status": {"users": [
        {"podUID": "uid-t0", "smPercent": 90}, {"podUID": "uid-t2", "smPercent": 90}]}})
    return log


def latency(value=0.2, before=None, since=0):
    """Each second for 40 ten requests more, which take so long; so long before, until that second."""
    total, samples = 0, []
    for i in range(40):
        total += 10 * (value if before is None or i >= since else before)
        samples.append((T0 + 80 + i, total, i * 10))
    return Latency({("web", "ask"): samples})


def faults(log, seen=None, lost=()):
    return check(History(copy.deepcopy(list(log.values()))), seen or latency(), lost)


def test_what_is_as_it_should_be_has_no_faults():
    assert faults(as_it_should_be()) == [] and faults(for_an_objective()) == []


# --- doctored: (what was done to the log, words of what is found)

def set_in(tag, *path, value):
    def change(log):
        item = log[tag]
        for key in path[:-1]:
            item = item[key]
        item[path[-1]] = value
    return change


def drop(*tags):
    def change(log):
        for tag in tags:
            del log[tag]
    return change


def add(**events):
    return lambda log: log.update(events)


def moved(tag, after):
    def change(log):
        log[tag]["requestReceivedTimestamp"], log[tag]["stageTimestamp"] = stamp(after - 0.005), stamp(after)
    return change


def both(**fields):
    """Of the receipt, from its first writing on."""
    def change(log):
        for tag in ("issued", "settled"):
            log[tag]["responseObject"]["status"]["evictions"][0].update(fields)
    return change


def spec(tag, **fields):
    return lambda log: log[tag]["responseObject"]["spec"].update(fields)


def protection(**fields):
    def change(log):
        for tag in ("tenant web", "issued", "settled"):
            log[tag]["responseObject"]["spec"]["protection"] = PROTECTION | fields
    return change


def metadata(name, **fields):
    def change(log):
        for tag in (f"create {name}", f"run {name}", *(["notice"] if name == "t0" else [])):
            log[tag]["responseObject"]["metadata"].update(fields)
    return change


def budget(name, after=10, **fields):
    return event(after, "create", "poddisruptionbudgets", name, {"metadata": {"name": name}, "spec": {"selector": {}, **fields}}, "train")


def all_of(*changes):
    def change(log):
        for each in changes:
            each(log)
    return change


def victims(*names):
    return both(victims=[{"namespace": "train", "name": name, "uid": f"uid-{name}", "owner": f"Job/{name}"} for name in names])


def earlier(seconds, outcome="Helped", **more):
    """Another receipt, that long before."""
    first = receipt(id="r0", time=stamp(100 - seconds), **({"beneficiary": {"uid": "uid-t3"}} | more))

    def change(log):
        log["earlier"] = web(100 - seconds, first)
        for tag in ("issued", "settled"):
            settled = {} if outcome == "Issued" else {"message": "so it was", "settledTime": stamp(100 - seconds + 0.5)}
            log[tag]["responseObject"]["status"]["evictions"].append(first | {"outcome": outcome} | settled)
    return change


def victim(name, owner):
    return {"namespace": "train", "name": name, "uid": f"uid-{name}", "owner": owner}


def gone_by(after, name):
    return lambda log: log.update({f"evict {name}": eviction(after, name)})


def gang_mate(log):
    running(log, "train", "t9", ["x"], where="n1", labels={"jobset.sigs.k8s.io/jobset-name": "j"})
    metadata("t0", labels={"jobset.sigs.k8s.io/jobset-name": "j"})(log)


def not_ready(log):
    for i in (4, 5):
        log[f"down {i}"] = node(60, f"n{i}", "False")


def rival_takes(log):
    log["rival"] = event(95, "create", "pods", "rival", pod_item(95, "rival", "rival", 1), "rival")
    log["bind rival"] = binding(103, "rival", "rival", "n0")


DOCTORED = {
    "another version": (set_in("evict", "requestObject", "apiVersion", value="policy/v1beta1"), "not policy/v1"),
    "no uid": (set_in("evict", "requestObject", "deleteOptions", "preconditions", value={}), "uid is no precondition"),
    "another's uid": (set_in("evict", "requestObject", "deleteOptions", "preconditions", value={"uid": "uid-t1"}), "the uid is that of train/t1"),
    "no receipt at all": (drop("issued", "settled"), "no receipt that was Issued before"),
    "the receipt comes after": (all_of(moved("notice", 99), moved("evict", 99.5)), "no receipt that was Issued before"),
    "the receipt was a plan": (both(outcome="Planned"), "no receipt that was Issued before"),
    "no notice": (drop("notice"), "no notice before, or with it"),
    "a grace that is too long": (set_in("evict", "requestObject", "deleteOptions", "gracePeriodSeconds", value=4), "its grace is 4 s, above 2"),
    "a pod deleted": (add(deleted=event(101, "delete", "pods", "t1", {"kind": "Status"}, "train", user=USER)), "deletes pods itself"),
    "a budget of none": (add(b=budget("b", maxUnavailable=0)), "PodDisruptionBudget b allowed none"),
    "a budget that needs them all": (add(b=budget("b", minAvailable=4)), "PodDisruptionBudget b allowed none"),
    "two budgets": (add(b=budget("b", minAvailable=1), c=budget("c", minAvailable=1)), "2 PodDisruptionBudgets select it"),
    "a beneficiary that had not waited": (set_in("ask", "responseObject", "metadata", "creationTimestamp", value=stamp(97, 0)), "waited 3.0 s, not 5"),
    "a beneficiary that was bound": (moved("bound", 95), "was bound already"),
    "a beneficiary of another tenant": (set_in("namespace web", "responseObject", "metadata", "labels", value={"team": "rival"}), "not the tenant's"),
    "nobody asked for it": (spec("tenant web", pendingSeconds=None), "no pendingSeconds"),
    "only a plan was asked for": (protection(mode="DryRun"), "does not say Enforce"),
    "a victim of the same tier": (spec("tenant train", tier="Inference"), "its tier Inference is not lower"),
    "a victim of a tier not named": (protection(victimTiers=["BestEffort"]), "not named by victimTiers"),
    "a victim of nobody": (set_in("namespace train", "responseObject", "metadata", "labels", value={}), "of no tenant"),
    "a DaemonSet's": (metadata("t0", ownerReferences=[{"kind": "DaemonSet", "name": "d", "controller": True}]), "a DaemonSet's"),
    "a young victim": (set_in("run t0", "responseObject", "status", "startTime", value=stamp(85, 0)), "ran for 15.0 s, not 20"),
    "a victim on its way out": (add(leave=event(60, "patch", "pods", "t0", pod_item(1, "train", "t0", 1, ["g0"], deletionTimestamp=stamp(60)), "train")),
                                "on its way out already"),
    "half a gang": (gang_mate, "goes without its gang's [train/t9]"),
    "one too many": (victims("t0", "t1"), "still there"),
    "none was needed": (drop("create t3", "bind t3", "run t3"), "still there"),
    "not enough": (set_in("ask", "responseObject", "spec", "containers", 0, "resources", "limits", value={GPU: "2"}), "does not fit on n0"),
    "apart where one NUMA node is required": (all_of(
        set_in("ask", "responseObject", "spec", "containers", 0, "resources", "limits", value={GPU: "2"}), victims("t0", "t2"),
        spec("tenant web", topology={"policy": "Required"})), "does not fit on n0"),
    "too many in a minute": (all_of(earlier(50, victims=[{"namespace": "train", "name": f"x{i}", "uid": f"x{i}"} for i in range(2)])),
                             "2 + 1 evictions in a minute, not 2"),
    "too many under way": (earlier(90, "Issued", victims=[{"namespace": "train", "name": f"x{i}", "uid": f"x{i}"} for i in range(16)]),
                           "16 + 1 evictions under way"),
    "the same workload again": (all_of(earlier(100, victims=[victim("x0", "Job/t")]), both(victims=[victim("t0", "Job/t")]), gone_by(1, "x0")),
                                "Job/t lost a pod 100 s ago, not 120"),
    "the same beneficiary again": (earlier(20, beneficiary={"uid": "uid-ask"}), "within 30 s"),
    "a wave of nodes": (not_ready, "more than a fifth of the nodes"),
    "the room was taken": (rival_takes, "rival/rival took the room on n0"),
    "Helped, and it is elsewhere": (set_in("bound", "requestObject", "target", "name", value="n1"), "Helped, but web/ask is on n1"),
    "Helped, and it waits": (drop("bound"), "Helped, but web/ask is on None"),
    "Ineffective, and it is there": (all_of(lambda log: log["settled"]["responseObject"]["status"]["evictions"][0].update(outcome="Ineffective"),
                                            moved("settled", 110)), "Ineffective, but web/ask is on n0"),
    "Refused, and one went": (lambda log: log["settled"]["responseObject"]["status"]["evictions"][0].update(outcome="Refused"), "Refused, but train/t0"),
    "never settled": (drop("settled"), "an outcome"),
    "a victim of another receipt": (all_of(earlier(90, "Issued", victims=[{"namespace": "train", "name": "t0", "uid": "uid-t0", "owner": "Job/t"}])),
                                    "is open and has a victim of its own"),
    "no proof": (both(proof=""), "it lacks ['proof']"),
    "no victims": (both(victims=[]), "it lacks its tenant, beneficiary or victims"),
}
FOR_AN_OBJECTIVE = {
    "latency was well": (None, latency(0.1), "not above 0.13"),
    "latency was well again": (None, latency(0.1, before=0.2, since=14), "not above 0.13"),
    "latency was bad later": (None, latency(0.2, before=0.1, since=20), "not above 0.13"),
    "nothing was measured": (None, Latency({}), "Prometheus has None"),
    "far away": (set_in("run ask", "responseObject", "status", "containerStatuses", 0, "allocatedResourcesStatus", 0, "resources",
                        value=[{"resourceID": "g3"}]), None, "shares nothing with web/ask"),
    "idle": (drop("figures"), None, "near and busy"),
    "another objective": (both(objective="other"), None, "none of the tenant's"),
}


@pytest.mark.parametrize("name", DOCTORED)
def test_each_rule_that_is_broken_is_found(name):
    change, words = DOCTORED[name]
    log = as_it_should_be()
    change(log)
    assert any(words in fault for fault in faults(log)), faults(log)


def asks_for_two_of_one_side(log, asked, since=97, told=106):
    """Three go, of both: where t1 is, which is there since then, was not told before they were chosen; two of the other would do."""
    log["ask"] = event(asked, "create", "pods", "ask", pod_item(asked, "web", "ask", 2), "web")
    for tag in ("tenant web", "issued", "settled"):
        log[tag]["responseObject"]["spec"]["topology"] = {"policy": "Required"}
    victims("t0", "t2", "t3")(log)
    for tag in ("create t1", "bind t1", "run t1"):
        del log[tag]
    running(log, "train", "t1", ["g1"], after=since)
    moved("run t1", told)(log)


@pytest.mark.parametrize("asked, since, found", [
    (90, 97, True),
    (80, 97, False),  # it had waited for that
    (90, 80, False),  # there was no reason to expect that it is told soon
])
def test_what_is_told_in_a_moment_is_to_be_waited_for(asked, since, found):
    log = as_it_should_be()
    asks_for_two_of_one_side(log, asked, since)
    words = "train/t0] still there, and it was not waited to be told so"
    assert any(words in fault for fault in faults(log)) == found, faults(log)
    assert not any("still there" in fault for fault in faults(log) if words not in fault), faults(log)


def test_what_was_told_before_is_no_excuse():
    log = as_it_should_be()
    asks_for_two_of_one_side(log, 80, told=97.5)
    assert any(fault.endswith("[train/t0] still there") for fault in faults(log)), faults(log)


@pytest.mark.parametrize("late, found", [(0, False), (0.2, True)])
def test_a_receipt_that_is_settled_by_the_write_of_the_next_is_not_under_way(late, found):
    log = as_it_should_be()
    earlier(10, victims=[{"namespace": "train", "name": f"x{i}", "uid": f"x{i}"} for i in range(16)])(log)
    mine, other = log["issued"]["responseObject"]["status"]["evictions"]
    log["earlier"]["responseObject"]["status"]["evictions"][0]["outcome"] = "Issued"
    mine["time"] = log["settled"]["responseObject"]["status"]["evictions"][0]["time"] = stamp(99.98)
    if late:
        log["settled earlier"] = web(100 + late, mine, copy.deepcopy(other))
        other["outcome"] = "Issued"
    seen = faults(log)
    assert any("16 + 1 evictions under way" in fault for fault in seen) == found, seen


@pytest.mark.parametrize("after, lost", [(2, True), (30, False)])
def test_a_workload_lost_a_pod_only_by_who_had_it_go(after, lost):
    """Another receipt, settled at once, and its Job's pod was asked to go so long after it was decided."""
    log = as_it_should_be()
    for change in earlier(100, "Refused", victims=[victim("x0", "Job/t")]), both(victims=[victim("t0", "Job/t")]), gone_by(after, "x0"):
        change(log)
    log["settled earlier"] = web(0.5, log["settled"]["responseObject"]["status"]["evictions"][-1])
    assert any("Job/t lost a pod" in fault for fault in faults(log)) == lost, faults(log)


@pytest.mark.parametrize("name", FOR_AN_OBJECTIVE)
def test_each_rule_of_objectives_that_is_broken_is_found(name):
    change, seen, words = FOR_AN_OBJECTIVE[name]
    log = for_an_objective()
    if change:
        change(log)
    assert any(words in fault for fault in faults(log, seen)), faults(log, seen)


@pytest.mark.parametrize("seen", [latency(0.17, before=0.1, since=18), latency(0.1, before=0.2, since=17)], ids=["rising", "falling"])
def test_what_was_above_at_a_moment_just_before_justifies(seen):
    """As the query had it, which is of five seconds, and not of six."""
    assert not faults(for_an_objective(), seen)


# What may be missing in the log of one whose wire was cut, and only then.
UNHEARD = {
    "a notice": (drop("notice"), "no notice before"),
    "the write of a receipt": (drop("issued"), "no receipt that was Issued before"),
}


@pytest.mark.parametrize("name", UNHEARD)
def test_what_a_cut_wire_loses_is_forgiven_at_that_time_alone(name):
    change, words = UNHEARD[name]
    log = as_it_should_be()
    change(log)
    for lost, found in (((), True), ([(T0 + 60, T0 + 90)], True), ([(T0 + 99.9, T0 + 100.1)], False)):
        assert any(words in fault for fault in faults(log, lost=lost)) == found, faults(log, lost=lost)


@pytest.mark.parametrize("killed, found", [(103, False), (105.5, True)])
def test_a_write_that_was_under_way_when_its_server_was_killed_may_be_missing(killed, found):
    log = as_it_should_be()
    drop("issued")(log)
    for tag, after in (("notice", 108.1), ("evict", 108.2), ("gone", 108.5), ("bound", 108.6), ("settled", 109)):
        moved(tag, after)(log)
    seen = faults(log, lost=[(T0 + killed, T0 + killed + 1)])
    assert any("no receipt that was Issued before" in fault for fault in seen) == found, seen


def test_a_receipt_whose_write_was_not_answered_in_time_stood_if_it_is_seen_later():
    log = as_it_should_be()
    log["issued"]["responseStatus"]["code"] = 504
    log["issued"]["requestObject"] = log["issued"].pop("responseObject")
    assert faults(log) == []
    del log["settled"]
    assert any("no receipt that was Issued before" in fault for fault in faults(log))
