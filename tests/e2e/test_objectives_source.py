"""What Prometheus may answer that is of no use: nothing is known then, the log says why, and the controller goes on."""

import http.server
import json
import threading
import time

import pytest

from cluster import NotYet, wait_for
from controller import Controller
from tenants import Tenant

CONFIG = """
apiVersion: config.gpuqos.io/v1alpha1
kind: ControllerConfig
prometheus: {{url: "http://127.0.0.1:{port}/prom", intervalSeconds: 1, timeoutSeconds: 1, bearerTokenFile: "{token}"}}
"""


def vector(*values, **more):
    series = [{"metric": {"namespace": "n", "pod": f"p{i}"}, "value": [time.time(), str(value)]} for i, value in enumerate(values)]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}, **more})


# What is answered, words of the log where it is told at once (refused questions are told once a minute), and the reason.
LIES = {
    "a page of a proxy": (200, "text/html", lambda: "<html>", "is this a Prometheus?", "QueryRefused"),
    "more than 5 MB": (200, "application/json", lambda: " " * 6_000_000, None, "TooLarge"),
    "a storm of series": (200, "application/json", lambda: vector(*range(20001)), None, "TooLarge"),
    "a part": (200, "application/json", lambda: vector(0.1, 0.12, warnings=["a store is missing"]), None, "Partial"),
    "no query": (400, "application/json", lambda: json.dumps({"status": "error", "errorType": "bad_data", "error": "odd"}), None, "QueryRefused"),
    "no right": (401, "text/plain", lambda: "", "check the credentials", "Forbidden"),
    "overload": (503, "application/json", lambda: json.dumps({"status": "error", "errorType": "unavailable", "error": "busy"}), "unavailable: busy", "SourceDown"),
    "nothing in time": (0, "", lambda: "", None, "Timeout"),
}


class Liar:
    """A Prometheus that answers as it is told to."""

    def __init__(self):
        self.truth = 200, "application/json", lambda: vector(0.1, 0.12), ""
        self.says = self.truth
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.asked.append((self.path, self.headers.get("Authorization"), body))
                status, kind, make, *_ = outer.says
                if not status:
                    outer.released.wait(30)
                    return
                data = make().encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass
        self.released = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def liar():
    made = Liar()
    yield made
    made.close()


@pytest.fixture
def watching(world, liar, tmp_path):
    if world.controller.alive:
        world.controller.stop()
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "config.yaml").write_text(CONFIG.format(port=liar.port, token=tmp_path / "token"))
    mine = Controller(world.cluster, tmp_path, "-v", "2", "--config", tmp_path / "config.yaml").start()
    yield mine
    assert mine.stop(30)[0] == 0, mine.log()[-4000:]


def wait_state(tenant, state, reason):
    def reached():
        seen = (tenant.object().get("status", {}).get("objectives") or [{}])[0]
        return (seen.get("state"), seen.get("reason")) == (state, reason) or NotYet(seen)
    wait_for(reached, f"{tenant.name}: {state}, {reason}", 90)


def test_lies_are_unknown_and_end(world, watching, liar, make_namespace, tmp_path):
    tenant = Tenant.make(world.cluster, make_namespace(), tier="Inference", objectives=[
        {"name": "a", "query": 'my_latency{a="b+c d"}', "threshold": "200m", "for": "5s"}])
    wait_state(tenant, "Met", "WithinThreshold")
    path, authorization, body = liar.asked[-1]
    assert (path, authorization) == ("/prom/api/v1/query", "Bearer first")
    assert body == "timeout=1000ms&query=my_latency%7Ba%3D%22b%2Bc%20d%22%7D"
    (tmp_path / "token").write_text("second")
    wait_for(lambda: liar.asked[-1][1] == "Bearer second", "the new token is used")
    for name, lie in LIES.items():
        mark = len(watching.log())
        liar.says = lie
        wait_state(tenant, "Unknown", lie[4])
        assert not lie[3] or lie[3] in watching.log()[mark:], f"{name}: {watching.log()[mark:]}"
        assert watching.alive, name
        liar.says = liar.truth
        wait_state(tenant, "Met", "WithinThreshold")
    tenant.remove()
