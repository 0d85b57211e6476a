"""The demo, as a reader of the README would run it, but in a pipe."""

import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# About two minutes; more where the machine is busy. It has time-outs of its own for each step.
DEMO_SECONDS = 600


def run_demo(tmp_path, **env):
    """What it prints and its exit status. It is to start a cluster of its own."""
    hidden = ("KUBECONFIG", "KUBECTL", "KEEP", "DEMO_YES", "DEMO_SVG")
    environ = {key: value for key, value in os.environ.items() if key not in hidden}
    return subprocess.run([ROOT / "hack" / "demo"], env=environ | {"TMPDIR": str(tmp_path)} | env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=DEMO_SECONDS)


def processes_of(directory):
    """Command lines of all processes that name the folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if f"{directory}/" in words:
            found.append(words)
    return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One run, and the folder that it kept its things in."""
    folder = tmp_path_factory.mktemp("demo")
    done = run_demo(folder, DEMO_SVG=str(tmp_path_factory.getbasetemp() / "night.svg"))
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout, folder


def section(text, number):
    """One step of the demo."""
    found = re.search(rf"^{number}\. .*?(?=^\d+\. |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, text
    return found[0]


def row(text, namespace):
    """The columns of a namespace in the last `kubectl get gmq -A` of a step."""
    rows = [line.split() for line in text.splitlines() if line.startswith(namespace + " ")]
    names = ("memory", "effective", "used", "percent", "gpus", "pods", "throttled", "ready")
    return dict(zip(names, rows[-1][2:]))


def test_all_steps_end_with_the_quotas_as_they_are(demo):
    text, _ = demo
    for number in range(2, 9):
        assert "$ kubectl get gmq -A\n" in section(text, number), number
    assert "Done: all steps showed what they should" in text


def test_the_deployment_stops_at_the_quota_with_the_servers_message(demo):
    step = section(demo[0], 5)
    # Whichever gate was first.
    assert re.search(r'^pods "server-[^"]+" is forbidden: (exceeded quota: gpuqos, |.*GpuMemoryQuota team: )',
                     step, re.MULTILINE)
    seen = row(step, "gpuqos-demo-chat")
    assert (seen["used"], seen["gpus"], seen["pods"]) == ("326236Mi", "4", "4")


def test_slices_and_shares_count_by_their_memory(demo):
    step = section(demo[0], 6)
    # 9984Mi, 40448Mi, and a tenth of a card of 81559Mi, rounded down.
    used = (9984 + 40448) * 2**20 + 81559 * 2**20 // 10
    assert f'gpuqos_quota_used_bytes{{namespace="gpuqos-demo-research"}} {used}\n' in step
    assert row(step, "gpuqos-demo-research")["pods"] == "3"


def test_a_pod_is_refused_for_its_size_with_both_numbers(demo):
    step = section(demo[0], 7)
    assert ("this pod asks for 3 x nvidia.com/gpu at 81559Mi = 244677Mi of GPU memory, "
            "and one pod may have 160Gi") in step


def test_the_other_replica_takes_over_and_keeps_the_status(demo):
    step = section(demo[0], 8)
    assert "ok: refused while nobody leads" in step and "ok: replica 2 leads" in step
    seen = row(step, "gpuqos-demo-chat")
    assert (seen["used"], seen["pods"], seen["ready"]) == ("163118Mi", "2", "True")


def test_a_ceiling_is_reached_across_namespaces(demo):
    step = section(demo[0], 9)
    assert "has no room for ~318.6Gi: ~159.3Gi are missing" in step
    assert re.search(r"^gpuqos-demo-lab +Training +489354Mi +489354Mi ", step, re.MULTILINE)


def test_what_is_lent_comes_back_with_a_receipt(demo):
    step = section(demo[0], 10)
    assert "ok: 4 pods run on 2 cards of its own and 2 borrowed ones" in step
    assert "ok: gpuqos-demo-lab-serve holds what is its own" in step
    assert sorted(re.findall(r"^\d{4}-\S+ +Pod (more-\d) holds ", step, re.MULTILINE)) == ["more-0", "more-1"]
    times = re.findall(r"^(\d{4}-\S+) +Pod more-", step, re.MULTILINE)
    assert times == sorted(times)


def test_a_cut_ends_as_onshrink_says(demo):
    step = section(demo[0], 11)
    for policy in ("Freeze", "Evict", "Drain"):
        assert f"ok: {policy}: " in step


def test_cards_slices_parts_and_claims_are_one_number(demo):
    step = section(demo[0], 12)
    assert "ok: kubectl says the same: 176102Mi" in step


def pictures(step):
    """Rows of the nodes in its pictures: name, and the text that shows their cards."""
    return [row.split(None, 1) for row in step.splitlines() if re.match(r"(relaxed|strict)-\d +[|│]", row)]


def test_the_incident_is_shown_by_kubelets_own_verdicts(demo):
    step = section(demo[0], 13)
    spanning, admitted = map(int, re.search(r"^Policy none: (\d+) of (\d+) pods span", step, re.MULTILINE).groups())
    assert 0 < spanning <= admitted
    asked = {policy: tuple(map(int, counts)) for policy, *counts in re.findall(
        r"^Policy (\S+): (\d+) pods were asked for, and (\d+) went to a node; (\d+) found none\.$", step, re.MULTILINE)}
    assert set(asked) == {"none", "single-numa-node"} and asked["none"][0] == 30 and asked["none"][1] >= admitted
    assert all(wanted % 30 == 0 and wanted == placed + none for wanted, placed, none in asked.values())
    died = re.search(r"^Policy single-numa-node: 0 of \d+ pods span; (\d+) were placed and then died", step, re.MULTILINE)
    assert int(died[1]) >= len(re.findall(r"^late-\w .* TopologyAffinityError$", step, re.MULTILINE)) > 0
    marked = {name[:-2] for name, cards in pictures(step) if "!" in cards}
    assert [name for name, _ in pictures(step)] == [f"{kind}-{i}" for kind in ("relaxed", "strict") for i in range(3)]
    assert marked == {"relaxed"}


def test_the_same_load_is_aligned_or_waits_with_the_reason(demo):
    step = section(demo[0], 14)
    asked, placed = map(int, re.search(r"^(\d+) pods were asked for, and (\d+) were placed: 0 of these span both sockets, 0 were rejected",
                                       step, re.MULTILINE).groups())
    assert 0 < placed <= asked
    assert len(pictures(step)) == 3 and not any("!" in cards for _, cards in pictures(step))
    assert re.search(r"^late-\w: 0/\d+ nodes are available: ", step, re.MULTILINE)
    assert re.search(r"^0 of [1-6] nodes fit: ", step, re.MULTILINE)


def test_latency_rises_one_pod_is_evicted_and_latency_falls(demo):
    step = section(demo[0], 15)
    told = re.findall(r"^Time to first token, 95th percentile: (\S+) s; the objective is (\w+)\.$", step, re.MULTILINE)
    (before, first), (during, then), (after, last) = told
    assert first == last == "Met" and then in ("AtRisk", "Violated")
    assert float(before) < 0.4 < float(during) and float(after) < 0.4
    assert re.search(r"^  because  objective first-token was 0\.[4-9]", step, re.MULTILINE)
    receipt = re.sub(r"\n {11}", " ", step)
    assert "gpuqos-demo-train/job-0 shares a PCIe switch with it on night-0 and uses 90 % of a card, by its node's agent." in receipt
    assert re.findall(r"^  victim   (\S+), \d+ GPU-seconds lost$", step, re.MULTILINE) == ["gpuqos-demo-train/job-0"]
    spared = re.findall(r"(?:spared  |\n {10}) gpuqos-demo-train/notebook-\d: (it shares nothing with it|it does little)$", step, re.MULTILINE)
    assert len(spared) == 6 and spared.count("it shares nothing with it") == 4
    assert "\n  outcome  Helped: " in step
    assert "ok: one pod was evicted, and the six notebooks go on" in step


def test_an_abnormal_tenant_is_throttled_step_by_step_and_released(demo):
    step = section(demo[0], 16)
    lefts = [int(left) for left in re.findall(r"^ok: .*?(\d+) % are left", step, re.MULTILINE)]
    assert lefts == [70, 50, 75]
    assert "pods use more GPU memory than they were granted and pods keep shared GPUs busier than isolation allows" in step
    refused, again = step.index("GpuMemoryQuota team: this pod asks for 1 x nvidia.com/gpu.shared"), step.index("ok: one more pod is let in")
    assert refused < step.index("ok: and it has everything again") < again


def test_the_night_is_drawn_from_what_prometheus_saw(demo):
    step = section(demo[0], 16)
    titles = re.findall(r"^(Time to first token, .*|What the abnormal tenant .*)$", step, re.MULTILINE)
    assert len(titles) == 2 and re.search(r"^ +\S eviction at \d+ s$", step, re.MULTILINE)
    path = re.search(r"^The same as a picture: (.*)$", step, re.MULTILINE)[1]
    latency, quota = curves(path)
    # y grows downwards. What is bad is in the middle, and at both ends it is not.
    assert min(latency) < min(latency[0], latency[-1]) - 20
    levels = [y for y, before in zip(quota, [None, *quota]) if y != before]
    assert len(levels) == 5 and levels[0] == levels[-1] < levels[1] < levels[2] and levels[1] > levels[3]


def curves(path):
    """The y of each curve of an SVG."""
    picture = xml.etree.ElementTree.parse(path)
    lines = picture.iter("{http://www.w3.org/2000/svg}polyline")
    return [[float(point.split(",")[1]) for point in line.get("points").split()] for line in lines]


def test_it_is_plain_text_in_a_pipe(demo):
    assert "\x1b" not in demo[0] and "\r" not in demo[0]


def test_it_cleans_up_after_itself(demo):
    _, folder = demo
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


def test_it_touches_no_cluster_of_others_without_being_told(demo, tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "
                          "'https://127.0.0.1:1'}}], contexts: [{name: c, context: {cluster: c}}], "
                          "current-context: c}")
    done = run_demo(tmp_path, KUBECONFIG=str(kubeconfig))
    assert done.returncode == 1 and "Install gpuqos" not in done.stdout
