"""That tests which are played at the same time are each told as what they are."""

import pathlib
import re
import subprocess
import sys

CONFTEST = f"""
import sys
import threading

import pytest

sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import together


def pytest_configure(config):
    config.pluginmanager.register(together)


@pytest.fixture
def tell(capsys):
    def say(text):
        with capsys.disabled():
            print(f"told: {{text}}")
    return say


@pytest.fixture(scope="module")
def meeting():
    return threading.Barrier(3, timeout=20)


@pytest.fixture
def own():
    return 1
"""

MEET = """
import pytest

pytestmark = pytest.mark.together


@pytest.mark.parametrize("name", "abc")
def test_meet(name, meeting, tell):
    meeting.wait()
    tell(name)
    assert name != "b"


def test_is_left_out():
    pytest.skip("not here")
"""

OWN = """
import pytest

pytestmark = pytest.mark.together


def test_has_its_own(own):
    pass
"""


def run(folder, text, *flags):
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(text)
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *flags, str(folder)], cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = {}
    for name, told, verdict in re.findall(r"::(test_\S+)\s+(?:told: (\S+)\s+)?(PASSED|FAILED|SKIPPED)", done.stdout):
        found[name] = verdict, told
    return found, done.stdout


def test_all_wait_at_the_same_time_and_one_fails_alone(tmp_path):
    found, said = run(tmp_path, MEET)
    assert found == {"test_meet[a]": ("PASSED", "a"), "test_meet[b]": ("FAILED", "b"), "test_meet[c]": ("PASSED", "c"),
                     "test_is_left_out": ("SKIPPED", "")}, said


def test_only_those_that_were_chosen_are_played(tmp_path):
    found, said = run(tmp_path, MEET.replace("meeting.wait()", "assert meeting.n_waiting == 0"), "-k", "c] or left")
    assert found == {"test_meet[c]": ("PASSED", "c"), "test_is_left_out": ("SKIPPED", "")}, said


def test_what_is_one_tests_alone_is_no_fixture_for_it(tmp_path):
    found, said = run(tmp_path, OWN)
    assert found == {"test_has_its_own": ("FAILED", "")} and "own is of one function alone" in said, said
