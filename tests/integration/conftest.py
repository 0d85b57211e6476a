"""Two clusters for all suites of a run: one with gpuqos installed, and an API server that nothing but the tests writes to."""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "fault")]
from cluster import ROOT, Cluster, wait_for
from controller import install


@pytest.fixture(scope="session")
def installed():
    """No controller runs there but those of a test, one suite after the other."""
    with Cluster.start("--with", "kubelet-devices") as started:
        install(started)
        # Room also for the pods of the test before, which go a little later.
        started.nodes("h100=3", "t4=2", "mig-mixed=1")
        yield started


@pytest.fixture(scope="session")
def bare():
    """The CRDs are served, and no policy is there."""
    with Cluster.start("--without", "controller-manager,scheduler,kwok") as started:
        started.kubectl("apply", "-k", str(ROOT / "crds"))
        for resource in "gpumemoryquotas", "tenantqos":
            wait_for(lambda path=f"/apis/gpuqos.io/v1alpha1/{resource}": started.get(path), f"{resource} are served")
        yield started
