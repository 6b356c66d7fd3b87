"""Pods of a dump, with their claims and volumes."""

from random import Random
from typing import Any, Final

from api.keys import LABEL_HOSTNAME, LABEL_ZONE
from benchmarks.dump_nodes import CLASS, DRIVER, zone
from benchmarks.dump_owned import CREATED, DumpedWorkload, containers

Json = dict[str, Any]
_DAEMON_TOLERATIONS: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_NO_PLACE: Final = "0/200 nodes are available: 200 Insufficient cpu. preemption: 0/200 nodes are available."


def pod(owner: DumpedWorkload, random: Random, node: str, *, claim: str = "") -> Json:
    """Return a pod that runs on `node`, or one that the scheduler found no place for if that is empty."""
    name = owner.name_of_pod(random)
    is_daemon = owner.kind == "DaemonSet"
    body: Json = {
        "affinity": _affinity(owner, node if is_daemon else ""),
        "containers": containers(owner),
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": node,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 2000001000 if is_daemon else 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {"fsGroup": 65532, "runAsNonRoot": True, "runAsUser": 65532},
        "serviceAccount": owner.name,
        "serviceAccountName": owner.name,
        "terminationGracePeriodSeconds": 30,
        "tolerations": _tolerations(is_daemon=is_daemon),
        "topologySpreadConstraints": [_spread(owner)] if owner.is_spread else [],
        "volumes": _volumes(owner, claim),
    }
    # The API server leaves out what is empty.
    spec = {key: value for key, value in body.items() if value not in ("", [], {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"checksum/config": f"{random.getrandbits(256):064x}"},
            "creationTimestamp": CREATED,
            "generateName": f"{owner.owner_name}-",
            "labels": owner.labels,
            "name": name,
            "namespace": owner.namespace,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": owner.kind,
                    "name": owner.owner_name,
                    "uid": owner.uid,
                }
            ],
            "resourceVersion": str(random.randrange(10**6, 10**8)),
            "uid": f"{random.getrandbits(128):032x}",
        },
        "spec": spec,
        "status": _running(owner, random) if node else _waiting(),
    }


def claim(owner: DumpedWorkload, name: str) -> Json:
    """Return the bound claim of a pod."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            "creationTimestamp": CREATED,
            "name": name,
            "namespace": owner.namespace,
            "uid": f"claim-{name}",
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": CLASS,
            "volumeMode": "Filesystem",
            "volumeName": f"pvc-{name}",
        },
        "status": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}, "phase": "Bound"},
    }


def volume(owner: DumpedWorkload, name: str, index: int) -> Json:
    """Return the volume of a claim, tied to the zone of the node at `index`."""
    here = {"key": LABEL_ZONE, "operator": "In", "values": [zone(index)]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"creationTimestamp": CREATED, "name": f"pvc-{name}", "uid": f"volume-{name}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "10Gi"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": name,
                "namespace": owner.namespace,
                "uid": f"claim-{name}",
            },
            "csi": {"driver": DRIVER, "fsType": "ext4", "volumeHandle": f"handle-{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": CLASS,
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Bound"},
    }


def _affinity(owner: DumpedWorkload, node: str) -> Json:
    if node:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if not owner.keeps_apart:
        return {}
    term = {"labelSelector": owner.selector, "topologyKey": LABEL_HOSTNAME}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(owner: DumpedWorkload) -> Json:
    return {
        "labelSelector": owner.selector,
        "maxSkew": 6,
        "topologyKey": LABEL_ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
    }


def _tolerations(*, is_daemon: bool) -> list[Json]:
    if is_daemon:
        return [
            {"effect": effect, "key": f"node.kubernetes.io/{key}", "operator": "Exists"}
            for key, effect in _DAEMON_TOLERATIONS
        ]
    return [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]


def _volumes(owner: DumpedWorkload, claim: str) -> list[Json]:
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    authority = {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}}
    return [
        {"configMap": {"defaultMode": 420, "name": f"{owner.name}-config"}, "name": "config"},
        *([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []),
        {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [token, authority]}},
    ]


def _running(owner: DumpedWorkload, random: Random) -> Json:
    image = f"registry.example.com/{owner.namespace}/{owner.name}"
    address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": CREATED, "status": "True", "type": kind}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "containerID": f"containerd://{random.getrandbits(256):064x}",
                "image": f"{image}:v1.2.3",
                "imageID": f"{image}@sha256:{random.getrandbits(256):064x}",
                "lastState": {},
                "name": "main",
                "ready": True,
                "restartCount": 0,
                "started": True,
                "state": {"running": {"startedAt": CREATED}},
            }
        ],
        "hostIP": "192.0.2.1",
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "startTime": CREATED,
    }


def _waiting() -> Json:
    condition = {
        "lastProbeTime": None,
        "lastTransitionTime": CREATED,
        "message": _NO_PLACE,
        "reason": "Unschedulable",
        "status": "False",
        "type": "PodScheduled",
    }
    return {"conditions": [condition], "phase": "Pending", "qosClass": "Burstable"}
