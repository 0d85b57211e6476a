"""The extender under attack, as it is deployed: gpuqos-controller leads, and its TLS port is attacked while a valid
client asks on. Whoever has no certificate is refused, memory stays near what it is when idle, every valid call is
answered, and the figures are printed.

What of its server cannot be seen from outside is tested by tests/integration/test_server_attack.py.
"""

import contextlib
import json
import pathlib
import types

import pytest
import scheduler as lib
from attack import Caller, Target, flood_in_kinds, outcome, post, send_chunks, send_much, send_much_in_the_clear, trickle
from cluster import Cluster, NotYet, wait_for
from controller import Controller, free_port, install
from gpus import Namespace
from placement import gpu_pod, layout
from tenants import Tenant

NODES = 100
MEMORY = 64 << 20  # bytes above idle
ELECTION = ("--leader-elect", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
            "--leader-elect-retry-period=500ms")
TURN = "gpuqos_loop_turn_seconds"


class Extender(Target):
    """The controller's port for kube-scheduler. certs: what it trusts; strangers: of another CA."""

    def __init__(self, controller, port, certs, strangers):
        super().__init__(port, certs / "ca.crt")
        self.controller, self.folders = controller, {"client": certs, "stranger": strangers}

    def pair(self, who):
        return self.folders[who] / "client.crt", self.folders[who] / "client.key"

    def proc(self, name):
        return pathlib.Path(f"/proc/{self.controller.process.pid}/{name}")

    def memory(self, key):
        return int(self.proc("status").read_text().split(key + ":")[1].split()[0]) << 10

    def forget_peak(self):
        self.proc("clear_refs").write_text("5")

    def connections(self):
        """How many the kernel has at this port, without those that are over."""
        rows = [line.split() for line in self.proc("net/tcp").read_text().splitlines()[1:]]
        listens, gone = "0A", "0"
        return sum(1 for row in rows if int(row[1].split(":")[1], 16) == self.port and row[3] != listens and row[9] != gone)

    def calls(self):
        """Those that came as far as a verb, by status."""
        found = {}
        for (name, labels), count in self.controller.metrics().items():
            if name == "gpuqos_extender_calls_total":
                code = dict(labels)["code"]
                found[code] = found.get(code, 0) + count
        return found

    def turns(self):
        """{upper bound in seconds: turns of the event loop that took no longer}, all sources."""
        found = {}
        for (name, labels), count in self.controller.metrics().items():
            if name == f"{TURN}_bucket":
                bound = float(dict(labels)["le"])
                found[bound] = found.get(bound, 0) + count
        return found


def longest_turn(before, after):
    """The bound that all turns between the two kept."""
    grown = {bound: after[bound] - before.get(bound, 0) for bound in after}
    most = max(grown.values())
    return min(bound for bound, count in grown.items() if count == most)


