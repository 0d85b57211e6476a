"""What takes its time: an idle minute, and a controller manager that does not answer for one.

Both are played on a cluster of their own, beside the other suites, from the start of
the run; here is only looked at what came of it.
"""

import pytest

pytestmark = pytest.mark.last


def test_idle_it_writes_nothing_but_lease_renewals(quiet, tell):
    seen = quiet("idle")
    assert set(seen["writes"]) == {("update", "leases")}, seen
    assert seen["writes"]["update", "leases"] >= 10
    tell(f"idle for {seen['seconds']:.0f} s: {seen['cpu']:.2f} s of CPU")


def test_ready_says_when_the_controller_manager_seems_to_be_gone(quiet):
    seen = quiet("stale")
    assert [state for state in seen["ready"] if state[0] == "False"] == [
        ("False", "Pending"), ("False", "QuotaStatusStale")], seen
    assert "see whether kube-controller-manager is running" in seen["message"]
    assert seen["ready"][-1] == ("True", "Enforced")
