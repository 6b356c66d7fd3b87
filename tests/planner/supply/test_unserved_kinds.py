"""A pool may name a class of any kind: of one that nobody serves it is told, and it stops no other pool."""

from dataclasses import replace

from planner.plan import plan
from planner.supply.machine_kind import unserved
from tests.builders import node_pool, pod
from tests.planner.scenes import Scene, scene

SERVED = ("KwokNodeClass", "HetznerNodeClass")


def planned(*pods):
    overcast = {"kind": "OvercastNodeClass", "name": "grey"}
    pools = [
        node_pool("odd", template={"classRef": overcast}),
        node_pool("odder", template={"classRef": overcast}),
        node_pool(),
    ]
    given = scene(*pods, pools=pools).snapshot()
    classes = unserved(given.pools, SERVED)
    assert [str(one.ref) for one in classes] == ["OvercastNodeClass/grey"]
    return plan(replace(given, classes=(*given.classes, *classes)))


def test_the_pool_s_condition_names_the_kind_and_those_that_there_are():
    made = {one.name: one for one in planned().pools}
    (ready,) = (c for c in made["odd"].status.conditions if c.type == "Ready")
    assert (ready.status, ready.reason) == ("False", "ClassInvalid")
    assert ready.message == (
        "OvercastNodeClass/grey of pool odd cannot be used: no provider serves the kind OvercastNodeClass; "
        "known: KwokNodeClass and HetznerNodeClass"
    )
    assert [c.status for c in made["default"].status.conditions if c.type == "Ready"] == ["True"]


def test_other_pools_buy_as_if_it_were_not_there():
    assert [request.pool for request in planned(pod("a")).requests] == ["default"]


def test_without_any_provider_none_is_named():
    (only,) = unserved(Scene(pools=[node_pool()]).snapshot().pools, ())
    assert only.problem == "no provider serves the kind KwokNodeClass; known: none"
