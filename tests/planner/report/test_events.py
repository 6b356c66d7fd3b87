"""Events of a round: few, stable and on the right object. Source: docs/design.md#events."""

from planner.plan import plan
from tests.builders import after, node_request, pod
from tests.planner.scenes import scene


def told(given):
    return [(e.kind, e.name, e.namespace, e.reason) for e in plan(given.snapshot()).events]


def test_each_pod_without_a_place_is_told_why():
    given = scene(pod("large", "64"), pod("fine"), pod("lost", nodeSelector={"growth.dev/pool": "gone"}))
    assert sorted(told(given)) == [
        ("Pod", "large", "default", "TooLarge"),
        ("Pod", "lost", "default", "PoolNotFound"),
    ]
    assert all(e.warning and e.uid and e.message for e in plan(given.snapshot()).events)


def test_many_pods_are_told_by_fifty_events_and_a_sum_on_their_pool():
    given = scene(*(pod(f"large-{k}", "64") for k in range(70)))
    made = plan(given.snapshot())
    assert len([e for e in made.events if e.kind == "Pod"]) == 50
    (total,) = [e for e in made.events if e.kind == "NodePool"]
    assert (total.name, total.uid, total.reason) == ("default", "pool-default", "PodsUnplaced")
    assert total.message.startswith("20 more pods have no place")


def test_a_pool_that_cannot_buy_is_told():
    given = scene()
    given.classes = []
    assert told(given) == [("NodePool", "default", None, "ClassNotFound")]


def test_a_pool_with_an_unknown_server_type_is_told_and_goes_on():
    given = scene(pod("a"), types=("cx22", "gex44"))
    assert told(given) == [("NodePool", "default", None, "UnknownServerType")]
    assert len(plan(given.snapshot()).requests) == 1


def test_a_blocked_pool_is_told_by_the_reason_of_the_failure():
    given = scene()
    given.requests = [
        node_request(
            "m", phase="Failed", reason="AuthenticationFailed", message="bad token", expiresAt=after(minutes=5)
        )
    ]
    assert told(given) == [("NodePool", "default", None, "AuthenticationFailed")]


def test_an_object_that_cannot_be_read_is_told_on_itself_and_stops_nothing():
    broken = pod("broken", "a lot")
    given = scene(pod("a"), broken)
    made = plan(given.snapshot())
    (event,) = made.events
    assert (event.kind, event.name, event.namespace, event.uid) == ("Pod", "broken", "default", "uid-broken")
    assert event.reason == "Unreadable"
    assert event.message.startswith("spec.containers[0].resources.requests.cpu: 'a lot' is not a quantity")
    assert len(made.requests) == 1
    assert made.problems == given.snapshot().problems


def test_nothing_is_told_when_all_is_well():
    assert told(scene(pod("a"))) == []
