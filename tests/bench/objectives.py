#!/usr/bin/env python3
"""What an interval of objectives costs the controller: N tenants of one namespace, in each of which two pods serve and
have three objectives by preset, over a real Prometheus that scrapes all their series, on a real API server.

    tests/bench/objectives.py [N]

prints {"cpu": ms of a processor, "queries": of an interval, "judged": objectives that are met by the numbers}. That is
all that the controller does in the time, its watches and Lease besides.
"""

import http.server
import itertools
import json
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from cluster import Cluster, NotYet, wait_for
from controller import Controller, install
from gpus import GPU, H100, pod
from prometheus import Prometheus

INTERVAL = 5  # seconds
COUNTED = 8  # intervals
SERVERS = ("a", "b")
PRESETS = {"vllm-time-to-first-token": "vllm:time_to_first_token_seconds",
           "vllm-inter-token-latency": "vllm:inter_token_latency_seconds",
           "vllm-queue-time": "vllm:request_queue_time_seconds"}
BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "{url}", intervalSeconds: {interval}, timeoutSeconds: 20}}
"""


def histogram(metric, labels, slow, requests):
    """A server whose requests, so many so far, fall into two buckets: most below 50 ms, a few up to `slow` seconds."""
    few = requests // 100 + 1
    for bound in (*BOUNDS, "+Inf"):
        below = 0 if bound != "+Inf" and bound < 0.05 else requests - few if bound != "+Inf" and bound < slow else requests
        yield f'{metric}_bucket{{{labels},le="{bound}"}} {below}'
    yield f"{metric}_sum{{{labels}}} {0.04 * requests:.3f}"
    yield f"{metric}_count{{{labels}}} {requests}"


class Servers:
    """Exports what the servers of all namespaces have done; with each scrape some more, no two alike."""

    def __init__(self, namespaces):
        self.namespaces, self.scrapes = namespaces, itertools.count(1)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = outer.page(next(outer.scrapes)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, scrape):
        lines = []
        for (number, namespace), (other, server), metric in itertools.product(
                enumerate(self.namespaces), enumerate(SERVERS), PRESETS.values()):
            lines += histogram(metric, f'namespace="{namespace}",pod="{server}"', 0.25, scrape * (200 + number + 7 * other))
        return "\n".join(lines) + "\n"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def make_tenants(cluster, count):
    """The names of their namespaces; servers wait for cards, which says as much of their latency."""
    names = [f"serve-{number:04}" for number in range(count)]
    for response in cluster.create_many("/api/v1/namespaces", (
            {"metadata": {"name": name, "labels": {"bench/tenant": name}}} for name in names), threads=8):
        response.ok()
    objectives = [{"name": preset[5:], "preset": preset, "threshold": "2", "for": "30s"} for preset in PRESETS]
    for response in cluster.create_many("/apis/gpuqos.io/v1alpha1/tenantqos", (
            {"apiVersion": "gpuqos.io/v1alpha1", "kind": "TenantQoS", "metadata": {"name": name}, "spec": {
                "tier": "Inference", "namespaceSelector": {"matchLabels": {"bench/tenant": name}}, "objectives": objectives}}
            for name in names), threads=8):
        response.ok()
    for name in names:
        for response in cluster.create_many(f"/api/v1/namespaces/{name}/pods", (
                pod(server, GPU, 1, H100) for server in SERVERS), threads=2):
            response.ok()
    return names


def cpu_of(process):
    """Seconds of a processor so far."""
    fields = pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split()
    return int(fields[0]) / 1e9


def cpu_in(process, seconds):
    before, begin = cpu_of(process), time.monotonic()
    threading.Event().wait(seconds)
    return (cpu_of(process) - before) / (time.monotonic() - begin)


def objectives_of(cluster):
    """[(state, reason)] of all."""
    tenants = cluster.get("/apis/gpuqos.io/v1alpha1/tenantqos")["items"]
    return [(each["state"], each["reason"]) for tenant in tenants for each in tenant.get("status", {}).get("objectives", [])]


def wait_all(cluster, count):
    def reached():
        seen = [each for each, _ in objectives_of(cluster)].count("Met")
        return seen == count or NotYet(f"{seen} of {count}")
    wait_for(reached, "all objectives are met", 600)


def queries(controller):
    return sum(value for (name, _), value in controller.metrics().items() if name == "gpuqos_prometheus_queries_total")


def measure(cluster, folder, url, tenants):
    """A controller once all objectives are as they will stay."""
    (folder / "config.yaml").write_text(CONFIG.format(url=url, interval=INTERVAL))
    controller = Controller(cluster, folder / "controller", "--config", folder / "config.yaml").start()
    wait_all(cluster, len(PRESETS) * tenants)
    wait_for(lambda: (seen := cpu_in(controller.process, INTERVAL)) < 0.05 or NotYet(seen), "it has no more to write", 300)
    before = queries(controller)
    share = cpu_in(controller.process, INTERVAL * COUNTED)
    asked = (queries(controller) - before) / COUNTED
    controller.stop(30)
    return {"cpu": 1e3 * INTERVAL * share, "queries": asked, "judged": len(PRESETS) * tenants}


def main():
    tenants = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with Cluster.start("--without", "kwok,scheduler", "--audit", "none", "--client-qps", "2000") as cluster, \
            tempfile.TemporaryDirectory(prefix="gpuqos-bench-") as folder:
        install(cluster)
        folder = pathlib.Path(folder)
        servers = Servers(make_tenants(cluster, tenants))
        with Prometheus(folder / "prometheus", servers.port, INTERVAL) as prometheus:
            seen = measure(cluster, folder, prometheus.url, tenants)
        servers.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
