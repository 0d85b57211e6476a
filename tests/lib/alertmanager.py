"""A real Alertmanager, on this machine alone: what fires there.

    made = Alertmanager(folder)
    made.start()
    made.wait_firing("GpuqosTenantThrottled")
"""

import contextlib
import http.client
import json
import subprocess

from cluster import NotYet, wait_for
from controller import free_port


class Alertmanager:
    """It may be ended and started again. `flags`, `tls` and `headers` are as of a Prometheus (prometheus.py)."""

    flags, tls, headers = (), None, {}

    def __init__(self, directory):
        self.directory, self.port, self.process = directory, free_port(), None
        (directory / "config.yaml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")

    def start(self):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["prometheus-alertmanager", f"--config.file={self.directory}/config.yaml",
                 f"--storage.path={self.directory}/data", f"--web.listen-address=127.0.0.1:{self.port}",
                 "--cluster.listen-address=", *self.flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def is_ready():
            with contextlib.suppress(OSError):
                return self.get("/-/ready")[0] == 200
            return False
        wait_for(is_ready, "Alertmanager is ready")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        if self.tls:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=self.tls)
        try:
            connection.request("GET", path, headers=self.headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def firing(self):
        """{alertname: alert} of what fires."""
        status, body = self.get("/api/v2/alerts?active=true")
        assert status == 200, body
        return {alert["labels"]["alertname"]: alert for alert in json.loads(body)}

    def wait_firing(self, *names):
        def reached():
            got = self.firing()
            return set(got) == set(names) and (got or True) or NotYet(got)
        return wait_for(reached, f"of Alertmanager's alerts fire {names}", timeout=90)
