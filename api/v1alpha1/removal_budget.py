"""RemovalBudget: how many machines of a pool may be under removal at once, for which reasons, and when.

Source: Karpenter, "NodePool Disruption Budgets", whose windows are cron expressions in UTC; ours are told by a clock.
"""

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from api.rules import RULES, UNIT, Text, rule, rules
from api.v1alpha1.pool_parts.window import BOTH_TIMES, NEVER_OPEN, WEEKDAYS, Window

BudgetReason = Literal["Empty", "Consolidation", "Rotation", "Drift", "Repair", "OverMax", "Underused"]
"""Why a round removes a machine."""
EVICTING_REASONS: Final[tuple[BudgetReason, ...]] = (
    "Consolidation",
    "Rotation",
    "Drift",
    "Repair",
    "OverMax",
    "Underused",
)
"""Those for which pods are asked to leave."""
BUDGET_REASONS: Final[tuple[BudgetReason, ...]] = ("Empty", *EVICTING_REASONS)
MOST_BUDGETS: Final = 50
_MOST_NODES: Final = 100_000
_WHOLE: Final = 100

_NODES: Final = Text(
    pattern="^([0-9]{1,5}|([0-9]{1,2}|100)%)$",
    longest=5,
    form='a number of machines up to 99999 or a share of the pool\'s from "0%" to "100%"',
)


def _nodes(value: object) -> str:
    """Return the number or share as text."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        msg = f"{value!r} must be {_NODES.form}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic turns only this one into a fault of the field
    return _NODES.check(str(value))


Nodes = Annotated[
    str,
    BeforeValidator(_nodes),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": 64,
            RULES: [
                rule(
                    f"type(self) == int ? self >= 0 && self < {_MOST_NODES} : self.matches('{_NODES.pattern}')",
                    f"must be {_NODES.form}",
                )
            ],
            UNIT: 'A number, or a share such as "10%".',
        }
    ),
]
"""A number of machines, or a share of those of a pool, kept as its text."""

_ALWAYS_CLOSED: Final = rule(
    "!(string(self.nodes).matches('^0+%?$') && !has(self.start)"
    f" && (!has(self.days) || {list(WEEKDAYS)}.all(day, day in self.days))"
    f" && (!has(self.reasons) || {list(BUDGET_REASONS)}.all(reason, reason in self.reasons)))",
    "0 nodes for all reasons at all times would keep every machine for ever: say scaleDown.mode: none for that,"
    " or pause the pool",
)


class RemovalBudget(Window):
    """How many machines of the pool may be under removal at once. Of several that are open, the strictest holds."""

    model_config = rules(BOTH_TIMES, NEVER_OPEN, _ALWAYS_CLOSED)

    nodes: Nodes
    """Most machines under removal at once for these reasons; a share is of those with a Node, rounded up; 0 is none."""
    reasons: Annotated[tuple[BudgetReason, ...] | None, Field(min_length=1, max_length=7)] = None
    """What it holds for: Empty, Consolidation, Rotation, Drift, Repair, OverMax, Underused. Without it, all of them."""

    @model_validator(mode="after")
    def _possible(self) -> "RemovalBudget":
        is_always = self.start is None and set(self.days or WEEKDAYS) == set(WEEKDAYS)
        is_for_all = set(self.reasons or BUDGET_REASONS) == set(BUDGET_REASONS)
        if is_always and is_for_all and not self.nodes.strip("0%"):
            raise ValueError(_ALWAYS_CLOSED["message"])
        return self

    def covers(self, reason: str) -> bool:
        """Return whether it holds for removals of this reason."""
        return reason in (self.reasons or BUDGET_REASONS)

    def allowed(self, size: int) -> int:
        """Return how many of so many machines may be under removal at once."""
        if self.nodes.endswith("%"):
            return -(-size * int(self.nodes[:-1]) // _WHOLE)
        return int(self.nodes)
