"""What `growth why` and `growth status` say of machines that take each other's place: each names the other."""

import pytest

from tests.builders import after, before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import scene, seat
from tests.worker.looking import sight
from worker.commands.shared.next_steps import awaited
from worker.commands.why.command import NODE, REMOVAL, REQUEST, lines_about

WAITING = {"taintedAt": before(minutes=1), "scaleDownAt": after(minutes=9), "reason": "Replacement"}
TAINT = [{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}]


def seen(**status):
    web = pod("web", node="old", owner="rs")
    return sight(
        scene(
            web,
            nodes=[node("old", taints=TAINT)],
            requests=[
                node_request(
                    "new",
                    "cx32",
                    seats=[seat(web)],
                    phase="Provisioning",
                    createAttemptAt=before(minutes=1),
                    provisioningDeadline=after(minutes=4),
                )
            ],
            removals=[node_removal_request("old", spec={"replacedBy": ["new"]}, **(status or WAITING))],
            pools=[node_pool(scaleDown={"mode": "drain"})],
        )
    )


@pytest.mark.parametrize("kind", [NODE, REMOVAL])
def test_of_the_one_that_goes_it_tells_which_machine_is_awaited_until_when(kind):
    told = "\n".join(lines_about(kind, "old", seen()))
    assert "It is replaced by new (boots, due by 12:04:00)." in told
    assert "Its pods stay until machines that take its place are Ready: new (Provisioning)" in told
    assert "12:09:00 (in 9m)" in told
    assert "At the deadline the removal is cancelled. Not Ready in time: new (Provisioning)" in told
    assert "`growth removals cancel old`" in told


def test_of_the_one_that_comes_it_tells_whose_place_it_takes():
    told = "\n".join(lines_about(REQUEST, "new", seen()))
    assert "It takes the place of old: pods stay there until it is Ready" in told
    assert "`growth why removal old` tells more." in told


def test_status_tells_what_is_awaited():
    removal = next(each for each in awaited(seen()) if each.kind == "removal")
    assert removal.name == "old"
    assert "new (Provisioning)" in removal.message
    assert removal.commands == ("growth removals cancel NAME",)


def test_moves_are_told():
    moves = [{"pod": "default/web", "node": "n", "owner": "rs"}]
    gone = node_removal_request("old", spec={"moves": moves}, **WAITING)
    web = pod("web", node="old", owner="rs")
    looked = sight(scene(web, nodes=[node("old", taints=TAINT), node("n")], removals=[gone]))
    assert "Machines that are there have room for 1 pod of it: default/web to n." in lines_about(REMOVAL, "old", looked)
