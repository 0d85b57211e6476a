"""The server with TLS under attack: who has no certificate gets nothing, whoever comes in whatever number
takes neither memory nor time from those who have one, and every valid call made meanwhile is answered.

The program under test is tests/integration/tls_server.c: a build with sanitizers, and a release build whose
memory is held against what it was before all attacks.
"""

import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
from cluster import ROOT, NotYet, wait_for

SAN = pathlib.Path(os.environ["GPUQOS_TOOLS"]) / "integration" / "tls_server"
RELEASE = ROOT / "build/release/tests/integration/tls_server"
MEMORY = 64 << 20  # bytes above idle
MAX_BODY = 3 << 20
FLOOD = 5000
PATIENCE = 30


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates")
    subprocess.run([ROOT / "tests/unit/http/certificates", path], check=True)
    return path


def programs():
    environ = {n: v for n, v in os.environ.items() if n not in ("MAKEFLAGS", "MAKELEVEL", "V", "CC")}
    subprocess.run(["make", "--no-print-directory", str(RELEASE.relative_to(ROOT))], cwd=ROOT, env=environ,
                   check=True, stdout=subprocess.DEVNULL)
    return {"sanitizers": SAN, "release": RELEASE}


class Server:
    """The program under test, and clients of it."""

    def __init__(self, program, certificates, directory):
        self.certificates, self.directory = certificates, directory
        for name in ("server.pem", "server.key", "ca.pem"):
            shutil.copy(certificates / name, directory / name)
        files = [directory / name for name in ("server.pem", "server.key", "ca.pem")]
        self.process = subprocess.Popen([program, *files], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0

    def replace(self, name, content):
        """As a mounted secret changes: at once."""
        path = self.directory / (name + ".new")
        path.write_bytes(content)
        path.rename(self.directory / name)

    def context(self, certificate="client"):
        context = ssl.create_default_context(cafile=str(self.certificates / "ca.pem"))
        if certificate:
            context.load_cert_chain(self.certificates / f"{certificate}.pem",
                                    self.certificates / f"{certificate}.key")
        return context

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def connect(self, certificate="client", context=None):
        return (context or self.context(certificate)).wrap_socket(self.raw(), server_hostname="127.0.0.1")

    def keep_alive(self, certificate="client"):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                           context=self.context(certificate))

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

    def memory(self, key):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split(key + ":")[1].split()[0]) << 10

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")


@pytest.fixture(scope="module", params=["sanitizers", "release"])
def server(request, certificates, tmp_path_factory):
    started = Server(programs()[request.param], certificates, tmp_path_factory.mktemp("server"))
    started.stats()
    started.idle = started.memory("VmRSS") if request.param == "release" else None
    yield started
    started.stop()


