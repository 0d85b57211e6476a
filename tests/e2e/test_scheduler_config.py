"""config/scheduler: the kube-scheduler that it describes, with an extender of the test's own that keeps a record.

What our extender answers is the matter of other tests; these look at who asks it, what, how, and what follows when it does not answer.
"""

import collections
import http.server
import json
import re
import shutil
import ssl
import subprocess
import threading

import pytest

import scheduler as lib
from cluster import ROOT, NotYet, wait_for
from controller import USER
from gpus import GPU, pod


class Extender(http.server.ThreadingHTTPServer):
    """Passes every node, prefers one, and binds as the controller's account."""

    def __init__(self, cluster, certs, prefers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.cluster, self.prefers, self.calls = cluster, prefers, []
        self.connections = collections.defaultdict(set)  # by verb: the client's ports
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "server.crt", certs / "server.key")
        context.load_verify_locations(certs / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def filter(self, args):
        return {"NodeNames": args["NodeNames"]}

    def prioritize(self, args):
        return [{"Host": name, "Score": 10 if name == self.prefers else 0} for name in args["NodeNames"]]

    def preempt(self, _):
        return {"NodeNameToMetaVictims": {}}

    def bind(self, args):
        item = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": args["Node"]},
                "metadata": {"name": args["PodName"], "namespace": args["PodNamespace"], "uid": args["PodUID"]}}
        path = f"/api/v1/namespaces/{args['PodNamespace']}/pods/{args['PodName']}/binding"
        groups = ["system:serviceaccounts", "system:serviceaccounts:gpuqos-system", "system:authenticated"]
        answer = self.cluster.api("POST", path, item, user=USER, groups=groups)
        return {"Error": "" if answer.status < 300 else answer.message}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.lstrip("/")
        subject = dict(pair for part in self.connection.getpeercert()["subject"] for pair in part)
        name = args["Pod"]["metadata"]["name"] if "Pod" in args else args["PodName"]
        self.server.connections[verb].add(self.client_address[1])
        self.server.calls.append((verb, name, subject["commonName"], args))
        body = json.dumps(getattr(self.server, verb)(args)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def sent(name, amount=1, scheduler=lib.NAME):
    item = pod(name, GPU, amount)
    item["spec"]["schedulerName"] = scheduler
    return item


def node_of(namespace, name):
    item = namespace.cluster.get(f"{namespace.pods}/{name}")
    return item["spec"].get("nodeName") or NotYet(item["status"])


def wait_placed(namespace, name):
    return wait_for(lambda: node_of(namespace, name), f"{name} has a node")


@pytest.fixture(scope="module")
def certs(tmp_path_factory):
    return lib.make_certificates(tmp_path_factory.mktemp("certs"))


@pytest.fixture
def start(world, tmp_path):
    """start(extender=...): our scheduler, until the test ends."""
    made = []

    def begin(**options):
        made.append(lib.Scheduler(world.cluster, tmp_path / "scheduler", **options).start())
        return made[-1]
    yield begin
    for each in made:
        each.kill()


@pytest.fixture
def extender(world, nodes, certs):
    nodes("h100=3")
    prefers = sorted(node["metadata"]["name"] for node in world.cluster.get("/api/v1/nodes")["items"])[1]
    made = Extender(world.cluster, certs, prefers)
    yield made
    made.close()


def test_it_places_pods_that_name_it_by_its_extender(start, extender, certs, namespace):
    start(extender=extender.url, certs=certs)
    for i in range(3):
        namespace.create(sent(f"p{i}")).ok()
    # All on one node: what spreads pods over nodes is turned off, and the extender weighs more than the rest.
    assert {wait_placed(namespace, f"p{i}") for i in range(3)} == {extender.prefers}
    for i in range(3):
        verbs = [verb for verb, name, _, _ in extender.calls if name == f"p{i}"]
        assert [verb for verb in verbs if verb != "preempt"] == ["filter", "prioritize", "bind"]
    assert {subject for _, _, subject, _ in extender.calls} == {lib.NAME}
    first = extender.calls[0][3]
    assert len(first["NodeNames"]) == 3 and not first.get("Nodes")


def test_questions_and_bindings_have_connections_of_their_own(start, extender, certs, namespace):
    start(extender=extender.url, certs=certs)
    for i in range(8):
        namespace.create(sent(f"p{i}")).ok()
    for i in range(8):
        wait_placed(namespace, f"p{i}")
    used = extender.connections
    assert used["bind"] and used["bind"].isdisjoint(used["filter"] | used["prioritize"])
    assert len(used["filter"] | used["prioritize"]) == 1  # one question at a time


def test_it_leaves_other_pods_to_other_schedulers(start, extender, certs, namespace):
    start(extender=extender.url, certs=certs)
    namespace.create(sent("theirs", scheduler="default-scheduler")).ok()
    wait_placed(namespace, "theirs")
    namespace.create(sent("ours")).ok()
    wait_placed(namespace, "ours")
    assert {name for _, name, _, _ in extender.calls} == {"ours"}


def test_without_an_answer_gpu_pods_wait_and_others_do_not(start, extender, certs, namespace):
    extender.close()
    start(extender=extender.url, certs=certs)
    namespace.create(sent("waits")).ok()

    def waits():
        found = [c for c in namespace.cluster.get(f"{namespace.pods}/waits")["status"].get("conditions", []) if c["type"] == "PodScheduled"]
        return found and found[0]["status"] == "False" and found[0]["reason"] or NotYet(found)
    assert wait_for(waits, "the refusal is told") == "SchedulerError"
    namespace.create(sent("plain", amount=0, scheduler="default-scheduler")).ok()
    wait_placed(namespace, "plain")
    assert not node_of(namespace, "waits")


@pytest.mark.parametrize("wrong", ["ca.crt", "client"])
def test_both_sides_need_a_certificate_of_one_ca(start, extender, certs, namespace, tmp_path, wrong):
    """It takes no answer from a server of another CA, and gets none with a certificate of another CA."""
    mixed = lib.make_certificates(tmp_path / "others")
    for name in ("ca.crt", "client.crt", "client.key"):
        if not name.startswith(wrong):
            shutil.copy(certs / name, mixed / name)
    start(extender=extender.url, certs=mixed)
    namespace.create(sent("p")).ok()
    wait_for(lambda: namespace.cluster.get(f"{namespace.pods}/p")["status"].get("conditions"), "it was tried")
    assert not node_of(namespace, "p") and extender.calls == []


def test_it_leads_by_a_lease_of_its_own_and_decides_alone_where_told_to(world, start, nodes, namespace):
    nodes("h100")
    start(elect=True)
    namespace.create(sent("p")).ok()
    wait_placed(namespace, "p")
    lease = world.cluster.get("/apis/coordination.k8s.io/v1/namespaces/gpuqos-system/leases/gpuqos-scheduler")
    assert lease["spec"]["holderIdentity"]


# --- what is installed

def test_the_docs_allow_another_scheduler(world, tmp_path):
    text = (ROOT / "docs" / "scheduling.md").read_text()
    patch, = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "batch-scheduler" in block]
    (tmp_path / "gpuqos").symlink_to(ROOT)
    own = tmp_path / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_text(
        "resources: [../gpuqos/config/default]\ncomponents: [../gpuqos/config/scheduler, ../gpuqos/config/scheduler/mutating]\n" + patch)
    made = json.loads(world.cluster.kubectl("apply", "-k", str(own), "--dry-run=server", "-o", "json"))["items"]
    kinds = {o["kind"]: o for o in made if o["metadata"]["name"] == "gpuqos-scheduler-name"}
    assert kinds["ValidatingAdmissionPolicy"]["spec"]["variables"][0] == {"name": "allowed", "expression": "['gpuqos-scheduler', 'batch-scheduler']"}
    assert "MutatingAdmissionPolicyBinding" in kinds


