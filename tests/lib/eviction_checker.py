"""Whether every eviction of a run was justified, minimal, within limits, and of use to whom it was for.

    faults = check(History(cluster.audit()), Latency(prometheus.query_raw(...)))
    assert not faults, "\\n".join(faults)

It knows the rules (docs/evictions.md, docs/victims.md) and nothing of the program: it reads the API server's audit log
and Prometheus' samples, and counts again. The program sees the cluster a little late, so that whatever held at one
moment of the LAG seconds before and after its decision is taken as what it may have seen.
"""

import collections
import json
import time

from audit_history import GPU, TOPOLOGY, History, matches, seconds
from cluster import quantity

USER = "system:serviceaccount:gpuqos-system:gpuqos-controller"
LAG = 2.0
TOLD = 1.0  # by so much an event may be stamped later than its answer came, on a machine that is busy
LATE = 5.0  # by so much the request may come after the decision, where the API server has much to do
BESIDE = 1.0  # a notice is sent with the eviction, and either may be taken up first
PATIENCE = 10.0  # for so long it is waited to be told which cards a pod got
UNTOLD = 15.0  # a pod that began longer ago is one of which that is not known
CLOCKS = 0.2  # what times of two processes on one machine may differ by, beside rounding
TIERS = {"BestEffort": 0, "Training": 1, "Inference": 2}
IN_FLIGHT, OWNER_SECONDS, HOUR, GANG_MOST = 16, 120, 3600, 64
BUSY_PERCENT = 20


# --- gangs, as docs/victims.md has them

GANGS = (
    ("jobset", "labels", "jobset.sigs.k8s.io/jobset-name"),
    ("training", "labels", "training.kubeflow.org/job-name"),
    ("kueue", "labels", "kueue.x-k8s.io/pod-group-name"),
    ("volcano", "annotations", "scheduling.k8s.io/group-name"),
    ("volcano", "annotations", "scheduling.volcano.sh/group-name"),
    ("kai", "annotations", "pod-group-name"),
    ("koordinator", "annotations", "gang.scheduling.koordinator.sh/name"),
    ("coscheduling", "labels", "scheduling.x-k8s.io/pod-group"),
)
LWS = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")


def gang_name(pod):
    """(system, name), or None."""
    if all(key in pod.labels for key in LWS):
        return "lws", tuple(pod.labels[key] for key in LWS)
    return next(((system, getattr(pod, where)[key]) for system, where, key in GANGS if key in getattr(pod, where)), None)


def named_after(one, other):
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


def gang_of(pod):
    """What pods that go together have in common: their gang's name, and the workload where that is another's."""
    found = gang_name(pod)
    if found is None:
        return None
    owner = pod.owner.partition("/")[2] if pod.owner else None
    name = found[1][0] if isinstance(found[1], tuple) else found[1]
    return pod.namespace, *found, "" if owner is None or named_after(owner, name) else pod.owner


def members(history, pod, when):
    """Those that stay then and would go with it, itself among them; alone where its gang is too large to be one."""
    gang = gang_of(pod)
    if gang is None:
        return [pod]
    found = [p for p in history.pods.values() if p.namespace == pod.namespace and gang_of(p) == gang and p.stays(when) and p.gpus]
    return found if len(found) <= GANG_MOST else [pod]


# --- room

class Room:
    """What is left of a node with some pods there and others not: cards by NUMA node where it is known, CPU and memory.

    told: when what kubelet had said of the pods' cards counts; None: when all is said."""

    def __init__(self, history, node, pods, when, told=None):
        item = history.object("nodes", "", node, when) or {}
        offered = item.get("status", {}).get("allocatable", {})
        self.known = bool(item)
        self.left = {GPU: int(offered.get(GPU, 0)), "memory": quantity(offered.get("memory", "1Ei")),
                     "cpu": milli(offered.get("cpu", "1k"))}
        for pod in pods:
            for resource, amount in amounts(pod).items():
                self.left[resource] -= amount
        self.numa, self.told = self._by_numa(item, pods, told)

    @staticmethod
    def _by_numa(item, pods, when):
        layout = layout_of(item)
        free = {card["uuid"]: card.get("numa") for card in layout.get("gpus", [])}
        told = bool(free)
        for pod in pods:
            cards = pod.cards if when is None else pod.cards_at(when)
            told = told and len(cards) == pod.gpus
            for card in cards:
                free.pop(card, None)
        return collections.Counter(free.values()), told

    def fits(self, pod, required):
        """True, False; None where it cannot be told."""
        if not self.known or any(self.left[resource] < amount for resource, amount in amounts(pod).items()):
            return False
        if not required:
            return True
        return max(self.numa.values(), default=0) >= pod.gpus if self.told else None


