"""What is shipped for Prometheus and Grafana: rules do as they say, and nothing names a series that nobody writes."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
MONITORING = ROOT / "config/monitoring"
RUNBOOKS = ROOT / "docs/runbooks"
SERIES = re.compile(r"\bgpuqos_[a-z0-9_]+")
RECORDED = re.compile(r"\b(?:[a-z]+:)?gpuqos[a-z_]*:[a-z0-9_:]+")


def groups():
    return yaml.safe_load((MONITORING / "prometheus-rule.yaml").read_text())["spec"]["groups"]


def rules(kind):
    return [rule for group in groups() for rule in group["rules"] if kind in rule]


def dashboards():
    return sorted((MONITORING / "dashboards").glob("*.json"))


def queries(dashboard):
    return [target["expr"] for panel in json.loads(dashboard.read_text())["panels"] for target in panel["targets"]]


def written_series():
    """All names in the sources that a page may have, with what a histogram makes of its own."""
    names = set()
    for source in (ROOT / "pkg").rglob("*.c"):
        names |= set(re.findall(r'"(gpuqos_[a-z0-9_]+)"', source.read_text()))
    return names | {name + part for name in names for part in ("_bucket", "_sum", "_count")}


@pytest.fixture(scope="module")
def rule_file(tmp_path_factory):
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; run hack/deps test"
    path = tmp_path_factory.mktemp("rules") / "gpuqos.yaml"
    path.write_text(subprocess.run([ROOT / "hack/rules"], check=True, capture_output=True, text=True).stdout)
    return path


def test_without_pyyaml_the_rule_file_is_refused_in_one_line():
    # -S leaves out where modules are installed.
    done = subprocess.run(["/usr/bin/python3", "-S", ROOT / "hack/rules"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "hack/rules: PyYAML is missing; install python3-yaml, or run hack/deps test\n"


def promtool(*args):
    run = subprocess.run(["promtool", *args], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_promtool_accepts_the_rules(rule_file):
    promtool("check", "rules", "--lint-fatal", str(rule_file))


def test_rules_do_as_their_unit_tests_say(rule_file):
    tests = yaml.safe_load((pathlib.Path(__file__).parent / "rules_test.yaml").read_text())
    tests["rule_files"] = [rule_file.name]
    path = rule_file.parent / "tests.yaml"
    path.write_text(yaml.safe_dump(tests))
    promtool("test", "rules", str(path))


def test_each_alert_is_told_in_some_unit_test():
    text = (pathlib.Path(__file__).parent / "rules_test.yaml").read_text()
    assert [rule["alert"] for rule in rules("alert") if rule["alert"] not in text] == []


def test_each_alert_has_a_runbook_page_and_each_page_an_alert():
    alerts = {rule["alert"] for rule in rules("alert")}
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == alerts
    for rule in rules("alert"):
        assert rule["annotations"]["runbook_url"].endswith(f"/docs/runbooks/{rule['alert']}.md")


def test_a_page_says_what_it_means_what_holds_where_to_look_and_what_helps():
    for page in RUNBOOKS.glob("*.md"):
        text = page.read_text()
        for part in (f"# {page.stem}\n", "**What still holds.**", "## Look", "## What helps"):
            assert part in text, f"{page.name} lacks {part!r}"


@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda path: path.stem)
def test_dashboards_are_shipped(dashboard):
    files = yaml.safe_load((MONITORING / "kustomization.yaml").read_text())["configMapGenerator"][0]["files"]
    assert f"dashboards/{dashboard.name}" in files


def test_nothing_names_a_series_that_nobody_writes():
    recorded = {rule["record"] for rule in rules("record")}
    named = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules("expr")]
    named += [(dashboard.name, query) for dashboard in dashboards() for query in queries(dashboard)]
    written = written_series()
    for who, query in named:
        without = RECORDED.sub("", query)
        assert set(RECORDED.findall(query)) <= recorded, who
        assert set(SERIES.findall(without)) <= written, who
