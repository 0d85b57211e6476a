"""A random walk: whatever happens to pods and nodes, status says what a recount says.

Several walkers at once, each in a namespace of its own; what one does to the nodes
concerns all. After each step the walker waits until its quota's status and /metrics
are equal to a count made anew, by recount.py, from the pods and nodes themselves.
"""

import concurrent.futures
import random

from cluster import JSON_PATCH, NotYet, wait_for
from gpus import GPU, H100, SOAK, T4, container, pod
from recount import Prices, comparable, count, of_status

OFFER = ("h100=3", "t4=3", "mig-mixed=2", "timesliced-renamed=1", "mi300x=1", "mig-single=1")
DEVICES = [(GPU, 1, H100), (GPU, 2, T4), (GPU, 1, None), ("nvidia.com/mig-1g.10gb", 2, None),
           ("nvidia.com/mig-3g.40gb", 1, None), ("nvidia.com/gpu.shared", 3, None), ("amd.com/gpu", 1, None),
           (GPU, 1, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), (GPU, 1, "No-Such-Card")]


def workload(kind, name, template, **spec):
    group = {"Job": "batch/v1", "Deployment": "apps/v1"}[kind]
    metadata = {"labels": {"app": name}, "annotations": template["metadata"].get("annotations", {})}
    made = {"template": {"metadata": metadata, "spec": template["spec"]}, **spec}
    if kind == "Deployment":
        made["selector"] = {"matchLabels": {"app": name}}
    else:
        template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": made}


def with_helpers(item, dice):
    """The pod with init containers and sidecars, in an order that matters."""
    resource = dice.choice([GPU, "nvidia.com/mig-1g.10gb"])
    item["spec"]["initContainers"] = [
        container("first", resource, dice.randint(0, 2)),
        container("beside", resource, dice.randint(0, 2), restartPolicy="Always"),
        container("then", GPU, dice.randint(0, 3)),
        container("last", resource, dice.randint(0, 1), restartPolicy="Always")]
    item["spec"]["containers"].append(container("plain"))
    return item


