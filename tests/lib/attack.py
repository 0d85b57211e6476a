"""A server with TLS that lets in those alone who have a certificate: its clients, good and bad.

    target = Target(port, ca)                     # a subclass says whose certificates there are: pair()
    with Caller(target, valid_call) as caller:    # valid calls go on meanwhile; each is answered
        send_much(target, "/filter", 300 << 20)
        caller.wait_another()

Nothing here knows what is served.
"""

import contextlib
import http.client
import resource
import socket
import ssl
import threading
import time

from cluster import wait_for

FLOOD = 5000
PATIENCE = 30  # seconds


class Target:
    """A server at a port of this machine, and ways to reach it."""

    def __init__(self, port, ca):
        self.port, self.ca = port, ca

    def pair(self, who):
        """Files of a certificate and its key."""
        raise NotImplementedError

    def context(self, certificate="client"):
        context = ssl.create_default_context(cafile=str(self.ca))
        if certificate:
            context.load_cert_chain(*self.pair(certificate))
        return context

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def connect(self, certificate="client", context=None):
        return (context or self.context(certificate)).wrap_socket(self.raw(), server_hostname="127.0.0.1")

    def keep_alive(self, certificate="client"):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                           context=self.context(certificate))


class Caller(threading.Thread):
    """Calls as kube-scheduler does, on one connection that it keeps, while it is open. Any call without its answer
    is an error, told when it is closed.

    call(connection): makes valid calls and holds their answers against what they should be.
    """

    def __init__(self, target, call):
        super().__init__(daemon=True)
        self.connection, self.call = target.keep_alive(), call
        self.calls, self.slowest, self.error, self.over = 0, 0, None, threading.Event()

    def run(self):
        try:
            self._once()
            kept = self.connection.sock
            while not self.over.is_set():
                self._once()
                assert self.connection.sock is kept
        except Exception as error:  # pylint: disable=broad-except  # told by whoever waits for it
            self.error = error

    def _once(self):
        begun = time.monotonic()
        self.call(self.connection)
        self.slowest = max(self.slowest, time.monotonic() - begun)
        self.calls += 1

    def wait_another(self):
        before = self.calls
        wait_for(lambda: self.calls > before or self.error, "a valid call is answered")

    def __enter__(self):
        self.start()
        self.wait_another()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(PATIENCE)
        self.connection.close()
        if self.error:
            raise self.error


# --- what a client says, and what it gets

def post(path, size, *headers):
    """The head of a request that announces a body of so many bytes."""
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: a", f"Content-Length: {size}", *headers, "", ""]).encode()


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


def outcome(target, bytes_sent, **options):
    """What a client gets that sends as much as the server takes."""
    try:
        sock = target.connect(**options)
    except OSError:
        return b""
    with sock:
        with contextlib.suppress(OSError):
            sock.sendall(bytes_sent)
        return read_all(sock)


def send_much(target, path, size):
    """(answer, bytes that the sockets took) of a body that is far too long."""
    with target.connect() as sock:
        sock.sendall(post(path, size))
        sent = 0
        with contextlib.suppress(OSError):
            while sent < size:
                sent += sock.send(b"x" * (1 << 20))
        return read_all(sock), sent


def send_much_in_the_clear(target, size):
    """The answer to what is no TLS."""
    with target.raw() as sock:
        with contextlib.suppress(OSError):
            for _ in range(size >> 20):
                sock.sendall(b"x" * (1 << 20))
        return read_all(sock)


def send_chunks(target, path, most=300 << 20):
    """The answer to a body of chunks without end."""
    with target.connect() as sock:
        sock.sendall(f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        sent = 0
        with contextlib.suppress(OSError):
            while sent < most:
                sock.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
        return read_all(sock)


def trickle(sockets, text):
    """A byte at a time on all of them; those that the server has closed leave the list."""
    for byte in text:
        for sock in list(sockets):
            try:
                sock.send(bytes([byte]))
            except OSError:
                sockets.remove(sock)


# --- floods

def flood(target, count, said):
    """Connections that stay, of which each says something and waits."""
    sockets = []
    for _ in range(count):
        sock = target.raw()
        with contextlib.suppress(OSError):
            sock.sendall(said)
        sockets.append(sock)
    return sockets


def tls_hello():
    """The first thing that a TLS client says."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="a")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@contextlib.contextmanager
def many_files(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def flood_in_kinds(target, count=FLOOD):
    """So many connections at once, while it is open: silent ones, those that say hello, half of it, or no TLS."""
    kinds = (b"", tls_hello(), b"\x16", b"GET / HTTP/1.1\r\n\r\n")
    sockets, lock = [], threading.Lock()

    def attack(said):
        held = flood(target, count // len(kinds), said)
        with lock:
            sockets.extend(held)

    with many_files(count + 1000):
        threads = [threading.Thread(target=attack, args=(said,)) for said in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(sockets) == count
        try:
            yield
        finally:
            for sock in sockets:
                sock.close()
