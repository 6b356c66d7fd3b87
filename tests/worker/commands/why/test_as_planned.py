"""`growth why request` of a machine whose Node is not the one that was planned, or names another server."""

import pytest

from tests.builders import before, node_request
from tests.tables import rows
from tests.worker.commands.why.test_command import scene
from tests.worker.looking import sight
from worker.commands.why.command import REQUEST, lines_about


def told(kind: str, status: str) -> list[str]:
    condition = {
        "type": kind,
        "status": status,
        "reason": "Any",
        "message": "it differs",
        "lastTransitionTime": before(seconds=1),
    }
    return lines_about(
        REQUEST, "m-1", sight(scene(requests=[node_request("m-1", phase="Ready", conditions=[condition])]))
    )


@rows(
    ("kind", "sentence"),
    {
        "other room or labels": ("NodeAsPlanned", "Its Node is not as planned: it differs."),
        "an id of another scheme": ("NodeNamesServer", "Its Node does not name its server: it differs."),
    },
)
def test_the_differences_are_told(kind, sentence):
    assert sentence in told(kind, "False")


@pytest.mark.parametrize("status", ["True", "Unknown"])
@pytest.mark.parametrize("kind", ["NodeAsPlanned", "NodeNamesServer"])
def test_nothing_is_said_of_a_node_that_is_as_planned_or_that_nobody_can_judge(kind, status):
    assert "it differs" not in "\n".join(told(kind, status))
