"""What DRA drivers publish and what users ask of them, as objects of resource.k8s.io/v1.

The slices are those of NVIDIA's DRA driver: one pool for each node, named after it. No driver runs
here: whoever creates them plays it.
"""

API = "/apis/resource.k8s.io/v1"
DRIVER = "gpu.nvidia.com"

H100 = {"productName": "NVIDIA H100 80GB HBM3", "memory": "81559Mi", "architecture": "Hopper"}
A100 = {"productName": "NVIDIA A100-SXM4-40GB", "memory": "40Gi", "architecture": "Ampere"}

# Of an A100 with 40 GiB: name, profile id, slices of memory, bytes.
PROFILES = {"1g.5gb": (19, 1, "4864Mi"), "2g.10gb": (14, 2, "9856Mi"),
            "3g.20gb": (9, 4, "19968Mi"), "7g.40gb": (0, 8, "40192Mi")}


def attributes(card, kind, minor):
    return {"type": {"string": kind}, "uuid": {"string": f"GPU-4404041a-04cf-1ccf-9e70-{minor:012x}"},
            "productName": {"string": card["productName"]}, "brand": {"string": "Nvidia"},
            "architecture": {"string": card["architecture"]}, "driverVersion": {"version": "570.86.15"},
            "cudaComputeCapability": {"version": "9.0.0"}, "addressingMode": {"string": "HMM"},
            "resource.kubernetes.io/pciBusID": {"string": f"0000:{minor + 0x19:02x}:00.0"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:15"}}


def whole(minor, card=H100):
    return {"name": f"gpu-{minor}", "attributes": attributes(card, "gpu", minor),
            "capacity": {"memory": {"value": card["memory"]}}}


def partition(minor, profile, start, card=A100):
    """A static MIG device."""
    number, size, memory = PROFILES[profile]
    name = f"gpu-{minor}-mig-{profile.replace('.', '')}-{number}-{start}"
    device = {"name": name, "attributes": attributes(card, "mig", minor), "capacity": {
        "memory": {"value": memory}, "multiprocessors": {"value": "14"}, "copyEngines": {"value": "1"},
        "decoders": {"value": "0"}, "encoders": {"value": "0"}, "jpegEngines": {"value": "0"},
        "ofaEngines": {"value": "0"},
        **{f"memorySlice{i}": {"value": "1"} for i in range(start, start + size)}}}
    device["attributes"] |= {"profile": {"string": profile},
                             "parentUUID": {"string": f"GPU-4404041a-04cf-1ccf-9e70-{minor:012x}"}}
    return device


def counters(memory, slices):
    return {"memory": {"value": memory}, "multiprocessors": {"value": str(14 * len(slices))},
            "copy-engines": {"value": str(len(slices))},
            **{f"memory-slice-{i}": {"value": "1"} for i in slices}}


def dynamic(minor, card=A100):
    """A card that is partitioned when somebody asks: all that it could be, and the counters."""
    name = f"gpu-{minor}-counter-set"
    card_device = whole(minor, card)
    card_device["consumesCounters"] = [
        {"counterSet": name, "counters": counters(card["memory"], range(8))}]
    devices = [card_device]
    for profile, (_, size, memory) in PROFILES.items():
        for start in range(0, 8 - size + 1, size):
            device = partition(minor, profile, start, card)
            device["attributes"].pop("uuid")
            device["consumesCounters"] = [{"counterSet": name, "counters": counters(
                memory, range(start, start + size))}]
            devices.append(device)
    return devices, {"name": name, "counters": counters(card["memory"], range(8))}


def shared(minor, card=H100):
    """A card that claims share by memory."""
    device = whole(minor, card)
    device["allowMultipleAllocations"] = True
    device["capacity"]["memory"]["requestPolicy"] = {
        "default": card["memory"],
        "validRange": {"min": "1Mi", "max": card["memory"], "step": "1Mi"}}
    return device


def nic(minor):
    """What is no GPU: it has no memory, and its driver's name says nothing of GPUs."""
    return {"name": f"nic-{minor}", "attributes": {"speed": {"int": 400}}}


def slices(node, devices=(), sets=(), driver=DRIVER, generation=1, pool=None):
    """The slices of a node's pool: one with the devices and, where there are any, one with the
    counter sets. @pool says where they lie otherwise than in the node's: name and selector."""
    contents = [{"devices": list(devices)}] + ([{"sharedCounters": list(sets)}] if sets else [])
    where = pool or {"name": node, "nodeName": node}
    name = where["name"]
    place = {key: value for key, value in where.items() if key != "name"}
    return [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
             "metadata": {"name": f"{name}-{driver}-{index}"},
             "spec": {"driver": driver, **place, **content,
                      "pool": {"name": name, "generation": generation,
                               "resourceSliceCount": len(contents)}}}
            for index, content in enumerate(contents)]


def device_class(name, *expressions, extended=None):
    spec = {"selectors": [{"cel": {"expression": text}} for text in expressions]}
    if extended:
        spec["extendedResourceName"] = extended
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
            "spec": spec}


def classes():
    """Those of the driver's chart, and one without an extended resource for whole cards."""
    gpu = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
    mig = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"
    return [device_class("gpu.nvidia.com", gpu, extended="nvidia.com/gpu"),
            device_class("mig.nvidia.com", mig), device_class("whole.example.com", gpu)]


def exactly(name, device_class_name, count=1, **more):
    return {"name": name, "exactly": {"deviceClassName": device_class_name, "count": count, **more}}


def every(name, device_class_name):
    return {"name": name, "exactly": {"deviceClassName": device_class_name, "allocationMode": "All"}}


def first_of(name, *choices):
    """@choices: pairs of a class and a count."""
    return {"name": name, "firstAvailable": [
        {"name": f"choice-{index}", "deviceClassName": class_name, "count": count}
        for index, (class_name, count) in enumerate(choices)]}


def claim(name, *requests):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": {"devices": {"requests": list(requests)}}}


def template(name, *requests):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": list(requests)}}}}


def pod(name, *claims, extended=(), **spec):
    """@claims: names of ResourceClaims, or of templates where they begin with "template/"."""
    entries = []
    for index, wanted in enumerate(claims):
        kind = "resourceClaimTemplateName" if wanted.startswith("template/") else "resourceClaimName"
        entries.append({"name": f"claim-{index}", kind: wanted.rpartition("/")[2]})
    container = {"name": "main", "image": "none", "resources": {
        "claims": [{"name": entry["name"]} for entry in entries],
        "limits": {resource: str(count) for resource, count in extended}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "containers": [container], "resourceClaims": entries, "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists"}], **spec}}
