"""What is known to be wrong with some plans of random scenes: each flaw has a test of its own that expects it."""

import re

from hypothesis import assume

from planner.model.plan import Plan
from tests.planner.checker import violations
from tests.planner.scenes import Scene

_SPREAD_WRONGLY = re.compile(r" makes a skew of \d+ over | can land in no order$")


def unknown_violations(scene: Scene, made: Plan, *, bought: Plan) -> list[str]:
    """Return the violations of a plan; a scene in which they may all be a known flaw is not judged.

    A machine that a minimum asks for is a domain, and pods of the round that buys it are not spread over it: see
    `test_a_machine_of_a_minimum_is_a_domain` in packing/domains/test_spread.py.

    Args:
        scene: what was planned for.
        made: the plan.
        bought: the plan of the round that bought machines, which may be the same.
    """
    wrong = violations(scene, made)
    has_minimum = any(not one.seats for one in bought.requests)
    assume(not wrong or not has_minimum or not all(map(_SPREAD_WRONGLY.search, wrong)))
    return wrong
