"""Arguments of a server's kubelet, and the amounts that it leaves for pods: both from one setting of the class.

A plan that counts on more than the kubelet leaves buys a machine on which its pods do not fit, and then the
next one. So every amount that plans subtract is also a flag. Flags are words of a shell, as user data is
mostly a script, and nothing that is put into them can end a word.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from activities.ports.errors import InvalidConfiguration
from api.quantity import parse_millis, parse_quantity, parse_units
from api.v1alpha1.hetzner_node_class import HetznerKubelet

_MEMORY_USABLE: Final = Fraction(925, 1000)
"""Of the advertised memory; firmware and kernel keep the rest. Measured: 3814 of 4096 MiB on a cpx22 (93.1 %),
7751 of 8192 MiB on a cx33 (94.6 %). Source: paperclipinc/karpenter-provider-hetzner, issue 68."""
_DISK_USABLE: Final = Fraction(94, 100)
"""Of the advertised disk, which is in decimal gigabytes; boot partition and file system keep the rest. Measured on a
cax11 of 40 GB under k3s, which keeps 5 %: 37818813820 bytes for pods, so 99.5 %. The margin is for images whose file
systems keep more. Source: kubernetes/autoscaler PR 6574; its template left the disk out."""
_INODES_FREE: Final = "nodefs.inodesFree<5%"
"""The kubelet's own default. Whoever sets one threshold sets them all: those that are left out are off.
Source: Kubernetes docs, "Node-pressure Eviction", Hard eviction thresholds."""
_EFFECTS: Final = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})
_KEY: Final = re.compile(r"[A-Za-z0-9._/-]+")
_VALUE: Final = re.compile(r"[A-Za-z0-9._-]*")
_KUBERNETES_OWN: Final = re.compile(r"(.+\.)?(kubernetes|k8s)\.io/.*")
_LEFT_TO_KUBELETS: Final = re.compile(
    r"(.+\.)?(kubelet|node)\.kubernetes\.io/.*|kubernetes\.io/(hostname|arch|os)|topology\.kubernetes\.io/(region|zone)"
)
"""Labels of Kubernetes' own prefixes that a kubelet may give to its Node: with any other one, it does not start.
Source: kubernetes/kubernetes, cmd/kubelet/app/options, unknown labels of --node-labels."""


def kubelet_args(kubelet: HetznerKubelet, labels: Mapping[str, str], taints: Sequence[Mapping[str, str]]) -> str:
    """Return the flags of a kubelet, separated by spaces and quoted for a shell where that is needed.

    Raises:
        InvalidConfiguration: a label or taint has characters that labels and taints cannot have.
    """
    flags = [("node-labels", label_list(labels)), ("register-with-taints", taint_list(taints)), *_settings(kubelet)]
    return " ".join(shlex.quote(f"--{name}={value}") for name, value in flags if value)


def k3s_args(kubelet: HetznerKubelet, labels: Mapping[str, str], taints: Sequence[Mapping[str, str]]) -> str:
    """Return the flags of a k3s agent that say the same as `kubelet_args`.

    Raises:
        InvalidConfiguration: a label or taint has characters that labels and taints cannot have.
    """
    words = [
        *(f"--node-label={label}" for label in _labels(labels)),
        *(f"--node-taint={taint}" for taint in _taints(taints)),
        *(f"--kubelet-arg={name}={value}" for name, value in _settings(kubelet)),
    ]
    return " ".join(shlex.quote(word) for word in words)


def label_list(labels: Mapping[str, str]) -> str:
    """Return the labels as `--node-labels` takes them: key=value, separated by commas, sorted.

    Without those that no kubelet may set; they come on the Node with its registration.

    Raises:
        InvalidConfiguration: a label has characters that labels cannot have.
    """
    return ",".join(_labels(labels))


def taint_list(taints: Sequence[Mapping[str, str]]) -> str:
    """Return the taints as `--register-with-taints` takes them: key=value:effect or key:effect, separated by commas.

    Raises:
        InvalidConfiguration: a taint has characters that taints cannot have.
    """
    return ",".join(_taints(taints))


def allocatable(cores: int, memory_bytes: int, disk_bytes: int, kubelet: HetznerKubelet) -> dict[str, int]:
    """Return a server's amounts for pods, never below zero: cpu in millicores, memory and ephemeral-storage in bytes.

    An estimate that is rather too low, for servers of which no Node was seen yet.

    Args:
        cores: of the server type.
        memory_bytes: as advertised.
        disk_bytes: as advertised.
        kubelet: what is kept.
    """
    memory = memory_bytes * _MEMORY_USABLE
    disk = disk_bytes * _DISK_USABLE
    # A threshold in percent is one of the whole file system. Source: kubelet, hardEvictionReservation.
    disk_threshold = disk * kubelet.eviction_storage_percent / 100
    return {
        "cpu": max(0, cores * 1000 - sum(parse_millis(kept.get("cpu", 0)) for kept in _reserved(kubelet))),
        "memory": _left(memory, parse_units(kubelet.eviction_memory), _units(kubelet, "memory")),
        "ephemeral-storage": _left(disk, disk_threshold, _units(kubelet, "ephemeral-storage")),
        "pods": kubelet.max_pods,
    }


def _reserved(kubelet: HetznerKubelet) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return kubelet.kube_reserved, kubelet.system_reserved


def _units(kubelet: HetznerKubelet, resource: str) -> int:
    return sum(parse_units(reserved.get(resource, 0)) for reserved in _reserved(kubelet))


def _left(whole: Fraction, *reserved: Fraction | int) -> int:
    return max(0, int(whole - sum(reserved)))


def _settings(kubelet: HetznerKubelet) -> Iterator[tuple[str, str]]:
    yield "max-pods", str(kubelet.max_pods)
    for name, reserved in zip(("kube-reserved", "system-reserved"), _reserved(kubelet), strict=True):
        if reserved:
            yield name, ",".join(f"{resource}={amount}" for resource, amount in sorted(reserved.items()))
    yield "eviction-hard", ",".join(_thresholds(kubelet))


def _thresholds(kubelet: HetznerKubelet) -> Iterator[str]:
    # A kubelet does not start with a threshold of zero bytes; leaving it out turns it off.
    if parse_quantity(kubelet.eviction_memory):
        yield f"memory.available<{kubelet.eviction_memory}"
    # Servers have one disk, so images and pods share a file system and a threshold. With 0 %, there is none.
    yield f"nodefs.available<{kubelet.eviction_storage_percent}%"
    yield f"imagefs.available<{kubelet.eviction_storage_percent}%"
    yield _INODES_FREE


def _labels(labels: Mapping[str, str]) -> Iterator[str]:
    for key, value in sorted(labels.items()):
        if not (_KEY.fullmatch(key) and _VALUE.fullmatch(value)):
            raise InvalidConfiguration(f"{key!r}: {value!r} is no label")
        if not _KUBERNETES_OWN.fullmatch(key) or _LEFT_TO_KUBELETS.fullmatch(key):
            yield f"{key}={value}"


def _taints(taints: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for taint in taints:
        key, value, effect = taint["key"], taint.get("value", ""), taint["effect"]
        if not (_KEY.fullmatch(key) and _VALUE.fullmatch(value) and effect in _EFFECTS):
            raise InvalidConfiguration(f"{key}={value}:{effect} is no taint")
        yield f"{key}={value}:{effect}" if value else f"{key}:{effect}"