class Caller(threading.Thread):
    """Calls as kube-scheduler does, on a connection that it keeps. Any call without its answer is an error."""

    def __init__(self, server):
        super().__init__()
        self.connection = server.keep_alive()
        self.calls, self.error, self.over = 0, None, threading.Event()

    def call(self, path, size):
        self.connection.request("POST", path, b"x" * size, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        assert response.status == 200
        assert json.loads(response.read()) == {"bytes": size}
        self.calls += 1

    def run(self):
        try:
            self.call("/count", 10)
            kept = self.connection.sock
            while not self.over.is_set():
                self.call("/count", 100_000)
                self.call("/later", 300)
                assert self.connection.sock is kept
        except Exception as error:  # pylint: disable=broad-except  # told by whoever waits for it
            self.error = error


@pytest.fixture
def under_attack(server, capsys):
    """The body of the with statement is the attack."""
    def tell(text):
        with capsys.disabled():
            print(f"\n    {text}")
    return lambda: attacked(server, tell)


@contextlib.contextmanager
def attacked(server, tell):
    """Valid calls go on, memory is measured, and afterwards nobody is left."""
    wait_for(lambda: nobody_left(server), "nobody is connected")
    server.stats("/stats?forget")
    server.forget_peak()
    caller = Caller(server)
    caller.start()
    wait_for(lambda: caller.calls > 0 or caller.error, "the first valid call is answered")
    try:
        yield
        before = caller.calls
        wait_for(lambda: caller.calls > before or caller.error, "a valid call after the attack")
        lag = server.stats()["lag"]
    finally:
        caller.over.set()
        caller.join(PATIENCE)
        caller.connection.close()
    if caller.error:
        raise caller.error
    wait_for(lambda: nobody_left(server), "all attackers are gone")
    if server.idle:
        above = server.memory("VmHWM") - server.idle
        tell(f"{caller.calls} valid calls answered, loop lag at most {lag / 1000:.1f} ms, "
             f"memory at most {above / (1 << 20):.1f} MiB above idle")
        assert above < MEMORY
    assert server.process.poll() is None


def nobody_left(server):
    stats = server.stats()
    return stats["connections"] <= 1 or NotYet(stats)


def read_all(sock):
    """What the server says until it closes or cuts the connection."""
    said = b""
    with contextlib.suppress(OSError):
        while True:
            part = sock.recv(65536)
            if not part:
                break
            said += part
    return said


def outcome(server, bytes_sent, **options):
    """What a client gets that sends as much as the server takes."""
    try:
        sock = server.connect(**options)
    except OSError:
        return b""
    with sock:
        with contextlib.suppress(OSError):
            sock.sendall(bytes_sent)
        return read_all(sock)


GET = b"GET /stats HTTP/1.1\r\nHost: a\r\n\r\n"


def post(size, *headers):
    return "\r\n".join(["POST /count HTTP/1.1", "Host: a", f"Content-Length: {size}", *headers, "", ""]).encode()


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
        with server.connect() as sock:
            sock.sendall(post(300 << 20))
            sent = 0
            with contextlib.suppress(OSError):
                sock.settimeout(PATIENCE)
                while sent < 300 << 20:
                    sent += sock.send(b"x" * (1 << 20))
            assert read_all(sock).startswith(b"HTTP/1.1 413 ")
            assert sent < 32 << 20  # what the sockets hold
        with server.raw() as sock:  # and without TLS
            with contextlib.suppress(OSError):
                for _ in range(300):
                    sock.sendall(b"x" * (1 << 20))
            assert b"HTTP" not in read_all(sock)


def test_an_endless_chunked_body(server, under_attack):
    with under_attack(), server.connect() as sock:
        sock.sendall(b"POST /count HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 300 << 20:
                sock.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
        assert read_all(sock).startswith(b"HTTP/1.1 501 ")


def trickle(sockets, text):
    """A byte at a time on all of them, until the server has closed all or the text is over."""
    for byte in text:
        for sock in list(sockets):
            try:
                sock.send(bytes([byte]))
            except OSError:
                sockets.remove(sock)


@pytest.mark.parametrize("begun", [b"POST /count HTTP/1.1\r\nX: ", post(MAX_BODY)], ids=["header", "body"])
def test_slow_clients_with_certificates(server, under_attack, begun):
    with under_attack():
        before = server.stats()["late"]
        sockets = [server.connect() for _ in range(20)]
        for sock in sockets:
            sock.sendall(begun)
        wait_for(lambda: trickle(sockets, b"x") or server.stats()["late"] >= before + 20,
                 "all of them are cut")
        for sock in sockets:
            sock.close()


def test_slow_handshakes(server, under_attack):
    """A record that says 200 bytes come, which come one by one."""
    with under_attack():
        before = server.stats()["late"]
        sockets = [server.raw() for _ in range(200)]
        everyone = list(sockets)
        for sock in sockets:
            sock.sendall(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4")
        wait_for(lambda: trickle(sockets, b"\x03") or server.stats()["late"] >= before + 200,
                 "all of them are cut")
        for sock in everyone:
            sock.close()


def test_handshakes_that_announce_much(server, under_attack):
    """A ClientHello of 128 KiB, of which the first record comes; OpenSSL makes room for all of it."""
    announced = b"\x01\x01\xff\xff" + b"\x03\x03" + b"x" * 16000
    record = b"\x16\x03\x01" + len(announced).to_bytes(2, "big") + announced
    with under_attack():
        before = server.stats()["accepted"]
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


def flood(server, count, said):
    """Connections that stay, of which each says something and waits."""
    sockets = []
    for _ in range(count):
        sock = server.raw()
        with contextlib.suppress(OSError):
            sock.sendall(said)
        sockets.append(sock)
    return sockets


def test_5000_connections(server, under_attack):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FLOOD + 1000, hard), hard))
    hello = ssl_hello()
    sockets, threads, lock = [], [], threading.Lock()

    def attack(said, count):
        held = flood(server, count, said)
        with lock:
            sockets.extend(held)

    with under_attack():
        before = server.stats()
        for said in (b"", hello, b"\x16", b"GET / HTTP/1.1\r\n\r\n"):
            threads.append(threading.Thread(target=attack, args=(said, FLOOD // 4)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        assert len(sockets) == FLOOD // 4 * 4
        for sock in sockets:
            sock.close()
        stats = wait_for(lambda: server.stats()["accepted"] >= before["accepted"] + FLOOD and server.stats(),
                         "all were accepted")
        assert stats["connections"] <= 2 * 256
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ssl_hello():
    """The first thing that a TLS client says."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="a")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_requests_ahead_of_their_answers(server, under_attack):
    with under_attack():
        assert outcome(server, GET + GET).startswith(b"HTTP/1.1 400 ")
        assert outcome(server, post(3) + b"abc" + GET).startswith(b"HTTP/1.1 400 ")
        said = outcome(server, b"POST /later HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + GET)
        assert said.count(b"HTTP/1.1") <= 1
        for _ in range(100):  # answers to those who have gone
            with server.connect() as sock:
                sock.sendall(b"POST /later HTTP/1.1\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("request_, status", [
    (post(MAX_BODY + 1), 413),
    (post(5, "Content-Length: 5") + b"hello", 400),
    (post(5, "Expect: 100-continue"), 417),
    (post(5, "Transfer-Encoding: chunked") + b"0\r\n\r\n", 501),
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