def add_nodes(cluster):
    names = [f"gpu-{i}" for i in range(NODES)]
    shape = {what: {"cpu": "64", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"} for what in ("capacity", "allocatable")}
    cluster.create_many("/api/v1/nodes", [{
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"},
                     "annotations": {"gpuqos.io/topology": json.dumps(layout("none", f"GPU-{name}"))}},
        "status": shape} for name in names])
    return names


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """An extender that leads and knows its nodes, with a pod to ask about."""
    with Cluster.start("--without", "kwok,scheduler") as cluster:
        install(cluster)
        folder = tmp_path_factory.mktemp("attack")
        certs, strangers = lib.make_certificates(folder / "certs"), lib.make_certificates(folder / "strangers")
        port = free_port()
        controller = Controller(
            cluster, folder / "controller", *ELECTION, f"--extender-address=127.0.0.1:{port}",
            f"--extender-tls-cert-file={certs}/server.crt", f"--extender-tls-private-key-file={certs}/server.key",
            f"--extender-client-ca-file={certs}/ca.crt").start()
        names = add_nodes(cluster)
        namespace = Namespace.make(cluster)
        Tenant.make(cluster, namespace, topology={"policy": "Preferred", "scope": "NUMA"})
        namespace.put_quota("1000Ti")
        pod = cluster.api("POST", namespace.pods, gpu_pod("asked-about", 2, 4, {})).ok()
        extender = Extender(controller, port, certs, strangers)
        question = {"Pod": pod, "NodeNames": names}

        def answers():
            status, answer = lib.ask(port, certs, "/filter", question)
            return status == 200 and answer["NodeNames"] == names or NotYet((status, str(answer)[:300]))
        wait_for(answers, "it leads, and all nodes fit", 60)
        yield types.SimpleNamespace(extender=extender, question=question, names=names)
        assert controller.stop(30)[0] == 0, controller.log()[-4000:]


def valid_calls(attacked):
    """As kube-scheduler asks: which nodes fit, and how well."""
    question = json.dumps(attacked.question)

    def call(connection):
        for verb in ("filter", "prioritize"):
            connection.request("POST", f"/{verb}", question, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text
            said = json.loads(text)
            names = said["NodeNames"] if verb == "filter" else [score["Host"] for score in said]
            assert names == attacked.names
    return call


@pytest.fixture
def under_attack(attacked, tell):
    """The body of the with statement is the attack."""
    extender = attacked.extender

    @contextlib.contextmanager
    def attack(what):
        wait_for(lambda: extender.connections() == 0, "nobody is connected")
        with Caller(extender, valid_calls(attacked)):
            pass
        wait_for(lambda: extender.connections() == 0, "nobody is connected")
        idle, turns, calls = extender.memory("VmRSS"), extender.turns(), extender.calls()
        extender.forget_peak()
        with Caller(extender, valid_calls(attacked)) as caller:
            yield
            caller.wait_another()
        wait_for(lambda: extender.connections() == 0, "all attackers are gone")
        above = extender.memory("VmHWM") - idle
        tell(f"{what}: {2 * caller.calls} valid calls answered, a pair in at most {1e3 * caller.slowest:.1f} ms; no turn of "
             f"the loop over {1e3 * longest_turn(turns, extender.turns()):g} ms; memory {above / (1 << 20):.1f} MiB above idle")
        assert above < MEMORY
        assert extender.calls() == calls | {"200": calls["200"] + 2 * caller.calls}, "nothing else came as far as a verb"
        assert extender.controller.alive
    return attack


def test_nobody_without_its_certificate_gets_a_byte(attacked, under_attack):
    question = json.dumps(attacked.question).encode()
    valid = post("/filter", len(question)) + question
    with under_attack("no certificate, another CA's, no TLS"):
        for who in (None, "stranger"):
            for _ in range(100):
                assert outcome(attacked.extender, valid, certificate=who) == b""
        with attacked.extender.raw() as sock:
            sock.sendall(valid)
            with contextlib.suppress(ConnectionError):
                assert b"HTTP" not in sock.recv(1000)


def test_a_body_of_300_megabytes(attacked, under_attack):
    with under_attack("a body of 300 MB"):
        said, sent = send_much(attacked.extender, "/filter", 300 << 20)
        assert said.startswith(b"HTTP/1.1 413 ")
        assert sent < 32 << 20  # what the sockets hold
        assert b"HTTP" not in send_much_in_the_clear(attacked.extender, 300 << 20)


def test_an_endless_chunked_body(attacked, under_attack):
    with under_attack("an endless chunked body"):
        assert send_chunks(attacked.extender, "/filter").startswith(b"HTTP/1.1 501 ")


def test_slow_headers(attacked, under_attack):
    """They have good certificates, and are cut all the same."""
    with under_attack("slow headers"):
        sockets = [attacked.extender.connect() for _ in range(50)]
        everyone = list(sockets)
        for sock in sockets:
            sock.sendall(b"POST /filter HTTP/1.1\r\nX: ")
        wait_for(lambda: trickle(sockets, b"x") or not sockets or NotYet(len(sockets)), "all of them are cut")
        for sock in everyone:
            sock.close()


def test_5000_connections(attacked, under_attack):
    with under_attack("5,000 connections"):
        with flood_in_kinds(attacked.extender):
            # The valid client, and no more than may be there before their handshake is over.
            wait_for(lambda: attacked.extender.connections() <= 257 or NotYet(attacked.extender.connections()),
                     "no more are kept than there is room for")
