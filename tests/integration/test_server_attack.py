"""The server with TLS under attack: who has no certificate gets nothing, whoever comes in whatever number takes no
time from those who have one, and every valid call made meanwhile is answered.

The program under test is tests/integration/tls_server.c, built with sanitizers, which counts what it does. What an
attack costs in memory is measured of gpuqos-controller itself, by tests/e2e/test_extender_attack.py.
"""

import contextlib
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
from attack import (FLOOD, Caller, Target, flood, flood_in_kinds, many_files, outcome, post, read_all, send_chunks,
                    send_much, send_much_in_the_clear, trickle)
from cluster import ROOT, NotYet, wait_for
from gpus import SOAK

PROGRAM = pathlib.Path(os.environ["GPUQOS_TOOLS"]) / "integration" / "tls_server"
MAX_BODY = 3 << 20
PATIENCE = 30


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates")
    subprocess.run([ROOT / "tests/unit/http/certificates", path], check=True)
    return path


class Server(Target):
    """The program under test."""

    def __init__(self, certificates, directory):
        self.certificates, self.directory = certificates, directory
        for name in ("server.pem", "server.key", "ca.pem"):
            shutil.copy(certificates / name, directory / name)
        files = [directory / name for name in ("server.pem", "server.key", "ca.pem")]
        self.process = subprocess.Popen([PROGRAM, *files], stdout=subprocess.PIPE, text=True)
        super().__init__(int(self.process.stdout.readline()), certificates / "ca.pem")

    def stop(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0

    def replace(self, name, content):
        """As a mounted secret changes: at once."""
        path = self.directory / (name + ".new")
        path.write_bytes(content)
        path.rename(self.directory / name)

    def pair(self, who):
        return self.certificates / f"{who}.pem", self.certificates / f"{who}.key"

    def stats(self, path="/stats", tries=5):
        """On a connection of its own. A flood may push a newcomer out, who then tries again."""
        connection = self.keep_alive()
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        except OSError:
            if tries == 1:
                raise
            return self.stats(path, tries - 1)
        finally:
            connection.close()


@pytest.fixture(scope="module")
def server(certificates, tmp_path_factory):
    started = Server(certificates, tmp_path_factory.mktemp("server"))
    yield started
    started.stop()


def valid_call(connection):
    for path, size in (("/count", 100_000), ("/later", 300)):
        connection.request("POST", path, b"x" * size, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200
        assert json.loads(response.read()) == {"bytes": size}


@pytest.fixture
def under_attack(server, capsys):
    """The body of the with statement is the attack."""
    @contextlib.contextmanager
    def attacked():
        wait_for(lambda: nobody_left(server), "nobody is connected")
        server.stats("/stats?forget")
        with Caller(server, valid_call) as caller:
            yield
            caller.wait_another()
            lag = server.stats()["lag"]
        wait_for(lambda: nobody_left(server), "all attackers are gone")
        with capsys.disabled():
            print(f"\n    {caller.calls} valid calls answered, loop lag at most {lag / 1000:.1f} ms")
        assert server.process.poll() is None
    return attacked


def nobody_left(server):
    stats = server.stats()
    return stats["connections"] <= 1 or NotYet(stats)


GET = b"GET /stats HTTP/1.1\r\nHost: a\r\n\r\n"


# --- who is let in


def expired(certificates):
    """The client's key, in a certificate that ended yesterday."""
    files = certificates / "expired"
    shutil.copy(certificates / "client.key", f"{files}.key")
    (certificates / "index").write_text("")
    (certificates / "expired.conf").write_text(
        f"[ca]\ndefault_ca=it\n[it]\ndatabase={certificates}/index\nnew_certs_dir={certificates}\n"
        "rand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n")
    request = subprocess.run(["openssl", "req", "-new", "-key", f"{files}.key", "-subj", "/CN=late"], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    subprocess.run(["openssl", "ca", "-batch", "-notext", "-config", certificates / "expired.conf",
                    "-cert", certificates / "ca.pem", "-keyfile", certificates / "ca.key", "-in", "/dev/stdin",
                    "-startdate", "20200101000000Z", "-enddate", "20200102000000Z", "-out", f"{files}.pem"],
                   input=request, check=True, stderr=subprocess.DEVNULL)
    return "expired"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_client_with_a_certificate_is_served(server, version):
    context = server.context()
    context.minimum_version = context.maximum_version = version
    said = outcome(server, b"GET /stats HTTP/1.1\r\nConnection: close\r\n\r\n", context=context)
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("who", ["nobody", "stranger", "expired", "a server"])
def test_nobody_else_gets_a_byte(server, certificates, version, who):
    """A server: signed by the right CA, but not to be a client."""
    if who == "expired":
        who = expired(certificates)
    if who == "a server":
        (certificates / "usage.ext").write_text("extendedKeyUsage=serverAuth\n")
        issue(certificates, "usage", "usage.ext")
        who = "usage"
    context = server.context(None if who == "nobody" else who)
    context.minimum_version = context.maximum_version = version
    before = server.stats()
    assert outcome(server, GET, context=context) == b""
    after = server.stats()
    assert after["unauthorized"] == before["unauthorized"] + 1
    assert after["answered"] == before["answered"] + 1  # that of stats() itself


@pytest.mark.parametrize("said", [GET, b"\x16\x03\x01\x40\x00" + b"\0" * 20000, b"\xff" * 100_000])
def test_what_is_no_tls_gets_no_http(server, said):
    with server.raw() as sock:
        with contextlib.suppress(OSError):
            sock.sendall(said)
        assert b"HTTP" not in read_all(sock)


# --- attacks


def test_a_body_of_300_megabytes(server, under_attack):
    with under_attack():
        said, sent = send_much(server, "/count", 300 << 20)
        assert said.startswith(b"HTTP/1.1 413 ")
        assert sent < 32 << 20  # what the sockets hold
        assert b"HTTP" not in send_much_in_the_clear(server, 300 << 20)


def test_an_endless_chunked_body(server, under_attack):
    with under_attack():
        assert send_chunks(server, "/count").startswith(b"HTTP/1.1 501 ")


SLOW = {
    "header": (20, b"POST /count HTTP/1.1\r\nX: ", b"x"),
    "body": (20, post("/count", MAX_BODY), b"x"),
    # A record that says 200 bytes come, which come one by one.
    "handshake": (200, b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4", b"\x03"),
}


def test_slow_clients(server, under_attack):
    """With certificates, and before the end of the handshake: all of them at once."""
    with under_attack():
        before = server.stats()["late"]
        slow = []
        for what, (count, begun, more) in SLOW.items():
            sockets = [server.raw() if what == "handshake" else server.connect() for _ in range(count)]
            for sock in sockets:
                sock.sendall(begun)
            slow.append((sockets, list(sockets), more))

        def all_cut():
            for sockets, _, more in slow:
                trickle(sockets, more)
            late = server.stats()["late"]
            return late >= before + sum(count for count, *_ in SLOW.values()) or NotYet(late - before)
        wait_for(all_cut, "all of them are cut")
        for _, everyone, _ in slow:
            for sock in everyone:
                sock.close()


def test_handshakes_that_announce_much(server, under_attack):
    """A ClientHello of 128 KiB, of which the first record comes; OpenSSL makes room for all of it."""
    announced = b"\x01\x01\xff\xff" + b"\x03\x03" + b"x" * 16000
    record = b"\x16\x03\x01" + len(announced).to_bytes(2, "big") + announced
    with under_attack():
        before = server.stats()["accepted"]
        with many_files(2000):
            sockets = flood(server, 1000, record)
            wait_for(lambda: server.stats()["accepted"] >= before + 1000, "all were accepted")
            for sock in sockets:
                sock.close()


def test_more_clients_with_certificates_than_there_is_room_for(server, under_attack):
    """The oldest that asks for nothing makes room."""
    context = server.context()
    with under_attack():
        sockets = [server.connect(context=context) for _ in range(300)]
        stats = server.stats()
        assert stats["authenticated"] <= 256
        assert stats["dropped"] >= 300 - 256
        sockets[-1].sendall(GET)
        assert sockets[-1].recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        for sock in sockets:
            sock.close()


def test_a_flood_of_connections(server, under_attack):
    count = FLOOD if SOAK else FLOOD // 5
    with under_attack():
        before = server.stats()
        with flood_in_kinds(server, count):
            pass
        stats = wait_for(lambda: server.stats()["accepted"] >= before["accepted"] + count and server.stats(),
                         "all were accepted")
        assert stats["connections"] <= 2 * 256


def test_requests_ahead_of_their_answers(server, under_attack):
    with under_attack():
        assert outcome(server, GET + GET).startswith(b"HTTP/1.1 400 ")
        assert outcome(server, post("/count", 3) + b"abc" + GET).startswith(b"HTTP/1.1 400 ")
        said = outcome(server, b"POST /later HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + GET)
        assert said.count(b"HTTP/1.1") <= 1
        for _ in range(100):  # answers to those who have gone
            with server.connect() as sock:
                sock.sendall(b"POST /later HTTP/1.1\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("request_, status", [
    (post("/count", MAX_BODY + 1), 413),
    (post("/count", 5, "Content-Length: 5") + b"hello", 400),
    (post("/count", 5, "Expect: 100-continue"), 417),
    (post("/count", 5, "Transfer-Encoding: chunked") + b"0\r\n\r\n", 501),
    (b"POST /count HTTP/1.1\r\n\r\n", 411),
    (b"PUT /count HTTP/1.1\r\n\r\n", 405),
    (b"GET / HTTP/1.1\r\nX: " + b"x" * 9000, 431),
], ids=["too long", "two lengths", "expectation", "chunked and length", "no length", "method", "big head"])
def test_what_the_server_does_not_take(server, request_, status):
    assert outcome(server, request_).startswith(f"HTTP/1.1 {status} ".encode())


# --- certificates that change


def issue(certificates, name, extensions):
    """A certificate by the CA of all. Returns it and its key."""
    key, pem = certificates / f"{name}.key", certificates / f"{name}.pem"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True)
    request = subprocess.run(["openssl", "req", "-new", "-key", key, "-subj", f"/CN={name}"], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    subprocess.run(["openssl", "x509", "-req", "-CA", certificates / "ca.pem", "-CAkey", certificates / "ca.key",
                    "-CAcreateserial", "-days", "2", "-extfile", certificates / extensions, "-out", pem],
                   input=request, check=True, stderr=subprocess.DEVNULL)
    return pem.read_bytes(), key.read_bytes()


def shown(server):
    """The common name in the certificate that the server shows to a new connection."""
    with server.connect() as sock:
        return dict(entry[0] for entry in sock.getpeercert()["subject"])["commonName"]


def test_certificates_change_under_load(server, under_attack, certificates):
    pem, key = issue(certificates, "next", "server.ext")
    with under_attack():
        assert shown(server) == "server"
        server.replace("server.pem", pem)  # for a while they do not fit each other
        wait_for(lambda: server.stats()["bad"] > 0, "the pair that does not fit is reported")
        assert shown(server) == "server"
        server.replace("server.key", key)
        wait_for(lambda: shown(server) == "next", "new connections get the new certificate")
        bad = server.stats()["bad"]
        server.replace("ca.pem", b"no certificate")
        wait_for(lambda: server.stats()["bad"] > bad, "a bad file is reported")
        assert shown(server) == "next"
        server.replace("ca.pem", (certificates / "ca.pem").read_bytes())
        for name in ("server.key", "server.pem"):
            server.replace(name, (certificates / name).read_bytes())
        wait_for(lambda: shown(server) == "server", "and the old ones when they are back")


def test_the_ca_of_clients_changes(server, certificates):
    """Who was let in before stays; who comes is judged by what is there now."""
    kept = server.keep_alive()
    kept.request("GET", "/stats")
    reread = json.loads(kept.getresponse().read())["reread"]
    server.replace("ca.pem", (certificates / "other-ca.pem").read_bytes())

    def was_reread():
        kept.request("GET", "/stats")
        return json.loads(kept.getresponse().read())["reread"] > reread

    wait_for(was_reread, "the CA is read again")
    assert outcome(server, GET) == b""
    with server.connect("stranger") as sock:
        sock.sendall(GET)
        assert sock.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
    server.replace("ca.pem", (certificates / "ca.pem").read_bytes())
    wait_for(lambda: outcome(server, b"GET /stats HTTP/1.1\r\nConnection: close\r\n\r\n") != b"",
             "clients of the first CA are let in again")
    kept.close()
