"""Our CRDs on a real API server: what they accept, the words with which they refuse, their
defaults, columns and explanations."""

import json

import pytest

GROUP = "/apis/gpuqos.io/v1alpha1"
QUOTAS = GROUP + "/namespaces/default/gpumemoryquotas"
TENANTS = GROUP + "/tenantqos"
LONG = "example.com/" + "x" * 306


@pytest.fixture(scope="module")
def cluster(bare):
    return bare


TRY = "?dryRun=All&fieldValidation=Strict"


def create(cluster, spec, name="q", query=TRY):
    body = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "GpuMemoryQuota",
            "metadata": {"name": name}, "spec": spec}
    return cluster.api("POST", QUOTAS + query, body)


def create_tenant(cluster, spec, name="t", query=TRY):
    body = {"apiVersion": "gpuqos.io/v1alpha1", "kind": "TenantQoS",
            "metadata": {"name": name}, "spec": spec}
    return cluster.api("POST", TENANTS + query, body)


def assert_refused(answer, field, message):
    assert answer.status == 422, answer.body
    causes = answer.body["details"]["causes"]
    assert any(cause["field"] == field and message in cause["message"] for cause in causes), causes


@pytest.mark.parametrize("spec", [
    {"gpuMemory": "320Gi"},
    {"gpuMemory": "1Gi"},
    {"gpuMemory": "1.5Ti"},
    {"gpuMemory": 1073741824},
    {"gpuMemory": "7Ei"},
    {"gpuMemory": "320Gi", "gpus": 0, "perPod": {}, "resources": {}, "containerDefaults": {}},
    {"gpuMemory": "320Gi", "gpus": 4, "perPod": {"gpuMemory": "320Gi", "gpus": 2},
     "resources": {"nvidia.com/mig-1g.10gb": 7, "amd.com/cpx_nps4": "8", "nvidia.com/gpu.shared": 0},
     "containerDefaults": {"nvidia.com/gpu": 1},
     "onShrink": "Freeze", "releaseOn": "Deletion", "enforcement": "Enforce"},
    {"gpuMemory": "320Gi", "onShrink": "Drain", "shrinkDeadlineSeconds": 604800,
     "releaseOn": "Terminal", "terminalTimeoutSeconds": 86400, "enforcement": "DryRun"},
    {"gpuMemory": "320Gi", "onShrink": "Evict", "shrinkDeadlineSeconds": 0,
     "terminalTimeoutSeconds": 0, "borrowLimit": 0, "products": []},
    {"gpuMemory": "320Gi", "borrowLimit": "1Gi", "products": [
        {"product": "NVIDIA-H200", "gpuMemory": 0}, {"product": "Tesla-T4", "gpus": 0},
        {"product": "NVIDIA H100 80GB HBM3", "gpuMemory": "160Gi", "gpus": 2}]},
    {"gpuMemory": "320Gi", "perPod": {"gpuMemory": "1Mi"}, "products": [{"product": "T4", "gpuMemory": "7.9Ei"}]},
    {"gpuMemory": "320Gi", "products": [{"product": f"card-{i}", "gpus": i} for i in range(64)]},
])
def test_accepts(cluster, spec):
    create(cluster, spec).ok()


WHOLE = "amounts of resources are whole numbers, 0 or more"
NAMED = "names of resources are written domain/name, such as nvidia.com/gpu"


