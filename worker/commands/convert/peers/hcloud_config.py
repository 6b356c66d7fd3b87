"""Cluster Autoscaler's configuration for Hetzner, variables and their JSON, as parts of classes and pools.

Source: kubernetes/autoscaler, cluster-autoscaler/cloudprovider/hetzner/README.md.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter
from pydantic_core import from_json

from api.v1alpha1.hetzner_node_class import HetznerImage, HetznerNetwork, Name
from worker.commands.convert.fields import BadSetting, Fields, quoted
from worker.commands.convert.flags import whole_number
from worker.commands.convert.peer_setting import Remarks
from worker.commands.convert.pools import fault, labels, some, taints
from worker.commands.convert.tables.cluster_autoscaler import CONFIG, VARIABLES
from worker.commands.convert.writing import Json

CLUSTER_CONFIG: Final = "HCLOUD_CLUSTER_CONFIG"
_PREFIX: Final = "HCLOUD_"
_TRUE: Final = ("1", "t", "true", "True", "TRUE", "T")
_MOST_MINUTES: Final = 1440
_DIGITS: Final = 18
_T = TypeVar("_T")
_NAME: Final = TypeAdapter(Name)
_IMAGE: Final = TypeAdapter(HetznerImage)
_NETWORK: Final = TypeAdapter(HetznerNetwork)


@dataclass(slots=True)
class HcloudConfig:
    """What variables and node configurations say."""

    class_settings: Json = field(default_factory=dict)
    """Of every class."""
    of_groups: dict[str, tuple[Json, Json, Remarks]] = field(default_factory=dict)
    """By group: settings of its class, its template, and remarks on them."""
    provisioning_timeout: str | None = None


def read_variables(variables: Mapping[str, Mapping[str, Any]], namespace: str, remarks: Remarks) -> HcloudConfig:
    """Return what the variables say, those from Secrets by reference only; other programs' are passed over.

    Raises:
        BadSetting: one has another form.
    """
    values = {
        name: str(variable["value"]).strip()
        for name, variable in variables.items()
        if name in VARIABLES and isinstance(variable.get("value"), str | int | bool)
    }
    config = HcloudConfig()
    network, firewall, key = (values.get(f"{_PREFIX}{part}") for part in ("NETWORK", "FIREWALL", "SSH_KEY"))
    image = values.get(f"{_PREFIX}IMAGE")
    config.class_settings = some(
        tokenSecretRef=_token(variables, namespace),
        image=None if not image else _image(f"{_PREFIX}IMAGE", image),
        networks=[{"name": _name(f"{_PREFIX}NETWORK", network)}] if network else None,
        firewalls=[_name(f"{_PREFIX}FIREWALL", firewall)] if firewall else None,
        sshKeys=[_name(f"{_PREFIX}SSH_KEY", key)] if key else None,
        enableIPv4=_flag(values, "PUBLIC_IPV4"),
        enableIPv6=_flag(values, "PUBLIC_IPV6"),
    )
    minutes = values.get(f"{_PREFIX}SERVER_CREATION_TIMEOUT")
    if minutes:
        config.provisioning_timeout = f"{whole_number(f'{_PREFIX}SERVER_CREATION_TIMEOUT', minutes, 1, _MOST_MINUTES)}m"
    if CLUSTER_CONFIG in values:
        read_cluster_config(_decoded(values[CLUSTER_CONFIG]), CLUSTER_CONFIG, config)
    elif CLUSTER_CONFIG in variables:
        remarks.no_equal(
            CLUSTER_CONFIG, "it stands in another object: give its JSON as a file of its own, and it is converted"
        )
    for name in variables:
        if (name in VARIABLES and not VARIABLES[name].becomes) or (name.startswith(_PREFIX) and name not in VARIABLES):
            remarks.left_over(name, name)
    return config


def read_cluster_config(value: object, key: str, config: HcloudConfig) -> None:
    """Add what the JSON of node configurations says.

    Raises:
        BadSetting: it has another form.
    """
    remarks = Remarks(CONFIG)
    whole = Fields(value, remarks, key=key)
    images = _images(whole.inner("imagesForArch"))
    if images:
        config.class_settings["imageByArchitecture"] = images
        config.class_settings.setdefault("image", images.get("amd64") or images["arm64"])
    _set_range(config.class_settings, whole.key_of("defaultSubnetIPRange"), whole.text("defaultSubnetIPRange"))
    groups = whole.inner("nodeConfigs")
    for name in groups.given:
        own = Remarks(CONFIG)
        given = groups.take(name)
        group = Fields(given, own, key=groups.key_of(name), name="nodeConfigs")
        config.of_groups[name] = *_of_group(group, config.class_settings), own
        group.finish()
    whole.finish()
    for _, _, own in config.of_groups.values():
        own.entries += remarks.entries


def _of_group(group: Fields, common: Json) -> tuple[Json, Json]:
    images = _images(group.inner("imagesForArch"))
    firewalls = [_name(key, value) for key, value in group.items("firewalls")]
    is_spread = group.text("placementGroup") is not None
    if is_spread:
        group.remarks.differs(
            group.key_of("placementGroup"), "groups of ten are made and deleted as servers come and go"
        )
    settings = some(
        imageByArchitecture=images or None,
        firewalls=firewalls or None,
        serverLabels=labels(group, "serverLabels"),
        placement={"strategy": "spread"} if is_spread else None,
    )
    address_range = group.text("subnetIPRange")
    if address_range and common.get("networks"):
        settings["networks"] = [dict(common["networks"][0])]
        _set_range(settings, group.key_of("subnetIPRange"), address_range)
    elif address_range:
        group.remarks.no_equal(group.key_of("subnetIPRange"), "left out: no HCLOUD_NETWORK says of which network")
    return settings, some(labels=labels(group, "labels"), taints=taints(group, "taints") or None)


def _name(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadSetting(key, f"{quoted(value)} must be a name or an id")
    return _checked(key, str(value), _NAME)


def _images(fields: Fields) -> Json:
    names = {part: fields.text(part) for part in ("amd64", "arm64")}
    fields.finish()
    return {part: _image(fields.key_of(part), name) for part, name in names.items() if name}


def _image(key: str, text: str) -> Json:
    """Return an image by id, by label selector or by name."""
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return _checked(key, {"id": int(text)}, _IMAGE)
    return _checked(key, {"selector": text} if any(sign in text for sign in "=!,( ") else {"name": text}, _IMAGE)


def _set_range(settings: Json, key: str, address_range: str | None) -> None:
    if address_range and settings.get("networks"):
        settings["networks"] = [
            _checked(key, {**network, "subnetIPRange": address_range}, _NETWORK) for network in settings["networks"]
        ]


def _checked(key: str, value: _T, form: TypeAdapter[Any]) -> _T:
    """Return what a field of a class takes.

    Raises:
        BadSetting: it does not take it.
    """
    reason = fault(form, value)
    if reason is not None:
        raise BadSetting(key, f"is nothing that a HetznerNodeClass takes: {reason}")
    return value


def _token(variables: Mapping[str, Mapping[str, Any]], namespace: str) -> Json | None:
    source = variables.get("HCLOUD_TOKEN", {}).get("valueFrom")
    secret = source.get("secretKeyRef") if isinstance(source, Mapping) else None
    if not isinstance(secret, Mapping) or not isinstance(secret.get("name"), str):
        return None
    return {"namespace": namespace, "name": secret["name"], "key": str(secret.get("key", "token"))}


def _flag(values: Mapping[str, str], part: str) -> bool | None:
    text = values.get(f"{_PREFIX}{part}")
    return None if text is None else text in _TRUE


def _decoded(text: str) -> object:
    """Return the JSON whose base64 the text is.

    Raises:
        BadSetting: it is none; quotes nothing, as a token may be in it.
    """
    try:
        return from_json(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError):
        raise BadSetting(CLUSTER_CONFIG, "is no base64 of JSON") from None
