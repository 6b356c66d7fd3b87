"""Wrong objects, and what is said of each: by `api.model`, and by the API server."""

from dataclasses import dataclass

from tests.api.objects import MACHINE, SMALL, Object, node_class, pool, removal, request

_DNS_40 = 'must be lower-case letters, digits and "-", at most 40, starting and ending with a letter or digit'
_DNS_63 = _DNS_40.replace("40", "63")
_VALUE = 'must be letters, digits, "-", "_" and ".", at most 63, starting and ending with a letter or digit'
_DURATION = 'must be a number with a unit, such as "30s", "10m" or "1h30m"'
_PRICE = 'must be a decimal number in quotes, such as "0.0106", with at most nine digits on either side'
_KIND = "must be the name of a kind, such as HetznerNodeClass: letters and digits, at most 63, starting with a capital"
_QUANTITY = 'must be a number that is not negative, with a Kubernetes suffix such as "500m", "2" or "4Gi"'
_OVERHEAD = "overhead may name only resources of capacity, and not more of them"
_NO_MAX = "the pool has no max: set limits.max, or max on every server type"
_OWN_KEYS = "keys under growth.dev/ are Growth's own"
_TAINT = {"key": "team", "effect": "NoSchedule"}
_LABEL = 'must be a label key, such as "team" or "example.com/team"'


@dataclass(frozen=True)
class Refusal:
    """A wrong object.

    Attributes:
        fault: what reading says after the object's name; all of it.
        says: part of the API server's message.
        by_rule: the API server's message is that of a CEL rule.
    """

    given: Object
    fault: str
    says: str
    by_rule: bool = True


def _scale_up(**fields) -> Object:
    return pool(scaleUp=fields)


