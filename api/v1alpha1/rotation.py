"""Rotation: machines of a pool that have become too old are replaced by new ones."""

from pydantic import StrictBool

from api.duration import DurationOfUse
from api.model import Model


class Rotation(Model):
    """When machines go because of their age, in pools with scaleDown.mode drain; elsewhere only those without pods."""

    max_node_age: DurationOfUse
    """The age that no machine shall pass, such as 720h: each goes at some time in the last tenth of it."""
    only_at_min: StrictBool | None = None
    """Whether machines go only while the pool is at its minimum, one at a time. Without it, whenever they are old."""
