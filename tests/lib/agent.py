"""gpuqos-agent as a child process of a test, and the kubelet that it asks.

    install_agent(cluster)                              # kubectl apply -k config/agent
    pod = agent_pod(cluster, "h100-0")                  # the DaemonSet's pod on that node
    kubelet = Kubelet(cluster, tmp_path, "h100-0", topologyManagerPolicy="single-numa-node")
    agent = Agent(cluster, tmp_path, "h100-0", "--hwloc-xml", export, token=bound_token(cluster, pod),
                  kubelet=kubelet)

The Kubelet is a small HTTPS server that lets in whom the real one would: it asks the API server whose
the token is, and whether that one may get nodes/configz.
"""

import http.server
import json
import pathlib
import ssl
import subprocess
import threading

from cluster import ROOT, NotYet, wait_for
from controller import SYSTEM, Controller, binary

ACCOUNT = "gpuqos-agent"
USER = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
ANNOTATION = "gpuqos.io/topology"
EXPORTS = ROOT / "tests" / "data" / "topology"
PODS = f"/api/v1/namespaces/{SYSTEM}/pods"
DAEMON_SET = f"/apis/apps/v1/namespaces/{SYSTEM}/daemonsets/gpuqos-agent"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"

# What kubelet v1.37 says of itself, as far as it is like this everywhere.
KUBELET_CONFIG = {
    "enableServer": True, "syncFrequency": "1m0s", "fileCheckFrequency": "20s", "httpCheckFrequency": "20s", "address": "0.0.0.0",
    "port": 10250, "rotateCertificates": True, "serverTLSBootstrap": True,
    "authentication": {"x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}, "webhook": {"enabled": True, "cacheTTL": "2m0s"},
                       "anonymous": {"enabled": False}},
    "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"}},
    "registryPullQPS": 5, "registryBurst": 10, "eventRecordQPS": 50, "clusterDomain": "cluster.local", "clusterDNS": ["10.96.0.10"],
    "cgroupsPerQOS": True, "cgroupDriver": "systemd", "cpuManagerPolicy": "none", "cpuManagerReconcilePeriod": "10s",
    "memoryManagerPolicy": "None", "topologyManagerPolicy": "none", "topologyManagerScope": "container", "maxPods": 110,
    "evictionHard": {"imagefs.available": "15%", "memory.available": "100Mi"}, "memoryThrottlingFactor": 0.9,
    "logging": {"format": "text", "flushFrequency": "5s", "verbosity": 0}, "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1"}


def install_agent(cluster):
    """Applies config/agent and waits until the policies act."""
    cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "config" / "agent"))

    def guarded():
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "probe"}}
        answer = cluster.api("POST", f"{LEASES}?dryRun=All", lease, user=USER)
        return "of its own node" in answer.message or NotYet(answer)
    wait_for(guarded, "the policies act")


def agent_pod(cluster, node):
    """The DaemonSet's pod on a node, once it is there: not one that a former DaemonSet or Node has left."""
    owners = {cluster.get(DAEMON_SET)["metadata"]["uid"]}

    def placed():
        items = cluster.get(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dgpuqos-agent")["items"]
        found = [item for item in items if item["spec"].get("nodeName") == node and "deletionTimestamp" not in item["metadata"]
                 and owners == {owner["uid"] for owner in item["metadata"].get("ownerReferences", [])}]
        return found[0] if found else NotYet([item["status"] for item in items])
    return wait_for(placed, f"an agent's pod is on {node}")


def bound_token(cluster, pod):
    """A token as kubelet gets one for that pod."""
    return cluster.kubectl("create", "token", ACCOUNT, "-n", SYSTEM, "--duration=1h", "--bound-object-kind=Pod",
                           f"--bound-object-name={pod['metadata']['name']}", f"--bound-object-uid={pod['metadata']['uid']}").strip()


def make_certificate(directory, name):
    """A self-signed server certificate for a DNS name: (certificate, key)."""
    certificate, key = directory / "kubelet.crt", directory / "kubelet.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}@1", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", certificate],
                   check=True, stderr=subprocess.DEVNULL)
    return certificate, key


class Kubelet:
    """Serves /configz of one node at self.address; self.certificate proves it. `down` refuses everybody."""

    def __init__(self, cluster, directory, node, **config):
        directory.mkdir(parents=True, exist_ok=True)
        self.cluster, self.config = cluster, KUBELET_CONFIG | config
        self.answered, self.refused, self.down = 0, 0, False
        self.certificate, key = make_certificate(directory, node)
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                kubelet.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, key)
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def judge(self, path, authorization):
        """The HTTP status for a request."""
        if self.down:
            return 503
        if path != "/configz":
            return 404
        if not authorization.startswith("Bearer "):
            return 401
        review = self.cluster.api("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                                  {"spec": {"token": authorization.removeprefix("Bearer ")}}).ok()["status"]
        if not review.get("authenticated"):
            return 401
        access = {"spec": {"user": review["user"]["username"], "groups": review["user"]["groups"], "resourceAttributes": {
            "verb": "get", "resource": "nodes", "subresource": "configz", "version": "v1"}}}
        allowed = self.cluster.api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", access).ok()["status"]["allowed"]
        return 200 if allowed else 403

    def answer(self, request):
        status = self.judge(request.path, request.headers.get("Authorization", ""))
        body = json.dumps({"kubeletconfig": self.config}).encode() if status == 200 else b"no\n"
        self.answered += status == 200
        self.refused += status != 200
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


class Agent(Controller):
    """One node's agent."""

    program, account = "gpuqos-agent", ACCOUNT

    def __init__(self, cluster, directory, node, *flags, token=None, kubelet=None):
        asked = ["--kubelet-address", kubelet.address, "--kubelet-ca-file", kubelet.certificate] if kubelet else []
        super().__init__(cluster, pathlib.Path(directory) / node, "--node-name", node, "--start-spread=1ms", *asked, *flags,
                         token=token)
        self.node = node

    def annotation(self):
        """Of the Node, as text; None where there is none."""
        item = self.cluster.get(f"/api/v1/nodes/{self.node}")
        return item["metadata"].get("annotations", {}).get(ANNOTATION)

    def lease(self):
        return self.cluster.get(f"{LEASES}/gpuqos-agent-{self.node}")


def printed(*flags):
    """What --print --json says, decoded."""
    out = subprocess.run([binary("gpuqos-agent"), "--print", "--json", *flags], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)
