"""Which of the things that a Node must join with the user data shows: its server's name, taint, labels, provider id.

Nothing is refused for it: what a text lacks, the image or a script from elsewhere may give. So what is not there is
called lacking only if the text itself starts the kubelet, and unseen otherwise. Comments do not count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import yaml

from activities.ports.provider import ServerOrder
from api.keys import LABEL_REQUEST, LABEL_REQUEST_UID, TAINT_UNREGISTERED

_INSTANCE_ID: Final = "http://169.254.169.254/hetzner/v1/metadata/instance-id"
"""Tells the id of the server that asks. Source: Hetzner Cloud API, "Server Metadata"."""
_FIELD: Final = "spec.userData"
_STARTS_KUBELET: Final = re.compile(
    r"kubeadm[\"',]*\s+[\"']?join\b|kind:\s*JoinConfiguration|get\.(?:k3s|rke2)\.io|INSTALL_(?:K3S|RKE2)_|K3S_URL"
    r"|\b(?:k3s|rke2)[\"',]*\s+[\"']?agent\b|\brke2-agent\b|\bkubelet[\"',]*\s+[\"']?--|KUBELET_EXTRA_ARGS"
)
_HIDES: Final = re.compile(
    r"\A\s*\{|^#include|^[ \t-]*(?:encoding|content-transfer-encoding):", re.IGNORECASE | re.MULTILINE
)
"""Ignition, a text that names others, and contents in base64."""
_VALUE: Final = r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',\]]+)"
_NAMING: Final = (
    ("--node-name", re.compile(rf"--node-name[\"']?(?:=|,?[ \t]+){_VALUE}")),
    ("--hostname-override", re.compile(rf"--hostname-override[\"']?(?:=|,?[ \t]+){_VALUE}")),
    ("K3S_NODE_NAME", re.compile(rf"\bK3S_NODE_NAME=[ \t]*{_VALUE}")),
    ("node-name", re.compile(rf"^[ \t]*(?:node-name|hostname-override):[ \t]*{_VALUE}", re.MULTILINE)),
    ("set-hostname", re.compile(rf"\bhostnamectl[\"',]*[ \t]+[\"']?(?:set-)?hostname[\"']?,?[ \t]+{_VALUE}")),
)
_REGISTRATION: Final = re.compile(r"^(?P<indent>[ \t]*)nodeRegistration:[ \t]*$")
_KEY: Final = re.compile(rf"^(?P<indent>[ \t]*)name:[ \t]*{_VALUE}")
_WITH_SUFFIX: Final = re.compile(r"--with-node-id(?!=false)\b|^[ \t]*with-node-id:[ \t]*true\b", re.MULTILINE)
"""k3s appends a part of the machine's id to the name."""
_KEEPS_HOSTNAME: Final = re.compile(r"^preserve_hostname:[ \t]*true\b", re.MULTILINE)
_PROVIDER_ID: Final = re.compile(
    r"provider-?id[\"']?[=:,\s]+(?:value:\s*)?[\"']?(?P<value>[^\s\"',\]]+)", re.IGNORECASE
)
_SERVER: Final = re.compile(r"hcloud://(?P<id>[^\s\"',\]]*)")
_HOSTNAME: Final = re.compile(r"\$[({]*hostname", re.IGNORECASE)
_EXTERNAL: Final = re.compile(r"cloud-provider[\"']?[=:,\s]+(?:value:\s*)?[\"']?external\b")
_SET_WHEN_RUN: Final = frozenset("$`{%")
"""Signs of what a shell, systemd or cloud-init puts in later."""


class _Part(NamedTuple):
    """What a Node must join with."""

    name: str
    reason: str
    problem: str
    """What goes wrong without it, and what to add."""


_TAINT: Final = _Part(
    name="its first taint",
    reason="TaintMissing",
    problem=(
        "only a comment has the taint, so a Node takes pods before it is registered: give the kubelet "
        "{{ kubelet.args }}, {{ k3s.args }} or {{ node.taints }}"
    ),
)
_LABELS: Final = _Part(
    name="its labels",
    reason="LabelsMissing",
    problem=(
        "no labels: a Node has them only once it is registered, so DaemonSets that select by them come late: "
        "give the kubelet {{ kubelet.args }}, {{ k3s.args }} or {{ node.labels }}"
    ),
)
_PROVIDER: Final = _Part(
    name="its provider id",
    reason="ProviderIDMissing",
    problem=(
        "no provider id: without one, cloud-controller-manager and CSI driver do not find the server, and k3s gives "
        f"one of its own: give the kubelet --provider-id=hcloud://ID with the id that {_INSTANCE_ID} tells, or "
        "--cloud-provider=external where Hetzner's cloud-controller-manager runs"
    ),
)
_OWN_NAME: Final = "its server's name"


@dataclass(frozen=True, slots=True)
class Completeness:
    """What the condition says of a text."""

    status: bool | None
    """True if it shows all, None if something cannot be seen in it."""
    reason: str
    message: str


