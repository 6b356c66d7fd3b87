"""Wrong budgets of a pool."""

from tests.api.objects import pool
from tests.api.refusals import Refusal

_NODES = 'must be a number of machines up to 99999 or a share of the pool\'s from "0%" to "100%"'
_TIME = 'must be a time of day in quotes, from "00:00" to "23:59"'
_ZONE = "must be a time zone of the IANA database, such as Europe/Berlin or UTC"
_FOR_EVER = (
    "0 nodes for all reasons at all times would keep every machine for ever: say scaleDown.mode: none for that, or"
    " pause the pool"
)
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_REASONS = ["Empty", "Consolidation", "Rotation", "Drift", "Repair", "OverMax", "Underused"]


def _budget(fault: str, told: str | None = None, *, by_rule: bool = True, **budget: object) -> Refusal:
    """Return a pool with this budget, one of two; `fault` begins with the field below it, if it is one's."""
    budgets = [{"nodes": 1}, budget]
    where = "spec.scaleDown.budgets[1]"
    return Refusal(
        pool(scaleDown={"budgets": budgets}),
        f"{where}{fault}",
        fault.partition(": ")[2] if told is None else told,
        by_rule=by_rule,
    )


WRONG_BUDGETS = {
    "budget of a fraction": _budget(f".nodes: '1.5' {_NODES}", _NODES, nodes="1.5"),
    "budget of more than all": _budget(f".nodes: '101%' {_NODES}", _NODES, nodes="101%"),
    "budget below zero": _budget(f".nodes: '-1' {_NODES}", _NODES, nodes=-1),
    "budget of a share below zero": _budget(f".nodes: '-5%' {_NODES}", _NODES, nodes="-5%"),
    "budget of too many": _budget(f".nodes: '100000' {_NODES}", _NODES, nodes=100_000),
    "budget of no number": _budget(f".nodes: '' {_NODES}", _NODES, nodes=""),
    "budget of unknown reasons": _budget(
        ".reasons[1]: must be 'Empty', 'Consolidation', 'Rotation', 'Drift', 'Repair', 'OverMax' or 'Underused',"
        " not 'Old'",
        "Unsupported value",
        by_rule=False,
        nodes=1,
        reasons=["Empty", "Old"],
    ),
    "budget for no reason": _budget(
        ".reasons: must have at least 1 entry", "at least 1 items", by_rule=False, nodes=1, reasons=[]
    ),
    "budget on unknown days": _budget(
        ".days[0]: must be 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat' or 'Sun', not 'monday'",
        "Unsupported value",
        by_rule=False,
        nodes=1,
        days=["monday"],
    ),
    "budget on no day": _budget(
        ".days: must have at least 1 entry", "at least 1 items", by_rule=False, nodes=1, days=[]
    ),
    "budget that starts at no time": _budget(f".start: '9:00' {_TIME}", _TIME, nodes=1, start="9:00", end="17:00"),
    "budget that ends at midnight": _budget(f".end: '24:00' {_TIME}", _TIME, nodes=1, start="09:00", end="24:00"),
    "budget without an end": _budget(": start and end are given together, or neither", nodes=1, start="09:00"),
    "budget without a start": _budget(": start and end are given together, or neither", nodes=1, end="09:00"),
    "budget that never opens": _budget(
        ": start and end are the same, so the window never opens: leave both out for whole days",
        "start and end are the same, so the window never opens",
        nodes=1,
        start="09:00",
        end="09:00",
    ),
    "budget in a path": _budget(
        f".timezone: '../../etc/passwd' {_ZONE}",
        _ZONE,
        nodes=1,
        start="09:00",
        end="10:00",
        timezone="../../etc/passwd",
    ),
    "budget of 0 for ever": _budget(f": {_FOR_EVER}", _FOR_EVER, nodes=0),
    "budget of 0 % for ever": _budget(f": {_FOR_EVER}", _FOR_EVER, nodes="0%"),
    "budget of 0 for ever, at length": _budget(f": {_FOR_EVER}", _FOR_EVER, nodes="00", days=_DAYS, reasons=_REASONS),
    "51 budgets": Refusal(
        pool(scaleDown={"budgets": [{"nodes": 1}] * 51}),
        "spec.scaleDown.budgets: must have at most 50 entries, not 51",
        "must have at most 50 items",
        by_rule=False,
    ),
}
