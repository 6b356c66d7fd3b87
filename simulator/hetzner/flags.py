"""The flags of a kubelet in a server's user data, wherever they stand in the text.

The text is not run. Flags are found in scripts, in files that scripts write, and in k3s's forms of them; lines that are
comments do not count.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from api.quantity import parse_quantity

_FLAG: Final = re.compile(
    r"""--(?P<flag>[a-z][a-z-]*)(?:=|[ \t]+(?!-))(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s"']+))"""
)
_COMMENT: Final = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_LABELS: Final = frozenset({"node-labels", "node-label"})
_TAINTS: Final = frozenset({"register-with-taints", "node-taint"})
_K3S_ARGUMENT: Final = "kubelet-arg"
_EVICTION: Final = "memory.available<100Mi,nodefs.available<10%"
"""What holds without the flag. Source: Kubernetes docs, "Node-pressure Eviction", hard eviction thresholds."""
_MAX_PODS: Final = 110
"""What holds without the flag."""
_OURS: Final = re.compile(r"(.*\.)?(kubernetes|k8s)\.io")
_ALLOWED: Final = re.compile(
    r"(.*\.)?(kubelet|node)\.kubernetes\.io/.*"
    r"|kubernetes\.io/(hostname|arch|os)"
    r"|(beta\.kubernetes\.io|node\.kubernetes\.io)/(arch|os|instance-type)"
    r"|(topology|failure-domain\.beta)\.kubernetes\.io/(zone|region)"
)
"""Source: Kubernetes docs, kubelet, --node-labels: of Kubernetes' own prefixes only these are allowed."""


@dataclass(frozen=True, slots=True)
class KubeletFlags:
    """The kubelet's flags, parsed."""

    labels: Mapping[str, str]
    taints: tuple[dict[str, str], ...]
    max_pods: int
    reserved: Mapping[str, Fraction]
    """Kept for Kubernetes and the system together, in whole units, by resource."""
    eviction: Mapping[str, str]
    """Thresholds by signal, such as memory.available."""
    is_external: bool
    """A cloud-controller-manager is to initialise the Node."""
    names_provider_id: bool
    """The Node registers with hcloud:// and its server's id."""

    def refused_labels(self) -> list[str]:
        """Return the labels for which a kubelet does not start."""
        return [
            key
            for key in self.labels
            if _OURS.fullmatch(key.rpartition("/")[0]) is not None and _ALLOWED.fullmatch(key) is None
        ]

    def withheld(self, resource: str, signal: str, capacity: Fraction) -> Fraction:
        """Return the amount of a resource that the node withholds from pods, in whole units.

        Args:
            resource: such as memory.
            signal: of eviction, such as memory.available.
            capacity: all there is.
        """
        threshold = self.eviction.get(signal, "0")
        if threshold.endswith("%"):
            evicted = capacity * Fraction(threshold.removesuffix("%")) / 100
        else:
            evicted = parse_quantity(threshold)
        return self.reserved.get(resource, Fraction(0)) + evicted


def read_flags(user_data: str) -> KubeletFlags:
    """Return the kubelet's flags in the user data."""
    labels: dict[str, str] = {}
    taints: list[dict[str, str]] = []
    reserved: dict[str, Fraction] = {}
    single: dict[str, str] = {}
    for flag, value in _flags(user_data):
        if flag in _LABELS:
            labels |= dict(_pairs(value, "="))
        elif flag in _TAINTS:
            taints += [taint for taint in map(_taint, value.split(",")) if taint not in taints]
        elif flag in ("kube-reserved", "system-reserved"):
            for resource, amount in _pairs(value, "="):
                reserved[resource] = reserved.get(resource, Fraction(0)) + parse_quantity(amount)
        else:
            single[flag] = value
    return KubeletFlags(
        labels=labels,
        taints=tuple(taints),
        max_pods=int(single.get("max-pods", _MAX_PODS)),
        reserved=reserved,
        # Whoever sets one threshold sets them all.
        eviction=dict(_pairs(single.get("eviction-hard", _EVICTION), "<")),
        is_external=single.get("cloud-provider") == "external",
        names_provider_id=single.get("provider-id", "").startswith("hcloud://"),
    )


def _flags(text: str) -> Iterator[tuple[str, str]]:
    """Yield flags and their values; k3s's `--kubelet-arg=max-pods=110` as the kubelet's own flag."""
    # Quotes that are escaped stand in a text within a text.
    plain = _COMMENT.sub("", text).replace('\\"', '"').replace("\\'", "'")
    for match in _FLAG.finditer(plain):
        flag = match["flag"]
        value = next(each for each in (match["double"], match["single"], match["bare"]) if each is not None)
        value = value.replace("\\", "").rstrip(",;")
        if flag == _K3S_ARGUMENT:
            flag, _, value = value.removeprefix("--").partition("=")
        yield flag, value


def _pairs(text: str, sign: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, text.split(",")):
        key, _, value = part.partition(sign)
        yield key, value


def _taint(text: str) -> dict[str, str]:
    """Return a taint written as key=value:effect or key:effect."""
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
