"""What a cluster was like at any time, from nothing but the audit log of its API server.

    history = History(audit_events(directory))          # written by tests/data/audit/evictions.yaml
    history.object("pods", uid, when)                   # as it was then, or None
    history.holding(node, when)                         # the Pods that held cards there then
    history.evictions(user)                             # in their order
    history.receipts                                    # every receipt that ever stood in a TenantQoS

Times are seconds since 1970. A write counts from the moment at which its answer was sent. Nothing here comes from
the program, and nothing of the API is believed but its log.
"""

import bisect
import datetime
import typing

GPU = "nvidia.com/gpu"
TOPOLOGY = "gpuqos.io/topology"
OVER = ("Succeeded", "Failed")


def seconds(text):
    """Of RFC 3339; None stays None."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else None


def matches(selector, labels):
    """A LabelSelector; None selects nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for each in selector.get("matchExpressions", []):
        value, values = labels.get(each["key"]), each.get("values", [])
        if not {"In": value in values, "NotIn": value not in values, "Exists": value is not None,
                "DoesNotExist": value is None}[each["operator"]]:
            return False
    return True


class Eviction(typing.NamedTuple):
    """One request to evict; status: the answer's."""

    namespace: str
    name: str
    begun: float
    ended: float
    status: int
    body: dict

    @property
    def uid(self):
        return (self.body.get("deleteOptions") or {}).get("preconditions", {}).get("uid")


class Receipt:
    """One entry of status.evictions of a TenantQoS: what it first said, what it said last, and when."""

    def __init__(self, tenant, begun, written, entry):
        self.tenant, self.begun, self.written = tenant, begun, written
        self.first = self.last = entry
        self.outcomes = [(written, entry["outcome"])]
        self.dropped = None  # when it stood there no more

    @property
    def id(self):
        return self.first["id"]

    @property
    def victims(self):
        return self.first.get("victims", [])

    @property
    def settled(self):
        """When it was first seen to be settled; None while it is open."""
        return next((when for when, outcome in self.outcomes if outcome != "Issued"), None)

    @property
    def held_until(self):
        """For how long its room was held at most: settled, gone, or the time that it says."""
        ends = [self.settled, self.dropped, seconds(self.last.get("heldUntil"))]
        return min(end for end in ends if end is not None) if any(e is not None for e in ends) else None

    def update(self, when, entry):
        self.last = entry
        if entry["outcome"] != self.outcomes[-1][1]:
            self.outcomes.append((when, entry["outcome"]))

    def __repr__(self):
        return f"receipt {self.id} of {self.tenant}"


class Pod:
    """The life of one uid."""

    def __init__(self, item):
        self.uid = item["metadata"]["uid"]
        self.namespace, self.name = item["metadata"]["namespace"], item["metadata"]["name"]
        self.created = seconds(item["metadata"]["creationTimestamp"])
        self.node = self.bound = self.leaving = self.over = self.gone = self.started = None
        self.first = self.item = item
        self.told = []  # [(when, cards)], each time that other cards were told

    @property
    def labels(self):
        return self.item["metadata"].get("labels", {})

    @property
    def annotations(self):
        return self.item["metadata"].get("annotations", {})

    @property
    def asked(self):
        """{resource: amount as it stands there} of its containers, which are one."""
        resources = self.first["spec"]["containers"][0].get("resources", {})
        return resources.get("limits", {}) | resources.get("requests", {})

    @property
    def gpus(self):
        return int(self.asked.get(GPU, 0))

    @property
    def owner(self):
        """Kind/name of its controller; None."""
        return next((f"{o['kind']}/{o['name']}" for o in self.item["metadata"].get("ownerReferences", []) if o.get("controller")), None)

    @property
    def cards(self):
        """What kubelet says that it was given, by uuid."""
        return {r["resourceID"].split("::")[0] for s in self.item.get("status", {}).get("containerStatuses", [])
                for a in s.get("allocatedResourcesStatus", []) for r in a.get("resources", [])}

    def cards_at(self, when):
        """What kubelet had said of it by then."""
        return next((cards for told, cards in reversed(self.told) if told <= when), set())

    def ended(self):
        """When it began to hold nothing; None."""
        return min((when for when in (self.over, self.gone) if when is not None), default=None)

    def holds(self, when):
        ended = self.ended()
        return self.bound is not None and self.bound <= when and (ended is None or when < ended)

    def stays(self, when):
        """It holds, and is not on its way out."""
        return self.holds(when) and (self.leaving is None or when < self.leaving)

    def changes(self):
        return [when for when in (self.bound, self.leaving, self.over, self.gone) if when is not None]

    def take(self, when, item):
        self.item = item
        if self.cards != self.cards_at(when):
            self.told.append((when, self.cards))
        meta, status = item["metadata"], item.get("status", {})
        if item["spec"].get("nodeName") and self.bound is None:
            self.node, self.bound = item["spec"]["nodeName"], when
        if meta.get("deletionTimestamp") and self.leaving is None:
            self.leaving = when
        if status.get("phase") in OVER and self.over is None:
            self.over = when
        self.started = self.started or seconds(status.get("startTime"))
        if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds") == 0 and not meta.get("finalizers"):
            self.gone = self.gone or when

    def __repr__(self):
        return f"{self.namespace}/{self.name}"


