"""An inference service under a recorded load, whose latency follows from who its neighbours are.

No machine here has GPUs to be slowed down, so what a training job does to the pod beside it is a model:

  service time  = prompt tokens / PREFILL x slowdown          (one request after the other, first come, first served)
  slowdown      = 1 + the sum, over busy training pods of the node, of what they share with the server:
                  a card 1.5, a PCIe switch 0.8, a NUMA node 0.4, else nothing
  time to first token = time in the queue + service time

The form is that of one server with a queue whose service rate is cut by those who use the same wires; the factors are of
the size that papers report for co-located training (about 1.5 to 3 times), and no claim about any card. What matters to
those who use it: latency is bad where a busy neighbour shares wires, worse the nearer it is, and good again when it goes.

The series are vLLM's: vllm:time_to_first_token_seconds, vllm:num_requests_waiting and _running, by namespace and pod.

  tests/lib/inference.py --port 0 --port-file FILE [--speed 8]  serves /metrics for the pods of KUBECONFIG's cluster that
                                                               have the label gpuqos-test/load: inference, beside those
                                                               that have gpuqos-test/load: training
"""

import argparse
import bisect
import collections
import csv
import http.server
import json
import pathlib
import subprocess
import threading
import time

TRACE = pathlib.Path(__file__).resolve().parents[1] / "data/azure-llm-2023/conversations.csv"
PREFILL = 20000  # tokens a second, undisturbed
SHARED = {"card": 1.5, "switch": 0.8, "numa": 0.4}
LOAD = "gpuqos-test/load"
TOPOLOGY = "gpuqos.io/topology"
# The bounds of vLLM's own histogram.
BOUNDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560]

Request = collections.namedtuple("Request", "seconds tokens")


def read_trace(path=TRACE):
    with open(path) as file:
        return [Request(float(row["seconds"]), int(row["context_tokens"])) for row in csv.DictReader(file)]


class Histogram:
    def __init__(self):
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def observe(self, value):
        self.buckets[bisect.bisect_left(BOUNDS, value)] += 1
        self.sum += value

    def lines(self, name, labels):
        total = 0
        for bound, count in zip([*BOUNDS, "+Inf"], self.buckets):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self.sum:.6f}"
        yield f"{name}_count{{{labels}}} {total}"


class Server:
    """One pod that answers the requests of a trace, over and over."""

    def __init__(self, trace, share=1.0):
        self.trace, self.share = trace, share
        self.length = trace[-1].seconds + 1
        self.now = 0.0
        self.next = 0  # requests taken so far
        self.queue = collections.deque()  # (arrived, work that is left, in seconds of an undisturbed server)
        self.first_token = Histogram()

    def arrivals_until(self, end):
        while True:
            lap, index = divmod(self.next, len(self.trace))
            at = lap * self.length + self.trace[index].seconds
            if at > end:
                return
            self.next += 1
            yield at, self.trace[index].tokens * self.share / PREFILL

    def step(self, seconds, slowdown):
        """So much time goes by, at this slowdown."""
        end = self.now + seconds
        self.queue.extend(self.arrivals_until(end))
        at = self.now
        while self.queue:
            arrived, work = self.queue[0]
            begun = max(at, arrived)
            if begun + work * slowdown > end:
                self.queue[0] = (arrived, work - max(end - begun, 0) / slowdown)
                break
            at = begun + work * slowdown
            self.first_token.observe(at - arrived)
            self.queue.popleft()
        self.now = end


def topmost(bridges, index):
    """Below which all that it leads to share a switch; None where nothing tells."""
    while index is not None and bridges[index].get("parent") is not None:
        index = bridges[index]["parent"]
    return index


def wires(topology):
    """Of a node's published layout (docs/topology.md): what each card shares with others, by its uuid."""
    return {card["uuid"]: {"card": card["uuid"], "switch": topmost(topology.get("bridges", []), card.get("bridge")), "numa": card.get("numa")}
            for card in topology.get("gpus", []) if "uuid" in card}


