"""Wrong headroom of a pool, and a wrong cutoff of the priorities that buy."""

from typing import Any, Final

from tests.api.objects import pool
from tests.api.refusals import Refusal

_SIZE: Final[dict[str, Any]] = {"cpu": "500m", "memory": "512Mi"}
_NOTHING: Final = "at least one resource must be above 0"
_FORM: Final = 'must be a number that is not negative, with a Kubernetes suffix such as "500m", "2" or "4Gi"'
_WHERE: Final = "spec.headroom[0]"


def _headroom(fault: str, says: str, *, by_rule: bool = True, **entry: Any) -> Refusal:
    given = pool({"name": "cx22", "max": 1}, headroom=[{"requests": _SIZE, "count": 1} | entry])
    return Refusal(given, f"{_WHERE}{fault}", says, by_rule=by_rule)


def _cutoff(value: Any, fault: str, says: str) -> Refusal:
    given = pool({"name": "cx22", "max": 1}, scaleUp={"expendablePriority": value})
    return Refusal(given, f"spec.scaleUp.expendablePriority: {fault}", says, by_rule=False)


WRONG_HEADROOM: Final = {
    "headroom of nothing": _headroom(f".requests: {_NOTHING}", _NOTHING, requests={}),
    "headroom of zero": _headroom(f".requests: {_NOTHING}", _NOTHING, requests={"cpu": "0"}),
    "headroom of less than nothing": _headroom(f".requests.cpu: '-1' {_FORM}", _FORM, requests={"cpu": "-1"}),
    "headroom of no pod": _headroom(
        ".count: must be at least 1, not 0", "should be greater than or equal to 1", by_rule=False, count=0
    ),
    "headroom of too many pods": _headroom(
        ".count: must be at most 1000, not 1001", "should be less than or equal to 1000", by_rule=False, count=1001
    ),
    "too many sizes of headroom": Refusal(
        pool({"name": "cx22", "max": 1}, headroom=[{"requests": _SIZE, "count": 1}] * 17),
        "spec.headroom: must have at most 16 entries, not 17",
        "must have at most 16 items",
        by_rule=False,
    ),
    "a cutoff above all pods of users": _cutoff(
        1_000_000_001, "must be at most 1000000000, not 1000000001", "should be less than or equal to 1000000000"
    ),
}
"""By what is wrong."""