@pytest.mark.parametrize("spec, field, message", [
    ({}, "spec.gpuMemory", "Required value"),
    ({"gpuMemory": 320}, "spec.gpuMemory",
     "gpuMemory 320 is less than 1Gi; write it with a unit, such as 320Gi"),
    ({"gpuMemory": "320"}, "spec.gpuMemory",
     "gpuMemory 320 is less than 1Gi; write it with a unit, such as 320Gi"),
    ({"gpuMemory": "1023Mi"}, "spec.gpuMemory", "gpuMemory 1023Mi is less than 1Gi"),
    ({"gpuMemory": "-4Gi"}, "spec.gpuMemory", "gpuMemory -4Gi is less than 1Gi"),
    ({"gpuMemory": "4GiB"}, "spec.gpuMemory", "gpuMemory must be a quantity of bytes, such as 320Gi"),
    ({"gpuMemory": ""}, "spec.gpuMemory", "gpuMemory must be a quantity of bytes, such as 320Gi"),
    ({"gpuMemory": "8Ei"}, "spec.gpuMemory", "gpuMemory must be less than 8Ei"),
    ({"gpuMemory": "4Gi", "gpus": -1}, "spec.gpus", "gpus must be 0 or more"),
    ({"gpuMemory": "4Gi", "gpus": 1.5}, "spec.gpus", "must be of type int"),
    ({"gpuMemory": "4Gi", "perPod": {"gpuMemory": "5Gi"}}, "spec.perPod.gpuMemory",
     "perPod.gpuMemory 5Gi is more than gpuMemory 4Gi"),
    ({"gpuMemory": "4Gi", "perPod": {"gpuMemory": "0"}}, "spec.perPod.gpuMemory",
     "gpuMemory must be more than 0"),
    *[({"gpuMemory": "4Gi", "perPod": {"gpuMemory": wrong}}, "spec.perPod.gpuMemory",
       f"gpuMemory {wrong} is less than 1Mi; write it with a unit, such as 160Gi") for wrong in (320, "1e-3", "512Ki")],
    ({"gpuMemory": "4Gi", "perPod": {"gpuMemory": "much"}}, "spec.perPod.gpuMemory",
     "gpuMemory must be a quantity of bytes, such as 160Gi"),
    ({"gpuMemory": "4Gi", "perPod": {"gpus": -1}}, "spec.perPod.gpus", "gpus must be 0 or more"),
    ({"gpuMemory": "4Gi", "resources": {"cpu": 1}}, "spec.resources", NAMED),
    ({"gpuMemory": "4Gi", "resources": {"nvidia.com/": 1}}, "spec.resources", NAMED),
    ({"gpuMemory": "4Gi", "resources": {LONG: 1}}, "spec.resources", NAMED),
    ({"gpuMemory": "4Gi", "resources": {"nvidia.com/gpu": "1.5"}}, "spec.resources", WHOLE),
    ({"gpuMemory": "4Gi", "resources": {"nvidia.com/gpu": -1}}, "spec.resources", WHOLE),
    ({"gpuMemory": "4Gi", "resources": {f"nvidia.com/mig-{i}g": 1 for i in range(65)}},
     "spec.resources", "must have at most 64 items"),
    ({"gpuMemory": "4Gi", "containerDefaults": {"gpu": 1}}, "spec.containerDefaults", NAMED),
    *[({"gpuMemory": "4Gi", "containerDefaults": {name: 1}}, "spec.containerDefaults", NAMED)
      for name in ("a..b/x", "a.-b/x", ".a/x", "nvidia.com/gpu_", "nvidia.com/" + "x" * 64, "a" * 245 + "/x", "a/b/c")],
    *[({"gpuMemory": "4Gi", "containerDefaults": {name: 1}}, "spec.containerDefaults",
       "only extended resources can be given to containers, such as nvidia.com/gpu")
      for name in ("requests.nvidia.com/gpu", "kubernetes.io/x", "pod.kubernetes.io/x")],
    ({"gpuMemory": "4Gi", "containerDefaults": {"nvidia.com/gpu": "one"}}, "spec.containerDefaults",
     WHOLE),
    ({"gpuMemory": "4Gi", "onShrink": "Kill"}, "spec.onShrink",
     'supported values: "Freeze", "Drain", "Evict"'),
    ({"gpuMemory": "4Gi", "releaseOn": "Never"}, "spec.releaseOn",
     'supported values: "Deletion", "Terminal"'),
    ({"gpuMemory": "4Gi", "enforcement": "Off"}, "spec.enforcement",
     'supported values: "Enforce", "DryRun"'),
    *[({"gpuMemory": "4Gi", "shrinkDeadlineSeconds": wrong}, "spec.shrinkDeadlineSeconds",
       "shrinkDeadlineSeconds must be between 0 and 604800, a week") for wrong in (-1, 604801)],
    *[({"gpuMemory": "4Gi", "terminalTimeoutSeconds": wrong}, "spec.terminalTimeoutSeconds",
       "terminalTimeoutSeconds must be between 0 and 86400, a day") for wrong in (-1, 86401)],
    ({"gpuMemory": "4Gi", "borrowLimit": "some"}, "spec.borrowLimit",
     "borrowLimit must be a quantity of bytes, such as 160Gi"),
    *[({"gpuMemory": "4Gi", "borrowLimit": wrong}, "spec.borrowLimit",
       f"borrowLimit {wrong} is less than 1Gi; write it with a unit, such as 160Gi, or 0 to borrow nothing")
      for wrong in (160, "1023Mi", "-1Gi")],
    ({"gpuMemory": "4Gi", "borrowLimit": "8Ei"}, "spec.borrowLimit", "borrowLimit must be less than 8Ei"),
    ({"gpuMemory": "4Gi", "products": [{"product": "T4"}]}, "spec.products[0]",
     "product T4 needs gpuMemory or gpus; without them it caps nothing"),
    ({"gpuMemory": "4Gi", "products": [{"gpus": 1}]}, "spec.products[0].product", "Required value"),
    ({"gpuMemory": "4Gi", "products": [{"product": "", "gpus": 1}]}, "spec.products[0].product",
     "should be at least 1 chars long"),
    ({"gpuMemory": "4Gi", "products": [{"product": "T4", "gpus": 1}, {"product": "T4", "gpus": 2}]},
     "spec.products[1]", "Duplicate value"),
    ({"gpuMemory": "4Gi", "products": [{"product": "T4", "gpus": -1}]}, "spec.products[0].gpus",
     "gpus must be 0 or more"),
    ({"gpuMemory": "4Gi", "products": [{"product": "T4", "gpuMemory": "x"}]},
     "spec.products[0].gpuMemory", "gpuMemory must be a quantity of bytes, such as 160Gi"),
    *[({"gpuMemory": "4Gi", "products": [{"product": "T4", "gpuMemory": wrong}]},
       "spec.products[0].gpuMemory", "gpuMemory must be less than 8Ei") for wrong in ("8Ei", "9.3E", "1e400")],
    *[({"gpuMemory": "4Gi", "products": [{"product": "T4", "gpuMemory": wrong}]},
       "spec.products[0].gpuMemory",
       f"gpuMemory {wrong} is less than 1Gi; write it with a unit, such as 160Gi, or 0 to bar the product")
      for wrong in (160, "-1Gi")],
    ({"gpuMemory": "4Gi", "products": [{"product": f"card-{i}", "gpus": i} for i in range(65)]},
     "spec.products", "must have at most 64 items"),
])
def test_refuses_in_plain_words(cluster, spec, field, message):
    assert_refused(create(cluster, spec), field, message)


