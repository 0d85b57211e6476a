"""Guards of what the benchmarks once reached: instructions of fixed inputs, counted by callgrind, against
expected.json. A count does not depend on how busy the machine is, so a few per cent more is a change of the
code. GPUQOS_UPDATE_COUNTS=1 writes what is counted as what is expected from then on.

Another compiler, C library or processor gives other counts: there only what holds everywhere is asserted.
pods.watch.pb is a stream of 20 pods of all kinds, recorded and renamed by tests/bench.
"""

import json
import os
import pathlib
import platform
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "bench"))
import processes  # noqa: E402

EXPECTED = HERE / "expected.json"
TOLERANCE = 1.05
UPDATE = os.environ.get("GPUQOS_UPDATE_COUNTS") == "1"
PODS = str(HERE / "pods.watch.pb")
INPUTS = {
    "list of 20 pods": ("cache", "list", PODS),
    "one event": ("cache", "event", PODS),
    "one tenant event of 1000": ("tenant", "1000"),
    "one tenant event of 10000": ("tenant", "10000"),
    "one pod and 1000 nodes": ("place", "1000", "filter"),
    "one pod and 1000 nodes as before": ("place", "1000", "again"),
    "5000 names read and answered": ("extender_wire", "5000"),
}


def platform_now():
    """What a count depends on besides the code."""
    compiler = subprocess.run(["cc", "-dumpfullversion"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.split()
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    vectors = "avx2" if " avx2 " in flags else "no avx2"  # which memcpy and strlen there are
    return " ".join([*compiler, *platform.libc_ver(), vectors])


@pytest.fixture(scope="module")
def counts():
    if not processes.shutil.which("valgrind"):
        pytest.skip("there is no valgrind")
    environ = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "V", "CC")}
    programs = sorted({f"build/release/tests/bench/{command[0]}" for command in INPUTS.values()})
    subprocess.run(["make", "--no-print-directory", *programs], cwd=ROOT, env=environ, check=True)
    found = {}
    for name, (program, *arguments) in INPUTS.items():
        path = ROOT / "build/release/tests/bench" / program
        found[name], _ = processes.count_instructions(path, *arguments)
    if UPDATE:
        EXPECTED.write_text(json.dumps({"platform": platform_now(), "counts": found}, indent=2) + "\n")
    return found


@pytest.mark.parametrize("name", INPUTS)
def test_no_more_instructions_than_before(counts, name):
    expected = json.loads(EXPECTED.read_text())
    if expected["platform"] != platform_now():
        pytest.skip(f"counted on {expected['platform']}, this is {platform_now()}")
    assert counts[name] <= TOLERANCE * expected["counts"][name], (
        f"{name}: {counts[name]} instructions, {expected['counts'][name]} before")


def test_a_tenant_event_costs_the_same_among_ten_times_as_many_namespaces(counts):
    few, many = counts["one tenant event of 1000"], counts["one tenant event of 10000"]
    assert many <= 1.1 * few, f"{few} instructions among 1,000 namespaces, {many} among 10,000"
