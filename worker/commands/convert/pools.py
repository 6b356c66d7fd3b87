"""Pools and classes of ours as plain objects: their order, what all of them have, and labels and taints of peers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from api.keys import API_VERSION
from api.model import Model
from api.names import Annotations, Labels
from api.v1alpha1.node_pool import ClassRef, PoolTaint
from worker.commands.convert.fields import BadSetting, Fields, quoted
from worker.commands.convert.peer_setting import Remarks
from worker.commands.convert.writing import ConvertedObject, Json

_SPEC_ORDER: Final = (
    "serverTypes",
    "locations",
    "priority",
    "limits",
    "matchUnselectedPods",
    "paused",
    "template",
    "scaleUp",
    "scaleDown",
    "rotation",
    "health",
    "dryRun",
)
_LABELS: Final = TypeAdapter[dict[str, str]](Labels)
_ANNOTATIONS: Final = TypeAdapter[dict[str, str]](Annotations)
USUAL_MAX: Final = 50
"""Of a pool whose peer has no number: every pool has a max, and a person should see it."""
ANY_TYPE: Final[Json] = {"pattern": "*"}
"""Of a peer that does not say server types: every type of the class."""
TYPES_ARE_OF_ANOTHER_CLOUD: Final = (
    "it names no server type of ours, so the pool may buy every type of its class: name some"
)
PODS_OF_ALL_KINDS: Final = (
    "pods find the pool by these labels, as before; pods that select nothing may use it, too, unless a taint keeps them"
    " away or matchUnselectedPods is false"
)
_IMAGE: Final = "ubuntu-24.04"
_TO_FILL_IN: Final = "to fill in: the Secrets with API token and user data, and the image, as docs/hetzner.md says"
_NEEDS_A_RIGHT: Final = (
    'the worker needs the right to read this Secret: docs/operations.md, "Secrets that a class names"'
)


@dataclass(frozen=True, slots=True)
class ClassChoice:
    """Where machines shall come from."""

    given: ClassRef | None = None
    """The class that a person named; None if classes of Hetzner Cloud are written."""

    def ref(self, name: str) -> Json:
        """Return the reference to the class, of this name if none was given."""
        chosen = self.given or ClassRef(kind="HetznerNodeClass", name=name)
        return {"kind": chosen.kind, "name": chosen.name}


def pool(name: str, spec: Mapping[str, Any]) -> Json:
    """Return the NodePool with its fields in their order, without those that are empty."""
    ordered = {field: spec[field] for field in _SPEC_ORDER if spec.get(field) not in (None, {}, [])}
    return {"apiVersion": API_VERSION, "kind": "NodePool", "metadata": {"name": name}, "spec": ordered}


def some(**values: Any) -> Json:
    """Return the values that are given, by name."""
    return {name: value for name, value in values.items() if value is not None}


def hetzner_class(name: str, source: str, file: str, remarks: Remarks, **settings: Any) -> ConvertedObject:
    """Return a HetznerNodeClass: `settings` are fields of its spec; what no peer can say is to be filled in."""
    remarks.differs("HetznerNodeClass", _TO_FILL_IN)
    if "tokenSecretRef" in settings:
        remarks.differs("HCLOUD_TOKEN", _NEEDS_A_RIGHT)
    spec: Json = {
        "tokenSecretRef": {"namespace": "growth-system", "name": "hcloud", "key": "token"},
        "image": {"name": _IMAGE},
        **settings,
        "userData": {
            "secretKeyRef": {"namespace": "growth-system", "name": f"{name}-user-data", "key": "user-data"},
        },
    }
    item = {"apiVersion": API_VERSION, "kind": "HetznerNodeClass", "metadata": {"name": name}, "spec": spec}
    return ConvertedObject(item, source, file, remarks.entries)


def labels(fields: Fields, part: str) -> Json | None:
    """Return the labels that Nodes of a pool may have; the others are remarked.

    Raises:
        BadSetting: something else than a mapping of texts stands there.
    """
    return _accepted(fields, part, _LABELS)


def annotations(fields: Fields, part: str) -> Json | None:
    """Return the annotations that Nodes of a pool may have; the others are remarked.

    Raises:
        BadSetting: something else than a mapping of texts stands there.
    """
    return _accepted(fields, part, _ANNOTATIONS)


def _accepted(fields: Fields, part: str, form: TypeAdapter[dict[str, str]]) -> Json | None:
    value = fields.take(part)
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BadSetting(fields.key_of(part), f"{quoted(value)} must be a mapping")
    accepted: dict[str, str] = {}
    for key, text in value.items():
        where = f"{fields.key_of(part)}[{key}]"
        if not isinstance(text, str):
            raise BadSetting(where, f"{quoted(text)} must be text: put it in quotes")
        reason = fault(form, accepted | {str(key): text})
        if reason is None:
            accepted[str(key)] = text
        else:
            fields.remarks.no_equal(where, f"left out: {reason}")
    return accepted or None


def fault(form: TypeAdapter[Any], value: object) -> str | None:
    """Return what is wrong with a value; None if nothing is."""
    try:
        form.validate_python(value)
    except ValidationError as error:
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return None


def taints(fields: Fields, part: str) -> list[Json]:
    """Return the taints of a list, each key and effect once.

    Raises:
        BadSetting: one is none.
    """
    read: list[Json] = []
    for taint in fields.mappings(part):
        item = some(
            key=taint.text("key", is_required=True),
            value=taint.text("value"),
            effect=taint.text("effect", is_required=True),
        )
        taint.take("timeAdded")
        reason = fault(_of(PoolTaint), item)
        if reason is not None:
            raise BadSetting(taint.key, f"is no taint of a pool: {reason}")
        if any(other["key"] == item["key"] and other["effect"] == item["effect"] for other in read):
            raise BadSetting(taint.key, f"the taint {item['key']}:{item['effect']} stands twice")
        read.append(item)
    return read


def _of(model: type[Model]) -> TypeAdapter[Any]:
    return TypeAdapter(model)
