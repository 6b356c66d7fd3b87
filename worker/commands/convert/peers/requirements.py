"""Karpenter's requirements as server types, locations and labels of a pool.

Source: karpenter.sh/docs/concepts/nodepools, "spec.template.spec.requirements", and "scheduling", well-known labels.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter

from api.names import Labels, LabelValue
from worker.commands.convert.fields import BadSetting, Fields, quoted
from worker.commands.convert.pools import ANY_TYPE, TYPES_ARE_OF_ANOTHER_CLOUD, fault
from worker.commands.convert.tables.karpenter import REQUIREMENTS
from worker.commands.convert.writing import Json

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
_BOUNDS: Final = ("Gt", "Lt", "Gte", "Lte")
_MOST_VALUES: Final = 20
_MOST_REQUIREMENTS: Final = 10
_KEYS: Final = {"architecture": "^(amd64|arm64)$", "cores": "^[0-9]{1,6}$", "memory": "^[0-9]{1,9}$"}
_DATA_CENTRE: Final = re.compile("-dc[0-9]+$")
_VALUE: Final = TypeAdapter(LabelValue)
_LABEL: Final = TypeAdapter[dict[str, str]](Labels)
_OTHER_PLACES: Final = "places of another cloud: spec.locations names those of the class"


@dataclass(slots=True)
class RequiredTypes:
    """What a pool's requirements come to."""

    is_of_other_cloud: bool
    """Whether names of types and places are those of a cloud that Growth has no class of."""
    names: list[str] = field(default_factory=list)
    requirements: list[Json] = field(default_factory=list)
    locations: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def server_types(self) -> list[Json]:
        """Return the entries of serverTypes."""
        if self.names:
            return [{"name": name} for name in self.names]
        return [{"requirements": self.requirements}] if self.requirements else [dict(ANY_TYPE)]


def read_requirements(spec: Fields, *, is_of_other_cloud: bool) -> RequiredTypes:
    """Return what the requirements come to; what cannot be said is remarked.

    Raises:
        BadSetting: one has no key, no operator that there is, or values that do not go with it.
    """
    choice = RequiredTypes(is_of_other_cloud)
    for each in spec.mappings("requirements"):
        key = each.text("key", is_required=True) or ""
        operator = each.text("operator", is_required=True) or ""
        if operator not in _OPERATORS:
            raise BadSetting(each.key_of("operator"), f"{quoted(operator)} must be one of {', '.join(_OPERATORS)}")
        values = [_text(where, value) for where, value in each.items("values")]
        if (operator in ("In", *_BOUNDS) and not values) or (operator in _BOUNDS and len(values) > 1):
            raise BadSetting(
                each.key_of("values"), f"{operator} takes {'one value' if operator in _BOUNDS else 'values'}"
            )
        _take(choice, each, key, operator, values)
    if choice.names and choice.requirements:
        spec.remarks.differs(
            spec.key_of("requirements"),
            "names of types say what is bought; architecture, cores and memory are left out",
        )
    if choice.server_types == [ANY_TYPE]:
        spec.remarks.differs(spec.key_of("requirements"), TYPES_ARE_OF_ANOTHER_CLOUD)
    return choice


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadSetting(where, f"{quoted(value)} must be text: put it in quotes")
    return value


def _take(choice: RequiredTypes, each: Fields, key: str, operator: str, values: Sequence[str]) -> None:
    """Add what one requirement says."""
    remarks = each.remarks
    where = f"{each.key} ({key} {operator})"
    row = REQUIREMENTS.get(key)
    if row is None:
        _add_label(choice, each, key, operator, values)
    elif row.becomes == "serverTypes[].requirements":
        _add_requirement(choice, each, operator, values, fact=row.why.split(",")[0])
    elif row.becomes == "serverTypes[].name":
        if choice.is_of_other_cloud:
            remarks.no_equal(where, "types of another cloud: serverTypes name those of the class")
        elif operator == "In":
            choice.names += [_name(each, value) for value in dict.fromkeys(values) if value.lower() not in choice.names]
        else:
            remarks.no_equal(where, "serverTypes name what may be bought, and not what may not")
    elif row.becomes == "locations":
        if choice.is_of_other_cloud:
            remarks.no_equal(where, _OTHER_PLACES)
        elif operator == "In":
            places = [_DATA_CENTRE.sub("", _name(each, value)) for value in values]
            choice.locations += [place for place in dict.fromkeys(places) if place not in choice.locations]
        else:
            remarks.no_equal(where, "spec.locations names where machines may be bought, and not where not")
    elif not _is_so_here(key, operator, values):
        remarks.no_equal(where, row.why)


def _name(each: Fields, value: str) -> str:
    reason = fault(_VALUE, value)
    if reason is not None:
        raise BadSetting(each.key_of("values"), f"{quoted(value)}: {reason}")
    return value.lower()


def _is_so_here(key: str, operator: str, values: Sequence[str]) -> bool:
    """Return whether each machine of Growth is so: Linux, and on demand."""
    if operator == "Exists":
        return True
    usual = "linux" if key.endswith("/os") else "on-demand" if key.endswith("capacity-type") else None
    return operator == "In" and list(values) == [usual]


def _add_requirement(choice: RequiredTypes, each: Fields, operator: str, values: Sequence[str], *, fact: str) -> None:
    where = f"{each.key} ({each.given['key']} {operator})"
    if operator in ("Exists", "DoesNotExist") or (fact == "architecture" and operator in _BOUNDS):
        each.remarks.no_equal(where, f"{fact} is known of each type: it is compared with values")
        return
    for value in values:
        if not re.fullmatch(_KEYS[fact], value):
            raise BadSetting(each.key_of("values"), f"{quoted(value)} is no {fact}")
    if not values or len(values) > _MOST_VALUES or len(choice.requirements) >= _MOST_REQUIREMENTS:
        each.remarks.no_equal(where, f"left out: at most {_MOST_VALUES} values and {_MOST_REQUIREMENTS} requirements")
        return
    texts = [f"{value}Mi" if fact == "memory" else value for value in dict.fromkeys(values)]
    choice.requirements.append({"key": fact, "operator": operator, "values": texts})


def _add_label(choice: RequiredTypes, each: Fields, key: str, operator: str, values: Sequence[str]) -> None:
    """Add a label of the user, which Karpenter puts on its Nodes: of several values it takes what a pod asks for."""
    where = f"{each.key} ({key} {operator})"
    if operator != "In" or len(values) > 1:
        each.remarks.no_equal(where, "each Node of a pool has the same labels: make a pool for each value")
        return
    reason = fault(_LABEL, {key: values[0]})
    if reason is None:
        choice.labels[key] = values[0]
    else:
        each.remarks.no_equal(where, f"left out: {reason}")
