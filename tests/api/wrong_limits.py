"""Wrong limits of a pool in cores, memory and money."""

from typing import Any

from tests.api.objects import pool
from tests.api.refusals import Refusal

_CPU = 'must be a number of cores above 0, such as 32, "1.5" or "500m"'
_MEMORY = 'must be a quantity above 0 with a unit, such as "64Gi"'
_MONEY = 'must be a decimal number above 0 in quotes and without a currency, such as "0.25"'
_NO_MAX = "the pool has no max: set limits.max, or max on every server type"


def _wrong(name: str, value: Any, says: str) -> Refusal:
    given = pool({"name": "a"}, limits={"max": 9, name: value})
    return Refusal(given, f"spec.limits.{name}: {str(value)!r} {says}", says)


WRONG_LIMITS = {
    "cores in words": _wrong("cpu", "lots", _CPU),
    "no cores": _wrong("cpu", 0, _CPU),
    "no cores, as text": _wrong("cpu", "0", _CPU),
    "less than no cores": _wrong("cpu", -4, _CPU),
    "less than no cores, as text": _wrong("cpu", "-4", _CPU),
    "thousandths that are none": _wrong("cpu", "0.0001", _CPU),
    "cores with a unit of memory": _wrong("cpu", "4Gi", _CPU),
    "more cores than can be": _wrong("cpu", 1_000_000_000, _CPU),
    "memory without a unit": _wrong("memory", "64", _MEMORY),
    "no memory": _wrong("memory", "0Gi", _MEMORY),
    "memory below nothing": _wrong("memory", "-1Gi", _MEMORY),
    "memory in thousandths of bytes": _wrong("memory", "64m", _MEMORY),
    "money with its currency": _wrong("pricePerHour", "5 EUR", _MONEY),
    "no money": _wrong("pricePerHour", "0", _MONEY),
    "no money, with decimals": _wrong("pricePerHour", "0.00", _MONEY),
    "less than no money": _wrong("pricePerHour", "-0.5", _MONEY),
    "money with ten decimals": _wrong("pricePerHour", "0.0000000001", _MONEY),
    "money as a number": Refusal(
        pool({"name": "a"}, limits={"max": 9, "pricePerHour": 5}),
        "spec.limits.pricePerHour: must be text, not 5",
        "must be of type string",
        by_rule=False,
    ),
    "cores are no max": Refusal(pool({"name": "a"}, limits={"cpu": 9}), f"spec: {_NO_MAX}", _NO_MAX),
}
"""max stays required beside all of them."""