PICKS = {"matchLabels": {"team": "vision"}}
LEAST = {"namespaceSelector": PICKS, "tier": "Training"}


def picks(**expression):
    return LEAST | {"namespaceSelector": {"matchExpressions": [expression]}}


def labelled(key, value="x"):
    return LEAST | {"namespaceSelector": {"matchLabels": {key: value}}}


@pytest.mark.parametrize("spec", [
    LEAST,
    *[LEAST | {"tier": tier} for tier in ("Inference", "BestEffort")],
    LEAST | {"ceiling": {"gpuMemory": "1Gi"}},
    LEAST | {"ceiling": {"gpuMemory": 687194767360, "gpus": 0}},
    LEAST | {"ceiling": {"gpus": 8}, "qosClass": {"class": "Burstable"},
             "priorityClasses": ["a"], "delegated": []},
    LEAST | {"qosClass": {"class": "Guaranteed", "action": "Deny"},
             "priorityClasses": [f"class-{i}" for i in range(32)],
             "delegated": ["priorityClasses", "qosClass", "topology"]},
    *[LEAST | {"topology": {"policy": policy}} for policy in ("Required", "Preferred", "None")],
    *[LEAST | {"topology": {"policy": "Required", "scope": scope, "onMismatch": mismatch}}
      for scope, mismatch in (("NUMA", "Ignore"), ("PCIeSwitch", "Alert"), ("NVLink", "Migrate"))],
    LEAST | {"objectives": [{"name": "a", "preset": "tgi-queue-time", "threshold": "200m"},
                            {"name": "b", "preset": "sglang-queue-time", "percentile": 99, "threshold": "0.5"},
                            {"name": "c", "query": "up", "threshold": 1, "direction": "Above", "for": "5m"}],
             "pendingSeconds": 60, "delegated": ["objectives", "pendingSeconds"]},
    *[LEAST | {"objectives": [{"name": "a", "preset": preset, "threshold": text}]}
      for preset, thresholds in (("tgi-queue-time", ("200ms", "0.2s", "500us", "60s", "60", 60, "60000ms")),
                                 ("vllm-request-latency", (200, "3600", "3600s"))) for text in thresholds],
    LEAST | {"isolation": {"pcieBytesPerSecond": "8G", "gpuUtilizationPercent": 1, "memoryOvershootPercent": 1000},
             "feedback": {"mode": "Throttle", "decrease": 90, "recoverPerMinute": 100, "floorPercent": 1,
                          "evictOffender": True, "reclaimIdle": False,
                          "override": {"percent": 0, "until": "2027-01-01T08:00:00Z"}},
             "delegated": ["isolation", "feedback"]},
    *[LEAST | {"feedback": {"mode": mode}} for mode in ("Off", "Alert", "Throttle")],
    picks(key="kubernetes.io/metadata.name", operator="In", values=["a", "b", ""]),
    picks(key="team", operator="NotIn", values=["a"]),
    picks(key="team", operator="Exists"),
    picks(key="team", operator="DoesNotExist", values=[]),
    labelled("a" * 63, ""),
    labelled("a" * 253 + "/b"),
])
def test_accepts_tenants(cluster, spec):
    create_tenant(cluster, spec).ok()


