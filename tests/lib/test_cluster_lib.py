"""Unit tests of the helpers in cluster.py; no cluster is started."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cluster


@pytest.mark.parametrize("text, value", [
    ("0", 0), ("8", 8), (8, 8), ("+3", 3), ("-2", -2),
    ("1k", 1000), ("2Ki", 2048), ("320Gi", 320 << 30), ("1.5Gi", 3 << 29), ("1Ei", 1 << 60),
    ("2E", 2 * 10**18), ("1e3", 1000), ("1E3", 1000), ("12e-1", 2), (".5k", 500),
    ("100m", 1), ("1001m", 2), ("-1500m", -2), ("1n", 1), ("3000000u", 3),
])
def test_a_quantity_becomes_a_whole_number(text, value):
    assert cluster.quantity(text) == value


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1gi", "1K", "0x10", "1e", "--1", "1.2.3", "NaN"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError):
        cluster.quantity(text)


def test_wait_for_returns_what_the_condition_returned():
    states = iter([None, cluster.NotYet("Pending"), "Running"])
    assert cluster.wait_for(lambda: next(states), "pod runs") == "Running"


def test_wait_for_tells_the_state_last_seen():
    with pytest.raises(AssertionError, match="pod runs; last seen: Pending"):
        cluster.wait_for(lambda: cluster.NotYet("Pending"), "pod runs", timeout=0)


def test_wait_for_takes_a_failed_assertion_for_not_yet():
    seen = []

    def condition():
        seen.append(1)
        assert len(seen) > 2, "too early"
        return len(seen)
    assert cluster.wait_for(condition, "third time") == 3


def test_wait_for_lets_programming_errors_through():
    with pytest.raises(KeyError):
        cluster.wait_for(lambda: {}["absent"], "nothing")


def test_a_refusal_carries_reason_and_message():
    body = json.dumps({"kind": "Status", "reason": "Forbidden", "message": "exceeded quota"})
    response = cluster.decode(403, body.encode())
    with pytest.raises(cluster.ApiError, match="403 Forbidden: exceeded quota") as error:
        response.ok()
    assert error.value.response is response


def test_an_answer_that_is_no_json_is_text():
    response = cluster.decode(429, b"Too many requests\n")
    assert (response.message, response.reason) == ("Too many requests\n", "")


def write_audit(path, *events):
    with open(path, "a", encoding="utf-8") as file:
        for verb, resource, user in events:
            file.write(json.dumps({"verb": verb, "objectRef": {"resource": resource},
                                   "user": {"username": user}}) + "\n")


def test_audit_events_are_filtered_and_read_across_rotation(tmp_path):
    write_audit(tmp_path / "audit.log", ("update", "leases", "b"))
    write_audit(tmp_path / "audit-2026-01-01T00-00-00.000.log",
                ("create", "pods", "a"), ("update", "leases", "a"))
    users = [event["user"]["username"]
             for event in cluster.audit_events(tmp_path, verb="update", resource="leases")]
    assert users == ["a", "b"]
    assert len(list(cluster.audit_events(tmp_path, user="a"))) == 2


def test_half_an_audit_line_is_left_for_later(tmp_path):
    write_audit(tmp_path / "audit.log", ("get", "pods", "a"))
    with open(tmp_path / "audit.log", "a", encoding="utf-8") as file:
        file.write('{"verb": "get", "us')
    assert len(list(cluster.audit_events(tmp_path))) == 1


def test_no_audit_log_means_no_events(tmp_path):
    assert not list(cluster.audit_events(tmp_path))


def test_read_env_unquotes_as_a_shell_does(tmp_path):
    (tmp_path / "env").write_text("KUBECONFIG=/a=b/my\\ kubeconfig\nKUBECTL=/bin/kubectl\n")
    assert cluster.read_env(tmp_path / "env") == {
        "KUBECONFIG": "/a=b/my kubeconfig", "KUBECTL": "/bin/kubectl"}
