"""What a node says that would go now, or soon, but for the pace of its pool."""

from tests.builders import before, kwok_node_class, node, node_pool, pod
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.why.command import NODE, lines_about


def lines(name, made):
    return "\n".join(lines_about(NODE, name, sight(made)))


def test_an_idle_node_whose_hour_is_paid():
    made = scene(nodes=[node("m-1", annotations={"growth.dev/idle-since": before(minutes=20)})])
    made.nodes[0]["metadata"]["creationTimestamp"] = before(minutes=30)
    made.classes = [kwok_node_class(billing={"period": "1h"})]
    assert "its cool-off begins at 12:24:00 (in 24m) if it stays so; the 1h that has begun is paid." in lines(
        "m-1", made
    )


def test_a_node_that_the_budgets_of_its_pool_hold_back():
    closed = [{"nodes": 0, "days": ["Sun"], "reasons": ["Empty"]}]
    idle = node("m-1", annotations={"growth.dev/idle-since": before(minutes=20)})
    text = lines("m-1", scene(nodes=[idle], pools=[node_pool(scaleDown={"budgets": closed})]))
    assert text.endswith(
        "It would go now (Empty), but the budget of pool default for Empty, 0 on Sun UTC, lets none go now.\n"
        "The budget opens at 2026-03-02 00:00:00 (in 12h)."
    )


def test_a_node_whose_removal_a_person_cancelled():
    cancelled = {"growth.dev/removal-cancelled-at": before(minutes=20), "growth.dev/removals-cancelled": "2"}
    busy = scene(nodes=[node("m-1", annotations=cancelled)], pods=[pod("web", node="m-1")])
    assert "A person cancelled its removal: until 13:40:00 (in 1h40m) none is begun by itself." in lines("m-1", busy)
    idle = scene(nodes=[node("m-1", annotations=cancelled | {"growth.dev/idle-since": before(minutes=20)})])
    assert lines("m-1", idle).endswith(
        "It would go now (Empty), but a person cancelled its removal, and until 2026-03-01 13:40:00 UTC none is begun"
        " by itself."
    )
