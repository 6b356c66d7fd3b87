"""Wrong entries of a pool's serverTypes, and of the locations and annotations of its machines."""

from typing import Any

from tests.api.objects import pool
from tests.api.refusals import Refusal

_ONE_OF = "give exactly one of name, pattern and requirements"
_MIN = "min is only for an entry with a name"
_ONE_VALUE = "Gt, Gte, Lt and Lte take exactly one value"
_NO_ORDER = "architecture and dedicated take the operators In and NotIn only"
_NO_LIST = "price takes the operators Gt, Gte, Lt and Lte only"
_MEMORY = 'memory must be quantities with a unit, such as "4Gi"'
_CORES = 'cores must be whole numbers in quotes, such as "4"'
_PRICE = 'price must be decimal numbers per hour in the currency of the class, in quotes, such as "0.0106"'
_TWICE = "each location may stand only once"
_PATTERN = (
    'must be a name in which "*" is any text and "?" one character, such as "cx*":'
    ' letters, digits, "-", "_" and ".", at most 63 in all'
)
_VALUE = 'must be letters, digits, "-", "_" and ".", at most 63, starting and ending with a letter or digit'
_KUBERNETES = "keys of kubernetes.io/ and k8s.io/, and of domains that end so, say what others have done"
_OWN_KEYS = "keys under growth.dev/ are Growth's own"
_KEY = 'must be a label key, such as "team" or "example.com/team"'
_WHERE = "spec.serverTypes[0]"
_FIRST = f"{_WHERE}.requirements[0]"
CORES = {"key": "cores", "operator": "Gte", "values": ["4"]}


def _entry(fault: str, **fields: Any) -> Refusal:
    return Refusal(pool({"max": 1, **fields}), f"{_WHERE}: {fault}", fault)


def _annotation(key: str, fault: str, says: str, value: str = "a", *, by_rule: bool = True) -> Refusal:
    given = pool(template={"annotations": {key: value}})
    return Refusal(given, f"spec.template.annotations: {fault}", says, by_rule=by_rule)


def _requirement(key: str, operator: str, *values: Any, fault: str, says: str = "", by_rule: bool = True) -> Refusal:
    given = pool({"max": 1, "requirements": [{"key": key, "operator": operator, "values": list(values)}]})
    separator = "" if fault.startswith((".", "[")) else ": "
    return Refusal(given, f"{_FIRST}{separator}{fault}", says or fault, by_rule=by_rule)