def nearest(mine, theirs, shared):
    """What two sets of cards share that hurts most: card, switch, numa; None."""
    for what in SHARED:
        def places(cards):
            return {shared[card][what] for card in cards if card in shared and shared[card][what] is not None}
        if places(mine) & places(theirs):
            return what
    return None


def slowdown(mine, neighbours, shared):
    """@neighbours: the sets of cards of busy pods on the node."""
    found = [nearest(mine, theirs, shared) for theirs in neighbours]
    return 1 + sum(SHARED[what] for what in found if what)


# --- from the cluster

def cards(pod):
    """The device ids that kubelet says it gave to a pod."""
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return {resource["resourceID"].split("::")[0] for status in statuses
            for allocated in status.get("allocatedResourcesStatus", []) for resource in allocated.get("resources", [])}


def runs(pod):
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def kubectl_get(what):
    run = subprocess.run(["kubectl", "get", what, "-A", "-o", "json"], capture_output=True, text=True)
    return json.loads(run.stdout)["items"] if run.returncode == 0 else None


class Service:
    """All inference pods of a cluster, by (namespace, name). @read: kubectl_get, or something like it."""

    def __init__(self, read=kubectl_get, trace=None):
        self.read, self.trace = read, trace or read_trace()
        self.servers = {}
        self.lock = threading.Lock()

    def look(self):
        """What slows each inference pod down now; None where the cluster does not answer."""
        pods, nodes = self.read("pods"), self.read("nodes")
        if pods is None or nodes is None:
            return None
        layouts = {node["metadata"]["name"]: wires(json.loads(node["metadata"].get("annotations", {}).get(TOPOLOGY, "{}")))
                   for node in nodes}
        loads = collections.defaultdict(list)
        for pod in pods:
            load = pod["metadata"].get("labels", {}).get(LOAD)
            if load and runs(pod):
                loads[load].append(pod)
        return {(pod["metadata"]["namespace"], pod["metadata"]["name"]): slowdown(
            cards(pod), [cards(other) for other in loads["training"] if other["spec"].get("nodeName") == pod["spec"].get("nodeName")],
            layouts.get(pod["spec"].get("nodeName"), {})) for pod in loads["inference"]}

    def step(self, seconds):
        factors = self.look()
        if factors is None:
            return
        with self.lock:
            self.servers = {key: self.servers.get(key) or Server(self.trace) for key in factors}
            for key, factor in factors.items():
                self.servers[key].step(seconds, factor)

    def page(self):
        ttft, waiting = "vllm:time_to_first_token_seconds", "vllm:num_requests_waiting"
        lines = [f"# TYPE {ttft} histogram"]
        with self.lock:
            labels = {key: f'namespace="{key[0]}",pod="{key[1]}",model_name="trace"' for key in self.servers}
            for key, server in self.servers.items():
                lines += server.first_token.lines(ttft, labels[key])
            lines.append(f"# TYPE {waiting} gauge")
            lines += [f"{waiting}{{{labels[key]}}} {len(server.queue)}" for key, server in self.servers.items()]
        return "\n".join(lines) + "\n"

    def run(self, stop, interval=0.5, speed=1):
        """@speed: so many seconds of the load go by in each second."""
        before = time.monotonic()
        while not stop.wait(interval):
            now = time.monotonic()
            self.step((now - before) * speed)
            before = now


class Exporter:
    """The service, served on 127.0.0.1 while this is open: `port`."""

    def __init__(self, service, port=0, speed=1):
        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = service.page().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.stop = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
        self.port = self.server.server_address[1]
        self.threads = [threading.Thread(target=self.server.serve_forever, daemon=True),
                        threading.Thread(target=service.run, args=(self.stop,), kwargs={"speed": speed}, daemon=True)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=pathlib.Path, required=True)
    parser.add_argument("--speed", type=float, default=1, help="so many seconds of the trace go by in each second")
    args = parser.parse_args()
    with Exporter(Service(), args.port, args.speed) as exporter:
        args.port_file.write_text(f"{exporter.port}\n")
        threading.Event().wait()


if __name__ == "__main__":
    main()
