"""Cluster Autoscaler's groups, priorities and Hetzner configuration as pools and classes.

Source: kubernetes/autoscaler, cluster-autoscaler/FAQ.md and cloudprovider/hetzner/README.md.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter

from api.names import LabelValue
from worker.commands.convert.fields import BadSetting, quoted
from worker.commands.convert.flags import Flags, containers, environment, whole_number, words
from worker.commands.convert.inputs import PeerDocument
from worker.commands.convert.names import class_names, pool_names
from worker.commands.convert.peer_setting import Remarks
from worker.commands.convert.peers.hcloud_config import (
    CLUSTER_CONFIG,
    HcloudConfig,
    read_cluster_config,
    read_variables,
)
from worker.commands.convert.peers.priorities import NAME, GroupPriorities, pattern_pool, read_priorities
from worker.commands.convert.peers.scaling_flags import scale_down, scale_up
from worker.commands.convert.pools import (
    ANY_TYPE,
    TYPES_ARE_OF_ANOTHER_CLOUD,
    USUAL_MAX,
    ClassChoice,
    fault,
    hetzner_class,
    pool,
    some,
)
from worker.commands.convert.tables.cluster_autoscaler import BOOLEAN_FLAGS, SETTINGS
from worker.commands.convert.writing import Conversion, ConvertedObject, Json

_WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet", "Pod")
_PROGRAM: Final = "cluster-autoscaler"
_PARTS: Final = 5
"""Of --nodes for Hetzner: min:max:TYPE:LOCATION:name."""
_MOST: Final = 100_000
_NAME_FORM: Final = TypeAdapter(LabelValue)
_NO_GROUPS: Final = (
    "no --nodes: its groups are of another cloud, and one pool is written for all; say its max and serverTypes"
)


@dataclass(frozen=True, slots=True)
class _Group:
    """A value of --nodes."""

    least: int
    most: int
    name: str
    server_type: str | None = None
    location: str | None = None


@dataclass(slots=True)
class _Sources:
    """What the files hold of the peer's."""

    workload: PeerDocument | None = None
    flags: Flags = field(default_factory=lambda: Flags([], BOOLEAN_FLAGS, Remarks(SETTINGS)))
    hcloud: HcloudConfig = field(default_factory=HcloudConfig)
    priorities: GroupPriorities | None = None
    passed_over: list[str] = field(default_factory=list)


def convert_cluster_autoscaler(read: Sequence[PeerDocument], choice: ClassChoice) -> Conversion:
    """Return a pool for each group of its Deployment, or one for the priorities if only their ConfigMap is given.

    Raises:
        CommandError: an object cannot be converted; names file, key and reason.
    """
    sources = _Sources()
    # What JSON of node configurations adds to needs the variables of the workload.
    for document in sorted(read, key=lambda document: not document.kind):
        try:
            _take(document, sources, read)
        except BadSetting as error:
            raise document.bad(str(error)) from None
    if sources.workload is None and sources.priorities is None:
        reason = (
            f"kind: {quoted(read[0].kind)} is no Deployment of {_PROGRAM} and no ConfigMap {NAME}, and no file has any"
        )
        raise read[0].bad(reason)
    try:
        if sources.workload is None:
            objects = [pattern_pool(sources.priorities or GroupPriorities(), choice.ref("default"), read[0].file)]
            if choice.given is None:
                objects.append(hetzner_class("default", "no setting: the ConfigMap has none", "", Remarks(SETTINGS)))
        else:
            objects = _objects(sources, sources.workload, choice)
    except BadSetting as error:
        raise (sources.workload or read[0]).bad(str(error)) from None
    sources.flags.finish()
    return Conversion(objects, sources.flags.remarks.entries, sources.passed_over)


