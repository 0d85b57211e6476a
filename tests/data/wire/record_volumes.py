"""PersistentVolumeClaims and what they lead to, for record-objects."""

import cluster as lib

# Named in a pod and in a PersistentVolume alike.
SORTS = {"cinder": {"cinder": {"volumeID": "vol-2"}},
         "file": {"azureFile": {"secretName": "key", "shareName": "models"}},
         "vsphere": {"vsphereVolume": {"volumePath": "[store] models.vmdk"}},
         "disk": {"azureDisk": {"diskName": "models", "diskURI": "https://example.com/models"}},
         "portworx": {"portworxVolume": {"volumeID": "vol-3"}}}

def record_volumes(cluster, namespace, record):
    """A claim that is bound, volumes of the sorts that are told apart, a class, a node's drivers and a driver."""
    storage, core = "/apis/storage.k8s.io/v1", "/api/v1"
    claims = f"{core}/namespaces/{namespace}/persistentvolumeclaims"
    cluster.api("POST", f"{storage}/storageclasses", {
        "metadata": {"name": "zonal"}, "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]}).ok()
    record(cluster, "storageclass.zonal", f"{storage}/storageclasses/zonal")
    cluster.api("POST", f"{storage}/csinodes", {"metadata": {"name": "h100-0"}, "spec": {"drivers": [
        {"name": "csi.example.com", "nodeID": "h100-0", "topologyKeys": ["zone"], "allocatable": {"count": 27}}]}}).ok()
    record(cluster, "csinode.h100-0", f"{storage}/csinodes/h100-0")
    cluster.api("POST", f"{storage}/csidrivers", {"metadata": {"name": "csi.example.com"}, "spec": {
        "storageCapacity": True, "preventPodSchedulingIfMissing": True}}).ok()
    record(cluster, "csidriver.csi.example.com", f"{storage}/csidrivers/csi.example.com")
    sources = SORTS | {"csi": {"csi": {"driver": "csi.example.com", "volumeHandle": "vol-1"}},
                       "gce": {"gcePersistentDisk": {"pdName": "disk"}},
                       "aws": {"awsElasticBlockStore": {"volumeID": "vol-1"}}}
    sources["file"] = {"azureFile": SORTS["file"]["azureFile"] | {"secretNamespace": namespace}}
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    for name, source in sources.items():
        cluster.api("POST", f"{core}/persistentvolumes", {
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "a", "app": "models"}},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOncePod"],
                     "storageClassName": "zonal", "persistentVolumeReclaimPolicy": "Retain",
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} | source}).ok()
        record(cluster, f"persistentvolume.{name}", f"{core}/persistentvolumes/{name}")
    owner = cluster.api("POST", f"{core}/namespaces/{namespace}/pods", {
        "metadata": {"name": "reader"}, "spec": {"containers": [{"name": "c", "image": "none"}]}}).ok()
    cluster.api("POST", claims, {
        "metadata": {"name": "models", "annotations": {"volume.kubernetes.io/selected-node": "h100-0"},
                     "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "reader",
                                          "uid": owner["metadata"]["uid"],
                                          "controller": True, "blockOwnerDeletion": False}]},
        "spec": {"accessModes": ["ReadWriteOncePod"], "storageClassName": "zonal", "volumeName": "csi",
                 "resources": {"requests": {"storage": "1Gi"}}}}).ok()
    lib.wait_for(lambda: cluster.get(f"{claims}/models")["status"].get("phase") == "Bound", "the claim is bound")
    record(cluster, "persistentvolumeclaim.models", f"{claims}/models")