WRONG_SERVER_TYPES = {
    "an entry for nothing": _entry(_ONE_OF),
    "a name and a pattern": _entry(_ONE_OF, name="a", pattern="a*"),
    "a name and requirements": _entry(_ONE_OF, name="a", requirements=[CORES]),
    "a pattern and requirements": _entry(_ONE_OF, pattern="a*", requirements=[CORES]),
    "a minimum of a pattern": _entry(_MIN, pattern="a*", min=1),
    "a minimum of requirements": _entry(_MIN, requirements=[CORES], min=1),
    "a pattern as in a shell": Refusal(
        pool({"pattern": "cx[12]", "max": 1}), f"{_WHERE}.pattern: 'cx[12]' {_PATTERN}", _PATTERN
    ),
    "an empty pattern": Refusal(pool({"pattern": "", "max": 1}), f"{_WHERE}.pattern: '' {_PATTERN}", _PATTERN),
    "a pattern that is too long": Refusal(
        pool({"pattern": "c" * 64, "max": 1}), f"{_WHERE}.pattern: '{'c' * 64}' {_PATTERN}", _PATTERN
    ),
    "no requirement": Refusal(
        pool({"requirements": [], "max": 1}),
        f"{_WHERE}.requirements: must have at least 1 entry",
        "should have at least 1 items",
        by_rule=False,
    ),
    "too many requirements": Refusal(
        pool({"requirements": [CORES] * 11, "max": 1}),
        f"{_WHERE}.requirements: must have at most 10 entries, not 11",
        "must have at most 10 items",
        by_rule=False,
    ),
    "a requirement on the disk": _requirement(
        "disk",
        "Gte",
        "40Gi",
        fault=".key: must be 'architecture', 'cores', 'memory', 'dedicated' or 'price', not 'disk'",
        says='supported values: "architecture", "cores", "memory", "dedicated", "price"',
        by_rule=False,
    ),
    "an operator of Karpenter": _requirement(
        "cores",
        "Exists",
        "4",
        fault=".operator: must be 'In', 'NotIn', 'Gt', 'Gte', 'Lt' or 'Lte', not 'Exists'",
        says='supported values: "In", "NotIn", "Gt", "Gte", "Lt", "Lte"',
        by_rule=False,
    ),
    "a requirement without values": _requirement(
        "cores",
        "In",
        fault=".values: must have at least 1 entry",
        says="should have at least 1 items",
        by_rule=False,
    ),
    "a number as a value": _requirement(
        "cores", "Gte", 4, fault=".values[0]: must be text, not 4", says="must be of type string", by_rule=False
    ),
    "a value of a page": _requirement(
        "cores",
        "In",
        "1" * 33,
        fault=".values[0]: must have at most 32 characters",
        says="may not be more than 32",
        by_rule=False,
    ),
    "more than two cores and three": _requirement("cores", "Gt", "2", "3", fault=_ONE_VALUE),
    "half a core": _requirement("cores", "Gt", "0.5", fault=f"'0.5': {_CORES}", says=_CORES),
    "millicores": _requirement("cores", "In", "2", "4000m", fault=f"'4000m': {_CORES}", says=_CORES),
    "memory without a unit": _requirement("memory", "Gte", "4", fault=f"'4': {_MEMORY}", says=_MEMORY),
    "memory in thousandths": _requirement("memory", "Lte", "4000m", fault=f"'4000m': {_MEMORY}", says=_MEMORY),
    "memory below nothing": _requirement("memory", "Lte", "-4Gi", fault=f"'-4Gi': {_MEMORY}", says=_MEMORY),
    "an architecture in order": _requirement("architecture", "Gt", "amd64", fault=_NO_ORDER),
    "an unknown architecture": _requirement(
        "architecture",
        "In",
        "arm64",
        "x86",
        fault="'x86': architecture is amd64 or arm64",
        says="architecture is amd64 or arm64",
    ),
    "dedicated in order": _requirement("dedicated", "Lte", "true", fault=_NO_ORDER),
    "dedicated by another word": _requirement(
        "dedicated", "In", "yes", fault='\'yes\': dedicated is "true" or "false", in quotes', says="dedicated is"
    ),
    "a list of prices": _requirement("price", "In", "0.01", fault=_NO_LIST),
    "a price with its currency": _requirement("price", "Lt", "0.01 EUR", fault=f"'0.01 EUR': {_PRICE}", says=_PRICE),
    "a location twice in an entry": Refusal(
        pool({"name": "a", "max": 1, "locations": ["x", "x"]}),
        f"{_WHERE}.locations: {_TWICE}",
        'Duplicate value: "x"',
        by_rule=False,
    ),
    "a location twice in a pool": Refusal(
        pool(locations=["x", "y", "x"]), f"spec.locations: {_TWICE}", 'Duplicate value: "x"', by_rule=False
    ),
    "a list of no location": Refusal(
        pool(locations=[]), "spec.locations: must have at least 1 entry", "should have at least 1 items", by_rule=False
    ),
    "locations in parts, as once proposed": Refusal(
        pool({"name": "a", "max": 1, "locations": [{"region": "fsn1"}]}),
        f"{_WHERE}.locations[0]: must be text, not a mapping",
        'unknown field "spec.serverTypes[0].locations[0].region"',
        by_rule=False,
    ),
    "an annotation of Growth": _annotation("growth.dev/pool", f"'growth.dev/pool': {_OWN_KEYS}", _OWN_KEYS),
    "an annotation of Kubernetes": _annotation("k8s.io/x", f"'k8s.io/x': {_KUBERNETES}", _KUBERNETES),
    "an annotation of kubelets": _annotation(
        "node.alpha.kubernetes.io/ttl", f"'node.alpha.kubernetes.io/ttl': {_KUBERNETES}", _KUBERNETES
    ),
    "an annotation of KWOK": _annotation("kwok.x-k8s.io/node", f"'kwok.x-k8s.io/node': {_KUBERNETES}", _KUBERNETES),
    "an annotation without a name": _annotation("example.com/", f"'example.com/' {_KEY}", _KEY.removeprefix("must ")),
    "a page of an annotation": _annotation(
        "note",
        "note: the value must have at most 1024 characters",
        "may not be more than 1024",
        value="a" * 1025,
        by_rule=False,
    ),
    "a location with a slash": Refusal(pool(locations=["a/b"]), f"spec.locations[0]: 'a/b' {_VALUE}", _VALUE),
}
