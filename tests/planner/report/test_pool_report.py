"""What a pool is told to be: counts, price, how full it is, and three conditions."""

from datetime import timedelta
from decimal import Decimal

from planner.plan import plan
from tests.builders import NOW, after, before, node, node_removal_request, node_request, pod
from tests.planner.scenes import scene


def report(given):
    (made,) = plan(given.snapshot()).pools
    return made


def conditions(given):
    return {c.type: (c.status, c.reason) for c in report(given).status.conditions}


def test_counts_price_and_delta():
    given = scene(pod("a", "1", node="full"), pod("b", "8"))
    given.nodes = [node("full"), node("going"), node("sick", ready=False), node("foreign", pool=None)]
    given.requests = [
        node_request("coming", "cx42", createAttemptAt=before(seconds=1)),
        node_request("missed", phase="Unmet", expiresAt=before(seconds=1)),
    ]
    given.removals = [node_removal_request("going", phase="Deprovisioning")]
    made = report(given)
    assert made.status.nodes.to_json() == {"ready": 1, "inFlight": 1, "removing": 1, "total": 4}
    assert made.status.price_per_hour == Decimal("0.0066") * 3 + Decimal("0.0170")
    assert made.status.currency == "EUR"
    assert made.utilisation == {"cpu": 0.5, "memory": 0.125}
    assert made.delta == 0  # the pod of 8 cores joins the coming machine
    given.requests.pop(0)
    assert report(given).delta == 1


def test_delta_counts_what_goes_too():
    given = scene()
    given.nodes = [node("n", annotations={"growth.dev/idle-since": before(hours=1)})]
    assert report(given).delta == -1


def test_conditions_of_a_pool_that_works():
    assert conditions(scene()) == {
        "Ready": ("True", "Usable"),
        "AtMax": ("False", "BelowMax"),
        "Blocked": ("False", "NotBlocked"),
    }


def test_a_pool_that_is_full_with_this_plan():
    assert conditions(scene(pod("a", "2"), limits={"max": 1}))["AtMax"] == ("True", "LimitReached")
    assert conditions(scene(pod("a", "2"), types=({"name": "cx22", "max": 1},)))["AtMax"] == ("True", "LimitReached")
    assert conditions(scene(pod("a", "2"), types=({"name": "cx22", "max": 1}, "cx42")))["AtMax"][0] == "False"


def test_a_pool_without_class_or_known_type():
    lost = scene()
    lost.classes = []
    assert conditions(lost)["Ready"] == ("False", "ClassNotFound")
    assert conditions(scene(types=("gex44",)))["Ready"] == ("False", "UnknownServerType")
    assert conditions(scene(types=("gex44", "cx22")))["Ready"] == ("True", "UnknownServerType")


def test_a_blocked_pool_is_ready_and_blocked():
    given = scene()
    given.requests = [node_request("m", phase="Failed", reason="AuthenticationFailed", expiresAt=after(minutes=1))]
    assert conditions(given)["Ready"][0] == "True"
    assert conditions(given)["Blocked"] == ("True", "AuthenticationFailed")


def test_a_condition_keeps_the_time_of_its_last_change():
    given = scene()
    first = report(given).status
    given.pools[0]["status"] = first.to_json()
    given.pools[0]["metadata"]["generation"] = 7
    given.now = NOW + timedelta(minutes=3)
    second = report(given).status
    assert {c.last_transition_time for c in second.conditions} == {NOW}
    assert second.observed_generation == 7
    given.classes = []
    changed = {c.type: c.last_transition_time for c in report(given).status.conditions}
    assert changed["Ready"] == given.now
    assert changed["Blocked"] == NOW
