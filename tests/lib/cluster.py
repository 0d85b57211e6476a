"""A development cluster for the test suites: start it, talk to it, wait for it.

    with Cluster.start("--without", "kwok") as cluster:
        cluster.nodes("h100=2", "t4=1")
        cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}}).ok()
        wait_for(lambda: len(cluster.get("/api/v1/nodes")["items"]) == 3, "all nodes exist")

GPUQOS_CLUSTER_DIR names a cluster to use instead of one's own: it is started if
it is not up, and left up. Nothing here but the standard library.
"""

import base64
import concurrent.futures
import contextlib
import fractions
import glob
import http.client
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import typing
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "hack" / "cluster"

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"

# A server closes connections that nobody uses; one idle for longer is not trusted.
IDLE_SECONDS = 30


class NotYet:
    """What a condition returns to say how far it has come; it counts as false."""

    def __init__(self, state):
        self.state = state

    def __bool__(self):
        return False

    def __repr__(self):
        return str(self.state)


def wait_for(condition, what, timeout=30):
    """Polls condition() until it is true, and returns what it returned. A failed
    assertion or an ApiError within it means: not yet. When the time is up, fails
    with `what` and the state last seen."""
    deadline = time.monotonic() + timeout
    pause = 0.01
    while True:
        try:
            seen = condition()
            if seen:
                return seen
        except (AssertionError, ApiError) as error:
            seen = error
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {timeout} s: {what}; last seen: {seen!r}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


SUFFIXES = {"n": fractions.Fraction(1, 10**9), "u": fractions.Fraction(1, 10**6),
            "m": fractions.Fraction(1, 1000), "": 1}
SUFFIXES.update({letter: 1000**power for power, letter in enumerate("kMGTPE", 1)})
SUFFIXES.update({letter + "i": 1024**power for power, letter in enumerate("KMGTPE", 1)})
QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)")


def quantity(text):
    """A Kubernetes quantity as a whole number, rounded away from 0 as Kubernetes
    does. ValueError for what is none."""
    match = QUANTITY.fullmatch(str(text))
    if not match:
        raise ValueError(f"not a quantity: {text!r}")
    number, exponent, suffix = match.groups()
    value = fractions.Fraction(number)
    value *= fractions.Fraction(10) ** int(exponent) if exponent else SUFFIXES[suffix or ""]
    return math.ceil(value) if value >= 0 else math.floor(value)


class ApiError(Exception):
    """The API server refused; .response has the rest."""

    def __init__(self, response):
        super().__init__(f"{response.status} {response.reason}: {response.message}")
        self.response = response


class Response(typing.NamedTuple):
    """An answer of the API server; body is decoded JSON, or text if it is none."""

    status: int
    body: typing.Any

    @property
    def message(self):
        return self.body.get("message", "") if isinstance(self.body, dict) else self.body

    @property
    def reason(self):
        return self.body.get("reason", "") if isinstance(self.body, dict) else ""

    def ok(self):
        """The body of a success; raises ApiError otherwise."""
        if not 200 <= self.status < 300:
            raise ApiError(self)
        return self.body


def decode(status, data):
    try:
        return Response(status, json.loads(data))
    except ValueError:
        return Response(status, data.decode(errors="replace"))


def default_content_type(verb):
    return MERGE if verb == "PATCH" else "application/json"


