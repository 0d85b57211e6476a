"""kubelet's PodResources API on a unix socket: gRPC by grpcio, messages of k8s.io/kubelet/pkg/apis/podresources/v1.

    with PodResources(path, pods=[...], allocatable=[...]) as kubelet:
        kubelet.pods = [...]                      # what List answers from now on

A pod is {"name", "namespace", "containers": [{"name", "devices": [...], "cpus": [...], "claims": [...]}]}; devices are
{"resource", "ids", "numa": [...]}; claims {"namespace", "name", "devices": [(driver, pool, device)]}.
"""

from concurrent import futures

import grpc


def varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(tag, value):
    """A field of bytes, text, or a number."""
    if isinstance(value, int):
        return varint(tag << 3) + varint(value & 0xffffffffffffffff)
    value = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(value)) + value


def fields(*pairs):
    return b"".join(field(tag, value) for tag, value in pairs)


def devices(device):
    nodes = fields(*[(1, field(1, n)) for n in device.get("numa", [])])
    return fields((1, device["resource"]), *[(2, i) for i in device["ids"]],
                  *([(3, nodes)] if device.get("numa") else []))


def claim(c):
    return fields((2, c["name"]), (3, c["namespace"]),
                  *[(4, fields((1, field(1, "cdi")), (2, d[0]), (3, d[1]), (4, d[2]))) for d in c["devices"]])


def container(c):
    cpus = b"".join(varint(n) for n in c.get("cpus", []))
    memory = fields((1, "memory"), (2, 1 << 30), (3, field(1, field(1, 0))))
    return fields((1, c["name"]), *[(2, devices(d)) for d in c.get("devices", [])], *([(3, cpus)] if cpus else []),
                  (4, memory), *[(5, claim(x)) for x in c.get("claims", [])])


def pod_list(pods):
    return fields(*[(1, fields((1, p["name"]), (2, p["namespace"]), *[(3, container(c)) for c in p["containers"]]))
                    for p in pods])


def allocatable_list(allocatable):
    return fields(*[(1, devices(d)) for d in allocatable], (2, varint(3)))


class PodResources:
    """`raw` answers List in place of the pods; `status` (a grpc.StatusCode) refuses; `asked` counts."""

    def __init__(self, path, pods=(), allocatable=()):
        self.path, self.pods, self.allocatable = str(path), list(pods), list(allocatable)
        self.raw = self.status = None
        self.has_allocatable = True
        self.asked = 0
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        handlers = {name: grpc.unary_unary_rpc_method_handler(answer) for name, answer in
                    [("List", self.list), ("GetAllocatableResources", self.list_allocatable)]}
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers)])
        self.server.add_insecure_port("unix:" + self.path)

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(0).wait(10)

    def list(self, request, context):
        assert request == b""
        self.asked += 1
        if self.status:
            context.abort(self.status, "not today")
        return pod_list(self.pods) if self.raw is None else self.raw

    def list_allocatable(self, request, context):
        assert request == b""
        if not self.has_allocatable:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method")
        return allocatable_list(self.allocatable)
