"""Tests that wait for the world wait at the same time.

    pytestmark = pytest.mark.together

says of a module that its tests keep apart from each other: namespaces, tenants and nodes are each one's own. As soon as the
first of them is due, all that were chosen are played, several at the same time, each in a thread; each is told as passed or failed
by itself. They may have fixtures of a module or of the session, which are made before any begins, and `tell`. A conftest.py
registers this module as a plugin.
"""

import concurrent.futures

import pytest

AT_A_TIME = 9
FOR_ALL = ("module", "package", "session")


class Play:
    """Tests of a module, which have begun. What they tell is kept until each is due."""

    def __init__(self, first):
        module = first.getparent(pytest.Module)
        items = [item for item in first.session.items
                 if item.getparent(pytest.Module) is module and item.get_closest_marker("together")]
        self.told = {item.nodeid: [] for item in items}
        calls = [(item, {name: self.value(item, name, first) for name in item._fixtureinfo.argnames}) for item in items]
        self.pool = concurrent.futures.ThreadPoolExecutor(AT_A_TIME)
        # Before the fixtures that they use are gone.
        module.addfinalizer(self.end)
        self.ends = {item.nodeid: self.pool.submit(item.obj, **values) for item, values in calls}

    def value(self, item, name, first):
        if name == "tell":
            return self.told[item.nodeid].append
        params = getattr(item, "callspec", None)
        if params and name in params.params:
            return params.params[name]
        scope = item._fixtureinfo.name2fixturedefs[name][-1].scope
        assert scope in FOR_ALL, f"{item.nodeid} is played beside others, and {name} is of one {scope} alone"
        return first._request.getfixturevalue(name)

    def end(self):
        self.pool.shutdown(wait=True, cancel_futures=True)


PLAYS = pytest.StashKey[Play]()


def pytest_configure(config):
    config.addinivalue_line("markers", "together: the tests of a module that are played at the same time")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not pyfuncitem.get_closest_marker("together"):
        return None
    stash = pyfuncitem.getparent(pytest.Module).stash
    if PLAYS not in stash:
        stash[PLAYS] = Play(pyfuncitem)
    play = stash[PLAYS]
    try:
        play.ends[pyfuncitem.nodeid].result()
    finally:
        for text in play.told[pyfuncitem.nodeid]:
            pyfuncitem.funcargs["tell"](text)
    return True
