#!/usr/bin/env python3
"""What our policies add to the creation of a pod, on a real API server: the same pod is created before
gpuqos is installed, and then in a tenant's namespace among N TenantQoS, each with its three bindings.

    tests/bench/admission.py [N]      prints {"without": ms, "with": ms} of medians
"""

import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from cluster import Cluster, wait_for
from controller import install
from gpus import GPU, H100, Namespace, pod
from published import Published, PublishedTenant, row

CREATES = 200
# What a cluster of many kinds of device publishes.
ROWS = [row(GPU, "81559Mi", H100)] + [row(f"nvidia.com/mig-{n}g.{n}gb", f"{n}Gi", H100, sharing="MIG") for n in range(1, 32)]


def median_create(space):
    """Milliseconds of a create, each sent when the one before was answered."""
    took = []
    for number in range(CREATES):
        item = pod(f"p{number}", GPU, 1, H100)
        item["spec"]["priorityClassName"] = "gpuqos-training"
        begin = time.monotonic()
        space.cluster.api("POST", f"{space.pods}?dryRun=All", item).ok()
        took.append(1e3 * (time.monotonic() - begin))
    return statistics.median(took)


def main():
    tenants = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with Cluster.start("--without", "kwok,scheduler") as cluster:
        cluster.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gpuqos-training"},
            "value": 1000, "preemptionPolicy": "Never"}).ok()
        without = median_create(Namespace.make(cluster, "plain"))
        cluster.api("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/gpuqos-training").ok()
        install(cluster)
        made = [PublishedTenant(cluster, f"tenant-{number}", priorityClasses=["gpuqos-training"],
                                qosClass={"class": "Burstable", "action": "Warn"}) for number in range(tenants)]
        space = Published.make(cluster, "64Ti", ROWS, made[tenants // 2].labels())
        other = pod("other")
        other["spec"]["priorityClassName"] = "system-node-critical"
        wait_for(lambda: space.answer(other).status == 403, "the tenant's own policy acts")
        print(json.dumps({"without": without, "with": median_create(space)}))


if __name__ == "__main__":
    main()