SELECTOR = "spec.namespaceSelector"
NOTHING = "namespaceSelector must ask for at least one label"
KEY = "names of labels are written name or domain/name, such as team"
VALUE = "values of labels are letters, digits, '-', '_' and '.', such as vision"
OURS = "labels of gpuqos.io/ follow from the selection and cannot select"


@pytest.mark.parametrize("spec, field, message", [
    ({}, SELECTOR, "Required value"),
    ({"namespaceSelector": PICKS}, "spec.tier", "Required value"),
    (LEAST | {"tier": "Gold"}, "spec.tier", 'supported values: "Inference", "Training", "BestEffort"'),
    (LEAST | {"namespaceSelector": {}}, SELECTOR, NOTHING),
    (LEAST | {"namespaceSelector": {"matchLabels": {}, "matchExpressions": []}}, SELECTOR, NOTHING),
    *[(labelled(key), SELECTOR + ".matchLabels", KEY)
      for key in ("", "-a", "a/b/c", "A/b", "a" * 64, "a..b/c", "a" * 254 + "/" + "b" * 63)],
    *[(labelled("team", value), SELECTOR + ".matchLabels", VALUE) for value in ("a b", "-a", "a/b")],
    (labelled("team", "x" * 64), SELECTOR + ".matchLabels.team", "may not be more than 63"),
    (labelled("gpuqos.io/tenant"), SELECTOR + ".matchLabels", OURS),
    (LEAST | {"namespaceSelector": {"matchLabels": {f"l{i}": "" for i in range(17)}}},
     SELECTOR + ".matchLabels", "must have at most 16 items"),
    (picks(key="gpuqos.io/managed", operator="Exists"), SELECTOR + ".matchExpressions[0].key", OURS),
    (picks(key="a b", operator="Exists"), SELECTOR + ".matchExpressions[0].key", KEY),
    (picks(key="team", operator="Gt", values=["1"]), SELECTOR + ".matchExpressions[0].operator",
     'supported values: "In", "NotIn", "Exists", "DoesNotExist"'),
    *[(picks(key="team", operator=operator, values=[]), SELECTOR + ".matchExpressions[0]",
       f"operator {operator} needs at least one of values") for operator in ("In", "NotIn")],
    *[(picks(key="team", operator=operator, values=["a"]), SELECTOR + ".matchExpressions[0]",
       f"operator {operator} looks at the label alone and takes no values")
      for operator in ("Exists", "DoesNotExist")],
    (picks(key="team", operator="In", values=["a b"]), SELECTOR + ".matchExpressions[0].values", VALUE),
    (LEAST | {"namespaceSelector": {"matchExpressions": 4 * [
        {"key": "team", "operator": "In", "values": [f"v{i}" for i in range(49)]}]}},
     SELECTOR + ".matchExpressions", "matchExpressions has more than 192 values"),
    (LEAST | {"ceiling": {}}, "spec.ceiling",
     "ceiling needs gpuMemory or gpus; leave it out where there is none"),
    (LEAST | {"ceiling": {"gpuMemory": "much"}}, "spec.ceiling.gpuMemory",
     "gpuMemory must be a quantity of bytes, such as 640Gi"),
    *[(LEAST | {"ceiling": {"gpuMemory": wrong}}, "spec.ceiling.gpuMemory",
       f"gpuMemory {wrong} is less than 1Gi; write it with a unit, such as 640Gi")
      for wrong in (640, 0, "-1Gi", "1023Mi")],
    (LEAST | {"ceiling": {"gpuMemory": "8Ei"}}, "spec.ceiling.gpuMemory",
     "gpuMemory must be less than 8Ei"),
    (LEAST | {"ceiling": {"gpus": -1}}, "spec.ceiling.gpus", "gpus must be 0 or more"),
    (LEAST | {"qosClass": {}}, "spec.qosClass.class", "Required value"),
    (LEAST | {"qosClass": {"class": "BestEffort"}}, "spec.qosClass.class",
     'supported values: "Guaranteed", "Burstable"'),
    (LEAST | {"qosClass": {"class": "Burstable", "action": "Log"}}, "spec.qosClass.action",
     'supported values: "Warn", "Deny"'),
    (LEAST | {"topology": {"scope": "NUMA"}}, "spec.topology.policy", "Required value"),
    *[(LEAST | {"topology": {"policy": "None"} | wrong}, "spec.topology." + field, "supported values: " + values)
      for wrong, field, values in (
          ({"policy": "Always"}, "policy", '"Required", "Preferred", "None"'),
          ({"scope": "Rack"}, "scope", '"NUMA", "PCIeSwitch", "NVLink"'),
          ({"onMismatch": "Evict"}, "onMismatch", '"Ignore", "Alert", "Migrate"'))],
    (LEAST | {"protection": {}}, "spec.protection.mode", "Required value"),
    (LEAST | {"protection": {"mode": "On"}}, "spec.protection.mode", 'supported values: "DryRun", "Enforce"'),
    (LEAST | {"protection": {"mode": "DryRun", "victimTiers": ["Inference"]}}, "spec.protection.victimTiers[0]",
     'supported values: "Training", "BestEffort"'),
    (LEAST | {"protection": {"mode": "DryRun", "victimTiers": []}}, "spec.protection.victimTiers",
     "should have at least 1 items"),
    *[(LEAST | {"protection": {"mode": "DryRun", field: value}}, "spec.protection." + field, words)
      for field, value, words in (
          ("evictionsPerMinute", 0, "greater than or equal to 1"),
          ("evictionsPerMinute", 61, "less than or equal to 60"),
          ("cooldownSeconds", 3601, "less than or equal to 3600"),
          ("observationSeconds", 9, "greater than or equal to 10"),
          ("minVictimRunSeconds", 86401, "less than or equal to 86400"))],
    *[(LEAST | {"preemptible": {field: value}}, "spec.preemptible." + field, "less than or equal to")
      for field, value in (("gracePeriodSeconds", 3601), ("minRunSeconds", 3601),
                           ("checkpointCreditSeconds", 86401))],
    (LEAST | {"priorityClasses": []}, "spec.priorityClasses", "should have at least 1 items"),
    (LEAST | {"priorityClasses": ["a", "a"]}, "spec.priorityClasses[1]", "Duplicate value"),
    (LEAST | {"priorityClasses": [f"class-{i}" for i in range(33)]}, "spec.priorityClasses",
     "must have at most 32 items"),
    (LEAST | {"objectives": [{"name": "a", "threshold": 1}]}, "spec.objectives[0]",
     "objective a must have exactly one of preset and query"),
    (LEAST | {"objectives": [{"name": "a", "threshold": 1, "preset": "tgi-queue-time", "query": "up"}]},
     "spec.objectives[0]", "objective a must have exactly one of preset and query"),
    (LEAST | {"objectives": [{"name": "a", "threshold": 1, "query": "up", "percentile": 50}]},
     "spec.objectives[0].percentile", "percentile goes with a preset"),
    (LEAST | {"objectives": [{"name": "a", "threshold": 1, "preset": "triton-queue-time", "percentile": 50}]},
     "spec.objectives[0].percentile", "triton-queue-time is a mean and has no percentiles"),
    *[(LEAST | {"objectives": [{"name": "a", "threshold": text, "query": "up"}]}, "spec.objectives[0].threshold",
       "threshold must be a number above 0 and below 1T") for text in ("0", "-1", "fast", "200ms", "2T")],
    *[(LEAST | {"objectives": [{"name": "a", "threshold": text, "preset": "tgi-queue-time"}]}, "spec.objectives[0].threshold",
       "such as 200ms") for text in ("0ms", "-1s", "1m30s", "ms", "5ns", "1h")],
    *[(LEAST | {"objectives": [{"name": "ttft", "threshold": text, "preset": "vllm-time-to-first-token"}]},
       "spec.objectives[0].threshold", message)
      for text, message in ((200, "the threshold of objective ttft, 200, is more than 1 minute, the most that vllm-time-to-first-token "
                                  "takes: a bare number is in seconds; did you mean 200ms?"),
                            ("61s", "the threshold of objective ttft, 61s, is more than 1 minute"),
                            ("1k", "the threshold of objective ttft, 1k, is more than 1 minute"))],
    (LEAST | {"objectives": [{"name": "a", "threshold": 5000, "preset": "tgi-request-latency"}]}, "spec.objectives[0].threshold",
     "is more than 1 hour, the most that tgi-request-latency takes: a bare number is in seconds; did you mean 5000ms?"),
    (LEAST | {"objectives": [{"name": "a", "threshold": "1Ki", "query": "up"}]}, "spec.objectives[0].threshold",
     "threshold takes no binary suffix"),
    *[(LEAST | {"objectives": [{"name": "a", "threshold": 1, "query": "up", "for": text}]},
       "spec.objectives[0]", "for must be a whole number with s, m or h, from 5s to 1h") for text in ("4s", "2h", "1m30s", "60", "soon")],
    *[(LEAST | {"isolation": {"pcieBytesPerSecond": text}}, "spec.isolation.pcieBytesPerSecond", message)
      for text, message in ((8, "must be at least 1M"), ("fast", "must be a quantity of bytes"))],
    *[(LEAST | {"isolation": {"gpuUtilizationPercent": number}}, "spec.isolation.gpuUtilizationPercent",
       "must be from 1 to 100") for number in (0, 101)],
    *[(LEAST | {"isolation": {"memoryOvershootPercent": number}}, "spec.isolation.memoryOvershootPercent",
       "must be from 0 to 1000") for number in (-1, 1001)],
    *[(LEAST | {"feedback": {field: number}}, f"spec.feedback.{field}", message)
      for field, numbers, message in (("decrease", (4, 91), "must be from 5 to 90"),
                                      ("recoverPerMinute", (0, 101), "must be from 1 to 100"),
                                      ("floorPercent", (0, 101), "must be from 1 to 100")) for number in numbers],
    *[(LEAST | {"feedback": {"override": {"percent": number}}}, "spec.feedback.override.percent",
       "must be from 0 to 100") for number in (-1, 101)],
    (LEAST | {"feedback": {"override": {}}}, "spec.feedback.override.percent", "Required value"),
    *[(LEAST | {"delegated": [field]}, "spec.delegated",
       "only qosClass, priorityClasses, topology, objectives, pendingSeconds, isolation and feedback can be "
       "delegated; all other fields stay with the platform admin")
      for field in ("tier", "ceiling", "namespaceSelector", "delegated", "")],
])
def test_refuses_tenants_in_plain_words(cluster, spec, field, message):
    assert_refused(create_tenant(cluster, spec), field, message)


