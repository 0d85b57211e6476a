"""PodDisruptionBudgets: the controller sees them, and reads the labels that they ask for."""

from cluster import NotYet, wait_for
from gpus import GPU, H100, pod


def budget(name, selector):
    return {"metadata": {"name": name}, "spec": {"maxUnavailable": 1, "selector": selector}}


def seen(running, kind="poddisruptionbudgets", name="gpuqos_cache_objects"):
    return running.metric(name, resource=kind)


def until(running, expected, **which):
    wait_for(lambda: seen(running, **which) == expected or NotYet(seen(running, **which)), f"{which} are {expected}")


def test_budgets_are_seen_and_the_labels_that_they_ask_for_are_read(running, nodes, namespace):
    nodes("h100")
    pods = seen(running, kind="pods")
    namespace.create(pod("labelled", GPU, 1, H100)).ok()
    until(running, pods + 1, kind="pods")
    relists = {"kind": "pods", "name": "gpuqos_watch_relists_total"}
    budgets, before = seen(running), seen(running, **relists)
    path = f"/apis/policy/v1/namespaces/{namespace.name}/poddisruptionbudgets"

    # Everything in the namespace: no label is asked for.
    running.cluster.api("POST", path, budget("all", {})).ok()
    until(running, budgets + 1)
    assert seen(running, **relists) == before

    # A label that was not kept of the pod that is there.
    running.cluster.api("POST", path, budget("some", {"matchLabels": {"app": "x"}})).ok()
    until(running, before + 1, **relists)
    until(running, budgets + 2)

    # One that is kept by now, asked for otherwise.
    expression = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}
    running.cluster.api("POST", path, budget("other", expression)).ok()
    until(running, budgets + 3)
    for name in ("all", "some", "other"):
        running.cluster.api("DELETE", f"{path}/{name}").ok()
    until(running, budgets)
    assert seen(running, **relists) == before + 1
