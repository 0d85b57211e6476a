"""A real Prometheus for a test, and an exporter of the test's own that it scrapes each second.

    with Exporter() as exporter, Prometheus(folder, exporter.port) as prometheus:
        exporter.gauge("my_latency_seconds", 0.1, namespace="a", pod="p")
        prometheus.query("my_latency_seconds")
"""

import http.server
import json
import pathlib
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from cluster import NotYet, wait_for
from controller import free_port
from inference import Histogram

BINARY = shutil.which("prometheus")
CONFIG = """
global: {{scrape_interval: {seconds}s, scrape_timeout: {seconds}s, evaluation_interval: {seconds}s}}
scrape_configs:
  - job_name: test
    honor_labels: true
    static_configs: [{{targets: {targets}}}]
rule_files: {rules}
"""


class Exporter:
    """Series as they were last set; a server's histogram takes a few more requests with each scrape."""

    def __init__(self):
        self.lock = threading.Lock()
        self.gauges = {}
        self.servers = {}  # (metric, labels): (seconds, Histogram, late, anew)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = outer.page().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    @staticmethod
    def labels(labels):
        return ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))

    def gauge(self, metric, value, **labels):
        """A value of None takes the series away."""
        with self.lock:
            if value is None:
                self.gauges.pop((metric, self.labels(labels)), None)
            else:
                self.gauges[metric, self.labels(labels)] = value

    def serve(self, metric, seconds, *servers, late=0, anew=False):
        """Requests to these servers, each a dict of labels, take so long from now on; None: there are none any more.
        late: the series say that they are so many seconds old. anew: the server starts anew before each scrape."""
        with self.lock:
            for labels in map(self.labels, servers):
                old = self.servers.get((metric, labels))
                self.servers[metric, labels] = (seconds, old[1] if old else Histogram(), late, anew)

    def end(self, metric, **labels):
        """The server is gone, and its series with it."""
        with self.lock:
            self.servers.pop((metric, self.labels(labels)), None)

    def page(self):
        with self.lock:
            lines = [f"{metric}{{{labels}}} {value}" for (metric, labels), value in self.gauges.items()]
            for (metric, labels), (seconds, histogram, late, anew) in self.servers.items():
                if anew:
                    histogram.__init__()
                for _ in range(10 if seconds is not None else 0):
                    histogram.observe(seconds)
                stamp = f" {int((time.time() - late) * 1000)}" if late else ""
                lines += [line + stamp for line in histogram.lines(metric, labels)]
        return "\n".join(lines) + "\n"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Prometheus:
    """It may be stopped and started again; its data stay. Before a start `ports` that it scrapes, `rules`, which are files,
    and `flags` may be added; where --web.config.file asks for more than plain HTTP, `url`, `tls` and `headers` say how to ask."""

    def __init__(self, folder, exporter_port, scrape_seconds=1):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = self.tls = None
        self.ports, self.rules, self.flags, self.headers = [exporter_port], [], [], {}
        self.seconds = scrape_seconds

    def start(self):
        (self.folder / "prometheus.yml").write_text(CONFIG.format(
            targets=json.dumps([f"127.0.0.1:{port}" for port in self.ports]), rules=json.dumps([str(path) for path in self.rules]),
            seconds=self.seconds))
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [BINARY, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn", *self.flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.ready, "Prometheus is ready", 60)
        return self

    def ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
        try:
            with self.open("/-/ready") as answer:
                return answer.status == 200
        except OSError as error:
            return NotYet(error)

    def open(self, path, data=None):
        request = urllib.request.Request(self.url + path, data, self.headers)
        return urllib.request.urlopen(request, timeout=10, context=self.tls)

    def api(self, path):
        """The data of an answer."""
        with self.open(f"/api/v1/{path}") as answer:
            return json.load(answer)["data"]

    def query(self, text):
        """[(labels, value)] of an instant query."""
        with self.open("/api/v1/query", urllib.parse.urlencode({"query": text}).encode()) as answer:
            body = json.load(answer)
        return [(each["metric"], float(each["value"][1])) for each in body["data"]["result"]]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
