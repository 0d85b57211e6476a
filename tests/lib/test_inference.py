"""Unit tests of the inference service in inference.py."""

import json

import pytest

from inference import LOAD, TOPOLOGY, Request, Server, Service, nearest, read_trace, slowdown, wires

LAYOUT = {"bridges": [{"pci": "a"}, {"pci": "b", "parent": 0}, {"pci": "c", "parent": 0}, {"pci": "d"}],
          "gpus": [{"uuid": "g0", "numa": 0, "bridge": 1}, {"uuid": "g1", "numa": 0, "bridge": 2}, {"uuid": "g2", "numa": 0, "bridge": 3},
                   {"uuid": "g3", "numa": 1}]}


def mean(server):
    return server.first_token.sum / sum(server.first_token.buckets)


def play(factor, seconds=300):
    server = Server(read_trace())
    for _ in range(seconds):
        server.step(1, factor)
    return server


@pytest.mark.parametrize("theirs, what", [
    ({"g0"}, "card"), ({"g1"}, "switch"), ({"g2"}, "numa"), ({"g3"}, None), ({"elsewhere"}, None), ({"g3", "g1"}, "switch")])
def test_what_two_sets_of_cards_share(theirs, what):
    assert nearest({"g0"}, theirs, wires(LAYOUT)) == what


def test_neighbours_add_up_and_strangers_do_not_count():
    assert slowdown({"g0"}, [{"g0"}, {"g1"}, {"g3"}], wires(LAYOUT)) == pytest.approx(1 + 1.5 + 0.8)


def test_a_request_waits_for_the_one_before():
    server = Server([Request(0, 20000), Request(0, 20000)])
    server.step(0.99, 1)
    assert sum(server.first_token.buckets) == 0
    server.step(1.5, 1)
    assert server.first_token.sum == pytest.approx(1 + 2)


def test_time_cut_into_steps_gives_the_same_latency():
    coarse, fine = Server(read_trace()), Server(read_trace())
    coarse.step(100, 1.5)
    for _ in range(1000):
        fine.step(0.1, 1.5)
    assert fine.first_token.sum == pytest.approx(coarse.first_token.sum)
    assert fine.first_token.buckets == coarse.first_token.buckets


def test_latency_rises_with_each_step_nearer():
    alone, numa, switch, card = (mean(play(factor)) for factor in (1, 1.4, 1.8, 2.5))
    assert alone < numa < switch < card


def test_latency_falls_again_when_the_neighbour_is_gone():
    server = play(3.4)
    crowded = mean(server)
    for _ in range(120):
        server.step(1, 1)
    before = server.first_token.sum, sum(server.first_token.buckets)
    for _ in range(120):
        server.step(1, 1)
    after = (server.first_token.sum - before[0]) / (sum(server.first_token.buckets) - before[1])
    assert after < crowded / 4


def a_pod(name, load, card, node="n", phase="Running"):
    return {"metadata": {"namespace": "ns", "name": name, "labels": {LOAD: load}}, "spec": {"nodeName": node},
            "status": {"phase": phase, "containerStatuses": [
                {"allocatedResourcesStatus": [{"name": "nvidia.com/gpu", "resources": [{"resourceID": card}]}]}]}}


def test_the_cluster_is_read_and_served():
    pods = [a_pod("web", "inference", "g0"), a_pod("job", "training", "g1::3"), a_pod("far", "training", "g0", node="m"),
            a_pod("done", "training", "g0", phase="Succeeded")]
    node = {"metadata": {"name": "n", "annotations": {TOPOLOGY: json.dumps(LAYOUT)}}}
    service = Service(read=lambda what: {"pods": pods, "nodes": [node]}[what])
    assert service.look() == {("ns", "web"): pytest.approx(1.8)}
    service.step(60)
    assert 'vllm:time_to_first_token_seconds_count{namespace="ns",pod="web",model_name="trace"} ' in service.page()
    pods.clear()
    service.step(1)
    assert "web" not in service.page()