@pytest.mark.parametrize("name, message", [
    ("x" * 63, None),
    ("qos", None),
    ("x" * 64, "the name must have at most 63 characters"),
    ("qos-a", "the name must not begin with qos- or labels-"),
    ("labels-a", "the name must not begin with qos- or labels-"),
])
def test_names_of_tenants_fit_what_is_made_of_them(cluster, name, message):
    answer = create_tenant(cluster, LEAST, name)
    if message is None:
        answer.ok()
    else:
        assert answer.status == 422 and message in answer.message, answer.body


def test_refuses_fields_it_does_not_know(cluster):
    answer = create(cluster, {"gpuMemory": "4Gi", "gpuMemroy": "5Gi"})
    assert answer.status == 400 and "gpuMemroy" in answer.message
    answer = create_tenant(cluster, LEAST | {"ceilings": {}})
    assert answer.status == 400 and "ceilings" in answer.message


def test_fills_in_defaults_and_shows_columns(cluster):
    spec = create(cluster, {"gpuMemory": "320Gi"}, "shown", "").ok()["spec"]
    assert spec == {"gpuMemory": "320Gi", "onShrink": "Freeze", "shrinkDeadlineSeconds": 600,
                    "releaseOn": "Deletion", "terminalTimeoutSeconds": 300, "enforcement": "Enforce"}
    moment = "2026-01-02T03:04:05Z"
    condition = {"status": "True", "reason": "Enforced", "message": "m", "lastTransitionTime": moment}
    status = {"effective": "160Gi", "granted": "320Gi", "lent": "160Gi", "borrowed": "0",
              "shown": {"effective": "160Gi", "granted": "320Gi", "lent": "160Gi", "borrowed": "0", "used": "79Gi"},
              "tenant": "vision", "used": "84825604097", "usedPercent": 50, "gpus": 1, "pods": 2,
              "resources": [{"name": "nvidia.com/gpu", "used": 1, "hard": 2}],
              "conditions": [condition | {"type": "Ready"}, condition | {"type": "Accepted"},
                             condition | {"type": "Throttled", "status": "False"}]}
    # Without a product: the default makes it part of the list's key.
    stored = cluster.api("PATCH", f"{QUOTAS}/shown/status", {"status": status}).ok()["status"]
    assert stored["resources"][0]["product"] == ""
    head, row = cluster.kubectl("get", "gmq", "shown").splitlines()
    assert head.split() == ["NAME", "MEMORY", "EFFECTIVE", "USED", "USED%", "GPUS", "PODS",
                            "THROTTLED", "READY", "AGE"]
    assert row.split()[:-1] == ["shown", "320Gi", "160Gi", "79Gi", "50", "1", "2", "False", "True"]
    head, row = cluster.kubectl("get", "gmq", "shown", "-o", "wide").splitlines()
    assert head.split()[9:] == ["ACCEPTED", "GRANTED", "LENT", "BORROWED", "TENANT", "AGE"]
    assert row.split()[9:-1] == ["True", "320Gi", "160Gi", "0", "vision"]
    assert "shown" in cluster.kubectl("get", "gpuqos")


