"""What the row of a table of steps says."""

from planner.lifecycle.step import Act


def check_step(found, step, reason, until):
    """Assert that a step is this effect, or of this type, for this reason, and with this deadline."""
    assert (found.effect if isinstance(found, Act) else type(found)) == step
    assert found.reason == reason
    assert getattr(found, "until", None) == until
