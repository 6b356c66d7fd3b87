"""The user data of a server: the class's text with its variables filled in, so that cloud-init joins the cluster.

Secrets and ConfigMaps are read live for each server, so that a join token that was renewed is used at once. A text
that cannot work is refused before anything is bought. Values may be secrets: no error says any of them, only names.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Final

import yaml

from activities.objects.nodes import UNREGISTERED
from activities.ports.cluster import CONFIG_MAPS, SECRETS, Cluster, Object, Resource, secret_value
from activities.ports.errors import Forbidden, InvalidConfiguration, NotFound, Rejected
from activities.ports.provider import ServerOrder
from activities.providers.hetzner.classes.catalogue import LABEL_CSI_LOCATION, LABEL_PROVIDED_BY
from activities.providers.hetzner.classes.join_text import Completeness, completeness
from activities.providers.hetzner.classes.kubelet import k3s_args, kubelet_args, label_list, taint_list
from activities.providers.hetzner.classes.rights import missing_right
from api.keys import (
    LABEL_INSTANCE_TYPE,
    LABEL_POOL,
    LABEL_REGION,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    LABEL_SERVER_TYPE,
)
from api.v1alpha1.hetzner_node_class import LONGEST_USER_DATA, HetznerKubelet, HetznerNodeClass, KeyRef

_BRACES: Final = re.compile(r"\{\{\{\{|\{\{[ \t]*(?P<name>[A-Za-z][A-Za-z0-9_.-]*)[ \t]*\}\}|\{\{")
_TELLING_TAINTS: Final = ("kubelet.args", "k3s.args", "node.taints")
_FIELD: Final = "spec.userData"
_VARIABLES: Final = f"{_FIELD}.variables"
_CLOUD_CONFIG: Final = "#cloud-config"
_SAMPLE: Final = ServerOrder(
    name=f"{'p' * 40}-0123456789",
    server_type="cpx62",
    location="fsn1",
    labels={},
    node_labels={
        LABEL_POOL: "p" * 40,
        LABEL_SERVER_TYPE: "cpx62",
        LABEL_REQUEST: f"{'p' * 40}-0123456789",
        LABEL_REQUEST_UID: "00000000-0000-0000-0000-000000000000",
    },
    node_taints=[UNREGISTERED],
)
"""With the longest names, so that a text near the limit is refused before a server is needed."""


async def user_data_of(cluster: Cluster, node_class: HetznerNodeClass, order: ServerOrder) -> str:
    """Return the user data of the server, at most `LONGEST_USER_DATA` bytes in UTF-8.

    Line ends at the end of a variable's value are dropped: a Secret made of a file has the file's.

    Raises:
        InvalidConfiguration: the text or a value is missing or cannot work; one sentence that names class and
            field, and no value.
        Unreachable: the API server does not answer.
    """
    given = given_values(node_class.spec.kubelet, order)
    try:
        text, variables = await _read(cluster, node_class)
        rendered = render(text, given, variables)
        _check_document(rendered)
    except InvalidConfiguration as error:
        raise InvalidConfiguration(f"HetznerNodeClass {node_class.metadata.name}: {error}") from None
    return rendered


async def check(cluster: Cluster, node_class: HetznerNodeClass) -> Completeness:
    """Do all that `user_data_of` does, for a server that nobody has ordered; return whether the text shows all it must.

    Raises:
        InvalidConfiguration: as `user_data_of`.
        Unreachable: as `user_data_of`.
    """
    return completeness(await user_data_of(cluster, node_class, _SAMPLE), _SAMPLE)


def given_values(kubelet: HetznerKubelet, order: ServerOrder) -> dict[str, str]:
    """Return the values of the variables that Growth gives, by name.

    Raises:
        InvalidConfiguration: a label or taint of the order has characters that labels and taints cannot have.
    """
    # What plans count on, whether or not a cloud-controller-manager and Hetzner's CSI driver are there to set it.
    labels = {
        LABEL_INSTANCE_TYPE: order.server_type,
        LABEL_REGION: order.location,
        LABEL_CSI_LOCATION: order.location,
        LABEL_PROVIDED_BY: "cloud",
        **order.node_labels,
    }
    return {
        "k3s.args": k3s_args(kubelet, labels, order.node_taints),
        "kubelet.args": kubelet_args(kubelet, labels, order.node_taints),
        "location": order.location,
        "node.labels": label_list(labels),
        "node.name": order.name,
        "node.pool": order.node_labels.get(LABEL_POOL, ""),
        "node.taints": taint_list(order.node_taints),
        "server.type": order.server_type,
    }


def render(text: str, given: Mapping[str, str], variables: Mapping[str, str]) -> str:
    """Return the text with each `{{ name }}` replaced by the value of that name and each `{{{{` by `{{`.

    One pass: braces within a value stay as they are.

    Args:
        text: with variables.
        given: values that Growth gives.
        variables: values of the class's own variables; each must be used.

    Raises:
        InvalidConfiguration: a variable has no value, two values or no use, Nodes would not be told their taints,
            or the result is too long; names the field.
    """
    _check_names(text, given, variables)
    values = {**given, **variables}
    rendered = _BRACES.sub(lambda found: values[found["name"]] if found["name"] else "{{", text)
    size = len(rendered.encode())
    if size > LONGEST_USER_DATA:
        raise InvalidConfiguration(
            f"{_FIELD}: with its variables filled in, the text has {size} bytes: Hetzner takes at most "
            f"{LONGEST_USER_DATA}"
        )
    return rendered


def _check_names(text: str, given: Mapping[str, str], variables: Mapping[str, str]) -> None:
    used: set[str] = set()
    for braces in _BRACES.finditer(text):
        if braces["name"]:
            used.add(braces["name"])
        elif braces[0] != "{{{{":
            line = text.count("\n", 0, braces.start()) + 1
            raise InvalidConfiguration(
                f"{_FIELD}: line {line} of the text has braces that are no variable: "
                "write {{{{ where {{ itself is meant"
            )
    for name in sorted(variables):
        if name in given:
            raise InvalidConfiguration(f"{_VARIABLES}.{name}: Growth gives a variable of this name itself")
    for name in sorted(used):
        if name not in given and name not in variables:
            raise InvalidConfiguration(_unknown(name, [*given, *variables]))
    for name, value in sorted(variables.items()):
        if name not in used:
            raise InvalidConfiguration(f"{_VARIABLES}.{name}: the text does not use this variable")
        if "\0" in value:
            raise InvalidConfiguration(f"{_VARIABLES}.{name}: its value has a NUL character")
    if "\0" in text:
        raise InvalidConfiguration(f"{_FIELD}: the text has a NUL character")
    if used.isdisjoint(_TELLING_TAINTS):
        first, second, third = (f"{{{{ {name} }}}}" for name in _TELLING_TAINTS)
        raise InvalidConfiguration(
            f"{_FIELD}: the text uses none of {first}, {second} and {third}, "
            "so that machines would take pods before they are registered"
        )


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean {close[0]}?" if close else "for braces of cloud-init's own, write {{{{ for {{"
    return f"{_FIELD}: the text uses the variable {name}, which neither Growth nor {_VARIABLES} gives: {advice}"


def _check_document(rendered: str) -> None:
    """Refuse a cloud-config that cloud-init cannot read: it would boot the machine and do nothing else.

    Raises:
        InvalidConfiguration: it is no YAML, or no mapping.
    """
    if not rendered.startswith(_CLOUD_CONFIG):
        return
    try:
        document = yaml.safe_load(rendered)
    except (yaml.YAMLError, ValueError) as error:
        # What the parser says quotes the text, and with it values.
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}"
        raise InvalidConfiguration(
            f"{_FIELD}: with its variables filled in, the text is not valid YAML{where}: "
            "a value of several lines must be coded, such as in base64"
        ) from None
    if not isinstance(document, dict):
        raise InvalidConfiguration(f"{_FIELD}: a text that begins with {_CLOUD_CONFIG} must be a mapping in YAML")


async def _read(cluster: Cluster, node_class: HetznerNodeClass) -> tuple[str, dict[str, str]]:
    """Return the text, and the values of the class's own variables."""
    source = _Source(cluster)
    user_data = node_class.spec.user_data
    text = await source.text(_FIELD, user_data.template, user_data.secret_key_ref, user_data.config_map_key_ref)
    variables: dict[str, str] = {}
    for name, variable in sorted(user_data.variables.items()):
        value = await source.text(
            f"{_VARIABLES}.{name}", variable.value, variable.secret_key_ref, variable.config_map_key_ref
        )
        variables[name] = value.rstrip("\r\n")
    return text, variables