def test_fills_in_defaults_and_shows_columns_of_tenants(cluster):
    spec = create_tenant(cluster, LEAST | {"ceiling": {"gpuMemory": "640Gi"},
                                           "qosClass": {"class": "Guaranteed"},
                                           "topology": {"policy": "Preferred"},
                                           "protection": {"mode": "DryRun"},
                                           "preemptible": {}, "isolation": {}, "feedback": {}}, "seen", "").ok()["spec"]
    assert spec == LEAST | {"ceiling": {"gpuMemory": "640Gi"},
                            "qosClass": {"class": "Guaranteed", "action": "Warn"},
                            "topology": {"policy": "Preferred", "scope": "NUMA", "onMismatch": "Alert"},
                            "protection": {"mode": "DryRun", "evictionsPerMinute": 6, "cooldownSeconds": 60,
                                           "observationSeconds": 120, "minVictimRunSeconds": 60},
                            "preemptible": {"gracePeriodSeconds": 30, "minRunSeconds": 60,
                                            "checkpointCreditSeconds": 3600},
                            "isolation": {"memoryOvershootPercent": 10},
                            "feedback": {"mode": "Off", "decrease": 30, "recoverPerMinute": 5, "floorPercent": 50}}
    condition = {"status": "True", "reason": "Enforced", "message": "m",
                 "lastTransitionTime": "2026-01-02T03:04:05Z"}
    status = {"granted": "480Gi", "used": "84825604097", "shown": {"granted": "480Gi", "used": "79Gi", "lent": "0"}, "usedGPUs": 1, "lent": "0", "namespaceCount": 2,
              "namespaces": ["a", "b"], "ceiling": {"gpuMemory": "640Gi"}, "evictionCount": 3,
              "throttle": {"step": "Release", "percent": 70, "signals": ["PCIeBandwidth"], "futileTries": 1},
              "objectives": [{"name": "ttft", "value": "0.213", "state": "Met", "reason": "WithinThreshold",
                              "since": "2026-01-02T03:04:05Z"}], "objectivesSummary": "1 Met",
              "conditions": [condition | {"type": "Ready"}, condition | {"type": "Accepted"},
                             condition | {"type": "Exceeded", "status": "False"}]}
    cluster.api("PATCH", f"{TENANTS}/seen/status", {"status": status}).ok()
    head, row = cluster.kubectl("get", "tqos", "seen").splitlines()
    assert head.split() == ["NAME", "TIER", "CEILING", "GRANTED", "USED", "LENT", "THROTTLE", "NAMESPACES", "EVICTIONS",
                            "OBJECTIVES", "READY", "AGE"]
    assert row.split()[:-1] == ["seen", "Training", "640Gi", "480Gi", "79Gi", "0", "70", "2", "3", "1", "Met",
                                "True"]
    head, row = cluster.kubectl("get", "tqos", "seen", "-o", "wide").splitlines()
    assert head.split()[9:] == ["GPUS", "ACCEPTED", "EXCEEDED", "OBJECTIVES", "READY", "AGE"]
    assert row.split()[9:-1] == ["1", "True", "False", "1", "Met", "True"]
    assert "seen" in cluster.kubectl("get", "gpuqos")