class Client:
    """Requests to one API server, each thread over its own lasting connection."""

    def __init__(self, kubeconfig):
        """kubeconfig: the dictionary of a minified, raw kubeconfig."""
        cluster = kubeconfig["clusters"][0]["cluster"]
        user = kubeconfig["users"][0]["user"]
        server = urllib.parse.urlsplit(cluster["server"])
        self.host, self.port = server.hostname, server.port
        self.tls = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.token = user.get("token")
        if "client-certificate-data" in user:
            self._load_certificate(user)
        self.local = threading.local()

    def _load_certificate(self, user):
        # ssl takes certificates from files only.
        with tempfile.NamedTemporaryFile() as file:
            file.write(base64.b64decode(user["client-certificate-data"]))
            file.write(base64.b64decode(user["client-key-data"]))
            file.flush()
            self.tls.load_cert_chain(file.name)

    def _connection(self):
        connection = getattr(self.local, "connection", None)
        if connection and time.monotonic() - self.local.used < IDLE_SECONDS:
            return connection
        self.close()
        self.local.connection = http.client.HTTPSConnection(
            self.host, self.port, timeout=60, context=self.tls)
        return self.local.connection

    def stream(self, path):
        """Opens a request whose answer comes in lines, such as a watch: the connection,
        for the caller to close, and the answer."""
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.tls)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection.request("GET", path, headers=headers)
        return connection, connection.getresponse()

    def close(self):
        """Closes the connection of this thread."""
        connection = getattr(self.local, "connection", None)
        if connection:
            connection.close()
        self.local.connection = None

    def request(self, verb, path, body=None, content_type=None, user=None, groups=()):
        """Returns a Response, whatever its status. user and groups are
        impersonated."""
        data = json.dumps(body).encode() if body is not None else None
        connection = self._connection()
        try:
            connection.putrequest(verb, path)
            connection.putheader("Accept", "application/json")
            if data is not None:
                connection.putheader("Content-Type", content_type or default_content_type(verb))
                connection.putheader("Content-Length", str(len(data)))
            if self.token:
                connection.putheader("Authorization", f"Bearer {self.token}")
            if user:
                connection.putheader("Impersonate-User", user)
            for group in groups:
                connection.putheader("Impersonate-Group", group)
            connection.endheaders(data)
            answer = connection.getresponse()
            response = decode(answer.status, answer.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        self.local.used = time.monotonic()
        return response


def read_env(path):
    """The KEY=value lines of a cluster's env file."""
    words = shlex.split(pathlib.Path(path).read_text())
    return dict(word.split("=", 1) for word in words if "=" in word)


AUDIT_EVENT = '{"kind":"Event","apiVersion":"audit.k8s.io/'


def audit_event(line):
    """Where an API server was killed while it wrote a line, that of the next begins within it."""
    return json.loads(line[max(line.rfind(AUDIT_EVENT), 0):])


def audit_events(directory, verb=None, resource=None, user=None, since=0):
    """Yields the events of an audit log, oldest first, also from rotated files; those
    after byte `since` of the current file alone, where it is given."""
    rotated = [] if since else sorted(glob.glob(f"{glob.escape(str(directory))}/audit-*.log"))
    for name in [*rotated, f"{directory}/audit.log"]:
        with contextlib.suppress(FileNotFoundError), open(name, encoding="utf-8") as file:
            file.seek(since)
            for line in file:
                if not line.endswith("\n"):
                    break  # still being written
                event = audit_event(line)
                if verb not in (None, event["verb"]):
                    continue
                if resource not in (None, event.get("objectRef", {}).get("resource")):
                    continue
                if user in (None, event["user"].get("username")):
                    yield event


class Cluster:
    """One running cluster. Make it with Cluster.start()."""

    def __init__(self, directory, keep):
        self.directory = pathlib.Path(directory)
        self.keep = keep
        self.env = read_env(self.directory / "env")
        config = self.kubectl("config", "view", "--raw", "--minify", "-o", "json")
        self.client = Client(json.loads(config))

    @classmethod
    def start(cls, *options, variable="GPUQOS_CLUSTER_DIR"):
        """Starts a cluster in a new folder, with options of hack/cluster/up, or
        takes the one that the environment's variable names as it is."""
        shared = os.environ.get(variable)
        directory = shared or tempfile.mkdtemp(prefix="gpuqos-cluster-")
        if not (shared and pathlib.Path(directory, "env").exists()):
            subprocess.run([TOOLS / "up", directory, *options], check=True)
        return cls(directory, keep=bool(shared))

    def stop(self):
        """Ends it and removes its folder; one that was given stays up."""
        self.client.close()
        if not self.keep:
            subprocess.run([TOOLS / "down", self.directory], check=True)
            shutil.rmtree(self.directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def environ(self):
        """Environment for programs that are to use this cluster."""
        return os.environ | self.env

    def kubectl(self, *args, stdin=None, check=True):
        """Runs kubectl and returns what it prints; AssertionError with its message
        if it fails, unless check is False."""
        done = subprocess.run([self.env["KUBECTL"], *args], input=stdin, env=self.environ,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout if check else done.stdout + done.stderr

    def nodes(self, *wishes):
        """Makes GPU nodes: nodes("h100=3", "t4=1")."""
        subprocess.run([TOOLS / "nodes", *wishes], env=self.environ, check=True,
                       stdout=subprocess.DEVNULL)

    def api(self, verb, path, body=None, content_type=None, user=None, groups=()):
        """One request as admin, or as the impersonated user; returns a Response."""
        return self.client.request(verb, path, body, content_type, user, groups)

    def get(self, path):
        """The object or list at path; ApiError if it is not to be had."""
        return self.api("GET", path).ok()

    def create(self, path, item, **options):
        """POSTs it; returns the Response. The API server gives up on a pod after three
        conflicts with the quota controller's writes: then it is tried again."""
        while True:
            answer = self.api("POST", path, item, **options)
            if not (answer.status == 409 and "resourcequotas" in answer.message):
                return answer

    def create_many(self, path, objects, threads=50, **options):
        """Creates all objects, as many at once as there are threads. Returns the
        Responses in the order of the objects."""
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda item: self.create(path, item, **options), objects))

    def audit(self, verb=None, resource=None, user=None, since=0):
        """Yields the audit events so far that match."""
        return audit_events(self.directory, verb, resource, user, since)

    def audit_mark(self):
        """What to give as `since` to see only what comes from now on."""
        return (self.directory / "audit.log").stat().st_size