class Walker:
    """One namespace and what may happen in it. Whether an object is refused does not
    matter here: what counts is what there is."""

    def __init__(self, namespace, controller, seed, steps):
        self.namespace, self.cluster, self.controller = namespace, namespace.cluster, controller
        self.dice = random.Random(seed)
        self.steps, self.number = steps, 0
        self.done = []
        self.apps = f"/apis/apps/v1/namespaces/{namespace.name}/deployments"
        self.jobs = f"/apis/batch/v1/namespaces/{namespace.name}/jobs"

    def name(self):
        self.number += 1
        return f"w{self.number}"

    def new_pod(self, **metadata):
        resource, amount, product = self.dice.choice(DEVICES)
        return pod(self.name(), resource, amount, product, **metadata)

    def any_pod(self):
        names = [p["metadata"]["name"] for p in self.namespace.list_pods()]
        return self.dice.choice(names) if names else None

    def any_node(self):
        return self.dice.choice(self.cluster.get("/api/v1/nodes")["items"])

    # --- steps

    def create(self):
        self.namespace.create(self.new_pod())

    def create_slow(self):
        """Terminates for as long as nobody forces it."""
        self.namespace.create(self.new_pod(annotations={"dev.gpuqos.io/terminate-for": "1h"}))

    def create_with_helpers(self):
        self.namespace.create(with_helpers(self.new_pod(), self.dice))

    def create_elsewhere(self):
        """On a node without asking the scheduler; it need not offer the resource, nor exist."""
        item = self.new_pod()
        item["spec"]["nodeName"] = self.dice.choice([self.any_node()["metadata"]["name"], "no-such-node"])
        self.namespace.create(item)

    def create_plain(self):
        self.namespace.create(pod(self.name(), amount=0))

    def delete(self):
        name = self.any_pod()
        if name:
            self.namespace.delete_pod(name)

    def delete_by_force(self):
        name = self.any_pod()
        if name:
            self.namespace.delete_pod(name, force=True)

    def deploy(self):
        item = workload("Deployment", self.name(), self.new_pod(), replicas=self.dice.randint(1, 3))
        self.cluster.api("POST", self.apps, item).ok()

    def scale(self):
        found = self.cluster.get(self.apps)["items"]
        if found:
            name = self.dice.choice(found)["metadata"]["name"]
            self.cluster.api("PATCH", f"{self.apps}/{name}", {"spec": {"replicas": self.dice.randint(0, 3)}}).ok()

    def run_job(self):
        template = self.new_pod(annotations={"dev.gpuqos.io/run-for": f"{self.dice.randint(50, 1500)}ms",
                                             "dev.gpuqos.io/exit-code": self.dice.choice(["0", "1"])})
        self.cluster.api("POST", self.jobs, workload("Job", self.name(), template, parallelism=2, completions=2,
                                                     backoffLimit=1)).ok()

    def relabel_node(self):
        """Other memory, another product, another number of replicas, or no label at all."""
        node = self.any_node()["metadata"]["name"]
        label, values = self.dice.choice([
            ("gpu.memory", ["81559", "40960", "15360", "0", "much", None]),
            ("gpu.product", [H100, T4, "NVIDIA-H200", None]),
            ("gpu.replicas", ["1", "2", "10", None]),
            ("mig-1g.10gb.memory", ["9984", "16384", None])])
        patch = {"metadata": {"labels": {f"nvidia.com/{label}": self.dice.choice(values)}}}
        self.cluster.api("PATCH", f"/api/v1/nodes/{node}", patch).ok()

    def change_capacity(self):
        node = self.any_node()
        gpus = [r for r in node["status"]["capacity"] if "/" in r]
        if gpus:
            key = self.dice.choice(gpus).replace("/", "~1")
            value = str(self.dice.choice([0, 2, 8, 16]))
            patch = [{"op": "replace", "path": f"/status/{part}/{key}", "value": value}
                     for part in ("capacity", "allocatable")]
            self.cluster.api("PATCH", f"/api/v1/nodes/{node['metadata']['name']}/status", patch, JSON_PATCH).ok()

    STEPS = [create] * 5 + [create_slow, create_with_helpers, create_with_helpers, create_elsewhere, create_plain,
                            delete, delete, delete_by_force, delete_by_force, deploy, scale, scale, run_job,
                            relabel_node, change_capacity]

    # --- the oracle

    def metrics(self):
        page, mine = self.controller.metrics(), frozenset({("namespace", self.namespace.name)})
        return {name: page.get((f"gpuqos_quota_{name}", mine)) for name in ("used_bytes", "live_bytes", "unpriced_devices")}

    def compare(self):
        prices = Prices(self.cluster.get("/api/v1/nodes")["items"])
        truth = comparable(count(self.namespace.list_pods(), prices))
        unpriced = truth.pop("unpriced")
        shown, metrics = comparable(of_status(self.namespace.quota()["status"])), self.metrics()
        expected = {"used_bytes": truth["used"], "live_bytes": truth["live"], "unpriced_devices": unpriced}
        if (shown, metrics) == (truth, expected):
            return True
        return NotYet({"after": self.done[-5:], "recount": truth, "status": shown, "metrics": metrics,
                       "wanted": expected})

    def walk(self):
        for _ in range(self.steps):
            step = self.dice.choice(self.STEPS)
            self.done.append(step.__name__)
            step(self)
            wait_for(self.compare, f"step {len(self.done)}: status is what a recount says", 20)
        return len(self.done)


def test_status_is_what_a_recount_says_at_every_step_of_a_random_walk(running, nodes, make_namespace, tell):
    nodes(*OFFER)
    walkers, steps, seed = 10, 500 if SOAK else 100, random.SystemRandom().randrange(10**6)
    tell(f"random walk of {steps} steps, seed {seed}")
    made = [Walker(make_namespace("walk"), running, f"{seed}/{i}", steps // walkers) for i in range(walkers)]
    for walker in made:
        walker.namespace.put_quota("8Ti")
    with concurrent.futures.ThreadPoolExecutor(walkers) as pool:
        assert sum(pool.map(Walker.walk, made)) == steps
    # Nobody had to correct anything: the ledger never drifted.
    assert running.metric("gpuqos_ledger_differing_total") == 0