def _take(document: PeerDocument, sources: _Sources, read: Sequence[PeerDocument]) -> None:
    if document.kind in _WORKLOADS and _runs_it(document):
        if sources.workload is not None:
            raise BadSetting("kind", f"a second workload of {_PROGRAM}: give the files of one at a time")
        sources.workload = document
        key, container = next(each for each in containers(document) if _is_it(each[1]))
        sources.flags = Flags(words(container, key), BOOLEAN_FLAGS, Remarks(SETTINGS))
        variables = _with_secret(environment(container, key), read)
        metadata: Any = document.value.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        sources.hcloud = read_variables(variables, str(namespace or "kube-system"), sources.flags.remarks)
    elif document.kind == "ConfigMap" and document.name.endswith(NAME):
        sources.priorities = read_priorities(document)
    elif not document.kind and "nodeConfigs" in document.value:
        read_cluster_config(document.value, "", sources.hcloud)
    elif not document.kind:
        raise BadSetting("kind", "is missing")
    else:
        sources.passed_over.append(f"{document.file}: {document.shown}")


def _runs_it(document: PeerDocument) -> bool:
    return any(_is_it(container) for _, container in containers(document))


def _is_it(container: Mapping[str, Any]) -> bool:
    texts = [container.get("image"), container.get("name")]
    for part in ("command", "args"):
        listed = container.get(part)
        texts += listed if isinstance(listed, list) else []
    return any(isinstance(text, str) and (_PROGRAM in text or text.startswith("--nodes")) for text in texts)


def _with_secret(variables: dict[str, Mapping[str, Any]], read: Sequence[PeerDocument]) -> dict[str, Mapping[str, Any]]:
    """Return the variables, with the node configurations of a Secret that is among the files."""
    source = variables.get(CLUSTER_CONFIG, {}).get("valueFrom")
    ref = source.get("secretKeyRef") if isinstance(source, Mapping) else None
    for document in read:
        if not isinstance(ref, Mapping) or document.kind != "Secret" or document.name != ref.get("name"):
            continue
        plain, data = document.value.get("stringData"), document.value.get("data")
        if isinstance(plain, Mapping) and isinstance(plain.get(ref.get("key")), str):
            return variables | {CLUSTER_CONFIG: {"value": plain[ref["key"]]}}
        if isinstance(data, Mapping) and isinstance(data.get(ref.get("key")), str):
            try:
                text = base64.b64decode(data[ref["key"]]).decode()
            except (binascii.Error, ValueError):
                raise BadSetting(CLUSTER_CONFIG, "its Secret holds no base64 of a text") from None
            return variables | {CLUSTER_CONFIG: {"value": text}}
    return variables


def _objects(sources: _Sources, workload: PeerDocument, choice: ClassChoice) -> list[ConvertedObject]:
    """Return the pools and the classes that they name."""
    flags, hcloud = sources.flags, sources.hcloud
    groups = _groups(flags)
    up, down = scale_up(flags, hcloud.provisioning_timeout), scale_down(flags)
    priorities = _priorities(sources, [group.name for group in groups])
    is_enforced = flags.flag("--enforce-node-group-min-size", otherwise=False)
    names, of_classes = pool_names(), class_names()
    default = of_classes.take("default", lambda _: None)
    pools: list[ConvertedObject] = []
    classes: dict[str, ConvertedObject] = {}
    for group in groups:
        remarks = Remarks(SETTINGS)
        name = names.take(group.name, lambda reason, remarks=remarks: remarks.differs("--nodes", reason))
        settings, template, further = hcloud.of_groups.get(group.name, ({}, {}, Remarks(SETTINGS)))
        remarks.entries += further.entries
        class_name = of_classes.take(name, lambda _: None) if settings and choice.given is None else default
        origin = f"--nodes of {workload.shown}", workload.file
        if choice.given is None and class_name not in classes:
            its = hcloud.class_settings | settings
            classes[class_name] = hetzner_class(class_name, *origin, Remarks(SETTINGS), **its)
        if group.least and not is_enforced:
            remarks.differs("--enforce-node-group-min-size", "not set; a minimum is always bought here")
        spec = _pool(group, remarks) | {
            "priority": priorities.get(group.name),
            "template": {"classRef": choice.ref(class_name), **template},
            "scaleUp": up,
            "scaleDown": down,
        }
        pools.append(ConvertedObject(pool(name, spec), *origin, remarks.entries))
    return [*pools, *classes.values()]


