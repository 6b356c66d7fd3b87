"""A request that replaces machines: bought only if somebody waits, kept for pods that are still elsewhere."""

import pytest

from planner.lifecycle.request import next_step
from planner.lifecycle.step import Wait
from tests.planner.lifecycle.test_request import NOW, ago, ahead, check_step, pending, ready

ROWS = {
    # name: (seen, effect or kind of step, reason, deadline)
    "new, nobody waits for it": (pending(unneeded=True), "finish_request", "Unneeded", None),
    "asked, nobody waits for it": (
        pending({"create_attempt_at": ago(5), "provisioning_deadline": ahead(70)}, unneeded=True),
        "create_server",
        "CreateServer",
        ahead(70),
    ),
    "kept for pods that are elsewhere": (ready(awaited=0, held_by="old"), Wait, "Replaces", None),
    "kept for pods that are elsewhere, its time over": (
        ready({"release_by": ago(30)}, awaited=0, held_by="old"),
        Wait,
        "Replaces",
        None,
    ),
    "kept, the first of them waits": (
        ready({"release_by": ago(300), "tried_at": ago(60)}, held_by="old"),
        "mark_tried",
        "Tried",
        ahead(60),
    ),
    "kept, the first of them may land": (
        ready({"release_by": ahead(9), "tried_at": ago(51)}, untolerated=1, held_by="old"),
        "tolerate_pods",
        "Reserved",
        None,
    ),
    "kept for pods that are elsewhere, deleted": (
        ready(awaited=0, held_by="old", deleting=True),
        "release_node",
        "Deleted",
        None,
    ),
}


@pytest.mark.parametrize(("given", "step", "reason", "until"), ROWS.values(), ids=ROWS)
def test_next_step(given, step, reason, until):
    check_step(next_step(given, NOW), step, reason, until)