def test_status_is_written_by_its_own_endpoint_only(cluster):
    create(cluster, {"gpuMemory": "4Gi"}, "apart", "").ok()
    cluster.api("PATCH", f"{QUOTAS}/apart", {"status": {"used": "1Gi"}}).ok()
    assert "status" not in cluster.get(f"{QUOTAS}/apart")
    cluster.api("PATCH", f"{QUOTAS}/apart/status", {"spec": {"gpuMemory": "9Gi"}}).ok()
    after = cluster.get(f"{QUOTAS}/apart")
    assert after["spec"]["gpuMemory"] == "4Gi" and after["metadata"]["generation"] == 1


def fields_of(schema, path):
    """(path, schema) of every property below, through lists too."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from fields_of(inner, f"{path}.{name}")
    if "items" in schema:
        yield from fields_of(schema["items"], path)


@pytest.mark.parametrize("crd, short, least", [("gpumemoryquotas", "gmq", 55), ("tenantqos", "tqos", 30)])
def test_explains_every_field(cluster, crd, short, least):
    crd = cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}.gpuqos.io")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = [path for path, _ in fields_of(schema, short) if path != f"{short}.metadata"]
    assert len(fields) > least, json.dumps(fields)
    missing = [path for path, inner in fields_of(schema, short)
               if path != f"{short}.metadata" and len(inner.get("description", "")) < 15]
    assert not missing


@pytest.mark.parametrize("path, words", [
    ("gmq", "GpuMemoryQuota says how much"),
    ("gmq.spec", "onShrink"),
    ("gmq.spec.gpuMemory", "Example: 320Gi"),
    ("gmq.spec.onShrink", "every PodDisruptionBudget and every pod's grace period is respected"),
    ("gmq.spec.products.gpuMemory", "Example: 160Gi"),
    ("gmq.status.resources", "the API server prices"),
    ("gmq.status.conditions.reason", "Duplicate"),
    ("gmq.status.dryRun.workloads.kind", "Example: Job"),
    ("tqos", "TenantQoS makes one tenant"),
    ("tqos.spec", "namespaceSelector"),
    ("tqos.spec.namespaceSelector.matchExpressions.operator", "DoesNotExist"),
    ("tqos.spec.delegated", "Example: [qosClass]"),
    ("tqos.spec.topology", "A pod may ask for more"),
    ("tqos.spec.topology.scope", "Example: NUMA"),
    ("tqos.status.lent", "lend to each other"),
])
def test_explains_like_a_manual(cluster, path, words):
    text = " ".join(cluster.kubectl("explain", path).split())
    assert words in text and "<empty>" not in text.split("DESCRIPTION:")[1], text