REFUSALS = {
    # bounds of a pool
    "no max": Refusal(pool({"name": "a"}), f"spec: {_NO_MAX}", _NO_MAX),
    "no max, written as null": Refusal(pool({"name": "a", "max": None}), f"spec: {_NO_MAX}", _NO_MAX),
    "min above max": Refusal(
        pool({"name": "a", "min": 3, "max": 2}), "spec.serverTypes[0]: min 3 is above max 2", "min is above max"
    ),
    "limits min above max": Refusal(
        pool({"name": "a"}, limits={"min": 3, "max": 2}), "spec.limits: min 3 is above max 2", "min is above max"
    ),
    "mins above limits.max": Refusal(
        pool({"name": "a", "min": 2}, {"name": "b", "min": 2}, limits={"max": 3}),
        "spec: the sum of min over serverTypes is above limits.max",
        "the sum of min over serverTypes is above limits.max",
    ),
    "limits.min out of reach": Refusal(
        pool({"name": "a", "max": 2}, {"name": "b", "max": 2}, limits={"min": 5}),
        "spec: limits.min is above the sum of max over serverTypes",
        "limits.min is above the sum of max over serverTypes",
    ),
    "max of zero": Refusal(
        pool({"name": "a", "max": 0}),
        "spec.serverTypes[0].max: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    "max as text": Refusal(
        pool({"name": "a", "max": "3"}),
        "spec.serverTypes[0].max: must be a whole number, not '3'",
        "must be of type integer",
        by_rule=False,
    ),
    "max as truth": Refusal(
        pool({"name": "a", "max": True}),
        "spec.serverTypes[0].max: must be a whole number, not true",
        "must be of type integer",
        by_rule=False,
    ),
    "a fraction of a machine": Refusal(
        pool({"name": "a", "max": 2.5}),
        "spec.serverTypes[0].max: must be a whole number, not 2.5",
        "must be of type integer",
        by_rule=False,
    ),
    # the rest of a pool
    "no server types": Refusal(
        pool() | {"spec": {"serverTypes": []}},
        "spec.serverTypes: must have at least 1 entry",
        "should have at least 1 items",
        by_rule=False,
    ),
    "server types missing": Refusal(
        pool() | {"spec": {}}, "spec.serverTypes: is missing", "spec.serverTypes: Required value", by_rule=False
    ),
    "no spec": Refusal(pool() | {"spec": None}, "spec: is missing", "spec: Required value", by_rule=False),
    "the same type twice": Refusal(
        pool(SMALL, {"name": "cax11", "max": 1}),
        "spec.serverTypes: each name may stand only once (upper and lower case are the same)",
        "each name may stand only once (upper and lower case are the same)",
    ),
    "type name with a space": Refusal(
        pool({"name": "a b", "max": 1}), f"spec.serverTypes[0].name: 'a b' {_VALUE}", _VALUE
    ),
    "unknown field": Refusal(
        pool({"name": "a", "maximum": 1, "max": 2}),
        "spec.serverTypes[0].maximum: no such field; did you mean max?",
        'unknown field "spec.serverTypes[0].maximum"',
        by_rule=False,
    ),
    "unknown field, and more faults": Refusal(
        pool({"name": "a b", "max": 1}, scaleup={}, foo=1),
        f"spec.serverTypes[0].name: 'a b' {_VALUE} (and 2 more)",
        'unknown field "spec.foo", unknown field "spec.scaleup"',
        by_rule=False,
    ),
    "unknown field of the object": Refusal(
        pool() | {"zebra": 1}, "zebra: no such field", 'unknown field "zebra"', by_rule=False
    ),
    "duration without unit": Refusal(
        _scale_up(joinTimeout="10"), f"spec.scaleUp.joinTimeout: '10' {_DURATION}", f"{_DURATION}, longer than zero"
    ),
    "duration as number": Refusal(
        _scale_up(joinTimeout=10),
        f"spec.scaleUp.joinTimeout: 10 {_DURATION}",
        "must be of type string",
        by_rule=False,
    ),
    "duration of nothing": Refusal(
        _scale_up(unavailableTTL="0s"), "spec.scaleUp.unavailableTTL: must be longer than zero", "longer than zero"
    ),
    "eleven years": Refusal(
        pool(scaleDown={"idleAfter": "96360h"}),
        "spec.scaleDown.idleAfter: '96360h' is too long: at most ten years (87600h)",
        "at most ten years",
    ),
    "first wait longer than the longest": Refusal(
        _scale_up(podBackoff={"base": "2h"}),
        "spec.scaleUp.podBackoff: base is longer than max",
        "base is longer than max",
    ),
    "mode that does not exist": Refusal(
        pool(scaleDown={"mode": "evict"}),
        "spec.scaleDown.mode: must be 'empty', 'wait', 'drain' or 'none', not 'evict'",
        'supported values: "empty", "wait", "drain", "none"',
        by_rule=False,
    ),
    "an emptyDir that is neither evicted nor kept": Refusal(
        pool(scaleDown={"mode": "drain", "emptyDir": "ignore"}),
        "spec.scaleDown.emptyDir: must be 'evict' or 'keep', not 'ignore'",
        'supported values: "evict", "keep"',
        by_rule=False,
    ),
    "a deadline for drains without unit": Refusal(
        pool(scaleDown={"mode": "drain", "hardGrace": "30"}),
        f"spec.scaleDown.hardGrace: '30' {_DURATION}",
        f"{_DURATION}, longer than zero",
    ),
    "no time at all for drains": Refusal(
        pool(scaleDown={"mode": "drain", "hardGrace": "0s"}),
        "spec.scaleDown.hardGrace: must be longer than zero",
        "longer than zero",
    ),
    "a saving of all that a machine costs": Refusal(
        pool(scaleDown={"mode": "drain", "consolidate": {"minSavingPercent": 100}}),
        "spec.scaleDown.consolidate.minSavingPercent: must be 0 to 99: "
        "what carries the pods instead always costs something",
        "must be 0 to 99: what carries the pods instead always costs something",
    ),
    "no pod that a step may move": Refusal(
        pool(scaleDown={"mode": "drain", "consolidate": {"maxMovedPods": 0}}),
        "spec.scaleDown.consolidate.maxMovedPods: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    **{
        f"{field}, {name}": Refusal(
            pool(scaleDown={"mode": "drain", field: value}),
            f"spec.scaleDown.{field}: {told}",
            refused,
        )
        for field in ("drainTimeout", "terminationGracePeriod")
        for name, value, told, refused in (
            ("without unit", "30", f"'30' {_DURATION}", f"{_DURATION}, longer than zero"),
            ("no time at all", "0s", "must be longer than zero", "longer than zero"),
        )
    },
    "truth as text": Refusal(
        _scale_up(reserve="yes"),
        "spec.scaleUp.reserve: must be true or false, not 'yes'",
        "must be of type boolean",
        by_rule=False,
    ),
    "label of our own": Refusal(
        pool(template={"labels": {"growth.dev/pool": "x"}}),
        f"spec.template.labels: 'growth.dev/pool': {_OWN_KEYS}",
        _OWN_KEYS,
    ),
    "label key with a space": Refusal(
        pool(template={"labels": {"a b": "x"}}), f"spec.template.labels: 'a b' {_LABEL}", f"each key {_LABEL}"
    ),
    "label value with a space": Refusal(
        pool(template={"labels": {"team": "a b"}}),
        f"spec.template.labels: team: 'a b' {_VALUE.replace('must be', 'must be empty or')}",
        _VALUE.replace("must be", "must be empty or"),
    ),
    "label value as number": Refusal(
        pool(template={"labels": {"team": 1}}),
        "spec.template.labels.team: must be text, not 1",
        "must be of type string",
        by_rule=False,
    ),
    "labels as list": Refusal(
        pool(template={"labels": ["team"]}),
        "spec.template.labels: must be a mapping, not a list",
        "must be of type object",
        by_rule=False,
    ),
    "the same taint twice": Refusal(
        pool(template={"taints": [_TAINT, _TAINT | {"value": "x"}]}),
        "spec.template.taints: each key and effect may stand only once",
        "each key and effect may stand only once",
    ),
    "taint of our own": Refusal(
        pool(template={"taints": [_TAINT | {"key": "growth.dev/x"}]}),
        f"spec.template.taints[0].key: 'growth.dev/x': {_OWN_KEYS}",
        _OWN_KEYS,
    ),
    "pool name too long": Refusal(pool(name="a" * 41), f"metadata.name: '{'a' * 41}' {_DNS_40}", _DNS_40),
    "pool name with a dot": Refusal(pool(name="a.b"), f"metadata.name: 'a.b' {_DNS_40}", _DNS_40),
    "no name": Refusal(
        pool() | {"metadata": {}},
        "metadata.name is missing",
        "metadata.name: Required value",
        by_rule=False,
    ),
    # node class
    "capacity without memory": Refusal(
        node_class(MACHINE | {"capacity": {"cpu": 1}}),
        "spec.serverTypes[0].capacity: cpu and memory are needed",
        "cpu and memory are needed",
    ),
    "negative capacity": Refusal(
        node_class(MACHINE | {"capacity": {"cpu": "-1", "memory": "1"}}),
        f"spec.serverTypes[0].capacity.cpu: '-1' {_QUANTITY}",
        _QUANTITY,
    ),
    "capacity in gigabytes": Refusal(
        node_class(MACHINE | {"capacity": {"cpu": 1, "memory": "4 GB"}}),
        f"spec.serverTypes[0].capacity.memory: '4 GB' {_QUANTITY}",
        _QUANTITY,
    ),
    "capacity as fraction": Refusal(
        node_class(MACHINE | {"capacity": {"cpu": 0.5, "memory": 1}}),
        'spec.serverTypes[0].capacity.cpu: 0.5 must be written in quotes, as "0.5":'
        " the API server takes no bare fractions here",
        "must be of type integer,string",
        by_rule=False,
    ),
    "overhead above capacity": Refusal(
        node_class(MACHINE | {"overhead": {"cpu": "2001m"}}), f"spec.serverTypes[0]: {_OVERHEAD}", _OVERHEAD
    ),
    "overhead of what is not there": Refusal(
        node_class(MACHINE | {"overhead": {"pods": 1}}), f"spec.serverTypes[0]: {_OVERHEAD}", _OVERHEAD
    ),
    "price as number": Refusal(
        node_class(MACHINE | {"pricePerHour": 0.01}),
        f"spec.serverTypes[0].pricePerHour: 0.01 {_PRICE}",
        "must be of type string",
        by_rule=False,
    ),
    "price with exponent": Refusal(
        node_class(MACHINE | {"pricePerHour": "1e3"}), f"spec.serverTypes[0].pricePerHour: '1e3' {_PRICE}", _PRICE
    ),
    "currency in words": Refusal(
        node_class(currency="euro"),
        "spec.currency: 'euro' must be three capital letters, such as \"EUR\"",
        "must be three capital letters",
    ),
    "the same machine twice": Refusal(
        node_class(MACHINE, MACHINE | {"name": "CAX11"}),
        "spec.serverTypes: each name may stand only once (upper and lower case are the same)",
        "each name may stand only once (upper and lower case are the same)",
    ),
    "the same location twice": Refusal(
        node_class(MACHINE | {"locations": [{"name": "x"}, {"name": "x"}]}),
        "spec.serverTypes[0].locations: each name may stand only once",
        "each name may stand only once",
    ),
    "class name with a dot": Refusal(node_class(name="a.b"), f"metadata.name: 'a.b' {_DNS_63}", _DNS_63),
    # requests and removals
    "request name with a dot": Refusal(request("a.b"), f"metadata.name: 'a.b' {_DNS_63}", _DNS_63),
    "request without server type": Refusal(request(serverType=""), f"spec.serverType: '' {_VALUE}", _VALUE),
    "request for no pool's name": Refusal(request(pool="A"), f"spec.pool: 'A' {_DNS_40}", _DNS_40),
    "class of a kind that can be none": Refusal(
        request(classRef={"kind": "node class", "name": "default"}), f"spec.classRef.kind: 'node class' {_KIND}", _KIND
    ),
    "class of a plural": Refusal(
        pool(template={"classRef": {"kind": "kwoknodeclasses"}}),
        f"spec.template.classRef.kind: 'kwoknodeclasses' {_KIND}",
        _KIND,
    ),
    "seat without uid": Refusal(
        request(reservedFor=[{"namespace": "a", "name": "b"}]),
        "spec.reservedFor[0].uid: is missing",
        "spec.reservedFor[0].uid: Required value",
        by_rule=False,
    ),
    "removal of another name": Refusal(
        removal(serverName="other"),
        "metadata.name: a removal has the name of its server (spec.serverName), so that there is one for each",
        "a removal has the name of its server (spec.serverName), so that there is one for each",
    ),
    "removal for a sentence": Refusal(
        removal(reason="too old"),
        "spec.reason: 'too old' must be one CamelCase word of at most 64 letters, such as \"Requested\"",
        "must be one CamelCase word",
    ),
}
