"""RepairCondition: what a Node says of itself, or another program of it, from which on its machine is replaced."""

from typing import Annotated, Final, Literal

from api.duration import PositiveDuration
from api.model import Model
from api.rules import Check, Text

_TYPE: Final = Text(
    pattern="^[A-Za-z0-9]([A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?$",
    longest=128,
    form="the type of a condition, such as KernelDeadlock, at most 128 characters",
)
_NOT_READY: Final = Check(
    lambda name: name != "Ready", "self != 'Ready'", "Ready is what repair.after is about: name another condition"
)


class RepairCondition(Model):
    """A condition of a Node that is Ready all the same."""

    type: Annotated[str, _TYPE, _NOT_READY]
    """Type of the condition, such as KernelDeadlock of node-problem-detector."""
    status: Literal["True", "False", "Unknown"]
    """The status that is bad."""
    after: PositiveDuration
    """How long it must have been so without a break; one that changes begins anew."""
