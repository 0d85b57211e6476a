"""gpuqos-agent --print of exports of real machines, with a library that speaks NVML's ABI about their cards."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
AGENT = os.path.join(os.environ.get("GPUQOS_ASAN_BIN", str(ROOT / "build/asan/bin")), "gpuqos-agent")
LIBRARIES = pathlib.Path(os.environ.get("GPUQOS_NVML", ROOT / "build/nvml"))
DGX2 = ROOT / "tests/data/topology/nvidia-dgx2.xml"
POWER8 = ROOT / "tests/data/topology/power8-p100.xml"
SWITCH = "0:f0:0"
V100 = 34359738368


def run(export, description, path, library="libnvml_test.so", *arguments):
    path.write_text(description)
    command = [AGENT, "--print", "--hwloc-xml", export, "--nvml", LIBRARIES / library, *arguments]
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "NVML_DESCRIPTION": str(path)}, check=False, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(name="published")
def publisher(tmp_path):
    def published(export, description, library="libnvml_test.so"):
        status, out, err = run(export, description, tmp_path / "cards", library, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)
    return published


def addresses(published, export):
    return [gpu["pci"] for gpu in published(export, "")["gpus"]]


def card(pci, index, *lines):
    """A V100 at `pci`, "0000:34:00.0"."""
    return "\n".join(["card", f"uuid GPU-{index:04}", "name Tesla V100-SXM3-32GB", "pci " + pci[:-2],
                      f"memory {V100}", *lines, ""])


def dgx2(published, **more):
    """All 16 cards of a DGX-2, each with 6 links to switches; `more` lines for some, as card3=[...]."""
    links = [f"link {i} switch {SWITCH} 25781" for i in range(6)]
    return "".join(card(pci, i, "ecc 0", *links, *more.get(f"card{i}", []))
                   for i, pci in enumerate(addresses(published, DGX2)))


def test_cards_are_told_by_the_library(published):
    layout = published(DGX2, dgx2(published))
    assert [g["index"] for g in layout["gpus"]] == list(range(16))
    assert {g["health"] for g in layout["gpus"]} == {"OK"}
    assert {g["product"] for g in layout["gpus"]} == {"Tesla-V100-SXM3-32GB"}
    assert {g["memory"] for g in layout["gpus"]} == {"32Gi"}
    assert len({g["uuid"] for g in layout["gpus"]}) == 16
    assert len(layout["nvlinks"]) == 120
    assert {link["bandwidth"] for link in layout["nvlinks"]} == {"154686000000"}


def test_what_hwloc_shows_stays(published):
    bare, layout = published(DGX2, ""), published(DGX2, dgx2(published))
    for key in ("numa", "bridges"):
        assert layout[key] == bare[key]
    assert [(g["numa"], g["bridge"], g["speed"]) for g in layout["gpus"]] == \
        [(g["numa"], g["bridge"], g["speed"]) for g in bare["gpus"]]


def test_failed_cards_are_published_as_such(published):
    layout = published(DGX2, dgx2(published, card3=["xid 79"], card5=["xid 31"], card7=["remapped 0 1"],
                                  card9=["fails nvmlDeviceGetHandleByIndex_v2 15"]))
    assert [i for i, g in enumerate(layout["gpus"]) if g["health"] == "Failed"] == [3, 7, 9]


def test_mig_devices_are_published_by_profile(published):
    pci = addresses(published, POWER8)[0]
    parts = ["mig"] + [f"partition {i} 0 1 1 9728 MIG-{i}" for i in range(7, 10)] + ["partition 1 2 3 3 40192 MIG-1"]
    layout = published(POWER8, "\n".join(["card", "uuid GPU-0", "pci " + pci[:-2], "memory 85899345920",
                                          *parts, ""]))
    assert layout["gpus"][0]["sharing"] == "MIG"
    assert layout["gpus"][0]["mig"] == [{"profile": "1g.10gb", "count": 3, "memory": "9728Mi"},
                                        {"profile": "3g.40gb", "count": 1, "memory": "40192Mi"}]
    assert all("mig" not in g and g["health"] == "Unknown" for g in layout["gpus"][1:])


def test_a_library_of_an_old_driver_tells_less(published):
    description = dgx2(published, card3=["xid 79"], card7=["remapped 0 1"], card8=["linkversion 2"])
    layout = published(DGX2, description, library="libnvml_old.so")
    assert {g["health"] for g in layout["gpus"]} == {"OK"}
    assert {g["memory"] for g in layout["gpus"]} == {"32Gi"}
    assert layout["nvlinks"] == published(DGX2, "")["nvlinks"]


def test_hostile_texts_never_spoil_what_is_published(published):
    bare = published(DGX2, "")["gpus"][0]
    lines = ["uuid *", "name \033[31mred", "memory 18446744073709551615", "mig 4294967295",
             "partition 1 99 1 1 18446744073709551615 *", "link 0 gpu ffffffff:ffffffff:ffffffff 1"]
    layout = published(DGX2, dgx2(published, card0=lines, card1=["uuid GPU-0002"]))
    assert "product" in layout["gpus"][1] and layout["gpus"][0]["uuid"] == bare["uuid"]
    assert "uuid" not in layout["gpus"][1] and "uuid" not in layout["gpus"][2]
    assert "mig" not in layout["gpus"][0]


def test_a_library_that_was_named_must_work(tmp_path):
    for library, description, says in [("libnvml_none.so", "", "cannot be loaded"),
                                       ("libnvml_test.so", "init 9\n", "not loaded"),
                                       ("libnvml_test.so", "init 18\n", "another version"),
                                       ("libnvml_test.so", "count 4000000000\n", "4000000000 cards")]:
        status, out, err = run(DGX2, description, tmp_path / "cards", library)
        assert (status, out) == (1, "") and says in err


def test_the_picture_shows_health_and_memory(published, tmp_path):
    status, out, err = run(DGX2, dgx2(published, card3=["xid 79"]), tmp_path / "cards")
    assert (status, err) == (0, "")
    assert out.count("32Gi") == 16 and out.count("FAILED") == 1


def test_sysfs_fills_what_is_unknown(tmp_path):
    """hwloc does not know a card's memory; a folder that stands for /sys does."""
    status, out, _ = run(DGX2, "", tmp_path / "cards", "libnvml_test.so", "--json")
    card_0 = json.loads(out)["gpus"][0]
    assert "memory" not in card_0
    folder = tmp_path / "sys/bus/pci/devices" / card_0["pci"]
    folder.mkdir(parents=True)
    (folder / "mem_info_vram_total").write_text("17179869184\n")
    status, out, err = run(DGX2, "", tmp_path / "cards", "libnvml_test.so", "--json", "--sysfs", tmp_path / "sys")
    assert (status, err) == (0, "")
    assert [g.get("memory") for g in json.loads(out)["gpus"]] == ["16Gi"] + [None] * 15