def completeness(text: str, order: ServerOrder) -> Completeness:
    """Return whether the text shows all that a Node must join with.

    Args:
        text: user data with its variables filled in.
        order: of the server that they were filled in for; no name or uid in it stands in the text by chance.
    """
    code = "\n".join(map(_without_comment, text.splitlines()))
    names = [*_names(code), *_hostnames(code)]
    missing = list(_missing(code, order))
    is_seen = _STARTS_KUBELET.search(code) is not None and _HIDES.search(text) is None
    faults = [*_name_faults(code, names, order.name), *_provider_id_faults(code)]
    if is_seen:
        faults += [(part.reason, part.problem) for part in missing]
    if faults:
        return Completeness(False, faults[0][0], f"{_FIELD}: " + "; ".join(message for _, message in faults))
    unseen = [] if is_seen else [part.name for part in missing]
    # In the labels, the name is that of the request.
    is_named = bool(names) or order.name in code.replace(f"{LABEL_REQUEST}={order.name}", "")
    if not is_named and (not is_seen or _KEEPS_HOSTNAME.search(code) is not None):
        unseen.append(_OWN_NAME)
    if unseen:
        return Completeness(
            None,
            "NotInText",
            f"{_FIELD}: the text does not show whether the Node joins with {_listed(unseen)}: the script or image that "
            "starts the kubelet must see to it",
        )
    return Completeness(True, "UserDataComplete", "")


def _missing(code: str, order: ServerOrder) -> Iterator[_Part]:
    if TAINT_UNREGISTERED not in code:
        yield _TAINT
    if f"{LABEL_REQUEST_UID}={order.node_labels[LABEL_REQUEST_UID]}" not in code:
        yield _LABELS
    if not _shows_provider_id(code):
        yield _PROVIDER


def _name_faults(code: str, names: list[tuple[str, str]], name: str) -> Iterator[tuple[str, str]]:
    by = next((by for by, _ in names), None)
    if any(value == name or not _SET_WHEN_RUN.isdisjoint(value) for _, value in names):
        by = None
    if _WITH_SUFFIX.search(code) is not None:
        by = "with-node-id"
    if by is not None:
        problem = (
            f"by {by} a Node has another name than its server, so it is not taken for the machine's, which is removed "
            "after scaleUp.joinTimeout: write {{ node.name }} alone there, or leave it out"
        )
        yield "NodeNameDiffers", problem


def _names(code: str) -> Iterator[tuple[str, str]]:
    """Yield what names the Node, and the name."""
    for by, pattern in _NAMING:
        for match in pattern.finditer(code):
            yield by, match["value"].strip("\"'")
    indent: str | None = None
    for line in code.splitlines():
        opening, key = _REGISTRATION.match(line), _KEY.match(line)
        if opening is not None:
            indent = opening["indent"]
        elif indent is not None and line.strip() and not (line.startswith(indent) and line[len(indent)] in " \t"):
            indent = None
        elif indent is not None and key is not None:
            yield "nodeRegistration.name", key["value"].strip("\"'")
            indent = None


def _hostnames(code: str) -> Iterator[tuple[str, str]]:
    """Yield the field of a cloud-config that sets the hostname, which is the Node's name by default, and the name.

    Source: cloud-init, cloudinit.util.get_hostname_fqdn: hostname, else the first part of fqdn.
    """
    try:
        config = yaml.safe_load(code)
    except (yaml.YAMLError, ValueError):
        return
    if not isinstance(config, dict):
        return
    hostname, fqdn = config.get("hostname"), config.get("fqdn")
    if isinstance(fqdn, str) and config.get("prefer_fqdn_over_hostname") is True:
        yield "fqdn", fqdn
    elif isinstance(hostname, str):
        yield "hostname", hostname
    elif isinstance(fqdn, str):
        yield "fqdn", fqdn.partition(".")[0]


def _provider_id_faults(code: str) -> Iterator[tuple[str, str]]:
    ids = [match["id"] for match in _SERVER.finditer(code) if match["id"]]
    if ids and all(each[0] not in _SET_WHEN_RUN or _HOSTNAME.match(each) for each in ids):
        problem = (
            "the provider id is not hcloud:// and the server's own id, so a Node is taken for another server's, and "
            f"its machine is removed after scaleUp.joinTimeout: take the id that {_INSTANCE_ID} tells"
        )
        yield "ProviderIDDiffers", problem


def _shows_provider_id(code: str) -> bool:
    if _EXTERNAL.search(code) is not None:
        return True
    values = [match["value"] for match in _PROVIDER_ID.finditer(code)]
    return any(value.startswith("hcloud://") or not _SET_WHEN_RUN.isdisjoint(value) for value in values)


def _without_comment(line: str) -> str:
    """Return a line of a script or of YAML without its comment; a # within quotes begins none."""
    if line.lstrip().startswith("#"):
        return ""
    for match in re.finditer(r"[ \t]#(?=[ \t]|$)", line):
        before = line[: match.start()]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            return before
    return line


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
