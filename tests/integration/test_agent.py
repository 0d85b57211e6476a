"""gpuqos-agent --print against what hwloc's own tools print of the same machines."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
AGENT = os.path.join(os.environ.get("GPUQOS_ASAN_BIN", str(ROOT / "build/asan/bin")), "gpuqos-agent")
DATA = ROOT / "tests/data/topology"
EXPORTS = sorted(p.stem for p in DATA.glob("*.xml"))
UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
# lstopo -v: "      PCI L#0 (busid=0000:34:00.0 id=10de:1db8 class=0302(3D) link=15.75GB/s)".
OBJECT = re.compile(r"^( *)([\w -]+?)(?:\([\w,]+\))? L#\d+ \((.*)\)(?: \"(.*)\")?$")
ATTRIBUTE = re.compile(r'(?:(P#)(\d+)|([\w]+)=("[^"]*"|[^\s"]+))')


def run(*command, **env):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, env={**os.environ, **env})
    return done.returncode, done.stdout, done.stderr


def lstopo(*arguments):
    status, out, err = run("lstopo-no-graphics", *arguments, HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES="1")
    assert status == 0, err
    return out


def published(*arguments):
    status, out, err = run(AGENT, "--print", "--json", *arguments)
    assert (status, err) == (0, "")
    return json.loads(out)


def machine_of(name):
    return ["--hwloc-xml", DATA / f"{name}.xml"] if name else []


def input_of(name):
    return ["--input", DATA / f"{name}.xml"] if name else []


def quantity(text):
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(number) * UNITS[unit]


def objects(name):
    """What lstopo -v shows: (type, name, attributes, the objects around it from the root down)."""
    path, found = [], []
    for line in lstopo(*input_of(name), "--of", "console", "-v", "--whole-io").splitlines():
        m = OBJECT.match(line)
        if not m:
            continue
        attributes = {(a[0] or a[2]): (a[1] or a[3].strip('"')) for a in ATTRIBUTE.findall(m[3])}
        depth = len(m[1])
        path = [p for p in path if p[0] < depth]
        found.append((m[2], m[4] or attributes.get("name"), attributes, [p[1] for p in path]))
        path.append((depth, (m[2], attributes)))
    return found


def is_gpu(kind, attributes):
    return kind == "PCI" and attributes["class"][:4] in ("0300", "0302") and \
        attributes["id"][:4] == "10de"


@pytest.fixture(params=EXPORTS + [None], ids=EXPORTS + ["this machine"])
def name(request):
    return request.param


def test_numa_nodes_are_those_of_lstopo(name):
    nodes = [a for kind, _, a, _ in objects(name) if kind == "NUMANode"]
    shown = {int(a["P#"]): int(a["local"].removesuffix("KB")) * 1024 for a in nodes}
    assert {n["id"]: quantity(n["memory"]) for n in published(*machine_of(name))["numa"]} == shown


def test_cpus_are_those_of_the_node_that_hwloc_calc_finds(name):
    for node in published(*machine_of(name))["numa"]:
        for cpu in re.findall(r"\d+", node.get("cpus", "")):
            status, out, err = run("hwloc-calc", *input_of(name), "--physical", "--intersect", "numa",
                                   "pu:" + cpu, HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES="1")
            assert status == 0, err
            assert str(node["id"]) in out.strip().split(",")


def test_distances_are_those_of_lstopo(name):
    lines = lstopo(*input_of(name), "--distances").splitlines()
    start = next((i for i, line in enumerate(lines) if "NUMALatency" in line), None)
    nodes = [int(a["P#"]) for kind, _, a, _ in objects(name) if kind == "NUMANode"]
    numa = published(*machine_of(name))["numa"]
    if start is None:
        assert all("distances" not in n for n in numa)
        return
    columns = [int(x) for x in lines[start + 1].split()[1:]]
    rows = [[int(x) for x in line.split()] for line in lines[start + 2:start + 2 + len(columns)]]
    shown = {(nodes[row[0]], nodes[c]): d for row in rows for c, d in zip(columns, row[1:])}
    ids = [n["id"] for n in numa]
    assert {(a["id"], b): d for a in numa for b, d in zip(ids, a["distances"])} == shown


def test_cards_and_bridges_are_those_of_lstopo(name):
    layout = published(*machine_of(name))
    bridges, numa = layout["bridges"], layout["numa"]

    def above(index):
        return [] if index is None else above(bridges[index].get("parent")) + [bridges[index]]

    def link(thing):
        return round(int(thing.get("speed", 0)) / 1e9, 2)

    ours = [(g["pci"], link(g), [(b["pci"], link(b)) for b in above(g.get("bridge"))],
             numa[g["numa"]]["id"]) for g in layout["gpus"]]
    shown = []
    for kind, _, a, around in objects(name):
        if is_gpu(kind, a):
            path = [(p["busid"], float(p.get("link", "0GB/s")[:-4])) for k, p in around if k == "PCIBridge"]
            package = [int(p["P#"]) for k, p in around if k == "Package"][-1]
            shown.append((a["busid"], float(a.get("link", "0GB/s")[:-4]), path, package))
    # On these machines with cards a package is one NUMA node of the same number.
    assert sorted(ours) == sorted(shown)
    assert ours == sorted(ours)


def test_what_drivers_say_is_what_lstopo_shows(name):
    shown = {}
    for kind, _, a, around in objects(name):
        above = [p["busid"] for k, p in around if k == "PCI"]
        if above and kind in ("GPU", "Co-Processor") and "NVIDIAUUID" in a:
            shown[above[-1]] = (a["NVIDIAUUID"], a["GPUModel"].replace(" ", "-"))
    ours = {g["pci"]: (g["uuid"], g["product"]) for g in published(*machine_of(name))["gpus"] if "uuid" in g}
    assert ours == shown


def test_nvlinks_are_those_of_lstopo_across_switches(name):
    """hwloc, too, can join what is linked through switches; it names cards nvml0, nvml1, ..."""
    switched = name and "NVSwitch" in (DATA / f"{name}.xml").read_text()
    join = ["--distances-transform", "merge-switch-ports", "--distances-transform", "transitive-closure"]
    lines = lstopo(*input_of(name), "--distances", *(join if switched else [])).splitlines()
    start = next((i for i, line in enumerate(lines) if "NVLinkBandwidth" in line), len(lines))
    columns = lines[start + 1].split()[1:] if start < len(lines) else []
    shown = {}
    for line in lines[start + 2:start + 2 + len(columns)]:
        row = line.split()
        for column, value in zip(columns, row[1:]):
            pair = row[0].removeprefix("nvml"), column.removeprefix("nvml")
            if all(p.isdigit() for p in pair) and int(pair[0]) < int(pair[1]) and int(value):
                shown[int(pair[0]), int(pair[1])] = int(value) * 10**6
    layout = published(*machine_of(name))
    number = [g.get("index") for g in layout["gpus"]]
    assert {(number[n["a"]], number[n["b"]]): int(n["bandwidth"]) for n in layout["nvlinks"]} == shown


def test_the_picture_is_the_recorded_one():
    for name in EXPORTS:
        status, out, _ = run(AGENT, "--print", *machine_of(name))
        assert (status, out) == (0, (DATA / f"{name}.txt").read_text())


def test_more_than_the_limits_is_an_error(tmp_path):
    """Of a machine that hwloc makes up."""
    path = tmp_path / "many.xml"
    lstopo("--input", "numa:65 pu:1", path)
    status, out, err = run(AGENT, "--print", "--hwloc-xml", path)
    assert (status, out) == (1, "")
    assert err == f"gpuqos-agent: {path}: 65 NUMA nodes, at most 64 are described\n"


@pytest.mark.parametrize("arguments, said", [
    ([], "which Node this machine is nobody says: --node-name, NODE_NAME, or --print to see it without a cluster"),
    (["--print", "now"], "now: no argument is expected"),
    (["--prnt"], "--prnt: unknown or incomplete flag; --help lists them"),
    (["--print", "--hwloc-xml"], "--hwloc-xml: unknown or incomplete flag; --help lists them"),
    (["--node-name=a", "--json"], "--json and --ascii go with --print"),
    (["--node-name=a", "--resync=0s"], '--resync: "0s" is no time such as 1500ms, 15s or 2m'),
])
def test_wrong_usage_is_2(arguments, said):
    assert run(AGENT, *arguments, NODE_NAME="") == (2, "", f"gpuqos-agent: {said}\n")


def test_version_and_help():
    assert run(AGENT, "--version")[:2] == (0, "gpuqos-agent " + published()["writer"].split("/")[1] + "\n")
    status, out, _ = run(AGENT, "--help")
    assert status == 0
    assert "--hwloc-xml FILE" in out