def test_the_whole_is_accepted_with_its_secrets(world, tmp_path):
    """By kubectl apply -k config/full, in a namespace that takes restricted pods alone."""
    script = [ROOT / "hack" / "extender-certs", tmp_path / "certs"]
    secrets = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout
    applied = world.cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=secrets)
    assert applied.count("serverside-applied") == 2
    text = world.cluster.kubectl("apply", "--server-side", "--dry-run=server", "-k", str(ROOT / "config" / "full"), "-o", "json")
    made = {(o["kind"], o["metadata"]["name"]): o for o in json.loads(text)["items"]}
    args = made["Deployment", "gpuqos-controller"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {re.sub("=.*", "", arg) for arg in args} >= {
        "--leader-elect", "--extender-address", "--extender-tls-cert-file", "--extender-tls-private-key-file", "--extender-client-ca-file"}
    selector = made["Service", "gpuqos-extender"]["spec"]["selector"]
    labels = made["Deployment", "gpuqos-controller"]["spec"]["template"]["metadata"]["labels"]
    assert selector == labels | {"gpuqos.io/role": "leader"}
    template = made["Deployment", "gpuqos-scheduler"]["spec"]["template"]
    # The namespace enforces the level "restricted": who breaks it is refused.
    mine = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "s", "labels": template["metadata"]["labels"]},
            "spec": template["spec"] | {"serviceAccountName": "default"}}
    world.cluster.api("POST", "/api/v1/namespaces/gpuqos-system/pods?dryRun=All", mine).ok()
    configs = [o for (kind, name), o in made.items() if kind == "ConfigMap" and name.startswith("gpuqos-scheduler-")]
    names = [v["configMap"]["name"] for v in template["spec"]["volumes"] if "configMap" in v]
    assert [c["metadata"]["name"] for c in configs] == names
    assert configs[0]["data"]["kube-scheduler.yaml"] == (lib.CONFIG / "kube-scheduler.yaml").read_text()