def _pool(group: _Group, remarks: Remarks) -> Json:
    """Return the fields of the pool that are of its group alone."""
    if group.server_type is None:
        remarks.differs("--nodes", TYPES_ARE_OF_ANOTHER_CLOUD)
    if not group.most:
        remarks.differs("--nodes", "max 0 buys nothing: paused here, as a pool may have one machine at least")
    return {
        "serverTypes": [dict(ANY_TYPE) if group.server_type is None else {"name": group.server_type}],
        "locations": None if group.location is None else [group.location],
        "limits": some(min=group.least or None, max=group.most or 1),
        "matchUnselectedPods": True,
        "paused": None if group.most else True,
    }


def _groups(flags: Flags) -> list[_Group]:
    """Return the groups that --nodes names.

    Raises:
        BadSetting: one has another form, or two have the same name.
    """
    is_hetzner = flags.text("--cloud-provider") == "hetzner"
    if is_hetzner:
        flags.remarks.differs("--cloud-provider", "HetznerNodeClass is the class of Hetzner Cloud")
    groups = [_group(text, is_hetzner=is_hetzner) for text in flags.all("--nodes")]
    names = [group.name for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise BadSetting("--nodes", f"the group {name!r} stands twice")
    if groups:
        return groups
    flags.remarks.differs("--nodes", _NO_GROUPS)
    return [_Group(0, USUAL_MAX, "default")]


def _group(text: str, *, is_hetzner: bool) -> _Group:
    parts = [part.strip() for part in text.split(":")]
    form = "min:max:TYPE:LOCATION:name" if is_hetzner else "min:max:name"
    is_long = len(parts) == _PARTS and not parts[2].startswith("http")
    if len(parts) < 3 or (is_hetzner and not is_long) or not all(parts):  # noqa: PLR2004 - min, max and name
        raise BadSetting("--nodes", f"{quoted(text)} must be {form}")
    least, most = whole_number("--nodes", parts[0], 0, _MOST), whole_number("--nodes", parts[1], 0, _MOST)
    if least > most:
        raise BadSetting("--nodes", f"{quoted(text)}: min {least} is above max {most}")
    if not is_long:
        # A group of another cloud may be a path or an address; its name is the last part.
        return _Group(least, most, ":".join(parts[2:]).rstrip("/").rpartition("/")[2] or parts[-1])
    for part in parts[2:4]:
        reason = fault(_NAME_FORM, part)
        if reason is not None:
            raise BadSetting("--nodes", f"{quoted(text)}: {reason}")
    return _Group(least, most, parts[4], parts[2].lower(), parts[3].lower())


def _priorities(sources: _Sources, groups: list[str]) -> dict[str, int]:
    """Return the priority of each group that has one."""
    flags, known = sources.flags, sources.priorities
    expanders = [part.strip() for part in (flags.text("--expander") or "").split(",") if part.strip()]
    for expander in expanders:
        if expander not in ("priority", "price"):
            flags.remarks.no_equal("--expander", f"{expander}: the price decides, which none of its measures does")
    if "priority" not in expanders:
        if known is not None:
            flags.remarks.differs("data[priorities]", "left out: --expander does not say priority")
        return {}
    if known is None:
        flags.remarks.no_equal("--expander", f"priority: give the file of the ConfigMap {NAME}, and it is converted")
        return {}
    for key in known.unused(groups):
        flags.remarks.differs(key, "matches no group of --nodes")
    return known.ranked(groups, flags.remarks)