class Timeline:
    """The states of one object; None: it is not there."""

    def __init__(self):
        self.times, self.states = [], []

    def put(self, when, state):
        self.times.append(when)
        self.states.append(state)

    def at(self, when):
        index = bisect.bisect_right(self.times, when)
        return self.states[index - 1] if index else None

    def between(self, begun, ended):
        """What it was at any time of these."""
        return [self.at(begun), *(s for t, s in zip(self.times, self.states) if begun < t <= ended)]


class History:
    """present: the uids of pods that are there in the end. Of a write that the API server made as it was killed there
    is no event; a pod that is not there and was not seen to go went with the last that was seen of it."""

    def __init__(self, events, present=None):
        self.pods, self.names = {}, {}  # by uid; uid by (namespace, name)
        self.objects = {}  # (resource, namespace, name): Timeline
        self.receipts, self.asked, self.deleted, self.notices = [], [], [], []
        self._receipts, self._unanswered = {}, {}
        for event in sorted(events, key=lambda e: e["stageTimestamp"]):
            self._take(event)
        for pod in self.pods.values():
            if present is not None and pod.gone is None and pod.uid not in present:
                pod.gone = max(pod.changes(), default=pod.created)
        self.on = {}
        for pod in self.pods.values():
            self.on.setdefault(pod.node, []).append(pod)

    # --- reading

    def object(self, resource, namespace, name, when):
        line = self.objects.get((resource, namespace, name))
        return line.at(when) if line else None

    def all(self, resource, when, namespace=None):
        """Those that are there then."""
        found = [line.at(when) for (kind, place, _), line in self.objects.items() if kind == resource and namespace in (None, place)]
        return [item for item in found if item]

    def states(self, resource, namespace, name, begun, ended):
        line = self.objects.get((resource, namespace, name))
        return [s for s in line.between(begun, ended) if s] if line else []

    def holding(self, node, when):
        return [pod for pod in self.on.get(node, []) if pod.holds(when)]

    def evictions(self, user):
        return [eviction for who, eviction in self.asked if who == user]

    def tenant_of(self, namespace, when):
        """The TenantQoS that a namespace is of, by its selector."""
        item = self.object("namespaces", "", namespace, when)
        labels = item["metadata"].get("labels", {}) if item else {}
        found = [t for t in self.all("tenantqos", when) if matches(t["spec"]["namespaceSelector"], labels)]
        return found[0] if len(found) == 1 else None

    # --- writing

    def _take(self, event):
        where = event["objectRef"]
        resource, part = where["resource"], where.get("subresource")
        when, status = seconds(event["stageTimestamp"]), event.get("responseStatus", {}).get("code", 0)
        user = event["user"]["username"]
        if "dryRun=" in event.get("requestURI", ""):
            return
        if event["verb"] == "patch" and "gpuqos.io/eviction-notice" in str(event.get("requestObject")):
            # One that the API server was too busy for counts: nobody waits for it.
            self.notices.append((user, event["requestObject"]["metadata"].get("uid"), seconds(event["requestReceivedTimestamp"])))
        if (resource, part) == ("pods", "eviction"):
            self._evict(user, where, event, when, status)
        elif 200 <= status < 300:
            self._store(user, where, event, when)
        elif status >= 500 and resource == "tenantqos":
            self._maybe_receipts_of(where.get("name"), event)

    def _store(self, user, where, event, when):
        resource, part = where["resource"], where.get("subresource")
        answer = event.get("responseObject") or {}
        if resource == "pods" and part == "binding":
            self._bind(where, event, when)
        elif resource == "pods":
            self._pod(user, where, event, answer, when)
        else:
            name = answer.get("metadata", {}).get("name") or where.get("name")
            place = "" if resource == "namespaces" else where.get("namespace", "")
            line = self.objects.setdefault((resource, place, name), Timeline())
            gone = event["verb"] == "delete" and not (answer.get("metadata") or {}).get("finalizers")
            line.put(when, None if gone else answer)
            if resource == "tenantqos":
                self._receipts_of(name, seconds(event["requestReceivedTimestamp"]), when, None if gone else answer)

    def _known(self, where):
        return self.pods.get(self.names.get((where.get("namespace"), where.get("name"))))

    def _evict(self, user, where, event, when, status):
        body = event.get("requestObject") or {}
        if not body and status >= 300:
            return  # who asked was killed, or cut off, before all of it had come
        self.asked.append((user, Eviction(
            where["namespace"], where["name"], seconds(event["requestReceivedTimestamp"]), when, status, body)))
        pod = self._known(where)
        if status >= 300 or pod is None:
            return
        pod.leaving = pod.leaving or when
        grace = (body.get("deleteOptions") or {}).get("gracePeriodSeconds", pod.item["spec"].get("terminationGracePeriodSeconds", 30))
        if (grace == 0 or pod.bound is None) and not pod.item["metadata"].get("finalizers"):
            pod.gone = pod.gone or when

    def _bind(self, where, event, when):
        pod = self._known(where)
        if pod and pod.bound is None:
            pod.node, pod.bound = event["requestObject"]["target"]["name"], when

    def _pod(self, user, where, event, answer, when):
        if answer.get("kind") == "Pod":
            meta = answer["metadata"]
            pod = self.pods.setdefault(meta["uid"], Pod(answer))
            if event["verb"] == "create":
                self.names[meta["namespace"], meta["name"]] = meta["uid"]
            pod.take(when, answer)
        else:
            pod = self._known(where)
        if event["verb"] in ("delete", "deletecollection"):
            self.deleted.append((user, where, when))
            if pod and answer.get("kind") != "Pod":
                pod.leaving, pod.gone = pod.leaving or when, pod.gone or when

    def _maybe_receipts_of(self, tenant, event):
        """What was not stored in time may have been stored all the same, as is seen later."""
        when = seconds(event["requestReceivedTimestamp"]), seconds(event["stageTimestamp"])
        for entry in ((event.get("requestObject") or {}).get("status") or {}).get("evictions", []):
            self._unanswered.setdefault((tenant, entry["id"]), (*when, entry))

    def _receipts_of(self, tenant, begun, when, item):
        entries = {e["id"]: e for e in ((item or {}).get("status") or {}).get("evictions", [])}
        for key, entry in entries.items():
            known = self._receipts.get((tenant, key))
            if known:
                known.update(when, entry)
            else:
                known = Receipt(tenant, *self._unanswered.get((tenant, key), (begun, when, entry)))
                known.update(when, entry)
                self._receipts[tenant, key] = known
                self.receipts.append(known)
        for (name, key), known in self._receipts.items():
            if name == tenant and key not in entries and known.dropped is None:
                known.dropped = when
