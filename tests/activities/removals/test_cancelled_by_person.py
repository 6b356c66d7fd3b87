"""A removal that a person cancelled leaves its mark on the Node: none is begun again by itself for a while."""

import pytest

from activities.ports.cluster import NODES
from tests.activities.lives import FOREIGN, NAME, SCALE_DOWN, START, at_each_write

AT, TIMES = "growth.dev/removal-cancelled-at", "growth.dev/removals-cancelled"
COOLING = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START}


async def marks(life):
    annotations = (await life.node())["metadata"].get("annotations") or {}
    return annotations.get(AT), annotations.get(TIMES)


def cancelled(by):
    return COOLING | {"cancel": {"at": "2026-11-01T11:59:00Z", "by": by, "reason": "Wanted again"}}


@pytest.mark.parametrize(
    ("by", "is_person"),
    [
        ("Person", True),
        ("Delete", True),
        ("Ada", True),
        ("kubectl-annotate", True),
        ("Planner", False),
        ("NotEmpty", False),
        ("NotOurs", False),
        ("NotDead", False),
        ("HasLocalData", False),
    ],
)
async def test_who_cancelled_it(life, by, is_person):
    await life.add_leaving(cancelled(by), FOREIGN, SCALE_DOWN)
    await life.do("untaint_node")
    assert not (await life.do("finish_removal")).exists
    assert await marks(life) == (("2026-11-01T11:59:00Z", "1") if is_person else (None, None))
    notes = [event["note"] for event in await life.events() if event["reason"] == "RemovalPaused"]
    said = f"Cancelled by {by}: until 2026-11-01 12:59:00 UTC no removal of it is begun by itself"
    assert notes == ([said] if is_person else [])


async def test_before_the_node_was_tainted_too(life):
    """Its end takes no taint off then."""
    await life.add_leaving({"phase": "Pending", "cancel": cancelled("Ada")["cancel"]}, FOREIGN)
    await life.do("finish_removal")
    assert await marks(life) == ("2026-11-01T11:59:00Z", "1")


async def test_the_next_time_counts_on(life):
    await life.add_leaving(cancelled("Ada"), FOREIGN)
    await life.cluster.put(NODES, NAME, "/metadata/annotations", {AT: "2026-11-01T09:00:00Z", TIMES: "1"})
    await life.do("finish_removal")
    assert await marks(life) == ("2026-11-01T11:59:00Z", "2")


@at_each_write(2)
async def test_killed_at_any_write_it_counts_once(life, write, when):
    await life.add_leaving(cancelled("Ada"), FOREIGN)
    await life.die_during("finish_removal", None, when, write)
    if await life.removal() is not None:
        await life.do("finish_removal")
    assert await life.removal() is None
    assert await marks(life) == ("2026-11-01T11:59:00Z", "1")


async def test_without_its_node_nothing_is_marked(life):
    await life.add_leaving(cancelled("Ada"), node=False)
    assert not (await life.do("finish_removal")).exists


async def test_the_node_of_another_machine_is_not_marked(life):
    await life.add_leaving(cancelled("Ada"), FOREIGN, providerID="kwok://test/another")
    await life.do("finish_removal")
    assert await marks(life) == (None, None)
