"""What the agent is told by a kubelet's PodResources API, served by gRPC's own library."""

import os
import pathlib
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))

import grpc  # noqa: E402
from kubelet import PodResources, field  # noqa: E402

TOOL = os.path.join(os.environ.get("GPUQOS_TOOLS", str(ROOT / "build/asan/tests")), "integration/pod_resources")
GPU = "GPU-5f5c0000-0000-0000-0000-00000000000"
WHOLE = {"name": "train", "devices": [{"resource": "nvidia.com/gpu", "ids": [GPU + "1", GPU + "2"], "numa": [0, 1]}],
         "cpus": [2, 3, 4, 50, 8191]}


def ask(path):
    done = subprocess.run([TOOL, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=60)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.fixture(name="kubelet")
def served(tmp_path):
    with PodResources(tmp_path / "kubelet.sock") as kubelet:
        yield kubelet


def pod(name, *containers):
    return {"name": name, "namespace": "team", "containers": list(containers)}


def test_devices_numa_nodes_and_cpus_are_told(kubelet):
    kubelet.pods = [pod("job-0", WHOLE, {"name": "sidecar"}), pod("web")]
    assert ask(kubelet.path) == (0, ["team/job-0 train cpus=2-4,50,8191",
                                     f"  nvidia.com/gpu: {GPU}1 {GPU}2 numa=0 numa=1"])


def test_only_gpus_are_kept(kubelet):
    kubelet.pods = [pod("a", {"name": "c", "devices": [
        {"resource": "intel.com/sriov", "ids": ["0000:03:02.0"]}, {"resource": "nvidia.com/mig-1g.10gb", "ids": ["MIG-1"]},
        {"resource": "example.com/renamed", "ids": [GPU + "1::3"]}, {"resource": "amd.com/gpu", "ids": ["0000:83:00.0"]}]})]
    assert ask(kubelet.path) == (0, ["team/a c cpus=", "  nvidia.com/mig-1g.10gb: MIG-1",
                                     f"  example.com/renamed: {GPU}1::3", "  amd.com/gpu: 0000:83:00.0"])


def test_devices_of_claims_are_told(kubelet):
    kubelet.pods = [pod("a", {"name": "c", "claims": [
        {"namespace": "team", "name": "two", "devices": [("gpu.nvidia.com", "n1", "gpu-0"), ("gpu.nvidia.com", "n1", "gpu-1")]}]})]
    assert ask(kubelet.path)[1][1:] == ["  claim team/two: gpu.nvidia.com/n1/gpu-0", "  claim team/two: gpu.nvidia.com/n1/gpu-1"]


def test_what_is_allocatable_is_told(kubelet):
    kubelet.allocatable = [{"resource": "nvidia.com/gpu", "ids": [GPU + str(i)], "numa": [i // 4]} for i in range(8)]
    assert ask(kubelet.path) == (0, [f"  nvidia.com/gpu: {GPU}{i} numa={i // 4}" for i in range(8)])


def test_a_kubelet_without_allocatable_still_tells_of_pods(kubelet):
    kubelet.pods, kubelet.has_allocatable = [pod("job-0", WHOLE)], False
    assert ask(kubelet.path)[0] == 0


def test_a_full_node_is_read_whole(kubelet):
    kubelet.pods = [pod(f"p{i}", {"name": "c", "devices": [{"resource": "nvidia.com/gpu", "ids": [f"{GPU}{i % 8}::{i}"]}],
                                  "cpus": list(range(i, 512))}) for i in range(500)]
    assert len(ask(kubelet.path)[1]) == 1000


@pytest.mark.parametrize("raw, says", [
    (field(1, b"\xff\xff"), "invalid: kubelet at "),
    (field(1, field(3, field(1, "c") + field(2, field(1, "nvidia.com/gpu") + field(2, "GPU-\033[31m")))), "device id"),
    (field(1, field(1, "p") + field(2, "n") + field(3, field(1, "c") + field(2, field(1, "nvidia.com/gpu") + field(2, "GPU-1"))
                                                  + field(3, b"\xff\xff\xff\x7f"))), "a CPU that there cannot be"),
    (b"\x0a\x00" * 2_000_000, "limit: "),
    (field(9, b"x" * 6_000_000), "limit: "),
], ids=["no message", "a device id of control characters", "a CPU beyond all", "millions of pods", "too long"])
def test_odd_answers_are_refused(kubelet, raw, says):
    kubelet.raw = raw
    status, lines = ask(kubelet.path)
    assert status == 1 and says in lines[0]


def test_what_kubelet_refuses_is_said(kubelet):
    kubelet.status = grpc.StatusCode.RESOURCE_EXHAUSTED
    assert ask(kubelet.path) == (1, [f"unavailable: kubelet at {kubelet.path}: List: gRPC status 8: not today"])


def test_a_missing_socket_says_what_to_do(tmp_path):
    status, lines = ask(tmp_path / "none.sock")
    assert status == 1 and lines[0].startswith("not found: ") and "mount its folder" in lines[0]


def test_somebody_else_on_the_socket_is_no_kubelet(tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))
        other.listen()
        process = subprocess.Popen([TOOL, str(tmp_path / "other.sock")], stdout=subprocess.PIPE, text=True)
        peer, _ = other.accept()
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        peer.close()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and out.startswith("unavailable: ")