def milli(text):
    return int(text[:-1]) if str(text).endswith("m") else quantity(text) * 1000


def amounts(pod):
    asked = pod.asked
    return {GPU: pod.gpus, "cpu": milli(asked.get("cpu", "0")), "memory": quantity(asked.get("memory", "0"))}


def layout_of(node):
    return json.loads(node.get("metadata", {}).get("annotations", {}).get(TOPOLOGY, "{}"))


# --- the rules

def clock(when):
    """As in the logs, of one day."""
    return time.strftime("%H:%M:%S", time.gmtime(when)) + f"{when % 1:.3f}"[1:]


class Check:
    """One run. Each rule yields sentences of what it finds wrong."""

    def __init__(self, history, latency=None, lost=()):
        self.history, self.latency, self.losses = history, latency, lost
        self.evictions = history.evictions(USER)
        for receipt in history.receipts:
            self.date(receipt)
        self.receipts = [r for r in history.receipts if r.outcomes[0][1] == "Issued"]

    def date(self, receipt):
        """A receipt was decided when it says, where the request that is known was late, or only the first of those that were heard."""
        told = seconds(receipt.first.get("time")) or receipt.begun
        if told >= receipt.begun or (told < receipt.begun - LATE and not self.may_be_lost(told)):
            return
        if self.may_be_lost(told):
            receipt.written = min(receipt.written, told + TOLD)
        receipt.begun = told

    def faults(self):
        found = [f"deletes pods itself: {where}" for user, where, _ in self.history.deleted if user == USER and where["resource"] == "pods"]
        for eviction in self.evictions:
            found += [f"{clock(eviction.begun)} eviction of {eviction.namespace}/{eviction.name} ({eviction.uid}): {text}"
                      for text in self.eviction(eviction)]
        for receipt in self.receipts:
            found += [f"{clock(receipt.begun)} {receipt}: {text}" for text in self.receipt(receipt)]
        return found

    # --- of one request

    def eviction(self, eviction):
        if eviction.body.get("apiVersion") != "policy/v1":
            yield f"it is of {eviction.body.get('apiVersion')}, not policy/v1"
        pod = self.history.pods.get(eviction.uid)
        if pod is None:
            yield "its uid is no precondition, or of no pod that ever was"
            return
        if (pod.namespace, pod.name) != (eviction.namespace, eviction.name):
            yield f"the uid is that of {pod}"
        named = [r for r in self.history.receipts if self.stood(r, eviction.begun) and any(v["uid"] == pod.uid for v in r.victims)]
        if not named:
            yield "no receipt that was Issued before it names the pod"
            return
        yield from self.grace(eviction, pod)
        if eviction.status < 300 and not self.is_lost(eviction.begun) and not any(uid == pod.uid and user == USER and when <= eviction.begun + BESIDE for user, uid, when in self.history.notices):
            yield "the pod got no notice before, or with it"
        if eviction.status < 300:
            yield from self.budget(eviction, pod)

    def is_lost(self, when):
        """Whether what was sent then may not have arrived, or may be missing in the log."""
        return any(begun - BESIDE <= when <= ended + BESIDE for begun, ended in self.losses)

    def may_be_lost(self, told):
        """Likewise of a receipt's write, which may have been under way for as long as a request may be late."""
        return any(begun - LATE <= told <= ended + BESIDE for begun, ended in self.losses)

    def stood(self, receipt, when):
        """Whether it was Issued before. Of one whose write is missing in the log what it says itself is taken."""
        if receipt.outcomes[0][1] == "Issued" and receipt.begun < when and receipt.written <= when + TOLD:
            return True
        told = seconds(receipt.first.get("time")) or receipt.begun
        return self.may_be_lost(told) and told <= when and receipt.outcomes[0][1] != "Planned"

    def grace(self, eviction, pod):
        asked = (eviction.body.get("deleteOptions") or {}).get("gracePeriodSeconds")
        tenant = self.history.tenant_of(pod.namespace, eviction.begun) or {"spec": {}}
        most = tenant["spec"].get("preemptible", {}).get("gracePeriodSeconds")
        own = pod.first["spec"].get("terminationGracePeriodSeconds", 30)
        if most is not None and (own if asked is None else asked) > min(most, own):
            yield f"its grace is {own if asked is None else asked} s, above {min(most, own)}"

    def budget(self, eviction, pod):
        """By its own count of who is healthy, just before."""
        when = eviction.begun
        budgets = [b for b in self.history.all("poddisruptionbudgets", when, pod.namespace)
                   if matches(b["spec"].get("selector"), pod.labels)]
        still = [b for b in budgets if self.history.object("poddisruptionbudgets", pod.namespace, b["metadata"]["name"], eviction.ended)]
        if len(still) > 1:
            yield f"{len(still)} PodDisruptionBudgets select it"
        for budget in still:
            # The API server judges by the budget as it was at some moment of the request.
            now = self.history.states("poddisruptionbudgets", pod.namespace, budget["metadata"]["name"], when, eviction.ended)
            if pod.stays(when) and all(self.allowed(b, pod.namespace, when) < 1 for b in now):
                yield f"PodDisruptionBudget {budget['metadata']['name']} allowed none"

    def allowed(self, budget, namespace, when):
        spec = budget["spec"]
        selected = [p for p in self.history.pods.values() if p.namespace == namespace and matches(spec.get("selector"), p.labels)]
        healthy = sum(1 for p in selected if p.stays(when) and p.started is not None and p.started <= when)
        if "minAvailable" in spec:
            return healthy - int(spec["minAvailable"])
        most = int(spec["maxUnavailable"])
        sets = {p.owner.partition("/")[2] for p in selected if p.owner and p.owner.startswith("ReplicaSet/")}
        expected = sum(s["spec"].get("replicas", 1) for s in self.history.all("replicasets", when, namespace) if s["metadata"]["name"] in sets)
        # Kubernetes expects no pods that no set asks for; where there are others alone, it cannot tell, and allows none.
        return healthy - (expected - most) if sets else 0

    # --- of one receipt

    def receipt(self, receipt):
        tenant = self.history.object("tenantqos", "", receipt.tenant, receipt.begun)
        victims = [self.history.pods.get(v.get("uid")) for v in receipt.victims]
        pod = self.history.pods.get(receipt.first.get("beneficiary", {}).get("uid"))
        if tenant is None or pod is None or None in victims or not victims:
            yield "it lacks its tenant, beneficiary or victims"
            return
        yield from self.complete(receipt)
        yield from self.cause(receipt, tenant, pod, victims)
        for victim in victims:
            yield from (f"{victim}: {text}" for text in self.lawful(receipt, tenant, victim))
        # One write may settle a receipt and add the next.
        twice = [r for r in self.before(receipt, HOUR) if (r.settled or receipt.written + 1) > receipt.written
                 and {v["uid"] for v in r.victims} & {v.uid for v in victims}]
        if twice:
            yield f"{twice[0]} is open and has a victim of its own"
        yield from self.gangs(receipt, victims)
        yield from self.limits(receipt, tenant)
        yield from self.brake(receipt)
        if receipt.first["cause"] == "PendingPod":
            yield from self.minimal(receipt, tenant, pod, victims)
            yield from self.used(receipt, tenant, pod, victims)
        yield from self.honest(receipt, pod, victims)

    def complete(self, receipt):
        lacks = [f for f in ("cause", "beneficiary", "proof", "limits", "time") if not receipt.first.get(f)]
        if receipt.dropped is None:
            lacks += [f for f in ("message", "settledTime") if not receipt.last.get(f)]
            if receipt.last["outcome"] not in ("Helped", "Ineffective", "Refused", "Moot"):
                lacks.append("an outcome")
        if lacks:
            yield f"it lacks {lacks}"

    def cause(self, receipt, tenant, pod, victims):
        when = receipt.begun
        mine = self.history.tenant_of(pod.namespace, when)
        if mine is None or mine["metadata"]["name"] != receipt.tenant:
            yield f"its beneficiary {pod} is not the tenant's"
        if pod.created > when or (pod.gone is not None and pod.gone < when - LAG):
            yield "its beneficiary is not there"
        if tenant["spec"].get("protection", {}).get("mode") != "Enforce":
            yield "the tenant does not say Enforce"
        if receipt.first["cause"] == "PendingPod":
            yield from self.waited(receipt, tenant, pod)
        elif receipt.first["cause"] == "Objective":
            yield from self.suffered(receipt, tenant, pod, victims)
        else:
            yield f"its cause is {receipt.first['cause']}"

    def waited(self, receipt, tenant, pod):
        if pod.bound is not None and pod.bound < receipt.begun - LAG:
            yield f"its beneficiary {pod} was bound already"
        pending = tenant["spec"].get("pendingSeconds")
        if pending is None:
            yield "the tenant has no pendingSeconds"
        # Its creation is told in whole seconds.
        elif receipt.begun - pod.created < pending - CLOCKS:
            yield f"its beneficiary waited {receipt.begun - pod.created:.1f} s, not {pending}"

    def suffered(self, receipt, tenant, pod, victims):
        asked = [o for o in tenant["spec"].get("objectives", []) if o["name"] == receipt.first.get("objective")]
        if not asked or self.latency is None:
            yield "its objective is none of the tenant's, or nothing was measured"
            return
        threshold, window = milli(asked[0]["threshold"]) / 1000, float(asked[0]["for"][:-1])
        seen = self.latency.most(pod.namespace, pod.name, window, receipt.begun - LAG, receipt.begun)
        if seen is None or seen <= threshold:
            yield f"Prometheus has {seen} of {pod} then, not above {threshold}"
        for victim in victims:
            if self.shared(pod, victim, receipt.begun) is None and gang_of(victim) is None:
                yield f"{victim} shares nothing with {pod}"
        if not any(self.shared(pod, v, receipt.begun) and self.busy(v, receipt.begun) for v in victims):
            yield "none of its victims was near and busy"

    def shared(self, pod, other, when):
        """What two pods' cards have in common; None."""
        layout = layout_of(self.history.object("nodes", "", pod.node, when) or {})
        if pod.node != other.node:
            return None
        for what in ("uuid", "bridge", "numa"):
            places = [{c.get(what) for c in layout.get("gpus", []) if c.get("uuid") in p.cards} - {None} for p in (pod, other)]
            if places[0] & places[1]:
                return what
        return None

    def busy(self, pod, when):
        """By the agent's figures of its own processes."""
        states = self.history.states("gpunodes", "", pod.node, when - LAG, when)
        return any(user.get("podUID") == pod.uid and user.get("smPercent", 0) >= BUSY_PERCENT
                   for state in states for user in state.get("status", {}).get("users", []))

    def lawful(self, receipt, tenant, victim):
        """Rule by rule of who may go at all."""
        when, spec = receipt.begun, tenant["spec"]
        theirs = self.history.tenant_of(victim.namespace, when)
        if theirs is None:
            yield "its namespace is of no tenant"
            return
        tier = theirs["spec"]["tier"]
        if TIERS[tier] >= TIERS[spec["tier"]]:
            yield f"its tier {tier} is not lower"
        if tier not in spec.get("protection", {}).get("victimTiers", TIERS):
            yield f"its tier {tier} is not named by victimTiers"
        if victim.owner and victim.owner.startswith(("DaemonSet/", "Node/")):
            yield "it is a DaemonSet's or static"
        if not victim.holds(when - LAG) and not victim.holds(when):
            yield "it held nothing"
        if victim.leaving is not None and victim.leaving < when - LAG:
            yield "it was on its way out already"
        least = max(spec.get("protection", {}).get("minVictimRunSeconds", 60), theirs["spec"].get("preemptible", {}).get("minRunSeconds", 60))
        begun = min((p.started or p.created for p in members(self.history, victim, when)), default=victim.started or victim.created)
        if when - begun < least - 1:
            yield f"it ran for {when - begun:.1f} s, not {least}"

    def gangs(self, receipt, victims):
        """Every member that stays is a victim too; asked for once one of them was."""
        chosen = {v.uid for v in victims}
        for victim in victims:
            late = members(self.history, victim, receipt.begun)
            early = {p.uid for p in members(self.history, victim, receipt.begun - LAG)}
            left = [p for p in late if p.uid in early and p.uid not in chosen]
            if left:
                yield f"{victim} goes without its gang's {left[:3]}"
        asked = {e.uid for e in self.evictions}
        if not asked & chosen or receipt.last["outcome"] == "Refused":
            return
        end = receipt.held_until or receipt.begun
        for victim in victims:
            gone = [t for t in (victim.leaving, victim.over, victim.gone) if t is not None]
            if victim.uid not in asked and gang_of(victim) and not any(t <= end + LAG for t in gone) and receipt.last["outcome"] == "Helped":
                yield f"{victim} of a gang was never asked to go, and is there"

    # --- limits

    @staticmethod
    def was_open(other, receipt):
        """One write may settle a receipt and add the tenant's next. Of another tenant's it is known by what was stored."""
        return other.settled is None or other.settled > (receipt.written if other.tenant == receipt.tenant else receipt.begun)

    def before(self, receipt, span):
        """Receipts that counted then, not older than this."""
        return [r for r in self.receipts if r is not receipt and receipt.begun - span < r.begun < receipt.begun
                and (r.dropped is None or r.dropped > receipt.written)]

    def limits(self, receipt, tenant):
        limits = tenant["spec"].get("protection", {})
        minute = sum(len(r.victims) for r in self.before(receipt, 60 - 1) if r.tenant == receipt.tenant)
        most = max(t["spec"].get("protection", {}).get("evictionsPerMinute", 6) for t in self.history.states(
            "tenantqos", "", receipt.tenant, receipt.begun - LAG, receipt.begun))
        if minute + len(receipt.victims) > most:
            yield f"{minute} + {len(receipt.victims)} evictions in a minute, not {most}"
        open_now = sum(len(r.victims) for r in self.before(receipt, HOUR) if self.was_open(r, receipt))
        if open_now + len(receipt.victims) > IN_FLIGHT:
            yield f"{open_now} + {len(receipt.victims)} evictions under way"
        yield from self.owners(receipt)
        cooldown = limits.get("cooldownSeconds", 60)
        again = [r for r in self.before(receipt, cooldown - 1) if r.tenant == receipt.tenant
                 and r.first["beneficiary"].get("uid") == receipt.first["beneficiary"].get("uid")]
        if again:
            yield f"within {cooldown} s of {again[-1]}"

    def owners(self, receipt):
        """A workload that lost a pod is left alone for two minutes, twice as long after each further one."""
        for owner in {workload(v) for v in receipt.victims}:
            losses = sorted(r.begun for r in self.before(receipt, HOUR) if self.took(r, owner, receipt.begun))
            wait = OWNER_SECONDS * 2 ** max(len(losses) - 1, 0)
            if losses and receipt.begun - losses[-1] < wait - 1:
                yield f"{owner[1]} lost a pod {receipt.begun - losses[-1]:.0f} s ago, not {wait}"

    def took(self, receipt, owner, before):
        """Whether a pod of that workload went by it: one that was not asked, or in vain, was not lost, nor was one by it that
        another asked to go once it was settled."""
        uids = {v["uid"] for v in receipt.victims if workload(v) == owner}
        until = before if receipt.settled is None else min(before, receipt.settled + LAG)
        return any(e.uid in uids and e.status < 300 and receipt.begun <= e.begun < until for e in self.evictions)

    def brake(self, receipt):
        """Nobody goes while more than a fifth of the nodes with GPUs are not ready."""
        def stopped(when):
            nodes = [n for n in self.history.all("nodes", when) if int(n.get("status", {}).get("allocatable", {}).get(GPU, 0))]
            return sum(not node_ready(n) for n in nodes) * 5 > len(nodes)
        if all(stopped(when) for when in (receipt.begun - LAG, receipt.begun - LAG / 2, receipt.begun)):
            yield "more than a fifth of the nodes were not ready"

    # --- fit

    def moments(self, receipt):
        """When what the program saw may have been true."""
        node, begun = receipt.first.get("node"), receipt.begun
        end = max(begun, receipt.written) + LAG
        times = {t for p in self.history.on.get(node, []) for t in p.changes() if begun - LAG <= t <= end}
        return sorted({begun - LAG, begun, *times})

    def promised(self, receipt, tenant, when):
        """Beneficiaries of other receipts whose room is held on the node from this one."""
        found = []
        for other in self.receipts:
            if other is receipt or other.first.get("node") != receipt.first["node"] or other.written > when:
                continue
            theirs = self.history.object("tenantqos", "", other.tenant, other.begun)
            pod = self.history.pods.get(other.first["beneficiary"].get("uid"))
            if other.held_until > when and pod and not pod.holds(when) and TIERS[theirs["spec"]["tier"]] >= TIERS[tenant["spec"]["tier"]]:
                found.append(pod)
        return found

    def minimal(self, receipt, tenant, pod, victims):
        node, required = receipt.first.get("node"), tenant["spec"].get("topology", {}).get("policy") == "Required"
        groups = collections.defaultdict(list)
        for victim in victims:
            groups[gang_of(victim) or victim.uid].append(victim)

        def others(when):
            there = [*self.history.holding(node, when), *self.promised(receipt, tenant, when)]
            return [p for p in there if p not in victims and p is not pod]

        def fit(when, kept, told=None):
            return Room(self.history, node, [*others(when), *kept], when, told).fits(pod, required)
        moments = self.moments(receipt)
        if all(fit(when, []) is False for when in moments):
            yield f"{pod} does not fit on {node} with all of its victims gone"
        for group in groups.values():
            here = [v for v in group if v.node == node]
            if not all(fit(when, here) is True for when in moments):
                continue
            if all(fit(when, here, when) is True for when in moments):
                yield f"{pod} fits on {node} with {here or group} still there"
            elif self.was_hasty(receipt, tenant, pod, [*others(receipt.begun), *here]):
                yield f"{pod} fits on {node} with {here or group} still there, and it was not waited to be told so"

    @staticmethod
    def was_hasty(receipt, tenant, pod, there):
        """Whether the pod had not waited for long, and what was not told of the others' cards could not be known yet."""
        due = pod.created + tenant["spec"].get("pendingSeconds", 0)
        since = [p.bound or receipt.begun for p in there if len(p.cards_at(receipt.begun)) != p.gpus]
        return receipt.begun - due < PATIENCE - LAG and all(receipt.begun - when < UNTOLD - LAG for when in since)

    def used(self, receipt, tenant, pod, victims):
        """Nobody else of the same or a lower tier took what was held."""
        node, required = receipt.first["node"], tenant["spec"].get("topology", {}).get("policy") == "Required"
        end = min(t for t in (receipt.held_until, pod.bound if pod.node == node else None, pod.gone) if t is not None)
        for other in self.history.on.get(node, []):
            # What was bound as the receipt was written may have been assumed before.
            if other in (pod, *victims) or not receipt.written + CLOCKS < other.bound < end:
                continue
            theirs = self.history.tenant_of(other.namespace, other.bound)
            if theirs and TIERS[theirs["spec"]["tier"]] > TIERS[tenant["spec"]["tier"]]:
                continue
            there = [p for p in self.history.holding(node, other.bound) if p not in victims and p is not pod]
            if Room(self.history, node, there, other.bound).fits(pod, required) is False:
                yield f"{other} took the room on {node} that was held for {pod}"

    def honest(self, receipt, pod, victims):
        """The outcome is what came of it."""
        outcome, node = receipt.last["outcome"], receipt.first.get("node")
        settled = receipt.settled
        if settled is None:
            return
        went = [v for v in victims
                if any(e.uid == v.uid and e.status < 300 and receipt.begun - TOLD <= e.begun <= settled for e in self.evictions)]
        if receipt.first["cause"] == "PendingPod":
            there = pod.node == node and pod.bound is not None and pod.bound <= settled
            if outcome == "Helped" and not there:
                yield f"Helped, but {pod} is on {pod.node}, not {node}"
            if outcome == "Ineffective" and there and pod.bound < settled - LAG and pod.stays(settled - LAG):
                yield f"Ineffective, but {pod} is on {node}"
        if outcome == "Refused" and went:
            yield f"Refused, but {went[0]} was evicted"
        if outcome == "Helped" and receipt.first["cause"] == "PendingPod" and not went and all(v.stays(settled) for v in victims):
            yield "Helped, but nobody went"


