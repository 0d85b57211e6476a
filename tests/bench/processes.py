"""What the benchmarks start and look at: the replay server, the programs it feeds, and the kernel's
counters of what they cost."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = pathlib.Path(os.environ.get("GPUQOS_BIN", ROOT / "build/bin"))
TOOLS = pathlib.Path(os.environ.get("GPUQOS_BENCH_TOOLS", ROOT / "build/release/tests/bench"))


class NotMeasured(Exception):
    """A row could not be measured; says why."""


def wait_until(condition, what, timeout=60):
    deadline = time.monotonic() + timeout
    while not (seen := condition()):
        if time.monotonic() > deadline:
            raise NotMeasured(f"not within {timeout} s: {what}")
        time.sleep(0.02)
    return seen


def build_peers(folder):
    """Builds the Go programs into a folder; from Go's cache that takes seconds."""
    script = '. hack/cluster/lib.sh && . hack/cluster/go.sh && find_go'
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        raise NotMeasured("there is no Go")
    folder.mkdir(parents=True, exist_ok=True)
    environ = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=readonly"}
    command = [done.stdout.strip(), "build", "-trimpath", "-buildvcs=false", "-o", f"{folder}/",
               "./replay", "./informer", "./dump"]
    if subprocess.run(command, cwd=HERE / "peer", env=environ, check=False).returncode:
        raise NotMeasured("the Go programs do not build")


def go_first():
    """In a child: before what else the machine has to do, where that is allowed. All that is measured,
    ours, the peer and the server, begins so."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)


class Process:
    """A program that is measured from outside."""

    def __init__(self, command, log, **environ):
        # Lines on its standard output are read one at a time; the rest goes to the log.
        self.log = log
        with open(log, "wb") as file:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file,
                                          env=os.environ | environ, preexec_fn=go_first)

    def line(self):
        text = self.child.stdout.readline().decode().strip()
        if not text:
            raise NotMeasured(f"{self.child.args[0]} ended: {pathlib.Path(self.log).read_text()[-500:]}")
        return text

    def cpu(self):
        """Seconds on a processor since it began, all threads, as the scheduler counts them."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.child.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def memory(self, field):
        """A field of /proc/PID/status, VmRSS or VmHWM, in bytes."""
        for line in pathlib.Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise NotMeasured(f"/proc/PID/status has no {field}")

    def never_wait(self):
        """Where that is allowed it has a processor at once, whatever else the machine has to do: for what is
        light and is measured in milliseconds."""
        for task in pathlib.Path(f"/proc/{self.child.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                os.sched_setscheduler(int(task.name), os.SCHED_RR, os.sched_param(1))

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.child.pid}/clear_refs").write_text("5")

    def settle(self, timeout=60):
        """Until it has done nothing for a while; what it does in a second of idling is far less."""
        deadline = time.monotonic() + timeout
        before, quiet_since = self.cpu(), time.monotonic()
        while time.monotonic() - quiet_since < 0.4:
            if time.monotonic() > deadline:
                raise NotMeasured(f"{self.child.args[0]} never came to rest")
            time.sleep(0.05)
            now = self.cpu()
            if now - before > 0.001:
                before, quiet_since = now, time.monotonic()
        return self

    def stop(self):
        """Asks it to end, and returns what it still said."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.communicate(timeout=15)[0].decode()
        except subprocess.TimeoutExpired:
            self.child.kill()
            return self.child.communicate()[0].decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Replay(Process):
    """The replay server."""

    def __init__(self, programs, recording, *options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuqos-bench-"))
        self.programs = programs
        super().__init__([programs / "replay", "--recording", recording, "--dir", self.folder, *options],
                         self.folder / "replay.log")
        try:
            wait_until(lambda: (self.folder / "control").exists() or self.child.poll() is not None,
                       "the replay server is ready")
            self.address = (self.folder / "control").read_text()
        except (OSError, NotMeasured) as error:
            log = (self.folder / "replay.log").read_text()[-500:]
            self.stop()
            raise NotMeasured(f"the replay server: {error}; {log}") from error

    def ask(self, path, **query):
        url = f"http://{self.address}/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=300) as answer:
            return json.loads(answer.read() or b"null")

    def writes(self):
        """How often what was written, such as {"PATCH resourcequotas": 3}."""
        return self.ask("stats")["writes"]

    def wait_listed(self, resource="pods"):
        wait_until(lambda: self.ask("stats")[resource]["listed"], f"{resource} were listed", 120)

    def informer(self, **environ):
        """The peer, once it has connected."""
        process = Process([self.programs / "informer", "--kubeconfig", self.folder / "kubeconfig"],
                          self.folder / "informer.log", **environ)
        process.line()
        return process

    def listing_informer(self):
        """The peer as it was before lists were streamed: one body with all pods, then a watch."""
        return self.informer(KUBE_FEATURE_WatchListClient="false")

    def controller(self, *options):
        return Process([BIN / "gpuqos-controller", "--kubeconfig", self.folder / "kubeconfig",
                        "--metrics-bind-address=0", "--health-probe-bind-address=0",
                        *(options or ["--leader-elect=false"])], self.folder / "controller.log")

    def tool(self, name, *arguments):
        return Process([TOOLS / name, self.folder / "kubeconfig", *arguments], self.folder / f"{name}.log")

    def stop(self):
        said = super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        return said


class CallClient:
    """Calls an extender's filter and prioritize in turn over one connection, the next once the last is answered; it
    does little more than that, so that the server's cost is what shows."""

    def __init__(self, port, certs):
        context = ssl.create_default_context(cafile=certs / "ca.crt")
        context.load_cert_chain(certs / "client.crt", certs / "client.key")
        plain = socket.create_connection(("127.0.0.1", port), 10)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = context.wrap_socket(plain, server_hostname="127.0.0.1")

    def call(self, verb, body):
        head = f"POST /{verb} HTTP/1.1\r\nHost: extender\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.connection.sendall(head.encode() + body)
        seen = b""
        while b"\r\n\r\n" not in seen:
            seen += self.receive()
        head, _, body = seen.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise NotMeasured(f"the extender says {seen[:200]}")
        left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(body)
        while left > 0:
            left -= len(self.receive())

    def receive(self):
        data = self.connection.recv(1 << 16)
        if not data:
            raise NotMeasured("the extender closed the connection")
        return data

    def calls(self, bodies, count):
        for number in range(count):
            self.call(("filter", "prioritize")[number % 2], bodies[number // 2 % len(bodies)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


def count_instructions(*command):
    """What the functions called measured_* of a program cost under callgrind, and what it printed."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise NotMeasured("there is no valgrind")
    with tempfile.NamedTemporaryFile(prefix="gpuqos-callgrind-") as out:
        done = subprocess.run([valgrind, "--tool=callgrind", f"--callgrind-out-file={out.name}",
                               "--collect-atstart=no", "--toggle-collect=measured_*", *command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise NotMeasured(f"{command[0]} failed: {done.stderr[-500:]}")
        for line in pathlib.Path(out.name).read_text().splitlines():
            if line.startswith(("summary:", "totals:")):
                return int(line.split()[1]), json.loads(done.stdout)
    raise NotMeasured("callgrind counted nothing")
