"""`growth why request` of a machine whose Node is not the one that was planned."""

import pytest

from tests.builders import before, node_request
from tests.worker.commands.why.test_command import scene
from tests.worker.looking import sight
from worker.commands.why.command import REQUEST, lines_about


def told(status: str) -> list[str]:
    condition = {
        "type": "NodeAsPlanned",
        "status": status,
        "reason": "Any",
        "message": "memory 3.7Gi usable, planned 4Gi",
        "lastTransitionTime": before(seconds=1),
    }
    return lines_about(
        REQUEST, "m-1", sight(scene(requests=[node_request("m-1", phase="Ready", conditions=[condition])]))
    )


def test_the_differences_are_told():
    assert "Its Node is not as planned: memory 3.7Gi usable, planned 4Gi." in told("False")


@pytest.mark.parametrize("status", ["True", "Unknown"])
def test_nothing_is_said_of_a_node_that_is_as_planned_or_that_nobody_can_judge(status):
    assert "planned 4Gi" not in "\n".join(told(status))
