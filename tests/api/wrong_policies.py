"""Wrong policies of a pool: thresholds, locks, utilisation, schedules and health."""

from tests.api.objects import pool
from tests.api.refusals import Refusal

_LOWER = "lowerPercent must be below upperPercent"
_SLOW = "slow is above fast"
_FRACTION = "fraction is of samples of usage: set basis: usage, or leave it out"
_LONG_WINDOW = "usage is known for the last 45m at most: make the window no longer"
_NO_BOUND = "the window changes nothing: set min, max or both"
_CIRCLE = "scaleDown.group.upperPercent must be below scaleUp.thresholdPercent: else what is bought goes again"
_GROUP = {"lowerPercent": 10, "upperPercent": 40, "slow": 2, "fast": 5}
_DURATION = 'must be a number with a unit, such as "30s", "10m" or "1h30m"'


def _group(**fields: object) -> dict[str, object]:
    return {"group": {**_GROUP, **fields}}


WRONG_POLICIES = {
    "an estimator that there is not": Refusal(
        pool(scaleUp={"estimators": ["pods"]}),
        "spec.scaleUp.estimators[0]: must be 'binPack' or 'threshold', not 'pods'",
        "Unsupported value",
        by_rule=False,
    ),
    "an estimator twice": Refusal(
        pool(scaleUp={"estimators": ["binPack", "binPack"]}),
        "spec.scaleUp.estimators: each estimator may stand only once",
        "Duplicate value",
        by_rule=False,
    ),
    "a threshold of nothing": Refusal(
        pool(scaleUp={"thresholdPercent": 0}),
        "spec.scaleUp.thresholdPercent: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    "a lock that opens before it may": Refusal(
        pool(scaleUp={"lock": {"min": "10m", "max": "2m"}}),
        "spec.scaleUp.lock: min is longer than max",
        "min is longer than max",
    ),
    "a cool-down without a unit": Refusal(
        pool(scaleUp={"cooldown": "10"}), f"spec.scaleUp.cooldown: '10' {_DURATION}", _DURATION
    ),
    "a breaker that never closes": Refusal(
        pool(scaleUp={"breaker": {"failures": 0}}),
        "spec.scaleUp.breaker.failures: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    "lower above upper": Refusal(
        pool(scaleDown=_group(lowerPercent=90, upperPercent=70)), f"spec.scaleDown.group: {_LOWER}", _LOWER
    ),
    "lower that is upper": Refusal(pool(scaleDown=_group(lowerPercent=40)), f"spec.scaleDown.group: {_LOWER}", _LOWER),
    "slow above fast": Refusal(pool(scaleDown=_group(slow=6)), f"spec.scaleDown.group: {_SLOW}", _SLOW),
    "machines that go and come back": Refusal(
        pool(scaleUp={"estimators": ["threshold"], "thresholdPercent": 40}, scaleDown=_group()),
        f"spec: {_CIRCLE}",
        _CIRCLE,
    ),
    "machines that go and come back, by the usual threshold": Refusal(
        pool(scaleUp={"estimators": ["threshold"]}, scaleDown=_group(upperPercent=70)), f"spec: {_CIRCLE}", _CIRCLE
    ),
    "a share of a machine above all": Refusal(
        pool(scaleDown={"node": {"cpuPercent": 101}}),
        "spec.scaleDown.node.cpuPercent: must be at most 100, not 101",
        "should be less than or equal to 100",
        by_rule=False,
    ),
    "a fraction of samples where requests count": Refusal(
        pool(scaleDown={"node": {"fraction": 80}}), f"spec.scaleDown.node: {_FRACTION}", _FRACTION
    ),
    "a window of usage that nobody remembers": Refusal(
        pool(scaleDown={"node": {"basis": "usage", "window": "1h"}}),
        f"spec.scaleDown.node: {_LONG_WINDOW}",
        _LONG_WINDOW,
    ),
    "use of a kind that there is not": Refusal(
        pool(scaleDown={"node": {"basis": "load"}}),
        "spec.scaleDown.node.basis: must be 'requests' or 'usage', not 'load'",
        'supported values: "requests", "usage"',
        by_rule=False,
    ),
    "an order that there is not": Refusal(
        pool(scaleDown={"order": "newest"}),
        "spec.scaleDown.order: must be 'dearest', 'oldest' or 'leastUtilised', not 'newest'",
        "Unsupported value",
        by_rule=False,
    ),
    "a window without a bound": Refusal(
        pool(schedule=[{"start": "08:00", "end": "18:00"}]), f"spec.schedule[0]: {_NO_BOUND}", _NO_BOUND
    ),
    "a window with min above max": Refusal(
        pool(schedule=[{"min": 3, "max": 2}]), "spec.schedule[0]: min is above max", "min is above max"
    ),
    "a window that never opens": Refusal(
        pool(schedule=[{"start": "08:00", "end": "08:00", "min": 1}]),
        "spec.schedule[0]: start and end are the same, so the window never opens: leave both out for whole days",
        "start and end are the same, so the window never opens",
    ),
    "a window in words": Refusal(
        pool(schedule=[{"start": "8 o'clock", "end": "18:00", "min": 1}]),
        """spec.schedule[0].start: "8 o'clock" must be a time of day in quotes, from "00:00" to "23:59\"""",
        'must be a time of day in quotes, from "00:00" to "23:59"',
    ),
    "health that judges nobody": Refusal(
        pool(health={"grace": "10m", "newestPercent": 0}),
        "spec.health.newestPercent: must be at least 1, not 0",
        "should be greater than or equal to 1",
        by_rule=False,
    ),
    "health that never freezes": Refusal(
        pool(health={"grace": "10m", "newestPercent": 100, "maxUnhealthyPercent": 100}),
        "spec.health.maxUnhealthyPercent: must be at most 99, not 100",
        "should be less than or equal to 99",
        by_rule=False,
    ),
}
