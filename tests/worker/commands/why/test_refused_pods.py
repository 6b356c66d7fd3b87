"""What `growth why pod` says of places at which planner and scheduler see a pod differently.

Source: docs/operations.md#the-scheduler-refuses-what-the-plan-chose.
"""

from planner.supply.pod_group import GroupKeys
from tests.builders import after, before, node, node_pool, pod
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.why.pod import why_pod


def about(*entries, nodes=(), types=("cx22", "cx32")):
    web = pod("web")
    key = GroupKeys().of(scene(web).snapshot().pods[0])
    pool = node_pool(types=types)
    common = {"namespace": "default", "class": key, "pod": "web", "podUid": "uid-web", "message": "Moon is full"}
    pool["status"] = {"refusedPlacements": [common | entry for entry in entries]}
    seen = sight(scene(web, *nodes, pools=[pool]))
    return why_pod(seen.snapshot.pods[0], seen)


HELD = {"failures": 1, "lastRefusedAt": before(minutes=1), "until": after(minutes=9)}


def test_a_pod_for_which_another_type_is_bought():
    told = about({"serverType": "cx22", "nodes": ["m"], **HELD})
    assert (
        "Planner and scheduler see it differently: pool default buys no cx22 for such pods until 2026-03-01T12:09:00Z: "
        "bought for pod default/web, which the scheduler did not bind on node m: Moon is full."
    ) in told
    assert any(line.startswith("The next round buys a cx32") for line in told)
    assert any("the scheduler did not bind such pods there: cx22 in fsn1 of default" in line for line in told)


def test_a_pod_for_which_nothing_is_bought_has_it_among_its_reasons_once():
    told = about({"serverType": "cx22", **HELD}, types=("cx22",))
    lines = [line for line in told if "Moon is full" in line]
    assert len(lines) == 1
    assert lines[0].startswith("  PlacementRefused: pool default buys no cx22 for such pods until")


def test_a_node_that_is_lost():
    told = about({"nodes": ["n"], **HELD}, nodes=[node("n")])
    assert any("node n counts as no place for such pods until 2026-03-01T12:09:00Z" in line for line in told)
    assert any("the scheduler did not bind such pods there: n" in line for line in told)


def test_a_node_that_the_pod_waits_for_in_vain_so_far():
    told = about({"roomSeenAt": before(seconds=40)}, nodes=[node("n")])
    assert (
        "Since 2026-03-01T11:59:20Z there is room for it on a node by plan, and the scheduler has not bound it." in told
    )