def workload(victim):
    return victim["namespace"], victim.get("owner") or victim["uid"]


def node_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node.get("status", {}).get("conditions", []))


def check(history, latency=None, lost=()):
    """Sentences of what was wrong; empty where all was well. lost: [(begun, ended)], when a wire was cut or a server killed."""
    return Check(history, latency, lost).faults()


class Latency:
    """What Prometheus has of a histogram's sum and count: {(namespace, pod): [(time, sum, count)]}, oldest first."""

    def __init__(self, samples):
        self.samples = samples

    def most(self, namespace, pod, window, begun, ended):
        """Seconds a request took on the mean of so long, at that moment of this time at which it was most; None where nothing was counted."""
        samples = self.samples.get((namespace, pod), [])
        # Between these it stays. A range of PromQL holds its end and not its beginning.
        changes = [when for s in samples for when in (s[0], s[0] + window) if begun <= when <= ended]
        means = [mean([s for s in samples if when - window < s[0] <= when]) for when in (begun, *changes, ended)]
        return max((m for m in means if m is not None), default=None)


def mean(samples):
    if len(samples) < 2 or samples[-1][2] <= samples[0][2]:
        return None
    return (samples[-1][1] - samples[0][1]) / (samples[-1][2] - samples[0][2])


__all__ = ["History", "Latency", "check"]