class _Source:
    """Texts that stand in the class, in Secrets or in ConfigMaps; reads each object once, so that its keys agree."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._objects: dict[tuple[str, str, str], Object] = {}

    async def text(self, field: str, written: str | None, secret: KeyRef | None, config_map: KeyRef | None) -> str:
        """Return the one text that is given.

        Raises:
            InvalidConfiguration: the object or its key is missing or may not be read; names the field.
        """
        if secret is not None:
            value = secret_value(await self._object(f"{field}.secretKeyRef", SECRETS, secret), secret.key)
            return _present(value, f"{field}.secretKeyRef", SECRETS, secret)
        if config_map is not None:
            data = (await self._object(f"{field}.configMapKeyRef", CONFIG_MAPS, config_map)).get("data") or {}
            return _present(data.get(config_map.key), f"{field}.configMapKeyRef", CONFIG_MAPS, config_map)
        return written or ""

    async def _object(self, field: str, resource: Resource, ref: KeyRef) -> Object:
        key = (resource.kind, ref.namespace, ref.name)
        if key not in self._objects:
            try:
                self._objects[key] = await self._cluster.get(resource, ref.name, namespace=ref.namespace)
            except NotFound:
                raise InvalidConfiguration(
                    f"{field}: {resource.kind} {ref.namespace}/{ref.name} does not exist"
                ) from None
            except Forbidden as error:
                raise InvalidConfiguration(
                    f"{field}: {missing_right(error, resource, ref.namespace, ref.name)}"
                ) from None
            except Rejected as error:
                raise InvalidConfiguration(f"{field}: {error}") from None
        return self._objects[key]


def _present(text: str | None, field: str, resource: Resource, ref: KeyRef) -> str:
    if text is None:
        raise InvalidConfiguration(
            f"{field}: {resource.kind} {ref.namespace}/{ref.name} has no text under key {ref.key}"
        )
    return text
